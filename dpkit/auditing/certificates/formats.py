"""Certificates for continuous integration: JUnit and SARIF."""

from __future__ import annotations

import json
from collections.abc import Sequence
from xml.etree import ElementTree

from dpkit._version import __version__
from dpkit.auditing.certificates.certificate import AuditCertificate


def as_junit(certificates: Sequence[AuditCertificate]) -> str:
    """One test case a certificate: refuted is a failure, inconclusive is skipped."""
    suite = ElementTree.Element(
        "testsuite",
        name="dpkit audit",
        tests=str(len(certificates)),
        failures=str(sum(one.refuted for one in certificates)),
        skipped=str(sum(one.verdict == "inconclusive" for one in certificates)),
    )
    for one in certificates:
        case = ElementTree.SubElement(suite, "testcase", classname=one.target, name=f"{one.claim.loss}, {one.hypothesis}")
        if one.refuted:
            failure = ElementTree.SubElement(case, "failure", message=f"refuted by {one.falsifier}", type="refuted")
            failure.text = str(one)
        elif one.verdict == "inconclusive":
            ElementTree.SubElement(case, "skipped", message="inconclusive: too few samples to find any violation")
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)


def as_sarif(certificates: Sequence[AuditCertificate]) -> str:
    """SARIF 2.1.0: one rule a falsifier, one result a refuted claim."""
    refuted = [one for one in certificates if one.refuted]
    rules = sorted({one.falsifier for one in refuted})
    results = [
        {
            "ruleId": one.falsifier,
            "level": "error",
            "message": {"text": str(one)},
            "locations": [{"logicalLocations": [{"fullyQualifiedName": one.target}]}],
            "fingerprints": {"dpkitAudit/v1": one.digest},
        }
        for one in refuted
    ]
    driver = {"name": "dpkit audit", "version": __version__, "rules": [{"id": name} for name in rules]}
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return json.dumps(document, indent=2)
