"""What analysts write in many ways, said in the words the readers know. Equal rows get equal values, so nothing here needs a proof.

A construct that is not rewritten stays as it is, and the readers refuse what they do not know.

Parts of a SELECT that stand for several, and subqueries that stand for a number of the same rows; both said in words that are read.

(SELECT COUNT(*) FROM the same rows) beside GROUP BY is the total of the released groups, SUM(COUNT(*)) OVER (): then shares add up to one.
Rows whose key is not listed are in neither. QUANTILE_CONT(x, [0.25, 0.75]) is two columns.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sqlglot import exp

from sordino.plan.dialect import CALLED, SYNONYMS, like, today
from sordino.plan.literal import bare, constant_of
from sordino.plan.refusal import refuse
from sordino.statistics.registry import catalog

__all__ = ["simpler", "spelled_out"]

LN_10 = "2.302585092994046"
MOST_POWER = 6


def simpler(tree: exp.Expr) -> exp.Expr:
    """The same tree with other spellings in their place, from the leaves up."""
    for node in list(tree.find_all(*RULES))[::-1]:
        made = RULES[type(node)](node)
        if made is not node:
            if node is tree:
                tree = made
            else:
                node.replace(made)
    return tree


def _when(test: exp.Expr, then: exp.Expr, otherwise: exp.Expr | None = None) -> exp.Case:
    return exp.Case(ifs=[exp.If(this=test.copy(), true=then.copy())], default=None if otherwise is None else otherwise.copy())


def _filter(node: exp.Expr) -> exp.Expr:
    """COUNT(*) FILTER (WHERE c) counts where c is true; any other aggregate skips what is null elsewhere."""
    inner, test = node.this, node.expression.this
    if not isinstance(inner, exp.AggFunc):
        return node
    if type(inner) is exp.Count and (inner.args.get("this") is None or type(inner.this) is exp.Star):
        return exp.Count(this=_when(test, exp.Literal.number(1)), big_int=True)
    made = inner.copy()
    if type(inner) is exp.AnonymousAggFunc:  # its name is where others have their column
        made.set("expressions", [_when(test, part) if i == 0 else part for i, part in enumerate(made.expressions)])
        return made
    if type(inner.this) is exp.Distinct:
        made.this.set("expressions", [_when(test, item) for item in inner.this.expressions])
        return made
    made.set("this", _when(test, inner.this))
    return made


def _count_if(node: exp.Expr) -> exp.Expr:
    return exp.Count(this=_when(node.this, exp.Literal.number(1)), big_int=True)


def _if(node: exp.Expr) -> exp.Expr:
    if isinstance(node.parent, exp.Case):  # a branch of CASE
        return node
    return _when(node.this, node.args["true"], node.args.get("false"))


def _sign(node: exp.Expr) -> exp.Expr:
    x, zero = node.this, exp.Literal.number(0)
    below = exp.If(this=exp.LT(this=x.copy(), expression=zero.copy()), true=exp.Neg(this=exp.Literal.number(1)))
    above = exp.If(this=exp.GT(this=x.copy(), expression=zero.copy()), true=exp.Literal.number(1))
    same = exp.If(this=exp.EQ(this=x.copy(), expression=zero.copy()), true=zero)
    return exp.Case(ifs=[below, above, same])


def _power(node: exp.Expr) -> exp.Expr:
    power = constant_of(node.expression)
    if power == Fraction(1, 2):
        return exp.Sqrt(this=node.this.copy())
    if not isinstance(power, Fraction) or power.denominator != 1 or not 1 <= power <= MOST_POWER:
        refuse("POWER with an unusual exponent", f"Use a whole exponent from 1 to {MOST_POWER}, or 0.5.")
    made: exp.Expr = node.this.copy()
    for _ in range(int(power) - 1):
        made = exp.Mul(this=exp.Paren(this=made), expression=exp.Paren(this=node.this.copy()))
    return made


def _log(node: exp.Expr) -> exp.Expr:
    """LOG(x) is the logarithm to the base of ten, as DuckDB and PostgreSQL have it."""
    base, x = (node.this, node.expression) if node.args.get("expression") is not None else (exp.Literal.number(10), node.this)
    if constant_of(base) != 10:
        refuse("a logarithm to another base", "Write LN(x), LOG10(x), or LN(x) / LN of the base.")
    return exp.Div(this=exp.Ln(this=x.copy()), expression=exp.Literal.number(LN_10), typed=False, safe=False)


def _anonymous(node: exp.Expr) -> exp.Expr:
    name, given = str(node.this).lower(), node.expressions
    if (name, len(given)) in CALLED:
        return CALLED[name, len(given)](*given)
    if name == "every" and len(given) == 1:
        made = exp.LogicalAnd(this=given[0].copy())
        node.replace(made)
        return SYNONYMS[exp.LogicalAnd](made)
    if name == "eomonth" and len(given) == 1:
        return _last_day(exp.LastDay(this=given[0].copy()))
    if name == "timezone" and len(given) == 2:
        return exp.AtTimeZone(this=given[1].copy(), zone=given[0].copy())
    if name in ("iff", "ifelse") and len(given) == 3:
        return _when(given[0], given[1], given[2])
    if name == "isnull" and len(given) == 2:
        return exp.Coalesce(this=given[0].copy(), expressions=[given[1].copy()])
    if name in ("div0", "div0null") and len(given) == 2:
        zero = exp.EQ(this=given[1].copy(), expression=exp.Literal.number(0))
        return _when(zero, exp.Literal.number(0), exp.Div(this=given[0].copy(), expression=given[1].copy(), typed=False, safe=False))
    if name in ("approx_percentile", "percentile_approx") and len(given) == 2:
        return exp.PercentileCont(this=given[0].copy(), expression=given[1].copy())
    if name in ("weekday", "day_of_week") and len(given) == 1:
        return exp.DayOfWeek(this=given[0].copy())
    if any(name.upper() in one.sql for one in catalog().values()):
        return exp.AnonymousAggFunc(this=name, expressions=[part.copy() for part in given])
    return node


WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")


def _called(node: exp.Expr) -> exp.Expr:
    """DAYNAME and MONTHNAME, in English as databases say them."""
    part, words = ("ISODOW", WEEKDAYS) if type(node) is exp.Dayname else ("MONTH", MONTHS)
    number = exp.Extract(this=exp.Var(this=part), expression=node.this.copy())
    return exp.Case(this=number, ifs=[exp.If(this=exp.Literal.number(i), true=exp.Literal.string(word)) for i, word in enumerate(words, 1)])


def _day(node: exp.Expr) -> exp.Expr:
    """DATE(x) is a cast."""
    return node if node.this is None or node.args.get("expressions") else exp.cast(node.this.copy(), "date")


def _people(node: exp.Expr) -> exp.Expr:
    """About as many different ones: here every count is about."""
    return exp.Count(this=exp.Distinct(expressions=[node.this.copy()]), big_int=True)


def _today(node: exp.Expr) -> exp.Expr:
    return exp.cast(exp.Literal.string(today().isoformat()), "date") if node.args.get("this") is None else node


def _quantile(node: exp.Expr) -> exp.Expr:
    """About that quantile: here every quantile is about."""
    return exp.PercentileCont(this=node.this.copy(), expression=node.args["quantile"].copy())


def _listed(node: exp.Expr) -> exp.Expr:
    """APPROX_QUANTILES(x, 100)[OFFSET(50)]: the fiftieth of a hundred."""
    inner, (place, *more) = node.this, node.expressions
    if type(place) is exp.Anonymous and str(place.this).upper() in ("OFFSET", "SAFE_OFFSET") and len(place.expressions) == 1:
        place = place.expressions[0]
    many = constant_of(inner.expression) if type(inner) is exp.ApproxQuantiles else None
    at = constant_of(place)
    if not isinstance(many, Fraction) or not isinstance(at, Fraction) or not 0 <= at <= many or many < 1 or more:
        return node
    return exp.PercentileCont(this=inner.this.copy(), expression=exp.Literal.number(str(float(at / many))))


def _nearest(node: exp.Expr) -> exp.Expr:
    """The value at a place instead of one between two: an answer here is near that place, not a value of a row."""
    return exp.PercentileCont(this=node.this.copy(), expression=None if node.args.get("expression") is None else node.expression.copy())


def _divided(node: exp.Expr) -> exp.Expr:
    return exp.Div(this=exp.Paren(this=node.this.copy()), expression=exp.Paren(this=node.expression.copy()), typed=False, safe=True)


def _part(node: exp.Expr) -> exp.Expr:
    word = "DOY" if type(node) is exp.DayOfYear else "WEEK"
    return exp.Extract(this=exp.Var(this=word), expression=node.this.copy())


def _last_day(node: exp.Expr) -> exp.Expr:
    """The last day of a month."""
    first: exp.Expr = exp.TimestampTrunc(this=node.this.copy(), unit=exp.Var(this="MONTH"))
    for kind, size, unit in ((exp.Add, "1", "MONTH"), (exp.Sub, "1", "DAY")):
        first = kind(this=first, expression=exp.Interval(this=exp.Literal.string(size), unit=exp.Var(this=unit)))
    return exp.Paren(this=first)


EXACT = ("DAY", "WEEK", "HOUR", "MINUTE", "SECOND")


def _within(node: exp.Expr) -> exp.Expr:
    """a - b <= INTERVAL '30 days' as a <= b + INTERVAL '30 days'; months have no fixed length."""
    left, right = bare(node.this), bare(node.expression)
    made, turned = (left, right), False
    if type(left) is exp.Interval:
        made, turned = (right, left), True
    gone, interval = made
    if type(interval) is not exp.Interval or type(gone) is not exp.Sub or type(bare(gone.expression)) is exp.Interval:
        return node
    if str(interval.args.get("unit") or "").upper().rstrip("S") not in EXACT:
        refuse("a difference compared with months or years", "Compare with days: INTERVAL '30 days'.")
    last, first = bare(gone.this).copy(), exp.Add(this=bare(gone.expression).copy(), expression=interval.copy())
    return type(node)(this=first, expression=last) if turned else type(node)(this=last, expression=first)


def _is(node: exp.Expr) -> exp.Expr:
    """x IS TRUE: true where x is, and false where it is null."""
    if type(node.expression) is not exp.Boolean:
        return node
    known = exp.Not(this=exp.Is(this=node.this.copy(), expression=exp.Null()))
    return exp.Paren(this=exp.And(this=exp.EQ(this=node.this.copy(), expression=node.expression.copy()), expression=known))


def _like(node: exp.Expr) -> exp.Expr:
    """ILIKE as LIKE of lower letters."""
    if type(node.expression) in (exp.Any, exp.All):
        made = like(node)
        for part in list(made.find_all(exp.ILike)):
            part.replace(_like(part))
        return made
    pattern = constant_of(node.expression)
    if not isinstance(pattern, str):
        return node
    made = exp.Like(this=exp.Lower(this=node.this.copy()), expression=exp.Literal.string(_lower(pattern)))
    return exp.Not(this=made) if node.args.get("negate") else made


def _lower(text: str) -> str:
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


def _starts(node: exp.Expr) -> exp.Expr:
    part = constant_of(node.expression)
    if not isinstance(part, str) or "%" in part or "_" in part:
        refuse("a part of a text that is no plain text in single quotes", "Write name LIKE 'A%'.")
    front = "%" if type(node) is exp.Contains else ""
    return exp.Like(this=node.this.copy(), expression=exp.Literal.string(f"{front}{part}%"))


def _side(node: exp.Expr) -> exp.Expr:
    """LEFT(x, 2) as a part of the text."""
    return exp.Substring(this=node.this.copy(), start=exp.Literal.number(1), length=node.expression.copy())


def _distinct_from(node: exp.Expr) -> exp.Expr:
    """x IS DISTINCT FROM a constant."""
    if constant_of(node.expression) is None:
        return node
    other = exp.Or(
        this=exp.NEQ(this=node.this.copy(), expression=node.expression.copy()),
        expression=exp.Is(this=node.this.copy(), expression=exp.Null()),
    )
    return exp.Paren(this=other) if type(node) is exp.NullSafeNEQ else exp.EQ(this=node.this.copy(), expression=node.expression.copy())


def _bucket(node: exp.Expr) -> exp.Expr:
    """WIDTH_BUCKET(x, low, high, n): 1 to n inside, 0 below and n + 1 from high on."""
    ends = [constant_of(node.args[word]) for word in ("min_value", "max_value", "num_buckets")]
    if not all(isinstance(end, Fraction) for end in ends) or ends[2].denominator != 1 or not 1 <= ends[2] <= 900 or ends[0] >= ends[1]:  # type: ignore[union-attr,operator]
        refuse("WIDTH_BUCKET of something other than numbers", "Write WIDTH_BUCKET(x, 0, 100, 10).")
    x, low, high, many = (node.this, *(node.args[word] for word in ("min_value", "max_value", "num_buckets")))
    width = exp.Paren(this=exp.Sub(this=high.copy(), expression=low.copy()))
    above = exp.Paren(this=exp.Sub(this=x.copy(), expression=low.copy()))
    share = exp.Div(this=exp.Mul(this=above, expression=many.copy()), expression=width, typed=False, safe=False)
    place = exp.Add(this=exp.Floor(this=share), expression=exp.Literal.number(1))
    top = exp.Literal.number(int(ends[2]) + 1)  # type: ignore[arg-type]
    return exp.Greatest(this=exp.Literal.number(0), expressions=[exp.Least(this=top, expressions=[place])])


def _trunc(node: exp.Expr) -> exp.Expr:
    if node.args.get("decimals") is not None or node.args.get("expression") is not None:
        return node
    below = exp.LT(this=node.this.copy(), expression=exp.Literal.number(0))
    return _when(below, exp.Ceil(this=node.this.copy()), exp.Floor(this=node.this.copy()))


RULES: dict[type[exp.Expr], Callable[[exp.Expr], exp.Expr]] = {
    **SYNONYMS,
    exp.Filter: _filter, exp.CountIf: _count_if, exp.If: _if, exp.Sign: _sign, exp.Pow: _power, exp.Log: _log, exp.Anonymous: _anonymous,
    exp.Dayname: _called, exp.Monthname: _called, exp.Date: _day, exp.ApproxDistinct: _people, exp.CurrentDate: _today,
    exp.CurrentTimestamp: _today, exp.ILike: _like, exp.StartsWith: _starts, exp.Contains: _starts, exp.Left: _side, exp.Trunc: _trunc,
    exp.NullSafeNEQ: _distinct_from, exp.NullSafeEQ: _distinct_from, exp.WidthBucket: _bucket,
    exp.SafeDivide: _divided, exp.Week: _part, exp.WeekOfYear: _part, exp.DayOfYear: _part, exp.LastDay: _last_day, exp.Is: _is,
    exp.ApproxQuantile: _quantile, exp.PercentileDisc: _nearest, exp.Bracket: _listed,
    exp.LT: _within, exp.LTE: _within, exp.GT: _within, exp.GTE: _within,
}  # fmt: skip


WITHOUT = ("group", "having", "qualify", "order", "limit", "distinct", "with_", "windows")
SAME = "Compare with all released groups: SUM(COUNT(*)) OVER (), SUM(SUM(x)) OVER (); other rows are a question of their own."


def spelled_out(tree: exp.Select) -> exp.Select:
    """The same SELECT with one column for each quantile of a list, and totals of its own rows in the place of subqueries."""
    items: list[exp.Expr] = []
    for item in tree.expressions:
        items += _quantiles(item)
    tree.set("expressions", items)
    clauses = [*items, *(tree.args[word] for word in ("having", "qualify", "order") if tree.args.get(word) is not None)]
    for clause in clauses:
        for query in list(clause.find_all(exp.Subquery)):
            query.replace(_total(bare(query.this), tree))
    return tree


def _quantiles(item: exp.Expr) -> list[exp.Expr]:
    node = bare(item.this) if type(item) is exp.Alias else bare(item)
    levels = node.args.get("expression") if type(node) is exp.PercentileCont else None
    if type(levels) is not exp.Array:
        return [item]
    if not levels.expressions or any(not isinstance(constant_of(level), Fraction) for level in levels.expressions):
        refuse("a list of something other than numbers", "Write QUANTILE_CONT(x, [0.25, 0.5, 0.75]).")
    called = str(item.alias) if type(item) is exp.Alias else "quantile"
    return [
        exp.alias_(exp.PercentileCont(this=node.this.copy(), expression=level.copy()), f"{called}_{level.name}", quoted=True)
        for level in levels.expressions
    ]


def _total(query: exp.Expr, tree: exp.Expr) -> exp.Expr:
    """A total of the rows the SELECT itself is about."""
    same = type(query) is exp.Select and all(query.args.get(word) == tree.args.get(word) for word in ("from_", "joins", "where"))
    if not same or any(query.args.get(word) for word in WITHOUT) or len(query.expressions) != 1:
        refuse("a subquery in an expression", SAME)
    made = bare(query.expressions[0].this if type(query.expressions[0]) is exp.Alias else query.expressions[0])
    if not tree.args.get("group"):
        return made.copy()
    if type(made) not in (exp.Count, exp.Sum) or type(made.args.get("this")) is exp.Distinct:
        refuse("a subquery in an expression", SAME)
    return exp.Window(this=exp.Sum(this=made.copy()), over="OVER")
