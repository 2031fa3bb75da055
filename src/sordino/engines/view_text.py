"""A view over tables of people as one relation: what stands in the place of a source's rows, before anything is bounded.

Every part is a SELECT of `u`, the owner, and of the asked columns as c0, c1, .. in their typed form. The owner's id is part of every join,
so that two people never meet in a row, whatever else is equal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sordino.engines.expression_text import Layers, rendered
from sordino.engines.scan import Scan
from sordino.engines.text import RowText, used
from sordino.engines.value_text import TYPED, Field, Ranking, grid_of, id_text, key_text, real, text_value, typed, unit_text
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column, Grid
from sordino.schema.frame import Frame, unbounded
from sordino.schema.view import (
    Chosen,
    PersonJoin,
    PersonTotal,
    PersonTotals,
    PersonWindow,
    PersonWindows,
    PrivateTable,
    View,
    text_lengths,
)

__all__ = ["ViewNeeds", "view_needs", "view_scan"]

LARGEST = 2**60  # where sums of exact numbers saturate
COARSE = 30  # bits of a float that is added up inside a person: databases then agree on every digit
Scanner = Callable[[str, tuple[Column, ...]], Scan]
ViewNeeds = dict[str, tuple[Column, ...]]  # the columns of each source that a view reads


def view_scan(frame: Frame, scan: Scanner, ranking: Ranking) -> Scan:
    """The relation a frame's view is, over the scans of its tables; each table is scanned once."""
    scans = {table: scan(table, columns) for table, columns in view_needs(frame).items()}
    return _scanned(frame, scans, ranking)


def _scanned(frame: Frame, scans: dict[str, Scan], ranking: Ranking) -> Scan:
    view = frame.view
    assert view is not None
    owner = frame.unit_column.name if frame.unit_column is not None else None
    wanted = [column.name for column in used(frame, frame.declared({})) if column.name != owner]
    people = [scans[table.name].fields[table.person].stored for table in view.tables if table.person is not None]
    text = _Text(scans, frame.fold_ids, all(stored == "integer" for stored in people), len(frame.joins), ranking).of(view, wanted)
    fields = {name: Field(f"c{i}", TYPED) for i, name in enumerate(wanted)}
    return Scan(f"({text}) AS viewed", fields if owner is None else {**fields, owner: Field("u", TYPED)})


def view_needs(frame: Frame) -> ViewNeeds:
    """The columns every table of a view is read for."""
    found: dict[str, dict[str, Column]] = {}
    assert frame.view is not None

    class Noted(dict[str, Field]):
        def __init__(self, table: PrivateTable) -> None:
            self.table = table

        def __getitem__(self, name: str) -> Field:
            own = {column.name: column for column in self.table.shown}
            found[self.table.name].setdefault(name, own.get(name) or Column(name, "id"))
            return Field("x", "text")

    scans = {}
    for table in frame.view.tables:
        found.setdefault(table.name, {})
        scans[table.name] = Scan("nothing", Noted(table))
    _scanned(frame, scans, Ranking(0, True))
    return {name: tuple(columns.values()) for name, columns in found.items()}


