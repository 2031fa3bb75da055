"""Dataset files of format 1, brought forward: the same limits in the words of format 2, and not a letter more."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from sordino.errors import QueryError
from sordino.plan.location import line_of

__all__ = ["format_of", "new_lines", "upgraded"]

ENTRY = re.compile(r"^(\s*[^=]+?\s*=\s*)[0-9_]+(\s*(?:#.*)?)$")


def format_of(said: dict[str, Any]) -> Any:
    """What a file says its format is; before there was a format it said nothing."""
    head = said.get("dataset")
    return head.get("format", 1) if isinstance(head, dict) else 1


def new_limits(said: dict[str, Any]) -> dict[str, int]:
    """What `max_rows` in each of `max_groups` groups is called now; nothing where one group or one row is all there is.

    Theorem. At most m rows of a person in each of at most g groups are at most m g rows in all, at most m of them in a group.
    Proof. A person of g groups with m rows each keeps every row under either limit, and one more row is cut by both. QED
    Without groups m was the limit in all, and is m g now: such a question keeps more rows of a person and costs more.
    """
    people = said.get("privacy")
    words = people if isinstance(people, dict) else {}
    rows, groups = words.get("max_rows"), words.get("max_groups")
    counted = all(isinstance(n, int) and not isinstance(n, bool) and n >= 1 for n in (rows, groups))
    if not counted or groups == 1 or "max_rows_per_group" in words:
        return {}
    return {"max_rows": rows * groups, "max_rows_per_group": rows}  # type: ignore[operator,dict-item]


def new_lines(said: dict[str, Any]) -> dict[str, list[str]]:
    """The lines to write, by the table they belong to."""
    limits = [f"{word} = {number}" for word, number in new_limits(said).items()]
    return {"dataset": ["format = 2"], **({"privacy": limits} if limits else {})}


def upgraded(text: str, name: str) -> str:
    """The text of a file of format 1 with the lines of format 2 in it; comments and everything else stay.

    What was written is read again and compared: a file whose layout this does not understand is refused, with the lines to write.
    """
    said = tomllib.loads(text)
    limits = new_limits(said)
    lines = text.splitlines(keepends=True)
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    changes: dict[int, list[str]] = {}
    for word in limits:
        at = line_of(text, ("privacy", "max_rows"))
        if at is None:
            continue
        old = lines[at - 1].rstrip("\r\n")
        entry = ENTRY.match(old)
        if entry is not None and word == "max_rows":
            changes[at] = [f"{entry[1]}{limits[word]}{entry[2]}{end}"]
        elif entry is not None:
            changes[at].append(f"{entry[1].replace('max_rows', word, 1)}{limits[word]}{end}")
    if (head := line_of(text, ("dataset",))) is not None:
        changes[head] = [lines[head - 1].rstrip("\r\n") + end, f"format = 2{end}"]
    made = "".join("".join(changes.get(number, [line])) for number, line in enumerate(lines, 1))
    meant = {**said, "dataset": {**said["dataset"], "format": 2}}
    meant |= {"privacy": {**said["privacy"], **limits}} if limits else {}
    try:
        if tomllib.loads(made) == meant:
            return made
    except tomllib.TOMLDecodeError:
        pass
    steps = "; ".join(f"in [{table}] {', '.join(words)}" for table, words in new_lines(said).items())
    raise QueryError("SRD-204", f"{name} is laid out in a way that cannot be changed line by line.", f"Write {steps}.")
