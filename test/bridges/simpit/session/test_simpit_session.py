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

"""Both ends of a KerbalSimpit conversation, in simulated time and without a port."""

from collections import Counter
import random
import struct

from hypothesis import given, settings
from hypothesis import strategies as st
import pytest
from simpit_cable import ALTITUDE, Cable, connect, LATENCY, of_kind, OWN, packets
from vector_files import vectors

from xplane_bridge.bridges.sessions.base import (
    CommandDone,
    PeerAbsentError,
    PeerChanged,
    PeerState,
)
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.protocol import (
    ActionGroup,
    ActionGroups,
    CustomActionGroups,
    Packet,
    PROFILES,
)
from xplane_bridge.bridges.simpit.session import (
    Connected,
    EchoDone,
    Game,
    SimpitSession,
    Telemetry,
)
from xplane_bridge.simulation.peers.simpit import (
    DeviceCommand,
    DeviceHandshake,
    PluginSession,
    PortDeaf,
    Subscriptions,
)

VECTORS = {
    vector['name']: vector
    for vector in vectors('simpit')}
PROFILE_OF_ERA = {'a': 'v0', 'b1': 'v1', 'b2': 'v2', 'c': 'cobs'}
ALL = sorted(PROFILES)
OLD = ('v0', 'v1')
COBS = ('v2.2', 'v2.3', 'cobs')
# Handshakes as the plugins' own libraries and the plugins write them.
SYN = {'aa50': 'aa5002000037', 'cobs': '0101023736'}
SYNACK = {'aa50': bytes.fromhex('aa5002000137'), 'cobs': bytes.fromhex('010401373600')}


# The device's side.


@pytest.mark.parametrize('profile', ALL)
@pytest.mark.parametrize('seed', [None, 1, 2])
def test_handshake_then_telemetry(profile, seed):
    cable = connect(profile, seed=seed, run=3.0)
    assert of_kind(cable.events['device'], Connected) == [Connected(profile, Game.KSP1)]
    assert of_kind(cable.events['device'], PeerChanged) == [
        PeerChanged(PeerState.ANSWERING), PeerChanged(PeerState.STREAMING)]
    heights = cable.telemetry()
    # 2.95 s of one packet every 80 or 125 ms.
    assert abs(len(heights) - (36 if profile == 'v0' else 23)) <= 2
    assert set(heights) == {ALTITUDE}
    assert cable.device.statistics.handshakes == 1
    assert cable.device.statistics.syns == 1


@pytest.mark.parametrize('profile', ALL)
def test_device_sends_syn_ack_deregister_register_in_this_order(profile):
    cable = connect(profile, run=0.2, id_bytes=b'AB\0', flight=False)
    table = PROFILES[profile]
    # v0 receives the two on 3 and 4, the others on 8 and 9; altitude is 4, then 8.
    altitude, register, deregister = (4, 3, 4) if profile == 'v0' else (8, 8, 9)
    sent = packets(profile, cable.sent['device'])
    assert sent[0] == Packet(0, b'\0AB\0')
    assert sent[1] == Packet(0, b'\2AB\0')
    rest = [packet for packet in sent[2:] if packet.channel != 1]
    assert rest[-1].channel == register
    assert sorted(rest[-1].payload) == list(OWN[profile])
    given_back = Counter(channel for packet in rest[:-1] for channel in packet.payload)
    assert all(packet.channel == deregister for packet in rest[:-1])
    assert given_back[altitude] == (4 if profile in OLD else 1)
    assert all(table.find('peer', channel) for channel in given_back)


def test_synack_is_found_among_telemetry_and_garbage():
    session = SimpitSession(profile='v1')
    session.opened(0.0)
    session.start(0.0)
    session.poll(0.1)
    stream = (b'\0\x11\xaa\xaa\x50\xff' + bytes.fromhex(VECTORS['telemetry_b1_chan8']['hex'])
              + SYNACK['aa50'] + bytes(26))
    events = []
    for byte in stream:
        events += session.receive('serial', bytes((byte,)), None, 0.2)
    assert of_kind(events, Connected)


@pytest.mark.parametrize('name', [
    'init_a_telemetry_before_synack', 'init_b1_garbage_before_synack', 'init_b2_clean',
    'init_b2_garbage_before_synack', 'init_c_telemetry_before_synack', 'init_c_ksp2',
    'b1_syn_library', 'c_syn_library', 'init_b1_synack_ksp2_byte'])
def test_recorded_answers_complete_the_handshake(name):
    """The genuine libraries cannot cope with some of these."""
    vector = VECTORS[name]
    profile = PROFILE_OF_ERA[vector['era']]
    answer = vector['fields'].get('reply_hex') or vector['hex']
    if name == 'c_syn_library':
        answer = '010401373600'
    session = SimpitSession(profile=profile)
    session.opened(0.0)
    session.start(0.0)
    session.poll(0.1)
    connected = of_kind(session.receive('serial', bytes.fromhex(answer), None, 0.2), Connected)
    assert connected == [Connected(profile, Game.KSP2 if 'ksp2' in name else Game.KSP1)]


def test_input_before_the_first_syn_is_drained():
    session = SimpitSession(profile='v1')
    session.opened(0.0)
    session.start(0.0)
    assert session.poll(0.0) == []
    assert session.receive('serial', SYNACK['aa50'], None, 0.01) == []
    assert session.statistics.drained == 6
    assert [data[:5] for _, data in session.poll(0.05)] == [bytes.fromhex('aa500f0000')]


def test_syn_is_repeated_about_once_a_second():
    session = SimpitSession(profile='v2')
    session.opened(0.0)
    session.start(0.0)
    times, events = [], []
    now = 0.0
    while now < 5.0:
        if session.poll(now):
            times.append(now)
        events += session.expired()
        now = max(now, session.next_deadline())
    assert times == pytest.approx([0.05, 1.05, 2.05, 3.05, 4.05])
    assert session.peer_state is PeerState.AWAY
    assert events == [PeerChanged(PeerState.AWAY)]
    assert 'no answer' in session.hint
    assert "'cobs'" in session.hint


def test_auto_tries_both_framings_and_never_confuses_the_other():
    session = SimpitSession(id_bytes=b'AB')
    session.opened(0.0)
    session.start(0.0)
    sent = []
    now = 0.0
    while now < 2.0:
        sent += [(round(now, 2), data) for _, data in session.poll(now)]
        now = session.next_deadline()
    cobs, aa50 = bytes.fromhex('0101044142'), bytes.fromhex('aa500300004142')
    assert [at for at, _ in sent] == [0.05, 0.55, 1.05, 1.55]
    assert sent[0][1][:5] == cobs
    assert sent[2][1][:5] == cobs
    # Its 0 also ends the frame for a plugin of the other framing.
    assert sent[1][1] == aa50 + b'\0'
    assert sent[3][1] == aa50 + b'\0'


