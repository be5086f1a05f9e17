"""The environment of the page templates."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jinja2


def environment(**filters: Callable[..., Any]) -> jinja2.Environment:
    """Return an environment with these filters, which escapes all text and refuses unknown names."""
    pages = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    pages.filters.update(filters)
    return pages
