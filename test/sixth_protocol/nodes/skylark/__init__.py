"""skylark_node: the simulator Skylark."""

from xplane_bridge.nodes.skylark.node import main, SkylarkNode
from xplane_bridge.nodes.skylark.parameters import SkylarkParameters

__all__ = ['main', 'SkylarkNode', 'SkylarkParameters']
