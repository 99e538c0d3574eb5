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

"""simpit_node against every profile of plugin, through real pseudo-terminals."""

import math
import os
import signal
import sys
import time

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('serial', reason='pyserial is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from diagnostic_msgs.msg import DiagnosticStatus
from masked import masked
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import FluidPressure, Imu, Temperature
from serial_servers import Redirect
from simpit_peer import Plugin, RecordedPlugin
from std_msgs.msg import Bool, String, UInt8
from std_srvs.srv import Trigger
from vector_files import vectors

from harness import process
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.node import SimpitNode
from xplane_bridge.bridges.simpit.protocol import ActionGroup, ActionGroups, CustomActionGroups
from xplane_bridge.msg import (
    AirData,
    FlightControls,
    SimpitActionCommand,
    SimpitActionStatus,
    SimpitAirspeed,
    SimpitAltitude,
    SimpitApsides,
    SimpitAtmosphere,
    SimpitAttitude,
    SimpitAxes,
    SimpitCamera,
    SimpitFlightStatus,
    SimpitIntersects,
    SimpitKey,
    SimpitLog,
    SimpitManoeuvre,
    SimpitOrbit,
    SimpitPacket,
    SimpitResources,
    SimpitSas,
    SimpitStages,
    SimpitTarget,
    SimpitTemperatureLimits,
    SimpitTimeWarp,
    SimpitVelocities,
)
from xplane_bridge.simulation.peers.simpit import PluginSession
from xplane_bridge.srv import SimpitPing

NAN = math.nan
VECTORS = {
    vector['name']: vector
    for vector in vectors('simpit')}
PROFILES = ('v0', 'v1', 'v2', 'v2.2', 'v2.3', 'cobs')
PROFILE_OF_ERA = {'a': 'v0', 'b1': 'v1', 'b2': 'v2', 'c': 'cobs'}
ALTITUDE = simpit.Altitude(1234.5, 67.25)
LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
ON_AND_OFF = {
    'activate': SimpitActionCommand.ACTIVATE, 'deactivate': SimpitActionCommand.DEACTIVATE,
    'toggle': SimpitActionCommand.TOGGLE}


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / 'ksp')


@pytest.fixture
def plugin(path):
    """Return a function that plugs a plugin in; all are unplugged at the end."""
    plugged = []

    def plug(profile, make=Plugin, **options):
        plugged.append(make(path, profile, **options))
        return plugged[-1]

    yield plug
    for each in plugged:
        each.close()


def connect(ros, plugin, emulated, channels=('altitude',), **parameters):
    """Return a plugin in flight and a node that receives it."""
    plugged = plugin(emulated)
    plugged.say(ALTITUDE)
    ros.subscribe(SimpitAltitude, 'altitude')
    node = ros.start(
        SimpitNode, port=plugged.path, profile=parameters.pop('profile', emulated),
        channels=list(channels), **parameters)
    ros.next('altitude')
    return plugged, node


def values(message):
    """Return the fields of a message without its header."""
    return {
        field: list(value) if hasattr(value, '__len__') and not isinstance(value, str) else value
        for field in message.get_fields_and_field_types() if field != 'header'
        for value in (getattr(message, field),)}


# Telemetry.


@pytest.mark.parametrize(('profile', 'asked'), [
    *zip(PROFILES, PROFILES, strict=True),
    *((profile, 'auto') for profile in ('v0', 'v1', 'v2', 'cobs'))])
def test_altitude_arrives_from_each_profile(ros, plugin, profile, asked):
    before = time.time_ns()
    connect(ros, plugin, profile, base_frame='capsule', frame_prefix='vessel/',
            profile=asked)
    message = ros.next('altitude')
    assert (message.sea_level, message.surface) == (1234.5, 67.25)
    assert message.header.frame_id == 'vessel/capsule'
    stamp = message.header.stamp.sec * 10 ** 9 + message.header.stamp.nanosec
    assert before <= stamp <= time.time_ns()
    level, text, told = ros.diagnosed('peer', lambda level, *_: level == DiagnosticStatus.OK)
    assert (text, told['profile']) == ('telemetry arrives', profile)
    level, *_ = ros.diagnosed('telemetry', lambda _, __, told: (
        4.0 < float(told.get('altitude: packets/s', 0.0)) < 16.0))
    assert level == DiagnosticStatus.OK


def published(node):
    """Return how many messages a node has published, by topic."""
    return {topic.lstrip('/'): int(count) for topic, count in node.published.status().values}


def test_what_nobody_subscribes_to_is_not_published_unless_it_is_kept(ros, plugin):
    plugged, node = connect(
        ros, plugin, 'v2', channels=('altitude', 'orbit', 'sphere_of_influence'))
    plugged.say(simpit.SphereOfInfluence('Kerbin'))
    for _ in range(3):
        plugged.say(ALTITUDE)
        plugged.say(simpit.Orbit(0.01, 675e3, 1.5, 2.5, 3.5, 4.5, 5.5, 1950.0))
        ros.next('altitude')
    ros.wait_for(lambda: published(node)['sphere_of_influence'], 'what is kept')
    assert node.session.statistics.updates['orbit']
    assert published(node)['orbit'] == published(node)['packets'] == 0
    ros.subscribe(SimpitOrbit, 'orbit')
    ros.subscribe(SimpitPacket, 'packets')
    plugged.say(simpit.Orbit(0.01, 675e3, 1.5, 2.5, 3.5, 4.5, 5.5, 1950.0))
    assert ros.next('orbit').period == 1950.0
    assert list(ros.next('packets').payload)


@pytest.mark.parametrize(('name', 'topic', 'kind', 'expected'), [
    ('telemetry_a_chan4', 'altitude', SimpitAltitude, {'sea_level': 1234.5, 'surface': 67.25}),
    ('telemetry_b1_chan8', 'altitude', SimpitAltitude, {'sea_level': 1234.5, 'surface': 67.25}),
    ('session_b1_altitude_extreme_3', 'altitude', SimpitAltitude, {'surface': 67.25}),
    ('telemetry_b1_chan24', 'apsides_time', SimpitApsides,
     {'periapsis': -200.0, 'apoapsis': 100.0}),
    ('session_b1_action_status_1', 'action_groups', SimpitActionStatus,
     {'active': [SimpitActionCommand.GEAR]}),
    ('telemetry_b2_chan26', 'sphere_of_influence', String, {'data': 'Kerbin'}),
    ('telemetry_b2_chan36', 'orbit', SimpitOrbit, {
        'semi_major_axis': 675000.0, 'inclination': math.radians(1.5),
        'longitude_of_ascending_node': math.radians(2.5),
        'argument_of_periapsis': math.radians(3.5), 'true_anomaly': 4.5, 'mean_anomaly': 5.5,
        'period': 1950.0}),
    ('telemetry_b2_chan38', 'delta_v', SimpitStages, {'stage': 1000.0, 'total': 3000.0}),
    ('telemetry_b2_chan42', 'temperature_limits', SimpitTemperatureLimits,
     {'part': 0.25, 'skin': 0.5}),
    ('session_b2_scene_change_3', 'in_flight', Bool, {'data': False}),
    ('session_b2_scene_change_4', 'in_flight', Bool, {'data': True}),
    ('session_b2_agx_cag_status_1', 'custom_action_groups', SimpitActionStatus, {'active': [1]}),
    ('telemetry_c_chan22', 'velocities', SimpitVelocities,
     {'orbital': 2200.0, 'surface': 2000.0, 'vertical': -12.5}),
    ('telemetry_c_chan39', 'delta_v/sea_level', SimpitStages, {'stage': 900.0, 'total': 2700.0}),
    ('telemetry_c_chan39', 'delta_v/vacuum', SimpitStages, {'stage': 1100.0, 'total': 3300.0}),
    ('telemetry_c_chan40', 'burn_time', SimpitStages, {'stage': 60.0, 'total': 180.0}),
    ('telemetry_c_chan46', 'vessel_name', String, {'data': 'Kerbal X'}),
])
def test_what_genuine_plugins_wrote_is_published(ros, plugin, name, topic, kind, expected):
    vector = VECTORS[name]
    profile = PROFILE_OF_ERA[vector['era']]
    framing = simpit.PROFILES[profile].framing
    plugged = plugin(framing, RecordedPlugin, recording=bytes.fromhex(vector['hex']))
    ros.subscribe(kind, topic)
    ros.subscribe(SimpitPacket, 'packets')
    ros.start(SimpitNode, port=plugged.path, profile=profile)
    got = values(ros.next(topic))
    for field, value in expected.items():
        assert got[field] == (value if isinstance(value, str) else pytest.approx(value, rel=1e-6))
    raw = ros.wait_for(lambda: ros.messages['packets'], 'the raw packet')[0]
    frame = vector['fields']['frame']
    assert (raw.channel, bytes(raw.payload).hex()) == (frame['chan'], frame['payload'])


