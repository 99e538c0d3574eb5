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

"""The simulated computer: first in simulated time, then in real time over real sockets."""

from contextlib import closing
import random
import select
import socket
import struct
import threading
import time

import pytest

pytest.importorskip('jsbsim', reason='needs JSBSim (pip install jsbsim)')

from kept_ports import kept_endpoint
from memory_endpoint import MemoryEndpoint

from xplane_bridge.bridges.links.udp import LinkError, UdpSocket
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.peers.endpoints import UdpEndpoint
from xplane_bridge.simulation.peers.faults import Faults, SimulatorCrashError
from xplane_bridge.simulation.peers.server import LastCommanded, running, SimulatedComputer
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xpc import XpcFrontend
from xplane_bridge.simulation.peers.xplane_udp import XplaneUdpFrontend

DEADLINE = 60.0
CLIENT = ('127.0.0.1', 50000)

# Requests, byte by byte.
GETC = b'GETC\0\0'
GETP = b'GETP\0\0'
FREEZE_ALL = b'SIMU\0\1'
ELEVATOR_A_QUARTER = b'CTRL\0' + struct.pack(
    '<4fbfBf', 0.25, -998.0, -998.0, -998.0, -1, -998.0, 0, -998.0)


def getd(*names):
    """Return a GETD."""
    return b'GETD\0' + bytes((len(names),)) + b''.join(
        bytes((len(name),)) + name.encode() for name in names)


def conn(port):
    """Return a CONN."""
    return b'CONN\0' + struct.pack('<H', port)


# In simulated time


class Run:
    """A simulation in simulated time, at 50 frames per second."""

    def __init__(self, faults=None, **options):
        self.endpoint = MemoryEndpoint(faults)
        self.frontend = XpcFrontend(self.endpoint, beacon_interfaces=('127.0.0.1',), **options)
        self.simulation = SimulatedComputer(
            [self.frontend], lambda: World(Aircraft()), 50.0, faults)
        self.now = 0.0
        self.simulation.open(self.now)

    def frame(self, *requests):
        """Deliver requests and let a frame pass; return the replies by their tags."""
        for request in requests:
            self.endpoint.deliver(request, CLIENT, self.now)
        self.now += 0.02
        self.simulation.frame(self.now)
        self.simulation.poll(self.now)
        return [data[:4] for data, _ in self.endpoint.collect()]


def test_what_comes_during_a_freeze_is_answered_after_it():
    run = Run()
    assert run.frame(GETP) == [b'POSI']
    before = run.simulation.world.total_running_time
    run.simulation.frozen = True
    assert [run.frame(GETP) for _ in range(4)] == [[]] * 4
    assert run.simulation.world.total_running_time == before
    run.simulation.frozen = False
    assert run.frame() == [b'POSI'] * 4


def test_the_beacon_goes_on_during_a_freeze_and_not_while_it_is_gone():
    run = Run()
    run.simulation.frozen = True
    assert sum((run.frame() for _ in range(105)), []) == [b'BECN'] * 2
    run.simulation.switched_off = True
    assert sum((run.frame() for _ in range(105)), []) == []
    run.simulation.switched_off = run.simulation.frozen = False
    # The first one a second after the start.
    assert sum((run.frame() for _ in range(48)), []) == []
    assert sum((run.frame() for _ in range(7)), []) == [b'BECN']


def test_a_restart_loses_what_waits_and_forgets_all():
    run = Run()
    request = conn(50001)
    run.frame(FREEZE_ALL, b'WYPT\0\1\1' + bytes(12), request, request)
    world = run.simulation.world
    assert world.frozen(0)
    assert run.frontend.plugin.screen.waypoints
    run.simulation.switched_off = True
    assert run.frame(GETP) == run.frame(GETP) == []
    run.simulation.switched_off = False
    assert run.frame() == []
    assert run.simulation.world is not world
    assert not run.simulation.world.frozen(0)
    assert run.frontend.plugin.screen.waypoints == []
    run.endpoint.deliver(request, CLIENT, run.now)
    run.now += 0.02
    run.simulation.frame(run.now)
    assert run.endpoint.collect() == [(b'CONF\0\0', ('127.0.0.1', 50001))]


