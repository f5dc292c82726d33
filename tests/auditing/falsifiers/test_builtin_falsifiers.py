"""dpkit's own falsifiers come through the hook, and each works alone."""

import math
from dataclasses import replace

import numpy as np

from dpkit import Claim, Laplace, PureDP, audit, l1
from dpkit.contracts.auditor import Auditor
from dpkit.hooks.manager import load_plugins


def test_dpkit_s_own_falsifiers_come_through_the_hook_and_each_works_alone():
    own = load_plugins(discover=False).registry.auditors
    assert [one.name for one in own][:2] == ["exact profile", "exact enumeration"]
    assert all(isinstance(one, Auditor) for one in own)
    claim = Laplace(scale=1.0).claims(l1(1.0))[0]
    half = Claim(loss=PureDP(epsilon=0.5), neighbours=claim.neighbours, because=claim.because)
    by_name = {one.name: one for one in own}
    for name, samples in (("exact profile", 2), ("white box", 20_000)):
        asked = {"samples": samples, "alpha": 1e-3, "rng": np.random.default_rng(1)}
        found = by_name[name].falsify(Laplace(scale=1.0), half, (0.0, 1.0), **asked)
        assert found.log_e_value >= -math.log(1e-3)
        assert by_name[name].falsify(Laplace(scale=1.0), claim, (0.0, 1.0), **asked) is None


def test_without_a_registered_falsifier_it_takes_no_part():
    known = load_plugins(discover=False).registry
    fewer = replace(known, auditors=tuple(one for one in known.auditors if one.name != "exact profile"))
    half = PureDP(epsilon=0.5)
    with_it, without = (
        audit(Laplace(scale=1.0), half, (0.0, 1.0), samples=4_000, rng=1, floating_point=False, registry=one)
        for one in (known, fewer)
    )
    assert "exact profile" in with_it[-1].falsifier
    assert not any("exact profile" in certificate.tried for certificate in without)
