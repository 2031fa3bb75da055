"""An owner's files by path, and pictures of what is declared and shared: on pages no analyst can open."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import pytest

from sordino.plan.dataset import read_dataset
from sordino.server.owner_pictures import schema_picture

from .hall import Visitor, write
from .test_ask_page import Browser

STAR = """
[dataset]
format = 2
name = "clinic"
ledger = "clinic.ledger"
[privacy]
unit = "patient"
max_rows = 4
max_groups = 2
[budget]
epsilon = 3
[tables.patients]
source = "patients.csv"
size = 2_000
person = "patient_id"
unique = ["patient_id"]
[tables.patients.columns]
age = { type = "int", bounds = [0, 120] }
[tables.visits]
source = "visits.csv"
person = "patient_id"
unique = ["visit_id"]
[tables.visits.columns]
visit_id = { type = "id" }
cost = { type = "int", bounds = [0, 1000] }
[tables.labs]
source = "labs.csv"
person = { via = "visits", on = "visit_id" }
[tables.labs.columns]
visit_id = { type = "id" }
value = { type = "float", bounds = [0, 10] }
[tables.wards]
source = "wards.csv"
public = true
unique = ["ward"]
[tables.wards.columns]
ward = { type = "cat" }
"""


@pytest.fixture
def hall(tmp_path):
    other = write(tmp_path, name="clinic", rows=["p1,5,30,f,north", "p1,900000,40,m,south"])
    other.rename(tmp_path / "draft.toml")
    (tmp_path / "other.toml").write_text("[tool]\nx = 1\n", encoding="utf-8")
    visitor = Visitor(write(tmp_path))
    yield visitor
    visitor.close()


def by_path(browser, path):
    return browser.get(f"/owner/fit?{urlencode({'path': path})}")


def test_a_file_beside_those_served_is_checked_by_its_path_and_no_ledger_is_made(hall, tmp_path):
    owner = Browser(hall, hall.token("owner", "owner"))
    page = owner.get("/owner/fit").text
    assert "NOT PRIVATE" in page
    assert re.findall(r"<th scope=\"row\"><a href=\"[^\"]+\">([^<]+)</a>", page) == ["draft.toml", "hospital.toml"]
    checked = by_path(owner, str(tmp_path / "draft.toml")).text
    assert "What limits on one person cut, each alone (NOT PRIVATE)" in checked
    assert not (tmp_path / "clinic.ledger").exists()
    assert by_path(owner, "draft.toml").text.count("(NOT PRIVATE)") > 2, "a name alone is looked for beside the first"


def test_nothing_else_of_the_machine_can_be_named(hall, tmp_path, tmp_path_factory):
    elsewhere = write(tmp_path_factory.mktemp("elsewhere"), name="secret")
    (tmp_path / "link.toml").symlink_to(elsewhere)
    owner = Browser(hall, hall.token("owner", "owner"))
    said = set()
    for path in (
        str(elsewhere),
        "/etc/passwd",
        "../secret.toml",
        str(tmp_path / "link.toml"),
        "/nowhere/at.toml",
        "hospital.csv",
        "\x00.toml",
        "",
    ):
        page = by_path(owner, path).text
        assert "(NOT PRIVATE)" not in page
        said.add(re.search(r'role="alert"><p>(.*?)</p>', page)[1])
    assert len(said) == 1, "whether something is there does not show"
    analyst = Browser(hall, hall.token())
    assert by_path(analyst, str(tmp_path / "draft.toml")).status_code == 403
    some = Browser(hall, hall.tokens.add("some", "owner", ("hospital",)))
    assert "Dataset files beside" not in some.get("/owner/fit").text
    assert "SRD-502" in by_path(some, "draft.toml").text


def test_the_console_draws_the_tables_and_whose_they_are(hall, tmp_path):
    page = Browser(hall, hall.token("owner", "owner")).get("/owner").text
    assert "Tables and whose rows they hold" in page
    assert "protected, with all its rows; 300 declared" in page
    assert "by patient; 5 columns" in page
    star = tmp_path / "star.toml"
    star.write_text(STAR, encoding="utf-8")
    assert schema_picture(read_dataset(star)).text.splitlines()[1:] == [
        "one patient: protected, with all its rows; 2,000 declared", "  patients: by patient_id, one row each; 2 columns",
        "  visits: by patient_id; 3 columns", "    labs: by visit_id; 2 columns", "wards (public): joined on ward; 1 column",
    ]  # fmt: skip
