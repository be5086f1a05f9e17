"""A dataset as a pandas DataFrame, for notebooks; only the rows and columns asked for are kept in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.dataset.schema import COLUMNS, SCHEMA, VERDICTS
from pipeline.dataset.seeds import given_seeds
from pipeline.dataset.store import Partition, Store
from pipeline.errors import UsageError
from pipeline.game.deals import deal
from pipeline.game.forms import board_json
from pipeline.game.variants import Variant, load_variant

if TYPE_CHECKING:
    import pandas as pd

CARDS = ("columns", "face_down", "stock")


def load_outcomes(
    path: str | Path = "data",
    variants: str | Variant | Sequence[str | Variant] | None = None,
    numbering: str | None = None,
    *,
    columns: Sequence[str] | None = None,
    verdict: str | Sequence[str] | None = None,
    seeds: Iterable[SupportsIndex] | None = None,
    cards: bool = False,
) -> pd.DataFrame:
    """Load outcomes, one row per deal, sorted by variant, numbering and seed.

    Parameters
    ----------
    path
        The dataset's directory (the one that holds `outcomes/`).
    variants
        Variants or their ids; all by default.
    numbering
        `native`, `pysol` or `kpat`; all by default.
    columns
        Names of the dataset's columns to load (see `data/README.md`); all by default. `variant` and `numbering` come
        first in any case.
    verdict
        `won`, `lost`, `unsettled`, or several of them; all by default.
    seeds
        Numbers of the deals, such as ``range(1, 1001)`` or a column of another frame; all by default.
    cards
        Deal each row and add its cards by name, as in a board's JSON: `columns` (list of texts such as
        ``"10S 3C KS"``, bottom to top), `face_down` (list of counts) and `stock` (text, in deal order).

    Returns
    -------
    pandas.DataFrame
        `seed`, `positions`, `expanded`, `node_limit` are int64; `moves`, `deals`, `score` are nullable Int16, `<NA>`
        unless the deal is won; words are categories.

    Raises
    ------
    UsageError
        A variant is neither in the dataset nor packaged, or a column, verdict or seed does not exist; with `cards`, a
        variant of one's own was given by its id.
    StoreError
        `path` holds no dataset, or one that is damaged.

    Examples
    --------
    >>> load_outcomes("data", "spider-4", columns=["seed", "positions"], verdict="unsettled")  # doctest: +SKIP
    """
    import pandas as pd

    store = Store.existing(path)
    names = _names("column", columns, COLUMNS)
    verdicts = _names("verdict", verdict, VERDICTS)
    wanted = None if seeds is None else given_seeds(seeds)
    games = _games(variants, store)
    tables = []
    for partition in store.partitions():
        if (variants is None or partition.variant in games) and numbering in (None, partition.numbering):
            rules = games.get(partition.variant)
            if rules is not None:
                store.check_rules(partition, rules.rules_hash)
            for rows in store.scan(partition, seeds=wanted):
                tables.append(_with_keys(_chosen(rows, names, verdicts), partition))
    if not tables:
        tables = [_with_keys(SCHEMA.empty_table().select(names), Partition("", ""))]
    # Of all the integers only these may be null: pandas would make floats of them.
    nullable = {pa.int16(): pd.Int16Dtype()}.get
    frame: pd.DataFrame = pa.concat_tables(tables).unify_dictionaries().to_pandas(types_mapper=nullable)
    return _add_cards(frame, games) if cards else frame


def _names(what: str, given: str | Sequence[str] | None, known: Sequence[str]) -> list[str]:
    """Return the names given, all by default; refuse unknown ones."""
    names = list(known) if given is None else [given] if isinstance(given, str) else list(given)
    for name in names:
        if name not in known:
            raise UsageError(f"{what} {name!r}: expected one of {', '.join(known)}")
    return names


def _games(variants: str | Variant | Sequence[str | Variant] | None, store: Store) -> dict[str, Variant | None]:
    """Return the variants asked for by id; None where only its id is known, of a variant of one's own."""
    if variants is None:
        return {}
    held = {partition.variant for partition in store.partitions()}
    games: dict[str, Variant | None] = {}
    for variant in [variants] if isinstance(variants, str | Variant) else variants:
        if isinstance(variant, Variant):
            games[variant.id] = variant
        else:
            games[variant] = None if variant in held else load_variant(variant)
    return games


def _chosen(table: pa.Table, names: list[str], verdicts: list[str]) -> pa.Table:
    if len(verdicts) < len(VERDICTS):
        table = table.filter(pc.is_in(table["verdict"].cast(pa.string()), pa.array(verdicts)))
    return table.select(names)


def _with_keys(table: pa.Table, partition: Partition) -> pa.Table:
    """Put the partition's keys before the columns, as categories."""
    for place, (key, value) in enumerate(zip(Partition._fields, partition, strict=True)):
        codes = pa.array(np.zeros(len(table), np.int32))
        column = pa.DictionaryArray.from_arrays(codes, pa.array([value] if len(table) else [], pa.string()))
        table = table.add_column(place, key, column)
    return table


def _add_cards(frame: pd.DataFrame, games: dict[str, Variant | None]) -> pd.DataFrame:
    rules: dict[str, Variant] = {}
    for name in frame["variant"].unique():
        try:
            rules[name] = games.get(name) or load_variant(name)
        except UsageError as error:
            raise UsageError(f"cards: {error}; give the variant itself, from read_variant, in variants") from None
    if "seed" not in frame:
        raise UsageError("columns: expected 'seed' among them, because cards=True deals the seeds")
    boards = [
        board_json(deal(rules[name], seed, numbering))
        for name, numbering, seed in zip(frame["variant"], frame["numbering"], frame["seed"], strict=True)
    ]
    return frame.assign(**{key: [board[key] for board in boards] for key in CARDS})
