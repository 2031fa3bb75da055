"""The shared store under races, kills and restarts of its server."""

from __future__ import annotations

import signal
import time
from fractions import Fraction

import pytest

from sordino.errors import LedgerError, QueryError, ReleaseFailed
from sordino.ledger import postgres_store as store_module
from sordino.ledger.port import InDoubt

from .conftest import POSTGRES
from .scenes import TENTH, check_promises, finish, key, open_book, start_writer
from .test_sqlite_store import purse_race, race

pytestmark = POSTGRES


def test_eight_processes_racing_for_400_grants_get_exactly_400_and_nobody_starves(postgres, dataset, state, tmp_path):
    race(postgres.address, dataset, state, tmp_path)


def test_purses_of_a_book_that_adds_rho_are_not_overspent_by_a_race(postgres, dataset, state, tmp_path):
    purse_race(postgres.address, dataset, state, tmp_path)


def test_killed_at_every_step_the_book_tells_the_truth(postgres, dataset, state, tmp_path):
    told = finish(start_writer("steps", where=postgres.address, dataset=dataset, state=str(state), log=str(tmp_path / "log"), rounds=2))
    assert told == {"killed": 14}


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["fast", "immediate"])
def test_a_server_restarted_under_load_loses_nothing_and_spends_nothing_twice(postgres, dataset, state, tmp_path, how):
    log, go = tmp_path / "log", tmp_path / "go"
    settings = {"where": postgres.address, "dataset": dataset, "epsilon": 100_000, "state": str(state), "log": str(log), "go": str(go)}
    open_book(postgres.address, dataset=dataset, epsilon=100_000).close()
    writers = [start_writer("load", who=who, **settings) for who in range(3)]
    log.touch()
    for turn in range(4):
        before = log.stat().st_size
        while {line.split()[1][0] for line in log.read_text()[before:].splitlines() if line.startswith("sealed")} != {"0", "1", "2"}:
            assert all(writer.poll() is None for writer in writers)
            time.sleep(0.05)  # until each of them has sealed something, however slow the disk
        if turn < 3:
            time.sleep(0.3)
            postgres.stop(how)
            postgres.start()
    go.touch()
    outcomes = [finish(writer) for writer in writers]
    with open_book(postgres.address, dataset=dataset, epsilon=100_000) as book:
        told = check_promises(book, log)
    assert told["sealed"] >= 12
    assert sum(outcome.get("refused", 0) for outcome in outcomes) == 0


def test_a_commit_in_doubt_counts_as_spent_and_is_never_new(postgres, dataset, monkeypatch):
    with open_book(postgres.address, dataset=dataset) as book:
        connection = book._store._writer
        real = connection.execute

        def lose_the_reply(statement, *more):
            result = real(statement, *more)
            if statement == "COMMIT":
                connection.close()
                raise connection_lost
            return result

        import psycopg

        connection_lost = psycopg.OperationalError("server closed the connection unexpectedly")
        monkeypatch.setattr(connection, "execute", lose_the_reply)
        entry = book.charge("r", key(), TENTH)
        assert entry.state == "open"
        assert book.budget.exact["spent"] == Fraction(1, 10)


def test_a_connection_lost_before_the_commit_is_made_good(postgres, dataset, monkeypatch):
    import psycopg

    with open_book(postgres.address, dataset=dataset) as book:
        with psycopg.connect(postgres.address, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s)", (book._store._writer.info.backend_pid,))
        assert book.charge("r", key(), TENTH).state == "new"
        assert book.budget.exact["spent"] == Fraction(1, 10)


def test_if_the_server_stays_away_a_sent_commit_is_reported_as_spent(postgres, dataset, monkeypatch):
    with open_book(postgres.address, dataset=dataset) as book:
        monkeypatch.setattr(book._store, "transact", _in_doubt(book._store.transact))
        with pytest.raises(ReleaseFailed) as failure:
            book.charge("r", key(), TENTH)
        assert (failure.value.code, failure.value.spent) == ("SRD-402", True)


def _in_doubt(transact):
    def broken(work):
        transact(work)
        raise InDoubt

    return broken


def test_a_server_that_is_away_is_a_clean_refusal(monkeypatch, tmp_path):
    monkeypatch.setattr(store_module, "PATIENCE", 0.2)
    with pytest.raises(LedgerError) as refusal:
        open_book(f"postgresql://nobody@/none?host={tmp_path}")
    assert (refusal.value.code, refusal.value.spent) == ("SRD-603", False)


def test_a_row_held_by_another_writer_is_busy_not_spent(postgres, dataset, monkeypatch):
    import psycopg

    monkeypatch.setattr(store_module, "PATIENCE", 0.3)
    with open_book(postgres.address, dataset=dataset) as book, psycopg.connect(postgres.address) as other:
        other.execute("SELECT 1 FROM sordino_head WHERE ledger = %s FOR UPDATE", (dataset,))
        with pytest.raises(LedgerError, match="SRD-603"):
            book.charge("r", key(), TENTH)
        monkeypatch.undo()
        other.rollback()
        assert book.charge("r", key(), TENTH).state == "new"


def test_a_newer_format_is_refused(postgres, dataset):
    import psycopg

    open_book(postgres.address, dataset=dataset).close()
    with psycopg.connect(postgres.address, autocommit=True) as connection:
        connection.execute("UPDATE sordino_head SET version = 99 WHERE ledger = %s", (dataset,))
    with pytest.raises(LedgerError, match="newer"):
        open_book(postgres.address, dataset=dataset)


def test_commits_are_synchronous_whatever_the_role_prefers(postgres, dataset):
    with open_book(f"{postgres.address}&options=-csynchronous_commit%3Doff", dataset=dataset) as book:
        book.charge("r", key(), TENTH)
        assert book._store._writer.execute("SHOW synchronous_commit").fetchone() == ("on",)


def test_one_database_keeps_the_ledgers_of_several_datasets_apart(postgres, dataset):
    with open_book(postgres.address, dataset=dataset) as one, open_book(postgres.address, dataset=dataset + "-b") as two:
        one.charge("r", key(), TENTH)
        assert two.charge("r", key(), TENTH).state == "new"
        assert one.id != two.id
        assert one.verify()
        assert two.verify()


def test_a_ledger_in_postgres_is_asked_for_by_dataset(postgres):
    from sordino.ledger import read_ledger

    with pytest.raises(QueryError, match="Name the dataset"):
        read_ledger(postgres.address)
