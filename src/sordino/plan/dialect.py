"""How statements are tokenised and parsed: DuckDB's grammar, with functions of time as other databases call them, too.

A call keeps its place and its arguments; only the order in which databases name unit and days is made one. What a word means where
databases disagree: WEEKDAY and DAYOFWEEK count from 0 on Sunday as DuckDB does, DATEDIFF counts the ends of units between two days,
TIMESTAMPDIFF and TIMESTAMP_DIFF whole units.

Words of other databases for what the readers know, and names of default schemas. Equal rows get equal values: nothing to prove.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.duckdb import DuckDB

from sordino.plan.literal import bare, constant_of
from sordino.plan.refusal import refuse
from sordino.schema.column import as_day, as_moment

__all__ = ["CALLED", "SYNONYMS", "UNITS", "WRITTEN", "Spoken", "dated_literal", "today"]

UNITS = {
    **{word: word for word in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "ISOWEEK")},
    "YY": "YEAR", "YYYY": "YEAR", "QQ": "QUARTER", "Q": "QUARTER", "MM": "MONTH", "MON": "MONTH", "WK": "WEEK", "WW": "WEEK",
    "DD": "DAY", "D": "DAY", "HH": "HOUR", "MI": "MINUTE", "SS": "SECOND",
}  # fmt: skip
Arguments = list[Any]


def _unit(node: Any) -> exp.Var | None:
    """A unit of time, written as a word or as text."""
    if (isinstance(node, exp.Literal) and node.is_string) or isinstance(node, exp.Var):
        word = str(node.this)
    elif type(node) is exp.Column and node.args.get("table") is None and not node.this.args.get("quoted"):
        word = str(node.name)
    else:
        return None
    known = UNITS.get(word.upper()) or UNITS.get(word.upper().rstrip("S"))
    return None if known is None else exp.Var(this="WEEK" if known == "ISOWEEK" else known)


def dated_literal(node: Any) -> Any:
    """Text that writes a day or a moment, as one: where a function takes nothing else."""
    if type(node) is not exp.Literal or not node.is_string:
        return node
    text = str(node.this)
    return exp.cast(node.copy(), "date" if as_day(text) is not None else "timestamp") if as_moment(text) is not None else node


def today() -> dt.date:
    """The day of asking, in UTC."""
    return dt.datetime.now(dt.UTC).date()


def _as_said(name: str, given: Arguments) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=given)


def _difference(name: str, made: type[exp.Expr], given: Arguments) -> exp.Expr:
    """From a first day to a last one: f(unit, first, last), f(last, first, unit), or f(last, first) in days."""
    if len(given) == 2 and name in ("DATEDIFF", "DATE_DIFF"):
        return made(this=dated_literal(given[0]), expression=dated_literal(given[1]), unit=exp.Var(this="DAY"))
    if len(given) == 3 and (unit := _unit(given[0])) is not None:
        return made(this=dated_literal(given[2]), expression=dated_literal(given[1]), unit=unit)
    if len(given) == 3 and (unit := _unit(given[2])) is not None:
        return made(this=dated_literal(given[0]), expression=dated_literal(given[1]), unit=unit)
    return _as_said(name, given)


def _moved(name: str, sign: int, given: Arguments) -> exp.Expr:
    """f(unit, number, day), f(day, interval), or f(day, number) in days."""
    if len(given) == 3 and (unit := _unit(given[0])) is not None:
        day, count = given[2], given[1]
    elif len(given) == 2 and type(given[1]) is exp.Interval:
        return (exp.Add if sign > 0 else exp.Sub)(this=dated_literal(given[0]), expression=given[1])
    elif len(given) == 2:
        day, count, unit = given[0], given[1], exp.Var(this="DAY")
    else:
        return _as_said(name, given)
    if type(count) is exp.Neg:
        count, sign = count.this, -sign
    if type(count) is not exp.Literal:
        return _as_said(name, given)
    interval = exp.Interval(this=exp.Literal.string(str(count.this)), unit=unit)
    return (exp.Add if sign > 0 else exp.Sub)(this=dated_literal(day), expression=interval)


def _truncated(name: str, given: Arguments) -> exp.Expr:
    """f('month', day), or f(day, MONTH)."""
    for unit, day in (given, given[::-1]) if len(given) == 2 else ():
        if (found := _unit(unit)) is not None:
            return exp.TimestampTrunc(this=dated_literal(day), unit=found)
        if isinstance(unit, exp.Literal) and unit.is_string and unit is given[0]:
            return exp.TimestampTrunc(this=day, unit=exp.Var(this=str(unit.this).upper()))
    return _as_said(name, given)


def _part(name: str, given: Arguments) -> exp.Expr:
    """f('month', day) or f(month, day)."""
    if len(given) == 2 and type(given[0]) in (exp.Literal, exp.Column, exp.Var):
        word = str(given[0].name if type(given[0]) is exp.Column else given[0].this)
        known = UNITS.get(word.upper(), word)
        return exp.Extract(this=exp.Var(this="WEEK" if known == "ISOWEEK" else known), expression=dated_literal(given[1]))
    return _as_said(name, given)


def _day(name: str, given: Arguments) -> exp.Expr:
    """A day from text of the usual form, or from three numbers."""
    if name in ("TO_DATE", "STR_TO_DATE") and given and dated_literal(given[0]) is not given[0]:
        return dated_literal(given[0])  # type: ignore[no-any-return]
    numbers = [str(item.this) for item in given if type(item) is exp.Literal and not item.is_string]
    if name not in ("TO_DATE", "STR_TO_DATE") and len(numbers) == len(given) == 3 and all(number.isdecimal() for number in numbers):
        return exp.cast(exp.Literal.string(f"{int(numbers[0]):04d}-{int(numbers[1]):02d}-{int(numbers[2]):02d}"), "date")
    return _as_said(name, given)


def _today(given: Arguments) -> exp.Expr:
    """The day of asking, also for NOW(): a constant of the statement, on another day another question, and the same one all day long."""
    return exp.cast(exp.Literal.string(today().isoformat()), "date") if not given else _as_said("CURRENT_DATE", given)


def _listed(given: Arguments) -> exp.Expr:
    """DECODE(x, a, b, ..., otherwise) as a CASE."""
    if len(given) < 3:
        return _as_said("DECODE", given)
    pairs = list(zip(given[1::2], given[2::2], strict=False))
    ifs = [exp.If(this=exp.EQ(this=given[0].copy(), expression=when), true=then) for when, then in pairs]
    return exp.Paren(this=exp.Case(ifs=ifs, default=given[-1] if len(given) % 2 == 0 else None))


Maker = Callable[[Arguments], exp.Expr]
DIFFERENCES = {
    "DATEDIFF": exp.DateDiff, "DATE_DIFF": exp.DateDiff, "DATETIME_DIFF": exp.DateDiff, "TIMESTAMPDIFF": exp.TimestampDiff,
    "TIMESTAMP_DIFF": exp.TimestampDiff,
}  # fmt: skip
WRITTEN = ("STRFTIME", "TO_CHAR", "DATE_FORMAT", "FORMAT_DATE", "FORMAT_TIMESTAMP", "FORMAT_DATETIME", "FORMAT")


class _Words(DuckDB.Parser):  # type: ignore[misc,valid-type]
    FUNCTIONS = {
        **DuckDB.Parser.FUNCTIONS,
        **{name: partial(_difference, name, made) for name, made in DIFFERENCES.items()},
        **{name: partial(_moved, name, 1) for name in ("DATEADD", "DATE_ADD", "TIMESTAMPADD", "ADDDATE", "TIMESTAMP_ADD")},
        **{name: partial(_moved, name, -1) for name in ("DATE_SUB", "SUBDATE", "TIMESTAMP_SUB")},
        **{name: partial(_truncated, name) for name in ("DATE_TRUNC", "DATETRUNC", "TIMESTAMP_TRUNC", "DATETIME_TRUNC")},
        **{name: partial(_part, name) for name in ("DATE_PART", "DATEPART")},
        **{name: partial(_day, name) for name in ("TO_DATE", "STR_TO_DATE", "MAKE_DATE", "DATEFROMPARTS", "DATE_FROM_PARTS")},
        **{name: partial(_as_said, name) for name in WRITTEN},
        **dict.fromkeys(("TODAY", "CURDATE", "NOW", "GETDATE", "GETUTCDATE", "SYSDATETIME"), _today),
        "DECODE": _listed,
    }  # fmt: skip


class Spoken(DuckDB):
    """DuckDB's SQL, with the words above."""

    Parser = _Words

    def tokenize(self, sql: str, opt: Any = None) -> list[Token]:
        """The words of a text; TOP is one of SELECT TOP 10, and a name elsewhere."""
        words = super().tokenize(sql, opt)
        for select, word, number in zip(words, words[1:], words[2:], strict=False):
            named = word.token_type == TokenType.VAR and word.text.upper() == "TOP" and select.token_type == TokenType.SELECT
            if named and number.token_type == TokenType.NUMBER:
                word.token_type = TokenType.TOP
        return words


