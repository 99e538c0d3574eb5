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
Run the commands from one place in the docs as a reader would: docs_session.py < JSON.

Where permitted it runs in a network namespace of its own, so the usual ports are free and an
address in the text belongs to this computer. All output is printed; the exit code is 0 on success.
"""

from functools import partial
import json
import math
import os
from pathlib import Path
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

# Another computer's address in the docs; in a private network namespace it is this one.
ADDRESS = '192.168.1.20'
# Long: a loaded machine takes 20 s to start a node. Only what fails waits for it.
DEADLINE = 150.0
# Exit codes after Ctrl-C: of the shell, of Python, of ros2.
_INTERRUPTED = (0, 2, 130, -signal.SIGINT)
# Exit code of tools/ros2 for an unknown command.
NOT_KNOWN = 64
_TRACEBACK = re.compile(
    r'^(?!.*Exception ignored).*\n.*Traceback \(most recent call last\)'
    r'|\A.*Traceback \(most recent call last\)', re.MULTILINE)
# The end of what a program prints if an interrupt arrives while rclpy converts a message.
_INTERRUPTED_TAKE = re.compile(
    r"\nRuntimeError: Unable to convert call argument '0' to Python object[^\n]*\n*\Z")
# Not the end of another one.
_NUMBER = r'(?:[-+]|(?<![\d.]))(?:\d[\d.]*(?:e[-+]?\d+)?|nan|inf)'

_ENDLESS = re.compile(
    r'^ros2 topic (hz|bw|delay) |^ros2 topic echo (?!.*--once)|^ros2 topic pub (?!.*(--once|-1 ))'
    # Until its goal is reached: for minutes.
    r'|^ros2 action send_goal |^ros2 launch (?!.*--show-args)'
    r'|^ros2 run xplane_bridge (simulator|record|\w+_node)\b(?!.*--help)'
    r'|^(simulator|record|\w+_node)\b|^python3 \w+_controller\.py')
_NODE = re.compile(
    r'\b(\w+_node)\b|(?:\bros2 launch xplane_bridge |\bfile:=)(\w+)\.launch\.py')
_NODES = ('xpc_node', 'xplane_udp_node', 'fdmdata_node', 'simpit_node', 'ulyssix_node',
          'autopilot_node', 'simulator_node', 'sensors_node', 'policy_node',
          'view_node')
# The file of a recorder, and more bytes than it has while it holds no messages.
_RECORDER = re.compile(r'\brecord (?:.* )?-o (\S+)')
_EMPTY = 2000
# The line of /diagnostics that says whether the peer is connected.
_PEER = ('peer', 'publisher', 'simulation', 'autopilot')


class DocsError(Exception):
    """A sentence about what differed from the docs."""


class Child:
    """A command from the docs and everything it has printed."""

    def __init__(self, line, folder):
        self.line = line
        self.folder = folder
        self.lines = []
        self.changed = threading.Condition()
        print(f'$ {line}', flush=True)
        self.process = subprocess.Popen(
            ['bash', '-c', line], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors='replace', start_new_session=True)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            print(f'  {line}', end='', flush=True)
            with self.changed:
                self.lines.append(line)
                self.changed.notify_all()
        with self.changed:
            self.changed.notify_all()

    def wait_for(self, predicate, deadline):
        """Wait for a predicate, checked after each line; return whether it became true."""
        with self.changed:
            while not predicate():
                left = deadline - time.monotonic()
                if left <= 0.0:
                    return False
                self.changed.wait(min(left, 0.2))
        return True

    @property
    def text(self):
        """Return all output so far."""
        with self.changed:
            return ''.join(self.lines)

    def ended(self):
        """Return whether the command has exited and all of its output has been read."""
        return self.process.poll() is not None and not self.reader.is_alive()

    def has_recorded(self):
        """Return whether this is no recorder, or one whose file holds messages."""
        found = _RECORDER.search(self.line)
        if found is None:
            return True
        file = Path(self.folder, found[1])
        return file.exists() and file.stat().st_size > _EMPTY

    def interrupt(self):
        """Press Ctrl-C; return the exit code."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGINT)
        try:
            # An experiment plots its flight.
            code = self.process.wait(DEADLINE)
        except subprocess.TimeoutExpired as error:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise DocsError(f'does not end after Ctrl-C: {self.line}') from error
        self.reader.join(DEADLINE)
        return code


