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

"""X-Plane's native UDP, versions 10 to 12 and 6, as adapters for mould.py."""

import math

from mould import Adapter, Peer, THEIRS

from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.xplane_udp import protocol as wire
from xplane_bridge.bridges.xplane_udp.session import (
    DATA_CHANNEL,
    DataArrived,
    Sources,
    Telemetry,
    WatchedDatarefs,
    XplaneUdpSession,
)

TIME = 'sim/time/total_running_time_sec'
PAUSED = 'sim/time/paused'
OVERRIDE = 'sim/operation/override/override_joystick'
INTERNAL_VERSION = 'sim/version/xplane_internal_version'

SCALE = 10_000
NUMBER = 'test/number'
PLACE = tuple(f'sim/flightmodel/position/{name}' for name in (
    'latitude', 'longitude', 'elevation'))
HERE = dict(zip(PLACE, (47.0, 8.0, 500.0), strict=True))
STATE = (*PLACE, 'test/roll', 'test/airspeed')
WATCHED = ('test/one', 'test/two', 'test/array[3]')
STICKS = {
    'sim/joystick/yoke_pitch_ratio': 'elevator', 'sim/joystick/yoke_roll_ratio': 'aileron'}
INTERNAL_VERSIONS = {11: 115502.0, 12: 121001.0}

SIX = 6
TICKED = '6, whose user has ticked some rows'
TRIMS = ('elevator_trim', 'aileron_trim')
# Rows shown in version 6: time, trims, attitude and position.
ROWS = wire.rows_for(SIX, ('total_time', *TRIMS, 'pitch', 'latitude_deg'))
USERS_ROWS = (1, 30)


def planepath(aircraft):
    """Return the dataref that stops the flight model of an aircraft."""
    return f'sim/operation/override/override_planepath[{aircraft}]'


class XPlane12(Peer):
    """Send the subscribed datarefs; apply datarefs and commands."""

    def __init__(self, version, started):
        super().__init__(version, started, {
            OVERRIDE: 0.0, PAUSED: 0.0, planepath(0): 0.0, **dict.fromkeys(STICKS, 0.0)})
        self._subscribed = {}
        self._poses = {}
        self._ticks = {}
        self._last = started

    def receive(self, channel, data, now):
        """Handle one datagram."""
        try:
            message = wire.decode(data, 'bridge', self.version)
        except ProtocolError:
            # It is meant for another version.
            return
        if isinstance(message, wire.RrefRequest):
            self._subscribed.pop((channel, message.index), None)
            if message.freq > 0 and self._read(message.dataref, now) is not None:
                self._subscribed[channel, message.index] = message.dataref, message.freq
        elif isinstance(message, wire.RposRequest):
            self._poses[channel] = message.rate
        elif isinstance(message, wire.Dref):
            if message.dataref in self.cells.values:
                self.cells.write(message.dataref, message.value)
        elif isinstance(message, wire.Cmnd):
            if message.command.endswith('pause_on'):
                self.cells.write(PAUSED, 1.0)
            else:
                self.cells.let_go(PAUSED, 0.0)
        elif isinstance(message, wire.Vehx):
            self.cells.write(planepath(0), 1.0)

    def forget(self, number):
        """Forget one subscription."""
        if self._subscribed:
            del self._subscribed[sorted(self._subscribed)[number % len(self._subscribed)]]

    def frame(self, now):
        """Return what is due."""
        if self.cells.values[PAUSED]:
            # Its time stands still (docs/wire/xplane_datarefs.md, row 3.1).
            self.started += now - self._last
        self._last = now
        due = set()
        for rate in {*self._poses.values(), *(freq for _, freq in self._subscribed.values())}:
            tick = math.floor(now * rate)
            if rate and self._ticks.get(rate) != tick:
                self._ticks[rate] = tick
                due.add(rate)
        for channel, rate in self._poses.items():
            if rate in due and 'RPOS' not in self.hidden:
                yield channel, wire.encode(wire.RposReply(
                    lon=8.0, lat=47.0, ele_m=500.0, agl_m=0.0, pitch_deg=0.0,
                    heading_true_deg=0.0, roll_deg=0.0, v_east=0.0, v_up=0.0, v_south=0.0,
                    p_rad_s=0.0, q_rad_s=0.0, r_rad_s=0.0), self.version)
        values = {}
        for (channel, index), (name, rate) in list(self._subscribed.items()):
            value = self._read(name, now)
            if value is None:
                # When a plugin exits, its datarefs and their subscriptions go with it.
                del self._subscribed[channel, index]
            elif rate in due:
                values.setdefault(channel, []).append((index, value))
        for channel, pairs in values.items():
            yield channel, wire.encode(wire.RrefReply(tuple(pairs)), self.version)

    def _read(self, name, now):
        if name in self.hidden:
            return None
        if name == TIME:
            return now - self.started
        if name == INTERNAL_VERSION:
            return INTERNAL_VERSIONS.get(self.version)
        return self.cells.values.get(name, HERE.get(name, 1.0))