@pytest.mark.parametrize('profile', ['v0', 'v1', 'v2', 'cobs'])
def test_auto_finds_the_profile_in_flight(profile):
    cable = connect(profile, device='auto', run=2.0)
    assert cable.device.profile is PROFILES[profile]
    assert len(cable.telemetry(clear=False)) > 5
    assert of_kind(cable.events['device'], Connected)[-1].profile == profile
    cable.call(cable.device.send, ActionGroups('activate', ActionGroup.GEAR))
    cable.run(0.2)
    assert cable.commands()[-1] == ActionGroups('activate', ActionGroup.GEAR)
    assert cable.plugin.subscriptions == OWN[profile]


def test_auto_knows_v1_by_its_padding_in_every_scene():
    cable = connect('v1', device='auto', flight=False, run=1.0)
    assert cable.device.profile is PROFILES['v1']
    assert cable.plugin.subscriptions == (8,)


def test_auto_does_not_take_noise_of_once_for_the_padding_of_v1():
    cable = Cable(SimpitSession(), PluginSession('v2'))
    noisy = [30]

    def spoil(data):
        noise, noisy[0] = b'\x11' * noisy[0], 0
        return data + noise

    cable.spoil['plugin'] = spoil
    cable.call(cable.device.start)
    cable.run(1.5)
    assert cable.device.framing.noise_bytes >= 30
    assert cable.device.profile is PROFILES['v0']
    assert cable.plugin.subscriptions == ()


def test_auto_knows_v1_before_its_padding_by_echoes_that_are_cut():
    """Plugins 0.8 to 1.2.0: like v1, without the padding, and in flight only."""
    plugin = PluginSession('v1')
    plugin._buffer = None
    cable = Cable(SimpitSession(), plugin)
    cable.call(cable.plugin.set_flight, True)
    cable.call(cable.plugin.provide, ALTITUDE)
    cable.call(cable.device.start)
    cable.run(5.5)
    assert cable.device.profile is PROFILES['v1']
    assert cable.device.peer_state is PeerState.STREAMING
    assert cable.commands() == []


def test_auto_does_not_take_v0_for_another_while_registrations_get_lost():
    """To v0 the registration of others would toggle custom action groups."""
    cable = Cable(SimpitSession(), PluginSession('v0'))
    cable.call(cable.plugin.set_flight, True)
    cable.call(cable.plugin.provide, ALTITUDE)
    lost = [2]

    def spoil(data):
        if data[:2] == b'\xaa\x50' and data[3] == 3 and lost[0]:
            lost[0] -= 1
            return b''
        return data

    cable.spoil['device'] = spoil
    cable.call(cable.device.start)
    cable.run(6.0)
    assert cable.commands() == []
    assert cable.device.profile is PROFILES['v0']
    assert cable.device.peer_state is PeerState.STREAMING


def test_auto_outside_flight_names_the_profiles_and_speaks_the_right_one_in_flight():
    cable = connect('v2', device='auto', flight=False, run=4.0)
    (hint,) = cable.hints()
    assert hint.profile == ''
    assert "'v1'" in hint.text
    assert 'flight scene' in hint.text
    cable.call(cable.plugin.set_flight, True)
    cable.run(2.0)
    assert cable.device.profile is PROFILES['v2']
    assert cable.device.peer_state is PeerState.STREAMING


@pytest.mark.parametrize(('plugin', 'told'), [('v1', 'v1'), ('v2', 'v2')])
def test_wrong_profile_is_named_by_what_the_plugin_does_now(plugin, told):
    cable = connect(plugin, device='v0', run=4.0)
    assert [hint.profile for hint in cable.hints()] == [told]
    assert f"set profile '{told}'" in cable.device.hint


def test_noise_of_hours_ago_is_no_advice():
    """A working v2 link was reported as v1 because of a noise count that only ever grows."""
    cable = connect('v2')
    cable.device.receive('serial', b'\x11' * 300, None, cable.now)
    cable.run(10.0)
    cable.call(cable.plugin.set_flight, False)
    cable.run(6.0)
    assert cable.device.framing.noise_bytes >= 300
    assert [hint.profile for hint in cable.hints()] == ['']


def test_right_profile_outside_flight_is_not_talked_out_of():
    cable = connect('v1', flight=False, run=5.0)
    assert [hint.profile for hint in cable.hints()] == ['']
    cable.call(cable.plugin.set_flight, True)
    cable.run(1.0)
    assert cable.device.hint == ''
    assert cable.device.peer_state is PeerState.STREAMING


def test_unconfirmed_v0_sends_no_command_that_others_take_for_another():
    cable = connect('v2', device='auto', flight=False, run=4.0)
    with pytest.raises(PeerAbsentError, match='which of the older plugins'):
        cable.device.send(ActionGroups('activate', ActionGroup.GEAR), cable.now)
    cable.call(cable.device.stop)
    cable.run(1.0)
    # Its registrations mean nothing to them either.
    assert cable.commands() == []
    assert cable.plugin.subscriptions == ()


@pytest.mark.parametrize('profile', ALL)
def test_no_duplicates_after_crashes_of_the_device(profile):
    cable = connect(profile)
    for _ in range(3):
        cable.lose_device()
        cable.run(0.5)
        cable.device.opened(cable.now)
        cable.run(1.0)
    assert cable.plugin.subscriptions == OWN[profile]
    assert cable.device.statistics.handshakes == 4
    cable.telemetry()
    cable.run(1.0)
    assert abs(len(cable.telemetry()) - (12 if profile == 'v0' else 8)) <= 1


def test_what_was_owed_to_a_lost_port_does_not_leave_by_the_next():
    """It may belong to another game; the handshake goes first."""
    cable = connect('v1')
    cable.call(cable.device.send, simpit.Rotation(16384, 0, 0, 1))
    cable.run(0.1)
    assert cable.device.taken
    cable.device.release(cable.now)
    cable.device.lost(cable.now)
    cable.device.opened(cable.now)
    assert cable.device.poll(cable.now) == []
    (syn,) = cable.device.poll(cable.now + 0.05)
    assert syn[1].startswith(bytes.fromhex('aa500f0000'))


@pytest.mark.parametrize('profile', OLD)
def test_registrations_that_an_earlier_run_left_behind_are_given_back(profile):
    table = PROFILES[profile]
    register = simpit.encode(
        simpit.Register(bytes((table.named('peer', 'altitude').id,))), 'bridge', table)
    plugin = PluginSession(profile)
    for _ in range(3):
        plugin.receive('serial', register, None, 99.0)
    assert len(plugin.subscriptions) == 3
    cable = Cable(SimpitSession(profile=profile), plugin)
    cable.call(cable.device.start)
    cable.run(1.0)
    assert len(cable.plugin.subscriptions) == 1


