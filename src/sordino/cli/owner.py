"""The owner's verbs: init writes a dataset file from a header and six answers, check says what the file promises."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from sordino.cli.door import UNSAFE, door
from sordino.errors import QueryError

__all__ = ["check", "init"]

QUESTIONS = {
    "unit": "1/6  Which column says who a row is about? (empty: every row is a person of its own)",
    "limits": "2/6  At most how many rows of one person count in a group, and in how many groups? (rows,groups)",
    "bounds": "3/6  Number columns with their public bounds? (income=0:1000000 age=0:120)",
    "keys": "4/6  Text columns with public values, or private ones? (sex=f,m,x diagnosis=private)",
    "budget": "5/6  The budget: epsilon, and a delta if keys are private? (3,1e-6)",
    "size": "6/6  About how many people, if that is public? (empty: not public)",
}
HINTS = {"unit": "", "limits": "8,4", "bounds": "", "keys": "", "budget": "1,1e-6", "size": ""}


def init(
    file: Annotated[Path, typer.Argument(help="A CSV or Parquet file. Only its header is read.")],
    unit: Annotated[str | None, typer.Option(help="The column of people.")] = None,
    limits: Annotated[str | None, typer.Option(help="Rows per person and group, groups per person: 8,4.")] = None,
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
    door.say(f"wrote {target}\nnext: sordino check {target}", {"wrote": str(target), "columns": list(header)})


def _dataset(file: Path, target: Path, header: tuple[str, ...], said: dict[str, str]) -> str:
    name = file.stem.replace(" ", "-")
    rows, _, groups = (said["limits"] or HINTS["limits"]).partition(",")
    epsilon, _, delta = said["budget"].partition(",")
    columns = _columns(header, said)
    people = [f"unit_column = {json.dumps(said['unit'])}", f"max_rows = {rows.strip()}", f"max_groups = {groups.strip() or 1}"]
    people = people if said["unit"] else []
    source = file.resolve()
    place = source.name if source.parent == target.resolve().parent else str(source)
    table = "".join(letter if letter.isalnum() or letter == "_" else "_" for letter in name)
    parts = [
        "# What is protected, how much may be spent, which columns may be used. Columns that are not listed are never read.",
        "[dataset]", f"name = {json.dumps(name)}", 'version = "1"', f"ledger = {json.dumps(name + '.ledger')}", 'relation = "add_remove"',
        "", "[privacy]", *people,
        "", "[budget]", f"epsilon = {epsilon.strip()}", *([f"delta = {delta.strip()}"] if delta.strip() else []),
        "", f"[tables.{table}]", f"source = {json.dumps(place)}", *([f"size = {said['size'].strip()}"] if said["size"].strip() else []),
        "", f"[tables.{table}.columns]", *columns, "",
    ]  # fmt: skip
    return "\n".join(parts)


def _columns(header: tuple[str, ...], said: dict[str, str]) -> list[str]:
    """One line per declared column; what nobody declared may never be used."""
    declared: dict[str, str] = {said["unit"]: '{ type = "id" }'} if said["unit"] else {}
    for word in said["bounds"].split():
        name, _, pair = word.partition("=")
        low, _, high = pair.partition(":")
        whole = all(end.lstrip("-").isdigit() for end in (low, high))
        declared[name] = f'{{ type = "{"int" if whole else "float"}", bounds = [{low}, {high}] }}'
    for word in said["keys"].split():
        name, _, values = word.partition("=")
        private = values in ("", "private")
        listed = json.dumps([value.strip() for value in values.split(",")])
        declared[name] = '{ type = "cat", keys = "private" }' if private else f'{{ type = "cat", values = {listed} }}'
    unknown = [name for name in declared if name not in header]
    if unknown:
        raise QueryError("SRD-201", f"the file has no column {unknown[0]!r}.", f"Its columns are {', '.join(header)}.")
    never = [f'{json.dumps(name)} = {{ access = "never" }}' for name in header if name not in declared]
    return [*(f"{json.dumps(name)} = {facts}" for name, facts in declared.items()), *never]


def check(file: Annotated[Path | None, typer.Argument(help="A dataset file; the one of --config or of this folder.")] = None) -> int:
    """Say in plain words what a dataset file promises, and what looks wrong. Reads no rows."""
    from sordino.plan.dataset import read_dataset

    declared = read_dataset(file or door.dataset())
    unit, budget = declared.unit, declared.budget
    who = "every row is a person of its own" if unit.column is None else (
        f"{declared.unit_word}, by {unit.column!r}: at most {unit.max_rows} rows per group in {unit.max_groups} groups"
    )  # fmt: skip
    lines = [
        f"{declared.name}, version {declared.version}: protects {who}; {unit.relation.value}",
        f"budget: epsilon {float(budget.epsilon):g}, delta {float(budget.delta):g}, {budget.accounting}; {_counts(budget)}",
    ]
    problems: list[str] = []
    for name, table in declared.tables.items():
        usable = [column for column, facts in table.columns.items() if facts.type not in ("id", "never")]
        lines.append(f"table {name}: {'public' if table.public else 'private'}; may be used: {', '.join(usable) or 'nothing'}")
        problems += _problems(declared, name, table)
    for text in problems:
        lines.append(f"problem: {text}")
    door.say("\n".join(lines), {"dataset": declared.name, "problems": problems, "lines": lines})
    return UNSAFE if problems else 0


def _counts(budget: Any) -> str:
    """How many releases of half a unit, and of a tenth, either rule would allow."""
    from sordino.ledger import Balance, Budget, open_filter
    from sordino.ledger.tally import Tally
    from sordino.privacy.cost import Cost

    said = []
    for rule in ("pure", "zcdp"):
        if rule == "zcdp" and not budget.delta:
            continue
        chosen = Budget(budget.epsilon, budget.delta, rule)
        balance = Balance(chosen, open_filter(chosen), Tally(0, 0, 0, policy=chosen.policy()))
        said.append(f"{rule}: {balance.more(Cost.laplace('0.5'))} releases of 0.5 or {balance.more(Cost.laplace('0.1'))} of 0.1")
    return ", ".join(said)


def _problems(declared: Any, name: str, table: Any) -> list[str]:
    """What an owner would regret."""
    found: list[str] = []
    budget = declared.budget
    if table.public:
        return found
    if not any(facts.type not in ("id", "never") for facts in table.columns.values()):
        found.append(f"table {name} declares no column that may be used.")
    if table.size and budget.delta and budget.delta * table.size > 0.1:
        found.append(f"delta {float(budget.delta):g} is not far below 1/{table.size:,}: it allows naming somebody outright.")
    if budget.epsilon > 20:
        found.append("epsilon above 20 is no meaningful privacy.")
    for column, facts in table.columns.items():
        if facts.type in ("int", "float", "decimal") and facts.bounds is None:
            found.append(f"{name}.{column} has no bounds, so it cannot be added or averaged.")
        if facts.type == "cat" and facts.keys is None and not budget.delta:
            found.append(f"{name}.{column} has private keys, which take a delta; the budget has none.")
        if facts.type in ("int", "float") and facts.bounds is not None and math.isfinite(float(facts.bounds[1])):
            low, high = (float(bound) for bound in facts.bounds)
            if table.size and high - low > 1e6 * table.size:
                found.append(f"{name}.{column} is very wide for {table.size:,} people: sums and means will be mostly noise.")
    return found
