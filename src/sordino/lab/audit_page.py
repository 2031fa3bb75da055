"""The page a campaign leaves behind: what was checked, how hard, and what was found."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sordino.lab.case import NO_POWER, UNSEEN, Effort
from sordino.lab.finding import CONSISTENT
from sordino.pictures import Picture, ladder

__all__ = ["picture", "text", "write"]

Results = Sequence[dict[str, Any]]
METHODS = {
    "certificate": "worst pairs of all neighbours, integrated",
    "exact": "every outcome on two neighbours listed",
    "sampled": "outcomes on two neighbours drawn and told apart",
    "one run": "canaries in a single release, guessed",
    "pathwise": "a whole release on two neighbours, draw by draw, against its charge",
    "replay": "outcomes pinned, both conversations compared",
}
BELOW = ("exact", "pathwise", "sampled", "one run")  # methods that bound epsilon from below
SKIPPED = "does not apply"


EXAMPLE = """## Something of your own

Every finding has a `verdict`, a `confidence`, an `exit_code` for scripts, `plot()` and `to_json()`.

```python
import numpy as np
import sordino as sd
from sordino.mechanisms import Laplace

honest = Laplace(epsilon=1)
sampled = sd.lab.audit(lambda x, n: sd.lab.simulate(honest, x, repeats=n), 0, 1, claimed=1.0, trials=20_000, vectorised=True, early=True)
listed = sd.lab.exact(honest, 0, 1)
integrated = sd.lab.certify(honest)
replayed = sd.lab.replay(honest, 0, 1)
assert {finding.verdict for finding in (sampled, listed, integrated, replayed)} == {"consistent"}

# a stranger's group-by with half the noise it claims, audited in one run with a canary in every group
quiet = sd.lab.one_run(lambda included: included + np.random.default_rng().laplace(scale=0.5, size=included.size), 10_000, claimed=1.0)
assert quiet.exit_code == 1
```
"""


def write(page: Path, results: Results, *, effort: Effort, command: Sequence[str]) -> None:
    """The page and its pictures, beside it."""
    page.parent.mkdir(parents=True, exist_ok=True)
    names = {}
    for part, title in (("mechanism", "Mechanisms"), ("statistic", "Statistics")):
        drawn = picture(results, part, title)
        if drawn is not None:
            names[part] = f"img/{page.stem}-{part}s.svg"
            (page.parent / "img").mkdir(exist_ok=True)
            (page.parent / names[part]).write_text(drawn.svg, encoding="utf-8")
    page.write_text(text(results, effort=effort, command=command, pictures=names), encoding="utf-8")


def text(results: Results, *, effort: Effort, command: Sequence[str], pictures: dict[str, str] | None = None) -> str:
    """The page as Markdown: a summary first, then one line per subject and price, at the worst of its neighbours."""
    ran = [item for item in results if item["verdict"] != SKIPPED]
    wrong = [item for item in ran if item["verdict"] not in (CONSISTENT, NO_POWER)]
    draws = sum(item.get("draws", 0) for item in ran if item["method"] == "sampled")
    versions = ", ".join(f"{name} {version(name)}" for name in ("sordino", "numpy", "scipy", "duckdb"))
    out = [
        "# Audit",
        "",
        *_power(ran),
        "",
        f"{_checks(ran):,} checks, {draws:,} sampled releases, {_wrong(len(wrong))}. Written by",
        "",
        f"    {' '.join(command)}",
        "",
        f"with {versions}, Python {platform.python_version()}; {sum(item['cpu'] for item in ran) / 60:.0f} minutes of processor time.",
        f"Sampled checks and single runs have an error of {effort.error:.2g} each, all of them together at most one in a million. Between",
        "neighbours the true epsilon lies above what was listed, sampled or guessed in one run, and below what the theorem needs.",
        "",
        *_table(["method", "what it does", "checks", "wrong", "catch the twin", "minutes"], _summary(ran)),
        *_shown(pictures or {}),
    ]
    if wrong:
        out += ["## Wrong", "", *_table(["check", "verdict", "why"], ([i["id"], i["verdict"], i.get("witness", "")] for i in wrong))]
    out += _loose(ran)
    for part, title in (("mechanism", "Mechanisms"), ("statistic", "Statistics"), ("one run", "Single runs")):
        here = [item for item in ran if item["part"] == part]
        if here:
            out += [f"## {title}", "", *_table(HEAD, _lines(here))]
    return "\n".join([*out, EXAMPLE])


HEAD = [
    "subject",
    "epsilon",
    "theorem needs",
    "listed",
    "traced",
    "sampled",
    "draws",
    "one run",
    "twin caught by",
    "worst neighbours",
    "verdict",
]


def _power(ran: Results) -> list[str]:
    """How many subjects have a check that would have caught twice the loss, and which have none."""
    subjects: dict[str, set[str]] = {}
    for item in ran:
        if "twin" in item and item["method"] in BELOW:  # a certificate is about what is claimed, not about what is drawn
            subjects.setdefault(item["subject"], set()).update([item["method"]] if item["twin"] else [])
    blind = [subject for subject, methods in subjects.items() if not methods]
    share = f"{len(subjects) - len(blind):,} of {len(subjects):,} subjects"
    said = f"{share} have a check that catches their twin: the same release drawn at twice the price and sold at the old one."
    return [said if not blind else f"{said} No power over: {', '.join(blind)}.", "", *_alone(ran)]


def _alone(ran: Results) -> list[str]:
    """How many releases have a path on which each of their draws, made twice by itself, would be seen; and which have none."""
    walked = [item for item in ran if "blind" in item]
    unseen = [f"{item['subject']}: {who}" for item in walked for who in item["blind"]]
    said = f"In {sum(not item['blind'] for item in walked):,} of {len(walked):,} traced releases each draw would be seen, too, if it alone"
    which = f"; not seen: {', '.join(unseen)}" if unseen else ""
    return [
        f"{said} were made twice for its price{which}. Left to other checks:",
        "",
        *(f"* {name.rpartition(', ')[2]} in {name.partition(', ')[0]}: {why}." for name, why in UNSEEN.items()),
    ]


def _loose(ran: Results) -> list[str]:
    found = {(item["subject"], item["loose"] or "no reason is given"): item["slack"] for item in ran if "loose" in item}
    rows = [[subject, f"{float(slack):.3g}", why] for (subject, why), slack in found.items()]
    return ["## Claims that are larger than their worst known pair", "", *_table(["subject", "slack", "why"], rows)] if rows else []


def _checks(ran: Results) -> int:
    """A case that walks several neighbours checks each of them."""
    return sum(int(item.get("walked", 1)) for item in ran)


def _wrong(count: int) -> str:
    return "nothing refuted" if count == 0 else f"{count:,} WRONG"


def _shown(pictures: dict[str, str]) -> list[str]:
    lines = [f"![{part}s: the claimed epsilon and the largest lower bound]({name})" for part, name in pictures.items()]
    return [*(part for line in lines for part in (line, ""))]


def _summary(ran: Results) -> Iterable[list[str]]:
    for method, what in METHODS.items():
        here = [item for item in ran if item["method"] == method]
        bad = sum(item["verdict"] not in (CONSISTENT, NO_POWER) for item in here)
        caught = f"{sum(item.get('twin', False) for item in here):,}" if any("twin" in item for item in here) else ""
        yield [method, what, f"{_checks(here):,}", str(bad), caught, f"{sum(item['cpu'] for item in here) / 60:.1f}"]


def _reached(item: dict[str, Any]) -> float:
    """How much of the claim was reached from below."""
    return float(item.get("found") or 0) / max(float(item.get("claimed", [1.0])[0]), 1e-9) if item["method"] in BELOW else 0.0


def _lines(ran: Results) -> Iterable[list[str]]:
    """One line per subject and price: by each method the largest epsilon over all neighbours that were tried."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for item in ran:
        groups.setdefault((item["subject"], item["epsilon"]), []).append(item)
    for (subject, epsilon), items in groups.items():
        worst = max(items, key=lambda item: (item["verdict"] not in (CONSISTENT, NO_POWER), _reached(item)))
        caught = list(dict.fromkeys(item["method"] for item in items if item.get("twin")))
        judged = any("twin" in item for item in items)
        verdict = worst["verdict"] if worst["verdict"] not in (CONSISTENT, NO_POWER) else CONSISTENT if caught or not judged else NO_POWER
        draws = sum(item.get("draws", 0) for item in items if item["method"] == "sampled")
        needs, listed, traced, sampled, single = (_largest(items, method) for method in ("certificate", *BELOW))
        shown = worst["pair"] if worst["method"] in BELOW else ""
        yield [subject, epsilon, needs, listed, traced, sampled, f"{draws:,}", single, ", ".join(caught), shown, verdict]


