"""The page of a campaign says what was done, shows the worst neighbour of every subject, and hides nothing that went wrong."""

from sordino.lab.audit_page import picture, text, write
from sordino.lab.case import QUICK


def item(method, found, *, pair="one", verdict="consistent", part="mechanism", subject="Laplace()", epsilon="1"):
    names = {"part": part, "subject": subject, "epsilon": epsilon, "pair": pair, "method": method}
    numbers = {"claimed": [float(epsilon), 0.0], "found": found, "draws": 1000, "cpu": 60.0}
    return {"id": " | ".join(map(str, names.values())), **names, **numbers, "verdict": verdict}


RESULTS = [
    item("certificate", 1.0, pair="all neighbours"),
    item("sampled", 0.9, pair="near"),
    {**item("sampled", 0.95, pair="far"), "twin": True},
    {**item("exact", 0.99, pair="far"), "twin": True},
    item("replay", 0.5, pair="far"),
    {**item("sampled", 0.2, part="statistic", subject="count", pair="a row comes", verdict="no power"), "twin": False},
    item("one run", 0.97, part="one run", subject="count by keys"),
    {**item("exact", 0.0, pair="skipped"), "verdict": "does not apply"},
]


def test_the_summary_counts_what_was_done():
    page = text(RESULTS, effort=QUICK, command=["make", "audit"])
    assert "7 checks, 3,000 sampled releases, nothing refuted" in page
    assert "    make audit\n" in page
    assert "7 minutes of processor time" in page
    assert "| sampled | outcomes on two neighbours drawn and told apart | 3 | 0 | 1 | 3.0 |" in page
    assert "## Wrong" not in page
    assert "skipped" not in page


def test_a_subject_is_shown_at_its_worst_neighbours():
    page = text(RESULTS, effort=QUICK, command=[])
    assert "| Laplace() | 1 | 1 | 0.99 |  | 0.95 | 2,000 |  | sampled, exact | far | consistent |" in page
    assert "| count by keys | 1 |  |  |  |  | 0 | 0.97 |  | one | consistent |" in page


def test_the_page_leads_with_what_it_could_have_caught():
    page = text(RESULTS, effort=QUICK, command=[])
    assert page.splitlines()[2].startswith("1 of 2 subjects have a check that catches their twin")
    assert "No power over: count." in page
    assert "| count | 1 |  |  |  | 0.2 | 1,000 |  |  | a row comes | no power |" in page


def test_claims_with_slack_are_listed_with_their_reason():
    loose = {**item("certificate", 0.5), "slack": 2.0, "loose": "no pair is known"}
    page = text([*RESULTS, loose], effort=QUICK, command=[])
    assert "| Laplace() | 2 | no pair is known |" in page


def test_whatever_is_wrong_is_on_top_and_on_its_line():
    wrong = {**item("sampled", 2.0, pair="a|b", verdict="refuted"), "witness": "value >= 1"}
    page = text([*RESULTS, wrong], effort=QUICK, command=[])
    assert "1 WRONG" in page
    assert page.index("## Wrong") < page.index("## Mechanisms")
    assert "a\\|b | refuted |" in page


def test_the_ladder_has_one_rung_per_subject_at_its_highest(tmp_path):
    drawn = picture(RESULTS, "mechanism", "Mechanisms")
    assert drawn.text.count("Laplace") == 1
    assert "0.99" in drawn.text
    assert "0.2" in picture(RESULTS, "statistic", "Statistics").text
    assert picture([], "mechanism", "Mechanisms") is None
    write(tmp_path / "audit.md", RESULTS, effort=QUICK, command=[])
    for name in ("mechanisms", "statistics"):
        assert f"](img/audit-{name}.svg)" in (tmp_path / "audit.md").read_text()
        assert (tmp_path / "img" / f"audit-{name}.svg").read_text().startswith("<svg")
