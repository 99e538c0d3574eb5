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

"""An experiment as a user runs it: flown, recorded, judged and read back."""

import json
import math
import os
from pathlib import Path
import re
import shutil
import signal
import socket
import sys
import time
from types import SimpleNamespace

import experiment_table
import numpy as np
from orders import flown
from process_table import running
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
pytest.importorskip('rosbags', reason='reading back needs rosbags')

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.task import Future
from std_srvs.srv import SetBool

from harness import process
from xplane_bridge.bridges.links.unused_ports import free_ports
from xplane_bridge.commands import experiment as main
from xplane_bridge.common.data import folder
from xplane_bridge.common.units import DEGREE, KNOT
from xplane_bridge.laboratory.experiments import report
from xplane_bridge.laboratory.experiments.settings import Experiment, Files, NOT_FLOWN, PASSED
from xplane_bridge.laboratory.flights.analysis import history as analysis
from xplane_bridge.laboratory.flights.flight import Silent
from xplane_bridge.laboratory.flights.order import Keep, Link, Order
from xplane_bridge.laboratory.flights.recordings.completed import is_unfinished
from xplane_bridge.laboratory.flights.scenario import scenario
from xplane_bridge.laboratory.flights.scenario.start import simulated_start
from xplane_bridge.laboratory.nodes.flight import recorders
from xplane_bridge.laboratory.nodes.flight.bridges import bridge_parameters, release_parameters
from xplane_bridge.laboratory.nodes.flight.flight import RosFlight
from xplane_bridge.laboratory.nodes.flight.observer import RecordedHistory
from xplane_bridge.laboratory.nodes.flight.processes import Processes
from xplane_bridge.laboratory.nodes.flight.vehicle import Vehicle
from xplane_bridge.simulation.peers.registry import SIMULATORS

# Five processes per flight: run in parallel, they would wait for the processor.
pytestmark = pytest.mark.xdist_group('flights')

SHORT = """
duration: {duration}
initial: {{altitude: 1200.0, heading_deg: 200.0, airspeed: 48.0}}
events:
  - {{at: 0.0, controls: {{elevator: 0.08, throttle: 0.7}}, for: 0.5}}
  - {{at: 0.6, engage: true}}
  - {{at: 0.8, turbulence: [15.0, 4]}}
  - {{at: 1.0, change: {{heading_deg: 30.0}}}}
criteria:
  - {{quantity: pitch_deg, statistic: rise, to: 0.8, at_least: 0.3}}
  - {{quantity: roll_deg, statistic: max, from: 1.0, at_least: 1.0}}
  - {{quantity: altitude, statistic: first, at_least: 1195.0, at_most: 1205.0}}
  - {{quantity: heading_deg, statistic: first, at_least: 195.0, at_most: 205.0}}
"""
# Released and engaged again in the middle of the flight.
WITH_TEST_INPUTS = SHORT.replace('criteria:', """
  - {{at: 2.0, doublet: {{axis: elevator, amplitude: 0.1}}, for: 0.5}}
  - {{at: 2.2, 3211: {{axis: aileron, amplitude: 0.05}}, for: 0.7}}
  - {{at: 3.3, engage: true}}
  - {{at: 3.6, engage: false}}
  - {{at: 3.6, trim: {{airspeed: 50.0, bank_deg: 10.0}}}}
criteria:""")


def fly(tmp_path, *arguments, scenario=SHORT, duration=4.0, name='flight', picture=False):
    """Fly it; return exit code and output. A picture takes as long as a short flight."""
    file = tmp_path / f'{name}.yaml'
    file.write_text(scenario.format(duration=duration))
    with process('experiment', '--scenario', str(file), '--output', str(tmp_path / name),
                 *arguments, *(() if picture else ('--no-picture',))) as child:
        output, _ = child.communicate(timeout=200)
    return child.returncode, output


