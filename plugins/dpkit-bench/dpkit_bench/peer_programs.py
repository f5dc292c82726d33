"""Peers' own programs, where they can be imported: DP-Sniper, DP-Auditorium, StatDP. None of their code is in here.

They are not on the package index: clone them into one folder, and name it. A program whose packages are missing is left out,
and what is missing is said. Each is asked as its authors' examples do. Choices that were open are made in its favour: both
directions are tried at the full error probability for the samples of one.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
from abc import abstractmethod
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from dpkit import InvalidValueError
from dpkit.auditing.betting.profile import Point
from dpkit.authoring import Array
from dpkit_bench.audit_peers import Peer, Run

_STATDP_ENTRIES = 2


class Program(Peer):
    """A peer's own code: its place in a folder of clones, its address, and what it must be able to import."""

    place: str
    address: str
    modules: tuple[str, ...]
    hidden: tuple[str, ...] = ()
    """What it must not import though it is there."""

    def refuted(self, runs: Sequence[Run], point: Point, *, alpha: float, seed: int) -> list[bool]:
        """One run after another; it may say what it likes while it runs."""
        found = []
        for number, run in enumerate(runs):
            with contextlib.redirect_stdout(io.StringIO()):
                self.begin(seed + number)
                found.append(any(self.one_way(sides, point, alpha) for sides in (run, run[::-1])))
        return found

    def begin(self, seed: int) -> None:
        """Seed what the program draws by itself."""
        np.random.seed(seed)  # what these programs draw from

    @abstractmethod
    def one_way(self, run: Run, point: Point, alpha: float) -> bool:
        """Whether the first side's outputs are found too likely."""


class Served:
    """A mechanism, as a program sees it, that answers with outputs which were drawn before, each once."""

    def __init__(self, run: Run) -> None:
        self._sides = list(run)
        self._given = [0, 0]

    def m(self, side: int, n_samples: int = 1) -> Array:
        """The next outputs of a side."""
        start = self._given[side]
        self._given[side] += n_samples
        found = self._sides[side][start : start + n_samples]
        if len(found) < n_samples:
            raise RuntimeError("The program asked for more outputs than its budget has.")
        return found


class SniperProgram(Program):
    """DP-Sniper with its logistic regression, c = 0.01, as in its authors' experiments: a fifth of the budget for each part."""

    name = "DP-Sniper"
    place, address = "dp-sniper", "https://github.com/eth-sri/dp-sniper"
    modules = ("dpsniper.attack.dpsniper", "dpsniper.classifiers.classifier_factory", "dpsniper.probability.estimators")
    hidden = ("tensorflow",)  # its log would import it beside torch, and one process does not bear both

    def sizes(self, budget: int) -> int:
        """Three parts of each side, of which one direction uses five in all."""
        return 3 * self._part(budget)

    def suits(self, outputs: Array, point: Point) -> bool:
        """Pure claims."""
        return point.delta == 0.0

    @staticmethod
    def _part(budget: int) -> int:
        part = budget // 5
        return part if part < 10_000 else part // 1_000 * 1_000  # what it asks for

    def begin(self, seed: int) -> None:
        """Its networks are torch's."""
        super().begin(seed)
        importlib.import_module("torch").manual_seed(seed)

    def one_way(self, run: Run, point: Point, alpha: float) -> bool:
        """The lower bound that it gives, against the claim."""
        sniper, factories, estimators = (importlib.import_module(name) for name in self.modules)
        optimisers = importlib.import_module("dpsniper.classifiers.torch_optimizer_factory")
        settings = importlib.import_module("dpsniper.search.ddconfig")
        part = len(run[0]) // 3
        config = settings.DDConfig(c=0.01, n_train=part, n=part, n_check=part, confidence=1.0 - alpha, n_processes=1)
        factory = factories.LogisticRegressionFactory(
            in_dimensions=run[0].shape[1],
            optimizer_factory=optimisers.SGDOptimizerFactory(learning_rate=0.3, momentum=0.3, step_size=500),
            regularization_weight=0.001,
            epochs=10,
        )
        served: Any = Served(run)
        attack = sniper.DPSniper(served, factory, config).best_attack(0, 1)
        counted = estimators.EpsEstimator(estimators.PrEstimator(served, part, config))
        return bool(counted.compute_eps_estimate(0, 1, attack)[1] > point.epsilon)


