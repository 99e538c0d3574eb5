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
Run other people's clients against the simulators: the table of docs/how-to/clients.md.

    python3 tools/clients.py                        print the table
    python3 tools/clients.py --write docs/how-to/clients.md
    python3 tools/clients.py --only pyxpudpserver --only XPlaneConnectX
    python3 tools/clients.py --python python3.12    some clients need a newer Python than this one
    python3 tools/clients.py --sources ~/src        clones that are here already, by their names

Clients come from PyPI by pip, from npm and by git, at the versions below, into a temporary folder
that is removed at the end. What cannot be had is a row that says so. The simulator is started by
this Python, from this folder, unless --simulator says otherwise.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
import os
from pathlib import Path
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = Path(__file__).resolve().parent.parent
DRIVERS = ROOT / 'tools' / 'client_drivers'
BEGIN, END = '<!-- table begin -->', '<!-- table end -->'
_INSTALL_SECONDS = 300.0
_RUN_SECONDS = 60.0
_START_SECONDS = 60.0

_ROWS = '--rows 3,17,25 --data-target 127.0.0.1:49008'
# On all interfaces, so that the beacon reaches clients that listen on the default one.
_UDP = f'--host 0.0.0.0 {_ROWS}'
_X_PLANES = {f'X-Plane {n}': f'xplane{n} {_UDP}' for n in (12, 11)}
_COMMA = {'X-Plane 10, `--rref-label RREF,`': f'xplane_udp --version 10 --rref-label RREF, {_UDP}'}
_X_PLANES_10_TO_12 = _X_PLANES | {'X-Plane 10': f'xplane_udp --version 10 {_UDP}'}
_SIMPIT = {f'Kerbal Simpit, {n}': f'simpit --port pty:/tmp/xplane_bridge_simpit --profile {n}'
           for n in ('v2', 'v1')}
_PLUGINS = {f'X-Plane Connect {n}': f'xpc --plugin {n} --no-beacon' for n in ('rc6', 'develop')}


class UnavailableError(Exception):
    """A client cannot be had here; the text says why."""


@dataclass(frozen=True)
class Client:
    """
    One client: where it comes from, and the simulators to run its driver against.

    ``origin`` is PyPI, npm, or the URL of a git repository; ``pin`` is what pip or npm installs,
    or a commit. ``packed``: taken from npm without its dependencies. ``build`` is run in a clone;
    a driver in C++ is what it makes, the file ``driver``.
    """

    name: str
    origin: str
    pin: str
    driver: str
    simulators: dict[str, str]
    packed: bool = False
    build: str = ''


