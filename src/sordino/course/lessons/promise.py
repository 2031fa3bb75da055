"""Lessons about the promise: the loss of an answer, randomized response, delta, composition."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from sordino.course.lesson import Exercise, Lesson, LessonGuess, Numbers, delta_knob, epsilon_knob, number, values, whole
from sordino.mechanisms import RandomizedResponse
from sordino.pictures import lines
from sordino.privacy import Cost, GaussianLaw, compose
from sordino.privacy import loss as privacy_loss
from sordino.privacy.cost import gaussian_delta
from sordino.privacy.dilation import Dilation

__all__ = ["LESSONS", "exact_epsilon"]

LAWS = {"p": [0.4, 0.3, 0.2, 0.1], "q": [0.25, 0.25, 0.25, 0.25]}
NORMAL = 1.959963984540054
TINY = 1e-200  # below it a ratio of chances means nothing


def losses(p: list[float], q: list[float], epsilon: float) -> Numbers:
    one, other = (list(np.asarray(law) / np.sum(law)) for law in (p, q))
    there, back = privacy_loss(one, other), privacy_loss(other, one)
    return {
        "losses": [math.log(a / b) for a, b in zip(one, other, strict=True)],
        "sup": there.sup,
        "sup_back": back.sup,
        "pure": max(there.sup, back.sup),
        "delta": there.delta(epsilon),
        "delta_back": back.delta(epsilon),
        "tail": there.tail(epsilon),
    }


LOSS = Lesson(
    "loss",
    "How much does one answer give away?",
    "the privacy loss, pure and with a delta",
    (
        values("p", "weights of answers a to d on the table", LAWS["p"], 0.01, 1, 0.01, (4, 4)),
        values("q", "weights on the neighbour", LAWS["q"], 0.01, 1, 0.01, (4, 4)),
        number("epsilon", "ε", 0.3, 0, 3, 0.01),
    ),
    losses,
    {
        "losses": "loss of each answer, ln P/Q",
        "sup": "largest loss, table against neighbour",
        "sup_back": "largest loss, the other way round",
        "pure": "ε of pure privacy, both ways",
        "delta": "δ at this ε",
        "delta_back": "δ at this ε, the other way round",
        "tail": "chance that the loss exceeds ε",
    },
    LessonGuess("Answer a comes with 0.4 on the table and 0.25 beside it. How much δ is left at ε = 0.3?", "delta", (2, "y")),
    "The largest loss is {pure}, so these two laws are {pure}-private and not less. At ε {epsilon} they leave δ {delta}.",
    ("L(y) = ln frac{P(y)}{Q(y)}", "δ(ε) = ∑_{y} (P(y) − e^{ε} Q(y))_{+}"),
    "Without δ, the worst event, the worst point and the largest loss are one thing. With δ they part: only the event counts.",
    "Reading δ point by point: a hundred answers of 0.01 each that the neighbour never gives look like δ 0.01, and are δ 1.",
    """import sordino as sd
found = sd.privacy.loss([0.4, 0.3, 0.2, 0.1], [0.25] * 4)
print(f"largest loss {found.sup:.4f}")
print(f"delta at 0.3: {found.delta(0.3):.4f}")
print(f"P(loss > 0.3): {found.tail(0.3):.4f}")""",
    Exercise(
        "P = (3/4, 1/4) and Q = (1/4, 3/4), the two coins. What is the least ε at δ = 0.1?",
        0.9555114450274363,
        0.002,
        "3/4 − e^ε/4 = 0.1, so ε = ln 2.6.",
        "Only the first answer has P above e^ε Q: set 3/4 − e^ε/4 = 0.1.",
        ((math.log(3), "That is the pure ε, ln 3. With δ = 0.1 to spare a little less is enough."),),
    ),
    (("003", "lemma"), ("004", "definition")),
    "sordino.privacy.loss",
    lambda: lines(
        {"delta": (np.linspace(0, 1.5, 31).tolist(), [losses(**LAWS, epsilon=e)["delta"] for e in np.linspace(0, 1.5, 31)])},
        title="delta that is left at each epsilon", x="epsilon", y="delta",
    ),
    tuple({"epsilon": e} for e in (0.0, 0.1, 0.3, 0.5, 1.0)),
    ("001 1", "003 definitions", "004 definition"),
)  # fmt: skip


def response(epsilon: float, n: int, f: float) -> Numbers:
    coin = RandomizedResponse(Fraction(str(epsilon)))
    keep = float(coin.keep)
    sd = math.sqrt(coin.variance(f, n)) if epsilon else math.inf
    return {"keep": keep, "odds": math.exp(epsilon), "sd": sd, "half": NORMAL * sd, "yes": f * keep + (1 - f) * (1 - keep)}


RESPONSE = Lesson(
    "response",
    "Can a class of liars tell the truth?",
    "randomized response, simulated or with your class",
    (
        number("epsilon", "ε, the price of one answer", 1.0986, 0, 4, 0.0001),
        whole("n", "people", 300, 10, 3000),
        number("f", "true share of yes", 0.3, 0, 1, 0.01),
    ),
    response,
    {
        "keep": "chance that a report is the truth",
        "odds": "odds a report can shift, at most",
        "yes": "share of reports that say yes",
        "sd": "standard deviation of the estimate",
        "half": "95% of classes lie within ±",
    },
    LessonGuess("300 people flip two coins each. Within what ± of the truth is the estimate, 95 times in 100?", "half"),
    "Each report is true with chance {keep}, so it can be held against nobody; {n} of them give the share to within ±{half}.",
    ("p = frac{e^{ε}}{1 + e^{ε}}", "f̂ = frac{s − 1 + p}{2p − 1}", "Var f̂ = frac{p(1 − p)}{n (2p − 1)^{2}}"),
    "No report can be held against anyone, and the sum is nearly true.",
    "“The second mechanism is better”: at ε = ln 3 the two coins and the formula are the same mechanism.",
    """import sordino as sd
