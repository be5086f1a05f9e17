"""Across variants on the same cards: what is won by strict rules is never lost by looser ones.

Which games are ordered is read off the variants' data, by `order`. Its answers, and why:

- **The same cards.** The native numbering shuffles the packs, folds the suits and lays out the columns; so the packs
  and the columns must agree, and the looser game may fold the suits further (four, two by colour, one).
- **The stock.** Where no column is empty all policies deal alike. So what is legal where an empty column blocks the
  stock is legal, and comes to the same, where it deals to all columns or to those with cards. Those two are not
  ordered: with a column empty they lay the same cards elsewhere.
- **What moves together.** A unit of one suit is one of one colour, and that is one of any suits; any tail of a unit
  moves. With cards of one suit the three are the same, with spades and hearts the first two. `wrap` adds a place for
  Kings, and units that go on over them; it takes no move away.
- **Cards dealt face up** instead of down may move as well, and no move of the strict game is lost by it.
- **What leaves the table** is the catch: it leaves *at once*. Where more makes a set (any suits, suits folded, wrapped
  sequences, cards that would lie face down in the strict game), it may leave earlier than a line means it to, and is
  gone as a place to lay cards on; an emptied column can block the stock for good. Nothing proves that such a game can
  still be won. So those pairs are ordered for lines only, and for as long as they complete no such early set.

Hence two relations. ``"ordered"``: sets are the same, so a line of the strict game is one of the looser game, move for
move; a won deal is won, a lost one was lost. ``"while alike"``: the same holds of lines without early sets; of others,
it holds up to the first and, from the position there, after the last. Not ordered at all, then: rules of which neither
contains the other (dealing to all or to occupied columns; a wider unit against a wider set), and whatever differs in
packs, columns or sets needed.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from functools import cache

import pytest

from pipeline.game.boards import Board
from pipeline.game.cards import ACE, KING, SET_SIZE, is_red
from pipeline.game.deals import deal
from pipeline.game.lines import parse_line
from pipeline.game.rules import Position, replay
from pipeline.game.variants import Variant, load_variant, variant_ids
from pipeline.solver import Outcome, Solver

ORDERED, WHILE_ALIKE = "ordered", "while alike"
WIDTHS = {"suit": 0, "colour": 1, "any": 2}
LOOSER_DEALS = {"blocked": {"blocked", "all", "non-empty"}, "all": {"all"}, "non-empty": {"non-empty"}}


def width(variant: Variant, kind: str) -> int:
    """How much a kind of sequence lets through, given the suits in play: two are two colours, one is all."""
    return max(WIDTHS[kind], {4: 0, 2: 1, 1: 2}[variant.suits])


def order(strict: Variant, loose: Variant) -> str | None:
    """Return how the first game is contained in the second, by their data alone; None if it is not."""
    contained = (
        (strict.packs, strict.columns) == (loose.packs, loose.columns)
        # Where suits never matter, more of them in play make no other game.
        and (strict.suits >= loose.suits or loose.unit == loose.sets == "any")
        and strict.sets_needed == loose.sets_needed
        and loose.deal in LOOSER_DEALS[strict.deal]
        and width(strict, strict.unit) <= width(loose, loose.unit)
        and width(strict, strict.sets) <= width(loose, loose.sets)
        and strict.wrap <= loose.wrap
        and all(up <= down for up, down in zip(loose.face_down, strict.face_down, strict=True))
    )
    if not contained:
        return None
    alike = width(strict, strict.sets) == width(loose, loose.sets) and strict.wrap == loose.wrap
    return ORDERED if alike and strict.face_down == loose.face_down else WHILE_ALIKE


# KPat's other forms of the free deal combine what these pairs show one by one; three suits are no fold by colours.
FAMILY = [name for name in variant_ids() if "free-deal" not in name or name == "spider-free-deal"]
PAIRS = {
    (a.id, b.id): relation for a, b in itertools.permutations(map(load_variant, FAMILY), 2) if (relation := order(a, b))
}


def test_the_pairs_are_these():
    """By eye: whoever adds a variant sees here which games it is stricter or looser than."""
    ordered = {pair for pair, relation in PAIRS.items() if relation == ORDERED}
    assert ordered == {
        # the stock deals to empty columns, too
        ("spider-4", "spider-free-deal"),
        # wider units
        ("spider-4", "tarantula"),
        ("spider-4", "black-widow"),
        ("tarantula", "black-widow"),
        # sets of any suits in both; in the looser games units are so, too
        ("spider-relaxed", "spider-easy"),
        ("spider-relaxed", "spider-1"),
        # one game under two names: suits never matter
        ("spider-easy", "spider-1"),
        ("spider-1", "spider-easy"),
    }
    alike = {pair for pair, relation in PAIRS.items() if relation == WHILE_ALIKE}
    assert alike == {
        # sets of any suits, or of suits folded, leave earlier
        ("spider-4", "spider-relaxed"),
        ("spider-4", "spider-2"),
        ("spider-4", "spider-1"),
        ("spider-4", "spider-easy"),
        ("spider-2", "spider-1"),
        ("spider-2", "spider-easy"),
        ("tarantula", "spider-1"),
        ("tarantula", "spider-2"),
        ("tarantula", "spider-easy"),
        ("black-widow", "spider-1"),
        ("black-widow", "spider-easy"),
        # sets that would take in cards lying face down
        ("spider-4", "open-spider"),
        # sets that wrap
        ("grounds-for-a-divorce", "grounds-for-a-divorce-pysol"),
        ("big-spider", "big-divorce"),
    }


# ---------------------------------------------------------------------- solving and replaying


@pytest.fixture(scope="module")
def solved():
    """A deal's outcome, solved once."""
    solver = Solver()

    @cache
    def settle(variant: Variant, seed: int, limit: int) -> Outcome:
        return solver.solve(deal(variant, seed), limit)

    return settle


