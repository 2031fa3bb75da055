"""The analyst's verbs: preview, query, budget, card.

Releases and price lists in 80 columns: the table as it is where it fits, otherwise one record per row.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Annotated, Any

import typer

from sordino.cli.console import BUDGET, REFUSED, USAGE, door, unanswered, width
from sordino.errors import BudgetExceeded, QueryError

__all__ = ["budget", "card", "describe", "fitted", "preview", "priced", "query"]

MOST = 40  # records on a screen


def fitted(release: Any) -> str:
    """Text of a release whose rows are never broken in the middle."""
    text = str(release)
    about = [release.about] if release.about else []
    *rows, last = text.splitlines()[len(about) :]
    if all(len(row) <= width() for row in rows):
        return text
    return "\n".join([*about, *_records(release), last])


def priced(preview: Any) -> str:
    """Text of a price list whose rows are never broken in the middle."""
    lines, about = str(preview).splitlines(), 1 + bool(preview.about)
    first, lines = lines[:about], lines[about:]
    head, *body = preview._table()
    table, rest = lines[: len(body) + 1], lines[len(body) + 1 :]
    if any(len(line) > width() for line in table):
        table = ["; ".join(f"{name} {cell}" for name, cell in zip(head, row, strict=True) if cell) for row in body]
    return "\n".join([*first, *table, *rest])


def _records(release: Any) -> list[str]:
    from sordino.session.view import shown

    table = release.to_dict()
    rows = [dict(zip(table, cells, strict=True)) for cells in zip(*table.values(), strict=True)]
    ends = {name + end for name in table for end in ("_low", "_high") if name + end in table}
    keys = [name for name in table if name in release.arranged().keys]
    lines = []
    for row in rows[:MOST]:
        lines.append(", ".join(f"{key} = {shown(row[key])}" for key in keys))
        for name in table:
            if name in keys or name in ends:
                continue
            low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
            lines.append(f"  {name}: {shown(row[name])}" + ("" if low is None else f" [{shown(low)}, {shown(high)}]"))
    return [*filter(None, lines), *([f"... {len(rows) - MOST:,} more rows"] if len(rows) > MOST else [])]


Sql = Annotated[str, typer.Argument(help='A question in SQL, such as "SELECT MEDIAN(cost) FROM admissions WHERE age >= 18".')]
Within = Annotated[float | None, typer.Option(help="Half-width at 95% in the statistic's unit.")]
Rank = Annotated[float | None, typer.Option("--within-rank", help="For quantiles: a share of the rows, such as 0.01.")]
Ends = Annotated[bool | None, typer.Option("--interval/--no-interval", help="For quantiles: draw low and high, or one draw with ranks.")]
Crowd = Annotated[bool, typer.Option("--population", help="For quantiles: an interval about the population these rows are drawn from.")]
Level = Annotated[float | None, typer.Option(help="How sure the interval of a quantile is, such as 0.99.")]
CHEAP = ("0.001", "0.002", "0.005", "0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "5", "10")
Price = Annotated[str | None, typer.Option(help="The price, for experts; --within finds it for you.")]


def preview(
    sql: Sql, within: Within = None, within_rank: Rank = None, interval: Ends = None, population: Crowd = False, level: Level = None
) -> int:
    """Show what a question costs at several prices. Free; reads no rows. Exit code 3 or 2 if a wish is out of reach.

    Example: sordino preview "SELECT AVG(cost) FROM admissions" --within 100
    """
    with door.opened() as data, door.busy("predicting"):
        asked = data.sql(sql).ended("total" if population else interval, level, within_rank)
        found = asked.preview(within=within, within_rank=within_rank)
        door.say(priced(found), found.to_dict())
        return 0 if not found.problem else BUDGET if found.problem.startswith("SRD-3") else USAGE


def query(
    sql: Sql,
    within: Within = None,
    within_rank: Rank = None,
    epsilon: Price = None,
    delta: Annotated[str | None, typer.Option(help="The delta of this release; by default a hundredth of the pool.")] = None,
    mechanism: Annotated[str | None, typer.Option(help="A mechanism by name instead of the planner's choice.")] = None,
    analyst: Annotated[str | None, typer.Option(help="Whose purse pays.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before paying.")] = False,
    fresh: Annotated[bool, typer.Option(help="Pay again even if an answer is recorded.")] = False,
    interval: Ends = None,
    population: Crowd = False,
    level: Level = None,
) -> int:
    """Show the price, ask, pay, answer. The same question again costs nothing.

    Example: sordino query "SELECT COUNT(*) FROM admissions" --within 20
    """
    wishes = {"within": within, "within_rank": within_rank, "epsilon": epsilon}
    if sum(wish is not None for wish in wishes.values()) != 1:
        raise QueryError("SRD-101", "a release needs one price.", "Give --within, --within-rank or --epsilon.")
    with door.opened() as data:
        asked = data.sql(sql).ended("total" if population else interval, level, within_rank).by_mechanism(mechanism)
        options: dict[str, Any] = {"within": within, "within_rank": within_rank, "epsilon": epsilon, "delta": delta}
        free = not fresh and _recorded(asked, options)
        if not free and not yes and not _agreed(asked, options):
            door.note("nothing was spent")
            return USAGE
        try:
            with door.busy("charged; reading"):
                release = asked.release(**options, fresh=fresh, analyst=analyst)
        except BudgetExceeded as refusal:
            refusal.facts |= _left(asked)
            raise
        door.say(f"{fitted(release)}\nrelease {release.id}; {data.budget}", {**_json(release), "budget": str(data.budget)})
        return REFUSED if release.refused else 0


def describe(
    table: Annotated[str | None, typer.Argument(help="A table of the dataset; may be left out if there is one.")] = None,
    column: Annotated[list[str] | None, typer.Option(help="Only this column; may be said several times.")] = None,
    epsilon: Price = None,
    level: Annotated[float, typer.Option(help="The level of the intervals.")] = 0.95,
    analyst: Annotated[str | None, typer.Option(help="Whose purse pays.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before paying.")] = False,
) -> int:
    """What people look at first, of every column: count, means, spreads, quartiles, frequencies. Without --epsilon the price list, free.

    Example: sordino describe admissions --epsilon 0.5
    """
    with door.opened() as data:
        if table is None and len(data.tables) != 1:
            raise QueryError("SRD-201", "the dataset has several tables.", f"Name one of {', '.join(data.tables)}.")
        name = table if table is not None else next(iter(data.tables))
        if name not in data.tables:
            raise QueryError("SRD-201", f"there is no table {name!r}.", f"Name one of {', '.join(data.tables)}.")
        asked = data.tables[name].describe(column, level=level)
        if epsilon is None:
            with door.busy("predicting"):
                found = asked.preview()
            door.say(priced(found), found.to_dict())
            return 0
        options: dict[str, Any] = {"within": None, "within_rank": None, "epsilon": epsilon, "delta": None}
        if not _recorded(asked.query, options) and not yes and not _agreed(asked.query, options):
            door.note("nothing was spent")
            return USAGE
        with door.busy("charged; reading"):
            described = asked.release(epsilon=epsilon, analyst=analyst)
        door.say(f"{described}\nrelease {described.release.id}; {data.budget}", {**described.to_plain(), "budget": str(data.budget)})
        return 0


def _recorded(asked: Any, options: dict[str, Any]) -> bool:
    from sordino.privacy.number import as_epsilon

    wish = asked._wish(options["within"], options["within_rank"])
    price = None if options["epsilon"] is None else as_epsilon(options["epsilon"])
    return asked.recall(price, wish, ranks=options["within_rank"] is not None) is not None


def _agreed(asked: Any, options: dict[str, Any]) -> bool:
    """Show the line of this price and ask, on a terminal; scripts say --yes or get no question."""
    from sordino.session.preview import rounded

    price = [options["epsilon"]] if options["epsilon"] is not None else ["1"]
    found = asked.preview(epsilons=price, within=options["within"], within_rank=options["within_rank"], delta=options["delta"])
    if found.problem:
        return True  # the release itself refuses, with the right family of error
    shown = found.best or found.lines[0]
    door.note(f"price: epsilon {shown.epsilon:.4g}, {rounded(shown.charged)}% of the budget, which pays for {shown.more:,} of these")
    if door.json or not sys.stdin.isatty():
        return True
    return typer.confirm("Pay?", default=True, err=True)


def _left(asked: Any) -> dict[str, Any]:
    """What the rest of the budget still buys: the most accurate answer, and the cheapest that still says something."""
    from sordino.session.price import ceiling

    balance, (top, _) = asked.table.budget, ceiling(asked)
    door.note(f"left: {balance}")
    if top is None:
        door.note("nothing more can be bought; answers that are recorded stay free")
        return {"left": balance.left}
    best = _bought(asked, f"{float(top) * 0.9999:.4g}")
    cheap = next((line for line in (_bought(asked, price) for price in CHEAP if Fraction(price) <= top) if line and line["useful"]), None)
    for word, line in (("the most accurate you can still afford", best), ("the cheapest useful accuracy", cheap)):
        if line is not None:
            door.note(f"{word}: within {line['within']:,.4g} for epsilon {line['epsilon']:.4g}")
    return {"left": balance.left, "most_accurate": best, "cheapest_useful": cheap}


def _bought(asked: Any, epsilon: str) -> dict[str, Any] | None:
    """What one price buys; useful is an error of at most a tenth of the answer's public reach."""
    found = asked.preview(epsilons=[epsilon])
    line = found.lines[-1]
    known = max(line.forecasts, key=lambda item: item.half_width or 0.0)
    if known.half_width is None:
        return None
    reach = known.span or _reach(asked, known.name, found.facts["rows"] or line.rows)
    return {"epsilon": line.epsilon, "within": known.half_width, "useful": reach is not None and known.half_width <= reach / 10}


