"""A shared table: one charge, rows on the columns' own grids, an error report that covers, and a repeat at no price."""

from __future__ import annotations

import datetime as dt
import json
import os
import signal
from itertools import combinations

import numpy as np
import pytest

import sordino as sd
from sordino.errors import BudgetExceeded, QueryError, ReleaseFailed

COLUMNS = {
    "age": {"type": "int", "bounds": (0, 100)},
    "income": {"type": "float", "bounds": (0, 200_000), "resolution": 1},
    "sex": {"type": "cat", "values": ["f", "m"]},
    "smoker": "bool",
    "seen": {"type": "date", "bounds": ("2020-01-01", "2024-12-31")},
    "level": {"type": "int", "bounds": (0, 4)},
}


def people(n=4_000, seed=0):
    rng = np.random.default_rng(seed)
    level = rng.integers(0, 5, n)
    sex = np.where(rng.random(n) < 0.3 + 0.08 * level, "f", "m").astype(object)
    smoker = (rng.random(n) < np.where(sex == "f", 0.15, 0.5)).astype(object)
    smoker[rng.random(n) < 0.2] = None
    income = np.where(rng.random(n) < 0.25, 0, np.exp(rng.normal(9.5 + 0.3 * level, 0.6))).clip(0, 200_000).round()
    seen = [dt.date(2020, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 1826, n)]
    return {"age": rng.integers(18, 95, n), "income": income, "sex": sex, "smoker": smoker, "seen": seen, "level": level}


def opened(rows=None, columns=COLUMNS, **more):
    more.setdefault("budget", sd.Budget(epsilon=50, delta=1e-3))
    rows = people() if rows is None else rows
    return sd.table(rows, columns=columns, ledger=":memory:", **({"size": 4_000} | more))


@pytest.fixture(scope="module")
def table():
    with opened() as held:
        yield held


@pytest.fixture(scope="module")
def shared(table):
    return table.share(epsilon=2, delta=1e-6)


def cells(values, edges):
    return np.searchsorted(edges, np.asarray(values, float), side="right")


def test_one_charge_pays_for_all_of_it(table, shared):
    assert float(shared.cost.epsilon) == pytest.approx(2, rel=1e-3)
    assert shared.cost.epsilon <= 2
    entries = len(list(table.ledger.entries()))
    again = table.share(epsilon=2, delta=1e-6)
    assert again.release.recalled
    assert again.to_dict() == shared.to_dict(), "the same rows, made again from what was sealed"
    assert len(list(table.ledger.entries())) == entries
    assert shared.genuine
    assert again.genuine


def test_rows_are_values_of_the_columns(shared):
    rows = shared.to_dict()
    assert len(shared) == len(rows["age"]) == pytest.approx(4_000, rel=0.05)
    assert set(rows) == set(COLUMNS)
    assert all(isinstance(v, int) and 0 <= v <= 100 for v in rows["age"])
    assert set(rows["sex"]) == {"f", "m"}
    assert set(rows["smoker"]) == {True, False, None}
    assert set(rows["level"]) == set(range(5))
    assert all(dt.date(2020, 1, 1) <= v <= dt.date(2024, 12, 31) for v in rows["seen"])
    assert all(0 <= v <= 200_000 for v in rows["income"])
    truth = people()
    assert np.mean([v is None for v in rows["smoker"]]) == pytest.approx(0.2, abs=0.03)
    assert np.mean(np.array(rows["income"]) == 0) == pytest.approx(np.mean(truth["income"] == 0), abs=0.05), "a spike of zeros stays one"
    assert np.median(rows["income"]) == pytest.approx(np.median(truth["income"]), rel=0.2)


