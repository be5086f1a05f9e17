# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Reading the dataset
#
# Outcomes are plain Parquet: one row a deal, in `outcomes/variant=<id>/numbering=<name>/part-*.parquet`. Any reader of
# partitioned Parquet takes them as they are. Here pandas, DuckDB and polars count the same wins, and matplotlib redraws
# the figures of the report. Nothing of `winnable` is needed but the two formulas of the intervals.
#
# The data are those of `WINNABLE_DATA`, else the published sample (`data/published`).
#
#     pip install '.[notebook]'     # in a checkout

# %%
import os
from pathlib import Path

import duckdb
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl

from pipeline.analysis.statistics import Tally, win_rate, won_within_curve

HERE = Path.cwd()
ROOT = next((path for path in (HERE, *HERE.parents) if (path / "pyproject.toml").exists()), HERE)
OUTCOMES = Path(os.environ.get("WINNABLE_DATA", ROOT / "data" / "published")) / "outcomes"

# %% [markdown]
# ## pandas
#
# The partition keys become columns. `line` is the winning line as compact text; leave it out where it is not needed.

# %%
columns = ["variant", "numbering", "seed", "verdict", "positions", "node_limit", "moves", "score"]
frame = pd.read_parquet(OUTCOMES, columns=columns)
frame[["variant", "numbering", "verdict"]] = frame[["variant", "numbering", "verdict"]].astype(str)
frame.sample(min(5, len(frame)), random_state=1)

# %%
keys = ["variant", "numbering"]
counts = frame.groupby(keys)["verdict"].value_counts().unstack(fill_value=0)
counts = counts.reindex(columns=["won", "lost", "unsettled"], fill_value=0)
counts["deals"] = counts.sum(axis=1)
counts

# %% [markdown]
# ## DuckDB
#
# SQL over the files in place, without loading what is not asked for.

# %%
in_duckdb = duckdb.execute(
    """
    select variant, numbering,
           count(*) filter (verdict = 'won') as won,
           count(*) filter (verdict = 'lost') as lost,
           count(*) filter (verdict = 'unsettled') as unsettled,
           count(*) as deals
    from read_parquet($1, hive_partitioning = true)
    group by all order by all
    """,
    [str(OUTCOMES / "*" / "*" / "*.parquet")],
).fetchall()
in_duckdb

# %% [markdown]
# ## polars
#
# Lazy: only the columns of the query are read.

# %%
in_polars = (
    pl.scan_parquet(OUTCOMES / "**" / "*.parquet", hive_partitioning=True)
    .with_columns(pl.col("verdict").cast(pl.String))
    .group_by(keys)
    .agg(
        *((pl.col("verdict") == verdict).sum().alias(verdict) for verdict in ("won", "lost", "unsettled")),
        pl.len().alias("deals"),
    )
    .sort(keys)
    .collect()
)
in_polars

# %% [markdown]
# The three agree.

# %%
in_pandas = [(*key, *map(int, row)) for key, row in zip(counts.index, counts.to_numpy(), strict=True)]
assert [tuple(row) for row in in_duckdb] == in_pandas
assert [(*map(str, row[:2]), *map(int, row[2:])) for row in in_polars.rows()] == in_pandas

# %% [markdown]
# ## Rates with their bounds
#
# The proved-win rate is a lower bound, with unsettled deals as won an upper one; the interval covers both.

# %%
rates = []
for key, row in counts.iterrows():
    rate = win_rate(int(row["deals"]), int(row["won"]), int(row["lost"]))
    rates.append((*key, rate.deals, rate.proved, rate.upper_bound, *rate.interval))
pd.DataFrame(rates, columns=[*keys, "deals", "proved", "upper bound", "low", "high"]).round(4)

# %% [markdown]
# ## Won within n positions
#
# For a deal that stayed unsettled nothing is known beyond its limit: there the band's upper end counts it as won.

# %%
figure, axes = plt.subplots(figsize=(8, 5))
grid = np.unique(np.geomspace(10, frame["node_limit"].max(), 200).astype(np.int64))
for (variant, numbering), group in frame.groupby(keys):
    won = Tally.of(group["positions"][group["verdict"] == "won"])
    unsettled = Tally.of(group["node_limit"][group["verdict"] == "unsettled"])
    curve = won_within_curve(won, unsettled, grid, deals=len(group))
    (line,) = axes.step(grid, curve.share, where="post", label=f"{variant} ({numbering})")
    axes.fill_between(grid, curve.low, curve.high, color=line.get_color(), alpha=0.15, linewidth=0)
axes.set(xscale="log", xlabel="positions", ylabel="share of deals won", ylim=(0, 1.01))
axes.legend(fontsize=8)
plt.show()

# %% [markdown]
# ## How long the lines are

# %%
wins = frame[frame["verdict"] == "won"]
variants = sorted(wins["variant"].unique())
figure, several = plt.subplots(len(variants), 1, figsize=(8, 1.4 * len(variants)), sharex=True, squeeze=False)
for axes, variant in zip(several[:, 0], variants, strict=True):
    moves = wins.loc[wins["variant"] == variant, "moves"].astype(int)
    axes.hist(moves, bins=np.arange(0, wins["moves"].astype(int).max() + 6, 5))
    axes.set_title(f"{variant}: median {moves.median():g} moves", fontsize=9, loc="left")
several[-1, 0].set_xlabel("moves, stock deals included")
figure.tight_layout()
plt.show()
