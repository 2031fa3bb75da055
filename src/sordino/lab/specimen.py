"""Hostile neighbours for every mechanism, found by what it asks for: bimodal, all ties, all at the bounds, keys nobody else holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any

from sordino.errors import QueryError
from sordino.privacy.relation import Relation
from sordino.sensitivity import ScaleLadder
from sordino.summaries import Counts, Near, Nearness, RankWindow, Rung, Scores, Stair, Value
from sordino.summaries.moment import Gradient, Gram, Lengths
from sordino.summaries.totals import Values

__all__ = ["WIDE", "Specimen", "request_of", "specimens", "variant"]

WIDE = 1000  # the bounds of small columns
NARROW = 100  # of columns whose every point is drawn on its own
SEEN = Fraction(1, 20)  # a delta that shows in thousands of trials
CROWD = 2**11
SMALL = ("median", "max", "iqr")


@dataclass(frozen=True)
class Specimen:
    """Two neighbouring datasets, how to read them, and whether one holds a key the other never saw."""

    name: str
    d0: Any
    d1: Any
    options: dict[str, Any] = field(default_factory=dict)
    new_key: bool = False


class _Asked(Exception):
    def __init__(self, request: Any) -> None:
        self.request = request


def request_of(mechanism: Any) -> Any:
    """The first thing a mechanism asks for."""

    def ask(request: Any) -> Any:
        raise _Asked(request)

    try:
        mechanism.release(ask, lambda law: None)
    except _Asked as asked:
        return asked.request
    raise QueryError("SRD-105", f"{type(mechanism).__name__} asks for nothing.", "A mechanism asks for a summary first.")


def variant(mechanism: Any, epsilon: Fraction, *, narrow: bool = True) -> Any:
    """The same mechanism at another epsilon, with a delta that sampling can see and, if `narrow`, a grid that can be listed."""
    changes: dict[str, Any] = {"epsilon": epsilon} if hasattr(mechanism, "epsilon") else {}
    changes |= {f.name: None for f in fields(mechanism) if f.name == "beta" and f.default is None}  # it follows from epsilon
    if getattr(mechanism, "delta", 0):
        changes["delta"] = SEEN
    if narrow and hasattr(mechanism, "low") and hasattr(mechanism, "high"):
        changes |= {"low": -NARROW if mechanism.low < 0 else 0, "high": NARROW}
    return replace(mechanism, **changes)


def specimens(mechanism: Any) -> list[Specimen]:
    """Neighbours for this mechanism: its own, if it has `neighbours()`, otherwise by what it asks for.

    An unknown kind of question is an error: nothing may pass as audited that was not.
    """
    if hasattr(mechanism, "neighbours"):
        return [Specimen(*pair) for pair in mechanism.neighbours()]
    request = request_of(mechanism)
    if type(request) not in _KINDS:
        what = f"no neighbours are known for {type(mechanism).__name__}, which asks for {type(request).__name__}."
        raise QueryError("SRD-106", what, "Add them to sordino/lab/specimen.py.")
    return list(_KINDS[type(request)](mechanism, request))


def _values(mechanism: Any, request: Value) -> Iterator[Specimen]:
    size = request.dimension
    if not hasattr(mechanism, "sensitivity"):  # an answer of one person, among a few
        last = getattr(mechanism, "options", 2) - 1
        yield Specimen("one answer for another", 0, 1)
        yield Specimen("the last answer for the first", last, 0)
        return
    far = mechanism.sensitivity
    if hasattr(mechanism, "spread"):
        back = far - mechanism.spread
        here = [mechanism.threshold] * size
        yield Specimen("all at the threshold, apart", here, [v + (far if i % 2 else back) for i, v in enumerate(here)])
        yield Specimen("all at the threshold, together", here, [v + far for v in here])
        below = [mechanism.threshold - 2 * far] * (size - 1) + [mechanism.threshold + far]
        yield Specimen("the last one above", below, [*(v + far for v in below[:-1]), below[-1] + back])
        high = math.ceil(8 * max(mechanism.scales))  # only a threshold that is drawn high keeps the first ones below and reaches the last
        above = [mechanism.threshold + high] * (size - 1) + [mechanism.threshold]
        yield Specimen("the first ones high, the last one low", above, [*(v + far for v in above[:-1]), above[-1] + back])
        return
    for name, base in (("from zero", 0), ("below zero", -7 * far), ("far out", 10**6 * far)):
        if size == 1:
            yield Specimen(name, base, base + far)
        else:
            yield Specimen(f"{name}, one coordinate", [base] * size, [base + far, *[base] * (size - 1)])
    if size > 1 and far.denominator == 1 and not hasattr(mechanism, "delta"):  # an L1 sensitivity may be spread
        spread = [far.numerator // size + (i < far.numerator % size) for i in range(size)]
        yield Specimen("all coordinates", [0] * size, spread)


def _scores(mechanism: Any, _: Scores) -> Iterator[Specimen]:
    far, back = mechanism.sensitivity, 0 if mechanism.monotone else -mechanism.sensitivity
    more = max(0, getattr(mechanism, "k", 1) - 2)  # one candidate more than there are places
    yield Specimen("two ties", [5 * far, 5 * far, *[0] * (1 + more)], [5 * far + back, 6 * far, *[0] * (1 + more)])
    yield Specimen("a leader", [9 * far, *[0] * (2 + more)], [9 * far + back, *[far] * (2 + more)])
    yield Specimen("all ties", [0] * (5 + more), [far, *[back] * (4 + more)])
    if hasattr(mechanism, "k") and hasattr(mechanism, "rate"):  # drawn together: leaders far before a crowd that most sequences end in
        k, step = mechanism.k, mechanism.reach
        ways = [0] * (k - 2) + [1, 0 if mechanism.monotone else -1] + [1] * CROWD
        for name, before in (("leaders before a crowd", 1), ("leaders near a crowd", 2)):  # losses are cut, the sooner the higher the price
            gap = math.ceil((math.log(CROWD) + 9) / float(before * mechanism.rate)) + step
            still = [step + gap * (k - 1 - place) for place in range(k)] + [0] * CROWD
            yield Specimen(name, still, [score + far * way for score, way in zip(still, ways, strict=True)])


def _counts(mechanism: Any, _: Counts) -> Iterator[Specimen]:
    rows, keys = getattr(mechanism, "max_rows", 1), getattr(mechanism, "max_groups", 1)
    if getattr(mechanism, "total", None):  # as many full keys as a person has rows for
        keys = max(1, min(keys, mechanism.total // rows))
    named = list(getattr(mechanism, "keys", [f"k{i}" for i in range(2 * keys)]))
    mine, others = named[:keys], named[keys : 2 * keys]
    level = max(getattr(mechanism, "threshold", 0) - rows, 2 * rows)
    crowd = dict.fromkeys(named, level)
    if hasattr(mechanism, "sure_from"):  # where keys are about as likely named as not
        some = dict.fromkeys(named, max(1, mechanism.sure_from // 3))
        gone = others if mechanism.relation is Relation.REPLACE else ()
        sides = [some | {key: some[key] + 1 for key in more} for more in (gone, mine)]
        yield Specimen("keys that are named or not", sides[0], sides[1])
    if hasattr(mechanism, "least_lead"):
        yield from _leads(mechanism)
    if mechanism.relation is Relation.REPLACE:
        moved = {key: level + (rows if key in mine else 0) for key in named}
        yield Specimen("rows that change keys", moved, {key: level + (rows if key in others else 0) for key in named})
        few = min(len(mine), len(others)) or 1
        yield Specimen("rows that leave", dict.fromkeys(mine[:few], rows), dict.fromkeys(others[:few], rows), new_key=True)
        yield Specimen("all ties", crowd | {mine[0]: level + rows}, crowd | {named[-1]: level + rows})
        return
    yield Specimen("a person more in every key", crowd, {key: level + (rows if key in mine else 0) for key in named})
    yield Specimen("keys nobody else holds", {}, dict.fromkeys(mine, rows), new_key=True)
    yield Specimen("a lead of one", {named[0]: level + 1, named[-1]: level}, {named[0]: level + 1, named[-1]: level + rows})


def _leads(mechanism: Any) -> Iterator[Specimen]:
    """The last of the winners leads by a few people, and by one more."""
    rows, replaced = mechanism.max_rows, mechanism.relation is Relation.REPLACE
    for near in range(4):
        ahead, behind = (1 + 2 * near) * rows + 1, rows if replaced else 0
        first = {f"k{i}": 10**6 for i in range(mechanism.k - 1)}
        lead = ahead if replaced else near * rows + 1
        yield Specimen(f"a lead of {near} people", {**first, "last": lead, "next": behind}, {**first, "last": lead + rows, "next": 0})


def _columns(top: int, relation: Relation, rows: int) -> Iterator[tuple[str, list[int], list[int]]]:
    low, high = [0] * 5 * rows, [top] * 5 * rows
    swap = relation is Relation.REPLACE
    yield "bimodal", [*low, *high, *([0] * rows if swap else [])], [*low, *high, *[top] * rows]
    yield "all ties", [top // 2] * 9 + [top // 2] * (rows if swap else 0), [top // 2] * 9 + [0] * rows
    yield "all at a bound", [0] * 6 + [0] * (rows if swap else 0), [0] * 6 + [top] * rows
    yield "nearly nobody", [0] * rows if swap else [], [top] * rows


def _ranks(mechanism: Any, _: RankWindow | Values) -> Iterator[Specimen]:
    for name, d0, d1 in _columns(mechanism.high, mechanism.relation, mechanism.max_rows):
        yield Specimen(name, d0, d1)
    yield from _beside(mechanism)
    apart = list(range(0, mechanism.high, mechanism.high // 15))
    yield Specimen("spread out", [*apart, 1] if mechanism.relation is Relation.REPLACE else apart, [*apart, mechanism.high])


def _beside(mechanism: Any) -> Iterator[Specimen]:
    """A heap beside each end, and somebody who joins at the end itself or moves there: the pair that attains most quantiles' price."""
    low, high, more = mechanism.low, mechanism.high, mechanism.max_rows
    if hasattr(mechanism, "rank"):
        yield from _between(mechanism)
    levels = getattr(mechanism, "levels", None) or (getattr(mechanism, "q", Fraction(1, 2)),)
    inner = [min(max(q, Fraction(1, 100)), Fraction(99, 100)) for q in levels]
    heap = math.ceil(more * max(max(q / (1 - q), (1 - q) / q) for q in inner)) + 1
    sizes = {"a heap": heap} if not hasattr(mechanism, "rank") else {"a heap": 2 * mechanism.rank + 2 * more, "a few": 2 * more + 1}
    for end, near, far in ((low, low + 1, high), (high, high - 1, low)):
        gone, where = [far] * more if mechanism.relation is Relation.REPLACE else [], "the bottom" if end == low else "the top"
        for name, size in sizes.items():
            yield Specimen(f"{name} beside {where}", [near] * size + gone, [near] * size + [end] * more)


