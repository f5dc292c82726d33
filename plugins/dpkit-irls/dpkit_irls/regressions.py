"""The algorithms of regression by name, each with its own parameters and from public facts alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dpkit import (
    AlgorithmFactory,
    Boolean,
    Category,
    DeclaredSetting,
    InvalidValueError,
    Neighbours,
    Number,
    Parameter,
    PrivacyUnit,
    Schema,
    Setting,
)
from dpkit.authoring import AnyAlgorithm, Column
from dpkit_irls.loss import BISQUARE, LOGISTIC, MULTINOMIAL, POISSON, QUANTILE, ROBUST, Family, quantile_score
from dpkit_irls.moments.moment_query import FREEDOM
from dpkit_irls.public_facts import (
    checked_columns,
    checked_deviations,
    checked_middles,
    checked_ranges,
    checked_shares,
    checked_start,
    public_size,
    scaling_of,
)
from dpkit_irls.rows.dummies import entry_names, levels_of
from dpkit_irls.rows.row_weights import checked_weight

if TYPE_CHECKING:
    from dpkit_irls.bounded.bounded_irls import BoundedIRLS
    from dpkit_irls.moments.moment_irls import MomentIRLS
    from dpkit_irls.paper.paper_irls import PaperIRLS

_FEATURES = Parameter(
    name="features",
    kind="texts",
    doc="The columns to regress on; a category becomes one 0/1 entry a level, against its first.",
    examples=(("x",),),
)
_TARGET = Parameter(name="target", kind="text", doc="The column to predict.", examples=("y",))
_INTERCEPT = Parameter(name="intercept", kind="boolean", default=True, doc="Whether to fit a constant.")
_START = Parameter(
    name="start",
    kind="numbers",
    default=(),
    doc="Public coefficients to start from, in the units of the columns: one an entry, then the intercept if there is one; of "
    "classes, those of the second class, then of the third, and so on.",
)
_RIDGE = Parameter(
    name="ridge",
    kind="number",
    minimum=0.0,
    maximum=1e6,
    default=0.0,
    examples=(0.1,),
    doc="Pulls slopes, in released scales, towards 0: by about 1 / (1 + ridge) where columns are not correlated.",
)
_FEW_ROWS = Parameter(
    name="few_rows",
    kind="choice",
    choices=("refuse", "answer"),
    default="refuse",
    doc="What a plan does where the declared number of rows is far too small for the budget.",
)
_UNITS = Parameter(
    name="units",
    kind="choice",
    choices=("private", "bounds"),
    default="private",
    doc="Release the columns' units, or take the declared bounds.",
)
_SHARES = Parameter(
    name="shares",
    kind="numbers_by_name",
    minimum=0.0,
    maximum=1.0,
    default=None,
    doc="Public guesses, for the plan: of each category named, the share of rows in each level, in the declared order.",
)
_DEVIATIONS = Parameter(
    name="deviations",
    kind="number_by_name",
    minimum=0.0,
    exclusive=True,
    default=None,
    doc="Public guesses, for the plan: about how much numbers vary (standard deviations); for a target that is a number, about "
    "how much it varies around the line.",
)
_MIDDLES = Parameter(
    name="middles",
    kind="number_by_name",
    default=None,
    doc="Public guesses, for the plan: about where numbers lie (means); of truth values, the share that is true.",
)
_WEIGHT_CAP = Parameter(
    name="weight_cap",
    kind="number",
    minimum=0.0,
    exclusive=True,
    default=10.0,
    doc="The largest weight, in units of 1 / y_bound.",
)
_NORM = Parameter(name="p", kind="number", minimum=1.0, maximum=2.0, default=1.0, doc="The norm that is minimised.")
_X_BOUND = Parameter(
    name="x_bound",
    kind="number",
    minimum=0.0,
    exclusive=True,
    default=None,
    doc="A bound on the norm of a row's features; from the declared ranges by default.",
)
_Y_BOUND = Parameter(
    name="y_bound",
    kind="number",
    minimum=0.0,
    exclusive=True,
    default=None,
    doc="A bound on the target; from the declared range by default.",
)
_AVERAGE = Parameter(
    name="average",
    kind="choice",
    choices=("moments", "iterates", "none"),
    default="moments",
    doc="What is averaged over iterations.",
)
_FREEDOM = Parameter(
    name="freedom",
    kind="integer",
    minimum=2,
    maximum=100_000,
    default=FREEDOM,
    doc="Degrees of freedom of the noise beyond the number of entries.",
    only_with={"noise": "wishart"},
)
_FAILURE = Parameter(
    name="failure",
    kind="number",
    minimum=0.0,
    exclusive=True,
    maximum=0.5,
    default=1e-6,
    doc="The delta of the classical Gaussian formula.",
    only_with={"noise": "gaussian"},
)
_CALIBRATION = Parameter(
    name="calibration",
    kind="choice",
    choices=("conventional", "advanced", "cdp"),
    default="cdp",
    doc="How the published method divides its epsilon.",
)
_ACCEPT = Parameter(
    name="accept_refuted",
    kind="texts",
    default=(),
    examples=(("wishart", "gaussian", "taylor"),),
    doc="The refuted steps that you accept, by name: wishart, gaussian, taylor.",
)
_SCORE = Parameter(
    name="score",
    kind="choice",
    choices=("huber", "l1", "bisquare"),
    default="huber",
    doc="Huber's, whose threshold grows with the rows to 1.345 scales; that of absolute errors, with a small threshold; or "
    "Tukey's bisquare, to which wild rows count for nothing, with up to 4.685 scales.",
)
_QUANTILE = Parameter(
    name="quantile",
    kind="number",
    minimum=0.01,
    maximum=0.99,
    default=0.5,
    examples=(0.9,),
    doc="Which share of the targets lies below the line; between 0.01 and 0.99.",
)
FORMER = {
    "form": "Every form is an algorithm of its own: run `irls` for the form `bounded`, `irls-moments` for `moments`, "
    "`irls-paper` for `paper`."
}


_MECHANISM = Parameter(
    name="mechanism",
    kind="mechanism",
    default="gaussian",
    examples=("gaussian",),
    doc="The noise: Gaussian, which its errors and its filter are proved for. `irls-moments` takes others under `noise`.",
)


_ROW_WEIGHT = Parameter(
    name="weight",
    kind="text",
    default=None,
    doc="A declared column of numbers from 0 on: how much a row counts. Without it, each counts 1.",
)


def _iterations(default: int) -> Parameter:
    return Parameter(name="iterations", kind="integer", minimum=1, maximum=1000, default=default, doc="Steps.")


_LINK_ITERATIONS = Parameter(
    name="iterations",
    kind="integer",
    minimum=1,
    maximum=1000,
    default=None,
    examples=(8,),
    doc="Steps; by default 10 to 30, the fewer the more rows there are, where their number is public.",
)


def _noise(doc: str, *choices: str) -> Parameter:
    return Parameter(name="noise", kind="choice", choices=choices, default="gaussian", doc=doc)


def make_bounded(setting: Setting, *, family: Family = ROBUST, **values: Any) -> BoundedIRLS:
    """`irls` and its family: contributions are bounded by construction, so no tight bounds are needed."""
    from dpkit_irls.bounded.bounded_irls import BoundedIRLS  # here and below: a list of algorithms needs none of their code
    from dpkit_irls.bounded.tuning import ABUNDANT, LINK_SHARES, SHARES, link_steps, needed, tuning_for

    where = family.name
    chosen = values["mechanism"]
    if chosen.name != "gaussian" or chosen.given:
        raise InvalidValueError(
            field="mechanism",
            found=str(chosen),
            allowed="gaussian, without parameters: the plan chooses its scale",
            where=where,
            fix="Its errors and its filter are proved for Gaussian noise in L2. `irls-moments` takes others under `noise`.",
        )
    checked_weight(setting, values["weight"], where=where)
    columns = checked_columns(setting, values["features"], values["target"], where=where, family=family)
    checked_ranges(setting, columns, where=where)
    features = columns[:-1]
    entries = entry_names(setting, features)
    wanted = size = len(entries) + values["intercept"]
    rows = setting.size if setting.size_is_public else None
    if family.target == "class":
        wanted *= len(setting.levels(columns[-1])) - 1
    return BoundedIRLS(
        setting=setting,
        columns=columns,
        entries=entries,
        levels=levels_of(setting, features),
        intercept=values["intercept"],
        family=family,
        parts=LINK_SHARES if family.link else SHARES,
        tuning=tuning_for(family),
        released_units=_unknown_units(setting, features) if values["units"] == "private" else (),
        iterations=values["iterations"] or link_steps(rows, size, most=_most_steps(family, levels_of(setting, features))),
        rounds=1 if family.link and rows is not None and rows > ABUNDANT * needed(size) else 2,
        start=checked_start(values["start"], wanted, intercept=values["intercept"], where=where),
        few_rows=values["few_rows"],
        shares=checked_shares(setting, features, values["shares"], where=where),
        deviations=checked_deviations(setting, columns, values["deviations"], where=where, family=family),
        middles=checked_middles(setting, columns, values["middles"], where=where, family=family),
        weight=values["weight"],
        ridge=values["ridge"],
    )


def _most_steps(family: Family, levels: Sequence[int]) -> int:
    """How many steps a family with a link makes over many times the needed rows. One more tells a dispersion; to levels, of
    which some may have few rows, more and smaller ones come.
    """
    if family.target == "class":
        return 8
    if any(levels):
        return 16
    return 6 if family.target == "count" else 5


def make_robust(setting: Setting, *, score: str, **values: Any) -> BoundedIRLS:
    """`irls`, by the name of its score."""
    from dpkit_irls.bounded.tuning import ABSOLUTE

    family = replace(ROBUST, residuals=BISQUARE) if score == "bisquare" else ROBUST
    found = make_bounded(setting, family=family, **values)
    return replace(found, tuning=ABSOLUTE) if score == "l1" else found


def make_quantile(setting: Setting, *, quantile: float, **values: Any) -> BoundedIRLS:
    """`quantile-regression`: the family of a probability."""
    return make_bounded(setting, family=replace(QUANTILE, residuals=quantile_score(quantile)), **values)


def make_moments(setting: Setting, **values: Any) -> MomentIRLS:
    """`irls-moments`: the paper's moments, released soundly."""
    from dpkit_irls.moments.moment_irls import MomentIRLS

    return MomentIRLS(
        noise_kind=values["noise"],
        average=values["average"],
        extra=values["freedom"],
        **_moments(setting, values, where="irls-moments"),
    )


