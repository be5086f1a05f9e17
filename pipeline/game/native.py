"""The native numbering: a shuffle for every variant that can be rebuilt in any language. Numbers 0 to 2**63 - 1.

1. *Generator.* SplitMix64, its 64-bit state starting as the number itself. Each step first adds 0x9E3779B97F4A7C15 to
   the state, then outputs ``z``: ``z = state``, ``z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9``,
   ``z = (z ^ z >> 27) * 0x94D049BB133111EB``, ``z = z ^ z >> 31``, all modulo 2**64 (a shift binds tighter than
   ``^``). Each output gives two 32-bit draws, its high half first.
2. *Bounded number.* A number below n without bias (Lemire's method): ``m = draw * n``; while
   ``m % 2**32 < 2**32 % n``, take the next draw and multiply anew; the number is ``m >> 32``.
3. *Deck.* The packs one after another; in each the suits C, D, H, S; in each the ranks Ace to King.
4. *Shuffle.* Fisher and Yates from the last card down: for i from the last index to 1, swap card i with card j, j a
   bounded number below i + 1.
5. *Suits.* Only now are suits folded: with three suits D becomes S, with two suits C becomes S and D becomes H, with
   one suit all become S. So the same number gives the same ranks in the same places for variants of as many cards.
6. *Dealing.* The list fills the columns one after another, the first column first, each bottom to top; what is left is
   the stock, in deal order.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from operator import mul

from pipeline.game.cards import CLUBS, HEARTS, SPADES
from pipeline.game.variants import Variant

Cards = tuple[int, ...]
Layout = tuple[tuple[Cards, ...], Cards]  # the columns, and the stock

_SUITS = {  # what clubs, diamonds, hearts and spades become
    1: (SPADES, SPADES, SPADES, SPADES),
    2: (SPADES, HEARTS, HEARTS, SPADES),
    3: (CLUBS, SPADES, HEARTS, SPADES),
}
_FOLDS = {
    number: bytes(suits[card >> 4 & 3] << 4 | card & 15 for card in range(256)) for number, suits in _SUITS.items()
}

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
        i = len(cards)
        for j in self.swaps(seed):
            i -= 1
            cards[i], cards[j] = cards[j], cards[i]


_shuffle = lru_cache(_Shuffle)


def deal_native(variant: Variant, seed: int) -> Layout:
    """Deal a native number."""
    deck = list(_native_deck(variant.packs))
    _shuffle(len(deck)).shuffle(deck, seed)
    cards = tuple(deck) if variant.suits == 4 else tuple(bytes(deck).translate(_FOLDS[variant.suits]))
    slices, dealt = _column_slices(variant.columns)
    return tuple([cards[part] for part in slices]), cards[dealt:]
