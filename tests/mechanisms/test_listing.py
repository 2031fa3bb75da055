"""Every mechanism of the catalogue: its certificate, its names, its manners with awkward data and bad parameters."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from mechanism_world import CASES

import sordino as sd
from sordino.errors import QueryError
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
    find,
)
from sordino.mechanisms.listing import CONCEPTS
from sordino.privacy.number import exp_up
from sordino.summaries.moment import Gram

EXAMPLES = [example for mechanism in catalog() for example in mechanism.examples()]
SMALL = Fraction(1, 10**6)
MAKERS = {
    "Laplace": Laplace,
    "Gaussian": lambda e: Gaussian(e, SMALL),
    "RandomizedResponse": RandomizedResponse,
    "RandomizedResponse of five": lambda e: RandomizedResponse(e, 5),
    "RandomizedResponse, unary": lambda e: RandomizedResponse(e, 40, "unary"),
    "Exponential": Exponential,
    "Exponential, monotone": lambda e: Exponential(e, monotone=True),
    "PermuteAndFlip": PermuteAndFlip,
    "NoisyMax": NoisyMax,
    "AboveThreshold": lambda e: AboveThreshold(e, queries=4),
    "LaplaceHistogram": lambda e: LaplaceHistogram(e, ("a", "b")),
    "LaplaceHistogram, replace": lambda e: LaplaceHistogram(e, ("a", "b"), 2, 3, "replace"),
    **{f"Smooth, {z}": lambda e, z=z: Smooth(e, noise=z) for z in ("power_law", "student_t", "cauchy", "generalized_cauchy")},
    **{f"Smooth, {z}": lambda e, z=z: Smooth(e, noise=z, delta=SMALL) for z in ("laplace", "gaussian")},
    "PublishedBound": lambda e: PublishedBound(e, SMALL),
    **{
        f"ProposeTestRelease, {t}, {o}": lambda e, t=t, o=o: ProposeTestRelease(e, SMALL, 100, t, o)
        for t in ("optimal", "laplace")
        for o in ("refuse", "global")
    },
    "ProposeLadder": lambda e: ProposeLadder(e, SMALL, (1, 10, 100)),
    "SampleAggregate": lambda e: SampleAggregate(e, high=2**32),
    "Stability": lambda e: Stability(e, SMALL),
    "StableMode": lambda e: StableMode(e, SMALL, 3, "replace", 2),
    "StableHistogram": lambda e: StableHistogram(e, SMALL),
    "StableHistogram, replace": lambda e: StableHistogram(e, SMALL, max_groups=3, relation="replace"),
    "StableHistogram, Gaussian": lambda e: StableHistogram(e, SMALL, "gaussian", 3, 2),
    "StableHistogram, Gaussian, replace": lambda e: StableHistogram(e, SMALL, "gaussian", 3, 2, "replace"),
    "PartitionSelection": lambda e: PartitionSelection(e, SMALL),
    "PartitionSelection of four": lambda e: PartitionSelection(e, SMALL, 4),
    "PartitionSelection, replace": lambda e: PartitionSelection(e, SMALL, 2, "replace"),
    "WeightedSelection": lambda e: WeightedSelection(e, SMALL),
    "WeightedSelection of twenty, replace": lambda e: WeightedSelection(e, SMALL, 20, "replace"),
    "SmoothVector": lambda e: SmoothVector(e, 11),
    "SmoothVector, Laplace": lambda e: SmoothVector(e, 5, noise="laplace", delta=SMALL),
    "SmoothVector, Gaussian": lambda e: SmoothVector(e, 5, noise="gaussian", delta=SMALL),
    "NormalEquations": lambda e: NormalEquations(e, SMALL, 11),
    "NormalEquations, replace": lambda e: NormalEquations(e, SMALL, 4, "replace", 3),
    "BoostedRegression": lambda e: BoostedRegression(e, SMALL, 11),
    "LeastSquares": lambda e: LeastSquares(e, SMALL, 11),
    "LeastSquares, replace": lambda e: LeastSquares(e, SMALL, 4, "replace", 3),
    "LogisticRegression": lambda e: LogisticRegression(e, SMALL, 11),
    "LogisticRegression, replace": lambda e: LogisticRegression(e, SMALL, 4, "replace", 3),
    "LeastSquares, Laplace": lambda e: LeastSquares(e, 0, 3, "replace", 2),
    "LogisticRegression, Laplace": lambda e: LogisticRegression(e, 0, 3, "replace", 2),
    "MultinomialRegression": lambda e: MultinomialRegression(e, SMALL, 4, classes=4),
    "MultinomialRegression, replace": lambda e: MultinomialRegression(e, SMALL, 3, "replace", 3),
    "MRegression": lambda e: MRegression(e, SMALL, 4),
    "MRegression, replace": lambda e: MRegression(e, SMALL, 3, "replace", 3),
    "MomentMatrix": lambda e: MomentMatrix(e, SMALL, 11),
    "MomentMatrix, replace": lambda e: MomentMatrix(e, SMALL, 4, "replace", 3),
    "BoostedRegression, replace": lambda e: BoostedRegression(e, SMALL, 4, relation="replace", max_rows=3),
    "NoisyDescent": lambda e: NoisyDescent(e, dimension=3),
    "ObjectivePerturbation": lambda e: ObjectivePerturbation(e, SMALL, 11),
    "ObjectivePerturbation, replace": lambda e: ObjectivePerturbation(e, SMALL, 3, "replace", 3),
    "NoisyDescent, Gaussian": lambda e: NoisyDescent(e, SMALL, 80, dimension=65, loss="logistic"),
    "NoisyDescent, replace": lambda e: NoisyDescent(e, SMALL, 10, size=100, relation="replace"),
    "RankExponential": lambda e: RankExponential(e, high=2**44, rank=9),
    "RankExponential, replace": lambda e: RankExponential(e, high=2**44, rank=9, upper=True, max_rows=2, relation="replace"),
    "JointTop": JointTop,
    "JointTop, monotone": lambda e: JointTop(e, 2, monotone=True, k=5),
    "JointExponential": lambda e: JointExponential(e, high=2**44),
    "JointExponential, replace": lambda e: JointExponential(e, ("0.1", "0.2", "0.9"), high=2**44, max_rows=2, relation="replace"),
    "JointExponential, arsinh": lambda e: JointExponential(e, low=-(2**44), high=2**44, base="arsinh"),
    "ApproximateQuantiles": lambda e: ApproximateQuantiles(e, high=2**44),
    "ApproximateQuantiles, replace": lambda e: ApproximateQuantiles(e, high=2**44, max_rows=2, relation="replace"),
    "QuantileEnd": lambda e: QuantileEnd(e, high=2**44, centre=2**40, finest=2**20),
    "QuantileEnd, replace": lambda e: QuantileEnd(e, "0.9", high=10**6, centre=9, upper=True, max_rows=2, relation="replace"),
    "QuantileExponential": lambda e: QuantileExponential(e, high=2**44),
    "QuantileExponential, maximum": lambda e: QuantileExponential(e, 1, high=2**44),
    "QuantileExponential, arsinh": lambda e: QuantileExponential(e, low=-(2**44), high=2**44, base="arsinh", relation="replace"),
}


def sound(mechanism):
    certificate = mechanism.certificate()
    verdict = certificate.check()
    assert verdict.sound, verdict
    assert verdict.slack < 1.05 or certificate.loose, verdict


def test_every_mechanism_of_the_catalogue_is_tried_here():
    names = {mechanism.__name__ for mechanism in catalog()}
    assert {type(case.make(Fraction(1))).__name__ for case in CASES} == names
    assert {label.split(",")[0].split(" ")[0] for label in MAKERS} | {"TwoCoins"} == names


@pytest.mark.parametrize("mechanism", catalog(), ids=lambda m: m.__name__)
def test_a_mechanism_has_a_theorem_a_note_and_names_and_is_found_by_each(mechanism):
    assert len(mechanism.theorem) > 40
    assert mechanism.note
    assert mechanism.names
    assert "Proof." in mechanism.__doc__
    assert all(find(name) is mechanism for name in (*mechanism.names, mechanism.__name__))


@pytest.mark.parametrize("home", CONCEPTS)
def test_every_other_name_of_the_notes_is_found_and_means_something(home):
    for name in CONCEPTS[home]:
        assert find(name) is not None, name
    found = find(CONCEPTS[home][0])
    assert found in catalog() or found.__name__.rpartition(".")[2] == home.rpartition(".")[2]


def test_the_names_the_notes_use_for_sensitivities_are_told_apart():
    homes = {name: find(name).__name__ for name in ("global sensitivity", "local sensitivity", "distance to instability", "admissible")}
    assert homes == {
        "global sensitivity": "sordino.sensitivity.worst_case", "local sensitivity": "sordino.sensitivity.local",
        "distance to instability": "sordino.sensitivity.distance", "admissible": "admissible",
    }  # fmt: skip
    with pytest.raises(QueryError, match="nothing is called"):
        find("magic")


@pytest.mark.parametrize("example", EXAMPLES, ids=repr)
def test_the_certificate_of_every_example_is_sound_and_tight(example):
    sound(example)
    assert example.certificate().theorem == type(example).theorem


@pytest.mark.parametrize("name", MAKERS)
def test_certificates_are_sound_from_a_thousandth_to_twenty(name):
    for epsilon in ("0.001", "0.1", "1", "5", "20"):
        sound(MAKERS[name](epsilon))


@pytest.mark.parametrize("name", [name for name in MAKERS if "delta" in MAKERS[name](1).__dataclass_fields__ and MAKERS[name](1).delta])
@pytest.mark.parametrize("delta", ["1e-9", "1e-13"])
def test_certificates_do_not_drown_a_small_delta_in_rounding(name, delta, monkeypatch):
    monkeypatch.setitem(globals(), "SMALL", Fraction(delta))
    for epsilon in ("1/3", "0.7", "3"):
        sound(MAKERS[name](epsilon))


# what is wrong, and for which parameters it is wrong
WRONG = {
    "capped": [1, None, "yes"],
    "classes": [1, 11, True, None, 2.5],
    "knots": [(), (1.0, 0.0), (0.0, math.nan), None, [0.0, 1.0]],
    "heights": [(), (0.0, 0.0), (0.0, math.inf), None],
    "scale": [0, -1, math.nan, True, "x"],
    "epsilon": [0, -1, math.inf, math.nan, 1e9, True, None, "x", "1/0", [1], 1j],
    "delta": [1, 1.5, 0, -1e-9, math.nan, math.inf, True, None, "x"],
    "beta": [0, -1, math.nan, math.inf, True, "x", 200],
    "share": [0, 1, -1, math.nan, True, None],
    "q": [-0.1, 1.1, math.nan, True, None],
    "max_rows": [0, -1, True, 1.5, None, "2"],
    "max_groups": [0, -1, True, 1.5, None],
    "total": [0, -1, True, 1.5, "2"],
    "sensitivity": [0, -1, math.nan, math.inf, True, None],
    "dimension": [0, -1, True, 1.5],
    "resolution": [0, -1, math.nan, True, "x"],
    "relation": ["x", None, True],
    "noise": ["x", None, 1],
    "nu": [0, -1, True, math.nan, "x", 2.5, None],
    "gamma": [1, 0.5, -1, math.nan, True, "x", None],
    "k": [0, True, 1.5],
    "options": [1, True, 2.5],
    "encoding": ["x", None],
    "test": ["x", None],
    "otherwise": ["x", None],
    "propose": [0, -1, math.nan, True, None],
    "queries": [0, True, 1.5],
    "threshold": [math.nan, 0.5, "x", True, None],
    "spread": [0, True, 1.5],
    "low": [100, 200, 0.5, True, None, "x", -(2**60)],
    "high": [0, -1, 0.5, True, None, 2**60],
    "base": ["x", None],
    "origin": [2**60, 0.5, True, None],
    "unit": [0, -1, True, 0.5],
    "levels": [(), (0.5, 0.5), (0.5, 0.4), (0,), (1,), (math.nan,), None, 5],
    "centre": [0.5, True, None, "x"],
    "finest": [0, -1, True, 1.5, None],
    "rare": [0, -1, 0.6, 1, math.nan, True, None],
    "aside": [-1, math.nan, None, "x"],
    "rank": [0, -1, True, 1.5, None],
    "upper": ["x", None, 2],
    "bits": [-1, True, 1.5, None, 99],
    "keys": [(), ("a", "a"), None, 5, ([1],)],
    "monotone": ["x", None, 2],
    "rounds": [0, -1, True, 1.5, None, 10**9],
    "clip": [0, -1, math.nan, True, None],
    "stretch": [0, -1, math.nan, True, None],
    "question": [1, "x", Gram(())],
    "terms": [1, "x", ()],
    "columns": [1, "x", ()],
    "widths": [1, "x", ()],
    "required": [1, None],
    "bound": [0, -1, math.nan, True, None],
    "rate": [0, -1, math.nan, True, None],
    "curvature": [0, -1, math.nan, True, None],
    "radius": [0, -1, math.nan, True, None],
    "size": [0, -1, True, 1.5, "x"],
    "loss": ["x", None],
    "parts": [1, None, "yes"],
}
GOOD = {
    Laplace: {},
    Gaussian: {"delta": SMALL},
    RandomizedResponse: {},
    Exponential: {},
    PermuteAndFlip: {},
    NoisyMax: {},
    AboveThreshold: {"queries": 3},
    LaplaceHistogram: {"keys": ("a", "b")},
    Smooth: {},
    PublishedBound: {"delta": SMALL},
    ProposeTestRelease: {"delta": SMALL, "propose": 1},
    Stability: {"delta": SMALL},
    StableMode: {"delta": SMALL},
    StableHistogram: {"delta": SMALL},
    PartitionSelection: {"delta": SMALL},
    WeightedSelection: {"delta": SMALL},
    QuantileExponential: {"high": 100},
    QuantileEnd: {"high": 100},
    RankExponential: {"high": 100},
    JointExponential: {"high": 100},
    JointTop: {},
    ApproximateQuantiles: {"high": 100},
    SmoothVector: {},
    NormalEquations: {"delta": SMALL},
    BoostedRegression: {"delta": SMALL},
    LeastSquares: {"delta": SMALL},
    MomentMatrix: {"delta": SMALL},
    LogisticRegression: {"delta": SMALL},
    MultinomialRegression: {"delta": SMALL},
    MRegression: {"delta": SMALL},
    ObjectivePerturbation: {"delta": SMALL},
    NoisyDescent: {},
}


PURE = (Smooth, SmoothVector, NoisyDescent, RandomizedResponse, LeastSquares, LogisticRegression, MultinomialRegression)


@pytest.mark.parametrize("mechanism", GOOD, ids=lambda m: m.__name__)
def test_bad_parameters_are_refused_at_the_door_with_a_fix(mechanism):
    good = {"epsilon": 1, **GOOD[mechanism]}
    for name in (field.name for field in dataclasses.fields(mechanism)):
        for value in WRONG[name]:
            if (name, value) in ((("delta", 0)), ("epsilon", 0)) and mechanism in PURE:
                continue  # pure noise has no delta, and a fair coin is a legal law
            if (mechanism, name, value) in ((SmoothVector, "nu", None), (NoisyDescent, "rounds", None)):
                continue  # the law chooses its own degrees of freedom, the descent its number of steps
            noise = {"nu": {"noise": "student_t"}, "gamma": {"noise": "generalized_cauchy"}}.get(name, {})
            with pytest.raises(QueryError) as caught:
                mechanism(**{**good, **noise, name: value})
            assert caught.value.fix, (name, value)


def test_parameters_that_do_not_fit_each_other_are_refused():
    for build in (
        lambda: Smooth(1, beta=1),
        lambda: Smooth(1, beta=2),
        lambda: Smooth(1, noise="laplace"),
        lambda: Smooth(1, noise="gaussian", delta=0),
        lambda: Exponential(1, monotone=True, relation="replace"),
        lambda: NoisyMax(1, monotone=True, relation="replace"),
        lambda: Stability(1, 0.5),
        lambda: StableHistogram(0.1, 0.1),
        lambda: ProposeTestRelease(1, 0.6, 1),
        lambda: Stability("1e-9", SMALL).certificate(),
        lambda: QuantileExponential("1e-12", high=9),
        lambda: Laplace("1e-300"),
        lambda: Laplace(1, 10**300),
        lambda: LaplaceHistogram("1e-30", ("a",)),
        lambda: AboveThreshold("1e-30"),
        lambda: Gaussian(1, Fraction(1, 10**400)),
        lambda: RandomizedResponse(0).certificate(),
        lambda: RandomizedResponse(0).estimate([0, 1]),
    ):
        with pytest.raises(QueryError) as caught:
            build()
        assert caught.value.fix


def test_the_coin_of_two_coins_is_not_a_parameter():
    with pytest.raises(TypeError):
        TwoCoins(truth=Fraction(99, 100))


@pytest.mark.parametrize("options", [2, 3, 5])
@pytest.mark.parametrize("epsilon", ["1e-25", "1e-18", "1e-9"])
def test_a_tiny_epsilon_does_not_make_the_truth_the_rarest_report(options, epsilon):
    mechanism = RandomizedResponse(epsilon, options)
    high, low = max(mechanism.keep, mechanism.lie), min(mechanism.keep, mechanism.lie)
    assert high / low <= exp_up(Fraction(epsilon))


AWKWARD = {
    "empty": [],
    "one row": [3],
    "all ties": [50] * 60,
    "mass at the bounds": [0] * 30 + [100] * 30,
    "wide whole numbers": [2**70, -(2**70), 2**53 + 1, 10**400, 7],
    "infinities": [math.inf, -math.inf, 1e300, -0.0],
    "booleans": [True, False, True],
}


@pytest.mark.parametrize("column", AWKWARD)
@pytest.mark.parametrize("statistic", ["median", "quantile", "min", "max", "iqr"])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_awkward_columns_are_released_without_a_word(column, statistic, relation):
    options = {"statistic": statistic, "bounds": (0, 100), "relation": relation, "max_rows": 2, "resolution": "0.01"}
    if statistic == "quantile":
        options["q"] = "0.9"
    for mechanism in (
        Smooth(1),
        PublishedBound(1, SMALL),
        ProposeTestRelease(1, SMALL, 1),
        ProposeTestRelease(1, SMALL, 1, "laplace", "global"),
    ):
        value = sd.release(mechanism, AWKWARD[column], **options).value
        number = value[0] if isinstance(value, tuple) else value
        if isinstance(number, float | int):
            assert 0 <= number <= 100


@pytest.mark.parametrize("column", AWKWARD)
def test_awkward_columns_have_a_private_quantile(column):
    for base in ("uniform", "arsinh"):
        assert 0 <= sd.release(QuantileExponential(1, high=100, base=base), AWKWARD[column]).value <= 100
        assert 0 <= sd.release(RankExponential(1, high=100, base=base), AWKWARD[column]).value <= 100
        for many in (JointExponential, ApproximateQuantiles):
            low, high = sd.release(many(1, ("0.25", "0.75"), high=100, base=base), AWKWARD[column]).value
            assert 0 <= low <= high <= 100


@pytest.mark.parametrize("column", ["all ties", "mass at the bounds", "wide whole numbers", "infinities"])
@pytest.mark.parametrize("statistic", ["trimmed_mean", "winsorized_mean"])
def test_awkward_columns_have_a_private_trimmed_mean(column, statistic):
    found = sd.release(Smooth(1), AWKWARD[column], statistic=statistic, bounds=(0, 100), relation="replace", trim=1)
    assert 0 <= float(found) <= 100


@pytest.mark.parametrize(
    "keys", [[], ["a"], ["a", "b"] * 40, [None, (1, 2), b"x", "x", 1, math.nan, math.nan], {"a": 5, "b": 0}, np.array([1, 2, 1])]
)
def test_awkward_keys_are_released_without_a_word(keys):
    for mechanism in (
        StableMode(1, SMALL),
        StableMode(1, SMALL, 3, "replace"),
        StableHistogram(1, SMALL),
        StableHistogram(1, SMALL, "gaussian"),
        PartitionSelection(1, SMALL),
        LaplaceHistogram(1, ("a", "b")),
    ):
        assert sd.release(mechanism, keys).mechanism == type(mechanism).__name__


def test_a_level_with_many_digits_does_not_overflow_at_a_private_number_of_rows():
    third = QuantileExponential(1, 1 / 3, high=100)
    for n in (2767, 2768, 10_000):
        law = np.exp(third.log_probability(np.arange(n) % 101, np.arange(101)))
        assert law.sum() == pytest.approx(1)


def test_no_weight_of_the_quantile_underflows_to_zero():
    for epsilon in (100, 2000, 10**6):
        law = QuantileExponential(epsilon, high=100).log_probability(np.array([50] * 9), np.arange(101))
        assert np.isfinite(law).all()
