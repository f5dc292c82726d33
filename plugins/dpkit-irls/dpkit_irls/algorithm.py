"""The algorithm `irls` with its three forms, from declared parameters and public facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpkit.core.algorithm import AnyAlgorithm
from dpkit.core.factories import AlgorithmFactory
from dpkit.core.parameters import Parameter
from dpkit.core.setting import Setting
from dpkit_irls.bounded import BoundedIRLS
from dpkit_irls.dummies import entry_names, levels_of
from dpkit_irls.moments import FREEDOM, MomentIRLS
from dpkit_irls.paper import PaperIRLS
from dpkit_irls.scaling import checked_columns, checked_start, public_size, scaling_of

FORMS = ("bounded", "moments", "paper")

PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        name="features",
        kind="texts",
        doc="The columns to regress on; a category becomes one 0/1 entry a level, against its first.",
        examples=(("x",),),
    ),
    Parameter(
        name="target",
        kind="text",
        doc="The column to predict.",
        examples=("y",),
    ),
    Parameter(
        name="form",
        kind="choice",
        choices=FORMS,
        default="bounded",
        doc="Which of the three forms; `paper` is refuted.",
    ),
    Parameter(
        name="intercept",
        kind="boolean",
        default=True,
        doc="Whether to fit a constant.",
    ),
    Parameter(
        name="iterations",
        kind="integer",
        minimum=1,
        maximum=1000,
        default=None,
        doc="Steps; 16 in `bounded`, 10 elsewhere.",
    ),
    Parameter(
        name="units",
        kind="choice",
        choices=("private", "bounds"),
        default="private",
        doc="In `bounded`: release the columns' units, or take the declared bounds.",
    ),
    Parameter(
        name="weight_cap",
        kind="number",
        minimum=0.0,
        exclusive=True,
        default=10.0,
        doc="The largest weight, in units of 1 / y_bound; not in `bounded`.",
    ),
    Parameter(
        name="p",
        kind="number",
        minimum=1.0,
        maximum=2.0,
        default=1.0,
        doc="The norm that is minimised; not in `bounded`.",
    ),
    Parameter(
        name="x_bound",
        kind="number",
        minimum=0.0,
        exclusive=True,
        default=None,
        doc="A bound on the norm of a row's features; from the declared ranges by default.",
    ),
    Parameter(
        name="y_bound",
        kind="number",
        minimum=0.0,
        exclusive=True,
        default=None,
        doc="A bound on the target; from the declared range by default.",
    ),
    Parameter(
        name="noise",
        kind="choice",
        choices=("gaussian", "wishart", "laplace"),
        default="gaussian",
        doc="In `moments`: on both; in `paper`: on the first moment.",
    ),
    Parameter(
        name="average",
        kind="choice",
        choices=("moments", "iterates", "none"),
        default="moments",
        doc="In `moments`: what is averaged over iterations.",
    ),
    Parameter(
        name="start",
        kind="numbers",
        default=(),
        doc="Public coefficients to start from, in the units of the columns: one an entry, then the intercept if there is one.",
    ),
    Parameter(
        name="few_rows",
        kind="choice",
        choices=("refuse", "answer"),
        default="refuse",
        doc="What a plan does where the declared number of rows is far too small for the budget.",
    ),
    Parameter(
        name="freedom",
        kind="integer",
        minimum=2,
        maximum=100_000,
        default=FREEDOM,
        doc="In `moments` with Wishart noise: degrees of freedom beyond the number of entries.",
    ),
    Parameter(
        name="failure",
        kind="number",
        minimum=0.0,
        exclusive=True,
        maximum=0.5,
        default=1e-6,
        doc="In `paper`: the delta of the classical Gaussian formula.",
    ),
    Parameter(
        name="calibration",
        kind="choice",
        choices=("conventional", "advanced", "cdp"),
        default="cdp",
        doc="In `paper`: how it divides its epsilon.",
    ),
    Parameter(
        name="accept_refuted",
        kind="texts",
        default=(),
        doc="In `paper`: the refuted steps that you accept, by name: wishart, gaussian, taylor.",
    ),
)


def make(setting: Setting, **values: Any) -> AnyAlgorithm:
    """The form asked for; only public facts can be refused."""
    if values["form"] == "bounded":
        return _bounded(setting, values)
    scaling = scaling_of(
        setting,
        values["features"],
        values["target"],
        x_bound=values["x_bound"],
        y_bound=values["y_bound"],
        intercept=values["intercept"],
    )
    iterations = values["iterations"] or 10
    if values["form"] == "moments":
        return MomentIRLS(
            setting=setting,
            scaling=scaling,
            iterations=iterations,
            weight_cap=values["weight_cap"],
            p=values["p"],
            noise_kind=values["noise"],
            average=values["average"],
            start=checked_start(values["start"], scaling.width, intercept=scaling.intercept),
            extra=values["freedom"],
            few_rows=values["few_rows"],
        )
    return PaperIRLS(
        setting=setting,
        scaling=scaling,
        size=public_size(setting, form="paper"),
        iterations=iterations,
        weight_cap=values["weight_cap"],
        p=values["p"],
        noise_on_first="laplace" if values["noise"] == "laplace" else "gaussian",
        failure=values["failure"],
        calibration=values["calibration"],
        accepted=values["accept_refuted"],
        start=checked_start(values["start"], scaling.width, intercept=scaling.intercept),
        few_rows=values["few_rows"],
    )


def _bounded(setting: Setting, values: dict[str, Any]) -> BoundedIRLS:
    columns = checked_columns(setting, values["features"], values["target"])
    features = columns[:-1]
    private = values["units"] == "private"
    return BoundedIRLS(
        setting=setting,
        columns=columns,
        entries=entry_names(setting, features),
        levels=levels_of(setting, features),
        intercept=values["intercept"],
        released_units=_unknown_units(setting, features) if private else (),
        iterations=values["iterations"] or 16,
        start=checked_start(
            values["start"], len(entry_names(setting, features)) + values["intercept"], intercept=values["intercept"]
        ),
        few_rows=values["few_rows"],
    )


def _unknown_units(setting: Setting, features: Sequence[str]) -> tuple[int, ...]:
    """The places of numbers among the entries; a level or a truth value has its unit by declaration."""
    known = [bool(setting.levels(name)) or setting.range(name) == (0.0, 1.0) for name in features]
    sizes = [len(entry_names(setting, (name,))) for name in features]
    places = [sum(sizes[:place]) for place in range(len(features))]
    return tuple(place for place, is_known in zip(places, known, strict=True) if not is_known)


FACTORY = AlgorithmFactory(
    name="irls",
    doc="Robust linear regression: a form that holds and needs few rows, the paper's moments, the paper.",
    make=make,
    parameters=PARAMETERS,
)
