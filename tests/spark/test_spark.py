"""The Spark engine: the oracle's integers, the user's session untouched, nothing left behind, nothing said about a value."""

from __future__ import annotations

import contextlib
import itertools
import random
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import sordino as sd
from engines.test_bounding import COLUMNS, GROUP, over, person_rows
from engines.test_bounding import frame as bounding_frame
from sordino.engines.port import Stop
from sordino.engines.source import open_source
from sordino.engines.spark import Spark
from sordino.engines.spark_session import active_session
from sordino.errors import QueryError, ReleaseFailed
from sordino.lab import check_engine
from sordino.lab.awkward_tables import AGE, CITY, FRAMES, PERSON, person
from sordino.lab.engine_case import CASES
from sordino.lab.engine_check import SALT, checked, values
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.expression import Like, Name
from sordino.schema.frame import Frame
from sordino.summaries.request import rank_window
from sordino.summaries.totals import Item, Ranks, Totals

ROWS, VALUE = Item("rows"), Column("v", "int", bounds=(0, 2**61))


def left_behind(spark: Any) -> tuple[int, list[str]]:
    """What is still persisted, and the views anybody could see."""
    views = [row.viewName for row in spark.sql("SHOW VIEWS IN global_temp").collect() if row.namespace == "global_temp"]
    return spark.sparkContext._jsc.getPersistentRDDs().size(), views


def total(engine: Any, frame: Frame, *items: Item) -> list[list[int]]:
    with engine.bounded(frame, SALT) as bounded:
        found = bounded.ask(Totals(items)).values
        return [[int(value) for value in found[item]] for item in items]


@pytest.mark.parametrize("name", CASES)
def test_spark_is_an_engine(name: str, spark: Any) -> None:
    @contextlib.contextmanager
    def opener(table: pa.Table, columns: tuple[Column, ...]) -> Iterator[Any]:
        with Spark(spark.createDataFrame(table), columns, portable=True) as engine:
            yield engine

    report = check_engine(opener, tables=[name], quick=True)
    assert report.ok, report
    assert left_behind(spark) == (0, [])


def test_only_people_over_a_limit_are_ranked(spark: Any) -> None:
    rows, asked = person_rows(), bounding_frame((5, 2, 2), (GROUP,))
    with Spark(spark.createDataFrame(rows, "who long, g string, v long"), COLUMNS) as engine, engine.bounded(asked, SALT) as bounded:
        named = [int(who) for (who,) in bounded._cursor.execute("SELECT u FROM crowded").fetchall()]
    assert sorted(named) == sorted(over(rows, asked))  # each once
    assert 0 < len(named) < len({who for who, *_ in rows})


def test_the_users_session_may_be_as_odd_as_it_likes_and_stays_so(spark: Any) -> None:
    case, frame = CASES["tidy"](), CASES["tidy"]().frames["by moment"]
    odd = {"spark.sql.session.timeZone": "Asia/Kathmandu", "spark.sql.ansi.enabled": "false", "spark.sql.caseSensitive": "false"}
    mine = spark.newSession()
    for name, value in odd.items():
        mine.conf.set(name, value)
    engine = Spark(mine.createDataFrame(case.table).repartition(3), case.columns, portable=True)
    rows = checked(engine, "tidy", replace(case, frames={"by moment": frame}), full=False)
    assert all(row.ok for row in rows)
    assert {name: mine.conf.get(name) for name in odd} == odd
    assert [view.name for view in mine.catalog.listTables()] == []
    assert SparkSession.getActiveSession()._jsparkSession.equals(mine._jsparkSession)  # as it was before the release
    spark.createDataFrame([(1,)], "x int")
    assert active_session() is spark


