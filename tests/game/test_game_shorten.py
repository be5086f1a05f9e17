import pytest

from pipeline.errors import LineError
from pipeline.game.deals import deal
from pipeline.game.lines import encode_line, parse_line
from pipeline.game.moves import Move
from pipeline.game.rules import Position
from pipeline.game.shorten import shorten
from pipeline.game.variants import MAIN_VARIANTS
from pipeline.referee.replay import verify_line

RUN = "KS QS JS 10S 9S 8S 7S"


def test_there_and_back_is_left_out(lay):
    board = lay("spider-1", [RUN, "7S 6S 5S 4S 3S 2S AS", "7S", "7S"], sets_done=7)
    assert shorten(board, "bc6cb6ba6") == "ba6"
    assert shorten(board, "bc6cd6da6") == "ba6"


def test_a_way_through_a_third_column_is_made_direct(lay):
    board = lay("spider-1", [RUN, "[9S] 6S 5S 4S 3S 2S AS", "7S", "10S"], sets_done=7)
    assert shorten(board, "bc6ca6") == "ba6"
    assert shorten(board, "bc6bdca6") == "ba6"


def test_a_run_taken_apart_is_moved_whole(lay):
    board = lay("spider-1", [RUN, "6S 5S 4S 3S 2S AS", "4S", "KS"], sets_done=7)
    assert shorten(board, "bc3ba3ca3") == "ba6"


def test_what_is_as_short_as_can_be_stays(lay):
    board = lay("spider-1", [RUN, "6S 5S 4S 3S 2S AS"], sets_done=7)
    assert shorten(board, "ba6") == "ba6"


def test_a_line_that_does_not_win_is_refused(lay):
    board = lay("spider-1", [RUN, "6S 5S 4S 3S 2S AS", "7S"], sets_done=7)
    with pytest.raises(LineError, match="sets removed"):
        shorten(board, "bc6")


def test_won_lines_get_shorter_never_longer_and_still_win(won_lines):
    before = after = 0
    for variant, seed, line in won_lines[: 2 * len(MAIN_VARIANTS) : 2]:
        board = deal(variant, seed)
        shorter = shorten(board, line)
        assert verify_line(board, shorter).moves == len(parse_line(shorter)) <= len(parse_line(line))
        before += len(parse_line(line))
        after += len(parse_line(shorter))
    assert after < 0.95 * before


def test_the_same_line_is_shortened_the_same_way(won_lines):
    variant, seed, line = next(entry for entry in won_lines if entry[0].id == "spider-2")
    assert len({shorten(deal(variant, seed), line) for _ in range(2)}) == 1


@pytest.mark.parametrize(
    "variant_id", ["spider-1", "spider-4", "grounds-for-a-divorce-pysol", "black-widow", "spiderette"]
)
def test_needless_moves_put_in_are_found(variant_id, won_lines):
    """A unit goes to another column and back, wherever that can be: the result must not pay for it."""
    variant, seed, line = next(entry for entry in won_lines if entry[0].id == variant_id)
    board = deal(variant, seed)
    position, moves, added = Position(board), [], 0
    for move in parse_line(line):
        if added < 4 and (detour := there_and_back(position)):
            moves += detour
            added += 1
        moves.append(move)
        position.play(move)
    assert added
    padded = encode_line(moves)
    assert verify_line(board, padded).moves == len(parse_line(line)) + 2 * added
    assert len(parse_line(shorten(board, padded))) <= len(parse_line(line))


def there_and_back(position):
    """Return a move and its reverse that change nothing, if there is such a pair."""
    for source, target, cards in position.legal_moves()[:-1]:
        left = position.columns[source][: -cards or None]
        if (
            left
            and len(left) > position.face_down[source]
            and position.may_lie(position.columns[source][-cards], left[-1])
        ):
            played = position.play(Move(source, target, cards))
            back = Move(target, source, cards)
            harmless = not played.events and position.fault(back) is None
            position.undo(played)
            if harmless:
                return [Move(source, target, cards), back]
    return None
