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

"""Rows of X-Plane's data table, converted for X-Plane Connect."""

import math
import struct

import pytest

from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.session import to_requests

NAN = math.nan


def row(*values):
    """Return eight values, NaN for those not given."""
    return (*values, *[NAN] * (8 - len(values)))


def sent(*rows):
    """Return what rows become, as the datagrams' row numbers and values."""
    datagrams = []
    for request in to_requests(rows):
        data = xpc.encode(request)
        assert data[:4] == b'DATA'
        datagrams.append([
            struct.unpack_from('<I8f', data, 5 + 36 * n) for n in range(len(data) // 36)])
    return datagrams


def test_the_attitude_is_in_the_plugins_own_order_and_nan_leaves():
    assert sent((17, row(5.0, NAN, 200.0))) == [[
        (17, 5.0, -999.0, 200.0, *[-999.0] * 5)]]


def test_a_position_in_xplanes_order_is_moved_to_where_the_plugin_reads_it():
    # 47.5 N, 8.8 E, 1640.42 ft: the plugin reads the second to fourth, in metres.
    ((sent_row,),) = sent((20, row(47.5, 8.75, 1640.4199)))
    assert sent_row == pytest.approx((20, -999.0, 47.5, 8.75, 500.0, *[-999.0] * 4), abs=1e-3)
    assert sent((20, row(NAN, 8.75))) == [[(20, -999.0, -999.0, 8.75, *[-999.0] * 5)]]


def test_equal_throttles_are_a_row_and_others_leave_what_is_not_given():
    assert sent((25, (0.75,) * 8)) == [[(25, *[0.75] * 8)]]
    assert to_requests([(25, row(0.75))]) == [
        xpc.SetDatarefs((('sim/flightmodel/engine/ENGN_thro', (0.75,)),))]
    assert to_requests([(25, row(0.75, 0.5))]) == [
        xpc.SetDatarefs((('sim/flightmodel/engine/ENGN_thro', (0.75, 0.5)),))]


def test_a_row_that_the_plugin_hands_on_goes_alone_and_leaves_by_xplanes_own_sign():
    # It forwards the whole datagram: X-Plane would read the others in another order.
    assert sent((17, row(5.0)), (8, row(0.5, NAN, -0.25)), (13, row(NAN, 1.0))) == [
        [(17, 5.0, *[-999.0] * 7)],
        [(8, 0.5, -999.0, -0.25, *[-999.0] * 5)],
        [(13, -999.0, 1.0, *[-999.0] * 6)]]


def test_a_row_of_nan_alone_changes_nothing():
    assert sent((25, row()), (17, row(5.0))) == [[(17, 5.0, *[-999.0] * 7)]]
    with pytest.raises(ValueError, match='no value is set'):
        to_requests([(25, row()), (26, row())])


@pytest.mark.parametrize(('number', 'values'), [
    (0, row(1.0)), (133, row(1.0)),
    *[(17, row(*values)) for values in ((90.0, 180.0, 360.0), (-90.0, -180.0, -360.0))],
    (20, row(90.0, 180.0)), (20, row(-90.0, -180.0)),
    (25, (1.0,) * 8), (25, (-1.0,) * 8),
])
def test_the_ends_of_each_range_are_in_it(number, values):
    (((sent_number, *_),),) = sent((number, values))
    assert sent_number == number


@pytest.mark.parametrize(('number', 'values', 'sentence'), [
    (3, row(100.0), 'row 3: X-Plane Connect derives unwanted velocities'),
    (18, row(1.0), 'row 18: X-Plane Connect ignores it'),
    (22, row(1.0), 'row 22: X-Plane Connect ignores it'),
    # NaN would become a throttle of -998 or -999.
    (26, row(0.5), 'row 26: X-Plane Connect writes all eight'),
    (134, row(1.0), 'row 134 is not in 0..133'),
    (256, row(1.0), 'row 256 is not in 0..133'),
    (25, row(NAN, 0.5), 'row 25: NaN before a number'),
    (25, row(1.5), r'row 25 throttle: expected -1 to 1, got 1.5'),
    (17, row(91.0), r'row 17 pitch: expected -90 to 90, got 91'),
    (17, row(NAN, -180.5), r'row 17 roll: expected -180 to 180, got -180.5'),
    (17, row(NAN, NAN, 360.5), r'row 17 heading: expected -360 to 360, got 360.5'),
    (-1, row(1.0), 'row -1 is not in 0..133'),
    (17, row(1.0, 2.0, 3.0, 4.0), 'row 17: X-Plane Connect uses only the first 3 values'),
    # What a sender aware of the shift would send.
    (20, row(0.0, 47.0, 8.0, 500.0), 'row 20: X-Plane Connect uses only the first 3 values'),
    (20, row(91.0), 'row 20 latitude: expected -90 to 90, got 91'),
    (20, row(NAN, 180.5), 'row 20 longitude: expected -180 to 180, got 180.5'),
    (20, row(NAN, NAN, 1e38), 'row 20 altitude in ft: expected -2952.75'),
])
def test_what_the_plugin_would_set_otherwise_is_refused(number, values, sentence):
    with pytest.raises(ValueError, match=sentence):
        to_requests([(17, row(1.0)), (number, values)])
