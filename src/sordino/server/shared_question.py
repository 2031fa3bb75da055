"""A shared table as a question to the server: what a program or a form says, packed into an address, and the price of it.

A job's address is the job: dataset, question, price and request id. The server keeps nothing that a restart could lose; whether it was
paid and what came of it is in the book.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sordino.errors import QueryError
from sordino.ledger import Asked
from sordino.privacy.number import as_delta, as_epsilon
from sordino.session.open_dataset import Opened
from sordino.session.release import Release, price_of
from sordino.session.shared import Shared
from sordino.session.sharing import SharePlan, Sharing

if TYPE_CHECKING:
    from sordino.session.table import Table

__all__ = ["ShareBody", "SharePriceBody", "ShareWords", "SharedQuestion", "is_share", "shared_question"]

Word = Annotated[str, Field(min_length=1, max_length=500)]
Price = Annotated[float, Field(gt=0, allow_inf_nan=False)] | Annotated[str, Field(min_length=1, max_length=400)]
Edge = Annotated[float, Field(allow_inf_nan=False)]
Names = Annotated[list[Word], Field(min_length=2, max_length=4)]
Bins = Annotated[int, Field(ge=1, le=1_000)] | Annotated[list[Edge], Field(max_length=1_000)]
MOST_ROWS = 1_000_000  # of a table that the server makes: they are made again in memory for every download


class ShareWords(BaseModel):
    """Which rows and columns are shared, and how. What is left out is as `table.share` has it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    table: Word
    where: Annotated[list[Annotated[str, Field(max_length=2_000)]], Field(max_length=20)] = []
    columns: Annotated[list[Word], Field(min_length=1, max_length=60)] | None = None
    method: Literal["adaptive", "tree", "given"] = "adaptive"
    workload: Literal[2, 3] | Annotated[list[Names], Field(max_length=2_000)] | None = None
    bins: Annotated[dict[Word, Bins], Field(max_length=60)] = {}
    weight: Literal["person", "row"] | None = None
    target: Word | None = None
    rows: Annotated[int, Field(ge=1, le=MOST_ROWS)] | None = None
    forbid: Annotated[list[Annotated[str, Field(max_length=2_000)]], Field(max_length=50)] = []

    @property
    def text(self) -> str:
        """The same question is the same text."""
        return json.dumps({"share": self.model_dump(exclude_defaults=True)}, sort_keys=True)


class SharePriceBody(BaseModel):
    """A shared table before it is paid for. The dataset may be left out if the token sees only one."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra={"examples": [{"share": {"table": "admissions"}}]})

    share: ShareWords
    dataset: Word | None = None
    epsilon: Price | None = None
    delta: Price | None = None


class ShareBody(SharePriceBody):
    """A shared table and its price. Decimal text keeps a price exact. `reason` is for the owner, where it waits for approval."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"share": {"table": "admissions"}, "epsilon": "1", "delta": "1e-6"}]})

    epsilon: Price
    at_most: Price | None = None
    reason: Annotated[str, Field(max_length=500)] = ""
    fresh: bool = False


def is_share(text: str) -> bool:
    """No statement and no call of verbs begins like this."""
    return text.startswith('{"share"')


def shared_question(opened: Opened, text: str) -> SharedQuestion:
    """The question a text says. Building it reads nothing; what does not fit is refused here."""
    try:
        words = ShareWords.model_validate(json.loads(text)["share"])
    except (ValidationError, ValueError, KeyError, TypeError):
        raise QueryError("SRD-503", "this is no shared table.", "/v1/openapi.json says what is expected.") from None
    if words.table not in opened.tables:
        raise QueryError("SRD-201", f"there is no private table {words.table!r:.80}.", f"Use one of {', '.join(opened.tables)}.")
    table: Any = opened.tables[words.table]
    for condition in words.where:
        table = table.where(condition)
    said = words.model_dump(exclude={"table", "where"}, exclude_defaults=True)
    if isinstance(sets := said.get("workload"), list):
        said["workload"] = [tuple(names) for names in sets]
    return SharedQuestion(table.sharing(**said), text)


@dataclass(frozen=True, eq=False)
class SharedQuestion:
    """What is known of a question for a shared table before it is paid: its key, its price in words, and what is recorded of it."""

    sharing: Sharing
    text: str

    @property
    def table(self) -> Table:
        return self.sharing.query.table

    def key(self) -> bytes:
        return self.sharing.asked.key

    @cached_property
    def charged(self) -> Asked:
        return self.sharing.asked

    def said(self, *, epsilon: Any = None, delta: Any = None, **nothing: Any) -> dict[str, str]:
        """The price in the caller's words, as `Sharing.release` writes it down."""
        words = {} if epsilon is None else {"epsilon": str(as_epsilon(epsilon))}
        return words if delta is None else words | {"delta": str(as_delta(delta, zero=True))}

    def priced(self, *, epsilon: Any = None, delta: Any = None, **nothing: Any) -> SharePlan:
        plan = self.sharing.plan(epsilon, delta)
        known = self.sharing._known_rows
        if self.sharing.rows is None and known is not None and known > MOST_ROWS:
            what = f"a table of about {known:,} rows is more than the server makes."
            raise QueryError("SRD-103", what, f"Say rows, at most {MOST_ROWS:,}; or share it where the rows are, with sordino share.")
        return plan

    def sealed(self) -> list[bytes]:
        return list(self.table.ledger.recall(self.key()))

    def recall_sealed(self, epsilon: Fraction | None, wish: Any = None, *, ranks: bool = False) -> bytes | None:
        """The dearest recorded table of this question that costs at least so much."""
        enough = [item for item in self.sealed() if epsilon is None or price_of(item).epsilon * Fraction(1001, 1000) >= epsilon]
        return max(enough, key=lambda item: price_of(item).epsilon, default=None)

    def _wish(self, within: Any, within_rank: Any) -> None:
        """A shared table is bought at a price."""

    def shared(self, sealed: bytes) -> Shared:
        return Shared.of(Release.from_bytes(sealed), self.sharing.columns)
