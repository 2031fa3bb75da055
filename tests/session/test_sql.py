"""`table.sql` and `dataset.sql`: the same questions as the verbs ask, shown as the statement wishes, and no text for the database."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.plan.statements import HOSTILE
from tests.session import people
from tests.session.test_replay import same
from tests.session.twin import run

import sordino as sd
from sordino.engines.source import read_public
from sordino.errors import QueryError
from sordino.schema.column import Column
from sordino.schema.declaration import declare

SAME = [
    ("SELECT COUNT(*) FROM t", lambda t: t.count()),
    ("SELECT MEDIAN(income) FROM t WHERE age >= 18", lambda t: t.where("age >= 18").median("income")),
    ("select avg(income) from t where 18 <= age and sex = 'f';", lambda t: t.where("sex = 'f'").where("age > 17").mean("income")),
    ("SELECT COUNT(DISTINCT person) FROM t", lambda t: t.count_units()),
    ("SELECT SUM(age) AS s, COUNT(*) AS n FROM t AS u WHERE u.ok", lambda t: t.where("ok").agg(s=sd.sum("age"), n=sd.count())),
    ("SELECT sex, MEDIAN(income) FROM t GROUP BY sex", lambda t: t.group_by("sex").median("income")),
    ("SELECT MEDIAN(income) m, sex AS s FROM t GROUP BY s ORDER BY m LIMIT 1", lambda t: t.group_by("sex").agg(m=sd.median("income"))),
    ("SELECT QUANTILE_CONT(income, 0.9) FROM t", lambda t: t.quantile("income", 0.9)),
    ("SELECT PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY income DESC) FROM t", lambda t: t.quantile("income", 0.9)),
    ("SELECT VAR_POP(age), STDDEV_POP(age) FROM t", lambda t: t.agg(**{"variance(age)": sd.variance("age"), "std(age)": sd.std("age")})),
    ("SELECT MODE(sex), MIN(age), MAX(age) FROM t", lambda t: t.mode("sex").min("age").max("age")),
    ("SELECT AVG(i) FROM (SELECT income AS i, ok FROM t WHERE age > 3) WHERE ok", lambda t: t.where("age > 3 AND ok").mean("income")),
    ("WITH a AS (SELECT * FROM t) SELECT SUM(age) FROM a", lambda t: t.sum("age")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "verbs"), SAME, ids=range(len(SAME)))
def test_the_same_question_has_the_same_key_however_it_is_asked(text, verbs, opened_once):
    assert opened_once.sql(text).key() == verbs(opened_once).key()


def test_a_statement_recalls_what_the_verbs_paid_for(opened_once):
    people_ = people.fresh(opened_once)
    paid = people_.where("age >= 18").median("income").release(epsilon=1)
    again = people_.sql("SELECT MEDIAN(income) FROM t WHERE age >= 18").release(epsilon=1)
    assert again.recalled
    assert again.to_bytes() == paid.to_bytes()
    assert people_.budget.spent == 1


DIFFERENT = [
    "SELECT AVG(age) FROM t",
    "SELECT AVG(age + 1) FROM t",
    "SELECT AVG(age + 2) FROM t",
    "SELECT AVG(age) FROM t WHERE age + 1 > 5",
    "SELECT AVG(age) FROM t WHERE age + 1 > 6",
    "SELECT AVG(age) FROM t WHERE CASE WHEN ok THEN age END > 6",
    "SELECT AVG(CASE WHEN age > 5 THEN 1 ELSE 0 END) FROM t",
    "SELECT AVG(CASE WHEN age > 6 THEN 1 ELSE 0 END) FROM t",
    "SELECT AVG(age) FROM t GROUP BY age > 5",
    "SELECT AVG(age) FROM t GROUP BY age > 6",
    "SELECT COUNT(age) FROM t",
    "SELECT COUNT(income) FROM t",
    "SELECT COUNT(*) FROM t",
    "SELECT VARIANCE(age) FROM t",
    "SELECT VAR_POP(age) FROM t",
]


def test_different_questions_have_different_keys(opened_once):
    keys = {opened_once.sql(text).key() for text in DIFFERENT}
    assert len(keys) == len(DIFFERENT)


def test_bounds_of_columns_inside_an_expression_are_part_of_the_question(opened_once):
    ages = (Column("age", "int", (0, top)) for top in (120, 200))
    one, two = (replace(opened_once, columns={**opened_once.columns, "age": age}) for age in ages)
    for text in ("SELECT AVG(income) FROM t WHERE age * 2 > 100", "SELECT COUNT(*) FROM t GROUP BY age * 0 = 1"):
        assert one.sql(text).key() != two.sql(text).key()


def test_joins_are_part_of_the_question(opened_once, tmp_path):
    (tmp_path / "regions.csv").write_text("zip,beds\nz0,1\n")
    each = replace(opened_once, publics={"regions": read_public("regions", tmp_path / "regions.csv", {}, ("zip",))})
    inner, outer, none = (each.sql(f"SELECT COUNT(*) FROM t {join}").key()
                          for join in ("JOIN regions USING (zip)", "LEFT JOIN regions USING (zip)", ""))  # fmt: skip
    assert len({inner, outer, none}) == 3
    assert each.sql("SELECT COUNT(*) FROM t AS a JOIN regions AS b ON b.zip = a.zip").key() == inner


def test_order_and_limit_sort_what_was_released_and_touch_nothing_else(opened_once):
    people_ = people.fresh(opened_once)
    plain = people_.sql("SELECT sex, COUNT(*) AS n FROM t GROUP BY sex").release(epsilon=100)
    shown = people_.sql("SELECT sex AS who, COUNT(*) AS n FROM t GROUP BY sex ORDER BY n, who DESC LIMIT 2").release(epsilon=100)
    assert shown.recalled
    assert shown.to_bytes() == plain.to_bytes()
    pairs = sorted(zip(plain.to_dict()["n"], plain.to_dict()["sex"], strict=True), key=lambda pair: pair[0])
    assert (shown.to_dict()["n"], shown.to_dict()["who"]) == ([n for n, _ in pairs][:2], [s for _, s in pairs][:2])
    assert list(shown.to_dict()) == ["who", "n", "n_low", "n_high"]
    assert shown.to_arrow().num_rows == 2
    assert "who" in str(shown)
    text = str(shown)[str(shown).index("\n") :]
    assert text.index(pairs[0][1]) < text.index(pairs[1][1])
    assert shown.plot() is not None
    assert people_.budget.spent == 100


ORDERS = [
    ("ORDER BY COUNT(*) DESC", ["f", "m", "x"]),
    ("ORDER BY 2", ["x", "m", "f"]),
    ("ORDER BY who DESC", ["x", "m", "f"]),
    ("ORDER BY sex DESC", ["x", "m", "f"]),
    ("", ["m", "f", "x"]),
    ("ORDER BY n DESC LIMIT 1", ["f"]),
    ("LIMIT 2", ["m", "f"]),
]  # fmt: skip


@pytest.mark.parametrize(("clause", "sexes"), ORDERS)
def test_every_way_to_sort(clause, sexes, opened_once):
    release = people.fresh(opened_once).sql(f"SELECT sex AS who, COUNT(*) AS n FROM t GROUP BY sex {clause}").release(epsilon=1000)
    assert release.to_dict()["who"] == sexes


def test_a_query_from_a_statement_is_a_query_like_any_other(opened_once):
    people_ = people.fresh(opened_once)
    query = people_.sql("SELECT AVG(income / 12) AS m FROM t").where("age >= 18")
    assert query.key() == people_.sql("SELECT AVG(income / 12) AS m FROM t WHERE age >= 18").key()
    assert query.settle(1).cost.epsilon == 1
    assert 0 <= query.release(epsilon=1).value <= 1_000_000 / 12
    grouped = people_.sql("SELECT sex, COUNT(*) AS n FROM t GROUP BY sex ORDER BY n").release(epsilon=0.5)
    better = grouped.improve(within=5)
    assert better.to_dict()["n"] == sorted(better.to_dict()["n"])


def test_a_filter_on_an_inner_column_narrows_the_noise(opened_once):
    wide, narrow = (
        opened_once.sql(f"SELECT SUM(age * 2) AS s FROM t {where}").settle(1).steps["s"].width(None) for where in ("", "WHERE age < 30")
    )
    assert narrow < wide / 3


def test_several_answers_of_one_column_share_one_draw(opened_once):
    plan = opened_once.sql("SELECT COUNT(income) AS n, SUM(income) AS s, AVG(income) AS m, STDDEV(income) AS d FROM t").settle(1)
    assert len(plan.plan.draws) == 1
    assert len(opened_once.sql("SELECT COUNT(age) AS n, SUM(income) AS s FROM t").settle(1).plan.draws) == 2


HOSPITAL = """
[dataset]
format = 2
name = "hospital"
ledger = "hospital.ledger"
[privacy]
unit = "patient"
unit_column = "person"
max_rows = 3
max_groups = 2
[budget]
epsilon = 100000
delta = 1e-6
[tables.admissions]
source = "admissions.csv"
[tables.admissions.columns]
cost = { type = "int", bounds = [0, 1000] }
region = { type = "cat" }
[tables.visits]
source = "visits.csv"
[tables.visits.columns]
age = { type = "int", bounds = [0, 120] }
[tables.regions]
source = "regions.csv"
public = true
unique = ["region"]
[tables.regions.columns]
region = { type = "cat" }
beds = { type = "int", bounds = [0, 100] }
name = { type = "cat", values = ["north", "south"] }
"""


@pytest.fixture
def folder(tmp_path):
    lines = [f"p{i % 20},{i % 7 * 100},{'abc'[i % 3]}" for i in range(60)]
    (tmp_path / "admissions.csv").write_text("person,cost,region\n" + "\n".join([*lines, *["rich,1000,a"] * 500]) + "\n")
    (tmp_path / "visits.csv").write_text("person,age\np1,30\np2,40\n")
    (tmp_path / "regions.csv").write_text("region,beds,name\na,10,north\nb,20,south\n")
    (tmp_path / "hospital.toml").write_text(HOSPITAL)
    return tmp_path


def test_a_dataset_is_asked_in_sql_and_joins_its_public_tables(folder):
    with sd.open(folder / "hospital.toml") as hospital:
        text = "SELECT name, COUNT(*) AS n, SUM(beds) AS b FROM admissions JOIN regions ON admissions.region = regions.region GROUP BY name"
        query = hospital.sql(text)
        assert query.table is hospital.admissions
        assert query.key() == hospital.admissions.sql(text).key()
        release = query.release(epsilon=10_000)
        # 20 people with one row in each region, and the rich person's 500 rows of which three count
        assert release.to_dict()["name"] == ["north", "south"]
        assert release.to_dict()["n"] == [23, 20]
        assert release.to_dict()["b"] == [230, 400]
        assert hospital.sql("SELECT COUNT(DISTINCT person) FROM visits").release(epsilon=10_000).value == 2
        assert "beds" in str(release.card["question"])


@pytest.mark.parametrize(
    ("text", "say"),
    [
        ("SELECT COUNT(*) FROM admissions AS a JOIN admissions AS b ON a.region = b.region", "ON a.person = b.person"),
        ("WITH v AS (SELECT * FROM visits) SELECT COUNT(*) FROM admissions JOIN v ON TRUE", "private tables"),
        ("SELECT COUNT(*) FROM admissions JOIN regions ON admissions.region = regions.name", "may match several rows"),
        ("SELECT COUNT(*) FROM admissions JOIN regions ON admissions.cost = regions.beds", "may match several rows"),
        ("SELECT COUNT(*) FROM admissions JOIN regions ON admissions.region < regions.region", "other than equal columns"),
        ("SELECT COUNT(*) FROM admissions JOIN regions ON admissions.region = regions.region AND regions.beds > 5", "into WHERE"),
        ("SELECT COUNT(*) FROM admissions JOIN regions ON TRUE", "other than equal columns"),
        ("SELECT COUNT(*) FROM admissions CROSS JOIN regions", "match several rows"),
        ("SELECT COUNT(*) FROM admissions, regions", "may match several rows"),
        ("SELECT COUNT(*) FROM admissions RIGHT JOIN regions ON admissions.region = regions.region", "RIGHT JOIN"),
        ("SELECT COUNT(*) FROM admissions FULL OUTER JOIN regions USING (region)", "FULL OUTER JOIN"),
        ("SELECT COUNT(*) FROM admissions NATURAL JOIN regions", "NATURAL JOIN"),
        ("SELECT COUNT(*) FROM admissions SEMI JOIN regions USING (region)", "SEMI JOIN"),
        ("SELECT COUNT(*) FROM admissions JOIN regions ON admissions.cost = regions.region", "cannot be matched"),
        ("SELECT COUNT(*) FROM admissions JOIN regions ON admissions.person = regions.region", "identifies people"),
        ("SELECT COUNT(*) FROM regions", "Start FROM a private table"),
        ("SELECT COUNT(*) FROM regions JOIN admissions USING (region)", "Start FROM a private table"),
        ("SELECT COUNT(*) FROM admissions JOIN (SELECT * FROM regions) AS r USING (region)", "FROM the public table"),
        ("SELECT COUNT(*) FROM admissions JOIN region USING (region)", "Did you mean 'regions'"),
        ("SELECT COUNT(*) FROM admission", "Did you mean 'admissions'"),
        ("SELECT SUM(region) FROM admissions JOIN regions USING (region)", "is in several tables"),
        ("SELECT SUM(r.beds) FROM admissions JOIN regions USING (region)", "there is no table 'r' here"),
        ("SELECT COUNT(*) FROM admissions JOIN regions AS admissions USING (region)", "two tables are called"),
        ("SELECT AVG(regions.beds) FROM admissions", "there is no table 'regions' here"),
    ],
)
def test_joins_that_could_multiply_rows_are_refused_with_a_way_out(folder, text, say):
    with sd.open(folder / "hospital.toml") as hospital:
        with pytest.raises(QueryError) as caught:
            hospital.sql(text)
        assert say in str(caught.value)
        assert caught.value.fix
        assert hospital.budget.spent == 0


def test_a_public_table_with_repeated_keys_is_refused_when_the_dataset_is_opened(folder):
    (folder / "regions.csv").write_text("region,beds,name\na,10,north\na,20,south\n")
    with pytest.raises(QueryError, match="several rows with 'region' = 'a'"):
        sd.open(folder / "hospital.toml")
    assert not (folder / "hospital.ledger").exists()


def test_public_values_changed_on_disk_after_opening_do_not_reach_a_release(folder):
    with sd.open(folder / "hospital.toml") as hospital:
        (folder / "regions.csv").write_text("region,beds,name\na,10,north\n" + "a,10,north\n" * 50)
        text = "SELECT COUNT(*) FROM admissions JOIN regions USING (region)"
        assert hospital.sql(text).release(epsilon=10_000).value == 43


NEIGHBOURS = [
    "SELECT name, SUM(beds) AS b, COUNT(*) AS n FROM t JOIN places USING (zip) GROUP BY name",
    "SELECT COUNT(beds) AS n, AVG(beds * age) AS m FROM t LEFT JOIN places ON t.zip = places.zip WHERE COALESCE(beds, 0) < 25",
    "SELECT CASE WHEN age / 10 > 3 THEN 'a' ELSE 'b' END AS c, AVG(income / GREATEST(age, 1)) AS x FROM t GROUP BY c ORDER BY x LIMIT 1",
    "SELECT COUNT(income) AS n, MEDIAN(income * 2) AS m FROM t WHERE age + 1 > 5",
    "SELECT EXTRACT(YEAR FROM born) AS y, STDDEV(age) AS s FROM t WHERE born >= '2010-01-01' GROUP BY y",
    "WITH a AS (SELECT zip, ROUND(income / 1000) AS k FROM t WHERE ok) SELECT zip, MAX(k) AS m FROM a GROUP BY zip",
]


@pytest.mark.usefixtures("_same_ids")
@pytest.mark.parametrize("text", NEIGHBOURS)
def test_neighbours_look_the_same_through_joins_and_expressions(text, tmp_path):
    """Requests, laws and every visible byte, with pinned outcomes, on a table with a crowd of awkward people more."""
    path = tmp_path / "places.csv"
    path.write_text("zip,beds,name\nz0,10,north\nz1,20,south\ny7,30,south\n")
    columns = declare({"zip": "cat", "beds": {"type": "int", "bounds": (0, 50)}, "name": {"type": "cat", "values": ["north", "south"]}})
    publics = {"places": read_public("places", path, columns, ("zip",))}
    base = people.rows()
    with people.table(base) as here, people.table(people.add(base, people.crowd())) as there:
        first = run(replace(people.fresh(here), publics=publics).sql(text))
        same(first, run(replace(people.fresh(there), publics=publics).sql(text), pinned=first))


class Recorder:
    """A connection that writes down every statement."""

    def __init__(self, inner: Any, said: list[str]) -> None:
        self.inner, self.said = inner, said

    def cursor(self) -> Recorder:
        return Recorder(self.inner.cursor(), self.said)

    def execute(self, statement: str, *more: Any) -> Any:
        self.said.append(statement)
        return self.inner.execute(statement, *more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


@pytest.fixture
def recorded():
    """A small table, and every statement its database is ever given."""
    with people.table(people.rows(60), name="people") as opened:
        said: list[str] = []
        opened.engine._connection = Recorder(opened.engine._connection, said)
        yield opened, said


def test_hostile_statements_never_reach_the_database(recorded):
    opened, said = recorded
    for text in HOSTILE:
        with pytest.raises(QueryError):
            opened.sql(text)
    assert said == []
    assert opened.budget.spent == 0


def test_nothing_an_analyst_wrote_reaches_the_database_but_constants_in_quotes(recorded):
    opened, said = recorded
    text = """
        WITH zebra_with AS (SELECT age AS zebra_age, sex, income / 12 AS zebra_income FROM people AS zebra_people
                            WHERE zebra_people.sex <> 'zebra''; DROP TABLE bounded; --')
        SELECT CASE WHEN zebra_age > 30 THEN 'zebra "old"' ELSE 'zebra $1' END AS zebra_case, AVG(zebra_income) AS zebra_mean,
               COUNT(sex) AS zebra_count FROM zebra_with WHERE sex NOT LIKE 'zebra%' GROUP BY zebra_case ORDER BY zebra_mean LIMIT 1"""
    query = opened.sql(text)
    query.settle(1)
    assert said == []
    query.release(epsilon=1)
    assert said
    constants = ["'zebra''; DROP TABLE bounded; --'", "'zebra \"old\"'", "'zebra $1'", "'zebra%'"]
    for statement in said:
        for constant in constants:
            statement = statement.replace(constant, "")  # noqa: PLW2901  what is left after the constants
        assert "zebra" not in statement
        assert "DROP TABLE bounded;" not in statement
    assert any(constants[0] in statement for statement in said)
