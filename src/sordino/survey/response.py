"""One survey question answered by randomized response: chance is added by the respondent, so nobody ever holds the true answers.

Estimated shares of the answers to one survey question, each with its interval.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sordino.errors import QueryError
from sordino.mechanisms.randomized_response import RandomizedResponse as Mechanism
from sordino.noise import draw
from sordino.pictures import Picture, intervals
from sordino.privacy.number import as_epsilon
from sordino.session.card import Card, odds_sentence
from sordino.summaries import Held

__all__ = ["RandomizedResponse", "Shares"]


@dataclass(frozen=True)
class Shares(Mapping[str, tuple[float, float, float]]):
    """Option -> (share, low, high). The interval of each option holds at `level` on its own, whatever the true shares are."""

    shares: Mapping[str, tuple[float, float, float]]
    reports: int
    epsilon: float
    level: float = 0.95

    def __getitem__(self, option: str) -> tuple[float, float, float]:
        return self.shares[option]

    def __iter__(self) -> Iterator[str]:
        return iter(self.shares)

    def __len__(self) -> int:
        return len(self.shares)

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns, ready for a frame."""
        value, low, high = zip(*self.shares.values(), strict=True)
        return {"option": list(self.shares), "share": list(value), "share_low": list(low), "share_high": list(high)}

    def to_json(self) -> str:
        return json.dumps({"reports": self.reports, "epsilon": self.epsilon, "level": self.level, "columns": self.to_dict()})

    def plot(self) -> Picture:
        """A dot with its interval for every option."""
        value, low, high = zip(*self.shares.values(), strict=True)
        title = f"{self.reports:,} randomised reports, epsilon {self.epsilon:g}"
        return intervals(list(self.shares), list(value), list(low), list(high), title=title, x="share")

    def __str__(self) -> str:
        wide = max(len(option) for option in self.shares)
        lines = [f"{option.rjust(wide)}  {s:6.1%}  [{a:.1%}, {b:.1%}]" for option, (s, a, b) in self.shares.items()]
        note = f"({self.reports:,} reports, epsilon {self.epsilon:g}, intervals at {self.level:.0%})"
        return "\n".join([*lines, note])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.plot()._repr_html_()


