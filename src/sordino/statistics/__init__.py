"""The questions one may ask of a table: each says what it needs, what it costs and how its answer is drawn."""

from __future__ import annotations

from types import FunctionType

from sordino.errors import builds
from sordino.statistics.applied import apply
from sordino.statistics.average import mean
from sordino.statistics.averages import means
from sordino.statistics.bins import histogram
from sordino.statistics.custom import statistic
from sordino.statistics.extreme import max, min
from sordino.statistics.peak import mode
from sordino.statistics.port import Answer, Context, Counted, Statistic, Step
from sordino.statistics.position import median, quantile, quantiles
from sordino.statistics.predicates import counts
from sordino.statistics.quartile import iqr
from sordino.statistics.regression import m_regress, regress
from sordino.statistics.robust import huber_mean, m_estimate
from sordino.statistics.rows import count
from sordino.statistics.second_moment import gram
from sordino.statistics.share import Plan, bundles, plan_steps
from sordino.statistics.spread import std, variance
from sordino.statistics.top import top_k
from sordino.statistics.total import sum
from sordino.statistics.trimming import trimmed_mean, winsorized_mean
from sordino.statistics.units import count_units

__all__ = [
    "Answer",
    "Context",
    "Counted",
    "Plan",
    "Statistic",
    "Step",
    "apply",
    "bundles",
    "count",
    "count_units",
    "counts",
    "gram",
    "histogram",
    "huber_mean",
    "iqr",
    "m_estimate",
    "m_regress",
    "max",
    "mean",
    "means",
    "median",
    "min",
    "mode",
    "plan_steps",
    "quantile",
    "quantiles",
    "regress",
    "statistic",
    "std",
    "sum",
    "top_k",
    "trimmed_mean",
    "variance",
    "winsorized_mean",
]

for _name in __all__:
    if isinstance(globals()[_name], FunctionType) and _name not in ("bundles", "plan_steps"):
        globals()[_name] = builds(globals()[_name])
