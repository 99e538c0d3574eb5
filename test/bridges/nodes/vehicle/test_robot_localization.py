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
config/ekf.yaml, as far as testable without robot_localization, which has no wheel.

Names are those of robot_localization 3.6 (ros_filter.cpp, navsat_transform.cpp). A filter with the
same state and model reads the file and is fed with what the node publishes.
"""

import math
from pathlib import Path
import re

import numpy
import pytest
import yaml

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from geometry_msgs.msg import TwistWithCovarianceStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu, NavSatFix

from xplane_bridge.bridges.conversions.geodesy import LocalFrame
from xplane_bridge.bridges.xpc.node import XpcNode

FILE = Path(__file__).resolve().parents[4] / 'config' / 'ekf.yaml'
CONFIG = {
    name.removeprefix('/**/'): section['ros__parameters']
    for name, section in yaml.safe_load(FILE.read_text()).items()}
EKF = CONFIG['ekf_filter_node']

PLAIN = """
    frequency sensor_timeout two_d_mode smooth_lagged_data history_length
    dynamic_process_noise_covariance predict_to_current_time print_diagnostics publish_tf
    publish_acceleration permit_corrected_publication reset_on_time_jump map_frame odom_frame
    base_link_frame base_link_output_frame world_frame transform_time_offset transform_timeout
    debug debug_out_file gravitational_acceleration use_control control_config control_timeout
    acceleration_limits acceleration_gains deceleration_limits deceleration_gains initial_state
    disabled_at_startup process_noise_covariance initial_estimate_covariance tf_prefix
"""
SENSOR = {
    'odom': 'config queue_size differential relative pose_use_child_frame '
            'pose_rejection_threshold twist_rejection_threshold',
    'pose': 'config queue_size differential relative rejection_threshold',
    'twist': 'config queue_size rejection_threshold',
    'imu': 'config queue_size differential relative remove_gravitational_acceleration '
           'pose_rejection_threshold twist_rejection_threshold '
           'linear_acceleration_rejection_threshold',
}
NAVSAT = """
    frequency delay magnetic_declination_radians yaw_offset zero_altitude publish_filtered_gps
    use_odometry_yaw wait_for_datum datum use_local_cartesian transform_timeout
    broadcast_cartesian_transform broadcast_cartesian_transform_as_parent_frame
