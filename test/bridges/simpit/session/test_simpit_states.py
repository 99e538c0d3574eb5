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

"""Each cell of the table of states of a conversation with a Simpit plugin."""

from contextlib import suppress

from cells import cells, visited

from xplane_bridge.bridges.sessions.base import CommandDone, PeerChanged, PeerState
from xplane_bridge.bridges.sessions.left import Left
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.protocol import ActionGroup, ActionGroups, Packet, PROFILES
from xplane_bridge.bridges.simpit.session import Connected, EchoDone, Game, SimpitSession
from xplane_bridge.bridges.simpit.session.states import TABLE, TEARDOWN

UNKNOWN, CLOSED, AWAY, ANSWERING, STREAMING, LEAVING = (
    PeerState.UNKNOWN, PeerState.CLOSED, PeerState.AWAY, PeerState.ANSWERING,
    PeerState.STREAMING, PeerState.LEAVING)
NOT_STARTED = 'the session is not started'
FIRST_REPLY = 'waiting for the first reply on the port'
NOBODY = 'nothing answers on the port'
NOT_OPEN = 'the port is not open'
HANDSHAKE, ECHO, REGISTER, DEREGISTER, ACTIVATE, ROTATION, THROTTLE = 0, 1, 8, 9, 13, 16, 19
STEP = 0.05
STAGE = ActionGroups('activate', ActionGroup.STAGE)
ENDS = ('what the plugin forces ends with the flight scene (revert, or leave to the space '
        'centre)')
NOTHING_ANSWERS = f'nothing answers on the port: {ENDS}'
PORT_GONE = f'the port is gone: {ENDS}'
NO_ECHO = (
    'the plugin on the port answers no echo, so it may not have read it: it ends with the flight '
    'scene (revert, or leave to the space centre)')


class Line:
    """
    A session, and at the other end of its line a plugin that answers at once.

    ``reads`` is whether the plugin hears the session, ``answers`` whether the session hears it;
    ``flies`` whether telemetry arrives.
    """

    def __init__(self, profile='v2.3', flies=False, **options):
        self.session = SimpitSession(
            options.pop('channels', ('altitude',)), profile=profile, name='the port', **options)
        self.profile = PROFILES['v2.3' if profile == 'auto' else profile]
        self.now = 100.0
        self.reads = self.answers = True
        self.flies = flies
        # What the session has sent: when, and the packet.
        self.sent = []
        self.told = []

    def poll(self):
        """Let the session send, and the plugin answer."""
        outgoing = self.session.poll(self.now)
        self.told += self.session.expired()
        for _, data in outgoing:
            for packet in simpit.make_decoder(self.profile.framing).feed(data):
                self.sent.append((self.now, packet))
                if self.reads:
                    self._answer(packet)

    def _answer(self, packet):
        if packet.channel == HANDSHAKE and packet.payload[0] == 0:
            self.synack()
        elif packet.channel == ECHO:
            self.receive(Packet(2, packet.payload))

    def synack(self):
        """Answer a handshake."""
        self.receive(Packet(HANDSHAKE, b'\1\x37'))

    def receive(self, packet):
        """Let the session receive a packet, or a message, unless it hears nothing."""
        if not isinstance(packet, Packet):
            packet = simpit.encode_packet(packet, 'peer', self.profile)
        if self.answers:
            self.told += self.session.receive(
                'serial', simpit.encode_frame(self.profile.framing, packet), None, self.now)

    def run(self, seconds):
        """Let time pass; return what was told."""
        for _ in range(round(seconds / STEP)):
            self.now += STEP
            self.poll()
            if self.flies:
                self.receive(simpit.Altitude(1.0, 2.0))
        self.poll()
        return self.news()

    def news(self):
        """Return what was told since the last time, apart from telemetry."""
        self.told += self.session.expired()
        told, self.told = self.told, []
        return [event for event in told
                if isinstance(event, PeerChanged | Connected | CommandDone | EchoDone)]

    def call(self, name, *given, **options):
        """Call a method of the session, and return what was told."""
        getattr(self.session, name)(*given, self.now, **options)
        return self.news()

    def packets(self, channel):
        """Return the payloads sent on a channel since the last time that this was asked."""
        found = [packet.payload for _, packet in self.sent if packet.channel == channel]
        self.sent = [item for item in self.sent if item[1].channel != channel]
        return found

    def syns(self):
        """Return how many SYNs were sent since the last time."""
        return sum(payload[0] == 0 for payload in self.packets(HANDSHAKE))

    def cut(self):
        """Let nothing pass in either direction."""
        self.reads = self.answers = False
        return self

    def heal(self):
        """Let everything pass again."""
        self.reads = self.answers = True
        return self


