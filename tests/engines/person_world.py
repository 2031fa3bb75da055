"""Small worlds of people in three private tables, the views analysts ask for, and what must hold of each: a person leaves with their rows.

What is seen of a view are totals of every owner's rows, so that one owner's rows that change with another's show.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from sordino.engines import view_text
from sordino.engines.text import Text
from sordino.engines.value_text import Ranking
from sordino.plan.ownership import as_owner, owned_tables
from sordino.plan.select import read_select
from sordino.plan.sql_expression import Catalogue
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.declaration import declare
from sordino.schema.frame import Frame
from sordino.schema.view import JOIN_ROWS
from sordino.summaries.totals import Item, Totals

OWNER = "patient_id"
DECLARED = {
    "patients": declare({"sex": "cat", "born": {"type": "date", "bounds": ("1930-01-01", "2020-12-31")}}, {"age": (0, 120)}, unit=OWNER),
    "visits": declare({"visit_id": "id", "cost": {"type": "int", "bounds": (0, 100)}, "ward": "cat",
                       "day": {"type": "date", "bounds": ("2024-01-01", "2024-12-31")},
                       "share": {"type": "decimal(6,2)", "bounds": (-5, 5)}}, unit="pid"),
    "items": declare({"visit_id": "id", "price": {"type": "int", "bounds": (-10, 10)}, "weight": {"type": "float", "bounds": (0, 9)}}),
}  # fmt: skip
OWNERS = {
    "patients": as_owner(OWNER, [OWNER]),
    "visits": as_owner("pid", ["visit_id"]),
    "items": as_owner({"via": "visits", "on": "visit_id"}),
}
TABLES = owned_tables(OWNERS, DECLARED, OWNER)
CATALOGUE = Catalogue(dict(DECLARED), {}, OWNER, TABLES)
TOTALS = "LEAST(COUNT(*), 9) AS n, SUM(cost) AS c, AVG(cost) AS m, MIN(day) AS d, MAX(share) AS s, SUM(share) AS t"
PER = f"SELECT pid, {TOTALS} FROM visits GROUP BY pid"
STATEMENTS = {
    "inner": "SELECT SUM(v.cost) AS a, SUM(p.age) AS b FROM visits v JOIN patients p ON v.pid = p.patient_id",
    "left": "SELECT SUM(p.age) AS a, SUM(v.cost) AS b FROM patients p LEFT JOIN visits v ON v.pid = p.patient_id AND v.cost > 20",
    "path": "SELECT SUM(price) AS a, SUM(weight) AS b FROM items",
    "along the path": "SELECT SUM(i.price) AS a, SUM(v.cost) AS b, SUM(p.age) AS c FROM items i JOIN visits v ON i.visit_id = v.visit_id"
    " LEFT JOIN patients p ON p.patient_id = v.pid WHERE v.share > -3",
    "semi": "SELECT SUM(age) AS a FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.pid = p.patient_id AND v.ward = 'x')",
    "anti": "SELECT SUM(cost) AS a FROM visits WHERE pid NOT IN (SELECT patient_id FROM patients WHERE age > 40)",
    "self": "SELECT SUM(a.cost) AS a, SUM(b.cost) AS b FROM visits a JOIN visits b ON a.pid = b.pid AND a.ward = b.ward",
    "many to many": "SELECT SUM(v.cost) AS a, SUM(i.price) AS b, SUM(i.weight) AS c FROM visits v JOIN"
    " (SELECT w.pid, i.price, i.weight, w.day, w.share FROM items i JOIN visits w ON i.visit_id = w.visit_id) i ON i.pid = v.pid"
    " WHERE i.day >= v.day AND i.share > -6",
    "many beside many": "SELECT SUM(a.cost) AS a, SUM(b.share) AS b FROM visits a LEFT JOIN visits b ON a.pid = b.pid AND a.day = b.day",
    "per person": "SELECT SUM(n) AS n, SUM(LEAST(c, 500)) AS c, SUM(m) AS m, SUM(s) AS s, SUM(GREATEST(LEAST(t, 90), -90)) AS t"
    f" FROM ({PER}) x",
    "per person joined": f"SELECT SUM(p.age) AS a, SUM(x.n) AS n FROM patients p LEFT JOIN ({PER}) x ON x.pid = p.patient_id"
    " WHERE x.d IS NULL OR x.n > 1",
    "windows": "SELECT SUM(r) AS r, SUM(g) AS g, SUM(LEAST(c, 900)) AS c FROM"
    " (SELECT LEAST(ROW_NUMBER() OVER (PARTITION BY pid ORDER BY day), 50) AS r,"
    " cost - LAG(cost) OVER (PARTITION BY pid ORDER BY day DESC) AS g, SUM(cost) OVER (PARTITION BY pid ORDER BY day) AS c FROM visits) w",
    "functions": "SELECT SUM(SQRT(age)) AS a, SUM(LENGTH(SUBSTRING(sex, 1, 1))) AS b,"
    " SUM(DATE_TRUNC('quarter', born) - DATE '1930-01-01') AS c,"
    " SUM(CASE WHEN UPPER(sex) = 'F' THEN 1 ELSE 0 END) AS d, SUM(DATE_TRUNC('week', born) - DATE '1930-01-01') AS w"
    " FROM visits v JOIN patients p ON v.pid = p.patient_id",
    "more functions": "SELECT SUM(EXP(0.05 * age)) AS a, SUM(LENGTH(TRIM(sex || ' ') || RIGHT(ward, 1))) AS b,"
    " SUM(EXTRACT(HOUR FROM CAST(day AS TIMESTAMP) AT TIME ZONE 'America/New_York')) AS c,"
    " SUM(born + INTERVAL '7 months' - DATE '1930-01-01') AS d, SUM(CASE WHEN day - INTERVAL '60 years' > born THEN 1 ELSE 0 END) AS e,"
    " COUNT(v.visit_id) AS f FROM patients p LEFT JOIN visits v ON v.pid = p.patient_id",
    "not seen": "SELECT SUM(age) AS a FROM patients p LEFT JOIN visits v ON v.pid = p.patient_id WHERE v.visit_id IS NULL",
    "often seen": "SELECT SUM(age) AS a FROM patients WHERE patient_id IN (SELECT pid FROM visits GROUP BY pid HAVING COUNT(*) >= 2)",
    "first by key": "SELECT SUM(cost) AS a FROM"
    " (SELECT cost, ROW_NUMBER() OVER (PARTITION BY pid ORDER BY day, visit_id) AS r FROM visits) w WHERE r = 1",
    "first of each ward": "SELECT SUM(cost) AS a FROM"
    " (SELECT cost, ward, RANK() OVER (PARTITION BY pid, ward ORDER BY cost DESC) AS r FROM visits) w"
    " WHERE r = 1 AND ward IS NOT NULL",
}  # fmt: skip

World = dict[str, dict[str, list[Any]]]


def world(seed: int, people: int = 3) -> World:
    """Tables with missing patients, empty visits, equal rows and nulls; every key is unique."""
    rng = random.Random(seed)
    patients: dict[str, list[Any]] = {OWNER: [], "sex": [], "born": [], "age": []}
    visits: dict[str, list[Any]] = {"visit_id": [], "pid": [], "cost": [], "ward": [], "day": [], "share": []}
    items: dict[str, list[Any]] = {"visit_id": [], "price": [], "weight": []}
    for person in range(1, people + 1):
        if rng.random() < 0.8:
            row = (person, rng.choice("fm"), f"19{rng.randint(30, 99)}-05-01", rng.randint(0, 90))
            for name, value in zip(patients, row, strict=True):
                patients[name].append(value)
        for number in range(rng.randint(0, 4)):
            key = f"{person}-{number}"
            cost, ward = rng.choice([0, 30, 30, 70, None]), rng.choice(["x", "y", None])
            row = (key, person, cost, ward, f"2024-03-0{rng.randint(1, 3)}", rng.choice(["0.29", "-4.57", "1"]))
            for name, value in zip(visits, row, strict=True):
                visits[name].append(value)
            for _ in range(rng.randint(0, 2)):
                for name, value in zip(items, (key, rng.randint(-10, 10), rng.choice([0.1, 3.7, None])), strict=True):
                    items[name].append(value)
    return {"patients": patients, "visits": visits, "items": items}


def without(tables: World, gone: set[int]) -> World:
    """The same world without some people and everything that is theirs, along the declared paths."""
    visits = [i for i, who in enumerate(tables["visits"]["pid"]) if who not in gone]
    left = {tables["visits"]["visit_id"][i] for i, who in enumerate(tables["visits"]["pid"]) if who in gone}
    kept = {
        "patients": [i for i, who in enumerate(tables["patients"][OWNER]) if who not in gone],
        "visits": visits,
        "items": [i for i, key in enumerate(tables["items"]["visit_id"]) if key not in left],
    }
    return {name: {column: [values[i] for i in kept[name]] for column, values in table.items()} for name, table in tables.items()}


def asked(statement: str, rows: int = 1000, join_rows: int = JOIN_ROWS) -> Frame:
    """The frame of a statement, with the totals of every owner's rows apart."""
    question = read_select(statement, replace(CATALOGUE, join_rows=join_rows)).asked
    owner = Column(OWNER, "id")
    columns = tuple(question.narrowed[name] for name in question.read)
    unit = PrivacyUnit(OWNER, max_rows=rows, max_groups=1000)
    return Frame(unit, owner, where=question.where, by=(owner,), columns=columns, view=question.view)


