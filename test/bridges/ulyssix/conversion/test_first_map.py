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

"""``ulyssix map``: what is seen in a capture becomes a map that can be read."""

from argparse import ArgumentParser

import numpy as np
import pytest

pytest.importorskip('pint', reason='units are converted by pint')

from captures import pcap

from xplane_bridge.bridges.ulyssix import conversion as maps
from xplane_bridge.bridges.ulyssix import protocol as ulyssix
from xplane_bridge.bridges.ulyssix.conversion.first_map import (
    first_map,
    guess,
    guess_all,
    ObservedParameter,
)
from xplane_bridge.laboratory.export.ulyssix import map as ulyssix_map

BEGIN = 1_700_000_000
SENDER, RECEIVER = ('10.0.0.1', 4000), ('10.0.0.2', 5000)
TIME = ulyssix.PacketTime(318, 22, 13, 20, 0, ulyssix.WordOrder.FIRST_WORD_HIGH)
SINCE = 317 * 86400 + 22 * 3600 + 13 * 60 + 20
# Of each: the least and the largest value.
VALUES = {
    'GPS_LAT': (47.1, 47.2), 'GPS Long (deg)': (8.5, 8.6), 'ALT_GPS': (900.0, 12000.0),
    'NZ': (0.5, 2.5), 'Eng 1/RPM (%)': (98.0, 99.0), 'OAT_degC': (-12.0, 15.0), 'P': (-30.0, 20.0),
    'höhe': (1.0, float('nan')), 'HDG_MAG': (0.0, 360.0),
}


@pytest.fixture
def capture(tmp_path):
    """Return a function that writes a capture of two packets, with or without names."""
    def write(names):
        path = tmp_path / 'flight.pcap'
        packets = [
            ulyssix.encode(ulyssix.data_packet(
                n, 9 * (n + 1), TIME, [[pair[n]] for pair in VALUES.values()],
                [[SINCE + n / 10]] * len(VALUES), names=list(VALUES) if names else None))
            for n in range(2)]
        path.write_bytes(pcap(*((BEGIN + n / 10, SENDER, RECEIVER, data)
                                for n, data in enumerate(packets))))
        return str(path)
    return write


def run(*arguments):
    parser = ArgumentParser()
    ulyssix_map.add_arguments(parser)
    return ulyssix_map.run(parser.parse_args(list(arguments)))


def test_a_capture_gives_a_map_that_is_read(capture, tmp_path, capsys):
    output = tmp_path / 'map.yaml'
    assert run('--from', capture(True), '--port', '5000', '--output', str(output)) == 0
    text = output.read_text(encoding='utf-8')
    assert '"ALT_GPS": {quantity: altitude_msl, unit: ft}' in text
    assert '# guessed, or m:      900 .. 12000, 10/s' in text
    assert '# sure:               -12 .. 15, 10/s' in text
    # What is to be checked comes first, what is unknown last.
    assert text.index('# guessed, or') < text.index('# likely: ') < text.index('# sure: ') < (
        text.index('"höhe": {}'))
    assert '9 parameters: of quantity and unit 2 sure, 3 likely, 1 guessed, 3 unknown; check' in (
        capsys.readouterr().out)
    assert '"höhe": {}' in text
    given = maps.load(str(output))
    assert {one.pattern for one in given.parameters} == VALUES.keys()
    entry = given.entry('NZ')
    assert (entry.quantity, entry.symbol, entry.frame) == ('linear_acceleration_z', 'g', 'flu')
    assert given.quantities == {
        'latitude', 'longitude', 'altitude_msl', 'linear_acceleration_z', 'temperature',
        'angular_velocity_x'}
    # It is not overwritten.
    assert run('--from', capture(True), '--output', str(output)) == 2
    assert 'exists; --force overwrites it' in capsys.readouterr().err


def test_without_names_they_are_asked_for(capture, capsys):
    path = capture(False)
    assert run('--from', path) == 2
    assert 'packets have no names: give them in order with --names; they have 9 parameters' in (
        capsys.readouterr().err)
    assert run('--from', path, '--names', *(f'N{n}' for n in range(9))) == 0
    assert '"N8": {}' in capsys.readouterr().out
    assert run('--from', path, '--port', '7') == 2
    assert 'flight.pcap: there is no Ulyssix packet, of that --port and --sender' in (
        capsys.readouterr().err)


