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

"""Options that several commands have."""

from __future__ import annotations

from argparse import ArgumentTypeError

from xplane_bridge.sessions.ulyssix import named_rate as checked


def named_rate(text: str) -> tuple[str, float]:
    """Return the pattern and the rate in 'name=rate'. Raises ArgumentTypeError."""
    try:
        return checked(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None
