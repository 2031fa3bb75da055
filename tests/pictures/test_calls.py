"""Every picture is one call on a result: a static SVG with words for those who cannot see it, and the same in 80 columns of text."""

from __future__ import annotations

import re
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest

import sordino as sd
from sordino.lab.town import crowd, hospital
from sordino.mechanisms import Laplace, NoisyDescent, ProposeTestRelease
from sordino.pictures.picture import PENS
from sordino.sensitivity import influence

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def table():
    declared = {"columns": {"cost": {"type": "int", "bounds": (0, 100_000)}}, "keys": {"sex": ["f", "m", "x"]}}
    person = {"unit": "person", "max_rows": 5, "max_groups": 1}
    with sd.table(hospital(500), **person, **declared, budget=sd.Budget(epsilon=100), ledger=":memory:", size=500) as opened:
        yield opened


def audited(scale):
    release = lambda data, n: sd.lab.simulate(Laplace(epsilon=scale, sensitivity=1), data, repeats=n)  # noqa: E731
    return sd.lab.audit(release, 0, 1, claimed=1.0, trials=4_000, vectorised=True)


def descents():
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (300, 1))
    rows = np.column_stack([x, np.clip(x[:, 0] / 2, -1, 1)])
    return sd.lab.descent(NoisyDescent(1, rounds=6, dimension=2, size=300), rows, repeats=20)


def robust():
    sample = np.random.default_rng(2).normal(50, 2, 300)
    return influence.location(sample, influence.huber(2)), influence.location(sample, influence.least_squares)


def traced():
    inside, outside = crowd(20, 200, seed=1)
    return sd.lab.trace(inside.mean(axis=0), inside, outside)


PLOTS = {
    "price curve": lambda t: t.count().preview().plot(),
    "intervals by group": lambda t: t.group_by("sex").count().release(epsilon=1).plot(),
    "histogram with band": lambda t: t.histogram("cost", bins=[0, 1_000, 2_000, 10_000]).release(epsilon=1).plot(),
    "budget burn-down": lambda t: t.ledger.plot(),
    "budget": lambda t: t.budget.plot(),
    "privacy-loss distribution and delta(epsilon)": lambda _: sd.privacy.loss([0.75, 0.25], [0.25, 0.75]).plot(),
    "A(k) e^(-beta k) envelope": lambda _: sd.sensitivity.position.median(np.arange(0, 400, 4), bounds=(0, 1_000)).plot(0.3),
    "acceptance of propose-test-release": lambda _: ProposeTestRelease(epsilon=1, delta="1e-6", propose=1).plot(),
    "ROC": lambda _: traced().plot(),
    "uniqueness": lambda _: sd.lab.uniqueness(hospital(200), ["zip", "birth_date"]).plot(),
    "influence functions": lambda _: robust()[0].plot(robust()[1]),
    "descent fan": lambda _: descents().plot(1),
    "audit ladder": lambda _: sd.lab.ladder({"right": audited(1), "wrong": audited(3)}),
    "audit": lambda _: audited(1).plot(),
}


def seen(svg):
    """What a browser and a screen reader get: one static drawing with a name and a description."""
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    assert len(root.findtext(f"{SVG}title")) > 3
    assert len(root.findtext(f"{SVG}desc")) > 10
    assert not re.search(r"<script|\son\w+=|href=|https?://(?!www\.w3\.org/2000/svg)|@import", svg)
    return root


@pytest.mark.parametrize("name", PLOTS)
def test_a_picture_is_one_call_with_words_and_without_a_plotting_library(name, table):
    picture = PLOTS[name](table)
    seen(picture.svg)
    assert picture.text.strip()
    assert all(len(line) <= 80 for line in picture.text.splitlines())


HTML = {
    "Query": lambda t: t.where("cost > 10").group_by("sex").median("cost"),
    "Preview": lambda t: t.count().preview(),
    "Release": lambda t: t.count().release(epsilon=1),
    "Budget": lambda _: sd.Budget(epsilon=3, max_per_release=1, analysts={"amina": 1}),
    "Balance": lambda t: t.budget,
    "Card": lambda t: t.count().release(epsilon=1).card,
    "Audit": lambda _: audited(1),
}


@pytest.mark.parametrize("name", HTML)
def test_a_notebook_shows_static_drawings_that_follow_the_page_into_the_dark(name, table):
    page = HTML[name](table)._repr_html_()
    drawings = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert drawings
    for drawing in drawings:
        seen(drawing)
        assert "currentColor" in drawing, "text and axes take the colour of the page"
        assert "prefers-color-scheme:dark" in drawing, "a file of its own chooses"
        assert not re.search(r'fill="(?:#000|#fff|black|white)', drawing)
    assert not re.search(r"<script|style=|background", re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL))


def light(colour, ground):
    """The contrast ratio of WCAG 2 between two colours."""

    def luminance(text):
        parts = [int(text[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    one, other = sorted((luminance(colour), luminance(ground)), reverse=True)
    return (one + 0.05) / (other + 0.05)


def test_two_series_differ_in_grey_and_every_pen_shows_on_light_and_dark():
    for one, other in combinations(PENS, 2):
        assert one.dash != other.dash
        assert one.marker != other.marker
    for pen in PENS:
        assert min(light(pen.colour, "#ffffff"), light(pen.colour, "#14171a")) >= 3


def test_the_influence_of_huber_is_flat_far_out_and_that_of_least_squares_is_not():
    told = robust()[0].plot(robust()[1]).text.splitlines()
    reach = {line.split()[0]: float(line.split()[-1]) for line in told[1:3]}
    assert reach["huber(2)"] < reach["least"] / 2