def fly_without_recorder(tmp_path, *arguments, name):
    """Fly WITH_TEST_INPUTS; from its first event until it is flown its recorder is stopped."""
    file = tmp_path / f'{name}.yaml'
    file.write_text(WITH_TEST_INPUTS.format(duration=4.0))
    lines, stopped = [], []
    with process('experiment', '--scenario', str(file), '--output', str(tmp_path / name),
                 '--no-picture', *arguments) as child:
        for line in child.stdout:
            lines.append(line)
            if 'engage' in line and not stopped:
                stopped = running(f'record\0--output\0{tmp_path / name}.mcap')
                for pid in stopped:
                    os.kill(pid, signal.SIGSTOP)
            elif line.startswith('flown '):
                for pid in stopped:
                    os.kill(pid, signal.SIGCONT)
        child.wait(30)
    assert stopped
    return child.returncode, ''.join(lines)


@pytest.mark.parametrize(('sim', 'options'), [
    ('xplane12', ('--lockstep',)), ('fdmdata', ()),
    ('xplane11', ('--delay', '0.01', '--jitter', '0.1', '--loss', '0.02')),
])
def test_a_short_flight_leaves_report_recording_and_figures(tmp_path, sim, options):
    code, output = fly(tmp_path, '--sim', sim, *options)
    leaves_its_results(tmp_path, code, output)
    figures = json.loads((tmp_path / 'flight.json').read_text())['figures']
    rates = figures['rates']['imu/data']
    if '--lockstep' in options:
        assert rates['rate'] == pytest.approx(60.0, rel=0.005)
        return
    assert figures['latency']['loop']['median'] > 0.0
    if options:
        # Of 20 ms, apart from the faults.
        assert rates['longest_gap'] > 0.05


def leaves_its_results(folder, code, output):
    """Check what a flight of SHORT leaves, and says."""
    log = (folder / 'flight.log').read_text()
    assert code == 0, output + log
    assert 'all criteria are met' in output
    assert 'Traceback' not in log
    figures = json.loads((folder / 'flight.json').read_text())
    assert figures['passed']
    assert figures['complete']
    assert len(figures['criteria']) == 4
    # Nothing is exceeded, and somebody has watched it.
    assert figures['figures']['airframe']['exceedances'] == 0
    assert [event['event'] for event in figures['events']][1] == 'engage'
    flight = analysis.load(folder / 'flight.mcap')
    # As the accompanying figures say.
    assert flight.begin == figures['begin']
    time, roll = flight.series['roll'].between(1.0, figures['flown'])
    assert math.degrees(roll.max()) == pytest.approx(figures['criteria'][1]['value'])
    assert (time[1:] >= time[:-1]).all()
    return flight


def test_a_missed_criterion_fails(tmp_path):
    code, output = fly(
        tmp_path, '--sim', 'direct', '--no-record', duration=1.5,
        scenario=SHORT.replace('from: 1.0, at_least: 1.0', 'at_least: 60.0').replace(
        'criteria:', '  - {{at: 1.5, change: {{altitude: 10.0}}}}\ncriteria:'))
    assert code == 1, output
    assert 'MISSED  max of roll_deg at least 60' in output
    assert not (tmp_path / 'flight.mcap').exists()
    figures = json.loads((tmp_path / 'flight.json').read_text())
    assert not figures['passed']
    # An event due at the very end is executed too.
    assert figures['events'][-1]['event'] == 'altitude by +10 m'


DIVE = """
duration: {duration}
initial: {{altitude: 700.0, heading_deg: 90.0, airspeed: 51.4, gains: FAST}}
events:
  - {{at: 0.5, controls: {{elevator: -0.7, throttle: 0.7}}, for: 9.0}}
criteria:
  - {{quantity: airspeed, statistic: max, at_most: 500.0}}
  - {{quantity: airspeed, statistic: max, to: 3.0, at_most: 500.0}}
"""