# Inputs and expected outputs, by hand.
TELEMETRY = {
    'airspeed': (SimpitAirspeed, simpit.Airspeed(102.9, 0.31, 2.0), {
        'indicated': 102.9, 'mach': 0.31, 'load': 19.6133}),
    'apsides': (SimpitApsides, simpit.Apsides(-595000.0, 81000.0), {
        'periapsis': -595000.0, 'apoapsis': 81000.0}),
    'target': (SimpitTarget, simpit.TargetInfo(1500.0, 12.5, 90.0, -30.0, 180.0, 45.0), {
        'distance': 1500.0, 'speed': 12.5, 'true_heading': math.pi / 2, 'pitch': -math.pi / 6,
        'velocity_true_heading': math.pi, 'velocity_pitch': math.pi / 4}),
    'manoeuvre': (SimpitManoeuvre, simpit.ManoeuvreInfo(600.0, 850.0, 42.0, 1200.0, 90.0, 180.0), {
        'time': 600.0, 'delta_v': 850.0, 'duration': 42.0, 'total': 1200.0,
        'true_heading': math.pi / 2, 'pitch': math.pi}),
    'sas': (SimpitSas, simpit.SasInfo(1, 0b1000000011), {
        'fields': SimpitSas.MODE | SimpitSas.AVAILABLE, 'mode': SimpitSas.PROGRADE,
        'available': [SimpitSas.STABILITY_ASSIST, SimpitSas.PROGRADE, SimpitSas.MANOEUVRE]}),
    'flight_status': (SimpitFlightStatus, simpit.FlightStatus(
        1 | 4 | 8 | 0x30, 8, 3, 4, 2, 75, 5, 7), {
        'in_flight': True, 'eva': False, 'recoverable': True, 'physical_warp': True,
        'has_target': False, 'control_level': 3, 'situation': 8, 'warp_index': 3,
        'crew_capacity': 4, 'crew': 2, 'signal': 0.75, 'stage': 5, 'vessel_type': 7}),
    'atmosphere': (SimpitAtmosphere, simpit.Atmosphere(5, 1.1, 280.0, 95.5), {
        'has_atmosphere': True, 'has_oxygen': False, 'inside': True, 'density': 1.1,
        'temperature': 280.0, 'pressure': 95500.0}),
    'attitude': (SimpitAttitude, simpit.Attitude(90.0, 10.0, -30.0, 91.0, 5.0, 92.0, 6.0), {
        'true_heading': math.pi / 2, 'pitch': math.radians(10.0), 'roll': math.radians(30.0),
        'orbital_true_heading': math.radians(91.0), 'orbital_pitch': math.radians(5.0),
        'surface_true_heading': math.radians(92.0), 'surface_pitch': math.radians(6.0)}),
    'axes': (SimpitAxes, simpit.Wheel(16384, -32768, 0), {
        'fields': SimpitAxes.WHEEL_STEER | SimpitAxes.WHEEL_THROTTLE,
        'x': NAN, 'y': NAN, 'z': NAN, 'wheel_steer': 0.5, 'wheel_throttle': -1.0,
        **{f'custom_{number}': NAN for number in range(1, 5)}}),
    'controls': (FlightControls, simpit.Throttle(8192), {
        'fields': FlightControls.THROTTLE,
        'elevator': NAN, 'aileron': NAN, 'rudder': NAN, 'throttle': 0.25, 'flaps': NAN,
        'gear': NAN, 'speedbrake': NAN, 'brake_left': NAN, 'brake_right': NAN,
        'elevator_trim': NAN, 'aileron_trim': NAN, 'rudder_trim': NAN}),
    'custom_action_groups': (SimpitActionStatus, simpit.CustomActionGroupStatus((3, 250)), {
        'active': [3, 250], 'mixed': [], 'unavailable': []}),
}


RARE = ('sas', 'flight_status', 'atmosphere', 'axes', 'controls', 'custom_action_groups')


def test_every_kind_of_telemetry_is_in_si_units(ros, plugin):
    plugged = plugin('cobs')
    plugged.say(*(message for _, message, _ in TELEMETRY.values()))
    for topic, (kind, _, _) in TELEMETRY.items():
        # Messages that are sent on change only are latched for late subscribers.
        ros.subscribe(kind, topic, LATCHED if topic in RARE else 10)
    ros.start(SimpitNode, port=plugged.path, profile='cobs')
    ros.wait_for(lambda: ros.messages['airspeed'], 'telemetry')
    # Its registration alone does not trigger it.
    plugged.say(simpit.SasInfo(255, 0), TELEMETRY['sas'][1])
    for topic, (_, _, expected) in TELEMETRY.items():
        ros.wait_for(
            lambda topic=topic: len(ros.messages[topic]) > (topic == 'sas'), topic)
        got = values(ros.messages[topic][-1])
        assert got.keys() == expected.keys()
        for field, value in expected.items():
            assert got[field] == pytest.approx(value, rel=1e-4, nan_ok=True), (topic, field)


def test_orientation_of_thirty_degrees_right_bank_ten_degrees_up_heading_east(ros, plugin):
    """
    Body x (forward) to the east and up, body y (left) to the north, left wing up.

    By hand: forward = (cos 10, 0, sin 10) in east, north, up. Level, left would be north and
    body up = (-sin 10, 0, cos 10); rolled right by 30 degrees, left = cos 30 north + sin 30 of
    that up.
    """
    plugged = plugin('v2')
    # The game's roll is negative with the right wing down.
    plugged.say(simpit.Attitude(90.0, 10.0, -30.0, 0.0, 0.0, 0.0, 0.0))
    ros.subscribe(Imu, 'imu/data')
    ros.start(SimpitNode, port=plugged.path, profile='v2', channels=['attitude'])
    message = ros.next('imu/data')
    q = message.orientation
    forward = (1 - 2 * (q.y ** 2 + q.z ** 2), 2 * (q.x * q.y + q.w * q.z),
               2 * (q.x * q.z - q.w * q.y))
    left = (2 * (q.x * q.y - q.w * q.z), 1 - 2 * (q.x ** 2 + q.z ** 2),
            2 * (q.y * q.z + q.w * q.x))
    assert forward == pytest.approx((0.984808, 0.0, 0.173648), abs=1e-5)
    assert left == pytest.approx((0.5 * -0.173648, 0.866025, 0.5 * 0.984808), abs=1e-5)
    assert message.angular_velocity_covariance[0] == -1.0
    assert message.linear_acceleration_covariance[0] == -1.0


