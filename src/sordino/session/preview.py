"""The price list of a question, before anything is paid: epsilon, error, share of the budget. It never opens the private source.

Why a question is answered the way it is: the mechanism chosen, those rejected and by how much, the theorem, the price.
"""

from __future__ import annotations

import contextlib
import html
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sordino.errors import SordinoError
from sordino.pictures import Picture, chain, lines
from sordino.plan.query_plan import unlisted
from sordino.privacy.number import as_epsilon
from sordino.schema.spelling import describe
from sordino.session.about import about_plan, lost
from sordino.session.forecast import Forecast, Outlook, outlook
from sordino.session.price import Offer, Wish, price
from sordino.statistics.column_mean import Mean, mean
from sordino.statistics.port import LEVEL

if TYPE_CHECKING:
    from sordino.ledger import Balance
    from sordino.session.query import Query
    from sordino.session.settled import Settled

__all__ = [
    "EPSILONS", "Choice", "Explanation", "Other", "Preview", "PriceLine", "explain", "others_of", "pictured", "preview", "price_line",
    "rounded",
]  # fmt: skip

EPSILONS = ("0.05", "0.1", "0.2", "0.5", "1", "2")
SIZES = (1_000, 10_000, 100_000)


@dataclass(frozen=True)
class PriceLine:
    """One price: its own guarantee, what the filter would take, what it buys, and how often the rest of the budget pays for it."""

    epsilon: float
    delta: float
    charged: float  # percent of the cap
    more: int
    forecasts: tuple[Forecast, ...]
    appears: str = ""  # how large a key or a lead must be to be shown
    rows: int | None = None
    loss: float = 0.0  # what the filter takes, in its own unit


@dataclass(frozen=True)
class Other:
    """Another number on the same list: how to ask for it, what it is, and what it costs at one of the prices."""

    name: str
    ask: str
    about: str
    epsilon: float
    half_width: float | None
    source: str = ""

    def __str__(self) -> str:
        marks = {"twin": " on the twin", "codebook": " on made-up rows, a guess"}
        mark = marks.get(self.source, " at most, and less the closer the rows lie")
        width = "its error is private" if self.half_width is None else f"within {rounded(self.half_width)}{mark}"
        return f"another number: {self.name}, by {self.ask}, at epsilon {self.epsilon:.4g} {width}: {self.about}"


@dataclass(frozen=True)
class Preview:
    """A price list. `best` is the line of the wish, if there was one; `problem` says why a wish cannot be met, and what can."""

    question: str
    unit: str
    lines: tuple[PriceLine, ...]
    budget: str
    notes: tuple[str, ...] = ()
    best: PriceLine | None = None
    problem: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    adds: str = "epsilon"  # the unit the ledger adds up
    about: str = ""  # which rows, which number, what the interval will cover
    others: tuple[Other, ...] = ()  # other numbers that may serve as well
    level: float = LEVEL  # of the errors

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), default=str)

    @property
    def _within(self) -> str:
        return f"{100 * self.level:.6g}% within"

    def _table(self) -> list[list[str]]:
        many = len(self.lines[0].forecasts) > 1 if self.lines else False
        sized = any(line.rows is not None for line in self.lines)
        keyed = any(line.appears for line in self.lines)
        own = [] if self.adds == "epsilon" else [self.adds]
        head = [*(["rows"] if sized else []), "epsilon", *own, *(["statistic"] if many else []), self._within, "rmse", "of budget", "more"]
        out = [[*head, *(["shown from"] if keyed else [])]]
        for line in self.lines if self.best is None else (self.best, *self.lines):
            mark = "*" if line is self.best else ""
            for known in line.forecasts:
                cells = [f"{line.rows:,}" if line.rows is not None else ""] if sized else []
                cells += [f"{line.epsilon:.4g}{mark}", *([f"{line.loss:.3g}"] if own else [])]
                cells += [*([known.name] if many else []), *_error(known)]
                out.append([*cells, f"{line.charged:.3g}%", f"{line.more:,}", *([line.appears] if keyed else [])])
        return out

    def __str__(self) -> str:
        rows = self._table()
        wide = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        body = ["  ".join(cell.rjust(width) for cell, width in zip(row, wide, strict=True)) for row in rows]
        star = ["* the price of your wish"] if self.best is not None else [self.problem] if self.problem else []
        head = [f"{self.question} ({self.unit}); nothing read, nothing spent", *([self.about] if self.about else [])]
        return "\n".join([*head, *body, *star, *self.notes, *map(str, self.others), self.budget])

    __repr__ = __str__

    def plot(self, offered: PriceLine | None = None) -> Picture:
        """Error against price, one line per statistic, both on logarithmic axes; a price that is offered is marked."""
        sized = {line.rows for line in self.lines}
        series: dict[str, tuple[list[float], list[float]]] = {}
        for line in self.lines:
            for known in line.forecasts:
                y = known.half_width if known.half_width is not None else known.ranks
                if y is not None and math.isfinite(y) and y > 0:
                    name = known.name if known.half_width is not None else f"{known.name}, ranks"
                    xs, ys = series.setdefault(f"{name}, {line.rows:,} rows" if len(sized) > 1 and line.rows else name, ([], []))
                    xs.append(line.epsilon)
                    ys.append(y)
        shown = None if offered is None else next((f for f in offered.forecasts if f.half_width and math.isfinite(f.half_width)), None)
        mark = None
        if offered is not None and shown is not None and shown.half_width is not None:
            word = "your wish" if offered is self.best else "this offer"
            mark = (offered.epsilon, shown.half_width, f"{word}: ± {rounded(shown.half_width)}")
        return lines(series, title=f"{self.question}: error and price", x="epsilon", y=self._within, log_x=True, log_y=True, mark=mark)

    def _repr_html_(self) -> str:
        head, *body = self._table()
        top = "".join(f"<th scope='col'>{html.escape(cell)}</th>" for cell in head)
        rows = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in body)
        said = "".join(f"<p>{html.escape(note)}</p>" for note in (self.problem, *self.notes, *map(str, self.others), self.budget) if note)
        caption = html.escape(f"{self.question} ({self.unit}); nothing read, nothing spent")
        plotted = any(known.half_width or known.ranks for line in self.lines for known in line.forecasts)
        drawing = self.plot()._repr_html_() if plotted else ""
        about = f"<p class='sordino-about'>{html.escape(self.about)}</p>" if self.about else ""
        return f"{about}<table><caption>{caption}</caption><tr>{top}</tr>{rows}</table>{said}{drawing}"


