"""A small slice of the campaign, on every run of the tests; what it does when it is stopped, and when something is wrong."""

import json
import pickle
from dataclasses import replace
from fractions import Fraction

import pytest

from sordino.lab import campaign as module
from sordino.lab.campaign import ERROR, Campaign, canary_cases, main
from sordino.lab.case import QUICK, UNKNOWN, AuditCase, Effort, mechanism_cases
from sordino.mechanisms import Laplace

MECHANISMS = r"^mechanism \| (Laplace|TwoCoins|Stable|Quantile|RandomizedResponse|Exponential|Gaussian)[A-Za-z]*\("
STATISTICS = r"^statistic \| (count|sum|median|mode|histogram)(, where|, by (public|private) keys)? \|"


class Quiet(Laplace):
    @property
    def scale(self):
        return super().scale / 2


def test_a_slice_of_mechanisms_and_statistics_stands(tmp_path, capsys):
    page = tmp_path / "audit.md"
    only = f"{MECHANISMS}|{STATISTICS}|count by public keys"
    assert main(["--quick", "--only", only, "--jobs", "1", "--folder", str(tmp_path), "--page", str(page)]) == 0
    text = page.read_text()
    assert "nothing refuted" in text
    for word in ("certificate", "exact", "sampled", "replay", "one run", "Laplace", "median, by private keys", "audit-mechanisms.svg"):
        assert word in text, word
    assert (tmp_path / "img" / "audit-mechanisms.svg").read_text().startswith("<svg")
    assert "0 wrong" in capsys.readouterr().out


def test_two_processes_do_what_one_does(tmp_path):
    plan = Campaign.plan(QUICK, tmp_path, r"TwoCoins|LaplaceHistogram\(keys=\('a', 'b'\)\)")
    found = plan.run(2)
    assert [item["id"] for item in found] == [case.id for case in plan.cases]
    assert {item["verdict"] for item in found} <= {"consistent", "does not apply", "no power"}


def test_a_stopped_campaign_goes_on_where_it_stopped(tmp_path, monkeypatch, capsys):
    plan = Campaign.plan(QUICK, tmp_path, "TwoCoins")
    assert len(plan.cases) >= 4
    ran, one = [], module._one

    def stops(case, effort):
        if len(ran) == 2:
            raise KeyboardInterrupt
        ran.append(case.id)
        return one(case, effort)

    monkeypatch.setattr(module, "_one", stops)
    with pytest.raises(KeyboardInterrupt):
        plan.run(1)
    assert list(plan.done()) == ran
    with plan.file.open("a") as file:
        file.write('{"id": "cut sh')  # as a kill in the middle of a write would leave it
    monkeypatch.setattr(module, "_one", lambda case, effort: ran.append(case.id) or one(case, effort))
    found = plan.run(1)
    assert ran == [case.id for case in plan.cases] == [item["id"] for item in found]
    assert f"{len(plan.cases) - 2} of {len(plan.cases) - 2} checks" in capsys.readouterr().err


def test_another_plan_is_another_file(tmp_path):
    one = Campaign.plan(QUICK, tmp_path, "TwoCoins")
    assert Campaign.plan(QUICK, tmp_path, "TwoCoins").file == one.file
    assert Campaign.plan(replace(QUICK, seconds=1.0), tmp_path, "TwoCoins").file != one.file
    assert Campaign.plan(QUICK, tmp_path, "Laplace").file != one.file


def test_the_error_is_shared_by_all_cases_with_chance_in_them(tmp_path):
    plan = Campaign.plan(QUICK, tmp_path, "mechanism")
    risky = sum(case.method == "sampled" for case in plan.cases)
    assert plan.effort.error * risky == pytest.approx(ERROR)


def _wrong(kind, effort):
    if kind == "refuted":
        return {"verdict": "refuted", "witness": "a leak"}
    if kind == "unknown":
        return {"verdict": UNKNOWN}
    raise ZeroDivisionError("one over nothing")


@pytest.mark.parametrize("kind", ["refuted", "unknown", "broken"])
def test_whatever_is_wrong_fails_the_campaign_and_is_on_the_page(kind, tmp_path, monkeypatch, capsys):
    from functools import partial

    bad = AuditCase("mechanism", "Thing()", "1", "somebody | else", "sampled", partial(_wrong, kind))
    monkeypatch.setattr(module, "cases", lambda effort: iter([bad]))
    page = tmp_path / "audit.md"
    assert main(["--quick", "--jobs", "1", "--folder", str(tmp_path), "--page", str(page)]) == 1
    assert "## Wrong" in page.read_text()
    assert "1 wrong" in capsys.readouterr().out
    assert len(list(tmp_path.glob("*.jsonl"))) == 1


def test_a_quiet_twin_in_the_catalogue_is_refuted_by_every_method_that_can(tmp_path, monkeypatch):
    monkeypatch.setattr("sordino.lab.case.catalog", lambda: (Quiet,))
    monkeypatch.setattr(Quiet, "examples", classmethod(lambda cls: (cls(Fraction(1)),)))
    effort = Effort(seconds=0.2, most=20_000, epsilons=(Fraction(1),))
    found: dict[str, set[str]] = {}
    for case in mechanism_cases(effort):
        found.setdefault(case.method, set()).add(module._one(case, effort)["verdict"])
    assert found == {
        "certificate": {"refuted"},
        "exact": {"refuted", "does not apply"},
        "sampled": {"refuted"},
        "replay": {"consistent"},
        "pathwise": {"refuted"},
    }


def test_cases_travel_to_another_process_and_results_are_plain(tmp_path):
    plan = Campaign.plan(QUICK, tmp_path, "")
    assert len({case.id for case in plan.cases}) == len(plan.cases)
    for case in plan.cases[::25]:
        assert pickle.loads(pickle.dumps(case)).id == case.id
    assert json.dumps(module._one(plan.cases[0], QUICK))


def test_one_run_is_judged_by_whether_it_sees_twice_the_price():
    for case in canary_cases():
        found = case.run(replace(QUICK, canaries=2_000, error=1e-6))
        assert found["twin"] is True, (case.subject, found)
        assert found["verdict"] == "consistent"
    (case, *_) = canary_cases()
    assert case.run(replace(QUICK, canaries=100, error=1e-6))["verdict"] == "no power"