@dataclass
class _Text:
    scans: dict[str, Scan]
    fold: bool
    whole: bool  # every table stores the person's id as a whole number
    public: int  # the number of the next public table
    ranking: Ranking
    cut: int = 0  # sides of joins that are cut so far

    def of(self, view: View, wanted: Sequence[str]) -> str:
        match view:
            case PrivateTable():
                return self._table(view, wanted)
            case PersonJoin():
                return self._joined(view, wanted)
            case Chosen():
                return self._chosen(view, wanted)
            case PersonTotals():
                return self._totals(view, wanted)
            case PersonWindows():
                return self._windows(view, wanted)

    def _table(self, table: PrivateTable, wanted: Sequence[str]) -> str:
        scan, columns = self.scans[table.name], {column.name: column for column in table.shown}
        reads = [f"{_value(columns[name], scan.fields[name])} AS c{i}" for i, name in enumerate(wanted)]
        if table.via is None:
            assert table.person is not None
            id = unit_text(Column(table.person, "id"), scan.fields[table.person], self.fold)
            owner = id if self.whole else f"CAST({id} AS VARCHAR)"
            return f"SELECT * FROM (SELECT {', '.join([f'{owner} AS u', *reads])} FROM {scan.text}) AS own WHERE u IS NOT NULL"
        key = _key(scan.fields[table.on])
        rows = f"SELECT {', '.join([f'{key} AS x', *reads])} FROM {scan.text}"
        path = self._path(table.via, table.on)
        shown = ", ".join(["owner.u AS u", *(f"own.c{i} AS c{i}" for i in range(len(wanted)))])
        return f"SELECT {shown} FROM ({rows}) AS own JOIN ({path}) AS owner ON own.x = owner.x"

    def _path(self, table: PrivateTable, key: str) -> str:
        """The owner of every key of a table, in the form keys are compared in."""
        scan = self.scans[table.name]
        if table.via is None:
            assert table.person is not None
            id = unit_text(Column(table.person, "id"), scan.fields[table.person], self.fold)
            owner = id if self.whole else f"CAST({id} AS VARCHAR)"
            return f"SELECT * FROM (SELECT {owner} AS u, {_key(scan.fields[key])} AS x FROM {scan.text}) AS keyed WHERE u IS NOT NULL"
        rows = f"SELECT {_key(scan.fields[key])} AS x, {_key(scan.fields[table.on])} AS y FROM {scan.text}"
        return f"SELECT owner.u AS u, own.x AS x FROM ({rows}) AS own JOIN ({self._path(table.via, table.on)}) AS owner ON own.y = owner.x"

    def _joined(self, join: PersonJoin, wanted: Sequence[str]) -> str:
        own = join.left.columns
        left = list(dict.fromkeys([*(name for name in wanted if name in own), *(name for name, _ in join.on)]))
        beside = [name.removeprefix(f"{join.name}.") for name in wanted if name not in own]
        right = list(dict.fromkeys([*beside, *(name for _, name in join.on)]))
        first, second = self.of(join.left, left), self.of(join.right, right)
        if join.multiplies:
            first = self._few(first, [own[name] for name in left], join.most)
            second = self._few(second, [join.right.columns[name] for name in right], join.most)
        same = " AND ".join(["a.u = b.u", *(f"a.c{left.index(x)} = b.c{right.index(y)}" for x, y in join.on)])
        places = [f"a.c{left.index(n)}" if n in own else f"b.c{right.index(n.removeprefix(f'{join.name}.'))}" for n in wanted]
        shown = ", ".join(["a.u AS u", *(f"{place} AS c{i}" for i, place in enumerate(places))])
        if join.kind in ("semi", "anti"):
            word = "EXISTS" if join.kind == "semi" else "NOT EXISTS"
            return f"SELECT {shown} FROM ({first}) AS a WHERE {word} (SELECT 1 FROM ({second}) AS b WHERE {same})"
        return f"SELECT {shown} FROM ({first}) AS a {'LEFT JOIN' if join.kind == 'left' else 'JOIN'} ({second}) AS b ON {same}"

    def _few(self, rows: str, columns: Sequence[Column], most: int) -> str:
        """At most so many rows of each person, by the hash of what a row shows; who has no more keeps them all, and is not ranked."""
        self.cut += 1
        side, many = f"side{self.cut}", f"many{self.cut}"
        names = [f"c{i}" for i in range(len(columns))]
        shown = ", ".join(["u", *names])
        parts = [text for column, name in zip(columns, names, strict=True) if (text := _whole(column, name)) is not None]
        order = ", ".join([self.ranking.of(*parts), *(f"{name} NULLS LAST" for name in names)])
        over = f"EXISTS (SELECT 1 FROM {many} AS many WHERE many.u = mine.u)"
        made = f"{side} AS MATERIALIZED ({rows}), {many} AS MATERIALIZED (SELECT u FROM {side} AS mine GROUP BY u HAVING count(*) > {most})"
        place = f"SELECT {shown}, row_number() OVER (PARTITION BY u ORDER BY {order}) AS place FROM {side} AS mine WHERE {over}"
        few = f"SELECT {shown} FROM {side} AS mine WHERE NOT {over}"
        return f"WITH {made} {few} UNION ALL SELECT {shown} FROM ({place}) AS ranked WHERE place <= {most}"

    def _chosen(self, chosen: Chosen, wanted: Sequence[str]) -> str:
        shown, first = dict(chosen.shown), self.public
        self.public += len(chosen.joins)
        columns = tuple(shown[name] for name in wanted)
        frame = Frame(PrivacyUnit(), where=chosen.where, by=columns, joins=chosen.joins)
        below = chosen.rows.columns
        inner = [column.name for column in used(frame, below)]
        scan = Scan(f"({self.of(chosen.rows, inner)}) AS viewed", {name: Field(f"c{i}", TYPED) for i, name in enumerate(inner)})
        rows = RowText(frame, below, scan, first)
        layers = Layers(rows.base(), text_lengths(chosen.rows))
        makes = [f"{_exposed(column, layers.value(column))} AS c{i}" for i, column in enumerate(columns)]
        where = f" WHERE {rendered(chosen.where, layers.of)}" if chosen.where is not None else ""
        return f"SELECT {', '.join(['u', *makes])} FROM ({rows.text(layers, 'u')}) AS typed{where}"

    def _totals(self, totals: PersonTotals, wanted: Sequence[str]) -> str:
        made = {item.result.name: item for item in totals.made}
        inner = list(dict.fromkeys([*totals.by, *(item.column for name in wanted if (item := made.get(name)) and item.column)]))
        place = {name: f"c{i}" for i, name in enumerate(inner)}
        below = totals.rows.columns
        reads = [
            f"{place[name] if name in totals.by else _total(made[name], below, place)} AS t{i}"
            for i, name in enumerate(wanted)
        ]  # fmt: skip
        keys = ", ".join(["u", *(place[name] for name in totals.by)])
        grouped = f"SELECT {', '.join(['u', *reads])} FROM ({self.of(totals.rows, inner)}) AS mine GROUP BY {keys}"
        return f"SELECT {', '.join(['u', *(f't{i} AS c{i}' for i in range(len(wanted)))])} FROM ({grouped}) AS totals"

    def _windows(self, windows: PersonWindows, wanted: Sequence[str]) -> str:
        made = {item.result.name: item for item in windows.made}
        below = windows.rows.columns
        asked = [made[name] for name in wanted if name in made]
        needs = [name for item in asked for name in (item.column, *item.within, *(column for column, _ in item.order)) if name]
        ties = list(below) if any(_tied(item) for item in asked) else []
        inner = list(dict.fromkeys([*(name for name in wanted if name in below), *needs, *ties]))
        place = {name: f"c{i}" for i, name in enumerate(inner)}
        reads = [f"{_window(made[name], below, place) if name in made else place[name]} AS w{i}" for i, name in enumerate(wanted)]
        rows = f"SELECT {', '.join(['u', *reads])} FROM ({self.of(windows.rows, inner)}) AS mine"
        return f"SELECT {', '.join(['u', *(f'w{i} AS c{i}' for i in range(len(wanted)))])} FROM ({rows}) AS seen"


