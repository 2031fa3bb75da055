"""Surveys from the command line: a page for respondents, estimates from their reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from sordino.cli.console import door
from sordino.errors import QueryError

__all__ = ["surveys"]

surveys = typer.Typer(help="Surveys by randomized response: page, estimate.", no_args_is_help=True)
Options = Annotated[str, typer.Option(help="The possible answers, separated by commas.")]
Price = Annotated[str, typer.Option(help="The price of one answer.")]
Words = Annotated[str, typer.Option(help="The question people read.")]


@surveys.command()
def page(
    file: Annotated[Path, typer.Argument(help="The HTML file to write.")],
    question: Words = "answer",
    options: Options = "yes,no",
    epsilon: Price = "1",
    send_to: Annotated[str | None, typer.Option(help="The address that takes the reports; without it they are shown to copy.")] = None,
) -> None:
    """Write a page that randomises each answer in the browser before it is sent.

    Example: sordino survey page ask.html --question "Did you ever?" --options yes,no --epsilon 1
    """
    from sordino.survey import RandomizedResponse

    survey = RandomizedResponse([option.strip() for option in options.split(",")], epsilon, question)
    survey.html(file, send_to=send_to, title=question)
    door.say(f"wrote {file}\n{survey.card.to_text()}", dict(survey.card))


@surveys.command()
def estimate(
    file: Annotated[Path, typer.Argument(help="Reports, one JSON object per line, as the page sends them.")],
    question: Words = "answer",
    options: Options = "yes,no",
    epsilon: Price = "1",
) -> None:
    """Estimate the shares of the true answers from randomised reports.

    Example: sordino survey estimate reports.jsonl --question "Did you ever?" --options yes,no --epsilon 1
    """
    from sordino.survey import RandomizedResponse

    try:
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
        reports = [line[question] if isinstance(line, dict) else line for line in lines]
    except (OSError, ValueError, KeyError) as error:
        raise QueryError("SRD-105", f"{file} holds no reports of this question ({error}).", "Give one JSON object per line.") from None
    shares = RandomizedResponse([option.strip() for option in options.split(",")], epsilon, question).estimate(reports)
    door.say(f"{shares}\n{shares.plot()}", json.loads(shares.to_json()))
