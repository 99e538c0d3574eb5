

"""Conversations with NASA's X-Plane Connect plugin."""

from xplane_bridge.sessions.xpc.events import (
    PeerReplaced,
    PluginVersion,
    Polled,
    Statistics,
    Telemetry,
    WatchedDatarefs,
)
from xplane_bridge.sessions.xpc.rows import to_requests
from xplane_bridge.sessions.xpc.session import BEACON_CHANNEL, XpcSession
from xplane_bridge.sessions.xpc.watch import check_watched

__all__ = [
    'BEACON_CHANNEL', 'PeerReplaced', 'PluginVersion', 'Polled', 'Statistics',
    'Telemetry', 'WatchedDatarefs', 'XpcSession', 'check_watched', 'to_requests']
