"""The shapes of the API as its OpenAPI document says them: bodies that come in, answers that go out, problems.

Questions in verbs instead of SQL: what `sd.connect` sends, so that every statistic of the library can be asked from afar.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from sordino.errors import QueryError, SordinoError
from sordino.session.open_dataset import Opened
from sordino.session.query import Query
from sordino.statistics import catalog, make

__all__ = [
    "ERRORS",
    "AskBody",
    "CallBody",
    "Declared",
    "Listed",
    "Number",
    "OrderBody",
    "Planned",
    "PricedBody",
    "Problem",
    "Recorded",
    "Released",
    "Spent",
    "VerdictBody",
    "Waiting",
    "asked",
    "errors",
    "is_call",
]

BESIDE = ("cdf", "describe", "logistic", "row_limit")  # verbs of a table that are no statistic by themselves


def verbs(*, together: bool = False) -> list[str]:
    """What a call may ask: every registered statistic that can be sent, alone or as one of several."""
    found = [one.name for one in catalog().values() if one.verb and (one.together if together else one.remote)]
    return found if together else sorted([*found, *BESIDE])


def _check(known: Callable[[], list[str]], name: str) -> str:
    if name not in known():
        *others, last = map(repr, known())
        raise PydanticCustomError("literal_error", "Input should be {expected}", {"expected": f"{', '.join(others)} or {last}"})
    return name


def _document(known: Callable[[], list[str]], schema: dict[str, Any]) -> None:
    schema["enum"] = known()


_several = partial(verbs, together=True)
# looked up when they are needed, so that a statistic may be registered later
Verb = Annotated[str, AfterValidator(partial(_check, verbs)), Field(json_schema_extra=partial(_document, verbs))]
Simple = Annotated[str, AfterValidator(partial(_check, _several)), Field(json_schema_extra=partial(_document, _several))]
Word = Annotated[str, Field(max_length=2_000)]
AnyNumber = Annotated[float, Field(allow_inf_nan=False)]
Given = Word | int | AnyNumber | bool | None | Annotated[list[Word | int | AnyNumber], Field(max_length=200)]
LARGEST = 1_000  # winners of a top_k: the work before the charge grows with them


class VerbCall(BaseModel):
    """One verb with what it is given."""

    model_config = ConfigDict(extra="forbid", strict=True)

    verb: Verb
    given: Annotated[list[Given], Field(max_length=4)] = []
    named: Annotated[dict[Word, Given], Field(max_length=6)] = {}


class CallPart(BaseModel):
    """One of several statistics in one release."""

    model_config = ConfigDict(extra="forbid", strict=True)

    verb: Simple
    given: Annotated[list[Given], Field(max_length=2)] = []


class LimitBody(BaseModel):
    """How much of one person counts in this question, where that is less than the owner declared."""

    model_config = ConfigDict(extra="forbid", strict=True)

    rows: Annotated[int, Field(ge=1)] | None = None
    groups: Annotated[int, Field(ge=1)] | None = None
    rows_per_group: Annotated[int, Field(ge=1)] | None = None


class CallBody(BaseModel):
    """A table, conditions, groups, and one verb or several statistics under names. `sets` are groupings at once, in place of `by`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    table: Annotated[str, Field(min_length=1, max_length=500)]
    where: Annotated[list[Word], Field(max_length=20)] = []
    by: Annotated[list[Word], Field(max_length=10)] = []
    sets: Annotated[list[Annotated[list[Word], Field(max_length=10)]], Field(max_length=64)] = []
    limit: LimitBody | None = None
    ask: VerbCall | None = None
    agg: Annotated[dict[Word, CallPart], Field(max_length=50)] | None = None

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
        call = CallBody.model_validate_json(text)
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


