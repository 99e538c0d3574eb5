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

"""The features of each version of the plugin (docs/wire/xpc.md, section 6)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PluginBehaviour:
    """
    One version of the plugin.

    ``position_lengths`` are the accepted lengths of a POSI in bytes, None for any of 34 or more,
    read as 34; ``position_reply`` is the length of its answer. ``view_lengths`` are those of a
    VIEW. ``commands`` means COMM, GETT and POST; ``held_commands`` BCOM and ECOM.
    ``stray_gear``: the gear of a 34-byte POSI is read past its end.
    """

    name: str
    position_lengths: tuple[int, ...] | None = (34, 46)
    position_reply: int = 46
    pauses_one_aircraft: bool = True
    view_lengths: tuple[int, ...] = (9, 49)
    beacon: bool = True
    commands: bool = True
    held_commands: bool = False
    stray_gear: bool = False


PLUGIN_VERSIONS = {plugin_version.name: plugin_version for plugin_version in (
    PluginBehaviour('1.2.1', position_lengths=None, position_reply=34, pauses_one_aircraft=False,
                    view_lengths=(9,), beacon=False, commands=False),
    # rc1 to rc5 have the same protocol.
    PluginBehaviour(
        'rc5', position_reply=34, view_lengths=(9, 37), commands=False, stray_gear=True),
    # The last release; the master branch has the same protocol.
    PluginBehaviour('rc6'),
    PluginBehaviour('develop', held_commands=True),
)}
