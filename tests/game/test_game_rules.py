"""The rules one by one, on boards laid by hand; then the referee as a whole."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import LineError
from pipeline.game.boards import check_board
from pipeline.game.cards import cards_text
from pipeline.game.deals import deal
from pipeline.game.moves import DEAL, Move
from pipeline.game.rules import Position, replay, sequence_points, spider_score
from pipeline.game.variants import load_variant, variant_ids

KING_TO_TWO = "KS QS JS 10S 9S 8S 7S 6S 5S 4S 3S 2S"
MIXED_KING_TO_TWO = "KS QH JS 10D 9S 8C 7S 6H 5S 4S 3S 2D"


def tops(position):
    return [cards_text(cards[-1:]) for cards in position.columns]


def moves_from(position, source):
    return {move[1:] for move in position.legal_moves() if move.source == source}


# ---------------------------------------------------------------------- what may be laid where


def test_a_card_goes_on_any_card_one_rank_higher_whatever_its_suit(lay):
    position = Position(lay("spider-4", ["5S", "6H", "6S", "5D", "4S", "7S", "KS", "AS", "QH", "9C"]))
    assert moves_from(position, 0) == {(1, 1), (2, 1)}
    assert moves_from(position, 1) == {(5, 1)}


def test_nothing_on_an_ace_and_no_king_on_it(lay):
    columns = ["AS", "KS", "2H", "9S", "9S", "9S", "9S", "9S", "9S", "9S"]
    assert moves_from(Position(lay("spider-4", columns)), 1) == set()
    assert moves_from(Position(lay("spider-4", columns, wrap=True)), 1) == {(0, 1)}
    assert moves_from(Position(lay("spider-4", columns, wrap=True)), 2) == set()


def test_a_unit_is_of_one_suit_and_any_tail_of_it_is_one(lay):
    position = Position(lay("spider-4", ["9H 8S 7S 6S", "9D", "8D", "7C"] + ["KD"] * 6))
    assert moves_from(position, 0) == {(1, 3), (2, 2), (3, 1)}
    assert position.unit_length(0) == 3


@pytest.mark.parametrize(
    ("unit", "length"),
    [("suit", 2), ("colour", 3), ("any", 4)],
)
def test_unit_classes(lay, unit, length):
    position = Position(lay("spider-4", ["9S 9H 8C 7S 6S"], unit=unit))
    assert position.unit_length(0) == length


def test_face_down_cards_move_with_nothing(lay):
    position = Position(lay("spider-4", ["[9S 8S] 7S 6S", "8H", "9H", "10H"] + ["KD"] * 6))
    assert position.unit_length(0) == 2
    assert moves_from(position, 0) == {(1, 2)}


def test_a_unit_wraps_where_the_rules_do(lay):
    columns = ["2S AS KS QS", "3H", "AD", "KH"]
    assert Position(lay("spider-4", columns)).unit_length(0) == 2
    wrapped = Position(lay("spider-4", columns, wrap=True))
    assert wrapped.unit_length(0) == 4
    assert {(1, 4), (2, 2), (3, 1)} <= moves_from(wrapped, 0)


def test_each_empty_column_takes_any_unit_whole_columns_too(lay):
    position = Position(lay("spider-4", ["9H 8S 7S", "", "KD", ""] + ["KD"] * 6))
    assert moves_from(position, 0) == {(1, 1), (1, 2), (3, 1), (3, 2)}
    assert moves_from(position, 2) == {(1, 1), (3, 1)}


def test_legal_moves_come_in_order_with_the_deal_last(lay):
    moves = Position(lay("spider-4", ["6S 5S", "6H", "7D"] + ["KD"] * 7, "AS" + " AS" * 9)).legal_moves()
    assert moves == [Move(0, 1, 1), Move(0, 2, 2), Move(1, 2, 1), DEAL]


# ---------------------------------------------------------------------- turning up, sets


def test_a_face_down_card_left_on_top_turns_up(lay):
    position = Position(lay("spider-4", ["[KD 3C] 5S", "6H"]))
    position.play(Move(0, 1, 1))
    assert position.face_down[0] == 1
    assert tops(position)[:2] == ["3C", "5S"]


def test_a_set_leaves_at_once_and_what_lies_under_it_turns_up(lay):
    position = Position(lay("spider-4", [f"[4H 3C] {KING_TO_TWO}", "AS"]))
    played = position.play(Move(1, 0, 1))
    assert position.sets_done == 1
    assert position.columns[:2] == [[0x24, 0x03], []]
    assert position.face_down[0] == 1
    assert [bool(event.cards) for event in played.events] == [True, False]
    position.undo(played)
    assert cards_text(position.columns[0]) == f"4H 3C {KING_TO_TWO}"
    assert (position.face_down[0], position.sets_done) == (2, 0)


def test_a_set_of_mixed_suits_leaves_only_in_the_games_that_say_so(lay):
    columns = [f"9D {MIXED_KING_TO_TWO}", "AC"]
    for variant, done in (("spider-4", 0), ("spider-relaxed", 1), ("spider-easy", 1), ("black-widow", 0)):
        position = Position(lay(variant, columns))
        position.play(Move(1, 0, 1))
        assert position.sets_done == done, variant


def test_a_face_down_card_is_in_no_set(lay):
    position = Position(lay("spider-4", ["[KS] QS JS 10S 9S 8S 7S 6S 5S 4S 3S 2S", "AS"]))
    position.play(Move(1, 0, 1))
    assert position.sets_done == 0


def test_a_wrapped_set_begins_at_any_rank(lay):
    column = "5S 4S 3S 2S AS KS QS JS 10S 9S 8S 7S"
    position = Position(lay("grounds-for-a-divorce-pysol", [f"8H {column}", "6S"]))
    position.play(Move(1, 0, 1))
    assert (position.sets_done, tops(position)[0]) == (1, "8H")
    longer = Position(lay("grounds-for-a-divorce-pysol", [column, "6S 5S 4S"]))
    longer.play(Move(1, 0, 3))
    assert longer.sets_done == 1
    assert cards_text(longer.columns[0]) == "5S 4S"


# ---------------------------------------------------------------------- the stock


def test_an_empty_column_blocks_the_deal(lay):
    stock = " ".join(["9S"] * 10)
    blocked = Position(lay("spider-4", ["KS"] * 9, stock))
    assert DEAL not in blocked.legal_moves()
    assert blocked.fault(DEAL) == "the stock may not deal while column 10 is empty"
    free = Position(lay("spider-4", ["KS"] * 10, stock))
    assert DEAL in free.legal_moves()
    assert Position(lay("spider-free-deal", ["KS"] * 9, stock)).may_deal()
    assert Position(lay("spider-4", ["KS"] * 10)).fault(DEAL) == "the stock is empty"


def test_a_row_goes_to_all_columns_left_to_right(lay):
    position = Position(lay("spider-free-deal", ["KS", "", "KS"] + ["KS"] * 7, "AS 2S 3S 4S 5S 6S 7S 8S 9S 10S JS"))
    position.play(DEAL)
    assert tops(position) == ["AS", "2S", "3S", "4S", "5S", "6S", "7S", "8S", "9S", "10S"]
    assert cards_text(position.stock) == "JS"


def test_a_short_last_row_goes_to_the_first_columns(lay):
    position = Position(lay("spiderette", ["KS"] * 7, "AS 2S 3S"))
    position.play(DEAL)
    assert tops(position) == ["AS", "2S", "3S", "KS", "KS", "KS", "KS"]
    assert not position.stock


def test_divorce_passes_empty_columns_by(lay):
    position = Position(lay("grounds-for-a-divorce", ["KS", "", "KH", "", "KD"], "AS 2S 3S 4S"))
    played = position.play(DEAL)
    assert played.onto == (0, 2, 4)
    assert tops(position)[:6] == ["AS", "", "2S", "", "3S", ""]
    assert cards_text(position.stock) == "4S"
    position.undo(played)
    assert cards_text(position.stock) == "AS 2S 3S 4S"
    assert tops(position)[:5] == ["KS", "", "KH", "", "KD"]


def test_divorces_short_last_deal_goes_to_its_first_occupied_columns(lay):
    position = Position(lay("grounds-for-a-divorce", ["", "KS", "", "KH", "KD"], "AS 2S"))
    position.play(DEAL)
    assert tops(position)[:5] == ["", "AS", "", "2S", "KD"]


def test_divorce_deals_one_card_to_the_first_column_when_all_are_empty(lay):
    position = Position(lay("grounds-for-a-divorce", [], "AS 2S"))
    assert position.legal_moves() == [DEAL]
    position.play(DEAL)
    assert tops(position)[:2] == ["AS", ""]
    position.play(DEAL)
    assert tops(position)[:2] == ["2S", ""]


def test_sets_that_a_deal_completes_leave_after_the_whole_row(lay):
    columns = [f"3D {KING_TO_TWO}", "KH", f"[7D] {KING_TO_TWO}"] + ["KH"] * 7
    position = Position(lay("spider-4", columns, "AS 5C AS 5C 5C 5C 5C 5C 5C 5C"))
    played = position.play(DEAL)
    assert position.sets_done == 2
    assert [event.column for event in played.events] == [0, 2, 2]  # and the last of them turns up 7D
    assert tops(position)[:3] == ["3D", "5C", "7D"]
    position.undo(played)
    assert position.board() == lay("spider-4", columns, "AS 5C AS 5C 5C 5C 5C 5C 5C 5C")


# ---------------------------------------------------------------------- the end, scores, faults


def test_won_and_stuck(lay):
    last = lay("spider-1", [KING_TO_TWO, "AS"], sets_done=7)
    assert replay(last, [Move(1, 0, 1)]).won
    assert not Position(last).stuck
    assert Position(lay("spider-4", ["KS", "KH"] + ["KD"] * 8)).stuck
    assert not Position(lay("spider-4", ["KS", "KH"])).stuck  # a King may still go to an empty column


def test_spider_score():
    assert spider_score(0, 0) == 500
    assert spider_score(177, 8) == 1123
    assert spider_score(800, 2) == -100


def test_sequence_points(lay):
    columns = ["[KS] QS", "KH QH JH 10S", "5D KC", "4S KD QD 3H 2H", "KS QH JS"]
    assert sequence_points(Position(lay("spider-4", columns, sets_done=1))) == 13 + 3 + 1 + 2 + 1
    assert sequence_points(Position(lay("spider-relaxed", columns, sets_done=1))) == 13 + 4 + 1 + 2 + 3
    won = lay("spider-4", [], sets_done=8)
    assert sequence_points(Position(won)) == 104


@pytest.mark.parametrize(
    ("move", "fault"),
    [
        (Move(0, 1, 1), "4S may not lie on 9H of column 2"),
        (Move(0, 2, 1), "4S may not lie on 6D of column 3"),
        (Move(3, 1, 2), "8D 7S on column 4 do not move together"),
        (Move(0, 9, 3), "of the top 3 cards of column 1 some lie face down"),
        (Move(0, 9, 4), "column 1 has only 3 cards, not 4"),
        (Move(9, 0, 1), "column 10 has no cards"),
        (Move(1, 1, 1), "column 2 is both source and target"),
        (Move(10, 1, 1), "there are only 10 columns"),
        (Move(0, 1, 0), "a move takes a card at least"),
        (DEAL, "the stock is empty"),
    ],
)
def test_a_fault_says_what_is_illegal(lay, move, fault):
    position = Position(lay("spider-4", ["[6S] 5S 4S", "9H", "6D", "8D 7S"]))
    told = position.fault(move)
    assert told == fault
    assert position.fault(Move(0, 2, 2)) is None


def test_replay_names_the_move(lay):
    with pytest.raises(LineError, match=r"^move 2: column 1 has no cards$"):
        replay(lay("spider-4", ["5S", "6H"]), "abab")
    with pytest.raises(LineError, match="move 2: the game is won already"):
        replay(lay("spider-1", [KING_TO_TWO, "AS", "KS"], sets_done=7), "bacb")


# ---------------------------------------------------------------------- as a whole

# Counted by this referee when it was new: a change of any is a change of the rules.
PERFT = {
    "spider-4": [6, 35, 210, 1332],
    "spider-1": [6, 38, 255],
    "grounds-for-a-divorce": [8, 59, 415],
    "spider-relaxed": [6, 35, 210],
    "spider-easy": [6, 38, 255],
    "black-widow": [6, 38, 255],
    "tarantula": [6, 36, 223],
    "spiderette": [3, 8, 33, 151],
    "simple-simon": [10, 91, 779, 6410],
    "grounds-for-a-divorce-pysol": [8, 60, 435],
    "grandmothers-game": [3, 12, 70],
}


def perft(position, depth):
    """Return how many move sequences of that many moves there are; a won game has no more moves."""
    if depth == 0:
        return 1
    count = 0
    for move in [] if position.won else position.legal_moves():
        played = position.play(move)
        count += perft(position, depth - 1)
        position.undo(played)
    return count


@pytest.mark.parametrize(("variant_id", "counts"), PERFT.items())
def test_perft(variant_id, counts):
    position = Position(deal(load_variant(variant_id), 1))
    before = position.board()
    assert [perft(position, depth) for depth in range(1, len(counts) + 1)] == counts
    assert position.board() == before


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(variant_ids()), st.integers(0, 2**63 - 1), st.integers(0, 2**32), st.booleans())
def test_random_play_keeps_the_position_sound_and_undo_takes_all_back(variant_id, seed, choices, eager):
    board = deal(load_variant(variant_id), seed)
    position, rng, records = Position(board), random.Random(choices), []
    for _ in range(80):
        moves = position.legal_moves()
        if not moves:
            assert position.stuck
            break
        assert len(set(moves)) == len(moves)
        assert all(position.fault(move) is None for move in moves)
        move = moves[-1] if eager and rng.random() < 0.2 else rng.choice(moves)
        records.append(position.play(move))
        check_board(position.board())
    assert replay(board, [record.move for record in records]).board() == position.board()
    while records:
        position.undo(records.pop())
    assert position.board() == Position(board).board()


def test_legal_moves_are_all_moves_without_fault():
    """The list against the judge: every move that can be written down is tried."""
    every = [Move(source, target, cards) for source in range(10) for target in range(10) for cards in range(1, 14)]
    rng = random.Random(5)
    for variant_id in ("spider-4", "spider-easy", "tarantula", "grounds-for-a-divorce-pysol"):
        position = Position(deal(load_variant(variant_id), 3))
        for _ in range(25):
            faultless = [move for move in [*every, DEAL] if position.fault(move) is None]
            moves = position.legal_moves()
            assert sorted(moves) == sorted(faultless)
            if not moves:
                break
            position.play(rng.choice(moves))


def test_won_lines_replay_in_every_variant(won_lines):
    assert {variant.id for variant, _, _ in won_lines} == set(variant_ids())
    for variant, seed, line in won_lines:
        position = replay(deal(variant, seed), line)
        assert position.won
        assert sequence_points(position) == 13 * variant.sets_needed
