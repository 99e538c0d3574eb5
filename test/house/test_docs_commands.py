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

"""Run every command in README, docs, launch files and interfaces, as written there."""

from concurrent.futures import ThreadPoolExecutor
import importlib.util
import json
import os
from pathlib import Path
import re
import shutil
import signal
import subprocess
import sys

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from ament_index_python.packages import get_package_prefix
from docs_blocks import (
    blocks,
    commented,
    NEEDS,
    PAGES,
    phrases,
    place,
    ROOT,
    Session,
    sessions_of_page,
    WORDS,
)

# A session waits for those before it; one worker starts them all, once.
pytestmark = [pytest.mark.timeout(600), pytest.mark.xdist_group('docs')]

SUPPORT = Path(__file__).resolve().parents[1] / 'support'
OWN_NETWORK = ['unshare', '--user', '--map-root-user', '--net', '--pid', '--fork',
               '--kill-child']
TIME_LIMIT = 300.0
# On a loaded machine each command takes seconds to start.
TIME_A_COMMAND = 15.0
# Exit code of the ros2 stand-in for an unknown command.
UNKNOWN = 'the stand-in does not know'
# Sessions spend more time waiting for each other than working.
WORKERS = 4

# A node with its simulated peer, for commands that appear alone in an interface or a launch file.
XPC = ('ros2 run xplane_bridge xpc_node &',
       'ros2 run xplane_bridge autopilot_node --ros-args -p engage:=true &',
       'ros2 topic echo --once /autopilot/active_target')
SIMPIT = ('ros2 run xplane_bridge simpit_node --ros-args -p port:=ksp -p &',
          'ros2 topic echo --once /altitude')
PEERS = ('simulator all "xpc --host 0.0.0.0" "xplane_udp --host 0.0.0.0" "fdmdata --host 0.0.0.0" '
         '"ulyssix --port 5000"')
XPLANE = ('ros2 run xplane_bridge xplane_udp_node &',)


def gist(command):
    """Return a command without what a page may write differently: repetition and quotes."""
    return re.sub(r'(--once|-r \d+) ', '', command.replace('"', "'"))


def interface_sessions(pages):
    """Return the commands in interface comments that are in no page, by their node."""
    said = {gist(command) for session in pages for command in session.commands}
    groups = {
        'simulator xpc': Session('interfaces of xpc_node and autopilot_node', commands=[*XPC]),
        'simulator simpit --port pty:ksp': Session(
            'interfaces of simpit_node', commands=[*SIMPIT]),
        'simulator xplane12': Session(
            'interfaces of xplane_udp_node', commands=[*XPLANE]),
    }
    xpc, simpit, xplane = groups.values()
    for path in sorted([*ROOT.glob('msg/*.msg'), *ROOT.glob('srv/*.srv')]):
        group = (simpit if path.name.startswith('Simpit')
                 else xplane if path.stem == 'SelectRows' else xpc)
        group.commands += [
            command for _, command in commented(path, '#') if gist(command) not in said]
    for peer, session in groups.items():
        session.options['peer'] = peer
    return [session for session in groups.values()
            if any(' topic pub ' in line or ' service ' in line for line in session.commands)]


# Launch files that need something.
NEEDED_BY = {'simpit': 'ksp', 'fleet': 'launch_ros'}


def launch_sessions():
    """Return the commands in the docstrings of launch files, grouping those that need a peer."""
    together = Session('launch files of bridges', {'peer': PEERS})
    alone = []
    for path in sorted(ROOT.glob('launch/*.launch.py')):
        name = path.name.removesuffix('.launch.py')
        for number, command in commented(path, ''):
            if name in ('xpc', 'xplane_udp', 'fdmdata', 'ulyssix'):
                together.commands.append(command)
            else:
                alone.append(Session(
                    place(path, number),
                    {'needs': NEEDED_BY[name]} if name in NEEDED_BY
                    else {'peer': PEERS} if 'host:=' in command else {}, [command]))
    return [together, *alone]


def all_sessions():
    """Return all sessions."""
    pages = [session for page in PAGES for session in sessions_of_page(page) if session.commands]
    return [*pages, *interface_sessions(pages), *launch_sessions()]


SESSIONS = {session.place: session for session in all_sessions()}


def own_network():
    """Return whether a process can have its own network namespace here."""
    return shutil.which('unshare') is not None and shutil.which('ip') is not None and (
        subprocess.run([*OWN_NETWORK, 'true'], capture_output=True).returncode == 0)


def missing_need(session):
    """Return what a session needs and is unavailable here, or ''."""
    needs = session.options.get('needs', '')
    is_here = (
        needs in ('simulation_interfaces', 'control', 'distributed', 'gymnasium', 'pettingzoo',
                  'launch_ros')
        and importlib.util.find_spec(needs) is not None)
    return '' if is_here else needs


