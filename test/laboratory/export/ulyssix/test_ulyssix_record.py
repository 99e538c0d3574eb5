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


"""``ulyssix record``: what a publisher sent, read back by each format's own library."""

from contextlib import contextmanager
import csv
import json
from pathlib import Path
import resource
import signal
import socket
import subprocess
import sys
import time

import pytest

pytest.importorskip('pyarrow', reason='pyarrow is not installed')
pytest.importorskip('asammdf', reason='asammdf is not installed')
pytest.importorskip('pint', reason='pint is not installed')
pytest.importorskip('scipy', reason='scipy is not installed')

from asammdf import MDF
from captures import pcap
from full_disk import room
import numpy as np
from pyarrow import parquet
from scipy.io import loadmat

from xplane_bridge.__main__ import _main as by_package
from xplane_bridge.bridges.ulyssix.protocol import data_packet, encode, PacketTime, WordOrder
from xplane_bridge.commands.export import main as export
from xplane_bridge.commands.ulyssix import main
from xplane_bridge.laboratory.export.ulyssix import files

NAMES = ('Alt', 'Oil', 'Gear')
PUBLISHER = (('192.168.1.10', 4000), ('192.168.1.20', 5000))
# 14 February 2026, 12:00, in s since the beginning of the year and since 1970.
SINCE_JAN1, NOON = 44.5 * 86_400, 1_771_070_400
TIME = PacketTime(45, 12, 0, 0, 0, WordOrder.FIRST_WORD_HIGH)
DEADLINE = 30.0
MAP = """\
parameters:
  Alt: {unit: ft, scale: 2.0, limits: [0, 240]}
  Oil: {unit: degC}
derived:
  Twice: {expression: 2 * Alt, unit: ft, limits: [null, 500]}
  Sum: {expression: Alt + Missing, unit: ft}
"""


def packet(number, names=NAMES):
    """Return a packet of 0.1 s: 10 samples of the first parameter, 5, and none or one."""
    at = SINCE_JAN1 + number / 10
    times = [at + np.arange(10) / 100, at + np.arange(5) / 50, at + np.arange(number % 2)]
    values = [np.arange(10) + 10 * number, np.full(5, 60.5), np.ones(number % 2)]
    second, rest = divmod(number, 10)
    return encode(data_packet(
        number, 16 * number, PacketTime(45, 12, 0, second, 100_000 * rest, TIME.word_order),
        values, times, names=names))


@pytest.fixture(name='capture')
def fixture_capture(tmp_path):
    """Return a capture of 2 s, in which the packets 12 and 13 are missing."""
    path = tmp_path / 'flight.pcap'
    path.write_bytes(pcap(*(
        (NOON + number / 10 + 0.05, *PUBLISHER, packet(number))
        for number in range(20) if number not in (12, 13))))
    return path


def record(capture, to, *options):
    return main(['record', str(capture), '--to', str(to), *options])


def test_parquet_has_a_column_for_each_parameter_in_the_units_of_the_map(
    capture, tmp_path, capsys
):
    (tmp_path / 'map.yaml').write_text(MAP)
    to = tmp_path / 'flight.parquet'
    assert record(capture, to, '--map', str(tmp_path / 'map.yaml')) == 0
    table = parquet.read_table(to)
    found = table.to_pydict()
    assert table.column_names == [
        'time', 'stamp', 'log_time', 'Alt', 'Oil', 'Gear', 'Twice']
    assert {one.name: (one.metadata or {}).get(b'unit', b'') for one in table.schema}[
        'Alt'] == b'ft'
    assert table.num_rows == 180
    assert found['time'][:3] == pytest.approx([0.0, 0.01, 0.02])
    assert found['stamp'][0] == pytest.approx(NOON, abs=1e-6)
    assert found['log_time'][0] == pytest.approx(NOON + 0.05, abs=1e-6)
    assert found['Alt'][:3] == [0.0, 2.0, 4.0]
    assert found['Oil'][:3] == [60.5, None, 60.5]
    assert [one for one in found['Twice'] if one is not None][:3] == [0.0, 4.0, 8.0]
    assert sum(one is not None for one in found['Gear']) == 9
    quality = json.loads((tmp_path / 'flight.quality.json').read_text())
    assert (quality['packets']['packets'], quality['packets']['lost']) == (18, 2)
    alt, oil, gear, twice = quality['parameters']
    assert (alt['gaps'], oil['gaps'], alt['unit'], alt['maximum']) == (20, 10, 'ft', 398.0)
    # 2 * raw above 240 ft: raw 121 to 199, of which 120 to 139 are missing.
    assert alt['out_of_limits'] == 60
    # A derived one is judged likewise: 4 * raw above 500 ft is raw 126 to 199, less those missing.
    assert (twice['name'], twice['unit'], twice['out_of_limits']) == ('Twice', 'ft', 60)
    assert (twice['samples'], twice['gaps'], twice['maximum']) == (180, 20, 796.0)
    assert quality['not_sent'] == ['Missing (in Sum)']
    assert gear['faults'] == ''
    shown = capsys.readouterr().out
    assert '18 packets, 2 lost' in shown
    assert 'map.yaml, but not sent: Missing (in Sum)\n' in shown
    assert '\nAlt [ft]  ' in shown


