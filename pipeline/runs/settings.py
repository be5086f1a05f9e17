"""The settings of a run. `SETTINGS` is the one table of them, for the file, the environment and the pages."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.dataset.seeds import Seeds
from pipeline.game.deals import DATASET_SEEDS
from pipeline.game.variants import MAIN_VARIANTS, Variant
from pipeline.runs.values import (
    read_address,
    read_choice,
    read_count,
    read_duration,
    read_path,
    read_ranges,
    read_shard,
    read_size,
    read_switch,
    read_words,
)

if TYPE_CHECKING:
    from pipeline.dataset.store import Partition

EXECUTORS = ("processes", "inline", "dask")
RETRIES = ("none", "unsettled")


class Setting(NamedTuple):
    """One setting: its key in the file, how its value is read, its default and its meaning."""

    key: str
    read: Callable[[Any], Any]
    default: Any
    help: str

    @property
    def variable(self) -> str:
        """The environment variable that holds it."""
        return f"WINNABLE_{self.key.upper()}"

    @property
    def flag(self) -> str:
        """The flag of `winnable run` that sets it."""
        return {"variants": "--variant"}.get(self.key, f"--{self.key.replace('_', '-')}")


SETTINGS: tuple[Setting, ...] = (
    Setting("data", read_path, Path("data"), "directory of the dataset"),
    Setting("variants", read_words, MAIN_VARIANTS, "variants to settle: ids, or files of your own"),
    Setting("numbering", partial(read_choice, allowed=tuple(DATASET_SEEDS)), "native", "how a number becomes a deal"),
    Setting("seeds", read_ranges, None, "ranges of deals, both ends included"),
    Setting("seeds_from", read_path, None, "file of seeds, one number per line"),
    Setting("nodes", read_count, 1_000_000, "node limit: positions before a deal is left unsettled"),
    Setting("retry", partial(read_choice, allowed=RETRIES), "none", "settle again what another solver left unsettled"),
    Setting("workers", partial(read_count, most=4096), None, "worker processes (one per core by default)"),
    Setting("shard", read_shard, None, "settle the i-th of n equal contiguous ranges"),
    Setting("max_time", read_duration, None, "stop cleanly between deals after this time"),
    Setting("memory", read_size, None, "most memory of a worker; a deal that needs more fails alone"),
    Setting("chunk", partial(read_count, most=1_000_000), None, "deals handed to a worker at once (adapts by default)"),
    Setting("executor", partial(read_choice, allowed=EXECUTORS), "processes", "where deals are settled"),
    Setting("scheduler", read_address, None, "Dask scheduler (a local cluster by default)"),
    Setting("report", read_switch, False, "print the report after the run"),
)
VARIANT_KEYS = ("nodes", "numbering", "seeds", "seeds_from")  # allowed in a [variant.<id>] table too

NIGHTLY: tuple[Setting, ...] = (
    Setting("seeds", read_count, 1000, "new deals a night and variant"),
    Setting("first_seed", partial(read_count, least=0), 1, "where the first night begins"),
    Setting("retry_nodes", read_count, 10_000_000, "node limit at which unsettled deals are tried again"),
    Setting("retry_at_most", partial(read_count, least=0), 1000, "unsettled deals tried again a night and variant"),
    Setting("verify_sample", partial(read_count, least=0), 1000, "stored lines replayed a night and variant"),
    Setting("reports", read_path, Path("reports"), "directory of the nights' reports"),
)


@dataclass(frozen=True, slots=True)
class Deals:
    """Deals of one variant to settle at one node limit."""

    variant: Variant
    numbering: str
    seeds: Seeds
    node_limit: int

    @property
    def partition(self) -> Partition:
        """Where their rows go."""
        from pipeline.dataset.store import Partition  # loads pyarrow, which reading a flag must not

        return Partition(self.variant.id, self.numbering)


@dataclass(frozen=True, slots=True)
class NightlySettings:
    """The settings of a night; see `NIGHTLY`. `seeds_of` holds the numbers that variants set themselves."""

    seeds: int
    first_seed: int
    retry_nodes: int
    retry_at_most: int
    verify_sample: int
    reports: Path
    seeds_of: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The settings of a run; see `SETTINGS`.

    Attributes
    ----------
    deals
        The deals to settle, one entry per variant, already cut to the shard.
    named
        Whether the variants were named, by a flag, a variable or a file.
    configured
        Whether a file was read.
    """

    data: Path
    deals: tuple[Deals, ...]
    workers: int
    retry: bool = False
    shard: tuple[int, int] | None = None
    max_time: float | None = None
    memory: int | None = None
    chunk: int | None = None
    executor: str = "processes"
    scheduler: str | None = None
    report: bool = False
    nightly: NightlySettings | None = None
    named: bool = True
    configured: bool = False


def misspelled_variables(environment: Collection[str]) -> list[tuple[str, str]]:
    """Return the variables that look like misspelled ones of ours, each with the right name."""
    prefix = "WINNABLE_"
    known = [*(setting.variable.removeprefix(prefix) for setting in SETTINGS), "CACHE"]
    near_misses = []
    for name in sorted(environment):
        key = name.removeprefix(prefix)
        if name.startswith(prefix) and key not in known:
            near_misses += [(name, prefix + near) for near in difflib.get_close_matches(key.upper(), known, n=1)]
    return near_misses


def usable_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def is_file_name(word: str) -> bool:
    """Whether a variant is given as a file of the user's own."""
    return word.endswith(".toml") or "/" in word