def _made(table: Any, call: CallBody) -> Query:
    for condition in call.where:
        table = table.where(condition)
    if call.by:
        table = table.group_by(*call.by)
    if call.sets:
        table = table.grouping_sets(*call.sets)
    if call.limit is not None:
        table = table.limit(**call.limit.model_dump())
    if call.ask is not None:
        wished = (*call.ask.given[1:], call.ask.named.get("k"))
        if call.ask.verb == "top_k" and any(isinstance(value, int | float) and value > LARGEST for value in wished):
            raise QueryError("SRD-103", f"k is more than {LARGEST:,}.", "Ask for fewer.")
        if call.ask.verb in ("describe", "cdf"):  # questions whose answers are computed with hold the one that is released
            held: Query = getattr(table, call.ask.verb)(
                *map(_plain, call.ask.given), **{n: _plain(v) for n, v in call.ask.named.items()}
            ).query
            return held
        if call.ask.named.get("method") == "objective":
            why = "how long its minimum takes depends on the rows, and answers here leave at public times"
            raise QueryError("SRD-208", f'method="objective" is for the library: {why}.', "Leave method= out.")
        given, named = [_plain(value) for value in call.ask.given], {n: _plain(v) for n, v in call.ask.named.items()}
        found: Query = (
            getattr(table, call.ask.verb)(*given, **named) if call.ask.verb in BESIDE else table.ask(call.ask.verb, *given, **named)
        )
        return found
    parts: Mapping[str, CallPart] = call.agg or {}
    several: Query = table.agg(**{name: make(part.verb, *map(_plain, part.given)) for name, part in parts.items()})
    return several


def _plain(given: Any) -> Any:
    """Numbers arrive as JSON has them; whole ones are whole."""
    return int(given) if isinstance(given, float) and given.is_integer() else given


Number = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Text = Annotated[str, Field(min_length=1, max_length=400)]


def _example(**body: Any) -> Any:
    return {"examples": [body]}


class AskBody(BaseModel):
    """A question about a dataset: a statement, or a call of verbs. The dataset may be left out if the token sees only one."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra=_example(sql="SELECT COUNT(*) AS n FROM admissions"))

    sql: Annotated[str, Field(min_length=1, max_length=8_000, examples=["SELECT COUNT(*) AS n FROM admissions"])] | None = None
    call: CallBody | None = None
    dataset: Annotated[str, Field(min_length=1, max_length=500)] | None = None


class OrderBody(BaseModel):
    """The price of a release: exactly one of epsilon, within, within_rank. Decimal text keeps a price exact.

    With `at_most` nothing dearer is charged: a wish whose price has risen above it since it was shown is refused (409, SRD-512).
    `reason` is for the owner, where the release waits for approval.

    For quantiles `interval` says whether ends are drawn (as a plan says unless told otherwise: true), about the population with "total",
    and `level` how sure they are.
    """

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra=_example(within=100, at_most="0.5"))

    epsilon: Number | Text | None = None
    delta: Annotated[float, Field(ge=0, lt=1)] | Text | None = None
    within: Number | dict[str, Number] | None = None
    within_rank: Annotated[float, Field(gt=0, lt=1)] | None = None
    interval: bool | Literal["total"] | None = None
    level: Annotated[float, Field(ge=0.5, le=0.99999)] | None = None
    at_most: Number | Text | None = None
    reason: Annotated[str, Field(max_length=500)] = ""
    fresh: bool = False


class VerdictBody(BaseModel):
    """What the owner says about an ask that waits, or "withdrawn" by whoever asked."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra=_example(verdict="approved"))

    verdict: Literal["approved", "refused", "withdrawn"]
    note: Annotated[str, Field(max_length=500)] = ""


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
    reason: str  # why the analyst asks
    note: str  # what the owner says with the verdict


class Planned(BaseModel):
    """A statement the server has understood. The id is the statement, packed: it never expires."""

    id: str
    dataset: str
    table: str
    statistics: list[str]


class PricedBody(BaseModel):
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


class PriceBody(BaseModel):
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
    cost: PriceBody
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
    at: str | None


class Listed(BaseModel):
    """The book of charges and whether its chain holds."""

    dataset: str
    verified: bool
    chain: str
    head: str
    entries: list[Charged]
    next: int | None  # the cursor of what follows


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
    409: "the Idempotency-Key was used for another question or price, the ask was released already, or the price is above at_most",
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
