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

"""What a fleet consists of: the nodes that fleet.launch.py starts, with their parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import yaml

from xplane_bridge.bridges.nodes.managed.parameters import parameter
from xplane_bridge.bridges.nodes.vehicle.namespaces import default_namespaces
from xplane_bridge.bridges.protocols.registry import DATA_PORT
from xplane_bridge.common import plain_yaml
from xplane_bridge.laboratory.control.gains import read_parameters
from xplane_bridge.laboratory.nodes.flight.bridges import bridge_parameters
from xplane_bridge.laboratory.nodes.launch_arguments import Given
from xplane_bridge.laboratory.nodes.launch_checks import check_vehicles
from xplane_bridge.laboratory.sensors.topics import moved_truth
from xplane_bridge.simulation.aircraft.initial import DEFAULT_MODEL
from xplane_bridge.simulation.node.direct import DIRECT
from xplane_bridge.simulation.peers.registry import SIMULATORS
from xplane_bridge.simulation.peers.world import AIRCRAFT_COUNT

_XPC = 'xpc'
_EXPERIMENT = '/experiment/'
_LOOPBACK = '127.0.0.1'
ONE, EACH = 'one', 'each'
MAP_FRAME = 'map'
"""The frame that all frames of a fleet are below."""
# Updates per second and aircraft through xpc_node, and datagrams for each: two for the first
# aircraft, one for up to four others, and a command. With something to spare.
_RATE = 30.0
_TO_A_REQUEST = 4
_SPARE = 1.25
# Aircraft abreast; how far a row is behind the one before (in spacings), and above it.
_ABREAST = 5
_ABOVE = 1.0 / 3.0


@dataclass(frozen=True)
class FleetArguments:
    """Arguments of fleet.launch.py, besides those of all nodes."""

    count: int = parameter(
        3, 'How many aircraft: uav1, uav2, ...', low=1, high=AIRCRAFT_COUNT)
    sim: str = parameter(
        DIRECT, 'How ROS reaches them: by simulator_node itself, or as the aircraft of one '
        'X-Plane, through one xpc_node.', choices=(DIRECT, _XPC))
    host: str = parameter(
        '', 'Address of a real X-Plane with X-Plane Connect, whose aircraft 0, 1, ... they are '
        '(sim: xpc). Empty: start a simulated one.')
    port: int = parameter(
        0, 'UDP port of the plugin (sim: xpc); 0 is the default one.', low=0, high=65534)
    aircraft: tuple[str, ...] = parameter(
        (DEFAULT_MODEL,), 'Aircraft, which determines the model and the gains of its autopilot: '
        'one for all, or one for each.')
    spacing: float = parameter(
        100.0, 'Metres between two that start abreast, five in a row, and between rows, each of '
        'which is above the one before.', low=20.0, high=10000.0)
    speed: float = parameter(
        1.0, 'Real-time factor of the simulated aircraft.', low=0.01, high=100.0)
    lockstep: bool = parameter(
        False, 'Advance a frame when each aircraft has been commanded for it, as fast as '
        'possible; implies engage.')
    autopilot: bool = parameter(True, 'Start an autopilot_node for each.')
    processes: str = parameter(
        ONE, 'The autopilots of all are nodes of one process, and so are their sensors; or each '
        'has a process of its own.', choices=(ONE, EACH))
    engage: bool = parameter(False, 'The autopilots engage as soon as telemetry arrives.')
    publish_tf: bool = parameter(
        True, 'Publish map to uav<n>/odom to uav<n>/base_link, one tree, if tf2 is installed.')
    rviz: bool = parameter(False, 'Start RViz, and a view_node for each.')
    record: bool = parameter(
        False, 'Record the topics of all: by rosbag2 if installed, otherwise by record.')
    bag: str = parameter(
        '', 'File (of rosbag2: folder) to record to, which must not exist. Empty: the namespace, '
        'or fleet, with date and time.')


@dataclass(frozen=True)
class NodeSpec:
    """A node to start, below the namespace of the fleet: its parameters override a file's."""

    executable: str
    namespace: str
    parameters: Given
    defaults: Given = field(default_factory=dict)
    remappings: Mapping[str, str] = field(default_factory=dict)