def test_associations_are_kept(shared):
    rows, truth = shared.to_dict(), people()

    def rate(held):
        smoker, sex = np.array(held["smoker"], object), np.array(held["sex"], object)
        known = smoker != None  # noqa: E711
        return np.mean(smoker[known & (sex == "m")] == True) - np.mean(smoker[known & (sex == "f")] == True)  # noqa: E712

    assert rate(rows) == pytest.approx(rate(truth), abs=0.08)
    assert ("sex", "smoker") in shared.kept or any({"sex", "smoker"} <= set(kept) for kept in shared.kept)


def test_the_error_report_covers():
    rng, hits = np.random.default_rng(5), []
    codes = rng.integers(0, 3, (3_000, 5))
    codes[:, 1] = (codes[:, 0] + (rng.random(3_000) < 0.3)) % 3
    codes[:, 2] = (codes[:, 1] * codes[:, 0]) % 3
    names = [f"c{i}" for i in range(5)]
    rows = {name: codes[:, i] for i, name in enumerate(names)}
    columns = {name: {"type": "int", "bounds": (0, 2)} for name in names}
    with opened(rows, columns, size=3_000, budget=sd.Budget(epsilon=100, delta=1e-3)) as held:
        for _ in range(12):
            found = held.share(epsilon=1, delta=1e-6, method="tree", fresh=True)
            made = np.column_stack([found.to_dict()[name] for name in names])
            for k in (2, 3):
                for clique in combinations(range(5), k):
                    gap = [np.bincount(np.ravel_multi_index(t[:, list(clique)].T, [3] * k), minlength=3**k) / len(t) for t in (codes, made)]
                    bar = found.error([names[i] for i in clique])
                    assert 0 <= bar.low <= bar.tv <= bar.high
                    hits.append(bar.low <= np.abs(gap[0] - gap[1]).sum() / 2 <= bar.high)
    assert np.mean(hits) >= 0.92


def test_errors_of_what_was_not_reported_are_not_made_up(shared):
    assert shared.error("sex").tv < 0.1
    assert shared.error(["smoker", "sex"]) == shared.error(["sex", "smoker"])
    assert len([names for names in shared.errors if len(names) == 3]) == 20
    with pytest.raises(QueryError, match="no error was reported"):
        shared.error(["age", "sex", "smoker", "level"])
    with pytest.raises(QueryError, match="no column"):
        shared.error(["nobody"])


def test_measured_marginals_have_exact_bars(shared):
    first = next(one for one in shared.measured if one.columns == ("sex",))
    truth = people()["sex"]
    found = dict(zip([cell[0] for cell in first.cells], first.counts, strict=True))
    assert set(found) == {"f", "m", "other", "null"}
    assert found["f"] == pytest.approx(np.sum(truth == "f"), abs=3 * first.within)
    pair = next(one for one in shared.measured if len(one.columns) == 2)
    assert len(pair.cells) == len(pair.counts)
    assert set(pair.to_dict()) == {*pair.columns, "count", "low", "high"}


def test_the_card_says_the_seed_and_the_worst_errors(shared):
    card = shared.card
    assert card["seed of the sampling"] == shared.record["seed"]
    assert any(key.startswith("worst") for key in card["error report"])
    assert "nobody" in card["a table of nobody"] or "sampled" in card["a table of nobody"]
    assert json.loads(card.to_json())["this release"]["epsilon"]
    assert "made-up rows" in repr(shared)
    assert "<svg" in shared._repr_html_()
    assert "measured together" in shared.plot().svg


def test_files_carry_the_card_and_the_report(shared, tmp_path):
    from pyarrow import parquet as pq

    shared.to_parquet(tmp_path / "shared.parquet")
    held = pq.read_table(tmp_path / "shared.parquet")
    assert held.num_rows == len(shared)
    assert {"columns", "tv", "low", "high"} <= set(json.loads(held.schema.metadata[b"sordino.error"])[0])
    shared.to_csv(tmp_path / "shared.csv")
    assert len((tmp_path / "shared.csv").read_text().splitlines()) == len(shared) + 1
    assert "error" in json.loads((tmp_path / "shared.csv.card.json").read_text())
    frame = shared.to_pandas()
    assert list(frame.columns) == list(COLUMNS)
    assert frame.attrs["sordino.about"] == shared.about


