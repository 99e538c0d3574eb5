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

"""simulator_node: time, disturbances and lockstep, through real bridges and real sockets."""

from contextlib import ExitStack
import math
import signal
import threading
import time

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from geometry_msgs.msg import TwistWithCovarianceStamped
from masked import masked
from rclpy.node import Node
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, NavSatFix
from std_srvs.srv import SetBool, Trigger

from harness import DEADLINE, free_port, Harness, process
from xplane_bridge.bridges.fdmdata.node import FdmdataNode
from xplane_bridge.bridges.nodes.common.diagnostics import OK, WARN
from xplane_bridge.bridges.sessions.left import Left
from xplane_bridge.bridges.xpc.node import XpcNode
from xplane_bridge.bridges.xplane_udp.node import XplaneUdpNode
from xplane_bridge.msg import AirData, FlightControls
from xplane_bridge.simulation.node import SimulatorNode
from xplane_bridge.simulation.peers.registry import SIMULATORS
from xplane_bridge.srv import Linearize, Trim

FRAME = 1.0 / 60.0


def seconds(message):
    return message.clock.sec + message.clock.nanosec * 1e-9


@pytest.fixture
def flying(ros):
    """Return a function that starts simulator_node, and xpc_node if asked."""
    ros.subscribe(Clock, '/clock')

    def start(bridge=None, **parameters):
        port = free_port()
        ros.simulator = ros.start(SimulatorNode, port=port, **parameters)
        if bridge is not None:
            ros.subscribe(NavSatFix, '/fix')
            ros.bridge = ros.start(XpcNode, port=port, **bridge)
        return ros

    return start


def pause(ros, on):
    response = ros.call(SetBool, '/simulator/pause', SetBool.Request(data=on))
    assert response.success
    return response


# Time


def test_time_goes_at_the_speed_asked_for(flying):
    ros = flying(speed=5.0)
    first = seconds(ros.next('/clock'))
    # 180 frames are three simulated seconds, or more where a loaded machine made longer ones.
    assert seconds(ros.next('/clock', 180)) - first > 179 * FRAME - 1e-6

    def at_speed(level, message, values):
        return 4.5 < float(values['real-time factor']) < 5.5

    # Over any second in which the machine was not busy.
    ros.diagnosed('simulation', at_speed)


def test_the_flight_model_has_a_step_for_each_frame(flying):
    ros = flying(frame_rate=250.0, fleet=['c172p'])
    flown = ros.simulator.server.call(lambda world: world.flown)
    assert [one.dt for one in flown] == [1 / 250] * 2


def test_a_pause_is_answered_and_stepped_through(flying):
    ros = flying(bridge={'rate': 20.0})
    ros.next('/fix')
    pause(ros, True)
    stood = seconds(ros.next('/clock', 2))
    place = ros.next('/fix', 2)
    assert seconds(ros.next('/clock', 20)) == stood
    assert ros.next('/fix', 3).longitude == place.longitude
    assert ros.diagnosed('simulation', node=ros.simulator)[1] == 'paused'
    for count in (1, 2):
        response = ros.call(Trigger, '/simulator/step', Trigger.Request())
        assert response.success, response.message
        assert seconds(ros.next('/clock', 2)) == pytest.approx(stood + count * FRAME, abs=1e-6)
    # 51 m/s eastward for two frames is 1.7 m.
    moved = (ros.next('/fix', 2).longitude - place.longitude) * 111_320.0 * math.cos(
        math.radians(place.latitude))
    assert 1.0 < moved < 3.0
    pause(ros, False)
    ros.next('/clock', where=lambda message: seconds(message) > stood + 0.2)
    refused = ros.call(Trigger, '/simulator/step', Trigger.Request())
    assert not refused.success
    assert 'not paused' in refused.message


