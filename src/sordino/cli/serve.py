"""The server's verbs: serve datasets to analysts, hand out tokens, learn without any data."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
from collections.abc import Sequence
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any

import typer

from sordino.cli.console import door
from sordino.cli.declare import imported, near
from sordino.errors import QueryError

__all__ = ["archive_dataset", "learn", "restore_archive", "serve", "tokens"]

tokens = typer.Typer(help="Who may ask the server: add, list, revoke.", no_args_is_help=True)
Host = Annotated[str, typer.Option(help="The address to listen on.")]
Port = Annotated[int, typer.Option(help="The port; 0 takes a free one.")]


def serve(
    files: Annotated[list[Path] | None, typer.Argument(help="Dataset files; the one of --config or of this folder without them.")] = None,
    host: Host = "127.0.0.1",
    port: Port = 8765,
    certificate: Annotated[Path | None, typer.Option(help="A TLS certificate, in PEM.")] = None,
    key: Annotated[Path | None, typer.Option(help="Its private key.")] = None,
    behind_https: Annotated[bool, typer.Option(help="A proxy in front speaks https; listen in the clear.")] = False,
    log: Annotated[Path | None, typer.Option(help="The owner's log, one JSON object a line; standard error without it.")] = None,
    workers: Annotated[int, typer.Option(help="Processes that share the work.", min=1, max=64)] = 1,
    oidc: Annotated[Path | None, typer.Option(help="A file that names a provider to log in with, beside tokens.")] = None,
    prefix: Annotated[str, typer.Option(help="The path under which a proxy shows the server, such as /sordino.")] = "",
) -> None:
    """Serve datasets over HTTP, with pages for people. Analysts need a token: sordino token add NAME.

    Files that hold text are served from their import; what was never imported is imported first.

    Example: sordino serve hospital.toml
    """
    from sordino.plan.dataset import read_dataset
    from sordino.server.app import create_app
    from sordino.server.deadline import Deadlines
    from sordino.server.oidc import ProviderSettings

    if not (_loopback(host) or behind_https or (certificate and key)):
        fix = "Give --certificate and --key, or put a proxy in front and say --behind-https."
        raise QueryError("SRD-204", f"on {host} tokens would travel in the clear.", fix)
    if not _kept(files).people():
        door.note("nobody has a token yet: sordino token add NAME")
    made = [item for file in files or [door.dataset()] for item in imported(file) if item["done"] == "imported"]
    _write_log(log)
    if prefix and not re.fullmatch(r"(/[A-Za-z0-9._~-]+)+", prefix):
        raise QueryError("SRD-103", f"{prefix!r:.80} is no path.", "Give one such as /sordino, without a slash at its end.")
    provider = None if oidc is None else ProviderSettings.read(oidc)
    settings: dict[str, Any] = {"provider": provider, "prefix": prefix, "https": behind_https or bool(certificate), "workers": workers}
    named = files or [door.dataset()]
    made_app = partial(create_app, named, **settings)
    app = made_app() if workers == 1 else made_app  # several processes open their datasets each for itself
    for name, deadlines in ((declared.name, Deadlines(declared)) for declared in map(read_dataset, named)):
        for said in deadlines.undeclared:
            door.note(f"{name}: {said}; measure and declare it: sordino check --time")
        if deadlines.pause.paused:
            door.note(f"{name} takes no new releases: {deadlines.pause.why}; raise deadline_ms above {deadlines.pause.deadline_ms}")
    tls: dict[str, Any] = {"ssl_certfile": str(certificate), "ssl_keyfile": str(key)} if certificate and key else {}
    notes = [f"imported {item['table']} into {near(item['file'])}" for item in made]
    _run(app, host, port, f"{prefix[1:]}/datasets" if prefix else "datasets", notes=notes, workers=workers, **tls)


def archive_dataset(
    file: Annotated[Path, typer.Argument(help="The zip to write; it must not be there yet.")],
) -> None:
    """Write everything an owner must keep into one file: declaration, book, witness, tokens, approvals. No row of the data is in it.

    Example: sordino archive hospital-2025-11-16.zip --config hospital.toml
    """
    from sordino.server.archive import archive

    with door.opened() as data:
        content = archive(data)
    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as made:
            made.write(content)
            made.flush()
            os.fsync(made.fileno())
    except FileExistsError:
        raise QueryError("SRD-204", f"{file} is there already.", "Give another name: an archive is never written over.") from None
    door.say(f"wrote {file}", {"wrote": str(file), "bytes": len(content)})


def restore_archive(
    file: Annotated[Path, typer.Argument(help="An archive made by sordino archive.")],
    folder: Annotated[Path, typer.Argument(help="Where to put its files; none of them may be there.")],
) -> None:
    """Put the files of an archive back. Then put the data beside them, and let the book be verified or adopted.

    Example: sordino restore hospital-2025-11-16.zip restored
    """
    from sordino.server.archive import restore

    written = restore(file, folder)
    door.say("\n".join(f"wrote {folder / name}" for name in written), {"folder": str(folder), "files": written})
    door.note("Put the data beside them; then: sordino ledger verify, and sordino ledger adopt if the book is older than its witness.")


def learn(
    host: Host = "127.0.0.1",
    port: Port = 8766,
    export: Annotated[Path | None, typer.Option(help="Write the pages into this folder instead; they open from disk.")] = None,
    browse: Annotated[bool, typer.Option("--open", help="Open a browser as well.")] = False,
) -> None:
    """Serve the course: five lectures and sixteen pictures to play with, and rooms for a class. No dataset is opened, nothing is spent.

    Example: sordino learn --export course
    """
    if export is not None:
        from sordino.course.writing import export as copied

        written = copied(export)
        door.say(f"wrote {len(written)} files; open {export / 'index.html'}", {"files": len(written), "start": str(export / "index.html")})
        return
    from sordino.server.app import create_classroom

    _run(create_classroom(), host, port, "learn/index.html", browse=browse)


def _run(
    app: Any, host: str, port: int, path: str, *, browse: bool = False, notes: Sequence[str] = (), workers: int = 1, **tls: Any
) -> None:
    import socket

    from sordino.server.processes import serve_alone, serve_shared

    with contextlib.ExitStack() as open_sockets:
        try:
            listener = open_sockets.enter_context(socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, port))
            listener.listen(512)  # whoever reads the line below may come at once
            taken = listener.getsockname()[1]
        except OSError as error:
            raise QueryError("SRD-205", f"port {port} on {host} cannot be used: {error.strerror}.", "Give another --port.") from None
        address = f"http{'s' if tls else ''}://{host}:{taken}/{path}"
        for line in (f"{address}  (stop with Ctrl-C)", *notes):
            door.note(line)
        if browse:
            import webbrowser

            webbrowser.open(address)
        if workers > 1:
            serve_shared(app, listener, workers, tls, door.note)
        else:
            serve_alone(app, listener, tls)


def _write_log(path: Path | None) -> None:
    handler: logging.Handler
    if path is None:
        handler = logging.StreamHandler(sys.stderr)
    else:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        os.fchmod(descriptor, 0o600)
        handler = logging.StreamHandler(os.fdopen(descriptor, "a", encoding="utf-8"))
    log = logging.getLogger("sordino.server")
    log.addHandler(handler)
    log.setLevel(logging.WARNING if door.quiet else logging.INFO)
    log.propagate = False


def _loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _kept(files: list[Path] | None = None) -> Any:
    from sordino.server.auth import Tokens

    return Tokens.beside(files[0] if files else door.dataset())


@tokens.command()
def add(
    name: Annotated[str, typer.Argument(help="Whose token: the name of a purse in [budget.analysts], if there are purses.")],
    role: Annotated[str, typer.Option(help="analyst or owner.")] = "analyst",
    scope: Annotated[list[str] | None, typer.Option(help="A dataset it is for; repeat it for several, leave it out for all.")] = None,
    days: Annotated[int | None, typer.Option(help="After so many days it opens nothing; without it, it stays.", min=1)] = None,
) -> None:
    """Make a token and show it once. Only its hash is kept.

    Example: sordino token add amina --role analyst
    """
    token = _kept().add(name, role, tuple(scope or ()), days=days)
    door.note("Shown once; only its hash is kept.")
    door.say(token, {"name": name, "role": role, "token": token})


@tokens.command("list")
def listed() -> None:
    """Show who has a token."""
    people = _kept().people()
    rows = [(p.name, p.role, ", ".join(p.scope) or "every dataset", _lasts(p)) for p in people]
    plain = [{"name": p.name, "role": p.role, "scope": list(p.scope), "revoked": p.revoked, "expires": p.expires} for p in people]
    door.say("\n".join("  ".join(row).rstrip() for row in rows) or "nobody has a token", plain)


def _lasts(person: Any) -> str:
    return "revoked" if person.revoked else "expired" if person.expired else f"until {person.expires}" if person.expires else ""


@tokens.command()
def revoke(name: Annotated[str, typer.Argument(help="Whose token.")]) -> None:
    """Make a token useless, at once, on a running server too."""
    _kept().revoke(name)
    door.say(f"revoked {name}", {"revoked": name})
