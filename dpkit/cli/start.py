"""Where the script `dpkit` starts. `dpkit --help` is answered here, without click, whose import costs more than the rest."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Iterator

from dpkit.cli import OF_PLUGINS, VERBS

_HEAD = """\
Usage: dpkit [OPTIONS] COMMAND [ARGS]...

  Private analyses from a YAML file: every number priced before data is
  touched, and derived from a named theorem.

  Exit codes: 0 fine; 1 refuted or over budget; 2 wrong input.

  Example: dpkit plan analysis.yaml && dpkit run analysis.yaml

Options:
  --version   Show the version and exit.
  --debug     For authors of plugins, on made-up data only: show what a plugin
              raised.
  -h, --help  Show this message and exit.

Commands:
"""
_GARBAGE = 200_000
"""How many objects are made before garbage is looked for. What imports make is kept; 700 costs a tenth of a command."""
_WIDTH = 64
"""What click leaves for a verb's text on a line of 80."""


def start() -> None:
    """Run the command line."""
    if sys.argv[1:] in (["--help"], ["-h"]) and "_DPKIT_COMPLETE" not in os.environ:
        sys.stdout.write(quick_help())
        return
    gc.set_threshold(_GARBAGE, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)  # nobody needs the garbage of a process that ends; looking for it took a quarter of a command
    from dpkit.cli.lazy_verbs import main
    from dpkit.cli.light_packages import lighten_packages

    lighten_packages()
    main(prog_name="dpkit")


def quick_help() -> str:
    """What `dpkit --help` says; a test holds it against click's own words."""
    column = max(map(len, VERBS)) + 2
    lines = []
    for name, (_, _, text) in VERBS.items():
        first, *others = _wrapped(text)
        lines += [f"  {name:{column}}{first}", *(" " * (column + 2) + line for line in others)]
    return _HEAD + "\n".join(lines) + f"\n\n  {OF_PLUGINS}\n"


def _wrapped(text: str) -> Iterator[str]:
    line = ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > _WIDTH:
            yield line
            line = word
        else:
            line = f"{line} {word}" if line else word
    yield line
