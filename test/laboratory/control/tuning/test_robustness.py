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

"""Margins against those worked out by hand, and the cascade's linear law against the cascade."""

from __future__ import annotations

from dataclasses import replace
import math

import numpy as np
import pytest
from test_margins import simple

from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.laboratory.control.cascade import Cascade
from xplane_bridge.laboratory.control.gains import Gains
from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.control.targets import Target
from xplane_bridge.laboratory.control.tuning.robustness import (
    compute_margins,
    disk_margin,
    linear_law,
    robustness,
)
from xplane_bridge.laboratory.control.tuning.tune import tune

FREQUENCIES = np.logspace(-3.0, 2.5, 2200)


def test_margins_of_an_integrator_with_delay() -> None:
    # 2 e^(-0.1 s) / s: |L| = 1 at 2 rad/s, where the phase is -90 degrees - 0.2 rad, so that
    # another (pi/2 - 0.2) / 2 s are possible; -180 degrees at 5 pi rad/s, where |L| = 2 / (5 pi).
    s = 1j * FREQUENCIES
    found = compute_margins(FREQUENCIES, 2.0 * np.exp(-0.1 * s) / s)
    assert found.phase == pytest.approx(math.degrees(math.pi / 2.0 - 0.2), abs=1e-3)
    assert found.delay == pytest.approx((math.pi / 2.0 - 0.2) / 2.0, rel=1e-4)
    assert found.gain == pytest.approx(20.0 * math.log10(2.5 * math.pi), abs=1e-3)


def test_margins_of_a_lag_that_nothing_makes_unstable() -> None:
    # L = 0.5 / (s + 1): |S - T| / 2 = |1 - L| / |1 + L| / 2 is largest for s without bounds.
    found = compute_margins(FREQUENCIES, 0.5 / (1j * FREQUENCIES + 1.0))
    assert (found.gain, found.phase, found.delay) == (math.inf, math.inf, math.inf)
    assert found.disk == pytest.approx(2.0, rel=1e-3)


def test_the_disk_margin_of_a_double_lag() -> None:
    # L = 25 / (s^3 + 10 s^2 + 10 s + 10), example of Seiler, Packard and Gahinet.
    s = 1j * FREQUENCIES
    found = compute_margins(FREQUENCIES, 25.0 / (s ** 3 + 10.0 * s ** 2 + 10.0 * s + 10.0))
    # -180 degrees at sqrt(10) rad/s, where it is 25 / -90.
    assert found.gain == pytest.approx(20.0 * math.log10(3.6), abs=2e-3)
    assert found.disk == pytest.approx(0.46, abs=0.01)


def test_the_disk_margin_of_several_loops_is_that_of_the_worst_if_they_are_apart() -> None:
    s = 1j * FREQUENCIES
    loops = [2.0 * np.exp(-0.1 * s) / s, 1.0 / (s * (s + 1.0))]
    sensitivity = np.zeros((len(s), 2, 2), dtype=complex)
    for n, loop in enumerate(loops):
        sensitivity[:, n, n] = 1.0 / (1.0 + loop)
    alone = [compute_margins(FREQUENCIES, loop).disk for loop in loops]
    assert disk_margin(sensitivity) == pytest.approx(min(alone))


def test_the_disk_margin_of_coupled_loops_is_the_textbook_one() -> None:
    # The spinning satellite of Doyle: L = K P, which each loop alone takes for robust.
    s = 1j * FREQUENCIES
    a, one = np.array([[0.0, 10.0], [-10.0, 0.0]]), np.eye(2)
    plant = np.array([[1.0, 10.0], [-10.0, 1.0]]) @ np.linalg.inv(s[:, None, None] * one - a)
    sensitivity = np.linalg.inv(one + plant @ np.array([[1.0, -2.0], [0.0, 1.0]]))
    # Of two channels the structured singular value is the least largest singular value over
    # scalings of one against the other.
    least = np.min([
        np.linalg.norm((sensitivity - 0.5 * one) * np.array([[1.0, d], [1.0 / d, 1.0]]), 2,
                       axis=(1, 2)) for d in np.logspace(-1.0, 1.0, 101)], axis=0)
    assert disk_margin(sensitivity) == pytest.approx(1.0 / least.max(), rel=1e-3)
    alone = [compute_margins(FREQUENCIES, 1.0 / sensitivity[:, n, n] - 1.0).disk for n in (0, 1)]
    assert min(alone) > disk_margin(sensitivity)


