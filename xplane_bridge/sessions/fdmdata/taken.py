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
from xplane_bridge.sessions.repetition import Repetition

_SURFACES = ('aileron', 'elevator', 'rudder')


class Taken:
    """
    The controls of one run of Huginn as commanded, and which of them were commanded.

    The datagram sets all four controls at once, and they cannot be read back: they are known only
    from what was sent, and only for the same run of Huginn. It holds them forever. So what is
    given back is repeated for a while.
    """

    def __init__(self) -> None:
        self._known: Controls | None = None
        self._taken = Ledger[float]()
        self._giving = Repetition[str]()

    @property
    def taken(self) -> tuple[str, ...]:
        """Return the names of the controls that were commanded."""
        return self._taken.names

    @property
    def owed(self) -> tuple[str, ...]:
        """Return the names of the surfaces that were given back and are being repeated."""
        return tuple(self._giving)

    @property
    def known(self) -> Controls | None:
        """Return what Huginn holds if nothing was lost, None if that is unknown."""
        return self._known

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
            self._giving.end(name)

    def give_back(self, now: float) -> None:
        """
        Centre all surfaces from now on, if one was commanded; the throttle stays.

        Their previous positions are unknown. Surfaces that were not commanded are already centred.
        """
        given = [entry.value for entry in self._taken.give_back() if entry.value in _SURFACES]
        if self._known is None or not given:
            return
        self._known = Controls(0.0, 0.0, 0.0, self._known.throttle)
        for name in given:
            self._giving.begin(name, now)

    def repeat(self, now: float) -> None:
        """Give back again what is being given back: it may not have been heard."""
        self._giving.restart(now)

    def due(self, now: float, seconds: float) -> Controls | None:
        """Return what to send now, of what is given back for ``seconds`` seconds."""
        return self._known if self._giving.due(now, seconds) else None

    @property
    def deadline(self) -> float | None:
        """Return when due() has something."""
        return self._giving.deadline

    def forget(self) -> None:
        """Forget everything: Huginn was restarted, or has moved the controls itself."""
        self._known = None
        self._taken.clear()
        self._giving.clear()