def test_a_question_is_answered_with_the_reported_error_or_with_none(shared):
    told = shared.ask("SELECT sex, COUNT(*) AS n FROM shared WHERE smoker GROUP BY sex ORDER BY sex")
    assert told.error == shared.error(["sex", "smoker"]).high
    assert told.columns["sex"] == ["f", "m"]
    assert "at 95%" in told.about
    for sql in (
        "SELECT AVG(income) FROM shared", "SELECT COUNT(*) FROM shared WHERE income > 5000",
        "SELECT COUNT(*) FROM shared WHERE sex = 'f' AND smoker AND level > 1 AND age > 40", "SELECT COUNT(*) FROM shared",
    ):  # fmt: skip
        assert shared.ask(sql).about == "no error known: ask the private table"
    assert shared.ask("SELECT COUNT(*) FROM shared").value == len(shared)
    for sql in ("DROP TABLE shared", "SELECT * FROM '/etc/passwd'", "SELECT nothing FROM shared", "not sql at ("):
        with pytest.raises(QueryError):
            shared.ask(sql)


def test_several_rows_of_a_person_count_once_or_each():
    rng, n = np.random.default_rng(2), 600
    owner = np.repeat(np.arange(n), rng.integers(1, 7, n))
    rows = {"who": owner, "sex": np.where(owner % 3 == 0, "f", "m"), "level": rng.integers(0, 3, len(owner))}
    columns = {"who": "id", "sex": COLUMNS["sex"], "level": {"type": "int", "bounds": (0, 2)}}
    with opened(rows, columns, unit="who", max_rows=4, max_groups=1, size=n) as held:
        each = held.share(epsilon=20, delta=1e-6)
        assert "resemble the people" in each.about
        assert len(each) == pytest.approx(n, rel=0.05)
        assert np.mean(np.array(each.to_dict()["sex"]) == "f") == pytest.approx(1 / 3, abs=0.05)
        whole = held.share(epsilon=20, delta=1e-6, weight="row")
        kept = np.minimum(np.bincount(owner), 4).sum()
        assert len(whole) == pytest.approx(kept, rel=0.05)
        assert "who" not in each.columns


def test_private_categories_are_named_first_and_the_rest_is_other():
    rng, n = np.random.default_rng(4), 3_000
    town = np.array(["north", "south", "west"], object)[rng.integers(0, 3, n)]
    town[:3] = ["the one house", "the other", "a third"]
    rows = {"town": town, "sex": np.where(rng.random(n) < 0.5, "f", "m")}
    with opened(rows, {"town": "cat", "sex": COLUMNS["sex"]}) as held:
        found = held.share(epsilon=3, delta=1e-5)
        assert set(found.to_dict()["town"]) <= {"north", "south", "west", "other", None}
        assert {"north", "south", "west"} <= set(found.to_dict()["town"])
        assert found.cost.delta <= 1e-5
        assert found.cost.epsilon <= 3
        ruled = held.share(epsilon=3, delta=1e-5, columns=["town", "sex"], forbid=["sex = 'm'"]).to_dict()
        assert "m" not in ruled["sex"]


def test_rules_bins_and_rows_are_declared(table):
    found = table.share(
        epsilon=2, delta=1e-6, columns=["sex", "smoker", "income"], forbid=["sex = 'f' AND smoker"], rows=500,
        bins={"income": {"bins": [0, 10_000, 50_000, 200_000], "spikes": [0]}},
    )  # fmt: skip
    rows = found.to_dict()
    assert len(found) == 500
    assert not any(s == "f" and k for s, k in zip(rows["sex"], rows["smoker"], strict=True))
    assert [c.label(0) for c in found.fine if c.column.name == "income"] == ["0.0"]