def _between(mechanism: Any) -> Iterator[Specimen]:
    """The rank's own rows at one end or beside it, as many at the other end: all points between are pushed away, the end comes nearer."""
    m, r, (low, high) = mechanism.max_rows, mechanism.rank, (mechanism.low, mechanism.high)
    for where, end, near, far in (("the bottom", low, low + 1, high), ("the top", high, high - 1, low)):
        still = [end] * max(0, r - m - 1) + [near] * min(r, m + 1) + [far] * r
        gone = [far] * m if mechanism.relation is Relation.REPLACE else []
        yield Specimen(f"as many as the rank at {where}", still + gone, still + [end] * m)


def _vectors(mechanism: Any, _: Stair) -> Iterator[Specimen]:
    """Two places of a vector on one ladder: as far apart as the narrower scale allows, on the same rung or on the next."""
    steps = ScaleLadder(mechanism.beta, WIDE)
    scales = tuple(steps.scale(j) for j in range(steps.last + 1))
    middle, nobody = len(scales) // 2, (0,) * (mechanism.dimension - 1)
    for name, index in (("the same rung", middle), ("the next rung", middle + 1)):
        moved = (math.floor(scales[middle]), *nobody)
        yield Specimen(name, Rung((0, *nobody), middle, scales), Rung(moved, index, scales))  # type: ignore[arg-type]


