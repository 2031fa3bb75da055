"""Audits from the command line: certificates of every mechanism, and sampled audits of one."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from sordino.cli.door import FAILED, door
from sordino.errors import QueryError

__all__ = ["audit"]


def audit(
    mechanism: Annotated[str | None, typer.Argument(help='A mechanism by name, such as "smooth"; all of them without it.')] = None,
) -> int:
    """Check the certificate of every mechanism by integrating the law it really samples. Exit code 1 if one does not hold.

    Example: sordino audit smooth
    """
    from rich.console import Console
    from rich.progress import track

    import sordino as sd

    chosen = [_found(mechanism)] if mechanism else list(sd.mechanisms.catalog())
    todo = [(kind, example) for kind in chosen for example in kind.examples()]
    rows = []
    still = door.quiet or door.json or not sys.stderr.isatty()
    for kind, example in track(todo, description="checking", console=Console(stderr=True), disable=still, transient=True):
        certificate = example.certificate()
        found = certificate.check()
        rows.append({"mechanism": kind.__name__, "claim": str(certificate.cost), "sound": found.sound, "slack": float(found.slack)})
    lines = [f"{'holds ' if row['sound'] else 'BROKEN'}  {row['mechanism']}: {row['claim']}, slack {row['slack']:.4f}" for row in rows]
    wrong = sum(not row["sound"] for row in rows)
    door.say("\n".join([*lines, f"{len(rows)} certificates, {wrong} broken"]), rows)
    return FAILED if wrong else 0


def _found(name: str) -> Any:
    """A mechanism: other things the notes name have no certificate to check."""
    import sordino as sd

    found = sd.mechanisms.find(name)
    if found not in sd.mechanisms.catalog():
        raise QueryError("SRD-106", f"{name!r} is no mechanism.", "sordino audit without a name checks all of them.")
    return found
