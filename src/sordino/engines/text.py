"""The relational text of a release, written once: typed -> clipped -> bounded -> grouped. Plain SQL over aliases of our own.

A row of the clipped table is u (unit id), k0.. (group keys), q0.. (grid integers), b0.. (is the counted filter true). These, and
nothing else, decide which rows of a person stay: a row number or a file position would renumber everyone when one person leaves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sordino.engines.filter import names, rendered
from sordino.engines.key import bin_text, key_in, key_text, unit_text
from sordino.engines.scan import Scan
from sordino.engines.value import Field, grid_of, quoted, typed
from sordino.errors import QueryError
from sordino.schema.column import Column, coarse_shift
from sordino.schema.frame import Frame
from sordino.summaries.totals import Item

__all__ = ["Text", "check", "used"]

MASK = 2**64 - 1
LISTED = 1_000  # keys a statement may spell out


def used(frame: Frame, declared: Mapping[str, Column]) -> tuple[Column, ...]:
    """Every column a frame reads, each once."""
    found = {column.name: column for column in (*filter(None, [frame.unit_column]), *frame.by, *frame.columns)}
    for name in _filtered(frame):
        if name not in declared and name not in found:
            raise QueryError("SRD-201", f"column {name!r} is not declared.", "Filter by a declared column.")
        found.setdefault(name, declared.get(name) or found[name])
    return tuple(found.values())


def _filtered(frame: Frame) -> list[str]:
    return [name for predicate in (frame.where, *frame.counted) for name in names(predicate)]


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

    def clipped(self) -> str:
        """Typed, filtered, quantised rows with a unit id and a wanted key."""
        frame, fields = self.frame, self.scan.fields
        own = {column.name: column for column in (*frame.by, *frame.columns)}
        columns = [own.get(column.name, column) for column in used(frame, self.declared)]
        alias = {column.name: (column, f"t{i}") for i, column in enumerate(columns)}
        unread = {frame.unit_column.name} - set(own) - set(_filtered(frame)) if frame.unit_column is not None else set()
        reads = [f"{typed(column, fields[name])} AS {value}" for name, (column, value) in alias.items() if name not in unread]
        last = len(frame.by) - 1 if frame.edges is not None else -1
        makes = [
            f"{(grid_of if i == last else key_text)(column, alias[column.name][1])} AS k{i}" for i, column in enumerate(frame.by)
        ]
        makes += [f"{grid_of(column, alias[column.name][1])} AS q{i}" for i, column in enumerate(frame.columns)]
        makes += [f"COALESCE({rendered(predicate, alias)}, FALSE) AS b{i}" for i, predicate in enumerate(frame.counted)]
        tests = [rendered(frame.where, alias)] if frame.where is not None else []
        if frame.unit_column is not None:
            reads.append(f"{unit_text(frame.unit_column, fields[frame.unit_column.name], frame.fold_ids)} AS u")
            makes.append("u")
            tests.append("u IS NOT NULL")
        where = f" WHERE {' AND '.join(tests)}" if tests else ""
        rows = f"SELECT {', '.join(reads) or '1 AS one'} FROM {self.scan.text}"
        inner = f"SELECT {', '.join(makes) or '1 AS one'} FROM ({rows}) AS typed{where}"
        if frame.edges is not None:
            names = [f"{bin_text(f'k{last}', frame.edges)} AS {name}" if name == f"k{last}" else name for name in self.rows.split(", ")]
            inner = f"SELECT {', '.join(names)} FROM ({inner}) AS cut"
        wanted = [_wanted(column, i) for i, column in enumerate(self.by) if column.keys is not None]
        return f"SELECT {self.rows} FROM ({inner}) AS clipped" + (f" WHERE {' AND '.join(wanted)}" if wanted else "")

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
        return f"CAST(hash(hash({', '.join((*salts, 'u', *parts))})) >> 32 AS UINTEGER)"

    def few_groups(self, table: str) -> str:
        """Each person's first max_groups groups by (H(salt, unit, key), key)."""
        order = ", ".join((self.hashed(*self.keys), *self.keys))
        ranked = f"SELECT {self.rows}, dense_rank() OVER (PARTITION BY u ORDER BY {order}) AS place FROM {table} AS clipped"
        return f"SELECT {self.rows} FROM ({ranked}) AS ranked WHERE place <= {self.frame.unit.max_groups}"

    def crowded(self, table: str) -> str:
        """The (person, group) pairs with more rows than max_rows."""
        pair, unit = ", ".join(("u", *self.keys)), self.frame.unit
        many = f" HAVING count(*) > {unit.max_rows}"
        # people are fewer than pairs; where most have one row per group, most of them cannot have a crowded pair
        few = self.keys and unit.max_rows >= unit.max_groups
        people = f" WHERE u IN (SELECT u FROM {table} GROUP BY u{many})" if few else ""
        return f"SELECT {pair} FROM {table}{people} GROUP BY {pair}{many}"

    def few_rows(self, table: str, crowded: str) -> str:
        """Each pair's first max_rows rows by (H(salt, unit, key, content), content). Only crowded pairs need ranking.

        Equal rows are interchangeable, so the order among them does not matter.
        """
        pair, same = ("u", *self.keys), " AND ".join(f"r.{name} IS NOT DISTINCT FROM c.{name}" for name in ("u", *self.keys))
        order = ", ".join((self.hashed(*self.keys, *self.content), *self.content))
        full = ", ".join(f"r.{name}" for name in self.rows.split(", "))
        many = f"SELECT {full} FROM {table} AS r JOIN {crowded} AS c ON {same}"
        ranked = f"SELECT {self.rows}, row_number() OVER (PARTITION BY {', '.join(pair)} ORDER BY {order}) AS place FROM ({many}) AS many"
        few = f"SELECT {full} FROM {table} AS r WHERE NOT EXISTS (SELECT 1 FROM {crowded} AS c WHERE {same})"
        return f"{few} UNION ALL SELECT {self.rows} FROM ({ranked}) AS ranked WHERE place <= {self.frame.unit.max_rows}"

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
            # with one row per person and group, rows are people
            single = self.frame.unit_column is None or self.frame.unit.max_rows == 1
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
