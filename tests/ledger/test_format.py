"""Two formats in one book: what was written in format 1 opens, verifies, answers and is paid from for ever."""

from __future__ import annotations

import json
import shutil
import sqlite3
from fractions import Fraction

import pytest

from sordino.errors import BudgetExceeded, LedgerError, QueryError
from sordino.ledger import Asked, AskedLimits, Budget, adopt, open_ledger, read_ledger, upgrade, verify_export
from sordino.ledger.balance import LedgerTally
from sordino.ledger.budget import of_grains
from sordino.ledger.place import Sighting, WitnessFile
from sordino.ledger.record import canonical, link
from sordino.privacy.cost import Cost

from .make_golden1 import COSTS, EXPORT, LEDGER, QUESTION
from .scenes import TENTH, key, open_book

HEAD = "f08b3dcb8cdfa983bf0e9cdfcc6b092a8ebe509445370259be372c0f122ddbb7"
TERMS = {"relation": "add_remove", "unit": "who", "dataset": "people", "budget": Budget(200, "1e-3")}
FIELDS = {"analyst", "at", "charged", "cost", "format", "key", "kind", "limits", "members", "number", "request", "text", "wish"}


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "people.ledger"
    shutil.copyfile(LEDGER, path)
    return path


@pytest.fixture
def adopted(old, state):
    """The golden book where its witness saw it last: still of format 1."""
    with read_ledger(old) as book:
        tally = LedgerTally.from_text(book.head.state)
        witness = WitnessFile(state / "witness" / f"{book.id}.witness", book.id, str(old))
        seen = Sighting(book.id, witness.place, book.head.count, book.head.hash, tally.spent, of_grains(tally.naive))
        witness.write(seen)
    return old


def user_version(path):
    connection = sqlite3.connect(path)
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    connection.close()
    return found


def records(book):
    return [json.loads(line)["record"] for line in book.export().splitlines()]


def test_the_golden_book_reads_as_it_was_written(old):
    with read_ledger(old) as book:
        assert book.verify()
        assert (book.head.count, book.head.hash.hex()) == (40, HEAD)
        assert book.export() == EXPORT.read_text(encoding="ascii")
        assert verify_export(book.export()).head == HEAD
        costs = {entry.request: entry.cost for entry in book.entries()}
        assert {f"cost {word}": getattr(Cost, family)(*numbers) for word, (family, *numbers) in COSTS.items()}.items() <= costs.items()
        assert costs["cost composed"].parts
        assert {entry.format for entry in book.entries()} == {1}
        assert {entry.at for entry in book.entries()} == {None}
        assert book.budget.exact["loss"] == Fraction(97, 5)
    assert user_version(old) == 1, "reading changes nothing"


def test_opening_to_spend_changes_nothing_until_something_is_written(adopted):
    before = adopted.read_bytes()
    with open_ledger(adopted, **TERMS) as book:
        assert book.charge("cost laplace", QUESTION, Cost.laplace("0.1")).answer == b"answer laplace"
        assert len(book.recall(QUESTION)) == 8
        with pytest.raises(BudgetExceeded):
            book.charge("dear", key(), Cost.pure(190))
    assert (adopted.read_bytes(), user_version(adopted)) == (before, 1)


def test_the_first_new_entry_keeps_a_copy_and_goes_on_in_format_2(adopted, caplog):
    with open_ledger(adopted, **TERMS) as book:
        entry = book.charge("new", Asked(key(), limits=AskedLimits(6, 3, 2)), TENTH, "amina")
        book.seal(entry, b"fresh")
        assert book.verify()
        written = records(book)[40:]
        assert [record["kind"] for record in written] == ["format", "charge", "seal"]
        assert (written[0]["from"], {record["format"] for record in written}) == (1, {2})
        assert set(written[1]) == FIELDS
        assert written[1]["limits"] == {"max_rows": 6, "max_groups": 3, "max_rows_per_group": 2}
        assert verify_export(book.export())
        assert book.recall(key()) == [b"fresh"]
        book.charge("newer", key(), TENTH)
        assert [record["kind"] for record in records(book)[43:]] == ["charge"]
    assert user_version(adopted) == 2
    with read_ledger(f"{adopted}.format1") as copy:
        assert copy.verify()
        assert copy.export() == EXPORT.read_text(encoding="ascii")
    assert len([line for line in caplog.messages if "format 2" in line]) == 1
    with open_ledger(adopted, **TERMS) as book:
        assert [entry.format for entry in book.entries()][-3:] == [1, 2, 2]
        assert book.entries()[-2].asked == Asked(key(), limits=AskedLimits(6, 3, 2))