def fleet(given: Given) -> list[NodeSpec]:
    """
    Return the nodes of a fleet, by FleetArguments (and ``sensors``) that are given.

    Raises ValueError, naming the argument, for combinations that are not possible.
    """
    value: dict[str, Any] = {item.name: item.default for item in fields(FleetArguments)}
    value |= given
    _check(value, given)
    count, lockstep = value['count'], value['lockstep']
    names = default_namespaces(count)
    models = value['aircraft'] * (count if len(value['aircraft']) == 1 else 1)
    try:
        for model in models:
            read_parameters(model)
    except ValueError as error:
        raise ValueError(f'launch argument aircraft: {error}') from None
    # Who publishes the topics has the only clock; all others follow it.
    alike = {'use_sim_time': True}
    sensors = given.get('sensors', '')
    moved = {f'{name}/{topic}': f'{name}/{truth}' for name in names
             for topic, truth in moved_truth(sensors).items()}
    topics = {
        'namespaces': names, **({'publish_tf': True, 'map_frame': MAP_FRAME}
                                if value['publish_tf'] else {'publish_tf': False})}
    simulated = {
        'model': models[0], 'fleet': models[1:], 'namespaces': names, 'lockstep': lockstep,
        **({'speed': value['speed']} if 'speed' in given else {}), 'fleet_places': tuple(
            number for place in grid(count, value['spacing'])[1:] for number in place), **alike}
    wanted = []
    if value['sim'] == DIRECT:
        wanted.append(NodeSpec('simulator_node', '', {
            **simulated, **topics, 'telemetry': DIRECT, 'publish_clock': True,
            # The simulation waits for commands; the watchdog does not, and would command instead.
            **({'command_timeout': 0.0} if lockstep else {})}, remappings=moved))
    else:
        port = value['port'] or SIMULATORS[_XPC].port
        if not value['host']:
            wanted.append(NodeSpec('simulator_node', '', {
                **simulated, 'sim': _XPC, 'port': port, 'publish_clock': False}))
        bridge, rates = _bridge(value, port)
        wanted.append(NodeSpec('xpc_node', '', {**bridge, **topics, **alike}, rates, moved))
    wanted += _flying(value, given, names, models)
    if value['rviz']:
        wanted += [NodeSpec('view_node', name, {
            'frame_prefix': f'{name}/', 'publish_odom_tf': False, **alike}) for name in names]
    return wanted


def _flying(
    value: Given, given: Given, names: Sequence[str], models: Sequence[str]
) -> list[NodeSpec]:
    """Return the sensors and the autopilots, in one process or in one for each."""
    lockstep, sensors = value['lockstep'], given.get('sensors', '')
    alike = {'lockstep': lockstep, 'use_sim_time': True}
    autopilot = {
        **alike, **({'behind_sensors': True} if sensors else {}),
        **({'engage': value['engage'] or lockstep} if 'engage' in given or lockstep else {}),
        # So that the recorder misses no frame.
        **({'wait_for_recorder': True} if lockstep and value['record'] else {})}
    # Namespace and random seed of a process, and the parameters of its autopilots. Equal seeds
    # would give equal errors: in one process each has the next one.
    processes: list[tuple[str, Given, Given, Given]] = [
        ('', {}, {'namespaces': names}, {'gains_of': models})]
    if value['processes'] == EACH:
        processes = [(name, {'seed': number}, {}, {'gains_of': (model,)})
                     for number, (name, model) in enumerate(zip(names, models, strict=True))]
    wanted = []
    for namespace, seed, together, gains in processes:
        if sensors:
            wanted.append(NodeSpec('sensors_node', namespace, {
                'sensors': sensors, **alike, **together}, seed))
        if value['autopilot']:
            wanted.append(NodeSpec('autopilot_node', namespace, {
                **autopilot, **together, **gains}))
    return wanted


