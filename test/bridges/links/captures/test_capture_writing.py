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


"""A capture that is written is read as what was received."""

import pytest

from xplane_bridge.bridges.links.captures.capture import read_datagrams
from xplane_bridge.bridges.links.captures.writing import CaptureFile

OTHER, HERE, THERE = ('192.0.2.7', 4001), ('127.0.0.1', 5000), ('198.51.100.2', 9)


def test_datagrams_are_read_as_they_were_written(tmp_path):
    file = CaptureFile(tmp_path / 'new.pcap', HERE)
    file.write(b'one', 1_800_000_000_000_000_001, OTHER)
    file.write(b'', 1_800_000_001_999_999_999, OTHER, THERE)
    file.flush()
    assert file.size == file.path.stat().st_size
    file.close()
    with file.path.open('rb') as stream:
        found = list(read_datagrams(stream))
    assert [(one.data, one.stamp_ns, one.source, one.destination) for one in found] == [
        (b'one', 1_800_000_000_000_000_001, OTHER, HERE),
        (b'', 1_800_000_001_999_999_999, OTHER, THERE)]


def test_a_capture_replaces_nothing_and_may_be_removed(tmp_path):
    file = CaptureFile(tmp_path / 'new.pcap', HERE)
    with pytest.raises(FileExistsError):
        CaptureFile(file.path, HERE)
    file.remove()
    assert not list(tmp_path.iterdir())
