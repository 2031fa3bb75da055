"""Every construct of the subset, against a database's own answer to the same statement on the clamped rows."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import pytest
from tests.session import people
from tests.session.oracle import EPSILON, REGIONS, close, database, found, rows, table

from sordino.errors import QueryError


@pytest.fixture(scope="module")
def regions(tmp_path_factory):
    path = tmp_path_factory.mktemp("public") / "regions.csv"
    path.write_text(REGIONS)
    return path


@pytest.fixture(scope="module")
def world(regions):
    """The database and two tables over the same rows: every row a unit, and people."""
    data = rows()
    with database(data, regions) as base, table(data, regions) as each, table(data, regions, unit="person") as persons:
        yield base, each, persons


def released(opened: Any, text: str) -> Any:
    return people.fresh(opened).sql(text).release(epsilon=EPSILON)


NUMBERS = [
    "SELECT COUNT(*) AS n FROM t",
    "SELECT COUNT(1) AS n FROM t AS everybody",
    "SELECT COUNT(income) AS n, COUNT(sex) AS s, COUNT(born) AS b, COUNT(ok) AS o FROM t",
    "SELECT COUNT(income) AS n, SUM(income) AS total, AVG(income) AS mean FROM t",
    "SELECT SUM(age) AS a, SUM(price) AS p, SUM(score) AS s, SUM(CAST(ok AS INT)) AS o FROM t",
    "SELECT AVG(age) AS a, AVG(price) AS p, AVG(score) AS s FROM t",
    "SELECT VARIANCE(score) AS v, VAR_SAMP(age) AS w, VAR_POP(age) AS x FROM t",
    "SELECT STDDEV(score) AS v, STDDEV_SAMP(age) AS w, STDDEV_POP(age) AS x FROM t",
    "SELECT COUNT(*) AS n FROM t WHERE age >= 18 AND NOT (sex = 'f' OR sex IS NULL)",
    "SELECT COUNT(*) AS n FROM t WHERE age BETWEEN 20 AND 60 AND sex IN ('f', 'x') AND sex NOT LIKE 'm%'",
    "SELECT COUNT(*) AS n FROM t WHERE born < DATE '1980-06-01' OR seen >= TIMESTAMP '2020-07-01 12:00:00'",
    "SELECT COUNT(*) AS n FROM t WHERE price <> 12.5 AND price <= 250.005 AND age <> region",
    "SELECT COUNT(*) AS n FROM t WHERE ok AND income IS NOT NULL",
    "SELECT sex, COUNT(*) AS n, AVG(age) AS a FROM t GROUP BY sex",
    "SELECT sex AS who, COUNT(*) AS n FROM t GROUP BY who",
    "SELECT region, sex, SUM(price) AS p FROM t GROUP BY 1, t.sex",
    "SELECT ok, AVG(score) AS s, STDDEV(age) AS a FROM t WHERE age < 90 GROUP BY ok",
    "SELECT SUM(income / 12) AS m, AVG(income - price) AS d, SUM(-age) AS neg FROM t",
    "SELECT AVG(price * 2 + 1.25) AS a, SUM(age * price) AS b, AVG((age - 50) * (age - 50)) AS c FROM t",
    "SELECT AVG(income / age) AS a, COUNT(income / age) AS n, SUM(price / region) AS b FROM t",
    "SELECT AVG(1 / GREATEST(score, 0.5)) AS a, AVG(income / NULLIF(age, 40)) AS b FROM t",
    "SELECT SUM(CASE WHEN age >= 65 THEN price WHEN sex = 'f' THEN 1 ELSE 0 END) AS a FROM t",
    "SELECT AVG(CASE sex WHEN 'f' THEN 1 WHEN 'm' THEN 2 END) AS a, COUNT(CASE WHEN score > 0 THEN 1 END) AS n FROM t",
    "SELECT AVG(CASE WHEN income / 12 > 2000 THEN score ELSE age END) AS a FROM t",
    "SELECT AVG(EXTRACT(YEAR FROM born)) AS y, AVG(MONTH(born)) AS m, AVG(DAY(born)) AS d, AVG(QUARTER(seen)) AS q FROM t",
    "SELECT AVG(EXTRACT(HOUR FROM seen)) AS h, AVG(MINUTE(seen)) AS m, AVG(EXTRACT(DOW FROM born)) AS w, AVG(ISODOW(seen)) AS i FROM t",
    "SELECT AVG(CAST(seen AS DATE) - born) AS days FROM t",
    "SELECT SUM(CAST(score AS INTEGER)) AS a, SUM(CAST(price AS BIGINT)) AS b, AVG(CAST(price AS DOUBLE)) AS c FROM t",
    "SELECT SUM(CAST(score AS DECIMAL(6,2))) AS a, SUM(TRY_CAST(price AS DECIMAL(6,1))) AS b, SUM(age::DOUBLE) AS c FROM t",
    "SELECT SUM(CAST(CAST(age AS BOOLEAN) AS INT)) AS a FROM t",
    "SELECT AVG(ABS(score)) AS a, SUM(ROUND(score)) AS b, SUM(ROUND(price, 1)) AS c, SUM(FLOOR(score)) AS d, SUM(CEIL(price)) AS e FROM t",
    "SELECT AVG(LEAST(age, price, 50)) AS a, AVG(GREATEST(score, 0, region)) AS b, AVG(COALESCE(age, region, 0)) AS c FROM t",
    "SELECT COUNT(*) AS n FROM t WHERE income / 12 > 1000 AND price * 2 < age + 300",
    "SELECT COUNT(*) AS n FROM t WHERE price / age > 3 OR YEAR(born) = 1980 OR CASE WHEN ok THEN age ELSE 0 END > 50",
    "SELECT COUNT(*) AS n FROM t WHERE COALESCE(sex, 'none') = 'none' OR ROUND(score, 1) = 1.5",
    "SELECT CASE WHEN age >= 65 THEN 'old' WHEN age >= 18 THEN 'adult' ELSE 'young' END AS band, COUNT(*) AS n, AVG(price) AS p "
    "FROM t GROUP BY band",
    "SELECT CASE WHEN ok THEN 'yes' END AS said, COUNT(*) AS n FROM t GROUP BY said",
    "SELECT EXTRACT(YEAR FROM born) AS y, COUNT(*) AS n FROM t WHERE born >= '1995-01-01' GROUP BY y",
    "SELECT FLOOR(age / 10) AS tens, sex, COUNT(*) AS n FROM t GROUP BY FLOOR(age / 10), sex",
    "SELECT age >= 18 AS adult, COUNT(*) AS n FROM t GROUP BY age >= 18",
    "SELECT EXTRACT(QUARTER FROM seen) AS q, AVG(income) AS a FROM t GROUP BY 1",
    "SELECT AVG(m) AS a FROM (SELECT income / 12 AS m, age FROM t WHERE ok) AS sub WHERE age > 20",
    "WITH grown AS (SELECT * FROM t WHERE age >= 18), paid AS (SELECT g.sex, g.price * 2 AS twice FROM grown AS g WHERE g.price > 10) "
    "SELECT sex, SUM(twice) AS s, COUNT(*) AS n FROM paid WHERE twice < 900 GROUP BY sex",
    "WITH t AS (SELECT age AS years FROM t) SELECT AVG(years) AS a FROM t",
    "SELECT COUNT(*) AS n, SUM(r.beds) AS beds FROM t JOIN regions AS r ON t.region = r.region",
    "SELECT COUNT(*) AS n, COUNT(beds) AS b, AVG(rate * age) AS a FROM t LEFT JOIN regions ON regions.region = t.region",
    "SELECT name, COUNT(*) AS n, AVG(age) AS a FROM t JOIN regions USING (region) GROUP BY name",
    "SELECT regions.name AS place, sex, SUM(price / rate) AS p FROM t LEFT JOIN regions ON t.region = regions.region "
    "WHERE rate > 0.75 GROUP BY 1, 2",
    "SELECT AVG(a.beds - b.beds) AS d FROM t JOIN regions a ON t.region = a.region LEFT JOIN regions b ON t.region = b.region",
    "WITH joined AS (SELECT t.age, r.rate AS rate FROM t JOIN regions AS r ON t.region = r.region) SELECT SUM(age * rate) AS s FROM joined",
]  # fmt: skip


@pytest.mark.parametrize("text", NUMBERS, ids=range(len(NUMBERS)))
def test_a_database_gives_the_same_answer(text, world):
    base, each, persons = world
    theirs = found(base, text)
    for opened, usual in ((each, 2e-5), (persons, 1e-3)):  # people may have ten rows in ten groups, so their noise is larger
        release = released(opened, text)
        ours = release.to_dict()
        keys, names = [name for name in ours if name in theirs and name not in release.names], release.names
        assert set(theirs) == {*keys, *names}
        tolerance = 2e-3 if any(word in text for word in ("VAR", "STDDEV")) else usual
        lines = list(zip(*(theirs[name] for name in (*keys, *names)), strict=True))
        for line in lines:
            key, values = list(line[: len(keys)]), line[len(keys) :]
            places = [i for i in range(len(ours[names[0]])) if [ours[name][i] for name in keys] == key]
            if None in key and not places:  # null drops out of a group column unless it is listed
                continue
            if keys and not places:
                assert any(value not in ("f", "m", 0, 1, 2, 3) for value in key), key  # neither do values that are no public key
                continue
            for name, value in zip(names, values, strict=True):
                if value is not None:
                    assert close(ours[name][places[0]], value, tolerance), (name, key)


QUANTILES = [
    ("MEDIAN(income)", "income", 0.5, ""),
    ("MEDIAN(age)", "age", 0.5, "WHERE sex = 'f'"),
    ("MEDIAN(price)", "price", 0.5, ""),
    ("MEDIAN(born)", "born", 0.5, "WHERE ok"),
    ("MEDIAN(seen)", "seen", 0.5, ""),
    ("QUANTILE_CONT(income, 0.9)", "income", 0.9, ""),
    ("QUANTILE_CONT(price, 0.25)", "price", 0.25, "WHERE age > 30"),
    ("PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY score)", "score", 0.1, ""),
    ("PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY score DESC)", "score", 0.9, ""),
    ("MEDIAN(income / 12)", "income / 12", 0.5, ""),
    ("MEDIAN(CAST(seen AS DATE) - born)", "CAST(seen AS DATE) - born", 0.5, ""),
    ("QUANTILE_CONT(CASE WHEN ok THEN price ELSE 0 END, 0.75)", "CASE WHEN ok THEN price ELSE 0 END", 0.75, ""),
]


@pytest.mark.parametrize(("ask", "value", "q", "where"), QUANTILES, ids=range(len(QUANTILES)))
def test_quantiles_lie_between_the_order_statistics_around_them(ask, value, q, where, world):
    base, each, persons = world
    column = found(base, f"SELECT {value} AS x FROM t {where}")["x"]
    values = sorted(x for x in column if x is not None)
    rank = Fraction(str(q)) * len(values)
    low, high = values[max(math.floor(rank) - 1, 0)], values[min(math.ceil(rank), len(values) - 1)]
    for opened in (each, persons):
        assert between(released(opened, f"SELECT {ask} AS y FROM t {where}").value, low, high)


def between(y: Any, low: Any, high: Any) -> bool:
    if isinstance(y, int | float):
        return float(low) - 1e-6 <= y <= float(high) + 1e-6
    return low <= (y.replace(tzinfo=None) if hasattr(y, "tzinfo") else y) <= high


@pytest.mark.parametrize(("ask", "value"), [("MIN", "age"), ("MAX", "price"), ("MAX", "born"), ("MIN", "price * 2"), ("MAX", "ABS(score)")])
def test_extremes_are_as_near_to_the_ends_as_they_say(ask, value, world):
    base, each, persons = world
    values = sorted((x for x in found(base, f"SELECT {value} AS x FROM t")["x"] if x is not None), reverse=ask == "MAX")
    for opened in (each, persons):
        release = released(opened, f"SELECT {ask}({value}) AS y FROM t")
        assert between(release.value, *sorted((values[0], values[math.ceil(release.ranks[1])])))


def test_people_are_counted_once(world):
    base, each, persons = world
    text = "SELECT COUNT(DISTINCT person) AS n FROM t WHERE age > 30"
    assert released(persons, text).value == released(each, text).value == found(base, text)["n"][0]


@pytest.mark.parametrize(
    "text", ["SELECT MODE(region) AS m FROM t", "SELECT MODE() WITHIN GROUP (ORDER BY region) AS m FROM t WHERE age > 20"]
)
def test_the_mode_is_the_databases(text, world):
    base, each, persons = world
    counts = found(base, "SELECT region, COUNT(*) AS n FROM t GROUP BY region ORDER BY n DESC")
    assert counts["n"][0] > counts["n"][1] + 20
    assert released(each, text).value == released(persons, text).value == counts["region"][0] == 0


def number(dice: random.Random, depth: int) -> str:
    """An expression of numbers, as an analyst might write it."""
    if depth == 0:
        return dice.choice(["age", "price", "income", "score", "region", "3", "0.5", "-2", "12.25"])
    a, b, part = number(dice, depth - 1), number(dice, depth - 1), dice.choice(["YEAR", "MONTH", "DAY", "DOW", "ISODOW", "QUARTER"])
    return dice.choice([
        f"{a} + {b}", f"({a} - {b})", f"{a} * {b}", f"({a}) / {dice.choice(['age', 'price', 'region', '4', '2.5'])}", f"-({a})",
        f"ABS({a})",
        f"ROUND({a}, {dice.choice('012')})", f"FLOOR({a})", f"CEIL({a})", f"LEAST({a}, {b})", f"GREATEST({a}, {b}, 1)", f"NULLIF({a}, 3)",
        f"COALESCE({a}, {b}, 0)", f"CAST({a} AS DOUBLE)", f"CAST({a} AS BIGINT)", f"CAST({a} AS DECIMAL(18,2))",
        "(CAST(seen AS DATE) - born)",
        f"EXTRACT({part} FROM {dice.choice(['born', 'seen'])})", f"CASE WHEN {condition(dice, depth - 1)} THEN {a} ELSE {b} END",
        f"CASE WHEN {condition(dice, depth - 1)} THEN {a} WHEN {condition(dice, 0)} THEN {b} END",
    ])  # fmt: skip


def condition(dice: random.Random, depth: int) -> str:
    """A condition whose constants lie inside the bounds: a plain column is compared as it is stored, which the database has clamped."""
    a, b = number(dice, max(depth, 0)), number(dice, 0)
    leaf = dice.choice([
        f"{a} > {dice.choice(['1', '20.5'])}", f"{a} + 0 <= {b}", f"{a} * 1 <> {b}", f"({a}) IS NULL", f"{a} BETWEEN 1 AND 50.5", "ok",
        "NOT ok",
        "region IN (1, 2, 7)", "sex = 'f'", "sex NOT LIKE '%m'", "sex IS NOT NULL", "born < DATE '1985-05-05'", "seen >= '2020-06-01'",
    ])  # fmt: skip
    if depth <= 0:
        return leaf
    return dice.choice([leaf, f"NOT ({leaf})", f"({leaf} AND {condition(dice, depth - 1)})", f"({leaf} OR {condition(dice, depth - 1)})"])


def test_statements_nobody_thought_of_mean_what_a_database_takes_them_to_mean(world):
    base, each, _ = world
    dice, asked = random.Random(8), 0
    while asked < 100:
        aggregates = ", ".join(f"{dice.choice(['SUM', 'AVG', 'COUNT'])}({number(dice, dice.randint(0, 3))}) AS a{i}" for i in (0, 1))
        text = f"SELECT {aggregates}, COUNT(*) AS n FROM t WHERE {condition(dice, dice.randint(0, 3))}"
        try:
            query = people.fresh(each).sql(text)
        except QueryError:
            continue
        asked += 1
        ours, theirs = query.release(epsilon=EPSILON).to_dict(), found(base, text)
        for name, (value,) in theirs.items():
            width = ours[f"{name}_high"][0] - ours[f"{name}_low"][0]
            assert value is None or abs(ours[name][0] - float(value)) <= 20 * width + 1e-6 * max(1, abs(float(value))), (name, text)
