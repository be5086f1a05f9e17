"""A hint from the middle of a won game finds a win again."""

import json
from dataclasses import replace

import pytest

from pipeline.game.deals import deal
from pipeline.game.forms import board_json
from pipeline.game.lines import parse_line
from pipeline.game.rules import Position, replay
from pipeline.game.variants import MAIN_VARIANTS, load_variant
from pipeline.pools.hint import HINT_LIMIT, Guide, Hint, hint, hint_json
from pipeline.pools.stream import answer_stream
from pipeline.referee.replay import verify_line
from pipeline.solver import Outcome, Solver


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
        assert verify_line(board, found.outcome.line).moves == found.outcome.moves
        answer = hint_json(found)
        assert answer["move"]["text"] == found.text
        assert answer["move"]["proved"] is True
        played = Position(board).play(found.move)
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
    from pipeline.game.moves import DEAL

    board = deal(load_variant("spider-4"), 1)
    outcome = Outcome("spider-4", "native", 1, "won", 9, 1, 1000, "-abba", 3)
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
        assert found.move in Position(board).legal_moves()


# ---- playing by hints


class Asked:
    """A stream of boards that are asked about one after the other, each when the last is answered."""

    def __init__(self, solver, node_limit=HINT_LIMIT):
        self._board = None
        self._answers = answer_stream(iter(lambda: json.dumps(board_json(self._board)), None), node_limit, None, solver)

    def __call__(self, board):
        self._board = board
        return json.loads(next(self._answers))


def in_play(name, seed):
    """Return a game at its start, to be played."""
    return Position(deal(load_variant(name), seed))


@pytest.mark.parametrize("seed", [2, 4, 6, 8, 9])
@pytest.mark.parametrize("name", ["spider-4", "spider-2"])
def test_a_stream_that_follows_its_hints_ends_won(solver, name, seed):
    ask, position = Asked(solver), in_play(name, seed)
    first = ask(position.board())
    assert verify_line(position.board(), first["line"]).moves == first["moves"]
    line = parse_line(first["line"])
    for played, move in enumerate(line):
        answer = ask(position.board())
        assert (answer["verdict"], answer["moves"]) == ("won", len(line) - played)
        assert parse_line(answer["move"]["line"]) == [move]
        assert parse_line(answer["line"]) == line[played:]
        assert verify_line(position.board(), answer["line"]).moves == answer["moves"]
        assert (answer["positions"] == 0) == (played > 0)
        position.play(move)
    assert position.won
    assert (ask(position.board())["verdict"], ask(position.board())["line"]) == ("won", "")


def test_several_moves_along_the_line_and_back_stay_on_it(solver):
    ask, position = Asked(solver), in_play("spider-4", 2)
    line = parse_line(ask(position.board())["line"])
    records = [position.play(move) for move in line[:20]]
    assert parse_line(ask(position.board())["line"]) == line[20:]
    for record in reversed(records[15:]):
        position.undo(record)
    assert parse_line(ask(position.board())["line"]) == line[15:]


def test_a_board_off_the_line_is_searched_anew(solver):
    ask, position = Asked(solver), in_play("spider-4", 2)
    line = parse_line(ask(position.board())["line"])
    other = next(move for move in position.legal_moves() if move != line[0])
    position.play(other)
    answer, fresh = ask(position.board()), hint_json(hint(position.board(), solver=solver))
    assert answer == fresh
    assert answer["positions"] > 0


def test_games_played_side_by_side_each_follow_their_line(solver):
    ask, games = Asked(solver), [in_play("spider-4", 2), in_play("spider-2", 2), in_play("spider-4", 6)]
    lengths = [ask(game.board())["moves"] for game in games]
    for played in range(1, max(lengths) + 1):
        for game, length in zip(games, lengths, strict=True):
            if not game.won:
                game.play(parse_line(ask(game.board())["line"])[0])
                assert game.won == (played == length)
    assert all(game.won for game in games)


def test_a_line_is_of_its_rules_and_the_oldest_is_forgotten(solver):
    guide, position = Guide(solver=solver, lines_kept=1), in_play("spider-2", 2)
    position.play(guide.hint(position.board()).move)
    board = position.board()
    assert guide.hint(board).outcome.positions == 0
    assert guide.hint(replace(board, variant=replace(board.variant, deal="all"))).outcome.positions > 0
    assert guide.hint(board).outcome.positions > 0


def test_an_unsettled_hint_has_no_line(solver):
    answer = Asked(solver, 50)(deal(load_variant("spider-4"), 2))
    assert (answer["verdict"], answer["line"], answer["moves"]) == ("unsettled", None, None)
