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
import struct
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import accumulate
from operator import index, mul
from typing import Any, SupportsIndex

from pipeline.errors import UsageError
from pipeline.game.boards import Board
from pipeline.game.variants import Variant, load_variant
from pipeline.game.variants.reading import SPIDER_LAYOUT, last_face_up

NATIVE_SEEDS = range(0, 2**63)
PYSOL_SEEDS = range(0, 2**63)
KPAT_SEEDS = range(1, 2**31)
PYSOL_TWISTER = 32000

C, D, H, S = range(4)
_FOLDS = {
    1: bytes(S << 4 | card & 15 for card in range(256)),
    2: bytes((S if card >> 4 in (C, S) else H) << 4 | card & 15 for card in range(256)),
}


def deal(variant: Variant | str, seed: SupportsIndex, numbering: str = "native") -> Board:
    """Return a numbered deal of a variant, or of the packaged one of that id.

    Raises
    ------
    UsageError
        There is no such variant, it has no such numbering, or the numbering no such number.
    """
    seed = whole_seed(seed)
    if isinstance(variant, str):
        variant = load_variant(variant)
    if numbering not in variant.numberings:
        has = ", ".join(variant.numberings)
        raise UsageError(f"{variant.id} has no numbering {numbering!r}; it has: {has}")
    seeds = SEEDS[numbering]
    if seed not in seeds:
        raise UsageError(f"seed {seed} is no {numbering} number; they go from {seeds.start} to {seeds.stop - 1}")
    columns, stock = _DEALERS[numbering](variant, seed)
    face_down = variant.face_down
    if numbering == "pysol" and face_down == last_face_up(variant.columns):  # its long columns are others than ours
        face_down = last_face_up(map(len, columns))
    return Board(variant, numbering, seed, columns, face_down, stock, 0)


def whole_seed(seed: Any) -> int:
    """Return a seed as Python's integer (see `whole_number`); whether a numbering has it is another question."""
    return whole_number("seed", seed)


def whole_number(name: str, value: Any, allowed: range | None = None) -> int:
    """Return an argument as Python's integer, whatever integer it comes as, such as numpy's.

    Raises
    ------
    UsageError
        It is no integer, and a float is none, whatever its value; or it is none of those allowed.
    """
    # numpy's own would overflow in the arithmetic of deals, and make `in` look through all of a range.
    try:
        number = index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise UsageError(f"{name} {value!r:.40} is no whole number")
    if allowed is not None and number not in allowed:
        raise UsageError(f"{name} {number}: expected a whole number from {allowed.start} to {allowed.stop - 1}")
    return number


Cards = tuple[int, ...]
Layout = tuple[tuple[Cards, ...], Cards]

# ---------------------------------------------------------------------- native


_MASK32, _MASK64 = 2**32 - 1, 2**64 - 1
_GAMMA, _MIX1, _MIX2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


@lru_cache
def _native_deck(packs: int) -> tuple[int, ...]:
    return tuple(suit << 4 | rank for suit in range(4) for rank in range(1, 14)) * packs


@lru_cache
def _column_slices(sizes: Cards) -> tuple[tuple[slice, ...], int]:
    ends = list(accumulate(sizes))
    return tuple(slice(end - size, end) for size, end in zip(sizes, ends, strict=True)), ends[-1]


def native_draws(seed: int) -> Iterator[int]:
    """Yield the 32-bit draws of a native number, as they are specified: SplitMix64 outputs, high half first."""
    state = seed
    while True:
        state = state + _GAMMA & _MASK64
        z = (state ^ state >> 30) * _MIX1 & _MASK64
        z = (z ^ z >> 27) * _MIX2 & _MASK64
        z ^= z >> 31
        yield z >> 32
        yield z & _MASK32


class _Batch:
    """The first draws of any number, all at once: one integer holds every output in a lane of 128 bits.

    A lane is as wide as the product of two 64-bit numbers, so one multiplication of large integers does them all; a
    shift brings bits of one lane into the upper half of the next, where a mask ends them.
    """

    def __init__(self, draws: int) -> None:
        outputs = (draws + 1) // 2
        lanes = [1 << 128 * (outputs - 1 - i) for i in range(outputs)]  # the first output is the uppermost lane
        self.ones = sum(lanes)
        self.mask = self.ones * _MASK64
        self.steps = sum(lane * ((i + 1) * _GAMMA & _MASK64) for i, lane in enumerate(lanes))
        self.size = 16 * outputs
        self.unpack = struct.Struct(">" + "8xII" * outputs).unpack

    def draws(self, seed: int) -> tuple[int, ...]:
        mask = self.mask
        z = self.ones * seed + self.steps & mask
        z = (z ^ z >> 30 & mask) * _MIX1 & mask
        z = (z ^ z >> 27 & mask) * _MIX2 & mask
        return self.unpack((z ^ z >> 31 & mask).to_bytes(self.size, "big"))


class _Shuffle:
    """The native shuffle of a number of cards."""

    def __init__(self, cards: int) -> None:
        self.choices = range(cards, 1, -1)
        self.batch = _Batch(len(self.choices))
        self.pack = struct.Struct(f"<{len(self.choices)}Q").pack
        self.unpack = struct.Struct(f"<{2 * len(self.choices)}I").unpack

    def swaps(self, seed: int) -> tuple[int, ...]:
        """Return the index each card is swapped with, from the last card down."""
        halves = self.unpack(self.pack(*map(mul, self.batch.draws(seed), self.choices)))
        # A draw can be rejected only if the low half of its product is below the number of choices: about one deal in
        # 400,000.
        if min(halves[::2]) < self.choices.start:
            return tuple(self.careful_swaps(seed))
        return halves[1::2]

    def careful_swaps(self, seed: int) -> Iterator[int]:
        """Yield the same, draw by draw as specified."""
        draws = native_draws(seed)
        for n in self.choices:
            product = next(draws) * n
            while product & _MASK32 < 2**32 % n:
                product = next(draws) * n
            yield product >> 32

    def shuffle(self, cards: list[int], seed: int) -> None:
        """Shuffle cards in place."""
        i = len(cards)
        for j in self.swaps(seed):
            i -= 1
            cards[i], cards[j] = cards[j], cards[i]


_shuffle = lru_cache(_Shuffle)


def _native(variant: Variant, seed: int) -> Layout:
    deck = list(_native_deck(variant.packs))
    _shuffle(len(deck)).shuffle(deck, seed)
    cards = tuple(deck) if variant.suits == 4 else tuple(bytes(deck).translate(_FOLDS[variant.suits]))
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
