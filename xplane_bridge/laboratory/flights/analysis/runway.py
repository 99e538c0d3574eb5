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
"""The figures of a flight from a runway and to one."""

from __future__ import annotations

from collections.abc import Mapping
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.common.units import DEGREE
from xplane_bridge.laboratory.control.runway.charted import ChartedRunway
from xplane_bridge.laboratory.flights.analysis.series import Array, History

# It has lifted off, and touched down, if it was in the air this long (s) and, on any flight that
# gets there, this high (m): what a long hop while it rolls does not.
_AIRBORNE, _FLIES = 2.0, 15.0
# The glide path is judged between these heights (m).
_GLIDE_BEGINS, _GLIDE_ENDS = 150.0, 15.0
# The sink rate at touch-down is that of this time before it (s).
_BEFORE = 0.1
# No aircraft stands higher (m) above a runway; its wheels are on it if it is this near (m) to
# where it stands.
_NEAR_GROUND, _ON_WHEELS = 20.0, 0.15
# Slower (m/s) it stands.
_ROLLS = 1.0
# Slower (m/s) for the last second it has stopped.
_STOPPED = 0.3


class _Track(NamedTuple):
    """Seen from the runway: m beyond the threshold, to the right, above where it stands."""

    times: Array
    along: Array
    across: Array
    height: Array
    on_ground: NDArray[np.bool_]


def figures(flight: History, runway: ChartedRunway, end: float) -> dict[str, float]:
    """
    Return the figures of a flight until ``end`` (s), by name; NaN: it did not happen.

    In metres: ``rolling_across``, the greatest distance from the centreline on the wheels;
    ``lift_off`` and ``stop``, how much of the runway was left there; ``touch_down``, beyond the
    aiming point, and ``touch_down_across``. ``glide_path_deg`` is the greatest deviation between
    150 and 15 m, ``sink`` (m/s) that at touch-down. ``bounces`` and ``structural_contacts`` are
    counts; ``strut`` is the greatest compression as a multiple of that when standing. Without
    quantities.CONTACTS the last two are NaN, and the wheels are on the ground where the aircraft
    is no higher than where it stands.
    """
    track = _track(flight, runway, end)
    found = dict.fromkeys((
        'rolling_across', 'lift_off', 'touch_down', 'touch_down_across', 'sink',
        'glide_path_deg', 'bounces', 'stop', 'structural_contacts', 'strut'), math.nan)
    if not len(track.times):
        return found
    ground = track.on_ground
    if ground.any():
        found['rolling_across'] = float(np.abs(track.across[ground]).max())
    for name, of in (('structural_contacts', 'structure_on_ground'),
                     ('strut', 'strut_compression')):
        if of in flight.series:
            values = np.interp(track.times, *flight.series[of])
            found[name] = float(values[_moves(track)].max(initial=0.0))
    left, touched = _flights(track)
    if left is not None:
        found['lift_off'] = runway.length - float(track.along[left])
    if touched is not None:
        found |= _landing(track, touched, runway)
    moved = track.times > track.times[-1] - 1.0
    if ground[moved].all() and float(np.hypot(
            np.ptp(track.along[moved]), np.ptp(track.across[moved]))) < _STOPPED:
        found['stop'] = runway.length - float(track.along[-1])
    return found


def _track(flight: History, runway: ChartedRunway, end: float) -> _Track:
    series = flight.series
    places = [series[name].between(0.0, end) for name in (
        'latitude', 'longitude', 'altitude')]
    times = places[0].times
    if not len(times):
        empty = np.empty(0)
        return _Track(empty, empty, empty, empty, empty.astype(bool))
    frame = runway.own_frame()
    east, north = np.array([
        frame.geodetic_to_enu(*place)[:2] for place in zip(
            *(one.values.tolist() for one in places), strict=True)]).T
    sine, cosine = math.sin(runway.heading), math.cos(runway.heading)
    along, across = east * sine + north * cosine, east * cosine - north * sine
    above = places[2].values - runway.elevation
    wheels = series.get('wheels_on_ground')
    if wheels is None:
        stands = [np.ptp(along[part]) < _STOPPED and abs(above[part].mean()) < _NEAR_GROUND
                  for part in (times < times[0] + 0.5, times > times[-1] - 0.5)]
        at_rest = above[0] if stands[0] else above[-1] if stands[1] else 0.0
        on_ground = above - at_rest < _ON_WHEELS
    else:
        on_ground = np.interp(times, wheels.times, wheels.values) > 0.5
        # Where it stands, its centre of gravity is above the surface.
        at_rest = above[0] if on_ground[0] else above[-1] if on_ground[-1] else 0.0
    return _Track(times, along, across, above - at_rest, on_ground)


def _flights(track: _Track) -> tuple[int | None, int | None]:
    """Return the first frame in the air after standing, and the first on the ground again."""
    changes = np.flatnonzero(np.diff(track.on_ground.astype(int))) + 1
    bounds = [0, *changes.tolist(), len(track.times)]
    air = [(begin, end) for begin, end in zip(bounds, bounds[1:], strict=False)
           if not track.on_ground[begin]
           and track.times[end - 1] - track.times[begin] > _AIRBORNE]
    air = [one for one in air if track.height[slice(*one)].max() > _FLIES] or air
    if not air:
        return None, None
    left = air[0][0] if air[0][0] > 0 else None
    touched = air[-1][1] if air[-1][1] < len(track.times) else None
    return left, touched


def _moves(track: _Track) -> NDArray[np.bool_]:
    """Return in which frames it moves: standing in a wind from behind JSBSim's model rocks."""
    if len(track.times) < 2:
        return np.zeros(len(track.times), dtype=bool)
    speed = np.hypot(*(np.gradient(one, track.times) for one in (track.along, track.across)))
    moving: NDArray[np.bool_] = (speed > _ROLLS) | ~track.on_ground
    return moving


def _landing(track: _Track, touched: int, runway: ChartedRunway) -> Mapping[str, float]:
    before = int(np.searchsorted(track.times, track.times[touched] - _BEFORE))
    seconds = track.times[touched] - track.times[before]
    final = (track.height > _GLIDE_ENDS) & (track.height < _GLIDE_BEGINS)
    # Of the last descent only.
    final[:int(np.flatnonzero(track.height[:touched] >= _GLIDE_BEGINS)[-1:].sum())] = False
    final[touched:] = False
    angles = np.arctan2(track.height[final], runway.aiming_point - track.along[final])
    after = track.on_ground[touched:]
    return {
        'touch_down': float(track.along[touched]) - runway.aiming_point,
        'touch_down_across': float(track.across[touched]),
        'sink': float((track.height[before] - track.height[touched]) / seconds),
        'glide_path_deg': float(np.abs(angles - runway.glide_path).max(
            initial=0.0)) / DEGREE if len(angles) else math.nan,
        'bounces': float(np.count_nonzero(np.diff(after.astype(int)) < 0))}
