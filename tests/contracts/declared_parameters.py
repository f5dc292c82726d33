"""Parameters of every kind, as plugins declare them."""

from dpkit import GIVEN, Factory, Parameter

NUMBER = Parameter(name="scale", kind="number", doc="A scale.", minimum=0.0, exclusive=True, maximum=10.0, unit="cm")
CASES = [
    NUMBER,
    Parameter(name="count", kind="integer", doc="A count.", minimum=1, maximum=5, default=2),
    Parameter(name="flag", kind="boolean", doc="A flag.", default=False),
    Parameter(name="label", kind="text", doc="A label."),
    Parameter(name="how", kind="choice", doc="A way.", choices=("mean", "median"), default="mean"),
    Parameter(name="edges", kind="numbers", doc="Edges.", minimum=0.0),
    Parameter(name="columns", kind="texts", doc="Columns."),
    Parameter(name="cap", kind="number", doc="A cap, or none.", minimum=0.0, default=None),
    Parameter(name="shares", kind="numbers_by_name", doc="Shares.", minimum=0.0),
    Parameter(name="deviations", kind="number_by_name", doc="Deviations.", minimum=0.0, exclusive=True),
]
NOISE = Parameter(name="noise", kind="choice", doc="The noise.", choices=("gaussian", "wishart"), default="gaussian")
FREEDOM = Parameter(name="freedom", kind="integer", doc="Degrees.", default=9, only_with={"noise": "wishart"})
ADDRESS = Parameter(name="address", kind="text", doc="Where.", default=None)
WORKERS = Parameter(name="workers", kind="integer", doc="How many.", default=None, only_with={"address": None})
KEY = Parameter(name="key", kind="text", doc="A file.", default=None, only_with={"address": GIVEN})
CONDITIONAL = Factory(name="thing", doc="A thing.", make=dict, parameters=(NOISE, FREEDOM, ADDRESS, WORKERS, KEY))
