"""The conversation of a KerbalSimpit device with a plugin."""

from xplane_bridge.sessions.simpit.commands import axes_in, request_for
from xplane_bridge.sessions.simpit.events import (
    Connected,
    EchoDone,
    Game,
    ProfileHint,
    ProfileKnown,
    Statistics,
    Telemetry,
)
from xplane_bridge.sessions.simpit.profiles import AUTO
from xplane_bridge.sessions.simpit.registration import registrable
from xplane_bridge.sessions.simpit.session import CHANNEL, GEAR, SimpitSession

__all__ = [
    'AUTO', 'axes_in', 'CHANNEL', 'Connected', 'EchoDone', 'GEAR', 'Game', 'ProfileHint',
    'ProfileKnown', 'registrable', 'request_for', 'SimpitSession', 'Statistics', 'Telemetry']