class _Auditorium(Program):
    place, address = "differential-privacy/python/dp_auditorium", "https://github.com/google/differential-privacy"

    def sizes(self, budget: int) -> int:
        """Half of each side."""
        return budget // 2

    def one_way(self, run: Run, point: Point, alpha: float) -> bool:
        """By its lower bound on the divergence."""
        tester = self._tester(run, point)
        return bool(tester.reject_property(tester.estimate_lower_bound(run[0], run[1], alpha)))

    @abstractmethod
    def _tester(self, run: Run, point: Point) -> Any:
        """The tester of a claim."""

    @staticmethod
    def _claim(point: Point) -> Any:
        properties = importlib.import_module("dp_auditorium.configs.privacy_property")
        return properties.ApproximateDp(epsilon=point.epsilon, delta=point.delta)


class HockeyStickProgram(_Auditorium):
    """DP-Auditorium's hockey-stick tester with its default network and training."""

    name = "DP-Auditorium, hockey stick"
    modules = ("dp_auditorium.testers.hockey_stick_tester", "dp_auditorium.configs.property_tester_config")

    def begin(self, seed: int) -> None:
        """Its networks are Keras'."""
        super().begin(seed)
        keras = importlib.import_module("tensorflow").keras
        keras.backend.clear_session()
        keras.utils.set_random_seed(seed)

    def _tester(self, run: Run, point: Point) -> Any:
        testers, configs = (importlib.import_module(name) for name in self.modules)
        training = testers.make_default_hs_training_config()
        config = configs.HockeyStickPropertyTesterConfig(training_config=training, approximate_dp=self._claim(point))
        model = testers.make_default_hs_base_model()
        model.build((None, run[0].shape[1]))
        return testers.HockeyStickPropertyTester(config=config, base_model=model)


class HistogramProgram(_Auditorium):
    """DP-Auditorium's histogram tester; ten bins between the pooled percentiles 2 and 98, which it must be given."""

    name = "DP-Auditorium, histogram"
    modules = ("dp_auditorium.testers.histogram_tester", "dp_auditorium.configs.property_tester_config")

    def suits(self, outputs: Array, point: Point) -> bool:
        """One number."""
        return bool(outputs.shape[1] == 1)

    def _tester(self, run: Run, point: Point) -> Any:
        testers, configs = (importlib.import_module(name) for name in self.modules)
        low, high = np.percentile(np.concatenate(run), (2.0, 98.0))
        config = configs.HistogramPropertyTesterConfig(
            test_discrete_mechanism=False,
            histogram_size=10,
            min_value=float(low),
            max_value=float(max(high, low + 1e-9)),
            approximate_dp=self._claim(point),
        )
        return testers.HistogramTester(config=config)

    def one_way(self, run: Run, point: Point, alpha: float) -> bool:
        """It takes one number an output."""
        return super().one_way((run[0][:, 0], run[1][:, 0]), point, alpha)


