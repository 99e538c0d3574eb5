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

"""XML-RPC calls that end in time."""

from __future__ import annotations

from http.client import HTTPConnection
from typing import Any
import xmlrpc.client

from xplane_bridge.links.udp import LinkError


class _Transport(xmlrpc.client.Transport):
    """HTTP with a limit for each wait."""

    def __init__(self, timeout: float) -> None:
        super().__init__()
        self._timeout = timeout

    def make_connection(self, host: Any) -> HTTPConnection:
        """Return the connection to use, which is not open yet."""
        connection = super().make_connection(host)
        connection.timeout = self._timeout
        return connection

    def request(self, host: Any, handler: str, request_body: Any, verbose: bool = False) -> Any:
        """Send a request once; the base class sends it again when the connection breaks."""
        return self.single_request(host, handler, request_body, verbose)


def call(host: str, port: int, method: str, timeout: float) -> Any:
    """
    Call a method without arguments and return its result.

    Blocks for about ``timeout`` seconds at most. Raises LinkError with a sentence if there is no
    answer, or an error instead of one.
    """
    where = f'XML-RPC {method} at {host}:{port}'
    try:
        with xmlrpc.client.ServerProxy(
            f'http://{host}:{port}/', transport=_Transport(timeout)
        ) as server:
            return getattr(server, method)()
    except xmlrpc.client.Fault as error:
        raise LinkError(f'{where}: {error.faultString}') from error
    except xmlrpc.client.ProtocolError as error:
        raise LinkError(f'{where}: HTTP status {error.errcode} {error.errmsg}') from error
    except OSError as error:
        raise LinkError(f'{where}: {error.strerror or error}') from error
    except Exception as error:
        # Python's reader lets out whatever it stumbles over: ValueError, TypeError, EOFError, ...
        raise LinkError(f'{where}: what answers there is no XML-RPC ({error!r})') from error
