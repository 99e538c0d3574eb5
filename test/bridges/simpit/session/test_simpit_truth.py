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

"""The device side's knowledge in a KerbalSimpit conversation is true, or expires."""

from contextlib import suppress

import pytest
from simpit_cable import ALTITUDE, Cable, connect, of_kind, packets

from xplane_bridge.bridges.sessions.base import (
    CommandDone,
    PeerAbsentError,
    PeerChanged,
    PeerState,
)
from xplane_bridge.bridges.sessions.left import Left
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.protocol import ActionGroup, ActionGroups, Packet, PROFILES
from xplane_bridge.bridges.simpit.session import (
    Connected,
    EchoDone,
    Game,
    Lapsed,
    ProfileKnown,
    SimpitSession,
    Telemetry,
)
from xplane_bridge.bridges.simpit.session.dialect import SpokenDialect
from xplane_bridge.simulation.peers.simpit import PluginSession

GEAR = ActionGroup.GEAR
FULL = 32767


def fly(cable, seconds, step=0.05):
    """Let time pass while the game obeys action groups and reports them."""
    groups = getattr(cable, 'groups', ActionGroup(0))
    for _ in range(round(seconds / step)):
        cable.run(step)
        for command in cable.commands():
            if isinstance(command, ActionGroups):
                bits = command.action_bits & ~ActionGroup.STAGE
                if command.verb == 'activate':
                    groups |= bits
                elif command.verb == 'deactivate':
                    groups &= ~bits
                else:
                    groups ^= bits
                cable.done = [*getattr(cable, 'done', []), command]
        set_groups(cable, groups)


def set_groups(cable, groups):
    """Turn these action groups on in the game, whoever did it."""
    cable.groups = groups
    if 'action_status' in cable.plugin.channels:
        cable.call(cable.plugin.provide, simpit.ActionStatus(groups))


def told(cable, name):
    """Return the last telemetry on a channel."""
    return [event.values[name] for event in of_kind(cable.events['device'], Telemetry)
            if name in event.values][-1]


# 2.2 or 2.3.


@pytest.mark.parametrize('profile', ['v1', 'v2', 'v2.2', 'v2.3', 'cobs'])
def test_stop_leaves_the_throttle_as_it_was_commanded(profile):
    cable = connect(profile)
    for message in (simpit.Rotation(500, 0, -5, 7), simpit.Wheel(4, 0, 1),
                    simpit.Throttle(20000)):
        cable.call(cable.device.send, message)
    cable.run(0.1)
    assert set(cable.device.taken) == {'pitch', 'yaw', 'wheel_steer', 'throttle'}
    cable.commands()
    cable.call(cable.device.stop)
    cable.run(0.1)
    # 0 gives an axis back; roll was never taken.
    assert cable.commands() == [simpit.Rotation(0, 0, 0, 5), simpit.Wheel(0, 0, 1)]
    assert cable.plugin.hold.throttle == 20000
    assert cable.device.taken == ()


@pytest.mark.parametrize(('profile', 'throttle', 'forced'), [
    # Before 2.3 a 0 would close it for good: never sent.
    ('v2', 20000, True), ('v2.2', 20000, True), ('v2.3', 0, False)])
def test_the_throttle_is_released_by_choice_where_the_plugin_lets_go(profile, throttle, forced):
    cable = connect(profile, release_throttle=True)
    cable.call(cable.device.send, simpit.Throttle(20000))
    cable.run(0.1)
    cable.call(cable.device.release)
    cable.run(0.1)
    assert cable.plugin.hold.throttle == throttle
    assert (cable.device.taken == ('throttle',)) is forced
    cable.plugin.hold.move_throttle(10000)
    assert cable.plugin.hold.throttle == (20000 if forced else 10000)


def test_cobs_releases_no_throttle_before_it_knows_that_the_plugin_lets_go():
    for plugin in ('v2.2', 'v2.3'):
        cable = connect(plugin, device='cobs', release_throttle=True)
        cable.call(cable.device.send, simpit.Throttle(20000))
        cable.run(0.1)
        cable.call(cable.device.stop)
        cable.run(0.1)
        assert cable.plugin.hold.throttle == 20000


def test_cobs_releases_the_throttle_once_it_knows_that_the_plugin_lets_go():
    cable = connect('v2.3', device='cobs', release_throttle=True)
    cable.call(cable.plugin.provide, simpit.VesselChange(1))
    cable.call(cable.device.send, simpit.Throttle(20000))
    cable.run(0.1)
    cable.call(cable.device.stop)
    cable.run(0.1)
    assert cable.plugin.hold.throttle == 0


@pytest.mark.parametrize('device', ['auto', 'cobs'])
def test_echoes_outside_the_flight_scene_tell_2_3_from_2_2(device):
    for plugin, known in (('v2.2', 'cobs'), ('v2.3', 'v2.3')):
        cable = connect(plugin, device=device, run=2.0)
        assert cable.device.profile.name == 'cobs'
        cable.call(cable.plugin.set_flight, False)
        cable.run(4.0)
        assert cable.device.profile.name == 'cobs'
        cable.run(20.0)
        assert cable.device.profile.name == known
        cable.call(cable.plugin.set_flight, True)
        cable.run(2.0)
        assert cable.device.profile.name == known
        assert [event.profile for event in of_kind(cable.events['device'], ProfileKnown)] == (
            ['v2.3'] if known == 'v2.3' else [])


@pytest.mark.parametrize(('seen', 'told'), [
    ({}, True), ({'streak': 3}, False), ({'since': 5.1}, False), ({'repeated': False}, False),
    ({'game': Game.KSP2}, False)])
def test_2_3_is_told_by_all_of_what_tells_it_and_by_nothing_less(seen, told):
    everything = {'streak': 4, 'since': 5.0, 'repeated': True, 'game': Game.KSP1, 'now': 10.0}
    assert SpokenDialect(PROFILES['cobs']).outside(**everything | seen) is told
    assert not SpokenDialect(PROFILES['v2.2']).outside(**everything)


def test_a_lost_registration_in_flight_is_not_taken_for_a_menu():
    """In flight 2.2 answers echoes; only without its telemetry would it look like 2.3."""
    cable = Cable(SimpitSession(profile='cobs'), PluginSession('v2.2'))
    cable.call(cable.plugin.set_flight, True)
    cable.call(cable.plugin.provide, ALTITUDE)
    lost = [1]

    def spoil(data):
        if lost[0] and packets('cobs', data) and packets('cobs', data)[0].channel == 8:
            lost[0] -= 1
            return b''
        return data

    cable.spoil['device'] = spoil
    cable.call(cable.device.start)
    cable.run(10.0)
    assert not lost[0]
    assert cable.device.profile is PROFILES['cobs']
    assert cable.device.peer_state is PeerState.STREAMING


def test_a_vessel_change_tells_2_3():
    cable = connect('v2.3', device='cobs', channels=['altitude'])
    cable.call(cable.plugin.provide, simpit.VesselChange(1))
    cable.run(0.1)
    assert cable.device.profile is PROFILES['v2.3']


def test_what_told_2_3_is_doubted_while_nothing_answers():
    cable = connect('v2.3', device='cobs')
    cable.call(cable.plugin.provide, simpit.VesselChange(1))
    cable.run(0.1)
    cable.spoil['plugin'] = lambda data: b''
    cable.run(10.0)
    assert cable.device.peer_state is PeerState.AWAY
    cable.ends['plugin'] = PluginSession('v2.2')
    cable.call(cable.plugin.set_flight, True)
    cable.call(cable.plugin.provide, ALTITUDE)
    cable.spoil['plugin'] = lambda data: data
    cable.run(3.0)
    assert cable.device.profile is PROFILES['cobs']
    assert cable.device.peer_state is PeerState.STREAMING


