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
Change the package in small ways, one at a time; show the changes that the folder's tests miss.

    tools/mutants.py WORK [PLACE ...] [--number N] [--seed N] [--only TEXT] [--tests TEST ...]

PLACE is a folder, tested by the folder of the same name below test/, or a file, tested by that of
its name or of its folder. N mutants are drawn of all places, each equally likely; a smaller N
gives the first of a larger one. All is done in WORK, a copy of the tree. A run of tests ends at
the first failure. WORK/killed.txt says which test each mutant fails, and what the tests reach is
kept beside it.
"""

import argparse
import ast
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
import json
import os
from pathlib import Path
import random
import shutil
import signal
import subprocess
import sys
from time import monotonic
from zlib import crc32

HERE = Path(__file__).resolve().parents[1]
# Where a mistake is believed: files, figures, what is given back, what a vehicle's topics say.
PLACES = (
    'xplane_bridge/laboratory/flights/recordings', 'xplane_bridge/laboratory/campaigns/table',
    'xplane_bridge/bridges/*/session/overrides.py', 'xplane_bridge/bridges/*/session/written.py',
    'xplane_bridge/bridges/*/web/held.py', 'xplane_bridge/bridges/sessions/pending.py',
    'xplane_bridge/bridges/nodes/vehicle', 'xplane_bridge/laboratory/identification/estimation',
    'xplane_bridge/bridges/conversions', 'xplane_bridge/bridges/*/conversion*')
# Seconds for all tests of a folder with one mutant, or so many times as long as without: whoever
# takes longer is killed, as that is the mutant's doing.
LIMIT, FAR = 180.0, 3.0
# Characters of the reason why a mutant is killed.
_LONGEST = 300

ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div, ast.Mod: ast.Div, ast.Pow: ast.Mult, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr}
COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}
FUNCTIONS = {'min': 'max', 'max': 'min', 'any': 'all', 'all': 'any'}
# Not the program's own: texts, and what only a reader or a type checker sees.
SKIPPED = (ast.JoinedStr, ast.Import, ast.ImportFrom)
ANNOTATIONS = ('annotation', 'returns', 'type_params')


@dataclass(frozen=True)
class Mutant:
    """A change of one place in a file: the characters from begin to end are replaced by new."""

    path: str
    line: int
    begin: int
    end: int
    old: str
    new: str

    def __str__(self):
        """Return where it is, and what is changed."""
        return f'{self.path}:{self.line}: {" ".join(self.old.split())} -> {self.new}'


def main():
    """Draw mutants, try each, and print the survivors and the share killed; return 0 then."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('work', type=Path)
    parser.add_argument('places', nargs='*', default=PLACES, metavar='place')
    parser.add_argument('--number', type=int, default=300, help='mutants to draw')
    parser.add_argument('--seed', type=int, default=1, help='random seed of the draw')
    parser.add_argument('--only', default='', help='only those whose line here contains this')
    parser.add_argument('--tests', nargs='+', type=Path, help='instead of those of the folder')
    arguments = parser.parse_args()
    given = arguments.tests and tuple(arguments.tests)
    mutants = [
        (mutant, given or (tests,)) for path, tests in files(arguments.places)
        for mutant in mutants_of(path, (HERE / path).read_text())
        if arguments.only in str(mutant)]
    random.Random(arguments.seed).shuffle(mutants)
    drawn = mutants[:arguments.number]
    print(f'{len(drawn)} of {len(mutants)} mutants, seed {arguments.seed}', flush=True)
    work = lay_out(arguments.work)
    groups: dict[tuple[Path, ...], list[tuple[int, Mutant]]] = {}
    for number, (mutant, tests) in enumerate(drawn, 1):
        groups.setdefault(tests, []).append((number, mutant))
    tried: Counter[tuple[Path, ...]] = Counter()
    killed: Counter[tuple[Path, ...]] = Counter()
    # An interrupt ends it with what is known by then.
    with suppress(KeyboardInterrupt), open(work.parent / 'killed.txt', 'a') as log:
        for tests, group in groups.items():
            with Tests(work, tests) as running:
                print(f'{words(tests)} without a mutant: {running.seconds:.0f} s', flush=True)
                for number, mutant in group:
                    if reason := running.killing(mutant):
                        why = ' '.join(reason.split())[:_LONGEST]
                        print(f'{mutant}\t{why}', file=log, flush=True)
                        killed[tests] += 1
                    else:
                        print(f'{number} survives: {mutant}', flush=True)
                    tried[tests] += 1
    for tests, count in tried.items():
        print(f'{share(killed[tests], count)}, by {words(tests)}')
    print(f'{share(killed.total(), tried.total())}, in all')


