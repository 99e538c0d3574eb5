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


"""The picture of a training: the losses, and a flight of the policy beside the autopilot's."""

from __future__ import annotations

from collections.abc import Sequence

from xplane_bridge.common import drawing
from xplane_bridge.common.drawing import GREEN, PURPLE
from xplane_bridge.laboratory.episodes.training import unseen
from xplane_bridge.laboratory.episodes.training.candidate import ERRORS
from xplane_bridge.laboratory.episodes.training.search import Generation, PARTS
from xplane_bridge.laboratory.flights.analysis.history import quantity

_COLOURS = drawing.controller_colours(('autopilot', 'policy'))
_OF_PARTS = (GREEN, PURPLE)
_LABELS = ('altitude error, m', 'heading error, deg', 'airspeed error, m/s')


def draw(path: str, history: Sequence[Generation], picture: str) -> None:
    """Draw the training of a policy's file, and its flight on the first unseen seed, as PNG."""
    drawing.pyplot()
    from matplotlib.figure import Figure
    figure = Figure(figsize=(11.0, 6.5), layout='constrained')
    grid = figure.add_gridspec(3, 2)
    axes = figure.add_subplot(grid[:, 0])
    numbers = [generation.number for generation in history]
    for part, colour in zip(PARTS, _OF_PARTS, strict=True):
        axes.semilogy(numbers, [generation.median[part] for generation in history],
                      color=colour, label=f'{part}, median')
        axes.semilogy(numbers, [generation.least[part] for generation in history],
                      color=colour, alpha=0.4, label=f'{part}, best')
    axes.set(xlabel='generation', ylabel='loss')
    drawing.plain_ticks(axes.yaxis)
    drawing.legend_above(axes)
    flights = {name: unseen.flown(file, unseen.FIRST_SEED).history()
               for name, file in (('autopilot', ''), ('policy', path))}
    for row, (name, label) in enumerate(zip(ERRORS, _LABELS, strict=True)):
        axes = figure.add_subplot(grid[row, 1])
        for flyer, flight in flights.items():
            found = quantity(flight, name)
            axes.plot(found.times, found.values, color=_COLOURS[flyer], linewidth=1.0,
                      label=flyer)
        axes.set_ylabel(label)
        axes.grid(alpha=0.3)
        if row == 0:
            axes.set_title(f'scenario {unseen.SCENARIO}, seed {unseen.FIRST_SEED}', loc='left')
            drawing.legend_above(axes)
        axes.set_xlabel('time, s')
    drawing.save(figure, [picture], dpi=80)
