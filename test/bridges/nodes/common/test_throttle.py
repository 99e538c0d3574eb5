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

"""How many lines external input may write into a node's log."""

import ast
from pathlib import Path

import pytest

from xplane_bridge.bridges.nodes.common.base import LogThrottle, MOST

PACKAGE = Path(__file__).resolve().parents[4] / 'xplane_bridge'
# Logged while configuring and shutting down, once per capture, once for each of a few places of a
# mistake in this package, once per recorded topic,
# once about topics without a publisher, and about installed packages: external input
# plays no other part.
NOT_FROM_THE_WIRE = {
    'bridges/nodes/common/base.py': 6, 'bridges/nodes/vehicle/bridge.py': 4,
    'bridges/nodes/common/stamps.py': 1, 'bridges/ulyssix/node/node.py': 1,
    'laboratory/nodes/record/recorder.py': 4, 'laboratory/nodes/sensors/node.py': 1}


def test_a_line_of_one_kind_is_written_once_a_second():
    throttle = LogThrottle()
    assert [throttle.admits('one', now) for now in (5.0, 5.0, 5.9, 6.0, 6.9, 7.5)] == [
        True, False, False, True, False, True]
    assert throttle.suppressed == 3


def test_kinds_do_not_hide_each_other():
    throttle = LogThrottle()
    assert throttle.admits('one', 5.0)
    assert throttle.admits('two', 5.0)


def test_200_000_kinds_in_ten_seconds_write_ten_a_second():
    throttle = LogThrottle()
    written = sum(throttle.admits(f'kind {number}', number / 20_000) for number in range(200_000))
    assert written == 10 * MOST
    assert throttle.suppressed == 200_000 - written
    assert throttle.admits('another', 11.0)


@pytest.mark.parametrize(
    'file', sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob('*.py')
                   if {'node', 'nodes'} & {*path.parts}))
def test_no_warning_goes_past_the_throttle(file):
    """``warn`` is the way; other logging calls are counted here, so that new ones are reviewed."""
    past = [
        node.lineno for node in ast.walk(ast.parse((PACKAGE / file).read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        and node.func.attr in ('warning', 'error', 'fatal')
        and 'log' in ast.unparse(node.func.value)]
    assert len(past) == NOT_FROM_THE_WIRE.get(file, 0), past
