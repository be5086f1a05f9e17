"""The forms of a board: our text, our JSON, Solvitaire's deal files, and the name of a numbered deal.

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

Our JSON says the same (see `board_json`). Text and JSON may hold a line, and what the package's commands write beside
a board. Without columns, variant, numbering and seed or a deal's name say which numbered deal is meant.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any, NamedTuple

from pipeline.errors import BoardError, LineError, UsageError
from pipeline.game.boards import Board, check_board, gone_cards
from pipeline.game.cards import SET_SIZE, card_text, cards_text, parse_card
from pipeline.game.deals import deal, is_deal_name, read_number
from pipeline.game.numbers import json_ready, whole_number
from pipeline.game.spelling import closest
from pipeline.game.variants import Variant, load_variant, variant_ids
from pipeline.game.variants.layouts import NUMBERINGS


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


def identity_json(board: Board) -> dict[str, Any]:
    """Return which board it is as a JSON object; all but the variant is null for a board without a number."""
    return {
        "variant": board.variant.id,
        "numbering": board.numbering,
        "seed": json_ready(board.seed),
        "deal": board.name,
    }


def board_json(board: Board) -> dict[str, Any]:
    """Return a board as a JSON object; columns bottom to top and stock in deal order, both as texts of cards.

    A seed beyond JavaScript's whole numbers is a text (see `json_ready`); `deal` is the deal's name.
    """
    return identity_json(board) | {
        "columns": [cards_text(cards) for cards in board.columns],
        "face_down": list(board.face_down),
        "stock": cards_text(board.stock),
        "sets_done": board.sets_done,
    }


def cards_beside(board: Board) -> dict[str, Any]:
    """Return the cards for a JSON object about a board that has no number to name it; nothing where it has one."""
    known = identity_json(board)
    return {} if board.seed is not None else {key: v for key, v in board_json(board).items() if key not in known}


def solvitaire_json(board: Board) -> dict[str, Any]:
    """Return a board as a deal file of Solvitaire (Blake and Gent).

    There a suit in small letters marks a face-down card, the stock is dealt from the end of its list, and the cards of
    the sets that are gone lie on the foundations.
    """
    piles = [
        [card_text(card).lower() if i < down else card_text(card) for i, card in enumerate(cards)]
        for cards, down in zip(board.columns, board.face_down, strict=True)
    ]
    deal: dict[str, Any] = {"tableau piles": piles}
    if board.variant.stock_size:
        deal["stock"] = [card_text(card) for card in reversed(board.stock)]
    if board.sets_done:
        deal["foundations"] = [card_text(card) for card in gone_cards(board)]
    return deal


# ---------------------------------------------------------------------- reading


class Game(NamedTuple):
    """What a text holds: a board, and the line that is played on it if the text has one."""

    board: Board
    line: str | None


def read_board(text: str, *, variant: Variant | None = None, name: str = "<text>", unseen: bool = False) -> Board:
    """Return the board of a text in any of the forms (see `read_game`)."""
    return read_game(text, variant=variant, name=name, unseen=unseen).board


def read_game(text: str, *, variant: Variant | None = None, name: str = "<text>", unseen: bool = False) -> Game:
    """Return the board of a text, and the line in it.

    Numbering and seed stay with the deal they name. They are left out of later positions of its game, and where
    `variant` stands for another one than the text names.

    Parameters
    ----------
    text
        What was read.
    variant
        Whose rules to take, whatever the text says; needed if it does not name one of the package's.
    name
        What the messages call the text.
    unseen
        Whether face-down cards and the stock may be unknown (XX).

    Raises
    ------
    BoardError
        It is not a board, or its cards are not those of the game or of the deal whose number it names; names
        the place, the value and what would be right.
    """
    try:
        if is_deal_name(text.strip()):
            return Game(_numbered({"deal": text.strip()}, variant), None)
        fields = (_json_fields if text.lstrip().startswith("{") else _text_fields)(text)
        line = fields.get("line")
        if line is not None and not isinstance(line, str):
            raise BoardError(f"line: {line!r:.60} is not a line: expected a text of moves")
        if "columns" not in fields:
            return Game(_numbered(fields, variant), line)
        board = _build(fields, variant)
        check_board(board, unseen=unseen)
        if board.seed is not None:
            board = _named_deal(board, fields.get("variant", board.variant.id))
        return Game(board, line)
    except (BoardError, LineError) as error:
        raise BoardError(f"{name}: {error}") from None
    except RecursionError:
        raise BoardError(f"{name}: not a board: nested too deeply") from None


FIELDS = ("variant", "numbering", "seed", "deal", "columns", "face_down", "stock", "sets_done", "line")
TEXT_KEYS = ("variant", "numbering", "seed", "deal", "stock", "sets done", "line")
SOLVITAIRE_KEYS = ("tableau piles", "stock", "foundations")
# What our own commands write beside a board or a deal's number, and a caller's own mark.
_BESIDE = (
    *("id", "date", "skipped", "frozen", "verdict", "positions", "expanded", "node_limit", "steps", "moves", "score"),
    *("deals", "move", "difficulty", "solver", "rules_hash", "seconds", "run_id"),
)


def _text_fields(text: str) -> dict[str, Any]:
    """Return what our text says, as our JSON would say it."""
    fields: dict[str, Any] = {}
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
            raise BoardError(f"line {number}: {content[:40]!r} is not part of a board{hint}")
        if column and int(column[1]) not in columns:
            columns[int(column[1])] = value
        elif key == "stock":
            fields["stock"] = f"{fields.get('stock', '')} {value}"
        elif key in fields or column:
            raise BoardError(f"line {number}: {key} occurs twice")
        else:
            fields[key.replace(" ", "_")] = value
    if sorted(columns) != list(range(1, len(columns) + 1)):
        raise BoardError(
            f"columns {', '.join(map(str, sorted(columns)))} are there; they must count from 1, one by one"
        )
    if columns:
        halves = [_split_column(column, columns[column]) for column in sorted(columns)]
        fields["columns"] = [f"{down} {up}" for down, up in halves]
        fields["face_down"] = [len(down.split()) for down, _ in halves]
        fields.setdefault("stock", "")
    elif not fields:
        raise BoardError("holds no board: expected lines such as 'column 1: [8D 4S] 10C', JSON, or a deal's name")
    return fields


def _split_column(column: int, text: str) -> tuple[str, str]:
    match = re.fullmatch(r"(?:\[([^][]*)\])?([^][]*)", text)
    if not match:
        raise BoardError(f"column {column}: {text!r}: brackets go once round the face-down cards, before the others")
    return match[1] or "", match[2]


def _json_fields(text: str) -> dict[str, Any]:
    """Return what our JSON or Solvitaire's says, as ours."""
    try:
        fields = json.loads(text)
    except ValueError as error:
        raise BoardError(f"not JSON: {error}") from error
    if isinstance(fields.get("board"), dict):  # of a daily deal, or of a move that replay shows
        fields = fields["board"]
    if isinstance(fields.get("deals"), list):
        raise BoardError("a pool of many deals: expected one of them, such as jq -c '.deals[]' prints")
    if "tableau piles" in fields:
        known: tuple[str, ...] = (*SOLVITAIRE_KEYS, "id", "variant")
        allowed = known
    else:
        known, allowed = FIELDS, (*FIELDS, *_BESIDE)
    for key in fields:
        if key not in allowed:
            raise BoardError(f"unknown key {key!r}{closest(key, known) or '; allowed: ' + ', '.join(known)}")
    if "tableau piles" in fields:
        return _from_solvitaire(fields)
    laid = [key for key in ("columns", "face_down", "stock") if key in fields]
    for key in ("columns", "face_down", "stock"):
        if laid and key not in fields:
            raise BoardError(f"{key} is missing")
    return dict(fields)