def _error(known: Forecast) -> tuple[str, str]:
    mark = {"twin": " (twin)", "codebook": " (guess)"}.get(known.source, "")
    ranks = f"{round(known.ranks):,} ranks" if known.ranks is not None and math.isfinite(known.ranks) else ""
    ranks = f"ends {ranks} out" if ranks and known.bar == "drawn" else ranks
    width = f"{rounded(known.half_width)}{mark}" if known.half_width is not None else ""
    stands = known.covers if known.bar == "rank" else ""
    return ", ".join(filter(None, (width, ranks, stands))) or "private", rounded(known.rmse) if known.rmse is not None else ""


def rounded(error: float) -> str:
    """Three digits say enough about an error."""
    return f"{error:,.0f}" if abs(error) >= 1000 else f"{error:.3g}"


def preview(
    query: Query, *, epsilons: Sequence[Any] = EPSILONS, wish: Wish | None = None, ranks: bool = False, delta: Any = None
) -> Preview:
    """Predict the error of a question at several prices, and the price of a wish, from public facts and public rows."""
    view, balance, prices = outlook(query), query.table.budget, [as_epsilon(epsilon) for epsilon in epsilons]
    plan = query.settle(prices[0], delta, rows=view.rows)
    if view.rows is None and any(_needs_rows(plan, name) for name in plan.names):
        few = prices[1::2] if len(prices) > 3 else prices
        found = [replace(_line(Outlook(query, n, level=query.level), balance, e, delta), rows=n) for n in SIZES for e in few]
    else:
        found = _lines(view, balance, prices, delta)
    best, problem = None, ""
    if wish is not None:
        try:
            offer = price(query, wish, delta, ranks=ranks)
            best = _line(view, balance, offer.epsilon, delta, offer=offer)
        except SordinoError as error:
            problem = str(error)
    table = query.table
    who = f"{table.unit_word}, {table.unit.relation.value}"
    facts = {"rows": view.rows, "twin": None if view.twin is None else "codebook" if view.twin.guess else "public twin"}
    asked = f"{', '.join(query.asked.statistics)}" + (f" by {', '.join(query.asked.by)}" if query.asked.by else "")
    about, others = about_plan(plan, query), tuple(others_of(view, best.epsilon if best is not None else _middle(found), delta))
    notes = (*unlisted(query.asked), *lost(plan.facts, in_file=query.table.in_file), *_notes(view, found, delta))
    return Preview(asked, who, tuple(found), str(balance), notes, best, problem, facts, balance.filter.word, about, others, query.level)


def _middle(found: Sequence[PriceLine]) -> float:
    """The price that stands for a list: one unit if that is on it."""
    return min((line.epsilon for line in found), key=lambda epsilon: abs(math.log(epsilon)))


