"""What a filter may not say, and how to say it instead. Refusals here help people; safety comes from the whitelist of the parser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from sqlglot import Token, TokenType, exp

from sordino.errors import QueryError

__all__ = ["DEPTH", "LENGTH", "check_tokens", "refuse_node"]

DEPTH = 30  # the parser spends some twenty Python frames per level, and Python stops at a thousand
LENGTH = 8_000  # with the next line: some 20 ms of reading at most
TOKENS = 1_500

T = TokenType
BANNED = {
    T.SEMICOLON: ("more than one statement", "Write one condition without semicolons."),
    T.DCOLON: ("a cast", "Declare the column's type when the table is opened."),
    T.PARAMETER: ("a parameter", "Write the constant itself."),
    T.PLACEHOLDER: ("a parameter", "Write the constant itself."),
    T.COLON: ("a parameter", "Write the constant itself."),
    T.L_BRACKET: ("brackets", "Lists go in parentheses: x IN (1, 2)."),
    T.L_BRACE: ("braces", "Write a plain condition."),
    T.HASH: ("a column by number", "Name the column."),
    T.SELECT: ("a subquery", "A filter looks at the columns of one row; filter and group the table itself."),
    T.CASE: ("CASE", "Write it with AND and OR."),
    T.ANY: ("ANY", "Write x IN (1, 2)."),
    T.INTERVAL: ("an interval", "Write the date itself: 'YYYY-MM-DD'."),
    T.HEREDOC_STRING: ("text in dollar quotes", "Text goes in single quotes."),
}
BEFORE_PAREN = {T.L_PAREN, T.COMMA, T.AND, T.OR, T.NOT, T.IN, T.LIKE, T.BETWEEN, T.EQ, T.NEQ, T.LT, T.LTE, T.GT, T.GTE, T.DASH, T.PLUS}

FUNCTION = "A filter compares columns with constants; functions and casts are not available in it."
ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.DPipe, exp.Concat, exp.Pow)
PATTERN = (exp.ILike, exp.RegexpLike, exp.RegexpILike, exp.SimilarTo, exp.Glob, exp.Escape)
NODES: tuple[tuple[tuple[type[exp.Expr], ...], str, str], ...] = (
    ((exp.Query, exp.Exists, exp.Any, exp.All, exp.Table), "a subquery", BANNED[T.SELECT][1]),
    (PATTERN, "a pattern other than LIKE", "Use LIKE with % and _, without ESCAPE."),
    (ARITHMETIC, "arithmetic", "Compare a column with a constant; do the arithmetic in the constant."),
    ((exp.NullSafeEQ, exp.NullSafeNEQ), "IS DISTINCT FROM", "Write a = b OR (a IS NULL AND b IS NULL)."),
    ((exp.Cast,), "a cast", BANNED[T.DCOLON][1]),
    ((exp.Case, exp.If), *BANNED[T.CASE]),
    ((exp.Interval,), *BANNED[T.INTERVAL]),
    ((exp.Window,), "a window function", "A filter looks at one row."),
    ((exp.Placeholder, exp.Parameter), "a parameter", "Write the constant itself."),
    ((exp.Between,), "BETWEEN SYMMETRIC", "Write BETWEEN low AND high."),
    ((exp.In,), "IN without a list of constants", "Write x IN (1, 2)."),
    ((exp.Column, exp.Dot), "a column of another table", "Name a column of this table."),
    ((exp.Literal, exp.Boolean, exp.Null), "a constant in the place of a condition", "Compare a column with it."),
    ((exp.Func,), "a function", FUNCTION),
    ((exp.Predicate, exp.Connector, exp.Not), "a comparison of a comparison", "Join conditions with AND and OR."),
)
ALLOWED = "A filter is made of = <> < <= > >=, BETWEEN, IN, LIKE, IS NULL, AND, OR, NOT, column names and constants."


def check_tokens(tokens: Sequence[Token]) -> None:
    """Refuse what the tree would hide (comments, casts that look like dates) and what would exhaust the parser (nesting)."""
    if len(tokens) > TOKENS:
        raise QueryError("SRD-206", f"the filter has {len(tokens):,} words and signs.", f"Write at most {TOKENS:,}.")
    stack: list[int] = []
    depth = pending = 0
    before: TokenType | None = None
    for token in tokens:
        kind = token.token_type
        if token.comments:
            _refuse("a comment", "Write the condition without comments.")
        if kind in BANNED:
            _refuse(*BANNED[kind])
        if kind == T.NOT and token.text == "!":  # elsewhere it binds more tightly than NOT, or means factorial
            _refuse("an exclamation mark", "Write NOT.")
        if kind == T.VAR and token.text.lower() == "if":  # the reader would take the rest for a command, and log it
            _refuse("IF", 'Write it with AND and OR; a column of that name goes in double quotes: "if".')
        if kind == T.L_PAREN:
            if before is not None and before not in BEFORE_PAREN:
                _refuse("a function", FUNCTION)
            stack.append(pending + 1)
            depth += pending + 1
            pending = 0
        elif kind == T.R_PAREN:
            depth -= stack.pop() if stack else 0
        pending = pending + 1 if kind in (T.NOT, T.DASH, T.PLUS) else 0
        if depth + pending > DEPTH:
            raise QueryError("SRD-206", "the filter is nested too deeply.", f"Nest at most {DEPTH} levels.")
        before = kind


def refuse_node(node: exp.Expr) -> NoReturn:
    """Say what this node is and how to write the filter without it."""
    for kinds, what, fix in NODES:
        if isinstance(node, kinds):
            _refuse(what, fix)
    _refuse("something a filter may not say", ALLOWED)


def _refuse(what: str, fix: str) -> NoReturn:
    raise QueryError("SRD-206", f"the filter contains {what}.", fix)
