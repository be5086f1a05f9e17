"""The values of settings: each kind is read from the text of a flag or a variable, or from TOML, or is a ValueError.

The text of the error says what would be right: "expected ...".
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from pipeline.dataset.seeds import LAST_SEED, Seeds, parse_seeds
from pipeline.game.spelling import closest

_WORKER_BYTES = 256 << 20  # a worker holds nearly 200 MB before its first deal, and has its search's memory to fill
_TIME = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_SIZE = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def read_count(value: object, least: int = 1, most: int = LAST_SEED) -> int:
    """Read a whole number; texts may say `1_000_000`, `167k` or `10M`."""
    if isinstance(value, str):
        match = re.fullmatch(r"([0-9][0-9_]{0,30})([kKmM]?)", value.strip())
        value = int(match[1]) * {"": 1, "k": 1000, "m": 1_000_000}[match[2].lower()] if match else None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        up_to = "up" if most == LAST_SEED else f"to {most}"
        raise ValueError(
            f"a whole number from {least} {up_to}, for example {max(least, 167_000) if most > 4096 else 4}"
        )
    return value


def read_duration(value: object) -> float:
    """Read seconds, or a text like `90s`, `10m`, `2h` or `1h30m`."""
    seconds: float = 0
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = value
    elif isinstance(value, str) and re.fullmatch(r"(\d{1,9}(\.\d{1,9})?[smhd]?)+", text := value.strip(), re.ASCII):
        seconds = sum(float(n) * _TIME[unit] for n, unit in re.findall(r"(\d+(?:\.\d+)?)([smhd]?)", text))
    if not 0 < seconds < 1e10:
        raise ValueError("seconds, or a duration like 90s, 10m, 2h or 1h30m")
    return float(seconds)


def read_size(value: object) -> int:
    """Read a number of bytes, or a text like `600MB` or `2GB`."""
    size = 0
    if isinstance(value, int) and not isinstance(value, bool):
        size = value
    elif isinstance(value, str) and (match := re.fullmatch(r"(\d{1,9})\s*([kmgt]?)i?b?", value.strip().lower())):
        size = int(match[1]) * _SIZE[match[2]]
    if not _WORKER_BYTES <= size < 1 << 50:
        least = f"{_WORKER_BYTES >> 20}MB"
        raise ValueError(f"a size of at least {least}, which every worker needs, for example 600MB or 2GB")
    return size


def read_shard(value: object) -> tuple[int, int]:
    """Read `i/n` with 1 <= i <= n."""
    match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", value.strip(), re.ASCII) if isinstance(value, str) else None
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise ValueError("i/n with 1 <= i <= n, for example 3/16")
    return int(match[1]), int(match[2])


def read_ranges(value: object) -> Seeds:
    """Read one or a list of `A:B` or `A`; in a text, commas separate them."""
    texts = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else [value]
    if not texts or any(isinstance(text, bool) or not isinstance(text, str | int) for text in texts):
        raise ValueError('seeds as "A:B" (both included), A, or a list of them, for example "1:1000"')
    return Seeds.of(parse_seeds(str(text)) for text in texts)


def read_words(value: object) -> tuple[str, ...]:
    """Read a list of words; in a text, commas separate them."""
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, list) or not words or not all(isinstance(word, str) and word.strip() for word in words):
        raise ValueError("a list of variants, for example spider-1, spider-4")
    return tuple(dict.fromkeys(word.strip() for word in words))


def read_choice(value: object, allowed: Collection[str]) -> str:
    """Read one of the words allowed."""
    if value not in allowed or not isinstance(value, str):
        hint = closest(value, allowed) if isinstance(value, str) else ""
        raise ValueError(f"one of {', '.join(allowed)}{hint}")
    return value


def read_switch(value: object) -> bool:
    """Read true or false."""
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    switch = words.get(value.strip().lower()) if isinstance(value, str) else value
    if not isinstance(switch, bool):
        raise ValueError("true or false")
    return switch


def read_path(value: object) -> Path:
    """Read a path."""
    if not isinstance(value, str | Path) or not str(value).strip() or "\0" in str(value):
        raise ValueError("a path")
    return Path(value)


def read_address(value: object) -> str:
    """Read a scheduler's address."""
    if not isinstance(value, str) or not re.fullmatch(r"(tcp|tls|ws|wss|ucx)://\S+", value.strip()):
        raise ValueError("an address like tcp://10.0.0.1:8786 or tls://scheduler:8786")
    return value.strip()
