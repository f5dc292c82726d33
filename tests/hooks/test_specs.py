"""Every hook is documented and exercised: a plugin that implements all of them fills every field of the registry."""

import inspect
from pathlib import Path
from types import SimpleNamespace

import pytest

import dpkit
from dpkit.accountants.zcdp import ZCDPAccountant
from dpkit.hooks import specs
from dpkit.hooks.catalogue import CATALOGUE
from dpkit.hooks.manager import load_plugins

CITATION = dpkit.Citation(key="dpkit", locator="a test")


class Own(ZCDPAccountant):
    name = "own"


class Auditing:
    name = "own"

    def falsify(self, *arguments, **options):
        return []


def query():
    return dpkit.Query(
        name="own", rows=lambda block: block[:, 0], shape=(), sensitivity=lambda relation: (dpkit.l1(1.0),), because=CITATION
    )


RETURNS = {
    "dpkit_mechanisms": lambda: [dpkit.MechanismFactory(name="own", doc="Own.", make=dpkit.Laplace, metrics=("l1",))],
    "dpkit_loss_rules": lambda: [
        dpkit.LossRule(
            name="own",
            event=dpkit.PureEvent,
            loss=dpkit.PureDP,
            neighbours=tuple(dpkit.Neighbours),
            because=CITATION,
            bound=lambda event: None,
        )
    ],
    "dpkit_accountants": lambda: [Own()],
    "dpkit_algorithms": lambda: [dpkit.AlgorithmFactory(name="own", doc="Own.", make=lambda setting: None)],
    "dpkit_queries": lambda: [dpkit.QueryFactory(name="own", doc="Own.", make=query, width=lambda made: 1)],
    "dpkit_auditors": lambda: [Auditing()],
    "dpkit_neighbour_pairs": lambda: [dpkit.NeighbourPairs(name="own", mechanism="laplace", pairs=lambda mechanism, at: [])],
    "dpkit_engines": lambda: [dpkit.EngineFactory(name="own", doc="Own.", make=lambda source: source)],
    "dpkit_sources": lambda: [dpkit.Factory(name="own", doc="Own.", make=dict)],
    "dpkit_ledger_stores": lambda: [
        dpkit.LedgerStoreFactory(name="own", doc="Own.", open=lambda place, **options: None, create=lambda *given: None)
    ],
    "dpkit_commands": lambda: [dpkit.Command(name="own", doc="Own.", load=lambda: lambda arguments: 0)],
    "dpkit_zoo": lambda: [
        dpkit.ZooEntry(
            name="own",
            sampler=lambda value, n, rng: value + rng.laplace(size=n),
            claim=dpkit.PureDP(epsilon=1.0),
            pair=(0.0, 1.0),
            truth="right",
            about="noise of the scale that the claim needs",
        )
    ],
}


@pytest.mark.parametrize("contribution", CATALOGUE, ids=lambda contribution: contribution.hook)
def test_a_hook_is_documented_and_what_it_returns_is_found_by_name(contribution):
    page = (Path(__file__).parent.parent.parent / "docs" / "hooks.md").read_text(encoding="utf-8")
    assert f"## `{contribution.hook}`" in page
    assert inspect.getdoc(getattr(specs, contribution.hook))
    plugin = SimpleNamespace(**{contribution.hook: dpkit.hookimpl(RETURNS[contribution.hook])})
    loaded = load_plugins(discover=False, extra={"own": plugin})
    assert loaded.plugins[-1].problems == ()
    assert loaded.plugins[-1].adds == {contribution.field: ("own",)}
    assert "own" in {item.name for item in getattr(loaded.registry, contribution.field)}


def test_all_hooks_together():
    plugin = SimpleNamespace(**{hook: dpkit.hookimpl(returns) for hook, returns in RETURNS.items()})
    registry = load_plugins(discover=False, extra={"own": plugin}).registry
    assert registry.mechanism("own").metrics == ("l1",)
    assert registry.query("own").build().name == "own"
    assert registry.engine("own").over("a source") == "a source"
    assert registry.source("own").build() == {}
    assert registry.algorithm("own").name == "own"
    with pytest.raises(dpkit.UnknownNameError, match="own"):
        registry.query("owm")
