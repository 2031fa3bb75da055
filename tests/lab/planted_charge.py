"""Prices that do not cover what is drawn: planted in copies of our own mechanisms and statistics, and caught without any chance."""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np
from planted_kit import HAND, planted

from sordino import statistics
from sordino.lab.conformance import check_mechanism, check_statistic
from sordino.lab.finding import Checked, joined
from sordino.lab.question import Question
from sordino.mechanisms import JointTop, LaplaceHistogram, QuantileEnd, QuantileExponential
from sordino.privacy.certificate import Part
from sordino.privacy.cost import Cost
from sordino.privacy.discrete import Categorical, DiscreteLaplace
from sordino.privacy.relation import PrivacyUnit
from sordino.statistics import mean_two_stage
from sordino.statistics.added import Added
from sordino.statistics.budget_split import Plan
from sordino.statistics.evaluation import Evaluation
from sordino.statistics.mean_two_stage import StagedStep
from sordino.statistics.ranks import JointStep, RankStep
from sordino.statistics.reach import Reach
from sordino.summaries import Counts, Scores

GROUPED = (", by public keys",)


@dataclass(frozen=True)
class Conforms:
    """A conformance check, with a planted mistake in force or without."""

    check: Any
    name: ClassVar[str] = "conformance"

    def alarm(self, subject: Any) -> bool:
        with subject():
            return not self.check().ok


@contextmanager
def nothing():
    yield


def asks(name: str, *places: str) -> Conforms:
    return Conforms(lambda: check_statistic(Question(name), places=places or ("",)))


@planted(HAND, asks("median as a point"), nothing)
@contextmanager
def a_median_at_twice_its_price():
    """A step releases at twice the epsilon that its parts are charged for."""
    release = RankStep.release

    def louder(self, ask, draw, groups):
        return release(replace(self, epsilon=2 * self.epsilon), ask, draw, groups)

    with patch.object(RankStep, "release", louder):
        yield


@planted(HAND, asks("quantiles", *GROUPED), nothing)
@contextmanager
def quantiles_that_forget_max_groups():
    """Every group pays its own share, and the price counts one group where a person is in three."""
    parts = property(lambda self: (Part(self.mechanism.certificate()),))
    with patch.object(JointStep, "parts", parts):
        yield


@planted(HAND, asks("histogram"), nothing)
@contextmanager
def a_histogram_that_draws_half_its_certified_scale():
    """The certificate is about one scale, the draw about half of it."""

    def quiet(self, ask, draw):
        tally = ask(Counts())
        held = dict(zip(tally.keys, tally.counts.tolist(), strict=True))
        counts = np.array([held.get(key, 0) for key in self.keys], np.int64)
        return dict(zip(self.keys, draw(DiscreteLaplace(self.scale / 2, counts)).tolist(), strict=True))

    with patch.object(LaplaceHistogram, "release", quiet):
        yield


@planted(HAND, asks("count"), nothing)
@contextmanager
def a_count_with_half_its_sensitivity():
    """Noise for half of what a person moves a count by, certified as if it were all."""
    with patch.object(Added, "scale", property(lambda self: self.reach / self.epsilon / 2)):
        yield


def sparse(*names: str) -> Conforms:
    """As few tables as the tests of every statistic take."""
    return Conforms(lambda: joined("sparse", [check_statistic(Question(name), places=("",), sparse=True) for name in names]))


@planted(HAND, sparse("count", "sum"), nothing)
@contextmanager
def rows_in_groups_for_rows_in_all():
    """A question without groups is priced for g groups of r rows of a person, where max_rows of them count: 3 rows for the price of 1."""
    limits = PrivacyUnit.limits

    def spread(self, groups=None):
        found = limits(self, groups)
        return replace(found, rows=min(self.max_groups * self.rows_per_group, self.max_rows)) if groups is None else found

    with patch.object(PrivacyUnit, "limits", spread):
        yield


def _sum() -> Any:
    total = statistics.statistic(bounds=(0, 1_000_000), range=(0, 100_000_000))(lambda x: float(x.sum()))
    total.distance_at(lambda x, above: 10**9 if above >= 1_000_000 else 0)
    return total


@planted(
    "an earlier version of our own",
    Conforms(lambda: check_statistic(_sum(), propose=1_000_000, places=("",))),
    nothing,
)
@contextmanager
def a_distance_about_rows_for_people():
    """Propose-test-release asks how far a row is from moving f by the bound, and adds noise for the bound where a person has three rows."""
    distance = Evaluation.distance

    def unchanged(self, x, above=None, most=10**9):
        return distance(self, x, None if above is None else above * self.moves, most)

    with patch.object(Evaluation, "distance", unchanged):
        yield


