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

"""What programs write: whole or not at all, never through a link, and a sentence if it fails."""

import errno
import os
from pathlib import Path
import pickle
import stat

from full_disk import only_read, room
import pytest

from xplane_bridge.common import plain_files
from xplane_bridge.common.plain_files import growing, journal, make_folder, output, WriteError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder that is the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(folder='.'):
    return sorted(os.listdir(folder))


def test_a_file_has_its_name_when_it_is_whole(folder):
    Path('file').write_bytes(b'before')
    with output('file') as stream:
        stream.write(b'aft')
        (part,) = [name for name in names() if name != 'file']
        assert part.startswith('.file.')
        assert Path('file').read_bytes() == b'before'
        stream.write(b'er')
    assert Path('file').read_bytes() == b'after'
    assert names() == ['file']


@pytest.mark.parametrize('error', [KeyboardInterrupt, SystemExit, ValueError, OSError])
def test_whatever_interrupts_leaves_what_was_there(folder, error):
    Path('file').write_bytes(b'before')
    for name in ('file', 'new'):
        with pytest.raises(error) as raised, output(name) as stream:
            stream.write(b'half')
            raise error('mine')
        # What somebody else could not do is not a fault of the file.
        assert str(raised.value) == 'mine'
    assert names() == ['file']
    assert Path('file').read_bytes() == b'before'


@pytest.mark.parametrize('size', [0, 100, 5000])
def test_on_a_full_disk_there_is_a_sentence_and_no_file(folder, size):
    with room(size), pytest.raises(WriteError) as raised:
        plain_files.write('file', b'.' * 10_000)
    assert raised.value.errno == errno.EFBIG
    assert str(raised.value) == (
        'file cannot be written: the file is as large as the system allows (ulimit -f, or the '
        'file system)')
    assert names() == []


def test_each_reason_is_a_sentence_which_a_worker_can_send(folder, monkeypatch):
    for code, sentence in (
            (errno.ENOSPC, 'the disk is full'), (errno.EDQUOT, 'the quota of the disk is used up'),
            (errno.EIO, 'Input/output error')):
        def fsync(_, code=code):
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(os, 'fsync', fsync)
        with pytest.raises(WriteError) as raised:
            plain_files.write('a\nb', 'text')
        sent = pickle.loads(pickle.dumps(raised.value))
        assert str(sent) == f'a\\nb cannot be written: {sentence}'
        assert names() == []


def test_a_file_system_without_fsync_will_do(folder, monkeypatch):
    def fsync(_):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(os, 'fsync', fsync)
    plain_files.write('file', 'text')
    assert names() == ['file']


@pytest.mark.parametrize('name', ['a b', "a'b", 'a"b', 'a\nb', 'é', 'x' * 255, '-o', 'a\udc80b'])
def test_names_that_a_file_can_have(folder, name):
    plain_files.write(name, 'text')
    with growing(f'{name[:250]}.log') as stream:
        stream.write(b'text')
    assert names() == sorted([name, f'{name[:250]}.log'])


@pytest.mark.parametrize(('umask', 'mode'), [(0o077, 0o600), (0o022, 0o644), (0o002, 0o664)])
def test_the_mode_is_by_the_umask(folder, umask, mode):
    before = os.umask(umask)
    try:
        plain_files.write('whole', '')
        growing('growing').close()
        journal('journal').close()
    finally:
        os.umask(before)
    assert {stat.S_IMODE(os.stat(name).st_mode) for name in names()} == {mode}


@pytest.mark.parametrize('target', ['victim', 'nowhere', '.', '/dev/null'])
def test_a_link_is_replaced_and_never_followed(folder, target):
    Path('victim').write_text('mine')
    for name, write in (
            ('whole', lambda: plain_files.write('whole', 'text')),
            ('growing', lambda: growing('growing').close())):
        os.symlink(target, name)
        write()
        assert stat.S_ISREG(os.lstat(name).st_mode)
    os.symlink(target, 'journal')
    with pytest.raises(WriteError, match='^journal cannot be written: there is a link where'):
        journal('journal')
    os.symlink(target, 'kept')
    with pytest.raises(FileExistsError, match='^kept exists$'):
        growing('kept', replaces=False)
    assert Path('victim').read_text() == 'mine'
    assert not Path('nowhere').exists()


