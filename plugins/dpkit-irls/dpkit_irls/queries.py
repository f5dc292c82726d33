"""The queries by name, on made-up columns x0, x1, ..., y: what the kit searches for neighbours that exceed a sensitivity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpkit import Parameter, Query, QueryFactory
from dpkit_irls.bounded import influence_query, step_query
from dpkit_irls.bounded.influence_query import EqualBins, Octaves
from dpkit_irls.bounded.scaled_rows import FAR, Frame
from dpkit_irls.bounded.step_query import CHEAP, FREE, Carried, Mix
from dpkit_irls.moments import moment_query
from dpkit_irls.moments.moment_query import Scaling, Weights

_FEATURES = Parameter(name="features", kind="integer", minimum=1, maximum=1024, doc="How many features.", examples=(2, 3))
_CAP = Parameter(name="weight_cap", kind="number", minimum=1e-3, maximum=1e6, doc="The largest weight.", examples=(10.0,))
_P = Parameter(name="p", kind="number", minimum=1.0, maximum=2.0, default=1.0, doc="The norm.", examples=(1.0, 1.5))
_THRESHOLD = Parameter(
    name="threshold", kind="number", minimum=1e-6, maximum=1e6, doc="Where residuals are cut.", examples=(0.5,)
)


def columns_of(features: int) -> tuple[str, ...]:
    """x0, x1, ..., y."""
    return (*(f"x{place}" for place in range(features)), "y")


def _moment(make: Callable[..., Query]) -> Callable[..., Query]:
    def build(features: int, weight_cap: float, p: float) -> Query:
        scaling = Scaling(columns=columns_of(features), x_bound=1.0, y_bound=1.0, intercept=False)
        theta = tuple(0.5 * (-1.0) ** place for place in range(features))
        return make(scaling, Weights(theta=theta, cap=weight_cap, p=p))

    return build


def frame_of(features: int, *, near: float = 0.0, far: float = FAR) -> Frame:
    """A frame with a preconditioner that is neither diagonal nor orthogonal."""
    mixed = np.eye(features) + 0.25 * np.triu(np.ones((features, features)), k=1)
    return Frame(
        columns=columns_of(features), units=(1.0,) * features, intercept=False, preconditioner=mixed, near=near, far=far
    )


def _gradient(features: int, threshold: float) -> Query:
    return influence_query.gradient(frame_of(features), np.full(features, 0.5), threshold)


def _step(mix: Mix) -> Callable[..., Query]:
    def build(features: int, threshold: float) -> Query:
        return step_query.step(frame_of(features, near=0.25, far=2.0), np.full(features, 0.5), threshold, mix)

    return build


def _places(features: int) -> Query:
    bins = EqualBins(lows=(-1.0,) * (features + 1), widths=(0.25,) * (features + 1), bins=8)
    return influence_query.place_histograms(frame_of(features), bins, range(features))


def _levels(features: int) -> Query:
    frame = Frame(
        columns=columns_of(features),
        units=(1.0,) * features,
        intercept=False,
        preconditioner=np.eye(features),
        levels=(2,) * features,
    )
    return influence_query.level_counts(frame)


def _lengths(features: int) -> Query:
    return influence_query.length_histogram(frame_of(features), Octaves(low=-4, bins=9))


def _targets(features: int) -> Query:
    return influence_query.target_histogram(frame_of(features), Octaves(low=-4, bins=9))


def _magnitudes(features: int) -> Query:
    return influence_query.column_histograms(frame_of(features), Octaves(low=-4, bins=9), range(features))


def _factory(name: str, doc: str, make: Callable[..., Any], *parameters: Parameter) -> QueryFactory:
    return QueryFactory(
        name=f"irls-{name}", doc=doc, make=make, parameters=(_FEATURES, *parameters), width=lambda query: len(query.columns)
    )


FACTORIES: tuple[QueryFactory, ...] = (
    _factory("first-moment", "X'Sy over the cap.", _moment(moment_query.first_moment), _CAP, _P),
    _factory("second-moment", "X'SX over the cap.", _moment(moment_query.second_moment), _CAP, _P),
    _factory("moments", "Both, in one matrix.", _moment(moment_query.joint_moments), _CAP, _P),
    _factory("moments-triangle", "Its upper triangle.", _moment(moment_query.joint_triangle), _CAP, _P),
    _factory("scatter", "Sum of u u'.", lambda features: influence_query.scatter(frame_of(features))),
    _factory("gradient", "Sum of u clip(r/k, -1, 1).", _gradient, _THRESHOLD),
    _factory("step", "Gradient, scatter and nearness, for replace-one.", _step(FREE[Carried.SCATTER]), _THRESHOLD),
    _factory("step-curvature", "Gradient, curvature and nearness.", _step(FREE[Carried.CURVATURE]), _THRESHOLD),
    _factory("step-middle", "Gradient, the sandwich's middle and nearness.", _step(FREE[Carried.MIDDLE]), _THRESHOLD),
    _factory("step-added", "Gradient and scatter, for add-remove.", _step(CHEAP[Carried.SCATTER]), _THRESHOLD),
    _factory("step-curvature-added", "Gradient and curvature, for add-remove.", _step(CHEAP[Carried.CURVATURE]), _THRESHOLD),
    _factory("step-middle-added", "Gradient and middle, for add-remove.", _step(CHEAP[Carried.MIDDLE]), _THRESHOLD),
    _factory("lengths", "Octaves of ||z||.", _lengths),
    _factory("targets", "Octaves of |y|.", _targets),
    _factory("magnitudes", "Octaves of |x_j|, for all columns at once.", _magnitudes),
    _factory("places", "Equal bins of x_j and y, for all columns at once.", _places),
    _factory("levels", "Counts of levels, for all categories at once.", _levels),
)
