"""The referee's two halves against each other: what `verify_line` accepts, `replay` wins, and nothing else."""

import random

import pytest

from pipeline.errors import LineError
from pipeline.game.deals import deal
from pipeline.game.moves import DEAL, MOVES_BY_TEXT, encode_line, engine_number, parse_line
from pipeline.game.rules import Position, replay, verify_line
from pipeline.game.variants import load_variant, variant_ids
from pipeline.game.verify import reaches, winning_moves

EVERY_MOVE = list(MOVES_BY_TEXT.values())


def moves_if_won(board, moves):
    """Twin of `winning_moves`, by the readable referee."""
    try:
        return len(moves) if replay(board, moves).won else None
    except LineError:
        return None


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


def test_the_fast_path_reaches_the_main_variants():
    beyond = {variant_id for variant_id in variant_ids() if not reaches(load_variant(variant_id))}
    assert beyond == {"black-widow", "tarantula", "grounds-for-a-divorce-pysol", "big-divorce"}


def test_both_halves_agree_on_won_lines_and_on_spoilt_ones(won_lines):
    rng = random.Random(1)
    judged = {True: 0, False: 0}
    for variant, seed, line in won_lines:
        # The same line on the same cards under other rules is worth a judgement, too.
        others = ["spider-relaxed", "spider-easy", "spider-free-deal"] if variant.columns[0] == 6 else []
        for rules in {variant, *map(load_variant, others)}:
            if not reaches(rules):
                continue
            board = deal(rules, seed)
            for moves in mutations([tuple(move) for move in parse_line(line)], rng):
                text = encode_line(moves)
                expected = moves_if_won(board, parse_line(text))
                assert winning_moves(board, text) == expected
                assert winning_moves(board, list(map(engine_number, parse_line(text)))) == expected
                judged[expected is not None] += 1
    assert judged[True] > 15
    assert judged[False] > 300


@pytest.mark.parametrize("variant_id", [v for v in variant_ids() if reaches(load_variant(v))])
def test_both_halves_agree_on_random_play(variant_id):
    """Most random play wins nothing, so a game is called won as soon as it has a set, or from the start."""
    rng = random.Random(variant_id)
    for seed in range(6):
        board = deal(load_variant(variant_id), seed)
        position, moves = Position.of(board), []
        for _ in range(60):
            legal = position.legal_moves()
            if not legal:
                break
            moves.append(rng.choice(legal))
            position.play(moves[-1])
        assert winning_moves(board, encode_line(moves)) == moves_if_won(board, moves)


def test_sets_of_mixed_suits(lay):
    column = "KS QH JS 10D 9S 8C 7S 6H 5S 4S 3S 2D"
    for variant in ("spider-relaxed", "spider-easy"):
        board = lay(variant, [f"[7D] 9D {column}", "AC"], sets_done=7)
        assert verify_line(board, "ba") == verify_line(board, [0x101]) == 1
    with pytest.raises(LineError, match="the line ends after 1 moves with 7 of 8 sets removed"):
        verify_line(lay("spider-4", [column, "AC"], sets_done=7), "ba")


def test_a_set_by_a_deal(lay):
    column = "KS QS JS 10S 9S 8S 7S 6S 5S 4S 3S 2S"
    board = lay("spider-free-deal", [column, f"[9H] {column}"], "AS AS", sets_done=6)
    assert verify_line(board, "-") == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("aa", "move 1: column 1 is both source and target"),
        ("pa", "move 1: there are only 10 columns"),
        ("ap", "move 1: there are only 10 columns"),
        ("-", "move 1: the stock is empty"),
        ("ba", "the line ends after 1 moves with 1 of 8 sets removed"),
        ("", "the line ends after 0 moves with 1 of 8 sets removed"),
        ("baxx", "move 2: 'xx' is no move"),
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
    assert verify_line(board, "ba") == 1
    with pytest.raises(LineError, match="move 2: the game is won already"):
        verify_line(board, "baca")


def test_variants_beyond_the_fast_path_are_verified_all_the_same(won_lines):
    beyond = [(variant, seed, line) for variant, seed, line in won_lines if not reaches(variant)]
    assert beyond
    for variant, seed, line in beyond:
        assert verify_line(deal(variant, seed), line) == len(parse_line(line))