@pytest.mark.parametrize('profile', ['v1', 'v2', 'cobs'])
def test_channels_come_and_go_at_run_time(profile):
    cable = connect(profile)
    speed = simpit.Velocities(2200.0, 2000.0, -12.5)
    cable.call(cable.plugin.provide, speed)
    cable.call(cable.device.set_channels, ['altitude', 'velocities'])
    cable.run(0.5)
    assert cable.plugin.subscriptions == tuple(sorted((*OWN[profile], 22)))
    assert cable.telemetry('velocities')[-1] == speed
    cable.call(cable.device.set_channels, ['velocities'])
    cable.run(0.5)
    cable.events['device'].clear()
    cable.run(0.5)
    assert cable.plugin.subscriptions == tuple(sorted((*OWN[profile], 22)))
    assert cable.device.registered == cable.plugin.subscriptions
    # The session still listens to altitude; its owner does not.
    assert cable.telemetry(clear=False) == []


@pytest.mark.parametrize('profile', ALL)
def test_stop_deregisters(profile):
    cable = connect(profile)
    assert cable.plugin.subscriptions
    cable.call(cable.device.stop)
    cable.run(0.5)
    assert cable.plugin.subscriptions == ()
    cable.events['device'].clear()
    cable.run(5.0)
    assert cable.events['device'] == []
    assert cable.frames['device'][-1][0] < cable.now - 5.0


@pytest.mark.parametrize('profile', ALL)
def test_device_answers_an_echo_request(profile):
    cable = connect(profile)
    request = simpit.encode_frame(PROFILES[profile].framing, Packet(1, b'\xaa\x50\0'))
    assert cable.device.receive('serial', request, None, cable.now) == []
    cable.run(0.1)
    answers = [packet for packet in packets(profile, cable.sent['device']) if packet.channel == 2]
    assert answers == [Packet(2, b'\xaa\x50\0')]


def test_a_flood_of_echo_requests_is_answered_in_part():
    cable = connect('v2')
    flood = 500 * simpit.encode(simpit.EchoRequest(b'?'), 'peer', PROFILES['v2'])
    cable.device.receive('serial', flood, None, cable.now)
    answers = cable.device.poll(cable.now)
    assert 1 <= len(answers) <= 32
    assert cable.device.statistics.unexpected >= 400


@pytest.mark.parametrize('profile', ALL)
def test_ping_measures_the_round_trip(profile):
    cable = connect(profile)
    ticket = cable.call(cable.device.ping, bytes(range(32)))
    cable.run(0.5)
    (done,) = of_kind(cable.events['device'], EchoDone)
    size = 28 if profile in OLD else 32
    assert (done.ticket, done.payload, done.error) == (ticket, bytes(range(size)), '')
    assert done.round_trip == pytest.approx(2 * LATENCY)
    assert cable.device.round_trip == pytest.approx(2 * LATENCY)


def test_ping_outside_flight_ends_with_the_reason():
    cable = connect('v2', flight=False)
    cable.call(cable.device.ping, b'x')
    cable.run(3.0)
    (done,) = of_kind(cable.events['device'], EchoDone)
    assert done.round_trip is None
    assert 'flight scene' in done.error


def test_ping_survives_a_new_handshake_of_the_same_plugin():
    cable = connect('v2')
    cable.call(cable.plugin.withdraw, 'altitude')
    cable.latency = 0.05
    while cable.device.statistics.syns < 2:
        cable.run(0.001)
    ticket = cable.call(cable.device.ping, b'now')
    assert packets('v2', cable.sent['device'])[-1] == Packet(1, b'now')
    cable.run(0.5)
    assert cable.device.statistics.handshakes == 2
    (done,) = of_kind(cable.events['device'], EchoDone)
    assert done.ticket == ticket
    assert done.round_trip == pytest.approx(0.1, abs=0.002)


def test_echo_of_something_else_is_not_taken_for_the_answer():
    """Plugins 1.2 to 1.4 may answer with another packet's bytes."""
    cable = connect('v1')
    cable.spoil['plugin'] = lambda data: data.replace(b'mine', b'your')
    cable.call(cable.device.ping, b'mine')
    cable.run(1.5)
    (done,) = of_kind(cable.events['device'], EchoDone)
    assert done.round_trip is None
    assert cable.device.statistics.unexpected == 1


def test_telemetry_is_a_sign_of_life_while_the_handshake_gets_lost():
    cable = connect('v1')
    cable.call(cable.plugin.withdraw, 'altitude')
    cable.spoil['plugin'] = lambda data: data if data[3] else b''
    cable.run(2.5)
    cable.call(cable.plugin.provide, ALTITUDE)
    cable.events['device'].clear()
    cable.run(5.0)
    assert cable.device.statistics.handshakes == 1
    assert cable.device.statistics.syns > 4
    assert of_kind(cable.events['device'], PeerChanged) == [PeerChanged(PeerState.STREAMING)]


def test_a_missing_echo_is_not_death_while_telemetry_flows():
    cable = connect('v1')
    # A profile in which echoes are lost among the telemetry that overwrites them.
    cable.spoil['plugin'] = lambda data: data if data[3] != 2 else b''
    cable.events['device'].clear()
    cable.run(20.0)
    assert cable.device.statistics.echoes_lost >= 9
    assert cable.device.statistics.handshakes == 1
    assert of_kind(cable.events['device'], PeerChanged) == []


@pytest.mark.parametrize('profile', ALL)
def test_leaving_flight_is_a_state_and_entering_it_needs_nothing(profile):
    cable = connect(profile)
    cable.call(cable.plugin.set_flight, False)
    cable.run(30.0)
    assert cable.device.peer_state is PeerState.ANSWERING
    # SYNs at growing intervals: after 2, 4, 8 and 12 s.
    assert 3 <= cable.device.statistics.handshakes <= 5
    cable.call(cable.plugin.set_flight, True)
    cable.run(1.0)
    assert cable.device.peer_state is PeerState.STREAMING
    assert cable.plugin.subscriptions == OWN[profile]


@pytest.mark.parametrize('profile', ALL)
def test_restarted_game_is_shaken_hands_with_again(profile):
    cable = connect(profile)
    cable.spoil['device'] = cable.spoil['plugin'] = lambda data: b''
    cable.run(10.0)
    assert cable.device.peer_state is PeerState.AWAY
    cable.plugin.restart(cable.now)
    cable.spoil['device'] = cable.spoil['plugin'] = lambda data: data
    cable.events['device'].clear()
    cable.run(2.5)
    assert cable.device.peer_state is PeerState.STREAMING
    assert len(cable.telemetry()) > 5


def test_subscription_lost_in_the_plugin_alone_is_renewed():
    """The player stops and starts the port: echoes go on, telemetry does not."""
    cable = connect('cobs')
    cable.plugin.restart(cable.now)
    cable.events['device'].clear()
    cable.run(4.0)
    assert cable.device.peer_state is PeerState.STREAMING
    assert cable.device.statistics.handshakes == 2


