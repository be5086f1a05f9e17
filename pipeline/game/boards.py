"""Boards: a variant's cards as they lie on the table, as text and as JSON.

The text has a line a column, bottom to top, face-down cards in brackets; the stock in deal order, a line a row; what
else is known as ``key: value``. Order, blank lines and ``#`` comments do not matter::

    variant: spider-4
    numbering: native
    seed: 1
    column 1: [8D 4S 9C 7D QH] 10C
    ...
    column 10: [10H 6D AH 10S] 3C
    stock: 7S 4D 2D 8C 10S KC 9D 6C 10H 5C
    ...
    sets done: 0

Our JSON says the same (see `board_json`), Solvitaire's deal files are read and written too (see `solvitaire_json`).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from pipeline.errors import BoardError, UsageError
from pipeline.game.cards import ACE, KING, SET_SIZE, SUITS, card_text, cards_text, parse_card
from pipeline.game.sequences import sequences
from pipeline.game.variants import Variant, load_variant
from pipeline.game.variants.reading import NUMBERINGS, closest

CLUBS, DIAMONDS, HEARTS, SPADES = range(4)


@dataclass(frozen=True, slots=True)
class Board:
    """A position to play from: a deal, or a game broken off.

    Attributes
    ----------
    variant
        The rules.
    numbering, seed
        Which numbered deal it is; None where it is none.
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


def board_text(board: Board) -> str:
    """Return a board as text that `read_board` reads; it ends with a line end."""
    lines = [f"variant: {board.variant.id}"]
    if board.numbering is not None and board.seed is not None:
        lines += [f"numbering: {board.numbering}", f"seed: {board.seed}"]
    for number, (cards, down) in enumerate(zip(board.columns, board.face_down, strict=True), 1):
        parts = [f"[{cards_text(cards[:down])}]" if down else "", cards_text(cards[down:])]
        lines.append(f"column {number}: {' '.join(filter(None, parts))}".rstrip())
    width = len(board.columns)
    for start in range(0, len(board.stock), width):
        lines.append(f"stock: {cards_text(board.stock[start : start + width])}")
    lines.append(f"sets done: {board.sets_done}")
    return "\n".join(lines) + "\n"


def board_json(board: Board) -> dict[str, Any]:
    """Return a board as a JSON object; columns bottom to top and stock in deal order, both as texts of cards."""
    return {
        "variant": board.variant.id,
        "numbering": board.numbering,
        "seed": board.seed,
        "columns": [cards_text(cards) for cards in board.columns],
        "face_down": list(board.face_down),
        "stock": cards_text(board.stock),
        "sets_done": board.sets_done,
    }


def solvitaire_json(board: Board) -> dict[str, Any]:
    """Return a board as a deal file of Solvitaire (Blake and Gent).

    There a suit in small letters marks a face-down card, the stock is dealt from the end of its list, and the cards of
    the sets that are gone lie on the foundations.
    """
    piles = [
        [_solvitaire_card(card, i < down) for i, card in enumerate(cards)]
        for cards, down in zip(board.columns, board.face_down, strict=True)
    ]
    deal: dict[str, Any] = {"tableau piles": piles}
    if board.variant.stock_size:
        deal["stock"] = [card_text(card) for card in reversed(board.stock)]
    if board.sets_done:
        deal["foundations"] = [card_text(card) for card in gone_cards(board)]
    return deal


def _solvitaire_card(card: int, down: bool) -> str:
    return card_text(card).lower() if down else card_text(card)


def gone_cards(board: Board) -> list[int]:
    """Return the cards of the sets that have left the table, by suit and rank."""
    left = Counter(card for cards in (*board.columns, board.stock) for card in cards)
    return sorted((full_deck(board.variant, left) - left).elements())


def full_deck(variant: Variant, cards: Iterable[int]) -> Counter[int]:
    """Return how many of each card the game has, in the suits that its cards show.

    One suit may be any, and so may two: programs differ. Suits that are gone altogether are told as spades and hearts.
    """
    suits = sorted({card >> 4 for card in cards})
    spare = [suit for suit in (SPADES, HEARTS, CLUBS, DIAMONDS) if suit not in suits]
    suits += spare[: max(variant.suits - len(suits), 0)]
    copies = variant.packs * 4 // variant.suits
    return Counter({suit << 4 | rank: copies for suit in suits for rank in range(ACE, KING + 1)})


