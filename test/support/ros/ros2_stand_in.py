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

"""
A stand-in for the ros2 command, for environments that have rclpy but not ros2cli.

It knows the subcommands that the docs use: run, launch (of one node), topic echo, pub and hz,
service call, action send_goal, param get, set, describe, dump and load, lifecycle get and set,
node list, topic list, interface show, pkg prefix. An unknown one exits with code 64.
"""

import importlib
import os
from pathlib import Path
import sys
import time

import yaml

UNKNOWN = 64
DEADLINE = 30.0


def executable(package, name):
    """Return the path of a package's executable, as ros2 run finds it."""
    from ament_index_python.packages import get_package_prefix
    return os.path.join(get_package_prefix(package), 'lib', package, name)


def run(package, name, *arguments):
    """Replace this process by the executable."""
    path = executable(package, name)
    os.execv(path, [path, *arguments])


def launch(package, file='', *arguments):
    """Launch one node: with launch if it is available, else the node with the same parameters."""
    from ament_index_python.packages import get_package_share_directory
    if package.endswith('.py') or '--show-args' in arguments:
        return unknown('launch', package, file)
    share = Path(get_package_share_directory(package))
    try:
        import launch_ros  # noqa: F401
    except ImportError:
        pass
    else:
        runner = str(Path(__file__).with_name('run_launch_file.py'))
        os.execv(sys.executable, [
            sys.executable, '-P', runner, str(share / 'launch' / file), *arguments])
    name = file.removesuffix('.launch.py')
    given = dict(argument.split(':=', 1) for argument in arguments)
    config = given.pop('params_file', str(share / 'config' / f'{name}.yaml'))
    if not os.path.exists(executable(package, f'{name}_node')):
        return unknown('launch', package, file)
    ros = ['--ros-args', '--params-file', config]
    if given.get('namespace'):
        ros += ['-r', f'__ns:=/{given.pop("namespace").lstrip("/")}']
    if 'log_level' in given:
        ros += ['--log-level', given.pop('log_level')]
    texts = text_parameters(name)
    for key, value in given.items():
        if key not in ('respawn', 'autostart'):
            ros += ['-p', f'{key}:={yaml.dump(value).strip() if key in texts else value}']
    return run(package, f'{name}_node', *ros)


def text_parameters(name):
    """Return the names of a node's string parameters."""
    from dataclasses import fields

    from xplane_bridge.nodes.managed.registry import parameter_table
    return {field.name for field in fields(parameter_table(f'{name}_node'))
            if field.type in ('str', str)}


class Ros:
    """A node for the duration of one command."""

    def __enter__(self):
        import rclpy
        rclpy.init()
        self.rclpy = rclpy
        self.node = rclpy.create_node(f'_ros2_stand_in_{os.getpid()}')
        # Created at the first spin, it would be half initialised if Ctrl-C came in between.
        rclpy.get_global_executor()
        return self

    def __exit__(self, *_):
        self.node.destroy_node()
        self.rclpy.try_shutdown()

    def until(self, predicate, deadline=DEADLINE):
        """Spin until the predicate is true; return its value, None after the deadline."""
        end = time.monotonic() + deadline
        while not (value := predicate()):
            if time.monotonic() > end:
                return None
            self.rclpy.spin_once(self.node, timeout_sec=0.1)
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
    module = importlib.import_module(f'{package}.{middle[0] if middle else "msg"}')
    return getattr(module, interface)


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
    """Set the fields of a message that ``values`` names."""
    for name, value in (values or {}).items():
        old = getattr(message, name)
        if is_message(old):
            fill(old, value)
        elif isinstance(old, (bool, str)):
            setattr(message, name, value)
        elif isinstance(old, (int, float)):
            setattr(message, name, type(old)(value))
        elif value and isinstance(value[0], dict):
            kind = message.get_fields_and_field_types()[name]
            element = kind_of(kind.removeprefix('sequence<').split('>')[0])
            setattr(message, name, [fill(element(), one) for one in value])
        else:
            setattr(message, name, value)
    return message


