"""Disclosures: what the public should know of an analysis or of a ledger, in the form of the deployments registry of OpenDP and
NIST, as a page along NIST SP 800-226, and as a label in plain words. What only a person knows is marked to be filled in.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from dpkit._version import __version__
from dpkit.analysis.outputs import check_replaceable, write_output
from dpkit.analysis.plan import Plan
from dpkit.analysis.reading.read_yaml import written_yaml
from dpkit.contracts.guarantee import Guarantee
from dpkit.errors import PlanRefusedError
from dpkit.numerics.rounding import format_up, in_full, percent_up
from dpkit.pricing.serialise import parse
from dpkit.privacy.events import Compose, Event, Repeat, flatten
from dpkit.privacy.losses import ZCDP, ApproxDP, Loss, PureDP
from dpkit.privacy.neighbours import Neighbours
from dpkit.release.ledger.balance_in_epsilon import READ_AT
from dpkit.release.ledger.entries import canonical
from dpkit.release.ledger.ledger import Ledger
from dpkit.report.found_audits import FoundAudit
from dpkit.report.html import audit_beside
from dpkit.values import dataclass

TO_FILL_IN = "TO FILL IN"
REGISTRY = "opendp/deployments-registry-data, schemas/deployments-schema.yaml, of 2026-07-15 (3e9c812)"
"""The version of the registry's schema that is followed."""

_FLOATS = "Noise is exactly rounded to a grid that does not depend on the data, so floating-point numbers leak nothing."
_RANDOM = "Randomness is ChaCha20, keyed by the operating system. How long a run takes is not protected."


@dataclass(frozen=True, slots=True, kw_only=True)
class DisclosedFacts:
    """What is known of a disclosure, whatever it is of."""

    name: str
    what: str
    dataset: str
    domain: str
    unit: Mapping[str, object] | str
    neighbours: Neighbours
    guaranteed: Loss
    guarantee: Guarantee
    details: str
    unprotected: Sequence[str]
    many: bool
    composition: Sequence[str]
    mechanisms: Sequence[str]
    checks: str
    identity: str

    @property
    def who(self) -> str:
        """Whose data is protected."""
        if isinstance(self.unit, str):
            return "row"
        return f"person ({self.unit.get('column')}), of whom at most {self.unit.get('at_most')} rows are used"

    @property
    def adjacency(self) -> str:
        """What neighbours are."""
        how = "one {} is replaced by any other, their number staying" if self._replaced else "one {} is there or not"
        return f"Two datasets are adjacent if {how.format(self.who)} ({self.neighbours}). The distance is 1."

    @property
    def _replaced(self) -> bool:
        return self.neighbours is Neighbours.REPLACE_ONE

    @property
    def parameters(self) -> dict[str, object]:
        """Epsilon and delta, or rho."""
        loss = self.guaranteed
        if isinstance(loss, PureDP):
            return {"epsilon": loss.epsilon}
        if isinstance(loss, ApproxDP):
            return {"epsilon": loss.epsilon, "delta": loss.delta}
        if isinstance(loss, ZCDP) and not loss.delta:
            return {"rho": loss.rho}
        return {"epsilon": self.guarantee.epsilon(delta=READ_AT), "delta": READ_AT}

    @property
    def variant(self) -> str:
        """The registry's name of the notion."""
        found = set(self.parameters)
        return "Zero-concentrated DP" if "rho" in found else "Approximate DP" if "delta" in found else "Pure DP"


@dataclass(frozen=True, slots=True, kw_only=True)
class Disclosure:
    """The three forms of a disclosure."""

    facts: DisclosedFacts

    @property
    def document(self) -> dict[str, object]:
        """The entry of the registry, as its schema has it."""
        return registry_document(self.facts)

    @property
    def yaml(self) -> str:
        """The registry's entry."""
        head = f"# dpkit disclosure of {_line(self.facts.name)}\n# {TO_FILL_IN} marks what only a person knows.\n"
        return head + written_yaml(self.document)

    @property
    def nist(self) -> str:
        """The page along NIST SP 800-226."""
        return nist_page(self.facts)

    @property
    def label(self) -> str:
        """The label for the public."""
        return public_label(self.facts)

    def write(self, folder: Path) -> tuple[Path, ...]:
        """Write all three into a folder; `OutputError` where something else stands."""
        slug = _slug(self.facts.name)
        forms = {
            "disclosure": (folder / f"{slug}_disclosure.yaml", self.yaml),
            "disclosure page": (folder / f"{slug}_nist_sp_800_226.md", self.nist),
            "label": (folder / f"{slug}_label.md", self.label),
        }
        for kind, (path, _) in forms.items():
            check_replaceable(path, kind)
        for path, text in forms.values():
            write_output(path, text)
        return tuple(path for path, _ in forms.values())


