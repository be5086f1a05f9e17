"""Losses proved again: the referee makes a new certificate for each and checks it.

`checked-losses.json` beside `outcomes/` keeps which deals have been: seeds as in a manifest, by variant and numbering.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from pipeline.dataset.audit import LOSS, AuditResult, Finding
from pipeline.dataset.files import write_text
from pipeline.dataset.seeds import Seeds, parse_seeds
from pipeline.dataset.store import Partition, Store
from pipeline.errors import StoreError, UsageError, WinnableError
from pipeline.game.deals import deal
from pipeline.game.variants import Variant

log = logging.getLogger(__name__)

MOST_BOARDS = 5_000_000  # of one certificate: about a minute and a gigabyte


def lost_seeds(store: Store, partition: Partition, sample: int | None) -> list[int]:
    """Return the lost seeds of a partition, or a random sample of them, first from those never proved again."""
    table = store.read(*partition, columns=("seed", "verdict"))
    seeds = table["seed"].filter(pc.equal(table["verdict"].cast("string"), "lost")).to_numpy()
    if sample is not None and sample < len(seeds):
        done = checked_losses(store).get(partition, Seeds(())).among(seeds)
        order = np.random.default_rng().permutation(len(seeds))
        seeds = np.sort(seeds[order[np.argsort(done[order], kind="stable")]][:sample])
    return [int(seed) for seed in seeds]


def check_losses(
    store: Store,
    losses: Iterable[tuple[Partition, Variant, list[int]]],
    result: AuditResult,
    advance: Callable[[int], Any] = lambda _count: None,
) -> None:
    """Prove lost deals again and check the certificates; add how many hold, and the faults, to an audit's result.

    A deal whose certificate would have more than `MOST_BOARDS` boards counts as not checked, not as a fault.

    Parameters
    ----------
    losses
        Lost seeds, with their partition and its rules.
    result
        The audit to add to.
    advance
        Called with 1 after each deal.
    """
    from pipeline.referee.check import check_certificate
    from pipeline.referee.prove import prove

    for partition, variant, seeds in losses:
        checked: list[int] = []
        try:
            for seed in seeds:
                try:
                    certificate = prove(deal(variant, seed, partition.numbering), MOST_BOARDS)
                    if certificate is not None:
                        check_certificate(certificate)
                        checked.append(seed)
                except WinnableError as error:
                    result.findings.append(Finding(LOSS, store.folder(partition), None, seed, f"seed {seed}: {error}"))
                advance(1)
        finally:  # an interrupt keeps what is done
            result.losses += len(checked)
            note_checked(store, partition, Seeds.of_numbers(checked))


def checked_losses(store: Store) -> dict[Partition, Seeds]:
    """Return the deals whose loss was proved again, by partition.

    Raises
    ------
    StoreError
        `checked-losses.json` cannot be read or is not of its form.
    """
    path = _path(store)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if not all(isinstance(ranges, list) for ranges in content.values()):
            raise ValueError("expected lists of ranges such as 1:20")
        return {
            Partition(*name.split("/")): Seeds.of(parse_seeds(text) for text in ranges)
            for name, ranges in content.items()
        }
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, TypeError, AttributeError, RecursionError, UsageError) as error:
        remedy = "remove it, and prove the losses again by 'winnable verify --lost'"
        raise StoreError(f"{path}: not a valid list of checked losses: {error}; {remedy}") from error


def note_checked(store: Store, partition: Partition, seeds: Seeds) -> None:
    """Keep that the losses of these deals were proved again; a warning if that cannot be written."""
    try:
        checked = checked_losses(store)
        known = checked.get(partition, Seeds(()))
        checked[partition] = Seeds.of([*known.ranges, *seeds.ranges])
        if checked[partition] != known:
            content = {str(name): checked[name].texts() for name in sorted(checked)}
            write_text(_path(store), json.dumps(content, indent=2) + "\n")
    except StoreError as error:
        log.warning("%s; reports will not count these losses as proved again", error)


def _path(store: Store) -> Path:
    return store.data / "checked-losses.json"