def test_what_nobody_sends_is_told_while_it_records(capture, tmp_path, capsys):
    (tmp_path / 'map.yaml').write_text('parameters: {Oi: {limits: [0, 9]}, Alt: {limits: [0, 9]}}')
    assert record(capture, tmp_path / 'a.csv', '--map', str(tmp_path / 'map.yaml')) == 0
    shown = capsys.readouterr()
    sentence = f'in {tmp_path}/map.yaml, but not sent: Oi (did you mean Oil?)\n'
    # Once a second, if it is another; and in the report.
    assert shown.err == f'ulyssix: {sentence}'
    assert sentence in shown.out


def test_only_what_is_recorded_is_reported_and_a_name_that_nothing_has_is_refused(
    capture, tmp_path, capsys
):
    (tmp_path / 'map.yaml').write_text(MAP)
    options = ['--map', str(tmp_path / 'map.yaml'), '--only']
    assert record(capture, tmp_path / 'a.csv', *options, 'O*', 'Twice') == 0
    assert (tmp_path / 'a.csv').read_text().startswith('time,stamp,log_time,Oil,Twice\n')
    quality = json.loads((tmp_path / 'a.quality.json').read_text())
    assert [one['name'] for one in quality['parameters']] == ['Oil', 'Twice']
    assert '\nAlt' not in capsys.readouterr().out
    assert record(capture, tmp_path / 'b.csv', *options, 'Olt') == 2
    assert ('no parameter matches --only Olt: there are Alt, Oil, Gear, Twice\n'
            in capsys.readouterr().err)
    assert not (tmp_path / 'b.csv').exists()


def test_pauses_and_a_silent_end_are_in_the_report(tmp_path, capsys):
    path = tmp_path / 'flight.pcap'
    packets = [(NOON + (number if number < 10 else number + 30) / 10, *PUBLISHER, packet(number))
               for number in range(20)]
    path.write_bytes(pcap(*packets, (NOON + 10.5, *PUBLISHER, b'no packet')))
    assert record(path, tmp_path / 'a.csv') == 1
    quality = json.loads((tmp_path / 'a.quality.json').read_text())
    assert (quality['pauses'], quality['longest_pause'], quality['silent_at_end']) == (1, 3.1, 5.6)
    # Of all packets, not of the last second.
    assert quality['packets']['longest_latency'] == 3.0
    assert capsys.readouterr().out.startswith(
        '20 packets, 0 lost, 0 late, 0 too late, 0 duplicates, 1 malformed; 0 restarts, '
        '0 time jumps, latency up to 3.000 s, 1 pause, the longest 3.1 s; nothing for the last '
        '5.6 s\n')


def test_mf4_has_a_group_for_each_parameter_with_its_own_times(capture, tmp_path):
    to = tmp_path / 'flight.mf4'
    assert record(capture, to, '--only', 'A*', 'Oil') == 0
    with MDF(to) as file:
        assert [group.channel_group.acq_name for group in file.groups] == ['Alt', 'Oil']
        oil = file.get('Oil')
        assert oil.samples.tolist() == 90 * [60.5]
        assert oil.timestamps[:2].tolist() == pytest.approx([0.0, 0.02])
        assert file.header.start_time.timestamp() == NOON


