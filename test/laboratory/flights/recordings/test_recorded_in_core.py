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

"""Flights in core on file: every number against the aircraft's own state, whoever reads it."""

from dataclasses import replace
import errno
import json
import math
import os
import struct

import pytest

pytest.importorskip('jsbsim', reason='the aircraft needs jsbsim')
pytest.importorskip('mcap', reason='mcap is not installed')
pytest.importorskip('rosbags', reason='rosbags is not installed')
pytest.importorskip('pyarrow', reason='pyarrow is not installed')

from limited import growing_by
from mcap import records
from mcap.reader import make_reader
from mcap.stream_reader import get_chunk_data_stream, StreamReader
import numpy as np
from pyarrow import parquet
from rosbags.interfaces import Nodetype
from rosbags.typesys import get_types_from_msg, get_typestore, Stores
import strange_tables
import yaml

from xplane_bridge.bridges.conversions import axes, simulated
from xplane_bridge.bridges.conversions.geodesy import LocalFrame
from xplane_bridge.bridges.conversions.geoid import usual_undulation
from xplane_bridge.commands import export
from xplane_bridge.laboratory.flights.analysis import history as analysis
from xplane_bridge.laboratory.flights.order import Keep, Link, Order
from xplane_bridge.laboratory.flights.recordings import cdr, parquet_file, rosbag2
from xplane_bridge.laboratory.flights.recordings.topics import RecordingError
from xplane_bridge.laboratory.flights.refusals import refusals
from xplane_bridge.laboratory.flights.scenario.scenario import parse
from xplane_bridge.laboratory.open_flight import open_flight

CONTENT = {
    'duration': 2.0,
    'initial': {'altitude': 1000.0, 'airspeed': 51.444},
    'events': [
        {'at': 0.0, 'wind': [3.0, -4.0, 0.5]}, {'at': 0.0, 'turbulence': [15.0, 4]},
        {'at': 0.5, 'engage': True}, {'at': 1.0, 'change': {'heading_deg': 20.0}}],
    'criteria': [{'quantity': 'roll_deg', 'statistic': 'max_abs', 'at_most': 90.0}]}
SCENARIO = parse('brief', CONTENT)
# Ticks that are looked at: the first one, before and after the law commands, and the last one.
TICKS = (0, 17, 30, 77, 120)


def fly(path, scenario=SCENARIO, **more):
    """Fly and record; return the flight, and the aircraft's state at each tick."""
    flight = open_flight(Order(scenario, seed=5, keep=Keep(str(path)), **more))
    states = {}
    with flight:
        flight.start()
        states[0] = flight.vehicle.state
        while flight.state == 'ready':
            flight.step()
            states[round(flight.time * 60.0)] = flight.vehicle.state
    assert flight.state == 'closed', flight.why
    assert not flight.why
    return flight, states


@pytest.fixture(scope='module')
def recorded(tmp_path_factory):
    """Return the files of two equal flights, and the states of both."""
    folder = tmp_path_factory.mktemp('core')
    with pytest.MonkeyPatch.context() as small:
        # Chunks as a longer flight has them.
        small.setattr(rosbag2, 'CHUNK_SIZE', 96 * 1024)
        found = {ending: fly(folder / f'flight.{ending}') for ending in ('mcap', 'parquet')}
    assert {at: found['mcap'][1][at] for at in TICKS} == {
        at: found['parquet'][1][at] for at in TICKS}
    return folder, found['mcap'][1]


