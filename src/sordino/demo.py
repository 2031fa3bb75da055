"""What a newcomer sees first: three attacks that work, the repair, and a private table with a price. Run `sordino demo`."""

from __future__ import annotations

import csv
import json
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from dataclasses import dataclass, field
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import sordino as sd
from sordino.course.notes import local_noise, median_leak
from sordino.course.textbook import verdicts
from sordino.lab.town import crowd, hospital, register
from sordino.mechanisms import Smooth

__all__ = ["main", "offer"]

WIDE = 10**6
PAGE = "http://127.0.0.1:8765/datasets"
FIRST = "median.html"
DATASET = """[dataset]
format = 2
name = "hospital"
ledger = "hospital.ledger"
witness = "hospital.witness"
[privacy]
unit = "patient"
unit_column = "person"
max_rows = 5
max_groups = 1
[budget]
epsilon = 3
delta = 1e-6
[tables.admissions]
source = "admissions.csv"
size = 4_000
most_rows = 50_000
[tables.admissions.columns]
person = { type = "id" }
zip = { type = "cat", keys = "private" }
birth_date = { type = "date", bounds = ["1930-01-01", "2010-01-01"] }
sex = { type = "cat", values = ["f", "m", "x"] }
diagnosis = { type = "cat", keys = "private" }
cost = { type = "int", bounds = [0, 100_000] }
[server]
deadline_ms = 1_000
approve_above = 1
"""


@dataclass
class Stage:
    """Where the demo speaks: to a terminal in 80 columns, or into one JSON document."""

    silent: bool = False
    figures: dict[str, Any] = field(default_factory=dict)

    def heading(self, text: str) -> None:
        if not self.silent:
            print(f"\n{text}\n{'-' * len(text)}")

    def say(self, text: str) -> None:
        """A line, or a paragraph, inside 80 columns."""
        if self.silent:
            return
        indent = " " * (2 + len(text) - len(text.lstrip()))
        print(textwrap.fill(text.lstrip(), 80, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False))


def link(stage: Stage) -> None:
    stage.heading("1. An 'anonymous' table names people")
    secret = hospital()
    anonymous = {name: cells for name, cells in secret.items() if name != "person"}
    unique = sd.lab.uniqueness(secret, ["zip", "birth_date", "sex"], unit="person")
    found = sd.lab.linkage(register(), {**anonymous, "truth": secret["person"]}, on=["zip", "birth_date", "sex"], truth=None)
    stage.say(f"names removed, but {unique.share_unique:.0%} are the only one with their zip, birth date and sex,")
    stage.say(f"and a public register puts a name on {found.share_matched:.0%} of the hospital's rows.")
    stage.figures["linkage"] = {"share_unique": unique.share_unique, "share_matched": found.share_matched}


def trace(stage: Stage) -> None:
    stage.heading("2. Averages tell who was in the study")
    inside, outside = crowd(100)
    exact = sd.lab.trace(inside.mean(axis=0), inside, outside)
    columns = [f"q{i}" for i in range(inside.shape[1])]
    table = sd.table(
        {name: inside[:, i].astype(int) for i, name in enumerate(columns)},
        columns=dict.fromkeys(columns, "bool"), budget=sd.Budget(epsilon=1, delta=1e-6), ledger=":memory:",
    )  # fmt: skip
    with table:
        means = table.means(columns).release(epsilon=1, delta=1e-6).value
    private = sd.lab.trace(means, inside, outside)
    stage.say(f"1,000 exact averages of 100 people: members told from strangers with AUC {exact.auc:.3f}")
    stage.say(f"the same averages released with epsilon 1: AUC {private.auc:.3f} (0.5 is a coin)")
    stage.figures["tracing"] = {"exact": exact.auc, "private": private.auc}


def attack(stage: Stage) -> None:
    stage.heading("3. Noise scaled by the local sensitivity tells one person apart")
    with_person, without = median_leak(100, high=WIDE)
    for name, data in (("with the person", with_person), ("without", without)):
        scale = sd.sensitivity.local.median(data, bounds=(0, WIDE), relation="replace")
        stage.say(f"{name}: median 0, local sensitivity {scale:,}; four releases:")
        stage.say("  " + " ".join(f"{value:12,.0f}" for value in local_noise(data, (0, WIDE), 4)))
    found = sd.lab.noise_exploitation(lambda data, n: local_noise(data, (0, WIDE), n), with_person, without, vectorised=True)
    stage.say(f"The size of the noise alone says which table it was: right {found.right:.0%} of the time from one answer.")
    stage.figures["local noise"] = {"right": found.right, "advantage": found.advantage}


def repair(stage: Stage) -> None:
    stage.heading("4. A smooth bound hides it, and an audit agrees")
    with_person, without = median_leak(100, high=WIDE)
    mechanism = Smooth(epsilon=Fraction(1))
    options: dict[str, Any] = {"statistic": "median", "bounds": (0, WIDE), "relation": "replace"}
    for name, data in (("with the person", with_person), ("without", without)):
        bound = sd.sensitivity.smooth.median(data, bounds=(0, WIDE), beta=0.3, relation="replace")
        stage.say(f"{name}: median 0, smooth sensitivity {bound:,.0f}; four releases:")
        stage.say("  " + " ".join(f"{float(sd.release(mechanism, data, **options)):12,.0f}" for _ in range(4)))
    stage.say(f"certificate: {mechanism.certificate().check()}")
    samples: dict[int, Any] = {id(data): sd.lab.simulate(mechanism, data, repeats=60_000, **options) for data in (with_person, without)}
    audit = sd.lab.audit(lambda data, n: samples[id(data)][:n], with_person, without, claimed=1.0, trials=60_000, vectorised=True)
    stage.say(f"audit of 60,000 releases on each table: epsilon at least {audit.epsilon_lower:.2f}, claimed 1: {audit.verdict}")
    stage.figures["audit"] = {"epsilon_lower": audit.epsilon_lower, "verdict": audit.verdict}


