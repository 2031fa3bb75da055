"""The name somebody probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from sordino.schema.value import shown

__all__ = ["nearest"]


def nearest(name: object, known: Iterable[str], kind: str = "names") -> str:
    """A hint for an unknown name: the closest known one, or the known ones, or that there are none."""
    names = [item for item in known if len(item) <= 200][:1000]
    folded = {item.casefold(): item for item in reversed(names)}
    close = get_close_matches(str(name)[:200].casefold(), folded, n=1, cutoff=0.6)
    if close:
        return f"Did you mean {shown(folded[close[0]])}?"
    if not names:
        return f"There are no {kind}."
    listed = ", ".join(shown(item) for item in names[:12])
    return f"Known {kind}: {listed}{', ...' if len(names) > 12 else ''}."