@pytest.mark.parametrize(('plugin', 'device', 'done'), [
    ('v2', 'v2', simpit.TimeWarp(16)),
    ('v2.2', 'v2.2', simpit.TimeWarp(16)),
    ('v2.3', 'v2.3', simpit.TimeWarpTo(4)),
    # Version unknown: each obeys its own and ignores the other.
    ('v2.2', 'cobs', simpit.TimeWarp(16)),
    ('v2.3', 'cobs', simpit.TimeWarpTo(4)),
])
def test_a_warp_to_the_apoapsis_is_done_once_by_each(plugin, device, done):
    cable = connect(plugin, device=device)
    cable.call(cable.device.send, simpit.TimeWarpTo(simpit.WarpInstant.APOAPSIS))
    cable.run(0.2)
    assert cable.commands() == [done]


# Action groups: the plugin's report decides.


@pytest.mark.parametrize('profile', ['v1', 'v2', 'v2.2', 'v2.3'])
def test_gear_is_sent_again_when_the_player_has_moved_it(profile):
    cable = connect(profile, channels=['altitude', 'action_status'])
    cable.call(cable.plugin.provide, simpit.ActionStatus(ActionGroup(0)))
    for _ in range(10):
        cable.call(cable.device.set_controls, {'gear': 1.0})
        fly(cable, 0.1)
    # It is an action: not sent with every command.
    assert cable.groups == GEAR
    assert len(cable.done) == 1
    set_groups(cable, ActionGroup(0))
    fly(cable, 1.0)
    cable.call(cable.device.set_controls, {'gear': 1.0})
    fly(cable, 0.2)
    assert cable.groups == GEAR
    assert len(cable.done) == 2


@pytest.mark.parametrize('profile', ['v1', 'v2', 'v2.2', 'v2.3'])
def test_gear_is_sent_again_after_a_revert(profile):
    cable = connect(profile, channels=['altitude', 'action_status'])
    cable.call(cable.device.set_controls, {'gear': 1.0})
    fly(cable, 1.0)
    assert cable.groups == GEAR
    cable.groups = ActionGroup(0)
    cable.plugin.provide(simpit.ActionStatus(ActionGroup(0)), cable.now)
    cable.call(cable.plugin.revert)
    fly(cable, 1.0)
    cable.call(cable.device.set_controls, {'gear': 1.0})
    fly(cable, 0.2)
    assert cable.groups == GEAR


def test_gear_on_another_vessel_is_sent_by_that_ones_report():
    cable = connect('v2.3')
    set_groups(cable, GEAR)
    fly(cable, 0.5)
    cable.call(cable.plugin.provide, simpit.VesselChange(1))
    set_groups(cable, ActionGroup(0))
    fly(cable, 0.5)
    cable.call(cable.device.set_controls, {'gear': 1.0})
    fly(cable, 0.2)
    assert cable.groups == GEAR


def test_gear_that_was_lost_on_the_line_is_sent_again():
    cable = connect('v2')
    set_groups(cable, ActionGroup(0))
    cable.spoil['device'] = lambda data: b''
    for _ in range(3):
        cable.call(cable.device.set_controls, {'gear': 1.0})
        fly(cable, 0.2)
    cable.spoil['device'] = lambda data: data
    for _ in range(6):
        cable.call(cable.device.set_controls, {'gear': 1.0})
        fly(cable, 0.2)
    assert cable.groups == GEAR


def test_gear_commanded_in_the_menu_is_refused_and_not_remembered():
    cable = connect('v2', flight=False, run=3.0)
    with pytest.raises(PeerAbsentError, match='not in the flight scene'):
        cable.device.set_controls({'gear': 1.0}, cable.now)
    cable.call(cable.plugin.set_flight, True)
    fly(cable, 1.0)
    cable.call(cable.device.set_controls, {'gear': 1.0})
    fly(cable, 0.2)
    assert cable.groups == GEAR


@pytest.mark.parametrize('profile', ['v2', 'v2.2', 'v2.3'])
def test_groups_that_a_revert_switched_off_are_asked_for_again(profile):
    """The plugin's providers start over with everything off, and send nothing while that holds."""
    cable = connect(
        profile, channels=['altitude', 'action_status', 'custom_action_group_status'])
    cable.call(cable.plugin.provide, simpit.ActionStatus(GEAR))
    cable.call(cable.plugin.provide, simpit.CustomActionGroupStatus((3,)))
    cable.run(0.5)
    assert told(cable, 'action_status') == simpit.ActionStatus(GEAR)
    cable.plugin.set_flight(False, cable.now)
    cable.run(1.0)
    cable.plugin.provide(simpit.ActionStatus(ActionGroup(0)), cable.now)
    cable.plugin.provide(simpit.CustomActionGroupStatus(()), cable.now)
    cable.events['device'].clear()
    cable.call(cable.plugin.set_flight, True)
    cable.run(1.0)
    assert told(cable, 'action_status') == simpit.ActionStatus(ActionGroup(0))
    assert told(cable, 'custom_action_group_status') == simpit.CustomActionGroupStatus(())


@pytest.mark.parametrize('lost', [None, 0, 1])
def test_a_revert_ends_and_begins_the_flight_even_if_one_of_its_packets_is_lost(lost):
    cable = connect('v2.3', channels=['altitude', 'action_status'])
    cable.call(cable.plugin.provide, simpit.ActionStatus(GEAR))
    cable.run(0.5)
    cable.events['device'].clear()

    def spoil(data):
        return b'' if data == simpit.encode(
            simpit.SceneChange(lost), 'peer', PROFILES['cobs']) else data

    if lost is not None:
        cable.spoil['plugin'] = spoil
    cable.plugin.provide(simpit.ActionStatus(ActionGroup(0)), cable.now)
    cable.events['device'].clear()
    cable.call(cable.plugin.revert)
    cable.run(1.5)
    assert [event.state for event in of_kind(cable.events['device'], PeerChanged)] == [
        PeerState.ANSWERING, PeerState.STREAMING]
    assert told(cable, 'action_status') == simpit.ActionStatus(ActionGroup(0))


# Commands have a lifetime.


@pytest.mark.parametrize('profile', sorted(PROFILES))
def test_commands_outside_the_flight_scene_are_refused(profile):
    cable = connect(profile, flight=False, run=1.0)
    stage = ActionGroups('activate', ActionGroup.STAGE)
    with pytest.raises(PeerAbsentError, match='waiting for the first telemetry'):
        cable.device.send(stage, cable.now)
    cable.run(2.0)
    with pytest.raises(PeerAbsentError, match='not in the flight scene'):
        cable.device.send(stage, cable.now)
    cable.call(cable.plugin.set_flight, True)
    cable.run(1.0)
    cable.call(cable.device.send, stage)
    cable.run(0.1)
    assert cable.commands() == [stage]


@pytest.mark.parametrize('profile', ['v2', 'v2.2', 'v2.3'])
def test_leaving_the_flight_scene_refuses_at_once(profile):
    cable = connect(profile)
    cable.call(cable.plugin.set_flight, False)
    cable.run(0.01)
    assert cable.device.peer_state is PeerState.ANSWERING
    with pytest.raises(PeerAbsentError, match='left the flight scene'):
        cable.device.send(simpit.Throttle(1), cable.now)


def test_a_stray_packet_after_leaving_is_no_flight():
    cable = connect('v2')
    cable.call(cable.plugin.set_flight, False)
    cable.run(0.1)
    cable.device.receive(
        'serial', simpit.encode(ALTITUDE, 'peer', PROFILES['v2']), None, cable.now)
    assert cable.device.peer_state is PeerState.ANSWERING


