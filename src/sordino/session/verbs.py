"""The questions a table knows, as one-word methods shared by tables, filtered queries and groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from sordino import statistics
from sordino.errors import QueryError, builds
from sordino.schema.column import Column
from sordino.schema.expression import Predicate
from sordino.statistics import Statistic
from sordino.statistics.custom import Custom
from sordino.statistics.registry import find, is_verb

if TYPE_CHECKING:
    from sordino.session.comparison import Comparison
    from sordino.session.description import Describing
    from sordino.session.gram import MomentsQuery
    from sordino.session.query import Query
    from sordino.session.ranges import RangesQuery
    from sordino.session.shared import Shared
    from sordino.session.sharing import Sharing

__all__ = ["TableVerbs", "Verbs"]

MOST_CUBED = 6  # columns
Q = TypeVar("Q")  # the question a verb makes: of a table at hand, or of one on a server


class Verbs(Generic[Q]):
    """Each verb asks one statistic and returns a query; nothing is read until it is released."""

    def _ask(self, statistic: Statistic) -> Q:
        raise NotImplementedError

    def ask(self, verb: str, *given: Any, **named: Any) -> Q:
        """Any registered statistic by its name, as `people.ask("median", "cost")`: also one that has no method here."""
        known = find(verb) if is_verb(verb) else None
        typed = getattr(type(self), verb, None) if known is not None and known.own else None
        if typed is not None:
            found: Q = typed(self, *given, **named)
            return found
        return self._ask(statistics.make(verb, *given, **named))

    def count(self) -> Q:
        """How many rows."""
        return self._ask(statistics.count())

    def count_units(self) -> Q:
        """How many people (or rows, where a row is the unit)."""
        return self._ask(statistics.count_units())

    def count_distinct(self, column: str) -> Q:
        """How many different values a column has, each person covering at most as many as they may be in groups."""
        return self._ask(statistics.count_distinct(column))

    def counts(self, predicates: Sequence[str]) -> Q:
        """How many rows fulfil each of several conditions, in one release."""
        return self._ask(statistics.counts([self._condition(text) for text in predicates]))

    def _condition(self, text: str) -> Predicate:
        raise NotImplementedError

    def sum(self, column: str) -> Q:
        """The sum of a column, clamped to its public bounds."""
        return self._ask(statistics.sum(column))

    def mean(self, column: str, *, method: str = "auto", bounds: str | None = None) -> Q:
        """The mean of a column, by "clamped", "two_stage" or "trimmed"; bounds="private" where it has no public bounds."""
        return self._ask(statistics.mean(column, method, bounds))

    def means(self, columns: Sequence[str]) -> Q:
        """The means of several columns, in one release."""
        return self._ask(statistics.means(list(columns)))

    def trimmed_mean(self, column: str, trim: Any = "0.1") -> Q:
        """The mean without the smallest and the largest share `trim` of the rows."""
        return self._ask(statistics.trimmed_mean(column, trim))

    def winsorized_mean(self, column: str, trim: Any = "0.1") -> Q:
        """The mean with the smallest and the largest share `trim` of the rows moved inwards."""
        return self._ask(statistics.winsorized_mean(column, trim))

    def huber_mean(self, column: str, *, scale: Any = None) -> Q:
        """Huber's mean; `scale` is a public guess at one standard deviation, found privately if not given."""
        return self._ask(statistics.huber_mean(column, scale))

    def m_estimate(self, column: str, psi: Any = "huber", *, scale: Any = None) -> Q:
        """The M-estimate of location for "huber", "logcosh" or a bounded non-decreasing function psi."""
        return self._ask(statistics.m_estimate(column, psi, scale))

    def variance(self, column: str) -> Q:
        """The variance of a column."""
        return self._ask(statistics.variance(column))

    def std(self, column: str) -> Q:
        """The standard deviation of a column."""
        return self._ask(statistics.std(column))

    def median(self, column: str, *, bounds: str | None = None, interval: Any = True, level: Any = "0.95") -> Q:
        """The median of a column with an interval in its unit; bounds="private" where its public bounds are missing or say nothing.

        interval=False is one draw with a rank bar, interval="total" an interval about the population, `level` how sure it is.
        """
        return self._ask(statistics.median(column, bounds=bounds, interval=interval, level=level))

    def quantile(self, column: str, q: Any, *, bounds: str | None = None, interval: Any = True, level: Any = "0.95") -> Q:
        """The q-quantile of a column with an interval in its unit; see `median`."""
        return self._ask(statistics.quantile(column, q, bounds=bounds, interval=interval, level=level))

    def quantiles(self, column: str, q: Sequence[Any], *, bounds: str | None = None, interval: Any = True, level: Any = "0.95") -> Q:
        """Several quantiles of a column, in one release, each with an interval of its own; see `median`."""
        return self._ask(statistics.quantiles(column, list(q), bounds=bounds, interval=interval, level=level))

    def iqr(self, column: str, *, bounds: str | None = None) -> Q:
        """The interquartile range of a column."""
        return self._ask(statistics.iqr(column, bounds=bounds))

    def min(self, column: str) -> Q:
        """A low quantile of a column that stands for its minimum."""
        return self._ask(statistics.min(column))

    def max(self, column: str) -> Q:
        """A high quantile of a column that stands for its maximum."""
        return self._ask(statistics.max(column))

    def mode(self, column: str) -> Q:
        """The most frequent value of a column."""
        return self._ask(statistics.mode(column))

    def top_k(self, column: str, k: int, *, counts: bool = False) -> Q:
        """The k most frequent values of a column in rank order; with `counts`, and their price, the number of rows of each."""
        return self._ask(statistics.top_k(column, k, counts))

    def histogram(self, column: str, *, bins: Any = None, keys: Any = None, ranges: bool = False) -> Q:
        """Counts by value or by bin of a column; with `ranges` drawn so that ranges of bins have little noise. See `Release.between`."""
        return self._ask(statistics.histogram(column, bins=bins, keys=keys, ranges=ranges))

    def regress(self, formula: str, *, loss: str = "squares", method: str = "auto") -> Q:
        """The coefficients of a linear predictor, such as "cost ~ age + C(sex)"; loss "squares", "huber" or, for a bool, "logistic"."""
        return self._ask(statistics.regress(formula, self._declared(), loss=loss, method=method))

    def logistic(self, formula: str, *, method: str = "auto") -> Q:
        """Logistic regression: the log odds of a bool, or of a column's public keys against the first, as in "smoker ~ age + C(sex)".

        method="objective" draws once and not in rounds: one point, shrunk towards zero, without an interval.
        """
        return self._ask(statistics.regress(formula, self._declared(), loss="logistic", method=method))

    def m_regress(self, formula: str, *, psi: Any = "huber", scale: Any = None) -> Q:
        """An M-estimate with regression terms, for psi "huber", "logcosh", "tukey" or a bounded function; `scale` is that of the errors."""
        return self._ask(statistics.m_regress(formula, self._declared(), psi, scale))

    def _declared(self) -> Mapping[str, Column]:
        raise NotImplementedError


