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
Does the telemetry of one flight belong together? Each signal against independent others.

Attitude against rates, velocity against position, climb against altitude and pressure, alpha
against velocity and wind, specific force against acceleration. Where two contradict each other a
third tells which of them is wrong. One that is wrong is said once: for what follows it is
repaired, or counts as unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.bridges.conversions import air
from xplane_bridge.common.units import DEGREE, STANDARD_GRAVITY
from xplane_bridge.laboratory.verification.evidence.findings import CheckResult, Outcome
from xplane_bridge.laboratory.verification.evidence.flight_record import FlightRecord
from xplane_bridge.laboratory.verification.evidence.relations import (
    Accord,
    Kind,
    named,
    relate,
    Relation,
    Series,
)

STEP = 'Telemetry'

# Lengths of pieces of the flight, in seconds: turning is fast, the steps of a float32 of degrees
# are large.
_TURNING, _MOVING, _SPEEDING, _SWINGING = 0.4, 1.0, 0.5, 2.0
# From which root mean square on something can be said, in rad/s, rad, m/s, m/s^2.
_LEAST_RATE, _LEAST_BANK, _LEAST_ALPHA = 0.4 * DEGREE, 1.5 * DEGREE, 0.3 * DEGREE
_LEAST_SPEED, _LEAST_CLIMB, _LEAST_FORCE, _LEAST_WIND = 3.0, 0.25, 0.15, 2.0
# How far air data may be from those of the standard atmosphere: 8 % of pressure, 45 K.
_PRESSURE_WITHIN, _TEMPERATURE_WITHIN = 0.08, 45.0
# Track and heading differ by the wind and by the sideslip.
_DRIFT = 20.0 * DEGREE
_ALPHA_WITHIN = 2.0 * DEGREE

_SAYS_NOTHING = (Accord.UNFLOWN, Accord.UNKNOWN)
_RATES = ('roll_rate', 'pitch_rate', 'yaw_rate')
_FORCES = ('specific_force_forward', 'specific_force_left', 'specific_force_up')
_ATTITUDE = dict(zip(_RATES, ('roll', 'pitch', 'heading'), strict=True))
_ADVICE = {
    'roll': 'fly a gentle turn', 'roll_rate': 'bank to either side',
    'pitch_rate': 'raise and lower the nose', 'yaw_rate': 'turn to either side',
    'climb_rate': 'climb and descend', 'velocity_north': 'fly along another heading',
    'velocity_east': 'fly along another heading', 'angle_of_attack': 'fly slower',
    'specific_force_forward': 'raise and lower the nose',
    'specific_force_left': 'skid by the rudder', 'wind': 'fly in wind'}


class Source(NamedTuple):
    """Where a signal comes from: its name on the wire, and the requirement that describes it."""

    wire: str
    requirement: str = ''


