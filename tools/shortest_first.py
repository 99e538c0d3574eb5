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

"""
Plugin for pytest, loaded by mutants.py: run the fastest tests first.

mutmut has timed them. Most mutants fail in many tests, and the first failure decides.
"""

import json
from pathlib import Path


def pytest_collection_modifyitems(items):
    """Sort the tests."""
    measured = Path('mutmut-stats.json')
    if measured.exists():
        seconds = json.loads(measured.read_text()).get('duration_by_test', {})
        items.sort(key=lambda item: seconds.get(item.nodeid, 0.0))
