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

"""Light aircraft of this package, identified: their surfaces lag, and propellers turn fast."""

from dataclasses import replace

import pytest

pytest.importorskip('jsbsim', reason='the simulated aircraft need jsbsim')

import light_aircraft

from xplane_bridge.laboratory.flights.core import CoreFlight
from xplane_bridge.laboratory.flights.flight import Silent
from xplane_bridge.laboratory.flights.order import Order
from xplane_bridge.laboratory.flights.scenario.scenario import find, load
from xplane_bridge.laboratory.identification.identify import identify
from xplane_bridge.laboratory.identification.reading.core import read_core
from xplane_bridge.laboratory.identification.truth import flown_as, reached

SERVO = 0.02
"""The time constant of the servos of all three (s)."""


@pytest.mark.parametrize('model', ['electric_trainer', 'v_tail', 'flying_wing'])
def test_two_sigma_contain_every_derivative_and_the_lag_of_the_servos(model):
    path = str(light_aircraft.FOLDER)
    scenario = load(find('identification_light'))
    # The wing has no rudder.
    events = tuple(one for one in scenario.events
                   if model != 'flying_wing' or 'rudder' not in str(one))
    with CoreFlight(Order(replace(scenario, events=events, criteria=(), initial={
            **scenario.initial, 'model': model, 'aircraft_path': path})), Silent()) as flight:
        signals, step = read_core(flight)
    aircraft = flown_as(model, signals, path)
    found = identify([signals], aircraft.airframe, step)
    truth = aircraft.truth(reached(found))
    assert found.forms.keys() == {'longitudinal', 'lateral'}
    for form in found.forms.values():
        assert abs(form.fit.lag.value - SERVO) <= 2.0 * form.fit.lag.deviation
        assert form.fit.lag.deviation < 0.3 * SERVO
        off = {str(name): truth.slopes[name].away(one.value) / one.deviation
               for name, one in form.fit.derivatives.items() if name in truth.slopes}
        assert len(off) >= 6
        assert {name: size for name, size in off.items() if abs(size) > 2.0} == {}
