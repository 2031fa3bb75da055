"""The book of what was spent: budgets, filters, and ledgers that survive crashes, races and restored backups."""

from sordino.ledger.adoption import adopt
from sordino.ledger.asked import Asked, Limits
from sordino.ledger.balance import Balance
from sordino.ledger.batch import batch_cost
from sordino.ledger.book import Book
from sordino.ledger.budget import Budget
from sordino.ledger.chain import Check, verify_export
from sordino.ledger.filter import Price, PureFilter, ZcdpFilter, open_filter
from sordino.ledger.opening import open_ledger, read_ledger
from sordino.ledger.place import is_network_path
from sordino.ledger.port import Entry, Ledger, Membership
from sordino.ledger.upgrade import Upgraded, upgrade

__all__ = [
    "Asked",
    "Balance",
    "Book",
    "Budget",
    "Check",
    "Entry",
    "Ledger",
    "Limits",
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
