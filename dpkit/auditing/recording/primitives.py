"""Primitives that libraries draw noise with, wrapped while a tape runs: those of numpy, OpenDP, diffprivlib, and any other."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np

from dpkit.auditing.recording.noise_draw import NoiseDraw
from dpkit.auditing.recording.tape import Call, Family, Tape
from dpkit.errors import InvalidValueError
from dpkit.values import dataclass

_NOISES: dict[str, tuple[Family, str]] = {
    "laplace": ("laplace", "scale"),
    "normal": ("gaussian", "scale"),
    "gumbel": ("gumbel", "scale"),
    "standard_normal": ("gaussian", ""),
    "randn": ("gaussian", ""),
    "gauss": ("gaussian", "sigma"),
    "normalvariate": ("gaussian", "sigma"),
}
"""Draws of additive noise, and what their scale is called."""
_CENTRES = ("loc", "mu")
_COINS = (
    "random", "uniform", "integers", "randint", "binomial", "geometric", "poisson", "exponential", "standard_exponential",
    "gamma", "beta", "bytes", "permutation", "logistic", "multivariate_normal", "rand", "random_sample", "getrandbits",
    "randrange", "expovariate", "randbelow", "randbits", "token_bytes", "token_hex", "sample", "shuffle",
)  # fmt: skip
_OWNERS = ("numpy", "random", "secrets", "opendp", "diffprivlib", "builtins")
_BUILT_IN = ("numpy.random", "random", "secrets", "opendp.measurements", "diffprivlib.mechanisms")


@dataclass(frozen=True, slots=True, kw_only=True)
class Primitive:
    """Any callable as a primitive: `path` is module:name; by name, which argument holds the data, and what is declared of it.

    Declared are an `epsilon` for values that differ by the `sensitivity` (both names of arguments, or of attributes of the
    object whose method it is), and for two values that differ less in proportion; or the `scale` of noise of a `family`.
    """

    path: str
    value: str
    epsilon: str = ""
    delta: str = ""
    sensitivity: str = ""
    scale: str = ""
    family: Family = "priced"


@contextmanager
def taped(tape: Tape, primitives: Sequence[str | Primitive], fn: object = None) -> Iterator[None]:
    """Wrap the primitives while the block runs, also by names, and in generators, that the package of `fn` keeps."""
    with ExitStack() as stack:
        wrappers = [one for primitive in primitives for one in _wrappers(tape, primitive)]
        made = {id(getattr(owner, name)): wrapper for owner, name, wrapper in wrappers if owner is not np.random.mtrand}
        generators = "numpy.random" in primitives
        for module in _modules_of(fn):
            for name, value in list(vars(module).items()):
                if id(value) in made and callable(value):
                    stack.enter_context(patch.object(module, name, made[id(value)]))
                elif generators and isinstance(value, np.random.Generator | np.random.RandomState):
                    stack.enter_context(patch.object(module, name, RecordingGenerator(value, tape)))
        for owner, name, wrapper in wrappers:
            stack.enter_context(patch.object(owner, name, wrapper))
        yield


def _modules_of(fn: object) -> list[ModuleType]:
    """The module that a function stands in, and all of its package that are imported; those of the primitives stay theirs."""
    place = str(getattr(fn, "__module__", None) or type(fn).__module__)
    top = place.partition(".")[0]
    if top in _OWNERS:
        return []
    return [
        one
        for name, one in list(sys.modules.items())
        if name == top or name.startswith(f"{top}.")
        if isinstance(one, ModuleType)
    ]


def known_primitives() -> tuple[str, ...]:
    """Those of the built-in ones whose package is installed."""
    found = []
    for name in _BUILT_IN:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
        found.append(name)
    return tuple(found)


def _wrappers(tape: Tape, one: str | Primitive) -> Iterator[tuple[Any, str, Any]]:
    if isinstance(one, Primitive):
        yield _of_path(tape, one)
    elif one == "numpy.random":
        yield from _of_numpy(tape)
    elif one == "random":
        import random

        yield from ((random, name, _wrapped(tape, f"random.{name}", getattr(random, name))) for name in _names(random))
    elif one == "secrets":
        import secrets

        yield from ((secrets, name, _wrapped(tape, f"secrets.{name}", getattr(secrets, name))) for name in _names(secrets))
    elif one == "opendp.measurements":
        yield _of_opendp(tape)
    elif one == "diffprivlib.mechanisms":
        yield from _of_diffprivlib(tape)
    else:
        raise InvalidValueError(
            field="primitives",
            found=one,
            allowed=f"{', '.join(_BUILT_IN)}, or a Primitive(path=..., value=...)",
            where="record",
        )


def _names(owner: Any) -> list[str]:
    return [name for name in (*_NOISES, *_COINS, "choice") if callable(getattr(owner, name, None))]


def _of_numpy(tape: Tape) -> Iterator[tuple[Any, str, Any]]:
    names = _names(np.random)
    yield from ((np.random, name, _wrapped(tape, f"numpy.random.{name}", getattr(np.random, name))) for name in names)
    made = np.random.default_rng

    def default_rng(seed: Any = None) -> RecordingGenerator:
        return seed if type(seed) is RecordingGenerator else RecordingGenerator(made(seed), tape)

    yield np.random, "default_rng", default_rng
    yield np.random, "RandomState", _kind(np.random.RandomState, tape)
    yield np.random, "Generator", _kind(np.random.Generator, tape)
    legacy = np.random.mtrand
    yield legacy, "_rand", RecordingGenerator(legacy._rand, tape)


def _kind(original: type, tape: Tape) -> type:
    """The class, for those who ask whether something is one of it; made anew, it records."""

    class Kind(type):
        def __instancecheck__(cls, one: object) -> bool:
            return isinstance(one, original)

        def __call__(cls, *arguments: Any, **named: Any) -> Any:
            return RecordingGenerator(original(*arguments, **named), tape)

    return Kind(original.__name__, (), {})


class RecordingGenerator:
    """A generator of numpy whose draws are on a tape; anything else is that of the generator."""

    def __init__(self, generator: Any, tape: Tape) -> None:
        self._generator, self._tape = generator, tape

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """That of the generator: code that asks for its kind shall go its usual way."""
        return type(self._generator)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._generator, name)
        if name in _NOISES or name in _COINS or name == "choice":
            return _wrapped(self._tape, f"numpy.random.{name}", found)
        return found

    def spawn(self, count: int) -> list[RecordingGenerator]:
        """Generators of their own, on the same tape."""
        return [RecordingGenerator(one, self._tape) for one in self._generator.spawn(count)]


def _wrapped(tape: Tape, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    short = name.rpartition(".")[2]
    noise = _NOISES.get(short)

    def call(*arguments: Any, **named: Any) -> Any:
        if tape.inside:
            return original(*arguments, **named)
        if short == "choice":
            return _choice(tape, name, original, arguments, named)
        if noise is None:
            made = Call(name, "coins", {"arguments": repr((arguments, named))})
            if short in ("shuffle", "permutation", "sample"):
                made = Call(name, "coins")  # what is shuffled may be data, and is not compared
            return tape.ask(made, lambda: original(*arguments, **named)).answer
        family, scale_name = noise
        given = _named(short, arguments, named)
        scale = float(np.max(given.pop(scale_name, 1.0))) if scale_name else 1.0
        centre = next((given.pop(key) for key in _CENTRES if key in given), 0.0)
        size = given.get("size")
        parameters = {"scale": scale, "size": repr(size)}
        made = Call(name, family, parameters)
        drawn = tape.ask(made, lambda: original(*arguments, **{**named}) - np.asarray(centre))
        draw = NoiseDraw(drawn, tape)
        return draw if np.all(np.asarray(centre) == 0.0) and not isinstance(centre, np.ndarray) else draw + centre

    return call


def _named(short: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """The arguments by name, as numpy and random have them."""
    order = {"gauss": ("mu", "sigma"), "normalvariate": ("mu", "sigma"), "standard_normal": ("size",)}.get(short)
    if short == "randn":
        return {"size": arguments or None}
    return {**dict(zip(order or ("loc", "scale", "size"), arguments, strict=False)), **named}


def _choice(tape: Tape, name: str, original: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """A choice by probabilities, which hold the data; without them, coins."""
    weights = named.get("p")
    family: Family = "coins" if weights is None else "choice"
    made = Call(
        name, family, {"options": repr(arguments[:1])}, None if weights is None else np.asarray(weights, dtype=np.float64)
    )
    return tape.ask(made, lambda: original(*arguments, **named)).answer


def _of_opendp(tape: Tape) -> tuple[Any, str, Any]:
    owner = importlib.import_module("opendp.mod").Measurement
    original = owner.__call__

    def call(self: Any, arg: Any) -> Any:
        if tape.inside:
            return original(self, arg)

        def price(one: object, two: object) -> object:
            from dpkit.auditing.recording.losses import opendp_distance

            return self.map(opendp_distance(self, one, two))

        made = Call("opendp.measurements", "priced", {"measurement": repr(self)}, arg, price=price)
        made.again = lambda value: original(self, value)
        return tape.ask(made, lambda: original(self, arg)).answer

    return owner, "__call__", call


def _of_diffprivlib(tape: Tape) -> Iterator[tuple[Any, str, Any]]:
    module = importlib.import_module("diffprivlib.mechanisms")
    for name in dir(module):
        owner = getattr(module, name)
        if inspect.isclass(owner) and "randomise" in vars(owner) and not inspect.isabstract(owner):
            yield owner, "randomise", _randomise(tape, f"diffprivlib.mechanisms.{name}", vars(owner)["randomise"])


def _randomise(tape: Tape, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, value: Any = None) -> Any:
        if tape.inside:
            return original(self, value) if value is not None else original(self)
        if value is None:
            return _by_utility(tape, name, original, self)
        declared = {
            key: getattr(self, key) for key in ("epsilon", "delta", "sensitivity", "lower", "upper") if hasattr(self, key)
        }
        made = Call(name, "priced", declared, value, again=lambda other: original(self, other))
        made.escaped = callable(value)  # a function of the data is perturbed, and goes on holding the data
        return tape.ask(made, lambda: original(self, value)).answer

    return call


def _by_utility(tape: Tape, name: str, original: Callable[..., Any], mechanism: Any) -> Any:
    """A choice by utilities, which hold the data; where its options have a measure, what they stand for may hold data too."""
    utility = [float(one) for one in getattr(mechanism, "utility", ()) or ()]
    declared = {"epsilon": mechanism.epsilon, "sensitivity": getattr(mechanism, "sensitivity", None)}
    made = Call(name, "priced", declared, utility, by_largest=True, escaped=getattr(mechanism, "measure", None) is not None)
    return tape.ask(made, lambda: original(mechanism)).answer


def _of_path(tape: Tape, one: Primitive) -> tuple[Any, str, Any]:
    place, _, dotted = one.path.partition(":")
    try:
        owner: Any = importlib.import_module(place)
        *outer, name = dotted.split(".")
        for part in outer:
            owner = getattr(owner, part)
        original = getattr(owner, name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidValueError(
            field="primitives", found=f"{one.path} ({error})", allowed="module:name of a callable", where="record"
        ) from None
    signature = inspect.signature(original)

    def call(*arguments: Any, **named: Any) -> Any:
        if tape.inside:
            return original(*arguments, **named)
        bound = signature.bind(*arguments, **named)
        bound.apply_defaults()
        if one.value not in bound.arguments:
            raise InvalidValueError(field="value", found=one.value, allowed=f"an argument of {one.path}", where="record")
        holder = bound.arguments.get("self")

        def declared(key: str) -> Any:
            return bound.arguments.get(key, getattr(holder, key, None)) if key else None

        keys = {"epsilon": one.epsilon, "delta": one.delta, "sensitivity": one.sensitivity, "scale": one.scale}
        parameters = {key: declared(named_by) for key, named_by in keys.items() if named_by}

        def again(value: Any) -> Any:
            return original(**{**bound.arguments, one.value: value})

        made = Call(one.path, one.family, parameters, bound.arguments[one.value], again=again)
        return tape.ask(made, lambda: original(*arguments, **named)).answer

    return owner, name, call
