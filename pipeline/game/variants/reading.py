"""Reading the rules of a variant from its TOML file, strictly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, structs

from pipeline.game.variants.documented import Documented, Switch, Text
from pipeline.game.variants.layouts import numberings_of
from pipeline.game.variants.table import convert, fail

PACK_SIZE = 52
_SIZES = "a list of 3 to 16 column sizes, left to right, as many cards as there are or fewer in all"
_DOWN = "a list of counts, one a column, each leaving at least the last card face up"
_OTHERS = "PySolFC and KPat have no game of one, two or four suits with these columns and face-down cards"
Size = Annotated[int, Meta(ge=0)]


class Fields(Struct):
    """The fields of a variant's file."""

    # Readers of partitioned data take ids such as 007, nan or 2026-01-01 for numbers and dates.
    id: Annotated[
        str, Meta(pattern="^[a-z][a-z0-9-]*$", description="small letters, digits and hyphens, a letter first")
    ]
    name: Text
    packs: Annotated[int, Meta(ge=1, le=4, description="a whole number from 1 to 4")]
    suits: Literal[1, 2, 3, 4]
    columns: Annotated[tuple[Size, ...], Meta(min_length=3, max_length=16, description=_SIZES)]
    face_down: Annotated[tuple[Size, ...], Meta(description=_DOWN)]
    deal: Literal["blocked", "all", "non-empty"]
    unit: Literal["suit", "colour", "any"] = "suit"
    sets: Literal["suit", "any"] = "suit"
    wrap: Switch = False
    sets_needed: Annotated[int, Meta(ge=0, description="a whole number from 1 to 4 a pack")] = 0
    numberings: Annotated[tuple[str, ...], Meta(description='a list of "native" and others')] = ("native",)
    documented: Annotated[tuple[dict[str, Any], ...], Meta(description="[[documented]] tables")] = ()


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
    fields = convert(values, Fields, source)
    if "sets_needed" not in values:
        fields.sets_needed = fields.packs * 4
    for key, allowed in _faults(fields):
        fail(values, key, source, allowed)
    possible = numberings_of(fields.packs, fields.suits, fields.columns, fields.face_down)
    named = {*fields.numberings}
    if "native" not in named or not named <= {*possible}:
        others = ", ".join(f'"{name}"' for name in possible if name not in ("native", "ms"))
        fail(values, "numberings", source, f'a list of "native" and {others}' if others else f'["native"]; {_OTHERS}')
    if "pysol" in named:  # where PySolFC's game numbers are, its Microsoft numbers are too
        named.add("ms")
    return structs.asdict(fields) | {
        "numberings": tuple(name for name in possible if name in named),
        "documented": tuple(
            convert(entry, Documented, f"{source}: documented {i}") for i, entry in enumerate(fields.documented, 1)
        ),
    }


def _faults(fields: Fields) -> Iterator[tuple[str, str]]:
    """Yield the keys whose values make no game with the others, and what is allowed."""
    columns, down, cards = fields.columns, fields.face_down, fields.packs * PACK_SIZE
    if not 0 < sum(columns) <= cards:
        yield "columns", f"{cards} cards or fewer in all"
    if len(down) != len(columns) or any(d and d >= c for d, c in zip(down, columns, strict=True)):
        yield "face_down", f"a list of {len(columns)} counts, one a column, each leaving at least the last card face up"
    if fields.wrap and fields.unit != "suit" and fields.sets == "suit":
        # Such a unit would have no end: round and round through the suits.
        yield "unit", '"suit" where wrap is true and sets are of one suit'
    if fields.wrap and fields.unit != "any" and fields.sets == "any":
        # The engine follows sets of any suits from their King, wrapped ones have none; folded suits need no such chain.
        yield "unit", '"any" where wrap is true and sets are of any suits'
    if not 1 <= fields.sets_needed <= fields.packs * 4:
        yield "sets_needed", f"a whole number from 1 to {fields.packs * 4}"
