# Copyright 2026 xplane_bridge contributors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Ports that a peer gets again after it was off: nobody is handed them meanwhile."""

from xplane_bridge.bridges.links.unused_ports import free_ports
from xplane_bridge.simulation.peers.endpoints import UdpEndpoint


def kept_port():
    """Return a port that the system hands nobody."""
    return free_ports(1)


def kept_endpoint(port=0, **options):
    """Return a simulator's endpoint, on such a port by default."""
    return UdpEndpoint(port=port or kept_port(), **options)