CONNECTED = Connected('v2.3', Game.KSP1)
NEUTRAL = simpit.encode_packet(simpit.Rotation(0, 0, 0, 1), 'bridge', PROFILES['v2.3']).payload


def states(events):
    return [event.state for event in events if isinstance(event, PeerChanged)]


def of_kind(events, kind):
    return [event for event in events if isinstance(event, kind)]


def opened(**options):
    """Return a line on which the session waits for a first reply that does not come."""
    line = Line(**options)
    line.call('opened')
    line.call('start')
    return line


def waiting(**options):
    """Return a line whose plugin has not answered a SYN."""
    line = opened(**options).cut()
    line.run(0.5)
    assert line.syns() == 1
    assert line.session.absence == FIRST_REPLY
    return line


def answering(**options):
    """Return a line whose plugin answers, in a menu."""
    line = opened(**options)
    assert line.run(0.5) == [PeerChanged(ANSWERING), CONNECTED]
    return line


def streaming(**options):
    """Return a line whose plugin is in flight."""
    line = opened(flies=True, **options)
    assert line.run(0.5) == [PeerChanged(ANSWERING), CONNECTED, PeerChanged(STREAMING)]
    return line


def holding(**options):
    """Return a line whose plugin, in flight, forces an axis."""
    line = streaming(**options)
    line.call('send', simpit.Rotation(500, 0, 0, 1))
    line.run(0.1)
    assert line.session.taken == ('pitch',)
    return line


def quiet(**options):
    """Return a line whose plugin forces an axis, and has stopped sending telemetry."""
    line = holding(**options)
    line.flies = False
    assert states(line.run(2.2)) == [ANSWERING]
    line.run(0.5)
    assert line.session.taken == ('pitch',)
    return line


def away(**options):
    """Return a line whose plugin forces an axis, and has stopped answering."""
    line = holding(**options).cut()
    line.flies = False
    assert states(line.run(6.0)) == [ANSWERING, AWAY]
    line.syns()
    assert line.session.taken == ('pitch',)
    return line


def leaving(line):
    """Stop, and let that be sent."""
    assert states(line.call('stop')) == [LEAVING]
    line.run(0.1)
    assert line.session.leaving
    return line


def comes_back(line):
    """Let the plugin of before come back: it sends on a channel that it knows."""
    line.heal().receive(simpit.Altitude(1.0, 2.0))
    while not line.session.presence.connected:
        line.now += STEP
        line.poll()
    return line.news()


def is_off(line):
    """Check that nothing is sent or owed any more, and nothing known."""
    session = line.session
    assert session.absence == NOT_STARTED
    assert not session.leaving
    assert (session.taken, session.unconfirmed) == ((), ())
    assert (session.registered, session.game) == ((), None)
    line.poll()
    line.sent.clear()
    assert line.run(5.0) == []
    assert line.sent == []
    assert session.next_deadline() is None


def begins_again(line):
    """Check that it is off, and that it begins anew when it is started on the open port."""
    is_off(line)
    assert line.call('start') == []
    begins(line)


