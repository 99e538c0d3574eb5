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

"""A protocol as used by tools for people: any datagram of either side, without a session."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any

from xplane_bridge.bridges.protocols.base import Message, Sender
from xplane_bridge.bridges.protocols.errors import ProtocolError


class Dialect:
    """
    One protocol, through its ``decode``, ``encode`` and ``MESSAGES``.

    It is created once per run of a tool, so that it may keep state. A protocol that needs more
    than the datagram and its sender has a subclass of this name.
    """

    options: Mapping[str, Mapping[str, Any]] = {}
    """This protocol's own options: arguments of ArgumentParser.add_argument, by flag."""

    def __init__(self, protocol: ModuleType, arguments: Namespace) -> None:
        self.protocol = protocol
        self.arguments = arguments

    def decode(self, data: bytes, sender: Sender) -> Iterable[object]:
        """
        Return the messages in a datagram, or raise ProtocolError.

        A datagram that is not the sender's may be the other side's.
        """
        try:
            return (self.decode_from(data, sender),)
        except ProtocolError as error:
            other = other_side(sender)
            try:
                return (self.decode_from(data, other),)
            except ProtocolError as other_error:
                # The side that has such a message at all gives the better error.
                tag = data[:4].decode('latin-1')
                theirs = tag in self.messages(other) and tag not in self.messages(sender)
                raise (other_error if theirs else error) from None

    def decode_from(self, data: bytes, sender: Sender) -> object:
        """Return the message in a datagram of this side, or raise ProtocolError."""
        message: object = self.protocol.decode(data, sender)
        return message

    def finish(self) -> Iterable[object]:
        """Return the remaining messages at the end of the input, or raise ProtocolError."""
        return ()

    def messages(self, sender: Sender) -> Mapping[str, type[Message]]:
        """Return the messages that this side sends, by their tags."""
        found: Mapping[str, type[Message]] = self.protocol.MESSAGES[sender]
        return found

    def encode(self, message: Message) -> bytes:
        """Return the datagram for a message, or raise ValueError or TypeError."""
        data: bytes = self.protocol.encode(message)
        return data


def other_side(sender: Sender) -> Sender:
    """Return the other side of the conversation."""
    return 'bridge' if sender == 'peer' else 'peer'
