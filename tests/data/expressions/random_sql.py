"""Random expressions as trees of tuples, with three readings: dpkit's SQL, sqlite's SQL, and a row-by-row evaluator in Python.

The evaluator knows SQL's rules of NULL by None, and shares no code with dpkit.
"""

import math

NUMBERS, TRUTHS, TEXTS = ("a", "b", "w"), ("p", "q"), ("k", "l")
LEVELS = {"k": ("north", "south", "West"), "l": ("south", "x_y", "1")}
LITERALS = (0, 1, -1, 2, 0.5, -3.25, 10)
WORDS = ("north", "south", "West", "x", "x_y", "", "zz")
CONDITIONS = "and or not < <= > >= = <> text= text< isnull istrue in textin between like distinct".split()
DENIED = {"like": (" LIKE ", " NOT LIKE "), "isnull": (" IS NULL", " IS NOT NULL")}
"""How people write that something is not so. (What stands behind these words holds none of them again.)"""
PATTERNS = ("%o%", "n%", "_est", "s", "%", "x\\_y")


def number(rng, depth):
    if depth <= 0 or rng.random() < 0.15:
        return ("column", rng.choice(NUMBERS)) if rng.random() < 0.7 else ("number", rng.choice(LITERALS))
    kind = rng.choice(
        ["+", "-", "*", "/", "negative", "abs", "round", "coalesce", "nullif", "case", "least", "greatest", "length"]
    )
    if kind in ("negative", "abs", "round"):
        return (kind, number(rng, depth - 1))
    if kind == "length":
        return (kind, text(rng, depth - 1))
    if kind == "case":
        return (
            kind,
            truth(rng, depth - 1),
            number(rng, depth - 1),
            number(rng, depth - 1) if rng.random() < 0.7 else ("null",),
        )
    return (kind, number(rng, depth - 1), number(rng, depth - 1))


def truth(rng, depth):
    if depth <= 0 or rng.random() < 0.1:
        return ("column", rng.choice(TRUTHS))
    kind = rng.choice(CONDITIONS)
    if kind in ("and", "or"):
        return (kind, truth(rng, depth - 1), truth(rng, depth - 1))
    if kind in ("not", "istrue"):
        return (kind, truth(rng, depth - 1))
    if kind in ("text=", "text<"):
        return (kind, text(rng, depth - 1), text(rng, depth - 1))
    if kind == "isnull":
        return (kind, rng.choice([number, truth, text])(rng, depth - 1))
    if kind == "in":
        return (kind, number(rng, depth - 1), *(number(rng, 0) for _ in range(3)))
    if kind == "textin":
        listed = [("text", rng.choice(WORDS[:-2])) for _ in range(2)]
        return (kind, text(rng, depth - 1), *listed, *([("null",)] if rng.random() < 0.3 else []))
    if kind == "between":
        return (kind, number(rng, depth - 1), number(rng, 0), number(rng, 0))
    if kind == "like":
        return (kind, text(rng, depth - 1), rng.choice(PATTERNS[:-1]))
    return (kind, number(rng, depth - 1), number(rng, depth - 1))


def text(rng, depth):
    if depth <= 0 or rng.random() < 0.2:
        return ("column", rng.choice(TEXTS)) if rng.random() < 0.7 else ("text", rng.choice(WORDS))
    kind = rng.choice(["upper", "lower", "||", "textcase", "substring"])
    if kind in ("upper", "lower"):
        return (kind, text(rng, depth - 1))
    if kind == "substring":
        return (kind, text(rng, depth - 1), rng.choice([1, 2, 3]), rng.choice([0, 1, 4]))
    if kind == "||":
        return (kind, text(rng, min(depth - 1, 1)), text(rng, 0))
    return (kind, truth(rng, depth - 1), text(rng, depth - 1), text(rng, depth - 1))


