"""Fits add up: a warning where the same rows are fitted again, or where scikit-learn is about to fit many times.

What is looked at is public: which object was given, and who called. A warning says nothing of the data and comes before any
charge, so that `warnings.simplefilter("error", SpendsAgainWarning)` stops the fit for free.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import warnings
import weakref
from typing import Any

from dpkit.authoring import in_full

ONCE = ("base", "pipeline", "compose", "utils")
"""Parts of scikit-learn that fit an estimator once, for whoever called them. All others fit folds, grids or ensembles."""

_fitted: dict[int, weakref.ref[Any]] = {}
_lock = threading.Lock()


class SpendsAgainWarning(UserWarning):
    """The same rows are paid for again."""


def warn_of_spending_again(rows: object, *, charged: bool, seeded: bool, epsilon: float, stacklevel: int) -> None:
    """Warn where this fit is one of several on the same rows. `charged`: a ledger adds them up. `seeded`: a simulation."""
    caller = _repeating_caller()
    if seeded:
        if caller == "sklearn.ensemble":  # which sets `random_state` by itself
            warnings.warn(
                "sklearn.ensemble gives every estimator a seed: its fits are simulations, and protect nobody.",
                SpendsAgainWarning,
                stacklevel=stacklevel,
            )
    elif caller:
        adds_up = "Every fit is charged to the ledger." if charged else "Nothing adds the fits up: give a `ledger`."
        warnings.warn(
            f"{caller} fits this estimator several times, and every fit spends epsilon = {in_full(epsilon)} again. Scores of "
            f"held-out rows are computed without noise: they are not private. {adds_up} Choose parameters on public or made-up "
            "data.",
            SpendsAgainWarning,
            stacklevel=stacklevel,
        )
    elif not charged and _seen_before(rows):
        warnings.warn(
            f"These rows were fitted before, without a ledger: this fit spends epsilon = {in_full(epsilon)} again, and the "
            "losses of all fits add up. Give a `ledger`, which keeps the total.",
            SpendsAgainWarning,
            stacklevel=stacklevel,
        )


class LearnedFromRowsWarning(UserWarning):
    """Something before the fit has read the same rows, without noise."""


def warn_of_unpaid_steps(*, stacklevel: int) -> None:
    """Warn where this fit is the end of a pipeline of scikit-learn with steps that learnt from the same rows, or is of targets
    that were transformed by them: what they learnt has no noise, and nobody pays for it.
    """
    names = _learning_steps()
    if names:
        warnings.warn(
            f"{', '.join(names)} learnt from the rows of this fit, without noise: what is learnt there is not private, and the "
            "guarantee of the fit is not that of the pipeline. No scaler is needed: scales are found privately. Declare "
            "`bounds`, and `levels` for texts, from public knowledge instead.",
            LearnedFromRowsWarning,
            stacklevel=stacklevel,
        )


def _learning_steps() -> list[str]:
    """What scikit-learn fitted before, by the names of the classes, where it called."""
    frame = sys._getframe(1)
    found: list[str] = []
    while frame is not None:  # type: ignore[redundant-expr, unused-ignore]
        part = str(frame.f_globals.get("__name__", ""))
        owner = frame.f_locals.get("self")
        if part == "sklearn.pipeline" and frame.f_code.co_name.startswith("fit"):
            found += [name for _, step in getattr(owner, "steps", [])[:-1] for name in _learning(step)]
        elif part == "sklearn.compose._target" and getattr(owner, "transformer", None) is not None:
            found += _learning(getattr(owner, "transformer", None))
        frame = frame.f_back  # type: ignore[assignment]
    return list(dict.fromkeys(found))


def _learning(step: Any) -> list[str]:
    """A transformer, or those that it is made of, by the names of the classes; none that says it does not learn."""
    if step is None or isinstance(step, str):
        return []
    inside = getattr(step, "transformers", None) or getattr(step, "steps", None) or getattr(step, "transformer_list", None)
    if inside is not None:
        return [name for each in inside for name in _learning(each[1])]
    try:
        learns = bool(step.__sklearn_tags__().requires_fit)
    except (AttributeError, TypeError, ValueError):
        learns = True
    return [type(step).__name__] if learns else []


def _repeating_caller() -> str:
    """The part of scikit-learn that called, where it fits more than once; across processes as well."""
    frame = sys._getframe(1)
    while frame is not None:  # type: ignore[redundant-expr, unused-ignore]
        parts = str(frame.f_globals.get("__name__", "")).split(".")
        if parts[0] == "sklearn" and len(parts) > 1 and parts[1] not in ONCE:
            return ".".join(parts[:2])
        frame = frame.f_back  # type: ignore[assignment]
    return ""


def _seen_before(rows: object) -> bool:
    """Whether this very object was fitted before in this process. Lists cannot be remembered."""
    key = id(rows)
    with _lock:
        known = _fitted.get(key)
        if known is not None and known() is rows:
            return True
        with contextlib.suppress(TypeError):
            _fitted[key] = weakref.ref(rows, lambda reference: _forget(key, reference))
        return False


def _forget(key: int, reference: weakref.ref[Any]) -> None:
    """No lock: it may run while this thread holds it."""
    if _fitted.get(key) is reference:
        _fitted.pop(key, None)
