"""The errors of the lecture notes, what is right, and what was measured: `python -m sordino.course.errata > docs/errata.md`."""

from __future__ import annotations

from itertools import groupby

from sordino.course.erratum import Erratum, figure
from sordino.course.passage import PASSAGES

__all__ = ["Erratum", "page", "rows"]

HEAD = """# Errata of the lecture notes

Sordino is built from five lecture notes, 000 to 004. They contain errors, as notes do. Each is listed with what is right and with what the
lab computes for the passage as printed: exact sums and integrals, no sampling. **leaks**: private data leak if it is coded as printed.
**false**: wrong, but no noise is calibrated by it. **holds**: true after all, by slack or for another reason.

Written by `python -m sordino.course.errata > docs/errata.md`. The printed formulas themselves: `sordino.course.verdicts()`.
"""


def rows() -> tuple[Erratum, ...]:
    """Every erratum, in the order of the notes: `.note .place .printed .right .verdict()`."""
    return PASSAGES


def page() -> str:
    """The errata as a Markdown document."""
    parts = [HEAD]
    for note, found in groupby(rows(), key=lambda row: row.note):
        parts += [f"## Note {note}\n", "| where | printed | right | verdict | measured |\n|---|---|---|---|---|"]
        for row in found:
            cells = (row.place, row.printed, row.right, f"**{row.verdict()}**", "<br>".join(map(figure, row.verdicts())))
            parts.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
        parts.append("")
    return "\n".join(parts)


if __name__ == "__main__":
    print(page(), end="")
