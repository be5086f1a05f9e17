"""Boards: a variant's cards as they lie on the table, and which of them a game can reach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from pipeline.errors import BoardError
from pipeline.game.cards import (
    ACE,
    CLUBS,
    DIAMONDS,
    HEARTS,
    KING,
    SET_SIZE,
    SPADES,
    SUITS,
    UNSEEN,
    card_text,
    cards_text,
)
from pipeline.game.sequences import sequences
from pipeline.game.variants import Variant


@dataclass(frozen=True, slots=True)
class Board:
    """A position to play from: a deal, or a game broken off.

    Attributes
    ----------
    variant
        The rules.
    numbering, seed
        The numbered deal; None for any other board.
    columns
        Cards of each column, bottom to top.
    face_down
        How many cards of each column lie face down, counted from the bottom.
    stock
        Cards of the stock in the order in which they are dealt.
    sets_done
        Sets that have left the table.
    """

    variant: Variant
    numbering: str | None
    seed: int | None
    columns: tuple[tuple[int, ...], ...]
    face_down: tuple[int, ...]
    stock: tuple[int, ...]
    sets_done: int

    @property
    def name(self) -> str | None:
        """The deal's name, ``spider-4/pysol/14934``; None for a board without a number."""
        return None if self.seed is None else f"{self.variant.id}/{self.numbering}/{self.seed}"


def gone_cards(board: Board) -> list[int]:
    """Return the cards of the sets that have left the table, by suit and rank."""
    left = Counter(card for cards in (*board.columns, board.stock) for card in cards)
    return sorted((full_deck(board.variant, left) - left).elements())


def full_deck(variant: Variant, cards: Iterable[int]) -> Counter[int]:
    """Return how many of each card the game has, in the suits that its cards show.

    One suit may be any, and so may two: programs differ. Suits that have left altogether count as spades and hearts.
    Three suits are clubs, hearts and twice as many spades.
    """
    if variant.suits == 3:
        suits = [CLUBS, HEARTS, SPADES, SPADES]
        return Counter(suit << 4 | rank for suit in suits * variant.packs for rank in range(ACE, KING + 1))
    suits = sorted({card >> 4 for card in cards if card != UNSEEN})
    spare = [suit for suit in (SPADES, HEARTS, CLUBS, DIAMONDS) if suit not in suits]
    suits += spare[: max(variant.suits - len(suits), 0)]
    copies = variant.packs * 4 // variant.suits
    return Counter({suit << 4 | rank: copies for suit in suits for rank in range(ACE, KING + 1)})


# ---------------------------------------------------------------------- checking


def has_unseen(board: Board) -> bool:
    """Whether some of its cards are unknown."""
    return any(UNSEEN in cards for cards in (*board.columns, board.stock))


def never_deals(board: Board) -> bool:
    """Whether its stock can never be dealt: not while a column is empty, and the cards on the table are too few."""
    return bool(board.stock) and board.variant.deal == "blocked" and sum(map(len, board.columns)) < len(board.columns)


def check_board(board: Board, *, unseen: bool = False) -> None:
    """Refuse a board that no game can reach.

    Parameters
    ----------
    board
        The board.
    unseen
        Whether its face-down cards and its stock may be unknown.

    Raises
    ------
    BoardError
        Its cards are not those of the game, cards lie face down that cannot, or a set lies on it that would have left;
        names the place, the value and what would be right.
    """
    _check_shape(board, unseen)
    for number, (cards, down) in enumerate(zip(board.columns, board.face_down, strict=True), 1):
        if not 0 <= down <= len(cards) or (cards and down == len(cards)):
            most = max(len(cards) - 1, 0)
            raise BoardError(
                f"column {number}: {down} of its {len(cards)} cards face down; {most} at most, the last is up"
            )
        if UNSEEN in cards[down:]:
            raise BoardError(
                f"column {number}: a card face up is unseen (XX); only face-down cards and the stock can be"
            )
    _refuse_sets(board)
    _check_cards(board)


