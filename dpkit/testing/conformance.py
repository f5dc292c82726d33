"""What a law is: a function of a case that raises AssertionError where it is broken; and how laws are run and reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from dpkit.hooks.discovery import words_of

Outcome = Literal["passed", "failed", "skipped", "unchecked"]


class LawNotApplicable(Exception):  # noqa: N818 - not an error: the law has nothing to say of this case
    """The law does not speak of this case; the reason is the message."""


class LawUnchecked(Exception):  # noqa: N818 - not an error: nobody knows
    """The law speaks of this case and the kit has no means to try it, so it may be wrong; the reason is the message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One law on one subject."""

    subject: str
    law: str
    run: Callable[[], None]

    @property
    def id(self) -> str:
        """How a test report names it."""
        return f"{self.subject}-{self.law}"


class CheckResult(NamedTuple):
    """What came out of one check. `detail` is the reason where it did not pass; laws never put data into it.

    'skipped' says that the law does not speak of this subject; 'unchecked' that it does, and that the kit could not try it.
    """

    subject: str
    law: str
    outcome: Outcome
    detail: str


def run_check(check: Check) -> CheckResult:
    """Run one law. Whatever a third party's code raises counts as a failure of the law that met it."""
    outcome: Outcome = "passed"
    detail = ""
    try:
        check.run()
    except LawNotApplicable as reason:
        outcome, detail = "skipped", str(reason)
    except LawUnchecked as reason:
        outcome, detail = "unchecked", str(reason)
    except AssertionError as broken:
        outcome, detail = "failed", str(broken)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - see above; SystemExit, too, must not pass for success
        outcome, detail = "failed", f"raised {type(error).__name__}: {words_of(error)}"
    return CheckResult(subject=check.subject, law=check.law, outcome=outcome, detail=detail)


def parametrize_with_laws(checks: Iterable[Check]) -> Any:
    """A pytest decorator: `@parametrize_with_laws(laws_of_plugin(my_plugin))` over `def test_laws(check): check()`."""
    import pytest

    def runner(check: Check) -> Callable[[], None]:
        def run() -> None:
            try:
                check.run()
            except LawNotApplicable as reason:
                pytest.skip(str(reason))
            except LawUnchecked as reason:
                pytest.skip(f"UNCHECKED: {reason}")

        return run

    listed = list(checks)
    return pytest.mark.parametrize("check", [pytest.param(runner(check), id=check.id) for check in listed])