def test_resources_of_all_kinds_share_a_topic(ros, plugin):
    plugged = plugin('v2')
    plugged.say(
        simpit.Resource('liquid_fuel', 720.0, 340.5), simpit.Resource('ablator_stage', 200.0, 1.0),
        simpit.TacResources(1.0, 2.0, 3.0, 4.0, 5.0, 6.0),
        simpit.TacWaste(7.0, 8.0, 9.0, 10.0, 11.0, 12.0),
        simpit.CustomResources(2, (1.0, 10.0, 2.0, 20.0, 3.0, 30.0, 4.0, 40.0)))
    ros.subscribe(SimpitResources, 'resources', 50)
    ros.start(SimpitNode, port=plugged.path, profile='v2', channels=[
        'liquid_fuel', 'ablator_stage', 'tac_*', 'custom_resources_2'])
    wanted = {
        'liquid_fuel': (340.5, 720.0), 'ablator_stage': (1.0, 200.0), 'food': (1.0, 2.0),
        'water': (3.0, 4.0), 'oxygen': (5.0, 6.0), 'waste': (7.0, 8.0),
        'liquid_waste': (9.0, 10.0), 'carbon_dioxide': (11.0, 12.0), 'custom_5': (1.0, 10.0),
        'custom_6': (2.0, 20.0), 'custom_7': (3.0, 30.0), 'custom_8': (4.0, 40.0)}

    def seen():
        return {
            name: pair for message in ros.messages['resources'] for name, *pair in zip(
                message.names, message.available, message.maximum, strict=True)}

    ros.wait_for(lambda: len(seen()) == len(wanted), 'all resources')
    assert seen() == {name: list(pair) for name, pair in wanted.items()}


def test_air_data_joins_the_airspeed_with_the_last_atmosphere(ros, plugin):
    plugged = plugin('v2')
    plugged.say(simpit.Airspeed(102.9, 0.31))
    ros.subscribe(AirData, 'air_data')
    ros.subscribe(Temperature, 'temperature')
    ros.subscribe(FluidPressure, 'static_pressure')
    ros.start(SimpitNode, port=plugged.path, profile='v2', channels=['airspeed', 'atmosphere'])
    alone = ros.next('air_data')
    assert not ros.messages['temperature']
    assert alone.indicated_airspeed == pytest.approx(102.9, rel=1e-6)
    for name in ('true_airspeed', 'static_pressure', 'temperature', 'density', 'sideslip'):
        assert math.isnan(getattr(alone, name)), name
    assert math.isnan(alone.wind.x)
    assert alone.header.frame_id == ''
    plugged.say(simpit.Atmosphere(7, 1.125, 280.0, 95.5))
    both = ros.next('air_data', where=lambda message: not math.isnan(message.density))
    assert ros.next('temperature').temperature == pytest.approx(280.0 - 273.15)
    assert ros.next('static_pressure').fluid_pressure == 95500.0
    # What has not come, and the air at the Mun, are unknown, not impossible.
    plugged.say(simpit.Atmosphere(0, 1.125, 280.0, 95.5))
    ros.next('air_data', where=lambda message: math.isnan(message.density))
    assert ros.diagnosed('plausibility')[1] == 'nothing impossible'
    assert (both.static_pressure, both.temperature, both.density) == (95500.0, 280.0, 1.125)
    assert both.indicated_airspeed == pytest.approx(102.9, rel=1e-6)


def test_fields_that_older_plugins_do_not_send_say_so(ros, plugin):
    plugged = plugin('v1')
    plugged.say(simpit.Airspeed(100.0, 0.5), simpit.TargetInfo(5.0, 6.0))
    ros.subscribe(SimpitAirspeed, 'airspeed')
    ros.subscribe(SimpitTarget, 'target')
    ros.start(SimpitNode, port=plugged.path, profile='v1')
    assert math.isnan(ros.next('airspeed').load)
    target = ros.next('target')
    assert (target.distance, target.speed) == (5.0, 6.0)
    assert math.isnan(target.true_heading)
    assert math.isnan(target.velocity_pitch)


def test_flight_status_of_plugin_2_0_has_no_stage(ros, plugin):
    plugged = plugin('v2')
    plugged.say(simpit.FlightStatus(64, 1, 0, 1, 1, 100))
    ros.subscribe(SimpitFlightStatus, 'flight_status', LATCHED)
    ros.start(SimpitNode, port=plugged.path, profile='v2', channels=['flight_status'])
    message = ros.next('flight_status')
    assert message.has_target
    assert (message.stage, message.vessel_type) == (-1, -1)


def test_plugin_1_4_that_says_nothing_of_action_groups_means_that_all_are_off(ros, plugin):
    plugged, _ = connect(ros, plugin, 'v1', channels=['altitude', 'action_status'])
    ros.subscribe(SimpitActionStatus, 'action_groups', LATCHED)
    groups = ros.next('action_groups')
    assert list(groups.active) == []
    plugged.say(simpit.ActionStatus(ActionGroup.GEAR | ActionGroup.ABORT))
    groups = ros.next('action_groups', where=lambda message: len(message.active))
    assert list(groups.active) == [SimpitActionCommand.GEAR, SimpitActionCommand.ABORT]
    plugged.say(simpit.ActionStatus(ActionGroup(0)))
    assert list(ros.next('action_groups', where=lambda message: not message.active).active) == []


def test_ksp2_has_action_groups_of_four_states_and_encounters(ros, plugin):
    plugged = plugin('cobs', game_id=simpit.KSP2_ID)
    plugged.say(simpit.Intersects(1500.0, 600, 12.5, -1.0, -1, -1.0))
    ros.subscribe(SimpitIntersects, 'intersects')
    state = simpit.GroupState
    plugged.say(simpit.AdvancedActionStatus(False, (
        state.OFF, state.ON, state.MIXED, *[state.UNAVAILABLE] * 4, state.ON,
        *[state.OFF] * 8)))
    ros.subscribe(SimpitActionStatus, 'action_groups', LATCHED)
    ros.start(SimpitNode, port=plugged.path, profile='cobs')
    message = ros.next('action_groups')
    assert list(message.active) == [SimpitActionCommand.GEAR, SimpitActionCommand.SOLAR_PANELS]
    assert list(message.mixed) == [SimpitActionCommand.LIGHT]
    assert list(message.unavailable) == [3, 4, 5, 6]
    assert values(ros.next('intersects')) == pytest.approx({
        'first_time': 600.0, 'first_distance': 1500.0, 'first_speed': 12.5,
        'second_time': NAN, 'second_distance': NAN, 'second_speed': NAN}, nan_ok=True)
    commands = ros.publisher(SimpitActionCommand, 'command/action_groups')
    commands.publish(SimpitActionCommand(
        verb=SimpitActionCommand.TOGGLE, groups=[SimpitActionCommand.RADIATORS]))
    ros.wait_for(lambda: plugged.commands, 'the command')
    assert plugged.commands == [simpit.SetActionGroup(False, 8, simpit.GroupSetting.TOGGLE)]


def test_events_and_names_are_published(ros, plugin):
    plugged, _ = connect(
        ros, plugin, 'cobs', channels=['altitude', 'vessel_change', 'vessel_name'])
    ros.subscribe(UInt8, 'vessel_change')
    ros.subscribe(String, 'vessel_name', LATCHED)
    plugged.say(simpit.VesselName('Kerbal X'))
    ros.wait_for(lambda: ros.messages['vessel_name'], 'the name')
    plugged.say(simpit.VesselChange(2))
    ros.wait_for(lambda: ros.messages['vessel_change'], 'the change')
    assert ros.messages['vessel_name'][-1].data == 'Kerbal X'
    assert ros.messages['vessel_change'][-1].data == 2


