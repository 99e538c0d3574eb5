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

"""What was taken from one run of Huginn: its controls, and that it runs."""

from __future__ import annotations

from collections.abc import Mapping

from xplane_bridge.bridges.fdmdata.protocol import ControlPositions
from xplane_bridge.bridges.sessions.ledger import Ledger
from xplane_bridge.bridges.sessions.left import Left
from xplane_bridge.bridges.sessions.pending import Pending, PendingTable

_VESSEL, _PAUSE = 0, 'pause'
_SURFACES = ('aileron', 'elevator', 'rudder')


class Overrides:
    """
    The controls of one run of Huginn as commanded, which of them were, and whether it was paused.

    The datagram sets all four controls at once, and they cannot be read back: they are known only
    from what was sent, and only for the same run of Huginn. It holds them forever. So surfaces
    that are given back are centred again and again for a while. A pause is not ended here: it is
    unconfirmed until the data show that Huginn runs. ``giving`` are the surfaces that are being
    centred: nothing shows them.
    """

    def __init__(self) -> None:
        self._known: ControlPositions | None = None
        self._overrides = Ledger[float]()
        self.giving = PendingTable[str, Pending[float, None]]()
        self._pause = Ledger[None]()
        self._paused_at = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the controls that were commanded, and the pause."""
        return (*self._overrides.names, *self._pause.names)

    @property
    def unconfirmed(self) -> tuple[str, ...]:
        """Return the names of the surfaces that are being centred, and the pause."""
        return (*self.giving, *self._pause.unconfirmed)

    @property
    def is_paused(self) -> bool:
        """Return whether Huginn may be paused from here."""
        return bool(self._pause)

    @property
    def paused_at(self) -> float:
        """Return after when data that change show that it is not paused."""
        return self._paused_at

    @property
    def known(self) -> ControlPositions | None:
        """Return what Huginn holds if nothing was lost, None if that is unknown."""
        return self._known

    def merged(self, given: Mapping[str, float]) -> ControlPositions:
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
            known = ControlPositions(0.0, 0.0, 0.0, given['throttle'])
        return ControlPositions(**{
            name: given.get(name, getattr(known, name)) for name in ControlPositions.__slots__})

    def sent(self, controls: ControlPositions, given: Mapping[str, float]) -> None:
        """Record what was sent, and which of it was commanded."""
        self._known = controls
        for name in given:
            self._overrides.take(0, name)
            self.giving.pop(name, None)

    def take_pause(self, now: float) -> None:
        """Note that Huginn may be paused from here from now on."""
        self._pause.take(_VESSEL, _PAUSE)
        self._paused_at = now

    def forget_pause(self) -> None:
        """Note that Huginn is not paused from here."""
        self._pause.clear()

    def centre(self, now: float) -> None:
        """
        Centre all surfaces from now on, if one was commanded; the throttle stays.

        Their previous positions are unknown. Surfaces that were not commanded are already centred.
        """
        given = [entry.value for entry in self._overrides.give_back() if entry.value in _SURFACES]
        if self._known is None or not given:
            return
        self._known = ControlPositions(0.0, 0.0, 0.0, self._known.throttle)
        for name in given:
            self.giving[name] = Pending(name, 0.0, None, now, again_at=now)

    def give_back(self, now: float) -> None:
        """Centre all surfaces, as centre() does; end a pause from now on."""
        self.centre(now)
        self._pause.release()
        self._paused_at = now

    def repeat(self, now: float) -> None:
        """Give back again what is being given back: it may not have been heard."""
        self.giving.restart(now)

    def due(self, now: float, seconds: float) -> ControlPositions | None:
        """Return what to send now, of what is given back for ``seconds`` seconds."""
        return self._known if self.giving and self.giving.repeat(now, seconds) else None

    @property
    def deadline(self) -> float | None:
        """Return when due() has something."""
        return self.giving.deadline

    def look_back(self, silence: str, address: str) -> Left:
        """Return what is unconfirmed, and forget it; ``silence`` says why Huginn hears nothing."""
        unconfirmed, paused = self.unconfirmed, self._pause.unconfirmed
        self.forget()
        if silence:
            return Left(unconfirmed, (
                f'{silence}. It gets nothing more from here: if it was only frozen, it may hold '
                'this; send it controls, or resume it (huginn_control.py resume), or restart it'))
        if paused:
            return Left(paused, (
                f'Huginn at {address} answers, but its data do not change: resume it '
                '(huginn_control.py resume)'), is_error=True)
        # Surfaces, repeated to one that answers: nothing more can be shown.
        return Left()

    def forget(self) -> None:
        """Forget everything: Huginn was restarted."""
        self.forget_controls()
        self.forget_pause()

    def forget_controls(self) -> None:
        """Forget the controls: Huginn has moved them itself."""
        self._known = None
        self._overrides.clear()
        self.giving.clear()