def test_another_plugin_after_silence_is_found_by_auto():
    cable = connect('cobs', device='auto')
    cable.ends['plugin'] = PluginSession('v0')
    cable.call(cable.plugin.set_flight, True)
    cable.call(cable.plugin.provide, ALTITUDE)
    cable.run(8.0)
    assert cable.device.profile is PROFILES['v0']
    assert cable.device.peer_state is PeerState.STREAMING


def test_lost_port_is_a_state_and_commands_say_so():
    cable = connect('v1')
    cable.call(cable.device.ping, b'x')
    cable.lose_device()
    assert cable.device.peer_state is PeerState.CLOSED
    assert of_kind(cable.events['device'], EchoDone)[-1].error == 'the serial port was lost'
    with pytest.raises(PeerAbsentError, match='not open'):
        cable.device.send(simpit.Throttle(1), cable.now)
    assert cable.device.poll(cable.now) == []
    assert cable.device.next_deadline() is None


def test_stop_ends_what_waits_and_leaves_a_peer_that_is_not_known():
    cable = connect('v1')
    cable.call(cable.device.ping, b'x')
    cable.events['device'].clear()
    cable.call(cable.device.stop)
    assert of_kind(cable.events['device'], EchoDone)[-1].error == 'the node was deactivated'
    assert of_kind(cable.events['device'], PeerChanged) == [PeerChanged(PeerState.LEAVING)]
    cable.run(1.0)
    assert of_kind(cable.events['device'], PeerChanged)[1:] == [PeerChanged(PeerState.UNKNOWN)]
    cable.run(5.0)
    assert cable.device.peer_state is PeerState.UNKNOWN


def test_an_echo_that_waits_ends_when_the_port_is_opened_anew():
    cable = connect('v1')
    cable.call(cable.device.ping, b'x')
    cable.events['device'].clear()
    cable.call(cable.device.opened)
    assert of_kind(cable.events['device'], EchoDone)[-1].error == 'the conversation was restarted'


def test_a_session_that_starts_without_a_port_says_so():
    session = SimpitSession(profile='v1')
    session.start(0.0)
    assert session.peer_state is PeerState.CLOSED
    session.opened(1.0)
    assert session.peer_state is PeerState.UNKNOWN


def test_other_channels_get_the_same_time_to_come():
    """They are registered only now, so the earlier silence says nothing about them."""
    cable = connect('v1', flight=False, run=0.0)
    cable.run(1.5)
    registered = cable.device.statistics.handshakes
    cable.sent['device'].clear()
    cable.call(cable.device.set_channels, ['velocities'])
    syn = bytes.fromhex('aa500f0000')
    cable.run(1.9)
    assert registered == 1
    assert syn not in bytes(cable.sent['device'])
    cable.run(0.2)
    assert syn in bytes(cable.sent['device'])


def test_outside_the_flight_scene_no_channel_is_missing():
    cable = connect('v1', flight=False, run=10.0)
    assert cable.device.peer_state is PeerState.ANSWERING
    assert cable.device.missing(cable.now) == {}


@pytest.mark.parametrize('profile', ALL)
def test_handshake_storm_ends_in_one_registration(profile):
    """Late answers to several SYNs, as after the game was busy loading."""
    cable = Cable(SimpitSession(profile=profile), PluginSession(profile), latency=2.4)
    cable.plugin.set_flight(True, cable.now)
    cable.plugin.provide(ALTITUDE, cable.now)
    cable.call(cable.device.start)
    cable.run(30.0)
    assert cable.plugin.subscriptions == OWN[profile]
    assert cable.device.peer_state is PeerState.STREAMING
    cable.events['device'].clear()
    cable.run(5.0)
    assert abs(len(cable.telemetry()) - (62 if profile == 'v0' else 40)) <= 2


@pytest.mark.parametrize('profile', ALL)
@pytest.mark.parametrize('seed', range(3))
def test_noise_on_the_line_costs_packets_but_never_the_conversation(profile, seed):
    dice = random.Random(seed)

    def spoil(data):
        chance = dice.random()
        if chance < 0.05:
            return b''
        if chance < 0.10:
            return data[:dice.randrange(len(data))]
        if chance < 0.15:
            return data + dice.randbytes(3)
        return data

    cable = Cable(SimpitSession(profile=profile), PluginSession(profile), seed=seed)
    cable.call(cable.plugin.set_flight, True)
    cable.call(cable.plugin.provide, ALTITUDE)
    # Only towards the device: the plugin's parser cannot recover from some of it.
    cable.spoil['plugin'] = spoil
    cable.call(cable.device.start)
    cable.run(20.0)
    assert cable.device.peer_state is PeerState.STREAMING
    heights = cable.telemetry()
    assert len(heights) > 0.6 * 20.0 / 0.125
    if profile in COBS:
        assert set(heights) == {ALTITUDE}


def test_frame_without_its_end_is_given_up_and_what_it_swallowed_is_found():
    cable = connect('v2')
    good = simpit.encode(ALTITUDE, 'peer', PROFILES['v2'])
    cable.plugin.withdraw('altitude', cable.now)
    cable.events['device'].clear()
    # The first frame's size claims the second frame as its own, and waits for more.
    cable.device.receive('serial', b'\xaa\x50\x20\x08' + good, None, cable.now)
    assert cable.telemetry() == []
    cable.run(0.04)
    assert cable.telemetry() == []
    cable.run(0.02)
    assert cable.telemetry() == [ALTITUDE]
    assert cable.device.framing.stalled == 1


def test_wrong_length_is_counted_and_ends_nothing():
    cable = connect('v2')
    assert cable.device.receive('serial', bytes.fromhex('aa50030801 02 03'), None, cable.now) == []
    assert cable.device.statistics.malformed == {'altitude': 1}
    assert 'need 8' in cable.device.statistics.last_error


def test_packets_that_nobody_asked_for_are_not_passed_on():
    cable = connect('v2')
    data = bytes.fromhex(VECTORS['telemetry_b2_chan27']['hex'])
    assert cable.device.receive('serial', data, None, cable.now) == []
    assert cable.device.statistics.unexpected == 1


def test_raw_channel_ids_are_registered_and_passed_on_raw():
    cable = connect('v2', channels=['altitude', 200])
    assert cable.plugin.subscriptions == (3, 8, 37, 200)
    (event,) = cable.device.receive('serial', bytes.fromhex('aa5002c80102'), None, cable.now)
    assert event == Telemetry(0, {}, Packet(200, b'\1\2'))


@pytest.mark.parametrize('name', [
    name for name in VECTORS if name.startswith(('telemetry_', 'session_'))
    and VECTORS[name]['fields']['frame']['chan'] != 0])
