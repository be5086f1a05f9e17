"""A settler that needs no engine: every deal of the easy game is won, but each seventh takes 900 positions."""

import time
from dataclasses import dataclass
from pathlib import Path

from runs_games import score_of, winning_line

from pipeline.game.lines import split_line
from pipeline.solver import Outcome

IDENTITY = "0.1.0+4242"


@dataclass(frozen=True)
class Easy:
    """Makes itself where it is needed."""

    seconds: float = 0.0
    trace: str = ""

    def __call__(self):
        return self

    def identity(self):
        return IDENTITY

    def settle(self, variant, numbering, seed, nodes):
        if self.trace:
            with Path(self.trace).open("a", encoding="ascii") as file:
                file.write(f"{seed}\n")
        time.sleep(self.seconds)
        needed = 900 if seed % 7 == 0 else 10 + seed % 90
        if needed > nodes:
            return Outcome(variant.id, numbering, seed, "unsettled", nodes, 1, nodes)
        line = winning_line(seed)
        moves = len(split_line(line))
        return Outcome(variant.id, numbering, seed, "won", needed, 1, nodes, line, moves, 0, score_of(moves))
