"""Owner and analyst through every page in a real browser: no console error, no serious finding, 320 pixels, keyboard, no script."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

from server.hall import write
from server.process import Process
from sordino.server.token import Tokens

SHOTS = Path(__file__).parent.parent.parent / "docs" / "img"
SEX = "SELECT sex, COUNT(*) AS n FROM admissions GROUP BY sex"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SORDINO_STATE", str(tmp_path_factory.mktemp("state")))
        file = write(tmp_path_factory.mktemp("pages"), tick=5, epsilon=5)
        tokens = Tokens.beside(file)
        server = Process(file)
        server.amina, server.owner = tokens.add("amina"), tokens.add("owner", "owner")
        yield server
        server.stop()


def enter(page, served, token):
    page.goto(f"{served.url}/login")
    page.get_by_label("Your token").fill(token)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", name="Datasets and budgets").wait_for()


def look(page, name=None):
    """Axe finds nothing serious; at 320 pixels nothing but tables scrolls sideways; and a picture for the documents, if wished."""
    from axe_playwright_python.sync_playwright import Axe

    found = [item for item in Axe().run(page).response["violations"] if item["impact"] in ("serious", "critical")]
    assert not found, [(item["id"], [node["target"] for node in item["nodes"]]) for item in found]
    if name and os.environ.get("SORDINO_SHOTS"):
        SHOTS.mkdir(exist_ok=True)
        page.set_viewport_size({"width": 860, "height": 900})
        page.evaluate("window.scrollTo(0, 0)")
        page.screenshot(path=SHOTS / f"{name}.png", scale="css")
    page.set_viewport_size({"width": 320, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320, name
    page.set_viewport_size({"width": 1280, "height": 720})


def test_an_analyst_goes_through_every_page(page, served):
    page.goto(f"{served.url}/login")
    look(page, "login")
    enter(page, served, served.amina)
    look(page, "datasets")
    page.get_by_role("link", name="Ask hospital").click()
    page.get_by_label("Statistic").select_option("mean")
    page.get_by_label("of column").select_option("age")
    page.get_by_role("button", name="Write it as SQL").click()
    assert "AVG" in page.get_by_label("Question, in SQL").input_value()
    page.get_by_label("Question, in SQL").fill(SEX)
    page.get_by_label("Within ±").fill("60")
    with page.expect_response(lambda answer: "part=1" in answer.url and "within=60" in answer.url):
        page.get_by_label("Within ±").press("End")
        page.get_by_label("Within ±").dispatch_event("input")
    page.get_by_role("button", name="Pay epsilon").wait_for()
    before = page.get_by_role("button", name="Pay epsilon").inner_text()
    slider = page.get_by_label("Cheap to accurate")
    slider.focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    expect(page.get_by_role("button", name="Pay epsilon")).not_to_have_text(before)
    page.get_by_text("Which mechanism, and why?").click()
    page.get_by_text("Theorem.").first.wait_for()
    look(page, "ask")
    page.get_by_role("button", name="Pay epsilon").click()
    page.get_by_role("heading", name="Do the differences survive the noise?").wait_for()
    look(page, "result")
    page.get_by_role("button", name="Show the prices").click()
    page.get_by_role("heading", name="A better answer").wait_for()
    look(page)
    page.go_back()
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    assert Path(download.value.path()).read_text(encoding="utf-8").startswith("sex,n,n_low,n_high")
    page.get_by_role("link", name="History").click()
    page.get_by_text("verified").wait_for()
    look(page, "history")
    page.get_by_role("button", name="Log out amina").click()
    page.get_by_label("Your token").wait_for()


def test_an_owner_sees_the_console_and_the_risk(page, served):
    enter(page, served, served.owner)
    page.get_by_role("link", name="Owner").click()
    page.get_by_role("heading", name="Analysts and purses").wait_for()
    look(page, "owner")
    page.get_by_role("link", name="Risk").click()
    page.get_by_label("Birth date").fill("1984-05-17")
    page.get_by_label("Sex").select_option("f")
    page.get_by_role("button", name="How unique?").click()
    page.get_by_text("sure to be the only one").wait_for()
    look(page, "risk")


def test_a_dot_of_the_lesson_moves_by_keys_and_by_mouse_and_the_library_answers(page, served):
    page.goto(f"{served.url}/learn")
    look(page, "learn")
    dots = page.get_by_role("slider")
    assert dots.count() == 11
    local = page.locator("dt:has-text('Local') + dd")
    before = local.inner_text()
    dots.nth(5).focus()
    with page.expect_response(lambda answer: "part=1" in answer.url):
        for _ in range(3):
            page.keyboard.press("ArrowUp")
    expect(local).not_to_have_text(before)
    assert "47" in page.get_by_label("Numbers between").input_value()
    box = dots.nth(5).bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    with page.expect_response(lambda answer: "part=1" in answer.url):
        page.mouse.move(box["x"] - 40, box["y"], steps=4)
        page.mouse.up()
    assert ", 47," not in page.get_by_label("Numbers between").input_value()


def test_dark_and_without_script_the_pages_still_work(chromium, served):
    context = chromium.new_context(color_scheme="dark", java_script_enabled=False)
    page = context.new_page()
    enter(page, served, served.amina)
    page.goto(f"{served.url}/ask")
    page.get_by_label("Question, in SQL").fill("SELECT SUM(age) AS s FROM admissions")
    page.get_by_label("Within ±").fill("9000")
    page.get_by_role("button", name="Show the price").click()
    page.get_by_role("button", name="Pay epsilon").click()
    page.get_by_role("heading", name="Claim card").wait_for()
    assert "with 95% between" in page.content()
    context.close()


def test_dark_pages_have_enough_contrast(chromium, served):
    context = chromium.new_context(color_scheme="dark")
    page = context.new_page()
    enter(page, served, served.amina)
    for path in ("/datasets", f"/ask?sql={SEX.replace(' ', '+')}&within=60", "/history", "/learn"):
        page.goto(served.url + path)
        look(page, "dark" if "ask" in path else None)
    context.close()
