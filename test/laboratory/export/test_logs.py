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

"""Logs of PX4 and ArduPilot exported: the values that their own libraries read."""

import csv
import io
import struct

from limited import limited
from log_files import (
    flash_beginning,
    flash_format,
    flash_log,
    message,
    SYNC,
    ulog,
    ulog_data,
    ulog_flags,
    ulog_format,
    ulog_header,
    ulog_topic,
)
import pytest

from xplane_bridge.commands.export import main
from xplane_bridge.laboratory.flights.logs import dataflash, files
from xplane_bridge.laboratory.flights.logs import ulog as ulog_reader


def exported(content, name, tmp_path, *options, code=0, to='csv'):
    """Export a log; return its tables as lists of texts, by name, without the row of units."""
    path = tmp_path / name
    path.write_bytes(content)
    out = tmp_path / 'out'
    assert main([str(path), '--to', to, '--force', '--output', str(out), *options]) == code
    return {one.name.removesuffix('.csv'): list(csv.reader(io.StringIO(one.read_text())))
            for one in out.glob('*.csv')}


def columns(table):
    """Return names, units, and rows as numbers or texts."""
    names, units, *rows = table
    return dict(zip(names, zip(*rows, strict=True), strict=True)), dict(
        zip(names, [units[0].removeprefix('# '), *units[1:]], strict=True))


def numbers(texts):
    return [{'True': 1.0, 'False': 0.0}.get(one) if one in ('True', 'False') else float(one)
            for one in texts]


@pytest.mark.parametrize('as_written', [True, False])
def test_ulog_has_the_values_that_pyulog_reads(tmp_path, as_written):
    core = pytest.importorskip('pyulog.core', reason='pyulog is not installed')
    content = ulog()
    theirs = core.ULog(io.BytesIO(content))
    if not as_written:
        # By their own writer.
        theirs.write_ulog(str(tmp_path / 'theirs.ulg'))
        content = (tmp_path / 'theirs.ulg').read_bytes()
    found = exported(content, 'flight.ulg', tmp_path)
    assert sorted(found) == ['named', 'sensor_gyro', 'sensor_gyro.1', 'vehicle_attitude']
    for one in theirs.data_list:
        table, units = columns(found[one.name + (f'.{one.multi_id}' if one.multi_id else '')])
        assert units['time'] == 's'
        assert [round(1e6 * stamp) for stamp in numbers(table['stamp'])] == (
            one.data['timestamp'].tolist())
        for name, values in one.data.items():
            if name in table:
                assert numbers(table[name]) == [float(value) for value in values], name
            else:
                assert name == 'timestamp' or name.startswith(('name[', 'many['))
    named, _ = columns(found['named'])
    assert set(named['name']) == {'wing'}
    assert named['many'][0] == str([float(one) for one in range(40)])
    assert float(named['time'][-1]) == pytest.approx(0.19)


def test_a_dataflash_log_has_the_values_and_units_that_pymavlink_reads(tmp_path):
    reader = pytest.importorskip('pymavlink.DFReader', reason='pymavlink is not installed')
    found = exported(flash_log(), 'flight.bin', tmp_path)
    assert sorted(found) == ['ATT', 'IMU', 'IMU.1', 'ISBD', 'MSG', 'OLD', 'POS']
    theirs = reader.DFReader_binary(str(tmp_path / 'flight.bin'))
    read = dict.fromkeys(found, 0)
    tables = {name: columns(table)[0] for name, table in found.items()}
    while (one := theirs.recv_msg()) is not None:
        name = one.get_type()
        if name in ('FMT', 'FMTU', 'UNIT', 'MULT'):
            continue
        if name == 'IMU' and one.I == 1:
            name = 'IMU.1'
        at = read[name]
        read[name] += 1
        for field in one.get_fieldnames():
            value = getattr(one, field)
            if field in ('TimeUS', 'TimeMS'):
                scale = 1e-6 if field == 'TimeUS' else 1e-3
                assert float(tables[name]['stamp'][at]) == pytest.approx(scale * value, abs=1e-9)
            elif isinstance(value, str):
                assert tables[name][field][at] == value
            elif hasattr(value, 'tolist'):
                assert tables[name][field][at] == str(value.tolist())
            else:
                assert float(tables[name][field][at]) == value, (name, field)
    assert read == {name: len(table['time']) for name, table in tables.items()}
    units = {name: columns(table)[1] for name, table in found.items()}
    assert units['ATT']['Roll'] == units['ATT']['Yaw'] == 'deg'
    # An id that is not defined.
    assert units['ATT']['AEKF'] == units['POS']['Half'] == ''
    assert units['IMU']['GyrX'], units['IMU']['AccX'] == ('rad/s', 'm/s^2')
    assert units['POS']['Lat'] == 'deg'
    assert units['POS']['Speed'] == theirs.formats[4].get_unit('Speed') == '3.6 m/s'


