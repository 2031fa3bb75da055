"""Shared tables beside real rows and beside peers: how far every pair and triple is off, a model trained on them, coverage, time.

    python bench/share.py [--seeds 3] [--tables randhie,fair,anes96,generated] [--parts ours,peers,large] [--quick]
                          [--hours 2] [--page docs/shared.md]

RAND health (20,190 x 10), `fair` and `anes96` come with statsmodels, the generated table has 40,000 x 14. Every table is cut to codes
first, at most ten per column, so that all methods see the same cells; 80% of the rows are shared at (1, 1e-6), and gradient boosting
trained on the shared rows is judged by the other 20%. Peers are asked on every table in environments of their own under build/, the quick
method with as many seeds as ours, the slow one once and on RAND health as often, as far as --hours since the first one go; those that fail
are listed as such. A generated Parquet file of ten million rows is shared once. Whatever is measured is kept in build/ and measured again
only when what it depends on has changed: the same command goes on where it was stopped. Says MISSED where a figure is missed, and then
exits with an error.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "peers"))
import share_peers

from share_cells import DELTA, ROOT, Cells, bases, digest, git, large, ours
from share_page import page
from share_tables import Coded, tables

RESULTS = Path(__file__).parent / "results" / "share.json"
BUILD = ROOT / "build" / "share"
LARGE = 10_000_000
MOST = [("randhie", "adaptive, epsilon 1", "tv3", 0.030), ("randhie", "triples, epsilon 1", "tv3", 0.028),
        ("randhie", "adaptive, epsilon 0.1", "tv3", 0.080), ("randhie", "adaptive, epsilon 1", "seconds", 6.0),
        ("randhie", "tree, epsilon 1", "seconds", 1.0)]  # fmt: skip
LEAST = [("randhie", "target, epsilon 1", "auc", 0.65)]
COVERED, OF_THE_TREE = 0.92, 0.6


def peers(cells: Cells, known: dict[str, Coded], seeds: int, hours: float) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Every table of every peer, by table and name; what was not begun in time is said so."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    begun = BUILD / "begun"
    if not begun.exists():
        begun.parent.mkdir(parents=True, exist_ok=True)
        begun.write_text(str(time.time()))
    last = float(begun.read_text()) + 3600 * hours
    for asked in share_peers.order(list(known), seeds):
        table, names = known[asked.table], asked.item.names(asked.method)

        def make(asked: share_peers.Asked = asked, table: Coded = table, names: list[str] = names) -> dict[str, Any]:
            if time.time() > last:
                raise TimeoutError
            told = share_peers.made(asked, BUILD, table.train, table.sizes, epsilon=1.0, delta=DELTA)
            if "failed" in told:
                return {"ways": {name: {"failed": told["failed"]} for name in names}}
            made = zip(names, told["rows"].values(), strict=True)
            return {"ways": {name: {**table.figures(rows), "seconds": told["seconds"]} for name, rows in made}}

        basis = f"{' '.join(asked.item.peer.pins)} {digest(table)} {share_peers.LIMIT}"
        try:
            kept = cells.of(asked.name, basis, make)
        except TimeoutError:
            late = {"failed": "not there when the hours of the run were over", "late": True}
            kept = {"ways": dict.fromkeys(names, late), "commit": ""}
        for name in names:
            found.setdefault((asked.table, name), []).append({**kept["ways"][name], "commit": kept["commit"]})
    return found


def together(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over the seeds that made a table, and why others made none."""
    done = [run for run in runs if "tv3" in run]
    out: dict[str, Any] = {"seeds": len(done), "commits": sorted({run["commit"] for run in runs if run["commit"]})}
    for key in ("tv1", "tv2", "tv3", "auc", "seconds", "pairs_covered", "triples_covered"):
        values = [run[key] for run in done if run.get(key) is not None]
        if values:
            out[key] = float(np.mean(values))
    if done:
        out["tv3_of_each"] = [run["tv3"] for run in done]
    failed = [run["failed"] for run in runs if "failed" in run and not run.get("late")]
    if failed or not done:
        out["failed"] = "; ".join(dict.fromkeys(failed)) or runs[0]["failed"]
        out["failures"] = len(failed)
    return out


def judged(found: dict[str, dict[str, dict[str, Any]]]) -> list[str]:
    """Which goals are missed."""
    missed = []
    for goals, below in ((MOST, True), (LEAST, False)):
        for name, way, figure, goal in goals:
            value = found.get(name, {}).get(way, {}).get(figure)
            if value is not None and (value > goal if below else value < goal):
                missed.append(f"{name}, {way}: {figure} {value:.4f} {'above' if below else 'below'} {goal}")
    for name, ways in found.items():
        for word, figures in ways.items():
            if figures.get("triples_covered", 1) < COVERED:
                missed.append(f"{name}, {word}: the report covers {figures['triples_covered']:.3f} of the triples")
    made = found.get("generated", {})
    if "tree, epsilon 1" in made and made["adaptive, epsilon 1"]["tv3"] > OF_THE_TREE * made["tree, epsilon 1"]["tv3"]:
        missed.append(f"generated: adaptive is above {OF_THE_TREE} of the tree")
    return missed


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--seeds", type=int, default=3)
    words.add_argument("--tables", default="randhie,fair,anes96,generated")
    words.add_argument("--parts", default="ours,peers,large")
    words.add_argument("--quick", action="store_true", help="one seed of ours, nothing written")
    words.add_argument("--hours", type=float, default=2.0, help="so long after the first one no further table of a peer is begun")
    words.add_argument("--page", type=Path)
    said = words.parse_args()
    parts = ["ours"] if said.quick else said.parts.split(",")
    cells = Cells(BUILD / "cells", git("rev-parse", "--short", "HEAD"))
    every = tables()
    known = {name: every[name] for name in said.tables.split(",")}
    found: dict[str, dict[str, dict[str, Any]]] = {name: dict(bases(cells, table)) for name, table in known.items()}
    if "ours" in parts:
        for name, table in known.items():
            found[name] |= {way: together(runs) for way, runs in ours(cells, table, 1 if said.quick else said.seeds).items()}
    if "peers" in parts:
        for (name, word), runs in peers(cells, known, said.seeds, said.hours).items():
            found[name][word] = together(runs)
    result = {"commit": cells.commit, "tables": found, "absent": share_peers.ABSENT, "missed": judged(found)}
    if "large" in parts:
        result["large"] = large(cells, LARGE)
    print(*(f"MISSED: {line}" for line in result["missed"]), sep="\n")
    if not said.quick and set(parts) == {"ours", "peers", "large"}:
        RESULTS.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
        if said.page is not None:
            said.page.write_text(page(result, f"--hours {said.hours:g} --page {said.page}", share_peers.LIMIT), encoding="utf-8")
    return int(bool(result["missed"]))


if __name__ == "__main__":
    sys.exit(main())