def private_table(stage: Stage, folder: Path) -> None:
    stage.heading("5. A private table: price first, answer once, everything on the ledger")
    zips = sorted(set(map(str, (10_100 + 7 * z for z in range(12)))))
    table = sd.table(
        hospital(),
        unit="person",
        max_rows=5,
        max_groups=1,
        columns={"cost": {"type": "int", "bounds": (0, 100_000)}},
        keys={"zip": zips},
        budget=sd.Budget(epsilon=2, delta=1e-6),
        ledger=folder / "hospital.ledger",
        size=4_000,
        name="hospital",
    )
    with table:
        wish = table.mean("cost").preview(within=600).best
        assert wish is not None
        stage.say(f"the mean cost within 600: epsilon {wish.epsilon:.3g}, {wish.charged:.3g}% of the budget, before any row is read")
        asked = (table.mean("cost"), table.sql("SELECT zip, MEDIAN(cost) FROM hospital GROUP BY zip"), table.mode("diagnosis"))
        prices: tuple[dict[str, Any], ...] = ({"within": 600}, {"epsilon": "0.5"}, {"epsilon": "0.5"})
        answers = []
        for query, price in zip(asked, prices, strict=True):
            start = time.perf_counter()
            answers.append(query.release(**price))
            lines = str(answers[-1]).splitlines()
            for line in lines if len(lines) <= 6 else [*lines[:4], "  ...", lines[-1]]:
                stage.say(line)
            stage.say(f"  took {time.perf_counter() - start:.2f} s")
        again = table.mean("cost").release(within=600)
        stage.say(f"asked again: {again}")
        stage.say(str(table.budget))
        try:
            table.sum("cost").release(epsilon=2)
        except sd.errors.BudgetExceeded as refusal:
            stage.say(f"one more: {refusal}")
        check = table.ledger.verify()
        stage.say(f"the book on disk: {len(table.ledger.entries())} charges; {check}")
        facts = {"price": wish.epsilon, "spent": table.budget.spent, "charges": len(table.ledger.entries()), "whole": bool(check)}
        told = [{"cost": answer.cost.epsilon, "bar": answer.bar, **answer.to_dict()} for answer in answers]
        stage.figures["table"] = {**facts, "left": table.budget.left, "answers": told, "recalled": again.recalled}


def judged(stage: Stage) -> None:
    stage.heading("6. The lecture notes' formulas, as printed")
    wrong = [row for row in verdicts() if row.word == "leaks"]
    stage.say(f"{len(wrong)} printed formulas leak private data if coded as written, for example:")
    for row in wrong[:4]:
        true = tuple(float(f"{x:.3g}") for x in row.true)
        stage.say(f"- {row.note} {row.section}: claimed {row.claimed}, true {true}")
    stage.say("sordino.course.verdicts() shows all of them with the corrected formula.")
    stage.figures["errata"] = len(wrong)


def main(*, as_json: bool = False) -> None:
    start = time.perf_counter()
    stage = Stage(silent=as_json)
    stage.say("Sordino: differential privacy whose noise fits the data")
    for act in (link, trace, attack, repair):
        act(stage)
    with tempfile.TemporaryDirectory() as folder:
        private_table(stage, Path(folder))
    judged(stage)
    stage.figures["seconds"] = round(time.perf_counter() - start, 1)
    if as_json:
        print(json.dumps(stage.figures, default=str))
        return
    print(f"\nDone in {stage.figures['seconds']:.0f} s. Next, on your own file:")
    print("  sordino init yours.csv")
    print('  sordino query "SELECT COUNT(*) FROM yours" --within 20')
    _course()
    offer(Path(tempfile.mkdtemp(prefix="sordino-demo-")))


def _course() -> None:
    """Where to see why: the best page first. The files are in the package, so they open without a server."""
    from sordino.course.writing import SITE

    print("\nWhy it works, with pictures you can drag: five lectures, sixteen pages")
    print(f"  sordino learn --open   or open {(SITE / FIRST).as_uri()}")


def offer(folder: Path) -> None:
    """The made-up hospital as a dataset file, and the commands that put it on a page. In a terminal they are run, if so wished."""
    rows = hospital()
    with (folder / "admissions.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(rows)
        writer.writerows(zip(*rows.values(), strict=True))
    (folder / "hospital.toml").write_text(DATASET, encoding="utf-8")
    beside = Path(sys.executable).with_name("sordino")
    program = "sordino" if shutil.which("sordino") else str(beside)
    config = shlex.quote(str(folder / "hospital.toml"))
    commands = [f"{program} token add me --role owner --config {config}", f"{program} serve --config {config}"]
    needs = "" if find_spec("fastapi") else " (pip install 'sordino[server]' first)"
    print(f"\nOr ask the same hospital on a page: make a token, serve, and open the address{needs}")
    for line in (*commands, PAGE):
        print(f"  {line}")
    if sys.stdin.isatty() and sys.stdout.isatty() and input("Shall I? [y/N] ").strip().lower() in ("y", "yes"):
        for command in commands:
            subprocess.run(shlex.split(command), check=False)


if __name__ == "__main__":
    main()
