"""What the laws of algorithms do where there is nothing to try."""

import pytest

from dpkit.hooks.manager import load_plugins
from dpkit.testing.algorithm_laws import AlgorithmCase
from dpkit.testing.run_laws import LawUnchecked


def test_an_algorithm_whose_parameter_nothing_fits_is_unchecked():
    """`release` asks a query of a plugin; without one there is nothing to try."""
    alone = load_plugins(only=("dpkit",)).registry
    case = AlgorithmCase(factory=alone.algorithm("release"), registry=alone)
    with pytest.raises(LawUnchecked, match="no typical value"):
        case.subjects()
