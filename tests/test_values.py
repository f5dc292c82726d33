"""Value types are the standard library's dataclasses in all that can be seen of them, and cheaper to import."""

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpkit import values

MAKERS = {"here": values.dataclass, "standard": dataclasses.dataclass}


def declare(maker, **options):
    """The same class by either maker: defaults, a factory, a field that is not given, one that is not compared or shown."""

    @maker(**options)
    class Value:
        """A value."""

        first: float
        second: tuple = ()
        third: list = dataclasses.field(default_factory=list)
        hidden: int = dataclasses.field(default=7, compare=False, repr=False)
        derived: int = dataclasses.field(default=3, init=False)
        built: dict = dataclasses.field(default_factory=dict, init=False, compare=False)

        def __post_init__(self):
            if self.first < 0:
                raise ValueError("negative")

    return Value


OPTIONS = [
    {"frozen": frozen, "slots": slots, "kw_only": kw_only, "eq": eq, "repr": shown}
    for frozen in (False, True)
    for slots in (False, True)
    for kw_only in (False, True)
    for eq, shown in ((True, True), (False, False))
]


def attempt(what):
    """What came out, or which exception."""
    try:
        return what()
    except (TypeError, ValueError, AttributeError) as error:
        return type(error)


def seen_of(cls, given):
    """All that an observer of objects of this class could compare."""
    value = attempt(lambda: cls(**given))
    if isinstance(value, type):
        return value
    other, same = cls(first=1.5), cls(**given)
    parts = {part.name: getattr(value, part.name) for part in dataclasses.fields(value)}
    shown = repr(value) if cls.__dataclass_params__.repr else None
    equal = value == same, value == other, value == 3
    kept, again = (dataclasses.replace(one, third=()) for one in (value, same))
    hashed = attempt(lambda: hash(kept) == hash(again)) if kept == again else None
    changed = attempt(lambda: setattr(value, "first", 2.0)), attempt(lambda: delattr(value, "first"))
    new = (
        attempt(lambda: setattr(value, "unknown", 2.0)) is None
    )  # with slots the standard library raises a TypeError of its own
    left = dataclasses.asdict(copy.copy(same)), dataclasses.asdict(copy.deepcopy(same))
    return parts, shown, equal, hashed, changed, new, left


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@given(
    given=st.fixed_dictionaries(
        {"first": st.floats(-1.0, 5.0)},
        optional={
            "second": st.tuples(st.integers()),
            "third": st.lists(st.integers()),
            "hidden": st.integers(),
            "derived": st.just(1),
        },
    )
)
def test_objects_look_and_act_as_those_of_the_standard_library(options, given):
    made = {name: seen_of(declare(maker, **options), given) for name, maker in MAKERS.items()}
    assert made["here"] == made["standard"]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_classes_have_the_same_signature_fields_and_parameters(options):
    here, standard = (declare(maker, **options) for maker in MAKERS.values())
    whole = inspect.signature(standard)
    assert inspect.signature(here) == whole.replace(return_annotation=inspect.signature(here).return_annotation)
    assert [(part.name, part.kw_only) for part in dataclasses.fields(here)] == [
        (part.name, part.kw_only) for part in dataclasses.fields(standard)
    ]
    for name in ("init", "repr", "eq", "frozen"):
        assert getattr(here.__dataclass_params__, name) == getattr(standard.__dataclass_params__, name)
    assert attempt(lambda: here(1.0).first) == attempt(lambda: standard(1.0).first)
    assert attempt(here) is attempt(standard) is TypeError


@values.dataclass(frozen=True, slots=True, kw_only=True)
class Pickled:
    """At the top of a module, where pickle finds it."""

    value: float
    many: tuple = ()


def test_a_frozen_value_with_slots_goes_through_pickle():
    assert pickle.loads(pickle.dumps(Pickled(value=2.0, many=(1,)))) == Pickled(value=2.0, many=(1,))


@pytest.mark.parametrize("inner", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("outer", MAKERS.values(), ids=MAKERS)
def test_either_may_inherit_from_either(inner, outer):
    @inner(frozen=True, slots=True, kw_only=True)
    class Base:
        """A base."""

        first: int = 1

    @outer(frozen=True, slots=True, kw_only=True)
    class Derived(Base):
        """One field more."""

        second: int = 2

    assert repr(Derived(second=5)).endswith("Derived(first=1, second=5)")
    assert Derived() == Derived(first=1) != Base()
    assert hash(Derived()) == hash(Derived(second=2))
    with pytest.raises(dataclasses.FrozenInstanceError):
        Derived().first = 2
    with pytest.raises(TypeError, match="frozen"):
        outer(type("Open", (Base,), {"__annotations__": {"third": int}}))


def test_methods_that_a_class_writes_itself_stay():
    @values.dataclass(frozen=True, slots=True)
    class Own:
        """All by hand."""

        first: int

        def __init__(self):
            object.__setattr__(self, "first", 4)

        def __repr__(self):
            return "own"

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 11

    assert (repr(Own()), Own() == 3, hash(Own()), Own().first) == ("own", True, 11, 4)
    assert not inspect.signature(Own).parameters


def test_a_subclass_with_its_own_init_shows_its_own_signature():
    class Narrow(Pickled):
        def __init__(self, only):
            super().__init__(value=only)

    assert list(inspect.signature(Narrow).parameters) == ["only"]
    assert Narrow(3.0).value == 3.0


def test_most_value_types_of_a_check_compile_nothing():
    code = "import dataclasses as d; made = []; old = d._create_fn if hasattr(d, '_create_fn') else None\n"
    code += "if old: d._create_fn = lambda name, *rest, **more: made.append(name) or old(name, *rest, **more)\n"
    code += "import dpkit.analysis.reading.load, dpkit.analysis.plan; print(len(made))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert int(out) < 60


def test_super_is_found_in_methods_of_classes_with_slots():
    @values.dataclass(frozen=True, slots=True)
    class Derived(Pickled):
        """Asks its base, in a method and in a property."""

        def __hash__(self):
            return super().__hash__()

        @property
        def shown(self):
            return super().__repr__()

    assert hash(Derived(value=1.0)) == hash((1.0, ()))
    assert Derived(value=1.0).shown.endswith("value=1.0, many=())")


def test_an_object_that_can_be_called_has_the_signature_of_its_call():
    @values.dataclass(frozen=True, slots=True)
    class Called:
        """A function with a value."""

        value: float

        def __call__(self, data, n, rng):
            return self.value

    assert list(inspect.signature(Called(1.0)).parameters) == ["data", "n", "rng"]
    assert list(inspect.signature(Called).parameters) == ["value"]


@pytest.mark.parametrize("slots", [False, True])
def test_a_class_without_words_is_described_by_its_name(slots, monkeypatch):
    """The library would write its signature, and for that read a regular expression of a hundredth of a second."""
    monkeypatch.setattr(inspect, "signature", None)

    @values.dataclass(frozen=True, slots=slots)
    class Plain:
        one: int

    assert Plain.__doc__ == "Plain"
    assert Plain(one=1).one == 1
