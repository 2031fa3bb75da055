"""What it means to be an engine: on every awkward table, every request is answered with the oracle's integers."""

from __future__ import annotations

import contextlib
import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, fields, is_dataclass
from fractions import Fraction
from html import escape
from typing import Any

import numpy as np

from sordino.engines.port import Bounded, Engine
from sordino.errors import QueryError
from sordino.lab.engine_case import CASES, EngineCase
from sordino.lab.finding import plain
from sordino.lab.reference_engine import Reference
from sordino.schema.column import Column
from sordino.schema.frame import Frame
from sordino.summaries import KeyWeights
from sordino.summaries.marginal import MOST_ROWS, CellAxis, Marginals, person_unit
from sordino.summaries.moment import FINE, ONE, Gradient, Gram, Lengths, MomentTerm, Outer
from sordino.summaries.records import Records
from sordino.summaries.totals import ALL, Clipped, Item, Middles, Ranks, Rows, Totals

__all__ = ["Difference", "EngineReport", "EngineRow", "check_engine"]

Opener = Callable[[Any, tuple[Column, ...]], Engine | AbstractContextManager[Engine]]
SALT = 2**100 + 12345
LEVELS = (Fraction(0), Fraction(1, 3), Fraction(1))
SHOWN = 160  # characters of an answer in the text of a report; the row holds all of them


@dataclass(frozen=True)
class Difference:
    """One request that was answered otherwise than the oracle answers it; an exception is an answer like any other."""

    request: str
    answer: Any
    expected: Any

    def __str__(self) -> str:
        place, answer, expected = _apart(self.answer, self.expected)
        return f"{_short(self.request)}\n      answered {_short(answer)}\n      expected {_short(expected)}{f', at {place}' * bool(place)}"


