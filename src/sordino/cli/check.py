"""The owner's second verb: check says in plain words what a dataset file promises, and lints it."""

from __future__ import annotations

import contextlib
import math
from pathlib import Path
from typing import Annotated, Any

import typer

from sordino.cli.console import UNSAFE, door
from sordino.errors import SordinoError

__all__ = ["check"]


def check(
    file: Annotated[Path | None, typer.Argument(help="A dataset file; the one of --config or of this folder.")] = None,
    time: Annotated[bool, typer.Option("--time", help="Measure on the rows and propose deadlines for the server. NOT PRIVATE.")] = False,
    keys: Annotated[bool, typer.Option("--keys", help="Look whether declared keys are unique, and remember it. NOT PRIVATE.")] = False,
) -> int:
    """Say in plain words what a dataset file promises, and what looks wrong. Reads no rows, but for --time and --keys.

    Example: sordino check hospital.toml --keys
    """
    from sordino.plan.dataset import read_dataset

    if keys:
        return _keys(read_dataset(door.dataset(file)))
    if time:
        return _time(door.dataset(file))
    declared = read_dataset(door.dataset(file))
    unit, budget = declared.unit, declared.budget
    who = "every row is a person of its own" if unit.column is None else (
        f"{declared.unit_word}, by {unit.column!r}: {unit.words}"
    )  # fmt: skip
    lines = [
        f"{declared.name}, version {declared.version}: protects {who}; {unit.relation.value}",
        f"budget: epsilon {float(budget.epsilon):g}, delta {float(budget.delta):g}, {budget.accounting}; {_counts(budget)}",
    ]
    problems = _paused(declared)
    for name, table in declared.tables.items():
        usable = [column for column, facts in table.columns.items() if facts.type not in ("id", "never")]
        lines.append(f"table {name}: {'public' if table.public else 'private'}; may be used: {', '.join(usable) or 'nothing'}")
        problems += _problems(declared, name, table)
    for text in problems:
        lines.append(f"problem: {text}")
    lines += [f"note: {text}" for text in _notes(declared)]
    door.say("\n".join(lines), {"dataset": declared.name, "problems": problems, "lines": lines})
    return UNSAFE if problems else 0


def _keys(declared: Any) -> int:
    """Whether every key that a guarantee assumes to be unique is."""
    from sordino.session.key_check import check_keys

    with door.busy("looking at the keys"):
        found = check_keys(declared)
    broken = [one for one in found if one.repeated]
    lines = [KEYS_SEEN, *(str(one) for one in found)] if found else ["no private table declares a key or a way to the person"]
    if broken:
        lines.append('repair the keys, or name the person in the table itself: person = "...". Until then the guarantee does not hold.')
    facts = [{"table": one.table, "key": list(one.key), "rows": one.rows, "repeated": one.repeated} for one in found]
    door.say("\n".join(lines), {"dataset": declared.name, "private": False, "warning": KEYS_SEEN, "keys": facts})
    return UNSAFE if broken else 0


KEYS_SEEN = "NOT PRIVATE: counted on the rows, for their owner's eyes."
NOT_PRIVATE = "NOT PRIVATE: measured on the rows, for their owner's eyes. What you write into the dataset file becomes public."


def _time(file: Path) -> int:
    """How long questions take on this machine, and the declarations that would hide it."""
    from sordino.server.work import MARGIN, proposed
    from sordino.session.open_dataset import open_dataset

    with open_dataset(file) as opened, door.busy("asking every kind of question, for nobody"):
        rows, most, found, deadline = proposed(opened)
        name = opened.declared.name
    lines = [NOT_PRIVATE]
    for table, number in rows.items():
        slow = sorted((item for item in found if item.table == table), key=lambda item: -item.seconds)
        times = ", ".join(f"{item.question} {1000 * item.seconds:.0f} ms" for item in slow)
        lines.append(f"table {table}, {number:,} rows: {times}")
    lines.append(f"proposed, {MARGIN:g} times the slowest of them and rounded up; raise both where the machine is busier than now:")
    for table, number in most.items():
        lines += [f"  [tables.{table}]", f"  most_rows = {number:_}"]
    lines += ["  [server]", f"  deadline_ms = {deadline:_}"]
    measured = [{"table": item.table, "question": item.question, "seconds": round(item.seconds, 4)} for item in found]
    facts = {"dataset": name, "private": False, "warning": NOT_PRIVATE, "rows": rows, "measured": measured}
    door.say("\n".join(lines), {**facts, "most_rows": most, "deadline_ms": deadline})
    return 0


