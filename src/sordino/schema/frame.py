"""The rows one release looks at: filter, groups, columns and the privacy unit, all public facts."""

from __future__ import annotations

from dataclasses import dataclass

from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.join import Join
from sordino.schema.predicate import Predicate

__all__ = ["Frame"]


@dataclass(frozen=True)
class Frame:
    """What an engine must prepare before it may answer: the bounded table of one release.

    `by` are the group columns: with keys the rows of other keys drop out and every combination of keys is a group, in the order declared;
    without keys (in any of them) the groups are those that occur. `columns` are the number columns whose integers are needed; `counted`
    are predicates whose rows are counted. With `edges` (grid steps above the lower bound, ascending) the last group column is a number and
    its key is the index i of the bin edges[i] <= x < edges[i+1], the last bin closed on the right; its `keys` are then 0..len(edges)-2 and
    rows in no bin drop out. `joins` lay public tables beside each row, in order, before anything is filtered. A column with an expression
    is computed from other columns of the row. Rows with a null unit id drop out. Bounding is the last step before aggregation.
    """

    unit: PrivacyUnit
    unit_column: Column | None = None
    fold_ids: bool = False
    where: Predicate | None = None
    by: tuple[Column, ...] = ()
    columns: tuple[Column, ...] = ()
    counted: tuple[Predicate, ...] = ()
    edges: tuple[int, ...] | None = None
    joins: tuple[Join, ...] = ()

    @property
    def public_groups(self) -> tuple[tuple[object, ...], ...] | None:
        """Every group when all keys are public, in order (one empty group when ungrouped); None when some are private."""
        groups: list[tuple[object, ...]] = [()]
        for column in self.by:
            if column.keys is None:
                return None
            groups = [(*group, key) for group in groups for key in column.keys]
        return tuple(groups)
