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

"""The serial link on real pseudo-terminals, sockets and pyserial's URLs."""

import errno
import os
import select
import socket
import termios
import threading
import time
import tty
import types

import pytest

serial = pytest.importorskip('serial')

from serial import rfc2217  # noqa: E402

from xplane_bridge.bridges.links import ports  # noqa: E402
from xplane_bridge.bridges.links import serial as link  # noqa: E402
from xplane_bridge.bridges.links.ports import open_port  # noqa: E402
from xplane_bridge.bridges.links.serial import PortChanged, SerialLoop  # noqa: E402
from xplane_bridge.bridges.links.udp import LinkError  # noqa: E402
from xplane_bridge.bridges.sessions.base import PeerState  # noqa: E402
from xplane_bridge.bridges.simpit import protocol as simpit  # noqa: E402
from xplane_bridge.bridges.simpit.session import Connected, SimpitSession, Telemetry  # noqa: E402
from xplane_bridge.simulation.peers.simpit import PluginSession, Subscriptions  # noqa: E402

# Real pseudo-terminals and servers, and waiting for them.
pytestmark = pytest.mark.slow

DEADLINE = 60.0
BAUD = 115200


class Recorder:
    """Collects what a loop delivers, and waits for it."""

    def __init__(self):
        self.changed = threading.Condition()
        self.events = []
        self.failures = []

    def on_event(self, event, stamp_ns):
        with self.changed:
            self.events.append((event, stamp_ns))
            self.changed.notify_all()

    def on_failure(self, error):
        with self.changed:
            self.failures.append(error)
            self.changed.notify_all()

    def wait_for(self, predicate, what, timeout=DEADLINE):
        with self.changed:
            assert self.changed.wait_for(predicate, timeout), \
                f'waited {timeout} s for {what}; got {self.events[-5:]} {self.failures}'
            return predicate()

    def look(self):
        """Look again at what is waited for."""
        with self.changed:
            self.changed.notify_all()

    def of_kind(self, kind):
        return [event for event, _ in self.events if isinstance(event, kind)]

    def wait_for_port(self, is_open, text=''):
        """Wait for a change of the port's state with this text, and forget it."""
        def find():
            return next((at for at, (event, _) in enumerate(self.events)
                         if isinstance(event, PortChanged) and event.is_open is is_open
                         and text in event.text), None) is not None
        self.wait_for(find, f'port open={is_open} {text!r}')
        with self.changed:
            found = [event for event in self.of_kind(PortChanged) if text in event.text][-1]
            self.events = [(event, at) for event, at in self.events
                           if not isinstance(event, PortChanged)]
        return found.text


class PlainSession:
    """A session that passes on what it receives and sends what it is told to."""

    def __init__(self):
        self.outgoing = []
        self.calls = []
        self.deadline = None
        self.rests = False
        self.owed = b''
        self.told = lambda: None

    def say(self, data, now):
        self.outgoing.append(data)

    def fail(self, now):
        raise ValueError('no')

    def opened(self, now):
        self.calls.append('opened')
        self.told()

    def lost(self, now):
        self.calls.append('lost')
        self.outgoing.clear()

    def receive(self, channel, data, sender, now):
        if data == b'bug':
            raise RuntimeError('bug')
        return [(channel, data)]

    def poll(self, now):
        outgoing, self.outgoing = self.outgoing, []
        return [('serial', data) for data in outgoing]

    def next_deadline(self):
        return self.deadline

    def expired(self):
        return []


class Cable:
    """A pseudo-terminal behind a symbolic link whose far end can be unplugged."""

    def __init__(self, path):
        self.path = str(path)
        self.master = None
        self.plug()

    def plug(self):
        self.master, slave = os.openpty()
        tty.setraw(slave)
        name = os.ttyname(slave)
        os.symlink(name, self.path + '.new')
        os.replace(self.path + '.new', self.path)
        os.close(slave)

    def unplug(self, *, remove=True):
        if self.master is not None:
            os.close(self.master)
            self.master = None
            if remove:
                os.unlink(self.path)

    def read(self, size):
        data = b''
        end = time.monotonic() + DEADLINE
        while len(data) < size:
            assert select.select([self.master], [], [], max(0.0, end - time.monotonic()))[0], data
            data += os.read(self.master, 4096)
        return data


