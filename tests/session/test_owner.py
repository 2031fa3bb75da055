"""The owner's fit check: the same shares as a second computation, marked NOT PRIVATE, and nothing of it anywhere else."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

import sordino as sd
from sordino.errors import QueryError
from sordino.schema.declaration import declare
from sordino.session.owner import WARNING, fitted
from sordino.session.suggestion import outward

ROWS = 3_000


def frame(seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    who = rng.integers(0, 400, ROWS)
    return pd.DataFrame({
        "who": np.where(rng.random(ROWS) < 0.02, None, [f"p{i}" for i in who]),
        "age": [str(age) if i % 30 else ["n/a", "", None, "-5", "250"][i // 30 % 5] for i, age in enumerate(rng.integers(0, 100, ROWS))],
        "cost": rng.lognormal(6, 1.5, ROWS),
        "city": rng.choice(["Ulm", "Bern", "Graz", "elsewhere"], ROWS, p=[0.4, 0.3, 0.2, 0.1]),
        "day": [f"20{20 + i % 4}-03-1{i % 9}" for i in range(ROWS)],
    })  # fmt: skip


def opened(rows: pd.DataFrame, **more: object) -> sd.session.table.Table:
    words = {
        "unit": "who", "max_rows": 5, "max_groups": 2, "bounds": {"cost": (0, 2_000)}, "keys": {"city": ["Ulm", "Bern", "Graz"]},
        "columns": {"age": {"type": "int", "bounds": (0, 120)}, "day": {"type": "date", "bounds": ("2020-01-01", "2022-12-31")}},
    }  # fmt: skip
    return sd.table(rows, **{**words, **more}, budget=sd.Budget(epsilon=3, delta=1e-6), ledger=":memory:")


def test_every_share_is_that_of_a_second_computation():
    rows = frame()
    with opened(rows) as table:
        found = sd.owner.fit(table)
    of = {column.name: column for column in found.columns}
    ages = pd.to_numeric(rows["age"], errors="coerce")
    there = rows["age"].notna()
    assert of["age"].null == pytest.approx(1 - there.mean())
    assert of["age"].parses == pytest.approx(ages.notna().sum() / there.sum())
    assert of["age"].clamped == pytest.approx(((ages < 0).sum() / ages.notna().sum(), (ages > 120).sum() / ages.notna().sum()))
    assert of["cost"].clamped == pytest.approx((0, (rows["cost"] > 2_000).mean()))
    at = next(cut for cut in of["cost"].highs if cut.at == 2_000)
    assert at.total["cost"] == pytest.approx((rows["cost"] - rows["cost"].clip(upper=2_000)).sum() / rows["cost"].sum(), rel=1e-5)
    assert of["city"].unlisted == pytest.approx((rows["city"] == "elsewhere").mean())
    assert of["day"].clamped == pytest.approx((0, (rows["day"] > "2022-12-31").mean()))
    owned = rows[rows["who"].notna()]
    each = owned.groupby("who").size()
    assert (found.rows, found.people, found.most_rows) == (ROWS, len(each), each.max())
    for cut in found.max_rows:
        assert cut.rows == pytest.approx((each - cut.at).clip(lower=0).sum() / len(owned))
        assert cut.people == pytest.approx((each > cut.at).mean())
        sums = owned.groupby("who")["cost"].sum()
        assert cut.total["cost"] == pytest.approx((sums * (1 - (cut.at / each).clip(upper=1))).sum() / sums.sum(), rel=1e-4)
    cells = owned.groupby(["who", "city"]).size()
    groups = cells.groupby(level=0).size()
    for cut in found.max_groups["city"]:
        assert cut.people == pytest.approx((groups > cut.at).mean())
        assert cut.rows == pytest.approx((each * (1 - (cut.at / groups).clip(upper=1))).sum() / len(owned), abs=len(each) / len(owned))
    for cut in found.max_rows_per_group["city"]:
        assert cut.rows == pytest.approx((cells - cut.at).clip(lower=0).sum() / len(owned))
    assert found.counted[""] == pytest.approx(each.clip(upper=5).sum() / ROWS)
    assert 0 < found.counted["city"] < found.counted[""]


def test_it_is_marked_everywhere_and_nothing_is_charged_or_changed(tmp_path):
    rows = frame()
    rows.to_csv(tmp_path / "rows.csv", index=False)
    with sd.table(
        tmp_path / "rows.csv", unit="who", max_rows=5, max_groups=2, bounds={"cost": (0, 2_000)}, budget=sd.Budget(epsilon=3, delta=1e-6)
    ) as table:
        table.count().release(epsilon=0.5)
        before = (tmp_path / "rows.csv.ledger").read_bytes()
        said = str(table.mean("cost").preview()), repr(table), table.ledger.export()
        found = sd.owner.fit(table)
        assert (str(table.mean("cost").preview()), repr(table), table.ledger.export()) == said
        assert (tmp_path / "rows.csv.ledger").read_bytes() == before
        assert table.budget.spent == 0.5
        card = table.sum("cost").release(epsilon=0.5).card.to_json()
        assert "NOT PRIVATE" not in card
    assert str(found).startswith(WARNING)
    assert WARNING in found._repr_html_()
    assert json.loads(found.to_json())["warning"] == WARNING
    assert json.loads(found.to_json())["private"] is False


def test_rows_of_somebody_else_have_no_fit():
    remote = sd.connect("http://127.0.0.1:9", token="x")
    for elsewhere in (remote, remote.admissions, 3, None):
        with pytest.raises(QueryError, match="whose rows are here"):
            sd.owner.fit(elsewhere)
    assert not {"fit", "owner"} & {name for kind in (type(remote), type(remote.admissions)) for name in dir(kind)}

    class Blind:
        columns: dict[str, object] = {}

    with pytest.raises(QueryError, match="does not show its rows"):
        fitted("t", Blind(), {}, sd.privacy.PrivacyUnit())


@pytest.mark.parametrize("seed", range(3))
def test_what_is_suggested_fits(seed):
    rows = frame(seed)
    with opened(rows) as table:
        found = sd.owner.fit(table)
    said = {column.name: dict(column.suggestion) for column in found.columns if column.name != "who"}
    declare(said, unit="who")
    assert said["day"] == {"type": "date", "bounds": ["2020-01-01", "2023-12-31"]}
    again = sd.table(rows, unit="who", **found.limits, columns=said, budget=sd.Budget(epsilon=1, delta=1e-6), ledger=":memory:")
    with again:
        better = sd.owner.fit(again)
    assert all(sum(column.clamped or (0,)) <= 0.001 for column in better.columns)
    assert 1 - better.counted[""] <= 0.01 + rows["who"].isna().mean()
    assert '"day" = { type = "date", bounds = ["2020-01-01", "2023-12-31"] }' in better.to_toml()
    exec(compile(better.to_python().replace("sd.table(source", "dict(source=0"), "suggested", "exec"), {"sd": sd})


def test_bounds_are_rounded_outwards_to_a_few_digits():
    rng = np.random.default_rng(3)
    for _ in range(2_000):
        low, high = sorted(rng.normal(0, 1, 2) * 10.0 ** rng.integers(-6, 12, 2))
        if low == high:
            continue
        a, b = outward(low, high)
        assert a <= low <= high <= b
        assert math.isfinite(b - a)
    assert outward(3, 980) == (0, 1_000)
    assert outward(1980, 1987) == (1980, 1990)
    assert outward(-43, 1301) == (-50, 2_000)
    assert outward(0, 0) == (0, 1)
    assert outward(2013, 2013) == (2010, 2015)


def test_a_dataset_is_fitted_table_by_table_and_a_file_without_its_ledger(tmp_path):
    frame().to_parquet(tmp_path / "rows.parquet")
    text = """
[dataset]
format = 2
name = "d"
ledger = "d.ledger"
[privacy]
unit_column = "who"
max_rows = 5
max_groups = 2
[budget]
epsilon = 1
[tables.visits]
source = "rows.parquet"
[tables.visits.columns]
who = { type = "id" }
cost = { type = "float", bounds = [0, 2000] }
age = { access = "never" }
"""
    (tmp_path / "d.toml").write_text(text, encoding="utf-8")
    found = sd.owner.fit(tmp_path / "d.toml")
    assert not (tmp_path / "d.ledger").exists()
    with sd.open(tmp_path / "d.toml") as dataset:
        other = sd.owner.fit(dataset)["visits"]
    one = found["visits"]
    assert (one.rows, one.people, one.max_rows) == (other.rows, other.people, other.max_rows)
    never = next(column for column in one.columns if column.name == "age")
    assert never.declared == "never"
    assert never.parses is None