def seen(engine: Any, frame: Frame, salt: int = 7) -> dict[str, tuple[int, ...]]:
    """What each owner's rows add up to."""
    items = (Item("rows"), *(Item(what, column.name) for column in frame.columns for what in ("rows", "sum", "squares")))
    engine.check(frame)
    with engine.bounded(frame, salt) as bounded:
        answer = bounded.ask(Totals(items))
        return {str(key[0]): tuple(int(answer.values[item][i]) for item in items) for i, key in enumerate(answer.keys)}


Open = Callable[[World], Any]  # an engine over these tables, as a context


def violations(open_world: Open, statement: str, tables: World, leavers: list[set[int]], join_rows: int = JOIN_ROWS) -> int:
    """In how many departures somebody else's rows change, or a row of who left stays."""
    frame, found = asked(statement, join_rows=join_rows), 0
    with open_world(tables) as engine:
        before = seen(engine, frame)
    for gone in leavers:
        with open_world(without(tables, gone)) as engine:
            after = seen(engine, frame)
        found += after != {who: totals for who, totals in before.items() if int(who) not in gone}
    return found


def moved(open_world: Open, statement: str, tables: World, gone: int, rows: int) -> int:
    """By how many rows the bounded view changes when one person leaves."""
    frame = asked(statement, rows)
    total = []
    for held in (tables, without(tables, {gone})):
        with open_world(held) as engine:
            total.append(sum(totals[0] for totals in seen(engine, frame).values()))
    return abs(total[0] - total[1])


