"""Recorded answers that were found before: given again at once, without a thread, while nothing was written into their book since.

Finding the best of a long history takes as long as the history is. Whoever asks again the same way is told the same, as long as the book's
stamp says that nobody has charged or sealed anything; a ledger in a database far away has no stamp, and is asked every time.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from sordino.session.query import Query

if TYPE_CHECKING:
    from sordino.server.release_request import Errand, PaidAnswer

__all__ = ["RecalledAnswers"]

KEPT = 1024


class RecalledAnswers:
    """By question and wish: what was recalled last, and the stamp of the book at that moment."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Any, Any], tuple[int, PaidAnswer]] = OrderedDict()

    def stamp(self, errand: Errand) -> int | None:
        """Taken before the book is searched, so that what lands meanwhile makes the answer old."""
        return None if errand.wish.fresh or not isinstance(errand.query, Query) else errand.query.table.ledger.stamp

    def find(self, errand: Errand) -> PaidAnswer | None:
        """What was found before, for a request id that was never charged."""
        place = (errand.query, errand.mark)
        if errand.wish.fresh or place not in self._kept:
            return None
        stamp, found = self._kept[place]
        ledger = errand.query.table.ledger
        return found if ledger.stamp == stamp and ledger.find(errand.request) is None else None

    def keep(self, errand: Errand, stamp: int | None, found: PaidAnswer) -> None:
        if stamp is None or found.recalled is None:
            return
        self._kept[errand.query, errand.mark] = (stamp, found)
        self._kept.move_to_end((errand.query, errand.mark))
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
