"""The course's pages, written from lessons, lectures and errata: `python -m sordino.course.writing` puts them into the package.

Formulas as people type them, as MathML: x_{i}, e^{−t}, frac{a}{b}, sqrt{a}; everything else is letters, numbers and signs.

Where the course's files lie, and how they get to a folder of one's own. Nothing is computed here.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import re
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from sordino.course.lecture import LECTURES
from sordino.course.lesson import Exercise, Knob, Lecture, Lesson
from sordino.course.lessons import LESSONS, lesson
from sordino.course.passage import PASSAGES
from sordino.course.textbook.verdict import Erratum
from sordino.errors import QueryError

__all__ = ["SITE", "export", "files", "formula", "pages"]

_TOKEN = re.compile(r"frac(?={)|sqrt(?={)|[0-9]+(?:\.[0-9]+)?|[A-Za-z]{2,}|[^\W\d_][̂′]*|\S|\s+")
NAMED = ("ln", "max", "min", "tanh", "Var", "Lap")
_SCRIPTS = {"_": "msub", "^": "msup"}


class _Reader:
    """One pass over the tokens; `{` opens a group only after ^, _, frac or sqrt, and is a sign elsewhere."""

    def __init__(self, text: str) -> None:
        self.tokens, self.at = _TOKEN.findall(text), 0

    def row(self, stop: str | None = None) -> str:
        out: list[str] = []
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.at += 1
            if token == stop:
                break
            if token in _SCRIPTS:
                base = out.pop() if out else "<mrow></mrow>"
                out.append(f"<{_SCRIPTS[token]}>{base}{self.group()}</{_SCRIPTS[token]}>")
            elif token == "frac":
                out.append(f"<mfrac>{self.group()}{self.group()}</mfrac>")
            elif token == "sqrt":
                out.append(f"<msqrt>{self.group()}</msqrt>")
            elif token == "{":
                out.append(f"<mrow><mo>{{</mo>{self.row('}')}<mo>}}</mo></mrow>")
            elif not token.isspace():
                out.append(_leaf(token))
        return "".join(out)

    def group(self) -> str:
        if self.at < len(self.tokens) and self.tokens[self.at] == "{":
            self.at += 1
            return f"<mrow>{self.row('}')}</mrow>"
        self.at += 1
        return _leaf(self.tokens[self.at - 1])


def _leaf(token: str) -> str:
    if token[0].isdigit():
        return f"<mn>{token}</mn>"
    if len(token) > 1 and token.isascii():
        return f'<mi mathvariant="normal">{token}</mi>' if token in NAMED else f"<mtext> {token} </mtext>"
    plain = ' stretchy="false"' if token in "()|⌊⌋⌈⌉" else ""  # a bracket around one line need not grow
    return f"<mi>{escape(token)}</mi>" if token[0].isalpha() else f"<mo{plain}>{escape(token)}</mo>"


def formula(text: str) -> str:
    """The formula as a MathML block, with the typed text for those who read it aloud."""
    head = f'<math xmlns="http://www.w3.org/1998/Math/MathML" display="block" alttext="{escape(text)}">'
    return f"{head}<mrow>{_Reader(text).row()}</mrow></math>"


SITE = Path(__file__).parent / "site"
KINDS = {
    ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}  # fmt: skip


def files() -> dict[str, tuple[bytes, str]]:
    """Every file of the course by name: its bytes and its media type."""
    return {file.name: (file.read_bytes(), KINDS[file.suffix]) for file in sorted(SITE.iterdir()) if file.suffix in KINDS}


def export(folder: str | Path) -> list[Path]:
    """Copy the course into a folder; its index.html opens from disk, without any server."""
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise QueryError("SRD-205", f"{place} is a file.", "Name a folder.")
    place.mkdir(parents=True, exist_ok=True)
    return [Path(shutil.copyfile(SITE / name, place / name)) for name in files()]


# what a neighbour is, on the pages without a knob for it
NEIGHBOURS = {
    "loss": "whatever two tables the laws belong to", "response": "one person’s answer is replaced",
    "dimension": "one person is added or removed; replaced, all lengths double", "delta": "one person moves the statistic by 1",
    "composition": "the same in every answer", "which": "one person is replaced", "admissible": "any two tables whose S differ by at most e^λ",
    "propose": "one person is added or removed", "outlier": "one row is added", "attacks": "one person is added or removed",
}  # fmt: skip
_STYLE = re.compile("<style>.*?</style>", re.DOTALL)


def pages() -> dict[str, str]:
    """Every page by its file name, written from lessons, lectures and errata."""
    out = {"index.html": _index()}
    out |= {f"{found.slug}.html": _lesson(found) for found in LESSONS}
    return out | {f"{found.slug}.html": _lecture(found) for found in LECTURES}


def _page(title: str, body: str, *, scripts: tuple[str, ...] = (), data: Mapping[str, Any] | None = None) -> str:
    loaded = "".join(f'<script src="{name}.js" defer></script>\n' for name in ("core", *scripts, "stage"))
    facts = "" if data is None else f' data-lesson="{escape(json.dumps(data, ensure_ascii=False), quote=True)}"'
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f'<title>{escape(title)} · Sordino</title>\n<link rel="icon" href="mute.svg" type="image/svg+xml">\n<link rel="stylesheet" href="course.css">\n{loaded}</head>\n<body>\n'
        '<a class="skip" href="#main">Skip to the content</a>\n'
        '<header><a class="name" href="index.html">Sordino · the course</a></header>\n'
        f'<main id="main" tabindex="-1"{facts}>\n{body}\n</main>\n'
        "<footer><p>Computed in your browser. Nothing is stored, and nothing leaves this page.</p></footer>\n</body>\n</html>\n"
    )


def _index() -> str:
    first = lesson("median")
    notes = "".join(
        f'<li><a href="{found.slug}.html"><strong>{escape(found.title)}</strong><span class="small">note {found.note}: {escape(found.about)}</span></a></li>\n'
        for found in LECTURES
    )
    shown = "".join(
        f'<li><a href="{found.slug}.html"><strong>{escape(found.title)}</strong><span class="small">{escape(found.about)}</span></a></li>\n'
        for found in LESSONS
    )
    return _page(
        "The course",
        "<h1>Differential privacy you can drag</h1>\n"
        f'<p>Five lectures and sixteen pictures. Start with <a href="{first.slug}.html">{escape(first.title[0].lower() + first.title[1:])}</a>.</p>\n'
        f'<h2>Lectures, in the order to read them</h2>\n<ul class="pages">\n{notes}</ul>\n<h2>Pictures</h2>\n<ul class="pages">\n{shown}</ul>',
    )


def _lesson(found: Lesson) -> str:
    data = {
        "slug": found.slug, "knobs": [_plain(knob) for knob in found.knobs], "shown": list(found.shown.items()), "words": found.words,
        "guess": {"number": found.guess.number, "ghost": found.guess.ghost},
    }  # fmt: skip
    numbers = found.at()
    where = f"Notes {', '.join(found.places)}" if found.places else ""
    index = LESSONS.index(found)
    after = f' · next: <a href="{LESSONS[index + 1].slug}.html">{escape(LESSONS[index + 1].title)}</a>' if index + 1 < len(LESSONS) else ""
    body = [
        f'<h1>{escape(found.title)}</h1>\n<p class="where">{escape(where)}</p>',
        '<section id="guess" class="card" aria-label="Guess" data-scripted hidden><div class="ask">'
        f'<form id="guess-form"><p><label for="guess-field">Guess first. {escape(found.guess.question)}</label></p>'
        '<p><input type="text" id="guess-field" inputmode="decimal" autocomplete="off"> <button>Check my guess</button> '
        '<button type="button" id="show-me" class="quiet">Show me</button></p></form></div><p id="reply" role="status"></p></section>',
        f'<form class="card knobs" aria-label="Knobs" data-scripted hidden>{"".join(map(_knob, found.knobs))}</form>',
        f'<figure><div id="picture">{_STYLE.sub("", found.picture().svg)}</div><figcaption class="hidden-sound">{escape(found.title)}</figcaption></figure>',
        '<p id="chance" hidden>Chance: <button type="button" class="quiet" id="draw-one">one draw</button> '
        '<button type="button" class="quiet" id="draw-many">200 draws</button> <button type="button" class="quiet" id="draw-law">the law alone</button></p>',
        f'<p id="words">{escape(_said(found, numbers))}</p><p id="spoken" class="hidden-sound" aria-live="polite"></p>',
        _table(found, numbers),
        _settings(found),
        f"<p><strong>What to see.</strong> {escape(found.aha)}</p>\n<p><strong>The trap.</strong> {escape(found.trap)}</p>",
        f'<h2>In symbols</h2>\n{"".join(map(formula, found.symbols))}\n<p class="small">Neighbours: {NEIGHBOURS.get(found.slug, "as the knob says")}.</p>',
        _live() if found.slug == "response" else "",
        _notes(found.errata),
        f"<h2>In Python</h2>\n{_cell(found.code, 'code')}",
        f"<h2>Exercise</h2>\n{_exercise(found.exercise, 1)}",
        f'<p class="small"><a href="index.html">all pages</a>{after}</p>',
    ]
    return _page(found.title, "\n".join(part for part in body if part), scripts=(found.slug,), data=data)


def _plain(knob: Knob) -> dict[str, Any]:
    return {name: value for name, value in asdict(knob).items() if value not in ((), None)}


def _knob(knob: Knob) -> str:
    name, label = knob.name, escape(knob.label)
    if knob.kind == "choice":
        picks = "".join(
            f'<label class="pick"><input type="radio" name="{name}" value="{value}"{" checked" if value == knob.default else ""}> {escape(word)}</label>'
            for value, word in knob.options
        )
        return f'<fieldset class="knob"><legend>{label}</legend><div class="whole">{picks}</div></fieldset>'
    if knob.kind == "switch":
        return f'<p class="knob"><label class="whole"><input type="checkbox" id="k-{name}"> {label}</label></p>'
    if knob.kind == "list":
        text = ", ".join(f"{value:g}" for value in knob.default)
        return f'<p class="knob"><label for="k-{name}">{label}</label><input type="text" class="long whole" id="k-{name}" value="{text}" autocomplete="off"></p>'
    low, high, step = knob.low, knob.high, knob.step
    if knob.kind == "log":
        low, high, step = math.log10(low), math.log10(high), 0.01
    return (
        f'<p class="knob"><label for="k-{name}">{label}</label><input type="range" id="r-{name}" aria-label="{label}, slider" min="{low:g}" max="{high:g}" step="{step:g}">'
        f'<input type="text" inputmode="decimal" id="k-{name}" value="{knob.default:g}" autocomplete="off"></p>'
    )


def _said(found: Lesson, numbers: Mapping[str, Any]) -> str:
    facts = {**found.defaults(), **numbers}
    words = {knob.name: dict(knob.options) for knob in found.knobs if knob.kind == "choice"}

    def put(match: re.Match[str]) -> str:
        name = match[1]
        return words[name][facts[name]] if name in words else _number(facts[name])

    return re.sub(r"\{(\w+)\}", put, found.words)


def _number(value: Any) -> str:
    if isinstance(value, list):
        return "  ".join(map(_number, value[:12])) + (" …" if len(value) > 12 else "")
    if isinstance(value, str):
        return value
    if value == float("inf"):
        return "∞"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _table(found: Lesson, numbers: Mapping[str, Any]) -> str:
    rows = "".join(f'<tr><th scope="row">{escape(label)}</th><td>{_number(numbers[name])}</td></tr>' for name, label in found.shown.items())
    return f'<details class="card" open><summary>The numbers</summary><div class="wide"><table id="numbers"><tbody>{rows}</tbody></table></div></details>'


def _settings(found: Lesson) -> str:
    """Five settings, computed by the library: all there is without script."""
    rows, heads = [], [name for name in found.shown if not isinstance(found.at()[name], list)][:6]
    for setting in found.settings:
        numbers = found.at(**setting)
        name = ", ".join(f"{key} {_number(value)}" for key, value in setting.items())
        rows.append(f'<tr><th scope="row">{escape(name)}</th>{"".join(f"<td>{_number(numbers[head])}</td>" for head in heads)}</tr>')
    top = "".join(f'<th scope="col">{escape(found.shown[head])}</th>' for head in heads)
    return (
        f'<details class="card"><summary>Five settings</summary><div class="wide" role="region" aria-label="Five settings" tabindex="0"><table><thead><tr><th scope="col">setting</th>{top}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div></details>"
    )


@cache
def _passage(note: str, place: str) -> Erratum:
    return next(row for row in PASSAGES if (row.note, row.place) == (note, place))


def _notes(places: tuple[tuple[str, str], ...]) -> str:
    return f"<h2>The notes</h2>\n{''.join(_erratum(*place) for place in places)}" if places else ""


def _erratum(note: str, place: str) -> str:
    row = _passage(note, place)
    word = row.verdict()
    return (
        f'<div class="card erratum"><p class="small">Note {note}, {escape(place)}</p><blockquote>“{escape(row.quote)}”</blockquote>'
        f'<p><span class="verdict {word.split()[0]}">{escape(word)}</span>. {escape(row.printed)}</p><p><strong>Right:</strong> {escape(row.right)}</p></div>\n'
    )


def _cell(code: str, name: str) -> str:
    """A few lines to copy, and what they print: run when the page is written, and again by a test."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, f"<{name}>", "exec"), {})
    return (
        f'<pre tabindex="0" aria-label="Python"><code id="{name}">{escape(code)}</code></pre>\n<p data-scripted hidden><button type="button" class="quiet copy" data-of="{name}">Copy</button></p>\n'
        f'<p class="small">It prints</p>\n<pre tabindex="0" aria-label="Output"><code class="output">{escape(printed.getvalue().rstrip())}</code></pre>'
    )


