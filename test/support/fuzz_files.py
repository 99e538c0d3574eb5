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
Files of strangers, mutated: each is read by this package's own code under a memory limit.

fuzz_files.py KIND SEED COUNT FOLDER reads COUNT mutants of a KIND of file, made in FOLDER. A file
may be read, or refused by a sentence that is short and printable; nothing else. The mutant that
is being read lies in FOLDER, for whoever wants to see what ended the process.
"""

from contextlib import redirect_stderr, redirect_stdout, suppress
import io
import os
from pathlib import Path
import resource
import shutil
import signal
import struct
import subprocess
import sys
import traceback

from fuzz import is_fit_for_people, Mutator

from xplane_bridge.common.text import printable

MEMORY = 2_000_000_000
# How often a valid file is drawn for each crafted one.
VALID = 6
# Bytes of a mutant.
LARGEST = 10**6
# Seconds of processor time for one mutant.
LONGEST = 60
# Characters of a sentence about one.
LONGEST_LINE = 2000

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / 'xplane_bridge' / 'data'


class Plain:
    """A file that is read by one function, which refuses it by a ValueError."""

    def __init__(self, suffix, seeds, read):
        self._suffix = suffix
        self._seeds = seeds
        self._read = read

    def seeds(self, folder):
        """Return the contents of valid files."""
        return [path.read_bytes() for path in self._seeds]

    def read(self, data, folder):
        """Read one mutant; return what is told to people."""
        path = folder / f'mutant{self._suffix}'
        path.write_bytes(data)
        try:
            self._read(str(path))
        except ValueError as error:
            # As every command prints it.
            return printable(str(error), LONGEST_LINE)
        return ''


def _scenario():
    from xplane_bridge.laboratory.flights.scenario.scenario import load
    return Plain('.yaml', [*(DATA / 'scenarios').glob('*.yaml')], load)


def _plan():
    from xplane_bridge.laboratory.campaigns.plan.plan import load
    return Plain('.yaml', [*(DATA / 'campaigns').glob('*.yaml')], load)


def _map():
    from xplane_bridge.bridges.ulyssix.conversion.reading import load
    return Plain('.yaml', [ROOT / 'config' / 'ulyssix_map.yaml'], load)


def _gains():
    from xplane_bridge.laboratory.control.gains import load
    return Plain('.yaml', [*(DATA / 'gains').glob('*.yaml')], load)


def _sensors():
    from xplane_bridge.laboratory.sensors.specification import load, presets
    folder = DATA / 'sensors'
    assert presets()
    return Plain('.yaml', [*folder.glob('*.yaml')], load)


def _policy():
    from xplane_bridge.laboratory.control.policy.load import load
    return Plain('.onnx', [*(DATA / 'policies').glob('*.onnx')], load)


class Aircraft(Plain):
    """An aircraft in JSBSim's form; JSBSim itself may end the process, so each has its own."""

    def __init__(self):
        import jsbsim
        root = Path(jsbsim.get_default_root_dir(), 'aircraft')
        super().__init__('.xml', [root / name / f'{name}.xml' for name in ('c172p', 'ball')], None)

    def read(self, data, folder):
        """Load one mutant, and fly it for a moment; return what is told to people."""
        from xplane_bridge.simulation.aircraft.aircraft import Aircraft as Flown
        place = folder / 'mutant'
        place.mkdir(exist_ok=True)
        (place / 'mutant.xml').write_bytes(data)
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            told, code = '', 0
            try:
                Flown('mutant', aircraft_path=str(folder)).advance(0.1)
            except ValueError as error:
                told = printable(str(error), LONGEST_LINE)
            except BaseException:
                told, code = traceback.format_exc(), 1
            os.write(writer, told.encode())
            os._exit(code)
        os.close(writer)
        with open(reader, 'rb') as stream:
            told = stream.read().decode()
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status) or not status, told
        return told


