# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # What makes a deal hard?
#
# Some deals are won after a few hundred positions, some take a million. Can it be seen in the cards as they are dealt?
# And is it the deal that is hard, or the game? The native numbering deals the same card order in every variant of two
# packs, so that the same seed can be followed from Spider to its relatives.
#
# The data are those of `WINNABLE_DATA`, else the published sample (`data/published`).

# %%
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from pipeline import load_outcomes
from pipeline.game.deals import deal
from pipeline.game.rules import Position
from pipeline.game.variants import load_variant, variant_ids

HERE = Path.cwd()
ROOT = next((path for path in (HERE, *HERE.parents) if (path / "pyproject.toml").exists()), HERE)
DATA = Path(os.environ.get("WINNABLE_DATA", ROOT / "data" / "published"))

# %% [markdown]
# The measure is the positions the solver looked at, on a logarithmic scale. A deal left unsettled stands at its limit:
# it is at least that hard. So only *ranks* are compared below.

# %%
frame = load_outcomes(DATA, numbering="native")
frame["variant"] = frame["variant"].astype(str)
frame["effort"] = frame["positions"].where(frame["verdict"] != "unsettled", frame["node_limit"])
order = [name for name in variant_ids() if (frame["variant"] == name).any()]
frame.groupby("variant")["effort"].describe(percentiles=[0.1, 0.5, 0.9]).loc[order].round(0)

# %% [markdown]
# ## What can be seen in the deal
#
# - *moves*: legal moves at the start, the stock deal left out
# - *suited*: those of them that join cards of one suit
# - *kings*: how deep Kings lie on average, 1 at the bottom of a column and 0 on top. A King that lies low is in the way
#   of nothing.
# - *aces*: the same for Aces. An Ace that lies low is needed for a set and hard to reach.
# - *stock aces*: the share of the Aces that is still in the stock
# - *in order*: neighbours in a column that already lie in descending order


# %%
def features(variant, seed):
    """Return what can be seen in a deal, by name."""
    board = deal(variant, seed)
    position = Position(board)
    moves = [move for move in position.legal_moves() if move.source >= 0 and position.columns[move.target]]
    suited = [m for m in moves if board.columns[m.target][-1] >> 4 == board.columns[m.source][-m.cards] >> 4]
    depth = {rank: [] for rank in (1, 13)}
    in_order = 0
    for column in board.columns:
        for place, card in enumerate(column):
            if card & 15 in depth and len(column) > 1:
                depth[card & 15].append(1 - place / (len(column) - 1))
        in_order += sum((below & 15) == (above & 15) + 1 for below, above in zip(column, column[1:]))
    aces = 4 * variant.packs
    return {
        "moves": len(moves),
        "suited": len(suited),
        "kings": np.mean(depth[13]) if depth[13] else np.nan,
        "aces": np.mean(depth[1]) if depth[1] else np.nan,
        "stock aces": sum(card & 15 == 1 for card in board.stock) / aces,
        "in order": in_order,
    }


tables = {}
for name in order:
    rows = frame[frame["variant"] == name].set_index("seed").sort_index()
    seen = pd.DataFrame([features(load_variant(name), int(seed)) for seed in rows.index], index=rows.index)
    tables[name] = seen.assign(effort=rows["effort"])

# %% [markdown]
# Rank correlations with the effort. By chance alone they would scatter by 1/sqrt(n - 1) around zero; what is printed in
# brackets lies within twice that.

# %%
correlations = {}
for name, table in tables.items():
    ranks = table.rank()
    noise = 2 / np.sqrt(max(1, len(table) - 1))
    constant = ranks.columns[ranks.nunique() < 2]
    values = ranks.drop(columns=[c for c in constant if c != "effort"]).corr()["effort"].drop("effort")
    correlations[name] = values.map(lambda r, noise=noise: f"{r:+.2f}" if abs(r) > noise else f"({r:+.2f})")
pd.DataFrame(correlations).T.fillna("-")

# %% [markdown]
# Weak as each sign is, together they shift the odds: the effort of deals by how many moves they offer at the start.

# %%
figure, several = plt.subplots(1, len(tables), figsize=(3 * len(tables), 3.2), squeeze=False)
for axes, (name, table) in zip(several[0], tables.items(), strict=True):
    groups = table.groupby("moves")["effort"]
    kept = [(moves, np.log10(effort)) for moves, effort in groups if len(effort) >= 5]
    if kept:
        axes.boxplot([effort for _, effort in kept], tick_labels=[str(moves) for moves, _ in kept], showfliers=False)
    axes.set(title=name, xlabel="moves at the start")
several[0, 0].set_ylabel("positions, log10")
figure.tight_layout()
plt.show()

# %% [markdown]
# ## The deal or the game?
#
# The rank correlation of the effort on the same seeds, for each pair of variants with the same number of cards. Near
# one, the cards decide; near zero, the rules do.

# %%
wide = frame.pivot(index="seed", columns="variant", values="effort")[order]
same = {}
for name in order:
    cards = load_variant(name).cards
    mates = [other for other in order if load_variant(other).cards == cards]
    same[name] = wide[mates].rank().corr()[name]
pd.DataFrame(same).reindex(index=order, columns=order).round(2)

# %% [markdown]
# ## Hard deals have long lines?
#
# Effort and length of the line that was found, won deals only.

# %%
won = frame[frame["verdict"] == "won"]
for name in order:
    part = won.loc[won["variant"] == name, ["effort", "moves"]].astype(float).rank()
    if part["effort"].nunique() > 1 and part["moves"].nunique() > 1:
        print(f"{name:28} {part['effort'].corr(part['moves']):+.2f}  ({len(part):,} deals)")