def begins(line, taken=(), unconfirmed=()):
    """
    Check that it begins anew: with a SYN, when what waits in drivers is read.

    Whoever answers is given back what was ``taken`` and ``owed``.
    """
    session = line.session
    assert session.absence == FIRST_REPLY
    assert (session.taken, session.unconfirmed) == (taken, unconfirmed)
    assert (session.registered, session.game) == ((), None)
    line.sent.clear()
    line.cut().run(0.0)
    assert line.sent == []
    drained = session.statistics.drained
    line.answers = True
    line.synack()
    assert session.statistics.drained > drained
    line.reads = False
    line.run(0.1)
    assert [packet.channel for _, packet in line.sent] == [HANDSHAKE]
    assert line.syns() == 1
    # Whoever answers is not taken for a former one, whatever it sends before.
    line.receive(simpit.Altitude(1.0, 2.0))
    line.synack()
    assert line.news() == [PeerChanged(ANSWERING), CONNECTED]
    assert (line.session.taken, line.session.unconfirmed) == ((), taken + unconfirmed)
    assert line.session.held_by('') == ()
    line.run(3.5)
    assert set(line.packets(ROTATION)) == ({NEUTRAL} if taken + unconfirmed else set())
    assert line.session.unconfirmed == ()


def load(line):
    """Let something of each kind wait: what the session says, an echo, a command."""
    line.poll()
    line.call('set_channels', ('altitude', 'velocities'))
    line.call('ping', b'x')
    for number in range(9):
        line.call('send', simpit.Log(0, str(number)), what=f'text {number}')


def unloaded(events, state, echo, command):
    """Check how all that waited has ended, and that the state was told first, if it is new."""
    changed, done = states(events), of_kind(events, CommandDone)
    assert changed == [state]
    assert isinstance(events[0], PeerChanged)
    assert [event.error for event in of_kind(events, EchoDone)] == [echo]
    assert {event.error for event in done} == {f'not sent: {command}'}


# Not started.

def test_the_port_of_a_session_that_is_not_started_may_be_opened_and_lost():
    line = Line()
    assert line.call('opened') == []
    assert line.call('lost') == [PeerChanged(CLOSED)]
    assert line.call('opened') == [PeerChanged(UNKNOWN)]
    begins_again(line)


def test_a_port_may_be_lost_before_all():
    line = Line()
    assert line.call('lost') == [PeerChanged(CLOSED)]
    assert line.call('start') == []
    assert line.session.absence == NOT_OPEN


def test_it_may_be_started_before_its_port_is_open():
    line = Line()
    assert line.call('start') == [PeerChanged(CLOSED)]
    assert line.session.absence == NOT_OPEN
    assert line.run(1.0) == []
    assert line.sent == []
    assert line.call('opened') == [PeerChanged(UNKNOWN)]
    begins(line)


def test_it_may_be_stopped_while_its_port_is_closed():
    line = Line()
    line.call('start')
    assert line.call('stop') == []
    is_off(line)
    assert line.call('start') == []
    assert line.session.absence == NOT_OPEN
    assert line.call('stop') == []
    assert line.call('opened') == [PeerChanged(UNKNOWN)]
    assert line.call('start') == []
    begins(line)


# Waiting for the first reply.

def test_waiting_begins_anew_when_the_port_is_opened_again_or_it_is_started_again():
    for again in ('opened', 'start'):
        line = waiting()
        assert line.call(again) == []
        begins(line)


def test_waiting_ends_with_stop():
    line = waiting()
    assert line.call('stop') == [PeerChanged(LEAVING), PeerChanged(UNKNOWN)]
    assert line.session.left == Left()
    begins_again(line)


def test_waiting_ends_with_the_port():
    line = waiting()
    assert line.call('lost') == [PeerChanged(CLOSED)]
    assert line.session.absence == NOT_OPEN
    line.run(3.0)
    assert line.sent == []
    assert line.session.next_deadline() is None
    assert line.call('opened') == [PeerChanged(UNKNOWN)]
    begins(line)


