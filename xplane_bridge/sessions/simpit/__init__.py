"""Conversations between a KerbalSimpit device and a plugin, both sides."""

from xplane_bridge.sessions.simpit.events import (
    CHANNEL,
    Command,
    Connected,
    DeviceHandshake,
    EchoDone,
    Event,
    Game,
    PeerChanged,
    PeerState,
    PluginEvent,
    PluginStatistics,
    PortDeaf,
    ProfileHint,
    Statistics,
    Subscriptions,
    Telemetry,
)
from xplane_bridge.sessions.simpit.plugin import PluginSession
from xplane_bridge.sessions.simpit.session import registrable, SimpitSession
from xplane_bridge.sessions.simpit.silence import ActionSilence

__all__ = [
    'ActionSilence', 'CHANNEL', 'Command', 'Connected', 'DeviceHandshake', 'EchoDone', 'Event',
    'Game', 'PeerChanged', 'PeerState', 'PluginEvent', 'PluginSession', 'PluginStatistics',
    'PortDeaf', 'ProfileHint', 'SimpitSession', 'Statistics', 'Subscriptions', 'Telemetry',
    'registrable']
