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

"""What a target asks a controller to hold."""

from __future__ import annotations

from typing import Any

from xplane_bridge.bridges.conversions.masks import Mask
from xplane_bridge.laboratory.control.targets import check_targets
from xplane_bridge.msg import AutopilotTarget

TARGET_MASK = Mask(AutopilotTarget)


def read_changes(message: AutopilotTarget) -> dict[str, Any] | None:
    """
    Return what a target sets, by the names of control.targets.Target; None if it releases.

    Raises ValueError if it cannot be flown.
    """
    if message.fields & AutopilotTarget.RELEASE:
        if message.fields != AutopilotTarget.RELEASE:
            raise ValueError('RELEASE (32) goes alone: it gives up all that is held')
        return None
    given = TARGET_MASK.given(message)
    check_targets(given)
    if 'true_heading' in given:
        given['heading'] = given.pop('true_heading')
        if 'course' in given:
            raise ValueError('it has a course and a true_heading: only one of them can be held')
    return given
