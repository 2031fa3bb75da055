"""The relational text of a release, written once: typed -> clipped -> bounded -> grouped. Plain SQL over aliases of our own.

A row of the clipped table is u (unit id), k0.. (group keys), q0.. (grid integers), b0.. (is the counted filter true). These, and
nothing else, decide which rows of a person stay: a row number or a file position would renumber everyone when one person leaves.

The rows under a release: typed values of the source's columns, public tables beside them, derived columns on top.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sordino.engines.expression_text import Layers, names, rendered
from sordino.engines.scan import Scan
from sordino.engines.value_text import Field, Ranking, bin_text, grid_of, key_in, key_text, quoted, typed, unit_text
from sordino.errors import QueryError
from sordino.privacy.relation import Limits
from sordino.schema.column import Column, coarse_shift
from sordino.schema.expression import reads
from sordino.schema.frame import Frame, Join
from sordino.schema.view import text_lengths, view_joins
from sordino.summaries.totals import Item

__all__ = ["RowText", "Text", "check", "held", "mentioned", "used"]


def mentioned(frame: Frame) -> list[str]:
    """The declared columns that filters, expressions and joins name; a group or number column that is plain is not among them."""
    found = [name for predicate in (frame.where, *frame.counted) if predicate is not None for name in names(predicate)]
    found += [name for column in (*frame.by, *frame.columns) if column.expression is not None for name in reads(column.expression)]
    return [*found, *(name for join in frame.joins for name, _ in join.on)]


def used(frame: Frame, declared: Mapping[str, Column]) -> tuple[Column, ...]:
    """Every column of the source a frame reads, each once."""
    plain = [column for column in (*frame.by, *frame.columns) if column.expression is None]
    found = {column.name: column for column in (*filter(None, [frame.unit_column]), *plain)}
    beside = {name for join in frame.joins for name in join.columns}
    for name in mentioned(frame):
        if name not in declared and name not in found and name not in beside:
            raise QueryError("SRD-201", f"column {name!r} is not declared.", "Filter by a declared column.")
        if name not in beside:
            found.setdefault(name, declared.get(name) or found[name])
    return tuple(column for name, column in found.items() if name not in beside)


def _picked(frame: Frame, join: Join) -> list[str]:
    """The public columns of a join that anything looks at."""
    wanted = {*mentioned(frame), *(column.name for column in (*frame.by, *frame.columns))}
    return [name for name in join.columns if name in wanted]


def held(frame: Frame) -> dict[str, dict[str, list[int | str | None]]]:
    """The public tables an engine must hold, by name, as columns of whole numbers or text."""
    tables = {}
    for number, join in enumerate(frame.joins):
        own = dict.fromkeys([*(key for _, key in join.on), *map(join.own, _picked(frame, join))])
        tables[f"public{number}"] = {f"p{list(join.table.columns).index(name)}": list(join.table.rows[name]) for name in own}
    for number, join in enumerate(() if frame.view is None else view_joins(frame.view), len(frame.joins)):
        tables[f"public{number}"] = {f"p{i}": list(join.table.rows[name]) for i, name in enumerate(join.table.columns)}
    return tables


@dataclass(frozen=True)
class RowText:
    """One row per row of the source, with a name for every typed value."""

    frame: Frame
    declared: Mapping[str, Column]
    scan: Scan
    first: int = 0  # the number of its first public table

    def base(self) -> dict[str, tuple[Column, str]]:
        """The alias of every declared column, joined ones included."""
        own = {column.name: column for column in (*self.frame.by, *self.frame.columns)}
        columns = [own.get(column.name, column) for column in used(self.frame, self.declared)]
        found = {column.name: (column, f"t{i}") for i, column in enumerate(columns)}
        for number, join in enumerate(self.frame.joins):
            found |= {name: (join.columns[name], f"j{number}_{i}") for i, name in enumerate(_picked(self.frame, join))}
        return found

    def text(self, layers: Layers, unit: str | None) -> str:
        """The statement: typed values and the unit's id, then the joins, then the layers."""
        plain = {column.name for column in (*self.frame.by, *self.frame.columns)} | set(mentioned(self.frame))
        columns = [layers.base[column.name] for column in used(self.frame, self.declared) if column.name in plain]
        reads = [f"{typed(column, self.scan.fields[column.name])} AS {alias}" for column, alias in columns]
        rows = f"SELECT {', '.join([*reads, *([unit] if unit else [])]) or '1 AS one'} FROM {self.scan.text}"
        for number, join in enumerate(self.frame.joins):
            rows = self._joined(rows, number, join, layers.base)
        return layers.over(rows) if layers.levels else rows

    def _joined(self, rows: str, number: int, join: Join, base: Mapping[str, tuple[Column, str]]) -> str:
        """Each row with the one public row of its key. The public rows are grouped by the typed key, so that none can match twice."""
        places = {name: Field(f"p{i}", "integer" if column.type in ("int", "bool") else "text")
                  for i, (name, column) in enumerate(join.table.columns.items())}  # fmt: skip
        picked = _picked(self.frame, join)
        keys = [f"{typed(join.table.columns[key], places[key])} AS x{i}" for i, (_, key) in enumerate(join.on)]
        values = [f"{typed(join.table.columns[join.own(name)], places[join.own(name)])} AS v{i}" for i, name in enumerate(picked)]
        read = f"SELECT {', '.join([*keys, *values])} FROM public{self.first + number} AS listed"
        group = ", ".join(f"x{i}" for i in range(len(keys)))
        once = f"SELECT {', '.join([group, *(f'min(v{i}) AS v{i}' for i in range(len(values)))])} FROM ({read}) AS known GROUP BY {group}"
        same = " AND ".join(f"own.{base[name][1]} = beside.x{i}" for i, (name, _) in enumerate(join.on))
        shown = ", ".join(["own.*", *(f"beside.v{i} AS {base[name][1]}" for i, name in enumerate(picked))])
        return f"SELECT {shown} FROM ({rows}) AS own {'LEFT JOIN' if join.outer else 'JOIN'} ({once}) AS beside ON {same}"


