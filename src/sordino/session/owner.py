"""`sd.owner`: what only the owner of the rows may do. The fit check says what a declaration cuts, clamps and cannot read. NOT PRIVATE.

Nothing of it is charged, recorded or shown to an analyst: it reads the source through a door of its own, keeps nothing, and a table that
is reached over HTTP has no such door.
"""

from __future__ import annotations

import datetime as dt
import html
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sordino.engines.inspection import MOMENTS, NUMERIC, Cut, Inspection, Seen
from sordino.engines.port import Inspectable
from sordino.engines.source import open_engine
from sordino.errors import QueryError
from sordino.noise import draw
from sordino.plan.dataset import read_dataset
from sordino.privacy.discrete import UniformInteger
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.declaration import complete
from sordino.schema.frame import Frame
from sordino.session.open_dataset import Opened
from sordino.session.table import Table
from sordino.summaries.totals import Item, Totals

__all__ = ["SPARE", "WARNING", "ColumnFit", "OwnerFit", "fit"]

WARNING = "NOT PRIVATE: facts about the rows themselves, for their owner alone. Nothing of this was charged; show it to nobody else."
SPARE = "Bounds are rounded outwards, and still whoever reads them learns that much: prefer what is publicly known."
MOST = 0.95  # of the values there are, for a type to be suggested
LOST = 0.01  # of the rows, that a suggested limit may cut
HARDLY = 0.001  # of the values, that declared bounds may move and still fit
GROUPS = 12  # group columns that are looked at
FEW = 1_000  # values a column may have to be one
LIMITS = tuple(digit * 10**power for power in range(5) for digit in (1, 2, 5))  # of one person, that are looked at
NEVER = {"access": "never"}
WHO = ("id", "index", "key", "nr", "person", "patient", "user", "customer", "client", "member", "household", "pid", "uid")


@dataclass(frozen=True)
class ColumnFit:
    """One column: what it is declared as, the shares that are null, do not parse, are clamped or have an unlisted key, and a suggestion."""

    name: str
    declared: str
    null: float  # of all rows
    parses: float | None  # of the values there are; None where nothing is declared
    clamped: tuple[float, float] | None  # of the values that parse: below and above the bounds
    unlisted: float | None  # of the values there are: not among the declared keys
    lows: tuple[Cut, ...]
    highs: tuple[Cut, ...]
    suggestion: Mapping[str, Any]
    why: str

    @property
    def state(self) -> str:
        parts = [self.declared, f"null {_share(self.null)}", f"parses {_share(self.parses)}", f"clamped {_pair(self.clamped)}"]
        parts += [f"not among the keys {_share(self.unlisted)}"]
        return ", ".join(part for part in parts if not part.endswith(" ")) + f"; {self.why}"


