"""The course in a real browser, from a file and served: its numbers are the library's, and it can be walked by anybody.

SORDINO_AUDIT=full compares two hundred settings a page; SORDINO_SHOTS=1 writes the pictures of docs/img.
"""

from __future__ import annotations

import math
import os
import random
import re
import socket
import threading
import time
from pathlib import Path

import pytest
from playwright.sync_api import expect

from sordino.course.lecture import LECTURES
from sordino.course.lessons import LESSONS, lesson
from sordino.course.writing import export

SETTINGS = 200 if os.environ.get("SORDINO_AUDIT") == "full" else 20
SHOTS = Path(__file__).parent.parent.parent / "docs" / "img"
LOADED = "performance.getEntriesByType('resource').map((entry) => entry.name)"
ALL = ["index", *(found.slug for found in LESSONS), *(found.slug for found in LECTURES)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("course")
    export(place)
    return place


@pytest.fixture(scope="module")
def classroom():
    import uvicorn

    from sordino.server.app import create_classroom

    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    server = uvicorn.Server(uvicorn.Config(create_classroom(), access_log=False, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/learn"
    server.should_exit = True
    thread.join(10)
    listener.close()


def setting(found, chance):
    """Knobs drawn from their ranges, each on its own grid."""
    out = {}
    for knob in found.knobs:
        if knob.kind == "choice":
            out[knob.name] = chance.choice(knob.options)[0]
        elif knob.kind == "switch":
            out[knob.name] = chance.random() < 0.5
        elif knob.kind == "whole":
            out[knob.name] = chance.randint(int(knob.low), int(knob.high))
        elif knob.kind == "log":
            out[knob.name] = float(f"{10 ** chance.uniform(math.log10(knob.low), math.log10(knob.high)):.3g}")
        elif knob.kind == "list":
            size = chance.randint(knob.least, knob.most)
            out[knob.name] = [round(chance.uniform(knob.low, knob.high) / knob.step) * knob.step for _ in range(size)]
        else:
            out[knob.name] = float(f"{round(chance.uniform(knob.low, knob.high) / knob.step) * knob.step:.12g}")
    if found.slug == "mode":
        out["counts"][0] = max(out["counts"][0], 1)
    return out


def same(here, there, room):
    """Equal within the room: for a list, relative to its largest entry."""
    if isinstance(there, list | tuple):
        return len(here) == len(there) and max(abs(a - b) for a, b in zip(here, there, strict=True)) <= room * max(map(abs, there)) + 1e-13
    if isinstance(there, str):
        return here == there
    if math.isinf(there):
        return here in ("Infinity", math.inf)
    return abs(here - there) <= room * max(abs(there), 1e-9) + 1e-13


@pytest.mark.parametrize("found", LESSONS, ids=lambda found: found.slug)
def test_every_number_of_a_page_is_the_librarys(page, folder, found):
    page.goto((folder / f"{found.slug}.html").as_uri())
    chance = random.Random(found.slug)
    settings = [found.defaults(), *(setting(found, chance) for _ in range(SETTINGS))]
    seen = page.evaluate("([slug, all]) => all.map((k) => course.pages[slug].numbers(k))", [found.slug, settings])
    for knobs, here in zip(settings, seen, strict=True):
        for name, there in found.numbers(**knobs).items():
            assert same(here[name], there, found.loose.get(name, 1e-9)), (name, here[name], there, knobs)
        drawn = "([slug, k]) => course.pages[slug].draw(k, course.pages[slug].numbers(k), { width: 600, shown: true, chance: null }).length"
        assert page.evaluate(drawn, [found.slug, knobs]) >= 1


def numbers(page):
    return page.evaluate("course.state().numbers")


def put(page, name, value):
    field = page.locator(f"#k-{name}")
    field.fill(str(value))
    field.press("Tab")


def show(page):
    page.get_by_role("button", name="Show me").click()


def told(page, name):
    return page.locator(f'[data-number="{name}"]').inner_text()


def test_walk_1_a_median_by_keyboard_alone_from_a_file_at_320_pixels(page, folder):
    page.set_viewport_size({"width": 320, "height": 640})
    page.goto((folder / "median.html").as_uri())
    assert told(page, "smooth") == "your guess first"
    reach(page, "guess-field")
    page.keyboard.type("10")
    page.keyboard.press("Enter")
    assert "You guessed 10, it is 12.75" in page.locator("#reply").inner_text()
    assert [told(page, name) for name in ("median", "global", "local", "smooth", "star")] == ["44", "100", "6", "12.75", "3"]
    reach(page, "k-beta")
    page.keyboard.press("Control+A")
    page.keyboard.type("0.847")
    page.keyboard.press("Tab")
    assert float(told(page, "smooth")) == pytest.approx(6, abs=0.01)
    page.locator('input[name="relation"]').first.focus()
    page.keyboard.press("ArrowDown")
    assert told(page, "local") == "8"
    reach(page, "k-printed")
    page.keyboard.press("Space")
    assert told(page, "as_printed") == "7"
    assert page.locator("svg .rule.printed").count() == 1
    dots = page.locator('[data-drag^="values:"]')
    assert dots.count() == 11
    dots.nth(5).focus()
    page.keyboard.press("ArrowRight")
    assert told(page, "median") == "45"
    assert page.evaluate("document.activeElement.dataset.drag") == "values:5", "the dot keeps the focus"
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    sizes = "[...document.querySelectorAll('#picture svg text')].map((t) => parseFloat(getComputedStyle(t).fontSize))"
    small = page.evaluate(f"Math.min(...{sizes})")
    assert small >= 12, "redrawn, not shrunk"
    page.wait_for_function("location.hash.includes('values')")
    again = page.url
    page.goto("about:blank")
    page.goto(again)
    assert told(page, "median") == "45", "a link is a lesson"


def reach(page, name):
    """Press Tab until the thing with this id has the focus, and can be seen to have it."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == name:
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
            return
    raise AssertionError(f"{name} cannot be reached by keyboard")


def test_walk_2_without_script_every_page_can_be_read_and_has_its_picture(chromium, folder):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    for name in ALL:
        page.goto((folder / f"{name}.html").as_uri())
        assert len(page.locator("main").inner_text()) > 500
        assert page.locator("form.knobs").count() == 0 or not page.locator("form.knobs").is_visible()
        if name in {found.slug for found in LESSONS}:
            assert page.locator("#picture svg").count() == 1
            assert page.locator("table tr").count() > 6
            assert "Answer:" in page.locator("noscript").first.inner_text()
    context.close()


def test_walk_3_three_hundred_phones_fill_a_room(page, chromium, classroom):
    page.goto(f"{classroom}/response.html")
    page.get_by_role("button", name="Open a room").click()
    page.locator("#room-code").get_by_text(re.compile("^[a-z2-9]{8}$")).wait_for()
    code = page.locator("#room-code").inner_text()
    first = chromium.new_context()
    phone = first.new_page()
    phone.goto(f"{classroom}/response.html?class={code}")
    phone.get_by_label("yes", exact=True).check()
    sent = []
    phone.on("request", lambda request: sent.append(request.post_data) if request.method == "POST" else None)
    phone.get_by_role("button", name="Flip the coins and send").click()
    phone.get_by_text("Sent.").wait_for()
    assert sent in ([{"report": 0}], [{"report": 1}], ['{"report":0}'], ['{"report":1}'])
    phone.reload()
    phone.get_by_text("You have answered").wait_for()
    assert not phone.get_by_role("button", name="Flip the coins and send").is_visible(), "no second draw"
    assert first.cookies() == []
    first.close()
    many = """async ([code, share]) => {
      const one = async (truth, i) => {  // coins that fall as often as they should, so that chance cannot fail the walk
        const report = (i * 0.6180339887) % 1 < 0.75 ? truth : 1 - truth;
        const headers = {"Content-Type": "application/json"}, body = JSON.stringify({report});
        const options = {method: "POST", headers, body, credentials: "omit"};
        return (await fetch("class/" + code, options)).status;
      };
      const all = await Promise.all([...Array(299).keys()].map((i) => one(i < 299 * share ? 1 : 0, i)));
      return all.every((status) => status === 204);
    }"""
    assert page.evaluate(many, [code, 0.3])
    expect(page.locator("#room-count")).to_have_text("300")
    estimate = float(page.locator("#room-estimate").inner_text().split()[0].replace("−", "-"))
    assert abs(estimate - 0.3) < 0.15
    assert page.context.cookies() == []


def test_walk_4_the_loss_of_laplace_noise_is_flat_and_as_printed_it_is_not(page, folder):
    page.goto((folder / "laplace.html").as_uri() + "#n=10&neighbour=add&shown=1")
    assert told(page, "delta") == "0.01752"
    page.get_by_label("one bit is replaced").check()
    assert told(page, "sup") == "1"
    assert told(page, "delta") == "0"


def test_walk_5_laplace_and_gaussian_cross_between_eight_and_nine(page, folder):
    page.goto((folder / "dimension.html").as_uri() + "#d=8&shown=1")
    assert [told(page, name) for name in ("laplace", "gauss")] == ["11.31", "11.95"]
    put(page, "d", 9)
    assert [told(page, name) for name in ("laplace", "gauss")] == ["12.73", "12.67"]
    page.get_by_label("in one bin of a histogram").check()
    assert [told(page, name) for name in ("laplace", "gauss")] == ["1.414", "4.225"]


def test_walk_6_a_hundred_answers_and_a_cap(page, folder):
    page.goto((folder / "composition.html").as_uri() + "#shown=1")
    assert [told(page, name) for name in ("sum", "zcdp", "exact", "fit")] == ["10", "5.219", "4.775", "10"]
    assert page.get_by_text("10 answers pass, the next is refused").count() == 1


def test_walk_7_local_noise_is_always_told_smooth_noise_is_not(page, folder):
    page.goto((folder / "which.html").as_uri() + "#shown=1")
    page.get_by_role("button", name="200 draws").click()
    assert page.get_by_text("Best rule: 200 of 200 right").count() == 1
    page.get_by_label("smooth sensitivity").check()
    right = int(re.search(r"Best rule: (\d+) of 200", page.locator("#picture").inner_text())[1])
    assert 90 <= right <= 131
    assert told(page, "best") == "0.5516"


def test_walk_8_a_proposal_passes_on_a_hill_and_is_refused_between_camps(page, folder):
    page.goto((folder / "propose.html").as_uri() + "#shown=1")
    assert [told(page, name) for name in ("d", "T")] == ["42", "26.24"]
    assert numbers(page)["pass"] == pytest.approx(0.9998, abs=1e-4)
    put(page, "n", 201)
    assert told(page, "d") == "16"
    assert numbers(page)["pass"] == pytest.approx(0.0030, abs=1e-4)
    put(page, "n", 501)
    page.get_by_label("two camps").check()
    assert told(page, "d") == "3"
    assert numbers(page)["pass"] < 1e-4


def test_walk_9_rare_keys_vanish(page, folder):
    page.goto((folder / "histogram.html").as_uri() + "#shown=1&k=1e9")
    assert [told(page, name) for name in ("t", "least", "stable", "laplace")] == ["15", "19", "17", "23.69"]
    shows = numbers(page)["shows"]
    assert shows[10] == pytest.approx(0.987, abs=5e-4)  # 200/11 rounds to 18
    page.get_by_label("one person is replaced").check()
    assert told(page, "t") == "28"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_walk_10_every_page_is_accessible_and_asks_for_nothing_while_it_is_played_with(chromium, classroom, scheme):
    from axe_playwright_python.sync_playwright import Axe

    context = chromium.new_context(color_scheme=scheme)
    page = context.new_page()
    problems, asked = [], []
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    for name in ALL:
        page.goto(f"{classroom}/{name}.html")
        page.wait_for_load_state()
        if name in {found.slug for found in LESSONS}:
            before = page.evaluate(LOADED)
            drag_everything(page, lesson(name))
            asked += [url for url in page.evaluate(LOADED)[len(before) :] if not url.endswith("mute.svg")]  # the tab's own icon
        page.set_viewport_size({"width": 320, "height": 640})
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, name
        page.set_viewport_size({"width": 1000, "height": 800})
        found = Axe().run(page).response["violations"]
        assert not found, (name, [(item["id"], [node["target"] for node in item["nodes"]]) for item in found])
        if os.environ.get("SORDINO_SHOTS") and scheme == "light" and name in ("median", "response", "which", "index"):
            page.set_viewport_size({"width": 860, "height": 900})
            page.goto("about:blank")
            page.goto(f"{classroom}/{name}.html#shown=1")
            page.wait_for_load_state()
            page.screenshot(path=SHOTS / f"learn-{name}.png", scale="css")
            page.set_viewport_size({"width": 1000, "height": 800})
    assert problems == []
    assert asked == []
    context.close()


def drag_everything(page, found):
    show(page)
    before = page.evaluate("JSON.stringify(course.state().numbers)")
    for knob in found.knobs:
        if knob.kind in ("number", "whole", "log"):
            middle = "(r) => { r.value = (Number(r.min) + Number(r.max)) / 2; r.dispatchEvent(new Event('input')); }"
            page.locator(f"#r-{knob.name}").evaluate(middle)
    for key in page.locator("[data-drag]").evaluate_all("(all) => all.slice(0, 3).map((d) => d.dataset.drag)"):
        page.locator(f'[data-drag="{key}"]').press("ArrowRight")
    assert page.evaluate("JSON.stringify(course.state().numbers)") != before


def test_a_line_is_dragged_by_mouse(page, folder):
    page.goto((folder / "dimension.html").as_uri() + "#shown=1")
    box = page.locator('[data-drag="d:"]').bounding_box()
    page.mouse.move(box["x"] + 12, box["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + 200, box["y"] + 30, steps=5)
    page.mouse.up()
    assert int(told(page, "l1")) > 8


@pytest.mark.parametrize("found", LESSONS, ids=lambda found: found.slug)
def test_the_exercise_knows_the_answer_and_answers_the_trap(page, folder, found):
    page.goto((folder / f"{found.slug}.html").as_uri())
    field, reply = page.locator("form.exercise input"), page.locator("form.exercise output")
    field.fill(f"{found.exercise.answer:.10g}")
    page.get_by_role("button", name="Check", exact=True).click()
    assert reply.inner_text().startswith("Right.")
    for trap, words in found.exercise.traps:
        field.fill(f"{trap:.10g}")
        field.press("Enter")
        assert reply.inner_text() == words
    field.fill("what?")
    field.press("Enter")
    assert "Type a number" in reply.inner_text()


def test_numbers_are_read_as_people_write_them(page, folder):
    page.goto((folder / "index.html").as_uri())
    typed = {"1/2": 0.5, "0,5": 0.5, "2e-5": 2e-5, "30 000": 30_000, "30,000": 30_000, "−3": -3, "73%": 0.73, "": None, "x": None}
    for text, value in typed.items():
        found = page.evaluate("(text) => { const v = course.read(text); return isFinite(v) ? v : null }", text)
        assert found is None if value is None else found == pytest.approx(value), text


@pytest.mark.parametrize("found", LECTURES, ids=lambda found: found.note)
def test_a_lecture_checks_its_three_exercises(page, folder, found):
    page.goto((folder / f"{found.slug}.html").as_uri())
    for i, exercise in enumerate(found.exercises, 1):
        page.locator(f"#x{i}").fill(f"{exercise.answer:.10g}")
        page.locator(f"#x{i}").press("Enter")
        assert page.locator("form.exercise output").nth(i - 1).inner_text().startswith("Right.")


def test_the_simulated_class_has_the_share_it_says_and_ends_inside_its_band(page, folder):
    """Over many sizes of class the drawn estimate is unbiased: a wrong truth in the drawing would show here."""
    page.goto((folder / "response.html").as_uri())
    ends = """() => [...Array(200).keys()].map((i) => {
      const k = { epsilon: 1.0986, n: 300 + i, f: 0.3 }, n = course.pages.response.numbers(k);
      const path = course.pages.response.draw(k, n, { width: 600 })[1].lines[0].points;
      return path[path.length - 1][1];
    })"""
    found = page.evaluate(ends)
    assert abs(sum(found) / len(found) - 0.3) < 4 * 0.05 / 200**0.5
