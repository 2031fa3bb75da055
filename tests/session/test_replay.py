"""On neighbouring tables, with the same outcomes drawn, nothing visible differs: not a request, a law, a byte, a log line or an error."""

from __future__ import annotations

import os

import pytest
from tests.session.people import EXTRA, QUESTIONS, ROW, add, crowd, fresh, rows, swap, table
from tests.session.twin import run

from sordino.privacy.discrete import UniformInteger
from sordino.session.settled import Settled
from sordino.summaries.totals import Item, Totals

pytestmark = pytest.mark.usefixtures("_same_ids")
BASE = rows()
TELLING = [
    "several, plain", "means, public groups", "median, private groups", "count, private groups", "quantiles, where",
    "histogram of private keys, plain", "histogram of bins, public groups", "mode of private keys, plain", "top_k, where",
]  # fmt: skip


def same(first, second, who=""):
    """The conversation and everything somebody could look at."""
    assert second.seen.get("error") is None, (who, second.seen)
    assert first.asked == second.asked, who
    assert first.laws == second.laws, who
    for name, value in first.seen.items():
        assert value == second.seen[name], (who, name)
    assert first.seen["log"], "a release says in public what it charged"
    assert not first.seen["warnings"]


@pytest.fixture(scope="module")
def opened():
    """Every table of this module, opened once."""
    crowded = add(BASE, crowd())
    tables = {
        ("person", "here"): table(BASE),
        ("person", "there"): table(crowded),
        ("row", "here"): table(BASE, unit=None),
        ("row", "there"): table(crowded, unit=None),
        ("replace", "here"): table(BASE, relation="replace"),
        ("replace", "there"): table(swap(BASE, "p7", crowd()), relation="replace"),
        ("replace row", "here"): table(BASE, unit=None, relation="replace"),
        ("replace row", "there"): table(swap(BASE, "p7", EXTRA["text everywhere"] * 2), unit=None, relation="replace"),
        **{(name, "there"): table(add(BASE, extra)) for name, extra in EXTRA.items()},
    }
    yield tables
    for item in tables.values():
        item.close()


KINDS = ["row", "replace", "replace row"]
FULL = os.environ.get("SORDINO_AUDIT") == "full"
PAIRS = [(name, kind) for i, name in enumerate(QUESTIONS) for kind in ["person", *(KINDS if FULL else [KINDS[i % 3]])]]


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_awkward_neighbours_change_nothing_but_the_value(name, kind, opened):
    ask = QUESTIONS[name]
    first = run(ask(fresh(opened[kind, "here"])))
    same(first, run(ask(fresh(opened[kind, "there"])), pinned=first))


@pytest.mark.parametrize("name", TELLING)
def test_one_more_person_changes_nothing_but_the_value(name, opened):
    ask = QUESTIONS[name]
    first = run(ask(fresh(opened["person", "here"])))
    for who in EXTRA:
        same(first, run(ask(fresh(opened[who, "there"])), pinned=first), who)


WORLDS = {
    "no rows": ({name: [] for name in BASE}, [ROW]),
    "one row": ({name: values[:1] for name, values in BASE.items()}, [ROW | {"income": "x"}]),
    "all ties": ({name: values[:1] * 100 for name, values in BASE.items()} | {"person": [f"p{i}" for i in range(100)]}, [ROW]),
    "nobody has an id": (BASE | {"person": [None] * len(BASE["person"])}, [ROW]),
}


@pytest.mark.parametrize("world", WORLDS)
def test_small_and_strange_tables_answer_like_any_other(world):
    base, extra = WORLDS[world]
    with table(base) as here, table(add(base, extra)) as there:
        for name, ask in QUESTIONS.items():
            if "where" in name or "mixed" in name or "k of private keys" in name or "mode of private keys" in name:
                continue  # the most frequent value of almost nothing is not stable: it is a value, and may differ
            first = run(ask(fresh(here)))
            same(first, run(ask(fresh(there)), pinned=first), name)


@pytest.mark.parametrize("name", ["several, plain", "median, private groups", "histogram, plain"])
def test_a_person_with_a_hundred_thousand_rows_changes_nothing_but_the_value(name):
    ask = QUESTIONS[name]
    crowded = {column: [*BASE[column], *[ROW[column]] * 99_999, ROW[column]] for column in BASE}
    crowded["zip"][-50_000:] = [f"many {i}" for i in range(50_000)]
    with table(BASE) as here, table(crowded) as there:
        first = run(ask(here))
        same(first, run(ask(there), pinned=first))


def written(kind, data, folder):
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    if kind == "dict":
        return data
    if kind == "pandas":
        return pd.DataFrame(data)
    if kind == "csv":
        pd.DataFrame(data).to_csv(folder / "rows.csv", index=False)
        return folder / "rows.csv"
    texts = {name: pa.array([None if v is None else str(v) for v in values]) for name, values in data.items()}
    pq.write_table(pa.table(texts), folder / "rows.parquet")
    return folder / "rows.parquet"


@pytest.mark.parametrize("kind", ["dict", "pandas", "csv", "parquet"])
def test_a_bad_value_in_the_last_of_thirty_thousand_rows_changes_nothing_but_the_value(kind, tmp_path):
    good = rows(30_000)
    bad = {name: [*values[:-1], values[-1] if name in ("person", "zip", "sex", "ok") else "n/a"] for name, values in good.items()}
    for folder in ("good", "bad"):
        (tmp_path / folder).mkdir()
    sources = [written(kind, good, tmp_path / "good"), written(kind, bad, tmp_path / "bad")]
    with table(sources[0]) as here, table(sources[1]) as there:
        for name in ("several, plain", "means, public groups", "median, private groups"):
            first = run(QUESTIONS[name](fresh(here)))
            same(first, run(QUESTIONS[name](fresh(there)), pinned=first), name)


def test_the_harness_would_find_a_leak(opened, monkeypatch):
    """A plan that writes the number of rows on its card is caught, and so is one that asks again when there are many."""
    true = Settled.converse

    def rows_of(self, open_frame):
        with open_frame(self.frames[0]) as bounded:
            return int(bounded.ask(Totals((Item("rows"),))).values[Item("rows")][0])

    def talkative(self, open_frame, draw):
        self.facts["rows"] = rows_of(self, open_frame)
        return true(self, open_frame, draw)

    def curious(self, open_frame, draw):
        if rows_of(self, open_frame) > 160:
            draw(UniformInteger(0, 1))
        return true(self, open_frame, draw)

    ask = QUESTIONS["count, plain"]
    for leak in (talkative, curious):
        monkeypatch.setattr(Settled, "converse", leak)
        first = run(ask(fresh(opened["person", "here"])))
        second = run(ask(fresh(opened["person", "there"])), pinned=first)
        with pytest.raises(AssertionError):
            same(first, second)
