"""The owner's log of what happened on the server: one JSON object a line, public facts only."""

from __future__ import annotations

import datetime as dt
import json
import logging
from typing import Any

__all__ = ["record"]

log = logging.getLogger("sordino.server")


def record(event: str, **facts: Any) -> None:
    """Write one line. Who, which route, which status, which charge; never a question's constants and never a value."""
    if log.isEnabledFor(logging.INFO):
        when = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        log.info("%s", json.dumps({"time": when, "event": event, **facts}, default=str))
