"""The version of the package and of its search, known without loading the engine."""

from __future__ import annotations

import pathlib

__version__ = "0.1.0"
SIGNATURE = int(pathlib.Path(__file__).with_name("engine").joinpath("signature.txt").read_text())
"""Golden bench signature: changes when, and only when, what the search does changes."""
SOLVER = f"{__version__}+{SIGNATURE}"