def words(tests):
    """Return the names of tests."""
    return ' '.join(map(str, tests))


def share(killed, number):
    """Return the share of the killed, in words."""
    return f'{killed} of {number} killed, {100 * killed / max(1, number):.0f} %'


def files(places):
    """Yield each file of the places, and the folder of its tests, from the top of the tree."""
    for place in places:
        found = sorted(HERE.glob(str(place)))
        if not found:
            sys.exit(f'{place}: there is no such file or folder')
        for one in found:
            tests = Path('test', *one.with_suffix('').relative_to(HERE).parts[1:])
            if not (HERE / tests).is_dir():
                tests = tests.parent
            for path in sorted(one.rglob('*.py')) if one.is_dir() else [one]:
                yield path.relative_to(HERE), tests


def mutants_of(path, source):
    """Return the mutants of a file, in the order of its lines."""
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    data = source.encode()
    found = []
    for node, new in changes(ast.parse(source)):
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        found.append(Mutant(str(path), node.lineno, begin, end, data[begin:end].decode(), new))
    return sorted(set(found), key=lambda each: (each.begin, each.end, each.new))


def mutated(source, mutant):
    """Return the text of a file with a mutant."""
    data = source.encode()
    return (data[:mutant.begin] + mutant.new.encode() + data[mutant.end:]).decode()


def changes(node):
    """Yield each node to be changed at or below a node, and the text to replace it by."""
    yield from changed_value(node)
    yield from changed_condition(node)
    yield from changed_statement(node)
    for name, value in ast.iter_fields(node):
        if name in ANNOTATIONS:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, SKIPPED):
                yield from changes(child)


def changed_value(node):
    """Yield the changes of an expression."""
    match node:
        case ast.BinOp() if type(node.op) in ARITHMETIC:
            yield node, f'({text_of(node, op=ARITHMETIC[type(node.op)]())})'
        case ast.BoolOp():
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield node, f'({text_of(node, op=other)})'
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node, f'({ast.unparse(node.operand)})'
        case ast.Compare():
            for place, operation in enumerate(node.ops):
                ops = [*node.ops]
                ops[place] = COMPARISONS[type(operation)]()
                yield node, f'({text_of(node, ops=ops)})'
        case ast.Constant(value=bool()):
            yield node, str(not node.value)
        case ast.Constant(value=int() | float() as value):
            yield node, str(value + 1)
        case ast.Name(ctx=ast.Load()) if node.id in FUNCTIONS:
            yield node, FUNCTIONS[node.id]


def changed_condition(node):
    """Yield the negated conditions of a node."""
    match node:
        case ast.If() | ast.While() | ast.IfExp() if ast.unparse(node.test) != 'TYPE_CHECKING':
            tests = [node.test]
        case ast.comprehension():
            tests = node.ifs
        case _:
            tests = []
    for test in tests:
        yield test, f'(not ({ast.unparse(test)}))'


def changed_statement(node):
    """Yield the changes of a statement as a whole."""
    match node:
        case ast.AugAssign() if type(node.op) in ARITHMETIC:
            yield node, text_of(node, op=ARITHMETIC[type(node.op)]())
            yield node, 'pass'
        case ast.Return(value=ast.AST()) | ast.Assign() if not none(node.value):
            yield node, text_of(node, value=ast.Constant(None))
        case ast.Expr(value=ast.Call()) | ast.Raise():
            yield node, 'pass'
        case ast.Break():
            yield node, 'continue'
        case ast.Continue():
            yield node, 'break'