def seen_in_rviz(one: str, vehicles: Mapping[str, str]) -> str:
    """
    Return a configuration of RViz for several vehicles: their names by their namespaces.

    ``one`` is that for a vehicle in the namespace ``/experiment``.
    """
    content = plain_yaml.load(one)
    shown = content['Visualization Manager']
    common = [display for display in shown['Displays'] if _EXPERIMENT not in str(display)]
    each = [display for display in shown['Displays'] if _EXPERIMENT in str(display)]
    shown['Displays'] = common + [
        plain_yaml.load(yaml.safe_dump(display).replace(_EXPERIMENT, f'{namespace}/')) | {
            'Name': f'{display["Name"]}, {name}'}
        for namespace, name in vehicles.items() for display in each]
    shown['Global Options']['Fixed Frame'] = MAP_FRAME
    followed = shown['Views']['Current']
    followed['Target Frame'] = f'{next(iter(vehicles.values()))}/{followed["Target Frame"]}'
    return yaml.safe_dump(content, sort_keys=False)


def grid(count: int, spacing: float) -> list[tuple[float, float, float]]:
    """
    Return where so many aircraft start: metres forward, right and up of the first.

    Five are abreast; each row is behind and above the one before. So no two have one track at one
    height: none reaches another, however fast it flies.
    """
    places = []
    for number in range(count):
        row, column = divmod(number, _ABREAST)
        right = spacing * ((column + 1) // 2) * (1 if column % 2 else -1)
        places.append((-row * spacing, right, row * spacing * _ABOVE))
    return places


def _bridge(value: Given, port: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters of xpc_node, and those that a file may change."""
    count, speed, lockstep = value['count'], value['speed'], value['lockstep']
    given = bridge_parameters(
        SIMULATORS[_XPC], value['host'] or _LOOPBACK, port, speed, True, lockstep, DATA_PORT,
        _RATE)
    given |= {'aircraft': tuple(range(count)), 'derive': True}
    rates: dict[str, Any] = {}
    if not lockstep:
        rates = {name: given.pop(name) for name in ('rate', 'max_datagrams_per_second')}
        requests = 2 + -(-(count - 1) // _TO_A_REQUEST)
        rates['max_datagrams_per_second'] = max(
            rates['max_datagrams_per_second'], _SPARE * rates['rate'] * (requests + count))
    return given, rates


def _check(value: Given, given: Given) -> None:
    """Raise ValueError with a reason for combinations that are not possible."""
    if len(value['aircraft']) not in (1, value['count']):
        raise ValueError(
            f"launch argument aircraft: expected one for all or {value['count']}, one for each, "
            f"got {len(value['aircraft'])}")
    if value['host'] and value['sim'] == DIRECT:
        raise ValueError('launch argument host: a real X-Plane is flown with sim:=xpc')
    if value['host'] and (value['speed'] != 1.0 or value['lockstep']):
        raise ValueError(
            'launch arguments speed and lockstep need a simulator of this package: omit host')
    if not value.get('use_sim_time', True):
        raise ValueError(
            'launch argument use_sim_time: a fleet has one clock, that of its simulator; omit it')
    if value['port'] and value['sim'] == DIRECT:
        raise ValueError(
            f'launch argument port: with sim:={DIRECT} there is no wire; omit it, or choose '
            f'sim:={_XPC}')
    if 'spacing' in given and value['host']:
        raise ValueError(
            'launch argument spacing: a real X-Plane places its own aircraft; omit it')
    if value['rviz'] and not value['publish_tf']:
        raise ValueError(
            f'launch argument rviz: it draws in the frame {MAP_FRAME}; omit publish_tf:=false')
    check_vehicles(
        given, value['autopilot'], value['lockstep'], flies_it=not value['host'])
