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

"""A topic that is recorded, and how much of it was."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from rclpy.qos import QoSProfile

from xplane_bridge.common.text import counted
from xplane_bridge.laboratory.flights.recordings import rosbag2
from xplane_bridge.laboratory.nodes.record.accounts import Accounts

# The topics with the most lost messages are named, the others counted.
_MOST_SHOWN = 8


@dataclass(slots=True)
class Topic:
    """
    A subscribed topic; ``publishers`` has all that were seen, by gid.

    ``latest`` are those that were there when any was last, ``present`` is how many are now.
    ``lacking`` is how many its end lacks, as its publisher says; None if that is not told.
    """

    name: str
    kind: str
    message: type
    numbers: rosbag2.SequenceNumbers
    publishers: dict[bytes, Any] = field(default_factory=dict)
    present: int = 0
    latest: tuple[bytes, ...] = ()
    lacking: int | None = 0
    qos: QoSProfile | None = None
    subscription: Any = None
    channel: int | None = None
    profiles: list[Any] = field(default_factory=list)
    type_hash: str = ''
    messages: int = 0
    reported_lost: int = 0
    warned: bool = False

    @property
    def lost(self) -> int:
        """Return how many were lost, by sequence number or as reported by the middleware."""
        return (self.numbers.lost if self.numbers.known else self.reported_lost) + (
            self.lacking or 0)

    def nodes(self) -> list[str]:
        """Return the names of the nodes of the latest publishers."""
        return [f'{one.node_namespace.rstrip("/")}/{one.node_name}'
                for one in map(self.publishers.__getitem__, self.latest)]

    @property
    def is_numbered(self) -> bool:
        """Return whether the number of the last message says how many had been published."""
        return len(self.latest) == 1 and self.messages > 0 and self.numbers.known

    def lacks(self, accounts: Accounts) -> int:
        """
        Return how many messages of those that its publishers have said they have published.

        Unless it is_numbered, these may have been published before it was subscribed to. Of
        several publishers, such as an experiment and the autopilot of command/controls, it is
        known for all together only: before Kilted a message does not say whose it is, and each
        publisher numbers its own.
        """
        told = sum(accounts.published(node, self.name) for node in dict.fromkeys(self.nodes()))
        return max(0, told - (
            self.numbers.last(self.latest[0]) if self.is_numbered else self.messages))

    def is_strange(self, accounts: Accounts) -> bool:
        """Return whether not all of its publishers say how many messages they have published."""
        return any(accounts.said(node) is None for node in self.nodes())


def is_complete(
    topics: Collection[Topic], accounts: Accounts, asked: int, is_quiet: bool
) -> bool:
    """
    Return whether nothing is missing that was published before ``asked`` (ns since 1970).

    Where nobody says that, nothing is if it ``is_quiet``.
    """
    lacking = [topic for topic in topics if topic.lacks(accounts)]
    if _untold(topics, accounts, asked) or any(topic.is_numbered for topic in lacking):
        return False
    return is_quiet or not (lacking or any(topic.is_strange(accounts) for topic in topics))


def note_lacking(topics: Collection[Topic], accounts: Accounts, asked: int) -> None:
    """Note at the end what the topics lack of what was published before ``asked``."""
    untold = _untold(topics, accounts, asked)
    for topic in topics:
        if any(node in untold and accounts.counts(node, topic.name) for node in topic.nodes()):
            topic.lacking = None
        elif topic.is_numbered:
            topic.lacking = topic.lacks(accounts)


def _untold(topics: Collection[Topic], accounts: Accounts, asked: int) -> set[str]:
    """Return the nodes that are there, and have yet to say what they had published by then."""
    return {node for topic in topics if topic.present for node in topic.nodes()
            if (said := accounts.said(node)) is not None and said <= asked}


def summary(topics: Iterable[Topic]) -> str:
    """Return how many messages of how many topics were recorded, and how many are missing."""
    topics = [topic for topic in topics if topic.messages]
    text = (
        f'{counted(sum(topic.messages for topic in topics), "message")} of '
        f'{counted(len(topics), "topic")}, '
        f'{_missed({topic.name: topic.lost for topic in topics})} lost, '
        f'{"about " if any(topic.numbers.before for topic in topics) else ""}'
        f'{_missed({topic.name: topic.numbers.before for topic in topics})} published between '
        'the start and discovery')
    unknown = sorted(topic.name for topic in topics if not topic.numbers.known)
    if unknown:
        text += f' (not known for {", ".join(unknown)})'
    untold = sorted(topic.name for topic in topics if topic.lacking is None)
    return text + (f'; the end is not known of {", ".join(untold)}' if untold else '')


def _missed(counts: dict[str, int]) -> str:
    """Return a number of messages, and of which topics, the most first."""
    found = sorted(((count, name) for name, count in counts.items() if count), reverse=True)
    if not found:
        return '0'
    shown = [f'{count} of {name}' for count, name in found[:_MOST_SHOWN]]
    rest = sum(count for count, _ in found[_MOST_SHOWN:])
    if rest:
        shown.append(f'{rest} of {counted(len(found) - _MOST_SHOWN, "other topic")}')
    return f'{sum(count for count, _ in found)} ({", ".join(shown)})'
