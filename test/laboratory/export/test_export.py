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


"""Recordings and captures exported, read back by each format's own library."""

import csv
import json
from pathlib import Path
import re
import shlex
import struct

import pytest

pytest.importorskip('mcap', reason='mcap is not installed')
pytest.importorskip('rosbags', reason='rosbags is not installed')

from captures import pcap
import log_files
from mcap.writer import CompressionType, Writer
import numpy as np
from rosbags.typesys import get_types_from_msg, get_typestore, Stores
from ulyssix_packets import bcd, datagram, DAY_45, tagged, utc
from vector_files import vectors

from xplane_bridge.commands.export import main
from xplane_bridge.common import optional
from xplane_bridge.laboratory.export import recordings, resampling, writers
from xplane_bridge.laboratory.export.tables import RowBatch, TableColumn

MSG = Path(__file__).resolve().parents[3] / 'msg'
STORE = get_typestore(Stores.ROS2_JAZZY)
PUBLISHER = (('192.168.1.10', 4000), ('192.168.1.20', 5000))
NOON = utc(2026, 2, 14, 12, 0, 0)
JAN1 = utc(2026, 1, 1)
BEGIN = 1_700_000_000 * 10**9
STEP = 10**7
# A type of nobody's: names, lists, and messages in lists within them.
PART, THING = 'other_package/msg/Part', 'other_package/msg/Thing'
DEFINITION = f"""\
std_msgs/Header header
float32 width       # m, of the thing
int16 number        # how many
bool is_new
string name
uint8[] data
{PART}[] parts
builtin_interfaces/Duration age
{'=' * 80}
MSG: other_package/Part
string label
float64[2] corner   # m
float64[] weights   # kg
{'=' * 80}
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
{'=' * 80}
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
{'=' * 80}
MSG: builtin_interfaces/Duration
int32 sec
uint32 nanosec
"""


def own_definition(name):
    """Return a definition of this package as record stores it."""
    inner = ''.join(
        f'{"=" * 80}\nMSG: {kind.replace("/msg/", "/")}\n'
        + STORE.generate_msgdef(kind, ros_version=2)[0].partition('=' * 80)[0]
        for kind in ('std_msgs/msg/Header', 'geometry_msgs/msg/Vector3',
                     'builtin_interfaces/msg/Time'))
    return (MSG / f'{name}.msg').read_text() + '\n' + inner


for kind, text in ((THING, DEFINITION), *(
        (f'xplane_bridge/msg/{name}', own_definition(name))
        for name in ('AirData', 'UlyssixPacket', 'UlyssixParameters'))):
    STORE.register(get_types_from_msg(text, kind))
TYPES = STORE.types


def header(ns, frame='base_link'):
    return TYPES['std_msgs/msg/Header'](
        TYPES['builtin_interfaces/msg/Time'](*divmod(ns, 10**9)), frame)


def imu(number):
    vector, covariance = TYPES['geometry_msgs/msg/Vector3'], np.full(9, 0.5)
    angle = number / 20
    return TYPES['sensor_msgs/msg/Imu'](
        header(BEGIN + number * STEP),
        TYPES['geometry_msgs/msg/Quaternion'](0.0, 0.0, np.sin(angle), np.cos(angle)),
        covariance, vector(0.1 * number, 2.0, 3.0), covariance, vector(4.0, 5.0, 9.81),
        covariance)


def air_data(number):
    return TYPES['xplane_bridge/msg/AirData'](
        header(BEGIN + number * STEP), 50.0 + number, *(float(at) for at in range(7)),
        TYPES['geometry_msgs/msg/Vector3'](1.0, float('nan'), 3.0))


def thing(number):
    part = TYPES[PART]
    return TYPES[THING](
        header(BEGIN + number * STEP), 1.5, -number, number % 2 == 0, f'thing #{number}, "ä"',
        np.arange(number, dtype=np.uint8),
        [part('a', np.array([1.0, 2.0]), np.array([7.0])),
         part('b', np.array([3.0, 4.0]), np.array([8.0, 9.0]))],
        TYPES['builtin_interfaces/msg/Duration'](1, 500_000_000))


