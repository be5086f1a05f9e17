"""Boards and limits at the edge: every one ends, and in a verdict that is right."""

from __future__ import annotations

import random
import time
from collections import Counter

import pytest
from engine_deals import facts, found_without_compiler, numbered, searcher
from engine_table import any_variant, same_position, start_of

from pipeline.engine.memory import (
    MAX_CHILDREN,
    MAX_MOVES,
    MAX_TABLE,
    MAX_WIDTH,
    POOL_FACTOR,
    WIDTHS,
    make_memory,
    search_record,
)
from pipeline.engine.records import DEAL_ALL, DEAL_BLOCKED, DEAL_NON_EMPTY, Rules, Start
from pipeline.engine.search import Search
from pipeline.game.boards import Board
from pipeline.game.rules import Position
from pipeline.referee.replay import verify_line
from pipeline.solver import engine_rules

SPIDER = Rules(10, DEAL_BLOCKED, 0, 0, False, 8)
KING, QUEEN, ACE = 13, 12, 1
NOTHING = (0,) * 10
HUGE = 200_000_000


def solve(start: Start, limit: int, rules: Rules = SPIDER):
    begin = time.monotonic()
    result = Search(rules, "spider-4").solve(start, limit)
    assert time.monotonic() - begin < 60
    return result


@pytest.mark.parametrize("limit", [1, 10, HUGE])
def test_neither_move_nor_stock_is_lost(limit):
    result = solve(Start(((KING,),) * 10, NOTHING, (), 0), limit)
    assert (result.verdict, result.positions, result.moves.tolist()) == ("lost", 1, [])


@pytest.mark.parametrize("deal", [DEAL_BLOCKED, DEAL_ALL, DEAL_NON_EMPTY])
def test_nothing_but_deals_is_lost_soon(deal):
    result = solve(Start(((KING,) * 5,) * 10, NOTHING, (KING,) * 54, 0), HUGE, SPIDER._replace(deal=deal))
    assert result.verdict == "lost"
    assert result.positions < 100


def test_a_card_that_goes_round_in_circles_is_lost_soon():
    """One King and nine empty columns while there is stock that can never be dealt."""
    result = solve(Start(((KING,), *((),) * 9), NOTHING, (ACE,) * 10, 0), HUGE)
    assert result.verdict == "lost"
    assert result.positions < 200_000  # the complete search has its turn


@pytest.mark.parametrize("limit", [1, 10, HUGE])
def test_won_already(limit):
    searcher("spider-1").solve(numbered("spider-1", 1), 5000)  # leaves a win behind
    result = solve(Start(((),) * 10, NOTHING, (), 8), limit)
    assert (result.verdict, result.positions, result.moves.tolist()) == ("won", 1, [])


def test_won_by_the_first_move():
    columns = (tuple(range(KING, ACE, -1)), (ACE,), *((),) * 8)
    result = solve(Start(columns, NOTHING, (), 7), HUGE)
    assert (result.verdict, result.positions, result.moves.tolist()) == ("won", 2, [1 | 0 << 4 | 1 << 8])
    assert solve(Start(columns, NOTHING, (), 7), 1).verdict == "unsettled"
    assert solve(Start(columns, NOTHING, (), 7), 2).verdict == "won"


def test_won_by_the_deal():
    columns = (tuple(range(KING, ACE, -1)), *((KING,),) * 9)
    result = solve(Start(columns, NOTHING, (ACE, *(KING,) * 9), 7), HUGE)
    assert (result.verdict, result.moves.tolist()) == ("won", [0xFFFF])


def test_a_limit_below_one_is_refused():
    with pytest.raises(ValueError, match="node_limit 0: at least 1"):
        searcher("spider-4").solve(numbered("spider-4", 1), 0)


# ---------------------------------------------------------------- tiny boards, settled by trying everything


