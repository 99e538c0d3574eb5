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

"""A relay of TCP connections over a long way, which may fall silent without ending any."""

import asyncio
from contextlib import suppress
import threading


class TcpRelay:
    """
    Relay connections to ``upstream``, each way ``delay`` seconds; use as a context manager.

    While ``is_cut`` nothing passes, the ends of connections included. ``opened`` counts them.
    """

    def __init__(self, upstream, delay=0.0):
        self.is_cut = False
        self.opened = 0
        self._upstream = upstream
        self._delay = delay
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self):
        self._thread.start()
        self._server = self._do(asyncio.start_server(self._relay, '127.0.0.1', 0))
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_):
        self._do(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    async def _close(self):
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _relay(self, here, to_here):
        self.opened += 1
        with suppress(OSError, asyncio.CancelledError):
            there, to_there = await asyncio.open_connection(*self._upstream)
            try:
                await asyncio.gather(self._pump(here, to_there), self._pump(there, to_here))
            finally:
                for writer in (to_there, to_here):
                    writer.transport.abort()

    async def _pump(self, reader, writer):
        data = b'-'
        while data:
            data = await reader.read(65536)
            while self.is_cut and not data:
                await asyncio.sleep(0.05)
            if not self.is_cut:
                self._loop.call_later(self._delay, self._pass_on, writer, data)
        await asyncio.sleep(self._delay)

    def _pass_on(self, writer, data):
        if not self.is_cut and not writer.is_closing():
            writer.write(data) if data else writer.close()
