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

"""Faults that are planted in X-Plane's Web API, and what a verification must call each."""

from __future__ import annotations

from base64 import b64decode, b64encode
import json

from planted_faults import DEGREE, F, half_time, KNOT, P, Planted, scaled, SIGN, W

from xplane_bridge.laboratory.verification.web import FLAPS, PAUSE

_WAVES = {'waves': True}


def web(name, subject, said, plant=None, besides=(), **options):
    """Return a fault of the Web API."""
    return Planted('web_api', name, subject, said, plant, besides=besides, options=options)


def answers(change):
    """Plant that ``change(method, path, status, body)`` is answered by REST."""
    def plant(peer):
        peer.answers = change

    return plant


def says(change):
    """Plant that a message of the WebSocket is changed: a dict, or None for none."""
    def plant(peer):
        peer.says = lambda text: [json.dumps(one) for one in [change(json.loads(text))]
                                  if one is not None]

    return plant


def hears(*types):
    """Plant that requests of these types are granted, and nothing is done."""
    def plant(peer):
        join = peer.api.join

        def deaf(path):
            socket = join(path)
            for type_ in types:
                socket._types[type_] = lambda params: None
            return socket

        peer.api.join = deaf

    return plant


def _without(name):
    """X-Plane does not know a dataref."""
    return lambda peer: peer.api.store.ids['datarefs'].pop(name)


def _of_type(type_, change):
    return says(lambda message: change(message) if message['type'] == type_ else message)


def _updates(*frames, of):
    """Plant that X-Plane says what has changed in these of so many frames only."""
    def plant(peer):
        join = peer.api.join

        def joined(path):
            socket = join(path)
            step, count = socket.step, 0

            def now_and_then():
                nonlocal count
                count += 1
                if count % of not in frames:
                    return []
                socket._next = 0.0
                return step()

            socket.step = now_and_then
            return socket

        peer.api.join = joined

    return plant


def _other_numbers(message):
    if message['type'] == 'result':
        message['req_id'] += 1000
    return message


def _turned_elements(peer):
    """Elements of an array come in descending order."""
    def change(message):
        if message['type'] == 'dataref_update_values':
            message['data'] = {
                number: value[::-1] if isinstance(value, list) and len(value) == 2 else value
                for number, value in message['data'].items()}
        return message

    says(change)(peer)


def _as_text(peer):
    """Send the angle of attack as text."""
    number = str(peer.api.store.ids['datarefs'][f'{P}alpha'])

    def change(message):
        if message['type'] == 'dataref_update_values' and number in message['data']:
            message['data'][number] = str(message['data'][number])
        return message

    says(change)(peer)


def _rest_is_older(peer):
    """REST says another value of the flaps than the WebSocket."""
    number = peer.api.store.ids['datarefs'][FLAPS]

    def change(method, path, status, body):
        if method == 'GET' and f'/{number}/value' in path:
            return status, json.dumps({'data': json.loads(body)['data'] + 0.4}).encode()
        return status, body

    peer.answers = change


def _no_text(peer):
    """Text that is written is lost."""
    write = peer.api.store.write

    def short(name, given, index, too_few):
        if isinstance(given, str):
            given = b64encode(bytes(len(b64decode(given)))).decode('ascii')
        write(name, given, index, too_few)

    peer.api.store.write = short


def _deaf_patch(peer):
    """Ignore what is written by REST."""
    answer = peer.api.answer
    peer.api.answer = lambda method, target, body=b'': (
        (200, b'null') if method == 'PATCH' else answer(method, target, body))


def _never_released(peer):
    peer.api.store.release = lambda holder, name=None: None


def _never_over(peer):
    peer.api.store.step = lambda: None


def _held_on(peer):
    peer.ends_holds = False


def _no_socket(peer):
    peer.has_socket = False


def _deaf_press(peer):
    press = peer.api.store.press
    peer.api.store.press = lambda name: None if name == PAUSE else press(name)


