"""The dataset file: every key, every refusal with its line, and no data opened."""

from fractions import Fraction
from pathlib import Path

import pytest

from sordino.errors import QueryError
from sordino.plan.dataset import Allowance, read_dataset
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.declaration import Delimited

EXAMPLE = """[dataset]
format = 2
name = "hospital-2025"
version = "1"
ledger = "hospital.ledger"             # or postgres:// ; paths are relative to this file; unknown keys are errors
relation = "add_remove"
[privacy]
unit = "patient"                       # the word for people on cards
unit_column = "patient_id"
max_rows = 8
max_groups = 4
[budget]
epsilon = 3.0
delta = 1e-6
accounting = "pure"                    # or "zcdp"
max_per_release = 0.5
[budget.analysts]
amina = { epsilon = 1.0 }
[tables.admissions]
source = "admissions.parquet"          # duckdb, parquet glob, csv, postgres://, spark table
size = 12_000
[tables.admissions.columns]
patient_id = { type = "id" }
cost = { type = "int", bounds = [0, 1_000_000] }
sex  = { type = "cat", values = ["f", "m", "x"] }
diagnosis = { type = "cat", keys = "private" }
note = { access = "never" }
[tables.regions]
source = "regions.csv"
public = true                          # may be joined
unique = ["region"]
[server]
deadline_ms = 500
"""
SMALL = """[dataset]
format = 2
name = "d"
ledger = "d.ledger"
[privacy]
[budget]
epsilon = 1
[tables.t]
source = "t.csv"
"""


def _read(folder, text):
    path = folder / "data.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return read_dataset(path)


def test_the_example_of_the_documentation(tmp_path):
    dataset = _read(tmp_path, EXAMPLE)
    assert (dataset.name, dataset.version, dataset.unit_word, dataset.deadline_ms, dataset.fold_ids) == (
        "hospital-2025",
        "1",
        "patient",
        500,
        False,
    )
    assert dataset.ledger == str(tmp_path / "hospital.ledger")
    assert dataset.unit == PrivacyUnit("patient_id", "add_remove", 8, 4)
    assert dataset.budget == Allowance(Fraction(3), Fraction(1, 10**6), "pure", Fraction(1, 2), {"amina": Fraction(1)})
    admissions, regions = dataset.tables["admissions"], dataset.tables["regions"]
    assert (admissions.source, admissions.size, admissions.public) == (str(tmp_path / "admissions.parquet"), 12_000, False)
    assert admissions.columns == {
        "patient_id": Column("patient_id", "id"),
        "cost": Column("cost", "int", (0, 1_000_000)),
        "sex": Column("sex", "cat", keys=("f", "m", "x")),
        "diagnosis": Column("diagnosis", "cat"),
        "note": Column("note", "never"),
    }
    assert (regions.public, regions.unique, regions.columns) == (True, ("region",), {})
    assert not (tmp_path / "admissions.parquet").exists()


def test_the_smallest_file(tmp_path):
    dataset = _read(tmp_path, SMALL)
    assert (dataset.version, dataset.unit, dataset.unit_word) == ("1", PrivacyUnit(), "row")
    assert dataset.budget == Allowance(Fraction(1))
    assert dataset.owner_log is dataset.witness is None


