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

"""What a report of a campaign is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple


class ReportOptions(NamedTuple):
    """
    What a report is asked for.

    ``form`` is one of drawing.FORMATS, ``labels`` and ``controllers`` are those of Columns, and
    ``width`` is that of pictures in inches, 0 for that of the last report.
    """

    form: str = 'png'
    labels: Mapping[str, str] = MappingProxyType({})
    controllers: Sequence[str] = ()
    width: float = 0.0


PLAIN = ReportOptions()
"""All of it, looking as the last report of the folder."""
