"""How much work a question is, from public facts alone: the model behind deadlines, and a proposal for its one free number.

One row costs READ nanoseconds for each column, a little more for each character a text may have; BOUND where people have limits; GROUP
for each group column; NODE for each part of an expression or a condition; CHARACTER for each character a function of text may look at,
LETTER where it may change the case; STEP for each pair of a character of a LIKE pattern and a character of a text, which is the most its
matching takes; SCAN for each further question of the conversation. A text that is put together is as long as its parts together, up to
the length where engines cut it. One draw costs DRAW, in each group CELL. A release costs FIXED. These constants were fitted to the
slowest of three kinds of files on a small machine, and only their ratios matter: what a unit takes is `deadline_ms`. Private groups are
as many as the rows can lift over the threshold. A shared table counts SET for each row and set of columns, FIT for each step of its fits,
SCORE for each set it looks at, MADE for each value it makes up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sordino.engines.text import used
from sordino.errors import SordinoError
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.expression import And, Call, Expression, In, Like, Name, Not, Or, Predicate, conditions, names, parts
from sordino.schema.frame import Frame, Join
from sordino.schema.interval import LENGTHS, TEXTS, most_characters
from sordino.schema.view import Chosen, PersonJoin, PersonTotals, PersonWindows, View, text_lengths
from sordino.session.execute import measure, rehearse
from sordino.session.open_dataset import Opened
from sordino.session.settled import Settled
from sordino.session.sharing import SharePlan
from sordino.share.rounds import FitSteps
from sordino.summaries.totals import Item, Totals

__all__ = ["MARGIN", "Measured", "plain", "proposed", "round_up", "share_work", "work"]

MARGIN, GROWTH = 4.0, 1.25  # of a proposal over what was measured: a busy machine, and a table that grows
READ, BOUND, GROUP, NODE, STEP, SCAN = 500.0, 1_000.0, 1_000.0, 20.0, 0.3, 100.0  # nanoseconds a row
CHARACTER, LETTER = 2.0, 10.0  # nanoseconds of a row and a character of a text that is read or made, and where its case may change
FIXED, DRAW, CELL = 0.05, 0.02, 1e-4  # seconds
SET = 20.0  # nanoseconds of a row for each set of columns it is counted in
FIT, SCORE, MADE = 0.02, 0.005, 1e-6  # seconds of a step of a fit, of looking at a set that may be chosen, and of a made-up value


def plain(rows: int) -> float:
    """The model's seconds of a plain question: a count of people's rows."""
    return FIXED + DRAW + rows * (READ + BOUND) * 1e-9


def work(plan: Settled, columns: Mapping[str, Column], rows: int) -> float:
    """The model's seconds of a rehearsed plan on a table of so many rows: a function of public facts alone."""
    own, *counted = plan.frames
    opened = list(counted if plan.plan.keys is None and all(part.counted for part in plan.plan.draws) else plan.frames)
    if plan.plan.keys is not None and own.unit_column is not None and any(part.counted is None for part in plan.plan.draws):
        opened.append(own)  # people are bounded again inside the keys that were named
    each = sum(_row(frame, columns) for frame in opened) + SCAN * max(0, plan.scans - len(opened))
    return FIXED + rows * each * 1e-9 + len(plan.plan.parts) * DRAW + max(1, len(plan.names)) * _groups(plan, rows) * CELL


def share_work(plan: SharePlan, columns: Mapping[str, Column], rows: int) -> float:
    """The same of a shared table: passes that count in sets of columns, fits by the steps of the schedule, rows that are made."""
    ask, talk, effort = plan.question, plan.schedule, FitSteps()
    sets = len(ask.columns) + len(ask.workload) + len(ask.reported)
    each = sum(_row(frame, columns) for frame in plan.frames) + 2 * _row(plan.frames[0], columns) + SET * sets
    steps = effort.between * (1 + (talk.rounds if talk.method == "adaptive" else 0)) + effort.last
    looks = len(ask.workload) * (1 + talk.rounds)
    made = len(ask.columns) * (rows if ask.rows is None else ask.rows)
    return FIXED + rows * each * 1e-9 + FIT * steps + SCORE * looks + MADE * made + DRAW * (len(ask.columns) + talk.rounds)


def _row(frame: Frame, columns: Mapping[str, Column]) -> float:
    """Nanoseconds that one row of a frame takes."""
    found = sum(READ + (CHARACTER * column.max_length if column.type in ("cat", "id") else 0) for column in used(frame, columns))
    found += BOUND if frame.unit_column is not None else 0
    found += GROUP * len(frame.by) + READ * sum(1 + len(join.columns) for join in frame.joins)
    lengths = {**_declared(columns, frame.joins), **text_lengths(frame.view)}
    made = [column.expression for column in (*frame.by, *frame.columns) if column.expression is not None]
    found += sum(_expression(item, lengths) for item in made)
    found += sum(_predicate(item, lengths) for item in (frame.where, *frame.counted) if item is not None)
    return found + _view(frame.view)


def _declared(columns: Mapping[str, Column], joins: Iterable[Join]) -> dict[str, int]:
    beside = [column for join in joins for column in join.columns.items()]
    return {name: column.max_length for name, column in (*columns.items(), *beside)}


