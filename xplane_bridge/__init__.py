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
Connect a ROS 2 autonomy stack to a flight or space simulator.

What others may import of this package is imported from here, such as ``open_flight``; the page
docs/reference/public.md lists it. A name is looked up where it is when it is first used, so that
nobody imports what another needs. None of them needs ROS.
"""

from importlib import import_module
from importlib.util import find_spec
import os
import pkgutil
import sys
from typing import Any

if not os.path.isdir(os.path.join(__path__[0], 'msg')):
    # This is the checkout's folder, which Python finds first if it is the current folder; the
    # messages are in the built package of the same name. Only in this case: of two installed
    # versions, only the first may be used.
    __path__ = pkgutil.extend_path(__path__, __name__)

_FLIGHTS = 'laboratory.flights'
# Where each public name is: the module, and the name there if it has another.
PUBLIC = {
    'open_flight': ('laboratory.open_flight', ''),
    'Order': (f'{_FLIGHTS}.order', ''),
    'FlownBy': (f'{_FLIGHTS}.order', ''),
    'Link': (f'{_FLIGHTS}.order', ''),
    'OrderError': (f'{_FLIGHTS}.refusals', ''),
    'FlightState': (f'{_FLIGHTS}.flight', ''),
    'load_scenario': (f'{_FLIGHTS}.scenario.scenario', 'load'),
    'find_scenario': (f'{_FLIGHTS}.scenario.scenario', 'find'),
    'ScenarioError': (f'{_FLIGHTS}.scenario.scenario', ''),
    'load_recording': (f'{_FLIGHTS}.analysis.history', 'load'),
    'figures': (f'{_FLIGHTS}.analysis.history', ''),
    'quantity': (f'{_FLIGHTS}.analysis.history', ''),
    'History': (f'{_FLIGHTS}.analysis.series', ''),
    'Series': (f'{_FLIGHTS}.analysis.series', ''),
    'RecordingError': (f'{_FLIGHTS}.recordings.topics', ''),
    'Controls': ('bridges.conversions.vehicle', ''),
    'Target': ('laboratory.control.targets', ''),
    'Cascade': ('laboratory.control.cascade', ''),
    'load_gains': ('laboratory.control.gains', 'load'),
    'load_policy': ('laboratory.control.policy.load', 'load'),
    'PolicyLaw': (f'{_FLIGHTS}.laws', ''),
    'FlightEnv': ('laboratory.episodes.environment', ''),
    'FleetEnv': ('laboratory.episodes.fleet', ''),
    'wilson': ('laboratory.campaigns.report.statistics', ''),
}
_ENVIRONMENTS = f'{__name__}.laboratory.episodes'


def __getattr__(name: str) -> Any:
    """Return what a public name stands for."""
    if name not in PUBLIC:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    module, there = PUBLIC[name]
    found = getattr(import_module(f'{__name__}.{module}'), there or name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Return the names of this module, public ones included."""
    return sorted({*globals(), *PUBLIC})


class _RegisterEnvironments:
    """
    Registers the environments when gymnasium is imported, which few of those who import this do.

    So ``gymnasium.make('xplane_bridge:xplane_bridge/Flight-v0')`` finds them in any order.
    """

    @classmethod
    def find_spec(cls, name: str, path: object = None, target: object = None) -> Any:
        """Let nobody else find gymnasium, but execute it with this at its end."""
        if name != 'gymnasium':
            return None
        sys.meta_path.remove(cls)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_register(module: Any) -> None:
                execute(module)
                import_module(_ENVIRONMENTS)

            spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec


if 'gymnasium' in sys.modules:
    import_module(_ENVIRONMENTS)
else:
    sys.meta_path.insert(0, _RegisterEnvironments)