def test_mat_has_a_struct_for_all_parameters_or_one_for_each(capture, tmp_path):
    (tmp_path / 'map.yaml').write_text(MAP)
    to, options = tmp_path / 'flight.mat', ['--map', str(tmp_path / 'map.yaml'), '--force']
    assert record(capture, to, *options) == 0
    found = loadmat(to, simplify_cells=True)
    assert found['about']['made_by'] == 'xplane_bridge ulyssix record'
    table = found['ulyssix_packets']
    assert [table['units'][name] for name in ('time', 'Alt', 'Oil', 'Twice')] == [
        's', 'ft', 'degC', 'ft']
    assert len(table['time']) == 180
    assert table['Alt'][:3].tolist() == [0.0, 2.0, 4.0]
    assert table['Oil'][:3] == pytest.approx([60.5, np.nan, 60.5], nan_ok=True)
    assert np.isfinite(table['Gear']).sum() == 9
    assert record(capture, to, *options, '--layout', 'long') == 0
    found = loadmat(to, simplify_cells=True)
    assert found['Oil']['value'].tolist() == 90 * [60.5]
    assert found['Oil']['time'][:2] == pytest.approx([0.0, 0.02])
    assert found['Twice']['units']['value'] == 'ft'
    assert len(found['Gear']['time']) == 9


