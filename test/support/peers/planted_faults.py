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

"""One fault planted in a simulated peer, and what a verification must call it."""

from __future__ import annotations

from dataclasses import replace
import math
import struct
from typing import NamedTuple

from xplane_bridge.bridges.fdmdata import protocol as fdmdata
from xplane_bridge.bridges.links.udp import SocketCounters
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xplane_udp import protocol as wire
from xplane_bridge.simulation.peers.faults import Faults

P, F = 'sim/flightmodel/position/', 'sim/flightmodel/forces/'
W = 'sim/weather/aircraft/'
C = 'sim/cockpit2/controls/'
DEGREE = math.pi / 180.0
KNOT = 1852.0 / 3600.0
_INDEX, _FREQ = 9, 5


class Planted(NamedTuple):
    """
    A fault: ``plant(peer)`` puts it in; ``faults`` are those of the network.

    ``subject`` is what the finding must be about, and ``said`` is in its sentence. ``besides``
    are subjects that may differ as well, as it is the same fault.
    """

    peer: str
    name: str
    subject: str
    said: str
    plant: object = None
    faults: Faults | None = None
    besides: tuple[str, ...] = ()
    options: dict = {}

    @property
    def id(self):
        return f'{self.peer}-{self.name}'


def entries(peer):
    """Return the datarefs of a simulated X-Plane."""
    frontend = peer.frontend
    return (frontend.store if hasattr(frontend, 'store') else frontend.xplane._store)._entries


def scaled(name, factor=-1.0, offset=0.0):
    """Plant that a dataref is larger by a factor."""
    def plant(peer):
        entry = entries(peer)[name]
        entries(peer)[name] = replace(entry, read=lambda: factor * entry.read() + offset)

    return plant


def gone(name):
    """Plant that X-Plane does not have a dataref."""
    return lambda peer: entries(peer).pop(name)


def deaf(name):
    """Plant that what is written to a dataref has no effect."""
    def plant(peer):
        entries(peer)[name] = replace(entries(peer)[name], write=lambda _: None)

    return plant


def dropping(*parts, only=lambda data: True):
    """Plant that datagrams to the peer with one of these in them are ignored."""
    def plant(peer):
        peer.tamper = lambda data, to_peer: [] if to_peer and any(
            part in data for part in parts) and only(data) else [data]

    return plant


def answers(change):
    """Plant that each datagram of the peer is changed; None leaves it."""
    def plant(peer):
        peer.tamper = lambda data, to_peer: [data] if to_peer else [change(data) or data]

    return plant


def requests(change):
    """Plant that each datagram to the peer is read otherwise; None leaves it."""
    def plant(peer):
        peer.tamper = lambda data, to_peer: [change(data) or data] if to_peer else [data]

    return plant


def slow(frames):
    """Plant that the peer draws only every so many-th frame."""
    def plant(peer):
        count, frame = 0, peer.frontend.frame

        def now_and_then(now):
            nonlocal count
            count += 1
            if not count % frames:
                frame(now)

        peer.frontend.frame = now_and_then

    return plant


def half_time(peer):
    """Plant that the simulation runs at half speed."""
    advance, count = peer.world.advance, 0

    def every_other(elapsed):
        nonlocal count
        count += 1
        if count % 2:
            advance(elapsed)

    peer.world.advance = every_other


# X-Plane's own UDP.

