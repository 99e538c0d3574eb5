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
Run the benchmarks: ``python3 benchmarks [NAME...]``, by default all in this folder.

``make bench`` does so with ROS 2 sourced. The benchmark NAME is ``bench_NAME.py``, whose
``main()`` prints its tables and returns 1 if a goal was missed.
"""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
import os
from pathlib import Path
import platform
import sys

BENCHMARKS = sorted(
    path.stem.removeprefix('bench_') for path in Path(__file__).parent.glob('bench_*.py'))


def machine() -> str:
    """Return the machine and software that the figures were measured on."""
    distro = os.environ.get('ROS_DISTRO')
    if distro is None:
        # Installed from wheels, into build/<distro>/venv.
        distro = f'{Path(os.environ.get("VIRTUAL_ENV", "?")).parent.name} from wheels'
    try:
        rclpy = version('rclpy')
    except PackageNotFoundError:
        rclpy = 'none'
    load = ' '.join(f'{average:.2f}' for average in os.getloadavg())
    return (
        f'{os.cpu_count()} cores, {platform.system()} {platform.release()}, '
        f'Python {platform.python_version()}\n'
        f'ROS 2 {distro}, rclpy {rclpy}, {os.environ.get("RMW_IMPLEMENTATION", "default RMW")}\n'
        f'load before: {load}; what else runs here shows in every figure, less in ratios')


def main(names: list[str]) -> int:
    """Run the named benchmarks; return the exit status."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f'no benchmark {", ".join(unknown)}; there are: {", ".join(BENCHMARKS)}',
              file=sys.stderr)
        return 2
    # Keep the benchmark isolated from other nodes on this machine and network.
    os.environ.setdefault('ROS_DOMAIN_ID', '97')
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    print(machine())
    missed = []
    for name in names or BENCHMARKS:
        print(f'\n=== {name} ===', flush=True)
        if import_module(f'bench_{name}').main():
            missed.append(name)
    print(f'\n{"goals missed in: " + ", ".join(missed) if missed else "all goals met"}')
    return int(bool(missed))


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
