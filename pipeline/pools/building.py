"""Building a pool: consecutive deals are settled until enough of them are won.

A pool holds exactly the deals won within its node limit, of its difficulties, from its first seed on. So it makes no
difference which verdicts the dataset had before, nor at which larger limit they were found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.dataset.rows import seeds_of
from pipeline.dataset.seeds import Seeds
from pipeline.dataset.store import Partition, Store
from pipeline.errors import DataError
from pipeline.game.deals import DATASET_SEEDS
from pipeline.game.variants import Variant
from pipeline.pools.difficulty import LEVELS
from pipeline.pools.pool import Header, Pool, rules_of, sha256
from pipeline.pools.rows import PoolRow, WonDeal, make_rows
from pipeline.runs.settling import Settling, won_within
from pipeline.solver import LIMITS

_HOPELESS = 2_000  # deals without a win before giving up
_MOST_AT_ONCE = 200_000
_COLUMNS = ("seed", "verdict", "positions", "moves", "line", "solver")


@dataclass(frozen=True, slots=True)
class Order:
    """The pool to build.

    Attributes
    ----------
    variant, numbering, first_seed
        The game, how a seed becomes a deal, and the seed to start from.
    count
        Deals the pool is to have.
    node_limit
        Node limit per deal.
    levels
        Difficulties of its deals.
    """

    variant: Variant
    count: int
    numbering: str = "native"
    node_limit: int = 1_000_000
    first_seed: int = 1
    levels: Sequence[int] = LEVELS

    def made(self, pool: Pool) -> bool:
        """Tell whether a pool was built by this order or by one that differs in its count only."""
        header = pool.header
        return (header.variant, header.rules_hash, header.numbering, header.node_limit, header.first_seed) == (
            *(self.variant.id, self.variant.rules_hash, self.numbering, self.node_limit, self.first_seed),
        ) and header.levels == tuple(self.levels)


Counting = Callable[[int], AbstractContextManager[Callable[[int], None]]]


def build_pool(
    order: Order, settling: Settling, rating: Counting = lambda _total: nullcontext(lambda _count: None)
) -> Pool:
    """Settle deals until enough are won, and make a pool of them.

    Parameters
    ----------
    order
        The pool to build.
    settling
        The dataset, whose verdicts are used and extended, and the workers.
    rating
        Called with the number of won deals to rate; the context it returns yields a function that takes the number of
        further deals rated.

    Raises
    ------
    DataError
        There are not enough won deals: the numbering ends, or the first 2,000 deals bring no win.
    StoreError
        The dataset cannot be used.
    SolverFault
        A line of the dataset does not replay.
    Signalled
        A signal ended it; settled deals are kept, and the same order continues from there.
    """
    variant, numbering = order.variant, order.numbering
    rows: list[PoolRow] = []
    solvers: set[str] = set()
    start = order.first_seed
    while len(rows) < order.count:
        table = _won_rows(order, settling, start, _to_rate(order, len(rows)))
        values = zip(*(table[name].to_pylist() for name in WonDeal._fields), strict=True)
        with rating(len(table)) as advance:
            rated = settling.each(make_rows, variant, numbering, [WonDeal(*row) for row in values], advance)
        by_seed = dict(zip(table["seed"].to_pylist(), table["solver"].to_pylist(), strict=True))
        chosen = [row for row in rated if row.difficulty in order.levels][: order.count - len(rows)]
        rows += chosen
        solvers.update(by_seed[row.seed] for row in chosen)
        start = rated[-1].seed + 1
        if not rows and start - order.first_seed >= _HOPELESS:
            levels = ", ".join(map(str, order.levels))
            raise DataError(
                f"{variant.id}/{numbering}: none of the won deals up to seed {start - 1} has difficulty {levels}; "
                "expected another difficulty"
            )
    last = rows[-1].seed
    header = Header(
        variant=variant.id,
        rules_hash=variant.rules_hash,
        rules=rules_of(variant),
        numbering=numbering,
        node_limit=order.node_limit,
        solvers=tuple(sorted(solvers)),
        levels=tuple(order.levels),
        first_seed=order.first_seed,
        last_seed=last,
        tried=last - order.first_seed + 1,
        deals=len(rows),
        sha256=sha256(rows),
    )
    return Pool(header, tuple(rows))


def extra_deals(pool: Pool, data: Path) -> int:
    """Count the won deals that follow a pool's last one in the dataset: a larger pool takes them without a search.

    Deals are settled in blocks, a few more than the pool needs; the dataset keeps them.
    """
    header = pool.header
    table = Store(data).read(header.variant, header.numbering, ["seed", "verdict", "positions"])
    table = table.filter(pc.greater(table["seed"], header.last_seed))
    follow = seeds_of(table) == header.last_seed + 1 + np.arange(len(table))
    return int(pc.sum(won_within(table.filter(pa.array(follow)), header.node_limit)).as_py() or 0)


def _to_rate(order: Order, have: int) -> int:
    """Return how many won deals to rate next: all that are needed, a few more where only some levels count."""
    wanted = order.count - have
    return wanted if len(order.levels) == len(LEVELS) else wanted * len(LEVELS) // len(order.levels) + 1


def _won_rows(order: Order, settling: Settling, first: int, count: int) -> pa.Table:
    """Settle missing deals and return the rows of the first `count` won deals from seed `first` on."""
    store, partition = Store(settling.data), Partition(order.variant.id, order.numbering)
    store.check_rules(partition, order.variant.rules_hash)
    stop = DATASET_SEEDS[order.numbering].stop
    unknown = store.missing(partition, Seeds.of([range(first, stop)]), order.node_limit)
    end = unknown.first if unknown else stop
    won = _won_between(store, partition, first, end, order.node_limit)
    while len(won) < count:
        if end >= stop:
            raise DataError(
                f"{order.variant.id}/{order.numbering}: {len(won)} of the deals {Seeds.of([range(first, stop)])} are "
                f"won within {order.node_limit:,} positions, and the numbering ends there; expected {count}"
            )
        if end - first >= _HOPELESS and not len(won):
            unsettled = store.missing(partition, Seeds.of([range(first, end)]), LIMITS[-1])
            remedy = "expected a larger node limit" if unsettled else "all of them are proved lost"
            raise DataError(
                f"{order.variant.id}/{order.numbering}: none of the first {end - first:,} deals is won within "
                f"{order.node_limit:,} positions; {remedy}"
            )
        end = min(end + _block(count - len(won), len(won), end - first), stop)
        missing = store.missing(partition, Seeds.of([range(first, end)]), order.node_limit)
        if missing:
            settling.settle(order.variant, order.numbering, missing, order.node_limit)
        won = _won_between(store, partition, first, end, order.node_limit)
    return won[:count]


def _won_between(store: Store, partition: Partition, first: int, stop: int, node_limit: int) -> pa.Table:
    """Return the rows of the deals from `first` to `stop - 1` that are won within `nodes` positions."""
    table = store.read(*partition, _COLUMNS)
    inside = pc.and_(pc.greater_equal(table["seed"], first), pc.less_equal(table["seed"], stop - 1))
    return table.filter(pc.and_(inside, won_within(table, node_limit)))


def _block(wanted: int, won: int, tried: int) -> int:
    """Return how many deals to settle next: a few more than should be enough, since every round has a cost."""
    rate = max(won / tried, 0.02) if tried else 1.0
    return min(math.ceil(wanted / rate * 1.02) + 8, _MOST_AT_ONCE)
