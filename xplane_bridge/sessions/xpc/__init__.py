"""Conversations with NASA's X-Plane Connect plugin."""

from xplane_bridge.sessions.xpc.events import (
    Event,
    Generation,
    PeerChanged,
    PeerState,
    ReadDone,
    Statistics,
    Telemetry,
    WatchedDatarefs,
)
from xplane_bridge.sessions.xpc.session import BEACON_CHANNEL, COMMAND_CHANNEL, XpcSession

__all__ = [
    'BEACON_CHANNEL', 'COMMAND_CHANNEL', 'Event', 'Generation', 'PeerChanged', 'PeerState',
    'ReadDone', 'Statistics', 'Telemetry', 'WatchedDatarefs', 'XpcSession']
