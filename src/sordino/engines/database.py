"""Answers from rows that are far away: of a group's sorted column only the ranks somebody looks at travel.

Which ranks these are depends on how many rows a group has, so each question is held twice: once with a column of that length that notes
what is looked at, and once with the ranks that were fetched for all groups together.

One relational text, three databases: it is written as DuckDB reads it, and said again as Spark or PostgreSQL mean it.

Grammar is the small part, and sqlglot's. What a dialect must say itself is what happens to a value: a cast that fails is null and never an
error, a backslash in a pattern is a backslash, a date minus a date is a number of days. A function nobody has taught a dialect is refused.

What engines over rows elsewhere have in common: a header, columns of a few tame kinds, and the text of a frame over them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeVar

import numpy as np
import sqlglot
from numpy.typing import NDArray
from sqlglot import exp

from sordino.engines.answer import SLICE, EngineAnswer
from sordino.engines.array import column_array
from sordino.engines.scan import Place, Scan, check_columns
from sordino.engines.text import Text, check, used
from sordino.engines.value_text import Field, Ranking
from sordino.engines.view_text import view_needs, view_scan
from sordino.errors import QueryError
from sordino.schema.column import Column
from sordino.schema.frame import Frame
from sordino.summaries.request import Window, rank_window
from sordino.summaries.totals import Middle, Middles, Ranks, middle

__all__ = [
    "BLANK",
    "FALSE",
    "HELD",
    "INFINITE",
    "MOMENT",
    "NUMBER",
    "TRUE",
    "Dialect",
    "EngineGlimpse",
    "HeldColumns",
    "RemoteEngine",
    "RowReader",
    "Say",
    "Stored",
    "is_day",
    "plain",
    "render",
]

T = TypeVar("T")
Key = tuple[Any, ...]
Integers = NDArray[np.int64]
AT_ONCE = SLICE // 2  # ranks read at one time: 24 MB as they arrive


@dataclass
class EngineGlimpse:
    """A sorted column of which only some ranks are known. Before `ranks` are known it notes what it is asked for and answers with zeros."""

    n: int
    slices: list[tuple[int, int]] = field(default_factory=list)
    sums: list[tuple[int, int]] = field(default_factory=list)
    ranks: Integers | None = None
    values: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    totals: dict[tuple[int, int], int] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, wanted: slice) -> Integers:
        start, stop, _ = wanted.indices(self.n)
        if self.ranks is not None:
            found: Integers = self.values[np.searchsorted(self.ranks, start) : np.searchsorted(self.ranks, stop)]
            return found
        if start < stop:
            self.slices.append((start, stop))
        return np.zeros(max(stop - start, 0), np.int64)

    def total(self, start: int, stop: int) -> int:
        if self.ranks is None:
            self.sums.append((start, stop))
        return self.totals.get((start, stop), 0)

    @property
    def rows(self) -> int:
        return sum(stop - start for start, stop in self.ranges)

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """What was looked at, from zero, as stretches that do not touch."""
        merged: list[tuple[int, int]] = []
        for start, stop in sorted(self.slices):
            if merged and start <= merged[-1][1]:
                merged[-1] = merged[-1][0], max(stop, merged[-1][1])
            else:
                merged.append((start, stop))
        return merged


class RemoteEngine(EngineAnswer):
    """What a release may ask a bounded table on another machine."""

    def _ranks(self, request: Ranks) -> Iterator[tuple[Window, ...]]:
        width = self._width(request.column)

        def look(x: Any, place: int) -> tuple[Window, ...]:
            return tuple(rank_window(x, q, request.radius, 0, width) for q in request.q)

        return self._looked(request.column, request.keys, look)

    def _middles(self, request: Middles) -> Iterator[Middle]:
        width = self._width(request.column)
        return self._looked(request.column, request.keys, lambda x, place: middle(x, request.kept[place], request.radius, width))

    def _looked(self, name: str, named: tuple[Key, ...] | None, look: Callable[[Any, int], T]) -> Iterator[T]:
        """What `look` sees in each group, in order, and as many groups at a time as fit."""
        column, width = self._text.column(name), self._width(name)
        if not self._text.keys:
            yield look(self._order(column, width, "TRUE").array(), 0)
            return
        wanted, sizes = self._sizes(column, named)
        place = 0
        while place < len(wanted):
            batch: list[EngineGlimpse] = []
            rows = 0
            for key in wanted[place:]:
                glimpse = EngineGlimpse(sizes.get(key, 0))
                look(glimpse, place + len(batch))
                rows += glimpse.rows
                if batch and rows > AT_ONCE:
                    break
                batch.append(glimpse)
            if rows > AT_ONCE and len(batch) == 1:
                yield look(self._order(column, width, self._only(wanted[place])).array(), place)
            else:
                self._fill(column, wanted[place : place + len(batch)], batch)
                yield from (look(glimpse, place + i) for i, glimpse in enumerate(batch))
            place += len(batch)

    def _fill(self, column: str, keys: Sequence[Key], batch: Sequence[EngineGlimpse]) -> None:
        """Fetch what these groups are looked at for: the values of some ranks, and the sums of others."""
        ranges = [(place, *ends) for place, glimpse in enumerate(batch) for ends in glimpse.ranges]
        sums = [(place, *ends) for place, glimpse in enumerate(batch) for ends in glimpse.sums]
        parts = {f"w{i}": column_array([key[i] for key in keys]) for i in range(len(self._text.keys))}
        self._cursor.register("wanted", {"place": np.arange(len(keys)), **parts})
        same = " AND ".join(f"{name} IS NOT DISTINCT FROM w{i}" for i, name in enumerate(self._text.keys))
        rows = f"SELECT place, {column} AS q FROM {self._table} AS bounded JOIN wanted ON {same} WHERE {column} IS NOT NULL"
        ranked = f"SELECT place, q, row_number() OVER (PARTITION BY place ORDER BY q) AS r FROM ({rows}) AS found"
        inside = f"FROM ({ranked}) AS ranked JOIN ranges ON place = of AND r > first AND r <= last"
        found = {"place": np.empty(0, np.int64), "r": np.empty(0, np.int64), "q": np.empty(0, np.int64)}
        if ranges:
            self._hold(ranges)
            found = self._fetch(f"SELECT place, r, q {inside}")
        order = np.lexsort((found["r"], found["place"]))
        ends = np.searchsorted(found["place"][order], np.arange(len(batch) + 1))
        for place, glimpse in enumerate(batch):
            mine = order[ends[place] : ends[place + 1]]
            glimpse.ranks, glimpse.values = found["r"][mine] - 1, found["q"][mine].astype(np.int64, copy=False)
        if sums:
            self._hold(sums)
            told = self._fetch(f"SELECT number, CAST(sum(q) AS VARCHAR) AS total {inside} GROUP BY number")
            for number, total in zip(told["number"].tolist(), told["total"].tolist(), strict=True):
                place, *stretch = sums[number]
                batch[place].totals[stretch[0], stretch[1]] = int(total)

    def _hold(self, ranges: Sequence[tuple[int, int, int]]) -> None:
        of, first, last = (np.array(part, np.int64) for part in zip(*ranges, strict=True))
        self._cursor.register("ranges", {"number": np.arange(len(ranges)), "of": of, "first": first, "last": last})


Say = Callable[[exp.Expr], str]
Stored = Mapping[str, Mapping[str, str]]

# What counts as a number, a moment and a flag when it arrives as text. Everything else is null.
BLANK = r"[ \t\n\x0B\f\r]*"
NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?"
INFINITE = r"[+-]?[iI][nN][fF]([iI][nN][iI][tT][yY])?"
MOMENT = (
    r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    r"([ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]+)?)?(Z|[+-](0[0-9]|1[0-5])(:?[0-5][0-9])?)?)?"
)
TRUE, FALSE = "'true', 't', 'yes', 'y', '1'", "'false', 'f', 'no', 'n', '0'"
PLAIN = re.compile(r"[A-Za-z0-9 .:_+-]*", re.ASCII)
BARE = (exp.DataTypeParam, exp.Limit, exp.Lag, exp.Lead, exp.Substring, exp.Right, exp.BitwiseRightShift, exp.BitwiseLeftShift)
COMMON = (
    exp.Abs, exp.And, exp.BitLength, exp.Case, exp.Cast, exp.Ceil, exp.Coalesce, exp.Count, exp.DenseRank, exp.Exists, exp.Exp,
    exp.Extract, exp.Floor, exp.Greatest, exp.If, exp.Lag, exp.Lead, exp.Least, exp.Length, exp.Lower, exp.Max, exp.MD5, exp.Min,
    exp.Or, exp.Rank, exp.Right, exp.RowNumber, exp.Sqrt, exp.Substring, exp.Sum, exp.Trim,
)  # fmt: skip


class Dialect(Protocol):
    """What one database says in its own way."""

    @property
    def name(self) -> str:
        """As sqlglot knows it."""

    def text(self, value: str) -> str:
        """Any text as a constant, by its bytes: nothing an analyst wrote is part of a statement, not even inside quotes."""

    def cast(self, stored: str, to: exp.DataType, x: str) -> str:
        """x as another type, null where it has no such value; `stored` is what x is: text, decimal, or another name for a tame type."""

    def special(self, node: exp.Expr, say: Say) -> str | None:
        """How it says a construct that differs; None where it says it as everybody does."""


@dataclass(frozen=True)
class Said:
    """A statement on its way into a dialect. `tables` are relations to be spelled out."""

    dialect: Dialect
    tables: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, node: exp.Expr) -> str:
        said: str = node.transform(self._rule).sql(dialect=self.dialect.name)
        return said

    def _rule(self, node: Any) -> Any:
        raw = self._raw(node)
        return node if raw is None else exp.Var(this=raw)

    def _raw(self, node: exp.Expr) -> str | None:
        if isinstance(node, exp.Literal):
            return self._literal(node)
        if isinstance(node, exp.Table) and node.name in self.tables:
            return f"{self.tables[node.name]} AS {node.alias or node.name}"
        if isinstance(node, exp.TryCast):
            stored, inner = self._kind(node.this)
            return self.dialect.cast(stored, node.to, self(inner))
        if isinstance(node, exp.Cast) and self._kind(node.this)[0] == "bool":
            return self.dialect.cast("bool", node.to, self(node.this))
        special = self.dialect.special(node, self)
        if special is None and isinstance(node, exp.Func) and not isinstance(node, COMMON):
            what = f"{self.dialect.name} has not been taught {node.sql(dialect='duckdb')[:60]}."
            raise QueryError("SRD-106", what, 'Ask another way, or use engine="duckdb".')
        return special

    def _literal(self, node: exp.Literal) -> str | None:
        value = str(node.this)
        if node.is_string:
            return None if PLAIN.fullmatch(value) else self.dialect.text(value)
        if "e" in value.lower():
            return plain(f"CAST('{value}' AS DOUBLE)", self.dialect)
        # a BIGINT like every other integer: the product of two small constants must not be computed in 32 bits
        small = value.isdigit() and int(value) < 2**63 and not isinstance(node.parent, BARE) and node.arg_key != "expressions"
        return f"CAST({value} AS BIGINT)" if small else None

    def _kind(self, node: exp.Expr) -> tuple[str, exp.Expr]:
        """What an operand is, and the operand without detours: an exact number need not become text to become a number."""
        while isinstance(node, exp.Paren):
            node = node.this
        if isinstance(node, exp.Column):
            return node.meta.get("stored", "typed"), node
        if isinstance(node, exp.TryCast) and node.to.is_type(*exp.DataType.TEXT_TYPES):
            stored, inner = self._kind(node.this)
            return (stored, inner) if stored in ("decimal", "integer") else ("text", node)
        return "bool" if isinstance(node, exp.TryCast) and node.to.is_type("boolean") else "typed", node


def is_day(node: exp.Expr) -> bool:
    """Whether this is a calendar day, so that what is subtracted from it are days."""
    return isinstance(node, exp.Cast) and bool(node.to.is_type("date"))


def plain(statement: str, dialect: Dialect) -> str:
    """A harmless piece of text in the dialect's grammar."""
    said: str = sqlglot.parse_one(statement, read="duckdb").sql(dialect=dialect.name)
    return said