@dataclass(frozen=True)
class RandomizedResponse:
    """A question with a few public options. `randomize` runs on the respondent's side, `estimate` on the reports that arrive.

    Theorem. Whatever the report, it multiplies the odds between any two true answers by at most e^epsilon; the estimated shares are
    unbiased.
    Proof. The first is the theorem of the mechanism. A report names an option with probability q + (p - q) 1{it is the truth}, so the
    share of reports that name it has mean q + f (p - q), which is solved for f. QED
    Intervals are exact binomial ones for the reports, mapped to shares. Given the answers the reports are unequal coins, whose sum is less
    spread than the binomial of the same mean (Hoeffding 1956), so they err on the wide side.

    >>> coin = RandomizedResponse(options=["yes", "no"], epsilon=1.0)
    >>> coin.randomize("yes") in ("yes", "no")
    True
    """

    options: Sequence[str]
    epsilon: Any = Fraction(1)
    question: str = ""
    encoding: str = "direct"
    mechanism: Mechanism = field(init=False, repr=False)

    def __post_init__(self) -> None:
        options = tuple(self.options)
        if any(not isinstance(option, str) or not option.strip() for option in options) or len(set(options)) != len(options):
            raise QueryError("SRD-103", "the options are not different texts.", 'Give them as texts, such as ["yes", "no"].')
        if len(options) < 2:
            raise QueryError("SRD-103", f"there are {len(options)} options.", "Give at least two possible answers.")
        price = as_epsilon(self.epsilon)
        encoding = self.encoding if self.encoding != "auto" else self._better(price, len(options))
        for name, value in (("options", options), ("epsilon", price), ("encoding", encoding)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "mechanism", Mechanism(price, len(options), encoding))

    @staticmethod
    def _better(epsilon: Fraction, options: int) -> str:
        """The encoding with the smaller variance for a rare answer: bits win once there are many options."""
        kinds = {kind: Mechanism(epsilon, options, kind).variance(0.0, 1) for kind in ("direct", "unary")}
        return min(kinds, key=kinds.__getitem__)

    def randomize(self, answer: str) -> Any:
        """What is sent instead of the answer: an option, or one bit per option with the unary encoding."""
        if answer not in self.options:
            raise QueryError("SRD-105", f"{answer!r} is not an option.", f"Answer one of {', '.join(self.options)}.")
        report = self.mechanism.release(Held(self.options.index(answer)), draw)
        return self.options[report] if self.encoding == "direct" else report

    def estimate(self, reports: Iterable[Any], *, level: float = 0.95) -> Shares:
        """The share of every option among the true answers, with an interval."""
        if isinstance(level, bool) or not isinstance(level, float) or not 0 < level < 1:
            raise QueryError("SRD-103", f"level is {level!r}.", "Give a level between 0 and 1.")
        counts, n = self._counted(list(reports))
        from scipy.special import betaincinv

        p, q = float(self.mechanism.keep), float(self.mechanism.lie)
        tail, found = (1 - level) / 2, {}
        for option, count in zip(self.options, counts, strict=True):
            low = float(betaincinv(count, n - count + 1, tail)) if count else 0.0
            high = float(betaincinv(count + 1, n - count, 1 - tail)) if count < n else 1.0
            ends = [min(max((end - q) / (p - q), 0.0), 1.0) for end in (low, high)]
            found[option] = ((count / n - q) / (p - q), ends[0], ends[1])
        return Shares(found, n, float(self.epsilon), level)

    def _counted(self, reports: list[Any]) -> tuple[list[int], int]:
        """How many reports name each option; a report that is none is refused, since all of them came through `randomize`."""
        if not reports:
            raise QueryError("SRD-105", "there are no reports to estimate from.", "Collect at least one report.")
        for report in reports:
            bits = isinstance(report, tuple | list) and len(report) == len(self.options) and all(bit in (0, 1) for bit in report)
            if not (bits if self.encoding == "unary" else report in self.options):
                raise QueryError("SRD-105", f"{report!r} is not a report of this question.", "Give what `randomize` returned.")
        if self.encoding == "unary":
            return [sum(int(report[i]) for report in reports) for i in range(len(self.options))], len(reports)
        return [sum(report == option for report in reports) for option in self.options], len(reports)

    def within(self, respondents: int, share: float = 0.5) -> float:
        """The half-width to expect at 95% with so many respondents, before anybody is asked."""
        if isinstance(respondents, bool) or not isinstance(respondents, int) or respondents < 1:
            raise QueryError("SRD-103", f"respondents is {respondents!r}.", "Give the number of people you expect.")
        return 1.96 * math.sqrt(self.mechanism.variance(share, respondents))

    @property
    def card(self) -> Card:
        """What a respondent may be told, and a privacy office may file."""
        keep, lie = float(self.mechanism.keep), float(self.mechanism.lie)
        if self.encoding == "direct":
            how = f"your own answer is sent with probability {keep:.1%}, each other answer with probability {lie:.1%}"
        else:
            how = f"one bit per option is sent: yours is 1 with probability {keep:.1%}, each other with probability {lie:.1%}"
        return Card(
            {
                "question": self.question or "one question",
                "options": list(self.options),
                "privacy unit": "one person's answer",
                "relation": "replace",
                "this answer": {"epsilon": str(self.epsilon), "delta": "0"},
                "what happens": f"before anything leaves your device a random choice is made: {how}",
                "what that means": "whatever is sent, you can say it was chance; the answers of many people together still show the shares",
                "odds": odds_sentence(float(self.epsilon), 0.0),
                "mechanism": "RandomizedResponse",
                "theorem": self.mechanism.certificate().theorem,
                "ledger": "not charged to any ledger: nobody holds the true answers",
                "not defended": "answering twice costs twice; what your network shows about you is not hidden",
            }
        )

    def html(self, path: str | os.PathLike[str], *, send_to: str | None = None, title: str = "Survey") -> None:
        """Write one page that asks, randomises in the browser and only then sends (or shows the report to copy)."""
        from sordino.survey.questionnaire import Questionnaire

        Questionnaire({self.question or "answer": self}).html(path, send_to=send_to, title=title)