def _from_solvitaire(deal: dict[str, Any]) -> dict[str, Any]:
    piles, stock = deal["tableau piles"], deal.get("stock", [])
    if not isinstance(piles, list) or not all(_is_texts(pile) for pile in piles):
        raise BoardError("tableau piles: expected a list of lists of cards")
    if not _is_texts(stock):
        raise BoardError("stock: expected a list of cards")
    down = [[card[-1:].islower() for card in pile] for pile in piles]
    for number, flags in enumerate(down, 1):
        if flags != sorted(flags, reverse=True):
            raise BoardError(
                f"tableau piles: pile {number}: a face-down card (small suit letter) lies on a face-up one"
            )
    beside = {key: deal[key] for key in ("variant", "id") if key in deal}
    # The foundations say again which cards are gone; the cards in play tell that by themselves.
    return beside | {"columns": piles, "face_down": list(map(sum, down)), "stock": stock[::-1]}


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _numbered(fields: dict[str, Any], variant: Variant | None) -> Board:
    """Return the numbered deal that fields without columns name.

    A deal's name in a text cannot name a file: what strangers send must not decide what is read.
    """
    name, game, said, seed = (fields.get(key) for key in ("deal", "variant", "numbering", "seed"))
    if name is not None:
        if not isinstance(name, str) or name.count("/") != 2:
            raise BoardError(f"deal: {name!r:.60} is not a deal's name: expected one such as spider-4/pysol/14934")
        game, said, seed = name.strip().split("/")
    if seed is None:
        raise BoardError("neither columns nor a seed: expected a board, the number of a deal or, as deal, its name")
    rules = variant or _named_variant(game)
    if said is not None and said not in NUMBERINGS:
        raise BoardError(f"numbering: {said!r:.60} is not a numbering: expected one of {', '.join(NUMBERINGS)}")
    try:
        if isinstance(seed, str):
            said, seed = read_number(seed, said)
        board = deal(rules, whole_number("seed", seed), said or "native")
    except UsageError as error:
        raise BoardError(str(error)) from None
    if name is not None and variant is None:
        _refuse_another(board, fields)
    return board


