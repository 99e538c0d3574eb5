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

"""The controls commanded to one run of Huginn, and therefore known."""

from __future__ import annotations

from collections.abc import Mapping

from xplane_bridge.protocols.fdmdata import Controls
from xplane_bridge.sessions.ledger import Ledger

_SURFACES = ('aileron', 'elevator', 'rudder')


class HeldControls:
    """
    The controls of one run of Huginn as commanded, and which of them were commanded.

    The datagram sets all four controls at once, and they cannot be read back: they are known only
    from what was sent, and only for the same run of Huginn. It holds them forever.
    """

    def __init__(self) -> None:
        self._known: Controls | None = None
        self._taken = Ledger[float]()

    @property
    def taken(self) -> tuple[str, ...]:
        """Return the names of the controls that were commanded."""
        return self._taken.names

    def merged(self, given: Mapping[str, float]) -> Controls:
        """
        Return all four controls: those given, and the others unchanged.

        Surfaces that were never commanded are centred. Raises ValueError if the throttle is
        unknown: any assumption would start or stop the engine.
        """
        known = self._known
        if known is None:
            if 'throttle' not in given:
                raise ValueError(
                    'the first command must include the throttle, as FDMData sets all controls at '
                    'once and does not report them')
            known = Controls(0.0, 0.0, 0.0, given['throttle'])
        return Controls(**{
            name: given.get(name, getattr(known, name)) for name in Controls.__slots__})

    def sent(self, controls: Controls, given: Mapping[str, float]) -> None:
        """Record what was sent, and which of it was commanded."""
        self._known = controls
        for name in given:
            self._taken.take(0, name)

    def give_back(self) -> Controls | None:
        """
        Return the controls with all surfaces centred, if one was commanded; the throttle stays.

        Their previous positions are unknown. Surfaces that were not commanded are already centred.
        """
        given = {entry.value for entry in self._taken.give_back()}
        if self._known is None or given.isdisjoint(_SURFACES):
            return None
        self._known = Controls(0.0, 0.0, 0.0, self._known.throttle)
        return self._known

    def forget(self) -> None:
        """Forget everything: Huginn was restarted, or has moved the controls itself."""
        self._known = None
        self._taken.clear()
