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

"""What was identified, as text for people and as YAML for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
from typing import Any

from xplane_bridge.common.text import aligned
from xplane_bridge.laboratory.identification.compatibility import Compatibility
from xplane_bridge.laboratory.identification.disturbances import estimated_modes, EstimatedModes
from xplane_bridge.laboratory.identification.estimation.mixed import CONTRADICTS, Mixed
from xplane_bridge.laboratory.identification.estimation.output_error import Estimate, Fit
from xplane_bridge.laboratory.identification.identify import (
    IDENTIFIABLE,
    Identification,
    Identified,
)
from xplane_bridge.laboratory.identification.motion.equations import (
    Derivative,
    LONGITUDINAL,
    MAGNITUDE,
    SPEED,
)
from xplane_bridge.laboratory.identification.reading.published import PublishedDerivative
from xplane_bridge.laboratory.identification.reconstruction import ERRORS
from xplane_bridge.laboratory.identification.truth import Slope, Truth
from xplane_bridge.simulation.aircraft.studies.modes import UNCONTROLLED

SHOWN = 0.45
"""An error of a sensor is told if its bound is at most that part of what is usual a priori."""

# A slope whose range is wider than this part of it is not constant.
_CONSTANT = 0.02
# Nobody flies the same more often.
_MOST_TIMES = 20.0


Published = Mapping[str, PublishedDerivative]
"""Published derivatives by name."""


def lines(
    found: Identification, truth: Truth | None = None, published: Published | None = None,
) -> list[str]:
    """Return the report: sensors, then the derivatives of each form; ``truth`` is JSBSim's."""
    every: list[str] = []
    for one in found.compatibility:
        every += _sensors(one)
    for name, identified in found.forms.items():
        every += ['', *_form(name, identified, truth, published or {})]
    every += ['', *_modes(estimated_modes(found.forms), truth)]
    if names := unused(found):
        every.append(f'\nprior not used: {", ".join(names)}, which '
                     f'{"is" if len(names) == 1 else "are"} not among what was identified')
    return [*every, *(f'\nnot identified: {sentence}' for sentence in found.refused.values())]


def _sensors(found: Compatibility) -> list[str]:
    source = found.motions[0].measured.source
    shown = [name for name, one in found.errors.items() if is_shown(name, one)]
    rows = [('error', 'estimate', '2 sigma', 'unit'), *(
        (name, f'{one.value:.4g}', f'{2.0 * one.deviation:.2g}', ERRORS[name][0])
        for name, one in found.errors.items() if name in shown)]
    misfit = ', '.join(f'{name} {value:.3g}' for name, value in found.misfit.items())
    unseen = ', '.join(name for name in found.errors if name not in shown)
    return [f'sensors of {source}, by the kinematics of {len(found.motions)} manoeuvres'
            if len(found.motions) > 1 else f'sensors of {source}, by kinematics',
            *(f'  {line}'.rstrip() for line in (aligned(rows, left=(0, 3)) if shown else ())),
            *([f'  not identifiable from this: {unseen}'] if unseen else []),
            f'  rms left (SI): {misfit}']


def is_shown(name: str, error: Estimate) -> bool:
    """Return whether a flight shows an error of a sensor, beyond what is usual of any sensor."""
    return error.deviation <= SHOWN * ERRORS[name][1]


def _form(
    name: str, found: Identified, truth: Truth | None, published: Published
) -> list[str]:
    fit = found.fit
    known, frequency = truth is not None, found.by_frequency
    head = ('derivative', 'estimate', '2 sigma', 'unit', *(
                ('prior', '2 sigma', 'flights alone', '2 sigma', 'apart') if found.mixed else ()),
            *(('JSBSim', 'off by') if known else ()),
            *(('published', 'off by') if published else ()),
            *(('by frequency', '2 sigma') if frequency else ()))
    rows: list[Sequence[str]] = [head]
    unclear: list[Sequence[str]] = []
    for derivative, one in fit.derivatives.items():
        if not found.is_identifiable(derivative):
            unclear.append((str(derivative), _share(one.bound)))
            continue
        slope = truth.slopes.get(derivative) if truth is not None else None
        rows.append((
            str(derivative), f'{one.value:.4g}', f'{2.0 * one.deviation:.2g}',
            found.unit_of(derivative),
            *(_beside_prior(found.mixed, derivative) if found.mixed else ()),
            *(_against(slope, one.value, one.deviation) if known else ()),
            *(_beside_published(published.get(str(derivative)), one) if published else ()),
            *(_with_interval(frequency.derivatives[derivative]) if frequency else ())))
    shown = [f'{name}, from {", ".join(found.manoeuvres)}{_delay(fit)}',
             *(f'  {line}'.rstrip() for line in aligned(rows, left=(0, 3)))]
    if unclear:
        shown.append(
            f'  not identifiable (standard deviation above {100.0 * IDENTIFIABLE:.0f} %; flown so '
            'many times it would be): '
            + ', '.join(f'{one} ({bound})' for one, bound in unclear))
    return [*shown, *_notes(found)]