def disclose_plan(plan: Plan) -> Disclosure:
    """The disclosure of an analysis, from its plan, its ledger and the audit beside its report. Reads no data."""
    spec, explained = plan.spec, plan.explanation
    if not plan.guarantee.holds:
        unsound = ", ".join(plan.guarantee.unsound)
        reason = f"There is no guarantee to disclose: the price rests on rules that were accepted by name ({unsound})."
        raise PlanRefusedError(reason=reason, nearest="Use mechanisms whose claims are proved.")
    replaced = plan.guarantee.neighbours is Neighbours.REPLACE_ONE
    columns = ", ".join(f"{column.name} ({type(column).__name__.lower()})" for column in spec.data.schema.columns)
    unprotected = ["Names, bounds and levels of the columns, which were declared and not read from the data."]
    if replaced and spec.data.unit.column is None:
        unprotected.append(f"The number of rows{'' if spec.data.rows is None else f', {spec.data.rows}'}.")
    else:
        unprotected.append("Nothing that depends on rows, their number included.")
    composition = [
        f"{line.times} x {line.event}: {line.rule}{f' via {line.conversion}' if line.conversion else ''} "
        f"({'; '.join(map(str, line.because))}), {line.share:.1%} of the loss"
        for line in explained.lines
    ]
    reader = f"{explained.accountant!r} ({explained.because})"
    composition.insert(0, f"All steps are added up by the accountant {reader} before data is read.")
    if plan.ledger is not None:
        composition.append(
            f"A ledger counts all runs on the dataset, by the accountant {plan.ledger.accountant!r} and a filter theorem "
            f"({plan.ledger.because}): {dict(plan.ledger.purse.lines())['budget']} in all."
        )
    mechanisms = [
        f"step {step.id} ({step.run}): {release.times} x {release.query} by {release.mechanism}"
        for step in plan.steps
        for release in step.releases
    ]
    loss = ApproxDP(epsilon=plan.epsilon, delta=plan.delta) if plan.delta else PureDP(epsilon=plan.epsilon)
    facts = DisclosedFacts(
        name=spec.path.stem,
        what=f"{len(plan.steps)} released answers: {', '.join(step.id for step in plan.steps)}",
        dataset=spec.data.name,
        domain=f"Tables with the columns {columns}. Values outside of the declared bounds are mapped into them, row by row.",
        unit=spec.data.unit.terms if isinstance(spec.data.unit.terms, Mapping) else "row",
        neighbours=plan.guarantee.neighbours,
        guaranteed=loss,
        guarantee=plan.guarantee,
        details=plan.sentence,
        unprotected=unprotected,
        many=plan.ledger is not None,
        composition=composition,
        mechanisms=mechanisms,
        checks=_checks(audit_beside(spec)),
        identity=f"dpkit {__version__}, analysis {spec.fingerprint}",
    )
    return Disclosure(facts=facts)


