"""HTML and SVG as values: a text becomes markup only by being escaped, so nothing can be forgotten."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass

_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9:-]*")
_EMPTY = frozenset({"meta", "br", "hr", "line", "rect", "circle", "path", "polyline", "polygon"})


@dataclass(frozen=True, slots=True)
class Markup:
    """Text that is markup already. Made by `element` and `joined`; `trusted` is for what this package wrote itself."""

    text: str

    def __str__(self) -> str:
        return self.text


def element(tag: str, *children: object, **attributes: object) -> Markup:
    """An element; children and attributes that are not markup are escaped. `cls` is class, `_` in names is `-`."""
    named = {"class" if name == "cls" else name.replace("_", "-"): value for name, value in attributes.items()}
    for name in (tag, *named):
        if not _NAME.fullmatch(name):
            raise ValueError(f"not a name of an element or an attribute: {name!r}")
    shown = "".join(f' {name}="{html.escape(str(value), quote=True)}"' for name, value in named.items() if value is not None)
    if tag in _EMPTY and not children:
        return Markup(f"<{tag}{shown}/>")
    return Markup(f"<{tag}{shown}>{joined(children)}</{tag}>")


def joined(children: Iterable[object]) -> Markup:
    """Children side by side; what is not markup is escaped."""
    return Markup(
        "".join(child.text if isinstance(child, Markup) else html.escape(str(child), quote=True) for child in children)
    )


def trusted(text: str) -> Markup:
    """A text of this package's own (a style sheet); never anything from an analysis or from data."""
    return Markup(text)
