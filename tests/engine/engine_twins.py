"""Plain twins of compiled functions, written from what they are documented to do."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from pipeline.engine.records import Rules, Start


def follows(rules: Rules, card: int, below: int) -> bool:
    """Whether a card may be laid on another."""
    return below & 15 == (card & 15) + 1 or (rules.wrap and card & 15 == 13 and below & 15 == 1)


def runs_of(rules: Rules, cards: Sequence[int]) -> list[list[int]]:
    """Cut face-up cards into same-suit sequences."""
    runs: list[list[int]] = []
    for card in cards:
        if runs and card >> 4 == runs[-1][-1] >> 4 and follows(rules, card, runs[-1][-1]):
            runs[-1].append(card)
        else:
            runs.append([card])
    return runs


def column_value(rules: Rules, w: dict[str, int], cards: Sequence[int], down: int) -> int:
    """Value of one column by itself."""
    if not cards:
        return w["empty"]
    value = 0
    if down:
        value -= w["down_column"] + w["down"] * down
        for below, card in pairwise(cards[:down]):
            value += w["down_pair"] * (below & 15 == (card & 15) + 1)
        if down < len(cards):
            value += w["down_pair"] * follows(rules, cards[down], cards[down - 1])
    runs = runs_of(rules, cards[down:])
    for run in runs:
        value += w["join"] * (len(run) - 1) + w["run_square"] * len(run) ** 2
    for below, card in pairwise(cards[down:]):
        if follows(rules, card, below):
            value += w["mixed"] * (card >> 4 != below >> 4)
        else:
            value -= w["break_"] + w["break_up"] * (card & 15 > below & 15)
    if down:
        value -= w["down_runs"] * len(runs)
    else:
        chain = 1
        while chain < len(cards) and follows(rules, cards[chain], cards[chain - 1]):
            chain += 1
        if cards[0] & 15 == 13:
            value += w["king_base"] + w["base_chain"] * (chain - 1)
        value += w["ordered"] * (chain == len(cards))
    if runs and runs[-1][0] & 15 == 13 and len(runs[-1]) < len(cards):
        value -= w["top_king"]
    return value


def across_value(rules: Rules, w: dict[str, int], start: Start) -> int:
    """The part of a position's value that looks across columns."""
    tops = {column[-1] for column in start.columns if column}
    wanted, shallowest = set(), []
    for cards, down in zip(start.columns, start.face_down, strict=True):
        if cards:
            runs = runs_of(rules, cards[down:])
            head = runs[-1][0]
            if head & 15 < 13:
                wanted.add(head + 1)
            elif rules.wrap:
                wanted.add(head - 12)
            shallowest.append(len(runs) + down)
    ranks = {card & 15 for card in tops}
    value = w["top_ranks"] * len(ranks)
    value += w["same_ready"] * len(wanted & tops)
    value += w["mixed_ready"] * len({card & 15 for card in wanted} & ranks)
    value += w["more_empty"] * max(0, start.columns.count(()) - 1)
    return value - w["shallowest"] * min(shallowest, default=0)


def score_of(rules: Rules, w: dict[str, int], start: Start) -> int:
    """Value of columns and sets."""
    columns = zip(start.columns, start.face_down, strict=True)
    return sum(column_value(rules, w, *column) for column in columns) + w["set_done"] * start.sets_done


def chosen(orders: Sequence[int], signatures: Sequence[int], keep: int) -> list[int]:
    """Which of many items go on: the best of each signature first, then the best of the others."""
    if len(orders) <= keep:
        return list(range(len(orders)))
    best: dict[int, int] = {}
    for order, signature in zip(orders, signatures, strict=True):
        best[signature] = max(order, best.get(signature, order))
    champions = set(best.values())
    ranked = sorted(orders, key=lambda order: (order not in champions, -order))
    return sorted(orders.index(order) for order in ranked[:keep])
