"""Settlers and workers that need no engine, for tests of what a run does with outcomes, and with trouble."""

import logging
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import SolverFault
from pipeline.runs.workers import start_worker
from pipeline.solver import Outcome

IDENTITY = "0.1.0+4242"


@dataclass(frozen=True)
class Fake:
    """Makes settlers whose outcome is a function of seed and limit; some seeds make trouble on purpose."""

    identity: str = IDENTITY
    seconds: float = 0.0  # each deal takes so long,
    quick: int = 0  # but those up to this seed
    start: float = 0.0  # a worker takes so long to start
    kills: frozenset = frozenset()
    hungry: frozenset = frozenset()  # want more memory than there is
    greedy: frozenset = frozenset()  # want 400 MB
    raises: frozenset = frozenset()
    faulty: frozenset = frozenset()
    trace: str = ""  # a file that every settled seed is appended to

    def __call__(self):
        return FakeSettler(self)


class FakeSettler:
    def __init__(self, plan):
        self.plan = plan
        time.sleep(plan.start)

    def identity(self):
        return self.plan.identity

    def settle(self, variant, numbering, seed, nodes):
        plan = self.plan
        if plan.trace:
            with Path(plan.trace).open("a", encoding="ascii") as file:
                file.write(f"{seed}\n")
        if seed in plan.kills:
            os.kill(os.getpid(), signal.SIGKILL)
        if seed in plan.hungry:
            return bytearray(1 << 44)
        if seed in plan.greedy:
            time.sleep(0 * len(bytearray(400 << 20)))
        if seed in plan.raises:
            raise ValueError(f"no outcome for {seed}")
        if seed in plan.faulty:
            raise SolverFault(f"{variant.id} {numbering} {seed}: the line does not replay")
        if plan.seconds and seed > plan.quick:
            time.sleep(plan.seconds)
        return outcome(variant, numbering, seed, nodes)


def outcome(variant, numbering, seed, nodes):
    """Seeds need 10, 20, ... 2000 positions in turn; every 13th is lost."""
    needed = 10 * (1 + seed * 7 % 200)
    if needed > nodes:
        return Outcome(variant.id, numbering, seed, "unsettled", nodes, nodes // 4, nodes)
    if seed % 13 == 0:
        return Outcome(variant.id, numbering, seed, "lost", needed, needed // 4, nodes)
    moves = 100 + seed % 90
    return Outcome(variant.id, numbering, seed, "won", needed, needed // 4, nodes, "ab" * moves, moves, 0, 1300 - moves)


def speak(stop, log_queue, words):
    """Be a worker that logs and exits."""
    start_worker(stop, log_queue, logging.INFO)
    logging.getLogger("pipeline").error(words)
