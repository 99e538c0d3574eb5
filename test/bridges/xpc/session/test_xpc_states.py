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
What each state of a conversation with X-Plane Connect does, seen from outside.

The situations are scripted, in simulated time: a plugin in memory, and a link that loses what the
test says.
"""

from cells import cells, visited
from fake_xpc import BEACON
from mould_xpc import BRAKES, CellPlugin, JOYSTICK, NUMBER, pause, PLACE, STATE, THROTTLE
import pytest

from xplane_bridge.bridges.sessions.base import (
    CommandDone,
    PeerAbsentError,
    PeerChanged,
    PeerState,
    ReadDone,
)
from xplane_bridge.bridges.sessions.left import Left
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.protocol import SimulationOp
from xplane_bridge.bridges.xpc.session import (
    BEACON_CHANNEL,
    PeerReplaced,
    Polled,
    Telemetry,
    XpcSession,
)
from xplane_bridge.bridges.xpc.session.states import TABLE, TEARDOWN

STEP = 0.02
STARTED = 100.0
# The beacon of another X-Plane, and why it counts as such.
RIVAL = xpc.Beacon(xpc.PORT, 11550)
REPLACED = PeerReplaced('its beacon now reports X-Plane 11550')
ANOTHER = f'another X-Plane answers: {REPLACED.reason}'
# A position as another version of the plugin sends it, from the same place.
ODD = xpc.encode(xpc.PositionReply(0, 47.0, 8.0, 500.0, 1.0, 2.0, 3.0, 1.0, 32))
# By then no datagram can come late any more.
LATEST = 3.6
STOPPED = 'the node was deactivated'
AWAY = 'nothing answers at simpc'
LOADING = 'X-Plane at simpc is loading or in a menu, and answers nothing'


class Scene:
    """
    A started session, and a plugin that answers once per step, if there is one.

    ``frozen`` lets the plugin answer nothing and keep what it is sent, ``beacons`` are sent once
    per second; ``lost`` says which datagrams to the plugin are lost, ``deaf`` the replies on which
    channels. ``sent`` and ``events`` are what the session has sent and told, in order.
    """

    def __init__(self, plugin='rc6', *, polled=True, **options):
        self.now = STARTED
        options = {'rate': 10.0, 'port': xpc.PORT, 'address': 'simpc'} | options
        self.session = XpcSession({0: Polled(STATE, PLACE)} if polled else {}, **options)
        self.plugin = plugin and self.make_plugin(plugin)
        self.lost = lambda channel, request: False
        self.deaf = lambda channel: False
        self.frozen = self.beacons = False
        self.sent, self.events, self.open = [], [], set()
        self._beacon_at = STARTED
        self.session.start(self.now)

    def make_plugin(self, version='rc6', ran=1.0):
        """Return the plugin of an X-Plane that has been running for some seconds."""
        return CellPlugin(version, self.now - ran)

    def run(self, seconds):
        """Let time pass."""
        for _ in range(round(seconds / STEP)):
            self.now += STEP
            self.poll()
            if self.plugin and not self.frozen:
                for channel, data in self.plugin.frame(self.now):
                    if channel in self.open and not self.deaf(channel):
                        self.receive(channel, data)
            if self.beacons and self.now >= self._beacon_at:
                self._beacon_at = self.now + 1.0
                self.receive(BEACON_CHANNEL, BEACON)
        return self

    def until(self, happened):
        """Let time pass until something has happened, for a few seconds at most."""
        for _ in range(250):
            if happened():
                return self
            self.run(STEP)
        raise AssertionError('it has not happened')

    def receive(self, channel, data):
        """Let the session receive a datagram."""
        self.events += self.session.receive(channel, data, None, self.now)
        self.poll()

    def poll(self):
        """Let the session send and tell."""
        for channel, data in self.session.poll(self.now):
            if data is None:
                self.open.discard(channel)
                continue
            self.open.add(channel)
            request = xpc.decode(data, 'bridge')
            self.sent.append((round(self.now - STARTED, 2), channel, request))
            if self.plugin and not self.lost(channel, request):
                self.plugin.receive(channel, data, self.now)
        self.events += self.session.expired()

    def be_replaced(self):
        """Let the beacons of another X-Plane come."""
        self.receive(BEACON_CHANNEL, xpc.encode(RIVAL))
        self.now += 1.0
        self.receive(BEACON_CHANNEL, xpc.encode(RIVAL))

    def begin(self):
        """Forget what was sent and told so far."""
        self.sent, self.events = [], []
        return self

    def told(self, *kinds):
        """Return what was told of these kinds."""
        return [event for event in self.events if isinstance(event, kinds)]

    def times(self, prefix):
        """Return when something was sent on channels of that name, in seconds since STARTED."""
        return [at for at, channel, _ in self.sent if channel.startswith(prefix)]

    def commands(self, kind=xpc.Request):
        """Return the commands of one kind that were sent."""
        return [message for _, channel, message in self.sent
                if channel == 'command' and isinstance(message, kind)]

    @property
    def state(self):
        """Return the state that the owner sees."""
        return self.session.peer_state

    @property
    def watching(self):
        """Return whether a channel of watched datarefs is open."""
        return any(channel.startswith('watch') for channel in self.open)

    # What the owner does.

    def take(self):
        """Take the elevator and the joystick."""
        self.session.take_joystick(self.now)
        self.session.set_controls({'elevator': 0.5}, self.now)
        return self.run(0.3)

    def send(self, number=1.0, **options):
        """Send a command."""
        return self.session.send(number_of(number), self.now, what='number', **options)

    def watch(self):
        """Watch a dataref, once per second."""
        self.session.watch(['test/one'], 1.0, self.now)
        return self

    def stop(self):
        """End the conversation."""
        self.session.stop(self.now)
        self.poll()
        return self

    def start(self):
        """Begin the conversation again."""
        self.session.start(self.now)
        self.poll()
        return self


def number_of(value):
    """Return a command that takes nothing."""
    return xpc.SetDatarefs(((NUMBER, (value,)),))


def taken_in(scene):
    """Return what X-Plane has of what take() takes."""
    values = scene.plugin.cells.values
    return values['elevator of 0'], values[JOYSTICK]


GIVEN_BACK, TAKEN = (0.0, 0.0), (0.5, 1.0)


# Scenes that are in one state.

def waiting(**options):
    """Return one that has not been answered yet."""
    return Scene(None, **options).watch().run(0.06)


def waiting_long(**options):
    """Return one that has not been answered for long."""
    return Scene(None, **options).watch().run(0.5)


def answering(**options):
    """Return one that is answered, with something taken."""
    scene = Scene(**options).watch().run(1.0).take()
    assert (scene.state, taken_in(scene)) == (PeerState.ANSWERING, TAKEN)
    return scene.begin()


def doubted(**options):
    """Return one whose X-Plane does not answer in time."""
    scene = answering(**options)
    scene.frozen = True
    scene.run(0.5)
    assert scene.state is PeerState.ANSWERING
    return scene.begin()


def loading(**options):
    """Return one whose X-Plane is silent and sends beacons."""
    scene = answering(**options)
    scene.beacons = scene.frozen = True
    scene.run(1.5)
    assert scene.state is PeerState.LOADING
    return scene.begin()


def away(**options):
    """Return one whose X-Plane is silent."""
    scene = answering(**options)
    scene.frozen = True
    scene.run(1.5)
    assert scene.state is PeerState.AWAY
    return scene.begin()


# The beginning.

def test_all_is_polled_at_its_rate_from_the_start():
    scene = Scene().run(0.5)
    assert scene.times('position') == [0.02, 0.12, 0.22, 0.32, 0.42]
    assert {*STATE} <= {*scene.session.wanted}
    assert len(scene.told(Telemetry)) == 5


def test_a_command_leaves_once_the_first_reply_has_come():
    scene = Scene()
    scene.deaf = lambda channel: channel.startswith('state')
    scene.run(0.1)
    assert scene.told(PeerChanged) == [PeerChanged(PeerState.ANSWERING)]
    scene.send()
    scene.run(0.04)
    assert scene.commands() == [number_of(1.0)]


def test_a_first_reply_that_comes_late_does_not_show_who_answers():
    scene = waiting_long().begin()
    scene.plugin = scene.make_plugin()
    scene.deaf = lambda channel: channel.startswith('state')
    scene.run(0.6)
    assert scene.told(PeerChanged) == [PeerChanged(PeerState.ANSWERING)]
    scene.send()
    scene.run(0.2)
    assert not scene.commands()
    scene.deaf = lambda channel: False
    scene.run(0.2)
    assert scene.commands() == [number_of(1.0)]


def test_stopped_before_the_first_reply_it_is_over():
    for make in (waiting, waiting_long):
        scene = make()
        assert scene.watching
        scene.stop()
        assert (scene.state, scene.session.leaving) == (PeerState.UNKNOWN, False)
        assert not scene.watching
        scene.begin().run(2.0)
        assert (scene.sent, scene.events) == ([], [])


def test_another_xplane_is_polled_at_once_though_the_first_has_never_answered():
    for make in (waiting, waiting_long):
        scene = make().begin()
        scene.receive(BEACON_CHANNEL, BEACON)
        scene.be_replaced()
        assert scene.events == [REPLACED]
        assert (scene.state, scene.times('position')) == (PeerState.UNKNOWN, [])
        assert not scene.watching
        scene.run(STEP)
        assert len(scene.times('position')) == 1
        scene.plugin = scene.make_plugin()
        scene.run(0.6)
        assert scene.told(PeerChanged) == [PeerChanged(PeerState.ANSWERING)]


def test_without_any_reply_it_is_loading_or_away():
    for beacons, state in ((True, PeerState.LOADING), (False, PeerState.AWAY)):
        for polled in (True, False):
            scene = Scene(None, polled=polled).watch()
            scene.beacons = beacons
            scene.run(0.9)
            assert (scene.state, scene.watching) == (PeerState.UNKNOWN, True)
            scene.run(0.3)
            assert scene.told(PeerChanged) == [PeerChanged(state)]
            assert not scene.watching


def test_a_start_after_silence_probes_as_the_first_one_does():
    scene = Scene(None).run(0.98)
    first = scene.times('probe')
    assert len(first) == 2
    scene.run(19.02).stop().run(10.0).begin()
    scene.session.start(scene.now)
    scene.run(0.98)
    assert scene.times('probe') == [pytest.approx(at + 30.0, abs=0.1) for at in first]


# A plugin that cannot pause a single aircraft.

def pauses_in(scene):
    """Return which aircraft are paused."""
    return [number for number in range(20) if scene.plugin.cells.values[pause(number)]]


def test_one_aircraft_is_paused_also_by_a_plugin_that_cannot_or_is_not_known_yet():
    for seconds in (0.3, 5.0):
        scene = Scene('1.2.1').run(seconds)
        assert (scene.session.plugin_version is None) == (seconds < 3.0)
        scene.plugin.cells.write(pause(7), 1.0, 'other')
        scene.run(0.3)
        tickets = [scene.session.send(
            xpc.Simulation(SimulationOp.PAUSE_AIRCRAFT + number), scene.now, what='pause',
            awaited=True) for number in (3, 5)]
        scene.run(0.5)
        assert scene.told(CommandDone) == [
            CommandDone(ticket, 'pause', message='X-Plane reports it') for ticket in tickets]
        assert pauses_in(scene) == [3, 5, 7]
        assert set(scene.session.taken) == {'pause of aircraft 3', 'pause of aircraft 5'}
        assert scene.session.held_by_others == ('pause of aircraft 7',)
        scene.session.send(xpc.Simulation(SimulationOp.RUN_AIRCRAFT + 5), scene.now)
        scene.run(0.3)
        assert pauses_in(scene) == [3, 7]
        scene.run(4.0).stop().run(0.5)
        assert (pauses_in(scene), scene.session.left) == ([7], Left())


def test_the_pause_of_one_aircraft_is_freed_by_a_plugin_that_cannot_pause_one():
    scene = Scene('1.2.1').run(5.0)
    scene.plugin.cells.write(pause(2), 1.0, 'other')
    scene.run(0.3)
    assert scene.session.held_by_others == ('pause of aircraft 2',)
    ticket = scene.session.release_all(scene.now)
    # A text is cleared too, several times.
    scene.run(2.0)
    assert scene.told(CommandDone) == [
        CommandDone(ticket, 'release_all', message='X-Plane reports it')]
    assert pauses_in(scene) == []
    assert (scene.session.held_by_others, scene.session.unconfirmed) == ((), ())


# An X-Plane that is started again at once.

def restarted(**options):
    """Return one whose X-Plane was just started again, and has read what was commanded since."""
    scene = Scene(**options).run(1.0)
    stream(scene)
    scene.plugin = scene.make_plugin(ran=0.0)
    return stream(scene.begin(), 3)


def stream(scene, times=10):
    """Command over and over, as a controller does."""
    for number in range(times):
        scene.session.take_joystick(scene.now)
        scene.session.set_controls(
            {'elevator': 0.5, 'throttle': 0.6 + number / 100.0}, scene.now)
        scene.session.set_levers({BRAKES: (1.0,)}, scene.now)
        scene.run(STEP)
    return scene


STREAMED = ('joystick', 'elevator', 'throttle', BRAKES)


def test_what_an_xplane_that_was_just_started_has_read_is_taken_from_it():
    scene = stream(restarted(), 20)
    assert len(scene.told(PeerReplaced)) == 1
    assert set(scene.session.taken) == {*STREAMED}
    assert scene.session.held_by_others == ()
    assert scene.plugin.cells.values[THROTTLE] > 0.5
    scene.stop().run(0.5)
    assert (taken_in(scene), scene.session.left) == (GIVEN_BACK, Left())
    assert scene.plugin.cells.values[THROTTLE] == -2.0


def test_what_it_has_read_is_given_back_also_if_nothing_is_commanded_any_more():
    for later in (0.0, 0.1, 1.0):
        scene = restarted().run(later)
        assert taken_in(scene)[0] == 0.5
        assert 'throttle' in scene.session.taken
        scene.stop().run(0.6)
        assert (taken_in(scene), scene.session.left) == (GIVEN_BACK, Left())
        assert scene.plugin.cells.values[THROTTLE] == -2.0


def test_what_it_was_given_back_before_it_was_known_is_given_back_until_it_is_shown():
    scene = restarted()
    scene.lost = lambda channel, request: channel == 'command'
    scene.session.release(scene.now)
    scene.run(0.4)
    assert len(scene.told(PeerReplaced)) == 1
    assert scene.plugin.cells.values[THROTTLE] > 0.5
    scene.lost = lambda channel, request: False
    scene.run(1.0)
    assert (taken_in(scene), scene.session.unconfirmed) == (GIVEN_BACK, ())
    assert scene.plugin.cells.values[THROTTLE] == -2.0


def test_what_a_started_xplane_has_not_read_is_not_taken_from_it():
    scene = Scene().run(1.0)
    scene.session.send(xpc.Text(0, 0, 'old'), scene.now)
    stream(scene)
    scene.plugin = scene.make_plugin(ran=0.0)
    scene.lost = lambda channel, request: channel == 'command'
    stream(scene, 3).run(0.3)
    scene.lost = lambda channel, request: False
    scene.begin().run(1.0)
    assert (scene.session.taken, scene.session.unconfirmed) == ((), ())
    assert not scene.commands()


# Replies that do not come, or do not fit.

def test_commands_wait_while_a_reply_is_overdue():
    scene = answering()
    scene.frozen = True
    scene.run(0.2)
    scene.send(1.0)
    scene.run(0.2)
    assert scene.commands() == [number_of(1.0)]
    scene.send(2.0)
    scene.run(0.3)
    assert scene.commands() == [number_of(1.0)]
    scene.frozen = False
    scene.run(0.1)
    assert scene.commands() == [number_of(1.0), number_of(2.0)]


def test_a_reply_that_does_not_fit_is_asked_for_again_at_once_until_it_counts():
    scene = answering(rate=1.0).run(1.0).begin()
    scene.plugin = scene.make_plugin('1.2.1')
    scene.run(1.2)
    polls = scene.times('position')[:3]
    assert polls[2] - polls[0] < 0.1
    assert scene.told(PeerReplaced) == [PeerReplaced('its positions now have 32 bits')]
    assert scene.session.taken == ()
    assert scene.told(PeerChanged) == []


def test_a_command_waits_until_what_does_not_fit_fits_again():
    scene = answering()
    scene.receive('position 0 0', ODD)
    scene.send()
    scene.poll()
    assert not scene.commands()
    scene.run(0.04)
    assert scene.commands() == [number_of(1.0)]
    assert scene.session.taken == ('elevator', 'joystick')


def test_another_xplane_has_no_history():
    for make in (answering, doubted):
        scene = make(lifetime=5.0)
        scene.receive(BEACON_CHANNEL, BEACON)
        scene.session.read_datarefs(['test/two'], scene.now)
        # More than it would read in one frame.
        tickets = [scene.send(number) for number in range(6)]
        assert scene.watching
        scene.be_replaced()
        assert scene.state is PeerState.ANSWERING
        assert scene.events[0] == REPLACED
        assert scene.events[1].error == ANOTHER
        assert scene.events[2:] == [
            CommandDone(ticket, 'number', f'not sent: {ANOTHER}')
            for ticket in tickets[len(scene.commands()):]]
        assert bool(scene.commands()) == (make is answering)
        assert (scene.session.taken, scene.watching) == ((), False)
        scene.frozen = False
        scene.begin().run(0.5)
        assert scene.told(PeerChanged, CommandDone) == []
        assert scene.told(Telemetry)
        assert not scene.commands()


def test_what_is_read_before_an_override_does_not_show_that_it_was_written():
    scene = Scene().run(1.0).begin()
    scene.deaf = lambda channel: not channel.startswith('before')
    scene.lost = lambda channel, request: channel == 'command'
    override = xpc.SetDatarefs((('sim/operation/override/override_flightdir', (1.0,)),))
    ticket = scene.session.send(override, scene.now, what='override', awaited=True)
    scene.run(0.2)
    assert scene.times('before')
    assert scene.commands()[0] == override
    assert not scene.told(CommandDone)
    scene.run(1.5)
    assert scene.told(CommandDone) == [CommandDone(
        ticket, 'override', f'sent, but not known to be read: {AWAY}')]


# Silence.

def test_in_silence_what_waits_ends_with_the_reason():
    for beacons, state, reason in (
            (True, PeerState.LOADING, LOADING), (False, PeerState.AWAY, AWAY)):
        for polled in (True, False):
            scene = Scene(polled=polled, lifetime=5.0).watch().run(1.0)
            scene.plugin, scene.beacons = None, beacons
            # More than it would read in one frame.
            tickets = [scene.send(number, awaited=True) for number in range(6)]
            scene.run(0.5)
            assert len(scene.commands()) == 4
            scene.session.read_datarefs(['test/two'], scene.now)
            scene.begin().run(0.4)
            assert (scene.told(ReadDone, CommandDone), scene.watching) == ([], True)
            scene.run(0.4)
            assert scene.told(PeerChanged) == [PeerChanged(state)]
            assert [done.error for done in scene.told(ReadDone)] == [reason]
            assert [(done.ticket, done.error) for done in scene.told(CommandDone)] == [
                *((ticket, f'not sent: {reason}') for ticket in tickets[4:]),
                *((ticket, f'sent, but not known to be read: {reason}')
                  for ticket in tickets[:4])]
            assert not scene.watching
            with pytest.raises(PeerAbsentError, match=reason):
                scene.send()


def test_loading_is_away_without_beacons_and_away_is_loading_with_them():
    scene = loading()
    scene.beacons = False
    scene.run(4.0)
    assert scene.told(PeerChanged) == [PeerChanged(PeerState.AWAY)]
    scene.beacons = True
    scene.begin().run(1.2)
    assert scene.told(PeerChanged) == [PeerChanged(PeerState.LOADING)]
    assert scene.session.taken


def test_the_same_xplane_that_answers_again_gets_back_what_is_owed():
    for make in (loading, away):
        scene = make()
        scene.session.release(scene.now)
        scene.run(1.0)
        assert scene.session.unconfirmed == ('elevator', 'joystick')
        assert taken_in(scene) == TAKEN
        scene.begin()
        scene.frozen = False
        scene.deaf = lambda channel: channel.startswith('state')
        scene.until(lambda: scene.told(PeerChanged))  # noqa: B023
        assert scene.told(PeerChanged) == [PeerChanged(PeerState.ANSWERING)]
        # One frame must pass before it is asked again.
        assert round(scene.now - STARTED, 2) not in scene.times('position')
        scene.run(0.3)
        assert (scene.times('position') != [], taken_in(scene)) == (True, TAKEN)
        scene.deaf = lambda channel: False
        scene.run(0.3)
        assert (taken_in(scene), scene.session.unconfirmed) == (GIVEN_BACK, ())


def test_one_whose_computer_has_stopped_it_reads_what_is_given_back():
    for seconds in (3.0, 6.0, 12.0, 60.0):
        scene = answering()
        scene.beacons = True
        scene.run(1.5)
        # It keeps what it is sent; of more than 20 it will drop the rest.
        scene.frozen, scene.beacons = True, False
        scene.run(seconds)
        assert scene.state is PeerState.LOADING if seconds < 3.5 else PeerState.AWAY
        scene.stop().run(1.0)
        scene.frozen = False
        scene.run(0.3)
        assert (taken_in(scene), scene.session.left) == (GIVEN_BACK, Left())


def test_one_whose_beacons_come_again_is_probed_at_once():
    scene = answering()
    scene.beacons = True
    scene.run(1.5)
    scene.frozen, scene.beacons = True, False
    scene.run(20.0).begin()
    scene.run(5.0)
    assert len(scene.times('probe')) <= 1
    scene.begin().receive(BEACON_CHANNEL, BEACON)
    assert len(scene.times('probe')) == 1


def test_another_xplane_that_is_loading_is_given_nothing_back():
    for make in (loading, away):
        scene = make()
        scene.receive(BEACON_CHANNEL, BEACON)
        scene.run(0.1)
        state = scene.state
        scene.beacons = False
        scene.receive(BEACON_CHANNEL, xpc.encode(RIVAL))
        if make is away:
            scene.run(4.0)
            state = PeerState.AWAY
        assert (scene.state, scene.session.taken != ()) == (state, True)
        # So soon it may be a copy.
        scene.begin().receive(BEACON_CHANNEL, xpc.encode(RIVAL))
        if make is loading:
            assert scene.events == []
            scene.run(1.0).begin().receive(BEACON_CHANNEL, xpc.encode(RIVAL))
        # Its beacon shows that it runs.
        assert scene.events == [REPLACED, PeerChanged(PeerState.LOADING)][:1 + (make is away)]
        assert (scene.state, scene.session.taken) == (PeerState.LOADING, ())
        scene.plugin, scene.frozen = scene.make_plugin(), False
        scene.begin().run(5.0)
        assert scene.told(PeerChanged)[-1] == PeerChanged(PeerState.ANSWERING)
        assert not scene.commands()


def test_in_lockstep_controls_go_on_in_silence_and_end_with_another_xplane():
    for make in (loading, away):
        scene = make(lockstep=True, lifetime=5.0, rate=0.0)
        scene.receive(BEACON_CHANNEL, BEACON)
        scene.run(0.1)
        for number in range(1, 8):
            scene.session.set_controls({'elevator': number / 20.0}, scene.now)
            scene.poll()
        # No more are sent at once.
        assert len(scene.commands(xpc.SetControls)) == 6
        scene.receive(BEACON_CHANNEL, xpc.encode(RIVAL))
        if make is away:
            scene.beacons = False
            scene.run(4.0)
            assert scene.state is PeerState.AWAY
        scene.beacons = False
        scene.run(1.0).begin().receive(BEACON_CHANNEL, xpc.encode(RIVAL))
        scene.run(0.5)
        assert scene.commands(xpc.SetControls) == []
        scene.session.set_controls({'elevator': 0.7}, scene.now)
        scene.poll()
        assert [controls.elevator for controls in scene.commands(xpc.SetControls)] == [
            pytest.approx(0.7)]


def test_in_lockstep_controls_go_on_when_silence_begins():
    for beacons, state in ((True, PeerState.LOADING), (False, PeerState.AWAY)):
        scene = answering(lockstep=True, rate=0.0, lifetime=5.0)
        scene.frozen, scene.beacons = True, beacons
        for number in range(1, 8):
            scene.session.set_controls({'elevator': number / 20.0}, scene.now)
            scene.poll()
        assert len(scene.commands(xpc.SetControls)) == 6
        scene.begin().run(1.5)
        assert scene.told(PeerChanged) == [PeerChanged(state)]
        assert [controls.elevator for controls in scene.commands(xpc.SetControls)] == [
                pytest.approx(0.35)]


# The end.

def test_stop_ends_what_waits_and_gives_back_what_was_taken():
    for make in (answering, doubted):
        scene = make(lifetime=5.0)
        scene.session.read_datarefs(['test/two'], scene.now)
        ticket = scene.send()
        assert scene.watching
        scene.stop()
        assert scene.told(ReadDone, CommandDone, PeerChanged) == [
            ReadDone(ticket - 1, (), STOPPED),
            CommandDone(ticket, 'number', f'not sent: {STOPPED}')]
        assert (scene.state, scene.watching) == (PeerState.LEAVING, False)
        assert scene.session.unconfirmed == ('elevator', 'joystick')
        with pytest.raises(PeerAbsentError, match='the session is not started'):
            scene.send()
        scene.frozen = False
        scene.run(0.2)
        assert taken_in(scene) == GIVEN_BACK
        scene.run(LATEST)
        assert (scene.state, scene.session.left) == (PeerState.UNKNOWN, Left())
        assert scene.session.unconfirmed == scene.session.taken == ()
        assert scene.session.held_by_others == ()
        scene.begin().run(1.0)
        assert (scene.sent, scene.events) == ([], [])


def test_one_that_was_silent_reads_what_is_given_back_when_it_goes_on():
    for make in (loading, away):
        scene = make()
        scene.stop().run(1.0)
        assert (scene.state, scene.session.leaving) == (PeerState.LEAVING, True)
        scene.frozen = False
        scene.run(0.2)
        assert (taken_in(scene), scene.session.unconfirmed) == (GIVEN_BACK, ())
        scene.run(LATEST)
        assert (scene.state, scene.session.left) == (PeerState.UNKNOWN, Left())


def test_what_others_hold_is_not_known_any_more_at_the_end():
    scene = answering()
    scene.plugin.cells.write(THROTTLE, 0.75, 'other')
    scene.run(0.3)
    assert scene.session.held_by_others == ('throttle',)
    scene.stop().run(LATEST)
    assert (taken_in(scene), scene.state) == (GIVEN_BACK, PeerState.UNKNOWN)
    assert scene.session.held_by_others == ()


def test_what_is_asked_while_it_is_left_is_closed_once_all_is_shown():
    scene = answering().run(LATEST)
    scene.frozen = True
    scene.begin().stop().until(lambda: len(scene.times('check')) == 2)
    assert scene.session.leaving
    # The reply to the first is lost, that to the second shows it.
    first, _ = (channel for _, channel, _ in scene.sent if channel.startswith('check'))
    scene.deaf = lambda channel: channel == first
    scene.frozen = False
    scene.run(STEP)
    assert (scene.session.leaving, scene.session.left) == (False, Left())
    assert first not in scene.open


def test_a_stop_with_nothing_taken_is_the_end():
    for make in (answering, doubted, loading, away):
        scene = make()
        scene.session.release(scene.now)
        scene.frozen = False
        scene.run(LATEST)
        assert scene.session.taken == scene.session.unconfirmed == ()
        # Somebody else takes it.
        scene.plugin.cells.write(JOYSTICK, 1.0, 'other')
        scene.run(0.3)
        assert 'joystick' in scene.session.held_by_others
        scene.frozen = make is not answering
        scene.run({answering: 0.1, doubted: 0.5}.get(make, 1.5))
        scene.begin().stop()
        assert (scene.state, scene.session.leaving) == (PeerState.UNKNOWN, False)
        assert scene.session.left == Left()
        assert scene.session.held_by_others == ()


def test_what_is_not_shown_to_be_given_back_is_told_with_what_is_known_of_xplane():
    for make, answers, is_error, sentence in (
            (answering, False, True, 'has answered until then, and nothing since: it may not'),
            (answering, True, True, 'answers, but does not show within 3 s'),
            (doubted, False, True, 'has answered until then, and nothing since: it may not'),
            (doubted, True, True, 'answers, but does not show within 3 s'),
            (loading, False, True, 'is loading or in a menu, and has not read it yet'),
            (loading, True, True, 'answers, but does not show within 3 s'),
            (away, False, False, 'does not respond; if it still runs'),
            (away, True, True, 'answers, but does not show within 3 s')):
        scene = make()
        scene.beacons = False
        scene.frozen = not answers
        scene.lost = lambda channel, request: channel == 'command'
        scene.stop()
        scene.run(2.5)
        scene.frozen = True
        scene.run(0.4)
        assert (scene.state, scene.session.left) == (PeerState.LEAVING, Left())
        assert any(channel.startswith('check') for channel in scene.open)
        scene.until(lambda: scene.state is PeerState.UNKNOWN)  # noqa: B023
        assert not any(channel.startswith('check') for channel in scene.open)
        left = scene.session.left
        assert (left.unconfirmed, left.is_error) == (('elevator', 'joystick'), is_error)
        assert sentence in left.reason
        assert scene.session.unconfirmed == scene.session.taken == ()
        scene.begin().run(1.0)
        assert (scene.sent, scene.events, scene.state) == ([], [], PeerState.UNKNOWN)


def test_a_beacon_after_the_stop_shows_that_a_silent_xplane_is_loading():
    for make, sentence in ((away, 'is loading'), (answering, 'has answered until then')):
        scene = make()
        scene.frozen = True
        scene.stop().run(1.0)
        scene.receive(BEACON_CHANNEL, BEACON)
        assert scene.state is PeerState.LEAVING
        scene.run(2.2)
        assert scene.session.left.is_error
        assert sentence in scene.session.left.reason


def test_giving_back_goes_on_while_xplane_cannot_be_reached():
    for make in (answering, doubted, loading, away):
        for seconds in (0.5, 1.5, 1.9):
            scene = make()
            scene.plugin.frame(scene.now)
            scene.frozen, scene.beacons = False, True
            scene.lost = lambda channel, request: True
            scene.stop().run(seconds)
            scene.lost = lambda channel, request: False
            scene.run(1.0)
            assert (taken_in(scene), scene.session.left) == (GIVEN_BACK, Left())


def test_giving_back_ends_when_a_reply_comes_through_at_last():
    for text in ('', 'text'):
        scene = answering().run(LATEST)
        if text:
            scene.session.release(scene.now)
            scene.run(0.5).session.send(xpc.Text(0, 0, text), scene.now)
            scene.run(0.1)
        scene.deaf = lambda channel: True
        scene.stop().run(2.2)
        assert (taken_in(scene), scene.session.leaving) == (GIVEN_BACK, True)
        scene.deaf = lambda channel: False
        scene.run(0.7)
        assert scene.session.unconfirmed == ()
        scene.run(0.5)
        assert (scene.state, scene.session.left) == (PeerState.UNKNOWN, Left())


def test_one_that_answers_late_what_it_was_asked_before_the_end_is_given_back_to_at_once():
    for make, seconds in (
            (answering, 0.8), (doubted, 0.8), (loading, 1.1), (away, 1.1)):
        scene = make()
        scene.frozen, scene.beacons = True, False
        scene.run(0.1)
        scene.lost = lambda channel, request: True
        scene.stop().run(seconds)
        scene.lost = lambda channel, request: False
        scene.frozen = False
        scene.run(0.1)
        assert (taken_in(scene), scene.session.left) == (GIVEN_BACK, Left())


def test_a_reply_that_was_on_its_way_at_the_end_does_not_show_that_it_was_read():
    scene = answering()
    scene.frozen = True
    scene.until(lambda: scene.times('state'))
    replies = scene.plugin.frame(scene.now)
    scene.stop()
    assert replies
    for channel, data in replies:
        scene.receive(channel, data)
    scene.run(3.1)
    assert 'has answered until then' in scene.session.left.reason


def test_nothing_is_given_back_to_another_xplane_after_the_stop():
    for make, answers in (
            (answering, True), (answering, False), (away, False), (loading, False)):
        # In lockstep it is believed who answers.
        scene = make(lockstep=True, rate=0.0) if make is away else make()
        scene.lost = lambda channel, request: channel == 'command'
        scene.frozen, scene.beacons = not answers, False
        if make is answering:
            scene.receive(BEACON_CHANNEL, BEACON)
        scene.stop()
        if answers:
            scene.run(0.5)
            scene.frozen = True
            scene.begin().until(lambda: scene.times('check'))  # noqa: B023
        assert scene.state is PeerState.LEAVING
        # Replies that come late, to requests before the stop.
        scene.receive('position 0 0', ODD)
        scene.run(0.08)
        assert scene.session.unconfirmed
        checks = {channel for channel in scene.open if channel.startswith('check')}
        assert checks
        scene.receive('position 0 0', ODD)
        if make is not away:
            assert scene.session.unconfirmed
            scene.be_replaced()
        assert scene.session.unconfirmed == ()
        assert (scene.state, scene.session.left) == (PeerState.UNKNOWN, Left())
        assert not checks & scene.open
        scene.begin().run(1.0)
        assert scene.sent == []


def test_an_xplane_that_is_started_after_the_stop_is_known_by_its_running_time():
    scene = answering()
    scene.lost = lambda channel, request: channel == 'command'
    scene.stop().run(0.5)
    assert scene.session.unconfirmed
    scene.plugin = scene.make_plugin()
    # The joystick is another client's.
    scene.plugin.cells.values[JOYSTICK] = 1.0
    scene.run(1.0)
    assert (scene.state, scene.session.left) == (PeerState.UNKNOWN, Left())


def test_a_start_while_giving_back_begins_anew():
    for make, answers in (
            (answering, True), (answering, False), (away, False), (loading, False)):
        scene = make()
        scene.lost = lambda channel, request: channel == 'command'
        scene.frozen, scene.beacons = not answers, False
        scene.stop()
        if answers:
            scene.run(1.5)
            scene.frozen = True
            scene.begin().until(lambda: scene.times('check'))  # noqa: B023
        assert scene.state is PeerState.LEAVING
        checks = {channel for channel in scene.open if channel.startswith('check')}
        assert checks
        scene.begin().start()
        assert scene.session.unconfirmed == scene.session.taken == ()
        assert (scene.state, scene.session.leaving) == (PeerState.UNKNOWN, False)
        assert scene.session.missing(scene.now) == {}
        assert scene.session.round_trip is None
        assert not checks & scene.open
        assert len(scene.times('position')) == 1
        scene.frozen = False
        scene.run(0.3)
        assert scene.told(PeerChanged) == [PeerChanged(PeerState.ANSWERING)]


def refuse(scene, *times):
    """Let what is sent at these times be refused, in seconds from now."""
    begun = scene.now
    for at in times:
        scene.run(begun + at - scene.now)
        scene.session.port_refused(scene.now)
    return scene.run(STEP)


def gone_silent():
    """Return one to which X-Plane gives back, and that answers nothing any more."""
    scene = answering()
    scene.lost = lambda channel, request: channel == 'command'
    scene.stop().run(1.5)
    scene.frozen = True
    return scene


def test_one_whose_port_refuses_all_for_half_a_second_has_ended_and_is_owed_nothing():
    for make in (answering, away, loading, gone_silent):
        scene = make()
        scene.frozen, scene.beacons = True, False
        scene.stop()
        assert refuse(scene, 0.0, 0.1, 0.48).session.leaving
        assert not refuse(scene, 0.02).session.leaving
        assert (scene.state, scene.session.left) == (PeerState.UNKNOWN, Left(has_ended=True))
        assert not {channel for channel in scene.open if channel.startswith('check')}
        assert scene.begin().run(4.0).sent == []
        assert scene.session.unconfirmed == scene.session.taken == ()


def test_a_port_that_refuses_a_moment_or_opens_anew_has_not_ended():
    for times in ((0.0, 0.1, 0.3), (0.0, 0.6)):
        scene = answering()
        scene.frozen = True
        scene.stop()
        refuse(scene, *times).run(4.0)
        assert scene.session.left.is_error
    scene = answering()
    scene.frozen = True
    refuse(scene.stop(), 0.0, 0.1, 0.3)
    scene.frozen = False
    scene.until(lambda: not scene.session.leaving)
    assert (scene.session.left, taken_in(scene)) == (Left(), GIVEN_BACK)


def test_one_that_is_not_left_or_has_shown_all_has_not_ended_for_us():
    scene = refuse(answering(), 0.0, 0.3, 0.6, 0.9)
    assert scene.state is PeerState.ANSWERING
    scene.stop().until(lambda: not scene.session.unconfirmed)
    scene.frozen = True
    if scene.session.leaving:
        refuse(scene, 0.0, 0.3, 0.6)
    assert (scene.session.leaving, scene.session.left) == (False, Left())


def test_what_was_reported_after_the_end_does_not_count_after_the_next_start():
    scene = answering()
    scene.session.release(scene.now)
    scene.run(LATEST)
    scene.frozen = True
    scene.begin().until(lambda: scene.times('state')).stop()
    assert scene.session.held_by_others == ()
    scene.plugin.cells.write(JOYSTICK, 1.0, 'other')
    for channel, data in scene.plugin.frame(scene.now):
        scene.receive(channel, data)
    assert 'joystick' in scene.session.held_by_others
    scene.start()
    assert scene.session.held_by_others == ()


def test_in_lockstep_controls_that_wait_at_the_end_of_silence_are_not_sent():
    for make in (loading, away):
        scene = make(lockstep=True, lifetime=5.0, polled=False)
        for number in range(1, 8):
            scene.session.set_controls({'elevator': number / 20.0}, scene.now)
            scene.poll()
        assert [controls.elevator for controls in scene.commands(xpc.SetControls)] == [
            pytest.approx(number / 20.0) for number in range(1, 7)]
        scene.begin().stop().run(6.0)
        assert {controls.elevator for controls in scene.commands(xpc.SetControls)} == {0.0}
        # Seldom a question, as it may have been
        # unreachable instead.
        assert (len(scene.commands()), len(scene.times('check'))) == (2, 3)
        assert scene.told(CommandDone) == []


def test_controls_are_refused_after_the_end_also_in_lockstep():
    scene = Scene(lockstep=True).run(1.0)
    scene.session.set_controls({'elevator': 0.5}, scene.now)
    scene.run(1.0)
    scene.session.stop(scene.now)
    with pytest.raises(PeerAbsentError, match='not started'):
        scene.session.set_controls({'elevator': 0.5}, scene.now)
    with pytest.raises(PeerAbsentError, match='not started'):
        scene.session.set_levers({THROTTLE: (-2.0,)}, scene.now)
    scene.run(4.0)
    assert not scene.session.taken
    with pytest.raises(PeerAbsentError, match='not started'):
        scene.session.set_controls({'elevator': 0.5}, scene.now)


def test_each_cell_that_does_something_is_visited():
    with visited() as found:
        for name, test in tuple(globals().items()):
            if name.startswith('test_') and 'each_cell' not in name:
                test()
    assert cells(TABLE | TEARDOWN) - found == set()
