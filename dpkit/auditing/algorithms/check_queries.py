"""What an algorithm asks of a curator, and whether it is what it says: sums of rows within their distances, and no more.

An algorithm is walk under scripted answers. Each query that it asks is tried on made-up rows within the declared ranges.
Then it is walk over several datasets with the same answers: all that it does must be the same, for nothing but what is
released may steer it. Each function returns faults in words, none of which holds data: every row here is made up.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from dpkit.auditing.algorithms.made_up_rows import RowSpace, Table, engine_over, hard_tables, many_rows
from dpkit.auditing.algorithms.reachable_parts import differs
from dpkit.auditing.algorithms.scripted_answers import Script, make_scripts, most_steps, scripted_curator, silence, walk
from dpkit.auditing.search.sensitivity import SLACK, Rows, contributions, search_sensitivity
from dpkit.contracts.algorithm import AnyAlgorithm
from dpkit.contracts.query import Block, Query
from dpkit.contracts.setting import Setting
from dpkit.data.setting import DeclaredSetting
from dpkit.errors import DpkitError
from dpkit.numerics.rounding import format_down, in_full
from dpkit.numerics.special import Array
from dpkit.privacy.neighbours import Neighbours
from dpkit.release.simulated_curator import Asked
from dpkit.values import dataclass

SUMMED = (0, 1, 3, 300, 1_025, 4_096)
"""Rows of the blocks on which fast paths are compared with the reference: these change at powers of two and whole pieces."""
POOL = 512
MOST_QUERIES = 12
"""How many queries of one algorithm are tried: of each name and shape the first and the last ones of every script."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A promise that is broken: of which query or run, which promise, and how."""

    subject: str
    law: str
    detail: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.detail} ({self.law})"


def asked_under_scripts(algorithm: AnyAlgorithm, setting: Setting, noise: float, *, rng: np.random.Generator) -> list[Asked]:
    """What the algorithm hands to the curator, under every script; of many of one kind, the first and the last of each."""
    kinds: dict[tuple[object, ...], list[Asked]] = {}
    for name, script in make_scripts(rng).items():
        curator = scripted_curator(script, setting=setting)
        with contextlib.suppress(Exception):  # numbers made up by an adversary; another law checks that it does not raise
            walk(algorithm, curator, noise, most=most_steps(algorithm.plan(noise)))
        by_kind: dict[tuple[object, ...], list[Asked]] = {}
        for query, mechanism in curator.asked:
            by_kind.setdefault((query.name, query.shape, query.columns, type(mechanism), name), []).append((query, mechanism))
        kinds |= {kind: [found[0], found[-1]][: len(found)] for kind, found in by_kind.items()}
    return [pair for place in (0, 1) for found in kinds.values() for pair in found[place : place + 1]]


def unlike_queries(asked: Sequence[Asked], setting: Setting) -> list[Query]:
    """The queries, of those that do the same to a few rows one only."""
    found: dict[object, Query] = {}
    for query, _ in asked:
        rows = RowSpace(setting, query).rows(16, np.random.default_rng(0))
        try:
            made = (contributions(query, rows).tobytes(), np.asarray(query.total(rows)).tobytes())
        except Exception:  # noqa: BLE001 - a third party's function may raise anything; it is judged later
            made = (b"", str(id(query)).encode())
        declared = tuple(tuple(map(str, query.sensitivity(relation))) for relation in Neighbours)
        found.setdefault((query.name, query.columns, query.bound, query.grid, declared, made), query)
    return list(found.values())[:MOST_QUERIES]


def query_faults(query: Query, setting: Setting, *, seed: int = 0) -> Iterator[Fault]:
    """Promises that a query breaks on rows within the declared ranges, the first of each kind."""
    space = RowSpace(setting, query)
    for law, found in (
        ("a_row_contributes_by_itself", depends_on_others(query, space, rng=np.random.default_rng([seed, 1]))),
        ("the_fast_sum_is_the_sum", differs_from_the_sum(query, space, rng=np.random.default_rng([seed, 2]))),
        ("contributions_keep_their_declared_bound_and_grid", _out_of_bound(query, space, seed)),
        ("no_neighbours_exceed_the_sensitivity", _too_far(query, space, setting.neighbours, seed)),
    ):
        if found is not None:
            yield Fault(subject=f"query {query.name}", law=law, detail=found)


def depends_on_others(
    query: Query, space: Rows, *, rng: np.random.Generator, contribute: Callable[[Query, Block], Array] = contributions
) -> str | None:
    """In which way a row's contribution is not its own, to the bit; None where it is the same alone and among others."""
    block = space.rows(257, rng)
    block[128:160] = block[:32]  # equal rows, which a query may wrongly count once
    kept, moderate = block.copy(), space.ordinary(257, rng)
    few = space.within(rng.standard_normal((31, block.shape[1])))  # small ones, before what is larger
    before, together, after = contribute(query, few), contribute(query, block), contribute(query, few)
    if together.shape != (len(block), *query.shape):
        return f"rows() gives shape {together.shape} for {len(block)} rows, declared {query.shape}"
    if not np.array_equal(kept, block, equal_nan=True):
        return "rows() changed its input"
    if not _same(before, after):
        return "a row's contribution depends on the blocks that came before it, or on chance"
    for rows, made in ((block, together), (moderate, contribute(query, moderate))):
        with np.errstate(all="ignore"):
            lowest = np.argsort(np.sum(rows, axis=1), kind="stable")
        if not _same(contribute(query, rows[order := rng.permutation(len(rows))]), made[order]):
            return "a row's contribution depends on its place"
        parts = [np.array([place]) for place in range(0, len(rows), 16)]  # ends of ranges and ordinary rows, each alone
        for part in (*parts, np.arange(128), np.arange(128, 200), lowest[:40], lowest[100:180], lowest[-40:]):
            if not _same(contribute(query, rows[part]), made[part]):
                return "a row's contribution depends on the other rows, or on how many there are"
    if query.preparation is not None:
        with np.errstate(all="ignore"):
            prepared, some = (np.asarray(query.preparation.rows(rows)) for rows in (block, block[40:47]))
        if not _same(some, prepared[40:47]):
            return "what the preparation makes of a row depends on the other rows"
    return None


