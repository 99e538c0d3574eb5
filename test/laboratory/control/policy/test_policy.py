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

"""Loading policies: references, ONNX files, and what is said of those that are none."""

import json
import re
import sys
from types import ModuleType

import numpy as np
import pytest

from xplane_bridge.common import optional
from xplane_bridge.laboratory.control.policy import load as policy
from xplane_bridge.laboratory.control.policy.load import load, LoadedPolicy
from xplane_bridge.laboratory.control.policy.observation import INDEX, SIZE

onnx = pytest.importorskip('onnx', reason='onnx is not installed')
pytest.importorskip('onnxruntime', reason='onnxruntime is not installed')

TOLD = ['imu/data.angular_velocity.x', 'target.airspeed']

PROGRAM = """
import numpy as np

class Counting:
    fields = ('target.airspeed',)
    level = 'attitude'

    def __init__(self):
        self.count = 0

    def reset(self):
        self.count = 0

    def __call__(self, observation):
        self.count += 1
        return 0.0, 0.001 * observation[0], 10.0 * self.count

def everything(observation):
    return observation[:4]

def raising(observation):
    return 1 / 0

def through_numpy(observation):
    return np.linalg.inv(np.zeros((2, 2)))

def not_a_number(observation):
    return [0.0, float('nan'), 0.0, 0.0]

def ragged(observation):
    return [0.0, [1.0]]

def short(observation):
    return 0.0

def picky(observation):
    return 0.0, 0.0, 0.0, 0.0
picky.fields = ['imu/data.colour']

def aloft(observation):
    return 0.0
aloft.level = 'orbit'

answer = 42
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / 'mine.py'
    path.write_text(PROGRAM)
    return path


def write_onnx(path, *, inputs=2, outputs=4, remembers=False, rename=None, **metadata):
    """Write a policy whose action is the sum of its inputs, and of all actions before."""
    from onnx import helper, TensorProto

    def value(name, width):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, width])

    weights = helper.make_tensor(
        'weights', TensorProto.FLOAT, [inputs, outputs], [1.0] * inputs * outputs)
    nodes = [helper.make_node('MatMul', ['observation', 'weights'], ['sum'])]
    given, found = [value('observation', inputs)], [value('action', outputs)]
    if remembers:
        nodes += [helper.make_node('Add', ['sum', 'state'], ['action']),
                  helper.make_node('Identity', ['action'], ['next_state'])]
        given, found = [*given, value('state', outputs)], [*found, value('next_state', outputs)]
    else:
        nodes.append(helper.make_node('Identity', ['sum'], ['action']))
    graph = helper.make_graph(nodes, 'policy', given, found, [weights])
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid('', 13)], ir_version=8)
    helper.set_model_props(model, metadata)
    content = model.SerializeToString()
    path.write_bytes(content if rename is None else content.replace(*rename))
    return path


def with_external_data(path, location='weights.bin'):
    """Write a policy that has its weights in another file, as torch does."""
    model = onnx.load(write_onnx(path, fields=json.dumps(TOLD)))
    weights, = model.graph.initializer
    weights.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(weights), 'weights'))
    onnx.external_data_helper.convert_model_to_external_data(
        model, location=location, size_threshold=0)
    onnx.save(model, path)
    return path


def test_the_digest_of_an_onnx_file_includes_its_external_data(tmp_path):
    path = with_external_data(tmp_path / 'policy.onnx')
    weights = tmp_path / 'weights.bin'
    assert policy.find_files(str(path)) == {'policy.onnx': path, 'weights.bin': weights}
    before = load(str(path))
    weights.write_bytes(np.full(8, 0.5, np.float32).tobytes())
    after = load(str(path))
    assert before.digest != after.digest
    weights.unlink()
    with pytest.raises(ValueError, match=r"has data in 'weights\.bin', which is not beside it"):
        load(str(path))


def test_external_data_lies_below_the_folder_of_its_file(tmp_path):
    path = with_external_data(tmp_path / 'policy.onnx')
    path.write_bytes(path.read_bytes().replace(b'weights.bin', b'../weightsb'))
    (tmp_path.parent / 'weightsb').write_bytes(b'of somebody else')
    with pytest.raises(ValueError, match='expected a file below its own folder'):
        policy.find_files(str(path))


def test_an_onnx_file_that_may_never_end_is_refused_before_it_is_run(tmp_path):
    from onnx import helper, TensorProto

    one = helper.make_tensor_value_info('action', TensorProto.FLOAT, [1, 4])
    goes_on = helper.make_tensor_value_info('goes_on', TensorProto.BOOL, [])
    body = helper.make_graph(
        [helper.make_node('Identity', ['so_far'], ['action']),
         helper.make_node('Identity', ['still'], ['goes_on'])], 'body',
        [helper.make_tensor_value_info('round', TensorProto.INT64, []),
         helper.make_tensor_value_info('still', TensorProto.BOOL, []),
         helper.make_tensor_value_info('so_far', TensorProto.FLOAT, [1, 4])], [goes_on, one])
    yes = helper.make_tensor('yes', TensorProto.BOOL, [], [True])
    model = onnx.load(write_onnx(tmp_path / 'policy.onnx', fields=json.dumps(TOLD)))
    model.graph.initializer.append(yes)
    model.graph.node[-1].CopyFrom(
        helper.make_node('Loop', ['', 'yes', 'sum'], ['action'], body=body))
    onnx.save(model, tmp_path / 'policy.onnx')
    with pytest.raises(ValueError, match='has the operator Loop, which may never end'):
        load(str(tmp_path / 'policy.onnx'))
    with (tmp_path / 'policy.onnx').open('ab') as file:
        # An unknown group, which protocol buffers skip.
        file.write(b'\x9b\x06\x9c\x06')
    with pytest.raises(ValueError, match='may never end|has a group'):
        load(str(tmp_path / 'policy.onnx'))


@pytest.mark.parametrize('content', [b'', b'\x3a', b'\x3a\x7f', b'\xff' * 20])
def test_what_is_no_onnx_file_has_the_digest_of_its_bytes(tmp_path, content):
    path = tmp_path / 'no.onnx'
    path.write_bytes(content)
    assert policy.find_files(str(path)) == {'no.onnx': path}


def observed(**values):
    observation = np.zeros(SIZE)
    for name, value in values.items():
        observation[INDEX[name]] = value
    return observation


OBSERVATION = observed(**{TOLD[0]: 0.25, TOLD[1]: 0.5})


def test_a_class_in_a_file_is_told_its_fields_and_commands_its_level(program):
    found = load(f'{program}:Counting')
    assert (found.name, found.action.level, len(found.digest)) == ('Counting', 'attitude', 64)
    assert found.act(observed(**{'target.airspeed': 50.0})) == (0.0, 0.05, 1.0)
    assert found.act(OBSERVATION)[2] == 1.0
    found.reset()
    assert found._policy.count == 0


def test_a_function_is_told_everything_and_is_limited(program):
    found = load(f'{program}:everything')
    observation = np.arange(SIZE) - 3.0
    assert found.act(observation) == (-1.0, -1.0, -1.0, 0.0)
    assert observation[0] == -3.0
    with pytest.raises(ValueError, match=rf'an observation has {SIZE} numbers, got shape \(2,\)'):
        found.act(np.zeros(2))


def neighbours(folder, number):
    """Return a policy that imports from its folder; its elevator is that number."""
    (folder / 'parts').mkdir(parents=True)
    (folder / 'helper.py').write_text(f'from parts.more import K\nVALUE = K + {number}\n')
    (folder / 'parts/__init__.py').write_text('')
    (folder / 'parts/more.py').write_text('K = 0.0\n')
    (folder / 'mine.py').write_text(
        'from helper import VALUE\n\ndef act(observation):\n    return VALUE, 0.0, 0.0, 0.5\n')
    return f'{folder}/mine.py:act'


def test_each_policy_imports_what_is_beside_it(tmp_path):
    path, modules = list(sys.path), set(sys.modules)
    flown = [load(neighbours(tmp_path / name, number)).act(np.zeros(SIZE))[0]
             for name, number in (('one', 0.1), ('two', 0.2))]
    assert flown == [0.1, 0.2]
    assert sys.path == path
    assert not {'helper', 'parts', 'parts.more'} & (sys.modules.keys() - modules)


def test_a_neighbour_whose_name_another_module_has_is_refused(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, 'helper', ModuleType('helper'))
    with pytest.raises(ValueError, match=r'has helper, and so has this process, from .*: rename'):
        load(neighbours(tmp_path / 'one', 0.1))


def test_a_module_is_found_by_its_name(program, monkeypatch):
    monkeypatch.syspath_prepend(program.parent)
    assert load('mine:everything').digest == load(f'{program}:everything').digest


def test_a_reference_may_be_made_independent_of_the_working_directory(program, monkeypatch):
    monkeypatch.chdir(program.parent)
    assert policy.absolute('mine.py:everything') == f'{program}:everything'
    assert policy.absolute('a.onnx') == str(program.parent / 'a.onnx')
    assert policy.absolute('name') == 'name'
    assert policy.absolute('package.module:policy') == 'package.module:policy'


@pytest.mark.parametrize(('attribute', 'sentence'), [
    ('raising', r'raised ZeroDivisionError: division by zero \(.*mine\.py, line \d+\)$'),
    ('not_a_number', "the action's aileron is nan"),
    ('short', r'an action has 4 numbers \(elevator, aileron, rudder, throttle\), got shape \(\)'),
    ('ragged', 'the policy raised ValueError'),
    ('through_numpy', r'raised LinAlgError: .* \(.*mine\.py, line \d+\)$'),
])
def test_a_bad_action_is_refused(program, attribute, sentence):
    found = load(f'{program}:{attribute}')
    with pytest.raises(ValueError, match=sentence):
        found.act(OBSERVATION)


@pytest.mark.parametrize(('reference', 'sentence'), [
    ('', 'expected the name of a policy of this package, a file.onnx, '),
    ('mine.py', 'expected the name of'),
    ('no/such/name', 'expected the name of'),
    ('nobody', 'those of this package are: '),
    ('nowhere.onnx', 'there is no file nowhere.onnx'),
    ('nowhere.py:policy', 'there is no file nowhere.py'),
    ('no.such.module:policy', "no.such.module cannot be imported: .*No module named 'no'"),
    ('json:', 'expected the name of'),
    ('json:nothing', 'json has no nothing'),
    ('{program}:answer', 'answer is not a policy: it cannot be called'),
    ('{program}:picky', 'an observation has no imu/data.colour; it has imu/data.orientation.x'),
    ('{program}:aloft', "level is 'orbit': expected one of controls, attitude, target"),
    ('{broken}:policy', r'broken.py raised SyntaxError'),
    ('{text}', 'cannot be loaded by onnxruntime'),
])
def test_what_is_no_policy_is_refused_with_a_sentence(program, reference, sentence):
    broken, text = program.parent / 'broken.py', program.parent / 'text.onnx'
    broken.write_text('policy = (')
    text.write_text('policy')
    reference = reference.format(program=program, broken=broken, text=text)
    with pytest.raises(ValueError, match=sentence) as raised:
        load(reference)
    assert str(raised.value).startswith(f'policy {reference}: ')
    assert '\n' not in str(raised.value)


def test_an_onnx_file_says_what_it_takes_and_commands(tmp_path, monkeypatch):
    path = write_onnx(
        tmp_path / 'sum.onnx', outputs=3, fields=json.dumps(TOLD), level='attitude')
    found = load(str(path))
    assert (found.name, found.action.level, found.fields) == ('sum', 'attitude', tuple(TOLD))
    assert found.act(OBSERVATION) == (0.75, 0.75, 0.75)
    # One that ships is found by its name.
    monkeypatch.setattr(
        'xplane_bridge.laboratory.control.policy.load.folder', lambda name: tmp_path)
    assert load('sum').digest == found.digest


def test_an_onnx_file_without_metadata_takes_everything(tmp_path):
    found = load(str(write_onnx(tmp_path / 'sum.onnx', inputs=SIZE)))
    assert found.act(OBSERVATION) == (0.75, 0.75, 0.75, 0.75)


def test_an_onnx_policy_may_remember_until_it_is_reset(tmp_path):
    found = load(str(write_onnx(
        tmp_path / 'sum.onnx', remembers=True, fields=json.dumps(TOLD))))
    first = [found.act(0.25 * OBSERVATION) for _ in range(3)]
    assert [action[0] for action in first] == [0.1875, 0.375, 0.5625]
    found.reset()
    assert [found.act(0.25 * OBSERVATION) for _ in range(3)] == first


@pytest.mark.parametrize(('options', 'sentence'), [
    ({'inputs': 3}, 'its observation has 3 numbers, but there are 2 fields'),
    ({'outputs': 3}, 'its action has 3 numbers, but there are 4 fields at level controls'),
    ({'level': 'orbit'}, "level is 'orbit': expected one of"),
    ({'fields': 'imu/data'}, "its metadata fields are 'imu/data': expected a JSON list of names"),
    ({'fields': '["a", "b"]'}, 'an observation has no a, b; it has'),
    ({'rename': (b'observation', b'observatiox')}, 'expected observation and perhaps state'),
    ({'remembers': True, 'rename': (b'next_state', b'nexx_state')},
     "it has 'nexx_state': expected action and perhaps next_state"),
])
def test_an_onnx_file_that_is_no_policy_is_refused(tmp_path, options, sentence):
    path = write_onnx(tmp_path / 'sum.onnx', **{'fields': json.dumps(TOLD)} | options)
    with pytest.raises(ValueError, match=re.escape(sentence)):
        load(str(path))


def test_a_missing_onnxruntime_is_named(tmp_path, monkeypatch):
    path = write_onnx(tmp_path / 'sum.onnx')
    monkeypatch.setattr(optional.importlib.util, 'find_spec', lambda name: None)
    with pytest.raises(ValueError, match='needs the Python package onnxruntime: .*pip install'):
        load(str(path))


def test_what_is_called_is_a_policy():
    found = LoadedPolicy(lambda observation: (0.0, 0.0, 0.0, 2.0))
    assert found.act(OBSERVATION) == (0.0, 0.0, 0.0, 1.0)
    found.reset()
