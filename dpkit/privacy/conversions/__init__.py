"""Every arrow between notions: one theorem a function, each with its source, each sound in one direction only.

The arrows that turn one loss into another stand in this table. The readings as (epsilon, delta), which need a target,
are plain functions: `mean_cdp_epsilon`, `zcdp_epsilon_simple`, `renyi_epsilon` (optimal, zCDP included),
`gaussian_epsilon`, and their counterparts for delta.
"""

from __future__ import annotations

from dpkit.privacy.claims import Citation, Conversion
from dpkit.privacy.conversions.concentrated import (
    mean_cdp_delta,
    mean_cdp_epsilon,
    mean_cdp_to_renyi,
    mean_cdp_to_zcdp,
    zcdp_delta_simple,
    zcdp_epsilon_simple,
    zcdp_to_renyi,
)
from dpkit.privacy.conversions.gaussian import (
    gaussian_delta,
    gaussian_delta_below,
    gaussian_epsilon,
    gdp_to_renyi,
    gdp_to_zcdp,
)
from dpkit.privacy.conversions.pure import (
    approximate_to_renyi,
    approximate_to_zcdp,
    approximate_to_zcdp_usual,
    pure_mean,
    pure_to_approximate,
    pure_to_mean_cdp,
    pure_to_mean_cdp_usual,
    pure_to_renyi,
    pure_to_zcdp,
    pure_to_zcdp_usual,
)
from dpkit.privacy.conversions.renyi import epsilon_at_order, gaussian_order, renyi_delta, renyi_epsilon
from dpkit.privacy.gaussian_pair import GaussianPair
from dpkit.privacy.loss_pairs import LossPair, PurePair
from dpkit.privacy.losses import GDP, ZCDP, ApproxDP, MeanCDP, PureDP, RenyiCurve

PURE_TO_APPROXIMATE = Conversion(
    name="pure-to-approximate",
    source=PureDP,
    target=ApproxDP,
    because=Citation(key="DR14", locator="Definition 2.4"),
    apply=pure_to_approximate,
)
PURE_TO_ZCDP_USUAL = Conversion(
    name="pure-to-zcdp-usual",
    source=PureDP,
    target=ZCDP,
    because=Citation(key="BS16", locator="Proposition 1.4"),
    apply=pure_to_zcdp_usual,
)
PURE_TO_ZCDP = Conversion(
    name="pure-to-zcdp",
    source=PureDP,
    target=ZCDP,
    because=Citation(key="dpkit", locator="docs/proofs/tight-zcdp.md, Theorem 1"),
    apply=pure_to_zcdp,
)
PURE_TO_MEAN_CDP_USUAL = Conversion(
    name="pure-to-mean-cdp-usual",
    source=PureDP,
    target=MeanCDP,
    because=Citation(key="DR16", locator="Theorem 3.5"),
    apply=pure_to_mean_cdp_usual,
)
PURE_TO_MEAN_CDP = Conversion(
    name="pure-to-mean-cdp",
    source=PureDP,
    target=MeanCDP,
    because=Citation(key="dpkit", locator="docs/proofs/tight-zcdp.md, Theorem 3"),
    apply=pure_to_mean_cdp,
)
PURE_TO_RENYI = Conversion(
    name="pure-to-renyi",
    source=PureDP,
    target=RenyiCurve,
    because=Citation(key="BS16", locator="proof of Proposition 3.3"),
    apply=pure_to_renyi,
)
APPROXIMATE_TO_ZCDP_USUAL = Conversion(
    name="approximate-to-zcdp-usual",
    source=ApproxDP,
    target=ZCDP,
    because=Citation(key="BS16", locator="Lemma 8.8"),
    apply=approximate_to_zcdp_usual,
)
APPROXIMATE_TO_ZCDP = Conversion(
    name="approximate-to-zcdp",
    source=ApproxDP,
    target=ZCDP,
    because=Citation(key="BS16", locator="Lemma 8.8, with the rho of docs/proofs/tight-zcdp.md, Theorem 1"),
    apply=approximate_to_zcdp,
)
APPROXIMATE_TO_RENYI = Conversion(
    name="approximate-to-renyi",
    source=ApproxDP,
    target=RenyiCurve,
    because=Citation(key="KOV15", locator="Theorem 3.1, and BS16, Lemma 8.8"),
    apply=approximate_to_renyi,
)
MEAN_CDP_TO_ZCDP = Conversion(
    name="mean-cdp-to-zcdp",
    source=MeanCDP,
    target=ZCDP,
    because=Citation(key="BS16", locator="section 4"),
    apply=mean_cdp_to_zcdp,
)
MEAN_CDP_TO_RENYI = Conversion(
    name="mean-cdp-to-renyi",
    source=MeanCDP,
    target=RenyiCurve,
    because=Citation(key="BS16", locator="section 4"),
    apply=mean_cdp_to_renyi,
)
ZCDP_TO_RENYI = Conversion(
    name="zcdp-to-renyi",
    source=ZCDP,
    target=RenyiCurve,
    because=Citation(key="BS16", locator="Definition 1.1"),
    apply=zcdp_to_renyi,
)
GDP_TO_ZCDP = Conversion(
    name="gdp-to-zcdp",
    source=GDP,
    target=ZCDP,
    because=Citation(key="DRS22", locator="Corollary B.6"),
    apply=gdp_to_zcdp,
)
GDP_TO_RENYI = Conversion(
    name="gdp-to-renyi",
    source=GDP,
    target=RenyiCurve,
    because=Citation(key="DRS22", locator="Corollary B.6"),
    apply=gdp_to_renyi,
)

