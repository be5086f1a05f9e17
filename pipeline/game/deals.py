"""Numbered deals: a variant, a numbering and a number name the cards, ``spider-4/pysol/14934`` in one text.

The numberings are *native*, ours (see `pipeline.game.native`), and those of other programs: *pysol*, *ms* and *kpat*
(see `pipeline.game.programs`).
"""

from __future__ import annotations

import re
from typing import SupportsIndex

from pipeline.errors import UsageError
from pipeline.game.boards import Board
from pipeline.game.native import deal_native
from pipeline.game.numbers import whole_number
from pipeline.game.programs import KPAT_SEEDS, MS_SEEDS, PYSOL_SEEDS, deal_kpat, deal_ms, deal_pysol
from pipeline.game.variants import Variant, load_variant, read_variant
from pipeline.game.variants.layouts import NUMBERINGS, last_face_up

NATIVE_SEEDS = range(0, 2**63)
SEEDS = {"native": NATIVE_SEEDS, "pysol": PYSOL_SEEDS, "ms": MS_SEEDS, "kpat": KPAT_SEEDS}
# A dataset's seeds are int64.
DATASET_SEEDS = {name: range(seeds.start, min(seeds.stop, 2**63)) for name, seeds in SEEDS.items()}
_DEALERS = {"native": deal_native, "pysol": deal_pysol, "ms": deal_ms, "kpat": deal_kpat}
_NUMBER = re.compile(r"#?(ms)?([0-9]{1,30}|[0-9]{1,3}(?:[ _,.-][0-9]{3}){1,9})", re.ASCII | re.IGNORECASE)


def deal(variant: Variant | str, seed: SupportsIndex, numbering: str = "native") -> Board:
    """Return a numbered deal of a variant, or of the packaged one of that id.

    Raises
    ------
    UsageError
        The variant, the numbering or the number does not exist.
    """
    seed = whole_number("seed", seed)
    if isinstance(variant, str):
        variant = load_variant(variant)
    check_numbering(variant, numbering)
    seeds = SEEDS[numbering]
    if seed not in seeds:
        raise UsageError(f"seed {seed} is not a valid {numbering} number: expected {seeds.start} to {seeds.stop - 1}")
    columns, stock = _DEALERS[numbering](variant, seed)
    face_down = variant.face_down
    if any(face_down) and tuple(map(len, columns)) != variant.columns:  # PySolFC's long columns are others than ours
        face_down = last_face_up(map(len, columns))
    return Board(variant, numbering, seed, columns, face_down, stock, 0)


def check_numbering(variant: Variant, numbering: str) -> None:
    """Check that a variant has a numbering.

    Raises
    ------
    UsageError
        It has not; names those it has.
    """
    if numbering not in variant.numberings:
        has = ", ".join(variant.numberings)
        raise UsageError(f"{variant.id} has no numbering {numbering!r}; it has: {has}")


def read_number(text: str, numbering: str | None = None) -> tuple[str, int]:
    """Return numbering and seed of a number as people and programs write it: 14934, ``#14934``, ``ms14934``, 14,934.

    Parameters
    ----------
    text
        The number.
    numbering
        The one it is of; by default native, or ms if the number begins so.

    Raises
    ------
    UsageError
        It is not a number of that form, or begins with ms in a numbering without Microsoft numbers.
    """
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"seed {text!r:.60}: expected a number such as 14934, #14934 or, of PySolFC's, ms14934")
    if match[1]:
        if numbering not in (None, "pysol", "ms"):
            raise UsageError(f"seed {text!r}: {numbering} numbers have no ms; leave it out, or say numbering pysol")
        numbering = "ms"
    return numbering or "native", int(re.sub("[^0-9]", "", match[2]))


def is_deal_name(text: str) -> bool:
    """Whether a text is formed as a deal's name, ``VARIANT/NUMBERING/SEED``."""
    return re.fullmatch(rf'[^\n"{{}}]+/({"|".join(NUMBERINGS)})/[^/\n"{{}}]+', text, re.IGNORECASE) is not None


def named_deal(name: str) -> Board:
    """Return the deal of a name such as ``spider-4/pysol/14934`` or ``mine.toml/native/1``.

    Raises
    ------
    UsageError
        The text is not of that form, or the deal does not exist.
    VariantError
        The file of a custom variant cannot be read.
    """
    parts = name.strip().rsplit("/", 2) if isinstance(name, str) else ()
    if len(parts) != 3:
        raise UsageError(f"deal {name!r:.60}: expected VARIANT/NUMBERING/SEED, such as spider-4/pysol/14934")
    game, said, number = parts
    variant = read_variant(game) if game.endswith(".toml") else load_variant(game)
    numbering, seed = read_number(number, said.lower())
    return deal(variant, seed, numbering)