class Diagnostics:
    """What the nodes report on /diagnostics; ``shown`` is what the page expects there, if so."""

    def __init__(self, shown=None):
        from diagnostic_msgs.msg import DiagnosticArray
        import rclpy
        from rclpy.executors import SingleThreadedExecutor
        self.newest = {}
        self.shown = shown
        # Refused once because the other side was not up yet, then accepted.
        self.forgiven = set()
        rclpy.init()
        self.node = rclpy.create_node('_docs_session')
        self.node.create_subscription(DiagnosticArray, '/diagnostics', self._take, 50)
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)

    def _take(self, message):
        for status in message.status:
            node, _, name = status.name.partition(': ')
            of_node = self.newest.setdefault(node.rsplit('/', 1)[-1], {})
            of_node[name] = (time.monotonic(), status.level, status.message,
                             {item.key: item.value for item in status.values})

    def settled(self, nodes, with_peers, since, seconds, given_up=lambda: False):
        """
        Wait until every node reports OK; raise DocsError naming those that do not.

        Stop waiting once ``given_up()`` is true.
        """
        deadline = time.monotonic() + seconds
        while True:
            wrong = [problem for node in nodes
                     for problem in self._problems(node, with_peers, since)]
            if not wrong:
                return
            if time.monotonic() > deadline or given_up():
                raise DocsError('; '.join(wrong))
            self.executor.spin_once(timeout_sec=0.1)

    def _problems(self, node, with_peers, since):
        known = {name: told for name, told in self.newest.get(node, {}).items()
                 if told[0] > since}
        if not known:
            yield f'{node} says nothing on /diagnostics'
        for name, (_, level, message, values) in known.items():
            if name == 'refused' and set(values) <= self.forgiven:
                continue
            if self.shown is not None and self.shown in message:
                continue
            if level == b'\x02' or name == 'refused':
                yield f'{node}: {name}: {message} {values if name == "refused" else ""}'
            elif with_peers and name in _PEER and level != b'\x00':
                yield f'{node}: {name}: {message}'


class Exact(str):
    """A line of expected output whose numbers are those that are printed."""

    __slots__ = ()


def agree(wanted, found):
    """Return whether the numbers of an expected line are those of another, as it is rounded."""
    for text, number in zip(re.findall(_NUMBER, wanted), found, strict=True):
        # The stops of a sentence, and of a version.
        text, number = text.rstrip('.'), number.rstrip('.')
        if text == number:
            continue
        if max(text.count('.'), number.count('.')) > 1:
            return False
        digits = text.partition('e')[0].partition('.')[2]
        exponent = int(text.partition('e')[2] or 0)
        last = 10.0 ** (exponent - len(digits)) if '.' in text or 'e' in text else 0.0
        if not math.isclose(float(text), float(number), rel_tol=1e-3, abs_tol=1.01 * last):
            return False
    return True


def expects(pattern):
    """Return a regular expression for a line of expected output; its groups are the numbers."""
    parts = re.split(rf'(\.\.\.|{_NUMBER}|\s+)', pattern.strip())
    return re.compile(r'\s*'.join(
        '.*?' if part == '...' else r'\s*' if not part.strip()
        else f'({_NUMBER})' if re.fullmatch(_NUMBER, part) else re.escape(part)
        for part in parts if part))


def missing(expected, text):
    """Return the first expected line that did not appear in order, '' if all did."""
    at = 0
    lines = text.splitlines()
    for wanted in expected:
        if wanted.strip() in ('', '...'):
            continue
        regex = expects(wanted)
        while at < len(lines) and not (
                (found := regex.search(lines[at]))
                and (not isinstance(wanted, Exact) or agree(wanted, found.groups()))):
            at += 1
        if at == len(lines):
            return wanted
        at += 1
    return ''