@pytest.mark.parametrize(('sim', 'options'), [('direct', ('--lockstep',)), ('xplane12', ())])
def test_a_crash_ends_it_and_is_the_verdict(tmp_path, sim, options):
    fast = tmp_path / 'fast.yaml'
    fast.write_text((folder('gains') / 'c172p.yaml').read_text() + """
    airframe:
      never_exceed_speed: 60.0
""")
    code, output = fly(tmp_path, '--sim', sim, *options,
                       scenario=DIVE.replace('FAST', str(fast)), duration=20.0)
    assert code == 1, output
    alone = flown(scenario.load(str(tmp_path / 'flight.yaml')))
    found = json.loads((tmp_path / 'flight.json').read_text())
    assert output.splitlines()[-1].startswith(
        f'  crashed at {found["crash"]["at"]:.1f} s: struck the ground with ')
    assert '  ------  max of airspeed at most 500: not reached; until the crash' in output
    assert '  met     max of airspeed to 3 s at most 500' in output
    assert (found['passed'], found['complete']) == (False, False)
    # Nor is what was beyond the envelope before it passed over.
    known, airframe = alone.result().figures['airframe'], found['figures']['airframe']
    warned = next(one for one in output.splitlines() if one.startswith('  warning: '))
    assert re.match(r'  warning: beyond the envelope at \d+\.\d s: airspeed [\d.]+ m/s, beyond '
                    r'60\.0 m/s$', warned)
    assert airframe['exceedances'] == known['exceedances'] == 1
    assert airframe['never_exceed_speed'] == pytest.approx(
        known['never_exceed_speed'], abs=0.1 if options else 5.0)
    if options:
        # As in one process.
        assert found['crash']['at'] == pytest.approx(alone.crash.at, abs=0.02)
        assert found['crash']['value'] == pytest.approx(alone.crash.value, abs=0.5)
    else:
        assert found['crash']['at'] == pytest.approx(alone.crash.at, abs=1.5)
    assert found['crash']['kind'] == 'struck'
    assert found['flown'] == found['crash']['at']


def test_in_lockstep_the_same_seed_gives_the_same_flight(tmp_path, capsys):
    """Exactly the same, without tolerance."""
    flights, figures = [], []
    for name in ('one', 'two'):
        code, output = fly(
            tmp_path, '--lockstep', '--seed', '7', name=name, scenario=WITH_TEST_INPUTS
        ) if name == 'one' else fly_without_recorder(
            tmp_path, '--lockstep', '--seed', '7', name=name)
        assert code == 0, output
        # Nor on a machine that leaves the recorder no processor time.
        assert ', 0 lost, ' in output, re.findall('recording: .*', output)
        figures.append(json.loads((tmp_path / f'{name}.json').read_text()))
        series = analysis.load(tmp_path / f'{name}.mcap').series
        flights.append([
            dict(zip(*(part.tolist() for part in series[quantity].between(0.0, 4.0)), strict=True))
            for quantity in ('altitude', 'roll', 'heading', 'command_elevator')])
    assert len(flights[0][0]) >= 4 * 60
    for one, other in zip(flights[0], flights[1], strict=True):
        # Short, so that a failure says what was different.
        assert sorted(one.items() ^ other.items())[:4] == []
    # However often a state was sent before its command arrived.
    assert figures[0]['criteria'] == figures[1]['criteria']
    for kind in ('tracking', 'activity', 'rates'):
        assert figures[0]['figures'][kind] == figures[1]['figures'][kind]
    assert figures[0]['figures']['rates']['imu/data']['rate'] == pytest.approx(60.0, rel=0.005)
    there_is_no_verdict_on_half_a_recording(tmp_path / 'one', capsys)
    flies_as_in_one_process(tmp_path / 'one', 7)


def there_is_no_verdict_on_half_a_recording(prefix, capsys):
    """Report on a flight that got further than its recording."""
    said = json.loads(prefix.with_suffix('.json').read_text())
    order = Order(
        scenario.load(f'{prefix}.yaml'), 'xpc', seed=7, link=Link(namespace='/experiment'),
        keep=Keep(recording=str(prefix.with_suffix('.mcap'))))
    through_ros = RosFlight(order, Silent())
    through_ros.close()
    script = flown(order.scenario, 7).script
    script.begin = said['begin']
    newest = said['begin'] + said['flown']

    def reported(**heard):
        """Return the exit code of the flight, in which this was heard last."""
        recorded = RecordedHistory(order.keep.recording, '/experiment', script.begin, heard)
        through_ros._bind({'': SimpleNamespace(
            order=order, script=script, telemetry=None, history=recorded.read,
            lacking=recorded.lacking)})
        made = Experiment(order, Files(log=f'{prefix}.log'), '')
        return report.report(made, through_ros, PASSED)

    assert reported(fix=newest, odom=newest) == PASSED
    assert reported(fix=newest, odom=newest + 0.5) == NOT_FLOWN
    assert 'the recording lacks the end of odom (0.5' in capsys.readouterr().err
    # All is in it, but that was its recorder's to say; others go by the index that it lacks.
    recording = prefix.with_suffix('.mcap')
    os.truncate(recording, recording.stat().st_size - 10)
    assert reported() == NOT_FLOWN
    said = capsys.readouterr().err
    assert 'was not finished by its recorder' in said
    assert f'{recording} is completed up to there, with an index' in said
    assert not is_unfinished(recording)