def expected(state):
    """Return the columns of a state."""
    undulation = usual_undulation().height_m(state.lat_deg, state.lon_deg)
    force = simulated.specific_force(state)
    engine = state.engines[0]
    return {
        'latitude': state.lat_deg, 'longitude': state.lon_deg,
        'altitude': state.altitude_msl + undulation, 'roll': state.phi, 'pitch': state.theta,
        'heading': state.psi, 'roll_rate': state.p, 'pitch_rate': state.q, 'yaw_rate': state.r,
        'roll_acceleration': state.p_dot, 'pitch_acceleration': state.q_dot,
        'yaw_acceleration': state.r_dot, 'velocity_north': state.v_north,
        'velocity_east': state.v_east, 'velocity_down': state.v_down, 'airspeed': state.cas,
        'true_airspeed': state.tas, 'angle_of_attack': state.alpha, 'sideslip': state.beta,
        'static_pressure': state.static_pressure, 'dynamic_pressure': state.qbar,
        'temperature': state.temperature, 'density': state.density,
        'wind_north': state.wind_north, 'wind_east': state.wind_east,
        'wind_down': state.wind_down, 'elevator': state.elevator, 'aileron': state.aileron,
        'rudder': state.rudder, 'throttle': engine.throttle, 'flaps': state.flaps,
        'gear': state.gear, 'speedbrake': state.speedbrake, 'brake_left': state.left_brake,
        'brake_right': state.right_brake, 'elevator_trim': state.elevator_trim,
        'aileron_trim': state.aileron_trim, 'rudder_trim': state.rudder_trim,
        'elevator_deflection': state.elevator_deflection,
        'aileron_deflection': state.aileron_deflection,
        'rudder_deflection': state.rudder_deflection, 'flaps_position': state.flaps_position,
        'gear_position': state.gear_position,
        'speedbrake_position': state.speedbrake_position, 'mass': state.mass,
        'fuel': sum(state.fuel), 'height_above_ground': state.altitude_agl,
        'specific_force_forward': force[0], 'specific_force_left': force[1],
        'specific_force_up': force[2], 'load_factor': state.n_z,
        'ground_elevation': state.terrain_msl + undulation, 'engine_0_rpm': engine.rpm,
        'engine_0_power': engine.power, 'engine_0_thrust': engine.thrust,
        'engine_0_fuel_flow': engine.fuel_flow}


def test_each_column_is_the_aircrafts_own_state(recorded):
    folder, states = recorded
    table = parquet.read_table(folder / 'flight.parquet')
    row = {at: {name: table[name][at].as_py() for name in table.column_names} for at in TICKS}
    for at in TICKS:
        wanted = expected(states[at])
        found = {name: row[at].pop(name) for name in wanted}
        # The height of the ground is a difference of two heights.
        near = wanted.pop('ground_elevation'), found.pop('ground_elevation')
        assert near[0] == pytest.approx(near[1], abs=1e-9)
        assert found == wanted, at
        assert row[at]['time'] == pytest.approx(at / 60.0, abs=1e-9)
    # Turbulence is what the wind has beside that of the event.
    for at in TICKS[1:]:
        steady = np.array([-4.0, 3.0, -0.5])
        gusts = [row[at][f'turbulence_{axis}'] for axis in ('north', 'east', 'down')]
        assert steady + gusts == pytest.approx(
            [states[at].wind_north, states[at].wind_east, states[at].wind_down], abs=1e-9)
    first, last = states[0], states[120]
    datum = LocalFrame(first.lat_deg, first.lon_deg, expected(first)['altitude'])
    assert [row[120][axis] for axis in ('east', 'north', 'up')] == [*datum.geodetic_to_enu(
        last.lat_deg, last.lon_deg, expected(last)['altitude'])]
    # What was commanded is what the next state reports; there is nothing more than all that.
    assert row[30]['command_aileron'] == states[31].aileron
    assert row[120]['command_aileron'] is None
    assert row[17]['target_heading'] is None
    assert row[77]['target_heading'] == pytest.approx(row[30]['target_heading'] + math.radians(20))
    rest = {name for name in row[0] if not name.startswith(('command_', 'target_', 'turbulence_'))}
    assert rest == {'time', 'east', 'north', 'up'}


def test_the_table_says_units_and_what_was_flown(recorded):
    schema = parquet.read_schema(recorded[0] / 'flight.parquet')
    units = json.loads(schema.metadata[b'units'])
    assert {name: units.get(name, '') for name in (
        'roll_rate', 'altitude', 'latitude', 'load_factor', 'engine_0_power', 'fuel',
        'wind_down', 'yaw_acceleration', 'specific_force_up', 'engine_0_fuel_flow',
        'command_elevator', 'target_climb_rate', 'elevator_deflection', 'mass', 'throttle')
    } == {
        'roll_rate': 'rad/s', 'altitude': 'm', 'latitude': 'deg', 'load_factor': '',
        'engine_0_power': 'W', 'fuel': 'kg', 'wind_down': 'm/s', 'yaw_acceleration': 'rad/s^2',
        'specific_force_up': 'm/s^2', 'engine_0_fuel_flow': 'kg/s', 'command_elevator': '',
        'target_climb_rate': 'm/s', 'elevator_deflection': 'rad', 'mass': 'kg', 'throttle': ''}
    assert schema.field('roll_rate').metadata[b'unit'] == b'rad/s'
    facts = json.loads(schema.metadata[b'xplane_bridge'])
    assert (facts['scenario'], facts['aircraft'], facts['seed'], facts['flown']) == (
        'brief', 'c172p', 5, pytest.approx(2.0))


