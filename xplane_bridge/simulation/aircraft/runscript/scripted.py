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
An aircraft that a script of JSBSim flies, as JSBSim by itself would fly it: to the last bit.

Nothing else moves it: it is neither trimmed nor parked here, the ground is JSBSim's own, and what
has struck it flies on. What the script writes to files is left out, and each event is told.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
import math
from pathlib import Path
import re
import time
from typing import Any
from xml.etree import ElementTree

from xplane_bridge.bridges.conversions.airframe_events import DIVERGED
from xplane_bridge.common import plain_files
from xplane_bridge.common.fields import FieldError
from xplane_bridge.common.text import did_you_mean, LONGEST_TEXT
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.aircraft.loading.files import AircraftFiles, find
from xplane_bridge.simulation.aircraft.loading.inert import copied, inert, NOWHERE
from xplane_bridge.simulation.aircraft.loading.load import (
    heard,
    import_jsbsim,
    listening,
    one_line,
)
from xplane_bridge.simulation.aircraft.model import Model
from xplane_bridge.simulation.aircraft.plant import Plant
from xplane_bridge.simulation.aircraft.runscript.elements import shown
from xplane_bridge.simulation.aircraft.runscript.initial_state import find_initial
from xplane_bridge.simulation.aircraft.runscript.script import (
    MOST_TOLD,
    RunScript,
    ScriptedEvent,
    ScriptNotice,
)
from xplane_bridge.simulation.aircraft.state import AircraftState
from xplane_bridge.simulation.aircraft.terrain import is_wet

_EXECUTED = re.compile(r'\(Event (\d+)\) executed at time: ')
_SEEDS = ('simulation/randomseed', 'atmosphere/randomseed')


class ScriptedModel(Model):
    """
    A JSBSim model in the initial state of a script, which runs in its steps.

    ``told`` are the events that were executed, MOST_TOLD at most. ``is_over``: JSBSim has ended
    the script. ``left_out`` is what only writes or prints. Raises what Model raises, and
    FieldError for what is wrong with its initial state, or with a property.
    """

    def __init__(self, script: RunScript, path: str, seed: int) -> None:
        self.script = script
        self.told: list[ScriptNotice] = []
        self.is_over = False
        try:
            find(script.aircraft, path, Path(import_jsbsim().get_default_root_dir()))
        except ValueError as error:
            raise FieldError(f'{script.file}: use: aircraft: {error}') from None
        super().__init__(script.aircraft, script.dt, seed, path, controls=None)
        self._check_properties()
        self._time = self.getter('simulation/sim-time-sec')
        self._listener = _make_listener(self._jsbsim, self._tell)
        self.left_out = [*script.left_out]
        self._shown = [self._shown_of(event) for event in script.events]
        self._read = {
            name: self.getter(name) for shown in self._shown for _, name in shown if name}

    def _load(self, plant: Plant, dt: float, outputs: bool) -> tuple[AircraftFiles, Any]:
        script, jsbsim = self.script, self._jsbsim
        self._initial = initial = find_initial(script, self.files)
        loaded = inert(self.files)
        # JSBSim looks for <model>/<model>.xml, which the folders of some aircraft are not.
        model = loaded.file.stem
        self._folder = copied(loaded, {}, model)
        folder = Path(self._folder.name)
        root = ElementTree.fromstring(script.text)
        use = root.find('use')
        assert use is not None
        use.attrib.update(aircraft=model, initialize=str(folder / 'initial.xml'))
        text: bytes = ElementTree.tostring(root, encoding='utf-8', xml_declaration=True)
        for name, content in (('script.xml', text), ('initial.xml', initial.text)):
            with plain_files.growing(folder / name) as stream:
                stream.write(content)
        self._copies = {
            str(folder / 'script.xml'): script.file,
            str(folder / 'initial.xml'): str(initial.file),
            str(folder / model / loaded.file.name): str(self.files.file),
            str(loaded.file): str(self.files.file),
            str(folder / model): str(self.files.file.parent)}
        with self._heard('load'):
            fdm = jsbsim.FGFDMExec(None)
            fdm.set_debug_level(0)
            fdm.set_output_path(NOWHERE)
            fdm.set_aircraft_path(str(folder))
            fdm.set_engine_path(str(loaded.engine))
            fdm.set_systems_path(str(loaded.systems))
            if not fdm.load_script(str(folder / 'script.xml')):
                raise RuntimeError
        return loaded, fdm

    def _heard(self, what: str) -> AbstractContextManager[None]:
        return heard(self._jsbsim, self.script.file, what, self._copies)

    def _seed(self, seed: int) -> None:
        if not {*_SEEDS} & {*self.script.defined}:
            super()._seed(seed)

    def initialise(self) -> None:
        """Apply the initial state of the script, and its trim, as JSBSim's own program does."""
        self._fdm.run_ic()
        if self._initial.trim is not None:
            self._fdm.do_trim(self._initial.trim)
            # The program leaves it as it is.
            self.set('simulation/trim-completed', 0)

    def _check_properties(self) -> None:
        """Raise FieldError for a property that is named, but that is not there."""
        file, aircraft, known = self.script.file, self.script.aircraft, self.properties.names()
        for one in self.script.properties:
            if not self._has_node(one.name):
                raise FieldError(
                    f'{file}: {one.where}: expected a property of {aircraft}, got '
                    f'{shown(one.name)}{did_you_mean(one.name[:LONGEST_TEXT], known)}')
            if one.is_written and self._is_read_only(one.name):
                raise FieldError(
                    f'{file}: {one.where}: expected a property that can be written, got '
                    f'{one.name}, which JSBSim computes')

    def _shown_of(self, event: ScriptedEvent) -> list[tuple[str, str]]:
        """Return the captions and properties of an event, but those that JSBSim leaves out."""
        # Functions of outputs are not there, as outputs are not.
        known = [(caption, name) for caption, name, function in event.shown if not function or (
            re.search(rf'<function[^>]*\bname\s*=\s*["\']{re.escape(function)}["\']', self._text))]
        if len(known) < len(event.shown):
            self.left_out.append(f'values of {event} by functions of outputs')
        return known

    def _is_read_only(self, name: str) -> bool:
        node = self._fdm.get_property_manager().get_node(name)
        return not node.get_attribute(self._jsbsim.Attribute.WRITE)

    @property
    def script_time(self) -> float:
        """Return the time since the start of the script, in s."""
        return self._time() - self.script.start

    def fly(self, steps: int) -> int:
        """
        Run steps of the script; return how many: fewer if it ended, or if it diverged (``event``).

        Raises ValueError with JSBSim's reason where it cannot go on.
        """
        run, broken, lat_deg, lon_deg, speed, altitude, p, q, r, load, _ = self._flown
        self.event = None
        with listening(self._jsbsim, self._listener):
            for flown in range(steps):
                if self.is_over:
                    return flown
                self.place = lat_deg(), lon_deg()
                reason = ''
                try:
                    self.is_over = not run()
                except (broken, RuntimeError) as error:
                    reason = one_line(str(error)) or 'it does not say why'
                if not math.isfinite(speed() + altitude() + p() + q() + r() + load()):
                    self.event = DIVERGED
                    return flown
                if reason:
                    raise ValueError(
                        f'JSBSim cannot fly {self.script.file} beyond {self.script_time:.3f} s: '
                        f'{reason}')
        return steps

    def _tell(self, said: str) -> None:
        """Note an event of which JSBSim notifies."""
        found = _EXECUTED.search(said)
        if found is None:
            return
        if len(self.told) >= MOST_TOLD:
            return
        event = self.script.events[int(found[1])]
        lines = [line.rpartition(' = ')[2] for line in said.splitlines() if ' = ' in line]
        # What a function makes of a property only JSBSim knows.
        self.told.append(ScriptNotice(self.script_time, event, {
            caption: self._read[name]() if name else float(line)
            for (caption, name), line in zip(
                self._shown[event.number], lines, strict=False)}))