@pytest.mark.parametrize(('profile', 'taken'), [('v2.2', False), ('cobs', False), ('v2.3', True)])
def test_text_outside_the_flight_scene_is_for_2_3_only(profile, taken):
    cable = connect(profile, flight=False, run=3.0)
    text = simpit.Log(simpit.LogFlags.SCREEN, 'hello')
    if taken:
        cable.call(cable.device.send, text)
        cable.run(0.1)
    else:
        with pytest.raises(PeerAbsentError):
            cable.device.send(text, cable.now)
    assert cable.commands() == [text] * taken


def test_the_sentence_names_the_port():
    cable = connect('v2', name='/dev/ttyKSP')
    cable.spoil['plugin'] = lambda data: b''
    cable.run(10.0)
    with pytest.raises(PeerAbsentError, match='nothing answers on /dev/ttyKSP'):
        cable.device.send(simpit.Throttle(1), cable.now)
    with pytest.raises(PeerAbsentError, match='nothing answers on /dev/ttyKSP'):
        cable.device.ping(b'x', cable.now)
    cable.lose_device()
    with pytest.raises(PeerAbsentError, match='/dev/ttyKSP is not open'):
        cable.device.send(simpit.Throttle(1), cable.now)


def test_an_awaited_command_ends_when_it_has_left():
    cable = connect('v2')
    cable.call(cable.device.send, ActionGroups('toggle', ActionGroup.LIGHT))
    ticket = cable.call(lambda now: cable.device.send(
        ActionGroups('activate', ActionGroup.STAGE), now, what='stage', awaited=True))
    # 50 ms after the other one.
    assert of_kind(cable.events['device'], CommandDone) == []
    cable.run(0.1)
    assert of_kind(cable.events['device'], CommandDone) == [CommandDone(ticket, 'stage')]


def test_what_waits_for_the_line_expires_and_says_so():
    cable = connect('v2', line_rate=120.0, lifetime=0.5)
    for number in range(10):
        cable.call(lambda now, number=number: cable.device.send(
            simpit.Log(0, f'{number:030}'), now, what='text'))
    cable.run(20.0)
    sent = cable.commands()
    done = of_kind(cable.events['device'], CommandDone)
    assert 1 <= len(sent) < 10
    assert len(sent) + len(done) == 10
    assert all('it waited 0.5 s' in event.error for event in done)


def test_what_waits_when_the_game_leaves_flight_is_dropped_with_the_reason():
    cable = connect('v2')
    for _ in range(5):
        cable.call(cable.device.send, ActionGroups('activate', ActionGroup.STAGE))
    for value in (1, 2):
        cable.call(cable.device.send, simpit.Rotation(value, 0, 0, 1))
    cable.call(cable.plugin.set_flight, False)
    cable.run(1.0)
    done = of_kind(cable.events['device'], CommandDone)
    assert [event.what for event in done] == ['action_groups'] * 4 + ['rotation']
    assert all('left the flight scene' in event.error for event in done)
    cable.call(cable.plugin.set_flight, True)
    cable.commands()
    cable.run(1.0)
    assert cable.commands() == []


@pytest.mark.parametrize('again', ['opened', 'start'])
def test_what_waits_when_all_begins_again_is_dropped_with_the_reason(again):
    cable = connect('v2')
    for _ in range(3):
        cable.call(cable.device.send, ActionGroups('activate', ActionGroup.STAGE))
    cable.call(getattr(cable.device, again))
    done = of_kind(cable.events['device'], CommandDone)
    assert [event.error for event in done] == 2 * [
        'not sent: waiting for the first reply on the serial port']


def test_a_state_is_told_before_what_follows_from_it():
    cable = connect('v2')
    kinds = [type(event) for event in cable.events['device']]
    assert kinds.index(PeerChanged) < kinds.index(Connected)
    cable.device.ping(b'x', cable.now)
    cable.events['device'].clear()
    cable.lose_device()
    assert [type(event) for event in cable.events['device']] == [PeerChanged, EchoDone]


def test_commands_of_before_an_outage_never_come_after_it():
    cable = connect('v2')
    before = cable.now
    cable.spoil['device'] = cable.spoil['plugin'] = lambda data: b''
    refused = 0
    while cable.now < before + 12.0:
        try:
            cable.call(cable.device.send, simpit.Rotation(5, 5, 5, 7))
        except PeerAbsentError:
            refused += 1
        cable.run(0.1)
    # Silence shows after 2 s.
    assert refused >= 98
    cable.spoil['device'] = cable.spoil['plugin'] = lambda data: data
    cable.commands()
    cable.run(5.0)
    assert cable.device.peer_state is PeerState.STREAMING
    assert cable.commands() == []


def test_a_plugin_that_goes_away_just_after_an_outage_is_missed():
    cable = connect('v2.3')
    cable.spoil['device'] = cable.spoil['plugin'] = lambda data: b''
    cable.run(2.5)
    assert cable.device.peer_state is PeerState.ANSWERING
    # Telemetry comes back before a handshake is answered, and stops again.
    cable.spoil['plugin'] = lambda data: data
    cable.run(0.5)
    assert cable.device.peer_state is PeerState.STREAMING
    cable.spoil['plugin'] = lambda data: b''
    cable.run(6.0)
    assert cable.device.peer_state is PeerState.AWAY
    with pytest.raises(PeerAbsentError):
        cable.call(cable.device.send, simpit.Rotation(5, 5, 5, 7))


# Registrations are leases.

STEADY = {
    'altitude': ALTITUDE,
    'velocities': simpit.Velocities(1.0, 2.0, 3.0),
    'apsides': simpit.Apsides(1.0, 2.0),
}


@pytest.mark.parametrize('profile', ['v1', 'v2', 'v2.2', 'v2.3'])
def test_one_channel_that_stops_is_registered_again_and_stops_no_other(profile):
    cable = connect(profile, channels=list(STEADY))
    for message in STEADY.values():
        cable.call(cable.plugin.provide, message)
    cable.run(1.0)
    # As when a registration is lost on the line.
    cable.plugin._subscribed.deregister(bytes((22,)))
    cable.run(1.9)
    cable.events['device'].clear()
    cable.run(1.0)
    assert cable.telemetry('velocities')
    assert cable.device.statistics.handshakes == 1
    assert cable.plugin.subscriptions.count(22) == 1


def test_a_channel_that_stays_away_is_named_and_asked_for_with_back_off_for_ever():
    cable = connect('v2.3', channels=list(STEADY))
    cable.call(cable.plugin.provide, STEADY['velocities'])
    cable.run(5.0)
    missing = cable.device.missing(cable.now)
    assert list(missing) == ['apsides']
    assert 'apsides' not in cable.device.came
    cable.frames['device'].clear()
    cable.run(300.0)
    asked = [at for at, data in cable.frames['device'] for packet in packets('cobs', data)
             if packet.channel == 8 and 9 in packet.payload]
    assert 9 <= len(asked) <= 13
    cable.call(cable.plugin.provide, STEADY['apsides'])
    cable.run(31.0)
    assert cable.device.missing(cable.now) == {}
    cable.call(cable.plugin.withdraw, 'velocities')
    cable.run(3.0)
    ((name, since),) = cable.device.missing(cable.now).items()
    assert name == 'velocities'
    assert 2.0 < cable.now - since < 3.2
    assert name in cable.device.came


def test_channels_that_are_sent_on_a_change_are_no_leases_once_they_have_come():
    cable = connect('v2.3', channels=['altitude', 'vessel_name', 'target', 'sas_info'])
    cable.call(cable.plugin.provide, simpit.VesselName('Kerbal X'))
    cable.call(cable.plugin.provide, simpit.ActionStatus(GEAR))
    cable.run(1.0)
    cable.frames['device'].clear()
    cable.run(27.0)
    assert {packet.channel for _, data in cable.frames['device']
            for packet in packets('cobs', data)} == {1}
    # A target may be unset, SAS may not change: nothing is missing.
    assert cable.device.missing(cable.now) == {}
    assert cable.device.wanted == ('altitude', 'vessel_name')