def _paused(declared: Any) -> list[str]:
    """Whether the server has stopped selling, and why."""
    if not Path(declared.path).with_suffix(".pause").exists():
        return []
    from sordino.server.deadline import Deadlines

    known = Deadlines(declared).pause
    if known.paused:
        fix = f"raise deadline_ms above {known.deadline_ms} and start the server again; --time proposes one."
        return [f"the server sells no new releases: {known.why} ({known.at}); {fix}"]
    return [f"{known.late} answers of the server missed their deadline."] if known.late else []


def _counts(budget: Any) -> str:
    """How many releases of half a unit, and of a tenth, either rule would allow."""
    from sordino.ledger import Balance, Budget, open_filter
    from sordino.ledger.balance import LedgerTally
    from sordino.privacy.cost import Cost

    said = []
    for rule in ("pure", "zcdp"):
        if rule == "zcdp" and not budget.delta:
            continue
        chosen = Budget(budget.epsilon, budget.delta, rule)
        balance = Balance(chosen, open_filter(chosen), LedgerTally(0, 0, 0, policy=chosen.policy()))
        said.append(f"{rule}: {balance.more(Cost.laplace('0.5'))} releases of 0.5 or {balance.more(Cost.laplace('0.1'))} of 0.1")
    return ", ".join(said)


def _problems(declared: Any, name: str, table: Any) -> list[str]:
    """What an owner would regret."""
    budget = declared.budget
    found = _source(declared, name, table)
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


def _source(declared: Any, name: str, table: Any) -> list[str]:
    """Whether the source is there and its header has every declared column; no row is read."""
    from sordino.engines.source import open_source

    if "://" in table.source or table.source.startswith("spark:"):
        return []  # a database is asked when it is opened
    try:
        engine = open_source(table.source, (), csv=table.csv)
    except SordinoError as error:
        return [f"{name}: {error.what}"]
    with contextlib.closing(engine):
        missing = [column for column in table.columns if column not in engine.header()]
    return [f"{name}: the source has no column {column!r}." for column in missing]


def _notes(declared: Any) -> list[str]:
    """What an owner should be sure of."""
    unit, budget, found = declared.unit, declared.budget, []
    if unit.column is None:
        found.append("every row counts as a person. If somebody has several rows, name their column: unit_column.")
    caps = {name: cap for name, cap in budget.analysts.items() if cap > budget.epsilon}
    found += [f"{name} may spend epsilon {float(cap):g}, more than the dataset has." for name, cap in caps.items()]
    if budget.max_per_release is not None and budget.max_per_release >= budget.epsilon:
        found.append("one release may spend the whole budget: max_per_release is no ceiling.")
    if declared.deadline_ms is None or any(table.most_rows is None for table in declared.tables.values() if not table.public):
        found.append("the server's deadlines are the default ones; --time measures your rows and proposes deadline_ms and most_rows.")
    loose = [name for name, table in declared.tables.items() if not table.public and table.csv is not None and table.csv.multiline]
    found += [f"{name} is multiline: one quote that is not closed can change the rows of other people. Cards say so." for name in loose]
    if not any(table.size for table in declared.tables.values() if not table.public):
        found.append("no table says its size, so --within asks for a released count first.")
    return found
