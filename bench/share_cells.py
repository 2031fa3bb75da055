"""The cells of bench/share.py: one table made in one way with one seed. A cell that was measured on the same source is not measured again.

What decides a cell is its basis: for our own tables the source tree and the rows, for peers their pins, the rows and the limit. Every cell
remembers the commit it was measured on.
"""

from __future__ import annotations

import hashlib
import json
import re
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import sordino as sd
from share_tables import Coded, covered

DELTA = 1e-6
ROOT = Path(__file__).parent.parent
DECIDE = ("src/sordino/share", "src/sordino/noise", "src/sordino/session/sharing.py", "src/sordino/session/shared.py")
WAYS: dict[str, dict[str, Any]] = {
    "adaptive, epsilon 1": {"epsilon": 1},
    "triples, epsilon 1": {"epsilon": 1, "workload": 3},
    "target, epsilon 1": {"epsilon": 1, "target": True},
    "tree, epsilon 1": {"epsilon": 1, "method": "tree"},
    "adaptive, epsilon 0.1": {"epsilon": 0.1},
}


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def source() -> str:
    """The trees of what makes a shared table; with changes that are in no commit, a word that no other run has."""
    changed = git("status", "--porcelain", "--", *DECIDE)
    return f"changed {time.time()}" if changed else " ".join(git("rev-parse", "--short", f"HEAD:{place}") for place in DECIDE)


@dataclass(frozen=True)
class Cells:
    """Figures by name, in files."""

    folder: Path
    commit: str

    def of(self, name: str, basis: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        place = self.folder / f"{re.sub('[^a-z0-9.]+', '-', name.lower())}.json"
        if place.exists():
            kept: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
            if kept["basis"] == basis:
                return kept
        found = {"basis": basis, "commit": self.commit, **make()}
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(found), encoding="utf-8")
        short = {k: round(v, 4) if isinstance(v, float) else v for k, v in found.items() if k not in ("basis", "commit")}
        print(f"{name:<40}", short, flush=True)
        return found


def digest(table: Coded) -> str:
    return hashlib.sha256(np.ascontiguousarray(table.train, "<i8").tobytes()).hexdigest()[:12]


def bases(cells: Cells, table: Coded) -> dict[str, dict[str, Any]]:
    """What no method can beat or should lose to."""
    rng = np.random.default_rng(1)
    train = table.train
    made = {
        "real rows": train,
        "bootstrap of them": train[rng.integers(0, len(train), len(train))],
        "independent columns": np.column_stack([rng.permutation(train[:, i]) for i in range(train.shape[1])]),
    }
    return {word: cells.of(f"{table.name} {word}", digest(table), lambda rows=rows: table.figures(rows)) for word, rows in made.items()}


def ours(cells: Cells, table: Coded, seeds: int) -> dict[str, list[dict[str, Any]]]:
    """Every way of ours, `seeds` tables each."""
    names, train = table.columns, table.train
    bounds = {n: (0, max(s - 1, 1)) for n, s in zip(names, table.sizes, strict=True)}
    basis = f"{source()} {digest(table)}"

    def once(held: Any, options: dict[str, Any]) -> dict[str, Any]:
        said = {**options, "target": names[table.target[0]]} if "target" in options else options
        start = time.process_time()
        shared = held.share(delta=DELTA, fresh=True, **said)
        seconds, rows = time.process_time() - start, shared.to_dict()
        made = np.column_stack([[0 if v is None else v for v in rows[n]] for n in names]).astype(np.int64)
        cover = {"pairs_covered": covered(shared, train, 2), "triples_covered": covered(shared, train, 3)}
        return {**table.figures(made), "seconds": seconds, **cover}

    held = sd.table(
        {n: train[:, i] for i, n in enumerate(names)}, bounds=bounds, columns=dict.fromkeys(names, "int"),
        budget=sd.Budget(epsilon=10**4, delta=0.01), ledger=":memory:", size=len(train),
    )  # fmt: skip
    with held:
        return {
            word: [cells.of(f"{table.name} {word} {seed}", basis, lambda o=options: once(held, o)) for seed in range(seeds)]
            for word, options in WAYS.items()
        }


def large(cells: Cells, rows: int) -> dict[str, Any]:
    return cells.of(f"large {rows}", f"{source()} {rows}", lambda: _large(rows))


def _large(rows: int) -> dict[str, Any]:
    """A generated Parquet file of so many rows, shared once in this process: seconds of processor and clock, and the most memory held."""
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "large.parquet")
        noise = ", ".join(f"((hash(i * 31 + {c}) % 1000)::INT) AS h{c}" for c in range(10))
        made = ", ".join(f"((h{c} + 600 * (h0 % {c + 2})) * {2 + c} // (1000 + 600 * {c + 1}))::INT AS c{c}" for c in range(10))
        duckdb.sql(f"COPY (SELECT {made} FROM (SELECT {noise} FROM range({rows}) t(i))) TO '{file}' (FORMAT parquet)")
        bounds = {f"c{c}": (0, 2 + c) for c in range(10)}
        start, clock = time.process_time(), time.perf_counter()
        budget = sd.Budget(epsilon=10, delta=0.01)
        with sd.table(file, bounds=bounds, columns=dict.fromkeys(bounds, "int"), budget=budget, ledger=":memory:", size=rows) as held:
            shared = held.share(epsilon=1, delta=DELTA, rows=min(rows, 100_000))
        spent = {"seconds": time.process_time() - start, "clock": time.perf_counter() - clock}
        triples = [bar.tv for names, bar in shared.errors.items() if len(names) == 3]
    held_most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    return {"rows": rows, "columns": 10, "made": len(shared), **spent, "megabytes": held_most, "tv3_reported": float(np.mean(triples))}
