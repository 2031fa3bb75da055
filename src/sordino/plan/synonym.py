"""Words of other databases for what the readers know, and names of default schemas. Equal rows get equal values: nothing to prove."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sqlglot import exp

from sordino.plan.literal import bare, constant_of
from sordino.plan.rewrite import refuse

__all__ = ["CALLED", "SYNONYMS"]

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
