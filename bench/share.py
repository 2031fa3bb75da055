"""Shared tables beside real rows: how far every pair and triple is off, a model trained on them, the coverage of the report, time.

    python bench/share.py [--seeds 3] [--tables randhie,fair,anes96,generated] [--quick] [--peers 1]
                          [--large 10000000] [--page docs/shared.md]

RAND health (20,190 x 10), `fair` and `anes96` come with statsmodels, the generated table has 40,000 x 14. Every table is cut to codes
first, at most ten per column, so that all methods see the same cells; 80% of the rows are shared at (1, 1e-6), and gradient boosting
trained on the shared rows is judged by the other 20%. Peers are asked on RAND health, `--peers` times each, in environments of their own
under build/, and those that fail are listed as such. `--large` shares a generated Parquet file of so many rows once. Tables that are not
named keep the figures of an earlier run. Says MISSED where a figure is missed, and then exits with an error.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import sordino as sd

sys.path.insert(0, str(Path(__file__).parent / "peers"))
import share_peers

Array = np.ndarray[Any, Any]
DELTA = 1e-6
TARGETS = {"randhie": ("mdvis", 2), "fair": ("affairs", 1), "anes96": ("vote", 1), "generated": ("c0", 1)}
GOALS = [("randhie", "adaptive, epsilon 1", "tv3", 0.030), ("randhie", "triples, epsilon 1", "tv3", 0.028),
         ("randhie", "adaptive, epsilon 0.1", "tv3", 0.080)]  # fmt: skip
RESULTS = Path(__file__).parent / "results" / "share.json"
BUILD = Path(__file__).parent.parent / "build" / "share"
PEERED = "randhie"


def coded(columns: dict[str, Array], most: int = 10) -> tuple[list[str], Array]:
    """Every column as codes: its values, or intervals that hold similar numbers of rows."""
    out = []
    for values in columns.values():
        found = np.unique(values)
        if len(found) > most:
            edges = np.unique(np.quantile(values, np.linspace(0, 1, most + 1)[1:-1]))
            out.append(np.unique(np.searchsorted(edges, values, side="right"), return_inverse=True)[1])
        else:
            out.append(np.searchsorted(found, values))
    return list(columns), np.column_stack(out).astype(np.int64)


def generated(rows: int = 40_000, columns: int = 14, seed: int = 1) -> dict[str, Array]:
    """Columns of 2 to 12 values with three hidden causes and a few triples that no pair shows."""
    rng = np.random.default_rng(seed)
    causes = rng.normal(size=(rows, 3))
    out: dict[str, Array] = {}
    for i in range(columns):
        size = int(rng.integers(2, 13))
        mixed = causes @ rng.normal(0, 1, 3) + rng.normal(0, 0.7, rows)
        out[f"c{i}"] = np.minimum((size * (mixed.argsort().argsort() / rows) ** rng.uniform(0.7, 1.6)).astype(int), size - 1)
    out["c0"] = ((out["c1"] + out["c2"] + (rng.random(rows) < 0.1)) % 2).astype(int)
    return out


def tables() -> dict[str, dict[str, Array]]:
    from statsmodels.datasets import anes96, fair, randhie

    found = {name: data.load_pandas().data for name, data in (("randhie", randhie), ("fair", fair), ("anes96", anes96))}
    return {**{name: {c: frame[c].to_numpy(float) for c in frame} for name, frame in found.items()}, "generated": generated()}


def marginal(codes: Array, clique: tuple[int, ...], sizes: tuple[int, ...]) -> Array:
    shape = [sizes[i] for i in clique]
    flat = np.ravel_multi_index([codes[:, i] for i in clique], shape)
    return np.bincount(flat, minlength=int(np.prod(shape))) / max(len(codes), 1)


def variation(one: Array, other: Array, sizes: tuple[int, ...], size: int) -> float:
    cliques = combinations(range(len(sizes)), size)
    return float(np.mean([np.abs(marginal(one, c, sizes) - marginal(other, c, sizes)).sum() / 2 for c in cliques]))


def auc(train: Array, test: Array, place: int, least: int) -> float | None:
    """Gradient boosting trained on one table and judged by another."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score

    x, x_test = (np.delete(rows, place, axis=1) for rows in (train, test))
    y, y_test = ((rows[:, place] >= least).astype(int) for rows in (train, test))
    if len(set(y)) < 2 or len(set(y_test)) < 2:
        return None
    return float(roc_auc_score(y_test, HistGradientBoostingClassifier(random_state=0).fit(x, y).predict_proba(x_test)[:, 1]))


