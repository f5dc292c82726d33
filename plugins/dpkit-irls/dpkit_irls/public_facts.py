"""Public facts of a regression, checked: columns, bounds and sizes, from parameters and the setting. Nothing reads data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from dpkit import InvalidValueError, Setting, UnknownNameError
from dpkit.authoring import in_full
from dpkit_irls.loss import ROBUST, Family
from dpkit_irls.moments.moment_query import Scaling
from dpkit_irls.rows.dummies import entry_names, levels_of
from dpkit_irls.rows.fixed_point import MOST_COLUMNS

MOST_CLASSES = 100
"""Of a target."""
SMALLEST, LARGEST = 1e-30, 1e30
"""Of numbers, as far as a fit can square them."""


def checked_columns(
    setting: Setting, features: Sequence[str], target: str, *, where: str, family: Family = ROBUST
) -> tuple[str, ...]:
    """Features, then the target: declared, distinct, and not too many; the target is what the family takes."""
    chosen = (*features, target)
    for name in chosen:
        if name not in setting.columns:
            raise UnknownNameError(kind="column", name=name, known=setting.columns)
    if not features or len(set(chosen)) != len(chosen):
        raise InvalidValueError(
            field="features", found=tuple(features), allowed="distinct columns, not the target", where=where
        )
    _check_target(setting, target, family, where=where)
    entries = len(entry_names(setting, features))
    if not 1 <= entries < MOST_COLUMNS:
        allowed = f"1 to {MOST_COLUMNS - 1} numbers, truth values and levels beyond each category's first"
        raise InvalidValueError(field="features", found=entries, allowed=allowed, where=where)
    return chosen


def checked_ranges(setting: Setting, columns: Sequence[str], *, where: str) -> None:
    """Ranges of numbers whose squares are still numbers, with room for those of coefficients."""
    for name in columns:
        low, high = setting.range(name)
        if setting.levels(name) or (max(abs(low), abs(high)) <= LARGEST and (high - low >= SMALLEST or high == low)):
            continue
        raise InvalidValueError(
            field="features" if name != columns[-1] else "target",
            found=f"{name}, from {in_full(low)} to {in_full(high)}",
            allowed=f"numbers up to {LARGEST:g}, in a range at least {SMALLEST:g} wide",
            where=where,
            fix="Give the column in another unit.",
        )


def _check_target(setting: Setting, target: str, family: Family, *, where: str) -> None:
    levels, (low, high) = setting.levels(target), setting.range(target)
    if family.target == "number" and levels:
        fix = f"For a target of {len(levels)} levels run `{'logistic' if len(levels) == 2 else 'multinomial'}`."
        allowed = "a column of numbers, not a category"
        raise InvalidValueError(field="target", found=target, allowed=allowed, where=where, fix=fix)
    if family.target == "count" and (levels or low < 0.0 or high <= 0.0):
        allowed = "a column of counts: numbers of at least 0"
        found = f"{target}, of {len(levels)} levels" if levels else f"{target}, from {in_full(low)} to {in_full(high)}"
        raise InvalidValueError(field="target", found=found, allowed=allowed, where=where)
    if family.target == "yes or no" and (low, high) != (0.0, 1.0):
        found = f"{target}, of {len(levels)} levels" if levels else f"{target}, from {in_full(low)} to {in_full(high)}"
        allowed = "a column that is declared boolean, as a category of two levels, or as a number from 0 to 1"
        fix = "For a target of more levels run `multinomial`." if levels else ""
        raise InvalidValueError(field="target", found=found, allowed=allowed, where=where, fix=fix)
    if family.target == "class" and not 2 <= len(levels) <= MOST_CLASSES:
        found = f"{target}, of {len(levels)} levels" if levels else f"{target}, which is no category"
        allowed = f"a category of 2 to {MOST_CLASSES} declared levels, which are the classes"
        raise InvalidValueError(field="target", found=found, allowed=allowed, where=where)


def checked_start(start: Sequence[float], width: int, *, intercept: bool, where: str) -> tuple[float, ...]:
    """Public coefficients to start from: none, or as many as there are."""
    if start and (len(start) != width or not all(map(math.isfinite, start))):
        raise InvalidValueError(
            field="start",
            found=f"{len(start)} numbers",
            allowed=f"{width} finite numbers: one an entry{', then the intercept' if intercept else ''}",
            where=where,
        )
    return tuple(map(float, start))


def scaling_of(
    setting: Setting,
    features: Sequence[str],
    target: str,
    *,
    x_bound: float | None,
    y_bound: float | None,
    intercept: bool,
    where: str,
) -> Scaling:
    """Bounds as given, or the largest that the declared ranges allow."""
    columns = checked_columns(setting, features, target, where=where)
    # a category has one entry that is 1, or none: as a whole it adds 1 to the squared norm
    widest = [1.0 if setting.levels(name) else max(map(abs, setting.range(name))) for name in columns]
    largest = max(widest[:-1])
    norm = largest * math.sqrt(math.fsum((entry / largest) ** 2 for entry in widest[:-1])) if largest else 1.0
    return Scaling(
        columns=columns,
        x_bound=norm * (1.0 + 1e-12) if x_bound is None else x_bound,
        y_bound=(widest[-1] or 1.0) if y_bound is None else y_bound,
        intercept=intercept,
        entries=entry_names(setting, features),
        levels=levels_of(setting, features),
    )


def checked_shares(
    setting: Setting, features: Sequence[str], shares: Mapping[str, Sequence[float]] | None, *, where: str
) -> dict[str, tuple[float, ...]]:
    """Public guesses of how rows are spread over the levels of categories: one a level, which add up to 1."""
    found = {} if shares is None else {name: tuple(guesses) for name, guesses in shares.items()}
    categories = [name for name in features if setting.levels(name)]
    for name, guesses in found.items():
        if name not in categories:
            allowed = f"of categories among the features: {', '.join(categories) or 'there is none'}"
            raise InvalidValueError(field="shares", found=name, allowed=allowed, where=where)
        levels = len(setting.levels(name))
        if len(guesses) != levels or abs(math.fsum(guesses) - 1.0) > 1e-6:
            raise InvalidValueError(
                field="shares",
                found=f"{len(guesses)} shares of {name!r} that add up to {in_full(math.fsum(guesses))}",
                allowed=f"{levels} shares, one a level, that add up to 1",
                where=where,
            )
    return found


def checked_deviations(
    setting: Setting, columns: Sequence[str], deviations: Mapping[str, float] | None, *, where: str, family: Family
) -> dict[str, float]:
    """Public guesses of how much numbers vary: at most half of what is declared, as no number between bounds varies more."""
    for name, guess in _of_numbers("deviations", setting, columns, deviations, where=where, family=family).items():
        low, high = setting.range(name)
        if guess > 0.5 * (high - low):
            allowed = f"at most half of the declared range of {name!r}: {in_full(0.5 * (high - low))}"
            raise InvalidValueError(field="deviations", found=guess, allowed=allowed, where=where)
    return dict(deviations or {})


def checked_middles(
    setting: Setting, columns: Sequence[str], middles: Mapping[str, float] | None, *, where: str, family: Family
) -> dict[str, float]:
    """Public guesses of where numbers lie: within what is declared."""
    for name, guess in _of_numbers("middles", setting, columns, middles, where=where, family=family).items():
        low, high = setting.range(name)
        if not low <= guess <= high:
            allowed = f"within the declared range of {name!r}: {in_full(low)} to {in_full(high)}"
            raise InvalidValueError(field="middles", found=guess, allowed=allowed, where=where)
    return dict(middles or {})


def _of_numbers(
    field: str, setting: Setting, columns: Sequence[str], guesses: Mapping[str, float] | None, *, where: str, family: Family
) -> Mapping[str, float]:
    """Guesses of numbers among the columns; of the target, where it is any number."""
    numbers = [name for name in columns if not setting.levels(name)]
    if family.target != "number" and columns[-1] in numbers:
        numbers.remove(columns[-1])
    for name in guesses or {}:
        if name not in numbers:
            allowed = f"of numbers among the columns: {', '.join(numbers) or 'there is none'}"
            raise InvalidValueError(field=field, found=name, allowed=allowed, where=where)
    return guesses or {}


def public_size(setting: Setting, *, where: str) -> int:
    """The declared number of rows, where it is public."""
    if setting.size is None or not setting.size_is_public:
        raise InvalidValueError(
            field="rows",
            found="a number of rows that is not public",
            allowed="public: the method divides by it",
            where=where,
            fix="Declare the number of rows, with neighbours: replace-one and unit: row; or run `irls`, which needs none.",
        )
    return setting.size
