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

"""Common base of all nodes: managed, self-starting, monitored, and cleanly shut down."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
import threading
import time
import traceback
from typing import Any, TYPE_CHECKING, TypeVar

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock import Clock, ClockType
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from rclpy.qos import QoSProfile
from rclpy.qos_overriding_options import QoSOverridingOptions

from xplane_bridge.bridges.links.udp import LinkError
from xplane_bridge.bridges.nodes.common.diagnostics import (
    diagnostic_array,
    ERROR,
    OK,
    STALE,
    Status,
    WARN,
)
from xplane_bridge.bridges.nodes.common.latched import LateHearing, once
from xplane_bridge.bridges.nodes.common.services import AsyncActionServer, Service
from xplane_bridge.bridges.nodes.common.stamps import Stamps
from xplane_bridge.bridges.nodes.common.subscribers import (
    DIAGNOSTICS_PERIOD,
    Published,
    Subscribers,
)
from xplane_bridge.bridges.nodes.managed.managed_parameters import ManagedParameters
from xplane_bridge.bridges.nodes.managed.parameters import parameter
from xplane_bridge.bridges.nodes.managed.transitions import refuse_impossible
from xplane_bridge.bridges.protocols.kinds import Kinds
from xplane_bridge.bridges.sessions.base import NotShownError
from xplane_bridge.common.text import counted, LONGEST_LINE, printable

# Throttling of log messages that the outside world can cause.

PERIOD = 1.0
"""Minimum interval between messages of one kind, in seconds."""

MOST = 10
"""Maximum number of messages of all kinds within a period."""


class LogThrottle:
    """
    Decide which messages are logged: one of a kind in a PERIOD, and MOST in all.

    May be called from any thread. Kinds may be chosen by whoever causes the message: no more than
    MOST are remembered.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # When a message of each kind was logged, within the last period.
        self._written: dict[str, float] = {}
        self.suppressed = 0

    def admits(self, kind: str, now: float) -> bool:
        """Return whether a message of this kind may be logged at ``now``; count it if not."""
        with self._lock:
            at = self._written.get(kind)
            if at is None and len(self._written) >= MOST:
                self._written = {
                    other: at for other, at in self._written.items() if now - at < PERIOD}
            if len(self._written) >= MOST if at is None else now - at < PERIOD:
                self.suppressed += 1
                return False
            self._written[kind] = now
            return True


@dataclass(frozen=True)
class BaseParameters:
    """Parameters that every node has."""

    autostart: bool = parameter(
        True, 'Configure and activate at startup; false leaves that to a lifecycle manager.'
    )


@dataclass(frozen=True)
class CaptureParameters(BaseParameters):
    """Parameters of every node that can play a capture instead of talking to a peer."""

    capture_file: str = parameter(
        '', 'Capture (pcap or pcapng, also gzipped) to replay datagrams from instead of the '
        'network; playing starts once the known subscriptions are matched.')
    capture_speed: float = parameter(
        1.0, 'Replay speed, a multiple of the recorded one; 0 is as fast as possible.',
        low=0.0, high=1000.0)


Parameters = TypeVar('Parameters', bound=BaseParameters)