def covered(shared: Any, train: Array, level: int) -> float:
    """How often the report's bars hold the true total variation of the file, over all sets of so many columns."""
    cells = [np.array(joined.cells) for joined in shared._joined]
    sizes = tuple(joined.size for joined in shared._joined)
    real = np.column_stack([cells[i][train[:, i]] for i in range(train.shape[1])])
    hits = []
    for names, bar in shared.errors.items():
        clique = tuple(shared.columns.index(name) for name in names)
        if len(clique) == level:
            truth = np.abs(marginal(real, clique, sizes) - marginal(shared.codes, clique, sizes)).sum() / 2
            hits.append(bar.low <= truth <= bar.high)
    return float(np.mean(hits)) if hits else float("nan")


def measure(name: str, columns: dict[str, Array], seeds: int, peers: int = 0) -> dict[str, dict[str, Any]]:
    names, codes = coded(columns)
    sizes = tuple((codes.max(axis=0) + 1).tolist())
    order = np.random.default_rng(0).permutation(len(codes))
    train, test = codes[order[: int(0.8 * len(codes))]], codes[order[int(0.8 * len(codes)) :]]
    target, least = TARGETS[name]
    place = names.index(target) if target in names else 0
    rng = np.random.default_rng(1)
    out: dict[str, dict[str, Any]] = {}

    def note(word: str, made: list[Array], **more: Any) -> None:
        figures = {f"tv{k}": float(np.mean([variation(train, m, sizes, k) for m in made])) for k in (1, 2, 3)}
        scores = [score for m in made if (score := auc(m, test, place, least)) is not None]
        out[word] = {**figures, "auc": float(np.mean(scores)) if scores else None, **more}
        print(f"{name:>10}  {word:<24}", {k: round(v, 4) if isinstance(v, float) else v for k, v in out[word].items()}, flush=True)

    note("real rows", [train])
    note("bootstrap of them", [train[rng.integers(0, len(train), len(train))]])
    note("independent columns", [np.column_stack([rng.permutation(train[:, i]) for i in range(len(sizes))])])
    bounds = {n: (0, max(s - 1, 1)) for n, s in zip(names, sizes, strict=True)}
    held = sd.table(
        {n: train[:, i] for i, n in enumerate(names)}, bounds=bounds, columns=dict.fromkeys(names, "int"),
        budget=sd.Budget(epsilon=10**4, delta=0.01), ledger=":memory:", size=len(train),
    )  # fmt: skip
    ways: dict[str, dict[str, Any]] = {
        "adaptive, epsilon 1": {"epsilon": 1}, "triples, epsilon 1": {"epsilon": 1, "workload": 3},
        "target, epsilon 1": {"epsilon": 1, "target": names[place]}, "tree, epsilon 1": {"epsilon": 1, "method": "tree"},
        "adaptive, epsilon 0.1": {"epsilon": 0.1},
    }  # fmt: skip
    with held:
        for word, options in ways.items():
            made, seconds, pairs, triples = [], [], [], []
            for _ in range(seeds):
                start = time.process_time()
                shared = held.share(delta=DELTA, fresh=True, **options)
                seconds.append(time.process_time() - start)
                rows = shared.to_dict()
                made.append(np.column_stack([[0 if v is None else v for v in rows[n]] for n in names]).astype(np.int64))
                pairs.append(covered(shared, train, 2))
                triples.append(covered(shared, train, 3))
            note(
                word,
                made,
                seeds=seeds,
                seconds=float(np.mean(seconds)),
                pairs_covered=float(np.mean(pairs)),
                triples_covered=float(np.mean(triples)),
            )
    if peers and name == PEERED:
        for word, kept in share_peers.tables(BUILD, train, sizes, epsilon=1.0, delta=DELTA, seeds=peers).items():
            if kept.get("made"):
                note(word, kept["made"], seeds=len(kept["made"]), seconds=float(np.mean(kept["seconds"])))
            if kept.get("failed"):
                out[word] = {**out.get(word, {}), "failed": kept["failed"]}
                print(f"{name:>10}  {word:<24} failed: {kept['failed']}", flush=True)
    return out


