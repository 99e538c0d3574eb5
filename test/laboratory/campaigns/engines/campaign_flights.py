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


"""Flights for tests of engines: short ones, in process. As a script: on the cluster given."""

import hashlib
import os
import signal
import sys

from xplane_bridge.laboratory.campaigns.fly import make_order, trajectory
from xplane_bridge.laboratory.campaigns.plan.task import Task
from xplane_bridge.laboratory.campaigns.table.rows import canonical
from xplane_bridge.laboratory.open_flight import open_flight

CONTENT = {
    'duration': 5.0,
    'initial': {'altitude': 1000.0, 'airspeed': 51.444},
    'events': [{'at': 0.0, 'turbulence': [15.0, 4]}, {'at': 0.5, 'engage': True}],
    'criteria': [{'quantity': 'altitude_error', 'statistic': 'max_abs', 'at_most': 20.0}],
}


def task(number, **given):
    """Return a flight by its number, which is its seed as well."""
    values = {
        'flight': number, 'key': hashlib.sha256(f'{number}'.encode()).hexdigest(),
        'scenario': 'rough', 'content': CONTENT, 'simulator': 'core', 'controller': 'autopilot',
        'flown_by': 'autopilot',
        'aircraft': 'c172p', 'seed': number, 'time_limit': 60.0}
    return Task(**values | given)


def digest(rows):
    """Return the hash of the sorted table."""
    return hashlib.sha256(b''.join(
        canonical(row) for row in sorted(rows, key=lambda row: row['flight']))).hexdigest()


def fly(task):
    """Fly it; in a scenario called deadly its process dies."""
    if task.scenario == 'deadly':
        os.kill(os.getpid(), signal.SIGKILL)
    flight = open_flight(make_order(task))
    flight.fly()
    if task.folder:
        os.makedirs(task.folder, exist_ok=True)
        with open(os.path.join(task.folder, 'left.txt'), 'w') as stream:
            stream.write(f'{task.seed}')
    return task.row(
        'passed', code=0, trajectory=trajectory(flight.history()),
        seconds=float(os.getpid()))


def main(address, count):
    """Fly so many on a cluster; print a line for each, then the hash of the table."""
    from campaign_flights import fly

    from xplane_bridge.laboratory.campaigns.engines.cluster import Cluster
    rows = []

    def take(row):
        rows.append(row)
        print(row['flight'], flush=True)

    Cluster(address, fly).run((task(number) for number in range(count)), take)
    print(digest(rows), flush=True)


if __name__ == '__main__':
    main(sys.argv[1], int(sys.argv[2]))
