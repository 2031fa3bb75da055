"""One spelling for every record, and nothing a store could trip over."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.errors import BudgetExceeded, LedgerError, QueryError
from sordino.ledger import Asked, AskedLimits
from sordino.ledger.record import as_key, as_text, canonical, canonical_charge, canonical_parts, read
from sordino.privacy.cost import Cost

from .scenes import TENTH, key, open_book

ASKED = [
    Asked(b"\x00\xff"),
    Asked(key(), (Asked(key("a")), Asked(key("b"))), AskedLimits(8, 4, 2), {"na\u00efve": 12, "a": 3}, {"epsilon": "1/2"}),
    Asked(key(), (Asked(key("c"), (Asked(key("d")),), AskedLimits(1, 1, 1)),), None, {}, {}),
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda v: st.lists(v) | st.dictionaries(st.text(), v), max_leaves=10
)


@given(st.dictionaries(st.text(), VALUES))
def test_a_record_read_and_written_again_is_the_same_bytes(record):
    spelled = canonical(record)
    assert spelled.isascii()
    assert canonical(json.loads(spelled)) == spelled
    assert canonical(dict(reversed(record.items()))) == spelled


def test_floats_that_are_not_numbers_have_no_spelling():
    with pytest.raises(ValueError, match="JSON"):
        canonical({"x": float("nan")})


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b"null", b"\xff", b'{"format":1}'])
def test_what_is_not_a_record_is_refused(text):
    with pytest.raises(LedgerError, match="SRD-601"):
        read(text)


@pytest.mark.parametrize("text", [b'{"format":3,"kind":"charge"}', b'{"format":1,"kind":"future"}', b'{"format":2,"kind":"future"}'])
def test_a_record_from_the_future_is_refused(text):
    with pytest.raises(LedgerError, match=r"SRD-604: .*newer"):
        read(text)


@pytest.mark.parametrize("value", [b"", "text", None, b"x" * 600])
def test_a_key_is_a_fingerprint(value):
    with pytest.raises(QueryError):
        as_key(value)


@given(st.text(min_size=1, max_size=40).filter(str.isprintable), st.text(min_size=1, max_size=40).filter(str.isprintable))
def test_any_printable_name_goes_through_a_ledger(request, analyst):
    with open_book(":memory:") as book:
        assert as_text(request, "x") == request
        book.charge(request, key(), TENTH, analyst)
        assert [(entry.request, entry.analyst) for entry in book.entries()] == [(request, analyst)]
        assert book.verify()


def test_odd_names_go_through_every_store(where, dataset):
    with open_book(where, dataset=dataset) as book:
        for turn, name in enumerate(
            ["'; DROP TABLE entry; --", "%s %(x)s", "Zoë 🎻", 'a"b\\c', "{}[]", "\u200bx" if "\u200bx".isprintable() else "x"]
        ):
            book.charge(name, key(name), TENTH, name)
            assert book.entries()[turn].request == name
        assert book.verify()
        with pytest.raises(BudgetExceeded):
            book.charge("more", key(), TENTH.group(9))


@pytest.mark.parametrize("analyst", [None, "amina", 'q"uo\\te', "é ü 漢"])
@pytest.mark.parametrize("request_id", ["1-2", 'a"b', "ключ"])
@pytest.mark.parametrize("asked", ASKED)
def test_the_spelled_out_charge_is_the_canonical_one(analyst, request_id, asked):
    composed = Cost.sum([(Cost.gaussian("0.01", "0.5", "1e-6"), 2), (Cost.laplace("0.1"), 1)])
    parts = {"charged": {"delta": "0", "loss": "1/10"}, "cost": composed.to_dict()}
    at = "2025-11-16T02:21:07Z"
    whole = {"format": 2, "kind": "charge", "number": 7, "analyst": analyst, "at": at, "request": request_id, **asked.to_dict(), **parts}
    assert canonical_charge(canonical_parts(**parts), asked.spelled, at, 7, analyst=analyst, request=request_id) == canonical(whole)


@pytest.mark.parametrize("asked", ASKED)
def test_what_a_charge_was_for_is_read_back_as_it_was(asked):
    assert Asked.from_dict(json.loads(canonical(asked.to_dict()))) == asked


def test_a_charge_says_when_it_was_written_and_nothing_is_computed_from_that(monkeypatch):
    with open_book(":memory:") as book:
        monkeypatch.setattr("time.time", lambda: 1_763_259_667.9)
        first = book.charge("first", key(), TENTH)
        monkeypatch.setattr("time.time", lambda: 5.0)  # a clock that was set back by half a century
        second = book.charge("second", key(), TENTH)
        assert (first.at, second.at) == ("2025-11-16T02:21:07Z", "1970-01-01T00:00:05Z")
        assert [entry.at for entry in book.entries()] == [first.at, second.at]
        assert book.verify()
        assert float(book.budget.exact["spent"]) == 0.2


def test_a_question_that_cannot_be_written_down_is_refused_at_the_door():
    with open_book(":memory:") as book:
        for broken in (Asked(key(), limits=(1, 2, 3)), Asked(key(), members=("x",)), Asked(key(), text={"a": object()})):
            with pytest.raises(QueryError, match="SRD-106"):
                book.charge("r", broken, TENTH)
        assert book.entries() == []