_GITHUB = 'https://github.com/'
CLIENTS = (
    Client('pyxpudpserver', 'PyPI', 'pyxpudpserver==1.4.1', 'drive_pyxpudpserver.py',
           _X_PLANES_10_TO_12),
    Client('pyXPUDP', 'PyPI', 'pyXPUDP==0.0.3.1', 'drive_pyxpudp.py',
           _X_PLANES_10_TO_12 | _COMMA),
    Client('xpwebapi, its UDP', 'PyPI', 'xpwebapi==4.0.0', 'drive_xpwebapi.py', _X_PLANES),
    Client('xpwebapi, its WebSocket', 'PyPI', 'xpwebapi==4.0.0', 'drive_xpwebapi_ws.py',
           {'X-Plane 12': 'xplane12 --web-port 8086'}),
    Client('snakes-on-a-plane', 'PyPI', 'snakes-on-a-plane==0.1.0 pint',
           'drive_snakes_on_a_plane.py', _X_PLANES_10_TO_12),
    Client("airgym, its copy of NASA's client", 'PyPI', 'airgym==0.0.5 --no-deps',
           'drive_airgym.py', _PLUGINS),
    Client('@shiari/xplane-node-udp-client', 'npm', '@shiari/xplane-node-udp-client@0.1.0',
           'drive_shiari.js', _X_PLANES_10_TO_12, packed=True),
    Client('xplane', 'npm', 'xplane@0.0.6', 'drive_xplane.js', _X_PLANES_10_TO_12),
    Client('XPlaneConnectX', _GITHUB + 'sisl/XPlaneConnectX',
           '6a2a8c23d45bbc1d87baba5a67e1291d6a295132', 'drive_xplaneconnectx.py',
           _X_PLANES_10_TO_12),
    Client('XPlaneUDP', _GITHUB + 'charlylima/XPlaneUDP',
           'e3e5139898dcfcdafb676c76876f204823656923', 'drive_xplaneudp.py',
           _X_PLANES_10_TO_12 | _COMMA),
    Client("XPlaneConnect, NASA's test suite for Python 3", _GITHUB + 'nasa/XPlaneConnect',
           '11a5f350bd6888873d293bf3c9f59b0fba1331c1', 'drive_xplaneconnect_tests.py', _PLUGINS),
    Client('pyG5', 'PyPI', 'pyG5==0.0.4 PySide6-Essentials==6.8.3 shiboken6==6.8.3 --no-deps',
           'drive_pyg5.py', _X_PLANES),
    Client('libXPlane-UDP-Client', _GITHUB + 'dotsha747/libXPlane-UDP-Client',
           'f2d8338a06975696bc4946797cd2adae3473b8cd', 'drive_libxplane.cpp',
           _X_PLANES_10_TO_12, build='g++ -pthread -Isrc/libsrc -o driver src/libsrc/XPUtils.cpp '
           'src/libsrc/XPlaneBeaconListener.cpp src/libsrc/XPlaneUDPClient.cpp'),
    Client('xwebsockets', _GITHUB + 'harryrabin/xwebsockets',
           'a0c4406a5094c8c2ebfd02487612d8cd3715f043', 'drive_xwebsockets.js',
           _X_PLANES_10_TO_12, build='npm install --silent --ignore-scripts && npx tsc'),
    Client('KerbalSimpitPi', _GITHUB + 'aleopardstail/KerbalSimpitPi',
           '10e186d0568509302a4b971fc4b0ff4a1f06ca20', 'drive_kerbalsimpitpi.cpp', _SIMPIT,
           build='g++ -Dopen=open_port -I. -o driver kspSimpit.cpp'),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the clients; return 2 if --only names none of them."""
    given = _arguments(argv)
    chosen = [c for c in CLIENTS if not given.only or any(o in c.name for o in given.only)]
    if not chosen:
        print(f'clients: --only {" ".join(given.only)}: none of '
              f'{", ".join(c.name for c in CLIENTS)}', file=sys.stderr)
        return 2
    lines = ['| client | version | simulated | result |', '|---|---|---|---|']
    with tempfile.TemporaryDirectory(prefix='clients') as folder:
        for n, client in enumerate(chosen):
            lines += _rows(client, given, Path(folder) / str(n))
    table = '\n'.join(lines)
    if given.write:
        page = given.write.read_text(encoding='utf-8')
        head, _, rest = page.partition(BEGIN)
        _, _, tail = rest.partition(END)
        given.write.write_text(f'{head}{BEGIN}\n{table}\n{END}{tail}', encoding='utf-8')
    print(table)
    return 0


def _arguments(argv: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser('clients', description=__doc__.split('\n\n')[0])
    parser.add_argument('--only', action='append', default=[], metavar='NAME',
                        help='only clients whose names contain this; repeat for several')
    parser.add_argument('--python', default=sys.executable, metavar='PROGRAM',
                        help='Python that runs the clients (%(default)s)')
    parser.add_argument('--sources', type=Path, metavar='FOLDER',
                        help='folder of clones, used as they are instead of the network')
    parser.add_argument('--simulator', type=shlex.split, metavar='COMMAND',
                        default=[sys.executable, '-P', '-m', 'xplane_bridge', 'simulator'],
                        help='such as "ros2 run xplane_bridge simulator" (default: this folder)')
    parser.add_argument('--write', type=Path, metavar='PAGE',
                        help=f'write the table between {BEGIN} and {END}')
    return parser.parse_args(argv)


def _rows(client: Client, given: Namespace, folder: Path) -> Iterator[str]:
    """Install a client and return the rows of its table."""
    folder.mkdir()
    version = client.pin.split()[0].replace('@shiari/', '').replace('@', '==').partition('==')[2]
    try:
        command, version = _installed(client, given, folder), version or client.pin[:7]
    except UnavailableError as error:
        yield f'| {client.name} | {version or client.pin[:7]} | | not run: {error} |'
        return
    for simulated, options in client.simulators.items():
        result = _run(command, [*given.simulator, *options.split()])
        row = f'| {client.name} | {version} | {simulated} | {result} |'
        print(row, file=sys.stderr, flush=True)
        yield row


def _installed(client: Client, given: Namespace, folder: Path) -> list[str]:
    """Install a client; return the command of its driver. Raises UnavailableError."""
    driver = str(DRIVERS / client.driver)
    if client.origin == 'PyPI':
        _do([given.python, '-m', 'venv', str(folder / 'venv')])
        python = str(folder / 'venv' / 'bin' / 'python')
        _do([python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check',
             *client.pin.split()])
        return [python, driver]
    if client.origin == 'npm':
        if client.packed:
            _do(['npm', 'pack', '--silent', client.pin], folder)
            archive = next(folder.glob('*.tgz'))
            _do(['tar', '-xzf', archive.name], folder)
            return ['node', driver, str(folder / 'package')]
        _do(['npm', 'install', '--silent', '--ignore-scripts', '--prefix', str(folder),
             client.pin], folder)
        return ['node', driver, str(folder / 'node_modules' / client.name)]
    clone = folder / 'clone'
    local = given.sources and given.sources / client.origin.rpartition('/')[2]
    if local and local.is_dir():
        shutil.copytree(local, clone)
    else:
        _do(['git', 'clone', '--quiet', client.origin, str(clone)])
        _do(['git', 'checkout', '--quiet', client.pin], clone)
    for step in filter(None, client.build.split(' && ')):
        compiled = [driver] if step.startswith('g++') else []
        _do([*step.split(), *compiled], clone)
    if driver.endswith('.cpp'):
        return [str(clone / 'driver')]
    return ['node' if driver.endswith('.js') else given.python, driver, str(clone)]


def _do(command: Sequence[str], folder: Path | None = None) -> None:
    """Run a command of an installation. Raises UnavailableError with the end of its output."""
    environment = os.environ | {'GIT_TERMINAL_PROMPT': '0'}
    environment.pop('PYTHONPATH', None)
    try:
        done = subprocess.run(
            command, cwd=folder, timeout=_INSTALL_SECONDS, text=True, env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f'{command[0]}: {type(error).__name__}') from None
    if done.returncode:
        what = ' '.join(Path(word).name for word in command[:3])
        reason = (done.stdout.strip().splitlines() or [f'exit code {done.returncode}'])[-1]
        print(f'clients: {what}: {done.stdout}', file=sys.stderr)
        raise UnavailableError(f'{what}: {reason[:80]}')


def _run(command: Sequence[str], simulator: Sequence[str]) -> str:
    """Run one driver against one simulator; return the result for the table."""
    with _simulator(simulator):
        try:
            done = subprocess.run(
                command, timeout=_RUN_SECONDS, text=True, capture_output=True,
                env={key: value for key, value in os.environ.items() if key != 'PYTHONPATH'})
            output, errors = done.stdout, done.stderr
        except subprocess.TimeoutExpired as late:
            output, errors = _text(late.stdout), f'not done after {_RUN_SECONDS:g} s'
    return summary(output, errors)


def summary(output: str, errors: str) -> str:
    """Return the result for the table: a driver's checks, or the last line of its errors."""
    checks = [line.split('\t', 1) for line in output.splitlines() if '\t' in line]
    if not checks:
        return f'failed: {(errors.strip().splitlines() or ["no output"])[-1][:80]}'
    good = [what for what, reason in checks if reason == 'ok']
    bad = [f'{what}: {reason}' for what, reason in checks if reason != 'ok']
    passed = f'{len(good)} of {len(checks)}' if len(checks) > 10 else ', '.join(good)
    return '; '.join([passed or 'nothing', *(f'**not** {reason}' for reason in bad)])


def _text(output: object) -> str:
    return output.decode(errors='replace') if isinstance(output, bytes) else str(output or '')


@contextmanager
def _simulator(command: Sequence[str]) -> Iterator[None]:
    """Run a simulator as long as the context lasts. Raises SystemExit if it does not start."""
    with subprocess.Popen(
            command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=os.environ | {'PYTHONPATH': str(ROOT)}) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if ' on ' not in line:
                raise SystemExit(f'clients: {shlex.join(command)}: {line.strip()}')
            yield
        finally:
            process.terminate()
            process.communicate(timeout=_START_SECONDS)


if __name__ == '__main__':
    sys.exit(main())
