"""Releases of OpenDP as targets of `dpkit audit`: see docs/found-in-libraries.md."""

import opendp.prelude as dp

dp.enable_features("contrib")


def bit_vector(bits):
    """OpenDP's randomised response on bits, given as a list of bytes; epsilon as its privacy map says."""
    domain = dp.bitvector_domain(max_weight=1)
    return dp.m.make_randomized_response_bitvec(domain, dp.discrete_distance(), f=0.5)(bytes(bits))
