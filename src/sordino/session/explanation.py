"""Why a question is answered the way it is: the mechanism chosen, those rejected and by how much, the theorem, the price."""

from __future__ import annotations

import html
import json
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sordino.errors import SordinoError
from sordino.session.forecast import Outlook, outlook
from sordino.session.preview import others_of, rounded

if TYPE_CHECKING:
    from sordino.session.query import Query

__all__ = ["Choice", "Explanation", "explain"]


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

    def to_json(self) -> str:
        return json.dumps(asdict(self), default=str)

    def __str__(self) -> str:
        out = [f"{self.question}: {self.price}; {self.charged}", f"chosen {self.why}"]
        for name in dict.fromkeys(choice.statistic for choice in self.choices):
            out.append(f"{name}" + (f" (its part: epsilon {self.split[name]})" if name in self.split and len(self.split) > 1 else ""))
            out += [str(choice) for choice in self.choices if choice.statistic == name]
        return "\n".join([*out, *(f"theorem: {text}" for text in self.theorems)])

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
