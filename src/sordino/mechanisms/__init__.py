"""The mechanisms, one file each. `catalog()` walks the folder; `find(name)` knows the names the lecture notes use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sordino.mechanisms.listing import Mechanism, catalog, find

if TYPE_CHECKING:
    from sordino.mechanisms.above_threshold import AboveThreshold
    from sordino.mechanisms.approximate_quantiles import ApproximateQuantiles
    from sordino.mechanisms.boosted_regression import BoostedRegression
    from sordino.mechanisms.exponential import Exponential
    from sordino.mechanisms.gaussian import Gaussian
    from sordino.mechanisms.joint_exponential import JointExponential
    from sordino.mechanisms.joint_top import JointTop
    from sordino.mechanisms.laplace import Laplace
    from sordino.mechanisms.laplace_histogram import LaplaceHistogram
    from sordino.mechanisms.least_squares import LeastSquares
    from sordino.mechanisms.logistic_regression import LogisticRegression
    from sordino.mechanisms.m_regression import MRegression
    from sordino.mechanisms.moment_matrix import MomentMatrix
    from sordino.mechanisms.multinomial_regression import MultinomialRegression
    from sordino.mechanisms.noisy_descent import NoisyDescent
    from sordino.mechanisms.noisy_max import NoisyMax
    from sordino.mechanisms.normal_equations import NormalEquations
    from sordino.mechanisms.objective_perturbation import ObjectivePerturbation
    from sordino.mechanisms.partition_selection import PartitionSelection
    from sordino.mechanisms.permute_and_flip import PermuteAndFlip
    from sordino.mechanisms.propose_ladder import ProposeLadder
    from sordino.mechanisms.propose_test_release import ProposeTestRelease
    from sordino.mechanisms.published_bound import PublishedBound
    from sordino.mechanisms.quantile_end import QuantileEnd
    from sordino.mechanisms.quantile_exponential import QuantileExponential
    from sordino.mechanisms.randomized_response import RandomizedResponse
    from sordino.mechanisms.rank_exponential import RankExponential
    from sordino.mechanisms.sample_aggregate import SampleAggregate
    from sordino.mechanisms.smooth import Smooth
    from sordino.mechanisms.smooth_vector import SmoothVector
    from sordino.mechanisms.stability import Stability
    from sordino.mechanisms.stable_histogram import StableHistogram
    from sordino.mechanisms.stable_mode import StableMode
    from sordino.mechanisms.two_coins import TwoCoins
    from sordino.mechanisms.weighted_selection import WeightedSelection

__all__ = [
    "AboveThreshold",
    "ApproximateQuantiles",
    "BoostedRegression",
    "Exponential",
    "Gaussian",
    "JointExponential",
    "JointTop",
    "Laplace",
    "LaplaceHistogram",
    "LeastSquares",
    "LogisticRegression",
    "MRegression",
    "Mechanism",
    "MomentMatrix",
    "MultinomialRegression",
    "NoisyDescent",
    "NoisyMax",
    "NormalEquations",
    "ObjectivePerturbation",
    "PartitionSelection",
    "PermuteAndFlip",
    "ProposeLadder",
    "ProposeTestRelease",
    "PublishedBound",
    "QuantileEnd",
    "QuantileExponential",
    "RandomizedResponse",
    "RankExponential",
    "SampleAggregate",
    "Smooth",
    "SmoothVector",
    "Stability",
    "StableHistogram",
    "StableMode",
    "TwoCoins",
    "WeightedSelection",
    "catalog",
    "find",
]


if not TYPE_CHECKING:  # a name that is not there is an error to a type checker too

    def __getattr__(name: str) -> Any:
        """Load a mechanism's file when it is first named."""
        if name == "textbook":  # deprecated: it lives in sordino.course
            return import_module("sordino.mechanisms.textbook")
        if name in __all__:
            snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")
            return getattr(import_module(f"sordino.mechanisms.{snake}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
