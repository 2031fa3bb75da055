"""Functions of text: what each makes of a constant, how long the result can be, and which values it can have.

Only ASCII letters have another case and only plain spaces are trimmed, because databases disagree about the others.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import prod
from typing import Any

from sordino.schema.expression import Call, Constant, Expression, Leaf

__all__ = ["LENGTHS", "TEXTS", "longest", "text_part", "text_values"]

TEXTS = ("digits", "lower", "upper", "substr", "right", "trim", "ltrim", "rtrim", "concat")
LENGTHS = 10_000  # characters of a text that may be declared
DIGITS = 20  # of a whole number
Values = Callable[[Expression], tuple[Any, ...] | None]


def text_part(word: str, value: Any, given: list[Any]) -> str:
    """One of `TEXTS` but concat of a constant, as every engine has it."""
    text = str(value)
    match word:
        case "digits":
            return text.zfill(given[0])
        case "substr":
            return text[given[0] - 1 : given[0] - 1 + given[1]]
        case "right":
            return text[-given[0] :]
        case "trim":
            return text.strip(" ")
        case "ltrim":
            return text.lstrip(" ")
        case "rtrim":
            return text.rstrip(" ")
    return "".join((letter.lower() if word == "lower" else letter.upper()) if letter.isascii() else letter for letter in text)


def text_values(call: Call, values: Values, most: int) -> tuple[Any, ...] | None:
    """Every text a call can make, where the public can list those it is made of. Anything put together with null is null."""
    if call.word == "concat":
        found = [values(item) for item in call.items]
        if any(item is None for item in found) or prod(len(item or ()) for item in found) > most:
            return None
        return tuple(
            dict.fromkeys(None if None in parts else "".join(map(str, parts)) for parts in product(*(item or () for item in found)))
        )
    item, *rest = call.items
    keys, given = values(item), [part.value for part in rest if isinstance(part, Constant)]
    return None if keys is None else tuple(dict.fromkeys(None if key is None else text_part(call.word, key, given) for key in keys))


def longest(item: Expression, values: Values) -> int:
    """The most characters a text can have, as far as its declaration says."""
    keys = values(item)
    if keys is not None:
        return max([1, *(len(str(key)) for key in keys if key is not None)])
    match item:
        case Leaf(column):
            return column.max_length
        case Call("concat", items):
            return min(LENGTHS, sum(longest(part, values) for part in items))
        case Call("digits", _):
            return DIGITS
        case Call("substr" | "right", (inner, *_, Constant(length))):
            return max(1, min(longest(inner, values), int(length)))
        case Call(word, (inner, *_)) if word in TEXTS:
            return longest(inner, values)
    return LENGTHS
