"""Charges, repeats, seals, crashes and reopenings in any order, against a ledger made of plain sums."""

from __future__ import annotations

import shutil
import tempfile
from fractions import Fraction
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sordino.errors import BudgetExceeded, QueryError
from sordino.ledger import Book, Budget
from sordino.privacy.cost import Cost

from .scenes import key, open_book

CAP, PURSE, CEILING = Fraction(2), Fraction(1), Fraction(3, 4)
BUDGET = Budget(CAP, "1e-6", max_per_release=CEILING, analysts={"amina": PURSE})
EPSILONS = [Fraction("0.1"), Fraction(1, 3), Fraction("0.25"), Fraction("0.7"), Fraction("0.8"), Fraction(2, 23)]


class Interleaving(RuleBasedStateMachine):
    """The model keeps what each request cost and what was sealed; the real book must say the same at every moment."""

    durable = False

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="sordino-walk-"))
        self.costs: dict[str, Cost] = {}
        self.who: dict[str, str | None] = {}
        self.answers: dict[str, bytes] = {}
        self.entries = {}
        self.books: list[Book] = []

    def opened(self) -> Book:
        where = self.folder / "people.ledger" if self.durable else ":memory:"
        return open_book(where, budget=BUDGET, state=self.folder / "state")

    @initialize()
    def begin(self) -> None:
        self.books = [self.opened()]

    def book(self, which: int) -> Book:
        return self.books[which % len(self.books)]

    def spent(self) -> Fraction:
        return sum((cost.epsilon for cost in self.costs.values()), Fraction(0))

    @rule(which=st.integers(0, 3), epsilon=st.sampled_from(EPSILONS), delta=st.sampled_from(["0", "4e-7"]), amina=st.booleans())
    def charge(self, which: int, epsilon: Fraction, delta: str, amina: bool) -> None:
        cost, analyst, request = Cost.approximate(epsilon, delta), "amina" if amina else None, f"r{len(self.costs)}"
        purse = sum((self.costs[r].epsilon for r in self.costs if self.who[r] == "amina"), Fraction(0))
        deltas = sum((c.delta for c in self.costs.values()), Fraction(0))
        margin = Fraction(len(self.costs) + 1, 10**60)  # prices finer than a grain are rounded up
        fits = (
            epsilon <= CEILING
            and self.spent() + epsilon + margin * (epsilon.denominator == 23) <= CAP
            and deltas + cost.delta <= BUDGET.delta
            and not (amina and purse + epsilon > PURSE)
        )
        try:
            entry = self.book(which).charge(request, key(request), cost, analyst)
        except BudgetExceeded:
            assert not fits
            return
        assert fits
        assert entry.state == "new"
        self.costs[request], self.who[request], self.entries[request] = cost, analyst, entry

    @precondition(lambda self: self.costs)
    @rule(which=st.integers(0, 3), pick=st.integers(0, 99), honest=st.booleans())
    def repeat(self, which: int, pick: int, honest: bool) -> None:
        request = sorted(self.costs)[pick % len(self.costs)]
        if not honest:
            try:
                self.book(which).charge(request, key("another"), self.costs[request])
                raise AssertionError("a request id was used for another question")
            except QueryError:
                return
        again = self.book(which).charge(request, key(request), self.costs[request])
        assert (again.state, again.answer) == (("sealed", self.answers[request]) if request in self.answers else ("open", None))

    @precondition(lambda self: self.costs)
    @rule(which=st.integers(0, 3), pick=st.integers(0, 99), answer=st.binary(max_size=20))
    def seal(self, which: int, pick: int, answer: bytes) -> None:
        request = sorted(self.costs)[pick % len(self.costs)]
        self.book(which).seal(self.entries[request], answer)
        self.answers.setdefault(request, answer)

    @precondition(lambda self: self.durable and len(self.books) < 3)
    @rule()
    def open_beside(self) -> None:
        self.books.append(self.opened())

    @precondition(lambda self: self.durable)
    @rule(which=st.integers(0, 3), politely=st.booleans())
    def leave_and_come_back(self, which: int, politely: bool) -> None:
        book = self.books.pop(which % len(self.books))
        if politely:
            book.close()
        self.books.append(self.opened())
        book.close()

    @invariant()
    def the_sums_are_right(self) -> None:
        for book in self.books:
            exact = book.budget.exact
            assert 0 <= exact["spent"] - self.spent() <= Fraction(len(self.costs), 10**60)
            assert exact["spent"] <= CAP
            assert exact["spent_delta"] == sum((cost.delta for cost in self.costs.values()), Fraction(0))
            entries = book.entries()
            assert {e.request: (e.state, e.answer) for e in entries} == {
                r: ("sealed", self.answers[r]) if r in self.answers else ("open", None) for r in self.costs
            }
            assert sum((e.charged.loss for e in entries), Fraction(0)) == exact["spent"]

    def teardown(self) -> None:
        for book in self.books:
            assert book.verify()
            book.close()
        shutil.rmtree(self.folder)


class DurableInterleaving(Interleaving):
    durable = True


TestInMemory = Interleaving.TestCase
TestInMemory.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestInSqlite = DurableInterleaving.TestCase
TestInSqlite.settings = settings(max_examples=25, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
