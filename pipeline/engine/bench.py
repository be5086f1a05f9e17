"""The bench: fixed searches whose outcome is one number, and the speed of the search."""

from __future__ import annotations

import time
import zlib
from typing import NamedTuple

from pipeline.engine.exhaust import ATTEMPT, Exhaust
from pipeline.engine.records import DEAL_BLOCKED, DEAL_NON_EMPTY, Rules, Start
from pipeline.engine.search import Search

SUIT, ANY = 0, 2
SPIDER = Rules(10, DEAL_BLOCKED, SUIT, SUIT, False, 8)
GAMES = (  # parameters, rules, suits, face-down cards and cards of the columns
    ("spider-4", SPIDER, 4, (5,) * 4 + (4,) * 6, (6,) * 4 + (5,) * 6),
    ("spider-2", SPIDER, 2, (5,) * 4 + (4,) * 6, (6,) * 4 + (5,) * 6),
    ("grounds-for-a-divorce", Rules(10, DEAL_NON_EMPTY, SUIT, SUIT, False, 8), 4, (0,) * 10, (5,) * 10),
    ("spider-relaxed", Rules(10, DEAL_BLOCKED, SUIT, ANY, False, 8), 4, (5,) * 4 + (4,) * 6, (6,) * 4 + (5,) * 6),
    ("default", Rules(10, DEAL_NON_EMPTY, SUIT, SUIT, True, 8), 4, (0,) * 10, (5,) * 10),
    ("default", Rules(10, DEAL_BLOCKED, ANY, SUIT, False, 8), 4, (5,) * 4 + (4,) * 6, (6,) * 4 + (5,) * 6),
    ("default", Rules(10, DEAL_BLOCKED, SUIT, SUIT, False, 4), 4, (0,) * 10, (8, 8, 8, 7, 6, 5, 4, 3, 2, 1)),
    ("spiderette", Rules(7, DEAL_BLOCKED, SUIT, SUIT, False, 4), 4, (0, 1, 2, 3, 4, 5, 6), (1, 2, 3, 4, 5, 6, 7)),
)
DEALS = 4  # of each game
SIGNATURE_LIMIT = 20_000
COMPLETE_LIMIT = 2_000  # of the complete search alone; without a stock as many in the second attempt
SPEED_LIMIT = 100_000


class Speed(NamedTuple):
    """What the timed searches did: deals, positions, CPU seconds."""

    deals: int
    positions: int
    seconds: float


def bench_start(game: int, seed: int) -> Start:
    """Return a fixed deal of one of the `GAMES`, by a plain 64-bit generator of the bench's own."""
    _, rules, suits, downs, sizes = GAMES[game]
    packs = rules.sets_needed // 4
    cards = [(suit % suits) << 4 | rank for _ in range(packs) for suit in range(4) for rank in range(1, 14)]
    state = seed * 2654435761 + 1
    for i in range(len(cards) - 1, 0, -1):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        j = (state >> 33) % (i + 1)
        cards[i], cards[j] = cards[j], cards[i]
    columns, at = [], 0
    for size in sizes:
        columns.append(tuple(cards[at : at + size]))
        at += size
    return Start(tuple(columns), downs, tuple(cards[at:]), 0)


def signature() -> int:
    """Search the bench's deals and return the checksum (CRC-32) of all outcomes."""
    outcomes: list[tuple[object, ...]] = []
    for game, (name, rules, *_) in enumerate(GAMES):
        search = Search(rules, name)
        for seed in range(DEALS):
            result = search.solve(bench_start(game, seed), SIGNATURE_LIMIT)
            outcomes.append((result.verdict, result.positions, result.expanded, result.moves.tolist()))
        if rules.sets_needed == 4:  # one pack: the complete search matters there, and within few positions
            outcomes += [_complete(rules, bench_start(game, seed)) for seed in range(DEALS)]
    return zlib.crc32(repr(outcomes).encode())


def _complete(rules: Rules, start: Start) -> tuple[object, ...]:
    search = Exhaust(rules)
    search.start(start)
    verdict = search.advance(COMPLETE_LIMIT if start.stock else ATTEMPT + COMPLETE_LIMIT)
    return verdict, search.positions, search.expanded


def speed(seconds: float = 5.0) -> Speed:
    """Search four-suit Spider deals for about so many CPU seconds, the compiler's time left out."""
    search = Search(SPIDER, "spider-4")
    search.solve(bench_start(0, 0), SIGNATURE_LIMIT)
    deals = positions = 0
    begin = time.process_time()
    while (used := time.process_time() - begin) < seconds or not deals:
        deals += 1
        positions += search.solve(bench_start(0, deals), SPEED_LIMIT).positions
    return Speed(deals, positions, used)
