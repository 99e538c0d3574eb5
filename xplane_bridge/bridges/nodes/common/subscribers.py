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

"""Who hears a node: the replay of a capture waits for them, and they learn how much there is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import threading
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock import Clock, ClockType
from rclpy.duration import Duration
from rclpy.publisher import Publisher
from rclpy.qos import HistoryPolicy, qos_check_compatible, QoSCompatibility

from xplane_bridge.bridges.nodes.common.diagnostics import diagnostic_array, OK, Status
from xplane_bridge.common.text import counted

# Discovery reports one subscriber after another, but never that it is complete: it is assumed
# complete once nothing has changed for this long.
_SETTLING = 1.0
# How long a replay waits for subscriptions to be matched, at most.
_MATCHING_TIMEOUT = 5.0
# How often to check the graph meanwhile.
_LOOKING_PERIOD = 0.02
# How long to wait for acknowledgement, at most: a killed subscriber counts as present for many
# more seconds.
_ACKNOWLEDGEMENT_TIMEOUT = 2.0
# History depth of a publisher at full speed. Messages are acknowledged on arrival, read or not,
# and most subscribers keep ten: two batches fit.
_BATCH = 5
# Minimum time for a subscriber to read a batch. Within one process, and with some middleware,
# acknowledgement is immediate.
_TAKING = 0.005

_AT_ONCE = Duration(seconds=0)
# The line of /diagnostics that says how many messages a node has published.
PUBLISHED = 'published'
# How often a node says its lines, in seconds.
DIAGNOSTICS_PERIOD = 1.0
# At its end a node waits so long (s) for acknowledgements: launch's patience is 5 s, of which a
# bridge that gives back may need 3.6.
ACKNOWLEDGED_WITHIN = 0.5


@dataclass(eq=False)
class _Publisher:
    """One publisher: how much it has published since everything was acknowledged."""

    publisher: Any
    kind: str
    depth: int
    published: int = 0
    # At the recorded speed acknowledgement is awaited once, which proves the matching.
    proven: bool = False
    # When the current history was full.
    full_at: float | None = None
    # A subscriber has not acknowledged in time: no more waiting until everything is acknowledged.
    stalled: bool = False


class Subscribers:
    """
    The subscribers of a node's publishers, as far as they can be known.

    ``holds()`` tells a replay to wait: until the publishers have matched the subscriptions in the
    graph, at most 5 s; until announced publishers (``expect``) have been created; and, when a
    publisher's history is full, until its reliable subscribers have acknowledged it, at most 2 s.
    The last applies throughout at full speed, where they have at least 5 ms for it, and otherwise
    to the first messages of each publisher.
    """

    def __init__(
        self, node: Any, full_speed: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._node = node
        self._clock = clock
        self._full_speed = full_speed
        # Publishers are created in the executor while the link's thread queries.
        self._lock = threading.Lock()
        self._publishers: list[_Publisher] = []
        self._unmatched: list[_Publisher] = []
        # Subscriptions of each of those topics, matched and known; and when they last changed.
        self._counts: dict[str, tuple[int, int]] = {}
        self._changed_at = 0.0
        self._settled = False
        self._expected = False
        self._waits_until: float | None = None
        self._looks_at = 0.0

    def depth(self, wanted: Any) -> Any:
        """Return the history depth of a publisher, given the depth for live data."""
        return min(wanted, _BATCH) if self._full_speed and isinstance(wanted, int) else wanted

    def add(self, publisher: Any) -> None:
        """Wait for the subscribers of this publisher too, from now on."""
        qos = publisher.qos_profile
        package, _, name = publisher.msg_type.__module__.partition('.')
        item = _Publisher(
            publisher, f'{package}/{name.split(".")[0]}/{publisher.msg_type.__name__}',
            0 if qos.history == HistoryPolicy.KEEP_ALL else qos.depth)
        publish = publisher.publish

        def counted(message: Any) -> None:
            publish(message)
            item.published += 1

        publisher.publish = counted
        with self._lock:
            self._publishers.append(item)
            self._unmatched.append(item)
            self._changed_at = self._clock()

    def remove(self, publisher: Any) -> None:
        """Stop waiting for subscribers of this publisher, which is being removed."""
        with self._lock:
            self._publishers = [
                item for item in self._publishers if item.publisher is not publisher]
            self._unmatched = [
                item for item in self._unmatched if item.publisher is not publisher]

    def expect(self, expected: bool) -> None:
        """Announce publishers to be created, or report that they have been."""
        with self._lock:
            self._expected = expected

    def holds(self) -> bool:
        """Return whether the replay must wait; for the link's thread."""
        with self._lock:
            if self._expected or self._unmatched:
                return self._holds_for_matching(self._clock())
            # All of them, so that their timeouts run concurrently.
            held = [self._holds_for_acknowledgement(item) for item in self._publishers]
            return any(held)

    def _holds_for_matching(self, now: float) -> bool:
        if self._waits_until is None:
            self._waits_until = now + _MATCHING_TIMEOUT
        elif now < self._looks_at:
            return True
        self._looks_at = now + _LOOKING_PERIOD
        counts = {
            item.publisher.topic_name: (
                item.publisher.get_subscription_count(), self._count_known(item))
            for item in self._unmatched}
        if counts != self._counts:
            if self._counts:
                self._changed_at = now
            self._counts = counts
        missing = [topic for topic, (matched, known) in counts.items() if matched < known]
        # Once the graph is known, later publishers are matched with its subscriptions.
        settled = self._settled or now >= self._changed_at + _SETTLING
        if now < self._waits_until and (self._expected or missing or not settled):
            return True
        if missing:
            self._node.warn(
                'unmatched',
                f'the replay continues although subscribers of {", ".join(missing)} could not be '
                f'reached within {_MATCHING_TIMEOUT:g} s; they may miss the beginning')
        self._expected = False
        self._settled = True
        self._unmatched.clear()
        self._counts = {}
        self._waits_until = None
        return False

    def _count_known(self, item: _Publisher) -> int:
        """Return how many subscriptions in the graph will be matched."""
        qos = item.publisher.qos_profile
        return sum(
            info.topic_type == item.kind
            and qos_check_compatible(qos, info.qos_profile)[0] != QoSCompatibility.ERROR
            for info in self._node.get_subscriptions_info_by_topic(item.publisher.topic_name))

    def _holds_for_acknowledgement(self, item: _Publisher) -> bool:
        # DDS implementations request acknowledgement when the history is full. Before, it can
        # take seconds.
        if not item.depth or item.published < item.depth:
            return False
        if item.proven and not self._full_speed:
            return False
        now = self._clock()
        if item.full_at is None:
            item.full_at = now
        if item.publisher.wait_for_all_acked(_AT_ONCE):
            item.stalled = False
            if (self._full_speed and now < item.full_at + _TAKING
                    and item.publisher.get_subscription_count()):
                return True
        elif not item.stalled:
            if now < item.full_at + _ACKNOWLEDGEMENT_TIMEOUT:
                return True
            item.stalled = True
            self._node.warn(
                'stalled',
                f'the replay continues although a subscriber of {item.publisher.topic_name} '
                f'has acknowledged nothing for {_ACKNOWLEDGEMENT_TIMEOUT:g} s; it may lose '
                'messages')
        item.proven = True
        item.full_at = None
        item.published = 0
        return False


