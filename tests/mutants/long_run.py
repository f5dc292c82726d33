"""Many seeds of the kit on right plugins, one process, resumable: every line of the output file is one check that was run.

    nice -n 15 python -m tests.mutants.long_run --seeds 200 --minutes 45 --out seeds.jsonl
    python -m tests.mutants.long_run --summary --out seeds.jsonl

Some laws take milliseconds and some ten seconds, so each check (a law on one plugin) has its share of the time, spread evenly
over the seeds: quick ones run at every seed, slow ones at as many as their share allows, beginning at different seeds. Those
laws that decide by chance get the larger shares, for they alone could raise a false alarm by it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path

if __name__ == "__main__":  # before numpy: one core is what was asked for
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
    sys.path.insert(0, str(Path(__file__).parents[2]))

from dpkit.testing.plugin_laws import laws_of_plugin
from dpkit.testing.run_laws import run_check
from tests.mutants.test_kit_quality import SEEDED, SEEDLESS, plugin

BY_CHANCE = (
    "draws_are_independent",
    "outputs_lie_on_a_fixed_grid",
    "sampler_follows_its_declared_law",
    "release_many_is_many_releases",
    "accuracy_covers_the_error",
    "noise_is_never_zero",
    "claims_survive_a_quick_audit",
    "claims_survive_the_audit",
    "no_release_is_the_value_itself",
    "long_vectors_have_fresh_noise",
    "claims_hold_at_the_ends_of_parameters",
    "claims_hold_for_large_values",
    "claims_hold_in_long_vectors",
)
WEIGHT = 6.0
"""The share of a law that decides by chance, against one that does not."""
STAGGER = 12


def records(path: Path) -> list[dict[str, object]]:
    """What was run so far; a line that was cut off is run again."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return found


def run(path: Path, *, seeds: int, minutes: float) -> None:
    """Go on where the file ends, and print a line a seed."""
    done, spent, runs = set(), defaultdict(float), defaultdict(int)
    for row in records(path):
        key = (row["plugin"], row["subject"], row["law"])
        done.add((row["seed"], *key))
        spent[key] += row["cpu"]
        runs[key] += 1
    shares = {key: WEIGHT if key[2] in BY_CHANCE else 1.0 for _, key in checks_at(0)}
    scale = 60.0 * minutes / sum(shares.values())
    start, failed = time.process_time(), sum(row["outcome"] == "failed" for row in records(path))
    with path.open("a", encoding="utf-8") as out:
        for seed in range(seeds):
            count = 0
            for index, (check, key) in enumerate(checks_at(seed)):
                allowed = scale * shares[key] * (seed + 1) / seeds
                each = spent[key] / runs[key] if runs[key] else 0.0
                if (seed, *key) in done or seed < index % STAGGER or (runs[key] and spent[key] + each > allowed):
                    continue
                before = time.process_time()
                result = run_check(check)
                cpu = time.process_time() - before
                spent[key] += cpu
                runs[key] += 1
                count += 1
                failed += result.outcome == "failed"
                row = dict(zip(("plugin", "subject", "law"), key, strict=True))
                row |= {"seed": seed, "outcome": result.outcome, "cpu": round(cpu, 4)}
                out.write(json.dumps(row | ({"detail": result.detail} if result.outcome == "failed" else {})) + "\n")
                out.flush()
            cpu = time.process_time() - start
            print(f"seed {seed + 1} of {seeds}: {count} checks, {failed} failed so far, {cpu / 60:.1f} CPU minutes", flush=True)


def checks_at(seed: int):
    """Every check of every right plugin whose laws depend on the seed."""
    for name in SEEDED:
        for check in laws_of_plugin(plugin("right_plugins", name), name=name.replace("_", "-"), seed=seed):
            if check.law not in SEEDLESS:
                yield check, (name, check.subject, check.law)


def summary(path: Path) -> str:
    """Runs, seeds, skips and false alarms of each law, and every alarm in words."""
    by_law = defaultdict(list)
    for row in records(path):
        by_law[row["law"]].append(row)
    lines = [f"{'law':52}{'runs':>7}{'seeds':>7}{'skipped':>9}{'failed':>8}{'CPU s':>9}"]
    for law, rows in sorted(by_law.items()):
        outcomes = [row["outcome"] for row in rows]
        numbers = (len(rows), len({row["seed"] for row in rows}), outcomes.count("skipped"), outcomes.count("failed"))
        lines.append(f"{law:52}" + "{:7}{:7}{:9}{:8}".format(*numbers) + f"{sum(row['cpu'] for row in rows):9.0f}")
    rows = records(path)
    alarms = [row for row in rows if row["outcome"] == "failed"]
    lines += [f"ALARM at seed {row['seed']}: {row['plugin']}, {row['law']}: {row['detail']}" for row in alarms]
    seeds = len({row["seed"] for row in rows})
    lines.append(
        f"{len(rows)} checks over {seeds} seeds and {len({row['plugin'] for row in rows})} plugins: {len(alarms)} alarms"
    )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """The command; exit code 1 where an alarm was raised."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=45.0, help="CPU minutes for all of it")
    parser.add_argument("--out", type=Path, required=True, help="JSON lines, appended to")
    parser.add_argument("--summary", action="store_true", help="only read the file")
    given = parser.parse_args(arguments)
    if not given.summary:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run(given.out, seeds=given.seeds, minutes=given.minutes)
    print(summary(given.out))
    return int(any(row["outcome"] == "failed" for row in records(given.out)))


if __name__ == "__main__":
    sys.exit(main())
