"""docs/benchmarks.md and its pictures, from the results of one run. Losses come first."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from sordino.pictures import Picture, bars

DOCS = Path(__file__).parent.parent.parent / "docs"
REMARKS = {
    "opendp": "Quantiles choose among 20,001 candidates given by hand. The table of many groups keeps ten rows a person and shows keys "
    "above a threshold (delta 1e-6), which is quicker than 10,000 public keys.",
    "diffprivlib": "Means and variances hold for replacements of a row at a public number of rows. Its regressions are pure epsilon. Noise "
    "is not safe against low bits.",
    "python-dp": "Lists in, one number out; no tables and no people.",
    "pipeline-dp": "The local backend, on Python tuples that are already in memory.",
    "tmlt.analytics": "Spark with two local threads and a heap of 4 GB, only epsilon 1, fewer draws: one takes about a second. For unknown "
    "keys half of epsilon finds the keys, half counts them.",
    "smartnoise-sql": "Prices each column: AVG is asked at half of epsilon and VAR at a third, so that all cost the same. Needs a delta "
    "(1e-6).",
    "pyqrlew": "Rewrites SQL that DuckDB then runs. Needs a delta (1e-6), takes noise from the database's random() and treats the number "
    "of rows as public: counts are cut there. Keys above a threshold.",
    "dp-accounting": "Composition only.",
    "sordino": "Called as a user calls it: `sd.table(...).mean(...).release(epsilon=...)`, a charge in a ledger each time. Add/remove "
    "unless another relation is named; regressions and unknown keys with delta 1e-6, the slope and all else with delta 0. Its import loads "
    "nothing heavy; the cold start is the figure to compare.",
}


def blur(row: dict[str, Any], best: str) -> float:
    """How far two equal figures lie apart by chance, as a share: two standard errors of medians of exponential errors, or a tenth."""
    draws = row.get("draws", {})
    return 2 * math.sqrt(1 / draws["sordino"] + 1 / draws[best]) / math.log(2) if best in draws and "sordino" in draws else 0.1


def verdict(row: dict[str, Any]) -> tuple[str, str, float]:
    """Lost, tied or won against the best peer, its name, and by what factor the better one is better."""
    own, others = row["values"].get("sordino"), {name: value for name, value in row["values"].items() if name != "sordino"}
    if own is None or not others:
        return "alone", "", 1.0
    best = (min if row["lower_is_better"] else max)(others, key=lambda name: others[name])
    ours, theirs = (own, others[best]) if row["lower_is_better"] else (others[best], own)
    if ours == theirs:
        return "tied", best, 1.0
    factor = max(ours, theirs) / min(ours, theirs) if min(ours, theirs) > 0 else math.inf
    return ("tied" if factor <= 1 + blur(row, best) else "lost" if ours > theirs else "won"), best, factor


def summary(result: dict[str, Any]) -> str:
    verdicts = [verdict(row)[0] for row in result["rows"]]
    return ", ".join(f"{verdicts.count(kind)} {kind}" for kind in ("lost", "tied", "won", "alone")) + f" of {len(verdicts)} rows"


def number(value: float) -> str:
    if value and (abs(value) >= 1e6 or abs(value) < 1e-3):
        return f"{value:.2e}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"


def write(result: dict[str, Any]) -> None:
    (DOCS / "benchmarks.md").write_text(text(result), encoding="utf-8")
    for file, drawn in pictures(result).items():
        (DOCS / "img" / file).write_text(drawn.svg + "\n", encoding="utf-8")


def text(result: dict[str, Any]) -> str:
    """The page: losses, versions, and all rows under their headings."""
    rows, versions = result["rows"], result["versions"]
    drawn = pictures(result)
    draws = [count for row in rows for count in row.get("draws", {}).values()] or [1]
    lines = [
        "# Benchmarks: the peers beside us",
        "",
        "Everything on this page was written by one command, which installs each package in an environment of its own and runs all of them",
        "one after the other on the same data:",
        "",
        "```text",
        result["command"],
        "```",
        "",
        f"One run took {result['minutes']:.0f} minutes on {result['made']}.",
        f"Errors are medians of {min(draws)} to {max(draws)} releases; slow packages have fewer. A row counts as lost or won when the best",
        "peer is better or worse by more than two standard errors of such medians; figures of a clock, by more than a tenth.",
        "An environment that was there already keeps the time its install took then.",
        "",
        f"**{summary(result)}.**",
        "",
        "## Where a peer is better",
        "",
    ]
    judged = [(row, *verdict(row)) for row in rows]
    lost = sorted(((row, best, factor) for row, kind, best, factor in judged if kind == "lost"), key=lambda each: -each[2])
    lines += ["| | measure | best peer | sordino | times better |", "|---|---|---|---:|---:|"] if lost else ["Nowhere in this run."]
    for row, best, factor in lost:
        own, theirs = row["values"]["sordino"], row["values"][best]
        unit = f" ({row['unit']})" if row["unit"] else ""
        lines.append(f"| {row['task']} | {row['measure']}{unit} | {best}: {number(theirs)} | {number(own)} | {factor:.2g} |")
    lines += ["", "## What was compared", "", "| package | version | how it was asked |", "|---|---|---|"]
    lines += [f"| {name} | {version} | {REMARKS.get(name, '')} |" for name, version in versions.items()]
    for name, why in result["not installed"].items():
        lines += ["", f"Not installed: {name}. pip said: {why}"]
    lines += ["", "## All rows", "", "The best figure of a row is bold. Nothing stands where a package has no such question or failed.", ""]
    names = list(versions)
    for part, tasks in _parts(rows).items():
        used = [name for name in names if any(name in row["values"] for row in tasks)]
        lines += [f"### {part}", "", f"| | measure | {' | '.join(used)} |", f"|---|---|{'---:|' * len(used)}"]
        for row in tasks:
            pick = min if row["lower_is_better"] else max
            top = pick(row["values"].values())
            cells = [_cell(row["values"].get(name), top) for name in used]
            unit = f", {row['unit']}" if row["unit"] in ("s", "MB", "1/s") else ""
            lines.append(f"| {row['task']} | {row['measure']}{unit} | {' | '.join(cells)} |")
        lines.append("")
        file = PICTURES[part][2] if part in PICTURES else ""
        if file in drawn:
            lines += [f"![{drawn[file].title}](img/{file})", ""]
    if result["failed"]:
        lines += ["## What failed", "", *(f"* {what}: {why.replace('|', '/')}" for what, why in result["failed"].items()), ""]
    return "\n".join(lines).rstrip() + "\n"


def _cell(value: float | None, top: float) -> str:
    if value is None:
        return ""
    return f"**{number(value)}**" if value == top else number(value)


def _parts(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Rows under the headings of the page."""
    parts: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        task = row["task"]
        if task.startswith("centre"):
            part = "Gross outliers"
        elif task.startswith("unknown"):
            part = "Unknown keys"
        elif task.startswith(("regression", "slope", "logistic")):
            part = "Models"
        elif "composed" in task or task == "noise":
            part = "Composition and noise"
        elif row["unit"] == "of 1,000 incomes":
            part = "Accuracy"
        elif task in ("start", "import", "install"):
            part = "Start and install"
        else:
            part = "Speed and memory"
        parts.setdefault(part, []).append(row)
    return parts


