"""The search of one process: beam and complete search by turns, until a verdict or the limit."""

from __future__ import annotations

import itertools
import threading
import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pipeline.engine import beam, exhaust
from pipeline.engine.compiler import COMPLETE, mark_compiled
from pipeline.engine.memory import MAX_RUN, make_memory, width_of
from pipeline.engine.records import DEAL_BLOCKED, Result, Rules, Start
from pipeline.engine.weights import WEIGHT_NAMES, Parameters, load_parameters

SLICE = 1 << 17  # positions of the beam between turns of the complete search
SHORT_SLICE = 1 << 14  # the same for one pack
LONGEST_LINE = 1 << 16
SPREAD = 40  # per cent by which the weights of a late pass may differ from the tuned ones
LONG_WIN = 200  # moves; longer wins of the complete search are shortened
LONGEST_WIN = 400  # moves of up to two packs; longer wins of either search are shortened, also by shortcuts
NEARBY = 200_000  # positions around a win, or around a piece of it, that shortcuts may pass
PIECE = 64  # moves of a piece
PROBE = 20_000  # positions of the beam from each position tried along a long win
PROBES = 16  # one more than the positions tried in a turn
STRAIGHTER = 32  # the last turn is the one that saves less than one move in 32
SORTED_MODES = (0, 1, beam.COMPLETE_MODE)  # come first on a board that is nearly sorted
LARGE_TABLE, LARGE_ARENA = 1 << 23, 1 << 21  # a memory that grew beyond is given back after the deal


class _Memory:
    """The beam's memory for one width, shared by the searches of a thread in turn."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.owner: Search | None = None
        self.renew()

    def renew(self) -> None:
        """Give the pages back to the operating system."""
        self.array = make_memory(self.width)
        self.owner = None


class _OfThread(threading.local):
    """The memories of the thread that asks; the kernels run without the interpreter's lock."""

    def __init__(self) -> None:
        self.by_width: dict[int, _Memory] = {}

    def memory(self, width: int) -> _Memory:
        return self.by_width.get(width) or self.by_width.setdefault(width, _Memory(width))


_OF_THREAD = _OfThread()


