"""The whole audit: the catalogue and every question, at several prices, between hostile neighbours, on two processes.

    python -m sordino.lab.campaign [--quick] [--only WORDS] [--jobs 2] [--seconds 0.1] [--folder build/audit] [--page docs/audit.md]

Results are appended to a file as they come: after Ctrl-C the same command goes on where it stopped. The exit code is 1 if anything was
refuted or could not be audited.

Cases of a single run: group-bys with a canary row in every key.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sordino
from sordino.lab.audit_page import write
from sordino.lab.canary import one_run
from sordino.lab.case import FULL, QUICK, UNKNOWN, AuditCase, Effort, Found, mechanism_cases, powered
from sordino.lab.finding import REFUTED, plain
from sordino.lab.question_case import question_cases
from sordino.ledger import Budget
from sordino.mechanisms import LaplaceHistogram, StableHistogram
from sordino.noise import draw
from sordino.session.table import table
from sordino.summaries import Held, Tally

__all__ = ["ERROR", "Campaign", "canary_cases", "cases", "grouped", "histogram", "main", "stable"]

Coins = NDArray[np.bool_]
ONE = Fraction(1)
SMALL = Fraction(1, 10**12)  # many canaries need a small delta: the theorem counts it once for each
FORTY = 40  # rows that are there anyway, so that no key is hidden


def canary_cases() -> Iterator[AuditCase]:
    for name, release, claim in (
        ("LaplaceHistogram", histogram, (1.0, 0.0)),
        ("StableHistogram", stable, (1.0, float(SMALL))),
        ("count by public keys", grouped, (1.0, 0.0)),
    ):
        yield AuditCase("one run", name, "1", "a canary row in every key", "one run", partial(_run, release, claim))


def _run(release: Callable[..., list[float]], claim: tuple[float, float], effort: Effort) -> Found:
    def shown(epsilon: Fraction) -> Found:
        found = one_run(partial(release, epsilon=epsilon), effort.canaries, claimed=claim, confidence=1 - effort.error)
        return {"claimed": claim, "found": found.epsilon_lower, "draws": effort.canaries, "verdict": found.verdict}

    return powered(shown(ONE), lambda: shown(2 * ONE))


def histogram(included: Coins, mechanism: Any = None, *, epsilon: Fraction = ONE) -> list[float]:
    """Counts of public keys by the mechanism itself, or by a twin of it."""
    keys = tuple(range(len(included)))
    drawn = (mechanism or LaplaceHistogram(epsilon, keys)).release(Held(_tally(included, 0)), draw)
    return [drawn[key] for key in keys]


def stable(included: Coins, *, epsilon: Fraction = ONE) -> list[float]:
    """Counts of keys nobody listed."""
    drawn = StableHistogram(epsilon, SMALL).release(Held(_tally(included, FORTY)), draw)
    return [drawn.get(key, math.nan) for key in range(len(included))]


def grouped(included: Coins, *, epsilon: Fraction = ONE) -> list[float]:
    """The whole way: a table, its ledger and engine, one release."""
    names = [f"k{i}" for i in range(len(included))]
    rows = {"key": [name for name, kept in zip(names, included, strict=True) if kept]}
    with table(rows, keys={"key": names}, budget=Budget(epsilon=epsilon), ledger=":memory:") as people:
        columns = people.group_by("key").count().release(epsilon=epsilon).to_dict()
    found = dict(zip(columns["key"], columns["count"], strict=True))
    return [found[name] for name in names]


def _tally(included: Coins, base: int) -> Tally:
    counts = included.astype(np.int64) + base
    return Tally(tuple(np.flatnonzero(counts).tolist()), counts[counts > 0])


ERROR = 1e-6  # that a true claim anywhere in a campaign is called refuted, shared equally by all cases with chance in them
BROKEN = "failed"
CHANCE = ("sampled", "one run")


def cases(effort: Effort) -> Iterator[AuditCase]:
    """Everything there is, by walking the catalogue and the statistics."""
    yield from mechanism_cases(effort)
    yield from question_cases(effort)
    yield from canary_cases()


@dataclass(frozen=True)
class Campaign:
    """A list of cases, how much is done for each, and the file that remembers what is done."""

    cases: tuple[AuditCase, ...]
    effort: Effort
    folder: Path

    @classmethod
    def plan(cls, effort: Effort, folder: Path, only: str = "") -> Campaign:
        chosen = tuple(case for case in cases(effort) if re.search(only, case.id))
        risky = sum(case.method in CHANCE for case in chosen)
        return cls(chosen, replace(effort, error=ERROR / max(risky, 1)), folder)

    @property
    def file(self) -> Path:
        """Its name follows from the cases, the effort and the code: nothing is taken over from another plan or another version."""
        words = json.dumps([repr(self.effort), [case.id for case in self.cases], _code()])
        return self.folder / f"{sha256(words.encode()).hexdigest()[:12]}.jsonl"

    def done(self) -> dict[str, dict[str, Any]]:
        if not self.file.exists():
            return {}
        lines = self.file.read_text(encoding="utf-8").splitlines(keepends=True)
        found = [json.loads(line) for line in lines if line.endswith("\n")]  # a line cut short by a kill is done again
        return {item["id"]: item for item in found}

    def run(self, jobs: int) -> list[dict[str, Any]]:
        """Whatever is not done yet; the results of all cases, in order."""
        found = self.done()
        left, wrong = [case for case in self.cases if case.id not in found], sum(map(bad, found.values()))
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.file.open("a", encoding="utf-8") as file:
            for count, item in enumerate(_results(left, self.effort, jobs), start=1):
                file.write(json.dumps(plain(item), ensure_ascii=False, allow_nan=False) + "\n")
                file.flush()
                found[item["id"]], wrong = item, wrong + bad(item)
                _say(count, len(left), wrong)
        return [found[case.id] for case in self.cases]


@cache
def _code() -> str:
    """A digest of this package's own source."""
    parts = sorted(Path(sordino.__file__).parent.rglob("*.py"))
    return sha256(b"".join(part.read_bytes() for part in parts)).hexdigest()