def make_paper(setting: Setting, **values: Any) -> PaperIRLS:
    """`irls-paper`: the published method, refuted."""
    from dpkit_irls.paper.paper_irls import PaperIRLS

    return PaperIRLS(
        size=public_size(setting, where="irls-paper"),
        noise_on_first=values["noise"],
        failure=values["failure"],
        calibration=values["calibration"],
        accepted=values["accept_refuted"],
        **_moments(setting, values, where="irls-paper"),
    )


def _moments(setting: Setting, values: Mapping[str, Any], *, where: str) -> dict[str, Any]:
    """What both algorithms of moments are made of."""
    scaling = scaling_of(
        setting,
        values["features"],
        values["target"],
        x_bound=values["x_bound"],
        y_bound=values["y_bound"],
        intercept=values["intercept"],
        where=where,
    )
    return {
        "setting": setting,
        "scaling": scaling,
        "iterations": values["iterations"],
        "weight_cap": values["weight_cap"],
        "p": values["p"],
        "start": checked_start(values["start"], scaling.width, intercept=scaling.intercept, where=where),
        "few_rows": values["few_rows"],
    }


def _unknown_units(setting: Setting, features: Sequence[str]) -> tuple[int, ...]:
    """The places of numbers among the entries; a level or a truth value has its unit by declaration."""
    known = [bool(setting.levels(name)) or setting.range(name) == (0.0, 1.0) for name in features]
    sizes = [len(entry_names(setting, (name,))) for name in features]
    places = [sum(sizes[:place]) for place in range(len(features))]
    return tuple(place for place, is_known in zip(places, known, strict=True) if not is_known)


