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

"""SIGINT and SIGTERM of a command that reports on what it has done so far."""

import os
import signal
import threading
import time

import pytest

from xplane_bridge.common import signals
from xplane_bridge.common.signals import Interrupts


@pytest.fixture(autouse=True)
def restored():
    """Restore this process's handlers."""
    numbers = signal.SIGINT, signal.SIGTERM
    before = [signal.getsignal(number) for number in numbers]
    yield
    # Those of a test that have not come yet.
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.cancel()
            thread.join()
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


def send(number):
    os.kill(os.getpid(), number)


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_only_the_first_signal_interrupts_and_only_where_it_may(number):
    one = Interrupts()
    send(number)
    with pytest.raises(KeyboardInterrupt), one.allowed():
        send(number)
    send(number)
    with one.allowed(by_sigterm=False):
        send(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), one.allowed(by_sigterm=False):
        send(signal.SIGINT)


def test_after_sigterm_the_time_for_the_rest_is_limited(monkeypatch):
    monkeypatch.setattr(signals, '_LIMIT', 0.1)
    one = Interrupts()
    with pytest.raises(KeyboardInterrupt), one.allowed():
        send(signal.SIGTERM)
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt), one.allowed(by_sigterm=False):
        # SIGTERM comes again, as launch sends it: the limit stays.
        while time.monotonic() < begin + 30.0:
            send(signal.SIGTERM)
            time.sleep(0.01)
    assert time.monotonic() < begin + 10.0
    # Nothing else is begun.
    with pytest.raises(KeyboardInterrupt), one.allowed():
        raise AssertionError('inside')


def test_after_sigint_nothing_is_limited(monkeypatch):
    monkeypatch.setattr(signals, '_LIMIT', 0.0)
    before = threading.active_count()
    one = Interrupts()
    with pytest.raises(KeyboardInterrupt), one.allowed():
        send(signal.SIGINT)
    assert threading.active_count() == before
