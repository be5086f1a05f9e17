"""A variant's rules in words, made from the data."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.game.variants.variant import Variant

_NUMBERS = (
    *("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen"),
)
_DECK = {1: "one suit", 2: "two suits", 3: "three suits, spades twice as many", 4: "four suits"}
_UNIT = {"suit": "of one suit", "colour": "of one colour", "any": "of any suits"}


def describe(variant: Variant) -> str:
    """Return the rules as a few sentences."""
    return " ".join((_deck(variant), _layout(variant), _stock(variant), _play(variant), _goal(variant)))


def _count(number: int, noun: str) -> str:
    return f"{_NUMBERS[number] if number < len(_NUMBERS) else number} {noun}{'' if number == 1 else 's'}"


def _deck(variant: Variant) -> str:
    return f"{_count(variant.packs, 'pack').capitalize()} ({variant.cards} cards) in {_DECK[variant.suits]}."


def _layout(variant: Variant) -> str:
    sizes = variant.columns
    groups = [(size, len(list(group))) for size, group in groupby(sizes)]
    if len(groups) == 1:
        shape = f" of {sizes[0]} cards"
    elif len(groups) <= 3:
        shape = ": " + " and ".join(f"{_NUMBERS[times]} of {size} cards" for size, times in groups)
    else:
        shape = f" of {', '.join(map(str, sizes))} cards"
    return f"{_count(len(sizes), 'column').capitalize()}{shape}, {_face(variant)}."


def _face(variant: Variant) -> str:
    down = sum(variant.face_down)
    if not down:
        return "all face up"
    if all(d == max(size - 1, 0) for d, size in zip(variant.face_down, variant.columns, strict=True)):
        return f"only the last card of each face up ({down} face down)"
    return f"{', '.join(map(str, variant.face_down))} of them face down ({down} in all)"


def _stock(variant: Variant) -> str:
    if not variant.stock_size:
        return "No stock."
    start = f"A stock of {variant.stock_size}"
    row, short = len(variant.columns), variant.stock_size % len(variant.columns)
    last = f" (the last deal, of {short}, to the first columns)" if short and variant.stock_size > row else ""
    if variant.deal == "blocked":
        return f"{start} deals one card to every column{last}, but not while a column is empty."
    if variant.deal == "all":
        return f"{start} deals one card to every column{last}, empty ones too, at any time."
    return (
        f"{start} deals one card to every column that is not empty, at any time; to the first column if all are empty; "
        "what is left at the end goes to the first of them."
    )


def _play(variant: Variant) -> str:
    wrapped = ", and a King on an Ace" if variant.wrap else ""
    return (
        f"A card may be laid on any card one rank higher{wrapped}; descending cards {_UNIT[variant.unit]} move "
        "together; an empty column takes any of them."
    )


def _goal(variant: Variant) -> str:
    which = "any thirteen descending cards, wrapping," if variant.wrap else "King to Ace"
    return (
        f"{which[0].upper()}{which[1:]} {_UNIT[variant.sets]} on top of a column, face up, leave at once; "
        f"won when {_count(variant.sets_needed, 'set')} {'is' if variant.sets_needed == 1 else 'are'} gone."
    )
