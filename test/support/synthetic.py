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

"""Flights of synthetic aircraft whose derivatives are known, for tests of identification."""

import math

import numpy as np

from xplane_bridge.laboratory.identification.motion.airframe import Airframe
from xplane_bridge.laboratory.identification.motion.equations import CheckedManoeuvre
from xplane_bridge.laboratory.identification.motion.signals import FlightSignals, Manoeuvre

AIRFRAME = Airframe(
    mass=1000.0, i_xx=1200.0, i_yy=1800.0, i_zz=2600.0, i_xz=80.0, wing_area=16.0,
    wing_span=11.0, chord=1.5)
SPEED, DENSITY, GRAVITY = 50.0, 1.1, 9.80665
PRESSURE = 0.5 * DENSITY * SPEED ** 2 * AIRFRAME.wing_area
LONGITUDINAL = {
    'C_L_alpha': 5.2, 'C_L_q': 6.0, 'C_L_delta_e': 0.25,
    'C_m_alpha': -0.9, 'C_m_q': -15.0, 'C_m_delta_e': 0.6}
LATERAL = {
    'C_Y_beta': -0.45, 'C_Y_p': -0.05, 'C_Y_r': 0.25, 'C_Y_delta_a': 0.01, 'C_Y_delta_r': -0.1,
    'C_l_beta': -0.09, 'C_l_p': -0.48, 'C_l_r': 0.11, 'C_l_delta_a': 0.12, 'C_l_delta_r': -0.01,
    'C_n_beta': 0.08, 'C_n_p': -0.04, 'C_n_r': -0.12, 'C_n_delta_a': -0.008, 'C_n_delta_r': 0.06}
STEP = 0.04


def pulses(times, begin, amplitude, unit=1.0):
    """Return a 3-2-1-1 input whose first pulse is three units long."""
    edges = begin + unit * np.array([0.0, 3.0, 5.0, 6.0, 7.0])
    values = np.zeros(len(times))
    for low, high, sign in zip(edges[:-1], edges[1:], (1.0, -1.0, 1.0, -1.0), strict=True):
        values[(times > low) & (times <= high)] = sign * amplitude
    return values


def sweep(times, begin, amplitude, unit=1.0):
    """Return a sine whose frequency rises for 12 s to half a cycle per unit, and ends at zero."""
    after = np.clip(times - begin, 0.0, 12.0)
    return amplitude * np.sin(math.tau * after * (
        0.1 + after / 24.0 * 0.5 / unit)) * np.sin(math.pi * after / 12.0) ** 0.5


def response(a, b, controls, late=0):
    """Return the states of dx/dt = A x + B u (n, s), each control held until its report."""
    from scipy.linalg import expm
    states = len(a)
    whole = np.zeros((states + b.shape[1],) * 2)
    whole[:states, :states], whole[:states, states:] = a, b
    across = expm(whole * STEP)
    x = [np.zeros(states)]
    for n in range(1, len(controls)):
        u = controls[max(n - late, 0)]
        x.append(across[:states, :states] @ x[-1] + across[:states, states:] @ u)
    return np.array(x)


def longitudinal(seconds=10.0, late=0, shape=pulses, aileron_lifts=0.0, lag=0.0):
    """
    Return a motion in which only the elevator acts, without noise, in a straight line.

    The elevator follows with the time constant ``lag`` (s), or at once.
    If ``aileron_lifts`` (C_L_delta_a) is not 0, ailerons move too, and make lift but no roll.
    """
    times = np.arange(0.0, seconds, STEP)
    elevator = shape(times, 0.5, 0.02, 0.5)
    aileron = (pulses(times, 1.0, 0.03, 0.7) + 0.3 * elevator) * bool(aileron_lifts)
    d, frame = LONGITUDINAL, AIRFRAME
    reduced = frame.chord / (2.0 * SPEED)
    lift, moment = PRESSURE / (frame.mass * SPEED), PRESSURE * frame.chord / frame.i_yy
    # The third state is the pitch; the path is so level that its bend counts for nothing.
    a = np.array([
        [-lift * d['C_L_alpha'], 1.0 - lift * d['C_L_q'] * reduced, 0.0],
        [moment * d['C_m_alpha'], moment * d['C_m_q'] * reduced, 0.0],
        [0.0, 1.0, 0.0]])
    b = np.array([[-lift * d['C_L_delta_e'], -lift * aileron_lifts],
                  [moment * d['C_m_delta_e'], 0.0], [0.0, 0.0]])
    commands = np.stack((elevator, aileron), axis=1)
    acting = np.maximum(np.arange(len(times)) - late, 0)
    if lag:
        # The fourth state is where the elevator is.
        a = np.block([[a, b[:, :1]], [np.zeros((1, 3)), np.full((1, 1), -1.0 / lag)]])
        b = np.array([[0.0, row[1]] for row in b] + [[1.0 / lag, 0.0]])
        alpha, q, pitch, surface = response(a, b, commands, late).T
    else:
        alpha, q, pitch = response(a, b, commands, late).T
        surface = elevator[acting]
    acceleration = GRAVITY + PRESSURE / frame.mass * (
        d['C_L_alpha'] * alpha + d['C_L_q'] * reduced * q
        + d['C_L_delta_e'] * surface + aileron_lifts * aileron[acting])
    zero = np.zeros(len(times))
    return motion(times, {
        'roll': zero, 'pitch': pitch, 'roll_rate': zero, 'pitch_rate': q, 'yaw_rate': zero,
        'specific_force_x': acceleration * np.sin(alpha), 'specific_force_y': zero,
        'specific_force_z': -acceleration * np.cos(alpha), 'true_airspeed': zero + SPEED,
        'angle_of_attack': alpha, 'sideslip': zero, 'density': zero + DENSITY,
        'elevator': elevator, 'aileron': aileron, 'rudder': zero})