def shared_key(tables: World) -> World:
    """A visit's key that two people have: the declared key does not hold."""
    visits = {name: list(values) for name, values in tables["visits"].items()}
    first, second = sorted(set(visits["pid"]))[:2]
    for name, value in (("visit_id", "shared"), ("cost", 30), ("ward", "x"), ("day", "2024-03-01"), ("share", "1")):
        visits[name] += [value, value]
    visits["pid"] += [first, second]
    items = {name: [*values, value] for (name, values), value in zip(tables["items"].items(), ("shared", 5, 3.7), strict=True)}
    return {**tables, "visits": visits, "items": items}


@contextmanager
def planted(monkeypatch: Any, bug: str) -> Any:
    """One mistake in the text of a view, whichever engine reads it."""
    joined, window, table, few = view_text._Text._joined, view_text._window, view_text._Text._table, view_text._Text._few
    ranked = Ranking.of
    with monkeypatch.context() as patch:
        if bug == "owner from the wrong side":
            patch.setattr(view_text._Text, "_joined", lambda self, join, wanted: joined(self, join, wanted).replace("a.u AS u", "b.u AS u"))
        if bug == "people not equated":
            patch.setattr(view_text._Text, "_joined", lambda self, join, wanted: joined(self, join, wanted).replace("a.u = b.u", "TRUE"))
        if bug == "window over everybody":
            patch.setattr(
                view_text,
                "_window",
                lambda *given: window(*given).replace("PARTITION BY u, ", "PARTITION BY ").replace("PARTITION BY u", ""),
            )
        if bug == "a side cut over everybody":
            patch.setattr(view_text._Text, "_few", lambda *given: few(*given).replace("PARTITION BY u ORDER BY", "ORDER BY"))
        if bug == "hash without owner":
            patch.setattr(Ranking, "of", lambda self, *parts: ranked(self, *parts).replace("CAST(u AS VARCHAR)", "'anybody'"))
        if bug == "bounded before the join":

            def first(self: Any, of: Any, wanted: Any) -> str:
                rows = table(self, of, wanted)
                shown = ", ".join(["u", *(f"c{i}" for i in range(len(wanted)))])
                ranked = f"SELECT {shown}, row_number() OVER (PARTITION BY u ORDER BY {shown}) AS place FROM ({rows}) AS early"
                return f"SELECT {shown} FROM ({ranked}) AS cut WHERE place <= 2"

            patch.setattr(view_text._Text, "_table", first)
            patch.setattr(Text, "ranked", lambda self, rows: rows)
        yield