def _same(one: Array, other: Array) -> bool:
    return one.shape == other.shape and bool(np.array_equal(one, other, equal_nan=True))


def differs_from_the_sum(
    query: Query,
    space: Rows,
    *,
    rng: np.random.Generator,
    contribute: Callable[[Query, Block], Array] = contributions,
    met: Callable[[Query, Block], Block] | None = None,
) -> str | None:
    """Which fast path is not the sum of `rows`, to rounding; None where all are. `met` keeps the rows that a query can meet."""
    for count in SUMMED:
        for drawn in (space.rows(count, rng), np.repeat(space.rows(2, rng)[-1:], count, axis=0)):
            block = drawn if met is None else met(query, drawn)
            rows = contribute(query, block).reshape(len(block), *query.shape)
            wanted = np.sum(rows, axis=0)
            limit = 1e-12 * (1.0 + np.sum(np.abs(rows), axis=0))
            paths: dict[str, Callable[[Block], Block]] = {"block_sum": query.total} if query.block_sum is not None else {}
            if query.preparation is not None:
                paths["prepared_steps"] = lambda rows_: query.steps_of_prepared(rows_).nearest()
            for path, fast in paths.items():
                with np.errstate(all="ignore"):
                    total = np.asarray(fast(block), dtype=np.float64)
                if total.shape != query.shape or not (np.abs(total - wanted) <= limit).all():
                    return f"{path} is not the sum of rows, on {len(block)} of them"
    return None


def _out_of_bound(query: Query, space: RowSpace, seed: int) -> str | None:
    found = contributions(query, space.rows(_pool_size(query), np.random.default_rng([seed, 3])))
    if not np.isfinite(found).all():
        return "a contribution is not finite"
    if query.bound is not None and not (np.abs(found) <= query.bound * (1.0 + SLACK)).all():
        return (
            f"a contribution of {format_down(float(np.max(np.abs(found))))} exceeds the declared bound {in_full(query.bound)}"
        )
    if query.grid is not None and not (found / query.grid == np.rint(found / query.grid)).all():
        return "a contribution is no multiple of the declared grid"
    return None


def _too_far(query: Query, space: RowSpace, needed: Neighbours, seed: int) -> str | None:
    for relation in Neighbours:
        if relation is needed and not tuple(query.sensitivity(relation)):
            return f"no distance is declared under {relation}"
        found = search_sensitivity(query, relation, space, tries=_pool_size(query), seed=seed)
        if found is not None:
            return f"under {relation} neighbours move it by {format_down(found.found)}, declared {found.claimed}"
    return None


def _pool_size(query: Query) -> int:
    """How many rows are tried: fewer where a contribution has thousands of entries."""
    return max(48, min(POOL, 100_000 // max(1, math.prod(query.shape))))


def equal_answers_equal_runs(
    algorithm: AnyAlgorithm, setting: DeclaredSetting, noise: float, *, rng: np.random.Generator
) -> Fault | None:
    """Two datasets and the same scripted answers: the same states, steps, result and plan; the first difference in words."""
    tables: dict[str, Table] = hard_tables(setting, rng)
    chosen = {name: tables[name] for name in ("ordinary rows", "lowest rows", "no row")}
    chosen["hundreds of rows, some levels not among them"] = many_rows(setting, rng)
    scripts = make_scripts(rng)
    plausible = [25.0 + rng.standard_normal(1) for _ in range(64)]
    scripts["plausible"] = lambda turn, query: np.full(query.shape, plausible[turn % 64])
    for name in ("zeros", "random", "plausible", "huge and negative"):
        try:
            first = _run(algorithm, setting, noise, scripts[name], None)
        except (ArithmeticError, ValueError, LookupError, TypeError, DpkitError):
            continue  # answers beyond what it can continue from
        for table_name, table in chosen.items():
            found = _run(algorithm, setting, noise, scripts[name], table)
            for part, one, other in zip(("plan", "number of steps", "states", "result"), first, found, strict=True):
                if differs(one, other):
                    detail = f"the same answers ({name}) give another {part} over {table_name} than without data"
                    return Fault(subject="run", law="equal_answers_give_equal_runs", detail=detail)
    return None


def _run(
    algorithm: AnyAlgorithm, setting: DeclaredSetting, noise: float, script: Script, table: Table | None
) -> tuple[object, int, object, object]:
    """The plan afterwards, the number of steps, the states and the result of each of them."""
    engines = [] if table is None else [engine_over(setting, table)]
    curator = scripted_curator(script, setting=setting, engines=engines)
    path = walk(algorithm, curator, noise, most=most_steps(algorithm.plan(noise)))
    with silence():
        results = [algorithm.result(state) for state in path.states]
    return algorithm.plan(noise), len(path.states), path.states, results
