"""Slips of the notes that no mechanism hangs on, put into numbers small enough to check by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

from sordino.course.textbook.verdict import TextbookVerdict, judge
from sordino.privacy.cost import gaussian_delta
from sordino.sensitivity import exhaustive
from sordino.sensitivity.influence import planning_bound
from sordino.sensitivity.location import Location, Ramps, read_curve

__all__ = [
    "answer_without_noise",
    "deviation_bound",
    "empty_distance",
    "event_forgotten",
    "garbled_noise",
    "growing_density",
    "identical_results",
    "influence",
    "neighbours_of_rows",
    "norms",
    "one_point_deviation",
    "ridge_row",
    "ridge_solution",
    "runaway_descent",
    "sample_bound",
    "strict_smoothness",
    "tracing",
    "vanishing_beta",
]

NOTHING = (0.0, 0.0)


def _slip(where: tuple[str, str], printed: str, right: str, example: str, **numbers: Any) -> TextbookVerdict:
    """A statement without a guarantee: two numbers that should agree, or be in order."""
    return judge(where, printed, right, example, claimed=NOTHING, true=NOTHING, **{"want": "equal", "reading": "slip", **numbers})


def ridge_solution() -> TextbookVerdict:
    """One row x = 1, y = 1 and lambda = 1: the objective (theta - 1)^2 + theta^2 is least at 1/2, not at 1."""
    printed, best = Fraction(1, 1), Fraction(1, 1 + 1)
    example = f"one row, x = y = lambda = 1: the objective is 1 at theta = {printed} and 1/2 at theta = {best}"
    where = ("000", "13.1.2 ridge solution")
    return _slip(where, "(X'X)^-1 X'Y", "(X'X + lambda I)^-1 X'Y", example, compares="theta", says=float(printed), holds=float(best))


def ridge_row() -> TextbookVerdict:
    """X = I, Y = (0, 1), and a row x = (1, 0), y = 1 joins: only the first coordinate of X'X may grow; the number x'x grows both."""
    right, printed = Fraction(1, 1 + 0), Fraction(1, 1 + 1)
    example = f"X = I, Y = (0, 1), new row x = (1, 0), y = 1: theta_2 stays {right}, with x'x on the diagonal it becomes {printed}"
    where = ("000", "13.1.2 new row")
    return _slip(where, "X'X + x'x", "X'X + x x'", example, compares="theta_2", says=float(printed), holds=float(right))


def vanishing_beta() -> TextbookVerdict:
    """As beta falls to 0 the smooth sensitivity climbs to the worst case, and nothing is gained."""
    world = exhaustive(lambda x: x[1], range(4), "replace", sizes=3)
    fixed, vanished = (world.smooth((0, 0, 0), beta) for beta in (1.0, 1e-9))
    example = f"median of (0, 0, 0) in 0..3: S = {fixed:.4g} at beta 1, {vanished:.4g} at beta 1e-9, worst case {world.worst_case():g}"
    where = ("000", "13.3 beta")
    return _slip(where, "beta decreases to 0", "a fixed public beta > 0", example, compares="S", says=fixed, holds=vanished, reading="scan")


def strict_smoothness() -> TextbookVerdict:
    """A constant query has S = 0 everywhere, and 0 < e^beta 0 is false: with < not even the optimal S is smooth."""
    world = exhaustive(lambda _: 1, range(3), "replace", sizes=2)
    pairs = [(world.smooth(x, 0.5), world.smooth(y, 0.5)) for x in world.tables for y in world.neighbours(x)]
    kept = sum(s < math.exp(0.5) * other for s, other in pairs)
    example = f"a constant query, S = {max(pairs)[0]:g}: S(x) < e^beta S(y) holds for {kept} of {len(pairs)} pairs of neighbours"
    numbers = {"compares": "pairs", "says": float(len(pairs)), "holds": float(kept), "want": "above"}
    return _slip(("000", "13.3 smoothness"), "S(x) < e^beta S(y)", "S(x) <= e^beta S(y)", example, **numbers)


def growing_density() -> TextbookVerdict:
    """The mass of e^{|z|}/2 on [-t, t] is e^t - 1: no density; with the minus sign it is 1 - e^-t."""
    printed, right = math.expm1(20.0), -math.expm1(-20.0)
    example = f"mass on [-20, 20]: {printed:.3g} as printed, {right:.9f} with the minus sign"
    where = ("000", "Lemma 13.3 sign")
    return _slip(where, "h(z) = e^{+|z|}/2^d", "h(z) = e^{-|z|}/2^d", example, compares="mass", says=printed, holds=right, reading="scan")


def empty_distance(people: int = 10) -> TextbookVerdict:
    """`for all x, y such that |x - y|_1` lacks its <= 1: without it all tables are neighbours."""
    pair = math.log((0.5 + 0.25) / 0.25)
    example = f"{people} people with two coins each: the loss is {people * pair:.3f} over all pairs of tables, {pair:.3f} over neighbours"
    numbers = {"compares": "loss", "says": pair, "holds": people * pair, "want": "below"}
    return _slip(("001", "5 definition"), "for all x, y s.t. |x - y|_1", "|x - y|_1 <= 1", example, **numbers)


def norms(dimension: int = 100, epsilon: float = 1.0, delta: float = 1e-6) -> TextbookVerdict:
    """The mean of d bits per person: Laplace noise has scale d/(eps n), Gaussian noise sigma sqrt(d)/n; each has one of the rates."""
    mu, high = 0.0, 100.0
    for _ in range(100):
        middle = (mu + high) / 2
        mu, high = (middle, high) if gaussian_delta(middle, epsilon) <= delta else (mu, middle)
    laplace, gauss = math.sqrt(2) * dimension / epsilon, math.sqrt(dimension) / mu
    first = next(d for d in range(1, 10**6) if math.sqrt(d) / mu < math.sqrt(2) * d / epsilon)
    example = f"n times the root mean square at d = {dimension}: Laplace {laplace:.1f}, Gaussian {gauss:.1f}, quieter from d = {first} on"
    printed, right = "O(d/(eps n)), now O(sqrt(d ln(1/delta))/(eps n))", "the first is Laplace noise, the second Gaussian"
    return _slip(("001", "5 risk of d bits"), printed, right, example, compares="n RMSE", says=laplace, holds=gauss, want="below")


def garbled_noise(epsilon: float = 1.0, delta: float = 1e-6) -> TextbookVerdict:
    """The proof of propose-test-release draws Z from Lap(eps/delta), which passes the test half of the time; Lap(1/eps) is meant."""
    threshold = math.log(1 / delta) / epsilon
    garbled, meant = (math.exp(-threshold / scale) / 2 for scale in (epsilon / delta, 1 / epsilon))
    example = f"P(Z > ln(1/delta)/eps) is {garbled:.4f} for the printed Z ~ Lap(eps/delta), {meant:.3g} for Lap(1/eps)"
    where = ("002", "PTR symbols")
    numbers: dict[str, Any] = {"compares": "P(pass)", "says": delta, "holds": garbled, "want": "below", "reading": "scan"}
    return _slip(where, "Z ~ Lap(eps/delta)", "Z ~ Lap(1/eps)", example, **numbers)


def runaway_descent(steps: int = 20) -> TextbookVerdict:
    """rho(x - mu) falls in mu at the rate rho'(x - mu), so the step is plus: with minus a table of ones drives mu away from 1."""
    printed = right = Fraction(0)
    half = Fraction(1, 2)
    for _ in range(steps):
        printed -= max(-half, min(half, half * (1 - printed)))
        right += max(-half, min(half, half * (1 - right)))
    example = f"all rows 1, start at 0, no noise, {steps} steps: mu = {float(printed):g} as printed, {float(right):.6f} with plus"
    formulas = "mu - (eta/n) sum rho'(x - mu^(k))", "mu + (eta/n) sum rho'(x - mu^(k-1))"
    return _slip(("004", "descent, direction"), *formulas, example, compares="mu", says=float(printed), holds=float(right))


