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

"""Disks that are full and folders that are only read, for whoever runs the tests."""

from contextlib import contextmanager
import os
from pathlib import Path
import resource
import tempfile

_NOBODY = 65534


@contextmanager
def room(size):
    """Let no file of this process become larger than ``size`` bytes, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def only_read():
    """Yield a folder that is only read, also by root, who is somebody else meanwhile."""
    with tempfile.TemporaryDirectory() as above:
        os.chmod(above, 0o755)
        folder = Path(above, 'folder')
        folder.mkdir(mode=0o555)
        before = os.geteuid()
        if before == 0:
            os.seteuid(_NOBODY)
        try:
            yield folder
        finally:
            os.seteuid(before)
