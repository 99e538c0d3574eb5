"""simpit_node: Kerbal Space Program with Kerbal Simpit, over a serial port."""

from xplane_bridge.nodes.simpit.node import main, SimpitNode
from xplane_bridge.nodes.simpit.parameters import SimpitParameters

__all__ = ['main', 'SimpitNode', 'SimpitParameters']