def messages_of(path):
    """Return the messages of an MCAP file by topic, as mcap and rosbags have them."""
    types = get_typestore(Stores.EMPTY)
    found, newest = {}, 0
    with path.open('rb') as stream:
        reader = make_reader(stream, validate_crcs=True)
        summary = reader.get_summary()
        for schema in summary.schemas.values():
            types.register({name: of for name, of in get_types_from_msg(
                schema.data.decode(), schema.name).items() if name not in types.types})
        for schema, channel, message in reader.iter_messages():
            assert message.log_time >= newest
            newest = message.log_time
            found.setdefault(channel.topic, []).append(
                (message.log_time, types.deserialize_cdr(message.data, schema.name)))
    counts = {summary.channels[number].topic: count
              for number, count in summary.statistics.channel_message_counts.items()}
    assert counts == {topic: len(messages) for topic, messages in found.items()}
    return found


def test_each_entry_of_an_index_leads_to_its_message(recorded):
    data = (recorded[0] / 'flight.mcap').read_bytes()
    with (recorded[0] / 'flight.mcap').open('rb') as stream:
        summary = make_reader(stream).get_summary()
        stream.seek(0)
        chunks = []
        for record in StreamReader(stream, emit_chunks=True).records:
            if isinstance(record, records.Chunk):
                packed, length = get_chunk_data_stream(record)
                content = packed.read(length)
                chunks.append((record, content, []))
            elif isinstance(record, records.MessageIndex):
                chunks[-1][2].append(record)
    assert len(chunks) == len(summary.chunk_indexes) > 2
    sequences = {}
    for (chunk, content, indexes), known in zip(chunks, summary.chunk_indexes, strict=True):
        assert data[known.chunk_start_offset] == 6
        behind = known.chunk_start_offset + known.chunk_length
        assert {index.channel_id for index in indexes} == known.message_index_offsets.keys()
        assert min(known.message_index_offsets.values()) == behind
        # Behind the indexes is another chunk, or metadata.
        assert data[behind + known.message_index_length] in (6, 12)
        times = [log_ns for index in indexes for log_ns, _ in index.records]
        assert (chunk.message_start_time, chunk.message_end_time) == (min(times), max(times))
        for index in indexes:
            at = known.message_index_offsets[index.channel_id]
            assert struct.unpack_from('<BQH', data, at)[::2] == (7, index.channel_id)
            for log_ns, offset in index.records:
                kind, _, channel, sequence, log, published = struct.unpack_from(
                    '<BQHIQQ', content, offset)
                assert (kind, channel, log, published) == (5, index.channel_id, log_ns, log_ns)
                sequences.setdefault(channel, []).append(sequence)
    assert sequences == {
        channel: [*range(count)]
        for channel, count in summary.statistics.channel_message_counts.items()}


def test_its_metadata_are_those_that_rosbag2_looks_for(recorded):
    with (recorded[0] / 'flight.mcap').open('rb') as stream:
        found = {one.name: one.metadata for one in make_reader(stream).iter_metadata()}
    assert json.loads(found['xplane_bridge']['flight'])['scenario'] == 'brief'
    known = yaml.safe_load(found['rosbag2']['serialized_metadata'])
    counts = {one['topic_metadata']['name']: one['message_count']
              for one in known['topics_with_message_count']}
    assert (counts['/experiment/imu/data'], counts['/experiment/datum']) == (121, 1)
    assert known['version'] == 9
    of_file = {
        'starting_time': {'nanoseconds_since_epoch': 0},
        'duration': {'nanoseconds': 2_000_000_000}, 'message_count': sum(counts.values())}
    assert {name: known[name] for name in of_file} == of_file
    assert known['files'] == [{'path': 'flight.mcap'} | of_file]
    assert known['custom_data'] == {rosbag2.LOG_TIME: rosbag2.SIMULATED}


