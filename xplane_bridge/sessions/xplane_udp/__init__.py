"""Conversations with X-Plane over its own UDP, versions 6 to 12."""

from xplane_bridge.sessions.xplane_udp.commands import RowKind
from xplane_bridge.sessions.xplane_udp.events import (
    BeaconHeard,
    DataArrived,
    Event,
    PeerChanged,
    PeerState,
    ReadDone,
    RowTelemetry,
    Statistics,
    Telemetry,
    VersionFound,
    WatchedDatarefs,
)
from xplane_bridge.sessions.xplane_udp.feeds import DATA_CHANNEL, Needs, Wire
from xplane_bridge.sessions.xplane_udp.session import BEACON_CHANNEL, XplaneUdpSession

__all__ = [
    'BEACON_CHANNEL', 'BeaconHeard', 'DATA_CHANNEL', 'DataArrived', 'Event', 'Needs',
    'PeerChanged', 'PeerState', 'ReadDone', 'RowKind', 'RowTelemetry', 'Statistics', 'Telemetry',
    'VersionFound', 'WatchedDatarefs', 'Wire', 'XplaneUdpSession']
