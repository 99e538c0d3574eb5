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

"""Flights made up of numbers that all differ, in both formats: each number is where it belongs."""

import io
import json
import math
from types import SimpleNamespace

import pytest

pytest.importorskip('mcap', reason='mcap is not installed')
pytest.importorskip('rosbags', reason='rosbags is not installed')
pytest.importorskip('pyarrow', reason='pyarrow is not installed')

from mcap.reader import make_reader
import numpy as np

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.odom_frame import OdomFrame
from xplane_bridge.bridges.conversions.vehicle import Air
from xplane_bridge.common.controls import CONTROLS
from xplane_bridge.laboratory.flights.recordings import cdr, mcap_writer, parquet_file, rosbag2
from xplane_bridge.laboratory.flights.recordings.collected import Collected, Collector, TimedRows
from xplane_bridge.laboratory.flights.recordings.vehicle_topics import to_topics
from xplane_bridge.simulation.aircraft.sample import AIRFRAME_STATE, ENGINE, SAMPLE, SURROUNDINGS

FRAMES = 6
TIMES = 100.0 + 0.25 * np.arange(FRAMES)
NAMES = (
    *SAMPLE, *SURROUNDINGS, 'altitude', 'east', 'north', 'up',
    *AIRFRAME_STATE,
    'flaps', 'gear', 'speedbrake', 'left_brake', 'right_brake', 'elevator_trim', 'aileron_trim',
    'rudder_trim')
STANDING = (
    'elevator_deflection', 'aileron_deflection', 'rudder_deflection', 'flaps_position',
    'gear_position', 'speedbrake_position')
LEVERS = ('throttle', 'mixture', 'propeller')
REPORTED = {'brake_left': 'left_brake', 'brake_right': 'right_brake'}


def flown(sensed=True):
    """Return a flight with two engines."""
    rng = np.random.default_rng(8)
    state = {name: rng.uniform(0.1, 0.9, FRAMES) for name in dict.fromkeys(NAMES)}
    state |= {
        'time': TIMES, 'lat_deg': 47.0 + 0.01 * np.arange(FRAMES),
        'lon_deg': 8.0 + 0.02 * np.arange(FRAMES), 'altitude': 500.0 + state['altitude']}
    engines = [{name: rng.uniform(0.0, 1.0, FRAMES) for name in (*ENGINE, *LEVERS)}
               for _ in range(2)]

    def rows(times, width):
        return np.column_stack((times, rng.uniform(1.0, 2.0, (len(times), width))))

    commands, targets = rows(TIMES[:-1], len(CONTROLS)), rows(TIMES[[1, 4]], 5)
    commands[:, 5:] = math.nan
    commands[2, 7] = 0.5
    targets[0, 2], targets[1, [3, 4]] = math.nan, math.nan
    widths = {'fix': 5, 'fix_velocity': 5, 'imu/data': 14, 'odom': 20, 'air_data': 11, 'range': 5}
    late = {}
    for topic, width in widths.items():
        found = rows(TIMES[[1, 3, 5]], 1 + width)
        found[:, 1] = [100_250_000_001.0, 100_700_000_002.0, 101_200_000_003.0]
        late[topic] = found
    late['fix'][1, 2:5] = math.nan
    late['fix'][2, 5] = 0.0
    late['fix_velocity'][0, 5] = 0.0
    late['imu/data'][1, 2:6] = math.nan
    late['imu/data'][2, 6:9] = math.nan
    late['odom'][0, 15] = 0.0
    return Collected(state, engines, commands, targets, rows(TIMES[2:4], 3),
                     late if sensed else {})


FLOWN = flown()