def sql(tree, *, sqlite=False):
    kind, *parts = tree
    if kind == "column":
        return parts[0]
    if kind == "number":
        return f"({float(parts[0])!r})"
    if kind == "text":
        return "'" + parts[0].replace("'", "''") + "'"
    if kind == "null":
        return "NULL"
    if kind == "not" and parts[0][0] in DENIED:
        word, denied = DENIED[parts[0][0]]
        before, _, after = sql(parts[0], sqlite=sqlite).rpartition(word)
        return f"{before}{denied}{after}"
    if kind == "like":
        return f"({sql(parts[0], sqlite=sqlite)} LIKE '{parts[1]}')"
    if kind == "substring":
        return f"SUBSTR({sql(parts[0], sqlite=sqlite)}, {parts[1]}, {parts[2]})"
    inner = [sql(part, sqlite=sqlite) for part in parts]
    if kind in ("case", "textcase"):
        return f"(CASE WHEN {inner[0]} THEN {inner[1]} ELSE {inner[2]} END)"
    if kind in ("in", "textin"):
        return f"({inner[0]} IN ({', '.join(inner[1:])}))"
    if kind in ("least", "greatest"):
        name = {"least": "MIN", "greatest": "MAX"}[kind] if sqlite else kind.upper()
        return f"{name}({', '.join(inner)})"
    if kind == "distinct":
        return f"({inner[0]} IS NOT {inner[1]})" if sqlite else f"({inner[0]} IS DISTINCT FROM {inner[1]})"
    written = {
        "negative": "(- {0})", "not": "(NOT {0})", "isnull": "({0} IS NULL)", "istrue": "({0} IS TRUE)",
        "between": "({0} BETWEEN {1} AND {2})", "text=": "({0} = {1})", "text<": "({0} < {1})",
    }  # fmt: skip
    if kind in written:
        return written[kind].format(*inner)
    if kind in ("abs", "round", "coalesce", "nullif", "length", "upper", "lower"):
        return f"{kind.upper()}({', '.join(inner)})"
    return f"({inner[0]} {kind.upper()} {inner[1]})"


def by_row(tree, row):
    """What a row says, in plain Python; None is NULL."""
    kind, *parts = tree
    if kind == "column":
        return row[parts[0]]
    if kind in ("number", "text"):
        return float(parts[0]) if kind == "number" else parts[0]
    if kind == "null":
        return None
    if kind in ("case", "textcase"):
        return by_row(parts[1] if by_row(parts[0], row) is True else parts[2], row)
    if kind == "like":
        found = by_row(parts[0], row)
        return None if found is None else _like(found, parts[1])
    if kind == "substring":
        found = by_row(parts[0], row)
        return None if found is None else found[parts[1] - 1 : parts[1] - 1 + parts[2]]
    found = [by_row(part, row) for part in parts]
    if kind == "and":
        return False if False in found else None if None in found else True
    if kind == "or":
        return True if True in found else None if None in found else False
    if kind == "isnull":
        return found[0] is None
    if kind == "istrue":
        return found[0] is True
    if kind == "distinct":
        return found[0] != found[1]
    if kind == "coalesce":
        return next((one for one in found if one is not None), None)
    if kind in ("in", "textin"):
        if found[0] is None:
            return None
        return True if found[0] in [one for one in found[1:] if one is not None] else None if None in found[1:] else False
    if kind == "nullif":
        return None if found[0] is not None and found[0] == found[1] else found[0]
    if kind == "between":
        return by_row(("and", (">=", parts[0], parts[1]), ("<=", parts[0], parts[2])), row)
    return None if None in found else _known(kind, *found)


def _known(kind, one, other=None):
    if kind == "/":
        return None if other == 0 else one / other
    if kind == "round":
        below = math.floor(abs(one))
        return math.copysign(below + (abs(one) - below >= 0.5), one)
    simple = {
        "+": lambda: one + other, "-": lambda: one - other, "*": lambda: one * other, "negative": lambda: -one,
        "abs": lambda: abs(one), "least": lambda: min(one, other), "greatest": lambda: max(one, other),
        "length": lambda: float(len(one)), "not": lambda: not one, "<": lambda: one < other, "<=": lambda: one <= other,
        ">": lambda: one > other, ">=": lambda: one >= other, "=": lambda: one == other, "<>": lambda: one != other,
        "text=": lambda: one == other, "text<": lambda: one < other, "upper": lambda: one.upper(), "lower": lambda: one.lower(),
        "||": lambda: one + other,
    }  # fmt: skip
    return simple[kind]()


def _like(text, pattern):
    if not pattern:
        return not text
    if pattern[0] == "%":
        return any(_like(text[start:], pattern[1:]) for start in range(len(text) + 1))
    return bool(text) and pattern[0] in ("_", text[0]) and _like(text[1:], pattern[1:])


def rows(rng, count):
    """Rows with NULLs, ties, zeros and levels."""
    choices = {
        **dict.fromkeys(NUMBERS, (None, 0.0, 1.0, -1.0, 2.0, 0.5, 3.75, -10.0, 10.0)),
        **dict.fromkeys(TRUTHS, (None, True, False)),
        **{name: (None, *levels) for name, levels in LEVELS.items()},
    }
    return [{name: rng.choice(options) for name, options in choices.items()} for _ in range(count)]