def test_channels_come_and_go_at_run_time(ros, plugin):
    plugged, node = connect(ros, plugin, 'v2')
    # Besides the requested ones: scene change, altitude, action status, for the session itself.
    assert plugged.channels == (3, 8, 37)
    plugged.say(simpit.Velocities(2200.0, 2000.0, -12.5))
    ros.subscribe(SimpitVelocities, 'velocities')
    (result,) = node.set_parameters([
        Parameter('channels', value=['velocities', '200'])])
    assert result.successful, result.reason
    assert ros.next('velocities').vertical == -12.5
    assert plugged.channels == (3, 8, 22, 37, 200)
    (result,) = node.set_parameters([Parameter('channels', value=['altitud'])])
    assert not result.successful
    assert 'altitud' in result.reason
    (result,) = node.set_parameters([Parameter('channels', value=['q*'])])
    assert not result.successful
    assert "'q*' matches none" in result.reason


def test_packets_without_a_meaning_come_raw(ros, path, plugin):
    plugged = plugin('aa50', RecordedPlugin, recording=bytes.fromhex('aa5003c8010203'))
    ros.subscribe(SimpitPacket, 'packets')
    ros.start(SimpitNode, port=plugged.path, profile='v2', channels=['200'])
    message = ros.next('packets')
    assert (message.channel, list(message.payload)) == (200, [1, 2, 3])


# Commands.


@pytest.mark.parametrize('verb', ['activate', 'deactivate', 'toggle'])
@pytest.mark.parametrize('profile', PROFILES)
def test_action_groups_of_each_profile(ros, plugin, profile, verb):
    plugged, node = connect(ros, plugin, profile)
    standard = ros.publisher(SimpitActionCommand, 'command/action_groups', 10)
    custom = ros.publisher(SimpitActionCommand, 'command/custom_action_groups', 10)
    standard.publish(SimpitActionCommand(
        verb=ON_AND_OFF[verb], groups=[SimpitActionCommand.GEAR, SimpitActionCommand.BRAKES]))
    custom.publish(SimpitActionCommand(verb=ON_AND_OFF[verb], groups=[10, 3]))
    expected = [CustomActionGroups(verb, (10,)), CustomActionGroups(verb, (3,))]
    if profile == 'v0' and verb == 'toggle':
        # The document has it, but no plugin of its time listened (docs/wire/simpit.md, section 5).
        ros.wait_for(lambda: node.refused['command/action_groups'], 'the refusal')
    else:
        expected.append(ActionGroups(verb, ActionGroup.GEAR | ActionGroup.BRAKES))
    ros.wait_for(lambda: len(plugged.commands) == len(expected), 'the commands')
    assert sorted(map(str, plugged.commands)) == sorted(map(str, expected))


def test_extended_custom_groups(ros, plugin):
    plugged, node = connect(ros, plugin, 'v2')
    custom = ros.publisher(SimpitActionCommand, 'command/custom_action_groups')
    for count, groups in enumerate(([200], [1] * 33), 1):
        custom.publish(SimpitActionCommand(verb=SimpitActionCommand.TOGGLE, groups=groups))
        ros.wait_for(
            lambda count=count: node.refused['command/custom_action_groups'] == count,
            'the refusal')


def test_extended_custom_groups_are_sent_where_the_game_has_them(ros, plugin):
    plugged = plugin('v2', agx=True)
    plugged.say(ALTITUDE)
    ros.subscribe(SimpitAltitude, 'altitude')
    ros.start(SimpitNode, port=plugged.path, profile='v2', action_groups_extended=True)
    ros.next('altitude')
    ros.publisher(SimpitActionCommand, 'command/custom_action_groups').publish(
        SimpitActionCommand(verb=SimpitActionCommand.ACTIVATE, groups=[200]))
    ros.wait_for(lambda: plugged.commands, 'the command')
    assert plugged.commands == [CustomActionGroups('activate', (200,))]


def controls(**given):
    return masked(FlightControls, **given)


@pytest.mark.parametrize('profile', ['v1', 'v2', 'cobs'])
def test_controls_become_rotation_throttle_and_gear(ros, plugin, profile):
    plugged, node = connect(ros, plugin, profile, command_timeout=0.0)
    publisher = ros.publisher(FlightControls, 'command/controls')
    for count in range(1, 4):
        publisher.publish(controls(elevator=0.5, rudder=-1.0, throttle=0.25, gear=1.0, flaps=0.5))
        ros.wait_for(lambda count=count: node.gates[''].commands == count, 'the command')
    ros.wait_for(lambda: simpit.Throttle(8192) in plugged.commands, 'the throttle')
    assert simpit.Rotation(16384, 0, -32767, 0b101) in plugged.commands
    # The gear is an action: sent once, not with every command.
    ros.wait_for(lambda: ActionGroups('activate', ActionGroup.GEAR) in plugged.commands, 'gear')
    publisher.publish(controls(gear=0.75))
    ros.wait_for(lambda: node.gates[''].commands == 4, 'the lever on its way')
    publisher.publish(controls(gear=0.0, aileron=1.0))
    ros.wait_for(
        lambda: ActionGroups('deactivate', ActionGroup.GEAR) in plugged.commands, 'gear up')
    assert plugged.commands.count(ActionGroups('activate', ActionGroup.GEAR)) == 1
    assert node.gates[''].commands == 5
    told = ros.diagnosed('commands')[2]
    assert told['flaps or speedbrake, which no vessel has'] == '3'


def test_plugins_before_0_8_have_no_axes_and_the_refusal_says_so(ros, plugin):
    plugged, node = connect(ros, plugin, 'v0')
    ros.publisher(FlightControls, 'command/controls').publish(controls(elevator=0.5))
    ros.publisher(SimpitAxes, 'command/axes').publish(masked(SimpitAxes, x=0.5))
    ros.wait_for(lambda: sum(node.refused.values()) == 2, 'the refusals')
    assert plugged.commands == []
    assert not node.gates[''].watchdog.expired


def test_other_axes_are_sent_and_given_back_when_commands_stop(ros, plugin):
    plugged, node = connect(ros, plugin, 'v2', command_timeout=0.3)
    ros.publisher(SimpitAxes, 'command/axes').publish(masked(
        SimpitAxes, x=1.0, z=-0.5, wheel_throttle=0.5, custom_1=0.25, custom_4=-1.0))
    sent = [
        simpit.Translation(32767, 0, -16384, 0b101), simpit.Wheel(0, 16384, 0b10),
        simpit.CustomAxes(8192, 0, 0, -32767, 0b1001)]
    given_back = [
        simpit.Translation(0, 0, 0, 0b101), simpit.Wheel(0, 0, 0b10),
        simpit.CustomAxes(0, 0, 0, 0, 0b1001)]
    ros.wait_for(lambda: len(plugged.commands) == 6, 'the axes, and their end')
    assert plugged.commands == sent + given_back
    assert ros.diagnosed('commands')[:2] == (DiagnosticStatus.WARN, 'commands stopped arriving')


def test_axes_out_of_range_are_refused_whole(ros, plugin):
    plugged, node = connect(ros, plugin, 'v2')
    publisher = ros.publisher(SimpitAxes, 'command/axes', 10)
    publisher.publish(masked(SimpitAxes, x=1.0, wheel_steer=1.5))
    ros.wait_for(lambda: node.refused['command/axes'], 'the refusal')
    assert plugged.commands == []


