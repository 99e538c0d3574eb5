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
Aircraft that join a world: what can be spawned, and what a request to spawn one asks for.

The checks of SpawnEntity (ROS 2's simulation_interfaces) and its numbers; who has the world lets
what is made here join it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import IntEnum
from itertools import count
from pathlib import Path
import re

from xplane_bridge.common.text import printable
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.aircraft.loading.files import known
from xplane_bridge.simulation.peers.standard.control import RequestRefusedError, ResultCode
from xplane_bridge.simulation.peers.standard.entities import (
    BadPoseError,
    Entities,
    EntityMotion,
    LONGEST_NAME,
)
from xplane_bridge.simulation.peers.world import AIRCRAFT_COUNT

FORMAT = 'jsbsim'
"""The format of what can be spawned, in spawn_formats."""
MOST_AT_ONCE = AIRCRAFT_COUNT
"""Aircraft in one request."""

_TOKEN = re.compile(r'[A-Za-z][A-Za-z0-9_]*', re.ASCII)
_NAMESPACE = re.compile(r'/?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*', re.ASCII)
_MODEL = re.compile(r'[A-Za-z0-9][A-Za-z0-9_. -]*', re.ASCII)
_GENERATED = 'aircraft'
# ROS has room for 245 characters, some of which topics and services need.
_LONGEST_NAMESPACE = 160
# The part of a name below which each aircraft takes commands.
_COMMAND = 'command'


class Spawn(IntEnum):
    """result of SpawnEntity and SpawnEntities, above those of all services."""

    NAME_NOT_UNIQUE = 101
    NAME_INVALID = 102
    UNSUPPORTED_FORMAT = 103
    NO_RESOURCE = 104
    NAMESPACE_INVALID = 105
    INVALID_POSE = 109
    ENTITIES_SPAWN_FAILED = 150


@dataclass(frozen=True, slots=True)
class SpawnRequest:
    """
    A request to spawn an aircraft, as SpawnEntity has it.

    ``uri`` is the name of a JSBSim aircraft; of ``motion``, in ``frame``, the pose counts.
    """

    name: str
    uri: str
    motion: EntityMotion
    frame: str = ''
    namespace: str = ''
    resource_string: str = ''
    may_rename: bool = False


@dataclass(frozen=True, slots=True)
class Joining:
    """An aircraft that may join: its name, its namespace, its model and where it starts."""

    name: str
    namespace: str
    model: str
    path: str
    initial: Initial

    def load(self, seed: int, dt: float) -> Aircraft:
        """Return the aircraft, trimmed, with a step of dt s. Raises ValueError if it cannot."""
        return Aircraft(self.model, self.initial, dt, seed, self.path)


class Spawning:
    """
    What can be spawned into a scene of ``entities``.

    ``aircraft_path`` is the folder of one's own aircraft, '' for none; ``base`` is the namespace
    that others are below unless they begin with a slash.
    """

    def __init__(self, entities: Entities, aircraft_path: str, base: str = '/') -> None:
        self._entities = entities
        self._path = aircraft_path
        self._base = base.rstrip('/')

    def spawnables(self) -> dict[str, str]:
        """Return what each aircraft that can be named is, in words."""
        return {
            name: f"JSBSim aircraft, {'one of aircraft_path' if path else 'one of its own'}"
            for name, path in self._known().items()}

    def check(self, request: SpawnRequest, namespaces: Collection[str]) -> Joining:
        """
        Return what a request asks for; ``namespaces`` are those that are taken.

        Raises RequestRefusedError with the number of SpawnEntity, or UnknownNameError for a frame.
        """
        if self._entities.is_full:
            raise RequestRefusedError(
                ResultCode.OPERATION_FAILED,
                f'{AIRCRAFT_COUNT} aircraft fly already, and more are not possible')
        model = self._model(request)
        name = self._name(request)
        namespace = self._namespace(request.namespace or name, namespaces)
        try:
            initial = self._entities.start(request.motion, request.frame)
        except BadPoseError as error:
            raise RequestRefusedError(Spawn.INVALID_POSE, str(error)) from None
        return Joining(name, namespace, model, self._known()[model], initial)

    def _known(self) -> dict[str, str]:
        import jsbsim
        return known(self._path, Path(jsbsim.get_default_root_dir()))

    def _model(self, request: SpawnRequest) -> str:
        if not request.uri:
            if request.resource_string:
                raise RequestRefusedError(
                    ResultCode.FEATURE_UNSUPPORTED,
                    'resource_string is not supported: give the name of an aircraft as uri')
            raise RequestRefusedError(
                Spawn.NO_RESOURCE, 'uri is empty: expected the name of an aircraft, such as c172p')
        shown = printable(request.uri, LONGEST_NAME)
        if not _MODEL.fullmatch(request.uri):
            raise RequestRefusedError(
                Spawn.UNSUPPORTED_FORMAT,
                f"uri '{shown}' is not supported: expected the name of a JSBSim aircraft, such as "
                'c172p; get_spawnables has all')
        if request.uri not in self._known():
            raise RequestRefusedError(
                ResultCode.NOT_FOUND,
                f"there is no aircraft '{shown}'; get_spawnables has those that there are")
        return request.uri

    def _name(self, request: SpawnRequest) -> str:
        name, taken = request.name, {*self._entities.names, self._entities.frame}
        if not name and request.may_rename:
            return _free(_GENERATED, taken)
        if not _TOKEN.fullmatch(name) or len(name) > LONGEST_NAME:
            raise RequestRefusedError(
                Spawn.NAME_INVALID,
                f"name '{printable(name, LONGEST_NAME)}' is not possible: expected at most "
                f'{LONGEST_NAME} letters, digits and underscores, beginning with a letter; or an '
                'empty one with allow_renaming')
        if name not in taken:
            return name
        if not request.may_rename:
            raise RequestRefusedError(
                Spawn.NAME_NOT_UNIQUE, f"name '{name}' is taken, and allow_renaming is false")
        return _free(name, taken)

    def _namespace(self, namespace: str, taken: Collection[str]) -> str:
        full = self._absolute(namespace)
        if not _NAMESPACE.fullmatch(namespace) or len(full) > _LONGEST_NAMESPACE:
            problem = (
                'is not possible: expected letters, digits and underscores, between slashes if '
                'it is nested, no part beginning with a digit, and at most '
                f'{_LONGEST_NAMESPACE} characters with those of the node')
        elif full.endswith(f'/{_COMMAND}'):
            # Its controls would be on the topic of somebody's command/controls.
            problem = f'is not possible: below {_COMMAND} others take their commands'
        elif full in map(self._absolute, taken):
            problem = 'is that of another aircraft'
        else:
            return namespace
        raise RequestRefusedError(
            Spawn.NAMESPACE_INVALID,
            f"entity_namespace '{printable(namespace, LONGEST_NAME)}' {problem}")

    def _absolute(self, namespace: str) -> str:
        return namespace if namespace.startswith('/') else f'{self._base}/{namespace}'.rstrip('/')


def _free(name: str, taken: Collection[str]) -> str:
    """Return a name with a number that makes it the only one."""
    return next(found for found in (f'{name}_{n}' for n in count(1)) if found not in taken)
