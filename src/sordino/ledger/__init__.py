"""The book of what was spent: budgets, filters, and ledgers that survive crashes, races and restored backups."""

from sordino.ledger.adoption import adopt
from sordino.ledger.balance import Balance
from sordino.ledger.batch import batch_cost
from sordino.ledger.book import Book
from sordino.ledger.budget import Budget
from sordino.ledger.chain import Check, verify_export
from sordino.ledger.filter import Price, PureFilter, ZcdpFilter, open_filter
from sordino.ledger.opening import open_ledger, read_ledger
from sordino.ledger.place import is_network_path
from sordino.ledger.port import Entry, Ledger

__all__ = [
    "Balance",
    "Book",
    "Budget",
    "Check",
    "Entry",
    "Ledger",
    "Price",
    "PureFilter",
    "ZcdpFilter",
    "adopt",
    "batch_cost",
    "is_network_path",
    "open_filter",
    "open_ledger",
    "read_ledger",
    "verify_export",
]
