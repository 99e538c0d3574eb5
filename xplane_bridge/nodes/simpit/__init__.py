"""simpit_node: Kerbal Space Program with Kerbal Simpit, over a serial port."""

from xplane_bridge.nodes.simpit.games import main
from xplane_bridge.nodes.simpit.node import SimpitNode
from xplane_bridge.nodes.simpit.parameters import SimpitParameters

__all__ = ['main', 'SimpitNode', 'SimpitParameters']