"""
# Simulated seconds of the turn.
FLOWN = 6.0
# What each kind of input can provide, by the rows of its configuration.
GIVES = {'odom': range(12), 'twist': range(6, 12), 'imu': (3, 4, 5, 9, 10, 11, 12, 13, 14)}


def test_every_parameter_exists_in_robot_localization():
    for name, value in EKF.items():
        sensor = re.fullmatch(r'(odom|pose|twist|imu)\d+(?:_(\w+))?', name)
        if not sensor:
            assert name in PLAIN.split(), name
        elif sensor[2]:
            assert sensor[2] in SENSOR[sensor[1]].split(), name
        else:
            assert isinstance(value, str)
    assert set(CONFIG['navsat_transform_node']) <= set(NAVSAT.split())


def test_every_input_has_what_is_fused_of_it():
    inputs = [name for name in EKF if re.fullmatch(r'(odom|pose|twist|imu)\d+', name)]
    assert {EKF[name] for name in inputs} == {'odometry/gps', 'fix_velocity', 'imu/data'}
    fused = set()
    for name in inputs:
        rows = EKF[f'{name}_config']
        assert len(rows) == 15
        assert all(isinstance(row, bool) for row in rows)
        chosen = {index for index, row in enumerate(rows) if row}
        assert chosen <= set(GIVES[name.rstrip('0123456789')])
        fused |= chosen
    # Position, attitude, velocity and angular velocity: nothing is left to dead reckoning.
    assert fused == set(range(12))
    noise = numpy.array(EKF['process_noise_covariance']).reshape(15, 15)
    assert (noise.diagonal() > 0.0).all()
    assert numpy.count_nonzero(noise) == 15


def test_one_publisher_for_each_transform():
    assert EKF['publish_tf']
    assert EKF['world_frame'] == EKF['odom_frame']
    for node in ('xpc_node', 'xplane_udp_node'):
        assert CONFIG[node]['publish_enu_tf']
        assert not CONFIG[node]['publish_tf']


class Filter:
    """
    The extended Kalman filter with robot_localization's model, reimplemented for this test.

    The state is x, y, z, roll, pitch, yaw (world), velocities, angular velocities and
    accelerations (body). Body velocities change by the accelerations alone.
    """

    def __init__(self):
        self.state = numpy.zeros(15)
        self.covariance = numpy.eye(15) * 1e-9
        self.noise = numpy.array(EKF['process_noise_covariance']).reshape(15, 15)

    def predict(self, elapsed):
        jacobian = numpy.empty((15, 15))
        predicted = move(self.state, elapsed)
        for index in range(15):
            nudged = self.state.copy()
            nudged[index] += 1e-6
            jacobian[:, index] = (move(nudged, elapsed) - predicted) / 1e-6
        self.state = predicted
        self.covariance = jacobian @ self.covariance @ jacobian.T + self.noise * elapsed

    def correct(self, name, first, values, covariance):
        """Fuse the values that the file selects for input ``name``."""
        rows = [row for row in range(first, first + len(values)) if EKF[f'{name}_config'][row]]
        pick = [row - first for row in rows]
        noise = numpy.asarray(covariance)[numpy.ix_(pick, pick)]
        assert (noise.diagonal() > 0.0).all(), f'{name} is fused without a variance'
        innovation = numpy.asarray(values)[pick] - self.state[rows]
        for index, row in enumerate(rows):
            if 3 <= row < 6:
                innovation[index] = math.remainder(innovation[index], 2.0 * math.pi)
        gain = self.covariance[:, rows] @ numpy.linalg.inv(
            self.covariance[numpy.ix_(rows, rows)] + noise)
        self.state = self.state + gain @ innovation
        self.covariance = self.covariance - gain @ self.covariance[rows, :]


def rotation(roll, pitch, yaw):
    """Return the rotation matrix from body to world."""
    cr, sr, cp, sp, cy, sy = (function(angle) for angle in (roll, pitch, yaw)
                              for function in (math.cos, math.sin))
    return numpy.array([
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr]])


def move(state, elapsed):
    """Return the state some seconds later."""
    roll, pitch, yaw = state[3:6]
    velocity, rates, acceleration = state[6:9], state[9:12], state[12:15]
    new = state.copy()
    new[0:3] += rotation(roll, pitch, yaw) @ (
        velocity * elapsed + 0.5 * acceleration * elapsed ** 2)
    new[3] += (rates[0] + math.tan(pitch) * (
        math.sin(roll) * rates[1] + math.cos(roll) * rates[2])) * elapsed
    new[4] += (math.cos(roll) * rates[1] - math.sin(roll) * rates[2]) * elapsed
    new[5] += (math.sin(roll) * rates[1] + math.cos(roll) * rates[2]) / math.cos(pitch) * elapsed
    new[6:9] += acceleration * elapsed
    return new


def angles(q):
    """Return roll, pitch and yaw of a quaternion."""
    return (
        math.atan2(2 * (q.w * q.x + q.y * q.z), 1 - 2 * (q.x * q.x + q.y * q.y)),
        math.asin(max(-1.0, min(1.0, 2 * (q.w * q.y - q.z * q.x)))),
        math.atan2(2 * (q.w * q.z + q.x * q.y), 1 - 2 * (q.y * q.y + q.z * q.z)))


def turning():
    """Return a world whose aircraft rolls into a climbing turn."""
    from xplane_bridge.simulation.aircraft.aircraft import Aircraft
    from xplane_bridge.simulation.peers.world import World

    aircraft = Aircraft()
    aircraft.set_controls(elevator=0.08, aileron=0.12, throttle=0.8)
    return World(aircraft)


def seconds(message):
    """Return the stamp of a message."""
    return message.header.stamp.sec + message.header.stamp.nanosec * 1e-9


def vector(value):
    """Return x, y and z."""
    return [value.x, value.y, value.z]


def test_a_filter_with_these_parameters_follows_a_turning_aircraft(ros, x_plane):
    peer = x_plane(turning)
    kinds = {'/fix': NavSatFix, '/imu/data': Imu, '/fix_velocity': TwistWithCovarianceStamped,
             '/odom': Odometry}
    for topic, kind in kinds.items():
        ros.subscribe(kind, topic, 100)
    ros.start(XpcNode, port=peer.port, stamp='simulator', **CONFIG['xpc_node'])
    begin = seconds(ros.next('/odom'))
    ros.next('/odom', where=lambda message: seconds(message) > begin + FLOWN)

    fixes, imus, twists, truths = (list(ros.messages[topic]) for topic in kinds)
    # Frames: the filter's own, and the one that the bridge's transform rotates.
    assert imus[0].header.frame_id == truths[0].child_frame_id == EKF['base_link_frame']
    assert truths[0].header.frame_id == EKF['odom_frame']
    assert twists[0].header.frame_id == 'base_link_enu'

    by_stamp = {seconds(message): message for message in imus}
    local, filtered, errors = None, Filter(), []
    fix_at = {seconds(message): message for message in fixes}
    twist_at = {seconds(message): message for message in twists}
    last = None
    for truth in truths:
        now = seconds(truth)
        if now not in by_stamp or now not in fix_at or now not in twist_at:
            continue
        imu, fix, twist = by_stamp[now], fix_at[now], twist_at[now]
        if last is None:
            local = LocalFrame(fix.latitude, fix.longitude, fix.altitude)
            start = numpy.array(vector(truth.pose.pose.position))
            filtered.state[3:6] = angles(imu.orientation)
            filtered.covariance *= 1e9
        else:
            filtered.predict(now - last)
        last = now
        turn = rotation(*angles(imu.orientation))
        filtered.correct(
            'odom0', 0, local.geodetic_to_enu(fix.latitude, fix.longitude, fix.altitude),
            numpy.reshape(fix.position_covariance, (3, 3)))
        filtered.correct('imu0', 3, angles(imu.orientation),
                         numpy.reshape(imu.orientation_covariance, (3, 3)))
        filtered.correct('imu0', 9, vector(imu.angular_velocity),
                         numpy.reshape(imu.angular_velocity_covariance, (3, 3)))
        covariance = numpy.reshape(twist.twist.covariance, (6, 6))[:3, :3]
        # By the transform base_link -> base_link_enu, which is this rotation.
        filtered.correct('twist0', 6, turn.T @ vector(twist.twist.twist.linear),
                         turn.T @ covariance @ turn)
        errors.append(numpy.concatenate([
            filtered.state[0:3] + start - vector(truth.pose.pose.position),
            filtered.state[6:9] - vector(truth.twist.twist.linear)]))
    assert len(errors) > 100
    # It was indeed a turn, and a fast one.
    assert max(abs(angles(message.orientation)[0]) for message in imus) > 0.35
    settled = numpy.abs(errors[len(errors) // 4:])
    assert settled[:, :3].max() < 2.0, 'position, m'
    assert settled[:, 3:].max() < 0.5, 'velocity, m/s'