def tiny_board(rng: random.Random) -> Board:
    """A set or two in three or four columns, with a bit of stock now and then."""
    width, sets = rng.choice((3, 4)), rng.choice((1, 2))
    deal = rng.choice(("blocked", "all", "non-empty"))
    unit, kind = rng.choice((("suit", "suit"), ("suit", "any"), ("any", "suit"), ("colour", "suit")))
    suits = rng.sample(range(4), 2)
    cards = [suits[i] << 4 | rank for i in range(sets) for rank in range(KING, 0, -1)]
    for _ in range(rng.choice((5, 10, 40))):
        i, j = rng.randrange(len(cards)), rng.randrange(len(cards))
        cards[i], cards[j] = cards[j], cards[i]
    stock = rng.choice((0, 0, rng.randrange(2 * width)))
    cards, rest = cards[stock:], cards[:stock]
    cuts = sorted(rng.choices(range(len(cards) + 1), k=width - 1))
    columns = [tuple(cards[a:b]) for a, b in zip([0, *cuts], [*cuts, len(cards)], strict=True)]
    downs = tuple(rng.randrange(len(c)) if c and rng.random() < 0.5 else 0 for c in columns)
    return Board(any_variant(width, deal, unit, kind, False), None, None, tuple(columns), downs, tuple(rest), 4 - sets)


def truth(board: Board, limit: int) -> str | None:
    """Whether a board is won or lost, by the referee; None if that takes more positions than the limit."""
    position = Position(board)
    seen, todo = {same_position(start_of(position))}, [position]
    while todo:
        if len(seen) > limit:
            return None
        position = todo.pop()
        for move in position.legal_moves():
            child = Position(position.board())
            child.play(move)
            if child.won:
                return "won"
            place = same_position(start_of(child))
            if place not in seen:
                seen.add(place)
                todo.append(child)
    return "lost"


def test_tiny_boards():
    """Most passes over such boards die at once; what remains to be tried is tried."""
    rng = random.Random(3)
    verdicts: Counter[str] = Counter()
    while verdicts.total() < 80:
        board = tiny_board(rng)
        if any(map(Position(board).has_set, range(len(board.columns)))) or (expected := truth(board, 800)) is None:
            continue
        result = Search(engine_rules(board.variant), "spider-4").solve(start_of(board), 1_000_000)
        assert result.verdict == expected, board
        if expected == "won":
            verify_line(board, result.moves.tolist())
        verdicts[expected] += 1
    assert min(verdicts["won"], verdicts["lost"]) > 10


# ---------------------------------------------------------------- capacities


@pytest.mark.parametrize("width", WIDTHS)
def test_memory_has_room_for_what_is_written_into_it(width):
    pool = (POOL_FACTOR + 1) * MAX_WIDTH
    record = search_record(width)
    assert record.itemsize < 2**31  # numpy's limit
    assert record["alike"].shape[0] >= 2 * max(pool, MAX_CHILDREN)
    assert record["orders"].shape[0] >= max(pool, MAX_CHILDREN)
    assert record["kept"].shape[0] >= max(pool, MAX_CHILDREN)
    assert width * ((width - 1) + 13) <= MAX_MOVES
    assert MAX_CHILDREN >= MAX_WIDTH + MAX_MOVES
    assert MAX_TABLE // 4 > MAX_WIDTH * MAX_MOVES  # a layer after the last look at the table
    assert make_memory(width).nbytes == record.itemsize


DEALS = [["spider-1", 1, 500], ["grounds-for-a-divorce", 2, 200]]


def test_small_arenas_and_tables_change_nothing():
    """The runs are compacted at nearly every layer, and the table grows many times."""
    found = found_without_compiler(DEALS, COMPACT_FROM=150, FIRST_TABLE=16)
    for (variant, seed, limit), (*result, _) in zip(DEALS, found, strict=True):
        assert tuple(result) == facts(searcher(variant).solve(numbered(variant, seed), limit))


@pytest.mark.parametrize(
    "capacities",
    [
        {"MAX_NODES": 150},
        {"MAX_RUNS": 2048, "COMPACT_FROM": 1 << 30},
        {"MAX_TABLE": 1024, "FIRST_TABLE": 64},
    ],
    ids=lambda capacities: next(iter(capacities)),
)
def test_a_pass_at_its_capacity_ends_and_another_begins(capacities):
    limit = 2_000
    small = {"MAX_WIDTH": 16, "POOL_FACTOR": 40} | capacities
    for verdict, positions, _, moves, (passes, _) in found_without_compiler([["spider-4", 3, limit]], **small):
        assert (verdict, positions) == ("unsettled", limit)
        assert passes > 1
        assert moves