def _factory(
    name: str, doc: str, make: Any, *parameters: Parameter, settings: Callable[[], Sequence[Setting]] | None = None
) -> AlgorithmFactory:
    shared = (_FEATURES, _TARGET, _INTERCEPT, *parameters, _START, _FEW_ROWS)
    return AlgorithmFactory(name=name, doc=doc, make=make, parameters=shared, former=FORMER, settings=settings)


def _settings(target: Column) -> Callable[[], list[Setting]]:
    """Where the conformance kit tries a family: this target, a number and a category, both relations, rows and persons."""

    def made() -> list[Setting]:
        x, c = Number(name="x", lower=-6.0, upper=2.0), Category(name="c", levels=("a", "b", "other"))
        schema = Schema(columns=(x, target, c))
        person = PrivacyUnit(column="person", at_most=2)
        return [
            DeclaredSetting(schema=schema, neighbours=Neighbours.ADD_REMOVE),
            DeclaredSetting(schema=schema, neighbours=Neighbours.REPLACE_ONE, rows=40),
            DeclaredSetting(schema=schema, neighbours=Neighbours.REPLACE_ONE, unit=person),
        ]

    return made


IRLS = _factory(
    "irls",
    "Robust linear regression that needs few rows and no tight bounds.",
    make_robust,
    _SCORE,
    _iterations(16),
    _MECHANISM,
    _UNITS,
    _SHARES,
    _DEVIATIONS,
    _MIDDLES,
    _ROW_WEIGHT,
    _RIDGE,
)
LOGISTIC_REGRESSION = _factory(
    "logistic",
    "Logistic regression of a target of yes and no that needs few rows and no tight bounds.",
    partial(make_bounded, family=LOGISTIC),
    _LINK_ITERATIONS,
    _MECHANISM,
    _UNITS,
    _SHARES,
    _DEVIATIONS,
    _MIDDLES,
    _ROW_WEIGHT,
    _RIDGE,
    settings=_settings(Boolean(name="y")),
)
MULTINOMIAL_REGRESSION = _factory(
    "multinomial",
    "Logistic regression of a target of several classes, each against the first; it needs no tight bounds.",
    partial(make_bounded, family=MULTINOMIAL),
    _LINK_ITERATIONS,
    _MECHANISM,
    _UNITS,
    _SHARES,
    _DEVIATIONS,
    _MIDDLES,
    _ROW_WEIGHT,
    _RIDGE,
    settings=_settings(Category(name="y", levels=("no", "perhaps", "yes"))),
)
POISSON_REGRESSION = _factory(
    "poisson",
    "Regression of counts, also over-dispersed ones, on the logarithm of their mean; it needs few rows and no tight bounds.",
    partial(make_bounded, family=POISSON),
    _LINK_ITERATIONS,
    _MECHANISM,
    _UNITS,
    _SHARES,
    _DEVIATIONS,
    _MIDDLES,
    _ROW_WEIGHT,
    _RIDGE,
    settings=_settings(Number(name="y", lower=0.0, upper=20.0, whole=True)),
)
QUANTILE_REGRESSION = _factory(
    "quantile-regression",
    "Regression of any quantile that needs few rows and no tight bounds.",
    make_quantile,
    _QUANTILE,
    _iterations(20),
    _MECHANISM,
    _UNITS,
    _SHARES,
    _DEVIATIONS,
    _MIDDLES,
    _ROW_WEIGHT,
    _RIDGE,
)
MOMENTS = _factory(
    "irls-moments",
    "Robust linear regression from noisy weighted moments; pure with Laplace noise.",
    make_moments,
    _iterations(10),
    _WEIGHT_CAP,
    _NORM,
    _X_BOUND,
    _Y_BOUND,
    _noise("The noise on the moments.", "gaussian", "wishart", "laplace"),
    _FREEDOM,
    _AVERAGE,
)
PAPER = _factory(
    "irls-paper",
    "Robust linear regression as published. Its guarantee is refuted: you accept that by name.",
    make_paper,
    _iterations(10),
    _WEIGHT_CAP,
    _NORM,
    _X_BOUND,
    _Y_BOUND,
    _noise("The noise on the first moment.", "gaussian", "laplace"),
    _FAILURE,
    _CALIBRATION,
    _ACCEPT,
)
FACTORIES: tuple[AlgorithmFactory, ...] = (
    IRLS,
    LOGISTIC_REGRESSION,
    MULTINOMIAL_REGRESSION,
    POISSON_REGRESSION,
    QUANTILE_REGRESSION,
    MOMENTS,
    PAPER,
)


def prepare(name: str, setting: Setting, **values: object) -> AnyAlgorithm:
    """The algorithm of this name, for a setting."""
    return next(factory for factory in FACTORIES if factory.name == name).prepare(setting, **values)
