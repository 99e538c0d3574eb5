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
An identified aircraft as one of JSBSim: its derivatives about the flight in which they were found.

Like the navion of docs/tutorials/paper_aircraft.md, it is for small departures from level flight,
without undercarriage. Forces are those of the whole aircraft: lift and drag less thrust across and
along the flow. Only the throttle's effect becomes an engine, and what that adds is taken off the
others again.
"""

from __future__ import annotations

from collections.abc import Mapping
import math
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from xplane_bridge.common.controls import SURFACES
from xplane_bridge.common.units import STANDARD_GRAVITY
from xplane_bridge.laboratory.identification.disturbances import collect_slopes, flown
from xplane_bridge.laboratory.identification.identify import Identification
from xplane_bridge.laboratory.identification.motion.airframe import SLUG_SQUARE_FOOT
from xplane_bridge.laboratory.identification.motion.equations import (
    Derivative,
    LATERAL,
    LONGITUDINAL,
    MAGNITUDE,
    RATES,
    SPEED,
)
from xplane_bridge.laboratory.identification.motion.signals import IdentificationError
from xplane_bridge.simulation.aircraft.state import (
    AILERON_SIGN,
    ELEVATOR_SIGN,
    FOOT,
    POUND,
    RUDDER_SIGN,
)

ENGINE = 'constant_thrust'
# Full deflection of each surface (rad), as derivatives are by its part; fuel that is never burnt.
_TRAVEL = 0.35
_FUEL = 1.0
# The slowest airspeed whose logarithm is taken, of that in which it was flown.
_SLOWEST = 0.3
_POSITIONS = {
    'elevator': ('elevator', 'pitch', ELEVATOR_SIGN),
    'aileron': ('left-aileron', 'roll', AILERON_SIGN),
    'rudder': ('rudder', 'yaw', RUDDER_SIGN)}
_REDUCED = {
    'roll_rate': ('aero/bi2vel', 'velocities/p-aero-rad_sec'),
    'pitch_rate': ('aero/ci2vel', 'velocities/q-aero-rad_sec'),
    'yaw_rate': ('aero/bi2vel', 'velocities/r-aero-rad_sec')}
_ANGLES = {'angle_of_attack': 'aero/alpha-rad', 'sideslip': 'aero/beta-rad'}
_AXES = {
    'C_L': ('LIFT', ''), 'C_D': ('DRAG', ''), 'C_Y': ('SIDE', ''),
    'C_l': ('ROLL', 'metrics/bw-ft'), 'C_m': ('PITCH', 'metrics/cbarw-ft'),
    'C_n': ('YAW', 'metrics/bw-ft')}


def aircraft_files(found: Identification, name: str) -> dict[str, str]:
    """
    Return the texts of the aircraft's files, by their paths below its folder.

    Raises IdentificationError where a part of the model was not identified.
    """
    needed = [form.name for form in (LONGITUDINAL, LATERAL, SPEED) if form.name not in found.forms]
    slopes = collect_slopes(found.forms)
    by_throttle = Derivative('C_D', 'throttle')
    if not needed and not slopes.get(by_throttle, 0.0) < 0.0:
        needed = ['an effect of the throttle']
    if needed:
        raise IdentificationError(
            f'no aircraft without {" and ".join(needed)}: fly the elevator, aileron, rudder and '
            'throttle, each in a manoeuvre of its own or together')
    if found.surfaces:
        raise IdentificationError(
            f'no aircraft of {" and ".join(sorted(found.surfaces))} by deflections: the control '
            'system that moves them was not identified')
    at = flown(found.forms)
    throttle = at.controls['throttle']
    # Lift and moment are at their constants where airspeed and throttle are those of the flight.
    constants = {
        coefficient: float(np.mean([one[n] for one in found.forms[form.name].fit.constants]))
        for form in (SPEED, LONGITUDINAL, LATERAL)
        for n, coefficient in enumerate(form.coefficients)}
    # The engine's thrust is as the square of its speed, and that follows the throttle.
    most = -slopes.pop(by_throttle) / (2.0 * throttle)
    thrust = most * throttle ** 2
    constants['C_D'] += slopes[Derivative('C_D', 'true_airspeed')] * math.log(at.true_airspeed)
    # The throttle's effect there is twice the thrust, of which half is left for the drag.
    constants['C_D'] -= thrust
    # It pulls along the body, and less as a coefficient the faster it flies.
    slopes[Derivative('C_L', 'angle_of_attack')] -= thrust
    slopes[Derivative('C_D', 'true_airspeed')] -= 2.0 * thrust
    # Of wind axes, with which drag turns.
    slopes[Derivative('C_Y', 'sideslip')] += constants['C_D'] + slopes[
        Derivative('C_D', 'angle_of_attack')] * at.angle_of_attack
    starts = {control: float(np.mean([
        motion[control][0] for one in found.forms.values() for motion in one.motions]))
        for control in SURFACES} | {'throttle': throttle}
    return {
        f'{name}.xml': _text(_aircraft(found, name, slopes, constants, starts, at.true_airspeed)),
        f'Engines/{ENGINE}.xml': _text(_engine(most * at.force / (POUND * STANDARD_GRAVITY)))}


def _text(element: Element) -> str:
    ElementTree.indent(element)
    return f'<?xml version="1.0"?>\n{ElementTree.tostring(element, encoding="unicode")}\n'


def _number(parent: Element, tag: str, value: float, unit: str = '') -> None:
    SubElement(parent, tag, {'unit': unit} if unit else {}).text = f'{value:.9g}'


def _place(parent: Element, name: str = '') -> None:
    place = SubElement(parent, 'location', {'unit': 'M'} | ({'name': name} if name else {}))
    for axis in 'xyz':
        _number(place, axis, 0.0)


def _aircraft(
    found: Identification, name: str, slopes: Mapping[Derivative, float],
    constants: Mapping[str, float], starts: Mapping[str, float], speed: float,
) -> Element:
    frame = found.airframe
    root = Element('fdm_config', {'name': name, 'version': '2.0', 'release': 'ALPHA'})
    header = SubElement(root, 'fileheader')
    SubElement(header, 'author').text = 'xplane_bridge identify'
    SubElement(header, 'description').text = (
        f'Identified in flight at {speed:.1f} m/s, for small departures from level flight')
    metrics = SubElement(root, 'metrics')
    _number(metrics, 'wingarea', frame.wing_area, 'M2')
    _number(metrics, 'wingspan', frame.wing_span, 'M')
    _number(metrics, 'chord', frame.chord, 'M')
    for place in ('AERORP', 'EYEPOINT', 'VRP'):
        _place(metrics, place)
    balance = SubElement(root, 'mass_balance', {'negated_crossproduct_inertia': 'false'})
    for moment in ('ixx', 'iyy', 'izz', 'ixz'):
        _number(balance, moment,
                getattr(frame, f'{moment[0]}_{moment[1:]}') / SLUG_SQUARE_FOOT, 'SLUG*FT2')
    _number(balance, 'emptywt', frame.mass / POUND - _FUEL, 'LBS')
    _place(balance, 'CG')
    SubElement(root, 'ground_reactions')
    _propulsion(root)
    _controls(root, name)
    aerodynamics = SubElement(root, 'aerodynamics')
    for coefficient, (axis, length) in _AXES.items():
        function = SubElement(SubElement(aerodynamics, 'axis', {'name': axis}), 'function', {
            'name': f'aero/identified/{coefficient}'})
        product = SubElement(function, 'product')
        for one in ('aero/qbar-psf', 'metrics/Sw-sqft', *((length,) if length else ())):
            SubElement(product, 'property').text = one
        total = SubElement(product, 'sum')
        _number(total, 'value', constants[coefficient])
        for derivative, value in slopes.items():
            if derivative.coefficient == coefficient:
                _term(total, derivative.regressor, value, starts, speed)
    return root


def _term(total: Element, regressor: str, value: float, starts: Mapping[str, float],
          speed: float) -> None:
    """Add a derivative times what it is by to a sum."""
    product = SubElement(total, 'product')
    if regressor in RATES:
        _number(product, 'value', value)
        for one in _REDUCED[regressor]:
            SubElement(product, 'property').text = one
        return
    if regressor in _ANGLES:
        _number(product, 'value', value)
        SubElement(product, 'property').text = _ANGLES[regressor]
        return
    if regressor == 'true_airspeed':
        _number(product, 'value', value)
        ratio = SubElement(SubElement(product, 'ln'), 'quotient')
        most = SubElement(ratio, 'max')
        SubElement(most, 'property').text = 'velocities/vt-fps'
        _number(most, 'value', _SLOWEST * speed / FOOT)
        _number(ratio, 'value', speed / FOOT)
        return
    if regressor == 'throttle':
        _number(product, 'value', value)
        difference = SubElement(product, 'difference')
        SubElement(difference, 'property').text = 'fcs/throttle-cmd-norm'
        _number(difference, 'value', starts[regressor])
        return
    control = regressor.removesuffix(MAGNITUDE)
    position, _, sign = _POSITIONS[control]
    if control == regressor:
        _number(product, 'value', value * sign / _TRAVEL)
        SubElement(product, 'property').text = f'fcs/{position}-pos-rad'
        return
    _number(product, 'value', value / _TRAVEL)
    difference = SubElement(SubElement(product, 'abs'), 'difference')
    SubElement(difference, 'property').text = f'fcs/{position}-pos-rad'
    _number(difference, 'value', starts[control] * sign * _TRAVEL)


def _propulsion(root: Element) -> None:
    propulsion = SubElement(root, 'propulsion')
    engine = SubElement(propulsion, 'engine', {'file': ENGINE})
    _place(engine)
    SubElement(engine, 'feed').text = '0'
    _place(SubElement(engine, 'thruster', {'file': 'direct'}))
    tank = SubElement(propulsion, 'tank', {'type': 'FUEL'})
    _place(tank)
    for tag in ('capacity', 'contents'):
        _number(tank, tag, _FUEL, 'LBS')


def _controls(root: Element, name: str) -> None:
    controls = SubElement(root, 'flight_control', {'name': f'{name} controls'})
    for position, trim, _ in _POSITIONS.values():
        channel = SubElement(controls, 'channel', {'name': trim})
        command = position.removeprefix('left-')
        total = SubElement(channel, 'summer', {'name': f'fcs/{command}-sum'})
        for one in (f'fcs/{command}-cmd-norm', f'fcs/{trim}-trim-cmd-norm'):
            SubElement(total, 'input').text = one
        _range(SubElement(total, 'clipto'), 1.0)
        scale = SubElement(channel, 'aerosurface_scale', {'name': f'fcs/{command}-control'})
        SubElement(scale, 'input').text = f'fcs/{command}-sum'
        _range(SubElement(scale, 'range'), _TRAVEL)
        SubElement(scale, 'output').text = f'fcs/{position}-pos-rad'
    fuel = SubElement(SubElement(controls, 'channel', {'name': 'fuel'}), 'fcs_function', {
        'name': 'propulsion/keeps-fuel'})
    _number(SubElement(fuel, 'function'), 'value', 1.0)
    SubElement(fuel, 'output').text = 'propulsion/fuel_freeze'


def _range(parent: Element, most: float) -> None:
    _number(parent, 'min', -most)
    _number(parent, 'max', most)


def _engine(most: float) -> Element:
    """Return an engine whose thrust (lbf) depends on the throttle alone."""
    root = Element('turbine_engine', {'name': ENGINE})
    for tag, value in (
        ('milthrust', most), ('bypassratio', 0.0), ('tsfc', 0.0), ('bleed', 0.0), ('idlen1', 0.0),
        ('idlen2', 0.0), ('maxn1', 100.0), ('maxn2', 100.0), ('augmented', 0.0), ('injected', 0.0),
    ):
        _number(root, tag, value)
    for thrust, value in (('IdleThrust', 0.0), ('MilThrust', 1.0)):
        _number(SubElement(root, 'function', {'name': thrust}), 'value', value)
    return root
