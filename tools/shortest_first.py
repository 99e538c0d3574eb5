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
Plugin for pytest, loaded by mutants.py: run the fastest files first, and stop tests that hang.

A run in which all tests pass keeps how long each took, for the next ones. Most mutants fail in
many tests, and the first failure decides. Tests of one file stay together, for what they share.
"""

from collections import Counter
import json
from pathlib import Path

import pytest

MEASURED = Path('durations.json')
# Seconds, and how many times as long as before: more than other programs make of it.
GRACE, FACTOR = 20.0, 10.0
_seconds: Counter[str] = Counter()


def known():
    """Return the seconds that each test took, by its name."""
    return json.loads(MEASURED.read_text()) if MEASURED.exists() else {}


def pytest_runtest_logreport(report):
    """Add up a test's set-up, call and tear-down."""
    _seconds[report.nodeid] += report.duration


def pytest_sessionfinish(exitstatus):
    """Keep how long the tests took."""
    if exitstatus == pytest.ExitCode.OK:
        MEASURED.write_text(json.dumps(known() | _seconds))


def pytest_collection_modifyitems(items):
    """Sort the tests, and limit each that is known."""
    seconds = known()
    of_files: Counter[str] = Counter()
    for name, taken in seconds.items():
        of_files[name.partition('::')[0]] += taken
    items.sort(key=lambda item: of_files[item.nodeid.partition('::')[0]])
    for item in items:
        if item.nodeid in seconds:
            limit = GRACE + FACTOR * seconds[item.nodeid]
            item.add_marker(pytest.mark.timeout(limit), append=False)
