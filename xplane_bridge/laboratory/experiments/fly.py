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

"""Fly an experiment: the flight, its files, and the report."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
import os
import sys
import tempfile
from typing import TYPE_CHECKING

from xplane_bridge.common.signals import Interrupts
from xplane_bridge.laboratory.experiments.display import LiveView
from xplane_bridge.laboratory.experiments.report import clear, report
from xplane_bridge.laboratory.experiments.settings import (
    Experiment,
    INTERRUPTED,
    MISSED,
    NOT_FLOWN,
    PASSED,
)
from xplane_bridge.laboratory.flights.flight import Fault, Flight
from xplane_bridge.laboratory.flights.script import ExperimentError
from xplane_bridge.laboratory.open_flight import open_flight

if TYPE_CHECKING:
    from xplane_bridge.laboratory.experiments.live import Live

COMMAND = 'experiment'


def fly(experiment: Experiment) -> int:
    """
    Fly an order, through ROS or in this process; write the files, print the report.

    Return PASSED, MISSED, NOT_FLOWN (with the reasons on stderr) or INTERRUPTED.
    """
    with ExitStack() as stack:
        order, files = experiment.order, experiment.files
        if order.keep.log:
            # The report is made of the recording, kept or not.
            scratch = stack.enter_context(tempfile.TemporaryDirectory())
            recording = files.recording or os.path.join(scratch, 'flight.mcap')
            order = replace(order, keep=replace(order.keep, recording=recording))
        try:
            live = _served(experiment, stack)
            view = LiveView(live, experiment.pace, draws=bool(files.picture))
            flight = stack.enter_context(open_flight(order, view))
        except (ImportError, OSError, ValueError) as error:
            tell(str(error))
            return NOT_FLOWN
        interrupts = Interrupts()
        # The report is made while its processes end.
        flight.ends_at_once = False
        try:
            code = conduct(flight, view, experiment, interrupts)
            if not flight.flown:
                # A recording of nothing would be in the way of the next try.
                flight.close()
                clear(files)
                return code
            with interrupts.allowed(by_sigterm=False):
                return report(experiment, flight, code)
        except KeyboardInterrupt:
            print('interrupted; the report is incomplete', flush=True)
            return INTERRUPTED
        except OSError as error:
            tell(str(error))
            return NOT_FLOWN


def _served(experiment: Experiment, stack: ExitStack) -> Live | None:
    """Start the live view of an experiment that wants one; all others need no server."""
    if not experiment.live:
        return None
    from xplane_bridge.laboratory.experiments.live import served
    return stack.enter_context(served(experiment))


def conduct(
    flight: Flight, view: LiveView, experiment: Experiment, interrupts: Interrupts,
    command: str = COMMAND,
) -> int:
    """
    Fly a flight to its end; return the exit code before the verdict.

    Its processes may still be ending; interrupted, it is closed. ``command`` is the one that a
    user knows it by.
    """
    try:
        with interrupts.allowed():
            clear(experiment.files)
            with view:
                flight.fly(view.frames_at_once)
    except KeyboardInterrupt:
        flight.close()
        print('interrupted; the results so far follow' if flight.flown else
              'interrupted before the flight began', flush=True)
        return INTERRUPTED
    return find_exit_code(flight, command)


def find_exit_code(flight: Flight, command: str = COMMAND) -> int:
    """Return the exit code of a flight before its verdict, and say on stderr why it failed."""
    error = flight.error
    if error is None:
        return PASSED
    if not isinstance(error, ExperimentError | ValueError | RuntimeError | OSError | ImportError):
        # Not foreseen: with its traceback.
        raise error
    tell(flight.why, command)
    if flight.fault is Fault.CONTROLLER and flight.flown:
        return MISSED
    return NOT_FLOWN


def tell(text: str, command: str = COMMAND) -> None:
    """Say on stderr why there is no flight, each reason in a line of its own."""
    for line in text.split('\n'):
        print(f'{command}: {line}' if not line.startswith('    ') else line, file=sys.stderr,
              flush=True)
