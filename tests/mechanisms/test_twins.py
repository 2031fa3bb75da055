"""For every mechanism a twin with one deliberate mistake: its certificate, the small world or the auditor must refute it."""

import math
from dataclasses import fields
from fractions import Fraction

import numpy as np
import pytest
from mechanism_world import LOW_HIGH, MEDIAN, TENTH, VALUES, worst_pair

from sordino.lab import replay
from sordino.lab.auditing import audit
from sordino.lab.simulation import outcomes
from sordino.lab.world import exact_law, hockey
from sordino.mechanisms import (
    AboveThreshold,
    ApproximateQuantiles,
    BoostedRegression,
    Exponential,
    Gaussian,
    JointExponential,
    JointTop,
    Laplace,
    LaplaceHistogram,
    LeastSquares,
    LogisticRegression,
    MomentMatrix,
    MRegression,
    MultinomialRegression,
    NoisyDescent,
    NoisyMax,
    NormalEquations,
    ObjectivePerturbation,
    PartitionSelection,
    PermuteAndFlip,
    ProposeLadder,
    ProposeTestRelease,
    PublishedBound,
    QuantileEnd,
    QuantileExponential,
    RandomizedResponse,
    RankExponential,
    SampleAggregate,
    Smooth,
    SmoothVector,
    Stability,
    StableHistogram,
    StableMode,
    TwoCoins,
    WeightedSelection,
    catalog,
)
from sordino.mechanisms.stability import passes
from sordino.privacy.discrete import Bernoulli, Categorical, UniformInteger
from sordino.privacy.families import LaplaceLaw
from sordino.sensitivity.distance import canonical
from sordino.summaries import Counts, Near, Nearness, RankWindow, Refused, Rung, Stair, Value

SMALL = Fraction(1, 10**6)
FIFTH = Fraction(4, 5)


def quieter(parent, name="scale"):
    """The same mechanism with 0.8 of the noise its theorem asks for."""

    def less(self):
        found = getattr(parent, name)
        value = found.fget(self) if isinstance(found, property) else found.func(self)
        return tuple(part * FIFTH for part in value) if isinstance(value, tuple) else value * FIFTH

    return type(f"Quieter{parent.__name__}", (parent,), {name: property(less)})


class SmallPenalty(ObjectivePerturbation):
    """Minimises with four fifths of the penalty its noise was chosen for."""

    @property
    def penalty(self):
        return self.settings[0] * 0.8


class BiasedCoins(TwoCoins):
    truth = FIFTH


class EagerResponse(RandomizedResponse):
    """Tells the truth as if epsilon were a quarter larger."""

    @property
    def keep(self):
        return (
            RandomizedResponse(self.epsilon * Fraction(5, 4), self.options, "direct").keep if self.encoding == "direct" else Fraction(1, 2)
        )

    @property
    def lie(self):
        loud = RandomizedResponse(self.epsilon * Fraction(5, 4), self.options, self.encoding)
        return loud.lie


class LowThresholdTest(ProposeTestRelease):
    @property
    def threshold(self):
        return super().threshold - 1 / float(self.split[0])


class EagerOptimalTest(ProposeTestRelease):
    """Off by one: passes at distance d as often as the optimal test does at d + 1."""

    @property
    def table(self):
        return super().table[1:]


class LowLift(PublishedBound):
    """Raises the bound by one rung too few, with the noise of the right lift."""

    @property
    def lift(self):
        return super().lift - 1

    @property
    def rate(self):
        return PublishedBound(self.epsilon, self.delta, self.beta, self.share).rate


class FastRate(PublishedBound):
    @property
    def rate(self):
        return super().rate * Fraction(5, 4)


class LowThreshold(StableHistogram):
    @property
    def threshold(self):
        return super().threshold - 1


class LowGaussianThreshold(StableHistogram):
    """Gaussian tails fall so fast that one step is within the slack of whole counts; three are not."""

    @property
    def threshold(self):
        return super().threshold - 3


class ContinuousThreshold(StableHistogram):
    """The threshold of continuous Laplace noise, used for integer noise with >=."""

    @property
    def threshold(self):
        return math.floor(self.max_rows + float(self.scale) * math.log(1 / (2 * float(self.delta))))


