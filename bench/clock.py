"""Whether the server's clock tells one person's presence: the same paid question to two servers that differ in one person.

python bench/clock.py [--attack note,rows,patterns,concat] [--source csv,plain,dictionary] [--rounds 600] [--analysts 10] [--deadline-ms N]
                      [--rows N] [--save FILE] [--pool FILE ...]

Four attacks, each with work that an analyst chose so that it is slow only if the person is there:
  note      SUM(CASE WHEN note LIKE '%' + 7,700 x '_' + 'Q%' ...) WHERE the guess; the person's note has 100,000 characters
  rows      COUNT(*); the person has a million rows
  patterns  28 counts of LIKE patterns with underscores, WHERE the guess; the person has 2,000 rows with long notes
  concat    SUM(CASE WHEN (note || note || ... 10 times) LIKE '%' + 30 x '_' + 'Q%' ...) WHERE the guess; the person's note is that of
            note. More notes and longer patterns are refused before the charge where the settings are the default ones

Every answer is bought at the floor, a ten-thousandth of the cap. Each round asks both servers at once and notes how long the answers took.
The verdict is the area under the curve of telling the two apart by that time: 0.5 is chance. Without --deadline-ms the settings are the
default ones. Rounds are spread over the sources and over so many analysts at a time.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from scipy.stats import rankdata

from sordino.server.auth import Tokens

CAP = 3
FLOOR = "0.0003"  # a ten-thousandth of the cap
PEOPLE = 4_000
DATASET = """
[dataset]
format = 2
name = "clock"
ledger = "clock.ledger"
[privacy]
unit = "person"
unit_column = "person"
max_rows = 4
max_groups = 1
[budget]
epsilon = {cap}
delta = 1e-6
[tables.t]
source = "{source}"
[tables.t.columns]
person = {{ type = "id" }}
cost = {{ type = "int", bounds = [0, 100_000] }}
sex = {{ type = "cat", values = ["f", "m", "x"] }}
note = {{ type = "cat", keys = "private" }}
{server}
"""
GUESS = "WHERE cost = 77777 AND sex = 'x'"
LONG = f"CASE WHEN note LIKE '%{'_' * 7_700}Q%' THEN 1 ELSE 0 END"
TOGETHER = f"CASE WHEN ({' || '.join(['note'] * 10)}) LIKE '%{'_' * 30}Q%' THEN 1 ELSE 0 END"
COUNTS = [f"SUM(CASE WHEN note LIKE '%a_{chr(97 + i % 26)}_{i}%' THEN 1 ELSE 0 END) AS c{i}" for i in range(28)]
ASKED = {
    "note": f"SELECT SUM({LONG}) AS s FROM t {GUESS}",
    "rows": "SELECT COUNT(*) AS n FROM t",
    "patterns": f"SELECT {', '.join(COUNTS)} FROM t {GUESS}",
    "concat": f"SELECT SUM({TOGETHER}) AS s FROM t {GUESS}",
}
PERSON = {  # rows and note of the person who is there or not
    "note": (1, "repeat('a', 100000)"),
    "rows": (1_000_000, "'fine'"),
    "patterns": (2_000, "repeat('a', 4000)"),
    "concat": (1, "repeat('a', 100000)"),
}
WRITTEN = {
    "csv": ("csv", "(HEADER)"),
    "plain": ("parquet", "(FORMAT parquet, DICTIONARY_SIZE_LIMIT 1)"),
    "dictionary": ("parquet", "(FORMAT parquet)"),
}


def write(folder: Path, attack: str, source: str, *, there: bool, server: str, many: int) -> Path:
    """A dataset file and its source, with the person or without."""
    kind, options = WRITTEN[source]
    everybody = f"""SELECT 'p' || i AS person, CAST(hash(i) % 100000 AS INTEGER) AS cost,
        ['f', 'm', 'x'][1 + CAST(hash(i + 1) % 3 AS INTEGER)] AS sex, 'seen ' || md5(CAST(i AS VARCHAR)) AS note
        FROM range({PEOPLE}) AS t(i)"""
    rows, note = PERSON[attack]
    person = f"SELECT 'somebody', 77777, 'x', {note} FROM range({many if attack == 'rows' else rows}) AS t(i)"
    file = folder / f"clock.{kind}"
    with duckdb.connect() as engine:
        engine.execute(f"COPY ({everybody}{f' UNION ALL {person}' if there else ''}) TO '{file}' {options}")
    made = folder / "clock.toml"
    made.write_text(DATASET.format(cap=CAP, source=file.name, server=server), encoding="utf-8")
    return made


@contextmanager
def served(file: Path) -> Iterator[str]:
    """`sordino serve`, as its owner starts it."""
    run = "from sordino.cli import main; raise SystemExit(main())"
    command = [sys.executable, "-c", run, "serve", str(file), "--port", "0", "--log", str(file.with_suffix(".log"))]
    state = {**os.environ, "SORDINO_STATE": str(file.parent / "state")}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=state)
    assert process.stderr is not None
    said, found = "", None
    while found is None:
        said = process.stderr.readline()
        assert said, "the server did not start"
        found = re.search(r"http://127\.0\.0\.1:\d+", said)
    try:
        yield found[0]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(120)


def ask(url: str, token: str, path: str, body: Any, key: str = "") -> tuple[int, dict[str, Any]]:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", **({"Idempotency-Key": key} if key else {})}
    request = urllib.request.Request(f"{url}{path}", json.dumps(body).encode(), headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=300) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def rounds(attack: str, source: str, number: int, *, analysts: int, server: str, many: int) -> list[tuple[float, float]]:
    """Seconds of each answer without the person and with it."""
    with tempfile.TemporaryDirectory() as place:
        worlds = []
        for there in (False, True):
            folder = Path(place) / str(there)
            folder.mkdir()
            worlds.append(write(folder, attack, source, there=there, server=server, many=many))
        tokens = [[Tokens.beside(file).add(f"a{who}") for who in range(analysts)] for file in worlds]
        with served(worlds[0]) as one, served(worlds[1]) as other:
            urls, found, lock = (one, other), [], threading.Lock()
            plans = [ask(url, tokens[i][0], "/v1/plans", {"sql": ASKED[attack]})[1] for i, url in enumerate(urls)]
            left = iter(range(number))

            def paid(world: int, who: int, turn: int, seconds: list[float]) -> None:
                start = time.perf_counter()
                place, wish = f"/v1/plans/{plans[world]['id']}/release", {"epsilon": FLOOR, "fresh": True}
                status, said = ask(urls[world], tokens[world][who], place, wish, f"k{turn}")
                seconds[world] = time.perf_counter() - start
                if status != 200:
                    print(f"# {attack} {source} world {world}: {status} {said.get('code')} {said.get('detail')}", flush=True)
                    seconds[world] = float("nan")

            def analyst(who: int) -> None:
                time.sleep(0.37 * who)
                while True:
                    with lock:
                        turn = next(left, None)
                    if turn is None:
                        return
                    seconds = [0.0, 0.0]
                    pair = [threading.Thread(target=paid, args=(world, who, turn, seconds)) for world in ((0, 1) if turn % 2 else (1, 0))]
                    for thread in pair:
                        thread.start()
                    for thread in pair:
                        thread.join()
                    with lock:
                        found.append((seconds[0], seconds[1]))

            paid(0, 0, -1, [0.0, 0.0])  # what is loaded once
            paid(1, 0, -1, [0.0, 0.0])
            threads = [threading.Thread(target=analyst, args=(who,)) for who in range(analysts)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return found


def area(without: Any, having: Any) -> float:
    """The chance that an answer with the person took longer than one without, ties counted half."""
    ranks = rankdata(np.concatenate([without, having]))
    n, m = len(without), len(having)
    return float((ranks[n:].sum() - m * (m + 1) / 2) / (n * m))


def verdict(attack: str, found: list[list[float]]) -> None:
    """One line over all sources."""
    if found:
        whole, n = np.array(found), len(found)
        error = np.sqrt((2 * n + 1) / (12 * n**2))
        print(f"{attack:9} {'pooled':11} {n:4} rounds  AUC {area(whole[:, 0], whole[:, 1]):.3f}  (chance 0.500 +- {error:.3f})", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attack", default="note,rows,patterns,concat")
    parser.add_argument("--source", default="csv,plain,dictionary")
    parser.add_argument("--rounds", type=int, default=600)
    parser.add_argument("--analysts", type=int, default=10)
    parser.add_argument("--deadline-ms", type=int)
    parser.add_argument("--rows", type=int, default=PERSON["rows"][0])
    parser.add_argument("--save", type=Path, help="append every round to this file")
    parser.add_argument("--pool", type=Path, nargs="*", help="no new rounds: pool those of these files")
    given = parser.parse_args()
    if given.pool:
        kept: dict[str, list[list[float]]] = {}
        for line in (line for file in given.pool for line in file.read_text(encoding="utf-8").splitlines()):
            attack, _, *seconds = json.loads(line)
            kept.setdefault(attack, []).append(seconds)
        for attack, found in kept.items():
            verdict(attack, found)
        return
    server = "" if given.deadline_ms is None else f"[server]\ndeadline_ms = {given.deadline_ms}"
    sources = given.source.split(",")
    for attack in given.attack.split(","):
        pooled: list[list[float]] = []
        for source in sources:
            analysts = 1 if attack == "rows" else given.analysts
            number = -(-given.rounds // len(sources))
            found = np.array(rounds(attack, source, number, analysts=analysts, server=server, many=given.rows))
            kept = found[~np.isnan(found).any(axis=1)]
            middle = np.median(kept, axis=0) if len(kept) else (np.nan, np.nan)
            told = area(kept[:, 0], kept[:, 1]) if len(kept) else np.nan
            times = f"median {middle[0]:.4f} s and {middle[1]:.4f} s"
            print(f"{attack:9} {source:11} {len(kept):4} rounds  {times}  AUC {told:.3f}", flush=True)
            pooled += kept.tolist()
            if given.save:
                with given.save.open("a", encoding="utf-8") as file:
                    file.writelines(json.dumps([attack, source, *item]) + "\n" for item in kept.tolist())
        verdict(attack, pooled)


if __name__ == "__main__":
    main()
