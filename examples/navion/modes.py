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
Compare the modes of the Navion in JSBSim with those of its derivatives, and with the textbook's.

    python3 modes.py navion.json

navion.json is what ``linearize`` prints. The derivatives are those of navion.xml, the equations
the textbook's, of small departures from level flight in stability axes. Needs numpy.
"""

import json
import sys

import numpy as np

FOOT = 0.3048
SLUG_FT3 = 515.379
GRAVITY = 32.174
# As Nelson prints them, at sea level and 176 ft/s.
PRINTED = {'short period': -2.5 + 2.59j, 'phugoid': -0.0171 + 0.213j,
           'Dutch roll': -0.487 + 2.335j, 'roll': -8.435, 'spiral': -0.00877}


def matrices(density, speed):
    """Return A of u, w, q, pitch and of v, p, r, roll; slug/ft3 and ft/s."""
    mass, area, span, chord = 2750.0 / GRAVITY, 184.0, 33.4, 5.7
    i_xx, i_yy, i_zz = 1048.0, 3000.0, 3530.0
    force = 0.5 * density * speed ** 2 * area
    lift, drag = mass * GRAVITY / force, 0.05

    per_speed = force / (mass * speed)
    x_u, x_w = -2.0 * drag * per_speed, (lift - 0.33) * per_speed
    z_u, z_w = -2.0 * lift * per_speed, -(4.44 + drag) * per_speed
    moment, lag = force * chord / i_yy, chord / (2.0 * speed)
    m_w, m_w_dot, m_q = -0.683 * moment / speed, -4.36 * lag * moment / speed, -9.96 * lag * moment
    longitudinal = [
        [x_u, x_w, 0.0, -GRAVITY],
        [z_u, z_w, speed, 0.0],
        [m_w_dot * z_u, m_w + m_w_dot * z_w, m_q + m_w_dot * speed, 0.0],
        [0.0, 0.0, 1.0, 0.0]]

    rolling, yawing, lag = force * span / i_xx, force * span / i_zz, span / (2.0 * speed)
    lateral = [
        [-0.564 * per_speed, 0.0, -speed, GRAVITY],
        [-0.074 * rolling / speed, -0.410 * lag * rolling, 0.107 * lag * rolling, 0.0],
        [0.071 * yawing / speed, -0.0575 * lag * yawing, -0.125 * lag * yawing, 0.0],
        [0.0, 1.0, 0.0, 0.0]]
    return longitudinal, lateral


def modes(longitudinal, lateral):
    """Return an eigenvalue of each mode by name."""
    phugoid, short = sorted(_upper(longitudinal), key=abs)
    dutch, = (value for value in _upper(lateral) if value.imag > 0.0)
    spiral, roll = sorted((value for value in _upper(lateral) if value.imag == 0.0), key=abs)
    return {'short period': short, 'phugoid': phugoid, 'Dutch roll': dutch, 'roll': roll,
            'spiral': spiral}


def _upper(matrix):
    return [value for value in np.linalg.eigvals(np.array(matrix)) if value.imag >= 0.0]


def of_model(model):
    """Return the modes of a linear model as ``linearize`` prints it."""
    names = [state['name'] for state in model['states']]
    a = np.array(model['A'])

    def part(*wanted):
        rows = [names.index(name) for name in wanted]
        return a[np.ix_(rows, rows)]

    return modes(
        part('true_airspeed', 'angle_of_attack', 'pitch', 'pitch_rate'),
        part('sideslip', 'roll', 'roll_rate', 'yaw_rate'))


def main():
    """Print the table."""
    try:
        with open(sys.argv[1]) as file:
            model = json.load(file)
        at = {state['name']: state['value'] for state in model['states']}
    except (IndexError, OSError, ValueError, KeyError, TypeError) as error:
        sys.exit(f'usage: modes.py FILE, with the output of linearize: {error!r}')
    density = 1.225 * (1.0 - 2.25577e-5 * at['altitude_msl']) ** 4.2559
    columns = [
        ('textbook', PRINTED), ('its equations', modes(*matrices(0.0023769, 176.0))),
        (f'at {at["altitude_msl"]:.0f} m',
         modes(*matrices(density / SLUG_FT3, at['true_airspeed'] / FOOT))),
        ('JSBSim there', of_model(model))]
    print('mode        ' + ''.join(f'{title:>20}' for title, _ in columns))
    for name in PRINTED:
        print(f'{name:12}' + ''.join(f'{_shown(values[name]):>20}' for _, values in columns))


def _shown(value):
    value = complex(value)
    return f'{value.real:.4g} +- {value.imag:.4g}i' if value.imag else f'{value.real:.4g}'


if __name__ == '__main__':
    main()
