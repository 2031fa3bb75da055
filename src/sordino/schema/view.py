"""Views over the tables of people: joins that equate owners, filters, totals and windows inside one person.

Neighbours differ by one person and everything that belongs to them in every table.

Theorem. Each row of a view has exactly one owner, and the view without person p is the view minus the rows that p owns. So a view is a
private table whose unit is the person, and bounding a person's rows last, in the view, is all that is needed.
Proof. By induction over the parts below. A row of a private table has the owner its path says, and leaves with them. A join equates the
owners of both sides, so a row (or its having no match) depends on rows of one owner and on public ones; so do filters, totals grouped by
the owner and windows partitioned by the owner, whose values are functions of one owner's rows. QED
A path through another table is a function only if its key is unique there: the owner of the data declares that, and the claim assumes it.

Theorem. Where a join may match several rows of a person with several, each side keeps at most `most` rows of a person, the first ones by
a keyed hash of the person and the row. The theorem above still holds, and one person makes at most most * most rows of a join (and at most
`most` more, unmatched, of a left one), however many rows they have.
Proof. Which rows of a side a person keeps is a function of that person's rows there and of the salt, which is drawn apart from the data;
equal rows are interchangeable. So the side without p is the side minus what p kept. Each of at most `most` rows meets at most `most`. QED
This bounds the work and the memory that one person can cause. It is no part of the guarantee for answers, whose bounding comes last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sordino.schema.column import Column
from sordino.schema.expression import Leaf, Predicate
from sordino.schema.frame import Join
from sordino.schema.interval import most_characters

__all__ = [
    "ANSWERS",
    "JOIN_ROWS",
    "Chosen",
    "PersonJoin",
    "PersonTotal",
    "PersonTotals",
    "PersonWindow",
    "PersonWindows",
    "PrivateTable",
    "View",
    "multiplying",
    "once",
    "text_lengths",
    "view_joins",
]

ANSWERS = ("inner", "left", "semi", "anti")
JOIN_ROWS = 1_000  # rows of a person on each side of a join that multiplies them, where the owner says nothing


@dataclass(frozen=True)
class PrivateTable:
    """The rows of one private table. `person` is its own column with the person's id; without one, `on` leads to the table `via`.

    `unique` are columns that identify a row, as its owner declares.
    """

    name: str
    shown: tuple[Column, ...]
    person: str | None = None
    via: PrivateTable | None = None
    on: str = ""
    unique: tuple[str, ...] = ()

    @property
    def columns(self) -> dict[str, Column]:
        """What a question may read or match; the person's own column is the view's, under the name of the unit."""
        return {column.name: column for column in self.shown if column.type != "never" and column.name != self.person}

    @property
    def single(self) -> bool:
        """Whether each person has at most one row."""
        return self.person is not None and self.unique == (self.person,)

    @property
    def tables(self) -> tuple[PrivateTable, ...]:
        return (self, *(self.via.tables if self.via is not None else ()))

    def said(self) -> Any:
        path = {"person": self.person} if self.via is None else {"via": self.via.said(), "on": self.on}
        return {"table": self.name, **path}


@dataclass(frozen=True)
class PersonJoin:
    """Rows of one owner beside rows of the same owner. `on` are further pairs of equal columns; `kind` is one of `ANSWERS`.

    The right side's columns are called `name`.column; with "left" they are null where there is no match, and "semi" and "anti" show none.
    Where the join multiplies, each side keeps at most `most` rows of a person.
    """

    left: View
    right: View
    kind: str
    on: tuple[tuple[str, str], ...] = ()
    name: str = ""
    most: int = JOIN_ROWS

    @property
    def multiplies(self) -> bool:
        """Whether several rows of a person may meet several: not where a declared key, or how a side is made, says one of them is alone."""
        if self.kind in ("semi", "anti"):
            return False
        sides = ((self.left, {mine for mine, _ in self.on}), (self.right, {theirs for _, theirs in self.on}))
        return not any(key <= equal for side, equal in sides for key in _keys(side))

    @property
    def columns(self) -> dict[str, Column]:
        if self.kind in ("semi", "anti"):
            return self.left.columns
        beside = {f"{self.name}.{name}": column for name, column in self.right.columns.items()}
        outer: dict[str, Any] = {"nulls": "drop"} if self.kind == "left" else {}
        return {**self.left.columns, **{name: replace(column, name=name, **outer) for name, column in beside.items()}}

    @property
    def single(self) -> bool:
        return self.left.single and (self.kind in ("semi", "anti") or self.right.single)

    @property
    def tables(self) -> tuple[PrivateTable, ...]:
        return (*self.left.tables, *self.right.tables)

    def said(self) -> Any:
        said = {self.kind: [self.left.said(), self.right.said()], "on": [list(pair) for pair in self.on], "name": self.name}
        return {**said, "join_rows": self.most} if self.multiplies else said


@dataclass(frozen=True)
class Chosen:
    """The rows of a view that fulfil a condition, with columns of the view, of public tables beside it, or computed from these.

    `shown` pairs each name with the column it shows; `declared` has what is said about a name that is shown: its type and bounds.
    """

    rows: View
    shown: tuple[tuple[str, Column], ...]
    where: Predicate | None = None
    joins: tuple[Join, ...] = ()
    declared: tuple[Column, ...] = ()

    @property
    def columns(self) -> dict[str, Column]:
        known = {column.name: column for column in self.declared}
        return {name: known.get(name) or replace(column, name=name, expression=None) for name, column in self.shown}

    @property
    def single(self) -> bool:
        return self.rows.single

    @property
    def tables(self) -> tuple[PrivateTable, ...]:
        return self.rows.tables

    def said(self) -> Any:
        from sordino.schema.expression import canonical
        from sordino.schema.spelling import phrase

        shown = {name: [column.name, None if column.expression is None else phrase(column.expression)] for name, column in self.shown}
        beside = [{"name": j.name, "table": j.table.name, "on": [*map(list, j.on)], "outer": j.outer} for j in self.joins]
        where = None if self.where is None else canonical(self.where)
        return {"of": self.rows.said(), "where": where, "shown": shown, "joins": beside}


@dataclass(frozen=True)
class PersonTotal:
    """One number of a person's rows: rows, count, distinct, sum, avg, min or max of a column; `result` is what is known of it."""

    word: str
    column: str | None
    result: Column


