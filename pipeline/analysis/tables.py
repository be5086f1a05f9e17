"""The report as aligned text, Markdown and CSV."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.analysis.published import percent
from pipeline.analysis.report import LIMITS, Report, VariantReport, report_json

WIDTH = 100
METHOD = (
    "proved: won with a replayed line, a lower bound. upper: unsettled deals counted as won. "
    "95% interval: Wilson, its lower end with unsettled deals as not won, its upper end with them as won."
)


@dataclass(frozen=True, slots=True)
class Section:
    """A titled table of texts; the first `names` columns are words, the others numbers."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    names: int = 1
    note: str = ""


def sections(report: Report) -> list[Section]:
    """Lay a report out as tables narrow enough for a terminal."""
    return [section for section in (_rates(report), _effort(report), _published(report)) if section.rows]


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
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    rule = "|" + "|".join("---" if i < section.names else "---:" for i in range(len(section.header))) + "|"
    return "\n".join([row(section.header), rule, *map(row, section.rows)])


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
    """Return one line a variant, with the names of the JSON form joined by dots; published figures are left out."""
    out = io.StringIO()
    writer: csv.DictWriter[str] | None = None
    for entry in report_json(report)["variants"]:
        flat = {}
        for key, value in entry.items():
            if key == "documented":
                continue
            if key == "interval":
                flat["interval_low"], flat["interval_high"] = value
            elif isinstance(value, dict):
                flat.update({f"{key}.{inner}": number for inner, number in value.items()})
            else:
                flat[key] = value
        if writer is None:
            writer = csv.DictWriter(out, flat, lineterminator="\n")
            writer.writeheader()
        writer.writerow(flat)
    return out.getvalue()


def number(value: float | None, digits: int = 0) -> str:
    """Return a number with thousands separators, or a dash for none."""
    return "-" if value is None else f"{value:,.{digits}f}"


def limit_text(limit: int) -> str:
    """Return a node limit as people say it: 167k, 1M, or the number where it is not round."""
    for size, letter in ((1_000_000, "M"), (1000, "k")):
        if limit >= size and limit * 10 % size == 0:
            return f"{limit / size:,.10g}{letter}"
    return f"{limit:,}"


def _rates(report: Report) -> Section:
    missing = any(entry.sample.missing for entry in report.variants)
    header = ("variant", "deals", *(("missing",) if missing else ()), "won", "lost", "unsettled")
    header += ("proved", "upper", "95% interval", "limit")
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
                percent(rate.proved),
                percent(rate.upper_bound),
                interval_text(entry),
                number(entry.node_limit),
            )
        )
    note = METHOD + (" missing: planned but not settled, or failed; part of unsettled." if missing else "")
    return Section("Win rates", header, tuple(rows), note=note)


def interval_text(entry: VariantReport) -> str:
    """Return the 95% interval of a variant's win rate."""
    low, high = entry.rate.interval
    return f"{percent(low)} to {percent(high)}"


def _effort(report: Report) -> Section:
    header = ("variant", *(f"<= {limit_text(limit)}" for limit in LIMITS))
    header += ("mean", "median", "p90", "p99", "line", "deals/s")
    rows = []
    for entry in report.variants:
        positions, moves = entry.positions, entry.moves
        rows.append(
            (
                entry.label,
                *(number(entry.won_within[limit]) for limit in LIMITS),
                *(number(getattr(positions, name, None)) for name in ("mean", "median", "p90", "p99")),
                number(moves.mean if moves else None, 1),
                number(entry.deals_per_second, 1),
            )
        )
    note = (
        "Deals won within so many positions; positions of all deals (unsettled ones at their limit); mean moves of a "
    )
    return Section("Effort", header, tuple(rows), note=note + "won line; deals per second of one core.")


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
                    "-" if figure.ours is None else percent(figure.ours),
                )
            )
    header = ("variant", "published by", "deals", "limit", "theirs", "ours")
    return Section("Beside published figures, at the same limit", header, tuple(rows), names=2)


def _shorten(source: str, most: int = 48) -> str:
    return source if len(source) <= most else source[: most - 3].rstrip(" ,") + "..."