class SmallReach(QuantileExponential):
    """The sensitivity of added rows, used for replaced ones."""

    @property
    def reach(self):
        return self.max_rows * max(self.q, 1 - self.q)


class OneTestOfMany(ProposeLadder):
    """The threshold of a single test, used for a whole ladder: some rung passes by chance."""

    @property
    def threshold(self):
        return ProposeLadder(self.epsilon, self.delta, self.ladder[:1]).threshold


class CountsAddedParts(SampleAggregate):
    """As if an answer came or went: a part that changes replaces one."""

    @property
    def reach(self):
        return self.max_rows * max(self.q, 1 - self.q)


class FastQuantile(QuantileExponential):
    @property
    def rate(self):
        return super().rate * Fraction(5, 4)


class FastEnd(QuantileEnd):
    @property
    def rate(self):
        return super().rate * Fraction(5, 4)


BY_CERTIFICATE = [
    quieter(Laplace)(1),
    quieter(Laplace)("0.1", 5, dimension=4),
    quieter(Gaussian)(1, SMALL),
    quieter(Gaussian)(20, SMALL, dimension=3),
    BiasedCoins(),
    EagerResponse(1),
    EagerResponse(1, 5),
    EagerResponse(1, 4, "unary"),
    quieter(Exponential)(1),
    quieter(Exponential)(1, monotone=True),
    quieter(PermuteAndFlip)(1),
    quieter(NoisyMax)(1),
    quieter(AboveThreshold, "scales")(1, queries=5),
    quieter(AboveThreshold, "scales")(2, spread=1),
    quieter(LaplaceHistogram)(1, ("a", "b")),
    quieter(LaplaceHistogram)(1, ("a", "b"), 2, 2, "replace"),
    *(quieter(Smooth, "s")(1, noise=z) for z in ("power_law", "student_t", "cauchy", "generalized_cauchy")),
    *(quieter(Smooth, "s")(1, noise=z, delta=SMALL) for z in ("laplace", "gaussian")),
    LowLift(1, SMALL, share=Fraction(1, 2)),
    FastRate(1, SMALL),
    LowThresholdTest(1, SMALL, 1, "laplace"),
    LowThresholdTest(1, SMALL, 1, "laplace", "global"),
    EagerOptimalTest(1, SMALL, 1),
    EagerOptimalTest(1, SMALL, 1, otherwise="global"),
    LowThreshold(1, SMALL),
    LowThreshold(1, SMALL, max_groups=3, relation="replace"),
    LowGaussianThreshold(1, SMALL, "gaussian"),
    ContinuousThreshold(1, SMALL),
    quieter(StableHistogram)(1, SMALL),
    quieter(StableHistogram)(1, SMALL, "gaussian", 3),
    quieter(WeightedSelection, "scales")(1, SMALL, 5),
    SmallReach(1, high=2**44, relation="replace"),
    CountsAddedParts(1, high=2**44),
    OneTestOfMany(1, Fraction(1, 10**6), (1, 2, 4, 8, 16)),
    SmallReach(1, "0.9", high=2**44, relation="replace", max_rows=2),
    FastQuantile(1, high=2**44),
    FastEnd(1, high=10**6, centre=30_000),
    FastEnd("0.1", "0.9", high=10**6, upper=True, max_rows=2, relation="replace"),
    quieter(JointTop)(1),
    quieter(JointTop)("0.1", 2, monotone=True, k=4),
    quieter(JointExponential, "reach")(1, high=2**44),
    quieter(JointExponential, "reach")(1, ("0.1", "0.2", "0.9"), high=2**44, max_rows=2, relation="replace"),
    quieter(RankExponential, "reach")(1, high=2**44, rank=9),
    quieter(SmoothVector, "s")(1, 5),
    quieter(SmoothVector, "s")(1, 5, noise="laplace", delta=SMALL),
    quieter(NormalEquations, "scales")(1, SMALL, 3),
    quieter(BoostedRegression, "scales")(1, SMALL, 3),
    quieter(LeastSquares, "scales")(1, SMALL, 3),
    quieter(MomentMatrix, "scale")(1, SMALL, 3),
    quieter(LogisticRegression, "scales")(1, SMALL, 3),
    quieter(LogisticRegression, "scales")(1, 0, 3),
    quieter(LeastSquares, "scales")(1, 0, 3),
    quieter(MultinomialRegression, "scales")(1, SMALL, 3),
    quieter(MRegression, "scales")(1, SMALL, 3),
    quieter(ObjectivePerturbation, "deviation")(1, SMALL, 3),
    quieter(ObjectivePerturbation, "counting")(1, SMALL, 3),
    SmallPenalty(1, SMALL, 3),
    quieter(NoisyDescent, "scales")(1),
    quieter(NoisyDescent, "scales")(1, SMALL, loss="logistic"),
]


