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
import math
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('matplotlib', reason='drawing needs matplotlib')

from xplane_bridge.common import drawing
from xplane_bridge.laboratory.control.formation import Slot
from xplane_bridge.laboratory.control.runway.charted import ChartedRunway
from xplane_bridge.laboratory.experiments.picture import draw, draw_flight
from xplane_bridge.laboratory.flights.analysis.series import make_flight, Series
from xplane_bridge.laboratory.flights.analysis.together import Tracks
from xplane_bridge.laboratory.flights.scenario.fleet import Fleet, Station

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


def test_a_circuit_has_its_runway_glide_path_and_a_heading(tmp_path, monkeypatch):
    """From 1.1 km before the threshold down to it, heading east, after a turn through north."""
    found = []
    monkeypatch.setattr(drawing, 'save', lambda figure, files: found.append(figure))
    times = np.linspace(0.0, 30.0, 301)
    runway = ChartedRunway(47.0, 8.0, math.pi / 2.0, 400.0, 1200.0, 30.0, math.radians(3.0), 300.0)
    east = -1100.0 + 50.0 * times
    frame = runway.own_frame()
    places = np.array([frame.enu_to_geodetic((x, 0.0, max(1.0, (300.0 - x) * math.tan(
        runway.glide_path)))) for x in east.tolist()])
    series = dict(zip(('latitude', 'longitude', 'altitude'), places.T, strict=True)) | {
        'east': east + 70.0, 'north': np.full(301, 20.0),
        'heading': np.linspace(3.5, -3.2, 301) * math.pi / 2.0, 'airspeed': np.full(301, 50.0)}
    draw_flight(make_flight('/uav', 0.0, {
        **{name: Series(times, values) for name, values in series.items()},
        'target_heading': Series(times[:2], np.full(2, math.nan))}, {}),
        str(tmp_path / 'a.png'), 'a circuit', runway=runway)
    path, height, heading, airspeed = [axes for axes in found[0].axes if axes.get_xlabel()]
    drawn = {line.get_label(): line for line in path.lines}['runway']
    assert drawn.get_xydata() == pytest.approx(np.array([[70.0, 20.0], [1270.0, 20.0]]), abs=0.5)
    assert height.get_ylabel() == 'height above runway, m'
    measured, glide = height.lines
    assert glide.get_label() == 'glide path'
    assert glide.get_ydata() == pytest.approx(
        np.interp(glide.get_xdata(), *measured.get_xydata().T), abs=2.0)
    assert len(glide.get_xdata()) > 200
    shown = heading.lines[0].get_ydata()
    assert np.nanmin(shown) >= 0.0
    assert np.nanmax(shown) < 360.0
    assert np.isnan(shown).sum() == 1
    assert heading.get_yticks().tolist() == [0.0, 90.0, 180.0, 270.0, 360.0]
    # What nobody wanted is in no legend.
    for axes in (heading, airspeed):
        assert [text.get_text() for text in axes.get_legend().get_texts()] == ['measured']


@pytest.mark.parametrize(('names', 'stations', 'labels'), [
    ('abc', {'b': (Station('a', Slot(-40.0, 40.0, 0.0), 0.0),)}, [
        'north, m', 'separation, m', 'distance from its slot, m']),
    ('ab', {}, ['north, m', 'separation, m']), ('a', {}, ['north, m'])])
def test_of_several_all_are_in_each_panel(tmp_path, monkeypatch, names, stations, labels):
    found, fleet = [], Fleet(stations)
    monkeypatch.setattr(drawing, 'save', lambda figure, files: found.append(figure))
    histories = {name: make_flight(name, 0.0, {
        quantity: Series(TIMES, at + TIMES / 1e4) for quantity, at in (
            ('latitude', 47.0), ('longitude', 8.0 + number / 1e3), ('altitude', 500.0),
            ('airspeed', 50.0), ('roll', 0.1))}, {}) for number, name in enumerate(names)}
    alive, crashed = (SimpleNamespace(script=SimpleNamespace(crash=one)) for one in (None, 'it'))
    draw(SimpleNamespace(
        order=SimpleNamespace(scenario=SimpleNamespace(vehicles=(1,), fleet=fleet)),
        histories=lambda: histories, tracks=lambda: Tracks(histories, fleet), meetings=[],
        vehicles=dict.fromkeys(names, alive) | {names[-1]: crashed}),
        str(tmp_path / 'fleet.png'), 'a fleet')
    panels = found[0].axes
    assert [one.get_ylabel() for one in panels] == [
        *labels, 'altitude, m', 'indicated airspeed, m/s', 'roll, deg']
    for one in panels[-3:]:
        assert [line.get_label() for line in one.lines] == [*names]
    assert panels[0].lines[-1].get_label() == 'crash'
    assert panels[-1].lines[0].get_ydata()[0] == pytest.approx(np.degrees(0.1))


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
