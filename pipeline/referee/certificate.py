"""Certificates of loss as files; the README of this room has the format byte by byte, and the argument."""

from __future__ import annotations

import json
import lzma
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from pipeline.errors import SolverFault, WinnableError
from pipeline.game.boards import Board
from pipeline.game.forms import board_json, read_board
from pipeline.game.variants import RULE_FIELDS, load_variant, variant_ids, variant_of
from pipeline.referee.table import MOST_COLUMNS

FORMAT = 2
MOST_ROWS = 2**31
MOST_HEADER = 100_000  # bytes
MAGIC = b"\xfd7zXZ\0"  # of every xz stream
BLOCK = 1 << 14  # rows that are read at once
CHUNK = 1 << 16  # bytes that are read, and unpacked, at once
PILE = np.dtype([("below", "<u4"), ("card", "u1")])
Words = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Certificate:
    """A proof that a board is lost.

    Attributes
    ----------
    board
        The board.
    piles
        uint32, (piles + 1, 2): the pile below and the card of each pile; the first row holds their number.
    witnesses, boards
        uint32, (number, columns + 1): stub rows and rows, see `referee.piles`.
    """

    board: Board
    piles: Words
    witnesses: Words
    boards: Words


def write_certificate(path: Path, certificate: Certificate) -> None:
    """Write a certificate to a file, which appears under its name when it is whole."""
    board, piles = certificate.board, certificate.piles
    rules = {field: getattr(board.variant, field) for field in ("id", "name", *RULE_FIELDS, "numberings")}
    counts = {"piles": len(piles) - 1, "witnesses": len(certificate.witnesses), "boards": len(certificate.boards)}
    header = {"certificate": FORMAT, "rules": rules, "board": board_json(board), **counts}
    packed = np.zeros(len(piles) - 1, PILE)
    packed["below"], packed["card"] = piles[1:, 0], piles[1:, 1]
    partial = path.with_name(f"{path.name}.partial")
    try:
        with lzma.open(partial, "wb") as file:
            file.write(json.dumps(header, separators=(",", ":")).encode() + b"\n")
            file.write(packed.tobytes())
            for rows in (certificate.witnesses, certificate.boards):
                for first in range(0, len(rows), BLOCK):
                    file.write(rows[first : first + BLOCK].astype("<u4").tobytes())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def read_certificate(path: Path) -> Certificate:
    """Return the certificate of a file; `check` tells whether it proves anything.

    Raises
    ------
    SolverFault
        The file is damaged, cut short, too long or no certificate, or it is of another deal or of other rules than it
        says; names the file and the place.
    """
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise SolverFault(f"{path}: not a certificate: expected a file that 'winnable prove' has written")
        file.seek(0)
        reader = _Reader(file)
        try:
            header = reader.header()
            board = _board_of(header)
            piles, witnesses, boards = (_count(header, key) for key in ("piles", "witnesses", "boards"))
            width = len(board.columns) + 1
            packed = np.frombuffer(reader.take(piles * PILE.itemsize, "the piles"), PILE)
            whole = np.zeros((piles + 1, 2), np.uint32)
            whole[0, 0], whole[1:, 0], whole[1:, 1] = piles, packed["below"], packed["card"]
            found = [reader.rows(count, width, what) for count, what in ((witnesses, "witness"), (boards, "board"))]
            reader.end()
        except (lzma.LZMAError, EOFError, MemoryError) as error:
            raise SolverFault(f"{path}: damaged at byte {file.tell():,} or before it: {error}") from None
        except WinnableError as error:
            raise SolverFault(f"{path}: {error}") from None
    return Certificate(board, whole, *found)


class _Reader:
    """Takes the parts of a certificate off a file that must be one xz stream."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._xz, self._held = file, lzma.LZMADecompressor(lzma.FORMAT_XZ), bytearray()

    def _more(self) -> bool:
        """Hold some more bytes; return whether there were any to come."""
        if self._xz.eof:
            return False
        taken = self._file.read(CHUNK) if self._xz.needs_input else b""
        if self._xz.needs_input and not taken:
            raise EOFError("the file is cut short")
        self._held += self._xz.decompress(taken, CHUNK)
        return True

    def header(self) -> dict[str, Any]:
        while b"\n" not in self._held and len(self._held) < MOST_HEADER and self._more():
            pass
        try:
            header = json.loads(self.take(self._held.index(b"\n") + 1, "the header"))
            if header["certificate"] != FORMAT:
                raise SolverFault(f"header: field 'certificate': {header['certificate']!r}: expected {FORMAT}")
        except (ValueError, KeyError, TypeError):
            raise SolverFault("header: expected one line of JSON with the field 'certificate'") from None
        assert isinstance(header, dict)
        return header

    def take(self, size: int, what: str) -> bytes:
        """Return the next bytes; they must be there."""
        while len(self._held) < size and self._more():
            pass
        if len(self._held) < size:
            raise SolverFault(f"ends within {what}")
        found = bytes(self._held[:size])
        del self._held[:size]
        return found

    def rows(self, count: int, width: int, what: str) -> Words:
        """Return rows, read block by block."""
        rows = np.empty((count, width), np.uint32)
        for first in range(0, count, BLOCK):
            block = rows[first : first + BLOCK]
            text = self.take(4 * block.size, f"{what} {first + 1:,} to {first + len(block):,}")
            block[:] = np.frombuffer(text, "<u4").reshape(block.shape)
        return rows

    def end(self) -> None:
        while not self._held and self._more():
            pass
        if self._held or self._xz.unused_data or self._file.read(1):
            raise SolverFault("goes on after the last board")


def _count(header: dict[str, Any], key: str) -> int:
    count = header.get(key)
    if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count < MOST_ROWS:
        raise SolverFault(f"header: field {key!r}: {count!r}: expected a whole number, 0 up")
    return count


def _board_of(header: dict[str, Any]) -> Board:
    """Return the board of a header, its cards compared with the deal it names."""
    rules, board = header.get("rules"), header.get("board")
    if not isinstance(rules, dict) or not isinstance(board, dict):
        raise SolverFault("header: expected the fields 'rules' and 'board'")
    variant = variant_of(rules, "header: rules")
    if variant.id in variant_ids():
        if load_variant(variant.id).rules_hash != variant.rules_hash:
            raise SolverFault(f"header: field 'rules': they are not those of {variant.id}")
        variant = load_variant(variant.id)
    assert len(variant.columns) <= MOST_COLUMNS
    found = read_board(json.dumps(board), variant=variant, name="header: board")
    named = board.get("variant"), board.get("numbering"), board.get("seed")
    if (found.variant.id, found.numbering, found.seed) != named:
        raise SolverFault(f"header: board: its cards are not those of {' '.join(map(str, named))}")
    return found
