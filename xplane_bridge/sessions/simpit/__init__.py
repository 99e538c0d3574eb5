"""The conversation of a KerbalSimpit device with a plugin, and of a plugin with a cockpit."""

from xplane_bridge.sessions.simpit.cockpit import CockpitSession
from xplane_bridge.sessions.simpit.commands import axes_in, request_for
from xplane_bridge.sessions.simpit.events import (
    CockpitCommand,
    CockpitLeft,
    CockpitWants,
    Connected,
    EchoDone,
    Game,
    Presence,
    ProfileHint,
    ProfileKnown,
    Shared,
    Statistics,
    Telemetry,
)
from xplane_bridge.sessions.simpit.ownership import RULES, STACK
from xplane_bridge.sessions.simpit.profiles import AUTO
from xplane_bridge.sessions.simpit.registration import registrable
from xplane_bridge.sessions.simpit.session import CHANNEL, GEAR, SimpitSession

__all__ = [
    'AUTO', 'axes_in', 'CHANNEL', 'CockpitCommand', 'CockpitLeft', 'CockpitSession',
    'CockpitWants', 'Connected', 'EchoDone', 'GEAR', 'Game', 'Presence', 'ProfileHint',
    'ProfileKnown', 'registrable', 'request_for', 'RULES', 'Shared', 'SimpitSession', 'STACK',
    'Statistics', 'Telemetry']
