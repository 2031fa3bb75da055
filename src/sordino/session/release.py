"""An answer, with everything public about how it was made."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from sordino.errors import LedgerError, QueryError, builds
from sordino.pictures import Picture
from sordino.privacy.cost import Cost
from sordino.privacy.number import shown
from sordino.session import encoding, ranges, sampling, view
from sordino.session.about import about_release
from sordino.session.card import Card, Paid, odds_sentence
from sordino.session.encoding import decode, encode
from sordino.statistics.port import LEVEL, Shape
from sordino.summaries import Refused

if TYPE_CHECKING:
    from sordino.plan.arrangement import Arrangement

__all__ = ["Paid", "Release", "as_level", "member_of", "price_of"]

FORMAT = 2  # of sealed answers; those of format 1 do not say so, and are under the labels of whoever asked first


@dataclass(frozen=True)
class Release:
    """One answer, or one per group, with price, bar, mechanism and claim card. `float(r)` is nan when the answer is "refused"."""

    answers: dict[str, list[Any]]  # per statistic and group: name, and name_low, name_high unless nothing can be said about the error
    keys: dict[str, list[Any]]  # group columns, empty when ungrouped
    names: tuple[str, ...]
    cost: Paid
    mechanism: str
    bar: str = "none"
    id: str = ""
    card: Card = field(default_factory=Card)
    rank_bars: dict[str, tuple[float, float]] = field(default_factory=dict)  # per statistic with a rank bar; the same in every group
    raw: dict[str, list[Any]] = field(default_factory=dict)  # the drawn numbers, so that another level of the interval costs nothing
    shapes: dict[str, Shape] = field(default_factory=dict)
    drawn: dict[str, dict[str, Any]] = field(default_factory=dict)  # per statistic with drawn ends: their level and kind, and its point
    split: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)  # of several statistics: price and bar of each
    recalled: bool = field(default=False, compare=False)
    more: int | None = field(default=None, compare=False)  # releases at this price that the budget still paid for when it was drawn
    level: float = field(default=LEVEL, compare=False)  # of the ends; those in the book are at 95%
    query: Any = field(default=None, compare=False, repr=False)
    arrangement: Arrangement | None = field(default=None, compare=False, repr=False)  # not sealed: how the rows are shown
    canonical: bool = field(default=False, compare=False, repr=False)  # called as the book calls it, not as the caller does
    sealed: bytes | None = field(default=None, compare=False, repr=False)  # the bytes in the book this was read from
    base: Release | None = field(default=None, compare=False, repr=False)  # what this was computed from, by `formulas`
    formulas: tuple[Any, ...] = field(default=(), compare=False, repr=False)

    @property
    def grouped(self) -> bool:
        return bool(self.keys)

    def _one(self, suffix: str = "") -> Any:
        column = self.answers.get(self.names[0] + suffix)
        return None if self.grouped or len(self.names) != 1 or not column else column[0]

    @property
    def value(self) -> Any:
        """The released value; None when the release has groups or several statistics (use to_dict)."""
        return self._one()

    @property
    def low(self) -> Any:
        return self._one("_low")

    @property
    def high(self) -> Any:
        return self._one("_high")

    @property
    def ranks(self) -> Any:
        """For rank bars (-t, t): with 95% probability the value lies at most t rows from its rank. By name for several statistics."""
        return self.rank_bars.get(self.names[0]) if len(self.names) == 1 else dict(self.rank_bars) or None

    @property
    def moved(self) -> Any:
        """What a mean in two stages moved: {"limits": (low, high), "at_most": k or None, "of_about": n}, by group or name if several.

        With 95% no more than k of about n rows lay beyond the limits. None where nothing is moved into drawn limits.
        """
        by_name = {name: [_moved(said) for said in cells] for name, cells in self.card.get("moved", {}).items()}
        if len(by_name) == 1 and len(self.names) == 1:
            (cells,) = by_name.values()
            return cells if self.grouped else cells[0]
        return {name: cells if self.grouped else cells[0] for name, cells in by_name.items()} or None

    @property
    def refused(self) -> bool:
        """Whether the answer, or that of any group, is "refused"."""
        return any(isinstance(value, Refused) for name in self.names for value in self.answers[name])

    def interval(self, level: float = 0.95, *, kind: str = "noise") -> tuple[Any, Any] | None:
        """The interval at a level: post-processing of the drawn numbers, at no price. None where the bar has no ends.

        The drawn ends of a quantile hold for the level they were released at and for every lower one.

        kind="noise" is about the answer these rows would have without noise; kind="total", for counts, means, centres, quantiles and
        regressions, about the population they are a sample of. It is simulated, from a released std or quantiles of the same rows; a
        regression has drawn what it needs.
        """
        as_level(level)
        _check_kind(kind)
        ends = self.drawn.get(self.names[0]) if len(self.names) == 1 and not self.grouped else None
        if kind == "total" and (ends is None or ends["kind"] != "total"):
            return sampling.total(self, float(level))
        if self.low is None or self.high is None:
            return None
        if ends is not None:  # what was drawn for a level holds for every lower one
            if level > ends["level"]:
                raise _farther(ends["level"], level)
            return self.low, self.high
        if level == self.level:
            return self.low, self.high
        if self.base is not None:
            return self.at(level).interval(level)
        if self.sealed is not None and self.level != LEVEL:
            return Release.from_bytes(self.sealed, query=self.query).interval(level)
        if self.query is None:
            raise QueryError("SRD-103", "this interval is known at 95% only.", "Ask for interval(0.95).")
        found: tuple[Any, Any] = self.query.interval(self, level)
        return found

    @cached_property
    def errors(self) -> Any:
        """Simulated once for all levels of interval(kind="total")."""
        return sampling.simulated(self)

    def at(self, level: float) -> Release:
        """The same answer with its intervals at another level: post-processing, free. Under the same id."""
        if as_level(level) == self.level:
            return self
        if self.base is not None:
            from sordino.session.derivation import again

            return again(self, level)
        if self.query is None:
            raise QueryError("SRD-103", f"this interval is known at {self.level:.4g} only.", "Ask the table again.")
        if self.level != LEVEL and self.sealed is not None:
            return Release.from_bytes(self.sealed, recalled=self.recalled, query=self.query).at(level)
        answers = dict(self.answers)
        for name in self.names:
            if name in self.drawn:  # what was drawn for a level holds for every lower one
                if level > self.drawn[name]["level"]:
                    raise _farther(self.drawn[name]["level"], level)
            elif f"{name}_low" in answers and any(end is not None for end in answers[f"{name}_low"]):
                ends = [self.query.ends(self, name, place, level) or (None, None) for place in range(len(answers[name]))]
                answers |= {f"{name}_low": [low for low, _ in ends], f"{name}_high": [high for _, high in ends]}
        return replace(self, answers=answers, level=level)

    @property
    def about(self) -> str:
        """Which rows, which number, and what the interval covers: one sentence, from what was sealed."""
        return about_release(self)

    def about_interval(self, kind: str = "noise") -> str:
        """The same sentence about interval(kind=...): "total" covers noise and sampling."""
        _check_kind(kind)
        return about_release(self, kind)

    def __float__(self) -> float:
        if self.refused:
            return math.nan
        if not isinstance(self.value, int | float):
            raise TypeError("this release is not one number; use .value or .to_dict()")
        return float(self.value)

    def map(self, function: Callable[[Any], Any]) -> Release:
        """Post-processing: any function of the value, at no price and under the same id; the bar does not survive it."""
        if not callable(function):
            raise QueryError("SRD-103", f"map computes with {shown(function)}.", "Give a function of the value.")
        answers = {n: [v if isinstance(v, Refused) else function(v) for v in self.answers[n]] for n in self.names}
        card = Card(self.card)
        card["post-processing"] = [*card.get("post-processing", []), getattr(function, "__name__", "function")]
        return replace(self, answers=answers, bar="none", card=card, rank_bars={}, raw={}, shapes={}, drawn={}, query=None, sealed=None)

    def between(self, low: Any = None, high: Any = None, *, level: float = LEVEL) -> ranges.RangeCount:
        """Of a histogram of bins: how many rows lie from `low` on and below `high`, two edges of bins, with an interval; free."""
        return ranges.Ranges(self).between(low, high, level=level)

    def nonnegative(self) -> Release:
        """Counts with nothing below zero and the same total; free. Their intervals stay those from before, as the card says."""
        return ranges.nonnegative(self)

    @builds
    def derive(self, **formulas: str) -> Release:
        """Further numbers computed from these, at no price and under the same id: `release.derive(rate="s / n")`.

        An interval holds at the release's level: each input's is widened so that all of them hold together.
        """
        from sordino.session.derivation import derived

        return derived(self, formulas)

    def presented(self) -> Release:
        """The release as the statement that asked for it shows it, with arithmetic on its answers done."""
        if self.arrangement is None or not self.arrangement.formulas:
            return self
        from sordino.session.derivation import presented

        return presented(self)

    def improve(self, within: Any = None, **options: Any) -> Release:
        """A better answer to the same question; see `Query.improve`."""
        if self.query is None:
            raise QueryError("SRD-105", "this release is not tied to a table.", "Ask the table again.")
        improved: Release = self.query.improve(within=within, **options)
        return improved

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns in key order: the group columns, then each statistic with its ends (name, name_low, name_high)."""
        return encoding.columns(self.arranged())

    def arranged(self) -> Release:
        """The same release with its rows sorted, cut and named as the statement that asked for it wishes."""
        if self.arrangement is None:
            return self
        if self.arrangement.formulas:
            return self.presented().arranged()
        if not self.grouped and self.arrangement.having is None and self.arrangement.qualify is None:
            return self
        rows = self.arrangement.rows({**self.keys, **self.answers}, len(next(iter({**self.keys, **self.answers}.values()))))
        keys = {self.arrangement.shown(name): [cells[row] for row in rows] for name, cells in self.keys.items()}
        answers = {name: [c[row] for row in rows] for name, c in self.answers.items() if not self.arrangement.hides(name)}
        return replace(self, keys=keys, answers=answers, arrangement=None)

    def to_bytes(self) -> bytes:
        """What the ledger seals. Canonical: the same release is the same bytes, and says whose labels it has."""
        charged = None if self.cost.charged is None else [str(part) for part in self.cost.charged]
        whose = {"format": FORMAT, "labels": "canonical" if self.canonical else "shown"}
        facts = {**whose, "id": self.id, "names": list(self.names), "mechanism": self.mechanism, "bar": self.bar}
        data = {"keys": self.keys, "answers": self.answers, "ranks": self.rank_bars, "raw": self.raw, "shapes": self.shapes}
        data |= {"drawn": self.drawn} if self.drawn else {}
        split = {"split": self.split} if self.split else {}
        return encode({**facts, **data, **split, "cost": self.cost.exact.to_dict(), "charged": charged, "card": dict(self.card)})

    def _member(self, place: int, name: str) -> Release | None:
        """One of several statistics as an answer of its own: its draw, its price, its bar, under a name. None if its price was not sealed.

        A function of the sealed bytes, so it is the same for everybody; it keeps the id of the charge that paid for it.
        """
        label = self.names[place] if self.canonical and place < len(self.names) else ""
        if label not in self.split:
            return None
        own = self.split[label]
        cost = Cost.from_dict(own["cost"])
        whole = f"{len(self.names)} statistics in one release at {self.cost.exact}"
        card = Card(self.card)
        card |= {
            "this release": {"epsilon": str(cost.epsilon), "delta": str(cost.delta), "family": cost.family},
            "part of": {"release": self.id, "of": whole, "draw": "shared" if own["shared"] else "own"},
            "mechanism": own["mechanism"],
            "bar": own["bar"],
            "odds": odds_sentence(float(cost.epsilon), float(cost.delta)),
        }
        alone = replace(self, card=card, cost=Paid(cost), mechanism=own["mechanism"], bar=own["bar"], names=(label,), split={}, sealed=None)
        return alone.under({name: label}, {name: self.shapes[label]} if label in self.shapes else {}, canonical=True)

    @classmethod
    def from_bytes(cls, data: bytes, *, recalled: bool = False, query: Any = None) -> Release:
        """A release from its bytes. Sealed under canonical labels, it is shown under those of the query, in the query's order."""
        found = decode(data)
        if found.get("format", 1) > FORMAT:
            raise LedgerError("SRD-604", "this answer was sealed by a newer Sordino.", "Upgrade Sordino to read it.")
        charged = found["charged"] and (Fraction(found["charged"][0]), Fraction(found["charged"][1]))
        cost = Paid(Cost.from_dict(found["cost"]), charged)
        facts = (tuple(found["names"]), cost, found["mechanism"], found["bar"], found["id"], Card(found["card"]))
        made = cls(
            found["answers"], found["keys"], *facts, found["ranks"], found["raw"], found["shapes"], found.get("drawn", {}),
            found.get("split", {}),
            recalled=recalled, query=query,
            arrangement=getattr(query, "arrangement", None), canonical=found.get("labels") == "canonical", sealed=data,
        )  # fmt: skip
        return made if query is None else made._as_now(query).under(query.labels.canonical, query.shapes)

    def _as_now(self, query: Any) -> Release:
        """An answer sealed when its statistic had another name of its own, under the name it has now: places in the book stay."""
        known, now = self.names, tuple(query.labels.sealed.values() if self.canonical else query.asked.statistics)
        said = self.card.get("question", {}).get("statistics", {})
        if known == now or [*said.values()] != [statistic.question() for statistic in query.labels.drawn.statistics.values()]:
            return self
        if self.canonical and len(known) == len(now):
            return self.under(dict(zip(now, known, strict=True)), self.shapes, canonical=True)
        if not self.canonical and len(known) == len(now) == 1 and now[0].startswith("mean_of_moved("):
            return replace(self, canonical=True).under({now[0]: known[0]}, self.shapes)
        return self

    def under(self, labels: Mapping[str, str], shapes: Mapping[str, Shape], *, canonical: bool = False) -> Release:
        """The same release with its answers called by these labels (each for a canonical one), in their order; free."""
        if not self.canonical or set(labels.values()) != set(self.names):
            return self

        def renamed(by_name: Mapping[str, Any], *ends: str) -> dict[str, Any]:
            return {label + end: by_name[name + end] for label, name in labels.items() for end in ends or ("",) if name + end in by_name}

        card = Card(self.card)
        if isinstance(asked := card.get("question"), dict) and isinstance(asked.get("statistics"), dict):
            card["question"] = {**asked, "statistics": renamed(asked["statistics"])}
        for fact in ("bar about", "drawn besides", "moved", "noise of bins"):
            if isinstance(said := card.get(fact), dict):
                card[fact] = renamed(said)
        return replace(
            self, answers=renamed(self.answers, "", "_low", "_high"), names=tuple(labels), card=card, rank_bars=renamed(self.rank_bars),
            raw=renamed(self.raw), shapes=dict(shapes), drawn=renamed(self.drawn), canonical=canonical,
        )  # fmt: skip

    def point(self) -> Release | None:
        """The point of a drawn interval as a release of its own, with its rank bar and its own price; None where there is none."""
        if list(self.drawn) != list(self.names) or len(self.names) != 1:
            return None
        name, point = self.names[0], self.drawn[self.names[0]]["point"]
        values, far = point["values"], point["ranks"]
        answers = {name: values, f"{name}_low": [None] * len(values), f"{name}_high": [None] * len(values)}
        whole = {"release": self.id, "of": "an interval", "draw": "own"}
        card = Card({**self.card, "mechanism": point["mechanism"], "bar": "rank", "part of": whole})
        card.pop("bar about", None)
        cost = Paid(Cost.from_dict(point["cost"]))
        facts: dict[str, Any] = {"rank_bars": {name: (-far, far)}, "raw": {}, "drawn": {}, "sealed": None}
        return replace(self, answers=answers, cost=cost, mechanism=point["mechanism"], bar="rank", card=card, **facts)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "query": None}  # a copy for another process keeps the answer and lets go of the table

    def to_plain(self) -> dict[str, Any]:
        """The table, the price and the card as JSON knows them: refusals and missing ends are null."""
        cost = {"epsilon": str(self.cost.exact.epsilon), "delta": str(self.cost.exact.delta)}
        head = {"id": self.id, "about": self.about, "mechanism": self.mechanism, "bar": self.bar, "refused": self.refused, "cost": cost}
        bars = {"ranks": {name: list(ends) for name, ends in self.rank_bars.items()}}
        return {**head, **bars, "columns": view.plain(self), "card": dict(self.card)}

    def to_json(self) -> str:
        """The same as text; days and moments are ISO text."""
        return json.dumps(self.to_plain(), ensure_ascii=False, default=str)

    def to_arrow(self) -> Any:
        return view.to_arrow(self)

    def to_pandas(self) -> Any:
        return view.to_pandas(self)

    def to_polars(self) -> Any:
        return view.to_polars(self)

    def to_parquet(self, path: Any) -> None:
        view.to_parquet(self, path)

    def to_csv(self, path: Any) -> None:
        view.to_csv(self, path)

    def plot(self) -> Picture:
        """The first statistic as dots with their ends, one line per group, bin or part."""
        return view.picture(self)

    def __str__(self) -> str:
        return view.to_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return view.to_html(self)


