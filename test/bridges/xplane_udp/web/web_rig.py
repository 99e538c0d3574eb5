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
Commands held over X-Plane's WebSocket, with the simulated X-Plane behind a bad line, in memory.

A Rig does what the node's queue does, in simulated time: one step after the other, each request
with a deadline. Faults befall single messages, by what they are and their number.
"""

from dataclasses import dataclass
import heapq
import itertools
import json
import math
from types import SimpleNamespace

from xplane_bridge.bridges.xplane_udp.protocol import web_socket
from xplane_bridge.bridges.xplane_udp.web.held import Ask, HeldCommands, LostHold, Settled
from xplane_bridge.bridges.xplane_udp.web.socket import CommandReported
from xplane_bridge.bridges.xplane_udp.web.web_client import WebClient
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xplane_udp.web_api import SimulatedWebApi

BRAKES = 'sim/flight_controls/brakes_max'
RELEASED = 'X-Plane has released it'
# One way; and what a request may take.
LATENCY, DEADLINE = 0.02, 5.0
FOREVER = math.inf
WORLD = World(Aircraft())
# Runs of X-Plane, each with ids of its own; to make one takes longer than to play a case.
RUNS = itertools.cycle([SimulatedWebApi(WORLD) for _ in range(3)])


@dataclass(frozen=True)
class Fault:
    """
    What befalls a message.

    'late' delays it, and what follows it; 'overtaken' delays it alone, as a report that X-Plane
    sends after the result of what came after it. 'lost' and 'closed' end its connection instead of
    it and after it, which X-Plane notices ``seconds`` later. 'refused' has X-Plane refuse it;
    'restart' has X-Plane end instead, and be there again so many seconds later.
    """

    kind: str
    seconds: float = 0.0


class Connection:
    """One WebSocket: its end at X-Plane, and when the last message in each direction arrives."""

    def __init__(self, peer):
        self.peer = peer
        self.is_open = True
        self.arrives = {'up': 0.0, 'down': 0.0}


class Rig:
    """The bridge's holds, their X-Plane, and the line between them."""

    def __init__(self, faults=()):
        self.faults = dict(faults)
        self.counts = dict.fromkeys(('ask', 'up', 'down'), 0)
        self.client, self.held = WebClient(), HeldCommands()
        self.now = 0.0
        self.outcomes, self.lost = {}, []
        self.unsaid = []
        self.listening = True
        self.line = None
        self._lines = []
        self._events, self._order = [], itertools.count()
        # Messages, and ends of connections that X-Plane has not noticed.
        self._under_way = 0
        self._tickets = itertools.count(1)
        self._step = self._steps = self._reply = None
        self.start()
        self._at(0.0, self._tick)

    def start(self):
        """Start X-Plane anew: nothing of an earlier run is left."""
        WORLD.held.clear()
        WORLD.network_time = self.now
        self.xplane = next(RUNS)
        self.xplane.store._holds.clear()

    def restart(self, seconds):
        """Have X-Plane end now, and be there again some seconds later."""
        def return_():
            self.start()
            self.listening = True

        for line in self._lines:
            if line.is_open:
                self.close(line, 0.0)
        self.start()
        self.listening = False
        self._later(self.now + seconds, return_)

    # What users do.

    def begin(self, lease=60.0, name=BRAKES):
        ticket = next(self._tickets)
        self.held.begin(name, lease, self.now, ticket, from_now=False)
        self._pump()
        return ticket

    def end(self, name=BRAKES):
        ticket = next(self._tickets)
        try:
            self.held.end(name, self.now, ticket)
        except ValueError as error:
            self.outcomes[ticket] = Settled((ticket,), '', error)
        self._pump()
        return ticket

    def end_all(self):
        """Deactivate."""
        self.held.end_all(self.now)
        self._pump()

    def run(self, until):
        """Let time pass."""
        while self._events and self._events[0][0] <= until:
            self.now, _, do = heapq.heappop(self._events)
            do()
            self._pump()
        self.now = until

    @property
    def is_quiet(self):
        """Return whether nothing will happen any more that anybody waits for."""
        return not self._under_way and self._step is None and not (
            self.held.names(self.now) or self.held.unconfirmed(self.now))

    def is_active(self, name=BRAKES):
        """Return what an independent client sees."""
        return self.xplane.store.is_active(name)

    def said(self, ticket):
        """Return how something ended, '' if it has not."""
        settled = self.outcomes.get(ticket)
        return '' if settled is None else settled.said or str(settled.error)

    # The bridge.

    def _pump(self):
        """Do what the queue's thread does, and tell what was settled."""
        while True:
            self._tell()
            if self._step is None:
                step = self.held.due(self.now, self.client.socket.connection)
                if step is None:
                    break
                self._step, self._steps = step, self._begin(step)
                self._go(lambda: next(self._steps))
            elif self._reply is not None and (reply := self._reply()) is not None:
                self._reply = None
                self._go(lambda reply=reply: self._steps.send(reply))
            else:
                break
        self._tell()
        if (again := self.held.deadline()) is not None and self._step is None:
            self._at(max(again, self.now + 1e-3), lambda: None)

    def _begin(self, step):
        if step.ask is Ask.RELEASE:
            return self.client.release(step.names)
        name, = step.names
        if step.ask is Ask.LOOK:
            return self.client.look(name)
        return self.client.hold(
            name, lambda connection: self.held.asked(name, connection, self.now))

    def _go(self, do):
        """Take the conversation to its next request, or to its end."""
        try:
            request = do()
            while (failure := self._ask(request)) is not None:
                request = self._steps.throw(failure)
        except StopIteration:
            self._finish(None)
        except Exception as error:
            self._finish(error)

    def _fail(self, why):
        self._reply = None
        self._go(lambda: self._steps.throw(OSError(why)))

    def _finish(self, error):
        step, self._step, self._reply = self._step, None, None
        self.held.done(step, self.now, error, unanswered=isinstance(error, OSError))

    def _tell(self):
        for told in self.held.announced():
            if isinstance(told, LostHold):
                self.lost.append(told)
                continue
            for ticket in told.tickets:
                assert ticket not in self.outcomes, 'settled twice'
                self.outcomes[ticket] = told
                if told.said == RELEASED:
                    assert not self.is_active(), 'X-Plane has not released it'

    def _ask(self, request):
        """Send a request; return why that is impossible."""
        deadline = self.now + DEADLINE
        if request.method != web_socket.SOCKET:
            self._rest(request, deadline)
            return None
        session = self.client.socket
        if self.line is None:
            peer = self.xplane.join(request.path) if self.listening else None
            if peer is None:
                session.lost()
                return OSError('refused')
            self.line = Connection(peer)
            self._lines.append(self.line)
        if request.connection != session.connection:
            return OSError('the connection was lost meanwhile')
        number, text = session.ask(request.body)
        line = self.line
        self._carry('up', line, text, lambda text: self._on_text(line, text))

        def reply():
            answer = session.answer(number)
            if answer is not None:
                session.forget(number)
            elif line is not self.line:
                self._at(self.now, lambda: self._fail_if(reply, 'lost'))
            return answer

        self._reply = reply
        self._at(deadline, lambda: self._time_out(reply, line))
        return None

    def _fail_if(self, reply, why):
        if self._reply is reply:
            self._fail(why)

    def _time_out(self, reply, line):
        if self._reply is reply:
            # As the link does, so that nobody waits for what may come of it.
            self.close(line, 0.0)
            self._fail('timed out')

    def _rest(self, request, deadline):
        fault = self._fault('ask')
        answered = []

        def answer():
            if fault is not None and fault.kind == 'refused':
                status, body = 503, b'{"error_code": "busy", "error_message": "busy"}'
            else:
                status, body = self.xplane.answer(request.method, request.path, request.body)
            answered.append(SimpleNamespace(status=status, body=body))

        if not self.listening:
            self._at(self.now, lambda: self._fail_if(reply, 'refused'))
        elif fault is None or fault.kind in ('late', 'overtaken', 'refused'):
            late = fault.seconds if fault else 0.0
            self._later(self.now + 2.0 * LATENCY + late, answer)
        elif fault.kind in ('closed', 'restart'):
            if fault.kind == 'restart':
                self.restart(fault.seconds)
            self._at(self.now + LATENCY, lambda: self._fail_if(reply, 'closed'))

        def reply():
            return answered[0] if answered else None

        self._reply = reply
        self._at(deadline, lambda: self._fail_if(reply, 'timed out'))

    # The line.

    def close(self, line, notices):
        """End a connection: the bridge knows at once, X-Plane after some seconds, or never."""
        if line is self.line:
            self.line = None
            self.client.socket.lost()
        line.is_open = False
        if notices < FOREVER:
            self._later(self.now + notices, line.peer.close)

    def _carry(self, way, line, text, deliver):
        fault = self._fault(way)
        late = fault.seconds if fault is not None and fault.kind == 'late' else 0.0
        at = line.arrives[way] = max(self.now + LATENCY + late, line.arrives[way])
        if fault is not None and fault.kind == 'overtaken':
            at += fault.seconds
        if fault is None or fault.kind in ('late', 'overtaken', 'closed'):
            self._later(at, lambda: deliver(text))
        if fault is None or fault.kind in ('late', 'overtaken'):
            return
        if fault.kind == 'restart':
            self._later(at, lambda: self.restart(fault.seconds))
        elif fault.kind == 'refused':
            refusal = {'type': 'result', 'success': False, 'error_code': 'busy'}
            self._later(at, lambda: self._say(line, json.dumps(
                {'req_id': json.loads(text)['req_id'], **refusal})))
        else:
            self._later(at, lambda: self.close(line, fault.seconds))

    def _fault(self, way):
        number = self.counts[way]
        self.counts[way] += 1
        return self.faults.get((way, number))

    def _on_text(self, line, text):
        if line.is_open:
            self._say(line, line.peer.receive(text))

    def _say(self, line, text):
        def deliver(text):
            if line is self.line:
                for event in self.client.socket.receive(text, self.now):
                    if isinstance(event, CommandReported):
                        # News may be a little older than what the queue knows.
                        self._at(self.now, lambda event=event: self.held.reported(
                            event.name, event.is_active, event.connection, self.now))

        if line.is_open:
            self._carry('down', line, text, deliver)

    def _tick(self):
        """Let X-Plane live for a frame, and see whether what it holds is said to be held."""
        WORLD.network_time = self.now
        self.xplane.step()
        for line in self._lines:
            if line.is_open:
                for text in line.peer.step():
                    self._say(line, text)
        self._at(self.now + 0.05, self._tick)

        if self.is_active() and BRAKES not in (
                *self.held.names(self.now), *self.held.unconfirmed(self.now)):
            self.unsaid.append(self.now)

    def _later(self, time, do):
        """Have something done that is under way until then."""
        def arrive():
            self._under_way -= 1
            do()

        self._under_way += 1
        self._at(time, arrive)

    def _at(self, time, do):
        heapq.heappush(self._events, (time, next(self._order), do))
