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

from pathlib import Path
import re

import pytest

from xplane_bridge.common import optional

PACKAGES = {
    'asammdf', 'cma', 'distributed', 'foxglove-sdk', 'gymnasium', 'jsbsim', 'matplotlib', 'mcap',
    'onnx', 'onnxruntime', 'pandas', 'pint', 'pyarrow', 'rich', 'rosbags', 'scipy'}


@pytest.fixture
def nothing_optional(monkeypatch):
    monkeypatch.setattr(optional.importlib.util, 'find_spec', lambda name: None)


def test_in_a_virtual_environment_pip_is_enough(monkeypatch):
    monkeypatch.setattr(optional.sys, 'base_prefix', '/usr')
    monkeypatch.setattr(optional.sys, 'prefix', '/home/me/venv')
    assert str(optional.missing('recording', 'mcap')) == (
        "recording needs the Python package mcap: pip install 'mcap>=1.5'")


def test_outside_of_one_it_is_made_first(monkeypatch):
    """A distribution's own Python refuses pip (PEP 668)."""
    monkeypatch.setattr(optional.sys, 'base_prefix', '/usr')
    monkeypatch.setattr(optional.sys, 'prefix', '/usr')
    assert str(optional.missing('the simulated aircraft', 'jsbsim')) == (
        'the simulated aircraft needs the Python package jsbsim: python3 -m venv '
        '--system-site-packages ~/xplane_bridge_venv && . ~/xplane_bridge_venv/bin/activate && '
        'pip install jsbsim')


def test_only_what_is_missing_is_named(monkeypatch):
    optional.require('nothing', 're', 'json')
    monkeypatch.setattr(
        optional.importlib.util, 'find_spec', lambda name: None if name != 'mcap' else name)
    with pytest.raises(ImportError, match='packages jsbsim, rosbags: .*install jsbsim rosbags'):
        optional.require('an experiment', 'jsbsim', 'mcap', 'rosbags')


def test_the_requirements_name_them_all():
    path = Path(__file__).resolve().parents[2] / 'requirements' / 'optional.txt'
    lines = path.read_text(encoding='utf-8').splitlines()
    assert {re.match(r'[a-z-]+', line)[0] for line in lines if line[0] != '#'} == PACKAGES


def test_an_experiment_says_it_before_it_flies(nothing_optional, tmp_path, capsys):
    pytest.importorskip('rclpy', reason='rclpy is not installed')
    pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
    from xplane_bridge.commands import experiment as main
    from xplane_bridge.experiments import settings
    assert main.main(['--output', str(tmp_path / 'a')]) == settings.NOT_FLOWN
    said = capsys.readouterr().err
    assert said.startswith(
        'experiment: an experiment needs the Python packages jsbsim, mcap, rosbags: ')
    assert not list(tmp_path.iterdir())
