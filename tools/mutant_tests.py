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
Plugin for pytest, loaded by mutants.py: try mutants in copies of a process that has collected.

The tests run once without a mutant, and it is kept which lines each reaches, whether it starts
processes, and how long it takes. A mutant of a function is put into a copy of this process, where
the tests that reach the function run, then the others of their files, then those that start
processes, fastest files first, until one fails. What is done when a file is imported cannot be
changed afterwards: such a mutant is answered 'fresh', and needs a process of its own.
"""

from collections import Counter
from contextlib import suppress
import gc
import hashlib
from inspect import CO_OPTIMIZED
import json
import os
from pathlib import Path
import signal
import sys
from time import monotonic
import traceback
from types import CodeType, FunctionType

import pytest

# Seconds, and how many times as long as before: more than other programs make of it.
GRACE, FACTOR = 20.0, 10.0
# File descriptors of questions and answers, one a line; not there in a process for one mutant.
TALK = os.environ.get('MUTANTS_TALK', '')
KEPT = Path(os.environ['MUTANTS_KEPT'])
STARTS = {'subprocess.Popen', 'os.fork', 'os.posix_spawn', 'os.exec'}


class _State:
    """What a copy of this process has seen."""

    test, learns = '', False
    seconds: Counter[str] = Counter()
    starts: set[str] = set()
    failed: pytest.TestReport | None = None


if TALK:
    import coverage
    _coverage = coverage.Coverage(data_file=None, source=[str(Path('xplane_bridge').resolve())])
    _coverage.start()


def digest(paths):
    """Return what tells files from others."""
    found = hashlib.sha256()
    for path in sorted(paths):
        found.update(path.read_bytes())
    return found.hexdigest()


def known():
    """Return what was kept, as far as the files are still those."""
    sources = digest([*Path('xplane_bridge').rglob('*.py'), *Path('test/support').rglob('*.py')])
    found = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    if found.get('sources') != sources:
        found = {'sources': sources, 'files': {}, 'tests': {}, 'starts': [], 'imported': {}}
    return found


def pytest_collection_modifyitems(items):
    """Sort the tests: fastest files first, those unknown before all. Limit each that is known."""
    tests = known()['tests']
    of_files: Counter[str] = Counter()
    for name, (taken, _) in tests.items():
        of_files[name.partition('::')[0]] += taken
    items.sort(key=lambda item: of_files[file_of(item)])
    for item in items:
        if item.nodeid in tests:
            limit = GRACE + FACTOR * tests[item.nodeid][0]
            item.add_marker(pytest.mark.timeout(limit), append=False)


def file_of(item):
    """Return the name of a test's file."""
    return item.nodeid.partition('::')[0]


def pytest_runtest_logreport(report):
    """Add up a test's set-up, call and tear-down."""
    _State.seconds[report.nodeid] += report.duration
    if report.failed:
        _State.failed = report


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    """Answer one question after the other, if there are any."""
    if not TALK:
        return None
    _coverage.stop()
    reading, writing = map(int, TALK.split())
    gc.unfreeze()
    functions = functions_by_code()
    gc.freeze()
    with open(reading, encoding='utf-8') as questions, open(writing, 'w') as answers:
        kept = learn(session.items)
        print(json.dumps(kept if isinstance(kept, str) else ''), file=answers, flush=True)
        for line in questions:
            answer = ask(session.items, kept, functions, **json.loads(line))
            print(json.dumps(answer), file=answers, flush=True)
    return True


def functions_by_code():
    """Return the functions that there are, by file, name and line."""
    found: dict[tuple[str, str, int], list[FunctionType]] = {}
    for one in gc.get_objects():
        if isinstance(one, FunctionType):
            found.setdefault(place_of(one.__code__), []).append(one)
    return found


def place_of(code):
    """Return what tells a function's code from others."""
    return code.co_filename, code.co_qualname, code.co_firstlineno


def learn(items):
    """Run the tests that are not known yet; return what is known then, or what has failed."""
    kept = known()
    of_files = {name: digest([Path(name)]) for name in {file_of(item) for item in items}}
    new = {name for name, one in of_files.items() if kept['files'].get(name) != one}
    data = _coverage.get_data()
    kept['imported'] |= {
        os.path.relpath(path): data.lines(path) for path in data.measured_files()}
    if new:
        kept['files'] |= {name: of_files[name] for name in new}
        kept['tests'] = {name: one for name, one in kept['tests'].items()
                         if name.partition('::')[0] not in new}
        failed = in_copy(lambda: run_new(
            [item for item in items if file_of(item) in new], kept), None)
        if failed:
            return failed
    return json.loads(KEPT.read_text()) if new else kept


