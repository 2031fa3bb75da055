"""Two tables that share a few columns, put together again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sordino.errors import QueryError
from sordino.lab.report import as_html, as_json, cells, names, say
from sordino.pictures import Picture, bars

__all__ = ["Linkage", "linkage"]


@dataclass(frozen=True, repr=False)
class Linkage:
    """How many rows of the secret table were given an owner, and for how many it was the right one (None when the truth is unknown)."""

    on: tuple[str, ...]
    truth: str | None
    rows: int
    matched: int
    right: int | None
    pairs: tuple[tuple[int, int], ...]  # (row of the public table, row of the secret one)

    @property
    def share_matched(self) -> float:
        return self.matched / self.rows if self.rows else 0.0

    @property
    def share_right(self) -> float | None:
        """Of the matched rows, the share matched with their owner."""
        return None if self.right is None or not self.matched else self.right / self.matched

    def __repr__(self) -> str:
        out = [f"linkage: {self.matched:,} of {self.rows:,} rows matched ({self.share_matched:.1%})", f"  by {', '.join(self.on)}"]
        if self.right is not None:
            out.append(f"  {self.right:,} of them to the right person, judged by {self.truth}")
        return say(out)

    def plot(self) -> Picture:
        counts = [("matched", self.matched), ("not matched", self.rows - self.matched)]
        if self.right is not None:
            counts = [("matched, right", self.right), ("matched, wrong", self.matched - self.right), counts[1]]
        return bars([name for name, _ in counts], [n for _, n in counts], title=f"Linked by {', '.join(self.on)}", x="rows")

    def to_json(self) -> str:
        return as_json(self, share_matched=self.share_matched, share_right=self.share_right)

    def _repr_html_(self) -> str:
        return as_html(self)


def linkage(public: Any, secret: Any, on: Sequence[str], *, truth: str | None = None) -> Linkage:
    """Match every row of the secret table whose combination of the `on` columns belongs to one person of the public table.

    `truth` is a column of both tables that says who is who. It is used to judge, never to match, except that several public rows with
    the same truth are one person. When it is not given and the tables share exactly one column besides `on`, that one is taken.
    A missing value matches nothing.
    """
    chosen = (on,) if isinstance(on, str) else tuple(on)
    if not chosen:
        raise QueryError("SRD-103", "`on` names no column.", "Name the columns both tables share.")
    if truth is None:
        shared = [name for name in names(public) if name in names(secret) and name not in chosen]
        truth = shared[0] if len(shared) == 1 else None
    owners: dict[tuple[Any, ...], dict[Any, int]] = {}
    keys = list(zip(*(cells(public, name) for name in chosen), strict=True))
    people = cells(public, truth) if truth is not None else list(range(len(keys)))
    for row, (key, person) in enumerate(zip(keys, people, strict=True)):
        owners.setdefault(key, {}).setdefault(person, row)
    pairs, right = [], 0
    hidden = list(zip(*(cells(secret, name) for name in chosen), strict=True))
    judged = cells(secret, truth) if truth is not None else hidden
    for row, (key, person) in enumerate(zip(hidden, judged, strict=True)):
        found = owners.get(key, {})
        if len(found) == 1 and None not in key:
            (owner, where), *_ = found.items()
            pairs.append((where, row))
            right += owner == person
    return Linkage(chosen, truth, len(hidden), len(pairs), right if truth is not None else None, tuple(pairs))