@pytest.fixture(autouse=True)
def soon_again(monkeypatch):
    monkeypatch.setattr(link, '_FIRST_RETRY', 0.05)


@pytest.fixture
def cable(tmp_path):
    cable = Cable(tmp_path / 'ttyKSP')
    yield cable
    cable.unplug()


@pytest.fixture
def run():
    """Start loops, and close them at the end."""
    loops = []

    def start(session, port, **options):
        recorder = Recorder()
        loop = SerialLoop(
            session, str(port), BAUD, recorder.on_event, recorder.on_failure, **options)
        loops.append(loop)
        loop.start()
        return loop, recorder

    yield start
    for loop in loops:
        loop.close()
        loop.close()
        assert not loop._thread.is_alive()


def received(recorder):
    return b''.join(event[1] for event, _ in recorder.events if isinstance(event, tuple))


def test_bytes_pass_both_ways_unchanged(cable, run):
    talk = PlainSession()
    loop, recorder = run(talk, cable.path)
    assert recorder.wait_for_port(True) == f'{cable.path}: open'
    # Everything that a terminal would change or act upon if it were not raw.
    every = bytes(range(256)) + b'\r\n\x03\x04\x11\x13\x1a'
    loop.call(talk.say, every)
    assert cable.read(len(every)) == every
    before = time.time_ns()
    os.write(cable.master, every)
    recorder.wait_for(lambda: received(recorder) == every, 'all bytes')
    assert before <= recorder.events[0][1] <= time.time_ns()
    counters = loop.counters()
    assert (counters.received, counters.sent, counters.opened) == (len(every), len(every), 1)
    assert talk.calls == ['opened']
    assert loop.is_open


def test_port_is_set_to_the_baud_rate_8n1_without_flow_control(cable, run):
    _, recorder = run(PlainSession(), cable.path)
    recorder.wait_for_port(True)
    iflag, _, cflag, lflag, in_speed, out_speed, _ = termios.tcgetattr(cable.master)
    assert in_speed == out_speed == termios.B115200
    assert cflag & termios.CSIZE == termios.CS8
    assert not cflag & (termios.PARENB | termios.CSTOPB | termios.CRTSCTS)
    assert not iflag & (termios.IXON | termios.IXOFF)
    assert not lflag & (termios.ICANON | termios.ECHO | termios.ISIG)


def test_old_input_is_dropped_at_opening(cable, run):
    port = os.open(cable.path, os.O_RDWR | os.O_NOCTTY)
    os.write(cable.master, b'stale')
    os.close(port)
    _, recorder = run(PlainSession(), cable.path)
    recorder.wait_for_port(True)
    os.write(cable.master, b'fresh')
    recorder.wait_for(lambda: received(recorder), 'bytes')
    assert received(recorder) == b'fresh'


def test_missing_port_is_a_state_and_is_opened_when_it_comes(tmp_path, run):
    path = tmp_path / 'ttyKSP'
    talk = PlainSession()
    loop, recorder = run(talk, path)
    assert 'no such port' in recorder.wait_for_port(False)
    assert not loop.is_open
    assert 'no such port' in loop.status.text
    # What is sent meanwhile goes nowhere, and nothing breaks.
    loop.call(talk.say, b'lost')
    cable = Cable(path)
    recorder.wait_for_port(True)
    loop.call(talk.say, b'heard')
    assert cable.read(5) == b'heard'
    cable.unplug()


def test_busy_port_is_a_state_and_is_opened_when_it_is_free(cable, run):
    other = serial.Serial(cable.path, exclusive=True)
    _, recorder = run(PlainSession(), cable.path)
    assert 'busy, another program' in recorder.wait_for_port(False)
    other.close()
    recorder.wait_for_port(True)


def test_open_port_is_ours_alone(cable, run):
    _, recorder = run(PlainSession(), cable.path)
    recorder.wait_for_port(True)
    with pytest.raises(serial.SerialException, match='exclusively lock'):
        serial.Serial(cable.path, exclusive=True)
    with pytest.raises(LinkError, match='busy'):
        open_port(cable.path, BAUD)


