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
Run the benchmarks: ``python3 benchmarks [--page PAGE] [NAME...]``, by default all in this folder.

``make bench`` does so with ROS 2 sourced, and ``make bench-page`` writes the tables to
docs/reference/performance.md as well. The benchmark NAME is ``bench_NAME.py``, whose ``main()``
prints its tables and returns 1 if a goal was missed. Beside each ratio stands that of the last
release (released.py). The exit code says whether all goals were met, or with ``--against`` whether
no ratio is much worse than in the release. ``--shortest`` only shows that all of it runs: its
figures mean nothing, and no goal counts.
"""

import argparse
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
import os
from pathlib import Path
import platform
import re
import sys
import time

import page
from released import FILE, ratios_of, read, Released, WORSE, write
from shortest import choose_shortest
from tables import compare, take_tables, take_worse

BENCHMARKS = sorted(
    path.stem.removeprefix('bench_') for path in Path(__file__).parent.glob('bench_*.py'))


def machine() -> str:
    """Return the machine and software that the figures are measured on."""
    distro = os.environ.get('ROS_DISTRO')
    if distro is None:
        # Installed from wheels, into build/<distro>/venv.
        distro = f'{Path(os.environ.get("VIRTUAL_ENV", "?")).parent.name} from wheels'
    try:
        rclpy = version('rclpy')
    except PackageNotFoundError:
        rclpy = 'none'
    middleware = os.environ.get('RMW_IMPLEMENTATION', 'default RMW')
    # Without what its builder appended.
    kernel = re.sub(r'[^0-9.].*', '', platform.release())
    return (
        f'{os.cpu_count()} cores of {page.processor()}, {platform.system()} {kernel}, '
        f'Python {platform.python_version()}, ROS 2 {distro}, rclpy {rclpy}, {middleware}')


def understood(arguments: list[str]) -> argparse.Namespace:
    """Return what is asked for; raise SystemExit if that cannot be."""
    parser = argparse.ArgumentParser(prog='benchmarks', description='Run benchmarks.')
    parser.add_argument('--page', type=Path, help='Markdown page to write the tables to as well')
    parser.add_argument(
        '--against', action='store_true',
        help=f'exit with 1 if a ratio is more than {WORSE - 1.0:.0%}% worse than that of the last '
             f'release ({FILE.name}), whatever the goals say')
    parser.add_argument(
        '--keep', metavar='RELEASE', help=f'write the ratios to {FILE.name} as those of RELEASE')
    parser.add_argument(
        '--shortest', action='store_true',
        help='run everything once, as short as can be, without any goal')
    parser.add_argument('names', nargs='*', metavar='NAME',
                        help=f'by default all: {", ".join(BENCHMARKS)}')
    given = parser.parse_args(arguments)
    if given.shortest and (given.page or given.keep):
        parser.error('--shortest measures nothing that could be kept')
    return given


def main(arguments: list[str]) -> int:
    """Run the named benchmarks; return the exit status."""
    given = understood(arguments)
    unknown = [name for name in given.names if name not in BENCHMARKS]
    if unknown:
        print(f'no benchmark {", ".join(unknown)}; there are: {", ".join(BENCHMARKS)}',
              file=sys.stderr)
        return 2
    if given.shortest:
        choose_shortest()
    # Keep the benchmark isolated from other nodes on this machine and network.
    os.environ.setdefault('ROS_DOMAIN_ID', '97')
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    print(f'{machine()}\nload before: {page.load()}; what else runs here shows in every figure, '
          'less in ratios')
    released = read()
    kept: Released | None = None
    if given.keep is not None:
        kept = Released(given.keep, released.ratios if given.names else {})
    missed = []
    begin_all = time.monotonic()
    for name in given.names or BENCHMARKS:
        print(f'\n=== {name} ===', flush=True)
        load, begin = page.load(), time.monotonic()
        compare(name, released)
        if import_module(f'bench_{name}').main():
            missed.append(name)
        took = time.monotonic() - begin
        print(f'\n{name} took {took:.0f} s', flush=True)
        tables = take_tables()
        if given.page is not None:
            run = page.Run(time.strftime('%Y-%m-%d'), machine(), load, took)
            page.update(given.page, name, tables, run)
        if kept is not None:
            kept.ratios[name] = {
                table.figure: found for table in tables
                if (found := ratios_of(table.columns, table.rows))}
            write(kept)
    worse = take_worse()
    if given.shortest:
        print('\neverything has run; figures of the shortest form mean nothing')
        return 0
    print(f'\n{time.monotonic() - begin_all:.0f} s; '
          f'{"goals missed in: " + ", ".join(missed) if missed else "all goals met"}')
    if worse:
        print(f'more than {WORSE - 1.0:.0%} worse than {released.release}:', *worse, sep='\n  ')
    return int(bool(worse if given.against else missed))


if __name__ == '__main__':
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit('interrupted')
