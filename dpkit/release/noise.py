"""Noise for a query: any registered mechanism that suits it, by name, scaled as a plan asks; and how noise is added to an exact
total, without rounding in between, however large that is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from dpkit.contracts.factories import MechanismFactory
from dpkit.contracts.mechanism import Accurate, Mechanism, OnGrid
from dpkit.contracts.parameters import Choice, as_choice, checked_parameters
from dpkit.contracts.query import Query
from dpkit.contracts.setting import Setting
from dpkit.data.summing.repricing import contribution_grid
from dpkit.errors import DpkitError, InvalidValueError, UnknownNameError
from dpkit.hooks.manager import default_registry
from dpkit.numerics.exact_sums import BigIntArray, ExactSum, floats_of, is_power_of_two
from dpkit.privacy.checks import finite_number
from dpkit.privacy.neighbours import Distance
from dpkit.values import dataclass

ADDITIVE = ("reals", "integers")
"""The values of mechanisms whose output is the value with noise: what an estimate can be read from."""
_WIDEST = 2.0**53
_FREE = 2.0**-29
"""The deviation where nobody can move the total: such a release is free, and this little noise leaves it as good as exact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledNoise:
    """A mechanism for one query, up to its scale. `moved` is how far a neighbour moves the query, in the mechanism's metric."""

    factory: MechanismFactory
    given: Mapping[str, object]
    moved: float

    def at(self, multiplier: float) -> Mechanism:
        """The mechanism with a standard deviation of `multiplier` times what a neighbour moves."""
        wanted = finite_number(multiplier, field="noise", where=self.factory.name, minimum=0.0, strict=True)
        return self.factory.scaled(wanted * self.moved if self.moved > 0.0 else _FREE, **self.given)


def noise_for(
    setting: Setting, query: Query, mechanism: Choice | str | Mapping[str, object], *, values: Sequence[str] = ADDITIVE
) -> ScaledNoise:
    """The noise of this name for a query in a setting. `values` are the kinds of mechanisms that the caller can read.

    Refuses a mechanism that does not suit, and names those that do: whose distance is known for this query in this setting,
    which take such totals, and which declare their scale. Reads no data.
    """
    choice = as_choice(mechanism)
    if choice is None:
        allowed = "the name of a mechanism, or {NAME: {parameters}}"
        raise InvalidValueError(field="mechanism", found=mechanism, allowed=allowed, where=query.name)
    known: tuple[MechanismFactory, ...] = choice.among or default_registry().mechanisms
    chosen = [factory for factory in known if factory.name == choice.name]
    if not chosen:
        raise UnknownNameError(kind="mechanism", name=choice.name, known=[factory.name for factory in known])
    (factory,) = chosen
    distances = {distance.metric: distance.value for distance in setting.distances(query)}
    reason = _objection(query, factory, distances, values)
    if reason:
        suiting = [other.name for other in known if not _objection(query, other, distances, values) and _stands(other)]
        allowed = f"one that suits this query: {', '.join(suiting) or 'none is installed'}"
        raise InvalidValueError(field="mechanism", found=choice.name, allowed=allowed, where=query.name, fix=reason)
    given = choice.parameters
    if factory.scale in given:
        allowed = "nothing: the plan chooses it, so that the budget is kept"
        raise InvalidValueError(field=factory.scale, found=given[factory.scale], allowed=allowed, where=factory.name)
    others = [parameter for parameter in factory.parameters if parameter.name != factory.scale]
    for parameter in others:
        if parameter.about_values and given.get(parameter.name, parameter.default) != parameter.default:
            allowed = f"{factory.name} with `{parameter.name}` as it is: it states a fact about the query that nothing checks"
            raise InvalidValueError(field="mechanism", found=str(choice), allowed=allowed, where=query.name)
    try:
        checked = checked_parameters(others, given, where=factory.name)
    except InvalidValueError as error:
        allowed = f"{{{factory.name}: {{...}}}}, where `{error.field}` is {error.allowed}"
        raise InvalidValueError(field="mechanism", found=str(choice), allowed=allowed, where=query.name) from None
    moved = next(distances[metric] for metric in factory.metrics if metric in distances)
    return ScaledNoise(factory=factory, given=checked, moved=moved)


