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

"""The peers that can be verified, by the names of the command."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from xplane_bridge.bridges.xplane_udp.protocol import VERSIONS
from xplane_bridge.laboratory.verification.peers.base import PeerTarget, Probe, VerifiedPeer
from xplane_bridge.laboratory.verification.peers.fdmdata import VerifiedHuginn
from xplane_bridge.laboratory.verification.peers.simpit import VerifiedKerbal
from xplane_bridge.laboratory.verification.peers.xpc import VerifiedXpc
from xplane_bridge.laboratory.verification.peers.xplane_udp import QUESTION, VerifiedXplane


def _xplane(version: int, target: PeerTarget) -> VerifiedPeer:
    return VerifiedXplane(replace(target, version=version))


PEERS: Mapping[str, Callable[[PeerTarget], VerifiedPeer]] = {
    'xpc': VerifiedXpc,
    'xplane': partial(_xplane, 0),
    **{f'xplane{version}': partial(_xplane, version) for version in reversed(VERSIONS)},
    'fdmdata': VerifiedHuginn,
    'simpit': VerifiedKerbal,
}
"""What makes a peer to be verified, by name; xplane is any version with datarefs."""

QUESTIONS: Mapping[str, Probe] = {
    VerifiedXpc.title: VerifiedXpc.question, 'X-Plane 10 or later': QUESTION,
    VerifiedHuginn.title: VerifiedHuginn.question}
"""What tells which program it is that answers, if it is not the named one."""
