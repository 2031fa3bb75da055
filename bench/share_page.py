"""The page of bench/share.py, from its results."""

from __future__ import annotations

from typing import Any

HEAD = """# Shared tables beside peers

Figures of `python bench/share.py {words}`, cell by cell: what this command, or a part of it (`--parts`, `--tables`), has measured before
is not measured again. The last column names the commit each line was measured on. Total variation (TV) is the mean over all columns,
pairs and triples, to the rows that were shared (80% of each table); AUC is gradient boosting trained on the made-up rows and judged by
the real rows that were held back; seconds are of the processor, beside other work on the same machine. Every line is the mean over its
seeds. All at delta 1e-6. Peers are at epsilon 1, with their own defaults; values that they answer and nobody listed count as the most
common one of their column. "round" and "sample" are two ways in which opendp makes rows of one model. Each peer may take {limit:,}
processor seconds for a table; which of them are asked, and how often, ends with the hours of the run: the quick ones (MST) first, then
the slow ones (AIM), then both again. That a table was not there in time says nothing about a peer.
"""
TITLES = "| | seeds | TV1 | TV2 | TV3 | AUC | seconds | triples covered | commit |"


def page(found: dict[str, Any], words: str, limit: int) -> str:
    """The tables of the results, with peers and why some have no figure."""
    lines = [*HEAD.format(words=words, limit=limit).splitlines(), ""]
    for name, ways in found["tables"].items():
        lines += [f"## {name}", "", TITLES, "|---" * 9 + "|", *(_line(word, figures) for word, figures in ways.items()), ""]
    big = found["large"]
    lines += ["## Many rows", "", f"A generated Parquet file of {big['rows']:,} rows and {big['columns']} columns at epsilon 1: "
              f"{big['seconds']:.0f} processor seconds, {big['clock']:.0f} on the clock, at most {big['megabytes']:,.0f} MB in memory; "
              f"mean reported TV of triples {big['tv3_reported']:.4f} (commit {big['commit']}).", ""]  # fmt: skip
    lines += ["## Not compared", ""] + [f"- {name}: {why}." for name, why in found["absent"].items()]
    lines += ["", "## Figures that are missed", ""] + ([f"- {line}" for line in found["missed"]] or ["None."])
    return "\n".join(lines) + "\n"


def _line(word: str, figures: dict[str, Any]) -> str:
    commits = ", ".join(figures["commits"]) if "commits" in figures else figures["commit"]
    if "tv3" not in figures:
        return f"| {word} | 0 | | | | | | no table: {figures['failed']} | {commits} |"
    cells = [str(figures.get("seeds", "")), *(f"{figures[f'tv{k}']:.4f}" for k in (1, 2, 3))]
    cells.append("" if figures.get("auc") is None else f"{figures['auc']:.3f}")
    cells.append(f"{figures['seconds']:.1f}" if "seconds" in figures else "")
    cells.append(f"{figures['triples_covered']:.3f}" if "triples_covered" in figures else "")
    if "failures" in figures:
        cells[-1] = f"{figures['failures']} more failed: {figures['failed']}"
    return f"| {word} | {' | '.join(cells)} | {commits} |"