def test_a_lost_registration_of_a_channel_sent_on_a_change_is_made_again():
    cable = Cable(
        SimpitSession(['altitude', 'vessel_name'], profile='v2.3'), PluginSession('v2.3'))
    cable.call(cable.plugin.set_flight, True)
    cable.call(cable.plugin.provide, ALTITUDE)
    cable.call(cable.plugin.provide, simpit.VesselName('Kerbal X'))
    cable.call(cable.device.start)
    cable.run(0.1)
    cable.device.set_channels(['altitude'], cable.now)
    cable.run(0.1)
    cable.spoil['device'] = lambda data: b''
    cable.call(cable.device.set_channels, ['altitude', 'vessel_name'])
    cable.spoil['device'] = lambda data: data
    cable.events['device'].clear()
    cable.run(3.0)
    assert told(cable, 'vessel_name') == simpit.VesselName('Kerbal X')


def test_an_answer_to_an_earlier_syn_leaves_no_second_registration():
    """From 2.0 on a SYN stops transmission, and an ACK clears the registrations."""
    cable = connect('v2.3')
    cable.lose_device()
    cable.device.opened(cable.now)
    # The current SYN is lost; the answer to an earlier one arrives.
    cable.spoil['device'] = lambda data: b''
    cable.run(0.1)
    cable.spoil['device'] = lambda data: data
    cable.device.receive('serial', bytes.fromhex('010401373600'), None, cable.now)
    cable.run(1.0)
    assert len(set(cable.plugin.subscriptions)) == len(cable.plugin.subscriptions) == 4


# What is sent on change only is asked again when something may have been lost.

STATUS = {stage: simpit.FlightStatus(1, 0, 0, 1, 1, 100, stage, 0) for stage in (3, 2)}
CHANGING = ['altitude', 'velocities', 'apsides', 'flight_status', 'action_status', 'sas_info']


def changing(profile):
    """Return a cable on which a game in flight reports STATUS[3], the gear down, and no SAS."""
    cable = connect(profile, channels=CHANGING)
    for message in (*STEADY.values(), STATUS[3], simpit.ActionStatus(GEAR)):
        cable.call(cable.plugin.provide, message)
    cable.run(2.0)
    assert told(cable, 'flight_status') == STATUS[3]
    return cable


def change(cable):
    """Let the game change what it reports on change only."""
    for message in (STATUS[2], simpit.ActionStatus(ActionGroup(0))):
        cable.call(cable.plugin.provide, message)


def assert_new_game(cable):
    """Check that what is told, and what is sent, fits the present game."""
    assert told(cable, 'flight_status') == STATUS[2]
    assert told(cable, 'action_status') == simpit.ActionStatus(ActionGroup(0))
    cable.commands()
    cable.call(cable.device.set_controls, {'gear': 1.0})
    cable.run(0.2)
    assert [message.action_bits for message in cable.commands()] == [GEAR]
    cable.events['device'].clear()
    cable.call(cable.plugin.provide, simpit.SasInfo(1, 3))
    cable.run(0.1)
    assert told(cable, 'sas_info') == simpit.SasInfo(1, 3)


def cut(cable):
    cable.spoil['device'] = cable.spoil['plugin'] = lambda data: b''


def heal(cable):
    cable.spoil['device'] = cable.spoil['plugin'] = lambda data: data


@pytest.mark.parametrize('profile', ['v2', 'v2.3'])
def test_a_plugin_replaced_within_a_moment_is_asked_for_everything(profile):
    cable = changing(profile)
    cut(cable)
    cable.run(0.3)
    cable.plugin.restart(cable.now)
    change(cable)
    cable.run(0.4)
    heal(cable)
    cable.run(6.0)
    assert cable.device.peer_state is PeerState.STREAMING
    assert_new_game(cable)


@pytest.mark.parametrize('profile', ['v2', 'v2.3'])
@pytest.mark.parametrize('seconds', [0.3, 0.7, 1.5])
def test_changes_during_a_cut_of_the_line_are_asked_for(profile, seconds):
    cable = changing(profile)
    cut(cable)
    cable.run(seconds / 2)
    change(cable)
    cable.run(seconds / 2)
    heal(cable)
    cable.run(1.0)
    assert_new_game(cable)


# What no request brings: by profile, a channel and two of its values.
UNASKED = {
    'v1': ('sphere_of_influence', simpit.SphereOfInfluence('Kerbin'),
           simpit.SphereOfInfluence('Mun')),
    **dict.fromkeys(('v2', 'v2.2', 'v2.3'), (
        'sas_info', simpit.SasInfo(1, 3), simpit.SasInfo(2, 7)))}


def knowing(profile, steady=('velocities',)):
    """Return a cable on which a value that no request brings is known, and its channel."""
    name, value, _ = UNASKED[profile]
    cable = connect(profile, channels=[name, *steady])
    cable.call(cable.plugin.provide, STEADY['velocities'])
    cable.run(2.0)
    cable.call(cable.plugin.provide, value)
    cable.run(1.0)
    assert told(cable, name) == value
    assert cable.device.unknown == ()
    return cable, name


def lapsed(cable):
    return [event.channels for event in of_kind(cable.events['device'], Lapsed)]


@pytest.mark.parametrize('steady', [(), ('velocities',)])
@pytest.mark.parametrize('profile', UNASKED)
@pytest.mark.parametrize('seconds', [0.3, 1.5, 3.0, 8.0])
def test_what_no_request_brings_is_unknown_after_a_cut_until_it_comes(profile, seconds, steady):
    cable, name = knowing(profile, steady)
    cable.events['device'].clear()
    cut(cable)
    cable.run(seconds / 2)
    cable.call(cable.plugin.provide, UNASKED[profile][2])
    cable.run(seconds / 2)
    heal(cable)
    cable.run(8.0)
    assert cable.device.peer_state is PeerState.STREAMING
    assert cable.device.unknown == (name,)
    # In a silence of 2 s all that was reported of the flight is withdrawn.
    assert lapsed(cable) == [(name,)] or seconds > 2.0
    cable.call(cable.plugin.provide, UNASKED[profile][1])
    cable.run(0.1)
    assert told(cable, name) == UNASKED[profile][1]
    assert cable.device.unknown == ()


@pytest.mark.parametrize('profile', ['v2', 'v2.3'])
def test_what_no_request_brings_is_unknown_once_it_was_damaged(profile):
    cable, name = knowing(profile)
    cable.spoil['plugin'] = lambda data: b'\xab' + data[1:]
    cable.call(cable.plugin.provide, UNASKED[profile][2])
    heal(cable)
    cable.run(2.0)
    assert lapsed(cable) == [(name,)]
    assert cable.device.unknown == (name,)


def test_what_comes_in_the_same_bytes_as_damage_is_unknown():
    cable, name = knowing('v2.3')
    cable.spoil['plugin'] = lambda data: data + b'\xab\xab\0'
    cable.call(cable.plugin.provide, UNASKED['v2.3'][2])
    heal(cable)
    cable.run(2.0)
    assert cable.device.unknown == (name,)


def test_the_end_of_a_flight_is_no_loss():
    cable, name = knowing('v2.3')
    cable.call(cable.plugin.set_flight, False)
    cable.call(cable.plugin.provide, simpit.SasInfo(255, 0))
    cable.run(1.0)
    cable.call(cable.plugin.set_flight, True)
    cable.run(3.0)
    assert cable.device.unknown == ()
    assert lapsed(cable) == []