@pytest.mark.parametrize("step", ["policy", "version"])
def test_what_the_owner_declares_is_an_entry_of_the_new_format_too(adopted, step):
    change = {"budget": Budget(200, "1e-3", max_per_release=7)} if step == "policy" else {"version": "2"}
    with open_ledger(adopted, **{**TERMS, **change}) as book:
        assert [record["kind"] for record in records(book)[40:]] == ["format", step]
        assert book.verify()


def test_a_moved_book_of_format_1_is_adopted_in_format_2(old):
    adopt(old, epsilon=0)
    with open_ledger(old, **TERMS) as book:
        assert [record["kind"] for record in records(book)[40:]] == ["format", "adopt"]
        assert book.verify()
        assert book.charge("new", key(), TENTH).state == "new"


def test_a_repeated_request_is_matched_in_the_format_of_its_record(adopted):
    with open_ledger(adopted, **TERMS) as book:
        spent = book.budget.exact["loss"]
        today = Asked(key("the key without labels"), older=QUESTION)
        assert book.charge("cost laplace", today, Cost.pure("0.7")).answer == b"answer laplace", "whatever it costs today"
        assert book.charge("cost composed", today, Cost.pure("0.7")).state == "open"
        assert book.charge_batch("cost batch", today, [TENTH, TENTH]).answer == b"\x00\xff"
        for wrong in (Asked(QUESTION, older=key("another")), Asked(key("the key without labels"))):
            with pytest.raises(QueryError, match="SRD-605"):
                book.charge("cost laplace", wrong, Cost.laplace("0.1"))
        with pytest.raises(QueryError, match="SRD-605"):
            book.charge("cost batch", today, TENTH)
        assert book.budget.exact["loss"] == spent


def test_a_repeated_request_is_known_by_its_wish_and_not_by_its_price(where, dataset):
    wish = {"within": "100"}
    with open_book(where, dataset=dataset) as book:
        book.seal(book.charge("r", Asked(key(), wish=wish), TENTH), b"bytes")
        assert book.charge("r", Asked(key(), wish=wish), Cost.laplace("0.4")).answer == b"bytes", "the same wish is cheaper or dearer now"
        for other in (Asked(key(), wish={"within": "50"}), Asked(key("another"), wish=wish)):
            with pytest.raises(QueryError, match="SRD-605"):
                book.charge("r", other, TENTH)
        assert book.budget.exact["spent"] == Fraction(1, 10)


def test_a_batch_says_what_each_of_its_members_asked(where, dataset):
    members = (Asked(key("a"), (Asked(key("b")), Asked(key("c"))), AskedLimits(2, 1, 2)), Asked(key("d"), limits=AskedLimits(2, 1, 2)))
    with open_book(where, dataset=dataset) as book:
        entry = book.charge_batch("b", Asked(key("batch"), members), [TENTH, Cost.pure("0.2")])
        (again,) = book.entries()
        assert (again.asked, again.members) == (entry.asked, (TENTH, Cost.pure("0.2")))
        assert records(book)[1]["members"][0]["members"] == [{"key": key("b").hex()}, {"key": key("c").hex()}]
        assert book.verify()


def test_a_batch_has_a_cost_for_every_question(where, dataset):
    with open_book(where, dataset=dataset) as book:
        with pytest.raises(QueryError, match="SRD-106"):
            book.charge_batch("b", Asked(key(), (Asked(key("a")),)), [TENTH, TENTH])
        assert book.entries() == []


def test_a_bundle_is_paid_for_once_and_names_its_members(where, dataset):
    asked = Asked(key("both"), (Asked(key("a")), Asked(key("b"))), AskedLimits(1, 1, 1), {"note": 80})
    with open_book(where, dataset=dataset) as book:
        book.charge("r", asked, TENTH)
        (entry,) = book.entries()
        assert (entry.asked, entry.members, entry.cost) == (asked, (), TENTH)
        assert set(records(book)[1]) == FIELDS
        assert book.verify()


