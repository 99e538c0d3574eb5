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


"""The files that describe the package agree, and list what it needs."""

from configparser import ConfigParser
from importlib.metadata import metadata, PackageNotFoundError
from pathlib import Path
import re
import runpy
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from ros_tools import TOOLS
import yaml

from xplane_bridge.__main__ import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ElementTree.parse(ROOT / 'package.xml').getroot()
IMPORTED = re.compile(r'^\s*(?:from|import) ([a-z0-9_]+)', re.MULTILINE)
ROS = re.compile(r'.*_(msgs|srvs|interfaces)$'
                 r'|^(rclpy|launch(_ros|_testing)?|ament_index_python|rosbag2_py)$')


# Used if installed; the docs say what is missing otherwise. Tests want them.
OPTIONAL = {'simulation_interfaces'}


def declared(*kinds):
    """Return the names of the dependencies of these kinds."""
    return {element.text for kind in kinds for element in PACKAGE.findall(kind)}


def test_the_version_is_the_same_everywhere():
    version = PACKAGE.findtext('version')
    setup = ConfigParser()
    setup.read(ROOT / 'setup.cfg')
    assert setup['metadata']['version'] == version
    example = ElementTree.parse(ROOT / 'examples' / 'my_controller_cpp' / 'package.xml').getroot()
    assert example.findtext('version') == version
    pages = runpy.run_path(str(ROOT / 'docs' / 'conf.py'))
    assert {pages.get(name, version) for name in ('version', 'release')} == {version}
    newest = re.search(
        r'^(\d+\.\d+\.\d+) \((\d{4}-\d\d-\d\d)\)\n-+$', (ROOT / 'CHANGELOG.rst').read_text(),
        re.MULTILINE)
    assert newest
    assert newest[1] == version
    citation = yaml.safe_load((ROOT / 'CITATION.cff').read_text())
    assert citation['version'] == version
    assert citation['date-released'] == newest[2]
    assert citation['license'] == PACKAGE.findtext('license') == setup['metadata']['license']


def test_the_ros_index_has_what_it_links_to():
    """REP 149: addresses by type, a licence with its text, a maintainer who can be written to."""
    addresses = {url.get('type'): url.text for url in PACKAGE.findall('url')}
    assert set(addresses) == {'website', 'repository', 'bugtracker'}
    assert all(address.startswith('https://') for address in addresses.values())
    for licence in PACKAGE.findall('license'):
        assert (ROOT / licence.get('file')).is_file()
    assert all('@' in one.get('email') for one in PACKAGE.findall('maintainer'))


def test_the_container_is_made_of_what_exists():
    """It cannot be built where there is no container engine, so its steps are compared here."""
    lines = (ROOT / 'Containerfile').read_text().splitlines()
    image, = (line.split()[1] for line in lines if line.startswith('FROM '))
    python = re.fullmatch(r'python:(\d+)\.(\d+)\.\d+-bookworm@sha256:\w+', image)
    assert python
    assert (int(python[1]), int(python[2])) >= (3, 11)
    copied = [line.split()[2:-1] for line in lines if line.startswith('COPY ')]
    assert all((ROOT / source).exists() for sources in copied for source in sources)
    made = re.findall(r'"?make"?,? "?([\w/.-]+)', '\n'.join(
        line for line in lines if line.startswith(('RUN ', 'CMD '))))
    assert made == ['build/jazzy/venv/.made', 'build', 'demo']
    makefile = (ROOT / 'Makefile').read_text()
    # $(VENV) is the first.
    assert all(re.search(rf'^{name}:', makefile, re.MULTILINE) for name in made[1:])
    assert 'VENV := $(ROOT)/venv/.made' in makefile


def test_the_tools_of_a_release_read_the_changelog():
    # catkin_pkg leaves out what is below a heading of its own within a release.
    headings = re.findall(r'^(.+)\n([~=^"\'-])\2{3,}$', (ROOT / 'CHANGELOG.rst').read_text(),
                          re.MULTILINE)
    assert len(headings) >= 3
    assert all(re.match(r'\d+\.\d+\.\d+ |Forthcoming$|Changelog for', one)
               for one, _ in headings), headings


