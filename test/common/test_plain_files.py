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

"""Files of anybody: only regular ones, and only so many bytes."""

import os
from pathlib import Path
import pwd

import pytest

from xplane_bridge.bridges.links.captures.replay import ReplayLoop
from xplane_bridge.bridges.links.udp import LinkError
from xplane_bridge.bridges.ulyssix import conversion as maps
from xplane_bridge.commands.export import main
from xplane_bridge.common import plain_files
from xplane_bridge.simulation.aircraft.loading.files import find


@pytest.fixture
def fifo(tmp_path):
    """Return a FIFO, for which open() waits."""
    path = tmp_path / 'flight.pcap'
    os.mkfifo(path)
    return path


@pytest.mark.timeout(30)
def test_what_is_no_regular_file_is_refused_at_once(fifo):
    for path in (fifo, '/dev/zero', fifo.parent):
        with pytest.raises(OSError, match='Not a regular file|Is a directory'):
            plain_files.open_regular(path)
    with pytest.raises(FileNotFoundError):
        plain_files.open_regular(fifo.with_name('none'))


@pytest.mark.timeout(30)
def test_a_fifo_is_no_capture_and_no_recording(fifo, capsys):
    with pytest.raises(LinkError, match=r'flight\.pcap: Not a regular file'):
        ReplayLoop(str(fifo), None, print, print)
    assert main([str(fifo), '--to', 'csv']) == 2
    assert 'Not a regular file' in capsys.readouterr().err
    with pytest.raises(maps.MapError, match='Not a regular file'):
        maps.load(str(fifo))


def test_a_file_is_read_up_to_its_bound(tmp_path):
    path = tmp_path / 'file'
    path.write_bytes(b'12345')
    assert plain_files.read(path, 5) == b'12345'
    with pytest.raises(ValueError, match='file has more than 4 bytes'):
        plain_files.read(path, 4)


def test_without_a_home_a_path_stays_as_it_is(monkeypatch):
    monkeypatch.setenv('HOME', '/mine')
    assert str(plain_files.expanded('~/a')) == '/mine/a'
    monkeypatch.delenv('HOME')

    def unknown(_):
        raise KeyError

    monkeypatch.setattr(pwd, 'getpwuid', unknown)
    for path in ('~', '~/a', '~nobody-at-all/a'):
        assert str(plain_files.expanded(path)) == path
        with pytest.raises(ValueError, match=rf'aircraft_path: .*{path} is not a folder'):
            find('c172p', path, Path('/'))
