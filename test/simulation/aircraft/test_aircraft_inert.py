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

"""A strange aircraft's file opens neither files nor sockets, and flies as before."""

from pathlib import Path
import socket

import pytest

jsbsim = pytest.importorskip('jsbsim', reason='JSBSim is not installed')

from xplane_bridge.simulation.aircraft.aircraft import Aircraft  # noqa: E402
from xplane_bridge.simulation.aircraft.loading import inert as aircraft_inert  # noqa: E402
from xplane_bridge.simulation.aircraft.loading.files import find  # noqa: E402

_C172P = Path(jsbsim.get_default_root_dir(), 'aircraft/c172p/c172p.xml')


def make(folder: Path, *elements: str) -> str:
    """Write a c172p with these elements at the top level of its file; return the folder."""
    text = _C172P.read_text().replace('</fdm_config>', ''.join(elements) + '</fdm_config>')
    (folder / 'strange').mkdir(exist_ok=True)
    (folder / 'strange' / 'strange.xml').write_text(text)
    return str(folder)


def csv(path: Path) -> str:
    """Return the element that makes JSBSim write a file."""
    return (f'<output name="{path}" type="CSV" rate="60">'
            '<property>position/h-sl-ft</property></output>')


@pytest.fixture
def heard() -> socket.socket:
    """Return a UDP socket that a strange aircraft sends to."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(('127.0.0.1', 0))
        receiver.setblocking(False)
        yield receiver


def free_port() -> int:
    """Return a TCP port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def test_strange_aircraft_writes_no_file_sends_nothing_and_listens_nowhere(
    tmp_path: Path, heard: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written, port = tmp_path / 'written.csv', free_port()
    folder = make(
        tmp_path, csv(written), csv(Path('here.csv')),
        f'<output name="127.0.0.1" type="SOCKET" protocol="UDP" rate="60" '
        f'port="{heard.getsockname()[1]}"><property>position/h-sl-ft</property></output>',
        f'<input port="{port}"/>')

    aircraft = Aircraft('strange', aircraft_path=folder)
    aircraft.advance(1.0)
    aircraft._model.set('simulation/write-state-file', 1.0)
    aircraft.advance(0.1)
    assert [place.name for place in tmp_path.iterdir()] == ['strange']
    with pytest.raises(BlockingIOError):
        heard.recv(100)
    with socket.socket() as caller, pytest.raises(ConnectionRefusedError):
        caller.connect(('127.0.0.1', port))

    # The same, asked for: the test would notice. (JSBSim's sockets need more than a loopback.)
    Aircraft('strange', aircraft_path=folder, outputs=True).advance(1.0)
    assert written.stat().st_size


def test_aircraft_flies_the_same_without_its_outputs(tmp_path: Path) -> None:
    folder = make(tmp_path, csv(tmp_path / 'asked_for.csv'))
    inert, asked = (
        Aircraft('strange', aircraft_path=folder, outputs=outputs) for outputs in (False, True))
    for aircraft in inert, asked:
        aircraft.advance(2.0)
    assert inert.state == asked.state


def test_changed_file_is_noticed(tmp_path: Path) -> None:
    folder = make(tmp_path, csv(tmp_path / 'one.csv'))
    Aircraft('strange', aircraft_path=folder)
    file = tmp_path / 'strange' / 'strange.xml'
    file.write_text(file.read_text().replace('</fdm_config>', '<broken></fdm_config>'))
    with pytest.raises(ValueError, match=r'strange\.xml is no XML'):
        Aircraft('strange', aircraft_path=folder)


def test_copies_are_few_and_go(tmp_path: Path) -> None:
    root = Path(jsbsim.get_default_root_dir())
    for number in range(20):
        make(tmp_path, csv(tmp_path / f'{number}.csv'))
        aircraft_inert.inert(find('strange', str(tmp_path), root))
    assert len(aircraft_inert._kept) <= 8


def test_endless_file_is_refused_without_reading_it(tmp_path: Path) -> None:
    make(tmp_path)
    with (tmp_path / 'strange' / 'strange.xml').open('r+b') as file:
        file.truncate(5_000_000_000)
    with pytest.raises(ValueError, match='more than 16777216 bytes'):
        Aircraft('strange', aircraft_path=str(tmp_path))
