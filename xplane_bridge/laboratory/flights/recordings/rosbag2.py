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
What rosbag2 keeps in an MCAP file besides the messages, and how it subscribes. No ROS.

Based on rosbag2's sources in Jazzy and later (metadata version 9): rosbag2_storage's qos.cpp and
yaml.hpp, rosbag2_storage_mcap's mcap_storage.cpp, rosbag2_transport's recorder.cpp.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import SimpleNamespace
from typing import Any

import yaml

from xplane_bridge.common.timing import SECOND_NS

# The default of the MCAP library that rosbag2 writes with.
CHUNK_SIZE = 768 * 1024
METADATA_RECORD = 'rosbag2'
# What a file from record says about its recording times, under this name in custom_data.
LOG_TIME = 'log_time'
RECEIVED, HANDLED = 'received by the middleware', 'handled by the recorder'
# Of a file that its recorder had not finished, where that was, also there.
CUT = 'cut'
# Of a flight in this process: it was recorded at the time of its stamp.
SIMULATED = 'simulated'

_METADATA_VERSION = 9
# The largest time: no limit of a QoS, and in rosbag2's metadata the start of an empty recording.
_NEVER = 2**63 - 1


@dataclass(slots=True)
class RecordedTopic:
    """Metadata of one topic."""

    name: str
    kind: str
    profiles: Sequence[Any]
    type_hash: str
    messages: int = 0


@dataclass(slots=True)
class SequenceNumbers:
    """
    Lost messages according to the publishers' sequence numbers.

    ``before``: how many were published after ``started`` (ns), when the recorder was, and before
    the first one received from each publisher. That is an estimate, by the time to the next one.
    ``lost``: how many are missing since then. ``known`` is False if the middleware does not
    number messages, or does not say which of several publishers a message is from.
    """

    started: int = 0
    before: int = 0
    lost: int = 0
    known: bool = True
    _last: dict[bytes, int] = field(default_factory=dict)
    # Number and time of the first one, until the next shows how often they are published.
    _first: dict[bytes, tuple[int, int]] = field(default_factory=dict)

    def heard(
        self, number: int | None, publisher: bytes | None, publishers: int, published: int
    ) -> bool:
        """
        Record a message's number (from 1) and publisher; False if it was already received.

        ``publishers`` is how many there are, for a middleware that does not name them;
        ``published`` is when it was, in ns.
        """
        if number is None or (publisher is None and publishers > 1):
            self.known = False
        if number is None or not self.known:
            return True
        last = self._last.get(publisher or b'', 0)
        if publisher is None and number <= last:
            # Another publisher, as after a restart, since one would not repeat a number.
            last = 0
        if number <= last:
            return False
        key = publisher or b''
        if last:
            self.lost += number - last - 1
            self._count_before(number, published, self._first.pop(key, None))
        elif number > 1 and published > self.started:
            self._first[key] = number, published
        self._last[key] = number
        return True

    def last(self, publisher: bytes) -> int:
        """Return the number of a publisher's last message, or of the last of those not named."""
        return self._last.get(publisher, self._last.get(b'', 0))

    def _count_before(
        self, number: int, published: int, first: tuple[int, int] | None
    ) -> None:
        """Count what was published before the first one that was received from a publisher."""
        if first is not None and published > first[1]:
            period = (published - first[1]) / (number - first[0])
            self.before += min(first[0] - 1, int((first[1] - self.started) / period))


def times(info: Mapping[str, Any], now: int) -> tuple[int, int, bool]:
    """
    Return when a message was received and published (ns), and whether the middleware reports it.

    Not every middleware does: the receive time is then ``now``, when it is handled. Without a
    publishing time the receive time is used, as MCAP specifies.
    """
    received = info.get('received_timestamp') or 0
    by_middleware = received > 0
    if not by_middleware:
        received = now
    return received, info.get('source_timestamp') or received, by_middleware


def as_strong_as_all(profiles: Sequence[Any]) -> tuple[bool, bool]:
    """
    Return whether to request reliable and transient-local delivery, so that all publishers match.

    A subscription that requests more than a publisher offers receives nothing from it.
    """
    return (all(profile.reliability.name == 'RELIABLE' for profile in profiles),
            all(profile.durability.name == 'TRANSIENT_LOCAL' for profile in profiles))


