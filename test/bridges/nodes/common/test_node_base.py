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

"""What every node inherits: parameters, lifecycle, commands, services, diagnostics."""

from dataclasses import dataclass
import math
import threading

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from diagnostic_msgs.msg import DiagnosticStatus
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from parameter_dumps import dumped, loaded
from rcl_interfaces.msg import Log
from rcl_interfaces.srv import DescribeParameters
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.qos import QoSProfile
from rclpy.task import Future
from std_msgs.msg import Float64
from std_srvs.srv import SetBool, Trigger

from xplane_bridge.bridges.links.captures.replay import ReplayProgress
from xplane_bridge.bridges.links.udp import LinkError, SocketCounters
from xplane_bridge.bridges.nodes.common.base import BaseParameters, BridgeNode
from xplane_bridge.bridges.nodes.common.datagrams import capture_status
from xplane_bridge.bridges.nodes.common.diagnostics import OK, Status
from xplane_bridge.bridges.nodes.managed.parameters import parameter
from xplane_bridge.bridges.nodes.vehicle.watchdog import CommandWatchdog

SUCCESS = TransitionCallbackReturn.SUCCESS
FAILURE = TransitionCallbackReturn.FAILURE
ERROR = TransitionCallbackReturn.ERROR


@dataclass(frozen=True)
class Parameters(BaseParameters):
    """One of each kind."""

    rate: float = parameter(50.0, 'Updates per second.', low=0.0, high=100.0)
    port: int = parameter(49000, 'UDP port.', low=1, high=65535)
    name: str = parameter('one', 'Its name.')
    mode: str = parameter('slow', 'How.', choices=('slow', 'fast'), live=True)
    gain: float = parameter(1.0, 'A factor.', low=0.0, live=True)
    numbers: tuple[int, ...] = parameter((), 'Some numbers.')
    lowest: float = parameter(float('nan'), 'NaN is none.')

    def __post_init__(self):
        """Reject invalid combinations of values."""
        if 13 in self.numbers:
            raise ValueError('parameter numbers: 13 brings bad luck')


class Node(BridgeNode):
    """A node that records calls from its base class, and can be made to fail."""

    def __init__(self, **options):
        super().__init__('node', Parameters, **options)
        self.calls = []
        self.fail = {}
        self.waiting = []
        self.got = []

    def _note(self, what):
        self.calls.append(what)
        if what in self.fail:
            raise self.fail[what]

    def open(self):
        self.publisher = self.make_publisher(Float64, 'out')
        self.make_command(Float64, 'in', self._take, 100)
        self.make_service(Trigger, 'wait', self._wait)
        self.make_service(SetBool, 'set', self._set)
        self.make_service(Trigger, 'fail', self._fail)
        self.watchdog = CommandWatchdog(self, 0.2, lambda: self.calls.append('timeout'))
        self._note('open')

    def begin(self):
        self._note('begin')

    def end(self):
        self._note('end')
        for future in self.waiting:
            future.set_result('given up')

    def close(self):
        self._note('close')
        self.watchdog.close()

    def diagnose(self):
        return [Status('link', OK, 'open', (('answer', '42'),))]

    def check(self, given):
        if given.gain > 10.0 and given.mode == 'fast':
            raise ValueError('a gain above 10 and the mode fast do not go together')

    def changed(self, given):
        self._note(f'gain {given.gain:g}')

    def _take(self, message):
        if message.data < 0.0:
            raise ValueError(f'{message.data:g} is below 0')
        self.got.append(message.data)
        self.watchdog.feed()

    async def _wait(self, _, response):
        future = Future(executor=self.executor)
        future.add_done_callback(lambda _: None)
        self.waiting.append(future)
        response.message = await future
        response.success = True

    def _fail(self, *_):
        raise ValueError('one\n\x1b[2J\u202e \ud800')

    def _set(self, request, response):
        if not request.data:
            raise ValueError('false is not possible')
        response.success = True