class Xplane12Adapter(Adapter):
    """X-Plane 10 and later: subscribed datarefs, written datarefs."""

    versions = (12, 11, 10)
    commands = (
        lambda s, n, now: s.send(wire.Dref(float(n), NUMBER), now),
        lambda s, n, now: s.set_controls({'elevator': n / SCALE}, now),
        lambda s, n, now: s.set_controls({'aileron': n / SCALE, 'gear': 1.0}, now),
        lambda s, n, now: s.set_controls({'throttle': n / SCALE}, now),
        lambda s, n, now: s.pause(True, now),
        lambda s, n, now: s.pause(False, now),
        lambda s, n, now: s.send(wire.Vehx(0, 47.0, 8.0, 500.0, 0.0, 0.0, 0.0), now),
    )
    others = (
        (OVERRIDE, 1.0), (PAUSED, 1.0), (planepath(0), 1.0), (PAUSED, 0.0), (OVERRIDE, 0.0),
        ('sim/joystick/yoke_pitch_ratio', 0.25))
    reported = frozenset((OVERRIDE, PAUSED, planepath(0)))
    optional = ('test/roll', 'test/one', 'test/array[3]', 'RPOS')
    # Half a minute and more in reality.
    restart_takes = 3.0
    musts = {
        'giving back at the end': (
            lambda s, now: s.stop(now), {
                OVERRIDE: None, planepath(0): None, **dict.fromkeys(STICKS, 0.0)}),
        'release': (
            lambda s, now: s.release(now), {
                OVERRIDE: None, planepath(0): None, **dict.fromkeys(STICKS, 0.0)}),
        'neutral': (lambda s, now: s.centre(now), dict.fromkeys(STICKS, 0.0)),
        'pause': (lambda s, now: s.pause(True, now), {PAUSED: 1.0}),
    }

    def take_all(self, session, now):
        """Take the axes, the joystick and the flight model."""
        session.set_controls({'elevator': 0.4, 'aileron': -0.3}, now)
        session.send(wire.Vehx(0, 47.0, 8.0, 500.0, 0.0, 0.0, 0.0), now)

    def make_session(self):
        """Return a session that detects the version."""
        return XplaneUdpSession(
            Sources(dict.fromkeys((10, 11, 12), STATE), dict.fromkeys((10, 11, 12), ())),
            rate=5.0, peer=('127.0.0.1', 49000))

    def start(self, session, now):
        """Also watch some datarefs."""
        session.watch(WATCHED, 2.0, now)
        session.start(now)

    def make_peer(self, version, started):
        """Return an X-Plane of that version."""
        return XPlane12(version, started)

    def numbers_in(self, data):
        """Return the number in a written dataref."""
        if not data.startswith(b'DREF'):
            return []
        message = wire.decode(data, 'bridge', 12)
        if message.dataref == NUMBER:
            return [round(message.value)]
        if message.dataref in STICKS or 'throttle' in message.dataref:
            return [round(message.value * SCALE)] if message.value else []
        return []

    def wanted(self, peer):
        """Return the subscriptions."""
        return {'RPOS', *STATE, *WATCHED}

    def values_in(self, event):
        """Return the names of the values received."""
        if isinstance(event, Telemetry):
            return [*event.values] + ['RPOS'] * (event.pose is not None)
        if isinstance(event, WatchedDatarefs):
            return [name for name, value in zip(event.names, event.values, strict=True)
                    if value is not None]
        return []

    def neutral(self, name, before):
        """Return 0 for the sticks; everything else keeps its value."""
        return 0.0 if name in STICKS else before


class Xplane12PausedAdapter(Xplane12Adapter):
    """X-Plane 10 and later, paused by the session; nothing else was taken."""

    musts = {
        'giving back at the end': (lambda s, now: s.stop(now), {PAUSED: None}),
        'resume': (lambda s, now: s.pause(False, now), {PAUSED: 0.0}),
        'override': (
            lambda s, now: s.set_controls({'elevator': 0.4}, now), {OVERRIDE: 1.0}),
    }

    def take_all(self, session, now):
        """Pause."""
        session.pause(True, now)


