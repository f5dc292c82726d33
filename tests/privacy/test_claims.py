"""Loss rules validate themselves: a wrong one names its field."""

import pytest

from dpkit import Citation, InvalidValueError, LossRule, Neighbours, PureDP, PureEvent

SOURCE = Citation(key="DR14", locator="somewhere")
RULE = {
    "name": "r",
    "event": PureEvent,
    "loss": PureDP,
    "neighbours": (Neighbours.ADD_REMOVE,),
    "because": SOURCE,
    "bound": lambda event: None,
}


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("name", ""),
        ("event", PureDP),
        ("event", PureEvent(epsilon=1.0)),
        ("loss", PureEvent),
        ("neighbours", Neighbours.ADD_REMOVE),
        ("neighbours", ()),
        ("because", "DR14"),
        ("status", "true"),
        ("bound", 1.0),
    ],
)
def test_a_wrong_rule_names_its_field(field, wrong):
    LossRule(**RULE)
    with pytest.raises(InvalidValueError) as caught:
        LossRule(**{**RULE, field: wrong})
    assert caught.value.field == field
