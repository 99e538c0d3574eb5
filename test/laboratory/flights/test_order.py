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

"""Orders: plain data, and every sentence why one cannot be flown, before anything is started."""

import json
import pickle
import subprocess

from orders import order_of
import pytest

from xplane_bridge.laboratory import open_flight
from xplane_bridge.laboratory.flights import core
from xplane_bridge.laboratory.flights.order import FlownBy, Keep, Link, Order
from xplane_bridge.laboratory.flights.refusals import OrderError, refusals
from xplane_bridge.laboratory.flights.scenario.scenario import find, load, parse, ScenarioError

STEPS = load(find('steps'))
BLOCKED = parse('blocked', {
    'duration': 3.0,
    'events': [{'at': 1.0, 'pitot_blocked': True}, {'at': 2.0, 'link_down': True}],
    'criteria': [{'quantity': 'airspeed', 'statistic': 'max', 'at_most': 60.0}]})


def test_every_sentence_is_said_at_once(monkeypatch):
    def started(*_, **__):
        raise AssertionError('something is started')

    monkeypatch.setattr(core, 'CoreFlight', started)
    monkeypatch.setattr(open_flight, 'import_module', started)
    monkeypatch.setattr(subprocess, 'Popen', started)
    order = Order(
        BLOCKED, 'fdmdata', FlownBy(command='mine', launch=('a', 'b'), timeout=-1.0), seed=-1,
        rounding='xpc', link=Link(speed=2.0, lockstep=True, port=5, loss=0.1))
    wanted = [
        '--controller and --controller-launch exclude each other',
        '--controller-timeout: -1.0 is not above 0',
        'scenario blocked needs sensors, because of pitot_blocked at 1 s: name some, such as '
        'consumer (--sensors consumer)',
        '--seed: -1 is not in 0..2147483645',
        "rounding 'xpc' belongs to core: through ROS what is measured and commanded is rounded by "
        'fdmdata',
        '--port and --web need --host; a simulator of this package takes a free port',
        'fdmdata has no time in its protocol, so it can be flown in real time only: omit speed '
        'and lockstep',
        'scenario blocked works in real time only, because of link_down at 2 s: without commands '
        'and telemetry simulated time stops',
        'lockstep runs as fast as possible: omit speed',
        'in lockstep the simulator waits for lost datagrams: omit loss']
    assert refusals(order) == wanted
    with pytest.raises(OrderError) as refused:
        open_flight.open_flight(order)
    assert refused.value.sentences == wanted
    assert str(refused.value) == '\n'.join(wanted)
    assert isinstance(refused.value, ScenarioError)


@pytest.mark.parametrize(('order', 'sentences'), [
    (Order(BLOCKED, seed=2 ** 31, link=Link(loss=0.1, delay=0.2)), [
        'scenario blocked needs sensors', '--seed: 2147483648 is not in',
        'core has no link and runs as fast as possible: omit loss, delay',
        'scenario blocked works in real time only, because of link_down at 2 s: core has no']),
    (Order(STEPS, 'xpc', FlownBy(actions='attitude', policy='nowhere.onnx'), sensors='best'), [
        '--policy and actions exclude each other', 'policy nowhere.onnx: there is no file',
        "sensors: there are no sensors 'best'", 'actions through ROS are flown without sensors']),
    (Order(STEPS, flown_by=FlownBy(command='mine'), rounding='dcs'), [
        'core flies without ROS, and a controller of your own is a ROS node',
        "rounding: there is no simulator 'dcs': expected one of xpc"]),
    (Order(STEPS, physics_rate=90), [
        'physics_rate: got 90, expected a multiple of 60 in 60..1200']),
    (Order(STEPS, 'xpc', physics_rate=60, link=Link(host='10.0.0.1')), [
        'physics_rate: a real simulator (10.0.0.1) has its own; omit --host to fly a simulator of '
        'this package']),
    (Order(STEPS, 'msfs', seed=-1), ["there is no simulator 'msfs': expected one of xpc"]),
    (Order(STEPS, 'xplane12', link=Link(host='10.0.0.2', port=99999, web='here')), [
        '--port: 99999 is not a port', "--web: 'here' is not an address and a port"]),
    (Order(STEPS, 'xpc', FlownBy('mine', targets=False)), [
        'scenario steps takes the controls from the controller (controls at 0 s), and one '
        'without target is not told: choose a scenario without that, such as turbulence']),
    (Order(STEPS, 'xpc', FlownBy(targets=False)), [
        '--no-target belongs to a controller of your own']),
    (Order(STEPS, 'xpc', FlownBy(actions='controls'), link=Link(lockstep=True),
           keep=Keep('a.mcap')), ['flights by actions are recorded in core only: omit']),
    (Order(STEPS, flown_by=FlownBy(actions='rates')), ["level: got 'rates', expected one of"]),
])
def test_what_cannot_be_flown_is_said(order, sentences):
    found = refusals(order)
    assert len(found) == len(sentences)
    for one, wanted in zip(found, sentences, strict=True):
        assert one.startswith(wanted)


