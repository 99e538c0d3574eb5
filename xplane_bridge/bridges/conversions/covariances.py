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

"""Covariances of messages, and what stands for an unknown one."""

from __future__ import annotations

# Variance of unknown values, in m^2, (m/s)^2, rad^2 or (rad/s)^2. Odometry and
# TwistWithCovariance cannot express "unknown": robot_localization takes 0 for 1e-9, near
# certainty, and -1 for 1. With this variance a filter's gain is practically zero.
UNKNOWN_VARIANCE = 1e6


def diagonal(*values: float) -> list[float]:
    """Return a square matrix, row by row."""
    size = len(values)
    matrix = [0.0] * (size * size)
    matrix[::size + 1] = values
    return matrix


def variance(given: float) -> float:
    """Return a variance for Odometry and Twist, where 0 would mean certainty."""
    return given or UNKNOWN_VARIANCE