@dataclass(frozen=True)
class OwnerFit:
    """How a declaration fits the rows of one table. NOT PRIVATE."""

    table: str
    rows: int
    unit: str | None
    people: int | None
    most_rows: int | None  # of one person
    columns: tuple[ColumnFit, ...]
    max_rows: tuple[Cut, ...] = ()
    max_groups: Mapping[str, tuple[Cut, ...]] = field(default_factory=dict)
    max_rows_per_group: Mapping[str, tuple[Cut, ...]] = field(default_factory=dict)
    counted: Mapping[str, float] = field(default_factory=dict)  # the share of rows that counts as declared: in all ("") and by column
    limits: Mapping[str, int] = field(default_factory=dict)  # suggested

    def to_toml(self) -> str:
        """The suggested lines of a dataset file."""
        people = (
            [f"unit_column = {json.dumps(self.unit, ensure_ascii=False)}", *(f"{word} = {value}" for word, value in self.limits.items())]
            if self.unit
            else []
        )
        lines = [f"{json.dumps(column.name, ensure_ascii=False)} = {toml(column.suggestion)}" for column in self.columns]
        head = ["[privacy]", *people, ""] if people else []
        return "\n".join([*head, f"[tables.{self.table}.columns]", *lines])

    def to_python(self) -> str:
        """The suggested arguments of sd.table."""
        said = [f"    {column.name!r}: {dict(column.suggestion)!r}," for column in self.columns if column.name != self.unit]
        people = f"unit={self.unit!r}, {', '.join(f'{word}={value}' for word, value in self.limits.items())}, " if self.unit else ""
        return "\n".join([f"sd.table(source, {people}columns={{", *said, "}, budget=sd.Budget(epsilon=1, delta=1e-6))"])

    def to_plain(self) -> dict[str, Any]:
        return {"warning": WARNING, "private": False, **asdict(self), "toml": self.to_toml(), "python": self.to_python()}

    def to_json(self) -> str:
        return json.dumps(self.to_plain(), default=str, ensure_ascii=False)

    def sections(self) -> list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
        """Title, head and rows of every table of the report."""
        columns = [
            (c.name, c.declared, _share(c.null), _share(c.parses), _pair(c.clamped), _share(c.unlisted), toml(c.suggestion), c.why)
            for c in self.columns
        ]
        head = ("column", "declared", "null", "parses", "clamped", "not a key", "suggested", "because")
        out: list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]] = [("Columns", head, [*columns])]
        if self.unit is not None:
            cut = ("limit", "at", "rows cut", "people cut", "of the total")
            rows = [("max_rows", *_cut(one)) for one in self.max_rows]
            rows += [(f"max_groups by {name}", *_cut(one)) for name, cuts in self.max_groups.items() for one in cuts]
            rows += [(f"max_rows_per_group by {name}", *_cut(one)) for name, cuts in self.max_rows_per_group.items() for one in cuts]
            out.append(("What limits on one person cut, each alone", cut, [*rows]))
            kept = [("in all" if not name else f"by {name}", _share(1 - share)) for name, share in self.counted.items()]
            out.append(("Rows that do not count as declared", ("asked", "cut"), [*kept]))
        bounds = [
            (c.name, side, *_cut(one)[:2], _cut(one)[3])
            for c in self.columns
            for side, cuts in (("low", c.lows), ("high", c.highs))
            for one in cuts
        ]
        if bounds:
            out.append(("What bounds move", ("column", "end", "at", "values moved", "of the total"), [*bounds]))
        return out

    @property
    def heading(self) -> str:
        who = (
            "every row is a person"
            if self.unit is None
            else f"{self.people:,} people by {self.unit!r}, at most {self.most_rows:,} rows of one"
        )
        return f"{self.table}: {self.rows:,} rows, {who}"

    def __str__(self) -> str:
        lines = [WARNING, self.heading, ""]
        for c in self.columns:
            lines.append(f"{c.name}: {c.state}")
            lines += [f"  {_line(f'{end} bound', cuts, 'total')}" for end, cuts in (("lower", c.lows), ("upper", c.highs)) if cuts]
        if self.unit is not None:
            lines += ["", "What limits on one person cut, each alone, in percent of rows (of people):"]
            lines.append(_line("max_rows", self.max_rows, "people"))
            lines += [_line(f"max_groups by {name}", cuts, "people") for name, cuts in self.max_groups.items()]
            lines += [_line(f"max_rows_per_group by {name}", cuts, "people") for name, cuts in self.max_rows_per_group.items()]
            said = ", ".join(f"{_share(1 - share)} {'in all' if not name else f'by {name}'}" for name, share in self.counted.items())
            lines += ["", f"As declared these rows do not count: {said}"]
        return "\n".join([*lines, "", f"Suggested. {SPARE}", self.to_toml(), "", "or in Python", self.to_python()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        def table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
            top = "".join(f"<th scope='col'>{html.escape(cell)}</th>" for cell in head)
            body = "".join("<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
            return f"<h3>{html.escape(title)}</h3><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"

        parts = [f"<p><strong>{WARNING}</strong></p><p>{html.escape(self.heading)}</p>", *(table(*section) for section in self.sections())]
        return "".join(
            [*parts, f"<h3>Suggested</h3><p>{SPARE}</p><pre>{html.escape(self.to_toml())}</pre><pre>{html.escape(self.to_python())}</pre>"]
        )


def fit(table: Any) -> Any:
    """NOT PRIVATE: what a table's declaration cuts, clamps and cannot read, and what would fit.

    Takes a table, a dataset that is open (one Fit by table) or the path of a dataset file, whose ledger is then not even opened. A table
    of a server has no fit: its rows are somebody else's.

    >>> import sordino as sd
    >>> people = sd.table({"age": [30, 41, 250]}, bounds={"age": (0, 120)}, budget=sd.Budget(epsilon=1), ledger=":memory:")
    >>> found = sd.owner.fit(people)
    >>> [round(share, 2) for share in found.columns[0].clamped]
    [0.0, 0.33]
    """
    if isinstance(table, Table):
        return fitted(table.name, table.engine, table.columns, table.unit, fold=table.fold_ids)
    if isinstance(table, Opened):
        return {name: fit(opened) for name, opened in table.tables.items()}
    if isinstance(table, str | os.PathLike):
        return _file(table)
    what = f"a {type(table).__name__} is not a table whose rows are here."
    raise QueryError("SRD-106", what, "Give a table of sd.table or sd.open, or a dataset file, on the machine where the rows are.")


def _file(path: str | os.PathLike[str]) -> dict[str, OwnerFit]:
    declared = read_dataset(path)
    found = {}
    for name, item in declared.tables.items():
        if not item.public:
            engine = open_engine(item.source, tuple(item.columns.values()), csv=item.csv)
            try:
                columns = complete(item.columns, engine.header())
                engine.columns = columns
                found[name] = fitted(name, engine, columns, declared.unit, fold=declared.fold_ids)
            finally:
                engine.close()
    return found


def look(engine: Any, read_as: str = "cat") -> dict[str, tuple[Seen, dict[str, Any], str]]:
    """NOT PRIVATE: every column of a source nobody has declared yet, with a declaration that fits and why. One pass over the rows."""
    columns = tuple(Column(name, read_as) for name in engine.header())
    with engine.inspected(columns) as rows:
        return {seen.name: (seen, *suggest(seen)) for seen in rows.seen([Column(column.name, "cat") for column in columns])}


def fitted(name: str, engine: Any, columns: Mapping[str, Column], unit: PrivacyUnit, *, fold: bool = False) -> OwnerFit:
    """The fit of one source: about four passes over its rows, and one bounded table for each group column."""
    if not isinstance(engine, Inspectable):
        raise QueryError("SRD-106", f"a {type(engine).__name__} does not show its rows.", "Open the source itself with sd.table.")
    with engine.inspected(tuple(_scanned(column) for column in columns.values())) as rows:
        seen = {one.name: one for one in rows.seen(list(columns.values()))}
        ends = {c.name: _candidates(c, seen[c.name]) for c in columns.values() if c.name != unit.column}
        wanted = [(_as(columns[at], kind), lows, highs) for at, (kind, lows, highs) in ends.items() if kind]
        cuts = rows.bounds(wanted, seen)
        total = next(iter(seen.values())).rows if seen else 0
        made: dict[str, Any] = {"people": None, "most_rows": None}
        if unit.column is not None:
            made = _people(rows, columns, seen, unit, fold)
    counted = _counted(engine, columns, unit, fold=fold, grouping=_grouping(columns, seen, unit), total=total)
    parts = tuple(_column(columns[at], seen[at], cuts.get(at), unit) for at in columns)
    kept = {} if unit.column is None else {at: share for at, share in counted.items() if not at or at in made["max_groups"]}
    return OwnerFit(name, total, unit.column, columns=parts, counted=kept, **made)


def _scanned(column: Column) -> Column:
    """As a source reads it: a column nobody may use is still looked at, as text."""
    return column if column.type != "never" else Column(column.name, "cat")


def _people(rows: Inspection, columns: Mapping[str, Column], seen: Mapping[str, Seen], unit: PrivacyUnit, fold: bool) -> dict[str, Any]:
    """What each limit on one person cuts off, at several values: one pass for rows in all, and one for every group column."""
    assert unit.column is not None
    person = columns[unit.column]
    numbers = [column for column in columns.values() if column.type in NUMERIC and column.keys is None]
    facts, cuts = rows.people(person, fold, numbers, seen, sorted({*LIMITS, unit.max_rows}))
    cuts = _until_nothing(cuts, unit.max_rows)
    places = sorted({*LIMITS, unit.max_groups, unit.rows_per_group})
    by_groups, by_rows, most = {}, {}, [1]
    for column in _grouping(columns, seen, unit):
        _, wide, deep = rows.groups(person, fold, column, places)
        by_groups[column.name] = tuple(_until_nothing(wide, unit.max_groups))
        by_rows[column.name] = tuple(_until_nothing(deep, unit.rows_per_group))
        most.append(_enough(wide))
    suggested = {"max_rows": _enough(cuts), "max_groups": min(max(most), _enough(cuts))}
    return {
        "people": facts["people"], "most_rows": facts["most"], "max_rows": tuple(cuts), "max_groups": by_groups,
        "max_rows_per_group": by_rows, "limits": suggested,
    }  # fmt: skip


def _enough(cuts: Sequence[Cut]) -> int:
    """The least limit that hardly cuts."""
    return int(next((cut.at for cut in cuts if cut.rows <= LOST), cuts[-1].at))


def _until_nothing(cuts: Sequence[Cut], declared: int) -> list[Cut]:
    """The cuts up to the first that loses nothing, and that of the declared limit."""
    last = next((cut.at for cut in cuts if cut.rows <= 0), math.inf)
    return [cut for cut in cuts if cut.at <= last or cut.at == declared]


def _grouping(columns: Mapping[str, Column], seen: Mapping[str, Seen], unit: PrivacyUnit) -> list[Column]:
    """The columns people will group by, those with the fewest values first."""

    def wanted(column: Column) -> bool:
        listed = column.keys is not None and column.type in ("cat", "int", "bool")
        texts = column.type == "cat" and suggest(seen[column.name])[0].get("type") in ("cat", "bool")
        return column.name != unit.column and (listed or texts)

    return sorted(filter(wanted, columns.values()), key=lambda column: seen[column.name].distinct)[:GROUPS]


def _counted(
    engine: Any, columns: Mapping[str, Column], unit: PrivacyUnit, *, fold: bool, grouping: Sequence[Column], total: int
) -> dict[str, float]:
    """The share of rows that a release would count, by the bounded table of a release itself."""
    person = None if unit.column is None else columns[unit.column]
    found = {}
    for column in (None, *grouping):
        frame = Frame(unit, person, fold, by=() if column is None else (column,))
        with engine.bounded(frame, draw(UniformInteger(0, 2**128 - 1))) as bounded:
            totals = bounded.ask(Totals((Item("rows"),)))
        found["" if column is None else column.name] = int(sum(totals.values[Item("rows")].tolist())) / max(total, 1)
    return found


def _column(column: Column, seen: Seen, cuts: Any, unit: PrivacyUnit) -> ColumnFit:
    declared = "never" if column.type == "never" else column.type
    lows, highs = cuts if cuts is not None else ((), ())
    clamped = None
    if column.bounds is not None and column.type in (*NUMERIC, *MOMENTS) and cuts is not None:
        ends = tuple(_end(column, end) for end in column.bounds)
        clamped = (next((c.rows for c in lows if c.at == ends[0]), 0.0), next((c.rows for c in highs if c.at == ends[1]), 0.0))
    parses = None if seen.parsed is None or not seen.present else seen.parsed / seen.present
    unlisted = None if seen.listed is None or not seen.present else 1 - seen.listed / seen.present
    null = 1 - seen.present / max(seen.rows, 1)
    facts, why = ({"type": "id"}, "the person") if column.name == unit.column else suggest(seen, column.type)
    said = column.bounds is not None or column.keys is not None or column.type in ("bool", "never")
    if said and column.name != unit.column and (parses or 1) >= MOST and sum(clamped or (0,)) <= HARDLY and (unlisted or 0) <= LOST:
        facts, why = declaration(column), "fits as declared"
    return ColumnFit(column.name, declared, null, parses, clamped, unlisted, tuple(lows), tuple(highs), facts, why)


def suggest(seen: Seen, declared: str = "") -> tuple[dict[str, Any], str]:
    """A declaration that fits what was seen of a column, and why; what looks like names or free text may never be used.

    A type that most values have is suggested; where the owner has declared it, half of them suffice. The reason holds no number: it may
    stand in a dataset file.
    """
    there = seen.present
    moments, numbers = (MOST if declared not in kinds else 0.5 for kinds in (MOMENTS, NUMERIC))
    if not there:
        return dict(NEVER), "it has no values"
    if seen.stored == "bool" or (seen.numbers == there and (seen.low, seen.high) == (0, 1) and seen.whole[0] == there):
        return {"type": "bool"}, "zero or one"
    if seen.moments >= moments * there and seen.first is not None and seen.last is not None:
        day = seen.stored == "date" or seen.days == seen.moments
        ends = [f"{seen.first.year}-01-01", f"{seen.last.year}-12-31"]
        if not day:
            ends[1] += "T23:59:59"
        return {"type": "date" if day else "timestamp", "bounds": ends}, "days" if day else "moments"
    if seen.numbers >= numbers * there and seen.low is not None and seen.high is not None:
        if _identity(seen):
            return dict(NEVER), "it names people or rows"
        return _number(seen)
    if _identity(seen):
        return dict(NEVER), "it names people or rows"
    if seen.flags >= MOST * there:
        return {"type": "bool"}, "yes or no"
    if seen.numbers >= there / 2:
        return dict(NEVER), "numbers mixed with other text: clean it, or declare it as numbers"
    if seen.longest > 256 or seen.distinct > FEW or seen.distinct > max(20, there / 2):
        return dict(NEVER), "names or free text"
    return {"type": "cat", "keys": "private"}, "few different texts; list the public ones as values = [...]"


def names_people(name: str) -> bool:
    """Whether a column is called like one that says who a row is about."""
    word = name.lower().replace(" ", "_").replace("-", "_")
    return word in WHO or word.endswith(("_id", "_key", "_no", "_number"))


def _identity(seen: Seen) -> bool:
    return names_people(seen.name) and seen.distinct > 0.05 * seen.present > 1


def _number(seen: Seen) -> tuple[dict[str, Any], str]:
    assert seen.low is not None
    assert seen.high is not None
    finite = seen.numbers - seen.infinite
    low, high = outward(seen.low, seen.high)
    scale = next((s for s, n in enumerate(seen.whole) if n == finite), None)
    if scale == 0 and max(abs(low), abs(high)) < 2**53:
        return {"type": "int", "bounds": [int(low), int(high)]}, "whole numbers"
    ends = [int(end) if end == int(end) else end for end in (low, high)] if max(abs(low), abs(high)) < 2**53 else [low, high]
    if scale and seen.stored in ("text", "decimal") and max(abs(low), abs(high)) < 1e12:
        digits = len(str(int(max(abs(low), abs(high))))) + scale
        return {"type": f"decimal({digits},{scale})", "bounds": ends}, f"numbers with {scale} decimals"
    return {"type": "float", "bounds": ends}, "numbers"


def nice(x: float) -> float:
    """The least of 1, 2, 5, 10, 20, 50, ... and their tenths that is not below x > 0."""
    power = math.floor(math.log10(x))
    for k in (power - 1, power, power + 1):
        for digit in (1, 2, 5):
            found = float(f"{digit}e{k}")
            if found >= x:
                return found
    return float(f"1e{power + 1}")


def outward(low: float, high: float) -> tuple[float, float]:
    """Round ends that hold both: zero where the values start near it, a few digits elsewhere."""
    if low == high == 0:
        return 0.0, 1.0
    if low >= 0 and low <= high / 2:
        return 0.0, nice(high)
    if high <= 0 and high >= low / 2:
        return -nice(-low), 0.0
    if low < 0 < high:
        return -nice(-low), nice(high)
    step = nice(max(high - low, abs(high) * 1e-3))
    first, last = math.floor(low / step) * step, math.ceil(high / step) * step
    return (first, last) if first < last else (first, first + step)


def _candidates(column: Column, seen: Seen) -> tuple[str | None, list[Any], list[Any]]:
    """The bounds whose cost is looked at: the declared ones, those that move nothing, and narrower ones."""
    facts, _ = suggest(seen, column.type)
    kind = column.type if column.type in (*NUMERIC, *MOMENTS) else str(facts.get("type", "")).partition("(")[0]
    lows: list[Any]
    highs: list[Any]
    if kind in MOMENTS:
        if seen.first is None or seen.last is None:
            return None, [], []
        years = (
            sorted({min(seen.first.year + i, seen.last.year) for i in (0, 1, 5)}),
            sorted({max(seen.last.year - i, seen.first.year) for i in (0, 1, 5)}),
        )
        lows, highs = [dt.datetime(year, 1, 1) for year in years[0]], [_year_end(year, kind) for year in years[1]]
    elif kind in NUMERIC and seen.low is not None and seen.high is not None:
        low, high = outward(seen.low, seen.high)
        lows = [-end for end in _narrower(-low)] if low < 0 else [low]
        highs = [end for end in _narrower(high) if end > max(low, 0) or end == high]
    else:
        return None, [], []
    if column.bounds is not None and column.type == kind:
        ends = [_end(column, end) for end in column.bounds]
        lows, highs = sorted({*lows, ends[0]}), sorted({*highs, ends[1]})
    return kind, sorted(lows), sorted(highs)


def _year_end(year: int, kind: str) -> dt.datetime:
    return dt.datetime(year, 12, 31) if kind == "date" else dt.datetime(year, 12, 31, 23, 59, 59)


def _narrower(end: float) -> list[float]:
    """An end and a few nice ones below it."""
    if end <= 0:
        return [end]
    found = [end]
    while len(found) < 7:
        found.append(nice(found[-1] * 0.35))  # the next of 1, 2, 5, ... below
    return found


def _end(column: Column, end: Any) -> Any:
    """A declared bound as it is compared here."""
    if column.type not in MOMENTS:
        return float(end)
    if isinstance(end, dt.datetime):
        return end.astimezone(dt.UTC).replace(tzinfo=None) if end.tzinfo else end
    if isinstance(end, dt.date):
        return dt.datetime(end.year, end.month, end.day)
    return dt.datetime.fromisoformat(str(end)).replace(tzinfo=None)


def _as(column: Column, kind: str) -> Column:
    return replace(column, type=kind, keys=None, bounds=None)


def _share(share: float | None) -> str:
    if share is None:
        return ""
    return "0%" if share <= 0 else "<0.01%" if share < 1e-4 else f"{share:.2%}" if share < 0.1 else f"{share:.1%}"


def _pair(pair: tuple[float, float] | None) -> str:
    return "" if pair is None else "0%" if pair == (0, 0) else f"{_share(pair[0])} below, {_share(pair[1])} above"


def _cut(cut: Cut) -> tuple[str, str, str, str]:
    at = cut.at.date().isoformat() if isinstance(cut.at, dt.datetime) else f"{cut.at:,.15g}"
    total = ", ".join(f"{name} {_share(lost)}" for name, lost in cut.total.items())
    return at, _share(cut.rows), _share(cut.people), total


def _line(what: str, cuts: Sequence[Cut], besides: str) -> str:
    """All values of one limit in a line: how much each cuts, and of what else."""
    said = []
    for cut in cuts:
        other = _share(cut.people if besides == "people" else next(iter(cut.total.values()), None))
        of = "" if not other or other == _share(cut.rows) == "0%" else f" ({other}{'' if besides == 'people' else ' of the total'})"
        said.append(f"{_cut(cut)[0]} cuts {_share(cut.rows)}{of}")
    return f"{what}: {'; '.join(said)}"


def declaration(column: Column) -> dict[str, Any]:
    """A column's declaration in the words it was made with."""
    if column.type == "never":
        return dict(NEVER)
    kind = f"decimal(38,{column.scale})" if column.type == "decimal" else column.type
    said: dict[str, Any] = {"type": kind}
    if column.bounds is not None:
        said["bounds"] = [end.isoformat() if isinstance(end, dt.date) else end for end in map(_plain, column.bounds)]
    if column.keys is not None and column.type != "bool":
        said["values"] = list(column.keys)
    return said


def _plain(end: Any) -> Any:
    """A bound as TOML writes it."""
    if isinstance(end, dt.date | str):
        return end
    number = float(end)
    return int(number) if number == int(number) and abs(number) < 2**53 else number


def toml(facts: Mapping[str, Any]) -> str:
    """One column's declaration as TOML."""
    return "{ " + ", ".join(f"{word} = {json.dumps(value, ensure_ascii=False)}" for word, value in facts.items()) + " }"
