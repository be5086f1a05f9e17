"""The published sample and its report: a part settled again is equal, the report is what the rows say."""

import json
import tomllib
from pathlib import Path

import pytest
from dataset_rows import rows_of

from pipeline.analysis.report import report_json, report_of
from pipeline.analysis.samples import read_samples
from pipeline.analysis.tables import csv_report, markdown_report
from pipeline.dataset.manifest import read_runs
from pipeline.dataset.store import Partition, Store
from pipeline.game.deals import deal
from pipeline.game.variants import MAIN_VARIANTS, load_variant
from pipeline.referee.replay import verify_line

ROOT = Path(__file__).parents[2]
DATA = ROOT / "data" / "published"
REPORT = ROOT / "reports" / "published"
PUBLISHED = tomllib.loads((ROOT / "configs" / "published.toml").read_text())["variants"]
OTHERS = [name for name in PUBLISHED if name not in MAIN_VARIANTS]

pytestmark = pytest.mark.skipif(not (DATA / "outcomes").is_dir(), reason="the published sample is not in this checkout")


def rows(name):
    return rows_of(Store(DATA).read(name, "native"))


def test_a_thousand_deals_of_every_published_variant_in_less_than_five_megabytes():
    found = {partition: len(rows(partition.variant)) for partition in Store(DATA).partitions()}
    assert found == {Partition(name, "native"): 1000 for name in PUBLISHED}
    assert sum(path.stat().st_size for path in DATA.rglob("*") if path.is_file()) < 5_000_000


@pytest.mark.parametrize(
    "name", [*MAIN_VARIANTS, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)]
)  # fmt: skip
def test_a_part_settled_again_is_equal(name):
    from pipeline.solver import Solver

    variant, solver = load_variant(name), Solver()
    kept = [row for row in rows(name) if row.positions <= 20_000]
    for row in kept[:: max(1, len(kept) // 8)]:
        again = solver.solve(deal(variant, row.seed), row.node_limit)
        # If this fails, the search has changed: settle configs/published.toml again.
        assert (again.verdict, again.positions, again.expanded, again.line) == (
            row.verdict, row.positions, row.expanded, row.line,
        )  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_lines_win(name):
    variant = load_variant(name)
    for row in rows(name)[::25]:
        if row.verdict == "won":
            assert verify_line(deal(variant, row.seed), row.line).moves == row.moves


def test_the_published_report_is_what_the_rows_say():
    store = Store(DATA)
    report = report_of(read_samples(store, read_runs(store)))
    assert json.loads((REPORT / "report.json").read_text()) == json.loads(json.dumps(report_json(report)))
    assert (REPORT / "report.csv").read_text() == csv_report(report)
    assert (REPORT / "report.md").read_text() == markdown_report(report)
    assert "<svg" in (REPORT / "report.html").read_text()
