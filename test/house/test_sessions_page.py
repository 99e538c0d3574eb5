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

"""docs/explanation/sessions.md shows the tables of states as they are."""

from pathlib import Path

import draw_states

from xplane_bridge.bridges.sessions.machine import (
    Action,
    end,
    Event,
    leave,
    State,
    stay,
    Teardown,
    to,
)

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_made_from_the_tables():
    page = (ROOT / 'docs/explanation/sessions.md').read_text(encoding='utf-8')
    assert draw_states.put(page) == page, 'make states-page writes it anew'


def test_a_diagram_has_an_arrow_for_each_way_between_states():
    text = draw_states.diagram({
        State.WAITING: {
            Event.HEARD: to(State.ANSWERING), Event.SAME: to(State.ANSWERING, Action.TELL),
            Event.GONE: to(State.WAITING, Action.END)},
        State.ANSWERING: {}}, {})
    assert 'WAITING --> ANSWERING: HEARD, SAME' in text
    assert '[*] --> WAITING' in text
    assert 'GONE' not in text


LEFT = {
    Teardown.LEAVING: {
        Event.SHOWN: end(State.OFF), Event.EXPIRED: end(State.OFF),
        Event.OTHER: stay(Action.FORGET_TAKEN)},
    (Teardown.LEAVING, State.AWAY): {Event.HEARD: to(State.ANSWERING), Event.MUTE: stay()}}


def test_being_left_is_one_state_of_the_diagram():
    text = draw_states.diagram({
        State.ANSWERING: {Event.STOP: leave(State.ANSWERING)},
        State.WAITING: {Event.STOP: leave(State.AWAY)}}, LEFT)
    assert [line.strip() for line in text.splitlines()[3:-1]] == [
        'ANSWERING --> LEAVING: STOP', 'WAITING --> LEAVING: STOP',
        'LEAVING --> OFF: SHOWN, EXPIRED']


def test_a_cell_says_how_one_is_left_and_where_it_stands_meanwhile():
    about = '**WAITING**: nothing was heard yet, shown as *unknown*'
    *_, line = draw_states.cells({State.WAITING: {Event.STOP: leave(State.AWAY, Action.LEAVE)}})
    assert line == f'| {about} | STOP | **LEAVING** in **AWAY** | LEAVE |'
    *_, line = draw_states.cells({State.AWAY: {Event.STOP: leave(State.AWAY)}})
    assert '| STOP | **LEAVING** |' in line
    lines = list(draw_states.cells(LEFT))[2:]
    assert [line.split(' | ', 1)[1] for line in lines] == [
        'SHOWN, EXPIRED | ends in **OFF** |  |', 'OTHER | stays | FORGET_TAKEN |',
        'HEARD | **ANSWERING** |  |', 'MUTE | stays |  |']
    assert lines[0].startswith('| **LEAVING**: giving back')
    assert lines[2].startswith('| LEAVING, in **AWAY** |')


def test_a_cell_says_when_it_matters_and_what_is_done_in_this_order():
    *_, line = draw_states.cells({
        State.ABSENT: {Event.HEARD: to(State.ANSWERING, Action.RESTORE, Action.RESUME)}})
    assert line == (
        '| **ABSENT**: nothing has ever answered, shown as *away* | HEARD | **ANSWERING** | '
        'RESTORE, RESUME |')


def test_each_word_of_the_tables_is_explained_once():
    page = draw_states.page()
    for word in (*Event, *Action):
        assert page.count(f'| {word.name} | {word.value} |') == 1


def test_each_protocol_has_a_section():
    page = draw_states.page()
    for protocol in ('fdmdata', 'simpit', 'ulyssix', 'xpc', 'xplane_udp'):
        assert f'(../../xplane_bridge/bridges/{protocol}/session/states.py)' in page