def influence(t: float = 1e-6) -> TextbookVerdict:
    """(1 - t)F + Delta_x has mass 2 - t; for the mean the quotient is x/t - mu and has no limit."""
    x, mu = 3.0, 1.0
    printed, right = ((1 - t) * mu + x - mu) / t, ((1 - t) * mu + t * x - mu) / t
    example = f"the mean, F with mean 1, x = 3, t = {t:g}: {printed:.6g} as printed, {right:.6g} with t Delta_x"
    where = ("004", "influence function")
    return _slip(where, "(1-t)F + Delta_x", "(1-t)F + t Delta_x", example, compares="IF", says=printed, holds=right)


def deviation_bound(n: int = 10**6, epsilon: float = 1.0, delta: float = 1e-6, eta: float = 0.05) -> TextbookVerdict:
    """Chaudhuri and Hsu bound S with probability over the sample. A table of zeros and Rs has LS(median) = R whatever F is."""
    beta = epsilon / (2 * math.log(2 / delta))

    def tail(size: float) -> float:
        return math.exp(-beta * (math.sqrt(size * math.log(2 / eta) / 2) - 1))

    low, high = 1e3, 1e9
    while high - low > 1:
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) > 1 / middle else (low, middle)
    example = f"a median of zeros and Rs has LS = R; at n = {n:,} the second term is {tail(n):.2g} R; it exceeds R/n up to n = {high:,.0f}"
    formulas = "SS <= max(2 Gamma/n, R exp(-beta(...)))", "a statement about samples, never an S"
    numbers: dict[str, Any] = {"compares": "LS/R", "says": tail(n), "holds": 1.0, "want": "below", "reading": "conditional"}
    return _slip(("004", "Chaudhuri-Hsu, any table"), *formulas, example, **numbers)


