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


"""A map over processes, or, with one of them, in this one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
import multiprocessing
from typing import Any

from xplane_bridge.common.processes.supervised import end_with_parent

Mapping = Callable[..., Iterable[Any]]
"""As the built-in map; results are in the order of the arguments."""


@contextmanager
def mapping(workers: int) -> Iterator[Mapping]:
    """Give a map that spreads its calls over ``workers`` processes."""
    if workers == 1:
        yield map
        return
    # Fork is not safe beside threads, and the processor time of a forkserver's is not counted.
    context = multiprocessing.get_context('spawn')
    with ProcessPoolExecutor(workers, context, end_with_parent) as executor:
        yield executor.map
