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

"""What simpit_node publishes: the topic and the message of each telemetry channel."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass
import math
from typing import Any

from rclpy.qos import QoSProfile
from sensor_msgs.msg import Imu
from std_msgs.msg import Bool, String, UInt8

from xplane_bridge.conversions import simpit as conversions
from xplane_bridge.conversions.plausibility import attitude_fault
from xplane_bridge.conversions.units import DEGREE, STANDARD_GRAVITY
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
    SimpitManoeuvre,
    SimpitOrbit,
    SimpitPacket,
    SimpitResources,
    SimpitSas,
    SimpitStages,
    SimpitTarget,
    SimpitTemperature,
    SimpitVelocities,
)
from xplane_bridge.nodes.base import BridgeNode
from xplane_bridge.nodes.plausibility import make_gate
from xplane_bridge.nodes.simpit_commands import AXES_MASK
from xplane_bridge.nodes.vehicle import CONTROLS_MASK, LATCHED
from xplane_bridge.protocols import simpit
from xplane_bridge.protocols.simpit import FlightFlags, GroupState, Message, Profile
from xplane_bridge.sessions.simpit import registrable, Telemetry

_PERCENT = 0.01
# Resources come one a channel, and several at a time.
_DEPTH = 50
_UNKNOWN = (-1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class _Topic:
    """
    A topic that one kind of message feeds.

    fill(message, out) puts a message of the protocol into one of ROS.
    """

    name: str
    kind: type
    fill: Callable[[Any, Any], None]
    qos: QoSProfile | int = 10


def _degrees(value: float | None) -> float:
    """Return degrees in radians, NaN for what older plugins do not send."""
    return math.nan if value is None else value * DEGREE


def _altitude(message: simpit.Altitude, out: SimpitAltitude) -> None:
    out.sea_level = message.sea_level_m
    out.surface = message.surface_m


def _velocities(message: simpit.Velocities, out: SimpitVelocities) -> None:
    out.orbital = message.orbital_mps
    out.surface = message.surface_mps
    out.vertical = message.vertical_mps


def _airspeed(message: simpit.Airspeed, out: SimpitAirspeed) -> None:
    out.indicated = message.ias_mps
    out.mach = message.mach
    out.load = math.nan if message.g_force is None else message.g_force * STANDARD_GRAVITY


def _apsides(message: simpit.Apsides, out: SimpitApsides) -> None:
    out.periapsis = message.periapsis_m
    out.apoapsis = message.apoapsis_m


def _apsides_time(message: simpit.ApsidesTime, out: SimpitApsides) -> None:
    out.periapsis = conversions.seconds(message.periapsis_s)
    out.apoapsis = conversions.seconds(message.apoapsis_s)


def _orbit(message: simpit.Orbit, out: SimpitOrbit) -> None:
    out.eccentricity = message.eccentricity
    out.semi_major_axis = message.semi_major_m
    out.inclination = message.inclination_deg * DEGREE
    out.longitude_of_ascending_node = message.lan_deg * DEGREE
    out.argument_of_periapsis = message.arg_pe_deg * DEGREE
    out.true_anomaly = message.true_anomaly
    out.mean_anomaly = message.mean_anomaly
    out.period = message.period_s


def _target(message: simpit.Target, out: SimpitTarget) -> None:
    out.distance = message.distance_m
    out.speed = message.speed_mps
    out.true_heading = _degrees(message.heading_deg)
    out.pitch = _degrees(message.pitch_deg)
    out.velocity_true_heading = _degrees(message.velocity_heading_deg)
    out.velocity_pitch = _degrees(message.velocity_pitch_deg)


def _manoeuvre(message: simpit.Manoeuvre, out: SimpitManoeuvre) -> None:
    out.time = message.time_to_next_s
    out.delta_v = message.dv_next_mps
    out.duration = message.duration_next_s
    out.total = message.dv_total_mps
    out.true_heading = _degrees(message.heading_deg)
    out.pitch = _degrees(message.pitch_deg)


def _resources(
    out: SimpitResources, names: Iterable[str], available: Iterable[float],
    maximum: Iterable[float],
) -> None:
    out.names = list(names)
    out.available = array('d', available)
    out.maximum = array('d', maximum)


def _resource(message: simpit.Resource, out: SimpitResources) -> None:
    _resources(out, (message.resource,), (message.available,), (message.maximum,))


def _tac_resources(message: simpit.TacResources, out: SimpitResources) -> None:
    _resources(
        out, ('food', 'water', 'oxygen'), (message.food, message.water, message.oxygen),
        (message.food_maximum, message.water_maximum, message.oxygen_maximum))


def _tac_waste(message: simpit.TacWaste, out: SimpitResources) -> None:
    _resources(
        out, ('waste', 'liquid_waste', 'carbon_dioxide'),
        (message.waste, message.liquid_waste, message.carbon_dioxide),
        (message.waste_maximum, message.liquid_waste_maximum, message.carbon_dioxide_maximum))


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


def _delta_v(message: simpit.DeltaV, out: SimpitStages) -> None:
    out.stage, out.total = message.stage_dv_mps, message.total_dv_mps


def _delta_v_sea_level(message: simpit.DeltaVEnvironment, out: SimpitStages) -> None:
    out.stage, out.total = message.stage_dv_asl, message.total_dv_asl


def _delta_v_vacuum(message: simpit.DeltaVEnvironment, out: SimpitStages) -> None:
    out.stage, out.total = message.stage_dv_vac, message.total_dv_vac


def _burn_time(message: simpit.BurnTime, out: SimpitStages) -> None:
    out.stage, out.total = message.stage_burn_s, message.total_burn_s


def _temperature(message: simpit.Temperature, out: SimpitTemperature) -> None:
    out.part = message.temp_pct * _PERCENT
    out.skin = message.skin_temp_pct * _PERCENT


def _flight_status(message: simpit.FlightStatus, out: SimpitFlightStatus) -> None:
    flags = FlightFlags(message.flags)
    out.in_flight = FlightFlags.IN_FLIGHT in flags
    out.eva = FlightFlags.EVA in flags
    out.recoverable = FlightFlags.RECOVERABLE in flags
    out.physical_warp = FlightFlags.PHYSICAL_WARP in flags
    out.has_target = FlightFlags.HAS_TARGET in flags
    out.control_level = message.control_level
    out.situation = message.situation
    out.warp_index = message.warp_index
    out.crew_capacity = message.crew_capacity
    out.crew = message.crew
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


def _text(message: simpit.SphereOfInfluence | simpit.VesselName, out: String) -> None:
    out.data = message.text


def _vessel_change(message: simpit.VesselChange, out: UInt8) -> None:
    out.data = message.change


def _imu(message: simpit.Attitude, out: Imu) -> None:
    quaternion = conversions.orientation(message)
    if quaternion is None:
        raise ValueError('the attitude is impossible')
    target = out.orientation
    target.w, target.x, target.y, target.z = quaternion
    out.angular_velocity_covariance = out.linear_acceleration_covariance = _UNKNOWN


_ACTION_GROUPS = 'action_groups'
_CUSTOM_GROUPS = 'custom_action_groups'

_IN_FLIGHT = _Topic('in_flight', Bool, lambda *_: None, LATCHED)

_TOPICS: dict[type[Message], tuple[_Topic, ...]] = {
    simpit.Altitude: (_Topic('altitude', SimpitAltitude, _altitude),),
    simpit.Velocities: (_Topic('velocities', SimpitVelocities, _velocities),),
    simpit.Airspeed: (_Topic('airspeed', SimpitAirspeed, _airspeed),),
    simpit.Apsides: (_Topic('apsides', SimpitApsides, _apsides),),
    simpit.ApsidesTime: (_Topic('apsides_time', SimpitApsides, _apsides_time),),
    simpit.Orbit: (_Topic('orbit', SimpitOrbit, _orbit),),
    simpit.Target: (_Topic('target', SimpitTarget, _target),),
    simpit.Manoeuvre: (_Topic('manoeuvre', SimpitManoeuvre, _manoeuvre),),
    simpit.Resource: (_Topic('resources', SimpitResources, _resource, _DEPTH),),
    simpit.TacResources: (_Topic('resources', SimpitResources, _tac_resources, _DEPTH),),
    simpit.TacWaste: (_Topic('resources', SimpitResources, _tac_waste, _DEPTH),),
    simpit.CustomResources: (_Topic('resources', SimpitResources, _custom_resources, _DEPTH),),
    simpit.ActionStatus: (
        _Topic(_ACTION_GROUPS, SimpitActionStatus, _action_status, LATCHED),),
    simpit.CustomActionGroupStatus: (
        _Topic(_CUSTOM_GROUPS, SimpitActionStatus, _custom_status, LATCHED),),
    simpit.SasInfo: (_Topic('sas', SimpitSas, _sas, LATCHED),),
    simpit.DeltaV: (_Topic('delta_v', SimpitStages, _delta_v),),
    simpit.DeltaVEnvironment: (
        _Topic('delta_v/sea_level', SimpitStages, _delta_v_sea_level),
        _Topic('delta_v/vacuum', SimpitStages, _delta_v_vacuum)),
    simpit.BurnTime: (_Topic('burn_time', SimpitStages, _burn_time),),
    simpit.Temperature: (_Topic('temperature', SimpitTemperature, _temperature),),
    simpit.FlightStatus: (_Topic('flight_status', SimpitFlightStatus, _flight_status, LATCHED),),
    simpit.Atmosphere: (_Topic('atmosphere', SimpitAtmosphere, _atmosphere, LATCHED),),
    simpit.Attitude: (
        _Topic('attitude', SimpitAttitude, _attitude), _Topic('imu/data', Imu, _imu)),
    simpit.SceneChange: (_IN_FLIGHT,),
    simpit.SphereOfInfluence: (_Topic('sphere_of_influence', String, _text, LATCHED),),
    simpit.VesselName: (_Topic('vessel_name', String, _text, LATCHED),),
    simpit.VesselChange: (_Topic('vessel_change', UInt8, _vessel_change),),
}
# KSP2's action groups; which of the two topics depends on the message.
_ADVANCED = {
    custom: _Topic(name, SimpitActionStatus, _advanced_status, LATCHED)
    for custom, name in ((False, _ACTION_GROUPS), (True, _CUSTOM_GROUPS))}

_AIR_DATA = _Topic('air_data', AirData, lambda message, out: None)
_CONTROLS = _Topic('controls', FlightControls, lambda message, out: None, LATCHED)
_AXES = _Topic('axes', SimpitAxes, lambda message, out: None, LATCHED)
# What is joined from several channels, of which all but the first are sent when they change, so
# that their last value is the present one.
_JOINED = {
    simpit.Airspeed: _AIR_DATA,
    simpit.Rotation: _CONTROLS,
    simpit.Throttle: _CONTROLS,
    simpit.Translation: _AXES,
    simpit.Wheel: _AXES,
}



def _withdrawn() -> dict[str, dict[str, Any]]:
    """Return what latched topics say while there is no vessel: nothing is on, or known."""
    nothing = {'active': [], 'mixed': [], 'unavailable': []}
    unknown = {'fields': 0, **dict.fromkeys(
        ('elevator', 'aileron', 'rudder', 'throttle', 'flaps', 'gear', 'speedbrake'), math.nan)}
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
        'in_flight': {'data': False},
        'sphere_of_influence': {'data': ''},
        'vessel_name': {'data': ''},
        'controls': unknown,
        'axes': {'fields': 0, **dict.fromkeys((
            'x', 'y', 'z', 'wheel_steer', 'wheel_throttle', 'custom_1', 'custom_2', 'custom_3',
            'custom_4'), math.nan)},
    }


class SimpitTelemetry:
    """Publishers of one simpit_node, in ``frame``, for the channels that are asked for."""

    def __init__(self, node: BridgeNode, frame: str) -> None:
        self._node = node
        self._frame = frame
        self._outputs: dict[str, tuple[Any, Any]] = {}
        self._packets = self._output(_Topic('packets', SimpitPacket, lambda *_: None, _DEPTH))
        self.plausibility = make_gate(node)
        self._said: set[str] = set()
        self.reset()

    def reset(self) -> None:
        """Forget what a plugin said: it is gone, or another one."""
        self._air: simpit.Atmosphere | None = None
        self._controls = dict.fromkeys(('elevator', 'aileron', 'rudder', 'throttle'), math.nan)
        self._axes = dict.fromkeys(('x', 'y', 'z', 'wheel_steer', 'wheel_throttle'), math.nan)
        self._held: dict[str, Telemetry] = {}

    def offer(self, names: Iterable[str | int], profiles: Iterable[Profile]) -> None:
        """Make the publishers for these channels, as far as these profiles have them."""
        wanted = set(names)
        for profile in profiles:
            for row in registrable(profile):
                if row.name not in wanted:
                    continue
                for topic in _TOPICS.get(row.message, ()):
                    self._output(topic)
                if row.message in _JOINED:
                    self._output(_JOINED[row.message])
                if row.message is simpit.AdvancedActionStatus:
                    self._output(_ADVANCED[row.name.startswith('advanced_custom')])

    def publish(self, event: Telemetry, stamp_ns: int | None) -> None:
        """
        Publish one packet as what it means, and raw.

        While there is no ``stamp_ns`` the last packet of each channel waits for one: much is sent
        only when it changes.
        """
        key = event.name or str(event.packet and event.packet.channel)
        if stamp_ns is None:
            self._held[key] = event
            return
        if self._held:
            self._held.pop(key, None)
            held, self._held = self._held, {}
            for earlier in held.values():
                self._publish_packet(earlier, stamp_ns)
        self._publish_packet(event, stamp_ns)

    def tell_flight(self, stamp_ns: int | None) -> None:
        """Say that the game is in the flight scene."""
        if stamp_ns is not None and _IN_FLIGHT.name in self._outputs:
            self._tell_flight(True)

    def withdraw(self, stamp_ns: int | None) -> None:
        """Take back what latched topics have said of a vessel that is not there any more."""
        self.reset()
        said, self._said = self._said, set()
        if stamp_ns is None:
            return
        for name, fields in _withdrawn().items():
            if name in said:
                publisher, out = self._outputs[name]
                for field, value in fields.items():
                    setattr(out, field, value)
                _stamp(out, stamp_ns)
                publisher.publish(out)

    def _publish_packet(self, event: Telemetry, stamp_ns: int) -> None:
        if event.message is not None:
            self._publish_meaning(event.message, stamp_ns)
        if event.packet is None:
            return
        publisher, out = self._packets
        _stamp(out, stamp_ns)
        out.channel = event.packet.channel
        out.payload = array('B', event.packet.payload)
        publisher.publish(out)

    def _publish_meaning(self, message: Message, stamp_ns: int) -> None:
        if isinstance(message, simpit.Attitude):
            for fault in attitude_fault((message.heading, message.pitch, message.roll)):
                self.plausibility.withhold(*fault)
        if isinstance(message, simpit.SceneChange):
            if _IN_FLIGHT.name in self._outputs:
                self._tell_flight(message.scene == 0)
            return
        for topic in _TOPICS.get(type(message), ()):
            self._publish(topic, message, stamp_ns)
        if isinstance(message, simpit.AdvancedActionStatus):
            self._publish(_ADVANCED[message.custom], message, stamp_ns)
        elif isinstance(message, simpit.Atmosphere):
            self._air = message
        elif isinstance(message, simpit.Airspeed):
            self._publish_air(message, stamp_ns)
        elif type(message) in _JOINED:
            self._publish_axes(message, stamp_ns)

    def _output(self, topic: _Topic) -> tuple[Any, Any]:
        """Return the publisher of a topic and its one message; make them if need be."""
        output = self._outputs.get(topic.name)
        if output is None:
            publisher = self._node.make_publisher(topic.kind, topic.name, topic.qos)
            if self._node.active:
                # Made while the node is active, it missed the activation.
                publisher.on_activate(None)
            message = topic.kind()
            if hasattr(message, 'header'):
                message.header.frame_id = self._frame
            output = self._outputs[topic.name] = (publisher, message)
        return output

    def _publish(self, topic: _Topic, message: Message, stamp_ns: int) -> None:
        output = self._outputs.get(topic.name)
        if output is None:
            return
        publisher, out = output
        try:
            topic.fill(message, out)
        except ValueError:
            return
        _stamp(out, stamp_ns)
        self._said.add(topic.name)
        publisher.publish(out)

    def _tell_flight(self, in_flight: bool) -> None:
        publisher, out = self._outputs[_IN_FLIGHT.name]
        if _IN_FLIGHT.name not in self._said or out.data != in_flight:
            out.data = in_flight
            self._said.add(_IN_FLIGHT.name)
            publisher.publish(out)

    def _publish_air(self, message: simpit.Airspeed, stamp_ns: int) -> None:
        if _AIR_DATA.name not in self._outputs:
            return
        publisher, out = self._outputs[_AIR_DATA.name]
        out.indicated_airspeed = self.plausibility.air('indicated_airspeed', message.ias_mps)
        out.true_airspeed = out.angle_of_attack = out.sideslip = out.dynamic_pressure = math.nan
        # There are no axes of a wind that is never known.
        out.header.frame_id = ''
        out.wind.x = out.wind.y = out.wind.z = math.nan
        # NaN stays NaN there.
        air = (math.nan,) * 3 if self._air is None else conversions.air(self._air)
        for name, value in zip(('static_pressure', 'temperature', 'density'), air, strict=True):
            setattr(out, name, self.plausibility.air(name, value))
        _stamp(out, stamp_ns)
        publisher.publish(out)

    def _publish_axes(self, message: Message, stamp_ns: int) -> None:
        """Publish the axes in force, those that came now and those that came before."""
        value = conversions.axis_from_wire
        if isinstance(message, simpit.Rotation):
            self._controls |= {
                'elevator': value(message.pitch), 'aileron': value(message.roll),
                'rudder': value(message.yaw)}
        elif isinstance(message, simpit.Throttle):
            self._controls['throttle'] = value(message.throttle)
        elif isinstance(message, simpit.Translation):
            self._axes |= {
                'x': value(message.x), 'y': value(message.y), 'z': value(message.z)}
        elif isinstance(message, simpit.Wheel):
            self._axes |= {
                'wheel_steer': value(message.steer), 'wheel_throttle': value(message.throttle)}
        topic = _JOINED[type(message)]
        if topic.name not in self._outputs:
            return
        publisher, out = self._outputs[topic.name]
        if topic is _CONTROLS:
            CONTROLS_MASK.fill(out, self._controls)
        else:
            AXES_MASK.fill(out, self._axes)
        _stamp(out, stamp_ns)
        self._said.add(topic.name)
        publisher.publish(out)


def _stamp(message: Any, stamp_ns: int) -> None:
    if hasattr(message, 'header'):
        stamp = message.header.stamp
        stamp.sec, stamp.nanosec = divmod(stamp_ns, 1_000_000_000)
