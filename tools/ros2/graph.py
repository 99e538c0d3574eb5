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

"""A node for the duration of one command of the stand-in for ros2, and messages as YAML."""

from difflib import get_close_matches
import gc
import importlib
import os
from pathlib import Path
import sys
import time

DEADLINE = 30.0
NAME = '_ros2_stand_in'
PROFILE = Path(__file__).with_name('prompt_acks.xml')


class RefusedError(Exception):
    """Something that was typed cannot be: a sentence."""


class Ros:
    """A node for the duration of one command."""

    def __enter__(self):
        os.environ.setdefault('FASTRTPS_DEFAULT_PROFILES_FILE', str(PROFILE))
        import rclpy
        rclpy.init()
        self.rclpy = rclpy
        self.node = rclpy.create_node(f'{NAME}_{os.getpid()}')
        # Created at the first spin, it would be half initialised if Ctrl-C came in between.
        rclpy.get_global_executor()
        # All is imported, and it may run for long.
        gc.freeze()
        gc.enable()
        return self

    def __exit__(self, kind, *_):
        from rclpy.executors import ExternalShutdownException
        self.node.destroy_node()
        self.rclpy.try_shutdown()
        # Ended by SIGTERM.
        return kind is ExternalShutdownException

    def until(self, predicate, deadline=DEADLINE):
        """Spin until the predicate is true; return its value, None after the deadline."""
        end = time.monotonic() + deadline
        while not (value := predicate()):
            if time.monotonic() > end:
                return None
            self.rclpy.spin_once(self.node, timeout_sec=0.1)
        return value

    def awaited(self, predicate, what):
        """Do as until(), and say after a second what it waits for."""
        value = self.until(predicate, 1.0)
        if not value:
            print(f'waiting for {what} ...', file=sys.stderr, flush=True)
            value = self.until(predicate)
        return value

    def call(self, kind, name, /, **fields):
        """Call a service; return the response, None if the service is not available."""
        client = self.node.create_client(kind, name)
        if not client.wait_for_service(DEADLINE):
            print(f'{name} is not offered', file=sys.stderr)
            return None
        future = client.call_async(kind.Request(**fields))
        self.until(future.done)
        return future.result() if future.done() else None


def kind_of(name):
    """Return the class of an interface by its name, such as std_srvs/srv/SetBool."""
    package, *middle, interface = name.split('/')
    try:
        module = importlib.import_module(f'{package}.{middle[0] if middle else "msg"}')
    except (ImportError, ValueError):
        raise RefusedError(f'there is no interface {name!r}: expected a name such as '
                      'std_msgs/msg/Float64') from None
    if not hasattr(module, interface):
        raise RefusedError(f'there is no interface {name!r}{near(interface, dir(module))}')
    return getattr(module, interface)


def near(name, known):
    """Return the end of a sentence about an unknown name."""
    found = get_close_matches(name, known, n=1)
    return f'; did you mean {found[0]}?' if found else ''


def is_message(value):
    """Return whether something is a message rather than a plain field value."""
    return hasattr(value, 'get_fields_and_field_types')


def plain(value):
    """Return a message as plain YAML types."""
    if is_message(value):
        return {name: plain(getattr(value, name)) for name in value.get_fields_and_field_types()}
    if isinstance(value, bytes):
        return value[0]
    if isinstance(value, (str, bool, int, float)):
        return value
    return [plain(one) if not isinstance(one, (int, float)) or isinstance(one, bool)
            else getattr(one, 'item', lambda one=one: one)() for one in value]


def fill(message, values):
    """Set the fields of a message that ``values`` names. Raises RefusedError."""
    if not isinstance(values or {}, dict):
        raise RefusedError(f"expected fields such as '{{data: 1.0}}', got {values!r}")
    kinds = message.get_fields_and_field_types()
    for name, value in (values or {}).items():
        if name not in kinds:
            raise RefusedError(
                f'{type(message).__name__} has no field {name!r}{near(str(name), kinds)}')
        try:
            setattr(message, name, _filled(getattr(message, name), kinds[name], value))
        except (AssertionError, TypeError, ValueError):
            raise RefusedError(f'{type(message).__name__}.{name}: expected {kinds[name]}, '
                          f'got {value!r}') from None
    return message


def _filled(old, kind, value):
    """Return a value as the field whose value is ``old`` takes it."""
    if is_message(old):
        return fill(old, value)
    if isinstance(old, (bool, str)):
        return value
    if isinstance(old, (int, float)):
        return type(old)(value)
    if value and isinstance(value[0], dict):
        element = kind_of(kind.removeprefix('sequence<').split('>')[0])
        return [fill(element(), one) for one in value]
    return value


def absolute(topic):
    """Return a name in the root namespace."""
    return topic if topic.startswith('/') else f'/{topic}'


def topic_kind(ros, topic):
    """Return the class of a topic's messages, once somebody publishes it."""
    def found():
        return dict(ros.node.get_topic_names_and_types()).get(topic)

    names = ros.awaited(found, f'a publisher of {topic}')
    return kind_of(names[0]) if names else None


def subscribe(ros, topic, callback):
    """Subscribe as echo does: with the publisher's durability and reliability."""
    kind = topic_kind(ros, topic)
    if kind is None:
        print(f'topic {topic} does not appear to be published yet', file=sys.stderr)
        return False
    (offered, *_) = ros.until(lambda: ros.node.get_publishers_info_by_topic(topic)) or (None,)
    from rclpy.qos import QoSProfile
    qos = QoSProfile(depth=10)
    if offered is not None:
        qos.durability = offered.qos_profile.durability
        qos.reliability = offered.qos_profile.reliability
    ros.node.create_subscription(kind, topic, callback, qos)
    return True


def shown(ros, found, own=0):
    """Print names once there are more than ``own``, but for those of the stand-in; return 0."""
    def others():
        return [name for name in sorted(set(found())) if NAME not in name]

    ros.until(lambda: len(others()) > own)
    print('\n'.join(others()))
    return 0