def test_of_two_publishers_one_is_selected(tmp_path, capsys):
    path = tmp_path / 'flight.pcap'
    path.write_bytes(pcap(*(
        (BEGIN + n / 10, (host, 4000), RECEIVER, ulyssix.encode(ulyssix.data_packet(
            first + n, n + 1, TIME, [[n + first]], [[SINCE + n / 10]], names=['ALT_FT'])))
        for n in range(5) for host, first in (('10.0.0.1', 0), ('10.0.0.3', 5000)))))
    assert run('--from', str(path)) == 1
    out, err = capsys.readouterr()
    assert '0 .. 5004' in out
    assert err == (
        'ulyssix map: 2 senders are mixed: 10.0.0.1:4000 (5 packets, 0 lost) and 10.0.0.3:4000 '
        '(5 packets, 0 lost); for a map of one, give --sender 10.0.0.1\n')
    assert run('--from', str(path), '--sender', '10.0.0.1') == 0
    assert '0 .. 4' in capsys.readouterr().out


@pytest.mark.parametrize(('name', 'span', 'fields', 'sure'), [
    ('altitudeMSL_m', (0, 9), {'quantity': 'altitude_msl', 'unit': 'm'}, 'sure'),
    ('ALT', (0, 9), {'quantity': 'altitude_msl', 'unit': 'ft'}, 'guessed or m'),
    ('KIAS', (0, 90), {'quantity': 'indicated_airspeed', 'unit': 'kt'}, 'guessed or m/s'),
    ('roll_rate_rad', (0, 90), {'quantity': 'angular_velocity_x', 'unit': 'rad/s'}, 'sure'),
    ('q', (0, .5), {'quantity': 'angular_velocity_y', 'unit': 'rad/s'}, 'guessed or deg/s'),
    ('q', (0, 5), {'quantity': 'angular_velocity_y', 'unit': 'deg/s'}, 'likely'),
    ('P_STAT', (900, 1013), {'quantity': 'static_pressure', 'unit': 'hPa'}, 'likely'),
    ('psi', (0, 6.2), {'quantity': 'heading', 'unit': 'rad'}, 'guessed or deg'),
    ('f_z', (-12, -8), {'quantity': 'linear_acceleration_z', 'unit': 'm/s^2'}, 'likely'),
    ('v_down', (-1, 1), {'quantity': 'velocity_up', 'unit': 'kt', 'scale': -1}, 'guessed or m/s'),
    ('LONG_ACC_G', (-1, 1), {'quantity': 'linear_acceleration_x', 'unit': 'g'}, 'sure'),
    ('FUEL_P', (0, 9), {}, ''), ('pitch_trim', (0, 9), {}, ''), ('R2', (0, 9), {}, ''),
    ('#', (0, 1), {}, ''),
])
def test_common_names_are_guessed_and_how_sure(name, span, fields, sure):
    found = guess(ObservedParameter(name, 2, 1.0, *map(np.float64, span)))
    assert found.fields == fields
    assert ' or '.join(filter(None, (found.sure, found.instead))) == sure


# As simulation/peers/ulyssix/publisher.py sends them: SI, which no name says.
IN_SI = {'lat_deg': (47.4, 47.4), 'altitude_msl': (1499.9982, 1500.0021), 'psi': (1.57, 1.571),
         'f_x': (0.06, 0.07), 'f_y': (-.1, 0.1), 'f_z': (-9.9, -9.7), 'tas': (55.1, 55.3),
         'v_down': (-.02, .01), 'temperature': (278.4, 278.4)}
IN_FEET = {'ALT': (900, 12000), 'TAS': (55.0, 155.0), 'PHI': (-1.5, 1.5), 'PSI': (0, 359),
           'NX': (0.1, 0.2), 'NY': (0, 0.1), 'NZ': (0.9, 1.4)}


def seen(spans):
    return [ObservedParameter(name, 2, 1.0, *span) for name, span in spans.items()]


def test_one_publisher_speaks_of_one_kind_in_one_unit():
    found = {one.name: each for one, each in zip(
        seen(IN_SI), guess_all(seen(IN_SI)), strict=True)}
    assert {name: one.fields['unit'] for name, one in found.items()} == {
        'lat_deg': 'deg', 'altitude_msl': 'm', 'psi': 'rad', 'f_x': 'm/s^2', 'f_y': 'm/s^2',
        'f_z': 'm/s^2', 'tas': 'm/s', 'v_down': 'm/s', 'temperature': 'K'}
    assert (found['altitude_msl'].sure, found['altitude_msl'].instead) == ('guessed', 'ft')
    assert (found['tas'].sure, found['f_x'].sure) == ('guessed', 'likely')
    units = [(one.fields['unit'], one.sure) for one in guess_all(seen(IN_FEET))]
    assert units == [('ft', 'guessed'), ('kt', 'guessed'), ('deg', 'likely'), ('deg', 'likely'),
                     ('g', 'likely'), ('g', 'likely'), ('g', 'likely')]


