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

"""Flights in logs of PX4 and ArduPilot, by the maps that are shipped."""

from dataclasses import asdict
import json

import log_files
from log_files import flash_format, message, ulog_data, ulog_format, ulog_topic
import numpy as np
import pytest
import synthetic

pytest.importorskip('scipy', reason='the synthetic aircraft need scipy')
pytest.importorskip('pint', reason='pint is not installed')

from xplane_bridge.bridges.conversions.axes import euler_to_quaternion
from xplane_bridge.commands import identify
from xplane_bridge.laboratory.identification.motion.signals import IdentificationError
from xplane_bridge.laboratory.identification.reading.tables import load_map, MAPS, read_table

BOOT = 30.0


def states():
    """Return a synthetic flight, in the order of the signals' names."""
    flight = synthetic.longitudinal().measured
    return flight, [dict(zip(flight.values, row, strict=True))
                    for row in np.array([*flight.values.values()]).T.tolist()]


def a_ulog(flight, rows):
    """Return the flight in a ULog: northwards, with a tailwind of 3 m/s."""
    topics = {
        'vehicle_attitude': 'float[4] q', 'vehicle_angular_velocity': 'float[3] xyz',
        'vehicle_acceleration': 'float[3] xyz', 'airspeed_validated': 'float true_airspeed_m_s',
        'vehicle_air_data': 'float rho', 'vehicle_torque_setpoint': 'float[3] xyz',
        'vehicle_local_position': 'float vx;float vy;float vz',
        'wind': 'float windspeed_north;float windspeed_east'}
    out = [log_files.ulog_header(), log_files.ulog_flags()]
    out += [ulog_format(name, f'uint64_t timestamp;{fields};') for name, fields in topics.items()]
    out += [ulog_topic(number, name) for number, name in enumerate(topics)]
    for time, v in zip(flight.times, rows, strict=True):
        speed, alpha, pitch = v['true_airspeed'], v['angle_of_attack'], v['pitch']
        values = (
            euler_to_quaternion(0.0, pitch, 0.0), (v['roll_rate'], v['pitch_rate'], v['yaw_rate']),
            [v[f'specific_force_{axis}'] for axis in 'xyz'], (speed,), (v['density'],),
            (v['aileron'], v['elevator'], v['rudder']),
            (speed * np.cos(pitch - alpha) + 3.0, 0.0, -speed * np.sin(pitch - alpha)),
            (3.0, 0.0))
        out += [ulog_data(number, f'Q{len(one)}f', round(1e6 * (BOOT + time)), *one)
                for number, one in enumerate(values)]
    return b''.join(out)


def a_flash_log(flight, rows):
    """Return the flight in a dataflash log, each message a millisecond after the other."""
    kinds = {
        'ATT': ('fff', 'Roll,Pitch,Yaw', lambda v: (*np.degrees([v['roll'], v['pitch']]), 0.0)),
        'IMU': ('Bffffff', 'I,GyrX,GyrY,GyrZ,AccX,AccY,AccZ', lambda v: (
            0, v['roll_rate'], v['pitch_rate'], v['yaw_rate'], *(
                v[f'specific_force_{axis}'] for axis in 'xyz'))),
        'AOA': ('ff', 'AOA,SSA', lambda v: np.degrees([v['angle_of_attack'], v['sideslip']])),
        'ARSP': ('f', 'Airspeed', lambda v: (v['true_airspeed'],)),
        'AETR': ('fff', 'Ail,Elev,Rudd', lambda v: (
            4500 * v['aileron'], 4500 * v['elevator'], 4500 * v['rudder'])),
        'RCOU': ('H', 'C2', lambda v: (round(1500 + 500 * v['elevator']),))}
    out = [log_files.flash_beginning()]
    out += [flash_format(number, name, f'Q{letters}', f'TimeUS,{fields}')
            for number, (name, (letters, fields, _)) in enumerate(kinds.items(), 1)]
    out.append(log_files.flash_units(1, 'sddd', 'F000'))
    for time, v in zip(flight.times, rows, strict=True):
        out += [message(number, f'Q{letters}', round(1e6 * (BOOT + time)), *find(v))
                for number, (letters, _, find) in enumerate(kinds.values(), 1)]
    return b''.join(out)


@pytest.mark.parametrize(('ending', 'make'), [('ulg', a_ulog), ('bin', a_flash_log)])
def test_a_log_has_the_signals_that_were_flown(tmp_path, ending, make):
    flight, rows = states()
    path = tmp_path / f'flight.{ending}'
    path.write_bytes(make(flight, rows))
    found = read_table(path)
    np.testing.assert_allclose(found.times, flight.times, atol=2e-6)
    for name, values in flight.values.items():
        if name in found.values:
            np.testing.assert_allclose(
                found.values[name], 1.225 if ending == 'bin' and name == 'density' else values,
                atol=3e-5, err_msg=name)
    assert {'roll', 'sideslip', 'density', 'elevator'} <= {*found.values}
    assert not found.cut


def test_identify_reads_a_ulog(tmp_path, capsys):
    path = tmp_path / 'flight.ulg'
    path.write_bytes(a_ulog(*states())[:-1])
    airframe = tmp_path / 'airframe.yaml'
    airframe.write_text(json.dumps(asdict(synthetic.AIRFRAME)))
    assert identify.main([str(path), '--airframe', str(airframe), '--no-pictures']) == 0
    out, errors = capsys.readouterr()
    assert 'C_m_delta_e' in out
    assert 'it is cut short' in errors


def test_a_servo_has_an_offset(tmp_path):
    flight, rows = states()
    path, own = tmp_path / 'flight.bin', tmp_path / 'map.yaml'
    path.write_bytes(a_flash_log(flight, rows))
    own.write_text('\n'.join(
        'elevator: {column: RCOU.C2, offset: 1500, scale: 0.002}' if line.startswith('elevator')
        else line for line in MAPS['.bin'].read_text().splitlines()))
    found = read_table(path, load_map(str(own)))
    np.testing.assert_allclose(found.values['elevator'], flight.values['elevator'], atol=1.01e-3)


@pytest.mark.parametrize(('line', 'said'), [
    ('elevator: {column: RCOU.C9}', 'there is no column .RCOU.C9. for elevator'),
    ('time: {column: IMU.GyrX}', 'expected one time'),
    ('time: {column: NONE.time}', "there is no column 'NONE.time'")])
def test_a_map_that_does_not_fit_a_log(tmp_path, line, said):
    path, own = tmp_path / 'flight.bin', tmp_path / 'map.yaml'
    path.write_bytes(a_flash_log(*states()))
    own.write_text('\n'.join(
        line if one.startswith(line.partition(':')[0] + ':') else one
        for one in MAPS['.bin'].read_text().splitlines()))
    with pytest.raises(IdentificationError, match=said):
        read_table(path, load_map(str(own)))