def transition(ros, node, name):
    return ros.run_in(node, getattr(node, f'trigger_{name}'))


# Parameters.

def test_parameters_say_what_they_are(ros):
    ros.start(Node, configure=False)
    answer = ros.call(DescribeParameters, '/node/describe_parameters', DescribeParameters.Request(
        names=['rate', 'port', 'mode', 'gain']))
    rate, port, mode, gain = answer.descriptors
    assert rate.description == 'Updates per second.'
    assert not rate.read_only
    assert rate.additional_constraints == 'may be set only while the node is unconfigured'
    assert not gain.additional_constraints
    limits = rate.floating_point_range[0]
    assert (limits.from_value, limits.to_value) == (0.0, 100.0)
    assert (port.integer_range[0].from_value, port.integer_range[0].to_value) == (1, 65535)
    assert mode.description == 'How. One of: slow, fast.'


@pytest.mark.parametrize(('given', 'sentence'), [
    ({'rate': 200.0}, 'rate'),
    ({'rate': 'often'}, "parameter rate: expected a number, got 'often'"),
    ({'rate': float('inf')}, 'rate'),
    ({'rate': True}, 'parameter rate: expected a number, got True'),
    ({'rate': 101}, 'parameter rate: expected 0 to 100, got 101'),
    ({'port': 0}, 'port'),
    ({'port': '49000'}, 'port'),
    ({'port': 49000.0}, 'port'),
    ({'name': 7}, 'name'),
    ({'mode': 'sideways'}, "parameter mode: expected one of slow, fast, got 'sideways'"),
    ({'numbers': [1, 13]}, 'parameter numbers: 13 brings bad luck'),
    ({'numbers': [1.0, float('nan')]}, 'parameter numbers: expected a finite number, got nan'),
    ({'gain': 11.0, 'mode': 'fast'}, 'do not go together'),
    ({'rats': 20.0},
     'parameter rats: node has no parameter of that name; did you mean rate?'),
    ({'quux': 1}, 'parameter quux: node has no parameter of that name'),
])
def test_a_bad_parameter_stops_configuring_with_a_sentence(ros, given, sentence):
    node = ros.start(Node, configure=False, **given)
    assert transition(ros, node, 'configure') == FAILURE
    assert sentence in node.failed
    assert 'open' not in node.calls
    level, message, _ = ros.diagnosed('state', node=node)
    assert level == DiagnosticStatus.ERROR
    assert sentence in message


def test_all_values_of_a_wrong_type_are_named_at_once(ros):
    node = ros.start(Node, configure=False, port='a', mode=3)
    assert transition(ros, node, 'configure') == FAILURE
    assert 'parameter port' in node.failed
    assert 'parameter mode' in node.failed


def test_numbers_may_be_written_as_people_write_them(ros):
    node = ros.start(Node, rate=20, numbers=5, gain=3)
    assert (node.parameters.rate, node.parameters.numbers) == (20.0, (5,))
    assert isinstance(node.parameters.rate, float)


def test_names_of_other_nodes_and_of_rclpy_are_no_mistakes(ros):
    # A /** section of a parameter file is for all nodes that receive it.
    node = ros.start(
        Node, gps_rate=20.0, gains__roll_rate_to_aileron=0.5, use_sim_time=False,
        **{'qos_overrides./out.publisher.depth': 5})
    assert node.active


def test_an_empty_list_is_one(ros):
    # In a file and on the command line "[]" has no type, and arrives as no value.
    node = ros.start(Node, numbers=None)
    assert node.parameters.numbers == ()