def _exercise(found: Exercise, number: int) -> str:
    room = "a whole number" if found.tolerance == 0 else f"to within ±{found.tolerance:g}"
    data = escape(json.dumps(asdict(found), ensure_ascii=False), quote=True)
    return (
        f'<form class="exercise card" data-exercise="{data}"><p><label for="x{number}">{escape(found.question)}</label></p>'
        f'<p><input type="text" id="x{number}" inputmode="decimal" autocomplete="off"> <button>Check</button> <span class="small">{room}</span></p><output role="status"></output>'
        f"<noscript><p>Answer: {_number(found.answer)}. {escape(found.why)}</p></noscript></form>\n"
    )


def _live() -> str:
    return (
        '<section id="class" class="card" hidden aria-label="A live class"><h2>With your class</h2>'
        '<div id="teacher"><p>Open a room; pupils answer on their phones. Each phone flips the two coins itself, and only the outcome leaves it.</p>'
        '<p><button type="button" id="open-room">Open a room</button> <span id="room-error" role="status"></span></p>'
        '<div id="wall" hidden><p>Room <span class="big" id="room-code"></span></p><p class="small" id="room-link"></p>'
        '<p aria-live="polite">Reports: <strong id="room-count">0</strong>, yes: <strong id="room-yes">0</strong>. Estimated share of yes: <strong id="room-estimate">–</strong></p>'
        '<p><meter id="room-bar" min="0" max="1" value="0" aria-label="Estimated share of yes"></meter></p></div></div>'
        '<div id="pupil" hidden><form id="pupil-form"><fieldset><legend>Did you ever copy homework?</legend>'
        '<p><label><input type="radio" name="truth" value="1" required> yes</label> <label><input type="radio" name="truth" value="0"> no</label></p></fieldset>'
        '<p><button>Flip the coins and send</button></p></form><p id="pupil-said" role="status"></p></div></section>'
    )


