"""Which partitions of a dataset a report or a comparison reads."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from pipeline.dataset.seeds import Seeds
from pipeline.dataset.store import Partition, Store
from pipeline.errors import StoreError
from pipeline.game.variants import Variant, variants_by_id

log = logging.getLogger(__name__)


def partitions_of(
    store: Store, variants: Sequence[Variant] = (), numbering: str | None = None, planned: Iterable[Partition] = ()
) -> list[tuple[Partition, Variant]]:
    """List partitions with their variants, the main variants first.

    Parameters
    ----------
    variants, numbering
        What to read; by default all packaged variants. A warning names others in the dataset.
    planned
        Partitions that need not have an outcome yet.

    Raises
    ------
    StoreError
        A partition has other rules than its variant, or nothing but variants of others is there.
    """
    games = variants_by_id(variants)
    partitions = store.choose(variants, numbering, planned)
    unknown = dict.fromkeys(partition.variant for partition in partitions if partition.variant not in games)
    chosen = [(partition, games[partition.variant]) for partition in partitions if partition.variant in games]
    for partition, variant in chosen:
        store.check_rules(partition, variant.rules_hash)
    if unknown:
        text = f"{store.data}: {', '.join(unknown)} did not come with winnable: expected its file, by "
        text += "--variant"
        if not chosen:
            raise StoreError(text)
        log.warning("%s; left out", text)
    places = {name: place for place, name in enumerate(games)}
    return sorted(chosen, key=lambda pair: (places[pair[0].variant], pair[0]))


def check_present(store: Store, present: Sequence[str], variants: Sequence[Variant], seeds: Seeds | None) -> None:
    """Refuse a dataset without outcomes of a variant that was asked for, or of any.

    Parameters
    ----------
    present
        Ids of the variants that have outcomes.
    seeds
        The deals that were asked for, all by default.
    """
    absent = [variant.id for variant in variants if variant.id not in present]
    if absent or not present:
        where = "" if seeds is None else f" among seeds {seeds}"
        names = ", ".join(absent) or "any variant"
        raise StoreError(f"{store.data} has no outcomes of {names}{where}: settle deals by 'winnable run' first")
