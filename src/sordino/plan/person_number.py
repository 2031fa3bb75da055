"""A number about a person in WHERE: (SELECT COUNT(*) FROM visits v WHERE v.patient_id = p.patient_id) >= 2, said with EXISTS.

Theorem. For the groups of inner rows by the key k, `f(rows with k = x) op c` is true exactly if x is in the subquery of the k whose group
fulfils `f op c`; and where f of no rows fulfils it (a COUNT of 0), exactly if x is not in the subquery of the k whose group does not.
Proof. An x with rows is a group. Without rows a COUNT is 0, and every other aggregate is null, for which no comparison is true. QED
"""

from __future__ import annotations

import operator
from fractions import Fraction

from sqlglot import exp

from sordino.plan.condition import OPERATORS
from sordino.plan.literal import bare, chain, constant_of
from sordino.schema.normal import MIRRORED

__all__ = ["as_existence"]

HOLDS = {"=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
SIGNS = {sign: kind for kind, sign in OPERATORS.items()}
NAME = "the same person"


def as_existence(part: exp.Expr) -> exp.Expr | None:
    """The same condition as EXISTS or NOT EXISTS; None where it compares no total of rows that equal a column outside."""
    part = bare(part)
    if type(part) not in OPERATORS:
        return None
    sides, sign = [bare(part.this), bare(part.expression)], OPERATORS[type(part)]
    if isinstance(sides[1], exp.Query):
        sides, sign = sides[::-1], MIRRORED[sign]
    select, value = sides[0].this if type(sides[0]) is exp.Subquery else sides[0], constant_of(sides[1])
    if type(select) is not exp.Select or not isinstance(value, Fraction) or len(select.expressions) != 1:
        return None
    total = bare(select.expressions[0].this if type(select.expressions[0]) is exp.Alias else select.expressions[0])
    where, clause = select.args.get("where"), select.args.get("from_")
    if (
        not isinstance(total, exp.AggFunc)
        or where is None
        or clause is None
        or any(select.args.get(w) for w in ("group", "having", "limit"))
    ):
        return None
    inside = {str(node.alias_or_name) for node in (clause.this, *(join.this for join in select.args.get("joins") or ()))}
    parts = [bare(item) for item in chain(bare(where.this), exp.And)]
    found = [(item, pair) for item in parts if (pair := _meeting(item, inside)) is not None]
    if len(found) != 1:
        return None
    met, (own, outer) = found[0]
    rest = [item.copy() for item in parts if item is not met]
    empty = type(total) is exp.Count and HOLDS[sign](0, value)
    kept: exp.Expr = SIGNS[sign](this=total.copy(), expression=sides[1].copy())
    groups = select.copy()
    groups.set("expressions", [own.copy()])
    groups.set("where", exp.Where(this=exp.and_(*rest)) if rest else None)
    groups.set("group", exp.Group(expressions=[own.copy()]))
    groups.set("having", exp.Having(this=exp.Not(this=exp.Paren(this=kept)) if empty else kept))
    same = exp.EQ(this=exp.column(own.this.copy(), table=exp.to_identifier(NAME, quoted=True)), expression=outer.copy())
    alias = exp.TableAlias(this=exp.to_identifier(NAME, quoted=True))
    query = exp.Select(expressions=[exp.Literal.number(1)], where=exp.Where(this=same))
    query.set("from_", exp.From(this=exp.Subquery(this=groups, alias=alias)))
    made = exp.Exists(this=query)
    return exp.Not(this=made) if empty else made


def _meeting(node: exp.Expr, inside: set[str]) -> tuple[exp.Expr, exp.Expr] | None:
    """The column of the subquery and the one outside that an equality names; a name without a table is the subquery's own."""
    sides = [bare(side) for side in (node.this, node.expression)] if type(node) is exp.EQ else []
    if len(sides) != 2 or any(type(side) is not exp.Column or type(side.this) is not exp.Identifier for side in sides):
        return None
    homes = [side.args.get("table") is None or str(side.args["table"].this) in inside for side in sides]
    if homes == [True, False]:
        return sides[0], sides[1]
    return (sides[1], sides[0]) if homes == [False, True] else None
