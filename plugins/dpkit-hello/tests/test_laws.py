"""The laws that every mechanism must obey, on what this plugin adds, and its price at one distance."""

from dataclasses import replace
from types import SimpleNamespace

import dpkit_hello
import pytest

import dpkit
from dpkit.testing import laws_of_plugin, parametrize_with_laws


@parametrize_with_laws(laws_of_plugin(dpkit_hello, name="hello"))
def test_the_mechanism_obeys(check):
    check()


def test_the_price_is_distance_over_scale():
    registry = dpkit.load_plugins(discover=False, extra={"hello": dpkit_hello}).registry
    event = dpkit_hello.Hello(scale=2.0).event(at=dpkit.l1(1.0))
    assert dpkit.account(event, "pure", registry=registry).epsilon(delta=0.0) == 0.5


def test_a_wrong_scale_would_be_caught():
    class TooLittle(dpkit_hello.Hello):
        def release(self, value, rng=None, *, saturate=None):
            return dpkit_hello.Hello(scale=self.scale / 1.1).release(value, rng, saturate=saturate)

    (factory,) = dpkit_hello.dpkit_mechanisms()
    broken = SimpleNamespace(
        dpkit_loss_rules=dpkit_hello.dpkit_loss_rules,
        dpkit_mechanisms=dpkit.hookimpl(lambda: [replace(factory, make=TooLittle)]),
    )
    (law,) = [check for check in laws_of_plugin(broken) if check.law == "sampler_follows_its_declared_law"]
    with pytest.raises(AssertionError, match="do not follow log_density"):
        law.run()
