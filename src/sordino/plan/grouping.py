"""ROLLUP, CUBE and GROUPING SETS: which groupings a GROUP BY asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, combinations

from sqlglot import exp

from sordino.errors import QueryError
from sordino.plan.literal import bare
from sordino.plan.query_plan import MOST_SETS
from sordino.plan.rewrite import allow

__all__ = ["grouping_sets"]

SEVERAL = (exp.Rollup, exp.Cube, exp.GroupingSets)
Named = Callable[[exp.Expr], str]  # the column a node of a GROUP BY means


def grouping_sets(nodes: Sequence[exp.Expr], column: Named) -> list[list[str]] | None:
    """Every grouping, by the names of its columns; None where the GROUP BY is a plain one. Elements side by side are combined."""
    found: list[list[str]] = [[]]
    for node in nodes:
        found = [[*left, *right] for left in found for right in _element(bare(node), column)]
        _few(found)
    distinct = {tuple(dict.fromkeys(names)): None for names in found}
    return [list(names) for names in distinct] if any(isinstance(bare(node), SEVERAL) for node in nodes) else None


def _element(node: exp.Expr, column: Named) -> list[list[str]]:
    if isinstance(node, exp.Tuple):
        allow(node, "expressions")
        return [[column(bare(item)) for item in node.expressions]]
    if not isinstance(node, SEVERAL):
        return [[column(node)]]
    allow(node, "expressions")
    parts = [_element(bare(item), column) for item in node.expressions]
    if isinstance(node, exp.GroupingSets):
        found = [names for part in parts for names in part]
    else:
        single = [part[0] for part in parts if len(part) == 1]
        if len(single) != len(parts) or not parts or len(parts) > MOST_SETS:
            raise QueryError(
                "SRD-209", "ROLLUP and CUBE take columns.", "Write ROLLUP(a, b), CUBE(a, b) or GROUPING SETS ((a, b), (a), ())."
            )
        if isinstance(node, exp.Rollup):
            chosen = [single[:size] for size in range(len(single), -1, -1)]
        else:
            _few([[]] * 2 ** len(single))
            chosen = [list(some) for some in chain.from_iterable(combinations(single, size) for size in range(len(single), -1, -1))]
        found = [[name for names in some for name in names] for some in chosen]
    _few(found)
    return found


def _few(found: Sequence[Sequence[str]]) -> None:
    if len(found) > MOST_SETS:
        raise QueryError("SRD-209", f"the statement asks for {len(found)} groupings.", f"Ask for at most {MOST_SETS} at once.")