SCHEMAS = ("public", "main", "dbo")  # where PostgreSQL, DuckDB and SQL Server look for a name that says no more
Rule = Callable[[exp.Expr], exp.Expr]


def _known(*items: exp.Expr) -> exp.Expr:
    return exp.and_(*(exp.Not(this=exp.Is(this=item.copy(), expression=exp.Null())) for item in items))


def _case(test: exp.Expr, then: exp.Expr, otherwise: exp.Expr | None = None) -> exp.Case:
    return exp.Case(ifs=[exp.If(this=test, true=then.copy())], default=None if otherwise is None else otherwise.copy())


def _nvl2(node: exp.Expr) -> exp.Expr:
    return _case(_known(node.this), node.args["true"], node.args.get("false"))


def like(node: exp.Expr) -> exp.Expr:
    """x LIKE ANY ('a%', 'b%') as one LIKE or another; with ALL as one and the other."""
    many = node.expression
    if type(many) not in (exp.Any, exp.All):
        return node
    inside = many.this
    patterns = list(inside.expressions) if type(inside) is exp.Tuple else [bare(inside)]
    if not patterns or any(not isinstance(constant_of(pattern), str) for pattern in patterns):
        refuse("LIKE ANY of something other than texts", "Write name LIKE ANY ('A%', 'B%').")
    parts = [type(node)(this=node.this.copy(), expression=pattern.copy()) for pattern in patterns]
    joined = parts[0] if len(parts) == 1 else (exp.or_ if type(many) is exp.Any else exp.and_)(*parts)
    return exp.Not(this=exp.Paren(this=joined)) if node.args.get("negate") else exp.Paren(this=joined)