class XPlane6(Peer):
    """Send the ticked rows; apply rows."""

    def __init__(self, version, started):
        super().__init__(version, started, {
            **{f'row {row}': 0.0 for row in (*ROWS, *USERS_ROWS)}, **dict.fromkeys(TRIMS, 0.125)})
        self._layout = wire.default_layout(SIX, 'peer')
        self._tick = 0
        if version == TICKED:
            # By the user, before any session.
            for row in (*ROWS[:2], *USERS_ROWS):
                self.cells.values[f'row {row}'] = 1.0

    def forget(self, number):
        """Let the user untick a wanted row."""
        self.cells.write(f'row {ROWS[number % len(ROWS)]}', 0.0, THEIRS)

    def receive(self, channel, data, now):
        """Handle one datagram."""
        message = wire.decode(
            data, 'bridge', SIX, layout=wire.default_layout(SIX, 'bridge'))
        if isinstance(message, wire.Data):
            written = wire.quantities(SIX, message.segments)
            for name in TRIMS:
                value = getattr(written, name)
                if value is not None:
                    self.cells.write(name, value)
            return
        for row in message.indices:
            value = float(isinstance(message, wire.Dsel))
            if self.cells.values.get(f'row {row}', value) != value:
                self.cells.write(f'row {row}', value)

    def frame(self, now):
        """Return all ticked rows, ten times per second."""
        tick = math.floor(now * 10.0)
        rows = [row for row in ROWS + USERS_ROWS if self.cells.values[f'row {row}']
                and f'row {row}' not in self.hidden]
        if tick == self._tick or not rows:
            return
        self._tick = tick
        trims = {name: self.cells.values[name] for name in TRIMS}
        segments = wire.to_segments(SIX, {
            'total_time': now - self.started, 'pitch': 0.1, 'latitude_deg': 0.5, **trims})
        known = {segment.index: segment for segment in segments}
        yield DATA_CHANNEL, wire.encode(wire.Data(tuple(
            known.get(row) or wire.Segment(row, (0.0,) * 8) for row in sorted(rows)),
            self._layout), SIX)


class Xplane6Adapter(Adapter):
    """X-Plane 6: ticked rows, written rows; a row tells runs apart."""

    versions = (SIX, TICKED)
    channels = (DATA_CHANNEL,)
    commands = (
        lambda s, n, now: s.set_controls({'elevator': n / SCALE}, now),
        lambda s, n, now: s.set_controls({'aileron': n / SCALE}, now),
        lambda s, n, now: s.set_controls({'throttle': n / SCALE}, now),
    )
    others = (
        *((f'row {row}', 1.0) for row in (*ROWS[:2], *USERS_ROWS)), ('elevator_trim', 0.25))
    reported = frozenset(TRIMS)
    # Rows that the user has ticked do arrive.
    optional = tuple(f'row {row}' for row in ROWS[2:])
    restart_takes = 3.0
    # One row is selected to wake a silent X-Plane. In another run whose user has ticked rows,
    # nothing tells whether it was among them, so it stays.
    known_after_restart = False
    # Trims that were not reported before they were written cannot be restored.
    settling_takes = 6.0
    musts = {
        'giving back at the end': (lambda s, now: s.stop(now), dict.fromkeys(TRIMS)),
        'release': (lambda s, now: s.release(now), dict.fromkeys(TRIMS)),
        'neutral': (lambda s, now: s.centre(now), dict.fromkeys(TRIMS, 0.0)),
    }

    def take_all(self, session, now):
        """Take the trims."""
        session.set_controls({'elevator': 0.4, 'aileron': -0.3}, now)

    def make_session(self):
        """Return a session for version 6."""
        return XplaneUdpSession(
            Sources({}, {SIX: ROWS}), rate=5.0, version=SIX, peer=('127.0.0.1', 49000))

    def make_peer(self, version, started):
        """Return an X-Plane 6 whose user has ticked some rows, or none."""
        return XPlane6(version, started)

    def numbers_in(self, data):
        """Return the numbers in written rows."""
        if not data.startswith(b'DATA'):
            return []
        message = wire.decode(data, 'bridge', SIX, layout=wire.default_layout(SIX, 'bridge'))
        written = wire.quantities(SIX, message.segments)
        values = [written.elevator_trim, written.aileron_trim, (written.throttle or (None,))[0]]
        return [round(value * SCALE) for value in values if value and value < 0.1]

    def wanted(self, peer):
        """Return the requested rows."""
        return {f'row {row}' for row in ROWS}

    def values_in(self, event):
        """Return the rows received."""
        return [f'row {segment.index}' for segment in event.segments] if isinstance(
            event, DataArrived) else []