def test_the_first_to_answer_is_asked_for_everything():
    line = waiting()
    line.answers = True
    line.synack()
    assert line.news() == [PeerChanged(ANSWERING), CONNECTED]
    line.poll()
    assert [packet.channel for _, packet in line.sent][:2] == [HANDSHAKE, DEREGISTER]
    assert sorted(b''.join(line.packets(REGISTER))) == [*line.session.registered]


def test_nobody_answers():
    line = opened().cut()
    assert line.run(5.0) == [PeerChanged(AWAY)]
    assert line.session.absence == NOBODY
    assert 'no answer to the handshake' in line.session.hint
    assert line.syns() == 5
    line.heal()
    assert line.run(1.5) == [PeerChanged(ANSWERING), CONNECTED]
    assert line.session.hint == ''


# A plugin in a menu, and in flight.

def test_all_begins_anew_when_a_port_is_opened_again_or_it_is_started_again():
    for again in ('opened', 'start'):
        for make in (holding, quiet):
            line = make()
            load(line)
            before = len(line.sent)
            events = line.call(again)
            assert len(line.sent) == before
            line.sent.clear()
            assert line.session.poll(line.now) == []
            events += line.news()
            unloaded(events, UNKNOWN, 'the conversation was restarted', FIRST_REPLY)
            assert len(of_kind(events, CommandDone)) == 9
            begins(line, taken=('pitch',))


def test_all_ends_with_the_port():
    for make in (holding, quiet):
        line = make()
        load(line)
        events = line.call('lost')
        line.sent.clear()
        events += line.run(0.0)
        unloaded(events, CLOSED, 'the serial port was lost', NOT_OPEN)
        session = line.session
        assert (session.taken, session.registered, session.game) == (('pitch',), (), None)
        line.run(3.0)
        assert line.sent == []
        assert line.call('opened') == [PeerChanged(UNKNOWN)]
        begins(line, taken=('pitch',))


def test_what_is_left_is_given_back_and_all_that_waits_ends():
    for make in (holding, quiet):
        line = make()
        load(line)
        line.sent.clear()
        line.cut()
        events = line.call('stop')
        assert line.session.taken == ()
        assert line.session.unconfirmed == ('pitch',)
        events += line.run(0.1)
        unloaded(events, LEAVING, 'the node was deactivated', NOT_STARTED)
        assert line.packets(ROTATION)[0] == simpit.encode_packet(
            simpit.Rotation(0, 0, 0, 1), 'bridge', line.profile).payload
        assert line.packets(DEREGISTER)[-1]
        line.run(1.0)
        assert line.syns() == 0


def test_a_menu_is_asked_for_a_sign_of_life_and_registered_with_again():
    line = answering()
    line.packets(REGISTER)
    assert line.run(2.2) == [CONNECTED]
    assert line.packets(REGISTER)
    assert line.session.peer_state is ANSWERING
    assert line.session.statistics.handshakes == 2


def resumed(**options):
    """Return a line whose telemetry came back before the plugin has answered a handshake."""
    line = holding(**options).cut()
    assert states(line.run(2.2)) == [ANSWERING]
    line.answers = True
    assert states(line.run(0.5)) == [STREAMING]
    return line


def test_a_handshake_that_is_answered_in_flight_registers_again():
    line = resumed()
    line.packets(REGISTER)
    line.synack()
    assert line.news() == [CONNECTED]
    line.poll()
    assert line.packets(REGISTER)
    assert line.session.absence == ''
    assert line.session.taken == ('pitch',)