def render(statement: str, dialect: Dialect, stored: Stored | None = None, tables: Mapping[str, str] | None = None) -> str:
    """A statement of the relational text as this dialect says it. `stored` are the kinds of the columns of scanned tables, by table."""
    tree = sqlglot.parse_one(statement, read="duckdb")
    for column in tree.find_all(exp.Column):
        source = column.parent_select and column.parent_select.args.get("from_")
        kind = (stored or {}).get(source.this.name, {}).get(column.name) if source else None
        if kind is not None:
            column.meta["stored"] = kind
    return Said(dialect, tables or {})(tree)


HELD = "held"  # what a statement calls the scanned rows


@dataclass(frozen=True)
class HeldColumns:
    """The columns that are read of one table, and what a statement calls them."""

    reader: Any
    aliases: Mapping[str, str]
    table: str = ""


class RowReader:
    """`kinds` say how each column of the header is stored: integer, float, bool, date, timestamp, decimal or text."""

    def __init__(self, place: Place, columns: Iterable[Column], kinds: Mapping[str, str], dialect: Dialect, portable: bool) -> None:
        self.source, self.columns, self.portable = place, {column.name: column for column in columns}, portable
        self._kinds, self._dialect, self._closed = dict(kinds), dialect, False
        self._checked: set[Frame] = set()
        self.beside: Mapping[str, Any] = {}  # readers of the other tables of a dataset, in the same database
        check_columns(self.columns.values(), self.header())

    def header(self) -> tuple[str, ...]:
        """The column names of the source."""
        return tuple(self._kinds)

    def check(self, frame: Frame) -> None:
        """Refuse what cannot be read, before anything is charged. Nobody is asked."""
        if frame not in self._checked:
            check(frame, frame.declared(self.columns))
            render(self._text(frame, 0).bounded(), self._dialect, self._stored(frame))
            self._checked.add(frame)

    def close(self) -> None:
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._kinds)} columns)"

    def __reduce__(self) -> Any:
        raise TypeError("an engine stays in its process; open the source again")

    def _open(self) -> None:
        if self._closed:
            raise QueryError("SRD-205", "the engine is closed.", "Open the source again.")

    def _held(self, frame: Frame) -> dict[str, HeldColumns]:
        """The tables a frame reads, by what its statements call them."""
        if frame.view is None:
            return {HELD: HeldColumns(self, {column.name: f"c{i}" for i, column in enumerate(used(frame, self.columns))})}
        found = {}
        for number, (table, columns) in enumerate(view_needs(frame).items()):
            aliases = {column.name: f"c{i}" for i, column in enumerate(columns)}
            found[f"{HELD}{number}"] = HeldColumns(self.beside.get(table, self), aliases, table)
        return found

    def _stored(self, frame: Frame) -> Stored:
        return {held: {alias: of.reader._kinds[name] for name, alias in of.aliases.items()} for held, of in self._held(frame).items()}

    def _text(self, frame: Frame, salt: int) -> Text:
        scans = {
            of.table: Scan(held, {name: Field(alias, of.reader._kinds[name]) for name, alias in of.aliases.items()})
            for held, of in self._held(frame).items()
        }
        scan = scans[""] if frame.view is None else view_scan(frame, lambda table, _: scans[table], Ranking(salt, self.portable))
        return Text(frame, frame.declared(self.columns), scan, salt, self.portable)

    @staticmethod
    def _hold(cursor: Any, text: Text) -> None:
        """Public tables and long lists of keys, where the statements can see them."""
        for name, table in text.held.items():
            cursor.register(name, {part: column_array(values) for part, values in table.items()})
