"""Disclosures are entries of the registry's form, say what holds from plan and ledger, and mark what only a person knows."""

import datetime
import re

import jsonschema
import pytest
import yaml

import dpkit
from dpkit import ApproxDP, GaussianEvent, Ledger, Neighbours
from dpkit.report.disclosure import TO_FILL_IN, disclose_ledger, disclose_plan

TEXT, TEXTS = {"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}


def one_of(*words):
    return {"enum": list(words)}


def having(required=(), **fields):
    return {"type": "object", "additionalProperties": False, "required": list(required), "properties": fields}


KINDS = ("Summary statistics", "Machine learning model", "Dataset", "Synthetic data", "Interactive API", "SQL queries")
VARIANTS = ("Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom")
# What the schema of opendp/deployments-registry-data (15 July 2026) demands and allows, written down by hand.
SCHEMA = having(
    ("url_slug", "status", "tier", "deployment"),
    url_slug=TEXT,
    status=one_of("Converted", "Draft", "Pending", "Changes Required", "Approved"),
    tier=one_of(1, 2, 3),
    deployment=having(
        ("basic",),
        basic=having(
            (
                "name",
                "data_curators",
                "description",
                "intended_use",
                "data_product_type",
                "data_product_region",
                "publication_date",
            ),
            name=TEXT,
            data_curators=TEXTS,
            intended_use=TEXT,
            data_product_type=one_of(*KINDS),
            data_product_region=TEXT,
            description=TEXT,
            publication_date={"type": "string", "format": "date"},
            data_product_sector=one_of("Technology", "Healthcare", "Education", "Government", "Energy", "Finance"),
        ),
        dp_variant=having(variant_name=one_of(*VARIANTS), data_domain=TEXT, unprotected_quantities=TEXT),
        privacy_loss=having(
            privacy_unit=TEXT,
            privacy_unit_details=TEXT,
            privacy_parameters=having(epsilon={"type": "number"}, delta={"type": ["number", "string"]}, rho={"type": "number"}),
            privacy_parameters_details={},
        ),
        deployment_model=having(
            model_name=one_of("Local", "Central", "Shuffle", "Federated", "Varies"),
            model_name_details=TEXT,
            actors=TEXT,
            release_type=one_of("One release", "Many releases"),
            release_type_details=TEXT,
            data_source_type=one_of("Static", "Dynamic"),
            data_source_type_details={},
            access_type=one_of("Interactive", "Non-interactive"),
            access_type_details=TEXT,
        ),
        accounting=having(post_processing=TEXT, composition=TEXT),
        implementation=having(preprocessing_and_hyperparameter_tuning=TEXT, mechanisms=TEXT, justification=TEXT),
        administrative=having(("registry_authors",), sources=TEXT, notes=TEXT, registry_authors=TEXTS),
    ),
)
ANALYSIS = """dpkit: 1
data:
  source: people.csv
  unit: {unit}
  neighbours: {neighbours}
  columns: {{age: [0, 100], who: [0, 1000]}}
  rows: 500
budget: {{epsilon: 1.0, delta: {delta}}}
steps:
  - {{id: ages, run: mean, with: {{column: age, mechanism: {mechanism}}}}}
"""


def disclosed(tmp_path, *, unit="row", neighbours="replace-one", delta="1e-6", mechanism="gaussian"):
    path = tmp_path / "Who's who.yaml"
    path.write_text(ANALYSIS.format(unit=unit, neighbours=neighbours, delta=delta, mechanism=mechanism), encoding="utf-8")
    return disclose_plan(dpkit.load(path).plan())


def checked(found):
    document = yaml.safe_load(found.yaml)
    jsonschema.Draft7Validator(SCHEMA, format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER).validate(document)
    assert document == found.document
    datetime.date.fromisoformat(document["deployment"]["basic"]["publication_date"])
    return document["deployment"]


def test_an_analysis_is_disclosed_in_the_registrys_form(tmp_path):
    found = checked(disclosed(tmp_path))
    assert found["dp_variant"]["variant_name"] == "Approximate DP"
    assert 0.99 < found["privacy_loss"]["privacy_parameters"]["epsilon"] <= 1.0
    assert found["privacy_loss"]["privacy_parameters"]["delta"] == 1e-6
    assert "replaced" in found["privacy_loss"]["privacy_unit_details"]
    assert "500" in found["dp_variant"]["unprotected_quantities"]
    assert "age (number)" in found["dp_variant"]["data_domain"]
    assert "Gaussian" in found["implementation"]["mechanisms"]
    assert "gaussian-gdp" in found["accounting"]["composition"]
    assert found["deployment_model"]["release_type"] == "One release"
    assert TO_FILL_IN in found["implementation"]["justification"]


def test_persons_and_pure_noise_are_disclosed_as_such(tmp_path):
    unit = "{column: who, at_most: 3}"
    found = checked(disclosed(tmp_path, unit=unit, neighbours="add-remove", delta="0", mechanism="laplace"))
    assert found["dp_variant"]["variant_name"] == "Pure DP"
    assert set(found["privacy_loss"]["privacy_parameters"]) == {"epsilon"}
    assert "at most 3 rows" in found["privacy_loss"]["privacy_unit"]
    assert "is there or not" in found["privacy_loss"]["privacy_unit_details"]
    assert "number included" in found["dp_variant"]["unprotected_quantities"]


def test_a_ledger_is_disclosed_by_its_budget(tmp_path):
    budget = ApproxDP(epsilon=2.0, delta=1e-6)
    with Ledger.create(tmp_path / "l.ledger", budget=budget, dataset="people", neighbours=Neighbours.REPLACE_ONE) as ledger:
        ledger.reserve("one")
        ledger.charge("one", GaussianEvent(ratio=0.1), key="a")
        found = disclose_ledger(ledger, "people")
    document = checked(found)
    assert document["privacy_loss"]["privacy_parameters"] == {"epsilon": 2.0, "delta": 1e-6}
    assert document["deployment_model"]["release_type"] == "Many releases"
    assert "1 x GaussianEvent(ratio=0.1)" in document["implementation"]["mechanisms"]
    assert "filter theorem" in document["accounting"]["composition"]


@pytest.mark.parametrize("form", ["nist", "label"])
def test_pages_state_the_risk_by_the_whole_curve(tmp_path, form):
    found = disclosed(tmp_path)
    text = getattr(found, form)
    said = [float(number) / 100 for number in re.findall(r"([0-9.]+)%", text)]
    guarantee = found.facts.guarantee
    for reading in (guarantee.power(0.05), guarantee.posterior(0.5)):
        assert any(reading <= number < reading + 0.0011 for number in said)
    assert TO_FILL_IN in text


def test_files_are_written_once_and_nothing_else_is_replaced(tmp_path):
    found = disclosed(tmp_path)
    written = found.write(tmp_path)
    assert [path.name for path in written] == [
        "who_s_who_disclosure.yaml",
        "who_s_who_nist_sp_800_226.md",
        "who_s_who_label.md",
    ]
    assert found.write(tmp_path) == written
    written[2].write_text("mine", encoding="utf-8")
    with pytest.raises(dpkit.OutputError):
        found.write(tmp_path)
