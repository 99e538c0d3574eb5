"""The simulated X-Plane with its own UDP, versions 6 to 12."""

from xplane_bridge.simulators.xplane_udp.face import XplaneUdpFace
from xplane_bridge.simulators.xplane_udp.xplane import Counters, XPlane

__all__ = ['Counters', 'XPlane', 'XplaneUdpFace']