def test_it_pauses_at_the_time_asked_for_and_goes_on_to_the_next(flying):
    ros = flying(speed=4.0, pause_at=0.5)
    for until in (0.5, 1.25):
        assert ros.change(ros.simulator, pause_at=until).successful
        ros.next('/clock', where=lambda message, until=until: seconds(message) > until - 0.01)
        stood = seconds(ros.next('/clock', 5))
        # Frames for which the machine was late are longer, up to 1/19 s.
        assert until - FRAME / 2 < stood < until + 0.06
        assert seconds(ros.next('/clock', 5)) == stood
    assert ros.change(ros.simulator, pause_at=math.nan).successful
    ros.next('/clock', where=lambda message: seconds(message) > 1.5)


def test_a_reset_begins_the_flight_anew_and_time_goes_on(flying):
    ros = flying(bridge={'rate': 20.0}, speed=4.0, longitude_deg=9.0, wind=[0.0, 12.0, 0.0],
                 engine_failed=True)
    far = ros.next('/fix', where=lambda message: message.longitude > 9.001)
    before = seconds(ros.next('/clock'))
    assert ros.call(Trigger, '/simulator/reset', Trigger.Request()).success
    ros.next('/fix', where=lambda message: message.longitude < far.longitude)
    assert seconds(ros.next('/clock')) > before
    state = ros.simulator.server.state()
    assert state.wind_north == pytest.approx(12.0, abs=0.1)
    assert not state.engines[0].running


def test_nodes_that_use_simulated_time_follow_it(flying):
    ros = flying(speed=3.0)
    follower = Node('follower', context=ros.context, parameter_overrides=[
        Parameter('use_sim_time', value=True)])
    ros._spin(follower)

    def now():
        return follower.get_clock().now().nanoseconds * 1e-9

    ros.wait_for(lambda: now() > 0.0, 'simulated time')
    ros.next('/clock', 10)
    assert now() == pytest.approx(seconds(ros.messages['/clock'][-1]), abs=0.5)
    pause(ros, True)
    ros.next('/clock', 5)
    stood = now()
    ros.next('/clock', 10)
    assert now() == stood == pytest.approx(seconds(ros.messages['/clock'][-1]), abs=1e-6)


def test_a_bridge_watches_commands_by_real_time_while_the_simulated_one_stands(flying):
    ros = flying(bridge={'use_sim_time': True, 'command_timeout': 0.3})
    ros.next('/fix')
    pause(ros, True)
    ros.publisher(FlightControls, '/command/controls').publish(
        masked(FlightControls, elevator=0.25, aileron=0.0, rudder=0.0, throttle=0.5))
    ros.wait_for(
        lambda: ros.simulator.server.state().elevator == pytest.approx(0.25), 'the command')
    # Neutral, by the watchdog; and diagnostics still arrive once per second.
    ros.wait_for(lambda: ros.simulator.server.state().elevator == 0.0, 'the watchdog')
    ros.diagnosed('commands', lambda level, message, _: 'stopped' in message)


def test_a_node_that_is_not_active_hangs(flying):
    ros = flying()
    ros.next('/clock')
    ros.run_in(ros.simulator, ros.simulator.trigger_deactivate)
    frames = ros.simulator.server.simulation.frames
    ros.diagnosed('simulation', lambda level, message, _: message == 'not active')
    assert ros.simulator.server.simulation.frames == frames
    ros.run_in(ros.simulator, ros.simulator.trigger_activate)
    ros.next('/clock', 3)


def test_time_goes_on_through_clean_up_and_configuration(flying):
    ros = flying()
    before = seconds(ros.next('/clock', 5))

    def age(world):
        world.total_running_time += 1e6

    ros.simulator.server.call(age)
    for name in ('deactivate', 'cleanup', 'configure', 'activate'):
        ros.run_in(ros.simulator, getattr(ros.simulator, f'trigger_{name}'))
    # What went by before does not count as flown at once.
    told, = (status for status in ros.simulator.diagnose() if status.name == 'simulation')
    assert float(dict(told.values)['real-time factor']) < 100.0
    assert seconds(ros.next('/clock', 3)) > before


def test_two_clocks_are_told(flying):
    ros = flying(bridge={'stamp': 'simulator'})
    ros.next('/fix')
    ros.diagnosed('clock', lambda level, message, _: level == WARN and 'publish_clock' in message)