def messages(given=FLOWN, namespace='/uav/', name='flight.mcap'):
    """Return what readers find in an MCAP file: by topic the times and messages, its summary."""
    stream = io.BytesIO()
    mcap_writer.write(stream, name, to_topics(given, namespace), '{"a": 1}')
    stream.seek(0)
    reader = make_reader(stream, validate_crcs=True)
    found = {}
    for schema, channel, message in reader.iter_messages():
        found.setdefault(channel.topic.removeprefix('/uav/'), []).append(
            (message.log_time, cdr.types().deserialize_cdr(message.data, schema.name)))
    return found, reader


@pytest.fixture(scope='module')
def written():
    return messages()


def vector(value):
    """Return three numbers, or a quaternion's four, w first."""
    return [getattr(value, axis) for axis in ('wxyz' if hasattr(value, 'w') else 'xyz')]


def stamp(message):
    return message.header.stamp.sec * 10**9 + message.header.stamp.nanosec


def each(found, topic, state=FLOWN.frames):
    """Yield the messages of a topic, and of each frame its numbers."""
    assert len(found[topic]) == FRAMES
    for at, (log_ns, message) in enumerate(found[topic]):
        assert log_ns == stamp(message) == round(TIMES[at] * 1e9)
        yield message, {name: values[at] for name, values in state.items()}


def turned(now):
    """Return the orientation of a frame."""
    return axes.ned_frd_to_enu_flu(
        axes.euler_to_quaternion(now['phi'], now['theta'], now['psi']))


def test_topics_of_motion_have_each_frames_numbers(written):
    found, _ = written
    for message, now in each(found, 'truth/fix'):
        assert message.header.frame_id == 'base_link'
        assert (message.latitude, message.longitude, message.altitude) == (
            now['lat_deg'], now['lon_deg'], now['altitude'])
    velocity = ('v_east', 'v_north', 'v_down')
    for message, now in each(found, 'truth/fix_velocity'):
        assert message.header.frame_id == 'base_link_enu'
        east, north, down = (now[name] for name in velocity)
        assert vector(message.twist.twist.linear) == [east, north, -down]
        assert message.twist.covariance.reshape(6, 6).tolist() == (1e6 * np.eye(6)).tolist()
    for message, now in each(found, 'truth/imu/data'):
        assert vector(message.orientation) == pytest.approx(turned(now), abs=1e-12)
        assert vector(message.angular_velocity) == [now['p'], -now['q'], -now['r']]
        x, y, z = (now[f'force_{axis}'] / now['mass'] for axis in 'xyz')
        assert vector(message.linear_acceleration) == [x, -y, -z]
    frame = OdomFrame()
    first = {name: values[0] for name, values in FLOWN.frames.items()}
    frame.start(first['lat_deg'], first['lon_deg'], first['altitude'])
    for message, now in each(found, 'truth/odom'):
        assert (message.header.frame_id, message.child_frame_id) == ('odom', 'base_link')
        pose, twist = message.pose, message.twist
        assert vector(pose.pose.position) == [now['east'], now['north'], now['up']]
        assert vector(pose.pose.orientation) == pytest.approx(frame.turned(
            now['lat_deg'], now['lon_deg'], turned(now)), abs=1e-12)
        assert vector(twist.twist.linear) == pytest.approx(axes.rotate_inverse(
            turned(now), (now['v_east'], now['v_north'], -now['v_down'])))
        assert vector(twist.twist.angular) == [now['p'], -now['q'], -now['r']]
        for part in (pose, twist):
            assert part.covariance.reshape(6, 6).tolist() == (1e6 * np.eye(6)).tolist()


