"""Listening to a Ulyssix UDP publisher: Altair, or the DEWESoft plug-in."""

from xplane_bridge.sessions.ulyssix.events import (
    Event,
    NamesChanged,
    PacketReceived,
    PublisherChanged,
    PublisherRestarted,
    PublisherState,
    Statistics,
)
from xplane_bridge.sessions.ulyssix.session import CHANNEL, UlyssixSession
from xplane_bridge.sessions.ulyssix.timeline import Placed, Timeline

__all__ = [
    'CHANNEL',
    'Event',
    'NamesChanged',
    'PacketReceived',
    'Placed',
    'PublisherChanged',
    'PublisherRestarted',
    'PublisherState',
    'Statistics',
    'Timeline',
    'UlyssixSession',
]
