"""A TOML table read strictly: a fault names the file, the key, the value and what is allowed."""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any, NoReturn

from pipeline.errors import VariantError
from pipeline.game.spelling import closest

FILE_BYTES = 1_000_000  # no file that people write for us, a variant, a board or a configuration, is larger


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
    """Return a TOML file's contents; raises VariantError if it cannot be read."""
    try:
        with path.open("rb") as file:
            raw = file.read(FILE_BYTES + 1)
        if len(raw) > FILE_BYTES:
            raise VariantError(f"{path}: larger than {FILE_BYTES:,} bytes; not a variant")
        return tomllib.loads(raw.decode("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise VariantError(f"{path}: cannot be read: {reason}") from error
    except tomllib.TOMLDecodeError as error:
        raise VariantError(f"{path}: not TOML: {error}") from error
