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
Recordings of earlier versions.

Of 0.2, in which Navigation and Waypoints say altitude for altitude_msl; of 0.3, in which topics
that command an autopilot or a controller lack the prefix command/, and three types have other
names.
"""

import csv

import numpy as np
import pytest

pytest.importorskip('mcap', reason='mcap is not installed')
pytest.importorskip('rosbags', reason='rosbags is not installed')

from mcap.writer import Writer
from rosbags.typesys import get_types_from_msg, get_typestore, Stores

from xplane_bridge.commands.export import main
from xplane_bridge.laboratory.flights.analysis.history import figures, load

NAVIGATION = 'xplane_bridge/msg/Navigation'
WAYPOINTS = 'xplane_bridge/msg/Waypoints'
TARGET = 'xplane_bridge/msg/AutopilotTarget'
OTHER_TARGET = 'xplane_bridge/msg/SimpitTarget'
ATTITUDE = 'xplane_bridge/msg/AttitudeTarget'
RATE = 'xplane_bridge/msg/RateTarget'
TEMPERATURE = 'xplane_bridge/msg/SimpitTemperature'
_HEADER = f"""
{'=' * 80}
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
{'=' * 80}
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
"""
DEFINITIONS = {
    NAVIGATION: f"""std_msgs/Header header

float64 latitude         # deg, as sent by the simulator: Huginn's is geocentric
float64 longitude        # deg
float64 altitude         # m above mean sea level
float64 true_airspeed    # m/s, not the ground speed
float64 roll             # rad, + is right wing down
float64 pitch            # rad, + is nose up
float64 true_heading     # rad, clockwise from true north, 0..2 pi
{_HEADER}""",
    WAYPOINTS: """uint8 ADD = 1
uint8 REMOVE = 2    # only exact float32 matches
uint8 CLEAR = 3     # all; no points given

uint8 operation

float64[] latitude     # deg, geodetic
float64[] longitude    # deg
float64[] altitude     # m above mean sea level
""",
    TARGET: f"""std_msgs/Header header
uint32 fields
uint32 ALTITUDE = 1
uint32 TRUE_HEADING = 2
uint32 AIRSPEED = 4
uint32 COURSE = 8
uint32 CLIMB_RATE = 16
uint32 RELEASE = 32
float64 altitude
float64 true_heading
float64 airspeed
float64 course
float64 climb_rate
{_HEADER}""",
    OTHER_TARGET: f"""std_msgs/Header header
float64 distance
{_HEADER}""",
    ATTITUDE: f"""std_msgs/Header header
uint32 fields
uint32 ROLL = 1
float64 roll          # rad, + is right wing down
float64 pitch         # rad, + is nose up
bool yaw_damper
float64 throttle      # 0..1
float64 airspeed      # m/s, indicated; held with the throttle
{_HEADER}""",
    RATE: f"""std_msgs/Header header
uint32 fields
float64 roll_rate
float64 pitch_rate
float64 yaw_rate
float64 throttle
{_HEADER}""",
    TEMPERATURE: f"""std_msgs/Header header