def test_topics_select_all_instances(tmp_path):
    assert sorted(exported(ulog(), 'f.ulg', tmp_path, '--topics', 'sensor_gyro')) == [
        'sensor_gyro', 'sensor_gyro.1']


@pytest.mark.parametrize('to', ['parquet', 'mat', 'mf4'])
@pytest.mark.parametrize(('name', 'make'), [('f.ulg', ulog), ('f.bin', flash_log)])
def test_logs_go_to_every_format(tmp_path, to, name, make):
    pytest.importorskip({'parquet': 'pyarrow', 'mat': 'scipy', 'mf4': 'asammdf'}[to])
    exported(make(), name, tmp_path, to=to)


@pytest.mark.parametrize(('name', 'make', 'said'), [
    ('f.ulg', ulog, 'it is cut short: of its last record'),
    ('f.bin', flash_log, 'it is cut short: of its last message')])
def test_a_log_that_is_cut_gives_what_is_before(tmp_path, capsys, name, make, said):
    content = make()
    first = 'vehicle_attitude' if name == 'f.ulg' else 'ATT'
    whole = exported(content, name, tmp_path)[first]
    cut = exported(content[:len(content) * 3 // 4 + 1], name, tmp_path, code=1)[first]
    assert 2 < len(cut) < len(whole)
    assert cut == whole[:len(cut)]
    assert said in capsys.readouterr().err


def test_what_is_no_message_is_passed_over(tmp_path, capsys):
    content = ulog()
    at = content.index(SYNC, len(content) // 2) + len(SYNC)
    damaged = exported(content[:at] + bytes(50) + content[at:], 'f.ulg', tmp_path, code=1)
    # Up to the next sync message.
    assert len(damaged['sensor_gyro']) == 2 + 19
    assert f'at offset {at} are no messages' in capsys.readouterr().err
    content = flash_log()
    at = content.index(bytes([0xa3, 0x95, 1]), len(content) // 2)
    damaged = exported(content[:at] + b'\xa3\x95\xee' + content[at:], 'f.bin', tmp_path, code=1)
    assert len(damaged['ATT']) == 2 + 20
    assert f'3 bytes at offset {at} are no messages' in capsys.readouterr().err


def test_what_a_last_block_is_filled_up_with_is_no_fault(tmp_path):
    assert len(exported(flash_log() + b'\xff' * 300, 'f.bin', tmp_path)['ATT']) == 2 + 20


def test_data_appended_after_a_crash_is_read(tmp_path):
    row = ulog_data(0, 'Qf', 1_000_000, 1.0)
    begin = (ulog_header() + ulog_flags(1, 1) + ulog_format('t', 'uint64_t timestamp;float x;')
             + ulog_topic(0, 't') + row)
    offset = len(begin) + 5
    content = begin.replace(struct.pack('<QQQ', 1, 0, 0), struct.pack('<QQQ', offset, 0, 0))
    assert len(exported(content + row[:5] + row, 'f.ulg', tmp_path)['t']) == 2 + 2


@pytest.mark.parametrize(('name', 'content', 'said'), [
    ('f.ulg', b'nothing', 'it does not begin as one'),
    ('f.bin', b'', 'it does not begin as one'),
    ('f.ulg', ulog_header() + ulog_flags(4), 'only a newer reader'),
    ('f.ulg', ulog_header(), 'no messages that can be read'),
    ('f.bin', flash_beginning(), 'no messages that can be read'),
    ('f.ulg', ulog_header() + ulog_format('t', 'uint64_t timestamp;t t;') + ulog_topic(0, 't')
     + ulog_data(0, 'Q', 1), 'formats within each other'),
    ('f.ulg', ulog_header() + ulog_format('t', 'uint64_t timestamp;float[999999999] x;')
     + ulog_topic(0, 't'), '999999999 elements'),
    ('f.ulg', ulog_header() + ulog_format('t', 'float x;') + ulog_topic(0, 't'),
     'no field uint64_t timestamp'),
    ('f.ulg', ulog_header() + ulog_format('t', 'uint64_t timestamp;u[30] x;')
     + ulog_format('u', 'v[30] x;') + ulog_format('v', 'w[30] x;') + ulog_format('w', 'float x;')
     + ulog_topic(0, 't'), 'more than 2000 columns'),
    ('f.bin', flash_beginning() + flash_format(9, 'BAD', 'Q?', 'TimeUS,x', 12)
     + message(9, 'QB', 1, 2), "the letter '?', which is none"),
    ('f.bin', flash_beginning() + flash_format(9, 'BAD', 'QB', 'TimeUS,x', 0)
     + message(9, 'QB', 1, 2), 'its length is 0'),
    ('f.bin', flash_beginning() + flash_format(9, 'BAD', 'QB', 'TimeUS', 12), '2 letters for 1'),
    ('f.bin', flash_beginning() + flash_format(9, 'BAD', 'BB', 'I,V') + message(9, 'BB', 1, 2),
     'it has no time'),
])
def test_what_is_no_log_is_refused(tmp_path, capsys, name, content, said):
    exported(content, name, tmp_path, code=2)
    assert said in capsys.readouterr().err


def test_a_format_of_a_dataflash_log_that_changes(tmp_path):
    # Which pymavlink cannot read.
    content = flash_log() + flash_format(6, 'OLD', 'IHB', 'TimeMS,V,W') + message(
        6, 'IHB', 6000, 77, 3)
    found = exported(content, 'f.bin', tmp_path)
    assert len(found['OLD']) == 22
    assert found['OLD.2'][2][3:] == ['77', '3']


def test_topics_of_the_same_number_and_formats_that_change(tmp_path):
    content = ulog() + ulog_format('sensor_gyro', 'uint64_t timestamp;float y;') + ulog_topic(
        1, 'sensor_gyro') + ulog_data(1, 'Qf', 3_000_000, 4.0)
    found = exported(content, 'f.ulg', tmp_path)
    assert len(found['sensor_gyro']) == 22
    assert found['sensor_gyro.2'][2][3:] == ['4.0']


SIZES = """import sys
from pathlib import Path
from xplane_bridge.laboratory.flights.logs import files
log = files.read(Path(sys.argv[1]))
print(len(log.tables), log.faults[-1])
"""


@pytest.mark.parametrize(('name', 'content'), [
    # Each announces as many columns as there may be.
    ('f.ulg', ulog_header() + b''.join(
        ulog_format(f't{at}', 'uint64_t timestamp;u[36] x;') + ulog_topic(at, f't{at}')
        for at in range(3000)) + ulog_format('u', 'float[36] x;') + b''.join(
        ulog_topic(at % 65536, f't{at % 3000}') for at in range(60_000))),
    # Empty records, and heads of messages that are none.
    ('f.ulg', ulog_header() + b'\0\0S' * 300_000 + b'\1'),
    ('f.bin', flash_beginning() + b'\xa3\x95\xee' * 300_000)])
def test_a_log_of_a_stranger_is_read_within_bounds(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    code, out, errors = limited(SIZES, path, seconds=30)
    assert code == 0, errors[-1000:]
    assert out.startswith('0 ')


@pytest.mark.parametrize('reader', [ulog_reader, dataflash])
def test_a_log_that_is_too_large_is_refused(tmp_path, reader):
    path = tmp_path / 'f'
    with path.open('wb') as stream:
        stream.write(reader.MAGIC)
        stream.truncate(600 * 1024 * 1024)
    with pytest.raises(ValueError, match='expected at most 536870912'):
        reader.read(path)
    assert files.ending(path) in ('.ulg', '.bin')

