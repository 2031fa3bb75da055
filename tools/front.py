"""The figures of the README: between two marks, from the results that the benches left behind. Nobody types them."""

from __future__ import annotations

import json
import re
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "bench" / "results"
FEW = 2  # of each package
AT_ONE = "median absolute error, epsilon 1"
SHOWN = (  # a task and its measure, as patterns
    ("mean", AT_ONE),
    ("median", AT_ONE),
    ("variance", AT_ONE),
    ("centre with 1% gross outliers: the best*", AT_ONE),
    ("unknown keys, Zipf", "keys released*"),
    ("regression, 10 coefficients", "median distance, epsilon 1"),
    ("*distinct Gaussians composed", "time"),
    ("counts and sums of 10,000 groups*", "time"),
    ("install", "size"),
)


def readme() -> str:
    """The README with its blocks filled from the last results."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name, write in (("peers", peers), ("audit", audited)):
        block = f"<!-- {name} -->\n{write(_found(name))}\n<!-- /{name} -->"
        text, changed = re.subn(rf"<!-- {name} -->\n.*?<!-- /{name} -->", lambda _, b=block: b, text, flags=re.DOTALL)
        assert changed == 1, f"README.md has no block {name}"
    return text


def _found(name: str) -> Any:
    file = RESULTS / {"peers": "peers.json", "audit": "peers_audit.json"}[name]
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None


def peers(result: dict[str, Any] | None) -> str:
    """One line per task: our figure, and the best of the others."""
    if result is None:
        return "`python bench/peers.py` installs eight other packages and runs the same tasks on them and on us."
    lines = ["| one run of `python bench/peers.py` | sordino | best of the others |", "|---|---:|---|"]
    compared = [row for row in result["rows"] if "sordino" in row["values"] and len(row["values"]) > 1]
    for task, measure in SHOWN:
        fitting = [row for row in compared if fnmatchcase(row["task"], task) and fnmatchcase(row["measure"], measure)]
        lines += [_line(row) for row in fitting[-1:]]
    behind = sorted((row for row in compared if row["verdict"] == "lost"), key=_factor, reverse=True)
    worst = f" The widest: {behind[0]['task']}, {behind[0]['measure']}." if behind else ""
    rule = "by more than two standard errors (± is one) of the difference, or by a tenth of what was measured once."
    said = f"A peer is ahead in {len(behind)} of {len(compared)} rows, {rule}{worst}"
    return "\n".join([*lines, "", f"{said} All of them, losses first: [benchmarks](docs/benchmarks.md)."])


def _line(row: dict[str, Any]) -> str:
    name = _best(row)
    unit = f", {row['unit']}" if row["unit"] in ("s", "MB", "keys") and row["measure"].partition(",")[0].split()[0] != row["unit"] else ""
    return f"| {row['task']}: {row['measure']}{unit} | {_figure(row, 'sordino')} | {name}: {_figure(row, name)} |"


def _figure(row: dict[str, Any], name: str) -> str:
    """A figure, and one standard error where it is of many releases."""
    value, error = row["values"][name], row.get("errors", {}).get(name)
    return _number(value) if error is None else f"{_number(value)} ± {_number(float(f'{error:.2g}'))}"


def _best(row: dict[str, Any]) -> str:
    others = {name: value for name, value in row["values"].items() if name != "sordino"}
    return str((min if row["lower_is_better"] else max)(others, key=others.__getitem__))


def _factor(row: dict[str, Any]) -> float:
    """How many times better the best of the others is."""
    own, theirs = row["values"]["sordino"], row["values"][_best(row)]
    worse, better = (own, theirs) if row["lower_is_better"] else (theirs, own)
    return 1.0 if worse == better else worse / better if better else float("inf")


def _number(value: float) -> str:
    if value and (abs(value) >= 1e6 or abs(value) < 1e-3):
        return f"{value:.2g}"
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"


def audited(rows: list[dict[str, str]] | None) -> str:
    """Claims of released packages that the lab refuted: the claim, and what was found of it."""
    if rows is None:
        return "`python bench/peers_audit.py` turns the lab on released packages."
    refuted = [row for row in rows if row["verdict"] == "refuted"]
    said = f"`python bench/peers_audit.py` looked at {len(rows)} claims and refuted {len(refuted)}, at confidence 1 - 1e-9. Some of them:"
    seen: Counter[str] = Counter()
    lines = ["| package | claim | found |", "|---|---|---|"]
    for row in refuted:
        seen[row["package"]] += 1
        if seen[row["package"]] > FEW:
            continue
        what, _, claim = row["claim"].rpartition(": ")
        found = re.split(r" in [\d,]+ trials| there, by|\n", row["found"])[0]
        lines.append(f"| {row['package']}, {what} | {claim} | {found} |")
    return "\n".join([said, "", *lines])