class StatDPProgram(Program):
    """StatDP: events by a sixth of the budget, and a test of the best by the rest, as its defaults share them."""

    name = "StatDP"
    place, address = "statdp", "https://github.com/cmla-psu/statdp"
    modules = ("statdp.selectors", "statdp.hypotest")

    def sizes(self, budget: int) -> int:
        """Half of each side."""
        return budget // 2 // 6 * 6

    def suits(self, outputs: Array, point: Point) -> bool:
        """Pure claims about few numbers: it tries every product of their events."""
        return point.delta == 0.0 and outputs.shape[1] <= _STATDP_ENTRIES

    def refuted(self, runs: Sequence[Run], point: Point, *, alpha: float, seed: int) -> list[bool]:
        """It tries both directions by itself."""
        found = []
        for number, run in enumerate(runs):
            self.begin(seed + number)
            found.append(self.one_way(run, point, alpha))
        return found

    def one_way(self, run: Run, point: Point, alpha: float) -> bool:
        """By its p-value."""
        from multiprocessing.pool import ThreadPool

        selectors, tests = (importlib.import_module(name) for name in self.modules)
        part = len(run[0]) // 6
        if part < 2:
            return False
        served = Served(run)
        extra = [side[-1] for side in run]  # one output is asked for its type alone

        def algorithm(prng: object, queries: int) -> Any:
            row = served.m(queries)[0] if served._given[queries] < len(run[queries]) else extra[queries]
            return float(row[0]) if len(row) == 1 else tuple(float(entry) for entry in row)

        with ThreadPool(1) as pool:
            chosen = selectors.select_event(algorithm, ((0, 1, {}),), point.epsilon, part, pool, quiet=True)
            value = tests.hypothesis_test(algorithm, *chosen, point.epsilon, 5 * part - 2, pool, report_p2=False)
        return bool(value <= alpha)


PROGRAMS: tuple[type[Program], ...] = (SniperProgram, HockeyStickProgram, HistogramProgram, StatDPProgram)
ELSEWHERE = (
    "Delta-Siege: not run. It imports python-dp 1.1.1 and opendp 0.6.1, which do not install on a Python that dpkit runs on.",
)


class ApartProgram(Peer):
    """A program in a process of its own: what these programs import does not bear each other."""

    def __init__(self, program: type[Program], folder: Path | None) -> None:
        self.name = program.name
        self._program, self._folder = program, folder
        self._process = ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn"))

    def missing(self) -> str:
        """Why the program cannot run; nothing where it can."""
        return self._process.submit(_missing, self._program, self._folder).result()

    def sizes(self, budget: int) -> int:
        return self._program().sizes(budget)

    def suits(self, outputs: Array, point: Point) -> bool:
        return self._program().suits(outputs, point)

    def refuted(self, runs: Sequence[Run], point: Point, *, alpha: float, seed: int) -> list[bool]:
        return self._process.submit(_refuted, self._program, self._folder, runs, point, alpha, seed).result()

    def close(self) -> None:
        """End the process."""
        self._process.shutdown()


def find_programs(folder: Path | None, *, only: Sequence[str] = ()) -> tuple[list[ApartProgram], list[str]]:
    """The programs that can be imported, with the clones in this folder; and of each other what is missing."""
    known = [program.name for program in PROGRAMS]
    for name in only:
        if name not in known:
            raise InvalidValueError(field="--program", found=name, allowed=", ".join(known), where="dpkit bench audit")
    found: list[ApartProgram] = []
    left_out: list[str] = [f"{name}: left out, since it was not asked for." for name in known if only and name not in only]
    for program in PROGRAMS if not only else [one for one in PROGRAMS if one.name in only]:
        apart = ApartProgram(program, folder)
        why = apart.missing()
        if why:
            apart.close()
            asked = f"git clone {program.address} into the folder of --programs, and install what it imports"
            left_out.append(f"{program.name}: left out ({why}). {asked}.")
        else:
            found.append(apart)
    return found, [*left_out, *ELSEWHERE]


def _missing(program: type[Program], folder: Path | None) -> str:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    clone = None if folder is None else folder / program.place
    if clone is not None and clone.is_dir() and str(clone) not in sys.path:
        sys.path.append(str(clone))
    sys.modules.update(dict.fromkeys(program.hidden))  # type: ignore[arg-type]
    try:
        for name in program.modules:
            importlib.import_module(name)
    except ImportError as error:
        return str(error)
    return ""


def _refuted(
    program: type[Program], folder: Path | None, runs: Sequence[Run], point: Point, alpha: float, seed: int
) -> list[bool]:
    _missing(program, folder)
    return program().refuted(runs, point, alpha=alpha, seed=seed)
