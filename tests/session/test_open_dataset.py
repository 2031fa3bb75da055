from __future__ import annotations

import pytest
from tests.session.people import rows
from tests.session.sources import csv, parquet

import sordino as sd
from sordino.errors import BudgetExceeded, LedgerError, QueryError
from sordino.plan.dataset import read_dataset
from sordino.session.open_dataset import import_dataset, import_file, open_dataset

HOSPITAL = """
[dataset]
format = 2
name = "hospital-2025"
version = "1"
ledger = "hospital.ledger"
relation = "add_remove"
owner_log = "owner.log"
[privacy]
unit = "patient"
unit_column = "patient_id"
max_rows = 8
max_groups = 4
[budget]
epsilon = 3.0
delta = 1e-6
accounting = "pure"
max_per_release = 0.5
[budget.analysts]
amina = { epsilon = 1.0 }
[tables.admissions]
source = "admissions.parquet"
size = 12_000
[tables.admissions.columns]
patient_id = { type = "id" }
cost = { type = "int", bounds = [0, 1_000_000] }
sex  = { type = "cat", values = ["f", "m", "x"] }
diagnosis = { type = "cat", keys = "private" }
note = { access = "never" }
[tables.visits]
source = "visits.csv"
[tables.visits.columns]
patient_id = { type = "id" }
age = { type = "int", bounds = [0, 120] }
[tables.regions]
source = "regions.csv"
public = true
unique = ["region"]
[server]
deadline_ms = 500
"""


@pytest.fixture
def folder(tmp_path):
    data = rows()
    admissions = {
        "patient_id": data["person"], "cost": [int(v) for v in data["income"]], "sex": data["sex"], "diagnosis": data["zip"],
        "note": ["secret"] * 240,
    }  # fmt: skip
    parquet(admissions, tmp_path)
    (tmp_path / "rows.parquet").rename(tmp_path / "admissions.parquet")
    csv({"patient_id": data["person"], "age": data["age"]}, tmp_path)
    (tmp_path / "rows.csv").rename(tmp_path / "visits.csv")
    (tmp_path / "regions.csv").write_text("region,name\n1,north\n")
    (tmp_path / "hospital.toml").write_text(HOSPITAL)
    return tmp_path


def test_a_dataset_file_opens_tables_that_share_one_ledger(folder, monkeypatch):
    monkeypatch.chdir("/")
    with sd.open(folder / "hospital.toml") as hospital:
        assert set(hospital.tables) == {"admissions", "visits"}
        assert {"admissions", "visits"} <= set(dir(hospital))
        one = hospital.admissions.group_by("sex").median("cost").release(epsilon=0.5, analyst="amina")
        assert one.to_dict()["sex"] == ["f", "m", "x"]
        hospital.visits.mean("age").release(epsilon=0.25)
        assert hospital.budget.spent == hospital.admissions.budget.spent == hospital.visits.budget.spent == 0.75
        assert one.card["privacy unit"]["unit"] == "patient"
        assert (one.card["dataset"], one.card["table"]) == ("hospital-2025", "admissions")
        with pytest.raises(BudgetExceeded, match="SRD-303"):
            hospital.visits.count().release(epsilon=0.6)
        with pytest.raises(BudgetExceeded, match="SRD-302"):
            hospital.visits.count().release(epsilon=0.1, analyst="bo")
        assert "hospital-2025" in repr(hospital)
    assert (folder / "hospital.ledger").exists()
    with sd.open(str(folder / "hospital.toml")) as again:
        assert again.budget.spent == 0.75
        assert again.admissions.group_by("sex").median("cost").release(epsilon=0.5).to_bytes() == one.to_bytes()


def test_two_tables_of_one_dataset_are_two_questions(folder):
    with sd.open(folder / "hospital.toml") as hospital:
        first, second = hospital.admissions.count(), hospital.visits.count()
        assert first.key() != second.key()


def test_private_keys_take_their_delta_from_the_pool(folder):
    with sd.open(folder / "hospital.toml") as hospital:
        release = hospital.admissions.group_by("diagnosis").count().release(epsilon=0.5)
        assert float(release.cost.delta) == 1e-8


def test_what_is_never_accessible_and_what_is_public_are_no_tables_to_ask(folder):
    with sd.open(folder / "hospital.toml") as hospital:
        with pytest.raises(QueryError, match="never accessible"):
            hospital.admissions.group_by("note")
        with pytest.raises(QueryError, match="never accessible"):
            hospital.admissions.where("note = 'x'")
        with pytest.raises(AttributeError, match="no private table 'regions'"):
            _ = hospital.regions
        with pytest.raises(AttributeError, match="admissions"):
            _ = hospital.admission


