"""All sequences of a kind, as bytes: for telling a unit or a set by one look-up."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from pipeline.game.cards import KING, SET_SIZE, is_red


class Sequences(NamedTuple):
    """All sequences of one kind.

    `fold` maps a card to what the kind tells apart (None: cards as they are), `all` holds the sequences so folded, of
    one to thirteen cards, bottom to top; `whole` those of thirteen.
    """

    fold: bytes | None
    all: frozenset[bytes]
    whole: frozenset[bytes]


@lru_cache
def sequences(kind: str, wrap: bool) -> Sequences:
    """Return the sequences of a kind, ``"suit"``, ``"colour"`` or ``"any"``; a King follows an Ace where they wrap."""
    fold = bytes(suit_group(kind, card >> 4 & 3) << 4 | card & 15 for card in range(256))
    ranks = [*range(KING, 0, -1)] * 2
    cards = set()
    for group in {suit_group(kind, suit) for suit in range(4)}:
        for first in range(SET_SIZE):
            for length in range(1, SET_SIZE + 1 if wrap else SET_SIZE + 1 - first):
                cards.add(bytes(group << 4 | rank for rank in ranks[first : first + length]))
    whole = frozenset(sequence for sequence in cards if len(sequence) == SET_SIZE)
    return Sequences(None if kind == "suit" else fold, frozenset(cards), whole)


def suit_group(kind: str, suit: int) -> int:
    """Return what a kind of sequence tells apart of a suit."""
    if kind == "suit":
        return suit
    return int(is_red(suit << 4)) if kind == "colour" else 0
