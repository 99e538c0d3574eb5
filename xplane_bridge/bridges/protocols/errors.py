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

"""The only error that bytes from a peer can cause."""

from xplane_bridge.common.text import printable

# Maximum length of its text, which may quote received data.
_LONGEST = 400


class ProtocolError(Exception):
    """
    A peer sent bytes that its protocol does not allow.

    The text says what, where, expected and got, for example
    ``DREF value 3: 2 bytes left at offset 41, need 4``. Mistakes of the caller raise
    ``ValueError`` or ``TypeError`` instead, before a byte is sent. The text is printable and short
    enough for a log, whatever it quotes.
    """

    def __init__(self, text: str) -> None:
        super().__init__(printable(text, _LONGEST))