def test_recorded_telemetry_becomes_events(name):
    vector = VECTORS[name]
    profile = PROFILE_OF_ERA[vector['era']]
    row = PROFILES[profile].find('peer', vector['fields']['frame']['chan'])
    session = SimpitSession([row.name], profile=profile)
    session.opened(0.0)
    session.start(0.0)
    session.poll(0.1)
    session.receive('serial', SYNACK[PROFILES[profile].framing], None, 0.2)
    events = of_kind(session.receive('serial', bytes.fromhex(vector['hex']), None, 0.3), Telemetry)
    assert [([*event.values], event.packet.payload.hex()) for event in events] == [
        ([row.name], vector['fields']['frame']['payload'])]
    assert isinstance(events[0].values[row.name], row.message)
    assert session.statistics.updates == {row.name: 1}


# Commands.


@pytest.mark.parametrize('profile', ALL)
def test_action_groups_leave_far_enough_apart_to_count_each(profile):
    cable = connect(profile)
    verbs = ['activate', 'deactivate', 'activate']
    for verb in verbs:
        cable.call(cable.device.send, ActionGroups(verb, ActionGroup.STAGE | ActionGroup.GEAR))
    cable.run(1.0)
    assert [message.verb for message in cable.commands()] == verbs
    groups = PROFILES[profile].named('bridge', 'action_groups_activate').id, \
        PROFILES[profile].named('bridge', 'action_groups_deactivate').id
    times = [at for at, data in cable.frames['device']
             if packets(profile, data)[0].channel in groups
             and packets(profile, data)[0].payload == b'\3']
    assert len(times) == 3
    assert all(b - a >= 0.02 for a, b in zip(times, times[1:], strict=False))


def test_a_burst_of_action_groups_arrives_whole_and_in_order_and_more_is_refused():
    cable = connect('v2')
    # One bit each, so that none is like its neighbours; a raw packet is one of them.
    burst = [ActionGroups('toggle', ActionGroup(1 << number % 7)) for number in range(99)]
    burst.append(Packet(15, b'\x02'))
    for message in burst:
        cable.call(cable.device.send, message)
    cable.call(cable.device.send, simpit.SasMode(7))
    refused = 0
    for _ in range(40):
        try:
            cable.call(cable.device.send, CustomActionGroups('toggle', (3,)))
        except ValueError as error:
            assert 'commands are already waiting' in str(error)
            refused += 1
    cable.run(5.5)
    # The first left at once, so 128 more may wait.
    obeyed = cable.commands()
    assert [message for message in obeyed if isinstance(message, ActionGroups)] == [
        *burst[:-1], ActionGroups('toggle', ActionGroup.GEAR)]
    # Those that follow are obeyed at once, the action group with the next frame.
    assert obeyed[99] == simpit.SasMode(7)
    assert obeyed.count(CustomActionGroups('toggle', (3,))) == 28
    assert refused == 12
    assert of_kind(cable.events['device'], CommandDone) == []


def test_a_burst_that_a_frozen_computer_holds_up_expires():
    cable = connect('v2')
    for _ in range(20):
        cable.call(cable.device.send, ActionGroups('activate', ActionGroup.STAGE))
    cable.now += 5.0
    cable.run(2.0)
    assert len(cable.commands()) <= 2
    assert len(of_kind(cable.events['device'], CommandDone)) >= 18


@pytest.mark.parametrize('profile', ALL)
def test_custom_groups_leave_one_a_packet_in_the_order_given(profile):
    cable = connect(profile)
    cable.call(cable.device.send, CustomActionGroups('toggle', (3, 1, 10)))
    cable.run(0.5)
    assert cable.commands() == [
        CustomActionGroups('toggle', (group,)) for group in (3, 1, 10)]


@pytest.mark.parametrize(('profile', 'message', 'reason'), [
    ('v0', ActionGroups('toggle', ActionGroup.LIGHT), 'do not listen'),
    ('v0', simpit.StageEvent(b'\1'), 'do not listen'),
    ('v0', simpit.Rotation(0, 0, 0, 1), 'no channel rotation'),
    ('v1', simpit.CameraMode(1), 'no channel camera_mode'),
    ('v1', simpit.TimeWarpTo(4), 'no channel time_warp'),
    ('v2', simpit.TimeWarpTo(0), 'that needs 2.3'),
    ('v2.2', simpit.TimeWarpTo(4, -30.0), 'that needs 2.3'),
    ('v2.3', simpit.TimeWarp(16), 'use time_warp_to'),
    ('v2.3', simpit.SetActionGroup(False, 1, simpit.GroupSetting.ACTIVATE), 'no channel'),
    ('v1', CustomActionGroups('activate', (1, 11)), '1..10'),
    ('v1', CustomActionGroups('activate', ()), '1..32'),
    ('cobs', simpit.SetActionGroup(False, 1, simpit.GroupSetting.ACTIVATE), 'Program 2'),
    ('v1', simpit.Register(b'\x08'), 'itself'),
    ('v1', simpit.Handshake(simpit.HandshakeType.SYN), 'itself'),
    ('v1', Packet(0, b'\0'), 'itself'),
    ('v1', Packet(8, b'\x08'), 'itself'),
    ('v1', Packet(16, b'\1\2'), 'need 7'),
    ('v1', Packet(255, b'\1'), '0..254'),
    ('v1', Packet(100, b''), '1..32'),
])
def test_what_a_profile_cannot_do_is_refused_with_a_sentence(profile, message, reason):
    cable = connect(profile)
    before = len(cable.sent['device'])
    with pytest.raises(ValueError, match=reason):
        cable.call(cable.device.send, message)
    cable.run(0.01)
    assert len(cable.sent['device']) == before


def test_extended_action_groups_are_sent_where_the_game_has_them():
    cable = connect('v1', agx=True)
    cable.call(cable.device.send, CustomActionGroups('activate', (250,)))
    assert packets('v1', cable.sent['device'])[-1] == Packet(10, b'\xfa')


def test_ksp2_is_told_from_ksp1_and_gets_its_own_commands():
    cable = Cable(
        SimpitSession(profile='auto'), PluginSession('cobs', game_id=simpit.KSP2_ID))
    cable.call(cable.device.start)
    cable.run(0.5)
    assert of_kind(cable.events['device'], Connected) == [Connected('cobs', Game.KSP2)]
    cable.call(cable.plugin.set_flight, True)
    cable.call(cable.plugin.provide, ALTITUDE)
    cable.run(0.5)
    cable.call(cable.device.send, simpit.SetActionGroup(
        True, 1, simpit.GroupSetting.ACTIVATE))
    # From the 2.4.0 library's table: index << 2 | setting, here channel 59.
    assert packets('cobs', cable.sent['device'])[-1] == Packet(59, b'\x05')


