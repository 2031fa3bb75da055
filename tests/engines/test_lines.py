"""CSV rows are local: whatever a line holds, nobody else's row changes."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from sordino.cli.declare import _written as suggested
from sordino.engines.source import open_source
from sordino.errors import QueryError
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.declaration import Delimited, delimited
from sordino.schema.frame import Frame
from sordino.summaries.totals import Item, Totals

PERSON, AGE, CITY = Column("person", "id"), Column("age", "int", bounds=(0, 120)), Column("city", "cat")
COLUMNS = (PERSON, AGE, CITY)
AWKWARD = [
    b'x,1,"open', b'"x,1,open', b'x,"1,open', b'x,1,"a""', b'x,1,"a"b', b'x,1,a"b', b'x,1,"a"b"', b'"""', b'"', b'""', b'x,1,""""',
    b'x,1,\\"',
    b"x", b"", b" ", b"x,1,a,b,c,d", b",,,,,,,,,", b"x,1,\xff\xfe", b"\xff", b"x,1,\xc3", b"x,1,\x00", b"\x00\x00", b"x,1,a\rb", b"x,1,a\r",
    b"\r\r\r", b"x,1," + b"y" * 100_000, b'x,1,"' + b"y" * 3_000_000, b"x,1,\x01\x02\x01\x03,z", b"# x,1,a", b"x;1;a", b"'x',1,'a",
    b"x,1,\xe2\x80\xa8b", b"x,1,a\x1ab",
]  # fmt: skip
OTHERS = [f"p{i},{i % 100},{'Ulm' if i % 3 else chr(34) + 'a, b' + chr(34)}".encode() for i in range(99)]


def rows(path: Path, written: Delimited | None = None, columns: tuple[Column, ...] = COLUMNS) -> list[tuple[Any, ...]]:
    with open_source(path, columns, csv=written) as engine:
        cursor = engine._cursor()
        scan = engine.source.scan(cursor, columns)
        reads = ", ".join(scan.fields[column.name].sql for column in columns)
        return cursor.execute(f"SELECT {reads} FROM {scan.text}").fetchall()


def write(path: Path, lines: list[bytes], end: bytes = b"\n") -> Path:
    path.write_bytes(end.join([b"person,age,city", *lines]) + end)
    return path


def wide(text: bytes) -> bytes:
    """Each byte as a character of UTF-16."""
    return text.decode("latin-1").encode("utf-16-le")


def packed(path: Path, lines: list[bytes], encoding: str) -> Path:
    """The same lines in an encoding; awkward ones stay the bytes they are."""
    start, end = (b"\xff\xfe", wide(b"\n")) if encoding == "utf-16" else (b"", b"\n")
    header = wide(b"person,age,city") if encoding == "utf-16" else b"person,age,city"
    path.write_bytes(start + end.join([header, *lines, b""]))
    return path


ENCODED = {  # an encoding, and lines that are awkward in it
    "utf-8": AWKWARD,
    "latin-1": [*AWKWARD, b"x,1,\x80\x93quoted\x94", b"\x80", bytes(range(0x80, 0xA0)), b"x\x85y,1,a"],
    "windows-1252": [*AWKWARD, b"x,1,\x80\x93quoted\x94", b"\x81\x8d\x8f\x90\x9d", bytes(range(0x80, 0xA0))],
    "utf-16": [
        *map(wide, AWKWARD), b"\x00\xd8", b"\x00\xdc", b"x\x00\x00\xd8", wide(b"x,1,") + b"\x00\xdc\x00\xd8", b"\xff\xff", b"\xff\xfe",
        "x,1,\N{GRINNING FACE}".encode("utf-16-le"), "\ufeffx,1,a".encode("utf-16-le"), "\u0a0a,1,\u0d0d".encode("utf-16-le"),
    ],
}  # fmt: skip
PEOPLE = [f"p{i},{i % 100},{'Ulm' if i % 3 else chr(34) + 'ä, b' + chr(34)}" for i in range(3_000)]


@pytest.mark.parametrize(("encoding", "place"), [*((encoding, 1_500) for encoding in ENCODED), ("utf-8", 0), ("utf-8", 3_000)])
def test_an_awkward_line_changes_nobody_elses_row(tmp_path: Path, encoding: str, place: int) -> None:
    said = delimited({"encoding": encoding})
    others = [line.encode("utf-16-le" if encoding == "utf-16" else encoding) for line in PEOPLE]
    alone = sorted(rows(packed(tmp_path / "a.csv", others, encoding), said))
    assert len(alone) == len(others)
    assert alone[0][2] == "ä, b"
    for line in ENCODED[encoding]:
        found = rows(packed(tmp_path / "b.csv", [*others[:place], line, *others[place:]], encoding), said)
        theirs = sorted(row for row in found if row[0] is not None and row[0].startswith("p"))
        assert theirs == alone, line[:40]
        assert len(found) <= len(alone) + 1 + line.count(b"\r"), line[:40]


def test_what_is_no_character_is_one_that_stands_for_it(tmp_path: Path) -> None:
    odd = {
        "latin-1": ("\x80\x9f\xff", b"\x80\x9f\xff"),
        "windows-1252": ("€\ufffdÿ", b"\x80\x81\xff"),
        "utf-16": ("\ufffda", b"\x00\xd8a\x00"),
    }
    for encoding, (text, stored) in odd.items():
        line = (wide(b"x,1,") if encoding == "utf-16" else b"x,1,") + stored
        assert rows(packed(tmp_path / "t.csv", [line], encoding), delimited({"encoding": encoding})) == [("x", "1", text)]


def test_an_odd_last_byte_and_the_other_byte_order_are_read(tmp_path: Path) -> None:
    for codec, mark in (("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")):
        whole = mark + "person,age,city\np,1,Ulm\nx,2,Ulm".encode(codec)
        for stored in (whole, whole + b"\x00", whole + b"\xd8"):
            (tmp_path / "t.csv").write_bytes(stored)
            found = rows(tmp_path / "t.csv", delimited({"encoding": "utf-16"}))
            assert sorted(found)[0] == ("p", "1", "Ulm")
            assert len(found) == 2


@pytest.mark.parametrize("encoding", ["latin-1", "windows-1252", "utf-16"])
def test_a_release_of_a_copied_file_is_answered_and_a_written_file_is_copied_again(tmp_path: Path, encoding: str) -> None:
    path, said = tmp_path / "t.csv", delimited({"encoding": encoding})
    line = wide(b"x,7,") + b"\x00\xd8" if encoding == "utf-16" else b"x,7,\x81\x93"
    packed(path, [line], encoding)
    asked = Frame(PrivacyUnit("person", max_rows=2), PERSON, columns=(AGE,)), Totals((Item("rows"), Item("sum", "age")))
    with open_source(path, COLUMNS, csv=said) as engine:
        assert engine._spill is not None
        folder = engine._spill.folder
        assert not list(folder.iterdir()), "opening reads the header alone"
        for again in range(3):
            if again == 2:
                packed(path, [line, line], encoding)
            with engine.bounded(asked[0], 1) as bounded:
                found = bounded.ask(asked[1]).values
            assert [int(values[0]) for values in found.values()] == [1 + again // 2, 7 * (1 + again // 2)]
            (copy,) = folder.glob("*.utf8")
            assert copy.stat().st_mode & 0o777 == 0o600
    assert not folder.exists()


def test_the_encoding_that_is_written_for_a_new_owner(tmp_path: Path) -> None:
    for encoding, text in (("utf-8", "Müller"), ("latin-1", "Müller"), ("windows-1252", "Müller’s"), ("utf-16", "Müller")):
        (tmp_path / "t.csv").write_bytes(f"person,age,city\n{text},1,a\n".encode(encoding))
        found = suggested(tmp_path / "t.csv")
        assert (found.encoding if found else "utf-8") == encoding


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_line_breaks_in_fields_of_a_copied_file(tmp_path: Path, encoding: str) -> None:
    line = 'a,1,"zwei\nÄcker"'.encode("utf-16-le" if encoding == "utf-16" else encoding)
    path = packed(tmp_path / "t.csv", [line], encoding)
    assert rows(path, delimited({"encoding": encoding, "multiline": True})) == [("a", "1", "zwei\nÄcker")]


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


@pytest.mark.parametrize("encoding", ["latin-1", "windows-1252", "utf-16", "utf-8"])
def test_an_encoding_can_be_declared(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "t.csv").write_bytes("person,age,städte\nä,1,Öhringen\n".encode(encoding))
    found = rows(tmp_path / "t.csv", delimited({"encoding": encoding}), (PERSON, AGE, Column("städte", "cat")))
    assert found == [("ä", "1", "Öhringen")]
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes()))
    assert rows(tmp_path / "t.csv.gz", delimited({"encoding": encoding}), (PERSON, AGE, Column("städte", "cat"))) == found


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
