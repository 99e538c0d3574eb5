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

"""The picture of a flight: a panel for what was measured, each with names and units."""

import itertools

import numpy as np
import pytest

pytest.importorskip('matplotlib', reason='drawing needs matplotlib')

from xplane_bridge.common import drawing
from xplane_bridge.laboratory.experiments.picture import draw_flight
from xplane_bridge.laboratory.flights.analysis.series import make_flight, Series

TIMES = np.arange(10.0)


def drawn(monkeypatch, path, *names, width=0.0):
    """Return the figure of a flight of which these quantities were measured."""
    found, save = [], drawing.save
    monkeypatch.setattr(drawing, 'save', lambda figure, files: (
        found.append(figure), save(figure, files)))
    draw_flight(make_flight('/uav', 0.0, {
        name: Series(TIMES, TIMES / 10.0) for name in names}, {}), str(path), 'a flight',
        width=width)
    return found[0]


def test_what_was_not_measured_has_no_panel(tmp_path, monkeypatch):
    figure = drawn(monkeypatch, tmp_path / 'flight.svg', 'altitude', 'heading', 'roll',
                   'command_elevator', 'command_throttle')
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels == ['commands, full deflection = 1', 'altitude, m', 'heading, deg',
                      'attitude, deg']
    assert all(axes.has_data() and axes.get_xlabel() == 'time, s' for axes in figure.axes)
    assert (tmp_path / 'flight.svg').read_text().startswith('<?xml')


def test_a_crash_is_marked_where_and_when_it_was(tmp_path, monkeypatch):
    found = []
    monkeypatch.setattr(drawing, 'save', lambda figure, files: found.append(figure))
    names = ('east', 'north', 'altitude', 'heading', 'roll', 'command_elevator')
    draw_flight(make_flight('/uav', 0.0, {
        name: Series(TIMES, TIMES / 10.0) for name in names}, {}), str(tmp_path / 'a.png'),
        'a flight', crash=8.4)
    path, *others = [axes for axes in found[0].axes if axes.get_xlabel()]
    assert [line.get_label() for line in path.lines] == ['start', 'crash']
    assert path.lines[-1].get_xydata().tolist() == [[0.9, 0.9]]
    assert len(others) == 4
    assert all(8.4 in axes.lines[-1].get_xdata() for axes in others)


def test_in_a_column_of_a_paper_panels_are_below_one_another(tmp_path, monkeypatch):
    figure = drawn(monkeypatch, tmp_path / 'flight.png', 'east', 'north', 'altitude', 'roll',
                   'command_elevator', 'command_aileron', 'command_rudder', 'command_throttle',
                   width=3.5)
    assert figure.get_figwidth() == 3.5
    panels = [axes.get_position() for axes in figure.axes if axes.get_xlabel()]
    assert len(panels) == 4
    assert all(upper.y0 > lower.y1 for upper, lower in itertools.pairwise(panels))
    box = figure.get_tightbbox()
    assert box.x0 > -0.1
    assert box.x1 < 3.6


@pytest.mark.parametrize('form', drawing.FORMATS)
def test_equal_flights_have_equal_pictures(tmp_path, monkeypatch, form):
    for name in 'ab':
        drawn(monkeypatch, tmp_path / f'{name}.{form}', 'east', 'north', 'altitude')
    assert (tmp_path / f'a.{form}').read_bytes() == (tmp_path / f'b.{form}').read_bytes()
