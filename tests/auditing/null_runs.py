"""True claims at their boundary, audited along one path: how often is one refuted?

python tests/auditing/null_runs.py "white box" --record out/null_runs.jsonl

One line a run is appended to the record, and a run that is recorded is not repeated: the script may be stopped and started
again. At the end it prints the count. The paths without samples draw parameters of mechanisms from the seed, not outputs:
what they could get wrong is arithmetic.
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpkit import (
    GDP,
    ApproxDP,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    PureDP,
    RandomizedResponse,
    SymmetricGaussian,
    audit,
    l1,
    l2,
    linf,
    records,
)
from dpkit.auditing.zoo import whole_zoo


@dataclass(frozen=True)
class Uniform:
    """Noise in [0, 1): moved by a tenth, a tenth of the outputs is impossible, which is delta exactly."""

    def release_many(self, value, n, rng):
        return np.asarray(value) + rng.random((n, *np.shape(value)))

    def log_density(self, output, value):
        moved = np.asarray(output) - np.asarray(value)
        return np.where((moved >= 0.0) & (moved < 1.0), 0.0, -np.inf)


LAPLACE = (Laplace(scale=1.0), PureDP(epsilon=1.0), (0.0, 1.0))
GAUSSIAN = (Gaussian(scale=1.0), GDP(mu=1.0), (0.0, 1.0))
MATRIX = (SymmetricGaussian(scale=1.0), GDP(mu=1.0), (np.zeros((2, 2)), np.diag([1.0, 0.0])))
RESPONSE = (RandomizedResponse(epsilon=0.5, categories=2), PureDP(epsilon=0.5), (np.int64(0), np.int64(1)))
COUNT = (DiscreteLaplace(scale=2.0), PureDP(epsilon=0.5), (np.int64(0), np.int64(1)))
UNIFORM = (Uniform(), ApproxDP(epsilon=0.0, delta=0.1), (0.0, 0.1))
SAMPLED = {
    "white box": (LAPLACE, GAUSSIAN, MATRIX, RESPONSE, UNIFORM),
    "noise law": (LAPLACE, GAUSSIAN, MATRIX, COUNT, RESPONSE),
    "support": (UNIFORM,),
    "floating point": (LAPLACE, GAUSSIAN),
}
EXACT = {
    "exact enumeration": (
        lambda scale, step, size: (DiscreteLaplace(scale=scale), l1(step)),
        lambda scale, step, size: (DiscreteGaussian(scale=scale), l2(step)),
        lambda scale, step, size: (RandomizedResponse(epsilon=scale, categories=size), records(1)),
        lambda scale, step, size: (Exponential(scale=scale), linf(scale * step / size)),
    ),
    "exact profile": (
        lambda scale, step, size: (Laplace(scale=scale), l1(scale * step / size)),
        lambda scale, step, size: (Gaussian(scale=scale), l2(scale * step / size)),
    ),
}
RIGHT = tuple(entry for entry in whole_zoo() if not entry.broken and entry.plugin in ("dpkit", "irls"))
PATHS = ("black box", *SAMPLED, *EXACT)


def one_run(path, seed, *, confidence, samples):
    """Whether a claim that holds is refuted; the seed chooses the case."""
    if path == "black box":
        certificates = RIGHT[seed % len(RIGHT)].audits(confidence=confidence, samples=samples, rng=seed)
    elif path in EXACT:
        rng = np.random.default_rng(seed)
        case = EXACT[path][seed % len(EXACT[path])]
        mechanism, at = case(float(np.exp(rng.uniform(-1.0, 3.0))), int(rng.integers(1, 5)), int(rng.integers(2, 6)))
        certificates = audit(mechanism, at=at, confidence=confidence, samples=2, rng=seed, falsifiers=[path])
    else:
        law, claim, pair = SAMPLED[path][seed % len(SAMPLED[path])]
        certificates = audit(
            law.release_many,
            claim,
            pair,
            confidence,
            samples,
            seed,
            density=law,
            falsifiers=[path],
            floating_point=path == "floating point",
        )
    assert path in {name for one in certificates for name in (*one.tried, one.falsifier)}, "the path was not taken"
    return any(one.refuted for one in certificates)


def refutations(path, runs, *, confidence, samples, first_seed):
    """How many of the runs refute a claim that holds."""
    return sum(one_run(path, first_seed + i, confidence=confidence, samples=samples) for i in range(runs))


def recorded(record, key):
    """The runs that are in the record already: seed to verdict."""
    if not record.exists():
        return {}
    lines = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    return {line["seed"]: line["refuted"] for line in lines if [line[name] for name in key] == list(key.values())}


def main():
    """Run what is not recorded, and print the count."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", choices=PATHS)
    parser.add_argument("--runs", type=int, default=2_000)
    parser.add_argument("--samples", type=int, default=1_000)
    parser.add_argument("--first-seed", type=int, default=70_000)
    parser.add_argument("--confidence", type=float, default=0.999)
    parser.add_argument("--record", type=Path, required=True)
    asked = parser.parse_args()
    key = {"path": asked.path, "samples": asked.samples, "confidence": asked.confidence}
    done = recorded(asked.record, key)
    seeds = range(asked.first_seed, asked.first_seed + asked.runs)
    asked.record.parent.mkdir(parents=True, exist_ok=True)
    with asked.record.open("a", encoding="utf-8") as lines:
        for seed in seeds:
            if seed not in done:
                done[seed] = one_run(asked.path, seed, confidence=asked.confidence, samples=asked.samples)
                lines.write(json.dumps({**key, "seed": seed, "refuted": done[seed]}) + "\n")
                lines.flush()
    print(f"{asked.path}: {sum(done[seed] for seed in seeds)} of {asked.runs} refuted, {asked.samples} samples each")


if __name__ == "__main__":
    main()
