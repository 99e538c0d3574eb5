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

"""What the stand-in for ros2 does with nodes: parameters and lifecycle."""

from graph import absolute, Ros, shown
import yaml


def list_nodes():
    """List the nodes."""
    with Ros() as ros:
        return shown(ros, lambda: [
            f'{space.rstrip("/")}/{name}' for name, space
            in ros.node.get_node_names_and_namespaces()])


def get(node, name):
    """Print the value of a parameter."""
    from rcl_interfaces.srv import GetParameters
    from rclpy.parameter import parameter_value_to_python
    with Ros() as ros:
        answer = ros.call(GetParameters, f'{absolute(node)}/get_parameters', names=[name])
    print(parameter_value_to_python(answer.values[0]) if answer else '')
    return 0 if answer else 1


def set_parameter(node, name, value):
    """Set a parameter to a value given as YAML."""
    from rcl_interfaces.srv import SetParameters
    from rclpy.parameter import Parameter
    change = Parameter(name, value=yaml.safe_load(value)).to_parameter_msg()
    with Ros() as ros:
        answer = ros.call(
            SetParameters, f'{absolute(node)}/set_parameters', parameters=[change])
    result = answer.results[0] if answer else None
    print('Set parameter successful' if result and result.successful
          else f'Setting parameter failed: {result.reason if result else "no node"}')
    return 0 if result and result.successful else 1


def describe(node, name):
    """Print the description of a parameter."""
    from rcl_interfaces.srv import DescribeParameters
    with Ros() as ros:
        answer = ros.call(
            DescribeParameters, f'{absolute(node)}/describe_parameters', names=[name])
    print(f'Parameter name: {name}\n  Description: '
          f'{answer.descriptors[0].description}' if answer else '')
    return 0 if answer else 1


def list_parameters(node):
    """List the parameters of a node."""
    from rcl_interfaces.srv import ListParameters
    with Ros() as ros:
        answer = ros.call(ListParameters, f'{absolute(node)}/list_parameters')
    print('\n'.join(f'  {name}' for name in sorted(answer.result.names)) if answer else '')
    return 0 if answer else 1


def dump(node):
    """Print all parameters of a node as a parameter file."""
    from rcl_interfaces.srv import GetParameters, ListParameters
    from rclpy.parameter import parameter_value_to_python
    node = absolute(node)
    nested: dict = {}
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


def load(node, path):
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


def get_state(node):
    """Print the state of a managed node."""
    from lifecycle_msgs.srv import GetState
    with Ros() as ros:
        answer = ros.call(GetState, f'{absolute(node)}/get_state')
    print(f'{answer.current_state.label} [{answer.current_state.id}]' if answer else '')
    return 0 if answer else 1


def change_state(node, transition):
    """Change the state of a managed node."""
    from lifecycle_msgs.msg import Transition
    from lifecycle_msgs.srv import ChangeState
    number = getattr(Transition, f'TRANSITION_{transition.upper()}')
    with Ros() as ros:
        answer = ros.call(
            ChangeState, f'{absolute(node)}/change_state', transition=Transition(id=number))
    print('Transitioning successful' if answer and answer.success else 'Transitioning failed')
    return 0 if answer and answer.success else 1
