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
Events of a simulated aircraft's airframe as messages, kept for who comes later.

On crash is that it has crashed, and OK while it flies, also again: a flight through ROS ends by
it. On exceedances is the worst of each limit of its envelope, with a level of WARN.
"""

from __future__ import annotations

import math

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

from xplane_bridge.bridges.conversions.airframe_events import AirframeEvent, AirframeEventKind

TOPIC = 'crash'
EXCEEDANCES = 'exceedances'
STATUS = 'airframe'
"""The status of a bridge whose simulator says so."""

_NUMBERS = ('value', 'limit', 'at', 'pitch')


def to_status(event: AirframeEvent | None) -> DiagnosticStatus:
    """Return the message of an event, whose ``at`` is simulated time, or that there is none."""
    status = DiagnosticStatus(name=STATUS, level=DiagnosticStatus.OK, message='whole')
    if event is not None:
        status.level = (
            DiagnosticStatus.WARN if event.kind is AirframeEventKind.BEYOND
            else DiagnosticStatus.ERROR)
        status.message = str(event)
        status.values = [
            KeyValue(key='kind', value=event.kind.value),
            KeyValue(key='quantity', value=event.quantity),
            KeyValue(key='surface', value=event.surface),
            KeyValue(key='hint', value=event.hint),
            *(KeyValue(key=name, value=repr(getattr(event, name))) for name in _NUMBERS)]
    return status


def reported() -> AirframeEvent:
    """Return a crash that a simulator reports, nobody knows how, at a time that is not known."""
    return AirframeEvent(AirframeEventKind.REPORTED, 'has_crashed', math.nan)


def to_event(status: DiagnosticStatus) -> AirframeEvent | None:
    """Return the event of a message; None if it is that there is none."""
    given = {one.key: one.value for one in status.values}
    try:
        value, limit, at, pitch = (float(given[name]) for name in _NUMBERS)
        return AirframeEvent(
            AirframeEventKind(given['kind']), given['quantity'], value, limit, at, pitch,
            given['surface'], given['hint'])
    except (KeyError, ValueError):
        return None
