import dataclasses
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import BoardError
from pipeline.game.deals import deal
from pipeline.game.forms import board_json, board_text, read_board, solvitaire_json
from pipeline.game.lines import parse_line
from pipeline.game.rules import Position
from pipeline.game.variants import load_variant, read_variant, variant_ids

SPIDER = board_text(deal(load_variant("spider-4"), 1))


def unnumbered(board):
    return dataclasses.replace(board, numbering=None, seed=None)


def test_text_is_as_documented():
    assert SPIDER.splitlines()[:4] == [
        "variant: spider-4",
        "numbering: native",
        "seed: 1",
        "column 1: [8D 4S 9C 7D QH] 10C",
    ]
    assert SPIDER.splitlines()[13:] == [
        "stock: 7S 4D 2D 8C 10S KC 9D 6C 10H 5C",
        "stock: 4H KS 9D 3S AH 6C KS 8S QH KC",
        "stock: 7H 6H 8S 3S JD JH JH JS AC 8H",
        "stock: KH 4D 6D KD 7C 9S JS 3H AC 7D",
        "stock: KD 4S KH 5S 9S 7S 2S QD 4C 7C",
        "sets done: 0",
    ]


def test_json_is_as_documented():
    board = board_json(deal(load_variant("spider-4"), 1))
    assert list(board) == ["variant", "numbering", "seed", "deal", "columns", "face_down", "stock", "sets_done"]
    assert board["columns"][0] == "8D 4S 9C 7D QH 10C"
    assert board["face_down"] == [5, 5, 5, 5, 4, 4, 4, 4, 4, 4]
    assert board["stock"].startswith("7S 4D 2D")


def test_solvitaires_json_marks_face_down_cards_and_deals_from_the_end():
    deal_file = solvitaire_json(deal(load_variant("spider-4"), 1))
    assert deal_file["tableau piles"][0] == ["8d", "4s", "9c", "7d", "qh", "10C"]
    assert deal_file["stock"][-1] == "7S"
    assert "stock" not in solvitaire_json(deal(load_variant("simple-simon"), 1))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(variant_ids()), st.integers(0, 2**63 - 1), st.integers(0, 60))
def test_round_trips(variant_id, seed, moves):
    """Deals and boards in mid-game, by all three formats."""
    variant = load_variant(variant_id)
    board = deal(variant, seed)
    assert read_board(board_text(board)) == board
    assert read_board(json.dumps(board_json(board), indent=1)) == board
    position, rng = Position(board), random.Random(seed)
    for _ in range(moves):
        if legal := position.legal_moves():
            position.play(rng.choice(legal))
    board = position.board()
    assert read_board(board_text(board)) == board
    assert read_board(json.dumps(board_json(board))) == board
    assert read_board(json.dumps(solvitaire_json(board)), variant=variant) == board


def test_boards_with_sets_gone(won_lines):
    for variant, seed, line in won_lines:
        position = Position(deal(variant, seed))
        for move in parse_line(line):
            position.play(move)
            if position.sets_done in (1, variant.sets_needed):
                board = position.board()
                assert read_board(board_text(board)) == board
                assert read_board(json.dumps(solvitaire_json(board)), variant=variant) == board
                assert len(solvitaire_json(board)["foundations"]) == 13 * board.sets_done


def test_other_programs_suits_are_as_good():
    for numbering in ("pysol", "kpat"):
        for suits in (1, 2, 4):
            board = deal(load_variant(f"spider-{suits}"), 1, numbering)
            assert read_board(board_text(board)) == board


def test_text_is_read_in_any_order_with_comments_and_small_letters():
    lines = SPIDER.lower().splitlines()
    stock = [line for line in lines if line.startswith("stock")]
    rest = [line.replace("column ", "") for line in lines if not line.startswith("stock")]
    text = "# a comment\n\n" + "\r\n".join([*rest[::-1], "  ", *stock]) + "  # the end"
    assert read_board(text) == read_board(SPIDER)


