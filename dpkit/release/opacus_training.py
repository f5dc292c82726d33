"""Opacus: a `Training` as its accountant, and an engine that refuses a loader which does not sample as it declares.

Opacus calls its accountant after the noise is added and before the model is changed: what is refused never reaches the model.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpkit.errors import InvalidValueError, MissingExtraError
from dpkit.interchange.price_runs import price

if TYPE_CHECKING:
    from dpkit.release.training import Training

_SAMPLERS = ("UniformWithReplacementSampler", "DistributedUniformWithReplacementSampler")
"""Opacus' samplers that draw each record independently: Poisson samples, whatever their names say."""

_SHARED, _CUT = "DistributedSampler", "BatchSampler"
_WHOLE = ("RandomSampler", "SequentialSampler", _SHARED)
"""torch's samplers that draw every record once."""

_NEAR = 1e-9


def _opacus(module: str) -> Any:
    try:
        return import_module(f"opacus.{module}")
    except ImportError:
        raise MissingExtraError(package="opacus", purpose="Training with Opacus", extra="opacus") from None


def check_loader(loader: object, *, rate: float) -> None:
    """Refuse a loader whose batches are not Poisson samples of this rate: shuffled, cut, weighted or full batches are not."""
    sampler = getattr(loader, "batch_sampler", None)
    kind = type(sampler).__name__
    if kind not in _SAMPLERS:
        raise InvalidValueError(
            field="data_loader",
            found=f"batches by {kind}",
            allowed="Poisson samples: each record drawn independently",
            where="Training",
            fix="Leave `poisson_sampling=True`, or price what the loader does (ShuffledEpochs, FixedBatch).",
        )
    declared = getattr(sampler, "sample_rate", None)
    if not isinstance(declared, float | int) or not abs(declared - rate) <= _NEAR * rate:
        allowed = f"the rate {declared} with which it samples"
        raise InvalidValueError(field="rate", found=rate, allowed=allowed, where="Training")


def check_sampler(loader: Any) -> None:
    """Refuse a loader whose own sampler Opacus would drop: it makes Poisson samples of the whole dataset, at one batch in
    `len(loader)`, whatever the loader was to draw.
    """
    sampler: Any = getattr(loader, "sampler", None)
    batches = type(getattr(loader, "batch_sampler", None)).__name__
    kind, drawn = type(sampler).__name__, len(getattr(loader, "dataset", ()))
    whole = kind in _WHOLE and not getattr(sampler, "replacement", False) and (kind == _SHARED or len(sampler) == drawn)
    if not whole or batches not in (_CUT, *_SAMPLERS):
        raise InvalidValueError(
            field="data_loader",
            found=f"records drawn by {kind}, in batches by {batches}",
            allowed="each record of the dataset once in an epoch, which Opacus turns into Poisson samples of that rate",
            where="Training",
            fix="Leave `sampler` and `batch_sampler` out. Weights of records belong into the loss, within the clipping norm.",
        )


