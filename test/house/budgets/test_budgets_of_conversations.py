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

"""Conversations keep to their budgets: what a datagram costs until it is a state in SI."""

from datetime import datetime, timedelta, UTC
from functools import cache, partial

import budgets
from budgets import check, CONVERSATION, measured, skip_elsewhere, table
from mould_simpit import CHANNEL as SERIAL
from mould_simpit import Kerbal
import numpy as np
import pytest
from steady_peers import huginn_reply, SteadyPlugin, SteadyXPlane, XPLANE

from xplane_bridge.bridges.conversions.plausibility import Plausibility
from xplane_bridge.bridges.conversions.xplane import levers
from xplane_bridge.bridges.conversions.xplane import state as xplane
from xplane_bridge.bridges.fdmdata import conversion as huginn
from xplane_bridge.bridges.fdmdata import session as huginn_session
from xplane_bridge.bridges.fdmdata.protocol import Command
from xplane_bridge.bridges.sessions.base import PeerState
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit import session as simpit_session
from xplane_bridge.bridges.ulyssix import protocol as ulyssix
from xplane_bridge.bridges.ulyssix import session as ulyssix_session
from xplane_bridge.bridges.ulyssix.conversion import AppliedMap, PacketSamples, parse
from xplane_bridge.bridges.xpc import session as xpc_session
from xplane_bridge.bridges.xpc.conversion import LocalAxes
from xplane_bridge.bridges.xplane_udp import session as xplane_session
from xplane_bridge.bridges.xplane_udp.conversion import telemetry_rows

PERIOD = 0.02
TRIP = 0.004
# How long after a poll is due it is asked for: no rounding puts that off until replies come.
AFTER = 0.001


def turn(session, now, meter):
    """Return what a session sends now, asked as its link does."""
    with meter:
        outgoing = session.poll(now)
        session.expired()
        session.next_deadline()
    return [(channel, data) for channel, data in outgoing if data]


def xpc_update(meter):
    """Poll, decode both replies, follow them, and convert the state."""
    session = xpc_session.XpcSession({0: xpc_session.Polled(
        (*xplane.OWN_DATAREFS, *xplane.LOCAL_PLACE), xplane.OWN_PLACE,
        LocalAxes().make_pose_reader(0),
        arrays=tuple(levers.ENGINES.values()))}, rate=1.0 / PERIOD)
    plugin, gate, now, updates = SteadyPlugin(), Plausibility(), 10.0, 0
    session.start(now)
    going = True
    while going:
        plugin.now = now
        replies = [(channel, plugin.answer(data)) for channel, data in turn(session, now, meter)]
        events = []
        for channel, reply in replies:
            with meter:
                events += session.receive(channel, reply, None, now + TRIP)
        turn(session, now + TRIP, meter)
        for event in events:
            if not isinstance(event, xpc_session.Telemetry):
                continue
            pose = event.pose
            with meter:
                state = gate.state(xplane.own_state(
                    gate.place(pose.lat, pose.lon, pose.alt),
                    (pose.heading, pose.pitch, pose.roll), event.values, arrays=event.arrays))
            assert state.air.density
            updates += 1
        now += PERIOD
        going = meter.lap()
    assert updates >= budgets.LAPS


def xplane12_update(meter):
    """Decode and join pose and datarefs, and convert the state."""
    names = tuple(element for name in xplane.own_datarefs(12) for element in levers.elements(name))
    session = xplane_session.XplaneUdpSession(
        xplane_session.Sources({12: names}, {12: telemetry_rows(12)}), rate=1.0 / PERIOD,
        version=12, peer=XPLANE)
    gate, now, updates = Plausibility(), 10.0, 0
    session.start(now)
    peer = SteadyXPlane()
    going = True
    while going:
        for channel, data in turn(session, now, meter):
            peer.take(channel, data)
        if now < 12.0:
            # Requests leave ten milliseconds apart.
            now += 0.01
            continue
        events = []
        for channel, data in peer.frame(now):
            with meter:
                events += session.receive(channel, data, XPLANE, now)
        for event in events:
            if isinstance(event, xplane_session.Telemetry):
                pose, values = event.pose, event.values
                with meter:
                    state = gate.state(xplane.own_state(
                        gate.place(pose.lat, pose.lon, pose.ele_m),
                        (pose.heading_true_deg, pose.pitch_deg, pose.roll_deg), values,
                        arrays=levers.to_arrays(values)))
                assert state.air.density
                updates += 1
        now += PERIOD
        # Until everything has had time to arrive, it is looked for with each update.
        going = now < 15.0 or meter.lap()
    assert updates >= budgets.LAPS


def huginn_poll(meter):
    """Ask for all eight sensors, follow the replies, and convert the state."""
    session = huginn_session.FdmdataSession()
    reading, now, updates = huginn.Interpretation(), 10.0, 0
    session.set_plan({'all': huginn_session.PollEntry(tuple(Command), 1.0 / PERIOD)}, now)
    session.start(now)
    now += AFTER
    going = True
    while going:
        replies = [
            (channel, huginn_reply(data, now)) for channel, data in turn(session, now, meter)]
        events = []
        for channel, reply in replies:
            with meter:
                events += session.receive(channel, reply, None, now + TRIP)
        turn(session, now + TRIP, meter)
        for event in events:
            if isinstance(event, huginn_session.Telemetry):
                with meter:
                    state = huginn.vehicle_state(
                        huginn.plausible(event.values, _never_withheld), reading)
                assert state.orientation
                updates += 1
        now += PERIOD
        going = meter.lap()
    assert updates >= budgets.LAPS