def prepare_network():
    """Bring up the loopback of a private network namespace, with the address used in the docs."""
    if shutil.which('ip') is None:
        raise DocsError('needs the command ip (iproute2)')
    for command in ('ip link set lo up', f'ip address add {ADDRESS}/32 dev lo',
                    'ip link set lo multicast on', 'ip route add 224.0.0.0/4 dev lo'):
        subprocess.run(command.split(), check=True)


def nodes_in(lines):
    """Return the nodes that these commands start."""
    found = []
    for line in lines:
        for executable, launched in _NODE.findall(line):
            name = executable or f'{launched}_node'
            if name in _NODES and name not in found and not line.startswith('ros2 param'):
                found.append(name)
    return found


def in_repository(line, root):
    """Return a make command as a dry run, and a script of tools/ by its path; others unchanged."""
    if line.startswith('python3 tools/'):
        return line.replace('tools/', f'{root}/tools/', 1)
    if line.split()[0] != 'make':
        return line
    return line.replace('make', f'make --no-print-directory -n -C {root}', 1)


def run(session):
    """Run a session; raise DocsError if something differs from the docs."""
    folder = Path(session['folder'])
    for name, text in session['files'].items():
        (folder / name).write_text(text)
    if session['private']:
        prepare_network()
    lines = [line if session['private'] else line.replace(ADDRESS, '127.0.0.1')
             for line in session['commands']]
    options = session['options']
    peers = [peer if session['private'] else peer.replace(ADDRESS, '127.0.0.1')
             for peer in filter(None, options.get('peer', '').split(' ; '))]
    nodes = nodes_in(lines)
    with_peers = bool(peers) or any(
        re.search(r'\bsimulator \w|simulator\.launch|simulator_node .*\bsim:=', line)
        for line in lines)
    diagnostics = Diagnostics(options.get('expect')) if nodes else None
    behind = []
    try:
        start(peers, behind, folder)
        for number, line in enumerate(lines):
            last = number == len(lines) - 1
            kind = str if number in session['varies'] else Exact
            expected = [*map(kind, session['output'].get(str(number), ()))]
            if last and 'expect' in options:
                expected.append(options['expect'])
            run_line(
                line, session, expected, int(options.get('exit', 0)) if last else 0,
                (diagnostics, nodes, with_peers), behind)
            if child := gone(behind):
                raise DocsError(f'ended: {child.line}')
        if diagnostics is not None and 'refused' not in options:
            began = time.monotonic()
            running = [node for node in nodes if any(
                node in nodes_in([child.line]) for child in behind)]
            diagnostics.settled(
                running, with_peers, began, DEADLINE,
                lambda: any(child.ended() for child in behind))
        for child in behind:
            child.wait_for(
                lambda child=child: child.ended() or child.has_recorded(),
                time.monotonic() + DEADLINE)
    finally:
        codes = [(child, child.interrupt()) for child in reversed(behind)]
    for child, code in codes:
        check_end(child, code, _INTERRUPTED)


def start(peers, behind, folder):
    """Start peers, and wait until each says that it flies."""
    for peer in peers:
        child = Child(peer, folder)
        behind.append(child)
        if not child.wait_for(
                lambda child=child: ' frames/s' in child.text or child.ended(),
                time.monotonic() + DEADLINE) or child.ended():
            raise DocsError(f'the peer does not start: {peer}')


def run_line(line, session, expected, code, observer, behind):
    """Run one command: in the background if it says so, else until it ends."""
    folder = Path(session['folder'])
    if line.endswith('&') and not line.endswith('&&'):
        behind.append(Child(line[:-1].strip(), folder))
    elif line == 'make shell':
        # Later commands are typed in that shell, which has the executables on its PATH.
        os.environ['PATH'] = f'{session["executables"]}:{os.environ["PATH"]}'
        foreground(in_repository(line, session['root']), folder, expected, 0, None)
    else:
        foreground(in_repository(line, session['root']), folder, expected, code, observer,
                   partial(gone, behind))


