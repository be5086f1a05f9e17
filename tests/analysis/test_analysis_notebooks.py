"""The notebooks, run as scripts on a small dataset."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from dataset_rows import table_of

from pipeline.dataset.store import Partition, Store

NOTEBOOKS = sorted((Path(__file__).parents[2] / "reports" / "notebooks").glob("*.py"))


@pytest.fixture(scope="module")
def data(tmp_path_factory, made_up):
    path = tmp_path_factory.mktemp("data")
    store = Store(path)
    with store.writing("test"):
        for place, name in enumerate(("spider-1", "spider-4", "spider-relaxed", "simple-simon")):
            rows = made_up(name, range(1, 121), key=place, unsettled=0.02, lost=0.05)
            store.add(Partition(name, "native"), table_of(rows))
        store.add(Partition("spider-4", "pysol"), table_of(made_up("spider-4", range(1, 41))))
    return path


def test_there_are_two():
    assert [path.stem for path in NOTEBOOKS] == ["reading_the_dataset", "what_makes_a_deal_hard"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_through(path, data):
    if path.stem == "reading_the_dataset":
        pytest.importorskip("duckdb", reason="the notebook extra is not installed")
        pytest.importorskip("polars", reason="the notebook extra is not installed")
    text = path.read_text(encoding="utf-8")
    assert text.count("\n# %% [markdown]\n") >= 4
    done = subprocess.run(
        [sys.executable, path],
        env=os.environ | {"WINNABLE_DATA": str(data), "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Error" not in done.stderr


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_rendered_page_shows_the_notebook_as_it_is(path):
    """Each cell of the script stands on the page, in order, and each figure of the page is there."""
    page = path.with_suffix(".md").read_text(encoding="utf-8")
    cells = path.read_text(encoding="utf-8").split("\n# %%")[1:]
    at = 0
    for cell in cells:
        kind, _, body = cell.partition("\n")
        if "[markdown]" in kind:
            body = "\n".join(line.removeprefix("#").removeprefix(" ") for line in body.strip().splitlines())
        at = page.find(body.strip(), at)
        assert at >= 0, f"render the notebook anew: its page lacks {body.strip().splitlines()[0]!r}"
    figures = re.findall(r"\]\((\S+\.png)\)", page)
    assert figures
    assert all((path.parent / figure).is_file() for figure in figures)
