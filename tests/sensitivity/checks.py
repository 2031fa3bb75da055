"""The checks every ladder passes on small worlds. They return what is wrong, so that tests can also show that they bite."""

from __future__ import annotations

import numpy as np

SLACK = 1e-9


def violations(world, tables, ladder, beta, *, exact):
    """Every way in which ladder(x), a list of rungs, fails on `tables` and their neighbours in the same list."""
    found = []
    inside = set(tables)
    rungs = {x: np.asarray(ladder(x), dtype=float) for x in tables}
    smooth = {x: float((np.exp(-beta * np.arange(len(a))) * a).max()) for x, a in rungs.items()}
    least = world.fixed_point(beta)
    top = world.worst_case()
    for x in tables:
        a, truth = rungs[x], np.array([world.rung(x, k) for k in range(len(rungs[x]))])
        if (a < truth - SLACK).any():
            found.append(("below the definition", x))
        if exact and (a > truth + SLACK).any():
            found.append(("above the definition", x))
        if (np.diff(a) < -SLACK).any():
            found.append(("rungs fall", x))
        if not world.local(x) - SLACK <= smooth[x] <= top + SLACK:
            found.append(("not between local and global", x))
        if smooth[x] < least[x] - SLACK or (exact and smooth[x] > least[x] + SLACK):
            found.append(("not the least fixed point", x))
        for y in world.neighbours(x):
            if y not in inside:
                continue
            if (a[:-1] > rungs[y][1:] + SLACK).any():
                found.append(("not legal", x, y))
            if smooth[x] > np.exp(beta) * smooth[y] + SLACK:
                found.append(("not smooth", x, y))
    return found