def stops_answering(line, same):
    """Let a plugin stop answering while commands and echoes wait, and it or another one come."""
    line.cut()
    events = []
    while line.session.peer_state is not AWAY:
        with suppress(ValueError):
            line.call('ping', b'x')
        for number in range(4):
            line.call('send', simpit.Log(0, f'{number:030}'), what=f'text {number}')
        line.now += STEP
        line.syns()
        line.poll()
        events = line.news()
    assert events[0] == PeerChanged(AWAY)
    assert {event.error for event in of_kind(events, EchoDone)} == {
        'the plugin stopped responding'}
    assert f'not sent: {NOBODY}' in {event.error for event in of_kind(events, CommandDone)}
    session = line.session
    assert session.absence == NOBODY
    assert (session.registered, session.game, session.taken) == ((), None, ('pitch',))
    # It is asked at once, and again and again.
    assert line.syns() == 1
    line.run(3.2)
    assert line.syns() == 3
    if same:
        assert comes_back(line) == [PeerChanged(ANSWERING), CONNECTED]
        assert (session.taken, session.unconfirmed) == (('pitch',), ())
    else:
        line.flies = False
        assert line.heal().run(1.2) == [PeerChanged(ANSWERING), CONNECTED]
        assert (session.taken, session.unconfirmed) == ((), ('pitch',))


def test_a_plugin_in_a_menu_stops_answering():
    for same in (True, False):
        stops_answering(quiet(line_rate=240.0), same)


def test_a_plugin_in_flight_stops_answering_while_it_is_asked_for_a_sign_of_life():
    for same in (True, False):
        stops_answering(resumed(line_rate=240.0), same)


def test_telemetry_that_arrives_as_registered_is_a_flight():
    line = streaming()
    assert line.session.absence == ''
    # It had just been registered, and is not so again.
    assert len(line.packets(REGISTER)) == 1


def test_a_flight_that_begins_registers_again_what_may_be_another_ones():
    line = streaming()
    line.run(1.0)
    line.packets(REGISTER)
    line.receive(simpit.SceneChange(0))
    assert states(line.news()) == [ANSWERING, STREAMING]
    line.poll()
    assert sorted(b''.join(line.packets(REGISTER))) == [*line.session.registered]


def test_a_scene_that_is_left_ends_a_flight():
    line = holding()
    for _ in range(5):
        line.call('send', STAGE)
    line.receive(simpit.SceneChange(1))
    events = line.run(0.0)
    assert states(events) == [ANSWERING]
    assert [event.error for event in of_kind(events, CommandDone)] == 5 * [
        'not sent: the game on the port has left the flight scene']
    assert line.session.taken == ()
    assert line.session.held_by('') == ()


def test_a_scene_that_is_ready_is_another_flight():
    line = holding()
    line.receive(simpit.SceneChange(0))
    assert states(line.news()) == [ANSWERING, STREAMING]
    assert line.session.taken == ()


def test_a_scene_that_is_left_in_a_silence_ends_the_flight_too():
    line = quiet()
    line.receive(simpit.SceneChange(1))
    line.receive(simpit.ActionStatus(ActionGroup.GEAR))
    line.news()
    assert line.session.taken == ()
    # Whatever was said between two scenes is not of the next.
    line.receive(simpit.SceneChange(0))
    assert states(line.news()) == [STREAMING]
    line.call('set_controls', {'gear': 1.0})
    line.sent.clear()
    line.run(0.1)
    assert len(line.packets(ACTIVATE)) == 1


def test_a_flight_that_falls_silent_may_be_over():
    line = holding(line_rate=240.0)
    line.call('send', simpit.Rotation(0, 0, 0, 1))
    line.flies = False
    events = []
    while not states(events):
        for number in range(4):
            line.call('send', simpit.Log(0, f'{number:030}'), what=f'text {number}')
        line.now += STEP
        line.poll()
        events = line.news()
    assert events[0] == PeerChanged(ANSWERING)
    assert 'not sent: the game on the port is not in the flight scene: no telemetry arrives' in {
        event.error for event in of_kind(events, CommandDone)}
    # Nothing is forced any more: nobody has an axis.
    assert line.session.held_by('') == ()


# Another profile than was thought.

PADDED = b'\0' * 26