def test_lists_of_cards_and_missing_counts_are_understood():
    board = deal(load_variant("spider-4"), 1)
    fields = board_json(board)
    fields["columns"] = [column.split() for column in fields["columns"]]
    fields["stock"] = fields["stock"].split()
    del fields["sets_done"]
    assert read_board(json.dumps(fields)) == board


def test_a_variant_given_stands_over_the_one_named(tmp_path):
    board = read_board(SPIDER, variant=load_variant("spider-relaxed"))
    assert board.variant.id == "spider-relaxed"
    path = tmp_path / "mine.toml"
    path.write_text(
        'id = "mine"\nname = "Mine"\npacks = 1\nsuits = 4\ndeal = "all"\n'
        "columns = [4, 4, 4, 4]\nface_down = [3, 3, 3, 0]\n"
    )
    mine = deal(read_variant(path), 1)
    assert read_board(board_text(mine), variant=mine.variant) == mine
    with pytest.raises(BoardError, match=r"variant: 'mine' .*--variant FILE"):
        read_board(board_text(mine))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("column 3:", "colunm 3:", "line 6: 'colunm 3"),
        ("column 3:", "column 2:", "line 6: column 2 occurs twice"),
        ("column 10:", "column 11:", "they must count from 1, one by one"),
        ("sets done: 0", "sets done: 1", "104 cards; with 1 set done spider-4 has 91"),
        ("sets done: 0", "sets done: x", "sets_done: 'x' is not a whole number"),
        ("seed: 1", "seed: -1", "seed: '-1' is not a whole number"),
        ("seed: 1", "seed: 1\nseed: 2", "line 4: seed occurs twice"),
        ("numbering: native", "numbering: kde", "numbering: 'kde' is not a numbering"),
        ("variant: spider-4", "variant: spider-5", "variant: 'spider-5' .*; did you mean"),
        ("variant: spider-4", "", "the text does not name its game"),
        ("variant: spider-4", "variant: spiderette", "columns: 10; spiderette has 7"),
        ("variant: spider-4", "variant: spider-1", r"cards of 4 suits \(C, D, H, S\); spider-1 has 1"),
        ("[8D 4S", "[8D XS", "column 1: 'XS' is not a card"),
        ("[8D 4S", "[8S 4S", r"8S occurs 3 times \(column 1, stock\); spider-4 has 2; missing: 8D"),
        ("[8D 4S", "[4S", "103 cards; with 0 sets done spider-4 has 104; missing: 8D"),
        ("QH] 10C", "QH 10C]", "column 1: 6 of its 6 cards face down; 5 at most"),
        ("QH] 10C", "QH 10C", "brackets go once round"),
    ],
)
def test_a_wrong_text_is_named(old, new, message):
    assert old in SPIDER
    with pytest.raises(BoardError, match=message) as caught:
        read_board(SPIDER.replace(old, new), name="my.txt")
    assert str(caught.value).startswith("my.txt: ")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"colums": []}, "unknown key 'colums'; did you mean 'columns'"),
        ({"columns": 3}, "columns: no list of columns; spider-4 has 10"),
        ({"columns": [3] * 10}, "column 1: 3 is not a list of cards"),
        ({"face_down": [0]}, "face_down: .0.: expected a list of 10 counts"),
        ({"face_down": [-1] * 10}, "face_down, column 1: -1 is not a whole number"),
        ({"stock": None}, "stock: None is not a list of cards"),
        ({"seed": 1.5}, "seed: 1.5 is not a whole number"),
        ({"seed": True}, "seed: True is not a whole number"),
        ({"variant": 4}, "the text does not name its game"),
    ],
)
def test_a_wrong_json_is_named(change, message):
    fields = board_json(deal(load_variant("spider-4"), 1)) | change
    with pytest.raises(BoardError, match=message):
        read_board(json.dumps(fields))


@pytest.mark.parametrize("text", ["", "{", "{}", "[1]", "what", '{"tableau piles": 3}', '{"tableau piles": [["1x"]]}'])
def test_what_is_no_board_at_all(text):
    with pytest.raises(BoardError):
        read_board(text, variant=load_variant("spider-4"))