def effectively_same(one: Any, other: Any) -> bool:
    """Return whether a subscriber cannot tell two offers apart: history and lifespan are local."""
    return all(getattr(one, name) == getattr(other, name) for name in (
        'reliability', 'durability', 'deadline', 'liveliness', 'liveliness_lease_duration'))


def type_hash(hashes: Iterable[Any]) -> str:
    """Return the type hash of a topic's publishers, as RIHS01_...; empty if they differ."""
    found = {text for text in map(str, hashes) if text.startswith('RIHS')}
    return found.pop() if len(found) == 1 else ''


def offered_qos_profiles(profiles: Iterable[Any]) -> str:
    """Return the text of a channel's metadata of that name."""
    return _text([_profile(profile) for profile in profiles])


@cache
def offered(latched: bool) -> Any:
    """Return the QoS that a publisher of this package offers on a topic."""
    def named(name: str) -> Any:
        return SimpleNamespace(name=name)

    never = SimpleNamespace(nanoseconds=_NEVER)
    return SimpleNamespace(
        history=named('KEEP_LAST'), depth=1 if latched else 10, reliability=named('RELIABLE'),
        durability=named('TRANSIENT_LOCAL' if latched else 'VOLATILE'), deadline=never,
        lifespan=never, liveliness=named('AUTOMATIC'), liveliness_lease_duration=never,
        avoid_ros_namespace_conventions=False)


def serialized_metadata(
    path: str, topics: Sequence[RecordedTopic], first: int | None, last: int | None,
    distribution: str, custom: Mapping[str, str],
) -> str:
    """
    Return the text of the file's metadata record, as rosbag2 writes it at the end of recording.

    ``first`` and ``last`` are receive times (ns since the epoch), None without messages.
    ``custom`` is any text by name.
    """
    count = sum(topic.messages for topic in topics)
    begin = {'nanoseconds_since_epoch': _NEVER if first is None else first}
    duration = {'nanoseconds': 0 if first is None or last is None else last - first}
    return _text({
        'version': _METADATA_VERSION,
        'storage_identifier': 'mcap',
        'duration': duration,
        'starting_time': begin,
        'message_count': count,
        'topics_with_message_count': [
            {'topic_metadata': {
                'name': topic.name,
                'type': topic.kind,
                'serialization_format': 'cdr',
                'offered_qos_profiles': [_profile(profile) for profile in topic.profiles],
                'type_description_hash': topic.type_hash},
             'message_count': topic.messages}
            for topic in topics],
        'compression_format': '',
        'compression_mode': '',
        'relative_file_paths': [path],
        'files': [{
            'path': path, 'starting_time': begin, 'duration': duration, 'message_count': count}],
        'custom_data': dict(custom),
        'ros_distro': distribution,
    })


def _profile(profile: Any) -> dict[str, Any]:
    """Return a QoS profile, or one as read: rosbag2 uses the names of rclpy's enumerations."""
    if isinstance(profile, dict):
        return profile
    return {
        'history': profile.history.name.lower(),
        'depth': profile.depth,
        'reliability': profile.reliability.name.lower(),
        'durability': profile.durability.name.lower(),
        'deadline': _duration(profile.deadline),
        'lifespan': _duration(profile.lifespan),
        'liveliness': profile.liveliness.name.lower(),
        'liveliness_lease_duration': _duration(profile.liveliness_lease_duration),
        'avoid_ros_namespace_conventions': bool(profile.avoid_ros_namespace_conventions),
    }


def _duration(duration: Any) -> dict[str, int]:
    seconds, nanoseconds = divmod(duration.nanoseconds, SECOND_NS)
    return {'sec': seconds, 'nsec': nanoseconds}


def _text(value: Any) -> str:
    # Each value is written out, without YAML aliases for equal ones.
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=1000)


# The one in C, where it is there, takes a fifth of the time.
class _Dumper(getattr(yaml, 'CSafeDumper', yaml.SafeDumper)):  # type: ignore[misc]

    def ignore_aliases(self, data: Any) -> bool:
        return True