@pytest.mark.parametrize('profile', ['v0', 'v1', 'v2', 'v2.3'])
@pytest.mark.parametrize('seconds', [1.0, 3.0, 8.0])
@pytest.mark.parametrize('reopened', [False, True])
def test_old_packets_after_a_reconnection_change_no_belief(profile, seconds, reopened):
    """A serial server keeps what either side sends while the network is away."""
    cable = connect(profile)
    has_axes = profile != 'v0'
    if has_axes:
        cable.call(cable.device.set_controls, {'pitch': 100, 'roll': 200})
        cable.run(1.0)
        assert cable.plugin.hold.axes
    kept = {'device': [], 'plugin': []}
    for end, packets_of in kept.items():
        cable.spoil[end] = lambda data, keep=packets_of: keep.append(data) or b''
    cable.run(seconds / 2)
    cable.device.release(cable.now)
    cable.run(seconds / 2)
    heal(cable)
    if reopened:
        cable.lose_device()
        cable.call(cable.device.opened)
    for end, packets_of in kept.items():
        cable._put_on_cable(end, b''.join(packets_of))
    cable.events['device'].clear()
    cable.run(8.0)
    states = [event.state for event in of_kind(cable.events['device'], PeerChanged)]
    assert cable.device.peer_state is PeerState.STREAMING
    assert PeerState.AWAY not in states
    assert (cable.device.taken, cable.device.unconfirmed) == ((), ())
    assert not has_axes or not cable.plugin.hold.axes


@pytest.mark.parametrize('profile', ['v2', 'v2.3'])
def test_a_damaged_packet_makes_it_ask_again(profile):
    cable = changing(profile)
    cable.spoil['plugin'] = lambda data: b'\xab' + data[1:]
    change(cable)
    heal(cable)
    cable.run(2.0)
    assert_new_game(cable)


def test_a_lost_echo_makes_it_ask_again():
    cable = changing('v2.3')
    cable.spoil['plugin'] = lambda data: b'' if is_change_or_echo(data) else data
    change(cable)
    cable.run(0.9)
    heal(cable)
    cable.run(2.0)
    assert_new_game(cable)


def is_change_or_echo(data):
    return any(packet.channel in (2, 37, 43) for packet in packets('cobs', data))


def test_what_was_lost_without_a_trace_is_asked_for_within_half_a_minute():
    cable = changing('v2.3')
    # Neither a gap nor noise: of these packets nothing arrives.
    cable.spoil['plugin'] = lambda data: b'' if is_change_or_echo(data) else data
    change(cable)
    heal(cable)
    cable.events['device'].clear()
    cable.run(30.0)
    assert_new_game(cable)
    # No evidence, no hurry: each of them once in that time.
    registered = [
        channel for _, data in cable.frames['device'] for packet in packets('cobs', data)
        if packet.channel == 8 for channel in packet.payload]
    assert registered.count(37) <= 3


@pytest.mark.parametrize('profile', ['v0', 'v1', 'v2', 'v2.2', 'v2.3'])
def test_asking_again_leaves_one_registration_of_each(profile):
    cable = connect(profile, channels=['altitude', 'target'] if profile == 'v1' else ['altitude'])
    cable.run(2.0)
    before = cable.plugin.subscriptions
    for _ in range(5):
        cut(cable)
        cable.run(0.5)
        heal(cable)
        cable.run(5.0)
    cable.run(65.0)
    assert cable.plugin.subscriptions == before


def test_asking_again_for_a_reason_ends_soon():
    cable = changing('v2.3')
    cut(cable)
    cable.run(0.5)
    heal(cable)
    cable.frames['device'].clear()
    cable.run(25.0)
    at = [when for when, data in cable.frames['device'] for packet in packets('cobs', data)
          if packet.channel == 8 and 37 in packet.payload]
    # After the pause, perhaps after the echo that was lost in it, and 3 s later.
    assert 2 <= len(at) <= 3
    assert at[-1] - at[0] < 4.5


def test_a_noisy_line_is_not_flooded_with_registrations():
    cable = changing('v2.3')
    noise = iter(range(10**6))
    cable.spoil['plugin'] = lambda data: data if next(noise) % 5 else b'\xab' + data[1:]
    before = len(cable.sent['device'])
    cable.run(60.0)
    # At most once per second.
    assert len(cable.sent['device']) - before < 60 * 60


# The ledger.


def test_axes_are_given_back_one_by_one():
    cable = connect('v2')
    cable.call(cable.device.send, simpit.Rotation(500, 0, 700, 7))
    cable.call(cable.device.send, simpit.Translation(9, 9, 9, 2))
    cable.run(0.1)
    assert set(cable.device.taken) == {'pitch', 'yaw', 'y'}
    cable.commands()
    cable.call(cable.device.give_back, ('pitch', 'roll'))
    cable.run(0.1)
    assert cable.commands() == [simpit.Rotation(0, 0, 0, 1)]
    assert cable.plugin.hold.axes == {'yaw': 700, 'y': 9}
    assert set(cable.device.taken) == {'yaw', 'y'}


def test_axes_in_raw_packets_are_taken_too():
    cable = connect('v2')
    cable.call(cable.device.send, Packet(17, bytes.fromhex('0100 0000 0000 01')))
    cable.run(0.1)
    assert cable.device.taken == ('x',)


@pytest.mark.parametrize('profile', ['v2', 'v2.2', 'v2.3'])
def test_nothing_is_given_back_to_the_next_flight(profile):
    """Leaving the flight scene ends what the plugin forced; the next may be another device's."""
    cable = connect(profile)
    cable.call(cable.device.send, simpit.Rotation(500, 0, 0, 1))
    cable.run(0.1)
    cable.call(cable.plugin.revert)
    cable.plugin.hold.take(simpit.Rotation(99, 0, 0, 1))
    cable.run(1.0)
    cable.call(cable.device.stop)
    cable.run(0.1)
    assert cable.plugin.hold.axes == {'pitch': 99}


@pytest.mark.parametrize('profile', ['v1', 'v2', 'v2.2', 'v2.3', 'cobs'])
def test_what_is_given_back_to_a_plugin_that_came_after_an_outage_forces_nothing(profile):
    """It may be the same; so what was taken is sent as 0, and nothing else."""
    cable = connect(profile, release_throttle=True)
    cable.call(cable.device.send, simpit.Rotation(500, 0, 0, 1))
    cable.call(cable.device.send, simpit.Throttle(20000))
    cable.run(0.1)
    cut(cable)
    cable.run(10.0)
    cable.plugin.restart(cable.now)
    cable.plugin.hold.take(simpit.Rotation(0, 0, 99, 4))
    cable.plugin.hold.move_throttle(7000)
    heal(cable)
    cable.run(5.0)
    cable.call(cable.device.stop)
    cable.run(0.1)
    assert cable.plugin.hold.axes == {'yaw': 99}
    assert cable.plugin.hold.throttle == 7000


def unplug(cable):
    """Take the device's adapter away for 2 s."""
    cable.lose_device()
    cable.run(2.0)
    cable.call(cable.device.opened)


def close_port(cable):
    """Let the player close the plugin's port, and open it when the device has noticed."""
    cable.call(cable.plugin.close)
    cable.run(8.0)
    assert cable.device.peer_state is PeerState.AWAY
    cable.call(cable.plugin.reopen)


def freeze(cable):
    """Freeze the plugin's process: it reads all later, and answers SYN after SYN."""
    unread = bytearray()
    cable.spoil.update(
        device=lambda data: unread.extend(data) or b'', plugin=lambda data: b'')
    cable.run(6.0)
    assert cable.device.peer_state is PeerState.AWAY
    heal(cable)
    cable.plugin.receive('serial', bytes(unread), None, cable.now)


