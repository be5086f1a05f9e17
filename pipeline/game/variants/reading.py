"""Reading the rules of a variant from its TOML file, strictly."""

from __future__ import annotations

import re
from typing import Any

from pipeline.game.variants.documented import read_documented
from pipeline.game.variants.layouts import numberings_of
from pipeline.game.variants.table import Table

PACK_SIZE = 52
DEALS = ("blocked", "all", "non-empty")
UNITS = ("suit", "colour", "any")
SETS = ("suit", "any")
COLUMNS = range(3, 17)

FIELDS = (
    "id",
    "name",
    "packs",
    "suits",
    "columns",
    "face_down",
    "deal",
    "unit",
    "sets",
    "wrap",
    "sets_needed",
    "numberings",
    "documented",
)


def read_fields(values: dict[str, Any], source: str) -> dict[str, Any]:
    """Return the checked fields of a variant, ready to make one of.

    Parameters
    ----------
    values
        The parsed TOML.
    source
        What the messages call the file.

    Raises
    ------
    VariantError
        A key or a value is wrong, or the rules make no game.
    """
    table = Table(values, source)
    table.only(FIELDS)
    variant_id = table.text("id")
    if not re.fullmatch(r"[a-z][a-z0-9-]*", variant_id):
        # Readers of partitioned data take ids such as 007, nan or 2026-01-01 for numbers and dates.
        table.fail("id", "small letters, digits and hyphens, a letter first")
    packs = table.whole("packs", 1, 4)
    suits = table.one_of("suits", (1, 2, 3, 4))
    columns, face_down = _layout(table, packs * PACK_SIZE)
    unit, sets = table.one_of("unit", UNITS, "suit"), table.one_of("sets", SETS, "suit")
    wrap = table.one_of("wrap", (False, True), False)
    if wrap and unit != "suit" and sets == "suit":
        # Such a unit would have no end: round and round through the suits.
        table.fail("unit", '"suit" where wrap is true and sets are of one suit')
    if wrap and unit != "any" and sets == "any":
        # The engine follows sets of any suits from their King, wrapped ones have none; folded suits need no such chain.
        table.fail("unit", '"any" where wrap is true and sets are of any suits')
    return {
        "id": variant_id,
        "name": table.text("name"),
        "packs": packs,
        "suits": suits,
        "columns": columns,
        "face_down": face_down,
        "deal": table.one_of("deal", DEALS),
        "unit": unit,
        "sets": sets,
        "wrap": wrap,
        "sets_needed": table.whole("sets_needed", 1, packs * 4, packs * 4),
        "numberings": _numberings(table, numberings_of(packs, suits, columns, face_down)),
        "documented": read_documented(table),
    }


def _layout(table: Table, cards: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    shape = (
        f"a list of {COLUMNS.start} to {COLUMNS.stop - 1} column sizes, left to right, {cards} cards or fewer in all"
    )
    columns = table.wholes("columns", shape)
    if len(columns) not in COLUMNS or not 0 < sum(columns) <= cards:
        table.fail("columns", shape)
    down = f"a list of {len(columns)} counts, one a column, each leaving at least the last card face up"
    face_down = table.wholes("face_down", down)
    if len(face_down) != len(columns) or any(d and d >= c for d, c in zip(face_down, columns, strict=True)):
        table.fail("face_down", down)
    return columns, face_down


def _numberings(table: Table, possible: tuple[str, ...]) -> tuple[str, ...]:
    """Read the numberings; where PySolFC's game numbers are, its Microsoft numbers are too."""
    names = table.values.get("numberings", ["native"])
    if not isinstance(names, list) or "native" not in names or not {*map(str, names)} <= {*possible}:
        others = ", ".join(f'"{name}"' for name in possible if name not in ("native", "ms"))
        table.fail("numberings", f'a list of "native" and {others}' if others else f'["native"]; {_OTHERS}')
    if "pysol" in names:
        names = [*names, "ms"]
    return tuple(name for name in possible if name in names)


_OTHERS = "PySolFC and KPat have no game of one, two or four suits with these columns and face-down cards"
