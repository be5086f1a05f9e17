"""Numbered deals: how a number becomes a deal, in three numberings.

native
    Ours, for every variant; numbers 0 to 2**63 - 1. It can be rebuilt in any language:

    1. *Generator.* SplitMix64, its 64-bit state starting as the number itself. Each step first adds 0x9E3779B97F4A7C15
       to the state, then outputs ``z``: ``z = state``, ``z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9``,
       ``z = (z ^ z >> 27) * 0x94D049BB133111EB``, ``z = z ^ z >> 31``, all modulo 2**64 (a shift binds tighter than
       ``^``). Each output gives two 32-bit draws, its high half first.
    2. *Bounded number.* A number below n without bias (Lemire's method): ``m = draw * n``; while
       ``m % 2**32 < 2**32 % n``, take the next draw and multiply anew; the number is ``m >> 32``.
    3. *Deck.* The packs one after another; in each the suits C, D, H, S; in each the ranks Ace to King.
    4. *Shuffle.* Fisher and Yates from the last card down: for i from the last index to 1, swap card i with card j,
       j a bounded number below i + 1.
    5. *Suits.* Only now are suits folded: with two suits C becomes S and D becomes H, with one suit all become S. So
       the same number gives the same ranks in the same places for variants of as many cards.
    6. *Dealing.* The list fills the columns one after another, the first column first, each bottom to top; what is
       left is the stock, in deal order.

pysol
    PySolFC's, which plspider's statistics use; numbers 0 to 2**63 - 1. Below 32000 the generator is Microsoft's, from
    32000 on it is Python's own Mersenne Twister.
kpat
    KDE KPat's; numbers 1 to 2**31 - 1.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import accumulate, count

from pipeline.errors import UsageError
from pipeline.game.boards import Board
from pipeline.game.variants import Variant
from pipeline.game.variants.reading import SPIDER_LAYOUT

NATIVE_SEEDS = range(0, 2**63)
PYSOL_SEEDS = range(0, 2**63)
KPAT_SEEDS = range(1, 2**31)
PYSOL_TWISTER = 32000

C, D, H, S = range(4)
_FOLD_TWO = bytes((S if card >> 4 in (C, S) else H) << 4 | card & 15 for card in range(256))
_FOLD_ONE = bytes(S << 4 | card & 15 for card in range(256))


def deal(variant: Variant, seed: int, numbering: str = "native") -> Board:
    """Return a numbered deal.

    Raises
    ------
    UsageError
        The variant has no such numbering, or the numbering no such number.
    """
    if numbering not in variant.numberings:
        has = ", ".join(variant.numberings)
        raise UsageError(f"{variant.id} has no numbering {numbering!r}; it has: {has}")
    seeds = SEEDS[numbering]
    if seed not in seeds:
        raise UsageError(f"seed {seed} is no {numbering} number; they go from {seeds.start} to {seeds.stop - 1}")
    columns, stock = _DEALERS[numbering](variant, seed)
    face_down = variant.face_down
    if numbering == "pysol" and any(face_down):  # its long columns are others than ours
        face_down = tuple(len(column) - 1 for column in columns)
    return Board(variant, numbering, seed, columns, face_down, stock, 0)


Cards = tuple[int, ...]
Layout = tuple[tuple[Cards, ...], Cards]

# ---------------------------------------------------------------------- native


_MASK32, _MASK64 = 2**32 - 1, 2**64 - 1


@lru_cache
def _native_deck(packs: int) -> bytes:
    return bytes(suit << 4 | rank for suit in range(4) for rank in range(1, 14)) * packs


@lru_cache
def _swaps(cards: int) -> tuple[tuple[int, int, int], ...]:
    """Return the index of each swap, its number of choices n, and 2**32 modulo n."""
    return tuple((n - 1, n, 2**32 % n) for n in range(cards, 1, -1))


@lru_cache
def _column_slices(sizes: Cards) -> tuple[tuple[slice, ...], int]:
    ends = list(accumulate(sizes))
    return tuple(slice(end - size, end) for size, end in zip(sizes, ends, strict=True)), ends[-1]


def splitmix64(seed: int, start: int, size: int) -> list[int]:
    """Return `size` 64-bit outputs of SplitMix64 from the one of index `start` on."""
    first = seed + (start + 1) * 0x9E3779B97F4A7C15
    states = [first + step & _MASK64 for step in _steps(size)]
    mixed = [(z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _MASK64 for z in states]
    mixed = [(z ^ z >> 27) * 0x94D049BB133111EB & _MASK64 for z in mixed]
    return [z ^ z >> 31 for z in mixed]


@lru_cache
def _steps(size: int) -> tuple[int, ...]:
    return tuple(i * 0x9E3779B97F4A7C15 & _MASK64 for i in range(size))


def _draws(seed: int, batch: int) -> Iterator[int]:
    """Yield 32-bit draws, computed a batch of outputs at a time (the lists are what makes it fast)."""
    for start in count(0, batch):
        for output in splitmix64(seed, start, batch):
            yield output >> 32
            yield output & _MASK32


def native_shuffle(cards: bytearray, seed: int) -> None:
    """Shuffle cards in place as the native numbering does."""
    draws = _draws(seed, len(cards) // 2)
    for i, choices, uneven in _swaps(len(cards)):
        product = next(draws) * choices
        while product & _MASK32 < uneven:
            product = next(draws) * choices
        j = product >> 32
        cards[i], cards[j] = cards[j], cards[i]


def _native(variant: Variant, seed: int) -> Layout:
    deck = bytearray(_native_deck(variant.packs))
    native_shuffle(deck, seed)
    if variant.suits < 4:
        deck = deck.translate(_FOLD_TWO if variant.suits == 2 else _FOLD_ONE)
    cards = tuple(deck)
    slices, dealt = _column_slices(variant.columns)
    return tuple([cards[part] for part in slices]), cards[dealt:]


# ---------------------------------------------------------------------- pysol


def _microsoft(state: int, modulus: int, mask: int) -> Iterator[int]:
    while True:
        state = (state * 214013 + 2531011) % modulus
        yield state >> 16 & mask


def _pysol_choices(number: int) -> Callable[[int], int]:
    """Return the number's source of numbers below n."""
    if number < PYSOL_TWISTER:
        outputs = _microsoft(number, 2**31, 0x7FFF)
        return lambda n: next(outputs) % n
    twister = random.Random(number)
    return lambda n: int(twister.random() * n)