TOPICS = {
    '/uav/imu/data': ('sensor_msgs/msg/Imu', imu),
    '/uav/air_data': ('xplane_bridge/msg/AirData', air_data),
    '/uav/thing': (THING, thing),
}


def definition(kind):
    if kind == THING:
        return DEFINITION
    if kind.startswith('xplane_bridge'):
        return own_definition(kind.rpartition('/')[2])
    return STORE.generate_msgdef(kind, ros_version=2)[0]


def write(path, messages, extra=None):
    """Write (topic, type, time in ns, message) as record does."""
    with path.open('wb') as stream:
        writer = Writer(stream, chunk_size=2048, compression=CompressionType.ZSTD)
        writer.start('ros2', 'test')
        channels = {}
        for topic, kind, log_ns, message in messages:
            if topic not in channels:
                channels[topic] = writer.register_channel(topic, 'cdr', writer.register_schema(
                    kind, 'ros2msg', definition(kind).encode()))
            data = STORE.serialize_cdr(message, kind)
            writer.add_message(channels[topic], log_ns, bytes(data), log_ns)
        if extra:
            extra(writer)
        writer.finish()
    return path


def flight(count=20):
    for number in range(count):
        for topic, (kind, make) in TOPICS.items():
            yield topic, kind, BEGIN + number * STEP + 1_000_000, make(number)


@pytest.fixture(scope='module')
def recording(tmp_path_factory):
    return write(tmp_path_factory.mktemp('export') / 'flight.mcap', flight())


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    """Return a rosbag2 folder of the same flight, in SQLite."""
    from rosbags.rosbag2 import StoragePlugin
    from rosbags.rosbag2 import Writer as Bag
    path = tmp_path_factory.mktemp('bag') / 'bag'
    with Bag(path, version=9, storage_plugin=StoragePlugin.SQLITE3) as bag:
        connections = {}
        for topic, kind, log_ns, message in flight():
            if topic not in connections:
                connections[topic] = bag.add_connection(topic, kind, typestore=STORE)
            bag.write(connections[topic], log_ns, STORE.serialize_cdr(message, kind))
    return path


def exported(source, tmp_path, *options, code=0):
    output = tmp_path / 'out'
    assert main([str(source), '--output', str(output), *map(str, options)]) == code
    return output


def rows_of(path):
    with path.open(newline='') as stream:
        names, units, *rows = csv.reader(stream)
    assert units[0] == '# s'
    return dict(zip(names, ['s', *units[1:]], strict=True)), [
        dict(zip(names, row, strict=True)) for row in rows]


UNITS = {
    'time': 's', 'stamp': 's', 'log_time': 's', 'indicated_airspeed': 'm/s', 'sideslip': 'rad',
    'static_pressure': 'Pa', 'temperature': 'K', 'density': 'kg/m^3', 'wind.x': 'm/s',
}


def test_csv(recording, tmp_path):
    folder = exported(recording, tmp_path, '--to', 'csv')
    assert {path.name for path in folder.iterdir()} == {
        'uav.imu.data.csv', 'uav.air_data.csv', 'uav.thing.csv'}
    units, rows = rows_of(folder / 'uav.air_data.csv')
    assert units.items() >= UNITS.items()
    assert rows[3]['time'] == '0.03'
    assert rows[3]['stamp'] == '1700000000.03'
    assert rows[3]['log_time'] == '1700000000.031'
    assert [float(row['indicated_airspeed']) for row in rows] == [50 + at for at in range(20)]
    assert rows[3]['wind.y'] == 'NaN'
    units, rows = rows_of(folder / 'uav.thing.csv')
    assert (units['width'], units['number'], units['parts[].corner[1]']) == ('m', '', 'm')
    assert rows[3] | {'time': '', 'stamp': '', 'log_time': ''} == {
        'time': '', 'stamp': '', 'log_time': '', 'header.frame_id': 'base_link', 'width': '1.5',
        'number': '-3', 'is_new': 'False', 'name': 'thing #3, "ä"', 'data': '[0, 1, 2]',
        'parts[].label': '["a", "b"]', 'parts[].corner[0]': '[1.0, 3.0]',
        'parts[].corner[1]': '[2.0, 4.0]', 'parts[].weights': '["[7.0]", "[8.0, 9.0]"]',
        'age': '1.5'}


