"""A limit on the rows of a person that is drawn: paid once, published, and reused free for the same rows and groups."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sordino.errors import BudgetExceeded, QueryError
from sordino.privacy.cost import Cost
from sordino.privacy.number import as_epsilon
from sordino.session.people import per_person
from sordino.statistics import count
from sordino.statistics.column_sum import Sum
from sordino.statistics.grouping_sets import GroupingSets
from sordino.statistics.row_cap import RowCap, caps_to
from sordino.statistics.row_count import Count

if TYPE_CHECKING:
    from sordino.session.preview import Explanation, Preview
    from sordino.session.query import Query
    from sordino.session.release import Release

__all__ = ["cap_question", "explained", "known_cap", "limited", "listed", "released"]

SHARE = Fraction(1, 5)  # of the first price, for the cap
ROWS = "rows"


def cap_question(query: Query) -> Query:
    """The question about the cap: of how many rows each person has among these rows. It belongs to the rows and the groups."""
    for label, statistic in query.asked.statistics.items():
        if not isinstance(statistic, Count | Sum | GroupingSets):
            raise QueryError("SRD-204", f"a limit is drawn for counts and sums, not for {label}.", "Give limit(rows=...) as a number.")
    table, most = query.table, query.unit.max_rows
    if most < 2:
        raise QueryError("SRD-204", "at most one row of a person counts already.", "Leave limit() out.")
    people = per_person(table, replace(query.asked, statistics={}, by=(), sets=()), {ROWS: count()}, {ROWS: (1, most + 1)})
    return people._ask(RowCap(ROWS, query.asked.by))


def known_cap(query: Query) -> Release | None:
    """The drawn cap in the book, the dearest if there are several."""
    return max(cap_question(query).recorded(), key=lambda found: found.cost.exact.epsilon, default=None)


def limited(query: Query, cap: Release) -> Query:
    """The question at a drawn cap: it says where its limit is from."""
    said = f"{cap.value:,} rows, drawn at {cap.cost} by release {cap.id}"
    return replace(query, asked=replace(query.asked, narrowing=replace(query.asked.narrowing, rows=cap.value, drawn=said)))


def declared(query: Query) -> Query:
    """The same question with the limit the owner declared."""
    return replace(query, asked=replace(query.asked, narrowing=replace(query.asked.narrowing, rows=None)))


def released(query: Query, *, epsilon: Any = None, analyst: str | None = None, request: str | None = None, **price: Any) -> Release:
    """The answer at the drawn cap. Where none is in the book, a fifth of epsilon draws it first, as a release of its own."""
    cap = known_cap(query)
    if cap is not None:
        asked, paid = limited(query, cap), None if epsilon is None else as_epsilon(epsilon) - cap.cost.exact.epsilon
        found = None if paid is None or paid <= 0 or price.get("fresh") else asked.recall(paid)
        if found is not None:  # with its limit it cost as much
            return found.at(query.level).presented()
        if paid is not None and _unanswered(query, cap, as_epsilon(epsilon), request):
            epsilon = paid  # the limit of this price was paid, its answer was not
        return asked.release(epsilon=epsilon, analyst=analyst, request=request, **price)
    if epsilon is None:
        what = "the limit is not drawn yet, so an accuracy has no price."
        raise QueryError("SRD-101", what, "Give epsilon=: a fifth of it draws the limit, which is free afterwards.")
    whole, first = as_epsilon(epsilon), cap_question(query)
    rest = whole * (1 - SHARE)
    plans = [first.settle(whole * SHARE), declared(query).settle(rest, price.get("delta"))]
    both = Cost.sum((plan.cost, 1) for plan in plans)
    balance = query.table.budget
    ceiling = balance.tally.policy["max_per_release"]  # each of the two is a release of its own
    whole_paid = balance.more(both, analyst=analyst) or (ceiling is not None and both.epsilon > Fraction(ceiling))
    if not whole_paid or not all(balance.more(plan.cost, analyst=analyst) for plan in plans):
        what = f"the budget does not pay epsilon {float(whole):g} for the limit and the answer together."
        raise BudgetExceeded("SRD-301", what, "Give a smaller epsilon.")
    drawn = first.release(epsilon=whole * SHARE, analyst=analyst, request=None if request is None else f"{request}:limit")
    return limited(query, drawn).release(epsilon=rest, analyst=analyst, request=request, **price)


def _unanswered(query: Query, cap: Release, whole: Fraction, request: str | None) -> bool:
    """Whether this price was begun and the process ended between its two charges: under this request id, or as the last of the book."""
    if cap.cost.exact.epsilon != whole * SHARE:
        return False
    book = query.table.ledger
    if request is not None:
        return book.find(f"{request}:limit") is not None
    return book.entries()[-1].id == cap.id


def _words(query: Query, epsilon: Fraction, delta: Any = None) -> tuple[str, ...]:
    """What the declared cap and a drawn one would do, from public facts: the noise grows with the cap, and rows above it are lost."""

    def forecast(asked: Query, price: Fraction) -> str:
        steps = asked.settle(price, delta).steps
        return ", ".join(f"{name} within {step.width(None):,.4g}" for name, step in steps.items() if step.width(None) is not None)

    plain, most = declared(query), query.unit.max_rows
    first = f"declared limit, {most:,} rows of a person: {forecast(plain, epsilon)}"
    cap = known_cap(query)
    if cap is not None:
        chosen = limited(query, cap)
        return first, f"drawn limit, {cap.value:,} rows: {forecast(chosen, epsilon)}; rows above it are lost, and it is free now"
    rest, ladder = epsilon * (1 - SHARE), caps_to(most)
    shown = [ladder[place] for place in sorted({0, len(ladder) // 3, 2 * len(ladder) // 3})]
    said = [f"at {rows:,} rows {forecast(replace(plain, asked=plain.asked.limited(query.table.unit, rows=rows)), rest)}" for rows in shown]
    price = f"epsilon {float(epsilon * SHARE):.4g} for the limit, {float(rest):.4g} for the answer"
    return first, f"drawn limit, {price}: {'; '.join(said)}; rows above it are lost", "many rows of a few people: keep the declared limit"


def listed(query: Query, **options: Any) -> Preview:
    """The price list at the drawn cap, or at the declared one while none is drawn; both stand below it."""
    cap = known_cap(query)
    found = (declared(query) if cap is None else limited(query, cap)).preview(**options)
    return replace(found, notes=(*found.notes, *_words(query, Fraction(1), options.get("delta"))))


def explained(query: Query, epsilon: Any, **options: Any) -> Explanation:
    """The same for one price."""
    cap, price = known_cap(query), as_epsilon(epsilon)
    at, asked = (price * (1 - SHARE), declared(query)) if cap is None else (price, limited(query, cap))
    found = asked.explain(at, **options)
    return replace(found, notes=_words(query, price, options.get("delta")))
