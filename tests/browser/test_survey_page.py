"""The respondent's page in a real browser: it draws the law it promises, and only the drawn report leaves."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

import sordino as sd


@pytest.fixture
def inbox():
    """A loopback server that keeps what it is sent."""
    received = []

    class Inbox(BaseHTTPRequestHandler):
        def answer(self, body=b""):
            self.send_response(200)
            self.send_header("Access-Control-Allow-Origin", "*")
            self.send_header("Access-Control-Allow-Headers", "Content-Type")
            self.end_headers()
            self.wfile.write(body)

        def do_OPTIONS(self):
            self.answer()

        def do_POST(self):
            received.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.answer()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Inbox)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/reports", received
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_page_sends_one_randomised_report_and_forgets_the_answer(page, inbox, tmp_path):
    address, received = inbox
    file = tmp_path / "survey.html"
    sd.survey.RandomizedResponse(["yes", "no", "<b>rather not</b>"], epsilon=1, question='Do you "smoke"?').html(file, send_to=address)
    page.goto(file.as_uri())
    page.get_by_label("yes").check()
    page.get_by_role("button").click()
    page.get_by_text("Sent. Thank you.").wait_for()
    (sent,) = received
    assert json.loads(sent)['Do you "smoke"?'] in ("yes", "no", "<b>rather not</b>")
    assert page.evaluate("document.querySelector('input:checked')") is None
    assert not page.locator("#form").is_visible()


def test_an_unanswered_question_sends_nothing(page, inbox, tmp_path):
    address, received = inbox
    file = tmp_path / "survey.html"
    sd.survey.Questionnaire.of({"smoke": ["yes", "no"], "drink": ["yes", "no"]}, epsilon=2).html(file, send_to=address)
    page.goto(file.as_uri())
    page.locator("input[name=q0]").first.check()
    page.get_by_role("button").click()
    assert page.locator("#form").is_visible()
    assert received == []


@pytest.mark.parametrize("encoding", ["direct", "unary"])
def test_the_browser_draws_the_law_of_the_mechanism(page, tmp_path, encoding):
    """30,000 reports of one answer: every option within six deviations of its exact probability."""
    asked = sd.survey.RandomizedResponse(["a", "b", "c"], epsilon="1.5", encoding=encoding)
    file = tmp_path / "survey.html"
    asked.html(file)
    page.goto(file.as_uri())
    trials = 30_000
    reports = page.evaluate(f"Array.from({{length: {trials}}}, () => report(survey.questions[0], 1))")
    keep, lie = float(asked.mechanism.keep), float(asked.mechanism.lie)
    for i, option in enumerate("abc"):
        found = sum(report == option if encoding == "direct" else report[i] for report in reports)
        chance = keep if i == 1 else lie
        assert abs(found - trials * chance) < 6 * (trials * chance * (1 - chance)) ** 0.5
    assert abs(asked.estimate(reports)["b"][0] - 1) < 0.1


def test_without_an_address_the_report_is_shown_to_copy(page, tmp_path):
    file = tmp_path / "survey.html"
    sd.survey.RandomizedResponse(["yes", "no"], epsilon=1).html(file)
    page.goto(file.as_uri())
    page.get_by_label("no").check()
    page.get_by_role("button").click()
    page.get_by_text("Copy it and hand it in.").wait_for()
