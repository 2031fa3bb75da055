"""What an answer is about, in one sentence computed from sealed facts: which rows, which number, what the interval covers.

It is worked out whenever an answer is shown, so that old answers say it too. A price list says the same before anything is paid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sordino.plan.query_plan import unlisted
from sordino.schema.spelling import number_text, spell
from sordino.statistics.port import LEVEL
from sordino.statistics.registry import Sealed, find

if TYPE_CHECKING:
    from sordino.session.query import Query
    from sordino.session.release import Release
    from sordino.session.settled import Settled

__all__ = ["about_plan", "about_release", "limited", "lost", "sentence"]

LONGEST = 160  # characters of a condition
MOST = 6  # statistics that are spelled out


def about_release(release: Release, kind: str = "noise") -> str:
    """The sentence of an answer, from what was sealed with it."""
    facts = release.card
    if not isinstance(facts.get("question"), Mapping):
        return ""
    if "statistics" not in facts["question"]:  # a shared table says itself what it is
        return str(facts.get("a table of nobody", ""))
    source = release.base or release  # what was computed afterwards is said at the end
    bars = {name: _bar(source, name) for name in source.names}
    if set(release.drawn) == set(release.names):  # ends that were drawn for a level and a kind
        ends = list(release.drawn.values())
        kind = "total" if all(end["kind"] == "total" for end in ends) else kind
        return sentence(facts, bars, kind, min(end["level"] for end in ends)) + _compared(release)
    return sentence(facts, bars, kind, release.level) + _compared(release)


def _compared(release: Release) -> str:
    """Values a condition compares with that are no declared key: said again with the answer, where its question is at hand."""
    return "".join(f"; {said}" for said in ([] if release.query is None else unlisted(release.query.asked)))


def _bar(release: Release, name: str) -> str:
    """What kind of bar one statistic of an answer has: ends in its unit, ranks, or none. Which columns there are is public."""
    ends = release.answers.get(f"{name}_low")
    if ends and any(end is not None for end in ends):
        return "interval"
    return "rank" if name in release.rank_bars else "none" if ends is None or ends else "interval"


def about_plan(plan: Settled, query: Query) -> str:
    """The sentence of an answer that is not paid yet, under the caller's labels."""
    names = {label: query.labels.canonical[label] for label in query.asked.statistics}
    drawn = {plan.labels[name]: name for name in plan.names}
    asked = plan.facts["question"]
    facts = {**plan.facts, "question": {**asked, "statistics": {label: asked["statistics"][name] for label, name in names.items()}}}
    steps = {label: plan.steps.get(drawn[name]) for label, name in names.items()}
    shown = {label: step for label, step in steps.items() if step is not None and (step.bar != "none" or step.said_without_bar)}
    covers = {label: step.covers for label, step in shown.items() if step.covers}
    bars = {label: _kind(plan.bar_of(drawn[name])) for label, name in names.items()}
    counted = {label for label, step in steps.items() if step is not None and step.counting is not None}
    hidden = {} if plan.plan.keys is None else {"withheld": plan.plan.keys.withheld}
    ends = [step for step in steps.values() if step is not None and step.bar == "drawn"]
    kind = "total" if len(ends) == len(steps) and all(getattr(step, "kind", "") == "total" for step in ends) else "noise"
    return sentence({**facts, "bar about": covers, **hidden, "counted": counted}, bars, kind, level=query.level)


def _kind(bar: str) -> str:
    return bar if bar in ("rank", "none") else "interval"


def sentence(facts: Mapping[str, Any], bars: Mapping[str, str], kind: str = "noise", level: float = LEVEL) -> str:
    """About which rows, which numbers, and what their bars cover. `facts` is a claim card, or what will be on it."""
    asked: Mapping[str, Any] = facts["question"]
    said = {name: _estimand(name, facts) for name in bars if name in asked["statistics"]}
    if len(said) == 1:
        numbers = next(iter(said.values()))
    else:
        shown = [f"{name.strip()} is {words}" for name, words in list(said.items())[:MOST]]
        numbers = "; ".join([*shown, *([f"{len(said) - MOST} more"] if len(said) > MOST else [])])
    done = facts.get("post-processing") or []
    parts = [f"about {_rows(facts)}: {numbers}", *_covered(facts, bars, kind, level), *([f"afterwards: {', '.join(done)}"] if done else [])]
    parts += _computed(facts)
    return "; ".join(part for part in parts if part)


def _computed(facts: Mapping[str, Any]) -> list[str]:
    """How intervals of what was computed afterwards were found, and where there are none."""
    simulated, without = facts.get("simulated"), facts.get("without interval") or {}
    said = [f"intervals of {', '.join(simulated['of'])} by {simulated['draws']:,} draws of the public noise"] if simulated else []
    return said + [f"no interval of {name} where {why}" for name, why in without.items()]


