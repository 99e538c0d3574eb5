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
The C++ controller of docs/first_controller.md, compiled with the real messages.

test_docs_commands.py flies the Python controller.
"""

from cpp_nodes import compiled, said
from docs_blocks import blocks, ROOT
import pytest


@pytest.mark.slow
def test_the_first_controller_in_cpp_commands_right_wing_down_and_nose_up(tmp_path):
    (source,) = [
        block for block in blocks(ROOT / 'docs/first_controller.md') if block.language == 'cpp']
    file = tmp_path / source.options['file']
    file.write_text('\n'.join(source.lines) + '\n')
    # One state: level, at rest, heading east.
    (command,) = said(compiled(file, tmp_path), ['state 1 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0'])
    # ELEVATOR 1 and AILERON 2; bank is 20 degrees off and pitch 3.
    assert command.fields == 3
    assert command.aileron == pytest.approx(0.8 * 0.349066, rel=1e-4)
    assert command.elevator == pytest.approx(1.5 * 0.0523599, rel=1e-4)