class BridgeNode(ManagedParameters[Parameters]):
    """
    A managed node that brings itself up, reports on /diagnostics and can be ended at any time.

    Subclasses implement ``open`` (configure: raise LinkError or ValueError if that fails),
    ``begin`` (activate), ``end`` (deactivate: stop talking, give back what was taken),
    ``close`` (cleanup), ``diagnose``, and what ManagedParameters needs.
    """

    if TYPE_CHECKING:
        # rclpy has no types for what it mixes into a managed node.
        def get_logger(self) -> RcutilsLogger:
            """Return the node's logger."""

        def trigger_configure(self) -> TransitionCallbackReturn:
            """Configure, as a lifecycle manager would."""

        def trigger_activate(self) -> TransitionCallbackReturn:
            """Activate, as a lifecycle manager would."""

        def create_lifecycle_publisher(self, *args: Any, **options: Any) -> Any:
            """Create a publisher that publishes while the node is active."""

        def destroy_node(self) -> None:
            """Destroy the node and everything it owns."""

    def __init__(self, name: str, table: type[Parameters], **options: Any) -> None:
        super().__init__(name, table, **options)
        # By command; senders may name a session's commands at will.
        self.refused = Kinds(few=32)
        self.failed = ''
        # What the process ends with, if it is this node's own.
        self.exit_code = 0
        # Ends the process, if it is this node's own.
        self.quit: Callable[[], None] | None = None
        self._begun = False
        self._throttle = LogThrottle()
        self._refusing = threading.Lock()
        self._entities: list[tuple[Callable[[Any], Any], Any]] = []
        self._late: list[LateHearing] = []
        # If the node plays a capture.
        self.subscribers: Subscribers | None = None
        self.stamps = Stamps(self)
        self.published = Published()
        self.steady_clock = Clock(clock_type=ClockType.STEADY_TIME)
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self._diagnostics_timer = self.create_timer(
            DIAGNOSTICS_PERIOD, self.publish_diagnostics, clock=self.steady_clock
        )
        refuse_impossible(self, self.refuse)

    # Implemented by subclasses.

    @abstractmethod
    def open(self) -> None:
        """Open the link and create publishers, subscriptions and services."""

    @abstractmethod
    def begin(self) -> None:
        """Start talking."""

    @abstractmethod
    def end(self) -> None:
        """Stop talking, and give back what was taken."""

    @abstractmethod
    def close(self) -> None:
        """Close the link; whatever make_*() created is destroyed afterwards."""

    @abstractmethod
    def diagnose(self) -> Sequence[Status]:
        """Return the state of link and peer, once per second."""

    # Used by subclasses.

    def make_publisher(
        self, kind: type, topic: str, qos: QoSProfile | int = 10, passing: bool = False
    ) -> Any:
        """
        Create a lifecycle publisher whose quality of service the user can override.

        The topic of a ``passing`` one is named by the peer; drop_publisher() removes it. rclpy's
        QoS parameters cannot be removed, so they are declared only if one was given.
        """
        options: QoSOverridingOptions | None = QoSOverridingOptions.with_default_policies()
        if passing and not self.is_qos_given(topic):
            options = None
        publisher = self.create_lifecycle_publisher(
            kind, topic, qos if self.subscribers is None else self.subscribers.depth(qos),
            qos_overriding_options=options)
        if self._begun:
            # Made while the node is active, it has missed the activation.
            publisher.on_activate(None)
        self.published.add(publisher)
        if self.subscribers is not None:
            self.subscribers.add(publisher)
        self._entities.append((self.destroy_lifecycle_publisher, publisher))
        return publisher

    def drop_publisher(self, publisher: Any) -> None:
        """Destroy a publisher that is no longer used."""
        if self.subscribers is not None:
            self.subscribers.remove(publisher)
        self.published.remove(publisher)
        self._entities.remove((self.destroy_lifecycle_publisher, publisher))
        self.destroy_lifecycle_publisher(publisher)

    @contextmanager
    def gathering(self, made: list[tuple[Callable[[Any], Any], Any]]) -> Iterator[None]:
        """Add to ``made`` what make_*() creates meanwhile, for drop()."""
        before = len(self._entities)
        yield
        made += self._entities[before:]

    def drop(self, made: list[tuple[Callable[[Any], Any], Any]]) -> None:
        """Destroy what was gathered, and is no longer used."""
        for one in made:
            self._entities.remove(one)
            destroy, entity = one
            self.published.remove(entity)
            destroy(entity)
        made.clear()

    def make_command(
        self, kind: type, topic: str, handler: Callable[[Any], None],
        depth: QoSProfile | int = 1, *, latched: bool = False, raw: bool = False,
        while_inactive: bool = False,
    ) -> Any:
        """
        Subscribe to a command topic; return the subscription.

        A command that arrives while inactive is ignored, unless ``while_inactive``. ``handler``
        raises ValueError for one that must not be sent; that is counted and logged. ``latched``:
        one that was latched before counts too. ``raw``: it gets the serialised bytes.
        """
        def guarded(message: Any) -> None:
            if self._begun or while_inactive:
                try:
                    handler(message)
                except (ValueError, TypeError) as error:
                    self.refuse(topic, error)

        handle: Any = once(guarded, lambda: self._begun) if latched else guarded
        subscription = self.create_subscription(
            kind, topic, handle, depth, raw=raw,
            qos_overriding_options=QoSOverridingOptions.with_default_policies())
        self._entities.append((self.destroy_subscription, subscription))
        if latched:
            late = LateHearing(self, kind, topic, handle)
            self._entities.append((LateHearing.close, late))
            self._late.append(late)
        return subscription

    def make_service(
        self, kind: type, name: str, handler: Callable[[Any, Any], Any],
        refused: Callable[[Any, Any], None] | None = None, while_inactive: bool = False,
    ) -> None:
        """
        Offer a service.

        ``handler(request, response)`` may be a coroutine, and others run while it waits. Its
        ValueErrors, an inactive node (NotActiveError), and too many calls go to
        ``refused(response, error)``; without it they become ``success: false`` with the reason
        as ``message``.
        """
        service = Service(self, kind, name, handler, refused or _say_refused, while_inactive)
        self._entities.append((Service.retire, service))

    def make_action(
        self, kind: Any, name: str, handler: Callable[[Any, Any], Awaitable[None]],
        refused: Callable[[Any, ValueError], None],
    ) -> None:
        """
        Offer an action whose goals may be cancelled.

        ``handler(goal, result)`` is a coroutine that returns when the goal is reached. Its
        ValueErrors, an inactive node (NotActiveError), and too many goals abort the goal, or end
        it as cancelled if that was requested; ``refused(result, error)`` tells the client why,
        which a rejection could not.
        """
        self._entities.append(
            (AsyncActionServer.retire, AsyncActionServer(self, kind, name, handler, refused)))

    def refuse(self, what: str, error: Exception) -> None:
        """Count and log a command that was not sent; one that was, and is not shown, is logged."""
        if isinstance(error, NotShownError):
            self.warn(f'not shown {what}', f'{what}: {error}')
            return
        with self._refusing:
            self.refused.add(what)
        self.warn(f'refused {what}', f'{what} refused: {error}')

    def capture_ended(self, error: str) -> None:
        """Log that a capture has been played, or why only in part."""
        if error:
            self.get_logger().error(printable(error, LONGEST_LINE))
        else:
            self.get_logger().info('the capture has ended')

    def warn(self, kind: str, sentence: str) -> None:
        """
        Log a warning, at most one of a kind per second; the others are only counted.

        Every warning that a peer or a stranger can cause must use this.
        """
        if self._throttle.admits(kind, time.monotonic()):
            self.get_logger().warning(printable(sentence, LONGEST_LINE))

    def inform(self, kind: str, sentence: str) -> None:
        """Log information, throttled like warnings: a peer may come and go all the time."""
        # rclpy's loggers keep one severity per source line.
        if self._throttle.admits(kind, time.monotonic()):
            self.get_logger().info(printable(sentence, LONGEST_LINE))

    @property
    def active(self) -> bool:
        """Return whether the node is active."""
        return self._begun

    # Lifecycle.

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Read the parameters and open; ``failed`` says why that failed."""
        try:
            self.read_parameters()
            self.subscribers = self._make_subscribers()
            self.open()
            self._opened = True
            self.refuse_unused()
        except (ValueError, LinkError) as error:
            self.failed = printable(str(error), LONGEST_LINE)
            self.get_logger().error(f'cannot configure: {self.failed}')
            self._close()
            self._destroy_entities()
            return TransitionCallbackReturn.FAILURE
        except Exception:
            # rclpy would swallow it.
            self.get_logger().error(f'cannot configure:\n{traceback.format_exc()}')
            self._destroy_entities()
            return TransitionCallbackReturn.ERROR
        self.failed = ''
        return super().on_configure(state)

    def _make_subscribers(self) -> Subscribers | None:
        given = self.parameters
        if not isinstance(given, CaptureParameters) or not given.capture_file:
            return None
        return Subscribers(self, given.capture_speed == 0.0)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start to talk."""
        result = super().on_activate(state)
        # Before begin(): the first event may arrive before it returns.
        self._begun = True
        try:
            self.begin()
        except Exception:
            self._begun = False
            self.get_logger().error(f'cannot activate:\n{traceback.format_exc()}')
            return TransitionCallbackReturn.ERROR
        for late in self._late:
            late.look()
        return result

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop talking, and give back what was taken."""
        self._end()
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Close everything that configuration opened."""
        self._close()
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """End from any state: give back, close."""
        self.shut_down()
        return super().on_shutdown(state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Return to unconfigured after an internal error."""
        self.get_logger().error('a transition failed unexpectedly; the node is unconfigured now')
        self.shut_down()
        return super().on_error(state)

    def shut_down(self, deadline: float | None = None) -> None:
        """Give back and close, by a ``deadline`` of acknowledgements; no-op if already done."""
        self._end()
        self._close(deadline)

    def leave(self) -> None:
        """Give back what was taken, if active; no-op if already done."""
        self._end()

    def _end(self) -> None:
        if self._begun:
            self._begun = False
            self.end()

    def _close(self, deadline: float | None = None) -> None:
        if self._opened:
            self._opened = False
            # The link's thread is joined here, before its publishers go.
            self.close()
            self.published.tell_the_end(self, self._diagnostics, self.stamps.now_ns, deadline)
            self._destroy_entities()

    def _destroy_entities(self) -> None:
        for destroy, entity in self._entities:
            self.published.remove(entity)
            destroy(entity)
        self._entities.clear()
        self._late.clear()

    # Diagnostics.

    def tell_published(self) -> None:
        """Publish only how many messages were published so far; from any thread."""
        if self._opened and self._diagnostics.get_subscription_count():
            self.published.tell(self, self._diagnostics, self.stamps.now_ns)

    def publish_diagnostics(self) -> None:
        """Publish the state of this node on /diagnostics."""
        name = self.get_fully_qualified_name()
        if self._opened:
            lines = list(self.diagnose())
            if self.refused:
                values = tuple((what, str(count)) for what, count in sorted(self.refused.items()))
                lines.append(Status(
                    'refused', WARN, f'{counted(self.refused.total, "command")} refused', values))
            if self._throttle.suppressed:
                lines.append(self._diagnose_log())
            if self.stamps.simulated:
                lines.append(self.stamps.diagnose())
            lines.append(self.published.status())
        else:
            lines = [Status(
                'state', ERROR if self.failed else STALE, self.failed or 'not configured')]
        if self._diagnostics.get_subscription_count():
            # 0 under use_sim_time before the first /clock, which the status "ROS time" reports.
            self._diagnostics.publish(diagnostic_array(name, lines, self.stamps.now_ns))

    def _diagnose_log(self) -> Status:
        return Status(
            'log', OK, 'some messages were suppressed: at most one of a kind, and '
            f'{MOST} in all, are logged per second',
            (('messages suppressed', str(self._throttle.suppressed)),))


def _say_refused(response: Any, error: Exception) -> None:
    response.success = False
    response.message = printable(str(error), LONGEST_LINE)
