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

"""The control laws of examples/: each flies the packaged scenarios; C++ gives Python's numbers."""

import math
from types import SimpleNamespace

from example_laws import InCore, law_in_cpp, ROOT, STATE, without_ros
import pytest


def missed(law, scenario):
    """Return the criteria that a law misses."""
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    from orders import flown

    from xplane_bridge.laboratory.flights.scenario.scenario import load
    path = ROOT / 'xplane_bridge/data/scenarios' / f'{scenario}.yaml'
    flight = flown(load(str(path)), seed=7, law=InCore(law))
    return [str(one) for one in flight.result().judgements if not one.passed]


@pytest.mark.parametrize('scenario', ['steps', 'racetrack', 'turbulence'])
def test_the_minimal_law_meets_all_criteria(scenario):
    assert missed(without_ros('minimal').Law, scenario) == []


@pytest.mark.parametrize('scenario', ['steps', 'racetrack', 'turbulence'])
def test_the_law_of_simple_pid_meets_all_criteria(scenario):
    pytest.importorskip('simple_pid', reason='needs simple-pid')
    assert missed(without_ros('pid').Law, scenario) == []


def test_the_law_in_cpp_gives_the_numbers_of_the_one_in_python(tmp_path):
    def states(count):
        for n in range(count):
            yield SimpleNamespace(**{
                name: scale * math.sin(0.1 * n * (1.0 + 0.3 * k) + k) + offset
                for k, (name, scale, offset) in enumerate(zip(
                    STATE, (1.5, 0.4, 4.0, 4.0, 0.5, 0.4, 0.3, 60.0, 30.0),
                    (0.0, 0.05, 3.0, 3.0, 0.0, 0.0, 0.0, 1500.0, 45.0), strict=True))})

    held = {'altitude': 1500.0, 'airspeed': 50.0}
    controls = SimpleNamespace(elevator=0.02, throttle=0.7)
    with law_in_cpp(tmp_path) as law_in_other:
        first = next(states(1))
        one, other = without_ros('minimal').Law(first, controls), law_in_other(first, controls)
        for n, now in enumerate(states(500)):
            target = held | ({'true_heading': 1.0} if n < 250 else {'course': -2.0})
            dt = (0.0, 0.02, 0.2)[n % 3]
            assert other.update(now, target, dt) == pytest.approx(
                one.update(now, target, dt), rel=1e-12, abs=1e-12)


def test_the_law_in_cpp_meets_all_criteria(tmp_path):
    with law_in_cpp(tmp_path) as law:
        assert missed(law, 'steps') == []