def test_newest_axis_values_win_and_leave_no_faster_than_the_game_looks():
    cable = connect('v2')
    for step in range(100):
        cable.call(cable.device.send, simpit.Rotation(step, 7, 0, 1 if step else 3))
        cable.run(0.002)
    cable.run(0.1)
    rotations = [message for message in cable.commands() if isinstance(message, simpit.Rotation)]
    assert 9 <= len(rotations) <= 12
    assert rotations[0] == simpit.Rotation(0, 7, 0, 3)
    assert rotations[-1].pitch == 99
    assert rotations[-1].mask == 1
    assert cable.device.statistics.held_back == 100 - len(rotations)


def test_axes_of_several_commands_are_joined_while_they_wait():
    cable = connect('v2')
    for message in (simpit.Rotation(1, 0, 0, 1), simpit.Rotation(2, 0, 0, 1),
                    simpit.Rotation(0, 0, 3, 4)):
        cable.call(cable.device.send, message)
    cable.run(0.1)
    assert cable.commands() == [simpit.Rotation(1, 0, 0, 1), simpit.Rotation(2, 0, 3, 5)]


@pytest.mark.parametrize(('arguments', 'reason'), [
    ({'profile': 'v3'}, 'must be auto, v0'),
    ({'id_bytes': bytes(32)}, 'at most 31'),
    ({'channels': ['height']}, 'no plugin sends'),
    ({'channels': ['velocities'], 'profile': 'v0'}, 'no channel velocities'),
    ({'channels': ['scene_change'], 'profile': 'v1'}, 'never send it'),
    ({'channels': [2]}, '3..254'),
    ({'channels': [255]}, '3..254'),
])
def test_wrong_settings_are_refused_with_a_sentence(arguments, reason):
    with pytest.raises(ValueError, match=reason):
        SimpitSession(**arguments)


def test_auto_keeps_the_wishes_that_the_plugin_found_cannot_grant():
    cable = connect('v0', device='auto', channels=['altitude', 'velocities'], run=2.0)
    assert cable.device.unavailable == ('velocities',)
    assert cable.device.registered == (4,)


@given(st.lists(st.tuples(st.binary(max_size=60), st.floats(0.0, 3.0)), max_size=20),
       st.sampled_from([*ALL, 'auto']))
@settings(max_examples=60)
def test_device_survives_any_bytes_at_any_time(chunks, profile):
    session = SimpitSession(profile=profile)
    session.opened(0.0)
    session.start(0.0)
    now = 0.1
    for data, pause in chunks:
        session.poll(now)
        session.receive('serial', data, None, now)
        session.receive('serial', SYNACK['aa50'] + SYNACK['cobs'], None, now)
        session.expired()
        now += pause
    session.poll(now)
    assert session.next_deadline() is not None


# The plugin's side, compared with the recordings.

# These show the timing of the genuine reader thread, or what the host did.
NOT_COMPARED = {
    'b1_asyncreader_five_echoes_back_to_back': 'a race of the plugin that is not kept',
    # Ours refuses the short struct; there it was read past its end, to the same effect: none.
    **dict.fromkeys(('b1_throttle_one_byte', 'b1_rotation_short_payload'), ''),
}


def plugin_outcome(vector):
    """Feed a recording to the plugin's side; return (replies, events, session)."""
    profile = PROFILE_OF_ERA[vector['era']]
    plugin = PluginSession(profile)
    plugin.opened(0.0)
    plugin.set_flight(True, 0.0)
    plugin.provide(ALTITUDE, 0.0)
    if profile != 'v0':
        plugin.provide(simpit.Apsides(70000.0, 80000.0), 0.0)
    events, data = [], b''
    now = 0.001
    plugin.poll(now)
    events += plugin.receive('serial', bytes.fromhex(vector['hex']), None, now)
    while now < 0.45:
        data += b''.join(part for _, part in plugin.poll(now))
        events += plugin.expired()
        later = plugin.next_deadline()
        now = 0.45 if later is None else later
    return data, events, plugin


def effects(events):
    """Express commands in the recordings' words, as far as those name single effects."""
    names = {'STAGE': 'Stage', 'GEAR': 'Gear', 'LIGHT': 'Light', 'BRAKES': 'Brakes',
             'ABORT': 'Abort'}
    said = []
    for event in of_kind(events, DeviceCommand):
        message = event.message
        if isinstance(message, ActionGroups):
            for group in ActionGroup:
                if group in message.action_bits:
                    name = names.get(group.name, group.name)
                    said.append({
                        'activate': f'GAME SetGroup {name} True',
                        'deactivate': f'GAME SetGroup {name} False',
                        'toggle': f'GAME ToggleGroup {name} -> True'}[message.verb])
                    if name == 'Stage' and message.verb != 'deactivate':
                        said.append('GAME ActivateNextStage')
        elif isinstance(message, CustomActionGroups):
            name = f'Custom{message.groups[0]:02}'
            said.append({
                'activate': f'GAME SetGroup {name} True',
                'deactivate': f'GAME SetGroup {name} False',
                'toggle': f'GAME ToggleGroup {name} -> True'}[message.verb])
        elif isinstance(message, simpit.SasMode):
            assert message.mode == 1
            said.append('GAME SetSAS Prograde')
    return said


def axes_in_words(events):
    """Return what the recordings say about the axes that our commands set."""
    said = set()
    for event in of_kind(events, DeviceCommand):
        message = event.message
        if isinstance(message, simpit.Rotation):
            for bit, name in enumerate(('pitch', 'roll', 'yaw')):
                if message.mask >> bit & 1:
                    said.add((name, getattr(message, name)))
        elif isinstance(message, simpit.Translation):
            said |= {(name.upper(), getattr(message, name)) for name in 'xyz'}
        elif isinstance(message, simpit.Wheel):
            said |= {('steer', message.steer), ('wthr', message.throttle)}
    return {(name, value) for name, value in said if value}


@pytest.mark.parametrize('name', [
    name for name, vector in VECTORS.items()
    if vector['direction'] == 'device->plugin' and 'delivered' in vector['fields']])
def test_plugin_side_does_what_the_genuine_plugin_did(name):
    vector = VECTORS[name]
    fields = vector['fields']
    profile = PROFILE_OF_ERA[vector['era']]
    data, events, plugin = plugin_outcome(vector)
    # After a payload size of 0 it swallows everything, and ends later.
    assert bool(of_kind(events, PortDeaf)) == (
        fields['reader_thread_dies'] or name in ('b2_close_serial', 'b2_echo_zero_then_good'))
    if name in NOT_COMPARED:
        return

    ticks = [(reply['chan'], reply['payload']) for reply in fields['replies']
             if reply['chan'] not in (0, 2)]
    answers = [(reply['chan'], reply['payload']) for reply in fields['replies']
               if reply['chan'] in (0, 2)]
    found = [(packet.channel, packet.payload.hex()) for packet in packets(profile, data)]
    assert [pair for pair in found if pair[0] in (0, 2)] == answers
    count = fields.get('telemetry_packets_in_window', 0)
    own = [pair for pair in found if pair[0] not in (0, 2)]
    assert {channel for channel, _ in own} == {channel for channel, _ in ticks}
    # Phases differ; twice registered comes twice.
    registered = max(1, len(plugin.subscriptions))
    assert abs(len(own) - count) <= registered

    assert effects(events) == [
        effect for effect in fields['game_effects'] if not effect.startswith('AXES')]
    for effect in fields['game_effects']:
        if effect.startswith('AXES'):
            values = dict(item.split('=') for item in effect.removeprefix('AXES ').split())
            for axis, value in axes_in_words(events):
                assert float(values[axis]) == pytest.approx(value / 32767, abs=1e-6)


