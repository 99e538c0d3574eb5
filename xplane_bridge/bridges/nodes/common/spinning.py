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

"""Spin a ROS executor until told to stop, handling messages without its overhead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
import inspect
import time
from typing import Any

from rclpy.exceptions import InvalidHandle
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.waitable import NumberOfEntities

# Messages of one subscription that are handled before the others have their turn.
AT_ONCE = 10
_FOR_EVER = -1
# Most entities of a node are services and events, where nothing happens nearly all the time; yet
# each costs in each wait as much as a subscription. Where messages come in less than _BUSY (s),
# only they are waited for, and all the others are looked at this often (s).
_BUSY = 0.003
_LOOK = 0.005
# What the short way needs of an executor, and rclpy does not promise.
_PRIVATE = ('_guard', '_sigint_gc')


def _no_pause() -> float:
    return 0.0


def spin_until(executor: Any, stop: Any, pause: Callable[[], float] = _no_pause) -> None:
    """
    Execute callbacks until ``stop``, an rclpy Future of this executor, is done.

    It may be set from any thread. rclpy's own spin_until_future_complete adds a callback to the
    future for each callback that it executes, and keeps them all: 260 bytes each, or 370 MB
    per hour for a recorder receiving 400 messages per second.

    Messages are handed to their callbacks right here; all else is left to the executor. For each
    message an rclpy executor makes a task and at least two new wait sets, which costs several
    times as much as receiving it. As in the executor, callbacks run one at a time, in this thread.

    An executor built otherwise than those of the known distributions does all of it itself.

    ``pause()`` is how long to sleep (s) after messages, unless more of them wait: who need not
    react at once then handles several in one go, and disturbs others less.
    """
    is_known = all(hasattr(executor, name) for name in _PRIVATE)
    # The callback wakes the executor; without one, the future would not.
    stop.add_done_callback(lambda _: None)
    while executor.context.ok() and not stop.done():
        # Jazzy and Kilted poll waiting coroutines, and must not sleep while there is one.
        if not is_known or any(
            not task.done() for task, _, _ in getattr(executor, '_tasks', ())
        ):
            executor.spin_once()
            continue
        _handle_messages(executor, stop, pause)
        if not stop.done():
            executor.spin_once(timeout_sec=0.0)


def _handle_messages(executor: Any, stop: Any, pause: Callable[[], float]) -> None:
    """Handle messages until something else is ready, or the entities have changed."""
    with ExitStack() as in_use:
        entities = _Entities(executor, in_use)
        while executor.context.ok() and not stop.done():
            if entities.wait():
                return
            if not entities.is_behind and (seconds := pause()) > 0.0:
                time.sleep(seconds)


class _Entities:
    """What an executor waits for, in wait sets that are used more than once."""

    def __init__(self, executor: Any, in_use: ExitStack) -> None:
        def usable(kind: str) -> list[Any]:
            found = []
            for node in executor.get_nodes():
                for entity in filter(executor.can_execute, getattr(node, kind)):
                    try:
                        in_use.enter_context(entity if kind == 'waitables' else entity.handle)
                    except InvalidHandle:
                        continue
                    found.append(entity)
            return found

        subscriptions, guards, timers, clients, services, self._waitables = map(usable, (
            'subscriptions', 'guards', 'timers', 'clients', 'services', 'waitables'))
        self._subscriptions = [(one, _takes_info(one.callback)) for one in subscriptions]
        self._node_guards = tuple(guards)
        # The executor triggers the first when there are new tasks or entities.
        for guard in (executor._guard, executor._sigint_gc):
            in_use.enter_context(guard.handle)
            guards.append(guard)
        in_use.enter_context(executor.context.handle)
        count = sum((one.get_num_entities() for one in self._waitables), NumberOfEntities(
            len(subscriptions), len(guards), len(timers), len(clients), len(services)))
        # All of them, and messages only.
        self._all = _wait_set(executor, count)
        self._few = _wait_set(executor, NumberOfEntities(len(subscriptions), len(guards)))
        self._hurries_until = 0.0
        # Whether messages may still wait.
        self.is_behind = False
        self._handles = [
            (kind, [entity.handle for entity in entities]) for kind, entities in (
                ('subscription', subscriptions), ('guard_condition', guards), ('timer', timers),
                ('client', clients), ('service', services))]

    def wait(self) -> bool:
        """Wait, and handle messages; return whether anything is left to the executor."""
        began = time.monotonic()
        if began < self._hurries_until:
            return self._handle_ready(self._wait(
                self._few, self._handles[:2], round((self._hurries_until - began) * 1e9)))
        wait_set = self._wait(self._all, self._handles, _FOR_EVER, self._waitables)
        if (now := time.monotonic()) < began + _BUSY:
            self._hurries_until = now + _LOOK
        is_left = any(map(wait_set.get_ready_entities, ('timer', 'client', 'service'))) or any(
            waitable.is_ready(wait_set) for waitable in self._waitables)
        return self._handle_ready(wait_set) or is_left

    def _wait(
        self, wait_set: Any, handles: Sequence[tuple[str, Sequence[Any]]], timeout_ns: int,
        waitables: Sequence[Any] = (),
    ) -> Any:
        wait_set.clear_entities()
        for kind, those in handles:
            add = getattr(wait_set, f'add_{kind}')
            for handle in those:
                add(handle)
        for waitable in waitables:
            waitable.add_to_wait_set(wait_set)
        wait_set.wait(timeout_ns)
        return wait_set

    def _handle_ready(self, wait_set: Any) -> bool:
        """Handle messages; return whether a guard condition was triggered."""
        guards = wait_set.get_ready_entities('guard_condition')
        for guard in self._node_guards:
            if guard.handle.pointer in guards:
                # Waiting has reset it.
                guard.trigger()
        ready = wait_set.get_ready_entities('subscription')
        self.is_behind = False
        for subscription, takes_info in self._subscriptions:
            if subscription.handle.pointer in ready and _handle(subscription, takes_info):
                self.is_behind = True
        return bool(guards)


def _wait_set(executor: Any, count: NumberOfEntities) -> Any:
    return rclpy_implementation.WaitSet(
        count.num_subscriptions, count.num_guard_conditions, count.num_timers,
        count.num_clients, count.num_services, count.num_events, executor.context.handle)


def _handle(subscription: Any, takes_info: bool) -> bool:
    """Handle the first messages of a subscription; return whether more may wait."""
    handle, kind, raw = subscription.handle, subscription.msg_type, subscription.raw
    for _ in range(AT_ONCE):
        taken = handle.take_message(kind, raw)
        if taken is None:
            return False
        if takes_info:
            subscription.callback(*taken)
        else:
            subscription.callback(taken[0])
    return True


def handle_waiting(subscription: Any) -> bool:
    """
    Handle the first messages of a subscription that have arrived; return whether more may wait.

    From a callback of another one: what was published before another message has arrived before
    it, but which of two subscriptions is looked at first is a matter of microseconds.
    """
    return _handle(subscription, _takes_info(subscription.callback))


def _takes_info(callback: Any) -> bool:
    """Return whether a callback receives the metadata too, by rclpy's rule."""
    try:
        inspect.signature(callback).bind(object())
    except TypeError:
        return True
    return False
