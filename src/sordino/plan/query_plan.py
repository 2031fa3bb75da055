"""A question about a table: which rows, which groups, which statistics. A value with no data, no noise and no ledger behind it.

What a question's answers are called in the book: an alias is how an answer is shown, so the book has names of its own.

Values a condition compares with that are no declared key of their column: most are slips of the pen, and an answer would be paid for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Any

from sordino.errors import QueryError
from sordino.privacy.number import as_positive
from sordino.privacy.relation import DRAWN, Narrowing, PrivacyUnit
from sordino.schema.column import Column, is_text, nearest, shown
from sordino.schema.expression import And, Compare, Expression, In, Literal, Name, Not, Or, Predicate, conditions, encode, names, parts
from sordino.schema.frame import Frame, Join, fit_column, spelled
from sordino.schema.frame import unbounded as wide
from sordino.schema.interval import MOST_VALUES
from sordino.schema.spelling import spell
from sordino.schema.view import Chosen, PersonJoin, PersonTotals, PersonWindows, View
from sordino.statistics.column_quantile import Position, as_confidence, as_interval
from sordino.statistics.grouping_sets import GroupingSets, in_order, over
from sordino.statistics.port import Context, Statistic

__all__ = ["MOST_CELLS", "Labels", "QueryPlan", "labels_of", "unlisted"]

MOST_CELLS = 1_000_000
MOST_SETS = 64  # groupings of one release
AS_DECLARED = Narrowing()


@dataclass(frozen=True)
class QueryPlan:
    """A table's declared columns, and what is asked about them. Every builder returns a new Query and refuses before anything is read."""

    table: str
    columns: Mapping[str, Column] = field(default_factory=dict, hash=False)
    where: Predicate | None = None
    by: tuple[str, ...] = ()
    statistics: Mapping[str, Statistic] = field(default_factory=dict, hash=False)
    mechanism: str | None = None
    propose: Fraction | None = None
    otherwise: str = "refuse"
    joins: tuple[Join, ...] = ()
    narrowing: Narrowing = AS_DECLARED
    sets: tuple[tuple[int, ...], ...] = ()  # groupings asked at once, as places in `by`; empty: by all of them
    view: View | None = None  # the rows asked about, where they are not those of one source

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))
        object.__setattr__(self, "statistics", MappingProxyType(dict(self.statistics)))

    @cached_property
    def read(self) -> tuple[str, ...]:
        """The number columns the statistics read, in the order asked."""
        return tuple(dict.fromkeys(name for statistic in self.statistics.values() for name in statistic.columns))

    @cached_property
    def narrowed(self) -> dict[str, Column]:
        """The columns, with bounds narrowed by the filter; what is read without bounds reaches as far as a public horizon."""
        columns = {name: wide(column) if name in self.read else column for name, column in self.columns.items()}
        return columns if self.where is None else {name: fit_column(column, self.where) for name, column in columns.items()}

    @cached_property
    def public_groups(self) -> tuple[tuple[object, ...], ...] | None:
        """Every group when all keys are public, in order; None when some are private."""
        return Frame(PrivacyUnit(), by=tuple(self.narrowed[name] for name in self.by)).public_groups

    def with_where(self, condition: Any) -> QueryPlan:
        """Keep only rows that also fulfil this condition: SQL text, or a Predicate."""
        if isinstance(condition, str):
            from sordino.plan.condition import parse_predicate

            condition = parse_predicate(condition, self.columns, table=self.table)
        if not isinstance(condition, Predicate):
            raise no_condition(condition)
        if self.where is None:
            return replace(self, where=condition)
        parts = [part for item in (self.where, condition) for part in (item.parts if isinstance(item, And) else (item,))]
        return replace(self, where=And(tuple(parts)))

    def limited(self, unit: PrivacyUnit, **limits: Any) -> QueryPlan:
        """Count less of every person than the declaration allows: `rows`, `groups`, `rows_per_group`; those not given stay as they are."""
        given = {word: value for word, value in limits.items() if value is not None}
        if not given:
            raise QueryError("SRD-204", "limit() names no limit.", "Give rows=, groups= or rows_per_group=, such as limit(rows=1).")
        return replace(self, narrowing=replace(self.narrowing, **given).checked(unit))

    @property
    def limit_is_drawn(self) -> bool:
        """Whether the limit on rows is yet to be drawn, which takes a release of its own."""
        return self.narrowing.rows == DRAWN

    def unit_of(self, unit: PrivacyUnit) -> PrivacyUnit:
        """The declared unit, or what this question leaves of it."""
        if not self.narrowing.given:
            return unit
        public = Context(PrivacyUnit(), dict(self.columns))
        grouped = bool(self.by) or any(statistic.counted(public) is not None for statistic in self.statistics.values())
        return self.narrowing.of(unit, grouped=grouped)

    def with_interval(self, interval: Any = None, level: Any = None) -> QueryPlan:
        """The same question with other ends for its quantiles."""
        wanted: dict[str, Any] = {} if interval is None else {"interval": as_interval(interval)}
        sure: dict[str, Any] = {} if level is None else {"level": as_confidence(level)}
        found = {label: item for label, item in self.statistics.items() if isinstance(item, Position)}
        if not found:
            if sure or wanted.get("interval") == "total":
                what = "only the ends of quantiles are drawn for one level and one kind of interval."
                raise QueryError("SRD-106", what, 'Leave level= and interval= out: answer.interval(0.99, kind="total") is free afterwards.')
            return self
        changed = {label: replace(item, **wanted, **sure) for label, item in found.items()}
        return replace(self, statistics={**self.statistics, **changed})

    def by_mechanism(self, name: str | None, propose: Any = None, otherwise: str = "refuse") -> QueryPlan:
        """Answer by this mechanism instead of the planner's choice; `propose` is a bound on the local sensitivity for "ptr" to test."""
        if name is not None and not (is_text(name) and name):
            raise QueryError("SRD-106", f"mechanism is {shown(name)}.", 'Give a name such as "smooth", or "auto".')
        if not isinstance(otherwise, str) or otherwise not in ("refuse", "global"):
            raise QueryError("SRD-106", f"otherwise is {shown(otherwise)}.", 'Use "refuse" or "global".')
        bound = None if propose is None else as_positive(propose, "propose")
        return replace(self, mechanism=None if name in (None, "auto") else name, propose=bound, otherwise=otherwise)

    def group_by(self, *names: str) -> QueryPlan:
        """One answer per group; replaces earlier groups."""
        if not names:
            raise QueryError("SRD-208", "group_by names no column.", "Name at least one column.")
        cells: int | None = 1
        columns = dict(self.columns)
        for place, name in enumerate(names):
            column = columns[name] = spelled(self.column(name))
            if name in names[:place]:
                raise QueryError("SRD-208", f"group_by names {shown(name)} twice.", "Name every column once.", column=name)
            _check_group(column)
            cells = None if cells is None or column.keys is None else cells * len(column.keys)
            if cells is not None and cells > MOST_CELLS:
                what = f"the public keys of {', '.join(shown(item) for item in names[: place + 1])} make {cells:,} cells."
                raise QueryError("SRD-207", what, f"Group by fewer columns, or list fewer keys: at most {MOST_CELLS:,} cells.", cells=cells)
        for label in self.statistics:
            _check_label(label, names, ())
        alone = {label: item.of if isinstance(item, GroupingSets) else item for label, item in self.statistics.items()}
        return replace(self, by=tuple(names), columns=columns, sets=(), statistics=alone)

    def group_by_sets(self, *sets: Any) -> QueryPlan:
        """One answer per group of each of these groupings, all in one release; replaces earlier groups."""
        if not sets or any(isinstance(item, str) for item in sets):
            raise QueryError("SRD-208", "groupings are lists of columns.", 'Write grouping_sets(["a", "b"], ["a"], []).')
        listed = [list(item) for item in sets]
        names = list(dict.fromkeys(name for item in listed for name in item))
        if len(listed) > MOST_SETS or not names:
            what = f"these are {len(listed)} groupings of {len(names)} columns."
            raise QueryError("SRD-208", what, f"Give at most {MOST_SETS} groupings, of at least one column.")
        grouped = self.group_by(*names)
        places = in_order([[names.index(name) for name in item] for item in listed])
        asked = {label: over(item, grouped.by, places) for label, item in grouped.statistics.items()}
        return replace(grouped, sets=places, statistics=asked)

    def agg(self, **statistics: Statistic) -> QueryPlan:
        """Ask these statistics, each under its own name, together with those already asked."""
        if not statistics:
            raise QueryError("SRD-208", "no statistic was asked.", "Ask at least one, such as n=count().")
        asked = dict(self.statistics)
        for label, statistic in statistics.items():
            if not isinstance(statistic, Statistic):
                raise QueryError("SRD-208", f"{shown(label)} is no statistic: {shown(statistic)}.", "Ask one, such as n=count().")
            _check_label(label, self.by, asked)
            for name in statistic.columns:
                self.number(name, unbounded=statistic.unbounded)
            self._check_counted(statistic)
            asked[label] = over(statistic, self.by, self.sets) if self.sets else statistic
        return replace(self, statistics=asked)

    def _check_counted(self, statistic: Statistic) -> None:
        """A statistic that counts a column's values must name one; it may look the column up before we do."""
        try:
            counted = statistic.counted(Context(PrivacyUnit(), dict(self.columns)))
        except KeyError as error:
            self.column(error.args[0])
            raise
        if counted is not None:
            self.column(counted.column)

    def column(self, name: Any) -> Column:
        """A declared column that analysts may use."""
        column = self.columns.get(name) if isinstance(name, str) else None
        if column is None:
            readable = [item for item, known in self.columns.items() if known.type not in ("id", "never")]
            hint = nearest(name, readable, "columns")
            raise QueryError("SRD-201", f"table {shown(self.table)} has no column {shown(name)}.", hint, column=name)
        if column.type in ("id", "never"):
            why = "identifies people" if column.type == "id" else "is never accessible"
            raise QueryError("SRD-203", f"column {shown(name)} {why}.", "Ask about another column.", column=name)
        return column

    def number(self, name: Any, *, unbounded: bool = False) -> Column:
        """A declared number column with public bounds, or, for statistics that need none, with those of the horizon."""
        column = self.column(name)
        (wide(column) if unbounded else column).grid()
        return column


