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
A JSBSim instance as it was when it had just loaded its model, without loading it again.

JSBSim's own reset leaves much as it was in flight: properties that were written, its initial
conditions with their rounding, and whatever is computed from the state before. So all of this is
set here, twice, since a reset begins with what the flight before left; and a model that has just
been loaded goes the same way. What JSBSim cannot forget even so (the impulse that a rocket has
given, gas that has left an airship) shows in a property, and then the model must be loaded anew.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
import re
from typing import Any

# A mode of reset_to_initial_conditions: initial conditions are not applied.
_NOT_APPLIED = 2
# What acts on JSBSim itself, or on memory of engines of another kind; and initial conditions.
_NOT_RESTORED = re.compile(r'simulation/|ic/|propulsion/(set-running|active_engine|\w+_cmd)$')
# Time, seeds, and whether there was a trim: none of it is of the aircraft.
_NOT_COMPARED = re.compile(r'simulation/|atmosphere/randomseed$')
# Speeds (ft/s) beside which the rounding errors of wind, and then that of the first, are nothing.
_LARGE = (2.0**20, 2.0**50)
_ROUNDS = 2


class Renewal:
    """What is needed to renew one JSBSim instance, which has just loaded its model."""

    def __init__(self, fdm: Any) -> None:
        self._fdm = fdm
        node = self._node = fdm.get_property_manager().get_node
        entries = [entry.rsplit(' ', 1) for entry in fdm.get_property_catalog()]
        self._all = [
            (node(name).get_double_value, node(name).set_double_value)
            for name, access in entries
            if 'W' in access and not _NOT_RESTORED.match(name)]
        self._loaded = [get() for get, _ in self._all]
        self._compared = [
            node(name).get_double_value for name, _ in entries if not _NOT_COMPARED.match(name)]
        self._new = b''
        self._settings = [(node(f'ic/{name}').set_double_value, value) for name, value in (
            *(('phi-rad', 0.0), ('theta-rad', 0.0), ('psi-true-rad', 0.0)) * 3,
            *((f'{axis}-fps', value) for large in _LARGE for axis in ('vn', 've', 'vd')
              for value in (large, 0.0)),
            *((f'{axis}-rad_sec', 0.0) for axis in 'pqr'),
            ('terrain-elevation-ft', 0.0),
            *(('lat-geod-rad', 0.0), ('long-gc-rad', 0.0), ('h-sl-ft', 0.0)) * 2,
            ('targetNlf', 1.0), ('vt-fps', 0.0))]

    def run(self, prepare: Callable[[], object]) -> bool:
        """
        Return to the state after loading; False if it is not the same to the last bit.

        ``prepare`` is called after each of JSBSim's own resets.
        """
        fdm = self._fdm
        for _ in range(_ROUNDS):
            fdm.reset_to_initial_conditions(_NOT_APPLIED)
            prepare()
            # Each angle is set beside those that are read back from a quaternion, and each speed
            # beside a wind that is a difference: several times, so that nothing is left of them.
            for to, value in self._settings:
                to(value)
            for (get, to), loaded in zip(self._all, self._loaded, strict=True):
                if get() != loaded:
                    to(loaded)
            # Surfaces reach their positions at once.
            fdm.set_trim_status(True)
            fdm.run_ic()
            fdm.set_trim_status(False)
        now = array('d', [get() for get in self._compared]).tobytes()
        self._new = self._new or now
        return now == self._new
