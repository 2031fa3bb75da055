"""An answer, with everything public about how it was made."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sordino.privacy.cost import Cost
from sordino.summaries import Refused

__all__ = ["Release"]


@dataclass(frozen=True)
class Release:
    """A released value with its price, mechanism and card. `float(r)` is nan when the answer is "refused"."""

    value: Any
    cost: Cost
    mechanism: str
    card: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def refused(self) -> bool:
        return isinstance(self.value, Refused)

    def __float__(self) -> float:
        return math.nan if self.refused else float(self.value)
