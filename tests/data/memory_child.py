"""A pass over a file in a process of its own, for the tests of memory: prints how much memory it needed, and the total.

`python memory_child.py SMALL LARGE CACHE COLUMNS LIMIT`: SMALL is read first, for what code and libraries need. The address
space is limited to LIMIT bytes where that is not 0.
"""

import json
import resource
import sys

if int(sys.argv[-1]):  # before libraries reserve what they may not have
    resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[-1]), int(sys.argv[-1])))

import numpy as np

import dpkit
from dpkit.data.summing.block_engine import ENGINES
from dpkit.numerics.exact_sums import truncated

STEP = 2.0**-20


def moments(names):
    def rows(block):
        x = truncated(block, grid=STEP)
        return x[:, :, None] * x[:, None, :]

    def block_sum(block):
        x = truncated(block, grid=STEP)
        return x.T @ x

    return dpkit.Query(
        name="moments",
        rows=rows,
        block_sum=block_sum,
        shape=(len(names), len(names)),
        sensitivity=lambda relation: (dpkit.frobenius(float(len(names))),),
        because=dpkit.Citation(key="dpkit", locator="docs/proofs/exact-sums.md"),
        columns=tuple(names),
        grid=STEP * STEP,
        bound=1.0,
    )


def peak():
    """Of this process alone: `ru_maxrss` begins with what the one that started it had."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM"))


def evaluated(path, schema, query, cache):
    factory = next(one for one in ENGINES if one.name == "blocks")
    engine = factory.over(dpkit.open_source(path, schema), cache=cache)
    totals = [engine.evaluate([query])[0].nearest().tolist() for _ in range(1 if cache == "none" else 2)]
    assert all(total == totals[0] for total in totals)
    engine.close()
    return float(np.trace(totals[0]))


def main(small, large, cache, columns):
    names = [f"x{place}" for place in range(int(columns))]
    schema = dpkit.Schema(columns=tuple(dpkit.Number(name=name, lower=-1, upper=1) for name in names))
    query = moments(names)
    evaluated(small, schema, query, cache)
    before = peak()
    trace = evaluated(large, schema, query, cache)
    print(json.dumps({"before": before, "peak": peak(), "trace": trace}))


if __name__ == "__main__":
    main(*sys.argv[1:-1])
