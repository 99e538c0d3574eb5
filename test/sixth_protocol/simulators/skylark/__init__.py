"""The simulated Skylark."""

from xplane_bridge.simulators.skylark.frontend import SkylarkFrontend
from xplane_bridge.simulators.skylark.options import add_options, make_frontend

__all__ = ['add_options', 'make_frontend', 'SkylarkFrontend']