def group(variant: Variant, card: int) -> int:
    """What a variant's sets tell apart of a card's suit."""
    return {0: card >> 4, 1: int(is_red(card)), 2: 0}[width(variant, variant.sets)]


def is_set(variant: Variant, cards: list[int]) -> bool:
    """Whether cards, bottom to top, are a set of a variant; by ranks, with nothing of the referee's."""
    steps = set(itertools.pairwise(card & 15 for card in cards))
    if variant.wrap:
        steps.discard((ACE, KING))
    down = all(below == above + 1 for below, above in steps)
    return len(cards) == SET_SIZE and down and len({group(variant, card) for card in cards}) == 1


def lies_ready(loose: Variant, position: Position, down: list[int]) -> bool:
    """Whether a set of the looser game lies on top of a column; `down` counts the cards face down there."""
    return any(
        len(cards) - hidden >= SET_SIZE and is_set(loose, cards[-SET_SIZE:])
        for cards, hidden in zip(position.columns, down, strict=True)
    )


class Line:
    """A line of the strict game, and where on it the looser game would take a set away that the strict one does not.

    Attributes
    ----------
    moves
        The moves.
    early
        Numbers of the moves, from 0, after which such a set lies ready.
    rest
        The first number from which on there is none left (0 if there is none at all).
    board
        The looser game's board before that move, made of the strict game's position there.
    """

    def __init__(self, strict: Variant, loose: Variant, seed: int, text: str) -> None:
        self.moves = parse_line(text)
        self.early: list[int] = []
        self.rest, self.board = 0, deal(loose, seed)
        start = deal(strict, seed)
        cards, same = cards_of(start), cards_of(self.board)
        assert [card & 15 for card in cards] == [card & 15 for card in same]
        # Suits are the same or folded; or they do not matter there, so these are as good.
        folds = (
            dict(zip(cards, same, strict=True)) if strict.suits >= loose.suits else dict(zip(cards, cards, strict=True))
        )
        assert strict.suits < loose.suits or tuple(map(folds.get, cards)) == same
        position, down, fresh = Position(start), list(loose.face_down), False
        for number, move in enumerate(self.moves):
            position.play(move)
            down = [min(hidden, max(len(cards) - 1, 0)) for hidden, cards in zip(down, position.columns, strict=True)]
            if lies_ready(loose, position, down):
                self.early.append(number)
                fresh = True
            elif fresh:
                columns = tuple(tuple(folds[card] for card in cards) for cards in position.columns)
                stock = tuple(folds[card] for card in position.stock)
                self.rest, fresh = number + 1, False
                self.board = Board(loose, None, None, columns, tuple(down), stock, position.sets_done)


def cards_of(board: Board) -> tuple[int, ...]:
    return (*itertools.chain(*board.columns), *board.stock)


