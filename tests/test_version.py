"""The id of the solver: bound to the engine's code and weights, and to nothing else."""

import re
import shutil

import pytest

from pipeline import version


@pytest.fixture
def engine(tmp_path, monkeypatch):
    """A copy of the engine of which the id is taken."""
    home = tmp_path / "engine"
    shutil.copytree(version.ENGINE, home, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(version, "ENGINE", home)
    return home


def computed():
    return version.solver_id.__wrapped__()


def test_the_id_is_the_version_and_a_hash(engine):
    assert re.fullmatch(re.escape(version.__version__) + r"\+[0-9a-f]{8}", computed())
    assert computed() == version.solver_id()


def test_code_and_weights_change_it(engine):
    seen = {computed()}
    code = [(engine / name, r"\+= 1\n", "+= 2\n") for name in ("exhaust.py", "packed.py")]
    for path, old, new in [*code, (engine / "weights/spider-1.toml", r"first_width = 1", "first_width = 2")]:
        text = path.read_text()
        path.write_text(re.sub(old, new, text, count=1))
        assert path.read_text() != text
        assert computed() not in seen
        seen.add(computed())


def test_comments_docstrings_and_the_bench_do_not(engine):
    before = computed()
    for path in engine.rglob("*.py"):
        text = path.read_text().replace('"""\n', ' More."""\n', 1) + "# the end\n"
        path.write_text(text)
    (engine / "bench.py").write_text("")
    for path in engine.rglob("*.toml"):
        path.write_text("# the beginning\n" + path.read_text())
    assert computed() == before