# Disturbances


def test_wind_blows_from_now_on(flying):
    ros = flying(bridge={'rate': 50.0}, heading_deg=0.0)
    ros.subscribe(AirData, '/air_data')
    ros.subscribe(TwistWithCovarianceStamped, '/fix_velocity')
    calm = ros.next('/air_data')
    assert math.hypot(calm.wind.x, calm.wind.y) < 0.1
    assert ros.change(ros.simulator, wind=[6.0, -8.0, 0.5]).successful
    blown = ros.next('/air_data', where=lambda message: message.wind.x > 5.0)
    ros.subscribe(TwistWithCovarianceStamped, '/wind')
    wind = ros.next('/wind').twist.twist.linear
    assert (wind.x, wind.y, wind.z) == pytest.approx((6.0, -8.0, 0.5), abs=0.05)
    assert (blown.wind.x, blown.wind.y, blown.wind.z) == pytest.approx((6.0, -8.0, 0.5), abs=0.05)
    # It pushes a northbound aircraft to the east.
    ros.next('/fix_velocity', where=lambda message: message.twist.twist.linear.x > 1.0)
    refused = ros.change(ros.simulator, wind=[300.0, 0.0, 0.0])
    assert not refused.successful
    assert 'wind' in refused.reason


def test_turbulence_shakes_from_now_on(flying):
    ros = flying(bridge={'rate': 50.0}, speed=4.0)
    ros.subscribe(Imu, '/imu/data')
    assert abs(ros.next('/imu/data', 20).angular_velocity.x) < 0.005
    assert ros.change(ros.simulator, turbulence=[15.0, 6.0]).successful
    ros.next('/imu/data', where=lambda message: abs(message.angular_velocity.x) > 0.03)
    assert not ros.change(ros.simulator, turbulence=[15.0, 9.0]).successful


def test_a_failed_engine_is_started_again(flying):
    ros = flying()

    def running():
        return ros.simulator.server.state().engines[0].running

    assert running()
    assert ros.change(ros.simulator, engine_failed=True).successful
    ros.wait_for(lambda: not running(), 'the engine to stop')
    assert ros.change(ros.simulator, engine_failed=False).successful
    ros.wait_for(running, 'the engine to run')


def test_one_engine_of_several_fails_and_runs_again(flying):
    ros = flying(model='737')

    def running():
        return [engine.running for engine in ros.simulator.server.state().engines]

    assert running() == [True, True]
    assert ros.change(ros.simulator, failed_engines=[1]).successful
    ros.wait_for(lambda: running() == [True, False], 'the right engine to stop')
    refused = ros.change(ros.simulator, failed_engines=[2])
    assert not refused.successful
    assert 'there is no engine 2' in refused.reason
    assert ros.change(ros.simulator, failed_engines=[0, 1]).successful
    ros.wait_for(lambda: running() == [False, False], 'both to stop')


def test_the_flight_is_trimmed_where_it_is_and_what_cannot_be_is_said(flying):
    ros = flying()
    wanted = Trim.Request(
        fields=Trim.Request.ALTITUDE_MSL | Trim.Request.AIRSPEED | Trim.Request.BANK,
        altitude_msl=2000.0, airspeed=55.0, bank=0.4)
    found = ros.call(Trim, '/trim', wanted)
    assert found.success, found.message
    assert (found.roll, found.flight_path_angle) == (0.4, 0.0)
    assert 0.5 < found.controls.throttle < 1.0
    assert list(found.engines.throttle) == [found.controls.throttle]
    state = ros.simulator.server.state()
    assert state.altitude_msl == pytest.approx(2000.0, abs=1.0)
    assert state.cas == pytest.approx(55.0, abs=0.5)
    assert state.phi == pytest.approx(0.4, abs=0.02)
    assert state.elevator_trim == found.controls.elevator_trim
    refused = ros.call(Trim, '/trim', Trim.Request(fields=Trim.Request.AIRSPEED, airspeed=150.0))
    assert not refused.success
    assert 'c172p cannot be trimmed at 150.0 m/s and 2000 m: accelerations left: forward' in (
        refused.message)
    assert ros.simulator.server.state().cas < 60.0


