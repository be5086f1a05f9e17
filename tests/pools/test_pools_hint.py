"""A hint from the middle of a won game finds a win again."""

import pytest

from pipeline.game.deals import deal
from pipeline.game.lines import parse_line
from pipeline.game.rules import Position, replay, verify_line
from pipeline.game.variants import MAIN_VARIANTS, load_variant
from pipeline.pools.hint import HINT_LIMIT, Hint, hint, hint_json
from pipeline.solver import Solver


@pytest.fixture(scope="module")
def solver():
    return Solver()


def middles(solver, name, seeds):
    """Boards of won games played half-way."""
    variant = load_variant(name)
    for seed in seeds:
        board = deal(variant, seed)
        outcome = solver.solve(board)
        if outcome.line is not None:
            moves = parse_line(outcome.line)
            yield replay(board, moves[: len(moves) // 2]).board()


@pytest.mark.parametrize("name", MAIN_VARIANTS)
def test_a_hint_half_way_begins_a_win(solver, name):
    for board in middles(solver, name, range(900, 908)):
        found = hint(board, solver=solver)
        assert found.proved
        assert found.move == parse_line(found.outcome.line)[0]
        assert verify_line(board, found.outcome.line) == found.outcome.moves
        answer = hint_json(found)
        assert answer["move"]["text"] == found.text
        assert answer["move"]["proved"] is True
        played = Position.of(board).play(found.move)
        assert len(answer["move"]["cards"]) == len(played.cards)


@pytest.mark.slow
@pytest.mark.parametrize("name", MAIN_VARIANTS)
def test_a_hint_half_way_begins_a_win_in_99_of_100(solver, name):
    boards = list(middles(solver, name, range(1_000_000, 1_000_200)))
    won = sum(hint(board, HINT_LIMIT, solver).proved for board in boards)
    assert won >= 0.99 * len(boards)


def test_a_lost_board_has_no_hint(solver):
    found = hint(deal(load_variant("simple-simon"), 68), solver=solver)
    assert (found.outcome.verdict, found.move, found.text, found.proved) == ("lost", None, "", False)
    assert hint_json(found)["move"] is None


def test_a_hint_can_be_to_deal():
    from pipeline.game.lines import DEAL

    board = deal(load_variant("spider-4"), 1)
    outcome = type("Found", (), dict.fromkeys(("variant", "numbering", "seed", "positions", "expanded"), None))
    outcome.verdict, outcome.moves, outcome.node_limit = "won", 3, 1
    answer = hint_json(Hint(board, outcome, DEAL))["move"]
    assert answer["text"].startswith("deal 7S 4D 2D")
    assert (answer["deal"], answer["source"], answer["target"], answer["line"]) == (True, None, None, "-")
    assert len(answer["cards"]) == 10


@pytest.mark.parametrize("nodes", [1, 2, 30, 100])
@pytest.mark.parametrize("name", MAIN_VARIANTS)
def test_a_search_cut_short_still_has_a_try(solver, name, nodes):
    for seed in range(1, 6):
        board = deal(load_variant(name), seed)
        found = hint(board, nodes, solver)
        assert found.outcome.verdict == "unsettled"
        assert not found.proved
        assert found.move in Position.of(board).legal_moves()
