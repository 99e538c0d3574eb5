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

"""Recordings of 0.2, in which Navigation and Waypoints say altitude for altitude_msl."""

import csv

import numpy as np
import pytest

pytest.importorskip('mcap', reason='mcap is not installed')
pytest.importorskip('rosbags', reason='rosbags is not installed')

from mcap.writer import Writer
from rosbags.typesys import get_types_from_msg, get_typestore, Stores

from xplane_bridge.commands.export import main
from xplane_bridge.flights.analysis.history import load

NAVIGATION = 'xplane_bridge/msg/Navigation'
WAYPOINTS = 'xplane_bridge/msg/Waypoints'
DEFINITIONS = {
    NAVIGATION: f"""std_msgs/Header header

float64 latitude         # deg, as sent by the simulator: Huginn's is geocentric
float64 longitude        # deg
float64 altitude         # m above mean sea level
float64 true_airspeed    # m/s, not the ground speed
float64 roll             # rad, + is right wing down
float64 pitch            # rad, + is nose up
float64 true_heading     # rad, clockwise from true north, 0..2 pi
{'=' * 80}
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
{'=' * 80}
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
""",
    WAYPOINTS: """uint8 ADD = 1
uint8 REMOVE = 2    # only exact float32 matches
uint8 CLEAR = 3     # all; no points given

uint8 operation

float64[] latitude     # deg, geodetic
float64[] longitude    # deg
float64[] altitude     # m above mean sea level
""",
}
BEGIN, STEP = 1_800_000_000 * 10**9, 100_000_000


@pytest.fixture
def recording(tmp_path):
    """Write a recording whose definitions are those of 0.2, as its record did."""
    store = get_typestore(Stores.ROS2_JAZZY)
    for kind, text in DEFINITIONS.items():
        store.register(get_types_from_msg(text, kind))
    types = store.types

    def header(at):
        return types['std_msgs/msg/Header'](
            types['builtin_interfaces/msg/Time'](*divmod(at, 10**9)), 'base_link')

    zero = types['geometry_msgs/msg/Vector3'](0.0, 0.0, 0.0)
    path = tmp_path / 'flight.mcap'
    with path.open('wb') as stream:
        writer = Writer(stream)
        writer.start('ros2', 'test')

        def channel(topic, kind):
            text = DEFINITIONS.get(kind) or store.generate_msgdef(kind, ros_version=2)[0]
            return kind, writer.register_channel(
                topic, 'cdr', writer.register_schema(kind, 'ros2msg', text.encode()))

        def add(channel, at, message):
            kind, number = channel
            writer.add_message(number, at, bytes(store.serialize_cdr(message, kind)), at)

        gps, fix = channel('/gps', NAVIGATION), channel('/fix', 'sensor_msgs/msg/NavSatFix')
        imu = channel('/imu/data', 'sensor_msgs/msg/Imu')
        for number in range(3):
            at = BEGIN + number * STEP
            add(gps, at, types[NAVIGATION](
                header(at), 37.8, 23.9, 600.0 + number, 51.0, 0.0, 0.1, 1.5))
            add(fix, at, types['sensor_msgs/msg/NavSatFix'](
                header(at), types['sensor_msgs/msg/NavSatStatus'](0, 1), 37.8, 23.9,
                634.0 + number, np.zeros(9), 0))
            add(imu, at, types['sensor_msgs/msg/Imu'](
                header(at), types['geometry_msgs/msg/Quaternion'](0.0, 0.0, 0.0, 1.0),
                np.zeros(9), zero, np.zeros(9), zero, np.zeros(9)))
        add(channel('/command/waypoints', WAYPOINTS), BEGIN, types[WAYPOINTS](
            1, np.array([37.9]), np.array([23.8]), np.array([700.0])))
        writer.finish()
    return path


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
