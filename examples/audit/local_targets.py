"""Releases of pure-ldp, multi-freq-ldpy and DataSynthesizer as targets of `dpkit audit`: see docs/found-in-libraries.md.

Each library is imported where it is asked for, so that one can be audited without the others.
"""

import contextlib
import io
import tempfile
from functools import cache
from pathlib import Path


@cache
def _hadamard():
    from pure_ldp.frequency_oracles.hadamard_mechanism import HadamardMechClient

    return HadamardMechClient(1.0, 6, 1)


def hadamard(category):
    """pure-ldp's Hadamard mechanism among six categories; epsilon is 1."""
    return _hadamard().privatise(category)


def _place(text):
    """A hash of a category, the same in every process."""
    return 3 * int(text) % 16


@cache
def _rappor():
    from pure_ldp.frequency_oracles.rappor import RAPPORClient

    f = RAPPORClient(0.5, 16, []).convert_eps_to_f(1.0)
    return RAPPORClient(f, 16, [[_place], [_place]], num_of_cohorts=2)


def rappor(category):
    """pure-ldp's RAPPOR with one hash a cohort; f is what it converts an epsilon of 1 to."""
    return _rappor().privatise(category)


def fake_data(row):
    """multi-freq-ldpy's RS+FD with generalised randomised response, for two attributes of 3 and 4 values; epsilon is 1."""
    from multi_freq_ldpy.mdim_freq_est.RSpFD_solution import RSpFD_GRR_Client

    return RSpFD_GRR_Client(row, [3, 4], 2, 1.0)


def description(rows):
    """DataSynthesizer's description of a table, in independent attribute mode and with its usual seed; epsilon is 1."""
    from DataSynthesizer.DataDescriber import DataDescriber

    told = {"attribute_to_datatype": {"a": "Integer", "b": "String"}}
    told["attribute_to_is_categorical"] = {"a": True, "b": True}
    told["attribute_to_is_candidate_key"] = {"a": False, "b": False}
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        path = Path(folder) / "table.csv"
        path.write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in rows), encoding="utf-8")
        describer = DataDescriber(category_threshold=20)
        describer.describe_dataset_in_independent_attribute_mode(str(path), epsilon=1.0, **told)
    found = describer.data_description["attribute_description"]
    return [found[name]["distribution_probabilities"] for name in ("a", "b")]