def test_topics_of_the_aircraft_have_each_frames_numbers(written):
    found, _ = written
    for message, now in each(found, 'truth/air_data'):
        for name, own in (
                ('indicated_airspeed', 'cas'), ('true_airspeed', 'tas'),
                ('angle_of_attack', 'alpha'), ('sideslip', 'beta'),
                ('static_pressure', 'static_pressure'), ('dynamic_pressure', 'qbar'),
                ('temperature', 'temperature'), ('density', 'density')):
            assert getattr(message, name) == now[own], name
        assert vector(message.wind) == [now['wind_east'], now['wind_north'], -now['wind_down']]
    for message, now in each(found, 'controls'):
        assert message.fields == 4095
        for name in CONTROLS:
            assert getattr(message, name) == now[REPORTED.get(name, name)], name
    for at, (message, _) in enumerate(each(found, 'engines')):
        assert message.fields == 7
        for name in LEVERS:
            assert getattr(message, name).tolist() == [one[name][at] for one in FLOWN.engines]
    for at, (message, now) in enumerate(each(found, 'airframe')):
        for name in (*STANDING, 'mass', 'fuel'):
            assert getattr(message, name) == now[name], name
        assert message.load_factor == pytest.approx(-now['force_z'] / now['mass'] / 9.80665)
        assert message.ground_elevation == pytest.approx(
            now['terrain_msl'] + now['altitude'] - now['altitude_msl'])
        assert message.height_above_ground == now['altitude_agl']
        assert vector(message.angular_acceleration) == [
            now['p_dot'], -now['q_dot'], -now['r_dot']]
        assert vector(message.turbulence) == [
            now['turbulence_east'], now['turbulence_north'], -now['turbulence_down']]
        for name in ENGINE:
            assert getattr(message, name).tolist() == [one[name][at] for one in FLOWN.engines]
    (log_ns, datum), = found['datum']
    assert log_ns == stamp(datum) == round(TIMES[0] * 1e9)
    assert datum.header.frame_id == 'odom'
    assert [datum.latitude, datum.longitude, datum.altitude] == [
        FLOWN.frames[name][0] for name in ('lat_deg', 'lon_deg', 'altitude')]


def same(found, expected):
    np.testing.assert_array_equal(np.array(found, float), np.array(expected, float))


def test_what_was_commanded_wanted_and_touched(written):
    found, _ = written
    for (log_ns, message), row in zip(found['command/controls'], FLOWN.commands, strict=True):
        assert log_ns == stamp(message) == round(row[0] * 1e9)
        same([getattr(message, name) for name in CONTROLS], row[1:])
        assert message.fields == 15 + 64 * (row[7] == 0.5)
    names = ('altitude', 'true_heading', 'airspeed', 'course', 'climb_rate')
    for (log_ns, message), row, fields in zip(
            found['autopilot/active_target'], FLOWN.targets, (29, 19), strict=True):
        assert log_ns == stamp(message) == round(row[0] * 1e9)
        same([getattr(message, name) for name in names], row[1:])
        assert message.fields == fields
    for (log_ns, message), row in zip(found['contacts'], FLOWN.contacts, strict=True):
        assert log_ns == stamp(message) == round(row[0] * 1e9)
        same([message.wheels, message.structure, message.strut_compression],
             [bool(row[1]), bool(row[2]), row[3]])


def on_diagonal(*values):
    return np.diag(values).ravel()


def test_what_sensors_delivered(written):
    found, _ = written
    sensed = {topic: [*zip(found[topic], rows, strict=True)]
              for topic, rows in FLOWN.sensed.items()}
    for pairs in sensed.values():
        for (log_ns, message), row in pairs:
            assert (log_ns, stamp(message)) == (round(row[0] * 1e9), int(row[1]))
    check_fixes(sensed['fix'])
    for number, ((_, message), row) in enumerate(sensed['fix_velocity']):
        same(vector(message.twist.twist.linear), row[2:5])
        across = row[5] if number else 1e6
        same(message.twist.covariance, on_diagonal(across, across, row[6], 1e6, 1e6, 1e6))
    check_imu(sensed['imu/data'])
    for number, ((_, message), row) in enumerate(sensed['odom']):
        pose, twist = message.pose, message.twist
        same([*vector(pose.pose.position), *vector(pose.pose.orientation),
              *vector(twist.twist.linear), *vector(twist.twist.angular)], row[2:15])
        across, up, tilt, heading, rate, moving, climbing = row[15:]
        across = across if number else 1e6
        same(pose.covariance, on_diagonal(across, across, up, tilt, tilt, heading))
        same(twist.covariance, on_diagonal(moving, moving, climbing, rate, rate, rate))
    for (_, message), row in sensed['air_data']:
        same([message.indicated_airspeed, message.true_airspeed, message.angle_of_attack,
              message.sideslip, message.static_pressure, message.dynamic_pressure,
              message.temperature, message.density, *vector(message.wind)], row[2:])
    for (_, message), row in sensed['range']:
        assert (message.header.frame_id, message.radiation_type) == ('range_finder', 1)
        np.testing.assert_allclose([
            message.range, message.variance, message.field_of_view, message.min_range,
            message.max_range], row[2:], rtol=1e-6)


