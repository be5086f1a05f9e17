"""The solver: what it says of a board, and that it believes no win unreplayed."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from pipeline import solver
from pipeline.engine.records import Result
from pipeline.engine.search import Search
from pipeline.errors import BoardError, LineError, SolverFault
from pipeline.game.boards import Board
from pipeline.game.deals import deal
from pipeline.game.lines import encode_line, parse_line
from pipeline.game.moves import DEAL
from pipeline.game.rules import Position, replay, spider_score
from pipeline.game.shorten import shorten
from pipeline.game.variants import load_variant, variant_ids
from pipeline.pools.hint import hint
from pipeline.solver import Outcome, Solver, engine_rules, folds, solve, warm


@pytest.fixture(scope="module")
def one():
    return Solver()


def board_of(variant="spider-1", seed=1, numbering="native"):
    return deal(load_variant(variant), seed, numbering)


@pytest.mark.parametrize(
    ("variant", "seed"),
    [("spider-1", 1), ("spider-2", 4), ("spider-easy", 1), ("spider-relaxed", 2), ("simple-simon", 1)],
)
def test_a_win(one, variant, seed):
    board = board_of(variant, seed)
    outcome = one.solve(board, 50_000)
    assert outcome.verdict == "won"
    assert (outcome.variant, outcome.numbering, outcome.seed) == (variant, "native", seed)
    assert 0 < outcome.expanded < outcome.positions <= outcome.node_limit == 50_000
    moves = parse_line(outcome.line)
    assert replay(board, moves).won
    assert outcome.moves == len(moves)
    assert outcome.deals == moves.count(DEAL)
    assert outcome.score == spider_score(len(moves), board.variant.sets_needed)
    assert outcome.score == 500 - len(moves) + 100 * board.variant.sets_needed
    assert len(shorten(board, outcome.line)) <= len(outcome.line)


def test_unsettled(one):
    outcome = one.solve(board_of("spider-4", 1), 10)
    assert outcome == Outcome("spider-4", "native", 1, "unsettled", 10, outcome.expanded, 10)
    assert outcome.line is outcome.moves is outcome.deals is outcome.score is None


def test_lost(one):
    outcome = one.solve(board_of("simple-simon", 68), 400_000)
    assert outcome.verdict == "lost"
    assert outcome.positions < 400_000
    assert outcome.line is None


def test_a_board_that_is_no_numbered_deal(one):
    position = Position(board_of())
    for move in parse_line(one.solve(board_of(), 5000).line)[:60]:
        position.play(move)
    outcome = one.solve(position.board(), 5000)
    assert outcome.verdict == "won"
    assert outcome.numbering is outcome.seed is None


def test_won_already(one):
    variant = load_variant("spider-1")
    outcome = one.solve(Board(variant, None, None, ((),) * 10, (0,) * 10, (), 8), 10)
    assert (outcome.verdict, outcome.line, outcome.moves, outcome.score) == ("won", "", 0, 1300)


def test_solve_is_a_solver_for_one():
    assert solve(board_of(), 5000) == Solver().solve(board_of(), 5000)


def test_one_solver_for_all_variants(one):
    first = {variant: one.solve(board_of(variant, 3), 500) for variant in variant_ids()}
    assert {variant: one.solve(board_of(variant, 3), 500) for variant in reversed(variant_ids())} == first
    assert {variant: outcome.variant for variant, outcome in first.items()} == {v: v for v in variant_ids()}


def test_variants_of_one_name_are_told_apart_by_their_rules(one):
    board = board_of("spider-4", 1)
    easier = dataclasses.replace(board, variant=dataclasses.replace(board.variant, unit="any", sets="any"))
    assert one.solve(board, 2000).verdict == "unsettled"
    assert one.solve(easier, 100_000).verdict == "won"


def test_variants_of_one_game_are_told_apart_by_their_names(one):
    """The name chooses the weights: what was solved before must not."""
    board = board_of("spider-4", 2)
    renamed = dataclasses.replace(board, variant=dataclasses.replace(board.variant, id="mine"))
    alone = {mine.variant.id: Solver().solve(mine) for mine in (board, renamed)}
    assert alone["mine"].positions != alone["spider-4"].positions
    for order in ((board, renamed), (renamed, board)):
        solver = Solver()
        assert {mine.variant.id: solver.solve(mine) for mine in order} == alone


# ---------------------------------------------------------------- sets on the table

SPADES, HEARTS = (tuple(suit << 4 | rank for rank in range(13, 0, -1)) for suit in (3, 2))


def hand_made(variant, columns, face_down=(), sets_done=0):
    rules = load_variant(variant)
    spare = len(rules.columns)
    columns = (*columns, *((),) * (spare - len(columns)))
    return Board(rules, None, None, columns, (*face_down, *(0,) * (spare - len(face_down))), (), sets_done)


@pytest.mark.parametrize(
    ("columns", "face_down", "number"),
    [
        ([HEARTS[:12], HEARTS[12:], SPADES], (), 3),
        ([HEARTS[:12] + SPADES, HEARTS[12:]], (), 1),
        ([(), SPADES + HEARTS[11:], HEARTS[:11]], (), 2),
        ([HEARTS[11:], HEARTS[:10] + SPADES, HEARTS[10:11]], (0, 9), 2),
    ],
    ids=["alone", "on top", "under other cards", "on cards face down"],
)
@pytest.mark.parametrize("variant", ["spider-4", "spider-relaxed", "black-widow", "grounds-for-a-divorce-pysol"])
def test_a_set_that_would_have_left_is_refused(one, variant, columns, face_down, number):
    """The engine would take it away at another time than the referee does: a fault, or a wrong verdict."""
    board = hand_made(variant, columns, face_down, 6)
    for ask in (one.solve, one.hint):
        with pytest.raises(BoardError, match=f"^column {number}: K.* A[HS] is a set; it would have left$"):
            ask(board, 1000)


@pytest.mark.parametrize("variant", ["spider-4", "spider-relaxed", "black-widow", "grounds-for-a-divorce-pysol"])
@pytest.mark.parametrize("down", [1, 5, 12])
@pytest.mark.parametrize("above", [(), HEARTS[10:]])
def test_cards_face_down_make_no_set(one, variant, down, above):
    """It leaves when they are turned up and it lies together again, not before."""
    board = hand_made(variant, [SPADES + above, HEARTS[: 13 - len(above)]], (down,), 6)
    if not above:  # Hearts are whole then, too: leave their King down
        board = dataclasses.replace(board, face_down=(down, 1, *board.face_down[2:]))
    outcome = one.solve(board, 20_000)
    assert outcome.verdict == "won"
    assert replay(board, outcome.line).won


# ---------------------------------------------------------------- boards that are none


@pytest.mark.parametrize(
    ("variant", "change", "expected"),
    [
        ("spider-4", {"face_down": (9,) * 10}, "^column 1: 9 of its 6 cards face down; 5 at most, the last is up$"),
        ("spider-4", {"face_down": (-1,) * 10}, "^column 1: -1 of its 6 cards face down"),
        ("spider-4", {"face_down": (0,) * 9}, "^face_down: 9; spider-4 has 10$"),
        ("spider-4", {"columns": ((),) * 11}, "^columns: 11; spider-4 has 10$"),
        ("spider-4", {"stock": (99,) * 50}, "^stock: 99 is not a card"),
        ("spider-4", {"stock": (0xC1,) * 50}, "^stock: 193 is not a card"),
        ("spider-1", {"sets_done": 7}, "^104 cards; with 7 sets done spider-1 has 13; missing: none$"),
        ("spider-1", {"sets_done": 8}, "^104 cards; with 8 sets done spider-1 has 0"),
        ("spider-2", {"stock": deal("spider-2", 1).stock[1:]}, "^103 cards; with 0 sets done spider-2 has 104"),
        ("simple-simon", {"columns": ((1,) * 5,) * 8 + ((1,) * 6,) * 2}, "^AC occurs 52 times"),
    ],
)
def test_a_board_that_cannot_come_about_is_refused(one, variant, change, expected):
    """As the command line refuses it in a file: a verdict on it would say nothing."""
    board = dataclasses.replace(board_of(variant, 1), numbering=None, seed=None, **change)
    for ask in (one.solve, one.hint, hint):
        with pytest.raises(BoardError, match=expected):
            ask(board, 1000)


@pytest.mark.parametrize("variant", variant_ids())
def test_a_board_of_a_game_going_on_is_none_of_those(one, variant):
    position = Position(dataclasses.replace(board_of(variant, 2), numbering=None, seed=None))
    for _ in range(30):
        one.solve(position.board(), 10)
        if not (moves := list(position.legal_moves())):
            break
        position.play(moves[-1])


# ---------------------------------------------------------------- folding


def test_folding():
    assert [variant for variant in variant_ids() if folds(load_variant(variant))] == ["spider-easy"]
    assert engine_rules(load_variant("spider-easy")) == engine_rules(load_variant("spider-1"))


@pytest.mark.parametrize("seed", range(3))
def test_easy_is_one_suit_on_the_same_cards(one, seed):
    easy, single = one.solve(board_of("spider-easy", seed), 20_000), one.solve(board_of("spider-1", seed), 20_000)
    assert easy.verdict == single.verdict == "won"
    assert replay(board_of("spider-1", seed), easy.line).won
    assert replay(board_of("spider-easy", seed), single.line).won


# ---------------------------------------------------------------- hints


def test_hint_of_a_win_is_the_first_move_of_the_line(one):
    outcome, move = one.hint(board_of(), 5000)
    assert outcome == one.solve(board_of(), 5000)
    assert move == parse_line(outcome.line)[0]


@pytest.mark.parametrize("variant", ["spider-4", "grounds-for-a-divorce", "spider-relaxed", "mrs-mop"])
def test_hint_of_an_unsettled_board_is_legal(one, variant):
    board = board_of(variant, 6)
    outcome, move = one.hint(board, 300)
    assert outcome.verdict == "unsettled"
    assert move in Position(board).legal_moves()


def test_no_hint_where_there_is_no_move(one):
    tops = [suit << 4 | rank for rank in (13, 11, 9, 7, 5) for suit in (2, 3)]
    under = [card for card in SPADES + HEARTS if card not in tops]
    columns = [(*under[number::10], top) for number, top in enumerate(tops)]
    stuck = hand_made("spider-4", columns, [len(cards) - 1 for cards in columns], 6)
    outcome, move = one.hint(stuck, 100)
    assert outcome.verdict == "lost"
    assert move is None


# ---------------------------------------------------------------- faults


def win_of(line):
    """The engine's numbers of a line."""
    return [0xFFFF if move == DEAL else move.source | move.target << 4 | move.cards << 8 for move in parse_line(line)]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda moves: moves[:-1], "the line ends after"),
        (lambda moves: moves[1:], "move "),
        (lambda moves: [*moves, 0xFFFF], "move "),
        (lambda moves: [0x0221, *moves], "move 1"),
        (lambda moves: [0xFFFF] * 6 + moves, "move 6"),
        (lambda moves: [], "the line ends after 0 moves"),
    ],
)
def test_a_line_that_does_not_replay_is_a_fault_of_the_solver(one, monkeypatch, change, fault):
    moves = change(win_of(one.solve(board_of(), 5000).line))
    monkeypatch.setattr(Search, "solve", lambda *_: Result("won", 9, 3, np.array(moves, np.uint16)))
    for ask in (Solver().solve, Solver().hint):
        with pytest.raises(SolverFault, match=f"spider-1/native/1: the line found does not replay: {fault}") as caught:
            ask(board_of(), 5000)
        assert isinstance(caught.value.__cause__, LineError)
        assert caught.value.exit_code == 4
    nameless = dataclasses.replace(board_of(), numbering=None, seed=None)
    with pytest.raises(SolverFault, match="a board of spider-1: the line"):
        Solver().solve(nameless, 5000)


# ---------------------------------------------------------------- compiling ahead


def test_warm_says_so_once_for_each_width(monkeypatch):
    compiled, told = [], []
    monkeypatch.setattr("pipeline.engine.search.compile_for", compiled.append)
    monkeypatch.setattr("pipeline.engine.compiler.is_compiled", lambda width: False)
    warm(map(load_variant, variant_ids()), told.append)
    assert compiled == [10, 16]
    assert len(told) == 2
    monkeypatch.setattr("pipeline.engine.compiler.is_compiled", lambda width: True)
    warm(map(load_variant, variant_ids()), told.append)
    assert len(told) == 2


def test_lines_are_compact():
    line = solver.solve(board_of(), 5000).line
    assert encode_line(parse_line(line)) == line