def twins(open_world: Open, salts: range = range(4)) -> list[bool]:
    """Whether two people with the same rows keep the same of them, under each salt."""
    visits = {"visit_id": [f"{who}-{i}" for who in (1, 2) for i in range(12)], "pid": [1] * 12 + [2] * 12, "cost": [*range(12)] * 2,
              "ward": ["x"] * 24, "day": ["2024-03-01"] * 24, "share": ["1"] * 24}  # fmt: skip
    frame, found = asked(STATEMENTS["self"], 1000, 3), []
    with open_world({**world(1), "visits": visits}) as engine:
        for salt in salts:
            rows = seen(engine, frame, salt)
            found.append(rows["1"] == rows["2"])
    return found


def strays(open_world: Open, tables: World) -> int:
    """Patients whom a LEFT JOIN with their visits lost, or gave to somebody else: everybody stays, once for each match or once without."""
    with open_world(tables) as engine:
        found = seen(engine, asked(STATEMENTS["left"]))
    visits = list(zip(tables["visits"]["pid"], tables["visits"]["cost"], strict=True))
    want = {str(who): max(1, sum(pid == who and (cost or 0) > 20 for pid, cost in visits)) for who in tables["patients"][OWNER]}
    return sum(found.get(who, (0,))[0] != rows for who, rows in want.items()) + len(set(found) - set(want))


BUGS = {
    "people not equated": "self",
    "window over everybody": "windows",
}
CUT = ("self", "many to many", "many beside many")  # joins that multiply a person's rows
CROWD = 20_000


def crowded(rows: int = CROWD) -> World:
    """A world in which person 2 has so many rows in two tables."""
    tables = world(5, people=8)
    new = {"visit_id": [f"many-{i}" for i in range(rows)], "pid": [2] * rows, "cost": [i % 90 for i in range(rows)], "ward": ["x"] * rows,
           "day": ["2024-03-01"] * rows, "share": ["1"] * rows}  # fmt: skip
    items = {"visit_id": new["visit_id"], "price": [i % 9 for i in range(rows)], "weight": [3.5] * rows}
    return {
        **tables,
        "visits": {name: [*values, *new[name]] for name, values in tables["visits"].items()},
        "items": {name: [*values, *items[name]] for name, values in tables["items"].items()},
    }