@pytest.mark.parametrize("twin", BY_CERTIFICATE, ids=repr)
def test_the_certificate_refutes_the_twin_and_accepts_the_original(twin):
    assert not twin.certificate().check().sound
    parent = type(twin).__mro__[1]
    original = parent(**{field.name: getattr(twin, field.name) for field in fields(twin)})
    assert original.certificate().check().sound


# mistakes in what is released, seen by listing the small world


class EagerStability(Stability):
    def release(self, ask, draw):
        near = ask(Nearness())
        return near.value if draw(Bernoulli.of(passes(self.epsilon, self.delta, near.distance + 1))) else Refused()


class ModeWithoutPhantom(StableMode):
    """Counts only the rivals that occur: a key nobody holds yet is forgotten."""

    def near(self, tally):
        ranked = sorted((-c, canonical(k), k) for k, c in zip(tally.keys, tally.counts.tolist(), strict=True))
        if len(ranked) < 2:
            return Near(10, ranked[0][2] if ranked else None)
        (a, one, key), (b, other, _) = ranked[:2]
        return Near(max(0, b - a + (other > one) - 1), key)


class ModeOfAddedRows(StableMode):
    """The gap counted as if a replaced row moved it by one."""

    def near(self, tally):
        return replace_relation(self).near(tally)


def replace_relation(mechanism):
    return StableMode(mechanism.epsilon, mechanism.delta, mechanism.k, "add_remove", mechanism.max_rows)


class GreedySelection(PartitionSelection):
    """pi shifted by one: a key held by m people is named like one held by m + 1."""

    @property
    def table(self):
        shifted = super().table[1:]
        return (0, *shifted[1:]) if len(shifted) > 1 else shifted


class StrictHistogram(LaplaceHistogram):
    """Noises only the keys that occur, so that an absent key answers exactly 0."""

    def release(self, ask, draw):
        tally = ask(Counts())
        noisy = super().release(ask, draw)
        return {key: count if key in tally.keys else 0 for key, count in noisy.items()}


class UniformInsideArsinh(QuantileExponential):
    """Weighs cells by the arsinh measure, and then draws their points uniformly."""

    def release(self, ask, draw):
        cells = self.cells(ask(RankWindow(self.q, self.radius)))
        chosen = draw(Categorical(cells.weights))
        return draw(UniformInteger(int(cells.first[chosen]), int(cells.last[chosen])))


class BlindToTies(QuantileExponential):
    """Draws the true quantile when it exists, and asks chance only otherwise."""

    def release(self, ask, draw):
        window = ask(RankWindow(self.q, self.radius))
        if window.n == 1:
            return int(window.values[1])
        return super().release(ask, draw)


class Unclipped(Laplace):
    """Forgets to round to the grid of the neighbours: adds a fraction of the data to the answer."""

    def release(self, ask, draw):
        return super().release(ask, draw) + ask(Value()) * 2.0**-30


class LocalNoise(Smooth):
    """Noise scaled by the local sensitivity itself."""

    def release(self, ask, draw):
        rung: Rung = ask(Stair(self.beta))
        scale = self.s * max(abs(rung.location - rung.low), 1)
        return draw(self.law.at(rung.location, scale, low=rung.low, high=rung.high))


class RefusesByName(ProposeTestRelease):
    """Strict instead of weak: tests LS > B at the table itself only, then releases for certain."""

    def _passed(self, distance, draw):
        super()._passed(distance, draw)
        return distance > 0


def counts(table):
    return [table.count(v) for v in VALUES]


def median(resolution=1):
    return {"statistic": "median", "bounds": (0, 3), "resolution": resolution}


class OneLayer(ApproximateQuantiles):
    """Pays for the first layer of the recursion only."""

    layers = 1


