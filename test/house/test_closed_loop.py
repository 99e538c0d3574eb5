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

"""The autopilot flies a simulated aircraft through each protocol, independent of any clock."""

from functools import partial
import math
from pathlib import Path

import pytest

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.laboratory.control.cascade import Cascade
from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.control.targets import Target
from xplane_bridge.laboratory.flights.analysis.verdict import step_response
from xplane_bridge.laboratory.flights.scenario.scenario import load

pytest.importorskip('jsbsim', reason='the simulated aircraft needs jsbsim')

from closed_loops import FdmdataLoop, XpcLoop, XplaneLoop

SCENARIO = load(str(Path(__file__).parents[2] / 'xplane_bridge/data/scenarios/steps.yaml'))
STEPS = [event for event in SCENARIO.events if event.expect]


def measure(state):
    """Return what the autopilot node derives from the common topics of a state."""
    roll, pitch, yaw = axes.quaternion_to_euler(state.orientation)
    roll_rate, pitch_rate, yaw_rate = axes.flu_to_frd(state.angular_velocity)
    return Measurement(
        roll=roll, pitch=-pitch, heading=axes.yaw_to_heading(yaw), roll_rate=roll_rate,
        pitch_rate=pitch_rate, yaw_rate=yaw_rate, altitude=state.altitude_msl,
        airspeed=(state.air.true_airspeed if state.air.indicated_airspeed is None
                  else state.air.indicated_airspeed))


def fly(loop, law, seconds, log):
    """Fly on; append (time, measurement) to the log."""
    end = loop.now + seconds
    while loop.now < end:
        for state in loop.frame():
            now = measure(state)
            if not log:
                law.engage(now, state.controls)
            log.append((state.time, now))
            dt = log[-1][0] - log[-2][0] if len(log) > 1 else 0.0
            loop.command(law.update(now, dt))


@pytest.mark.parametrize('make_loop', [
    XpcLoop, FdmdataLoop, partial(XplaneLoop, 12), partial(XplaneLoop, 9),
    partial(XplaneLoop, 6)], ids=['xpc', 'fdmdata', 'xplane12', 'xplane9', 'xplane6'])
@pytest.mark.parametrize('step', STEPS, ids=str)
def test_one_autopilot_flies_each_within_the_criteria_of_the_demo(make_loop, step):
    loop, law, log = make_loop(), Cascade(), []
    # Huginn does not report its throttle, so engaging is not bumpless there.
    fly(loop, law, 40.0 if make_loop is FdmdataLoop else 3.0, log)
    (quantity, change), = step.value.items()
    start = getattr(law.target, quantity)
    values = {name: getattr(law.target, name) for name in ('altitude', 'heading', 'airspeed')}
    values[quantity] += change
    law.target = Target(**values)
    begun = len(log)
    fly(loop, law, step.expect.until - step.at, log)
    response = step_response(
        [time for time, _ in log[begun:]],
        [getattr(now, quantity) for _, now in log[begun:]],
        start, start + change, step.expect.band)
    assert response.settling <= step.expect.settling
    assert response.overshoot <= step.expect.overshoot
    assert getattr(loop.session.statistics, 'lost', 0) == 0


def test_what_the_autopilot_sees_is_what_the_aircraft_does():
    loop, law, log = XpcLoop(), Cascade(), []
    fly(loop, law, 3.0, log)
    law.target = Target(law.target.altitude, law.target.heading + 1.0, law.target.airspeed)
    fly(loop, law, 4.0, log)
    value = loop.world.aircraft.property_value
    now = log[-1][1]
    # The last update is from the last frame or the one before.
    assert now.roll == pytest.approx(value('attitude/phi-rad'), abs=0.02)
    assert now.roll > math.radians(15.0)
    assert now.heading == pytest.approx(value('attitude/psi-rad'), abs=0.01)
    assert now.yaw_rate == pytest.approx(value('velocities/r-rad_sec'), abs=0.02)
    assert now.airspeed == pytest.approx(value('velocities/vc-kts') * 0.514444, abs=0.1)
    assert now.altitude == pytest.approx(value('position/h-sl-ft') * 0.3048, abs=0.2)