# what people write by habit, and what it is called here
JOIN = 'sd.dataset({...}, person={...}).sql("SELECT ... JOIN ...")'
WHERE = 'where("age >= 18")'
NO_ROWS = "share(...), a made-up table: rows themselves are never shown"
ELSEWHERE = {
    "groupby": 'group_by("ward").mean("cost")', "value_counts": 'group_by("ward").count()', "nunique": 'count_distinct("city")',
    "corr": 'sql("SELECT CORR(a, b) AS r FROM ...")', "cov": 'gram(["a", "b"])', "filter": WHERE, "query": WHERE,
    "select": 'sql("SELECT ...")', "average": 'mean("cost")', "avg": 'mean("cost")', "stddev": 'std("cost")', "var": 'variance("cost")',
    "shape": "count().release(epsilon=1)", "join": JOIN, "merge": JOIN, "head": NO_ROWS, "sample": NO_ROWS, "iloc": WHERE,
    "loc": WHERE, "aggregate": 'agg(n=sd.count(), m=sd.mean("cost"))', "pivot_table": 'group_by("a", "b").mean("cost")',
}  # fmt: skip


def elsewhere(kind: str, name: str) -> AttributeError:
    """What is said of a name that is another library's."""
    if name in ELSEWHERE:
        return AttributeError(f"a {kind} has no {name!r}; write .{ELSEWHERE[name]}. Nothing was read or spent.")
    return AttributeError(f"{kind!r} object has no attribute {name!r}")


