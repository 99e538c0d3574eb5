# Copyright 2026 xplane_bridge contributors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The mask of a command: what it lets through, and what it says about the rest."""

import math
from pathlib import Path
import re
from types import SimpleNamespace

import pytest

pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from masked import masked

from xplane_bridge import msg, srv
from xplane_bridge.bridges.conversions.masks import known_or_nan, Mask
from xplane_bridge.laboratory.flights.analysis.quantities import EXTRACT

ROOT = Path(__file__).parents[3]
CONTROLS = Mask(msg.FlightControls)
TEXT = Mask(msg.ScreenText, {'TEXT': ('text',), 'POSITION': ('x', 'y')}, needs='TEXT')


def test_only_what_is_set_is_looked_at():
    message = masked(msg.FlightControls, elevator=0.25, gear=0.0)
    message.throttle, message.flaps = math.nan, 7.0
    assert CONTROLS.given(message) == {'elevator': 0.25, 'gear': 0.0}


def test_nothing_set_is_refused_with_the_names_of_the_bits():
    with pytest.raises(ValueError, match=re.escape(
            'fields is 0, so nothing is set: add ELEVATOR (1), AILERON (2), RUDDER (4), '
            'THROTTLE (8), FLAPS (16), GEAR (32), SPEEDBRAKE (64), BRAKE_LEFT (128), '
            'BRAKE_RIGHT (256), ELEVATOR_TRIM (512), AILERON_TRIM (1024), RUDDER_TRIM (2048) '
            'for what you set')):
        CONTROLS.given(msg.FlightControls(elevator=0.25))


@pytest.mark.parametrize('fields', [4096, 4097, 2**31])
def test_a_bit_that_means_nothing_is_refused(fields):
    with pytest.raises(ValueError, match=f'but {fields & ~4095} is not defined here'):
        CONTROLS.given(msg.FlightControls(fields=fields))


@pytest.mark.parametrize('value', [math.nan, math.inf, -math.inf])
def test_what_is_set_must_be_finite(value):
    with pytest.raises(ValueError, match=f'rudder is {value}'):
        CONTROLS.given(masked(msg.FlightControls, elevator=0.0, rudder=value))
    with pytest.raises(ValueError, match='location is'):
        Mask(msg.CameraView).given(masked(msg.CameraView, location=[0.0, value, 0.0]))


def test_a_bit_may_stand_for_several_fields_and_need_another():
    both = msg.ScreenText.TEXT | msg.ScreenText.POSITION
    assert TEXT.given(msg.ScreenText(fields=both, text='a', x=1, y=2)) == {
        'text': 'a', 'x': 1, 'y': 2}
    assert TEXT.given(masked(msg.ScreenText, text='')) == {'text': ''}
    with pytest.raises(ValueError, match=re.escape('nothing can be done without TEXT (1)')):
        TEXT.given(msg.ScreenText(fields=msg.ScreenText.POSITION, x=1))


def test_a_report_says_what_is_known():
    message = msg.FlightControls(fields=127)
    CONTROLS.fill(message, {'elevator': 0.5, 'aileron': math.nan, 'throttle': None})
    assert message.fields == msg.FlightControls.ELEVATOR
    assert CONTROLS.known(message) == {'elevator': 0.5}
    assert math.isnan(message.aileron)
    assert math.isnan(message.throttle)
    assert known_or_nan(message, 'elevator') == 0.5
    message.gear = 1.0
    assert math.isnan(known_or_nan(message, 'gear'))
    # Fields that nobody filled in are unknown: that does not put any control at 0.
    assert CONTROLS.known(msg.FlightControls()) == {}
    assert CONTROLS.is_defined(0)
    assert not CONTROLS.is_defined(0xffff)


def test_recordings_from_before_the_mask_are_read():
    assert known_or_nan(SimpleNamespace(elevator=0.5), 'elevator') == 0.5
    target = SimpleNamespace(altitude=1500.0, heading=1.0, airspeed=50.0)
    assert EXTRACT['autopilot/active_target'](target) == {
        'target_altitude': 1500.0, 'target_heading': 1.0, 'target_airspeed': 50.0}
    now = masked(msg.AutopilotTarget, altitude=1500.0, true_heading=1.0, airspeed=50.0)
    assert EXTRACT['autopilot/active_target'](now) == EXTRACT['autopilot/active_target'](target)


DEFINITIONS = sorted((*ROOT.glob('msg/*.msg'), *ROOT.glob('srv/*.srv')))


def bits_of(path):
    request = path.read_text().split('\n---')[0]
    constants = {name: int(value) for name, value in re.findall(
        r'^uint32 ([A-Z_0-9]+) = (\d+)', request, re.MULTILINE)}
    return constants if re.search(r'^uint32 fields\b', request, re.MULTILINE) else None


@pytest.mark.parametrize('path', DEFINITIONS, ids=lambda path: path.name)
def test_bits_are_single_and_named_after_fields(path):
    bits = bits_of(path)
    if bits is None:
        return
    assert list(bits.values()) == [1 << place for place in range(len(bits))]
    kind = getattr(srv if path.suffix == '.srv' else msg, path.stem)
    names = getattr(kind, 'Request', kind).get_fields_and_field_types()
    # POSITION stands for several fields, RELEASE for none.
    assert {name.lower() for name in bits} - {'position', 'release'} <= set(names)


def test_no_heading_leaves_open_what_it_is_relative_to():
    fields = [
        (path.name, field) for path in DEFINITIONS
        for field in re.findall(r'^\w+(?:\[\d*\])? ([a-z_]*heading)\b', path.read_text(), re.M)]
    assert fields
    assert [item for item in fields if not item[1].endswith('true_heading')] == []
