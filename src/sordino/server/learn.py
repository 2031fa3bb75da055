"""Pages that teach: the three sensitivities of a median, computed by the library on numbers the reader moves. No dataset is touched."""

from __future__ import annotations

import contextlib
import math
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from sordino.errors import QueryError, SordinoError
from sordino.pictures import lines
from sordino.sensitivity import position
from sordino.server.api import answer
from sordino.server.bucket import Buckets
from sordino.server.problem import problem
from sordino.server.sheet import page
from sordino.server.visit import Login, Visits

__all__ = ["lessons", "median_lesson"]

START = "18, 22, 25, 31, 38, 44, 52, 58, 63, 71, 80"
BOUNDS = (0, 100)
MOST, RUNGS = 41, 13
EVERYBODY = "everybody who learns"  # no token has such a name


def median_lesson(text: str, beta: str = "0.25") -> dict[str, Any]:
    """Global, local and smooth sensitivity of the median of these numbers, and the rungs in between."""
    try:
        values = sorted(min(max(float(part), BOUNDS[0]), BOUNDS[1]) for part in text.split(",") if part.strip())
        rate = float(beta)
    except ValueError:
        raise QueryError("SRD-103", "these are not numbers.", f"Write numbers between commas: {START}.") from None
    if not 1 <= len(values) <= MOST or not all(map(math.isfinite, values)) or not 0.01 <= rate <= 5:
        raise QueryError("SRD-103", "too many numbers, or a rate out of range.", f"Give 1 to {MOST} numbers and beta from 0.01 to 5.")
    ladder = position.median(values, bounds=BOUNDS)
    rungs = [float(rung) for rung in ladder.rungs(RUNGS)]
    discounted = [rung * math.exp(-rate * k) for k, rung in enumerate(rungs)]
    middle = values[(len(values) + 1) // 2 - 1]
    smooth = float(ladder.smooth(rate))
    ks = list(range(RUNGS))
    picture = lines({"A(x, k)": (ks, rungs), "e^(-beta k) A(x, k)": (ks, discounted), "smooth": (ks, [smooth] * RUNGS)},
                    title="How far k changes can open the gap around the median", x="k", y="sensitivity")  # fmt: skip
    facts = {"values": values, "median": middle, "global": float(ladder.top), "local": float(ladder.local()), "smooth": smooth}
    return {**facts, "beta": rate, "rungs": list(zip(ks, rungs, discounted, strict=True)), "picture": picture}


def lessons(buckets: Buckets, visits: Visits | None = None) -> APIRouter:
    """The lessons; open to everybody, and together no more often than the rate allows."""
    web = APIRouter(include_in_schema=False)

    @web.get("/learn")
    async def learn(request: Request, x: str = START, beta: str = "0.25") -> Response:
        buckets.pay(EVERYBODY)
        if visits is not None:
            with contextlib.suppress(Login, SordinoError):
                visits.of(request)
        try:
            found, wrong = median_lesson(x[:1000], beta[:20]), None
        except SordinoError as error:
            found, wrong = median_lesson(START), error
        part = "lesson.html" if request.query_params.get("part") else "learn.html"
        return page(part, request, lesson=found, problem=wrong, text=", ".join(f"{v:g}" for v in found["values"]))

    @web.get("/learn/median")
    async def median(x: str = START, beta: str = "0.25") -> Response:
        """The same numbers as JSON."""
        try:
            buckets.pay(EVERYBODY)
            found = median_lesson(x[:1000], beta[:20])
        except SordinoError as error:
            return problem(error)
        return answer({name: value for name, value in found.items() if name != "picture"})

    return web