def flies_as_in_one_process(prefix, seed):
    """Compare a flight in lockstep, through xpc, with that without ROS: what the wire rounds."""
    flight = flown(scenario.load(f'{prefix}.yaml'), seed)
    alone = flight.history()
    through_ros = analysis.load(f'{prefix}.mcap')
    # X-Plane sends these in single precision, in these units.
    wire = {'roll': DEGREE, 'pitch': DEGREE, 'heading': DEGREE, 'airspeed': KNOT}
    # The position is double; two commands differ by what is rounded, times the law's gains. Over
    # seconds neither adds up to more.
    bounds = {'altitude': 1e-5, 'east': 1e-4, 'north': 1e-4} | {
        f'command_{name}': 1e-6 for name in ('elevator', 'aileron', 'rudder', 'throttle')}
    for name in (*wire, *bounds):
        # Until the trim: the gusts after it are others where the state is rounded.
        mine, other = (one.series[name].between(-1.0, 3.59) for one in (alone, through_ros))
        assert len(mine.times) == len(other.times) >= 3.5 * 60
        bound = bounds.get(name) or 2.0 * wire[name] * float(np.spacing(
            np.float32(np.abs(mine.values).max() / wire[name])))
        assert np.abs(mine.values - other.values).max() <= bound, name
        # Single precision seconds, and the first stamp, which is not 0.
        assert np.abs(mine.times - other.times).max() <= 2e-6
    assert [one.at for one in flight.script.occurrences] == pytest.approx(
        [event['at'] for event in json.loads(
            (prefix.with_suffix('.json')).read_text())['events']], abs=2e-6)


def test_a_killed_experiment_leaves_no_process_and_the_next_one_flies(tmp_path):
    file = tmp_path / 'flight.yaml'
    file.write_text(SHORT.format(duration=60))
    namespace = f'/killed_{os.getpid()}'
    with process('experiment', '--scenario', str(file), '--output', str(tmp_path / 'killed'),
                 '--namespace', namespace) as child:
        for line in child.stdout:
            if 'engage' in line:
                break
        assert len(running(namespace)) > 4
        child.kill()
        # The recorder and the others hold no pipe of its own.
        child.communicate(timeout=30)
    # A controller or a simulator that hung would be killed after 4 s, a recorder after 40 s.
    deadline = time.monotonic() + 60.0
    while running(namespace):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    # Its recording is complete, however soon after "engage" that was.
    assert analysis.load(tmp_path / 'killed.mcap').counts[f'{namespace}/imu/data'] > 0
    # In lockstep, as this claims nothing of real time.
    code, output = fly(tmp_path, '--namespace', namespace, '--lockstep', picture=True)
    assert leaves_its_results(tmp_path, code, output).namespace == namespace
    assert (tmp_path / 'flight.png').read_bytes().startswith(b'\x89PNG')


def test_faster_than_real_time(tmp_path):
    code, output = fly(tmp_path, '--speed', '3', '--sim', 'xplane12', duration=2.0)
    # How well it flies, and whether all is recorded, depends on how loaded the machine is.
    assert code in (0, 1) or 'the recording lacks the end of' in output, output
    flight = analysis.load(tmp_path / 'flight.mcap')
    imu = flight.topics['imu/data']
    simulated = imu.stamps[-1] - imu.stamps[0]
    # Real-time factor 3; a loaded machine achieves less.
    assert simulated / (imu.recorded[-1] - imu.recorded[0]) > 1.0