float64 part    # of the hottest part
float64 skin    # of the part with the hottest skin
{_HEADER}""",
}
BEGIN, STEP = 1_800_000_000 * 10**9, 100_000_000


def write(path, say):
    """Write a recording whose definitions are those of then, as its record did."""
    store = get_typestore(Stores.ROS2_JAZZY)
    for kind, text in DEFINITIONS.items():
        store.register(get_types_from_msg(text, kind))
    types = store.types

    def header(at):
        return types['std_msgs/msg/Header'](
            types['builtin_interfaces/msg/Time'](*divmod(at, 10**9)), 'base_link')

    with path.open('wb') as stream:
        writer = Writer(stream)
        writer.start('ros2', 'test')
        channels = {}

        def add(topic, kind, at, *values, stamped=True):
            if topic not in channels:
                text = DEFINITIONS.get(kind) or store.generate_msgdef(kind, ros_version=2)[0]
                channels[topic] = writer.register_channel(
                    topic, 'cdr', writer.register_schema(kind, 'ros2msg', text.encode()))
            message = types[kind](*([header(at)] if stamped else []), *values)
            writer.add_message(
                channels[topic], at, bytes(store.serialize_cdr(message, kind)), at)

        zero = types['geometry_msgs/msg/Vector3'](0.0, 0.0, 0.0)
        level = types['geometry_msgs/msg/Quaternion'](0.0, 0.0, 0.0, 1.0)
        for number in range(3):
            at = BEGIN + number * STEP
            add('/fix', 'sensor_msgs/msg/NavSatFix', at,
                types['sensor_msgs/msg/NavSatStatus'](0, 1), 37.8, 23.9, 634.0 + number,
                np.zeros(9), 0)
            add('/imu/data', 'sensor_msgs/msg/Imu', at,
                level, np.zeros(9), zero, np.zeros(9), zero, np.zeros(9))
        say(add)
        writer.finish()
    return path


def of_02(add):
    for number in range(3):
        add('/gps', NAVIGATION, BEGIN + number * STEP,
            37.8, 23.9, 600.0 + number, 51.0, 0.0, 0.1, 1.5)
    add('/command/waypoints', WAYPOINTS, BEGIN,
        1, np.array([37.9]), np.array([23.8]), np.array([700.0]), stamped=False)


@pytest.fixture
def recording(tmp_path):
    return write(tmp_path / 'flight.mcap', of_02)


def column(path, name):
    with path.open(newline='') as file:
        names, _, *rows = csv.reader(file)
    return [row[names.index(name)] for row in rows]


def test_they_are_exported_as_their_definitions_say(recording, tmp_path):
    folder = tmp_path / 'out'
    assert main([str(recording), '--to', 'csv', '--output', str(folder)]) == 0
    assert column(folder / 'gps.csv', 'altitude') == ['600.0', '601.0', '602.0']
    assert column(folder / 'command.waypoints.csv', 'altitude') == ['[700.0]']


def test_their_altitude_is_not_taken_for_that_above_the_ellipsoid(recording):
    _, altitude = load(recording, begin=BEGIN / 1e9).series['altitude']
    assert altitude.tolist() == [634.0, 635.0, 636.0]


def of_03(add):
    add('/target', TARGET, BEGIN + STEP // 2, 7, 700.0, 1.5, 50.0, 0.0, 0.0)
    add('/target', TARGET, BEGIN + STEP + STEP // 2, 7, 710.0, 1.5, 50.0, 0.0, 0.0)


def test_targets_of_a_controller_are_found_by_their_name_of_then(tmp_path):
    path = write(tmp_path / 'flight.mcap', of_03)
    flight = load(path, begin=BEGIN / 1e9)
    times, altitude = flight.series['target_altitude']
    assert times == pytest.approx([0.05, 0.15], abs=1e-6)
    assert altitude.tolist() == [700.0, 710.0]
    assert figures(flight)['tracking']['altitude']['max_abs'] == pytest.approx(74.0)
    # A table has the name that was recorded.
    assert main([str(path), '--to', 'csv', '--output', str(tmp_path / 'out')]) == 0
    assert column(tmp_path / 'out' / 'target.csv', 'altitude') == ['700.0', '710.0']


def test_types_that_are_called_otherwise_now_are_exported_as_they_were_recorded(tmp_path):
    def say(add):
        add('/attitude', ATTITUDE, BEGIN, 3, 0.2, 0.05, False, 0.0, 0.0)
        add('/rates', RATE, BEGIN, 3, 0.1, -0.1, 0.0, 0.0)
        add('/temperature', TEMPERATURE, BEGIN, 0.5, 0.25)

    path, folder = write(tmp_path / 'flight.mcap', say), tmp_path / 'out'
    assert main([str(path), '--to', 'csv', '--output', str(folder)]) == 0
    assert column(folder / 'attitude.csv', 'pitch') == ['0.05']
    assert column(folder / 'rates.csv', 'pitch_rate') == ['-0.1']
    assert column(folder / 'temperature.csv', 'skin') == ['0.25']


@pytest.mark.parametrize('say', [
    lambda add: add('/target', OTHER_TARGET, BEGIN, 1500.0),
    # The name of today counts, whatever else has the one of then.
    lambda add: (of_03(add), add('/command/target', TARGET, BEGIN, 32, *[0.0] * 5)),
], ids=['of_another_type', 'beside_the_name_of_today'])
def test_what_only_has_a_name_of_then_is_left_alone(tmp_path, say):
    flight = load(write(tmp_path / 'flight.mcap', say), begin=BEGIN / 1e9)
    assert not len(flight.series['target_altitude'].times)