def test_live_parameters_change_and_others_do_not(ros):
    node = ros.start(Node)
    assert ros.change(node, gain=2).successful
    assert node.parameters.gain == 2.0
    assert node.calls[-1] == 'gain 2'
    result = ros.change(node, rate=10.0)
    assert not result.successful
    assert result.reason == (
        'parameter rate: it may be set only while the node is unconfigured, and node is active')
    assert 'numbers: it cannot be deleted' in ros.change(node, numbers=None).reason
    # As it is, it may be said again.
    assert ros.change(node, rate=50, gain=2.0).successful
    result = ros.change(node, mode='sideways')
    assert not result.successful
    assert 'expected one of slow, fast' in result.reason
    result = ros.change(node, mode='fast', gain=20.0)
    assert not result.successful
    assert 'do not go together' in result.reason
    assert (node.parameters.mode, node.parameters.gain) == ('slow', 2.0)
    assert node.get_parameter('gain').value == 2


def test_all_parameters_may_be_set_while_unconfigured(ros):
    node = ros.start(Node, configure=False, port='a')
    result = ros.change(node, rate=200)
    assert (result.successful, result.reason) == (
        False, 'parameter rate: expected 0 to 100, got 200')
    # One by one, as from a file, they may not fit each other meanwhile.
    assert ros.change(node, gain=20.0).successful
    assert ros.change(node, mode='fast').successful
    assert ros.change(node, port=49001, rate=20, numbers=[1, 2], lowest='1e-05').successful
    assert transition(ros, node, 'configure') == FAILURE
    assert 'do not go together' in node.failed
    assert ros.change(node, mode='slow').successful
    # Also the one whose value at the start was wrong.
    assert transition(ros, node, 'configure') == SUCCESS
    given = node.parameters
    assert (given.rate, given.port, given.numbers, given.lowest) == (20.0, 49001, (1, 2), 1e-5)
    assert 'and node is inactive' in ros.change(node, rate=10.0).reason
    assert transition(ros, node, 'cleanup') == SUCCESS
    assert ros.change(node, rate=10.0).successful
    assert 'it cannot be deleted' in ros.change(node, numbers=None).reason
    assert transition(ros, node, 'configure') == SUCCESS
    assert node.parameters.rate == 10.0


def test_a_dump_of_its_own_is_loaded_in_any_state(ros, tmp_path):
    given = {'numbers': None, 'qos_overrides./out.publisher.depth': 5}
    node = ros.start(Node, rate=1e-5, **given)
    file = dumped(ros, 'node', tmp_path / 'mine.yaml')
    assert '/in:' in file.read_text()
    assert loaded(ros, 'node', file) == []
    for name in ('deactivate', 'cleanup'):
        assert transition(ros, node, name) == SUCCESS
        assert loaded(ros, 'node', file) == []
    assert ros.change(node, **{'qos_overrides./out.publisher.depth': 7}).successful
    assert transition(ros, node, 'configure') == SUCCESS
    assert (node.parameters.rate, node.parameters.numbers) == (1e-5, ())
    assert math.isnan(node.parameters.lowest)
    assert node.publisher.qos_profile.depth == 7
    # What rclpy declares and uses before it could be changed.
    assert 'used only when the node is created' in ros.change(
        node, start_type_description_service=False).reason


def test_a_dump_is_loaded_by_a_node_that_was_never_configured(ros, tmp_path):
    old = ros.start(Node, **{'qos_overrides./out.publisher.depth': 5})
    file = dumped(ros, 'node', tmp_path / 'mine.yaml')
    text = file.read_text().replace('/node', '/ns/node').replace('/out', '/ns/out')
    file.write_text(text.replace('/in:', '/ns/in:'))
    assert transition(ros, old, 'shutdown') == SUCCESS
    node = ros.start(Node, configure=False, namespace='ns')
    assert loaded(ros, 'ns/node', file) == []
    assert transition(ros, node, 'configure') == SUCCESS
    assert node.publisher.qos_profile.depth == 5


