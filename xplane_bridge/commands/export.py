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


"""export: the topics of a recording or capture as CSV, Parquet, MAT, MF4, FDR or MCAP."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Collection, Iterator, Sequence
import math
from pathlib import Path
import sys
from typing import Any

from xplane_bridge.bridges.links.captures.capture import is_capture
from xplane_bridge.bridges.ulyssix.conversion import load as load_map
from xplane_bridge.bridges.xplane_udp.protocol.data import VERSIONS
from xplane_bridge.common import optional
from xplane_bridge.common.command_line import (
    add_force_option,
    CommandParser,
    program,
    refuse_existing,
    subject,
    without_ros_arguments,
)
from xplane_bridge.common.plain_files import open_regular
from xplane_bridge.common.text import counted, printable
from xplane_bridge.laboratory.export import (
    captures,
    fdr,
    logs,
    own_tables,
    recordings,
    resampling,
    writers,
)
from xplane_bridge.laboratory.export.tables import is_named, joined, numbered, RowBatch, Warn
from xplane_bridge.laboratory.export.ulyssix import quality_report
from xplane_bridge.laboratory.export.ulyssix.captured import CapturedPackets
from xplane_bridge.laboratory.export.ulyssix.options import named_rate
from xplane_bridge.laboratory.export.ulyssix.recorder import UlyssixRecorder
from xplane_bridge.laboratory.flights.logs.files import ending
from xplane_bridge.laboratory.flights.recordings.completed import complete
from xplane_bridge.laboratory.flights.recordings.parquet_file import is_table

# Of what is not exported, and why.
_LONGEST_SENTENCE = 1000

# By format: whether it is a folder of a file per table, its writer, and what that needs.
_FORMATS = {
    'csv': (True, writers.write_csv, ()),
    'parquet': (True, writers.write_parquet, ('pyarrow',)),
    'mat': (False, writers.write_mat, ('scipy',)),
    'mf4': (False, writers.write_mf4, ('asammdf',)),
    'fdr': (False, fdr.write_fdr, ()),
}
# The messages of a recording as they are, and no tables.
_MCAP = 'mcap'


def main(argv: Sequence[str] | None = None) -> int:
    """
    Run the command; return its exit code.

    0: everything is exported; 1: what could be read is, and a sentence says what could not; 2:
    nothing is.
    """
    given = _parser().parse_args(without_ros_arguments(sys.argv[1:] if argv is None else argv))
    warnings: list[str] = []

    def warn(sentence: str) -> None:
        sentence = printable(sentence, _LONGEST_SENTENCE)
        if sentence not in warnings:
            warnings.append(sentence)
            print(f'export: {sentence}', file=sys.stderr)

    try:
        source = Path(given.source)
        if not source.exists():
            raise FileNotFoundError(f'there is no recording {source}')
        if given.to == _MCAP:
            output, counts = _completed(given, source, warn)
        else:
            output, counts = _written(given, source, warn)
    except (ImportError, OSError, ValueError) as error:
        # RecordingError and CaptureError are ValueErrors.
        print(f'export: {error}', file=sys.stderr)
        return 2
    except MemoryError:
        print(f'export: {source}: there is not enough memory; select --topics, or export to csv '
              'or parquet', file=sys.stderr)
        return 2
    row, table = ('message', 'topic') if given.to == _MCAP else ('row', 'table')
    print('\n'.join((
        f'{output}: {counted(sum(counts.values()), row)} of {counted(len(counts), table)}',
        *(f'  {printable(name, _LONGEST_SENTENCE)}: {count}' for name, count in counts.items()))))
    return 1 if warnings else 0


def _written(given: Namespace, source: Path, warn: Warn) -> tuple[Path, dict[str, int]]:
    """Write the tables; return where, and how many rows each has."""
    is_folder, write, packages = _FORMATS[given.to]
    optional.require(f'exporting to {given.to}', *packages, extra='export')
    output = _output(given, source)
    counts: dict[str, int] = {}
    qualities: list[dict[str, Any]] = []

    def judge(recorder: UlyssixRecorder) -> None:
        recorder.quality.report()
        qualities.append(quality_report.as_json(
            recorder.quality, recorder.session.statistics,
            {'source': source.name, 'map': given.map or '', 'not_sent': recorder.unsent},
            recorder.channels))
        if recorder.advice:
            print(f'in {given.map}, but not sent: {recorder.advice}')

    batches = _counted(_tables(given, source, warn, judge), counts)
    # Nothing is created before the first table is read.
    first = next(batches, None)
    if first is None:
        raise ValueError(f'{source}: there is nothing to export')
    output.parent.mkdir(parents=True, exist_ok=True)
    write(output, _behind(first, batches), _about(given), warn)
    for content in qualities:
        print(quality_report.table(content))
        quality_report.write(output / 'quality.json' if is_folder else (
            output.with_suffix('.quality.json')), content)
    return output, counts


def _completed(given: Namespace, source: Path, warn: Warn) -> tuple[Path, dict[str, int]]:
    """Write the messages of an MCAP file to one with an index; return where, and how many."""
    output = Path(given.output or source)
    if given.resample is not None:
        raise ValueError('--resample: messages stay as they are in mcap')
    if given.topics and output.exists() and output.samefile(source):
        raise ValueError('--topics: the other topics would be lost; name another --output')
    refuse_existing([output], given.force)
    output.parent.mkdir(parents=True, exist_ok=True)
    counts, sentences = complete(source, output, lambda topic: not given.topics or any(
        is_named(topic, name) for name in given.topics))
    for sentence in sentences:
        warn(sentence)
    return output, counts


def _behind(first: RowBatch, batches: Iterator[RowBatch]) -> Iterator[RowBatch]:
    yield first
    yield from batches


def _counted(batches: Iterator[RowBatch], counts: dict[str, int]) -> Iterator[RowBatch]:
    for batch in batches:
        counts[batch.table] = counts.get(batch.table, 0) + len(batch)
        yield batch


def _tables(
    given: Namespace, source: Path, warn: Warn, judge: Callable[[UlyssixRecorder], None]
) -> Iterator[RowBatch]:
    topics = tuple(given.topics or ())
    base: float | str | None = given.resample
    if isinstance(base, str) and topics and base not in topics:
        # Read for its times only.
        topics += (base,)
    if _is_capture(source):
        batches = _captured(given, source, topics, warn, judge)
    elif given.map:
        raise ValueError(f'--map is for captures of ulyssix, and {source} is none')
    elif is_table(source):
        batches = own_tables.read(source, topics, warn)
    elif ending(source):
        batches = logs.read(source, topics, warn)
    else:
        batches = recordings.read(source, topics, warn)
    batches = numbered(batches, warn)
    if base is None:
        yield from batches
        return
    tables = joined(batches)
    times = (resampling.find_times(tables, base) if isinstance(base, str)
             else resampling.grid(tables, base))
    for table in tables:
        if given.topics and not any(is_named(table.table, name) for name in given.topics):
            continue
        yield resampling.resampled(table, times)


def _captured(
    given: Namespace, source: Path, topics: Collection[str], warn: Warn,
    judge: Callable[[UlyssixRecorder], None],
) -> Iterator[RowBatch]:
    """Yield the tables of a capture."""
    protocol = given.protocol or captures.recognised(source)
    if protocol != 'ulyssix':
        if given.map:
            raise ValueError(
                f'--map is for captures of ulyssix, and {source} is one of {protocol}')
        yield from captures.read(
            source, topics, captures.CapturedMessages(protocol, given.version), warn)
        return
    packets = CapturedPackets(
        given.names or (), given.rate or (), given.year, given.utc_offset,
        load_map(given.map) if given.map else None)
    yield from captures.read(source, topics, packets, warn)
    judge(packets.recorder)


def _is_capture(source: Path) -> bool:
    if source.is_dir():
        return False
    with open_regular(source) as stream:
        return is_capture(stream.read(4).ljust(4, b'\0'))


def _output(given: Namespace, source: Path) -> Path:
    """Return where to write. Raises FileExistsError if something is there already."""
    is_folder = _FORMATS[given.to][0]
    stem = source.resolve().name if source.is_dir() else source.name.split('.')[0]
    output = Path(given.output) if given.output else (
        source.resolve().parent / (f'{stem}_{given.to}' if is_folder else f'{stem}.{given.to}'))
    if output.exists() and output.is_dir() != is_folder:
        raise ValueError(
            f'--output: {output} is a {"folder" if output.is_dir() else "file"}, expected a '
            f'{"folder" if is_folder else "file"} for {given.to}')
    refuse_existing([output], given.force)
    return output


def _about(given: Namespace) -> dict[str, str]:
    return {
        'source': Path(given.source).name,
        'resampled': '' if given.resample is None else str(given.resample),
        'made_by': 'xplane_bridge export',
    }


def _step_or_topic(text: str) -> float | str:
    try:
        step = float(text)
    except ValueError:
        return text
    if not (math.isfinite(step) and step > 0.0):
        raise ArgumentTypeError(f'got {text}, expected seconds above 0, or a topic')
    return step


def _parser() -> ArgumentParser:
    parser = CommandParser(
        program('export'),
        description='Write the topics of a recording, or the messages of a capture, '
        'for other tools: one table each, with units.')
    parser.add_argument(
        'source', help='an MCAP file, a rosbag2 folder, a Parquet table (of a flight in core, of '
        'ulyssix record, of this command), a log of PX4 (.ulg), ArduPilot (.bin) or X-Plane '
        '(.fdr), or a capture (pcap, pcapng, gzipped)')
    output, tables = subject(parser, 'output'), subject(parser, 'tables')
    output.add_argument(
        '--to', required=True, choices=(*_FORMATS, _MCAP), help='the format; mcap: the messages '
        'of an MCAP file as they are, with the index that a killed recorder has not written')
    output.add_argument(
        '--output', metavar='PATH', help='folder (csv, parquet) or file (others) to write; '
        'default: beside the source, and mcap in its place')
    add_force_option(output)
    tables.add_argument(
        '--topics', nargs='+', metavar='TOPIC',
        help='only these: full names, or their ends, such as imu/data')
    tables.add_argument(
        '--resample', type=_step_or_topic, metavar='SECONDS|TOPIC',
        help='all tables at the same times: every so many seconds, or those of a topic')
    capture = subject(parser, 'captures')
    capture.add_argument(
        '--protocol', choices=captures.CAPTURED,
        help='of the datagrams (default: as the ports say)')
    capture.add_argument(
        '--version', type=int, choices=VERSIONS, help='version of X-Plane, for names and units '
        'of data rows (xplane_udp)')
    capture.add_argument(
        '--map', metavar='FILE', help='Ulyssix: map.yaml with units, limits and derived '
        'parameters')
    capture.add_argument(
        '--names', nargs='+', metavar='NAME', help='Ulyssix: names of the parameters in order, '
        'for packets without names')
    capture.add_argument(
        '--rate', action='append', type=named_rate, metavar='NAME=RATE',
        help='Ulyssix: rate of parameters without time tags, samples per second; the name may be '
        'a pattern with * and ?')
    capture.add_argument(
        '--year', type=int, help='Ulyssix: year of the first packet (nearest to the capture)')
    capture.add_argument(
        '--utc-offset', type=float, default=0.0, metavar='HOURS',
        help="Ulyssix: how far the publisher's clock is ahead of UTC (0)")
    return parser