def test_axes_that_a_plugin_has_are_not_taken_with_those_that_it_has_not(ros, plugin):
    plugged, node = connect(ros, plugin, 'v1')
    publisher = ros.publisher(SimpitAxes, 'command/axes', 10)
    publisher.publish(masked(SimpitAxes, x=1.0, wheel_steer=1.0, custom_2=0.0))
    ros.wait_for(lambda: node.refused['command/axes'], 'the refusal of the custom axes')
    publisher.publish(masked(SimpitAxes, y=0.5))
    ros.wait_for(lambda: plugged.commands, 'the command that fits')
    assert plugged.commands == [simpit.Translation(0, 16384, 0, 0b010)]


@pytest.mark.parametrize(('what', 'expected'), [
    # Only the axes that were taken, and never the throttle: that would stop the engines.
    ('neutral', [simpit.Rotation(0, 0, 0, 3)]),
    ('release', [simpit.Rotation(0, 0, 0, 3)]),
    ('hold', []),
])
def test_what_happens_when_the_commander_is_killed(ros, plugin, what, expected):
    plugged, node = connect(
        ros, plugin, 'cobs', command_timeout=0.3, on_command_timeout=what)
    with process(sys.executable, '-P', '-c', COMMANDER) as commander:
        ros.wait_for(lambda: simpit.Throttle(16384) in plugged.commands, 'commands')
        commander.kill()
    ros.wait_for(lambda: node.gates[''].watchdog.expired, 'the watchdog')
    # A watchdog action before the kill, because the commander was slow, does not count.
    ros.wait_for(
        lambda: sorted(map(str, plugged.commands[len(plugged.commands) - len(expected):]))
        == sorted(map(str, expected)), 'what shall happen then')
    if not expected:
        assert all(each.pitch for each in plugged.commands if isinstance(each, simpit.Rotation))


COMMANDER = """
import rclpy
from xplane_bridge.msg import FlightControls
rclpy.init()
node = rclpy.create_node('commander')
publisher = node.create_publisher(FlightControls, 'command/controls', 1)
message = FlightControls(fields=11, elevator=0.25, aileron=0.5, throttle=0.5)
node.create_timer(0.05, lambda: publisher.publish(message))
rclpy.spin(node)
"""


@pytest.mark.parametrize(('profile', 'command', 'expected'), [
    ('v2', {'command': SimpitTimeWarp.UP}, simpit.TimeWarp(12)),
    ('v2', {'command': SimpitTimeWarp.TO_APOAPSIS}, simpit.TimeWarp(16)),
    ('cobs', {'command': SimpitTimeWarp.CANCEL}, simpit.TimeWarp(255)),
    ('cobs', {'command': SimpitTimeWarp.TO_APOAPSIS, 'delay': -30.0}, simpit.TimeWarpTo(4, -30.0)),
    ('cobs', {'command': SimpitTimeWarp.BY_DELAY, 'delay': 60.0}, simpit.TimeWarpTo(0, 60.0)),
    ('cobs', {'command': SimpitTimeWarp.TO_BURN}, simpit.TimeWarpTo(2, 0.0)),
    ('v2.2', {'command': SimpitTimeWarp.TO_APOAPSIS}, simpit.TimeWarp(16)),
    ('v2.3', {'command': SimpitTimeWarp.TO_APOAPSIS}, simpit.TimeWarpTo(4, 0.0)),
    ('v2.2', {'command': SimpitTimeWarp.TO_BURN}, None),
    ('v2', {'command': SimpitTimeWarp.TO_APOAPSIS, 'delay': 5.0}, None),
    ('v2', {'command': SimpitTimeWarp.TO_BURN}, None),
    ('cobs', {'command': SimpitTimeWarp.UP, 'delay': 5.0}, None),
    ('cobs', {'command': 100}, None),
    ('v1', {'command': SimpitTimeWarp.UP}, None),
])
def test_time_warp(ros, plugin, profile, command, expected):
    plugged, node = connect(ros, plugin, profile)
    ros.publisher(SimpitTimeWarp, 'command/time_warp', 10).publish(
        masked(SimpitTimeWarp, **command))
    ros.wait_for(lambda: plugged.commands or node.refused['command/time_warp'], 'an outcome')
    assert plugged.commands == ([] if expected is None else [expected])


@pytest.mark.parametrize('profile', ['v1', 'v2', 'v2.2', 'cobs'])
def test_sas_mode_stage_text_and_raw_packets(ros, plugin, profile):
    plugged, node = connect(ros, plugin, profile)
    ros.publisher(SimpitSas, 'command/sas').publish(
        masked(SimpitSas, mode=SimpitSas.TARGET))
    ros.wait_for(lambda: plugged.commands == [simpit.SasMode(7)], 'the mode')
    response = ros.call(Trigger, 'stage', Trigger.Request())
    assert (response.success, response.message) == (
        True, 'sent; this protocol cannot confirm it')
    ros.wait_for(
        lambda: ActionGroups('activate', ActionGroup.STAGE) in plugged.commands, 'the stage')
    ros.publisher(String, 'command/text').publish(String(data='hello'))
    raw = ros.publisher(SimpitPacket, 'command/packets', 10)
    if profile == 'v1':
        ros.wait_for(lambda: node.refused['command/text'], 'the refusal')
    else:
        ros.wait_for(lambda: simpit.Log(2, 'hello') in plugged.commands, 'the text')
        raw.publish(SimpitPacket(channel=21, payload=[10]))
        ros.wait_for(lambda: simpit.CameraMode(10) in plugged.commands, 'the camera mode')
    # Registration is the session's business, and 255 kills a plugin's reader.
    raw.publish(SimpitPacket(channel=8, payload=[22]))
    raw.publish(SimpitPacket(channel=255, payload=[1]))
    raw.publish(SimpitPacket(channel=200, payload=[]))
    ros.wait_for(lambda: node.refused['command/packets'] == 3, 'the refusals')
    assert 22 not in plugged.channels


@pytest.mark.parametrize('profile', ['v1', 'v2', 'cobs'])
def test_camera_keys_log_and_navball(ros, plugin, profile):
    plugged, node = connect(ros, plugin, profile)
    camera = ros.publisher(SimpitCamera, 'command/camera', 10)
    camera.publish(masked(SimpitCamera, mode=SimpitCamera.IVA, yaw=0.5, zoom=-1.0, y=0.25))
    keys = ros.publisher(SimpitKey, 'command/key', 10)
    keys.publish(SimpitKey(key=9, modifiers=SimpitKey.SHIFT))
    keys.publish(SimpitKey(key=87, modifiers=SimpitKey.DOWN_ONLY))
    log = ros.publisher(SimpitLog, 'command/log', 10)
    log.publish(SimpitLog(flags=SimpitLog.SCREEN | SimpitLog.NO_HEADER, text='x' * 31))
    response = ros.call(Trigger, 'next_navball_mode', Trigger.Request())
    assert response.success is (profile == 'cobs')
    topics = ('command/camera', 'command/key', 'command/log')
    if profile == 'v1':
        assert 'has no channel navball_mode' in response.message
        ros.wait_for(lambda: [node.refused[topic] for topic in topics] == [1, 2, 1], 'refusals')
        assert plugged.commands == []
        return
    expected = [
        simpit.CameraMode(10), simpit.CameraRotation(0, 0, 16384, -32767, 0b1100),
        simpit.CameraTranslation(0, 8192, 0, 0b010), simpit.Keyboard(1, 9),
        simpit.Keyboard(8, 87), simpit.Log(6, 'x' * 31)]
    ros.wait_for(lambda: all(each in plugged.commands for each in expected), 'all of them')
    assert (simpit.NavballMode() in plugged.commands) is (profile == 'cobs')
    camera.publish(masked(SimpitCamera, mode=7))
    camera.publish(masked(SimpitCamera, pitch=1.5))
    keys.publish(SimpitKey(key=0))
    keys.publish(SimpitKey(key=87, modifiers=SimpitKey.DOWN_ONLY | SimpitKey.UP_ONLY))
    log.publish(SimpitLog(text='\N{GREEK SMALL LETTER ALPHA}' * 16))
    log.publish(SimpitLog(text=''))
    ros.wait_for(lambda: [node.refused[topic] for topic in topics] == [2, 2, 2], 'refusals')
    # A key that is held down is released with everything else.
    node.trigger_deactivate()
    ros.wait_for(lambda: plugged.commands[-1] == simpit.Keyboard(16, 87), 'the released key')