@pytest.mark.parametrize(('name', 'value', 'sentence'), [
    ('/out.publisher.depth', 'many', "expected a whole number from 0 to 1000000, got 'many'"),
    ('/out.publisher.depth', -1, 'expected a whole number from 0 to 1000000, got -1'),
    ('/out.publisher.reliability', 'besteffort',
     "'besteffort' is not one of reliable, best_effort, best_available, system_default"),
    ('/out.publisher.history', 3, '3 is not one of keep_last, keep_all, system_default'),
    ('/out.publisher.durability', 'volatile',
     'expected qos_overrides.<topic>.<publisher or subscription>.'
     '<depth or history or reliability>'),
    ('/out.publishr.depth', 3, 'expected qos_overrides.<topic>.'),
    ('/ot.publisher.depth', 3, 'node does not publish /ot; did you mean /out?'),
    ('/out.subscription.depth', 3, 'node does not subscribe to /out; for another node, give it in '
     'a section of that node'),
])
def test_a_bad_quality_of_service_stops_configuring_with_a_sentence(ros, name, value, sentence):
    name = f'qos_overrides.{name}'
    node = ros.start(Node, configure=False, **{name: value})
    assert transition(ros, node, 'configure') == FAILURE
    assert name in node.failed
    assert sentence in node.failed
    assert node.count_publishers('out') == 0


def test_a_quality_of_service_is_checked_when_it_is_set(ros):
    node = ros.start(Node, configure=False)
    name = 'qos_overrides./ot.publisher.depth'
    assert 'expected a whole number' in ros.change(node, **{name: 'many'}).reason
    assert ros.change(node, **{name: 3}).successful
    assert transition(ros, node, 'configure') == FAILURE
    assert 'did you mean /out?' in node.failed
    # It can be taken back.
    assert ros.change(node, **{name: None}).successful
    assert transition(ros, node, 'configure') == SUCCESS
    assert ros.change(node, **{'qos_overrides./out.publisher.depth': 3}).reason == (
        'parameter qos_overrides./out.publisher.depth: it may be set only while the node is '
        'unconfigured, and node is inactive')


def test_a_change_that_the_node_refuses_is_not_taken(ros):
    node = ros.start(Node)
    node.fail['gain 5'] = ValueError('5 is too much')
    result = ros.change(node, gain=5.0)
    assert (result.successful, result.reason) == (False, '5 is too much')
    assert node.parameters.gain == node.get_parameter('gain').value == 1.0


# Lifecycle.

def test_a_manager_takes_it_through_its_states(ros):
    node = ros.start(Node, configure=False)

    def change(transition):
        request = ChangeState.Request()
        request.transition.id = transition
        return ros.call(ChangeState, '/node/change_state', request).success

    def state():
        return ros.call(GetState, '/node/get_state', GetState.Request()).current_state.label

    assert state() == 'unconfigured'
    for _ in range(2):
        assert change(Transition.TRANSITION_CONFIGURE)
        assert state() == 'inactive'
        assert change(Transition.TRANSITION_ACTIVATE)
        assert state() == 'active'
        assert change(Transition.TRANSITION_DEACTIVATE)
        assert state() == 'inactive'
        assert change(Transition.TRANSITION_ACTIVATE)
        assert change(Transition.TRANSITION_DEACTIVATE)
        assert change(Transition.TRANSITION_CLEANUP)
        assert state() == 'unconfigured'
    assert node.calls == 2 * ['open', 'begin', 'end', 'begin', 'end', 'close']
    assert change(Transition.TRANSITION_CONFIGURE)
    assert change(Transition.TRANSITION_ACTIVATE)
    assert change(Transition.TRANSITION_ACTIVE_SHUTDOWN)
    assert state() == 'finalized'
    assert node.calls[-4:] == ['open', 'begin', 'end', 'close']


