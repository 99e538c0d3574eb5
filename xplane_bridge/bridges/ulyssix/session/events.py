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

"""Events of a session with a Ulyssix publisher."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from xplane_bridge.bridges.protocols.kinds import Kinds
from xplane_bridge.bridges.sessions import base
from xplane_bridge.bridges.ulyssix.protocol import DataPacket, PacketFlag


@dataclass(frozen=True, slots=True)
class PacketReceived:
    """
    One data packet, and the names of its parameters; none if they are unknown.

    The names are printable, and overlong ones are truncated: they become topic names and are read
    by people. The packet's own names are unmodified.
    """

    packet: DataPacket
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NamesChanged:
    """The names of the parameters are known, or have changed."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PublisherRestarted:
    """Counting restarted: the publisher was restarted, or another one sends too."""


@dataclass(frozen=True, slots=True)
class Reminder:
    """The time is over that ``remind`` was called with."""


@dataclass(slots=True)
class Statistics(base.Statistics):
    """
    Monotonic counters.

    lost counts packets that did not arrive within the window, late those overtaken by newer ones
    but delivered, too_late those that arrived after the window and were dropped. missing_samples
    is the loss according to the publisher's total of samples; total_mismatches counts packets in a
    row whose totals do not match their samples. renamed counts changes of the parameters' names,
    skipped the packets other than data packets, by type. alternations are the packets of a sender
    that goes on after another one has sent, see Senders. The last four concern sample and packet
    times, see Timeline.
    """

    packets: int = 0
    samples: int = 0
    lost: int = 0
    late: int = 0
    too_late: int = 0
    duplicates: int = 0
    restarts: int = 0
    alternations: int = 0
    missing_samples: int = 0
    total_mismatches: int = 0
    unnamed: int = 0
    renamed: int = 0
    skipped: Kinds = field(default_factory=Kinds)
    flags: Counter[PacketFlag] = field(default_factory=Counter)
    times_unreadable: int = 0
    times_guessed: int = 0
    times_disagreeing: int = 0
    times_out_of_range: int = 0
