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

"""A namespace of a ROS domain is claimed by one process of a machine, and free when it ends."""

import os
import subprocess
import sys

import pytest

from xplane_bridge.bridges.links.claim import as_typed, claim, domain
from xplane_bridge.common.machine import MachineError

HOLDER = ("import sys; from xplane_bridge.bridges.links.claim import claim; "
          "lock = claim('/held'); "
          "print('held', flush=True); sys.stdin.read()")


@pytest.fixture(autouse=True)
def own_domain(monkeypatch):
    """Let no other test be in the way; a domain is not looked at, so any text will do."""
    monkeypatch.setenv('ROS_DOMAIN_ID', f'test{os.getpid()}')


def test_a_second_claim_is_refused_until_the_first_ends():
    # Longer than the name of such a socket may be.
    long = '/uav' * 100
    with claim(long):
        with pytest.raises(MachineError) as refused:
            claim(long)
        claim(f'{long}/below').close()
    assert str(refused.value) == (
        f'{long} in ROS domain {domain()} is taken by another flight of this process: give this '
        'one another ROS_DOMAIN_ID or namespace, or wait until that has ended')
    claim(long).close()


def test_other_domains_are_not_in_the_way(monkeypatch):
    monkeypatch.delenv('ROS_DOMAIN_ID')
    assert domain() == '0'
    monkeypatch.setenv('ROS_DOMAIN_ID', ' 042 ')
    assert domain() == '42'
    monkeypatch.setenv('ROS_DOMAIN_ID', f'one{os.getpid()}')
    with claim('/uav'):
        monkeypatch.setenv('ROS_DOMAIN_ID', f'two{os.getpid()}')
        claim('/uav').close()


def test_who_has_it_is_named_and_a_killed_process_has_nothing():
    with subprocess.Popen(
            [sys.executable, '-P', '-c', HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True) as holder:
        try:
            assert holder.stdout.readline() == 'held\n'
            with pytest.raises(MachineError, match=rf' is taken by process {holder.pid} \('):
                claim('/held')
            # However many are refused.
            for _ in range(200):
                with pytest.raises(MachineError, match='/held in ROS domain ') as refused:
                    claim('/held')
            assert 'is taken by another process: ' in str(refused.value)
        finally:
            holder.kill()
    claim('/held').close()


@pytest.mark.parametrize(('words', 'shown'), [
    (['/usr/bin/python3', '-S', '/ws/lib/xplane_bridge/experiment', '--sim', 'xpc'],
     ['experiment', '--sim', 'xpc']),
    (['/opt/ros/bin/ros2', 'launch', 'mine'], ['ros2', 'launch', 'mine']),
    (['python3.12'], ['python3.12']), ([], [])])
def test_its_command_line_is_as_a_user_knows_it(words, shown):
    assert as_typed(words) == shown