# ---------------------------------------------------------------------- reading


def read_board(text: str, *, variant: Variant | None = None, name: str = "<stdin>") -> Board:
    """Return the board of a text, ours or JSON, ours or Solvitaire's.

    Numbering and seed stay with the deal they name. They are left out of a position that its game comes to, and where
    `variant` stands for another one than the text names.

    Parameters
    ----------
    text
        What was read.
    variant
        Whose rules to take, whatever the text says; needed if it does not name one of the package's.
    name
        What the messages call the text.

    Raises
    ------
    BoardError
        It is no board, or its cards are not those of the game, or not those of the deal whose number it names; names
        the place, the value and what would be right.
    """
    read = _json_fields if text.lstrip().startswith("{") else _text_fields
    try:
        fields = read(text)
        board = _build(fields, variant)
        check_board(board)
        if board.seed is not None:
            board = _named_deal(board, fields.get("variant", board.variant.id))
    except BoardError as error:
        raise BoardError(f"{name}: {error}") from None
    return board


FIELDS = ("variant", "numbering", "seed", "columns", "face_down", "stock", "sets_done")
TEXT_KEYS = ("variant", "numbering", "seed", "stock", "sets done")
SOLVITAIRE_KEYS = ("tableau piles", "stock", "foundations")


def _text_fields(text: str) -> dict[str, Any]:
    """Return what our text says, as our JSON would say it."""
    fields: dict[str, Any] = {"stock": ""}
    columns: dict[int, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        content = line.partition("#")[0].strip()
        if not content:
            continue
        key, colon, value = content.partition(":")
        key, value = " ".join(key.lower().split()), value.strip()
        column = re.fullmatch(r"(?:column )?(\d{1,2})", key)
        if not colon or not (column or key in TEXT_KEYS):
            hint = closest(key, (*TEXT_KEYS, "column 1")) or f"; lines begin with column 1: or {', '.join(TEXT_KEYS)}"
            raise BoardError(f"line {number}: {content[:40]!r} says nothing about a board{hint}")
        if column and int(column[1]) not in columns:
            columns[int(column[1])] = value
        elif key == "stock":
            fields["stock"] += f" {value}"
        elif key in fields or column:
            raise BoardError(f"line {number}: {key} is there twice")
        else:
            fields[key.replace(" ", "_")] = value
    if sorted(columns) != list(range(1, len(columns) + 1)):
        raise BoardError(
            f"columns {', '.join(map(str, sorted(columns)))} are there; they must count from 1, one by one"
        )
    halves = [_split_column(column, columns[column]) for column in sorted(columns)]
    fields["columns"] = [f"{down} {up}" for down, up in halves]
    fields["face_down"] = [len(down.split()) for down, _ in halves]
    return fields


def _split_column(column: int, text: str) -> tuple[str, str]:
    """Return a column's face-down and face-up cards."""
    match = re.fullmatch(r"(?:\[([^][]*)\])?([^][]*)", text)
    if not match:
        raise BoardError(f"column {column}: {text!r}: brackets go once round the face-down cards, before the others")
    return match[1] or "", match[2]


def _json_fields(text: str) -> dict[str, Any]:
    """Return what our JSON or Solvitaire's says, as ours."""
    try:
        fields = json.loads(text)
    except ValueError as error:
        raise BoardError(f"is no JSON: {error}") from error
    known = SOLVITAIRE_KEYS if "tableau piles" in fields else FIELDS
    for key in fields:
        if key not in known:
            raise BoardError(f"unknown key {key!r}{closest(key, known) or '; allowed: ' + ', '.join(known)}")
    if known is SOLVITAIRE_KEYS:
        return _from_solvitaire(fields)
    for key in ("columns", "face_down", "stock"):
        if key not in fields:
            raise BoardError(f"{key} is missing")
    return dict(fields)


def _from_solvitaire(deal: dict[str, Any]) -> dict[str, Any]:
    piles, stock = deal["tableau piles"], deal.get("stock", [])
    if not isinstance(piles, list) or not all(_is_texts(pile) for pile in piles):
        raise BoardError("tableau piles: must be a list of lists of cards")
    if not _is_texts(stock):
        raise BoardError("stock: must be a list of cards")
    down = [[card[-1:].islower() for card in pile] for pile in piles]
    for number, flags in enumerate(down, 1):
        if flags != sorted(flags, reverse=True):
            raise BoardError(
                f"tableau piles: pile {number}: a face-down card (small suit letter) lies on a face-up one"
            )
    # The foundations say again which cards are gone; the cards in play tell that by themselves.
    return {"columns": piles, "face_down": list(map(sum, down)), "stock": stock[::-1]}


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _build(fields: dict[str, Any], variant: Variant | None) -> Board:
    """Make a board of our JSON's fields."""
    if variant is None:
        variant = _named_variant(fields.get("variant"))
    columns = fields["columns"]
    if not isinstance(columns, list) or len(columns) != len(variant.columns):
        count = len(columns) if isinstance(columns, list) else "no list of columns"
        raise BoardError(f"columns: {count}; {variant.id} has {len(variant.columns)}")
    face_down = fields["face_down"]
    if not isinstance(face_down, list) or len(face_down) != len(columns):
        raise BoardError(f"face_down: {face_down!r}; must be a list of {len(columns)} counts")
    numbering, seed = fields.get("numbering"), fields.get("seed")
    if numbering is not None and numbering not in NUMBERINGS:
        raise BoardError(f"numbering: {numbering!r} is none; one of: {', '.join(NUMBERINGS)}")
    cards = tuple(_cards(f"column {number}", column) for number, column in enumerate(columns, 1))
    stock = _cards("stock", fields["stock"])
    left = sum(map(len, cards)) + len(stock)
    gone = (variant.cards - left) // SET_SIZE
    return Board(
        variant=variant,
        numbering=None if seed is None else numbering,
        seed=None if seed is None or numbering is None else _whole("seed", seed),
        columns=cards,
        face_down=tuple(_whole(f"face_down, column {number}", down) for number, down in enumerate(face_down, 1)),
        stock=stock,
        sets_done=gone if fields.get("sets_done") is None else _whole("sets_done", fields["sets_done"]),
    )


def _named_variant(name: object) -> Variant:
    if not isinstance(name, str):
        raise BoardError("variant: the text does not name its game; say which variant it is of")
    try:
        return load_variant(name)
    except UsageError as error:
        raise BoardError(f"variant: {error}") from None


def _cards(where: str, value: object) -> tuple[int, ...]:
    """Read cards: a text with blanks between them, or a list of their texts."""
    texts = value.split() if isinstance(value, str) else value
    if not isinstance(texts, list) or not _is_texts(texts):
        raise BoardError(f"{where}: {value!r} is no list of cards such as 10S or KH")
    try:
        return tuple(map(parse_card, texts))
    except BoardError as error:
        raise BoardError(f"{where}: {error}") from None


def _whole(where: str, value: object) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise BoardError(f"{where}: {value!r} is no whole number, 0 up")
    return value


# ---------------------------------------------------------------------- checking


def check_board(board: Board) -> None:
    """Refuse a board that cannot come about in a game.

    Raises
    ------
    BoardError
        Its cards are not those of the game, cards lie face down that cannot, or a set lies on it that would have left;
        names the place, the value and what would be right.
    """
    _check_shape(board)
    for number, (cards, down) in enumerate(zip(board.columns, board.face_down, strict=True), 1):
        if not 0 <= down <= len(cards) or (cards and down == len(cards)):
            most = max(len(cards) - 1, 0)
            raise BoardError(
                f"column {number}: {down} of its {len(cards)} cards face down; {most} at most, the last is up"
            )
    _refuse_sets(board)
    _check_cards(board)


def _check_shape(board: Board) -> None:
    """Compare the counts of columns with the game's, and see that the cards are cards; a text is read so already."""
    for field, values in (("columns", board.columns), ("face_down", board.face_down)):
        if len(values) != len(board.variant.columns):
            raise BoardError(f"{field}: {len(values)}; {board.variant.id} has {len(board.variant.columns)}")
    places = [*((f"column {number}", cards) for number, cards in enumerate(board.columns, 1)), ("stock", board.stock)]
    for place, cards in places:
        for card in cards:
            if not (0 <= card >> 4 < len(SUITS) and ACE <= card & 15 <= KING):
                raise BoardError(f"{place}: {card} is no card; a card is its suit, 0 to 3, times 16 plus its rank")


def _refuse_sets(board: Board) -> None:
    """Refuse a board with a complete set face up in a column, on top of it or under other cards.

    No game comes to that: a set leaves when its last card comes to lie on it, before anything is laid on that. With
    some of its cards face down it is no set yet. (A numbered deal may show one, if its columns are that long.)
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
    suits = {card >> 4 for card in left}
    if len(suits) > variant.suits:
        letters = ", ".join(SUITS[suit] for suit in sorted(suits))
        raise BoardError(f"cards of {len(suits)} suits ({letters}); {variant.id} has {variant.suits}")
    deck = full_deck(variant, left)
    missing = deck - left
    for card in sorted(left):
        if left[card] > deck[card]:
            times = f"{card_text(card)} is there {left[card]} times ({_places(board, card)})"
            raise BoardError(f"{times}; {variant.id} has {deck[card]}; {_missing(missing)}")
    if missing.total() != SET_SIZE * board.sets_done:
        raise BoardError(
            f"{left.total()} cards; with {_sets(board.sets_done)} done {variant.id} has "
            f"{variant.cards - SET_SIZE * board.sets_done}; {_missing(missing)}"
        )
    if variant.sets == "any":
        groups = [[sum(missing[suit << 4 | rank] for suit in range(4)) for rank in range(ACE, KING + 1)]]
    else:
        groups = [[missing[suit << 4 | rank] for rank in range(ACE, KING + 1)] for suit in range(4)]
    if any(len(set(group)) > 1 for group in groups):
        raise BoardError(f"what is missing is not {_sets(board.sets_done)}; {_missing(missing)}")


def _named_deal(board: Board, named: object) -> Board:
    """Return a board with its number if it is that deal, without it if it is a position of that deal's game.

    Raises
    ------
    BoardError
        It is neither, and the text names the variant of the board.
    """
    from pipeline.game.deals import deal  # which makes boards

    nameless = replace(board, numbering=None, seed=None)
    try:
        dealt = deal(board.variant, board.seed or 0, board.numbering or "")
    except UsageError as error:
        if named != board.variant.id:
            return nameless
        raise BoardError(str(error)) from None
    if board == dealt:
        return board
    if named == board.variant.id and (place := _contradiction(board, dealt)):
        number = f"{board.variant.id} {board.numbering} {board.seed}"
        raise BoardError(f"{place} is not that of {number}; leave out numbering and seed if the board is another")
    return nameless


def _contradiction(board: Board, dealt: Board) -> str | None:
    """Say where a board is no position of a deal's game; None if it may be one."""
    if board.stock != dealt.stock[len(dealt.stock) - len(board.stock) :]:
        return "the stock"
    for number, (cards, down) in enumerate(zip(board.columns, board.face_down, strict=True)):
        if down > dealt.face_down[number] or cards[:down] != dealt.columns[number][:down]:
            return f"column {number + 1}"
    if list(map(len, board.columns)) != list(map(len, dealt.columns)) or board.face_down != dealt.face_down:
        return None
    # Nothing seems to have been played.
    differing = [number for number, cards in enumerate(board.columns, 1) if cards != dealt.columns[number - 1]]
    return f"column {differing[0]}" if differing else None


def _places(board: Board, card: int) -> str:
    """Say where a card lies."""
    places = [f"column {number}" for number, cards in enumerate(board.columns, 1) if card in cards]
    return ", ".join([*places, "stock"] if card in board.stock else places)


def _sets(count: int) -> str:
    return f"{count} set{'' if count == 1 else 's'}"


def _missing(missing: Counter[int]) -> str:
    """Say which cards are missing, the first dozen."""
    texts = [card_text(card) for card in sorted(missing.elements())]
    return f"missing: {' '.join(texts[:12]) or 'none'}{' ...' if len(texts) > 12 else ''}"
