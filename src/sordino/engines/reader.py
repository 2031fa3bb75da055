"""What engines over rows elsewhere have in common: a header, columns of a few tame kinds, and the text of a frame over them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

from sordino.engines.array import column_array
from sordino.engines.dialect import Dialect, Stored, render
from sordino.engines.header import Place, check_columns
from sordino.engines.scan import Scan
from sordino.engines.text import Text, check, used
from sordino.engines.value import Field
from sordino.errors import QueryError
from sordino.schema.column import Column
from sordino.schema.frame import Frame

__all__ = ["HELD", "Reader"]

HELD = "held"  # what a statement calls the scanned rows


class Reader:
    """`kinds` say how each column of the header is stored: integer, float, bool, date, timestamp, decimal or text."""

    def __init__(self, place: Place, columns: Iterable[Column], kinds: Mapping[str, str], dialect: Dialect, portable: bool) -> None:
        self.source, self.columns, self.portable = place, {column.name: column for column in columns}, portable
        self._kinds, self._dialect, self._closed = dict(kinds), dialect, False
        self._checked: set[Frame] = set()
        check_columns(self.columns.values(), self.header())

    def header(self) -> tuple[str, ...]:
        """The column names of the source."""
        return tuple(self._kinds)

    def check(self, frame: Frame) -> None:
        """Refuse what cannot be read, before anything is charged. Nobody is asked."""
        if frame not in self._checked:
            check(frame, self.columns)
            render(self._text(frame, 0).bounded(), self._dialect, self._stored(frame))
            self._checked.add(frame)

    def close(self) -> None:
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._kinds)} columns)"

    def __reduce__(self) -> Any:
        raise TypeError("an engine stays in its process; open the source again")

    def _open(self) -> None:
        if self._closed:
            raise QueryError("SRD-205", "the engine is closed.", "Open the source again.")

    def _aliases(self, frame: Frame) -> dict[str, str]:
        """What the columns a frame reads are called in its statements."""
        return {column.name: f"c{i}" for i, column in enumerate(used(frame, self.columns))}

    def _stored(self, frame: Frame) -> Stored:
        return {HELD: {alias: self._kinds[name] for name, alias in self._aliases(frame).items()}}

    def _text(self, frame: Frame, salt: int) -> Text:
        fields = {name: Field(alias, self._kinds[name]) for name, alias in self._aliases(frame).items()}
        return Text(frame, self.columns, Scan(HELD, fields), salt, self.portable)

    @staticmethod
    def _hold(cursor: Any, text: Text) -> None:
        """Public tables and long lists of keys, where the statements can see them."""
        for name, table in text.held.items():
            cursor.register(name, {part: column_array(values) for part, values in table.items()})
