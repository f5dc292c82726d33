"""What an attack or the fuzz found once, one by one."""

import json

import pytest

import dpkit
from dpkit.analysis.reading.load import load
from dpkit.analysis.reading.read_yaml import parse_yaml
from dpkit.auditing.certificates.certificate import AuditCertificate
from dpkit.errors import SerialisationError, SpecError
from dpkit.pricing.serialise import strict_json

ANALYSIS = """\
dpkit: 1
data:
  source: people.csv
  columns:
    city: {{levels: [{levels}]}}
budget: {{epsilon: 1.0}}
steps:
  - {{id: cities, run: histogram, with: {{column: city}}}}
"""


@pytest.mark.parametrize("levels", [".inf, Bern", "Bern, -.inf", "1e400, Bern"])
def test_a_level_that_is_not_finite_is_refused_at_its_place(tmp_path, levels):
    pytest.importorskip("dpkit_stats", reason="the plugin dpkit-stats is not installed")
    path = tmp_path / "analysis.yaml"
    path.write_text(ANALYSIS.format(levels=levels))
    with pytest.raises(SpecError) as caught:
        load(path)
    (problem,) = caught.value.problems
    assert problem.line == 5
    assert "inf" in problem.found


@pytest.mark.parametrize("text", ["1e400000000", "9" * 10**6 + "/1", "1/0", "1/3e9", "1.5", "", " 1/2", "1/-2", "1_0/3"])
def test_a_fraction_is_two_whole_numbers(text):
    with pytest.raises(SerialisationError):
        dpkit.from_json(json.dumps({"dpkit": 1, "value": {"is": "fraction", "value": text}}))


@pytest.mark.parametrize("text", ["NaN", "-Infinity", "1e400", '{"a": 1, "a": 2}', "[" * 10**5, "9" * 10**6, "", None, b"\xff"])
def test_json_has_finite_numbers_and_each_key_once(text):
    with pytest.raises(SerialisationError):
        strict_json(text)


@pytest.mark.parametrize("text", ['"\\U00110000"', '"\\Uffffffff"', '"\\0"', '"\\ud800"', '{"\\0": 1}'])
def test_a_character_that_there_is_not_is_refused_at_its_place(text):
    with pytest.raises(SpecError, match=r"a\.yaml:1:"):
        parse_yaml(f"a: {text}".encode(), file="a.yaml")


def test_a_message_stays_short_however_long_a_name_is():
    with pytest.raises(SpecError) as caught:
        parse_yaml(f"a: !{'x' * 100_000} 1".encode(), file="a.yaml")
    assert len(str(caught.value)) < 1000


WRONG = {
    "level": 0.0, "verdict": "fine", "hypothesis": "none", "samples": "many", "confidence": "inf", "tried": "f", "note": 3,
    "software": [["dpkit"]], "seed": 0.5, "floating_point": 1, "epsilon_lower": "nan", "power": "nan", "recipe": [],
}  # fmt: skip


@pytest.mark.parametrize("field", WRONG)
def test_a_certificate_that_is_sealed_anew_has_fields_as_certificates_have_them(field):
    (certificate, *_) = dpkit.audit(dpkit.Laplace(scale=1.0), at=dpkit.l1(1.0), samples=100, rng=1)
    document = json.loads(certificate.to_json())
    AuditCertificate.from_json(json.dumps({**document, "digest": ""}))
    with pytest.raises(SerialisationError):
        AuditCertificate.from_json(json.dumps({**document, "digest": "", field: WRONG[field]}))


@pytest.mark.parametrize(
    "value", [{"is": "ZCDPState", "rho": "1", "log_slack": 0}, {"is": "BestAccountant", "accountants": [None]}]
)
def test_a_field_of_another_type_is_refused(value):
    with pytest.raises(SerialisationError):
        dpkit.from_json(json.dumps({"dpkit": 1, "value": value}))