def test_linearising_leaves_the_flight_as_it_is_to_the_last_bit(flying):
    ros = flying()
    assert ros.call(SetBool, '/simulator/pause', SetBool.Request(data=True)).success
    before = ros.simulator.server.state()
    model = ros.call(Linearize, '/linearize', Linearize.Request())
    assert model.success, model.message
    assert model.method == 'differences'
    assert ros.simulator.server.state() == before
    states, inputs = list(model.state_names), list(model.input_names)
    assert inputs == ['elevator', 'aileron', 'rudder', 'throttle']
    assert model.state[states.index('altitude_msl')] == before.altitude_msl
    assert (len(model.a), len(model.b)) == (len(states) ** 2, len(states) * len(inputs))
    assert len(model.c) == len(model.output_names) * len(states)
    assert model.b[states.index('roll_rate') * 4 + inputs.index('aileron')] > 1.0
    refused = ros.call(Linearize, '/linearize', Linearize.Request(method='guessing'))
    assert not refused.success
    assert 'expected jsbsim, differences' in refused.message


def test_a_link_that_is_down_is_noticed_and_comes_back(flying):
    ros = flying(bridge={})
    ros.next('/fix')
    assert ros.change(ros.simulator, link_down=True).successful
    ros.diagnosed('link', lambda level, message, _: 'link_down' in message, ros.simulator)
    ros.diagnosed('peer', lambda level, message, _: level == WARN)
    before = seconds(ros.next('/clock'))
    assert seconds(ros.next('/clock', 10)) > before
    assert ros.change(ros.simulator, link_down=False).successful
    ros.next('/fix', 5)
    ros.diagnosed('peer', lambda level, message, _: level == OK, ros.bridge)


# Protocols


@pytest.mark.parametrize('sim', [name for name in SIMULATORS if name != 'xpc'])
def test_a_bridge_meets_every_simulator(ros, sim):
    port, data_port = free_port(), free_port()
    ros.subscribe(NavSatFix, '/fix')
    ros.start(SimulatorNode, sim=sim, port=port, data_port=data_port, longitude_deg=9.5)
    if sim == 'fdmdata':
        ros.start(FdmdataNode, data_port=port, controls_port=port + 1)
    else:
        ros.start(XplaneUdpNode, port=port, data_port=data_port,
                  version=str(SIMULATORS[sim].version))
    assert ros.next('/fix', 3).longitude == pytest.approx(9.5, abs=0.1)


@pytest.mark.parametrize(('parameters', 'sentence'), [
    ({'sim': 'fdmdata', 'lockstep': True}, 'no time in its protocol'),
    ({'airspeed': 5.0}, 'cannot be trimmed'),
    ({'model': 'no_such'}, 'no_such'),
    ({'wind': [1.0, 2.0]}, '3 numbers'),
    ({'turbulence': [1.0, 2.5]}, 'severity'),
    ({'gust': [1.0, 0.0]}, 'parameter gust: expected 6 numbers'),
    ({'gust': [0.0, 0.0, 1.0, -9.0, 0.0, 0.0]},
     'parameter gust: length: expected above 0 and at most 100000 m, got -9'),
    ({'wind_shear': [5.0, 0.0, 9.0, 0.0]},
     'parameter wind_shear: roughness: expected 0.0001 to 5 m, got 9'),
    ({'plant': ['masss=900']}, "parameter plant: plant: there is no 'masss'"),
    ({'plant': ['mass=10']}, 'c172p: plant.mass: expected at least the empty mass'),
    ({'face': 'xpc'}, 'parameter face: it is now called sim'),
    ({'altitude': 1500.0}, 'parameter altitude: it is now called altitude_msl; that of '
                           'autopilot_node belongs in a section with the name of that node'),
    ({'telemetry': 'wire'}, "parameter telemetry: 'wire' is now called bridge"),
])
def test_what_cannot_be_is_refused_with_a_sentence(ros, parameters, sentence):
    node = ros.start(SimulatorNode, port=free_port(), **parameters)
    assert sentence in node.failed