def disclose_ledger(ledger: Ledger, name: str) -> Disclosure:
    """The disclosure of all runs on a ledger: what holds is its budget, whatever they ask."""
    counts: Counter[Event] = Counter()
    runs = set()
    for entry in ledger.entries():
        if entry.kind == "charge":
            runs.add(entry.run)
            found = parse(canonical(entry.body["event"]), registry=ledger.pricer.filter.registry)
            if isinstance(found, Event):
                counts.update(flatten(found))
    terms, theorem = ledger.terms, ledger.pricer.filter.theorem
    event = Compose(events=tuple(Repeat(event=part, times=times) for part, times in counts.items()))
    # what the filter keeps is what everybody may count on, spent or not
    guarantee = theorem.accountant.guarantee(theorem.accountant.lift(theorem.limit), neighbours=terms.neighbours)
    facts = DisclosedFacts(
        name=name,
        what=f"all releases of {len(runs)} runs on one ledger",
        dataset=terms.dataset,
        domain=f"{TO_FILL_IN}: which tables are protected; the ledger keeps the fingerprint of the columns alone.",
        unit=terms.unit if isinstance(terms.unit, Mapping) else "row",
        neighbours=terms.neighbours,
        guaranteed=terms.budget,
        guarantee=guarantee,
        details=f"It holds for all runs together, whatever they ask and when they stop; the filter keeps {theorem.limit!r}.",
        unprotected=["Declared names, bounds and levels; under replace-one with rows as the unit, the number of rows."],
        many=True,
        composition=[
            f"Fully adaptive, by the accountant {theorem.accountant.name!r} and a filter theorem ({theorem.because})."
        ],
        mechanisms=[f"{times} x {part!r}"[:200] for part, times in flatten(event).items()] or ["nothing was released yet"],
        checks="`dpkit ledger verify` recomputes the chain of entries and prices every event again.",
        identity=f"dpkit {__version__}, ledger {ledger.id}, digest {ledger.head().hash}",
    )
    return Disclosure(facts=facts)


def _checks(audit: FoundAudit) -> str:
    if audit.note:
        return audit.note
    refuted = sum(one.refuted for one in audit.certificates)
    tried = f"{len(audit.certificates)} claims were audited beside the report, {refuted} refuted"
    broken = f", {len(audit.faults)} laws broken" if audit.faults else ""
    return f"{tried}; {len(audit.queries)} queries were searched, {len(audit.wrong)} refuted{broken}."


def registry_document(facts: DisclosedFacts) -> dict[str, object]:
    """The entry of the registry; every field of its schema, in its order."""
    readings = _readings(facts)
    return {
        "url_slug": _slug(facts.name).replace("_", "-"),
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": {
                "name": _line(facts.name),
                "data_curators": [f"{TO_FILL_IN}: who publishes it"],
                "intended_use": f"{TO_FILL_IN}: what it is for",
                "data_product_type": "Summary statistics",
                "data_product_region": f"{TO_FILL_IN}: which region, and whose law",
                "description": f"{_line(facts.what)}, of the dataset {_line(facts.dataset)}",
                "publication_date": datetime.date.today().isoformat(),
            },
            "dp_variant": {
                "variant_name": facts.variant,
                "data_domain": _line(facts.domain),
                "unprotected_quantities": _bullets(facts.unprotected),
            },
            "privacy_loss": {
                "privacy_unit": facts.who,
                "privacy_unit_details": facts.adjacency,
                "privacy_parameters": facts.parameters,
                "privacy_parameters_details": f"{facts.details} {readings}",
            },
            "deployment_model": {
                "model_name": "Central",
                "model_name_details": "The curator holds the data; noise is added before anything is released.",
                "actors": f"{TO_FILL_IN}: curator, data subjects, users, adversaries, and who trusts whom",
                "release_type": "Many releases" if facts.many else "One release",
                "release_type_details": "One budget for all runs on the dataset, kept by a ledger."
                if facts.many
                else f"{TO_FILL_IN}: whether the data will be used again; no ledger counts that.",
                "data_source_type": "Static",
                "data_source_type_details": f"{TO_FILL_IN}: whether data comes in over time",
                "access_type": "Non-interactive",
                "access_type_details": "Analyses are planned and priced as a whole before data is read.",
            },
            "accounting": {
                "post_processing": "Intervals and estimates are computed from released values alone. "
                f"{TO_FILL_IN}: what else is done to them",
                "composition": _bullets(facts.composition),
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": "Each row is mapped into its declared bounds on its own. "
                f"{TO_FILL_IN}: what was done to the data before, and how bounds and budget were chosen",
                "mechanisms": _bullets([*facts.mechanisms, _FLOATS, _RANDOM, facts.checks]),
                "justification": f"{TO_FILL_IN}: why these parameters",
            },
            "administrative": {
                "sources": facts.identity,
                "notes": f"Written by dpkit after {REGISTRY}. The publication date and the type of the product are guesses: "
                "check them, and what says " + TO_FILL_IN + ".",
                "registry_authors": [f"{TO_FILL_IN}: who wrote this entry"],
            },
        },
    }


