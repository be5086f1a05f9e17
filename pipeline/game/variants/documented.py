"""Figures that others published for a game."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

Text = Annotated[str, Meta(pattern=r"\S", description="a text")]
Switch = Annotated[bool, Meta(description="false, true")]
MOST = 10**15  # deals or positions
Some = Annotated[int, Meta(ge=1, le=MOST, description=f"a whole number from 1 to {MOST}")]
Count = Annotated[int, Meta(ge=0, le=MOST, description=f"a whole number from 0 to {MOST}")]
Rate = Annotated[float, Meta(ge=0, le=1, description="a rate from 0 to 1")]


@dataclass(frozen=True, slots=True)
class Documented:
    """A figure others published.

    Attributes
    ----------
    source
        Who says so.
    deals
        Deals searched; None where it is not known.
    node_limit
        Positions a deal, as they count them; None where the limit is another or none.
    proved
        Share of the deals proved winnable, 0 to 1; None where it is not known.
    won, lost, unsettled
        The counts behind it, where known.
    easier
        Whether the game that was played is easier than this one: all that is lost there is lost here.
    note
        How the rules or the numbers differ from ours.
    """

    source: Text
    deals: Some | None = None
    node_limit: Some | None = None
    proved: Rate | None = None
    won: Count | None = None
    lost: Count | None = None
    unsettled: Count | None = None
    easier: Switch = False
    note: Text = ""
