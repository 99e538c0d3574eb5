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

"""The altitude by GNSS, and without."""

import math

import pytest

from xplane_bridge.bridges.conversions.air import pressure_altitude_to_pressure
from xplane_bridge.laboratory.sensors.altimeter import Altimeter


def test_in_an_outage_the_barometer_goes_on_from_the_last_fix():
    altimeter = Altimeter()
    assert math.isnan(altimeter.altitude)
    altimeter.take_fix(1050.0)
    assert altimeter.altitude == 1050.0
    # 50 m lower by the standard atmosphere.
    altimeter.take_pressure(pressure_altitude_to_pressure(1000.0))
    altimeter.take_fix(math.nan)
    assert altimeter.altitude == pytest.approx(1050.0)
    altimeter.take_pressure(pressure_altitude_to_pressure(1100.0))
    assert altimeter.altitude == pytest.approx(1150.0)
    altimeter.take_fix(1160.0)
    assert altimeter.altitude == 1160.0


def test_without_a_barometer_there_is_no_altitude_in_an_outage():
    altimeter = Altimeter()
    altimeter.take_pressure(math.nan)
    altimeter.take_fix(1000.0)
    altimeter.take_fix(math.nan)
    assert math.isnan(altimeter.altitude)
