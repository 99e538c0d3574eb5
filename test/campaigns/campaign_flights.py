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


"""Flights for tests of engines: short ones, in process."""

import os
import signal

from xplane_bridge.campaigns.flights import trajectory
from xplane_bridge.experiments.core import CoreRun
from xplane_bridge.experiments.scenario import parse


def fly(task):
    """Fly it; in a scenario called deadly its process dies."""
    if task.scenario == 'deadly':
        os.kill(os.getpid(), signal.SIGKILL)
    run = CoreRun(parse(task.scenario, task.content), seed=task.seed)
    run.fly()
    if task.folder:
        os.makedirs(task.folder, exist_ok=True)
        with open(os.path.join(task.folder, 'left.txt'), 'w') as stream:
            stream.write(f'{task.seed}')
    return task.row(
        'passed', code=0, trajectory=trajectory(run.vehicle.flight()),
        seconds=float(os.getpid()))