BY_WORLD = {
    "halving that pays for its first layer": (OneLayer(1, ("0.5", "0.75"), high=3, bits=0), "add_remove", {"sizes": range(4)}),
    "mode without the phantom competitor": (ModeWithoutPhantom(1, TENTH), "add_remove", {}),
    "mode that counts replaced rows like added ones": (ModeOfAddedRows(1, TENTH, relation="replace"), "replace", {}),
    "partition selection shifted by one": (GreedySelection(1, TENTH), "add_remove", {}),
    "histogram with the threshold one too low": (LowThreshold(1, TENTH), "add_remove", {"read": lambda t: {"a": t.count(0)}}),
    "histogram for added rows, used for replaced ones": (
        StableHistogram(1, TENTH),
        "replace",
        {"read": lambda t: {"a": t.count(0), "b": t.count(1)}, "span": 20},
    ),
    "noisy histogram for added rows, used for replaced ones": (LaplaceHistogram(1, (0, 1)), "replace", {"sizes": range(3), "span": 20}),
    "histogram that shows absent keys as zero": (StrictHistogram(1, (0,)), "add_remove", {}),
    "monotone exponential, used for replaced rows": (Exponential(1, monotone=True), "replace", {"read": counts}),
    "monotone permute-and-flip, used for replaced rows": (PermuteAndFlip(1, monotone=True), "replace", {"read": counts}),
    "top two for one row per person, used for three": (JointTop(1, monotone=True), "add_remove", {"read": counts, "rows": 3}),
    "monotone top three, used for replaced rows": (JointTop(1, monotone=True, k=3), "replace", {"read": counts, "rows": 2}),
    "monotone noisy max, used for replaced rows": (
        NoisyMax(1, monotone=True),
        "replace",
        {"read": lambda t: [t.count(0), t.count(1)]},
    ),
    "quantile that answers a single row exactly": (BlindToTies(1, high=3), "add_remove", {}),
    "quantile for one row per person, used for three": (QuantileExponential(1, high=3), "add_remove", {"rows": 3}),
    "median with noise for replaced rows, used for added ones": (
        Smooth(4),
        "add_remove",
        {**median(Fraction(1, 16)), "relation": "replace"},
    ),
    "median with noise for added rows, used for replaced ones": (Smooth(4), "replace", median(Fraction(1, 16))),
    "median for one row per person, used for three": (Smooth(4), "add_remove", {**median(Fraction(1, 16)), "rows": 3}),
    "noise scaled by the data": (LocalNoise(1), "add_remove", median(Fraction(1, 4))),
    "a test without noise": (RefusesByName(1, TENTH, 1), "add_remove", median(Fraction(1, 4))),
    "a test that passes too early": (EagerOptimalTest(1, TENTH, Fraction(1, 16)), "add_remove", median(Fraction(1, 16))),
    "a test for replaced rows, used for added ones": (
        ProposeTestRelease(1, TENTH, Fraction(1, 4)),
        "add_remove",
        {**median(Fraction(1, 4)), "relation": "replace"},
    ),
    "a fraction of the data in the low bits": (Unclipped(1), "add_remove", {"read": lambda t: t.count(0)}),
}


@pytest.mark.parametrize("mistake", BY_WORLD)
def test_the_small_world_refutes_the_twin(mistake):
    twin, relation, options = BY_WORLD[mistake]
    stick, _ = worst_pair(twin, relation, **options)
    assert stick > float(twin.certificate().cost.delta) * 1.01 + 1e-6


def test_stability_shifted_by_one_is_refuted_at_distance_zero():
    twin = EagerStability(1, TENTH)
    laws = [exact_law(twin, Near(0, value)) for value in "ab"]
    assert hockey(*laws, 1.0) > 0.2
    honest = [exact_law(Stability(1, TENTH), Near(0, value)) for value in "ab"]
    assert hockey(*honest, 1.0) <= 0.1


def test_a_uniform_draw_inside_arsinh_cells_is_refuted():
    honest = QuantileExponential(1, low=-64, high=64, base="arsinh")
    twin = UniformInsideArsinh(1, low=-64, high=64, base="arsinh")
    pair = [0, 0, 40], [0, 0, 41]
    laws = [exact_law(twin, table) for table in pair]
    assert hockey(*laws, 1.0) > 0.001
    kept = [exact_law(honest, table) for table in pair]
    assert hockey(*kept, 1.0) == 0


