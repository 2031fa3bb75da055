"""Who gets in: tokens that are missing, wrong, revoked or of another role; how often; and nothing spent by anybody turned away."""

from __future__ import annotations

import pytest

from sordino.errors import QueryError
from sordino.server.app import ServerLimits
from sordino.server.auth import Tokens, digest

from .hall import Still, Visitor, write

ROUTES = [
    ("GET", "/v1/datasets"), ("GET", "/v1/budget"), ("GET", "/v1/ledger"), ("POST", "/v1/plans"), ("GET", "/v1/plans/x/preview"),
    ("POST", "/v1/plans/x/release"), ("GET", "/v1/releases/x"), ("GET", "/v1/releases/x/card"), ("GET", "/v1/approvals"),
    ("POST", "/v1/approvals/x"), ("DELETE", "/v1/plans/x/release"), ("POST", "/v1/shares"), ("POST", "/v1/shares/price"),
    ("GET", "/v1/shares/x"), ("GET", "/v1/shares/x/table.csv"), ("GET", "/v1/shares/x/table.parquet"), ("GET", "/v1/anything"),
]  # fmt: skip


def test_every_route_of_the_api_is_tried_without_a_token(hall):
    document = hall.ask("GET", "/v1/openapi.json").json()
    listed = {(method.upper(), path.replace("{id}", "x")) for path, item in document["paths"].items() for method in item}
    assert listed == set(ROUTES) - {("GET", "/v1/anything")}


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_without_a_good_token_nothing_is_answered_and_nothing_spent(hall, method, path):
    token = hall.token()
    hall.tokens.revoke("amina")
    plan_free = hall.tokens.path.read_text(encoding="utf-8")
    for said in (None, "", "srd_wrong", token, token[:-1]):
        answer = hall.ask(method, path, said, "k", content=b"{not json")
        assert (answer.status_code, answer.json()["code"]) == (401, "SRD-501")
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.json()["spent"] is False
    basic = hall.ask(method, path, headers={"Authorization": f"Basic {token}"})
    assert basic.status_code == 401
    assert hall.tokens.path.read_text(encoding="utf-8") == plan_free
    assert hall.app.app.app.state.house.datasets["hospital"].budget.spent == 0


def test_a_token_is_kept_as_a_hash_in_a_file_of_the_owners_own(tmp_path):
    tokens = Tokens(tmp_path / "x.tokens")
    token = tokens.add("amina", scope=("hospital",))
    text = tokens.path.read_text(encoding="utf-8")
    assert token not in text
    assert digest(token) in text
    assert tokens.path.stat().st_mode & 0o777 == 0o600
    assert len(token) > 43
    assert tokens.find(token).scope == ("hospital",)
    assert tokens.find(token).sees("hospital")
    assert not tokens.find(token).sees("clinic")
    with pytest.raises(QueryError, match="has a token already"):
        tokens.add("amina")
    tokens.revoke("amina")
    assert tokens.find(token) is None
    again = tokens.add("amina")
    assert tokens.find(again).name == "amina"
    assert tokens.find(token) is None


def test_names_roles_and_files_that_are_no_good_are_refused(tmp_path):
    tokens = Tokens(tmp_path / "x.tokens")
    for name in ("", "a:b", "a b", "é", "x" * 65, "../x", "a\n"):
        with pytest.raises(QueryError):
            tokens.add(name)
    with pytest.raises(QueryError):
        tokens.add("amina", "root")
    with pytest.raises(QueryError):
        tokens.revoke("nobody")
    tokens.add("amina")
    tokens.path.chmod(0o644)
    with pytest.raises(QueryError, match="read by others"):
        Tokens(tokens.path).people()
    tokens.path.chmod(0o600)
    tokens.path.write_text("[]", encoding="utf-8")
    with pytest.raises(QueryError, match="not a file of tokens"):
        Tokens(tokens.path).people()


def test_one_person_who_asks_too_often_waits_and_nobody_else_does(tmp_path):
    clock = Still()
    hall = Visitor(write(tmp_path), clock=clock, limits=ServerLimits(rate=0.5, burst=3, deadline=0))
    try:
        amina, bela = hall.token("amina"), hall.token("bela")
        codes = [hall.ask("GET", "/v1/datasets", amina).status_code for _ in range(4)]
        assert codes == [200, 200, 200, 429]
        refused = hall.ask("GET", "/v1/datasets", amina)
        assert refused.json()["code"] == "SRD-504"
        assert refused.headers["retry-after"] == "2"
        assert hall.ask("GET", "/v1/datasets", bela).status_code == 200
        clock.move(2)
        assert hall.ask("GET", "/v1/datasets", amina).status_code == 200
        assert hall.ask("GET", "/v1/datasets", amina).status_code == 429
    finally:
        hall.close()
