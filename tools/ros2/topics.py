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

"""What the stand-in for ros2 does with topics, services and actions."""

from collections import deque
import sys
import time

from graph import absolute, DEADLINE, fill, kind_of, plain, RefusedError, Ros, shown, subscribe
import yaml

WINDOW = 3.0
"""Seconds of which hz prints the mean rate."""


def parsed(text):
    """Return what was typed as YAML. Raises RefusedError."""
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        raise RefusedError(f"expected YAML such as '{{data: 1.0}}', got {text!r}") from None


def echo(*words):
    """Print messages."""
    options = [word for word in words if word.startswith('-')]
    topic, *rest = [word for word in words if not word.startswith('-')]
    once = '--once' in options
    field = rest[0] if '--field' in options else ''
    seen = []

    def show(message):
        for name in filter(None, field.split('.')):
            message = getattr(message, name)
        print(yaml.dump(plain(message), sort_keys=False) + '---', flush=True)
        seen.append(message)

    with Ros() as ros:
        if not subscribe(ros, absolute(topic), show):
            return 1
        ros.until(lambda: once and seen, DEADLINE if once else float('inf'))
    return 0 if seen else 1


def hz(topic, *_):
    """Print the mean rate of the last seconds, once per second."""
    times: deque = deque()
    with Ros() as ros:
        if not subscribe(ros, absolute(topic), lambda _: times.append(time.monotonic())):
            return 1
        shown = time.monotonic()
        while True:
            ros.rclpy.spin_once(ros.node, timeout_sec=0.1)
            now = time.monotonic()
            if now - shown < 1.0:
                continue
            shown = now
            while times and times[0] < now - WINDOW:
                times.popleft()
            print(f'average rate: {(len(times) - 1) / (times[-1] - times[0]):.3f}'
                  if len(times) > 2 else 'no new messages', flush=True)


def pub(*arguments):
    """Publish a message given as YAML."""
    words, rate, times = list(arguments), 1.0, 0
    for option in ('-r', '--rate'):
        if option in words:
            at = words.index(option)
            rate = float(words[at + 1])
            del words[at:at + 2]
    for option in ('--once', '-1'):
        if option in words:
            words.remove(option)
            times = 1
    topic, kind, *values = words
    message = fill(kind_of(kind)(), parsed(values[0]) if values else {})
    with Ros() as ros:
        publisher = ros.node.create_publisher(kind_of(kind), absolute(topic), 10)
        if not ros.awaited(publisher.get_subscription_count, f'a subscriber of {topic}'):
            print(f'nobody subscribes to {topic}', file=sys.stderr)
            return 1
        count = 0
        while not times or count < times:
            count += 1
            print(f'publishing #{count}: {message}', flush=True)
            publisher.publish(message)
            if count != times:
                ros.until(lambda: False, 1.0 / rate)
        publisher.wait_for_all_acked(ros.rclpy.duration.Duration(seconds=2))
    return 0


def call(name, kind, values='{}'):
    """Call a service with a request given as YAML."""
    request = fill(kind_of(kind).Request(), parsed(values))
    with Ros() as ros:
        response = ros.call(kind_of(kind), absolute(name), **{
            field: getattr(request, field) for field in request.get_fields_and_field_types()})
    print(f'response:\n{response}')
    return 0 if response is not None else 1


def send_goal(*words):
    """Send a goal given as YAML; print feedback and result. Ctrl-C does not cancel it."""
    from rclpy.action import ActionClient
    name, kind, values = [word for word in words if not word.startswith('-')]
    action = kind_of(kind)

    def show(message):
        print(f'Feedback:\n{yaml.dump(plain(message.feedback), sort_keys=False)}', flush=True)

    with Ros() as ros:
        client = ActionClient(ros.node, action, absolute(name))
        print('Waiting for an action server to become available...', flush=True)
        if not ros.until(client.server_is_ready):
            return 1
        sent = client.send_goal_async(
            fill(action.Goal(), parsed(values)),
            show if {'-f', '--feedback'} & {*words} else None)
        ros.until(sent.done)
        if not sent.done() or not sent.result().accepted:
            print('Goal was rejected.')
            return 1
        result = sent.result().get_result_async()
        ros.until(result.done, float('inf'))
        print(f'Result:\n{yaml.dump(plain(result.result().result), sort_keys=False)}')
    return 0


def info(topic):
    """Print a topic's type, and how many publish it and subscribe to it."""
    topic = absolute(topic)
    with Ros() as ros:
        types = ros.until(lambda: dict(ros.node.get_topic_names_and_types()).get(topic))
        if types is None:
            print(f'Unknown topic {topic!r}', file=sys.stderr)
            return 1
        print(f'Type: {", ".join(types)}\n'
              f'Publisher count: {ros.node.count_publishers(topic)}\n'
              f'Subscription count: {ros.node.count_subscribers(topic)}')
    return 0


def list_topics():
    """List the topics."""
    with Ros() as ros:
        # Two are those of this node.
        return shown(ros, lambda: [
            name for name, _ in ros.node.get_topic_names_and_types()], 2)


def list_services():
    """List the services of other nodes."""
    with Ros() as ros:
        return shown(ros, lambda: [
            name for name, _ in ros.node.get_service_names_and_types()])
