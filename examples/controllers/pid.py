#!/usr/bin/env python3
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

"""
The same flight with plain PID loops of simple-pid, in the node of minimal.py.

    pip install simple-pid
    python3 examples/controllers/pid.py

Only the law is new: five loops of simple-pid, which brings limits, anti-windup and a start without
a jump.
"""

from math import cos, remainder, tan, tau
import sys

from minimal import main

try:
    from simple_pid import PID
except ImportError:
    sys.exit('pid.py needs simple-pid, which is not installed: pip install simple-pid')


def loop(gains, limits, start=0.0, wrapped=False):
    """Return a loop; its time is that of the states, not the computer's."""
    kp, ki, kd = gains
    return PID(kp, ki, kd, sample_time=None, output_limits=limits, starting_output=start,
               error_map=(lambda error: remainder(error, tau)) if wrapped else None)


class Law:
    """Altitude -> pitch -> elevator, course -> bank -> aileron, airspeed -> throttle."""

    def __init__(self, now, controls):
        self.climb_to_pitch = loop((0.03, 0.008, 0.0), (-0.2, 0.2), start=now.pitch)
        self.pitch_to_elevator = loop((2.2, 0.8, 0.5), (-1.0, 1.0), start=controls.elevator)
        self.course_to_bank = loop((2.2, 0.0, 0.0), (-0.44, 0.44), wrapped=True)
        self.bank_to_aileron = loop((1.5, 0.04, 0.35), (-1.0, 1.0), start=controls.aileron)
        self.airspeed_to_throttle = loop((0.2, 0.005, 0.0), (0.0, 1.0), start=controls.throttle)
        self.altitude, self.climb = now.altitude, 0.0

    def update(self, now, target, dt):
        """Return elevator, aileron, rudder and throttle, from SI units and radians."""
        dt = max(dt, 1e-3)      # simple-pid takes no 0
        self.climb += (now.altitude - self.altitude - self.climb * dt) / (0.5 + dt)
        self.altitude = now.altitude

        def follow(pid, wanted, measured):
            pid.setpoint = wanted
            return pid(measured, dt=dt)

        climb = max(-3.5, min(0.3 * (target['altitude'] - now.altitude), 3.5))
        pitch = follow(self.climb_to_pitch, climb, self.climb)
        bank = (follow(self.course_to_bank, target['course'], now.course) if 'course' in target
                else follow(self.course_to_bank, target['true_heading'], now.heading))
        turn = 9.81 * tan(now.roll) / max(now.airspeed, 15.0)
        return (
            follow(self.pitch_to_elevator, pitch, now.pitch),
            follow(self.bank_to_aileron, bank, now.roll),
            0.5 * (turn * cos(now.roll) - now.yaw_rate),
            follow(self.airspeed_to_throttle, target['airspeed'], now.airspeed))


if __name__ == '__main__':
    main(Law)
