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

"""DATA, rows of X-Plane's data output table written to it: how the plugin handles them."""

from struct import Struct

from xplane_bridge.bridges.xpc.protocol import MAX_DATA_ROWS
from xplane_bridge.simulation.peers.faults import SimulatorCrashError
from xplane_bridge.simulation.peers.xpc.buffer import ReceiveBuffer
from xplane_bridge.simulation.peers.xpc.flight import Flight
from xplane_bridge.simulation.peers.xplane.datarefs import DatarefStore

_ROW = Struct('<B3x8f')
_TABLE_END = 134
_COLUMNS = 8

# How many of a row's eight cells the plugin knows. Each unknown one makes it forward the whole
# datagram to X-Plane. A known cell whose dataref is not an array does nothing.
_KNOWN_CELLS = {1: 3, 4: 4, 5: 3, 8: 3, 11: 3, 13: 2, 14: 5, 15: 3, 16: 6, 19: 2, 21: 6, 22: 8,
                23: 8, 24: 8, 26: 1}

# Velocities and flow angles: the plugin's code for them sets nothing useful.
_IDLE_ROWS = (3, 18)


def write_rows(buffer: ReceiveBuffer, flight: Flight, store: DatarefStore) -> int:
    """
    Handle DATA; return how many times the plugin forwards the datagram.

    More than 31 rows raise SimulatorCrashError (docs/wire/xpc.md, section 2), and so does a
    datagram that ends before the rows begin: the plugin's difference of lengths is unsigned.
    """
    if buffer.size < 5:
        raise SimulatorCrashError(f'X-Plane has crashed: DATA of {buffer.size} bytes')
    count = (buffer.size - 5) // _ROW.size
    if count > MAX_DATA_ROWS:
        raise SimulatorCrashError(
            f'X-Plane has crashed: DATA of {count} rows, X-Plane Connect handles {MAX_DATA_ROWS}')
    forwarded = 0
    for n in range(count):
        row, *values = buffer.unpack(_ROW, 5 + n * _ROW.size)
        if row >= _TABLE_END or row in _IDLE_ROWS:
            continue
        if row == 17:
            flight.set_attitude(values[:3])
        elif row == 20:
            # Off by one column: the documented ones are the first three.
            flight.set_place(values[1:4])
        elif row == 25:
            flight.write_throttles(values[0])
        else:
            if row == 14:
                flight.move_gear(values[0])
            elif row == 26:
                store.write('sim/flightmodel2/engines/throttle_used_ratio', values)
            forwarded += _COLUMNS - _KNOWN_CELLS.get(row, 0)
    return forwarded
