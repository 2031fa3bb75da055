"""What only an owner may see of the raw rows: what parses, what lies beyond bounds, how many rows one person has. NOT PRIVATE.

Three kinds of statements, each one pass over the rows: every column as it is stored and as it could be read; every number against a few
public-looking bounds; every person's rows, in all and by group. Only counts and sums leave the database, in the same relational text as
a release, so that DuckDB, PostgreSQL and Spark agree.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sordino.engines.scan import Scan
from sordino.engines.value_text import Field, key_in, moment_text, quoted, real, typed, unit_text
from sordino.schema.column import Column

__all__ = ["MOMENTS", "NUMERIC", "Cut", "Inspection", "Seen"]

NUMERIC, MOMENTS = ("int", "float", "decimal"), ("date", "timestamp")
DECIMALS = (0, 1, 2, 3, 4)  # decimals a number is tried with
FINITE = 1e300
STEPS = 2**30  # the largest value of a column, in the units its sums are made of
TEXTS = ("text", "other")
LISTED = 1_000  # keys a statement may spell out


@dataclass(frozen=True)
class Seen:
    """One column of the source: how many values there are, and how many could be read as which type."""

    name: str
    stored: str
    rows: int
    present: int
    parsed: int | None  # as declared; None where nothing readable is declared
    numbers: int = 0
    whole: tuple[int, ...] = ()  # of the numbers, with at most 0, 1, .. 4 decimals
    infinite: int = 0
    low: float | None = None
    high: float | None = None
    moments: int = 0
    days: int = 0
    first: dt.datetime | None = None
    last: dt.datetime | None = None
    flags: int = 0
    distinct: int = 0
    longest: int = 0
    listed: int | None = None  # with a declared key


@dataclass(frozen=True)
class Cut:
    """What a limit at one value leaves out: the share of rows, of people, and of the total of each number column."""

    at: Any
    rows: float
    people: float | None = None
    total: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Inspection:
    """A source open for its owner: `run` executes a statement of the relational text."""

    scan: Scan
    run: Callable[[str], Mapping[str, Any]]

    def seen(self, columns: Sequence[Column]) -> list[Seen]:
        """Every column in one pass."""
        reads, sums = [], ["count(*) AS n"]
        for i, column in enumerate(columns):
            place = self.scan.fields[column.name]
            forms = _forms(column, place)
            reads += [f"{text} AS {name}{i}" for name, text in forms.items()]
            sums += [f"{text} AS {name}{i}" for name, text in _tallies(column, forms, i).items()]
        found = self._row(reads, sums)
        return [self._read(column, i, found) for i, column in enumerate(columns)]

    def _row(self, reads: Sequence[str], sums: Sequence[str]) -> dict[str, Any]:
        inner = f"SELECT {', '.join(reads) or '1 AS one'} FROM {self.scan.text}"
        return {name: _scalar(values[0]) for name, values in self.run(f"SELECT {', '.join(sums)} FROM ({inner}) AS looked").items()}

    def _read(self, column: Column, i: int, found: Mapping[str, Any]) -> Seen:
        def whole(name: str) -> int:
            return int(found.get(f"{name}{i}") or 0)

        def real_of(name: str) -> float | None:
            value = found.get(f"{name}{i}")
            return None if value is None else float(value)

        return Seen(
            column.name, self.scan.fields[column.name].stored, int(found["n"]), whole("np"),
            whole("nt") if f"nt{i}" in found else None, whole("nv"), tuple(whole(f"w{s}_") for s in DECIMALS), whole("inf"),
            real_of("lo"), real_of("hi"), whole("nm"), whole("nd"), _moment(found.get(f"fm{i}")), _moment(found.get(f"lm{i}")),
            whole("nb"), whole("dx"), whole("lx"), whole("nk") if f"nk{i}" in found else None,
        )  # fmt: skip

    def bounds(self, columns: Sequence[tuple[Column, Sequence[Any], Sequence[Any]]], seen: Mapping[str, Seen]) -> dict[str, Any]:
        """For each column the cuts of a few lower and upper bounds: {name: (lows, highs)}. All columns in one pass."""
        if not columns:
            return {}
        reads, sums = [], ["count(*) AS n"]
        for i, (column, lows, highs) in enumerate(columns):
            moment = column.type in MOMENTS
            kind = "timestamp" if moment else "float"
            reads.append(f"{typed(replace(column, type=kind, nulls='drop'), self.scan.fields[column.name])} AS v{i}")
            unit = 1.0 if moment else _unit(seen[column.name])
            sums.append(f"count(v{i}) AS c{i}")
            if not moment:
                sums.append(_total(f"abs({_inside(f'v{i}')})", unit) + f" AS s{i}")
            for side, ends, sign in (("l", lows, "<"), ("h", highs, ">")):
                for j, end in enumerate(ends):
                    edge = moment_text(end) if moment else real(end)
                    sums.append(f"count(CASE WHEN v{i} {sign} {edge} THEN 1 END) AS n{side}{i}_{j}")
                    if not moment:
                        beyond = f"CASE WHEN v{i} {sign} {edge} THEN abs({_inside(f'v{i}')} - ({edge})) END"
                        sums.append(_total(beyond, unit) + f" AS t{side}{i}_{j}")
        found = self._row(reads, sums)
        out: dict[str, Any] = {}
        for i, (column, lows, highs) in enumerate(columns):
            n = max(int(found[f"c{i}"]), 1)
            sides = []
            for side, ends in (("l", lows), ("h", highs)):
                cuts = []
                for j, end in enumerate(ends):
                    all_of = int(found.get(f"s{i}") or 0)
                    lost = {} if not all_of else {column.name: int(found[f"t{side}{i}_{j}"]) / all_of}
                    cuts.append(Cut(end, int(found[f"n{side}{i}_{j}"]) / n, None, lost))
                sides.append(cuts)
            out[column.name] = tuple(sides)
        return out

    def people(
        self, unit: Column, fold: bool, numbers: Sequence[Column], seen: Mapping[str, Seen], limits: Sequence[int]
    ) -> tuple[dict[str, int], list[Cut]]:
        """How many people and rows there are, and what max_rows at each of these values cuts off; which rows stay is a fair draw."""
        place = self.scan.fields[unit.name]
        reads = [f"{unit_text(unit, place, fold)} AS u"]
        reads += [f"{_float(column, self.scan.fields[column.name])} AS v{i}" for i, column in enumerate(numbers)]
        units = [_unit(seen[column.name]) for column in numbers]
        sizes = [f"{_steps('abs(' + _inside(f'v{i}') + ')', part)} AS q{i}" for i, part in enumerate(units)]
        rows = f"SELECT {', '.join(reads)} FROM {self.scan.text}"
        inner = f"SELECT {', '.join(['u', *sizes])} FROM ({rows}) AS looked WHERE u IS NOT NULL"
        own = ["u", "count(*) AS r", *(f"CAST(COALESCE(sum(q{i}), 0) AS BIGINT) AS s{i}" for i in range(len(units)))]
        each = f"SELECT {', '.join(own)} FROM ({inner}) AS own GROUP BY u"
        sums = ["count(*) AS people", "max(r) AS most", "CAST(sum(r) AS VARCHAR) AS rows_"]
        sums += [f"CAST(COALESCE(sum(s{i}), 0) AS VARCHAR) AS all{i}" for i in range(len(units))]
        for j, most in enumerate(limits):
            sums.append(f"count(CASE WHEN r > {most} THEN 1 END) AS p{j}")
            sums.append(f"CAST(COALESCE(sum(CASE WHEN r > {most} THEN r - {most} END), 0) AS VARCHAR) AS l{j}")
            for i in range(len(units)):  # in expectation: every row of a person stays with the same probability
                kept = f"CAST(floor(CAST(s{i} AS DOUBLE) * (r - {most}) / r) AS BIGINT)"
                sums.append(f"CAST(COALESCE(sum(CASE WHEN r > {most} THEN {kept} END), 0) AS VARCHAR) AS t{j}_{i}")
        found = {name: _scalar(values[0]) for name, values in self.run(f"SELECT {', '.join(sums)} FROM ({each}) AS persons").items()}
        people, total = int(found["people"]), int(found["rows_"] or 0)
        cuts = []
        for j, most in enumerate(limits):
            lost = {c.name: int(found[f"t{j}_{i}"]) / int(found[f"all{i}"]) for i, c in enumerate(numbers) if int(found[f"all{i}"])}
            cuts.append(Cut(most, int(found[f"l{j}"]) / max(total, 1), int(found[f"p{j}"]) / max(people, 1), lost))
        return {"people": people, "rows": total, "most": int(found["most"] or 0)}, cuts

    def groups(self, unit: Column, fold: bool, column: Column, limits: Sequence[int]) -> tuple[dict[str, int], list[Cut], list[Cut]]:
        """In how many groups of one column a person is, what max_groups cuts off, and what max_rows_per_group does."""
        key = typed(replace(column, type="cat", nulls="drop"), self.scan.fields[column.name])
        reads = f"{unit_text(unit, self.scan.fields[unit.name], fold)} AS u, {key} AS k"
        cells = f"SELECT u, k, count(*) AS c FROM (SELECT {reads} FROM {self.scan.text}) AS looked WHERE u IS NOT NULL GROUP BY u, k"
        each = ["u", "count(*) AS g", "CAST(sum(c) AS BIGINT) AS r", "max(c) AS c"]
        for j, m in enumerate(limits):
            each.append(f"CAST(COALESCE(sum(CASE WHEN c > {m} THEN c - {m} END), 0) AS BIGINT) AS e{j}")
            each.append(f"max(CASE WHEN c > {m} THEN 1 ELSE 0 END) AS x{j}")
        persons = f"SELECT {', '.join(each)} FROM ({cells}) AS cells GROUP BY u"
        sums = ["count(*) AS people", "max(g) AS most", "max(c) AS largest", "CAST(sum(r) AS VARCHAR) AS rows_"]
        for j, m in enumerate(limits):
            lost = f"CAST(floor(CAST(r AS DOUBLE) * (g - {m}) / g) AS BIGINT)"
            sums.append(f"count(CASE WHEN g > {m} THEN 1 END) AS p{j}")
            sums.append(f"CAST(COALESCE(sum(CASE WHEN g > {m} THEN {lost} END), 0) AS VARCHAR) AS l{j}")
            sums.append(f"CAST(COALESCE(sum(e{j}), 0) AS VARCHAR) AS el{j}")
            sums.append(f"count(CASE WHEN x{j} = 1 THEN 1 END) AS ep{j}")
        found = {name: _scalar(values[0]) for name, values in self.run(f"SELECT {', '.join(sums)} FROM ({persons}) AS persons").items()}
        people, rows = max(int(found["people"]), 1), max(int(found["rows_"] or 0), 1)
        facts = {"most": int(found["most"] or 0), "largest": int(found["largest"] or 0)}
        wide = [Cut(m, int(found[f"l{j}"]) / rows, int(found[f"p{j}"]) / people) for j, m in enumerate(limits)]
        deep = [Cut(m, int(found[f"el{j}"]) / rows, int(found[f"ep{j}"]) / people) for j, m in enumerate(limits)]
        return facts, wide, deep


def _forms(column: Column, place: Field) -> dict[str, str]:
    """A column in every form it could be read in, each under a letter."""
    name, stored = column.name, place.stored
    forms = {"p": f"CASE WHEN NOT isnan({place.sql}) THEN 1 END" if stored == "float" else f"CASE WHEN {place.sql} IS NOT NULL THEN 1 END"}
    if column.type != "never":
        forms["t"] = typed(replace(column, nulls="drop"), place)
    if stored not in ("date", "timestamp"):
        forms["v"] = _float(column, place)
    if stored in (*TEXTS, "date", "timestamp"):
        forms["m"] = typed(Column(name, "timestamp"), place)
        forms["d"] = f"TRY_CAST({typed(Column(name, 'date'), place)} AS TIMESTAMP)"
    if stored in (*TEXTS, "bool"):
        forms["b"] = typed(Column(name, "bool"), place)
    forms["x"] = typed(Column(name, "cat"), place)
    return forms


def _tallies(column: Column, forms: Mapping[str, str], i: int) -> dict[str, str]:
    """What is counted of these forms."""
    out = {"np": f"count(p{i})", "dx": f"count(DISTINCT x{i})", "lx": f"max(length(x{i}))"}
    if "t" in forms:
        out["nt"] = f"count(t{i})"
        keys = [key_in(column, key) for key in column.keys or () if key is not None]
        if keys and column.type in ("cat", "int") and len(keys) <= LISTED:
            listed = ", ".join(quoted(key) if isinstance(key, str) else str(key) for key in keys)
            out["nk"] = f"count(CASE WHEN t{i} IN ({listed}) THEN 1 END)"
    if "v" in forms:
        v = f"v{i}"
        inside = _inside(v)
        out |= {
            "nv": f"count({v})",
            "lo": f"min({inside})",
            "hi": f"max({inside})",
            "inf": f"count(CASE WHEN NOT (abs({v}) < {real(FINITE)}) THEN 1 END)",
        }
        for s in DECIMALS:
            steps = f"({inside} * {real(10.0**s)})"
            near = f"abs({steps} - floor({steps} + {real(0.5)})) <= {real(1e-9)} * abs({steps}) + {real(1e-9)}"
            out[f"w{s}_"] = f"count(CASE WHEN {near} THEN 1 END)"
    if "m" in forms:
        out |= {"nm": f"count(m{i})", "nd": f"count(CASE WHEN m{i} = d{i} THEN 1 END)"}
        out |= {"fm": f"CAST(min(m{i}) AS VARCHAR)", "lm": f"CAST(max(m{i}) AS VARCHAR)"}
    if "b" in forms:
        out["nb"] = f"count(b{i})"
    return out


def _float(column: Column, place: Field) -> str:
    return typed(Column(column.name, "float"), place)


def _inside(v: str) -> str:
    return f"CASE WHEN abs({v}) < {real(FINITE)} THEN {v} END"


def _unit(seen: Seen) -> float:
    """What sums of a column are counted in: whole numbers, because databases add doubles in orders of their own."""
    most = max(abs(seen.low or 0.0), abs(seen.high or 0.0))
    return most / STEPS if most and math.isfinite(most / STEPS) and most / STEPS > 0 else 1.0


def _steps(x: str, unit: float) -> str:
    return f"CAST(floor({x} / {real(unit)}) AS BIGINT)"


def _total(x: str, unit: float) -> str:
    capped = f"least({real(2.0**40)}, ({x}) / {real(unit)})"
    return f"CAST(COALESCE(sum(CASE WHEN ({x}) IS NOT NULL THEN CAST(floor({capped}) AS BIGINT) END), 0) AS VARCHAR)"


def _scalar(value: Any) -> Any:
    return None if value is np.ma.masked or value is None else value


def _moment(text: Any) -> dt.datetime | None:
    try:
        return None if text is None else dt.datetime.fromisoformat(str(text)[:19])
    except ValueError:  # beyond the days that can be named
        return None
