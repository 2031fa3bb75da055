"""Where the course's files lie, and how they get to a folder of one's own. Nothing is computed here."""

from __future__ import annotations

import shutil
from pathlib import Path

from sordino.errors import QueryError

__all__ = ["SITE", "export", "files"]

SITE = Path(__file__).parent / "site"
KINDS = {
    ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}  # fmt: skip


def files() -> dict[str, tuple[bytes, str]]:
    """Every file of the course by name: its bytes and its media type."""
    return {file.name: (file.read_bytes(), KINDS[file.suffix]) for file in sorted(SITE.iterdir()) if file.suffix in KINDS}


def export(folder: str | Path) -> list[Path]:
    """Copy the course into a folder; its index.html opens from disk, without any server."""
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise QueryError("SRD-205", f"{place} is a file.", "Name a folder.")
    place.mkdir(parents=True, exist_ok=True)
    return [Path(shutil.copyfile(SITE / name, place / name)) for name in files()]
