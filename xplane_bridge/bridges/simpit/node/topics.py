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

"""Topics of simpit_node for each telemetry channel: the topic, the message, its fields."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
import math
from operator import attrgetter
from typing import Any

from rclpy.qos import QoSProfile
from sensor_msgs.msg import Imu
from std_msgs.msg import Bool, String, UInt8

from xplane_bridge.bridges.nodes.common.latched import LATCHED
from xplane_bridge.bridges.simpit import conversion as conversions
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.protocol import FlightFlags, GroupState, SimpitMessage
from xplane_bridge.common.controls import CONTROLS
from xplane_bridge.common.units import DEGREE, STANDARD_GRAVITY
from xplane_bridge.msg import (
    AirData,
    FlightControls,
    SimpitActionStatus,
    SimpitAirspeed,
    SimpitAltitude,
    SimpitApsides,
    SimpitAtmosphere,
    SimpitAttitude,
    SimpitAxes,
    SimpitFlightStatus,
    SimpitIntersects,
    SimpitManoeuvre,
    SimpitOrbit,
    SimpitPacket,
    SimpitResources,
    SimpitSas,
    SimpitStages,
    SimpitTarget,
    SimpitTemperatureLimits,
    SimpitVelocities,
)

_PERCENT = 0.01
# Conversion factors for the units at the end of wire field names; others stay the same.
_FACTORS = {'deg': DEGREE, 'pct': _PERCENT}
# Resources arrive one per channel, or several at a time.
_DEPTH = 50
_UNKNOWN = (-1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

Fill = Callable[[Any, Any], None]
"""Converts a protocol message to a ROS message; ValueError if it is meaningless."""


def _fill_nothing(message: SimpitMessage, out: Any) -> None:
    pass


@dataclass(frozen=True, slots=True)
class MessageTopic:
    """A topic fed by one kind of message."""

    name: str
    kind: type
    fill: Fill = _fill_nothing
    qos: QoSProfile | int = 10


class Copied:
    """
    Copies fields, by ROS and wire names, converting to ROS units.

    Fields that older plugins do not send become NaN.
    """

    def __init__(self, sources: Mapping[str, str]) -> None:
        self.sources = sources
        self._read = [
            (attrgetter(source), _FACTORS.get(source.rpartition('_')[2]))
            for source in sources.values()]

    def values(self, message: SimpitMessage) -> list[Any]:
        """Return the values of the fields in ROS units, in order."""
        values = []
        for read, factor in self._read:
            value = read(message)
            if factor is not None:
                value = math.nan if value is None else value * factor
            values.append(value)
        return values

    def __call__(self, message: SimpitMessage, out: Any) -> None:
        """Copy them into a message."""
        for name, value in zip(self.sources, self.values(message), strict=True):
            setattr(out, name, value)

    def in_order_of(self, kind: Any) -> Copied:
        """Return the same, in the order of the fields of a message."""
        return Copied({
            name: self.sources[name] for name in kind.get_fields_and_field_types()
            if name in self.sources})


def _fields(**sources: str) -> Copied:
    return Copied(sources)


def _airspeed(message: simpit.Airspeed, out: SimpitAirspeed) -> None:
    out.indicated = message.ias_mps
    out.mach = message.mach
    out.load = math.nan if message.g_force is None else message.g_force * STANDARD_GRAVITY


def _apsides_time(message: simpit.ApsidesTime, out: SimpitApsides) -> None:
    out.periapsis = conversions.seconds(message.periapsis_s)
    out.apoapsis = conversions.seconds(message.apoapsis_s)


def _intersects(message: simpit.Intersects, out: SimpitIntersects) -> None:
    for place, (time, distance, speed) in (
        ('first', (message.time_1_s, message.distance_1_m, message.speed_1_mps)),
        ('second', (message.time_2_s, message.distance_2_m, message.speed_2_mps)),
    ):
        exists = time >= 0 and distance >= 0.0
        setattr(out, f'{place}_time', float(time) if exists else math.nan)
        setattr(out, f'{place}_distance', distance if exists else math.nan)
        setattr(out, f'{place}_speed', speed if exists else math.nan)


def _resources(
    out: SimpitResources, names: Iterable[str], available: Iterable[float],
    maximum: Iterable[float],
) -> None:
    out.names = list(names)
    out.available = array('d', available)
    out.maximum = array('d', maximum)


def _resource(message: simpit.Resource, out: SimpitResources) -> None:
    _resources(out, (message.resource,), (message.available,), (message.maximum,))


def _tac(*names: str) -> Fill:
    def fill(message: simpit.TacResources | simpit.TacWaste, out: SimpitResources) -> None:
        _resources(
            out, names, (getattr(message, name) for name in names),
            (getattr(message, f'{name}_maximum') for name in names))

    return fill


def _custom_resources(message: simpit.CustomResources, out: SimpitResources) -> None:
    first = 4 * message.bank - 3
    _resources(
        out, (f'custom_{number}' for number in range(first, first + 4)),
        message.values[::2], message.values[1::2])


def _action_status(message: simpit.ActionStatus, out: SimpitActionStatus) -> None:
    out.active = array('B', conversions.groups_in(message.action_bits))


def _custom_status(message: simpit.CustomActionGroupStatus, out: SimpitActionStatus) -> None:
    out.active = array('B', message.active)


def _advanced_status(message: simpit.AdvancedActionStatus, out: SimpitActionStatus) -> None:
    # Custom groups count from 1.
    states = list(enumerate(message.states))[message.custom:]
    for name, wanted in (
        ('active', GroupState.ON), ('mixed', GroupState.MIXED),
        ('unavailable', GroupState.UNAVAILABLE),
    ):
        setattr(out, name, array('B', [number for number, state in states if state == wanted]))


def _sas(message: simpit.SasInfo, out: SimpitSas) -> None:
    out.fields = SimpitSas.MODE | SimpitSas.AVAILABLE
    out.mode = message.mode
    out.available = array('B', conversions.groups_in(message.available))


def _flight_status(message: simpit.FlightStatus, out: SimpitFlightStatus) -> None:
    flags = FlightFlags(message.flags)
    for flag in (
        FlightFlags.IN_FLIGHT, FlightFlags.EVA, FlightFlags.RECOVERABLE,
        FlightFlags.PHYSICAL_WARP, FlightFlags.HAS_TARGET,
    ):
        setattr(out, str(flag.name).lower(), flag in flags)
    for name in ('control_level', 'situation', 'warp_index', 'crew_capacity', 'crew'):
        setattr(out, name, getattr(message, name))
    out.signal = message.comm_pct * _PERCENT
    out.stage = -1 if message.stage is None else message.stage
    out.vessel_type = -1 if message.vessel_type is None else message.vessel_type


def _atmosphere(message: simpit.Atmosphere, out: SimpitAtmosphere) -> None:
    flags = simpit.AtmosphereFlags(message.flags)
    out.has_atmosphere = simpit.AtmosphereFlags.HAS_ATMOSPHERE in flags
    out.has_oxygen = simpit.AtmosphereFlags.HAS_OXYGEN in flags
    out.inside = simpit.AtmosphereFlags.VESSEL_INSIDE in flags
    out.pressure, out.temperature, out.density = conversions.air(message)


def _attitude(message: simpit.Attitude, out: SimpitAttitude) -> None:
    out.true_heading, out.pitch, out.roll = conversions.attitude(message)
    out.orbital_true_heading = message.orbital_vel_heading * DEGREE
    out.orbital_pitch = message.orbital_vel_pitch * DEGREE
    out.surface_true_heading = message.surface_vel_heading * DEGREE
    out.surface_pitch = message.surface_vel_pitch * DEGREE


def _imu(message: simpit.Attitude, out: Imu) -> None:
    quaternion = conversions.orientation(message)
    if quaternion is None:
        raise ValueError('the attitude is impossible')
    target = out.orientation
    target.w, target.x, target.y, target.z = quaternion
    out.angular_velocity_covariance = out.linear_acceleration_covariance = _UNKNOWN


_ACTION_GROUPS = 'action_groups'
_CUSTOM_GROUPS = 'custom_action_groups'

IN_FLIGHT = MessageTopic('in_flight', Bool, qos=LATCHED)
PACKETS = MessageTopic('packets', SimpitPacket, qos=_DEPTH)

TOPICS: dict[type[SimpitMessage], tuple[MessageTopic, ...]] = {
    simpit.Altitude: (MessageTopic(
        'altitude', SimpitAltitude, _fields(sea_level='sea_level_m', surface='surface_m')),),
    simpit.Velocities: (MessageTopic('velocities', SimpitVelocities, _fields(
        orbital='orbital_mps', surface='surface_mps', vertical='vertical_mps')),),
    simpit.Airspeed: (MessageTopic('airspeed', SimpitAirspeed, _airspeed),),
    simpit.Apsides: (MessageTopic('apsides', SimpitApsides, _fields(
        periapsis='periapsis_m', apoapsis='apoapsis_m')),),
    simpit.ApsidesTime: (MessageTopic('apsides_time', SimpitApsides, _apsides_time),),
    simpit.Orbit: (MessageTopic('orbit', SimpitOrbit, _fields(
        eccentricity='eccentricity', semi_major_axis='semi_major_m', inclination='inclination_deg',
        longitude_of_ascending_node='lan_deg', argument_of_periapsis='arg_pe_deg',
        true_anomaly='true_anomaly', mean_anomaly='mean_anomaly', period='period_s')),),
    simpit.TargetInfo: (MessageTopic('target', SimpitTarget, _fields(
        distance='distance_m', speed='speed_mps', true_heading='heading_deg', pitch='pitch_deg',
        velocity_true_heading='velocity_heading_deg', velocity_pitch='velocity_pitch_deg')),),
    simpit.Intersects: (MessageTopic('intersects', SimpitIntersects, _intersects),),
    simpit.ManoeuvreInfo: (MessageTopic('manoeuvre', SimpitManoeuvre, _fields(
        time='time_to_next_s', delta_v='dv_next_mps', duration='duration_next_s',
        total='dv_total_mps', true_heading='heading_deg', pitch='pitch_deg')),),
    simpit.Resource: (MessageTopic('resources', SimpitResources, _resource, _DEPTH),),
    simpit.TacResources: (MessageTopic(
        'resources', SimpitResources, _tac('food', 'water', 'oxygen'), _DEPTH),),
    simpit.TacWaste: (MessageTopic(
        'resources', SimpitResources, _tac('waste', 'liquid_waste', 'carbon_dioxide'), _DEPTH),),
    simpit.CustomResources: (
        MessageTopic('resources', SimpitResources, _custom_resources, _DEPTH),),
    simpit.ActionStatus: (
        MessageTopic(_ACTION_GROUPS, SimpitActionStatus, _action_status, LATCHED),),
    simpit.CustomActionGroupStatus: (
        MessageTopic(_CUSTOM_GROUPS, SimpitActionStatus, _custom_status, LATCHED),),
    simpit.SasInfo: (MessageTopic('sas', SimpitSas, _sas, LATCHED),),
    simpit.DeltaV: (MessageTopic(
        'delta_v', SimpitStages, _fields(stage='stage_dv_mps', total='total_dv_mps')),),
    simpit.DeltaVEnvironment: (
        MessageTopic('delta_v/sea_level', SimpitStages, _fields(
            stage='stage_dv_asl', total='total_dv_asl')),
        MessageTopic('delta_v/vacuum', SimpitStages, _fields(
            stage='stage_dv_vac', total='total_dv_vac'))),
    simpit.BurnTime: (MessageTopic(
        'burn_time', SimpitStages, _fields(stage='stage_burn_s', total='total_burn_s')),),
    simpit.Temperature: (MessageTopic(
        'temperature_limits', SimpitTemperatureLimits,
        _fields(part='temp_pct', skin='skin_temp_pct')),),
    simpit.FlightStatus: (
        MessageTopic('flight_status', SimpitFlightStatus, _flight_status, LATCHED),),
    simpit.Atmosphere: (MessageTopic('atmosphere', SimpitAtmosphere, _atmosphere, LATCHED),),
    simpit.Attitude: (
        MessageTopic('attitude', SimpitAttitude, _attitude), MessageTopic('imu/data', Imu, _imu)),
    simpit.SceneChange: (IN_FLIGHT,),
    simpit.SphereOfInfluence: (
        MessageTopic('sphere_of_influence', String, _fields(data='text'), LATCHED),),
    simpit.VesselName: (MessageTopic('vessel_name', String, _fields(data='text'), LATCHED),),
    simpit.VesselChange: (MessageTopic('vessel_change', UInt8, _fields(data='change')),),
}

_ADVANCED = {
    custom: MessageTopic(name, SimpitActionStatus, _advanced_status, LATCHED)
    for custom, name in ((False, _ACTION_GROUPS), (True, _CUSTOM_GROUPS))}

# These need several channels.
AIR_DATA = MessageTopic('air_data', AirData)
READ_BACK = MessageTopic('controls', FlightControls, qos=LATCHED)
AXES = MessageTopic('axes', SimpitAxes, qos=LATCHED)
JOINED = {
    simpit.Airspeed: AIR_DATA,
    simpit.Rotation: READ_BACK,
    simpit.Throttle: READ_BACK,
    simpit.Translation: AXES,
    simpit.Wheel: AXES,
}

AIR_PARTS = ('temperature', 'static_pressure')
"""What air_data says of the channel atmosphere, as standard messages."""

# The axes in force, by channel: the field in ROS, and the one on the wire.
IN_FORCE = {
    'rotation': {'elevator': 'pitch', 'aileron': 'roll', 'rudder': 'yaw'},
    'throttle': {'throttle': 'throttle'},
    'translation': {'x': 'x', 'y': 'y', 'z': 'z'},
    'wheel': {'wheel_steer': 'steer', 'wheel_throttle': 'throttle'},
}


def topics_of(kind: type[SimpitMessage], channel: str) -> tuple[MessageTopic, ...]:
    """Return the topics that a message on this channel fills alone."""
    if kind is simpit.AdvancedActionStatus:
        # KSP2.
        return (_ADVANCED[channel.startswith('advanced_custom')],)
    return TOPICS.get(kind, ())


def all_topics() -> list[str]:
    """Return the names of all topics, whatever the plugin and the requested channels."""
    topics = chain(*TOPICS.values(), _ADVANCED.values(), JOINED.values())
    return sorted({*(topic.name for topic in topics), *AIR_PARTS})


def withdrawn() -> dict[str, dict[str, Any]]:
    """Return the latched messages while there is no vessel: nothing is on, or known."""
    nothing: dict[str, list[int]] = {'active': [], 'mixed': [], 'unavailable': []}
    return {
        _ACTION_GROUPS: nothing,
        _CUSTOM_GROUPS: nothing,
        'sas': {'fields': 0, 'mode': SimpitSas.OFF, 'available': []},
        'flight_status': {
            **dict.fromkeys((
                'in_flight', 'eva', 'recoverable', 'physical_warp', 'has_target'), False),
            **dict.fromkeys((
                'control_level', 'situation', 'warp_index', 'crew_capacity', 'crew'), 0),
            'signal': math.nan, 'stage': -1, 'vessel_type': -1},
        'atmosphere': {
            'has_atmosphere': False, 'has_oxygen': False, 'inside': False,
            **dict.fromkeys(('density', 'temperature', 'pressure'), math.nan)},
        IN_FLIGHT.name: {'data': False},
        'sphere_of_influence': {'data': ''},
        'vessel_name': {'data': ''},
        READ_BACK.name: {'fields': 0, **dict.fromkeys(CONTROLS, math.nan)},
        AXES.name: {'fields': 0, **dict.fromkeys((
            'x', 'y', 'z', 'wheel_steer', 'wheel_throttle', 'custom_1', 'custom_2', 'custom_3',
            'custom_4'), math.nan)},
    }
