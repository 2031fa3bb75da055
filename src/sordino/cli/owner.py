"""The owner's first verbs: init writes a dataset file from a header and six answers, import maps its files into their declared types."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from sordino.cli.door import door
from sordino.errors import QueryError

__all__ = ["import_files", "imported", "init", "near"]

QUESTIONS = {
    "unit": "1/6  Which column says who a row is about? (empty: every row is a person of its own)",
    "limits": "2/6  At most how many rows of one person count in all, in how many groups, how many in each? (rows,groups,each)",
    "bounds": "3/6  Number columns with their public bounds? (income=0:1000000 age=0:120)",
    "keys": "4/6  Text columns with public values, or private ones? (sex=f,m,x diagnosis=private)",
    "budget": "5/6  The budget: epsilon, and a delta if keys are private? (3,1e-6)",
    "size": "6/6  About how many people, if that is public? (empty: not public)",
}
HINTS = {"unit": "", "limits": "8,4", "bounds": "", "keys": "", "budget": "1,1e-6", "size": ""}


def init(
    file: Annotated[Path, typer.Argument(help="A CSV or Parquet file. Only its header is read.")],
    unit: Annotated[str | None, typer.Option(help="The column of people.")] = None,
    limits: Annotated[str | None, typer.Option(help="Rows of one person in all, groups, and rows in each group if fewer: 8,4,2.")] = None,
    bounds: Annotated[str | None, typer.Option(help="income=0:1000000 age=0:120")] = None,
    keys: Annotated[str | None, typer.Option(help="sex=f,m,x diagnosis=private")] = None,
    budget: Annotated[str | None, typer.Option(help="epsilon,delta: 3,1e-6")] = None,
    size: Annotated[str | None, typer.Option(help="The public number of people.")] = None,
    out: Annotated[Path | None, typer.Option(help="The dataset file to write; by default next to the source.")] = None,
    force: Annotated[bool, typer.Option(help="Replace a dataset file that is there.")] = False,
) -> None:
    """Write a dataset file: what is protected, how much may be spent, which columns may be used. Reads the header only.

    Example: sordino init patients.csv
    """
    from sordino.engines.source import open_source
    from sordino.plan.dataset import read_dataset

    target = out or file.with_suffix(".toml")
    if target.exists() and not force:
        raise QueryError("SRD-204", f"{target} is there already.", "Give --out another.toml, or --force.")
    engine = open_source(str(file), ())
    header = engine.header()
    engine.close()
    if len(header) == 1 and any(sign in header[0] for sign in ";\t|"):
        raise QueryError("SRD-205", f"{file.name} is not separated by commas.", "Save it as CSV with commas, or as Parquet.")
    said = {"unit": unit, "limits": limits, "bounds": bounds, "keys": keys, "budget": budget, "size": size}
    ask = sys.stdin.isatty() and not door.json and any(value is None for value in said.values())
    if ask:
        print(f"{file.name} has the columns {', '.join(header)}.")
    for name, given in said.items():
        if given is None:
            usable = ask and not (name == "limits" and not said["unit"])
            said[name] = typer.prompt(QUESTIONS[name], default=HINTS[name], show_default=bool(HINTS[name])) if usable else HINTS[name]
    text = _dataset(file, target, header, {name: str(value or "") for name, value in said.items()})
    target.write_text(text, encoding="utf-8")
    try:
        read_dataset(target)
    except QueryError:
        target.rename(target.with_suffix(".toml.draft"))
        raise
    door.say(f"wrote {target}\nnext: sordino check {shlex.quote(str(target))}", {"wrote": str(target), "columns": list(header)})


def _dataset(file: Path, target: Path, header: tuple[str, ...], said: dict[str, str]) -> str:
    name = file.stem.replace(" ", "-")
    rows, groups, each, *_ = [*(word.strip() for word in (said["limits"] or HINTS["limits"]).split(",")), "", ""]
    epsilon, _, delta = said["budget"].partition(",")
    columns = _columns(header, said)
    for what, *texts in (("limits", rows, groups or "1", each or "1"), ("budget", epsilon, delta or "0"), ("size", said["size"] or "0")):
        for text in texts:
            _number(text.strip(), what)
    people = [f"unit_column = {json.dumps(said['unit'])}", f"max_rows = {rows}", f"max_groups = {groups or 1}"]
    people += [f"max_rows_per_group = {each}"] if each else []
    people = people if said["unit"] else []
    source = file.resolve()
    place = source.name if source.parent == target.resolve().parent else str(source)
    table = "".join(letter if letter.isalnum() or letter == "_" else "_" for letter in name)
    parts = [
        "# What is protected, how much may be spent, which columns may be used. Columns that are not listed are never read.",
        "[dataset]", "format = 2", f"name = {json.dumps(name)}", 'version = "1"', f"ledger = {json.dumps(name + '.ledger')}",
        'relation = "add_remove"', "", "[privacy]", *people,
        "", "[budget]", f"epsilon = {epsilon.strip()}", *([f"delta = {delta.strip()}"] if delta.strip() else []),
        "", f"[tables.{table}]", f"source = {json.dumps(place)}", *([f"size = {said['size'].strip()}"] if said["size"].strip() else []),
        "", f"[tables.{table}.columns]", *columns, "",
    ]  # fmt: skip
    return "\n".join(parts)


def _number(text: str, what: str) -> float:
    """What stands in the file as a number must be one; inf and nan are not."""
    try:
        found = float(text)
        if math.isfinite(found):
            return found
    except ValueError:
        pass
    raise QueryError("SRD-103", f"{what}: {text!r} is not a number.", "Write numbers as 3, 0.5 or 1e-6; bounds as name=low:high.")


def _columns(header: tuple[str, ...], said: dict[str, str]) -> list[str]:
    """One line per declared column; what nobody declared may never be used."""
    declared: dict[str, str] = {said["unit"]: '{ type = "id" }'} if said["unit"] else {}
    for name, pair in _named(said["bounds"], header):
        low, _, high = (end.strip() for end in pair.partition(":"))
        if not _number(low, name) < _number(high, name):
            raise QueryError("SRD-104", f"the bounds of {name!r} are {pair!r}.", "Give the lower one first: name=0:100.")
        whole = all(end.lstrip("-").isdigit() for end in (low, high))
        declared[name] = f'{{ type = "{"int" if whole else "float"}", bounds = [{low}, {high}] }}'
    for name, values in _named(said["keys"], header):
        private = values in ("", "private")
        listed = json.dumps([value.strip() for value in values.split(",")])
        declared[name] = '{ type = "cat", keys = "private" }' if private else f'{{ type = "cat", values = {listed} }}'
    if said["unit"]:
        _known(said["unit"], header)
    never = [f'{json.dumps(name)} = {{ access = "never" }}' for name in header if name not in declared]
    return [*(f"{json.dumps(name)} = {facts}" for name, facts in declared.items()), *never]


def _named(text: str, header: tuple[str, ...]) -> list[tuple[str, str]]:
    """name=value pairs, separated by spaces. Names are those of the header, which may hold spaces themselves."""
    longest = sorted(header, key=len, reverse=True)
    parts = re.split(rf"(?:^|(?<=\s))({'|'.join(map(re.escape, longest))})\s*=", text) if header else [text]
    for rest in (parts[0], *(value for value in parts[2::2] if "=" in value)):
        if words := rest.partition("=")[0].split():
            _known(words[-1], header)
            raise QueryError("SRD-103", f"{rest.strip()!r} says nothing about a column.", "Write name=low:high, or name=value,value.")
    return [(name, value.strip()) for name, value in zip(parts[1::2], parts[2::2], strict=True)]


def _known(name: str, header: tuple[str, ...]) -> None:
    if name not in header:
        listed = ", ".join(json.dumps(column, ensure_ascii=False) if "," in column else column for column in header)
        raise QueryError("SRD-201", f"the file has no column {name!r}.", f"Its columns are {listed}.")


def import_files(
    file: Annotated[Path | None, typer.Argument(help="The dataset file; --config or the only one here without it.")] = None,
    again: Annotated[bool, typer.Option(help="Import also what is imported already: its source has new rows, for example.")] = False,
) -> None:
    """Import the files of a dataset, so that no value of one person costs more than its declared type does.

    For the owner: every row is read. Texts are cut at max_length, long ids become hashes, every value is mapped into its declared type.
    The copy lies beside the dataset file and belongs to the same ledger; the source stays as it is. Ctrl-C leaves the copy that was
    there. `sordino serve` imports by itself what was never imported.

    Example: sordino import hospital.toml
    """
    done = imported(door.dataset(file), again=again)
    words = {"imported": "imported into", "was imported": "was imported already, in"}
    lines = [
        f"{item['table']}: {words[item['done']]} {near(item['file'])}" if item["file"] else f"{item['table']}: needs no import"
        for item in done
    ]
    door.say("\n".join(lines), {"tables": done})


def near(file: str) -> str:
    """A path as people say it: from here, if that is shorter."""
    return min(os.path.relpath(file), file, key=len)


def imported(file: Path, *, again: bool = False) -> list[dict[str, Any]]:
    """Import a dataset with a bar on a terminal."""
    from sordino.session.opening import import_dataset

    if door.quiet or door.json or not sys.stderr.isatty():
        return import_dataset(file, again=again)
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, Any] = {}

        def tell(table: str, percent: float) -> None:
            if table not in tasks:
                tasks[table] = bar.add_task(f"importing {table}", total=100)
            bar.update(tasks[table], completed=percent)

        return import_dataset(file, again=again, tell=tell)