coin = sd.survey.RandomizedResponse(["yes", "no"], epsilon="1.0986")
print(f"kept with {float(coin.mechanism.keep):.4f}")
print(coin.estimate(["yes"] * 120 + ["no"] * 180))""",
    Exercise(
        "Two coins, 300 reports, 120 say yes. What share is estimated?",
        0.30,
        0.005,
        "(0.4 − 0.25)/0.5 = 0.3.",
        "The share of yes is f·3/4 + (1 − f)·1/4. Solve for f.",
        ((0.40, "That is the share of reports. A quarter of the no-sayers report yes: solve 0.4 = f·3/4 + (1 − f)·1/4."),),
    ),
    (),
    "sordino.survey.RandomizedResponse.estimate",
    lambda: lines(
        {"95% within": (list(range(50, 3001, 50)), [response(1.0986, n, 0.3)["half"] for n in range(50, 3001, 50)])},
        title="Two coins: how far the estimate may be off", x="people", y="half-width",
    ),
    tuple({"n": n} for n in (10, 30, 100, 300, 3000)),
    ("001 1.1", "001 1.2"),
)  # fmt: skip


def excess(sigma: float, epsilon: float) -> Numbers:
    mu = 1 / sigma
    tail, delta = Dilation(GaussianLaw(), mu, 0.0).loss_tail(epsilon), gaussian_delta(mu, epsilon)
    return {"mu": mu, "tail": tail, "delta": delta, "ratio": tail / delta if delta > TINY else math.inf}


DELTA = Lesson(
    "delta",
    "What is δ?",
    "the loss of Gaussian noise beyond ε",
    (number("sigma", "σ, noise of a statistic that one person moves by 1", 4.2247, 0.2, 10, 0.0001), epsilon_knob()),
    excess,
    {"mu": "μ = 1/σ", "tail": "P(loss > ε)", "delta": "δ", "ratio": "how many times P(loss > ε) is δ"},
    LessonGuess("σ = 4.2247 is exactly (1, 1e-6)-private. How often does the loss exceed 1?", "tail"),
    "The loss exceeds {epsilon} with probability {tail}, {ratio} times δ, which is {delta}: beyond ε only the excess counts.",
    ("L ∼ N(frac{μ^{2}}{2}, μ^{2}), μ = frac{1}{σ}", "δ = Φ(frac{μ}{2} − frac{ε}{μ}) − e^{ε} Φ(−frac{μ}{2} − frac{ε}{μ})"),
    "Beyond ε only the excess counts: a loss just above ε adds almost nothing to δ.",
    "“ε-private with probability 1 − δ”: the loss exceeds ε twenty times as often.",
    """import sordino as sd