@pytest.mark.parametrize('again', range(2))
def test_unplugged_and_replugged(cable, run, again):
    talk = PlainSession()
    loop, recorder = run(talk, cable.path)
    recorder.wait_for_port(True)
    cable.unplug()
    recorder.wait_for_port(False, 'lost')
    assert 'no such port' in recorder.wait_for_port(False, 'no such')
    cable.plug()
    recorder.wait_for_port(True)
    assert talk.calls == ['opened', 'lost', 'opened']
    loop.call(talk.say, b'again')
    assert cable.read(5) == b'again'
    assert (loop.counters().opened, loop.counters().lost) == (2, 1)


def test_unplugging_is_noticed_while_writing_too(cable, run):
    talk = PlainSession()
    loop, recorder = run(talk, cable.path)
    recorder.wait_for_port(True)
    cable.unplug()
    for _ in range(5):
        loop.call(talk.say, b'x')
    recorder.wait_for_port(False, 'lost')
    assert recorder.failures == []


def test_retries_become_seldom(monkeypatch):
    times = []
    enough = threading.Event()

    def refuse(name, baud):
        times.append(time.monotonic())
        if len(times) == 6:
            enough.set()
        raise LinkError(f'{name}: no')

    monkeypatch.setattr(link, 'open_port', refuse)
    monkeypatch.setattr(link, '_FIRST_RETRY', 0.05)
    monkeypatch.setattr(link, '_LONGEST_RETRY', 0.2)
    recorder = Recorder()
    loop = SerialLoop(PlainSession(), '/dev/none', BAUD, recorder.on_event, recorder.on_failure)
    loop.start()
    assert enough.wait(DEADLINE)
    loop.close()
    gaps = [b - a for a, b in zip(times, times[1:], strict=False)]
    assert all(gap >= least for gap, least in zip(gaps, (0.05, 0.1, 0.2, 0.2, 0.2), strict=False))
    # The same sentence is logged once.
    assert len(recorder.of_kind(PortChanged)) == 1


@pytest.mark.parametrize('name', ['/dev/null', '/dev', __file__])
def test_what_is_no_serial_port_is_said(name):
    with pytest.raises(LinkError, match='not a serial port'):
        open_port(name, BAUD)


def test_missing_permission_is_said(cable, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EACCES, 'Permission denied')

    # Root may open everything, so the kernel's answer is faked.
    monkeypatch.setattr(os, 'open', refuse)
    with pytest.raises(LinkError, match='dialout'):
        open_port(cable.path, BAUD)


@pytest.mark.parametrize(('name', 'baud', 'reason'), [
    ('', BAUD, 'no serial port'),
    ('nonsense://x', BAUD, 'nonsense'),
    ('/dev/ttyUSB0', 0, 'baud rate 0'),
])
def test_what_can_never_be_right_is_refused_at_once(name, baud, reason):
    with pytest.raises(ValueError, match=reason):
        SerialLoop(PlainSession(), name, baud, None, None)


def test_stuck_port_blocks_no_command_and_is_opened_anew(cable, run, monkeypatch):
    monkeypatch.setattr(link, 'WRITE_TIMEOUT', 10.0 * DEADLINE)
    talk = PlainSession()
    loop, recorder = run(talk, cable.path)
    recorder.wait_for_port(True)
    # Nobody reads the other end: its buffer fills up, and none of these calls waits for that.
    for _ in range(15):
        loop.call(talk.say, bytes(4096))
    monkeypatch.setattr(link, 'WRITE_TIMEOUT', 0.3)
    # Bytes still arrive meanwhile.
    os.write(cable.master, b'alive')
    recorder.wait_for(lambda: received(recorder) == b'alive', 'bytes')
    assert 'stuck' in recorder.wait_for_port(False, 'lost')
    assert loop.counters().stuck == 1
    recorder.wait_for_port(True)
    assert talk.calls == ['opened', 'lost', 'opened']