def test_parquet(recording, tmp_path):
    parquet = pytest.importorskip('pyarrow.parquet', reason='pyarrow is not installed')
    folder = exported(recording, tmp_path, '--to', 'parquet')
    table = parquet.read_table(folder / 'uav.air_data.parquet')
    found = {field.name: (field.metadata or {}).get(b'unit', b'').decode()
             for field in table.schema}
    assert found.items() >= UNITS.items()
    assert table.schema.metadata[b'topic'] == b'uav/air_data'
    assert json.loads(table.schema.metadata[b'units'])['wind.x'] == 'm/s'
    assert table['indicated_airspeed'].to_pylist() == [50.0 + at for at in range(20)]
    table = parquet.read_table(folder / 'uav.thing.parquet')
    assert str(table.schema.field('width').type) == 'float'
    assert str(table.schema.field('number').type) == 'int16'
    assert table['data'].to_pylist()[3] == [0, 1, 2]
    assert table['is_new'].to_pylist()[:2] == [True, False]
    table = parquet.read_table(folder / 'uav.imu.data.parquet')
    assert table.schema.field('angular_velocity.x').metadata == {b'unit': b'rad/s'}
    assert table['angular_velocity.x'].to_pylist() == [0.1 * at for at in range(20)]


def test_mat(recording, tmp_path):
    io = pytest.importorskip('scipy.io', reason='scipy is not installed')
    found = io.loadmat(exported(recording, tmp_path, '--to', 'mat'), simplify_cells=True,
                       appendmat=False)
    air = found['uav_air_data']
    assert air['indicated_airspeed'].tolist() == [50.0 + at for at in range(20)]
    assert air['units']['indicated_airspeed'] == 'm/s'
    assert air['names']['wind_x'] == 'wind.x'
    item = found['uav_thing']
    assert item['number'].dtype == np.int16
    assert item['name'][3] == 'thing #3, "ä"'
    assert item['data'][3].tolist() == [0, 1, 2]
    assert found['about']['source'] == 'flight.mcap'


def test_names_that_become_the_same_stay_apart(tmp_path):
    io = pytest.importorskip('scipy.io', reason='scipy is not installed')
    long = 'l ' + 80 * 'x'
    names = ['time', 'ÖÖ' + long, long + 'y', 'units', '1 G', 'L_1', 'l 1']
    batch = RowBatch('a/b', 'test', tuple(TableColumn(name) for name in names), [
        [float(at)] for at in range(len(names))])
    other = RowBatch('a.b', 'test', (TableColumn('time'),), [[7.0]])
    writers.write_mat(tmp_path / 'a.mat', iter((batch, other)), {}, print)
    found = io.loadmat(tmp_path / 'a.mat', simplify_cells=True)
    fields = {field: found['a_b'][field] for field in found['a_b']['names']}
    assert list(fields.values()) == list(range(len(names)))
    assert list(found['a_b']['names'].values()) == names
    assert all(re.fullmatch('[A-Za-z][A-Za-z0-9_]{0,62}', name) for name in fields)
    assert found['a_b_2']['time'] == 7.0
    writers.write_csv(tmp_path, iter((batch, other)), {}, print)
    assert {path.name for path in tmp_path.glob('*.csv')} == {'a.b.csv', 'a.b_2.csv'}


def test_mf4(recording, tmp_path):
    asammdf = pytest.importorskip('asammdf', reason='asammdf is not installed')
    output = tmp_path / 'out.mf4'
    assert main([str(recording), '--to', 'mf4', '--output', str(output)]) == 0
    with asammdf.MDF(output) as file:
        assert [group.channel_group.acq_name for group in file.groups] == [
            'uav/imu/data', 'uav/air_data', 'uav/thing']
        signal = file.get('indicated_airspeed')
        assert signal.unit == 'm/s'
        assert signal.samples.tolist() == [50.0 + at for at in range(20)]
        assert signal.timestamps[3] == 0.03
        assert file.get('data').samples[3] == b'[0, 1, 2]'
        assert file.get('name').samples[3] == 'thing #3, "ä"'.encode()


