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

"""X-Plane's flight data recorder files, written and read."""

import csv
import math

from log_files import FDR
import numpy as np
import pytest

from xplane_bridge.bridges.conversions.axes import euler_to_quaternion, ned_frd_to_enu_flu
from xplane_bridge.bridges.conversions.geoid import usual_undulation
from xplane_bridge.commands.export import main
from xplane_bridge.common import optional
from xplane_bridge.laboratory.export import fdr as writer
from xplane_bridge.laboratory.export.tables import RowBatch, TableColumn, TIME_COLUMNS
from xplane_bridge.laboratory.flights.logs import fdr
from xplane_bridge.laboratory.sensors.gnss import Fix
from xplane_bridge.laboratory.sensors.magnetometer import EarthField

ANGLES = ('roll', 'pitch', 'yaw', 'heading')
NOON = 1_750_075_200.0


def batch(table, times, stamps, columns, units):
    return RowBatch(table, 'test', (*TIME_COLUMNS, *(
        TableColumn(name, unit=units if name.lower() in ANGLES else '') for name in columns)), [
            times, stamps, stamps, *columns.values()])


def written(tmp_path, batches, says=()):
    """Write a flight; return what is read of it, by column, and its stamps."""
    path, said = tmp_path / 'flight.fdr', []
    writer.write_fdr(path, iter(batches), {'made_by': 'test', 'source': 'flight.mcap'},
                     said.append)
    assert len(said) == len(says)
    assert all(text in one for one, text in zip(said, says, strict=True))
    log = fdr.read(path)
    assert not log.faults
    (stamps, values), = log.tables[0].blocks()
    return {'stamp': stamps, **{
        one.name: found for one, found in zip(log.tables[0].columns, values, strict=True)}}


def declination(latitude, longitude, altitude):
    pytest.importorskip('pygeomag', reason='pygeomag is not installed')
    east, north, _ = EarthField(2025.4562)(Fix(latitude, longitude, altitude))
    return math.degrees(math.atan2(east, north))


def test_a_flight_in_core_has_altitude_above_sea_level_and_magnetic_heading(tmp_path):
    pytest.importorskip('pygeomag', reason='pygeomag is not installed')
    stamps = [NOON, NOON + 0.25]
    found = written(tmp_path, [batch('flight', [0.0, 0.25], stamps, {
        'longitude': [8.5, 8.6], 'latitude': [47.25, 47.26], 'altitude': [500.0, 510.0],
        'roll': [0.1, -0.2], 'pitch': [0.05, 0.06], 'heading': [0.02, 3.0]}, 'rad')])
    np.testing.assert_allclose(found['stamp'], stamps, atol=1e-6)
    np.testing.assert_allclose(found['longitude'], [8.5, 8.6], atol=1e-9)
    height = 500.0 - usual_undulation().height_m(47.25, 8.5)
    np.testing.assert_allclose(found['altitude'][0], height / 0.3048, atol=1e-3)
    np.testing.assert_allclose(found['roll'], np.degrees([0.1, -0.2]), atol=1e-4)
    np.testing.assert_allclose(found['pitch'], np.degrees([0.05, 0.06]), atol=1e-4)
    east = declination(47.25, 8.5, height)
    assert 2.0 < east < 4.5
    np.testing.assert_allclose(
        found['magnetic_heading'][0], (math.degrees(0.02) - east) % 360.0, atol=2e-3)


def test_a_recording_has_a_quaternion_of_other_axes(tmp_path):
    pytest.importorskip('pygeomag', reason='pygeomag is not installed')
    # Right wing down 20 deg, nose up 10 deg, to the south-east.
    angles = np.radians([20.0, 10.0, 135.0])
    w, x, y, z = ned_frd_to_enu_flu(euler_to_quaternion(*angles))
    at = [NOON, NOON + 1.0, NOON + 2.0]
    found = written(tmp_path, [
        batch('uav/fix', [0.0, 2.0], [at[0], at[2]], {
            'longitude': [8.0, 8.2], 'latitude': [47.0, 47.2], 'altitude': [300.0, 310.0]}, ''),
        batch('uav/imu/data', [0.0, 1.0, 2.0], at, {
            'orientation.x': [x] * 3, 'orientation.y': [y] * 3, 'orientation.z': [z] * 3,
            'orientation.w': [w] * 3}, '')])
    np.testing.assert_allclose(found['longitude'], [8.0, 8.1, 8.2], atol=1e-8)
    np.testing.assert_allclose(found['roll'], 20.0, atol=1e-3)
    np.testing.assert_allclose(found['pitch'], 10.0, atol=1e-3)
    np.testing.assert_allclose(
        found['magnetic_heading'][0], 135.0 - declination(47.0, 8.0, 250.0), atol=2e-2)


