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


"""simulator_node with telemetry: direct, without a bridge; and JSBSim's properties."""

import math
from pathlib import Path
import re

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from masked import masked
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import FluidPressure, Imu, NavSatFix, Temperature
from std_msgs.msg import Float64
from std_srvs.srv import SetBool, Trigger

from xplane_bridge.bridges.conversions import simulated
from xplane_bridge.bridges.nodes.common.diagnostics import WARN
from xplane_bridge.bridges.nodes.common.latched import LATCHED
from xplane_bridge.bridges.nodes.vehicle.controls import EXPERIMENT
from xplane_bridge.common.data import folder
from xplane_bridge.msg import AirData, EngineControls, FlightControls
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.node import SimulatorNode
from xplane_bridge.srv import GetProperties, ListProperties, SetProperties

AIRCRAFT = Path(__file__).resolve().parents[3] / 'xplane_bridge' / 'data' / 'aircraft'
FRAME = 1.0 / 60.0
FRAMES = 90


def stamp(message):
    return message.header.stamp.sec + message.header.stamp.nanosec * 1e-9


def command_of(frame):
    """Return a command that moves all controls, with numbers that float32 would round."""
    return {'elevator': 0.1 * math.sin(frame / 10.0), 'aileron': 0.1 * math.cos(frame / 7.0),
            'rudder': 0.01 * math.pi, 'throttle': 0.7 + 0.1 * math.sin(frame / 3.0)}


def test_in_lockstep_topics_have_the_aircrafts_own_bits(ros):
    for kind, topic in ((Imu, '/imu/data'), (NavSatFix, '/fix'), (AirData, '/air_data'),
                        (FlightControls, '/controls'), (Odometry, '/odom'), (Clock, '/clock'),
                        (Temperature, '/temperature'), (FluidPressure, '/static_pressure')):
        ros.subscribe(kind, topic, 1000)
    node = ros.start(SimulatorNode, telemetry='direct', lockstep=True, undulation=0.0,
                     command_timeout=0.0, port=1)
    # Nothing listens, so that the port, which only root may open, does not matter.
    assert not node.failed
    aircraft = Aircraft()
    aircraft.set_wind(0.0, 0.0)
    aircraft.set_turbulence(0.0, 0)
    commands = ros.publisher(FlightControls, '/command/controls')
    for frame in range(FRAMES):
        def arrived(at=frame * FRAME):
            return all([m for m in ros.messages[topic][-20:] if abs(stamp(m) - at) < 1e-3]
                       for topic in ('/imu/data', '/fix', '/air_data', '/controls',
                                     '/temperature', '/static_pressure'))

        ros.wait_for(arrived, f'frame {frame}')
        imu, fix, air, controls = (
            ros.messages[topic][-1] for topic in ('/imu/data', '/fix', '/air_data', '/controls'))
        state = simulated.vehicle_state(aircraft.state, 0.0)
        assert (fix.latitude, fix.longitude, fix.altitude) == (
            state.latitude_deg, state.longitude_deg, state.altitude_msl), frame
        q = imu.orientation
        assert (q.w, q.x, q.y, q.z) == state.orientation
        for vector, known in ((imu.angular_velocity, state.angular_velocity),
                              (imu.linear_acceleration, state.specific_force)):
            assert (vector.x, vector.y, vector.z) == known
        assert (air.indicated_airspeed, air.angle_of_attack, air.sideslip) == (
            state.air.indicated_airspeed, state.air.angle_of_attack, state.air.sideslip)
        rankine, psf = (aircraft.property_value(f'atmosphere/{name}') for name in ('T-R', 'P-psf'))
        assert ros.messages['/temperature'][-1].temperature == pytest.approx(
            rankine / 1.8 - 273.15, abs=1e-6)
        assert ros.messages['/static_pressure'][-1].fluid_pressure == pytest.approx(
            psf * 47.880259, rel=1e-6)
        assert (controls.elevator, controls.throttle, controls.elevator_trim) == (
            state.controls.elevator, state.controls.throttle, state.controls.elevator_trim)
        given = command_of(frame)
        commands.publish(masked(FlightControls, **given))
        aircraft.set_controls(**given)
        aircraft.advance(FRAME)
    # One stamp a frame, no frame left out, and /clock not behind a message.
    stamps = sorted({round(stamp(m) * 60.0) for m in ros.messages['/imu/data']})
    assert stamps[:FRAMES] == list(range(FRAMES))
    assert max(m.clock.sec + m.clock.nanosec * 1e-9 for m in ros.messages['/clock']) >= (
        stamp(ros.messages['/imu/data'][-1]) - 1e-6)