def test_port_that_takes_bytes_more_slowly_than_they_come_is_opened_anew(monkeypatch):
    """It is never silent for a second, so a backlog would grow without bound."""
    monkeypatch.setattr(link, 'open_port', lambda name, baud: NarrowPort(1))
    talk, recorder = PlainSession(), Recorder()
    loop = SerialLoop(talk, 'dripping', BAUD, recorder.on_event, recorder.on_failure)
    loop.start()
    recorder.wait_for_port(True)
    for _ in range(33):
        loop.call(talk.say, bytes(2048))
    assert 'stuck: more than 65536 bytes are waiting' in recorder.wait_for_port(False, 'lost')
    assert loop.counters().stuck == 1
    assert len(loop._pending) == 0
    loop.close()


def test_large_writes_arrive_whole_when_the_other_end_is_slow(cable, run):
    talk = PlainSession()
    loop, recorder = run(talk, cable.path)
    recorder.wait_for_port(True)
    data = os.urandom(40000)
    loop.call(talk.say, data)
    assert cable.read(len(data)) == data


def test_call_wakes_the_thread_for_an_earlier_deadline(cable, run):
    talk = PlainSession()
    polled = threading.Event()
    loop, recorder = run(talk, cable.path)
    recorder.wait_for_port(True)

    def hurry(now):
        talk.deadline = now + 0.05
        original = talk.poll

        def poll(now):
            if now >= talk.deadline:
                polled.set()
                talk.deadline = None
                talk.poll = original
            return original(now)

        talk.poll = poll

    loop.call(hurry)
    assert polled.wait(DEADLINE)


def test_refusals_reach_the_caller_and_failures_the_owner(cable, run):
    talk = PlainSession()
    loop, recorder = run(talk, cable.path)
    recorder.wait_for_port(True)
    with pytest.raises(ValueError, match='no'):
        loop.call(talk.fail)
    os.write(cable.master, b'bug')
    recorder.wait_for(lambda: recorder.failures, 'the failure')
    os.write(cable.master, b'on')
    recorder.wait_for(lambda: received(recorder) == b'on', 'bytes after it')


def test_event_handler_that_fails_ends_nothing(cable):
    recorder = Recorder()

    def on_event(event, stamp_ns):
        if isinstance(event, tuple) and event[1] == b'1':
            raise RuntimeError('handler')
        recorder.on_event(event, stamp_ns)

    loop = SerialLoop(PlainSession(), cable.path, BAUD, on_event, recorder.on_failure)
    try:
        loop.start()
        recorder.wait_for_port(True)
        os.write(cable.master, b'1')
        recorder.wait_for(lambda: recorder.failures, 'the failure')
        os.write(cable.master, b'2')
        recorder.wait_for(lambda: received(recorder) == b'2', 'the byte after it')
    finally:
        loop.close()


def test_close_sends_what_is_owed(cable):
    talk = PlainSession()
    recorder = Recorder()
    loop = SerialLoop(talk, cable.path, BAUD, recorder.on_event, recorder.on_failure)
    loop.start()
    recorder.wait_for_port(True)
    talk.outgoing.append(b'goodbye')
    loop.close()
    assert cable.read(7) == b'goodbye'
    assert not loop.is_open
    assert 'closed' in loop.status.text
    # And the port is free.
    serial.Serial(cable.path, exclusive=True).close()


class NarrowPort(ports.Port):
    """A port without a descriptor that takes few bytes at a time, or none."""

    path = 'narrow'
    descriptor = None

    def __init__(self, most):
        self.most = most
        self.taken = b''
        self.discarded = None
        self._quiet = threading.Event()

    def read(self):
        self._quiet.wait(0.005)
        return b''

    def write(self, data):
        self.taken += data[:self.most]
        return len(data[:self.most])

    def close(self, *, discard):
        self.discarded = discard


