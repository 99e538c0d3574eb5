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

"""The experiment command with several aircraft: summary, figures, picture, exit code."""

import json

import pytest

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from xplane_bridge.commands import experiment as main
from xplane_bridge.laboratory.experiments.settings import MISSED, NOT_FLOWN, PASSED

TWO = """
duration: 2.0
initial: {altitude: 1200.0, airspeed: 48.0, heading_deg: 0.0}
events: [{at: 0.1, engage: true}]
vehicles:
  - {name: low}
  - {name: high, initial: {forward: 100.0, up: 60.0, heading_deg: 180.0}}
criteria:
  - {separation: [low, high], at_least: 50.0}
"""


def experiment(tmp_path, text, *arguments):
    path = tmp_path / 'two.yaml'
    path.write_text(text)
    return main.main(['--sim', 'core', '--scenario', str(path), '--output',
                      str(tmp_path / 'out'), '--force', *arguments])


def test_the_report_says_which_aircraft(tmp_path, capsys):
    pytest.importorskip('matplotlib', reason='drawing needs matplotlib')
    assert experiment(tmp_path, TWO, '--format', 'svg') == PASSED
    said = capsys.readouterr().out
    assert '  0.1 s  engage\n' in said
    assert '  low (c172p)\n    gains: c172p.yaml' in said
    assert 'met     min of separation of low and high at least 50: 60' in said
    found = json.loads((tmp_path / 'out.json').read_text())
    assert found['passed']
    assert found['complete']
    assert found['midairs'] == []
    assert found['vehicles'].keys() == found['figures']['vehicles'].keys() == {'low', 'high'}
    assert [one['event'] for one in found['vehicles']['low']['events']] == ['engage']
    nearest = found['figures']['separation']['high']
    assert nearest['nearest'] == 'low'
    assert nearest['distance'] == pytest.approx(60.0, abs=1.0)
    text = (tmp_path / 'out.svg').read_text()
    assert 'two on core' in text
    assert '<!-- high -->' in text


def test_a_mid_air_is_a_missed_criterion(tmp_path, capsys):
    text = TWO.replace('up: 60.0', 'up: 5.0')
    assert experiment(tmp_path, text, '--no-picture') == MISSED
    said = capsys.readouterr().out
    assert 'mid-air: low and high are' in said
    assert 'MISSED  min of separation of any two at least 10' in said
    found = json.loads((tmp_path / 'out.json').read_text())
    meeting, = found['midairs']
    assert meeting['vehicles'] == ['low', 'high']
    assert found['flown'] == pytest.approx(meeting['at'])
    assert found['flown'] < 1.0


def test_what_cannot_be_flown_is_said_before_anything_starts(tmp_path, capsys):
    assert experiment(tmp_path, TWO, '--sim', 'xpc') == NOT_FLOWN
    assert capsys.readouterr().err == (
        'experiment: scenario two has 2 aircraft, and several are flown in core, or through ROS '
        'by simulator_node alone: --sim core, or --sim direct --lockstep\n')
    assert experiment(tmp_path, TWO.replace('{name: low}', '{name: high}')) == NOT_FLOWN
    assert 'vehicles[1].name: high is the name of vehicles[0] already' in capsys.readouterr().err
    assert not list(tmp_path.glob('out*'))


def test_one_that_fails_in_flight_is_named(tmp_path, capsys):
    text = TWO.replace('up: 60.0', 'up: 60.0, airspeed: 400.0')
    assert experiment(tmp_path, text) == NOT_FLOWN
    assert 'experiment: vehicle high: ' in capsys.readouterr().err
