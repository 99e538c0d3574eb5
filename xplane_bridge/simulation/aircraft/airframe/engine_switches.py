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

"""The switches of engines: mixture, ignition, fuel and starter."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

MAGNETOS_BOTH = 3
"""The magnetos of a piston engine that runs: see EngineSwitches.set_magnetos()."""


class EngineSwitches:
    """
    What runs and stops the engines of a loaded jsbsim.FGFDMExec, by their numbers.

    ``pistons`` are those with cylinders, ``throttled`` those that run as their throttle says.
    """

    def __init__(self, fdm: Any, pistons: Collection[int], throttled: Collection[int]) -> None:
        self._fdm, self._pistons, self._throttled = fdm, pistons, throttled
        self._set, self._get = fdm.set_property_value, fdm.get_property_value
        self._has_node = fdm.get_property_manager().hasNode

    def start(self, engine: int) -> None:
        """Set an engine running steadily."""
        if engine in self._throttled:
            self._set(f'propulsion/engine[{engine}]/set-running', 1)
            return
        self.supply(engine, on=True)
        self._set('propulsion/set-running', engine)

    def restart(self, engine: int) -> None:
        """Start an engine if it does not run, and leave the others alone."""
        if not self._get(f'propulsion/engine[{engine}]/set-running'):
            self.supply(engine, on=True)
            self._fdm.get_propulsion().get_engine(engine).init_running()

    def stop(self, engine: int) -> None:
        """Cut an engine's mixture, ignition and fuel."""
        self._set(f'fcs/mixture-cmd-norm[{engine}]', 0.0)
        self.supply(engine, on=False)
        self._set(f'propulsion/engine[{engine}]/set-running', 0)

    def set_magnetos(self, engine: int, position: int) -> None:
        """Set the magnetos of a piston engine: 0 off, 1 left, 2 right, 3 both."""
        self._command(engine, 'magneto', position)

    def set_starter(self, engine: int, on: bool) -> None:
        """Let the starter of a piston engine turn it, or not."""
        self._command(engine, 'starter', int(on))

    def supply(self, engine: int, on: bool) -> None:
        """Turn an engine's mixture, ignition and fuel on or off."""
        if engine in self._pistons:
            self.set_magnetos(engine, MAGNETOS_BOTH if on else 0)
        elif self._has_node(f'propulsion/engine[{engine}]/n1'):
            self._command(engine, 'cutoff', int(not on))

    def _command(self, engine: int, name: str, value: int) -> None:
        # JSBSim writes a command for one kind of engine into the memory of any other kind.
        self._set('propulsion/active_engine', engine)
        self._set(f'propulsion/{name}_cmd', value)
        self._set('propulsion/active_engine', -1)
