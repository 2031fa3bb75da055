"""The command line as a newcomer types it: on a messy file, with prices, exit codes and 80 columns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sordino.cli import main
from sordino.errors import CODES, FIXES

QUOTED = 'p1,41,12.5,f,flu,"a, ""quoted"" note"\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A messy CSV: a byte order mark, quotes, blanks, mixed types, an odd column name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    rng = np.random.default_rng(5)
    odd = ["", "n/a", " 42 ", "-5", "1e3", "nan"]
    ages = [odd[i // 50 % 6] if i % 50 == 0 else str(rng.integers(0, 100)) for i in range(3_000)]
    rest = [f"{rng.lognormal(7, 1):.2f},{rng.choice(list('fmx'))},{rng.choice(['flu', 'gout'])},x" for _ in ages]
    rows = [f"p{rng.integers(0, 900)},{age},{tail}\n" for age, tail in zip(ages, rest, strict=True)]
    Path("patients.csv").write_text('patient,age,"cost (EUR)",sex,diagnosis,note\n' + "".join(rows) + QUOTED, encoding="utf-8-sig")
    return tmp_path


INIT = ["init", "patients.csv", "--unit", "patient", "--limits", "4,2", "--bounds", "age=0:120", "--keys", "sex=f,m,x diagnosis=private"]


@pytest.fixture
def ready(folder, capsys):
    assert main([*INIT, "--budget", "3,1e-6", "--size", "900"]) == 0
    capsys.readouterr()
    return folder


def run(capsys, *words):
    code = main([str(word) for word in words])
    out, err = capsys.readouterr()
    assert all(len(line) <= 80 for text in (out, err) for line in text.splitlines() if not line.startswith(("{", "["))), (out, err)
    return code, out, err


def answer(capsys, *words):
    code, out, _ = run(capsys, *words, "--json")
    return code, json.loads(out)


def test_init_reads_the_header_and_check_says_what_it_promises(folder, capsys):
    code, out, _ = run(capsys, *INIT, "--budget", "3,1e-6", "--size", "900")
    assert code == 0
    assert "wrote patients.toml" in out
    text = Path("patients.toml").read_text(encoding="utf-8")
    assert '"cost (EUR)" = { access = "never" }' in text
    code, out, _ = run(capsys, "check")
    assert code == 0
    assert "at most 4 rows of one person, in at most 2 groups" in out.replace("\n  ", " ")
    assert "zcdp: 1 releases of 0.5 or 36 of 0.1" in out.replace("\n  ", " ")
    assert run(capsys, *INIT)[0] == 5
    assert run(capsys, "init", "patients.csv", "--bounds", "height=0:3", "--out", "x.toml")[0] == 2
    assert not Path("x.toml").exists()


def test_check_measures_and_proposes_deadlines_charges_nothing_and_says_that_it_is_not_private(ready, capsys):
    code, out, _ = run(capsys, "check", "--time")
    assert code == 0
    assert out.startswith("NOT PRIVATE")
    assert "count by sex" in out.replace("\n  ", " ")
    code, said = answer(capsys, "check", "--time")
    assert (code, said["private"]) == (0, False)
    assert said["rows"]["patients"] <= said["most_rows"]["patients"] / 1.25
    for number in (said["deadline_ms"], *said["most_rows"].values()):
        assert str(number).rstrip("0") in ("1", "2", "5")
    assert max(item["seconds"] for item in said["measured"]) * 1000 < said["deadline_ms"]
    assert answer(capsys, "budget")[1]["spent"] == 0
    assert "--time measures your rows" in run(capsys, "check")[1].replace("\n  ", " ")
    text = Path("patients.toml").read_text(encoding="utf-8")
    rows = f"size = 900\nmost_rows = {said['most_rows']['patients']}"
    server = f"[server]\ndeadline_ms = {said['deadline_ms']}\n"
    Path("patients.toml").write_text(f"{text.replace('size = 900', rows)}\n{server}", encoding="utf-8")
    assert "--time" not in run(capsys, "check")[1]


def test_check_says_why_a_dataset_pauses_and_what_ends_it(ready, capsys):
    from sordino.plan.dataset import read_dataset
    from sordino.server.deadline import Deadlines

    Deadlines(read_dataset("patients.toml")).missed("amina:k", 2.0, stopped=False)
    assert "1 answers of the server missed their deadline" in run(capsys, "check")[1].replace("\n  ", " ")
    Deadlines(read_dataset("patients.toml")).missed("amina:k", 2.0, stopped=True)
    code, out, _ = run(capsys, "check")
    assert code == 5
    assert "raise deadline_ms above 2000" in out.replace("\n  ", " ")
    text = Path("patients.toml").read_text(encoding="utf-8")
    Path("patients.toml").write_text(f"{text}\n[server]\ndeadline_ms = 5000\n", encoding="utf-8")
    assert run(capsys, "check")[0] == 0


def test_a_question_is_priced_paid_and_free_the_second_time(ready, capsys):
    sql = "SELECT COUNT(*) FROM patients WHERE age >= 65"
    code, out, _ = run(capsys, "preview", sql, "--within", 60)
    assert code == 0
    assert "* the price of your wish" in out
    code, first = answer(capsys, "query", sql, "--within", 60)
    assert code == 0
    assert not first["recalled"]
    spent = answer(capsys, "budget")[1]["spent"]
    code, again = answer(capsys, "query", sql, "--within", 60)
    assert again["recalled"]
    assert again["columns"] == first["columns"]
    assert answer(capsys, "budget")[1]["spent"] == spent > 0
    assert "price: epsilon" in run(capsys, "query", "SELECT AVG(age) FROM patients", "--epsilon", "0.1")[2]
    assert "nothing" not in run(capsys, "query", sql, "--within", 60, "--quiet")[2]


def test_a_median_is_an_interval_or_a_point_and_prices_say_which(ready, capsys):
    text = "SELECT MEDIAN(age) FROM patients"
    code, out, _ = run(capsys, "preview", text, "--no-interval")
    assert code == 0
    assert "ends" not in out
    code, out, _ = run(capsys, "preview", text, "--level", "0.99")
    assert "ends" in out
    assert answer(capsys, "query", text, "--epsilon", "1", "--yes")[1]["bar"] == "drawn"
    point = answer(capsys, "query", text, "--epsilon", "0.4", "--no-interval", "--yes")[1]
    assert (point["bar"], point["recalled"]) == ("rank", True)
    code, out, _ = run(capsys, "query", "SELECT COUNT(*) FROM patients", "--epsilon", "0.2", "--level", "0.99", "--yes")
    assert code == 0
    assert "99% interval" in out


def test_over_budget_says_what_is_left_and_what_it_still_buys(ready, capsys):
    code, _, err = run(capsys, "query", "SELECT SUM(age) FROM patients", "--epsilon", 50, "--yes")
    assert code == 3
    assert "left: spent 0 of epsilon 3" in err
    assert "the most accurate you can still afford: within" in err.replace("\n  ", " ")
    assert "Nothing was spent" in err
    code, _, err = run(capsys, "query", "SELECT SUM(age) FROM patients", "--within", "0.01")
    assert code == 3
    assert "best half-width" in err.replace("\n  ", " ")


def test_the_ledger_lists_verifies_and_exports_and_cards_can_be_printed(ready, capsys):
    _, released = answer(capsys, "query", "SELECT MODE(diagnosis) FROM patients", "--epsilon", "0.5")
    code, out, _ = run(capsys, "ledger", "list")
    assert code == 0
    assert released["id"] in out
    assert run(capsys, "ledger", "verify")[0] == 0
    assert run(capsys, "ledger", "export", "book.jsonl")[0] == 0
    from sordino.ledger import verify_export

    assert verify_export(Path("book.jsonl").read_text(encoding="utf-8"))
    assert run(capsys, "card", released["id"])[1].startswith("dataset: patients")
    for form, mark in (("md", "| fact | value |"), ("html", "<table"), ("json", "{")):
        assert main(["card", released["id"], "--format", form]) == 0
        assert mark in capsys.readouterr().out
    assert run(capsys, "card", "nothing")[0] == 2
    assert run(capsys, "card", released["id"], "--format", "pdf")[0] == 2


def test_a_broken_chain_is_exit_code_6(ready, capsys):
    import sqlite3

    answer(capsys, "query", "SELECT COUNT(*) FROM patients", "--epsilon", "0.5")
    with sqlite3.connect("patients.ledger") as book:
        tables = [name for (name,) in book.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in tables:
            columns = [row[1] for row in book.execute(f"PRAGMA table_info({name})")]
            if "answer" in columns:
                book.execute(f"UPDATE {name} SET answer = x'00' WHERE answer IS NOT NULL")
    book.close()
    assert run(capsys, "ledger", "verify")[0] == 6


def test_a_charge_without_an_answer_is_mentioned_in_the_next_run(ready, capsys, monkeypatch):
    from sordino.engines.duckdb import DuckDB

    def broken(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(DuckDB, "bounded", broken)
        code, _, err = run(capsys, "query", "SELECT COUNT(*) FROM patients", "--epsilon", "0.5")
    assert code == 1
    assert "The charge stands" in err
    code, _, err = run(capsys, "budget")
    assert code == 0
    assert "(epsilon 0.5) has no recorded answer" in err.replace("\n  ", " ")
    assert "The charge stands; nothing was shown." in err.replace("\n  ", " ")
    assert len(answer(capsys, "budget")[1]["unanswered"]) == 1
    assert "charged, no answer recorded" in run(capsys, "ledger", "list")[1]


def test_hostile_or_wrong_words_are_usage_errors(ready, capsys):
    for words in (
        ["query", "SELECT * FROM '/etc/passwd'", "--epsilon", "1"],
        ["query", "SELECT COUNT(*) FROM patients"],
        ["query", "SELECT COUNT(*) FROM patients", "--epsilon", "1", "--within", "3"],
        ["preview", "DROP TABLE patients"],
        ["explain", "SRD-999"],
        ["bogus"],
        ["query"],
    ):
        code, _, err = run(capsys, *words)
        assert code == 2, words
        assert err
    assert answer(capsys, "query", "SELECT COUNT(*) FROM x", "--epsilon", 1)[1]["spent"] is False


def test_without_a_dataset_file_the_fix_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, _, err = run(capsys, "budget")
    assert code == 2
    assert "sordino init" in err
    for words in (["--config", "none.toml", "budget"], ["check", "none.toml"]):
        code, _, err = run(capsys, *words)
        assert code == 2
        assert "there is no dataset file 'none.toml'" in err
    Path("bad.toml").write_text("[dataset]\nname = 3\n")
    assert run(capsys, "check")[0] == 5


def test_doctor_checks_the_machine_and_the_dataset(ready, capsys):
    code, found = answer(capsys, "doctor")
    assert code == 0, found
    assert set(found) == {"entropy", "arithmetic", "disk", "permissions", "dataset", "source"}
    assert {item["state"] for item in found.values()} == {"ok"}
    later = Path(".patients.csv.sordino").stat().st_mtime + 60
    os.utime("patients.csv", (later, later))
    code, found = answer(capsys, "doctor")
    assert (code, found["source"]["state"]) == (0, "note")
    assert "raise the version" in found["source"]["text"]
    os.chmod("patients.ledger", 0o666)
    assert answer(capsys, "doctor")[0] == 5


@pytest.mark.parametrize("code", CODES)
def test_every_error_code_is_explained_with_a_fix(code, capsys):
    assert set(FIXES) == set(CODES)
    status, out, _ = run(capsys, "explain", code)
    assert status == 0
    assert FIXES[code].split()[0] in out


def test_attacks_run_on_a_file_and_on_made_up_people(ready, capsys):
    code, found = answer(capsys, "attack", "unique", "patients.csv", "--on", "age,sex,diagnosis")
    assert code == 0
    assert 0 <= found["share_unique"] <= 1
    assert answer(capsys, "attack", "unique")[1]["share_unique"] > 0.7
    assert answer(capsys, "attack", "trace")[1]["auc"] > 0.9
    assert answer(capsys, "attack", "local")[1]["advantage"] > 0.9
    assert answer(capsys, "attack", "local", "--private")[1]["low"] < 0.4621
    stuck = answer(capsys, "attack", "noise", "--trials", 100)[1]
    assert (stuck["kind"], stuck["advantage"] > 0.7) == ("sticky", True)
    people = answer(capsys, "attack", "unique", "patients.csv", "--on", "age,sex", "--unit", "patient")[1]
    rows = answer(capsys, "attack", "unique", "patients.csv", "--on", "age,sex")[1]
    assert people["people"] < rows["people"] == 3_001
    assert run(capsys, "attack", "unique", "missing.csv")[0] == 2
    assert run(capsys, "attack", "trace", "--people", 1)[0] == 2
    assert run(capsys, "attack", "noise", "--trials", 3)[0] == 2


def test_audit_checks_certificates(capsys):
    code, rows = answer(capsys, "audit", "randomized response")
    assert code == 0
    assert all(row["sound"] for row in rows)
    assert run(capsys, "audit", "no such thing")[0] == 2


def test_surveys_write_a_page_and_estimate_reports(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, out, _ = run(capsys, "survey", "page", "ask.html", "--question", "Ever?", "--options", "yes,no", "--epsilon", "2")
    assert code == 0
    assert "this answer: epsilon: 2" in out
    assert "|" not in out
    assert "Ever?" in Path("ask.html").read_text(encoding="utf-8")
    Path("in.jsonl").write_text('{"Ever?": "yes"}\n' * 60 + '{"Ever?": "no"}\n' * 40, encoding="utf-8")
    code, found = answer(capsys, "survey", "estimate", "in.jsonl", "--question", "Ever?", "--options", "yes,no", "--epsilon", "2")
    assert code == 0
    assert found["reports"] == 100
    Path("in.jsonl").write_text("oops\n", encoding="utf-8")
    assert run(capsys, "survey", "estimate", "in.jsonl")[0] == 2


def test_the_program_is_installed_and_starts_without_heavy_libraries(tmp_path):
    words = [sys.executable, "-X", "importtime", "-c", "from sordino.cli import main; raise SystemExit(main(['explain', '101']))"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0
    assert "SRD-101" in done.stdout
    assert " duckdb" not in done.stderr
    assert " scipy" not in done.stderr


def test_import_writes_a_copy_beside_the_dataset_file_and_says_so(ready, capsys):
    code, out, _ = run(capsys, "import", "patients.toml")
    assert (code, out.split()[:3]) == (0, ["patients:", "imported", "into"])
    code, out, _ = run(capsys, "import", "patients.toml", "--json")
    assert code == 0
    (table,) = json.loads(out)["tables"]
    assert (table["table"], table["done"]) == ("patients", "was imported")
    assert Path(table["file"]).parent.name == "patients.imported"
    with Path("patients.csv").open("a", encoding="utf-8") as stream:
        stream.write(QUOTED)
    code, _, err = run(capsys, "import", "patients.toml")
    assert code == 2
    assert "--again" in err
    assert run(capsys, "import", "patients.toml", "--again")[0] == 0


def test_share_shows_prices_first_then_writes_a_table_of_nobody(ready, capsys):
    code, out, _ = run(capsys, "share", "patients.toml", "--column", "sex", "--column", "age")
    assert code == 0
    assert "nothing spent" in out
    options = ["patients.toml", "--column", "sex", "--column", "age", "--epsilon", "1", "--delta", "1e-7", "--method", "tree", "--yes"]
    code, out, err = run(capsys, "share", *options)
    assert code == 2
    assert "--output" in out + err
    code, found = answer(capsys, "share", *options, "--output", "shared.csv")
    assert code == 0
    assert Path("shared.csv").read_text(encoding="utf-8").startswith("sex,age\n")
    assert {"columns", "tv", "low", "high"} <= set(found["error"][0])
    assert Path("shared.csv.card.json").is_file()
    code, out, _ = run(capsys, "share", *options, "--output", "shared.csv")
    assert code == 0
    assert "recalled at no price" in out.replace("\n  ", " ")
