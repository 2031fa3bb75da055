"""A second engine in plain Python, slow and obvious: the oracle of every other. It hashes by salted MD5, as a portable engine does."""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from sordino.lab.reference_moment import naive_moment
from sordino.lab.reference_value import EPOCH, evaluate, exact, steps, text, truth, typed
from sordino.schema.column import Column, coarse_shift
from sordino.schema.frame import Frame, Join
from sordino.schema.interval import derive
from sordino.sensitivity.distance import canonical
from sordino.summaries import KeyWeights, Tally
from sordino.summaries.marginal import Crossed, Marginals
from sordino.summaries.moment import Gradient, Gram, Lengths, Outer
from sordino.summaries.records import Records, RowMatrix
from sordino.summaries.request import Window, weight_of
from sordino.summaries.totals import Clipped, GroupTotals, Item, Middle, Middles, Ranks, Rows, Sorted, Totals

__all__ = ["Reference"]

derived = functools.cache(derive)
Row = tuple[Any, tuple[Any, ...], tuple[int | None, ...], tuple[bool, ...]]  # unit, keys, grid integers, conditions


class Reference:
    """An engine over plain Python lists. It reads a row at a time and answers every request by its definition."""

    def __init__(self, table: Mapping[str, Sequence[Any]], columns: tuple[Column, ...]) -> None:
        self.names = tuple(table)
        self.columns = {column.name: column for column in columns}
        self.rows = [dict(zip(self.names, row, strict=True)) for row in zip(*(list(values) for values in table.values()), strict=True)]

    def header(self) -> tuple[str, ...]:
        return self.names

    def check(self, frame: Frame) -> None:
        return

    def close(self) -> None:
        return

    @contextlib.contextmanager
    def bounded(self, frame: Frame, salt: int) -> Iterator[ReferenceAnswer]:
        rows = [made for row in self.rows if (made := self._made(frame, row)) is not None]
        yield ReferenceAnswer(frame, bounded(frame, salt, rows) if frame.unit_column is not None else rows, salt)

    def _made(self, frame: Frame, row: Mapping[str, Any]) -> Row | None:
        columns = {**self.columns, **{column.name: column for column in (*frame.by, *frame.columns)}}
        for join in frame.joins:
            columns |= join.columns
            keys = tuple(typed(join.table.columns[own], row[name]) for name, own in join.on)
            found = [i for i in range(len(next(iter(join.table.rows.values())))) if keys == key_of(join, i) and None not in keys]
            if not found and not join.outer:
                return None
            row = {**row, **{f"{join.name}.{own}": cells[found[0]] if found else None for own, cells in join.table.rows.items()}}

        def value(name: str, expression: Any = None) -> tuple[Column, Any]:
            expression = expression or (columns[name].expression if name in columns else None)
            if expression is not None:
                return derived(expression), evaluate(expression, value)
            column = columns[name]
            found = typed(column, row[name])
            stands_in = found is None and column.nulls not in ("drop", None)
            return column, typed(column, column.nulls) if stands_in else found

        unit = unit_of(frame, row[frame.unit_column.name]) if frame.unit_column is not None else 0
        if unit is None or (frame.where is not None and truth(frame.where, value) is not True):
            return None
        keys = tuple(whole_seconds(value(column.name)[1]) for column in frame.by)
        if frame.edges is not None:
            keys = (*keys[:-1], place(steps(frame.by[-1], value(frame.by[-1].name)[1]), frame.edges))
        for column, key in zip(frame.by, keys, strict=True):
            if column.keys is not None and key not in wanted(column):
                return None
        numbers = tuple(steps(column, value(column.name)[1]) for column in frame.columns)
        return unit, keys, numbers, tuple(truth(predicate, value) is True for predicate in frame.counted)


@functools.cache
def wanted(column: Column) -> list[Any]:
    return [None if key is None else typed(column, key) for key in column.keys or ()]


def place(step: int | None, edges: Sequence[int]) -> int | None:
    if step is None or not edges[0] <= step <= edges[-1]:
        return None
    return next((i for i in range(len(edges) - 1) if edges[i] <= step < edges[i + 1]), len(edges) - 2)


def key_of(join: Join, place: int) -> tuple[Any, ...]:
    return tuple(typed(join.table.columns[own], join.table.rows[own][place]) for _, own in join.on)


def whole_seconds(key: Any) -> Any:
    return key.replace(microsecond=0) if isinstance(key, dt.datetime) else key


def unit_of(frame: Frame, value: Any) -> Any:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if frame.unit_column is not None and frame.unit_column.type == "int" and not isinstance(value, bool):
        number = exact(value)
        return int(number) if isinstance(number, Fraction) and number.denominator == 1 else None
    return text(value).strip(" ").lower() if frame.fold_ids else text(value)


