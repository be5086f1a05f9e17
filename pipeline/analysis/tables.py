"""The report as aligned text, Markdown and CSV."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.analysis.published import percent
from pipeline.analysis.report import Report, VariantReport, report_json
from pipeline.analysis.statistics import WinRate
from pipeline.game.numbers import write_csv

WIDTH = 100
NAMED = 5  # runs that a message names one by one
METHOD = (
    "proved: won with a replayed line, a lower bound. upper bound: unsettled deals counted as won. "
    "95% interval: Wilson, its lower end with unsettled deals as not won, its upper end with them as won."
)


@dataclass(frozen=True, slots=True)
class Section:
    """A table of strings with a title; the first `names` columns are words, the others numbers."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    names: int = 1
    note: str = ""


def sections(report: Report) -> list[Section]:
    """Lay a report out as tables narrow enough for a terminal."""
    tables = (_rates(report), _unfinished(report), _effort(report), _published(report))
    return [section for section in tables if section.rows]


def text_table(section: Section) -> str:
    """Return a section as text: words left, numbers right, two spaces between columns."""
    lines = [section.header, *section.rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(section.header))]

    def row(cells: Sequence[str]) -> str:
        aligned = [
            cell.ljust(width) if i < section.names else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join(aligned).rstrip()

    return "\n".join([row(section.header), "  ".join("-" * width for width in widths), *map(row, section.rows)])


def markdown_table(section: Section) -> str:
    """Return a section as a Markdown table."""

    def row(cells: Sequence[str]) -> str:
        return "| " + " | ".join(markdown_text(cell) for cell in cells) + " |"

    rule = "|" + "|".join("---" if i < section.names else "---:" for i in range(len(section.header))) + "|"
    return "\n".join([row(section.header), rule, *map(row, section.rows)])


def markdown_text(text: str) -> str:
    """Return a text that means nothing else in a cell of Markdown: no markup, no link, no end of the cell."""
    return re.sub(r"[|\[]|<(?=[A-Za-z/!?])", r"\\\g<0>", text)


def text_report(report: Report) -> str:
    """Return the report for a terminal."""
    parts = []
    for section in sections(report):
        parts.append(f"{section.title}\n\n{text_table(section)}")
        if section.note:
            parts[-1] += f"\n\n{textwrap.fill(section.note, WIDTH)}"
    return "\n\n\n".join(parts) + "\n"


def markdown_report(report: Report) -> str:
    """Return the report as a Markdown page."""
    parts = ["# Win rates"]
    for section in sections(report):
        parts += [f"## {section.title}", markdown_table(section), *([section.note] if section.note else [])]
    sentences = [
        f"- **{entry.label}**, {figure.documented.source}: {figure.conclusion}"
        + (f" ({figure.documented.note}.)" if figure.documented.note else "")
        for entry in report.variants
        for figure in entry.documented
    ]
    return "\n\n".join([*parts, *(["\n".join(sentences)] if sentences else [])]) + "\n"


def csv_report(report: Report) -> str:
    """Return one line per variant, with the keys of the JSON form joined by dots; nested tables are left out."""
    rows = []
    for entry in report_json(report)["variants"]:
        flat: dict[str, Any] = {}
        for key, value in entry.items():
            if key in ("documented", "searched", "unfinished_runs"):
                continue
            if key == "interval":
                flat["interval_low"], flat["interval_high"] = value
            elif isinstance(value, dict):
                flat.update({f"{key}.{inner}": number for inner, number in value.items()})
            else:
                flat[key] = value
        rows.append(flat)
    return csv_text(rows)


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows with equal keys as CSV with a header; nothing of no row."""
    out = io.StringIO()
    if rows:
        write_csv(out, rows[0], (row.values() for row in rows))
    return out.getvalue()


def number(value: float | None, digits: int = 0) -> str:
    """Return a number with thousands separators; a dash for None."""
    return "-" if value is None else f"{value:,.{digits}f}"


def limit_text(limit: int) -> str:
    """Return a node limit in short: 167k, 1M, or the number if it is not round."""
    for size, letter in ((1_000_000, "M"), (1000, "k")):
        if limit >= size and limit * 10 % size == 0:
            return f"{limit / size:,.10g}{letter}"
    return f"{limit:,}"


def _rates(report: Report) -> Section:
    missing = any(entry.sample.missing for entry in report.variants)
    header = ("variant", "deals", *(("missing",) if missing else ()), "won", "lost", "unsettled")
    header += ("proved", "upper bound", "95% interval", "limit")
    rows = []
    for entry in report.variants:
        rate = entry.rate
        rows.append(
            (
                entry.label,
                number(rate.deals),
                *((number(entry.sample.missing),) if missing else ()),
                number(rate.won),
                number(rate.lost),
                number(rate.unsettled),
                percent(rate.proved, rate.digits),
                percent(rate.upper_bound, rate.digits),
                interval_text(rate),
                number(entry.node_limit),
            )
        )
    note = METHOD + (" missing: deals without an outcome, counted as unsettled." if missing else "")
    losses = "; ".join(f"{entry.label} {losses_text(entry)}" for entry in report.variants if entry.rate.lost)
    note += f" Losses proved again, each by a checked certificate: {losses}." if losses else ""
    return Section("Win rates", header, tuple(rows), note=note)


def duration_text(seconds: float) -> str:
    """Return a duration as hours and minutes, below an hour as minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min {rest} s"


def title(name: str, numbering: str) -> str:
    """Return the name of a variant, with the numbering where it is not our own."""
    return name if numbering == "native" else f"{name} ({numbering} deals)"


def interval_text(rate: WinRate) -> str:
    """Return the interval of a rate."""
    return f"{percent(rate.interval.low, rate.digits)} to {percent(rate.interval.high, rate.digits)}"


def status_text(status: str) -> str:
    """Return how a run ended, by the status in its manifest."""
    known = {"running": "killed, or at work", "max-time": "out of time", "finished": "some deals failed"}
    return known.get(status, status)


def _unfinished(report: Report) -> Section:
    """Lay out the runs with unfinished plans; the note has the rates without these deals, and what to do."""
    entries = [entry for entry in report.variants if entry.sample.missing]
    rows = [
        (entry.label, run.id, status_text(run.status), number(run.planned), number(run.missing))
        for entry in entries
        for run in entry.sample.unfinished
    ]
    header = ("variant", "run", "ended", "planned", "missing")
    note = " ".join([*map(searched_text, entries), remedy_text(report)])
    return Section("Planned deals without an outcome", header, tuple(rows), names=3, note=note)


def searched_text(entry: VariantReport) -> str:
    """Return in words the rate over the deals with an outcome."""
    rate = entry.searched
    if not rate.deals:
        return f"{entry.label}: no deal was searched."
    return (
        f"{entry.label}: of the {number(rate.deals)} deals searched {percent(rate.proved, rate.digits)} are proved "
        f"won, upper bound {percent(rate.upper_bound, rate.digits)} (95% interval {interval_text(rate)})."
    )


def losses_text(entry: VariantReport) -> str:
    """Return how many of the lost deals were proved again."""
    return f"{number(entry.sample.losses_checked)} of {number(entry.rate.lost)}"


def remedy_text(report: Report) -> str:
    """Return in words what to do about planned deals without an outcome."""
    runs = dict.fromkeys(run.id for entry in report.variants for run in entry.sample.unfinished)
    named = " ".join(runs) if len(runs) <= NAMED else "--all"
    return (
        "The rates count missing deals as unsettled, because easy deals finish first: a rate over the others alone "
        "flatters. To settle them, give the same 'winnable run' again; to give them up, "
        f"'winnable withdraw {named}'; to report other deals, 'winnable report --seeds A:B'."
    )


def _effort(report: Report) -> Section:
    header = ("variant", *(f"<= {limit_text(limit)}" for limit in report.limits))
    header += ("mean", "median", "p90", "p99", "line", "deals/s")
    rows = []
    for entry in report.variants:
        positions, moves = entry.positions, entry.moves
        rows.append(
            (
                entry.label,
                *(number(entry.won_within[limit]) for limit in report.limits),
                *(number(getattr(positions, name, None)) for name in ("mean", "median", "p90", "p99")),
                number(moves.mean if moves else None, 1),
                number(entry.deals_per_second, 1),
            )
        )
    note = (
        "<=: deals won within that many positions. mean to p99: positions over all deals, unsettled ones at their "
        "limit. line: mean moves of a win. deals/s: deals settled per second of processor time."
    )
    if report.missing:
        note += " All but <= is of the deals searched so far; easy deals end first, so the missing ones may take more."
    return Section("Effort", header, tuple(rows), note=note)


def _published(report: Report) -> Section:
    rows = []
    for entry in report.variants:
        for figure in entry.documented:
            known = figure.documented
            rows.append(
                (
                    entry.label,
                    _shorten(known.source),
                    number(known.deals),
                    limit_text(known.node_limit) if known.node_limit else "other",
                    "-" if known.proved is None else percent(known.proved),
                    "-" if figure.ours is None else percent(figure.ours, entry.rate.digits),
                )
            )
    header = ("variant", "published by", "deals", "limit", "theirs", "ours")
    note = "ours: deals without an outcome counted as not won, so it can only rise." if report.missing else ""
    return Section("Beside published figures", header, tuple(rows), names=2, note=note)


def _shorten(source: str, most: int = 48) -> str:
    return source if len(source) <= most else source[: most - 3].rstrip(" ,") + "..."
