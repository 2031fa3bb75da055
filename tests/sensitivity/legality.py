"""Whether rungs are a legal ladder in a small world, and worlds in which a person's rows are exchanged for others."""

from __future__ import annotations

import numpy as np


def illegal(world, rungs):
    """Tables whose rungs fall, and neighbours x, y with A(x, k) > A(y, k + 1)."""
    found = [(x, "falls") for x in world.tables if (np.diff(rungs[x].astype(float)) < 0).any()]
    pairs = ((world.tables[i], world.tables[j]) for i, near in enumerate(world.edges) for j in near)
    return found + [(x, y) for x, y in pairs if (rungs[x][:-1] > rungs[y][1:]).any()]


def swapped(world, rows):
    """Neighbours when a person's rows are replaced and their number may change: up to `rows` go and up to `rows` come."""
    fewer = []
    for table in world.tables:
        level = reached = {table}
        for _ in range(rows):
            level = {t[:i] + t[i + 1 :] for t in level for i in range(len(t))}
            reached = reached | level
        fewer.append(reached)
    parents = {}
    for i, reached in enumerate(fewer):
        for core in reached:
            parents.setdefault(core, set()).add(i)
    edges = [set().union(*(parents[core] for core in reached)) - {i} for i, reached in enumerate(fewer)]
    object.__setattr__(world, "edges", tuple(tuple(sorted(near)) for near in edges))
    return world