@pytest.mark.parametrize('profile', ['v1', 'v2', 'v2.2', 'v2.3', 'cobs'])
@pytest.mark.parametrize('happens', [unplug, close_port, freeze])
def test_a_plugin_that_is_not_known_to_be_the_same_does_not_stay_forced(happens, profile):
    cable = connect(profile)
    cable.call(cable.device.send, simpit.Rotation(500, 600, 0, 3))
    cable.call(cable.device.send, simpit.Throttle(20000))
    cable.run(0.5)
    happens(cable)
    assert set(cable.device.taken) == {'pitch', 'roll', 'throttle'}
    cable.run(8.0)
    assert cable.device.peer_state is PeerState.STREAMING
    assert cable.plugin.hold.axes.keys() == set(cable.device.taken)
    assert cable.plugin.hold.throttle == 20000
    # Frozen, v1 keeps its registrations, by which it is known.
    assert cable.device.taken == ('throttle',) or (happens is freeze and profile == 'v1')
    cable.call(cable.device.stop)
    cable.run(3.5)
    assert cable.plugin.hold.axes == {'throttle': 20000}
    assert cable.device.left == Left()


@pytest.mark.parametrize('profile', ['v2', 'v2.3'])
def test_commands_that_go_on_take_again_what_was_given_back_after_an_outage(profile):
    cable = connect(profile)

    def steer(seconds):
        for _ in range(round(seconds / 0.05)):
            with suppress(PeerAbsentError):
                cable.call(cable.device.send, simpit.Rotation(500, 0, 0, 1))
            cable.run(0.05)

    steer(1.0)
    cable.lose_device()
    steer(2.0)
    cable.call(cable.device.opened)
    steer(3.0)
    assert cable.plugin.hold.axes == {'pitch': 500}
    assert (cable.device.taken, cable.device.unconfirmed) == (('pitch',), ())


def test_what_was_released_while_the_port_was_gone_is_given_back():
    cable = connect('v2.3')
    cable.call(cable.device.send, simpit.Rotation(500, 600, 0, 3))
    cable.run(0.5)
    cable.lose_device()
    cable.run(1.0)
    cable.call(cable.device.give_back, ('pitch',))
    assert (cable.device.taken, cable.device.unconfirmed) == (('roll',), ('pitch',))
    cable.run(5.0)
    assert cable.device.unconfirmed == ('pitch',)
    cable.call(cable.device.opened)
    cable.run(2.0)
    assert cable.plugin.hold.axes == {}


@pytest.mark.parametrize('first', ['v2', 'v2.3'])
def test_each_plugin_is_given_back_only_what_it_may_have(first):
    """From v2, v1 gets neither a custom axis nor a key; v2.3 has another framing."""
    cable = connect(first, device='auto')
    cable.run(3.0)
    for message in (simpit.CustomAxes(5, 0, 0, 0, 1), simpit.Rotation(500, 0, 0, 1),
                    simpit.Throttle(20000), simpit.Keyboard(simpit.KeyModifiers.DOWN_ONLY, 65)):
        cable.call(cable.device.send, message)
    cable.run(0.5)
    assert set(cable.device.taken) == {'custom_1', 'pitch', 'throttle', 'key 65'}
    cut(cable)
    cable.run(10.0)
    cable.ends['plugin'] = PluginSession('v1')
    cable.call(cable.plugin.set_flight, True)
    cable.call(cable.plugin.provide, simpit.Altitude(1.0, 2.0))
    heal(cable)
    cable.commands()
    cable.run(8.0)
    assert cable.device.profile is PROFILES['v1']
    assert cable.device.taken == (('throttle',) if first == 'v2' else ())
    assert set(cable.commands()) <= {simpit.Rotation(0, 0, 0, 1)}
    cable.call(cable.device.send, simpit.Rotation(700, 0, 0, 1))
    cable.run(0.5)
    assert cable.plugin.hold.axes == {'pitch': 700}


@pytest.mark.parametrize('profile', ['v1', 'v2.3'])
def test_stop_without_a_port_names_what_may_stay_forced(profile):
    cable = connect(profile, name='/dev/ttyKSP')
    cable.call(cable.device.send, simpit.Rotation(500, 600, 0, 3))
    cable.call(cable.device.send, simpit.Throttle(20000))
    cable.run(0.5)
    cable.lose_device()
    cable.run(1.0)
    cable.call(cable.device.stop)
    assert not cable.device.leaving
    left = cable.device.left
    assert (left.unconfirmed, left.is_error) == (('pitch', 'roll'), False)
    assert left.reason.startswith('/dev/ttyKSP is gone')


@pytest.mark.parametrize('when', ['at once', 'after', 'before it is known'])
@pytest.mark.parametrize('device', ['v2', 'auto'])
def test_what_a_frozen_plugin_still_holds_is_given_back(device, when):
    """Its registrations show that it is the same; 'auto' takes it for v0 first."""
    cable = connect('v2', device=device)
    cable.run(3.0)
    cable.call(cable.device.send, simpit.Rotation(500, 0, 0, 1))
    cable.run(0.1)
    cable.spoil['plugin'] = lambda data: b''
    cable.spoil['device'] = lambda data: b''
    cable.run(10.0)
    assert cable.device.peer_state is PeerState.AWAY
    if when == 'at once':
        # The watchdog of the commands, for example.
        cable.call(cable.device.release)
    cable.spoil['plugin'] = cable.spoil['device'] = lambda data: data
    if when == 'before it is known':
        while not cable.device.framing.packets or cable.device.profile is None:
            cable.run(0.01)
        cable.call(cable.device.release)
    cable.run(3.0)
    assert cable.device.peer_state is PeerState.STREAMING
    if when == 'after':
        assert cable.device.taken == ('pitch',)
        cable.call(cable.device.release)
        cable.run(0.1)
    assert cable.plugin.hold.axes == {}


def test_the_plugin_holds_axes_for_whatever_vessel_is_active():
    cable = connect('v2.3')
    cable.call(cable.device.send, simpit.Rotation(500, 0, 0, 1))
    cable.run(0.1)
    cable.call(cable.plugin.provide, simpit.VesselChange(1))
    cable.run(0.5)
    assert cable.plugin.hold.axes == {'pitch': 500}
    cable.call(cable.device.stop)
    cable.run(0.1)
    assert cable.plugin.hold.axes == {}


# Given back means repeated: no plugin shows what it forces.


@pytest.mark.parametrize('profile', ['v2', 'v2.3'])
def test_axes_are_released_for_release_timeout_and_a_command_ends_that(profile):
    cable = connect(profile)
    cable.call(cable.device.send, simpit.Rotation(500, 600, 0, 3))
    cable.run(0.1)
    cable.commands()
    cable.call(cable.device.centre)
    assert cable.device.taken == ()
    assert set(cable.device.unconfirmed) == {'pitch', 'roll'}
    cable.run(0.9)
    assert set(cable.commands()) == {simpit.Rotation(0, 0, 0, 3)}
    cable.call(cable.device.send, simpit.Rotation(700, 0, 0, 1))
    assert cable.device.unconfirmed == ('roll',)
    cable.run(5.0)
    assert cable.device.unconfirmed == ()
    assert cable.plugin.hold.axes == {'pitch': 700}
    commands = cable.commands()
    assert commands[0] == simpit.Rotation(700, 0, 0, 1)
    assert commands[1:] == [simpit.Rotation(0, 0, 0, 2)] * 9


@pytest.mark.parametrize('profile', ['v1', 'v2', 'v2.3'])
def test_stop_goes_on_until_the_line_carries_it(profile):
    cable = connect(profile)
    cable.call(cable.device.send, simpit.Rotation(500, 0, 0, 1))
    cable.run(0.5)
    cable.spoil['device'] = lambda data: b''
    cable.call(cable.device.stop)
    assert cable.device.peer_state is PeerState.LEAVING
    with pytest.raises(PeerAbsentError):
        cable.call(cable.device.send, simpit.Rotation(900, 0, 0, 1))
    cable.run(2.0)
    assert cable.plugin.hold.axes == {'pitch': 500}
    heal(cable)
    cable.run(1.3)
    assert not cable.device.leaving
    assert cable.device.left == Left()
    assert cable.plugin.hold.axes == {}
    # Deregistration is repeated too: the end of telemetry shows it.
    assert cable.plugin.subscriptions == ()