def check_pair(strict: Variant, loose: Variant, solved, seeds, limit) -> Counter[str]:
    """Hold a pair to its relation with the lines won by the strict rules; count the lines and what they showed.

    A line with no early set is one of the looser game. One with some is, up to the first of them and, from the strict
    game's position, after the last; at the first the looser game is a set ahead.
    """
    counts: Counter[str] = Counter()
    for seed in seeds:
        outcome = solved(strict, seed, limit)
        if outcome.verdict != "won":
            continue
        where = f"{strict.id} {seed} in {loose.id}"
        line = Line(strict, loose, seed, outcome.line)
        counts["won"] += 1
        if not line.early:
            counts["alike"] += 1
            assert replay(deal(loose, seed), outcome.line).won, where
            continue
        assert order(strict, loose) == WHILE_ALIKE, where
        counts["parted"] += 1
        strictly = replay(deal(strict, seed), line.moves[: line.early[0] + 1])
        loosely = replay(deal(loose, seed), line.moves[: line.early[0] + 1])
        assert loosely.sets_done > strictly.sets_done, where
        rest = line.moves[line.rest :]
        assert replay(line.board, rest).won, where
        counts["rest"] += len(rest)
    return counts


@pytest.mark.parametrize(("strict", "loose"), PAIRS, ids=["<".join(pair) for pair in PAIRS])
def test_a_line_of_the_strict_game_is_one_of_the_looser(strict, loose, solved):
    """The strong form of the claim: the looser referee plays the stricter game's line, move for move."""
    counts = check_pair(load_variant(strict), load_variant(loose), solved, range(1, 41), 15_000)
    assert counts["won"] > 5
    assert counts["alike"] or counts["rest"]


# ---------------------------------------------------------------------- verdicts, where losses can be proved


def loosened(variant: Variant) -> list[Variant]:
    """The games one step looser than a variant, its name the step."""
    steps = [{"deal": policy} for policy in ("all", "non-empty") if variant.deal == "blocked" and variant.stock_size]
    steps += [{"unit": kind} for kind in ("colour", "any") if width(variant, kind) > width(variant, variant.unit)]
    return [dataclasses.replace(variant, id="-".join(step.values()), **step) for step in steps]


# Losses are proved in games of one pack. Seeds: the first ones, and some that are lost in few positions.
ONE_PACK = {
    "simple-simon": [*range(1, 41), 57, 68, 95],
    "spiderette": [*range(1, 13), 160, 173, 211, 233, 269],
    "will-o-the-wisp": [*range(1, 13)],
}
STEPS = [(name, step.id) for name in ONE_PACK for step in loosened(load_variant(name))]


@pytest.mark.parametrize(("name", "step"), STEPS, ids=[" ".join(step) for step in STEPS])
def test_what_is_won_by_strict_rules_is_never_lost_by_looser(name, step, solved):
    strict = load_variant(name)
    loose = next(variant for variant in loosened(strict) if variant.id == step)
    assert order(strict, loose) == ORDERED
    counts = check_pair(strict, loose, solved, ONE_PACK[name], 30_000)
    assert counts["won"] == counts["alike"] > 5
    verdicts = {(solved(strict, seed, 30_000).verdict, solved(loose, seed, 30_000).verdict) for seed in ONE_PACK[name]}
    assert ("won", "lost") not in verdicts
    # Will o' the Wisp has too few losses for the first deals to show one.
    assert name == "will-o-the-wisp" or any(before == "lost" for before, _ in verdicts)


def test_looser_rules_save_deals(solved):
    """The order is a strict one: a deal lost with units of one suit is won with units of any."""
    strict = load_variant("spiderette")
    loose = next(variant for variant in loosened(strict) if variant.id == "any")
    assert solved(strict, 233, 200_000).verdict == "lost"
    assert solved(loose, 233, 200_000).verdict == "won"


@pytest.mark.parametrize("name", ONE_PACK)
def test_a_line_stays_one_while_sets_stay_the_same(name, solved):
    """Sets that wrap, sets of any suits, cards face up: as far as no such set leaves early."""
    strict = load_variant(name)
    looser = [dataclasses.replace(strict, id="wrap", wrap=True), dataclasses.replace(strict, id="any", sets="any")]
    if any(strict.face_down):
        looser.append(dataclasses.replace(strict, id="open", face_down=(0,) * len(strict.columns)))
    for loose in looser:
        assert order(strict, loose) == WHILE_ALIKE
        counts = check_pair(strict, loose, solved, ONE_PACK[name], 30_000)
        assert counts["alike"] or counts["rest"]


def test_what_is_not_ordered():
    """Rules of which neither contains the other."""
    base = load_variant("spiderette")

    def with_(**rules):
        return dataclasses.replace(base, **rules)

    neither = [
        (with_(deal="all"), with_(deal="non-empty")),
        (with_(unit="any"), with_(sets="any")),
        (with_(suits=2), with_(unit="any")),
        (base, with_(sets_needed=3)),
        (base, load_variant("will-o-the-wisp")),
    ]
    for a, b in neither:
        assert order(a, b) is order(b, a) is None
    assert order(with_(deal="all"), base) is None
