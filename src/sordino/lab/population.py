"""Small hostile tables of people with a neighbour each: somebody comes, goes or changes, with values that have gone wrong before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["KINDS", "PAIRS", "Kind", "Pair", "declared", "sides"]

PEOPLE = 30
TOP = {"income": 1_000_000.0, "age": 120, "ok": True, "born": "2020-12-31"}
MIDDLE = {"income": 500_000.0, "age": 60, "ok": True, "born": "1985-06-30"}
BOTTOM = {"income": 0.0, "age": 0, "ok": False, "born": "1950-01-01"}
CELLS = (("z0", "f"), ("z1", "m"))
NEW = (("y0", "f"), ("y1", "m"))  # keys nobody else holds
NAN, INF = float("nan"), float("inf")
STRANGE: tuple[dict[str, Any], ...] = (
    {"income": "n/a", "age": "?", "ok": "perhaps", "born": "soon"},
    {"income": NAN, "age": INF, "ok": None, "born": None},
    {"income": 1e308, "age": 10**40, "ok": 3 + 4j, "born": 7},
    {"income": -0.0, "age": -INF, "ok": [1], "born": ""},
    {"income": b"12", "age": " 7 ", "ok": True, "born": "1980-01-01"},
    {"income": None, "age": None, "ok": None, "born": None},
)

Row = dict[str, Any]
Columns = dict[str, list[Any]]


@dataclass(frozen=True)
class Kind:
    """Who is protected: people or rows, and what a neighbour is."""

    name: str
    person: bool
    relation: str


KINDS = (
    Kind("a person comes", True, "add_remove"),
    Kind("a row comes", False, "add_remove"),
    Kind("a person changes", True, "replace"),
    Kind("a row changes", False, "replace"),
)


@dataclass(frozen=True, eq=False)
class Pair:
    """A table of people, and the rows of one more."""

    name: str
    values: tuple[Mapping[str, Any], ...]  # of the first half of the people, and of the second
    more: tuple[Row, ...]


def _rows(who: str, cells: Any, *values: Mapping[str, Any]) -> tuple[Row, ...]:
    """Three rows in each of two cells, which is as much as one person may contribute."""
    spread = [values[i % len(values)] for i in range(6)]
    return tuple({"person": who, "zip": cells[i // 3][0], "sex": cells[i // 3][1], **value} for i, value in enumerate(spread))


PAIRS = (
    Pair("bimodal, somebody at the top with new keys", (BOTTOM, TOP), _rows("new", NEW, TOP)),
    Pair("all ties, somebody at the bottom", (MIDDLE, MIDDLE), _rows("new", CELLS, BOTTOM)),
    Pair("all at a bound, somebody with strange values", (BOTTOM, BOTTOM), _rows("new", CELLS, *STRANGE)),
)


def sides(pair: Pair, kind: Kind) -> tuple[Columns, Columns]:
    """The two neighbouring tables. A row that comes or changes is the first of the person's rows."""
    people = [
        {"person": f"p{i}", "zip": zip_, "sex": sex, **pair.values[2 * i // PEOPLE]} for i in range(PEOPLE) for zip_, sex in CELLS
    ]
    more = list(pair.more if kind.person else pair.more[:1])
    if kind.relation == "add_remove":
        return _columns(people), _columns([*people, *more])
    kept = [row for row in people if row["person"] != "p0"] if kind.person else people[1:]
    return _columns(people), _columns([*kept, *({**row, "person": "p0"} for row in more)])


def _columns(rows: list[Row]) -> Columns:
    return {name: [row[name] for row in rows] for name in rows[0]}


def declared(kind: Kind) -> dict[str, Any]:
    """What the owner of such a table declares. The budget is no limit: nothing is charged in the lab."""
    from sordino.ledger import Budget

    limits = {"unit": "person", "max_rows": 3, "max_groups": 2} if kind.person else {}
    size = {"size": PEOPLE if kind.person else PEOPLE * len(CELLS)} if kind.relation == "replace" else {}
    return {
        **limits,
        **size,
        "relation": kind.relation,
        "bounds": {"income": (0, 1_000_000), "born": ("1950-01-01", "2020-12-31")},
        "columns": {"age": {"type": "int", "bounds": (0, 120)}, "ok": "bool", "born": "date"},
        "keys": {"sex": ["m", "f", "x"]},
        "budget": Budget(epsilon=1_000_000, delta=0.5),
        "ledger": ":memory:",
    }
