"""Where settings come from: flags over `WINNABLE_*` variables over a TOML file over defaults."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NoReturn

from pipeline.dataset.seeds import Seeds, check_span, read_seeds
from pipeline.errors import ConfigError, UsageError
from pipeline.game.deals import check_numbering
from pipeline.game.spelling import closest
from pipeline.game.variants import MAIN_VARIANTS, Variant, load_variant, read_variant, variant_ids
from pipeline.game.variants.table import read_toml
from pipeline.runs.settings import (
    NIGHTLY,
    SETTINGS,
    VARIANT_KEYS,
    Deals,
    NightlySettings,
    RunSettings,
    Setting,
    is_file_name,
    usable_cores,
)
from pipeline.runs.values import read_switch

DEALS_AT_MOST = 1_000_000_000


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
    words, named = layers.variants()
    if not (need_seeds or named):  # nobody asked for the main variants that have no such numbering
        words = tuple(word for word in words if layers.value("numbering") in load_variant(word).numberings)
    deals = tuple(layers.deals_of(word, need_seeds) for word in words)
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
        scheduler=layers.scheduler(),
        report=layers.value("report"),
        nightly=layers.nightly(),
        named=named,
        configured=config is not None,
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
            It cannot be read, is not TOML, or has a wrong key or value.
        """
        return cls(read_toml(path, "configuration", ConfigError), str(path), path.parent)

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

    def variants(self) -> tuple[tuple[str, ...], bool]:
        """Return the variants, those that have a table of their own if nothing else says which; and whether named."""
        stated = "variants" in self.flags or "variants" in self.environment or "variants" in self.file.values
        words: tuple[str, ...] = self.value("variants")
        if not stated and self.file.variant_tables and not {"seeds", "seeds_from"} & {*self.file.values}:
            words = tuple(self.file.variant_tables)
        idle = [] if stated else [word for word in self.file.variant_tables if word not in words]
        if idle:
            self.file.fail(f"[variant.{idle[0]}] would do nothing: name it in variants")
        return words, stated or words != MAIN_VARIANTS

    def deals_of(self, word: str, need_seeds: bool) -> Deals:
        """Return what a variant has to settle."""
        variant = self._variant(word)
        numbering = self.value("numbering", word)
        try:
            check_numbering(variant, numbering)
        except UsageError as error:
            raise self.error("numbering", str(error)) from None
        seeds = self._seeds(word)
        if not seeds and need_seeds:
            flags = "--seeds A:B, --seeds-from FILE"
            if self.file.name:
                raise UsageError(f"{self.file.name}: no seeds for {variant.id}: give it the key seeds, or give {flags}")
            raise UsageError(f"no seeds for {variant.id}: give {flags}, or a configuration")
        try:
            check_span(seeds, numbering)
        except UsageError as error:
            raise self.error("seeds", str(error)) from None
        shard = self.value("shard")
        return Deals(variant, numbering, seeds.shard(*shard) if shard else seeds, self.value("nodes", word))

    def scheduler(self) -> str | None:
        """Return the address of the Dask scheduler, which `executor` must ask for where it is a flag."""
        scheduler: str | None = self.value("scheduler")
        if "scheduler" in self.flags and self.value("executor") != "dask":
            raise self.error("scheduler", f"--scheduler {scheduler} is for a Dask cluster; give --executor dask too")
        return scheduler

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


def short(value: object) -> str:
    """Return a value for a message, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _wrong(key: str, value: object, error: Exception) -> str:
    """Say which value is wrong and what would be right."""
    text = str(error) if isinstance(error, UsageError) else f": expected {error}"
    return f"{key} = {short(value)}: {text.partition(': ')[2] or text}"