def padded_synack(line):
    """Answer a SYN as v1 does."""
    data = simpit.encode_frame('aa50', Packet(HANDSHAKE, b'\1\x37')) + PADDED
    line.told += line.session.receive('serial', data, None, line.now)


def old(**options):
    """Return a line on which an older plugin has answered the second of two SYNs."""
    line = opened(profile='auto', **options).cut()
    line.profile = PROFILES['v0']
    line.run(0.7)
    padded_synack(line)
    assert line.news() == [PeerChanged(ANSWERING), Connected('v0', Game.KSP1)]
    return line


def test_a_plugin_that_pads_what_it_says_is_spoken_to_as_such():
    line = old()
    line.run(0.2)
    padded_synack(line)
    line.run(0.2)
    assert line.session.profile is PROFILES['v1']
    assert line.session.registered == (8,)
    assert line.session.absence == 'waiting for the first telemetry on the port'


def test_a_plugin_that_turns_out_to_be_another_in_flight_is_spoken_to_as_such():
    line = old(channels=(200,))
    line.run(0.2)
    line.answers = True
    line.receive(Packet(200, b'?'))
    padded_synack(line)
    assert line.news() == [PeerChanged(STREAMING), Connected('v0', Game.KSP1)]
    line.profile = PROFILES['v1']
    line.sent.clear()
    assert line.run(0.2) == [Connected('v1', Game.KSP1)]
    assert line.session.profile is PROFILES['v1']
    assert sorted(b''.join(line.packets(REGISTER))) == [8, 200]


# A plugin that has stopped answering.

def test_one_that_is_away_is_given_up_when_a_port_is_opened_again_or_it_is_started_again():
    for again in ('opened', 'start'):
        line = away()
        assert line.call(again) == [PeerChanged(UNKNOWN)]
        begins(line, taken=('pitch',))


def test_one_that_is_away_is_given_up_with_the_port():
    line = away()
    assert line.call('lost') == [PeerChanged(CLOSED)]
    line.sent.clear()
    line.run(3.0)
    assert line.sent == []
    line.call('opened')
    begins(line, taken=('pitch',))


def test_the_one_of_before_is_given_back_what_it_is_owed():
    line = holding().cut()
    line.flies = False
    line.run(2.0)
    line.call('release')
    line.run(4.5)
    assert line.session.peer_state is AWAY
    assert line.session.unconfirmed == ('pitch',)
    line.packets(ROTATION)
    assert comes_back(line) == [PeerChanged(ANSWERING), CONNECTED]
    line.run(1.0)
    assert len(line.packets(ROTATION)) >= 4
    line.run(3.0)
    assert line.session.unconfirmed == ()


def test_nobody_has_an_axis_of_the_one_of_before_that_was_given_back_meanwhile():
    line = away()
    assert line.session.held_by('') == ('pitch',)
    line.call('release')
    comes_back(line)
    assert line.session.held_by('') == ()


def test_another_one_may_be_the_one_of_before_and_is_given_back_what_that_one_forces():
    for released in (False, True):
        line = away()
        if released:
            line.call('release')
        line.packets(ROTATION)
        line.heal()
        assert line.run(1.2) == [PeerChanged(ANSWERING), CONNECTED]
        assert (line.session.taken, line.session.unconfirmed) == ((), ('pitch',))
        assert line.session.held_by('') == ()
        line.run(3.5)
        assert len(line.packets(ROTATION)) > 10
        assert line.session.unconfirmed == ()
        line.call('stop')
        line.run(3.5)
        assert line.packets(ROTATION) == []


def test_a_command_is_not_ended_by_what_is_given_back_to_another_one():
    line = away()
    line.heal().run(1.2)
    line.flies = True
    line.run(0.1)
    line.call('send', simpit.Rotation(700, 0, 0, 1))
    line.run(0.1)
    assert (line.session.taken, line.session.unconfirmed) == (('pitch',), ())
    line.packets(ROTATION)
    line.run(3.5)
    assert line.packets(ROTATION) == []


