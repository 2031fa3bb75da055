"""How many modules name a statistic by hand: `python tools/named.py`, one line each with the modules.

A module names a statistic when it imports its class or the function that makes it, has a method of that name, or lists the name as text
in a collection, a comparison or a `case`. Text that is handed to a call does not count: it is usually something else (a column, a request).
The statistic's own file does not count, nor do rooms below `statistics`, engines, the ledger and the course: there a median is a formula.
"""

from __future__ import annotations

import ast
import inspect
import statistics as numbers
import sys
from collections.abc import Iterator
from pathlib import Path

import sordino
from sordino import statistics

ROOM = Path(sordino.__file__).parent
ELSEWHERE = ("course", "engines", "ledger", "mechanisms", "noise", "pictures", "privacy", "schema", "sensitivity", "summaries")
NOT_STATISTICS = ("bundles", "catalog", "make", "plan_steps", "registered", "statistic", "written")
MAKERS = {name: made for name in statistics.__all__ if inspect.isfunction(made := getattr(statistics, name)) and name not in NOT_STATISTICS}


def classes(name: str) -> set[str]:
    """The class a maker returns, as its annotation says."""
    return {str(MAKERS[name].__annotations__["return"])}


def said(tree: ast.Module) -> Iterator[str]:
    """Every name a module says of its own accord."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(home), names=names) if home.startswith("sordino.statistics") or home == "sordino.statistics":
                yield from (item.name for item in names)
            case ast.Attribute(value=ast.Name(id="statistics" | "sd" | "st"), attr=name):
                yield name
            case ast.ClassDef(body=body):
                yield from (item.name for item in body if isinstance(item, ast.FunctionDef))
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts) | ast.Compare(comparators=parts):
                yield from texts(parts)
            case ast.Compare(left=left):
                yield from texts([left])
            case ast.Dict(keys=keys):
                yield from texts([key for key in keys if key is not None])
                yield from texts(node.values)
            case ast.MatchValue(value=value):
                yield from texts([value])


def texts(parts: list[ast.expr]) -> Iterator[str]:
    yield from (part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str))


def named() -> dict[str, list[str]]:
    """The modules that name each statistic."""
    found: dict[str, list[str]] = {name: [] for name in MAKERS}
    for path in sorted(ROOM.rglob("*.py")):
        if path.relative_to(ROOM).parts[0] in ELSEWHERE:
            continue
        names = set(said(ast.parse(path.read_text())))
        home = ".".join(path.relative_to(ROOM.parent).with_suffix("").parts)
        for name, modules in found.items():
            own = inspect.unwrap(MAKERS[name]).__module__
            if home != own and names & {name, *classes(name)}:
                modules.append(home.removeprefix("sordino."))
    return found


if __name__ == "__main__":
    found = named()
    for name, modules in sorted(found.items(), key=lambda item: -len(item[1])):
        print(f"{name:<16}{len(modules):>3}  {', '.join(modules) if '-q' not in sys.argv else ''}")
    sizes = [len(modules) for modules in found.values()]
    print(f"{len(found)} statistics, named in {min(sizes)} to {max(sizes)} modules, median {numbers.median(sizes)}, together {sum(sizes)}")