def _value(column: Column, place: Field) -> str:
    return _key(place) if column.type == "id" else typed(column, place)


def _key(place: Field) -> str:
    """An id that is no person's, in the one form it is compared in."""
    return place.sql if place.stored == "hashed" else id_text(text_value(place), place)


def _exposed(column: Column, value: str) -> str:
    """A computed value in the form its declared type has: only decimals differ, which are computed in whole steps."""
    if column.expression is None or column.type != "decimal":
        return value
    return _decimal(value, column.scale)


def _decimal(steps: str, scale: int) -> str:
    unit = 10**scale
    size, sign = f"abs({steps})", f"CASE WHEN {steps} < 0 THEN '-' ELSE '' END"
    part = f" || '.' || substr(CAST({size} % {unit} + {unit} AS VARCHAR), 2)" if scale else ""
    return f"CASE WHEN {steps} IS NOT NULL THEN TRY_CAST({sign} || CAST({size} // {unit} AS VARCHAR){part} AS DECIMAL(38,18)) END"


def _whole(column: Column, value: str) -> str | None:
    """A typed value as the whole number or text that every database writes alike; what has none is told apart by its order alone."""
    if column.type in ("float", "decimal"):
        wide = unbounded(replace(column, expression=None))
        return None if wide.bounds is None else grid_of(wide, value)
    return key_text(column, value)


