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

"""The electric trainer of 2 kg with other engines, and other parts of its file."""

from collections.abc import Mapping
from pathlib import Path
import re
import shutil

from xplane_bridge.common.data import folder

FOLDER = Path(str(folder('aircraft')))

DIRECT = '<?xml version="1.0"?><direct name="thruster"/>'

ENGINES: Mapping[str, tuple[str, str]] = {
    'electric': ("""<electric_engine name="engine">
      <power unit="WATTS">350</power></electric_engine>""", ''),
    'turboprop': ("""<turboprop_engine name="engine">
      <milthrust unit="LBS">5</milthrust> <idlen1>60</idlen1> <maxn1>100</maxn1>
      <maxpower unit="HP">0.5</maxpower> <psfc unit="LBS/HR/HP">0.6</psfc>
      <n1idle_max_delay>1</n1idle_max_delay> <maxstartingtime>20</maxstartingtime>
      <startern1>20</startern1> <ielumaxtorque unit="FT*LB">0</ielumaxtorque>
      <itt_delay>0.05</itt_delay> <betarangeend>0</betarangeend>
      <reversemaxpower>0</reversemaxpower>
      <function name="EnginePowerVC"><value>1.0</value></function>
      <table name="EnginePowerRPM_N1" type="internal"><tableData>
                0    60   100
          0   0.0  0.02  0.50
        9e4   0.0  0.02  0.50 </tableData></table>
      <table name="ITT_N1" type="internal"><tableData>
                0     1
          0     0     0
        100   700   700 </tableData></table></turboprop_engine>""", ''),
    'turbine': ("""<turbine_engine name="engine">
      <milthrust>5.0</milthrust> <bypassratio>0</bypassratio> <tsfc>0.0</tsfc> <bleed>0</bleed>
      <idlen1>30</idlen1> <idlen2>30</idlen2> <maxn1>100</maxn1> <maxn2>100</maxn2>
      <augmented>0</augmented> <injected>0</injected>
      <function name="IdleThrust"><value>0.0</value></function>
      <function name="MilThrust"><value>1.0</value></function></turbine_engine>""", DIRECT),
    'rocket': ("""<rocket_engine name="engine">
      <isp>1e6</isp> <maxthrottle>1.0</maxthrottle> <minthrottle>0.0</minthrottle>
      <slfuelflowmax unit="LBS/SEC">5e-6</slfuelflowmax></rocket_engine>""", DIRECT),
}
"""Other engines that fit it, and a thruster in place of its propeller."""

_TANK = """<tank type="FUEL"><location unit="M"><x>0</x><y>0</y><z>0</z></location>
  <capacity unit="LBS">0.02</capacity><contents unit="LBS">0.02</contents></tank></propulsion>"""
# JSBSim's turbines burn more than it can carry.
_FREEZE = """<channel name="Fuel"><fcs_function name="propulsion/keeps-fuel">
  <function><value>1.0</value></function><output>propulsion/fuel_freeze</output>
  </fcs_function></channel></flight_control>"""


def write(path: Path, engine: str = '', changes: Mapping[str, str] | None = None,
          propeller: Mapping[str, str] | None = None) -> str:
    """
    Write the trainer with an engine of ENGINES or its own, and return the folder ``path``.

    ``changes`` are regular expressions and what replaces them in its file, ``propeller`` in that
    of its propeller.
    """
    path.mkdir(exist_ok=True)
    place = path / 'electric_trainer'
    shutil.copytree(FOLDER / 'electric_trainer', place)
    fitted: dict[str, str] = {}
    if engine:
        text, thruster = ENGINES[engine]
        _change(place / 'Engines' / 'brushless_870kv.xml', {r'(?s)<brushless_dc_motor.*': text})
        if thruster:
            (place / 'Engines' / 'propeller_12x6.xml').write_text(thruster)
        if engine != 'electric':
            fitted |= {'</propulsion>': _TANK,
                       '<thruster file="propeller_12x6">': '<feed>0</feed>\\g<0>'}
        if 'turb' in engine:
            fitted['</flight_control>'] = _FREEZE
    _change(place / 'electric_trainer.xml', {**fitted, **(changes or {})})
    if propeller:
        _change(place / 'Engines' / 'propeller_12x6.xml', propeller)
    return str(path)


def _change(file: Path, changes: Mapping[str, str]) -> None:
    text = file.read_text()
    for pattern, new in changes.items():
        text, count = re.subn(pattern, new, text)
        assert count, pattern
    file.write_text(text)
