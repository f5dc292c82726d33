"""A band says what all its readings say, whatever was read before."""

import math

import numpy as np
from mechanisms.profiles import stop_loss_of_one

from dpkit.mechanisms.allocation_law import AllocationLaw


def test_a_reading_does_not_depend_on_the_band_that_gave_it() -> None:
    sums = 200.0 * np.exp(np.array([0.05, 0.1, 0.2, 0.3]))
    together = AllocationLaw(ratio=1.0, steps=200).read(sums, "call")
    for index, one in enumerate(sums.tolist()):
        alone = AllocationLaw(ratio=1.0, steps=200).read(np.array([one]), "call")
        assert float(alone.low[0]) <= float(together.high[index])
        assert float(together.low[index]) <= float(alone.high[0])


def test_one_copy_is_the_formula_and_parity_holds() -> None:
    law = AllocationLaw(ratio=1.0, steps=1)
    for place in (1.2, 3.0):
        found = law.read(np.array([place]), "call")
        truth = float(stop_loss_of_one(1.0, np.array([place]))[0])
        assert float(found.low[0]) <= truth <= float(found.high[0])
    many = AllocationLaw(ratio=0.7, steps=30)
    # at the mean E(S - s)_+ and E(s - S)_+ are equal
    call, put = many.read(np.array([30.0]), "call"), many.read(np.array([30.0]), "put")
    assert math.isclose(float(call.high[0]), float(put.high[0]), rel_tol=1e-3)
    assert float(call.low[0]) <= float(put.high[0])
    assert float(put.low[0]) <= float(call.high[0])


def test_readings_do_not_depend_on_what_was_read_before() -> None:
    """A price must be the same in the process that plans and in the one that charges."""
    sums = 60.0 * np.exp(np.linspace(-0.9, 0.9, 100))
    fresh, used = AllocationLaw(ratio=1.0, steps=60), AllocationLaw(ratio=1.0, steps=60)
    for place in (61.0, 70.0, 95.0):
        used.read(np.array([place]), "call")
    one = np.array([80.0])
    for some in (one, sums[sums >= 60.0]):
        first, second = fresh.read(some, "call"), used.read(some, "call")
        assert np.array_equal(first.low, second.low)
        assert np.array_equal(first.high, second.high)


def test_far_from_the_mean_no_bands_are_made_and_few_are_kept() -> None:
    """There were thousands of them, each a transform: two epochs of 7 steps at ratio 3 took minutes at delta = 1e-20."""
    law = AllocationLaw(ratio=3.0, steps=7)
    found = law.read(np.geomspace(1e13, 2e13, 50), "call")
    assert not law._bands
    assert np.all(found.low <= found.high)
    near = AllocationLaw(ratio=0.5, steps=50)
    for place in np.linspace(50.0, 80.0, 20).tolist():
        near.read(np.array([place]), "call")
    assert len(near._bands) <= 8


def test_of_a_band_only_what_is_read_is_kept() -> None:
    """Laws of an epoch of 1,000 steps held 70 MB for one reading, and the cache of four laws 800 MB."""
    law = AllocationLaw(ratio=1.0, steps=1000)
    law.read(np.array([1000.0 * math.exp(0.17)]), "call")
    [band] = law._bands.values()
    laid = [part.total for part in (band._upper, band._lower)]
    assert sum(part._survival.nbytes + part._excess.nbytes + part._fall.nbytes for part in laid) < 3e6
    assert all(part.readable * part.step >= band.high - band.low for part in laid)
