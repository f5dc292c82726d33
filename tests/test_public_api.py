"""The contract: the names that other people's code calls are there, documented, and light to import."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dpkit

ROOT = Path(__file__).parent.parent

CONTRACT = """
PureDP ApproxDP MeanCDP ZCDP RDP GDP PLD
l1 l2 linf frobenius rank_one records Neighbours
Citation Claim LossRule Query
Laplace Gaussian SymmetricGaussian DiscreteLaplace DiscreteGaussian Exponential RandomizedResponse
LaplaceEvent GaussianEvent PureEvent ApproxEvent ZCDPEvent
Repeat Compose Parallel Subsample
account calibrate Guarantee load
audit AuditCertificate
Mechanism Accountant IterativeAlgorithm Curator hookimpl
DpkitError UnpricedEventError
""".split()


@pytest.mark.parametrize("name", CONTRACT)
def test_the_contract_is_kept(name):
    assert name in dpkit.__all__
    assert getattr(dpkit, name) is not None


@pytest.mark.parametrize("name", [name for name in dpkit.__all__ if name != "__version__"])
def test_every_public_name_has_a_docstring_and_a_line_in_the_docs(name):
    item = getattr(dpkit, name)
    if inspect.isclass(item) or inspect.isfunction(item):
        assert inspect.getdoc(item), f"{name} has no docstring"
        assert not inspect.getdoc(item).startswith(f"{name}("), f"{name} has only the docstring that dataclass makes"
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert re.search(rf"`{re.escape(name)}`", page), f"docs/api.md does not mention {name}"


def test_the_docs_name_nothing_that_is_not_there():
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    page = page.partition("\n## `dpkit.")[0]  # further modules have their own test
    first_cells = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    named = {name for cell in first_cells for name in re.findall(r"`(\w+)`", cell)}
    assert named <= set(dpkit.__all__)


def test_lazy_names_match_what_type_checkers_see():
    stub = ast.parse((ROOT / "dpkit" / "__init__.pyi").read_text(encoding="utf-8"))
    seen = {alias.asname for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen == set(dpkit.__all__)


def test_values_take_keywords_only():
    for name in ("PureDP", "ApproxDP", "ZCDP", "LaplaceEvent", "Repeat", "Citation", "Claim", "LossRule"):
        parameters = inspect.signature(getattr(dpkit, name)).parameters.values()
        assert all(parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in parameters), name


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        dpkit.nonsense  # noqa: B018


def test_importing_dpkit_loads_nothing_heavy():
    heavy = "numpy scipy pluggy yaml pydantic click rich matplotlib hypothesis"
    code = f"import sys, dpkit; print([m for m in '{heavy}'.split() if m in sys.modules])"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"


def test_account_defaults_are_the_contract_s():
    parameters = inspect.signature(dpkit.account).parameters
    assert list(parameters)[:4] == ["event_or_events", "accountant", "neighbours", "registry"]
    assert parameters["accountant"].default == "zcdp"
    assert parameters["neighbours"].default is dpkit.Neighbours.ADD_REMOVE
    assert dpkit.default_registry().accountant_names == ("pure", "advanced", "cdp", "zcdp", "rdp", "gdp", "pld", "best")