def no_condition(condition: Any) -> QueryError:
    """What is said of a mask, and of whatever else is no text, here and before it is sent to a server."""
    fix = 'Write it as text, such as "age >= 18": rows are chosen by what they say, not by a mask.'
    return QueryError("SRD-206", f"a condition is {shown(condition)}.", fix)


def _check_group(column: Column) -> None:
    name = shown(column.name)
    if column.type in ("cat", "bool") or (column.type in ("int", "date") and column.keys is not None):
        return
    if column.expression is not None:
        fix = f"Group by text, truth values, or a whole number with at most {MOST_VALUES:,} values, such as FLOOR(x / 10)."
        raise QueryError("SRD-203", f"the values of {name} cannot be listed, so it cannot group rows.", fix, column=column.name)
    if column.type == "int":
        text = f'{column.name} = {{ type = "cat" }}' if column.home else f'columns={{{name}: "cat"}}'
        fix = f"Declare bounds of at most {MOST_VALUES:,} values, {column.listing}, or declare it as text with private keys, {text}."
        if column.hint and not column.home:  # computed inside a person
            fix = f"{column.hint} At most {MOST_VALUES:,} values can be keys."
        raise QueryError("SRD-203", f"column {name} is an int without public keys and cannot group rows.", fix, column=column.name)
    fix = f"Group by a cat or bool column, or by an int or date of at most {MOST_VALUES:,} values; bin numbers with histogram."
    raise QueryError("SRD-203", f"column {name} is of type {column.type} and cannot group rows.", fix, column=column.name)


