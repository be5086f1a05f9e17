"""Boards made by playing backwards from a won game, so that a win is known: what games that go well come to.

`unplayed` puts sets back on the table, takes moves back at random and gathers rows into the stock. The moves it took
back, in reverse, are a winning line.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from pipeline.game.boards import Board
from pipeline.game.deals import deal
from pipeline.game.lines import encode_line
from pipeline.game.moves import DEAL, Move
from pipeline.game.sequences import suit_group
from pipeline.game.variants import Variant

ACE, KING, SET = 1, 13, 13


class Unplayed:
    """A game on its way back from the win."""

    def __init__(self, variant: Variant, rng: Random) -> None:
        self.variant, self.rng = variant, rng
        self.columns: list[list[int]] = [[] for _ in variant.columns]
        self.stock: list[int] = []
        self.line: list[Move] = []
        cards = sorted(card for column in deal(variant, 1).columns for card in column) + list(deal(variant, 1).stock)
        self.suits = sorted(card >> 4 for card in cards if card & 15 == ACE)
        rng.shuffle(self.suits)

    @property
    def sets_done(self) -> int:
        return len(self.suits)

    def unit(self, column: list[int]) -> int:
        """How many cards move together from the top."""
        n = 1 if column else 0
        while n < len(column) and self.joined(self.variant.unit, column[-n], column[-n - 1]):
            n += 1
        return n

    def ends_in_set(self, column: list[int]) -> bool:
        return (
            len(column) >= SET
            and (self.variant.wrap or column[-1] & 15 == ACE)
            and all(self.joined(self.variant.sets, column[-k], column[-k - 1]) for k in range(1, SET))
        )

    def put_back(self) -> bool:
        """Put a set back by taking back the move that completed it: its last cards go to another column."""
        source = self.rng.randrange(len(self.columns))
        target = self.rng.choice([c for c in range(len(self.columns)) if c != source])
        suit = self.suits[-1]
        n = self.rng.randint(1, SET - 1)
        whole = [suit << 4 | rank for rank in range(KING, 0, -1)]
        columns = [list(column) for column in self.columns]
        columns[target] += whole[:-n]
        columns[source] += whole[-n:]
        if any(map(self.ends_in_set, columns)):
            return False
        self.suits.pop()
        self.columns = columns
        self.line.append(Move(source, target, n))
        return True

    def take_back(self, *, tidy: float) -> bool:
        """Take a move back at random; `tidy` is the chance that it must not break a column up."""
        target = self.rng.randrange(len(self.columns))
        column = self.columns[target]
        unit = self.unit(column)
        if not unit:
            return False
        fits = [n for n in range(1, unit + 1) if n == len(column) or self.lies(column[-n], column[-n - 1])]
        if not fits:
            return False
        n = self.rng.choice(fits)
        if self.rng.random() < tidy:
            n = fits[-1]
            if n != len(column) and not any(not c for c in self.columns):
                return False
        source = self.rng.choice([c for c in range(len(self.columns)) if c != target])
        if self.rng.random() < tidy:
            onto = [
                c
                for c in range(len(self.columns))
                if c != target and self.columns[c] and self.joined(self.variant.unit, column[-n], self.columns[c][-1])
            ]
            if not onto:
                return False
            source = self.rng.choice(onto)
        moved = column[-n:]
        if self.ends_in_set(self.columns[source] + moved):
            return False
        self.columns[source] += moved
        del column[-n:]
        self.line.append(Move(source, target, n))
        return True

    def spread(self) -> None:
        """Take a move back that lays cards on a short column, until each has a card to deal and one to keep."""
        short = [c for c, column in enumerate(self.columns) if len(column) < 2]
        long = [c for c, column in enumerate(self.columns) if len(column) > 2]
        if not short or not long:
            return
        source, target = self.rng.choice(short), self.rng.choice(long)
        column = self.columns[target]
        fits = [n for n in range(1, self.unit(column) + 1) if n < len(column) and self.lies(column[-n], column[-n - 1])]
        if fits:
            n = min(self.rng.choice(fits), len(column) - 2)
            if n in fits and not self.ends_in_set(self.columns[source] + column[-n:]):
                self.columns[source] += column[-n:]
                del column[-n:]
                self.line.append(Move(source, target, n))

    def lies(self, card: int, below: int) -> bool:
        return below & 15 == (card & 15) + 1 or (self.variant.wrap and (card & 15, below & 15) == (KING, ACE))

    def joined(self, kind: str, card: int, below: int) -> bool:
        return self.lies(card, below) and suit_group(kind, card >> 4) == suit_group(kind, below >> 4)

    def gather(self) -> bool:
        """Take a deal back: the last card of every column goes to the front of the stock."""
        if not all(self.columns):
            return False
        columns = [column[:-1] for column in self.columns]
        if self.variant.deal != "all" and not all(columns):
            return False
        if any(map(self.ends_in_set, columns)):
            return False
        self.stock = [column[-1] for column in self.columns] + self.stock
        self.columns = columns
        self.line.append(DEAL)
        return True

    def board(self) -> Board:
        blank = deal(self.variant, 1)
        return replace(
            blank,
            numbering=None,
            seed=None,
            columns=tuple(map(tuple, self.columns)),
            face_down=(0,) * len(self.columns),
            stock=tuple(self.stock),
            sets_done=self.sets_done,
        )

    def winning_line(self) -> str:
        return encode_line(reversed(self.line))


def unplayed(variant: Variant, rng: Random, *, sets: int, rows: int, moves: int, tidy: float) -> tuple[Board, str]:
    """Return a board with `sets` to go and `rows` in the stock, and a line that wins it."""
    game = Unplayed(variant, rng)
    put = 0
    for _ in range(20_000):
        if put < sets:
            put += game.put_back()
            for _ in range(rng.randrange(4)):
                game.take_back(tidy=0.2)
        elif rows:
            game.spread()
            rows -= game.gather()
        else:
            break
    for _ in range(moves * 20):
        moves -= game.take_back(tidy=tidy)
        if moves <= 0:
            break
    return game.board(), game.winning_line()
