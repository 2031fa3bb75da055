"""The one desk where a charge is admitted, repeated or refused, and an answer is sealed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from sordino.errors import BudgetExceeded, LedgerError, QueryError
from sordino.ledger.balance import LedgerTally
from sordino.ledger.budget import Price, Terms, grains, price_of
from sordino.ledger.port import Entry, Found, Head, Page, Row
from sordino.ledger.record import (
    FORMAT,
    Asked,
    canonical,
    canonical_charge,
    canonical_parts,
    digest,
    genuine,
    link,
    now,
    read,
    same_request,
)
from sordino.privacy.cost import Cost

__all__ = ["Charge", "ChargeOffer", "Clerk", "Seal", "entry_id", "entry_of", "known_entry", "own_offer"]


@dataclass(frozen=True)
class ChargeOffer:
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
def own_offer(cost: Cost, accounting: str) -> ChargeOffer:
    """The plain offer for one release; many releases cost the same."""
    return ChargeOffer(cost, price_of(cost, accounting))


class Charge(NamedTuple):
    """A wish to pay; the first offer the tally admits is taken."""

    request: str
    asked: Asked
    offers: tuple[ChargeOffer, ...]
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
        self.tally = LedgerTally.from_text(head.state)
        self.count, self.hash = head.count, head.hash
        self.at = now()
        self.rows: list[Row] = []
        self.older = page.version()
        self.upgrades = False
        self.seals: list[tuple[int, int]] = []
        self._found: dict[str, Found] = page.find([wish.request for wish in wishes if isinstance(wish, Charge)])
        self._sealed = page.sealed([wish.number for wish in wishes if isinstance(wish, Seal)])

    def head(self) -> Head:
        return Head(self.count, self.hash, self.tally.to_text())

    def write(self, kind: str, body: Mapping[str, Any], **beside: Any) -> Row:
        """Add one link to the chain."""
        self.begin_format()
        return self._link(canonical({"format": FORMAT, "kind": kind, "number": self.count, **body}), **beside)

    def begin_format(self) -> None:
        """The entry that turns a book of an older format into one of this format; nothing to do in any other book."""
        if self.older < FORMAT and not self.upgrades:
            self.upgrades = True
            self.write("format", {"at": self.at, "from": self.older})

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
        offer, asked = self._admitted(wish), wish.asked
        self.begin_format()
        if wish.members:
            members: Any = asked.members or (None,) * len(wish.members)
            listed = [
                {**({} if member is None else member.to_member()), "cost": cost.to_dict()}
                for member, cost in zip(members, wish.members, strict=True)
            ]
            body: dict[str, Any] = {
                **asked.to_dict(), "analyst": wish.analyst, "at": self.at, "charged": offer.price.to_dict(), "cost": offer.cost.to_dict(),
                "request": wish.request, "members": listed, "rule": offer.rule,
            }  # fmt: skip
            row = self.write("charge", body, request=wish.request, key=asked.key)
        else:
            record = canonical_charge(offer.text, asked.spelled, self.at, self.count, analyst=wish.analyst, request=wish.request)
            row = self._link(record, request=wish.request, key=asked.key)
        self.tally.add(offer.grains[:2], offer.grains[2], wish.analyst)
        self._found[wish.request] = Found(row.number, row.record, None, None)
        return Entry(
            entry_id(self._terms.ledger, row.number), row.number, "new", wish.request, asked.key, offer.cost, wish.analyst,
            None, wish.members, offer.price, (self.tally.loss, self.tally.delta, self.tally.naive), asked, self.at,
        )  # fmt: skip

    def _admitted(self, wish: Charge) -> ChargeOffer:
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
        if not _same(wish, entry):
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


def _same(wish: Charge, entry: Entry) -> bool:
    """Whether a request is the one this entry was made for, by the words of the entry's own format.

    What the same wish costs may change: a planner learns, a released count makes an accuracy cheaper. So the wish decides where the
    record has it, the price only where both callers gave a bare key, and in format 1, which knew no wishes, the question alone.
    """
    if len(entry.members) != len(wish.members):
        return False
    same = same_request(wish.asked, entry.key, entry.format, None if entry.asked is None else entry.asked.wish)
    if same is not None:
        return same
    return entry.members == wish.members and (bool(wish.members) or entry.cost == wish.offers[0].cost)


def known_entry(ledger: str, known: Found) -> Entry:
    """An earlier charge, with the answer it has by now."""
    if known.answer is not None and known.seal is not None:
        genuine(known.seal, known.answer)
    return entry_of(ledger, read(known.record), known.sealed is not None, known.answer)


def entry_of(ledger: str, record: Mapping[str, Any], sealed: bool, answer: bytes | None) -> Entry:
    """An entry as a later caller sees it."""
    charged = Price(*(Fraction(record["charged"][name]) for name in ("loss", "delta")))
    if record["kind"] == "adopt":
        number, format = record["number"], record["format"]
        return Entry(entry_id(ledger, number), number, "sealed", "adopt", b"", None, None, charged=charged, format=format)
    asked = Asked.from_dict(record)
    return Entry(
        entry_id(ledger, record["number"]), record["number"], "sealed" if sealed else "open", record["request"],
        asked.key, Cost.from_dict(record["cost"]), record["analyst"], answer,
        tuple(Cost.from_dict(member.get("cost", member)) for member in _paid(record)), charged,
        None, asked, record.get("at"), record["format"],
    )  # fmt: skip


def _paid(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The members of a batch, which have costs of their own; those of a bundle are paid for together."""
    return [member for member in record.get("members", ()) if "cost" in member or "family" in member]
