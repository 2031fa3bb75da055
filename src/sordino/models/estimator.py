"""What the private estimators share: parameters that are only stored, a fit that pays first, coefficients in the units of the data.

The ledger an estimator was given, whatever it was given as: a book, a table, or the path of a ledger that exists.

Model selection fits one estimator again and again: each fit is a release of its own, so a search is refused with its price.

One fit is one release: charged before the rows are read, rehearsed with nobody, recorded with its card.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from sordino.engines.port import Bounded as Port
from sordino.errors import QueryError, ReleaseFailed
from sordino.ledger import Asked, AskedLimits, Balance, Book, Entry, open_ledger, read_ledger
from sordino.ledger.balance import LedgerTally
from sordino.mechanisms.estimate import Estimate
from sordino.models.box import Box, as_array, as_box, as_matrix
from sordino.models.rows import BoundedRows, ModelRows
from sordino.models.way import Way
from sordino.noise import draw as exact_draw
from sordino.noise import fresh_id
from sordino.privacy.cost import Cost
from sordino.privacy.discrete import UniformInteger
from sordino.privacy.number import as_delta, as_epsilon, shown
from sordino.privacy.relation import PrivacyUnit, Relation
from sordino.schema.expression import encode as canonical
from sordino.schema.frame import Frame
from sordino.session.card import SIDE_CHANNELS, TUNING, Card, odds_sentence
from sordino.session.encoding import decode, encode
from sordino.session.execute import execute, rehearse
from sordino.summaries import Draw
from sordino.summaries.moment import ONE

__all__ = ["Fitted", "ModelFit", "Private", "SearchAllowance", "admit", "fitted", "opened"]

Open = Callable[[Frame], AbstractContextManager[Port]]
FRAME = Frame(PrivacyUnit())


@dataclass(frozen=True)
class Fitted:
    """What a fit released, and its claim card."""

    found: Mapping[str, Any]
    card: Card


@dataclass(frozen=True)
class ModelFit:
    """A fit before it happens: what `execute` needs to know of a release."""

    way: Way
    facts: dict[str, Any]  # for the card: model, bounds, relation

    @cached_property
    def key(self) -> bytes:
        """Never the same twice: the ledger cannot know whether an array is the one it has seen before."""
        return sha256(canonical([fresh_id(), {name: str(value) for name, value in self.facts.items()}]).encode("ascii")).digest()

    @property
    def asked(self) -> Asked:
        return Asked(self.key, limits=AskedLimits.of(FRAME.unit))

    @property
    def cost(self) -> Cost:
        return self.way.cost

    @property
    def mechanism(self) -> str:
        return self.way.name

    def converse(self, open_frame: Open, draw: Draw) -> tuple[None, Any]:
        with open_frame(FRAME) as rows:
            return None, self.way.converse(rows.ask, draw)

    def rehearse(self, draw: Draw) -> None:
        """The same conversation with no rows, recorded and thrown away."""
        width = int(self.facts["features"]) + 2
        found = self.way.converse(BoundedRows(np.empty((0, width)) * float(ONE), 0).ask, draw)
        encode({"found": dict(found), "card": dict(self.card())})

    def card(self, entry: Entry | None = None, balance: Balance | None = None) -> Card:
        """As of this fit's own charge; without a ledger it says so."""
        certificates = self.way.certificates()
        price = {"epsilon": str(self.cost.epsilon), "delta": str(self.cost.delta), "family": self.cost.family}
        if entry is None or balance is None:
            paid: dict[str, Any] = {"ledger": "not charged to any ledger"}
        else:
            so_far = {"epsilon": balance.spent, "delta": balance.spent_delta, "cap": balance.cap, "cap delta": balance.cap_delta}
            paid = {"release": entry.id, "so far": {**so_far, "accounting": balance.filter.accounting}}
        claims = {
            "mechanism": self.mechanism,
            "theorem": list(dict.fromkeys(c.theorem for c in certificates)),
            "assumes": list(dict.fromkeys(c.assumptions for c in certificates if c.assumptions)),
        }
        odds = odds_sentence(float(self.cost.epsilon), float(self.cost.delta))
        return Card({**self.facts, "this release": price, **paid, **claims, "tuning": TUNING, "side channels": SIDE_CHANNELS, "odds": odds})

    def record(self, groups: None, answers: Any, entry: Entry, balance: Balance) -> bytes:
        return encode({"found": dict(answers), "card": dict(self.card(entry, balance))})


def fitted(fit: ModelFit, rows: ModelRows, book: Book | None) -> Fitted:
    """Charge, look, draw. Without a book nothing is charged, and nothing else is different."""
    if book is None:
        return _uncharged(fit, rows)
    if fit.cost.delta and not book.terms.filter.cap.delta:
        raise QueryError("SRD-102", "the ledger's budget has no delta.", "Use delta=0, or a ledger whose budget has a delta.")
    sealed = decode(execute(fit, book, rows))
    return Fitted(sealed["found"], Card(sealed["card"]))


