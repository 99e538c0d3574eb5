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

"""The table of docs/how-to/clients.md is of the clients that tools/clients.py runs."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope='module')
def clients():
    spec = importlib.util.spec_from_file_location('clients', ROOT / 'tools' / 'clients.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_client_and_simulator_has_its_row(clients):
    page = (ROOT / 'docs' / 'how-to' / 'clients.md').read_text()
    rows = [[cell.strip() for cell in line.split('|')[1:-1]] for line in page.partition(
        clients.BEGIN)[2].partition(clients.END)[0].strip().splitlines()[2:]]
    assert [(row[0], row[2]) for row in rows] == [
        (client.name, simulated) for client in clients.CLIENTS for simulated in client.simulators]
    assert all(version and version in client.pin for version, client in (
        (row[1], next(c for c in clients.CLIENTS if c.name == row[0])) for row in rows))


def test_every_driver_exists(clients):
    drivers = {client.driver for client in clients.CLIENTS}
    assert drivers == {path.name for path in clients.DRIVERS.glob('drive_*')}


@pytest.mark.parametrize(('output', 'result'), [
    ('read\tok\nwrite\t0.0, not 0.5\n', 'read; **not** write: 0.0, not 0.5'),
    ('', 'failed: boom'),
    (''.join(f'test{n}\tok\n' for n in range(12)), '12 of 12')])
def test_what_a_driver_prints_is_the_result(clients, output, result):
    assert clients.summary(output, 'Traceback\nboom\n') == result


def test_client_that_cannot_be_had_is_a_row_that_says_why(clients, tmp_path):
    given = clients._arguments(['--python', str(tmp_path / 'none')])
    row, = clients._rows(clients.CLIENTS[0], given, tmp_path / 'client')
    assert row.startswith('| pyxpudpserver | 1.4.1 | | not run: ')
    assert 'none: FileNotFoundError' in row


def test_unknown_client_is_refused_with_a_sentence(clients, capsys):
    assert clients.main(['--only', 'nobody']) == 2
    assert 'clients: --only nobody: none of pyxpudpserver,' in capsys.readouterr().err
