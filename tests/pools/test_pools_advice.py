"""Advice on boards with unseen cards: honest fillings, moves judged by them, the same draw the same advice."""

import dataclasses
import json
from collections import Counter
from pathlib import Path

import pytest

from pipeline.errors import BoardError
from pipeline.game.boards import check_board, full_deck
from pipeline.game.cards import UNSEEN
from pipeline.game.deals import deal
from pipeline.game.fillings import fillings
from pipeline.game.forms import board_json, board_text, read_board
from pipeline.game.lines import parse_line
from pipeline.game.rules import Position, replay
from pipeline.pools.advice import advice_json, advise
from pipeline.solver import Solver

UNSEEN_BOARD = (Path(__file__).parents[1] / "fixtures" / "boards" / "unseen.txt").read_text()


def hide(board, columns=range(16), stock=True):
    """Return a board with its face-down cards, and its stock, unseen."""
    hidden = [
        (UNSEEN,) * down + cards[down:] if number in columns else cards
        for number, (cards, down) in enumerate(zip(board.columns, board.face_down, strict=True))
    ]
    rest = (UNSEEN,) * len(board.stock) if stock else board.stock
    return dataclasses.replace(board, numbering=None, seed=None, columns=tuple(hidden), stock=rest)


def late(variant, seed, line_part):
    """Return a board late in a won game."""
    board = deal(variant, seed)
    moves = parse_line(Solver().solve(board).line)
    return replay(board, moves[: int(len(moves) * line_part)]).board()


def test_unseen_cards_are_read_and_written():
    board = read_board(UNSEEN_BOARD, unseen=True)
    assert sum(cards.count(UNSEEN) for cards in board.columns) == 23
    assert read_board(board_text(board), unseen=True) == board
    assert read_board(json.dumps(board_json(board)), unseen=True) == board
    assert read_board(UNSEEN_BOARD.replace("XX", "??"), unseen=True) == board
    with pytest.raises(BoardError, match=r"column 1: 5 unseen cards \(XX\); only hint takes"):
        read_board(UNSEEN_BOARD)


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("] KS", "] XX", "column 1"),
        ("[XX XX XX XX XX] KS", "[XX XX XX XX] KS", "103 cards"),
        ("AH 6H 3H", "AC 6H 3H", "3 suits"),
    ],
)
def test_what_no_filling_can_mend_is_refused(old, new, place):
    with pytest.raises(BoardError, match=place):
        read_board(UNSEEN_BOARD.replace(old, new), unseen=True)


@pytest.mark.parametrize(("variant", "seed"), [("spider-2", 3), ("spider-relaxed", 2), ("spider-free-deal-3", 1)])
@pytest.mark.parametrize("part", [0, 0.9])
def test_a_filling_is_a_board_of_the_game_that_keeps_what_is_seen(variant, seed, part):
    shown = late(variant, seed, part)
    board = hide(shown)
    seen = set()
    for filled in fillings(board, 30, 1):
        check_board(filled)
        for cards, before in zip((*filled.columns, filled.stock), (*board.columns, board.stock), strict=True):
            assert all(card == was or was == UNSEEN for card, was in zip(cards, before, strict=True))
        seen.add(filled)
    assert len(seen) > 1 or not any(UNSEEN in cards for cards in (*board.columns, board.stock))
    assert list(fillings(board, 5, 1)) == list(fillings(board, 5, 1)) != list(fillings(board, 5, 2))


def test_every_card_is_as_likely_in_every_place():
    board = hide(deal("spider-4", 1), stock=False)
    left = full_deck(board.variant, board.stock) - Counter(
        card for cards in (*board.columns, board.stock) for card in cards if card != UNSEEN
    )
    count, deepest = 3000, Counter()
    for filled in fillings(board, count, 7):
        deepest[filled.columns[0][0]] += 1
    total = left.total()
    for card, copies in left.items():
        expected = count * copies / total
        assert abs(deepest[card] - expected) < 5 * expected**0.5, card


def test_gone_sets_are_drawn_as_often_as_they_can_be_made():
    """Whichever the sets are, what is left over are whole sets."""
    board = hide(late("spider-2", 3, 0.9))
    assert board.sets_done
    gone = Counter()
    for filled in fillings(board, 200, 1):
        cards = Counter(card for cards in (*filled.columns, filled.stock) for card in cards)
        left = full_deck(board.variant, [0x2D, 0x3D]) - cards
        gone[tuple(sorted({card >> 4 for card in left}))] += 1
        assert left.total() == 13 * board.sets_done
    assert sum(gone.values()) == 200


def test_moves_are_judged_by_solving_every_filling_after_them():
    """Against a twin that spares no search."""
    board = hide(late("spider-1", 5, 0.55))
    advice = advise(board, 12, 3, 30_000)
    boards, solver = list(fillings(board, 12, 3)), Solver()
    assert advice.start.won == sum(solver.solve(filled, 30_000).verdict == "won" for filled in boards)
    assert sorted(prospect.move for prospect in advice.moves) == sorted(Position(board).legal_moves())
    for prospect in advice.moves:
        assert prospect.won + prospect.lost + prospect.unsettled == 12
        won = 0
        for filled in boards:
            position = Position(filled)
            position.play(prospect.move)
            won += position.won or solver.solve(position.board(), 30_000).verdict == "won"
        assert prospect.won >= won, prospect  # more: what a single move back leads to is won as well
        low, high = prospect.rate.interval
        assert low <= prospect.won / 12 <= high
    assert [prospect.won for prospect in advice.moves] == sorted(
        (prospect.won for prospect in advice.moves), reverse=True
    )
    assert advice == advise(board, 12, 3, 30_000, solver)
    found = advice_json(advice)
    assert (found["fillings"], found["draw"], found["node_limit"]) == (12, 3, 30_000)
    assert found["moves"][0]["text"] == advice.moves[0].text


def test_a_board_all_seen_has_advice_of_zeros_and_ones():
    board = dataclasses.replace(deal("spider-1", 5), numbering=None, seed=None)
    advice = advise(board, 3, 1, 20_000)
    assert (advice.unseen, advice.start.won) == (0, 3)
    assert {prospect.won for prospect in advice.moves} <= {0, 3}
    assert advice.moves[0].begins == 3