@pytest.mark.parametrize('name', [
    'b1_syn_library', 'b1_echo_1', 'b1_echo_27', 'b1_echo_28', 'b1_echo_254',
    'b1_echo_header_inside_payload', 'b1_synack_from_device'])
def test_plugins_of_2017_to_2020_write_32_bytes_whatever_they_say(name):
    data, _, _ = plugin_outcome(VECTORS[name])
    assert data.hex() == VECTORS[name]['fields']['reply_hex']


def test_padding_holds_what_longer_packets_left_behind():
    plugin = PluginSession('v1')
    plugin.set_flight(True, 0.0)
    plugin.receive('serial', bytes.fromhex('aa500601') + b'ABCDEF', None, 0.0)
    plugin.receive('serial', bytes.fromhex('aa500101') + b'x', None, 0.0)
    _, second = plugin.poll(0.0)
    assert second[1] == bytes.fromhex('aa500102') + b'xBCDEF' + bytes(22)


@pytest.mark.parametrize('profile', ['v0', 'v1', 'v2'])
def test_plugins_before_2_3_echo_in_flight_only(profile):
    plugin = PluginSession(profile)
    echo = bytes.fromhex('aa50010101')
    plugin.receive('serial', echo, None, 0.0)
    assert plugin.poll(0.0) == []
    plugin.set_flight(True, 0.0)
    plugin.receive('serial', echo, None, 0.0)
    assert len(plugin.poll(0.0)) == 1


def test_cobs_plugin_echoes_in_every_scene():
    plugin = PluginSession('cobs')
    plugin.receive('serial', bytes.fromhex('04015a5b00'), None, 0.0)
    assert [data.hex() for _, data in plugin.poll(0.0)] == ['04025a5800']


def test_subscription_channels_come_at_once_and_on_change():
    """As recorded: session_b2_soi_0, _1, session_b2_action_status_0 to _3."""
    plugin = PluginSession('v2')
    plugin.set_flight(True, 0.0)
    plugin.provide(simpit.SphereOfInfluence('Kerbin'), 0.0)
    plugin.provide(simpit.ActionStatus(ActionGroup(0)), 0.0)
    assert plugin.poll(0.0) == []
    plugin.receive('serial', bytes.fromhex('aa5002081a25'), None, 0.0)
    assert sorted(data.hex() for _, data in plugin.poll(0.0)) == [
        VECTORS['session_b2_action_status_0']['hex'], VECTORS['session_b2_soi_0']['hex']]
    plugin.provide(simpit.SphereOfInfluence('Kerbin'), 0.5)
    assert plugin.poll(0.5) == []
    plugin.provide(simpit.SphereOfInfluence('Mun'), 1.0)
    plugin.provide(simpit.ActionStatus(ActionGroup.GEAR), 1.0)
    assert [data.hex() for _, data in plugin.poll(1.0)] == [
        VECTORS['session_b2_soi_1']['hex'], VECTORS['session_b2_action_status_1']['hex']]


def test_v1_action_status_comes_each_frame_while_a_group_is_on():
    plugin = PluginSession('v1')
    plugin.set_flight(True, 0.0)
    plugin.receive('serial', bytes.fromhex('aa50010817'), None, 0.0)
    assert plugin.poll(0.0) == []
    assert plugin.next_deadline() is None
    plugin.provide(simpit.ActionStatus(ActionGroup.GEAR), 0.0)
    sent, now = [], 0.0
    while now is not None and now < 0.395:
        sent += plugin.poll(now)
        now = plugin.next_deadline()
    assert len(sent) == 19
    assert sent[-1][1].hex() == VECTORS['session_b1_action_status_1']['hex']
    plugin.provide(simpit.ActionStatus(ActionGroup(0)), 0.4)
    assert plugin.poll(0.5) == []
    assert plugin.next_deadline() is None


def test_scene_change_is_told_from_2_0_on():
    for profile, count in (('v1', 0), ('v2', 2), ('cobs', 2)):
        plugin = PluginSession(profile)
        register = simpit.encode(simpit.Register(b'\3'), 'bridge', PROFILES[profile])
        plugin.receive('serial', register, None, 0.0)
        plugin.set_flight(True, 0.0)
        plugin.set_flight(False, 0.0)
        found = [packet.payload.hex() for _, data in plugin.poll(0.0)
                 for packet in packets(profile, data)]
        assert found == ['00000000', '01000000'][:count]


def test_v2_ignores_a_registration_between_syn_and_ack():
    plugin = PluginSession('v2')
    register, syn, ack = (bytes.fromhex(text) for text in (
        'aa50010808', 'aa5002000037', 'aa5002000237'))
    assert plugin.receive('serial', register, None, 0.0) == [Subscriptions((8,))]
    plugin.receive('serial', syn, None, 0.0)
    assert plugin.subscriptions == ()
    assert plugin.receive('serial', register, None, 0.0) == [Subscriptions(())]
    assert plugin.receive('serial', ack + register, None, 0.0) == [
        DeviceHandshake(2, b'7'), Subscriptions((8,))]


def test_registering_255_drops_the_ids_before_it():
    for profile in ('v1', 'v2'):
        plugin = PluginSession(profile)
        plugin.receive('serial', bytes.fromhex('aa50020808ff'), None, 0.0)
        assert plugin.subscriptions == ()
        plugin.receive('serial', bytes.fromhex('aa500308ff081a'), None, 0.0)
        assert plugin.subscriptions == (8, 26)


def test_closed_port_needs_the_player():
    plugin = PluginSession('v2')
    plugin.receive('serial', bytes.fromhex('aa50010700aa5002000037'), None, 0.0)
    plugin.receive('serial', bytes.fromhex('aa5002000037'), None, 1.0)
    assert plugin.poll(1.0) == []
    plugin.reopen(2.0)
    plugin.receive('serial', bytes.fromhex('aa5002000037'), None, 2.0)
    assert [data for _, data in plugin.poll(2.0)] == [SYNACK['aa50']]


def test_plugin_reads_no_further_than_its_struct():
    plugin = PluginSession('v2')
    plugin.set_flight(True, 0.0)
    (event,) = plugin.receive('serial', bytes.fromhex('aa500913ff3f' + '55' * 7), None, 0.0)
    assert event == DeviceCommand(simpit.Throttle(0x3fff))


