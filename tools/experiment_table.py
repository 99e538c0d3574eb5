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

"""Fly one scenario on each simulator, and write the figures to a table in a document."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
from typing import Any

from xplane_bridge.laboratory.experiments.settings import INTERRUPTED
from xplane_bridge.laboratory.flights.analysis.verdict import UNITS
from xplane_bridge.laboratory.nodes.flight.processes import executable_path
from xplane_bridge.simulation.peers.registry import SIMULATORS

_COMPARED = tuple(name for name, simulator in SIMULATORS.items() if simulator.compared)
_BEGIN, _END = '<!-- table begin -->', '<!-- table end -->'


def rows(results: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """Return the table: the first row has the simulators' names, then one row per figure."""
    names = list(results)
    table = [['', *names]]
    table.append(['criteria met', *(
        f'{sum(item["passed"] for item in found["criteria"])} of {len(found["criteria"])}'
        for found in results.values())])
    for n, step in enumerate(next(iter(results.values()))['figures']['steps']):
        unit, factor = UNITS[step['quantity']]
        change = (step['target'] - step['start']) / factor
        label = f'{step["quantity"]} {change:+.0f} {unit}'
        steps = [_nth(found['figures']['steps'], n) for found in results.values()]
        for name, text in (('rise', '{:.1f} s'), ('settling', '{:.1f} s')):
            table.append([f'{label}: {name}', *(_text(one.get(name), text) for one in steps)])
        table.append([f'{label}: overshoot', *(
            _text(one.get('overshoot'), '{:.1%}') for one in steps)])
    for quantity, (unit, factor) in UNITS.items():
        table.append([f'{quantity} error, rms', *(
            _text(_figure(found, 'tracking', quantity, 'rms'), f'{{:.2f}} {unit}', 1.0 / factor)
            for found in results.values())])
    for control in ('elevator', 'aileron', 'throttle'):
        table.append([f'{control} travel', *(
            _text(_figure(found, 'activity', control, 'travel'), '{:.3f}/s')
            for found in results.values())])
    table.append(['imu/data', *(
        _text(_figure(found, 'rates', 'imu/data', 'rate'), '{:.1f}/s')
        for found in results.values())])
    for name, label in (('telemetry', 'datagram to subscriber'), ('loop', 'datagram to command')):
        table.append([f'{label}, median', *(
            _text(_figure(found, 'latency', name, 'median'), '{:.2f} ms', 1e3)
            for found in results.values())])
    return table


def _nth(steps: Sequence[Mapping[str, Any]], n: int) -> Mapping[str, Any]:
    return steps[n] if n < len(steps) else {}


def _figure(found: Mapping[str, Any], *path: str) -> Any:
    value: Any = found['figures']
    for part in path:
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _text(value: float | None, text: str, factor: float = 1.0) -> str:
    return '-' if value is None or math.isnan(value) else text.format(value * factor)


def markdown(table: Sequence[Sequence[str]]) -> str:
    """Return a table as Markdown."""
    head, *body = table
    lines = ['| ' + ' | '.join(head) + ' |', '|---|' + '---:|' * (len(head) - 1)]
    lines += ['| ' + ' | '.join(row) + ' |' for row in body]
    return '\n'.join(lines)


def put(document: str, text: str) -> str:
    """Return a document with ``text`` between its two marks; ValueError if they are missing."""
    pattern = re.compile(f'{re.escape(_BEGIN)}.*?{re.escape(_END)}', re.DOTALL)
    if not pattern.search(document):
        raise ValueError(f'the document has no {_BEGIN} ... {_END}')
    return pattern.sub(lambda _: f'{_BEGIN}\n{text}\n{_END}', document, count=1)


def _fly(command: Sequence[str]) -> tuple[int, str]:
    """Return the exit code and the output of an experiment, letting it end by itself."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as flown:
        try:
            output, _ = flown.communicate()
        except KeyboardInterrupt:
            # If killed, it would leave its processes running.
            flown.send_signal(signal.SIGINT)
            output, _ = flown.communicate()
            return INTERRUPTED, output
    return flown.returncode, output


def main(argv: Sequence[str] | None = None) -> int:
    """Fly, and write the table; return 0 if all were flown, whatever the verdicts."""
    parser = argparse.ArgumentParser(prog='experiment_table', description=__doc__)
    parser.add_argument('document', help='file whose table is replaced')
    parser.add_argument('--scenario', default='steps', help='(%(default)s)')
    parser.add_argument('--sim', action='append', help='simulator; repeat for several')
    arguments = parser.parse_args(argv)
    with open(arguments.document, encoding='utf-8') as stream:
        document = stream.read()
    put(document, '')
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for sim in arguments.sim or _COMPARED:
            print(f'{arguments.scenario} on {sim} ...', flush=True)
            prefix = os.path.join(folder, sim)
            code, output = _fly([
                executable_path('experiment'), '--sim', sim, '--scenario', arguments.scenario,
                '--output', prefix])
            if code == INTERRUPTED:
                print(f'interrupted; {arguments.document} is unchanged')
                return INTERRUPTED
            if not os.path.exists(f'{prefix}.json'):
                print(output, file=sys.stderr)
                return 1
            with open(f'{prefix}.json', encoding='utf-8') as stream:
                results[sim] = json.load(stream)
    text = markdown(rows(results))
    print(text)
    with open(arguments.document, 'w', encoding='utf-8') as stream:
        stream.write(put(document, text))
    return 0


if __name__ == '__main__':
    sys.exit(main())
