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

"""Each program of benchmarks/ and tools/ runs, in its shortest form; what they import exists."""

import ast
from importlib import import_module
from pathlib import Path
import subprocess
import sys

import numpy as np
import pytest

from xplane_bridge.bridges.conversions import geoid
from xplane_bridge.laboratory.identification.motion.signals import IdentificationError

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ('benchmarks', 'tools', 'examples')
WITHOUT_ROS = ('campaigns', 'core', 'episodes', 'fleet', 'px4')
WITH_ROS = sorted(
    {path.stem.removeprefix('bench_') for path in (ROOT / 'benchmarks').glob('bench_*.py')}
    - set(WITHOUT_ROS))
MISSING = {'xplane_bridge.msg', 'xplane_bridge.srv', 'xplane_bridge.action'}


def run(*command, codes=(0,)):
    """Run a program of the repository; return what it prints."""
    done = subprocess.run(
        [sys.executable, *map(str, command)], cwd=ROOT, capture_output=True, text=True,
        timeout=280.0)
    assert done.returncode in codes, done.stdout + done.stderr
    return done.stdout


def imported(path):
    """Yield the modules of the package that a program imports from, and the names."""
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.ImportFrom) and (node.module or '').startswith('xplane_bridge'):
            yield node.module, [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith('xplane_bridge'):
                    yield alias.name, []


@pytest.mark.parametrize('path', [
    pytest.param(path, id=path.relative_to(ROOT).as_posix())
    for folder in FOLDERS for path in sorted((ROOT / folder).rglob('*.py'))
    if any(imported(path))])
def test_all_that_a_program_imports_of_the_package_exists(path):
    for module, names in imported(path):
        try:
            found = import_module(module)
        except ImportError as error:
            # Not here: ROS, or what only studies need.
            if module not in MISSING and (error.name or '').startswith('xplane_bridge') and (
                    error.name not in MISSING):
                raise
            continue
        for name in names:
            if not hasattr(found, name):
                import_module(f'{module}.{name}')


@pytest.mark.parametrize('name', WITHOUT_ROS)
def test_a_benchmark_without_ros_runs(name):
    for package in ('jsbsim', 'gymnasium', 'pyarrow', 'distributed'):
        pytest.importorskip(package)
    assert 'everything has run' in run('benchmarks', '--shortest', name)


@pytest.mark.parametrize('name', WITH_ROS)
def test_a_benchmark_with_ros_runs(name):
    pytest.importorskip('rclpy', reason='rclpy is not installed')
    pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
    for package in ('jsbsim', 'mcap', 'serial'):
        pytest.importorskip(package)
    assert 'everything has run' in run('benchmarks', '--shortest', name)


def test_the_shortest_form_is_not_kept(tmp_path):
    run('benchmarks', '--shortest', '--page', tmp_path / 'page.md', codes=(2,))
    assert not (tmp_path / 'page.md').exists()


def test_identification_coverage_runs():
    pytest.importorskip('jsbsim')
    pytest.importorskip('scipy')
    # 1: too few of the intervals, or too many, contain the truth.
    said = run('benchmarks/identification_coverage.py', '--shortest', 'c172p', '1', codes=(0, 1))
    assert 'C_m_q                        1 of 1 printed' in said
    assert 'short_period frequency       1 of 1 printed' in said
    assert 'behind tactical: ' in said


def test_identification_coverage_counts_a_flight_that_crashed(monkeypatch):
    pytest.importorskip('jsbsim')
    pytest.importorskip('scipy')
    monkeypatch.syspath_prepend(ROOT / 'benchmarks')
    coverage = import_module('identification_coverage')

    def crash(flight):
        raise IdentificationError('it crashed at 1.0 s')

    monkeypatch.setattr(coverage, 'read_core', crash)
    job = coverage.Job('c172p', 1, 'tactical', 0, 1.0)
    assert coverage.identified(job) == ('it crashed at 1.0 s', [])


def test_aircraft_table_flies_an_aircraft():
    pytest.importorskip('jsbsim')
    assert '| c172p | single-engine trainer |' in run(
        'tools/aircraft_table.py', '--aircraft', 'c172p', 'no page')


def test_experiment_table_is_written(tmp_path):
    pytest.importorskip('rclpy', reason='rclpy is not installed')
    pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
    pytest.importorskip('jsbsim')
    pytest.importorskip('mcap')
    (tmp_path / 'short.yaml').write_text(
        'duration: 2.0\nevents: [{at: 0.0, engage: true}]\n'
        'criteria: [{figure: duration, at_least: 1.0}]\n')
    page = tmp_path / 'page.md'
    page.write_text('before\n<!-- table begin -->\n<!-- table end -->\nafter\n')
    run('tools/experiment_table.py', page, '--scenario', tmp_path / 'short.yaml', '--sim', 'xpc')
    assert '| criteria met | 1 of 1 |' in page.read_text()


def test_pictures_are_drawn(tmp_path):
    pytest.importorskip('matplotlib')
    run('tools/draw_aircraft.py', 'xplane_bridge/data/view/aircraft.urdf', tmp_path / 'a.png')
    run('tools/draw_sensors.py', tmp_path / 'b.png', 'consumer')
    for name in ('a.png', 'b.png'):
        assert (tmp_path / name).read_bytes().startswith(b'\x89PNG')


def test_the_geoid_grid_is_made_of_a_finer_one(tmp_path, monkeypatch, capsys):
    import make_geoid
    north, east = np.meshgrid(
        np.radians(np.linspace(-90.0, 90.0, 721)), np.radians(np.arange(1440) / 4.0),
        indexing='ij')
    heights = 30.0 * np.cos(north) * np.sin(3.0 * east)
    source = tmp_path / 'fine.gtx'
    source.write_bytes(
        np.array((-90.0, -180.0, 0.25, 0.25), '>f8').tobytes()
        + np.array((721, 1440), '>i4').tobytes() + heights.astype('>f4').tobytes())
    monkeypatch.setattr(geoid, 'PACKAGED', tmp_path / 'made.npz')
    monkeypatch.setattr(sys, 'argv', ['make_geoid.py', str(source)])
    make_geoid.main()
    said = capsys.readouterr().out
    assert said.startswith('made.npz: ')
    assert float(said.rpartition('rms ')[2].removesuffix(' m\n')) < 0.2


def test_mutants_of_a_table_are_tried():
    said = run('tools/mutate_states.py', 'fdmdata', 'OFF START does nothing', '--',
               'test/bridges/sessions/test_machine.py')
    assert said.endswith('1 mutants, 1 survive\n')


def test_mutants_of_a_file_are_tried(tmp_path):
    said = run('tools/mutants.py', tmp_path, 'xplane_bridge/bridges/sessions/budget.py', '--only',
               '(now - self._at) /', '--tests', 'test/bridges/sessions/test_budget.py')
    assert said.endswith('1 of 1 killed, 100 %, in all\n')


def test_mutants_are_small_changes_of_what_a_program_does():
    import mutants
    source = (
        'LIMIT: int | None = 2\n'
        'def grow(some: list[int] = [], most=-1) -> int | None:\n'
        '    """Add 1 if not 2 < 3."""\n'
        '    for one in some:\n'
        '        if not one or 1.5 <= one < LIMIT:\n'
        '            break\n'
        '        note(f"{one + 1}")\n'
        '    return max(some) * (one is None)\n')
    found = mutants.mutants_of('grow.py', source)
    assert [str(one).removeprefix('grow.py:') for one in found] == [
        '1: 2 -> 3', '2: -1 -> (1)', '2: 1 -> 2',
        '5: not one -> (one)',
        '5: not one or 1.5 <= one < LIMIT -> (not (not one or 1.5 <= one < LIMIT))',
        '5: not one or 1.5 <= one < LIMIT -> (not one and 1.5 <= one < LIMIT)', '5: 1.5 -> 2.5',
        '5: 1.5 <= one < LIMIT -> (1.5 < one < LIMIT)',
        '5: 1.5 <= one < LIMIT -> (1.5 <= one <= LIMIT)', '6: break -> continue',
        '7: note(f"{one + 1}") -> pass',
        '8: return max(some) * (one is None) -> return None', '8: max -> min',
        '8: max(some) * (one is None) -> (max(some) / (one is None))',
        '8: one is None -> (one is not None)']
    for one in found:
        compile(mutants.mutated(source, one), 'grow.py', 'exec')


def test_a_trace_is_printed():
    assert run('tools/trace_sessions.py', '.', '1', 'ulyssix').startswith('UlyssixAdapter: ')
