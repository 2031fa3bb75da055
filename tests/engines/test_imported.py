"""An imported file answers as its source does, costs what its declaration says, and is whole or not there."""

from __future__ import annotations

import contextlib
import csv
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sordino.engines import imported
from sordino.engines.duckdb import DuckDB
from sordino.engines.imported import Imported, Wanted, find_import, needs_import, write_import
from sordino.engines.source import find_source, open_source
from sordino.errors import QueryError
from sordino.lab.engine_case import CASES
from sordino.lab.engine_check import checked, values
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.frame import Frame
from sordino.summaries.totals import Item, Totals

from .test_length import IDS, NOTES
from .test_value_text import COLUMNS as VALUES

WHO, NOTE, COST = Column("who", "id"), Column("note", "cat"), Column("v", "int", bounds=(0, 9))
ASKED = Totals((Item("rows"), Item("units"), Item("sum", "v")))
_files = itertools.count()


def copied(folder: Path, source: Any, columns: tuple[Column, ...], **words: Any) -> Imported:
    return write_import(folder / f"{next(_files)}.imported", Wanted(find_source(source), columns, **words))


@pytest.mark.parametrize("name", CASES)
def test_an_import_is_an_engine(name: str, tmp_path: Path) -> None:
    """Ids are folded before they are hashed, so the import knows whether they are."""
    case = CASES[name]()
    pq.write_table(case.table, tmp_path / "t.parquet")
    for fold in (False, True):
        frames = {label: frame for label, frame in case.frames.items() if frame.fold_ids is fold}
        units = {frame.unit_column.name for frame in frames.values() if frame.unit_column is not None}
        for unit in units or {None}:
            mine = {label: frame for label, frame in frames.items() if frame.unit_column is None or frame.unit_column.name == unit}
            source = copied(tmp_path, tmp_path / "t.parquet", case.columns, unit=unit, fold_ids=fold)
            with DuckDB(source, case.columns, portable=True) as engine:
                wrong = [row for row in checked(engine, name, replace(case, frames=mine), full=case.brief) if not row.ok]
            assert not wrong, wrong