@pytest.mark.parametrize(('arguments', 'sentence'), [
    (('--scenario', 'nosuch'), 'one of circuit, circuit_737, circuit_J3Cub, circuit_T37, '
     'circuit_calm, circuit_light, crossing, encounter, engine_out, formation, '
     'frequency_response, hand_launch, identification, identification_light, link_loss, '
     'multisine, racetrack, robustness, steps, steps_light, turbulence'),
    (('--scenario', 'turbulence', '--host', '127.0.0.1'), 'does not support wind at 15 s'),
    (('--sim', 'fdmdata', '--lockstep'), 'no time in its protocol'),
    (('--namespace', '/'), '--namespace: expected a name'),
    (('--namespace', 'uav-1'), '--namespace: Invalid namespace'),
])
def test_what_cannot_be_flown_is_refused(arguments, sentence, tmp_path):
    with process('experiment', *arguments, '--output', str(tmp_path / 'none')) as child:
        output, _ = child.communicate(timeout=90)
    assert child.returncode == 2
    assert sentence in output
    assert not list(tmp_path.iterdir())


def test_a_process_that_cannot_start_ends_it_at_once_with_its_reason(tmp_path):
    code, output = fly(tmp_path, '--loss', '2')
    assert code == 2
    assert 'simulator_node ended with code 1: cannot configure: parameter loss' in output
    assert 'within' not in output