def test_what_is_beyond_its_envelope_is_in_diagnostics_and_kept_for_who_comes_later(
    ros, tmp_path
):
    fast = tmp_path / 'fast.yaml'
    fast.write_text((folder('gains') / 'c172p.yaml').read_text() + """
    airframe:
      never_exceed_speed: 40.0
""")
    node = ros.start(SimulatorNode, telemetry='direct', gains=str(fast))
    ros.diagnosed('simulation', lambda level, message, _: level == WARN and re.fullmatch(
        r'running; beyond the envelope at \d+\.\d s: airspeed 51\.\d m/s, beyond 40\.0 m/s',
        message), node)
    ros.subscribe(DiagnosticArray, '/exceedances', LATCHED)
    worst, = ros.next('/exceedances').status
    assert (worst.level, worst.message[:12]) == (DiagnosticStatus.WARN, 'airspeed 51.')


def test_commands_are_watched_refused_and_given_back(ros):
    ros.subscribe(FlightControls, '/controls')
    ros.subscribe(NavSatFix, '/fix')
    ros.subscribe(NavSatFix, '/datum', LATCHED)
    node = ros.start(SimulatorNode, telemetry='direct', speed=2.0, command_timeout=0.2,
                     datum=[47.0, 8.0, 0.0], undulation=50.0)
    before = ros.next('/controls')
    assert ros.messages['/datum'][0].altitude == pytest.approx(50.0, abs=0.1)
    commands = ros.publisher(FlightControls, '/command/controls')
    commands.publish(masked(FlightControls, elevator=2.0))
    ros.diagnosed('refused', lambda level, message, _: '1 command refused' in message, node)
    commands.publish(masked(
        FlightControls, elevator=0.25, throttle=0.9, brake_left=0.5, elevator_trim=0.125))
    moved = ros.next('/controls', where=lambda message: message.elevator == 0.25)
    assert (moved.throttle, moved.brake_left, moved.elevator_trim) == (0.9, 0.5, 0.125)
    # Neutral by the watchdog: only what commands have moved.
    left = ros.next('/controls', where=lambda message: message.elevator == 0.0)
    assert (left.throttle, left.brake_left) == (0.9, 0.5)
    ros.diagnosed('commands', lambda level, message, values: (
        'stopped' in message and 'throttle' in values['taken']), node)
    assert ros.change(node, on_command_timeout='release', command_timeout=0.1).successful
    commands.publish(masked(FlightControls, elevator=-0.25))
    ros.next('/controls', where=lambda message: message.elevator == -0.25)
    back = ros.next('/controls', where=lambda message: message.elevator != -0.25)
    assert (back.elevator, back.throttle, back.brake_left, back.elevator_trim) == (
        before.elevator, before.throttle, before.brake_left, before.elevator_trim)
    ros.publisher(EngineControls, '/command/engines').publish(
        masked(EngineControls, throttle=[0.5], mixture=[0.75]))
    ros.next('/controls', where=lambda message: message.throttle == 0.5)
    # A pause, a step, and a new flight, as with a wire.
    assert ros.call(SetBool, '/simulator/pause', SetBool.Request(data=True)).success
    stood = ros.next('/fix', 3)
    assert ros.call(Trigger, '/simulator/step', Trigger.Request()).success
    after = ros.next('/fix', where=lambda message: stamp(message) > stamp(stood))
    assert stamp(after) - stamp(stood) == pytest.approx(FRAME, abs=1e-6)
    assert after.longitude > stood.longitude
    assert ros.call(Trigger, '/simulator/reset', Trigger.Request()).success
    ros.next('/fix', where=lambda message: message.longitude == 8.5)
    # What was taken is given back by deactivation too.
    assert ros.call(SetBool, '/simulator/pause', SetBool.Request(data=False)).success
    assert ros.change(node, command_timeout=0.0).successful
    commands.publish(masked(FlightControls, aileron=0.5))
    ros.next('/controls', where=lambda message: message.aileron == 0.5)
    ros.run_in(node, node.trigger_deactivate)
    assert node.server.state().aileron == 0.0


def test_two_nodes_that_command_at_once_are_named(ros):
    ros.subscribe(FlightControls, '/controls')
    node = ros.start(SimulatorNode, telemetry='direct', command_timeout=0.0)
    ros.next('/controls')
    command = masked(FlightControls, elevator=0.25)
    mine = ros.publisher(FlightControls, '/command/controls')
    # What a scenario commands itself is no controller's.
    others = [Node(name, context=ros.context) for name in (EXPERIMENT, 'other')]
    for one in others:
        one.create_publisher(FlightControls, '/command/controls', 1)
    ros.wait_for(lambda: node.count_publishers('/command/controls') == 3, 'three publishers')
    # Before the first command there is nothing to undo.
    assert ros.diagnosed('commands', node=node)[1] == 'watched'
    mine.publish(command)
    ros.diagnosed('commands', lambda level, message, _: (level, message) == (
        DiagnosticStatus.WARN, '2 nodes publish command/controls: /observer, /other; each undoes '
        'what the others command: stop all but one'), node)
    for one in others:
        one.destroy_node()
    ros.diagnosed('commands', lambda level, message, _: message == 'watched', node)