def test_messages_are_those_of_the_common_topics(recorded):
    folder, states = recorded
    found = {topic.removeprefix('/experiment/'): messages
             for topic, messages in messages_of(folder / 'flight.mcap').items()}
    assert {topic: len(messages) for topic, messages in found.items()} == {
        **dict.fromkeys(('fix', 'fix_velocity', 'imu/data', 'odom', 'air_data', 'controls',
                         'engines', 'airframe'), 121),
        'command/controls': 120, 'autopilot/active_target': 2, 'datum': 1}
    for at in TICKS:
        state = states[at]
        log_ns, imu = found['imu/data'][at]
        assert log_ns == round(at / 60.0 * 1e9)
        assert (imu.header.stamp.sec, imu.header.stamp.nanosec) == divmod(log_ns, 10**9)
        q = imu.orientation
        assert (q.w, q.x, q.y, q.z) == simulated.orientation(state)
        force, rates = imu.linear_acceleration, imu.angular_velocity
        assert (force.x, force.y, force.z) == simulated.specific_force(state)
        assert (rates.x, rates.y, rates.z) == simulated.angular_velocity(state)
        moved = found['fix_velocity'][at][1].twist.twist.linear
        assert (moved.x, moved.y, moved.z) == simulated.velocity(state)
        twist = found['odom'][at][1].twist.twist.linear
        assert (twist.x, twist.y, twist.z) == axes.rotate_inverse(
            simulated.orientation(state), simulated.velocity(state))
        fix = found['fix'][at][1]
        assert (fix.latitude, fix.longitude) == (state.lat_deg, state.lon_deg)
        airframe = found['airframe'][at][1]
        assert (airframe.load_factor, airframe.mass) == (state.n_z, state.mass)
        turning = airframe.angular_acceleration
        assert (turning.x, turning.y, turning.z) == (state.p_dot, -state.q_dot, -state.r_dot)
        assert airframe.rpm.tolist() == [state.engines[0].rpm]
        assert found['engines'][at][1].throttle.tolist() == [state.engines[0].throttle]
        assert found['controls'][at][1].elevator_trim == state.elevator_trim
    command = found['command/controls'][30][1]
    assert (command.fields, command.aileron) == (15, states[31].aileron)
    assert math.isnan(command.flaps)
    target = found['autopilot/active_target'][-1][1]
    assert target.fields == 7
    assert math.isnan(target.course)


def test_the_package_reads_both_as_the_flight_itself(recorded, tmp_path):
    folder, _ = recorded
    with open_flight(Order(SCENARIO, seed=5)) as flight:
        flight.fly()
        own = flight.history()
        wanted = analysis.figures(own, flight.flown)
    for ending in ('mcap', 'parquet'):
        found = analysis.load(folder / f'flight.{ending}')
        for name, series in own.series.items():
            np.testing.assert_allclose(
                found.series[name].times, series.times, atol=1e-9, err_msg=name)
            # Of the attitude MCAP has the quaternion.
            np.testing.assert_allclose(
                found.series[name].values, series.values, atol=1e-12, err_msg=name)
        figures = analysis.figures(found, flight.flown)
        assert figures['latency'] == {}
        assert figures['tracking']['altitude'] == pytest.approx(wanted['tracking']['altitude'])
        output = tmp_path / ending
        assert export.main([str(folder / f'flight.{ending}'), '--to', 'csv', '--output',
                            str(output)]) == 0
        table, = output.glob('flight.csv' if ending == 'parquet' else '*.airframe.csv')
        header, units = table.read_text().splitlines()[:2]
        known = dict(zip(header.split(','), units.split(','), strict=True))
        assert (known['elevator_deflection'], known['mass']) == ('rad', 'kg')


def test_what_is_recorded_changes_nothing(recorded):
    _, states = recorded
    with open_flight(Order(SCENARIO, seed=5)) as flight:
        flight.fly()
        assert flight.vehicle.state == states[120]


def test_sensors_are_recorded_beside_the_truth(tmp_path):
    sensed = replace(SCENARIO, sensors='consumer')
    _, states = fly(tmp_path / 'sensed.mcap', sensed, link=Link(namespace='/uav'))
    found = messages_of(tmp_path / 'sensed.mcap')
    for topic in ('fix', 'fix_velocity', 'imu/data', 'odom', 'air_data'):
        assert len(found[f'/uav/truth/{topic}']) == 121
        assert found[f'/uav/{topic}']
    imu = found['/uav/imu/data'][77][1]
    assert imu.angular_velocity.x != states[77].p
    assert imu.angular_velocity.x == pytest.approx(states[77].p, abs=0.1)
    assert imu.angular_velocity_covariance[0] > 0.0
    # A fix is stamped with when it was measured, and recorded when it was delivered.
    log_ns, fix = found['/uav/fix'][-1]
    assert 0 < log_ns - (fix.header.stamp.sec * 10**9 + fix.header.stamp.nanosec) < 10**9
    assert fix.position_covariance[0] > 0.0
    # It is judged by the truth.
    assert analysis.load(tmp_path / 'sensed.mcap').series['roll'].values[77] == pytest.approx(
        states[77].phi, abs=1e-9)
    fly(tmp_path / 'sensed.parquet', sensed)
    table = parquet_file.read(tmp_path / 'sensed.parquet').columns
    assert table['sensed_roll_rate'][77] == imu.angular_velocity.x
    assert np.isfinite(table['sensed_latitude']).sum() == len(found['/uav/fix'])


