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


"""What was identified as a paper has it: tables in LaTeX, of estimates and of their matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import re

import numpy as np

from xplane_bridge.common.latex import escaped, tabular, with_interval
from xplane_bridge.laboratory.identification.disturbances import estimated_modes
from xplane_bridge.laboratory.identification.identify import (
    IDENTIFIABLE,
    Identification,
    Identified,
)
from xplane_bridge.laboratory.identification.motion.equations import Derivative
from xplane_bridge.laboratory.identification.motion.signals import Array
from xplane_bridge.laboratory.identification.report import Published
from xplane_bridge.laboratory.identification.truth import Truth

_NONE = '--'
_GREEK = re.compile(r'alpha|beta|delta')
# An entry of a covariance matrix has so many digits, for estimates that follow from it.
_DIGITS = 4
_NARROW = 'in the width of a page: \\scriptsize and \\setlength{\\tabcolsep}{2pt}'


def correlations(covariance: Array) -> Array:
    """Return the correlation matrix of estimates (p, p), 0 beside those without a deviation."""
    scale = np.sqrt(np.diag(covariance))
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0.0)
    found: Array = covariance * np.outer(inverse, inverse)
    np.fill_diagonal(found, 1.0)
    return found


def formula(derivative: Derivative) -> str:
    """Return the name of a derivative as a formula, for LaTeX and for pictures."""
    letter, _, symbol = str(derivative).removeprefix('C_').partition('_')
    symbol = _GREEK.sub(lambda found: f'\\{found.group()}', symbol.removeprefix('abs_'))
    if derivative.regressor.endswith('_magnitude'):
        symbol = f'|{symbol}|'
    return f'$C_{{{letter}_{{{symbol}}}}}$'


def tables(
    found: Identification, truth: Truth | None = None, published: Published | None = None,
) -> dict[str, str]:
    """
    Return the tables in LaTeX, by the ends of their files' names.

    ``derivatives``, ``modes``, and of each form ``covariance_`` and ``correlation_`` with its
    name. Intervals are two standard deviations.
    """
    return {
        'derivatives': _derivatives(found, truth, published or {}),
        'modes': _modes(found),
        **{f'{kind}_{name}': table for name, one in found.forms.items()
           for kind, table in (('covariance', _covariance(one)),
                               ('correlation', _correlation(one)))}}


def _derivatives(found: Identification, truth: Truth | None, published: Published) -> str:
    columns: list[tuple[str, Callable[[Identified, Derivative], str]]] = [
        ('estimate', lambda form, name: with_interval(
            *_pair(form.fit.derivatives[name])) if form.is_identifiable(name) else _NONE)]
    if any(form.mixed for form in found.forms.values()):
        columns += [
            ('prior', lambda form, name: with_interval(*_pair(form.mixed.prior[name]))
             if form.mixed and name in form.mixed.prior else _NONE),
            ('flights alone', lambda form, name: with_interval(*_pair(form.mixed.alone[name]))
             if form.mixed else _NONE)]
    if truth is not None:
        columns.append(('JSBSim', lambda form, name: (
            f'${truth.slopes[name].value:.4g}$' if name in truth.slopes else _NONE)))
    if published:
        columns.append(('published', lambda form, name: (
            with_interval(one.value, 2.0 * one.sigma)
            if (one := published.get(str(name))) else _NONE)))
    return tabular(
        'l' + 'r' * len(columns) + 'l', ['derivative', *(head for head, _ in columns), 'unit'],
        [[[formula(name), *(cell(form, name) for _, cell in columns),
           escaped(form.unit_of(name))] for name in form.fit.derivatives]
         for form in found.forms.values()],
        'intervals are two standard deviations; -- is not identifiable (standard deviation '
        f'above {100.0 * IDENTIFIABLE:.0f}%), or not known')


def _pair(one: tuple[float, float]) -> tuple[float, float]:
    value, deviation = one
    return value, 2.0 * deviation


def _modes(found: Identification) -> str:
    return tabular('llrl', ('mode', 'figure', 'estimate', 'unit'), [[
        [escaped(name.replace('_', ' ')), escaped(figure.replace('_', ' ')),
         _NONE if one.unseen else with_interval(*_pair(one.estimate)), escaped(one.unit)]
        for figure, one in figures.items()]
        for name, figures in estimated_modes(found.forms).figures.items()],
        'intervals are two standard deviations; -- is not identifiable')


def _covariance(found: Identified) -> str:
    def cell(value: float) -> str:
        digits, _, exponent = f'{value:.{_DIGITS - 1}e}'.partition('e')
        return f'${digits}\\mathrm{{e}}{{{int(exponent)}}}$'

    return _matrix(found, found.fit.covariance, cell, 'covariance')


def _correlation(found: Identified) -> str:
    return _matrix(found, correlations(found.fit.covariance), lambda value: f'${value:.2f}$',
                   'correlation')


def _matrix(
    found: Identified, values: Array, cell: Callable[[float], str], kind: str
) -> str:
    """Return the lower half of a symmetric matrix of the derivatives."""
    names: Sequence[str] = [formula(one) for one in found.fit.derivatives]
    return tabular('l' + 'r' * len(names), ['', *names], [[
        [name, *(cell(float(value)) for value in row[:n + 1]), *[''] * (len(names) - n - 1)]
        for n, (name, row) in enumerate(zip(names, values, strict=True))]],
        f'{kind} of the estimates; {_NARROW}')
