"""The tables of the pages, made from the program's own data; see `test_pages`."""

from __future__ import annotations

import ast
import csv
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from test_architecture import MAY_IMPORT

from pipeline.analysis.published import percent
from pipeline.dataset.schema import SCHEMA, VOLATILE
from pipeline.game.cards import cards_text
from pipeline.game.deals import deal
from pipeline.game.native import native_draws
from pipeline.game.variants import MAIN_VARIANTS, load_variant, variant_ids
from pipeline.pools.pool import _SCHEMA as POOL_SCHEMA
from pipeline.runs.settings import NIGHTLY, SETTINGS, VARIANT_KEYS

ROOT = Path(__file__).parents[1]
PUBLISHED = ROOT / "data" / "published"
HEADLINE = ROOT / "reports" / "million" / "report.csv"


def settings_table() -> Iterator[str]:
    defaults = {"workers": "one per core", "seeds": "none", "variants": "the six main ones", "chunk": "adapts"}
    yield "| key | flag of `run` | environment | default | meaning |"
    yield "|---|---|---|---|---|"
    for setting in SETTINGS:
        default = setting.default
        shown = defaults.get(setting.key) or ("none" if default is None else f"`{default}`".lower())
        key = f"`{setting.key}`" + (" *" if setting.key in VARIANT_KEYS else "")
        yield f"| {key} | `{setting.flag}` | `{setting.variable}` | {shown} | {setting.help} |"


def nightly_table() -> Iterator[str]:
    yield "| key in `[nightly]` | default | meaning |"
    yield "|---|---|---|"
    for setting in NIGHTLY:
        yield f"| `{setting.key}` | `{setting.default}` | {setting.help} |"


def type_name(kind: object) -> str:
    return re.sub(r"dictionary<values=(\w+),.*", r"dictionary of \1", str(kind))


def columns_table() -> Iterator[str]:
    yield "| column | type | null | meaning |"
    yield "|---|---|---|---|"
    for field in SCHEMA:
        about = field.metadata[b"about"].decode()
        volatile = " **Volatile**: differs from run to run." if field.name in VOLATILE else ""
        null = "unless won" if field.nullable else "never"
        yield f"| `{field.name}` | {type_name(field.type)} | {null} | {about}.{volatile} |"


def pool_table() -> Iterator[str]:
    schemas = ROOT / "pipeline" / "pools" / "schemas"
    pool, common = (json.loads((schemas / name).read_text(encoding="utf-8")) for name in ("pool.json", "common.json"))
    fields = pool["properties"]["deals"]["items"]["properties"]
    about = {
        name: common["$defs"][field["$ref"].split("/")[-1]] if "$ref" in field else field
        for name, field in fields.items()
    }
    yield "| column | type | meaning |"
    yield "|---|---|---|"
    for field in POOL_SCHEMA:
        kind = str(field.type).replace("list<item: ", "list of ").replace("list<element: ", "list of ").rstrip(">")
        yield f"| `{field.name}` | {kind} | {about[field.name]['description']} |"


def variants_table() -> Iterator[str]:
    yield "| id | name | cards | columns | numberings |"
    yield "|---|---|---:|---:|---|"
    for name in variant_ids():
        variant = load_variant(name)
        numberings = ", ".join(variant.numberings)
        yield f"| `{name}` | {variant.name} | {variant.cards} | {len(variant.columns)} | {numberings} |"


def vectors_table() -> Iterator[str]:
    yield "| seed | first four draws | column 1 of `spider-4`, bottom to top | first row of the stock |"
    yield "|---|---|---|---|"
    for seed in (0, 1, 2**63 - 1):
        draws = native_draws(seed)
        first = ", ".join(str(next(draws)) for _ in range(4))
        board = deal(load_variant("spider-4"), seed)
        yield f"| {seed} | {first} | {cards_text(board.columns[0])} | {cards_text(board.stock[:10])} |"
    yield ""
    yield "| variant | SHA-256 of the cards of seeds 0 to 999, first 16 digits |"
    yield "|---|---|"
    for name in ("spider-1", "spider-2", "spider-4", "simple-simon", "big-spider", "spider-4-packs"):
        digest = hashlib.sha256()
        for seed in range(1000):
            board = deal(load_variant(name), seed)
            digest.update(bytes(card for cards in (*board.columns, board.stock) for card in cards))
        yield f"| `{name}` | `{digest.hexdigest()[:16]}` |"


def rooms_table() -> Iterator[str]:
    yield "| room | what it is | imports |"
    yield "|---|---|---|"
    for room, others in MAY_IMPORT.items():
        place = ROOT / "pipeline" / room
        path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        about = " ".join(
            (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n\n")[0].split()
        )
        names = [f"`{name}`" for name in MAY_IMPORT if name in others - {"errors", "version"}]
        yield f"| `{room}` | {about} | {'all' if len(names) == len(MAY_IMPORT) - 3 else ', '.join(names)} |"


def headline_table() -> Iterator[str]:
    counts, rates = "deals | won | lost | unsettled", "proved | upper bound | 95% interval | within 1M | another solver"
    yield f"| variant | {counts} | {rates} |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    documented = {"spider-1": "97%", "grounds-for-a-divorce": "39%"}
    rows = {}
    for row in csv.DictReader(HEADLINE.read_text(encoding="utf-8").splitlines()):
        rows.setdefault(row["variant"], row)  # native deals come first
    for name in MAIN_VARIANTS:
        row = rows[name]
        counts = " | ".join(f"{int(row[key]):,}" for key in ("deals", "won", "lost", "unsettled"))
        proved, upper, low, high = (
            percent(float(row[key]), 4) for key in ("proved_win_rate", "upper_bound", "interval_low", "interval_high")
        )
        within = percent(int(row["won_within.1000000"]) / int(row["deals"]), 4)
        title = load_variant(name).name
        yield f"| {title} | {counts} | {proved} | {upper} | {low} to {high} | {within} | {documented.get(name, '-')} |"


def published_figures() -> Iterator[str]:
    """The report on the published sample, its headings one level down."""
    words = ["report", "--data", str(PUBLISHED), "--format", "markdown"]
    call = subprocess.run(
        [sys.executable, "-m", "pipeline", *words], cwd=ROOT, capture_output=True, text=True, timeout=300, check=True
    )
    for line in call.stdout.strip().splitlines()[1:]:
        yield f"#{line}" if line.startswith("#") else line


TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "headline": headline_table,
    "settings": settings_table,
    "nightly": nightly_table,
    "columns": columns_table,
    "pool": pool_table,
    "variants": variants_table,
    "rooms": rooms_table,
    "vectors": vectors_table,
}