def lateral(seconds=14.0, shape=pulses):
    """Return a motion of aileron and rudder, without noise, at no angle of attack."""
    times = np.arange(0.0, seconds, STEP)
    aileron, rudder = shape(times, 0.5, 0.06, 0.4), shape(times, 5.0, 0.15, 0.6)
    d, frame = LATERAL, AIRFRAME
    reduced = frame.wing_span / (2.0 * SPEED)
    side, moment = PRESSURE / (frame.mass * SPEED), PRESSURE * frame.wing_span
    inertia = np.array([[frame.i_xx, -frame.i_xz], [-frame.i_xz, frame.i_zz]])
    scale = np.array([1.0, reduced, reduced, 1.0, 1.0])
    names = ('beta', 'p', 'r', 'delta_a', 'delta_r')
    rows = {c: np.array([d[f'{c}_{name}'] for name in names]) * scale
            for c in ('C_Y', 'C_l', 'C_n')}
    whole = np.zeros((4, 6))
    whole[0, [0, 1, 2, 4, 5]] = side * rows['C_Y']
    whole[0, 2] -= 1.0
    # The fourth state is the bank, which is small.
    whole[0, 3] = GRAVITY / SPEED
    whole[1:3, [0, 1, 2, 4, 5]] = np.linalg.solve(
        inertia, moment * np.stack((rows['C_l'], rows['C_n'])))
    whole[3, 1] = 1.0
    beta, p, r, roll = response(
        whole[:, :4], whole[:, 4:], np.stack((aileron, rudder), axis=1)).T
    zero = np.zeros(len(times))
    force = PRESSURE / frame.mass * (
        np.stack((beta, p, r, aileron, rudder), axis=1) @ rows['C_Y'])
    return motion(times, {
        # The equations have the sine of the bank.
        'roll': np.arcsin(roll), 'pitch': zero, 'roll_rate': p, 'pitch_rate': zero,
        'yaw_rate': r, 'specific_force_x': zero, 'specific_force_y': force,
        'specific_force_z': zero - GRAVITY, 'true_airspeed': zero + SPEED,
        'angle_of_attack': zero, 'sideslip': beta, 'density': zero + DENSITY,
        'elevator': zero, 'aileron': aileron, 'rudder': rudder})


def motion(times, values):
    """Return a motion that is measured exactly."""
    flight = FlightSignals('synthetic', times, values, (Manoeuvre('3211', 0.0, math.inf),))
    return CheckedManoeuvre(flight, flight, AIRFRAME)


def noisy(exact, deviations, rng, colour=0.0):
    """Return a motion measured with noise; ``colour`` 0..1 is its correlation with the last."""
    measured = dict(exact.measured.values)
    for name, deviation in deviations.items():
        white = rng.standard_normal(len(exact.times))
        for n in range(1, len(white)):
            white[n] = colour * white[n - 1] + math.sqrt(1.0 - colour ** 2) * white[n]
        measured[name] = measured[name] + deviation * white
    flight = exact.measured
    return CheckedManoeuvre(exact.flight, FlightSignals(
        flight.source, flight.times, measured, flight.manoeuvres), exact.airframe)
