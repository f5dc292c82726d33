"""Noise and its inverse mixed up."""

import sys
from pathlib import Path

import dpkit

sys.path.insert(0, str(Path(__file__).parent.parent / "right_plugins"))
from averaging import Averaging, factory

CAUGHT_BY = "more_noise_never_costs_more"


class Wrong(Averaging):
    def mechanism(self, noise):
        return dpkit.Gaussian(scale=1.0 / noise)


@dpkit.hookimpl
def dpkit_algorithms():
    return [factory(Wrong, "plan-rises-with-noise")]
