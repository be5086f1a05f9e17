"""Winnable: proves which deals of the Spider family can be won, and turns the verdicts into statistics.

As a library, for notebooks and other programs::

    from pipeline import deal, load_outcomes, load_variant, settle, solve

    outcome = solve(deal(load_variant("spider-4"), seed=1))  # one deal
    frame = settle("spider-4", range(1, 101))  # many, as a pandas DataFrame
    known = load_outcomes("data")  # a dataset, as a pandas DataFrame

and the statistics of the reports: `wilson` (interval of a share), `win_rate` (bounds with unsettled deals),
`paired_ratio` (interval of a ratio) and `compare_paired` (two solvers or games on the same deals).

What each name needs is imported when it is first used.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, SupportsIndex

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from pipeline.analysis.statistics import compare_paired, paired_ratio, wilson, win_rate
    from pipeline.dataset.loading import load_outcomes
    from pipeline.game.boards import Board
    from pipeline.game.deals import deal, named_deal
    from pipeline.game.forms import board_json, board_text, read_board
    from pipeline.game.variants import Variant, load_variant, read_variant, variant_ids
    from pipeline.pools.advice import advise
    from pipeline.pools.daily import daily
    from pipeline.pools.hint import hint
    from pipeline.solver import Outcome, Solver, solve
    from pipeline.version import __version__

__all__ = [
    "Board",
    "Outcome",
    "Solver",
    "Variant",
    "__version__",
    "advise",
    "board_json",
    "board_text",
    "compare_paired",
    "daily",
    "deal",
    "hint",
    "load_outcomes",
    "load_variant",
    "named_deal",
    "paired_ratio",
    "read_board",
    "read_variant",
    "settle",
    "solve",
    "variant_ids",
    "wilson",
    "win_rate",
]

_NAMES = {
    "pipeline.analysis.statistics": ("compare_paired", "paired_ratio", "wilson", "win_rate"),
    "pipeline.dataset.loading": ("load_outcomes",),
    "pipeline.game.boards": ("Board",),
    "pipeline.game.deals": ("deal", "named_deal"),
    "pipeline.game.forms": ("board_json", "board_text", "read_board"),
    "pipeline.game.variants": ("Variant", "load_variant", "read_variant", "variant_ids"),
    "pipeline.pools.advice": ("advise",),
    "pipeline.pools.daily": ("daily",),
    "pipeline.pools.hint": ("hint",),
    "pipeline.solver": ("Outcome", "Solver", "solve"),
    "pipeline.version": ("__version__",),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}


def settle(
    variant: Variant | str,
    seeds: Iterable[SupportsIndex],
    *,
    numbering: str = "native",
    nodes: int = 1_000_000,
    workers: int | None = None,
    data: str | Path | None = None,
) -> pd.DataFrame:
    """Settle numbered deals and return their outcomes, a row a deal, by seed.

    Parameters
    ----------
    variant
        The game, or its id.
    seeds
        Numbers of the deals, Python's integers or numpy's, in any order; repeated ones are settled once.
    numbering
        How a number becomes a deal.
    nodes
        Most positions to look at for a deal.
    workers
        Worker processes, by default one per core; 1 works in this process.
    data
        A dataset's directory: its verdicts are used and new ones kept in it. By default nothing is kept.

    Returns
    -------
    pandas.DataFrame
        The columns of the dataset, `variant` and `numbering` first: verdict, positions, line, moves, score and so on.

    Raises
    ------
    UsageError
        A variant, numbering or seed does not exist, no seed was given, or one is not an integer; or `nodes` or
        `workers` is out of range.
    StoreError
        The dataset cannot be used.
    """
    import tempfile
    from pathlib import Path

    from pipeline.dataset.loading import load_outcomes
    from pipeline.game.numbers import whole_number
    from pipeline.game.variants import load_variant
    from pipeline.runs.settling import Settling, seeds_of_deals
    from pipeline.solver import LIMITS

    game = load_variant(variant) if isinstance(variant, str) else variant
    wanted = seeds_of_deals(game, numbering, seeds)
    nodes = whole_number("nodes", nodes, LIMITS)
    workers = None if workers is None else whole_number("workers", workers, range(1, 4097))
    with tempfile.TemporaryDirectory(prefix="winnable-") as scratch:
        place = Path(scratch) if data is None else Path(data)
        Settling(place, workers).settle(game, numbering, wanted, nodes)
        return load_outcomes(place, game, numbering, seeds=wanted)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
