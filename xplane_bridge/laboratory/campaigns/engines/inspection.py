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
What a worker of a cluster has to have in common with who gives it jobs: equal sources, and JSBSim.

What is asked (versions.question) is sent as code, not by name: a worker may not have this package
at all.
"""

from __future__ import annotations

from typing import Any

from xplane_bridge.laboratory.campaigns.plan.versions import question

# Of 64 digits of a hash, for people.
_SHOWN = 12


def difference(has: Any, wanted: dict[str, str]) -> str:
    """Return what a worker has not, or has otherwise, as a sentence; empty if it has all."""
    if not isinstance(has, dict):
        return f'it does not say what is installed ({has})'
    for name, expected in wanted.items():
        if not has[name]:
            return f'{name} is not installed there'
        if has[name] != expected:
            return (f'it has another {name}, {has[name][:_SHOWN]}; here it is '
                    f'{expected[:_SHOWN]}')
    return ''


def label(wanted: dict[str, str]) -> str:
    """Return the name of the resource of workers that may be given jobs."""
    return f'xplane_bridge {wanted["xplane_bridge"][:_SHOWN]}, jsbsim {wanted["jsbsim"]}'


def admission(wanted: dict[str, str], resource: str) -> Any:
    """Return a Dask plugin that gives each such worker, as it arrives, that resource."""
    from distributed import WorkerPlugin
    ask = question()

    class Admission(WorkerPlugin):
        """Sent as code: it refers to nothing of this module but its own values."""

        async def setup(self, worker: Any) -> None:
            """As many jobs at a time as it has threads."""
            if ask() == wanted:
                await worker.set_resources(**{resource: worker.state.nthreads})

    return Admission()