def test_axes_in_raw_packets_are_given_back_when_they_stop(ros, plugin):
    plugged, _ = connect(ros, plugin, 'v2', command_timeout=0.3)
    raw = ros.publisher(SimpitPacket, 'command/packets', 10)
    raw.publish(SimpitPacket(channel=16, payload=[1, 0, 0, 0, 0, 0, 1]))
    raw.publish(SimpitPacket(channel=17, payload=[0, 0, 5, 0, 0, 0, 2]))
    ros.wait_for(lambda: len(plugged.commands) == 4, 'the axes, and their end')
    assert plugged.commands[:2] == [
        simpit.Rotation(1, 0, 0, 1), simpit.Translation(0, 5, 0, 2)]
    assert sorted(plugged.commands[2:], key=str) == [
        simpit.Rotation(0, 0, 0, 1), simpit.Translation(0, 0, 0, 2)]


def test_a_hundred_actions_at_once_arrive_in_order(ros, plugin, monkeypatch):
    # As they arrive: where this computer stalls, the game's frame is late, and of two packets in
    # one frame the last counts. That the pauses suffice is a test of the session.
    arrived = []
    monkeypatch.setattr(
        PluginSession, '_buffer_action', lambda _, message: arrived.append(message))
    plugged, node = connect(ros, plugin, 'v2')
    custom = ros.publisher(SimpitActionCommand, 'command/custom_action_groups', 128)
    actions = ros.publisher(SimpitActionCommand, 'command/action_groups', 128)
    numbers = [1 + number % 7 for number in range(100)]
    for number in numbers:
        custom.publish(SimpitActionCommand(verb=SimpitActionCommand.TOGGLE, groups=[number]))
    ros.wait_for(lambda: len(plugged.commands) == 100, 'the custom groups')
    for number in numbers:
        actions.publish(SimpitActionCommand(verb=SimpitActionCommand.TOGGLE, groups=[number % 7]))
    ros.wait_for(lambda: len(arrived) == 100, 'the action groups')
    assert plugged.commands == [CustomActionGroups('toggle', (number,)) for number in numbers]
    assert arrived == [ActionGroups('toggle', ActionGroup(1 << number % 7)) for number in numbers]
    assert not node.refused


@pytest.mark.parametrize('profile', PROFILES)
def test_ping(ros, plugin, profile):
    plugged, _ = connect(ros, plugin, profile)
    payload = list(range(32))
    response = ros.call(SimpitPing, 'ping', SimpitPing.Request(payload=payload))
    assert response.success, response.message
    assert list(response.payload) == payload[:28 if profile in ('v0', 'v1') else 32]
    assert 0.0 < response.round_trip < 1.0
    response = ros.call(SimpitPing, 'ping', SimpitPing.Request(payload=[]))
    assert not response.success
    assert 'payload' in response.message


def test_ping_outside_flight_says_why_nothing_comes_back(ros, plugin):
    plugged, _ = connect(ros, plugin, 'v2')
    plugged.call(plugged.session.set_flight, False)
    response = ros.call(SimpitPing, 'ping', SimpitPing.Request(payload=[1]))
    assert not response.success
    assert 'flight scene' in response.message


def test_resend_asks_for_all_that_is_sent_on_a_change(ros, plugin):
    plugged, node = connect(ros, plugin, 'cobs', channels=['altitude', 'vessel_name'])
    ros.subscribe(String, 'vessel_name', LATCHED)
    plugged.say(simpit.VesselName('Kerbal X'))
    ros.wait_for(lambda: len(ros.messages['vessel_name']) == 1, 'the name')
    assert ros.call(Trigger, 'resend', Trigger.Request()).success
    ros.wait_for(lambda: len(ros.messages['vessel_name']) == 2, 'the name again')
    one = ros.publisher(String, 'command/resend', 10)
    for count, channel in ((3, 'vessel_name'), (4, '46'), (5, '*')):
        one.publish(String(data=channel))
        ros.wait_for(lambda count=count: len(ros.messages['vessel_name']) == count, channel)
    for number, channel in enumerate(('altitude', 'vessel_nam', '199', ''), 1):
        one.publish(String(data=channel))
        ros.wait_for(lambda number=number: node.refused['command/resend'] == number, channel)


# Faults.


def test_latched_topics_are_those_of_a_plugin_that_was_replaced_within_a_moment(ros, plugin):
    plugged, _ = connect(
        ros, plugin, 'v2.3', channels=['altitude', 'velocities', 'apsides', 'flight_status'])
    ros.subscribe(SimpitFlightStatus, 'flight_status', LATCHED)
    plugged.say(simpit.Velocities(1.0, 2.0, 3.0), simpit.Apsides(1.0, 2.0),
                simpit.FlightStatus(1, 0, 0, 1, 1, 100, 3, 0))
    ros.wait_for(lambda: ros.messages['flight_status'], 'the first game')
    plugged.call(plugged.session.restart)
    plugged.say(simpit.FlightStatus(1, 0, 0, 1, 1, 100, 7, 0))
    ros.wait_for(lambda: ros.messages['flight_status'][-1].stage == 7, 'the second game')


def test_auto_outside_flight_says_what_it_waits_for(ros, plugin):
    plugged = plugin('v2')
    plugged.call(plugged.session.set_flight, False)
    plugged.say(ALTITUDE)
    ros.subscribe(SimpitAltitude, 'altitude')
    ros.start(SimpitNode, port=plugged.path)
    level, *_ = ros.diagnosed('peer', lambda level, text, told: "set profile 'v2'" in text)
    assert level == DiagnosticStatus.WARN
    response = ros.call(Trigger, 'stage', Trigger.Request())
    assert not response.success
    assert "profile 'v2'" in response.message
    assert plugged.commands == []
    plugged.call(plugged.session.set_flight, True)
    ros.next('altitude')


def test_stage_outside_flight_is_refused_with_a_sentence(ros, plugin):
    plugged, node = connect(ros, plugin, 'v2')
    assert ros.call(Trigger, 'stage', Trigger.Request()).success
    plugged.call(plugged.session.set_flight, False)

    def refusal():
        response = ros.call(Trigger, 'stage', Trigger.Request())
        return None if response.success else response.message

    sentence = ros.wait_for(refusal, 'a refusal')
    assert plugged.path in sentence
    assert 'left the flight scene' in sentence
    assert node.refused['stage'] == 1
    ros.publisher(FlightControls, 'command/controls').publish(controls(elevator=0.5))
    ros.wait_for(lambda: node.refused['command/controls'], 'the refusal')