class Runner:
    """Run the chosen sessions in parallel, if each can have its own network namespace."""

    def __init__(self, chosen, folder):
        self.private = own_network()
        self.folder = folder
        self.environment = self._environment()
        self.pool = ThreadPoolExecutor(WORKERS if self.private else 1)
        self.children = []
        # A command that appears in two places is run once.
        once = {}
        self.results = {}
        for name in chosen:
            session = SESSIONS[name]
            key = json.dumps([session.commands, session.options, session.files, session.output,
                              session.varies])
            if key not in once:
                once[key] = self.pool.submit(self._run, session)
            self.results[name] = once[key]

    def _environment(self):
        """Put ros2 on the PATH if it is missing, as `make shell` does."""
        commands = self.folder / 'bin'
        commands.mkdir()
        python = sys.executable
        # As pip would have put it there.
        script = commands / 'xplane-bridge'
        script.write_text(f'#!/bin/sh\nexec {python} -P -m xplane_bridge "$@"\n')
        script.chmod(0o755)
        environment = {
            **os.environ, 'PYTHONUNBUFFERED': '1', 'MPLBACKEND': 'Agg',
            # Shared memory is not separated by network namespaces.
            'FASTDDS_BUILTIN_TRANSPORTS': 'UDPv4',
            'PATH': f'{commands}:{os.environ["PATH"]}:{ROOT / "tools" / "ros2"}',
        }
        for name in ('ROS_PYTHON_CHECK_FIELDS', 'MAKEFLAGS', 'MAKELEVEL'):
            environment.pop(name, None)
        return environment

    def _run(self, session):
        folder = self.folder / session.place.replace('/', '_').replace(' ', '_')
        folder.mkdir()
        executables = f'{get_package_prefix("xplane_bridge")}/lib/xplane_bridge'
        options = dict(session.options)
        if 'peer' in options:
            options['peer'] = f'{executables}/{options["peer"]}'
        if session.place.startswith('CONTRIBUTING'):
            folder = ROOT
        child = subprocess.Popen(
            [*(OWN_NETWORK if self.private else ()), sys.executable, '-P',
             str(SUPPORT / 'docs' / 'docs_session.py')],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=self.environment, start_new_session=True)
        self.children.append(child)
        try:
            said, _ = child.communicate(json.dumps({
                'folder': str(folder), 'files': session.files, 'commands': session.commands,
                'output': session.output, 'varies': session.varies, 'options': options,
                'private': self.private,
                'executables': executables, 'root': str(ROOT),
            }), TIME_LIMIT + TIME_A_COMMAND * len(session.commands))
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            said, _ = child.communicate()
            said += '\nFAILED: it took too long'
        return child.returncode, said

    def close(self):
        """Terminate what is still running."""
        self.pool.shutdown(cancel_futures=True)


@pytest.fixture(scope='module')
def runner(request, tmp_path_factory):
    """Return the chosen sessions, running."""
    chosen = [
        item.callspec.params['name'] for item in request.session.items
        if item.fspath == request.fspath and hasattr(item, 'callspec')
        and item.originalname == 'test_commands_do_what_the_text_says']
    runner = Runner([name for name in chosen if not missing_need(SESSIONS[name])],
                    tmp_path_factory.mktemp('docs'))
    yield runner
    runner.close()


@pytest.mark.parametrize('name', SESSIONS)
def test_commands_do_what_the_text_says(name, runner):
    session = SESSIONS[name]
    if needs := missing_need(session):
        pytest.skip(f'not run: needs {NEEDS[needs]}: {"; ".join(session.commands)}')
    code, said = runner.results[name].result()
    if UNKNOWN in said and importlib.util.find_spec('ros2cli') is None:
        pytest.skip(f'not run: needs the real ros2: {"; ".join(session.commands)}')
    assert code == 0, said


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.name)
def test_commands_stand_in_blocks_that_are_run(page):
    for block in blocks(page):
        assert block.options.get('needs', 'root') in NEEDS, block
        if block.language in ('', 'text', 'console', 'sh', 'shell'):
            for line in block.lines:
                assert line.split()[:1] == [] or line.split()[0] not in WORDS, (
                    f'{place(page, block.number)}: a command in a block that is not bash: {line}')
    for number, phrase in phrases(page):
        assert len(phrase.split()) <= 3 + phrase.startswith('ros2 run') or ' | ' in phrase, (
            f'{place(page, number)}: a complete command belongs in a block of its own: {phrase}')


def test_what_the_text_calls_exists():
    executables = {
        line.split(' = ')[0].strip() for line in (ROOT / 'setup.cfg').read_text().splitlines()
        if ' = xplane_bridge.' in line}
    targets = {
        target for line in (ROOT / 'Makefile').read_text().splitlines()
        if line and line[0].isalpha() and ':' in line for target in line.split(':')[0].split()}
    for page in PAGES:
        for number, phrase in phrases(page):
            words = phrase.split()
            where = f'{place(page, number)}: {phrase}'
            if words[0] == 'make':
                assert {word for word in words[1:] if word.isalpha() and word != 'V'} <= targets \
                    or '|' in words, where
            elif words[:3] == ['ros2', 'run', 'xplane_bridge']:
                assert words[3] in executables, where
            elif words[0] not in ('ros2', 'colcon', 'rosdep', 'pip', 'apt', 'sudo', 'python3',
                                  'bloom-release'):
                assert words[0] in executables, where
