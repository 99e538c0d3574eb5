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

"""The gains of the cascade, and the files of aircraft that have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from xplane_bridge.common import plain_yaml
from xplane_bridge.common.fields import declared
from xplane_bridge.common.text import abbreviated
from xplane_bridge.laboratory.control.schedule import AXES, Schedule
from xplane_bridge.simulation.aircraft.loading import parameter_file

GROUPS = ('gains', 'envelope', 'performance')
"""Groups of parameters of autopilot_node that belong to the aircraft, and are numbers."""

SCHEDULE = 'schedule'
"""The group with lists of numbers: gains over airspeed and altitude."""

Parameters = dict[str, float | list[float]]
"""Parameters of autopilot_node by their names."""


@dataclass(frozen=True, slots=True)
class Gains:
    """
    Gains of the four levels. The command tune finds them.

    A gain's name states level, input and output. Those of the rates, which move surfaces, are
    scaled with the inverse of the dynamic pressure. The defaults are those of the Cessna 172P
    (c172p).
    """

    airspeed: float = declared(51.4, 'at which they are valid, indicated', unit='m/s')
    roll_rate_to_aileron: float = declared(0.91, 'of the error of the roll rate', unit='s/rad')
    roll_rate_to_aileron_integral: float = declared(
        0.73, 'of the integral of the error of the roll rate', unit='1/rad')
    pitch_rate_to_elevator: float = declared(0.87, 'of the error of the pitch rate', unit='s/rad')
    pitch_rate_to_elevator_integral: float = declared(
        0.69, 'of the integral of the error of the pitch rate', unit='1/rad')
    yaw_rate_to_rudder: float = declared(
        1.0, 'of the error of the yaw rate; half of it per second of its integral', unit='s/rad')
    roll_to_roll_rate: float = declared(1.6, 'of the error of the roll', unit='1/s')
    pitch_to_pitch_rate: float = declared(1.4, 'of the error of the pitch', unit='1/s')
    roll_rate_limit: float = declared(0.6, 'the fastest change of the roll', unit='rad/s')
    pitch_rate_limit: float = declared(0.3, 'the fastest change of the pitch', unit='rad/s')
    path_angle_to_pitch: float = declared(0.6, 'of the error of the path angle')
    path_angle_to_pitch_integral: float = declared(
        0.5, 'of the integral of the error of the path angle', unit='1/s')
    altitude_to_climb: float = declared(0.3, 'of the error of the altitude', unit='1/s')
    climb_limit: float = declared(3.5, 'the fastest climb', unit='m/s')
    sink_limit: float = declared(3.5, 'the fastest descent', unit='m/s')
    course_to_turn_rate: float = declared(0.4, 'of the error of the course', unit='1/s')
    heading_to_turn_rate: float = declared(0.4, 'of the error of the heading', unit='1/s')
    airspeed_to_throttle: float = declared(
        0.15, 'of the error of the airspeed; 0 is an aircraft without an engine, whose '
        'airspeed is held with pitch',
        unit='s/m')
    airspeed_to_throttle_integral: float = declared(
        0.01, 'of the integral of the error of the airspeed', unit='1/m')
    path_angle_to_throttle: float = declared(5.0, 'of the wanted path angle', unit='1/rad')
    airspeed_to_pitch: float = declared(
        0.0, 'of the error of the airspeed, without an engine', unit='rad s/m')
    airspeed_to_pitch_integral: float = declared(
        0.0, 'of the integral of the error of the airspeed, without an engine', unit='rad/m')
    airspeed_rate_limit: float = declared(
        0.6, 'the fastest change of the wanted airspeed', unit='m/s²')
    climb_filter: float = declared(
        0.5, 'the time constant of the climb rate, where that is not measured', unit='s')
    cruise_throttle: float = declared(0.7, 'the throttle to begin with, where none was commanded')

    @property
    def has_engine(self) -> bool:
        """Return whether the airspeed is held with a throttle."""
        return self.airspeed_to_throttle != 0.0

    def at(self, airspeed: float, altitude: float) -> Gains:
        """Return the gains at an airspeed (m/s, indicated) and an altitude (m): these."""
        return self


@dataclass(frozen=True, slots=True)
class ScheduledGains(Gains):
    """
    Gains some of which are scheduled; the others hold everywhere.

    Their ``airspeed`` is that of flight within the schedule's airspeeds, so that nothing is scaled
    with the dynamic pressure there; beyond them it is the nearest, and that scaling goes on.
    """

    schedule: Schedule | None = None

    def at(self, airspeed: float, altitude: float) -> Gains:
        """Return the gains at an airspeed (m/s, indicated) and an altitude (m)."""
        schedule = self.schedule
        assert schedule is not None
        there = min(max(airspeed, schedule.airspeeds[0]), schedule.airspeeds[-1])
        return Gains(**{name: getattr(self, name) for name in NAMES}
                     | schedule.at(airspeed, altitude) | {'airspeed': there})


NAMES = tuple(item.name for item in fields(Gains))
"""The names of gains."""


def scheduled(gains: Gains, given: Mapping[str, Sequence[float]]) -> Gains:
    """
    Return gains with a schedule: lists by name, see Schedule.of(); those given if it is empty.

    Raises ValueError for what is no schedule of gains.
    """
    if not given:
        return gains
    try:
        schedule = Schedule.of(given)
        for name in schedule.names:
            if name not in NAMES:
                raise ValueError(f'{name} is unknown: expected one of {", ".join(NAMES)}')
        throttle = given.get('airspeed_to_throttle', ())
        if any(throttle) and not all(throttle):
            raise ValueError('airspeed_to_throttle is 0 at some points only: an aircraft has an '
                             'engine everywhere or nowhere')
    except ValueError as error:
        raise ValueError(f'{SCHEDULE}: {error}') from None
    return ScheduledGains(**{name: getattr(gains, name) for name in NAMES}, schedule=schedule)


def load(model: str | Path) -> Gains:
    """
    Return the gains of an aircraft by its name, such as c310, or of a parameter file.

    Gains that it does not set keep their default. Raises ValueError if there is no such file, or
    it is not one.
    """
    content = parameter_file.read(model)
    return scheduled(Gains(**parameter_file.numbers(content, 'gains', NAMES)), lists(content))


def scaled(given: Gains, factors: Sequence[tuple[str, float]]) -> Gains:
    """Return gains, also scheduled ones, times factors; ValueError for a name that is none."""
    for name, factor in factors:
        if name not in NAMES:
            near = get_close_matches(name, NAMES, cutoff=0.5)
            raise ValueError(
                f'gains.{name} is unknown' + (
                    f'; did you mean {" or ".join(near)}?' if near else '')
                + f': expected one of {", ".join(NAMES)}')
        given = replace(given, **{name: factor * getattr(given, name)})
        if isinstance(given, ScheduledGains) and given.schedule is not None:
            given = replace(given, schedule=given.schedule.scaled(name, factor))
    return given


def read_parameters(model: str | Path) -> Parameters:
    """
    Return what an aircraft's file has for autopilot_node, by the names of its parameters.

    Raises ValueError as load() does.
    """
    content = parameter_file.read(model)
    return {
        **{f'{group}.{name}': value for group in GROUPS for name, value in parameter_file.numbers(
            content, group, list(content.get(group, ()))).items()},
        **{f'{SCHEDULE}.{name}': values for name, values in lists(content).items()}}


def scaled_parameters(model: str | Path, factors: Sequence[tuple[str, float]]) -> Parameters:
    """Return read_parameters() with its gains times factors; ValueError as both say."""
    changed = scaled(load(model), factors)
    found = read_parameters(model) | {
        f'gains.{name}': getattr(changed, name) for name, _ in factors}
    if isinstance(changed, ScheduledGains) and changed.schedule is not None:
        found |= {f'{SCHEDULE}.{name}': values
                  for name, values in changed.schedule.lists().items()}
    return found


def read_simulated(params_file: str) -> Parameters:
    """
    Return parameters_of the aircraft that a ROS parameter file lets simulator_node fly.

    {} if it names none, or has gains for autopilot_node itself. Raises ValueError if nobody knows
    gains of that aircraft, or the file cannot be read.
    """
    nodes = plain_yaml.load_file(params_file)

    def given(node: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, content in nodes.items() if isinstance(nodes, Mapping) else ():
            values = content.get('ros__parameters') if isinstance(content, Mapping) else None
            if str(name).rpartition('/')[2] in ('**', node) and isinstance(values, Mapping):
                found.update(values)
        return found

    simulated, flying = given('simulator_node'), given('autopilot_node')
    if not simulated.get('model') or any(
            str(name).partition('.')[0] == 'gains' for name in flying):
        return {}
    model = str(simulated['model'])
    file = parameter_file.find_file(model, str(simulated.get('aircraft_path', '')))
    return read_parameters(model if file is None else file)


def lists(content: Mapping[str, Any]) -> dict[str, list[float]]:
    """Return the lists of the schedule in a file; ValueError for what is none of its names."""
    given = content.get(SCHEDULE, {})
    if not isinstance(given, Mapping):
        raise ValueError(f'{SCHEDULE}: expected names with lists of numbers')
    found = {}
    for name, values in given.items():
        if name not in (*AXES, *NAMES):
            raise ValueError(
                f'{SCHEDULE}.{name} is unknown: expected one of {", ".join((*AXES, *NAMES[1:]))}')
        if not isinstance(values, list) or any(
                isinstance(value, bool) or not isinstance(value, int | float) for value in values):
            raise ValueError(f'{SCHEDULE}.{name}: expected a list of numbers, got '
                             f'{abbreviated(values)}')
        found[name] = [float(value) for value in values]
    return found