def check_fixes(fixes):
    """Compare fixes: a good one, none, and one without variances."""
    for number, ((_, message), row) in enumerate(fixes):
        same([message.latitude, message.longitude, message.altitude], row[2:5])
        assert message.status.status == (-1 if number == 1 else 0)
        assert message.status.service == 1
        is_known = number == 0
        assert message.position_covariance_type == (2 if is_known else 0)
        same(message.position_covariance, on_diagonal(
            row[5], row[5], row[6]) if is_known else np.zeros(9))


def check_imu(readings):
    """Compare readings: a whole one, without attitude, and without rates."""
    for number, ((_, message), row) in enumerate(readings):
        if number == 1:
            same(vector(message.orientation), [1.0, 0.0, 0.0, 0.0])
            same(message.orientation_covariance, on_diagonal(-1.0, 0.0, 0.0))
        else:
            same(vector(message.orientation), row[2:6])
            same(message.orientation_covariance, on_diagonal(row[12], row[12], row[13]))
        if number == 2:
            same(vector(message.angular_velocity), [0.0, 0.0, 0.0])
            same(message.angular_velocity_covariance, on_diagonal(-1.0, 0.0, 0.0))
        else:
            same(vector(message.angular_velocity), row[6:9])
            same(message.angular_velocity_covariance, on_diagonal(*[row[14]] * 3))
        same(vector(message.linear_acceleration), row[9:12])
        same(message.linear_acceleration_covariance, on_diagonal(*[row[15]] * 3))


def test_without_sensors_the_truth_has_the_common_names():
    found, _ = messages(flown(sensed=False))
    assert {'fix', 'fix_velocity', 'imu/data', 'odom', 'air_data', 'controls'} <= found.keys()
    assert not [topic for topic in found if topic.startswith('truth')]
    glider = Collected(FLOWN.frames, [], *[np.empty((0, width)) for width in (13, 6, 4)], {})
    found, _ = messages(glider)
    assert found.keys() == {'fix', 'fix_velocity', 'imu/data', 'odom', 'air_data', 'controls',
                            'airframe', 'datum'}
    assert found['airframe'][0][1].rpm.tolist() == []


def test_the_summary_counts_what_there_is(written):
    found, reader = written
    summary = reader.get_summary()
    counts = {channel.topic.removeprefix('/uav/'): channel for channel in
              summary.channels.values()}
    assert counts.keys() == found.keys()
    statistics = summary.statistics
    assert statistics.message_count == sum(map(len, found.values()))
    assert {channel.topic.removeprefix('/uav/'): statistics.channel_message_counts[number]
            for number, channel in summary.channels.items()} == {
        topic: len(messages) for topic, messages in found.items()}
    assert (statistics.message_start_time, statistics.message_end_time) == (
        round(TIMES[0] * 1e9), round(TIMES[-1] * 1e9))
    assert (statistics.schema_count, statistics.channel_count, statistics.metadata_count,
            statistics.attachment_count) == (
        len(summary.schemas), len(summary.channels), 2, 0)
    assert statistics.chunk_count == len(summary.chunk_indexes) == 1
    header = reader.get_header()
    assert (header.profile, header.library) == ('ros2', 'xplane_bridge')
    for topic, channel in counts.items():
        assert channel.message_encoding == 'cdr'
        latched = topic in ('datum', 'autopilot/active_target')
        assert ('transient_local' in channel.metadata['offered_qos_profiles']) is latched
        assert channel.metadata['topic_type_hash'].startswith('RIHS01_')
        schema = summary.schemas[channel.schema_id]
        assert schema.encoding == 'ros2msg'
    metadata = {one.name: one.metadata for one in reader.iter_metadata()}
    assert json.loads(metadata['xplane_bridge']['flight']) == {'a': 1}


