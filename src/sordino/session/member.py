"""One question of a batch, and after the release its answer: every part of a Release under the same name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sordino.errors import QueryError
from sordino.pictures import Picture
from sordino.plan.select import Arrangement
from sordino.session.card import Card
from sordino.session.price import Wish
from sordino.session.release import Paid, Release
from sordino.session.shape import Shape

if TYPE_CHECKING:
    from sordino.session.query import Query

__all__ = ["Member"]


@dataclass(eq=False)
class Member:
    """One question of a batch. Once the batch has been released it stands for its answer: `member.value`, `float(member)`."""

    query: Query
    weight: Fraction
    wish: Wish | None
    release: Release | None = None

    @property
    def answer(self) -> Release:
        """The release this question became part of."""
        if self.release is None:
            raise QueryError("SRD-208", "this batch has not been released yet.", "Leave the `with` block, or call batch.release().")
        return self.release

    @property
    def value(self) -> Any:
        return self.answer.value

    @property
    def low(self) -> Any:
        return self.answer.low

    @property
    def high(self) -> Any:
        return self.answer.high

    @property
    def ranks(self) -> Any:
        return self.answer.ranks

    @property
    def refused(self) -> bool:
        return self.answer.refused

    @property
    def grouped(self) -> bool:
        return self.answer.grouped

    @property
    def recalled(self) -> bool:
        return self.answer.recalled

    @property
    def cost(self) -> Paid:
        return self.answer.cost

    @property
    def mechanism(self) -> str:
        return self.answer.mechanism

    @property
    def bar(self) -> str:
        return self.answer.bar

    @property
    def id(self) -> str:
        return self.answer.id

    @property
    def about(self) -> str:
        return self.answer.about

    def about_interval(self, kind: str = "noise") -> str:
        return self.answer.about_interval(kind)

    @property
    def level(self) -> float:
        return self.answer.level

    def at(self, level: float) -> Release:
        return self.answer.at(level)

    @property
    def split(self) -> dict[str, Any]:
        return self.answer.split

    @property
    def moved(self) -> Any:
        return self.answer.moved

    @property
    def card(self) -> Card:
        return self.answer.card

    @property
    def names(self) -> tuple[str, ...]:
        return self.answer.names

    @property
    def keys(self) -> dict[str, list[Any]]:
        return self.answer.keys

    @property
    def answers(self) -> dict[str, list[Any]]:
        return self.answer.answers

    @property
    def rank_bars(self) -> dict[str, tuple[float, float]]:
        return self.answer.rank_bars

    @property
    def raw(self) -> dict[str, list[Any]]:
        return self.answer.raw

    @property
    def shapes(self) -> dict[str, Shape]:
        return self.answer.shapes

    @property
    def drawn(self) -> dict[str, dict[str, Any]]:
        return self.answer.drawn

    @property
    def sealed(self) -> bytes | None:
        return self.answer.sealed

    @property
    def canonical(self) -> bool:
        return self.answer.canonical

    @property
    def more(self) -> int | None:
        return self.answer.more

    @property
    def arrangement(self) -> Arrangement | None:
        return self.answer.arrangement

    @property
    def errors(self) -> Any:
        return self.answer.errors

    def interval(self, level: float = 0.95, *, kind: str = "noise") -> tuple[Any, Any] | None:
        return self.answer.interval(level, kind=kind)

    def point(self) -> Release | None:
        return self.answer.point()

    def map(self, function: Callable[[Any], Any]) -> Release:
        return self.answer.map(function)

    def improve(self, within: Any = None, **options: Any) -> Release:
        return self.answer.improve(within, **options)

    def under(self, labels: Mapping[str, str], shapes: Mapping[str, Shape]) -> Release:
        return self.answer.under(labels, shapes)

    def arranged(self) -> Release:
        return self.answer.arranged()

    def to_dict(self) -> dict[str, list[Any]]:
        return self.answer.to_dict()

    def to_plain(self) -> dict[str, Any]:
        return self.answer.to_plain()

    def to_json(self) -> str:
        return self.answer.to_json()

    def to_bytes(self) -> bytes:
        return self.answer.to_bytes()

    def to_arrow(self) -> Any:
        return self.answer.to_arrow()

    def to_pandas(self) -> Any:
        return self.answer.to_pandas()

    def to_polars(self) -> Any:
        return self.answer.to_polars()

    def to_parquet(self, path: Any) -> None:
        self.answer.to_parquet(path)

    def to_csv(self, path: Any) -> None:
        self.answer.to_csv(path)

    def plot(self) -> Picture:
        return self.answer.plot()

    def __float__(self) -> float:
        return float(self.answer)

    def __repr__(self) -> str:
        return repr(self.release) if self.release is not None else f"Member({self.query!r})"

    def __str__(self) -> str:
        return str(self.release) if self.release is not None else repr(self)

    def _repr_html_(self) -> str:
        return self.answer._repr_html_()
