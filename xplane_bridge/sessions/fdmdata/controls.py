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

"""What was commanded to one run of Huginn, and is therefore known of its controls."""

from __future__ import annotations

from collections.abc import Mapping

from xplane_bridge.protocols.fdmdata import Controls
from xplane_bridge.sessions.ledger import Ledger

_SURFACES = ('aileron', 'elevator', 'rudder')


class HeldControls:
    """
    The controls of one run of Huginn as they were commanded, and which of them were.

    The datagram sets all four controls at once, and nothing reads them back: what they are is
    known only from what was sent, and only while it is the same Huginn. It holds them for ever.
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
        Return all four controls: those given, and the others as they are.

        Surfaces that never were commanded are centred. Raises ValueError if the throttle is not
        known: any assumption would start or stop the engine.
        """
        known = self._known
        if known is None:
            if 'throttle' not in given:
                raise ValueError(
                    'the first command must say the throttle, for FDMData sets all controls at '
                    'once and does not tell what they are')
            known = Controls(0.0, 0.0, 0.0, given['throttle'])
        return Controls(**{
            name: given.get(name, getattr(known, name)) for name in Controls.__slots__})

    def sent(self, controls: Controls, given: Mapping[str, float]) -> None:
        """Note what was sent, and what of it was commanded."""
        self._known = controls
        for name in given:
            self._taken.take(0, name)

    def give_back(self) -> Controls | None:
        """
        Return the controls with all surfaces centred, if one was commanded; the throttle stays.

        What they were before nobody knows. What was not commanded is centred already.
        """
        given = {entry.value for entry in self._taken.give_back()}
        if self._known is None or given.isdisjoint(_SURFACES):
            return None
        self._known = Controls(0.0, 0.0, 0.0, self._known.throttle)
        return self._known

    def forget(self) -> None:
        """Forget everything: it is another Huginn, or it has moved the controls itself."""
        self._known = None
        self._taken.clear()