def test_sums_are_exact_beyond_64_bits_and_windows_beyond_doubles(spark: Any) -> None:
    values = [2**53 + 1, 2**53 + 3, *[2**61 - 1] * 20]
    engine = Spark(spark.createDataFrame(pa.table({"v": values})), (VALUE,))
    frame = Frame(PrivacyUnit(), columns=(VALUE,))
    assert total(engine, frame, Item("sum", "v"), Item("squares", "v")) == [[sum(values)], [sum((v >> 42) ** 2 for v in values)]]
    with engine.bounded(frame, 0) as bounded:
        window = next(bounded.ask(Ranks("v", (Fraction(0),), 2)))[0]
    assert window.values.tolist() == rank_window(np.sort(values), Fraction(0), 2, 0, 2**61).values.tolist()


def chosen(engine: Any, frame: Frame) -> dict[Any, list[Any]]:
    kept: dict[Any, list[Any]] = {}
    with engine.bounded(frame, SALT) as bounded:
        for unit, *row in bounded._cursor.execute("SELECT * FROM bounded").fetchall():
            kept.setdefault(unit, []).append(repr(row))
    return {unit: sorted(rows) for unit, rows in kept.items()}


@pytest.mark.parametrize("portable", [True, False])
def test_removing_one_person_changes_nobody_elses_rows(spark: Any, portable: bool) -> None:
    rng = random.Random(5)
    rows = [(rng.randrange(9), rng.choice("abcd"), rng.randrange(50)) for _ in range(400)]
    frame = Frame(person(4, 2, 2), PERSON, by=(CITY,), columns=(AGE,))

    def kept(of: list[Any], partitions: int) -> dict[Any, list[Any]]:
        frame_of = spark.createDataFrame(of, "person int, city string, age int").repartition(partitions)
        return chosen(Spark(frame_of, (PERSON, CITY, AGE), portable=portable), frame)

    before = kept(rows, 2)
    assert all(len(mine) == 4 for mine in before.values())
    stayed = [row for row in rows if row[0] != 4]
    rng.shuffle(stayed)
    assert kept(stayed, 5) == {unit: mine for unit, mine in before.items() if unit != 4}


def test_whichever_way_is_taken_the_same_rows_stay(spark: Any, monkeypatch: Any) -> None:
    """Nobody looked at first, some people, and everybody ranked at once."""
    rng = np.random.default_rng(3)
    rows = pa.table({"who": rng.integers(0, 300, 1_500), "g": rng.integers(0, 6, 1_500), "v": rng.integers(0, 3, 1_500)})
    who, group, value = Column("who", "id"), Column("g", "int", bounds=(0, 9)), Column("v", "int", bounds=(0, 9))
    frame = Frame(PrivacyUnit("who", max_rows=6, max_groups=4, max_rows_per_group=2), who, by=(group,), columns=(value,))
    found = []
    for portable, large, split in ((True, 10**9, 1.0), (True, 0, 2.0), (True, 0, -1.0), (False, 10**9, 1.0), (False, 0, 2.0)):
        monkeypatch.setattr("sordino.engines.text.LARGE", large)
        monkeypatch.setattr("sordino.engines.spark.SPLIT", split)
        with Spark(spark.createDataFrame(rows), (who, group, value), portable=portable) as engine, engine.bounded(frame, 5) as bounded:
            found.append(values(bounded.ask(Totals((Item("rows"), Item("units"), Item("sum", "v"))))))
    assert found[0] == found[1] == found[2]
    assert found[3] == found[4] != found[0]
    with open_source(rows, (who, group, value), portable=True) as engine, engine.bounded(frame, 5) as bounded:
        assert values(bounded.ask(Totals((Item("rows"), Item("units"), Item("sum", "v"))))) == found[0]


def test_every_group_and_row_is_as_likely_to_be_kept(spark: Any) -> None:
    people = 6_000
    frame = spark.range(people * 5).selectExpr("id div 5 AS person", "CAST(id % 5 AS INT) AS age", "chr(97 + id % 5) AS city")
    engine = Spark(frame, (PERSON, AGE, CITY))
    for by in (CITY, AGE):
        counts = np.array(total(engine, Frame(person(1, 1), PERSON, by=(by,)), ROWS)[0])
        assert counts.sum() == people
        assert np.abs(counts - people / 5).max() < 6 * np.sqrt(people * 0.2 * 0.8)  # six deviations, ten cells: below 1e-7


