"""Pages from templates: everything escaped, no script and no style inside, pictures drawn in place."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from sordino.errors import SordinoError
from sordino.pictures import Picture
from sordino.pictures.picture import safe
from sordino.server.problem import Refusal, facts_of, status_of
from sordino.session.view import shown

__all__ = ["HERE", "drawn", "in_words", "page", "problem_page"]

HERE = Path(__file__).parent
_HERE = re.compile(r'\b(href|action|src|hx-get)="/(?!/)')  # escaped text has no such quotes
_STYLE = re.compile("<style>.*?</style>", re.DOTALL)


def drawn(picture: Picture) -> Markup:
    """A picture inside the page: drawn twice, and the page shows the one whose words can be read in the room there is.

    Its own style is for a file of its own, and the page's policy allows none inside.
    """
    wide, narrow = (_STYLE.sub("", svg) for svg in (picture.svg, picture.narrow))
    return Markup(f'<div class="drawing"><div class="full">{wide}</div><div class="slim">{narrow}</div></div>')


def _number(value: Any) -> str:
    return "" if value is None else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


@lru_cache(1)
def _pages() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "pages"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters |= {"drawn": drawn, "number": _number, "shown": shown, "safely": lambda text: Markup(safe(text))}
    made.filters |= {"in_words": in_words, "plainly": lambda value: f"{value:.6g}"}
    return made


_WORDS = (
    (r"give twin= for rows that look like yours", "a public twin that the owner declares would look more like the rows"),
    (r"Give size= or release a count of the same rows first; for quantiles give twin= or ask with within_rank=; or give epsilon=\.",
     "Choose a price, or release a count of the same rows first; the owner can declare a size or a public twin."),
    (r"Give size=, or release a count of the same rows first\.", "Release a count of the same rows first; the owner can declare a size."),
    (r"interval=False returns it", "one number instead of an interval returns it"),
    (r"size= counts people", "the declared size counts people"),
    (r"Ask with within=, or with epsilon=\.", "Ask for an accuracy in the column's unit, or choose a price."),
    (r"\bwithin_rank=", "a share of the ranks"), (r"\bwithin=", "an accuracy"), (r"\bepsilon=", "a price"), (r"\bdelta=", "a delta"),
    (r"\btwin=", "a public twin"), (r"\bsize=", "a declared size"), (r"\binterval=\w*", "the kind of answer"),
    (r"\bbounds=", "bounds of "), (r"\b([a-z_]+)=(?=[\w\"'])", r"\1 "), (r"\b([a-z_]+)=(?=[\s.,;:)])", r"\1"),
)  # fmt: skip


def in_words(text: str) -> str:
    """What the library says to people who write Python, for people who fill in a form."""
    for pattern, words in _WORDS:
        text = re.sub(pattern, words, text)
    return text


def page(name: str, request: Request, status: int = 200, **facts: Any) -> Response:
    """One page, or a part of one. What cannot be written in UTF-8 becomes a question mark, never an error."""
    visit = request.scope.get("visit")
    common = {"person": request.scope.get("person"), "form": "" if visit is None else visit.form, "here": request.url.path}
    common["badge"] = request.scope.get("waiting", 0)
    text = _pages().get_template(name).render(**common, **facts)
    if base := request.scope.get("base"):
        text = _HERE.sub(rf'\1="{base}/', text)
    return Response(text.encode("utf-8", "replace"), status, media_type="text/html")


def problem_page(request: Request, error: SordinoError) -> Response:
    """An error for people: what happened, what to do, whether anything was spent."""
    part = request.headers.get("hx-request") == "true"
    answer = page("trouble.html" if part else "problem.html", request, status_of(error), problem=facts_of(error))
    if isinstance(error, Refusal):
        answer.headers.update(error.headers)
    return answer