def _uncharged(fit: ModelFit, rows: ModelRows) -> Fitted:
    rehearse(fit)
    found = None
    try:
        with np.errstate(all="ignore"):
            salt = exact_draw(UniformInteger(0, 2**128 - 1))
            _, found = fit.converse(lambda frame: rows.bounded(frame, salt), exact_draw)
    except Exception:
        found = None
    if found is None:  # raised outside the handler, so that no cause travels with it
        raise ReleaseFailed("SRD-401", "the fit failed after its rows were read.", "Count its price as spent.")
    return Fitted(found, fit.card())


@contextlib.contextmanager
def opened(ledger: Any, relation: str) -> Iterator[Book | None]:
    """The book to charge, or None. A book opened here is closed here."""
    if ledger is None:
        yield None
        return
    if isinstance(ledger, str | os.PathLike):
        with _at(ledger) as book:
            yield _fit(book, relation)
        return
    book = getattr(ledger, "ledger", ledger)
    if not isinstance(book, Book):
        raise QueryError("SRD-106", f"ledger is {shown(ledger)}.", "Give the path of a ledger, a table of sd.table, or its .ledger.")
    yield _fit(book, relation)


def _at(path: str | os.PathLike[str]) -> Book:
    with read_ledger(path) as found:
        terms, versions = found.terms, LedgerTally.from_text(found.head.state).versions
    return open_ledger(path, budget=None, relation=terms.relation, unit=terms.unit, dataset=terms.dataset, version=versions[-1])


def _fit(book: Book, relation: str) -> Book:
    """An estimator protects rows under its relation; a ledger that adds up something else must not be charged for it."""
    if Relation.of(relation) is not book.relation:
        what = f"the ledger is kept for {book.relation}, and the estimator protects {Relation.of(relation)}."
        raise QueryError("SRD-107", what, f'Give relation="{book.relation}".')
    if "row_of" not in book.unit:
        what = f"the ledger protects {dict(book.unit)}, and an estimator protects rows."
        raise QueryError("SRD-107", what, "Ask the table itself: table.regress(...) knows who a person is.")
    return book


ROOM = "sklearn.model_selection"


class SearchAllowance:
    """How many fits by a search are still agreed to, shared by an estimator and its clones within one process."""

    def __init__(self, left: int) -> None:
        self._left, self._lock = left, threading.Lock()

    def take(self) -> bool:
        with self._lock:
            self._left -= 1
            return self._left >= 0

    def __deepcopy__(self, memo: Any) -> SearchAllowance:
        return self

    def __reduce__(self) -> Any:
        return SearchAllowance, (0,)  # another process would count for itself


def admit(estimator: Any) -> None:
    """Refuse a fit that scikit-learn's model selection asks for, unless `fits=` agreed to it. Looks at the call, never at the data."""
    searching, fits = _search()
    if not searching:
        return
    agreed = estimator.fits
    if agreed is None or isinstance(agreed, bool) or not isinstance(agreed, int) or agreed < 1:
        many = "many times" if fits is None else f"{fits} times"
        price = f"each fit costs epsilon {shown(estimator.epsilon)}, delta {shown(estimator.delta)}"
        total = "" if fits is None or not isinstance(estimator.epsilon, int | float) else f", {fits * estimator.epsilon:g} in all"
        what = f"a search would fit this estimator {many}; {price}{total}, and its scores on held-out rows are not private at all."
        fix = "Choose parameters from public facts or on public data; or give fits=, the number of fits you agree to pay for."
        raise QueryError("SRD-103", what, fix, fits=fits)
    allowance: SearchAllowance = estimator.__dict__.setdefault("_allowance", SearchAllowance(agreed))
    if not allowance.take():
        what = f"the {agreed} fits that were agreed to are used up."
        raise QueryError("SRD-103", what, "Give fits= a larger number; fits are counted in one process, so use n_jobs=1.")


def _search() -> tuple[bool, int | None]:
    """Whether model selection is among the callers, and how many fits it is up to where it says so."""
    frame: FrameType | None = sys._getframe(1)
    found = False
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith(ROOM):
            found = True
            counts = [frame.f_locals.get(name) for name in ("n_candidates", "n_splits")]
            if all(isinstance(count, int) for count in counts):
                return True, counts[0] * counts[1] + 1  # type: ignore[operator]
        frame = frame.f_back
    return found, None


Floats = NDArray[np.float64]
LEVEL = 0.95


