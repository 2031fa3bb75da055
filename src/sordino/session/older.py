"""Answers recorded in format 1: which of them still answer today's question, and one line in the log about those that do not.

Format 1 had labels in its key, and limited the rows of a person in each group where there now is a limit in all. A question under the
same labels is answered by an old answer where the old limit cut the same rows as today's limits do.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sordino.plan.recall import context, question_format_1, recall_key
from sordino.session.release import Release
from sordino.statistics.column_mean import Mean

if TYPE_CHECKING:
    from sordino.session.query import Query

__all__ = ["older_answers", "older_key", "same_limits"]

log = logging.getLogger("sordino")
_told: set[bytes] = set()  # questions whose old answers were mentioned in this process


def older_key(query: Query) -> bytes | None:
    """The key of this question in format 1; None in a book that never was of that format, and for what it did not know.

    Format 1 knew no intervals of quantiles: a repeated request finds its point, and nobody else is given it for an interval.
    """
    table = query.table
    if table.ledger.terms.format != 1 or query.words["text"] or query.asked.narrowing.given:
        return None
    asked = question_format_1(query.pointed.asked, table.unit, fold_ids=table.fold_ids)
    return recall_key(table.dataset, table.version, asked, format=1)


def same_limits(query: Query) -> bool:
    """Whether today's limits cut what r rows in each of g groups cut: without groups r rows in all, with them no less than r times g."""
    unit = query.table.unit
    if unit.column is None:
        return True
    public = context(query.asked, unit)
    counted = [statistic.counted(public) is not None for statistic in query.asked.statistics.values()]
    in_groups = bool(query.asked.by) or any(counted)
    alone = not query.asked.by and not all(counted)
    if alone and unit.rows_per_group != unit.max_rows:
        return False
    return not in_groups or unit.max_groups == 1 or unit.rows_per_group * unit.max_groups <= unit.max_rows


def _moved(sealed: bytes) -> bool:
    """Whether a mean of format 1 was that of moved or trimmed values: then a planner had chosen another number than the mean."""
    mechanism = Release.from_bytes(sealed).mechanism
    return "two stages" in mechanism or "trimmed mean" in mechanism


def older_answers(query: Query, *, quiet: bool = False) -> Sequence[bytes]:
    """The sealed answers of format 1 to this question, oldest first. Under other limits they are left alone, and the log says so once."""
    key = query.older
    found = () if key is None or query.pointed.key() != query.key() else query.table.ledger.recall(key)
    if any(isinstance(statistic, Mean) and statistic.method == "auto" for statistic in query.asked.statistics.values()):
        found = [sealed for sealed in found if not _moved(sealed)]
    if not found or same_limits(query):
        return found
    if not quiet and key is not None and key not in _told:
        _told.add(key)
        asked, unit = ", ".join(query.asked.statistics), query.table.unit
        log.warning(
            "sordino: %s: %d answers recorded under the limits of format 1 (%d rows of a person in each group) are not used again; now %s",
            asked, len(found), unit.rows_per_group, unit.words,
        )  # fmt: skip
    return ()
