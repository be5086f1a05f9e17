"""Other programs' numbered deals: PySolFC's, by number and by Microsoft number, and KPat's.

pysol
    PySolFC's game numbers, which plspider's statistics use, 1 to 10**20. (PySolFC writes 20 digits; it has had no
    number 0 since pysol-cards checks them.) Below 32000 they are Microsoft numbers, from there on Python's own Mersenne
    Twister shuffles.
ms
    PySolFC's numbers with ``ms`` before them, Microsoft's generator whatever the number: 1 to 2**33 - 1. From 2**31 on
    it is the extension of FreeCell Pro.
kpat
    KDE KPat's, 1 to 2**31 - 1.

Sources: pysol-cards (random.py, cards.py) and PySolFC's pysollib/game; kpat's src/spider.cpp and shuffle.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from pipeline.game.cards import CLUBS, DIAMONDS, HEARTS, SPADES
from pipeline.game.native import Layout
from pipeline.game.variants import Variant
from pipeline.game.variants.layouts import pysol_order

PYSOL_SEEDS = range(1, 10**20 + 1)
MS_SEEDS = range(1, 2**33)
KPAT_SEEDS = range(1, 2**31)
PYSOL_TWISTER = 32000

Below = Callable[[int], int]  # returns a number below its argument

_PYSOL_SUITS = {4: (CLUBS, SPADES, HEARTS, DIAMONDS), 2: (CLUBS, CLUBS, HEARTS, HEARTS), 1: (CLUBS,) * 4}
_KPAT_SUITS = {
    4: (CLUBS, DIAMONDS, HEARTS, SPADES),
    3: (CLUBS, SPADES, HEARTS, SPADES),
    2: (HEARTS, SPADES, HEARTS, SPADES),
    1: (SPADES,) * 4,
}


def deal_pysol(variant: Variant, number: int) -> Layout:
    """Deal a game number of PySolFC."""
    if number < PYSOL_TWISTER:
        return deal_ms(variant, number)
    twister = random.Random(number)
    return _pysol_layout(variant, _pysol_deck(variant), lambda n: int(twister.random() * n))


def deal_ms(variant: Variant, number: int) -> Layout:
    """Deal a Microsoft number of PySolFC."""
    deck = _pysol_deck(variant)
    if variant.packs == 1:  # PySolFC takes one pack in Microsoft's order: by rank, suits C, D, H, S
        deck = [deck[13 * suit + rank] for rank in range(13) for suit in (0, 3, 2, 1)]
    return _pysol_layout(variant, deck, _microsoft_below(number))


def _pysol_deck(variant: Variant) -> list[int]:
    return [suit << 4 | rank for suit in _PYSOL_SUITS[variant.suits] for rank in range(1, 14)] * variant.packs


def _pysol_layout(variant: Variant, deck: list[int], below: Below) -> Layout:
    for i in range(len(deck) - 1, 0, -1):
        j = below(i + 1)
        deck[i], deck[j] = deck[j], deck[i]
    order = pysol_order(variant.columns)
    assert order is not None, "the variant has no such numbering"
    return _lay_out(deck[::-1], order)


def _microsoft(state: int, modulus: int, mask: int) -> Iterator[int]:
    while True:
        state = (state * 214013 + 2531011) % modulus
        yield state >> 16 & mask


def _microsoft_below(number: int) -> Below:
    """Return Microsoft's generator as PySolFC extends it to 33 bits."""
    if number < 2**32:
        outputs, high_bit = _microsoft(number, 2**33, 0x7FFF), 0 if number < 2**31 else 0x8000
        return lambda n: (next(outputs) | high_bit) % n
    outputs = _microsoft(number - 2**32, 2**33, 0xFFFF)
    return lambda n: (next(outputs) + 1) % n


def deal_kpat(variant: Variant, number: int) -> Layout:
    """Deal a game number of KPat's Spider."""
    deck = [suit << 4 | rank for rank in range(1, 14) for suit in _KPAT_SUITS[variant.suits]] * 2
    outputs = _microsoft(number, 2**32, 0x7FFF)
    for n in range(len(deck), 1, -1):
        j = next(outputs) % n
        deck[n - 1], deck[j] = deck[j], deck[n - 1]
    row = tuple(range(10))
    columns, rest = _lay_out(deck[::-1], (*row * 4, 0, 1, 2, 3, *row[4:], *row[:4]))
    piles = [rest[start : start + 10][::-1] for start in range(0, len(rest), 10)]
    return columns, tuple(card for pile in piles for card in pile)


def _lay_out(cards: list[int], order: tuple[int, ...]) -> Layout:
    columns: list[list[int]] = [[] for _ in range(max(order) + 1)]
    for column, card in zip(order, cards, strict=False):
        columns[column].append(card)
    return tuple(map(tuple, columns)), tuple(cards[len(order) :])