def text_of(node, **other):
    """Return the text of a node of which some fields are others."""
    fields = {name: getattr(node, name) for name in node._fields} | other
    return ast.unparse(ast.fix_missing_locations(type(node)(**fields)))


def none(node):
    """Return whether an expression is None."""
    return isinstance(node, ast.Constant) and node.value is None


def lay_out(work):
    """Copy the tree, and what its build generates, into the work folder; return the copy."""
    copy = work.resolve() / 'copy'
    shutil.rmtree(copy, ignore_errors=True)
    # Whatever begins with a dot, and the build, is no part of what is tested.
    shutil.copytree(HERE, copy, symlinks=True, ignore=shutil.ignore_patterns(
        'build', '.*', '__pycache__'))
    for path in map(Path, os.environ.get('PYTHONPATH', '').split(os.pathsep)):
        for generated in ('msg', 'srv', 'action'):
            if (path / 'xplane_bridge' / generated).is_dir():
                shutil.copytree(path / 'xplane_bridge' / generated,
                                copy / 'xplane_bridge' / generated)
        for library in (path / 'xplane_bridge').glob('*.so'):
            shutil.copy(library, copy / 'xplane_bridge')
    return copy


class Tests:
    """Tests that were collected, in a process of their own; see mutant_tests.py."""

    def __init__(self, work, tests):
        self._work, self._tests = work, tests
        begin = monotonic()
        asked, self._asking = os.pipe()
        heard, said = os.pipe()
        self._process = start(
            work, tests, {'MUTANTS_TALK': f'{asked} {said}'}, pass_fds=(asked, said))
        os.close(asked)
        os.close(said)
        self._answers = os.fdopen(heard, encoding='utf-8')
        failed = self._answers.readline()
        if not failed or json.loads(failed):
            self._process.kill()
            sys.exit(f'{words(tests)} fail, or there are none, without any mutant:\n' + (
                json.loads(failed) if failed else (work.parent / 'said.txt').read_text()[-4000:]))
        self.seconds = monotonic() - begin

    def __enter__(self):
        return self

    def __exit__(self, *error):
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._answers.close()
        os.close(self._asking)

    def killing(self, mutant):
        """Return the test that fails with a mutant, or another reason; '' if all pass."""
        path = self._work / mutant.path
        status, source = path.stat(), path.read_text()
        # Programs that tests start read it from the file.
        path.write_text(mutated(source, mutant))
        limit = max(LIMIT, FAR * self.seconds)
        try:
            os.write(self._asking, json.dumps({
                'path': mutant.path, 'source': source, 'mutated': mutated(source, mutant),
                'limit': limit}).encode() + b'\n')
            reason = json.loads(self._answers.readline())
            if reason == 'fresh':
                reason = '' if passes(self._work, self._tests, limit) else 'a test'
            return 'time' if reason is None else reason
        finally:
            path.write_text(source)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def passes(work, tests, limit):
    """Return whether tests pass in time (s), in a process that imports everything anew."""
    # Compiled modules stay those of the unmutated tree, see mutant_tests.py.
    with start(work, tests, {'PYTHONDONTWRITEBYTECODE': '1'}) as process:
        try:
            process.wait(limit)
        except (subprocess.TimeoutExpired, KeyboardInterrupt) as error:
            os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, KeyboardInterrupt):
                raise
            return False
        return process.returncode == 0


def start(work, tests, environment, **options):
    """Start tests, and return their process."""
    paths = (work, work / 'tools', *filter(None, [os.environ.get('PYTHONPATH')]))
    kept = work.parent / 'kept' / f'{crc32(words(tests).encode()):08x}.json'
    with open(work.parent / 'said.txt', 'w') as said:
        return subprocess.Popen(
            [sys.executable, '-P', '-m', 'pytest', '-q', '-x', '-p', 'no:cacheprovider',
             '-p', 'mutant_tests', *map(str, tests)],
            cwd=work, env={
                **os.environ, 'PYTHONPATH': os.pathsep.join(map(str, paths)),
                'MUTANTS_KEPT': str(kept), **environment},
            stdout=said, stderr=subprocess.STDOUT, start_new_session=True, **options)


if __name__ == '__main__':
    main()
