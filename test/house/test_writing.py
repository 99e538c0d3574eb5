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

"""Everything that is written goes through common/plain_files.py; exceptions carry a reason."""

import ast
from pathlib import Path
import re

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / 'xplane_bridge'
MODULE = 'common/plain_files.py'
# tools/, benchmarks/ and test/ write into this repository, for those who maintain it.

# What writes to a file that it is given by name, or as a stream: the stream is called so, and
# can only come from that module, or be in memory.
WRITERS = {
    'write_table', 'ParquetWriter', 'savemat', 'savefig', 'save', 'savez', 'savez_compressed',
    'tofile', 'to_csv', 'to_parquet', 'imsave', 'ZipFile', 'FileHandler', 'Writer'}
# What makes, moves or fills a file by its name: methods of paths, and functions.
OF_PATHS = {'write_text', 'write_bytes', 'touch', 'symlink_to', 'hardlink_to', 'extractall'}
OF_MODULES = {
    'os': {'rename', 'renames', 'replace', 'link', 'symlink', 'mkfifo', 'truncate'},
    'shutil': {'copy', 'copy2', 'copyfile', 'copytree', 'move', 'unpack_archive'},
    'tempfile': {'mkstemp', 'NamedTemporaryFile'}}
FLAGS = {'O_WRONLY', 'O_RDWR', 'O_CREAT', 'O_APPEND', 'O_TRUNC'}
NAMED = re.compile(
    rf'\b(?:{"|".join({"open"} | WRITERS | OF_PATHS | set().union(*OF_MODULES.values()))})\(')
# Modules by the names of what they call there, with reasons.
EXCEPTIONS = {
    ('simulation/aircraft/loading/inert.py', 'symlink_to'):
        'links to an aircraft, in a folder of our own',
    ('common/command_line.py', 'open'): 'the null device, where nobody reads any more',
    ('laboratory/export/ulyssix/record.py', 'replace'):
        'a journal that is whole gets the name of a capture',
    ('bridges/links/ports.py', 'open'): 'a serial port',
    ('bridges/links/ports.py', 'symlink'):
        'the name of a pseudo-terminal, which fails if it is there',
}


def written(tree):
    """Yield what a module writes, as far as its text says: the name of the call, and its line."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, 'attr', getattr(node.func, 'id', ''))
        of = getattr(node.func.value, 'id', '') if isinstance(node.func, ast.Attribute) else None
        given = [*node.args, *(one.value for one in node.keywords)]
        if (of is not None and name in OF_PATHS
                or name in OF_MODULES.get(of, ())
                or of is None and name in OF_MODULES['tempfile']
                or name in WRITERS and writes_to_a_name(name, of, given)
                or name == 'open' and opens_to_write(node)
                # That of a path: texts have two arguments, times and counters have names.
                or of is not None and name in ('replace', 'rename') and len(node.args) == 1 and (
                    len(given) == 1)):
            yield name, node.lineno


def writes_to_a_name(name, of, given):
    """Return whether one of WRITERS is given no stream."""
    if of == 'drawing' or name == 'save' and of is None or (
            name == 'write_table' and len(given) == 1):
        # The package's own; the method of a writer that has its stream.
        return False
    return not any(isinstance(one, ast.Name) and one.id == 'stream' or (
        isinstance(one, ast.Attribute) and one.attr == '_stream') for one in given)


def opens_to_write(node):
    """Return whether an open() may write: by its mode, or by the flags of os.open()."""
    found = {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}
    if found & FLAGS:
        return True
    path = isinstance(node.func, ast.Attribute) and 'O_RDONLY' not in found
    modes = [*node.args[0 if path else 1:][:2], *(
        one.value for one in node.keywords if one.arg == 'mode')]
    return any(isinstance(one, ast.Constant) and isinstance(one.value, str)
               and set(one.value) <= set('rwaxbt+') and set(one.value) & set('wax+')
               for one in modes)


@pytest.mark.parametrize('text', [
    "open(path, 'w')", "open(path, mode='ab')", "path.open('xb')", "io.open(path, 'r+')",
    "gzip.open(path, 'wt')", 'os.open(path, os.O_RDWR)', 'os.open(path, flags | os.O_CREAT)',
    "path.write_text('')", 'path.write_bytes(content)', 'figure.savefig(path)',
    'figure.savefig(path, dpi=80)', 'parquet.write_table(table, path)',
    'parquet.ParquetWriter(path, schema)', 'savemat(path, {})', 'file.save(path, overwrite=True)',
    'numpy.save(path, array)', 'shutil.copy(found, path)', 'path.replace(other)',
    'os.replace(path, other)', 'os.rename(path, other)', "ZipFile(path, 'w')", 'path.touch()',
    'tempfile.mkstemp()', 'Writer(open_file)', 'os.link(path, other)'])
def test_what_writes_is_found(text):
    assert [*written(ast.parse(text))]


@pytest.mark.parametrize('text', [
    "open(path, 'rb')", 'open(path)', "path.open('rb')", 'os.open(path, os.O_RDONLY)',
    'figure.savefig(stream, dpi=80)', 'parquet.ParquetWriter(stream, schema)',
    "text.replace('a', 'b')", 'values.copy()', 'socket.open()', 'session.open(world, now)',
    'table.rename(columns={})', 'replace(order, keep=keep)',
    'writer.write_table(window)', 'drawing.save(figure, [path])', 'Writer(self._stream)'])
def test_what_does_not_write_is_not(text):
    assert not [*written(ast.parse(text))]


def test_everything_is_written_by_one_module():
    found = {
        (path.relative_to(PACKAGE).as_posix(), name, line)
        for path in PACKAGE.rglob('*.py') if path != PACKAGE / MODULE and (
            NAMED.search(text := path.read_text()))
        for name, line in written(ast.parse(text))}
    assert sorted(one for one in found if one[:2] not in EXCEPTIONS) == []
    # And none that nobody needs any more.
    assert EXCEPTIONS.keys() <= {one[:2] for one in found}
