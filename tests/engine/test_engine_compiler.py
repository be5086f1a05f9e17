"""No stale compiled code: an edit anywhere in the engine is seen by the next run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import pipeline
from pipeline.engine import compiler

PACKAGE = Path(pipeline.__file__).parent


@pytest.fixture
def engine(tmp_path, monkeypatch):
    """A copy of the engine's sources that the hash is taken of."""
    for path in (PACKAGE / "engine").glob("*.py"):
        shutil.copy(path, tmp_path)
    monkeypatch.setattr(compiler, "HERE", tmp_path)
    return tmp_path


def test_every_source_counts(engine):
    hashes = {compiler.sources_hash()}
    assert hashes == {compiler.CACHE_DIRECTORY.name}
    sources = sorted(engine.glob("*.py"))
    assert len(sources) > 8
    for path in sources:
        path.write_text(path.read_text() + "\n")
        hashes.add(compiler.sources_hash())
    (engine / "another.py").write_text("")
    hashes.add(compiler.sources_hash())
    sources[0].rename(engine / "renamed.py")
    hashes.add(compiler.sources_hash())
    assert len(hashes) == len(sources) + 3


def test_the_version_of_numba_counts(engine, monkeypatch):
    before = compiler.sources_hash()
    monkeypatch.setattr(numba, "__version__", "0.0")
    assert compiler.sources_hash() != before


def test_where_the_cache_is(engine, monkeypatch, tmp_path):
    name = compiler.sources_hash()
    monkeypatch.setenv("WINNABLE_CACHE", str(tmp_path))
    assert compiler.cache_directory() == tmp_path / name
    monkeypatch.delenv("WINNABLE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert compiler.cache_directory() == tmp_path / "xdg" / "winnable" / name
    monkeypatch.setenv("WINNABLE_CACHE", "~/elsewhere")
    assert compiler.cache_directory() == Path.home() / "elsewhere" / name
    monkeypatch.delenv("WINNABLE_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert compiler.cache_directory() == Path.home() / ".cache" / "winnable" / name


def test_other_users_of_numba_keep_their_cache():
    before = numba.config.CACHE_DIR

    @compiler.jit
    def one():
        return 1

    assert one() == 1
    assert before == numba.config.CACHE_DIR
    assert Path(one._cache.cache_path).is_relative_to(compiler.CACHE_DIRECTORY)


def test_noting_what_is_compiled(monkeypatch, tmp_path):
    monkeypatch.setattr(compiler, "CACHE_DIRECTORY", tmp_path)
    assert not compiler.is_compiled(10)
    compiler.mark_compiled(10)
    assert compiler.is_compiled(10)
    assert not compiler.is_compiled(16)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_an_edit_of_a_callee_is_seen(tmp_path):
    """`columns.lay` is called by everything; edited after all was compiled, the search must change."""
    shutil.copytree(PACKAGE, tmp_path / "pipeline", ignore=shutil.ignore_patterns("__pycache__"))
    program = (
        "from pipeline.solver import solve; from pipeline.game.deals import deal\n"
        "from pipeline.game.variants import load_variant\n"
        "import pipeline; print(pipeline.__file__, solve(deal(load_variant('spider-4'), 1), 2000).expanded)"
    )

    def expanded(cache):
        run = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(tmp_path), "WINNABLE_CACHE": str(tmp_path / cache)},
            capture_output=True,
            text=True,
            check=True,
        )
        where, number = run.stdout.split()
        assert Path(where).is_relative_to(tmp_path)
        return int(number)

    before = expanded("cache")
    assert expanded("cache") == before
    columns = tmp_path / "pipeline" / "engine" / "columns.py"
    text = columns.read_text()
    assert text.count("closed -= w.break_\n") == 1
    columns.write_text(text.replace("closed -= w.break_\n", "closed += 9 * w.break_\n"))
    after = expanded("cache")
    assert after != before
    assert after == expanded("empty cache")
