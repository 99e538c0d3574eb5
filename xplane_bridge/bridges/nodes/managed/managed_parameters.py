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

"""The parameters of a managed node: which may be set when, and what is refused at configure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.lifecycle import LifecycleNode
from rclpy.parameter import Parameter

from xplane_bridge.bridges.nodes.managed import parameters, qos
from xplane_bridge.bridges.nodes.managed.parameters import Declared
from xplane_bridge.bridges.nodes.managed.transitions import state_of, UNCONFIGURED
from xplane_bridge.common.fields import FieldError
from xplane_bridge.common.text import LONGEST_LINE, printable

# Declared by rclpy, and live.
_SIM_TIME = 'use_sim_time'

Parameters = TypeVar('Parameters')


class ManagedParameters(LifecycleNode, Generic[Parameters]):
    """
    A managed node whose parameters are the fields of a table.

    Live ones may be set in any state, all others while it is unconfigured; a value that does not
    change is accepted in any state. So a file that ``ros2 param dump`` wrote can be loaded.
    """

    def __init__(self, name: str, table: type[Parameters], **options: Any) -> None:
        # Names of the parameters for the quality of service: of what open() made, and of those
        # that were set before rclpy declared them.
        self._qos_used: set[str] = set()
        self._qos_set: set[str] = set()
        super().__init__(name, **options)
        # rclpy has no public name for the values from files and the command line.
        given = self._parameter_overrides
        for other, value in self.defaults(
                {one: given[one].value for one in given}).items():
            given.setdefault(other, Parameter(other, value=value))
        self._table = table
        self._declared = Declared(table)
        self._problems = parameters.declare(self, table)
        self.parameters: Parameters = table()
        self._opened = False
        self.add_on_set_parameters_callback(self._on_set_parameters)

    # Implemented by subclasses.

    def defaults(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return values for parameters that are not given, by those that are."""
        return {}

    def check(self, given: Parameters) -> None:
        """Raise ValueError for inconsistent values."""

    def changed(self, given: Parameters) -> None:
        """Use new values of live parameters; called while configured."""

    def made_later(self) -> Sequence[str]:
        """Return the topics that may be made after open(), or their common prefixes."""
        return ()

    # Used when it is configured.

    def read_parameters(self) -> None:
        """Read and check all parameters. Raises ValueError."""
        if problems := [*self._problems.values(), *parameters.misspelt(self, self._table)]:
            raise FieldError('; '.join(problems))
        for name in self._given_qos():
            given = self.get_parameter(name) if self.has_parameter(name) else (
                self._parameter_overrides[name])
            qos.check(name, given.value)
        self._qos_used.clear()
        self.parameters = parameters.read(self, self._table)
        self.check(self.parameters)

    def refuse_unused(self) -> None:
        """Raise FieldError for a quality of service of a topic that was not made."""
        later = [self.resolve_topic_name(topic) for topic in self.made_later()]
        problems = [
            qos.unused(name, self.get_name(), self._qos_used) for name in self._given_qos()
            if name not in self._qos_used and not qos.is_below(name, later)]
        if problems:
            raise FieldError('; '.join(problems))

    def is_qos_given(self, topic: str) -> bool:
        """Return whether a quality of service is given for a topic."""
        full = self.resolve_topic_name(topic)
        return any(qos.is_below(name, [full]) for name in self._given_qos())

    def _given_qos(self) -> list[str]:
        """Return the parameters that were given for the quality of service."""
        return sorted(self._qos_set | set(filter(qos.is_override, self._parameter_overrides)))

    # Called by rclpy.

    def declare_parameter(
        self, name: str, value: Any = None, descriptor: ParameterDescriptor | None = None,
        ignore_override: bool = False,
    ) -> Any:
        """Declare a parameter, never as read-only: not even those of rclpy itself."""
        if qos.is_override(name):
            self._qos_used.add(name)
        if descriptor is not None:
            descriptor.read_only = False
        return super().declare_parameter(name, value, descriptor, ignore_override)

    def set_parameters_atomically(self, parameter_list: list[Any]) -> SetParametersResult:
        """
        Set parameters together, as the parameter services do.

        While unconfigured, those for the quality of service may be set before rclpy declares them.
        """
        given = [self._declared.typed(one) for one in parameter_list]
        new = [one for one in given if qos.is_override(one.name)
               and not self.has_parameter(one.name) and state_of(self) == UNCONFIGURED]
        try:
            for one in new:
                qos.check(one.name, one.value)
        except ValueError as error:
            return _refused(error)
        for one in new:
            self._qos_set.add(one.name)
            # It can be deleted again, if no topic has it.
            super().declare_parameter(
                one.name, one.value, ParameterDescriptor(dynamic_typing=True), True)
        return super().set_parameters_atomically(given)

    def _on_set_parameters(self, changes: Sequence[Any]) -> SetParametersResult:
        # Others are being declared, and rclpy has a callback for its own.
        changes = [one for one in changes
                   if self.has_parameter(one.name) and one.name != _SIM_TIME]
        unconfigured = state_of(self) == UNCONFIGURED
        try:
            for one in changes:
                if one.type_ == one.Type.NOT_SET and not (
                        unconfigured and one.name in self._qos_set):
                    raise FieldError(f'parameter {one.name}: it cannot be deleted')
            if unconfigured:
                self._set_unconfigured(changes)
            else:
                self._set_running(changes)
        except ValueError as error:
            return _refused(error)
        return SetParametersResult(successful=True)

    def _set_unconfigured(self, changes: Sequence[Any]) -> None:
        """Check each value that is set while unconfigured; configuring checks them together."""
        for one in changes:
            if one.name in self._declared:
                self._declared.check(one)
            elif one.name in self._qos_set and one.type_ == one.Type.NOT_SET:
                self._qos_set.remove(one.name)
            elif qos.is_override(one.name):
                qos.check(one.name, one.value)
            else:
                self._refuse_change(one)
            self._problems.pop(one.name, None)

    def _set_running(self, changes: Sequence[Any]) -> None:
        """Use live parameters that are set in any other state, and refuse others."""
        live = [one for one in changes if self._declared.is_live(one.name)]
        for one in changes:
            if one not in live:
                self._refuse_change(one)
        if live:
            given = parameters.change(self.parameters, live)
            self.check(given)
            if self._opened:
                self.changed(given)
            self.parameters = given

    def _refuse_change(self, given: Any) -> None:
        """Raise FieldError if a parameter that cannot be set now would change."""
        if self._declared.are_equal(self.get_parameter(given.name), given):
            return
        why = 'is used only when the node is created'
        if given.name in self._declared or qos.is_override(given.name):
            why = f'{parameters.ONLY_UNCONFIGURED}, and {self.get_name()} is {state_of(self)}'
        raise FieldError(f'parameter {given.name}: it {why}')


def _refused(error: ValueError) -> SetParametersResult:
    return SetParametersResult(successful=False, reason=printable(str(error), LONGEST_LINE))