@pytest.mark.parametrize('size', [1, 8000, 100_000])
def test_chunks_of_any_size_have_the_same_messages(written, monkeypatch, size):
    monkeypatch.setattr(rosbag2, 'CHUNK_SIZE', size)
    found, reader = messages()
    assert {topic: [log_ns for log_ns, _ in some] for topic, some in found.items()} == {
        topic: [log_ns for log_ns, _ in some] for topic, some in written[0].items()}
    indexes = reader.get_summary().chunk_indexes
    assert len(indexes) == {1: 5, 8000: 2, 100_000: 1}[size]
    assert [one.message_start_time for one in indexes] == sorted(
        one.message_start_time for one in indexes)
    assert all(one.message_end_time < other.message_start_time
               for one, other in zip(indexes[:-1], indexes[1:], strict=True))


def test_a_chunk_is_as_large_as_rosbag2s():
    assert rosbag2.CHUNK_SIZE == 786_432


def expected_columns():
    """Return all columns of the table; those that have nulls as arrays with NaN."""
    state = FLOWN.frames
    found = {
        'latitude': 'lat_deg', 'longitude': 'lon_deg', 'roll': 'phi', 'pitch': 'theta',
        'heading': 'psi', 'roll_rate': 'p', 'pitch_rate': 'q', 'yaw_rate': 'r',
        'roll_acceleration': 'p_dot', 'pitch_acceleration': 'q_dot', 'yaw_acceleration': 'r_dot',
        'velocity_north': 'v_north', 'velocity_east': 'v_east', 'velocity_down': 'v_down',
        'airspeed': 'cas', 'true_airspeed': 'tas', 'angle_of_attack': 'alpha', 'sideslip': 'beta',
        'dynamic_pressure': 'qbar', 'height_above_ground': 'altitude_agl', **REPORTED}
    same_names = (
        'time', 'altitude', 'east', 'north', 'up', 'static_pressure', 'temperature', 'density',
        'wind_north', 'wind_east', 'wind_down', 'turbulence_north', 'turbulence_east',
        'turbulence_down', 'mass', 'fuel', *STANDING,
        *(name for name in CONTROLS if name not in REPORTED))
    columns = {name: state[own] for name, own in (found | {
        name: name for name in same_names}).items()}
    for axis, sign, name in (('x', 1, 'forward'), ('y', -1, 'left'), ('z', -1, 'up')):
        columns[f'specific_force_{name}'] = sign * state[f'force_{axis}'] / state['mass']
    columns['load_factor'] = -state['force_z'] / state['mass'] / 9.80665
    columns['ground_elevation'] = (
        state['terrain_msl'] + (state['altitude'] - state['altitude_msl']))
    columns |= {f'engine_{n}_{name}': engine[name]
                for n, engine in enumerate(FLOWN.engines) for name in ENGINE}

    def place(at, values):
        column = np.full(FRAMES, math.nan)
        column[at] = values
        return column

    for n, name in enumerate(CONTROLS, 1):
        columns[f'command_{name}'] = place(np.arange(FRAMES - 1), FLOWN.commands[:, n])
    for n, name in enumerate(('altitude', 'heading', 'airspeed', 'course', 'climb_rate'), 1):
        first, second = FLOWN.targets[:, n]
        columns[f'target_{name}'] = np.array([math.nan, *[first] * 3, *[second] * 2])
    for n, name in enumerate(('wheels_on_ground', 'structure_on_ground', 'strut_compression'), 1):
        columns[name] = place([2, 3], FLOWN.contacts[:, n])
    late = [1, 3, 5]
    for topic, names in {
            'fix': ('latitude', 'longitude', 'altitude'),
            'fix_velocity': ('velocity_east', 'velocity_north', 'velocity_up'),
            'air_data': ('airspeed', 'true_airspeed', 'angle_of_attack', 'sideslip',
                         'static_pressure', 'dynamic_pressure', 'temperature', 'density',
                         'wind_east', 'wind_north', 'wind_up'),
            'odom': ('east', 'north', 'up'), 'range': ('range',)}.items():
        for n, name in enumerate(names, 2):
            columns[f'sensed_{name}'] = place(late, FLOWN.sensed[topic][:, n])
    imu = FLOWN.sensed['imu/data']
    angles = [axes.quaternion_to_euler(tuple(row[2:6])) for row in imu]
    columns['sensed_roll'] = place(late, [roll for roll, _, _ in angles])
    columns['sensed_pitch'] = place(late, [-pitch for _, pitch, _ in angles])
    columns['sensed_heading'] = place(late, [axes.yaw_to_heading(yaw) for *_, yaw in angles])
    for n, (name, sign) in enumerate((
            ('roll_rate', 1.0), ('pitch_rate', -1.0), ('yaw_rate', -1.0),
            ('specific_force_forward', 1.0), ('specific_force_left', 1.0),
            ('specific_force_up', 1.0)), 6):
        columns[f'sensed_{name}'] = place(late, sign * imu[:, n])
    return columns