def sample_bound(n: int = 40_000, beta: float = 0.3, eta: float = 0.05, width: float = 20.0) -> TextbookVerdict:
    """The quantiles of the normal law are a sample like the bound has in mind: its smooth sensitivity lies below."""
    import numpy as np
    from scipy.special import ndtri

    rows, c, fine = ndtri((np.arange(n) + 0.5) / n), 1.345, 10**8
    plan = planning_bound(rows, c=c, width=width, n=n, beta=beta, eta=eta)
    cells = np.floor((rows + width / 2) * fine).astype(np.int64)
    found = Location(cells, int(width * fine), Ramps.through(*read_curve("huber"), fine)).ladder().smooth(beta) / fine
    example = f"Huber's location of {n:,} normal quantiles, R = {width:g}, beta = {beta:g}: S = {found:.3g}, the bound {plan:.3g}"
    formulas = "SS <= max(2 Gamma/n, R exp(-beta(...)))", "as printed: a plan for samples"
    return _slip(("004", "Chaudhuri-Hsu, a sample"), *formulas, example, compares="S", says=plan, holds=float(found), want="below")


def tracing(dimension: int = 1000, n: int = 100, centre: float = 10.0) -> TextbookVerdict:
    """Rows N(m, I): given the mean, scores of members and strangers are normal with variance about |mean|^2; a large m drowns their gap."""

    def auc(size: float) -> float:
        gap, spread = dimension / n, (dimension * size**2 + dimension / n) * (2 - 1 / n)
        return math.erfc(-gap / math.sqrt(2 * spread)) / 2

    example = f"{dimension} columns, {n} people: AUC {auc(0):.3f} for centred rows; {auc(centre):.3f} for entries around {centre:g}"
    formulas = "mean . X_i, rows centred", "(mean - r) . (X_i - r), r a reference mean, for any rows"
    return _slip(("004", "tracing"), *formulas, example, compares="AUC", says=0.5, holds=auc(0.0), want="above")


def answer_without_noise(scale: float = 2.0) -> TextbookVerdict:
    """The last line of the chain asks for P(f(x') in S); f(x') is no random variable, and A(x') is meant."""
    noisy = math.exp(-1 / scale) / 2
    example = f"f(x') = 0, S = [1, oo), Laplace noise of scale {scale:g}: P(f(x') in S) = 0, P(A(x') in S) = {noisy:.4f}"
    return _slip(("000", "13.3.2 last line"), "P(f(x') in S)", "P(A(x') in S)", example, compares="P", says=0.0, holds=noisy)


def event_forgotten() -> TextbookVerdict:
    """The sum runs over every y outside BAD and not over those in E, with index x' for y, and its value is set equal to a part of it."""
    whole, part = 3 * (Fraction(1, 4) + Fraction(3, 4)), 3 * Fraction(1, 4)
    example = f"two coins, eps = ln 3, E = one answer: the sum over all y is {whole}, e^eps P(A(x') in E) = {part}"
    formulas = "sum over y not in BAD = e^eps P(A(x') in E)", "over y in E and not in BAD, and <="
    return _slip(("003", "lemma, sum"), *formulas, example, compares="sum", says=float(part), holds=float(whole))


def identical_results() -> TextbookVerdict:
    """Identical results for neighbours are epsilon 0: then all tables have one law, and nothing is computed."""
    loss = math.log(0.75 / 0.25)
    example = f"two coins hide an answer and have loss {loss:.4f}; identical results would be loss 0, a constant"
    formulas = "identical results for x and x'", "laws within a factor e^eps"
    return _slip(("004", "small changes"), *formulas, example, compares="loss", says=0.0, holds=loss)


def neighbours_of_rows(kinds: int = 2, most: int = 3) -> TextbookVerdict:
    """x, x' in X are single rows; neighbours are tables, vectors of counts in N^X."""
    tables = {counts for counts in product(range(most + 1), repeat=kinds) if sum(counts) <= most}
    pairs = sum(sum(abs(a - b) for a, b in zip(x, y, strict=True)) == 1 for x in tables for y in tables) // 2
    rows = kinds * (kinds - 1) // 2
    example = f"{kinds} kinds of rows, tables of up to {most}: {rows} pair of rows, {pairs} pairs of tables a row apart"
    formulas = "for all x, x' in X", "for all x, x' in N^X"
    return _slip(("004", "definition, tables"), *formulas, example, compares="pairs", says=float(rows), holds=float(pairs))


def one_point_deviation(t: float = 0.6) -> TextbookVerdict:
    """Hoeffding bounds F_n - F at one point; the largest deviation is the inequality of Dvoretzky, Kiefer and Wolfowitz (Massart 1990)."""
    everywhere, bound = 2 * (1 - t), 2 * math.exp(-2 * t * t)
    example = f"one uniform row, deviation above {t:g}: never at the point 1/2, somewhere with {everywhere:.2f}; DKW allows {bound:.3f}"
    formulas = "Hoeffding's inequality", "the inequality of Dvoretzky, Kiefer and Wolfowitz"
    return _slip(("004", "deviation of F_n"), *formulas, example, compares="P(deviates)", says=0.0, holds=everywhere, want="below")
