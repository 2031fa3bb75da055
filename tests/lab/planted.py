"""Every planted bug, and the page that lists them: python tests/lab/planted.py > docs/planted.md"""

from __future__ import annotations

from itertools import groupby

import planted_budget
import planted_channel
import planted_charge
import planted_formula
import planted_noise
import planted_people
import planted_sensitivity
import planted_share
from planted_kit import SHELF, Planted

PARTS = (
    planted_noise,
    planted_formula,
    planted_sensitivity,
    planted_people,
    planted_channel,
    planted_budget,
    planted_charge,
    planted_share,
)
BUGS: tuple[Planted, ...] = tuple(bug for part in PARTS for bug in SHELF if bug.bug.__module__ == part.__name__)

HEAD = """# Planted bugs

{count} releases with one mistake each, re-created in our own code: bugs of released software, formulas of the lecture notes, mistakes made
by hand. The lab must catch every one of them, and must stay silent on the same release without the mistake: the chance of one false alarm
in a thousand silent runs is below one in a million. Twins of Sordino's own mechanisms, each with one deliberate mistake, are in
`tests/mechanisms/test_twins.py`; the real packages are audited by `python bench/peers_audit.py`.

Written by `python tests/lab/planted.py > docs/planted.md`.
"""


def page() -> str:
    parts = [HEAD.format(count=len(BUGS))]
    for module, bugs in groupby(BUGS, key=lambda bug: bug.bug.__module__):
        title = next(part for part in PARTS if part.__name__ == module).__doc__
        parts += [f"## {title.strip().rstrip('.')}\n", "| bug | what happens | comes from | caught by |\n|---|---|---|---|"]
        parts += [f"| {_cells(bug.name, bug.story, bug.source, bug.tool.name)} |" for bug in bugs]
        parts.append("")
    return "\n".join(parts)


def _cells(*cells: str) -> str:
    return " | ".join(cell.replace("|", "\\|") for cell in cells)


if __name__ == "__main__":
    print(page(), end="")
