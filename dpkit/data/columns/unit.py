"""The privacy unit: who is protected, and what that costs in distances (docs/proofs/exact-sums.md, theorem 3)."""

from __future__ import annotations

from dataclasses import dataclass

from dpkit.errors import InvalidValueError
from dpkit.privacy.checks import nonempty_text, whole_number
from dpkit.privacy.neighbours import Neighbours


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyUnit:
    """A row; or, with a column, everybody whose rows share its value, of whom at most `at_most` rows each are used.

    Add-remove then means a person more or less, with all rows. Replace-one means that one person's rows become any other rows
    of one person: their number may change, so the number of rows is private.
    """

    column: str | None = None
    at_most: int = 1

    def __post_init__(self) -> None:
        if self.column is not None:
            nonempty_text(self.column, field="column", where="PrivacyUnit")
        object.__setattr__(self, "at_most", whole_number(self.at_most, field="at_most", where="PrivacyUnit", minimum=1))
        if self.column is None and self.at_most != 1:
            raise InvalidValueError(
                field="at_most",
                found=self.at_most,
                allowed="1 when the unit is a row",
                where="PrivacyUnit",
                fix="Name a column.",
            )

    def knows_size(self, neighbours: Neighbours) -> bool:
        """Whether the number of rows is public: neighbours that replace one row have equally many."""
        return self.column is None and neighbours is Neighbours.REPLACE_ONE


ROW = PrivacyUnit()
"""Each row is somebody of their own."""