def throttled(**options):
    """Return a line whose plugin, known to be 2.3, forces the throttle until that is released."""
    line = opened(profile='cobs', flies=True, release_throttle=True, **options)
    line.run(0.5)
    line.receive(simpit.VesselChange(1))
    line.run(0.1)
    assert line.session.profile is PROFILES['v2.3']
    line.call('send', simpit.Throttle(20000))
    line.run(0.1)
    assert line.session.taken == ('throttle',)
    return line


def throttled_away():
    """Return a line whose plugin forces the throttle, and has stopped answering."""
    line = throttled().cut()
    line.flies = False
    line.run(6.0)
    assert line.session.peer_state is AWAY
    assert line.packets(THROTTLE)
    return line


def test_a_throttle_is_given_back_to_another_one_only_if_that_is_known_to_let_go():
    """Some would close it for ever."""
    for released in (False, True):
        line = throttled_away()
        if released:
            line.call('release')
            assert line.session.unconfirmed == ('throttle',)
        line.heal().run(1.2)
        line.flies = True
        line.run(0.1)
        line.call('release')
        line.run(1.0)
        assert line.packets(THROTTLE) == []
        assert (line.session.taken, line.session.unconfirmed) == (('throttle',), ())
        line.receive(simpit.VesselChange(1))
        line.call('release')
        assert (line.session.taken, line.session.unconfirmed) == ((), ('throttle',))
        line.run(0.1)
        assert line.packets(THROTTLE) == [b'\0\0']


def test_a_throttle_is_given_back_to_the_one_of_before():
    line = throttled_away()
    line.call('release')
    comes_back(line)
    line.run(0.1)
    assert line.packets(THROTTLE) == [b'\0\0']


# Leaving.

def test_leaving_ends_when_it_is_started_again():
    line = leaving(holding().cut())
    assert line.call('start') == [PeerChanged(UNKNOWN)]
    assert line.session.left == Left()
    begins(line, unconfirmed=('pitch',))


def test_leaving_that_ends_when_it_is_started_again_gives_back_no_throttle_to_another_one():
    line = leaving(throttled().cut())
    assert line.session.unconfirmed == ('throttle',)
    line.flies = False
    line.call('start')
    line.packets(THROTTLE)
    line.heal().run(1.0)
    assert line.session.peer_state is ANSWERING
    assert line.packets(THROTTLE) == []
    assert (line.session.taken, line.session.unconfirmed) == (('throttle',), ())


def test_leaving_ends_with_the_port():
    line = holding()
    line.cut().call('stop')
    assert line.call('lost') == [PeerChanged(CLOSED)]
    assert line.session.left == Left(('pitch',), PORT_GONE)
    is_off(line)
    line = holding()
    line.cut().call('stop')
    line.call('lost')
    line.call('opened')
    assert line.session.poll(line.now) == []


def test_leaving_ends_when_all_was_shown():
    line = leaving(holding())
    line.flies = False
    assert states(line.run(3.5)) == [UNKNOWN]
    assert line.session.left == Left()
    assert len(line.packets(ROTATION)) > 10
    begins_again(line)


def test_leaving_ends_when_there_is_no_more_time():
    line = holding()
    line.reads = False
    leaving(line)
    assert states(line.run(3.5)) == [UNKNOWN]
    assert line.session.left == Left(('pitch',), NO_ECHO, is_error=True)
    line.flies = False
    is_off(line)


def left_away(line):
    """Stop while the plugin is away, and let that be sent."""
    assert states(line.call('stop')) == [LEAVING]
    line.run(0.1)
    assert line.session.unconfirmed == ('pitch',)
    assert line.packets(ROTATION)
    return line


def test_leaving_in_a_silence_ends_when_it_is_started_again():
    line = left_away(away())
    assert line.call('start') == [PeerChanged(UNKNOWN)]
    begins(line, unconfirmed=('pitch',))


