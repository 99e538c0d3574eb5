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

"""``ulyssix record``: parameters from the network or a capture to Parquet, MF4, MAT or CSV."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from contextlib import suppress
from datetime import datetime, UTC
from pathlib import Path
import sys
from tempfile import TemporaryFile
import threading
import time
from typing import TextIO

from xplane_bridge.bridges.links.captures.writing import CaptureFile
from xplane_bridge.bridges.sessions.base import PeerState
from xplane_bridge.bridges.ulyssix.conversion import load
from xplane_bridge.bridges.ulyssix.conversion.alarms import listed
from xplane_bridge.bridges.ulyssix.protocol import WordOrder
from xplane_bridge.bridges.ulyssix.session import CONSTANT_AFTER, mixed, Timeline, UlyssixSession
from xplane_bridge.common.command_line import (
    add_force_option,
    refuse_existing,
    seconds,
    subject,
    terminal,
)
from xplane_bridge.common.plain_files import WriteError
from xplane_bridge.common.signals import calling_on_signal
from xplane_bridge.common.text import counted, printable
from xplane_bridge.laboratory.export.ulyssix import quality_report
from xplane_bridge.laboratory.export.ulyssix.files import LAYOUTS, make_output, Output, PERIODS
from xplane_bridge.laboratory.export.ulyssix.options import add_network, add_reading, byte_count
from xplane_bridge.laboratory.export.ulyssix.recorder import about, PAUSE, UlyssixRecorder
from xplane_bridge.laboratory.export.ulyssix.sources import (
    Arrival,
    Capture,
    DatagramSource,
    Network,
)

# Of datagrams that are no packets: enough to see what they are (bytes).
_MOST_GARBAGE = 256 * 1024
# A table of which less is filled is better a long one.
_SPARSE = 0.1
# Seconds between two status lines: in a terminal; elsewhere, or a tenth of the duration.
_EACH, _SELDOM = 1.0, 10.0
_HINT = UlyssixSession.advice[PeerState.UNKNOWN]


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options; those of receiving and reading are called as ulyssix_node's parameters."""
    parser.add_argument(
        'capture', nargs='?', help='a capture (pcap, pcapng) to read instead of the network')
    output, parameters, end = (
        subject(parser, title) for title in ('output', 'parameters', 'end'))
    output.add_argument(
        '--to', required=True, metavar='FILE', type=Path,
        help='flight.parquet, flight.mf4, flight.mat or flight.csv')
    add_force_option(output)
    output.add_argument(
        '--layout', choices=LAYOUTS, default='wide',
        help='of Parquet and CSV: a column for each parameter, or a row for each sample; of MAT: '
        'a struct for all parameters, or one for each, with its own times (%(default)s)')
    parameters.add_argument(
        '--map', metavar='FILE', help='map.yaml: units, limits, derived parameters')
    parameters.add_argument(
        '--only', nargs='+', default=[], metavar='NAME',
        help='record these parameters; patterns with * and ?')
    end.add_argument(
        '--duration', type=seconds, metavar='S', help='end after so many seconds')
    end.add_argument(
        '--size-limit', type=byte_count, metavar='BYTES',
        help='end when the file and the journal beside it have this size, such as 2G')
    output.add_argument(
        '--keep-capture', action='store_true',
        help='keep the received datagrams in FILE.pcap, to be read again with another map')
    parser.add_argument('--quiet', action='store_true', help='print no status lines')
    parameters.add_argument(
        '--constant-after', type=seconds, default=CONSTANT_AFTER, metavar='S',
        help='without a change for this long a parameter is constant or stuck (%(default)g)')
    add_network(subject(parser, 'receiving').add_argument)
    add_reading(subject(parser, 'reading packets').add_argument)


def run(given: Namespace) -> int:
    """
    Record; return the exit code.

    0: everything that arrived is recorded; 1: some is not, and a sentence says what; 2: nothing
    is.
    """
    jobs: list[_Job] = []
    stopping = threading.Event()

    def stop() -> None:
        stopping.set()
        for job in jobs:
            job.stop()

    # Before anything is open: whoever reads that it records may end it at once.
    with calling_on_signal(stop, finish=True):
        try:
            jobs.append(_Job(given))
        except (ImportError, OSError, ValueError) as error:
            # LinkError is an OSError, MapError and CaptureError are ValueErrors.
            _say(str(error))
            return 2
        if stopping.is_set():
            jobs[0].stop()
        return jobs[0].run()