def _lecture(found: Lecture) -> str:
    body = [f'<h1>{escape(found.title)}</h1>\n<p class="where">Note {found.note}: {escape(found.about)}</p>']
    for section in found.sections:
        body.append(f"<h2>{escape(section.heading)}</h2>\n<p>{escape(section.statement)}</p>")
        if section.proof:
            body.append(f"<p><strong>Why.</strong> {escape(section.proof)}</p>")
        links = ", ".join(f'<a href="{slug}.html">{escape(lesson(slug).title)}</a>' for slug in section.lessons)
        body.append(f"<p>Play: {links}</p>" if links else "")
        body += [_erratum(found.note, place) for place in section.errata]
    first = next(slug for section in found.sections for slug in section.lessons)
    body += [
        f'<h2>A picture</h2>\n<figure>{_STYLE.sub("", lesson(first).picture().svg)}<figcaption class="small"><a href="{first}.html">{escape(lesson(first).title)}</a>, where it moves</figcaption></figure>',
        f"<h2>In Python</h2>\n{_cell(found.code, 'code')}",
        "<h2>Three exercises</h2>",
        *(_exercise(exercise, number) for number, exercise in enumerate(found.exercises, 1)),
        '<p class="small"><a href="index.html">all pages</a></p>',
    ]
    return _page(found.title, "\n".join(part for part in body if part))


if __name__ == "__main__":
    for name, text in pages().items():
        (SITE / name).write_text(text, encoding="utf-8")
        print(f"wrote {name}")
