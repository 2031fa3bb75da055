"""From a text to the tree of one SELECT. Hostile text is refused in milliseconds, with nothing read."""

from __future__ import annotations

from sqlglot import TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from sordino.errors import QueryError
from sordino.plan.refusal import DEPTH
from sordino.plan.rewrite import LENGTH, SHAPE, check_statement, refuse_part
from sordino.schema.value import is_text, shown

__all__ = ["parse_statement"]


def parse_statement(text: str) -> exp.Select:
    """The one SELECT a text says; a semicolon at its end is no other statement."""
    if not isinstance(text, str) or not text.strip():
        raise QueryError("SRD-209", f"the statement is {shown(text)}.", 'Write, for example, "SELECT AVG(age) FROM t".')
    if len(text) > LENGTH:
        raise QueryError("SRD-209", f"the statement has {len(text):,} characters.", f"Write at most {LENGTH:,}.")
    if not is_text(text):
        raise QueryError("SRD-209", "the statement contains a character that is not text.", "Remove NUL characters and lone surrogates.")
    dialect = Dialect.get_or_raise("duckdb")
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
    return tree
