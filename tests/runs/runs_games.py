"""A game so easy that the referee's own moves win it at once: real lines without the engine."""

import functools
import heapq
import itertools

from pipeline.game.boards import Board
from pipeline.game.deals import deal
from pipeline.game.lines import encode_line
from pipeline.game.rules import Position, spider_score
from pipeline.game.variants import Variant

EASY = Variant(
    id="easy-game",
    name="Easy Game",
    packs=1,
    suits=1,
    columns=(4,) * 4 + (3,) * 12,
    face_down=(0,) * 16,
    deal="blocked",
    unit="any",
    sets="any",
    wrap=False,
    sets_needed=4,
    numberings=("native",),
)
EASY_TOML = """\
id = "easy-game"
name = "Easy Game"
packs = 1
suits = 1
columns = [4, 4, 4, 4, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3]
face_down = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
deal = "blocked"
unit = "any"
sets = "any"
sets_needed = 4
"""


def disorder(position):
    """Count the places where a card does not lie on the next higher one; sets that are gone count for much."""
    breaks = sum(
        (upper & 15) + 1 != (lower & 15) for column in position.columns for lower, upper in itertools.pairwise(column)
    )
    return 4 * breaks + sum(map(bool, position.columns)) - 20 * position.sets_done


@functools.cache
def winning_line(seed):
    """Return a line that wins a deal of the easy game: best first."""
    board: Board = deal(EASY, seed)
    start = Position(board)
    counter = itertools.count()
    queue = [(disorder(start), next(counter), ())]
    seen = set()
    while queue:
        _, _, moves = heapq.heappop(queue)
        position = Position(board)
        for move in moves:
            position.play(move)
        for move in position.legal_moves():
            undo = position.play(move)
            key = tuple(sorted(tuple(column) for column in position.columns))
            if position.won:
                return encode_line([*moves, move])
            if key not in seen:
                seen.add(key)
                heapq.heappush(queue, (disorder(position), next(counter), (*moves, move)))
            position.undo(undo)
    raise AssertionError(f"seed {seed} cannot be won")


def score_of(moves):
    return spider_score(moves, EASY.sets_needed)
