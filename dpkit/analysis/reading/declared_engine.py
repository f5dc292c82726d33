"""The engine of an analysis: read from its YAML, checked against what the engine declares, and opened over the data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dpkit.analysis.reading import keys
from dpkit.analysis.reading.nodes import NodeReader, described, joined, nearest, parameters
from dpkit.analysis.reading.read_yaml import Entries, Node, Scalar, plain
from dpkit.analysis.reading.spec import EngineSpec, Spec
from dpkit.contracts.engine import Closing, Engine
from dpkit.contracts.registry import Registry
from dpkit.contracts.table import Source
from dpkit.data.summing.named_engines import DEFAULT

DEFAULT_ENGINE = EngineSpec(name=DEFAULT, parameters={})

_ALLOWED = "the name of an engine, or a mapping from one name to its parameters"


def read_engine(reading: NodeReader, node: Node, registry: Registry) -> EngineSpec | None:
    """`NAME`, or `{NAME: {parameters}}`."""
    if isinstance(node, Scalar) and isinstance(node.value, str):
        name, at, given = node.value, node.place, None
    elif isinstance(node, Entries) and len(node.entries) == 1:
        ((name, given),) = node.entries.items()
        at = node.keys[name]
    else:
        found = f"{len(node.entries)} engines" if isinstance(node, Entries) else described(node)
        reading.problem(node, "engine", f"found {found}", _ALLOWED)
        return None
    known = {factory.name: factory for factory in registry.engines}
    if name not in known:
        brings = keys.KNOWN_ENGINES.get(name)
        hint = f"Install the plugin that brings it: pip install {brings}" if brings else nearest(name, known)
        reading.problem(at, "engine", f"there is no engine named {name!r}", ", ".join(known), hint)
        return None
    path = joined("engine", name)
    inner = None
    if given is not None and plain(given) is not None:
        inner = reading.mapping(given, path)
        if inner is None:
            return None
    values = parameters(reading, inner, path, known[name], node)
    return None if values is None else EngineSpec(name=name, parameters=values)


@contextmanager
def opened_engine(spec: Spec, source: Source) -> Iterator[Engine]:
    """The engine over a source; what it holds is given back at the end, however that comes."""
    engine = spec.registry.engine(spec.engine.name).over(source, **spec.engine.parameters)
    try:
        yield engine
    finally:
        if isinstance(engine, Closing):
            engine.close()