def test_whole_sets_only_may_be_missing(lay):
    run = "KS QS JS 10S 9S 8S 7S 6S 5S 4S 3S 2S"
    good = lay("spider-4", [run, "AS"], sets_done=7)
    assert read_board(board_text(good)) == good
    one_suit_short = lay("spider-4", [run.replace("2S", "2H"), "AS"], sets_done=7)
    with pytest.raises(BoardError, match="what is missing is not 7 sets"):
        read_board(board_text(one_suit_short))
    mixed = lay("spider-relaxed", [run.replace("2S", "2H"), "AS"], sets_done=7)
    assert read_board(board_text(mixed)) == mixed


def test_a_set_lying_on_the_table_is_no_position(lay):
    run = "KS QS JS 10S 9S 8S 7S 6S 5S 4S 3S 2S AS"
    for columns in ([run], ["KD QD", run], [f"[7H] {run} 3D"]):
        with pytest.raises(BoardError, match=r"KS QS .* is a set; it would have left"):
            read_board(board_text(lay("spider-4", columns)))


# ---------------------------------------------------------------- the number a board names


def both_forms(board):
    return board_text(board), json.dumps(board_json(board))


@pytest.mark.parametrize("numbering", ["native", "pysol", "kpat"])
def test_a_number_of_another_deal_is_refused(numbering):
    for variant in ("spider-1", "spider-4"):
        board = dataclasses.replace(deal(variant, 1, numbering), seed=77)
        for text in both_forms(board):
            with pytest.raises(BoardError, match=rf"^<text>: (column \d|the stock) is not that of .*/{numbering}/77;"):
                read_board(text)


def test_a_number_of_another_deal_is_refused_where_all_lies_open():
    board = dataclasses.replace(deal("simple-simon", 1), seed=77)
    with pytest.raises(
        BoardError, match="column 1 is not that of simple-simon/native/77; leave out numbering and seed"
    ):
        read_board(board_text(board))


@pytest.mark.parametrize(
    ("seed", "numbering", "message"),
    [(0, "kpat", "seed 0 is not a valid kpat number"), (2**63, "native", "is not a valid native number")],
)
def test_a_number_that_is_none_is_refused(seed, numbering, message):
    board = dataclasses.replace(deal("spider-4", 1), numbering=numbering, seed=seed)
    with pytest.raises(BoardError, match=message):
        read_board(board_text(board))


def test_a_numbering_that_the_game_has_not_is_refused():
    board = dataclasses.replace(deal("mrs-mop", 1), numbering="kpat")
    with pytest.raises(BoardError, match="mrs-mop has no numbering 'kpat'"):
        read_board(board_text(board))


def test_a_game_under_way_loses_its_number(won_lines):
    """A line of it would not replay on the deal of that number."""
    for variant, seed, line in won_lines:
        position = Position(deal(variant, seed))
        for number, move in enumerate(parse_line(line)):
            position.play(move)
            board = position.board()
            if number % 5:
                continue
            for text in both_forms(dataclasses.replace(board, numbering="native", seed=seed)):
                assert read_board(text) == board


def test_a_game_under_way_of_another_deal_is_refused(won_lines):
    variant, seed, line = next(entry for entry in won_lines if entry[0].id == "spider-4")
    position = Position(deal(variant, seed))
    for move in parse_line(line)[:40]:
        position.play(move)
    board = dataclasses.replace(position.board(), numbering="native", seed=seed + 1)
    with pytest.raises(BoardError, match=f"is not that of spider-4/native/{seed + 1}"):
        read_board(board_text(board))


def test_a_variant_given_over_the_one_named_may_have_no_such_number():
    relaxed, opened = load_variant("spider-relaxed"), load_variant("open-spider")
    for text in both_forms(deal("spider-4", 5, "kpat")):
        board = read_board(text, variant=relaxed)
        assert (board.variant, board.numbering, board.seed) == (relaxed, None, None)
    board = read_board(board_text(deal("spider-4", 5)), variant=opened)  # the cards, but not all of them face up
    assert (board.variant, board.numbering, board.seed) == (opened, None, None)
    assert read_board(board_text(deal("spider-4", 5)), variant=relaxed) == deal(relaxed, 5)
