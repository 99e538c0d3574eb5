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
Budgets of hot paths: how many calls one makes, beside the table in docs/reference/performance.md.

A call is one of a Python function, as a step of a generator is, or of a C function by a Python
one: what sys.setprofile reports, on this thread only. So a count is the same however fast or busy
the machine is; what a call costs is left to benchmarks/. Memory is the largest that a lap had on
top of what was there before it, by tracemalloc.

The table states the number of each path and its limit. With BUDGETS=rewrite in the environment
(``make budgets``) the tests write it instead of comparing.
"""

from collections.abc import Callable
from dataclasses import dataclass
import gc
from importlib.metadata import PackageNotFoundError, version
import os
from pathlib import Path
import re
import sys
import tracemalloc

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / 'docs' / 'reference' / 'performance.md'
PYTHON = '3.11'
CONVERSATION, FLIGHT, NODE = 'conversation', 'flight', 'node'
WARM, LAPS = 60, 50

_BLOCK = re.compile(r'(<!-- budgets begin -->\n)(.*?)(<!-- budgets end -->)', re.DOTALL)
_HEAD = '| path | where | calls | limit | kB | limit |\n|---|---|---:|---:|---:|---:|\n'
# The end of a counted block is a call, and so is sys.setprofile in it.
_OWN = 2


class Meter:
    """
    Counts what happens within ``with meter:``, in laps of which the first WARM are not counted.

    With ``memory`` it does not count calls but the bytes that a lap needs.
    """

    def __init__(self, memory: bool = False) -> None:
        self.count = 0
        self.laps = 0
        self.bytes = 0
        self._memory = memory
        self._before = 0

    def _note(self, frame: object, event: str, argument: object) -> None:
        if event in ('call', 'c_call'):
            self.count += 1

    def __enter__(self) -> None:
        if self._memory:
            tracemalloc.reset_peak()
            self._before = tracemalloc.get_traced_memory()[0]
        else:
            sys.setprofile(self._note)

    def __exit__(self, *_: object) -> None:
        if self._memory:
            self.bytes = max(self.bytes, tracemalloc.get_traced_memory()[1] - self._before)
            return
        sys.setprofile(None)
        self.count -= _OWN

    def lap(self) -> bool:
        """End a lap; return whether another is needed."""
        self.laps += 1
        if self.laps == WARM:
            self.count = self.bytes = 0
        return self.laps < WARM + LAPS


@dataclass(frozen=True)
class Budget:
    """The numbers of a path: calls, and kilobytes if these matter."""

    calls: int
    kilobytes: int | None = None


HotPath = Callable[[Meter], None]
"""A path: sets itself up, then runs laps, with what counts within the meter."""


def measured(path: HotPath, memory: bool = False) -> Budget:
    """Return the numbers of a path."""
    gc.collect()
    gc.disable()
    try:
        meter = Meter()
        path(meter)
        calls = round(meter.count / LAPS)
        if not memory:
            return Budget(calls)
        tracemalloc.start()
        try:
            meter = Meter(memory=True)
            path(meter)
        finally:
            tracemalloc.stop()
        return Budget(calls, -(-meter.bytes // 1000))
    finally:
        sys.setprofile(None)
        gc.enable()


def limit(number: int) -> int:
    """Return the limit of a number: a tenth more."""
    return number + max(1, number // 10)


def table() -> dict[str, tuple[str, Budget, Budget]]:
    """Return the table, by path: where it is measured, its numbers and their limits."""
    found = _BLOCK.search(PAGE.read_text(encoding='utf-8'))
    assert found, f'{PAGE.name} has no table of budgets'
    rows = {}
    for line in found[2].removeprefix(_HEAD).splitlines():
        path, where, *numbers = (cell.strip() for cell in line.strip('|').split('|'))
        calls, most_calls, kilobytes, most_kilobytes = (
            int(number) if number else None for number in numbers)
        rows[path] = where, Budget(calls, kilobytes), Budget(most_calls, most_kilobytes)
    return rows


def write(path: str, where: str, budget: Budget) -> None:
    """Write the row of a path into the table, at its old place or at the end."""
    rows = {name: (at, old) for name, (at, old, _) in table().items()}
    rows[path] = where, budget
    lines = []
    for name, (at, one) in rows.items():
        numbers = [one.calls, limit(one.calls)]
        if one.kilobytes is not None:
            numbers += [one.kilobytes, limit(one.kilobytes)]
        cells = [*map(str, numbers), '', ''][:4]
        lines.append(f'| {name} | {at} | {" | ".join(cells)} |\n')
    PAGE.write_text(_BLOCK.sub(
        lambda found: found[1] + _HEAD + ''.join(lines) + found[3],
        PAGE.read_text(encoding='utf-8')), encoding='utf-8')


def check(path: str, where: str, budget: Budget) -> None:
    """Fail if a path has become longer than its limit, or so much shorter that this is stale."""
    if os.environ.get('BUDGETS') == 'rewrite':
        write(path, where, budget)
        return
    rows = table()
    assert path in rows, f'{PAGE.name} has no budget of "{path}": make budgets writes it'
    _, stated, most = rows[path]
    for what, now, then, top in (
            ('calls', budget.calls, stated.calls, most.calls),
            ('kB', budget.kilobytes, stated.kilobytes, most.kilobytes)):
        if now is None or then is None or top is None:
            assert now is then is top, f'{path}: the table and the test differ in {what}'
            continue
        assert now <= top, (
            f'{path}: {now} {what}, {then} before, at most {top}; shorten it again, or if it has '
            'to be so, make budgets and say why in the commit')
        assert limit(now) >= then, (
            f'{path}: {now} {what} instead of {then}: shorter, so make budgets lowers the limit')


def pinned() -> dict[str, str]:
    """Return the versions in requirements/."""
    lines = (line.partition('#')[0].partition(' --hash')[0].split(';')[0].strip()
             for name in ('extras', 'studies', 'jazzy')
             for line in (ROOT / 'requirements' / f'{name}.txt').read_text().splitlines())
    return dict(line.split('==') for line in lines if '==' in line)


def skip_elsewhere(*packages: str) -> None:
    """Skip unless this is CI's Python, with the pinned versions of these packages."""
    if f'{sys.version_info[0]}.{sys.version_info[1]}' != PYTHON:
        pytest.skip(f"calls are counted under Python {PYTHON}, CI's; this is "
                    f'{sys.version_info[0]}.{sys.version_info[1]}')
    wanted = pinned()
    for package in packages:
        try:
            here = version(package)
        except PackageNotFoundError:
            here = 'none'
        if here != wanted[package]:
            pytest.skip(f'calls are counted with {package} {wanted[package]}, as pinned; here is '
                        f'{here}')
