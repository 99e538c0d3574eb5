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
Snapshots of an episode: how it began, and the actions that were flown since.

JSBSim can neither write nor read its whole state: the history of its integrators, the filters of
its turbulence, its random numbers and the insides of its engines have no properties. Its flights
are equal for equal actions, to the last bit, so an episode is restored by flying it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from xplane_bridge.laboratory.control.policy.observation import NAMES, Vector
from xplane_bridge.laboratory.flights.scenario.scenario import Scenario
from xplane_bridge.laboratory.flights.scenario.start import Start


@dataclass(frozen=True, slots=True)
class Snapshot:
    """
    An episode up to a step; see FlightEnv.snapshot.

    ``made_with`` are the arguments of the environment, ``start`` is how the episode began.
    ``actions`` are those of all steps so far and ``observation`` what was observed then, both as
    the bytes of double precision. ``random`` is the state of the environment's generator, which
    draws the seeds of later episodes.
    """

    made_with: Mapping[str, Any]
    start: Start
    actions: bytes
    observation: bytes
    random: Mapping[str, Any]

    def rows(self, width: int) -> Iterator[tuple[float, ...]]:
        """Yield the action of each step, of ``width`` numbers."""
        yield from map(tuple, np.frombuffer(self.actions).reshape(-1, width).tolist())

    def check(self, made_with: Mapping[str, Any]) -> None:
        """Raise ValueError if an environment with these arguments flies something else."""
        for name, own in made_with.items():
            theirs = self.made_with.get(name)
            if _same(own, theirs):
                continue
            if isinstance(own, Scenario) and isinstance(theirs, Scenario) and (
                    own.name == theirs.name):
                parts = ', '.join(
                    field.name for field in fields(Scenario)
                    if not _same(getattr(own, field.name), getattr(theirs, field.name)))
                raise ValueError(
                    f'restore: this environment and that of the snapshot have different '
                    f'scenarios {own.name}: they differ in {parts}')
            raise ValueError(
                f'restore: {name} of this environment is {_said(own)}, that of the snapshot '
                f'{_said(theirs)}')

    def check_arrival(self, observation: Vector) -> None:
        """Raise ValueError unless flying it again has led to where the snapshot was taken."""
        if observation.tobytes() == self.observation:
            return
        found, wanted = observation, np.frombuffer(self.observation)
        # Bytes, because NaN equals NaN here, and 0 is not -0.
        name, here, there = next(
            (name, here, there) for name, here, there in zip(NAMES, found, wanted, strict=True)
            if here.tobytes() != there.tobytes())
        raise ValueError(
            f'restore: flown again, {name} is {float(here)!r}, it was {float(there)!r}: another '
            'version of JSBSim or of this package, another processor, or the files of the '
            'aircraft, its gains or its sensors have changed')


def _same(one: object, other: object) -> bool:
    # Criteria have limits that are NaN, and NaN differs from itself.
    return one == other or repr(one) == repr(other)


def _said(value: object) -> str:
    return repr(value.name if isinstance(value, Scenario) else value)
