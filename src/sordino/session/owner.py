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
from sordino.session.suggestion import MOST, candidates, comparable, declaration, suggest, toml
from sordino.session.table import Table
from sordino.summaries.totals import Item, Totals

__all__ = ["SPARE", "WARNING", "ColumnFit", "OwnerFit", "fit"]

WARNING = "NOT PRIVATE: facts about the rows themselves, for their owner alone. Nothing of this was charged; show it to nobody else."
SPARE = "Bounds are rounded outwards, and still whoever reads them learns that much: prefer what is publicly known."
LOST = 0.01  # of the rows, that a suggested limit may cut
HARDLY = 0.001  # of the values, that declared bounds may move and still fit
GROUPS = 12  # group columns that are looked at
LIMITS = tuple(digit * 10**power for power in range(5) for digit in (1, 2, 5))  # of one person, that are looked at


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
        ends = {c.name: candidates(c, seen[c.name]) for c in columns.values() if c.name != unit.column}
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
        ends = tuple(comparable(column, end) for end in column.bounds)
        clamped = (next((c.rows for c in lows if c.at == ends[0]), 0.0), next((c.rows for c in highs if c.at == ends[1]), 0.0))
    parses = None if seen.parsed is None or not seen.present else seen.parsed / seen.present
    unlisted = None if seen.listed is None or not seen.present else 1 - seen.listed / seen.present
    null = 1 - seen.present / max(seen.rows, 1)
    facts, why = ({"type": "id"}, "the person") if column.name == unit.column else suggest(seen, column.type)
    said = column.bounds is not None or column.keys is not None or column.type in ("bool", "never")
    if said and column.name != unit.column and (parses or 1) >= MOST and sum(clamped or (0,)) <= HARDLY and (unlisted or 0) <= LOST:
        facts, why = declaration(column), "fits as declared"
    return ColumnFit(column.name, declared, null, parses, clamped, unlisted, tuple(lows), tuple(highs), facts, why)


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