def test_a_given_workload_and_a_filter(table):
    found = table.where("age >= 40").share(
        epsilon=2, delta=1e-6, columns=["sex", "smoker", "level", "age"], method="given", workload=[("sex", "smoker"), ("sex", "level")]
    )
    assert found.kept == (("sex", "smoker"), ("sex", "level"))
    assert min(found.to_dict()["age"]) >= 40


def test_a_target_weighs_its_sets_twice_and_the_choice_is_priced_so(table):
    names = ["sex", "smoker", "level"]
    plain, aimed = (table.sharing(columns=names, method="tree", target=target) for target in (None, "smoker"))
    assert set(aimed.workload.values()) == {1, 2}
    sold, dear = (asked.plan(2, "1e-6").schedule for asked in (plain, aimed))
    assert dear.selection.sensitivity == 2 * sold.selection.sensitivity
    assert (dear.choice, dear.measured) == (sold.choice, sold.measured), "the same price, with twice the noise in a choice"
    assert dear.selection.scale == 2 * sold.selection.scale
    found = aimed.release(epsilon=2, delta="1e-6")
    assert any("smoker" in kept for kept in found.kept)
    assert found.cost.epsilon <= 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"method": "magic"}, "unknown"),
        ({"columns": ["nobody"]}, "no column"),
        ({"weight": "pound"}, "unknown"),
        ({"rows": 0}, "rows is"),
        ({"workload": [("sex",)]}, "no set"),
        ({"method": "given"}, "workload"),
        ({"bins": {"age": "many"}}, "bins of"),
        ({"forbid": ["income > 5"]}, "cell by cell"),
        ({"forbid": "sex = 'f'"}, "one text"),
        ({"target": "nobody"}, "no column"),
    ],
)
def test_what_does_not_fit_is_refused_before_the_charge(options, said, table):
    before = table.budget.spent
    with pytest.raises(QueryError, match=said):
        table.share(epsilon=1, delta=1e-6, **options)
    assert table.budget.spent == before


def test_prices_are_refused_before_the_charge():
    with opened(budget=sd.Budget(epsilon=1)) as held, pytest.raises(QueryError, match="delta"):
        held.share(epsilon=1)
    with opened(budget=sd.Budget(epsilon=1, delta=1e-5)) as held:
        with pytest.raises(QueryError, match="one price"):
            held.share()
        with pytest.raises(QueryError, match="does not add rho"):
            held.share(rho=0.01)
        with pytest.raises(BudgetExceeded):
            held.share(epsilon=2, delta=1e-6, columns=["sex", "smoker"])
        assert held.budget.spent == 0


def test_a_ledger_that_adds_rho_takes_rho():
    with opened(budget=sd.Budget(epsilon=3, delta=1e-5, accounting="zcdp")) as held:
        found = held.share(rho=0.02, delta=1e-6, columns=["sex", "smoker", "level"])
        assert 0.0199 < found.cost.exact.rho <= 0.02
        assert held.share(rho=0.02, delta=1e-6, columns=["sex", "smoker", "level"]).release.recalled


def test_the_price_list_reads_nothing_and_falls_with_the_price(table):
    before = table.budget.spent
    lines = table.sharing(columns=["sex", "smoker", "level", "age"]).preview(epsilons=[0.5, 2], delta=1e-6).to_dict()
    assert lines["report"][0] > lines["report"][1]
    assert lines["noise"][0] > lines["noise"][1]
    assert table.budget.spent == before


