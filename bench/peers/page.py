"""docs/benchmarks.md and its pictures, from the results of one run. Losses come first."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from figure import BEYOND, CLOCK, FAR, follows, verdict

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
    "nothing heavy and its rooms are loaded before a clock starts; the cold start is the figure to compare.",
}


def summary(result: dict[str, Any]) -> str:
    verdicts = [verdict(row).kind for row in result["rows"]]
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
    known = [row for row in rows if "law" in row]
    missed = [row for row in known if not follows(row)]
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
        "",
        f"**{summary(result)}.**",
        "",
        f"Every error is of {result['draws']:,} releases of a question at a price, or of as many as a package made in",
        f"{result['seconds']:.0f} seconds (keys and logistic regressions: three times that); where they were fewer, their number stands in",
        "parentheses. ± is one standard error, of a median that of its bootstrap. Counts are whole numbers, and a median of whole numbers",
        "is one too, so theirs are mean absolute errors.",
        "",
        f"* **Lost**: some peer is better by more than {BEYOND:g} standard errors of the difference. **Won**: we are better by as much",
        "  than each peer. **Tied**: all else. Two packages that draw from the same law differ so far by chance once in twenty-two times.",
        f"* Figures without ± were measured once, on a clock, in memory or on a disk: {CLOCK - 1:.0%} decides, and how steady a machine",
        "  is. An environment that was there already keeps the time its install took then.",
        "* The law says: the figure of the law we claim to draw from, by the textbook's formula where there is a closed one.",
        f"  {len(known) - len(missed)} of our {len(known)} figures lie within {FAR:g} standard errors of it"
        + ("; the others say MISSED." if missed else "."),
        "",
        "## Where a peer is better",
        "",
    ]
    judged = [(row, verdict(row)) for row in rows]
    lost = sorted(((row, of) for row, of in judged if of.kind == "lost"), key=lambda each: -each[1].factor)
    head = ["| | measure | peer | sordino | times better | standard errors apart |", "|---|---|---|---:|---:|---:|"]
    lines += head if lost else ["Nowhere in this run."]
    for row, of in lost:
        unit = f" ({row['unit']})" if row["unit"] else ""
        apart = "" if of.apart is None else f"{of.apart:.1f}"
        what = f"| {row['task']} | {row['measure']}{unit} | {of.rival}: {shown(row, of.rival)} | {shown(row, 'sordino')} |"
        lines.append(f"{what} {of.factor:.2g} | {apart} |")
    lines += ["", "## What was compared", "", "| package | version | how it was asked |", "|---|---|---|"]
    lines += [f"| {name} | {version} | {REMARKS.get(name, '')} |" for name, version in versions.items()]
    for name, why in result["not installed"].items():
        lines += ["", f"Not installed: {name}. pip said: {why}"]
    lines += ["", "## All rows", "", "The best figure of a row is bold. Nothing stands where a package has no such question or failed.", ""]
    names = list(versions)
    for part, tasks in _parts(rows).items():
        used = [name for name in names if any(name in row["values"] for row in tasks)]
        law = any("law" in row for row in tasks)
        columns = [used[0], *(["the law says"] if law else []), *used[1:]]
        lines += [f"### {part}", "", f"| | measure | {' | '.join(columns)} |", f"|---|---|{'---:|' * len(columns)}"]
        for row in tasks:
            cells = [_cell(row, name, result["draws"]) for name in used]
            said = [number(row["law"]) if "law" in row else ""] if law else []
            unit = f", {row['unit']}" if row["unit"] in ("s", "MB", "1/s") else ""
            lines.append(f"| {row['task']} | {row['measure']}{unit} | {' | '.join([cells[0], *said, *cells[1:]])} |")
        lines.append("")
        file = PICTURES[part][2] if part in PICTURES else ""
        if file in drawn:
            lines += [f"![{drawn[file].title}](img/{file})", ""]
    if result["failed"]:
        lines += ["## What failed", "", *(f"* {what}: {why.replace('|', '/')}" for what, why in result["failed"].items()), ""]
    return "\n".join(lines).rstrip() + "\n"


def shown(row: dict[str, Any], name: str) -> str:
    """A figure, with its standard error where there is one, at the same power of ten."""
    value, error = row["values"][name], row.get("errors", {}).get(name)
    if error is None:
        return number(value)
    if value and (abs(value) >= 1e6 or abs(value) < 1e-3):
        power = math.floor(math.log10(abs(value)))
        return f"({value / 10**power:.2f} ± {_two_digits(error / 10**power)})e{power}"
    return f"{number(value)} ± {_two_digits(error)}"


def _two_digits(error: float) -> str:
    rounded = float(f"{error:.2g}")
    return f"{rounded:,.{max(0, 1 - math.floor(math.log10(rounded)))}f}" if rounded else "0"


def _cell(row: dict[str, Any], name: str, draws: int) -> str:
    if name not in row["values"]:
        return ""
    top = (min if row["lower_is_better"] else max)(row["values"].values())
    text = f"**{shown(row, name)}**" if row["values"][name] == top else shown(row, name)
    few = row.get("draws", {}).get(name, draws)
    return text + (f" ({few:,})" if few < draws else "") + (" MISSED" if name == "sordino" and not follows(row) else "")


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