def absolute(topic):
    """Return a name in the root namespace."""
    return topic if topic.startswith('/') else f'/{topic}'


def topic_kind(ros, topic):
    """Return the class of a topic's messages, once somebody publishes it."""
    def found():
        return dict(ros.node.get_topic_names_and_types()).get(topic)

    names = ros.until(found)
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


def topic_echo(*words):
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


def topic_hz(topic, *_):
    """Print the mean rate once per second."""
    times = []
    with Ros() as ros:
        if not subscribe(ros, absolute(topic), lambda _: times.append(time.monotonic())):
            return 1
        shown = time.monotonic()
        while True:
            ros.rclpy.spin_once(ros.node, timeout_sec=0.1)
            if time.monotonic() - shown > 1.0 and len(times) > 2:
                shown = time.monotonic()
                rate = (len(times) - 1) / (times[-1] - times[0])
                print(f'average rate: {rate:.3f}', flush=True)


def topic_pub(*arguments):
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
    message = fill(kind_of(kind)(), yaml.safe_load(values[0]) if values else {})
    with Ros() as ros:
        publisher = ros.node.create_publisher(kind_of(kind), absolute(topic), 10)
        if not ros.until(publisher.get_subscription_count):
            print(f'nobody subscribes to {topic}', file=sys.stderr)
            return 1
        count = 0
        while not times or count < times:
            count += 1
            print(f'publishing #{count}: {message}', flush=True)
            publisher.publish(message)
            ros.until(lambda: False, 1.0 / rate)
        publisher.wait_for_all_acked(ros.rclpy.duration.Duration(seconds=2))
    return 0


def service_call(name, kind, values='{}'):
    """Call a service with a request given as YAML."""
    request = fill(kind_of(kind).Request(), yaml.safe_load(values))
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
            fill(action.Goal(), yaml.safe_load(values)),
            show if {'-f', '--feedback'} & {*words} else None)
        ros.until(sent.done)
        if not sent.done() or not sent.result().accepted:
            print('Goal was rejected.')
            return 1
        result = sent.result().get_result_async()
        ros.until(result.done, float('inf'))
        print(f'Result:\n{yaml.dump(plain(result.result().result), sort_keys=False)}')
    return 0


def param(verb, node, name, value=''):
    """Get, set or describe one parameter."""
    from rcl_interfaces.srv import DescribeParameters, GetParameters, SetParameters
    from rclpy.parameter import Parameter, parameter_value_to_python
    node = absolute(node)
    with Ros() as ros:
        if verb == 'get':
            answer = ros.call(GetParameters, f'{node}/get_parameters', names=[name])
            print(parameter_value_to_python(answer.values[0]) if answer else '')
        elif verb == 'set':
            change = Parameter(name, value=yaml.safe_load(value)).to_parameter_msg()
            answer = ros.call(SetParameters, f'{node}/set_parameters', parameters=[change])
            result = answer.results[0] if answer else None
            print('Set parameter successful' if result and result.successful
                  else f'Setting parameter failed: {result.reason if result else "no node"}')
            return 0 if result and result.successful else 1
        elif verb == 'describe':
            answer = ros.call(DescribeParameters, f'{node}/describe_parameters', names=[name])
            print(f'Parameter name: {name}\n  Description: '
                  f'{answer.descriptors[0].description}' if answer else '')
        else:
            return unknown('param', verb)
    return 0 if answer else 1


def param_dump(node):
    """Print all parameters of a node as a parameter file."""
    from rcl_interfaces.srv import GetParameters, ListParameters
    from rclpy.parameter import parameter_value_to_python
    node, nested = absolute(node), {}
    with Ros() as ros:
        listed = ros.call(ListParameters, f'{node}/list_parameters')
        names = listed.result.names if listed else []
        answer = ros.call(GetParameters, f'{node}/get_parameters', names=names)
    for name, value in zip(names, answer.values if answer else (), strict=False):
        *groups, last = name.split('.')
        group = nested
        for one in groups:
            group = group.setdefault(one, {})
        group[last] = parameter_value_to_python(value)
    print(yaml.dump({node: {'ros__parameters': nested}}))
    return 0 if nested else 1


