"""What a run is told: flags over `WINNABLE_*` variables over a TOML file over defaults, as frozen settings.

`SETTINGS` is the one table of them: it reads the file and the environment, and documents both.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from pipeline.dataset.seeds import LAST_SEED, Seeds, parse_seeds, read_seeds
from pipeline.errors import ConfigError, UsageError
from pipeline.game.deals import DATASET_SEEDS
from pipeline.game.spelling import closest
from pipeline.game.variants import MAIN_VARIANTS, Variant, load_variant, read_variant, variant_ids
from pipeline.game.variants.table import FILE_BYTES

DEALS_AT_MOST = 1_000_000_000
EXECUTORS = ("processes", "inline", "dask")
RETRIES = ("none", "unsettled")
_WORKER_BYTES = 256 << 20  # a worker holds nearly 200 MB before its first deal, and has its search's memory to fill
_TIME = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_SIZE = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


# ---- kinds of values: each reads the text of a flag or variable, or a TOML value, or raises ValueError


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
    """Read one or a list of `A:B` or `A`; in a text of several, commas part them."""
    texts = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else [value]
    if not texts or any(isinstance(text, bool) or not isinstance(text, str | int) for text in texts):
        raise ValueError('seeds as "A:B" (both included), A, or a list of them, for example "1:1000"')
    return Seeds.of(parse_seeds(str(text)) for text in texts)


def read_words(value: object) -> tuple[str, ...]:
    """Read a list of words; in one text, commas part them."""
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
    found = words.get(value.strip().lower()) if isinstance(value, str) else value
    if not isinstance(found, bool):
        raise ValueError("true or false")
    return found


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


# ---- the table


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
    Setting("tls_ca", read_path, None, "certificate authority of the Dask cluster"),
    Setting("tls_cert", read_path, None, "certificate for the Dask cluster"),
    Setting("tls_key", read_path, None, "key of that certificate"),
    Setting("report", read_switch, False, "print the report after the run"),
)
VARIANT_KEYS = ("nodes", "numbering", "seeds", "seeds_from")  # may stand in a [variant.<id>] table too

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
    nodes: int


@dataclass(frozen=True, slots=True)
class NightlySettings:
    """What a night is told; see `NIGHTLY`. `seeds_of` holds the variants whose number of new deals is their own."""

    seeds: int
    first_seed: int
    retry_nodes: int
    retry_at_most: int
    verify_sample: int
    reports: Path
    seeds_of: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Everything a run is told; see `SETTINGS`.

    Attributes
    ----------
    deals
        What to settle, one entry a variant, the shard already taken.
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
    tls: tuple[Path | None, Path | None, Path | None] = (None, None, None)
    report: bool = False
    nightly: NightlySettings | None = None


def load_settings(
    config: Path | None = None,
    flags: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] = os.environ,
    *,
    need_seeds: bool = True,
) -> RunSettings:
    """Merge flags, environment, file and defaults.

    Parameters
    ----------
    config
        A TOML file; none by default.
    flags
        Values by key of `SETTINGS`; None and empty ones count as not given.
    need_seeds
        Whether a variant without seeds is an error; otherwise its `seeds` are empty.

    Raises
    ------
    ConfigError
        The file or a variable is wrong: names it, the key, the value and what is allowed.
    UsageError
        The flags are, or there is nothing to settle.
    """
    file = ConfigFile.read(config) if config is not None else ConfigFile({}, "", Path())
    layers = Layers(file, environment, flags or {})
    deals = tuple(layers.deals_of(word, need_seeds) for word in layers.variants())
    planned = sum(job.seeds.count for job in deals)
    if planned > DEALS_AT_MOST:
        raise layers.error(
            "seeds", f"{planned:,} deals are more than one run may plan ({DEALS_AT_MOST:,}); use --shard or fewer seeds"
        )
    return RunSettings(
        data=layers.value("data"),
        deals=deals,
        workers=layers.value("workers") or usable_cores(),
        retry=layers.value("retry") == "unsettled",
        shard=layers.value("shard"),
        max_time=layers.value("max_time"),
        memory=layers.value("memory"),
        chunk=layers.value("chunk"),
        executor=layers.value("executor"),
        scheduler=layers.value("scheduler"),
        tls=layers.certificates(),
        report=layers.value("report"),
        nightly=layers.nightly(),
    )


class ConfigFile:
    """A TOML file whose keys and values are all checked when it is read."""

    def __init__(self, values: dict[str, Any], name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        self.variant_tables: dict[str, dict[str, Any]] = {}
        tables = values.pop("variant", {})
        nightly = values.pop("nightly", None)
        self.values = self._table(values, SETTINGS, "", ("variant", "nightly"))
        self._check_kind(tables, "variant")
        for word, table in tables.items():
            self._check_kind(table, f"variant.{word}")
            if word not in variant_ids() and not is_file_name(word):
                self.fail(f"variant.{word}: no such variant{closest(word, variant_ids())}")
            keys = [setting for setting in SETTINGS if setting.key in VARIANT_KEYS]
            new = NIGHTLY[0]._replace(key="nightly_seeds")
            self.variant_tables[word] = self._table(table, (*keys, new), f"variant.{word}.")
            if word not in self.values.get("variants", (word,)):
                self.fail(f"[variant.{word}] would do nothing: variants does not name it")
        self.nightly: dict[str, Any] | None = None
        if nightly is not None:
            self._check_kind(nightly, "nightly")
            self.nightly = self._table(nightly, NIGHTLY, "nightly.")

    @classmethod
    def read(cls, path: Path) -> ConfigFile:
        """Read and check a file.

        Raises
        ------
        ConfigError
            It cannot be read, is no TOML, or a key or value in it is wrong.
        """
        try:
            with path.open("rb") as file:
                raw = file.read(FILE_BYTES + 1)
            if len(raw) > FILE_BYTES:
                raise ConfigError(f"{path}: larger than {FILE_BYTES:,} bytes; that is no configuration")
            return cls(tomllib.loads(raw.decode("utf-8-sig")), str(path), path.parent)
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            raise ConfigError(f"{path}: not TOML: byte {error.start} is not UTF-8") from error
        except (ValueError, RecursionError) as error:  # a number of thousands of digits is a plain ValueError
            raise ConfigError(f"{path}: not TOML: {str(error)[:200]}") from error

    def fail(self, text: str) -> NoReturn:
        """Raise the ConfigError of this file."""
        raise ConfigError(f"{self.name}: {text}")

    def _check_kind(self, value: object, key: str) -> None:
        if not isinstance(value, dict):
            self.fail(f"{key} = {short(value)}: expected a table [{key}]")

    def _table(
        self, values: dict[str, Any], settings: Collection[Setting], prefix: str, also: Collection[str] = ()
    ) -> dict[str, Any]:
        known = {setting.key: setting for setting in settings}
        read = {}
        for key, value in values.items():
            if key not in known:
                hint = closest(key, [*known, *also]) or f"; known: {', '.join([*known, *also])}"
                self.fail(f"unknown key {prefix + key!r}{hint}")
            try:
                if known[key].read is read_switch and isinstance(value, str):  # a text is for variables only
                    raise ValueError("true or false, without quotes")
                read[key] = known[key].read(value)
            except (ValueError, UsageError) as error:
                self.fail(_wrong(prefix + key, value, error))
        return read


class Layers:
    """The four sources of a setting, the strongest first: flags, environment, file, defaults."""

    def __init__(self, file: ConfigFile, environment: Mapping[str, str], flags: Mapping[str, Any]) -> None:
        self.file = file
        self.flags = {key: value for key, value in flags.items() if value is not None and value != ()}
        self.environment = {}
        for setting in SETTINGS:
            text = environment.get(setting.variable, "")
            if text.strip():
                try:
                    self.environment[setting.key] = setting.read(text)
                except (ValueError, UsageError) as error:
                    raise ConfigError(_wrong(setting.variable, text, error)) from None

    def value(self, key: str, word: str = "") -> Any:
        """Return a setting, for a variant where it may have its own."""
        own = self.file.variant_tables.get(word, {})
        for layer in (self.flags, self.environment, own, self.file.values):
            if key in layer:
                return layer[key]
        return next(setting.default for setting in SETTINGS if setting.key == key)

    def error(self, key: str, text: str) -> ConfigError | UsageError:
        """Return the error that names where a setting came from."""
        if key in self.flags:
            return UsageError(text)
        if key == "seeds" and "seeds_from" in self.flags:
            return ConfigError(f"{self.flags['seeds_from']}: {text}")
        if key in self.environment:
            return ConfigError(f"WINNABLE_{key.upper()}: {text}")
        return ConfigError(f"{self.file.name}: {text}") if self.file.name else UsageError(text)

    def variants(self) -> tuple[str, ...]:
        """Return the variants asked for: those that have a table of their own if nothing else says which."""
        stated = "variants" in self.flags or "variants" in self.environment or "variants" in self.file.values
        words: tuple[str, ...] = self.value("variants")
        if not stated and self.file.variant_tables and not {"seeds", "seeds_from"} & {*self.file.values}:
            words = tuple(self.file.variant_tables)
        idle = [] if stated else [word for word in self.file.variant_tables if word not in words]
        if idle:
            self.file.fail(f"[variant.{idle[0]}] would do nothing: name it in variants")
        return words

    def deals_of(self, word: str, need_seeds: bool) -> Deals:
        """Return what a variant has to settle."""
        variant = self._variant(word)
        numbering = self.value("numbering", word)
        if numbering not in variant.numberings:
            has = ", ".join(variant.numberings)
            raise self.error("numbering", f"{variant.id} has no numbering {numbering!r}; it has: {has}")
        seeds = self._seeds(word)
        if not seeds and need_seeds:
            flags = "--seeds A:B, --seeds-from FILE"
            if self.file.name:
                raise UsageError(f"{self.file.name}: no seeds for {variant.id}: give it the key seeds, or give {flags}")
            raise UsageError(f"no seeds for {variant.id}: give {flags}, or a configuration")
        allowed = DATASET_SEEDS[numbering]
        if seeds and (seeds.first < allowed.start or seeds.last >= allowed.stop):
            span = f"{allowed.start} to {allowed.stop - 1}"
            raise self.error("seeds", f"seeds {seeds}: {numbering} numbers in a dataset go from {span}")
        shard = self.value("shard")
        return Deals(variant, numbering, seeds.shard(*shard) if shard else seeds, self.value("nodes", word))

    def certificates(self) -> tuple[Path | None, Path | None, Path | None]:
        """Return the files of the Dask cluster's certificates: all three, or none where none is needed."""
        keys = ("tls_ca", "tls_cert", "tls_key")
        authority, certificate, key = found = tuple(self.value(key) for key in keys)
        scheduler = self.value("scheduler") or ""
        if any(found) and not (all(found) and scheduler):
            raise self.error("tls_ca", "give --scheduler, --tls-ca, --tls-cert and --tls-key together")
        if scheduler.startswith(("tls://", "wss://")) and not any(found):
            raise self.error("scheduler", f"{scheduler} needs --tls-ca, --tls-cert and --tls-key")
        for name, path in zip(keys, found, strict=True):
            if path is not None and not path.is_file():
                raise self.error(name, f"{path}: no such file")
        if "scheduler" in self.flags and self.value("executor") != "dask":
            raise self.error("scheduler", f"--scheduler {scheduler} is for a Dask cluster; give --executor dask too")
        return authority, certificate, key

    def nightly(self) -> NightlySettings | None:
        """Return the night's settings if the file has them."""
        if self.file.nightly is None:
            return None
        values = {setting.key: self.file.nightly.get(setting.key, setting.default) for setting in NIGHTLY}
        tables = self.file.variant_tables.items()
        own = tuple(
            (self._variant(word).id, table["nightly_seeds"]) for word, table in tables if "nightly_seeds" in table
        )
        return NightlySettings(**values, seeds_of=own)

    def _variant(self, word: str) -> Variant:
        if is_file_name(word):
            base = self.file.folder if "variants" not in {*self.flags, *self.environment} else Path()
            return read_variant(base / word)
        try:
            return load_variant(word)
        except UsageError as error:
            raise self.error("variants", str(error)) from None

    def _seeds(self, word: str) -> Seeds:
        """Return the seeds of the strongest layer that has ranges or a file of them; of both if it has both."""
        own = self.file.variant_tables.get(word, {})
        for layer in (self.flags, self.environment, own, self.file.values):
            if "seeds" in layer or "seeds_from" in layer:
                ranges = [*layer["seeds"].ranges] if "seeds" in layer else []
                if "seeds_from" in layer:
                    base = Path() if layer is self.flags or layer is self.environment else self.file.folder
                    path = layer["seeds_from"]
                    ranges += read_seeds(path if str(path) == "-" else base / path).ranges
                return Seeds.of(ranges)
        return Seeds(())


def misspelled_variables(environment: Collection[str]) -> list[tuple[str, str]]:
    """Return the variables that are not ours but are called nearly so, each with ours."""
    prefix = "WINNABLE_"
    known = [*(setting.variable.removeprefix(prefix) for setting in SETTINGS), "CACHE"]
    found = []
    for name in sorted(environment):
        key = name.removeprefix(prefix)
        if name.startswith(prefix) and key not in known:
            found += [(name, prefix + near) for near in difflib.get_close_matches(key.upper(), known, n=1)]
    return found


def usable_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def is_file_name(word: str) -> bool:
    """Whether a variant is given as a file of the user's own."""
    return word.endswith(".toml") or "/" in word


def short(value: object) -> str:
    """Return a value for a message, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _wrong(key: str, value: object, error: Exception) -> str:
    """Say which value is wrong and what would be right."""
    text = str(error) if isinstance(error, UsageError) else f": expected {error}"
    return f"{key} = {short(value)}: {text.partition(': ')[2] or text}"
