"""What `remote.admissions.where(...).group_by(...).median(...)` says to a server: a call of verbs, or SQL."""

from __future__ import annotations

import datetime as dt
import json
import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from itertools import chain, combinations
from numbers import Rational
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from sordino.errors import QueryError
from sordino.plan.query_plan import no_condition
from sordino.privacy.number import exact
from sordino.schema.column import is_text, shown
from sordino.session.verbs import MOST_CUBED, Verbs
from sordino.statistics import Statistic, catalog
from sordino.statistics.column_quantile import as_interval

if TYPE_CHECKING:
    from sordino.remote.connection import RemoteQuery
    from sordino.session.shared import Shared

    Said = Verbs[RemoteQuery]  # what `__getattr__` answers, as a type checker may know it
else:
    Said = object

__all__ = ["RemoteAsked", "Words", "as_id", "as_json", "as_request", "as_wishes", "quoted"]


def quoted(name: str) -> str:
    """A name as SQL spells it, whatever is in it."""
    return '"' + str(name).replace('"', '""') + '"'


@dataclass(frozen=True)
class RemoteAsked:
    """A SELECT in parts, or a call with the same conditions and groups."""

    table: str
    shown: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    sets: tuple[tuple[str, ...], ...] = ()
    limits: dict[str, int] = field(default_factory=dict, hash=False)
    verbs: dict[str, Any] = field(default_factory=dict, hash=False)

    @property
    def text(self) -> str:
        groups = [quoted(name) for name in self.by]
        where = f" WHERE {' AND '.join(f'({condition})' for condition in self.conditions)}" if self.conditions else ""
        group = f" GROUP BY {', '.join(groups)}" if groups else ""
        return f"SELECT {', '.join([*groups, *self.shown])} FROM {quoted(self.table)}{where}{group}"

    @property
    def call(self) -> dict[str, Any]:
        limit: dict[str, Any] = {"limit": self.limits} if self.limits else {}
        limit |= {"sets": [list(names) for names in self.sets]} if self.sets else {}
        return {"table": self.table, "where": list(self.conditions), "by": list(self.by), **limit, **self.verbs}


HOME = ("compare", "gram")  # questions whose answers are computed with at home
VERBS = (*(name for name in vars(Verbs) if not name.startswith("_") and name not in (*HOME, "ask")), "row_limit")


@dataclass(frozen=True)
class Words(Said):
    """The verbs of a table on a server. Each statistic is a question of its own; `agg` asks several at once."""

    asked: RemoteAsked
    send: Callable[[RemoteAsked], RemoteQuery]
    made: Callable[..., Shared]  # a shared table, from what is asked and options

    def where(self, condition: str) -> Words:
        if not isinstance(condition, str):
            raise no_condition(condition)
        return replace(self, asked=replace(self.asked, conditions=(*self.asked.conditions, condition)))

    def group_by(self, *columns: str) -> Words:
        return replace(self, asked=replace(self.asked, by=(*self.asked.by, *map(self._named, columns))))

    def _named(self, column: Any) -> str:
        """The name of a column; whether there is such a column the server knows."""
        if not isinstance(column, str):
            what = f"table {shown(self.asked.table)} has no column {shown(column)}."
            raise QueryError("SRD-201", what, "Give the name of a column as text.")
        return column

    def grouping_sets(self, *sets: Sequence[str]) -> Words:
        """Counts and sums by several groupings in one release that add up; replaces other groups."""
        if any(isinstance(names, str) or not isinstance(names, Sequence) for names in sets):
            raise QueryError("SRD-208", "groupings are lists of columns.", 'Write grouping_sets(["a", "b"], ["a"], []).')
        return replace(self, asked=replace(self.asked, by=(), sets=tuple(tuple(map(self._named, names)) for names in sets)))

    def rollup(self, *columns: str) -> Words:
        """By all of these columns, by all but the last, and so on to the total."""
        return self.grouping_sets(*(columns[:size] for size in range(len(columns), -1, -1)))

    def cube(self, *columns: str) -> Words:
        """By every choice among these columns."""
        if len(columns) > MOST_CUBED:
            raise QueryError("SRD-208", f"a cube of {len(columns)} columns.", f"Name at most {MOST_CUBED}.")
        return self.grouping_sets(*chain.from_iterable(combinations(columns, size) for size in range(len(columns), -1, -1)))

    def limit(self, *, rows: Any = None, groups: int | None = None, rows_per_group: int | None = None) -> Words:
        """Count less of every person than declared, in this question. A limit that fits is drawn by `row_limit()`."""
        if isinstance(rows, str):
            fix = "Draw it first: n = remote.table.row_limit().release(epsilon=0.2).value, then limit(rows=n)."
            raise QueryError("SRD-208", "a server draws a limit as a question of its own.", fix)
        given = {"rows": rows, "groups": groups, "rows_per_group": rows_per_group}
        wanted = {word: value for word, value in given.items() if value is not None}
        for word, value in wanted.items():
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise QueryError("SRD-204", f"limit({word}={shown(value)}) is no limit.", "Give a whole number of at least 1.")
        narrower = {**self.asked.limits, **wanted}
        return replace(self, asked=replace(self.asked, limits=narrower))

    def cdf(self, column: str, *, bins: Any = 256) -> RemoteQuery:
        """Counts of bins, drawn so that ranges have little noise; `.between(low, high)` of its release is free."""
        return self.send(replace(self.asked, verbs={"ask": {"verb": "cdf", "given": [_plain(column)], "named": {"bins": _plain(bins)}}}))

    def ask(self, verb: str, *given: Any, **named: Any) -> RemoteQuery:
        """Any statistic the server knows, by its name."""
        plain = {name: _plain(value) for name, value in named.items() if value is not None}
        call = {"verb": verb, "given": [_plain(value) for value in given], "named": plain}
        return self.send(replace(self.asked, verbs={"ask": call}))

    def share(
        self, *, epsilon: Any = None, delta: Any = None, fresh: bool = False, request: str | None = None, at_most: Any = None,
        progress: Callable[[float], None] | None = None, **options: Any,
    ) -> Shared:  # fmt: skip
        """A table of nobody that resembles this one, with a paid error for every pair and triple (of more than 15 columns,
        every pair); options are those of a table's `share`.

        It is promised at once and waited for, with a bar on a terminal. After Ctrl-C the job goes on: `remote.shared(id)` takes it up, and
        so does the same call with the same request=. It is charged once.
        """
        if self.asked.by or self.asked.sets or self.asked.limits:
            raise QueryError("SRD-208", "a shared table has no groups and no limits.", "Share a table, or the rows a where() keeps.")
        given = {"epsilon": epsilon, "delta": delta, "fresh": fresh, "request": request, "at_most": at_most, "progress": progress}
        return self.made(self.asked, options, **given)

    def agg(self, **statistics: Statistic | str) -> RemoteQuery:
        """Several statistics under names of your choice: agg(n=sd.count(), mid=sd.median("cost")), or each as SQL says it."""
        if not statistics:
            raise QueryError("SRD-208", "nothing is asked.", "Name at least one: agg(n=sd.count()).")
        if all(isinstance(text, str) for text in statistics.values()):
            if self.asked.limits or self.asked.sets:
                raise QueryError("SRD-208", "SQL has no word for limits.", "Give statistics instead of text: agg(n=sd.count()).")
            return self.send(replace(self.asked, shown=tuple(f"{text} AS {quoted(name)}" for name, text in statistics.items())))
        return self.send(replace(self.asked, verbs={"agg": {name: _part(name, asked) for name, asked in statistics.items()}}))

    if not TYPE_CHECKING:  # a misspelt verb is an error to a type checker too

        def __getattr__(self, verb: str) -> Callable[..., RemoteQuery]:
            """Every other verb of a table, as the server's own library knows it."""
            known = (*VERBS, *(name for name, one in catalog().items() if one.verb and one.remote and name not in VERBS))
            if verb not in known:
                raise AttributeError(f"a table on a server has no {verb!r}; it has {', '.join(known)}")
            return partial(self.ask, verb)