def test_each_release_is_told_by_kind_what_breaks_first_and_the_newest_briefly():
    text = (ROOT / 'CHANGELOG.rst').read_text()
    newest, *others = re.split(r'^.+\n-{3,}\n', text, flags=re.MULTILINE)[1:]
    for release in (newest, *others):
        labels = re.findall(r'^\*\*(\w+)(?:: [\w, ]+)?\*\*$', release, re.MULTILINE)
        assert {*labels} <= {'Breaking', 'Added', 'Changed', 'Removed', 'Fixed'}
        assert labels
        assert 'Breaking' not in labels[1:]
        # Nothing stands before the first of them.
        assert release.lstrip().startswith('**')
    assert len(newest.split()) <= 1200


# Of catkin_pkg, by docutils.
@pytest.mark.filterwarnings('ignore::DeprecationWarning')
def test_the_tools_of_a_release_find_each_of_them():
    changelog = pytest.importorskip('catkin_pkg.changelog', reason='catkin_pkg is not installed')
    found = changelog.get_changelog_from_path(str(ROOT))
    released = [version for version, *_ in found.foreach_version() if version != 'forthcoming']
    headings = (ROOT / 'CHANGELOG.rst').read_text()
    assert released == re.findall(r'^(\d+\.\d+\.\d+) \(', headings, re.MULTILINE)[::-1]
    for version in released:
        assert len(found.get_content_of_version(version)) > 1


def test_each_ros_package_that_is_imported_is_declared():
    imported = {
        name for folder in ('xplane_bridge', 'launch')
        for path in (ROOT / folder).rglob('*.py') for name in IMPORTED.findall(path.read_text())
        if ROS.match(name)}
    assert {'rclpy', 'sensor_msgs', 'tf2_msgs'} <= imported
    assert imported - OPTIONAL - declared('depend', 'exec_depend') == set()
    assert imported & declared('test_depend') >= OPTIONAL
    # Without them the tests of a ROS installation fail.
    tools = {'ros2cli_common_extensions' if name == 'ros2cli' else name for name in TOOLS}
    assert declared('exec_depend', 'test_depend') >= tools


def lines_of(path):
    """Return the first lines of a file without the marks of comments."""
    return [line.lstrip('/#').strip() for line in path.read_text().splitlines()[:14]]


def sources(folder):
    """Return the files that ament_copyright looks at, less empty ones and what is built."""
    for path in folder.iterdir():
        if path.is_dir() and path.name[0] not in '._' and path != ROOT / 'build':
            yield from sources(path)
        elif path.suffix in ('.py', '.cpp', '.hpp', '.h') and path.stat().st_size:
            yield path


def test_every_source_file_begins_with_the_licence():
    licence = lines_of(Path(__file__))[:13]
    assert 'Licensed under the Apache License' in licence[2]
    # A script has its interpreter before it.
    assert [str(path) for path in sources(ROOT)
            if licence not in (lines_of(path)[:13], lines_of(path)[1:])] == []


def test_what_is_to_be_filled_in_before_a_release_is_listed():
    placeholders = {
        element.tag for element in PACKAGE
        if '.invalid' in (element.text or '') + element.get('email', '')}
    guide = (ROOT / 'CONTRIBUTING.md').read_text()
    for tag in placeholders:
        assert f'`package.xml`, `{tag}`' in guide


def test_the_declaration_of_quality_has_each_requirement_and_dependency():
    declaration = (ROOT / 'QUALITY_DECLARATION.md').read_text()
    numbers = [row.split('|')[1].strip() for row in declaration.splitlines()
               if re.match(r'\| \d\.', row)]
    # By REP-2004: of version, change control, documentation, testing, dependencies and so on.
    assert [one.partition('.')[0] for one in numbers] == [
        *'1' * 6, *'2' * 5, *'3' * 6, *'4' * 8, *'5' * 3, '6', '7']
    _, _, needed = declaration.partition('\n## Dependencies')
    assert declared('depend', 'exec_depend') <= {*re.findall(r'`([\w-]+)`', needed)}
    readme = (ROOT / 'README.md').read_text()
    assert '](QUALITY_DECLARATION.md)' in readme
    assert '](SECURITY.md)' in readme


