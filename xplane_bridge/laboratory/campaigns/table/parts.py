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


"""The Parquet files of a campaign's rows, each a part of its table, as anybody made it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from xplane_bridge.common.tables.parquet import Parquet
from xplane_bridge.common.text import printable
from xplane_bridge.laboratory.campaigns.plan.plan import PlanError


def read(part: Path, names: Sequence[str] | None = None) -> Any:
    """Return rows as a pyarrow.Table, of all columns or some. Raises PlanError."""
    with damaged(part):
        return Parquet(part).table(names)


def rows(part: Path, *names: str) -> Iterator[tuple[Any, ...]]:
    """Yield what each row has in some columns. Raises PlanError."""
    yield from zip(*(column.to_pylist() for column in read(part, names)), strict=True)


def schema(part: Path) -> Any:
    """Return pyarrow's description of the columns. Raises PlanError."""
    with damaged(part):
        return Parquet(part).schema


@contextmanager
def damaged(part: Path) -> Iterator[None]:
    """Raise PlanError for whatever comes of reading a part."""
    try:
        yield
    except PlanError:
        raise
    except (OSError, ValueError, TypeError, IndexError, KeyError) as error:
        # ArrowException is a ValueError or an OSError.
        raise PlanError(f'{part} is damaged: {printable(str(error))}; delete it, and its flights '
                        'are flown again') from None
