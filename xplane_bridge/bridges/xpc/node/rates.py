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

"""Whether xpc_node's telemetry arrives as often as asked, and why not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xplane_bridge.bridges.nodes.common.datagrams import Rates
from xplane_bridge.bridges.nodes.common.diagnostics import OK, Status, WARN
from xplane_bridge.bridges.xpc.node.parameters import XpcParameters
from xplane_bridge.bridges.xpc.session import XpcSession

# Less than this of a rate is too little; a whole frame more or less in a second is not.
_ENOUGH = 0.9
# This many diagnostics in a row: at first it is found out how far away the plugin is.
_PATIENCE = 5
# What counts as a reason: the share of updates that waited for the budget, of lost replies.
_HELD = 0.05
_LOST = 0.02


class RatesReport:
    """Compare the rates of telemetry and datarefs with those asked for, once per diagnostics."""

    def __init__(self) -> None:
        self._rates = Rates()
        self._short_for: dict[str, int] = {}

    def status(
        self, session: XpcSession, given: XpcParameters, now: float, *, applies: bool
    ) -> Status:
        """Return the status; with ``applies`` False no rate is promised now."""
        statistics = session.statistics
        rates = self._rates.per_second({
            **statistics.updates, 'datarefs': statistics.watched,
            'requests': statistics.requests, 'lost': statistics.lost,
            'held': statistics.held_by_budget}, now)
        wanted = self._wanted(session, given) if applies else {}
        short = {
            name: rates.get(number, 0.0) for name, (number, asked) in wanted.items()
            if rates.get(number, 0.0) < _ENOUGH * asked}
        self._short_for = {name: self._short_for.get(name, 0) + 1 for name in short}
        values = tuple(
            (f'{name}: asked, 1/s', f'{asked:.1f}') for name, (_, asked) in wanted.items())
        for name, got in short.items():
            asked = wanted[name][1]
            if self._short_for[name] >= _PATIENCE:
                return Status(
                    'rates', WARN, f'{name}: {got:.1f} updates per second instead of {asked:.1f}; '
                    + _reason(session, given, asked, rates), values)
        return Status('rates', OK, 'as asked' if wanted else 'none asked', values)

    @staticmethod
    def _wanted(session: XpcSession, given: XpcParameters) -> dict[str, tuple[Any, float]]:
        """Return the keys of the counters, and the rates asked for, by name."""
        asked = given.rate or session.frame_rate
        wanted: dict[str, tuple[Any, float]] = {}
        if asked:
            wanted = {f'aircraft {number}': (number, asked) for number in given.aircraft}
        if any(given.datarefs):
            wanted['datarefs'] = 'datarefs', given.datarefs_rate
        return wanted


def _reason(
    session: XpcSession, given: XpcParameters, asked: float, rates: Mapping[Any, float]
) -> str:
    """Return why a rate is not reached."""
    frames, trip = session.frame_rate, session.round_trip
    if rates['held'] > _HELD * asked:
        return f'max_datagrams_per_second ({given.max_datagrams_per_second:g}) is used up'
    if frames is not None and frames < asked:
        return f'X-Plane draws {frames:.0f} frames per second'
    if rates['lost'] > _LOST * rates['requests']:
        share = 100.0 * rates['lost'] / max(rates['requests'], 1.0)
        return f'{share:.0f} % of the replies are lost, or late'
    if trip is not None and trip > 1.0 / asked:
        return f'the round trip of {1e3 * trip:.0f} ms is too long'
    return 'the plugin answers too slowly'