def _any_type(peer):
    """Grant an unknown type."""
    join = peer.api.join

    def polite(path):
        socket = join(path)
        socket._types['no_such_type'] = lambda params: None
        return socket

    peer.api.join = polite


def _any_id(peer):
    """Grant a request with an unknown id."""
    says(lambda message: {'req_id': message['req_id'], 'type': 'result', 'success': True}
         if message.get('error_code') == 'invalid_dataref_id' else message)(peer)


def _inactive(message):
    message['data'] = dict.fromkeys(message['data'], False)
    return message


PLANTED_WEB = (
    web('incoming disabled', 'answer', 'refuses all requests',
        answers(lambda method, path, status, body: (403, b''))),
    web('another program', 'answer', 'is this another program',
        answers(lambda method, path, status, body: (404, b'<html>'))),
    web('only v1', 'answer', 'versions of the Web API', answers(
        lambda method, path, status, body: (status, body.replace(
            b'"v1", "v2", "v3"', b'"v1"')))),
    web('no WebSocket', 'WebSocket', 'does not open', _no_socket),
    web('other numbers', 'results', 'is not answered', says(_other_numbers)),
    web('any type', 'unknown type', 'not refused', _any_type),
    web('any id', 'one for all', 'not refused', _any_id),
    web('without alpha', f'{P}alpha', 'does not arrive', _without(f'{P}alpha')),
    web('without Qrad', f'{P}Qrad', 'does not arrive', _without(f'{P}Qrad')),
    web('half rate', 'rate', 'less often', _updates(0, of=8)),
    web('jitter', 'jitter', 'unevenly', _updates(0, 2, of=8)),
    web('half speed', 'time', 'pace', half_time, besides=('rate', 'gaps', 'jitter')),
    web('number as text', 'messages', 'cannot be read', _as_text, besides=(f'{P}alpha',)),
    web('elements turned', f'{P}q[3]', 'not what REST says', _turned_elements,
        besides=(f'{P}q[0]',)),
    web('flaps of REST', FLAPS, 'not what REST says', _rest_is_older, besides=('flaps',)),
    web('PATCH ignored', 'flaps', 'do not show', _deaf_patch),
    web('values ignored', 'flaps', 'by the WebSocket', hears('dataref_set_values')),
    web('text lost', 'text', 'do not show', _no_text),
    web('hold ignored', 'hold', 'not shown', hears('command_set_is_active')),
    web('hold not reported', 'hold', 'not shown', _of_type(
        'command_update_is_active', _inactive)),
    web('release ignored', 'given back', 'not shown', _never_released, besides=('connection',)),
    web('duration ignored', 'lease', 'does not end', _never_over),
    web('connection ignored', 'connection', 'does not end', _held_on),
    web('pause ignored', 'pause', 'does not show', _deaf_press),
    *(web(f'sign of {name}', subject, SIGN, scaled(P + name), **_WAVES) for name, subject in (
        ('Prad', 'roll_rate'), ('Qrad', 'pitch_rate'), ('true_phi', 'roll'),
        ('local_vx', 'velocity_east'), ('alpha', 'angle_of_attack'))),
    web('sign of g_nrml', 'specific_force_up', SIGN, scaled(f'{F}g_nrml'), **_WAVES),
    web('unit of true_airspeed', 'true_airspeed', 'knots',
        scaled(f'{P}true_airspeed', 1.0 / KNOT), **_WAVES),
    web('unit of alpha', 'angle_of_attack', 'radians', scaled(f'{P}alpha', DEGREE), **_WAVES),
    web('unit of pressure', 'static_pressure', 'hPa',
        scaled(f'{W}barometer_current_pas', 0.01), **_WAVES),
    web('flaps in percent', FLAPS, 'ratio', scaled(FLAPS, 100.0, 2.0), besides=('flaps',)),
)
