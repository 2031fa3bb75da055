"""Sums over all ways to place rising levels on the staircase of a table's counts, and one of them drawn by its weight."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sordino.privacy.discrete import Categorical
from sordino.summaries import Draw

__all__ = ["PathVisit", "Paths", "chances"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
TOP = 600.0  # the largest weight of a draw is e^600, so that the smallest may be e^-700


class PathVisit(NamedTuple):
    """This many consecutive levels in one cell."""

    cell: int
    levels: int


class States(NamedTuple):
    """Where a level can be: how far its rank lies from its target, in which cell, and the log of the summed weight of getting there."""

    offset: Integers
    cell: Integers
    weight: Floats


def chances(logs: Floats) -> Floats:
    """Weights in proportion to e^logs."""
    return np.asarray(np.exp(logs - logs.max() + TOP))


def prefix(x: Floats) -> Floats:
    """ln of the running sums of e^x, by blocks, so that rounding grows like the square root of the length."""
    size = math.isqrt(len(x)) + 1
    block = np.full(-(-len(x) // size) * size, -np.inf)
    block[: len(x)] = x
    block = np.logaddexp.accumulate(block.reshape(-1, size), axis=1)
    block[1:] = np.logaddexp(block[1:], np.logaddexp.accumulate(block[:-1, -1])[:, None])
    return np.asarray(block.ravel()[: len(x)])


def between(x: Floats, start: Integers, stop: Integers) -> Floats:
    """ln of the sums of e^x[start:stop], by doubling: a difference of running sums would lose everything."""
    found, start, left = np.full(len(start), -np.inf), start.copy(), np.maximum(stop - start, 0)
    width = 1
    while width <= left.max(initial=0):
        odd = np.flatnonzero(left & width)
        found[odd] = np.logaddexp(found[odd], x[start[odd]])
        start[odd] += width
        x = np.logaddexp(x[:-width], x[width:])
        width *= 2
    return found


@dataclass(frozen=True)
class Paths:
    r"""Levels 1..M placed in rising cells: weight e^{-rate TV} times, per cell with r levels, mass^r/r!.

    Ranks are whole numbers (rows times a common denominator). Level j of a path lies at a rank between below and upto of its cell;
    its offset is that rank minus targets[j], and TV is the length of the walk 0, offset_1, .., offset_M, 0, with every rank chosen so
    that it is shortest. Paths that leave the tube |offset| <= reach are left out.

    Theorem. The shortest walk through intervals from a given point is the lazy one, which moves only as far as it must.
    Proof. Let w(s) be the least length of a walk through the first intervals that ends at s. It begins as |s - p| with p = 0. If
    w(s) = C + |s - p|, the next interval J gives min over t in J of C + |t - p| + |s - t| = C + |p - p'| + |s - p'|, with p' the point of
    J nearest to p. QED
    So a path's state is its offset and its cell. A visit of levels a+1..b to one cell is lazy too: come in between the ends of level
    a+1, then sink with the cell's upper end, which falls as the targets rise.
    """

    below: Integers
    upto: Integers
    log_mass: Floats
    targets: tuple[int, ...]  # targets[0] is 0, the start
    rate: float
    reach: int

    @property
    def levels(self) -> int:
        return len(self.targets) - 1

    def _before(self, states: States, level: int, cell: Integers) -> Integers:
        """How many states of a level come before the cell's beginning: its own visitors are not among them."""
        size = len(self.below) + 1
        start = np.clip(self.below[cell] - self.targets[level], -self.reach - 1, self.reach + 1)
        return np.searchsorted(states.offset * size + states.cell, start * size + cell)

    @cached_property
    def states(self) -> list[States]:
        """The states of every level, in order along the staircase, level 0 being the start."""
        arrived: list[list[States]] = [[] for _ in self.targets]
        arrived[0].append(States(np.zeros(1, np.int64), np.full(1, -1, np.int64), np.zeros(1)))
        done = []
        for level in range(self.levels + 1):
            done.append(self._merged(arrived[level]))
            if level < self.levels:
                self._leave(done[level], level, arrived)
        return done

    def _merged(self, parts: list[States]) -> States:
        offset, cell, weight = (np.concatenate([part[i] for part in parts]) for i in range(3))
        inside = (np.abs(offset) <= self.reach) & (weight > -np.inf)
        offset, cell, weight = offset[inside], cell[inside], weight[inside]
        key = offset * (len(self.below) + 1) + cell
        order = np.argsort(key, kind="stable")
        key = key[order]
        starts = np.flatnonzero(np.diff(key, prepend=key[:1] - 1))
        found = np.logaddexp.reduceat(weight[order], starts) if len(starts) else weight
        return States(offset[order][starts], cell[order][starts], found)

    def _leave(self, here: States, a: int, arrived: list[list[States]]) -> None:
        """Carry the states of level a into every visit that begins with level a + 1."""
        low = self.below - self.targets[a + 1]
        cell = np.flatnonzero((low <= self.reach) & (self.upto - self.targets[a + 1] >= -self.reach))
        low, s = low[cell], here.offset
        before = self._before(here, a, cell)
        under = np.minimum(np.searchsorted(s, low, "right"), before)
        rising = np.concatenate([[-np.inf], prefix(here.weight + self.rate * s)])
        falling = here.weight - self.rate * s
        climb = rising[under] - self.rate * low
        met = np.logaddexp(climb, between(falling, under, before) + self.rate * low)
        for b in range(a + 1, self.levels + 1):
            near = self.upto[cell] - self.targets[b] >= -self.reach
            cell, low, under, before, climb, met = (part[near] for part in (cell, low, under, before, climb, met))
            if not len(cell):
                break
            high = self.upto[cell] - self.targets[b]
            mass = (b - a) * self.log_mass[cell] - math.lgamma(b - a + 1)
            flat, tall = np.flatnonzero(high <= low), np.flatnonzero(high > low)
            arrived[b].append(States(high[flat], cell[flat], (mass + met - self.rate * (low - high))[flat]))
            over = np.searchsorted(s, high[tall])
            sink = between(falling, over, before[tall]) + self.rate * high[tall]
            arrived[b].append(States(low[tall], cell[tall], (mass + climb)[tall]))
            arrived[b].append(States(high[tall], cell[tall], mass[tall] + sink))
            count = np.maximum(np.minimum(over, before[tall]) - under[tall], 0)
            one = np.repeat(under[tall] - np.cumsum(count) + count, count) + np.arange(count.sum())
            arrived[b].append(States(s[one], np.repeat(cell[tall], count), np.repeat(mass[tall], count) + here.weight[one]))

    @cached_property
    def last(self) -> Floats:
        """The log-weights of the states of the last level, with the way back to zero."""
        return np.asarray(self.states[-1].weight - self.rate * np.abs(self.states[-1].offset))

    def draw(self, draw: Draw) -> tuple[PathVisit, ...]:
        """One path by its weight, from the last level back: always as many draws as there are levels, then as many again."""
        level, visits = self.levels, []
        at = draw(Categorical(chances(self.last)))
        for _ in range(self.levels):
            if level == 0:
                draw(Categorical(np.ones(1)))
                continue
            cell = int(self.states[level].cell[at])
            came, weight = self._origins(level, cell, int(self.states[level].offset[at]))
            chosen = draw(Categorical(chances(weight)))
            ends = np.cumsum([stop - start for start, stop in came])
            before = int(np.searchsorted(ends, chosen, "right"))
            visits.append(PathVisit(cell, level - before))
            level, at = before, came[before][1] + chosen - int(ends[before])
        return tuple(reversed(visits))

    def _origins(self, b: int, cell: int, offset: int) -> tuple[list[tuple[int, int]], Floats]:
        """For every earlier level the run of its states that lead here by a visit to this cell, and the log-weights of coming that way."""
        came, weights = [], []
        for a in range(b):
            s, weight = self.states[a].offset, self.states[a].weight
            low, high = int(self.below[cell]) - self.targets[a + 1], int(self.upto[cell]) - self.targets[b]
            start, stop = 0, int(self._before(self.states[a], a, np.array([cell]))[0]) if low <= self.reach else 0
            if not min(low, high) <= offset <= high:
                stop = 0
            elif high > low:
                start = int(np.searchsorted(s, offset)) if offset > low else 0
                stop = min(int(np.searchsorted(s, offset, "right")), stop) if offset < high else stop
            run = slice(start, max(start, stop))
            walk = np.abs(s[run] - offset) if high > low else np.abs(s[run] - low) + (low - high)
            came.append((run.start, run.stop))
            weights.append((b - a) * self.log_mass[cell] - math.lgamma(b - a + 1) + weight[run] - self.rate * walk)
        return came, np.concatenate(weights)
