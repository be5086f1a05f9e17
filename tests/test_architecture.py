"""The house: what stands at the top, who may import whom, how long a file may be."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from pipeline.dataset.store import Partition, Store

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "pipeline"
STANDARD = set(sys.stdlib_module_names)

TOP = {
    "pyproject.toml",
    "README.md",
    "Makefile",
    "pipeline",
    "configs",
    "data",
    "reports",
    "tests",
    "LICENSE",
    "CITATION.cff",
}

# Room -> rooms it may import. A module beside the rooms is a room of its own.
MAY_IMPORT = {
    "errors": set(),
    "version": set(),
    "game": {"errors"},
    "engine": set(),
    "referee": {"errors", "game"},
    "solver": {"errors", "game", "engine", "referee"},
    "dataset": {"errors", "game", "referee"},
    "runs": {"errors", "game", "solver", "version", "dataset", "referee", "analysis"},
    "analysis": {"errors", "game", "dataset", "version"},
    "tuning": {"errors", "game", "engine", "solver", "version", "dataset", "runs", "analysis"},
    "pools": {"errors", "game", "analysis", "dataset", "runs", "solver", "version", "referee"},
    "cli": {
        *("errors", "game", "engine", "solver", "version", "dataset", "runs", "analysis", "tuning", "pools", "referee"),
    },
}
# A worker recomputes the bench.
EXCEPTIONS = {"pipeline/runs/workers.py": {"engine"}}
OTHERS = {
    "errors": set(),
    "version": set(),
    "game": {"msgspec"},
    "engine": {"numpy", "numba"},
    "referee": {"numpy", "numba"},
    "solver": set(),
    "dataset": {"numpy", "pandas", "pyarrow", "filelock"},
    "runs": {"numpy", "pyarrow", "filelock", "multiprocessing_logging", "tqdm", "distributed"},
    "tuning": {"numpy", "cmaes"},
    "analysis": {"numpy", "pyarrow", "matplotlib", "jinja2", "markupsafe", "scipy"},
    "pools": {"numpy", "pyarrow"},
    "cli": {"click", "tqdm"},
}
LONGEST = 500


def modules():
    return sorted(path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts)


def room_of(path):
    relative = path.relative_to(PACKAGE)
    return relative.parts[0].removesuffix(".py")


def name_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path, *, typing=True):
    """Yield the absolute names a module imports, within functions too; those for type checkers only with `typing`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    pending = [tree]
    while pending:
        node = pending.pop()
        if not typing and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            pending.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        pending.extend(ast.iter_child_nodes(node))


def test_nothing_else_at_the_top():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if tracked.returncode:
        pytest.skip("no git checkout")
    tops = {line.split("/")[0] for line in tracked.stdout.splitlines()}
    assert {name for name in tops if not name.startswith(".")} <= TOP


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_only_what_its_room_may(path):
    room = room_of(path)
    if room in ("__init__", "__main__"):
        return
    allowed = MAY_IMPORT[room] | EXCEPTIONS.get(path.relative_to(ROOT).as_posix(), set()) | {room}
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "pipeline":
            if len(parts) > 1 and (PACKAGE / parts[1]).exists() | (PACKAGE / f"{parts[1]}.py").exists():
                assert parts[1] in allowed, f"{path} imports {name}"
        elif parts[0] not in STANDARD:
            assert parts[0] in OTHERS[room], f"{path} imports {name}"


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_an_exception_is_needed(name):
    used = {
        parts[1] for module in imports(ROOT / name) if len(parts := module.split(".")) > 1 and parts[0] == "pipeline"
    }
    assert EXCEPTIONS[name] <= used


def test_every_room_is_in_the_table():
    rooms = {room_of(path) for path in modules()}
    assert rooms - {"__init__", "__main__"} <= set(MAY_IMPORT)


def test_the_rules_and_the_engine_share_no_code():
    for path in modules():
        for name in imports(path):
            if room_of(path) == "engine":
                assert not name.startswith("pipeline.") or name.startswith("pipeline.engine"), f"{path} imports {name}"
            if room_of(path) in ("game", "referee"):
                assert not name.startswith("pipeline.engine"), f"{path} imports {name}"


def test_no_cycles():
    known = {name_of(path): path for path in modules()}
    graph = {
        name: {other for other in imports(path, typing=False) if other in known and other != name}
        for name, path in known.items()
    }
    # A package's __init__ is imported before its modules; that edge is no cycle of its own making.
    done, trail = set(), []

    def visit(name):
        assert name not in trail, " -> ".join([*trail[trail.index(name) :], name])
        if name in done:
            return
        trail.append(name)
        for other in sorted(graph[name]):
            visit(other)
        trail.pop()
        done.add(name)

    for name in sorted(graph):
        visit(name)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_is_no_book(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST


def test_loading_the_library_or_a_light_room_loads_nothing_heavy():
    heavy = ("numba", "llvmlite", "pandas", "pyarrow", "matplotlib", "jinja2", "distributed")
    for name in ("pipeline", "pipeline.cli.main", "pipeline.solver", "pipeline.version", "pipeline.game.rules"):
        program = f"import sys, {name}; print(*[n for n in {heavy!r} if n in sys.modules])"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert done.stdout.split() == [], f"import {name} loads {done.stdout}"


def test_a_worker_loads_no_pandas_and_no_pyarrow():
    program = (
        "import sys, pipeline.runs.workers; print(*[n for n in ('pandas', 'pyarrow', 'numba') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_no_command_loads_pandas_for_pyarrow(tmp_path):
    from dataset_rows import a_table  # here, as the pages' tables read this module outside pytest

    store = Store(tmp_path)
    with store.writing("test"):
        store.add(Partition("spider-4", "native"), a_table([1, 2]))
    program = """if True:
        import atexit, importlib.util, sys
        atexit.register(lambda: print("pandas" in sys.modules, importlib.util.find_spec("pandas").name))
        from pipeline.cli.main import main
        main()
    """
    command = [sys.executable, "-c", program, "export", "--data", str(tmp_path), "-q"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (len(done.stdout.splitlines()), done.stdout.splitlines()[-1]) == (4, "False pandas")


def test_every_dependency_is_used_and_every_use_is_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {requirement.split(">")[0].split("=")[0].replace("-", "_") for requirement in project["dependencies"]}
    used = {name.split(".")[0] for path in modules() for name in imports(path)}
    extras = {r.split(">")[0] for several in project["optional-dependencies"].values() for r in several}
    # jinja2 brings markupsafe.
    outside = {name for name in used if name not in STANDARD} - {"pipeline", "markupsafe"} - extras
    assert outside <= declared
    assert declared <= used