def _squared(node: exp.Expr) -> exp.Expr:
    """The share of the variance a line explains is the square of the correlation."""
    made = exp.Corr(this=node.this.copy(), expression=node.expression.copy())
    return exp.Paren(this=exp.Mul(this=made, expression=made.copy()))


def _pairs(node: exp.Expr) -> exp.Expr:
    return exp.Count(this=_case(_known(node.this, node.expression), exp.Literal.number(1)), big_int=True)


def _average(node: exp.Expr) -> exp.Expr:
    """The mean of one column over the rows that have both."""
    item, other = (node.expression, node.this) if type(node) is exp.RegrAvgx else (node.this, node.expression)
    return exp.Avg(this=_case(_known(other), item))


def _quantile(node: exp.Expr) -> exp.Expr:
    return exp.PercentileCont(this=node.this.copy(), expression=node.args["quantile"].copy())


def _months(node: exp.Expr) -> exp.Expr:
    number = constant_of(node.expression)
    if not isinstance(number, Fraction) or number.denominator != 1:
        refuse("ADD_MONTHS of something other than a number", "Write day + INTERVAL '3 months'.")
    interval = exp.Interval(this=exp.Literal.string(str(abs(int(number)))), unit=exp.Var(this="MONTH"))
    return (exp.Sub if number < 0 else exp.Add)(this=node.this.copy(), expression=interval)


def _table(node: exp.Expr) -> exp.Expr:
    """public.visits is visits, unless a subquery has that name."""
    home = node.args.get("db")
    named = {str(item.alias) for item in node.root().find_all(exp.CTE)}
    if type(home) is exp.Identifier and str(home.this).lower() in SCHEMAS and not node.args.get("catalog") and node.name not in named:
        node.set("db", None)
    return node


def _column(node: exp.Expr) -> exp.Expr:
    home = node.args.get("db")
    if type(home) is exp.Identifier and str(home.this).lower() in SCHEMAS and not node.args.get("catalog"):
        node.set("db", None)
    return node


def _either(node: exp.Expr) -> exp.Expr:
    """Whether one row fulfils a condition would show that person; a number of rows has an answer."""
    over = node.find_ancestor(exp.Select)
    if over is not None and over.find_ancestor(exp.Select) is None:  # inside a person it is a maximum
        word = "BOOL_OR" if type(node) is exp.LogicalOr else "BOOL_AND"
        refuse(f"{word} over people", "Ask how many rows fulfil it: COUNT(*) FILTER (WHERE ...), and compare the answer.")
    return node


SYNONYMS: dict[type[exp.Expr], Rule] = {
    exp.Nvl2: _nvl2, exp.Like: like, exp.RegrR2: _squared, exp.RegrCount: _pairs, exp.RegrAvgx: _average, exp.RegrAvgy: _average,
    exp.Quantile: _quantile, exp.AddMonths: _months, exp.Table: _table, exp.Column: _column, exp.LogicalOr: _either,
    exp.LogicalAnd: _either,
}  # fmt: skip


def _zero(x: exp.Expr) -> exp.Expr:
    return exp.Coalesce(this=x.copy(), expressions=[exp.Literal.number(0)])


CALLED: dict[tuple[str, int], Callable[..., exp.Expr]] = {
    ("zeroifnull", 1): _zero,
    ("nullifzero", 1): lambda x: exp.Nullif(this=x.copy(), expression=exp.Literal.number(0)),
    ("square", 1): lambda x: exp.Mul(this=exp.Paren(this=x.copy()), expression=exp.Paren(this=x.copy())),
    ("mean", 1): lambda x: exp.Avg(this=x.copy()),
    ("total", 1): lambda x: exp.Sum(this=x.copy()),
    ("stdevp", 1): lambda x: exp.StddevPop(this=x.copy()),
    ("varp", 1): lambda x: exp.VariancePop(this=x.copy()),
    ("var", 1): lambda x: exp.Variance(this=x.copy()),
    ("approx_median", 1): lambda x: exp.Median(this=x.copy()),
    ("percentile", 2): lambda x, q: exp.PercentileCont(this=x.copy(), expression=q.copy()),
}