@dataclass(frozen=True)
class PersonTotals:
    """One row for each person, or for each person and value of `by`."""

    rows: View
    by: tuple[str, ...]
    made: tuple[PersonTotal, ...]

    @property
    def columns(self) -> dict[str, Column]:
        return {**{name: self.rows.columns[name] for name in self.by}, **{item.result.name: item.result for item in self.made}}

    @property
    def single(self) -> bool:
        return not self.by or self.rows.single

    @property
    def tables(self) -> tuple[PrivateTable, ...]:
        return self.rows.tables

    def said(self) -> Any:
        return {"of": self.rows.said(), "per person": [[item.word, item.column] for item in self.made], "by": list(self.by)}


@dataclass(frozen=True)
class PersonWindow:
    """A function of a person's rows in an order: row_number, rank, dense_rank, lag, lead, or rows, count, sum, min or max so far.

    `order` pairs columns with whether they fall. A row's own place among equals follows from all its columns, never from where it is
    stored. `step` belongs to lag and lead; `within` are columns that partition the rows together with the person.
    """

    word: str
    column: str | None
    result: Column
    within: tuple[str, ...] = ()
    order: tuple[tuple[str, bool], ...] = ()
    step: int = 1
    each: bool = False  # counts row by row instead of together with equals
    whole: bool = False  # looks at all rows of the person, whatever their order


