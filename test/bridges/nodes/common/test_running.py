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

"""Several nodes in one process."""

import threading

from xplane_bridge.bridges.nodes.common import running


class Node:
    """A node that takes its time to give back."""

    def __init__(self, together):
        self._together = together
        self.left = False

    def get_name(self):
        return 'node'

    def leave(self):
        # Only if the others do so at the same time.
        self._together.wait(5.0)
        self.left = True


def test_nodes_of_one_process_give_back_at_the_same_time():
    together = threading.Barrier(3)
    nodes = [Node(together) for _ in range(3)]
    running._leave_together(nodes)
    assert all(node.left for node in nodes)