class TableVerbs(Verbs["Query"]):
    """The verbs of a table at hand: those of every table, one that takes a function, and those whose answers are computed with."""

    def _rows(self) -> Query:
        raise NotImplementedError

    if not TYPE_CHECKING:  # a name that is not there is an error to a type checker too

        def __getattr__(self, name: str) -> Any:
            if is_verb(name) and name not in ELSEWHERE:
                return partial(self.ask, name)
            raise elsewhere(type(self).__name__, name)

    def limit(self, *, rows: Any = None, groups: Any = None, rows_per_group: Any = None) -> Query:
        """Count less of every person than declared, in this question: `visits.group_by("ward").limit(rows=1).count()`.

        `rows` of a person in all, `groups` a person may count in, `rows_per_group` in each of them. Less of a person is less noise, and
        the answer is about the rows that are kept.

        rows="private" draws the limit, for counts and sums: with a fifth of the first price, as a release of its own. It belongs to these
        rows and groups, is free afterwards, and stands in `about`.
        """
        query = self._rows()
        narrower = query.asked.limited(query.table.unit, rows=rows, groups=groups, rows_per_group=rows_per_group)
        return replace(query, asked=narrower)

    def row_limit(self) -> Query:
        """A limit on the rows of a person that fits these rows and groups, drawn: `n = visits.row_limit().release(epsilon=0.2).value`.

        It is what limit(rows="private") draws first. Give it to limit(rows=n), also on a server, where the two are paid one by one.
        """
        from sordino.session.private_limit import cap_question

        return cap_question(self.limit(rows="private").count())

    def rollup(self, *columns: str) -> Query:
        """By all of these columns, by all but the last, and so on to the total: counts and sums in one release that add up."""
        return self.grouping_sets(*(columns[:size] for size in range(len(columns), -1, -1)))

    def cube(self, *columns: str) -> Query:
        """By every choice among these columns, down to the total: counts and sums in one release that add up."""
        if len(columns) > MOST_CUBED:
            raise QueryError("SRD-208", f"a cube of {len(columns)} columns.", f"Name at most {MOST_CUBED}.")
        return self.grouping_sets(*chain.from_iterable(combinations(columns, size) for size in range(len(columns), -1, -1)))

    def grouping_sets(self, *sets: Sequence[str]) -> Query:
        """Counts and sums by several groupings in one release that add up: `visits.grouping_sets(["ward", "sex"], ["ward"], []).count()`.

        Limits per person hold for all columns together. In an answer, columns that a grouping adds up over have None.
        """
        query = self._rows()
        return replace(query, asked=query.asked.group_by_sets(*sets))

    def compare(self, column: str, *, by: str) -> Comparison:
        """Means of a column compared between groups: difference, ratio and percent change, about the population."""
        from sordino.session.comparison import compare

        return compare(self._rows(), column, by)

    def describe(self, columns: Sequence[str] | None = None, *, level: float | None = None) -> Describing:
        """What people look at first, of every column or of these: count, means, spreads, quartiles, frequencies; one price for all."""
        from sordino.session.description import describe

        return describe(self._rows(), columns, level)

    def cdf(self, column: str, *, bins: Any = 256) -> RangesQuery:
        """Counts of bins, drawn so that any range of them has little noise: `people.cdf("income").release(epsilon=1).between(a, b)`."""
        from sordino.session.ranges import RangesQuery
        from sordino.statistics.histograms import cdf

        return RangesQuery(self._ask(cdf(column, bins=bins)))

    def gram(self, columns: Sequence[str]) -> MomentsQuery:
        """Second moments of several columns, paid once: correlations, components and regressions are free afterwards."""
        from sordino.session.gram import MomentsQuery

        return MomentsQuery(self._ask(statistics.gram(list(columns))))

    def sharing(
        self, *, columns: Sequence[str] | None = None, method: str = "adaptive", workload: Any = None, bins: Any = None,
        weight: str | None = None, target: str | None = None, rows: int | None = None, forbid: Sequence[str] = (),
        rounds: int | None = None,
    ) -> Sharing:  # fmt: skip
        """A table of nobody to share, before it is paid for: `.preview()` says what each price buys. Options are those of `share`."""
        from sordino.session.sharing import sharing

        return sharing(self._rows(), columns=columns, method=method, workload=workload, bins=bins, weight=weight, target=target, rows=rows,
                       forbid=forbid, rounds=rounds)  # fmt: skip

    def share(
        self, *, epsilon: Any = None, delta: Any = None, columns: Sequence[str] | None = None, method: str = "adaptive",
        workload: Any = None, bins: Any = None, weight: str | None = None, target: str | None = None, rows: int | None = None,
        forbid: Sequence[str] = (), rounds: int | None = None, rho: Any = None, fresh: bool = False, analyst: str | None = None,
        request: str | None = None, progress: Callable[[float], None] | None = None,
    ) -> Shared:  # fmt: skip
        """A table of nobody that resembles this one, with a paid error for every pair and triple of its columns (every pair
        of more than 15); one charge.

        columns= names those to share (all), method= is "adaptive", "tree" (a second) or "given", workload= the sets that matter (2: all
        pairs), target= a column to be predicted, bins= cells of numbers, weight= "person" or "row", rows= how many, forbid= conditions
        no row fulfils. On a terminal a bar shows how far the public schedule is; progress= is told instead.
        """
        from sordino.session.share_preview import bar

        asked = self.sharing(columns=columns, method=method, workload=workload, bins=bins, weight=weight, target=target, rows=rows,
                             forbid=forbid, rounds=rounds)  # fmt: skip
        with bar("charged; measuring", progress) as tell:
            return asked.release(epsilon=epsilon, delta=delta, rho=rho, fresh=fresh, analyst=analyst, request=request, progress=tell)

    def apply(
        self,
        statistic: Custom | Callable[..., Any],
        columns: Any = None,
        *,
        propose: Any = None,
        otherwise: str = "refuse",
        method: str | None = None,
        **limits: Any,
    ) -> Query:
        """A statistic of your own, made with `sd.statistic`, of one column or of several.

        `columns` is a name, a list in the order of the statistic's own columns, or a mapping from them; without it, the same names.
        `propose` and `otherwise` are for mechanism="ptr". With method="aggregate" it may be any function, about which nothing is known:
        it is run on `parts` that share nobody, each in a process of its own with `limit_s` seconds and `limit_mb` megabytes, and the
        middle of the answers (of `dimension` > 1 numbers the mean), moved into `range`, is released; a part that fails says `failed`.
        """
        if method == "aggregate":
            return self._ask(statistics.aggregate(statistic, columns, **limits))
        if method is not None:
            raise QueryError("SRD-106", f"method is {method!r}.", 'Leave it out, or use "aggregate".')
        if limits:
            raise QueryError("SRD-106", f"{next(iter(limits))} is for aggregation.", 'Add method="aggregate".')
        return self._ask(statistics.apply(statistic, columns, propose=propose, otherwise=otherwise))  # type: ignore[arg-type]


for _kind in (Verbs, TableVerbs):
    for _name, _verb in list(vars(_kind).items()):
        if not _name.startswith("_"):
            setattr(_kind, _name, builds(_verb))
