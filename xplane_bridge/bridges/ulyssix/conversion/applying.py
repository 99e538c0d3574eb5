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

"""A map applied to packets: values in SI, derived parameters, and the quantities of topics."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.bridges.conversions.topics import topic_names
from xplane_bridge.bridges.ulyssix.conversion.alarms import Alarms, MOST_NAMED
from xplane_bridge.bridges.ulyssix.conversion.alignment import (
    Aligner,
    ParameterSeries,
    Times,
    Values,
)
from xplane_bridge.bridges.ulyssix.conversion.quantities import flu_sign, QUANTITIES
from xplane_bridge.bridges.ulyssix.conversion.reading import FASTEST, MapEntry, ParameterMap
from xplane_bridge.bridges.ulyssix.conversion.vehicle import fed_topics, NEEDED
from xplane_bridge.common.text import nearest


class PacketSamples(NamedTuple):
    """
    The samples of one packet, parameter after parameter.

    counts: int64, of each parameter. values: raw, all samples. times: of each sample in ns, int64.
    """

    counts: NDArray[np.int64]
    values: NDArray[Any]
    times: NDArray[np.int64]


class Derived(NamedTuple):
    """New samples of a derived parameter, in SI."""

    name: str
    times: Times
    values: Values


class TopicQuantities(NamedTuple):
    """
    What a common topic is made from, at common times.

    times: ns, int64. values: of each quantity by name, in the units of QUANTITIES, components in
    flu axes; NaN for unknown.
    """

    topic: str
    times: Times
    values: dict[str, Values]


class Unsent(NamedTuple):
    """What a map mentions and nobody sends: a name or pattern, in a derived one or in none."""

    name: str
    derived: str = ''

    def __str__(self) -> str:
        return f'{self.name} (in {self.derived})' if self.derived else self.name


@dataclass(slots=True)
class _Derivation:
    """How one derived parameter is computed: from where each name in its expression comes."""

    entry: MapEntry
    sources: tuple[int | str, ...]
    aligner: Aligner


@dataclass(slots=True)
class _Topic:
    name: str
    quantities: tuple[str, ...]
    sources: tuple[int | str, ...]
    signs: tuple[float, ...]
    aligner: Aligner


class AppliedMap:
    """
    Applies a map to the packets of one publisher.

    ``follow`` says the names of the parameters, then ``take`` each packet; ``wanted`` limits the
    common topics. entries are those of the parameters in packet order, None for one that is not
    in the map. A source is the number of a parameter in the packet, or the name of a derived one.
    """

    def __init__(self, given: ParameterMap) -> None:
        self.given = given
        self.alarms = Alarms((*given.parameters, *given.derived))
        self.names: tuple[str, ...] = ()
        self.entries: tuple[MapEntry | None, ...] = ()
        self.chosen: dict[str, str] = {}
        self.unsent: tuple[Unsent, ...] = ()
        self._advice: list[str] | None = None
        self._derivations: list[_Derivation] = []
        self._topics: list[_Topic] = []

    @property
    def derived(self) -> tuple[MapEntry, ...]:
        """Return the derived parameters whose sources are all sent."""
        return tuple(one.entry for one in self._derivations)

    # Names.

    def follow(self, names: Sequence[str]) -> None:
        """
        Apply the map to parameters of these names, in packet order; start over.

        Sets ``chosen``, which parameter each quantity is taken from, and ``unsent``, what the map
        mentions and nobody sends.
        """
        self.names = tuple(names)
        self.entries = tuple(map(self.given.entry, names))
        used = {entry.pattern for entry in self.entries if entry}
        unsent = [Unsent(one.pattern) for one in self.given.parameters if one.pattern not in used]
        lacking: dict[str, str] = {}
        # In an expression, by its own name or by that of its topic.
        sources: dict[str, int | str] = {}
        for n, (name, topic) in enumerate(zip(names, topic_names(names), strict=True)):
            sources.setdefault(topic, n)
            sources[name] = n
        self._derivations = []
        for entry in self.given.derived:
            assert entry.expression is not None
            needed = entry.expression.names
            missing = [name for name in needed if name not in sources]
            if missing:
                unsent += [Unsent(name, entry.pattern) for name in missing]
                lacking[entry.pattern] = missing[0]
                continue
            self._derivations.append(_Derivation(
                entry, tuple(sources[name] for name in needed),
                Aligner([self._turn(sources[name]) for name in needed])))
            sources[entry.pattern] = entry.pattern
        self.unsent, self._advice = tuple(unsent), None
        self._choose()
        self.alarms.follow(
            [(n, name, entry) for n, (name, entry) in enumerate(
                zip(names, self.entries, strict=True)) if entry],
            [(one.entry.pattern, one.entry) for one in self._derivations], lacking)

    def advice(self) -> list[str]:
        """Return ``unsent`` as texts, the first ones with the name that may be meant."""
        if self._advice is not None:
            return self._advice
        free = [name for name, entry in zip(self.names, self.entries, strict=True) if not entry]
        texts = []
        for at, one in enumerate(self.unsent):
            near = nearest(one.name, self.names if one.derived else free) if (
                at < MOST_NAMED) else ()
            remarks = [*([f'in {one.derived}'] if one.derived else []),
                       *([f'did you mean {" or ".join(near)}?'] if near else [])]
            texts.append(one.name + (f' ({"; ".join(remarks)})' if remarks else ''))
        self._advice = texts
        return texts

    def delays(self) -> dict[str, float]:
        """Return by how many s each derived parameter and topic waits for its slowest source."""
        return {**{one.entry.pattern: one.aligner.delay for one in self._derivations},
                **{one.name: one.aligner.delay for one in self._topics}}

    def restart(self) -> None:
        """Forget the samples: the publisher was restarted."""
        for aligner in (*(one.aligner for one in self._derivations),
                        *(one.aligner for one in self._topics)):
            aligner.restart()

    def _entry(self, source: int | str) -> MapEntry | None:
        if isinstance(source, int):
            return self.entries[source]
        return next(one.entry for one in self._derivations if one.entry.pattern == source)

    def _turn(self, source: int | str) -> float:
        """Return the full turn of an angle in its own unit, 0 of anything else."""
        entry = self._entry(source)
        if entry is None or not entry.quantity:
            return 0.0
        return abs(QUANTITIES[entry.quantity].turn / entry.unit.factor)

    def _choose(self) -> None:
        """Choose the source of each quantity: a derived one, or the first in the map."""
        sources: dict[str, int | str] = {}
        for one in self._derivations:
            if one.entry.quantity:
                sources.setdefault(one.entry.quantity, one.entry.pattern)
        for entry in self.given.parameters:
            for n, found in enumerate(self.entries):
                if found is entry and entry.quantity:
                    sources.setdefault(entry.quantity, n)
        self.chosen = {quantity: self.names[source] if isinstance(source, int) else source
                       for quantity, source in sources.items()}
        self._topics = []
        for topic in fed_topics(sources):
            required, optional = NEEDED[topic]
            names = tuple(dict.fromkeys(
                name for name in (*(each for names in required for each in names), *optional)
                if name in sources))
            entries = [self._entry(sources[name]) for name in names]
            self._topics.append(_Topic(
                topic, names, tuple(sources[name] for name in names),
                tuple(flu_sign(name, entry.frame) for name, entry in zip(
                    names, entries, strict=True) if entry),
                Aligner([QUANTITIES[name].turn for name in names],
                        self.given.rates.get(topic, 0.0), FASTEST)))

    # Packets.

    def to_si(self, number: int, values: NDArray[Any]) -> NDArray[Any]:
        """Return values of a parameter by its number in the packet; raw if it is in no map."""
        entry = self.entries[number] if number < len(self.entries) else None
        if entry is None:
            return values
        return values.astype(np.float64) * entry.factor + entry.addend

    def take(
        self, packet: PacketSamples, wanted: Collection[str] | None = None, now: float = np.nan
    ) -> tuple[list[Derived], list[TopicQuantities]]:
        """
        Return the derived samples and the quantities that a packet completes; check limits.

        ``now`` is when it arrived, in s of a monotonic clock, for those alarms that are silence.
        """
        if len(packet.counts) != len(self.entries):
            return [], []
        self.alarms.check(packet.counts, packet.values, now)
        if not self._derivations and not self._topics:
            return [], []
        ends = np.cumsum(packet.counts)
        own: dict[int | str, ParameterSeries] = {}

        def series(source: int | str) -> ParameterSeries:
            """Return a parameter's samples in its own unit."""
            if source not in own:
                assert isinstance(source, int)
                end = int(ends[source])
                chosen = slice(end - int(packet.counts[source]), end)
                values = packet.values[chosen].astype(np.float64)
                if entry := self.entries[source]:
                    values *= entry.scale
                    values += entry.offset
                own[source] = ParameterSeries(packet.times[chosen], values)
            return own[source]

        derived = []
        for one in self._derivations:
            own[one.entry.pattern] = found = _derive(one, [series(each) for each in one.sources])
            self.alarms.check_derived(one.entry.pattern, found.values, now)
            if len(found.times):
                derived.append(Derived(one.entry.pattern, found.times, _si(one.entry, found)))
        return derived, list(self._quantities(series, wanted))

    def _quantities(
        self, series: Any, wanted: Collection[str] | None
    ) -> Iterator[TopicQuantities]:
        for topic in self._topics:
            if wanted is not None and topic.name not in wanted:
                continue
            inputs = []
            for source, sign in zip(topic.sources, topic.signs, strict=True):
                entry, found = self._entry(source), series(source)
                assert entry is not None
                inputs.append(ParameterSeries(found.times, sign * _si(entry, found)))
            times, values = topic.aligner.add(inputs)
            known = ~np.isnan(values).all(axis=0)
            if not known.all():
                # In a gap of all of them there is nothing to publish.
                times, values = times[known], values[:, known]
            if len(times):
                yield TopicQuantities(
                    topic.name, times, dict(zip(topic.quantities, values, strict=True)))


def _derive(one: _Derivation, inputs: Sequence[ParameterSeries]) -> ParameterSeries:
    assert one.entry.expression is not None
    times, values = one.aligner.add(inputs)
    named = dict(zip(one.entry.expression.names, values, strict=True))
    return ParameterSeries(times, one.entry.expression(named))


def _si(entry: MapEntry, found: ParameterSeries) -> Values:
    return found.values * entry.unit.factor + entry.unit.offset