@pytest.mark.parametrize(('most', 'taken'), [(3, b'goodbye, all of it'), (0, b'')])
def test_close_sends_what_is_owed_bit_by_bit_or_drops_it(monkeypatch, most, taken):
    port = NarrowPort(most)
    monkeypatch.setattr(link, 'open_port', lambda name, baud: port)
    monkeypatch.setattr(link, 'LAST_WRITE', DEADLINE if most else 0.01)
    talk, recorder = PlainSession(), Recorder()
    loop = SerialLoop(talk, 'narrow', BAUD, recorder.on_event, recorder.on_failure)
    loop.start()
    recorder.wait_for_port(True)
    talk.outgoing.append(b'goodbye, all of it')
    loop.close()
    assert (port.taken, port.discarded) == (taken, not most)
    assert loop.counters().sent == len(taken)


class StuckPort(NarrowPort):
    """A port without a descriptor that blocks a write until it is closed."""

    def __init__(self):
        super().__init__(0)
        self.writing = threading.Event()
        self._closed = threading.Event()

    def write(self, data):
        self.writing.set()
        assert self._closed.wait(DEADLINE), 'the port was not closed'
        raise OSError(errno.EIO, 'closed')

    def close(self, *, discard):
        super().close(discard=discard)
        self._closed.set()


@pytest.mark.parametrize('early', [True, False])
def test_close_does_not_wait_for_a_peer_that_takes_nothing(monkeypatch, early):
    port = StuckPort()
    monkeypatch.setattr(link, 'open_port', lambda name, baud: port)
    talk, recorder = PlainSession(), Recorder()
    loop = SerialLoop(talk, 'stuck', BAUD, recorder.on_event, recorder.on_failure)
    loop.start()
    recorder.wait_for_port(True)
    if early:
        loop.call(talk.say, b'command')
        assert port.writing.wait(DEADLINE)
    else:
        talk.outgoing.append(b'goodbye')
    # Only this ends the write.
    loop.close()
    assert port.discarded
    assert port.writing.is_set()
    loop._thread.join(DEADLINE)
    assert not loop._thread.is_alive()
    assert not loop.is_open
    assert 'closed' in loop.status.text
    assert recorder.failures == []
    assert recorder.of_kind(PortChanged) == []


def test_close_does_not_wait_for_a_port_that_is_being_opened(monkeypatch):
    opening, opened = threading.Event(), threading.Event()
    port = NarrowPort(100)

    def slow(name, baud):
        opening.set()
        assert opened.wait(DEADLINE), 'close() waited for it'
        return port

    monkeypatch.setattr(link, 'open_port', slow)
    talk, recorder = PlainSession(), Recorder()
    descriptors = len(os.listdir('/proc/self/fd'))
    loop = SerialLoop(talk, 'slow', BAUD, recorder.on_event, recorder.on_failure)
    loop.start()
    assert opening.wait(DEADLINE)
    loop.close()
    # Only now does the other end answer, and finds nobody.
    opened.set()
    loop._thread.join(DEADLINE)
    assert port.discarded
    assert not loop._thread.is_alive()
    assert recorder.events == []
    assert talk.calls == []
    assert len(os.listdir('/proc/self/fd')) == descriptors


class HungDevice:
    """A pyserial device that takes no more bytes: the kernel keeps what was written."""

    port = 'hung'

    def __init__(self, takes):
        self.takes = takes
        self.done = []
        self._waiting = 10

    @property
    def out_waiting(self):
        self._waiting -= self.takes and self._waiting > 0
        return self._waiting

    def fileno(self):
        return 0

    def reset_output_buffer(self):
        self.done.append('dropped')

    def close(self):
        self.done.append('closed')


@pytest.mark.parametrize(('takes', 'done'), [
    (True, ['closed']), (False, ['dropped', 'closed'])])
def test_a_device_that_hangs_is_closed_without_what_it_did_not_take(takes, done):
    """close() alone would wait half a minute in the kernel."""
    device = HungDevice(takes)
    ports._DescriptorPort(device).close(discard=False)
    assert device.done == done


def test_calls_after_close_send_nothing(cable):
    talk = PlainSession()
    loop = SerialLoop(talk, cable.path, BAUD, None, None)
    loop.close()
    loop.call(talk.say, b'x')
    assert talk.outgoing == [b'x']