def test_a_book_with_an_entry_of_format_3_is_not_read(tmp_path):
    path = tmp_path / "people.ledger"
    with open_book(path) as book:
        head = book.head
        state = head.state
    record = canonical({"format": 3, "kind": "charge", "number": 1})
    connection = sqlite3.connect(path)
    hash_ = link(head.hash, record)
    connection.execute("INSERT INTO entry(number, hash, record) VALUES (1, ?, ?)", (hash_, record))
    connection.execute("UPDATE head SET count = 2, hash = ?, state = ?", (hash_, state))
    connection.commit()
    connection.close()
    with read_ledger(path) as book, pytest.raises(LedgerError, match="newer"):
        book.entries()
    with open_book(path) as book, pytest.raises(LedgerError, match=r"SRD-604: .*newer"):
        book.charge("r", key(), TENTH)
    for work in (upgrade, lambda where: adopt(where, epsilon=0)):
        with pytest.raises(LedgerError, match=r"SRD-604: .*newer"):
            work(path)


def test_an_upgrade_is_one_way_keeps_a_copy_and_changes_nothing_else(adopted):
    done = upgrade(adopted)
    assert (done.before, done.after, done.copy, done.changed) == (1, 2, f"{adopted}.format1", True)
    assert user_version(adopted) == 2
    with open_ledger(adopted, **TERMS) as book:
        assert [record["kind"] for record in records(book)[40:]] == ["format"]
        assert book.verify()
        assert book.budget.exact["loss"] == Fraction(97, 5)
    again = upgrade(adopted)
    assert (again.changed, again.copy) == (False, None)
    with read_ledger(adopted) as book:
        assert book.head.count == 41


def test_a_new_book_needs_no_upgrade(durable, dataset):
    with open_book(durable, dataset=dataset) as book:
        book.charge("r", key(), TENTH)
        assert {record["format"] for record in records(book)} == {2}
    assert not upgrade(durable, dataset=dataset).changed


def test_there_is_nothing_to_upgrade_where_no_ledger_is(tmp_path):
    with pytest.raises(LedgerError, match="SRD-604"):
        upgrade(tmp_path / "nothing.ledger")
    assert not (tmp_path / "nothing.ledger").exists()


def test_an_upgrade_that_cannot_keep_its_copy_changes_nothing(adopted):
    (adopted.parent / f"{adopted.name}.format1").mkdir()
    with open_ledger(adopted, **TERMS) as book, pytest.raises(LedgerError, match="SRD-603"):
        book.charge("r", key(), TENTH)
    assert user_version(adopted) == 1
    with read_ledger(adopted) as book:
        assert book.head.count == 40


@pytest.mark.xdist_group("postgres")
def test_a_postgres_book_of_format_1_is_marked_by_an_upgrade(postgres, dataset, state):
    import psycopg

    with open_book(postgres.address, dataset=dataset) as book:
        first = records(book)[0]
    genesis = canonical({**first, "format": 1})
    hash_ = link(bytes(32), genesis)
    with psycopg.connect(postgres.address) as connection:
        connection.execute("UPDATE sordino_entry SET record = %s, hash = %s WHERE ledger = %s", (genesis, hash_, dataset))
        connection.execute("UPDATE sordino_head SET version = 1, hash = %s WHERE ledger = %s", (hash_, dataset))
    for witness in state.rglob("*.witness"):
        witness.unlink()  # it saw the entry as it was before this test rewrote it
    assert upgrade(postgres.address, dataset=dataset).changed
    with open_book(postgres.address, dataset=dataset) as book:
        book.charge("r", key(), TENTH)
        assert [(r["format"], r["kind"]) for r in records(book)] == [(1, "genesis"), (2, "format"), (2, "charge")]
        assert book.verify()
    with psycopg.connect(postgres.address) as connection:
        assert connection.execute("SELECT version FROM sordino_head WHERE ledger = %s", (dataset,)).fetchone() == (2,)
