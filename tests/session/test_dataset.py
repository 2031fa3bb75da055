"""Several private tables of the same people, from Python and from a file: joins, questions per person, and what is refused unpaid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import sordino as sd
from sordino.errors import QueryError

PATIENTS = {"patient_id": [1, 2, 3, 4], "sex": ["f", "m", "f", "m"], "age": [30, 40, 50, 60]}
VISITS = {"visit_id": list("abcdef"), "fee": [1] * 6, "pid": [1, 1, 1, 2, 2, 3], "cost": [10, 20, 30, 40, 50, 60], "ward": list("xyxxyy")}
ITEMS = {"visit_id": list("aabcdz"), "price": [1, 2, 3, 4, 5, 6]}
WARDS = {"ward": ["x", "y"], "kind": ["old", "new"]}
SURE = {"epsilon": 10_000}


@pytest.fixture
def hospital() -> Any:
    return sd.dataset(
        {"patients": PATIENTS, "visits": VISITS, "items": ITEMS, "wards": WARDS},
        person={"patients": "patient_id", "visits": "pid", "items": {"via": "visits", "on": "visit_id"}},
        unique={"patients": ["patient_id"], "visits": ["visit_id"]},
        public={"wards": ["ward"]},
        columns={"visit_id": "id"},
        bounds={"visits": {"cost": (0, 100)}, "price": (0, 10), "age": (0, 120)},
        keys={"sex": ["f", "m"], "ward": ["x", "y"], "kind": ["old", "new"]},
        max_rows=8, max_groups=4, max_rows_per_group=8, size=4, budget=sd.Budget(epsilon=1_000_000), ledger=":memory:",
    )  # fmt: skip


def answers(query: Any) -> dict[str, Any]:
    return {name: [round(cell) if isinstance(cell, float) else cell for cell in cells]
            for name, cells in query.release(**SURE).to_dict().items() if not name.endswith(("_low", "_high"))}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT p.sex, SUM(v.cost) AS s FROM visits v JOIN patients p ON v.pid = p.patient_id GROUP BY p.sex",
         {"sex": ["f", "m"], "s": [120, 90]}),
        ("SELECT COUNT(*) AS n FROM patients p LEFT JOIN visits v ON p.patient_id = v.pid", {"n": [7]}),
        ("SELECT COUNT(*) AS n FROM patients p LEFT JOIN visits v ON p.patient_id = v.pid AND v.cost > 25 WHERE v.cost IS NULL",
         {"n": [1]}),
        ("SELECT COUNT(*) AS n FROM patients p, visits v WHERE p.patient_id = v.pid AND p.age > v.cost", {"n": [2]}),
        ("SELECT v.ward, SUM(i.price) AS s FROM items i JOIN visits v USING (visit_id) GROUP BY v.ward",
         {"ward": ["x", "y"], "s": [12, 3]}),
        ("SELECT w.kind, SUM(i.price) AS s FROM items i JOIN visits v ON v.visit_id = i.visit_id JOIN wards w ON w.ward = v.ward"
         " GROUP BY w.kind", {"kind": ["old", "new"], "s": [12, 3]}),
        ("SELECT COUNT(*) AS n FROM patients p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.pid = p.patient_id)", {"n": [1]}),
        ("SELECT COUNT(*) AS n FROM patients WHERE patient_id IN (SELECT pid FROM visits WHERE cost > 45)", {"n": [2]}),
        ("SELECT AVG(n) AS n FROM (SELECT pid, LEAST(COUNT(*), 50) AS n FROM visits GROUP BY pid) x", {"n": [2]}),
        ("WITH m AS (SELECT pid, MAX(cost) AS c FROM visits GROUP BY pid HAVING COUNT(*) > 1) SELECT p.sex, SUM(m.c) AS c FROM m"
         " JOIN patients p ON p.patient_id = m.pid GROUP BY p.sex", {"sex": ["f", "m"], "c": [30, 50]}),
        ("SELECT SUM(cost) AS s FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY pid ORDER BY cost DESC) AS r FROM visits) WHERE r = 1",
         {"s": [140]}),
        ("SELECT SUM(LEAST(c, 80)) AS s FROM (SELECT pid, SUM(cost) AS c FROM visits GROUP BY pid)", {"s": [200]}),
        ("SELECT COUNT(*) AS n FROM (SELECT DISTINCT pid, ward FROM visits)", {"n": [5]}),
    ],
)  # fmt: skip
def test_what_analysts_ask(hospital: Any, text: str, expected: dict[str, Any]) -> None:
    assert answers(hospital.sql(text)) == expected


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("SELECT COUNT(*) FROM visits v JOIN visits w ON v.ward = w.ward", "ON v.pid = w.pid"),
        ("SELECT COUNT(*) FROM visits v JOIN patients p ON v.cost = 3", "ON v.pid = p.patient_id"),
        ("SELECT COUNT(*) FROM visits v CROSS JOIN patients p", "ON v.pid = p.patient_id"),
        ("SELECT COUNT(*) FROM items i JOIN patients p ON i.visit_id = p.sex", "one type"),
        ("SELECT AVG(n) FROM (SELECT pid, COUNT(*) AS n FROM visits GROUP BY pid)", "LEAST"),
        ("SELECT AVG(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)", "GROUP BY patient_id"),
        ("SELECT COUNT(*) FROM (SELECT COUNT(*) OVER () AS n FROM visits) WHERE n > 3", "PARTITION BY patient_id"),
        (
            "SELECT COUNT(*) FROM (SELECT RANK() OVER (PARTITION BY ward ORDER BY cost) AS n FROM visits) WHERE n > 3",
            "PARTITION BY patient_id",
        ),
        ("SELECT COUNT(*) FROM (SELECT COUNT(*) AS n FROM visits) WHERE n > 3", "GROUP BY the person"),
        ("SELECT COUNT(*) FROM visits v RIGHT JOIN patients p ON v.pid = p.patient_id", "LEFT JOIN this one"),
        ("SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM visits)", "EXISTS"),
    ],
)
def test_two_people_in_one_row_are_refused_with_the_rewrite_and_nothing_is_spent(hospital: Any, text: str, fix: str) -> None:
    before = hospital.budget.spent
    with pytest.raises(QueryError, match=fix) as refused:
        hospital.sql(text).release(epsilon=1)
    assert "Nothing was spent" in str(refused.value)
    assert hospital.budget.spent == before


def test_one_row_per_person_costs_one_row(hospital: Any) -> None:
    people = hospital.patients
    assert people.unit.max_rows == 1
    per = hospital.visits.per_person(n=sd.count(), c=sd.sum("cost"), bounds={"n": (0, 50), "c": (0, 500)})
    assert per.unit.max_rows == 1
    assert per.mean("n").release(**SURE).value == pytest.approx(2, abs=0.1)
    assert per.sum("c").release(**SURE).value == pytest.approx(210, abs=1)
    assert per.where("n > 1").count().release(**SURE).value == 2
    assert hospital.visits.unit.max_rows == 8


def test_an_answer_about_rows_of_people_says_so(hospital: Any) -> None:
    per = hospital.visits.per_person(n=sd.count(), bounds={"n": (0, 50)})
    said = "about one row for each person, made of their visits"
    assert str(per.mean("n").preview().about).startswith(said)
    assert per.mean("n").release(epsilon=0.1).about.startswith(said)
    assert "at most" in hospital.visits.mean("cost").preview().about


def test_per_person_needs_bounds_and_known_totals(hospital: Any) -> None:
    with pytest.raises(QueryError, match="per_person"):
        hospital.visits.per_person(n=sd.count()).mean("n")
    with pytest.raises(QueryError, match=r"sd\.count"):
        hospital.visits.per_person(n=sd.median("cost"))
    with pytest.raises(QueryError, match="names"):
        hospital.visits.per_person(n=sd.count(), bounds={"m": (0, 3)})
    assert hospital.visits.per_person(m=sd.mean("cost"), top=sd.max("cost")).columns["top"].bounds == (0, 100)


def test_the_same_question_in_sql_and_in_python_is_paid_once_each_and_recalled(hospital: Any) -> None:
    text = "SELECT AVG(v.cost) AS m FROM visits v JOIN patients p ON v.pid = p.patient_id"
    first, again = hospital.sql(text).release(epsilon=1), hospital.sql(text.lower().replace("as m", "as n")).release(epsilon=1)
    assert again.value == first.value
    assert hospital.budget.spent == 1


def test_a_join_is_one_question_however_its_tables_are_ordered_and_called(hospital: Any) -> None:
    same = [
        "SELECT p.sex, SUM(v.cost) AS s FROM visits v JOIN patients p ON v.pid = p.patient_id WHERE p.age > 30 GROUP BY p.sex",
        "SELECT p.sex, SUM(v.cost) AS s FROM patients p JOIN visits v ON v.pid = p.patient_id WHERE p.age > 30 GROUP BY p.sex",
        "SELECT a.sex, SUM(b.cost) AS s FROM patients a, visits b WHERE a.age > 30 AND a.patient_id = b.pid GROUP BY a.sex",
        "SELECT sex, SUM(cost) AS s FROM visits JOIN patients ON patient_id = pid WHERE age > 30 GROUP BY sex",
    ]
    assert len({hospital.sql(text).key() for text in same}) == 1
    assert hospital.sql(same[0]).key() != hospital.sql(same[0].replace("JOIN", "LEFT JOIN")).key()
    assert answers(hospital.sql(same[1])) == {"sex": ["f", "m"], "s": [60, 90]}


def test_per_person_after_a_filter_counts_what_the_filter_keeps(hospital: Any) -> None:
    per = hospital.visits.where("cost >= 20").per_person(n=sd.count(), total=sd.sum("cost"), bounds={"n": (0, 9), "total": (0, 500)})
    assert answers(per.agg(people=sd.count(), n=sd.sum("n"), total=sd.sum("total"))) == {"people": [3], "n": [5], "total": [200]}
    many = per.where("n > 1")
    assert answers(many.agg(people=sd.count(), total=sd.sum("total"))) == {"people": [2], "total": [140]}


def test_rows_of_a_join_are_a_table_for_models_and_shares() -> None:
    people, ages = 300, [20 + i % 60 for i in range(300)]
    visits = {"pid": [i // 2 for i in range(2 * people)], "cost": [5 * ages[i // 2] + i % 7 for i in range(2 * people)]}
    visits["ill"] = [ages[i // 2] > 50 for i in range(2 * people)]
    hospital = sd.dataset(
        {"patients": {"patient_id": list(range(people)), "age": ages, "sex": ["f", "m"] * 150}, "visits": visits},
        person={"patients": "patient_id", "visits": "pid"}, unique={"patients": ["patient_id"]}, columns={"ill": "bool"},
        bounds={"cost": (0, 500), "age": (0, 100)}, keys={"sex": ["f", "m"]}, max_rows=2, max_groups=1, size=people,
        budget=sd.Budget(epsilon=10_000, delta=1e-3), ledger=":memory:",
    )  # fmt: skip
    joined = hospital.view("SELECT v.cost, v.ill, p.age, p.sex FROM visits v JOIN patients p ON v.pid = p.patient_id")
    assert set(joined.columns) == {"patient_id", "cost", "ill", "age", "sex"}
    line = joined.regress("cost ~ age").release(epsilon=500).to_dict()
    assert abs(line["coefficient"][1] - 5) < 0.2
    odds = joined.logistic("ill ~ age").release(epsilon=100).to_dict()
    assert odds["coefficient"][1] > 0.05
    made = joined.share(epsilon=10, columns=["cost", "age", "sex"]).to_pandas()
    assert abs(len(made) - people) < 30
    assert made["cost"].corr(made["age"]) > 0.5
    assert "per person" not in str(joined.where("age > 40").median("cost").release(epsilon=5).about)
    with pytest.raises(QueryError, match="does not say that the person is the same"):
        hospital.view("SELECT v.cost FROM visits v JOIN patients p ON v.cost = 3")
    assert hospital.budget.spent <= 615


def test_a_join_that_multiplies_rows_says_how_many_of_a_person_it_looks_at(hospital: Any) -> None:
    twice = "SELECT COUNT(*) AS n FROM visits a JOIN visits b ON a.pid = b.pid"
    query = hospital.sql(twice)
    assert "each side of the join at most 1,000" in query.preview().about
    release = query.release(**SURE)
    assert release.value == 13  # 9 pairs of one, of whom 8 count, 4 of another, 1 of the third
    assert "each side of the join at most 1,000" in release.about
    assert release.card["joins"] == "each side of a join keeps at most 1,000 rows of one person"
    plain = hospital.sql("SELECT COUNT(*) AS n FROM visits v JOIN patients p ON v.pid = p.patient_id").release(**SURE)
    assert "joins" not in plain.card
    assert "each side" not in plain.about


def test_what_is_declared_wrongly_is_said_at_opening() -> None:
    def opened(**changed: Any) -> Any:
        facts: dict[str, Any] = {
            "person": {"patients": "patient_id", "visits": "pid"},
            "max_rows": 2,
            "max_groups": 1,
            "ledger": ":memory:",
        }
        return sd.dataset({"patients": PATIENTS, "visits": VISITS}, budget=sd.Budget(epsilon=1), **(facts | changed))

    for changed, words in (
        ({"person": {"patients": "patient_id"}}, "whose the rows of table 'visits'"),
        ({"person": {"patients": "patient_id", "visits": {"via": "nobody", "on": "pid"}}}, "no private table"),
        ({"person": {"patients": {"via": "visits", "on": "a"}, "visits": {"via": "patients", "on": "a"}}}, "circle"),
        ({"person": {"patients": "patient_id", "visits": "person"}}, "'person' is not in the source"),
        ({"bounds": {"price": (0, 1)}}, "names 'price'"),
        ({"join_rows": 0}, "join_rows is 0"),
        ({"person": {"patients": "patient_id", "visits": {"by": "pid"}}}, r'\{"via": "visits", "on": "visit_id"\}'),
        ({"person": {"patients": {"via": "visits", "on": "a"}, "visits": {"via": "patients", "on": "a"}}}, r"person=\{"),
    ):
        with pytest.raises(QueryError, match=words):
            opened(**changed)


FILE = """
[dataset]
format = 2
name = "hospital"
ledger = "hospital.ledger"
[privacy]
unit = "patient"
max_rows = 8
max_groups = 2
join_rows = 2
[budget]
epsilon = 100000
[tables.patients]
source = "patients.parquet"
person = "patient_id"
unique = ["patient_id"]
size = 4
[tables.patients.columns]
age = { type = "int", bounds = [0, 120] }
sex = { type = "cat", values = ["f", "m"] }
[tables.visits]
source = "visits.csv"
person = "pid"
unique = ["visit_id"]
[tables.visits.columns]
cost = { type = "int", bounds = [0, 100] }
fee = { type = "int" }
visit_id = { type = "id" }
[tables.items]
source = "items.parquet"
person = { via = "visits", on = "visit_id" }
[tables.items.columns]
visit_id = { type = "id" }
price = { type = "int", bounds = [0, 10] }
"""


def test_a_dataset_file_says_whose_the_rows_are(tmp_path: Path) -> None:
    for name, table in (("patients", PATIENTS), ("items", ITEMS)):
        parquet.write_table(pa.table(table), tmp_path / f"{name}.parquet")
    rows = [",".join(VISITS), *(",".join(map(str, row)) for row in zip(*VISITS.values(), strict=True))]
    (tmp_path / "visits.csv").write_text("\n".join(rows))
    file = tmp_path / "hospital.toml"
    file.write_text(FILE)
    with sd.open(file) as hospital:
        text = "SELECT p.sex, SUM(i.price) AS s FROM items i JOIN patients p ON i.patient_id = p.patient_id GROUP BY p.sex"
        with pytest.raises(QueryError, match="no column 'patient_id'"):
            hospital.sql(text)
        text = (
            "SELECT p.sex, SUM(i.price) AS s FROM items i JOIN visits v ON i.visit_id = v.visit_id"
            " JOIN patients p ON v.pid = p.patient_id GROUP BY p.sex"
        )
        assert answers(hospital.sql(text)) == {"sex": ["f", "m"], "s": [10, 5]}
        assert answers(hospital.items.sum("price")) == {"sum(price)": [15]}
        assert hospital.visits.size == 4
        twice = "SELECT COUNT(*) AS n FROM visits a JOIN visits b ON a.pid = b.pid"
        assert answers(hospital.sql(twice)) == {"n": [9]}  # at most two rows of each side, all in all 4 and 4 and 1
        with pytest.raises(QueryError, match=r"\[tables.visits.columns\] fee = \{ type = \"int\", bounds = \[low, high\] \}"):
            hospital.sql("SELECT AVG(fee) AS m FROM visits")
        with pytest.raises(QueryError, match=r"\[tables.visits.columns\] ward = \{ type = \"int\", bounds = \[low, high\] \}"):
            hospital.visits.sum("ward").settle(1)
        with pytest.raises(
            QueryError, match=r"\[tables.visits.columns\] ward = \{ type = \"cat\", values = .* delta = 1e-6 under \[budget\]"
        ):
            hospital.visits.group_by("ward").count().settle(1)
    for old, new, words in (
        ('person = "pid"\n', "", "does not say whose its rows are"),
        ("max_groups = 2", 'max_groups = 2\nunit_column = "patient_id"', "say the same thing"),
        ("join_rows = 2", "join_rows = 2.5", "join_rows is 2.5"),
        ('person = { via = "visits", on = "visit_id" }', 'person = { by = "visits" }', r'person = \{ via = "visits", on = "visit_id" \}'),
        ('ledger = "hospital.ledger"', 'ledger = "hospital.ledger"\nrelation = "replace"\nowner_log = "x"', ""),
    ):
        file.write_text(FILE.replace(old, new).replace("size = 4\n", "" if not words else "size = 4\n"))
        with pytest.raises(QueryError, match=words or "size of the table of people"):
            sd.open(file)


def test_keys_are_checked_by_the_owner_and_the_card_says_so(tmp_path: Path, capsys: Any) -> None:
    from sordino.cli import main

    for name, table in (("patients", PATIENTS), ("items", ITEMS)):
        parquet.write_table(pa.table(table), tmp_path / f"{name}.parquet")
    file, visits = tmp_path / "hospital.toml", tmp_path / "visits.parquet"
    parquet.write_table(pa.table(VISITS), visits)
    file.write_text(FILE.replace("visits.csv", "visits.parquet"))

    def assumed() -> str:
        with sd.open(file) as hospital:
            return str(hospital.items.sum("price").release(epsilon=1, fresh=True).card["unique keys"])

    assert "not checked" in assumed()
    assert main(["check", "--keys", str(file), "--json"]) == 0
    assert '"repeated": 0' in capsys.readouterr().out
    assert "checked by the owner on" in assumed()
    parquet.write_table(pa.table({**VISITS, "visit_id": list("aacdef")}), visits)
    assert main(["check", "--keys", str(file)]) == 5
    assert "NOT UNIQUE: 1 of its values" in capsys.readouterr().out.replace("\n  ", " ")
    assert "not checked" in assumed()
