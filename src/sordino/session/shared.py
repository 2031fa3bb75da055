"""A shared table: rows of nobody, how far each of its marginals is from the private one, and the counts it was made from."""

from __future__ import annotations

import csv
import html
import itertools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.pictures import Picture, intervals
from sordino.privacy.number import shown
from sordino.schema.column import Column
from sordino.session.card import Card
from sordino.session.release import Paid, Release
from sordino.session.shared_sql import SharedAnswer, told
from sordino.session.view import _package
from sordino.share.bars import half_width
from sordino.share.cells import FineCells, Joined, joined
from sordino.share.junction_tree import Clique, TreeLaw
from sordino.share.sampling import chances, sampled
from sordino.share.schedule import FINE

__all__ = ["ErrorBar", "MeasuredMarginal", "Shared"]

Z = NormalDist().inv_cdf(0.975)
MOST_DOTS, WORST = 45, 3


class ErrorBar(NamedTuple):
    """The total variation between the shared table and the private one over some columns, with 95% ends.

    With 95% confidence at least 95% of the bars of a report hold, those of one, two and three columns each; see `share.bars`.
    """

    tv: float
    low: float
    high: float


@dataclass(frozen=True)
class MeasuredMarginal:
    """A drawn marginal: cells in words, counts, and the half-width that 95% of the noise stays within. Exact: the noise is known."""

    columns: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    counts: tuple[float, ...]
    within: float

    def to_dict(self) -> dict[str, list[Any]]:
        keys = {name: [cell[i] for cell in self.cells] for i, name in enumerate(self.columns)}
        ends = {"low": [c - self.within for c in self.counts], "high": [c + self.within for c in self.counts]}
        return {**keys, "count": list(self.counts), **ends}


