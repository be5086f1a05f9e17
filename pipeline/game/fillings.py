"""Fillings: what the unseen cards of a board may be, dealt at random."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations_with_replacement
from math import comb, prod

from pipeline.errors import BoardError
from pipeline.game.boards import Board, check_board, full_deck
from pipeline.game.cards import ACE, KING, UNSEEN


def fillings(board: Board, count: int, draw: int) -> Iterator[Board]:
    """Yield boards in which the unseen cards of one are dealt at random.

    Every order of the cards that are neither seen nor gone is equally likely. Where sets have left, their suits are
    drawn, too, each choice as often as there are cards to make it of.

    Parameters
    ----------
    board
        A board some of whose face-down cards or stock are unseen.
    count
        Number of fillings.
    draw
        Number of the draw: the same one gives the same fillings.

    Raises
    ------
    BoardError
        No game can reach the board, whatever the unseen cards are.
    """
    check_board(board, unseen=True)
    seen = Counter(card for cards in (*board.columns, board.stock) for card in cards if card != UNSEEN)
    hidden = full_deck(board.variant, seen) - seen
    rng = random.Random(draw)
    gone_sets = _gone_sets(board, hidden)
    for _ in range(count):
        cards = sorted((hidden - gone_sets(rng)).elements())
        rng.shuffle(cards)
        columns = tuple(tuple(card or cards.pop() for card in column) for column in board.columns)
        yield replace(board, columns=columns, stock=tuple(card or cards.pop() for card in board.stock))


def _gone_sets(board: Board, hidden: Counter[int]) -> Callable[[random.Random], Counter[int]]:
    """Return what draws the cards of the sets that have left from those not seen.

    A choice of suits has the weight of the ways to pick its cards: the product, over the cards, of the combinations.
    """
    sets, ranks = board.sets_done, range(ACE, KING + 1)
    if board.variant.sets == "any":
        by_rank = [[card for card in sorted(hidden.elements()) if card & 15 == rank] for rank in ranks]
        if any(len(cards) < sets for cards in by_rank):
            raise BoardError(f"{sets} sets are done, but too few cards are left over to make them of")
        return lambda rng: Counter(card for cards in by_rank for card in rng.sample(cards, sets))
    choices = [Counter(suits) for suits in combinations_with_replacement(sorted({card >> 4 for card in hidden}), sets)]
    ways = [
        prod(comb(hidden[suit << 4 | rank], n) for suit, n in choice.items() for rank in ranks) for choice in choices
    ]
    if not any(ways):
        raise BoardError(f"{sets} sets are done, but the cards left over are not those of whole sets")
    decks = [Counter({suit << 4 | rank: n for suit, n in choice.items() for rank in ranks}) for choice in choices]
    return lambda rng: rng.choices(decks, ways)[0]
