"""Formulas as people type them, as MathML: x_{i}, e^{−t}, frac{a}{b}, sqrt{a}; everything else is letters, numbers and signs."""

from __future__ import annotations

import re
from html import escape

__all__ = ["formula"]

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
