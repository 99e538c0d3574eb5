"""The simulated aircraft as Kerbal Space Program with the plugin Kerbal Simpit shows a vessel."""

from xplane_bridge.simulators.simpit.face import add_options, make_face, SimpitFace
from xplane_bridge.simulators.simpit.line import FaultyLine
from xplane_bridge.simulators.simpit.vessel import Vessel

__all__ = ['FaultyLine', 'SimpitFace', 'Vessel', 'add_options', 'make_face']