def bad(item: dict[str, Any]) -> bool:
    return item["verdict"] in (REFUTED, UNKNOWN, BROKEN)


def _results(left: Sequence[AuditCase], effort: Effort, jobs: int) -> Iterator[dict[str, Any]]:
    if jobs == 1:
        yield from (_one(case, effort) for case in left)
        return
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_begin)  # forked copies would share an engine
    try:
        futures = [pool.submit(_one, case, effort) for case in left]
        yield from (future.result() for future in as_completed(futures))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which stops handing out cases


def _one(case: AuditCase, effort: Effort) -> dict[str, Any]:
    start, cpu = time.perf_counter(), time.process_time()
    try:
        found = case.run(effort) or {"verdict": "does not apply"}
    except Exception as error:  # one broken case must not hide the others; it is shown, and fails the campaign
        found = {"verdict": BROKEN, "witness": f"{type(error).__name__}: {error}"[:300]}
    seconds = {"seconds": round(time.perf_counter() - start, 3), "cpu": round(time.process_time() - cpu, 3)}
    names = {"part": case.part, "subject": case.subject, "epsilon": case.epsilon, "pair": case.pair, "method": case.method}
    return {"id": case.id, **names, **found, **seconds}


_started = time.perf_counter()


def _say(done: int, planned: int, wrong: int) -> None:
    if done % 10 and done != planned:
        return
    left = (time.perf_counter() - _started) / done * (planned - done) / 60
    text = f"audit: {done:,} of {planned:,} checks, {wrong} wrong, about {left:.0f} minutes left"
    print(f"\r{text:<79}", end="\n" if done == planned else "", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m sordino.lab.campaign", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one price, one neighbour, few trials")
    parser.add_argument("--only", default="", help="cases whose name matches this pattern")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--seconds", type=float, help="time for one sampled case")
    parser.add_argument("--folder", type=Path, default=Path("build/audit"), help="where results are kept")
    parser.add_argument("--page", type=Path, help="the page to write")
    said = parser.parse_args(arguments)
    effort = QUICK if said.quick else FULL
    effort = effort if said.seconds is None else replace(effort, seconds=said.seconds)
    campaign = Campaign.plan(effort, said.folder, said.only)
    try:
        results = campaign.run(said.jobs)
    except KeyboardInterrupt:
        print("\nstopped; the same command goes on from here", file=sys.stderr)
        os._exit(130)  # workers finish their case on their own
    if said.page is not None:
        write(said.page, results, effort=campaign.effort, command=["python", "-m", "sordino.lab.campaign", *(arguments or sys.argv[1:])])
    wrong = [item for item in results if bad(item)]
    for item in wrong:
        print(f"{item['verdict']}: {item['id']}: {item.get('witness', '')}")
    print(f"{len(results):,} checks, {len(wrong)} wrong")
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())