def _notes(found: Identified) -> list[str]:
    """Return what else is to be said of a form."""
    fit, frequency = found.fit, found.by_frequency
    shown = _contradictions(found.mixed) if found.mixed else []
    if any(motion.has_gusts for motion in found.motions):
        shown.append('  in gusts: flow angles and airspeed are as the vanes and the pitot tube '
                     'measure them')
    if frequency:
        shown.append(f'  by frequency: {frequency.band[0]:.2f} to {frequency.band[1]:.2f} Hz, '
                     f'controls act {1e3 * frequency.delay:.0f} ms late')
    if fit.form.omitted and fit.form.name != SPEED.name:
        shown.append('  not needed, by stepwise regression: ' + ', '.join(
            str(one) for one in fit.form.derivatives if one in fit.form.omitted))
    beside = _beside(found)
    if acting := [name for name in fit.form.controls if name in found.surfaces - {*beside}]:
        shown.append(f'  by the deflection of {" and ".join(acting)}, in rad: not by the command')
    if beside:
        shown.append(f'  what {" and ".join(beside)} does to it besides is accounted for')
    shown += [f'  {control.removesuffix(MAGNITUDE)} does not act the same both ways: its '
              'derivatives are the means of both'
              for control in fit.form.controls if control.endswith(MAGNITUDE)]
    if (shares := alpha_dot_shares(found)):
        shown.append('  C_m_alpha_dot, which such a flight does not show by itself, is in these: '
                     + ', '.join(f'{share:.2g} times in {name}' for name, share in shares.items()))
    for output, agrees in found.validation.items():
        if math.isfinite(agrees.r_squared):
            shown.append(f'  validation, {output}: R2 {agrees.r_squared:.3f}, Theil '
                         f'{agrees.theil:.3f}')
    return shown


def _beside_prior(mixed: Mixed, derivative: Derivative) -> tuple[str, ...]:
    """Return what the prior and the flights alone say of a derivative, and how far apart."""
    prior, alone = mixed.prior.get(derivative), mixed.alone[derivative]
    return (*(_with_interval(prior) if prior else ('', '')), *_with_interval(alone),
            f'{mixed.apart[derivative]:+.1f} sigma' if prior else '')


def _contradictions(mixed: Mixed) -> list[str]:
    """Return a sentence for each prior that was not used, because the flights contradict it."""
    if mixed.together:
        return ['  prior and flights contradict each other: none is more than '
                f'{CONTRADICTS:g} sigma apart, but all together are as unlikely as one that is: '
                'the prior of this form is not used']
    shown = []
    for derivative, prior in mixed.prior.items():
        if derivative not in mixed.contradicting:
            continue
        alone, far = mixed.alone[derivative], abs(mixed.apart[derivative])
        turned = abs(alone.value + prior.value) <= CONTRADICTS * math.hypot(
            alone.deviation, prior.deviation)
        both = [f'{one.value:.4g} +- {2.0 * one.deviation:.2g}' for one in (prior, alone)]
        shown.append(
            f'  prior and flights contradict each other: {derivative} is {both[0]} by the prior '
            f'and {both[1]} by the flights, {far:.1f} sigma apart, expected at most '
            f'{CONTRADICTS:g}: its prior is not used'
            + ('; is its sign turned?' if turned else ''))
    return shown


def unused(found: Identification) -> list[str]:
    """Return the names of a prior that are not among what was identified."""
    known = {str(name) for one in found.forms.values() for name in one.fit.derivatives}
    return [name for name in found.prior if name not in known]


