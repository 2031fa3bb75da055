"""The ledger's verbs: list, verify, export, adopt, upgrade."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from sordino.cli.console import BROKEN, USAGE, door
from sordino.errors import LedgerError

__all__ = ["books"]

books = typer.Typer(help="The book of charges: list, verify, export, adopt, upgrade.", no_args_is_help=True)


@books.command("list")
def listed(last: Annotated[int, typer.Option(help="How many of the newest charges.", min=1)] = 20) -> None:
    """Show the newest charges: id, when, price, who paid, whether an answer is recorded. Charges of format 1 do not say when.

    Example: sordino ledger list --last 5
    """
    with door.opened() as data:
        entries = data.ledger.entries()
        rows = [(e.id, e.at or "", str(e.cost) if e.cost is not None else "write-off", e.analyst or "", _state(e)) for e in entries[-last:]]
        wide = [max([len(row[i]) for row in rows], default=0) for i in range(5)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, wide, strict=True)).rstrip() for row in rows]
        plain = [dict(zip(("id", "at", "cost", "analyst", "state"), row, strict=True)) for row in rows]
        door.say("\n".join([*lines, f"{len(entries)} charges; {data.budget}"]), plain)


def _state(entry: Any) -> str:
    return {"sealed": "answered", "open": "charged, no answer recorded"}.get(entry.state, str(entry.state))


@books.command()
def verify() -> int:
    """Walk the whole hash chain. Exit code 6 if it is broken."""
    with door.opened() as data:
        found = data.ledger.verify()
        door.say(f"the chain is {found}", {"whole": bool(found), "text": str(found)})
        return 0 if found else BROKEN


@books.command()
def export(file: Annotated[Path | None, typer.Argument(help="Where to write; standard output without it.")] = None) -> None:
    """Write the book as JSON lines that anybody can verify on another machine."""
    with door.opened() as data:
        text = data.ledger.export()
    if file is None:
        print(text, end="")
        return
    file.write_text(text, encoding="utf-8")
    door.say(f"wrote {file}", {"wrote": str(file)})


@books.command()
def adopt(
    epsilon: Annotated[str | None, typer.Option(help="What may have been spent elsewhere; 0 says nothing was.")] = None,
    delta: Annotated[str, typer.Option(help="Its delta.")] = "0",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before writing off.")] = False,
) -> int:
    """Accept a restored or moved ledger, writing off what its witness knows it to have lost. Owner only.

    A ledger that is whole and agrees with its witness is left as it is, unless --epsilon states a write-off.
    """
    from sordino.ledger import adopt as accept
    from sordino.plan.dataset import read_dataset

    declared = read_dataset(door.dataset())
    if epsilon is None and (sound := _sound()):
        door.say(f"nothing to adopt: the chain is {sound} and its witness agrees", {"adopted": False, "text": sound})
        return 0
    asks = sys.stdin.isatty() and not (yes or door.json)
    if asks and not typer.confirm("Write off what may be missing? There is no way back.", err=True):
        door.note("nothing was written off")
        return USAGE
    lost = accept(declared.ledger, epsilon=epsilon, delta=delta, dataset=declared.name, witness=declared.witness)
    text = f"adopted; written off: loss {float(lost.loss):.4g}, delta {float(lost.delta):.3g}"
    door.say(text, {"adopted": True, "loss": str(lost.loss), "delta": str(lost.delta)})
    return 0


@books.command()
def upgrade(yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before upgrading.")] = False) -> int:
    """Make the book one of format 2. One way: older versions of Sordino refuse it afterwards. Owner only.

    A file is copied to FILE.format1 first. A database is not: make a backup, which the command shows. Nothing is spent, nothing recorded
    is changed. Without this verb the first charge does the same.

    Example: sordino ledger upgrade --yes
    """
    from sordino.ledger import upgrade as bring_forward
    from sordino.plan.dataset import read_dataset

    declared = read_dataset(door.dataset())
    remote = declared.ledger.startswith(("postgres://", "postgresql://"))
    if remote:
        door.note("back it up first: pg_dump -t sordino_head -t sordino_entry DATABASE > ledger.sql")
    asks = sys.stdin.isatty() and not (yes or door.json)
    if asks and not typer.confirm("Upgrade the ledger? There is no way back.", err=True):
        door.note("nothing was changed")
        return USAGE
    done = bring_forward(declared.ledger, dataset=declared.name, witness=declared.witness)
    facts = {"upgraded": done.changed, "before": done.before, "after": done.after, "copy": done.copy}
    if not done.changed:
        door.say(f"the ledger is of format {done.after} already", facts)
        return 0
    kept = f"; the book as it was is {done.copy}" if done.copy else ""
    door.say(f"the ledger is of format {done.after} now{kept}", facts)
    return 0


def _sound() -> str:
    """What a whole ledger that agrees with its witness says of itself; nothing if it is not."""
    with contextlib.suppress(LedgerError), door.opened() as data:
        found = data.ledger.verify()
        return str(found) if found else ""
    return ""
