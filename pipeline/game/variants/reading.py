"""Reading a variant's TOML file, strictly: a fault names the file, the key, the value and what is allowed."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from pipeline.errors import VariantError

FILE_BYTES = 1_000_000  # no file that people write for us, a variant, a board or a configuration, is larger
PACK_SIZE = 52
DEALS = ("blocked", "all", "non-empty")
UNITS = ("suit", "colour", "any")
SETS = ("suit", "any")
NUMBERINGS = ("native", "pysol", "kpat")
COLUMNS = range(3, 17)

SPIDER_LAYOUT = (6, 6, 6, 6, 5, 5, 5, 5, 5, 5)
DIVORCE_LAYOUT = (5,) * 10
# The layouts another program deals, two packs; whether cards lie face up or down makes no other cards.
NUMBERED_LAYOUTS = {"pysol": (SPIDER_LAYOUT, DIVORCE_LAYOUT), "kpat": (SPIDER_LAYOUT,)}


@dataclass(frozen=True, slots=True)
class Documented:
    """A figure others published.

    Attributes
    ----------
    source
        Who says so.
    deals
        Deals searched; None where it is not known.
    node_limit
        Positions a deal, as they count them; None where the limit is another or none.
    proved
        Share of the deals proved winnable, 0 to 1; None where it is not known.
    won, lost, unsettled
        The counts behind it, where known.
    note
        How the rules or the numbers differ from ours.
    """

    source: str
    deals: int | None = None
    node_limit: int | None = None
    proved: float | None = None
    won: int | None = None
    lost: int | None = None
    unsettled: int | None = None
    note: str = ""


def closest(word: str, words: Iterable[object]) -> str:
    """Return ``"; did you mean 'spider-4'?"``, or nothing when no word is near."""
    near = difflib.get_close_matches(word, list(map(str, words)), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


class Table:
    """A TOML table read key by key; every reader checks what it returns.

    A key that no reader knows, a missing one and a value of the wrong kind are `VariantError`s.
    """

    def __init__(self, values: dict[str, Any], source: str) -> None:
        self.values = values
        self.source = source

    def fail(self, key: str, allowed: str) -> NoReturn:
        """Raise the `VariantError` that names file, key, value and what is allowed."""
        value = self.values.get(key)
        said = f"is {_toml(value)}" if key in self.values else "is missing"
        raise VariantError(f"{self.source}: {key} {said}; allowed: {allowed}")

    def only(self, keys: Collection[str]) -> None:
        """Refuse keys that are not among `keys`."""
        for key in self.values:
            if key not in keys:
                hint = closest(key, keys)
                raise VariantError(f"{self.source}: unknown key {key!r}{hint or '; allowed: ' + ', '.join(keys)}")

    def text(self, key: str, default: str | None = None) -> str:
        """Read a text that is not blank."""
        value = self.values.get(key, default)
        if not isinstance(value, str) or (key in self.values and not value.strip()):
            self.fail(key, "a text")
        return value

    def whole(self, key: str, least: int, most: int | None = None, default: int | None = None) -> int:
        """Read a whole number from `least` to `most`."""
        value = self.values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= (most or value):
            self.fail(key, f"a whole number from {least} " + ("up" if most is None else f"to {most}"))
        return value

    def one_of(self, key: str, allowed: Collection[Any], default: Any = None) -> Any:
        """Read a value that is one of `allowed`."""
        value = self.values.get(key, default)
        if isinstance(value, bool) != isinstance(next(iter(allowed)), bool) or value not in allowed:
            hint = closest(value, allowed) if isinstance(value, str) else ""
            self.fail(key, ", ".join(map(_toml, allowed)) + hint)
        return value

    def wholes(self, key: str, allowed: str) -> tuple[int, ...]:
        """Read a list of whole numbers, none below zero."""
        value = self.values.get(key)
        if not isinstance(value, list) or not all(_is_whole(number) and number >= 0 for number in value):
            self.fail(key, allowed)
        return tuple(value)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def parse_toml(path: Path) -> dict[str, Any]:
    """Return a TOML file's contents; raises VariantError if there is none to read."""
    try:
        with path.open("rb") as file:
            raw = file.read(FILE_BYTES + 1)
        if len(raw) > FILE_BYTES:
            raise VariantError(f"{path}: larger than {FILE_BYTES:,} bytes; that is no variant")
        return tomllib.loads(raw.decode("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise VariantError(f"{path}: cannot be read: {reason}") from error
    except tomllib.TOMLDecodeError as error:
        raise VariantError(f"{path}: is no TOML: {error}") from error


FIELDS = (
    "id",
    "name",
    "packs",
    "suits",
    "columns",
    "face_down",
    "deal",
    "unit",
    "sets",
    "wrap",
    "sets_needed",
    "numberings",
    "documented",
)


def read_fields(values: dict[str, Any], source: str) -> dict[str, Any]:
    """Return the checked fields of a variant, ready to make one of.

    Parameters
    ----------
    values
        The parsed TOML.
    source
        What the messages call the file.

    Raises
    ------
    VariantError
        A key or a value is wrong, or the rules make no game.
    """
    table = Table(values, source)
    table.only(FIELDS)
    variant_id = table.text("id")
    if not re.fullmatch(r"[a-z0-9-]+", variant_id):
        table.fail("id", "small letters, digits and hyphens")
    packs = table.whole("packs", 1, 4)
    columns, face_down = _layout(table, packs * PACK_SIZE)
    unit, sets = table.one_of("unit", UNITS, "suit"), table.one_of("sets", SETS, "suit")
    wrap = table.one_of("wrap", (False, True), False)
    if wrap and unit != "suit" and sets == "suit":
        # Such a unit would have no end: round and round through the suits.
        table.fail("unit", '"suit" where wrap is true and sets are of one suit')
    if wrap and unit != "any" and sets == "any":
        # The engine follows sets of any suits from their King, wrapped ones have none; folded suits need no such chain.
        table.fail("unit", '"any" where wrap is true and sets are of any suits')
    return {
        "id": variant_id,
        "name": table.text("name"),
        "packs": packs,
        "suits": table.one_of("suits", (1, 2, 4)),
        "columns": columns,
        "face_down": face_down,
        "deal": table.one_of("deal", DEALS),
        "unit": unit,
        "sets": sets,
        "wrap": wrap,
        "sets_needed": table.whole("sets_needed", 1, packs * 4, packs * 4),
        "numberings": _numberings(table, packs, columns, face_down),
        "documented": _documented(table),
    }


def _layout(table: Table, cards: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    shape = (
        f"a list of {COLUMNS.start} to {COLUMNS.stop - 1} column sizes, left to right, {cards} cards or fewer in all"
    )
    columns = table.wholes("columns", shape)
    if len(columns) not in COLUMNS or not 0 < sum(columns) <= cards:
        table.fail("columns", shape)
    down = f"a list of {len(columns)} counts, one a column, each leaving at least the last card face up"
    face_down = table.wholes("face_down", down)
    if len(face_down) != len(columns) or any(d and d >= c for d, c in zip(face_down, columns, strict=True)):
        table.fail("face_down", down)
    return columns, face_down


def last_face_up(columns: Iterable[int]) -> tuple[int, ...]:
    """Return how many cards lie face down where only the last one of each column lies face up."""
    return tuple(size - 1 for size in columns)


def _numberings(table: Table, packs: int, columns: tuple[int, ...], face_down: tuple[int, ...]) -> tuple[str, ...]:
    names = table.values.get("numberings", ["native"])
    allowed = 'a list of "native" and, for two packs laid out as they deal them, "pysol", "kpat"'
    if not isinstance(names, list) or "native" not in names or len(set(map(str, names))) != len(names):
        table.fail("numberings", allowed)
    for name in names:
        if name not in NUMBERINGS:
            table.fail("numberings", allowed)
        if name != "native" and (packs != 2 or columns not in NUMBERED_LAYOUTS[name]):
            table.fail("numberings", allowed)
    if "pysol" in names and columns == SPIDER_LAYOUT and any(face_down) and face_down != last_face_up(columns):
        # Its long columns are others than ours, so counts by column do not fit them.
        table.fail(
            "numberings", 'no "pysol" with this face_down; it needs all cards face up, or the last of each column'
        )
    return tuple(sorted(names, key=NUMBERINGS.index))


def _documented(table: Table) -> tuple[Documented, ...]:
    entries = table.values.get("documented", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        table.fail("documented", "[[documented]] tables")
    return tuple(_figure(Table(entry, f"{table.source}: documented {i}")) for i, entry in enumerate(entries, 1))


def _figure(table: Table) -> Documented:
    table.only(("source", "deals", "node_limit", "proved", "won", "lost", "unsettled", "note"))

    def count(key: str, least: int = 0) -> int | None:
        return table.whole(key, least) if key in table.values else None

    proved = table.values.get("proved")
    if proved is not None and not (
        isinstance(proved, int | float) and not isinstance(proved, bool) and 0 <= proved <= 1
    ):
        table.fail("proved", "a rate from 0 to 1")
    return Documented(
        source=table.text("source"),
        deals=count("deals", 1),
        node_limit=count("node_limit", 1),
        proved=None if proved is None else float(proved),
        won=count("won"),
        lost=count("lost"),
        unsettled=count("unsettled"),
        note=table.text("note", ""),
    )