def test_leaving_in_a_silence_ends_with_the_port():
    line = left_away(away())
    assert line.call('lost') == [PeerChanged(CLOSED)]
    assert line.session.left == Left(('pitch',), PORT_GONE)
    is_off(line)


def test_what_cannot_be_given_back_as_the_port_is_gone_is_named():
    for make in (holding, away):
        line = make()
        line.call('lost')
        line.sent.clear()
        assert line.call('stop') == []
        assert line.session.left == Left(('pitch',), PORT_GONE)
        is_off(line)
        line.call('opened')
        line.call('start')
        begins(line)
    line = streaming()
    line.call('lost')
    line.call('stop')
    assert line.session.left == Left()


def test_what_was_taken_before_the_port_was_opened_again_is_given_back_while_it_is_left():
    line = holding()
    line.call('lost')
    line.call('opened')
    line.sent.clear()
    line.cut()
    left_away(line)
    assert set(line.packets(ROTATION)) <= {NEUTRAL}
    line.run(3.5)
    assert line.session.left == Left(('pitch',), NOTHING_ANSWERS)
    begins_again(line)


def test_leaving_in_a_silence_ends_at_once_if_nothing_was_taken():
    line = streaming().cut()
    line.run(6.0)
    assert line.session.peer_state is AWAY
    assert line.call('stop') == [PeerChanged(LEAVING), PeerChanged(UNKNOWN)]
    assert line.session.left == Left()
    begins_again(line)


def test_leaving_in_a_silence_ends_when_there_is_no_more_time():
    line = away()
    ends_at = line.now + line.session.release_timeout
    left_away(line)
    while line.now < ends_at:
        assert line.session.leaving
        line.now += STEP
        line.poll()
    assert line.news() == [PeerChanged(UNKNOWN)]
    assert line.session.left == Left(('pitch',), NOTHING_ANSWERS)
    begins_again(line)


def test_the_one_of_before_that_comes_back_while_it_is_left_is_given_back_at_once():
    line = left_away(away())
    line.run(2.0)
    line.heal().receive(simpit.Altitude(1.0, 2.0))
    line.packets(ROTATION)
    line.synack()
    assert line.session.presence.connected
    line.poll()
    assert line.packets(ROTATION)
    assert states(line.run(1.0)) == [UNKNOWN]
    assert line.session.left == Left()
    begins_again(line)


def test_the_throttle_is_released_by_the_one_of_before_that_comes_back_while_it_is_left():
    line = throttled_away()
    assert states(line.call('stop')) == [LEAVING]
    line.run(0.1)
    assert line.packets(THROTTLE) == []
    comes_back(line)
    line.run(0.1)
    assert line.packets(THROTTLE) == [b'\0\0']


def test_another_one_that_answers_while_one_is_left_is_given_back_the_same_at_once():
    line = left_away(away())
    line.run(2.0)
    line.packets(ROTATION)
    line.heal().synack()
    assert line.news() == []
    assert line.session.leaving
    line.poll()
    assert line.packets(ROTATION) == [NEUTRAL]
    assert states(line.run(1.0)) == [UNKNOWN]
    assert line.session.left == Left()
    begins_again(line)


def test_another_one_that_answers_while_one_is_left_is_given_back_no_throttle():
    line = throttled_away()
    line.call('stop')
    line.heal().synack()
    line.run(0.5)
    assert line.packets(THROTTLE) == []


def test_another_one_that_answers_no_echo_while_one_is_left_may_not_have_read_it():
    line = left_away(away())
    line.answers = True
    line.synack()
    assert states(line.run(3.5)) == [UNKNOWN]
    assert line.session.left == Left(('pitch',), NO_ECHO)
    line.cut()
    is_off(line)


def test_each_cell_that_does_something_is_visited():
    with visited() as found:
        for name, test in tuple(globals().items()):
            if name.startswith('test_') and 'each_cell' not in name:
                test()
    assert cells(TABLE | TEARDOWN) - found == set()