def _halved(data):
    if data[:4] == b'RREF':
        freq, = struct.unpack_from('<i', data, _FREQ)
        return data[:_FREQ] + struct.pack('<i', (freq + 1) // 2 if freq > 2 else freq) + data[9:]
    return data[:5] + b'10' + data[7:] if data[:7] == b'RPOS\x0020' else None


def _swapped_rref(data):
    if data[:4] != b'RREF':
        return None
    return data[:5] + b''.join(data[at:at + 4][::-1] for at in range(5, len(data), 4))


def _pose(**factors):
    def change(data):
        if data[:4] != b'RPOS':
            return None
        message = wire.decode(data, 'peer', 12)
        return wire.encode(replace(message, **{
            name: factor * getattr(message, name) for name, factor in factors.items()}), 12)

    return change


def _no_zero(name):
    """Return whether a DREF writes 0 to a dataref."""
    return lambda data: data[:4] == b'DREF' and data[5:9] == bytes(4) and name in data


def _other_port(data):
    message = wire.decode(data, 'peer', 12)
    return wire.encode(replace(message, port=49010), 12)


def _beacon(change):
    def plant(peer):
        peer.beacon_of = change

    return plant


def _row(version, words, factor=-1.0):
    """Change one quantity of the rows of a version, found by its row and column."""
    row, column = words

    def change(data):
        if data[:4] != b'DATA':
            return None
        message = wire.decode(data, 'peer', version)
        return wire.encode(replace(message, segments=tuple(
            replace(one, values=tuple(
                value * factor if place == column and value is not None else value
                for place, value in enumerate(one.values))) if one.index == row else one
            for one in message.segments)), version)

    return answers(change)


def _without_row(version, row):
    def change(data):
        if data[:4] != b'DATA':
            return None
        message = wire.decode(data, 'peer', version)
        return wire.encode(replace(message, segments=tuple(
            one for one in message.segments if one.index != row)), version)

    return answers(change)


# X-Plane Connect.

def _swapped_posi(data):
    if data[:4] != b'POSI':
        return None
    return data[:6] + b''.join(data[at:at + 8][::-1] for at in (6, 14, 22)) + data[30:]


def _posi(**factors):
    def change(data):
        if data[:4] != b'POSI':
            return None
        message = xpc.decode(data, 'peer')
        return xpc.encode(replace(message, **{
            name: factor * getattr(message, name) for name, factor in factors.items()}))

    return change


def _ctrl(**changes):
    """Read CTRL otherwise: None leaves a control alone."""
    def change(data):
        if data[:4] != b'CTRL':
            return None
        message = xpc.decode(data, 'bridge')
        return xpc.encode(replace(message, **{
            name: None if factor is None or getattr(message, name) is None
            else factor * getattr(message, name) for name, factor in changes.items()}))

    return change


def _xpc_port(data):
    return xpc.encode(replace(xpc.decode(data, 'peer'), port=49010))


SIGN = 'the other sign'
REPLAY = 'sim/time/is_in_replay'


def elsewhere(**counters):
    """Plant what the sockets here have counted."""
    def plant(peer):
        peer.counters = SocketCounters(received=900, **counters)

    return plant


# Each way: of X-Plane's stream only the answers are lost, of the plugin's the questions too.
LOST = {'xpc': Faults(loss=0.12, seed=3), 'xplane12': Faults(loss=0.25, seed=5)}
UNEVEN = Faults(jitter=0.1, seed=5)


def _of_datarefs(peer):
    """Return the faults that any X-Plane of today may have, whoever transports its datarefs."""
    signs = {
        'Prad': 'roll_rate', 'Qrad': 'pitch_rate', 'Rrad': 'yaw_rate', 'alpha': 'angle_of_attack',
        'local_vx': 'velocity_east', 'local_vy': 'climb_rate', 'local_vz': 'velocity_north',
        'true_phi': 'roll', 'true_theta': 'pitch', 'true_psi': 'heading'}
    yield from (Planted(peer, f'sign of {name}', subject, SIGN, scaled(P + name))
                for name, subject in signs.items())
    yield from (
        Planted(peer, f'sign of {name}', subject, SIGN, scaled(F + name))
        for name, subject in {'g_nrml': 'specific_force_up', 'g_side': 'specific_force_left',
                              'g_axil': 'specific_force_forward'}.items())
    yield Planted(peer, 'sign of wind x', 'wind_east', SIGN, scaled(f'{W}wind_now_x_msc'))
    yield Planted(peer, 'sign of wind z', 'wind_north', SIGN, scaled(f'{W}wind_now_z_msc'))
    yield from (Planted(peer, f'sign of {name}', name, 'contradicts', scaled(P + name))
                for name in ('phi', 'theta'))
    units = (
        ('Prad', 'roll_rate', 'degrees', 1.0 / DEGREE),
        ('Qrad', 'pitch_rate', 'degrees', 1.0 / DEGREE),
        ('alpha', 'angle_of_attack', 'radians', DEGREE),
        ('true_airspeed', 'true_airspeed', 'knots', 1.0 / KNOT),
        ('indicated_airspeed', 'airspeed', 'm/s', KNOT),
        ('local_vx', 'velocity_east', 'knots', 1.0 / KNOT),
        ('true_psi', 'heading', 'radians', DEGREE),
        ('groundspeed', 'groundspeed', 'contradicts', 1.0 / KNOT))
    yield from (Planted(peer, f'unit of {name}', subject, said, scaled(P + name, factor))
                for name, subject, said, factor in units)
    yield Planted(peer, 'unit of g_nrml', 'specific_force_up', 'm/s^2',
                  scaled(f'{F}g_nrml', 9.80665))
    yield Planted(peer, 'unit of pressure', 'static_pressure', 'hPa',
                  scaled(f'{W}barometer_current_pas', 0.01))
    yield Planted(peer, 'unit of temperature', 'temperature', 'does not fit',
                  scaled(f'{W}temperature_ambient_deg_c', 1.0, 273.15), besides=('airspeed',))
    yield from (Planted(peer, f'without {name}', P + name, 'does not arrive', gone(P + name))
                for name in ('alpha', 'Qrad'))
    yield Planted(peer, 'flaps in percent', 'sim/flightmodel/controls/flaprqst', 'ratio',
                  scaled('sim/flightmodel/controls/flaprqst', 100.0), besides=(
                      'flaps', 'given back'))
    yield Planted(peer, 'half speed', 'time', 'pace', half_time, besides=('rate', 'gaps'))
    yield Planted(peer, 'loss', 'loss' if peer == 'xpc' else 'gaps', '%', faults=LOST[peer],
                  besides=('gaps', 'rate', 'loss', 'jitter'))
    yield Planted(peer, 'jitter', 'jitter', 'unevenly', faults=UNEVEN,
                  besides=('gaps', 'rate'))


PLANTED = (
    *_of_datarefs('xplane12'),
    *_of_datarefs('xpc'),
    *(Planted(peer, name, subject, said, plant) for peer in ('xplane12', 'xpc')
      for name, subject, said, plant in (
          ('in replay', 'replay', 'plays a replay', scaled(REPLAY, 0.0, 1)),
          ('other port', 'other port', 'another program is sending here', elsewhere(
              other_ports=40, dropped_from=('127.0.0.1', 6000))),
          ('other address', 'other address', 'not the address of the simulator', elsewhere(
              strangers=40, stranger=('127.0.0.2', 49001))),
          ('full buffer', 'buffer', 'allow a larger buffer', elsewhere(kernel_drops=40)))),
    Planted('xplane12', 'half rate', 'rate', 'less often', requests(_halved)),
    Planted('xplane12', 'byte order', 'answer', 'byte order', answers(_swapped_rref), besides=()),
    Planted('xplane12', 'beacon', 'beacon', 'another port', _beacon(_other_port)),
    Planted('xplane12', 'sign of longitude', 'longitude', SIGN, answers(_pose(lon=-1.0))),
    Planted('xplane12', 'altitude in feet', 'altitude', 'contradicts',
            answers(_pose(ele_m=1.0 / 0.3048)), besides=()),
    Planted('xplane12', 'aileron ignored', 'aileron', 'does not show',
            deaf('sim/joystick/yoke_roll_ratio')),
    Planted('xplane12', 'flaps ignored', 'flaps', 'does not show',
            deaf('sim/flightmodel/controls/flaprqst')),
    Planted('xplane12', 'release ignored', 'given back', 'not shown', dropping(
        b'override_joystick\0', b'override_joystick ', only=_no_zero(b'override_joystick'))),
    Planted('xplane12', 'pause ignored', 'pause', 'not pause', dropping(b'pause_on'),
            besides=()),
    Planted('xplane12', 'pose ignored', 'pose', 'not where', dropping(b'VEHS')),
    Planted('xpc', 'half rate', 'rate', 'less often', slow(4)),
    Planted('xpc', 'byte order', 'answer', 'byte order', answers(_swapped_posi)),
    Planted('xpc', 'beacon', 'beacon', 'another port', _beacon(_xpc_port)),
    Planted('xpc', 'aileron ignored', 'aileron', 'does not show', requests(_ctrl(aileron=None))),
    Planted('xpc', 'elevator turned', 'elevator', 'does not show', requests(
        _ctrl(elevator=-1.0))),
    Planted('xpc', 'release ignored', 'given back', 'not shown', dropping(
        b'override_joystick', only=lambda data: data[:4] == b'DREF' and data[-4:] == bytes(4))),
    Planted('xpc', 'pause ignored', 'pause', 'not pause', dropping(b'SIMU')),
    Planted('xpc', 'pose ignored', 'pose', 'not where', dropping(b'POSI')),
)


# Huginn.

def _reply(command, **factors):
    """Change fields of one sensor by factors."""
    def change(data):
        if data[:2] != bytes((0, command)):
            return None
        message = fdmdata.decode_reply(data)
        return fdmdata.encode(replace(message, **{
            name: factor * getattr(message, name) for name, factor in factors.items()}))

    return change


def _little_endian(data):
    return data[:2] + b''.join(data[at:at + 4][::-1] for at in range(2, len(data), 4))


def _control(place, factor):
    """Read one of the four controls otherwise."""
    def change(data):
        if len(data) != 16:
            return None
        values = list(struct.unpack('>4f', data))
        values[place] *= factor
        return struct.pack('>4f', *values)

    return change


def _unanswered(command):
    def plant(peer):
        peer.tamper = lambda data, to_peer: [] if to_peer and data == bytes((command,)) else [data]

    return plant


def _huginn(name, subject, said, plant=None, **options):
    return Planted('fdmdata', name, subject, said, plant, **options)


_GPS, _FELT, _GYRO, _WARM, _STATIC, _INS = 0, 1, 2, 4, 6, 7
PLANTED = (
    *PLANTED,
    *(_huginn(f'sign of {name}', name, SIGN, answers(_reply(_GYRO, **{name: -1.0})))
      for name in ('roll_rate', 'pitch_rate', 'yaw_rate')),
    _huginn('rates in rad/s', 'roll_rate', 'radians', answers(_reply(
        _GYRO, roll_rate=DEGREE, pitch_rate=DEGREE, yaw_rate=DEGREE)),
        besides=('pitch_rate', 'yaw_rate')),
    _huginn('sign of roll', 'roll', SIGN, answers(_reply(_INS, roll=-1.0))),
    _huginn('sign of heading', 'heading', SIGN, answers(_reply(_INS, heading=-1.0))),
    _huginn('airspeed in knots', 'true_airspeed', 'knots', answers(
        _reply(_GPS, airspeed=1.0 / KNOT))),
    _huginn('force in g', 'specific_force_up', 'g, where', answers(_reply(
        _FELT, x=1.0 / 9.80665, y=1.0 / 9.80665, z=1.0 / 9.80665)),
        besides=('specific_force_forward', 'specific_force_left')),
    _huginn('sign of z', 'specific_force_up', SIGN, answers(_reply(_FELT, z=-1.0))),
    _huginn('pressure in hPa', 'static_pressure', 'hPa', answers(_reply(_STATIC, pressure=0.01)),
            besides=('airspeed',)),
    _huginn('without gyroscope', 'gyroscope', 'does not arrive', _unanswered(_GYRO)),
    _huginn('byte order', 'answer', 'byte order', answers(_little_endian)),
    _huginn('elevator turned', 'elevator', 'the other way', requests(_control(1, -1.0))),
    _huginn('rudder ignored', 'rudder', 'does not move', requests(_control(2, 0.0))),
)


# Kerbal Simpit.

def _said(channel, **factors):
    """Change fields of one channel by factors."""
    def change(message):
        if message.channel != channel:
            return message
        return replace(message, **{
            name: factor * getattr(message, name) for name, factor in factors.items()})

    def plant(peer):
        peer.says = change

    return plant


def _turned(**factors):
    """Let the game take an axis of Rotation otherwise."""
    def plant(peer):
        peer.tamper = lambda message, to_peer: [replace(message, **{
            name: round(factor * getattr(message, name)) for name, factor in factors.items()})
            if isinstance(message, simpit.Rotation) else message]

    return plant


PLANTED = (
    *PLANTED,
    *(Planted('simpit', name, subject, said, plant) for name, subject, said, plant in (
        ('roll as documented', 'roll', SIGN, _said('attitude', roll=-1.0)),
        ('sign of heading', 'heading', SIGN, _said('attitude', heading=-1.0)),
        ('heading in radians', 'heading', 'radians', _said('attitude', heading=DEGREE)),
        ('sign of vertical speed', 'climb_rate', SIGN, _said('velocities', vertical_mps=-1.0)),
        ('altitude in feet', 'climb_rate', 'another unit', _said(
            'altitude', sea_level_m=1.0 / 0.3048)),
        ('path upside down', 'vertical speed', 'contradicts', _said(
            'attitude', surface_vel_pitch=-1.0)),
        ('elevator turned', 'elevator', 'the other way', _turned(pitch=-1.0)),
        ('rudder ignored', 'rudder', 'does not move', _turned(yaw=0.0)))),
)


def does_as_asked(peer, question):
    """Pause, replay or quit a simulator, as a person at it is asked to."""
    if question.startswith('pause'):
        peer.world.paused = True
    elif question.startswith('start a replay'):
        scaled(REPLAY, 0.0, 1)(peer)
    elif question.startswith('quit'):
        peer.dies_at = 0.0


def undoes_as_told(peer, text):
    """Do the opposite, as a person at a simulator is told to."""
    if text == '  Please resume it.':
        peer.world.paused = False
    elif text == '  Please end the replay.':
        scaled(REPLAY, 0.0)(peer)
    elif text.startswith('  Please start it again'):
        peer.dies_at = float('inf')
