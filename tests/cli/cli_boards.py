"""Boards in files, for the commands that take one."""

import json

from pipeline.game.deals import deal
from pipeline.game.forms import board_text
from pipeline.game.lines import parse_line
from pipeline.game.rules import replay
from pipeline.game.variants import load_variant

SPIDER_1 = load_variant("spider-1")
LOST_SIMPLE_SIMON = 68


def board_file(tmp_path, board, form=board_text):
    path = tmp_path / "board"
    path.write_text(form(board) if form is board_text else json.dumps(form(board)), encoding="utf-8")
    return path


def middle_of(solved):
    """Return the board half way through the line that `solve` printed of deal 5."""
    moves = parse_line(solved["line"])
    return replay(deal(SPIDER_1, 5), moves[: len(moves) // 2]).board()