def _beside(found: Identified) -> list[str]:
    """Return the surfaces of another form that act on this one."""
    return sorted({one.regressor for one in found.fit.beside} & found.surfaces)


def alpha_dot_shares(found: Identified) -> dict[str, float]:
    """
    Return how many times C_m_alpha_dot is in the derivatives of the pitching moment, by names.

    The rate of the angle of attack is the pitch rate less what lift bends the path by, so it is
    made of the same regressors. Empty of another form than the longitudinal one.
    """
    if found.fit.form.name != LONGITUDINAL.name:
        return {}
    first = found.motions[0]
    frame, density = first.airframe, float(first['density'].mean())
    bent = density * frame.wing_area * frame.chord / (4.0 * frame.mass)
    lift = {one.regressor: value.value for one, value in found.fit.derivatives.items()
            if one.coefficient == 'C_L'}
    return {str(one): (one.regressor == 'pitch_rate') - bent * lift.get(one.regressor, 0.0)
            for one in found.fit.derivatives
            if one.coefficient == 'C_m' and found.is_identifiable(one)}


def _share(bound: float) -> str:
    """Return a bound, and how many times as much of its manoeuvres would make it identifiable."""
    times = (bound / IDENTIFIABLE) ** 2
    longer = f', {math.ceil(times)} times' if times <= _MOST_TIMES else ''
    return f'{100.0 * min(bound, 9.99):.3g} %{longer}'


def _with_interval(one: Estimate) -> tuple[str, str]:
    return f'{one.value:.4g}', f'{2.0 * one.deviation:.2g}'


def _delay(fit: Fit) -> str:
    value, two_sigma = fit.delay.value, 2.0 * fit.delay.deviation
    if fit.form.name != SPEED.name:
        follow = fit.lag.value > 0.0
        return f'; controls act {1e3 * value:.1f} ms late (2 sigma {1e3 * two_sigma:.1f} ms)' + (
            f' and follow with a time constant of {1e3 * fit.lag.value:.1f} ms '
            f'(2 sigma {2e3 * fit.lag.deviation:.1f} ms)') * follow
    return f'; thrust has a time constant of {value:.2f} s (2 sigma {two_sigma:.2g} s)' * (
        'throttle' in fit.form.controls)


def _modes(modes: EstimatedModes, truth: Truth | None) -> list[str]:
    known = truth.modes if truth is not None else {}
    rows: list[Sequence[str]] = [
        ('mode', 'figure', 'estimate', '2 sigma', 'unit',
         *(('JSBSim', 'off by') if truth else ()))]
    unseen = []
    for name, figures in modes.figures.items():
        for figure, (one, unit, why) in figures.items():
            if why:
                unseen.append(f'{figure} of {name} ({why})')
                continue
            value = known.get((name, figure), math.nan)
            rows.append((
                name, figure, f'{one.value:.4g}', f'{2.0 * one.deviation:.2g}', unit,
                *((f'{value:.4g}', f'{(one.value - value) / one.deviation:+.1f} sigma')
                  if math.isfinite(value) else ('', '') if truth else ())))
    levels = ', '.join(f'{name} {level if level < UNCONTROLLED else "worse than 3"}'
                     for name, level in modes.levels.items())
    return [
        'modes', *(f'  {line}'.rstrip() for line in (
            aligned(rows, left=(0, 1, 4)) if len(rows) > 1 else ())),
        *([f'  not identifiable from this: {", ".join(unseen)}'] if unseen else []),
        *([f'  levels by MIL-F-8785C, class I, category B: {levels}'] if levels else [])]


def _against(slope: Slope | None, value: float, deviation: float) -> tuple[str, str]:
    if slope is None:
        return '', ''
    away = slope.away(value)
    shown = f'{slope.value:.4g}'
    if slope.high - slope.low > _CONSTANT * abs(slope.value):
        shown = f'{slope.low:.4g} .. {slope.high:.4g}'
    return shown, f'{away / deviation:+.1f} sigma' if deviation else ''


def _beside_published(one: PublishedDerivative | None, found: Estimate) -> tuple[str, str]:
    if one is None:
        return '', ''
    away = one.away(found.value, found.deviation)
    return (f'{one.value:.4g}' + (f' +- {one.sigma:.2g}' if one.sigma else ''),
            f'{away:+.1f} sigma' if math.isfinite(away) else '')