def test_stop_with_nothing_taken_ends_when_telemetry_does():
    cable = connect('v2.3')
    cable.call(cable.device.stop)
    cable.run(0.25)
    assert cable.device.leaving
    cable.run(0.2)
    assert not cable.device.leaving
    assert cable.device.peer_state is PeerState.UNKNOWN


def test_a_plugin_that_reads_nothing_any_more_is_an_error():
    cable = connect('v2.3', name='/dev/ttyKSP')
    cable.call(cable.device.send, simpit.Rotation(500, 0, 0, 1))
    cable.run(0.5)
    cable.spoil['device'] = lambda data: b''
    cable.call(cable.device.stop)
    cable.run(3.5)
    left = cable.device.left
    assert (left.unconfirmed, left.is_error) == (('pitch',), True)
    assert 'the plugin on /dev/ttyKSP answers no echo' in left.reason
    # Without axes, what may stay are the channels.
    cable = connect('v2.3', name='/dev/ttyKSP')
    cable.spoil['device'] = lambda data: b''
    cable.call(cable.device.stop)
    cable.run(3.5)
    left = cable.device.left
    assert (left.unconfirmed, left.is_error) == (('telemetry channels',), True)


@pytest.mark.parametrize('tried', [False, True])
def test_what_a_port_that_is_lost_while_leaving_kept_from_us_is_named(tried):
    cable = connect('v2.3', name='/dev/ttyKSP')
    cable.call(cable.device.send, simpit.Rotation(500, 0, 0, 1))
    cable.run(0.1)
    cut(cable)
    cable.device.stop(cable.now)
    if tried:
        cable.run(0.1)
    cable.device.lost(cable.now)
    left = cable.device.left
    assert (left.unconfirmed, left.is_error) == (('pitch',), False)
    assert '/dev/ttyKSP is gone' in left.reason


@pytest.mark.parametrize('then', ['thaws', 'was replaced', 'stays away'])
def test_stop_in_a_silence_gives_back_to_the_same_plugin(then):
    cable = connect('v2.3', release_throttle=True)
    cable.call(cable.device.send, simpit.Rotation(500, 0, 0, 1))
    cable.call(cable.device.send, simpit.Throttle(20000))
    cable.run(0.1)
    cut(cable)
    cable.run(10.0)
    if then == 'was replaced':
        cable.plugin.restart(cable.now)
    cable.call(cable.device.stop)
    cable.run(0.5)
    cable.plugin.hold.take(simpit.Translation(99, 0, 0, 1))
    if then != 'stays away':
        heal(cable)
    cable.run(3.0)
    assert not cable.device.leaving
    left = cable.device.left
    if then == 'thaws':
        assert cable.plugin.hold.axes == {'x': 99}
        assert cable.plugin.hold.throttle == 0
        assert left == Left()
    elif then == 'was replaced':
        assert cable.plugin.hold.axes == {'x': 99}
        assert left == Left()
    else:
        assert (set(left.unconfirmed), left.is_error) == ({'pitch', 'throttle'}, False)


def test_a_frozen_plugin_reads_after_we_have_gone_what_stop_gave_back():
    cable = connect('v2.3')
    cable.call(cable.device.send, simpit.Rotation(500, 0, 0, 1))
    cable.run(0.1)
    unread = []

    def freeze(data):
        unread.append(data)
        return b''

    cable.spoil.update(device=freeze, plugin=lambda data: b'')
    cable.run(10.0)
    cable.call(cable.device.stop)
    cable.run(4.0)
    assert not cable.device.leaving
    for data in unread:
        cable.plugin.receive('serial', data, None, cable.now)
    assert cable.plugin.hold.axes == {}


@pytest.mark.parametrize('device', ['v2.3', 'cobs', 'auto'])
def test_the_throttle_released_while_the_plugin_is_away_is_released_on_reunion(device):
    cable = connect('v2.3', device=device, release_throttle=True)
    # What is known of the plugin is forgotten while it is away.
    cable.call(cable.plugin.provide, simpit.VesselChange(1))
    cable.run(0.1)
    cable.call(cable.device.send, simpit.Throttle(20000))
    cable.call(cable.device.send, simpit.Rotation(500, 0, 0, 1))
    cable.run(0.1)
    cut(cable)
    cable.run(10.0)
    assert cable.device.peer_state is PeerState.AWAY
    cable.call(cable.device.release)
    heal(cable)
    cable.run(3.0)
    assert cable.plugin.hold.axes == {}
    assert cable.plugin.hold.throttle == 0


def test_gear_that_was_refused_by_a_full_queue_is_not_taken_as_sent():
    cable = connect('v2')
    cable.call(cable.plugin.provide, simpit.ActionStatus(ActionGroup(0)))
    cable.run(0.5)
    with pytest.raises(ValueError, match='waiting'):
        for _ in range(200):
            cable.call(cable.device.send, ActionGroups('toggle', ActionGroup.LIGHT))
    with pytest.raises(ValueError, match='waiting'):
        cable.call(cable.device.set_controls, {'gear': 1.0})
    cable.run(0.9)
    cable.call(cable.device.set_controls, {'gear': 1.0})
    cable.run(15.0)
    assert [message for message in cable.commands() if message.action_bits == GEAR]


def test_gear_that_the_plugin_never_reports_is_a_contradiction():
    cable = connect('v2.3')
    cable.call(cable.plugin.provide, simpit.ActionStatus(ActionGroup(0)))
    cable.run(0.5)
    cable.call(cable.device.set_controls, {'gear': 1.0})
    cable.run(1.0)
    assert cable.device.contradictions(cable.now) == ()
    cable.run(1.5)
    assert cable.device.contradictions(cable.now) == (
        'gear was commanded on, the plugin reports off',)
    cable.call(cable.plugin.provide, simpit.ActionStatus(GEAR))
    cable.run(0.5)
    # The player may raise it again.
    cable.call(cable.plugin.provide, simpit.ActionStatus(ActionGroup(0)))
    cable.run(5.0)
    assert cable.device.contradictions(cable.now) == ()


@pytest.mark.parametrize('how', ['sent', 'dropped', 'withheld'])
def test_an_awaited_command_of_axes_ends(how):
    cable = connect('v2')
    if how == 'withheld':
        cable.call(lambda now: cable.device.send(
            simpit.Rotation(30000, 0, 0, 1), now, source='wheel'))
        cable.device.configure_ownership(rule='cockpit')
        cable.run(0.1)
    elif how == 'dropped':
        cable.call(cable.device.send, simpit.Rotation(4, 0, 0, 1))
    ticket = cable.call(lambda now: cable.device.send(
        simpit.Rotation(5, 0, 0, 1), now, what='axes', awaited=True))
    if how == 'dropped':
        cable.call(cable.plugin.set_flight, False)
        cable.run(0.01)
        cable.device.lost(cable.now)
    cable.run(0.5)
    done = [event for event in of_kind(cable.events['device'], CommandDone)
            if event.ticket == ticket]
    assert ticket
    assert len(done) == 1
    assert bool(done[0].error) is (how == 'withheld') or how == 'dropped'


def test_an_awaited_command_of_axes_ends_when_they_are_given_back_instead():
    cable = connect('v2')
    cable.call(cable.device.send, simpit.Rotation(4, 0, 0, 1))
    ticket = cable.call(lambda now: cable.device.send(
        simpit.Rotation(5, 0, 0, 1), now, what='axes', awaited=True))
    cable.call(cable.device.release)
    cable.run(0.1)
    assert of_kind(cable.events['device'], CommandDone) == [
        CommandDone(ticket, 'axes', 'axes not sent: given back instead')]