def _make_listener(jsbsim: Any, tell: Any) -> Any:
    """Return what hears JSBSim: each message is told as a whole."""

    class ScriptListener(jsbsim.FGLogger):  # type: ignore[misc]
        """Keeps a message until it is whole."""

        def __init__(self) -> None:
            super().__init__()
            self._said = ''

        def set_level(self, level: Any) -> None:
            self._said = ''

        def message(self, message: str) -> None:
            self._said += message

        def file_location(self, filename: str, line: int) -> None:
            pass

        def format(self, _: Any) -> None:
            pass

        def flush(self) -> None:
            tell(self._said)

    return ScriptListener()


class ScriptedAircraft(Aircraft):
    """The aircraft of a script, in its initial state; nothing but the script may move it."""

    _model: ScriptedModel

    def __init__(self, script: RunScript, seed: int = 0, aircraft_path: str = '') -> None:
        """Load it. Raises ValueError if it cannot fly, ImportError without JSBSim."""
        self.script = script
        super().__init__(script.aircraft, Initial(), script.dt, seed, aircraft_path)

    def _begin(self) -> None:
        self._steps = 0
        self._model = ScriptedModel(self.script, self.aircraft_path, self.seed)
        self.sampler = self._model.sampler
        self._be_whole(self._model)
        self._state = None

    def retire(self) -> None:
        """Fly no more; a model that a script has flown is not kept for another flight."""
        self._state = self.state
        del self._model, self.sampler

    @property
    def time(self) -> float:
        """Return the time since the start of the script, in s."""
        return self._model.script_time

    @property
    def is_over(self) -> bool:
        """Return whether the script has ended: by itself, or since all of its steps are flown."""
        return self._model.is_over or not self.steps_left

    @property
    def steps_left(self) -> int:
        """Return how many steps the script has from now on, unless it ends by itself."""
        return self.script.steps - self._steps

    @property
    def left_out(self) -> list[str]:
        """Return what of the script only writes or prints, which is not done."""
        return self._model.left_out

    @property
    def told(self) -> list[ScriptNotice]:
        """Return the events that were executed so far."""
        return self._model.told

    def step(self, steps: int = 1) -> None:
        """Run steps of the script, as long as there are some."""
        self._state = None
        if self.crash is not None or self.is_over:
            return
        begin = time.thread_time()
        self._steps += self._model.fly(min(steps, self.steps_left))
        self.processor_time += time.thread_time() - begin
        if self._model.event is not None or self._has_limits:
            self._note(self._model, self.time,
                       lambda lat, lon: is_wet(lat, lon, self.initial.airfield))

    @property
    def state(self) -> AircraftState:
        """Return the current state, with the brakes and the speedbrake that the script sets."""
        if self._state is None:
            get = self._model.get
            self._state = self._model.reader.read(
                self.time, get('fcs/speedbrake-cmd-norm'), get('fcs/left-brake-cmd-norm'),
                get('fcs/right-brake-cmd-norm'), 0.0)
        return self._state