def test_a_threshold_without_noise_is_refuted():
    """All of a hundred queries stay below: their noises are independent, and only a noisy threshold makes them move together."""
    mechanism = AboveThreshold(1, 5, 100, spread=1)
    scale = float(mechanism.scales[1])
    below = [100 * math.log(float(LaplaceLaw().cdf((5 - 0.5 - value) / scale))) for value in (0, 1)]
    assert below[0] - below[1] > 1
    first, second = mechanism.scales
    net = np.arange(-400, 401)
    bar = np.diff(LaplaceLaw().cdf((np.arange(-400, 402) - 0.5 - 5) / float(first)))
    law = [float(np.sum(bar * LaplaceLaw().cdf((net - 0.5 - value) / float(second)) ** 100)) for value in (0, 1)]
    assert abs(math.log(law[0] / law[1])) <= 1


# mistakes the auditor sees from outside


def watched(mechanism, pair, trials, **options):
    cost = mechanism.certificate().cost
    return audit(
        lambda data, n: outcomes(mechanism, data, repeats=n, **options),
        *pair,
        claimed=(float(cost.epsilon), float(cost.delta)),
        trials=trials,
        vectorised=True,
    ).verdict


def test_the_auditor_refutes_quiet_noise():
    assert watched(quieter(Laplace)(1), (0, 1), 100_000) == "refuted"
    assert watched(quieter(Gaussian)(1, Fraction(1, 100)), (0, 1), 1_000_000) == "refuted"
    assert watched(Unclipped(1), (0, 1), 20_000) == "refuted"


def test_the_auditor_refutes_twins_it_knows_nothing_about():
    assert watched(BiasedCoins(), (0, 1), 20_000) == "refuted"
    assert watched(LowThreshold(1, TENTH), ({}, {"a": 1}), 4_000) == "refuted"
    assert watched(GreedySelection(1, TENTH), ({}, {"a": 1}), 4_000) == "refuted"
    assert watched(RefusesByName(1, TENTH, 10), (LOW_HIGH, [*LOW_HIGH, 100, 100, 100]), 2_000, **MEDIAN) == "refuted"


# mistakes that show in the conversation


class AsksByTheData(Smooth):
    def release(self, ask, draw):
        rung = ask(Stair(self.beta))
        return super().release(lambda _: ask(Stair(self.beta / (1 + rung.index % 2))), draw)


class TellsTheScale(Smooth):
    def release(self, ask, draw):
        rung = ask(Stair(self.beta))
        return super().release(ask, draw), rung.index


class GridOfTheData(Smooth):
    def release(self, ask, draw):
        rung = ask(Stair(self.beta))
        scale = self.s * rung.scales[rung.index]
        return draw(self.law.at(rung.location, scale, grid=2 ** (rung.index % 8), low=rung.low, high=rung.high))


class DrawsWhenNeeded(ProposeTestRelease):
    """Draws the value only after a pass: the work tells the branch."""

    def release(self, ask, draw):
        near = ask(Nearness(self.propose))
        if near.distance == 0:
            return Refused()
        return draw(LaplaceLaw().at(near.value, Fraction(10)))


@pytest.mark.parametrize("twin", [AsksByTheData(1), TellsTheScale(1), GridOfTheData(1), DrawsWhenNeeded(1, TENTH, 10)], ids=repr)
def test_the_replay_refutes_the_twin(twin):
    few, many = [0] * 4 + [50] + [100] * 4, [0] * 4 + [50] * 2 + [100] * 4  # neighbours on two rungs, at two distances
    found = replay(twin, few, many, **MEDIAN)
    assert not found.ok
    assert repr(found).count("\n") == len(found.differences) > 0


def test_every_mechanism_has_a_broken_twin():
    twins = [*BY_CERTIFICATE, *(twin for twin, _, _ in BY_WORLD.values()), EagerStability(1, TENTH)]
    parents = {parent.__name__ for twin in twins for parent in type(twin).__mro__}
    assert {mechanism.__name__ for mechanism in catalog()} <= parents
