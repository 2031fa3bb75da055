"""What the site adds by itself: pages that a long run writes, where it was run, and the decisions, found by their number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

WRITTEN = {"Benchmarks: the peers beside us": "benchmarks.md", "The audit": "audit.md"}  # by bench/peers.py and by make audit


def on_config(config: Any) -> Any:
    """Put what was measured under the reference, and every decision under the contributors' pages, in order."""
    docs = Path(config["docs_dir"])
    measured = _section(config, "Reference")
    measured[:] = [entry for entry in measured if not set(entry.values()) & set(WRITTEN.values())]
    measured += [{title: page} for title, page in WRITTEN.items() if (docs / page).exists()]
    _section(config, "Contributors").append({"Decisions": [f"decisions/{page.name}" for page in sorted(docs.glob("decisions/*.md"))]})
    return config


def on_files(files: Any, *, config: Any) -> Any:
    """Put the course beside the documents, so that a page can link to a picture one can play with."""
    from mkdocs.structure.files import File

    from sordino.course.writing import SITE

    for file in sorted(SITE.iterdir()):
        files.append(File.generated(config, f"learn/{file.name}", abs_src_path=str(file)))
    return files


def _section(config: Any, name: str) -> list[Any]:
    found: list[Any] = next(part[name] for part in config["nav"] if name in part)
    return found
