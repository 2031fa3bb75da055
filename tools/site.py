"""What the site adds by itself: the decisions, which are many, short and found by their number."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    """Put every decision under the contributors' pages, in order."""
    found = sorted(Path(config["docs_dir"]).glob("decisions/*.md"))
    section = next(part["Contributors"] for part in config["nav"] if "Contributors" in part)
    section.append({"Decisions": [f"decisions/{page.name}" for page in found]})
    return config
