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

"""Test vectors: bytes recorded from real programs, or computed independently of this package."""

import json
from pathlib import Path


def vectors(protocol):
    """Return a protocol's vectors, as stored in its file in vectors/."""
    return json.loads((Path(__file__).parents[2] / 'vectors' / f'{protocol}.json').read_text())