def large(rows: int) -> dict[str, Any]:
    """A generated Parquet file of so many rows, shared once in this process: seconds of processor and clock, and the most memory held."""
    import tempfile

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
        found = {
            "rows": rows,
            "columns": 10,
            "made": len(shared),
            "seconds": time.process_time() - start,
            "clock": time.perf_counter() - clock,
        }
        triples = [bar.tv for names, bar in shared.errors.items() if len(names) == 3]
    return {**found, "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000, "tv3_reported": float(np.mean(triples))}


def page(found: dict[str, Any], words: str) -> str:
    """The tables of the results, with peers where they were asked."""
    head = f"""# Shared tables beside peers

Figures of `python bench/share.py {words}`; tables and peers may come from several runs.
Total variation (TV) is the mean over all columns, pairs and triples, to the rows that were shared (80% of each table); AUC is gradient
boosting trained on the made-up rows and judged by the real rows that were held back; seconds are of the processor, beside other work on
the same machine. All at delta 1e-6. Peers are at epsilon 1, with their own defaults; values that they answer and nobody listed count as
the most common one of their column. "round" and "sample" are two ways in which opendp makes rows. Each peer
may take {share_peers.LIMIT:,} processor seconds.
"""
    lines = [*head.splitlines(), ""]
    for name, ways in found["tables"].items():
        lines += [f"## {name}", "", "| | seeds | TV1 | TV2 | TV3 | AUC | seconds | triples covered |", "|---|---|---|---|---|---|---|---|"]
        for word, figures in ways.items():
            if "tv3" not in figures:
                lines.append(f"| {word} | | | | | | | no table: {figures['failed']} |")
                continue
            cells = [figures.get("seeds", ""), *(f"{figures[f'tv{k}']:.4f}" for k in (1, 2, 3))]
            cells.append("" if figures.get("auc") is None else f"{figures['auc']:.3f}")
            cells.append(f"{figures['seconds']:.1f}" if "seconds" in figures else "")
            cells.append(f"{figures['triples_covered']:.3f}" if "triples_covered" in figures else "")
            lines.append(f"| {word} | {' | '.join(map(str, cells))} |")
        lines.append("")
    if big := found.get("large"):
        lines += ["## Many rows", "", f"A generated Parquet file of {big['rows']:,} rows and {big['columns']} columns at epsilon 1: "
                  f"{big['seconds']:.0f} processor seconds, {big['clock']:.0f} on the clock, at most {big['megabytes']:,.0f} MB in memory; "
                  f"mean reported TV of triples {big['tv3_reported']:.4f}.", ""]  # fmt: skip
    lines += ["## Not compared", ""] + [f"- {name}: {why}." for name, why in share_peers.ABSENT.items()]
    lines += ["", "## Figures that are missed", ""] + ([f"- {line.removeprefix('MISSED: ')}" for line in found["missed"]] or ["None."])
    return "\n".join(lines) + "\n"


def judged(found: dict[str, dict[str, dict[str, Any]]]) -> list[str]:
    """Which goals are missed."""
    missed = []
    for name, way, figure, most in GOALS:
        value = found.get(name, {}).get(way, {}).get(figure)
        if value is not None and value > most:
            missed.append(f"MISSED: {name}, {way}: {figure} {value:.4f} above {most}")
    for name, ways in found.items():
        for word, figures in ways.items():
            if figures.get("triples_covered") is not None and figures.get("triples_covered", 1) < 0.92:
                missed.append(f"MISSED: {name}, {word}: the report covers {figures['triples_covered']:.3f} of the triples")
    rand = found.get("randhie", {})
    if rand and (rand["target, epsilon 1"]["auc"] or 0) < 0.65:
        missed.append(f"MISSED: randhie, target: AUC {rand['target, epsilon 1']['auc']:.3f} below 0.65")
    made = found.get("generated", {})
    if made and made["adaptive, epsilon 1"]["tv3"] > 0.6 * made["tree, epsilon 1"]["tv3"]:
        missed.append("MISSED: generated: adaptive is above 0.6 of the tree")
    return missed


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--seeds", type=int, default=3)
    words.add_argument("--tables", default="randhie,fair,anes96,generated")
    words.add_argument("--quick", action="store_true", help="one seed, no peers, nothing written")
    words.add_argument("--peers", type=int, default=1, help="tables of every peer and method; 0 asks none")
    words.add_argument("--large", type=int, default=0, help="rows of a generated file that is shared once")
    words.add_argument("--page", type=Path)
    said = words.parse_args()
    known, kept = tables(), json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    peers = 0 if said.quick else said.peers
    now = {name: measure(name, known[name], 1 if said.quick else said.seeds, peers) for name in said.tables.split(",") if name}
    before = kept.get("tables", {})
    found = {name: {**before.get(name, {}), **now.get(name, {})} for name in known if name in now or name in before}
    result = {"tables": now if said.quick else found, "peers": share_peers.ABSENT, "missed": judged(now if said.quick else found)}
    if big := (large(said.large) if said.large else kept.get("large")):
        result["large"] = big
        print("large", json.dumps(big))
    print(*result["missed"], sep="\n")
    if not said.quick:
        RESULTS.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
        if said.page is not None:
            said.page.write_text(page(result, f"--seeds {said.seeds} --page {said.page}"), encoding="utf-8")
    return 1 if result["missed"] else 0


if __name__ == "__main__":
    sys.exit(main())