def _check_label(label: str, by: tuple[str, ...], asked: Mapping[str, Statistic] | tuple[()]) -> None:
    """The names of answers, their bars and the group columns share one table, so they must differ."""
    if not is_text(label) or not label or len(label) > 200:
        raise QueryError("SRD-208", f"{shown(label)} cannot name an answer.", "Use a short name, such as n or median_income.")
    mine = {label, f"{label}_low", f"{label}_high"}
    taken = set(by) | {other + tail for other in asked for tail in ("", "_low", "_high")}
    clash = sorted(mine & taken)
    if clash:
        raise QueryError("SRD-208", f"two columns of the answer would be called {shown(clash[0])}.", "Give the statistic another name.")


ENDS = ("", "_low", "_high")  # the columns of one answer


@dataclass(frozen=True)
class Labels:
    """The caller's labels and the canonical ones.

    `canonical` has one canonical label for each of the caller's, in the caller's order. `drawn` are the distinct statistics in
    canonical order, each under the first label the caller gave it: equal ones are one draw at one price, however often they are named.
    """

    canonical: Mapping[str, str]
    drawn: QueryPlan

    @property
    def sealed(self) -> dict[str, str]:
        """The canonical label of every draw, in canonical order."""
        return {label: self.canonical[label] for label in self.drawn.statistics}

    def first(self, label: str) -> str:
        """The label under which a statistic is drawn that the caller may have named twice."""
        name = self.canonical[label]
        return next(other for other in self.drawn.statistics if self.canonical[other] == name)