def test_loop_url(run):
    talk = PlainSession()
    loop, recorder = run(talk, 'loop://')
    recorder.wait_for_port(True)
    data = os.urandom(10000)
    loop.call(talk.say, data)
    recorder.wait_for(lambda: received(recorder) == data, 'the bytes')


def test_socket_url_survives_a_server_that_goes_and_comes(run):
    with socket.create_server(('127.0.0.1', 0)) as server:
        talk = PlainSession()
        loop, recorder = run(talk, f'socket://127.0.0.1:{server.getsockname()[1]}')
        server.settimeout(DEADLINE)
        for _ in range(2):
            peer, _ = server.accept()
            recorder.wait_for_port(True)
            # A computer that is switched off is noticed in seconds, not in 15 minutes.
            with socket.socket(fileno=os.dup(loop._port.descriptor)) as ours:
                assert ours.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
                assert ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 10000
            with peer:
                peer.settimeout(DEADLINE)
                loop.call(talk.say, b'ping')
                assert peer.recv(4, socket.MSG_WAITALL) == b'ping'
                peer.sendall(b'pong')
                recorder.wait_for(lambda: received(recorder).endswith(b'pong'), 'pong')
            recorder.wait_for_port(False, 'hung up')
            recorder.events.clear()


def test_socket_url_without_a_server_is_a_state(run):
    with socket.socket() as unused:
        unused.bind(('127.0.0.1', 0))
        _, recorder = run(PlainSession(), f'socket://127.0.0.1:{unused.getsockname()[1]}')
        assert 'refused' in recorder.wait_for_port(False)


@pytest.mark.filterwarnings('ignore:setDaemon:DeprecationWarning')
@pytest.mark.filterwarnings('ignore:setName:DeprecationWarning')
def test_rfc2217_url(run):
    """A small server from pyserial itself, with a loop behind it."""
    behind = serial.serial_for_url('loop://', timeout=0.01)

    def serve(server):
        peer, _ = server.accept()
        with peer:
            manager = rfc2217.PortManager(behind, types.SimpleNamespace(write=peer.sendall))
            while data := peer.recv(1024):
                behind.write(b''.join(manager.filter(data)))
                back = behind.read(behind.in_waiting)
                peer.sendall(b''.join(manager.escape(back)))

    with socket.create_server(('127.0.0.1', 0)) as server:
        thread = threading.Thread(target=serve, args=(server,), daemon=True)
        thread.start()
        talk = PlainSession()
        loop, recorder = run(talk, f'rfc2217://127.0.0.1:{server.getsockname()[1]}')
        recorder.wait_for_port(True)
        # FF is what the protocol escapes.
        loop.call(talk.say, b'\xff\x00 around the world')
        recorder.wait_for(
            lambda: received(recorder) == b'\xff\x00 around the world', 'the bytes')
        loop.close()
        thread.join(DEADLINE)
        assert not thread.is_alive()


def test_pty_of_our_own_waits_for_others_and_drops_what_nobody_reads(tmp_path, run):
    path = tmp_path / 'plugin'
    talk = PlainSession()
    loop, recorder = run(talk, f'pty:{path}')
    assert recorder.wait_for_port(True) == f'{path}: open'
    assert loop.path == str(path)
    for _ in range(20):
        loop.call(talk.say, bytes(1000))
    for turn in range(2):
        with serial.Serial(str(path), timeout=DEADLINE, exclusive=True) as device:
            device.write(b'hello')
            recorder.wait_for(
                lambda turn=turn: received(recorder).count(b'hello') == turn + 1, 'hello')
            loop.call(talk.say, b'welcome')
            assert device.read(7) == b'welcome'
    assert talk.calls == ['opened']
    loop.close()
    assert not path.is_symlink()