@pytest.mark.parametrize('sim', SIMULATORS)
@pytest.mark.parametrize(('parameters', 'sentence'), [
    ({'port': 99999}, 'parameter port: expected 0 to 65534, got 99999'),
    ({'port': -1}, 'parameter port: expected 0 to 65534, got -1'),
    ({'controls_port': 99999}, 'parameter controls_port: expected 0 to 65535, got 99999'),
    ({'data_port': 99999}, 'parameter data_port: expected 1 to 65535, got 99999'),
    ({'host': 'no.such.host.invalid'}, "host 'no.such.host.invalid': no IPv4 address found"),
    ({'host': '192.0.2.1'}, 'this machine has no such address'),
])
def test_wrong_addresses_and_ports_are_refused_by_every_simulator(ros, sim, parameters, sentence):
    node = ros.start(SimulatorNode, sim=sim, **{'port': free_port()} | parameters)
    assert sentence in node.failed


def test_where_x_plane_6_sends_rows_has_to_be_an_address(ros):
    node = ros.start(
        SimulatorNode, sim='xplane6', port=free_port(), data_host='no.such.host.invalid')
    assert 'no IPv4 address found' in node.failed


@pytest.mark.parametrize('rows', [[3, 9999], ['x']])
def test_rows_have_to_be_rows(ros, rows):
    assert 'parameter rows: ' in ros.start(SimulatorNode, sim='xplane12', rows=rows).failed


def test_a_port_in_use_is_said(ros):
    port = free_port()
    ros.start(SimulatorNode, port=port)
    assert str(port) in ros.start(SimulatorNode, port=port, namespace='other').failed


def test_as_a_process_it_ends_when_told():
    with process('simulator_node', '--ros-args', '-p', f'port:={free_port()}') as child:
        assert 'X-Plane Connect (rc6) of a c172p' in child.stdout.readline()
        child.terminate()
        assert child.wait(DEADLINE) == 0


# The end of both ends


def together(ros, sim, **more):
    """Return a simulator and its bridge, with controls taken."""
    port, data_port = free_port(), free_port()
    simulator = ros.start(SimulatorNode, sim=sim, port=port, data_port=data_port, **more)
    if sim == 'fdmdata':
        bridge = ros.start(FdmdataNode, data_port=port, controls_port=port + 1)
    elif sim == 'xpc':
        bridge = ros.start(XpcNode, port=port)
    else:
        bridge = ros.start(XplaneUdpNode, port=port, data_port=data_port,
                           version=str(SIMULATORS[sim].version))
    ros.wait_for(lambda: bridge.session.peer_state is bridge.good, 'the peer')
    ros.publisher(FlightControls, '/command/controls').publish(
        masked(FlightControls, elevator=0.2, throttle=0.6))
    ros.wait_for(lambda: simulator.server.call(
        lambda world: world.aircraft.property_value('fcs/elevator-cmd-norm')), 'the elevator')
    return simulator, bridge


@pytest.mark.parametrize('sim', ['xplane12', 'fdmdata'])
def test_ended_together_the_simulator_goes_on_until_all_is_given_back(ros, sim, capfd):
    simulator, bridge = together(ros, sim)

    def end():
        simulator.leave()
        simulator.shut_down()

    ending = threading.Thread(target=end)
    ending.start()
    bridge.leave()
    ending.join(DEADLINE)
    assert (bridge.left.unconfirmed, bridge.exit_code) == ((), 0)
    assert simulator.server.call(
        lambda world: world.aircraft.property_value('fcs/elevator-cmd-norm')) == 0.0
    assert 'may stay as it was left' not in capfd.readouterr().err