def run_new(items, kept):
    """Run tests, and keep what they reach, how long they take, and which start processes."""
    def on_audit(event, _):
        if event in STARTS:
            _State.starts.add(_State.test)

    sys.addaudithook(on_audit)
    _coverage.erase()
    _coverage.start()
    _State.learns = True
    failed = run(items)
    _coverage.stop()
    if failed:
        return failed
    reached: dict[str, dict[str, list[int]]] = {}
    data = _coverage.get_data()
    for path in data.measured_files():
        for line, contexts in data.contexts_by_lineno(path).items():
            for name in contexts:
                reached.setdefault(name, {}).setdefault(
                    os.path.relpath(path), []).append(line)
    kept['tests'] |= {
        item.nodeid: (_State.seconds[item.nodeid], reached.get(item.nodeid, {}))
        for item in items}
    kept['starts'] = sorted({*kept['starts'], *_State.starts} & {*kept['tests']})
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    KEPT.write_text(json.dumps(kept))
    return ''


def run(items):
    """Run tests until one fails; return its name and why, '' if none does."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        _State.test = item.nodeid
        if _State.learns:
            _coverage.switch_context(item.nodeid)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if _State.failed:
            item.session._setupstate.teardown_exact(None)
            return f'{item.nodeid}: {str(_State.failed.longrepr)[-2000:]}'
    return ''


def in_copy(job, limit):
    """Return what a function returns in a copy of this process; None at a limit (s)."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.setsid()
        os.close(reading)
        try:
            said = job()
        except BaseException:
            said = traceback.format_exc()
        os.write(writing, said.encode(errors='replace')[-4000:])
        os._exit(0)
    os.close(writing)
    signal.signal(signal.SIGALRM, lambda *_: os.killpg(child, signal.SIGKILL))
    signal.setitimer(signal.ITIMER_REAL, limit or 0.0)
    begin = monotonic()
    with open(reading, 'rb') as answer:
        said = answer.read().decode()
    _, status = os.waitpid(child, 0)
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    # Programs that a test has left behind.
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if limit and monotonic() - begin >= limit:
        return None
    return said if status == 0 else said or f'ended with status {status}'


def ask(items, kept, functions, path, source, mutated, limit):
    """Return the test that fails with a mutant, None at the limit, '' if none does, or 'fresh'."""
    name = str(Path(path).resolve())
    pairs = differing(compile(source, name, 'exec'), compile(mutated, name, 'exec'))
    if pairs == ():
        return ''
    span = lines_of(pairs[0]) if pairs else set()
    if not span or not span.isdisjoint(kept['imported'].get(path, ())):
        return 'fresh'
    old, new = pairs
    chosen = choose(items, kept, path, span)

    def mutate_and_run():
        # Compiled modules stay those of the unmutated tree: mutants of equal size and age would be
        # taken for one another. And nobody reads a smallest example.
        sys.dont_write_bytecode, os.environ['PYTHONDONTWRITEBYTECODE'] = True, '1'
        if engine := sys.modules.get('hypothesis.internal.conjecture.engine'):
            engine.MAX_SHRINKING_SECONDS = 0  # type: ignore[attr-defined]
        for one in functions.get(place_of(old), ()):
            one.__code__ = new
        return run(chosen)

    return in_copy(mutate_and_run, limit)


def choose(items, kept, path, lines):
    """Return the tests that may notice a change of some lines, best first."""
    tests = kept['tests']
    reaching = {name for name, (_, reached) in tests.items() if lines & {*reached.get(path, ())}}
    files = {name.partition('::')[0] for name in reaching}
    ranks = {item: (
        0 if item.nodeid in reaching or item.nodeid not in tests else
        1 if file_of(item) in files else 2 if item.nodeid in kept['starts'] else 3)
        for item in items}
    return sorted((item for item in items if ranks[item] < 3), key=lambda item: ranks[item])


def lines_of(code):
    """Return the lines of a function's body."""
    found = {line for _, _, line in code.co_lines() if line}.union(*map(lines_of, inner(code)))
    return found - {code.co_firstlineno}


def differing(old, new):
    """Return the codes of the function that differs, () if none does, None if more does."""
    if old.co_flags & CO_OPTIMIZED:
        if same(old, new):
            return ()
        return (old, new) if old.co_freevars == new.co_freevars else None
    if not alike(old, new):
        return None
    pairs = zip(inner(old), inner(new), strict=True)
    return next((found for found in (differing(*pair) for pair in pairs) if found != ()), ())


def same(old, new):
    """Return whether two codes do the same."""
    return alike(old, new) and all(map(same, inner(old), inner(new)))


def alike(old, new):
    """Return whether two codes do the same, apart from those that they contain."""
    def tell(code):
        return (code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars,
                [repr(one) for one in code.co_consts if not isinstance(one, CodeType)],
                len(inner(code)))
    return tell(old) == tell(new)


def inner(code):
    """Return the codes that a code contains."""
    return [one for one in code.co_consts if isinstance(one, CodeType)]