def _readings(facts: DisclosedFacts) -> str:
    power, guess = facts.guarantee.power(0.05), facts.guarantee.posterior(0.5)
    return (
        f"By the whole privacy profile, no attack with 5% false alarms finds out with probability above {percent_up(power)}, "
        f"and a guess at even odds is right with at most {percent_up(guess)}."
    )


def nist_page(facts: DisclosedFacts) -> str:
    """The points of NIST SP 800-226 (2025), from the top of its pyramid down; the words are dpkit's."""
    shown = ", ".join(f"{name} = {_number(value)}" for name, value in facts.parameters.items())
    rows = [
        ("Privacy parameters", f"{facts.variant}: {shown}. {_readings(facts)}"),
        ("Unit of privacy", f"One {facts.who}. {facts.adjacency}"),
        ("Unprotected quantities", " ".join(facts.unprotected)),
        ("Composition", " ".join(facts.composition)),
        ("Algorithms and correctness", "; ".join(facts.mechanisms)),
        ("Utility", "Expected errors were stated before the run, and stand beside the answers."),
        ("Bias", f"{TO_FILL_IN}: small groups lose most by noise; who is affected, and what was done about it."),
        ("Query model", "Planned as a whole; many runs share one ledger." if facts.many else "One planned analysis."),
        ("Trust and threat model", f"Central: the curator sees the data. {TO_FILL_IN}: who is trusted, and who is not."),
        ("Implementation: numbers", _FLOATS),
        ("Implementation: randomness and side channels", _RANDOM),
        ("Implementation: tests", facts.checks),
        ("Data security and access control", f"{TO_FILL_IN}: where the data lies, and who can read it."),
        ("Data collection exposure", f"{TO_FILL_IN}: how the data was collected, and who saw it then."),
    ]
    table = "\n".join(f"| {name} | {_line(text).replace('|', '/')} |" for name, text in rows)
    return (
        f"<!-- dpkit disclosure page -->\n# {_line(facts.name)}: the points of NIST SP 800-226\n\n"
        f"| point | what holds |\n|---|---|\n{table}\n\n{facts.identity}\n"
    )


def public_label(facts: DisclosedFacts) -> str:
    """One page for everybody."""
    power, guess = percent_up(facts.guarantee.power(0.05)), percent_up(facts.guarantee.posterior(0.5))
    replaced = facts.neighbours is Neighbours.REPLACE_ONE
    hidden = "what your data says" if replaced else "whether your data is in it at all"
    rows = (
        ""
        if isinstance(facts.unit, Mapping)
        else " If you have several rows, you are protected less: each row counts on its own."
    )
    more = (
        "A ledger counts every release on this data, so that together they stay within one limit."
        if facts.many
        else "This is one release. Others on the same data would add to it; nobody counts them here."
    )
    return f"""<!-- dpkit label -->
# {_line(facts.name)}

**What is published**: {_line(facts.what)}, from the dataset {_line(facts.dataset)}. Published by {TO_FILL_IN}.

**What protects you**: random noise was added before anything was published. It hides {hidden}.{rows}

**How well**: take somebody who knows everything but you, and wants to find out.
- Someone who would guess right half of the time without it guesses right in at most {guess} of all cases with it.
- If they may raise a false alarm in 5 of 100 cases, they find out in at most {power}. Without any data it would be 5%.

**What it does not hide**: what is true of many people at once. {" ".join(facts.unprotected)}

**How often**: {more}

**For experts**: {facts.variant}, {", ".join(f"{name} = {_number(value)}" for name, value in facts.parameters.items())}, \
{facts.neighbours}, one {facts.who}. {facts.identity}

**Questions**: {TO_FILL_IN}
"""


def _number(value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    return in_full(value) if value < 1e-3 else format_up(value)


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:80] or "analysis"


def _line(text: str) -> str:
    return " ".join(text.split())


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {_line(line)}" for line in lines)
