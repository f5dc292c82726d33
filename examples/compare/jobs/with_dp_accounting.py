"""What of the five jobs dp-accounting does: prices."""

from importlib.metadata import version

from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
from dp_accounting.pld import PLDAccountant

VERSION = version("dp-accounting")


def price(rows):
    run = PLDAccountant().compose(PoissonSampledDpEvent(0.01, GaussianDpEvent(1.0)), 1000)
    return run.get_epsilon(1e-6)