@dataclass(frozen=True)
class PersonWindows:
    """The rows of a view with functions of the rows of the same person beside them."""

    rows: View
    made: tuple[PersonWindow, ...]

    @property
    def columns(self) -> dict[str, Column]:
        return {**self.rows.columns, **{item.result.name: item.result for item in self.made}}

    @property
    def single(self) -> bool:
        return self.rows.single

    @property
    def tables(self) -> tuple[PrivateTable, ...]:
        return self.rows.tables

    def said(self) -> Any:
        made = [[w.word, w.column, list(w.within), [list(o) for o in w.order], w.step, w.each, w.whole] for w in self.made]
        return {"of": self.rows.said(), "windows": made}


View = PrivateTable | PersonJoin | Chosen | PersonTotals | PersonWindows


def view_joins(view: View) -> tuple[Join, ...]:
    """The public tables beside rows of a view, in the order their texts are numbered."""
    match view:
        case PersonJoin(left, right):
            return (*view_joins(left), *view_joins(right))
        case Chosen():
            return (*view.joins, *view_joins(view.rows))
        case PersonTotals() | PersonWindows():
            return view_joins(view.rows)
    return ()


def _keys(view: View) -> tuple[frozenset[str], ...]:
    """Columns that tell a person's rows apart; none of them where a person has one row."""
    if view.single:
        return (frozenset(),)
    match view:
        case PrivateTable(unique=unique, person=person):
            return (frozenset(unique) - {person or ""},) if unique else ()
        case PersonTotals(by=by):
            return (frozenset(by),)
        case PersonWindows(rows=rows):
            return _keys(rows)
        case Chosen(rows=rows, shown=shown):
            names = {column.name: name for name, column in shown if column.expression is None}
            return tuple(frozenset(names[own] for own in key) for key in _keys(rows) if key <= set(names))
        case PersonJoin(left=left, right=right, on=on):
            alone = view.kind in ("semi", "anti") or any(key <= {theirs for _, theirs in on} for key in _keys(right))
            return _keys(left) if alone else ()


def once(view: View, name: str) -> bool:
    """Whether no two rows of a person have the same value of a column; nulls aside.

    By induction: a declared key is one, a row beside which at most one other comes is not repeated, and what filters does not repeat.
    """
    if view.single:
        return True
    match view:
        case PrivateTable(unique=unique):
            return unique == (name,)
        case PersonTotals(rows=rows, by=by):
            return by == (name,) or (name in by and once(rows, name))
        case PersonWindows(rows=rows):
            return name in rows.columns and once(rows, name)
        case Chosen(rows=rows, shown=shown):
            column = dict(shown).get(name)
            return column is not None and column.expression is None and column.name in rows.columns and once(rows, column.name)
        case PersonJoin(left=left, right=right, on=on):
            if view.kind in ("semi", "anti"):
                return once(left, name)
            if name in left.columns:
                return once(left, name) and any(key <= {theirs for _, theirs in on} for key in _keys(right))
            own = name.removeprefix(f"{view.name}.")
            return once(right, own) and any(key <= {mine for mine, _ in on} for key in _keys(left))


def multiplying(view: View | None) -> list[PersonJoin]:
    """The joins of a view in which several rows of a person may meet several."""
    match view:
        case PersonJoin():
            return [*([view] if view.multiplies else []), *multiplying(view.left), *multiplying(view.right)]
        case Chosen() | PersonTotals() | PersonWindows():
            return multiplying(view.rows)
    return []


def text_lengths(view: View | None) -> dict[str, int]:
    """The most characters the texts of a view can have: a text that was put together may be longer than a declared one."""
    match view:
        case PersonJoin(left=left, right=right):
            return {**text_lengths(left), **{f"{view.name}.{name}": length for name, length in text_lengths(right).items()}}
        case Chosen(rows=rows, shown=shown):
            known = text_lengths(rows)
            return {name: most_characters(column.expression or Leaf(column), known) for name, column in shown if column.type == "cat"}
        case PersonTotals(rows=rows, made=made) | PersonWindows(rows=rows, made=made):
            known = text_lengths(rows)
            moved = {item.result.name: known[item.column] for item in made if item.column in known and item.result.type == "cat"}
            return {**known, **moved}
    return {}
