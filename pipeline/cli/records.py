"""Records with equal keys as table, CSV, JSON or Markdown."""

from __future__ import annotations

from typing import Any

from pipeline.game.numbers import json_text


def table(records: list[dict[str, Any]], form: str) -> str:
    """Return records with equal keys as `table`, `csv`, `json` or `markdown`; words left, numbers right."""
    from pipeline.analysis.tables import Section, csv_text, markdown_table, text_table

    if form == "json":
        return to_json(records)
    if form == "csv":
        return csv_text(records) or "\n"
    if not records:
        return "no outcomes\n"
    names = sum(1 for value in records[0].values() if isinstance(value, str))
    rows = tuple(
        tuple("-" if v is None else f"{v:,}" if isinstance(v, int) else str(v) for v in r.values()) for r in records
    )
    section = Section("", tuple(records[0]), rows, names)
    return (markdown_table if form == "markdown" else text_table)(section) + "\n"


def to_json(value: Any) -> str:
    """Return a value as indented JSON."""
    return json_text(value, indent=2) + "\n"
