"""On neighbouring tables, with the same outcomes drawn, nothing visible differs: not a request, a law, a byte, a log line or an error."""

from __future__ import annotations

import pytest

from tests.session.people import EXTRA, QUESTIONS, ROW, add, rows, swap, table
from tests.session.twin import run

pytestmark = pytest.mark.usefixtures("_same_ids")
BASE = rows()


def same(first, second):
    assert first.asked == second.asked
    assert first.laws == second.laws
    for name, value in first.seen.items():
        assert value == second.seen[name], name
    assert "error" not in first.seen, first.seen["error"]
    assert not first.seen["warnings"]


@pytest.fixture(scope="module")
def neighbours():
    return {name: add(BASE, extra) for name, extra in EXTRA.items()}


@pytest.mark.parametrize("name", QUESTIONS)
def test_one_more_person_changes_nothing_but_the_value(name, neighbours):
    ask = QUESTIONS[name]
    with table(BASE) as here:
        first = run(ask(here))
    for who, there in neighbours.items():
        with table(there) as other:
            second = run(ask(other), pinned=first)
        assert second.seen.get("error") is None, (who, second.seen)
        same(first, second)


AWKWARD = [row for extra in EXTRA.values() for row in extra if row["person"] is not None]


@pytest.mark.parametrize("unit", ["person", None])
@pytest.mark.parametrize("name", QUESTIONS)
def test_one_replaced_person_changes_nothing_but_the_value(name, unit):
    ask = QUESTIONS[name]
    changed = swap(BASE, "p7", AWKWARD if unit else [row | {"person": "p7"} for row in AWKWARD[3:4]])
    with table(BASE, unit=unit, relation="replace") as here, table(changed, unit=unit, relation="replace") as there:
        first = run(ask(here))
        same(first, run(ask(there), pinned=first))


@pytest.mark.parametrize("name", QUESTIONS)
def test_one_more_row_changes_nothing_but_the_value_where_every_row_is_a_unit(name):
    ask = QUESTIONS[name]
    with table(BASE, unit=None) as here:
        first = run(ask(here))
    for extra in (EXTRA["not numbers"], EXTRA["text everywhere"], EXTRA["types nobody expects"]):
        with table(add(BASE, extra[:1]), unit=None) as there:
            same(first, run(ask(there), pinned=first))


WORLDS = {
    "no rows": ({name: [] for name in BASE}, [ROW]),
    "one row": ({name: values[:1] for name, values in BASE.items()}, [ROW | {"income": "x"}]),
    "all ties": ({name: values[:1] * 100 for name, values in BASE.items()} | {"person": [f"p{i}" for i in range(100)]}, [ROW]),
    "nobody has an id": (BASE | {"person": [None] * len(BASE["person"])}, [ROW]),
}


@pytest.mark.parametrize("world", WORLDS)
def test_small_and_strange_tables_answer_like_any_other(world):
    base, extra = WORLDS[world]
    for name, ask in QUESTIONS.items():
        if "stable" in name or "private keys" in name:
            continue  # the most frequent value of nothing is not stable, and is then a value that may differ
        with table(base) as here, table(add(base, extra)) as there:
            first = run(ask(here))
            same(first, run(ask(there), pinned=first))
