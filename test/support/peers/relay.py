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
Relays between a node and a simulator that drop, delay and double traffic, and inject forgeries.

Injected traffic comes from the address and port that the node knows as its peer's; strangers send
from other ports and from another address of this machine.
"""

from abc import ABC, abstractmethod
from collections import deque, OrderedDict
from contextlib import suppress
import errno
import heapq
import itertools
import os
import random
import select
import socket
import termios
import threading
import time
import tty

from fuzz import Mutator, recorded

# Interval of a flooding relay, and how many of a node's sockets it remembers.
_TURN = 0.01
_MOST_CLIENTS = 64
# How many datagrams of each side a relay keeps.
_KEPT = 256
_LARGEST = 65507


class Relay(ABC):
    """
    Relay traffic in a thread of its own; use as a context manager.

    ``loss`` is the fraction dropped each way; ``mutants`` and ``strangers`` are injections per
    second from the peer's own address and from others. All three may be set at any time.
    """

    def __init__(self, protocol, seed=0):
        self.loss = 0.0
        self.mutants = self.strangers = 0.0
        self.added = 0
        self.mutator = Mutator(seed, recorded(protocol))
        self._random = random.Random(seed)
        self._running = True
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._running = False
        self._thread.join()
        self.close()

    @abstractmethod
    def pass_on(self, timeout):
        """Wait for traffic for at most that many seconds, and forward it."""

    @abstractmethod
    def add(self, data):
        """Send one mutant to the node as the peer; return whether that was possible."""

    def add_from_stranger(self, data):
        """Send one mutant to the node from another address; return whether that was possible."""
        return False

    @abstractmethod
    def close(self):
        """Close all sockets."""

    def passes(self):
        """Return whether the next datagram passes."""
        return self._random.random() >= self.loss

    def _run(self):
        turn = time.monotonic()
        while self._running:
            self.pass_on(_TURN)
            now = time.monotonic()
            # What a loaded machine had no time for is not made up.
            passed, turn = min(now - turn, 0.1), now
            for rate, add in ((self.mutants, self.add), (self.strangers, self.add_from_stranger)):
                count = rate * passed
                for _ in range(int(count) + (self._random.random() < count % 1.0)):
                    self.added += add(self.mutator.mutant())


class UdpRelay(Relay):
    """
    Relay in front of a simulator's port: the node sends to ``port`` and is answered from it.

    With ``towards_node`` it stands in front of a node that only listens. ``carries`` returns after
    how many seconds the copies of a datagram arrive, at the node or at the simulator. The newest
    of both sides are kept, so that they can come again.
    """

    def __init__(self, protocol, upstream, port=0, towards_node=False, seed=0):
        super().__init__(protocol, seed)
        self._upstream = upstream
        self._towards_node = towards_node
        self.carries = lambda data, to_node: (0.0,)
        # When it arrives, a number of its own, from which socket, the datagram, and where to.
        self._late = []
        self._numbers = itertools.count()
        self._front = _bound('127.0.0.1', port)
        self.port = self._front.getsockname()[1]
        # Newest last.
        self._backs = OrderedDict()
        self._clients = {}
        # Which socket of the node each came from, or went to.
        self.sent, self.replies = deque(maxlen=_KEPT), deque(maxlen=_KEPT)
        # Replies that come again, each before that to the next request from its socket.
        self.old_replies = []
        self._strangers = [_bound('127.0.0.1', 0), _bound('127.0.0.2', 0)]
        self._poll = select.epoll()
        self._poll.register(self._front, select.EPOLLIN)

    def pass_on(self, timeout):
        """Forward datagrams both ways."""
        now = time.monotonic()
        while self._late and self._late[0][0] <= now:
            _send(*heapq.heappop(self._late)[2:])
        for descriptor, _ in self._poll.poll(timeout):
            if descriptor == self._front.fileno():
                self._from_front()
            elif descriptor in self._clients:
                self._from_back(*self._clients[descriptor])

    def _from_front(self):
        with suppress(BlockingIOError):
            for _ in range(64):
                data, client = self._front.recvfrom(_LARGEST)
                back = self._back(client)
                self.sent.append((client, data))
                self._forestall(client)
                if self._towards_node:
                    self.mutator.learn(data)
                self._carry(back, data, self._upstream, to_node=self._towards_node)

    def _from_back(self, back, client):
        with suppress(OSError):
            for _ in range(64):
                data, _ = back.recvfrom(_LARGEST)
                self.mutator.learn(data)
                self.replies.append((client, data))
                self._carry(self._front, data, client, to_node=not self._towards_node)

    def _carry(self, sender, data, to, *, to_node):
        if not self.passes():
            return
        for delay in self.carries(data, to_node):
            if delay:
                heapq.heappush(self._late, (
                    time.monotonic() + delay, next(self._numbers), sender, data, to))
            else:
                _send(sender, data, to)

    def _forestall(self, client):
        old = next((each for each in self.old_replies if each[0] == client), None)
        if old is not None:
            self.old_replies.remove(old)
            _send(self._front, old[1], client)

    def send_again(self, tag):
        """Send the simulator the first kept datagram that begins so once more."""
        client, data = next(each for each in list(self.sent) if each[1].startswith(tag))
        _send(self._backs[client], data, self._upstream)

    def _back(self, client):
        if client not in self._backs:
            if len(self._backs) >= _MOST_CLIENTS:
                _, old = self._backs.popitem(last=False)
                del self._clients[old.fileno()]
                old.close()
            back = self._backs[client] = _bound('127.0.0.1', 0)
            self._clients[back.fileno()] = back, client
            self._poll.register(back, select.EPOLLIN)
        self._backs.move_to_end(client)
        return self._backs[client]

    def add(self, data):
        """Send to one of the node's sockets, from the port that the node sends to."""
        if self._towards_node:
            return any(_send(back, data, self._upstream) for back in self._backs.values())
        return bool(self._backs) and _send(self._front, data, self._one_of_the_nodes())

    def add_from_stranger(self, data):
        """Send to one of the node's sockets, from another port or address."""
        if not self._backs:
            return False
        to = self._upstream if self._towards_node else self._one_of_the_nodes()
        return _send(self._random.choice(self._strangers), data, to)

    def _one_of_the_nodes(self):
        return self._random.choice(list(self._backs))

    def close(self):
        """Close all sockets."""
        self._poll.close()
        for each in (self._front, *self._backs.values(), *self._strangers):
            each.close()