def test_every_question_of_a_release_sees_the_same_rows(spark: Any) -> None:
    # other values whenever it is computed
    shaky = spark.range(2_000).selectExpr("CAST(1000000 * CAST(reflect('java.lang.Math', 'random') AS DOUBLE) AS BIGINT) AS v")
    engine, other = Spark(shaky, (VALUE,)), Item("sum", "v")
    with engine.bounded(Frame(PrivacyUnit(), columns=(VALUE,)), 1) as one, engine.bounded(Frame(PrivacyUnit(), columns=(VALUE,)), 1) as two:
        sums = [int(one.ask(Totals((other,))).values[other][0]) for _ in range(3)]
        values = next(one.ask(Ranks("v", (Fraction(1, 2),), 2_000)))[0].values
        assert set(sums) == {int(values[1:-1].sum())}
        assert int(two.ask(Totals((other,))).values[other][0]) != sums[0]  # a release of its own, not the first one's rows
    assert left_behind(spark) == (0, [])
    assert [view.name for session in engine._idle for view in session.catalog.listTables()] == []
    assert len(engine._idle) == 2


def test_a_table_a_file_and_a_frame_are_the_same_rows(spark: Any, tmp_path: Any) -> None:
    table = pa.table({"v": [3, 1, None, 2], "V": ["a", "b", "c", "d"]})
    pq.write_table(table, tmp_path / "rows.parquet")
    spark.createDataFrame(table.select(["v"])).createOrReplaceTempView("my_rows")
    frame = Frame(PrivacyUnit(), columns=(VALUE,))
    for source in (tmp_path / "rows.parquet", str(tmp_path / "*.parquet"), "my_rows", "spark:my_rows", spark.table("my_rows")):
        assert total(Spark(source, (VALUE,)), frame, ROWS, Item("sum", "v")) == [[4], [6]], source
    for source, fix in (("nowhere", "SRD-205"), (tmp_path / "none.parquet", "SRD-205"), ({"v": [1]}, "SRD-205")):
        with pytest.raises(QueryError, match=fix):
            Spark(source, (VALUE,))
    with pytest.raises(QueryError, match="SRD-201"):
        Spark("my_rows", (AGE,))
    spark.catalog.dropTempView("my_rows")


