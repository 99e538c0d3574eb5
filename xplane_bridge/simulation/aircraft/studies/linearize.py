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
The linear model of a JSBSim aircraft at a state: A, B, C, D with names and units.

Two ways. ``differences``: central differences through the model. ``jsbsim``: JSBSim's own
FGLinearization, which needs a state that JSBSim itself has trimmed: anywhere else it may never
return. Both hold the engines at the steady state of their throttles, without the dynamics of
spools and propellers, and both include JSBSim's flight control system as it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
import math

import numpy as np

from xplane_bridge.common.controls import SURFACES
from xplane_bridge.simulation.aircraft.linear_model import Array, LinearModel, ModelVariable, RATIO
from xplane_bridge.simulation.aircraft.model import Model, TrimError
from xplane_bridge.simulation.aircraft.state import (
    AILERON_SIGN,
    AircraftState,
    ELEVATOR_SIGN,
    FACTORS,
    FOOT,
    RUDDER_SIGN,
    STANDARD_GRAVITY,
)
from xplane_bridge.simulation.aircraft.studies.spare import Spare
from xplane_bridge.simulation.aircraft.trim import velocity_through_air

METHODS = ('jsbsim', 'differences')

# State: unit, step of the differences, name and factor in JSBSim's linearization.
_STATES = {
    'true_airspeed': ('m/s', 0.1, 'Vt', FOOT),
    'angle_of_attack': ('rad', 1e-3, 'Alpha', 1.0),
    'sideslip': ('rad', 1e-3, 'Beta', 1.0),
    'roll': ('rad', 1e-3, 'Phi', 1.0),
    'pitch': ('rad', 1e-3, 'Theta', 1.0),
    'heading': ('rad', 1e-2, 'Psi', 1.0),
    'roll_rate': ('rad/s', 1e-3, 'P', 1.0),
    'pitch_rate': ('rad/s', 1e-3, 'Q', 1.0),
    'yaw_rate': ('rad/s', 1e-3, 'R', 1.0),
    'altitude_msl': ('m', 5.0, 'Alt', FOOT),
}
# Input: property, name in JSBSim's linearization, sign.
_INPUTS = {
    'elevator': ('fcs/elevator-cmd-norm', 'DeCmd', ELEVATOR_SIGN),
    'aileron': ('fcs/aileron-cmd-norm', 'DaCmd', AILERON_SIGN),
    'rudder': ('fcs/rudder-cmd-norm', 'DrCmd', RUDDER_SIGN),
    'throttle': ('fcs/throttle-cmd-norm[{}]', 'ThtlCmd', 1.0),
}
_INPUT_STEP = 2e-3
# Beside the states, what is made of them and of their derivatives.
_DERIVED = {
    'flight_path_angle': 'rad',
    'course': 'rad',
    'climb_rate': 'm/s',
    'specific_force_x': 'm/s2',
    'specific_force_y': 'm/s2',
    'specific_force_z': 'm/s2',
}
STATES = {name: unit for name, (unit, _, _, _) in _STATES.items()}
"""The states of a linear model with their units."""

OUTPUTS = STATES | _DERIVED
"""Its outputs with their units."""

_OUTPUT_STEP = 1e-6
# Slower than this (m/s) the flow has no direction.
_SLOWEST = 3.0
# JSBSim's trim is the present state if it differs by less: of the airspeed, and in rad, rad/s.
_SAME_AIRSPEED = 0.02
_SAME_ANGLE = math.radians(0.5)
_SAME_RATE = math.radians(1.0)


@dataclass(frozen=True, slots=True)
class Point:
    """Where an aircraft is linearised: the values of states and inputs, by name."""

    states: dict[str, float]
    inputs: dict[str, float]