def as_mapping(
    found: Identification, truth: Truth | None = None, published: Published | None = None,
) -> dict[str, Any]:
    """
    Return the model for a YAML file: plain names and numbers.

    A derivative that is not identifiable has no value, only the relative ``bound``; nor has an
    error of a sensor or a figure of a mode that the flight does not show.
    """
    frame = found.airframe
    return {
        'airframe': {name: getattr(frame, name) for name in frame.__slots__},
        'sensors': [{name: {'unit': ERRORS[name][0], **(
            {'estimate': one.value, 'two_sigma': 2.0 * one.deviation} if is_shown(name, one) else
            {'identifiable': False})} for name, one in each.errors.items()}
            for each in found.compatibility],
        'forms': {name: _form_mapping(one, truth, published or {})
                  for name, one in found.forms.items()},
        'modes': _modes_mapping(estimated_modes(found.forms)),
        **({'prior_not_used': names} if (names := unused(found)) else {}),
        'not_identified': dict(found.refused)}


def _modes_mapping(modes: EstimatedModes) -> dict[str, Any]:
    return {name: {
        **{figure: {'unit': unit, **(
            {'identifiable': False} if why else
            {'estimate': one.value, 'two_sigma': 2.0 * one.deviation})}
           for figure, (one, unit, why) in figures.items()},
        **({'level': modes.levels[name]} if name in modes.levels else {})}
        for name, figures in modes.figures.items()}


def _mixed_mapping(mixed: Mixed, derivative: Derivative) -> dict[str, Any]:
    prior, alone = mixed.prior.get(derivative), mixed.alone[derivative]
    return {
        'alone': {'estimate': alone.value, 'two_sigma': 2.0 * alone.deviation},
        **({'prior': {
            'value': prior.value, 'two_sigma': 2.0 * prior.deviation,
            'apart': mixed.apart[derivative],
            **({'contradicts': True} if derivative in mixed.contradicting else {})}}
           if prior else {})}


def _form_mapping(
    found: Identified, truth: Truth | None, published: Published
) -> dict[str, Any]:
    derivatives: dict[str, Any] = {}
    for derivative, one in found.fit.derivatives.items():
        item: dict[str, Any] = {'unit': found.unit_of(derivative), 'bound': min(one.bound, 1e6)}
        if found.is_identifiable(derivative):
            item |= {'estimate': one.value, 'two_sigma': 2.0 * one.deviation}
        else:
            item['identifiable'] = False
        if found.by_frequency is not None:
            other = found.by_frequency.derivatives[derivative]
            item['by_frequency'] = {
                'estimate': other.value, 'two_sigma': 2.0 * other.deviation}
        if found.mixed is not None:
            item |= _mixed_mapping(found.mixed, derivative)
        if truth is not None and (slope := truth.slopes.get(derivative)):
            item['jsbsim'] = {'value': slope.value, 'low': slope.low, 'high': slope.high}
        if (theirs := published.get(str(derivative))) is not None:
            item['published'] = {'value': theirs.value, 'sigma': theirs.sigma}
        derivatives[str(derivative)] = item
    alike = found.regression.collinearity
    shares = alpha_dot_shares(found)
    return {
        'manoeuvres': [{'name': motion.measured.manoeuvres[0].name,
                        'source': motion.measured.source,
                        'begin': float(motion.times[0]), 'end': float(motion.times[-1])}
                       for motion in found.motions],
        'true_airspeed': float(found.motions[0]['true_airspeed'].mean()),
        'density': float(found.motions[0]['density'].mean()),
        'delay': {'estimate': found.fit.delay.value,
                  'two_sigma': 2.0 * found.fit.delay.deviation, 'unit': 's'},
        'lag': {'estimate': found.fit.lag.value,
                'two_sigma': 2.0 * found.fit.lag.deviation, 'unit': 's'},
        'derivatives': derivatives,
        # Rows in the order of the derivatives.
        'covariance': found.fit.covariance.tolist(),
        **({'accounted_for': beside} if (beside := _beside(found)) else {}),
        **({'times_alpha_dot': shares} if shares else {}),
        'collinearity': {'condition': alike.condition, 'pair': list(alike.pair),
                         'correlation': alike.correlation},
        'validation': {name: {'r_squared': one.r_squared, 'theil': one.theil}
                       for name, one in found.validation.items()
                       if math.isfinite(one.r_squared)}}
