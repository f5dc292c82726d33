"""The one tree of errors: each carries its objects, says how to mend it, and never holds a data value."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable
from typing import NoReturn


def visible(text: str) -> str:
    """A text as a terminal may show it: controls, marks of direction and other invisible characters as `\\x1b` and the like.

    Line ends and tabs stay.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in _LEFT else _escape(c) for c in text)


_LEFT = "\n\t\u00a0\u202f\u3000"


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


class DpkitError(Exception):
    """The root of everything that dpkit raises on purpose."""

    def __str__(self) -> str:
        return visible(super().__str__())

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuilt, (type(self), self.args, self.__dict__)


def _rebuilt(kind: type[DpkitError], arguments: tuple[object, ...], attributes: dict[str, object]) -> DpkitError:
    """An error as it was before pickling: its message is made once, from keywords that are gone by then."""
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(attributes)
    return error


_KIND = re.compile(r"[A-Za-z0-9_]{1,64}")


def kind_of(error: BaseException) -> str:
    """The name of an error's class, or of the nearest base that its module knows by that name.

    A class that was made while data was read may be named after a value, so its name is not passed on.
    """
    for kind in type(error).__mro__:
        module = sys.modules.get(str(kind.__module__))
        if _KIND.fullmatch(kind.__name__) and getattr(module, kind.__name__, None) is kind:
            return str(kind.__name__)
    return "Error"


def raise_alone(error: DpkitError) -> NoReturn:
    """Raise an error without the one that it came of. `from None` keeps that one, and whatever it quotes, in `__context__`."""
    error.__suppress_context__ = True
    try:
        raise error
    finally:
        error.__context__ = None


class InvalidValueError(DpkitError, ValueError):
    """A parameter is not what its field allows. Parameters are public; data never comes here."""

    def __init__(self, *, field: str, found: object, allowed: str, where: str, fix: str = "") -> None:
        self.field, self.found, self.allowed, self.where, self.fix = field, found, allowed, where, fix
        hint = f" {fix}" if fix else ""
        super().__init__(f"Expected `{field}` to be {allowed}, got {found!r} - at `{where}.{field}`.{hint}")


