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

"""The Parquet table of a flight in core, as its history."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from xplane_bridge.bridges.conversions.topics import CONTACTS_TOPIC
from xplane_bridge.common.controls import FLOWN
from xplane_bridge.laboratory.flights.analysis.quantities import (
    CONTACTS,
    EACH_FRAME,
    MEASURED,
    TARGET,
)
from xplane_bridge.laboratory.flights.analysis.series import Arrivals, History, make_flight, Series
from xplane_bridge.laboratory.flights.recordings import parquet_file, rosbag2
from xplane_bridge.laboratory.flights.recordings.topics import RecordingError
from xplane_bridge.laboratory.flights.scenario.quantities import AIRFRAME, MOTION, TARGETS

# What not every row has, each of these of its topics.
_NOW_AND_THEN = (
    (MEASURED, EACH_FRAME),
    (tuple(f'command_{name}' for name in FLOWN), ('command/controls',)),
    (tuple(f'target_{name}' for name in TARGETS), (TARGET,)),
    (CONTACTS, (CONTACTS_TOPIC,)),
)


def load_table(path: Path) -> History:
    """
    Read a table: what is null in a row is not in the series.

    Raises as parquet_file.read() does.
    """
    table = parquet_file.read(path, {name for names in (
        *(names for names, _ in _NOW_AND_THEN), MOTION, AIRFRAME) for name in names})
    columns, times = table.columns, table.columns['time']
    series: dict[str, Series] = {}
    topics: dict[str, Arrivals] = {}
    for names, of in _NOW_AND_THEN:
        found = [name for name in names if name in columns]
        if not found:
            continue
        known: Any = np.any([~np.isnan(columns[name]) for name in found], axis=0)
        if not known.any():
            continue
        if of == (TARGET,):
            # In force until the next one, which is told once.
            held = np.array([columns[name] for name in found])
            changed = ~((held[:, 1:] == held[:, :-1]) | (
                np.isnan(held[:, 1:]) & np.isnan(held[:, :-1]))).all(0)
            known = np.concatenate((known[:1], changed))
        for name in found:
            series[name] = Series(times[known], columns[name][known])
        topics |= dict.fromkeys(of, Arrivals(times[known], np.full(known.sum(), math.nan)))
    series |= {name: Series(times, columns[name])
               for name in (*MOTION, *AIRFRAME) if name in columns}
    if 'heading' not in series:
        raise RecordingError('the table has no heading, so it is of no flight')
    return make_flight('core', 0.0, series, topics, log_time=rosbag2.SIMULATED)
