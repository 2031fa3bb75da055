"""The relational text of a release, written once: typed -> clipped -> bounded -> grouped. Plain SQL over aliases of our own.

A row of the clipped table is u (unit id), k0.. (group keys), q0.. (grid integers), b0.. (is the counted filter true). These, and
nothing else, decide which rows of a person stay: a row number or a file position would renumber everyone when one person leaves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sordino.engines.filter import rendered
from sordino.engines.key import bin_text, key_in, key_text, unit_text
from sordino.engines.layer import Layers
from sordino.engines.row import Rows, held, used
from sordino.engines.scan import Scan
from sordino.engines.value import Field, grid_of, quoted
from sordino.errors import QueryError
from sordino.privacy.relation import Limits
from sordino.schema.column import Column, coarse_shift
from sordino.schema.frame import Frame
from sordino.summaries.totals import Item

__all__ = ["Text", "check", "used"]

MASK = 2**64 - 1
LISTED = 1_000  # keys a statement may spell out


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
        frame, rows = self.frame, Rows(self.frame, self.declared, self.scan)
        layers = Layers(rows.base())
        last = len(frame.by) - 1 if frame.edges is not None else -1
        makes = [f"{(grid_of if i == last else key_text)(column, layers.value(column))} AS k{i}" for i, column in enumerate(frame.by)]
        makes += [f"{grid_of(column, layers.value(column))} AS q{i}" for i, column in enumerate(frame.columns)]
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
        if self.portable:
            pieces = [f"COALESCE(CAST(length(CAST({p} AS VARCHAR)) AS VARCHAR) || ':' || CAST({p} AS VARCHAR), 'N')" for p in ("u", *parts)]
            return f"md5({' || '.join([quoted(f'{len(str(self.salt))}:{self.salt}'), *pieces])})"
        salts = [f"CAST({(self.salt >> shift) & MASK} AS UBIGINT)" for shift in (0, 64)]
        # hashed twice: the inner hash only xors its parts, and an xor would favour the same groups under every salt
        # and the id as text: which rows stay may not depend on whether the source stores all ids as numbers
        return f"CAST(hash(hash({', '.join((*salts, 'CAST(u AS VARCHAR)', *parts))})) >> 32 AS UINTEGER)"

    @property
    def _groups(self) -> str:
        return ", ".join((self.hashed(*self.keys), *self.keys))

    @property
    def _rows(self) -> str:
        """The order of one person's rows in a group, and of all of them: by their hash, then by the row itself, so that no tie is left."""
        return ", ".join((self.hashed(*self.keys, *self.content), *self.keys, *self.content))

    def few(self, table: str) -> str:
        """Each person's first groups, of each the first rows, and of these the first in all: the limits of the frame.

        One sort serves groups and rows, as the rows' order refines the groups': rank() counts the rows of a person's earlier groups, so
        the difference to row_number() is a row's place in its own group.
        """
        limits = self.limits
        groups = f"PARTITION BY u ORDER BY {self._groups}"
        places = f"dense_rank() OVER ({groups}) AS place, row_number() OVER ({groups}, {self._rows}) - rank() OVER ({groups}) AS before"
        ranked = f"SELECT {self.rows}, {places} FROM {table} AS clipped"
        few = f"SELECT {self.rows} FROM ({ranked}) AS ranked WHERE place <= {limits.groups} AND before < {limits.rows}"
        return self._few_in_all(few)

    def _few_in_all(self, rows: str) -> str:
        """At most so many rows of one person; nothing to do where groups and rows in each leave no more."""
        limits = self.limits
        if limits.groups * limits.rows <= limits.total:
            return rows
        ranked = f"SELECT {self.rows}, row_number() OVER (PARTITION BY u ORDER BY {self._rows}) AS place FROM ({rows}) AS grouped"
        return f"SELECT {self.rows} FROM ({ranked}) AS ranked WHERE place <= {limits.total}"

    def crowded(self, table: str) -> str:
        """The people with more rows than any limit allows: in all, or in one of their groups."""
        limits = self.limits
        many = f"SELECT u FROM {table} GROUP BY u HAVING count(*) > {min(limits.total, limits.rows)}"
        if not self.keys or limits.rows >= limits.total:
            return many
        pair = ", ".join(("u", *self.keys))
        in_one = f"SELECT u FROM {table} WHERE u IN ({many}) GROUP BY {pair} HAVING count(*) > {limits.rows}"
        if limits.groups * limits.rows <= limits.total:
            return f"SELECT DISTINCT u FROM ({in_one}) AS crowds"
        return f"{in_one} UNION SELECT u FROM {table} GROUP BY u HAVING count(*) > {limits.total}"

    def few_rows(self, table: str, crowded: str) -> str:
        """The rows of the table within the limits, where nobody is in too many groups: only crowded people need ranking.

        Equal rows are interchangeable, so the order among them does not matter.
        """
        calm = f"SELECT {self.rows} FROM {table} AS r WHERE u NOT IN (SELECT u FROM {crowded})"
        return f"{calm} UNION ALL {self._ranked(f'SELECT {self.rows} FROM {table} AS r WHERE u IN (SELECT u FROM {crowded})')}"

    def _ranked(self, rows: str) -> str:
        """Each person's first rows of each group, and of these the first in all."""
        limits = self.limits
        if self.keys and limits.rows < limits.total:
            place = f"row_number() OVER (PARTITION BY {', '.join(('u', *self.keys))} ORDER BY {self._rows})"
            rows = f"SELECT {self.rows} FROM (SELECT {self.rows}, {place} AS place FROM ({rows}) AS many) AS ranked"
            rows = f"{rows} WHERE place <= {limits.rows}"
            return self._few_in_all(rows)
        ranked = f"SELECT {self.rows}, row_number() OVER (PARTITION BY u ORDER BY {self._rows}) AS place FROM ({rows}) AS many"
        return f"SELECT {self.rows} FROM ({ranked}) AS ranked WHERE place <= {limits.total}"

    def bounded(self) -> str:
        """The bounded table in one statement, for engines to which a second pass over the rows costs more than a sort."""
        rows = self.clipped()
        if self.frame.unit_column is None:
            return rows
        return self.few(f"({rows})") if self.crowds else self._ranked(rows)

    def column(self, name: str | None) -> str:
        for i, column in enumerate(self.frame.columns):
            if column.name == name:
                return f"q{i}"
        raise QueryError("SRD-201", f"column {name!r} is not part of this frame.", "Add it to the frame's columns.")

    def total(self, item: Item) -> str:
        """The aggregate an item asks for."""
        if item.what == "rows":
            return "count(*)" if item.column is None else f"count({self.column(item.column)})"
        if item.what == "units":
            single = self.frame.unit_column is None or self.limits.rows == 1  # then rows are people
            return "count(*)" if single else "count(DISTINCT u)"
        if item.what == "counted":
            return f"count(CASE WHEN b{item.index} THEN 1 END)"
        q = self.column(item.column)
        if item.what == "sum":
            return f"sum({q})"
        if item.what not in ("coarse", "squares"):
            raise QueryError("SRD-106", f"{item.what!r} is not a total.", "Ask for rows, units, sum, coarse, squares or counted.")
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