def test_paths_are_relative_to_the_file_and_addresses_stay(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", "/home/owner")
    text = SMALL.replace('"d.ledger"', '"postgresql://host/db"\nowner_log = "/var/log/x"\nwitness = "~/w"').replace(
        '"t.csv"', '"data/*.parquet"'
    )
    text += '[tables.u]\nsource = "postgres://host/db"\n[tables.v]\nsource = "spark:db.v"\n[tables.w]\nsource = "../w.csv"\n'
    dataset = _read(tmp_path, text)
    assert (dataset.ledger, dataset.owner_log, dataset.witness) == ("postgresql://host/db", "/var/log/x", "/home/owner/w")
    assert [table.source for table in dataset.tables.values()] == [
        str(tmp_path / "data/*.parquet"),
        "postgres://host/db",
        "spark:db.v",
        str(tmp_path / "../w.csv"),
    ]


def test_a_relative_path_to_the_file_gives_absolute_paths(tmp_path, monkeypatch):
    (tmp_path / "d.toml").write_text(SMALL)
    monkeypatch.chdir(tmp_path)
    assert Path(read_dataset("d.toml").ledger).is_absolute()


def test_the_unit_column_need_not_be_declared_again(tmp_path):
    text = SMALL.replace("[privacy]", '[privacy]\nunit_column = "p"\nmax_rows = 1\nmax_groups = 2\nfold_ids = true')
    dataset = _read(tmp_path, text)
    assert dataset.tables["t"].columns == {"p": Column("p", "id")}
    assert dataset.fold_ids
    assert dataset.unit_word == "person"


def test_a_table_says_how_its_lines_are_written(tmp_path):
    text = SMALL.replace('source = "t.csv"', 'source = "t.csv"\ndelimiter = ";"\ndecimal = ","\nencoding = "latin-1"\nmultiline = true')
    (table,) = _read(tmp_path, text).tables.values()
    assert table.csv == Delimited(";", "latin-1", ",", True)
    with pytest.raises(QueryError, match="SRD-204") as raised:
        _read(tmp_path, text.replace('";"', '";;"'))
    assert raised.value.code == "SRD-204"
    assert "delimiter" in str(raised.value)


def test_replace_needs_sizes_and_dates_may_be_tomls_own(tmp_path):
    text = SMALL.replace('"d.ledger"', '"d.ledger"\nrelation = "replace"')
    with pytest.raises(QueryError, match="needs the size"):
        _read(tmp_path, text)
    dataset = _read(tmp_path, text + "size = 10\n[tables.t.columns]\nday = { bounds = [2020-01-01, 2021-01-01] }\n")
    assert dataset.unit.relation == "replace"
    assert dataset.tables["t"].columns["day"].type == "date"


def _with(old, new):
    assert old in EXAMPLE
    return EXAMPLE.replace(old, new, 1)


REFUSED = {
    "not toml": (EXAMPLE + "\nx = = 1", "SRD-204", "x = = 1"),
    "twice": (EXAMPLE + "\ndeadline_ms = 5", "SRD-204", "not TOML"),
    "unknown section": (EXAMPLE + "\n[servers]\n", "SRD-204", "Did you mean 'server'"),
    "unknown dataset key": (_with("version =", "verion ="), "SRD-204", 'line 4: verion = "1"'),
    "unknown privacy key": (_with("max_rows", "max_row"), "SRD-204", "Did you mean 'max_rows'"),
    "unknown budget key": (_with("delta =", "detla ="), "SRD-204", "Did you mean 'delta'"),
    "unknown table key": (_with("size =", "sise ="), "SRD-204", "Did you mean 'size'"),
    "unknown server key": (_with("deadline_ms", "deadline"), "SRD-204", "Did you mean 'deadline_ms'"),
    "unknown column key": (_with("bounds = [0", "bound = [0"), "SRD-204", 'line 24: cost = { type = "int", bound'),
    "unknown purse key": (_with("{ epsilon = 1.0 }", "{ epsilon = 1.0, delta = 1 }"), "SRD-204", "line 18"),
    "no name": (_with('name = "hospital-2025"\n', ""), "SRD-204", "lacks 'name'"),
    "no ledger": (_with("ledger =", "# ledger ="), "SRD-204", "lacks 'ledger'"),
    "no epsilon": (_with("epsilon = 3.0\n", ""), "SRD-204", "lacks 'epsilon'"),
    "no source": (_with('source = "regions.csv"\n', ""), "SRD-204", "lacks 'source'"),
    "no dataset": ("", "SRD-204", "lacks 'dataset'"),
    "no privacy": (SMALL.replace("[privacy]", ""), "SRD-204", "Add [privacy]"),
    "no tables": (SMALL.split("[tables", maxsplit=1)[0] + "[tables]", "SRD-204", "no tables"),
    "only public tables": (SMALL + 'public = true\nunique = ["a"]', "SRD-204", "every table is public"),
    "name of a wrong type": (_with('"hospital-2025"', "5"), "SRD-204", "printable text"),
    "empty name": (_with('"hospital-2025"', '" "'), "SRD-204", "printable text"),
    "version of a wrong type": (_with('version = "1"', "version = 1"), "SRD-204", "line 4: version = 1"),
    "unknown relation": (_with('"add_remove"', '"swap"'), "SRD-107", "add_remove"),
    "section that is no table": (SMALL.replace("[privacy]\n", "").replace("[dataset]", "privacy = 5\n[dataset]"), "SRD-204", "as a table"),
    "table that is no table": (SMALL.split("[tables", maxsplit=1)[0] + "[tables]\nt = 5", "SRD-204", "as a table"),
    "columns that are no table": (SMALL + "columns = 5", "SRD-204", "as a table"),
    "analysts that are no table": (_with("[budget.analysts]\namina = { epsilon = 1.0 }", "analysts = 5"), "SRD-204", "as a table"),
    "purse that is no table": (_with("{ epsilon = 1.0 }", "1.0"), "SRD-204", "as a table"),
    "epsilon zero": (_with("epsilon = 3.0", "epsilon = 0"), "SRD-101", "line 13: epsilon = 0"),
    "epsilon nan": (_with("epsilon = 3.0", "epsilon = nan"), "SRD-101", "finite"),
    "epsilon infinite": (_with("epsilon = 3.0", "epsilon = 1e999"), "SRD-101", "finite"),
    "epsilon true": (_with("epsilon = 3.0", "epsilon = true"), "SRD-101", "finite"),
    "delta one": (_with("1e-6", "1.0"), "SRD-102", "line 14"),
    "purse zero": (_with("{ epsilon = 1.0 }", "{ epsilon = 0 }"), "SRD-101", "line 18"),
    "ceiling zero": (_with("max_per_release = 0.5", "max_per_release = 0"), "SRD-101", "line 16"),
    "unknown accounting": (_with('"pure"  ', '"rdp"  '), "SRD-204", "zcdp"),
    "zcdp without delta": (_with('delta = 1e-6\naccounting = "pure"', 'accounting = "zcdp"'), "SRD-204", "needs a delta"),
    "limits without a unit": (_with('unit_column = "patient_id"\n', ""), "SRD-204", "unit_column"),
    "unit without max_rows": (_with("max_rows = 8\n", ""), "SRD-204", "max_rows = 8"),
    "unit without max_groups": (_with("max_groups = 4\n", ""), "SRD-204", "max_groups"),
    "max_rows zero": (_with("max_rows = 8", "max_rows = 0"), "SRD-204", "at least 1"),
    "max_rows true": (_with("max_rows = 8", "max_rows = true"), "SRD-204", "at least 1"),
    "size negative": (_with("12_000", "-5"), "SRD-204", "line 21"),
    "size a float": (_with("12_000", "1e4"), "SRD-204", "whole"),
    "a tick": (_with("deadline_ms = 500", "tick_ms = 500"), "SRD-204", "Write deadline_ms"),
    "deadline zero": (_with("deadline_ms = 500", "deadline_ms = 0"), "SRD-204", "whole"),
    "deadline of a day": (_with("deadline_ms = 500", "deadline_ms = 86_400_000"), "SRD-204", "600,000"),
    "no question fits": (_with("deadline_ms = 500", "deadline_ms = 500\nlongest_ms = 400"), "SRD-204", "below deadline_ms"),
    "most_rows a float": (_with("size = 12_000", "most_rows = 1e4"), "SRD-204", "whole"),
    "floor zero": (_with("max_per_release = 0.5", "least_epsilon = 0"), "SRD-101", "line 16"),
    "floor above the ceiling": (_with("max_per_release = 0.5", "max_per_release = 0.5\nleast_epsilon = 0.6"), "SRD-204", "may cost"),
    "public a word": (_with("public = true", 'public = "yes"'), "SRD-204", "true or false"),
    "public without unique": (_with('unique = ["region"]\n', ""), "SRD-204", "belong together"),
    "unique without public": (_with("public = true", "public = false"), "SRD-204", "belong together"),
    "unique a word": (_with('unique = ["region"]', 'unique = "region"'), "SRD-204", "List column names"),
    "unique unknown": (_with('unique = ["region"]', 'unique = ["region"]\ncolumns = { regio = "cat" }'), "SRD-201", "Did you mean 'regio'"),
    "fold_ids a word": (_with("max_rows", 'fold_ids = "no"\nmax_rows'), "SRD-204", "true or false"),
    "unit column declared as a number": (_with('patient_id = { type = "id" }', 'patient_id = "int"'), "SRD-204", "line 23"),
    "reversed bounds": (_with("[0, 1_000_000]", "[5, 1]"), "SRD-204", "line 24: cost"),
    "infinite bounds": (_with("[0, 1_000_000]", "[0, inf]"), "SRD-204", "line 24: cost"),
    "duplicate values": (_with('"m", "x"', '"f", "x"'), "SRD-204", "once"),
    "source over http": (_with('"admissions.parquet"', '"http://x/y.csv"'), "SRD-204", "postgres://"),
    "ledger on s3": (_with('"hospital.ledger"', '"s3://x/y"'), "SRD-204", "Give a path"),
    "source with a newline": (_with('"admissions.parquet"', '"a\\nb"'), "SRD-204", "printable"),
    "source a number": (_with('"admissions.parquet"', "5"), "SRD-204", "printable"),
    "NUL": (_with("hospital-2025", "a\x00"), "SRD-204", "not TOML"),
    "half a letter": (_with("hospital-2025", "\ud800"), "SRD-204", "UTF-8"),
    "deep": ("x = " + "[" * 5000, "SRD-204", "not TOML"),
    "large": ("# " + "x" * (5 * 2**20), "SRD-204", "4 MB"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_wrong_file_is_refused_with_its_line(case, tmp_path):
    text, code, hint = REFUSED[case]
    with pytest.raises(QueryError) as caught:
        _read(tmp_path, text)
    assert caught.value.code == code
    assert hint in str(caught.value)
    assert caught.value.fix
    assert "data.toml" in str(caught.value)
    assert len(str(caught.value)) < 700
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("path", ["nothing.toml", ".", "a\x00b"])
def test_a_file_that_is_not_there_says_so(path):
    with pytest.raises(QueryError, match=r"SRD-204.*cannot be read"):
        read_dataset(path)