def anchors(page):
    """Return the anchors of a page's headings, as GitHub and Sphinx name them."""
    return {
        re.sub(r'[^\w\- ]', '', heading.strip().lower()).replace(' ', '-')
        for heading in re.findall(r'^#+ (.*)$', page.read_text(), re.MULTILINE)}


def test_every_link_leads_somewhere_and_the_index_to_every_page():
    docs = [*(ROOT / 'docs').rglob('*.md')]
    for page in (*ROOT.glob('*.md'), *docs):
        for link in re.findall(r'\]\(([^)\s]+)\)', page.read_text()):
            if '://' not in link:
                name, _, anchor = link.partition('#')
                target = (page.parent / name).resolve() if name else page
                assert target.exists(), f'{page.name}: {link}'
                assert not anchor or anchor in anchors(target), f'{page.name}: {link}'
    index = (ROOT / 'docs' / 'index.md').read_text()
    for page in docs:
        name = page.relative_to(ROOT / 'docs')
        assert page.name == 'index.md' or f']({name})' in index, name


def test_rosdoc2_finds_its_configuration_and_the_pages():
    attic, settings = yaml.safe_load_all(
        (ROOT / PACKAGE.findtext('export/rosdoc2')).read_text())
    assert attic == {'type': 'rosdoc2 config', 'version': 1}
    (sphinx,) = [builder['sphinx'] for builder in settings['builders'] if 'sphinx' in builder]
    pages = ROOT / sphinx['user_doc_dir']
    assert (pages / 'index.md').exists()
    # Without it no link to a heading of another page leads there.
    assert runpy.run_path(str(pages / 'conf.py'))['myst_heading_anchors'] >= 4


def test_what_tests_skip_without_is_installed_for_make_test():
    """Otherwise nothing would run them anywhere, as happened to those that want pyproj."""
    wanted = {
        name.partition('.')[0] for path in (ROOT / 'test').rglob('test_*.py')
        for name in re.findall(r"importorskip\(\s*'([\w.]+)'", path.read_text())}
    # And for make test-skrl and test-sb3.
    installed = {
        line.partition('==')[0].lower()
        for name in ('extras', 'studies', 'docs', 'jazzy', 'skrl', 'sb3')
        for line in (ROOT / 'requirements' / f'{name}.txt').read_text().splitlines()}
    assert {'pyproj', 'rosbags', 'jsbsim'} <= wanted
    # From the standard library, from ROS, which may be absent, from this package; and packages
    # under their distribution's name.
    others = {'resource', 'xplane_bridge'}
    names = {'serial': 'pyserial', 'simple_pid': 'simple-pid', 'foxglove': 'foxglove-sdk',
             'google': 'protobuf', 'mcap_protobuf': 'mcap-protobuf-support',
             'catkin_pkg': 'catkin-pkg'}
    assert {names.get(name, name) for name in wanted - others if not ROS.match(name)} <= installed


def test_a_wheel_has_the_data_files_that_are_in_the_package():
    given = ConfigParser()
    given.read(ROOT / 'setup.cfg')
    patterns = {
        name: value.split() for name, value in given['options.package_data'].items()}
    package = ROOT / 'xplane_bridge'
    held = {
        path.relative_to(ROOT).as_posix() for name, found in patterns.items()
        for pattern in found for path in ROOT.joinpath(*name.split('.')).glob(pattern)
        if path.is_file()}
    data = {
        path.relative_to(ROOT).as_posix() for path in package.rglob('*')
        if path.is_file() and path.suffix != '.pyc' and (
            path.suffix != '.py' or path.is_relative_to(package / 'data'))}
    assert data
    assert data == held


