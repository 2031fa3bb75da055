"""The questions one may ask of a table: each says what it needs, what it costs and how its answer is drawn."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from sordino.statistics.aggregated import aggregate
from sordino.statistics.applied import apply
from sordino.statistics.budget_split import Plan, bundles, plan_steps
from sordino.statistics.column_mean import mean, means
from sordino.statistics.column_mode import mode, top_k
from sordino.statistics.column_quantile import iqr, median, quantile, quantiles
from sordino.statistics.column_sum import sum
from sordino.statistics.column_variance import std, variance
from sordino.statistics.custom import statistic
from sordino.statistics.distinct import count_distinct
from sordino.statistics.extreme import max, min
from sordino.statistics.histograms import histogram
from sordino.statistics.port import Answer, Context, Counted, Statistic, Step
from sordino.statistics.registry import Registered, catalog, make, registered
from sordino.statistics.regression import m_regress, regress
from sordino.statistics.robust import huber_mean, m_estimate, trimmed_mean, winsorized_mean
from sordino.statistics.row_count import count, count_units, counts
from sordino.statistics.second_moment import gram
from sordino.statistics.term_statistic import written

__all__ = [
    "Answer",
    "Context",
    "Counted",
    "Plan",
    "Registered",
    "Statistic",
    "Step",
    "aggregate",
    "apply",
    "bundles",
    "catalog",
    "count",
    "count_distinct",
    "count_units",
    "counts",
    "gram",
    "histogram",
    "huber_mean",
    "iqr",
    "m_estimate",
    "m_regress",
    "make",
    "max",
    "mean",
    "means",
    "median",
    "min",
    "mode",
    "plan_steps",
    "quantile",
    "quantiles",
    "registered",
    "regress",
    "statistic",
    "std",
    "sum",
    "top_k",
    "trimmed_mean",
    "variance",
    "winsorized_mean",
    "written",
]

for _module in iter_modules(__path__):  # a file of this folder is enough for a statistic to be registered
    import_module(f"{__name__}.{_module.name}")
