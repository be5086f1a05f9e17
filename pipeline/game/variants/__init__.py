"""The variants: rules as data, one TOML file a variant beside this loader.

A variant says how many packs and suits there are, how the columns start, when and where the stock deals, what moves
together (*unit*), what leaves the table (*sets*) and whether a King may be laid on an Ace (*wrap*). Nothing else in the
package knows a game by its name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from pipeline.errors import UsageError, VariantError
from pipeline.game.spelling import closest
from pipeline.game.variants.documented import Documented
from pipeline.game.variants.reading import PACK_SIZE, read_fields
from pipeline.game.variants.table import read_toml
from pipeline.game.variants.words import describe

__all__ = ["MAIN_VARIANTS", "Documented", "Variant", "load_variant", "read_variant", "variant_ids", "variants_by_id"]

MAIN_VARIANTS = ("spider-1", "spider-2", "spider-4", "grounds-for-a-divorce", "spider-relaxed", "spider-easy")
_HOME = Path(__file__).parent


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
        Sets to be removed for a win.
    numberings
        Numberings that have this game; ``native`` is always the first.
    documented
        Figures others published for it.
    """

    id: str
    name: str
    packs: int
    suits: int
    columns: tuple[int, ...]
    face_down: tuple[int, ...]
    deal: str
    unit: str
    sets: str
    wrap: bool
    sets_needed: int
    numberings: tuple[str, ...]
    documented: tuple[Documented, ...] = ()

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


def variant_ids() -> list[str]:
    """Return the ids of the variants that come with the package, the six main ones first."""
    others = sorted(path.stem for path in _HOME.glob("*.toml") if path.stem not in MAIN_VARIANTS)
    return [*MAIN_VARIANTS, *others]


@lru_cache(maxsize=256)
def load_variant(variant_id: str) -> Variant:
    """Return a variant that comes with the package.

    Raises
    ------
    UsageError
        There is none of that id.
    """
    ids = variant_ids()
    if variant_id not in ids:
        raise UsageError(f"unknown variant {variant_id!r}{closest(variant_id, ids) or '; one of: ' + ', '.join(ids)}")
    return read_variant(_HOME / f"{variant_id}.toml")


def variants_by_id(own: Iterable[Variant] = ()) -> dict[str, Variant]:
    """Return the packaged variants by id, the main ones first, and the user's own, which take the place of those."""
    return {name: load_variant(name) for name in variant_ids()} | {variant.id: variant for variant in own}


def read_variant(path: str | Path) -> Variant:
    """Return the variant of a TOML file, a user's own or one of the package's.

    Raises
    ------
    VariantError
        The file cannot be read, a key or a value in it is wrong, or it gives other rules the id of a packaged variant.
    """
    variant = Variant(**read_fields(read_toml(Path(path), "variant", VariantError), str(path)))
    packaged = _HOME / f"{variant.id}.toml"
    if packaged.exists() and not packaged.samefile(path) and load_variant(variant.id).rules_hash != variant.rules_hash:
        raise VariantError(
            f"{path}: id = {variant.id!r}: this variant comes with winnable, with other rules; choose another id"
        )
    return variant
