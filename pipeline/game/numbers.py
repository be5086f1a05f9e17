"""Values as callers give them and as sentences, JSON and CSV hold them."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable
from operator import index
from typing import Any, TextIO

from pipeline.errors import UsageError

JSON_SAFE = 2**53 - 1  # JavaScript's largest safe integer: beyond it JSON.parse makes another number of it
_DEALS_FIRST = re.compile("-+(?:[a-p][-a-pA-D2-9]*)?")  # a line that begins with deals


def whole_number(name: str, value: Any, allowed: range | None = None) -> int:
    """Return an argument as Python's integer, whatever integer it comes as, such as numpy's.

    Raises
    ------
    UsageError
        It is not an integer (a float never is, whatever its value), or not one of those allowed.
    """
    # numpy's own would overflow in the arithmetic of deals, and make `in` look through all of a range.
    try:
        number = index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise UsageError(f"{name} {value!r:.40} is not a whole number")
    if allowed is not None and number not in allowed:
        raise UsageError(f"{name} {number}: expected a whole number from {allowed.start} to {allowed.stop - 1}")
    return number


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, as in `1 deal` and `2,000 deals`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def json_text(value: Any, indent: int | None = None) -> str:
    """Return a value as JSON that JavaScript reads as what it is (see `json_ready`)."""
    return json.dumps(json_ready(value), indent=indent, ensure_ascii=False, allow_nan=False)


def csv_value(value: Any) -> Any:
    """Return a value as a CSV cell that no spreadsheet computes; a line that begins with a deal (-) stays as it is."""
    if isinstance(value, str) and value[:1] in tuple("-=+@\t\r") and not _DEALS_FIRST.fullmatch(value):
        return f"'{value}"
    return value


def write_csv(file: TextIO, header: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    """Write rows as CSV, null as nothing (see `csv_value`)."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(map(csv_value, row) for row in rows)


def json_ready(value: Any) -> Any:
    """Return a value that JavaScript's `JSON.parse` reads as what it is.

    Whole numbers beyond 2**53 - 1 become texts of their digits, floats that JSON lacks (NaN, infinity) null; lists,
    tuples and objects are gone through.
    """
    if isinstance(value, dict):
        return {key: json_ready(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_ready(item) for item in value]
    if isinstance(value, int) and abs(value) > JSON_SAFE:
        return str(value)
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return None
    return value