@pytest.mark.parametrize(
    ("old", "new", "say"),
    [
        ('unit_column = "patient_id"', 'unit_column = "person"', "person"),
        ("epsilon = 3.0", "epsilon = -3", "epsilon"),
        ("cost = {", "costs = {", "costs"),
        ("max_rows = 8", "max_row = 8", "max_row"),
        ('source = "visits.csv"', 'source = "nowhere.csv"', "nowhere"),
        ('ledger = "hospital.ledger"', "", "ledger"),
    ],
)
def test_a_wrong_dataset_file_is_refused_and_makes_no_ledger(folder, old, new, say):
    (folder / "hospital.toml").write_text(HOSPITAL.replace(old, new))
    with pytest.raises(QueryError) as caught:
        sd.open(folder / "hospital.toml")
    assert say in str(caught.value)
    assert not (folder / "hospital.ledger").exists()


def test_the_files_of_a_dataset_belong_to_its_ledger(folder):
    with sd.open(folder / "hospital.toml"):
        pass
    with pytest.raises(LedgerError, match="SRD-604"):
        sd.table(folder / "visits.csv", budget=sd.Budget(epsilon=1))


def test_a_new_version_of_a_dataset_keeps_the_budget(folder):
    with sd.open(folder / "hospital.toml") as hospital:
        first = hospital.visits.count().release(epsilon=0.5)
    (folder / "hospital.toml").write_text(HOSPITAL.replace('version = "1"', 'version = "2"'))
    with sd.open(folder / "hospital.toml") as newer:
        assert newer.budget.spent == 0.5
        assert newer.visits.count().release(epsilon=0.5).id != first.id
        assert newer.budget.spent == 1


def test_the_owners_log_of_a_dataset_is_relative_to_its_file(folder, monkeypatch):
    with sd.open(folder / "hospital.toml") as hospital:
        (folder / "visits.csv").unlink()
        with pytest.raises(sd.errors.ReleaseFailed):
            hospital.visits.count().release(epsilon=0.5)
    assert (folder / "owner.log").stat().st_mode & 0o777 == 0o600
    assert "visits.csv" in (folder / "owner.log").read_text()


def test_an_import_gives_no_second_budget(folder):
    file = folder / "hospital.toml"
    with open_dataset(file, imported=True) as opened:
        opened.admissions.count().release(epsilon=0.5)
        before = str(opened.budget)
        assert {name: type(item.engine.source).__name__ for name, item in opened.tables.items()} == {
            "admissions": "Imported",
            "visits": "Imported",
        }
    assert [item["done"] for item in import_dataset(file)] == ["was imported"] * 2
    assert [item["done"] for item in import_dataset(file, again=True)] == ["imported"] * 2
    for imported in (True, False):  # through the import or not: the same book, and the recorded answer of the same question
        with open_dataset(file, imported=imported) as opened:
            assert str(opened.budget) == before
            assert "recalled" in str(opened.admissions.count().release(epsilon=0.5))
    copy = import_file(read_dataset(file), "admissions")
    (folder / "another.parquet").symlink_to(copy)
    with pytest.raises(LedgerError, match="another ledger"):
        sd.table(str(folder / "another.parquet"), budget=sd.Budget(epsilon=3), ledger=str(folder / "second.ledger"))


def test_a_source_that_changed_is_imported_only_when_its_owner_says_so(folder):
    file = folder / "hospital.toml"
    with open_dataset(file, imported=True) as opened:
        opened.visits.count().release(epsilon=0.5)
        before = str(opened.budget)
    source = folder / "visits.csv"
    source.write_text(source.read_text() + source.read_text().splitlines()[-1] + "\n")
    for refused in (lambda: open_dataset(file, imported=True), lambda: import_dataset(file)):
        with pytest.raises(QueryError, match=r"written after it was imported.*--again"):
            refused()
    heard = []
    import_dataset(file, again=True, tell=lambda table, percent: heard.append(table))
    assert set(heard) <= {"admissions", "visits"}
    with open_dataset(file, imported=True) as opened:
        assert str(opened.budget) == before, "new rows under the old version: the budget goes on"
    file.write_text(file.read_text().replace('diagnosis = { type = "cat"', 'diagnosis = { type = "cat", max_length = 2'))
    with open_dataset(file, imported=True) as opened:  # another declaration of the same file is no other data
        keys = opened.admissions.engine.columns["diagnosis"].max_length
    assert keys == 2


def test_an_unforeseen_failure_while_a_question_is_built_is_a_query_error(folder, monkeypatch):
    def fail(*_):
        raise OverflowError("date value out of range")

    for reader in ("read_select", "read_view"):
        monkeypatch.setattr(f"sordino.session.open_dataset.{reader}", fail)
    with sd.open(folder / "hospital.toml") as hospital:
        for build in (hospital.sql, hospital.view):
            with pytest.raises(QueryError, match=r"OverflowError.*Nothing was spent"):
                build("SELECT COUNT(*) FROM visits")
