"""What a conformance check leaves behind: one row for every claim that was tried, in text, in HTML and as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from sordino.errors import QueryError
from sordino.lab.finding import CONSISTENT, REFUTED, exit_code, plain

__all__ = ["Checked", "Row"]

SHOWN = 12
HEAD = ("subject", "method", "pair", "claimed", "found", "verdict")


@dataclass(frozen=True)
class Row:
    """One claim: about what, by which method, between which neighbours, what was claimed, what was found, and why it fell if it did."""

    subject: str
    method: str
    pair: str
    claimed: str
    found: str
    verdict: str = CONSISTENT
    why: str = ""
    reached: float = 0.0  # the share of the claim that was found; a check could have caught anything above

    @property
    def ok(self) -> bool:
        return self.verdict == CONSISTENT


@dataclass(frozen=True, repr=False)
class Checked:
    """All rows of one check. Nothing found is no proof; a refuted row of an exact method is one."""

    subject: str
    rows: tuple[Row, ...]
    confidence: float = 1.0

    @property
    def ok(self) -> bool:
        return bool(self.rows) and all(row.ok for row in self.rows)

    @property
    def verdict(self) -> str:
        return CONSISTENT if self.ok else REFUTED

    @property
    def exit_code(self) -> int:
        return exit_code(self.verdict)

    @property
    def wrong(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if not row.ok)

    @property
    def reached(self) -> float:
        """The largest share of a claim that any row found."""
        return max((row.reached for row in self.rows), default=0.0)

    def check(self) -> None:
        """Raise with everything that was refuted; what a test says."""
        if not self.ok:
            raise AssertionError(repr(self))

    def __add__(self, other: Checked) -> Checked:
        return Checked(self.subject, (*self.rows, *other.rows), min(self.confidence, other.confidence))

    def __repr__(self) -> str:
        if not self.rows:
            return f"{self.subject}: nothing was checked"
        most = f"{self.reached:.0%}"
        head = (
            f"{self.subject}: {self.verdict}, {len(self.rows):,} checks, {len(self.wrong):,} refuted; of a price at most {most} was found"
        )
        said = [f"  {row.why or row.verdict}, between {row.pair} ({row.subject}, {row.method})" for row in self.wrong[:SHOWN]]
        return "\n".join([head, *said, *([f"  and {len(self.wrong) - SHOWN:,} more"] if len(self.wrong) > SHOWN else [])])

    def _repr_html_(self) -> str:
        body = "".join(_html([getattr(row, name) for name in HEAD]) for row in (*self.wrong, *(r for r in self.rows if r.ok)))
        return f"<pre>{escape(repr(self))}</pre><table><thead>{_html(HEAD, 'th')}</thead><tbody>{body}</tbody></table>"

    def to_json(self) -> str:
        rows: list[dict[str, Any]] = [asdict(row) for row in self.rows]
        body = {"subject": self.subject, "ok": self.ok, "verdict": self.verdict, "confidence": self.confidence, "rows": rows}
        return json.dumps(plain(body), allow_nan=False)


def _html(cells: Sequence[str], tag: str = "td") -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(str(cell))}</{tag}>' for cell in cells)}</tr>"


def joined(subject: str, found: Iterable[Checked]) -> Checked:
    """Several reports as one."""
    reports = list(found)
    if not reports:
        raise QueryError("SRD-105", f"there is nothing to check about {subject}.", "Give examples() or neighbours.")
    return Checked(subject, tuple(row for report in reports for row in report.rows), min(report.confidence for report in reports))


def number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6g}"
