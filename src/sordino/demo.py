"""What a newcomer sees first: an attack that works, the repair, and a private table with a price. Run `python -m sordino.demo`."""

from __future__ import annotations

import tempfile
import textwrap
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import sordino as sd
from sordino.lab.notes import local_noise, median_leak
from sordino.lab.town import hospital
from sordino.mechanisms import Smooth
from sordino.mechanisms.textbook import verdicts

__all__ = ["main"]

WIDE = 10**6


def say(text: str) -> None:
    """A line, or a paragraph, inside 80 columns."""
    indent = " " * (2 + len(text) - len(text.lstrip()))
    print(textwrap.fill(text.lstrip(), 80, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False))


def heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


def attack() -> None:
    heading("1. Noise scaled by the local sensitivity tells one person apart")
    with_person, without = median_leak(100, high=WIDE)
    for name, data in (("with the person", with_person), ("without", without)):
        scale = sd.sensitivity.local.median(data, bounds=(0, WIDE), relation="replace")
        say(f"{name}: median 0, local sensitivity {scale:,}; four releases:")
        say("  " + " ".join(f"{value:12,.0f}" for value in local_noise(data, (0, WIDE), 4)))
    say("The size of the noise alone says which table it was.")


def repair() -> None:
    heading("2. A smooth bound hides it, and an audit agrees")
    with_person, without = median_leak(100, high=WIDE)
    mechanism = Smooth(epsilon=Fraction(1))
    options: dict[str, Any] = {"statistic": "median", "bounds": (0, WIDE), "relation": "replace"}
    for name, data in (("with the person", with_person), ("without", without)):
        bound = sd.sensitivity.smooth.median(data, bounds=(0, WIDE), beta=0.3, relation="replace")
        say(f"{name}: median 0, smooth sensitivity {bound:,.0f}; four releases:")
        say("  " + " ".join(f"{float(sd.release(mechanism, data, **options)):12,.0f}" for _ in range(4)))
    say(f"certificate: {mechanism.certificate().check()}")
    samples: dict[int, Any] = {id(data): sd.lab.simulate(mechanism, data, repeats=60_000, **options) for data in (with_person, without)}
    audit = sd.lab.audit(lambda data, n: samples[id(data)][:n], with_person, without, claimed=1.0, trials=60_000, vectorised=True)
    say(f"audit of 60,000 releases on each table: epsilon at least {audit.epsilon_lower:.2f}, claimed 1: {audit.verdict}")


def private_table(folder: Path) -> None:
    heading("3. A private table: price first, answer once, everything on the ledger")
    admissions = hospital()
    zips = sorted(set(map(str, (10_100 + 7 * z for z in range(12)))))
    table = sd.table(
        admissions,
        unit="person",
        max_rows=5,
        max_groups=1,
        columns={"cost": {"type": "int", "bounds": (0, 100_000)}},
        keys={"zip": zips},
        budget=sd.Budget(epsilon=2, delta=1e-6),
        ledger=folder / "hospital.ledger",
        name="hospital",
    )
    with table:
        for query in (table.count(), table.mean("cost"), table.group_by("zip").median("cost"), table.mode("diagnosis")):
            start = time.perf_counter()
            release = query.release(epsilon=0.5)
            text = str(release)
            lines = text.splitlines()
            for line in lines if len(lines) <= 6 else [*lines[:4], "  ...", lines[-1]]:
                say(line)
            say(f"  took {time.perf_counter() - start:.2f} s")
        again = table.count().release(epsilon=0.5)
        say(f"asked again: {again}")
        say(str(table.budget))
        try:
            table.sum("cost").release(epsilon=0.5)
        except sd.errors.BudgetExceeded as refusal:
            say(f"one more: {refusal}")
        say(f"the book on disk: {len(table.ledger.entries())} charges; {table.ledger.verify()}")


def judged() -> None:
    heading("4. The lecture notes' formulas, as printed")
    wrong = [row for row in verdicts() if row.leaks and not row.sound]
    say(f"{len(wrong)} printed formulas leak private data if coded as written, for example:")
    for row in wrong[:4]:
        true = tuple(float(f"{x:.3g}") for x in row.true)
        say(f"- {row.note} {row.section}: claimed {row.claimed}, true {true}")
    say("sordino.mechanisms.textbook.verdicts() shows all of them with the corrected formula.")


def main() -> None:
    start = time.perf_counter()
    print("Sordino: differential privacy whose noise fits the data")
    attack()
    repair()
    with tempfile.TemporaryDirectory() as folder:
        private_table(Path(folder))
    judged()
    print(f"\nDone in {time.perf_counter() - start:.0f} s. Next, on your own file:")
    print("  import sordino as sd")
    print("  t = sd.table('yours.csv', bounds={'income': (0, 1_000_000)},")
    print("               budget=sd.Budget(epsilon=1))")
    print("  print(t.median('income').release(epsilon=0.5))")


if __name__ == "__main__":
    main()
