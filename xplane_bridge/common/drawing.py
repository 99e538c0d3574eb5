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

"""What pictures have in common: matplotlib without a screen, files, legends, and colours."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from xplane_bridge.common import plain_files
from xplane_bridge.common.command_line import number
from xplane_bridge.common.optional import missing

BLUE, GREEN, ORANGE, RED, PURPLE, GREY, TEAL = (
    '#1f5fa8', '#3a9a5b', '#e0922f', '#d1495b', '#7b4ea3', '#8a8f98', '#148f8b')

# One thing has one colour in all pictures.
AUTOPILOT = BLUE
OTHER_CONTROLLERS = (ORANGE, GREEN, PURPLE, GREY)
PASSED, MISSED, LIMIT = TEAL, RED, RED
MEASURED, TARGET = BLUE, RED
CRASH = PURPLE
# The control and what it moves: its angle, and its rate.
PITCH, ROLL, YAW, THROTTLE = GREEN, BLUE, ORANGE, GREY

FORMATS = ('png', 'pdf', 'svg')
"""What pictures can be written as."""

WIDTHS = (2.5, 30.0)
"""How wide a picture may be, in inches: from a narrow column to a poster."""

# A picture that is less wide than this, in inches, is in a column of a paper, and has one itself.
_COLUMN = 6.0
# Letters of a legend that are too many for one line.
_LONG_LEGEND = 50

# Without the time and the version that they have otherwise.
_UNDATED: dict[str, dict[str, None]] = {
    'png': {'Software': None}, 'pdf': {'CreationDate': None}, 'svg': {'Date': None}}


def controller_colours(names: Iterable[str]) -> dict[str, str]:
    """Return the colours of controllers: the autopilot's, and those of others in their order."""
    names = list(names)
    others = [name for name in names if name != 'autopilot']
    return {name: AUTOPILOT if name == 'autopilot' else OTHER_CONTROLLERS[
        others.index(name) % len(OTHER_CONTROLLERS)] for name in names}


def in_column(width: float) -> bool:
    """Return whether a picture of this width, in inches, has its panels below one another."""
    return 0.0 < width < _COLUMN


def add_width_option(parser: argparse.ArgumentParser, of: str, default: str) -> None:
    """Add the option ``width`` of what is drawn, in inches: 0, or one of WIDTHS."""
    parser.add_argument('--width', type=_inches, default=0.0, metavar='INCHES',
                        help=f'width of {of}: below {_COLUMN:g}, a column of a paper, the panels '
                        f'are below one another ({default})')


def _inches(text: str) -> float:
    low, high = WIDTHS
    return number(text, f'{low:g} to {high:g} inches', lambda width: low <= width <= high)


def pyplot() -> Any:
    """
    Return matplotlib's pyplot, for files. Raises ImportError if it is missing.

    Texts are texts: names are anybody's, and a $ in one would begin a formula.
    """
    try:
        import matplotlib
    except ImportError as error:
        raise missing('drawing', 'matplotlib', extra='fly') from error
    matplotlib.use('Agg')
    matplotlib.rcParams['text.parse_math'] = False
    # Texts of a PDF stay texts, as journals want them; equal flights have equal SVG files.
    matplotlib.rcParams['pdf.fonttype'] = 42
    matplotlib.rcParams['svg.hashsalt'] = 'xplane_bridge'
    from matplotlib import pyplot as found
    return found


def save(figure: Any, files: Sequence[str | PathLike[str]], dpi: int = 110) -> None:
    """
    Write a figure to files, each in the format of its name; equal figures are equal files.

    One for a column of a paper has pixels enough to be printed. Raises OSError.
    """
    if in_column(figure.get_figwidth()):
        dpi *= 3
    from matplotlib import pyplot as made
    layout = figure.get_layout_engine()
    for file in files:
        form = Path(file).suffix.removeprefix('.').lower() or 'png'
        if layout is not None and form == 'png':
            # Else savefig() would draw all of it once more, only to have it laid out. In other
            # formats texts have other sizes.
            figure.set_dpi(dpi)
            layout.execute(figure)
            figure.set_layout_engine(None)
        with plain_files.output(file) as stream:
            figure.savefig(stream, format=form, dpi=dpi, metadata=_UNDATED.get(form, {}))
        figure.set_layout_engine(layout)
    made.close(figure)


def save_pages(figures: Iterable[Any], file: str | PathLike[str]) -> None:
    """Write figures as the pages of a PDF; equal figures are equal files. Raises OSError."""
    from matplotlib import pyplot as made
    from matplotlib.backends.backend_pdf import PdfPages
    with plain_files.output(file) as whole, PdfPages(
            whole, metadata=_UNDATED['pdf']) as stream:
        for figure in figures:
            figure.savefig(stream, format='pdf')
            made.close(figure)


def legend_above(axes: Any, markerscale: float = 1.0) -> None:
    """
    Put the legend of axes above them, beside the title: it hides no curve.

    It is one line; in a column of a paper, or where that is too long, it has two entries in each.
    """
    entries = axes.get_legend_handles_labels()[1]
    if entries:
        narrow = in_column(axes.figure.get_figwidth()) or sum(map(len, entries)) > _LONG_LEGEND
        axes.legend(loc='lower right', bbox_to_anchor=(1.0, 0.99), frameon=False,
                    ncols=min(len(entries), 2) if narrow else len(entries),
                    borderaxespad=0.0, handlelength=1.5, columnspacing=1.2, fontsize=9,
                    markerscale=markerscale)


def plain_ticks(axis: Any) -> None:
    """Write the ticks of a logarithmic axis as numbers; by default they are formulas."""
    from matplotlib.ticker import NullFormatter
    axis.set_major_formatter('{x:g}')
    axis.set_minor_formatter(NullFormatter())