def _plain(value: Any) -> Any:
    """What a verb is given, as JSON has it; a Fraction, a Decimal and a day stay exact as text."""
    if value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [_plain(item) for item in value]
    if isinstance(value, Rational | Decimal | dt.date | np.generic) and not isinstance(value, float):
        return str(value)
    raise QueryError("SRD-208", f"{shown(value)} cannot be sent.", "Give texts, finite numbers, days, or lists of them.")


def as_json(body: Any) -> bytes:
    """The body of a request."""
    try:
        return json.dumps(body, allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError):
        fix = "Give texts, finite numbers, or lists of them."
        raise QueryError("SRD-503", "what is asked cannot be sent to a server.", fix) from None


def as_id(id: Any) -> str:
    """The id of an answer or of a job, as an address has it."""
    if not is_text(id) or not id:
        raise QueryError("SRD-106", f"the id is {shown(id)}.", "Give the id that the server gave.")
    return quote(id, safe="")


def as_request(request: Any) -> str:
    """The id of a request, which travels in a header: the caller's, or a fresh one."""
    if request is None:
        return secrets.token_hex(16)
    if not isinstance(request, str) or not request or any(not "!" <= letter <= "~" for letter in request):
        raise QueryError("SRD-106", f"the request id is {shown(request)}.", "Give ASCII letters and digits without spaces.")
    return request


def as_wishes(*, interval: Any = None, within: Any = None, **numbers: Any) -> dict[str, Any]:
    """The price and what belongs to it, as the caller gave it, if it can be one; what was left out is left out."""
    as_interval(interval)
    widths = within.values() if isinstance(within, Mapping) else [within]
    for name, value in [*numbers.items(), *(("within", width) for width in widths)]:
        if value is not None:
            exact(value, name)
    return {name: value for name, value in {**numbers, "within": within, "interval": interval}.items() if value is not None}


def _part(label: str, statistic: Any) -> dict[str, Any]:
    """The verb whose function makes this very statistic of its attributes; of several the one that says most."""
    if not isinstance(statistic, Statistic):
        raise QueryError("SRD-208", f"{shown(label)} is no statistic: {shown(statistic)}.", "Ask one, such as n=count().")
    sent = [
        {"verb": one.name, **({"given": [_plain(value) for value in given]} if given else {})}
        for one in sorted(catalog().values(), key=lambda one: -len(one.needed))
        if one.together and all(hasattr(statistic, name) for name in one.needed)
        for given in [[getattr(statistic, name) for name in one.needed]]
        if one.make(*given) == statistic
    ]
    if sent:
        return sent[0]
    raise QueryError("SRD-208", "this statistic cannot be sent together with others.", "Ask it on its own: remote.table.trimmed_mean(...).")
