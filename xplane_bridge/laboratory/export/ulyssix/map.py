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

"""``ulyssix map``: a first map of a publisher's parameters, from a capture."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
import sys

import numpy as np

from xplane_bridge.bridges.ulyssix import conversion as maps
from xplane_bridge.bridges.ulyssix.conversion.first_map import (
    first_map,
    ObservedParameter,
    summary,
)
from xplane_bridge.bridges.ulyssix.session import (
    CHANNEL,
    mixed,
    PacketReceived,
    Timeline,
    UlyssixSession,
)
from xplane_bridge.common import plain_files
from xplane_bridge.common.command_line import add_force_option, refuse_existing
from xplane_bridge.common.plain_files import WriteError
from xplane_bridge.common.text import counted
from xplane_bridge.common.timing import SECOND_NS
from xplane_bridge.laboratory.export.ulyssix.sources import Capture, DatagramSource


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of ``ulyssix map``."""
    parser.description = (
        'Write a first map.yaml: the parameters of a capture, with quantity and unit guessed by '
        'their names, and the range that was seen.')
    parser.add_argument(
        '--from', dest='source', required=True, metavar='CAPTURE',
        help='a capture (pcap, pcapng, gzipped) of the packets')
    parser.add_argument(
        '--port', type=int, default=0, help='UDP port they were sent to (any)')
    parser.add_argument(
        '--sender', default='', metavar='HOST[:PORT]', help='who sent them (anybody)')
    parser.add_argument(
        '--names', nargs='+', default=(), metavar='NAME',
        help='names of the parameters in order, for packets without names')
    parser.add_argument('--output', metavar='FILE', help='the map to write (standard output)')
    add_force_option(parser)


def run(arguments: Namespace) -> int:
    """Write the map; return the exit code: 0, 1 for a damaged capture, 2 if there is no map."""
    try:
        output = Path(arguments.output) if arguments.output else None
        if output is not None:
            refuse_existing([output], arguments.force)
        if not Path(arguments.source).exists():
            raise ValueError(f'there is no capture {arguments.source}')
        survey = Survey(tuple(arguments.names))
        problems = survey.read(Capture(
            Path(arguments.source), arguments.port, arguments.sender))
        text = first_map(survey.seen(), Path(arguments.source).name)
        maps.parse(text, 'the map')
        if output is None:
            print(text, end='')
        else:
            plain_files.write(output, text)
            print(f'{output}: {summary(survey.seen())}')
    except (ValueError, ImportError, FileExistsError, WriteError) as error:
        # CaptureError and MapError are ValueErrors.
        print(f'ulyssix map: {error}', file=sys.stderr)
        return 2
    except OSError as error:
        print(f'ulyssix map: {error.filename}: {error.strerror}', file=sys.stderr)
        return 2
    for problem in problems:
        print(f'ulyssix map: {problem}', file=sys.stderr)
    return 1 if problems else 0


class Survey:
    """The names, rates and ranges of the parameters in packets."""

    def __init__(self, names: tuple[str, ...] = ()) -> None:
        self._names = names
        self._seen: dict[str, ObservedParameter] = {}
        self._times: dict[str, tuple[int, int]] = {}

    def seen(self) -> list[ObservedParameter]:
        """Return what was seen of each parameter, with its rate."""
        for name, (first, last) in self._times.items():
            one = self._seen[name]
            one.rate = (one.samples - 1) * SECOND_NS / (last - first) if last > first else 0.0
        return list(self._seen.values())

    def read(self, source: DatagramSource) -> list[str]:
        """
        Read a capture, or what else has datagrams; return what is wrong with it.

        Raises ValueError if there is no named parameter in it.
        """
        timeline = Timeline()
        session = UlyssixSession(timeline, names=self._names)
        session.start(0.0)
        packets = 0
        for arrival in source.arrivals():
            if arrival is None:
                continue
            for event in session.receive(CHANNEL, arrival.data, arrival.sender, arrival.now):
                if isinstance(event, PacketReceived):
                    packets += 1
                    placed = timeline.place(event.packet, arrival.stamp_ns)
                    self._take(event, placed.times, placed.first_ns)
        if not packets:
            raise ValueError('; '.join((
                f'{source.where}: there is no Ulyssix packet, of that --port and --sender',
                *source.problems(),
                *([session.statistics.last_error] if session.statistics.malformed else []))))
        if not self._seen:
            raise ValueError(
                f'{source.where}: packets have no names: give them in order with --names; they '
                f'have {counted(session.parameter_count or 0, "parameter")}')
        return [*source.problems(), *(
            [mixed(session.mixed, 'for a map of one, give --sender')] if session.mixed else [])]

    def _take(
        self, event: PacketReceived, times: np.ndarray[tuple[int], np.dtype[np.int64]] | None,
        first_ns: int,
    ) -> None:
        packet = event.packet
        ends = np.cumsum(packet.counts)
        for n, name in enumerate(event.names):
            one = self._seen.setdefault(name, ObservedParameter(name))
            part = slice(int(ends[n] - packet.counts[n]), int(ends[n]))
            values = packet.values[part]
            values = values[np.isfinite(values)]
            if not len(values):
                continue
            one.samples += len(values)
            one.least = float(np.fmin(one.least, values.min()))
            one.most = float(np.fmax(one.most, values.max()))
            first, last = (first_ns, first_ns) if times is None else (
                int(times[part][0]), int(times[part][-1]))
            self._times[name] = self._times.get(name, (first, last))[0], last
