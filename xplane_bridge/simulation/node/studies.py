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

"""Services of simulator_node for the study of its aircraft: trim and linearize."""

from __future__ import annotations

from typing import Any

from xplane_bridge.bridges.conversions.masks import Mask
from xplane_bridge.bridges.nodes.common.base import BridgeNode
from xplane_bridge.bridges.nodes.vehicle.controls import CONTROLS_MASK
from xplane_bridge.msg import EngineControls, FlightControls
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.studies.linearize import linearize
from xplane_bridge.simulation.aircraft.studies.spare import make_spare
from xplane_bridge.simulation.aircraft.studies.trim_in_place import find_trim, fly_steadily
from xplane_bridge.simulation.aircraft.trim import Steady
from xplane_bridge.simulation.peers.server import Server
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.srv import Linearize, Trim

_WANTED = Mask(Trim.Request)


def offer_studies(
    node: BridgeNode[Any], server: Server, aircraft: Aircraft, prefix: str = ''
) -> None:
    """Offer the services for an aircraft, for as long as the node is configured."""

    def trim(request: Any, response: Any) -> None:
        wanted = _WANTED.given(request) if request.fields else {}
        altitude_msl = wanted.get('altitude_msl')
        # On another model, while the flight goes on.
        steady = find_trim(
            server.call(lambda _: make_spare(aircraft)), altitude_msl,
            wanted.get('airspeed'), wanted.get('flight_path_angle', 0.0),
            wanted.get('bank', 0.0))

        def change(_: World) -> None:
            fly_steadily(aircraft, steady, altitude_msl)
            _fill_controls(response, aircraft, steady)

        server.call(lambda _: server.simulation.change(change))
        response.success = True
        for name in ('angle_of_attack', 'sideslip', 'pitch', 'roll', 'flight_path_angle'):
            setattr(response, name, float(getattr(steady, name)))
        response.message = (
            f'trimmed; accelerations left: at most {max(map(abs, steady.residuals[:3])):.1g} m/s2 '
            f'and {max(map(abs, steady.residuals[3:])):.1g} rad/s2')

    def linearise(request: Any, response: Any) -> None:
        model = linearize(
            server.call(lambda _: make_spare(aircraft)), request.method)
        response.success = True
        response.method = model.method
        response.message = (
            f'{model.model} at {model.airspeed:.1f} m/s and {model.altitude_msl:.0f} m')
        for kind, field in (('states', 'state'), ('inputs', 'input'), ('outputs', 'output')):
            signals = getattr(model, kind)
            setattr(response, f'{field}_names', [signal.name for signal in signals])
            setattr(response, f'{field}_units', [signal.unit for signal in signals])
            setattr(response, field, [signal.value for signal in signals])
        for name in 'abcd':
            setattr(response, name, getattr(model, name).ravel().tolist())

    node.make_service(Trim, f'{prefix}trim', trim)
    node.make_service(Linearize, f'{prefix}linearize', linearise)


def _fill_controls(response: Any, aircraft: Aircraft, steady: Steady) -> None:
    state = aircraft.state
    controls, engines = FlightControls(), EngineControls()
    CONTROLS_MASK.fill(controls, {
        **steady.commands, **steady.trims, 'throttle': steady.throttle,
        'flaps': state.flaps, 'gear': state.gear, 'speedbrake': state.speedbrake})
    if state.engines:
        engines.fields = EngineControls.THROTTLE | EngineControls.MIXTURE
        engines.throttle = [engine.throttle for engine in state.engines]
        engines.mixture = [engine.mixture for engine in state.engines]
    response.controls, response.engines = controls, engines
