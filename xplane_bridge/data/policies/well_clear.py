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
Hold a target, and remain well clear of other aircraft: a policy that sees traffic.

Generalized velocity obstacles (D. Wilkie, J. van den Berg, D. Manocha: Generalized velocity
obstacles, IROS 2009): a command is excluded if the motion that follows from it, with the limits
of the vehicle, would lead into another one that flies straight on. Here a command is a heading:
it is reached by a turn at a limited bank, and the speed stays as it is. Of the headings that
remain clear it flies the one nearest to the wanted one, rather to the right than to the left.

As in the rules of the air (ICAO Annex 2, 3.2.2) it gives way to whoever comes from the right or
from ahead, and early; whoever comes from the left has to give way itself, and is avoided late.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Nobody is to be within this cylinder (m): its radius, and half of its height.
RADIUS, HEIGHT = 450.0, 80.0
# How far it looks ahead (s): for who has the right of way, and for who has to give way.
EARLY, LATE = 45.0, 25.0
# Those that it has to give way to come from within these bearings (rad, to the right).
FROM, TO = math.radians(-20.0), math.radians(120.0)
# The bank of its turns (rad): a little less than the autopilot's.
BANK = math.radians(18.0)
# What is predicted, every so many seconds; and the headings that are tried (rad from the wanted).
TIMES = np.arange(0.0, EARLY + 0.5, 1.0)
OFFSETS = np.radians(np.arange(-150.0, 151.0, 5.0))
# A turn to the left, and one to the other side than before, count as so much larger; so does (rad)
# one after which the others are still in the way, such as along with one who flies as fast.
LEFT, OTHER_SIDE = 1.5, 2.0
UNRESOLVED = math.radians(60.0)
# It decides in each of so many frames.
EVERY = 6
GRAVITY = 9.80665
# The bits of altitude, heading and airspeed in target.fields.
TOLD = 1, 2, 4
MOST = 8
OF_EACH = 'east', 'north', 'up', 'east_speed', 'north_speed', 'up_speed'


class WellClear:
    """
    The policy: it remembers how far it turns from the wanted heading.

    What it is not told to hold it holds as it was at the beginning.
    """

    level = 'target'
    fields = (
        'imu/data.orientation.x', 'imu/data.orientation.y', 'imu/data.orientation.z',
        'imu/data.orientation.w', 'air_data.true_airspeed', 'fix.altitude',
        'air_data.indicated_airspeed', 'target.fields', 'target.altitude', 'target.true_heading',
        'target.airspeed', 'traffic.count',
        *(f'traffic.{number}.{name}' for number in range(MOST) for name in OF_EACH))

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin a flight."""
        self._offset, self._calls = 0.0, 0
        self._held: tuple[float, float, float] | None = None

    def __call__(self, observation: Array) -> tuple[float, float, float]:
        """Return the altitude, the heading and the airspeed to hold."""
        x, y, z, w, speed, own_altitude, indicated, told, *targets = observation[:11].tolist()
        count = int(observation[11])
        heading = math.pi / 2 - math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
        if self._held is None:
            self._held = own_altitude, heading, indicated or speed
        altitude, wanted, airspeed = (
            target if int(told) & bit else held
            for target, held, bit in zip(targets, self._held, TOLD, strict=True))
        if not count or speed <= 0.0:
            self._offset = 0.0
        elif self._calls % EVERY == 0:
            others = observation[12:].reshape(MOST, len(OF_EACH))[:count]
            self._offset = self._chosen(others, speed, heading, wanted)
        self._calls += 1
        return altitude, math.remainder(wanted + self._offset, math.tau), airspeed

    def _chosen(self, others: Array, speed: float, heading: float, wanted: float) -> float:
        """Return how far to turn from the wanted heading (rad)."""
        bearings = np.remainder(
            np.arctan2(others[:, 0], others[:, 1]) - heading + math.pi, math.tau) - math.pi
        has_right_of_way = (bearings > FROM) & (bearings < TO)
        # While it turns away their bearings change, and not what it has to do.
        horizons = np.where(has_right_of_way | (self._offset != 0.0), EARLY, LATE)
        clear, _ = predicted(others, horizons, speed, heading, wanted, np.zeros(1))
        if clear[0] >= 1.0:
            return 0.0
        clear, resolved = predicted(others, horizons, speed, heading, wanted, OFFSETS)
        if not (clear >= 1.0).any():
            return float(OFFSETS[clear.argmax()])
        cost = np.abs(OFFSETS) * np.where(OFFSETS < 0.0, LEFT, 1.0) * np.where(
            OFFSETS * self._offset < 0.0, OTHER_SIDE, 1.0) + np.where(resolved, 0.0, UNRESOLVED)
        return float(OFFSETS[np.where(clear >= 1.0, cost, math.inf).argmin()])


def predicted(
    others: Array, horizons: Array, speed: float, heading: float, wanted: float, offsets: Array
) -> tuple[Array, NDArray[np.bool_]]:
    """
    Return how clear of all others each turn from the wanted heading remains, and if it resolves.

    Clear is how near it comes: at 1 it touches a cylinder. It is resolved if the wanted heading
    can be flown afterwards. ``others`` have a row each, OF_EACH, as seen from the own aircraft,
    which flies at a ``speed`` (m/s, through the air); each is looked at as far ahead as its one
    of ``horizons`` (s).
    """
    rate = GRAVITY * math.tan(BANK) / speed
    turns = np.remainder(wanted + offsets - heading + math.pi, math.tau) - math.pi
    turned = heading + np.clip(turns[:, None], -rate * TIMES, rate * TIMES)
    # What its own motion is more than straight on, which the speeds of the others contain.
    more = speed * np.stack([
        np.sin(turned) - math.sin(heading), np.cos(turned) - math.cos(heading)])
    moved = np.cumsum(0.5 * (more[..., 1:] + more[..., :-1]), axis=-1)
    moved = np.concatenate((np.zeros_like(moved[..., :1]), moved), axis=-1)
    # By other, heading and time.
    places = others[:, :3, None] + others[:, 3:, None] * TIMES
    across = places[:, None, :2] - moved.swapaxes(0, 1)
    heights = np.abs(places[:, None, 2]) / HEIGHT
    near = np.maximum(np.hypot(across[:, :, 0], across[:, :, 1]) / RADIUS, heights)
    clear: Array = np.where(horizons[:, None, None] >= TIMES, near, math.inf).min(axis=(0, 2))
    # How they move as seen from there, and how near they then come at the wanted heading.
    seen = others[:, 3:5] - speed * np.array([
        math.sin(wanted) - math.sin(heading), math.cos(wanted) - math.cos(heading)])
    left = across[..., -1]
    until = -(left * seen[:, None]).sum(axis=-1) / np.maximum(
        (seen * seen).sum(axis=-1), 1e-6)[:, None]
    nearest = left + seen[:, None] * np.maximum(until, 0.0)[..., None]
    passed = np.maximum(np.hypot(nearest[..., 0], nearest[..., 1]) / RADIUS, heights[..., -1])
    return clear, (passed >= 1.0).all(axis=0)


well_clear = WellClear