def _say(*sentences: str) -> None:
    for sentence in sentences:
        print(f'ulyssix: {sentence}', file=sys.stderr, flush=True)


class _Job:
    """One recording, from opening the source to the report."""

    def __init__(self, given: Namespace) -> None:
        self._given = given
        self._to: Path = given.to
        if not given.capture and not given.port:
            raise ValueError('give --port, or a capture to read')
        if given.capture and not Path(given.capture).is_file():
            raise FileNotFoundError(f'there is no capture {given.capture}')
        self._check_files()
        self._is_wide = given.layout == 'wide' and self._to.suffix.lower() != '.mf4'
        chart = load(given.map) if given.map else None
        session = _session(given)
        self._output: Output = make_output(
            self._to, given.layout, about(given.capture or '', {
                'map': given.map, 'recorded': datetime.now(UTC).isoformat()}))
        self._recorder = UlyssixRecorder(
            session, self._output.write, PERIODS[self._to.suffix.lower()], given=chart,
            only=given.only, constant_after=given.constant_after, is_wide=self._is_wide)
        self._journal: CaptureFile | None = None
        self._source: DatagramSource = self._open()
        self._reason = ''
        self._failure = ''
        self._reported = (0.0, 0)
        self._advised = ''
        # Bytes of files, as of the last second, and of datagrams that were no packets.
        self._written = self._garbage = 0

    def _check_files(self) -> None:
        """Refuse to overwrite, and find out whether the folder can be written to."""
        self._pcap = self._to.with_name(self._to.name + '.journal.pcap')
        self._kept = self._to.with_suffix('.pcap')
        self._json = self._to.with_suffix('.quality.json')
        is_live = not self._given.capture
        if is_live and self._pcap.exists():
            raise FileExistsError(
                f'{self._pcap} is left of a recording that was killed: ulyssix record '
                f'{self._pcap} --to {self._to} --force makes the file; then delete it')
        # Their own output is not what keeps a capture from being read.
        kept = [self._kept] if is_live and self._given.keep_capture else []
        for path in (self._to, *kept):
            if path.is_dir():
                raise IsADirectoryError(f'{path} is a folder, expected a file')
        refuse_existing((self._to, self._json, *kept), self._given.force, elsewhere='--to')
        if not self._to.resolve().parent.is_dir():
            raise FileNotFoundError(f'there is no folder {self._to.resolve().parent}')
        try:
            TemporaryFile(dir=self._to.resolve().parent).close()
        except OSError as error:
            raise OSError(
                f'{self._to.resolve().parent} cannot be written to: {error.strerror}') from None

    def _open(self) -> DatagramSource:
        given = self._given
        if given.capture:
            return Capture(Path(given.capture), given.port, given.sender)
        network = Network(
            given.port, bind_address=given.bind_address, group=given.group,
            sender=given.sender, receive_buffer=given.receive_buffer)
        try:
            # CSV is complete up to the last second as it is.
            if given.keep_capture or self._to.suffix.lower() != '.csv':
                self._journal = CaptureFile(self._pcap, network.destination)
        except OSError:
            network.close()
            raise
        if network.granted < given.receive_buffer:
            _say(f'the kernel grants a receive buffer of {network.granted} of '
                 f'{given.receive_buffer} bytes, so packets may be lost in busy moments; allow '
                 f'more: sysctl -w net.core.rmem_max={given.receive_buffer}')
        if not given.sender and not given.bind_address.startswith('127.'):
            _say(f'whoever reaches {network.where} can write into this recording: name the '
                 'publisher by --sender HOST, or listen to this computer only by --bind-address '
                 '127.0.0.1')
        print(f'recording {network.where} to {self._to}; Ctrl-C ends it', flush=True)
        return network

    def stop(self) -> None:
        """End the recording; from another thread."""
        self._source.close()

    def run(self) -> int:
        """Record to the end; report; return the exit code."""
        try:
            self._loop()
        except (OSError, ValueError) as error:
            self._failure = _sentence(error)
        finally:
            self._source.close()
        return self._finish()

    def _loop(self) -> None:
        recorder = self._recorder
        duration = self._given.duration
        each = _EACH if sys.stderr.isatty() else max(
            duration / 10.0 if duration else _SELDOM, _EACH)
        begin = reported = told = None
        for arrival in self._source.arrivals():
            now = time.monotonic() if arrival is None else arrival.now
            if begin is None:
                begin = reported = told = now
                recorder.start(now)
            assert reported is not None
            assert told is not None
            if duration and now - begin >= duration:
                return
            before = recorder.session.statistics.malformed.total
            recorder.take(arrival, now)
            if arrival is not None and self._journal is not None:
                self._keep(
                    self._journal, arrival, recorder.session.statistics.malformed.total > before)
            if self._is_full():
                self._reason = f'at the limit of {self._given.size_limit} bytes'
                return
            if now - reported >= 1.0:
                if self._journal is not None:
                    self._journal.flush()
                if not self._given.capture and not self._given.quiet and now - told >= each:
                    self._tell(now - begin, now - told)
                    told = now
                self._advise()
                reported = now
                self._written = self._output.written()

    def _keep(self, journal: CaptureFile, arrival: Arrival, is_garbage: bool) -> None:
        """Write a datagram into the journal; of those that are no packets a sample."""
        if is_garbage:
            self._garbage += len(arrival.data)
            if self._garbage > _MOST_GARBAGE:
                return
        journal.write(arrival.data, arrival.stamp_ns, arrival.sender)

    def _is_full(self) -> bool:
        limit = self._given.size_limit
        return bool(limit) and self._written + self._journaled() >= limit

    def _journaled(self) -> int:
        return self._journal.size if self._journal is not None else 0

    def _size(self) -> int:
        return self._output.written() + self._journaled()

    def _advise(self) -> None:
        """Say at once what the map mentions and nobody sends: its limits are not watched."""
        advice = self._recorder.advice
        if advice and advice != self._advised:
            _say(f'in {self._given.map}, but not sent: {advice}')
        self._advised = advice

    def _tell(self, since: float, period: float) -> None:
        """Print the status line."""
        session, recorder = self._recorder.session, self._recorder
        statistics = session.statistics
        rate = (recorder.samples - self._reported[1]) / period
        self._reported = since, recorder.samples
        if session.peer_state is PeerState.STREAMING or statistics.packets:
            state = f'; nothing for {recorder.silence:.0f} s' if recorder.silence > PAUSE else ''
            found = recorder.quality.report(renew=False).faults()
            # Those of now, with their values.
            found['out of limits'] = tuple(recorder.out_of_limits())
            faults = '; '.join(
                f'{kind}: {listed(names)}' for kind, names in found.items() if names)
            if session.mixed:
                faults = mixed(session.mixed, 'record one with --sender')
            text = (
                f'{since:6.0f} s  {counted(statistics.packets, "packet")}, '
                f'{statistics.lost} lost, '
                f'{rate:.0f} samples/s, {self._size() / 1e6:.1f} MB'
                + state + (f'  {faults}' if faults else ''))
        elif statistics.malformed:
            text = f'no datagram received is a Ulyssix packet: {statistics.last_error}'
        else:
            text = f'{since:6.0f} s  nothing heard yet; {_HINT}'
        _print_line(sys.stderr, text)

    def _finish(self) -> int:
        recorder, output = self._recorder, self._output
        if sys.stderr.isatty():
            print(file=sys.stderr)
        try:
            if not self._failure:
                recorder.finish()
        except (OSError, ValueError) as error:
            self._failure = _sentence(error)
        try:
            output.close()
        except (OSError, ValueError) as error:
            self._failure = self._failure or _sentence(error)
        complaints = [*self._source.problems(), *recorder.warnings, *self._left_out()]
        if recorder.mixed:
            complaints.append(mixed(recorder.mixed, 'record one with --sender'))
        if not recorder.samples:
            self._drop_journal(False)
            _say(self._failure or self._nothing(), *complaints)
            return 2
        self._report()
        is_kept = bool(self._output.paths) or self._journal is not None
        self._drop_journal(bool(self._failure))
        if self._failure:
            complaints.append(self._failure)
        _say(*complaints)
        if not is_kept:
            return 2
        return 1 if complaints else 0

    def _left_out(self) -> list[str]:
        statistics, filled = self._recorder.session.statistics, self._recorder.filled
        found = [f'{count} {text}' for count, text in (
            (statistics.malformed.total, f'datagrams are no packets: {statistics.last_error}'),
            (statistics.skipped.total, 'packets of other types are skipped')) if count]
        if self._is_wide and filled < _SPARSE:
            found.append(
                f'of the table only {100 * filled:.2g} % is filled, because the parameters have '
                'different sample times: --layout long is smaller and faster')
        return found

    def _nothing(self) -> str:
        where = self._given.capture or f'port {self._given.port}'
        if self._recorder.session.statistics.packets:
            return f'{where}: there is nothing to record of the packets that arrived'
        return f'{where}: no packet; ' + (
            'is it a capture of Ulyssix, and of that --port and --sender?'
            if self._given.capture else _HINT)

    def _drop_journal(self, is_needed: bool) -> None:
        journal, self._journal = self._journal, None
        if journal is None:
            return
        try:
            if is_needed:
                # The disk may have no room for its last second either.
                with suppress(OSError):
                    journal.close()
                # It may be more than MAT holds.
                to = self._to.with_suffix('.parquet') if self._to.suffix.lower() == '.mat' else (
                    self._to)
                _say(f'{journal.path} has what arrived until then: ulyssix record {journal.path} '
                     f'--to {to} --force makes the file where there is room')
            elif self._given.keep_capture and self._recorder.samples:
                journal.close()
                journal.path.replace(self._kept)
            else:
                journal.remove()
        except OSError as error:
            self._failure = self._failure or _sentence(error)

    def _report(self) -> None:
        """Print and write the quality."""
        recorder = self._recorder
        recorder.quality.report()
        start, end = recorder.start_ns or 0, recorder.end_ns or 0
        content = quality_report.as_json(
            recorder.quality, recorder.session.statistics,
            {'files': [path.name for path in self._output.paths], 'start': _iso(start),
             'end': _iso(end), 'map': self._given.map or '', 'not_sent': recorder.unsent,
             'senders_mixed': [one._asdict() for one in recorder.mixed],
             'pauses': recorder.pauses, 'longest_pause': round(recorder.longest_pause, 3),
             'silent_at_end': round(recorder.silence, 3)},
            recorder.channels, recorder.wants)
        print(quality_report.table(content))
        if recorder.advice:
            print(f'in {self._given.map}, but not sent: {recorder.advice}')
        written = ''
        try:
            quality_report.write(self._json, content)
            written = f'; quality in {self._json}'
        except OSError as error:
            self._failure = self._failure or _sentence(error)
        files = ', '.join(map(str, self._output.paths)) or 'no file'
        ended = 'by an error' if self._failure else self._reason or 'as asked'
        print(f'{files}: {counted(recorder.samples, "sample")} of '
              f'{counted(len(recorder.channels), "parameter")}, '
              f'{(end - start) / 1e9:.1f} s, ended {ended}{written}', flush=True)