def test_latched_topics_are_withdrawn_when_the_flight_ends(ros, plugin):
    plugged = plugin('v2.3')
    plugged.say(
        ALTITUDE, simpit.ActionStatus(ActionGroup.GEAR), simpit.VesselName('Kerbal X'),
        simpit.SasInfo(1, 3), simpit.Atmosphere(7, 1.125, 280.0, 95.5), simpit.Throttle(8192))
    kinds = {'action_groups': SimpitActionStatus, 'vessel_name': String, 'in_flight': Bool,
             'atmosphere': SimpitAtmosphere, 'controls': FlightControls}
    for topic, kind in kinds.items():
        ros.subscribe(kind, topic, LATCHED)
    ros.start(SimpitNode, port=plugged.path, profile='v2.3')
    for topic in kinds:
        ros.wait_for(lambda topic=topic: ros.messages[topic], topic)
    assert ros.messages['in_flight'][-1].data
    plugged.say(simpit.ActionStatus(ActionGroup(0)))
    plugged.call(plugged.session.set_flight, False)
    ros.wait_for(lambda: not ros.messages['in_flight'][-1].data, 'the end of the flight')
    ros.wait_for(lambda: not ros.messages['controls'][-1].fields, 'the end of the controls')
    assert list(ros.messages['action_groups'][-1].active) == []
    assert ros.messages['vessel_name'][-1].data == ''
    assert math.isnan(ros.messages['atmosphere'][-1].density)
    plugged.call(plugged.session.set_flight, True)
    ros.wait_for(lambda: ros.messages['vessel_name'][-1].data == 'Kerbal X', 'the name again')
    ros.wait_for(lambda: ros.messages['in_flight'][-1].data, 'the next flight')


def test_sas_is_unknown_after_a_loss_until_the_plugin_sends_it(ros, plugin):
    plugged = plugin('v2.3')
    plugged.say(ALTITUDE)
    ros.subscribe(SimpitSas, 'sas', LATCHED)
    node = ros.start(SimpitNode, port=plugged.path, profile='v2.3')
    ros.wait_for(lambda: 35 in plugged.channels, 'the registration')
    plugged.say(simpit.SasInfo(1, 3))
    ros.wait_for(lambda: ros.messages['sas'], 'the mode')
    assert ros.messages['sas'][-1].fields == SimpitSas.MODE | SimpitSas.AVAILABLE
    # Of its packet only the end arrives.
    plugged.loop._port.write(b'\xab\xab\0')
    ros.wait_for(lambda: not ros.messages['sas'][-1].fields, 'an unknown mode')
    assert (ros.messages['sas'][-1].mode, list(ros.messages['sas'][-1].available)) == (
        SimpitSas.OFF, [])
    _, text, values = ros.diagnosed(
        'values', lambda level, *_: level == DiagnosticStatus.WARN, node)
    assert text.endswith('; unknown until it changes, as packets were lost: sas_info')
    assert values['lost, and sent on a change only'] == 'sas_info'
    plugged.say(simpit.SasInfo(2, 7))
    ros.wait_for(lambda: ros.messages['sas'][-1].mode == SimpitSas.RETROGRADE, 'the next mode')
    ros.diagnosed('values', lambda level, *_: level == DiagnosticStatus.OK, node)


def test_times_and_air_that_there_are_not_are_nan(ros, plugin):
    plugged = plugin('v2.3')
    plugged.say(
        simpit.Airspeed(0.0, 0.0, 0.0), simpit.ApsidesTime(-200, -2 ** 31),
        simpit.Atmosphere(7, 1.125, 280.0, 95.5), simpit.Atmosphere(0, 0.0, 0.0, 0.0))
    ros.subscribe(SimpitApsides, 'apsides_time')
    ros.subscribe(SimpitAtmosphere, 'atmosphere', LATCHED)
    ros.subscribe(AirData, 'air_data')
    ros.start(SimpitNode, port=plugged.path, profile='v2.3')
    times = ros.next('apsides_time')
    assert times.periapsis == -200.0
    assert math.isnan(times.apoapsis)
    ros.wait_for(lambda: ros.messages['atmosphere'], 'the air')
    seen = ros.next('air_data', 3)
    for message, names in (
            (seen, ('static_pressure', 'temperature', 'density')),
            (ros.messages['atmosphere'][-1], ('pressure', 'temperature', 'density'))):
        for name in names:
            assert math.isnan(getattr(message, name)), name
    assert seen.indicated_airspeed == 0.0


def test_channels_that_do_not_come_are_named(ros, plugin):
    plugged, _ = connect(ros, plugin, 'v2.3', channels=['altitude', 'orb*', 'velocities'])
    level, text, told = ros.diagnosed('values', lambda level, *_: level == DiagnosticStatus.WARN)
    assert text.startswith('1 of 2 values do not arrive: velocities (for ')
    assert told['never came from this plugin'] == 'orbit'
    plugged.say(simpit.Velocities(1.0, 2.0, 3.0))
    ros.diagnosed('values', lambda _, text, __: text == 'all 2 values arrive')
    plugged.call(plugged.session.set_flight, False)
    ros.diagnosed('values', lambda _, text, __: 'outside the flight scene' in text)


def test_missing_port_is_a_state(ros, path, plugin):
    ros.subscribe(SimpitAltitude, 'altitude')
    ros.start(SimpitNode, port=path, profile='v2')
    level, text, _ = ros.diagnosed('link', lambda _, text, __: 'no such port' in text)
    assert level == DiagnosticStatus.WARN
    assert ros.diagnosed('telemetry')[0] == DiagnosticStatus.STALE
    assert ros.diagnosed('peer')[1] == 'the serial port is not open'
    response = ros.call(Trigger, 'stage', Trigger.Request())
    assert not response.success
    assert 'not open' in response.message
    plugin('v2').say(ALTITUDE)
    assert ros.next('altitude').surface == 67.25


@pytest.mark.parametrize('profile', PROFILES)
def test_unplugged_and_replugged(ros, path, plugin, profile):
    plugged, node = connect(ros, plugin, profile)
    plugged.close()
    level, _, told = ros.diagnosed('link', lambda level, *_: level == DiagnosticStatus.WARN)
    assert told['lost'] == '1'
    again = plugin(profile)
    again.say(simpit.Altitude(5.0, 6.0))
    assert ros.next('altitude').sea_level == 5.0
    assert again.handshakes[0] == 0
    ros.diagnosed('link', lambda level, _, told: told['opened'] == '2')


@pytest.mark.parametrize('profile', PROFILES)
def test_restarted_game_is_found_again(ros, plugin, profile):
    plugged, _ = connect(ros, plugin, profile)
    plugged.call(plugged.session.restart)
    plugged.say(simpit.Altitude(5.0, 6.0))
    assert ros.next('altitude', where=lambda message: message.sea_level == 5.0).surface == 6.0
    # And no packet arrives twice.
    assert len(set(plugged.channels)) == len(plugged.channels)


@pytest.mark.filterwarnings('ignore:setDaemon:DeprecationWarning')
@pytest.mark.filterwarnings('ignore:setName:DeprecationWarning')
@pytest.mark.parametrize(('scheme', 'profile'), [('socket', 'v2'), ('rfc2217', 'cobs')])
def test_the_game_on_another_computer(ros, plugin, scheme, profile):
    plugged = plugin(profile)
    # FF is what rfc2217 escapes.
    plugged.say(simpit.Altitude(float.fromhex('-0x1.fffffep+127'), 1.0))
    ros.subscribe(SimpitAltitude, 'altitude')
    redirect = Redirect(plugged.path, scheme)
    try:
        node = ros.start(SimpitNode, port=redirect.url, profile=profile)
        assert ros.next('altitude').sea_level == float.fromhex('-0x1.fffffep+127')
        text = ros.publisher(String, 'command/text')
        text.publish(String(data='one'))
        ros.wait_for(lambda: simpit.Log(2, 'one') in plugged.commands, 'the text')
        redirect.hang_up()
        ros.wait_for(lambda: node.link.counters().lost == 1, 'the loss')
        ros.wait_for(lambda: node.link.is_open, 'the next connection')
        ros.next('altitude')
        text.publish(String(data='two'))
        ros.wait_for(lambda: simpit.Log(2, 'two') in plugged.commands, 'the second text')
        ros.run_in(node, node.shut_down)
    finally:
        redirect.close()