def expected_error(mechanism: Mechanism, shape: tuple[int, ...], confidence: float) -> float:
    """A bound on the error of a release, by the mechanism's own `accuracy`; infinity where it does not say."""
    return float(mechanism.accuracy(shape, confidence)) if isinstance(mechanism, Accurate) else math.inf


def _stands(factory: MechanismFactory) -> bool:
    """Whether nothing that the mechanism claims is refuted or unproved: only such a one is offered."""
    others = [parameter for parameter in factory.parameters if parameter.name != factory.scale]
    given = {parameter.name: parameter.examples[0] for parameter in others if parameter.examples}
    try:
        claims = factory.scaled(1.0, **given).claims(Distance(metric=factory.metrics[0], value=1.0))
    except DpkitError:
        return True  # nothing says which parameters to try: whether it stands shows when it is planned
    return all(claim.status == "proved" for claim in claims)


def _objection(query: Query, factory: MechanismFactory, distances: Mapping[str, float], values: Sequence[str]) -> str:
    """Why a mechanism does not suit; nothing where it does."""
    if factory.values not in values:
        return f"It takes {factory.values}, and what comes out is no noisy total."
    if not factory.scale:
        return "It declares no scale, so that no plan can fit it to a budget."
    if factory.values == "integers" and (query.grid is None or query.grid < 1.0):
        return "It takes whole numbers, and the contributions of this query are none."
    if factory.values == "symmetric" and not (len(query.shape) == 2 and query.shape[0] == query.shape[1]):
        return f"It takes symmetric matrices, and the query has the shape {query.shape}."
    if factory.values == "scores" and len(query.shape) != 1:
        return f"It takes a list of scores, and the query has the shape {query.shape}."
    if not any(metric in distances for metric in factory.metrics):
        return f"It needs a distance in {' or '.join(factory.metrics)}; known here: {', '.join(distances)}."
    return ""


def check_delivery(query: Query, mechanism: Mechanism) -> None:
    """Refuse, before anything is charged, noise so coarse that the total would have to be rounded first, and noise that would
    not take such a total (integer noise on fractions), which is seen on a zero, without data.
    """
    grid = _grid_of(mechanism)
    if grid is not None and grid > _WIDEST * contribution_grid(query):
        raise InvalidValueError(
            field="mechanism",
            found=mechanism,
            allowed="noise whose grid is at most 2**53 times the grid of the contributions",
            where=f"Query({query.name})",
            fix="Such noise hides everything: use less, or declare a coarser grid.",
        )
    whole = grid == 1.0 and contribution_grid(query) >= 1.0
    try:
        mechanism.release(np.zeros(query.shape, dtype=np.int64 if whole else np.float64), np.random.default_rng(0))
    except ValueError:
        raise InvalidValueError(
            field="mechanism",
            found=mechanism,
            allowed="noise that takes the query's totals" + ("" if whole else ", which are not whole numbers"),
            where=f"Query({query.name})",
            fix="Use noise for real numbers, or declare a grid of 1 where contributions are whole.",
        ) from None


def release_exactly(total: ExactSum, mechanism: Mechanism, rng: np.random.Generator) -> npt.NDArray[np.generic]:
    """The noisy total, as if the mechanism had been given the exact one (docs/proofs/exact-sums.md, theorem 4).

    A mechanism without a `grid` is given the nearest float64, which is the total itself up to 2**53 grid steps.
    """
    grid = _grid_of(mechanism)
    if grid is None:
        return mechanism.release(total.nearest(), rng)
    whole, rest = total.split(grid)
    value = rest.astype(np.int64) if grid == 1.0 <= total.grid else rest  # integer noise takes integers only
    noisy = mechanism.release(value, rng)
    if not whole.any():
        return noisy
    found = np.asarray(noisy)
    steps = np.array([int(step) for step in (found.astype(np.float64) / grid).ravel().tolist()], dtype=object)
    # without axes, numpy would hand back a Python integer
    moved: BigIntArray = np.asarray(steps.reshape(whole.shape) + whole, dtype=object).reshape(whole.shape)
    if found.dtype.kind == "i":
        most = np.iinfo(np.int64).max
        return np.asarray(np.clip(moved, -most, most)).astype(np.int64).view(type(noisy))
    return floats_of(moved, grid=grid).view(type(noisy))


def _grid_of(mechanism: Mechanism) -> float | None:
    grid = mechanism.grid if isinstance(mechanism, OnGrid) else None
    return grid if isinstance(grid, float) and is_power_of_two(grid) else None