def test_an_interrupt_of_all_ends_each_with_success(ros):
    """As Ctrl-C of bringup.launch.py does; test/house/test_launch.py does it by launch itself."""
    port = free_port()
    ros.subscribe(FlightControls, '/command/controls')
    with ExitStack() as stack:
        started = [
            stack.enter_context(process(executable, '--ros-args', '-p', parameter))
            for executable, parameter in (
                ('simulator_node', f'port:={port}'), ('xpc_node', f'port:={port}'),
                ('autopilot_node', 'engage:=true'))]
        ros.next('/command/controls', 20)
        for one in started:
            one.send_signal(signal.SIGINT)
        for one in started:
            output, _ = one.communicate(timeout=DEADLINE)
            assert one.returncode == 0, output
            assert 'may stay as it was left' not in output
            assert 'ERROR' not in output


@pytest.mark.parametrize('sim', ['xpc', 'xplane12', 'fdmdata'])
def test_a_simulator_that_has_ended_is_owed_nothing(ros, sim, capfd):
    simulator, bridge = together(ros, sim)
    simulator.shut_down()
    bridge.leave()
    assert (bridge.left, bridge.exit_code) == (Left(has_ended=True), 0)
    said = capfd.readouterr().err
    assert 'has ended: nothing listens at 127.0.0.1:' in said
    assert 'may stay' not in said


def test_nobody_is_waited_for_if_nobody_asks_or_somebody_insists(ros):
    simulator, _ = together(ros, 'xpc')
    alone = ros.start(SimulatorNode, port=free_port(), namespace='other', publish_clock=False)
    began = time.monotonic()
    alone.leave()
    simulator.hurry()
    simulator.leave()
    assert time.monotonic() < began + 0.9


# Lockstep


def fly_in_lockstep(until):
    """Fly an X-Plane 9 from the start, in processes; return fix and imu/data, each by stamp."""
    port, data_port = free_port(), free_port()

    def start(stack, executable, *parameters):
        arguments = [word for parameter in parameters for word in ('-p', parameter)]
        stack.enter_context(process(executable, '--ros-args', *arguments))

    with Harness() as ros, ExitStack() as stack:
        ros.subscribe(NavSatFix, '/fix', 5000)
        ros.subscribe(Imu, '/imu/data', 5000)
        start(stack, 'simulator_node', 'sim:=xplane9', f'port:={port}', f'data_port:={data_port}',
              'lockstep:=true', 'publish_clock:=false', 'seed:=3', 'turbulence:=[15.0, 5.0]',
              'wind:=[4.0, -3.0, 0.0]')
        # The simulation waits for commands; the watchdog does not, and would command instead.
        start(stack, 'xplane_udp_node', f'port:={port}', f'data_port:={data_port}', 'version:=9',
              'rate:=100.0', 'pacing:=0.0', 'command_rows:=joystick', 'stamp:=simulator',
              'command_timeout:=0.0')
        for topic in ('/fix', '/imu/data'):
            ros.next(topic)
        start(stack, 'autopilot_node', 'lockstep:=true', 'engage:=true', 'true_heading_deg:=120.0')
        ros.next('/fix', timeout=60.0, where=lambda m: stamp(m) >= until)
        return [
            {stamp(message): figures(message) for message in ros.messages[topic]
             if stamp(message) < until}
            for topic, figures in (
                ('/fix', lambda m: (m.latitude, m.longitude, m.altitude)),
                ('/imu/data', lambda m: (m.orientation.x, m.orientation.y, m.orientation.z,
                                         m.angular_velocity.x)))
        ]


def stamp(message):
    return message.header.stamp.sec + message.header.stamp.nanosec * 1e-9


def test_two_flights_in_lockstep_are_the_same_to_the_last_bit():
    """Of one of the X-Planes that test_ros_flight.py does not fly."""
    until = 3.0
    first, second = (fly_in_lockstep(until) for _ in range(2))
    fixes, rates = first
    # Every frame was published.
    assert len(fixes) == len(rates) == pytest.approx(until / FRAME, abs=2)
    assert first == second
    # It was a real flight: disturbed, and turned by the autopilot.
    assert max(abs(rate) for _, _, _, rate in rates.values()) > 0.03
    latitudes = [latitude for latitude, _, _ in fixes.values()]
    assert latitudes[-1] < latitudes[0]
