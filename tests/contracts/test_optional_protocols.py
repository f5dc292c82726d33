"""What plugins may offer are protocols: each is public, has a docstring, and is found by `isinstance` everywhere."""

import ast
import inspect
from pathlib import Path

import pytest

import dpkit

ROOT = Path(__file__).parent.parent.parent
OFFERS = (
    "Accurate Neighbouring OnGrid Scaled WhiteBox Advising Foretelling ForetellingLike RestsOn NeedsRows "
    "Closing CountsRows DeclaresSetting InMemory OfFiles OfFloat32 Filtering Gauging"
).split()
# `close` of a generator that is read ahead; dpkit-irls is being divided into forms.
ELSEWHERE = {"dpkit/data/tables/read_ahead.py"}


def members(name):
    protocol = getattr(dpkit, name)
    return {member for member in vars(protocol) if not member.startswith("_")}


@pytest.mark.parametrize("name", OFFERS)
def test_an_offer_is_a_documented_protocol_that_isinstance_understands(name):
    protocol = getattr(dpkit, name)
    assert inspect.getdoc(protocol)
    assert members(name)
    for member in members(name):
        assert inspect.getdoc(inspect.getattr_static(protocol, member)), f"{name}.{member} has no docstring"
    offering = type("Offering", (), dict.fromkeys(members(name), lambda self: None))
    assert isinstance(offering(), protocol)
    assert not isinstance(object(), protocol)


def test_nobody_looks_for_an_offer_by_its_name():
    names = set().union(*map(members, OFFERS))
    files = [*ROOT.glob("dpkit/**/*.py"), *ROOT.glob("plugins/dpkit-[!i]*/dpkit_*/**/*.py")]
    for path in files:
        where = path.relative_to(ROOT).as_posix()
        text = path.read_text(encoding="utf-8")
        if not any(name in text for name in names):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "hasattr"):
                asked = [a.value for a in node.args[1:2] if isinstance(a, ast.Constant)]
                assert where in ELSEWHERE or not names & set(asked), f"{where}:{node.lineno} asks for {asked} by name"
