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
Extract the commands from README, docs, launch files and interface files.

A fenced block of the language ``bash`` is a session: its lines are run one after the other. The
rest of the fence's info string says what the text cannot:

``needs=WHAT``      cannot be run here; WHAT is a key of NEEDS
``peer="COMMAND"``  a simulated peer in place of the real one that the text describes
``session=NAME``    blocks of one page with the same name form one session
``exit=N``          exit code of its last command
``expect="TEXT"``   text that its output contains

A block of another language with ``file=NAME`` and ``session=NAME`` is first written to that file.
A block of YAML is read by what it is for; ``for=PROGRAM`` marks a file of another program.
A block ``text output`` is the expected output of the block before it; ``...`` stands for anything.
Its numbers are those that the command prints, to a thousandth or the last digit. In ``text output
varies`` they may differ: they are of a clock, or of what runs on it.
"""

from dataclasses import dataclass, field
from pathlib import Path
import re
import shlex

ROOT = Path(__file__).resolve().parents[3]
PAGES = (ROOT / 'README.md', ROOT / 'CONTRIBUTING.md', *sorted((ROOT / 'docs').rglob('*.md')))

# Why a test cannot run a command.
NEEDS = {
    'x-plane': 'a real X-Plane',
    'ksp': 'a real Kerbal Space Program and its serial port',
    'huginn': 'a real Huginn',
    'receiver': 'a real telemetry receiver, or a capture of one',
    'root': 'the administrator: it changes the machine',
    'container': 'Podman or Docker; test_package.py compares the Containerfile with the Makefile',
    'network': 'a package registry: it installs something',
    'ros2': 'a workspace of a sourced ROS 2, with colcon and rosdep',
    'robot_localization': 'the package robot_localization',
    'simulation_interfaces': 'the package simulation_interfaces',
    'ros2bag': 'rosbag2',
    'control': 'the package control',
    'launch_ros': 'launch_ros; test_stand_in.py has what is started without it',
    'gymnasium': 'the package gymnasium',
    'pettingzoo': 'the package pettingzoo',
    'skrl': 'the package skrl with JAX; make test-skrl runs the script',
    'sb3': 'the package stable-baselines3 with torch; make test-sb3 runs the script',
    'desktop': 'a screen',
    'viewer': 'somebody who watches; test_live.py connects a client',
    'cpp': 'rclcpp, which has no wheel',
    'maintainer': 'the rights of a maintainer',
    'recording': 'a recording, which the experiment before it leaves',
    'campaign': 'a campaign of some minutes',
    'cluster': 'machines with SSH or Slurm',
    'dask': 'the process table, which a session has not; test_cluster.py runs the same',
    'elsewhere': 'processor time: another page or test runs the same',
    'yours': 'a controller of your own',
    'xplane': 'a real X-Plane at one of its airports',
    'checkout': 'a checkout of another commit',
}

# First words of commands; a block or a phrase that begins with one is a command.
WORDS = (
    'ros2', 'make', 'colcon', 'rosdep', 'pip', 'apt', 'sudo', 'python3', 'simulator', 'dissect',
    'record', 'experiment', 'check_controller', 'demo', 'bloom-release', 'xpc_node',
    'xplane_udp_node', 'fdmdata_node', 'simpit_node', 'ulyssix_node', 'autopilot_node',
    'simulator_node', 'sensors_node', 'policy_node', 'view_node', 'train', 'campaign', 'export',
    'picture', 'ulyssix', 'xplane-bridge', 'diagnose', 'verify',
)

_FENCE = re.compile(r'^( *)```(.*)$')
_PHRASE = re.compile(r'`([^`\n]+)`')


@dataclass
class Session:
    """Commands that run one after the other, with the files and peers they need."""

    place: str
    options: dict = field(default_factory=dict)
    commands: list = field(default_factory=list)
    files: dict = field(default_factory=dict)
    # Keyed by the index of the command after which the text must have been printed.
    output: dict = field(default_factory=dict)
    # Those of them in which numbers may differ.
    varies: list = field(default_factory=list)


@dataclass(frozen=True)
class Block:
    """A fenced block: its location, language, other attributes and lines."""

    page: Path
    number: int
    language: str
    options: dict
    words: tuple
    lines: tuple


def blocks(page):
    """Return the fenced blocks of a page."""
    found, opened = [], None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fence = _FENCE.match(line)
        if fence and opened is None:
            language, *rest = shlex.split(fence[2]) or ['']
            opened = (number, language, len(fence[1]), rest, [])
        elif fence and fence[2] == '':
            begin, language, _, rest, lines = opened
            options = dict(word.split('=', 1) for word in rest if '=' in word)
            words = tuple(word for word in rest if '=' not in word)
            found.append(Block(page, begin, language, options, words, tuple(lines)))
            opened = None
        elif opened is not None:
            opened[4].append(line[min(opened[2], len(line) - len(line.lstrip())):])
    assert opened is None, f'{page}: a fence is not closed'
    return found


def joined(lines):
    """Return the commands, joining continued lines and skipping empty ones and comments."""
    text = '\n'.join(lines).replace('\\\n', ' ')
    return [line.strip() for line in text.splitlines()
            if line.strip() and not line.lstrip().startswith('#')]


def place(page, number):
    """Return a location as text."""
    return f'{page.relative_to(ROOT)}:{number}'


def sessions_of_page(page):
    """Return the sessions of a page."""
    by_name, found, last = {}, [], None
    for block in blocks(page):
        name = block.options.get('session')
        if block.language == 'text' and 'output' in block.words:
            last.output[len(last.commands) - 1] = list(block.lines)
            if 'varies' in block.words:
                last.varies.append(len(last.commands) - 1)
            continue
        if block.language != 'bash' and 'file' not in block.options:
            continue
        session = by_name.get(name) if name else None
        if session is None:
            session = Session(place(page, block.number))
            found.append(session)
            if name:
                by_name[name] = session
        session.options |= block.options
        if block.language == 'bash':
            session.commands += joined(block.lines)
            last = session
        else:
            session.files[block.options['file']] = '\n'.join(block.lines) + '\n'
    return found


def commented(path, prefix):
    """Return the commands in the comments of a file, each with its line number."""
    return [
        (number, line.strip().removeprefix(prefix).strip())
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.match(rf'{prefix}\s*ros2 (launch|run|topic|service|param) ', line.strip())]


def phrases(page):
    """Return the commands in running text, each with its line number."""
    inside = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if _FENCE.match(line):
            inside = not inside
        elif not inside:
            for phrase in _PHRASE.findall(line):
                words = phrase.split()
                if words and words[0] in WORDS and len(words) > 1:
                    yield number, phrase
