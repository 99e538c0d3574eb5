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

"""Kerbal Space Program with Kerbal Simpit, as it is verified: it shows no controls, no rates."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
import math
from typing import Any

import numpy as np

from xplane_bridge.bridges.conversions.vehicle import Controls, VehicleState
from xplane_bridge.bridges.links.loop import SessionLoop
from xplane_bridge.bridges.links.serial import SerialLoop
from xplane_bridge.bridges.sessions.base import PeerState
from xplane_bridge.bridges.simpit import conversion as kerbal
from xplane_bridge.bridges.simpit.session import SimpitSession, Telemetry
from xplane_bridge.common.controls import SURFACES
from xplane_bridge.common.units import DEGREE
from xplane_bridge.laboratory.verification.evidence.consistency import Source, STEP
from xplane_bridge.laboratory.verification.evidence.findings import CheckResult, Outcome
from xplane_bridge.laboratory.verification.evidence.flight_record import FlightRecord, Sample
from xplane_bridge.laboratory.verification.evidence.line import Heard, Line
from xplane_bridge.laboratory.verification.peers.base import (
    OnEvent,
    OnFailure,
    PeerTarget,
    VerifiedPeer,
)

_CHANNELS = ('altitude', 'velocities', 'attitude')
_SOURCES = {
    **dict.fromkeys(('roll', 'pitch', 'heading', 'velocity_east', 'velocity_north'),
                    Source('attitude')),
    'climb_rate': Source('velocities'), 'altitude': Source('altitude', 'SIM-21')}
# m/s, of the vertical speed as two channels have it.
_WITHIN = 1.0
_VERTICAL = 'vertical by attitude'


class VerifiedKerbal(VerifiedPeer):
    """The plugin, at a serial port; the throttle stays the player's, as nothing shows it."""

    title = 'Kerbal Simpit'
    reports_controls = False
    takes = SURFACES
    sources = _SOURCES
    requirements: Mapping[str, str] = {}
    # Once every 125 ms, by default.
    rate = 8.0

    def __init__(self, target: PeerTarget) -> None:
        self.to = (target.serial, target.baud)
        self.session: SimpitSession = SimpitSession(_CHANNELS, name=target.serial)
        self._last: dict[str, Any] = {}

    def make_loop(self, on_event: OnEvent, on_failure: OnFailure) -> SessionLoop:
        return SerialLoop(
            self.session, *self.to, on_event, on_failure, name='verified Simpit')

    def is_there(self) -> bool:
        return self.session.peer_state is PeerState.STREAMING

    def who(self) -> str:
        session = self.session
        profile = session.profile
        return (session.game.value if session.game is not None else 'a game') + (
            f' with Kerbal Simpit {profile.plugins}' if profile is not None else '')

    def sample(self, heard: Heard) -> Sample | None:
        event = heard.event
        if not isinstance(event, Telemetry):
            return None
        self._last |= event.values
        if 'attitude' not in event.values or not self._last.keys() >= set(_CHANNELS):
            return None
        attitude, moves = self._last['attitude'], self._last['velocities']
        heading, climb = (
            angle * DEGREE for angle in (attitude.surface_vel_heading, attitude.surface_vel_pitch))
        speed = moves.surface_mps
        along = speed * math.cos(climb)
        return Sample(heard.at, VehicleState(
            math.nan, math.nan, self._last['altitude'].sea_level_m,
            kerbal.orientation(attitude),
            velocity=(along * math.sin(heading), along * math.cos(heading), moves.vertical_mps)),
            {_VERTICAL: speed * math.sin(climb)})

    def spoken(self, record: FlightRecord, bad: Collection[str]) -> Iterable[CheckResult]:
        off = np.abs(record.wire(_VERTICAL) - record['climb_rate'])
        known = off[np.isfinite(off)]
        if not len(known) or 'climb_rate' in bad:
            return
        largest = float(np.quantile(known, 0.9))
        yield CheckResult(
            STEP, 'vertical speed', Outcome.SEEN, 'vertical speed is that of the path') if (
            largest <= _WITHIN) else CheckResult(
            STEP, 'vertical speed', Outcome.DIFFERS, 'the pitch of the velocity contradicts the '
            'vertical speed', '', f'within {_WITHIN:g} m/s', f'{largest:.1f} m/s off')

    # Commands.

    def command(self, line: Line, controls: Mapping[str, float]) -> None:
        line.call(self.session.set_controls, kerbal.to_wire(Controls(**controls)))

    def held(self, control: str) -> float | None:
        return 0.0