def _pysol(variant: Variant, seed: int) -> Layout:
    suits = {4: (C, S, H, D), 2: (C, C, H, H), 1: (C, C, C, C)}[variant.suits]
    deck = [suit << 4 | rank for suit in suits for rank in range(1, 14)] * 2
    below = _pysol_choices(seed)
    for i in range(len(deck) - 1, 0, -1):
        j = below(i + 1)
        deck[i], deck[j] = deck[j], deck[i]
    deck.reverse()
    row = [*range(10)]
    if variant.columns == SPIDER_LAYOUT:
        return _lay_out(deck, [*row * 4, 0, 3, 6, 9, *row])
    return _lay_out(deck, row * 5)


def _lay_out(cards: list[int], onto: list[int]) -> Layout:
    columns: list[list[int]] = [[] for _ in range(10)]
    for column, card in zip(onto, cards, strict=False):
        columns[column].append(card)
    return tuple(map(tuple, columns)), tuple(cards[len(onto) :])


# ---------------------------------------------------------------------- kpat


def _kpat(variant: Variant, seed: int) -> Layout:
    suits = {4: (C, D, H, S), 2: (H, S, H, S), 1: (S, S, S, S)}[variant.suits]
    deck = [suit << 4 | rank for rank in range(1, 14) for suit in suits] * 2
    outputs = _microsoft(seed, 2**32, 0x7FFF)
    for n in range(len(deck), 1, -1):
        j = next(outputs) % n
        deck[n - 1], deck[j] = deck[j], deck[n - 1]
    deck.reverse()
    row = [*range(10)]
    columns, rest = _lay_out(deck, [*row * 4, 0, 1, 2, 3, *range(4, 10), 0, 1, 2, 3])
    piles = [rest[start : start + 10][::-1] for start in range(0, len(rest), 10)]
    return columns, tuple(card for pile in piles for card in pile)


_DEALERS = {"native": _native, "pysol": _pysol, "kpat": _kpat}
SEEDS = {"native": NATIVE_SEEDS, "pysol": PYSOL_SEEDS, "kpat": KPAT_SEEDS}