def test_a_large_column_is_read_in_pieces_and_groups_in_slices(spark: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("sordino.engines.answer.SLICE", 300)
    monkeypatch.setattr("sordino.engines.answer.SLICE", 300)
    rng = np.random.default_rng(2)
    values, groups = rng.integers(0, 2**40, 1_500), rng.integers(0, 6, 1_500) ** 2 // 5
    number, group = Column("v", "int", bounds=(0, 2**40)), Column("g", "int", bounds=(0, 9))
    engine = Spark(spark.createDataFrame(pa.table({"v": values, "g": groups})), (number, group))
    for by, parts in (((), [values]), ((group,), [values[groups == g] for g in sorted(set(groups.tolist()), key=str)])):
        with engine.bounded(Frame(PrivacyUnit(), by=by, columns=(number,)), 1) as bounded:
            found = [windows[0] for windows in bounded.ask(Ranks("v", (Fraction(1, 2),), 20))]
        assert [window.values.tolist() for window in found] == [
            rank_window(np.sort(part), Fraction(1, 2), 20, 0, 2**40).values.tolist() for part in parts
        ]


def test_a_release_of_a_spark_frame(spark: Any) -> None:
    frame = spark.range(4_000).selectExpr("id % 1000 AS person", "CAST(id % 100 AS INT) AS age", "chr(97 + id % 3) AS city")
    with sd.table(
        frame, unit="person", max_rows=2, max_groups=2, bounds={"age": (0, 99)}, keys={"city": ["a", "b", "c"]},
        budget=sd.Budget(epsilon=100), ledger=":memory:",
    ) as people:  # fmt: skip
        assert isinstance(people.engine, Spark)
        middle = people.group_by("city").median("age").release(epsilon=20)
        assert middle.to_dict()["city"] == ["a", "b", "c"]
        assert middle.bar == "drawn"
        counted = people.where("age < 50").count().release(epsilon=20)
        assert abs(counted.value - people.where("age < 50").count().release(epsilon=20).value) < 50
        assert people.budget.exact["spent"] == 40  # the second count was recalled
    assert left_behind(spark) == (0, [])


def test_after_the_charge_nothing_is_said_about_a_value(spark: Any, capfd: Any) -> None:
    failing = spark.range(100).selectExpr("IF(id = 77, CAST(raise_error('patient zero') AS BIGINT), id) AS v")
    with sd.table(failing, bounds={"v": (0, 100)}, budget=sd.Budget(epsilon=1), ledger=":memory:") as rows:
        with pytest.raises(ReleaseFailed) as raised:
            rows.sum("v").release(epsilon=1)
        assert "zero" not in str(raised.value)
        assert raised.value.__cause__ is raised.value.__context__ is None
        assert rows.budget.exact["left"] == 0
    said = capfd.readouterr()
    assert "zero" not in said.out + said.err
    assert left_behind(spark) == (0, [])


def test_the_example_on_the_page_about_scale_runs(spark: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "scale.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```py\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {"df": spark.range(2_000).selectExpr("id div 3 AS patient", "CAST(id AS INT) AS cost")}
    exec(compile(block, "scale.md", "exec"), names)
    assert 0 <= names["answer"].value <= 10_000
    names["visits"].close()


def test_what_the_session_writes_down_is_private(spark: Any) -> None:
    folder = Path(spark.sparkContext.getConf().get("spark.local.dir"))
    assert folder.stat().st_mode & 0o777 == 0o700
    assert spark.sparkContext.master == "local[2]"
    assert spark.conf.get("spark.ui.enabled") == "false"


def test_a_closed_engine_and_a_question_it_cannot_say_are_refused(spark: Any) -> None:
    engine = Spark(spark.range(3).withColumnRenamed("id", "v"), (VALUE,))
    engine.close()
    with pytest.raises(QueryError, match="SRD-205"), engine.bounded(Frame(PrivacyUnit(), columns=(VALUE,)), 1):
        pass
    twice = spark.range(3).selectExpr("id AS v", "id AS v")
    with pytest.raises(QueryError, match="several columns"):
        Spark(twice, (VALUE,))
    assert FRAMES  # every frame of the tables was checked before it was asked, in test_spark_is_an_engine


def test_the_owner_sees_the_same_rows_as_in_duckdb(spark: Any) -> None:
    rows = pa.table({
        "who": pa.array([f"p{i % 37}" for i in range(202)]),
        "age": pa.array([*range(200), None, -5], pa.int64()),
        "said": pa.array((["7", "7.5", "n/a", "1e400", None, " 3 ", "x", "inf"] * 26)[:202]),
        "cost": pa.array([i * 1.25 for i in range(202)], pa.float64()),
        "sex": pa.array(["f", "m", None] * 67 + ["x"]),
        "day": pa.array([f"2020-01-0{1 + i % 9}" for i in range(202)]),
    })  # fmt: skip
    words = {
        "unit": "who", "max_rows": 3, "max_groups": 2, "bounds": {"cost": (0, 100)}, "keys": {"sex": ["f", "m"]},
        "columns": {
            "age": {"type": "int", "bounds": (0, 120)}, "said": {"type": "float", "bounds": (0, 10)},
            "day": {"type": "date", "bounds": ("2020-01-01", "2020-01-05")},
        },
        "budget": sd.Budget(epsilon=1), "ledger": ":memory:",
    }  # fmt: skip
    before, found = left_behind(spark), []
    for source in (spark.createDataFrame(rows), rows):
        with sd.table(source, **words) as table:
            fit = sd.owner.fit(table)
            found.append({**fit.to_plain(), "counted": {name: round(share, 1) for name, share in fit.counted.items()}})
    assert found[0]["columns"] == found[1]["columns"]
    assert found[0] == found[1]
    assert left_behind(spark) == before


def test_a_release_that_never_ends_is_stopped_and_the_next_one_is_served(spark: Any) -> None:
    stop, inside, found = Stop(), threading.Event(), []
    frame = Frame(PrivacyUnit(), columns=(AGE,))

    def look(engine: Any) -> None:
        try:
            with stop.listening(), engine.bounded(frame, SALT) as bounded:
                inside.set()
                bounded._cursor._session.range(0, 10**13).selectExpr("sum(hash(id * id))").collect()
        except Exception as error:
            found.append(error)

    with Spark(spark.createDataFrame(pa.table({"age": [1, 2, 4]})), (AGE,)) as engine:
        thread = threading.Thread(target=look, args=(engine,))
        thread.start()
        assert inside.wait(120)
        end = time.monotonic() + 120
        while thread.is_alive():
            assert time.monotonic() < end, "it goes on"
            stop.now()
            thread.join(0.2)
        assert found
        assert total(engine, frame, ROWS) == [[3]]
    assert left_behind(spark) == (0, [])


def test_a_pattern_means_what_it_means_elsewhere_and_never_takes_long(spark: Any) -> None:
    """Spark's own LIKE with several percent signs goes back and forth through a text of equal letters."""
    words = random.Random(3)
    texts = ["".join(words.choice("ab.\\[(*\n ä😀^$") for _ in range(words.randrange(9))) for _ in range(60)] + ["a" * 256, "ab" * 128]
    patterns = ["".join(words.choice("ab%%%__.\\[(*\n ä😀^$-") for _ in range(words.randrange(1, 9))) for _ in range(60)]
    patterns += ["%" + "a_%" * many + "_b" for many in (2, 8, 32)]
    note = Column("note", "cat")
    with Spark(spark.createDataFrame(pa.table({"note": texts})), (note,)) as engine:
        frame = Frame(PrivacyUnit(), counted=tuple(Like(Name("note"), pattern) for pattern in patterns))
        start = time.monotonic()
        found = total(engine, frame, *(Item("counted", index=i) for i in range(len(patterns))))
        assert time.monotonic() - start < 120
    for pattern, (number,) in zip(patterns, found, strict=True):
        assert number == sum(like(text, pattern) for text in texts), pattern


def like(text: str, pattern: str) -> bool:
    """Whether a text is like a pattern, by the plain recurrence."""
    row = [True] + [False] * len(text)
    for sign in pattern:
        if sign == "%":
            row = list(itertools.accumulate(row, lambda before, here: before or here))
        else:
            row = [False] + [row[i] and sign in ("_", text[i]) for i in range(len(text))]
    return row[-1]


def test_a_shared_table_comes_out_of_spark(spark: Any) -> None:
    rng = np.random.default_rng(2)
    who = np.repeat(np.arange(300), rng.integers(1, 4, 300))
    sex = np.where(who % 4 == 0, "f", "m")
    level = np.where(sex == "f", 2, rng.integers(0, 3, len(who)))
    frame = spark.createDataFrame(pa.table({"who": pa.array(who), "sex": pa.array(sex.tolist()), "level": pa.array(level)}))
    columns = {"who": "id", "sex": {"type": "cat", "values": ["f", "m"]}, "level": {"type": "int", "bounds": (0, 2)}}
    limits = {"unit": "who", "max_rows": 3, "max_groups": 1}
    with sd.table(frame, columns=columns, **limits, budget=sd.Budget(epsilon=50, delta=1e-3), ledger=":memory:") as held:
        made = held.share(epsilon=20, delta=1e-5, method="tree").to_dict()
    assert np.mean(np.array(made["sex"]) == "f") == pytest.approx(0.25, abs=0.06)
    assert np.mean([lv == 2 for s, lv in zip(made["sex"], made["level"], strict=True) if s == "f"]) > 0.9