class UnknownNameError(DpkitError, LookupError):
    """A name that the registry does not hold; the message offers the nearest one."""

    def __init__(self, *, kind: str, name: object, known: Iterable[str], note: str = "") -> None:
        self.kind, self.name = kind, name
        self.known = tuple(sorted(known))
        near = difflib.get_close_matches(str(name), self.known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        known_names = ", ".join(self.known) or "none"
        super().__init__(f"There is no {kind} named {name!r}.{hint} Known: {known_names}.{' ' + note if note else ''}")


class DuplicateNameError(DpkitError):
    """Two contributors claim one name, so neither can be trusted to be the one that was meant."""

    def __init__(self, *, kind: str, name: str, owners: Iterable[str]) -> None:
        self.kind, self.name = kind, name
        self.owners = tuple(owners)
        super().__init__(
            f"The {kind} name {name!r} is claimed by {' and by '.join(self.owners)}. "
            "Names are unique: rename one of them or install only one."
        )


class UnpricedEventError(DpkitError):
    """No proved theorem known to this accountant bounds what this event costs under this relation."""

    def __init__(self, *, event: object, accountant: str, neighbours: object, reason: str, able: Iterable[str]) -> None:
        self.event, self.accountant, self.neighbours, self.reason = event, accountant, neighbours, reason
        self.able = tuple(able)
        offer = f"Accountants that can price it: {', '.join(self.able)}." if self.able else "No accountant can price it."
        super().__init__(f"The accountant {accountant!r} cannot price {event!r} under {neighbours}: {reason} {offer}")


class UnpricedLossError(DpkitError):
    """An accountant was given a loss which it cannot soundly convert into its own notion."""

    def __init__(self, *, loss: object, accountant: str, reason: str) -> None:
        self.loss, self.accountant, self.reason = loss, accountant, reason
        super().__init__(f"The accountant {accountant!r} cannot take a {type(loss).__name__}: {reason}")


class LossOverflowError(DpkitError, OverflowError):
    """A loss is too large for a floating-point number: it protects nobody, so it is refused rather than rounded."""

    def __init__(self, *, notion: str, fix: str = "Use more noise.") -> None:
        self.notion = notion
        super().__init__(f"The privacy loss overflows: no finite {notion} bounds it. {fix}")


class BudgetError(DpkitError):
    """The root of what a budget refuses."""


class BudgetUnreachableError(BudgetError):
    """There is no smallest noise scale that keeps the family of events within the budget."""

    def __init__(self, *, budget: object, accountant: str, reason: str) -> None:
        self.budget, self.accountant, self.reason = budget, accountant, reason
        super().__init__(f"No smallest scale for {budget!r} under the accountant {accountant!r}: {reason}")


class BudgetExceededError(BudgetError):
    """A filter refuses a query: it would spend more than was fixed in advance. Nothing was charged."""

    def __init__(self, *, budget: object, spent: str, asked: str) -> None:
        self.budget, self.spent, self.asked = budget, spent, asked
        super().__init__(f"The query does not fit: budget {budget!r}, spent so far {spent}, asked {asked}.")


class NoFilterTheoremError(BudgetError):
    """Fully adaptive spending was asked of an accountant for which no filter theorem is known."""

    def __init__(self, *, accountant: str, reason: str, able: Iterable[str]) -> None:
        self.accountant, self.reason = accountant, reason
        self.able = tuple(able)
        super().__init__(
            f"No theorem covers fully adaptive spending under {accountant!r}: {reason} "
            f"Accountants with a filter theorem: {', '.join(self.able)}."
        )


class SerialisationError(DpkitError, ValueError):
    """A text is not a value that this version of dpkit wrote."""

    def __init__(self, *, reason: str, fix: str = "") -> None:
        self.reason = reason
        super().__init__(f"Cannot read this value: {reason}{' ' + fix if fix else ''}")


class PluginError(DpkitError):
    """A plugin could not be used."""

    def __init__(self, *, plugin: str, reason: str, fix: str = "") -> None:
        self.plugin, self.reason = plugin, reason
        super().__init__(f"The plugin {plugin!r} could not be used: {reason}{' ' + fix if fix else ''}")


class PluginWarning(UserWarning):
    """An installed plugin was left out; everything else works."""


class NoIntervalError(DpkitError):
    """A certified interval was asked where only an upper bound is proved: by the accountant, or for one of the events."""

    def __init__(self, *, accountant: str) -> None:
        self.accountant = accountant
        super().__init__(
            f"The accountant {accountant!r} proves an upper bound and no lower one here: `pld` and `best` have a lower one for "
            "events whose worst pair is attained. Use .epsilon(delta=...) for the upper bound."
        )


class LedgerError(DpkitError):
    """The root of what a ledger refuses. Whatever was asked did not happen: nothing was charged, nothing may be released."""

    def __init__(self, *, path: object, reason: str, fix: str = "") -> None:
        self.path = str(path)
        self.reason = reason
        super().__init__(f"The ledger {str(path)!r}: {reason}{' ' + fix if fix else ''}")


class NotALedgerError(LedgerError):
    """There is no such file, or it is not a ledger, or it is of a version that this dpkit cannot read."""


class LedgerExistsError(LedgerError):
    """A ledger is created once; what is there is never overwritten."""


class LedgerBusyError(LedgerError):
    """Another process held the file for longer than the caller was willing to wait."""


class LedgerStorageError(LedgerError):
    """The file cannot be written: a full disk, a read-only file, a failing device."""


class LedgerCorruptError(LedgerError):
    """The file is damaged, or its log is not what was written."""


class LedgerDisagreementError(LedgerError):
    """What the ledger fixed, at its creation or for a run, is not what this caller says; both values are in the message."""

    def __init__(self, *, path: object, field: str, ledger: object, given: object, fix: str = "") -> None:
        self.field, self.ledger, self.given = field, ledger, given
        super().__init__(path=path, reason=f"its `{field}` is {ledger!r}, and {given!r} was given.", fix=fix)


class RunStateError(LedgerError):
    """A run or a charge is not in a state that allows this: it is closed, unknown, already released, or given up."""


class LedgerMovedError(LedgerError):
    """The ledger was copied to another place and closed for good: its budget is there now."""


class LedgerBehindError(LedgerError):
    """The ledger ends before a release that is known to have been charged: an older copy was put in its place."""


class ApprovalNeededError(LedgerError):
    """The run is reserved, and waits until another person approves it. Nothing was charged."""

    def __init__(self, *, path: object, run: str) -> None:
        self.run = run
        super().__init__(
            path=path,
            reason=f"the run {run!r} is reserved, and waits for approval.",
            fix=f"Nothing was charged. Somebody else does `dpkit ledger approve LEDGER {run}`; then run it again.",
        )


class PlanExceededError(BudgetError):
    """A run asks for more than the plan that it reserved. Nothing was charged."""

    def __init__(self, *, run: str, plan: str, asked: str) -> None:
        self.run, self.plan, self.asked = run, plan, asked
        super().__init__(
            f"The run {run!r} reserved {plan}, and with this release would have asked for {asked}: "
            "its plan does not cover what it does. Nothing was charged; plan for more, or ask for less."
        )


class SourceError(DpkitError):
    """Data cannot be opened or read as a whole. Only public facts come here: a path, a format, names of columns.

    `source` names what cannot be read, `reason` says why, as a sentence, and `fix` what to do about it. All three are shown.
    """

    def __init__(self, *, source: str, reason: str, fix: str = "") -> None:
        self.source, self.reason = source, reason
        super().__init__(f"Cannot read {source}: {reason}{' ' + fix if fix else ''}")


class MissingExtraError(DpkitError, ImportError):
    """A package is needed that only an extra of dpkit installs."""

    def __init__(self, *, package: str, purpose: str, extra: str) -> None:
        self.package, self.extra = package, extra
        super().__init__(f"{purpose} needs {package}, which is not installed: pip install 'dpkit[{extra}]'.")


class ExpressionError(DpkitError, ValueError):
    """A `where` or `let` is no expression that each row answers alone. `start` is where in its text the mistake begins."""

    def __init__(self, *, found: str, allowed: str = "", hint: str = "", start: int = 0) -> None:
        self.found, self.allowed, self.hint, self.start = found, allowed, hint, start
        said = f"Expression, character {start + 1}: {found}{f'; allowed: {allowed}' if allowed else ''}."
        super().__init__(f"{said}{' ' + hint if hint else ''}")


class PrivateFactError(DpkitError):
    """Something was asked of the data that is private, and that nobody has paid for."""

    def __init__(self, *, fact: str, reason: str, fix: str) -> None:
        self.fact, self.reason = fact, reason
        super().__init__(f"{fact} is private: {reason} {fix}")


class ReleaseFailedError(DpkitError):
    """A release was charged and came to nothing. The cause is named by its kind alone: its message might show data."""

    def __init__(self, *, queries: Iterable[str], kind: str) -> None:
        self.queries = tuple(queries)
        self.kind = kind
        super().__init__(
            f"The release of {', '.join(self.queries)} failed after it was charged, with {kind}. Its price stays spent, and "
            "nothing went out. Run it again to pay and try again."
        )


def _shortened(text: str) -> str:
    """What a file holds may be a megabyte long; its place says where to look."""
    return text if len(text) <= 300 else f"{text[:297]}..."


class Problem:
    """One thing that is wrong in an analysis: where it stands, what was found, what is allowed, and the nearest right name."""

    __slots__ = ("allowed", "column", "file", "found", "hint", "line", "path")

    def __init__(self, *, file: str, line: int, column: int, path: str, found: str, allowed: str = "", hint: str = "") -> None:
        self.file, self.line, self.column = file, line, column
        self.path = _shortened(path)
        self.found = _shortened(found)
        self.allowed, self.hint = allowed, hint

    def __str__(self) -> str:
        path = f" `{self.path}`:" if self.path else ""
        allowed = f"; allowed: {self.allowed}" if self.allowed else ""
        said = f"{self.found}{allowed}"
        stop = "" if said.endswith((".", "?", "!")) else "."
        return f"{self.file}:{self.line}:{self.column}:{path} {said}{stop}{' ' + self.hint if self.hint else ''}"

    def as_json(self) -> dict[str, object]:
        """Every field by its name."""
        return {name: getattr(self, name) for name in ("file", "line", "column", "path", "found", "allowed", "hint")}


class SpecError(DpkitError, ValueError):
    """An analysis file is not as it should be. It holds every problem that was found, not the first one."""

    def __init__(self, *, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        count = len(self.problems)
        lines = "\n".join(map(str, self.problems))
        super().__init__(f"{lines}\n{count} problem{'s' if count != 1 else ''}. Nothing was read, nothing was spent.")


class PlanRefusedError(BudgetError):
    """A plan cannot be run as it stands: it does not fit, or relies on what is not proved. `nearest` says what would do."""

    def __init__(self, *, reason: str, nearest: str = "") -> None:
        self.reason, self.nearest = reason, nearest
        super().__init__(f"{reason}{' ' + nearest if nearest else ''} Nothing was spent.")


class OutputError(DpkitError):
    """Results cannot be written where they should be."""

    def __init__(self, *, path: object, reason: str, fix: str = "") -> None:
        self.path = str(path)
        self.reason = reason
        super().__init__(f"Cannot write {str(path)!r}: {reason}{' ' + fix if fix else ''}")
