"""Audits of algorithms by name: everything that a run needs stands in the certificate, so that a replay needs no objects."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpkit.auditing.algorithms.transcripts import audit_algorithm
from dpkit.auditing.certificates.certificate import AuditCertificate
from dpkit.auditing.certificates.recipe import decoded, encoded
from dpkit.contracts.registry import Registry
from dpkit.data.columns.kinds import Boolean, Category, Column, Number, Policy
from dpkit.data.columns.schema import Schema
from dpkit.data.columns.unit import PrivacyUnit
from dpkit.data.setting import DeclaredSetting
from dpkit.data.summing.block_engine import BlockEngine
from dpkit.data.tables.open_source import open_source
from dpkit.errors import DpkitError, InvalidValueError, SerialisationError
from dpkit.hooks.manager import default_registry
from dpkit.privacy.losses import Loss
from dpkit.privacy.neighbours import Neighbours

Table = Mapping[str, Sequence[Any]]
"""Named columns of a small, made-up dataset."""
_COLUMNS: dict[str, type] = {"Number": Number, "Category": Category, "Boolean": Boolean}


def audit_named_algorithm(
    name: str,
    parameters: Mapping[str, object],
    noise: float,
    *,
    setting: DeclaredSetting,
    tables: tuple[Table, Table],
    claim: Loss | None = None,
    confidence: float = 0.999,
    samples: int = 2_000,
    rng: np.random.Generator | int | None = None,
    time: float | None = None,
    registry: Registry | None = None,
) -> list[AuditCertificate]:
    """`audit_algorithm` of the algorithm that the registry makes by this name, on two neighbouring tables.

    The certificate holds the name, the parameters, the setting and both tables, and `dpkit audit replay` runs it again.
    """
    known = default_registry() if registry is None else registry
    recipe: dict[str, object] = {
        "algorithm": name,
        "parameters": encoded(dict(parameters)),
        "noise": float(noise),
        "setting": _written(setting),
        "tables": encoded([{column: list(values) for column, values in table.items()} for table in tables]),
        "claim": "plan" if claim is None else "given",
    }
    for part in ("parameters", "tables"):
        if recipe[part] is None:
            raise InvalidValueError(
                field=part, found="values of other types", allowed="numbers, texts and lists of these", where="audit"
            )
    sources = [open_source(dict(table), setting.schema, unit=setting.unit, neighbours=setting.neighbours) for table in tables]
    return audit_algorithm(
        known.algorithm(name).prepare(setting, **parameters),
        noise,
        setting=setting,
        engines=(BlockEngine(sources[0]), BlockEngine(sources[1])),
        claim=claim,
        confidence=confidence,
        samples=samples,
        rng=rng,
        time=time,
        name=name,
        registry=known,
        recipe=recipe,
    )


def rerun_algorithm(
    recipe: Mapping[str, Any], certificate: AuditCertificate, *, samples: int, registry: Registry
) -> list[AuditCertificate]:
    """The same audit, from its recipe and the seed of the certificate."""
    try:
        parameters, tables = decoded(recipe["parameters"]), decoded(recipe["tables"])
        name, noise, setting = str(recipe["algorithm"]), float(recipe["noise"]), _read(recipe["setting"])
        given = recipe["claim"] == "given"
    except (KeyError, TypeError, ValueError) as error:
        raise SerialisationError(reason=f"the recipe names no audit of an algorithm ({type(error).__name__}).") from None
    return audit_named_algorithm(
        name,
        parameters,
        noise,
        setting=setting,
        tables=(tables[0], tables[1]),
        claim=certificate.claim.loss if given else None,
        confidence=certificate.confidence,
        samples=samples,
        rng=certificate.seed,
        registry=registry,
    )


def _written(setting: DeclaredSetting) -> dict[str, object]:
    return {
        "columns": [_column(column) for column in setting.schema.columns],
        "neighbours": setting.neighbours.value,
        "unit": {"column": setting.unit.column, "at_most": setting.unit.at_most},
        "rows": setting.rows,
    }


def _column(column: Column) -> dict[str, object]:
    kind = type(column).__name__
    if _COLUMNS.get(kind) is not type(column):
        raise InvalidValueError(field="schema", found=kind, allowed="Number, Category and Boolean columns", where="audit")
    body: dict[str, object] = {"is": kind}
    for part in dataclasses.fields(column):  # type: ignore[arg-type]
        value = getattr(column, part.name)
        body[part.name] = {"policy": value.value} if isinstance(value, Policy) else encoded(value)
    return body


def _read(node: Mapping[str, Any]) -> DeclaredSetting:
    try:
        columns = []
        for column in node["columns"]:
            fields = {
                name: Policy(value["policy"]) if "policy" in value else decoded(value)
                for name, value in column.items()
                if name != "is"
            }
            columns.append(_COLUMNS[column["is"]](**fields))
        unit = PrivacyUnit(column=node["unit"]["column"], at_most=node["unit"]["at_most"])
        neighbours = Neighbours(node["neighbours"])
        return DeclaredSetting(schema=Schema(columns=tuple(columns)), neighbours=neighbours, unit=unit, rows=node["rows"])
    except (KeyError, TypeError, ValueError, DpkitError) as error:
        if isinstance(error, SerialisationError):
            raise
        raise SerialisationError(reason=f"the recipe holds no setting ({type(error).__name__}).") from None