law = sd.privacy.GaussianLaw()
found = sd.privacy.loss(law.at(0, 42247), law.at(10_000, 42247))
print(f"P(loss > 1) = {found.tail(1):.3e}")
print(f"delta(1) = {found.delta(1):.3e}")""",
    Exercise(
        "σ = 4.2247, ε = 1, δ = 1e-6. What is P(loss > 1)?",
        2.0098e-5,
        4e-7,
        "Φ(μ/2 − 1/μ) with μ = 0.2367.",
        "The loss is normal with mean μ²/2 and standard deviation μ = 1/σ.",
        ((1e-6, "That is δ. P(loss > ε) ≤ δ is enough for privacy, and far from necessary."),),
    ),
    (("001", "5, meaning of delta"), ("001", "5, delta below 1/n"), ("003", "lemma")),
    "sordino.privacy.loss",
    lambda: lines(
        {
            "P(loss > epsilon)": (np.linspace(0.1, 1.5, 29).tolist(), [excess(4.2247, e)["tail"] for e in np.linspace(0.1, 1.5, 29)]),
            "delta": (np.linspace(0.1, 1.5, 29).tolist(), [excess(4.2247, e)["delta"] for e in np.linspace(0.1, 1.5, 29)]),
        },
        title="Gaussian noise, sigma 4.2247", x="epsilon", y="probability", log_y=True,
    ),
    tuple({"epsilon": e} for e in (0.25, 0.5, 0.75, 1.0, 1.25)),
    ("001 5", "003 lemma"),
    {"delta": 1e-8, "ratio": 1e-8},  # the library moves delta outwards by more than its rounding
)  # fmt: skip


def exact_epsilon(e0: float, k: int, delta: float) -> float:
    """What k pure mechanisms at e0 cost at delta, at worst: k randomized responses, whose loss is a walk (Kairouz, Oh, Viswanath 2015)."""
    from scipy.optimize import brentq
    from scipy.stats import binom

    j = np.arange(k + 1)
    p, q = (binom.pmf(j, k, share) for share in (1 / (1 + math.exp(-e0)), 1 / (1 + math.exp(e0))))

    def stick(epsilon: float) -> float:
        return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum()) - delta

    return 0.0 if stick(0.0) <= 0 else float(brentq(stick, 0.0, k * e0, xtol=1e-14, rtol=1e-14))


def composed(e0: float, k: int, delta: float, cap: float) -> Numbers:
    each = [Cost.pure(str(e0))] * k
    price, most = Fraction(str(e0)), Fraction(str(cap))
    facts = {"sum": float(compose(each).epsilon), "rho": k * e0 * math.tanh(e0 / 2)}
    zcdp = min(float(compose(each, rule="zcdp", delta=delta).epsilon), facts["sum"])
    return {**facts, "zcdp": zcdp, "exact": exact_epsilon(e0, k, delta), "fit": most // price, "left": float(most - most // price * price)}


def _over_k(rule: str) -> tuple[list[int], list[Any]]:
    ks = list(range(5, 301, 5))
    return ks, [composed(0.1, k, 1e-6, 1)[rule] for k in ks]


COMPOSITION = Lesson(
    "composition",
    "How fast does privacy run out?",
    "the price of many answers",
    (
        number("e0", "ε₀, price of one answer", 0.1, 0.01, 1, 0.01),
        whole("k", "k, answers", 100, 1, 300),
        delta_knob(),
        number("cap", "cap of the ledger", 1.0, 0.1, 5, 0.1),
    ),
    composed,
    {
        "sum": "the sum kε₀",
        "rho": "ρ of zCDP",
        "zcdp": "zCDP, at δ",
        "exact": "exact, at δ",
        "fit": "answers under the cap, added up",
        "left": "left under the cap",
    },
    LessonGuess("A hundred answers at ε 0.1 each, δ one in a million. What do they cost together, exactly?", "exact", (0, "y")),
    "{k} answers at {e0} cost {sum} by adding, {zcdp} by zCDP and exactly {exact}; a cap of {cap} lets {fit} pass.",
    (
        "ρ = k ε_{0} tanh frac{ε_{0}}{2}",
        "ε = min_{α > 1} ρ α + frac{ln(1/(α δ))}{α − 1} + ln(1 − frac{1}{α})",
        "δ = ∑_{j} C(k, j) (p^{j} q^{k−j} − e^{ε} p^{k−j} q^{j})_{+}",
    ),
    "Losses cancel: at first the price grows like the root of k.",
    "Curves are for plans fixed beforehand. Whoever chooses as they go needs the filter, which adds.",
    """import sordino as sd
each = [sd.privacy.Cost.pure("0.1")] * 100
for rule in ("basic", "zcdp", "pld"):
    total = sd.privacy.compose(each, rule=rule, delta=1e-6)
    print(f"{rule}: {float(total.epsilon):.3f}")""",
    Exercise(
        "A hundred answers at ε₀ = 0.1, δ = 1e-6: the exact ε?",
        4.7746,
        0.01,
        "The walk of a hundred steps ±0.1 exceeds it, by the excess, with one in a million.",
        "Read the green curve at k = 100.",
        ((10.0, "That is the sum. Losses of a hundred coins rarely point the same way."), (5.219, "That is zCDP, close but not exact.")),
    ),
    (),
    "sordino.privacy.compose",
    lambda: lines(
        {"sum": _over_k("sum"), "zCDP": _over_k("zcdp"), "exact": _over_k("exact")},
        title="What k answers at 0.1 cost together", x="k", y="epsilon at delta 1e-6",
    ),
    tuple({"k": k} for k in (1, 10, 30, 100, 300)),
    ("003 composition", "004 properties"),
    {"zcdp": 1e-6, "exact": 1e-8},
)  # fmt: skip

LESSONS = (LOSS, RESPONSE, DELTA, COMPOSITION)
