"""What must hold of a ledger whatever happened to the processes that used it, worked out from its entries alone."""

from collections import Counter
from fractions import Fraction

from dpkit import Ledger
from dpkit.release.ledger.verify import verify


class BrokenError(AssertionError):
    """An invariant does not hold."""


def check_ledger(path, *, seen, launches, head=None):
    """Verify the file, then hold its entries against what was seen; the new head.

    `seen` yields (analysis, key, value) of all that went out, `launches` counts the processes that each analysis has had.
    """
    with Ledger.open(path) as ledger:
        found = verify(ledger, head=head)
        if not found.ok:
            raise BrokenError(f"{path.name}: verify finds {[str(problem) for problem in found.problems]}")
        entries, limit = ledger.entries(), ledger.pricer.filter.theorem.limit
    check_budget(entries, limit=Fraction(limit.rho))
    check_order(entries)
    check_payments(entries, launches)
    check_seen(entries, seen)
    return found.head


def check_budget(entries, *, limit):
    """The sum of the prices of all charges, as exact fractions, keeps within the limit."""
    spent = sum((price_of(entry) for entry in entries if entry.kind == "charge"), Fraction(0))
    if spent > limit:
        raise BrokenError(f"charged {float(spent)} of {float(limit)}")


def price_of(entry):
    """rho of a charge."""
    rho, slack = map(Fraction, entry.body["price"])
    if slack:
        raise BrokenError("an analysis by zCDP alone has no slack")
    return rho


def check_order(entries):
    """Each release stands after a charge of its own, which nothing else used and which was not given up."""
    pending = {}
    for entry in entries:
        if entry.kind == "charge":
            pending[entry.seq] = (entry.run, entry.key)
        elif entry.kind in ("release", "fail") and pending.pop(entry.body["charge"], None) != (entry.run, entry.key):
            raise BrokenError(f"entry {entry.seq}: a {entry.kind} without a charge before it")


def check_payments(entries, launches):
    """What was released is never paid again, and every further payment belongs to a further process."""
    released, charges = set(), Counter()
    for entry in entries:
        key = (entry.run, entry.key)
        if entry.kind == "charge":
            charges[key] += 1
            if key in released:
                raise BrokenError(f"entry {entry.seq}: a resumed release was paid twice")
            if charges[key] > launches[analysis_of(entry.run)]:
                raise BrokenError(f"entry {entry.seq}: more payments than processes")
        elif entry.kind == "release":
            if key in released:
                raise BrokenError(f"entry {entry.seq}: one key was released twice")
            released.add(key)


def check_seen(entries, seen):
    """Whatever went out is the value that the ledger holds, so each key has one value."""
    held = {(analysis_of(entry.run), entry.key): entry.value for entry in entries if entry.kind == "release"}
    for analysis, key, value in seen:
        if held.get((analysis, key)) != value:
            raise BrokenError(f"{analysis}: {key} went out, and the ledger does not hold that value")


def analysis_of(run):
    """The name of the file that a run belongs to."""
    return run.rpartition("-")[0]
