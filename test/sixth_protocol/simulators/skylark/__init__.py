"""The simulated Skylark."""

from xplane_bridge.simulators.skylark.face import SkylarkFace
from xplane_bridge.simulators.skylark.options import add_options, make_face

__all__ = ['add_options', 'make_face', 'SkylarkFace']
