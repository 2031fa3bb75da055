"""The one desk where a charge is admitted, repeated or refused, and an answer is sealed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from sordino.errors import BudgetExceeded, LedgerError, QueryError
from sordino.ledger.filter import Price, grains, price_of
from sordino.ledger.port import Entry, Found, Head, Page, Row
from sordino.ledger.record import FORMAT, canonical, canonical_charge, canonical_parts, digest, link, read
from sordino.ledger.tally import Tally
from sordino.ledger.terms import Terms
from sordino.privacy.cost import Cost

__all__ = ["Charge", "Clerk", "Offer", "Seal", "entry_id", "entry_of", "known_entry", "own_offer"]


@dataclass(frozen=True)
class Offer:
    """One way to pay: the cost that is recorded, the filter's price for it, and the rule that found it."""

    cost: Cost
    price: Price
    rule: str = "own"

    @cached_property
    def grains(self) -> tuple[int, int, int]:
        """Loss, delta and the release's own epsilon, in grains."""
        return (*self.price.grains, grains(self.cost.epsilon))

    @cached_property
    def text(self) -> str:
        """How a record says it."""
        return canonical_parts(charged=self.price.to_dict(), cost=self.cost.to_dict())


@lru_cache(maxsize=4096)
def own_offer(cost: Cost, accounting: str) -> Offer:
    """The plain offer for one release; many releases cost the same."""
    return Offer(cost, price_of(cost, accounting))


class Charge(NamedTuple):
    """A wish to pay; the first offer the tally admits is taken."""

    request: str
    key: bytes
    offers: tuple[Offer, ...]
    analyst: str | None
    members: tuple[Cost, ...] = ()


class Seal(NamedTuple):
    """A wish to record an answer."""

    number: int
    answer: bytes


def entry_id(ledger: str, number: int) -> str:
    return f"{ledger[:8]}-{number}"


class Clerk:
    """Serves wishes in order against the head of one transaction and collects the rows they add."""

    def __init__(self, terms: Terms, head: Head, page: Page, wishes: list[Charge | Seal]) -> None:
        self._terms = terms
        self.tally = Tally.from_text(head.state)
        self.count, self.hash = head.count, head.hash
        self.rows: list[Row] = []
        self.seals: list[tuple[int, int]] = []
        self._found: dict[str, Found] = page.find([wish.request for wish in wishes if isinstance(wish, Charge)])
        self._sealed = page.sealed([wish.number for wish in wishes if isinstance(wish, Seal)])

    def head(self) -> Head:
        return Head(self.count, self.hash, self.tally.to_text())

    def write(self, kind: str, body: Mapping[str, Any], **beside: Any) -> Row:
        """Add one link to the chain."""
        return self._link(canonical({"format": FORMAT, "kind": kind, "number": self.count, **body}), **beside)

    def _link(self, record: bytes, **beside: Any) -> Row:
        self.hash = link(self.hash, record)
        row = Row(self.count, self.hash, record, **beside)
        self.rows.append(row)
        self.count += 1
        return row

    def serve(self, wish: Charge | Seal) -> Entry | None:
        if isinstance(wish, Charge):
            return self._charge(wish)
        self._seal(wish)
        return None

    def _charge(self, wish: Charge) -> Entry:
        known = self._found.get(wish.request)
        if known is not None:
            return self._repeat(wish, known)
        offer = self._admitted(wish)
        if wish.members:
            body: dict[str, Any] = {
                "analyst": wish.analyst, "charged": offer.price.to_dict(), "cost": offer.cost.to_dict(), "key": wish.key.hex(),
                "request": wish.request, "members": [member.to_dict() for member in wish.members], "rule": offer.rule,
            }  # fmt: skip
            row = self.write("charge", body, request=wish.request, key=wish.key)
        else:
            record = canonical_charge(offer.text, wish.analyst, wish.key, self.count, wish.request)
            row = self._link(record, request=wish.request, key=wish.key)
        self.tally.add(offer.grains[:2], offer.grains[2], wish.analyst)
        self._found[wish.request] = Found(row.number, row.record, None, None)
        return Entry(
            entry_id(self._terms.ledger, row.number), row.number, "new", wish.request, wish.key, offer.cost, wish.analyst,
            None, wish.members, offer.price, (self.tally.loss, self.tally.delta, self.tally.naive),
        )  # fmt: skip

    def _admitted(self, wish: Charge) -> Offer:
        refusal: BudgetExceeded | None = None
        for offer in wish.offers:
            try:
                self.tally.admit(self._terms.filter, offer.grains[:2], offer.cost.epsilon, wish.analyst)
                return offer
            except BudgetExceeded as refused:
                refusal = refusal or refused
        assert refusal is not None
        raise refusal

    def _repeat(self, wish: Charge, known: Found) -> Entry:
        """The same request again: the recorded answer, or "open"; never "new", so the data are not looked at twice for one price."""
        entry = known_entry(self._terms.ledger, known)
        same = entry.members == wish.members and (bool(wish.members) or entry.cost == wish.offers[0].cost)
        if entry.key != wish.key or not same:
            raise QueryError(
                "SRD-605", f"request {wish.request!r} was already used for another question or price.",
                "Use a new request id for a new question.", request=wish.request, id=entry.id,
            )  # fmt: skip
        return entry

    def _seal(self, wish: Seal) -> None:
        if wish.number not in self._sealed:
            raise LedgerError("SRD-604", f"entry {wish.number} is not a charge of this ledger.", "Seal the entry that charge returned.")
        if self._sealed[wish.number] is None:
            row = self.write("seal", {"answer": digest(wish.answer), "charge": wish.number}, answer=wish.answer)
            self.seals.append((row.number, wish.number))
            self._sealed[wish.number] = row.number


def known_entry(ledger: str, known: Found) -> Entry:
    """An earlier charge, with the answer it has by now."""
    return entry_of(ledger, read(known.record), known.sealed is not None, known.answer)


def entry_of(ledger: str, record: Mapping[str, Any], sealed: bool, answer: bytes | None) -> Entry:
    """An entry as a later caller sees it."""
    charged = Price(*(Fraction(record["charged"][name]) for name in ("loss", "delta")))
    if record["kind"] == "adopt":
        return Entry(entry_id(ledger, record["number"]), record["number"], "sealed", "adopt", b"", None, None, charged=charged)
    return Entry(
        entry_id(ledger, record["number"]), record["number"], "sealed" if sealed else "open", record["request"],
        bytes.fromhex(record["key"]), Cost.from_dict(record["cost"]), record["analyst"], answer,
        tuple(Cost.from_dict(member) for member in record.get("members", ())), charged,
    )  # fmt: skip
