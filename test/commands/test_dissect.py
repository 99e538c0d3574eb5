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

"""The dissector: lines and captures in, JSON out, and back."""

import gzip
import io
import json
from pathlib import Path
import struct
import subprocess
import sys

from captures import CAPTURES, ETHERNET, OTHERS, packet
import pytest
from vector_files import vectors

from xplane_bridge.commands import dissect

ROOT = Path(__file__).parents[2]
VECTORS = vectors('xpc')
VALID = [vector for vector in VECTORS if vector['valid']]


@pytest.fixture
def run(monkeypatch, capsys):
    """Return a function that runs the tool in this process and returns its output lines."""
    def run(arguments, data, code=0):
        data = data if isinstance(data, bytes) else data.encode()
        stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(data)))
        monkeypatch.setattr(sys, 'stdin', stdin)
        assert dissect.main(['xpc', *arguments]) == code
        return capsys.readouterr().out.splitlines()
    return run


def strict(line):
    def refuse(name):
        raise AssertionError(f'{name} is not JSON')
    return json.loads(line, parse_constant=refuse)


def errors(lines):
    return [strict(line)['error'] for line in lines]


def side_of(vector):
    return 'peer' if vector['direction'] == 'plugin->client' else 'bridge'


@pytest.mark.parametrize('side', ['bridge', 'peer'])
def test_recorded_datagrams_give_their_fields(run, side):
    vectors = [vector for vector in VALID if side_of(vector) == side]
    lines = run(['--from', side], '\n'.join(vector['hex'] for vector in vectors))
    assert len(lines) == len(vectors)
    for line, vector in zip(lines, vectors, strict=True):
        shown = strict(line)
        assert shown.pop('message') == vector['fields']['type']
        for name, value in vector['fields'].items():
            if name == 'camera':
                assert shown[name]['loc'] == value['loc']
                assert shown[name]['zoom'] == value['zoom']
            elif name not in ('type', 'b4'):
                leave = side == 'bridge' and (value == -998.0 or (name, value) == ('gear', -1))
                assert shown[name] == (None if leave else value)


@pytest.mark.parametrize('side', ['bridge', 'peer'])
def test_json_goes_back_to_the_bytes_it_came_from(run, side):
    vectors = [
        vector for vector in VALID if side_of(vector) == side and vector['fields']['b4'] == 0
        and vector['name'] not in ('py3_GETD_name0', 'py3_POSI_08')
        and (vector['fields']['type'] != 'CTRL' or 'speedbrake' in vector['fields'])]
    lines = run(['--from', side], '\n'.join(vector['hex'] for vector in vectors))
    again = run(['--from', side, '--encode'], '\n'.join(lines))
    assert again == [vector['hex'] for vector in vectors]


def test_every_recorded_datagram_decodes_without_saying_who_sent_it(run):
    lines = run([], '\n'.join(vector['hex'] for vector in VALID))
    assert [strict(line).get('message') for line in lines] == [
        vector['fields']['type'] for vector in VALID]


def test_from_decides_where_a_tag_means_two_things(run):
    posi = next(vector['hex'] for vector in VECTORS if vector['name'] == 'java_POSI7')
    assert strict(run([], posi)[0])['gear_handle'] == 3
    assert strict(run(['--from', 'peer'], posi)[0])['gear_handle'] == 3
    assert strict(run(['--from', 'bridge'], posi)[0])['aircraft'] == 3


def test_what_the_peer_never_sends_is_shown_as_the_bridges(run):
    shorter, leaving = (
        '4354524c000000803e008079c4008079c4008079c4ff008079c402',
        '4354524cff0000003f008079c4008079c4008079c4ff008079c400008079c4')
    lines = [strict(line) for line in run([], f'{shorter}\n{leaving}')]
    assert [line['aileron'] for line in lines] == [None, None]
    assert [line['aircraft'] for line in lines] == [2, 0]


def test_whitespace_comments_and_empty_lines_are_skipped(run):
    lines = run([], '# a comment\n\n  47 45 5443\t00 07  # GETC\r\n   \n474554500001')
    assert lines == ['{"message": "GETC", "aircraft": 7}', '{"message": "GETP", "aircraft": 1}']


def test_each_bad_line_gives_an_error_in_its_place(run):
    lines = run([], b'47455443\nxyz\n4745544300\n4d4f4f4e0000\n504f53490000\n'
                    b'\xff\xfe\n474554430001')
    assert errors(lines[:-1]) == [
        'header: 4 bytes left at offset 0, need 5',
        'the line is not pairs of hexadecimal digits',
        'GETC: 5 bytes, expected 6',
        "tag at offset 0: got b'MOON', expected that of an XPC reply",
        'POSI: 6 bytes, expected 34 or 46',
        'the line is not pairs of hexadecimal digits',
    ]
    assert lines[-1] == '{"message": "GETC", "aircraft": 1}'


