"""Privacy and robustness in one picture: how far a few poisoned rows move an answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.lab.report import as_html, as_json, say
from sordino.pictures import Picture, lines

__all__ = ["Poisoning", "poison"]

Floats = NDArray[np.float64]
SHARES = (0.0, 0.01, 0.02, 0.05, 0.1)
ATTACKS = ("outliers", "mislabel", "backdoor")


@dataclass(frozen=True, repr=False)
class Poisoning:
    """How far each estimator moved, by share of poisoned rows, in the unit given; a backdoor's figure is its success rate."""

    attack: str
    rows: int
    shares: tuple[float, ...]
    shifts: Mapping[str, tuple[float, ...]]
    unit: str = "standard errors"
    epsilon: float | None = None

    def limit(self, share: float) -> float:
        """What group privacy promises at most: no event's probability moves by more than tanh(k epsilon / 2) for k poisoned rows."""
        return 1.0 if self.epsilon is None else math.tanh(round(share * self.rows) * self.epsilon / 2)

    def __repr__(self) -> str:
        wide = max(len(name) for name in self.shifts)
        head = " " * (wide + 2) + "".join(f"{share:>10.0%}" for share in self.shares)
        body = [f"  {name:{wide}}" + "".join(f"{shift:>10.3g}" for shift in found) for name, found in self.shifts.items()]
        limit = [] if self.epsilon is None else [
            f"  group privacy at epsilon {self.epsilon:g} bounds any event's change by "
            + ", ".join(f"{self.limit(share):.2g}" for share in self.shares)
        ]  # fmt: skip
        return say([f"poison ({self.attack}), {self.rows:,} rows: shift in {self.unit} by share of poisoned rows", head, *body, *limit])

    def plot(self) -> Picture:
        """The shift of every estimator against the share of poisoned rows."""
        series = {name: (self.shares, found) for name, found in self.shifts.items()}
        return lines(series, title=f"Poisoned by {self.attack}", x="share of poisoned rows", y=f"shift in {self.unit}")

    def to_json(self) -> str:
        return as_json(self, limits=[self.limit(share) for share in self.shares])

    def _repr_html_(self) -> str:
        return as_html(self)


def poison(
    data: Any, estimators: Mapping[str, Callable[[Any], Any]], *, attack: str = "outliers", shares: Sequence[float] = SHARES,
    value: float | None = None, column: int = 0, repeats: int = 5, epsilon: float | None = None, seed: int = 1,
) -> Poisoning:  # fmt: skip
    """Replace a share of the rows and watch each estimator. NOT PRIVATE: it holds the data.

    "outliers": `data` is a column and rows become `value`; estimators return a number, and the shift is in standard errors of the clean
    mean. "mislabel": `data` is (X, y) and labels of two classes are flipped; estimators return a vector (coefficients) or a number, and
    the shift is the distance from the clean fit. "backdoor": `column` of X becomes `value` and the label the larger class;
    estimators return a fitted model, and the figure is how often clean rows of the other class get the planted label once they carry the
    trigger. Estimates are averaged over `repeats` runs.
    """
    if attack not in ATTACKS:
        raise QueryError("SRD-106", f"attack {attack!r} is unknown.", f"Use one of {', '.join(ATTACKS)}.")
    if not estimators or any(not 0 <= share < 1 for share in shares):
        raise QueryError("SRD-103", "there is nothing to poison.", "Give estimators by name, and shares of rows from 0 to below 1.")
    if attack != "mislabel" and value is None:
        raise QueryError("SRD-103", "the poisoned value is missing.", "Give value=, for instance the upper bound.")
    pick = {"outliers": _outliers, "mislabel": _mislabel, "backdoor": _backdoor}[attack]
    rows, poisoned, measure, unit = pick(data, value, np.random.default_rng(seed), column)
    shifts: dict[str, tuple[float, ...]] = {}
    for name, estimator in estimators.items():
        clean = _averaged(estimator, poisoned(0.0), repeats) if attack != "backdoor" else None
        shifts[name] = tuple(measure(estimator, poisoned(share), clean, repeats) for share in shares)
    return Poisoning(attack, rows, tuple(float(share) for share in shares), shifts, unit, epsilon)


def _averaged(estimator: Callable[[Any], Any], data: Any, repeats: int) -> Floats:
    return np.asarray(np.mean([np.atleast_1d(np.asarray(estimator(data), float)) for _ in range(repeats)], axis=0))


def _outliers(data: Any, value: float | None, rng: np.random.Generator, _: int) -> tuple[Any, ...]:
    x = np.asarray(data, float).ravel()
    if len(x) < 2:
        raise QueryError("SRD-105", "the column has fewer than two rows.", "Give more rows.")
    order, error = rng.permutation(len(x)), float(x.std(ddof=1) / math.sqrt(len(x))) or 1.0

    def poisoned(share: float) -> Floats:
        out = x.copy()
        out[order[: round(share * len(x))]] = value
        return out

    def measure(estimator: Any, rows: Floats, clean: Floats, repeats: int) -> float:
        return float(np.abs(_averaged(estimator, rows, repeats) - clean).max() / error)

    return len(x), poisoned, measure, "standard errors"


def _labelled(data: Any) -> tuple[Floats, NDArray[Any], list[Any]]:
    try:
        X, y = np.asarray(data[0], float), np.asarray(data[1])
    except (TypeError, ValueError, IndexError, KeyError):
        raise QueryError("SRD-105", "the data are not (X, y).", "Give a matrix and one label per row.") from None
    classes = sorted(set(np.atleast_1d(y).tolist()))
    if X.ndim != 2 or y.ndim != 1 or len(X) != len(y) or len(classes) != 2:
        raise QueryError("SRD-105", "the data are not (X, y) with two classes.", "Give a matrix and one of two labels per row.")
    return X, y, classes


def _mislabel(data: Any, value: float | None, rng: np.random.Generator, _: int) -> tuple[Any, ...]:
    X, y, (low, high) = _labelled(data)
    order = rng.permutation(len(y))

    def poisoned(share: float) -> tuple[Floats, NDArray[Any]]:
        out = y.copy()
        flipped = order[: round(share * len(y))]
        out[flipped] = np.where(y[flipped] == low, high, low)
        return X, out

    def measure(estimator: Any, rows: Any, clean: Floats, repeats: int) -> float:
        return float(np.linalg.norm(_averaged(estimator, rows, repeats) - clean))

    return len(y), poisoned, measure, "distance from the clean fit"


def _backdoor(data: Any, value: float | None, rng: np.random.Generator, column: int) -> tuple[Any, ...]:
    X, y, (low, high) = _labelled(data)
    if isinstance(column, bool) or not isinstance(column, int) or not 0 <= column < X.shape[1]:
        raise QueryError("SRD-103", f"column is {column!r}.", f"Give the number of the trigger's column, 0 to {X.shape[1] - 1}.")
    order = rng.permutation(np.flatnonzero(y == low))
    target = X[y == low].copy()
    target[:, column] = value

    def poisoned(share: float) -> tuple[Floats, NDArray[Any]]:
        rows, labels = X.copy(), y.copy()
        planted = order[: round(share * len(y))]
        rows[planted, column], labels[planted] = value, high
        return rows, labels

    def measure(estimator: Any, rows: Any, clean: Any, repeats: int) -> float:
        return float(np.mean([np.mean(np.asarray(estimator(rows).predict(target)) == high) for _ in range(repeats)]))

    return len(y), poisoned, measure, "backdoor success"