def _check_shape(board: Board, unseen: bool) -> None:
    """Compare the counts of columns with the game's, and see that the cards are cards; a text is read so already."""
    for field, values in (("columns", board.columns), ("face_down", board.face_down)):
        if len(values) != len(board.variant.columns):
            raise BoardError(f"{field}: {len(values)}; {board.variant.id} has {len(board.variant.columns)}")
    if len(board.stock) > board.variant.stock_size:
        raise BoardError(f"stock: {len(board.stock)} cards; {board.variant.id} begins with {board.variant.stock_size}")
    places = [*((f"column {number}", cards) for number, cards in enumerate(board.columns, 1)), ("stock", board.stock)]
    for place, cards in places:
        if not unseen and UNSEEN in cards:
            count = f"{cards.count(UNSEEN)} unseen card{'' if cards.count(UNSEEN) == 1 else 's'} (XX)"
            raise BoardError(f"{place}: {count}; only hint takes a board with unseen cards")
        for card in cards:
            if card != UNSEEN and not (0 <= card >> 4 < len(SUITS) and ACE <= card & 15 <= KING):
                raise BoardError(f"{place}: {card} is not a card: expected its suit, 0 to 3, times 16 plus its rank")


def _refuse_sets(board: Board) -> None:
    """Refuse a board with a complete set face up in a column, on top of it or under other cards.

    No game reaches that: a set leaves as soon as its last card is laid on it. Thirteen cards of which some lie face
    down are not a set yet. (A numbered deal may show one, if its columns are that long.)
    """
    whole = sequences(board.variant.sets, board.variant.wrap)
    for number, (cards, down) in enumerate(zip(board.columns, board.face_down, strict=True), 1):
        for end in range(down + SET_SIZE, len(cards) + 1):
            if bytes(cards[end - SET_SIZE : end]).translate(whole.fold) in whole.whole:
                raise BoardError(
                    f"column {number}: {cards_text(cards[end - SET_SIZE : end])} is a set; it would have left"
                )


def _check_cards(board: Board) -> None:
    """Compare the cards with the game's: only whole sets may be missing, as many as are done."""
    variant = board.variant
    left = Counter(card for cards in (*board.columns, board.stock) for card in cards)
    hidden = left.pop(UNSEEN, 0)
    suits = {card >> 4 for card in left}
    if len(suits) > variant.suits:
        letters = ", ".join(SUITS[suit] for suit in sorted(suits))
        raise BoardError(f"cards of {len(suits)} suits ({letters}); {variant.id} has {variant.suits}")
    deck = full_deck(variant, left)
    missing = deck - left
    for card in sorted(left):
        if left[card] > deck[card]:
            times = f"{card_text(card)} occurs {left[card]} times ({_places(board, card)})"
            raise BoardError(f"{times}; {variant.id} has {deck[card]}; {_missing(missing)}")
    if missing.total() != SET_SIZE * board.sets_done + hidden:
        raise BoardError(
            f"{left.total() + hidden} cards; with {_sets(board.sets_done)} done {variant.id} has "
            f"{variant.cards - SET_SIZE * board.sets_done}; {_missing(missing)}"
        )
    if hidden:
        return
    if variant.sets == "any":
        groups = [[sum(missing[suit << 4 | rank] for suit in range(4)) for rank in range(ACE, KING + 1)]]
    else:
        groups = [[missing[suit << 4 | rank] for rank in range(ACE, KING + 1)] for suit in range(4)]
    if any(len(set(group)) > 1 for group in groups):
        raise BoardError(f"what is missing is not {_sets(board.sets_done)}; {_missing(missing)}")


def _places(board: Board, card: int) -> str:
    places = [f"column {number}" for number, cards in enumerate(board.columns, 1) if card in cards]
    return ", ".join([*places, "stock"] if card in board.stock else places)


def _sets(count: int) -> str:
    return f"{count} set{'' if count == 1 else 's'}"


def _missing(missing: Counter[int]) -> str:
    """Say which cards are missing, the first dozen."""
    texts = [card_text(card) for card in sorted(missing.elements())]
    return f"missing: {' '.join(texts[:12]) or 'none'}{' ...' if len(texts) > 12 else ''}"
