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

"""The states of a managed node, and requests for transitions that are not possible in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lifecycle_msgs.msg import Transition
from rclpy.lifecycle import LifecycleNode

from xplane_bridge.common.text import abbreviated

UNCONFIGURED = 'unconfigured'
# Those that a client can ask for.
_LABELS = {
    Transition.TRANSITION_CREATE: 'create',
    Transition.TRANSITION_CONFIGURE: 'configure',
    Transition.TRANSITION_CLEANUP: 'cleanup',
    Transition.TRANSITION_ACTIVATE: 'activate',
    Transition.TRANSITION_DEACTIVATE: 'deactivate',
    Transition.TRANSITION_UNCONFIGURED_SHUTDOWN: 'shutdown',
    Transition.TRANSITION_INACTIVE_SHUTDOWN: 'shutdown',
    Transition.TRANSITION_ACTIVE_SHUTDOWN: 'shutdown',
}


def state_of(node: LifecycleNode) -> str:
    """Return the label of a node's state, such as 'active'."""
    return str(node._state_machine.current_state[1])


def refuse_impossible(node: LifecycleNode, refuse: Callable[[str, ValueError], None]) -> None:
    """
    Have ``node`` refuse requests for transitions that are impossible in its state.

    rclpy raises an error for them, out of the service and out of the executor, which ends the
    process. ``refuse`` is called with the service's name and a sentence.
    """
    service = node._service_change_state
    change = service.callback

    def answer(request: Any, response: Any) -> Any:
        wanted = request.transition
        possible = [(number, label) for number, label, *_
                    in node._state_machine.available_transitions]
        # A label, if given, counts, as in rclpy.
        if any(wanted.label == label if wanted.label else wanted.id == number
               for number, label in possible):
            return change(request, response)
        name = abbreviated(wanted.label) if wanted.label else _named(
            wanted.id, _LABELS.get(wanted.id, 'unknown'))
        refuse('change_state', ValueError(
            f'transition {name} is not possible in the state {state_of(node)}; possible: '
            + (', '.join(_named(*one) for one in possible) or 'none')))
        response.success = False
        return response

    service.callback = answer


def _named(number: int, label: str) -> str:
    return f'{label} ({number})'
