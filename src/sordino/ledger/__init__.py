"""The book of what was spent: budgets, filters, and ledgers that survive crashes, races and restored backups."""

from sordino.ledger.balance import Balance
from sordino.ledger.book import Book, batch_cost
from sordino.ledger.budget import Budget, Price, PureFilter, ZcdpFilter, open_filter
from sordino.ledger.chain import Check, verify_export
from sordino.ledger.maintenance import Upgraded, adopt, upgrade
from sordino.ledger.opening import open_ledger, read_ledger
from sordino.ledger.place import is_network_path
from sordino.ledger.port import Entry, Ledger, Membership
from sordino.ledger.record import Asked, AskedLimits

__all__ = [
    "Asked",
    "AskedLimits",
    "Balance",
    "Book",
    "Budget",
    "Check",
    "Entry",
    "Ledger",
    "Membership",
    "Price",
    "PureFilter",
    "Upgraded",
    "ZcdpFilter",
    "adopt",
    "batch_cost",
    "is_network_path",
    "open_filter",
    "open_ledger",
    "read_ledger",
    "upgrade",
    "verify_export",
]