def limited(unit: Mapping[str, Any], *, groups: int | None = None, word: str = "rows", where: str = "") -> str:
    """How much of one person counts; `groups` is how many the question has, 0 without groups, None if that is private.

    Format 1 had no limit on the rows of a person in all: its `max_rows` was that of each group.
    """
    rows, many = int(unit["max_rows"]), int(unit["max_groups"])
    each = int(unit.get("max_rows_per_group", rows))
    one = f"of one {unit['unit']}{where}" + (" (a limit drawn from the rows)" if unit.get("limit drawn") else "")
    if "max_rows_per_group" not in unit:
        return f"at most {_some(rows, word)} {one}" + (f" in each of at most {_some(many, 'groups')}" if groups != 0 else "")
    if groups == 0:
        return f"at most {_some(rows, word)} {one}"
    of = f"{many} of the {groups:,} groups" if groups is not None and many < groups else _some(many, "groups")
    inside = f", {each} in each" if many > 1 and each < rows else ""
    return f"at most {_some(rows, word)} {one}, in at most {of}{inside}"


def _some(number: int, word: str) -> str:
    return f"{number:,} {word[:-1] if number == 1 and word.endswith('s') else word}"


def _word(facts: Mapping[str, Any]) -> str:
    """What a row is called: by the table's name where that is a plural of something else than the unit."""
    table, unit = str(facts["question"]["table"]), str(facts["privacy unit"]["unit"])
    return table if table.isalpha() and len(table) > 2 and table.endswith("s") and table[:-1].lower() != unit.lower() else "rows"


def _groups(facts: Mapping[str, Any]) -> int | None:
    """How many groups the question has, cells of a counted column among them; 0 without, None if their number is private."""
    asked, cells = facts["question"], 1
    known = ((said, find(said["statistic"])) for said in asked["statistics"].values())
    counted = [said["column"] for said, one in known if one is not None and one.cells]
    if not asked["by"] and not counted:
        return 0
    for name in [*asked["by"], *(counted[:1] if len(asked["statistics"]) == 1 else [])]:
        mine = (s for s in asked["statistics"].values() if s.get("column") == name and s["statistic"] == "histogram")
        said: Mapping[str, Any] = next(mine, {})
        keys = (None if name in asked["by"] else said.get("keys")) or asked["columns"].get(name, {}).get("keys")
        bins = said.get("bins")
        if name not in asked["by"] and isinstance(bins, Sequence) and not isinstance(bins, str):
            cells *= max(len(bins) - 1, 1)
        elif keys is None:
            return None
        else:
            cells *= len(keys)
    return cells


def _per_person(asked: Mapping[str, Any]) -> bool:
    """Whether its rows are people: totals inside a person, in no further groups, before anything is asked."""
    view: Mapping[str, Any] = asked.get("view") or {}
    inner: Mapping[str, Any] = view.get("of") or {}
    return "per person" in inner and not inner.get("by") and not view.get("joins")


def _rows(facts: Mapping[str, Any]) -> str:
    asked, unit, word = facts["question"], facts["privacy unit"], _word(facts)
    where = "" if asked["where"] is None else f" where {_short(_condition(asked['where']))}"
    by = f", by {', '.join(map(spell, asked['by']))}" if asked["by"] else ""
    hidden = f", {facts['withheld']}" if facts.get("withheld") else ""
    alone = asked.get("unit") is None
    if alone:
        return f"every row of {spell(str(asked['table']))}{where}{by}{hidden}"
    if _per_person(asked):
        return f"one row for each {unit['unit']}, made of their {word}{where}{by}{_beside(asked.get('view'))}{hidden}"
    return f"{limited(unit, groups=_groups(facts), word=word, where=where)}{by}{_beside(asked.get('view'))}{hidden}"


def _beside(view: Any) -> str:
    """What joins that multiply a person's rows leave out of each side."""
    most = {int(part["join_rows"]) for part in _parts(view) if "join_rows" in part}
    return f", each side of the join at most {max(most):,}" if most else ""


