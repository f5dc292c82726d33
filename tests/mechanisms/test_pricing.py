"""What a release of each mechanism costs, against closed forms and exact profiles of its own output law."""

import dpkit
from dpkit import Exponential, Gaussian, Laplace, RandomizedResponse, SymmetricGaussian


def test_the_textbook_prices():
    assert dpkit.account(Laplace(scale=2.0).event(at=dpkit.l1(1.0)), "pure").epsilon(delta=0.0) == 0.5
    assert dpkit.account(Exponential(scale=4.0).event(at=dpkit.linf(1.0)), "pure").epsilon(delta=0.0) == 0.5
    assert dpkit.account(Exponential(scale=4.0, monotone=True).event(at=dpkit.linf(1.0)), "pure").epsilon(delta=0.0) == 0.25
    assert dpkit.account(RandomizedResponse(epsilon=1.0).event(at=dpkit.records(1)), "pure").epsilon(delta=0.0) == 1.0
    assert dpkit.account(Gaussian(scale=2.0).event(at=dpkit.l2(1.0)), "zcdp").within(dpkit.ZCDP(rho=0.125))
    assert SymmetricGaussian(scale=2.0).event(at=dpkit.rank_one(1.0)) == Gaussian(scale=2.0).event(at=dpkit.l2(1.0))
