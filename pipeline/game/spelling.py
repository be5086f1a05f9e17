"""What a misspelled word may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def closest(word: str, words: Iterable[object], before: str = "") -> str:
    """Return ``"; did you mean 'spider-4'?"``, with `before` put before the word, or nothing when no word is near."""
    near = difflib.get_close_matches(word, list(map(str, words)), n=1)
    return f"; did you mean {before + near[0]!r}?" if near else ""
