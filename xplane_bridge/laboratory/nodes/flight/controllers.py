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

"""A vehicle flown by a controller other than the autopilot: by its topics only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
from threading import RLock
import time

from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.time import Time

from xplane_bridge.bridges.conversions.masks import Mask
from xplane_bridge.bridges.nodes.common.latched import LATCHED
from xplane_bridge.common.controls import FLOWN
from xplane_bridge.common.machine import MachineError
from xplane_bridge.common.timing import HALF_STAMP
from xplane_bridge.laboratory.control.path import PathFollower
from xplane_bridge.laboratory.flights.analysis.quantities import ORDERED, read_stamp, RELAYED
from xplane_bridge.laboratory.flights.controller_checks.conduct import (
    Account,
    Conduct,
    how_many,
    SAYS,
)
from xplane_bridge.laboratory.flights.controller_checks.relay import Relay
from xplane_bridge.laboratory.flights.order import Order
from xplane_bridge.laboratory.flights.script import ControllerError
from xplane_bridge.laboratory.nodes.flight.alone import FLYING
from xplane_bridge.laboratory.nodes.flight.monitor import Monitor
from xplane_bridge.laboratory.nodes.flight.processes import Processes
from xplane_bridge.laboratory.nodes.flight.started import COMMAND, ends_in, NotReadyError, Started
from xplane_bridge.laboratory.nodes.flight.vehicle import is_used_by_another, Vehicle
from xplane_bridge.msg import AutopilotTarget, FlightControls

_TICK = 0.05
# Seconds until a target has arrived; it does in milliseconds.
_ACKNOWLEDGED = 5.0
_CONTROLS = Mask(FlightControls)
_TARGETS = Mask(AutopilotTarget)
# Seconds until one that has subscribed to its target also publishes: its node is up.
_PUBLISHES_WITHIN = 10.0
_HELD = ('altitude', 'heading', 'course', 'airspeed', 'climb_rate')


class ControlledVehicle(Vehicle):
    """
    A vehicle with a bridge and a controller that fulfils its contract.

    The contract is docs/reference/controllers.md. In lockstep commands pass through here: see
    relay.py. ``conduct`` counts what the controller does. One that has its own goals (FlownBy)
    is engaged all the time, and counts from the scenario's start.
    """

    target_qos = LATCHED

    def __init__(
        self, node: Node, order: Order, monitor: Monitor, processes: Processes,
        controller: Started, simulator: str = '',
        failures: dict[str, Sequence[str]] | None = None, patience: float = math.inf,
    ) -> None:
        flown_by, lockstep = order.flown_by, order.link.lockstep
        self.command_topic = RELAYED if lockstep else COMMAND
        super().__init__(
            node, order, monitor, processes, simulator, failures, FLYING,
            external=not flown_by.policy)
        self.conduct = Conduct(lockstep)
        self._relay = Relay(self.conduct, self._forward) if lockstep else None
        self.controller = controller
        self._flown_by = flown_by
        self._patience = min(patience, _PUBLISHES_WITHIN)
        self._lock = RLock() if self._relay is None else self._relay.lock
        self._own: set[float] = set()
        self._held: dict[str, float] = {}
        self._answer_wanted = False
        self._is_commanding = False
        node.create_subscription(
            FlightControls, f'{self._namespace}/{COMMAND}', self._on_command, 50)
        monitor.on_state = self._on_state
        if lockstep and not flown_by.targets:
            # The simulation waits for its answer to the first state already.
            self.conduct.engage(-math.inf, time.monotonic())
            self.conduct.pause(True, time.monotonic())

    # What is heard, in the thread that spins.

    def _on_state(self, stamp: float) -> None:
        with self._lock:
            (self._relay or self.conduct).state(stamp, time.monotonic())

    def _on_command(self, message: FlightControls) -> None:
        stamp, now = read_stamp(message), time.monotonic()
        if self._relay is None and stamp in self._own:
            # What the scenario itself commands takes the same way.
            return
        if not self._flown_by.targets and not self.conduct.engaged:
            # It flies already; what counts begins with the scenario.
            with self.monitor.arrived:
                self._is_commanding = True
                self.monitor.arrived.notify_all()
            return
        # As a bridge does: nothing of a command with an undefined bit is used.
        values = _CONTROLS.known(message) if _CONTROLS.is_defined(message.fields) else {}
        with self._lock:
            (self._relay or self.conduct).command(stamp, values, now)
        if self._answer_wanted:
            with self.monitor.arrived:
                self.monitor.arrived.notify_all()

    def _forward(self, stamp: float, values: Mapping[str, float]) -> None:
        command = FlightControls()
        _CONTROLS.fill(command, self.excited(values, stamp))
        command.header.stamp = Time(nanoseconds=round(stamp * 1e9)).to_msg()
        self._controls.publish(command)

    # Before the flight.

    def _wait_for_controller(self) -> None:
        # That it is there has been waited for before the simulator was started.
        topic = f'{self._namespace}/{COMMAND}'
        if not self.monitor.wait_for(
            lambda: self.controller.code is not None or is_used_by_another(
                self._node.get_publishers_info_by_topic(topic)), self._patience
        ):
            others = [name for name, _ in self._node.get_topic_names_and_types()
                      if name.endswith(f'/{COMMAND}') and name != topic
                      and self._node.count_publishers(name)]
            raise NotReadyError(
                f'the controller has no publisher on {topic}: it commands there, in the '
                'namespace that it is given' + (
                    f'; there are publishers on {", ".join(sorted(others))}: use relative names'
                    if others else ''), ends_in(self._node, self._namespace))
        if self._relay is None and not self._flown_by.targets:
            # It may not receive the state yet. One that never commands is judged as silent.
            self.monitor.wait_for(
                lambda: self._is_commanding or self.controller.code is not None, self._patience)

    def _prepare_controller(self) -> None:
        if self._relay is not None:
            self._relay.start_from({
                name: 0.0 if math.isnan(value := self.monitor.last(name)) else value
                for name in FLOWN})

    # Commands and targets.

    def command(self, command: FlightControls) -> None:
        """Command the vehicle."""
        self._own.add(read_stamp(command))
        super().command(command)

    def engage(self, on: bool, now: float) -> None:
        """Give the controller the current state to hold, or release it."""
        if not self._flown_by.targets:
            with self._lock:
                self.conduct.engage(now, time.monotonic())
                self.conduct.pause(False, time.monotonic())
        elif on and not self.conduct.engaged:
            stamp = self._since()
            self._held = self._known_state()
            with self._lock:
                self.conduct.engage(stamp, time.monotonic())
            self._send(self._held, stamp)
        elif not on and self.conduct.engaged:
            stamp = self._since()
            with self._lock:
                self.conduct.release(stamp, time.monotonic())
            self._publish(AutopilotTarget(fields=AutopilotTarget.RELEASE), stamp)
        self.engaged = on

    def _known_state(self) -> dict[str, float]:
        """Return the state that it knows: what sensors say is not the truth, and it holds that."""
        if self.monitor.sensors:
            now = self.measurement()
            altitude, heading, airspeed = now.altitude, now.heading, now.airspeed
        else:
            altitude, heading, airspeed = map(
                self.monitor.last, ('altitude', 'heading', 'airspeed'))
        return {'altitude': altitude, 'heading': heading % math.tau, 'airspeed': airspeed}

    def set_target(self, values: Mapping[str, float]) -> None:
        """Set targets of the controller; it is sent all that it is to hold."""
        held = {**self._held, **values}
        for given, other in (('heading', 'course'), ('course', 'heading')):
            if given in values:
                held.pop(other, None)
        if 'altitude' in values and 'climb_rate' not in values:
            held.pop('climb_rate', None)
        self._held = held
        self._send(held, self._since())

    def follow(self, path: PathFollower) -> str:
        """Return by which target a controller is led that gets no paths; '' for own goals."""
        return self._flown_by.guidance if self._flown_by.targets else ''

    def _since(self) -> float:
        """
        Return the stamp from which on a target holds: the next state's.

        Nobody can have answered that one yet.
        """
        return self.monitor.stamps['imu/data'] + HALF_STAMP

    def _send(self, values: Mapping[str, float], stamp: float) -> None:
        message = AutopilotTarget()
        given = {name: value for name, value in values.items() if name != 'heading'}
        if 'heading' in values:
            given['true_heading'] = values['heading']
        _TARGETS.fill(message, given)
        counts = self.monitor.counts
        with self.monitor.arrived:
            before = counts[ORDERED]
        self._publish(message, stamp)
        # The next change is relative to it.
        if not self.monitor.wait_for(lambda: counts[ORDERED] > before, _ACKNOWLEDGED):
            raise MachineError(f'what is published on {ORDERED} does not arrive here')

    def _publish(self, message: AutopilotTarget, stamp: float) -> None:
        if self.lockstep:
            self._wait_for_answer()
        message.header.stamp = Time(nanoseconds=round(stamp * 1e9)).to_msg()
        self._targets.publish(message)
        if self.lockstep:
            # So it is there before the next state is: flights are reproducible.
            self._targets.wait_for_all_acked(Duration(seconds=_ACKNOWLEDGED))

    def _wait_for_answer(self) -> None:
        """
        Wait for the answer to the state at which the simulation waits.

        So flights with a controller that takes a target for one at once are reproducible too.
        """
        def answered() -> bool:
            return not self.conduct.unanswered_for(time.monotonic())

        self._answer_wanted = True
        while not self.monitor.wait_for(answered, _TICK):
            self.check_controller()
        self._answer_wanted = False

    # During the flight.

    def commands_itself(self, stamp: float, engaged: bool) -> bool:
        """Return whether the controller commands for the state of this stamp."""
        return self.conduct.is_to_answer(stamp)

    def hold_autopilot(self, stamp: float) -> None:
        """Pass on the controller's commands, but not for this stamp, nor for later ones."""
        assert self._relay is not None
        self._relay.hold(stamp, time.monotonic())

    def account(self) -> Account:
        """Return what is to be reported of the controller."""
        with self._lock:
            if self.controller.code is not None:
                self.conduct.ended(self.controller.code)
            if self._relay is not None:
                self._relay.finish(time.monotonic())
        return Account(
            self.controller.name, self.conduct, time.monotonic(), self.controller.log,
            tuple(self.controller.last_lines()))

    def check_controller(self) -> None:
        """Raise ControllerError if it has ended, or been silent for too long."""
        code = self.controller.code
        if code is not None:
            self.conduct.ended(code)
            raise ControllerError('\n    '.join([
                f'the controller has ended with {self.conduct.end}; the end of its log:',
                *(self.controller.last_lines() or ['(empty)'])]))
        now, behind = time.monotonic(), ''
        if self._relay is None:
            silent, what = self.conduct.silent_for(now), 'has commanded nothing'
        else:
            silent = self.conduct.unanswered_for(now)
            what = f'has not answered the state with stamp {self.conduct.newest:.3f} s'
            if self.monitor.sensors and not self.conduct.counts['answered']:
                # Nothing else comes with each state.
                behind = ('; behind sensors it answers imu/data with the newest of the others: '
                          'see behind_sensors in docs/reference/controllers.md')
        if silent > self._flown_by.timeout:
            if self._relay is not None:
                self._relay.finish(now)
            # The time allowed, not a moment more: equal flights say the same.
            self.conduct.hangs(self._flown_by.timeout)
            raise ControllerError(
                f'the controller {what} for {self._flown_by.timeout:g} s{self._wrong()}{behind}')

    def _wrong(self) -> str:
        wrong = [how_many(name, self.conduct.counts[name]) for name in SAYS
                 if self.conduct.counts[name]]
        return f', but sent {", ".join(wrong)}' if wrong else ''

    def freeze_autopilot(self, on: bool) -> None:
        """Stop the controller's processes, and with them its commands, or resume them."""
        self.controller.freeze(on)
        with self._lock:
            self.conduct.pause(on, time.monotonic())
        self._frozen = on
