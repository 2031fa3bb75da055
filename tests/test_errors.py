"""Each error says what happened, what to do, and whether anything was spent."""

from __future__ import annotations

import pickle

import pytest

from sordino.errors import CODES, BudgetExceeded, LedgerError, QueryError, ReleaseFailed, SordinoError

FAMILIES = {QueryError: False, BudgetExceeded: False, LedgerError: False, ReleaseFailed: True}


@pytest.mark.parametrize(("family", "spent"), FAMILIES.items())
def test_every_family_answers_whether_the_caller_was_charged(family: type[SordinoError], spent: bool) -> None:
    error = family("SRD-103", "beta is 2.", "Give beta below epsilon.", beta=2)
    assert error.spent is spent
    assert str(error).endswith("The charge stands." if spent else "Nothing was spent.")
    assert str(error).startswith("SRD-103: beta is 2. Give beta below epsilon.")
    assert error.facts == {"beta": 2}
    assert isinstance(error, SordinoError)


def test_a_wrong_question_is_also_a_value_error() -> None:
    with pytest.raises(ValueError, match="SRD-101"):
        raise QueryError("SRD-101", "epsilon is 0.")


def test_an_error_without_a_fix_has_no_gap_in_its_text() -> None:
    assert str(ReleaseFailed("SRD-402", "charged, answer not recorded.")) == "SRD-402: charged, answer not recorded. The charge stands."


def test_codes_are_unique_explained_and_grouped_by_family() -> None:
    assert len(set(CODES.values())) == len(CODES)
    for code, meaning in CODES.items():
        assert code.startswith("SRD-")
        assert code[4:].isdigit()
        assert len(code) == 7
        assert meaning


def test_the_families_do_not_contain_one_another() -> None:
    for one in FAMILIES:
        assert [other for other in FAMILIES if issubclass(one, other)] == [one]


def test_errors_survive_a_trip_between_processes():
    for kind in FAMILIES:
        sent = kind("SRD-301", "what happened.", "What to do.", left=3)
        back = pickle.loads(pickle.dumps(sent))
        assert (type(back), str(back), back.facts) == (kind, str(sent), {"left": 3})