def test_non_finite_numbers_are_strings_both_ways(run):
    data = '52455350000103' '0000c07f' '0000807f' '000080ff'
    line, = run([], data)
    assert strict(line) == {'message': 'RESP', 'rows': [['nan', 'inf', '-inf']]}
    assert run(['--encode'], line) == [data]


def test_bytes_are_hexadecimal_both_ways(run):
    line, = run([], '4d454e5500deadbeef')
    assert strict(line) == {'message': 'MENU', 'body': 'deadbeef'}
    assert run(['--encode'], line) == ['4d454e5500deadbeef']


def test_defaults_may_be_left_out_of_json(run):
    assert run(['--encode'], '# brakes\n\n{"message": "CTRL", "speedbrake": 1}\n') == [
        '4354524c00' '008079c4008079c4008079c4008079c4' 'ff' '008079c4' '00' '0000803f']
    assert run(['--encode'], '{"message": "VIEW", "view": 80, "camera": {"loc": [30, 0, 10.0], '
               '"direction": [null, -5, 0], "zoom": 1}}') == [
        '564945570050000000' '0000000000003e40' '0000000000000000' '0000000000002440'
        '008079c4' '0000a0c0' '00000000' '0000803f']


@pytest.mark.parametrize(('line', 'text'), [
    ('{', 'the line is not JSON: Expecting property name enclosed in double quotes: '
          'line 2 column 1 (char 2)'),
    ('[1]', 'expected an object with a "message"'),
    ('{"aircraft": 1}', 'expected an object with a "message"'),
    ('{"message": "GETP", "aircraft": 20}', 'GETP aircraft: expected 0 to 19, got 20'),
    ('{"message": "GETP", "aircraft": "x"}',
     'as sent by the bridge, GETP aircraft: got "x", expected int'),
    ('{"message": "GETP", "aircraft": true}',
     'as sent by the bridge, GETP aircraft: got true, expected int'),
    ('{"message": "GETP", "plane": 1}',
     "as sent by the bridge, GETP: got a field 'plane', expected aircraft"),
    ('{"message": "CONN"}', 'as sent by the bridge, CONN port: missing'),
    ('{"message": "RESP", "rows": [[1.0], [NaN]]}',
     'NaN is not JSON; say "nan", "inf" or "-inf"'),
    ('{"message": "RESP", "rows": [[1.0], ["many"]]}',
     'as sent by the peer, RESP rows 2 1: got "many", expected float'),
    ('{"message": "WYPT", "op": 1, "points": [[1, 2]]}',
     'as sent by the bridge, WYPT points 1: got 2 items, expected 3'),
    ('{"message": "CTRL", "elevator": 2}', 'CTRL elevator: expected -1 to 1, got 2'),
    ('{"message": "CTRL", "elevato": 0}',
     "as sent by the peer, CTRL: got a field 'elevato', expected elevator, aileron, rudder, "
     'throttle, gear, flaps, aircraft, speedbrake; '
     "as sent by the bridge, CTRL: got a field 'elevato', expected elevator, aileron, rudder, "
     'throttle, gear, flaps, aircraft, speedbrake'),
])
def test_each_bad_json_line_gives_an_error(run, line, text):
    assert errors(run(['--encode'], line + '\n', 1)) == [text]


def test_unknown_message_is_told_what_there_is(run):
    text, = errors(run(['--encode'], '{"message": "MOON"}', 1))
    assert text.startswith("message: got 'MOON', expected one of BCOM, BECN, BOAT, CHAR, COMM, ")


# Captures.

def posi_between(source, destination):
    """Return a capture of one 34-byte POSI between two UDP ports, as raw IP."""
    udp = source.to_bytes(2) + destination.to_bytes(2) + (42).to_bytes(2) + b'\0\0'
    ip = b'\x45\0\0\x3e\0\0\0\0\x40\x11\0\0\x7f\0\0\x01\x7f\0\0\x01'
    header = ETHERNET[:20] + b'\x65\0\0\0' + bytes(8) + b'\x3e\0\0\0' * 2
    return header + ip + udp + b'POSI\0\x01' + bytes(28)


def test_ports_tell_the_sides_of_a_capture_unless_from_does(run):
    asked = posi_between(50000, 49009)
    assert 'aircraft' in strict(run([], asked)[0])
    assert 'gear_handle' in strict(run([], posi_between(49009, 50000))[0])
    assert 'gear_handle' in strict(run(['--from', 'peer'], asked)[0])