@pytest.mark.parametrize(('asked', 'sentence'), [
    ({'id': Transition.TRANSITION_ACTIVATE}, 'transition activate (3) is not possible'),
    ({'id': Transition.TRANSITION_CONFIGURE}, 'transition configure (1) is not possible'),
    ({'id': Transition.TRANSITION_INACTIVE_SHUTDOWN}, 'transition shutdown (6) is not possible'),
    ({}, 'transition create (0) is not possible'),
    ({'id': 77}, 'transition unknown (77) is not possible'),
    ({'label': 'cleanup'}, "transition 'cleanup' is not possible"),
])
def test_an_impossible_transition_is_refused_with_a_sentence(ros, asked, sentence):
    node = ros.start(Node)
    ros.subscribe(Log, '/rosout', 100)
    ros.wait_for(lambda: ros.observer.count_publishers('/rosout') > 1, 'the log')
    response = ros.call(ChangeState, '/node/change_state', ChangeState.Request(
        transition=Transition(**asked)))
    assert not response.success
    expected = (f'change_state refused: {sentence} in the state active; '
                'possible: deactivate (4), shutdown (7)')
    ros.wait_for(lambda: [log for log in ros.messages['/rosout'] if log.msg == expected], expected)
    # It lives on, and makes those that are possible, by number or by label.
    assert node.active
    assert ros.call(ChangeState, '/node/change_state', ChangeState.Request(
        transition=Transition(label='deactivate'))).success
    assert not node.active


def test_what_open_made_is_gone_after_it_failed_and_after_cleanup(ros):
    node = ros.start(Node, configure=False)

    def offered():
        return (node.count_publishers('out'), node.count_subscribers('in'),
                'wait' in str(node.get_service_names_and_types()))

    for error, outcome in ((LinkError('no such port'), FAILURE), (KeyError('a bug'), ERROR)):
        node.fail['open'] = error
        assert transition(ros, node, 'configure') == outcome
        ros.wait_for(lambda: offered() == (0, 0, False), 'the end of what was made')
    node.fail.clear()
    assert transition(ros, node, 'configure') == SUCCESS
    ros.wait_for(lambda: offered() == (1, 1, True), 'what it offers')
    assert transition(ros, node, 'cleanup') == SUCCESS
    ros.wait_for(lambda: offered() == (0, 0, False), 'the end of what was made')


def test_an_error_in_begin_leaves_it_unconfigured_and_usable(ros):
    node = ros.start(Node, activate=False)
    node.fail['begin'] = RuntimeError('a bug')
    assert transition(ros, node, 'activate') == ERROR
    assert node.calls == ['open', 'begin', 'close']
    assert not node.active
    node.fail.clear()
    assert transition(ros, node, 'configure') == SUCCESS
    assert transition(ros, node, 'activate') == SUCCESS
    assert node.active


def test_publishers_are_silent_unless_active(ros):
    node = ros.start(Node, activate=False)
    ros.subscribe(Float64, '/out')
    ros.wait_for(lambda: node.publisher.get_subscription_count(), 'the subscription')
    ros.run_in(node, node.publisher.publish, Float64(data=1.0))
    transition(ros, node, 'activate')
    ros.run_in(node, node.publisher.publish, Float64(data=2.0))
    ros.wait_for(lambda: ros.messages['/out'], 'a message')
    assert [message.data for message in ros.messages['/out']] == [2.0]


# Commands and services.

def test_refused_commands_are_counted_and_logged_once_a_second(ros):
    node = ros.start(Node)
    ros.subscribe(Log, '/rosout', 1000)
    publisher = ros.publisher(Float64, '/in', 100)
    ros.wait_for(lambda: ros.observer.count_publishers('/rosout') > 1, 'the log')
    for _ in range(30):
        publisher.publish(Float64(data=-1.0))
    publisher.publish(Float64(data=3.0))
    ros.wait_for(lambda: node.got == [3.0], 'the good command')
    level, message, values = ros.diagnosed('refused', node=node)
    assert (level, message) == (DiagnosticStatus.WARN, '30 commands refused')
    assert values == {'in': '30'}
    warnings = [log for log in ros.messages['/rosout'] if 'in refused: -1 is below 0' in log.msg]
    assert len(warnings) <= 2
    # Each status has a distinct name.
    names = [status.name for status in ros.messages['/diagnostics'][-1].status]
    assert names == ['/node: link', '/node: refused', '/node: log', '/node: published']


