"""The variants: rules as data, one TOML file a variant beside this loader.

A variant says how many packs and suits there are, how the columns start, when and where the stock deals, what moves
together (*unit*), what leaves the table (*sets*) and whether a King may be laid on an Ace (*wrap*). Nothing else in the
package knows a game by its name.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from pipeline.errors import UsageError, VariantError
from pipeline.game.spelling import closest
from pipeline.game.variants.documented import Documented as Documented
from pipeline.game.variants.table import read_toml
from pipeline.game.variants.variant import RULE_FIELDS as RULE_FIELDS
from pipeline.game.variants.variant import Variant as Variant
from pipeline.game.variants.variant import variant_of as variant_of

MAIN_VARIANTS = ("spider-1", "spider-2", "spider-4", "grounds-for-a-divorce", "spider-relaxed", "spider-easy")
_HOME = Path(__file__).parent


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
    variant = variant_of(read_toml(Path(path), "variant", VariantError), str(path))
    packaged = _HOME / f"{variant.id}.toml"
    if packaged.exists() and not packaged.samefile(path) and load_variant(variant.id).rules_hash != variant.rules_hash:
        raise VariantError(
            f"{path}: id = {variant.id!r}: this variant comes with winnable, with other rules; choose another id"
        )
    return variant
