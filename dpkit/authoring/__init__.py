"""What authors of plugins need beside the names of `dpkit`: checks, safe-side rounding, exact sums, and what mechanisms share.

Public: docs/api.md lists these names, and a test holds the list and the first-party plugins to it.
"""

from dpkit.contracts.algorithm import AnyAlgorithm
from dpkit.contracts.groups import edge_labels, kind_of
from dpkit.contracts.query import Block, Steps
from dpkit.data.columns.kinds import Column, text_code
from dpkit.mechanisms.gaussian import gaussian_accuracy
from dpkit.mechanisms.mechanism_base import (
    ASSUMING,
    checked_confidence,
    checked_generator,
    checked_shape,
    claims_of,
    distance_in,
    entries,
    generator,
    log_tail,
    ratio_up,
    repeated,
    summed_over_value,
)
from dpkit.numerics.exact_sums import grid_below, runs_of, truncated, whole_steps
from dpkit.numerics.noise.exact_rounding import grid_for
from dpkit.numerics.noise.noise_inputs import checked_scale, checked_value
from dpkit.numerics.noise.randomness import stamped
from dpkit.numerics.rounding import UNIT_ROUNDOFF, in_full, round_down, round_up, sqrt_down, sqrt_up
from dpkit.numerics.special import Array, asfloat
from dpkit.privacy.checks import finite_number, nonempty_text, nonnegative, one_of, tuple_of, whole_number
from dpkit.privacy.neighbours import EITHER
from dpkit.values import dataclass

__all__ = [
    "ASSUMING",
    "EITHER",
    "UNIT_ROUNDOFF",
    "AnyAlgorithm",
    "Array",
    "Block",
    "Column",
    "Steps",
    "asfloat",
    "checked_confidence",
    "checked_generator",
    "checked_scale",
    "checked_shape",
    "checked_value",
    "claims_of",
    "dataclass",
    "distance_in",
    "edge_labels",
    "entries",
    "finite_number",
    "gaussian_accuracy",
    "generator",
    "grid_below",
    "grid_for",
    "in_full",
    "kind_of",
    "log_tail",
    "nonempty_text",
    "nonnegative",
    "one_of",
    "ratio_up",
    "repeated",
    "round_down",
    "round_up",
    "runs_of",
    "sqrt_down",
    "sqrt_up",
    "stamped",
    "summed_over_value",
    "text_code",
    "truncated",
    "tuple_of",
    "whole_number",
    "whole_steps",
]
