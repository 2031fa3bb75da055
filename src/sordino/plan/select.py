"""A SELECT becomes a question: which rows, which groups, which statistics, and how its answer is shown.

Nothing of the text survives but names of declared columns and typed constants, so no engine ever sees what an analyst wrote.

From a text to the tree of one SELECT. Hostile text is refused in milliseconds, with nothing read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain, combinations

from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from sordino.errors import QueryError
from sordino.plan.aggregate import Aggregates
from sordino.plan.arrangement import Arrangement, OrderBy
from sordino.plan.dialect import Spoken
from sordino.plan.formula import Formula, formula_of, inputs, windows
from sordino.plan.literal import bare, constant_of
from sordino.plan.person_join import settled, viewed
from sordino.plan.query_plan import MOST_SETS, QueryPlan
from sordino.plan.refusal import DEPTH, LENGTH, SHAPE, allow, check_statement, refuse, refuse_part
from sordino.plan.row_key import firsts
from sordino.plan.simplify import simpler, spelled_out
from sordino.plan.source import Sources
from sordino.plan.sql_expression import DATED, Catalogue, Expressions, Scope
from sordino.schema.column import Column, is_text, shown
from sordino.schema.expression import names
from sordino.schema.interval import days, derive
from sordino.schema.view import View
from sordino.statistics.port import Statistic

__all__ = ["Arrangement", "OrderBy", "Selected", "parse_statement", "read_select", "read_view"]


LONGEST_NAME = 150


def parse_statement(text: str) -> exp.Select:
    """The one SELECT a text says; a semicolon at its end is no other statement."""
    if not isinstance(text, str) or not text.strip():
        raise QueryError("SRD-209", f"the statement is {shown(text)}.", 'Write, for example, "SELECT AVG(age) FROM t".')
    if len(text) > LENGTH:
        raise QueryError("SRD-209", f"the statement has {len(text):,} characters.", f"Write at most {LENGTH:,}.")
    if not is_text(text):
        raise QueryError("SRD-209", "the statement contains a character that is not text.", "Remove NUL characters and lone surrogates.")
    dialect = Spoken()
    try:
        tokens = dialect.tokenize(text)
        if tokens and tokens[-1].token_type == TokenType.SEMICOLON:
            tokens = tokens[:-1]
        check_statement(tokens)
        trees = dialect.parser().parse(tokens, text)
    except RecursionError:
        raise QueryError("SRD-209", "the statement is nested too deeply.", f"Nest at most {DEPTH} levels.") from None
    except SqlglotError as error:
        where = (getattr(error, "errors", None) or [{}])[0]
        place = f" near line {where['line']}, column {where['col']}" if where.get("line") else ""
        fix = f"Text goes in single quotes, odd names in double quotes. {SHAPE}"
        raise QueryError("SRD-209", f"the statement cannot be read{place}.", fix) from None
    tree = trees[0] if len(trees) == 1 else None
    if tree is None:
        raise QueryError("SRD-209", "the statement is more than one.", "Ask one SELECT at a time.")
    if type(tree) is not exp.Select:
        refuse_part(tree)
    return simpler(tree)  # type: ignore[return-value]


@dataclass(frozen=True)
class Selected:
    """A question about one private table, and how its released rows are shown."""

    asked: QueryPlan
    arrangement: Arrangement | None


def read_select(text: str, catalogue: Catalogue) -> Selected:
    """The question a text asks. Hostile text is refused in milliseconds, with nothing read."""
    try:
        tree = spelled_out(parse_statement(text))
        allow(tree, "expressions", "from_", "joins", "where", "group", "order", "limit", "with_", "having", "qualify")
        sources = Sources(catalogue).with_named(tree.args.get("with_"))
        scope = sources.scope(tree)
        if (turned := firsts(tree, scope, catalogue)) is not None:
            tree, scope = turned, sources.scope(turned)
        view = viewed(scope, catalogue) if scope.table in catalogue.people else None
        return _Select(tree, scope, Aggregates(Expressions(scope, scope.condition), catalogue.unit, {}, view)).read()
    except RecursionError:
        raise QueryError("SRD-209", "the statement is nested too deeply.", "Nest fewer levels.") from None


def read_view(text: str, catalogue: Catalogue) -> tuple[str, View]:
    """The rows of people a SELECT without aggregates shows, and the table it starts from."""
    try:
        scope = Sources(catalogue).inner(parse_statement(text))
    except RecursionError:
        raise QueryError("SRD-209", "the statement is nested too deeply.", "Nest fewer levels.") from None
    if scope.table not in catalogue.people:
        raise QueryError("SRD-204", "its rows belong to nobody.", "Say whose they are: unit= or person= when the table is opened.")
    return scope.table, settled(scope, catalogue)


# ROLLUP, CUBE and GROUPING SETS: which groupings a GROUP BY asks for
SEVERAL = (exp.Rollup, exp.Cube, exp.GroupingSets)
Named = Callable[[exp.Expr], str]  # the column a node of a GROUP BY means


def grouping_sets(nodes: Sequence[exp.Expr], column: Named) -> list[list[str]] | None:
    """Every grouping, by the names of its columns; None where the GROUP BY is a plain one. Elements side by side are combined."""
    found: list[list[str]] = [[]]
    for node in nodes:
        found = [[*left, *right] for left in found for right in _element(bare(node), column)]
        _few(found)
    distinct = {tuple(dict.fromkeys(names)): None for names in found}
    return [list(names) for names in distinct] if any(isinstance(bare(node), SEVERAL) for node in nodes) else None


def _element(node: exp.Expr, column: Named) -> list[list[str]]:
    if isinstance(node, exp.Tuple):
        allow(node, "expressions")
        return [[column(bare(item)) for item in node.expressions]]
    if not isinstance(node, SEVERAL):
        return [[column(node)]]
    allow(node, "expressions")
    parts = [_element(bare(item), column) for item in node.expressions]
    if isinstance(node, exp.GroupingSets):
        found = [names for part in parts for names in part]
    else:
        single = [part[0] for part in parts if len(part) == 1]
        if len(single) != len(parts) or not parts or len(parts) > MOST_SETS:
            raise QueryError(
                "SRD-209", "ROLLUP and CUBE take columns.", "Write ROLLUP(a, b), CUBE(a, b) or GROUPING SETS ((a, b), (a), ())."
            )
        if isinstance(node, exp.Rollup):
            chosen = [single[:size] for size in range(len(single), -1, -1)]
        else:
            _few([[]] * 2 ** len(single))
            chosen = [list(some) for some in chain.from_iterable(combinations(single, size) for size in range(len(single), -1, -1))]
        found = [[name for names in some for name in names] for some in chosen]
    _few(found)
    return found


def _few(found: Sequence[Sequence[str]]) -> None:
    if len(found) > MOST_SETS:
        raise QueryError("SRD-209", f"the statement asks for {len(found)} groupings.", f"Ask for at most {MOST_SETS} at once.")


@dataclass(frozen=True)
class _Item:
    """One thing a SELECT shows: a group column or a statistic, under a name of its own or none."""

    alias: str
    column: Column | None = None
    statistic: Statistic | None = None
    formula: Formula | None = None
    said: str = ""

    @property
    def label(self) -> str:
        return self.alias or (self.statistic.label if self.statistic is not None else self.said)


@dataclass(frozen=True)
class _Select:
    tree: exp.Select
    scope: Scope
    aggregates: Aggregates
    parts: dict[str, Statistic] = field(default_factory=dict)  # statistics that only formulas read, by label
    sets: list[list[str]] = field(default_factory=list)  # groupings that are asked at once, by columns

    def read(self) -> Selected:
        items = [self._item(node) for node in self.tree.expressions]
        by = self._groups(items)
        grouped = {column.name for column in by}
        for item in items:
            if item.column is not None and item.column.name not in grouped:
                what = f"{shown(item.column.name)} is neither grouped nor aggregated."
                raise QueryError("SRD-209", what, "Add it to GROUP BY, or aggregate it.", column=item.column.name)
        asked = [(item, item.statistic) for item in items if item.statistic is not None]
        having, qualify = (self._condition(word, items, by) for word in ("having", "qualify"))
        for item in items:
            if item.formula is not None:
                self._check_grouped(item.formula, "a formula with", items, by)
        asked += [(_Item(label, statistic=part), part) for label, part in self.parts.items()]
        if not asked:
            raise QueryError("SRD-208", "the statement asks for no aggregate.", "Add one, such as COUNT(*).")
        question = QueryPlan(self.scope.table, self._columns(by), joins=self.scope.joins, view=self.scope.view)
        if self.scope.condition is not None:
            question = question.with_where(self.scope.condition)
        if self.sets:
            question = question.group_by_sets(*self.sets)
        elif by:
            question = question.group_by(*(column.name for column in by))
        for item, statistic in asked:
            question = question.agg(**{item.label: statistic})
        return Selected(question, self._arrangement(items, by, having, qualify))

    def _item(self, node: exp.Expr) -> _Item:
        alias, aliased, node = (str(node.alias), True, bare(node.this)) if type(node) is exp.Alias else ("", False, bare(node))
        if aliased and not alias:
            raise QueryError("SRD-208", "an empty text cannot name an answer.", "Use a short name, such as n or median_income.")
        if type(node) is exp.Star or (type(node) is exp.Column and type(node.this) is exp.Star):
            refuse_part(exp.Star())
        if self.aggregates.has(node):
            if not self.aggregates.whole(node) or type(node) is exp.Window:
                return self._formula(alias, node)
            statistic = self.aggregates.statistic(node)
            return _Item(alias or ("" if len(statistic.label) <= LONGEST_NAME else _short(node)), statistic=statistic)
        column = self.aggregates.expressions.column(node)
        return _Item(alias or (node.name if type(node) is exp.Column else ""), column=column)

    def _formula(self, alias: str, node: exp.Expr) -> _Item:
        """Arithmetic on aggregates: they are released, and the rest is computed from the answers."""
        return _Item(alias, formula=formula_of(node, self._part), said=_short(node))

    def _part(self, node: exp.Expr) -> str | None:
        """The label of the statistic an aggregate inside a formula is, or of a group column."""
        if self.aggregates.whole(node) and type(node) is not exp.Window:
            statistic = self.aggregates.statistic(node)
            label = statistic.label if len(statistic.label) < LONGEST_NAME else f"{statistic.label[:100]}... {len(self.parts)}"
            shown_as = f"{label} "  # a name of its own: the SELECT may show the same statistic under another
            self.parts[shown_as] = statistic
            return shown_as
        if type(node) is exp.Column:
            return self.aggregates.expressions.column(node).name
        if type(node) in DATED or type(node) in (exp.TimestampTrunc, exp.Extract, exp.Substring, exp.Anonymous):
            return self.aggregates.expressions.column(node).name  # GROUP BY has it, or it is refused with the others
        return None

    def _condition(self, word: str, items: list[_Item], by: list[Column]) -> Formula | None:
        """Which released rows are shown: a condition on aggregates, on answers by their name, and on group columns."""
        clause = self.tree.args.get(word)
        if clause is None:
            return None

        def part(node: exp.Expr) -> str | None:
            if type(node) is exp.Column and node.args.get("table") is None:
                item = next((item for item in items if item.alias == node.name and item.column is None), None)
                if item is not None:
                    return item.label
            return self._part(node)

        made = formula_of(clause.this, part)
        self._check_grouped(made, word.upper(), items, by)
        return made

    def _check_grouped(self, formula: Formula, where: str, items: list[_Item], by: list[Column]) -> None:
        """A formula reads answers and group columns, and nothing of a row."""
        known = {*self.parts, *(column.name for column in by), *(item.label for item in items if item.column is None)}
        for name in inputs(formula):
            if name not in known:
                fix = "Filter rows in WHERE; this is about groups and aggregates."
                if windows(formula):
                    fix = (
                        "A window here looks at released groups, those of GROUP BY; in a subquery at rows: OVER (PARTITION BY the person)."
                    )
                refuse(f"{where} {shown(name)}, a column that is not grouped by", fix)

    def _groups(self, items: list[_Item]) -> list[Column]:
        clause = self.tree.args.get("group")
        if clause is None:
            return []
        if clause.args.get("all"):
            return list({item.column.name: self._listed(item.column) for item in items if item.column is not None}.values())
        for word, kind in (("rollup", exp.Rollup), ("cube", exp.Cube)):  # GROUP BY a, b WITH ROLLUP
            if clause.args.get(word):
                clause.set("expressions", [kind(expressions=clause.expressions)])
                clause.set(word, None)
        allow(clause, "expressions")
        if not clause.expressions:
            raise QueryError("SRD-208", "GROUP BY names no column.", "Name at least one column.")
        found: dict[str, Column] = {}

        def column(node: exp.Expr) -> str:
            made = self._listed(self._group(node, items))
            return found.setdefault(made.name, made).name

        sets = grouping_sets(clause.expressions, column)
        if sets is not None:
            self.sets.extend(sets)
        return list(found.values())

    @staticmethod
    def _listed(column: Column) -> Column:
        """Days between two declared ones are public keys, if they are few."""
        return column if column.type != "date" or column.keys is not None else replace(column, keys=days(column.bounds))

    def _group(self, node: exp.Expr, items: list[_Item]) -> Column:
        """A column of the table before an alias, an alias before an expression; a number is a place in the list."""
        named = type(node) is exp.Column and node.args.get("table") is None
        item = next((item for item in items if named and item.alias == node.name), None) or _placed(node, items, "GROUP BY")
        if item is not None and not (named and any(node.name in columns for columns in self.scope.relations.values())):
            if item.column is None:
                refuse("GROUP BY an aggregate", "Group by columns; bands have ends of your own: CASE WHEN x < 10 THEN ... END.")
            return item.column
        if constant_of(node) is not None:
            refuse("GROUP BY a constant", "Name a column; text in single quotes is no name.")
        return self.aggregates.expressions.column(node)

    def _columns(self, by: list[Column]) -> dict[str, Column]:
        """Every column the question may name: declared, joined, and derived by filters, groups and aggregates."""
        said = [] if self.scope.condition is None else names(self.scope.condition)
        derived = {name.column: replace(derive(name.expression), name=name.column) for name in said if name.expression is not None}
        owner = {self.aggregates.unit: Column(self.aggregates.unit, "id")} if self.aggregates.unit is not None else {}
        return {**owner, **self.scope.plain, **derived, **self.aggregates.columns, **{column.name: column for column in by}}

    def _arrangement(self, items: list[_Item], by: list[Column], having: Formula | None, qualify: Formula | None) -> Arrangement | None:
        renamed = {item.column.name: item.alias for item in items if item.column is not None and item.alias}
        taken = [column.name for column in by if column.name not in renamed] + list(renamed.values())
        labels = {item.label + end for item in items if item.column is None for end in ("", "_low", "_high")}
        for place, name in enumerate(taken):
            if name in taken[:place] or name in labels:
                raise QueryError("SRD-208", f"two columns of the answer would be called {shown(name)}.", "Name one of them with AS.")
        clause = self.tree.args.get("order")
        order = [] if clause is None else [self._order(node, items, by) for node in clause.expressions]
        limit = _limit(self.tree.args.get("limit"))
        changed = tuple((old, new) for old, new in renamed.items() if old != new)
        shown_answers = tuple((item.label, item.formula) for item in items if item.column is None) if self.parts else ()
        if not (changed or order or limit is not None or shown_answers or having is not None or qualify is not None):
            return None
        said = {item.label: item.said for item in items if item.formula is not None}
        return Arrangement(changed, tuple(order), limit, shown_answers, having, qualify, said=said)

    def _order(self, node: exp.Expr, items: list[_Item], by: list[Column]) -> OrderBy:
        allow(node, "this", "desc", "nulls_first")
        return OrderBy(self._released(bare(node.this), items, by), bool(node.args.get("desc")), bool(node.args.get("nulls_first")))

    def _released(self, node: exp.Expr, items: list[_Item], by: list[Column]) -> str:
        """The name in the release of what is sorted by: a name or a place of the list, a group column, or an aggregate that is asked."""
        item = _placed(node, items, "ORDER BY")
        if item is None and type(node) is exp.Column and node.args.get("table") is None:
            item = next((item for item in items if item.label == node.name), None)
        if item is None and self.aggregates.has(node):
            statistic = self.aggregates.statistic(node) if self.aggregates.whole(node) else None
            item = next((item for item in items if statistic is not None and item.statistic == statistic), None)
            item = item or next((item for item in items if item.formula is not None and item.said == _short(node)), None)
        elif item is None and type(node) is not exp.Literal:
            column = self.aggregates.expressions.column(node)
            item = _Item("", column) if column.name in {known.name for known in by} else None
        if item is None:
            refuse("ORDER BY something that is not released", "Sort by a group column or by an aggregate of the SELECT.")
        return item.column.name if item.column is not None else item.label


def _short(node: exp.Expr) -> str:
    """What a statement says, if it is short."""
    said = node.sql(dialect="duckdb")
    return said if len(said) <= 60 else f"{said[:57]}..."


def _placed(node: exp.Expr, items: list[_Item], clause: str) -> _Item | None:
    """What GROUP BY 1 or ORDER BY 2 mean."""
    if type(node) is not exp.Literal or node.is_string:
        return None
    place = constant_of(node)
    if not isinstance(place, Fraction) or place.denominator != 1 or not 1 <= place <= len(items):
        raise QueryError("SRD-209", f"{clause} {shown(str(node.this))} is no place in the SELECT.", f"Use 1 to {len(items)}.")
    return items[int(place) - 1]


def _limit(clause: exp.Expr | None) -> int | None:
    if clause is None:
        return None
    if type(clause) is not exp.Limit:
        refuse("FETCH", "Write LIMIT 10.")
    allow(clause, "expression")
    number = constant_of(clause.expression)
    if not isinstance(number, Fraction) or number.denominator != 1 or not 1 <= number < 2**31:
        refuse("LIMIT of something other than a number of rows", "Write LIMIT 10.")
    return int(number)
