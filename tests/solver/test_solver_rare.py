"""What hardly any deal shows: several sets at once, more moves than the beam lists, deep columns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.analysis.replay_page import replay_page
from pipeline.engine.memory import MAX_MOVES
from pipeline.game.deals import deal
from pipeline.game.forms import read_board
from pipeline.game.lines import parse_line
from pipeline.game.rules import Position, replay, spider_score
from pipeline.game.shorten import shorten
from pipeline.game.variants import load_variant, read_variant
from pipeline.referee.replay import verify_line
from pipeline.solver import Solver

RANKS = ["K", "Q", "J", "10", "9", "8", "7", "6", "5", "4", "3", "2", "A"]


def variant(tmp_path, **rules):
    """A variant of one pack."""
    lines = ['id = "rare"', 'name = "Rare"', "packs = 1", "suits = 4", 'deal = "blocked"']
    lines += [f"{key} = {value!r}".replace("'", '"') for key, value in rules.items()]
    path = tmp_path / "rare.toml"
    path.write_text("\n".join(lines) + "\n")
    return read_variant(path)


def run(suit, low="A"):
    return " ".join(rank + suit for rank in RANKS[: RANKS.index(low) + 1])


@pytest.fixture
def two_at_once(tmp_path):
    """One set is needed, and the deal completes two."""
    game = variant(tmp_path, columns=[13, 13, 13], face_down=[0, 0, 0], sets_needed=1)
    third = " ".join(f"{rank}S {rank}H" if rank != "K" else "KS KH" for rank in RANKS[:-1])
    text = f"column 1: {run('C', '2')}\ncolumn 2: {run('D', '2')}\ncolumn 3: {third}\nstock: AC AD AS\nstock: AH\n"
    return read_board(text + "sets done: 0\n", variant=game)


def test_a_deal_that_completes_more_sets_than_are_needed_wins(two_at_once):
    outcome = Solver().solve(two_at_once, 100)
    assert (outcome.verdict, outcome.line, outcome.positions) == ("won", "-", 2)
    assert outcome.score == spider_score(1, 2) == 699
    assert replay(two_at_once, parse_line("-")).sets_done == 2
    assert "Won" in replay_page(two_at_once, "-")
    assert "Played in" not in replay_page(two_at_once, "-")


def test_a_shortened_line_ends_where_it_wins(tmp_path):
    """On the way to a later position of the line a shorter one may win already."""
    game = variant(tmp_path, columns=[12, 1, 12, 2, 12], face_down=[0] * 5, unit="suit", sets="any", sets_needed=2)
    board = read_board(
        "column 1: [KD QH] JS 10H 9H 8S 7H 6H 5D AD 3H 2S\n"
        "column 2: AS\n"
        "column 3: [KS] QS JD 10S 9S 8D 7S 6D 5S 4H 3S 2H\n"
        "column 4: 4S AH\n"
        "column 5: KH QD JH 10D 9D 8H 7D 6S 5H 4D 3D 2D\n"
        "sets done: 1\n",
        variant=game,
    )
    line = "badcab2ca2cdac3ae"
    assert verify_line(board, line).moves == 7
    assert verify_line(board, shorten(board, line)).moves <= 7


def test_a_board_with_more_moves_than_the_beam_lists_is_settled():
    """Six columns of whole units and seven empty ones: 513 moves."""
    suits = ("CCC", "DDD", "HHH", "CCC", "DDD", "HHH")
    heads = [f"A{x}" for x in "DHC"] + ["", "", ""]
    tops = ["KC QC", "KD QD", "KH QH", "KH QC", "KC QD", "KD QH"]
    columns = []
    for head, top, suit in zip(heads, tops, suits, strict=True):
        rest = " ".join(rank + suit[0] for rank in RANKS[2:12])
        columns.append(f"{head} {top} {rest}".strip() + ("" if head else f" A{suit[0]}"))
    text = "variant: mrs-mop\n"
    text += "".join(f"column {number}: {columns[number - 1] if number <= 6 else ''}\n" for number in range(1, 14))
    board = read_board(text + "sets done: 2\n")
    assert len(list(Position(board).legal_moves())) > MAX_MOVES
    outcome = Solver().solve(board, 20_000)
    assert outcome.verdict == "won"


def test_columns_of_more_face_down_cards_than_the_beam_tells_apart_are_searched(tmp_path):
    game = replace(
        load_variant("spider-4"), id="deep", columns=(70, 30, 4), face_down=(69, 29, 3), numberings=("native",)
    )
    for seed in range(1, 6):
        assert Solver().solve(deal(game, seed), 3_000).positions <= 3_000