def to_point(state: AircraftState) -> Point:
    """Return the point of a state; its throttle is the first engine's."""
    inputs = {
        'elevator': state.elevator, 'aileron': state.aileron, 'rudder': state.rudder}
    if state.engines:
        inputs['throttle'] = state.engines[0].throttle
    return Point({
        'true_airspeed': state.tas, 'angle_of_attack': state.alpha, 'sideslip': state.beta,
        'roll': state.phi, 'pitch': state.theta, 'heading': state.psi, 'roll_rate': state.p,
        'pitch_rate': state.q, 'yaw_rate': state.r, 'altitude_msl': state.altitude_msl}, inputs)


def linearize(spare: Spare, method: str = '', patient: bool = False) -> LinearModel:
    """
    Return the linear model at the state of an aircraft, which is not disturbed.

    The air is still there, and the engines are at the steady state of their throttles. ``method``
    is one of METHODS, or empty for JSBSim's own where it can. Of a piston engine that takes
    between a second and minutes, so only if ``patient`` and asked for. Raises ValueError for a
    method that is not possible there, or on the ground.
    """
    if method not in ('', *METHODS):
        raise ValueError(f'method is {method!r}, expected {", ".join(METHODS)} or nothing')
    state = spare.state
    if any(state.wheels_on_ground) or state.tas < _SLOWEST:
        raise ValueError(
            f'{spare.name} cannot be linearised on the ground, or below {_SLOWEST:g} m/s')
    point = to_point(state)
    if method != 'differences':
        try:
            model = spare.model()
            if model.runs_engines and not model.pistons:
                raise _NotPossibleError("JSBSim's own trim does not bear electric engines, "
                                        'turboprops and rockets')
            if model.pistons and not (patient and method):
                raise _NotPossibleError(
                    "JSBSim's linearization of a piston engine may take minutes")
            return _made(spare.name, 'jsbsim', state, point, *_by_jsbsim(model, point))
        except _NotPossibleError as error:
            if method:
                raise ValueError(f'{error}: use the method differences') from None
    return _made(spare.name, 'differences', state, point,
                 *_by_differences(spare.model(), point, _derivatives))


def bare(spare: Spare, surfaces: Collection[str] = (), *, at_once: bool = False) -> LinearModel:
    """
    Return the linear model by differences of the airframe: some inputs are deflections (rad).

    ``surfaces`` are names of SURFACES. What the control system makes of states and commands there
    is taken out: it moves the surfaces by Sx and Su, so what these do is B Su^-1, and A without
    the control system is A - B Su^-1 Sx. ``at_once``: in the first moment, in which engines and
    propellers keep their speed; that of a piston engine takes a second to follow the airspeed.
    Raises ValueError as linearize() does.
    """
    steady = linearize(spare, 'differences')
    model, point, count = spare.model(), to_point(spare.state), len(_STATES)
    at_once = at_once and model.runs_engines
    if not surfaces and not at_once:
        return steady
    names = [name for name in SURFACES if name in surfaces]
    nodes = [FACTORS[f'{name}_deflection'] for name in names]

    def both(model: Model, point: Point) -> Array:
        found = _derivatives(model, point, at_once)
        return np.append(found, [
            model.get(model.reader.acting(node)) * sign for node, sign in nodes])

    if at_once:
        _derivatives(model, point)
    a, b = _by_differences(model, point, both)
    columns = [[*point.inputs].index(name) for name in names]
    acting = b[:count, columns] @ np.linalg.pinv(b[count:, columns])
    b[:count] -= acting @ b[count:]
    b[:count, columns] = acting
    found = _made(spare.name, 'differences', spare.state, point,
                  a[:count] - acting @ a[count:], b[:count])
    return replace(found, inputs=tuple(
        replace(one, unit='rad', value=getattr(spare.state, f'{one.name}_deflection'))
        if one.name in names else one for one in found.inputs))


class _NotPossibleError(ValueError):
    """JSBSim's own way is not possible."""