def others_of(view: Outlook, epsilon: float, delta: Any) -> Iterator[Other]:
    """Means of values moved into drawn limits, beside the plain means that were asked: never in place of them."""
    for label, statistic in view.query.labels.drawn.statistics.items():
        if not isinstance(statistic, Mean) or statistic.moved or statistic.method == "trimmed" or view.query.asked.mechanism is not None:
            continue
        moved = mean(statistic.column, "two_stage")
        query = view.query.alone(**{moved.label: moved})
        with contextlib.suppress(SordinoError):
            plan = query.settle(as_epsilon(f"{epsilon:.6g}"), delta, rows=view.rows)
            known = replace(view, query=query).forecast(moved.label, plan)
            ask = f'mean("{statistic.column}", method="two_stage")'
            name = moved.label if label == statistic.label else label
            yield Other(name, ask, about_plan(plan, query), epsilon, known.half_width, known.source)


def _needs_rows(plan: Settled, name: str) -> bool:
    step = plan.steps.get(name)
    return step is not None and step.width(None) is None and step.width(SIZES[0]) is not None


def _lines(view: Outlook, balance: Balance, prices: Sequence[Fraction], delta: Any) -> list[PriceLine]:
    """One line for each price. Where the error is a guess on made-up rows, only the ends and the middle are simulated."""
    ends: list[tuple[float, Forecast]] = []
    out: dict[Fraction, PriceLine] = {}
    rising = sorted(set(prices))
    for epsilon in dict.fromkeys([rising[0], rising[-1], rising[len(rising) // 2], *rising]):
        if epsilon not in out:
            out[epsilon] = _line(view, balance, epsilon, delta, ends=ends)
            ends += [(float(epsilon), known) for known in out[epsilon].forecasts]
    return [out[epsilon] for epsilon in prices]


def price_line(query: Query, offer: Offer, delta: Any = None) -> PriceLine:
    """The line of one offer, as it would be settled."""
    return _line(outlook(query), query.table.budget, offer.epsilon, delta, offer=offer)


def _line(
    view: Outlook, balance: Balance, epsilon: Fraction, delta: Any, *, offer: Offer | None = None,
    ends: Sequence[tuple[float, Forecast]] = (),
) -> PriceLine:  # fmt: skip
    weights, way = (None, None) if offer is None else (offer.weights, offer.way)
    plan = view.query.settle(epsilon, delta, rows=view.rows, weights=weights, way=way)
    near = {name: view.between(name, plan, [end for end in ends if end[1].name == name]) if ends else None for name in plan.names}
    known = tuple(near[name] or view.forecast(name, plan) for name in plan.names)
    cost, loss = plan.cost, float(balance.price(plan.cost).loss)
    return PriceLine(float(cost.epsilon), float(cost.delta), balance.share(cost), balance.more(cost), known, plan.appears, loss=loss)


def _notes(view: Outlook, found: list[PriceLine], delta: Any) -> tuple[str, ...]:
    """Warnings with the way out, in the order people need them."""
    query, notes = view.query, []
    sources = {known.source for line in found for known in line.forecasts}
    if "codebook" in sources:
        notes.append("(guess): simulated on made-up rows spread over the public bounds; give twin= for rows that look like yours.")
    if "twin" in sources:
        notes.append("(twin): simulated on the public twin; the private rows may differ.")
    notes += _warnings(view, found, delta)
    if query.pointed.key() != query.key() and query.pointed.sealed(quiet=True) and not query.sealed(quiet=True):
        notes.append("a point without an interval is recorded: interval=False returns it at no price, at what it cost or less.")
    unit = query.unit
    if unit.column is not None and unit.max_rows > 1 and view.rows is not None and view.rows == query.table.size and not query.asked.by:
        word = f"size= counts people: these errors are for {view.rows:,} rows, one of each. A released count of the rows makes them better."
        notes += [word] if any(_needs_rows(query.settle(line.epsilon, delta, rows=view.rows), n) for line in found[:1]
                               for n in query.labels.drawn.statistics) else []  # fmt: skip
    for name in query.labels.drawn.statistics:
        lines_of = [(line, known) for line in found for known in line.forecasts if known.name == name]
        if lines_of and all(known.hopeless for _, known in lines_of):
            notes.append(_help(query, name, lines_of[-1][1], delta))
    return tuple(notes)


def _warnings(view: Outlook, found: list[PriceLine], delta: Any) -> list[str]:
    """What steps say about prices and sizes at which they cannot work, at the dearest of these prices."""
    said: dict[tuple[str, int | None], str] = {}
    for line in found:
        rows = line.rows if line.rows is not None else view.rows
        for name, step in view.query.settle(line.epsilon, delta, rows=view.rows).steps.items():
            if text := step.warning(rows):
                said[name, rows] = f"up to epsilon {line.epsilon:.4g}: {text}"
    return list(said.values())


def _help(query: Query, name: str, known: Forecast, delta: Any) -> str:
    """What would bring the error of a hopeless statistic below a tenth of its range."""
    assert known.span is not None
    alone = query.alone(**{name: query.asked.statistics[name]})
    text = f"warning: {name} is predicted to miss by more than half of its public range at all these prices."
    plan = alone.settle(Fraction(1), delta)
    sizes = (10**k for k in range(1, 13))
    enough = next((n for n in sizes if (width := plan.steps[name].width(n)) is not None and width <= known.span / 10), None)
    more = f" At epsilon 1 about {enough:,} rows would give a tenth of the range." if enough else ""
    return text + more + " Narrower bounds help in proportion."


@dataclass(frozen=True)
class Choice:
    """One way to answer one statistic: the predicted error, or why it is not possible here."""

    statistic: str
    way: str
    mechanism: str
    chosen: bool
    half_width: float | None = None
    rmse: float | None = None
    source: str = ""
    problem: str = ""

    def __str__(self) -> str:
        mark = "chosen  " if self.chosen else "rejected"
        width = "error private" if self.half_width is None else f"95% within {rounded(self.half_width)}, rmse {rounded(self.rmse or 0)}"
        guess = {"twin": " (on the twin)", "codebook": " (a guess, on made-up rows)"}.get(self.source, "")
        if self.mechanism == "another number":
            return f"  another number  {self.way}: {width}{guess}; {self.problem}"
        return f"  {mark}  {self.way}: {self.problem or self.mechanism + '; ' + width + guess}"


@dataclass(frozen=True)
class Explanation:
    """Everything public about how a question would be answered at one price."""

    question: str
    price: str
    charged: str
    choices: tuple[Choice, ...]
    theorems: tuple[str, ...]
    split: dict[str, str]
    why: str = "by public facts alone: the question, bounds, keys, declared or released sizes, and the price"
    notes: tuple[str, ...] = ()

    def to_json(self) -> str:
        return json.dumps(asdict(self), default=str)

    def __str__(self) -> str:
        out = [f"{self.question}: {self.price}; {self.charged}", f"chosen {self.why}"]
        for name in dict.fromkeys(choice.statistic for choice in self.choices):
            out.append(f"{name}" + (f" (its part: epsilon {self.split[name]})" if name in self.split and len(self.split) > 1 else ""))
            out += [str(choice) for choice in self.choices if choice.statistic == name]
        return "\n".join([*out, *self.notes, *(f"theorem: {text}" for text in self.theorems)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def explain(query: Query, epsilon: Fraction, delta: Any = None) -> Explanation:
    """The planner's choice at a price beside every other way, each with its predicted error."""
    view = outlook(query)
    plan = query.settle(epsilon, delta, rows=view.rows)
    choices: list[Choice] = []
    for name in plan.names:
        ways = query.ways(name, epsilon, plan)
        own = query.asked.mechanism or next(iter(ways), "")
        known = view.forecast(name, plan)
        choices.append(Choice(name, own, known.mechanism, True, known.half_width, known.rmse, known.source))
        choices += [_rival(view, name, way, epsilon, delta) for way in ways if way != own]
    parts = {label: f"{float(part.cost.epsilon):.4g}" for part in plan.plan.draws for label in part.steps}
    choices += [
        Choice(other.name, "two_stage", "another number", False, other.half_width, None, other.source, other.about)
        for other in others_of(view, float(epsilon), delta)
    ]
    theorems = tuple(dict.fromkeys(certificate.theorem for certificate in plan.certificates))
    charged = f"{query.table.budget.share(plan.cost):.3g}% of the budget's cap"
    asked = ", ".join(query.asked.statistics) + (f" by {', '.join(query.asked.by)}" if query.asked.by else "")
    return Explanation(asked, str(plan.cost), charged, tuple(choices), theorems, parts)


def _rival(view: Outlook, name: str, way: str, epsilon: Fraction, delta: Any) -> Choice:
    """The same statistic alone, by another mechanism, at the same price."""
    query = view.query.alone(**{name: view.query.asked.statistics[name]})
    query = query.by_mechanism(way, view.query.asked.propose, view.query.asked.otherwise)
    try:
        known = view.forecast(name, query.settle(epsilon, delta, rows=view.rows))
        return Choice(name, way, known.mechanism, False, known.half_width, known.rmse, known.source)
    except SordinoError as error:
        return Choice(name, way, "", False, problem=f"{error.what} {error.fix}")


def pictured(query: Query) -> Picture:
    """A question, step by step; nothing is read."""
    asked, unit = query.asked, query.unit
    many = "every row is a person" if unit.column is None else unit.words
    steps = [f"rows of {query.table.name}", *([] if asked.where is None else [f"where {describe(asked.where)}"]), many]
    steps += [f"by {', '.join(asked.by)}"] if asked.by else []
    return chain([*steps, ", ".join(asked.statistics) or "no statistic yet", ".preview() shows prices, .release(within=...) pays"])