def test_a_folder_within_another_is_made_and_is_no_link(folder):
    Path('elsewhere').mkdir()
    os.symlink('elsewhere', 'named')
    plain_files.write('named/in/deeper/file', 'text', within='named')
    assert Path('elsewhere/in/deeper/file').read_text() == 'text'
    os.symlink('in', 'elsewhere/link')
    for write in (
            lambda: plain_files.write('named/link/file', 'text', within='named'),
            lambda: journal('named/link/deeper/file', within='named'),
            lambda: make_folder('named/link', within='named'),
            lambda: make_folder('named/link/new', within='named')):
        with pytest.raises(WriteError, match='cannot be written: there is a link where'):
            write()
    make_folder('named/new/folder', within='named')
    assert names('elsewhere/in') == ['deeper']
    assert names('elsewhere/new') == ['folder']


@pytest.mark.timeout(30)
def test_what_is_no_file_is_refused_at_once(folder):
    os.mkfifo('fifo')
    Path('folder').mkdir()
    for write in (lambda path: plain_files.write(path, ''), growing, journal):
        with pytest.raises(WriteError, match='^fifo cannot be written: it is not a regular file$'):
            write('fifo')
        with pytest.raises(WriteError, match='^folder cannot be written: Is a directory$'):
            write('folder')
        with pytest.raises(WriteError, match='^none/file cannot be written: No such file'):
            write('none/file')
        with pytest.raises(WriteError, match='^fifo/file cannot be written: Not a directory$'):
            write('fifo/file')
    assert names() == ['fifo', 'folder']


def test_devices_of_the_user_are_written_as_they_are(folder):
    reader, writer = os.pipe()
    plain_files.write(f'/dev/fd/{writer}', 'text')
    assert os.read(reader, 10) == b'text'
    os.close(reader)
    with pytest.raises(WriteError, match=rf'^/dev/fd/{writer} cannot be written: Broken pipe$'):
        plain_files.write(f'/dev/fd/{writer}', 'text')
    os.close(writer)
    growing('/dev/null').close()
    with pytest.raises(WriteError, match='^/dev/full cannot be written: the disk is full$'):
        plain_files.write('/dev/full', 'text')
    with pytest.raises(WriteError, match='^/dev/none cannot be written: No such file'):
        plain_files.write('/dev/none', 'text')


def test_a_folder_that_is_only_read():
    with only_read() as folder:
        for write in (lambda path: plain_files.write(path, ''), growing, journal):
            with pytest.raises(WriteError, match='/file cannot be written: Permission denied$'):
                write(folder / 'file')


def test_a_file_that_grows_has_what_was_written(folder):
    Path('log').write_text('before')
    os.link('log', 'other')
    with growing('log') as stream:
        stream.write(b'one')
        stream.flush()
        assert Path('log').read_bytes() == b'one'
        with room(5), pytest.raises(WriteError, match='^log cannot be written: the file is as'):
            stream.write(b'.' * 100)
            stream.flush()
        assert Path('log').read_bytes() == b'one..'
    assert Path('other').read_text() == 'before'


def test_a_journal_has_whole_records(folder):
    for number in range(2):
        with journal('journal') as stream:
            stream.append(b'row\n')
            stream.sync()
            assert Path('journal').read_bytes() == b'row\n' * (number + 1)
    with journal('journal') as stream:
        with room(10), pytest.raises(WriteError, match='^journal cannot be written: the file is'):
            stream.append(b'row\n')
        assert Path('journal').read_bytes() == b'row\nrow\n'
        stream.truncate(0)
        stream.append(b'row\n')
    assert Path('journal').read_bytes() == b'row\n'
