"""The errors of the lecture notes, what is right, and what was measured: `python -m sordino.course.errata > docs/errata.md`."""

from __future__ import annotations

from itertools import groupby

from sordino.course.passage import PASSAGES
from sordino.course.textbook.verdict import WORDS as ORDER
from sordino.course.textbook.verdict import Erratum, figure

__all__ = ["ORDER", "PASSAGES", "Erratum", "figure", "page", "rows"]

HEAD = """# Errata of the lecture notes

Sordino is built from five lecture notes, 000 to 004. They contain errors, as notes do. Each is listed with what is right and with what is
computed for the passage as printed: exact sums and integrals, no sampling. What a passage does not claim, and a reader might take from it,
is shown as *not claimed* and does not count against it.

- **leaks**: private data leak if it is coded as printed, at an epsilon of at most 3.
- **leaks beyond ε**: valid at ordinary prices; a formula without a range for epsilon breaks from the one named on.
- **false**: a wrong statement that no noise is calibrated by.
- **conditional**: right under the condition the passage states; what happens without it is shown.
- **incomplete**: a quantity is left open, and one reading of it is wrong.
- **slip**: a symbol, sign or factor; what is meant is clear, or stands right next to it.
- **scan**: garbled in our copy of the note.
- **holds**: true as printed, by slack or for another reason.

Written by `python -m sordino.course.errata > docs/errata.md`. The printed formulas themselves: `sordino.course.verdicts()`.
"""


def rows() -> tuple[Erratum, ...]:
    """Every erratum, in the order of the notes: `.note .place .quote .printed .right .verdict()`."""
    return PASSAGES


def page() -> str:
    """The errata as a Markdown document."""
    parts = [HEAD]
    for note, found in groupby(rows(), key=lambda row: row.note):
        parts += [f"## Note {note}\n", "| where | the note says | that is | right | verdict | measured |\n|---|---|---|---|---|---|"]
        for row in found:
            measured = [*map(figure, row.verdicts()), *(f"*not claimed:* {figure(found)}" for found in row.asides())]
            cells = (row.place, f"“{row.quote}”", row.printed, row.right, f"**{row.verdict()}**", "<br>".join(measured))
            parts.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
        parts.append("")
    return "\n".join(parts)


if __name__ == "__main__":
    print(page(), end="")