def test_what_can_be_flown_is_not_refused():
    for order in (
            Order(STEPS), Order(STEPS, rounding='xpc', sensors='consumer'),
            Order(STEPS, 'xpc', link=Link(lockstep=True)),
            Order(STEPS, 'xpc', FlownBy(actions='controls'), link=Link(lockstep=True)),
            Order(STEPS, 'xplane12', link=Link(host='10.0.0.2', web='10.0.0.2:8086'))):
        assert refusals(order) == []


def test_a_policy_is_not_run_by_those_who_do_not_ask_for_it(tmp_path):
    strange = tmp_path / 'strange.py'
    strange.write_text(f'open({str(tmp_path / "ran")!r}, "w")\n')
    order = Order(STEPS, flown_by=FlownBy(policy=f'{strange}:policy'))
    assert refusals(order, load_policies=False) == []
    open_flight.open_flight(order)
    assert not (tmp_path / 'ran').exists()
    assert 'strange.py has no policy' in refusals(order)[0]
    assert (tmp_path / 'ran').exists()


def test_a_law_of_ones_own_flies_in_core_only():
    with pytest.raises(OrderError, match='a law of your own is flown in core, not on xpc'):
        open_flight.open_flight(Order(STEPS, 'xpc'), law=object())


def test_an_order_is_plain_data():
    orders = [
        Order(STEPS, seed=3, rounding='xpc'),
        Order(load(find('racetrack')), 'xplane12',
              FlownBy(launch=('pkg', 'a.launch.py'), guidance='heading', timeout=60.0),
              sensors='consumer', link=Link(speed=2.0, delay=0.01, namespace='/uav'),
              keep=Keep('a.mcap', 'a.log')),
        Order(load(find('identification')), flown_by=FlownBy(actions='target'))]
    for order in orders:
        copy = pickle.loads(pickle.dumps(order))
        # Not ==, as some criteria have no end, which is NaN.
        assert repr(copy) == repr(order)
        assert refusals(copy) == refusals(order)
        # As a report has it.
        assert json.loads(json.dumps(copy.figures()))['sim'] == order.sim


def test_the_command_line_says_the_same_as_an_order():
    given = order_of(
        STEPS, sim='xplane12', host='10.0.0.2', port=49001, web='none', model='', seed=0,
        sensors='consumer', guidance='heading', controller='mine --fast')
    assert given == Order(
        STEPS, 'xplane12', FlownBy('mine --fast', guidance='heading'), sensors='consumer',
        link=Link('10.0.0.2', 49001, 'none', namespace='/experiment'))
    fast = order_of(
        STEPS, speed=2.0, seed=5, loss=0.1, delay=0.01, jitter=0.02, gains='c310')
    assert fast.link == Link(
        speed=2.0, loss=0.1, delay=0.01, jitter=0.02, namespace='/experiment')
    assert (fast.sim, fast.seed, fast.model) == ('xpc', 5, 'c172p')
    assert fast.gains().stem == 'c310'