def test_the_page_does_what_it_says(recording, bag, tmp_path, monkeypatch, capsys):
    for name in ('pandas', 'pyarrow', 'asammdf', 'scipy', 'pygeomag', 'pint'):
        pytest.importorskip(name, reason=f'{name} is not installed')
    monkeypatch.chdir(tmp_path)
    Path('flight.mcap').write_bytes(recording.read_bytes())
    Path('bag_folder').symlink_to(bag)
    Path('telemetry.pcap').write_bytes(pcap((NOON / 1e9, *PUBLISHER, tagged(
        (1.0, 3846896.0), time=DAY_45, control=1))))
    Path('map.yaml').write_text('parameters: {parameter_1: {unit: ft}}')
    page = (MSG.parent / 'docs' / 'how-to' / 'export.md').read_text()
    commands = re.findall(r'^ros2 run xplane_bridge export (.*)$', page, re.MULTILINE)
    Path('flight.ulg').write_bytes(log_files.ulog())
    Path('flight.bin').write_bytes(log_files.flash_log())
    assert len(commands) == 8
    for command in commands:
        assert main([*shlex.split(command), '--force']) == 0
    capsys.readouterr()
    snippets = re.findall(r'```python\n(.*?)```', page, re.DOTALL)
    assert len(snippets) == 3
    for text in snippets:
        exec(text, {})
    assert capsys.readouterr().out.endswith(' 0.0\n')


def test_a_folder_of_sqlite_says_the_same(recording, bag, tmp_path):
    folder = exported(bag, tmp_path, '--to', 'csv')
    (tmp_path / 'mcap').mkdir()
    other = exported(recording, tmp_path / 'mcap', '--to', 'csv')
    for path in other.iterdir():
        # The writer stores definitions without comments, so units of our own types are not known.
        assert rows_of(folder / path.name)[1] == rows_of(path)[1]


