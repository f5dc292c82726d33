"""Random expressions as people write them: with few parentheses, in any case, and with dates and times; and rows to ask."""

import datetime

NUMBERS, WHOLE, TRUTHS = ("a", "b", "w"), ("n",), ("p", "q")
LEVELS = {"k": ("north", "south", "West"), "l": ("south", "x_y", "1")}
DATES, TIMES = ("d", "e"), ("t",)
DAY = datetime.date
TIME = datetime.datetime
CELLS = {
    **dict.fromkeys(NUMBERS, (None, 0.0, 1.0, -1.0, 2.0, 0.5, 3.75, -10.0, 10.0, -2.5, 1.25)),
    **dict.fromkeys(WHOLE, (None, -9.0, -3.0, -1.0, 0.0, 1.0, 2.0, 7.0, 9.0)),
    **dict.fromkeys(TRUTHS, (None, True, False)),
    **{name: (None, *levels) for name, levels in LEVELS.items()},
    **dict.fromkeys(DATES, (None, DAY(2020, 2, 29), DAY(2019, 12, 31), DAY(2021, 1, 1), DAY(1969, 7, 20), DAY(1900, 3, 1))),
    **dict.fromkeys(
        TIMES, (None, TIME(2020, 2, 29, 23, 59, 59), TIME(1969, 7, 20, 20, 17, 40), TIME(1999, 12, 31, 12, 30, 15))
    ),
}
SAME_DAYS, PARTS = ("year", "month", "day"), ("year", "month", "day", "dow", "doy", "quarter", "week", "isodow")
CLOCK = ("hour", "minute", "second")
PATTERNS = ("%o%", "n%", "_est", "s", "%", "", "%th", "W%", "%1%")


def rows(rng, count):
    """Rows with NULLs, ties, zeros, levels, and days at the ends of months and years."""
    return [{name: rng.choice(options) for name, options in CELLS.items()} for _ in range(count)]


