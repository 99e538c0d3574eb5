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
What the drivers of Python clients share: each check is a line ``WHAT<TAB>ok`` or the reason.

A driver is run with the folder of the client's source as its first argument, if it is cloned.
"""

import sys
import time

HOST = '127.0.0.1'
PORT = 49000
DATA_PORT = 49008
COMPUTER = 'xplane-host'

AIRSPEED = 'sim/flightmodel/position/indicated_airspeed'
FLAPS = 'sim/flightmodel/controls/flaprqst'
HEADING_DIAL = 'sim/cockpit/autopilot/heading_mag'
COM = 'sim/cockpit/radios/com1_freq_hz'
LIGHTS = 'sim/cockpit/electrical/landing_lights_on'
LIGHTS_ON = 'sim/lights/landing_lights_on'


def check(what, function):
    """Print whether a function returns True; what it raises, or returns instead, is the reason."""
    try:
        result = function()
    except Exception as error:
        result = f'{type(error).__name__} {error}'.strip()
    reason = 'ok' if result is True else ' '.join(str(result).split())[:70]
    print(f'{what}\t{reason}', flush=True)


def becomes(read, expected, tolerance=1e-3, seconds=4.0):
    """Return True once read() is near what is expected, or what it was when time was up."""
    end = time.monotonic() + seconds
    while True:
        value = read()
        if isinstance(value, (int, float)) and abs(value - expected) <= tolerance:
            return True
        if time.monotonic() > end:
            return f'{value}, not {expected}'
        time.sleep(0.05)


def flies(read):
    """Return True once read() is the airspeed of the aircraft, about 100 kt."""
    return becomes(read, 100.0, 5.0)


def source():
    """Make the client's folder importable and return it."""
    sys.path.insert(0, sys.argv[1])
    return sys.argv[1]
