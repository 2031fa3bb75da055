"""The shapes of the API as its OpenAPI document says them: bodies that come in, answers that go out, problems."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from sordino.server.call import Call

__all__ = [
    "ERRORS", "Ask", "Declared", "Listed", "Number", "Order", "Planned", "Priced", "Problem", "Recorded", "Released", "Spent", "Verdict",
    "Waiting", "errors",
]  # fmt: skip

Number = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Text = Annotated[str, Field(min_length=1, max_length=400)]


class Ask(BaseModel):
    """A question about a dataset: a statement, or a call of verbs. The dataset may be left out if the token sees only one."""

    model_config = ConfigDict(extra="forbid", strict=True)

    sql: Annotated[str, Field(min_length=1, max_length=8_000, examples=["SELECT COUNT(*) AS n FROM admissions"])] | None = None
    call: Call | None = None
    dataset: Annotated[str, Field(min_length=1, max_length=500)] | None = None


class Order(BaseModel):
    """The price of a release: exactly one of epsilon, within, within_rank. Decimal text keeps a price exact.

    For quantiles `interval` says whether ends are drawn (as a plan says unless told otherwise: true), about the population with "total",
    and `level` how sure they are.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    epsilon: Number | Text | None = None
    delta: Annotated[float, Field(ge=0, lt=1)] | Text | None = None
    within: Number | dict[str, Number] | None = None
    within_rank: Annotated[float, Field(gt=0, lt=1)] | None = None
    interval: bool | Literal["total"] | None = None
    level: Annotated[float, Field(ge=0.5, le=0.99999)] | None = None
    fresh: bool = False


class Verdict(BaseModel):
    """What the owner says about an ask that waits."""

    model_config = ConfigDict(extra="forbid", strict=True)

    verdict: Literal["approved", "refused"]


class Waiting(BaseModel):
    """An ask above the owner's threshold: pending, approved, refused, or released. Approved, it may cost this much, once."""

    id: str
    dataset: str
    analyst: str
    key: str
    plan: str
    wish: dict[str, Any]
    epsilon: float
    delta: float
    state: str


class Planned(BaseModel):
    """A statement the server has understood. The id is the statement, packed: it never expires."""

    id: str
    dataset: str
    table: str
    statistics: list[str]


class Priced(BaseModel):
    """The price list of a plan. `about` says which rows and which number; `others` are other numbers that may serve as well."""

    question: str
    about: str
    others: list[dict[str, Any]]
    unit: str
    lines: list[dict[str, Any]]
    best: dict[str, Any] | None
    problem: str
    notes: list[str]
    budget: str
    recorded: str | None  # the id of a recorded answer that is good enough for the wish, and so free
    deadline_ms: int | None  # when a paid answer leaves, counted from its charge; null if the question is too dear
    text: str


class Price(BaseModel):
    """Exact fractions as text."""

    epsilon: str
    delta: str


class Recorded(BaseModel):
    """An answer: columns of the result, its price, its claim card, and the record the ledger sealed."""

    id: str
    about: str  # which rows, which number, what the interval covers
    mechanism: str
    bar: str
    refused: bool
    ranks: dict[str, list[float | None]]
    cost: Price
    columns: dict[str, list[Any]]
    card: dict[str, Any]
    labels: dict[str, str]  # every name in `columns` with the label it is sealed under
    shapes: dict[str, dict[str, Any]]
    record: dict[str, Any]  # as sealed


class Released(Recorded):
    """An answer that was asked for now: `paid` says whether this request id was charged or found it recorded."""

    paid: bool


class Purse(BaseModel):
    spent: float
    cap: float | None


class Spent(BaseModel):
    """A budget: `spent` is what the filter says, `naive` the plain sum."""

    dataset: str
    spent: float
    left: float
    cap: float
    naive: float
    percent: float
    accounting: str
    max_per_release: str | None
    exact: dict[str, str]
    purses: dict[str, Purse]


class Charged(BaseModel):
    id: str
    state: str
    analyst: str | None
    request: str


class Listed(BaseModel):
    """The book of charges and whether its chain holds."""

    dataset: str
    verified: bool
    chain: str
    head: str
    entries: list[Charged]


class Declared(BaseModel):
    """A dataset as its owner declared it."""

    name: str
    version: str
    unit: str
    relation: str
    deadline_ms: int
    longest_ms: int
    least_epsilon: str
    paused: bool
    approve_above: str | None  # releases dearer than this wait for the owner
    tables: list[dict[str, Any]]


class Problem(BaseModel):
    """What happened, what to do, and whether anything was spent (null: nobody can say yet)."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    fix: str
    spent: bool | None


ERRORS: dict[int, str] = {
    401: "the token is missing, unknown or revoked",
    402: "the budget, the purse, the ceiling or the owner does not allow it, or not yet; nothing was spent",
    403: "the token does not allow this",
    404: "there is nothing under this address",
    405: "there is nothing to do that with",
    409: "the Idempotency-Key was used for another question or price, or the ask was released already",
    413: "the request is too large",
    422: "the question or the request is wrong; nothing was spent",
    429: "too many requests",
    500: "charged, and the answer is lost; the text never depends on the data",
    503: "the ledger cannot be reached, or the answer takes longer than the server waits",
}


def errors(*more: int) -> dict[int | str, dict[str, Any]]:
    """The answers any route may give instead of its own."""
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": ERRORS[status], "content": content} for status in sorted({401, 403, 404, 413, 422, 429, 503, *more})}
