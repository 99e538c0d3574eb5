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

"""A harness for node tests: real rclpy, real topics, events instead of sleeps."""

from collections import defaultdict
from contextlib import contextmanager, suppress
import gc
import os
import signal
import subprocess
import threading
import time

from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.task import Future
from rosgraph_msgs.msg import Clock

from xplane_bridge.bridges.links.unused_ports import free_ports
from xplane_bridge.bridges.nodes.common.spinning import spin_until
from xplane_bridge.laboratory.nodes.flight.processes import executable_path

# Only bounds how long a failure takes: on a loaded machine a start takes half a minute.
DEADLINE = 60.0

# A response is lost if the service does not discover its client within 0.1 s, as on a busy
# machine: then it was called all the same.
_ANSWER = 10.0
# Services that may be called twice, by the beginnings of their names.
_IDEMPOTENT = ('Describe', 'Get', 'List', 'SetBool', 'SetParameters')
_REACHED = {
    Transition.TRANSITION_CONFIGURE: 'inactive', Transition.TRANSITION_ACTIVATE: 'active',
    Transition.TRANSITION_ACTIVE_SHUTDOWN: 'finalized'}


class Harness:
    """
    Spin an observer node and the nodes under test, each in its own executor thread.

    Every wait has a deadline; a timeout fails with a message naming what was awaited. An exception
    in an executor thread fails the test when it ends.
    """

    def __init__(self):
        self.context = Context()
        self.changed = threading.Condition()
        self.messages = defaultdict(list)
        self.failures = []
        self._clock = None
        self._executors = {}
        self._stack = []

    def __enter__(self):
        rclpy.init(context=self.context)
        self.observer = Node('observer', context=self.context)
        self._spin(self.observer)
        return self

    def __exit__(self, *_):
        for close in reversed(self._stack):
            close()
        rclpy.shutdown(context=self.context)
        self._stack.clear()
        self._executors.clear()
        self._clock = None
        del self.observer
        # A managed node's services live as long as the node, and nodes are full of reference
        # cycles: the next test would find them.
        gc.collect()
        assert not self.failures, f'an executor was terminated by {self.failures}'

    def _spin(self, node):
        executor = SingleThreadedExecutor(context=self.context)
        executor.add_node(node)
        self._executors[node] = executor
        stop = Future(executor=executor)
        thread = threading.Thread(target=self._run, args=(executor, stop), daemon=True)
        thread.start()

        def close():
            # Shut down from here, an executor could find its guard condition gone during a
            # callback.
            stop.set_result(None)
            thread.join(DEADLINE)
            executor.shutdown()
            if hasattr(node, 'session'):
                # Its peer may have gone before: then it would wait for it in vain.
                node.session.release_timeout = 0.0
            if hasattr(node, 'shut_down'):
                node.shut_down()
            node.destroy_node()

        self._stack.append(close)

    def _run(self, executor, stop):
        try:
            with suppress(rclpy.executors.ExternalShutdownException):
                spin_until(executor, stop)
        except Exception as error:
            self.failures.append(error)
            raise

    def start(self, make_node, activate=True, configure=True, namespace=None, **parameters):
        """
        Create a node of this package with parameters, activate it and spin it.

        A double underscore in a parameter name stands for a dot.
        """
        overrides = [Parameter(name.replace('__', '.'), value=value)
                     for name, value in parameters.items()]
        node = make_node(
            context=self.context, parameter_overrides=overrides, namespace=namespace)
        self._spin(node)
        if configure:
            configured = node.trigger_configure() == TransitionCallbackReturn.SUCCESS
            if configured and activate:
                node.trigger_activate()
        return node

    def run_in(self, node, function, *arguments):
        """Return the result of ``function(*arguments)``, run in ``node``'s executor."""
        future = self._executors[node].create_task(function, *arguments)
        return self.wait_for(
            lambda: [future.result()] if future.done() else None, function.__name__)[0]

    def change(self, node, **values):
        """Set parameters of a running node atomically; return the result."""
        return self.run_in(node, node.set_parameters_atomically, [
            Parameter(name, value=value) for name, value in values.items()])

    def subscribe(self, kind, topic, qos=10):
        """Collect a topic's messages in self.messages[topic]."""
        def collect(message):
            with self.changed:
                self.messages[topic].append(message)
                self.changed.notify_all()

        return self.observer.create_subscription(kind, topic, collect, qos)

    def publisher(self, kind, topic, qos=1):
        """Return a publisher whose subscriber is already matched."""
        publisher = self.observer.create_publisher(kind, topic, qos)
        self.wait_for(lambda: publisher.get_subscription_count() > 0, f'a subscriber of {topic}')
        return publisher

    def tell_time(self, node, seconds):
        """Publish on /clock until the node's ROS time has that value."""
        if self._clock is None:
            self._clock = self.observer.create_publisher(Clock, '/clock', 1)
        told = Clock()
        told.clock.sec, told.clock.nanosec = divmod(round(seconds * 1e9), 1_000_000_000)

        def there():
            # /clock is best effort, and the subscription may still be being discovered.
            self._clock.publish(told)
            return node.get_clock().now().nanoseconds == round(seconds * 1e9)

        self.wait_for(there, f'the time {seconds}')

    def wait_for(self, predicate, what, timeout=DEADLINE):
        """Wait until ``predicate()`` is true, checked after each message; return its value."""
        end = time.monotonic() + timeout
        with self.changed:
            while not (value := predicate()):
                left = end - time.monotonic()
                assert left > 0, f'waited {timeout} s for {what}'
                assert not self.failures, f'an executor was terminated by {self.failures}'
                # Not every awaited condition comes as a message.
                self.changed.wait(min(left, 0.02))
            return value

    def next(self, topic, count=1, timeout=DEADLINE, where=lambda message: True):
        """Return the last of the next ``count`` messages of a topic."""
        with self.changed:
            start = len(self.messages[topic])

        def found():
            news = [message for message in self.messages[topic][start:] if where(message)]
            return news[count - 1:count]

        return self.wait_for(found, f'{count} messages on {topic}', timeout)[0]

    def call(self, kind, service, request, timeout=DEADLINE):
        """Call a service and return its response; what may be done twice is asked again."""
        client = self.observer.create_client(kind, service)
        futures = []
        asked = 0.0

        def answered():
            nonlocal asked
            again = kind.__name__.startswith(_IDEMPOTENT)
            if not futures or (again and time.monotonic() > asked + _ANSWER):
                asked = time.monotonic()
                futures.append(client.call_async(request))
            return [future.result() for future in futures if future.done()]

        try:
            assert client.wait_for_service(timeout), f'{service} is not available'
            return self.wait_for(answered, service, timeout)[0]
        finally:
            self.observer.destroy_client(client)

    def transition(self, node, number):
        """Have another process's managed node make a transition; return whether it did."""
        def state():
            return self.call(
                GetState, f'{node}/get_state', GetState.Request()).current_state.label

        state()
        request = ChangeState.Request()
        request.transition.id = number
        with suppress(AssertionError):
            return self.call(ChangeState, f'{node}/change_state', request, _ANSWER).success
        # Whatever became of the response, the transition was or will be made.
        return self.wait_for(lambda: state() == _REACHED[number], f'{node} {_REACHED[number]}')

    def call_at_once(self, kind, service, requests, clients=1):
        """Send all requests to a service at once from several clients; return the responses."""
        # With ROS's default depth of 10 a client loses responses that arrive faster than it takes
        # them.
        made = [
            self.observer.create_client(kind, service, qos_profile=QoSProfile(depth=len(requests)))
            for _ in range(clients)]
        try:
            for client in made:
                assert client.wait_for_service(DEADLINE), f'{service} is not available'
                # The service may not have discovered its clients yet.
                known = client.call_async(requests[0])
                self.wait_for(known.done, f'a response of {service}')
            futures = [
                made[number % clients].call_async(request)
                for number, request in enumerate(requests)]
            self.wait_for(
                lambda: all(future.done() for future in futures),
                f'{len(futures)} responses of {service}')
            return [future.result() for future in futures]
        finally:
            for client in made:
                self.observer.destroy_client(client)

    def diagnosed(self, name, where=lambda level, message, values: True, node=None, hurry=True):
        """
        Wait for the next status with that name for which ``where(...)`` is true.

        They are published once per second. To ``hurry``, the nodes in this process, or the
        ``node`` alone, publish them more often; rates in them are since the last time.
        """
        nodes = [one for one in self._executors if hurry and (
            one is node or node is None and hasattr(one, 'publish_diagnostics'))]
        if '/diagnostics' not in self.messages:
            self.subscribe(DiagnosticArray, '/diagnostics')
        with self.changed:
            since = len(self.messages['/diagnostics'])
        asked = 0.0

        def found():
            nonlocal asked
            if time.monotonic() > asked + 0.1:
                asked = time.monotonic()
                for one in nodes:
                    self._executors[one].create_task(one.publish_diagnostics)
            status = self.diagnostics(name, since)
            return status if status and where(*status) else None

        return self.wait_for(found, f'diagnostics of {name}')

    def diagnostics(self, name, since=0):
        """Return the newest status whose name ends in ``name``, as (level, message, values)."""
        for message in reversed(self.messages['/diagnostics'][since:]):
            for status in message.status:
                if status.name.endswith(': ' + name):
                    return (status.level, status.message,
                            {item.key: item.value for item in status.values})
        return None


def free_port():
    """Return a free UDP port whose successor is free too."""
    return free_ports(2)


@contextmanager
def process(*command, cwd=None, own_group=False, **environment):
    """
    Run a command; terminate it at the end, and kill it if that does not suffice.

    A bare name is an executable of this package, which is not on the PATH; anything else is a
    path. With ``own_group`` it can be interrupted together with what it starts.
    """
    program, *arguments = command
    if os.sep not in program:
        program = executable_path(program)
    child = subprocess.Popen(
        [program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        bufsize=1, cwd=cwd, env={**os.environ, **environment}, start_new_session=own_group)
    try:
        yield child
    finally:
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)
            try:
                child.wait(DEADLINE)
            except subprocess.TimeoutExpired:
                child.kill()
        child.stdout.close()
        child.wait()
