"""The simulated X-Plane with NASA's X-Plane Connect plugin."""

from xplane_bridge.simulators.xpc.face import XpcFace
from xplane_bridge.simulators.xpc.generations import Generation, GENERATIONS
from xplane_bridge.simulators.xpc.plugin import PluginCounters, Screen, XpcPlugin

__all__ = ['GENERATIONS', 'Generation', 'PluginCounters', 'Screen', 'XpcFace', 'XpcPlugin']
