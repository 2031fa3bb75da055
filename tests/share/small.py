"""A small table of codes that answers marginals as an engine would, and the plan of a shared table over it."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np

from sordino.privacy.relation import Relation
from sordino.schema.column import Column
from sordino.share.cells import FineCells
from sordino.share.rounds import Talk
from sordino.share.schedule import affordable
from sordino.summaries.marginal import Crossed


def table(rows, columns, seed=0):
    """Truth values in a chain: each column mostly repeats the one before."""
    rng = np.random.default_rng(seed)
    out = [rng.random(rows) < 0.4]
    for _ in range(columns - 1):
        out.append(np.where(rng.random(rows) < 0.8, out[-1], rng.random(rows) < 0.3))
    return np.array(out, np.int64).T.reshape(rows, columns)


def answering(codes, people=None):
    """An ask over whole codes; with people, each counts once in the parts of the request."""

    def ask(request):
        if people is None or request.parts == 1:
            weight = np.full(len(codes), request.parts)
        else:
            _, where, often = np.unique(people, return_inverse=True, return_counts=True)
            weight = request.parts // often[where] if len(codes) else np.zeros(0, np.int64)
        found = []
        for chosen in request.sets:
            out = np.zeros(request.shape(chosen), np.int64)
            np.add.at(out, tuple(np.array(request.axes[i].cells)[codes[:, i]] for i in chosen), weight)
            found.append(out)
        return Crossed(tuple(found))

    return ask


def talk(
    columns=4, *, method="adaptive", epsilon=1, parts=1, reach=1, relation=Relation.ADD_REMOVE, rounds=None, rows=1_000,
    workload=None, heaviest=None, **more,
):  # fmt: skip
    """All pairs with weight one, or a workload; `heaviest` is the weight the price is for, where it is another than the largest."""
    workload = dict.fromkeys(combinations(range(columns), 2), 1) if workload is None else workload
    heaviest = max(workload.values()) if heaviest is None else heaviest
    cells = tuple(FineCells.of(Column(f"c{i}", "bool")) for i in range(columns))
    sets = tuple(c for k in (1, 2, 3) for c in combinations(range(columns), k))
    fixed = {"tree": columns - 1, "given": columns * (columns - 1) // 2}.get(method, rounds)
    schedule = affordable(
        Fraction(epsilon), Fraction(1, 10**6), method=method, columns=columns, reported=len(sets), reach=reach, heaviest=heaviest,
        relation=relation, cells=4.0, rows=rows, fixed=fixed,
    )  # fmt: skip
    return Talk(cells, schedule, workload, sets, parts, **more)
