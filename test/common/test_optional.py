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

"""The messages about missing optional packages, and when they are given."""

import ast
from configparser import ConfigParser
from email import message_from_string
from importlib import metadata
from pathlib import Path
import re

import pytest

from xplane_bridge.common import optional

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {
    'asammdf', 'cma', 'distributed', 'foxglove-sdk', 'gymnasium', 'jsbsim', 'matplotlib', 'mcap',
    'mcap-protobuf-support', 'onnx', 'onnxruntime', 'pandas', 'pettingzoo', 'pint', 'pyarrow',
    'pygeomag', 'rich', 'rosbags', 'scipy', 'wsproto'}


def extras():
    """Return the requirements of each extra of setup.cfg, with those of the extras in it."""
    given = ConfigParser()
    given.read(ROOT / 'setup.cfg')
    found = {}
    for name, value in given['options.extras_require'].items():
        found[name] = {
            one for line in value.split()
            for one in found.get(line.removeprefix('xplane_bridge[').removesuffix(']'), {line})}
    return found


def name_of(requirement):
    return re.match(r'[a-z-]+', requirement)[0]


def asked_for():
    """Return (extra, packages) of each call of missing() and require() in the package."""
    for file in (ROOT / 'xplane_bridge').rglob('*.py'):
        for node in ast.walk(ast.parse(file.read_text())):
            given = {one.arg: one.value for one in getattr(node, 'keywords', ())}
            if isinstance(given.get('extra'), ast.Constant) and (
                    ast.unparse(node.func).rpartition('.')[2] in ('missing', 'require')):
                yield ast.literal_eval(given['extra']), {
                    one.value for argument in node.args[1:] for one in ast.walk(argument)
                    if isinstance(one, ast.Constant) and one.value}


@pytest.fixture
def nothing_optional(monkeypatch):
    monkeypatch.setattr(optional.importlib.util, 'find_spec', lambda name: None)


def test_in_a_virtual_environment_pip_is_enough(monkeypatch):
    monkeypatch.setattr(optional.sys, 'base_prefix', '/usr')
    monkeypatch.setattr(optional.sys, 'prefix', '/home/me/venv')
    assert str(optional.missing('recording', 'mcap', extra='export')) == (
        "recording needs the Python package mcap: pip install 'mcap>=1.5'")


def test_outside_of_one_it_is_made_first(monkeypatch):
    """A distribution's own Python refuses pip (PEP 668)."""
    monkeypatch.setattr(optional.sys, 'base_prefix', '/usr')
    monkeypatch.setattr(optional.sys, 'prefix', '/usr')
    assert str(optional.missing('the simulated aircraft', 'jsbsim', extra='fly')) == (
        'the simulated aircraft needs the Python package jsbsim: python3 -m venv '
        '--system-site-packages ~/xplane_bridge_venv && . ~/xplane_bridge_venv/bin/activate && '
        'pip install jsbsim')


def test_only_what_is_missing_is_named(monkeypatch):
    optional.require('nothing', 're', 'json', extra='fly')
    monkeypatch.setattr(
        optional.importlib.util, 'find_spec', lambda name: None if name != 'mcap' else name)
    with pytest.raises(ImportError, match='packages jsbsim, rosbags: .*install jsbsim rosbags'):
        optional.require('an experiment', 'jsbsim', 'mcap', 'rosbags', extra='fly,export')


def test_where_pip_has_installed_this_package_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(
        metadata, 'metadata', lambda name: message_from_string('Provides-Extra: train'))
    monkeypatch.setattr(optional.sys, 'base_prefix', '/usr')
    monkeypatch.setattr(optional.sys, 'prefix', '/usr')
    assert str(optional.missing('training', 'cma', 'onnx', extra='train')) == (
        "training needs the Python packages cma, onnx: pip install '.[train]' in the clone of "
        'this package')


def test_an_extra_that_is_named_has_what_is_asked_for():
    given = extras()
    calls = [*asked_for()]
    assert len(calls) > 25
    for names, packages in calls:
        had = {name_of(one) for name in names.split(',') for one in given[name]}
        # pip installs pyserial with each; it is missing where no pip has installed this package.
        assert packages <= had | {'pyserial'}, names
    # In one of them somebody asks for each.
    assert set().union(*given.values()) == {
        one for one in requirements() if name_of(one) != 'pandas'}


def requirements():
    lines = (ROOT / 'requirements' / 'optional.txt').read_text(encoding='utf-8').splitlines()
    return [line for line in lines if line[0] != '#']


def test_the_requirements_name_them_all():
    assert {name_of(line) for line in requirements()} == PACKAGES


def test_an_experiment_says_it_before_it_flies(nothing_optional, tmp_path, capsys):
    pytest.importorskip('rclpy', reason='rclpy is not installed')
    pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
    from xplane_bridge.commands import experiment as main
    from xplane_bridge.laboratory.experiments import settings
    assert main.main(['--output', str(tmp_path / 'a')]) == settings.NOT_FLOWN
    said = capsys.readouterr().err
    assert said.startswith(
        'experiment: a flight through ROS needs the Python packages jsbsim, mcap, rosbags: ')
    assert not list(tmp_path.iterdir())