def test_an_inner_loop_alone_has_the_margins_that_tuning_found() -> None:
    found = tune(simple())
    loop = {loop.name: loop for loop in found.loops}['pitch_rate']
    alone = robustness(simple(), replace(
        found.gains, roll_to_roll_rate=0.0, pitch_to_pitch_rate=0.0)).loops['elevator']
    assert alone.phase == pytest.approx(loop.phase_margin, abs=1.5)
    assert alone.gain == pytest.approx(loop.gain_margin, abs=0.5)


def test_all_loops_at_once_keep_less_than_each_alone() -> None:
    found = robustness(simple(), tune(simple()).gains)
    assert found.is_stable
    assert math.isinf(found.time_to_double)
    assert 0.5 < found.disk <= min(each.disk for each in found.loops.values()) + 1e-9


def test_what_diverges_fast_has_no_margins() -> None:
    found = robustness(simple(), Gains(pitch_rate_to_elevator=30.0))
    assert not found.is_stable
    assert found.growth > 0.1
    assert found.disk == found.loops['elevator'].gain == 0.0
    assert found.time_to_double == pytest.approx(math.log(2.0) / found.growth)


@pytest.mark.parametrize('gains', [
    Gains(airspeed=50.0), Gains(
        airspeed=45.0, airspeed_to_throttle=0.0, airspeed_to_throttle_integral=0.0,
        path_angle_to_throttle=0.0, airspeed_to_pitch=0.02, airspeed_to_pitch_integral=0.004)])
def test_the_linear_law_is_what_the_cascade_commands(gains: Gains) -> None:
    model = simple()
    controls = ('elevator', 'aileron', 'rudder', 'throttle')[:4 if gains.has_engine else 3]
    law = linear_law(gains, model, controls)
    # pitch_rate, roll_rate, yaw_rate, pitch, roll, true_airspeed, flight_path_angle,
    # altitude_msl, course.
    rng = np.random.default_rng(3)
    dt = 0.01

    def commanded(scale: float) -> np.ndarray:
        cascade = Cascade(gains)
        level = measured(np.zeros(9))
        cascade.engage(level, Controls(0.0, 0.0, 0.0, 0.5), Target(
            altitude=1000.0, airspeed=50.0, course=1.0))
        cascade.update(level, dt)
        rng = np.random.default_rng(3)
        found = []
        for _ in range(20):
            y = scale * rng.normal(size=9)
            made = cascade.update(measured(y), dt)
            found.append([getattr(made, name) for name in controls])
        return np.array(found)

    def measured(y: np.ndarray) -> Measurement:
        q, p, r, pitch, roll, airspeed, path, altitude, course = y
        speed = 50.0 + airspeed
        return Measurement(
            altitude=1000.0 + altitude, heading=1.0, roll=roll, pitch=pitch, airspeed=speed,
            true_airspeed=speed, roll_rate=p, pitch_rate=q, yaw_rate=r,
            climb_rate=50.0 * path, course=1.0 + course, ground_speed=50.0)

    small = 1e-5
    slopes = (commanded(small) - commanded(-small)) / (2.0 * small)
    x = np.zeros(len(law.a))
    for got in slopes:
        y = rng.normal(size=9)
        # The outer integral first, as the cascade does.
        x[3:] += dt * (law.a @ x + law.b @ y)[3:]
        x[:3] += dt * (law.a @ x + law.b @ y)[:3]
        assert got == pytest.approx(law.c @ x + law.d @ y, rel=1e-4, abs=1e-4)
