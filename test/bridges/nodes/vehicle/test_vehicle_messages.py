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


"""Runways, crashes and targets as messages, updates of several, and commands that stop."""

import math
from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from masked import masked
from std_msgs.msg import Header

from xplane_bridge.bridges.conversions.airframe_events import AirframeEvent, AirframeEventKind
from xplane_bridge.bridges.nodes.vehicle import crash
from xplane_bridge.bridges.nodes.vehicle.updates import nanoseconds, Updates
from xplane_bridge.bridges.nodes.vehicle.watchdog import CommandWatchdog
from xplane_bridge.laboratory.control.runway.charted import ChartedRunway
from xplane_bridge.laboratory.nodes.messages.runways import charted, to_message
from xplane_bridge.laboratory.nodes.messages.targets import read_changes
from xplane_bridge.msg import AutopilotTarget, Runway

PLACE = {'latitude': 47.0, 'longitude': 8.5, 'true_heading': 1.5, 'length': 900.0, 'width': 30.0}


def runway(**given):
    """Return a message with these values, those without a bit among them as of a runway here."""
    plain = {name: given.pop(name, value) for name, value in PLACE.items()}
    message = masked(Runway, **given)
    for name, value in plain.items():
        setattr(message, name, value)
    return message


def test_a_runway_has_what_its_message_sets_and_else_what_is_usual():
    found = charted(runway())
    assert math.isnan(found.elevation_msl)
    # ICAO, Annex 14: 250 m from 800 m on.
    assert found == ChartedRunway(47.0, 8.5, 1.5, found.elevation_msl, 900.0, 30.0,
                                  pytest.approx(math.radians(3.0)), 250.0)
    given = charted(runway(elevation_msl=432.0, glide_path=0.0625, aiming_point=200.0))
    assert (given.elevation_msl, given.glide_path, given.aiming_point) == (
        432.0, pytest.approx(0.0625), 200.0)
    stamp = Time(sec=5, nanosec=7)
    message = to_message(given, stamp)
    assert (message.fields, message.header.stamp) == (7, stamp)
    assert charted(message) == given
    assert to_message(found, None).header.stamp == Time()
    assert to_message(found, None).fields == Runway.GLIDE_PATH | Runway.AIMING_POINT


@pytest.mark.parametrize(('given', 'sentence'), [
    ({'latitude': 89.5}, 'latitude_deg is 89.5, expected -89 .. 89'),
    ({'longitude': math.nan}, 'longitude_deg is nan'), ({'width': 1.0}, 'width is 1, expected 5'),
    ({'length': 90.0}, 'length is 90, expected 100'), ({'glide_path': 0.15}, 'glide_path_deg is'),
    ({'elevation_msl': 7000.0}, 'elevation_msl is 7000'),
    ({'true_heading': math.inf}, 'true_heading is inf, expected rad'),
    ({'aiming_point': 0.0}, 'aiming_point is 0 m, expected within its 900 m'),
    ({'aiming_point': 900.0}, 'aiming_point is 900 m, expected within its 900 m')])
def test_a_runway_that_cannot_be_is_refused(given, sentence):
    with pytest.raises(ValueError, match=f'^runway: {sentence}'):
        charted(runway(**given))


def test_a_mask_that_is_not_defined_is_refused():
    message = runway()
    message.fields = 8
    with pytest.raises(ValueError, match='fields is 8, which is not defined here'):
        charted(message)


def test_a_crash_comes_out_of_its_message_as_it_went_in():
    event = AirframeEvent(AirframeEventKind.STRUCK, 'climb_rate', 7.5, 3.0, 12.25, -0.5, 'runway')
    message = crash.to_status(event)
    assert (message.name, message.level) == ('airframe', DiagnosticStatus.ERROR)
    assert message.message == str(event)
    assert crash.to_event(message) == event
    whole = crash.to_status(None)
    assert (whole.level, whole.message, crash.to_event(whole)) == (
        DiagnosticStatus.OK, 'whole', None)
    message.values[0].value = 'vanished'
    assert crash.to_event(message) is None
    assert crash.reported().kind is AirframeEventKind.REPORTED
    assert math.isnan(crash.reported().value)


def test_a_target_is_what_its_message_sets_or_releases():
    assert read_changes(masked(AutopilotTarget, altitude=500.0, true_heading=1.0)) == {
        'altitude': 500.0, 'heading': 1.0}
    assert read_changes(masked(AutopilotTarget, course=1.0)) == {'course': 1.0}
    assert read_changes(AutopilotTarget(fields=AutopilotTarget.RELEASE)) is None
    for fields, sentence in (
            (AutopilotTarget.RELEASE | AutopilotTarget.ALTITUDE, 'goes alone'),
            (AutopilotTarget.COURSE | AutopilotTarget.TRUE_HEADING, 'only one of them')):
        with pytest.raises(ValueError, match=sentence):
            read_changes(AutopilotTarget(fields=fields))


def test_an_update_is_complete_once_all_of_it_is_there_and_older_ones_are_let_go():
    complete = []
    updates = Updates(('a', 'b'), lambda stamp, messages: complete.append((stamp, messages)))
    assert updates.waits_for == []
    for stamp in (1, 2):
        updates.add(stamp, 'a', f'a{stamp}')
    assert updates.waits_for == ['b']
    updates.add(2, 'b', 'b2')
    assert complete == [(2, {'a': 'a2', 'b': 'b2'})]
    assert updates.waits_for == []
    # Of more than eight the oldest goes.
    for stamp in range(3, 12):
        updates.add(stamp, 'a', 'a')
    for stamp in (4, 3):
        updates.add(stamp, 'b', 'b')
    assert [stamp for stamp, _ in complete] == [2, 4]
    message = SimpleNamespace(header=Header(stamp=Time(sec=3, nanosec=5)))
    assert nanoseconds(message) == 3_000_000_005


class Timer:
    """A timer that expires when told to."""

    def __init__(self, period, callback):
        self.period, self.callback, self.armed, self.resets = period, callback, True, 0

    def cancel(self):
        self.armed = False

    def is_canceled(self):
        return not self.armed

    def reset(self):
        self.armed, self.resets = True, self.resets + 1


def test_a_watchdog_barks_once_when_commands_have_come_and_stopped():
    timers, barks = [], []

    def create_timer(period, callback, clock):
        assert clock == 'steady'
        timers.append(Timer(period, callback))
        return timers[-1]

    node = SimpleNamespace(create_timer=create_timer, steady_clock='steady',
                           destroy_timer=lambda timer: timer.cancel())
    watchdog = CommandWatchdog(node, 0.5, lambda: barks.append(True))
    assert (timers[-1].period, timers[-1].armed) == (0.5, False)
    watchdog.feed()
    assert (timers[-1].armed, timers[-1].resets) == (True, 1)
    # Another time-out does not disarm it, and none does.
    watchdog.set_timeout(2.0)
    assert (len(timers), timers[0].armed, timers[1].period, timers[1].armed) == (
        2, False, 2.0, True)
    timers[1].callback()
    assert (barks, watchdog.expired, timers[1].armed) == ([True], True, False)
    watchdog.feed()
    assert not watchdog.expired
    watchdog.disarm()
    assert not timers[1].armed
    watchdog.set_timeout(0.0)
    watchdog.feed()
    watchdog.close()
    assert len(timers) == 2