def test_a_command_to_an_inactive_node_is_ignored(ros):
    node = ros.start(Node, activate=False)
    publisher = ros.publisher(Float64, '/in', 100)
    publisher.publish(Float64(data=1.0))
    response = ros.call(SetBool, '/set', SetBool.Request(data=True))
    assert (response.success, response.message) == (False, 'node is not active')
    transition(ros, node, 'activate')
    publisher.publish(Float64(data=2.0))
    ros.wait_for(lambda: node.got, 'a command')
    assert node.got == [2.0]


def test_a_service_answers_why_not(ros):
    node = ros.start(Node)
    response = ros.call(SetBool, '/set', SetBool.Request(data=False))
    assert (response.success, response.message) == (False, 'false is not possible')
    assert node.refused['set'] == 1
    assert ros.call(SetBool, '/set', SetBool.Request(data=True)).success


def test_a_service_that_waits_delays_neither_commands_nor_timers_nor_others(ros):
    node = ros.start(Node)
    client = ros.observer.create_client(Trigger, '/wait')
    assert client.wait_for_service(5.0)
    answers = [client.call_async(Trigger.Request()) for _ in range(2)]
    ros.wait_for(lambda: len(node.waiting) == 2, 'both calls')
    ros.publisher(Float64, '/in', 100).publish(Float64(data=1.0))
    ros.wait_for(lambda: node.got == [1.0], 'the command')
    ros.wait_for(lambda: 'timeout' in node.calls, 'the watchdog')
    ros.diagnosed('link', node=node)
    assert ros.call(SetBool, '/set', SetBool.Request(data=True)).success
    assert not any(answer.done() for answer in answers)
    node.waiting[1].set_result('second')
    ros.wait_for(answers[1].done, 'the answer')
    node.waiting[0].set_result('first')
    ros.wait_for(answers[0].done, 'the answer')
    assert [answer.result().message for answer in answers] == ['first', 'second']


def test_more_calls_than_may_wait_are_refused_with_a_sentence(ros):
    node = ros.start(Node)
    client = ros.observer.create_client(Trigger, '/wait', qos_profile=QoSProfile(depth=150))
    assert client.wait_for_service(5.0)
    answers = [client.call_async(Trigger.Request())]
    # By then the service knows where its responses go.
    ros.wait_for(lambda: node.waiting, 'the first call')
    answers += [client.call_async(Trigger.Request()) for _ in range(149)]
    ros.wait_for(lambda: sum(answer.done() for answer in answers) == 50, 'the refusals')
    refused = {answer.result().message for answer in answers if answer.done()}
    assert refused == {'100 calls are pending; try again later'}
    assert node.refused['wait'] == 50
    assert len(node.waiting) == 100
    for future in node.waiting:
        future.set_result('answered')
    ros.wait_for(lambda: all(answer.done() for answer in answers), 'the others')
    ros.observer.destroy_client(client)


def test_a_call_that_waits_is_answered_when_the_node_is_shut_down(ros):
    node = ros.start(Node)
    client = ros.observer.create_client(Trigger, '/wait')
    assert client.wait_for_service(5.0)
    answer = client.call_async(Trigger.Request())
    ros.wait_for(lambda: node.waiting, 'the call')
    assert transition(ros, node, 'shutdown') == SUCCESS
    ros.wait_for(answer.done, 'the answer')
    assert answer.result().message == 'given up'
    ros.observer.destroy_client(client)
    ros.wait_for(
        lambda: 'wait' not in str(node.get_service_names_and_types()), 'the end of the service')


# Watchdog.

def test_the_watchdog_waits_for_a_command_and_strikes_once(ros):
    node = ros.start(Node)
    publisher = ros.publisher(Float64, '/in', 100)
    for _ in range(2):
        node.calls.clear()
        publisher.publish(Float64(data=1.0))
        ros.wait_for(lambda: node.watchdog.expired, 'the watchdog')
        assert node.calls == ['timeout']
        node.got.clear()
        publisher.publish(Float64(data=1.0))
        ros.wait_for(lambda: node.got and not node.watchdog.expired, 'the next command')
        ros.run_in(node, node.watchdog.disarm)