def param_load(node, path):
    """Set the parameters of a file."""
    from rcl_interfaces.srv import SetParameters
    from rclpy.parameter import parameter_dict_from_yaml_file
    node = absolute(node)
    changes = list(parameter_dict_from_yaml_file(path, True, target_nodes=[node]).values())
    with Ros() as ros:
        answer = ros.call(SetParameters, f'{node}/set_parameters', parameters=changes)
    for change, result in zip(changes, answer.results if answer else (), strict=False):
        print(f'Set parameter {change.name} '
              + ('successful' if result.successful else f'failed: {result.reason}'))
    return 0 if answer and all(result.successful for result in answer.results) else 1


def lifecycle(verb, node, transition=''):
    """Get or change the state of a managed node."""
    from lifecycle_msgs.msg import Transition
    from lifecycle_msgs.srv import ChangeState, GetState
    node = absolute(node)
    with Ros() as ros:
        if verb == 'get':
            answer = ros.call(GetState, f'{node}/get_state')
            print(f'{answer.current_state.label} [{answer.current_state.id}]' if answer else '')
            return 0 if answer else 1
        number = getattr(Transition, f'TRANSITION_{transition.upper()}')
        answer = ros.call(ChangeState, f'{node}/change_state', transition=Transition(id=number))
        print('Transitioning successful' if answer and answer.success
              else 'Transitioning failed')
        return 0 if answer and answer.success else 1


def listing(what, *_):
    """List nodes or topics."""
    with Ros() as ros:
        def found():
            names = ([f'{space.rstrip("/")}/{name}' for name, space
                      in ros.node.get_node_names_and_namespaces()] if what == 'node'
                     else [name for name, _ in ros.node.get_topic_names_and_types()])
            return [name for name in sorted(set(names)) if '_ros2_stand_in' not in name]

        ros.until(lambda: len(found()) > (0 if what == 'node' else 2))
        print('\n'.join(found()))
    return 0


def show(name, *_):
    """Print the fields of an interface."""
    from ament_index_python.packages import get_package_share_directory
    package, kind, interface = name.split('/')
    print((Path(get_package_share_directory(package)) / kind
           / f'{interface}.{kind}').read_text())
    return 0


def prefix(*words):
    """Print the folder that a package is installed in; with --share that of its data."""
    from ament_index_python.packages import get_package_prefix, get_package_share_directory
    *options, package = words
    print((get_package_share_directory if options else get_package_prefix)(package))
    return 0


def unknown(*words):
    """Report an unknown command."""
    print(f'the stand-in does not know: ros2 {" ".join(words)}', file=sys.stderr)
    return UNKNOWN


COMMANDS = {
    ('run',): run,
    ('launch',): launch,
    ('topic', 'echo'): topic_echo,
    ('topic', 'hz'): topic_hz,
    ('topic', 'pub'): topic_pub,
    ('topic', 'list'): lambda *words: listing('topic', *words),
    ('node', 'list'): lambda *words: listing('node', *words),
    ('service', 'call'): service_call,
    ('action', 'send_goal'): send_goal,
    ('param', 'get'): lambda *words: param('get', *words),
    ('param', 'set'): lambda *words: param('set', *words),
    ('param', 'dump'): param_dump,
    ('param', 'load'): param_load,
    ('param', 'describe'): lambda *words: param('describe', *words),
    ('lifecycle', 'get'): lambda *words: lifecycle('get', *words),
    ('lifecycle', 'set'): lambda *words: lifecycle('set', *words),
    ('interface', 'show'): show,
    ('pkg', 'prefix'): prefix,
}


def main(words):
    """Run one command; return its exit code."""
    for length in (1, 2):
        command = COMMANDS.get(tuple(words[:length]))
        if command is not None:
            return command(*words[length:])
    return unknown(*words)


if __name__ == '__main__':
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(2)
