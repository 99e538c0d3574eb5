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
Change a module in many small ways, and show the changes that go unnoticed by every test.

    python3 tools/mutants.py WORK MODULE [--tests FILE ...] [--only PATTERN] [--children N]

MODULE is a file or a folder; WORK a folder of the build, with mutmut in WORK/packages. mutmut
does the work on a copy of the tree; for each mutant it runs the tests that call the changed
function, shortest first.
"""

import argparse
from collections import Counter
from configparser import ConfigParser
import os
from pathlib import Path
import re
import shutil
import subprocess
import sys

HERE = Path(__file__).resolve().parents[1]
# What the tests read besides the package and themselves.
READ_BY_TESTS = ('config', 'docs', 'resource')
# Tests that start processes or nodes: too slow, and threads do not survive mutmut's fork.
SLOW = re.compile(r'\bros\b[,)]|from harness import .*\bprocess\b|mark\.launch')
FATES = ('survived', 'no tests', 'timeout', 'suspicious', 'segfault')


def main():
    """Run mutmut on one module and print the survivors; return 0 in any case."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('work', type=Path)
    parser.add_argument('module', type=Path)
    parser.add_argument('--tests', nargs='+', type=Path, help='the tests to run')
    parser.add_argument('--only', default='*', help="pattern of mutant names, in mutmut's form")
    parser.add_argument('--children', default='2', help='number of processes')
    arguments = parser.parse_args()
    module = (HERE / arguments.module).resolve().relative_to(HERE)
    tests = arguments.tests or tests_of(module)
    if not tests:
        parser.error(f'no test without ROS imports {module}; name some with TESTS="test/..."')
    print(f'{module}, tested by {" ".join(path.name for path in tests)}', flush=True)
    folder = lay_out(arguments.work, module, tests)
    packages = arguments.work.resolve() / 'packages'
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(filter(None, (
        str(packages), str(Path(__file__).resolve().parent), os.environ.get('PYTHONPATH'))))}

    def mutmut(*words):
        ran = subprocess.run(
            [sys.executable, '-P', '-m', 'mutmut', *words], cwd=folder, env=environment,
            capture_output=True, text=True)
        if ran.returncode:
            sys.exit(f'{ran.stdout[-4000:]}{ran.stderr[-4000:]}')
        return ran.stdout

    mutmut('run', '--max-children', arguments.children, arguments.only)
    lines = mutmut('results', '--all', 'true').splitlines()
    # Equivalent to `mutmut show`, without a process for each.
    sys.path.insert(0, str(packages))
    os.chdir(folder)
    report(dict(line.strip().rsplit(': ', 1) for line in lines if ': ' in line))


def tests_of(module):
    """
    Return the tests that import the module or its package, directly or through a helper.

    If some of them bear the name of the protocol or the module, only those.
    """
    package, stem = '.'.join(module.with_suffix('').parts).rsplit('.', 1)
    folder = package if module.suffix else f'{package}.{stem}'
    imports = re.compile(
        rf'^(from|import) ({re.escape(folder)}|{re.escape(package)}\.{stem})\b(?!\.)'
        rf'|^from {re.escape(package)} import .*\b{stem}\b', re.MULTILINE)
    sources = {path: path.read_text() for path in sorted((HERE / 'test').rglob('*.py'))}
    found = {path for path, source in sources.items() if imports.search(source)}
    if helpers := [path.stem for path in found if not path.name.startswith('test_')]:
        by_helper = re.compile(rf'^(from|import) ({"|".join(helpers)})\b', re.MULTILINE)
        found |= {path for path, source in sources.items() if by_helper.search(source)}
    pure = [
        path.relative_to(HERE) for path in sorted(found)
        if path.name.startswith('test_') and not SLOW.search(sources[path])]
    named = re.compile(rf'test_(.*_)?({folder.rsplit(".", 1)[1]}|{stem})(_|\.)')
    return [path for path in pure if named.match(path.name)] or pure


def lay_out(work, module, tests):
    """Copy the tree and configure mutmut; return the folder to run it in."""
    work = work / '.'.join(module.with_suffix('').parts)
    shutil.rmtree(work, ignore_errors=True)
    ignore = shutil.ignore_patterns('__pycache__')
    for name in ('xplane_bridge', 'test', *READ_BY_TESTS):
        shutil.copytree(HERE / name, work / name, ignore=ignore)
    # Generated by the build: messages and services.
    for path in map(Path, os.environ.get('PYTHONPATH', '').split(os.pathsep)):
        for built in ('msg', 'srv'):
            if (path / 'xplane_bridge' / built).is_dir():
                shutil.copytree(path / 'xplane_bridge' / built, work / 'xplane_bridge' / built)
        for library in (path / 'xplane_bridge').glob('*.so'):
            shutil.copy(library, work / 'xplane_bridge')
    also = ''.join(f'\n    {name}' for name in READ_BY_TESTS)
    pattern = module if module.suffix else f'{module}/*'
    files = ''.join(f'\n    {path}' for path in tests)
    ours = ConfigParser()
    ours.read(HERE / 'setup.cfg')
    shared = ours['tool:pytest']['pythonpath'].replace('\n', '\n    ')
    (work / 'setup.cfg').write_text(
        f'[mutmut]\nsource_paths = xplane_bridge\nonly_mutate = {pattern}\nalso_copy ={also}\n'
        f'pytest_add_cli_args_test_selection ={files}\n'
        'pytest_add_cli_args =\n    -p\n    no:cacheprovider\n    -p\n    shortest_first\n'
        'use_git_change_detection = false\n'
        f'[tool:pytest]\npythonpath ={shared}\n')
    return work


def report(fates):
    """Print the survivors as diffs, and the number of mutants with each outcome."""
    from mutmut.mutation.diff_apply import find_mutant, get_diff_for_mutant
    for mutant, fate in fates.items():
        if fate in FATES:
            print(f'# {mutant}: {fate}')
            print(get_diff_for_mutant(mutant, path=find_mutant(mutant).path))
    counts = Counter(fate for fate in fates.values() if fate != 'not checked')
    print(', '.join(f'{count} {fate}' for fate, count in counts.most_common()) or 'no mutants')


if __name__ == '__main__':
    main()