class PtyRelay(Relay):
    """Relay between a node at ``path``, created here, and a plugin at ``upstream``."""

    def __init__(self, protocol, upstream, path, seed=0):
        super().__init__(protocol, seed)
        self._upstream = str(upstream)
        self._path = str(path)
        self._front, self._kept = os.openpty()
        tty.setraw(self._kept)
        os.set_blocking(self._front, False)
        os.symlink(os.ttyname(self._kept), self._path)
        self._back = None

    def pass_on(self, timeout):
        """Forward bytes both ways; reopen a plugin that is gone."""
        if self._back is None:
            self._open()
        waiting = [each for each in (self._front, self._back) if each is not None]
        ready = select.select(waiting, [], [], timeout)[0]
        if self._front in ready and (data := _read(self._front)) and self.passes():
            self._write_back(data)
        if self._back in ready:
            data = _read(self._back)
            if data is None:
                os.close(self._back)
                self._back = None
            elif data:
                self.mutator.learn(data)
                if self.passes():
                    self._write(data)

    def _open(self):
        with suppress(OSError, termios.error):
            self._back = os.open(self._upstream, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
            tty.setraw(self._back)

    def _write_back(self, data):
        # What does not fit is lost, as on a real line.
        with suppress(OSError):
            if self._back is not None:
                os.write(self._back, data)

    def _write(self, data):
        with suppress(OSError):
            return os.write(self._front, data) == len(data)
        return False

    def add(self, data):
        """Write bytes as the plugin."""
        return self._write(data[:2048])

    def close(self):
        """Close the pseudo-terminal."""
        os.unlink(self._path)
        for each in (self._front, self._kept, self._back):
            if each is not None:
                os.close(each)


def _bound(address, port):
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.setblocking(False)
    made.bind((address, port))
    return made


def _send(sender, data, to):
    with suppress(OSError):
        sender.sendto(data, to)
        return True
    return False


def _read(descriptor):
    """Return what is waiting, empty if nothing is, None if the other end is gone."""
    try:
        return os.read(descriptor, 4096) or None
    except OSError as error:
        return b'' if error.errno == errno.EAGAIN else None
