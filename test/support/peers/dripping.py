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

"""A server that sends one byte at a time: every read of the client succeeds, but it never ends."""

from contextlib import contextmanager, suppress
import queue
import socket
import threading


@contextmanager
def dripping():
    """Serve an endless response one byte at a time; yield the port and a log of events."""
    happened, stop = queue.Queue(), threading.Event()

    def drip(connection):
        asked = b''
        with connection, suppress(OSError):
            while b'</methodName>' not in asked and not asked.startswith(b'GET'):
                asked += connection.recv(4096)
            name = asked.partition(b'<methodName>')[2].partition(b'<')[0].decode()
            happened.put(f'{name} asked')
            with suppress(OSError):
                while not stop.wait(0.02):
                    connection.sendall(b'x')
            happened.put(f'{name} given up')

    def serve():
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=drip, args=(connection,), daemon=True).start()

    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        listener.listen()
        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1], happened
        stop.set()
        listener.shutdown(socket.SHUT_RDWR)
