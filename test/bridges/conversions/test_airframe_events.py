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


"""What is said of an event of the airframe: its sentence, its outcome, its limit."""

import math

import pytest

from xplane_bridge.bridges.conversions.airframe_events import (
    AirframeEvent,
    AirframeEventKind,
    DIVERGED,
)

STRUCK, BEYOND, REPORTED, GONE = (
    AirframeEventKind.STRUCK, AirframeEventKind.BEYOND, AirframeEventKind.REPORTED,
    AirframeEventKind.DIVERGED)


@pytest.mark.parametrize(('event', 'said'), [
    (AirframeEvent(STRUCK, 'speed', 83.2, pitch=-math.radians(79.0)),
     'struck the ground with 83 m/s, 79 deg nose down'),
    (AirframeEvent(STRUCK, 'ground_speed', 4.26, pitch=0.1, surface='water'),
     'struck the water with 4.3 m/s over ground, 6 deg nose up'),
    (AirframeEvent(REPORTED, 'state', math.nan), 'reported by the simulator'),
    (DIVERGED, 'diverged: its state is no longer finite'),
    (AirframeEvent(GONE, 'roll_rate', math.radians(3000.0), hint='try more steps'),
     'diverged: its roll rate was 3,000 deg/s; try more steps'),
    (AirframeEvent(BEYOND, 'load_factor', 4.21, 3.8), 'load factor 4.2 g, beyond 3.8 g'),
    (AirframeEvent(BEYOND, 'airspeed', 90.0, 80.0), 'airspeed 90.0 m/s, beyond 80.0 m/s')])
def test_its_sentence_has_numbers_in_units_of_the_field(event, said):
    assert str(event) == said
    assert event.plain()['text'] == said


@pytest.mark.parametrize(('event', 'limit', 'outcome'), [
    (AirframeEvent(BEYOND, 'load_factor', 4.0, 3.8, 2.0), 'load_factor_high', 'beyond the env'),
    (AirframeEvent(BEYOND, 'load_factor', -2.0, -1.5, 2.0), 'load_factor_low', 'beyond the env'),
    (AirframeEvent(BEYOND, 'airspeed', 90.0, 80.0, 2.0), 'never_exceed_speed', 'beyond the env'),
    (AirframeEvent(STRUCK, 'speed', 9.0, at=2.0, pitch=0.0), 'never_exceed_speed', 'crashed')])
def test_its_limit_and_outcome_have_names(event, limit, outcome):
    assert event.limit_name == limit
    assert event.outcome.startswith(outcome)