@pytest.fixture
def table(tmp_path):
    path = tmp_path / 'flight.parquet'
    with path.open('wb') as stream:
        parquet_file.write(stream, FLOWN, '{"a": 1}')
    return path


def test_each_column_of_the_table_is_what_it_is_called(table):
    found = parquet_file.read(table)
    wanted = expected_columns()
    assert found.columns.keys() == wanted.keys()
    for name, values in wanted.items():
        np.testing.assert_allclose(
            found.columns[name], values, rtol=1e-14, atol=1e-15, err_msg=name)
    assert found.facts == {'a': 1}
    assert {name: found.units[name] for name in (
        'time', 'roll', 'engine_1_power', 'sensed_range', 'load_factor', 'wheels_on_ground')} == {
        'time': 's', 'roll': 'rad', 'engine_1_power': 'W', 'sensed_range': 'm',
        'load_factor': '', 'wheels_on_ground': ''}
    from pyarrow import parquet
    # Null, not NaN, in what other programs read.
    whole = parquet.read_table(table)
    assert whole['command_flaps'].null_count == FRAMES
    assert whole['command_elevator'].null_count == 1
    assert whole['roll'].null_count == 0
    assert whole['target_altitude'].to_pylist()[0] is None


def test_a_table_is_read_by_the_columns_that_are_wanted(table):
    found = parquet_file.read(table, ['roll', 'not there'])
    assert found.columns.keys() == found.units.keys() == {'time', 'roll'}
    assert parquet_file.is_table(table)
    assert parquet_file.is_recording(table)
    other = table.with_name('other')
    other.write_bytes(b'PAR')
    assert not parquet_file.is_table(other)
    assert not parquet_file.is_table(table.parent)
    assert not parquet_file.is_recording(other)


