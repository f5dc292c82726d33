"""What an entry of the zoo declares: a sampler, a claim, a pair, and whether the claim is true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dpkit.auditing.campaign import Watch
from dpkit.auditing.certificate import AuditCertificate
from dpkit.auditing.outputs import Sampler
from dpkit.auditing.runner import audit
from dpkit.core.losses import Loss
from dpkit.core.mechanism import WhiteBox


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """`truth` is of the claim in the arithmetic named: an entry that is broken in floating point only is right otherwise.

    `falsifiers` names what the entry is there to exercise; None stands for the automatic choice.
    """

    name: str
    sampler: Sampler
    claim: Loss
    pair: tuple[object, object]
    truth: Literal["broken", "right"]
    about: str
    density: WhiteBox | None = None
    falsifiers: tuple[str, ...] | None = ("black box",)
    floating_point: bool = False

    @property
    def broken(self) -> bool:
        """Whether the claim is false."""
        return self.truth == "broken"

    def audit(
        self,
        *,
        confidence: float = 0.999,
        samples: int = 200_000,
        rng: int = 0,
        time: float | None = None,
        watch: Watch | None = None,
    ) -> AuditCertificate:
        """The certificate that decides about this entry: the refuted one, else the last."""
        certificates = self.audits(confidence=confidence, samples=samples, rng=rng, time=time, watch=watch)
        return next((one for one in certificates if one.refuted), certificates[-1])

    def audits(
        self,
        *,
        confidence: float = 0.999,
        samples: int = 200_000,
        rng: int = 0,
        time: float | None = None,
        watch: Watch | None = None,
    ) -> list[AuditCertificate]:
        """All certificates; where only rounding is at stake, only that one."""
        found = audit(
            self.sampler,
            self.claim,
            self.pair,
            confidence,
            samples,
            rng,
            density=self.density,
            falsifiers=self.falsifiers,
            floating_point=self.floating_point,
            time=time,
            watch=watch,
            name=f"zoo:{self.name}",
        )
        return [one for one in found if one.falsifier != "none"]