PURE_TO_PAIR = Conversion(
    name="pure-to-pair",
    source=PureDP,
    target=LossPair,
    because=Citation(key="KOV15", locator="Theorem 3.1: randomised response dominates"),
    apply=lambda loss: PurePair(epsilon=loss.epsilon),
)
APPROXIMATE_TO_PAIR = Conversion(
    name="approximate-to-pair",
    source=ApproxDP,
    target=LossPair,
    because=Citation(key="KOV15", locator="Theorem 3.1: randomised response, and a slack of delta kept apart"),
    apply=lambda loss: PurePair(epsilon=loss.epsilon),
)
GDP_TO_PAIR = Conversion(
    name="gdp-to-pair",
    source=GDP,
    target=LossPair,
    because=Citation(key="DRS22", locator="Definition 4"),
    apply=lambda loss: GaussianPair(mu=loss.mu),
)

CONVERSIONS: tuple[Conversion, ...] = (
    PURE_TO_APPROXIMATE,
    PURE_TO_ZCDP_USUAL,
    PURE_TO_ZCDP,
    PURE_TO_MEAN_CDP_USUAL,
    PURE_TO_MEAN_CDP,
    PURE_TO_RENYI,
    APPROXIMATE_TO_ZCDP_USUAL,
    APPROXIMATE_TO_ZCDP,
    APPROXIMATE_TO_RENYI,
    MEAN_CDP_TO_ZCDP,
    MEAN_CDP_TO_RENYI,
    ZCDP_TO_RENYI,
    GDP_TO_ZCDP,
    GDP_TO_RENYI,
    PURE_TO_PAIR,
    APPROXIMATE_TO_PAIR,
    GDP_TO_PAIR,
)

__all__ = [
    "APPROXIMATE_TO_PAIR",
    "APPROXIMATE_TO_RENYI",
    "APPROXIMATE_TO_ZCDP",
    "APPROXIMATE_TO_ZCDP_USUAL",
    "CONVERSIONS",
    "GDP_TO_PAIR",
    "GDP_TO_RENYI",
    "GDP_TO_ZCDP",
    "MEAN_CDP_TO_RENYI",
    "MEAN_CDP_TO_ZCDP",
    "PURE_TO_APPROXIMATE",
    "PURE_TO_MEAN_CDP",
    "PURE_TO_MEAN_CDP_USUAL",
    "PURE_TO_PAIR",
    "PURE_TO_RENYI",
    "PURE_TO_ZCDP",
    "PURE_TO_ZCDP_USUAL",
    "ZCDP_TO_RENYI",
    "Conversion",
    "epsilon_at_order",
    "gaussian_delta",
    "gaussian_delta_below",
    "gaussian_epsilon",
    "gaussian_order",
    "mean_cdp_delta",
    "mean_cdp_epsilon",
    "pure_mean",
    "renyi_delta",
    "renyi_epsilon",
    "zcdp_delta_simple",
    "zcdp_epsilon_simple",
]
