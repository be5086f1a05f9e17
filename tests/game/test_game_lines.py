import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import LineError
from pipeline.game.codes import engine_move, engine_number
from pipeline.game.deals import deal
from pipeline.game.lines import encode_line, parse_line
from pipeline.game.moves import DEAL, Move
from pipeline.game.rules import Position
from pipeline.game.steps import readable_steps

COLUMN = st.integers(0, 15)
MOVES = st.lists(st.one_of(st.just(DEAL), st.builds(Move, COLUMN, COLUMN, st.integers(1, 13))))


@given(MOVES)
def test_text_and_back(moves):
    line = encode_line(moves)
    assert parse_line(line) == parse_line(f"  {line}\n") == moves
    assert [engine_move(engine_number(move)) for move in moves] == moves


def test_the_text_is_as_documented():
    assert encode_line([(2, 7, 2), DEAL, (0, 1, 1), (15, 0, 13), (3, 4, 10)]) == "ch2-abpaDdeA"


@pytest.mark.parametrize("line", ["a", "abq", "ab1", "ab0", "abE", "AB", "ab cd", "ab--c", "ab2 3"])
def test_what_is_no_line(line):
    with pytest.raises(LineError, match=r"move \d+: .* is not a move"):
        parse_line(line)
    with pytest.raises(LineError, match=r"move 2: 'x' is not a move"):
        parse_line("abx")


def test_what_is_no_move():
    for move in [(0, 0, 14), (0, 16, 1), (-1, 2, 1), 0]:
        with pytest.raises(LineError, match="is not a move"):
            encode_line([move])


def test_steps_can_be_read(lay):
    column = "KS QS JS 10S 9S 8S 7S 6S 5S 4S 3S 2S"
    board = lay("spider-free-deal", ["[KD] 7S 6S", "[QC] AH", f"[5D] {column}", "8D"], "9C AS AS 9D 9H")
    assert readable_steps(board, "ad2-") == [
        "1. 7S 6S: column 1 -> column 4, turns up KD",
        "2. deal 9C AS AS 9D 9H, completes a set (KS to AS) in column 3, turns up 5D in column 3",
    ]
    with pytest.raises(LineError, match="move 2"):
        readable_steps(board, "ad2ad")


def test_every_step_of_a_won_line_is_told(won_lines):
    for variant, seed, line in won_lines:
        board = deal(variant, seed)
        steps = readable_steps(board, line)
        assert [step.split(".")[0] for step in steps] == [str(number) for number in range(1, len(steps) + 1)]
        assert sum(step.count("completes a set") for step in steps) == variant.sets_needed
        assert sum(step.count("turns up") for step in steps) == sum(Position(board).face_down)
