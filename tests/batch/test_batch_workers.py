"""What a worker does to its process and to the cache."""

from pipeline.batch import workers
from pipeline.engine import compiler
from pipeline.game.variants import load_variant


def test_a_worker_takes_no_lock_when_all_widths_are_compiled(monkeypatch, tmp_path):
    monkeypatch.setattr(compiler, "CACHE_DIRECTORY", tmp_path / "cache")
    compiler.CACHE_DIRECTORY.mkdir()
    for width in (10, 16):
        compiler.mark_compiled(width)
    monkeypatch.setattr(workers, "FileLock", None)
    variants = [load_variant(word) for word in ("spiderette", "spider-4", "big-divorce")]
    assert {len(variant.columns) for variant in variants} - {10, 16}
    workers.SolverSettler.warm(variants)