def test_a_recording_appears_whole_and_takes_the_place_of_another(tmp_path, monkeypatch):
    path = tmp_path / 'flight.parquet'
    path.write_bytes(b'of another flight')

    def die(stream, flown, facts):
        stream.write(b'PAR1')
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(parquet_file, 'write', die)
        with pytest.raises(KeyboardInterrupt):
            fly(path)
    assert path.read_bytes() == b'of another flight'
    fly(path)
    assert [one.name for one in tmp_path.iterdir()] == ['flight.parquet']
    assert parquet.read_metadata(path).num_rows == 121


def test_what_cannot_be_written_fails_the_flight(tmp_path):
    (tmp_path / 'file').write_text('')
    flight = open_flight(Order(SCENARIO, keep=Keep(str(tmp_path / 'file' / 'flight.mcap'))))
    flight.fly()
    assert flight.state == 'failed'
    assert flight.why == (f'the recording {tmp_path}/file/flight.mcap cannot be written: '
                          f'{os.strerror(errno.EEXIST)}')


@pytest.mark.parametrize(('more', 'sentence'), [
    ({'keep': Keep('flight.csv')}, 'the recording flight.csv has no format: expected a name that '
     'ends in .mcap, .parquet'),
    ({'keep': Keep('flight.mcap'), 'rounding': 'xpc'},
     'flights in core are recorded without rounding'),
    ({'keep': Keep('flight.mcap'), 'scenario': replace(SCENARIO, duration=7300.0)},
     'scenario brief lasts 7300 s; in core a flight of at most 7200 s is recorded, as it is in '
     'memory until its end'),
    ({'keep': Keep('flight.parquet'), 'sim': 'xpc'}, 'through ROS recordings are MCAP: record in '
     'core to Parquet, or export the recording (export --to parquet)')])
def test_what_is_not_recorded_is_said_before(more, sentence):
    assert refusals(replace(Order(SCENARIO), **more)) == [sentence]


@pytest.mark.parametrize(('content', 'sentence'), [
    (b'PAR1' + bytes(40), 'flight.parquet is not read as a recording'),
    (None, 'its metadata have no facts of a flight')])
def test_other_parquet_files_are_refused_in_a_sentence(tmp_path, content, sentence):
    path = tmp_path / 'flight.parquet'
    if content is None:
        import pyarrow
        parquet.write_table(pyarrow.table({'time': [0.0, 1.0], 'roll': [0.0, 0.0]}), path)
    else:
        path.write_bytes(content)
    with pytest.raises(RecordingError, match=sentence):
        analysis.load(path)


def test_tables_that_unpack_to_gigabytes_are_told(tmp_path, capsys):
    """Of 0.9 MB, 400 million numbers took 3.5 GB."""
    columns = {'time': 1.0, 'heading': 1.0, 'roll': 1.0}
    path = tmp_path / 'flight.parquet'
    for what, (data, _) in strange_tables.crafted(
            columns, 'roll', (parquet_file.FACTS, b'{}')).items():
        path.write_bytes(data)
        with growing_by(500_000_000):
            with pytest.raises(RecordingError, match='flight.parquet is not read as a recording'):
                analysis.load(path)
            assert export.main([str(path), '--to', 'csv', '--force', '--output', str(
                tmp_path / 'out')]) == 2, what
        assert f'{path} is not read as a ' in capsys.readouterr().err


@pytest.mark.parametrize('name', cdr.OWN_TYPES)
def test_messages_are_serialised_as_rosbags_does(name):
    kind = f'xplane_bridge/msg/{name}'
    lists = {field: 3 for field, (what, _) in cdr.types().fielddefs[kind][1]
             if what == Nodetype.SEQUENCE}
    layout = cdr.CdrLayout(kind, {'header.frame_id': 'odd'}, lists)
    message = cdr.types().deserialize_cdr(layout.bytes, kind)
    assert message.header.frame_id == 'odd'
    assert bytes(cdr.types().serialize_cdr(message, kind)) == layout.bytes