def _by_differences(
    model: Model, point: Point, of: Callable[[Model, Point], Array]
) -> tuple[Array, Array]:
    """Return the slopes by states and inputs of a function, by central differences."""
    columns = []
    for kind, steps in (('states', {name: step for name, (_, step, _, _) in _STATES.items()}),
                        ('inputs', dict.fromkeys(point.inputs, _INPUT_STEP))):
        base = getattr(point, kind)
        for name, step in steps.items():
            low, high = -math.inf, math.inf
            if name in point.inputs:
                low, high = (0.0 if name == 'throttle' else -1.0), 1.0
            above, below = min(base[name] + step, high), max(base[name] - step, low)
            columns.append((
                of(model, replace(point, **{kind: base | {name: above}}))
                - of(model, replace(point, **{kind: base | {name: below}})))
                / (above - below))
    both = np.array(columns).T
    return both[:, :len(_STATES)], both[:, len(_STATES):]


def _derivatives(model: Model, point: Point, at_once: bool = False) -> Array:
    """Place the model at a point and return the derivatives of the states."""
    x = point.states
    airspeed, alpha, beta = (
        x[name] for name in ('true_airspeed', 'angle_of_attack', 'sideslip'))
    u, v, w = velocity = velocity_through_air(airspeed, alpha, beta)
    p, q, r = rates = (x['roll_rate'], x['pitch_rate'], x['yaw_rate'])
    model.set('ic/h-sl-ft', x['altitude_msl'] / FOOT)
    model.set('ic/psi-true-deg', math.degrees(x['heading']))
    model.set_initial_motion(
        math.degrees(x['pitch']), math.degrees(x['roll']), velocity, rates)
    for name, value in point.inputs.items():
        node, _, sign = _INPUTS[name]
        for engine in range(model.reader.engine_count if name == 'throttle' else 1):
            model.set(node.format(engine), sign * value)
    model.equilibrate(at_once=at_once)
    u_dot, v_dot, w_dot, *rates_dot = model.accelerations()
    airspeed_dot = (u * u_dot + v * v_dot + w * w_dot) / airspeed
    forward = math.hypot(u, w)
    roll, pitch = x['roll'], x['pitch']
    turning = q * math.sin(roll) + r * math.cos(roll)
    return np.array([
        airspeed_dot,
        (u * w_dot - w * u_dot) / forward ** 2,
        (airspeed * v_dot - v * airspeed_dot) / (airspeed * forward),
        p + math.tan(pitch) * turning,
        q * math.cos(roll) - r * math.sin(roll),
        turning / math.cos(pitch),
        *rates_dot,
        _climb_rate(velocity, roll, pitch)])


def _climb_rate(velocity: Sequence[float], roll: float, pitch: float) -> float:
    u, v, w = velocity
    return (u * math.sin(pitch)
            - (v * math.sin(roll) + w * math.cos(roll)) * math.cos(pitch))


def _by_jsbsim(model: Model, point: Point) -> tuple[Array, Array]:
    """Return A and B as JSBSim finds them, at its own trim of this flight."""
    if 'throttle' not in point.inputs:
        raise _NotPossibleError("JSBSim's linearization needs an engine")
    # With a sideslip JSBSim's linearization never returns, and its trim keeps that.
    straight = dict.fromkeys(('sideslip', 'roll', 'roll_rate', 'pitch_rate', 'yaw_rate'), 0.0)
    _derivatives(model, replace(point, states=point.states | straight))
    try:
        model.trim()
    except TrimError:
        raise _NotPossibleError("JSBSim's own trim fails here") from None
    trimmed = to_point(model.state).states
    for name, value in point.states.items():
        limit = (
            _SAME_AIRSPEED * value if name == 'true_airspeed' else
            math.inf if name in ('altitude_msl', 'heading') else
            _SAME_RATE if name.endswith('_rate') else _SAME_ANGLE)
        if abs(trimmed[name] - value) > limit:
            raise _NotPossibleError(
                f'the present state is not the steady level flight that JSBSim linearises: {name} '
                f'is {value:.4g}, and {trimmed[name]:.4g} there')
    # The small bank of JSBSim's trim would make its slopes by the airspeed wrong.
    model.initialise()
    names, a, b = model.linearize()
    factors = {jsbsim: factor for _, _, jsbsim, factor in _STATES.values()}
    rows = [names[0].index(jsbsim) for jsbsim in factors]
    # Propellers' speeds, which JSBSim has as states, follow at once.
    fast = [n for n, name in enumerate(names[0]) if name.startswith('Rpm')]
    units = np.array(list(factors.values()))
    columns = [names[1].index(_INPUTS[name][1]) for name in point.inputs]
    signs = np.array([_INPUTS[name][2] for name in point.inputs])
    slow_a, slow_b = a[np.ix_(rows, rows)], b[np.ix_(rows, columns)]
    if fast:
        follow = a[np.ix_(rows, fast)] @ np.linalg.inv(a[np.ix_(fast, fast)])
        slow_a = slow_a - follow @ a[np.ix_(fast, rows)]
        slow_b = slow_b - follow @ b[np.ix_(fast, columns)]
    return slow_a * units[:, None] / units[None, :], slow_b * units[:, None] * signs[None, :]


