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

"""
From flights to a model: manoeuvres, compatibility of the data, derivatives with their bounds.

    found = identify([flight], airframe)
    print(found.forms['longitudinal'].fit.derivatives)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from xplane_bridge.common.controls import FLOWN
from xplane_bridge.laboratory.identification.checks import (
    Agreement,
    agreement,
    check,
    check_condition,
    check_fit,
    check_flow,
    check_magnitudes,
    check_manoeuvre,
    check_regression,
    check_size,
    FEWEST_SAMPLES,
)
from xplane_bridge.laboratory.identification.compatibility import (
    check_compatibility,
    Compatibility,
)
from xplane_bridge.laboratory.identification.estimation import by_speed
from xplane_bridge.laboratory.identification.estimation.equation_error import (
    equation_error,
    Regression,
)
from xplane_bridge.laboratory.identification.estimation.frequency_domain import (
    frequency_domain,
    FrequencyFit,
)
from xplane_bridge.laboratory.identification.estimation.mixed import Mixed, mixed
from xplane_bridge.laboratory.identification.estimation.output_error import (
    Estimate,
    Fit,
    foretold,
    output_error,
    refitted,
)
from xplane_bridge.laboratory.identification.estimation.plausibility import (
    check_derivatives,
    check_sizes,
    Condition,
)
from xplane_bridge.laboratory.identification.estimation.structure import needless
from xplane_bridge.laboratory.identification.manoeuvres import excited, manoeuvres, moved
from xplane_bridge.laboratory.identification.motion.airframe import Airframe
from xplane_bridge.laboratory.identification.motion.equations import (
    CheckedManoeuvre,
    CROSS,
    Derivative,
    FORMS,
    in_gusts,
    LATERAL,
    LONGITUDINAL,
    MAGNITUDE,
    ModelStructure,
    SPEED,
    unit_of,
)
from xplane_bridge.laboratory.identification.motion.signals import (
    Array,
    FlightSignals,
    IdentificationError,
)
from xplane_bridge.laboratory.identification.motion.surfaces import with_surfaces
from xplane_bridge.laboratory.identification.reading.published import (
    check_units,
    PublishedDerivative,
)

IDENTIFIABLE = 0.1
"""A derivative whose standard deviation is a larger part of it is not identifiable."""

# The effect of a control is not the same both ways if this many standard deviations say so, and it
# differs by this part. It can be seen only if the control's magnitude is not the control itself.
_CERTAIN = 4.0
_DIFFERENT = 0.04
_SIDED = 0.9
# Another form's surface may do something if it moves by more than this (rad).
_STIRRED = 1e-3
# In a turn the angle of attack does not follow the pitch rate: from this bank (rad) on C_m_q is
# not the sum that it is in level flight.
_STEEPEST = 0.2
# Signals are late against each other by these parts of a simulator's step, or of a sample's time.
_PART_OF_STEP, _PART_OF_SAMPLE = 0.3, 0.2
# Drag and thrust act on the airspeed within seconds: of fewer, a drift of a sensor looks as they.
_SHORTEST_PATH = 8.0
# Where no throttle moves, the airspeed changes so slowly that it takes so many seconds.
_SHORTEST_GLIDE = 15.0


@dataclass(frozen=True)
class Identified:
    """
    A form that was identified: its manoeuvres, the regression it began with, and the fit.

    ``by_frequency`` is what chirps and multisines show in the frequency domain. With a prior the
    fit is that of both, and ``mixed`` says what each of them says.
    """

    motions: Sequence[CheckedManoeuvre]
    regression: Regression
    fit: Fit
    by_frequency: FrequencyFit | None = None
    validation: Mapping[str, Agreement] = field(default_factory=dict)
    mixed: Mixed | None = None

    @property
    def surfaces(self) -> frozenset[str]:
        """Return the controls that are deflections, in rad."""
        return self.motions[0].measured.surfaces

    @property
    def manoeuvres(self) -> list[str]:
        """Return the names of its manoeuvres, with their flights if these are several."""
        several = len({motion.measured.source for motion in self.motions}) > 1
        return [motion.measured.manoeuvres[0].name
                + (f' of {Path(motion.measured.source).name}' if several else '')
                for motion in self.motions]

    def unit_of(self, derivative: Derivative) -> str:
        """Return the unit of a derivative."""
        return unit_of(derivative, self.surfaces)

    def is_identifiable(self, derivative: Derivative) -> bool:
        """Return whether a derivative is known well enough to be given as a number."""
        return self.fit.derivatives[derivative].bound <= IDENTIFIABLE


@dataclass(frozen=True)
class Identification:
    """
    What was found: ``forms`` by name, and ``refused`` why others, or manoeuvres, were not.

    ``compatibility`` is of all manoeuvres of each flight. ``prior`` is what was known before, of
    derivatives by their names.
    """

    airframe: Airframe
    compatibility: Sequence[Compatibility]
    forms: Mapping[str, Identified]
    refused: Mapping[str, str]
    prior: Mapping[str, PublishedDerivative] = field(default_factory=dict)

    @property
    def surfaces(self) -> frozenset[str]:
        """Return the controls that are the deflections of surfaces, in rad."""
        return self.compatibility[0].raw[0].surfaces


def identify(
    flights: Sequence[FlightSignals], airframe: Airframe, step: float = 0.0,
    unseen: Sequence[FlightSignals] = (), stepwise: bool = False,
    prior: Mapping[str, PublishedDerivative] | None = None,
) -> Identification:
    """
    Return the models of one or more flights of an aircraft.

    ``step`` is that of the simulator (s), 0 for a real aircraft; ``unseen`` are flights to
    validate the models on. ``stepwise`` leaves out derivatives that they do not need. ``prior``
    are independent estimates of derivatives by their names, with standard deviations above 0.
    Raises IdentificationError for flights of which nothing can be said, and FieldError for a
    prior in another unit.
    """
    prior = prior or {}
    check_sizes(airframe)
    checked = [_checked(flight, airframe, step) for flight in flights]
    check_size([raw for each in checked for raw in each.raw])
    validated = [_checked(flight, airframe, step) for flight in unseen]
    _refuse_mixed_controls([*checked, *validated])
    check_units(prior, checked[0].raw[0].surfaces)
    forms: dict[str, Identified] = {}
    refused: dict[str, str] = {
        # Flights may have manoeuvres of the same name.
        (f'{name} of {each.raw[0].source}' if len(checked) > 1 else name): sentence
        for each in checked for name, sentence in each.left_out.items()}
    for form in (*FORMS, SPEED):
        motions, others = _select_manoeuvres(form, checked)
        if not motions and form is SPEED:
            continue
        if not motions:
            controls = ' and '.join(form.controls)
            refused[form.name] = (
                f'{form.name}: {controls} hardly '
                f'{"move" if len(form.controls) > 1 else "moves"} in any manoeuvre: no excitation')
            continue
        try:
            check_condition(form, motions)
            found = (_with_speed(motions, others, step) if form is SPEED else
                     _identified(_moved_only(form, motions), motions, others, step, stepwise,
                                 prior))
        except IdentificationError as error:
            refused[form.name] = str(error)
            continue
        # What is wrong about one form is wrong about the others: of none anything is said.
        check_derivatives(found.fit.derivatives, airframe, Condition(
            motions[0].measured.source, float(motions[0]['true_airspeed'].mean()),
            float(motions[0]['density'].mean())))
        found = _with_prior(found, prior, step)
        other, _ = _select_manoeuvres(form, validated)
        forms[form.name] = replace(found, validation=_validated(found.fit, other, step))
    if not {*forms} & {form.name for form in FORMS}:
        raise IdentificationError('; '.join(refused.values()))
    return Identification(airframe, checked, forms, refused, prior)


def _checked(flight: FlightSignals, airframe: Airframe, step: float) -> Compatibility:
    flight = with_surfaces(flight)
    check(flight)
    found = manoeuvres(flight)
    if not found:
        raise IdentificationError(
            f'{flight.source}: elevator, aileron and rudder hardly move from '
            f'{flight.times[0]:.1f} s to {flight.times[-1]:.1f} s: no excitation, no estimate')
    parts = [flight.part(one) for one in found]
    check_size(parts)
    flight = with_surfaces(flight, parts)
    parts = [flight.part(one) for one in found]
    parts, left_out = _whole(parts)
    for part in parts:
        check_manoeuvre(part)
    return replace(check_compatibility(parts, airframe, step), left_out=left_out)


def _whole(parts: Sequence[FlightSignals]) -> tuple[list[FlightSignals], dict[str, str]]:
    """
    Return the manoeuvres in which an aircraft flew, and why others are left out, by their names.

    What all show is a unit, what one shows is a flight that broke. Raises IdentificationError if
    none is left.
    """
    whole: list[FlightSignals] = []
    left_out: dict[str, str] = {}
    for part in parts:
        try:
            check_magnitudes(part)
        except IdentificationError as error:
            if not whole and part is parts[-1]:
                raise
            left_out[part.manoeuvres[0].name] = (
                f'{part.manoeuvres[0].name} is left out, unlike other manoeuvres: {error}')
            continue
        whole.append(part)
    return whole, left_out


def _refuse_mixed_controls(checked: Sequence[Compatibility]) -> None:
    first = checked[0].raw[0]
    for one in checked[1:]:
        if other := one.raw[0].surfaces ^ first.surfaces:
            raise IdentificationError(
                f'{first.source} and {one.raw[0].source}: {" and ".join(sorted(other))} by '
                'commands in one, and by deflections in the other: identify each by itself')


def _select_manoeuvres(
    form: ModelStructure, checked: Sequence[Compatibility]
) -> tuple[list[CheckedManoeuvre], list[list[CheckedManoeuvre]]]:
    """Return the manoeuvres that excite a form, and each with other errors of its sensors."""
    motions: list[CheckedManoeuvre] = []
    others = []
    for found in checked:
        ends = [_end(form, motion) for motion in found.motions]
        own, *other = ([motion.before(end) for motion, end in zip(each, ends, strict=True)]
                       for each in (found.motions, *found.other_motions))
        chosen = [n for n, motion in enumerate(own) if len(motion.times) >= FEWEST_SAMPLES
                  and excited(motion.measured, form) and not _is_too_short(form, motion)]
        before = len(motions)
        motions += [own[n] for n in chosen]
        others.append((before, chosen, other))
    # The sensors of one flight err together, and not with those of another one.
    return motions, [
        [*motions[:before], *(other[n] for n in chosen), *motions[before + len(chosen):]]
        for before, chosen, every in others for other in (every if chosen else ())]


def _is_too_short(form: ModelStructure, motion: CheckedManoeuvre) -> bool:
    return form is SPEED and motion.times[-1] - motion.times[0] < _SHORTEST_PATH


def _end(form: ModelStructure, motion: CheckedManoeuvre) -> float:
    """Return until when a form describes a manoeuvre."""
    steep = np.flatnonzero(np.abs(motion['roll']) > _STEEPEST)
    if form.name == LATERAL.name or not len(steep):
        return float('inf')
    return float(motion.times[steep[0]])


def _moved_only(form: ModelStructure, motions: Sequence[CheckedManoeuvre]) -> ModelStructure:
    """Return a form without the controls that no manoeuvre moves."""
    return form._replace(controls=tuple(
        name for name in form.controls if name not in FLOWN or any(
            moved(motion.measured, name) for motion in motions)))


def _identified(
    form: ModelStructure, motions: Sequence[CheckedManoeuvre],
    others: Sequence[Sequence[CheckedManoeuvre]], step: float, stepwise: bool,
    prior: Collection[str],
) -> Identified:
    for motion in motions:
        check_flow(form, motion)
    if any(motion.has_gusts for motion in motions):
        form = in_gusts(form)
    start = equation_error(form, motions)
    check_regression(form, motions, start)
    # With what other surfaces do, and the effect of controls that is not the same both ways, where
    # that can be seen.
    sided = [f'{name}{MAGNITUDE}' for name in form.controls
             if name in FLOWN and _is_two_sided(motions, name)]
    form = _with_more(form, [
        name for name in CROSS.get(form.name, ()) if all(
            name in motion.measured.surfaces for motion in motions) and any(
            np.ptp(motion[name]) > _STIRRED for motion in motions)], motions, step)
    form = _with_more(form, sided, motions, step)
    start = equation_error(form, motions)
    if stepwise:
        # What was known before is needed for that.
        form = form._replace(omitted=frozenset(
            one for one in needless(form, motions) if str(one) not in prior))
    fit = output_error(form, motions, start, step, others, _late(form, motions, step))
    check_fit(motions, fit)
    return Identified(motions, start, fit, frequency_domain(form, motions))


def _late(form: ModelStructure, motions: Sequence[CheckedManoeuvre], step: float) -> Array:
    """
    Return how late signals may be against each other in each manoeuvre (s): standard deviations.

    Of a simulator the rate of the angle of attack may be that of a step before. Otherwise signals
    are measured at any time of a sample. What surfaces did within one is known otherwise: see
    CheckedManoeuvre.without_jumps.
    """
    if step:
        return np.full(
            len(motions), _PART_OF_STEP * step if form.name != LATERAL.name else 0.0)
    return _PART_OF_SAMPLE * np.array([np.median(np.diff(motion.times)) for motion in motions])


def _with_speed(
    motions: Sequence[CheckedManoeuvre], others: Sequence[Sequence[CheckedManoeuvre]], step: float
) -> Identified:
    for motion in motions:
        check_flow(LONGITUDINAL, motion)
    longest = max(float(motion.times[-1] - motion.times[0]) for motion in motions)
    if longest < _SHORTEST_GLIDE and not any(
            moved(motion.measured, 'throttle') for motion in motions):
        raise IdentificationError(
            f'{SPEED.name}: the throttle hardly moves, and no manoeuvre is as long as '
            f'{_SHORTEST_GLIDE:g} s (the longest: {longest:.1f} s): what the airspeed does is not '
            'told from a drift')
    regression, fit = by_speed.by_speed(motions, others, _late(SPEED, motions, step))
    check_regression(fit.form, motions, regression)
    return Identified(motions, regression, fit)


def _with_prior(
    found: Identified, prior: Mapping[str, PublishedDerivative], step: float
) -> Identified:
    """Return what was identified together with what was known before."""
    if not prior:
        return found
    alone = found.fit
    both, told = mixed(alone, {
        name: Estimate(one.value, one.sigma) for name in alone.derivatives
        if (one := prior.get(str(name))) is not None})
    if both is not alone:
        both = (by_speed.refitted(both, alone, found.motions)
                if alone.form.name == SPEED.name else refitted(both, found.motions, step))
    return replace(found, fit=both, mixed=told)


def _with_more(
    form: ModelStructure, names: Sequence[str], motions: Sequence[CheckedManoeuvre], step: float
) -> ModelStructure:
    """Return a form with those of more controls that certainly act."""
    if not names:
        return form
    wider = form._replace(controls=(*form.controls, *names))
    start = equation_error(wider, motions)
    if start.collinearity.is_too_much:
        return form
    try:
        fit = output_error(wider, motions, start, step, late=_late(form, motions, step))
    except IdentificationError:
        # What does not even converge is not certain.
        return form
    return form._replace(controls=(*form.controls, *(
        name for name in names if _acts(fit, name))))


def _acts(fit: Fit, name: str) -> bool:
    """Return whether a control certainly acts, or by its magnitude not the same both ways."""
    for derivative, one in {**fit.derivatives, **fit.beside}.items():
        if derivative.regressor == name:
            mean = 0.0 if not name.endswith(MAGNITUDE) else fit.derivatives[
                derivative._replace(regressor=name.removesuffix(MAGNITUDE))].value
            if one.bound <= 1.0 / _CERTAIN and abs(one.value) > _DIFFERENT * abs(mean):
                return True
    return False


def _is_two_sided(motions: Sequence[CheckedManoeuvre], name: str) -> bool:
    both = np.concatenate([motion[name] - motion[name][0] for motion in motions])
    size = np.abs(both)
    return bool(size.std()) and bool(abs(np.corrcoef(both, size)[0, 1]) < _SIDED)


def _validated(
    fit: Fit, motions: Sequence[CheckedManoeuvre], step: float
) -> dict[str, Agreement]:
    if not motions:
        return {}
    measured, estimated = (by_speed.foretold_path(fit, motions) if fit.form.name == SPEED.name
                           else foretold(fit, motions, step))
    return {
        name: agreement([one[:, at] for one in measured], [one[:, at] for one in estimated])
        for at, name in enumerate(fit.form.outputs)}
