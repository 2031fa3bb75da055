"""The questions a table knows, as one-word methods shared by tables, filtered queries and groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sordino import statistics

__all__ = ["Verbs"]


class Verbs:
    """Each verb asks one statistic and returns a query; nothing is read until it is released."""

    def _ask(self, statistic: Any) -> Any:
        raise NotImplementedError

    def count(self) -> Any:
        """How many rows."""
        return self._ask(statistics.count())

    def count_units(self) -> Any:
        """How many people (or rows, where a row is the unit)."""
        return self._ask(statistics.count_units())

    def counts(self, predicates: Sequence[str]) -> Any:
        """How many rows fulfil each of several conditions, in one release."""
        return self._ask(statistics.counts([self._condition(text) for text in predicates]))

    def _condition(self, text: str) -> Any:
        raise NotImplementedError

    def sum(self, column: str) -> Any:
        """The sum of a column, clamped to its public bounds."""
        return self._ask(statistics.sum(column))

    def mean(self, column: str) -> Any:
        """The mean of a column, clamped to its public bounds."""
        return self._ask(statistics.mean(column))

    def means(self, columns: Sequence[str]) -> Any:
        """The means of several columns, in one release."""
        return self._ask(statistics.means(list(columns)))

    def variance(self, column: str) -> Any:
        """The variance of a column."""
        return self._ask(statistics.variance(column))

    def std(self, column: str) -> Any:
        """The standard deviation of a column."""
        return self._ask(statistics.std(column))

    def median(self, column: str) -> Any:
        """The median of a column."""
        return self._ask(statistics.median(column))

    def quantile(self, column: str, q: Any) -> Any:
        """The q-quantile of a column."""
        return self._ask(statistics.quantile(column, q))

    def quantiles(self, column: str, q: Sequence[Any]) -> Any:
        """Several quantiles of a column, in one release."""
        return self._ask(statistics.quantiles(column, list(q)))

    def iqr(self, column: str) -> Any:
        """The interquartile range of a column."""
        return self._ask(statistics.iqr(column))

    def min(self, column: str) -> Any:
        """A low quantile of a column that stands for its minimum."""
        return self._ask(statistics.min(column))

    def max(self, column: str) -> Any:
        """A high quantile of a column that stands for its maximum."""
        return self._ask(statistics.max(column))

    def mode(self, column: str) -> Any:
        """The most frequent value of a column."""
        return self._ask(statistics.mode(column))

    def top_k(self, column: str, k: int) -> Any:
        """The k most frequent values of a column."""
        return self._ask(statistics.top_k(column, k))

    def histogram(self, column: str, *, bins: Any = None, keys: Any = None) -> Any:
        """Counts by value or by bin of a column."""
        return self._ask(statistics.histogram(column, bins=bins, keys=keys))