@pytest.mark.parametrize(('times', 'facts', 'more', 'fault'), [
    ([0.0, 1.0], '{}', 2, None),
    ([0.0, 1.0], '{}', 3, 'it has 5 columns, expected at most 4'),
    ([0.0], '{}', 0, None), ([], '{}', 0, 'expected times that increase'),
    ([1.0, 1.0], '{}', 0, 'expected times that increase'),
    ([1.0, 0.0], '{}', 0, 'expected times that increase'),
    ([0.0, math.inf], '{}', 0, 'expected times that increase'),
    ([0.0, math.nan], '{}', 0, 'expected times that increase'),
    (None, '{}', 0, 'it has no column time'),
    ([0.0], '[]', 0, 'its metadata have no facts of a flight (xplane_bridge)'),
    ([0.0], '{', 0, 'its metadata have no facts of a flight (xplane_bridge)'),
    ([0.0], '{}' + ' ' * 18, 0, None),
    ([0.0], '{}' + ' ' * 19, 0, 'the facts of its flight have more than 20 bytes')])
def test_tables_that_are_no_recordings_are_refused(
        tmp_path, monkeypatch, times, facts, more, fault):
    import pyarrow
    from pyarrow import parquet
    monkeypatch.setattr(parquet_file, '_MOST_COLUMNS', 4)
    monkeypatch.setattr(parquet_file, '_LONGEST_FACTS', 20)
    rows = 1 if times is None else len(times)
    columns = {'a': [0.0] * rows} | ({} if times is None else {'time': times}) | {
        f'more_{n}': [0.0] * rows for n in range(more)}
    path = tmp_path / 'flight.parquet'
    parquet.write_table(pyarrow.table(
        {name: np.array(values, float) for name, values in columns.items()},
        metadata={parquet_file.FACTS: facts}), path)
    if fault is None:
        assert len(parquet_file.read(path).columns) == len(columns)
        return
    with pytest.raises(parquet_file.RecordingError) as caught:
        parquet_file.read(path)
    assert str(caught.value) == f'{path} is not read as a recording: {fault}'


class Twin:
    """As much of an aircraft with two engines as is collected of it."""

    engine_count = 2

    def __init__(self):
        self.commanded = set()
        self.looked = 0
        self.sampler = SimpleNamespace(airframe=lambda: (
            *(0.5 + n for n in range(len(AIRFRAME_STATE))), *range(10, 18)))

    @property
    def state(self):
        self.looked += 1
        names = ('flaps', 'gear', 'speedbrake', 'left_brake', 'right_brake', 'elevator_trim',
                 'aileron_trim', 'rudder_trim')
        return SimpleNamespace(
            **{name: self.looked + n / 10 for n, name in enumerate(names)}, engines=[
                SimpleNamespace(throttle=0.0, mixture=self.looked + number / 2,
                                propeller=self.looked + number / 4) for number in range(2)])