def _outputs(states: Array, derivatives: Array) -> Array:
    """Return the outputs for states and their derivatives."""
    airspeed, alpha, beta, roll, pitch, heading, p, q, r, _ = states
    airspeed_dot, alpha_dot, beta_dot = derivatives[:3]
    u, v, w = velocity_through_air(airspeed, alpha, beta)
    climb = _climb_rate((u, v, w), roll, pitch)
    # Over the ground, north and east of the aircraft's own heading.
    ahead = u * math.cos(pitch) + (
        v * math.sin(roll) + w * math.cos(roll)) * math.sin(pitch)
    across = v * math.cos(roll) - w * math.sin(roll)
    cos_a, sin_a, cos_b, sin_b = math.cos(alpha), math.sin(alpha), math.cos(beta), math.sin(beta)
    u_dot = (airspeed_dot * cos_a * cos_b - airspeed * alpha_dot * sin_a * cos_b
             - airspeed * beta_dot * cos_a * sin_b)
    v_dot = airspeed_dot * sin_b + airspeed * beta_dot * cos_b
    w_dot = (airspeed_dot * sin_a * cos_b + airspeed * alpha_dot * cos_a * cos_b
             - airspeed * beta_dot * sin_a * sin_b)
    return np.array([
        *states, math.asin(climb / airspeed), heading + math.atan2(across, ahead), climb,
        u_dot + q * w - r * v + STANDARD_GRAVITY * math.sin(pitch),
        v_dot + r * u - p * w - STANDARD_GRAVITY * math.sin(roll) * math.cos(pitch),
        w_dot + p * v - q * u - STANDARD_GRAVITY * math.cos(roll) * math.cos(pitch)])


def _made(name: str, method: str, state: AircraftState, point: Point, a: Array,
          b: Array) -> LinearModel:
    """Return the model with its outputs, which follow from states and derivatives."""
    values = np.array(list(point.states.values()))
    still = np.zeros(len(values))

    def slopes(of_states: bool) -> Array:
        columns = []
        for n in range(len(values)):
            step = np.zeros(len(values))
            step[n] = _OUTPUT_STEP
            high, low = (
                _outputs(values + sign * step, still) if of_states
                else _outputs(values, still + sign * step) for sign in (1.0, -1.0))
            columns.append((high - low) / (2.0 * _OUTPUT_STEP))
        return np.array(columns).T

    by_derivatives = slopes(of_states=False)
    outputs = _outputs(values, still)
    return LinearModel(
        name, method, state.altitude_msl, state.cas,
        tuple(ModelVariable(key, STATES[key], value) for key, value in point.states.items()),
        tuple(ModelVariable(key, RATIO, value) for key, value in point.inputs.items()),
        tuple(ModelVariable(key, unit, float(value)) for (key, unit), value in zip(
            OUTPUTS.items(), outputs, strict=True)),
        a, b, slopes(of_states=True) + by_derivatives @ a, by_derivatives @ b)
