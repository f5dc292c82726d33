"""Looking values up in a public table of unique keys: a row's own key gives its own values, so a row still decides alone."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from dpkit.contracts.table import Batch, Cells, Table
from dpkit.data.columns.cells import objects, read_texts
from dpkit.data.columns.kinds import Category, Column
from dpkit.data.columns.schema import Schema
from dpkit.data.expressions import tree
from dpkit.data.expressions.derived import Derived
from dpkit.data.expressions.facts import Fact, ValueKind, fact_of
from dpkit.data.expressions.tree import Node
from dpkit.errors import InvalidValueError

MOST_KEYS = 1_000_000
_ROWS = 1 << 16


def join(schema: Schema, table: Table, *, on: str, key: str, columns: Sequence[Column], name: str) -> Schema:
    """The schema with columns that rows look up in `table` by their value of `on`, which is `key` there.

    `table` is public: all of it is read, here. Its keys must differ. Where `on` is not declared, its levels are the keys.
    A row whose key is not there has NULL.
    """
    keys, values, digest = _read(table, key, columns)
    if on not in schema.names:
        schema = Schema(columns=(*schema.columns, Category(name=on, levels=keys)), let=schema.let, where=schema.where)
    place = {one: number for number, one in enumerate(keys)}
    texts, row = _texts_of(schema, on)
    chosen = [place.get(text) for text in texts]
    for column in columns:
        codes = column.encode(Cells(values=objects([None if one is None else values[column.name][one] for one in chosen])))
        codes = np.where([one is None for one in chosen], np.nan, codes)  # no such key: NULL, whatever policies say
        fact = fact_of(column)
        if fact is None:
            raise InvalidValueError(field="columns", found=column.name, allowed="columns with bounds or levels", where="join")
        found = Fact(
            kind=fact.kind,
            lower=fact.lower,
            upper=fact.upper,
            nullable=row.fact.nullable or bool(np.isnan(codes).any()),
            whole=fact.whole,
            texts=fact.texts,
        )
        node = Node(operation="table", fact=found, inputs=(row,), given=tuple(codes.tolist()))
        said = f"join {name} on {on} = {key}: {column!r}, {digest}"
        schema = schema.with_derived(Derived(name=column.name, sql=said, fact=found, tree=node, joined=True))
    return schema


def _texts_of(schema: Schema, on: str) -> tuple[tuple[str, ...], Node]:
    """The texts that a row's key can be, and its place among them."""
    fact = schema.facts[on]
    if fact is not None and fact.kind is ValueKind.TEXT:
        return fact.texts, tree.column(on, fact)
    if fact is None or fact.kind is not ValueKind.NUMBER or not fact.whole or fact.upper - fact.lower >= MOST_KEYS:
        allowed = "a category, a whole number, or a column that is not declared: its levels are then the keys of the table"
        raise InvalidValueError(field="on", found=on, allowed=allowed, where="join")
    texts = tuple(str(number) for number in range(int(fact.lower), int(fact.upper) + 1))
    place = Fact(kind=ValueKind.NUMBER, lower=0.0, upper=len(texts) - 1.0, nullable=fact.nullable, whole=True)
    shifted = Node(operation="-", fact=place, inputs=(tree.column(on, fact), tree.constant(fact.lower)))
    return texts, shifted


def _read(table: Table, key: str, columns: Sequence[Column]) -> tuple[tuple[str, ...], dict[str, list[object]], str]:
    """The keys, the cells of each column, and a digest of both."""
    names = tuple(dict.fromkeys((key, *(column.name for column in columns))))
    for name in names:
        if name not in table.names:
            allowed = f"a column of the table: {', '.join(table.names)}"
            raise InvalidValueError(field="columns" if name != key else "on", found=name, allowed=allowed, where="join")
    keys: list[str] = []
    values: dict[str, list[object]] = {name: [] for name in names}
    for batch in table.batches(names, _ROWS):
        keys += [text or "" for text in read_texts(batch.cells[key])]
        for name in names:
            values[name] += _items(batch, name)
        if len(keys) > MOST_KEYS:
            raise InvalidValueError(field="table", found="more rows", allowed=f"at most {MOST_KEYS}", where="join")
    seen: set[str] = set()
    for one in keys:
        if not one or one in seen:
            found = f"the key {one!r} twice" if one else "an empty key"
            raise InvalidValueError(field="table", found=found, allowed="keys that differ", where="join")
        seen.add(one)
    if not keys:
        raise InvalidValueError(field="table", found="no row", allowed="at least one key", where="join")
    digest = hashlib.sha256(repr((keys, values)).encode("utf-8", "surrogateescape")).hexdigest()[:32]
    return tuple(keys), values, digest


def _items(batch: Batch, name: str) -> list[object]:
    cells = batch.cells[name]
    items: list[object] = cells.values.tolist()
    if cells.missing is None:
        return items
    return [None if gone else item for item, gone in zip(items, cells.missing.tolist(), strict=True)]
