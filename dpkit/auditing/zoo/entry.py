"""An entry of the zoo that can be audited: what it declares, and whose it is."""

from __future__ import annotations

from dataclasses import dataclass, fields

from dpkit.auditing.audit import audit
from dpkit.auditing.betting.campaign import Watch
from dpkit.auditing.certificates.certificate import AuditCertificate
from dpkit.contracts.zoo import ZooEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(ZooEntry):
    """What `dpkit audit --zoo` runs. `plugin` names where it is from; dpkit's own are of `dpkit`."""

    plugin: str = "dpkit"

    @classmethod
    def of(cls, declared: ZooEntry, *, plugin: str = "") -> Entry:
        """The entry that a plugin declares."""
        return cls(plugin=plugin, **{part.name: getattr(declared, part.name) for part in fields(ZooEntry)})

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
