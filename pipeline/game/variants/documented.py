"""Figures that others published for a game."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.game.variants.table import Table


@dataclass(frozen=True, slots=True)
class Documented:
    """A figure others published.

    Attributes
    ----------
    source
        Who says so.
    deals
        Deals searched; None where it is not known.
    node_limit
        Positions a deal, as they count them; None where the limit is another or none.
    proved
        Share of the deals proved winnable, 0 to 1; None where it is not known.
    won, lost, unsettled
        The counts behind it, where known.
    easier
        Whether the game that was played is easier than this one: all that is lost there is lost here.
    note
        How the rules or the numbers differ from ours.
    """

    source: str
    deals: int | None = None
    node_limit: int | None = None
    proved: float | None = None
    won: int | None = None
    lost: int | None = None
    unsettled: int | None = None
    easier: bool = False
    note: str = ""


def read_documented(table: Table) -> tuple[Documented, ...]:
    """Return the figures of a variant's file; raises VariantError."""
    entries = table.values.get("documented", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        table.fail("documented", "[[documented]] tables")
    return tuple(_figure(Table(entry, f"{table.source}: documented {i}")) for i, entry in enumerate(entries, 1))


def _figure(table: Table) -> Documented:
    table.only(("source", "deals", "node_limit", "proved", "won", "lost", "unsettled", "easier", "note"))

    def count(key: str, least: int = 0) -> int | None:
        return table.whole(key, least) if key in table.values else None

    proved = table.values.get("proved")
    if proved is not None and not (
        isinstance(proved, int | float) and not isinstance(proved, bool) and 0 <= proved <= 1
    ):
        table.fail("proved", "a rate from 0 to 1")
    return Documented(
        source=table.text("source"),
        deals=count("deals", 1),
        node_limit=count("node_limit", 1),
        proved=None if proved is None else float(proved),
        won=count("won"),
        lost=count("lost"),
        unsettled=count("unsettled"),
        easier=table.one_of("easier", (False, True), False),
        note=table.text("note", ""),
    )