def _refuse_another(board: Board, fields: dict[str, Any]) -> None:
    """Refuse a deal's name beside which other fields name another deal."""
    for key, own in (("variant", board.variant.id), ("numbering", board.numbering), ("seed", str(board.seed))):
        other = fields.get(key)
        if other is not None and str(other) != own:
            raise BoardError(f"{key}: {other!r:.60}, but deal names {board.name}")


def _build(fields: dict[str, Any], variant: Variant | None) -> Board:
    """Make a board of our JSON's fields."""
    if variant is None:
        variant = _named_variant(fields.get("variant"))
    columns = fields["columns"]
    if not isinstance(columns, list) or len(columns) != len(variant.columns):
        count = len(columns) if isinstance(columns, list) else "no list of columns"
        every = f"{variant.id} has {len(variant.columns)}, and each is listed, without cards if it is empty"
        raise BoardError(f"columns: {count}; {every}")
    face_down = fields["face_down"]
    if not isinstance(face_down, list) or len(face_down) != len(columns):
        raise BoardError(f"face_down: {face_down!r}: expected a list of {len(columns)} counts")
    numbering, seed = fields.get("numbering"), fields.get("seed")
    if "seed" not in fields and isinstance(fields.get("deal"), str) and fields["deal"].count("/") >= 2:
        numbering, seed = fields["deal"].rsplit("/", 2)[1:]
    if numbering is not None and numbering not in NUMBERINGS:
        raise BoardError(f"numbering: {numbering!r:.60} is not a numbering: expected one of {', '.join(NUMBERINGS)}")
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
        raise BoardError("variant is missing: the text does not name its game: give --variant V")
    if name not in variant_ids():
        near = closest(name, variant_ids()) or "; for one of your own give its file: --variant FILE.toml"
        raise BoardError(f"variant: {name!r:.60} is not a packaged variant{near}")
    return load_variant(name)


def _cards(where: str, value: object) -> tuple[int, ...]:
    """Read cards: a text with blanks between them, or a list of their texts."""
    texts = value.split() if isinstance(value, str) else value
    if not isinstance(texts, list) or not _is_texts(texts):
        raise BoardError(f"{where}: {value!r} is not a list of cards such as 10S or KH")
    try:
        return tuple(map(parse_card, texts))
    except BoardError as error:
        raise BoardError(f"{where}: {error}") from None


def _whole(where: str, value: object) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise BoardError(f"{where}: {value!r} is not a whole number from 0 up")
    return value


def _named_deal(board: Board, named: object) -> Board:
    """Return a board with its number if it is that deal, without it if it is a position of that deal's game.

    Raises
    ------
    BoardError
        It is neither, and the text names the variant of the board.
    """
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
        raise BoardError(f"{place} is not that of {board.name}; leave out numbering and seed if the board is another")
    return nameless


def _contradiction(board: Board, dealt: Board) -> str | None:
    """Return the place where a board contradicts the game of a deal; None if it may be a position of that game."""
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
