"""Which partitions of a dataset a report or a comparison reads."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from pipeline.dataset.seeds import Seeds
from pipeline.dataset.store import Partition, Store
from pipeline.errors import StoreError
from pipeline.game.variants import Variant, load_variant, variant_ids

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
    asked = {variant.id: variant for variant in variants}
    packaged = {name: place for place, name in enumerate(variant_ids())}
    chosen, unknown = [], []
    for partition in sorted({*store.partitions(), *planned}, key=lambda p: (packaged.get(p.variant, len(packaged)), p)):
        if (asked and partition.variant not in asked) or numbering not in (None, partition.numbering):
            continue
        variant = asked.get(partition.variant)
        if variant is None and partition.variant in packaged:
            variant = load_variant(partition.variant)
        if variant is None:
            unknown.append(partition.variant)
            continue
        store.check_rules(partition, variant.rules_hash)
        chosen.append((partition, variant))
    if unknown:
        text = f"{store.data}: {', '.join(dict.fromkeys(unknown))} did not come with winnable: expected its file, by "
        text += "--variant"
        if not chosen:
            raise StoreError(text)
        log.warning("%s; left out", text)
    return chosen


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
