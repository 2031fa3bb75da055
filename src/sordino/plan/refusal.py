"""What a filter or a statement may not say, and how to say it instead. This helps people; safety comes from the readers' whitelists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from sqlglot import Token, TokenType, exp

from sordino.errors import QueryError
from sordino.schema.column import shown

__all__ = [
    "DEPTH",
    "LENGTH",
    "SELECTS",
    "TOKENS",
    "allow",
    "check_statement",
    "check_tokens",
    "refuse",
    "refuse_clause",
    "refuse_node",
    "refuse_part",
]

DEPTH = 30  # the parser spends some twenty Python frames per level, and Python stops at a thousand
LENGTH = 8_000  # with the next line: some 20 ms of reading at most
TOKENS = 1_500

T = TokenType
FILTER_BANNED = {
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
FILTER_NODES: tuple[tuple[tuple[type[exp.Expr], ...], str, str], ...] = (
    ((exp.Query, exp.Exists, exp.Any, exp.All, exp.Table), "a subquery", FILTER_BANNED[T.SELECT][1]),
    (PATTERN, "a pattern other than LIKE", "Use LIKE with % and _, without ESCAPE."),
    (ARITHMETIC, "arithmetic", "Compare a column with a constant; do the arithmetic in the constant."),
    ((exp.NullSafeEQ, exp.NullSafeNEQ), "IS DISTINCT FROM", "Write a = b OR (a IS NULL AND b IS NULL)."),
    ((exp.Cast,), "a cast", FILTER_BANNED[T.DCOLON][1]),
    ((exp.Case, exp.If), *FILTER_BANNED[T.CASE]),
    ((exp.Interval,), *FILTER_BANNED[T.INTERVAL]),
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
        if kind in FILTER_BANNED:
            _refuse(*FILTER_BANNED[kind])
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
    for kinds, what, fix in FILTER_NODES:
        if isinstance(node, kinds):
            _refuse(what, fix)
    _refuse("something a filter may not say", ALLOWED)


def _refuse(what: str, fix: str) -> NoReturn:
    raise QueryError("SRD-206", f"the filter contains {what}.", fix)


SELECTS = 12

BANNED = {
    T.SEMICOLON: ("more than one statement", "Ask one SELECT at a time."),
    T.PARAMETER: ("a parameter", "Write the constant itself."),
    T.PLACEHOLDER: ("a parameter", "Write the constant itself."),
    T.COLON: ("a parameter", "Write the constant itself."),
    T.L_BRACKET: ("brackets", "Lists are for quantiles: QUANTILE_CONT(x, [0.25, 0.75])."),
    T.L_BRACE: ("braces", "Write plain SQL."),
    T.HASH: ("a column by number", "Name the column."),
    T.HEREDOC_STRING: ("text in dollar quotes", "Text goes in single quotes."),
}
AFTER = "Release the groups and keep the ones you want: that costs nothing more."
CLAUSES = {
    "having": ("HAVING", AFTER),
    "qualify": ("QUALIFY", AFTER),
    "windows": ("a window", "Aggregate with GROUP BY."),
    "distinct": ("DISTINCT", "GROUP BY the columns and COUNT(*): the groups are the distinct values."),
    "offset": ("OFFSET", "Leave it out: the released rows are yours to slice."),
    "sample": ("a sample", "Leave it out: which rows count is decided by the privacy unit."),
    "laterals": ("a lateral join", "Join a public table on its unique columns."),
    "pivots": ("a pivot", "GROUP BY the column and reshape the answer."),
    "into": ("INTO", "The answer comes back as a release."),
    "locks": ("a lock", "Leave it out: nothing is written."),
}
SHAPE = "A statement is SELECT aggregates FROM a table, with WHERE, GROUP BY, ORDER BY and LIMIT."
FUNCTIONS = (
    "Use ABS, ROUND, FLOOR, CEIL, SIGN, SQRT, EXP, LN, LOG, POWER, LEAST, GREATEST, COALESCE, NULLIF, CAST, CASE, IF, EXTRACT, DATE_TRUNC,"
    " LOWER, UPPER, LEFT, RIGHT, SUBSTRING, TRIM, || or LENGTH."
)
NOW = "Write CURRENT_DATE, or the day itself: DATE '2025-12-31'."
INSTEAD = {
    "AGE": "Write EXTRACT(YEAR FROM AGE(day, born)), or subtract two dates: that is days.",
    **dict.fromkeys(("SYSDATE", "CURRENT_DATETIME"), NOW),
    "INITCAP": "Use LOWER or UPPER.",
    "REVERSE": "Use LEFT, RIGHT or SUBSTRING.",
}
COUNTED = "COUNT(*) counts rows, COUNT(DISTINCT person) people, COUNT(DISTINCT city) cities; to add them up, GROUP BY them first."
NODES: tuple[tuple[tuple[type[exp.Expr], ...], str, str], ...] = (
    (
        (exp.Window,),
        "a window function",
        "Aggregate with GROUP BY; in a subquery it may look at the rows of one person: OVER (PARTITION BY the person).",
    ),
    ((exp.Filter,), "FILTER", "Write the condition into the aggregate: COUNT(CASE WHEN a > 1 THEN 1 END)."),
    ((exp.SetOperation,), "UNION, INTERSECT or EXCEPT", "Ask each SELECT on its own, and combine the releases."),
    ((exp.Query, exp.Exists, exp.Any, exp.All), "a subquery in an expression", "Put it into FROM, or join a public table."),
    ((exp.Star,), "*", "Name what you ask for; COUNT(*) counts rows."),
    ((exp.Quantile, exp.ApproxQuantile, exp.PercentileDisc), "a quantile of another kind", "Write QUANTILE_CONT(x, 0.9)."),
    ((exp.AggFunc,), "an aggregate outside the subset", "Use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, MIN, MAX or MODE."),
    ((exp.BitwiseAnd, exp.BitwiseOr), "an operator outside the subset", "Use + - * / % and FLOOR."),
    ((exp.Array, exp.Bracket), *BANNED[T.L_BRACKET]),
    ((exp.ConcatWs,), "CONCAT_WS", "Write a || '-' || b."),
    ((exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentTime), "the time of asking", NOW),
    ((exp.RegexpLike, exp.RegexpReplace, exp.RegexpExtract), "a regular expression", "Use LIKE with % and _, or SUBSTRING."),
    ((exp.Replace,), "REPLACE", "Write CASE WHEN x = 'old' THEN 'new' ELSE x END."),
    ((exp.Interval,), "an interval on its own", "Add it to a date: day + INTERVAL '30 days'; the difference of two dates is days."),
    ((exp.Placeholder, exp.Parameter), "a parameter", "Write the constant itself."),
    ((exp.If,), "IF", "Write CASE WHEN ... THEN ... ELSE ... END."),
    ((exp.Func,), "a function outside the subset", FUNCTIONS),
    ((exp.Table,), "a table that is not in the catalogue", "Name a table of this dataset."),
)


def check_statement(tokens: Sequence[Token]) -> None:
    """Refuse what the tree would hide, and what would exhaust the parser: length and nesting."""
    if len(tokens) > TOKENS:
        raise QueryError("SRD-209", f"the statement has {len(tokens):,} words and signs.", f"Write at most {TOKENS:,}.")
    if not tokens or tokens[0].token_type not in (T.SELECT, T.WITH):
        raise QueryError("SRD-209", "the statement is not a SELECT.", SHAPE)
    stack: list[int] = []
    depth = pending = selects = 0
    for place, token in enumerate(tokens):
        kind = token.token_type
        if kind in BANNED and not (kind == T.L_BRACKET and _quantiles(tokens, place)):
            refuse(*BANNED[kind])
        if kind == T.NOT and token.text == "!":
            refuse("an exclamation mark", "Write NOT.")
        after = tokens[place + 1].token_type if place + 1 < len(tokens) else None
        if kind == T.VAR and token.text.lower() == "if" and after != T.L_PAREN:  # the reader may take the rest for a command, and log it
            refuse("IF", "Write CASE WHEN ... THEN ... ELSE ... END.")
        selects += kind == T.SELECT
        if kind in (T.L_PAREN, T.CASE):
            stack.append(pending + 1)
            depth += pending + 1
            pending = 0
        elif kind in (T.R_PAREN, T.END):
            depth -= stack.pop() if stack else 0
        pending = pending + 1 if kind in (T.NOT, T.DASH, T.PLUS, T.TILDE) else 0
        if depth + pending > DEPTH or selects > SELECTS:
            raise QueryError("SRD-209", "the statement is nested too deeply.", f"Nest at most {DEPTH} levels and {SELECTS} SELECTs.")


def _quantiles(tokens: Sequence[Token], place: int) -> bool:
    """Whether brackets hold a list of levels, f(x, [0.1, 0.9]), or the place of one, f(x, 100)[OFFSET(50)]."""
    before, inside = tokens[place - 1].token_type if place else None, list[Token]()
    for token in tokens[place + 1 : place + 200]:
        if token.token_type == T.R_BRACKET:
            break
        inside.append(token)
    if before == T.COMMA:
        return all(token.token_type in (T.NUMBER, T.COMMA) for token in inside)
    kinds = [token.token_type for token in inside[1:]]
    return before == T.R_PAREN and kinds == [T.L_PAREN, T.NUMBER, T.R_PAREN] and inside[0].text.upper() in ("OFFSET", "SAFE_OFFSET")


def allow(node: exp.Expr, *allowed: str) -> None:
    """Refuse a node that carries anything we would silently ignore."""
    for key, value in node.args.items():
        if key not in allowed and value not in (None, False, [], ""):
            refuse_clause(node, key)


def refuse_clause(node: exp.Expr, key: str) -> NoReturn:
    if key in CLAUSES:
        refuse(*CLAUSES[key])
    refuse(f"{key.strip('_').replace('_', ' ')} in {type(node).__name__.upper()}", SHAPE)


def refuse_part(node: exp.Expr) -> NoReturn:
    """Say what this node is and how to do without it."""
    if isinstance(node, exp.Anonymous) and (fix := INSTEAD.get(str(node.this).upper())):
        refuse(str(node.this).upper(), fix)
    for kinds, what, fix in NODES:
        if isinstance(node, kinds):
            refuse(f"{_word(node)}, {what}" if kinds in ((exp.Func,), (exp.AggFunc,)) else what, fix)
    refuse("something outside the subset", SHAPE)


def _word(node: exp.Expr) -> str:
    """What the statement calls a function."""
    name = str(node.this) if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc) else getattr(node, "sql_name", lambda: "it")()
    return shown(name.upper()[:40])[1:-1]


def refuse(what: str, fix: str) -> NoReturn:
    raise QueryError("SRD-209", f"the statement contains {what}.", fix)