@dataclass(frozen=True)
class EngineRow:
    """One frame of one table: how many requests were made of it, and those that were answered otherwise than by the oracle."""

    table: str
    frame: str
    requests: int
    differences: tuple[Difference, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.differences


@dataclass(frozen=True, repr=False)
class EngineReport:
    """What an engine was asked and where it is wrong. `ok` says that it answered all of it with the oracle's integers."""

    engine: str
    rows: tuple[EngineRow, ...]

    @property
    def ok(self) -> bool:
        return all(row.ok for row in self.rows)

    def __repr__(self) -> str:
        asked, tables = sum(row.requests for row in self.rows), len({row.table for row in self.rows})
        wrong = [row for row in self.rows if not row.ok]
        verdict = f"{len(wrong)} of {len(self.rows)} frames are answered wrongly" if wrong else "every answer is the oracle's"
        lines = [f"engine {self.engine}: {verdict} ({asked} requests of {len(self.rows)} frames of {tables} tables)"]
        for row in wrong:
            lines.append(f"  {self.engine}, table {row.table!r}, frame {row.frame!r}: {len(row.differences)} of {row.requests} requests")
            lines += [f"    {difference}" for difference in row.differences[:3]]
        return "\n".join(lines)

    def to_json(self) -> str:
        return json.dumps(plain({**asdict(self), "ok": self.ok}), allow_nan=False)

    def _repr_html_(self) -> str:
        head = "<tr><th>table</th><th>frame</th><th>requests</th><th>differences</th></tr>"
        cells = ((row.table, row.frame, row.requests, "\n".join(map(str, row.differences[:3])) or "none") for row in self.rows)
        body = "".join(f"<tr>{''.join(f'<td><pre>{escape(str(cell))}</pre></td>' for cell in line)}</tr>" for line in cells)
        return f"<p>{escape(repr(self).splitlines()[0])}</p><table>{head}{body}</table>"


def check_engine(opener: Opener, *, tables: Sequence[str] | None = None, quick: bool = False) -> EngineReport:
    """Ask an engine everything of every awkward table, and compare each answer with a second implementation in plain Python.

    `opener(table, columns)` opens the engine over an Arrow table with the columns its owner declares: an engine's class, or a function
    that returns an engine or a context manager of one. It must bound people by the portable hash, salted MD5, so that both keep the same
    rows. `tables` names some of the tables; with `quick` only the smallest one is asked every request of every column, and every frame of
    the others after their first one its totals and a third of the requests, the next frame the next third: for engines with a slow start.
    """
    unknown = [name for name in tables or () if name not in CASES]
    if unknown:
        raise QueryError("SRD-103", f"there is no awkward table {unknown[0]!r}.", f"Use some of {', '.join(CASES)}.")
    if not callable(opener):
        raise QueryError("SRD-103", f"opener is {opener!r:.80}.", "Give an engine's class, or a function of a table and its columns.")
    engines, rows = [inspect.unwrap(opener)], list[EngineRow]()
    for name in CASES if tables is None else tables:
        case = CASES[name]()
        try:
            with _opened(opener(case.table, case.columns)) as engine:
                engines.append(type(engine))
                rows += checked(engine, name, case, full=case.brief or (case.full and not quick), thirds=quick)
        except Exception as error:  # what cannot be opened or closed is wrong about this table, and is asked the next one
            rows.append(EngineRow(name, "", 1, (Difference("open and close", _raised(error), "an engine"),)))
    return EngineReport(getattr(engines[-1], "__name__", type(engines[-1]).__name__), tuple(rows))


@contextlib.contextmanager
def _opened(opened: Any) -> Iterator[Engine]:
    """The engine, closed afterwards by its own `with` or by its `close`."""
    with opened if isinstance(opened, AbstractContextManager) else contextlib.closing(opened) as engine:
        yield engine


def checked(engine: Engine, table: str, case: EngineCase, *, full: bool, thirds: bool = False) -> Iterator[EngineRow]:
    """One row for the header of a table, and one for each of its frames."""
    oracle = Reference(case.table.to_pydict(), case.columns)
    yield EngineRow(table, "", 1, tuple(_compared("header", [engine.header], [oracle.header])))
    for i, (name, frame) in enumerate(case.frames.items()):
        try:
            engine.check(frame)
            with engine.bounded(frame, SALT) as bounded, oracle.bounded(frame, SALT) as truth:
                yield compared(bounded, truth, table, name, frame, full=full, third=i if thirds else 0)
        except Exception as error:
            yield EngineRow(table, name, 1, (Difference("check and bounded", _raised(error), "a bounded table"),))


def compared(engine: Bounded, oracle: Bounded, table: str, name: str, frame: Frame, *, full: bool, third: int = 0) -> EngineRow:
    """Every kind of request about a frame, or the totals and a third of the others, asked of an engine and of the oracle."""
    keys = oracle.ask(Totals(())).keys
    asked = requests(frame, keys, full=full)
    asked = [asked[0], *asked[1 + third % 3 :: 3]] if third else asked
    found = (_compared(repr(request), [engine.ask, request], [oracle.ask, request]) for request in asked)
    return EngineRow(table, name, len(asked), tuple(difference for differences in found for difference in differences))


def _compared(request: str, one: list[Any], other: list[Any]) -> Iterator[Difference]:
    expected = values(other[0](*other[1:]))
    try:
        answer = values(one[0](*one[1:]))
    except Exception as error:
        answer = _raised(error)
    if answer != expected:
        yield Difference(request, answer, expected)


def requests(frame: Frame, keys: tuple[Any, ...], *, full: bool) -> list[Any]:
    """Totals of everything; ranks, rows, clipped sums and middles of the last column, or of all of them; products and gradients."""
    found: list[Any] = [Totals(items(frame))]
    for column in frame.columns if full else frame.columns[-1:]:
        found += _about(frame, column, keys, full=full)
    found += [marginals(frame)] if frame.columns else []
    found += records(frame, keys, full=full)
    if frame.by and frame.unit_column is not None and frame.public_groups is None:
        found += [KeyWeights(), KeyWeights(keys[::2])]
    return found + (moments(frame) if full else moments(frame)[1:6:2] if len(frame.columns) > 1 else [])


def items(frame: Frame) -> tuple[Item, ...]:
    found = [Item("rows"), Item("units")]
    found += [Item(what, column.name) for column in frame.columns for what in ("rows", "sum", "coarse", "squares")]
    return (*found, *(Item(what, index=i) for what in ("counted", "people") for i in range(len(frame.counted))))


def marginals(frame: Frame) -> Marginals:
    """Cells of the first columns, alone and crossed; people in equal parts where that is whole, and nulls in a cell with others."""
    axes = []
    for column in frame.columns[:3]:
        width = column.grid().width
        edges = tuple(sorted({0, width // 3, width - width // 3, width}))
        axes.append(CellAxis(column.name, edges, (*range(len(edges) - 1), 0)))
    sets = [(i,) for i in range(len(axes))] + [(i, j) for j in range(len(axes)) for i in range(j)] + [tuple(range(len(axes)))]
    most = frame.unit.max_rows
    return Marginals(tuple(axes), tuple(dict.fromkeys(sets)), person_unit(most) if most <= MOST_ROWS else 1)


def _about(frame: Frame, column: Column, keys: tuple[Any, ...], *, full: bool) -> list[Any]:
    """Ranks, sorted rows, clipped sums and middle rows of one column, with other limits in every group."""
    width, named = column.grid().width, keys if frame.by else None
    ends = [i * width // 7 % (width + 1) for i in range(len(keys))]
    limits = tuple((low, max(low, width - i * width // 9)) for i, low in enumerate(ends))
    kept = tuple(1 + 3 * i for i in range(len(keys)))
    few = [Ranks(column.name, LEVELS, 2, keys[::2] if frame.by else None), Clipped(column.name, limits, named)]
    shares = tuple((ALL // 3, ALL, 0)[i % 3] for i in range(len(keys)))
    rows = [Rows(column.name, most=3), Rows(column.name), Rows(column.name, shares=shares)]
    return [*few, Middles(column.name, kept, 2, named), *rows] if full else few


def records(frame: Frame, keys: tuple[Any, ...], *, full: bool) -> list[Records]:
    """Whole rows of up to three columns: all, few, thinned, and dealt out to parts that are cut and that are not."""
    names = tuple(column.name for column in frame.columns[:3])
    if not names:
        return []
    shares = tuple((ALL // 3, ALL, 0)[i % 3] for i in range(len(keys)))
    some = [Records(names[::-1], keys[::2] if frame.by else None), Records(names, parts=3, most=6)]
    return [*some, Records(names, most=3), Records(names, shares=shares), Records(names, parts=4)] if full else some


def moments(frame: Frame) -> list[Gram | Gradient | Lengths | Outer]:
    """Products and gradients over the first columns and conditions of a frame."""
    numbers = tuple(MomentTerm(column.name) for column in frame.columns[:3])
    flags = tuple(MomentTerm(index=i) for i in range(len(frame.counted)))[:2]
    terms, required = (MomentTerm(), *numbers[1:], *flags), (0,) if frame.counted else ()
    target = numbers[0] if numbers else MomentTerm()
    theta = tuple((-1) ** i * (FINE // (i + 2)) for i in range(len(terms)))
    label = flags[0] if flags else MomentTerm()
    classes = MomentTerm(cells=tuple(flag.index for flag in flags if flag.index is not None)) if flags else target
    many = tuple((-1) ** k * t // (k + 1) for k in range(3) for t in theta)
    polygon = ((-ONE, 0), (-ONE // 2, -ONE // 3), (-ONE // 7, -ONE // 4), (0, 0), (ONE // 3, ONE // 4), (ONE, 0))
    return [
        Gram((MomentTerm(), *numbers, *flags)),
        Gram((*terms, target), required),
        Gradient(terms, target, theta, clip=ONE // 3, octaves=5),
        Gradient(terms, target, theta, norm=ONE // 2, octaves=14, required=required),
        Gradient(terms, target, theta, norm=ONE // 2, order=1),
        Gradient(terms, label, tuple(9 * t for t in theta), "logistic", norm=ONE),
        Gradient(terms, label, theta, "logistic"),
        Gradient(terms, target, theta, clip=8 * ONE, norm=ONE // 3, each=True),
        Gradient(terms, label, theta, "logistic", norm=ONE // 2, cap=ONE + ONE // 9, each=True, required=required),
        Lengths(terms, target, (ONE // 2, ONE, 2 * ONE)),
        Lengths(terms, target, (0, ONE // 7, ONE, 3 * ONE), theta, required),
        Outer(terms, target, "rows", 2 * ONE, cap=ONE + ONE // 7),
        Outer(terms, label, "curvature", ONE // 3, theta, cap=2 * ONE),
        Outer(terms, target, "residual", ONE // 5, theta, required=required),
        Outer(terms, label, "residual", ONE, theta, "logistic", cap=2 * ONE),
        Gradient(terms, target, theta, "psi", norm=ONE // 2, each=True, psi=polygon),
        Outer(terms, target, "residual", ONE // 3, theta, "psi", psi=polygon, required=required),
        Outer(terms, target, "rising", 2 * ONE, theta, "psi", psi=polygon),
        Outer(terms, target, "falling", ONE, theta, "psi", psi=polygon),
        Gradient(terms, classes, many, "softmax", norm=ONE, each=True),
        Gradient(terms, target, many, "softmax", norm=4 * ONE, cap=ONE + ONE // 5, each=True, required=required),
        Outer(terms, classes, "residual", ONE, many, "softmax", cap=2 * ONE),
    ]


def values(answer: Any) -> Any:
    """An answer as plain values that compare: summaries by their parts, arrays as lists of whole numbers."""
    if is_dataclass(answer):
        return [type(answer).__name__, *(values(getattr(answer, part.name)) for part in fields(answer) if part.compare)]
    if isinstance(answer, np.ndarray):
        return answer.tolist() if answer.dtype.kind in "iO" else f"{answer.dtype} instead of whole numbers"
    if isinstance(answer, Mapping):
        return {str(key): values(part) for key, part in answer.items()}
    if isinstance(answer, Iterable) and not isinstance(answer, str | bytes):
        return [values(part) for part in answer]
    return answer


def _raised(error: Exception) -> str:
    return f"raised {type(error).__name__}: {error}"


def _apart(answer: Any, expected: Any, place: str = "") -> tuple[str, Any, Any]:
    """Where two answers first differ, and what each has there."""
    if isinstance(answer, list) and isinstance(expected, list) and len(answer) == len(expected):
        at: Any = next(i for i, (one, other) in enumerate(zip(answer, expected, strict=True)) if one != other)
    elif isinstance(answer, dict) and isinstance(expected, dict) and answer.keys() == expected.keys():
        at = next(key for key in expected if answer[key] != expected[key])
    else:
        return place, answer, expected
    return _apart(answer[at], expected[at], f"{place}[{at}]")


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
