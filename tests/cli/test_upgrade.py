"""The two upgrades of an owner: the dataset file's and the ledger's."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from ledger.make_golden1 import EXPORT, LEDGER, rows
from sordino.cli.app import main
from sordino.ledger import adopt, read_ledger
from sordino.plan.dataset import read_dataset

FILE = """[dataset]
name = "people"
ledger = "people.ledger"
[privacy]
unit_column = "who"
max_rows = 2
max_groups = 3
[budget]
epsilon = 200
delta = 1e-3
[tables.people]
source = "people.csv"
[tables.people.columns]
age = { type = "int", bounds = [0, 120] }
sex = { type = "cat", values = ["f", "m"] }
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SORDINO_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("SORDINO_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    table = rows()
    lines = [",".join(table), *(",".join(map(str, row)) for row in zip(*table.values(), strict=True))]
    Path("people.csv").write_text("\n".join(lines) + "\n")
    Path("people.toml").write_text(FILE)
    shutil.copyfile(LEDGER, "people.ledger")
    return tmp_path


def run(capsys, *words):
    capsys.readouterr()
    code = main(list(words))
    said = capsys.readouterr()
    return code, said.out, said.err


def told(capsys, *words):
    code, out, _ = run(capsys, *words, "--json")
    return code, json.loads(out)


def test_an_old_file_is_refused_with_the_lines_to_write_and_then_upgraded(folder, capsys):
    code, _, err = run(capsys, "budget")
    assert code == 5
    for words in ("format = 2", "max_rows = 6", "max_rows_per_group = 2", "sordino config upgrade people.toml"):
        assert words in " ".join(err.split())
    code, out, _ = run(capsys, "config", "upgrade", "people.toml")
    assert code == 0
    assert "format = 2, max_rows = 6, max_rows_per_group = 2" in " ".join(out.split())
    assert Path("people.toml.format1").read_text() == FILE
    assert not list(folder.glob("*.draft"))
    code, said = told(capsys, "config", "upgrade", "people.toml")
    assert (code, said["upgraded"], said["format"]) == (0, False, 2)
    assert read_dataset("people.toml").unit.rows_per_group == 2


def test_an_upgrade_tells_scripts_what_it_wrote(folder, capsys):
    code, said = told(capsys, "config", "upgrade")
    assert (code, said["upgraded"], said["copy"]) == (0, True, "people.toml.format1")
    assert said["wrote"] == ["format = 2", "max_rows = 6", "max_rows_per_group = 2"]


def test_an_upgrade_never_writes_over_an_earlier_copy(folder, capsys):
    Path("people.toml.format1").write_text("precious")
    assert run(capsys, "config", "upgrade")[0] == 5
    assert (Path("people.toml").read_text(), Path("people.toml.format1").read_text()) == (FILE, "precious")


@pytest.mark.parametrize(
    "text",
    ["", "[dataset]\nformat = 3\nname = 'x'\nledger = 'y'\n[privacy]\n[budget]\nepsilon = 1\n[tables.t]\nsource = 'z'\n", "dataset = 5"],
)
def test_a_file_that_cannot_be_upgraded_is_left_as_it_is(folder, capsys, text):
    Path("people.toml").write_text(text)
    assert run(capsys, "config", "upgrade", "people.toml")[0] == 5
    assert Path("people.toml").read_text() == text
    assert not Path("people.toml.format1").exists()


def test_the_ledger_is_upgraded_once_and_one_way(folder, capsys):
    run(capsys, "config", "upgrade")
    adopt("people.ledger", epsilon=0)  # it was made in another folder; that writes the first entry of format 2
    code, said = told(capsys, "ledger", "upgrade")
    assert (code, said["upgraded"]) == (0, False)
    for words in (("ledger", "list"), ("ledger", "verify"), ("ledger", "export", "out.jsonl")):
        assert run(capsys, *words)[0] == 0
    code, listed = told(capsys, "ledger", "list", "--last", "100")
    assert {row["at"] for row in listed} == {""}
    assert run(capsys, "query", "SELECT SUM(age) FROM people", "--epsilon", "1")[0] == 0
    code, listed = told(capsys, "ledger", "list")
    assert listed[-1]["at"].endswith("Z")


def test_a_ledger_of_format_1_that_its_witness_knows_is_upgraded_by_the_verb(folder, capsys, monkeypatch):
    from sordino.ledger.balance import LedgerTally
    from sordino.ledger.budget import of_grains
    from sordino.ledger.place import Sighting, WitnessFile

    run(capsys, "config", "upgrade")
    with read_ledger("people.ledger") as book:
        tally, place = LedgerTally.from_text(book.head.state), str(folder / "people.ledger")
        seen = Sighting(book.id, place, book.head.count, book.head.hash, tally.spent, of_grains(tally.naive))
        WitnessFile(folder / "state" / "witness" / f"{book.id}.witness", book.id, place).write(seen)
    assert "chain whole" in run(capsys, "ledger", "verify")[1]
    assert not Path("people.ledger.format1").exists(), "looking at it does not upgrade it"
    code, out, _ = run(capsys, "ledger", "upgrade", "--yes")
    assert code == 0
    assert "format 2 now" in out
    with read_ledger("people.ledger.format1") as copy:
        assert copy.export() == EXPORT.read_text(encoding="ascii")
    assert told(capsys, "ledger", "upgrade")[1]["upgraded"] is False
    assert "41 entries, chain whole" in run(capsys, "ledger", "verify")[1]


def test_init_writes_the_present_format(folder, capsys):
    assert run(capsys, "init", "people.csv", "--out", "new.toml", "--unit", "who", "--limits", "6,3,2", "--bounds", "age=0:120")[0] == 0
    text = Path("new.toml").read_text()
    for line in ("format = 2", "max_rows = 6", "max_groups = 3", "max_rows_per_group = 2"):
        assert line in text.splitlines()
