"""Walking a SQL tree without trusting it."""

from __future__ import annotations

from sqlglot import exp

from sordino.plan.refusal import refuse_node

__all__ = ["bare", "chain", "only"]


def bare(node: exp.Expr) -> exp.Expr:
    """What parentheses enclose."""
    while type(node) is exp.Paren:
        node = node.this
    return node


def chain(node: exp.Expr, kind: type[exp.Expr]) -> list[exp.Expr]:
    """The parts of a AND b AND c, however many: the tree leans left and may be thousands deep."""
    parts, stack = [], [node]
    while stack:
        item = stack.pop()
        if type(item) is kind:
            only(item, "this", "expression")
            stack += [item.args["expression"], item.this]
        else:
            parts.append(item)
    return parts


def only(node: exp.Expr, *allowed: str) -> None:
    """Refuse a node that carries anything we would silently ignore: an escape character, a subquery, a hint."""
    if any(value not in (None, False, []) and key not in allowed for key, value in node.args.items()):
        refuse_node(node)