def training_accountant(training: Training, name: str = "dpkit") -> Any:
    """A class of Opacus accountants, all of which are this one run; paying for loaders that `check` has seen alone."""
    base = _opacus("accountants").IAccountant

    class TrainingAccountant(base):  # type: ignore[misc, valid-type]
        """Pays each step from the run's budget; raises `BudgetExceededError` before the model is changed."""

        def __init__(self) -> None:
            self.training = training
            self._checked: set[float] = set()

        def check(self, loader: object) -> None:
            """Refuse a loader that does not draw Poisson samples; steps at the rate of one that does may be paid."""
            rate = getattr(getattr(loader, "batch_sampler", None), "sample_rate", math.nan)
            check_loader(loader, rate=rate)
            self._checked.add(rate)

        def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[Any], None]:
            """What Opacus calls before each step: it says a rate, whatever the loader does, and adds batches up as one."""

            def pay(optimizer: Any) -> None:
                if not any(abs(rate - sample_rate) <= _NEAR * sample_rate for rate in self._checked):
                    raise InvalidValueError(
                        field="data_loader",
                        found=f"steps at the rate {sample_rate} of a loader that was not checked",
                        allowed="Poisson samples: each record drawn independently",
                        where="Training",
                        fix="Call `engine.accountant.check(loader)` with the loader that `make_private` gave, or use "
                        "`training.opacus_engine()`.",
                    )
                if optimizer.accumulated_iterations != 1:
                    raise InvalidValueError(
                        field="accumulated batches",
                        found=optimizer.accumulated_iterations,
                        allowed="1: a record may be in several of them, and moves their sum by more than the noise is for",
                        where="Training",
                        fix="Use Opacus' BatchMemoryManager, which cuts one batch, or a larger batch.",
                    )
                self.step(noise_multiplier=optimizer.noise_multiplier, sample_rate=sample_rate)

            return pay

        @property
        def history(self) -> list[tuple[float, float, int]]:
            """What was paid, in all processes."""
            return training.history

        def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
            training.step(noise_multiplier=noise_multiplier, rate=sample_rate)

        def get_epsilon(self, delta: float, *args: object, **kwargs: object) -> float:
            """The price of this history, had it been fixed in advance. What holds whatever was decided is the budget."""
            return price(training.event, delta=delta, neighbours=training.neighbours).guarantee.epsilon(delta=delta)

        def __len__(self) -> int:
            return training.steps

        @classmethod
        def mechanism(cls) -> str:
            return name

        def state_dict(self, destination: Any = None) -> Any:
            """For a checkpoint: the ledger is the truth, this is a note beside it."""
            found = {} if destination is None else destination
            found["history"], found["mechanism"] = list(self.history), name
            return found

        def load_state_dict(self, state_dict: Any) -> None:
            """A checkpoint may be older than the ledger, never newer: it would have steps that nobody paid."""
            noted = sum(int(steps) for _, _, steps in state_dict.get("history", ()))
            if noted > training.steps:
                allowed = f"at most the {training.steps} steps that were paid"
                raise InvalidValueError(field="history", found=noted, allowed=allowed, where="Training")

    return TrainingAccountant


def register_training(training: Training, name: str = "dpkit") -> None:
    """Register the run under a name, so that `PrivacyEngine(accountant=name)` pays from it.

    Such an engine never sees what its loader does: nothing is paid before `engine.accountant.check(loader)`.
    """
    _opacus("accountants.registry").register_accountant(name, training_accountant(training, name), force=True)


def training_engine(training: Training, **options: Any) -> Any:
    """A `PrivacyEngine` with this run as its accountant, whose loaders are checked."""
    base = _opacus("privacy_engine").PrivacyEngine

    class TrainingEngine(base):  # type: ignore[misc, valid-type]
        """Refuses `poisson_sampling=False`, and any loader that does not sample so."""

        def __init__(self) -> None:
            super().__init__(**options)
            self.accountant = training_accountant(training)()

        def make_private(self, **given: Any) -> Any:
            if not given.get("poisson_sampling", True):
                allowed = "True: what is paid for is a Poisson sample"
                raise InvalidValueError(field="poisson_sampling", found=False, allowed=allowed, where="Training")
            check_sampler(given["data_loader"])
            rate = 1 / len(given["data_loader"])
            made = super().make_private(**given)
            check_loader(made[-1], rate=rate)
            self.accountant.check(made[-1])
            return made

        def make_private_with_epsilon(self, **given: Any) -> Any:
            # Opacus would try histories on its accountant, and this one pays
            raise InvalidValueError(
                field="target_epsilon",
                found=given.get("target_epsilon"),
                allowed="make_private with a noise multiplier: the budget of the run decides how many steps it pays for",
                where="Training",
                fix="Find one by dpkit.calibrate, and ask `training.fits(noise_multiplier=, rate=, steps=)`.",
            )

    return TrainingEngine()
