"""A recorded answer in words: what was asked, what the card says, and how to ask the same from elsewhere. No Python reprs on a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from sordino.session.about import _condition
from sordino.session.release import Release
from sordino.session.view import shown

__all__ = ["card_rows", "copies", "spoken", "statement_of"]


def spoken(card: Mapping[str, Any], names: tuple[str, ...] = ()) -> str:
    """The question of a card in one line: what, by what, of which rows."""
    asked = card.get("question")
    if not isinstance(asked, Mapping):
        return ", ".join(names)
    by = f" by {', '.join(map(str, asked.get('by') or ()))}" if asked.get("by") else ""
    where = f" where {_condition(asked['where'])}" if asked.get("where") is not None else ""
    return f"{', '.join(names or tuple(asked.get('statistics', ())))}{by} of {asked.get('table', '')}{where}"


@lru_cache(8192)
def statement_of(sealed: bytes) -> tuple[str, str, tuple[str, ...]]:
    """What a sealed answer says of its question: in words, its table, its statistics. Answers never change, so it is worked out once."""
    found = Release.from_bytes(sealed)
    return spoken(found.card, found.names), str(found.card.get("table", "")), found.names


def card_rows(release: Release) -> list[tuple[str, str]]:
    """The claim card, with the sentence people need first and the question in words."""
    card = release.card
    first = [("in one sentence", str(card["odds"]))] if card.get("odds") else []
    first += [("about", release.about)] if release.about else []
    first += [("asked", spoken(card, release.names))]
    rest = {name: value for name, value in card.items() if name not in ("odds", "question")}
    return [*first, *((name, text) for name, text in _rows(rest) if text)]


def _rows(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in facts.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}: {inner}", _words(item)) for inner, item in value.items())
        else:
            yield name, _words(value)


def _words(value: Any) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case list() | tuple():
            return "; ".join(_words(item) for item in value)
        case Mapping():
            return "; ".join(f"{name} {_words(item)}" for name, item in value.items())
    return shown(value)


def copies(release: Release, server: str, sql: str | None) -> dict[str, str]:
    """The same answer from elsewhere. It is recorded, so each of them is free."""
    called = sql is not None and sql.lstrip().startswith("{")
    home = f'import sordino as sd\n\nremote = sd.connect("{server}", token="srd_...")\n'
    said = {"Python": f'{home}answer = remote.release("{release.id}")'}
    if sql is not None and not called:
        price = release.cost.exact.epsilon
        text = sql.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
        said["Python"] = f'{home}query = remote.sql("""{text}""")\nanswer = query.release(epsilon="{price}")  # recorded, so free'
        said["SQL"] = sql
    said["curl"] = f'curl -H "Authorization: Bearer $TOKEN" "{server}/v1/releases/{release.id}"'
    return said
