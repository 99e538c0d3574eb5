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

"""campaign: fly many flights, and say what they prove."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
import os
from pathlib import Path
import signal
import sys

from xplane_bridge.common.command_line import (
    CommandParser,
    program,
    subject,
    without_ros_arguments,
)
from xplane_bridge.common.drawing import add_width_option, FORMATS
from xplane_bridge.common.text import printable
from xplane_bridge.laboratory.campaigns.engines.local import Engine, EngineError, Local
from xplane_bridge.laboratory.campaigns.fly import fly
from xplane_bridge.laboratory.campaigns.plan.plan import load, Plan, PlanError
from xplane_bridge.laboratory.campaigns.report.options import ReportOptions
from xplane_bridge.laboratory.campaigns.table import rows
from xplane_bridge.laboratory.campaigns.table.folder import Folder
from xplane_bridge.laboratory.campaigns.table.look import label
from xplane_bridge.laboratory.campaigns.table.table import Summary
from xplane_bridge.laboratory.experiments.settings import INTERRUPTED, MISSED, NOT_FLOWN, PASSED
from xplane_bridge.laboratory.flights.scenario.flown_by import without_folders

# Of the criteria that were missed, the most frequent.
_SHOWN = 4

_EPILOG = ("'campaign report DIR' writes a folder's report again; 'campaign compare A B' says "
           'which of two controllers is better.')


def main(argv: Sequence[str] | None = None) -> int:
    """Run a campaign; 0 if it passes, 1 if not, 2 if it is not possible, 130 if interrupted."""
    given = without_ros_arguments(sys.argv[1:] if argv is None else argv)
    try:
        if given[:1] == ['compare']:
            from xplane_bridge.laboratory.campaigns.report import compare
            return _compare(compare.main, given[1:])
        if given[:1] == ['report']:
            return _report(given[1:])
        return _fly(_parser().parse_args(given))
    except (ImportError, OSError, PlanError, EngineError) as error:
        print(f'campaign: {error}', file=sys.stderr, flush=True)
        return NOT_FLOWN


def _compare(main: Callable[[Sequence[str]], int], given: Sequence[str]) -> int:
    try:
        return main(given)
    except Exception as error:
        # Whatever comes of tables with values of other types.
        print(f'campaign: one of the tables is damaged: {printable(repr(error))}',
              file=sys.stderr, flush=True)
        return NOT_FLOWN


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog=program('campaign'), description='Fly the flights of a plan, and write their report.',
        epilog=_EPILOG)
    workers, estimate = subject(parser, 'workers'), subject(parser, 'estimate')
    parser.add_argument('plan', metavar='FILE', help='plan: a file, or the name of a shipped one')
    parser.add_argument('--output', default='', metavar='DIR',
                        help='folder of the campaign (campaign_NAME); what is flown there is '
                        'not flown again')
    workers.add_argument('--workers', type=int, default=0, metavar='N',
                         help='flights at a time on this machine (one per core)')
    workers.add_argument('--cluster', default='', metavar='ADDRESS',
                         help='scheduler of a Dask cluster, such as tcp://host:8786')
    estimate.add_argument('--dry-run', action='store_true',
                          help='only say how many flights there are, and how long they take')
    estimate.add_argument('--trust', action='store_true',
                          help='with --dry-run: also fly ten seconds of what the plan names, to '
                          'see how long flights take; that runs the code of its controllers')
    parser.add_argument('--require', type=float, default=None, metavar='RATE',
                        help="pass rate that each controller needs, 0..1 (the plan's, or 0)")
    parser.add_argument('--flight', default='', metavar='N',
                        help='fly only this one, by its number or its key, again, and compare it '
                        'with its row')
    return parser


def _report(argv: Sequence[str]) -> int:
    parser = CommandParser(
        prog=f'{program("campaign")} report',
        description="Write the report of a campaign's folder again.")
    parser.add_argument('folder', metavar='DIR', type=Path, help='folder of a flown campaign')
    parser.add_argument('--trust', action='store_true',
                        help='fly the worst flights again, to draw them: that runs the code of '
                        'the controllers that the folder names')
    parser.add_argument('--format', choices=FORMATS, default=FORMATS[0],
                        help='write the pictures in this format too, beside the page, in this '
                        'and all later reports (%(default)s)')
    parser.add_argument('--label', action='append', default=[], type=label, metavar='NAME=LABEL',
                        help='what a controller or a criterion is called in page and pictures, '
                        "such as policy:mine.onnx='Ours'; once for each; the folder keeps it")
    parser.add_argument('--controllers', nargs='+', default=(), metavar='NAME',
                        help='report on these alone, as page or table call them (all); they keep '
                        'their colours, and the next report has all again')
    add_width_option(parser, 'the pictures, in this and all later reports', '9.5')
    given = parser.parse_args(argv)
    from xplane_bridge.laboratory.campaigns import campaign
    return PASSED if campaign.report_again(given.folder, given.trust, ReportOptions(
        given.format, dict(given.label), given.controllers, given.width)) else NOT_FLOWN


def _fly(arguments: argparse.Namespace) -> int:
    if arguments.require is not None and not 0.0 <= arguments.require <= 1.0:
        raise PlanError(f'--require: expected a rate, 0 to 1, got {arguments.require:g}')
    if arguments.workers < 0:
        raise PlanError(f'--workers: expected at least 1, got {arguments.workers}')
    if arguments.workers and arguments.cluster:
        raise PlanError('--workers counts processes of this machine: omit it, or omit --cluster')
    plan = load(arguments.plan)
    path = Path(arguments.output or plan.default_folder)
    if not arguments.dry_run:
        plan.load_policies()
    if arguments.flight:
        from xplane_bridge.laboratory.campaigns.refly import refly
        return refly(plan, plan.find_flight(arguments.flight), path)
    workers = arguments.workers or os.cpu_count() or 1
    if arguments.dry_run:
        return _dry_run(plan, path, workers, arguments.trust)
    return _run(plan, path, arguments.cluster, workers, (
        plan.require if arguments.require is None else arguments.require))


def _dry_run(plan: Plan, path: Path, workers: int, trust: bool) -> int:
    from xplane_bridge.laboratory.campaigns.estimate import dry_run
    for line in dry_run(plan, Folder.seen(path, plan), workers, trust):
        print(line, flush=True)
    return PASSED


def _run(plan: Plan, path: Path, cluster: str, workers: int, require: float) -> int:
    from xplane_bridge.laboratory.campaigns import campaign

    def engine() -> Engine:
        if not cluster:
            return Local(min(workers, len(plan) - folder.done), fly)
        from xplane_bridge.laboratory.campaigns.engines import worker
        from xplane_bridge.laboratory.campaigns.engines.cluster import Cluster
        # Said before the first flight, not at the first of that policy.
        for controller in plan.controllers:
            worker.take_along(controller.flown)
        return Cluster(cluster, fly)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    with Folder(path, plan) as folder:
        for line in campaign.remarks(plan):
            print(line, flush=True)
        if folder.done:
            print(f'{folder.done} of {len(plan)} flights are there already: {path}', flush=True)
        try:
            summary = campaign.run(plan, folder, engine)
            print(f'table: {path / "table.parquet"}, {summary.digest}', flush=True)
            reported = campaign.report(path, campaign.drawn_by(plan))
        except (EngineError, OSError) as error:
            kept = f'; {folder.done} of {len(plan)} flights are kept in {path}'
            raise EngineError(f'{error}{kept if folder.done else ""}') from None
        except KeyboardInterrupt:
            print(f'interrupted: {folder.done} of {len(plan)} flights are kept in {path}; the '
                  'same command goes on from there', flush=True)
            return INTERRUPTED
    code = _verdict(summary, require)
    if summary.lost.flights:
        print(f'campaign: {summary.lost}; they count for nothing, and the same command flies them',
              file=sys.stderr, flush=True)
        return NOT_FLOWN
    return code if reported else code or NOT_FLOWN


def _verdict(summary: Summary, require: float) -> int:
    """Print pass rates, last what was missed; return the exit code that follows."""
    if not summary.flown:
        reason = next(iter(summary.reasons.values()), '') or str(summary.lost)
        raise EngineError(f'no flight was flown to its end: {printable(reason)}')
    from xplane_bridge.laboratory.campaigns.report.statistics import wilson
    code = PASSED
    for controller, outcomes in summary.by_controller.items():
        rate, low, high = wilson(outcomes[rows.PASSED], outcomes.total())
        wanted = f', required {require:.1%}' if require else ''
        print(f'{without_folders(controller)}: {rate:.1%} passed ({100.0 * low:.1f} to '
              f'{high:.1%}){wanted}', flush=True)
        if lost := sum(outcomes[outcome] for outcome in rows.NOT_FLOWN):
            print(f'  {lost} of {outcomes.total()} were not flown to their end: '
                  f'{printable(summary.reasons[controller])}', flush=True)
        if rate < require:
            code = MISSED
    if missed := '; '.join(f'{criterion}: {count}'
                           for criterion, count in summary.missed.most_common(_SHOWN)):
        print(f'criteria missed, in so many flights: {missed}', flush=True)
    return code
