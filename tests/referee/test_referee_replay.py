"""The referee's compiled rules against the readable ones: legal moves, positions and wins are the same everywhere."""

import random

import numpy as np
import pytest

from pipeline.errors import LineError, SolverFault
from pipeline.game import rules
from pipeline.game.codes import engine_number
from pipeline.game.deals import deal
from pipeline.game.lines import MOVES_BY_TEXT, encode_line, parse_line
from pipeline.game.moves import DEAL
from pipeline.game.rules import Position, Win, win_of
from pipeline.game.variants import load_variant, variant_ids
from pipeline.referee.replay import line_text, verify_line
from pipeline.referee.table import empty_table, lay_out, packed, play

EVERY_MOVE = list(MOVES_BY_TEXT.values())
EVERY_NUMBER = list(map(engine_number, EVERY_MOVE))


def test_the_engine_s_numbers_have_the_texts_of_their_moves():
    assert line_text(np.array(EVERY_NUMBER, np.uint16)) == encode_line(EVERY_MOVE)
    assert line_text(np.array([], np.uint16)) == ""


def judged_by(judge, board, line):
    """Return what a line comes to, or what is wrong with it."""
    try:
        return judge(board, line)
    except LineError as error:
        return str(error)


def state_of(t):
    """Return a table as the attributes of a position."""
    columns = [t.cards[column, : t.heights[column]].tolist() for column in range(t.columns)]
    stock = t.stock[t.dealt : t.stock_size].tolist()
    return columns, t.downs[: t.columns].tolist(), stock, t.sets


def same_play(board, moves, rng, tries):
    """Play moves, or random ones, by both rules; at each position try `tries` of all moves that can be written."""
    position, table = Position(board), empty_table(board.variant)
    lay_out(table[0], packed(board))
    tried = 0
    for move in moves:
        legal = position.legal_moves()
        numbers = {engine_number(move) for move in legal}
        for number in rng.sample(EVERY_NUMBER, tries):
            assert play(table.copy()[0], number) == (number in numbers)
        for one in legal:
            other = table.copy()[0]
            assert play(other, engine_number(one))
            played = position.play(one)
            assert state_of(other) == (position.columns, position.face_down, position.stock, position.sets_done)
            position.undo(played)
        tried += tries + len(legal)
        move = move or (rng.choice(legal) if legal else None)
        if not move:
            break
        assert play(table[0], engine_number(move))
        position.play(move)
    return tried


def mutations(moves, rng):
    yield moves
    yield moves[:-1]
    yield [*moves, DEAL]
    for _ in range(3):
        at = rng.randrange(len(moves))
        yield moves[:at] + moves[at + 1 :]
        yield [*moves[:at], rng.choice(EVERY_MOVE), *moves[at + 1 :]]
        yield [*moves[:at], rng.choice(moves), *moves[at:]]
        source, target, cards = moves[at]
        yield [*moves[:at], (source, target, max(1, cards - 1)) if cards else DEAL, *moves[at + 1 :]]


def test_both_agree_on_won_lines_and_on_spoilt_ones(won_lines):
    rng = random.Random(1)
    won = spoilt = 0
    for variant, seed, line in won_lines:
        # The same line on the same cards under other rules is worth a judgement, too.
        others = ["spider-relaxed", "spider-easy", "spider-free-deal"] if variant.columns[0] == 6 else []
        for played in {variant, *map(load_variant, others)}:
            board = deal(played, seed)
            for moves in mutations([tuple(move) for move in parse_line(line)], rng):
                text = encode_line(moves)
                expected = judged_by(win_of, board, text)
                assert judged_by(verify_line, board, text) == expected
                assert judged_by(verify_line, board, list(map(engine_number, parse_line(text)))) == expected
                won, spoilt = won + isinstance(expected, Win), spoilt + isinstance(expected, str)
    assert won > 15
    assert spoilt > 300


def test_both_play_won_lines_alike(won_lines):
    rng = random.Random(2)
    assert sum(same_play(deal(variant, seed), parse_line(line), rng, 20) for variant, seed, line in won_lines) > 20_000


@pytest.mark.parametrize("variant_id", variant_ids())
@pytest.mark.parametrize("games", [2, pytest.param(200, marks=pytest.mark.slow)])
def test_both_play_at_random_alike(variant_id, games):
    rng = random.Random(variant_id)
    for seed in range(games):
        same_play(deal(load_variant(variant_id), seed), [None] * 80, rng, 100)


def test_sets_of_mixed_suits(lay):
    column = "KS QH JS 10D 9S 8C 7S 6H 5S 4S 3S 2D"
    for variant in ("spider-relaxed", "spider-easy"):
        board = lay(variant, [f"[7D] 9D {column}", "AC"], sets_done=7)
        assert verify_line(board, "ba") == verify_line(board, [0x101]) == Win(1, 0, 1299)
    with pytest.raises(LineError, match="the line ends after 1 moves with 7 of 8 sets removed"):
        verify_line(lay("spider-4", [column, "AC"], sets_done=7), "ba")


def test_a_set_by_a_deal(lay):
    column = "KS QS JS 10S 9S 8S 7S 6S 5S 4S 3S 2S"
    board = lay("spider-free-deal", [column, f"[9H] {column}"], "AS AS", sets_done=6)
    assert verify_line(board, "-").moves == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("aa", "move 1: column 1 is both source and target"),
        ("pa", "move 1: there are only 10 columns"),
        ("ap", "move 1: there are only 10 columns"),
        ("-", "move 1: the stock is empty"),
        ("ba", "the line ends after 1 moves with 1 of 8 sets removed"),
        ("", "the line ends after 0 moves with 1 of 8 sets removed"),
        ("baxx", "move 2: 'xx' is not a move"),
        ([0x101, 0x100], "move 2: column 1 is both source and target"),
        ([0x101, 0x0], "move 2: column 1 is both source and target"),
        ([0x010], "move 1: a move takes a card at least"),
    ],
)
def test_what_does_not_win_is_explained(lay, line, message):
    board = lay("spider-4", ["6S", "5S"], sets_done=1)
    with pytest.raises(LineError, match=message):
        verify_line(board, line)


def test_moves_after_the_win_are_refused(lay):
    board = lay("spider-1", ["KS QS JS 10S 9S 8S 7S 6S 5S 4S 3S 2S", "AS", "KS"], sets_done=7)
    assert verify_line(board, "ba").moves == 1
    with pytest.raises(LineError, match="move 2: the game is won already"):
        verify_line(board, "baca")


def test_a_difference_from_the_rules_is_a_fault_of_the_solver(lay, monkeypatch):
    board = lay("spider-4", ["6S", "5S"], sets_done=1)
    monkeypatch.setattr(rules, "win_of", lambda *_: Win(1, 0, 0))
    with pytest.raises(SolverFault):
        verify_line(board, "ba")