def labels_of(query: QueryPlan) -> Labels:
    """Canonical labels follow from the distinct statistics and the group columns alone: two who ask the same share them."""
    asked = {label: encode(statistic.question()) for label, statistic in query.statistics.items()}
    order = sorted(set(asked.values()))
    names = _names([min(s.label for label, s in query.statistics.items() if asked[label] == text) for text in order], query.by)
    known = dict(zip(order, names, strict=True))
    first: dict[str, str] = {}
    for label, text in asked.items():
        first.setdefault(text, label)
    same = {text: [s for label, s in query.statistics.items() if asked[label] == text] for text in order}
    drawn: dict[str, Statistic] = {first[text]: max(same[text], key=_sure) for text in order}
    return Labels({label: known[text] for label, text in asked.items()}, replace(query, statistics=drawn))


def _sure(statistic: Statistic) -> Fraction:
    """How sure a drawn interval is to be: of two wishes for one draw the higher one answers both."""
    return statistic.level if isinstance(statistic, Position) else Fraction(0)


def _names(wanted: list[str], taken: tuple[str, ...]) -> list[str]:
    """Every statistic's own label, numbered where two of them, or one and a group column, would share a column of the answer."""
    used, out = set(taken), []
    for label in wanted:
        number, name = 1, label
        while any(name + end in used for end in ENDS):
            number += 1
            name = f"{label} {number}"
        used |= {name + end for end in ENDS}
        out.append(name)
    return out


def unlisted(asked: QueryPlan) -> list[str]:
    """One sentence for each such value, in the order they are compared. Declarations only; no data are read."""
    made = [column.expression for name in (*asked.by, *asked.read) if (column := asked.columns[name]).expression is not None]
    counted = [item for statistic in asked.statistics.values() for item in statistic.predicates]
    found = [*_said([asked.where, *counted], made, asked.columns), *_inside(asked.view)]
    return list(dict.fromkeys(found))


def _inside(view: View | None) -> Iterator[str]:
    match view:
        case PersonJoin():
            yield from (*_inside(view.left), *_inside(view.right))
        case Chosen():
            beside = {name: column for join in view.joins for name, column in join.columns.items()}
            made = [column.expression for _, column in view.shown if column.expression is not None]
            yield from _said([view.where], made, {**view.rows.columns, **beside})
            yield from _inside(view.rows)
        case PersonTotals() | PersonWindows():
            yield from _inside(view.rows)


def _said(predicates: Sequence[Predicate | None], made: Sequence[Expression | None], columns: Mapping[str, Column]) -> Iterator[str]:
    for predicate in predicates:
        if predicate is not None:
            yield from _compared(predicate, columns)
            yield from _said([], [name.expression for name in names(predicate)], columns)
    for expression in made:
        if expression is not None:
            yield from _said(list(conditions(expression)), list(parts(expression)), columns)


def _compared(predicate: Predicate, columns: Mapping[str, Column]) -> Iterator[str]:
    match predicate:
        case Not(part):
            yield from _compared(part, columns)
        case And(items) | Or(items):
            for part in items:
                yield from _compared(part, columns)
        case Compare("=" | "<>", Name(name, None), Literal(value)) | Compare("=" | "<>", Literal(value), Name(name, None)):
            yield from _sentence(name, value, columns)
        case In(Name(name, None), values):
            for literal in values:
                yield from _sentence(name, literal.value, columns)


def _sentence(name: str, value: object, columns: Mapping[str, Column]) -> Iterator[str]:
    column = columns.get(name)
    if column is None or column.keys is None or column.type not in ("cat", "int") or value is None or value in column.keys:
        return
    hint = nearest(value, [str(key) for key in column.keys if key is not None], "keys")
    yield f"the condition compares {spell(name)} with {shown(value)}, which is none of its declared keys. {hint}"
