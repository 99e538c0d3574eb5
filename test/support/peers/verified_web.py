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

"""X-Plane's Web API for verifications: in memory, in simulated time; a test may plant a fault."""

from __future__ import annotations

import math
from types import SimpleNamespace

from xplane_bridge.bridges.links.http import UnansweredError
from xplane_bridge.bridges.links.udp import LinkError
from xplane_bridge.bridges.xplane_udp.protocol.web_socket import SOCKET
from xplane_bridge.bridges.xplane_udp.web.web_client import WebClient
from xplane_bridge.laboratory.verification.evidence.line import Heard
from xplane_bridge.laboratory.verification.evidence.web_link import WebLink
from xplane_bridge.laboratory.verification.walk import Settings
from xplane_bridge.laboratory.verification.web import WebVerification
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xplane_udp.web_api import SimulatedWebApi

FRAME = 1.0 / 40.0
TO = ('127.0.0.1', 8086)


class SimulatedWeb:
    """
    A simulated X-Plane's Web API, whose aircraft banks and pitches a little if it ``waves``.

    A test may change ``answers(method, path, status, body)``, ``says(text)``, which returns the
    texts that arrive instead of one, and ``hears(text)``, which returns the text X-Plane gets.
    """

    def __init__(self, api='v3', waves=False):
        aircraft = Aircraft('c172p', initial=Initial(heading_deg=47.0))
        aircraft.set_wind(4.0, -3.0, 0.0)
        self.world = World(aircraft)
        self.api = SimulatedWebApi(self.world, api)
        # Where planted_faults looks for datarefs.
        self.frontend = SimpleNamespace(store=self.api.store._store)
        self.now = 0.0
        self.socket = None
        self.answers = lambda method, path, status, body: (status, body)
        self.says = lambda text: [text]
        self.hears = lambda text: text
        self.has_socket = self.ends_holds = True
        self.dies_at = self.interrupted_at = float('inf')
        self._waves = waves
        self._trim = self.world.aircraft.state.elevator

    def frame(self):
        """Advance by a frame; return the texts that X-Plane says."""
        self.now += FRAME
        if self.now >= self.interrupted_at:
            self.interrupted_at = float('inf')
            raise KeyboardInterrupt
        if self._waves:
            self.world.aircraft.set_controls(
                aileron=0.1 * math.sin(1.2 * self.now),
                elevator=self._trim + 0.05 * math.sin(0.8 * self.now))
        self.world.advance(FRAME)
        if self.now >= self.dies_at:
            return []
        self.api.step()
        return [] if self.socket is None else [
            one for text in self.socket.step() for one in self.says(text)]


class MemoryWebLink(WebLink):
    """Carries requests to a simulated Web API, frame by frame."""

    def __init__(self, session, web):
        super().__init__(session)
        self._web = web
        self._waiting = []

    def now(self):
        return self._web.now

    def ask(self, request):
        web = self._web
        self._waiting += self._frame()
        if web.now >= web.dies_at:
            raise UnansweredError('timed out')
        if request.method != SOCKET:
            status, body = web.api.answer(request.method, request.path, request.body)
            status, body = web.answers(request.method, request.path, status, body)
            return SimpleNamespace(status=status, body=body)
        if web.socket is None:
            web.socket = web.api.join(request.path) if web.has_socket else None
            if web.socket is None:
                raise LinkError('404')
        if request.connection != self.session.connection:
            raise LinkError('the connection was lost meanwhile')
        number, text = self.session.ask(request.body)
        for one in web.says(web.socket.receive(web.hears(text))):
            self.session.receive(one, web.now)
        answer = self.session.answer(number)
        self.session.forget(number)
        if answer is None:
            self.cut()
            raise UnansweredError('timed out')
        return answer

    def listen(self, seconds, until=None):
        heard, self._waiting = self._waiting, []
        end = self._web.now + seconds - 1e-9
        while self._web.now < end and not (until is not None and until()):
            heard += self._frame()
        return heard

    def cut(self):
        web = self._web
        if web.socket is not None:
            if web.ends_holds:
                web.socket.close()
            web.socket = None
            self.session.lost()

    def close(self):
        self.cut()

    def _frame(self):
        return [Heard(self._web.now, event) for text in self._web.frame()
                for event in self.session.receive(text, self._web.now)]


def web_verification(
        web, *, seconds=6.0, read_only=False, tell=lambda _: None, asks=lambda _: True,
        attended=False):
    """Return the verification of a simulated Web API, to be run."""
    client = WebClient()
    return WebVerification(
        MemoryWebLink(client.socket, web), client, TO, Settings(seconds, read_only, attended),
        tell, asks)
