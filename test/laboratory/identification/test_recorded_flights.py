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

"""Flights from recordings: axes, times and topics of other rates, and what the experiment says."""

from dataclasses import replace
import json
from pathlib import Path

import numpy as np
import pytest
import synthetic

pytest.importorskip('mcap', reason='mcap is not installed')
pytest.importorskip('rosbags', reason='rosbags is not installed')
pytest.importorskip('scipy', reason='the synthetic aircraft need scipy')

from mcap.writer import Writer
from rosbags.typesys import get_types_from_msg, get_typestore, Stores

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.laboratory.flights.recordings.topics import RecordingError
from xplane_bridge.laboratory.identification.motion.signals import (
    DEFLECTIONS,
    IdentificationError,
    Manoeuvre,
)
from xplane_bridge.laboratory.identification.reading.topics import read_recording

ROOT = Path(__file__).parents[3]
BEGIN = 1_700_000_000.0
ELEVATOR, AILERON, RUDDER = 1, 2, 4


class Recorder:
    """Writes a synthetic flight as record would."""

    def __init__(self, stream):
        self.store = get_typestore(Stores.ROS2_JAZZY)
        self._texts = {
            f'xplane_bridge/msg/{name}': (ROOT / 'msg' / f'{name}.msg').read_text()
            for name in ('AirData', 'Airframe', 'FlightControls')}
        for kind, text in self._texts.items():
            self.store.register(get_types_from_msg(text, kind))
        self._writer = Writer(stream)
        self._writer.start('ros2', 'test')
        self._channels = {}

    def add(self, topic, kind, at, **fields):
        """Add a message; fields that are not given are zero."""
        if topic not in self._channels:
            text = self.store.generate_msgdef(kind, ros_version=2)[0]
            self._channels[topic] = self._writer.register_channel(
                topic, 'cdr', self._writer.register_schema(kind, 'ros2msg', text.encode()))
        stamp = round((BEGIN + at) * 1e9)
        types = self.store.types
        header = types['std_msgs/msg/Header'](
            types['builtin_interfaces/msg/Time'](*divmod(stamp, 10**9)), '')
        message = self.made(kind, header=header, **fields)
        self._writer.add_message(
            self._channels[topic], stamp, bytes(self.store.serialize_cdr(message, kind)), stamp)

    def made(self, kind, **fields):
        """Return a message of a kind."""
        values = []
        for name, (what, of) in self.store.fielddefs[kind][1]:
            if name in fields:
                values.append(fields[name])
            elif what == 1:
                values.append(False if of[0] == 'bool' else 0 if 'int' in of[0] else 0.0)
            else:
                values.append(np.zeros({3: 9, 4: 0}[what]) if what in (3, 4) else self.made(of))
        return self.store.types[kind](*values)

    def finish(self):
        self._writer.finish()


def record(path, flight, order=slice(None), imu='/uav/imu/data'):
    """Record a flight: air data at every second time only, controls as commands."""
    v = flight.values
    with path.open('wb') as stream:
        recorder = Recorder(stream)
        vector, quaternion = (
            recorder.store.types[f'geometry_msgs/msg/{name}']
            for name in ('Vector3', 'Quaternion'))
        for n in range(len(flight.times))[order]:
            at = flight.times[n]
            w, x, y, z = axes.euler_to_quaternion(v['roll'][n], -v['pitch'][n], 0.3)
            recorder.add(
                imu, 'sensor_msgs/msg/Imu', at, orientation=quaternion(x, y, z, w),
                angular_velocity=vector(
                    v['roll_rate'][n], -v['pitch_rate'][n], -v['yaw_rate'][n]),
                linear_acceleration=vector(
                    v['specific_force_x'][n], -v['specific_force_y'][n],
                    -v['specific_force_z'][n]))
            if not n % 2:
                recorder.add('/uav/air_data', 'xplane_bridge/msg/AirData', at, **{
                    name: float(v[name][n]) for name in (
                        'true_airspeed', 'angle_of_attack', 'sideslip', 'density')})
            recorder.add(
                '/uav/controls', 'xplane_bridge/msg/FlightControls', at,
                fields=ELEVATOR | AILERON | RUDDER, **{
                    name: float(v[name][n]) for name in ('elevator', 'aileron', 'rudder')})
            if DEFLECTIONS['elevator'] in v:
                recorder.add('/uav/airframe', 'xplane_bridge/msg/Airframe', at, **{
                    name: float(v[name][n]) for name in DEFLECTIONS.values()})
        recorder.finish()


@pytest.fixture
def path(tmp_path):
    return tmp_path / 'flight.mcap'


def test_a_recording_gives_back_the_signals(path):
    exact = synthetic.longitudinal(seconds=4.0).measured
    record(path, exact)
    found, step = read_recording(path)
    assert step == 0.0
    np.testing.assert_allclose(found.times, exact.times, atol=1e-6)
    for name, values in exact.values.items():
        known = np.isfinite(found.values[name])
        np.testing.assert_allclose(
            found.values[name][known], values[known], atol=1e-9, err_msg=name)
        assert known.mean() == (0.5 if name in (
            'true_airspeed', 'angle_of_attack', 'sideslip', 'density') else 1.0), name


def test_deflections_come_from_the_airframe(path):
    exact = synthetic.longitudinal(seconds=4.0).measured
    values = {name: 0.4 * exact.values[control] for control, name in DEFLECTIONS.items()}
    record(path, replace(exact, values={**exact.values, **values}))
    found, _ = read_recording(path)
    for name, one in values.items():
        np.testing.assert_allclose(found.values[name], one, atol=1e-9, err_msg=name)


def test_the_experiment_beside_it_says_the_manoeuvres(path):
    exact = synthetic.longitudinal(seconds=4.0).measured
    record(path, exact)
    path.with_suffix('.json').write_text(json.dumps({
        'begin': BEGIN - 2.0, 'settings': {'host': '', 'model': ''}, 'figures': {'windows': {
            '3211_elevator': {'begin': 2.5, 'until': 6.0}, 'doublet_rudder': {'begin': None}}}}))
    found, step = read_recording(path)
    assert found.manoeuvres == (Manoeuvre('3211_elevator', 2.5, 6.0),)
    assert found.model == 'c172p'
    assert step == pytest.approx(1.0 / 120.0)
    assert found.times[0] == pytest.approx(2.0)


def test_a_clock_that_goes_back_is_named(path):
    record(path, synthetic.longitudinal(seconds=4.0).measured, slice(None, None, -1))
    with pytest.raises(IdentificationError, match='clock of imu/data goes from'):
        read_recording(path)


def test_a_recording_without_a_vehicle_is_refused(path):
    record(path, synthetic.longitudinal(seconds=1.0).measured, imu='/uav/imu/raw')
    with pytest.raises(RecordingError, match='expected one topic imu/data, found none'):
        read_recording(path)


def test_the_truth_behind_sensors_is_not_what_is_read(path):
    record(path, synthetic.longitudinal(seconds=1.0).measured, imu='/uav/truth/imu/data')
    with pytest.raises(RecordingError, match='expected one topic imu/data, found none'):
        read_recording(path)


def test_another_namespace_has_no_vehicle(path):
    record(path, synthetic.longitudinal(seconds=1.0).measured)
    assert len(read_recording(path, 'uav')[0].times) == 25
    with pytest.raises(RecordingError, match='expected one topic imu/data, found none'):
        read_recording(path, '/other')