def hashed(salt: int, *parts: Any) -> str:
    def piece(part: Any) -> str:
        if part is None:
            return "N"
        if isinstance(part, dt.datetime):
            part = (part - EPOCH) // dt.timedelta(seconds=1)
        elif isinstance(part, dt.date):
            part = (part - EPOCH.date()).days
        word = str(part).lower() if isinstance(part, bool) else str(part)
        return f"{len(word)}:{word}"

    return hashlib.md5("".join(map(piece, (salt, *parts))).encode()).hexdigest()


def bounded(frame: Frame, salt: int, rows: list[Row]) -> list[Row]:
    people: dict[Any, dict[Any, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        people[row[0]][row[1]].append(row)
    kept = []
    for unit, groups in people.items():
        mine = []
        for key in sorted(groups, key=lambda key: hashed(salt, unit, *key))[: frame.unit.max_groups if frame.by else None]:
            first = sorted(groups[key], key=lambda row: hashed(salt, unit, *row[1], *row[2], *row[3]))
            mine += first[: frame.unit.rows_per_group if frame.by else None]
        kept += sorted(mine, key=lambda row: hashed(salt, unit, *row[1], *row[2], *row[3]))[: frame.unit.max_rows]
    return kept


def fewest(x: np.ndarray, most: int, salt: int, share: int | None = None) -> np.ndarray:
    if len(x) <= most and share is None:
        return x
    seen: dict[int, int] = defaultdict(int)
    pairs = []
    for value in x.tolist():
        seen[value] += 1
        pairs.append((hashed(salt, value, seen[value]), value))
    kept = sorted(pairs)[:most] if share is None else [pair for pair in pairs if int(pair[0][:8], 16) < share]
    return np.array(sorted(value for _, value in kept), dtype=np.int64)


def naive_window(x: list[int], q: Fraction, radius: int, width: int) -> Window:
    """The ranks floor(q n - radius) + 1 .. ceil(q n + radius) that lie between 0, the lower bound, and n + 1, the upper one."""
    n = len(x)
    ranks = [i for i in range(math.floor(q * n - radius) + 1, math.ceil(q * n + radius) + 1) if 0 <= i <= n + 1]
    padded = [0, *x, width]
    return Window(np.array([padded[i] for i in ranks], dtype=np.int64), ranks[0], n)


def naive_middle(x: list[int], kept: int, radius: int, width: int) -> Middle:
    """By the definition: ranks below 1 are the lower bound, ranks above n the upper one."""

    def rank(i: int) -> int:
        return 0 if i < 1 else width if i > len(x) else x[i - 1]

    first = math.floor((len(x) - kept) / 2) + 1
    last = first + kept - 1
    lower, upper = (np.array([rank(i) for i in range(end - radius, end + radius + 1)], dtype=np.int64) for end in (first, last))
    return Middle(sum(rank(i) for i in range(first, last + 1)), lower, upper, kept, radius, len(x))


def _matrix(rows: list[Any], width: int, part: list[int]) -> RowMatrix:
    return RowMatrix(np.array(rows, np.int64).reshape(len(rows), width), len(rows), np.array(part, np.int64))


class ReferenceAnswer:
    def __init__(self, frame: Frame, rows: list[Any], salt: int = 0) -> None:
        self.frame, self.groups, self.salt = frame, defaultdict(list), salt
        for row in rows:
            self.groups[tuple(self._out(column, key) for column, key in zip(frame.by, row[1], strict=True))].append(row)

    @staticmethod
    def _out(column: Column, key: Any) -> Any:
        return key if key is None or column.type != "bool" else bool(key)

    def _keys(self) -> tuple[Any, ...]:
        public = self.frame.public_groups
        if public is not None:
            return public
        return tuple(sorted(self.groups, key=lambda key: tuple(map(canonical, key))))

    def _rows(self, key: Any) -> list[Any]:
        inside = tuple(None if k is None else self._out(c, typed(c, k)) for c, k in zip(self.frame.by, key, strict=True))
        return self.groups.get(inside, [])

    def _column(self, name: str) -> int:
        return [column.name for column in self.frame.columns].index(name)

    def ask(self, request: Any) -> Any:
        if isinstance(request, Totals):
            keys = self._keys()
            return GroupTotals(
                keys, {item: np.array([self._total(item, self._rows(key)) for key in keys], object) for item in request.items}
            )
        if isinstance(request, KeyWeights):
            held: dict[Any, set[Any]] = defaultdict(set)
            for key in self._keys():
                for row in self._rows(key) if key not in request.without else ():
                    held[row[0]].add(key)
            left = tuple(key for key in self._keys() if any(key in keys for keys in held.values()))
            return Tally(left, np.array([sum(weight_of(len(keys)) for keys in held.values() if key in keys) for key in left], np.int64))
        if isinstance(request, Gram | Gradient | Lengths | Outer):
            return naive_moment(self.frame, request, self._keys(), [self._rows(key) for key in self._keys()])
        if isinstance(request, Marginals):
            return self._marginals(request)
        if isinstance(request, Records):
            keys = self._keys() if request.keys is None else request.keys
            return (self._records(request, key, place) for place, key in enumerate(keys))
        at = self._column(request.column)
        if isinstance(request, Clipped):
            keys = self._keys() if request.keys is None else request.keys
            values = [[row[2][at] for row in self._rows(key) if row[2][at] is not None] for key in keys]
            sums = [sum(min(max(v, low), high) for v in x) for x, (low, high) in zip(values, request.limits, strict=True)]
            moved = [sum(v < low or v > high for v in x) for x, (low, high) in zip(values, request.limits, strict=True)]
            found = zip(request.items, ([len(x) for x in values], sums, moved), strict=True)
            return GroupTotals(keys, {item: np.array(cells, object) for item, cells in found})
        assert isinstance(request, Ranks | Rows | Middles)
        width = self.frame.columns[at].grid().width
        sorted_values = (
            np.array(sorted(row[2][at] for row in self._rows(key) if row[2][at] is not None), dtype=np.int64)
            for key in (self._keys() if request.keys is None else request.keys)
        )
        if isinstance(request, Middles):
            return (naive_middle(x.tolist(), kept, request.radius, width) for x, kept in zip(sorted_values, request.kept, strict=True))
        if isinstance(request, Rows):
            shares = request.shares or [None] * len(self._keys() if request.keys is None else request.keys)
            chosen = (fewest(x, request.most, self.salt, share) for x, share in zip(sorted_values, shares, strict=True))
            return (Sorted(kept, len(kept)) for kept in chosen)
        return (tuple(naive_window(x.tolist(), q, request.radius, width) for q in request.q) for x in sorted_values)

    def _marginals(self, request: Marginals) -> Crossed:
        rows = [row for group in self.groups.values() for row in group]
        held = Counter(row[0] for row in rows)
        tables = [np.zeros(request.shape(chosen), np.int64) for chosen in request.sets]
        for row in rows:
            places = []
            for axis in request.axes:
                step = row[2][self._column(axis.column)]
                found = step if axis.edges is None or step is None else place(step, axis.edges)
                places.append(axis.cells[-1 if found is None else found])
            share = request.parts if self.frame.unit_column is None or request.parts == 1 else request.parts // held[row[0]]
            for table, chosen in zip(tables, request.sets, strict=True):
                table[tuple(places[i] for i in chosen)] += share
        return Crossed(tuple(tables))

    def _records(self, request: Records, key: Any, place: int) -> RowMatrix:
        """By the definition: rows without a null, told from equal ones by their place among them."""
        columns = [self._column(name) for name in request.columns]
        rows = sorted(
            (tuple(row[2][at] for at in columns), row[0]) for row in self._rows(key) if all(row[2][at] is not None for at in columns)
        )
        seen: dict[Any, int] = defaultdict(int)
        found = []
        for values, unit in rows:
            seen[values] += 1
            alone = request.parts and self.frame.unit_column is not None
            found.append((hashed(self.salt, unit, "part") if alone else hashed(self.salt, *values, seen[values]), values))
        if request.parts:
            dealt = sorted((int(mark[:8], 16) * request.parts >> 32, int(mark[:8], 16), values) for mark, values in found)
            kept = [[row for row in dealt if row[0] == i][: max(request.most // request.parts, 1)] for i in range(request.parts)]
            parts = sorted((part, values) for rows in kept for part, _, values in rows)
            return _matrix([values for _, values in parts], len(columns), [part for part, _ in parts])
        if request.shares is not None:
            found = [pair for pair in found if int(pair[0][:8], 16) < request.shares[place]]
        elif len(found) > request.most:
            found = sorted(found)[: request.most]
        return _matrix(sorted(values for _, values in found), len(columns), [])

    def _total(self, item: Item, rows: list[Row]) -> int:
        if item.what == "units":
            return len(rows) if self.frame.unit_column is None else len({row[0] for row in rows})
        if item.what == "counted":
            return sum(row[3][item.index] for row in rows)
        if item.what == "people":
            own = self.frame.unit_column is not None
            return len({row[0] if own else place for place, row in enumerate(rows) if row[3][item.index]})
        if item.column is None:
            return len(rows)
        values = [value for row in rows if (value := row[2][self._column(item.column)]) is not None]
        coarse = [value >> coarse_shift(self.frame.columns[self._column(item.column)].grid()) for value in values]
        return {"rows": len(values), "sum": sum(values), "coarse": sum(coarse), "squares": sum(c * c for c in coarse)}[item.what]