class Recording:
    """A recording that export reads: an MCAP file, or a folder of one and its metadata."""

    def seeds(self, folder):
        """Return a small recording, compressed and not."""
        from mcap.writer import CompressionType, Writer
        seeds = []
        for compression in (
                CompressionType.NONE, CompressionType.ZSTD, CompressionType.LZ4):
            stream = io.BytesIO()
            writer = Writer(stream, chunk_size=256, compression=compression)
            writer.start('ros2', 'test')
            schema = writer.register_schema(
                'test_msgs/msg/Thing', 'ros2msg',
                b'float64 value\nstring name\nfloat32[] more\nuint8[4] bytes\n')
            channel = writer.register_channel('/thing', 'cdr', schema)
            for number in range(8):
                data = struct.pack(
                    '<4sdI8sI2f4B', b'\0\1\0\0', number, 8, b'a thing\0', 2, 1.0, 2.0, 1, 2, 3, 4)
                writer.add_message(channel, number * 10**8, data, number * 10**8)
            writer.finish()
            seeds.append(stream.getvalue())
        return seeds

    def read(self, data, folder):
        """Export one mutant, and complete it; return what is told to people."""
        from xplane_bridge.laboratory.flights.recordings.completed import complete
        path = folder / 'mutant.mcap'
        path.write_bytes(data)
        told = self.export(path, folder)
        try:
            complete(path, folder / 'whole.mcap')
        except ValueError as error:
            told = f'{told}\n{printable(str(error), LONGEST_LINE)}'
        return told

    def export(self, path, folder):
        """Run the command; return what it prints."""
        from xplane_bridge.commands.export import main
        output = folder / 'exported'
        shutil.rmtree(output, ignore_errors=True)
        told = io.StringIO()
        with redirect_stderr(told), redirect_stdout(io.StringIO()), suppress(SystemExit):
            main([str(path), '--to', 'csv', '--output', str(output)])
        return told.getvalue().strip()


class Bag(Recording):
    """A rosbag2 folder: its metadata, or its database, is the mutant."""

    def seeds(self, folder):
        """Return both, each marked by its first byte."""
        from rosbags.rosbag2 import StoragePlugin, Writer
        from rosbags.typesys import get_typestore, Stores
        store = get_typestore(Stores.ROS2_JAZZY)
        path = folder / 'seed'
        with Writer(path, version=9, storage_plugin=StoragePlugin.SQLITE3) as bag:
            connection = bag.add_connection('/text', 'std_msgs/msg/String', typestore=store)
            for number in range(8):
                bag.write(connection, number * 10**8, b'\0\1\0\0\x02\0\0\0a\0')
        self._valid = {
            b'm': ('metadata.yaml', (path / 'metadata.yaml').read_bytes()),
            b'd': ('seed.db3', (path / 'seed.db3').read_bytes())}
        return [mark + content for mark, (_, content) in self._valid.items()]

    def read(self, data, folder):
        """Export one mutant beside the other, valid part; return what is told to people."""
        path = folder / 'mutant'
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        for name, content in self._valid.values():
            (path / name).write_bytes(content)
        name = self._valid.get(data[:1], ('metadata.yaml', b''))[0]
        (path / name).write_bytes(data[1:])
        return self.export(path, folder)


class Campaign:
    """A campaign's folder, of which the table, or the identity, is the mutant."""

    def seeds(self, folder):
        """Return both, and crafted tables, each marked by its first byte."""
        from pyarrow import parquet
        import strange_tables

        from xplane_bridge.laboratory.campaigns.table import rows
        path = folder / 'seed.parquet'
        parquet.write_table(rows.arrow(list(rows.synthetic(12))), path)
        self._valid = {
            b't': ('table.parquet', path.read_bytes()),
            b'i': ('rows/identity.json', b'{"identity": "0", "plan": "plan.yaml"}')}
        row = next(rows.synthetic(1))
        crafted = strange_tables.crafted({
            name: value.encode() if isinstance(value, str) else float(value)
            for name, value in row.items()}, 'outcome')
        return [*[mark + content for mark, (_, content) in self._valid.items()] * VALID,
                *(b't' + content for content, _ in crafted.values() if len(content) < LARGEST)]

    def read(self, data, folder):
        """Make the report of one mutant; return what is told to people."""
        from xplane_bridge.commands.campaign import main
        path = folder / 'mutant'
        shutil.rmtree(path, ignore_errors=True)
        (path / 'rows').mkdir(parents=True)
        for name, content in self._valid.values():
            (path / name).write_bytes(content)
        (path / self._valid.get(data[:1], ('table.parquet', b''))[0]).write_bytes(data[1:])
        told = io.StringIO()
        with redirect_stderr(told), redirect_stdout(io.StringIO()), suppress(SystemExit):
            main(['report', str(path)])
        return told.getvalue().strip()