@pytest.mark.parametrize(('parameters', 'sentence'), [
    ({'loss': 0.1}, 'no link that could fail'),
    ({'lockstep': True, 'telemetry_every': 2}, 'telemetry_every'),
    ({'property_topics': ['fcs/elevator-pos-radd']}, 'did you mean fcs/elevator-pos-rad'),
    ({'property_topics': ['a-b', 'a_b']}, 'have the same topic, property/a_b'),
    ({'property_topics': ['-']}, "expected names like fcs/elevator-pos-rad, got '-'"),
    ({'property_topics': [1, 2]}, 'property_topics'),
    ({'property_values': [1.5]}, 'property_values'),
    ({'property_values': ['inertia/pointmass-weight-lbs']}, 'expected name=value'),
    ({'property_values': ['metrics/Sw-sqft=nan']}, 'finite'),
    ({'property_values': ['velocities/vt-fps=1']}, 'property_values: velocities/vt-fps is read-'),
])
def test_what_cannot_be_is_refused_with_a_sentence_too(ros, parameters, sentence):
    assert sentence in ros.start(SimulatorNode, telemetry='direct', **parameters).failed


def test_an_aircraft_of_ones_own_flies(ros):
    ros.subscribe(AirData, '/air_data')
    ros.subscribe(Float64, '/property/aero/coefficient/CL')
    ros.start(
        SimulatorNode, telemetry='direct', aircraft_path=str(AIRCRAFT),
        model='navion', airspeed=53.64, property_topics=['aero/coefficient/CL'])
    assert ros.next('/air_data').indicated_airspeed == pytest.approx(53.64, abs=0.1)
    # That of its weight, at the published dynamic pressure.
    assert ros.next('/property/aero/coefficient/CL').data == pytest.approx(0.406, abs=0.002)


def test_properties_are_topics_a_parameter_and_services(ros):
    area, topic = 'metrics/Sw-sqft', '/property/metrics/Sw_sqft'
    ros.subscribe(Float64, topic)
    ros.subscribe(Float64, '/property/propulsion/engine_0/thrust_lbs')
    node = ros.start(
        SimulatorNode, telemetry='direct', aircraft_path=str(AIRCRAFT),
        model='navion', airspeed=53.64, property_values=[f'{area}=200.0'],
        property_topics=[area, 'propulsion/engine[0]/thrust-lbs'])
    assert ros.next(topic).data == 200.0
    assert ros.next('/property/propulsion/engine_0/thrust_lbs').data > 50.0
    assert ros.change(node, property_values=[f'{area}=250.0']).successful
    ros.next(topic, where=lambda message: message.data == 250.0)
    for value in ('1', 'inf'):
        refused = ros.change(node, property_values=[f'velocities/vt-fps={value}'])
        assert not refused.successful
    found = ros.call(ListProperties, '/list_properties', ListProperties.Request(
        contains='Sw-sqft'))
    assert (found.names[0], found.writable[0], found.values[0]) == (area, True, 250.0)
    read = ros.call(GetProperties, '/get_properties', GetProperties.Request(
        names=['velocities/vt-fps', 'no/such']))
    assert not read.success
    assert "no property 'no/such'" in read.message
    assert read.values[0] > 100.0
    assert math.isnan(read.values[1])
    none = ros.call(GetProperties, '/get_properties', GetProperties.Request())
    assert (none.success, none.message) == (False, 'no property given')
    # Similar names are sought for the first few, as the flight waits.
    many = ros.call(GetProperties, '/get_properties', GetProperties.Request(
        names=['x' * 10_000, *(f'metrics/Sw-sqfu{index}' for index in range(999))]))
    assert (many.message.count('did you mean'), len(many.message) < 1000) == (4, True)

    def write(*names, value=220.0):
        return ros.call(SetProperties, '/set_properties', SetProperties.Request(
            names=names, values=[value] * len(names)))

    assert write(area).success
    for names, value, sentence in (
        ((area, 'velocities/vt-fps'), 230.0, 'read-only'),
        ((area,), math.nan, 'must be finite'),
        (('simulation/terminate',), 1.0, 'refused'),
    ):
        refused = write(*names, value=value)
        assert not refused.success
        assert sentence in refused.message
    # All or none; and a new flight has the parameter's value again.
    assert node.server.call(lambda world: world.aircraft.properties.read([area])) == [220.0]
    assert ros.call(Trigger, '/simulator/reset', Trigger.Request()).success
    ros.next(topic, where=lambda message: message.data == 250.0)
    # One with which it cannot fly leaves a flight without it.
    assert ros.change(node, property_values=[f'{area}=0.01']).successful
    refused = ros.call(Trigger, '/simulator/reset', Trigger.Request())
    assert not refused.success
    assert 'reset without property_values, because navion cannot be trimmed' in refused.message
    ros.next(topic, where=lambda message: message.data == 184.0)
