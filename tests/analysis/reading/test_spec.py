"""The fingerprint of an analysis is of what matters."""


def test_a_fingerprint_is_of_what_matters(loaded):
    first = loaded().fingerprint
    assert loaded(("out/report.html", "elsewhere.html")).fingerprint == first
    assert loaded(("epsilon: 1.0", "epsilon: 1.5")).fingerprint != first
