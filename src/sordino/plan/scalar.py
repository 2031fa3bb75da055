"""Parts of a SELECT that stand for several, and subqueries that stand for a number of the same rows; both said in words that are read.

(SELECT COUNT(*) FROM the same rows) beside GROUP BY is the total of the released groups, SUM(COUNT(*)) OVER (): then shares add up to one.
Rows whose key is not listed are in neither. QUANTILE_CONT(x, [0.25, 0.75]) is two columns.
"""

from __future__ import annotations

from fractions import Fraction

from sqlglot import exp

from sordino.plan.literal import bare, constant_of
from sordino.plan.rewrite import refuse

__all__ = ["spelled_out"]

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
