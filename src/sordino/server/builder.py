"""The builder and SQL, both ways: fields become a statement, and a statement that says no more than the fields becomes fields.

Rows of fields repeat: a statistic is (statistic, of, share), a filter is (column, is, value). A condition the rows cannot say stays as
text in a field of its own, so that nothing of a statement is lost on the way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from sordino.errors import QueryError, SordinoError
from sordino.plan.select import parse_statement
from sordino.remote.wording import RemoteAsked, quoted
from sordino.server.built_person import NOBODY, BuiltPerson, read_person
from sordino.statistics import catalog

__all__ = ["OPERATORS", "STATISTICS", "BuiltFilter", "BuiltQuestion", "BuiltStatistic", "unbuilt"]

_FIELDS = {"count_units": "people", "count_distinct": "distinct"}  # verbs the form has other words for
_VERBS = {field: verb for verb, field in _FIELDS.items()}
_MENU = {_FIELDS.get(one.name, one.name): one for one in sorted(catalog().values(), key=lambda one: one.menu or (0, "")) if one.menu}
STATISTICS = {**{name: one.menu[1] for name, one in _MENU.items() if one.menu}, "row_limit": "limit on rows that fits, drawn"}
_SPOKEN = {"variance": "VARIANCE", "std": "STDDEV"}  # of samples, as databases say them
_SAID = {name: _SPOKEN.get(name, one.sql[0]) for name, one in _MENU.items() if one.sql}
_SQL = {name: said if "(" in said else f"{said}({{}})" for name, said in _SAID.items()}
_KINDS = {said.partition("(")[0]: name for name, said in _SQL.items()} | {"PERCENTILE_CONT": "quantile"}
OPERATORS = {
    "=": "is", "<>": "is not", "<": "is below", "<=": "is at most", ">": "is above", ">=": "is at least", "in": "is one of",
    "between": "is between", "like": "contains", "null": "is missing", "present": "is there",
}  # fmt: skip
_COMPARED: dict[type[exp.Expression], str] = {exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
_PARTS = {"expressions", "from_", "where", "group"}
_PLAIN = re.compile(r"-?\d+(\.\d+)?")
BINS = 10
LIMITS = ("rows", "groups")
ALONE = ("histogram", "row_limit")  # asked on their own
MOST = 6  # rows of statistics, and of filters


@dataclass(frozen=True)
class BuiltStatistic:
    """One row of the builder: which number, of which column, and for a quantile which share lies below."""

    statistic: str = "count"
    of: str = ""
    share: str = ""

    @property
    def label(self) -> str:
        return "_".join(re.findall(r"[a-z0-9]+", f"{self.statistic} {self.of} {self.share}".lower())) or self.statistic

    def sql(self, unit: str | None) -> str:
        """As SQL says it."""
        if self.statistic not in _SQL:
            raise QueryError("SRD-208", f"a {STATISTICS[self.statistic]} is asked on its own.", "Leave the other statistics out.")
        if self.statistic == "people":
            if unit is None:
                raise QueryError("SRD-208", "every row is a person here.", "Ask for the number of rows.")
            return _SQL["people"].format(quoted(unit))
        if self.statistic != "count" and not self.of:
            raise QueryError("SRD-208", f"{STATISTICS[self.statistic]} of which column?", "Choose a column.")
        if self.statistic == "quantile" and not _PLAIN.fullmatch(self.share.strip()):
            raise QueryError("SRD-208", "which quantile?", "Give the share of rows below it, such as 0.9.")
        return _SQL[self.statistic].format(quoted(self.of), self.share.strip())

    def call(self, unit: str | None) -> dict[str, Any]:
        """As a call says it."""
        self.sql(unit)  # what cannot be said is refused with the same words
        verb = _VERBS.get(self.statistic, self.statistic)
        given = [] if self.statistic in ("count", "people") else [self.of, *([self.share.strip()] if self.statistic == "quantile" else [])]
        return {"verb": verb, **({"given": given} if given else {})}


@dataclass(frozen=True)
class BuiltFilter:
    """One condition about one column."""

    column: str = ""
    test: str = "="
    value: str = ""

    def sql(self, types: Mapping[str, str]) -> str:
        name, kind = quoted(self.column), types.get(self.column, "")
        match self.test:
            case "null":
                return f"{name} IS NULL"
            case "present":
                return f"{name} IS NOT NULL"
            case "in":
                return f"{name} IN ({', '.join(_literal(part, kind) for part in self.value.split(',') if part.strip())})"
            case "between":
                ends = re.split(r"\s+(?:to|and)\s+|,", self.value.strip())
                if len(ends) != 2:
                    raise QueryError("SRD-208", f"{self.column} between what?", "Give two values, such as 18 to 65.")
                return f"{name} BETWEEN {_literal(ends[0], kind)} AND {_literal(ends[1], kind)}"
            case "like":
                return f"{name} LIKE {_text(f'%{self.value}%')}"
        if self.test not in OPERATORS:
            raise QueryError("SRD-208", "the builder does not know this test.", f"Choose one of {', '.join(OPERATORS)}.")
        return f"{name} {self.test} {_literal(self.value, kind)}"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _literal(value: str, kind: str) -> str:
    """A value as SQL spells it: by the declared type of its column, and where there is none by its looks."""
    value = value.strip()
    if kind in ("cat", "string") or not (_PLAIN.fullmatch(value) or value.lower() in ("true", "false")):
        return f"DATE {_text(value)}" if kind == "date" else f"TIMESTAMP {_text(value)}" if kind == "timestamp" else _text(value)
    return value


@dataclass(frozen=True)
class BuiltQuestion:
    """Everything the fields say."""

    table: str = ""
    statistics: tuple[BuiltStatistic, ...] = (BuiltStatistic(),)
    filters: tuple[BuiltFilter, ...] = ()
    by: tuple[str, ...] = ()
    where: str = ""
    limit: tuple[tuple[str, int], ...] = ()  # how much of one person counts, where that is less than declared
    person: BuiltPerson = NOBODY  # one number for each person first, where statistics are about people

    @classmethod
    def of(cls, fields: Sequence[tuple[str, str]]) -> BuiltQuestion:
        """The fields of a form, rows that were left empty aside."""

        def every(name: str) -> list[str]:
            return [value for key, value in fields if key == name]

        def rows(*names: str) -> Iterator[tuple[str, ...]]:
            columns = [every(name) for name in names]
            most = min(MOST, max(map(len, columns), default=0))
            return (tuple(column[at] if at < len(column) else "" for column in columns) for at in range(most))

        asked = [BuiltStatistic(*row) for row in rows("statistic", "of", "share") if row[0]]
        tests = [BuiltFilter(*row) for row in rows("column", "is", "value") if row[0]]
        kept = [item for item in tests if item.value.strip() or item.test in ("null", "present")]
        by = tuple(dict.fromkeys(name for name in every("by") if name))
        said = {word: next(iter(every(f"limit_{word}")), "").strip() for word in LIMITS}
        if any(value and not (value.isdecimal() and int(value[:9]) > 0) for value in said.values()):
            raise QueryError("SRD-208", "how much of one person counts is a whole number.", "Give 1 or more, or leave it empty.")
        limit = tuple((word, int(value[:9])) for word, value in said.items() if value)
        table, where = next(iter(every("table")), ""), next(iter(every("where")), "").strip()
        person = BuiltPerson(*(next(iter(every(f"person_{word}")), "").strip() for word in ("total", "of", "low", "high")))
        return cls(table, tuple(asked) or (BuiltStatistic(),), tuple(kept), by, where, limit, person or NOBODY)

    def text(self, columns: Sequence[Mapping[str, Any]] = (), unit: str | None = None) -> str:
        """The statement that says the same, or for histograms and limits the call of verbs."""
        for item in self.statistics:
            if item.statistic not in STATISTICS:
                raise QueryError("SRD-208", "the builder does not know this statistic.", f"Choose one of {', '.join(STATISTICS)}.")
        types = {str(column["name"]): str(column["type"]) for column in columns}
        conditions = (*(item.sql(types) for item in self.filters), *([self.where] if self.where else []))
        if self.person:
            return self._about_people(columns, conditions, unit)
        if self.statistics[0].statistic == "histogram":
            return self._histogram(columns, conditions)
        if [item.statistic for item in self.statistics] == ["row_limit"]:
            return replace(self, limit=())._call(conditions, {"ask": {"verb": "row_limit"}})
        labels = [item.statistic if len(self.statistics) == 1 else item.label for item in self.statistics]
        if self.limit:
            parts = {label: item.call(unit) for item, label in zip(self.statistics, labels, strict=True)}
            return self._call(conditions, {"agg": parts})
        shown = tuple(f"{item.sql(unit)} AS {label}" for item, label in zip(self.statistics, labels, strict=True))
        return RemoteAsked(self.table, shown, conditions, self.by).text

    def _about_people(self, columns: Sequence[Mapping[str, Any]], conditions: tuple[str, ...], unit: str | None) -> str:
        """Statistics of one number of each person: conditions choose rows before it is computed."""
        if self.by or self.limit or any(item.statistic in ALONE for item in self.statistics):
            what = "with one number for each person there are no groups, limits or histograms here."
            raise QueryError("SRD-208", what, "Leave them out, or write the statement as SQL.")
        source = self.person.source(self.table, unit, conditions, columns)
        plain = ("count", "people")
        asked = [BuiltStatistic("count") if i.statistic in plain else replace(i, of=self.person.label) for i in self.statistics]
        labels = [item.statistic if len(asked) == 1 else item.label for item in asked]
        shown = ", ".join(f"{item.sql(unit)} AS {label}" for item, label in zip(asked, labels, strict=True))
        return f"SELECT {shown} FROM {source}"

    def _histogram(self, columns: Sequence[Mapping[str, Any]], conditions: tuple[str, ...]) -> str:
        column = self.statistics[0].of
        if len(self.statistics) > 1 or self.by or not column:
            raise QueryError("SRD-208", "a histogram is asked on its own, of one column.", "Leave the other statistics and the groups out.")
        found = next((item for item in columns if item["name"] == column), {})
        call: dict[str, Any] = {"verb": "histogram", "given": [column]}
        if found.get("bounds") and not found.get("values"):
            try:
                low, high = (float(end) for end in found["bounds"])
            except ValueError:
                raise QueryError("SRD-208", "dates have no histogram.", "Ask for quantiles, or group by a part of the date.") from None
            edges = [low + (high - low) * k / BINS for k in range(BINS + 1)]
            whole = found.get("type") == "int"
            call["named"] = {"bins": list(dict.fromkeys(round(edge) for edge in edges)) if whole else edges}
        return self._call(conditions, {"ask": call})

    def _call(self, conditions: tuple[str, ...], asked: Mapping[str, Any]) -> str:
        more = {"where": list(conditions), "by": list(self.by), "limit": dict(self.limit)}
        return json.dumps({**asked, "table": self.table, **{word: value for word, value in more.items() if value}}, sort_keys=True)


def unbuilt(text: str, person: Callable[[str], str | None] | None = None) -> BuiltQuestion | None:
    """The fields that say this statement; None where it says more than the builder can. `person` is the column of people, by table."""
    if text.lstrip().startswith("{"):
        return _uncalled(text)
    try:
        tree = parse_statement(text)
    except SordinoError:
        return None
    source, where, group = tree.args.get("from_"), tree.args.get("where"), tree.args.get("group")
    more = {name for name, part in tree.args.items() if part} - _PARTS
    if not more and source is not None and type(source.this) is exp.Subquery:
        return _about_people(tree, source.this, person) if where is None and group is None else None
    if more or source is None or type(source.this) is not exp.Table or source.this.alias:
        return None
    keys = [] if group is None else group.expressions
    sets = {} if group is None else {name: part for name, part in group.args.items() if part and name != "expressions"}
    if sets or any(type(key) is not exp.Column for key in keys):
        return None
    shown = [column.unalias() for column in tree.expressions]
    if [key.sql() for key in keys] != [key.sql() for key in shown[: len(keys)]] or not 0 < len(shown) - len(keys) <= MOST:
        return None
    unit = None if person is None else person(source.this.name)
    asked = [_statistic(item, unit) for item in shown[len(keys) :]]
    if any(item is None for item in asked):
        return None
    filters, rest = _filters(where.this if where is not None else None)
    known = tuple(item for item in asked if item is not None)
    return BuiltQuestion(source.this.name, known, tuple(filters), tuple(key.name for key in keys), rest)


def _about_people(tree: exp.Expression, source: exp.Expression, person: Callable[[str], str | None] | None) -> BuiltQuestion | None:
    """The fields of a statement about one number of each person."""
    inner = source.this
    below = inner.args.get("from_") if type(inner) is exp.Select else None
    if below is None or {name for name, part in inner.args.items() if part} - _PARTS or type(below.this) is not exp.Table:
        return None
    unit = None if person is None else person(below.this.name)
    found, where = read_person(inner, unit), inner.args.get("where")
    asked = [_statistic(column.unalias(), unit) for column in tree.expressions]
    if found is None or below.this.alias or not 0 < len(asked) <= MOST:
        return None
    number, label = found
    known = [item for item in asked if item is not None and item.of in ("", label)]
    if len(known) != len(asked):
        return None
    filters, rest = _filters(where.this if where is not None else None)
    statistics = tuple(replace(item, of="") for item in known)
    return BuiltQuestion(below.this.name, statistics, tuple(filters), (), rest, person=number)


def _uncalled(text: str) -> BuiltQuestion | None:
    try:
        call = json.loads(text)
        if set(call) - {"ask", "agg", "table", "where", "by", "limit"}:
            return None
        if "ask" in call and call["ask"]["verb"] not in ALONE:
            return None
        given = [str(name) for name in call["ask"].get("given", ())[:1]] if "ask" in call else []
        asked = [BuiltStatistic(call["ask"]["verb"], *given)] if "ask" in call else [_part(p) for p in call["agg"].values()]
        limit = tuple((word, int(call["limit"][word])) for word in LIMITS if word in call.get("limit", {}))
        by = tuple(map(str, call.get("by", ())))
        said = " AND ".join(f"({condition})" for condition in call.get("where", []))
        filters, rest = _filters(parse_statement(f"SELECT 1 FROM t WHERE {said}").args["where"].this if said else None)
    except (ValueError, TypeError, KeyError, IndexError, SordinoError):
        return None
    return BuiltQuestion(str(call.get("table", "")), tuple(asked), tuple(filters), by, rest, limit)


def _part(said: Mapping[str, Any]) -> BuiltStatistic:
    verb = _FIELDS.get(said["verb"], said["verb"])
    if verb not in STATISTICS:
        raise KeyError(verb)
    return BuiltStatistic(verb, *map(str, said.get("given", ())))


def _statistic(item: exp.Expression, unit: str | None) -> BuiltStatistic | None:
    if type(item) is exp.Count:
        if type(item.this) is exp.Star:
            return BuiltStatistic("count")
        alone = type(item.this) is exp.Distinct and len(item.this.expressions) == 1 and type(item.this.expressions[0]) is exp.Column
        if not alone:
            return None
        name = item.this.expressions[0].name
        return BuiltStatistic("people") if unit is None or name == unit else BuiltStatistic("distinct", name)
    called = isinstance(item, exp.AnonymousAggFunc)  # a registered statistic that no database has
    kind = _KINDS.get(str(item.this).upper() if called else getattr(item, "sql_name", str)())
    column = item.expressions[0] if called and len(item.expressions) == 1 else item.this
    if kind is None or type(column) is not exp.Column:
        return None
    share = item.args.get("expression")
    if kind == "quantile":
        return BuiltStatistic(kind, column.name, share.sql()) if isinstance(share, exp.Literal) and not share.is_string else None
    return BuiltStatistic(kind, column.name)


def _filters(condition: exp.Expression | None) -> tuple[list[BuiltFilter], str]:
    """Rows for what they can say, and the rest as text."""
    found: list[BuiltFilter] = []
    rest: list[str] = []
    inner: Any = None if condition is None else condition.unnest()
    for part in [] if inner is None else inner.flatten() if isinstance(inner, exp.And) else [inner]:
        said: Any = part.unnest()
        row = _filter(said)
        if row is not None and len(found) < MOST:
            found.append(row)
        else:
            rest.append(said.sql("duckdb"))
    return found, " AND ".join(rest if len(rest) == 1 and not found else [f"({text})" for text in rest])


def _filter(part: exp.Expression) -> BuiltFilter | None:
    inner = part.this
    if type(part) in _COMPARED and type(inner) is exp.Column and (value := _value(part.expression)) is not None:
        return BuiltFilter(inner.name, _COMPARED[type(part)], value)
    if type(part) is exp.In and type(inner) is exp.Column and part.expressions:
        values = [_value(item) for item in part.expressions]
        if all(value is not None and "," not in value for value in values):
            return BuiltFilter(inner.name, "in", ", ".join(str(value) for value in values))
    if type(part) is exp.Between and type(inner) is exp.Column:
        low, high = _value(part.args["low"]), _value(part.args["high"])
        return None if low is None or high is None else BuiltFilter(inner.name, "between", f"{low} to {high}")
    if type(part) is exp.Is and type(inner) is exp.Column and type(part.expression) is exp.Null:
        return BuiltFilter(inner.name, "null")
    if type(part) is exp.Not and type(inner) is exp.Is and type(inner.this) is exp.Column and type(inner.expression) is exp.Null:
        return BuiltFilter(inner.this.name, "present")
    if type(part) is exp.Like and type(inner) is exp.Column and (value := _value(part.expression)) is not None:
        bare = value[1:-1]
        plain = len(value) > 2 and value[0] == value[-1] == "%" and not set(bare) & {"%", "_"}
        return BuiltFilter(inner.name, "like", bare) if plain else None
    return None


def _value(item: Any) -> str | None:
    """A literal as it is typed into a field."""
    match item:
        case exp.Literal():
            return str(item.this)
        case exp.Neg(this=exp.Literal() as inner) if not inner.is_string:
            return f"-{inner.this}"
        case exp.Boolean():
            return str(bool(item.this)).lower()
        case exp.Cast(this=exp.Literal() as inner) if inner.is_string:
            return str(inner.this)
    return None
