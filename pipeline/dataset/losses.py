"""Lost rows, proved again: a certificate is made of each anew, by the referee, and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow.compute as pc

from pipeline.dataset.audit import LOSS, AuditResult, Finding
from pipeline.dataset.store import Partition, Store
from pipeline.errors import WinnableError
from pipeline.game.deals import deal
from pipeline.game.variants import Variant

MOST_BOARDS = 5_000_000  # of one certificate: about a minute and a gigabyte


def lost_seeds(store: Store, partition: Partition, sample: int | None) -> list[int]:
    """Return the lost seeds of a partition, or so many of them drawn at random."""
    table = store.read(*partition, columns=("seed", "verdict"))
    seeds = table["seed"].filter(pc.equal(table["verdict"].cast("string"), "lost")).to_numpy()
    if sample is not None and sample < len(seeds):
        seeds = np.sort(np.random.default_rng().choice(seeds, sample, replace=False))
    return [int(seed) for seed in seeds]


def check_losses(
    store: Store,
    losses: Iterable[tuple[Partition, Variant, list[int]]],
    result: AuditResult,
    advance: Callable[[int], Any] = lambda _count: None,
) -> None:
    """Prove lost deals again and check the certificates; add how many hold, and the faults, to an audit's result.

    A deal whose certificate would have more than `MOST_BOARDS` boards counts as not checked, not as a fault.
    """
    from pipeline.referee.check import check_certificate
    from pipeline.referee.prove import prove

    for partition, variant, seeds in losses:
        for seed in seeds:
            try:
                certificate = prove(deal(variant, seed, partition.numbering), MOST_BOARDS)
                if certificate is not None:
                    check_certificate(certificate)
                    result.losses += 1
            except WinnableError as error:
                result.findings.append(Finding(LOSS, store.folder(partition), None, seed, f"seed {seed}: {error}"))
            advance(1)
