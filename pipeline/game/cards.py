"""Cards as small integers, and their text.

A card is ``suit << 4 | rank``: ranks 1 (Ace) to 13 (King), suits C 0, D 1, H 2, S 3. Two packs hold the same integer
twice: nothing in these games tells the copies apart.
"""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.errors import BoardError

RANKS = ("", "A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K")
SUITS = "CDHS"
CLUBS, DIAMONDS, HEARTS, SPADES = range(4)
ACE, KING = 1, 13
UNSEEN = 0  # a card that nobody has seen yet, written XX or ??
SET_SIZE = 13

_TEXT = {suit << 4 | rank: RANKS[rank] + SUITS[suit] for suit in range(4) for rank in range(ACE, KING + 1)}
_TEXT[UNSEEN] = "XX"
_CARD = (
    {text: card for card, text in _TEXT.items()}
    | {"T" + SUITS[suit]: suit << 4 | 10 for suit in range(4)}
    | {"??": UNSEEN}
)


def card_text(card: int) -> str:
    """Return a card's text, rank then suit: ``"10S"``."""
    return _TEXT[card]


def cards_text(cards: Iterable[int]) -> str:
    """Return cards' texts with a blank between: ``"7S 6S"``."""
    return " ".join(map(card_text, cards))


def parse_card(text: str) -> int:
    """Return the card of a text such as ``10S``, ``ts`` or ``Kh``; of ``XX`` or ``??`` it is `UNSEEN`.

    Raises
    ------
    BoardError
        The text is not a card.
    """
    card = _CARD.get(text.upper())
    if card is None:
        raise BoardError(f"{text!r} is not a card: expected a rank (A 2-10 J Q K) and a suit (C D H S), such as 10S")
    return card


def is_red(card: int) -> bool:
    """Whether a card is a Diamond or a Heart."""
    return card >> 4 in (DIAMONDS, HEARTS)