@pytest.mark.parametrize(('position', 'attitude'), [
    (('vehicle_global_position', {'lon': [8.0], 'lat': [47.0], 'alt': [304.8]}),
     ('vehicle_attitude', dict(zip((f'q[{at}]' for at in range(4)), (
         [one] for one in euler_to_quaternion(*np.radians([20.0, 10.0, 135.0]))),
         strict=True)))),
    (('POS', {'Lng': [8.0], 'Lat': [47.0], 'Alt': [304.8]}),
     ('ATT', {'Roll': [20.0], 'Pitch': [10.0], 'Yaw': [135.0]}))])
def test_logs_have_altitude_above_sea_level(tmp_path, position, attitude):
    pytest.importorskip('pygeomag', reason='pygeomag is not installed')
    found = written(tmp_path, [
        batch(position[0], [0.0], [30.0], position[1], ''),
        batch(attitude[0], [0.0], [30.0], attitude[1], 'deg')])
    assert found['altitude'][0] == pytest.approx(1000.0)
    assert (found['roll'][0], found['pitch'][0]) == pytest.approx((20.0, 10.0), abs=1e-3)
    # On the clock of the log.
    assert found['stamp'][0] == pytest.approx(30.0)


def test_without_the_magnetic_model_the_heading_is_true_and_said_to_be(tmp_path, monkeypatch):
    def missing(*arguments, **options):
        raise optional.missing('a magnetometer', 'pygeomag', extra='sensors')
    monkeypatch.setattr(writer, 'EarthField', missing)
    found = written(tmp_path, [batch('POS', [0.0], [1.0], {
        'Lng': [8.0], 'Lat': [47.0], 'Alt': [300.0]}, ''), batch('ATT', [0.0], [1.0], {
            'Roll': [0.0], 'Pitch': [0.0], 'Yaw': [90.0]}, 'deg')], ['the heading is true'])
    assert found['magnetic_heading'][0] == 90.0


def test_what_has_no_track_is_refused(tmp_path):
    with pytest.raises(ValueError, match='no position with an attitude'):
        writer.write_fdr(tmp_path / 'f.fdr', iter([
            batch('ATT', [0.0], [1.0], {'Roll': [1.0]}, '')]), {}, print)


def exported(tmp_path, text, code=0):
    path = tmp_path / 'given.fdr'
    path.write_text(text)
    out = tmp_path / 'out.csv'
    assert main([str(path), '--to', 'csv', '--force', '--output', str(out)]) == code
    if code == 2:
        return None
    with (out / 'flight.csv').open() as stream:
        names, units, *rows = csv.reader(stream)
    return dict(zip(names, zip(*rows, strict=True), strict=True)), dict(
        zip(names, units, strict=True))


def test_version_4_is_read_with_its_datarefs_and_beyond_midnight(tmp_path):
    found, units = exported(tmp_path, FDR)
    assert [float(one) for one in found['time']] == [0.0, 1.0]
    assert float(found['stamp'][0]) == NOON + 43_199.5
    assert found['altitude'] == ('1000.0', '1010.0')
    assert (units['altitude'], units['magnetic_heading']) == ('ft', 'deg')
    assert found['sim/cockpit2/gauges/indicators/airspeed_kts_pilot'] == ('100.0', '101.0')
    # In the unit of the dataref.
    assert found['sim/flightmodel/weight/m_fuel[0]'] == ('4.0', '3.5')


def test_an_fdr_file_becomes_one_again(tmp_path):
    path, again = tmp_path / 'given.fdr', tmp_path / 'again.fdr'
    path.write_text(FDR)
    assert main([str(path), '--to', 'fdr', '--output', str(again)]) == 0
    before, after = (next(fdr.read(one).tables[0].blocks())[1] for one in (path, again))
    np.testing.assert_allclose(np.array(after), np.array(before[:6]), atol=1e-3)


def test_version_3_has_numbered_values(tmp_path):
    found, _ = exported(tmp_path, 'I\r\n3\r\nACFT,a.acf,\r\nDATA, 0, 15, -118.3, 34.5,\r\n'
                        'DATA, 0.5, 16, -118.4, 34.6,\r\n')
    assert found['time'] == ('0.0', '0.5')
    assert found['value[2]'] == ('-118.3', '-118.4')


@pytest.mark.parametrize(('text', 'code', 'said'), [
    ('', 2, 'expected A or I, and in the next line its version'),
    ('A\n5\n', 2, 'expected A or I'),
    ('A\n4\nTAIL, N1\n', 2, 'no messages that can be read'),
    (FDR[:-30], 1, 'is no row of 9 numbers'),
    (FDR.replace('06/16/2025', '16/06/2025'), 1, 'has no date, expected month/day/year'),
    (FDR + 'DREF, sim/late 1.0\n', 1, 'no dataref with a factor before the rows')])
def test_what_is_no_fdr_file(tmp_path, capsys, text, code, said):
    exported(tmp_path, text, code=code)
    assert said in capsys.readouterr().err