def test_what_is_collected_of_two_engines_is_kept_by_engine():
    twin = Twin()
    collector = Collector(twin)
    samples = TimedRows(len(SAMPLE))
    more = tuple(100.0 + n for n in range(len(SURROUNDINGS)))
    for at in range(4):
        if at == 2:
            twin.commanded.add('flaps')
        samples.add(float(at), [at + n / 100 for n in range(len(SAMPLE))])
        collector.add(float(at), more, 50.0 + at, (1.0, 2.0, 3.0 + at))
    assert twin.looked == 2
    assert not twin.commanded
    commanded = TimedRows(4)
    commanded.add(1.0, (0.1, 0.2, 0.3, 0.4))
    collector.time = 1.0
    collector.command((None, 0.9, *[None] * 6))
    found = collector.collected(samples, commanded, None)
    np.testing.assert_array_equal(found.frames['time'], [0.0, 1.0, 2.0, 3.0])
    np.testing.assert_array_equal(found.frames['altitude'], [50.0, 51.0, 52.0, 53.0])
    np.testing.assert_array_equal(found.frames['up'], [3.0, 4.0, 5.0, 6.0])
    for n, name in enumerate(AIRFRAME_STATE):
        np.testing.assert_array_equal(found.frames[name], [0.5 + n] * 4, err_msg=name)
    for n, name in enumerate(SURROUNDINGS):
        if name not in AIRFRAME_STATE:
            np.testing.assert_array_equal(found.frames[name], [100.0 + n] * 4, err_msg=name)
    np.testing.assert_array_equal(found.frames['flaps'], [1.0, 1.0, 2.0, 2.0])
    np.testing.assert_allclose(found.frames['rudder_trim'], [1.7, 1.7, 2.7, 2.7])
    first, second = found.engines
    for n, name in enumerate(ENGINE):
        np.testing.assert_array_equal(first[name], [10.0 + n] * 4, err_msg=name)
        np.testing.assert_array_equal(second[name], [14.0 + n] * 4, err_msg=name)
    np.testing.assert_array_equal(first['mixture'], [1.0, 1.0, 2.0, 2.0])
    np.testing.assert_array_equal(second['mixture'], [1.5, 1.5, 2.5, 2.5])
    np.testing.assert_array_equal(second['propeller'], [1.25, 1.25, 2.25, 2.25])
    last = [at + (len(SAMPLE) - 1) / 100 for at in range(4)]
    np.testing.assert_array_equal(second['throttle'], last)
    same(found.commands, [[1.0, 0.1, 0.2, 0.3, 0.4, math.nan, 0.9, *[math.nan] * 6]])
    assert (found.targets.shape, found.contacts.shape) == ((0, 6), (0, 4))
    assert found.sensed == {}


def test_rows_have_their_times_in_front():
    rows = TimedRows(2)
    assert (len(rows), [*rows.times], rows.rows().shape) == (0, [], (0, 3))
    assert math.isnan(rows.last(0))
    rows.add(1.0, (2.0, 3.0))
    rows.append(rows.pack(4.0, 5.0, 6.0))
    assert (len(rows), [*rows.times], rows.last(0), rows.last(1)) == (2, [1.0, 4.0], 5.0, 6.0)
    assert rows.rows().tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    assert rows.rows(1).tolist() == [[4.0, 5.0, 6.0]]


def test_what_sensors_deliver_is_kept_in_its_order():
    collector = Collector(Twin())
    collector.time = 7.0
    collector.fix(1, (47.0, 8.0, 500.0, 0.1, 0.2))
    collector.velocity(2, SimpleNamespace(enu=(1.0, 2.0, 3.0), horizontal=0.3, vertical=0.4))
    collector.air(3, Air(50.0, 55.0, None, 0.08, 95e3, 1700.0, 285.0, 1.16, (4.0, 3.0, -0.5)))
    collector.air(4, Air(density=1.2))
    collector.range(5, (12.0, 0.01), SimpleNamespace(
        field_of_view=0.1, minimum=0.2, maximum=40.0))
    samples, commanded = TimedRows(len(SAMPLE)), TimedRows(4)
    samples.add(7.0, [0.0] * len(SAMPLE))
    collector.add(7.0, (0.0,) * len(SURROUNDINGS), 0.0, (0.0, 0.0, 0.0))
    found = collector.collected(samples, commanded, None).sensed
    nan = math.nan
    expected = {
        'fix': [[7.0, 1.0, 47.0, 8.0, 500.0, 0.1, 0.2]],
        'fix_velocity': [[7.0, 2.0, 1.0, 2.0, 3.0, 0.3, 0.4]],
        'air_data': [
            [7.0, 3.0, 50.0, 55.0, nan, 0.08, 95e3, 1700.0, 285.0, 1.16, 4.0, 3.0, -0.5],
            [7.0, 4.0, *[nan] * 7, 1.2, nan, nan, nan]],
        'range': [[7.0, 5.0, 12.0, 0.01, 0.1, 0.2, 40.0]]}
    assert found.keys() == expected.keys()
    for topic, rows in expected.items():
        same(found[topic], rows)
