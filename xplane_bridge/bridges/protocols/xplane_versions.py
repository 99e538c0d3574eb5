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
Which X-Plane has what of its own UDP: docs/wire/xplane_udp.md, section 5.

Whoever chooses a simulator needs that, and none of the messages: to declare those takes 0.06 s.
"""

FIRST_WITH_SENDER = 7
"""Replies come from a different port than the one that X-Plane listens on: the next one."""
FIRST_WITH_TARGETS = 9
"""The destination of rows can be set by UDP (ISET, ISE4); before, only in the settings."""
FIRST_WITH_DATAREFS = 10
"""RREF, DREF, CMND and the beacon exist."""
FIRST_WITH_VEHS = 12
"""VEHS exists."""

HIGHEST_PLAUSIBLE_ROW = 200
"""A larger row number is taken for the wrong byte order; X-Plane 11 ends at 138."""