def test_a_shorter_timeout_holds_for_the_command_that_came_before(ros):
    node = ros.start(Node)
    ros.run_in(node, node.watchdog.set_timeout, 1000.0)
    ros.run_in(node, node.watchdog.feed)
    ros.run_in(node, node.watchdog.set_timeout, 0.05)
    ros.wait_for(lambda: node.watchdog.expired, 'the watchdog')
    # A watchdog that waits for a command keeps waiting.
    ros.run_in(node, node.watchdog.disarm)
    ros.run_in(node, node.watchdog.set_timeout, 0.001)
    ros.diagnosed('link', node=node)
    assert not node.watchdog.expired


def test_a_timeout_of_zero_switches_the_watchdog_off(ros):
    node = ros.start(Node)
    ros.run_in(node, node.watchdog.set_timeout, 0.0)
    ros.run_in(node, node.watchdog.feed)
    ros.diagnosed('link', node=node)
    assert not node.watchdog.expired
    # Until it is switched on again, and then fed.
    ros.run_in(node, node.watchdog.set_timeout, 0.05)
    ros.run_in(node, node.watchdog.feed)
    ros.wait_for(lambda: node.watchdog.expired, 'the watchdog')


def test_nothing_of_it_is_left_when_it_is_closed(ros):
    before = set(threading.enumerate())
    node = ros.start(Node)
    timers = len(list(node.timers))
    assert transition(ros, node, 'deactivate') == transition(ros, node, 'cleanup') == SUCCESS
    assert len(list(node.timers)) == timers - 1
    # The executor.
    assert len(set(threading.enumerate()) - before) <= 1


def test_what_a_peer_writes_comes_out_printable(ros):
    """In the log, in diagnostics and in a service response; so no line is forged."""
    node = ros.start(Node)
    raw, shown = 'one\n\x1b[2J\u202e \ud800', r'one\n\x1b[2J\u202e \ud800'
    ros.subscribe(Log, '/rosout', 1000)
    ros.wait_for(lambda: ros.observer.count_publishers('/rosout') > 1, 'the log')
    for _ in range(50):
        node.refuse(raw, ValueError(raw))
    log = ros.messages['/rosout']
    ros.wait_for(lambda: any('refused' in line.msg for line in log), 'the warning')
    assert {line.msg for line in log if 'refused' in line.msg} == {f'{shown} refused: {shown}'}
    _, _, values = ros.diagnosed('refused', node=node)
    assert values == {shown: '50'}
    _, message, values = ros.diagnosed('log', node=node)
    assert 'suppressed' in message
    assert int(values['messages suppressed']) > 0
    response = ros.call(Trigger, '/fail', Trigger.Request())
    assert (response.success, response.message) == (False, shown)


class Played:
    """A finished replay, as diagnostics sees it."""

    finished = True
    path = '/tmp/flight.pcap'

    def __init__(self, progress, received):
        self._progress = progress
        self._received = received

    def progress(self):
        return self._progress

    def counters(self):
        return SocketCounters(received=self._received)


@pytest.mark.parametrize(('progress', 'received', 'level', 'text'), [
    (ReplayProgress(), 5, DiagnosticStatus.OK, 'played to its end'),
    (ReplayProgress(), 0, DiagnosticStatus.WARN, 'nothing in it was for this node'),
    (ReplayProgress(incomplete=2, untimely=1, fault='packet 7 ...'), 5, DiagnosticStatus.WARN,
     '3 datagrams not played: packet 7 ...'),
    (ReplayProgress(error='capture ...: packet 7 ...', incomplete=1), 5, DiagnosticStatus.ERROR,
     'ended early: capture ...: packet 7 ...'),
])
def test_a_capture_says_what_of_it_was_not_played(progress, received, level, text):
    status = capture_status(Played(progress, received))
    assert (status.name, status.level) == ('capture', level)
    assert status.message.startswith(text)