def _largest(items: Results, method: str) -> str:
    found = [float(item["found"]) for item in items if item["method"] == method and "found" in item]
    return f"{max(found):.4g}" if found else ""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    return [line(head), line(["---"] * len(head)), *(line(row) for row in rows), ""]


def picture(results: Results, part: str, title: str) -> Picture | None:
    """The ladder: for every subject at epsilon 1 the claim and the largest lower bound, found by listing, tracing or sampling."""
    rungs: dict[str, tuple[float, float]] = {}
    for item in results:
        if item["part"] == part and item["method"] in ("exact", "pathwise", "sampled") and "claimed" in item:
            if part == "statistic" and "," in item["subject"]:
                continue  # the plain questions stand for the others
            if part == "mechanism" and item["epsilon"] not in ("1", "1.099"):
                continue
            name = item["subject"].split("(")[0] if part == "mechanism" else item["subject"]
            claimed, found = float(item["claimed"][0]), min(float(item["found"]), 1e3)
            old = rungs.get(name, (claimed, 0.0))
            if found / claimed >= old[1] / old[0]:
                rungs[name] = (claimed, found)
    if not rungs:
        return None
    claims, bounds = zip(*rungs.values(), strict=True)
    return ladder(list(rungs), claims, bounds, title=f"{title}: claimed, and found by the auditor")