def exhaust_share(parameters: Parameters, cards: int, stock: int, positions: int) -> int:
    """Positions that the complete search may have reached when the beam has reached `positions`.

    A fixed function of the game, the cards in play and the positions spent, never of the limit: an outcome within a
    smaller limit can be read off a search with a larger one. Of one pack nine in ten deals that can be exhausted at all
    are so by 200,000 positions; of what is left after those the beam wins more. Two packs are seldom exhausted. Without
    a stock the attempts of the complete search win as much as the beam.
    """
    if not stock:
        return positions if positions >= 16_000 else 0
    if cards > 52:
        if positions < 100_000:
            return 0
        return parameters.complete_first + parameters.complete_share * positions // 1000
    return 0 if positions < 16_000 else min(4 * (positions - 10_000), 200_000 + positions // 8)


def never_deals(rules: Rules, start: Start) -> bool:
    """Whether stock is left that can never be dealt: too few cards to occupy every column, or to make a set."""
    if not start.stock or rules.deal != DEAL_BLOCKED:
        return False
    return sum(map(len, start.columns)) < min(rules.columns, 13)


def few_runs(rules: Rules, start: Start) -> bool:
    """Whether a board is so far sorted that dealing takes splitting runs, which most passes do not do.

    True with stock left that no empty column may be dealt, and at most two runs (or face-down cards) a column.
    """
    if not start.stock or rules.deal != DEAL_BLOCKED:
        return False
    runs = 0
    for cards, down in zip(start.columns, start.face_down, strict=True):
        up = cards[down:]
        runs += down + bool(up) + sum(upper != lower + 1 for upper, lower in itertools.pairwise(up))
    return runs <= 2 * rules.columns


class Search:
    """Settles positions of one kind of game. Reusable; not thread-safe, but each thread may have searches of its own.

    Parameters
    ----------
    rules
        The game.
    parameters
        Weights and beam, or the name of a shipped set.
    """

    def __init__(self, rules: Rules, parameters: Parameters | str = "default") -> None:
        self.rules = rules
        self.parameters = load_parameters(parameters) if isinstance(parameters, str) else parameters
        self._width = width_of(rules.columns)
        self._memory = _OF_THREAD.memory(self._width)
        self._moves = np.zeros(LONGEST_LINE, np.uint16)
        self._exhaust: exhaust.Exhaust | None = None

    def solve(self, start: Start, node_limit: int) -> Result:
        """Search a position to a verdict, or until `node_limit` positions have been reached.

        Parameters
        ----------
        start
            Where to begin.
        node_limit
            Most distinct positions to reach, at least 1.
        """
        if node_limit < 1:
            raise ValueError(f"node_limit {node_limit}: at least 1")
        if start.sets_done >= self.rules.sets_needed:
            return Result("won", 1, 0, self._moves[:0].copy())
        if never_deals(self.rules, start):
            return Result("lost", 1, 0, self._moves[:0].copy())
        self._memory = _OF_THREAD.memory(self._width)
        with np.errstate(over="ignore"):  # keys wrap around; without the compiler numpy would say so
            self._set_up(start)
            result = self._settle(start, node_limit)
        self._give_back()
        return result

    def _give_back(self) -> None:
        """Give a memory that has grown large back to the operating system."""
        m = self._memory.array[0]
        if m.mask >= LARGE_TABLE or m.most_runs > LARGE_ARENA:
            self._memory.renew()

    def _set_up(self, start: Start) -> None:
        if self._memory.owner is not self:
            self._write_rules()
            self._memory.owner = self
        m, modes = self._memory.array[0], self.parameters.modes
        if few_runs(self.rules, start):
            modes = (*SORTED_MODES, *modes)
        m.n_modes = len(modes)
        m.modes[: len(modes)] = modes
        self._root = (
            np.array([card for column in start.columns for card in column], np.uint8),
            np.array([len(column) for column in start.columns], np.uint8),
            np.array(start.face_down, np.uint8),
            start.sets_done,
        )
        cards, sizes, downs, sets_done = self._root
        beam.set_up(self._memory.array, cards, sizes, downs, np.array(start.stock, np.uint8), sets_done)

    def _write_rules(self) -> None:
        m, rules, parameters = self._memory.array[0], self.rules, self.parameters
        m.columns, m.deal, m.unit, m.wrap = rules.columns, rules.deal, rules.unit, rules.wrap
        m.any_sets, m.sets_needed = rules.sets != 0, rules.sets_needed
        m.first_width, m.growth, m.narrowing = parameters.first_width, parameters.growth, parameters.narrowing
        m.layers, m.last_layers, m.last_width = parameters.layers, parameters.last_layers, parameters.last_width
        self._write_weights(parameters.weights)
        m.brood = parameters.brood
        for card in range(64):
            rank = card & 15
            m.want_of[card] = 1 << card + 1 if 1 <= rank < 13 else 1 << card - 12 if rank == 13 and rules.wrap else 0

    def _write_weights(self, weights: Sequence[int]) -> None:
        m = self._memory.array[0]
        for name, weight in zip(WEIGHT_NAMES, weights, strict=True):
            m.w[name] = weight
        for n in range(1, MAX_RUN):
            m.run_score[n] = m.w.join * (n - 1) + m.w.run_square * n * n

    def _vary_weights(self) -> None:
        """Go on with weights around the tuned ones: a deal that these leave open may be easy for others."""
        passes = int(self._memory.array[0].passes)
        scale = [100 + (zlib.crc32(f"{passes} {name}".encode()) % (2 * SPREAD + 1)) - SPREAD for name in WEIGHT_NAMES]
        self._write_weights([weight * s // 100 for weight, s in zip(self.parameters.weights, scale, strict=True)])
        self._memory.owner = None  # the next search writes its own again
        beam.lay_root(self._memory.array, *self._root)

    def _settle(self, start: Start, node_limit: int) -> Result:
        memory, m = self._memory.array, self._memory.array[0]
        cards = sum(map(len, start.columns)) + len(start.stock)
        complete: exhaust.Exhaust | None = None
        spent = 0  # positions of the complete search
        given_up = False
        longest = LONGEST_WIN * max(cards, 104) // 104
        piece = SLICE if cards > 52 and start.stock else SHORT_SLICE
        pause = piece
        while True:
            m.limit = node_limit - spent
            status = beam.search(memory, pause)
            positions = int(m.positions)
            if status == beam.NEW_WEIGHTS:
                self._vary_weights()
                continue
            if status == beam.WON:
                won = self._result("won", spent, complete, self._line(int(m.win_node), int(m.win_move)))
                return won if len(won.moves) <= longest else self._shortened(start, won, longest)
            if status == beam.STUCK:
                return self._result("lost", 0, None, self._moves[:0])
            finished = status == beam.FINISHED
            if not given_up and status != beam.LIMIT:
                share = node_limit if finished else exhaust_share(self.parameters, cards, len(start.stock), positions)
                share = min(share, node_limit - positions)
                if share > spent:
                    complete = complete or self._start_complete(start)
                    verdict = complete.advance(share - complete.positions)
                    spent = complete.positions
                    if verdict == exhaust.LOST:
                        return self._result("lost", spent, complete, self._best_line())
                    if verdict == exhaust.WON:
                        won = self._result("won", spent, complete, complete.line())
                        return won if len(won.moves) <= LONG_WIN else self._shortened(start, won, longest)
                    given_up = verdict == exhaust.FULL
            if status == beam.LIMIT or positions + spent >= node_limit:
                return self._result("unsettled", spent, complete, self._best_line())
            if finished:  # nothing is left for the beam but to look again with other noise
                m.finished_modes = 0
            pause = positions + piece

    def _start_complete(self, start: Start) -> exhaust.Exhaust:
        if self._exhaust is None:
            self._exhaust = exhaust.Exhaust(self.rules)
        self._exhaust.start(start)
        return self._exhaust

    def _shortened(self, start: Start, won: Result, longest: int) -> Result:
        """Return a long win with fewer moves, if at all possible no more than `longest`.

        The positions this takes are not counted, since the deal is already settled.
        """
        self._give_back()  # the beam's short searches hide how large it was
        complete = self._start_complete(start)
        moves = self._straighten(complete, won.moves)
        for piece in (None, PIECE):
            if len(moves) > longest:
                moves = self._straighten(complete, _take_shortcuts(complete, moves, piece))
        return won._replace(moves=moves)

    def _straighten(self, complete: exhaust.Exhaust, moves: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint16]:
        """Let the beam look for direct ways from positions along a win, which it often finds."""
        while len(moves) > LONG_WIN:
            before = len(moves)
            for k in range(1, PROBES):
                way = moves[: before * k // PROBES]
                rest = self._beam_win(complete.position_after(way))
                if rest is not None:
                    moves = min(moves, np.concatenate([way, rest]), key=len)
                    break
            if not _much_shorter(moves, before):
                break
        return moves

    def _beam_win(self, start: Start) -> npt.NDArray[np.uint16] | None:
        """Return the moves of a win that the beam finds within `PROBE` positions, or None."""
        self._set_up(start)
        m = self._memory.array[0]
        m.limit = PROBE
        if beam.search(self._memory.array, PROBE) != beam.WON:
            return None
        return self._line(int(m.win_node), int(m.win_move))

    def _result(
        self, verdict: str, spent: int, complete: exhaust.Exhaust | None, moves: npt.NDArray[np.uint16]
    ) -> Result:
        m = self._memory.array[0]
        expanded = int(m.expanded) + (complete.expanded if complete is not None else 0)
        return Result(verdict, int(m.positions) + spent, expanded, moves)

    def _best_line(self) -> npt.NDArray[np.uint16]:
        return self._line(int(beam.best_state(self._memory.array)), None)

    def _line(self, node: int, last: int | None) -> npt.NDArray[np.uint16]:
        n = beam.trace(self._memory.array, node, self._moves)
        line = self._moves[len(self._moves) - n :]
        return np.append(line, np.uint16(last)) if last is not None else line.copy()


def _take_shortcuts(
    complete: exhaust.Exhaust, moves: npt.NDArray[np.uint16], piece: int | None
) -> npt.NDArray[np.uint16]:
    """Shorten a win through the positions around it, the whole of it or overlapping pieces one by one."""
    while True:
        before, first = len(moves), 0
        while first < len(moves):
            moves = complete.shortened(moves, NEARBY, first, piece)
            first += len(moves) if piece is None else piece // 2
        if not _much_shorter(moves, before):
            return moves


def _much_shorter(moves: npt.NDArray[np.uint16], before: int) -> bool:
    """Whether a turn has saved enough of `before` moves for another one."""
    return STRAIGHTER * len(moves) <= (STRAIGHTER - 1) * before


def _some_board(columns: int) -> tuple[Rules, Start]:
    pile = tuple(suit << 4 | rank for suit in range(4) for rank in range(1, 14))
    start = Start(tuple(pile[i::columns] for i in range(columns)), (1,) * columns, (), 0)
    return Rules(columns, DEAL_BLOCKED, 0, 0, False, 4), start


def compile_for(columns: int) -> None:
    """Compile the beam for boards of `columns` columns into the cache."""
    rules, start = _some_board(columns)
    Search(rules).solve(start, 500)
    mark_compiled(width_of(columns))


def compile_complete() -> None:
    """Compile the complete search into the cache; it serves boards of any width."""
    rules, start = _some_board(10)
    complete = exhaust.Exhaust(rules)
    complete.start(start)
    complete.advance(100)
    complete.shortened(np.array([0x110], np.uint16), 10)
    mark_compiled(COMPLETE)