def _session(given: Namespace) -> UlyssixSession:
    if not -14.0 <= given.utc_offset <= 14.0:
        raise ValueError(f'--utc-offset: got {given.utc_offset:g}, expected -14 to 14 hours')
    if given.year and not 1970 <= given.year <= 2037:
        raise ValueError(f'--year: got {given.year}, expected 1970 to 2037')
    return UlyssixSession(
        Timeline(
            word_order=None if given.word_order == 'auto' else WordOrder(given.word_order),
            day_base=None if given.day_base == 'auto' else int(given.day_base),
            year=given.year or None, utc_offset_hours=given.utc_offset),
        integer_width=None if given.integer_width == 'auto' else int(given.integer_width),
        names=tuple(given.parameter_names), rates=tuple(given.sample_rates))


def _sentence(error: Exception) -> str:
    return f'{error}; the recording ends here' if isinstance(error, WriteError) else str(error)


def _iso(ns: int) -> str:
    return datetime.fromtimestamp(ns / 1e9, UTC).isoformat()


def _print_line(stream: TextIO, text: str) -> None:
    """Print a line, over the previous one on a terminal."""
    if stream.isatty():
        print(f'\r\x1b[K{printable(text, 150)}', end='', file=terminal(stream), flush=True)
    else:
        print(text, file=stream, flush=True)
