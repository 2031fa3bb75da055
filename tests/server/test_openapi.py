"""The OpenAPI document tells the truth: thousands of odd requests made from it find no failure and no answer it does not name."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings

from .hall import Visitor, write

SQL = "SELECT COUNT(*) AS n FROM admissions WHERE age < 18"
EXAMPLES = 200 if os.environ.get("SORDINO_AUDIT") == "full" else 25
OPERATIONS = [
    "GET /v1/datasets", "POST /v1/plans", "GET /v1/plans/{id}/preview", "POST /v1/plans/{id}/release", "GET /v1/releases/{id}",
    "GET /v1/releases/{id}/card", "GET /v1/budget", "GET /v1/approvals", "POST /v1/approvals/{id}", "GET /v1/ledger",
    "DELETE /v1/plans/{id}/release",
    "POST /v1/shares/price", "POST /v1/shares", "GET /v1/shares/{id}", "GET /v1/shares/{id}/table.csv", "GET /v1/shares/{id}/table.parquet",
]  # fmt: skip


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SORDINO_STATE", str(tmp_path_factory.mktemp("state")))
        visitor = Visitor(write(tmp_path_factory.mktemp("odd"), purses="", epsilon=1000, approve="approve_above = 5"))
        visitor.owner = visitor.token("boss", "owner")
        visitor.made = visitor.plan(visitor.owner, SQL)
        visitor.first = visitor.pay(visitor.owner, SQL, "first", epsilon=1).json()["id"]
        visitor.pay(visitor.token("amina"), SQL, "dear", epsilon=9)
        visitor.waits = visitor.ask("GET", "/v1/approvals", visitor.owner).json()[0]["id"]
        body = {"share": {"table": "admissions", "columns": ["age", "sex"], "method": "tree"}, "epsilon": "1"}
        visitor.job = visitor.ask("POST", "/v1/shares", visitor.owner, "job", json=body).json()["id"]
        yield visitor
        visitor.close()


def test_the_document_lists_every_route(served):
    document = served.ask("GET", "/v1/openapi.json").json()
    found = {f"{method.upper()} {path}" for path, item in document["paths"].items() for method in item}
    assert found == set(OPERATIONS)


MODES = [("positive", label) for label in OPERATIONS] + [("negative", label) for label in OPERATIONS[1:]]  # the first cannot be wrong


@pytest.mark.parametrize(("mode", "label"), MODES)
def test_odd_requests_find_no_failure_and_no_answer_without_a_name(served, mode, label):
    import requests
    import schemathesis
    from schemathesis import GenerationMode
    from schemathesis.specs.openapi import checks as know

    schema = schemathesis.openapi.from_dict(served.app.app.app.openapi())
    operation = next(found.ok() for found in schema.get_all_operations() if found.ok().label == label)
    rules = [know.status_code_conformance, know.content_type_conformance, know.response_schema_conformance]
    statuses = set()
    checked = {"suppress_health_check": list(HealthCheck), "phases": [Phase.generate]}  # shrinking a request takes minutes
    quiet = settings(max_examples=EXAMPLES, deadline=None, database=None, derandomize=True, **checked)

    @quiet
    @given(case=operation.as_strategy(GenerationMode(mode)), real=...)
    def odd(case, real: bool):
        if real and "{id}" in label:
            kind = label.split("/")[2]
            case.path_parameters["id"] = {
                "plans": served.made, "releases": served.first, "approvals": served.waits, "shares": served.job,
            }[kind]  # fmt: skip
        sent = case.as_transport_kwargs(base_url="https://testserver", headers={"Authorization": f"Bearer {served.owner}"})
        sent.pop("cookies", None)
        wired = requests.Request(**{name: value for name, value in sent.items() if value is not None}).prepare()
        assume(len(wired.url) < 60_000)  # the client's own limit, below the server's
        body = wired.body.encode() if isinstance(wired.body, str) else wired.body
        answer = served.ask(wired.method, wired.url, headers=dict(wired.headers), content=body)
        statuses.add(answer.status_code)
        assert answer.status_code < 500
        case.validate_response(answer, checks=rules)

    odd()
    assert statuses