def _never_withheld(name, value):
    raise AssertionError(f'{name} {value} is impossible')


def simpit_packet(meter):
    """Find a packet in the bytes of the line, decode it, and follow it."""
    session, game, now = simpit_session.SimpitSession(profile='v2'), Kerbal('v2', 10.0), 10.0
    session.start(now)
    session.opened(now)
    while session.peer_state is not PeerState.STREAMING:
        for channel, data in session.poll(now):
            game.receive(channel, data, now)
        for channel, data in game.frame(now):
            session.receive(channel, data, None, now)
        now += PERIOD
    going = True
    while going:
        data = simpit.encode(simpit.Altitude(now, 67.25), 'peer', simpit.PROFILES['v2'])
        with meter:
            events = session.receive(SERIAL, data, None, now)
        assert [event.values for event in events]
        going = meter.lap()


@cache
def ulyssix_packets(parameters, samples):
    """Return datagrams at 100/s whose samples fill 90 % of it, and when they come, in ns."""
    each = samples // parameters
    names = [f'p{number}' for number in range(parameters)]
    start = datetime(2026, 2, 14, 12, 34, 56, tzinfo=UTC)
    found = []
    for number in range(budgets.WARM + budgets.LAPS):
        at = start + timedelta(milliseconds=10 * number)
        since = (at - datetime(2026, 1, 1, tzinfo=UTC)).total_seconds()
        date = ulyssix.PacketTime(
            45, at.hour, at.minute, at.second, at.microsecond, ulyssix.WordOrder.FIRST_WORD_HIGH)
        values = [np.sin(number + np.arange(each, dtype=np.float32))] * parameters
        times = [since + 0.009 * np.arange(each) / each] * parameters
        found.append((ulyssix.encode(ulyssix.data_packet(
            number, (number + 1) * samples, date, values, times,
            names=None if number else names)), round(at.timestamp() * 1e9)))
    return found


def ulyssix_packet(meter, parameters, samples, beside=''):
    """Decode, count and place a packet; then follow its quality, or apply a map to it."""
    session = ulyssix_session.UlyssixSession(ulyssix_session.Timeline(year=2026))
    session.start(10.0)
    quality = ulyssix_session.Quality()
    applied = AppliedMap(parse(MAP, 'map')) if beside == 'map' else None
    names, now = (), 10.0
    for data, stamp_ns in ulyssix_packets(parameters, samples):
        now += 0.01
        with meter:
            events = session.receive(ulyssix_session.CHANNEL, data, ('127.0.0.1', 5000), now)
        for event in events:
            if not isinstance(event, ulyssix_session.PacketReceived):
                continue
            with meter:
                placed = session.timeline.place(event.packet, stamp_ns)
            assert len(placed.times) == samples
            if event.names is not names:
                names = event.names
                if applied is not None:
                    applied.follow(names)
            if beside == 'quality':
                with meter:
                    quality.take(event.names, event.packet, placed, stamp_ns)
            elif applied is not None:
                with meter:
                    derived, _ = applied.take(
                        PacketSamples(event.packet.counts, event.packet.values, placed.times),
                        set())
                assert derived
        meter.lap()
    with meter:
        found = quality.report()
    assert bool(len(found.names)) is (beside == 'quality')


MAP = """
parameters:
  p0: {quantity: altitude_msl, limits: [-400, 13000]}
  p1: {quantity: true_airspeed}
derived:
  energy: {expression: p0 * 9.80665 + p1**2 / 2}
"""


PATHS = {
    'XPC: an update asked for, decoded and converted': (xpc_update, {}),
    'X-Plane 12: an update decoded and converted': (xplane12_update, {}),
    'Huginn: all eight sensors asked for, decoded and converted': (huginn_poll, {}),
    'Simpit: a packet found and decoded': (simpit_packet, {}),
    'Ulyssix: 1.4 kB, 5 parameters': (ulyssix_packet, {'parameters': 5, 'samples': 110}),
    'Ulyssix: 62 kB, 500 parameters': (ulyssix_packet, {'parameters': 500, 'samples': 5000}),
    'Ulyssix: the same with quality': (
        ulyssix_packet, {'parameters': 500, 'samples': 5000, 'beside': 'quality'}),
    'Ulyssix: the same with a map': (
        ulyssix_packet, {'parameters': 500, 'samples': 5000, 'beside': 'map'}),
}
WITH_MEMORY = [name for name in PATHS if name.startswith('Ulyssix')]


@pytest.mark.parametrize('name', PATHS)
def test_a_conversation_keeps_to_its_budget(name):
    skip_elsewhere('numpy')
    path, given = PATHS[name]
    if given.get('beside') == 'map':
        pytest.importorskip('pint', reason='maps with units need pint')
    check(name, CONVERSATION, measured(partial(path, **given), name in WITH_MEMORY))


def test_the_table_has_each_conversation_and_no_other():
    assert {name for name, (where, *_) in table().items() if where == CONVERSATION} == {*PATHS}