def test_a_delayed_request_is_answered_in_the_first_frame_after_its_arrival():
    run = Run(Faults(delay=0.05))
    run.frame()
    seen = [run.frame(GETP), *(run.frame() for _ in range(8))]
    # Sent at 0.02, arrived at 0.07, answered at 0.08, back at 0.13.
    assert [n for n, replies in enumerate(seen) if replies] == [5]


def test_a_reset_of_the_socket_spares_what_is_still_under_way():
    run = Run(Faults(delay=0.03))
    run.frame(*[GETP] * 25)
    run.frame(GETC)
    replies = [reply for _ in range(8) for reply in run.frame()]
    assert replies == [b'POSI'] * 20 + [b'CTRL']


def test_freezes_and_restarts_by_schedule():
    faults = Faults(freeze_every=4.0, freeze_for=0.5, restart_every=9.0, restart_for=1.0, seed=2)
    runs = [Run(faults), Run(faults)]
    histories = [[tuple(run.frame(GETP)) for _ in range(3000)] for run in runs]
    assert histories[0] == histories[1]
    silent = sum(b'POSI' not in replies for replies in histories[0])
    # In 60 s: some 13 freezes of 25 frames and 6 restarts of 50.
    assert 350 < silent < 950
    # The backlog arrives at once, at most the 20 of a frame.
    assert max(map(len, histories[0])) in (20, 21)


def test_a_crash_gets_its_last_reply_out():
    run = Run()
    run.endpoint.deliver(getd(*['sim/aircraft/view/acf_descrip'] * 5), CLIENT, 0.0)
    with pytest.raises(SimulatorCrashError):
        run.simulation.frame(0.02)
    (reply, to), = run.endpoint.collect()
    assert (len(reply), to) == (5111, CLIENT)


def test_each_frame_is_as_long_as_the_rate_says():
    run = Run()
    for _ in range(100):
        run.frame()
    assert run.simulation.world.total_running_time == pytest.approx(2.0)
    assert run.simulation.world.aircraft.time == pytest.approx(2.0)
    assert run.simulation.frames == 100


# In real time


