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

"""Folders of aircraft as others lay them out, and what is wrong in their files."""

from pathlib import Path
import re
import shutil

import pytest

jsbsim = pytest.importorskip('jsbsim', reason='JSBSim is not installed')

from xplane_bridge.common.data import folder  # noqa: E402
from xplane_bridge.simulation.aircraft.loading.files import known, Origin  # noqa: E402
from xplane_bridge.simulation.aircraft.loading.parameter_file import find_file  # noqa: E402
from xplane_bridge.simulation.aircraft.model import Model  # noqa: E402

_OUTPUT = '<output name="written.csv" type="CSV" rate="1"/>'
_SYSTEM = ('<system name="more"><property value="3">systems/more</property></system>')
_UNKNOWN = ('<system name="q"><channel name="q"><summer name="q"><input>no/such</input>'
            '</summer></channel></system>')


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """Return the folder of an aircraft of one's own."""
    own = tmp_path / 'there' / 'mine'
    shutil.copytree(folder('aircraft') / 'electric_trainer', own)
    (own / 'electric_trainer.xml').rename(own / 'mine.xml')
    return own


def load(own: Path, name: str = 'mine') -> Model:
    """Return the loaded aircraft."""
    return Model(name, 1.0 / 120.0, 0, str(own.parent))


def edit(own: Path, pattern: str, new: str) -> None:
    """Replace what is in its file."""
    file = own / 'mine.xml'
    text, count = re.subn(pattern, new, file.read_text(), count=1, flags=re.DOTALL)
    assert count
    file.write_text(text)


def add(own: Path, *elements: str) -> None:
    """Add elements to its file."""
    edit(own, '</fdm_config>', ''.join(elements) + '</fdm_config>')


@pytest.mark.parametrize('place', [
    'Engines', 'engines', 'engine', '.', '../engine', '../engines', '../Engines', '../../engines'])
def test_engines_are_found_where_people_put_them(mine: Path, place: str) -> None:
    (mine / 'Engines').rename(mine / 'kept')
    (mine / place).mkdir(exist_ok=True)
    for file in (mine / 'kept').iterdir():
        file.rename(mine / place / file.name)
    model = load(mine)
    assert model.reader.engine_count == 1
    # A change there is noticed.
    assert model.origin.is_current
    with (mine / place / 'propeller_12x6.xml').open('a') as file:
        file.write('\n')
    assert not model.origin.is_current


@pytest.mark.parametrize(('place', 'named'), [
    ('Systems', 'more'), ('systems', 'more.xml'), ('.', 'more'), ('../systems', 'more'),
    ('../Systems', 'more'), ('../../Systems', 'more'), ('parts', 'parts/more.xml'),
    ('../shared', '../shared/more'), ('parts', '{own}/parts/more.xml')])
def test_systems_are_found_where_people_put_them(mine: Path, place: str, named: str) -> None:
    (mine / place).mkdir(exist_ok=True)
    (mine / place / 'more.xml').write_text(_SYSTEM)
    # With an output, it is a copy in another folder that JSBSim loads.
    add(mine, f'<system file="{named.format(own=mine)}"/>', _OUTPUT)
    model = load(mine)
    assert model.get('systems/more') == 3.0
    assert 'systems/more' in model.files.text()


def test_the_only_aircraft_in_a_folder_is_taken(mine: Path) -> None:
    (mine / 'mine.xml').rename(mine / 'Trainer-jsbsim.xml')
    (mine / 'mine-set.xml').write_text('<PropertyList/>')
    model = load(mine)
    assert model.files.file == mine / 'Trainer-jsbsim.xml'
    assert known(str(mine.parent), mine)['mine'] == str(mine.parent)
    assert model.origin == Origin.of(model.files)


def test_of_several_aircraft_in_a_folder_one_must_be_named(mine: Path) -> None:
    shutil.copy(mine / 'mine.xml', mine / 'long.xml')
    (mine / 'mine.xml').rename(mine / 'short.xml')
    with pytest.raises(ValueError, match=r'has several aircraft, long\.xml, short\.xml: name one'):
        load(mine)
    (mine / 'electric_trainer.yaml').rename(mine / 'short.yaml')
    assert Model('short', 1.0 / 120.0, 0, str(mine)).files.file == mine / 'short.xml'
    assert find_file('short', str(mine)) == mine / 'short.yaml'


@pytest.mark.parametrize('others', [('more',), ('other', 'more')])
def test_files_that_include_themselves_are_refused(mine: Path, others: tuple[str, ...]) -> None:
    (mine / 'Systems').mkdir()
    for name, inside in zip(('more', 'other'), others, strict=False):
        (mine / 'Systems' / f'{name}.xml').write_text(f'<system file="{inside}"/>')
    add(mine, '<system file="more"/>')
    way = ', '.join(f'{name}.xml' for name in ('more', *others))
    with pytest.raises(ValueError, match=rf'mine\.xml includes files in a circle: {way}$'):
        load(mine)


@pytest.mark.parametrize(('pattern', 'new', 'reason'), [
    ('(<ixx[^>]*>)[^<]*', r'\g<1>0', r'ixx is 0 kg m2: expected above 0'),
    ('<izz.*?</izz>', '', r'izz is 0 kg m2: expected above 0'),
    ('(<iyy[^>]*>)[^<]*', r'\g<1>-1', r'iyy is -[\d.]+ kg m2: expected above 0'),
    ('<emptywt.*?</emptywt>', '', r'mass is 0 kg: expected above 0'),
    ('<mass_balance.*?</mass_balance>', '', 'No mass_balance element was found'),
    ('(<function name=.*?</function>)', r'\g<1>\g<1>',
     'Property aero/coefficient/CL has already been successfully bound'),
    ('</fdm_config>', _UNKNOWN + '</fdm_config>', 'The property no/such does not exist')])
def test_what_is_wrong_is_told_with_the_users_file(
    mine: Path, capfd: pytest.CaptureFixture[str], pattern: str, new: str, reason: str
) -> None:
    edit(mine, pattern, new)
    add(mine, _OUTPUT)
    with pytest.raises(ValueError, match=reason) as refused:
        load(mine)
    assert str(mine / 'mine.xml') in str(refused.value)
    assert 'xplane_bridge-aircraft' not in str(refused.value)
    assert '\n' not in str(refused.value)
    assert capfd.readouterr() == ('', '')