@pytest.mark.parametrize('profile', ['v2', 'cobs'])
def test_closing_the_port_ends_its_registrations(profile):
    plugin = PluginSession(profile)
    for message in (simpit.Register(bytes((8, 22))), simpit.ClosePort()):
        plugin.receive(
            'serial', simpit.encode(message, 'bridge', simpit.PROFILES[profile]), None, 0.0)
    plugin.reopen(1.0)
    assert plugin.subscriptions == ()


@pytest.mark.parametrize('profile', ['v2', 'v2.3'])
@pytest.mark.parametrize('how', ['a SYN', 'the player'])
def test_neither_a_syn_nor_a_closed_port_ends_what_a_plugin_forces(profile, how):
    """Registrations end; the axes are no part of the port."""
    plugin = PluginSession(profile)
    plugin.set_flight(True, 0.0)
    plugin.provide(ALTITUDE, 0.0)
    for message in (simpit.Register(bytes((8,))), simpit.Rotation(500, 0, 0, 1),
                    simpit.Throttle(900)):
        plugin.receive('serial', simpit.encode(message, 'bridge', PROFILES[profile]), None, 0.0)
    assert plugin.subscriptions == (8,)
    if how == 'a SYN':
        syn = simpit.Handshake(simpit.HandshakeType.SYN, b'7')
        plugin.receive('serial', simpit.encode(syn, 'bridge', PROFILES[profile]), None, 0.0)
    else:
        plugin.close(0.0)
        plugin.reopen(1.0)
    assert plugin.subscriptions == ()
    assert plugin.hold.axes == {'pitch': 500, 'throttle': 900}


def test_size_of_zero_ends_the_reader_until_the_game_restarts():
    plugin = PluginSession('v2')
    assert plugin.receive('serial', b'\xaa\x50\0\x01' + bytes(255), None, 0.0) == [
        PortDeaf("a payload size of 0 ended the plugin's reader", 'a restart of the game')]
    # Once.
    assert plugin.receive('serial', bytes(256), None, 0.0) == []
    plugin.receive('serial', bytes.fromhex('aa5002000037'), None, 1.0)
    assert plugin.poll(1.0) == []
    plugin.restart(2.0)
    plugin.receive('serial', bytes.fromhex('aa5002000037'), None, 2.0)
    assert [data for _, data in plugin.poll(2.0)] == [SYNACK['aa50']]


def test_cobs_reader_ends_at_256_bytes_without_a_delimiter():
    plugin = PluginSession('cobs')
    assert plugin.receive('serial', b'\1' * 254 + b'\0', None, 0.0) == []
    assert plugin.receive('serial', b'\1' * 255, None, 0.0) == []
    assert of_kind(plugin.receive('serial', b'\1', None, 0.0), PortDeaf)


def test_cobs_reader_does_not_survive_a_delimiter_beyond_its_buffer():
    plugin = PluginSession('cobs')
    assert of_kind(plugin.receive('serial', b'\1' * 255 + b'\0', None, 0.0), PortDeaf)


def test_ticks_are_spread_over_the_refresh_period():
    plugin = PluginSession('v2', refresh=0.1)
    plugin.set_flight(True, 0.0)
    ids = [row.id for row in PROFILES['v2'].channels if row.sent == 'tick'][:5]
    for message in (ALTITUDE, simpit.Apsides(1.0, 2.0), simpit.Velocities(1.0, 2.0, 3.0),
                    simpit.ApsidesTime(1, 2)):
        plugin.provide(message, 0.0)
    register = simpit.encode(simpit.Register(bytes(ids)), 'bridge', PROFILES['v2'])
    plugin.poll(0.0)
    plugin.receive('serial', register, None, 0.0)
    seen, now = [], 0.0
    while now < 0.999:
        seen += [(now, packets('v2', data)[0].channel) for _, data in plugin.poll(now)]
        now = plugin.next_deadline()
    times = [at for at, _ in seen]
    assert len(set(times)) == len(times) == 40 - 1
    for channel in (8, 9, 22, 24):
        own = [at for at, found in seen if found == channel]
        assert all(b - a == pytest.approx(0.1) for a, b in zip(own, own[1:], strict=False))


def test_late_poll_sends_the_newest_once_not_all_that_was_missed():
    plugin = PluginSession('v2')
    plugin.set_flight(True, 0.0)
    plugin.provide(ALTITUDE, 0.0)
    plugin.receive('serial', bytes.fromhex('aa50010808'), None, 0.0)
    plugin.poll(0.0)
    assert len(plugin.poll(60.0)) == 1
    assert 60.0 < plugin.next_deadline() <= 60.125


def test_resend_of_on_change_channels_can_be_asked_for():
    """Channel 29 of the 2.4.0 library, here with 0 for all."""
    plugin = PluginSession('cobs')
    plugin.set_flight(True, 0.0)
    plugin.provide(simpit.SphereOfInfluence('Kerbin'), 0.0)
    plugin.receive('serial', simpit.encode_frame('cobs', Packet(8, b'\x1a')), None, 0.0)
    assert len(plugin.poll(0.0)) == 1
    plugin.receive('serial', simpit.encode_frame('cobs', Packet(29, b'\0')), None, 0.0)
    assert len(plugin.poll(0.0)) == 1


def test_values_that_are_not_finite_go_out_as_they_do_from_the_game():
    plugin = PluginSession('v1')
    plugin.set_flight(True, 0.0)
    plugin.provide(simpit.Altitude(
        struct.unpack('<f', bytes.fromhex('0000c0ff'))[0], 67.25), 0.0)
    plugin.receive('serial', bytes.fromhex('aa50010808'), None, 0.0)
    plugin.poll(0.0)
    ((_, data),) = plugin.poll(plugin.next_deadline())
    assert data.hex() == VECTORS['session_b1_altitude_extreme_3']['hex']


def test_plugin_refuses_what_its_profile_does_not_have():
    plugin = PluginSession('v0')
    assert plugin.channels >= {'altitude'}
    with pytest.raises(ValueError, match='no channel velocities'):
        plugin.provide(simpit.Velocities(0.0, 0.0, 0.0), 0.0)
    with pytest.raises(ValueError, match='must be one of'):
        PluginSession('v9')


@given(st.lists(st.tuples(st.binary(max_size=60), st.floats(0.0, 1.0)), max_size=20),
       st.sampled_from(ALL))
@settings(max_examples=60)
def test_plugin_survives_any_bytes_at_any_time(chunks, profile):
    plugin = PluginSession(profile)
    plugin.set_flight(True, 0.0)
    plugin.provide(ALTITUDE, 0.0)
    now = 0.0
    for data, pause in chunks:
        plugin.receive('serial', data, None, now)
        plugin.poll(now)
        plugin.expired()
        now += pause
