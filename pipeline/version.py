"""The version of the package and of its search, known without loading the engine.

Two numbers tell searches apart. `solver_id`, stored in every row, is a hash of the engine's code and weights: rows with
the same id come from the same program, so a deal and a limit give the same verdict, counts and line. It may change
while the search stays the same, for instance when a variable is renamed. `SIGNATURE` is the outcome of the bench, fixed
searches of several kinds of games: when it changes, so has the search; when it does not, a path that the bench does not
reach may still have changed.
"""

from __future__ import annotations

import hashlib
import json
import pathlib
import tokenize
import tomllib
from functools import cache

__version__ = "0.1.0"
ENGINE = pathlib.Path(__file__).with_name("engine")
SIGNATURE = int((ENGINE / "signature.txt").read_text())
"""What the bench of this version gives; each worker of a run computes it anew."""


@cache
def solver_id() -> str:
    """Return the version, ``+`` and eight hexadecimal digits of the engine's code and weights."""
    digest = hashlib.sha256()
    for path in sorted(ENGINE.rglob("*.py")):
        if path.name != "bench.py":
            digest.update(f"{path.relative_to(ENGINE).as_posix()}\0{_code_of(path)}\0".encode())
    for path in sorted(ENGINE.rglob("*.toml")):
        tables = tomllib.loads(path.read_text()) | {"provenance": None}
        digest.update(f"{path.name}\0{json.dumps(tables, sort_keys=True)}\0".encode())
    return f"{__version__}+{digest.hexdigest()[:8]}"


@cache
def package_id() -> str:
    """Return `solver_id` and eight hexadecimal digits of the package's code and weights: equal ones agree."""
    digest = hashlib.sha256()
    for path in sorted(path for kind in ("*.py", "*.toml") for path in ENGINE.parent.rglob(kind)):
        digest.update(f"{path.relative_to(ENGINE.parent).as_posix()}\0".encode() + path.read_bytes())
    return f"{solver_id()} (code {digest.hexdigest()[:8]})"


def _code_of(path: pathlib.Path) -> str:
    """Return the tokens of a source without comments, docstrings and blanks, which are the same under every Python."""
    words, marks = [], {tokenize.INDENT: "{", tokenize.DEDENT: "}", tokenize.NEWLINE: ";"}
    with path.open("rb") as file:
        begins = True  # a statement
        for token in tokenize.tokenize(file.readline):
            if token.type in (tokenize.ENCODING, tokenize.COMMENT, tokenize.NL):
                continue
            if not (begins and token.type == tokenize.STRING):
                words.append(marks.get(token.type, token.string))
            begins = token.type in marks
    return "".join("".join(words).split())
