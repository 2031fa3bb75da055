"""CSV rows are local: whatever a line holds, nobody else's row changes."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from sordino.engines.source import open_source
from sordino.errors import QueryError
from sordino.schema.column import Column
from sordino.schema.declaration import Delimited, delimited

PERSON, AGE, CITY = Column("person", "id"), Column("age", "int", bounds=(0, 120)), Column("city", "cat")
COLUMNS = (PERSON, AGE, CITY)
AWKWARD = [
    b'x,1,"open', b'"x,1,open', b'x,"1,open', b'x,1,"a""', b'x,1,"a"b', b'x,1,a"b', b'x,1,"a"b"', b'"""', b'"', b'""', b'x,1,""""',
    b'x,1,\\"',
    b"x", b"", b" ", b"x,1,a,b,c,d", b",,,,,,,,,", b"x,1,\xff\xfe", b"\xff", b"x,1,\xc3", b"x,1,\x00", b"\x00\x00", b"x,1,a\rb", b"x,1,a\r",
    b"\r\r\r", b"x,1," + b"y" * 100_000, b'x,1,"' + b"y" * 3_000_000, b"x,1,\x01\x02\x01\x03,z", b"# x,1,a", b"x;1;a", b"'x',1,'a",
    b"x,1,\xe2\x80\xa8b", b"x,1,a\x1ab",
]  # fmt: skip
OTHERS = [f"p{i},{i % 100},{'Ulm' if i % 3 else chr(34) + 'a, b' + chr(34)}".encode() for i in range(3_000)]


def rows(path: Path, written: Delimited | None = None, columns: tuple[Column, ...] = COLUMNS) -> list[tuple[Any, ...]]:
    with open_source(path, columns, csv=written) as engine:
        cursor = engine._cursor()
        scan = engine.source.scan(cursor, columns)
        reads = ", ".join(scan.fields[column.name].sql for column in columns)
        return cursor.execute(f"SELECT {reads} FROM {scan.text}").fetchall()


def write(path: Path, lines: list[bytes], end: bytes = b"\n") -> Path:
    path.write_bytes(end.join([b"person,age,city", *lines]) + end)
    return path


@pytest.mark.parametrize("place", [0, 1_500, 3_000])
def test_an_awkward_line_changes_nobody_elses_row(tmp_path: Path, place: int) -> None:
    alone = sorted(rows(write(tmp_path / "a.csv", OTHERS)))
    assert len(alone) == len(OTHERS)
    for line in AWKWARD:
        found = rows(write(tmp_path / "b.csv", [*OTHERS[:place], line, *OTHERS[place:]]))
        others = sorted(row for row in found if row[0] is not None and row[0].startswith("p"))
        assert others == alone, line[:40]
        assert len(found) <= len(alone) + 1 + line.count(b"\r"), line[:40]


def test_two_awkward_lines_do_not_meet(tmp_path: Path) -> None:
    for first in AWKWARD[:12]:
        found = rows(write(tmp_path / "b.csv", [first, *OTHERS[:50], b'y,1,"', *OTHERS[50:99], first]))
        assert len([row for row in found if (row[0] or "").startswith("p")]) == 99


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (b"a,1,b", ("a", "1", "b")),
        (b'"a","1","b, c"', ("a", "1", "b, c")),
        (b'a,1,"say ""hi"", you"', ("a", "1", 'say "hi", you')),
        (b'a,1,"b"c', ("a", "1", "bc")),
        (b'a,1,b"c', ("a", "1", 'b"c')),
        (b'a,1,"open', ("a", "1", '"open')),
        (b'a,,""', ("a", None, None)),
        (b'a,"1"', ("a", "1", None)),
        (b",,c", (None, None, "c")),
        (b'a,1," b "', ("a", "1", " b ")),
    ],
)
def test_fields_are_what_the_line_says(tmp_path: Path, line: bytes, fields: tuple[Any, ...]) -> None:
    for end in (b"\n", b"\r\n"):
        assert rows(write(tmp_path / "t.csv", [line], end)) == [fields]
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes()))
    assert rows(tmp_path / "t.csv.gz") == [fields]


@pytest.mark.parametrize("mark", [";", "\t", "|", ":", "^", "~", ","])
def test_a_delimiter_can_be_declared(tmp_path: Path, mark: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f'person{mark}age{mark}city\na{mark}1{mark}"b{mark}c"\nd{mark}2{mark}e.f-g\n')
    assert rows(path, delimited({"delimiter": mark})) == [("a", "1", f"b{mark}c"), ("d", "2", "e.f-g")]


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8"])
def test_an_encoding_can_be_declared(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "t.csv").write_bytes("person,age,städte\nä,1,Öhringen\n".encode(encoding))
    found = rows(tmp_path / "t.csv", delimited({"encoding": encoding}), (PERSON, AGE, Column("städte", "cat")))
    assert found == [("ä", "1", "Öhringen")]


def test_a_decimal_comma_can_be_declared(tmp_path: Path) -> None:
    weight = Column("age", "float", bounds=(0, 120))
    (tmp_path / "t.csv").write_text("person;age;city\na;1,5;x,y\nb;1.5;z\nc;1.234,5;z\nd;7;z\n")
    found = rows(tmp_path / "t.csv", delimited({"delimiter": ";", "decimal": ","}), (PERSON, weight, CITY))
    assert sorted(found) == [("a", "1.5", "x,y"), ("b", None, "z"), ("c", None, "z"), ("d", "7", "z")]


def test_line_breaks_in_fields_must_be_declared(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", [b'a,1,"two\nlines"'])
    assert rows(path, delimited({"multiline": True})) == [("a", "1", "two\nlines")]
    assert len(rows(path)) == 2


@pytest.mark.parametrize(
    "said", [{"delimiter": ";;"}, {"delimiter": "a"}, {"encoding": "utf-7"}, {"decimal": "x"}, {"multiline": 1}, {"mark": ","}, 5]
)
def test_a_wrong_declaration_is_refused(said: Any) -> None:
    with pytest.raises(QueryError, match="SRD-204"):
        delimited(said)


def test_only_a_csv_file_has_lines() -> None:
    with pytest.raises(QueryError, match="not a CSV file"):
        open_source({"age": [1]}, (AGE,), csv=Delimited())
