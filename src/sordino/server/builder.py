"""The small builder and SQL, both ways: fields become a statement, and a statement that says no more than the fields becomes fields."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from sordino.errors import QueryError, SordinoError
from sordino.plan.select import parse_statement
from sordino.remote.wording import RemoteAsked, quoted

__all__ = ["STATISTICS", "built", "unbuilt"]

STATISTICS = {
    "count": "COUNT(*)", "sum": "SUM({})", "mean": "AVG({})", "median": "MEDIAN({})", "variance": "VARIANCE({})", "std": "STDDEV({})",
    "min": "MIN({})", "max": "MAX({})", "mode": "MODE({})",
}  # fmt: skip
_KINDS: dict[type[exp.Expression], str] = {
    exp.Count: "count", exp.Sum: "sum", exp.Avg: "mean", exp.Median: "median", exp.Variance: "variance", exp.Stddev: "std",
    exp.Min: "min", exp.Max: "max", exp.Mode: "mode",
}  # fmt: skip
_PARTS = {"expressions", "from_", "where", "group"}


def built(fields: Mapping[str, str]) -> str:
    """The statement the small builder says."""
    statistic = fields.get("statistic", "count")
    if statistic not in STATISTICS:
        raise QueryError("SRD-208", "the builder does not know this statistic.", f"Choose one of {', '.join(STATISTICS)}.")
    column, where, by = (fields.get(name, "").strip() for name in ("column", "where", "by"))
    if not column and statistic != "count":
        raise QueryError("SRD-208", f"{statistic} of which column?", "Choose a column.")
    shown = STATISTICS[statistic].format(quoted(column))
    return RemoteAsked(fields.get("table", ""), (f"{shown} AS {statistic}",), (where,) if where else (), (by,) if by else ()).text


def unbuilt(sql: str) -> dict[str, str] | None:
    """The fields that say this statement; None where it says more than the builder can."""
    try:
        tree = parse_statement(sql)
    except SordinoError:
        return None
    source, where, group = tree.args.get("from_"), tree.args.get("where"), tree.args.get("group")
    more = {name for name, part in tree.args.items() if part} - _PARTS
    if more or source is None or type(source.this) is not exp.Table or source.this.alias:
        return None
    keys = [] if group is None else group.expressions
    shown = [column.unalias() for column in tree.expressions]
    if len(keys) > 1 or len(shown) != len(keys) + 1 or any(type(key) is not exp.Column for key in keys):
        return None
    asked = shown[-1]
    statistic, column = _KINDS.get(type(asked)), asked.this
    if statistic is None or [key.sql() for key in keys] != [key.sql() for key in shown[:-1]]:
        return None
    if statistic == "count":
        if type(column) is not exp.Star:
            return None
    elif type(column) is not exp.Column:
        return None
    condition = where.this.unnest() if where is not None else None
    return {
        "table": source.this.name, "statistic": statistic, "column": "" if statistic == "count" else column.name,
        "by": keys[0].name if keys else "", "where": "" if condition is None else condition.sql("duckdb"),
    }  # fmt: skip
