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

"""The WebSocket side of xpwebapi (PyPI): datarefs, an element, text, a held command."""

from threading import Lock

from checks import AIRSPEED, becomes, check, FLAPS, flies
import xpwebapi

BRAKES = 'sim/flight_controls/brakes_max'
ELEMENT = 'sim/operation/override/override_planepath[3]'
TAIL = 'sim/aircraft/view/acf_tailnum'

ws = xpwebapi.ws_api(host='127.0.0.1', port=8086)
latest: dict = {}
changing = Lock()


def on_dataref(dataref, value):
    """Keep the newest value of a dataref."""
    with changing:
        latest[dataref] = value


def on_command(command, active):
    """Keep whether a command is active."""
    with changing:
        latest[command] = active


ws.add_callback(cbtype=xpwebapi.CALLBACK_TYPE.ON_DATAREF_UPDATE, callback=on_dataref)
ws.add_callback(cbtype=xpwebapi.CALLBACK_TYPE.ON_COMMAND_ACTIVE, callback=on_command)
ws.connect()
ws.wait_connection()
for name in (AIRSPEED, FLAPS, ELEMENT, TAIL):
    ws.monitor_dataref(ws.dataref(name))
ws.monitor_command_active(ws.command(BRAKES))
ws.start(release=True)
check('read', lambda: flies(lambda: latest.get(AIRSPEED)))
check('text', lambda: becomes(lambda: int(latest.get(TAIL, b'').startswith(b'N172XB')), 1))
ws.set_dataref_value(FLAPS, 0.5)
check('write', lambda: becomes(lambda: latest.get(FLAPS), 0.5))
ws.set_dataref_value(ELEMENT, 1)
check('write element', lambda: becomes(lambda: latest.get(ELEMENT), 1))
ws.set_command_is_active_true_without_duration(BRAKES)
check('hold', lambda: becomes(lambda: int(latest.get(BRAKES, False)), 1))
ws.set_command_is_active_false_without_duration(BRAKES)
check('release', lambda: becomes(lambda: int(latest.get(BRAKES, True)), 0))
ws.stop()
ws.disconnect()
