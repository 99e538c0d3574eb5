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

"""The table of quantities: what cannot read it says the same, and what reads it sees a new row."""

from dataclasses import fields
import json
import os
from pathlib import Path
import subprocess
import sys

import pytest
import quantity_table

from xplane_bridge.bridges.conversions.vehicle import Air
from xplane_bridge.common.quantities import (
    AIR,
    AIR_DATA,
    AIRFRAME,
    fields_of,
    OF_ENGINES,
    TABLE,
)
from xplane_bridge.laboratory.export.recordings import units
from xplane_bridge.simulation.aircraft.state import ENGINE_FACTORS, FACTORS

ROOT = Path(__file__).resolve().parents[2]
# Where the aircraft is, is worked out from its sample; what nobody moves is no property.
WORKED_OUT = {'altitude', 'east', 'north', 'up'}
AT_REST = {'speedbrake', 'left_brake', 'right_brake'}


def test_a_name_is_of_one_quantity():
    names = [one.name for one in TABLE]
    assert len(names) == len({*names})


def test_each_that_is_read_of_the_aircraft_has_a_property():
    assert {one.state for one in TABLE} - {'', *FACTORS} == WORKED_OUT | AT_REST
    assert {one.state for one in OF_ENGINES} <= {*ENGINE_FACTORS}


def test_the_air_has_the_numbers_of_its_message():
    assert [one.name for one in fields(Air)] == [*(one.field for one in AIR), 'wind']


@pytest.mark.parametrize(('topic', 'name', 'others'), [
    (AIR_DATA, 'AirData', set()),
    (AIRFRAME, 'Airframe', {one.field for one in OF_ENGINES})])
def test_a_message_has_the_fields_of_the_table_in_their_units(topic, name, others):
    kind = f'xplane_bridge/msg/{name}'
    text = (ROOT / 'msg' / f'{name}.msg').read_text(encoding='utf-8')
    wanted = {one.field.partition('.')[0]: one.unit for one in fields_of(topic)}
    found = [line.split()[1] for line in text.splitlines()
             if line and not line.startswith(('#', 'std_msgs'))]
    assert {*found} == {*wanted} | others
    known = {field: unit for (of, field), unit in units(kind, text).items() if of == kind}
    assert {field: known.get(field, '') for field in wanted} == wanted
    if topic == AIR_DATA:
        assert found == [*wanted]


def test_the_pages_have_the_tables():
    for path, text in quantity_table.pages():
        assert path.read_text(encoding='utf-8') == text, f'{path.name}: make quantity-table'


def test_a_new_quantity_is_one_row(tmp_path):
    """The message, a file, has a line more too."""
    pytest.importorskip('jsbsim', reason='the aircraft needs jsbsim')
    for name in ('gymnasium', 'pyarrow', 'mcap', 'rosbags', 'pint'):
        pytest.importorskip(name, reason=f'{name} is not installed')
    subprocess.run(
        [sys.executable, '-P', str(Path(__file__).with_name('new_quantity.py')), str(tmp_path)],
        check=True, timeout=300, env={
            **os.environ, 'PYTHONPATH': os.pathsep.join((str(ROOT), str(ROOT / 'tools')))})
    found = json.loads((tmp_path / 'found.json').read_text(encoding='utf-8'))
    mach, speed = found['own']
    assert 0.1 < mach < 0.2
    assert found['column'] == found['judged'][0] == mach
    assert found['judged'][1] == pytest.approx(speed / mach)
    assert found['loaded'] == found['exported'] == [mach, mach]
    value, *bounds = found['observed']
    assert 0.1 < value < 0.2
    assert bounds == [0.0, 10.0]
    assert found['bounds'] == [0.0, 50.0]
    # Between the other numbers and the wind, as in the message.
    assert found['numbers'][-4:] == [0.3, 1.0, 2.0, 3.0]
    assert found['kind'] == 'a ratio'
    of_scenarios, of_episodes = found['pages']
    assert of_scenarios.startswith('| `mach_number` | `Ma` | ratio | of the true airspeed |')
    assert '| `air_data.mach_number` | - | 0 | 10 |' in of_episodes