def test_capture_on_standard_input_is_recognised(run):
    assert run([], ETHERNET) == ['{"message": "GETC", "aircraft": 0}']
    assert run([], ETHERNET + ETHERNET[24:50])[0] == '{"message": "GETC", "aircraft": 0}'
    assert errors(run([], ETHERNET + ETHERNET[24:50])[1:]) == [
        'packet 2 at offset 88: the file is truncated at offset 114, expected 38 more bytes']
    for form in ('pcapng of scapy', 'IPv4 only'):
        data = bytes.fromhex(CAPTURES[form])
        for file in (data, gzip.compress(data)):
            assert run([], file) == ['{"message": "GETC", "aircraft": 0}']
    text, = errors(run([], b'\x0a\x0d\x0d\x0a' + bytes(24), 1))
    assert text.startswith('the section header at offset 0: expected the byte order')


def test_what_a_capture_holds_besides_is_counted_and_nothing_is_an_error(capsys, monkeypatch):
    def said(data, code):
        stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(data)))
        monkeypatch.setattr(sys, 'stdin', stdin)
        assert dissect.main(['xpc']) == code
        return capsys.readouterr()

    assert said(OTHERS, 0) == (
        '{"message": "GETC", "aircraft": 0}\n',
        'dissect: 3 packets, 1 datagram of UDP; skipped: 1 TCP, 1 ARP\n')
    assert said(ETHERNET[:24], 1) == ('', 'dissect: nothing of xpc in 0 packets\n')
    arp = bytes(12) + b'\x08\x06' + bytes(28)
    assert said(ETHERNET[:24] + struct.pack('<IIII', 0, 0, 42, 42) + arp, 1) == (
        '', 'dissect: 1 packet, 0 datagrams of UDP; skipped: 1 ARP\n'
        'dissect: nothing of xpc in 1 packet\n')
    out, err = said(b'zzzz\n\n474554\n', 1)
    assert [line.startswith('{"error": ') for line in out.splitlines()] == [True, True]
    assert err == 'dissect: nothing of xpc in 2 lines\n'
    assert said(b'# nothing yet\n', 0) == ('', '')
    assert said(b'\x89MCAP0\r\n', 1)[1].startswith('dissect: this is a recording (MCAP), ')
    out, err = said(ETHERNET[:-6] + b'ABCD\0\0', 1)
    assert 'expected that of an XPC' in out
    assert err == 'dissect: nothing of xpc in 1 packet\n'


def test_a_packet_that_was_captured_in_part_is_said_and_the_next_one_shown(run):
    frame = ETHERNET[40:54] + packet(b'GETC\0\0', 40)
    cut = struct.pack('<IIII', 0, 0, len(frame), len(frame) + 34) + frame
    lines = run([], ETHERNET[:24] + cut + ETHERNET[24:])
    assert errors(lines[:1]) == [
        'packet 1 at offset 24: 6 of 40 bytes captured; capture whole packets (tcpdump -s 0)']
    assert lines[1:] == ['{"message": "GETC", "aircraft": 0}']


def test_a_line_without_end_is_passed_over_in_pieces(run, monkeypatch):
    monkeypatch.setattr(dissect, '_MAX_LINE', 64)
    lines = run([], '474554430003\n' + '00' * 1000 + '\n474554430004\n')
    assert [strict(line) for line in (lines[0], lines[2])] == [
        {'message': 'GETC', 'aircraft': 3}, {'message': 'GETC', 'aircraft': 4}]
    assert errors(lines[1:2]) == ['the line has 1048576 bytes or more']
    lines = run(['--encode'], '[' * 1000 + '\n{"message": "GETC", "aircraft": 3}')
    assert errors(lines[:1]) == ['the line has 1048576 bytes or more']
    assert lines[1:] == ['474554430003']


# As a program.

COMMAND = [sys.executable, '-m', 'xplane_bridge', 'dissect', 'xpc']


def test_program_answers_each_line_at_once():
    with subprocess.Popen(
            COMMAND, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True) as process:
        for line, answer in (('474554430003', '{"message": "GETC", "aircraft": 3}'),
                             ('47', '{"error": "header: 1 byte left at offset 0, need 5"}')):
            process.stdin.write(line + '\n')
            process.stdin.flush()
            assert process.stdout.readline() == answer + '\n'
        process.stdin.close()
        assert process.wait(timeout=60) == 0


def test_unknown_protocol_is_refused_with_a_usage_message(capsys):
    with pytest.raises(SystemExit) as caught:
        dissect.main(['morse'])
    assert caught.value.code == 2
    assert 'xpc' in capsys.readouterr().err