def test_silent_plugin_is_a_state(ros, path, plugin):
    plugged = plugin('v2')
    plugged.call(plugged.session.set_flight, False)
    plugged.session.port_open = False
    ros.start(SimpitNode, port=plugged.path, profile='v2')
    level, text, _ = ros.diagnosed('peer', lambda _, text, __: 'no answer' in text)
    assert level == DiagnosticStatus.WARN
    assert text.count('no answer') == 1
    assert 'baud rate' in text
    assert 'Is the plugin 2.0 and 2.1?' in text


def test_a_deaf_port_is_told_from_a_sound_one(ros, plugin):
    plugged, _ = connect(ros, plugin, 'v2')
    assert ros.diagnosed('peer')[0] == DiagnosticStatus.OK
    plugged.loop.call(lambda now: plugged.session.receive('serial', b'\xaa\x50\0\0', None, now))
    _, text, _ = ros.diagnosed('peer', lambda level, *_: level == DiagnosticStatus.WARN)
    assert 'no echo comes back' in text


def test_left_flight_scene_is_a_state(ros, plugin):
    plugged, _ = connect(ros, plugin, 'v2')
    plugged.call(plugged.session.set_flight, False)
    level, text, _ = ros.diagnosed('peer', lambda level, *_: level == DiagnosticStatus.WARN)
    assert text.startswith('connected, but no telemetry arrives')
    ros.diagnosed('telemetry', lambda level, *_: level == DiagnosticStatus.STALE)
    plugged.call(plugged.session.set_flight, True)
    ros.next('altitude')


def test_channels_that_the_plugin_lacks_are_named(ros, plugin):
    connect(ros, plugin, 'v0', profile='auto', channels=['altitude', 'velocities'])
    level, text, _ = ros.diagnosed('telemetry', lambda level, *_: level == DiagnosticStatus.WARN)
    assert text == 'arriving; this plugin does not have velocities'


def test_damaged_packets_are_counted(ros, plugin):
    # A frame with register 22 (velocities), 12 bytes long, and one that claims 4.
    recording = bytes.fromhex('aa50041600000000' + 'aa500c16' + '00' * 12)
    plugged = plugin('aa50', RecordedPlugin, recording=recording)
    ros.subscribe(SimpitVelocities, 'velocities')
    ros.start(SimpitNode, port=plugged.path, profile='v2')
    ros.next('velocities')
    level, text, told = ros.diagnosed('link', lambda level, *_: level == DiagnosticStatus.WARN)
    assert '4 payload bytes, need 12' in text
    assert int(told['malformed velocities']) >= 1


@pytest.mark.parametrize('throttle', [False, True])
def test_deactivation_gives_back_what_was_taken(ros, plugin, throttle):
    plugged, node = connect(
        ros, plugin, 'v2.3', command_timeout=0.0, release_throttle=throttle)
    ros.publisher(FlightControls, 'command/controls').publish(
        controls(elevator=0.5, throttle=1.0))
    ros.wait_for(lambda: simpit.Throttle(32767) in plugged.commands, 'the throttle')
    node.trigger_deactivate()
    ros.wait_for(lambda: not plugged.channels, 'deregistration')
    assert simpit.Rotation(0, 0, 0, 1) in plugged.commands
    # Handed to the player's lever, the throttle closes: that is the user's choice.
    assert (simpit.Throttle(0) in plugged.commands) is throttle
    assert plugged.session.hold.throttle == (0 if throttle else 32767)
    with ros.changed:
        heard = len(ros.messages['altitude'])
    node.trigger_activate()
    ros.next('altitude')
    assert len(ros.messages['altitude']) > heard


@pytest.mark.parametrize(('parameters', 'reason'), [
    ({}, 'parameter port: it is required'),
    ({'port': 'nonsense://x'}, 'nonsense'),
    ({'port': 'socket://gaming-pc'}, 'expected socket://host:port'),
    ({'port': 'rfc2217://gaming-pc:70000'}, 'with a port of 1..65535'),
    ({'port': '/dev/ttyKSP', 'profile': 'v3'}, 'v3'),
    ({'port': '/dev/ttyKSP', 'channels': ['altitud']}, 'altitud'),
    ({'port': '/dev/ttyKSP', 'profile': 'v0', 'channels': ['velocities']}, 'velocities'),
    ({'port': '/dev/ttyKSP', 'channels': ['2']}, 'channel 2'),
    ({'port': '/dev/ttyKSP', 'baud': 0}, 'baud'),
])
def test_bad_parameters_are_refused_with_a_sentence(ros, parameters, reason):
    node = ros.start(SimpitNode, activate=False, **parameters)
    assert reason in node.failed


# End to end, with the simulated aircraft.


def test_surfaces_are_centred_when_the_commander_of_the_aircraft_is_killed(ros, path):
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    from xplane_bridge.simulation.peers.server import running
    from xplane_bridge.simulation.peers.simpit import SimpitFrontend
    with running(SimpitFrontend('cobs', (f'pty:{path}',))) as server:
        def value(name):
            return server.call(lambda world: world.aircraft.property_value(name))

        ros.subscribe(FlightControls, 'controls', LATCHED)
        ros.start(SimpitNode, port=path, profile='cobs', command_timeout=1.0)
        with process(sys.executable, '-P', '-c', COMMANDER) as commander:
            # JSBSim's elevator is positive with the nose down.
            ros.wait_for(
                lambda: (value('fcs/elevator-cmd-norm'), value('fcs/aileron-cmd-norm'))
                == pytest.approx((-0.25, 0.5), abs=1e-4), 'the surfaces')
            # The plugin reads them back, rotation and throttle in separate packets.
            ros.wait_for(lambda: any(
                (seen.elevator, seen.aileron, seen.throttle)
                == pytest.approx((0.25, 0.5, 0.5), abs=1e-4)
                for seen in ros.messages['controls']), 'the controls in force')
            ros.wait_for(lambda: server.state().phi > 0.1, 'a right bank')
            commander.kill()
        ros.wait_for(lambda: value('fcs/aileron-cmd-norm') == 0.0, 'centred ailerons')
        ros.wait_for(lambda: value('fcs/elevator-cmd-norm') == 0.0, 'a centred elevator')
        assert value('fcs/throttle-cmd-norm') == pytest.approx(0.5, abs=1e-4)


def test_node_and_simulator_as_processes_survive_each_other(ros, path):
    """The simulator is frozen, killed and restarted; the node carries on."""
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    ros.subscribe(SimpitAltitude, 'altitude')

    def simulator():
        return process('simulator', 'simpit', '--port', f'pty:{path}', '--profile', 'v2')

    with process('simpit_node', '--ros-args', '-p', f'port:={path}', '-p', 'profile:=v2') as node:
        with simulator() as child:
            assert 1400.0 < ros.next('altitude').sea_level < 1600.0
            child.send_signal(signal.SIGSTOP)
            ros.diagnosed('telemetry', lambda level, *_: level == DiagnosticStatus.STALE)
            child.send_signal(signal.SIGCONT)
            ros.next('altitude')
            child.kill()
            child.wait()
            # Its name outlives it, and would be the next pseudo-terminal that any process makes.
            os.unlink(path)
            ros.diagnosed('link', lambda level, *_: level == DiagnosticStatus.WARN)
        with simulator():
            ros.next('altitude', 3)
            node.send_signal(signal.SIGTERM)
            assert node.wait(60) == 0