def test_the_default_names_hold_what_distinguishes_a_flight(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def names(*arguments):
        return main.outputs(['--scenario', 'steps', *arguments])

    assert names('--seed', '5') == [f'xpc_steps_seed5{ending}' for ending in (
        '.mcap', '.png', '.json')]
    assert names('--sim', 'core', '--policy', '/a/my.onnx', '--no-picture') == [
        'core_steps_my_seed0.json']
    # A real simulator flies nothing twice.
    assert re.match(r'xplane12_steps_\d{4}_\d\d_\d\d-\d\d_\d\d_\d\d\.mcap', names(
        '--sim', 'xplane12', '--host', '192.0.2.1')[0])


def test_an_earlier_flight_is_not_written_over(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path('core_steps_seed0.json').write_text('mine')
    assert main.main(['--sim', 'core']) == 2
    assert capsys.readouterr().err == (
        'experiment: core_steps_seed0.json exists; --force overwrites it, --output writes '
        'elsewhere\n')
    assert Path('core_steps_seed0.json').read_text() == 'mine'
    assert os.listdir() == ['core_steps_seed0.json']


def test_what_an_earlier_experiment_left_is_removed(tmp_path):
    (tmp_path / 'a.mcap').mkdir()
    (tmp_path / 'a.mcap' / 'metadata.yaml').touch()
    (tmp_path / 'a.json').touch()
    keep = tmp_path / 'folder'
    keep.mkdir()
    report.clear(Files(
        str(tmp_path / 'a.mcap'), str(keep), str(tmp_path / 'a.json'), str(tmp_path / 'a.log')))
    assert list(tmp_path.iterdir()) == [keep]
    report.clear(Files('', '', '', ''))


REAL = """
duration: {duration}
initial: {{altitude: 2200.0, heading_deg: 200.0, airspeed: 48.0}}
events:
  - {{at: 0.2, engage: true}}
  - {{at: 0.5, change: {{heading_deg: 20.0}}}}
criteria:
  - {{quantity: roll_deg, statistic: max, at_least: 4.0}}
"""


PLACED = REAL + """
  - {{quantity: altitude, statistic: first, at_least: 2180.0, at_most: 2220.0}}
  - {{quantity: heading_deg, statistic: first, at_least: 190.0, at_most: 210.0}}
  - {{quantity: airspeed, statistic: first, at_least: 46.0, at_most: 50.0}}
"""


def test_a_simulator_elsewhere_is_joined_and_initial_applied_by_its_web_api(tmp_path, simulator):
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        web = free.getsockname()[1]
    port = simulator('xplane12', '--heading', '10', '--web-port', str(web))
    code, output = fly(
        tmp_path, '--sim', 'xplane12', '--host', '127.0.0.1', '--port', str(port),
        '--web', f'127.0.0.1:{web}', scenario=PLACED)
    assert code == 0, output
    assert f'127.0.0.1, port {port}' in output
    assert 'initial: X-Plane starts a flight with Aircraft/JSBSim/c172p/c172p.acf' in output


ROLL = """
duration: {duration}
initial: {{parked: true}}
runway: {{heading_deg: 90.0, elevation_msl: 1000.0, length: 1200.0, width: 30.0}}
events:
  - {{at: 0.2, engage: true}}
  - {{at: 0.2, take_off: {{height: 100.0}}}}
  - {{at: 0.5, pattern: {{height: 200.0}}}}
criteria:
  - {{figure: runway.rolling_across, at_most: 5.0}}
  - {{figure: runway.strut, at_least: 0.5, at_most: 3.0}}
  - {{quantity: airspeed, statistic: last, at_least: 5.0}}
  - {{quantity: altitude, statistic: first, at_least: 1040.0, at_most: 1060.0}}
"""


def test_a_take_off_rolls_along_a_runway_of_the_scenario_in_lockstep(tmp_path):
    code, output = fly(
        tmp_path, '--sim', 'direct', '--lockstep', scenario=ROLL, duration=9.0)
    assert code == 0, output


def test_a_simulator_that_goes_ends_the_experiment_with_a_sentence(tmp_path, simulator):
    port = simulator('xpc')
    file = tmp_path / 'flight.yaml'
    file.write_text(REAL.format(duration=60))
    with process('experiment', '--scenario', str(file), '--output', str(tmp_path / 'flight'),
                 '--host', '127.0.0.1', '--port', str(port)) as child:
        said = ''
        for line in child.stdout:
            said += line
            if 'heading by' in line:
                break
        assert 'initial is not applied: only X-Plane 12.4 and later can be placed' in said
        simulator.children[0].kill()
        output, _ = child.communicate(timeout=90)
    assert child.returncode == 2
    assert 'telemetry stopped; ' in output
    assert not json.loads((tmp_path / 'flight.json').read_text())['complete']


def test_a_response_that_is_lost_is_asked_for_again(ros):
    """As when the service has not discovered its client yet."""
    requests = []

    async def answer(request, response):
        requests.append(request)
        if len(requests) == 1:
            await Future()
        response.success = True
        return response

    ros.observer.create_service(
        SetBool, '/autopilot/engage', answer, callback_group=ReentrantCallbackGroup())
    order = Order(scenario.load(scenario.find('steps')), 'xpc')
    vehicle = Vehicle(ros.observer, order, None, Processes(''))
    client = ros.observer.create_client(SetBool, '/autopilot/engage')
    assert vehicle.call(client, SetBool.Request(data=True), 'autopilot/engage').success
    assert len(requests) == 2


def test_two_experiments_do_not_fly_one_vehicle(tmp_path, ros):
    from sensor_msgs.msg import Imu
    ros.observer.create_publisher(Imu, '/experiment/imu/data', 10)
    code, output = fly(tmp_path)
    assert code == 2
    # Found before anything is started, or where discovery takes longer, by a later check.
    assert '/experiment/imu/data in ROS domain ' in output
    assert re.search('(/observer|a node whose name is not known yet), '
                     'expected (nobody before this flight|one): give this one', output)


def test_the_recorder_is_rosbag2_where_all_of_it_is(monkeypatch):
    monkeypatch.setattr(shutil, 'which', lambda name: f'/opt/{name}')
    found = dict.fromkeys(['ros2bag', 'rosbag2_storage_mcap'], '/opt')
    monkeypatch.setattr(recorders, 'get_packages_with_prefixes', lambda: found)
    assert not recorders.needed()
    assert recorders.command('a.mcap', '/uav') == [
        '/opt/ros2', 'bag', 'record', '--storage', 'mcap', '--output', 'a.mcap', '--regex',
        '^(/uav/.*|/diagnostics|/clock|/tf|/tf_static)$']
    del found['rosbag2_storage_mcap']
    assert recorders.command('a.mcap', '/uav', 0.5) == [
        'record', '--output', 'a.mcap', '--namespace', '/uav', '--sent-again', '0.5']
    assert recorders.needed() == ('mcap',)


def test_a_recording_that_is_none_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match='no recording'):
        analysis.load(tmp_path / 'no.mcap')
    (tmp_path / 'bad.mcap').write_bytes(b'nothing')
    with pytest.raises(ValueError, match='not read as a recording'):
        analysis.load(tmp_path / 'bad.mcap')


def test_altitudes_of_a_scenario_are_those_of_fix_from_the_beginning():
    # The undulation by EGM96 is 47.40 m at the home airfield and 17.33 m at the other place.
    assert simulated_start({'altitude': 1500.0})['altitude_msl'] == pytest.approx(
        1500.0 - 47.40, abs=0.8)
    given = {'altitude': 100.0, 'latitude_deg': -0.466744, 'longitude_deg': 0.0023}
    assert simulated_start(given) == {
        'altitude_msl': pytest.approx(82.67, abs=0.8), 'latitude_deg': -0.466744,
        'longitude_deg': 0.0023}
    assert simulated_start({'parked': True}) == {'parked': True}


def test_parameters_of_the_bridge():
    lockstep = bridge_parameters(SIMULATORS['xpc'], 'h', 1, 1.0, True, True, 2)
    assert (lockstep['rate'], lockstep['command_timeout'], lockstep['stamp']) == (
        0.0, 0.0, 'simulator')
    fast = bridge_parameters(SIMULATORS['xplane12'], 'h', 1, 4.0, True, False, 2)
    assert (fast['rate'], fast['version'], fast['data_port']) == (200.0, '12', 2)
    plain = bridge_parameters(SIMULATORS['fdmdata'], 'h', 10, 1.0, False, False, 2)
    assert (plain['data_port'], plain['controls_port'], plain['imu_rate']) == (10, 11, 50.0)
    asked = bridge_parameters(SIMULATORS['fdmdata'], 'h', 10, 1.0, False, False, 2, 60.0)
    assert {name: value for name, value in asked.items() if name.endswith('_rate')} == (
        dict.fromkeys(('gps_rate', 'ins_rate', 'imu_rate', 'air_data_rate'), 60.0))
    assert 'stamp' not in plain
    assert free_ports(2) > 0


def test_a_bridge_gives_back_for_long_only_to_who_goes_on_or_where_datagrams_come_late():
    assert 0.0 < release_parameters(Link())['release_timeout'] < 1.0
    for link in (Link(host='192.0.2.1'), Link(loss=0.1), Link(delay=0.1), Link(jitter=0.1)):
        assert release_parameters(link) == {}


def test_compare_runs_says_how_far_two_flights_are_apart(tmp_path):
    code, output = fly(
        tmp_path, '--sim', 'core', '--record', 'mcap', duration=1.5,
        scenario=SHORT.replace('from: 1.0, at_least: 1.0', 'at_least: 0.0'))
    assert code == 0, output
    bag, picture = str(tmp_path / 'flight.mcap'), tmp_path / 'both.png'
    from pathlib import Path
    script = Path(__file__).parents[3] / 'examples' / 'compare_runs.py'
    with process(sys.executable, '-P', str(script), bag, bag, '--tolerance', '0', '--picture',
                 str(picture)) as child:
        output, _ = child.communicate(timeout=90)
    assert child.returncode == 0, output
    assert output.splitlines()[1].split() == ['altitude', '0', '0']
    assert picture.read_bytes().startswith(b'\x89PNG')


def test_the_table_of_the_document_is_made_of_the_figures():
    def result(settling, passed):
        return {'criteria': [{'passed': True}, {'passed': passed}], 'figures': {
            'steps': [{'quantity': 'heading', 'start': 0.0, 'target': math.pi / 3, 'rise': 10.0,
                       'settling': settling, 'overshoot': 0.012}],
            'tracking': {'heading': {'rms': math.pi / 180}}, 'activity': {}, 'latency': {},
            'rates': {'imu/data': {'rate': 50.0}}}}

    rows = experiment_table.rows({'xpc': result(15.5, True), 'fdmdata': result(None, False)})
    assert rows[0] == ['', 'xpc', 'fdmdata']
    assert ['criteria met', '2 of 2', '1 of 2'] in rows
    assert ['heading +60 deg: settling', '15.5 s', '-'] in rows
    assert ['heading +60 deg: overshoot', '1.2%', '1.2%'] in rows
    assert ['heading error, rms', '1.00 deg', '1.00 deg'] in rows
    document = 'before\n<!-- table begin -->\nold\n<!-- table end -->\nafter\n'
    text = experiment_table.put(document, experiment_table.markdown(rows))
    assert 'old' not in text
    assert '| criteria met | 2 of 2 | 1 of 2 |' in text
    assert text.startswith('before\n')
    assert text.endswith('after\n')
    with pytest.raises(ValueError, match='no <!-- table begin'):
        experiment_table.put('nothing', '')