def _reach(asked: Any, name: str, rows: int | None) -> float | None:
    """How large a total can be by public facts: everybody counted, at the largest value."""
    statistic = asked.asked.statistics[name]
    most = 1.0
    for column in statistic.columns:
        bounds = asked.asked.columns[column].bounds
        most = max(most, *(abs(float(end)) for end in bounds or ()))
    return None if rows is None else rows * most


def _json(release: Any) -> dict[str, Any]:
    import json

    return dict(json.loads(release.to_json()), recalled=release.recalled)


def budget() -> None:
    """Show what is spent, what is left, and each analyst's purse."""
    with door.opened() as data:
        balance = data.budget
        lines = [str(balance)]
        lines += [f"  {name}: {spent:.4g}" + ("" if cap is None else f" of {cap:.4g}") for name, (spent, cap) in balance.analysts.items()]
        exact = {name: str(value) for name, value in balance.exact.items()}
        lost = [entry.id for entry in unanswered(data)]
        facts = {"spent": balance.spent, "left": balance.left, "cap": balance.cap, "naive": balance.naive, "percent": balance.percent}
        door.say("\n".join(lines), {**facts, "exact": exact, "analysts": dict(balance.analysts), "unanswered": lost})


def card(
    release: Annotated[str, typer.Argument(help="The id of a release, as `sordino ledger list` shows it.")],
    format: Annotated[str, typer.Option(help="text, md, html or json.")] = "text",
) -> None:
    """Print the claim card of a release: what was promised, about whom, by which theorem."""
    from sordino.session.encoding import split
    from sordino.session.release import Release

    writers = {"text": "to_text", "md": "to_markdown", "html": "to_html", "json": "to_json"}
    if format not in writers:
        raise QueryError("SRD-103", f"format is {format!r}.", "Use text, md, html or json.")
    with door.opened() as data:
        for entry in data.ledger.entries():
            if entry.answer is None or entry.id != release.partition(".")[0]:
                continue
            members = split(entry.answer) if entry.members else [entry.answer]
            found = [Release.from_bytes(answer) for answer in members]
            for item in found:
                if item.id == release or len(found) == 1:
                    text = getattr(item.card, writers[format])()
                    if door.json or format == "text":
                        door.say(text, dict(item.card))
                    else:
                        print(text)  # a document for others, as it is
                    return
    raise QueryError("SRD-103", f"there is no recorded release {release!r}.", "`sordino ledger list` shows them.")