def _rows(mechanism: Any, _: Gram | Gradient | Lengths) -> Iterator[Specimen]:
    """Rows of coordinates with the target last: corners, and a person in the corner that moves every product most."""
    width, more = mechanism.dimension, mechanism.max_rows
    corners = [[1.0 if (i >> k) % 2 else -1.0 for k in range(width)] for i in range(12)]
    swap = Relation.of(mechanism.relation) is Relation.REPLACE
    for name, one, other in (("opposite corners", -1.0, 1.0), ("nothing for everything", 0.0, 1.0)):
        gone = [[one] * width] * more if swap else []
        yield Specimen(name, [*corners, *gone], [*corners, *[[other] * width] * more])
    yield Specimen("nearly nobody", [[0.0] * width] * more if swap else [], [[1.0] * width] * more)
    if swap:  # the products that change sign are most when half of the factors do; with the target alone its own products
        for name, turned in (("half of the signs", width // 2), ("the sign of the target", 1)):
            yield Specimen(f"{name} turned", [[1.0] * width] * more, [[1.0] * (width - turned) + [-1.0] * turned] * more)


def _ladder(mechanism: Any, request: Stair | Nearness) -> Iterator[Specimen]:
    if hasattr(mechanism, "dimension"):
        assert isinstance(request, Stair)
        yield from _vectors(mechanism, request)
        return
    if isinstance(request, Nearness) and request.above is None:
        for near in (0, 1, 3, 6):
            yield Specimen(f"distance {near} and {near + 1}", Near(near, "x"), Near(near + 1, "x"))
        yield Specimen("another answer at distance 0", Near(0, "x"), Near(0, "y"))
        return
    if isinstance(request, Nearness):
        yield from _proposed(mechanism)
    for relation in Relation:
        for statistic in SMALL:
            options = {"statistic": statistic, "bounds": (0, WIDE), "resolution": _resolution(mechanism), "relation": relation.value}
            for name, d0, d1 in _columns(WIDE, relation, 1):
                if statistic == "median" or name == "bimodal":
                    yield Specimen(f"{statistic}, {name}, {relation.value}", d0, d1, options)


def _proposed(mechanism: Any) -> Iterator[Specimen]:
    """Somebody moves the median by exactly what was proposed, on tables that are ever farther from one where more is possible."""
    options = {"statistic": "median", "bounds": (0, WIDE), "resolution": _resolution(mechanism), "relation": Relation.ADD_REMOVE.value}
    for size in (1, 2, 3):
        rows = [0] * size + [math.floor(mechanism.propose)] * size
        yield Specimen(f"median, {size} at either end of the proposed step", rows, [*rows, rows[-1]], options)
        yield Specimen(f"median, {size} at either end of the proposed step, one beyond", rows, [*rows, 2 * rows[-1]], options)
    if hasattr(mechanism, "ladder"):  # the last proposal is half as far from its end as passes at this price, all others are too small
        last = math.floor(max(bound for bound in mechanism.ladder if 2 * bound <= WIDE))
        for size in range(mechanism.threshold // 4, mechanism.threshold // 4 + 3):
            rows = [0] * size + [last] * size
            yield Specimen(f"median, {size} at either end of the last step that fits", rows, [*rows, last], options)


def _resolution(mechanism: Any) -> Fraction:
    """A grid coarse enough to list, and no coarser than a proposed bound."""
    return Fraction(max(1, math.floor(min(getattr(mechanism, "propose", 10), 10))))


_KINDS: dict[type, Callable[[Any, Any], Iterator[Specimen]]] = {
    Value: _values,
    Scores: _scores,
    Counts: _counts,
    RankWindow: _ranks,
    Values: _ranks,
    Stair: _ladder,
    Nearness: _ladder,
    Gram: _rows,
    Gradient: _rows,
    Lengths: _rows,
}
