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

"""Mutants of strangers' files are read or refused by a sentence, in bounded memory and time."""

import os

from fuzz import SEED
import fuzz_files
import pytest

COUNT = int(os.environ.get('FUZZ_FILES', '20'))
# Packages without which a kind of file is not read at all.
NEEDED = {'policy': ('onnxruntime',), 'aircraft': ('jsbsim',), 'plan': ('jsbsim',),
          'mcap': ('mcap', 'rosbags'), 'bag': ('mcap', 'rosbags'),
          'table': ('pyarrow', 'scipy'),
          'campaign': ('jsbsim', 'pyarrow', 'matplotlib', 'pandas')}


@pytest.mark.slow
@pytest.mark.parametrize('kind', fuzz_files.KINDS)
def test_mutants_of_files_are_read_or_refused(kind, tmp_path):
    for package in NEEDED.get(kind, ()):
        pytest.importorskip(package, reason=f'{package} is not installed')
    # A campaign's report takes a hundred times as long as any other file.
    count = max(COUNT // 4, 5) if kind == 'campaign' else COUNT
    assert not fuzz_files.run_apart(kind, SEED, count, tmp_path / kind)
