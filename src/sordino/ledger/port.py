"""The port between a session and its ledger, and the smaller one between a ledger and the place that keeps it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, Protocol, TypeVar

from sordino.ledger.budget import Price
from sordino.ledger.record import FORMAT, Asked
from sordino.privacy.cost import Cost

__all__ = ["Entry", "Found", "Head", "InDoubt", "Ledger", "Membership", "Page", "Store", "StoredRow"]

T = TypeVar("T")
NOTHING = Price(Fraction(0), Fraction(0))


class Entry(NamedTuple):
    """One charge in the book.

    `state` is "new" for the one call that inserted it, and only that call may look at data; "open" while no answer is recorded
    (another caller computes, or died); "sealed" once `answer` holds the recorded bytes. `charged` is what the filter took and `after`
    the sums (loss, delta, own epsilons, in grains) right after this charge, known to the call that made it. `cost` is None for a
    write-off, which has a price but no mechanism. `asked` is what the record says about the question, `at` when it was written, if the
    record has a `format` that says so; `members` are the costs of a batch.
    """

    id: str
    number: int
    state: str
    request: str
    key: bytes
    cost: Cost | None
    analyst: str | None
    answer: bytes | None = None
    members: tuple[Cost, ...] = ()
    charged: Price = NOTHING
    after: tuple[int, int, int] | None = None
    asked: Asked | None = None
    at: str | None = None
    format: int = FORMAT


class Membership(NamedTuple):
    """Where a question stands among others: the sealed bytes of all of them, its place, and its place inside that one if it is a bundle."""

    answer: bytes
    path: tuple[int, ...]
    batch: bool  # charged with others as one event, each with bytes of its own; otherwise one release of several statistics


class Ledger(Protocol):
    """What a session may ask of a ledger."""

    def recall(self, key: bytes) -> Sequence[bytes]:
        """Every sealed answer to this question, oldest first."""
        ...

    def recall_members(self, key: bytes) -> Sequence[Membership]:
        """Every sealed answer to several questions of which this was one, oldest first."""
        ...

    def charge(self, request: str, asked: Asked | bytes, cost: Cost, analyst: str | None = None) -> Entry:
        """Reserve the price; durable when it returns."""
        ...

    def charge_batch(self, request: str, asked: Asked | bytes, costs: Sequence[Cost], analyst: str | None = None) -> Entry:
        """Reserve the price of several releases at once, all or nothing."""
        ...

    def seal(self, entry: Entry, answer: bytes) -> None:
        """Record the answer; the first seal wins."""
        ...


class StoredRow(NamedTuple):
    """One link of the chain as it is kept: the record's bytes, their hash with all before them, and beside them
    what the store needs to find it: a seal's answer, a charge's request, key and the number of its seal."""

    number: int
    hash: bytes
    record: bytes
    answer: bytes | None = None
    request: str | None = None
    key: bytes | None = None
    sealed: int | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """The end of the chain and the sums so far, kept in the same transaction as the rows."""

    count: int
    hash: bytes
    state: str


class Found(NamedTuple):
    """An earlier charge under the same request id."""

    number: int
    record: bytes
    sealed: int | None
    answer: bytes | None
    seal: bytes | None = None  # the record of the seal, which has the charge's number and the answer's digest


class InDoubt(Exception):
    """The commit was sent and its fate could not be learned; whoever rode in it must count as charged."""


class Page(Protocol):
    """A store inside its one exclusive transaction."""

    def head(self) -> Head | None: ...
    def version(self) -> int:
        """The format of the book as a whole: the newest that may be in it."""
        ...

    def upgrade(self) -> str | None:
        """Let nobody open this book who knows format 1 only; returns where a copy of it is kept, if one is."""
        ...

    def hash_at(self, number: int) -> bytes | None: ...
    def find(self, requests: Sequence[str]) -> dict[str, Found]: ...
    def sealed(self, numbers: Sequence[int]) -> dict[int, int | None]:
        """Of these charges, those that exist, with the number of their seal."""
        ...

    def append(self, rows: Sequence[StoredRow], seals: Iterable[tuple[int, int]], head: Head) -> None:
        """Add rows, mark (seal, charge) pairs, move the head."""
        ...


class Store(Protocol):
    """A place that keeps rows. `transact` is exclusive and durable when it returns, or it raises and nothing happened."""

    place: str | None

    def transact(self, work: Callable[[Page], T]) -> T: ...
    def head(self) -> Head | None: ...
    def find(self, requests: Sequence[str]) -> dict[str, Found]: ...
    def answers(self, key: bytes, since: int = 0) -> list[tuple[str, Found]]:
        """The charges for this question whose seal has this number or a later one, oldest first, each behind its request."""
        ...

    def stamp(self) -> int | None:
        """A number that changes with every write, if this store can tell at no cost; None where it cannot."""
        ...

    def rows(self, *, answers: bool = True, start: int = 0) -> Iterator[StoredRow]: ...
    def close(self) -> None: ...
