"""What somebody does in the first ten minutes with a large messy file, and what the program says to each step."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sordino.cli import main
from sordino.cli.console import Door

ROWS = 100_000
WIDE = 'SELECT sex, AVG("cost (EUR)") AS cost, MEDIAN(age) AS age, COUNT(*) AS n, SUM(age) AS years FROM visits_2025 GROUP BY sex'
INIT = [
    "init", "visits 2025.csv", "--unit", "patient id", "--limits", "4,2", "--bounds", "age=0:120 cost (EUR)=0:50000",
    "--keys", "sex=f,m,not said diagnosis=private", "--budget", "3,1e-6", "--size", "30000",
]  # fmt: skip


@pytest.fixture(scope="module")
def messy(tmp_path_factory):
    """A hundred thousand rows with a byte order mark, quotes, line breaks, blanks, mixed types and odd names."""
    folder = tmp_path_factory.mktemp("messy")
    rng = np.random.default_rng(3)
    odd, notes = ["", "n/a", " 42 ", "-5", "1e3", "nan", "abc", "007"], ['"a, ""quoted"" note"', "", '"two\nlines"', "plain", "Ünïcode"]
    ages = [odd[i // 50 % 8] if i % 50 == 0 else str(age) for i, age in enumerate(rng.integers(0, 101, ROWS))]
    people, costs = rng.integers(0, 30_000, ROWS), rng.lognormal(7, 1, ROWS)
    sexes, ills = rng.choice(["f", "m", "not said", "F", ""], ROWS), rng.choice(["flu", "gout", "asthma"], ROWS)
    lines = zip(people, ages, costs, sexes, ills, strict=True)
    body = "".join(f"p{a},{b},{c:.2f},{d},{e},{notes[i % 5]}\r\n" for i, (a, b, c, d, e) in enumerate(lines))
    text = 'patient id,age,"cost (EUR)",sex,diagnosis,"free, text"\r\n' + body
    (folder / "visits 2025.csv").write_text(text, encoding="utf-8-sig", newline="")
    return folder


@pytest.fixture
def ready(messy, tmp_path, monkeypatch, capsys):
    shutil.copy(messy / "visits 2025.csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    assert main(INIT) == 0
    capsys.readouterr()
    return tmp_path


def run(capsys, *words):
    code = main([str(word) for word in words])
    out, err = capsys.readouterr()
    lines = [line for text in (out, err) for line in text.splitlines() if not line.startswith(("{", "["))]
    assert all(len(line) <= 80 or line.strip().count(" ") == 0 for line in lines), (out, err)  # a long path is not broken
    return code, out, err


def answer(capsys, *words):
    code, out, _ = run(capsys, *words, "--json")
    return code, json.loads(out)


def test_names_and_values_with_spaces_commas_and_brackets_are_declared_as_they_are(ready, capsys):
    text = Path("visits 2025.toml").read_text(encoding="utf-8")
    assert '"cost (EUR)" = { type = "int", bounds = [0, 50000] }' in text
    assert '"sex" = { type = "cat", values = ["f", "m", "not said"] }' in text
    assert '"free, text" = { access = "never" }' in text
    assert run(capsys, "check")[0] == 0
    code, _, err = run(capsys, "init", "visits 2025.csv", "--bounds", "age=0:120 height=0:3", "--out", "x.toml")
    assert code == 2
    assert "no column 'height'" in err
    assert '"free, text"' in err


def test_a_large_messy_file_is_answered_near_the_truth_and_the_second_time_for_nothing(ready, capsys):
    code, first = answer(capsys, "query", WIDE, "--epsilon", 2)
    assert code == 0
    table = first["columns"]
    assert table["sex"] == ["f", "m", "not said"]
    assert all(abs(age - 50) <= 5 for age in table["age"])
    assert all(15_000 < n < 21_000 for n in table["n"])
    assert first["ranks"] == {}  # the ends of the median are in the column's unit
    assert all(low <= age <= high for low, age, high in zip(table["age_low"], table["age"], table["age_high"], strict=True))
    spent = answer(capsys, "budget")[1]["spent"]
    code, out, _ = run(capsys, "query", WIDE, "--epsilon", 2)
    assert code == 0
    assert "recalled at no price" in " ".join(out.split())
    assert "around QuantileExponential" in " ".join(out.split())
    assert answer(capsys, "budget")[1]["spent"] == spent == 2


def test_a_row_too_wide_for_the_screen_becomes_a_record(ready, capsys):
    _, out, _ = run(capsys, "query", WIDE.replace("AS years", "AS all_the_years_of_everybody"), "--epsilon", 1)
    assert out.startswith("about at most 4 rows of one person, in at most 2 of the 3 groups, by sex: cost")
    lines = out.splitlines()[out.splitlines().index("sex = f") :]
    assert lines[1].startswith("  cost: ")
    assert "[" in lines[1]
    assert "sex = not said" in lines
    long = 'SELECT SUM("cost (EUR)" + 2 * age) AS all_the_money_that_was_ever_spent_here, COUNT(*) AS n FROM visits_2025'
    _, out, _ = run(capsys, "preview", long)
    assert "epsilon 0.05; statistic all_the_money_that_was_ever_spent_here; 95% within" in " ".join(out.split())


def test_over_budget_is_exit_3_with_what_is_left_and_the_cheapest_useful_accuracy(ready, capsys):
    for asked in ("COUNT(*)", "SUM(age)", "AVG(age)"):
        code, _, err = run(capsys, "query", f"SELECT {asked} FROM visits_2025", "--epsilon", 50)
        said = " ".join(err.split())
        assert code == 3
        assert "left 3" in said
        assert "the most accurate you can still afford: within" in said
        assert "the cheapest useful accuracy: within" in said
    facts = answer(capsys, "query", "SELECT COUNT(*) FROM visits_2025", "--epsilon", 50)[1]["facts"]
    assert facts["cheapest_useful"]["epsilon"] < facts["most_accurate"]["epsilon"] <= facts["left"] == 3
    assert facts["most_accurate"]["within"] < facts["cheapest_useful"]["within"] <= 3_000
    for place in ("most_accurate", "cheapest_useful"):
        bought = facts[place]
        assert run(capsys, "query", "SELECT COUNT(*) FROM visits_2025", "--epsilon", bought["epsilon"] / 2)[0] == 0
    assert run(capsys, "query", "SELECT SUM(age) FROM visits_2025", "--epsilon", facts["left"])[0] == 3


def test_a_wish_out_of_reach_says_the_best_width_and_its_price(ready, capsys):
    code, out, _ = run(capsys, "preview", "SELECT COUNT(*) FROM visits_2025", "--within", 0.001)
    said = " ".join(out.split())
    assert code == 3
    assert "no more is left than epsilon 3. The best half-width is" in said
    assert "at epsilon 3." in said
    assert answer(capsys, "preview", "SELECT COUNT(*) FROM visits_2025", "--within", 0.001)[0] == 3
    assert run(capsys, "preview", "SELECT MODE(sex) FROM visits_2025", "--within", 1)[0] == 2
    assert run(capsys, "preview", "SELECT COUNT(*) FROM visits_2025", "--within", 100)[0] == 0


def test_a_refusal_of_the_test_is_exit_4_and_was_paid_for(ready, capsys):
    code, out, _ = run(capsys, "query", "SELECT MODE(diagnosis) FROM visits_2025 WHERE age = 40", "--epsilon", "0.05")
    assert code == 4
    assert "refused" in out
    assert answer(capsys, "budget")[1]["spent"] == 0.05


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGINT], ids=["killed", "ctrl-c"])
def test_stopped_between_charge_and_answer_the_next_run_says_what_happened(ready, capsys, blow):
    words = ["query", "SELECT COUNT(*) FROM visits_2025", "--epsilon", "0.5"]
    stop = (
        "import os, sys; from sordino.engines.duckdb import DuckDB; from sordino.cli import main\n"
        f"DuckDB.bounded = lambda *_: os.kill(os.getpid(), {int(blow)}) or __import__('time').sleep(9)\nsys.exit(main({words!r}))"
    )
    done = subprocess.run([sys.executable, "-c", stop], capture_output=True, text=True, check=False)
    assert done.returncode in ((-9,) if blow == signal.SIGKILL else (1,))
    assert done.stdout == ""
    code, out, err = run(capsys, "budget")
    assert code == 0
    assert "spent 0.5 of epsilon 3" in out
    said = " ".join(err.split())
    assert "(epsilon 0.5) has no recorded answer" in said
    assert "The charge stands; nothing was shown." in said
    again = answer(capsys, *words)[1]
    assert not again["recalled"]
    assert answer(capsys, "budget")[1]["spent"] == 1
    assert [entry["state"] for entry in answer(capsys, "ledger", "list")[1]] == ["charged, no answer recorded", "answered"]


def test_a_healthy_ledger_is_not_adopted_and_a_restored_one_is(ready, capsys):
    assert answer(capsys, "query", "SELECT COUNT(*) FROM visits_2025", "--epsilon", 1)[0] == 0
    before = answer(capsys, "ledger", "list")[1]
    shutil.copy("visits-2025.ledger", "backup")
    assert answer(capsys, "ledger", "adopt")[1]["adopted"] is False
    assert answer(capsys, "ledger", "list")[1] == before
    assert answer(capsys, "query", "SELECT SUM(age) FROM visits_2025", "--epsilon", 1)[0] == 0
    shutil.copy("backup", "visits-2025.ledger")
    assert run(capsys, "budget")[0] == 6
    found = answer(capsys, "ledger", "adopt")[1]
    assert (found["adopted"], found["loss"]) == (True, "1")
    assert answer(capsys, "budget")[1]["spent"] == 2


EVERY_VERB = [
    ["check"], ["preview", "SELECT COUNT(*) FROM visits_2025"], ["budget"], ["ledger", "list"], ["ledger", "verify"],
    ["ledger", "export", "book.jsonl"], ["ledger", "adopt"], ["doctor"], ["explain", "301"], ["audit", "laplace"],
    ["attack", "unique", "visits 2025.csv", "--on", "sex,diagnosis"], ["attack", "trace"], ["attack", "noise", "--trials", "40"],
    ["attack", "local"], ["survey", "page", "ask.html"], ["query", "SELECT COUNT(*) FROM visits_2025", "--epsilon", "0.1"], ["--version"],
]  # fmt: skip


def test_every_verb_speaks_in_80_plain_columns_and_in_json(ready, capsys, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    for words in EVERY_VERB:
        code, out, err = run(capsys, *words)
        assert code == 0, (words, err)
        assert "\x1b" not in out + err
        assert out.strip()
        code, out, err = run(capsys, *words, "--json")
        assert code == 0
        assert err == ""
        json.loads(out)
    card = answer(capsys, "ledger", "list")[1][0]["id"]
    assert answer(capsys, "card", card)[1]["release"] == card


def test_without_a_verb_there_is_help_and_a_wrong_word_is_one_line(ready, capsys):
    for words in ([], ["ledger"]):
        code, out, err = run(capsys, *words)
        assert (code, out) == (2, "")
        assert err.startswith("Usage: sordino")
        assert "usage: Usage" not in err
    code, out = answer(capsys, "bogus")
    assert (code, out["error"], out["spent"]) == (2, "usage", False)


def test_shells_complete_verbs(tmp_path):
    for shell in ("bash", "zsh", "fish"):
        words = {"_SORDINO_COMPLETE": f"complete_{shell}", "COMP_WORDS": "sordino pre", "COMP_CWORD": "1"}
        setting = {**os.environ, **words, "_TYPER_COMPLETE_ARGS": "sordino pre", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
        program = Path(sys.executable).with_name("sordino")
        done = subprocess.run([str(program)], env=setting, capture_output=True, text=True, cwd=tmp_path, check=False)
        assert "preview" in done.stdout, (shell, done)


def test_what_takes_long_shows_itself_on_a_terminal_and_nowhere_else(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    with Door().busy("predicting"):
        pass
    assert "predicting" in capsys.readouterr().err
    for door in (Door(json=True), Door(quiet=True)):
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        with door.busy("predicting"):
            pass
        assert capsys.readouterr().err == ""


def test_init_asks_six_questions_and_reads_the_header_alone(messy, tmp_path, monkeypatch, capsys):
    header = (messy / "visits 2025.csv").read_text(encoding="utf-8-sig").splitlines()[0]
    Path(tmp_path / "visits.csv").write_text(header + "\n", encoding="utf-8")  # not one row: nothing else could be asked of it
    monkeypatch.chdir(tmp_path)
    said = iter(["patient id", "4,2", "age=0:120", "sex=f,m diagnosis=private", "2,1e-6", "30000"])
    asked = []
    monkeypatch.setattr("typer.prompt", lambda text, **_: asked.append(text) or next(said))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    assert main(["init", "visits.csv"]) == 0
    assert [text[:3] for text in asked] == ["1/6", "2/6", "3/6", "4/6", "5/6", "6/6"]
    out = capsys.readouterr().out
    assert "next: sordino check visits.toml" in out
    assert main(["check"]) == 0
    assert "at most 4 rows of one person, in at most 2 groups" in " ".join(capsys.readouterr().out.split())


def test_on_a_terminal_the_price_is_shown_and_asked_before_it_is_paid(ready, monkeypatch, capsys):
    words = ["query", "SELECT COUNT(*) FROM visits_2025", "--epsilon", "0.5"]
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: False)
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert "price: epsilon 0.5, 16.7% of the budget" in err
    assert "nothing was spent" in err
    assert answer(capsys, "budget")[1]["spent"] == 0
    monkeypatch.setattr("typer.confirm", lambda *_, **__: True)
    assert run(capsys, *words)[0] == 0
    monkeypatch.setattr("typer.confirm", lambda *_, **__: pytest.fail("a recorded answer costs nothing, so nobody is asked"))
    assert run(capsys, *words)[0] == 0
    assert answer(capsys, "budget")[1]["spent"] == 0.5


def test_check_finds_what_an_owner_would_regret(ready, capsys):
    def said(old, new):
        file = Path("visits 2025.toml")
        text = file.read_text(encoding="utf-8")
        assert old in text
        file.write_text(text.replace(old, new), encoding="utf-8")
        code, out, _ = run(capsys, "check")
        file.write_text(text, encoding="utf-8")
        return code, " ".join(out.split())

    code, out = said('"age" = {', '"aeg" = {')
    assert code == 5
    assert "the source has no column 'aeg'" in out
    assert "is not far below 1/30,000" in said("delta = 1e-6", "delta = 1e-3")[1]
    assert "private keys, which take a delta" in said("delta = 1e-6\n", "")[1]
    assert "no meaningful privacy" in said("epsilon = 3", "epsilon = 30")[1]
    assert "mostly noise" in said("bounds = [0, 50000]", "bounds = [0, 50000000000000]")[1]
    code, out = said('unit_column = "patient id"\nmax_rows = 4\nmax_groups = 2\n', "")
    assert "every row counts as a person" in out
    code, out = said("delta = 1e-6\n", "delta = 1e-6\nmax_per_release = 3\n[budget.analysts]\namina = { epsilon = 9 }\n")
    assert code == 0
    assert "amina may spend epsilon 9, more than the dataset has" in out
    assert "max_per_release is no ceiling" in out
    assert "no table says its size" in said("size = 30000\n", "")[1]
    assert "one quote that is not closed" in said('source = "visits 2025.csv"', 'source = "visits 2025.csv"\nmultiline = true')[1]
    assert said('source = "visits 2025.csv"', 'source = "gone.csv"')[0] == 5


WRONG = {
    "no such file": ["init", "none.csv"], "empty": ["init", "empty.csv"], "twice": ["init", "twice.csv"],
    "limits": ["init", "x.csv", "--unit", "x", "--limits", "abc"], "budget": ["init", "x.csv", "--budget", "much"],
    "size": ["init", "x.csv", "--size", "many"], "reversed": ["init", "x.csv", "--bounds", "x=9:1"],
    "no bounds": ["init", "x.csv", "--bounds", "x"], "odd bounds": ["init", "x.csv", "--bounds", "x=0:nan"],
    "unwritable page": ["survey", "page", "none/ask.html"], "latin letters": ["attack", "unique", "latin.csv", "--on", "b"],
    "no rows": ["attack", "unique", "head.csv", "--on", "a"], "one option": ["survey", "page", "p.html", "--options", "yes"],
}  # fmt: skip


@pytest.mark.parametrize("words", WRONG.values(), ids=WRONG)
def test_files_and_words_that_cannot_be_used_are_refused_with_a_fix_and_leave_nothing_behind(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    texts = {"empty": b"", "head": b"a,b\n", "twice": b"a,a\n1,2\n", "x": b"x\n1\n", "latin": b"a,b\n\xe9,2\n"}
    for name, text in texts.items():
        (tmp_path / f"{name}.csv").write_bytes(text)
    before = sorted(tmp_path.iterdir())
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) >= 3
    assert sorted(tmp_path.iterdir()) == before


def test_a_book_that_cannot_be_written_somewhere_is_no_traceback(ready, capsys):
    code, _, err = run(capsys, "ledger", "export", "none/book.jsonl")
    assert code == 2
    assert "cannot be used: No such file or directory" in err


def test_a_reader_who_has_enough_is_no_error(ready):
    program = Path(sys.executable).with_name("sordino")
    done = subprocess.run(f"'{program}' ledger export | head -c 1", shell=True, capture_output=True, text=True, check=False)
    assert done.stderr == ""


def typed(words, folder, **setting):
    """What a terminal of 80 columns shows."""
    ours, theirs = pty.openpty()
    program = str(Path(sys.executable).with_name("sordino"))
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", **setting}
    with subprocess.Popen([program, *words], stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env=environment) as child:
        os.close(theirs)
        seen = b""
        try:
            while part := os.read(ours, 65_536):
                seen += part
        except OSError:  # the other end is closed
            pass
        assert child.wait(60) == 0
    os.close(ours)
    return seen.decode()


def test_a_terminal_sees_progress_and_no_colour_if_it_wants_none(tmp_path):
    words = ["audit", "stable histogram"]
    plain, coloured = typed(words, tmp_path, NO_COLOR="1"), typed(words, tmp_path)
    colour = re.compile(r"\x1b\[[0-9;]*[1-9][0-9;]*m")
    assert "checking" in plain
    assert "certificates, 0 broken" in plain
    assert not re.search(r"\x1b\[(?:3[0-9]|38;|9[0-7])", plain)
    assert colour.search(coloured)


MESSY = {
    "semicolons, commas and latin letters": (
        "messy.csv", "latin-1", "patient id;Größe;born;seen;cost;sex;smoker;note",
        "{who};1,{age};19{age}-03-1{i};2024-05-0{i}T1{i}:30:00;{age}{i},25;{sex};{flag};{i}{who} said, \u00fc", ";",
        {"delimiter": ";", "encoding": "latin-1", "decimal": ","},
    ),
    "tabs": ("messy.tsv", "utf-8", "patient id\tGröße\tborn\tseen\tcost\tsex\tsmoker\tnote",
        "{who}\t1.{age}\t19{age}-03-1{i}\t2024-05-0{i} 1{i}:30\t{age}{i}.25\t{sex}\t{flag}\t{i}{who} said", "\t", {}),
    "quotes and a byte order mark": ("messy.csv", "utf-8-sig", '"patient id","Größe",born,seen,cost,sex,smoker,note',
        '"{who}",1.{age},19{age}-03-1{i},2024-05-0{i}T1{i}:30:00Z,"{age}{i}.25",{sex},{flag},"{i}{who} ""said"", so"', ",", {}),
}  # fmt: skip


def write_messy(name, encoding, header, row, mark):
    rng = np.random.default_rng(11)
    lines = [header]
    for i in range(1_200):
        sex, flag = rng.choice(["f", "m", "F", ""]), rng.choice(["yes", "no"])
        said = row.format(who=rng.integers(1, 300), age=rng.integers(20, 99), i=rng.integers(1, 9), sex=sex, flag=flag)
        if i % 40 == 7 and mark != ",":
            cells = said.split(mark)
            cells[4] = ("n/a", "", "-", "unknown")[i // 40 % 4]
            said = mark.join(cells)
        lines.append(said)
    Path(name).write_text("\r\n".join(lines) + "\r\n", encoding=encoding, newline="")


@pytest.mark.parametrize("kind", MESSY)
def test_init_of_a_messy_file_is_a_dataset_that_answers_without_editing(kind, tmp_path, monkeypatch, capsys):
    import tomllib

    monkeypatch.chdir(tmp_path)
    name, encoding, header, row, mark, written = MESSY[kind]
    write_messy(name, encoding, header, row, mark)
    code, out, err = run(capsys, "init", name)
    assert code == 0
    assert "NOT PRIVATE" in err
    assert "--unit 'patient id'" in " ".join(out.split())
    text = Path("messy.toml").read_text(encoding="utf-8")
    said = tomllib.loads(text)
    assert said["dataset"]["format"] == 2
    table = said["tables"]["messy"]
    assert {key: table[key] for key in ("delimiter", "encoding", "decimal") if key in table} == written
    kinds = {column: facts.get("type", "never") for column, facts in table["columns"].items()}
    assert kinds == {
        "patient id": "never", "Größe": "decimal(3,2)", "born": "date", "seen": "timestamp", "cost": "decimal(6,2)", "sex": "cat",
        "smoker": "bool", "note": "never",
    }  # fmt: skip
    assert not re.search(r"#.*\d{3}", text), "a comment tells no number of the rows"
    assert run(capsys, "check")[0] == 0
    for sql in (
        'SELECT AVG("Größe") AS g, COUNT(*) AS n FROM messy', "SELECT MEDIAN(born) AS b FROM messy WHERE seen >= '2024-05-02'",
        "SELECT smoker, AVG(cost) AS c FROM messy GROUP BY smoker", "SELECT sex, COUNT(*) AS n FROM messy GROUP BY sex",
    ):  # fmt: skip
        code, found = answer(capsys, "query", sql, "--epsilon", "0.2")
        assert code == 0, (sql, found)
    code, found = answer(capsys, "fit")
    assert code == 0
    assert found["private"] is False
    fit = found["tables"]["messy"]
    assert fit["rows"] == 1_200
    assert all(sum(column["clamped"] or [0]) == 0 for column in fit["columns"])
    assert all((column["parses"] or 1) >= 0.95 for column in fit["columns"])
    code, out, _ = run(capsys, "fit", "--html", "fit.html")
    assert code == 0
    assert out.startswith("NOT PRIVATE")
    assert "NOT PRIVATE" in Path("fit.html").read_text(encoding="utf-8")
    assert os.stat("fit.html").st_mode & 0o077 == 0
    assert run(capsys, "init", name, "--unit", "patient id", "--force")[0] == 0
    limits = tomllib.loads(Path("messy.toml").read_text(encoding="utf-8"))["privacy"]
    assert limits["max_rows"] >= 8
    code, found = answer(capsys, "fit")
    assert 1 - found["tables"]["messy"]["counted"][""] <= 0.01


@pytest.mark.parametrize("broken", [True, False])
def test_init_says_where_lines_break_inside_a_text(broken, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [f'{i},"said ""no""{chr(10) if broken and i % 10 == 1 else " "}and left"' for i in range(40)]
    Path("notes.csv").write_text("\n".join(["age,note", *rows]) + "\n", encoding="utf-8")
    code, out, _ = run(capsys, "init", "notes.csv")
    assert code == 0
    assert ("8 lines open or close a quote" in " ".join(out.split())) is broken


def test_init_of_parquet_knows_its_types(tmp_path, monkeypatch, capsys):
    import datetime as dt
    import tomllib
    from decimal import Decimal

    import pyarrow as pa
    import pyarrow.parquet as pq

    monkeypatch.chdir(tmp_path)
    n = 500
    rows = pa.table({
        "customer_id": pa.array(range(n)), "age": pa.array([20 + i % 60 if i % 9 else None for i in range(n)], pa.int8()),
        "price": pa.array([Decimal(i) / 100 for i in range(n)], pa.decimal128(10, 2)), "x": pa.array([i / 7 for i in range(n)]),
        "day": pa.array([dt.date(2020, 1, 1) + dt.timedelta(i) for i in range(n)]),
        "at": pa.array([dt.datetime(2021, 1, 1) + dt.timedelta(hours=i) for i in range(n)]), "ok": pa.array([i % 2 == 0 for i in range(n)]),
        "year": pa.array([1980 + i % 8 for i in range(n)]), "kind": pa.array([f"k{i % 5}" for i in range(n)]),
        "empty": pa.nulls(n, pa.string()),
    })  # fmt: skip
    pq.write_table(rows, "sales.parquet")
    assert run(capsys, "init", "sales.parquet")[0] == 0
    said = tomllib.loads(Path("sales.toml").read_text(encoding="utf-8"))["tables"]["sales"]["columns"]
    assert said == {
        "customer_id": {"access": "never"}, "age": {"type": "int", "bounds": [0, 100]}, "price": {"type": "decimal(3,2)", "bounds": [0, 5]},
        "x": {"type": "float", "bounds": [0, 100]}, "day": {"type": "date", "bounds": ["2020-01-01", "2021-12-31"]},
        "at": {"type": "timestamp", "bounds": ["2021-01-01", "2021-12-31T23:59:59"]}, "ok": {"type": "bool"},
        "year": {"type": "int", "bounds": [1980, 1990]}, "kind": {"type": "cat", "keys": "private"}, "empty": {"access": "never"},
    }  # fmt: skip
    assert run(capsys, "check")[0] == 0
    assert answer(capsys, "query", "SELECT AVG(price) AS p, MEDIAN(day) AS d FROM sales", "--epsilon", "0.5")[0] == 0
