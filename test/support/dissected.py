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

"""The tool dissect, run in the process of a test."""

import io

from xplane_bridge.commands import dissect


def dissected(monkeypatch, capsys, text, *arguments):
    """Return what it prints of lines; it ends with 1 if there are some, and all are wrong."""
    monkeypatch.setattr(
        'sys.stdin', io.TextIOWrapper(io.BufferedReader(io.BytesIO(text.encode()))))
    code = dissect.main([*arguments])
    lines = capsys.readouterr().out.splitlines()
    assert code == (lines != [] and all(line.startswith('{"error"') for line in lines))
    return lines
