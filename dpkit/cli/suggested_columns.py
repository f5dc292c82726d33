"""What a column may hold, guessed from its name alone, and of Parquet from its type: never from a value.

A name and a type are public; the least and the largest value that Parquet keeps beside them are data, and are not looked at.
"""

from __future__ import annotations

import re

_BY_NAME: tuple[tuple[str, str], ...] = (
    (r"(is|has|was|can)_.*|.*_flag|flag|smokers?|married|employed", "boolean"),
    (r"age|.*_age|age_.*", "[0, 120]"),
    (r"month|.*_month", "[1, 12]"),
    (r"(day|dom|day_of_month)", "[1, 31]"),
    (r"(weekday|dow|day_of_week)", "[0, 7]"),
    (r"(hour|.*_hour|hour_.*)", "[0, 24]"),
    (r"(minute|second)s?", "[0, 60]"),
    (r"(birth_?year|year_of_birth|born)", "[1900, 2030]"),
    (r"(year|.*_year)", "[1900, 2030]"),
    (r"lat(itude)?", "[-90, 90]"),
    (r"(lon|lng|long|longitude)", "[-180, 180]"),
    (r".*(percent|percentage|pct).*", "[0, 100]"),
    (r"(.*_)?(probability|share|fraction|proportion|rate)", "[0, 1]"),
    (r"(height|.*_cm|stature)", "[0, 250]"),
    (r"(weight|.*_kg|mass)", "[0, 300]"),
    (r"bmi", "[10, 70]"),
    (r"(systolic|sbp|.*systolic.*)", "[50, 260]"),
    (r"(diastolic|dbp|.*diastolic.*)", "[30, 160]"),
    (r"(heart_rate|pulse|bpm)", "[20, 250]"),
    (r"(temperature_c|body_temperature)", "[30, 45]"),
    (r"(sex|gender)", "{levels: [female, male, other], unknown: other}"),
    (r"(date|.*_date|date_.*|dob|birthday)", "date"),
    (r"(timestamp|datetime|.*_at)", "time"),
    (r"(education|schooling)(_years)?", "[0, 30]"),
    (r"(children|siblings|household_size|members)", "[0, 20]"),
)


def suggested_by_name(name: str) -> str:
    """What to declare of a column of this name, as YAML; nothing where its name says nothing."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.strip().lower()).strip("_")
    return next((declared for pattern, declared in _BY_NAME if re.fullmatch(pattern, plain)), "")


def declared_by_type(kind: str) -> str:
    """What to declare of an Arrow type, as YAML; what only its owner knows stands in capitals."""
    if kind == "bool":
        return "boolean"
    if kind.startswith("date"):
        return "date"
    if kind.startswith("timestamp"):
        return "time"
    if kind.startswith("dictionary") or kind in ("string", "large_string", "string_view"):
        return "{levels: [LEVEL, LEVEL]}"
    return "[LOWER, UPPER]"
