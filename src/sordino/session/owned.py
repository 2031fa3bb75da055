"""One draw on data you own: the mechanism gets its questions answered from an array instead of a table, and no ledger is charged."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.mechanisms import RandomizedResponse
from sordino.noise import draw
from sordino.privacy.number import as_bounds, as_positive
from sordino.sensitivity import ScaleLadder, average, position
from sordino.sensitivity.distance import canonical
from sordino.sensitivity.order import rank
from sordino.session.card import Card
from sordino.session.release import Paid, Release
from sordino.summaries import Counts, Draw, KeyWeights, Near, Nearness, RankWindow, Rung, Scores, Stair, Tally, Value
from sordino.summaries.array_table import answer, quantised
from sordino.summaries.moment import ONE, Gradient, Gram, Lengths, Outer
from sordino.summaries.records import Records, of_coordinates
from sordino.summaries.request import rank_window, weight_of
from sordino.summaries.totals import Sorted, Values

__all__ = ["Owned", "owned", "release"]

STATISTICS = ("median", "quantile", "min", "max", "iqr", "trimmed_mean", "winsorized_mean")


@dataclass(frozen=True)
class Owned:
    """An array, or a statistic of one, that answers a mechanism's requests."""

    data: Any
    statistic: str | None = None
    bounds: Any = None
    relation: str = "add_remove"
    max_rows: int = 1
    resolution: Any = None
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, request: Any) -> Any:
        match request:
            case Value():
                return _steps(self.data, request)
            case Scores():
                return _whole(self.data)
            case Counts():
                return _tally(self.data)
            case KeyWeights():
                return _weighed(self.data, request)
            case RankWindow():
                low, high = (int(b) for b in as_bounds(self.bounds))
                x = np.sort(np.floor(np.clip(_numbers(self.data), low, high)).astype(np.int64))
                return rank_window(x, request.q, request.radius, low, high)
            case Values():
                low, high = (int(b) for b in as_bounds(self.bounds))
                x = np.sort(np.floor(np.clip(_numbers(self.data), low, high)).astype(np.int64))
                return Sorted(x, len(x))
            case Gram() | Gradient() | Lengths() | Outer():
                return answer(_coordinates(self.data, len(request.terms)), request)
            case Records():
                return of_coordinates(_coordinates(self.data, len(request.columns)))
            case Stair():
                return self.data if isinstance(self.data, Rung) else self._rung(request.beta)
            case Nearness():
                return self._near(request.above)
        raise QueryError("SRD-105", f"the data cannot answer {type(request).__name__}.", "Use a mechanism that fits the data.")

    def _grid(self) -> tuple[Fraction, int, int]:
        """The public grid step and the bounds in steps."""
        if self.bounds is None:
            raise QueryError("SRD-104", "bounds are missing.", "Give bounds=(low, high) from public knowledge, never from the data.")
        low, high = as_bounds(self.bounds)
        if self.resolution is None:
            step = Fraction(2) ** (math.floor(math.log2(high - low)) - 48)
        else:
            step = as_positive(self.resolution, "resolution")
        return step, math.floor(low / step), math.floor(high / step)

    def _column(self) -> tuple[NDArray[np.int64], Fraction, int, int]:
        """The values as whole steps above the lower bound, sorted and clamped."""
        step, low, high = self._grid()
        if high - low >= 2**61:
            raise QueryError("SRD-103", "the grid has too many points.", "Give a coarser resolution or narrower bounds.")
        x = np.clip(_numbers(self.data), float(low * step), float(high * step))
        return np.sort(np.clip(np.floor(x / float(step)).astype(np.int64) - low, 0, high - low)), step, low, high

    def _statistic(self) -> tuple[int, Any, Fraction, int, int, int]:
        """The statistic in steps, its ladder of rungs, the step, its range in steps, and what the released sum is divided by."""
        x, step, low, high = self._column()
        name, n, top = self.statistic, len(x), high - low
        options: dict[str, Any] = {"bounds": (0, top), "relation": self.relation, "max_rows": self.max_rows}
        if name in ("trimmed_mean", "winsorized_mean"):
            trim = self.parameters.get("trim", n // 10)
            ladder = (average.trimmed_sum if name == "trimmed_mean" else average.winsorized_sum)(x, trim=trim, **options)
            kept = x[trim : n - trim]
            extra = trim * (int(x[trim]) + int(x[n - trim - 1])) if name == "winsorized_mean" else 0
            size = n if name == "winsorized_mean" else n - 2 * trim
            return int(kept.sum()) + extra, ladder, step, low * size, top * size, size
        if name == "iqr":
            ladder = position.iqr(x, **options)
            f = int(x[rank("0.75", n) - 1] - x[rank("0.25", n) - 1]) if n else 0
            return f, ladder, step, 0, top, 1
        levels: dict[str | None, Any] = {"median": "0.5", "min": "0", "max": "1", "quantile": self.parameters.get("q", "0.5")}
        if name not in levels:
            raise QueryError("SRD-106", f"statistic {name!r} is unknown here.", f"Use one of {', '.join(STATISTICS)}.")
        q = levels[name]
        ladder = getattr(position, str(name))(x, **({"q": q} if name == "quantile" else {}), **options)
        return (int(x[rank(q, n) - 1]) if n else 0), ladder, step, low, top, 1

    def _rung(self, beta: Fraction) -> Rung:
        f, ladder, step, offset, top, size = self._statistic()
        scales = ScaleLadder(beta, int(ladder.top))
        index = scales.index(ladder.rungs(scales.least_window))
        public = tuple(scales.scale(j) for j in range(scales.last + 1))
        return Rung(f + offset, index, public, offset, offset + top, step / size)

    def _near(self, above: Fraction | None) -> Near:
        if isinstance(self.data, Near):
            return self.data
        if above is None:
            what = "no distance to instability is known for these data."
            raise QueryError("SRD-109", what, "Pass Near(distance, value), or use StableMode for a mode or top-k.")
        f, ladder, step, offset, top, size = self._statistic()
        distance = ladder.distance(int(above * size // step))
        return Near(10**9 if math.isinf(distance) else int(distance), f + offset, int(ladder.top), offset, offset + top, step / size)


def _numbers(data: Any) -> NDArray[np.float64]:
    try:
        x = np.asarray(data, float).ravel()
    except OverflowError:  # whole numbers beyond the doubles: the bounds will clamp them
        return _numbers([min(max(v, -(2**1000)), 2**1000) for v in np.asarray(data, object).ravel().tolist()])
    except (TypeError, ValueError):
        raise QueryError("SRD-105", "the data are not numbers.", "Give numbers.") from None
    if np.isnan(x).any():
        raise QueryError("SRD-105", "the data contain NaN.", "Drop or replace missing values first.")
    return x


def _coordinates(data: Any, width: int) -> NDArray[np.float64]:
    """Rows of numbers in [-1, 1], the target last, as whole coordinates behind a constant; what is outside is clamped."""
    rows = np.asarray(data, float)
    rows = rows.reshape(len(rows), -1) if len(rows) else np.empty((0, width))
    return np.column_stack([np.full(len(rows), float(ONE)), quantised(rows, -1.0, 1.0)])


def _whole(data: Any) -> NDArray[np.int64]:
    x = _numbers(data)
    if not np.all(x == np.floor(x)) or np.any(np.abs(x) >= 2**53):
        raise QueryError("SRD-105", "scores and counts must be whole numbers.", "Multiply them to whole numbers and scale the sensitivity.")
    return x.astype(np.int64)


def _steps(data: Any, request: Value) -> int | NDArray[np.int64]:
    x = _numbers(data)
    if len(x) != request.dimension:
        raise QueryError("SRD-105", f"{len(x)} numbers for a mechanism of dimension {request.dimension}.", "Set dimension= to match.")
    if request.dimension > 1 and request.step == 1:
        return _whole(data)
    if not np.all(np.abs(x) <= float(2**61 * request.step)):
        raise QueryError("SRD-105", "a value is infinite or does not fit the grid.", "Clamp values to public bounds first.")
    # not through doubles: beyond 2^53 they would move neighbouring whole numbers two steps apart
    given = np.asarray(data, object).ravel().tolist()
    exact = [math.floor(Fraction(v) / request.step + Fraction(1, 2)) for v in given]
    return exact[0] if request.dimension == 1 else np.array(exact, np.int64)


def _spelled(key: Hashable) -> Hashable:
    """One spelling for keys that compare equal (1, 1.0, True), by the row alone: the first row must not choose the name of the others."""
    plain = key.item() if isinstance(key, np.generic) else key
    if isinstance(plain, str):
        return str.__str__(plain)
    if isinstance(plain, int):
        return int(plain)
    if isinstance(plain, float | Fraction | Decimal):
        number = float(plain)
        if math.isnan(number):
            return math.nan  # one object, so that all of them are one key
        return int(number) if number.is_integer() else number
    return plain


def _weighed(data: Any, request: KeyWeights) -> Tally:
    """The weights of keys held by people, each given as a collection of their keys."""
    from sordino.sensitivity.distance import canonical

    weights: dict[Any, int] = {}
    for person in data:
        mine = set(person) - set(request.without)
        for key in mine:
            weights[key] = weights.get(key, 0) + weight_of(len(mine))
    keys = tuple(sorted(weights, key=canonical))
    return Tally(keys, np.array([weights[key] for key in keys], np.int64))


def _tally(data: Any) -> Tally:
    held: Counter[Hashable] = Counter()
    for key, count in data.items() if isinstance(data, Mapping) else zip(data, repeat(1), strict=False):
        held[_spelled(key)] += int(count)
    keys = tuple(sorted(held, key=canonical))
    return Tally(keys, np.array([held[key] for key in keys], np.int64))


def owned(mechanism: Any, data: Any, **options: Any) -> Owned:
    """The data as this mechanism may ask for them. What the mechanism says itself (relation, max_rows, bounds) cannot be said otherwise."""
    names = ("statistic", "bounds", "relation", "max_rows", "resolution")
    known: dict[str, Any] = {name: options.pop(name) for name in names if name in options}
    for name in options.keys() - {"q", "trim"}:
        raise QueryError("SRD-106", f"option {name!r} is unknown.", f"Give {', '.join(names)}, q or trim.")
    own = {name: getattr(mechanism, name) for name in ("relation", "max_rows") if hasattr(mechanism, name)}
    if hasattr(mechanism, "low") and hasattr(mechanism, "high"):
        own["bounds"] = (mechanism.low, mechanism.high)
    for name, value in own.items():
        if known.setdefault(name, value) != value:
            what = f"{name} is {known[name]!r} here and {value!r} in the mechanism."
            raise QueryError("SRD-103", what, f"Give {name} to the mechanism only.")
    return Owned(data, **known, parameters=options)


def release(mechanism: Any, data: Any, *, draw: Draw = draw, **options: Any) -> Release:
    """Draw once from a mechanism on data you own. Nothing is charged to any ledger, and the card says so.

    >>> import sordino as sd
    >>> from sordino.mechanisms import Laplace
    >>> sd.release(Laplace(epsilon=1, sensitivity=1), 42).cost.epsilon
    1.0
    """
    ask = owned(mechanism, data, **options)
    if isinstance(mechanism, RandomizedResponse) and mechanism.epsilon == 0:
        return _pure_chance(mechanism, mechanism.release(ask, draw))
    certificate = mechanism.certificate()
    value = mechanism.release(ask, draw)
    name = type(mechanism).__name__
    facts = {"mechanism": name, "theorem": certificate.theorem, "assumes": certificate.assumptions}
    price = {"epsilon": str(certificate.cost.epsilon), "delta": str(certificate.cost.delta), "ledger": "not charged to any ledger"}
    return Release({"value": [value]}, {}, ("value",), Paid(certificate.cost), name, card=Card(facts | price))


@dataclass(frozen=True)
class _Nothing(Paid):
    """The price of pure chance: no exact cost, because a cost is positive and this is none."""

    exact: Any = None

    @property
    def epsilon(self) -> float:
        return 0.0

    @property
    def delta(self) -> float:
        return 0.0

    def __str__(self) -> str:
        return "epsilon 0"


def _pure_chance(mechanism: RandomizedResponse, value: Any) -> Release:
    """A report whose law is the same for every answer. It tells nothing, so no ledger hears of it."""
    told = "no information: every report is equally likely whatever the answer is"
    facts = {"mechanism": "RandomizedResponse", "theorem": mechanism.theorem, "information": told}  # type: ignore[attr-defined]
    price = {"epsilon": "0", "delta": "0", "ledger": "not charged to any ledger"}
    return Release({"value": [value]}, {}, ("value",), _Nothing(), "RandomizedResponse", card=Card(facts | price))