def test_what_mat_cannot_hold_ends_the_recording(capture, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(files, 'MOST_HELD', 2000)
    to = tmp_path / 'flight.mat'
    assert record(capture, to) == 1
    assert 'the recording ends here: .mf4 and .parquet have no such limit' in (
        capsys.readouterr().err)
    # The first packet is a block of its own.
    assert len(loadmat(to, simplify_cells=True)['ulyssix_packets']['time']) == 10


@pytest.mark.parametrize('source', ['flight.pcap', 'first.parquet'])
def test_export_has_the_same_of_a_capture_and_of_a_recording(
    capture, tmp_path, monkeypatch, capsys, source
):
    monkeypatch.chdir(tmp_path)
    Path('map.yaml').write_text(MAP)
    for name in ('first.parquet', 'first.mat'):
        assert record(capture, name, '--map', 'map.yaml', '--force') == 0
    of_capture = source == 'flight.pcap'
    capsys.readouterr()
    # Of the capture it is said that two packets are missing.
    assert export([source, *(['--map', 'map.yaml'] if of_capture else []), '--to', 'mat',
                   '--output', 'second.mat']) == of_capture
    first, second = (loadmat(name, simplify_cells=True)['ulyssix_packets']
                     for name in ('first.mat', 'second.mat'))
    assert first.keys() == second.keys()
    for name in (*NAMES, 'time', 'log_time', 'Twice'):
        assert second[name] == pytest.approx(first[name], nan_ok=True)
    assert str(second['units']) == str(first['units'])
    if of_capture:
        quality = json.loads(Path('second.quality.json').read_text())
        assert (quality['map'], quality['not_sent']) == ('map.yaml', ['Missing (in Sum)'])
        assert quality['parameters'][0]['out_of_limits'] == 60
        assert 'in map.yaml, but not sent: Missing (in Sum)\n' in capsys.readouterr().out
    else:
        assert export([source, '--map', 'map.yaml', '--to', 'mat', '--force']) == 2
        assert '--map is for captures of ulyssix, and first.parquet is none' in (
            capsys.readouterr().err)


@pytest.mark.parametrize('layout', ['wide', 'long'])
def test_csv_in_either_layout(capture, tmp_path, layout):
    to = tmp_path / 'flight.csv'
    assert record(capture, to, '--layout', layout) == 0
    with to.open(newline='') as stream:
        head, units, *rows = csv.reader(stream)
    assert units[0] == '# s'
    if layout == 'wide':
        assert head[3:] == list(NAMES)
        assert [row[3:] for row in rows[:2]] == [['0.0', '60.5', ''], ['1.0', '', '']]
    else:
        assert head[3:] == ['parameter', 'value']
        assert [row[3:] for row in rows[:3]] == [['Alt', '0.0'], ['Oil', '60.5'], ['Alt', '1.0']]
        assert len(rows) == 18 * 15 + 9


def test_a_publisher_with_other_parameters_continues_in_another_file(tmp_path):
    capture = tmp_path / 'flight.pcap'
    capture.write_bytes(pcap(*(
        (NOON + number / 10, *PUBLISHER, packet(number, NAMES if number < 2 else (*'XYZ',)))
        for number in range(4)), (NOON + 0.4, *PUBLISHER, packet(4))))
    assert record(capture, tmp_path / 'f.csv') == 0
    assert (tmp_path / 'f.csv').read_text().startswith('time,stamp,log_time,Alt,')
    assert (tmp_path / 'f.2.csv').read_text().startswith('time,stamp,log_time,X,')
    quality = json.loads((tmp_path / 'f.quality.json').read_text())
    assert quality['files'] == ['f.csv', 'f.2.csv']
    assert [one['name'] for one in quality['parameters_gone']] == list('XYZ')
    # Those of the first names, also when they come back.
    assert len((tmp_path / 'f.csv').read_text().splitlines()) == 2 + 30


@pytest.mark.parametrize(('arguments', 'sentence'), [
    (['--to', 'a.xls', '--port', '5000'], "ends in '.xls', expected one of .parquet"),
    (['--to', 'a.csv'], 'give --port, or a capture to read'),
    (['nothing.pcap', '--to', 'a.csv'], 'there is no capture nothing.pcap'),
    (['flight.pcap', '--to', 'taken.csv'], 'taken.csv exists; --force overwrites it'),
    (['flight.pcap', '--to', 'none/a.mf4'], 'there is no folder'),
    (['flight.pcap', '--to', '/proc/a.csv'], '/proc cannot be written to: '),
    (['taken.csv', '--to', 'a.csv'], 'not a capture'),
    (['flight.pcap', '--to', 'a.csv', '--port', '7'], 'no packet; is it a capture of Ulyssix'),
    (['flight.pcap', '--to', 'a.csv', '--map', 'taken.csv'], 'taken.csv'),
    (['flight.pcap', '--to', 'a.csv', '--map', 'map.yml'], 'there is no map map.yml'),
])
def test_a_mistake_is_a_sentence(
    capture, tmp_path, monkeypatch, capsys, arguments, sentence
):
    monkeypatch.chdir(tmp_path)
    Path('taken.csv').write_text('text')
    assert main(['record', *arguments]) == 2
    shown = capsys.readouterr().err
    assert sentence in shown
    assert shown.startswith('ulyssix: ')
    assert not Path('a.csv').exists()


@pytest.mark.parametrize(('wrong', 'sentence'), [
    (['--prt', '5000'], 'there is no option --prt; did you mean --port?'),
    (['one.pcap', 'two.pcap'], 'one argument too many: two.pcap'),
])
def test_an_unknown_argument_is_told_by_the_command_that_was_typed(
    monkeypatch, capsys, wrong, sentence
):
    monkeypatch.setattr(sys, 'argv', ['', 'ulyssix', 'record', '--to', 'a.csv', *wrong])
    with pytest.raises(SystemExit) as ended:
        by_package()
    assert ended.value.code == 2
    shown = capsys.readouterr().err
    assert shown.startswith('usage: xplane-bridge ulyssix record [-h]')
    assert shown.endswith(f'xplane-bridge ulyssix record: error: {sentence}\n')


@pytest.mark.parametrize(('name', 'size', 'rows'), [
    # A block of CSV is a second, and what its last packet has; two lines are the head.
    ('full.csv', 8000, 112), ('full.csv', 100, None), ('full.parquet', 1000, None),
    ('full.mf4', 1000, None), ('full.mf4', 3000, None)])
def test_a_full_disk_ends_it_with_a_sentence(capture, tmp_path, capsys, name, size, rows):
    """What is recorded is whole, to the last row; what cannot be read is not there."""
    to = tmp_path / name
    with room(size):
        code = record(capture, to)
    assert code == (2 if rows is None else 1)
    shown = capsys.readouterr()
    assert f'ulyssix: {to} cannot be written: the file is as large as the system allows' in (
        shown.err)
    assert 'the recording ends here' in shown.err
    assert 'Traceback' not in shown.err
    assert 'ended by an error' in shown.out
    left = {path.name for path in tmp_path.iterdir()} - {'flight.pcap'}
    assert left <= {name, 'full.quality.json'} if rows else left <= {'full.quality.json'}
    if rows:
        text = to.read_text()
        assert text.endswith('\n')
        assert text.count('\n') == rows


def test_a_journal_says_how_the_file_is_made_after_all(tmp_path):
    to, journal = tmp_path / 'live.parquet', tmp_path / 'live.parquet.journal.pcap'
    with recording(to) as (child, send):
        deadline = time.monotonic() + DEADLINE
        resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (journal.stat().st_size + 3000,) * 2)
        while child.poll() is None and time.monotonic() < deadline:
            send(packet(0))
            time.sleep(0.01)
        shown, errors = child.communicate(timeout=DEADLINE)
    assert child.returncode == 1, errors
    assert 'cannot be written: the file is as large as the system allows' in errors
    assert 'Traceback' not in errors
    assert f'ulyssix record {journal} --to {to} --force' in errors
    assert main(['record', str(journal), '--to', str(to), '--force']) in (0, 1)
    assert parquet.read_table(to).num_rows >= 10