def test_v1_infers_no_telemetry_for_the_stack_if_only_a_cockpit_wants_it():
    cable = connect('v1')
    cable.call(lambda now: cable.device.share('wheel', ['action_status'], [], now))
    cable.events['device'].clear()
    cable.run(3.0)
    assert not [event for event in of_kind(cable.events['device'], Telemetry)
                if 'action_status' in event.values]


def test_pressed_keys_are_released_in_the_end():
    cable = connect('v2.3')
    down, up = simpit.Keyboard(8, 65), simpit.Keyboard(16, 65)
    cable.call(cable.device.send, down)
    cable.run(0.1)
    assert cable.device.taken == ('key 65',)
    cable.call(cable.device.release)
    assert cable.device.taken == ('key 65',)
    cable.spoil['device'] = lambda data: b''
    cable.call(cable.device.stop)
    cable.run(0.1)
    heal(cable)
    cable.run(4.0)
    assert set(cable.commands()) == {down, up}


@pytest.mark.parametrize(('before', 'after', 'shown'), [
    (3, 2, True), (3, 3, False), (None, None, None)])
def test_staging_counts_when_the_flight_status_shows_it(before, after, shown):
    cable = connect('v2.3', channels=['altitude', 'flight_status'])
    if before is not None:
        cable.call(cable.plugin.provide, STATUS[before])
    cable.run(1.0)
    cable.events['device'].clear()
    ticket = cable.call(lambda now: cable.device.send_and_see(
        ActionGroups('activate', ActionGroup.STAGE), now, what='stage', shows='stage'))
    cable.run(0.2)
    if after is not None:
        cable.call(cable.plugin.provide, STATUS[after])
    cable.run(3.5)
    (done,) = of_kind(cable.events['device'], CommandDone)
    assert done.ticket == ticket
    if shown:
        assert (done.error, done.message) == ('', 'the stage is now 2')
    elif shown is None:
        assert (done.error, done.message) == ('', '')
    else:
        assert 'stage: sent; not shown within 3 s: the stage is still 3' in done.error
    # It is not absolute: sent once.
    assert len(cable.commands()) == 1


@pytest.mark.parametrize(('how', 'why'), [
    ('restarted', 'the conversation was restarted'), ('away', 'the plugin stopped responding')])
def test_what_can_no_longer_be_shown_has_ended(how, why):
    cable = connect('v2.3', channels=['altitude', 'flight_status'])
    cable.call(cable.plugin.provide, STATUS[3])
    cable.run(1.0)
    cable.spoil['plugin'] = lambda data: b''
    cable.run(1.5)
    cable.call(lambda now: cable.device.send_and_see(
        ActionGroups('activate', ActionGroup.STAGE), now, what='stage', shows='stage'))
    if how == 'restarted':
        cable.call(cable.device.opened)
    else:
        cable.run(2.9)
    (done,) = of_kind(cable.events['device'], CommandDone)
    assert done.error == f'stage: sent; not shown: {why}'


def test_nothing_is_accepted_while_leaving():
    cable = connect('v2.3')
    cable.call(cable.device.stop)
    assert cable.device.leaving
    with pytest.raises(PeerAbsentError, match='not started'):
        # Plugins obey this in every scene.
        cable.call(cable.device.send, simpit.Log(0, 'hello'))
    with pytest.raises(PeerAbsentError, match='not started'):
        cable.call(cable.device.ping, b'x')


@pytest.mark.parametrize('answers', [True, False])
def test_resend_counts_when_values_arrive(answers):
    cable = connect('v2.3', channels=['altitude', 'vessel_name'])
    cable.call(cable.plugin.provide, simpit.VesselName('Kerbal X'))
    cable.run(1.0)
    cable.events['device'].clear()
    if not answers:
        cable.spoil['device'] = lambda data: b''
    cable.call(lambda now: cable.device.send_and_see(
        simpit.RequestMessage(0), now, what='resend', shows='resent'))
    cable.run(0.1)
    done = of_kind(cable.events['device'], CommandDone)
    if answers:
        assert [event.message for event in done] == ['values arrive again']
    else:
        assert not done
        cable.run(3.0)
        (done,) = of_kind(cable.events['device'], CommandDone)
        assert 'resend: sent; not shown within 3 s' in done.error


# The plugin's side.


def test_plugins_before_2_3_force_a_throttle_for_ever():
    for profile, forced in (('v1', True), ('v2', True), ('v2.2', True), ('v2.3', False)):
        plugin = PluginSession(profile)
        plugin.set_flight(True, 0.0)
        for value in (20000, 0):
            plugin.receive('serial', simpit.encode(
                simpit.Throttle(value), 'bridge', PROFILES[profile]), None, 0.0)
        assert plugin.hold.throttle == 0
        plugin.hold.move_throttle(FULL)
        assert plugin.hold.throttle == (0 if forced else FULL)


@pytest.mark.parametrize(('profile', 'message', 'obeyed'), [
    ('v2', simpit.TimeWarp(16), True), ('v2.2', simpit.TimeWarp(16), True),
    ('v2.3', simpit.TimeWarp(12), True)])
def test_plugins_warp_by_their_own_numbers(profile, message, obeyed):
    plugin = PluginSession(profile)
    plugin.set_flight(True, 0.0)
    data = simpit.encode(message, 'bridge', PROFILES[profile])
    assert bool(plugin.receive('serial', data, None, 0.0)) is obeyed


def test_2_2_and_2_3_ignore_each_others_warp_targets():
    for profile, frame in (('v2.2', Packet(30, b'\4\0\0\0\0')), ('v2.3', Packet(24, b'\x10'))):
        plugin = PluginSession(profile)
        plugin.set_flight(True, 0.0)
        assert plugin.receive('serial', simpit.encode_frame('cobs', frame), None, 0.0) == []
        assert plugin.statistics.ignored == 1


def test_2_2_echoes_in_flight_only():
    plugin = PluginSession('v2.2')
    plugin.receive('serial', bytes.fromhex('04015a5b00'), None, 0.0)
    assert plugin.poll(0.0) == []


def test_the_air_of_a_body_without_any_is_what_the_plugin_computed_last():
    plugin = PluginSession('v2.3')
    plugin.set_flight(True, 0.0)
    plugin.receive('serial', simpit.encode_frame('cobs', Packet(8, b'\x2c')), None, 0.0)
    plugin.provide(simpit.Atmosphere(7, 1.125, 280.0, 95.5), 0.0)
    plugin.provide(simpit.Atmosphere(0, 0.0, 0.0, 0.0), 1.0)
    sent = [simpit.decode(packet, 'peer', PROFILES['v2.3'])
            for _, data in plugin.poll(1.0) for packet in packets('v2.3', data)]
    assert sent == [simpit.Atmosphere(7, 1.125, 280.0, 95.5),
                    simpit.Atmosphere(0, 1.125, 280.0, 95.5)]


def test_a_flight_begins_with_all_groups_off_and_says_so_only_if_one_is_on():
    plugin = PluginSession('v2')
    plugin.set_flight(True, 0.0)
    plugin.provide(simpit.ActionStatus(GEAR), 0.0)
    plugin.provide(simpit.SphereOfInfluence('Kerbin'), 0.0)
    plugin.receive('serial', bytes.fromhex('aa5002081a25'), None, 0.0)
    plugin.poll(0.0)
    plugin.provide(simpit.ActionStatus(ActionGroup(0)), 1.0)
    plugin.poll(1.0)
    plugin.revert(2.0)
    assert [packets('v2', data)[0].channel for _, data in plugin.poll(2.0)] == [26]
