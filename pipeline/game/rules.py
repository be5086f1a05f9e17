"""The rules of the family as readable Python.

`Position` lists moves, plays them and takes them back; `replay` plays a whole line and names the first fault in it. It
is written to be checked by eye and shares no code with the engine. Every win is proved by `referee.replay`, which has
the same rules compiled and is tested to agree; `verify` replays a sample of the wins by these rules, too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pipeline.errors import LineError
from pipeline.game.boards import Board
from pipeline.game.cards import ACE, KING, SET_SIZE, card_text, cards_text, is_red
from pipeline.game.codes import engine_move
from pipeline.game.lines import parse_line
from pipeline.game.moves import DEAL, Move


class Event(NamedTuple):
    """What a move brought about in a column: a set left (its cards, bottom to top), or else its top card turned up."""

    column: int
    cards: tuple[int, ...]


class Played(NamedTuple):
    """The record of a move: what `Position.undo` needs, and what a text says of it.

    Attributes
    ----------
    move
        The move.
    cards
        The cards moved, bottom to top, or dealt, in deal order.
    onto
        The columns they went to: one, or one a card for a deal.
    events
        What followed, in order.
    """

    move: Move
    cards: tuple[int, ...]
    onto: tuple[int, ...]
    events: tuple[Event, ...]


class Position:
    """A game under way. It changes as it is played; the caller keeps what `play` returns if it is to be undone.

    Attributes
    ----------
    columns
        Cards of each column, bottom to top.
    face_down
        How many of each column lie face down.
    stock
        What is left of it, in deal order.
    sets_done
        Sets that have left.
    """

    __slots__ = ("columns", "face_down", "sets_done", "stock", "variant")

    def __init__(self, board: Board) -> None:
        self.variant = board.variant
        self.columns = [list(column) for column in board.columns]
        self.face_down = list(board.face_down)
        self.stock = list(board.stock)
        self.sets_done = board.sets_done

    def board(self) -> Board:
        """Return the position as a board."""
        columns = tuple(map(tuple, self.columns))
        return Board(self.variant, None, None, columns, tuple(self.face_down), tuple(self.stock), self.sets_done)

    # ------------------------------------------------------------------ what lies on what

    def may_lie(self, card: int, below: int) -> bool:
        """Whether a card may be laid on another: one rank lower, suits do not matter."""
        if self.variant.wrap and card & 15 == KING:
            return below & 15 == ACE
        return below & 15 == (card & 15) + 1

    def _joined(self, kind: str, card: int, below: int) -> bool:
        """Whether a card continues the one below it in a sequence of that kind."""
        if not self.may_lie(card, below):
            return False
        if kind == "suit":
            return card >> 4 == below >> 4
        return kind == "any" or is_red(card) == is_red(below)

    def _sequence_length(self, kind: str, column: int) -> int:
        """Return how many face-up cards on top of a column are a sequence of that kind."""
        cards = self.columns[column]
        first = len(cards) - 1
        while first > self.face_down[column] and self._joined(kind, cards[first], cards[first - 1]):
            first -= 1
        return len(cards) - first if cards else 0

    def unit_length(self, column: int) -> int:
        """Return how many cards on top of a column move together; any fewer of them do, too."""
        return self._sequence_length(self.variant.unit, column)

    def has_set(self, column: int) -> bool:
        """Whether a complete set lies on top of a column."""
        length = self._sequence_length(self.variant.sets, column)
        # A sequence that does not wrap has thirteen cards only from King to Ace.
        return length >= SET_SIZE

    # ------------------------------------------------------------------ moves

    def legal_moves(self) -> list[Move]:
        """Return every legal move: by source, target, cards; the stock deal last.

        Complete: every way to split a unit, each empty column by itself, whole columns to empty ones too.
        """
        moves = list(self._column_moves())
        if self.may_deal():
            moves.append(DEAL)
        return moves

    def _column_moves(self) -> Iterator[Move]:
        for source, cards in enumerate(self.columns):
            longest = self.unit_length(source)
            for target, onto in enumerate(self.columns):
                if target == source:
                    continue
                for count in range(1, longest + 1):
                    if not onto or self.may_lie(cards[-count], onto[-1]):
                        yield Move(source, target, count)

    def may_deal(self) -> bool:
        """Whether the stock may deal now."""
        if not self.stock:
            return False
        return self.variant.deal != "blocked" or all(self.columns)

    def deal_targets(self) -> list[int]:
        """Return the columns the next deal goes to, left to right; a last short deal goes to the first of them."""
        targets = list(range(len(self.columns)))
        if self.variant.deal == "non-empty":
            targets = [column for column in targets if self.columns[column]] or [0]
        return targets[: len(self.stock)]

    def fault(self, move: Move) -> str | None:
        """Return why a move is not legal, or None if it is."""
        if move == DEAL:
            return self._deal_fault()
        source, target, count = move
        width = len(self.columns)
        if not (0 <= source < width and 0 <= target < width):
            return f"there are only {width} columns"
        if source == target:
            return f"column {source + 1} is both source and target"
        cards, onto = self.columns[source], self.columns[target]
        if count < 1:
            return "a move takes a card at least"
        if count > len(cards):
            return f"column {source + 1} has " + (f"only {len(cards)} cards, not {count}" if cards else "no cards")
        if count > len(cards) - self.face_down[source]:
            return f"of the top {count} cards of column {source + 1} some lie face down"
        if count > self.unit_length(source):
            return f"{cards_text(cards[-count:])} on column {source + 1} do not move together"
        if onto and not self.may_lie(cards[-count], onto[-1]):
            return f"{card_text(cards[-count])} may not lie on {card_text(onto[-1])} of column {target + 1}"
        return None

    def _deal_fault(self) -> str | None:
        if not self.stock:
            return "the stock is empty"
        if not self.may_deal():
            return f"the stock may not deal while column {self.columns.index([]) + 1} is empty"
        return None

    # ------------------------------------------------------------------ play and undo

    def play(self, move: Move) -> Played:
        """Play a legal move and all that follows from it; return the record that `undo` takes.

        Whether the move is legal is for the caller to know: from `legal_moves`, or by `fault`.
        """
        if move == DEAL:
            onto = tuple(self.deal_targets())
            cards = tuple(self.stock[: len(onto)])
            del self.stock[: len(onto)]
            for column, card in zip(onto, cards, strict=True):
                self.columns[column].append(card)
            changed: Iterable[int] = range(len(self.columns))
        else:
            source, target, count = move
            onto = (target,)
            cards = tuple(self.columns[source][-count:])
            del self.columns[source][-count:]
            self.columns[target].extend(cards)
            changed = (source, target)
        events = [event for column in changed for event in self._settle(column)]
        return Played(move, cards, onto, tuple(events))

    def _settle(self, column: int) -> Iterator[Event]:
        """Remove complete sets from a column and turn up its top card, until neither is left to do."""
        cards = self.columns[column]
        while cards:
            if self.face_down[column] == len(cards):
                self.face_down[column] -= 1
                yield Event(column, ())
            elif self.has_set(column):
                removed = tuple(cards[-SET_SIZE:])
                del cards[-SET_SIZE:]
                self.sets_done += 1
                yield Event(column, removed)
            else:
                return

    def undo(self, played: Played) -> None:
        """Take back the last move played."""
        for column, removed in reversed(played.events):
            if removed:
                self.columns[column].extend(removed)
                self.sets_done -= 1
            else:
                self.face_down[column] += 1
        if played.move == DEAL:
            for column in played.onto:
                self.columns[column].pop()
            self.stock[:0] = played.cards
        else:
            source, target, count = played.move
            del self.columns[target][-count:]
            self.columns[source].extend(played.cards)

    # ------------------------------------------------------------------ the state of things

    @property
    def won(self) -> bool:
        """Whether all sets are gone."""
        return self.sets_done >= self.variant.sets_needed

    @property
    def stuck(self) -> bool:
        """Whether the game is over without a win: neither a move nor a deal is left."""
        return not self.won and not self.may_deal() and next(self._column_moves(), None) is None


def walk(board: Board, line: Iterable[Move] | str) -> Iterator[tuple[Played | None, Position]]:
    """Play a line, its text or its moves, and yield what each move brought about and the position after it.

    The first item is the start, with None for what was played. It is one position all along, which the next item
    changes: keep its `board()`, not itself.

    Raises
    ------
    LineError
        A move is not legal, or the game is won already; names its number, from 1, and what is illegal about it.
    """
    position = Position(board)
    moves = parse_line(line) if isinstance(line, str) else line
    yield None, position
    for number, move in enumerate(moves, 1):
        if position.won:
            raise LineError(f"move {number}: the game is won already")
        if fault := position.fault(move):
            raise LineError(f"move {number}: {fault}")
        yield position.play(move), position


def replay(board: Board, line: Iterable[Move] | str) -> Position:
    """Play a line and return where it ends (see `walk`): won or not is for the caller to see."""
    return deque(walk(board, line), maxlen=1)[0][1]


class Win(NamedTuple):
    """The counts of a won line: its moves, deals included; the deals among them; its Spider score."""

    moves: int
    deals: int
    score: int


def win_of(board: Board, line: str | Sequence[int]) -> Win:
    """Return the counts of a won line, its text or the engine's numbers of its moves given.

    The last deal of a line may complete several sets at once, more than the game needs: each of them scores.

    Raises
    ------
    LineError
        The line does not win the board with its last move; says where and why.
    """
    moves = parse_line(line) if isinstance(line, str) else [engine_move(move) for move in line]
    position = replay(board, moves)
    if not position.won:
        done, needed = position.sets_done, position.variant.sets_needed
        raise LineError(f"the line ends after {len(moves)} moves with {done} of {needed} sets removed")
    return Win(len(moves), moves.count(DEAL), spider_score(len(moves), position.sets_done))


def spider_score(moves: int, sets: int) -> int:
    """Return the Spider score: 500, less 1 a move or deal, and 100 a completed set; it may go below zero."""
    return 500 - moves + 100 * sets


def sequence_points(position: Position) -> int:
    """Return the position score of another site for Spider, Relaxed and Easy: 104 when won.

    Every longest face-up sequence of the kind that makes a set, from a King down and anywhere in a column, counts its
    cards; a set that is gone counts 13.
    """
    points = SET_SIZE * position.sets_done
    for cards, down in zip(position.columns, position.face_down, strict=True):
        counting = False
        for i in range(down, len(cards)):
            if cards[i] & 15 == KING:
                counting = True
            elif counting:
                counting = position._joined(position.variant.sets, cards[i], cards[i - 1])
            points += counting
    return points
