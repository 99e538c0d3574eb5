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

"""What a worker of a campaign is given to fly instead of a flight: it ends, dies or hangs."""

import errno
import os
from pathlib import Path
import signal
import time

from xplane_bridge.laboratory.campaigns.table import rows


def fly(task):
    """
    Return a row, unless the scenario says otherwise.

    dies: the first process that is given it is killed. crashes: each is. hangs: it never ends.
    full: its disk is.
    """
    if task.scenario == 'raises':
        raise RuntimeError('unforeseen')
    if task.scenario == 'full':
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if task.scenario == 'hangs':
        time.sleep(600.0)
    if task.scenario == 'dies':
        try:
            (Path(task.folder) / f'{task.flight}').touch(exist_ok=False)
        except FileExistsError:
            return task.row(rows.PASSED, 'the second time', 0)
    if task.scenario in ('dies', 'crashes'):
        os.kill(os.getpid(), signal.SIGKILL)
    return task.row(rows.PASSED, '', 0, seconds=float(os.getpid()))
