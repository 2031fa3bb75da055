"""COUNT(DISTINCT key) where a join repeats the rows of a key: the rows that are the first of their key are counted.

Theorem. If a key belongs to one person, the different keys of a group are as many as its rows with a key whose number is 1, where rows are
numbered inside each person, key and group.
Proof. The rows of a key in a group are one person's, and exactly one of them has the number 1; rows without a key are not counted. QED
The numbers are a window inside a person, so what is counted are rows of a view like any other, bounded last.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from sordino.errors import QueryError
from sordino.plan.literal import bare, constant_of
from sordino.plan.person_join import names_owner, viewed
from sordino.plan.sql_expression import Catalogue, Scope
from sordino.schema.view import once

__all__ = ["firsts", "under_condition"]

ASKED = ("having", "qualify", "order")


def firsts(tree: exp.Select, scope: Scope, catalogue: Catalogue) -> exp.Select | None:
    """The same SELECT over rows that know whether they are the first of their key; None where no key is repeated."""
    if scope.table not in catalogue.people:
        return None
    counts: list[exp.Expr] = [node for clause in _clauses(tree) for node in clause.find_all(exp.Count) if _repeated(node, scope, catalogue)]
    group = tree.args.get("group")
    if not counts or (group is not None and _several(group)):
        return None
    return _Turned(tree, scope, catalogue).turned(counts)


def under_condition(item: exp.Expr) -> tuple[exp.Expr | None, exp.Expr]:
    """CASE WHEN a THEN x WHEN b THEN x END as a condition and the column x; anything else without a condition."""
    last = item.args.get("default")
    if type(item) is not exp.Case or (last is not None and type(bare(last)) is not exp.Null):
        return None, item
    branches, tested = item.args["ifs"], item.args.get("this")
    named = bare(branches[0].args["true"])
    if type(named) is not exp.Column or any(bare(branch.args["true"]) != named for branch in branches):
        return None, item
    tests = [b.this.copy() if tested is None else exp.EQ(this=tested.copy(), expression=b.this.copy()) for b in branches]
    return (exp.or_(*tests) if len(tests) > 1 else tests[0]), named


def _several(group: exp.Expr) -> bool:
    """Whether several groupings are asked at once, or whatever the SELECT names."""
    kinds = (exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple)
    more = any(value for word, value in group.args.items() if word != "expressions")
    return more or any(type(node) in kinds for node in group.expressions)


def _clauses(tree: exp.Expr) -> list[exp.Expr]:
    return [*tree.expressions, *(tree.args[word] for word in ASKED if tree.args.get(word) is not None)]


def _repeated(node: exp.Expr, scope: Scope, catalogue: Catalogue) -> bool:
    """Whether this counts the different values of a key that may come several times."""
    inner = node.args.get("this")
    items = inner.expressions if type(inner) is exp.Distinct else []
    _, item = under_condition(bare(items[0])) if len(items) == 1 else (None, exp.Null())
    if type(item) is not exp.Column:
        return False
    column = scope.find(item)
    key = column.type == "id" and column is not catalogue.owner and names_owner(scope, column, catalogue)
    return key and not once(viewed(scope, catalogue), column.name)


@dataclass
class _Turned:
    tree: exp.Select
    scope: Scope
    catalogue: Catalogue
    shown: dict[str, exp.Expr] = field(default_factory=dict)  # what the inner SELECT shows, by name

    def turned(self, counts: list[exp.Expr]) -> exp.Select:
        group = self.tree.args.get("group")
        by = [] if group is None else [self._resolved(bare(node)) for node in group.expressions]
        names = {id(node): self._first(node.this.expressions[0], by) for node in counts}
        made = self.tree.copy()
        for word in ("from_", "joins", "where"):
            made.set(word, None)
        for old, new in zip(_clauses(self.tree), _clauses(made), strict=True):
            for before, after in zip(list(old.find_all(exp.Count)), list(new.find_all(exp.Count)), strict=True):
                if (name := names.get(id(before))) is not None:
                    test = exp.EQ(this=_own(name), expression=exp.Literal.number(1))
                    counted = exp.Case(ifs=[exp.If(this=test, true=exp.Literal.number(1))])
                    after.replace(exp.Count(this=counted, big_int=True))
        items = [self._labelled(*pair) for pair in zip(self.tree.expressions, made.expressions, strict=True)]
        made.set("expressions", items)
        aliases = {str(item.alias) for item in self.tree.expressions if type(item) is exp.Alias}
        for clause in [*items, *([made.args["group"]] if group is not None else []), *(made.args[w] for w in ASKED if made.args.get(w))]:
            for column in list(clause.find_all(exp.Column)):
                self._projected(column, set() if clause in items else aliases)
        inner = exp.Select(expressions=[exp.alias_(node, name, quoted=True) for name, node in self.shown.items()])
        for word in ("from_", "joins", "where"):
            if self.tree.args.get(word):
                value = self.tree.args[word]
                inner.set(word, [item.copy() for item in value] if isinstance(value, list) else value.copy())
        made.set("from_", exp.From(this=exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier("rows", quoted=True)))))
        return made

    def _resolved(self, node: exp.Expr) -> exp.Expr:
        """What GROUP BY 1 or GROUP BY a name of the SELECT mean."""
        items = self.tree.expressions
        place = constant_of(node)
        if place is not None and 1 <= place <= len(items):  # type: ignore[operator]
            return bare(items[int(place) - 1].this if type(items[int(place) - 1]) is exp.Alias else items[int(place) - 1])  # type: ignore[arg-type]
        if type(node) is exp.Column and node.args.get("table") is None and not self._known(node):
            return next((bare(item.this) for item in items if type(item) is exp.Alias and item.alias == node.name), node)
        return node

    def _known(self, node: exp.Expr) -> bool:
        try:
            self.scope.find(node)
        except QueryError:
            return False
        return True

    def _first(self, key: exp.Expr, by: list[exp.Expr]) -> str:
        """The name under which rows show their number among those of their key and group."""
        test, named = under_condition(bare(key))
        name = f"number in {named.name}" if test is None else f"number in {named.name} {len(self.shown)}"
        within = [named.copy(), *(node.copy() for node in by)]
        if test is not None:  # rows that fulfil it are numbered among themselves
            within.append(exp.Case(ifs=[exp.If(this=test.copy(), true=exp.Literal.number(1))], default=exp.Literal.number(0)))
        missing = exp.If(this=exp.Is(this=named.copy(), expression=exp.Null()), true=exp.Literal.number(2))
        number = exp.Window(this=exp.RowNumber(), partition_by=within, over="OVER")
        if test is None:
            self.shown[name] = exp.Case(ifs=[missing], default=number)
        else:
            self.shown[name] = exp.Case(ifs=[missing, exp.If(this=test.copy(), true=number)], default=exp.Literal.number(2))
        return name

    def _labelled(self, old: exp.Expr, new: exp.Expr) -> exp.Expr:
        if type(old) is exp.Alias or old == new:
            return new
        said = old.sql(dialect="duckdb")
        return exp.alias_(new.copy(), said.lower() if type(old) is exp.Count else said, quoted=True)

    def _projected(self, node: exp.Column, aliases: set[str]) -> None:
        """Show what a column means inside, and name it as it is shown."""
        if (node.args.get("table") is None and node.name in aliases) or not self._known(node):
            return
        column, name = self.scope.find(node), str(node.name)
        owner = node.args.get("table")
        if name in self.shown and self.scope.find(self.shown[name]) is not column:
            name = f"{owner.this}.{name}" if owner is not None else f"{name}'"
        self.shown.setdefault(name, node.copy())
        node.replace(_own(name))


def _own(name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True))