class Writer:
    """Writes one expression of a kind, `depth` levels deep. What stands as an operand is in parentheses now and then only."""

    def __init__(self, rng, parentheses):
        self.rng, self.parentheses = rng, parentheses

    def pick(self, *options):
        return self.rng.choice(options)

    def cased(self, word):
        return word.upper() if self.rng.random() < 0.5 else word

    def operand(self, kind, depth):
        written = kind(depth - 1)
        return f"({written})" if self.rng.random() < self.parentheses else written

    def number(self, depth):
        if depth <= 0 or self.rng.random() < 0.15:
            return self.pick(*NUMBERS, *WHOLE, "0", "1", "-1", "2", "0.5", "-3.25", "10", "1e-1", "3.")
        one, inner = (lambda: self.operand(self.number, depth)), (lambda: self.number(depth - 1))
        holds, day = (lambda: self.truth(depth - 1)), (lambda: self.date(depth - 1))
        makers = (
            lambda: f"{one()} {self.pick('+', '-', '*', '/', '%')} {one()}",
            lambda: f"- {one()}",
            lambda: f"{self.cased(self.pick('abs', 'floor', 'ceil', 'trunc', 'sign', 'round'))}({inner()})",
            lambda: f"round({inner()}, {self.pick(0, 1, 2)})",
            lambda: f"{self.pick('coalesce', 'nullif')}({inner()}, {inner()})",
            lambda: f"case when {holds()} then {inner()} {self.pick('', f'when {holds()} then {inner()} ')}else {inner()} end",
            lambda: f"case when {holds()} then {inner()} end",
            lambda: f"case {self.text(depth - 1)} when 'south' then {inner()} else {inner()} end",
            lambda: f"if({holds()}, {inner()}, {inner()})",
            lambda: f"length({self.text(depth - 1)})",
            lambda: f"cast({holds()} as {self.pick('int', 'double')})",
            lambda: f"cast(trunc({inner()}) as {self.pick('int', 'bigint')})",
            lambda: f"{self.pick(*SAME_DAYS, 'quarter', 'week', 'dayofyear', 'dayofweek')}({day()})",
            lambda: f"extract({self.pick(*PARTS)} from {day()})",
            lambda: f"extract({self.pick(*PARTS, *CLOCK)} from t)",
            lambda: f"datediff('{self.pick(*SAME_DAYS)}', {day()}, {self.pick(day(), 't')})",
            lambda: f"datediff('{self.pick(*CLOCK)}', t, timestamp '2000-01-01 10:30:00')",
            lambda: f"(({day()}) - ({day()}))",
            lambda: f"sqrt(abs({inner()}))",
            lambda: f"exp(least(coalesce({inner()}, 0), 3))",
            lambda: f"ln(abs({inner()}) + 1)",
            lambda: f"power({inner()}, {self.pick(1, 2, 3)})",
            lambda: f"{self.pick('least', 'greatest')}(coalesce({inner()}, 1), coalesce({inner()}, 2))",
        )
        return self.pick(*makers)()

    def truth(self, depth):
        if depth <= 0 or self.rng.random() < 0.1:
            return self.pick(*TRUTHS, *TRUTHS, "true", "false")
        x, b, t, d = ((lambda kind=kind: self.operand(kind, depth)) for kind in (self.number, self.truth, self.text, self.date))
        compared, denied = self.pick("=", "<>", "<", "<=", ">", ">=", "!="), self.pick("", "not ")
        makers = (
            lambda: f"{b()} {self.cased('and')} {b()}",
            lambda: f"{b()} {self.cased('or')} {b()}",
            lambda: f"{self.cased('not')} {b()}",
            lambda: f"{x()} {compared} {x()}",
            lambda: f"{t()} {compared} {t()}",
            lambda: f"{d()} {compared} {self.pick(d(), repr('2000-02-29'))}",
            lambda: f"t {compared} {self.pick('d', repr('2000-01-01 12:00:00'), 'timestamp ' + repr('1999-12-31 12:30:15'))}",
            lambda: f"{b()} {self.pick('=', '<>')} {b()}",
            lambda: f"{x()} {compared} null",
            lambda: f"{self.pick(x, b, t, d)()} is {denied}null",
            lambda: f"{b()} is {denied}{self.pick('true', 'false')}",
            lambda: f"{(kind := self.pick(x, b, t, d))()} is {denied}distinct from {kind()}",
            lambda: f"{x()} {denied}in ({self.number(0)}, {self.number(0)}{self.pick('', ', null')})",
            lambda: f"{t()} {denied}in ('north', 'zz', 'x_y'{self.pick('', ', null')})",
            lambda: f"{d()} {denied}in (date '2020-02-29', '1999-12-31')",
            lambda: f"{x()} {denied}between {x()} and {x()}",
            lambda: f"{d()} {denied}between '1950-01-01' and {d()}",
            lambda: f"{t()} {denied}{self.pick('like', 'ilike')} '{self.pick(*PATTERNS)}'",
            lambda: f"starts_with({self.text(depth - 1)}, '{self.pick('n', 'so', 'W')}')",
        )
        return self.pick(*makers)()

    def text(self, depth):
        if depth <= 0 or self.rng.random() < 0.2:
            return self.pick(*LEVELS, *LEVELS, "'north'", "'x'", "''", "'It''s'", "' b '")
        inner, holds = (lambda: self.text(depth - 1)), (lambda: self.truth(depth - 1))
        makers = (
            lambda: f"{self.pick('upper', 'lower', 'trim')}({inner()})",
            lambda: f"{self.operand(self.text, min(depth, 2))} || {self.operand(self.text, 0)}",
            lambda: f"case when {holds()} then {inner()} else {inner()} end",
            lambda: f"substring({inner()}, {self.pick(1, 2, 3)}, {self.pick(0, 1, 4)})",
            lambda: f"{self.pick('left', 'right')}({inner()}, {self.pick(0, 1, 2, 9)})",
            lambda: f"{self.pick('coalesce', 'nullif')}({inner()}, {inner()})",
            lambda: "cast(cast(n as int) as text)",
            lambda: f"cast({holds()} as text)",
            lambda: f"if({holds()}, {inner()}, {inner()})",
        )
        return self.pick(*makers)()

    def date(self, depth):
        if depth <= 0 or self.rng.random() < 0.3:
            return self.pick(*DATES, *DATES, "date '2000-02-29'")
        one, inner = (lambda: self.operand(self.date, depth)), (lambda: self.date(depth - 1))
        units = self.pick("day", "month", "year", "week")
        makers = (
            lambda: f"({one()} {self.pick('+', '-')} {self.pick(1, 30, 400)})",
            lambda: f"cast({one()} {self.pick('+', '-')} interval '{self.pick(1, 13, 40)}' {units} as date)",
            lambda: f"cast(date_trunc('{self.pick('month', 'year', 'quarter', 'week')}', {inner()}) as date)",
            lambda: "cast(t as date)",
            lambda: f"case when {self.truth(depth - 1)} then {inner()} else {inner()} end",
            lambda: f"coalesce({inner()}, {inner()})",
        )
        return self.pick(*makers)()