@planted(HAND, asks("several at once"), nothing)
@contextmanager
def a_mechanism_drawn_but_not_certified():
    """A plan draws five statistics and lists the parts of four."""
    parts = Plan.parts
    with patch.object(Plan, "parts", property(lambda self: parts.fget(self)[:-1])):
        yield


@planted("an earlier version of our own", asks("median", *GROUPED), nothing)
@contextmanager
def a_rho_that_is_not_summed():
    """A composed price has the rho of its dearest part instead of the sum."""
    rho = Cost.rho

    def largest(self):
        return max(part.rho for part, _ in self.parts) if self.parts else rho.func(self)

    with patch.object(Cost, "rho", property(largest)):
        yield


class Underflowing(JointTop):
    """Weights relative to the largest, as doubles: e^-750 is zero unless they are cut before."""

    deepest: ClassVar[float] = math.inf

    def release(self, ask, draw):
        scores = np.asarray(ask(Scores()), np.int64)
        heaps, far = self.heaps(scores), self.farthest(len(scores))
        weights = heaps.log_number - float(self.rate) * heaps.loss
        heap = draw(Categorical(np.exp(np.maximum(weights - weights.max(), -self.deepest))))
        loss, first, top = int(heaps.loss[heap]), int(heaps.place[heap]), np.sort(scores)[::-1][: self.k]
        chosen: list[int] = []
        for place, score in enumerate(top.tolist()):
            if place < first:
                allowed = scores > score - loss
            elif place == first:
                allowed = scores <= score - far if loss == far else scores == score - loss
            else:
                allowed = scores >= score - loss if loss < far else np.ones(len(scores), bool)
            allowed[chosen] = False
            chosen.append(int(draw(Categorical(allowed.astype(float)))))
        return tuple(chosen)


def _drawn() -> Checked:
    """Its paths only: the certificate of so large an epsilon is computed in doubles, too."""
    found = check_mechanism(Underflowing(Fraction(1_500), monotone=True), sampled=False)
    return Checked(found.subject, tuple(row for row in found.rows if row.method == "pathwise"))


@contextmanager
def weights_that_are_cut():
    with patch.object(Underflowing, "deepest", 690.0):
        yield


@planted(HAND, Conforms(_drawn), weights_that_are_cut)
@contextmanager
def a_weight_that_underflows_to_zero():
    """At an epsilon of 1,500 the weight of a sequence becomes zero, and an outcome of one table is impossible on its neighbour."""
    yield


TWO_STAGES = Conforms(lambda: check_statistic(lambda table: table.mean("income", method="two_stage"), places=("",)))


@contextmanager
def moved_rows_that_are_counted():
    with patch.object(mean_two_stage, "ENOUGH", 0):
        yield


@planted(HAND, TWO_STAGES, moved_rows_that_are_counted)
@contextmanager
def a_count_of_moved_rows_that_nobody_pays_for():
    """The mean inside drawn limits also counts the rows it moved, at twice the whole price, and charges for the rest alone."""
    step, parts = StagedStep, StagedStep.parts.fget
    counting = cached_property(
        lambda self: Reach(Fraction(1), Fraction(1), self.context).added(2 * self.epsilon) if self.context.rows else None
    )
    counting.__set_name__(step, "counting")
    unpaid = property(lambda self: tuple(part for part in parts(self) if part is not (self.counting and self.counting.part)))
    whole = property(lambda self: self.epsilon * (1 - 2 * self.share))
    with patch.object(step, "counting", counting), patch.object(step, "parts", unpaid), patch.object(step, "rest", whole):
        yield


@planted(HAND, asks("median"), nothing)
@contextmanager
def ends_of_an_interval_at_twice_their_price():
    """The ends around a median are drawn at twice the epsilon that they are charged for; the middle is not."""
    release = QuantileEnd.release

    def louder(self, ask, draw):
        return release(replace(self, epsilon=2 * self.epsilon), ask, draw)

    with patch.object(QuantileEnd, "release", louder):
        yield


POWERED = Conforms(lambda: check_statistic(Question("median"), places=(", by private keys",), sparse=True, power=True))


@planted(HAND, POWERED, nothing)
@contextmanager
def a_middle_in_groups_at_twice_its_price():
    """The middle of an interval is drawn at twice the epsilon it is charged for; its ends are not."""
    release = QuantileExponential.release

    def louder(self, ask, draw):
        return release(replace(self, epsilon=2 * self.epsilon), ask, draw)

    with patch.object(QuantileExponential, "release", louder):
        yield