def test_a_file_that_is_cut_off_gives_what_is_before(recording, tmp_path, capsys):
    data = recording.read_bytes()
    path = tmp_path / 'cut.mcap'
    path.write_bytes(data[:len(data) // 2])
    folder = exported(path, tmp_path, '--to', 'csv', '--topics', 'air_data', code=1)
    _, rows = rows_of(folder / 'uav.air_data.csv')
    assert 3 < len(rows) < 20
    assert [float(row['indicated_airspeed']) for row in rows] == [
        50 + at for at in range(len(rows))]
    assert 'are left of the file; what is before it is exported' in capsys.readouterr().err


def test_what_cannot_be_exported_is_said(recording, tmp_path, capsys):
    def more(writer):
        channels = (
            writer.register_channel('/cbor', 'cbor', 0),
            writer.register_channel('/odd', 'cdr', writer.register_schema(
                'odd/msg/Odd', 'ros2msg', b'float65 x')),
            writer.register_channel('/broken', 'cdr', writer.register_schema(
                THING, 'ros2msg', DEFINITION.encode())))
        for channel in channels:
            writer.add_message(channel, BEGIN, b'\0\1\0\0\xff\xff', BEGIN)

    path = write(tmp_path / 'flight.mcap', flight(2), more)
    exported(path, tmp_path, '--to', 'csv', code=1)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert any('/cbor is skipped, type unknown: its definition is cbor' in line for line in lines)
    assert any('/odd is skipped, type odd/msg/Odd' in line for line in lines)
    assert any('/broken: not of its type: 1 message' in line for line in lines)


@pytest.mark.parametrize(('options', 'sentence'), [
    (('missing.mcap', '--to', 'csv'), 'there is no recording'),
    (('text.mcap', '--to', 'csv'), 'it does not begin as an MCAP file'),
    (('flight.mcap', '--to', 'csv', '--topics', '/nothing'), 'there is nothing to export'),
    (('flight.mcap', '--to', 'csv', '--resample', '/nothing'), 'expected seconds or one of'),
    (('flight.mcap', '--to', 'csv', '--output', 'full'), '--force overwrites it'),
    (('flight.mcap', '--to', 'mat', '--output', 'full'), 'is a folder, expected a file'),
])
def test_what_is_refused(recording, tmp_path, monkeypatch, capsys, options, sentence):
    monkeypatch.chdir(tmp_path)
    Path('text.mcap').write_text('no recording')
    Path('flight.mcap').write_bytes(recording.read_bytes())
    Path('full').mkdir()
    Path('full/mine.txt').write_text('mine')
    assert main(list(options)) == 2
    assert sentence in capsys.readouterr().err
    assert Path('full/mine.txt').read_text() == 'mine'


def test_simulated_time_is_the_clock_of_what_has_no_stamp(tmp_path):
    """Lockstep stamps begin at 0; /clock has none and is recorded in wall time."""
    def messages():
        for number in range(10):
            sent = imu(number)
            sent.header = header(1000 + number * STEP)
            yield '/uav/imu/data', 'sensor_msgs/msg/Imu', BEGIN + number * 10**9, sent
            yield '/tick', 'std_msgs/msg/Float64', BEGIN + number * 10**9, TYPES[
                'std_msgs/msg/Float64'](float(number))

    folder = exported(write(tmp_path / 'a.mcap', messages()), tmp_path, '--to', 'csv')
    _, rows = rows_of(folder / 'tick.csv')
    assert [row['time'] for row in rows][:3] == ['0.0', '0.01', '0.02']
    assert rows[1]['stamp'] == ''
    # As the figures of an experiment say, where they are beside it.
    (tmp_path / 'a.json').write_text('{"begin": 0.02}')
    tables = {batch.table: batch for batch in recordings.read(tmp_path / 'a.mcap', (), print)}
    assert tables['tick'].values[0][:3] == pytest.approx([-0.02, -0.01, 0.0], abs=2e-6)


def test_resampling_is_linear_and_never_beyond_the_data():
    times = [0.0, 0.1, 0.3, 0.3]
    table = RowBatch('t', '', (
        TableColumn('time', unit='s'), TableColumn('x'), TableColumn('heading', unit='rad'),
        TableColumn('course', unit='deg'), TableColumn('n', 'int32'), TableColumn('s', 'str'),
        *(TableColumn(name, is_quaternion=True) for name in 'abcd')), [
        times, [0.0, 1.0, 0.0, 3.0], [3.0, -3.0, -3.0, -3.0], [350.0, 10.0, 10.0, 20.0],
        [1, 2, 3, 4], ['a', None, 'b', 'c'],
        # A turn by 90 degrees about the last axis, whose sign changes on the way.
        [0.0] * 4, [0.0] * 4, [0.0, -2**-0.5, 0.0, 0.0], [1.0, -2**-0.5, 1.0, 1.0]])
    base = resampling.grid([table], 0.05)
    assert base == pytest.approx([0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3])
    base = np.array([-0.05, 0.0, 0.05, 0.1, 0.2, 0.3, 0.31])
    found = dict(zip([column.name for column in table.columns],
                     resampling.resampled(table, base).values, strict=True))
    nan = float('nan')
    close = {'nan_ok': True, 'abs': 1e-12}
    assert found['x'] == pytest.approx([nan, 0, 0.5, 1, 2, 3, nan], **close)
    assert found['heading'] == pytest.approx(
        [nan, 3.0, -np.pi, -3.0, -3.0, -3.0, nan], **close)
    assert found['course'] == pytest.approx([nan, 350, 0, 10, 15, 20, nan], **close)
    assert found['n'] == [None, 1, 1, 2, 2, 4, None]
    assert found['s'] == [None, 'a', 'a', 'a', 'a', 'c', None]
    middle = np.array([found[name][2] for name in 'abcd'])
    assert middle == pytest.approx([0, 0, np.sin(np.pi / 8), np.cos(np.pi / 8)])


def test_all_tables_at_the_times_of_a_topic(recording, tmp_path):
    folder = exported(recording, tmp_path, '--to', 'csv', '--topics', 'imu/data', 'thing',
                      '--resample', 'imu/data')
    tables = [rows_of(path)[1] for path in sorted(folder.iterdir())]
    assert len(tables) == 2
    (tmp_path / 'one').mkdir()
    one = exported(recording, tmp_path / 'one', '--to', 'csv', '--topics', '/uav/thing',
                   '--resample', 'imu/data')
    assert rows_of(one / 'uav.thing.csv')[1] == tables[1]
    assert len(list(one.iterdir())) == 1
    assert [row['time'] for row in tables[0]] == [row['time'] for row in tables[1]]
    folder = exported(recording, tmp_path, '--to', 'csv', '--resample', 0.004, '--force')
    _, rows = rows_of(folder / 'uav.air_data.csv')
    assert [float(row['indicated_airspeed']) for row in rows] == pytest.approx(
        [50 + 0.4 * at for at in range(len(rows))])


def test_a_format_whose_package_is_missing_says_how_to_get_it(
        recording, tmp_path, monkeypatch, capsys):
    found = optional.importlib.util.find_spec
    monkeypatch.setattr(optional.importlib.util, 'find_spec', lambda name: (
        None if name == 'asammdf' else found(name)))
    output = tmp_path / 'out.mf4'
    assert main([str(recording), '--to', 'mf4', '--output', str(output)]) == 2
    assert 'exporting to mf4 needs the Python package asammdf: ' in capsys.readouterr().err
    assert not output.exists()


def ulyssix_packet(counter, total, parameters):
    """Return a packet of (samples in a second since noon and value) by parameter."""
    since = (NOON - JAN1) / 1e9
    data = b''.join(
        struct.pack('<I', len(samples)) + b''.join(
            struct.pack('<fd', value, since + seconds) for seconds, value in samples)
        for samples in parameters)
    first = min(seconds for samples in parameters for seconds, _ in samples)
    return datagram(
        counter, total, data, sum(map(len, parameters)), control=3,
        names=b'Eng 1/RPM (%)\x1fOil',
        time=bcd(45, 12, 0, int(first), round(first % 1 * 1e6)))


def test_ulyssix_parameters_of_a_capture_are_columns(tmp_path):
    packets = (
        ulyssix_packet(1, 3, ([(0.0, 1.0), (0.01, 2.0)], [(0.0, 80.0)])),
        ulyssix_packet(2, 5, ([(0.02, 3.0)], [(0.025, 81.0)])))
    path = tmp_path / 'flight.pcap'
    path.write_bytes(pcap(*(
        (NOON / 1e9 + 0.1 * at, *PUBLISHER, data) for at, data in enumerate(packets))))
    folder = exported(path, tmp_path, '--to', 'csv')
    quality = json.loads((folder / 'quality.json').read_text())
    assert [(one['name'], one['samples'], one['maximum']) for one in quality['parameters']] == [
        ('Eng 1/RPM (%)', 3, 3.0), ('Oil', 2, 81.0)]
    _, rows = rows_of(folder / 'ulyssix.packets.csv')
    assert [(row['Eng 1/RPM (%)'], row['Oil']) for row in rows] == [
        ('1.0', '80.0'), ('2.0', ''), ('3.0', ''), ('', '81.0')]
    assert [float(row['time']) for row in rows] == pytest.approx([0, 0.01, 0.02, 0.025], abs=1e-6)
    assert float(rows[2]['stamp']) == pytest.approx(NOON / 1e9 + 0.02, abs=1e-6)


def test_ulyssix_vectors_give_their_values(tmp_path, capsys):
    vector = next(one for one in vectors('ulyssix') if one['name'] == 'names_time')
    path = tmp_path / 'flight.pcap'
    path.write_bytes(pcap((NOON / 1e9, *PUBLISHER, bytes.fromhex(vector['hex']))))
    _, rows = rows_of(exported(path, tmp_path, '--to', 'csv') / 'ulyssix.packets.csv')
    assert list(rows[0])[3:] == ['Airspeed', 'Alt MSL', 'Roll']
    capsys.readouterr()
    path.write_bytes(path.read_bytes()[:-5])
    assert main([str(path), '--to', 'csv']) == 2
    # One that is cut behind the first.
    data = pcap(*((NOON / 1e9 + at, *PUBLISHER, tagged(
        (1.0 + at, 3846896.0 + at), time=DAY_45, counter=at,
        total=1 + at)) for at in range(3)))
    path.write_bytes(data[:-5])
    exported(path, tmp_path, '--to', 'csv', '--names', 'x', '--force', code=1)
    assert 'the file is truncated' in capsys.readouterr().err


def test_ulyssix_parameters_of_a_recording_are_columns(tmp_path):
    parquet = pytest.importorskip('pyarrow.parquet', reason='pyarrow is not installed')
    packet, names = (
        TYPES[f'xplane_bridge/msg/Ulyssix{name}'] for name in ('Packet', 'Parameters'))
    empty = np.array([], np.int64)

    def message(at, counts, values, times):
        return ('/telemetry/packets', 'xplane_bridge/msg/UlyssixPacket', BEGIN + at * STEP, packet(
            header(BEGIN + at * STEP), at, 9, np.array(counts, np.uint32),
            np.array(values, np.float32), empty, BEGIN + np.array(times, np.int64)))

    messages = [
        message(0, [2, 1], [1.0, 2.0, 80.0], [0, STEP, 0]),
        ('/telemetry/parameters', 'xplane_bridge/msg/UlyssixParameters', BEGIN + STEP,
         names(header(BEGIN), ['Roll', 'Oil'])),
        message(2, [1, 0], [3.0], [2 * STEP])]
    folder = exported(
        write(tmp_path / 'a.mcap', messages), tmp_path, '--to', 'parquet', '--topics', 'packets')
    table = parquet.read_table(folder / 'telemetry.packets.parquet')
    assert table['time'].to_pylist() == [0.0, 0.01, 0.02]
    assert table['Roll'].to_pylist() == [1.0, 2.0, 3.0]
    assert table['Oil'].to_pylist() == [80.0, None, None]


def test_captures_of_the_other_protocols_are_recognised(tmp_path, capsys):
    client = ('192.168.1.10', 50000)

    def captured(name, port, *packets):
        path = tmp_path / f'{name}.pcap'
        peer = ('192.168.1.20', port)
        path.write_bytes(pcap(*(
            (NOON / 1e9 + at, *((peer, client) if side == 'peer' else (client, peer)), data)
            for at, (side, data) in enumerate(packets))))
        return exported(path, tmp_path / name, '--to', 'csv', code=0)

    gps = next(one for one in vectors('fdmdata') if one['name'] == 'response_gps')
    units, rows = rows_of(captured(
        'huginn', 10300, ('bridge', b'\0'), ('peer', bytes.fromhex(gps['hex'])))
        / 'fdmdata.peer.gps.csv')
    assert units['latitude'] == 'deg'
    assert float(rows[0]['latitude']) == gps['fields']['latitude']
    assert float(rows[0]['time']) == 1.0

    rref = b'RREF\0' + struct.pack('<ii400s', 10, 3, b'sim/x') + bytes(0)
    folder = captured(
        'xplane', 49000, ('bridge', rref), ('peer', b'RREF,' + struct.pack('<if', 3, 2.5)),
        ('peer', b'DATA*' + struct.pack('<I8f', 17, *range(8))))
    assert rows_of(folder / 'xplane_udp.peer.RREF.sim.x.csv')[1][0]['value'] == '2.5'
    assert rows_of(folder / 'xplane_udp.peer.DATA.17.csv')[1][0]['value[7]'] == '7.0'

    # X-Plane's answers alone, from its other ports.
    for port in range(49001, 49006):
        folder = captured(
            f'answers {port}', port, ('peer', b'RREF,' + struct.pack('<if', 3, 2.5)))
        assert rows_of(folder / 'xplane_udp.peer.RREF.index_3.csv')[1][0]['value'] == '2.5'

    _, rows = rows_of(captured('xpc', 49009, ('bridge', b'GETC\0\1')) / 'xpc.bridge.GETC.csv')
    assert rows[0]['aircraft'] == '1'
    assert capsys.readouterr().err == ''