def subscription_count(publisher: Any) -> Callable[[], int]:
    """
    Return what says how many subscriptions a publisher is matched with, without rclpy's calls.

    Only for as long as the publisher is there.
    """
    count: Callable[[], int] = publisher.handle.get_subscription_count
    return count


class _Count:
    __slots__ = ('messages',)

    def __init__(self) -> None:
        self.messages = 0


class Published:
    """
    The messages of a node's publishers, counted as the middleware numbers them: from 1.

    A lifecycle publisher's count only while it is active.
    """

    def __init__(self) -> None:
        self._counts: dict[Any, _Count] = {}

    def add(self, publisher: Any) -> None:
        """Count what this publisher publishes, which is new."""
        count = self._counts[publisher] = _Count()
        # The link's thread and the executor may both publish.
        lock = threading.Lock()
        # What rclpy does with bytes, without its calls.
        handle, publish_bytes = publisher.handle, publisher.handle.publish_raw
        is_managed = hasattr(publisher, 'is_activated')

        def publish(message: Any) -> None:
            with lock:
                if is_managed and not publisher.is_activated:
                    return
                if type(message) is bytes:
                    with handle:
                        publish_bytes(message)
                else:
                    Publisher.publish(publisher, message)
                count.messages += 1

        publisher.publish = publish

    def remove(self, publisher: Any) -> None:
        """Forget a publisher that is being destroyed; no-op for anything else."""
        self._counts.pop(publisher, None)

    def status(self) -> Status:
        """Return the line of /diagnostics: by topic how many messages."""
        counts: dict[str, int] = {}
        for publisher, count in list(self._counts.items()):
            topic = publisher.topic_name
            counts[topic] = counts.get(topic, 0) + count.messages
        return Status(
            PUBLISHED, OK, f'{counted(sum(counts.values()), "message")} on '
            f'{counted(len(counts), "topic")}',
            tuple((topic, str(number)) for topic, number in counts.items()))

    def tell(self, node: Any, diagnostics: Any, now_ns: int) -> None:
        """Say it on /diagnostics; from any thread."""
        diagnostics.publish(diagnostic_array(
            node.get_fully_qualified_name(), [self.status()], now_ns))

    def tell_the_end(
        self, node: Any, diagnostics: Any, now_ns: int, deadline: float | None = None
    ) -> None:
        """
        Say it for the last time, and wait for whoever hears it and the messages.

        That is until the ``deadline`` (s, monotonic), by default of ACKNOWLEDGED_WITHIN, and only
        if anybody hears the diagnostics, as who records does.
        """
        if not (node.context.ok() and diagnostics.get_subscription_count()):
            return
        if deadline is None:
            deadline = time.monotonic() + ACKNOWLEDGED_WITHIN
        self.tell(node, diagnostics, now_ns)
        for publisher in (*self._counts, diagnostics):
            publisher.wait_for_all_acked(
                Duration(seconds=max(0.0, deadline - time.monotonic())))


def tell_regularly(node: Any, published: Published) -> Callable[[], None]:
    """
    Let a node that has no other diagnostics say in them what it has published.

    Return what lets it do so at once, from any thread.
    """
    diagnostics = node.create_publisher(DiagnosticArray, '/diagnostics', 10)

    def tell() -> None:
        published.tell(node, diagnostics, node.get_clock().now().nanoseconds)

    node.create_timer(DIAGNOSTICS_PERIOD, tell, clock=Clock(clock_type=ClockType.STEADY_TIME))
    return tell
