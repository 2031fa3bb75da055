"""Small hostile tables of people with a neighbour each: somebody comes, goes or changes, with values that have gone wrong before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["EVERY_KIND", "KINDS", "PAIRS", "PROPOSE", "Kind", "Pair", "declared", "sides"]

PEOPLE = 30
TOP = {"income": 1_000_000.0, "age": 120, "ok": True, "born": "2020-12-31", "job": "a"}
MIDDLE = {"income": 500_000.0, "age": 60, "ok": True, "born": "1985-06-30", "job": "b"}
BOTTOM = {"income": 0.0, "age": 0, "ok": False, "born": "1950-01-01", "job": "c"}
UNDER_TOP = {"income": 999_999.9999, "age": 119, "ok": True, "born": "2020-12-30", "job": "d"}
OVER_BOTTOM = {"income": 0.0001, "age": 1, "ok": False, "born": "1950-01-02", "job": "e"}
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


KINDS = (
    Kind("a person comes", True, "add_remove"),
    Kind("a row comes", False, "add_remove"),
    Kind("a person changes", True, "replace"),
    Kind("a row changes", False, "replace"),
)
LIMITS = ((1, 1, 1), (3, 1, 3), (3, 3, 1), (3, 3, 3))
EVERY_KIND = (
    *(
        Kind(f"a person of {m} rows, {r} in each of {g} groups, {word}", True, relation, m, g, r)
        for m, g, r in LIMITS
        for relation, word in (("add_remove", "comes"), ("replace", "changes"))
    ),
    *(kind for kind in KINDS if not kind.person),
)


@dataclass(frozen=True, eq=False)
class Pair:
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
        """The rows of one person: the worst allocation of those that count, one in each group, or three in each of three cells."""
        thin = [int(place < min(kind.groups, kind.rows)) for place in range(3)]
        often = [3, 3, 3] if self.plenty else thin if self.everywhere else _worst(kind)
        where = [cell for cell, times in zip(self.cells, often, strict=True) for _ in range(times)]
        return [{"person": "new", "zip": where[i][0], "sex": where[i][1], **self.more[i % len(self.more)]} for i in range(len(where))]


def _worst(kind: Kind) -> list[int]:
    full = min(kind.groups, kind.rows // kind.each)
    rest = kind.rows - full * kind.each if full < kind.groups else 0
    return ([kind.each] * full + [rest] + [0, 0, 0])[:3]


PAIRS = (
    Pair("bimodal, somebody at the top with new keys", (BOTTOM, TOP), (TOP,), NEW, plenty=True),
    Pair("all ties, somebody at the bottom", (MIDDLE, MIDDLE), (BOTTOM,)),
    Pair("all at a bound, somebody with strange values", (BOTTOM, BOTTOM), STRANGE, plenty=True),
    Pair("all at the bottom, somebody at the top", (BOTTOM, BOTTOM), (TOP,)),
    Pair("all just over the bottom, somebody at the bottom", (OVER_BOTTOM, OVER_BOTTOM), (BOTTOM,)),
    Pair("all just under the top, somebody at the top", (UNDER_TOP, UNDER_TOP), (TOP,)),
    Pair("all at the bottom, somebody at the top everywhere", (BOTTOM, BOTTOM), (TOP,), everywhere=True),
    Pair("half at either end, somebody at the bottom everywhere", (TOP, BOTTOM), (BOTTOM,), everywhere=True),
    Pair("nobody, somebody at the top", (), (TOP,)),
    Pair("half at the bottom, half just under the top, somebody at the top", (BOTTOM, UNDER_TOP), (TOP,)),
    # small and large tables, for noise whose fit depends on how many rows there are
    Pair("two just over the bottom, somebody at the bottom", (OVER_BOTTOM,), (BOTTOM,), people=2),
    Pair("three just under the top, somebody at the top", (UNDER_TOP,), (TOP,), people=3),
    Pair("three at the bottom or at the top, somebody at the top", (BOTTOM, TOP), (TOP,), people=3),
    Pair("six at either end of the proposed step, somebody at its end", (BOTTOM, PROPOSED), (PROPOSED,), people=6),
    Pair("twelve just over the bottom or at the top, somebody at the bottom", (OVER_BOTTOM, TOP), (BOTTOM,), people=12),
    Pair("fifty at the bottom or just under the top, somebody at the top", (BOTTOM, UNDER_TOP), (TOP,), people=50),
    Pair("ninety at the bottom or just under the top, somebody at the top", (BOTTOM, UNDER_TOP), (TOP,), people=90),
)


def sides(pair: Pair, kind: Kind) -> tuple[Columns, Columns]:
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
    return {name: [row[name] for row in rows] for name in ("person", "zip", "sex", *TOP)}


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
