"""What of the five jobs OpenDP does: measurements that are chained, and whose scale is searched."""

from importlib.metadata import version

import opendp.prelude as dp

VERSION = version("opendp")
dp.enable_features("contrib")


def mean(rows):
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=len(rows.arr_delay)), dp.symmetric_distance()
    release = dp.binary_search_chain(
        lambda scale: space >> dp.t.then_clamp((-60.0, 180.0)) >> dp.t.then_mean() >> dp.m.then_laplace(scale=scale),
        d_in=2,
        d_out=1.0,
    )
    return release(rows.arr_delay)


def counts(rows):
    space = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    release = dp.binary_search_chain(
        lambda scale: space >> dp.t.then_count_by_categories(categories=rows.carriers[:-1]) >> dp.m.then_laplace(scale=scale),
        d_in=1,
        d_out=1.0,
    )
    return release(rows.carrier)


def median(rows):
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    candidates = [float(minutes) for minutes in range(-60, 181)]
    release = dp.binary_search_chain(
        lambda scale: (
            space
            >> dp.t.then_quantile_score_candidates(candidates, alpha=0.5)
            >> dp.m.then_noisy_max(dp.max_divergence(), scale=scale, negate=True)
        ),
        d_in=1,
        d_out=1.0,
    )
    return candidates[release(rows.arr_delay)]