@pytest.fixture
def client():
    """Return a UDP socket like that of NASA's clients, but with a longer timeout."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.bind(('127.0.0.1', 0))
        client.settimeout(DEADLINE)
        yield client


def udp_frontend(plugin_version='rc6', **options):
    """Return a frontend on a free port."""
    return XpcFrontend(kept_endpoint(), plugin_version, **options)


def test_a_lock_step_client_is_answered_frame_by_frame(client):
    frontend = udp_frontend()
    with running(frontend) as server:
        client.connect(frontend.endpoint.address)
        client.send(ELEVATOR_A_QUARTER)
        first = server.simulation.frames
        for _ in range(15):
            client.send(GETC)
            assert client.recv(4096) == b'CTRL\0' + struct.pack(
                '<4fbfBf', 0.25, 0.0, 0.0, server.state().engines[0].throttle, 1, 0.0, 0, 0.0)
        assert server.simulation.frames - first >= 2


def test_answers_come_at_frame_boundaries(client):
    frames = []
    frontend = udp_frontend()
    chance = random.Random(1)
    latencies = []
    with running(frontend, on_frame=lambda now, state: frames.append(now)) as server:
        client.connect(frontend.endpoint.address)
        for _ in range(40):
            # At random times, not just after a frame.
            server.wait(chance.uniform(0.0, 0.03))
            sent = time.monotonic()
            client.send(GETP)
            client.recv(4096)
            received = time.monotonic()
            latencies.append(received - sent)
            begun = server.call(lambda _: list(frames))
            # A frame began in between, or was being computed.
            assert any(sent - 0.02 <= frame <= received for frame in begun)
    # Half a frame is 8.3 ms. The real one: 9.6 ms on average.
    assert 0.002 < sorted(latencies)[20] < 0.02


def test_both_requests_of_one_frame_are_answered_with_the_same_state(client):
    states = []
    frontend = udp_frontend()
    with running(frontend, on_frame=lambda now, state: states.append(state)) as server:
        client.connect(frontend.endpoint.address)
        for _ in range(5):
            server.freeze()
            client.send(GETP)
            client.send(getd('sim/flightmodel/position/latitude',
                             'sim/flightmodel/position/longitude'))
            server.resume()
            position, resp = client.recv(4096), client.recv(4096)
            lat, lon = struct.unpack_from('<2d', position, 6)
            assert resp == b'RESP\0\2' + struct.pack('<BfBf', 1, lat, 1, lon)
    assert (lat, lon) in [(state.lat_deg, state.lon_deg) for state in states]


def test_a_backlog_behind_a_freeze(client):
    frontend = udp_frontend()
    with running(frontend) as server:
        for backlog, answers in ((4, 4), (25, 20)):
            server.freeze()
            for _ in range(backlog):
                client.sendto(GETP, frontend.endpoint.address)
            assert not select.select([client], [], [], 0.1)[0]
            server.resume()
            for _ in range(answers):
                client.recv(4096)
            assert not select.select([client], [], [], 0.1)[0]


def test_a_restart_forgets_and_the_same_client_socket_goes_on(client):
    frontend = udp_frontend()
    with running(frontend) as server:
        address = frontend.endpoint.address
        client.connect(address)
        client.send(FREEZE_ALL)
        client.send(conn(client.getsockname()[1]))
        assert client.recv(4096) == b'CONF\0\0'
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.settimeout(DEADLINE)
            other.bind(('127.0.0.1', 0))
            other.connect(address)
            other.send(conn(other.getsockname()[1]))
            assert other.recv(4096) == b'CONF\0\1'
        assert server.call(lambda world: world.frozen(0))
        server.switch_off()
        client.send(GETP)
        with pytest.raises(ConnectionRefusedError):
            client.recv(4096)
        server.switch_on()
        assert frontend.endpoint.address == address
        assert not server.call(lambda world: world.frozen(0))
        client.send(conn(client.getsockname()[1]))
        assert client.recv(4096) == b'CONF\0\0'


def test_wind_and_ignition_of_a_client_over_a_real_socket(client):
    frontend = XplaneUdpFrontend(kept_endpoint(), 12)
    asked = ('sim/weather/aircraft/wind_now_speed_msc',
             'sim/flightmodel2/engines/starter_is_running',
             'sim/cockpit2/radios/actuators/com1_frequency_hz_833',
             'sim/cockpit2/clock_timer/zulu_time_hours')
    with running(frontend):
        client.connect(frontend.endpoint.address)
        for n, name in enumerate(asked):
            client.send(b'RREF\0' + struct.pack('<ii400s', 60, n, name.encode()))
        for name, value in (
                ('sim/weather/region/update_immediately', 1.0),
                *((f'sim/weather/region/wind_speed_msc[{n}]', 7.0) for n in range(13)),
                ('sim/cockpit2/radios/actuators/com1_standby_frequency_hz_833', 118_005.0),
                ('sim/cockpit2/engine/actuators/ignition_key[0]', 4.0)):
            client.send(b'DREF\0' + struct.pack('<f500s', value, name.encode()))
        client.send(b'CMND\0sim/radios/com1_standy_flip\0')
        # The starter turns for a tenth of a second, the wind blows from the next step on.
        most = dict.fromkeys(range(len(asked)), 0.0)
        while most[0] < 6.999:
            for n, value in struct.iter_unpack('<if', client.recv(4096)[5:]):
                most[n] = max(most[n], value)
    assert most == pytest.approx({0: 7.0, 1: 1.0, 2: 118_005.0, 3: 12.0}, abs=1e-3)


def test_old_names_that_end_in_brackets_over_a_real_socket(client):
    frontend = udp_frontend(xplane_version=11)
    # It flies above the highest of three layers.
    name = b'sim/weather/wind_speed_kt[2]'
    with running(frontend) as server:
        client.connect(frontend.endpoint.address)
        client.send(b'DREF\0' + bytes((len(name),)) + name + struct.pack('<Bf', 1, 20.0))
        client.send(getd(name.decode()))
        assert client.recv(4096) == b'RESP\0\1' + struct.pack('<Bf', 1, 20.0)
        assert server.call(lambda world: world.aircraft.wind) == pytest.approx(
            (-20.0 * 1852.0 / 3600.0, 0.0, 0.0))


def test_a_request_that_crashes_ends_the_server(client):
    frontend = udp_frontend()
    with pytest.raises(SimulatorCrashError, match='5111 bytes'), running(frontend) as server:
        client.connect(frontend.endpoint.address)
        client.send(getd(*['sim/aircraft/view/acf_descrip'] * 5))
        assert len(client.recv(65536)) == 5111
        assert server.wait(DEADLINE)
        client.send(GETP)
        with pytest.raises(ConnectionRefusedError):
            client.recv(4096)


def test_the_beacon_is_heard_on_this_machine():
    frontend = udp_frontend(beacon_interfaces=('127.0.0.1',))
    listener = UdpSocket(('', 49710), group='239.255.1.1')
    begin = time.monotonic()
    try:
        with running(frontend) as server:
            server.freeze()     # it continues while nothing is answered
            port = frontend.endpoint.address[1]
            expected = b'BECN\0' + struct.pack('<HI', port, 12100) + b'1.3-rc.1' + bytes(8)
            heard = None
            while heard is None and time.monotonic() - begin < DEADLINE:
                select.select([listener], [], [], 0.1)
                while (received := listener.receive()) is not None:
                    # Other processes on this machine may run a simulator too.
                    if received.data == expected:
                        heard = received
            assert heard is not None
            assert heard.sender == ('127.0.0.1', port)
            assert time.monotonic() - begin > 0.5
    finally:
        listener.close()


def test_frames_keep_time_and_cost_little():
    times = []
    enough = threading.Event()

    def on_frame(now, state):
        times.append((now, state.time, time.process_time()))
        if len(times) == 61:
            enough.set()

    with running(udp_frontend(), on_frame=on_frame):
        assert enough.wait(DEADLINE)
    seconds = times[60][0] - times[0][0]
    assert 0.95 < seconds < 1.5
    # Model time follows real time; it lags if the machine stalls, and never leads.
    assert seconds - 0.3 < times[60][1] - times[0][1] < seconds + 0.02
    assert times[60][2] - times[0][2] < 0.6


def test_missed_frames_are_skipped_and_the_next_one_is_longer():
    blocked, done = threading.Event(), threading.Event()
    times, ahead = [], []

    def on_frame(now, state):
        times.append(now)
        ahead.append(server.simulation.world.total_running_time - state.time)
        if len(times) == 3:
            blocked.wait(DEADLINE)
        if len(times) == 10:
            done.set()

    with running(udp_frontend(), on_frame=on_frame) as server:
        while len(times) < 3:
            assert not server.wait(0.01)
        server.wait(0.2)
        blocked.set()
        assert done.wait(DEADLINE)
    # About twelve frames were missed: they are neither late nor sent all at once.
    assert times[3] - times[2] > 0.2
    assert times[9] - times[3] > 0.08
    # The longer frame has whole steps of the model: X-Plane's time is that of the pose.
    assert ahead == pytest.approx([ahead[0]] * len(ahead), abs=1e-6)


def test_a_port_in_use_is_said_and_leaves_nothing_behind():
    with running(udp_frontend()) as server:
        taken = server.simulation.frontends[0].endpoint.address
        free = UdpEndpoint()
        with pytest.raises(LinkError, match=f'{taken[1]}.*another program'), running(
                XpcFrontend(free), XpcFrontend(UdpEndpoint(*taken))):
            pass
        # The frontend that could be opened is closed again.
        UdpSocket(free.address).close()


def test_an_interface_that_is_not_there_is_counted_and_ends_nothing():
    frontend = udp_frontend(beacon_interfaces=('198.51.100.1',))
    with running(frontend) as server:
        server.call(lambda _: frontend.poll(time.monotonic() + 1.0))
        assert (frontend.counters.sent, frontend.counters.send_errors) == (0, 1)


def test_stopping_twice_is_fine():
    with running(udp_frontend()) as server:
        server.stop()
        assert server.wait(DEADLINE)
        server.stop()


def test_delay_and_duplicates_over_a_real_socket(client):
    faults = Faults(delay=0.03, jitter=0.02, duplicate=1.0)
    frontend = XpcFrontend(UdpEndpoint(faults=faults))
    with running(frontend):
        client.connect(frontend.endpoint.address)
        sent = time.monotonic()
        for _ in range(4):
            client.send(GETP)
        client.recv(4096)
        # 30 ms to there, 30 ms back.
        assert time.monotonic() - sent > 0.06
        # Each request twice, and each answer to it twice.
        for _ in range(4 * 4 - 1):
            client.recv(4096)
        assert not select.select([client], [], [], 0.15)[0]
    assert (frontend.counters.received, frontend.counters.sent) == (4, 16)


def test_loss_over_a_real_socket(client):
    frontend = XpcFrontend(UdpEndpoint(faults=Faults(loss=0.5)))
    answers = 0
    with running(frontend):
        client.connect(frontend.endpoint.address)
        for _ in range(15):
            client.send(GETP)
        while select.select([client], [], [], 0.2)[0]:
            client.recv(4096)
            answers += 1
    # 3.75 on average.
    assert 0 < answers < 12


@pytest.mark.parametrize('rate', [0.0, -1.0, float('nan'), float('inf')])
def test_bad_frame_rates_are_refused(rate):
    with pytest.raises(ValueError, match='frame_rate'):
        SimulatedComputer([], lambda: None, rate)


# At its end


def test_only_what_commands_anything_new_is_news():
    run = Run()
    run.frame(GETC, ELEVATOR_A_QUARTER)
    news = LastCommanded([run.frontend])
    assert news.last_at == 0.0
    for requests, at in (
            ((GETC,), 0.0), ((ELEVATOR_A_QUARTER,), 0.04), ((ELEVATOR_A_QUARTER, GETP), 0.04),
            ((FREEZE_ALL,), 0.08), ((getd('sim/time/paused'), FREEZE_ALL), 0.08)):
        run.frame(*requests)
        assert news.last_at == pytest.approx(at), requests


def test_a_flood_of_news_ends_it():
    run = Run()
    news = LastCommanded([run.frontend])
    for number in range(5000):
        run.endpoint.listener(struct.pack('<4sI', b'DREF', number), float(number))
    assert news.last_at == 4095.0


def test_it_lingers_for_who_commands_and_not_if_nobody_is_there():
    endpoint = UdpEndpoint()
    with running(XpcFrontend(endpoint)) as server, \
            closing(UdpSocket(('127.0.0.1', 0), peer=endpoint.address)) as client:
        began = time.monotonic()
        server.linger(DEADLINE, DEADLINE)
        assert time.monotonic() < began + 0.5 * DEADLINE
        client.send(ELEVATOR_A_QUARTER)
        # Until it is read.
        deadline = began + DEADLINE
        while not endpoint.counters.received and time.monotonic() < deadline:
            server.wait(0.01)
        began = time.monotonic()
        server.linger(0.2, DEADLINE)
        server.linger(DEADLINE, 0.1)
        assert 0.2 < time.monotonic() - began < 0.5 * DEADLINE
        # Whoever is told to end does so at once.
        ending = threading.Timer(0.1, server.end)
        ending.start()
        server.linger(DEADLINE, DEADLINE)
        assert time.monotonic() < began + 0.5 * DEADLINE