PICTURES = {  # one row of a part, drawn
    "Accuracy": ("mean", "median absolute error, epsilon 1", "peers-mean.svg"),
    "Gross outliers": ("centre with 1% gross outliers: the best a package has", "median absolute error, epsilon 1", "peers-outliers.svg"),
    "Unknown keys": ("unknown keys, Zipf", "keys released, epsilon 1, delta 1e-6", "peers-keys.svg"),
    "Speed and memory": ("counts and sums of 10,000 groups", "time", "peers-groups.svg"),
    "Start and install": ("install", "size", "peers-install.svg"),
}


def pictures(result: dict[str, Any]) -> dict[str, Picture]:
    """By file name: bars of the row that compares most packages."""
    found = {}
    for part, (task, measured, file) in PICTURES.items():
        rows = _parts(result["rows"]).get(part, [])
        fitting = [row for row in rows if row["task"].startswith(task) and row["measure"] == measured and len(row["values"]) > 1]
        if not fitting:
            continue
        row = max(fitting, key=lambda each: len(each["values"]))
        order = sorted(row["values"].items(), key=lambda each: each[1], reverse=not row["lower_is_better"])
        title = f"{row['task']}: {row['measure']}"
        found[file] = bars([name for name, _ in order], [value for _, value in order], title=title, x=row["unit"], log_x=True)
    return found