def _farther(drawn: float, level: float) -> QueryError:
    what = f"these ends were drawn for {100 * drawn:g}%."
    return QueryError("SRD-103", what, f"Release with level={level:g}: its ends are aimed farther out.")


def as_level(level: Any) -> float:
    """The level of an interval, between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise QueryError("SRD-103", f"level is {shown(level)}.", "Give a level between 0 and 1.")
    return float(level)


def _check_kind(kind: Any) -> None:
    if not (isinstance(kind, str) and kind in ("noise", "total")):
        raise QueryError("SRD-106", f"kind {shown(kind)} is unknown.", 'Use "noise" or "total".')


def _moved(said: Mapping[str, Any]) -> dict[str, Any]:
    return {"limits": tuple(said["limits"]), "at_most": said["at most"], "of_about": said["of about"]}


@lru_cache(maxsize=4096)
def member_of(sealed: bytes, place: int, name: str) -> bytes | None:
    """One of the statistics of a sealed bundle as the bytes it would have alone; read once, as a book's answers stay as they are."""
    found = Release.from_bytes(sealed)._member(place, name)
    return None if found is None else found.to_bytes()


@lru_cache(maxsize=4096)
def price_of(sealed: bytes) -> Cost:
    """What a recorded answer cost; read once, however often it is asked for."""
    return Release.from_bytes(sealed).cost.exact