class Log(Plain):
    """A log of PX4, ArduPilot or X-Plane, as export reads it."""

    def __init__(self):
        super().__init__('', [], None)

    def seeds(self, folder):
        """Return a log of each kind."""
        from log_files import FDR, flash_log, ulog
        return [ulog(), flash_log(), FDR.encode()]

    def read(self, data, folder):
        """Export one mutant, as what it begins as; return what is told to people."""
        from xplane_bridge.laboratory.export import logs
        from xplane_bridge.laboratory.export.writers import write_csv
        path = folder / ('mutant.ulg' if data[:1] == b'U' else
                         'mutant.fdr' if data[:1] == b'A' else 'mutant.bin')
        path.write_bytes(data)
        told = []
        try:
            write_csv(folder / 'log', logs.read(path, (), told.append), {}, told.append)
        except ValueError as error:
            told.append(str(error))
        return '\n'.join(printable(one, LONGEST_LINE) for one in told)


class Table(Plain):
    """A table of a flight for identify, which reads its manoeuvres too."""

    def __init__(self):
        super().__init__('', [], None)

    def seeds(self, folder):
        """Return a flight as CSV and as Parquet, and crafted ones, each marked by a byte."""
        import pyarrow
        from pyarrow import csv, parquet
        import strange_tables
        import synthetic
        exact = synthetic.longitudinal(seconds=3.0).measured
        table = pyarrow.table({'time': exact.times, **exact.values})
        csv.write_csv(table, folder / 'seed.csv')
        parquet.write_table(table, folder / 'seed.parquet')
        crafted = strange_tables.crafted(
            dict.fromkeys(table.column_names, 1.0), 'rudder').values()
        return [*[b'c' + (folder / 'seed.csv').read_bytes(),
                  b'p' + (folder / 'seed.parquet').read_bytes()] * VALID,
                *(b'p' + content for content, _ in crafted if len(content) < LARGEST)]

    def read(self, data, folder):
        """Identify from one mutant; return what is told to people."""
        import synthetic

        from xplane_bridge.laboratory.identification.identify import identify
        from xplane_bridge.laboratory.identification.reading.tables import read_table
        path = folder / f'mutant.{"csv" if data[:1] == b"c" else "parquet"}'
        path.write_bytes(data[1:])
        try:
            identify([read_table(path)], synthetic.AIRFRAME)
        except ValueError as error:
            return printable(str(error), LONGEST_LINE)
        return ''


KINDS = {
    'scenario': _scenario, 'plan': _plan, 'map': _map, 'gains': _gains, 'sensors': _sensors,
    'policy': _policy, 'aircraft': Aircraft, 'mcap': Recording, 'bag': Bag,
    'campaign': Campaign, 'table': Table, 'log': Log}


def run(kind, seed, count, folder):
    """Read this many mutants of one kind."""
    folder.mkdir(exist_ok=True)
    target = KINDS[kind]()
    mutator = Mutator(seed, target.seeds(folder), largest=LARGEST)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    refused = 0
    for _ in range(count):
        signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST)
        told = target.read(mutator.mutant(), folder)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        assert all(is_fit_for_people(line, LONGEST_LINE) for line in told.splitlines()), repr(told)
        refused += bool(told)
    print(f'{kind}: {count} mutants, {refused} refused')
    # A mutant that is never refused was not read.
    assert refused


def run_apart(kind, seed, count, folder):
    """Run it in a process of its own; return its exit code."""
    # Each thread of a numerical library reserves memory that the limit counts.
    environment = {
        **os.environ, 'OPENBLAS_NUM_THREADS': '1', 'TMPDIR': str(folder),
        'PYTHONPATH': os.pathsep.join(path for path in sys.path if path)}
    return subprocess.run(
        [sys.executable, '-P', __file__, kind, str(seed), str(count), str(folder)],
        env=environment, check=False).returncode


if __name__ == '__main__':
    run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