@dataclass(frozen=True, eq=False)
class Shared:
    """A table to share, with its error report. Everything here is post-processing of one release."""

    release: Release
    fine: tuple[FineCells, ...]

    @classmethod
    def of(cls, release: Release, columns: Sequence[Column]) -> Shared:
        """From what was sealed and the declared columns of the question."""
        (record,) = release.raw[release.names[0]]
        named = dict(record["named"])
        bins = record["bins"]
        return cls(release, tuple(FineCells.of(c, bins.get(c.name), named.get(i)) for i, c in enumerate(columns)))

    @property
    def record(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.release.raw[self.release.names[0]][0]
        return found

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.record["columns"])

    @property
    def cost(self) -> Paid:
        return self.release.cost

    @property
    def card(self) -> Card:
        """The claim card, with the seed of the sampling and the mean and the worst of the reported errors."""
        card = Card(self.release.card)
        errors = self._by_size(3) or self._by_size(2)
        if errors:
            worst = sorted(errors, key=lambda clique: -errors[clique].tv)[:WORST]
            said = {
                "mean of these": f"{np.mean([bar.tv for bar in errors.values()]):.4f}",
                "each within": f"{self._half(len(worst[0])):.4f}",
            }
            card["error report"] = {**said, **{f"worst: {self._names(c)}": f"{errors[c].tv:.4f}" for c in worst}}
            card["do not conclude"] = f"ask the private table for anything that needs to be closer than {errors[worst[0]].high:.3f}"
        return card

    @cached_property
    def _joined(self) -> tuple[Joined, ...]:
        sigma, out = self.record["scales"]["first"], []
        for cells, drawn, kept in zip(self.fine, self.record["first"], self.record["cells"], strict=True):
            apart = len(set(kept)) == len(kept)
            found = joined(cells, np.array(drawn, float), sigma, apart=apart)
            if list(found.cells) != list(kept):
                found = Joined(tuple(kept), found.inside)
            out.append(found)
        return tuple(out)

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """The table in cells of the model, made again from the sealed law and seed: byte by byte the one the report is about."""
        return sampled(TreeLaw.from_record(self.record["tree"]), self.record["sampled"], self.record["seed"])

    @property
    def genuine(self) -> bool:
        """Whether this machine made the very rows the error report is about."""
        return bool(sha256(np.ascontiguousarray(self.codes, "<i8").tobytes()).hexdigest() == self.record["digest"])

    def to_dict(self) -> dict[str, list[Any]]:
        """The rows as columns of values on each column's own grid."""
        stream = chances(self.record["seed"], len(self.codes))
        out = {}
        for i, (cells, own) in enumerate(zip(self.fine, self._joined, strict=True)):
            out[cells.column.name] = cells.decoded(own.fine(self.codes[:, i], next(stream)), next(stream))
        return out

    def to_arrow(self) -> Any:
        """A pyarrow table with card and error report in its metadata."""
        table = _package("pyarrow").table(self.to_dict())
        said = {b"sordino.about": self.about.encode(), b"sordino.card": self.card.to_json().encode("utf-8", "replace")}
        said[b"sordino.error"] = json.dumps(self._report()).encode()
        return table.replace_schema_metadata({**(table.schema.metadata or {}), **said})

    def to_pandas(self) -> Any:
        frame = _package("pandas").DataFrame(self.to_dict())
        frame.attrs |= {"sordino.about": self.about, "sordino.card": dict(self.card)}
        return frame

    def to_parquet(self, path: Any) -> None:
        _package("pyarrow.parquet").write_table(self.to_arrow(), os.fspath(path))

    def to_csv(self, path: Any) -> None:
        """The rows as CSV, and beside them card and error report, as <path>.card.json."""
        columns = self.to_dict()
        with Path(path).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
        beside = Card({"about": self.about, **self.card, "error": self._report()})
        Path(f"{os.fspath(path)}.card.json").write_text(beside.to_json(), encoding="utf-8")

    @property
    def about(self) -> str:
        who = "people" if self.record["weight"] == "person" else "rows"
        made = f"{self.record['sampled']:,} made-up rows of {len(self.columns)} columns"
        return f"{made} that resemble the {who} of {self.release.card.get('table', 'a table')}; statistics of it are not the table's"

    def _unit(self) -> float:
        return float(2 * self.record["rows"] * self.record["parts"] * FINE)

    def _half(self, size: int) -> float:
        """The half-width of the reported errors of so many columns: with 95% confidence at least 95% of them hold."""
        sets = sum(len(clique) == size for clique, _ in self.record["distances"])
        return half_width(
            float(self.record["scales"]["report"]) / (self.record["parts"] * FINE), self._rows_sigma, self.record["rows"], sets
        )

    @cached_property
    def _rows_sigma(self) -> float:
        """The standard deviation of the drawn number of rows: all drawn totals by their precision."""
        scales, parts = self.record["scales"], self.record["parts"]
        first = sum(1 / (len(drawn) * scales["first"] ** 2) for drawn in self.record["first"])
        chosen = sum(1 / (len(drawn) * scales["measured"] ** 2) for _, drawn in self.record["chosen"])
        return float((first + chosen) ** -0.5 / parts)

    @cached_property
    def errors(self) -> dict[tuple[str, ...], ErrorBar]:
        """Every reported error, by the names of its columns."""
        return {tuple(self.columns[i] for i in clique): bar for clique, bar in self._errors.items()}

    @cached_property
    def _errors(self) -> dict[Clique, ErrorBar]:
        halves = {size: self._half(size) for size in {len(clique) for clique, _ in self.record["distances"]}}
        out = {}
        for clique, drawn in self.record["distances"]:
            tv, half = drawn / self._unit(), halves[len(clique)]
            out[tuple(clique)] = ErrorBar(*(min(max(end, 0.0), 1.0) for end in (tv, tv - half, tv + half)))
        return out

    def _by_size(self, size: int) -> dict[Clique, ErrorBar]:
        return {clique: bar for clique, bar in self._errors.items() if len(clique) == size}

    def error(self, columns: str | Sequence[str]) -> ErrorBar:
        """How far the shared table is from the private one over these columns: total variation of their cells, with 95% ends."""
        names = [columns] if isinstance(columns, str) else list(columns)
        for name in names:
            if name not in self.columns:
                raise QueryError("SRD-201", f"the shared table has no column {shown(name)}.", f"It has {', '.join(self.columns)}.")
        clique = tuple(sorted({self.columns.index(name) for name in names}))
        if clique not in self._errors:
            most = max(map(len, self._errors), default=0)
            what = f"no error was reported for {', '.join(names)}."
            raise QueryError("SRD-208", what, f"Errors are known for up to {most} columns; ask the private table for more.")
        return self._errors[clique]

    def _report(self) -> list[dict[str, Any]]:
        return [{"columns": list(names), **bar._asdict()} for names, bar in self.errors.items()]

    def _names(self, clique: Clique) -> str:
        return ", ".join(self.columns[i] for i in clique)

    @cached_property
    def measured(self) -> tuple[MeasuredMarginal, ...]:
        """The marginals that were drawn, with exact bars: columns first, then those that were chosen."""
        parts, scales = self.record["parts"], self.record["scales"]
        out = []
        for cells, drawn in zip(self.fine, self.record["first"], strict=True):
            words = tuple((cells.label(i),) for i in range(cells.places))
            out.append(MeasuredMarginal((cells.column.name,), words, tuple(c / parts for c in drawn), Z * scales["first"] / parts))
        for clique, drawn in self.record["chosen"]:
            crossed: tuple[tuple[str, ...], ...] = tuple(itertools.product(*(self._labels(i) for i in clique)))
            names = tuple(self.columns[i] for i in clique)
            out.append(MeasuredMarginal(names, crossed, tuple(c / parts for c in drawn), Z * scales["measured"] / parts))
        return tuple(out)

    def _labels(self, column: int) -> list[str]:
        """The cells of the model in words."""
        cells, own = self.fine[column], self._joined[column]
        out = []
        for cell in range(own.size):
            members = [i for i, of in enumerate(own.cells) if of == cell]
            named = [cells.label(i) for i in members]
            if cells.ordered and len(members) > 2:
                out.append(f"{named[0].split(' to ')[0]} to {named[-1].split(' to ')[-1]}")
            else:
                out.append(", ".join(named[:4]) + ", ..." * (len(named) > 4))
        return out

    @property
    def kept(self) -> tuple[tuple[str, ...], ...]:
        """The sets of columns that were measured together."""
        return tuple(tuple(self.columns[i] for i in clique) for clique in dict.fromkeys(tuple(c) for c, _ in self.record["chosen"]))

    def ask(self, sql: str) -> SharedAnswer:
        """What a statement answers on the shared table, called `shared`, and how far off it is where the error report knows."""
        single = {cells.column.name for cells in self.fine if cells.single}
        return told(sql, self.to_dict(), self.errors, single, int(self.record["sampled"]))

    def plot(self) -> Picture:
        """The reported error of pairs, worst first: those that were measured together are marked."""
        pairs = self._by_size(2) or self._by_size(1)
        order = sorted(pairs, key=lambda clique: -pairs[clique].tv)[:MOST_DOTS]
        measured = {tuple(c) for c, _ in self.record["chosen"]}
        held = [any(set(c) <= set(m) for m in measured) for c in order]
        labels = [self._names(c) + (" *" if kept else "") for c, kept in zip(order, held, strict=True)]
        values, lows, highs = ([getattr(pairs[c], end) for c in order] for end in ("tv", "low", "high"))
        title = "Total variation to the private table (* measured together)"
        return intervals(labels, values, lows, highs, title=title, x="share of rows")

    def _lines(self) -> Iterator[str]:
        yield self.about
        for size, word in ((2, "pairs"), (3, "triples")):
            errors = self._by_size(size)
            if errors:
                worst = max(errors, key=lambda c: errors[c].tv)
                mean = float(np.mean([bar.tv for bar in errors.values()]))
                far = f"worst {errors[worst].tv:.4f} ({self._names(worst)}); each within {self._half(size):.4f}"
                yield f"{word}: mean total variation {mean:.4f}, {far}"
        yield f"({len(self.kept)} sets measured together; {self.cost}{', recalled at no price' if self.release.recalled else ''})"

    def __len__(self) -> int:
        return int(self.record["sampled"])

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        first, *rest = (html.escape(line) for line in self._lines())
        return f"<p class='sordino-about'>{first}</p><p>{'<br>'.join(rest)}</p>{self.plot().svg}"
