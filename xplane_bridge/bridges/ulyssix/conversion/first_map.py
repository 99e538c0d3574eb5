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

"""A first map, from names and values seen: guesses by common names, to be checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
import json
import re
from typing import NamedTuple

from xplane_bridge.bridges.conversions.topics import topic_names
from xplane_bridge.common.text import counted, two_numbers
from xplane_bridge.common.units import STANDARD_GRAVITY

SURE, LIKELY, GUESSED = 'sure', 'likely', 'guessed'
# As they are listed: what is to be checked first.
_ORDER = (GUESSED, LIKELY, SURE, '')
_TURN = 6.3
_MOST_NAMED = 64


@dataclass(slots=True)
class ObservedParameter:
    """What was seen of one parameter: how many samples, per second, and in which range."""

    name: str
    samples: int = 0
    rate: float = 0.0
    least: float = float('nan')
    most: float = float('nan')

    @property
    def largest(self) -> float:
        """Return the largest magnitude, NaN without samples."""
        return max(abs(self.least), abs(self.most))


# Words that say a quantity, all of those joined by +; the first match counts. A single letter has
# to be the whole name but for its unit.
_QUANTITIES: tuple[tuple[str, str], ...] = (
    ('linear_acceleration_x', 'NX|AX|ACCX|ACC+X|ACCEL+X|F+X|LONG+ACC|LON+ACC'),
    ('linear_acceleration_y', 'NY|AY|ACCY|ACC+Y|ACCEL+Y|F+Y|LAT+ACC'),
    ('linear_acceleration_z', 'NZ|AZ|ACCZ|ACC+Z|ACCEL+Z|F+Z|NORM+ACC|VERT+ACC'),
    ('latitude', 'LAT|LATITUDE'),
    ('longitude', 'LON|LONG|LONGITUDE|LNG'),
    ('altitude_ellipsoid', 'HAE|ALT+ELLIPSOID|ALTITUDE+ELLIPSOID|ELLH'),
    ('altitude_msl', 'ALT|ALTITUDE|MSL|AMSL|HMSL'),
    ('angular_velocity_x', 'P|P+RATE|ROLL+RATE|ROLLRATE|GYRO+X|GX|WX|OMEGA+X'),
    ('angular_velocity_y', 'Q|Q+RATE|PITCH+RATE|PITCHRATE|GYRO+Y|GY|WY|OMEGA+Y'),
    ('angular_velocity_z', 'R|R+RATE|YAW+RATE|YAWRATE|GYRO+Z|GZ|WZ|OMEGA+Z'),
    ('velocity_north', 'VN|V+N|V+NORTH|VEL+N|VEL+NORTH|VNORTH'),
    ('velocity_east', 'VE|V+E|V+EAST|VEL+E|VEL+EAST|VEAST'),
    ('velocity_up', 'VD|V+D|V+DOWN|VEL+D|VEL+DOWN|VDOWN|VU|V+UP|VEL+UP|VUP|VS|ROC|VZ'),
    ('indicated_airspeed', 'IAS|KIAS|CAS|KCAS|VIAS|VCAS|VC|AIRSPEED'),
    ('true_airspeed', 'TAS|KTAS|VTAS'),
    ('angle_of_attack', 'AOA|ALPHA|ALFA'),
    ('sideslip', 'AOS|BETA|SIDESLIP|SLIP'),
    ('dynamic_pressure', 'QC|QBAR|DYNAMIC+PRESSURE|PDYN|P+DYN'),
    ('static_pressure', 'PS|STATIC+PRESSURE|PSTAT|P+STAT|P+STATIC|PSTATIC'),
    ('temperature', 'OAT|SAT|TEMPERATURE|T+STAT'),
    ('density', 'RHO|DENSITY'),
    ('roll', 'ROLL|PHI|BANK'),
    ('pitch', 'PITCH|THETA'),
    ('heading', 'HDG|HEADING|PSI|YAW'),
)
_WORDS = tuple(
    (quantity, tuple(frozenset(one.split('+')) for one in words.split('|')))
    for quantity, words in _QUANTITIES)
# Not the quantities above although their names have such words: of the magnetic north, selected,
# radio or pressure altitude, engines, and so on.
_OTHER = frozenset((
    'MAG', 'SEL', 'CMD', 'REF', 'TARGET', 'AGL', 'RADIO', 'RA', 'RALT', 'PRESS', 'BARO', 'STD',
    'STDDEV', 'SIGMA', 'ERR', 'ERROR', 'STATUS', 'VALID', 'TRIM', 'OIL', 'FUEL', 'ENG', 'EGT',
    'ENGINE', 'GEOCENTRIC', 'CAB', 'CABIN', 'BATT', 'DOT'))
# Units in names, by the last words: as pint spells them.
_UNITS = {
    'DEG': 'deg', 'RAD': 'rad', 'FT': 'ft', 'M': 'm', 'KT': 'kt', 'KTS': 'kt', 'KN': 'kt',
    'G': 'g', 'MPS': 'm/s', 'MS': 'm/s', 'FPM': 'ft/min', 'FPS': 'ft/s', 'KMH': 'km/h',
    'DPS': 'deg/s', 'DEGS': 'deg/s', 'RADS': 'rad/s', 'MS2': 'm/s^2', 'MSS': 'm/s^2',
    'PA': 'Pa', 'HPA': 'hPa', 'MBAR': 'mbar', 'MB': 'mbar', 'INHG': 'inHg', 'PSI': 'psi',
    'PSF': 'psf', 'C': 'degC', 'DEGC': 'degC', 'DEGF': 'degF', 'K': 'K',
}
_PLACE = ('latitude', 'longitude')
_ANGLES = ('angle_of_attack', 'sideslip', 'roll', 'pitch', 'heading')
_KINDS = {
    'altitude_msl': ('ft', 'm'), 'altitude_ellipsoid': ('ft', 'm'),
    **dict.fromkeys(_ANGLES, ('deg', 'rad')),
    **dict.fromkeys(_PLACE, ('deg', 'rad')),
    **dict.fromkeys((f'angular_velocity_{axis}' for axis in 'xyz'),
                    ('deg/s', 'rad/s')),
    **dict.fromkeys((f'linear_acceleration_{axis}' for axis in 'xyz'), ('g', 'm/s^2')),
    **dict.fromkeys(('velocity_north', 'velocity_east', 'velocity_up', 'indicated_airspeed',
                     'true_airspeed'), ('kt', 'm/s', 'ft/s', 'ft/min', 'km/h')),
    **dict.fromkeys(('static_pressure', 'dynamic_pressure'),
                    ('hPa', 'Pa', 'mbar', 'inHg', 'psi', 'psf')),
    'temperature': ('degC', 'K', 'degF'), 'density': ('kg/m^3',),
}


def split_words(name: str) -> list[str]:
    """Return the words of a name in capitals: of altitudeMSL_ft, ALTITUDE, MSL, FT."""
    parts = re.sub(r'(?<=[a-z])(?=[A-Z])', ' ', name)
    return re.findall(r'[A-Z]+[0-9]*', parts.upper())


class Guess(NamedTuple):
    """
    The fields of a map's entry, none if the quantity is unknown; and how sure its unit is.

    SURE: it is in the name. LIKELY: by the range, or by that of its relatives. GUESSED: it is the
    usual one, and ``instead`` is the next.
    """

    fields: dict[str, str | float]
    sure: str = ''
    instead: str = ''


def guess(seen: ObservedParameter) -> Guess:
    """Return what a parameter is by its name and range."""
    words = split_words(seen.name)
    found = set(words)
    if not found & _OTHER:
        plain = found - _UNITS.keys() | {words[0]} if words else found
        for quantity, choices in _WORDS:
            if any(choice <= found and (len(max(choice, key=len)) > 1 or len(choice) > 1
                                        or choice == plain) for choice in choices):
                return _guessed(quantity, words, seen)
    return Guess({})


def _guessed(quantity: str, words: Sequence[str], seen: ObservedParameter) -> Guess:
    unit, sure = _unit(quantity, words, seen)
    fields: dict[str, str | float] = {'quantity': quantity, 'unit': unit}
    if quantity == 'linear_acceleration_z' and seen.least + seen.most > 0.0:
        # Level flight is 1 g: upwards in these axes.
        fields['frame'] = 'flu'
    if quantity == 'velocity_up' and {'VD', 'D', 'DOWN', 'VDOWN'} & set(words):
        fields['scale'] = -1
    return _with_unit(Guess(fields), unit, sure)


def _with_unit(given: Guess, unit: str, sure: str) -> Guess:
    kinds = _KINDS[str(given.fields['quantity'])]
    other = next((each for each in kinds if each != unit), '')
    return Guess({**given.fields, 'unit': unit}, sure, other if sure == GUESSED else '')


def _unit(quantity: str, words: Sequence[str], seen: ObservedParameter) -> tuple[str, str]:
    """Return the unit in a name, else the one that the range suggests, else the usual one."""
    kinds = _KINDS[quantity]
    for word in words[1:]:
        unit = _UNITS.get(word, '')
        unit = f'{unit}/s' if f'{unit}/s' in kinds and unit in ('deg', 'rad') else unit
        if unit in kinds:
            return unit, SURE
    largest = seen.largest
    if quantity in _PLACE:
        return 'deg', LIKELY if largest > 3.2 else GUESSED
    if quantity in _ANGLES:
        is_large = largest > (_TURN if quantity == 'heading' else 1.6)
        return ('deg', LIKELY) if is_large else ('rad', GUESSED)
    if quantity.startswith('angular'):
        return ('rad/s', GUESSED) if largest <= 1.0 else ('deg/s', LIKELY)
    if quantity == 'linear_acceleration_z':
        return ('m/s^2' if largest > 5.0 else 'g'), LIKELY
    if quantity == 'velocity_up' and {'VS', 'ROC'} & set(words):
        return 'ft/min', GUESSED
    if quantity == 'temperature':
        return ('K', LIKELY) if seen.least > 150.0 else ('degC', GUESSED)
    if quantity == 'static_pressure':
        return ('Pa' if largest > 1200.0 else 'hPa' if largest > 50.0 else
                'inHg' if largest > 15.0 else 'psi'), LIKELY
    return kinds[0], GUESSED if len(kinds) > 1 else LIKELY


def guess_all(seen: Sequence[ObservedParameter]) -> list[Guess]:
    """Return what the parameters of one publisher are, which speaks of one kind in one unit."""
    guesses = [guess(one) for one in seen]
    units = {(one.fields['unit'], one.sure) for one in guesses if one.fields}
    # Of one kind: a value that is small says little, a large one speaks for all of them.
    for large, small in (('deg', 'rad'), ('deg/s', 'rad/s'), ('m/s^2', 'g')):
        if any(one.fields.get('unit') == large and one.fields['quantity'] not in _PLACE
               for one in guesses):
            guesses = [_with_unit(one, large, LIKELY) if one.fields.get('unit') == small and (
                one.sure != SURE) else one for one in guesses]
    if any(one.fields.get('quantity') == 'linear_acceleration_z' for one in guesses):
        guesses = [_with_unit(one, str(one.fields['unit']), LIKELY) if str(
            one.fields.get('quantity')).startswith('linear') and one.sure == GUESSED else one
            for one in guesses]
    # Who measures these in SI does so with heights and speeds.
    if units & {(unit, sure) for unit in ('m/s^2', 'K', 'Pa') for sure in (SURE, LIKELY)}:
        for usual, metric in (('ft', 'm'), ('kt', 'm/s'), ('ft/min', 'm/s'), ('hPa', 'Pa')):
            guesses = [_with_unit(one, metric, GUESSED) if one.fields.get('unit') == usual and (
                one.sure == GUESSED) else one for one in guesses]
    return guesses


def first_map(seen: Sequence[ObservedParameter], source: str) -> str:
    """Return the text of a map with all parameters, those guessed with quantity and unit."""
    return '\n'.join(_lines(seen, source)) + '\n'


def summary(seen: Sequence[ObservedParameter]) -> str:
    """Return how many of the parameters are known how well."""
    guesses = guess_all(seen)
    counts = {sure: sum(one.sure == sure for one in guesses) for sure in (SURE, LIKELY, GUESSED)}
    known = ', '.join(f'{count} {sure}' for sure, count in counts.items())
    return (f'{counted(len(seen), "parameter")}: of quantity and unit {known}, '
            f'{sum(not one.fields for one in guesses)} unknown'
            + (f'; check those that say "{GUESSED}"' if counts[GUESSED] else ''))


def _lines(seen: Sequence[ObservedParameter], source: str) -> Iterator[str]:
    guesses = guess_all(seen)
    yield f'# A first map, from {_plain(source)}:'
    yield f'# {summary(seen)}.'
    yield '#'
    yield '# Behind each: how sure its unit is; least .. largest value seen, samples per second.'
    yield f'#   {SURE}: the unit is in the name      {LIKELY}: by the range of values'
    yield f'#   {GUESSED}: it may as well be the other unit, so compare it with a value you know'
    yield '# Signs and axes are guessed too: docs/reference/ulyssix_map.md says which are meant.'
    yield ''
    yield '# Axes of angular velocities and accelerations: frd (forward, right, down) or flu.'
    yield 'frame: frd'
    yield ''
    yield 'parameters:'
    heads = [f'  {json.dumps(one.name, ensure_ascii=False)}: {_flow(guess.fields)}'
             for one, guess in zip(seen, guesses, strict=True)]
    width = min(max(map(len, heads), default=0), _MOST_NAMED)
    order = sorted(range(len(seen)), key=lambda n: _ORDER.index(guesses[n].sure))
    for n in order:
        one = guesses[n]
        sure = f'{one.sure}, or {one.instead}:' if one.instead else f'{one.sure}:' * bool(one.sure)
        yield f'{heads[n]:{width}}  # {f"{sure:20}" if sure else ""}{_range(seen[n])}'
    yield ''
    yield '# Computed from parameters, each in the unit of its entry, on samples/<name>.'
    yield from _example(seen, guesses)
    yield ''
    yield '# How often fix, imu/data and the others are published: as the slowest parameter in'
    yield '# them, or interpolated at a rate in Hz: {interpolated: 50}.'
    yield 'common: {rate: slowest}'


def _example(seen: Sequence[ObservedParameter], guesses: Sequence[Guess]) -> Iterator[str]:
    """Yield a derived parameter of those that are there, as a comment: the load factor."""
    topics = dict(zip((one.name for one in seen), topic_names([one.name for one in seen]),
                      strict=True))
    found = {str(guess.fields['quantity']): (topics[one.name], guess.fields['unit'])
             for one, guess in zip(reversed(seen), reversed(guesses), strict=True) if guess.fields}
    axes = [found[name] for axis in 'xyz' if (name := f'linear_acceleration_{axis}') in found]
    if len(axes) < 3 or len({unit for _, unit in axes}) > 1:
        return
    root = f'sqrt({" + ".join(f"{topic}**2" for topic, _ in axes)})'
    if axes[0][1] == 'm/s^2':
        root += f' / {STANDARD_GRAVITY}'
    yield '# derived:'
    yield f'#   G_TOTAL: {{expression: "{root}", unit: g, limits: [null, 6]}}'


def _flow(fields: dict[str, str | float]) -> str:
    return '{' + ', '.join(f'{name}: {value}' for name, value in fields.items()) + '}'


def _range(seen: ObservedParameter) -> str:
    if not seen.samples:
        return 'no sample seen'
    rate = f', {seen.rate:.4g}/s' if seen.rate else ''
    return f'{" .. ".join(two_numbers(seen.least, seen.most))}{rate}'


def _plain(text: str) -> str:
    return re.sub(r'[^\x20-\x7e]', '?', text)
