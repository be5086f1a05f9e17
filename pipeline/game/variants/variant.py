"""A variant: the rules of one game as data, and how they are read from a TOML file, strictly."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Literal

from msgspec import Meta

from pipeline.game.variants.documented import Documented, Switch, Text
from pipeline.game.variants.layouts import NUMBERINGS, numberings_of
from pipeline.game.variants.table import convert, fail
from pipeline.game.variants.words import describe

PACK_SIZE = 52
_SIZES = "a list of 3 to 16 column sizes, left to right, as many cards as there are or fewer in all"
_DOWN = "a list of counts, one a column, each leaving at least the last card face up"
_OTHERS = "PySolFC and KPat have no game of one, two or four suits with these columns and face-down cards"
Size = Annotated[int, Meta(ge=0)]


@dataclass(frozen=True)
class Variant:
    """The rules of one game.

    Attributes
    ----------
    id, name
        What commands and data call it (``[a-z][a-z0-9-]*``), and what people call it.
    packs
        Packs of 52 cards, 1 to 4.
    suits
        Different suits in play: 1 (all spades), 2 (spades and hearts), 3 (clubs, hearts, and spades twice) or 4.
    columns, face_down
        Cards of each column at the start, and how many of them lie face down.
    deal
        ``"blocked"`` (one card to every column, forbidden while one is empty), ``"all"`` (to every column, empty ones
        too) or ``"non-empty"`` (to occupied columns; to the first if all are empty).
    unit
        What moves together: descending cards of one ``"suit"``, of one ``"colour"``, or of ``"any"`` suits.
    sets
        What leaves the table: King to Ace of one ``"suit"``, or of ``"any"`` suits.
    wrap
        Whether a King may be laid on an Ace; a set is then any thirteen wrapped cards.
    sets_needed
        Sets to be removed for a win; all by default.
    numberings
        Numberings that have this game; ``native`` is always the first.
    documented
        Figures others published for it.
    """

    # Readers of partitioned data take ids such as 007, nan or 2026-01-01 for numbers and dates.
    id: Annotated[
        str,
        Meta(
            pattern=r"^[a-z][a-z0-9-]*\Z",
            max_length=100,
            description="lower-case letters, digits and hyphens, a letter first",
        ),
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
    sets_needed: Annotated[int, Meta(ge=1, description="a whole number from 1 to 4 a pack")] = 0
    numberings: Annotated[tuple[str, ...], Meta(description='a list of "native" and others')] = ("native",)
    documented: tuple[Documented, ...] = ()

    def __post_init__(self) -> None:
        if self.sets_needed == 0:
            object.__setattr__(self, "sets_needed", self.packs * 4)

    @property
    def cards(self) -> int:
        """Number of cards in play."""
        return self.packs * PACK_SIZE

    @property
    def stock_size(self) -> int:
        """Number of cards in the stock at the start."""
        return self.cards - sum(self.columns)

    @cached_property
    def rules_hash(self) -> str:
        """16 hexadecimal digits that change when, and only when, the rules do."""
        rules = {field: getattr(self, field) for field in RULE_FIELDS}
        text = json.dumps(rules, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def __hash__(self) -> int:
        return hash(self.rules_hash)

    def describe(self) -> str:
        """Return the rules in words, made from the data."""
        return describe(self)


RULE_FIELDS = ("packs", "suits", "columns", "face_down", "deal", "unit", "sets", "wrap", "sets_needed")


def variant_of(values: dict[str, Any], source: str) -> Variant:
    """Return the variant of a parsed TOML file.

    Parameters
    ----------
    values
        What the file says.
    source
        What the messages call the file.

    Raises
    ------
    VariantError
        A key or a value is wrong, or the rules make no game.
    """
    figures = values.get("documented", [])
    if not isinstance(figures, list) or not all(isinstance(figure, dict) for figure in figures):
        fail(values, "documented", source, "[[documented]] tables")
    variant = convert({**values, "documented": []}, Variant, source)
    for key, allowed in _faults(variant):
        fail(values, key, source, allowed)
    named = {*variant.numberings}
    if "pysol" in named:  # where PySolFC's game numbers are, its Microsoft numbers are too
        named.add("ms")
    return replace(
        variant,
        numberings=tuple(name for name in NUMBERINGS if name in named),
        documented=tuple(_figure(figure, f"{source}: documented {i}") for i, figure in enumerate(figures, 1)),
    )


def _figure(table: dict[str, Any], source: str) -> Documented:
    figure = convert(table, Documented, source)
    counts = {key: count for key in ("won", "lost", "unsettled") if (count := getattr(figure, key)) is not None}
    if figure.deals is not None and sum(counts.values()) > figure.deals:
        fail(table, next(iter(counts)), source, f"{', '.join(counts)} that are {figure.deals} deals or fewer in all")
    return figure


def _faults(variant: Variant) -> Iterator[tuple[str, str]]:
    """Yield the keys whose values make no game with the others, and what is allowed."""
    columns, down, cards = variant.columns, variant.face_down, variant.packs * PACK_SIZE
    if not 0 < sum(columns) <= cards:
        yield "columns", f"{cards} cards or fewer in all"
    if len(down) != len(columns) or any(d and d >= c for d, c in zip(down, columns, strict=True)):
        yield "face_down", f"a list of {len(columns)} counts, one a column, each leaving at least the last card face up"
    if variant.wrap and variant.unit != "suit" and variant.sets == "suit":
        # Such a unit would have no end: round and round through the suits.
        yield "unit", '"suit" where wrap is true and sets are of one suit'
    if variant.wrap and variant.unit != "any" and variant.sets == "any":
        # The engine follows sets of any suits from their King, wrapped ones have none; folded suits need no such chain.
        yield "unit", '"any" where wrap is true and sets are of any suits'
    if not 1 <= variant.sets_needed <= variant.packs * 4:
        yield "sets_needed", f"a whole number from 1 to {variant.packs * 4}"
    possible = numberings_of(variant.packs, variant.suits, columns, down)
    if "native" not in variant.numberings or not {*variant.numberings} <= {*possible}:
        others = ", ".join(f'"{name}"' for name in possible if name not in ("native", "ms"))
        yield "numberings", f'a list of "native" and {others}' if others else f'["native"]; {_OTHERS}'