def gone(behind):
    """Return the first of these children that exited although it should be running, else None."""
    return next((child for child in behind if child.ended()), None)


def until_said(child, expected, observer, deadline):
    """Let a command that never ends run until it has said what it should, and interrupt it."""
    line = child.line
    own = nodes_in([line])
    if own and observer[0] is not None:
        try:
            observer[0].settled(own, observer[2], 0.0, DEADLINE, child.ended)
        except DocsError:
            child.interrupt()
            raise
    # Launched nodes print their name before each line.
    sign = re.compile(
        r'^\[[\w.]+-\d+\] ' if line.startswith('ros2 launch') and not own else '', re.MULTILINE)

    def said():
        return child.ended() or (
            not missing(expected, child.text) and child.has_recorded()
            and (bool(child.lines) or bool(own)) and bool(sign.search(child.text)))

    came = child.wait_for(said, deadline)
    ended = child.ended()
    code = child.interrupt()
    if ended or not is_interrupted_take(child, code):
        # Some ros2 commands exit with 1 on an interrupt.
        check_end(child, code, () if ended else (*_INTERRUPTED, 1) if line.startswith(
            ('ros2 topic ', 'ros2 action ')) else _INTERRUPTED)
    if not came:
        raise DocsError(f'did not say {missing(expected, child.text)!r}: {line}')


def is_interrupted_take(child, code):
    """Return whether a page's own program ended as rclpy makes it by an interrupt in a take."""
    return (code == 1 and child.line.startswith('python3 ')
            and _INTERRUPTED_TAKE.search(child.text) is not None
            and len(_TRACEBACK.findall(child.text)) == 1)


def foreground(line, folder, expected, code, observer, lost=lambda: None):
    """
    Run a command until it exits, or, if it never does, until its expected output appears.

    ``lost()`` returns a child that exited too early, if there is one, which ends the wait.
    """
    deadline = time.monotonic() + DEADLINE
    while True:
        child = Child(line, folder)
        if _ENDLESS.search(line):
            until_said(child, expected, observer, deadline)
            return
        if not child.wait_for(
                lambda child=child: child.ended() or lost(), deadline) or not child.ended():
            child.interrupt()
            other = lost()
            raise DocsError(f'ended: {other.line}' if other else f'does not end: {line}')
        wrong = missing(expected, child.text)
        refused = line.startswith('ros2 service call') and re.search(
            r'success[=:] ?false', child.text, re.IGNORECASE)
        if child.process.returncode == code and not wrong and not refused:
            check_end(child, code, (code,))
            return
        if child.process.returncode == NOT_KNOWN:
            raise DocsError(f'not known to the stand-in: {line}')
        # The other side may not be up yet; a reader would try again. The refusal may also have
        # gone unheard: a client that the reply does not match yet receives none.
        if line.startswith('ros2 service call') and observer is not None and (
                observer[0] is not None):
            observer[0].forgiven.add(line.split()[3].lstrip('/'))
        check_end(child, code, (code,))
        if not line.startswith('ros2 ') or time.monotonic() > deadline or lost():
            raise DocsError(f'exit code {child.process.returncode}: {line}'
                          if child.process.returncode != code
                          else f'not successful: {line}' if refused
                          else f'did not say {wrong!r}: {line}')


def check_end(child, code, allowed):
    """Raise DocsError for an exit code other than success, or for a traceback."""
    if code not in allowed:
        raise DocsError(f'exit code {code}: {child.line}')
    # Python reports ignored exceptions, such as Ctrl-C in a finalizer of ros2 itself, in the same
    # format.
    if _TRACEBACK.search(child.text):
        raise DocsError(f'a traceback: {child.line}')


def main():
    """Run the session on stdin; return the exit code."""
    # Clean up on termination too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        run(json.load(sys.stdin))
    except DocsError as failure:
        print(f'FAILED: {failure}', flush=True)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
