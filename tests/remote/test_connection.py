"""`sd.connect` against a server that means no good: bounded memory, bounded time, and one clear error."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
import tracemalloc

import pytest

import sordino as sd
from sordino.errors import LedgerError, QueryError, ReleaseFailed, SordinoError
from sordino.remote import connection
from sordino.remote.connection import Unclear

BOMB = gzip.compress(b" " * 50_000_000)
DEEP = b"[" * 1_000_000
PLAN = {"id": "x", "dataset": "d", "table": "t", "statistics": ["n"]}
HEAD = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def said(body, head=HEAD, length=None):
    return f"{head}Content-Length: {len(body) if length is None else length}\r\n\r\n".encode() + body


def dripping(send):
    """One byte every so often, for ever."""
    send(HEAD.encode() + b"Content-Length: 1000000\r\n\r\n")
    while True:
        send(b" ")
        time.sleep(0.02)


def dripping_headers(send):
    send(b"HTTP/1.1 200 OK\r\n")
    for _ in range(10_000):
        send(b"X: y\r\n"[:1])
        time.sleep(0.02)


def endless(send):
    send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[")
    while True:
        send(b"1," * 50_000)


def endless_chunks(send):
    send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        send(b"10000\r\n" + b" " * 65536 + b"\r\n")


HOSTILE = {
    "silent": lambda send: time.sleep(30),
    "gone": lambda send: None,
    "not http": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "dripping": dripping,
    "dripping headers": dripping_headers,
    "endless": endless,
    "endless chunks": endless_chunks,
    "bad chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nx",
    "endless header": b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000,
    "a thousand headers": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1_000 + b"\r\n",
    "gzip bomb": said(BOMB, HEAD + "Content-Encoding: gzip\r\n"),
    "longer than it says": said(json.dumps(PLAN).encode(), length=5),
    "shorter than it says": said(b'{"id": ', length=1_000),
    "length that is no number": b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n<p>",
    "elsewhere": b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/secret\r\nContent-Length: 0\r\n\r\n",
    "elsewhere for good": b"HTTP/1.1 308 Gone\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n",
    "a page": said(b"<html>hello</html>"),
    "not text": said(b"\xff\xfe\x00"),
    "deep": said(DEEP),
    "null": said(b"null"),
    "a number": said(b"17"),
    "a list": said(b"[1, 2]"),
    "a huge number": said(b'{"id": ' + b"9" * 10_000 + b"}"),
    "an id that is a number": said(b'{"id": 5}'),
    "an error without words": said(b"{}", "HTTP/1.1 500 No\r\n"),
    "an error that is a list": said(b"[]", "HTTP/1.1 422 No\r\n"),
    "an error of a megabyte": said(json.dumps({"code": "SRD-1", "detail": "x" * 10**6, "fix": "y"}).encode(), "HTTP/1.1 422 No\r\n"),
    "an endless error": lambda send: (send(b"HTTP/1.1 500 No\r\n\r\n"), [send(b" " * 65536) for _ in range(10_000)]),
}


class Server:
    """A socket that answers every request with the same bytes, or by a function that sends some."""

    def __init__(self, answer):
        self.answer, self.listener = answer, socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.requests = []
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            try:
                caller, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(caller,), daemon=True).start()

    def _talk(self, caller):
        with caller:
            try:
                self.requests.append(caller.recv(65536))
                answer = self.answer(self.requests[-1]) if callable(self.answer) and getattr(self.answer, "reads", False) else self.answer
                answer(caller.sendall) if callable(answer) else caller.sendall(answer)
            except OSError:
                return

    def close(self):
        self.listener.close()


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(connection, "LONGEST", 0.6)
    monkeypatch.setattr(connection, "LARGEST", 2**20)


def meets(answer, call):
    """The error a call ends with, its seconds, and the most memory it held."""
    server = Server(answer)
    remote = sd.connect(server.url, "srd_x")
    tracemalloc.start()
    start = time.monotonic()
    try:
        with pytest.raises(SordinoError) as caught:
            call(remote)
    finally:
        held = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        server.close()
    return caught.value, time.monotonic() - start, held


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_whatever_a_server_answers_is_one_error_soon_and_in_little_memory(name, quick):
    error, took, held = meets(HOSTILE[name], lambda remote: remote.sql("SELECT 1"))
    assert isinstance(error, LedgerError | QueryError)
    assert len(str(error)) < 2_500
    assert "srd_x" not in str(error)
    assert error.fix
    assert took < 10
    assert held < 40 * 2**20
    assert error.__cause__ is None


@pytest.mark.parametrize("call", [
    lambda remote: remote.datasets, lambda remote: remote.budget, lambda remote: remote.approvals, lambda remote: remote.release("x"),
    lambda remote: connection.RemoteQuery(remote, "x", "").preview(within=3),
    lambda remote: connection.RemoteQuery(remote, "x", "").release(epsilon=1),
])  # fmt: skip
@pytest.mark.parametrize("body", [
    b"null", b"17", b'"x"', b"[5]", b'{"best": 5, "lines": 5, "notes": 7}', b'{"best": null, "lines": [{"epsilon": "a"}], "notes": []}',
    b'{"record": {}}', b'{"record": {"format": 1}, "labels": 5}', b'{"record": [], "shapes": 1}', b"[[]]", b'[{"a": 1}, 3]',
])  # fmt: skip
def test_answers_of_a_wrong_shape_are_one_error_at_every_verb(call, body, quick):
    server = Server(said(body))
    try:
        remote, found = sd.connect(server.url, "srd_x"), None
        try:
            found = call(remote)
        except Unclear as error:
            found = [error.code, error.spent]
        assert found == ["SRD-507", None] or isinstance(found, list | dict)  # a list or a mapping of anything is one of these two
    finally:
        server.close()


def test_a_release_without_a_usable_answer_says_that_nobody_knows_and_under_which_request_to_ask_again(quick):
    error, took, _ = meets(said(b"<html>"), lambda remote: connection.RemoteQuery(remote, "x", "").release(epsilon=1))
    assert isinstance(error, Unclear)
    assert error.spent is None
    assert "Whether it was charged is not known." in str(error)
    assert error.facts["request"] in str(error)
    assert took < 5


def test_a_server_that_is_never_ready_is_asked_a_few_times_with_one_key_and_then_given_up(quick, monkeypatch):
    busy = said(json.dumps({"code": "SRD-506", "detail": "not yet", "fix": "again", "spent": None}).encode(), "HTTP/1.1 503 No\r\n")
    server = Server(busy)
    try:
        with pytest.raises(Unclear):
            connection.RemoteQuery(sd.connect(server.url, "srd_x"), "x", "").release(epsilon=1)
        keys = {line for request in server.requests for line in request.split(b"\r\n") if line.lower().startswith(b"idempotency-key")}
        assert 1 < len(server.requests) <= connection.TRIES
        assert len(keys) == 1
    finally:
        server.close()


def test_a_token_does_not_follow_a_redirection(quick):
    other = Server(said(json.dumps(PLAN).encode()))
    moved = f"HTTP/1.1 307 Away\r\nLocation: {other.url}/v1/plans\r\nContent-Length: 0\r\n\r\n".encode()
    error, _, _ = meets(moved, lambda remote: remote.sql("SELECT 1"))
    assert "sends elsewhere" in str(error)
    assert other.requests == []
    other.close()


def test_problems_of_an_honest_server_keep_their_family(quick):
    kinds = {
        402: (sd.errors.BudgetExceeded, {"code": "SRD-301", "spent": False}), 422: (QueryError, {"code": "SRD-201", "spent": False}),
        500: (ReleaseFailed, {"code": "SRD-401", "spent": True}), 503: (LedgerError, {"code": "SRD-511", "spent": False}),
    }  # fmt: skip
    for status, (kind, facts) in kinds.items():
        body = json.dumps({**facts, "detail": "what", "fix": "do"}).encode()
        error, _, _ = meets(said(body, f"HTTP/1.1 {status} No\r\n"), lambda remote: remote.sql("SELECT 1"))
        assert isinstance(error, kind)
        assert (error.code, error.spent) == (facts["code"], facts["spent"])
