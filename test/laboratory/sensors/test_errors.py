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

"""The errors of sensors lie on their figures: the Allan deviation of a simulated hour."""

import math

import numpy as np
import pytest

from xplane_bridge.laboratory.sensors.allan import allan_deviation, expected_deviation
from xplane_bridge.laboratory.sensors.errors import Axes, Errors, PERFECT
from xplane_bridge.laboratory.sensors.specification import load

INTERVAL = 0.02
HOUR = 3600.0


def recorded(errors, seconds=HOUR, seed=1, count=1):
    """Return what a sensor reads at rest."""
    axes = Axes(errors, count, np.random.default_rng(seed))
    rest = (0.0,) * count
    return np.array([axes.measure(rest, INTERVAL) for _ in range(round(seconds / INTERVAL))])


@pytest.mark.parametrize(('name', 'sensor'), [
    ('consumer', 'gyroscope'), ('consumer', 'accelerometer'), ('tactical', 'gyroscope')])
def test_the_allan_deviation_of_an_hour_lies_on_the_figures_of_the_file(name, sensor):
    errors = getattr(load(name).imu, sensor)
    taus = [0.1, 1.0, 10.0, 100.0]
    measured = allan_deviation(recorded(errors)[:, 0], INTERVAL, taus)
    # What an estimate from so many averages is good for, four standard deviations.
    tolerance = [4.0 / math.sqrt(2.0 * HOUR / tau) for tau in taus]
    assert np.all(np.abs(measured / expected_deviation(errors, INTERVAL, taus) - 1.0) < tolerance)
    # Straight from the file: at 1 s nothing but white noise.
    assert measured[1] == pytest.approx(errors.noise_density, rel=0.05)


def test_the_flat_part_is_the_bias_instability():
    errors = Errors(noise_density=1e-4, bias_instability=1e-4, time_constant=20.0)
    measured = allan_deviation(recorded(errors)[:, 0], INTERVAL, [1.89 * 20.0])
    assert measured == pytest.approx(1e-4, rel=0.2)


def test_white_noise_falls_and_the_random_walk_rises_with_the_root_of_the_time():
    white = allan_deviation(
        recorded(Errors(noise_density=0.3), 600.0)[:, 0], INTERVAL, [0.1, 1.0, 10.0])
    assert white == pytest.approx([0.3 / math.sqrt(tau) for tau in (0.1, 1.0, 10.0)], rel=0.15)
    walk = allan_deviation(
        recorded(Errors(bias_random_walk=0.3), 600.0)[:, 0], INTERVAL, [1.0, 10.0])
    assert walk == pytest.approx([0.3 * math.sqrt(tau / 3.0) for tau in (1.0, 10.0)], rel=0.25)


def test_the_allan_deviation_of_numbers_by_hand():
    # Averages of two: 1, 1, 3; of one: differences 0, 0, 0, 2, 0 have a mean square of 4/5.
    values = np.array([1.0, 1.0, 1.0, 1.0, 3.0, 3.0, 3.0])
    assert allan_deviation(values, 1.0, [1.0]) == pytest.approx([math.sqrt(4.0 / 6.0 / 2.0)])
    with pytest.raises(ValueError, match='averaging time of 3 s'):
        allan_deviation(values, 1.0, [3.0])


def test_constant_errors_have_their_standard_deviation_from_run_to_run():
    errors = Errors(bias_turn_on=2.0, scale_factor=0.1, drift=1.0, time_constant=1e6)
    runs = [Axes(errors, 3, np.random.default_rng(seed)) for seed in range(300)]
    rest = np.array([axes.measure((0.0,) * 3, INTERVAL) for axes in runs]).ravel()
    moved = np.array([axes.measure((100.0,) * 3, INTERVAL) for axes in runs]).ravel()
    assert rest.std() == pytest.approx(math.hypot(2.0, 1.0), rel=0.1)
    assert ((moved - rest) / 100.0).std() == pytest.approx(0.1, rel=0.1)
    assert ((moved - rest) / 100.0).mean() == pytest.approx(1.0, abs=0.02)


def test_the_variance_that_is_told_is_that_of_the_errors():
    errors = Errors(
        noise=0.2, noise_density=0.05, bias_turn_on=0.3, drift=0.2, bias_random_walk=0.1,
        quantisation=0.1, time_constant=5.0)
    found = []
    for seed in range(400):
        axes = Axes(errors, 3, np.random.default_rng(seed))
        for _ in range(100):
            last = axes.measure((0.0,) * 3, INTERVAL)
        found += last
    assert np.var(found) == pytest.approx(axes.variance, rel=0.15)


def test_the_converter_has_steps_and_an_end():
    axes = Axes(Errors(quantisation=0.5, saturation=2.0), 4, np.random.default_rng(0))
    assert axes.measure((0.3, 0.2, 9.0, -9.0), INTERVAL) == (0.5, 0.0, 2.0, -2.0)
    assert math.isnan(axes.measure((math.nan, 0.0, 0.0, 0.0), INTERVAL)[0])


def test_a_perfect_sensor_gives_back_every_bit():
    axes = Axes(PERFECT, 2, np.random.default_rng(0))
    assert axes.measure((0.1 + 0.2, -1e-300), INTERVAL) == (0.1 + 0.2, -1e-300)
    assert axes.variance == 0.0


def test_noise_of_a_density_grows_with_the_rate():
    fast, slow = (
        np.std([axes.measure((0.0,), interval)[0] for _ in range(4000)])
        for axes, interval in (
            (Axes(Errors(noise_density=1.0), 1, np.random.default_rng(3)), 0.01),
            (Axes(Errors(noise_density=1.0), 1, np.random.default_rng(4)), 0.04)))
    assert fast == pytest.approx(10.0, rel=0.05)
    assert slow == pytest.approx(5.0, rel=0.05)