def test_pty_tells_that_who_had_written_is_gone_and_serves_the_next(tmp_path, run):
    path = tmp_path / 'panel'
    talk = PlainSession()
    loop, recorder = run(talk, f'pty:{path}', tells_closed=True)
    talk.told = recorder.look
    recorder.wait_for_port(True)
    for turn in range(2):
        with serial.Serial(str(path), timeout=DEADLINE, exclusive=True) as device:
            device.write(b'last words')
            recorder.wait_for(
                lambda turn=turn: received(recorder) == b'last words' * (turn + 1), 'the words')
            # More than it reads, and more than its terminal holds.
            for _ in range(40):
                loop.call(talk.say, bytes(1000))
            assert device.read(1) == b'\0'
        recorder.wait_for(
            lambda turn=turn: talk.calls[1:] == ['lost', 'opened'] * (turn + 1), 'its end')
    with serial.Serial(str(path), timeout=DEADLINE) as device:
        device.write(b'!')
        recorder.wait_for(lambda: received(recorder).endswith(b'!'), 'the next program')
        # Of what was for the others nothing is left.
        loop.call(talk.say, b'welcome')
        assert device.read(7) == b'welcome'


def test_pty_leaves_the_link_of_another_program_alone(tmp_path):
    link = tmp_path / 'plugin'
    first = open_port(f'pty:{link}', BAUD)
    target = os.readlink(link)
    with pytest.raises(LinkError, match=f'^pty:{link}: busy, process {os.getpid()} has it open'):
        open_port(f'pty:{link}', BAUD)
    assert os.readlink(link) == target
    link.unlink()
    second = open_port(f'pty:{link}', BAUD)
    target = os.readlink(link)
    first.close(discard=True)
    assert os.readlink(link) == target
    second.close(discard=True)
    assert not link.is_symlink()


def test_pty_replaces_the_link_of_a_program_that_was_killed(tmp_path):
    link = tmp_path / 'plugin'
    link.symlink_to('/dev/pts/no-such')
    open_port(f'pty:{link}', BAUD).close(discard=True)
    # The number of its terminal is used again, by a later one.
    master, slave = os.openpty()
    link.symlink_to(os.ttyname(slave))
    os.utime(link, (0, 0), follow_symlinks=False)
    open_port(f'pty:{link}', BAUD).close(discard=True)
    assert not link.is_symlink()
    os.close(master)
    os.close(slave)


# End to end: two sessions, two loops, a pseudo-terminal between them.


@pytest.mark.parametrize('profile', ['v0', 'v1', 'v2', 'cobs'])
def test_conversation_over_a_pty(tmp_path, run, profile):
    plugin = PluginSession(profile)
    plugin_loop, plugin_side = run(plugin, f'pty:{tmp_path}/plugin')
    plugin_side.wait_for_port(True)
    plugin_loop.call(plugin.set_flight, True)
    plugin_loop.call(plugin.provide, simpit.Altitude(1236.5, 67.25))
    device = SimpitSession(profile='auto' if profile in ('v0', 'cobs') else profile)
    device_loop, device_side = run(device, tmp_path / 'plugin')
    device_loop.call(device.start)
    device_side.wait_for(lambda: len(device_side.of_kind(Telemetry)) >= 3, 'telemetry')
    assert device_side.of_kind(Telemetry)[0].values == {
            'altitude': simpit.Altitude(1236.5, 67.25)}
    device_loop.call(device.stop)
    plugin_side.wait_for(
        lambda: plugin_side.of_kind(Subscriptions)[-1:] == [Subscriptions(())], 'deregistration')


def test_device_shakes_hands_anew_after_unplug_and_replug(tmp_path, run):
    path = tmp_path / 'plugin'
    device = SimpitSession(profile='v2')
    device_loop, device_side = run(device, path)
    device_loop.call(device.start)
    device_side.wait_for_port(False, 'no such port')
    for turn in range(2):
        plugin = PluginSession('v2')
        plugin_loop, plugin_side = run(plugin, f'pty:{path}')
        plugin_side.wait_for_port(True)
        plugin_loop.call(plugin.set_flight, True)
        plugin_loop.call(plugin.provide, simpit.Altitude(1.0, 2.0))
        seen = len(device_side.of_kind(Telemetry))
        device_side.wait_for(
            lambda seen=seen: len(device_side.of_kind(Telemetry)) > seen, 'telemetry')
        assert len(device_side.of_kind(Connected)) == turn + 1
        plugin_loop.close()
        device_side.wait_for_port(False, 'lost')
        assert device.peer_state is PeerState.CLOSED
