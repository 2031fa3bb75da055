"""Every question one may ask of a table of people, in one place: what an audit of the statistics goes through.

A new statistic is found because it is registered. If its parameters are not among the usual ones below it needs examples where it is
registered, and the campaign says so.

Small hostile tables of people with a neighbour each: somebody comes, goes or changes, with values that have gone wrong before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

from sordino import statistics
from sordino.errors import QueryError
from sordino.session.query import Query
from sordino.statistics.column_sum import Sum
from sordino.statistics.grouping_sets import GroupingSets
from sordino.statistics.rank_test import RankTest
from sordino.statistics.registry import Example
from sordino.statistics.row_cap import RowCap
from sordino.statistics.row_count import Count, Present, PresentUnits
from sordino.statistics.second_moment import KINDS, Pair

__all__ = [
    "EVERY_KIND",
    "PAIRS",
    "PLACES",
    "PROPOSE",
    "TABLE_KINDS",
    "Kind",
    "Question",
    "TablePair",
    "declared",
    "examples",
    "questions",
    "sides",
]

PEOPLE = 30
HIGHEST = {"income": 1_000_000.0, "age": 120, "ok": True, "born": "2020-12-31", "job": "a"}
MIDDLE = {"income": 500_000.0, "age": 60, "ok": True, "born": "1985-06-30", "job": "b"}
BOTTOM = {"income": 0.0, "age": 0, "ok": False, "born": "1950-01-01", "job": "c"}
UNDER_TOP = {"income": 999_999.9999, "age": 119, "ok": True, "born": "2020-12-30", "job": "d"}
OVER_BOTTOM = {"income": 0.0001, "age": 1, "ok": False, "born": "1950-01-02", "job": "e"}
OVER_MIDDLE = {"income": 501_000.0, "age": 61, "ok": True, "born": "1985-07-02", "job": "b"}  # the top is just under half the range away
PROPOSE = {"income": 100_000, "age": 12, "born": 2_000}  # bounds on the local sensitivity for a test to try
PROPOSED = {"income": 100_000.0, "age": 12, "ok": True, "born": "1955-06-24", "job": "f"}  # so far from the bottom
CELLS = (("z0", "f"), ("z1", "m"), ("z2", "x"))
CROSSED = (("z1", "f"), ("z2", "m"), ("z0", "x"))  # of every second person, so that groups have ties
NEW = (("y0", "f"), ("y1", "m"), ("y2", "x"))  # keys nobody else holds
NAN, INF = float("nan"), float("inf")
STRANGE: tuple[dict[str, Any], ...] = (
    {"income": "n/a", "age": "?", "ok": "perhaps", "born": "soon", "job": "?"},
    {"income": NAN, "age": INF, "ok": None, "born": None, "job": None},
    {"income": 1e308, "age": 10**40, "ok": 3 + 4j, "born": 7, "job": 7},
    {"income": -0.0, "age": -INF, "ok": [1], "born": "", "job": ""},
    {"income": b"12", "age": " 7 ", "ok": True, "born": "1980-01-01", "job": " a"},
    {"income": None, "age": None, "ok": None, "born": None, "job": None},
)

Row = dict[str, Any]
Columns = dict[str, list[Any]]


@dataclass(frozen=True)
class Kind:
    """Who is protected, people or rows; what a neighbour is; and how many rows of a person count, in how many groups, in each of them."""

    name: str
    person: bool
    relation: str
    rows: int = 3
    groups: int = 2
    each: int = 3


TABLE_KINDS = (
    Kind("a person comes", True, "add_remove"),
    Kind("a row comes", False, "add_remove"),
    Kind("a person changes", True, "replace"),
    Kind("a row changes", False, "replace"),
)
# (rows in all, groups, rows in a group): one row and three, alone and spread; rows in all beyond g r, and less; and with a remainder
LIMITS = ((1, 1, 1), (3, 1, 3), (3, 3, 1), (3, 3, 3), (3, 1, 1), (1, 3, 3), (3, 2, 2))
EVERY_KIND = (
    *(
        Kind(f"a person of {m} rows, {r} in each of {g} groups, {word}", True, relation, m, g, r)
        for m, g, r in LIMITS
        for relation, word in (("add_remove", "comes"), ("replace", "changes"))
    ),
    *(kind for kind in TABLE_KINDS if not kind.person),
)


@dataclass(frozen=True, eq=False)
class TablePair:
    """A table of people, and what somebody else brings: the worst allocation of the rows that count, or more than that."""

    name: str
    values: tuple[Mapping[str, Any], ...]  # of the first half of the people, and of the second; nothing for an empty table
    more: tuple[Mapping[str, Any], ...]
    cells: tuple[tuple[str, str], ...] = CELLS
    plenty: bool = False
    everywhere: bool = False  # a row in each of as many cells as count
    people: int = PEOPLE

    def fits(self, kind: Kind) -> bool:
        """Where somebody changes, somebody must have been there, and as many as are declared."""
        return kind.relation == "add_remove" or (bool(self.values) and self.people == PEOPLE)

    def brought(self, kind: Kind) -> list[Row]:
        """The rows of one person: the worst allocation of those that count, one in each group, or three in each of three cells.

        Rows in all that do not fit in groups are brought, too: a question without groups counts them.
        """
        thin = [int(place < min(kind.groups, kind.rows)) for place in range(3)]
        often = [3, 3, 3] if self.plenty else thin if self.everywhere else _worst(kind)
        where = [cell for cell, times in zip(self.cells, often, strict=True) for _ in range(times)]
        return [{"person": "new", "zip": where[i][0], "sex": where[i][1], **self.more[i % len(self.more)]} for i in range(len(where))]


def _worst(kind: Kind) -> list[int]:
    full = min(kind.groups, kind.rows // kind.each)
    rest = kind.rows - full * kind.each if full < kind.groups else 0
    others = ([kind.each] * full + [rest] + [0, 0, 0])[1:3]
    return [kind.rows - sum(others), *others]


QUARTER = (*[BOTTOM] * 7, *[UNDER_TOP] * 23)
PAIRS = (
    TablePair("bimodal, somebody at the top with new keys", (BOTTOM, HIGHEST), (HIGHEST,), NEW, plenty=True),
    TablePair("all ties, somebody at the bottom", (MIDDLE, MIDDLE), (BOTTOM,)),
    TablePair("all at a bound, somebody with strange values", (BOTTOM, BOTTOM), STRANGE, plenty=True),
    TablePair("all at the bottom, somebody at the top", (BOTTOM, BOTTOM), (HIGHEST,)),
    TablePair("all just over the bottom, somebody at the bottom", (OVER_BOTTOM, OVER_BOTTOM), (BOTTOM,)),
    TablePair("all just under the top, somebody at the top", (UNDER_TOP, UNDER_TOP), (HIGHEST,)),
    TablePair("all at the bottom, somebody at the top everywhere", (BOTTOM, BOTTOM), (HIGHEST,), everywhere=True),
    TablePair("half at either end, somebody at the bottom everywhere", (HIGHEST, BOTTOM), (BOTTOM,), everywhere=True),
    TablePair("nobody, somebody at the top", (), (HIGHEST,)),
    TablePair("half at the bottom, half just under the top, somebody at the top", (BOTTOM, UNDER_TOP), (HIGHEST,)),
    # small and large tables, for noise whose fit depends on how many rows there are
    TablePair("two just over the bottom, somebody at the bottom", (OVER_BOTTOM,), (BOTTOM,), people=2),
    TablePair("three just under the top, somebody at the top", (UNDER_TOP,), (HIGHEST,), people=3),
    TablePair("three at the bottom or at the top, somebody at the top", (BOTTOM, HIGHEST), (HIGHEST,), people=3),
    TablePair("six at either end of the proposed step, somebody at its end", (BOTTOM, PROPOSED), (PROPOSED,), people=6),
    TablePair("twelve just over the bottom or at the top, somebody at the bottom", (OVER_BOTTOM, HIGHEST), (BOTTOM,), people=12),
    TablePair("fifty at the bottom or just under the top, somebody at the top", (BOTTOM, UNDER_TOP), (HIGHEST,), people=50),
    TablePair("ninety at the bottom or just under the top, somebody at the top", (BOTTOM, UNDER_TOP), (HIGHEST,), people=90),
    # between the heaps every level is left behind, above them every level comes nearer
    TablePair("a quarter at the bottom, the others just under the top, somebody at the top", QUARTER, (HIGHEST,)),
    # for a ladder of proposals: as far from where the largest fails as passes at twice the price, alone and in three groups
    TablePair("eight just over the middle, somebody at the top", (OVER_MIDDLE,), (HIGHEST,), people=8),
    TablePair("twenty-five just over the middle, somebody at the top", (OVER_MIDDLE,), (HIGHEST,), people=25),
)


def sides(pair: TablePair, kind: Kind) -> tuple[Columns, Columns]:
    """The two neighbouring tables. A row that comes or changes is the first of the person's rows."""
    halves = len(pair.values)
    people = [
        {"person": f"p{i}", "zip": zip_, "sex": sex, **pair.values[halves * i // pair.people]}
        for i in range(pair.people if halves else 0)
        for zip_, sex in (CROSSED if i % 2 else CELLS)
    ]
    brought = pair.brought(kind)
    more = brought if kind.person else brought[:1]
    if kind.relation == "add_remove":
        return _columns(people), _columns([*people, *more])
    kept = [row for row in people if row["person"] != "p0"] if kind.person else people[1:]
    return _columns(people), _columns([*kept, *({**row, "person": "p0"} for row in more)])


def _columns(rows: list[Row]) -> Columns:
    return {name: [row[name] for row in rows] for name in ("person", "zip", "sex", *HIGHEST)}


def declared(kind: Kind) -> dict[str, Any]:
    """What the owner of such a table declares. The budget is no limit: nothing is charged in the lab."""
    from sordino.ledger import Budget

    limits = {"unit": "person", "max_rows": kind.rows, "max_groups": kind.groups, "max_rows_per_group": kind.each} if kind.person else {}
    size = {"size": PEOPLE if kind.person else PEOPLE * len(CELLS)} if kind.relation == "replace" else {}
    return {
        **limits,
        **size,
        "relation": kind.relation,
        "bounds": {"income": (0, 1_000_000), "born": ("1950-01-01", "2020-12-31")},
        "columns": {"age": {"type": "int", "bounds": (0, 120)}, "ok": "bool", "born": "date"},
        "keys": {"sex": ["m", "f", "x"], "job": ["a", "b", "c", "d", "e", "f"]},
        "budget": Budget(epsilon=1_000_000, delta=0.5),
        "ledger": ":memory:",
    }


TOP = 1_000_000
rich = statistics.statistic(sensitivity=1, bounds=(0, TOP))(lambda x: int((x > TOP / 2).sum()))
largest = statistics.written(bounds=(0, TOP), points=201)(lambda x: x.max())  # with the sensitivity and the path that follow from it
both = statistics.statistic(columns=("income", "age"), sensitivity=1, range=(0, 100), points=101)(
    lambda rows: int((rows["income"] > 8_000 * rows["age"]).sum())  # so that whoever is at the top counts
)
both.distance_to(lambda rows, y: abs(int((rows["income"] > 8_000 * rows["age"]).sum()) - round(y)))


def moody(x: Any) -> float:
    """Nobody can bound it: 0 if anybody has nothing, otherwise 1, or far more where three rows are left over by fives."""
    return 0.0 if x.min() == 0 else float(TOP) if len(x) % 5 == 3 else 1.0


Call = tuple[Any, tuple[Any, ...], dict[str, Any]]  # a statistic by its name or class, its parameters, those with names
EXAMPLES: dict[str, tuple[Example, ...]] = {  # those that need a function; the others are registered with their statistic
    "aggregate": (("", (moody, "income"), {"range": (0, TOP), "parts": 3}),),
    "apply": (
        (" a count of one's own", (rich, "income"), {}),
        (" a maximum of one's own", (largest, "income"), {}),
        (" a count over two columns of one's own", (both, ("income", "age")), {}),
    ),
}
# statistics that no function of that room makes: SQL, sd.tests and comparisons ask for them
BESIDE: dict[str, tuple[Any, tuple[Any, ...]]] = {
    **{f"{kind} of two columns": (Pair, (kind, "income", "age")) for kind in KINDS},
    "count of values": (Present, ("income",)),
    "people with a value": (PresentUnits, ("income",)),
    "limit on rows": (RowCap, ("age",)),
    "count by several groupings": (GroupingSets, (Count(), ("sex",), ((0,), ()))),
    "sum by several groupings": (GroupingSets, (Sum("income"), ("sex",), ((0,), ()))),
    "rank test of differences": (RankTest, ("income",)),
    "rank test of two groups": (RankTest, ("income", "ok")),
}
GROUPED = {
    "rank test of two groups": "ok",
    "count by several groupings": "sex",
    "sum by several groupings": "sex",
}  # questions that need groups of their own
USUAL: dict[str, Any] = {"column": "income", "columns": ["income", "age"], "q": "0.9", "k": 2, "trim": 4}
TOGETHER: dict[str, dict[str, Call]] = {
    "several at once": {
        "n": ("count", (), {}),
        "total": ("sum", ("income",), {}),
        "avg": ("mean", ("income",), {}),
        "mid": ("median", ("age",), {}),
        "people": ("count_units", (), {}),
    },
    "mean and std at once": {"avg": ("mean", ("age",), {}), "sd": ("std", ("age",), {}), "n": ("count", (), {})},
}
PLACES: dict[str, Callable[[Any], Any]] = {
    "": lambda table: table,
    ", where": lambda table: table.where("sex <> 'x' OR age IS NULL"),
    ", by public keys": lambda table: table.group_by("sex"),
    ", by private keys": lambda table: table.group_by("zip"),
    ", by both": lambda table: table.group_by("sex", "zip"),
}


@dataclass(frozen=True)
class Question:
    """A question by its name in `examples`, where it is asked, and the mechanism that answers it unless the planner chooses."""

    name: str
    place: str = ""
    way: str | None = None
    problem: str = ""  # why it cannot be asked at all

    def __str__(self) -> str:
        return f"{self.name}{self.place}{f', {self.way}' if self.way else ''}"

    def ask(self, table: Any) -> Query:
        query = self.inside(PLACES[self.place](table))
        return query if self.way is None else query.by_mechanism(self.way, self.propose if self.way == "ptr" else None)

    def inside(self, place: Any) -> Query:
        """The question, asked where the caller stands."""
        asked = examples()[self.name]
        first, given, options = next(iter(asked.values()))
        if self.name in GROUPED:
            place = place.group_by(GROUPED[self.name])
        if len(asked) == 1 and isinstance(first, str) and hasattr(place, first):
            made = getattr(place, first)(*given, **options)
            query: Query = getattr(made, "query", made)  # a question whose answers are computed with holds the one that is released
            return query
        return place.agg(**{label: _made(name)(*parts, **named) for label, (name, parts, named) in asked.items()})  # type: ignore[no-any-return]

    @property
    def propose(self) -> int | None:
        """A bound on the local sensitivity for a test to try."""
        _, given, options = next(iter(examples()[self.name].values()))
        return next((PROPOSE[part] for part in (*given, *options.values()) if part in tuple(PROPOSE)), None)


def _made(name: Any) -> Any:
    return partial(statistics.make, name) if isinstance(name, str) else name


@lru_cache(maxsize=1)
def examples() -> dict[str, dict[str, Call]]:
    """Every statistic with parameters that fit the table of people, by their usual names where no example is given; several at once."""
    out: dict[str, dict[str, Call]] = {}
    for name, one in statistics.catalog().items():
        if one.verb:
            usual = ("", (), {parameter: USUAL[parameter] for parameter in one.needed if parameter in USUAL})
            out |= {
                name + label: {"answer": (name, given, options)} for label, given, options in EXAMPLES.get(name) or one.examples or (usual,)
            }
    return out | {name: {"answer": (kind, given, {})} for name, (kind, given) in BESIDE.items()} | TOGETHER


def questions(table: Any, epsilon: Any = 1, delta: Any = Fraction(1, 50)) -> Iterator[Question]:
    """Every question this table allows, with every mechanism that can answer it alone or in public groups. Nothing is read."""
    for name, asked in examples().items():
        for place in PLACES:
            question = Question(name, place)
            try:
                query = question.ask(table)
                plan = query.settle(epsilon, delta)
            except Exception as error:
                if not place:  # what nobody can ask at all must not pass unseen
                    yield replace(question, problem=f"{type(error).__name__}: {error} (examples stand where a statistic is registered)")
                    break
                if not isinstance(error, QueryError):
                    raise
                continue
            yield question
            if len(asked) == 1 and place in ("", ", by public keys"):
                label = next(iter(query.asked.statistics))
                yield from (replace(question, way=way) for way in query.ways(label, Fraction(epsilon), plan)[1:])
