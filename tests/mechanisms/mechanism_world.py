"""What the tests of mechanisms share: every mechanism with neighbours it can be tried on, and small worlds listed to the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sordino.lab.world import exact_law, hockey, loss, neighbours
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
)
from sordino.summaries import Near, Rung

VALUES = range(4)
SIZES = range(5)
RELATIONS = ("add_remove", "replace")
LEVELS = ("0", "0.1", "0.25", "0.5", "0.75", "0.9", "1")
TENTH = Fraction(1, 10)


@dataclass(frozen=True)
class Case:
    """A mechanism for every epsilon, three pairs of neighbours for it, and how the data are to be read."""

    name: str
    make: Callable[[Any], Any]
    pairs: tuple[tuple[Any, Any], ...]
    options: dict[str, Any] = field(default_factory=dict)
    vectorised: bool = False
    new_key: tuple[Any, Any] | None = None  # neighbours of which one holds a key that the other never saw
    slow: bool = False  # many draws make one outcome

    def __repr__(self) -> str:
        return self.name


LOW_HIGH = [0] * 5 + [100] * 5
COLUMNS = ((LOW_HIGH, [*LOW_HIGH, 100]), (list(range(0, 100, 7)), [*range(0, 100, 7), 100]), ([50] * 9, [50] * 9 + [0]))
MEDIAN = {"statistic": "median", "bounds": (0, 100), "resolution": 1}
SWAPS = tuple((a, [*a[:-1], b[-1] if b[-1] != a[-1] else 0]) for a, b in COLUMNS)
SCORES = (([5, 5, 0], [4, 6, 0]), ([9, 0, 0], [8, 1, 0]), ([2, 2, 2], [3, 1, 1]))
KEYS = ({"a": 9, "b": 8}, {"a": 9, "b": 9}), ({"a": 5, "b": 1}, {"a": 4, "b": 1}), ({"a": 3}, {"a": 4})
NEW = ({"a": 5}, {"a": 5, "b": 1})
HELD = [("a",)] * 9 + [("a", "b")] * 4 + [("a", "b", "c")] * 3
HOLDERS = ((HELD, [*HELD, ("a", "b", "c")]), (HELD, HELD[1:]), (HELD, [*HELD, ("b",)]))  # people with their keys
HOLDER = (HELD, [*HELD, ("d",)])
SMALL = Fraction(1, 20)

# rows of one predictor and a target: a leverage point joins, a label flips sides, an all-zero table gains its only row
POINTS = [[0.1 * i, 0.05 * i] for i in range(8)]
LINES = ((POINTS, [*POINTS, [1.0, -1.0]]), ([[0.0, 0.0]] * 5, [*[[0.0, 0.0]] * 5, [1.0, 1.0]]), ([[1.0, 1.0]], [[1.0, 1.0], [-1.0, 1.0]]))
FLIPS = tuple((a, [*a[:-1], [a[-1][0], -a[-1][1]]]) for a in ([*POINTS, [1.0, 1.0]], [[1.0, -1.0]], [[-1.0, 0.5]] * 3))
STEPS = tuple(Fraction(2**k) for k in range(12))


def vector(first: tuple[int, ...], index: int) -> Rung:
    """A vector in grid steps, on a rung of a ladder whose scales double."""
    return Rung(first, index, STEPS)  # type: ignore[arg-type]


VECTORS = ((vector((0, 0), 4), vector((8, 8), 5)), (vector((3, 1), 0), vector((3, 2), 0)), (vector((0, 0), 6), vector((0, 0), 7)))

CASES = (
    Case("Laplace", Laplace, ((3, 4), (0, -1), (2**60, 2**60 + 1)), vectorised=True),
    Case(
        "Laplace, a vector",
        lambda e: Laplace(e, 2, dimension=3),
        (([1, 2, 3], [2, 2, 2]), ([0, 0, 0], [2, 0, 0]), ([5, 5, 5], [5, 4, 4])),
    ),
    Case("Laplace, a fraction", lambda e: Laplace(e, "0.3"), ((1.0, 1.3), (0.1, 0.4), (-0.2, 0.1)), vectorised=True),
    Case("Gaussian", lambda e: Gaussian(e, SMALL), ((3, 4), (0, -1), (100, 101)), vectorised=True),
    Case("Gaussian, a vector", lambda e: Gaussian(e, SMALL, 2, 2), (([0, 0], [1, 1]), ([0, 0], [2, 0]), ([7, 1], [7, 3]))),
    Case("two coins", lambda _: TwoCoins(), ((0, 1), (1, 0), (0, 1))),
    Case("randomized response", RandomizedResponse, ((0, 1), (1, 0), (0, 1))),
    Case("randomized response of five", lambda e: RandomizedResponse(e, 5), ((0, 1), (4, 2), (3, 0))),
    Case("randomized response, unary", lambda e: RandomizedResponse(e, 3, "unary"), ((0, 1), (2, 1), (2, 0))),
    Case("exponential", Exponential, SCORES),
    Case("permute and flip", PermuteAndFlip, SCORES),
    Case("noisy max", NoisyMax, SCORES),
    Case("joint top two", JointTop, SCORES),
    Case("above threshold", lambda e: AboveThreshold(e, 2, 3), (([2, 2, 2], [3, 3, 1]), ([0, 0, 9], [1, 1, 8]), ([1, 5, 0], [2, 4, 1]))),
    Case("Laplace histogram", lambda e: LaplaceHistogram(e, ("a", "b")), (*KEYS, NEW)[1:]),
    Case(
        "Laplace histogram, replace",
        lambda e: LaplaceHistogram(e, ("a", "b"), relation="replace"),
        (({"a": 3, "b": 3}, {"a": 4, "b": 2}), ({"a": 1}, {"b": 1}), ({"a": 9}, {"a": 8})),
    ),
    *(Case(f"smooth, {z}", lambda e, z=z: Smooth(e, noise=z), COLUMNS, MEDIAN, True) for z in ("power_law", "student_t", "cauchy")),
    Case("smooth, generalized_cauchy", lambda e: Smooth(e, noise="generalized_cauchy"), COLUMNS, MEDIAN, True),
    *(
        Case(f"smooth, {z}", lambda e, z=z: Smooth(e, noise=z, delta=SMALL), SWAPS, {**MEDIAN, "relation": "replace"}, True)
        for z in ("laplace", "gaussian")
    ),
    Case("published bound", lambda e: PublishedBound(e, SMALL, beta=Fraction(1, 2)), COLUMNS, MEDIAN),
    Case("propose-test-release", lambda e: ProposeTestRelease(e, SMALL, 10), COLUMNS, MEDIAN),
    Case("proposals on a ladder", lambda e: ProposeLadder(e, SMALL, (5, 10, 50)), COLUMNS, MEDIAN),
    Case("propose-test-release, Laplace", lambda e: ProposeTestRelease(e, SMALL, 10, "laplace"), COLUMNS, MEDIAN),
    Case("propose-test-release, global", lambda e: ProposeTestRelease(e, SMALL, 10, otherwise="global"), COLUMNS, MEDIAN),
    Case(
        "stability",
        lambda e: Stability(e, SMALL),
        ((Near(0, "x"), Near(1, "x")), (Near(2, "x"), Near(1, "x")), (Near(5, "x"), Near(6, "x"))),
    ),
    Case("stable mode", lambda e: StableMode(e, SMALL), (KEYS[0], KEYS[1], NEW)),
    Case(
        "stable top two",
        lambda e: StableMode(e, SMALL, 2),
        (KEYS[1], ({"a": 9, "b": 5, "c": 1}, {"a": 9, "b": 5, "c": 2}), ({"a": 9, "b": 9, "c": 2}, {"a": 9, "b": 8, "c": 2})),
    ),
    Case("stable histogram", lambda e: StableHistogram(e, SMALL), KEYS, new_key=NEW),
    Case("stable histogram, Gaussian", lambda e: StableHistogram(e, SMALL, "gaussian", 2), KEYS, new_key=NEW),
    Case("partition selection", lambda e: PartitionSelection(e, SMALL), KEYS, new_key=NEW),
    Case("weighted selection", lambda e: WeightedSelection(e, SMALL, 3), HOLDERS, new_key=HOLDER),
    Case("quantile", lambda e: QuantileExponential(e, high=100), COLUMNS),
    Case("quantile, replace", lambda e: QuantileExponential(e, "0.9", high=100, relation="replace"), SWAPS),
    Case("middle of the answers of parts", lambda e: SampleAggregate(e, high=100), SWAPS),
    Case("lower end of a median", lambda e: QuantileEnd(e, high=100, centre=40), COLUMNS),
    Case("upper end of a quantile, replace", lambda e: QuantileEnd(e, "0.9", high=100, upper=True, relation="replace"), SWAPS),
    Case("quantile, arsinh", lambda e: QuantileExponential(e, low=-100, high=100, base="arsinh", unit=4), COLUMNS),
    Case("rank", lambda e: RankExponential(e, high=100, rank=3), COLUMNS),
    Case("rank, replace", lambda e: RankExponential(e, high=100, rank=2, upper=True, relation="replace"), SWAPS),
    Case("joint quantiles", lambda e: JointExponential(e, high=100), COLUMNS),
    Case("joint quantiles, replace", lambda e: JointExponential(e, ("0.1", "0.5", "0.6"), high=100, relation="replace"), SWAPS),
    Case("joint quantiles, arsinh", lambda e: JointExponential(e, low=-100, high=100, base="arsinh", unit=4), COLUMNS),
    Case("approximate quantiles", lambda e: ApproximateQuantiles(e, ("0.1", "0.2", "0.5", "0.9"), high=100), COLUMNS),
    Case("approximate quantiles, replace", lambda e: ApproximateQuantiles(e, ("0.3", "0.5"), high=100, relation="replace"), SWAPS),
    Case("smooth vector", lambda e: SmoothVector(6 * e, 2, beta=Fraction(7, 10)), VECTORS),
    Case("smooth vector, Laplace", lambda e: SmoothVector(8 * e, 2, Fraction(7, 10), "laplace", SMALL), VECTORS),
    Case("normal equations", lambda e: NormalEquations(e, SMALL), LINES),
    Case("normal equations, replace", lambda e: NormalEquations(e, SMALL, relation="replace"), FLIPS),
    Case("boosted regression", lambda e: BoostedRegression(e, SMALL, rounds=3), LINES, slow=True),
    Case("least squares", lambda e: LeastSquares(e, SMALL), LINES, slow=True),
    Case("least squares, replace", lambda e: LeastSquares(e, SMALL, relation="replace"), FLIPS, slow=True),
    Case("least squares, Laplace", lambda e: LeastSquares(e, 0), LINES, slow=True),
    Case("logistic regression, Laplace", lambda e: LogisticRegression(e, 0), LINES, slow=True),
    Case("multinomial regression", lambda e: MultinomialRegression(e, SMALL), LINES, slow=True),
    Case("M-regression", lambda e: MRegression(e, SMALL), LINES, slow=True),
    Case("logistic regression", lambda e: LogisticRegression(e, SMALL), LINES, slow=True),
    Case("logistic regression, replace", lambda e: LogisticRegression(e, SMALL, relation="replace"), FLIPS, slow=True),
    Case("objective perturbation", lambda e: ObjectivePerturbation(e, SMALL), LINES, slow=True),
    Case("objective perturbation, replace", lambda e: ObjectivePerturbation(e, SMALL, relation="replace"), FLIPS, slow=True),
    Case("moment matrix", lambda e: MomentMatrix(e, SMALL), LINES),
    Case("moment matrix, replace", lambda e: MomentMatrix(e, SMALL, relation="replace"), FLIPS),
    Case("boosted regression, replace", lambda e: BoostedRegression(e, SMALL, rounds=2, relation="replace"), FLIPS, slow=True),
    Case("noisy descent", lambda e: NoisyDescent(e, rounds=3, dimension=2, size=8), LINES),
    Case("noisy descent, Gaussian", lambda e: NoisyDescent(e, SMALL, rounds=3, dimension=2), LINES),
    Case("noisy descent, replace", lambda e: NoisyDescent(e, rounds=2, dimension=2, relation="replace"), FLIPS),
)


def worst_pair(
    mechanism: Any,
    near: str,
    *,
    read: Callable[[Any], Any] = lambda table: table,
    rows: int = 1,
    sizes: Iterable[int] = SIZES,
    **options: Any,
) -> tuple[float, float]:
    """The largest hockey stick at the claimed epsilon, and the largest log-ratio, over every pair of neighbours in the small world."""
    laws: dict[str, Any] = {}

    def law(table: Any) -> Any:
        data = read(table)
        name = repr(data)
        if name not in laws:
            laws[name] = exact_law(mechanism, data, **options)
        return laws[name]

    epsilon, stick, ratio = float(mechanism.certificate().cost.epsilon), 0.0, 0.0
    for one, other in neighbours(VALUES, sizes, near, max_rows=rows):
        p, q = law(one), law(other)
        stick, ratio = max(stick, hockey(p, q, epsilon)), max(ratio, loss(p, q))
    return stick, ratio


def holds(mechanism: Any, near: str, *, tolerance: float = 1e-12, **options: Any) -> bool:
    """The claim is true on the whole small world."""
    stick, _ = worst_pair(mechanism, near, **options)
    return stick <= float(mechanism.certificate().cost.delta) * (1 + 1e-9) + tolerance