@pytest.fixture
def interruptible():
    """A run in the background of a shell ignores interrupts from the start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_the_first_interrupt_waits_for_the_seal_and_the_second_does_not(interruptible):
    columns = {"sex": COLUMNS["sex"], "level": COLUMNS["level"]}
    rows = {name: column for name, column in people(500).items() if name in columns}

    def interrupting(times):
        sent = []

        def progress(done):
            if done > 0.3 and len(sent) < times:
                sent.append(done)
                os.kill(os.getpid(), signal.SIGINT)

        return progress

    with opened(rows, columns) as held:
        with pytest.raises(KeyboardInterrupt):
            held.share(epsilon=1, delta=1e-6, progress=interrupting(1))
        assert held.share(epsilon=1, delta=1e-6).release.recalled, "it was sealed all the same"
        spent = held.budget.spent
        with pytest.raises(ReleaseFailed):
            held.share(epsilon=2, delta=1e-6, progress=interrupting(2))
        assert held.budget.spent > spent, "the charge stands"


def test_with_a_public_twin_the_preview_says_how_far_off_the_table_will_be():
    known = people(seed=3)
    with opened(twin={**known, "seen": [day.isoformat() for day in known["seen"]]}) as held:
        ask = held.sharing(method="tree")
        told = ask.preview(["2"], delta="1e-6")
        assert len(held.ledger.entries()) == 0
        shared = ask.release(epsilon="2", delta="1e-6")
        true = [bar.tv for names, bar in shared.errors.items() if len(names) == 3]
        assert told.twin == pytest.approx(4_000, rel=0.05)
        assert told.lines[0]["triples"] == pytest.approx(np.mean(true), rel=0.25)
        assert told.lines[0]["pairs"] < told.lines[0]["triples"]
        assert "public rows" in str(told)
        assert ask.preview(["2"], delta="1e-6", twin=False).twin is None


def test_a_rare_null_beside_many_values_nobody_listed_is_counted_with_the_fewest():
    town = np.array(["a"] * 900 + ["elsewhere"] * 600 + [None] * 2, object)
    rows = {"town": town, "level": np.arange(len(town)) % 3}
    with opened(rows, {"town": {"type": "cat", "values": ["a"]}, "level": COLUMNS["level"]}, size=1_500) as held:
        found = held.share(epsilon=5, delta=1e-6, columns=["town", "level"]).to_dict()["town"]
    assert set(found) == {"a", "other"}
    assert found.count("other") == pytest.approx(600, abs=60)


def dozens(columns=9):
    names = [f"c{i}" for i in range(columns)]
    rows = np.random.default_rng(0).integers(0, 12, (300, columns))
    return opened({n: rows[:, i] for i, n in enumerate(names)}, {n: {"type": "int", "bounds": (0, 11)} for n in names}, size=300)


def test_sets_and_rules_that_no_model_can_hold_are_refused_before_the_charge():
    with dozens() as held:
        with pytest.raises(QueryError, match="sets of the workload exactly has more than 200,000 cells"):
            held.share(epsilon=5, delta=1e-6, method="given", workload=2)
        rules = [f"c{i} = 0 AND c{j} = 1" for i, j in combinations(range(9), 2)]
        with pytest.raises(QueryError, match="the rules exactly has more than 200,000 cells"):
            held.share(epsilon=5, delta=1e-6, method="tree", forbid=rules)
        assert held.budget.spent == 0
        assert not held.ledger.entries()
        assert held.sharing(method="given", workload=[(f"c{i}", f"c{i + 1}") for i in range(8)], forbid=rules[:1])


def test_sets_that_named_categories_make_too_large_are_measured_and_left_out_of_the_model():
    rng, n = np.random.default_rng(7), 24_000
    rows = {name: np.array([f"{name}{k}" for k in range(24)], object)[rng.integers(0, 24, n)] for name in "abcd"}
    with opened(rows, dict.fromkeys("abcd", "cat"), size=n) as held:
        weights = {("a", "b"): 1, ("a", "c"): 1, ("a", "d"): 1, ("b", "c"): 1, ("b", "d"): 1, ("c", "d"): 2}
        found = held.share(epsilon=40, delta=1e-4, method="given", workload=weights)
        assert len(found.kept) == 6
        assert found.card["measured, too large for the model"] == ["b, d"], "the heaviest first, then as the columns come"
        assert set(found.errors) >= set(combinations("abcd", 2))
        assert found.genuine