LISTED = 1_000  # keys a statement may spell out
LARGE = 1_000_000  # rows of a table of which some people are looked at before everybody is
MOSTLY = 0.4  # of the rows: if people over a limit have more, ranking everybody is faster than telling them apart


def check(frame: Frame, declared: Mapping[str, Column]) -> None:
    """Everything about a frame that can be wrong, from public facts: call it before the charge."""
    fields = {column.name: Field("x", "text") for column in used(frame, declared)}
    text = Text(frame, declared, Scan("nothing", fields), salt=0)
    text.clipped()


@dataclass(frozen=True)
class Text:
    """All statements of one release. `portable` hashes length-prefixed text by MD5; otherwise the database's own 64-bit hash is used."""

    frame: Frame
    declared: Mapping[str, Column]
    scan: Scan
    salt: int
    portable: bool = False

    @property
    def by(self) -> tuple[Column, ...]:
        """The group columns as their keys compare: the bins of a number column are whole numbers."""
        if self.frame.edges is None:
            return self.frame.by
        *rest, binned = self.frame.by
        return (*rest, Column(binned.name, "int", keys=binned.keys))

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(f"k{i}" for i in range(len(self.frame.by)))

    @property
    def content(self) -> tuple[str, ...]:
        return (*(f"q{i}" for i in range(len(self.frame.columns))), *(f"b{i}" for i in range(len(self.frame.counted))))

    @property
    def rows(self) -> str:
        """The columns of a clipped row."""
        unit = ("u",) if self.frame.unit_column is not None else ()
        return ", ".join((*unit, *self.keys, *self.content)) or "1 AS one"

    @property
    def listed(self) -> dict[str, list[int | str]]:
        """Public keys too many to write into a statement: tables the engine must hold, by name, each with one column `key`."""
        many = [(i, c) for i, c in enumerate(self.by) if c.keys is not None and len(c.keys) > LISTED]
        return {f"keys{i}": [key for value in c.keys or () if (key := key_in(c, value)) is not None] for i, c in many}

    @property
    def held(self) -> dict[str, dict[str, Any]]:
        """Every table the engine must hold, by name, as columns of whole numbers or text: long lists of keys and joined public tables."""
        return {**{name: {"key": keys} for name, keys in self.listed.items()}, **held(self.frame)}

    def clipped(self) -> str:
        """Typed, filtered, quantised rows with a unit id and a wanted key."""
        frame, rows = self.frame, RowText(self.frame, self.declared, self.scan)
        base = rows.base()
        layers = Layers(base, {} if frame.view is None else text_lengths(frame.view))

        def value(column: Column) -> str:
            return base[column.name][1] if column.expression is None else layers.value(column)

        last = len(frame.by) - 1 if frame.edges is not None else -1
        makes = [f"{(grid_of if i == last else key_text)(column, value(column))} AS k{i}" for i, column in enumerate(frame.by)]
        makes += [f"{grid_of(column, value(column))} AS q{i}" for i, column in enumerate(frame.columns)]
        makes += [f"COALESCE({rendered(predicate, layers.of)}, FALSE) AS b{i}" for i, predicate in enumerate(frame.counted)]
        tests, unit = [rendered(frame.where, layers.of)] if frame.where is not None else [], None
        if frame.unit_column is not None:
            unit = f"{unit_text(frame.unit_column, self.scan.fields[frame.unit_column.name], frame.fold_ids)} AS u"
            makes.append("u")
            tests.append("u IS NOT NULL")
        where = f" WHERE {' AND '.join(tests)}" if tests else ""
        inner = f"SELECT {', '.join(makes) or '1 AS one'} FROM ({rows.text(layers, unit)}) AS typed{where}"
        if frame.edges is not None:
            names = [f"{bin_text(f'k{last}', frame.edges)} AS {name}" if name == f"k{last}" else name for name in self.rows.split(", ")]
            inner = f"SELECT {', '.join(names)} FROM ({inner}) AS cut"
        wanted = [_wanted(column, i) for i, column in enumerate(self.by) if column.keys is not None]
        return f"SELECT {self.rows} FROM ({inner}) AS clipped" + (f" WHERE {' AND '.join(wanted)}" if wanted else "")

    @property
    def limits(self) -> Limits:
        """How one person's rows may fall on the groups of this frame."""
        groups = self.frame.public_groups
        if not self.keys:
            return self.frame.unit.limits()
        return self.frame.unit.limits(self.frame.unit.max_groups if groups is None else max(len(groups), 1))

    @property
    def crowds(self) -> bool:
        """Whether a person could be in more groups than the bound: not when there are no more groups than that."""
        groups = self.frame.public_groups
        return groups is None or len(groups) > self.frame.unit.max_groups

    def hashed(self, *parts: str) -> str:
        """H(salt, unit, parts): 32 bits of the database's hash, or the MD5 of length-prefixed text. Ties fall to the parts themselves."""
        return Ranking(self.salt, self.portable).of(*parts)

    @property
    def _groups(self) -> str:
        return ", ".join((self.hashed(*self.keys), *self.keys))

    @property
    def _rows(self) -> str:
        """The order of one person's rows in a group, and of all of them: by their hash, then by the row itself, so that no tie is left."""
        return ", ".join((self.hashed(*self.keys, *self.content), *self.keys, *self.content))

    @property
    def _apart(self) -> bool:
        """Whether rows are counted in each group of a person as well as in all."""
        return bool(self.keys) and self.limits.rows < self.limits.total

    @property
    def doubtful(self) -> bool:
        """Whether somebody with few rows may be over a limit that only a look at the groups shows."""
        return bool(self.keys) and (self.crowds or self._apart) and self.least < self.limits.total

    @property
    def least(self) -> int:
        """So many rows of one person are within all limits, wherever they lie."""
        limits = self.limits
        return min([limits.total, *[limits.rows] * self._apart, *[limits.groups] * (bool(self.keys) and self.crowds)])

    def many(self, table: str) -> str:
        """The people with more rows than that, and how many: one aggregate by person alone."""
        return f"SELECT u, count(*) AS n FROM {table} AS chosen GROUP BY u HAVING count(*) > {self.least}"

    def crowded(self, table: str, many: str) -> str:
        """Those of many rows who are over a limit. Groups are counted only for people whose number of rows leaves a doubt."""
        total = self.limits.total
        if not self.doubtful:
            return f"SELECT u FROM {many} AS many"
        tests = [f"count(*) > {self.limits.groups}"] * self.crowds + [f"max(n) > {self.limits.rows}"] * self._apart
        doubted = f"EXISTS (SELECT 1 FROM {many} AS many WHERE many.u = chosen.u AND many.n <= {total})"
        pairs = f"SELECT u, count(*) AS n FROM {table} AS chosen WHERE {doubted} GROUP BY {', '.join(('u', *self.keys))}"
        over = f"SELECT u FROM ({pairs}) AS pairs GROUP BY u HAVING {' OR '.join(tests)}"
        return f"SELECT u FROM {many} AS many WHERE n > {total} UNION ALL {over}"

    def split(self, table: str, crowded: str, *, over: bool) -> str:
        """The rows of those who are over a limit, or of everybody else."""
        among = f"EXISTS (SELECT 1 FROM {crowded} AS crowded WHERE crowded.u = chosen.u)"
        return f"SELECT {self.rows} FROM {table} AS chosen WHERE {'' if over else 'NOT '}{among}"

    def ranked(self, rows: str) -> str:
        """Each person's first groups, of each the first rows, and of these the first in all: the limits of the frame.

        Equal rows are interchangeable, so the order among them does not matter. One sort serves groups and rows, as the rows' order
        refines the groups': rank() counts the rows of a person's earlier groups, so the difference to row_number() is a row's place in
        its own group. Whoever is among the first in all is among as many first ones of a group, so where a group may hold as much as
        all together its own limit cuts nothing.
        """
        limits, groups = self.limits, f"PARTITION BY u ORDER BY {self._groups}"
        if self.keys and self.crowds:
            before = f", row_number() OVER ({groups}, {self._rows}) - rank() OVER ({groups}) AS before" * self._apart
            test = f"place <= {limits.groups}" + f" AND before < {limits.rows}" * self._apart
            rows = self._first(rows, f"dense_rank() OVER ({groups}) AS place{before}", test)
        elif self._apart:
            place = f"row_number() OVER (PARTITION BY {', '.join(('u', *self.keys))} ORDER BY {self._rows}) AS place"
            rows = self._first(rows, place, f"place <= {limits.rows}")
        if not self._apart or limits.groups * limits.rows > limits.total:
            rows = self._first(rows, f"row_number() OVER (PARTITION BY u ORDER BY {self._rows}) AS place", f"place <= {limits.total}")
        return rows

    def _first(self, rows: str, places: str, test: str) -> str:
        return f"SELECT {self.rows} FROM (SELECT {self.rows}, {places} FROM ({rows}) AS many) AS ranked WHERE {test}"

    def bounded(self) -> str:
        """The bounded table in one statement: people within all limits pass untouched, and only the others are ranked."""
        rows = self.clipped()
        if self.frame.unit_column is None:
            return rows
        made = {"chosen": rows, "many": self.many("chosen"), "crowded": self.crowded("chosen", "many")}
        named = ", ".join(f"{name} AS MATERIALIZED ({text})" for name, text in made.items())
        calm, over = (self.split("chosen", "crowded", over=over) for over in (False, True))
        return f"WITH {named} {calm} UNION ALL {self.ranked(over)}"

    def bound(self, keep: Callable[[str, str], None], number: Callable[[str], int], mostly: float = MOSTLY) -> str:
        """The same step by step, where a database can look at what it has: which table holds the rows in the end.

        `keep(name, statement)` makes a table and `number(statement)` reads a number. What these numbers decide is who is ranked without
        need, which costs time and changes no row.
        """
        keep("chosen", self.clipped())
        rows, share, crowded = number("SELECT count(*) FROM chosen"), 0.0, "crowded"
        if rows >= LARGE:
            share, crowded = self._share(keep, number)
        if share > mostly:
            keep("bounded", self.ranked(f"SELECT {self.rows} FROM chosen"))
            return "bounded"
        keep("many", self.many("chosen"))
        if crowded == "crowded":
            keep(crowded, self.crowded("chosen", "many"))
        if not number(f"SELECT count(*) FROM {crowded}"):
            return "chosen"
        calm, over = (self.split("chosen", crowded, over=over) for over in (False, True))
        keep("bounded", f"{calm} UNION ALL {self.ranked(over)}")
        return "bounded"

    def again(self, keep: Callable[[str, str], None], number: Callable[[str], int], table: str, crowded: str) -> str:
        """What bounding this frame would keep, from what was kept where no keys were listed: which table holds it in the end.

        Theorem. It is `bound` of this frame. Proof. Which rows of a person stay depends on their rows of wanted keys alone. Somebody
        within all limits keeps every one. Somebody over a limit with no row of another key has the same rows as before, in the same order,
        and so keeps the same. The others are ranked, from all rows of wanted keys. QED
        """
        keys, wanted = ", ".join(self.keys), " AND ".join(_wanted(column, i) for i, column in enumerate(self.by))
        names = ", ".join(f"{key} AS n{i}" for i, key in enumerate(self.keys))
        keep("occurring", f"SELECT DISTINCT {keys} FROM chosen")  # kept, so that keys are compared once and not row by row
        keep("unwanted", f"SELECT {names} FROM occurring WHERE NOT COALESCE({wanted}, FALSE)")
        if not number("SELECT count(*) FROM unwanted"):
            return table
        same = " AND ".join(f"unwanted.n{i} IS NOT DISTINCT FROM chosen.{key}" for i, key in enumerate(self.keys))
        other = f"EXISTS (SELECT 1 FROM unwanted WHERE {same})"
        if table == "chosen":
            keep("inside", f"SELECT {self.rows} FROM chosen WHERE NOT {other}")
            return "inside"
        among = f"EXISTS (SELECT 1 FROM {crowded} AS crowded WHERE crowded.u = chosen.u) AND " if crowded else ""
        keep("moved", f"SELECT DISTINCT u FROM chosen WHERE {among}{other}")
        calm, over = (f"{self.split(name, 'moved', over=over)} AND NOT {other}" for name, over in ((table, False), ("chosen", True)))
        keep("inside", f"{calm} UNION ALL {self.ranked(over)}")
        return "inside"

    def _share(self, keep: Callable[[str, str], None], number: Callable[[str], int]) -> tuple[float, str]:
        """Which share of the rows must be ranked, as far as some people show, and whose they are.

        If most people with many rows are over a limit, to find out who costs more than to rank them all.
        """
        some = "substr(md5(CAST(u AS VARCHAR)), 1, 2) < '04'" if self.portable else "(hash(u) & 63) = 0"
        keep("seen", f"SELECT {self.rows} FROM chosen WHERE {some}")
        keep("seen_many", self.many("seen"))
        keep("seen_crowded", self.crowded("seen", "seen_many"))
        rows, many = (number(f"SELECT COALESCE({what}, 0) FROM {table}") for what, table in (("count(*)", "seen"), ("sum(n)", "seen_many")))
        same = "SELECT 1 FROM seen_crowded AS crowded WHERE crowded.u = many.u"
        over = number(f"SELECT COALESCE(sum(n), 0) FROM seen_many AS many WHERE EXISTS ({same})")
        ranked, crowded = (many, "many") if 2 * over > many else (over, "crowded")
        return ranked / max(rows, 1), crowded

    def column(self, name: str | None) -> str:
        for i, column in enumerate(self.frame.columns):
            if column.name == name:
                return f"q{i}"
        raise QueryError("SRD-201", f"column {name!r} is not part of this frame.", "Add it to the frame's columns.")

    @property
    def _alone(self) -> bool:
        """Whether rows are people."""
        return self.frame.unit_column is None or self.limits.rows == 1

    def total(self, item: Item) -> str:
        """The aggregate an item asks for."""
        if item.what == "rows":
            return "count(*)" if item.column is None else f"count({self.column(item.column)})"
        if item.what == "units":
            return "count(*)" if self._alone else "count(DISTINCT u)"
        if item.what == "counted":
            return f"count(CASE WHEN b{item.index} THEN 1 END)"
        if item.what == "people":
            return f"count({'' if self._alone else 'DISTINCT '}CASE WHEN b{item.index} THEN {1 if self._alone else 'u'} END)"
        q = self.column(item.column)
        if item.what == "sum":
            return f"sum({q})"
        if item.what not in ("coarse", "squares"):
            raise QueryError("SRD-106", f"{item.what!r} is not a total.", "Ask for rows, units, sum, coarse, squares, counted or people.")
        shift = coarse_shift(next(column for column in self.frame.columns if column.name == item.column).grid())
        x = f"({q} >> {shift})" if shift else q
        return f"sum({x})" if item.what == "coarse" else f"sum({x} * {x})"

    def grouped(self, table: str, sums: Sequence[str]) -> str:
        """One row per group that occurs: its keys, then each sum as text, because 128-bit integers turn into doubles on the way out."""
        texts = [f"COALESCE(CAST({s} AS VARCHAR), '0') AS s{i}" if s.startswith("sum") else f"{s} AS s{i}" for i, s in enumerate(sums)]
        tail = f" GROUP BY {', '.join(self.keys)}" if self.keys else ""
        return f"SELECT {', '.join((*self.keys, *texts))} FROM {table}{tail}"


def _wanted(column: Column, place: int) -> str:
    values = [key_in(column, value) for value in column.keys or ()]
    if len(values) > LISTED:
        listed = f"SELECT key FROM keys{place} AS listed"
    else:
        listed = ", ".join(quoted(v) if isinstance(v, str) else str(v) for v in values if v is not None)
    tests = [f"k{place} IN ({listed})"] * bool(listed) + [f"k{place} IS NULL"] * (None in values)
    return f"({' OR '.join(tests) or 'FALSE'})"
