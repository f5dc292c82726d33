"""The certificate: what was claimed, how it was attacked, and the result, in one versioned and sealed value."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import field, fields
from importlib import import_module
from typing import Any, Literal

from dpkit.accounting import from_json as value_from_json
from dpkit.errors import SerialisationError
from dpkit.pricing.serialise import dump, fits, hints_of, strict_json
from dpkit.privacy.claims import Claim
from dpkit.values import dataclass

VERSION = 1
Verdict = Literal["refuted", "not refuted", "inconclusive"]
_LATER = ("power_event", "recipe", "fresh_log_e_value", "relation", "pilot_samples")
_OUTSIDE = ("signature", "signer")
"""Not sealed by the digest: they speak of it."""
Arithmetic = Literal["real arithmetic", "floating point", "declared law", "records"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """The pair of datasets and the event that speak against the claim most; counts are of fresh samples where there are any.

    `hits` are outputs in the event: of the side that should have more, then of the other; `output` is an impossible one.
    `code` is the event as a lambda of an output, which runs wherever numpy is; it speaks of `log_density` where only the
    declared law can tell. `forward`: the first dataset is the one that should have more. `encoding`
    says how outcomes of any kind became the numbers that the code speaks of.
    """

    pair: tuple[str, str]
    event: str
    code: str
    hits: tuple[int, int] | None = None
    trials: int = 0
    output: tuple[float, ...] = ()
    forward: bool = True
    encoding: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditCertificate:
    """Refuted: the claim is false, or something of probability at most 1 - confidence happened (over the whole audit).

    Not refuted is no proof: `power` is the smallest epsilon (at `delta`) that this many samples would have exposed with
    probability 0.95, at this pair, through an event of probability `power_event` (that of the most telling event seen).
    `epsilon_lower` is below the true epsilon at `delta` with the same confidence. `hypothesis` says what was tested: the claim
    in real arithmetic or of what runs in floating point, that samples follow the declared law, or that records add up.
    `recipe` is what a replay is made from, as JSON. `fresh_log_e_value` is ln of the evidence of one fixed bet on fresh
    samples, for a law that is tested without an event. A refutation is `confirmed` where fresh samples alone support it, or by
    proof. `samples` counts all that the verdict rests on, `pilot_samples` of them by which a pair was found and independence
    was checked. `relation` says how the two datasets differ.
    """

    target: str
    claim: Claim
    hypothesis: Arithmetic
    verdict: Verdict
    falsifier: str
    tried: tuple[str, ...]
    epsilon_lower: float
    delta: float
    samples: int
    bound_samples: int
    confidence: float
    log_e_value: float
    level: float
    witness: Witness
    power: float | None
    note: str
    seed: int
    budget: int
    floating_point: bool
    software: tuple[tuple[str, str], ...]
    power_event: float | None = None
    recipe: str = ""
    fresh_log_e_value: float | None = None
    relation: str = ""
    pilot_samples: int = 0
    digest: str = field(default="")
    signature: str = ""
    signer: str = ""

    def __post_init__(self) -> None:
        if not self.digest:
            object.__setattr__(self, "digest", self.seal())

    @property
    def refuted(self) -> bool:
        """Whether the verdict is `refuted`."""
        return self.verdict == "refuted"

    @property
    def confirmed(self) -> bool:
        """Whether a refutation is supported by more than the process: by proof, or by counts on fresh samples alone."""
        if not self.refuted:
            return False
        if self.log_e_value == math.inf and self.witness.hits is None:
            return True
        if self.hypothesis == "declared law":
            return (self.fresh_log_e_value or 0.0) >= -math.log(self.level)
        from dpkit.auditing.betting.profile import points_of

        claimed = points_of(self.claim.loss)
        return any(self.epsilon_lower > point.epsilon and self.delta >= point.delta for point in claimed)

    @property
    def e_value(self) -> float:
        """The evidence against the claim: at most 1 on average under it; infinity for proof."""
        return math.exp(self.log_e_value) if self.log_e_value < 700.0 else math.inf

    def seal(self) -> str:
        """A hash of everything else."""
        body = {name: value for name, value in self._body().items() if name not in ("digest", *_OUTSIDE)}
        text = json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return "sha256:" + hashlib.sha256(text.encode()).hexdigest()

    @property
    def intact(self) -> bool:
        """Whether the seal fits: it finds changes of the text, and `replay` finds a text that was sealed anew."""
        return self.digest == self.seal()

    def to_json(self) -> str:
        """Versioned JSON, sealed."""
        return json.dumps({"dpkit_audit": VERSION, **self._body()}, indent=2, allow_nan=False)

    @staticmethod
    def from_json(text: str) -> AuditCertificate:
        """The certificate that was written; a tampered one is refused."""
        certificate = _read(text)
        if not certificate.intact:
            raise SerialisationError(
                reason="the certificate was changed after it was written: its digest does not fit.",
                fix="Ask for the original, or audit again.",
            )
        return certificate

    def __str__(self) -> str:
        from dpkit.auditing.certificates.formats import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return str(import_module("dpkit.report.notebooks").certificate_html(self))

    def _body(self) -> dict[str, object]:
        body: dict[str, object] = {}
        for part in fields(self):
            value = getattr(self, part.name)
            if isinstance(value, Claim):
                value = json.loads(dump(value))["value"]
            elif isinstance(value, Witness):
                value = {inner.name: _plain(getattr(value, inner.name)) for inner in fields(value)}
                if value["forward"]:
                    del value["forward"]  # certificates from before these existed keep their digest
                if not value["encoding"]:
                    del value["encoding"]
            body[part.name] = _plain(value)
        for name in (*_LATER, *_OUTSIDE):
            if not body[name]:
                del body[name]  # certificates from before it existed keep their digest
        return body


def _plain(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _read(text: str) -> AuditCertificate:
    document = strict_json(text)
    try:
        if document["dpkit_audit"] != VERSION:
            raise SerialisationError(reason=f"it is a certificate of version {document['dpkit_audit']!r}.")
        later = (*_LATER, *_OUTSIDE)
        body = {part.name: document[part.name] for part in fields(AuditCertificate) if part.name not in later}
        body |= {name: document[name] for name in later if name in document}
        claim = value_from_json(json.dumps({"dpkit": 1, "value": body["claim"]}))
        witness = {name: _tuples(value) for name, value in body["witness"].items()}
        numbers = {name: _number(body[name]) for name in _NUMBERS if name in body}
        rest = {name: _tuples(body[name]) for name in ("tried", "software")}
        read = AuditCertificate(**{**body, **numbers, **rest, "claim": claim, "witness": Witness(**witness)})
        wrong = next((name for part in (read, read.witness) for name in _misfits(part)), None)
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        if isinstance(error, SerialisationError):
            raise
        raise SerialisationError(reason=f"it is not an audit certificate ({type(error).__name__}).") from None
    if wrong is not None:
        raise SerialisationError(reason=f"it is not an audit certificate: its {wrong!r} is not as certificates have it.")
    return read


_NUMBERS = ("epsilon_lower", "delta", "confidence", "log_e_value", "level", "power", "fresh_log_e_value")
_COUNTS = ("samples", "pilot_samples", "bound_samples", "budget", "trials", "hits")


def _misfits(part: AuditCertificate | Witness) -> Iterator[str]:
    """Fields that are not as certificates have them: a text may be sealed anew by anybody, so the seal says nothing of it."""
    kind: type = type(part)
    for name, hint in hints_of(kind).items():
        value = getattr(part, name)
        items = value if isinstance(value, tuple) else (value,)
        if (
            not fits(value, hint)
            or any(isinstance(item, float) and math.isnan(item) for item in items)
            or (name in _COUNTS and any(item is not None and item < 0 for item in items))
            or (name == "confidence" and not 0.0 <= value <= 1.0)
            or (name == "level" and not 0.0 < value <= 1.0)
        ):
            yield name if isinstance(part, AuditCertificate) else f"witness.{name}"


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, str | int) and not isinstance(value, bool) else value
