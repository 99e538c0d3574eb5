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


"""train: learn the shipped policy from scratch, write it, and fly it on unseen seeds."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, replace
import hashlib
from importlib.metadata import version
import json
import os
from pathlib import Path
import resource
import sys
import time
from typing import Any

from xplane_bridge.common import optional, plain_files
from xplane_bridge.common.command_line import (
    add_force_option,
    CommandParser,
    count,
    number,
    program,
    refuse_existing,
    subject,
    Tenths,
    terminal,
    whole,
    without_ros_arguments,
)
from xplane_bridge.common.data import folder
from xplane_bridge.laboratory.episodes.training import unseen
from xplane_bridge.laboratory.episodes.training.holding import Holding, PARAMETERS
from xplane_bridge.laboratory.episodes.training.search import (
    Generation,
    LARGEST_PLAN_SEED,
    SearchPlan,
    Stage,
    train,
)

_PACKAGES = ('cma', 'jsbsim', 'numpy', 'onnx')
_SEEDS = 50
# Of a flight, in seconds: what is judged begins at 11 s.
_SHORTEST, _LONGEST = 12.0, 3600.0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    given = _parser().parse_args(without_ros_arguments(sys.argv[1:] if argv is None else argv))
    try:
        _refuse_unused(given)
        if given.test:
            rows = unseen.compare(str(given.output), _unseen(given.test), given.workers)
            print(unseen.table(rows))
        else:
            optional.require('training', 'cma', 'onnx', 'onnxruntime', extra='train')
            if given.picture:
                optional.require('a picture', 'matplotlib', extra='train')
            written = [given.output, given.output.with_suffix('.json'),
                       *([given.picture] if given.picture else ())]
            refuse_existing(written, given.force)
            # Before the minutes of training, not after them.
            for file in written:
                file.parent.mkdir(parents=True, exist_ok=True)
            _train(given)
    except KeyboardInterrupt:
        print('interrupted; nothing is written', file=sys.stderr)
        return 130
    except (ImportError, OSError, ValueError) as error:
        print(f'train: {error}', file=sys.stderr)
        return 2
    return 0


def _refuse_unused(given: argparse.Namespace) -> None:
    """Raise ValueError for an option that another one leaves without effect."""
    if given.seconds and not given.generations:
        raise ValueError(
            '--seconds belongs to --generations: all generations have flights of a length of '
            'their own')
    if given.test and (unused := [
            f'--{name}' for name in ('generations', 'seconds', 'picture', 'force')
            if getattr(given, name)]):
        raise ValueError(f'--test trains nothing: omit {", ".join(unused)}')


def _train(given: argparse.Namespace) -> None:
    """Train, and write the policy with its two companions."""
    from xplane_bridge.laboratory.episodes.training.graph import to_model
    plan = SearchPlan(seed=given.seed)
    if given.generations:
        plan = replace(plan, stages=stopped(plan.stages, given.generations, given.seconds))
    print(f'{plan.flights} flights of {plan.seconds / 3600.0:.1f} h together, '
          f'{given.workers} at a time', flush=True)
    history: list[Generation] = []
    begin, tenths = time.monotonic(), Tenths()

    def tell(generation: Generation) -> None:
        history.append(generation)
        _show(generation, time.monotonic() - begin, tenths)

    parameters = train(plan, given.workers, tell)
    print()
    output: Path = given.output
    content = to_model(Holding(parameters)).SerializeToString(deterministic=True)
    plain_files.write(output, content)
    account = _account(plan, parameters, history, hashlib.sha256(content).hexdigest())
    if not given.generations:
        rows = unseen.compare(str(output), _unseen(_SEEDS), given.workers)
        print(unseen.table(rows))
        account['unseen'] = [asdict(row) for row in rows]
    plain_files.write(output.with_suffix('.json'), json.dumps(account, indent=1) + '\n')
    print(f'{output}, {output.with_suffix(".json")}: {_processor_seconds():.0f} s of processor '
          f'time, {time.monotonic() - begin:.0f} s in all')
    if given.picture:
        from xplane_bridge.laboratory.episodes.training.picture import draw
        draw(str(output), history, str(given.picture))


def stopped(stages: Sequence[Stage], generations: int,
             seconds: float | None) -> tuple[Stage, ...]:
    """Return the stages up to a number of generations, the last as long as need be."""
    found: list[Stage] = []
    for stage in stages:
        left = generations - sum(one.generations for one in found)
        if left > 0:
            count = left if stage is stages[-1] else min(left, stage.generations)
            found.append(replace(
                stage, generations=count, seconds=seconds or stage.seconds))
    return tuple(found)


def _account(plan: SearchPlan, parameters: Sequence[float], history: Sequence[Generation],
             digest: str) -> dict[str, Any]:
    """Return how a policy was made; the same for the same plan."""
    return {
        'sha256': digest, 'plan': asdict(plan), 'flights': plan.flights,
        'loss': {'first': history[0].median, 'last': history[-1].median},
        'parameters': dict(zip(PARAMETERS, parameters, strict=True)),
        'versions': {package: version(package) for package in _PACKAGES}}


def _show(generation: Generation, seconds: float, tenths: Tenths) -> None:
    """Print a generation: on a terminal each on the same line, elsewhere one of each tenth."""
    losses = '   '.join(f'{part} {generation.median[part]:6.2f}' for part in generation.median)
    left = seconds / generation.share * (1.0 - generation.share)
    text = (f'generation {generation.number:3}   median loss {losses}   '
            f'{left / 60.0:.1f} min remain')
    if sys.stdout.isatty():
        print(f'\r{text} ', end='', file=terminal(sys.stdout), flush=True)
    elif tenths.has_next(generation.share):
        print(text, flush=True)


def _processor_seconds() -> float:
    """Return the processor time of this process and of those that it has waited for."""
    return sum(used.ru_utime + used.ru_stime for used in (
        resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)))


def _unseen(count: int) -> range:
    return range(unseen.FIRST_SEED, unseen.FIRST_SEED + count)


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog=program('train'),
        description='Learn a policy that holds altitude, heading and airspeed in '
        'turbulence, and flies steps of them, from scratch; write it as ONNX, and how it was made '
        'as JSON beside it.')
    output, search = subject(parser, 'output'), subject(parser, 'search')
    output.add_argument(
        '--output', type=_onnx_file, metavar='FILE',
        default=folder('policies') / 'turbulence.onnx',
        help='the file to write, or to test (default: %(default)s)')
    search.add_argument('--seed', type=_seed, default=SearchPlan().seed,
                        help='random seed of the search and the turbulence (default: %(default)s)')
    search.add_argument(
        '--workers', type=count, default=max(len(os.sched_getaffinity(0)), 1), metavar='N',
        help='processes that fly (default: %(default)s); the result is the same for any number')
    search.add_argument(
        '--generations', type=count, metavar='N',
        help='stop after so many, without the test at the end')
    search.add_argument(
        '--seconds', type=_seconds, metavar='S',
        help='length of a flight in turbulence, with --generations (default: 24, later 60)')
    output.add_argument(
        '--picture', type=Path, metavar='FILE',
        help='draw the losses, and a flight, as a PNG file')
    add_force_option(output)
    parser.add_argument(
        '--test', type=count, metavar='N',
        help='do not train: fly the policy and the autopilot on N unseen seeds')
    return parser


def _onnx_file(text: str) -> Path:
    if not text.endswith('.onnx'):
        raise argparse.ArgumentTypeError(f'expected a file that ends in .onnx, got {text!r}')
    return Path(text)


def _seed(text: str) -> int:
    return whole(text, f'a seed, 1..{LARGEST_PLAN_SEED}', 1, LARGEST_PLAN_SEED)


def _seconds(text: str) -> float:
    return number(text, f'{_SHORTEST:g} to {_LONGEST:g} seconds',
                  lambda value: _SHORTEST <= value <= _LONGEST)
