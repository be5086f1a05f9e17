"""Losses proved again: the referee makes a new certificate for each and checks it.

`checked-losses.json` beside `outcomes/` keeps which deals have been, by variant and numbering: the hash of the rules,
and seeds as in a manifest. What was proved under other rules than the partition's counts for nothing.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from pipeline.dataset import lock
from pipeline.dataset.audit import LOSS, AuditResult, Finding
from pipeline.dataset.files import read_json, write_text
from pipeline.dataset.seeds import Seeds, parse_texts
from pipeline.dataset.store import Partition, Store
from pipeline.errors import StoreError, WinnableError
from pipeline.game.deals import deal
from pipeline.game.variants import Variant

log = logging.getLogger(__name__)

MOST_BOARDS = 5_000_000  # of one certificate: about a minute and a gigabyte
_PATIENCE = 10.0  # seconds for another to write the list


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
            note_checked(store, partition, variant.rules_hash, Seeds.of_numbers(checked))


def checked_losses(store: Store) -> dict[Partition, Seeds]:
    """Return the deals whose loss was proved again under the rules of their partition, by partition.

    Raises
    ------
    StoreError
        `checked-losses.json` cannot be read or is not of its form, or a part cannot be read.
    """
    return {name: seeds for name, (rules, seeds) in _read(store).items() if rules == store.rules_hash(name)}


def note_checked(store: Store, partition: Partition, rules_hash: str, seeds: Seeds) -> None:
    """Keep that the losses of these deals were proved again; a warning if that cannot be written.

    Needs no hold on the dataset, so that losses can be proved beside a run: the list has a lock of its own.

    Parameters
    ----------
    rules_hash
        `Variant.rules_hash` of the rules they were proved under.
    """
    if not seeds:
        return
    try:
        with lock.hold(store.staging / "checked-losses", "verify --lost", _PATIENCE):
            checked = _read(store)
            rules, known = checked.get(partition, ("", Seeds(())))
            known = known if rules == rules_hash else Seeds(())
            checked[partition] = rules_hash, Seeds.of([*known.ranges, *seeds.ranges])
            content = {
                str(name): {"rules_hash": rules, "seeds": some.texts()}
                for name, (rules, some) in sorted(checked.items())
            }
            write_text(_path(store), json.dumps(content, indent=2) + "\n")
    except StoreError as error:
        log.warning("%s; reports will not count these losses as proved again", error)


def _read(store: Store) -> dict[Partition, tuple[str, Seeds]]:
    """Return the hash of the rules and the deals of each partition in the list."""

    def parse(content: dict[str, Any]) -> dict[Partition, tuple[str, Seeds]]:
        return {
            Partition(*name.split("/")): (entry["rules_hash"], parse_texts(entry["seeds"]))
            for name, entry in content.items()
        }

    path = _path(store)
    remedy = "; remove it, and prove the losses again by 'winnable verify --lost'"
    return read_json(path, "list of checked losses", parse, remedy) if path.exists() else {}


def _path(store: Store) -> Path:
    return store.data / "checked-losses.json"