def test_pip_and_ros_have_the_same_commands():
    given = ConfigParser()
    given.read(ROOT / 'setup.cfg')
    for_ros = dict(line.split(' = ') for line in given[
        'options.entry_points']['xplane_bridge.executables'].strip().splitlines())
    assert for_ros == {
        name: f'xplane_bridge.{module}:main' for name, module in COMMANDS.items()}


def test_messages_are_found_in_the_folder_of_the_checkout(tmp_path):
    """Python searches the current folder first, where no messages are built."""
    messages = pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
    program = ('import xplane_bridge.commands.dissect as source, xplane_bridge.msg as built, '
               'xplane_bridge as both\n'
               'from xplane_bridge.srv import GetDatarefs\n'
               'print(source.__file__, built.__file__, len(both.__path__), sep="\\n")')
    for folder, parts in ((ROOT, 2), (tmp_path, 1)):
        source, built, found = subprocess.run(
            [sys.executable, '-c', program], cwd=folder, capture_output=True, text=True,
            check=True, timeout=60).stdout.splitlines()
        # Elsewhere an installed version is used on its own, whatever others exist.
        assert (Path(source).parents[1] == ROOT / 'xplane_bridge') == (folder == ROOT)
        assert built == messages.__file__
        assert int(found) == parts


def test_what_runs_for_a_change_is_pinned_bounded_and_runs_once():
    for file in (ROOT / '.github' / 'workflows').glob('*.yml'):
        workflow = yaml.safe_load(file.read_text())
        # YAML 1.1 reads the key "on" as true.
        assert workflow[True]['push']['branches'] == ['main']
        for job in workflow['jobs'].values():
            assert 0 < job['timeout-minutes'] <= 120
            for step in job['steps']:
                assert re.fullmatch(r'[\w./-]+@[0-9a-f]{40}', step.get('uses', f'a@{"0" * 40}'))


def test_what_a_workflow_runs_exists():
    makefile = (ROOT / 'Makefile').read_text()
    ran = '\n'.join(
        step.get('run', '') for file in (ROOT / '.github' / 'workflows').glob('*.yml')
        for job in yaml.safe_load(file.read_text())['jobs'].values() for step in job['steps'])
    targets = re.findall(r'^\s*make ([\w-]+)', ran, re.MULTILINE)
    paths = re.findall(r'(?<![\w/-])(?:tools|examples|test)/[\w./]+', ran)
    assert {'test', 'test-python', 'lint'} <= {*targets}
    assert {'tools/test_cpp_example.sh', 'examples/my_controller_cpp'} <= {*paths}
    assert [name for name in targets if not re.search(rf'^{name}:', makefile, re.MULTILINE)] == []
    assert [path for path in paths if not (ROOT / path).exists()] == []


# As the metadata of a package says it, if not in the words of the page.
SAID_AS = {'LGPL-2.1-or-later': 'LGPLv2+', 'LGPL-3.0-or-later': 'LGPLv3+',
           'matplotlib (like PSF)': 'Python Software Foundation', 'BSD-3-Clause': 'BSD'}


def licences():
    """Return the licence of each package of the optional set, as the page has it."""
    page = (ROOT / 'docs' / 'reference' / 'licences.md').read_text()
    return dict(re.findall(r'^\| `([\w-]+)` \| ([^|]+?) \|', page, re.MULTILINE))


def test_the_page_of_licences_has_each_optional_package():
    lines = (ROOT / 'requirements' / 'optional.txt').read_text().splitlines()
    assert [*licences()] == sorted(
        re.match(r'[\w-]+', line)[0] for line in lines if line[0] != '#')


@pytest.mark.parametrize(('package', 'licence'), licences().items())
def test_a_licence_is_that_of_the_metadata(package, licence):
    try:
        found = metadata(package)
    except PackageNotFoundError:
        pytest.skip(f'{package} is not installed')
    said = ' '.join([
        found.get('License-Expression') or '', (found.get('License') or '').partition('\n')[0],
        *(one for one in found.get_all('Classifier') or [] if one.startswith('License'))])
    assert licence in said or SAID_AS.get(licence, licence) in said