class Private(BaseEstimator):  # type: ignore[misc]
    """Fits once per call, for (epsilon, delta) each time; there is no seed, because a seed would take the noise away."""

    epsilon: Any
    delta: Any
    bounds_X: Any
    relation: str
    ledger: Any
    size: Any
    fits: Any

    def __sklearn_clone__(self) -> Any:
        """Parameters are shared, not copied: a ledger is one ledger however many estimators pay from it."""
        copy = type(self)(**self.get_params(deep=False))
        if "_allowance" in self.__dict__ or self.fits is not None:
            whole = isinstance(self.fits, int) and not isinstance(self.fits, bool)
            copy._allowance = self.__dict__.setdefault("_allowance", SearchAllowance(self.fits if whole else 0))
        return copy

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True  # rows with a missing value drop out
        tags.non_deterministic = True
        tags.target_tags.required = True
        return tags

    def _way(self, features: int) -> Way:
        raise NotImplementedError

    def _rows(self, features: Any, target: Any, box: Box) -> ModelRows:
        raise NotImplementedError

    def _facts(self) -> dict[str, Any]:
        return {}

    def _released(self, X: Any, y: Any) -> Fitted:
        """Everything that can be wrong is found before the charge, from parameters and containers alone."""
        admit(self)
        if self.epsilon is None:
            raise QueryError("SRD-101", "epsilon is missing.", "Give epsilon=, the price of one fit; most uses lie between 0.1 and 3.")
        as_epsilon(self.epsilon)
        as_delta(self.delta, zero=True)
        if Relation.of(self.relation) is Relation.REPLACE and self.size is None:
            raise QueryError("SRD-107", 'relation "replace" needs a public size.', "Give size=, the public number of rows.")
        if self.size is not None and (isinstance(self.size, bool) or not isinstance(self.size, int | np.integer) or self.size < 1):
            raise QueryError("SRD-103", f"size is {self.size!r}.", "Give the public number of rows, at least 1, or leave it out.")
        features = as_matrix(X)
        validate_data(self, X, y, skip_check_array=True)
        target = column_or_1d(y if hasattr(y, "shape") else as_array(y), warn=True)
        if target.dtype.kind == "c":
            raise ValueError("Complex data not supported")
        check_consistent_length(features, target)
        box = as_box(self.bounds_X, features.shape[1], "bounds_X")
        rows, way = self._rows(features, target, box), self._way(features.shape[1])
        facts = {"model": type(self).__name__, "privacy unit": "row", "relation": str(self.relation), "features": features.shape[1]}
        bounds = {"bounds_X": [list(pair) for pair in zip(box.low, box.high, strict=True)], **self._facts()}
        with opened(self.ledger, self.relation) as book:
            return fitted(ModelFit(way, {**facts, **bounds}), rows, book)

    def _predictor(self, X: Any) -> Floats:
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, ensure_all_finite=False, dtype=np.float64)
        return np.asarray(rows @ np.ravel(self.coef_) + np.ravel(self.intercept_)[0])

    def _ends(self, level: float, *, population: bool) -> Floats | None:
        """Ends of intercept and coefficients, one row each; None where the noise has a private scale."""
        back, _ = self._back()
        line, found = self._line(), self._found
        if "estimate" in found:
            half = Estimate.of(found["estimate"]).half(back, level, population=population)
            return np.stack([line - half, line + half], axis=-1)
        margin = found.get("margin")
        if margin is None or level != LEVEL:
            return None
        if margin["hidden"]:
            return np.tile([-np.inf, np.inf], (len(line), 1))
        centre = back @ np.array(margin["centre"])
        centre[0] += self._back()[1]
        half = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", back, np.array(margin["spread"]), back), 0.0))
        return np.stack([np.minimum(centre - half, line), np.maximum(centre + half, line)], axis=-1)

    def _back(self) -> tuple[Floats, float]:
        """A matrix and an offset of the intercept: coefficients in the units of the data, intercept first, from those of coordinates."""
        box, limits = as_box(self.bounds_X, self.n_features_in_, "bounds_X"), self._limits()
        height, level = (limits.half[0], float(limits.middle[0])) if limits is not None else (1.0, 0.0)
        back = np.diag([height, *(height / box.half)])
        back[0, 1:] = -height * box.middle / box.half
        return back, level

    def _line(self) -> Floats:
        """Intercept and coefficients in the order of `_back`."""
        return np.concatenate([np.ravel(self.intercept_), np.ravel(self.coef_)])

    def _limits(self) -> Box | None:
        return None

    def _settle(self, found: Fitted) -> Floats:
        """Coefficients in the units of the data, intercept first; the draws they came from are kept for intervals."""
        self._found, self.card_ = found.found, found.card
        back, level = self._back()
        line = back @ np.array(found.found["theta"])
        line[0] += level
        return np.asarray(line)

    def interval(self, level: float = LEVEL, *, kind: str = "total") -> Floats | None:
        """One row (low, high) per coefficient, the intercept first: about the population, or with kind="noise" about these rows' own fit.

        None where the method has no interval at this level.
        """
        check_is_fitted(self)
        if kind not in ("noise", "total"):
            raise QueryError("SRD-106", f"kind {kind!r} is unknown.", 'Use "noise" or "total".')
        if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
            raise QueryError("SRD-103", f"level is {level!r}.", "Give a level between 0 and 1.")
        return self._ends(float(level), population=kind == "total")
