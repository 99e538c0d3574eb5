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

"""
Fly with a quantity that the package does not have, by one row more in its table.

A program of its own, as everything reads the table when it is imported. It is given a folder, in
which found.json has what it found. The message, which must be a file, has one line more.
"""

import importlib.util
import json
from pathlib import Path
import sys
from types import ModuleType, SimpleNamespace

NAME = 'xplane_bridge.common.quantities'
ROW = """\
    Quantity('mach_number', 'Ma', '', 'of the true airspeed', AIR_DATA, 'mach_number',
             'mach', bounds=(0.0, 50.0), observed=(0.0, 10.0)),
"""
BEHIND = '             _DENSITY, (0.0, 100.0)),\n'
FIELD = 'float64 mach_number\n'
BEHIND_FIELD = 'geometry_msgs/Vector3 wind'

spec = importlib.util.find_spec(NAME)
text = Path(spec.origin).read_text(encoding='utf-8')
assert text.count(BEHIND) == 1
module = sys.modules[NAME] = ModuleType(NAME)
exec(compile(text.replace(BEHIND, BEHIND + ROW), spec.origin, 'exec'), module.__dict__)

# What follows reads the table.
import quantity_table  # noqa: E402

from xplane_bridge.bridges.conversions import message_numbers  # noqa: E402
from xplane_bridge.bridges.conversions.plausibility import AIR_BOUNDS  # noqa: E402
from xplane_bridge.bridges.ulyssix.conversion.quantities import QUANTITIES  # noqa: E402
from xplane_bridge.commands import export  # noqa: E402
from xplane_bridge.laboratory.episodes.environment import FlightEnv  # noqa: E402
from xplane_bridge.laboratory.flights.analysis.history import load  # noqa: E402
from xplane_bridge.laboratory.flights.order import Keep, Order  # noqa: E402
from xplane_bridge.laboratory.flights.recordings import cdr, parquet_file  # noqa: E402
from xplane_bridge.laboratory.flights.scenario.scenario import parse  # noqa: E402
from xplane_bridge.laboratory.open_flight import open_flight  # noqa: E402

SCENARIO = parse('brief', {
    'duration': 0.5, 'initial': {'altitude': 1000.0, 'airspeed': 51.444},
    'events': [{'at': 0.0, 'engage': True}],
    'criteria': [
        {'quantity': 'mach_number', 'statistic': 'last', 'at_most': 1.0},
        {'expression': 'true_airspeed / mach_number', 'unit': 'm/s', 'statistic': 'last',
         'at_most': 400.0}]})


def fly(path):
    """Fly and record; return what was judged, and the aircraft's own Mach number at the end."""
    with open_flight(Order(SCENARIO, seed=5, keep=Keep(str(path)))) as flight:
        flight.start()
        while flight.state == 'ready':
            flight.step()
        return [one.value for one in flight.result().judgements], flight.vehicle.state


def exported(path, table):
    """Return the last value of its column in a CSV file of a recording."""
    output = path.parent / path.suffix[1:]
    assert export.main([str(path), '--to', 'csv', '--output', str(output)]) == 0
    head, *_, last = (output / f'{table}.csv').read_text().splitlines()
    return float(last.split(',')[head.split(',').index('mach_number')])


def observed():
    """Return what an episode observes of it, and its bounds."""
    env = FlightEnv(SCENARIO, fields=['air_data.mach_number'])
    (value,), _ = env.reset(seed=5)
    env.close()
    (low,), (high,) = env.observation_space.low, env.observation_space.high
    return [float(value), float(low), float(high)]


def main(folder):
    own_text = cdr._own_text
    cdr._own_text = lambda name: own_text(name).replace(BEHIND_FIELD, FIELD + BEHIND_FIELD)
    table, bag = folder / 'flight.parquet', folder / 'flight.mcap'
    judged, own = fly(table)
    fly(bag)
    numbers = message_numbers.NUMBERS['air_data'](SimpleNamespace(
        **dict.fromkeys(AIR_BOUNDS, 0.0) | {'mach_number': 0.3},
        wind=SimpleNamespace(x=1.0, y=2.0, z=3.0)))
    found = {
        'own': [own.mach, own.tas], 'judged': judged,
        'column': parquet_file.read(table).columns['mach_number'].tolist()[-1],
        'loaded': [load(path).series['mach_number'].values.tolist()[-1] for path in (table, bag)],
        'exported': [exported(table, 'flight'), exported(bag, 'experiment.air_data')],
        'observed': observed(), 'numbers': numbers, 'bounds': AIR_BOUNDS['mach_number'],
        'kind': QUANTITIES['mach_number'].kind,
        'pages': [line for _, text in quantity_table.pages() for line in text.splitlines()
                  if 'mach_number' in line]}
    (folder / 'found.json').write_text(json.dumps(found), encoding='utf-8')


main(Path(sys.argv[1]))
