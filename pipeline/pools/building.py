"""Building a pool: consecutive deals are settled until enough of them are won.

A pool holds exactly the deals won within its node limit, from its first seed on. So it makes no difference which
verdicts the dataset had before, nor at which larger limit they were found.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.dataset.schema import SCHEMA
from pipeline.dataset.seeds import Seeds
from pipeline.dataset.store import Partition, Store
from pipeline.errors import DataError
from pipeline.game.deals import DATASET_SEEDS
from pipeline.game.variants import Variant
from pipeline.pools.pool import Header, Pool, rules_of, sha256
from pipeline.pools.rows import WonDeal, make_rows
from pipeline.runs.settling import Settling, won_within

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
    nodes
        Node limit per deal.
    """

    variant: Variant
    count: int
    numbering: str = "native"
    nodes: int = 1_000_000
    first_seed: int = 1


@dataclass(frozen=True, slots=True)
class Listeners:
    """Callbacks for the progress of the rating.

    Attributes
    ----------
    rating
        Called once with the number of deals to rate.
    advance
        Called with the number of deals rated since the last call.
    """

    rating: Callable[[int], None] = field(default=lambda _total: None)
    advance: Callable[[int], None] = field(default=lambda _count: None)


def build_pool(order: Order, settling: Settling, listeners: Listeners | None = None) -> Pool:
    """Settle deals until enough are won, and make a pool of them.

    Parameters
    ----------
    order
        The pool to build.
    settling
        The dataset, whose verdicts are used and extended, and the workers.
    listeners
        Callbacks for progress.

    Raises
    ------
    DataError
        There are not enough won deals: the numbering ends, or the first 2,000 deals bring no win.
    StoreError
        The dataset cannot be used.
    SolverFault
        A line of the dataset does not replay.
    StoppedError
        A signal ended it; settled deals are kept, and the same order continues from there.
    """
    listeners = listeners or Listeners()
    variant, numbering = order.variant, order.numbering
    table = _won_rows(order, settling)
    deals = [WonDeal(*values) for values in zip(*(table[name].to_pylist() for name in WonDeal._fields), strict=True)]
    listeners.rating(len(deals))
    rows = settling.each(make_rows, variant, numbering, deals, listeners.advance)
    last = rows[-1].seed
    header = Header(
        variant=variant.id,
        rules_hash=variant.rules_hash,
        rules=rules_of(variant),
        numbering=numbering,
        node_limit=order.nodes,
        solvers=tuple(sorted(set(table["solver"].cast(pa.string()).to_pylist()))),
        first_seed=order.first_seed,
        last_seed=last,
        tried=last - order.first_seed + 1,
        deals=len(rows),
        sha256=sha256(rows),
    )
    return Pool(header, tuple(rows))


def _won_rows(order: Order, settling: Settling) -> pa.Table:
    """Settle missing deals and return the rows of the pool's deals."""
    store, partition = Store(settling.data), Partition(order.variant.id, order.numbering)
    store.check_rules(partition, order.variant.rules_hash)
    first, stop = order.first_seed, DATASET_SEEDS[order.numbering].stop
    end, won = first, SCHEMA.empty_table().select(_COLUMNS)
    while len(won) < order.count:
        if end >= stop:
            raise DataError(
                f"{order.variant.id}/{order.numbering}: {len(won)} of seeds {first} to {stop - 1} are won within "
                f"{order.nodes:,} positions, and the numbering ends there; expected {order.count}"
            )
        if end - first >= _HOPELESS and not len(won):
            raise DataError(
                f"{order.variant.id}/{order.numbering}: none of the first {end - first:,} deals is won within "
                f"{order.nodes:,} positions; expected a larger node limit"
            )
        end = min(end + _block(order.count - len(won), len(won), end - first), stop)
        missing = store.missing(partition, Seeds.of([range(first, end)]), order.nodes)
        if missing:
            settling.settle(order.variant, order.numbering, missing, order.nodes)
        table = store.read(*partition, _COLUMNS)
        inside = pc.and_(pc.greater_equal(table["seed"], first), pc.less_equal(table["seed"], end - 1))
        won = table.filter(pc.and_(inside, won_within(table, order.nodes)))
    return won[: order.count]


def _block(wanted: int, won: int, tried: int) -> int:
    """Return how many deals to settle next: a few more than should be enough, since every round has a cost."""
    rate = max(won / tried, 0.02) if tried else 1.0
    return min(math.ceil(wanted / rate * 1.02) + 8, _MOST_AT_ONCE)