@contextmanager
def recording(to, *options):
    """Yield a process that records from the network, and a function that sends to it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.bind(('127.0.0.1', 0))
        port = sender.getsockname()[1]
    child = subprocess.Popen(
        [sys.executable, '-P', '-m', 'xplane_bridge', 'ulyssix', 'record', '--port',
         str(port), '--to', str(to), '--quiet', *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline().startswith('recording UDP any address')
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            yield child, lambda data: sender.sendto(data, ('127.0.0.1', port))
    finally:
        child.kill()
        child.communicate()


def test_ctrl_c_ends_it_well(tmp_path):
    with recording(tmp_path / 'live.parquet', '--keep-capture') as (child, send):
        for number in range(5):
            send(packet(number))
        child.send_signal(signal.SIGINT)
        shown, errors = child.communicate(timeout=DEADLINE)
        assert child.returncode == 0, errors
    assert '5 packets, 0 lost' in shown
    assert parquet.read_table(tmp_path / 'live.parquet').num_rows == 50
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        'live.parquet', 'live.pcap', 'live.quality.json']


def test_what_a_kill_leaves_becomes_the_same_file(tmp_path, capsys):
    to, journal = tmp_path / 'live.mf4', tmp_path / 'live.mf4.journal.pcap'
    with recording(to) as (child, send):
        for number in range(5):
            send(packet(number))
        end = time.monotonic() + DEADLINE
        while journal.stat().st_size < 5 * len(packet(0)) and time.monotonic() < end:
            child.poll()
        child.kill()
    assert main(['record', '--port', '5000', '--to', str(to)]) == 2
    assert 'is left of a recording that was killed' in capsys.readouterr().err
    assert main(['record', str(journal), '--to', str(to)]) == 0
    with MDF(to) as file:
        assert len(file.get('Alt').samples) == 50


def test_two_publishers_on_one_port_are_named_and_one_is_recorded_alone(tmp_path, capsys):
    path = tmp_path / 'flight.pcap'
    other = ('192.168.1.11', 4000)
    path.write_bytes(pcap(*(
        (NOON + number / 10, sender, PUBLISHER[1], packet(number + first))
        for number in range(20)
        for sender, first in ((PUBLISHER[0], 0), (other, 300)))))
    assert record(path, tmp_path / 'both.csv') == 1
    out, err = capsys.readouterr()
    assert out.startswith('40 packets, 0 lost, 0 late, 0 too late')
    assert ('2 senders are mixed: 192.168.1.10:4000 (20 packets, 0 lost) and '
            '192.168.1.11:4000 (20 packets, 0 lost); record one with --sender 192.168.1.10') in err
    quality = json.loads((tmp_path / 'both.quality.json').read_text())
    assert [one['address'] for one in quality['senders_mixed']] == [
        '192.168.1.10:4000', '192.168.1.11:4000']
    assert record(path, tmp_path / 'one.csv', '--sender', '192.168.1.11') == 0
    assert capsys.readouterr().out.startswith('20 packets, 0 lost')


def test_garbage_is_sampled_in_the_journal_and_the_sender_is_asked_for(tmp_path):
    """1 GB of garbage in 9 s was kept whole."""
    with recording(tmp_path / 'live.parquet', '--keep-capture') as (child, send):
        for number in range(5):
            send(packet(number))
        for _ in range(2000):
            send(b'garbage ' * 1000)
        child.send_signal(signal.SIGINT)
        shown, errors = child.communicate(timeout=DEADLINE)
    assert child.returncode == 1
    assert 'whoever reaches UDP any address' in errors
    assert 'by --sender HOST' in errors
    assert 'datagrams are no packets' in errors
    assert (tmp_path / 'live.pcap').stat().st_size < 350_000


def test_the_journal_counts_towards_the_limit(tmp_path):
    """Parquet grows every 10 s only, and anybody can fill the disk meanwhile."""
    with recording(tmp_path / 'live.parquet', '--keep-capture', '--size-limit', '20k',
                   '--sender', '127.0.0.1') as (child, send):
        end = time.monotonic() + DEADLINE
        number = 0
        while child.poll() is None and time.monotonic() < end:
            send(packet(number % 10))
            number += 1
        shown, errors = child.communicate(timeout=DEADLINE)
    assert 'ended at the limit of 20000 bytes' in shown
    assert 'whoever reaches' not in errors
    assert 20_000 <= (tmp_path / 'live.pcap').stat().st_size < 25_000