@pytest.mark.parametrize(('spans', 'expression'), [
    (IN_SI, 'sqrt(f_x**2 + f_y**2 + f_z**2) / 9.80665'),
    (IN_FEET, 'sqrt(NX**2 + NY**2 + NZ**2)')])
def test_the_example_in_the_map_is_right_for_its_parameters(spans, expression):
    text = first_map(seen(spans), 'flight.pcap')
    assert '# derived:\n#   G_TOTAL:' in text
    given = maps.parse(text.replace('# derived:\n#  ', 'derived:\n '), 'map.yaml')
    assert given.derived[0].expression.text == expression
    assert given.derived[0].symbol == 'g'


def test_without_three_accelerations_there_is_no_example():
    assert 'derived:' not in first_map(seen({'ALT': (0, 9)}), 'flight.pcap')


@pytest.mark.parametrize(('name', 'least', 'most', 'unit', 'sure'), [
    ('LAT', -3.1, 3.2, 'deg', 'guessed'), ('LAT', -3.3, 3.0, 'deg', 'likely'),
    ('ROLL', -1.6, 1.5, 'rad', 'guessed'), ('ROLL', -1.7, 1.5, 'deg', 'likely'),
    ('HDG', 0.0, 6.3, 'rad', 'guessed'), ('HDG', 0.0, 6.4, 'deg', 'likely'),
    ('P', -1.0, 0.5, 'rad/s', 'guessed'), ('P', -1.1, 0.5, 'deg/s', 'likely'),
    ('NZ', -1.0, 5.0, 'g', 'likely'), ('NZ', -1.0, 5.1, 'm/s^2', 'likely'),
    ('VS', -2.0, 3.0, 'ft/min', 'guessed'), ('VD', -2.0, 3.0, 'kt', 'guessed'),
    ('OAT', 151.0, 290.0, 'K', 'likely'), ('OAT', 150.0, 290.0, 'degC', 'guessed'),
    ('PS', 300.0, 1201.0, 'Pa', 'likely'), ('PS', 51.0, 1200.0, 'hPa', 'likely'),
    ('PS', 16.0, 50.0, 'inHg', 'likely'), ('PS', 3.0, 15.0, 'psi', 'likely'),
    ('RHO', 0.4, 1.2, 'kg/m^3', 'likely'), ('ALT_M', 0.0, 1.0, 'm', 'sure'),
    ('P_RATE_RAD', 0.0, 90.0, 'rad/s', 'sure'), ('altitudeMSL_ft', 0.0, 1.0, 'ft', 'sure')])
def test_a_unit_is_that_of_the_name_or_of_the_range(name, least, most, unit, sure):
    found = guess(ObservedParameter(name, least=least, most=most))
    assert (found.fields['unit'], found.sure) == (unit, sure)
    assert bool(found.instead) is (sure == 'guessed')


@pytest.mark.parametrize(('name', 'quantity'), [
    ('P', 'angular_velocity_x'), ('P_DEG', 'angular_velocity_x'), ('P_LEFT', None),
    ('ALT_RADIO', None), ('VD', 'velocity_up'), ('Eng Roll', None), ('', None), ('ft', None)])
def test_a_letter_is_a_whole_name_and_some_words_are_of_others(name, quantity):
    found = guess(ObservedParameter(name, least=0.0, most=1.0))
    assert found.fields.get('quantity') == quantity
    assert ('scale' in found.fields) is (name == 'VD')


@pytest.mark.parametrize(('least', 'most', 'frame'), [(-1.0, 2.0, 'flu'), (-2.0, 1.0, None),
                                                      (-1.0, 1.0, None)])
def test_level_flight_says_which_way_is_up(least, most, frame):
    assert guess(ObservedParameter('NZ', least=least, most=most)).fields.get('frame') == frame


def test_a_map_says_where_it_is_from_in_plain_letters():
    text = first_map(seen({'ALT': (0, 9)}), 'flug\nhöhe.pcap')
    assert text.startswith('# A first map, from flug?h?he.pcap:\n')
    assert text.endswith('common: {rate: slowest}\n')
