"""The command line: `dpkit VERB`. A verb is imported when it is asked for, and click itself only when a verb runs: the list of
verbs is instant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpkit.cli.lazy_verbs import main as main

# What `dpkit --help` says of each verb, and where it lives. A test holds this table against the verbs themselves.
VERBS = {
    "init": ("dpkit.cli.init", "init", "Write a commented analysis."),
    "check": ("dpkit.cli.analyses", "check", "Check an analysis; every mistake is listed with its line."),
    "plan": ("dpkit.cli.analyses", "plan", "Price an analysis: noise, expected errors, theorems, accountants, ledger."),
    "run": ("dpkit.cli.run", "run", "Run an analysis: plan, charge, then release."),
    "explain": ("dpkit.cli.analyses", "explain", "Where epsilon goes, theorem by theorem, for the plan of an analysis."),
    "compare": ("dpkit.cli.analyses", "compare", "What each accountant charges for the plan of an analysis."),
    "price": ("dpkit.cli.price", "price", "What a run costs, of a text or of another package's file."),
    "disclose": ("dpkit.cli.disclose", "disclose", "Disclose an analysis or a ledger, to a registry and to the public."),
    "schema": ("dpkit.cli.analyses", "schema", "Print the JSON Schema of an analysis, for editors."),
    "audit": ("dpkit.cli.audit", "audit_group", "Try to refute a claim, and write a certificate of the result."),
    "ledger": ("dpkit.cli.ledger", "ledger", "A dataset's budget in one place, which many runs share."),
    "serve": ("dpkit.cli.serve", "serve", "Show ledgers in a browser, read-only."),
    "plugins": ("dpkit.cli.plugins", "plugins", "List the installed plugins, and check one."),
    "doctor": ("dpkit.cli.doctor", "doctor", "Say what is installed, which path runs, and whether ledgers verify."),
    "completion": ("dpkit.cli.completion", "completion", "Complete verbs and options in your shell."),
    "new-plugin": ("dpkit.cli.plugins", "new_plugin", "Write a complete plugin."),
}

KNOWN_VERBS = {"bench": "dpkit-bench"}
"""Verbs of plugins that may be asked for where the plugin is missing, and the distribution that brings each."""

OF_PLUGINS = "Plugins may add verbs: `dpkit plugins` lists them."
"""The last line of `dpkit --help`, which imports no plugin."""


def __getattr__(name: str) -> object:
    if name != "main":
        raise AttributeError(f"module 'dpkit.cli' has no attribute {name!r}")
    from dpkit.cli.lazy_verbs import main

    return main
