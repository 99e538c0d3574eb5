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

"""What pictures have in common: matplotlib without a screen, plain ticks, and colours."""

from __future__ import annotations

from typing import Any

from xplane_bridge.common.optional import missing

BLUE, GREEN, ORANGE, RED, PURPLE, GREY = (
    '#1f5fa8', '#3a9a5b', '#e0922f', '#d1495b', '#7b4ea3', '#8a8f98')


def pyplot() -> Any:
    """
    Return matplotlib's pyplot, for files. Raises ImportError if it is missing.

    Texts are texts: names are anybody's, and a $ in one would begin a formula.
    """
    try:
        import matplotlib
    except ImportError as error:
        raise missing('drawing', 'matplotlib', extra='fly') from error
    matplotlib.use('Agg')
    matplotlib.rcParams['text.parse_math'] = False
    from matplotlib import pyplot as found
    return found


def plain_ticks(axis: Any) -> None:
    """Write the ticks of a logarithmic axis as numbers; by default they are formulas."""
    from matplotlib.ticker import NullFormatter
    axis.set_major_formatter('{x:g}')
    axis.set_minor_formatter(NullFormatter())