class Consistency:
    """
    The checks of one flight; ``sources`` are those of the signals, by their names.

    ``commanded`` has how much more of a signal there was while what should raise it was commanded,
    than while the opposite was: a witness where no other one is left.
    """

    def __init__(
        self, record: FlightRecord, sources: Mapping[str, Source],
        commanded: Mapping[str, float] | None = None,
    ) -> None:
        self._commanded = commanded or {}
        self.findings: list[CheckResult] = []
        self.bad: set[str] = set()
        self._record = record
        self._sources = sources

    def run(self) -> list[CheckResult]:
        """Return the findings of all checks."""
        if len(self._record) < 2:
            return [CheckResult(STEP, 'flight', Outcome.NOT_SEEN, 'no telemetry to compare')]
        for check in (
                self._ground_speed, self._true_airspeed, self._heading, self._climb,
                self._attitude, self._angle_of_attack, self._atmosphere,
                self._indicated_airspeed, self._wind, self._specific_force):
            check()
        return self.findings

    # The checks, in the order of trust.

    def _ground_speed(self) -> None:
        """Velocity against position; the heading and the airspeed decide between them."""
        record = self._record
        for name, place, along in (
                ('velocity_east', 'longitude', np.sin), ('velocity_north', 'latitude', np.cos)):
            moved = record.slope(place, _MOVING)
            flown = record.mean(name, _MOVING)
            found = relate(flown, moved, Kind.SPEED, _LEAST_SPEED)
            if not found.is_bad:
                self._tell(name, found, 'position')
                continue
            points = self._at_pieces(
                record['true_airspeed'] * along(record['heading'])
                + _or_zero(record[f'wind_{name.removeprefix("velocity_")}']), _MOVING)
            of_place = relate(moved, points, Kind.LENGTH, _LEAST_SPEED)
            of_speed = relate(flown, points, Kind.SPEED, _LEAST_SPEED)
            if of_speed.verdict is Accord.AGREES and of_place.verdict is not Accord.AGREES:
                self._blame(place, relate(moved, flown, Kind.LENGTH, 0.1), 'velocity')
            else:
                self._blame(name, found, 'position')

    def _true_airspeed(self) -> None:
        record = self._record
        speed = np.sqrt(sum(part ** 2 for part in self._through_air()))
        self._level('true_airspeed', speed, Kind.SPEED, 'velocity and wind',
                    0.15 if np.isfinite(record['wind_east']).any() else 0.6)

    def _heading(self) -> None:
        """Where the nose points against where the aircraft flies through the air."""
        record = self._record
        north, east, _ = self._through_air()
        if not np.isfinite(north + east + record['heading']).any():
            return
        track = np.arctan2(east, north)

        def fits(heading: Series) -> bool:
            apart = np.exp(1j * (heading - track))
            mean = np.nanmean(apart)
            return bool(abs(mean) > 0.8 and abs(np.angle(mean)) < _DRIFT)

        heading = record['heading']
        readings: tuple[tuple[str, Callable[[Series], Series]], ...] = (
            ('', lambda psi: psi),
            ('has the other sign', lambda psi: -psi),
            ('comes in radians where degrees are expected', lambda psi: psi / DEGREE),
            ('is counted anticlockwise from east', lambda psi: math.pi / 2.0 - psi),
            ('points backwards', lambda psi: psi + math.pi),
            ('is 90 degrees off', lambda psi: psi + math.pi / 2.0),
            ('is 90 degrees off', lambda psi: psi - math.pi / 2.0))
        for sentence, read in readings:
            if fits(read(heading)):
                if sentence:
                    self._differs('heading', f'heading {sentence}', 'as the track',
                                  _degrees(heading))
                    record.signals['heading'] = read(heading)
                else:
                    self._seen('heading', 'heading points along the track')
                return
        self._differs('heading', 'heading does not follow the track', 'as the track',
                      _degrees(heading))
        record.drop('heading')

    def _attitude(self) -> None:
        """Rates against attitude; turns and the angle of attack decide between them."""
        record = self._record
        turned = dict(zip(_RATES, record.rates_of_attitude(_TURNING), strict=True))
        found = {
            name: relate(record.mean(name, _TURNING), turned[name], Kind.ANGLE, _LEAST_RATE)
            for name in _RATES}
        bank = self._bank()
        if bank.is_bad:
            self._blame('roll', bank, 'the turn')
        else:
            self._tell('roll', bank, 'the turn')
        alpha = self._alpha_against_pitch()
        if alpha.is_bad and found['pitch_rate'].is_bad:
            inverse = relate(
                turned['pitch_rate'], record.mean('pitch_rate', _TURNING), Kind.ANGLE,
                0.25 * _LEAST_RATE)
            self._blame('pitch', inverse, 'pitch rate and angle of attack')
        for name, other in zip(_RATES, (bank, alpha, Relation(Accord.UNKNOWN)), strict=True):
            angle = _ATTITUDE[name]
            if found[name].verdict is Accord.SIGN and angle not in self.bad and (
                    other.verdict in _SAYS_NOTHING) and (
                    self._commanded.get(name, 0.0) > _LEAST_RATE):
                self._blame(angle, Relation(Accord.SIGN, -1.0), 'rate and command')
        if not self.bad.isdisjoint(_ATTITUDE.values()):
            turned = dict(zip(_RATES, record.rates_of_attitude(_TURNING), strict=True))
            found = {
                name: relate(record.mean(name, _TURNING), turned[name], Kind.ANGLE, _LEAST_RATE)
                for name in _RATES}
        for name in _RATES:
            witness = _ATTITUDE[name]
            if found[name].is_bad and not np.isfinite(record[witness]).any():
                continue
            if found[name].is_bad:
                self._blame(name, found[name], f'the change of {witness}')
            else:
                self._tell(name, found[name], f'the change of {witness}')

    def _bank(self) -> Relation:
        """Return roll against the bank of the turn that is flown."""
        record = self._record
        north, east, _ = self._over_ground()
        # Positions in steps of a float32 turn in leaps. The nose turns with the track, but for
        # what the rudder does.
        track, speed, length = (
            (np.arctan2(east, north), np.hypot(north, east), _SPEEDING) if self._has_velocity
            else (record['heading'], record['true_airspeed'], _SWINGING))
        track = np.unwrap(np.nan_to_num(track))
        firsts, lasts = record.pieces(length)
        if not len(firsts):
            return Relation(Accord.UNKNOWN)
        rate = (track[lasts] - track[firsts]) / (record.at[lasts] - record.at[firsts])
        bank = np.arctan(rate * self._at_pieces(speed, length) / STANDARD_GRAVITY)
        found = relate(record.mean('roll', length), bank, Kind.ANGLE, _LEAST_BANK, 0.6)
        # Who slips turns otherwise: that proves nothing.
        return Relation(Accord.UNFLOWN) if found.verdict is Accord.ASTRAY else found

    def _alpha_against_pitch(self) -> Relation:
        record = self._record
        return relate(
            record['angle_of_attack'], self._alpha(), Kind.ANGLE, _LEAST_ALPHA, 0.5)

    def _angle_of_attack(self) -> None:
        record = self._record
        expected = self._alpha()
        found = relate(record['angle_of_attack'], expected, Kind.ANGLE, _LEAST_ALPHA, 0.5)
        off = float(np.nanmedian(np.append(record['angle_of_attack'] - expected, math.nan))) if (
            np.isfinite(record['angle_of_attack'] - expected).any()) else 0.0
        if found.is_bad:
            self._blame('angle_of_attack', found, 'velocity, wind and attitude')
        elif abs(off) > _ALPHA_WITHIN and found.verdict is Accord.AGREES:
            self._differs(
                'angle_of_attack', 'angle of attack is off velocity, wind and attitude',
                f'within {_ALPHA_WITHIN / DEGREE:g} degrees', f'{off / DEGREE:.1f} degrees')
        else:
            self._tell('angle_of_attack', found, 'velocity, wind and attitude')

    def _climb(self) -> None:
        """Climb against altitude; the pressure, or the flight path, decides between them."""
        record = self._record
        rising = record.slope('altitude', _MOVING)
        climbing = record.mean('climb_rate', _MOVING)
        found = relate(climbing, rising, Kind.SPEED, _LEAST_CLIMB)
        if found.is_bad:
            with np.errstate(invalid='ignore'):
                pressing = relate(
                    rising, -record.slope('static_pressure', _MOVING), Kind.RATIO, 0.0)
            if pressing.verdict is Accord.UNKNOWN and found.verdict is Accord.UNIT:
                self._differs(
                    'climb_rate', 'climb rate contradicts altitude: one of them has another unit',
                    'as altitude', f'{found.factor:.4g} times it')
            elif pressing.verdict is Accord.UNKNOWN or pressing.factor > 0.0 and (
                    found.verdict is not Accord.UNIT or not self._is_astray_by_pressure()):
                self._blame('climb_rate', found, 'altitude')
            else:
                self._blame('altitude', relate(
                    rising, climbing, Kind.LENGTH, 0.5 * _LEAST_CLIMB), 'climb rate')
        else:
            self._tell('climb_rate', found, 'altitude')

    def _is_astray_by_pressure(self) -> bool:
        """Return whether altitude and pressure contradict each other."""
        record = self._record
        expected = np.vectorize(air.pressure_altitude_to_pressure)(record['altitude'])
        ratio = _median(record['static_pressure'] / expected)
        return abs(ratio - 1.0) > _PRESSURE_WITHIN

    def _atmosphere(self) -> None:
        """Pressure and temperature against altitude, within what weather does."""
        record = self._record
        if not np.isfinite(record['altitude']).any():
            return
        height = float(np.nanmedian(record['altitude']))
        pressure = air.pressure_altitude_to_pressure(height)
        ratio = _median(record['static_pressure']) / pressure
        if math.isfinite(ratio):
            if abs(ratio - 1.0) <= _PRESSURE_WITHIN:
                self._seen('static_pressure', 'static pressure fits the altitude')
            elif (found := named(Kind.PRESSURE, ratio)).verdict is Accord.UNIT:
                self._blame('static_pressure', found, 'altitude')
            else:
                self._differs(
                    'static_pressure', 'static pressure does not fit the altitude',
                    f'about {pressure:.0f} Pa', f'{ratio * pressure:.4g}')
                record.drop('static_pressure')
        warmth = _median(record['temperature'])
        usual = air.standard_temperature(height)
        if math.isfinite(warmth):
            if abs(warmth - usual) <= _TEMPERATURE_WITHIN:
                self._seen('temperature', 'temperature fits the altitude')
            else:
                self._differs('temperature', 'temperature does not fit the altitude',
                              f'about {usual:.0f} K', f'{warmth:.0f} K')
                record.drop('temperature')

    def _indicated_airspeed(self) -> None:
        record = self._record
        density = record['static_pressure'] / (air.GAS_CONSTANT * record['temperature'])
        with np.errstate(invalid='ignore'):
            expected = record['true_airspeed'] * np.sqrt(density / air.SEA_LEVEL_DENSITY)
        self._level('airspeed', expected, Kind.SPEED, 'true airspeed and density', 0.2)

    def _wind(self) -> None:
        """Wind against what is left of the velocity over ground without that through the air."""
        record = self._record
        if not np.isfinite(record['wind_east']).any():
            return
        north, east, _ = self._over_ground()
        # Without sideslip: over the flight it is nil.
        alpha = record['angle_of_attack']
        alpha = np.where(np.isfinite(alpha), alpha, 0.0)
        forward = record['true_airspeed'] * np.cos(alpha)
        matrices = record.attitude()
        down = record['true_airspeed'] * np.sin(alpha)
        through = matrices[:, :, 0] * forward[:, None] + matrices[:, :, 2] * down[:, None]
        blown = {'wind_north': north - through[:, 0], 'wind_east': east - through[:, 1]}
        for name, expected in blown.items():
            mean, said = _median(expected), _median(record[name])
            if max(abs(mean), abs(said)) < _LEAST_WIND:
                self._add(CheckResult(
                    STEP, name, Outcome.NOT_SEEN,
                    f'{_said(name)}: too little wind along it to compare',
                    self._source(name).requirement))
            elif abs(mean - said) < max(0.3 * abs(mean), 1.5):
                self._seen(name, f'{_said(name)} fits airspeed and velocity over ground')
            elif abs(mean + said) < max(0.3 * abs(mean), 1.5):
                self._blame(name, Relation(Accord.SIGN, -1.0),
                            'airspeed and velocity over ground')
            else:
                self._blame(name, named(Kind.SPEED, said / mean) if mean else Relation(
                    Accord.ASTRAY), 'airspeed and velocity over ground')

    def _specific_force(self) -> None:
        """Specific force against acceleration and gravity."""
        record = self._record
        firsts, lasts = record.pieces(_SPEEDING)
        if not len(firsts):
            return
        length = record.at[lasts] - record.at[firsts]
        north, east, down = ((part[lasts] - part[firsts]) / length
                             for part in self._over_ground())
        middles = (firsts + lasts) // 2
        matrices = record.attitude()[middles]
        felt = np.einsum('nji,nj->ni', matrices, np.stack(
            [north, east, down - STANDARD_GRAVITY], -1))
        if not self._has_velocity:
            felt = self._felt_by_rates()
        expected = dict(zip(_FORCES, (felt[:, 0], -felt[:, 1], -felt[:, 2]), strict=True))
        for name in _FORCES:
            found = relate(record.mean(name, _SPEEDING), expected[name], Kind.FORCE, _LEAST_FORCE)
            if found.is_bad:
                self._blame(name, found, 'acceleration and gravity')
            else:
                self._tell(name, found, 'acceleration and gravity')

    def _felt_by_rates(self) -> NDArray[np.float64]:
        """
        Return the specific force, body FRD, of an aircraft that flies where its nose points.

        That to the side follows from the sideslip, which nothing shows.
        """
        record = self._record
        speed = record.mean('true_airspeed', _SPEEDING)
        roll, pitch = (record.mean(name, _SPEEDING) for name in ('roll', 'pitch'))
        gravity = STANDARD_GRAVITY
        return np.stack([
            record.slope('true_airspeed', _SPEEDING) + gravity * np.sin(pitch),
            np.full(len(speed), math.nan),
            -speed * record.mean('pitch_rate', _SPEEDING)
            - gravity * np.cos(pitch) * np.cos(roll)], -1)

    # What they have in common.

    @property
    def _has_velocity(self) -> bool:
        """Return whether the velocity over ground is on the wire."""
        return bool(np.isfinite(self._record['velocity_east']).any())

    def _over_ground(self) -> tuple[Series, Series, Series]:
        """Return the velocity over ground, north, east, down; of positions if none is sent."""
        record = self._record
        if self._has_velocity:
            return record['velocity_north'], record['velocity_east'], -record['climb_rate']
        if not np.isfinite(record['latitude']).any():
            nothing = np.full(len(record), math.nan)
            return nothing, nothing, nothing
        # Of the whole flight: the steps of positions are larger than its changes.
        north, east, up = (
            np.interp(record.at, record.at[record.pieces(_MOVING)[0]], record.slope(name, _MOVING))
            for name in ('latitude', 'longitude', 'altitude'))
        return north, east, -up

    def _through_air(self) -> tuple[Series, Series, Series]:
        record = self._record
        north, east, down = self._over_ground()
        return (north - _or_zero(record['wind_north']), east - _or_zero(record['wind_east']),
                down + _or_zero(record['wind_up']))

    def _alpha(self) -> Series:
        """Return the angle of attack that follows from velocity, wind and attitude."""
        forward, _, down = self._record.to_body(*self._through_air())
        return np.arctan2(down, forward)

    def _at_pieces(self, values: Series, seconds: float) -> Series:
        firsts, lasts = self._record.pieces(seconds)
        return 0.5 * (values[firsts] + values[lasts])

    def _level(
        self, name: str, expected: Series, kind: Kind, witness: str, within: float
    ) -> None:
        """Compare a signal by its level: it need not change."""
        got, wanted = _median(self._record[name]), _median(expected)
        if not math.isfinite(got) or not math.isfinite(wanted) or abs(wanted) < 1.0:
            return
        if abs(got / wanted - 1.0) <= within:
            self._seen(name, f'{_said(name)} fits {witness}')
            return
        self._blame(name, Relation(Accord.SIGN, -1.0) if abs(got / wanted + 1.0) <= within
                    else named(kind, got / wanted), witness)

    def _source(self, name: str) -> Source:
        return self._sources.get(name, Source(''))

    def _add(self, finding: CheckResult) -> None:
        source = self._source(finding.subject)
        self.findings.append(replace(
            finding, requirement=source.requirement, wire=source.wire))

    def _seen(self, name: str, sentence: str) -> None:
        self._add(CheckResult(STEP, name, Outcome.SEEN, sentence))

    def _differs(self, name: str, sentence: str, expected: str, got: str) -> None:
        self.bad.add(name)
        self._add(CheckResult(STEP, name, Outcome.DIFFERS, sentence, '', expected, got))

    def _tell(self, name: str, found: Relation, witness: str) -> None:
        """Tell of a signal that is not contradicted."""
        if name in self.bad:
            return
        if found.verdict is Accord.AGREES:
            self._seen(name, f'{_said(name)} fits {witness}')
        elif found.verdict is Accord.UNFLOWN:
            self._add(CheckResult(
                STEP, name, Outcome.NOT_SEEN, f'{_said(name)}: too little of it was flown; '
                f'{_ADVICE.get(name, "fly more of it")}'))

    def _blame(self, name: str, found: Relation, witness: str) -> None:
        """Tell that a signal is wrong, and repair it for what follows."""
        said, source = _said(name), self._source(name)
        where = f' ({source.wire})' if source.wire else ''
        if found.verdict is Accord.SIGN:
            self._differs(name, f'{said} has the other sign{where}', f'the sign of {witness}',
                          'the other one')
        elif found.verdict is Accord.UNIT:
            sent, wanted = found.units
            sign = ', with the other sign' if found.factor < 0.0 else ''
            self._differs(
                name, f'{said} comes in {sent}, where {wanted} are expected{sign}{where}',
                wanted, f'{abs(found.factor):.4g} times as much')
        elif found.verdict is Accord.STILL:
            self._differs(name, f'{said} does not change with {witness}{where}',
                          'a change', 'none')
        else:
            self._differs(
                name, f'{said} does not follow {witness}{where}', f'as {witness}',
                f'{found.factor:.3g} times it' if math.isfinite(found.factor)
                else 'another course')
        if math.isfinite(found.repair):
            self._record.signals[name] = self._record[name] * found.repair
        else:
            self._record.drop(name)


def _said(name: str) -> str:
    return name.replace('_', ' ')


def _or_zero(values: Series) -> Series:
    return np.where(np.isfinite(values), values, 0.0)


def _median(values: Series) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else math.nan


def _degrees(angles: Series) -> str:
    return f'{_median(angles) / DEGREE:.0f} degrees'