def sources(folder: Path, ids: list[Any], notes: list[Any]) -> Iterator[Any]:
    """The same rows in a CSV file, two kinds of Parquet and a database."""
    table = pa.table({"who": ids, "note": notes, "v": [1] * len(ids)})
    for kind, dictionary in (("plain", False), ("dictionary", True)):
        pq.write_table(table, folder / f"{kind}.parquet", use_dictionary=dictionary)
        yield folder / f"{kind}.parquet"
    with (folder / "t.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([table.column_names, *zip(*(column.to_pylist() for column in table.columns), strict=True)])
    yield folder / "t.csv"
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.register("rows", table)
        connection.execute("CREATE TABLE people AS SELECT * FROM rows")
    yield f"{folder / 't.duckdb'}::people"


@pytest.mark.parametrize("fold", [False, True])
def test_the_same_rows_of_the_same_people_stay_under_every_salt(fold: bool, tmp_path: Path) -> None:
    ids = [*IDS, " " * 70 + "y ", "Y", "X" * 66, "x" * 66 + " ", None, "#" + "0" * 64, "#" + "0" * 63] * 9
    notes = [(NOTES * 40)[i] for i in range(len(ids))]
    columns = (WHO, NOTE, COST)
    unit = PrivacyUnit("who", max_rows=3, max_groups=2, max_rows_per_group=2)
    frames = [Frame(unit, WHO, fold, by=by, columns=(COST,)) for by in ((), (NOTE,))]
    seen = set()
    for source in sources(tmp_path, ids, notes):
        with open_source(source, columns) as one, DuckDB(copied(tmp_path, source, columns, unit="who", fold_ids=fold), columns) as other:
            for frame, salt in itertools.product(frames, (0, 1, 2**127)):
                with one.bounded(frame, salt) as here, other.bounded(frame, salt) as there:
                    answer = values(here.ask(ASKED))
                    assert values(there.ask(ASKED)) == answer, (source, salt)
                    seen.add(json.dumps([bool(frame.by), salt, str(answer)]))
        again = copied(tmp_path, source, columns, unit="who", fold_ids=fold)
        assert [again.stored[name].stored for name in ("who", "note", "v")] == ["hashed", "text", "integer"]
    assert len(seen) > 2, "the salt decides"


def test_a_number_that_is_not_whole_is_nobodys_id_before_and_after(tmp_path: Path) -> None:
    who = Column("who", "int", bounds=(0, 9))
    frame = Frame(PrivacyUnit("who", max_rows=2), who, columns=(COST,))
    for source in sources(tmp_path, [2.0, 2.5, 2.5, 3.0, 2.0, None, 1e300, 2.0], ["a"] * 8):
        with open_source(source, (who, NOTE, COST)) as one:
            mapped = copied(tmp_path, source, (who, NOTE, COST), unit="who")
            with DuckDB(mapped, (who, NOTE, COST)) as other, one.bounded(frame, 5) as here, other.bounded(frame, 5) as there:
                assert values(there.ask(ASKED)) == values(here.ask(ASKED)), source
                assert here.ask(ASKED).values[Item("units")][0] == 2, source


@pytest.mark.parametrize("kind", ["int", "float", "decimal", "bool", "date", "timestamp", "cat", "id"])
def test_a_mapped_value_maps_to_itself(kind: str, tmp_path: Path) -> None:
    from sordino.engines.value_text import typed

    column = Column("x", kind, scale=2)
    for name, held in VALUES.items():
        pq.write_table(pa.table({"x": pa.array([*held, None])}), tmp_path / "x.parquet")
        found = []
        for source in (find_source(tmp_path / "x.parquet"), copied(tmp_path, tmp_path / "x.parquet", (column,))):
            with DuckDB(source, (column,)) as engine, contextlib.closing(engine._cursor()) as cursor:
                scan = engine.source.scan(cursor, (column,))
                found.append(
                    cursor.execute(f"SELECT CAST({typed(column, scan.fields['x'])} AS VARCHAR) FROM {scan.text} ORDER BY ALL").fetchall()
                )
        assert found[0] == found[1], (kind, name)


def test_files_that_store_a_column_differently_are_mapped_each_on_its_own(tmp_path: Path) -> None:
    """Five is 5 in a file of doubles, and stays it when another file of the glob holds text."""
    parts = [pa.array([5.0, 2.5, 1e300]), pa.array(["5.0", "x", None]), pa.array([5, 7, None], pa.int64()), pa.array([True, False, None])]
    for i, part in enumerate(parts):
        pq.write_table(pa.table({"x": part, "n": [i] * 3}), tmp_path / f"{i}.parquet")
    pq.write_table(pa.table({"n": [9]}), tmp_path / "9.parquet")  # a file without the column
    for kind in ("cat", "id", "int", "float", "bool"):
        column = Column("x", kind, bounds=(0, 10) if kind in ("int", "float") else None)
        group = Column("x", "cat" if kind == "id" else kind, bounds=column.bounds)
        frame = Frame(PrivacyUnit(), by=(group,)) if kind in ("cat", "id") else Frame(PrivacyUnit(), columns=(column,))
        asked = Totals((Item("rows"), *((Item("sum", "x"), Item("rows", "x")) if frame.columns else ())))

        def counted(source: Any, column: Column = column, frame: Frame = frame, asked: Totals = asked) -> dict[Any, Any]:
            with open_source(source, (column, Column("n", "int", bounds=(0, 9)))) as engine, engine.bounded(frame, 1) as bounded:
                found = bounded.ask(asked)
                return {(key, item): int(n) for item in asked.items for key, n in zip(found.keys, found.values[item], strict=True)}

        alone: dict[Any, int] = {}
        for i in range(len(parts)):
            for key, n in counted(tmp_path / f"{i}.parquet").items():
                alone[key] = alone.get(key, 0) + n
        empty = ((None,) if frame.by else (), Item("rows"))
        alone[empty] = alone.get(empty, 0) + 1
        assert counted(tmp_path / "*.parquet") == alone, kind


@pytest.mark.parametrize(("texts", "length", "most"), [(1, 256, 61_440), (4, 1_000, 4_096), (1, 10_000, 2_048), (20, 10_000, 2_048)])
def test_a_row_group_is_small_where_texts_may_be_long(texts: int, length: int, most: int, tmp_path: Path) -> None:
    """By declaration: 64 MiB, or the rows that DuckDB writes at once."""
    many = 70_000 if most > 10_000 else 10_000
    columns = (WHO, *(Column(f"n{i}", "cat", max_length=length) for i in range(texts)))
    with duckdb.connect() as connection:
        said = ", ".join(f"'seen ' || i AS {column.name}" for column in columns[1:])
        connection.execute(f"COPY (SELECT i % 100 AS who, {said} FROM range({many}) AS t(i)) TO '{tmp_path / 't.parquet'}'")
        file = copied(tmp_path, tmp_path / "t.parquet", columns, unit="who").paths[0]
        groups = f"SELECT DISTINCT row_group_id, row_group_num_rows FROM parquet_metadata('{file}')"
        sizes = [rows for _, rows in connection.execute(groups).fetchall()]
    assert sum(sizes) == many
    assert max(sizes) <= most
    assert max(sizes) > most // 2, "and no smaller than it need be"
    assert most == 2_048 or most * (4 * length * texts + 64) <= 64 * 2**20


def test_what_needs_an_import(tmp_path: Path) -> None:
    pq.write_table(pa.table({"who": [1], "v": [1], "t": ["1"]}), tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("v\n1\n")
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS v")
    text, never = Column("t", "int", bounds=(0, 9)), Column("t", "never")
    for source, columns, needed in [
        (tmp_path / "t.parquet", (COST,), False), (tmp_path / "t.parquet", (COST, never), False), (tmp_path / "t.parquet", (text,), True),
        (tmp_path / "t.parquet", (WHO,), True), (tmp_path / "t.csv", (COST,), True), (f"{tmp_path / 't.duckdb'}::t", (COST,), False),
        ({"v": ["1"]}, (COST,), False),
    ]:  # fmt: skip
        with open_source(source, columns) as engine:
            assert needs_import(engine) is needed, (source, columns)


def test_an_import_is_known_by_its_source_and_its_declaration(tmp_path: Path) -> None:
    source, file = tmp_path / "t.csv", tmp_path / "t.imported"
    source.write_text("who,note\n1,a\n")
    wanted = Wanted(find_source(source), (WHO, NOTE))
    assert find_import(file, wanted) is None
    made = write_import(file, wanted)
    assert find_import(file, wanted) == made
    assert oct(file.stat().st_mode)[-3:] == "600"
    assert find_import(file, Wanted(find_source(source), (WHO, Column("note", "cat", max_length=3)))) is None
    assert find_import(file, Wanted(find_source(source), (WHO, NOTE), unit="who", fold_ids=True)) is None
    source.write_text("who,note\n1,a\n2,b\n")
    with pytest.raises(QueryError, match=r"written after it was imported.*--again"):
        find_import(file, Wanted(find_source(source), (WHO, NOTE)))
    file.write_bytes(b"no parquet")
    assert find_import(file, wanted) is None


def test_an_import_that_is_stopped_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, file = tmp_path / "t.csv", tmp_path / "t.imported"
    source.write_text("who,note\n1,a\n")
    write_import(file, Wanted(find_source(source), (WHO, NOTE)))
    before = file.read_bytes()
    source.write_text("who,note\n" + "1,a\n" * 200_000)

    def stop(percent: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(imported, "OFTEN", 0.001)
    with pytest.raises(KeyboardInterrupt):
        write_import(file, Wanted(find_source(source), (WHO, NOTE)), stop)
    assert file.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [".t.imported.lock", "t.csv", "t.imported"]
    assert threading.active_count() == 1
    (tmp_path / ".t.imported.x.part").write_text("of somebody who was killed")
    heard: list[float] = []
    write_import(file, Wanted(find_source(source), (WHO, NOTE)), heard.append)
    assert not list(tmp_path.glob("*.part"))
    assert heard
    assert all(0 <= percent <= 100 for percent in heard)


TWIN = """
import json, resource, sys
from sordino.engines.duckdb import DuckDB
from sordino.engines.imported import Wanted, find_import
from sordino.engines.source import find_source
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.frame import Frame
from sordino.schema.expression import Like, Name
from sordino.summaries.totals import Item, Totals
from pathlib import Path

source, way = Path(sys.argv[1]), sys.argv[2]
columns = who, note, cost = Column("who", "id"), Column("note", "cat"), Column("v", "int", bounds=(0, 9))
found = find_source(source)
if way == "imported":
    found = find_import(source.with_suffix(".imported"), Wanted(found, columns, "who"))
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
resource.setrlimit(resource.RLIMIT_AS, (2 * 2**30, 2 * 2**30))
unit = PrivacyUnit("who", max_rows=3, max_groups=2)
kinds = []
with DuckDB(found, columns, memory=sys.argv[3], threads=1, disk=sys.argv[4] or None) as engine:
    for frame in (Frame(unit, who, columns=(cost,)), Frame(unit, who, by=(note,)), Frame(unit, who, where=Like(Name("note"), "%Q%"))):
        try:
            with engine.bounded(frame, 1) as bounded:
                kinds.append(type(bounded.ask(Totals((Item("rows"), Item("units"))))).__name__)
        except Exception as error:
            kinds.append("failed")
print(json.dumps(kinds))
"""


PLAIN: dict[str, Any] = {"use_dictionary": False, "compression": "zstd"}  # what a writer does once a dictionary has grown too large


def kinds(source: Path, way: str, memory: str = "100MB", disk: str = "") -> list[str]:
    """What a release ends with: on a disk of 20 MB of its own, or with as much of this one as is said."""
    if way == "imported":  # by the owner, without the limits of a release
        write_import(source.with_suffix(".imported"), Wanted(find_source(source), (WHO, NOTE, COST), "who"))
    begin = [] if disk else small_disk(source.parent)
    disk = disk or ("" if begin else "20MB")  # who may not mount has DuckDB's own limit
    command = [*begin, sys.executable, "-c", TWIN, source, way, memory, disk]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: list[str] = json.loads(done.stdout)
    return found


def small_disk(folder: Path) -> list[str]:
    """How to begin a command whose temporary folder is a disk that is soon full; nothing for who may not mount one."""
    small = folder / "small"
    small.mkdir(exist_ok=True)
    begin = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=20m small "$0" && TMPDIR="$0" exec "$@"', str(small)]
    if subprocess.run([*begin, "true"], check=False, capture_output=True).returncode == 0:
        return begin
    assert os.environ.get("CI") != "true" or os.geteuid() != 0, "a disk that is full was not tried: root may mount one"
    return []


def test_a_check_of_every_change_does_not_skip_the_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))  # where no unshare is
    (tmp_path / "unshare").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "unshare").chmod(0o700)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("CI", "")
    assert small_disk(tmp_path) == []
    monkeypatch.setenv("CI", "true")
    with pytest.raises(AssertionError, match="was not tried"):
        small_disk(tmp_path)


