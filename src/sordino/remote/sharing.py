"""`remote.admissions.share(...)`: a shared table of a server, promised at once and waited for; whoever stops waiting takes it up again.

The server works the seconds out from public facts, so how far the job is follows from the clock here. Rows are made on this machine from
the sealed record, as they are where the table is.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from sordino.errors import BudgetExceeded, QueryError
from sordino.session.progress import Tell, bar
from sordino.session.release import Release
from sordino.session.shared import Shared
from sordino.share.cells import Cells

if TYPE_CHECKING:
    from sordino.remote.connection import Remote

__all__ = ["promise", "taken_up", "words"]

MOST = 10_000_000  # rows anybody makes here because a server says so
EVERY = 0.1  # seconds between two looks at the clock
ALMOST = 0.99
OPTIONS = ("columns", "method", "workload", "bins", "weight", "target", "rows", "forbid")


def words(table: str, conditions: tuple[str, ...], options: Mapping[str, Any]) -> dict[str, Any]:
    """What is shared, as POST /v1/shares expects it."""
    unknown = [name for name in options if name not in OPTIONS]
    if unknown:
        raise QueryError("SRD-106", f"{unknown[0]!r:.80} is no option of a shared table.", f"Use some of {', '.join(OPTIONS)}.")
    given = {name: value for name, value in options.items() if value is not None}
    for name in ("columns", "forbid"):
        if name in given:
            given[name] = [given[name]] if isinstance(given[name], str) and name == "columns" else given[name]
            given[name] = given[name] if isinstance(given[name], str) else list(given[name])
    if not isinstance(given.get("workload", 2), int):
        given["workload"] = [list(names) for names in given["workload"]]
    if "bins" in given:
        given["bins"] = {name: list(cut) if isinstance(cut, tuple) else cut for name, cut in given["bins"].items()}
    return {"table": table, **({"where": list(conditions)} if conditions else {}), **given}


def promise(
    remote: Remote, share: dict[str, Any], *, epsilon: Any, delta: Any, fresh: bool, request: str | None, at_most: Any,
    progress: Tell | None,
) -> Shared:  # fmt: skip
    """Promise it, wait for it, and make its rows. The same request again is the same job and is charged once."""
    from sordino.remote.connection import _shaped

    key = request or secrets.token_hex(16)
    if epsilon is None:
        raise QueryError("SRD-101", "a shared table needs one price.", "Give epsilon= and delta=.")
    said = {"epsilon": str(epsilon), "delta": None if delta is None else str(delta), "at_most": None if at_most is None else str(at_most)}
    body = {"share": share, "fresh": fresh, **{name: text for name, text in said.items() if text is not None}}
    try:
        job = remote.persist("POST", "/v1/shares", key, body | ({"dataset": remote.name} if remote.name else {}))
    except BudgetExceeded as refusal:
        refusal.facts["request"] = key
        raise
    id, seconds = _shaped(lambda: ("".join(job["id"]), float(job["seconds"])))
    return taken_up(remote, id, seconds, progress=progress)


def taken_up(remote: Remote, id: str, seconds: float = 0.0, *, progress: Tell | None = None) -> Shared:
    """The table of a job, when it is there. Stopped by Ctrl-C it goes on at the server; `remote.shared(id)` waits for it again."""
    from sordino.remote.connection import _release, _shaped

    began, place = time.monotonic(), f"/v1/shares/{quote(id, safe='')}"
    try:
        with bar("promised; waiting for it", progress) as tell:
            while True:
                found = _waiting(lambda: remote.persist("GET", place, id), began, seconds, tell)
                if _shaped(lambda found=found: "".join(found["state"])) == "done":  # type: ignore[misc]
                    break
                seconds = _shaped(lambda found=found: float(found["seconds"]))  # type: ignore[misc]
            if tell is not None:
                tell(1.0)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"the job goes on at the server; take it up again with remote.shared({id!r})") from None
    sealed = remote.persist("GET", f"/v1/releases/{quote(_shaped(lambda: ''.join(found['release'])), safe='')}", id)
    return _shaped(lambda: _shared(_release({**sealed, "paid": found["paid"]}), found["cells"]))


def _waiting(ask: Callable[[], Any], began: float, seconds: float, tell: Tell | None) -> Any:
    """The answer of a request that may take a minute, with the clock shown beside; Ctrl-C is heard meanwhile."""
    done: list[Any] = []

    def run() -> None:
        try:
            done.append((ask(), None))
        except BaseException as error:
            done.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(EVERY)
        if tell is not None and seconds > 0:
            tell(min(ALMOST, (time.monotonic() - began) / seconds))
    found, error = done[0]
    if error is not None:
        raise error
    return found


def _shared(release: Release, cells: list[Any]) -> Shared:
    made = Shared(release, tuple(Cells.from_record(said) for said in cells))
    rows, names = made.record["sampled"], [one.column.name for one in made.fine]
    if not isinstance(rows, int) or not 0 <= rows <= MOST or names != list(made.columns):
        raise ValueError
    repr(made)
    return made