def _tied(item: PersonWindow) -> bool:
    """Whether the place of a row among rows that are equal in the order decides."""
    return item.word in ("row_number", "lag", "lead") or item.each


def _coarse(grid: Grid) -> int:
    return max(0, grid.width.bit_length() - COARSE)


def _sum(column: Column, value: str, over: str = "") -> str:
    """The exact sum of what a column means inside its bounds: of grid integers, which databases add alike."""
    grid, steps = column.grid(), grid_of(column, value)
    if column.type == "float":
        shift = _coarse(grid)
        coarse = f"({steps}) // {2**shift}" if shift else steps
        low = real(float(grid.low * grid.step))
        total = f"CAST(sum({coarse}){over} AS DOUBLE)"
        return f"{total} * {real(float(grid.step * 2**shift))} + CAST(count({value}){over} AS DOUBLE) * {low}"
    whole = f"sum({steps}){over} + count({value}){over} * ({grid.low})"
    return f"CASE WHEN count({value}){over} > 0 THEN CAST(greatest(-{LARGEST}, least({LARGEST}, {whole})) AS BIGINT) END"


def _total(item: PersonTotal, below: dict[str, Column], place: dict[str, str]) -> str:
    if item.word == "rows":
        return "count(*)"
    assert item.column is not None
    column, value = below[item.column], place[item.column]
    if item.word in ("count", "distinct"):
        return f"count({'DISTINCT ' * (item.word == 'distinct')}{value})"
    if item.word in ("min", "max"):
        return f"{item.word}({value})"
    total = _sum(column, value)
    if item.word == "sum":
        return _decimal(total, column.scale) if column.type == "decimal" else total
    many = f"CAST(count({value}) AS DOUBLE)"
    mean = f"({total}) / {many}" if column.type == "float" else f"CAST({total} AS DOUBLE) / {many}"
    scaled = f"({mean}) / {real(10.0**column.scale)}" if column.type == "decimal" and column.scale else mean
    return f"CASE WHEN count({value}) > 0 THEN {scaled} END"


def _window(item: PersonWindow, below: dict[str, Column], place: dict[str, str]) -> str:
    order = [f"{place[name]}{' DESC' if falling else ''} NULLS LAST" for name, falling in item.order]
    if _tied(item):
        order += [f"{place[name]} NULLS LAST" for name in below if name in place]
    partition = f"PARTITION BY {', '.join(['u', *(place[name] for name in item.within)])}"
    ordered = f" ORDER BY {', '.join(order)}" if order and not item.whole else ""
    extent = " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW" if item.each and ordered else ""
    over = f" OVER ({partition}{ordered}{extent})"
    if item.word in ("row_number", "rank", "dense_rank"):
        return f"{item.word}(){over}"
    if item.word == "rows":
        return f"count(*){over}"
    assert item.column is not None
    column, value = below[item.column], place[item.column]
    if item.word in ("lag", "lead"):
        return f"{item.word}({value}, {item.step}){over}"
    if item.word == "sum":
        total = _sum(column, value, over)
        return _decimal(total, column.scale) if column.type == "decimal" else total
    return f"{item.word}({value}){over}"