ADDED = {"long notes": ("evil", "Q" * 200_000, 5_000), "a long id": ("e" * 200_000, "Q", 5_000), "many rows": ("evil", "Q", 300_000)}


@pytest.mark.parametrize("who", ADDED)
def test_under_limits_of_memory_disk_and_time_neighbours_get_the_same_kind_of_answer(who: str, tmp_path: Path) -> None:
    """5,000 rows of a text of 200 kB are a gigabyte in memory and little on disk: read from the file itself, a release fails.

    A person's many rows need memory and disk, which the owner provides: with a twentieth of that disk they fail where the others do not.
    """
    people = {"who": [f"p{i % 50}" for i in range(500)], "note": ["ok"] * 500}
    added, many = ADDED[who], who == "many rows"
    worlds = {
        "without": (people["who"], people["note"]),
        "with": tuple([*people[name], *[added[i]] * added[2]] for i, name in enumerate(people)),
    }
    for name, (ids, notes) in worlds.items():
        pq.write_table(pa.table({"who": ids, "note": notes, "v": [1] * len(ids)}), tmp_path / f"{name}.parquet", **PLAIN)
    assert (tmp_path / "with.parquet").stat().st_size < 1_000_000
    memory, answered = "24MB" if many else "100MB", ["GroupTotals"] * 3
    for name in worlds:
        assert kinds(tmp_path / f"{name}.parquet", "imported", memory) == answered
    bitten = ("imported", memory, "1MB") if many else ("file", memory)
    assert "failed" in kinds(tmp_path / "with.parquet", *bitten), "or the limits show nothing"
    assert kinds(tmp_path / "without.parquet", *bitten) == answered


def test_a_killed_import_leaves_nothing_that_is_taken_for_one(tmp_path: Path) -> None:
    source, file = tmp_path / "t.csv", tmp_path / "t.imported"
    source.write_text("who,note\n" + "1,a\n" * 300_000)
    code = (
        "import os, signal, sys; from pathlib import Path; from sordino.engines import imported\n"
        "from sordino.engines.source import find_source\n"
        "from sordino.schema.column import Column; imported.OFTEN = 0.001\n"
        "wanted = imported.Wanted(find_source(sys.argv[1]), (Column('who', 'id'), Column('note', 'cat')))\n"
        "imported.write_import(Path(sys.argv[2]), wanted, lambda _: os.kill(os.getpid(), signal.SIGKILL))"
    )
    assert subprocess.run([sys.executable, "-c", code, source, file], check=False).returncode == -signal.SIGKILL
    wanted = Wanted(find_source(source), (WHO, NOTE))
    assert find_import(file, wanted) is None
    write_import(file, wanted)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".t.imported.lock", "t.csv", "t.imported"]
    assert os.stat(file).st_size