def _view(view: View | None) -> float:
    """The same of what is computed and tested in the rows of a view, before those of a frame."""
    match view:
        case Chosen(rows, shown, where, joins):
            lengths = {**_declared(rows.columns, joins), **text_lengths(rows)}
            made = [column.expression for _, column in shown if column.expression is not None]
            tests = 0.0 if where is None else _predicate(where, lengths)
            return sum(_expression(item, lengths) for item in made) + tests + _view(rows)
        case PersonJoin(left, right):
            return _view(left) + _view(right)
        case PersonTotals(rows) | PersonWindows(rows):
            return _view(rows)
    return 0.0


def _expression(item: Expression, lengths: Mapping[str, int]) -> float:
    inner = sum(_expression(part, lengths) for part in parts(item))
    return NODE + inner + _letters(item, lengths) + sum(_tests(condition, lengths) for condition in conditions(item))


def _letters(item: Expression, lengths: Mapping[str, int]) -> float:
    """What a function of text takes by the characters it looks at; the rest of a row only passes texts on."""
    match item:
        case Call("lower" | "upper", (inner,)):
            return LETTER * most_characters(inner, lengths)
        case Call("concat", items):
            return CHARACTER * sum(most_characters(part, lengths) for part in items)
        case Call(word, (inner, *_)) if word in TEXTS or word == "length":
            return CHARACTER * most_characters(inner, lengths)
    return 0.0


def _predicate(item: Predicate, lengths: Mapping[str, int]) -> float:
    made = [name.expression for name in names(item) if name.expression is not None]
    return _tests(item, lengths) + sum(_expression(part, lengths) for part in made)


def _tests(item: Predicate, lengths: Mapping[str, int]) -> float:
    """The tests of a condition themselves. A text that is shorter than the pattern ends the match, so a step is a pair of characters."""
    match item:
        case Not(part):
            return NODE + _tests(part, lengths)
        case And(items) | Or(items):
            return sum(NODE + _tests(part, lengths) for part in items)
        case In(_, values):
            return NODE * (1 + len(values))
        case Like(Name(column, expression), pattern):
            length = lengths.get(column, LENGTHS) if expression is None else most_characters(expression, lengths)
            return NODE + STEP * length * min(len(pattern), length)
    return NODE


def _groups(plan: Settled, rows: int) -> int:
    """How many groups may be drawn for: the public ones, or as many private ones as the rows can lift over the threshold."""
    if not plan.by:
        return 1
    if plan.plan.keys is None:
        return len(plan.context.keys or ())
    return max(1, min(1_000_000, rows // max(1, plan.plan.keys.threshold)))


def round_up(number: float) -> int:
    """The next of 1, 2, 5, 10, 20, 50, ..."""
    scale = 10 ** math.floor(math.log10(max(number, 1)))
    return int(next(step * scale for step in (1, 2, 5, 10) if step * scale >= number * (1 - 1e-12)))


@dataclass(frozen=True)
class Measured:
    """What the owner's machine took for one question. Private: it depends on the rows."""

    table: str
    question: str
    seconds: float
    work: float  # the model's seconds for the rows that are there


def proposed(opened: Opened, times: int = 3) -> tuple[dict[str, int], dict[str, int], list[Measured], int]:
    """Rows of each table, `most_rows` and `deadline_ms` on a coarse scale, and the times behind them. Reads rows and charges nothing.

    The deadline covers the slowest of the questions in units of the model, on a table that has grown to `most_rows`, with a margin.
    """
    rows, most, found = {}, {}, []
    for name, table in opened.tables.items():
        with table.engine.bounded(Frame(PrivacyUnit()), 0) as all_rows:
            rows[name] = int(all_rows.ask(Totals((Item("rows"),))).values[Item("rows")][0])
        most[name] = round_up(GROWTH * rows[name])
        for said, query in _typical(table):
            with suppress(SordinoError):
                plan = query.settle("1")
                rehearse(plan)
                seconds = max(measure(plan, table.engine) for _ in range(times))
                found.append(Measured(name, said, seconds, work(plan, table.columns, rows[name])))
    unit = plain(max(most.values()))
    return rows, most, found, round_up(1000 * MARGIN * unit * max(item.seconds / item.work for item in found))


def _typical(table: Any) -> Iterator[tuple[str, Any]]:
    """Questions of every kind that the declared columns allow."""
    usable = [column for column in table.columns.values() if column.type not in ("id", "never")]
    numbers = [column.name for column in usable if column.number and (column.bounds is not None or column.type == "bool")]
    texts = [column for column in usable if column.type == "cat"]
    yield "count", table.count()
    for name in numbers[:2]:
        yield f"sum {name}", table.sum(name)
    for name in numbers[:1]:
        yield f"median {name}", table.median(name)
    for column in texts[:2]:
        yield f"count by {column.name}", table.group_by(column.name).count()
        quoted = '"' + column.name.replace('"', '""') + '"'
        yield f"{column.name} LIKE", table.where(f"{quoted} LIKE '%{'_' * 30}a%'").count()
    for column in texts[:1]:
        for name in numbers[:1]:
            yield f"median {name} by {column.name}", table.group_by(column.name).median(name)