def _parts(view: Any) -> list[Mapping[str, Any]]:
    inner = view.values() if isinstance(view, Mapping) else view if isinstance(view, list | tuple) else ()
    return [*([view] if isinstance(view, Mapping) else []), *(part for item in inner for part in _parts(item))]


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def _condition(form: Sequence[Any]) -> str:
    """A filter's normal form in SQL words."""
    match form:
        case ["and" | "or" as word, parts]:
            inner = (f"({_condition(p)})" if p[0] in ("and", "or") else _condition(p) for p in parts)
            return f" {word.upper()} ".join(inner)
        case ["in" | "not in" as word, name, [one]]:
            return f"{spell(name)} {'=' if word == 'in' else '<>'} {_constant(one)}"
        case ["in" | "not in" as word, name, values]:
            return f"{spell(name)} {word.upper()} ({', '.join(map(_constant, values))})"
        case ["like" | "not like" as word, name, pattern]:
            return f"{spell(name)} {word.upper()} {_constant(['text', pattern])}"
        case ["null" | "not null" as word, name]:
            return f"{spell(name)} IS {word.upper()}"
        case ["columns", op, left, right]:
            return f"{spell(left)} {op} {spell(right)}"
        case [op, str(name), value] if op != "constants":
            return f"{spell(name)} {op} {_constant(value)}"
    return "the condition holds"


def _constant(said: Sequence[Any]) -> str:
    match said:
        case ["number", text]:
            return _number(text)
        case ["text", text]:
            quoted = str(text).replace("'", "''")
            return f"'{quoted}'" if quoted.isprintable() else ascii(quoted)
        case ["null"]:
            return "NULL"
        case [_, value]:
            return str(value)
    return str(said)


def _number(text: Any) -> str:
    """A bound or a constant as people write it."""
    number = Fraction(str(text))
    return f"{number.numerator:,}" if number.denominator == 1 else f"{float(number):,.6g}" if abs(number) < 10**6 else number_text(number)


def _clamped(names: Sequence[str], facts: Mapping[str, Any]) -> str:
    """What becomes of values beyond the bounds, and of rows without a value."""
    found, missing = [], []
    for name in names:
        said = facts["question"]["columns"].get(name, {})
        if (bounds := said.get("bounds")) and said.get("type") != "bool":
            ends = " and ".join(_constant(end) for end in bounds)
            found.append(f"values beyond {ends} counted as these" if len(names) == 1 else f"{spell(name)} clamped to {ends}")
        missing += [spell(name)] if said.get("nulls") == ["text", "drop"] else []
    return "".join(f", {text}" for text in [*found, *([f"rows without {' or '.join(missing)} left out"] if missing else [])])


def _estimand(name: str, facts: Mapping[str, Any]) -> str:
    """The number one statistic estimates."""
    said: Mapping[str, Any] = facts["question"]["statistics"][name]
    kind, names = said["statistic"], said.get("columns") or [n for n in (said.get("column"),) if n]
    of, clamped = " and ".join(spell(str(n)) for n in names), _clamped(names, facts)
    known = find(kind)
    if known is not None and known.about:
        return known.sentence(Sealed(name, said, of, clamped, _sets(said), facts))
    return f"{kind} of {of}" if of else str(kind)


def _sets(said: Mapping[str, Any]) -> str:
    """Several groupings at once."""
    if "sets" not in said:
        return ""
    words = [" and ".join(map(spell, names)) for names in said["sets"] if names] + (["none"] if [] in said["sets"] else [])
    return f" in groups by {', by '.join(words[:MOST])}{' and more' if len(words) > MOST else ''}, made to add up"


def _covered(facts: Mapping[str, Any], bars: Mapping[str, str], kind: str, level: float) -> list[str]:
    """What bars cover; what only some statistics have is said with their names."""
    out, words = [], "the noise and the sampling of these rows from a population" if kind == "total" else "the noise, not sampling"
    spelled = {
        "interval": f"the {100 * level:.6g}% interval covers {words}",
        "rank": "the bar is in ranks and covers the noise, not sampling",
        "none": "no interval",
    }
    for bar, text in spelled.items():
        names = [name for name, found in bars.items() if found == bar]
        if names:
            out.append(text if len(names) == len(bars) else f"{', '.join(names)}: {text}")
    covers = facts.get("bar about") or {}
    for name, what in covers.items():
        said = facts["question"]["statistics"].get(name, {})
        point = said.get("method") == "objective"
        if name in bars and (bars[name] != "none" or point) and said.get("statistic") != "mean":
            out.append(f"{f'{name}: ' if len(bars) > 1 else ''}it is {'' if point else 'about '}{what}")
    return out


def lost(facts: Mapping[str, Any], *, in_file: bool = False) -> list[str]:
    """What limits are publicly known to cut, before anything is paid."""
    unit, groups = facts["privacy unit"], _groups(facts)
    if facts["question"].get("unit") is None or not groups:
        return []
    most = min(int(unit["max_groups"]), int(unit["max_rows"]))
    if most >= groups:
        return []
    who = unit["unit"]
    return [
        f"rows are cut: one {who} counts in at most {most} of these {groups:,} groups, so {groups - most:,} of {groups:,} are lost of a "
        f"{who} who is in all of them, and groups may be counted smaller than they are. "
        f"A larger max_groups{' under [privacy]' if in_file else '='} keeps more, with more noise."
    ]
