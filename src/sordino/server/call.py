"""Questions in verbs instead of SQL: what `sd.connect` sends, so that every statistic of the library can be asked from afar."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

import sordino as sd
from sordino.errors import QueryError, SordinoError
from sordino.session.open_dataset import Opened
from sordino.session.query import Query

__all__ = ["Call", "asked", "is_call"]

Verb = Literal[
    "count", "count_units", "counts", "sum", "mean", "means", "trimmed_mean", "winsorized_mean", "huber_mean", "m_estimate", "variance",
    "std", "median", "quantile", "quantiles", "iqr", "min", "max", "mode", "top_k", "histogram", "regress", "logistic", "m_regress",
]  # fmt: skip
Simple = Literal["count", "count_units", "sum", "mean", "variance", "std", "median", "quantile", "min", "max", "mode"]
Word = Annotated[str, Field(max_length=2_000)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Given = Word | int | Number | bool | None | Annotated[list[Word | int | Number], Field(max_length=200)]
LARGEST = 1_000  # winners of a top_k: the work before the charge grows with them


class Ask(BaseModel):
    """One verb with what it is given."""

    model_config = ConfigDict(extra="forbid", strict=True)

    verb: Verb
    given: Annotated[list[Given], Field(max_length=4)] = []
    named: Annotated[dict[Word, Given], Field(max_length=6)] = {}


class Part(BaseModel):
    """One of several statistics in one release."""

    model_config = ConfigDict(extra="forbid", strict=True)

    verb: Simple
    given: Annotated[list[Given], Field(max_length=2)] = []


class Call(BaseModel):
    """A table, conditions, groups, and one verb or several statistics under names."""

    model_config = ConfigDict(extra="forbid", strict=True)

    table: Annotated[str, Field(min_length=1, max_length=500)]
    where: Annotated[list[Word], Field(max_length=20)] = []
    by: Annotated[list[Word], Field(max_length=10)] = []
    ask: Ask | None = None
    agg: Annotated[dict[Word, Part], Field(max_length=50)] | None = None

    @property
    def text(self) -> str:
        """The same question is the same text."""
        return json.dumps(self.model_dump(exclude_defaults=True), sort_keys=True)


def is_call(text: str) -> bool:
    """No SELECT begins like this."""
    return text.lstrip().startswith("{")


def asked(opened: Opened, text: str) -> Query:
    """The question a call says. Whatever the library cannot make of it is refused here, before a price is known."""
    try:
        call = Call.model_validate_json(text)
    except ValidationError:
        raise QueryError("SRD-503", "this is no call.", "/v1/openapi.json says what is expected.") from None
    if call.table not in opened.tables:
        raise QueryError("SRD-201", f"there is no private table {call.table!r:.80}.", f"Use one of {', '.join(opened.tables)}.")
    if (call.ask is None) == (call.agg is None):
        raise QueryError("SRD-208", "a call asks one verb, or several statistics.", "Give either ask or agg.")
    try:
        made = _made(opened.tables[call.table], call)
        made.key()
        with contextlib.suppress(SordinoError):  # a price of its own may be refused, with its own words; anything else is a wrong call
            made.settle(1)
        return made
    except SordinoError:
        raise
    except Exception:
        raise QueryError("SRD-208", "this verb cannot be asked like this.", "Give it what its Python method takes.") from None


def _made(table: Any, call: Call) -> Query:
    for condition in call.where:
        table = table.where(condition)
    if call.by:
        table = table.group_by(*call.by)
    if call.ask is not None:
        wished = (*call.ask.given[1:], call.ask.named.get("k"))
        if call.ask.verb == "top_k" and any(isinstance(value, int | float) and value > LARGEST for value in wished):
            raise QueryError("SRD-103", f"k is more than {LARGEST:,}.", "Ask for fewer.")
        found: Query = getattr(table, call.ask.verb)(*map(_plain, call.ask.given), **{n: _plain(v) for n, v in call.ask.named.items()})
        return found
    parts: Mapping[str, Part] = call.agg or {}
    several: Query = table.agg(**{name: getattr(sd, part.verb)(*map(_plain, part.given)) for name, part in parts.items()})
    return several


def _plain(given: Any) -> Any:
    """Numbers arrive as JSON has them; whole ones are whole."""
    return int(given) if isinstance(given, float) and given.is_integer() else given
