"""The README against the program: what it shows is run, what it lists is complete.

    python tests/test_readme.py --update     rewrites its outputs and tables from real runs

A block of commands (`$ ...`) or of Python after `<!-- tested -->` is executed, in the order of the page and in one
scratch directory with the configurations; the Python's output is the block that follows it. `<!-- tested, slow -->` is
left to `-m slow` and `--update`. What differs from run to run is masked: see `VARIES`, and `; varies: REGEX` in a mark.
Between `<!-- table: NAME -->` and `<!-- end -->` stands what `TABLES` makes.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click
import pytest

from pipeline.cli.main import COMMANDS, cli
from pipeline.dataset.schema import SCHEMA, VERSION, VOLATILE
from pipeline.game.cards import cards_text
from pipeline.game.deals import deal, native_draws
from pipeline.game.variants import load_variant, variant_ids
from pipeline.pools.pool import _SCHEMA as POOL_SCHEMA
from pipeline.runs.settings import NIGHTLY, SETTINGS, VARIANT_KEYS

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PUBLISHED = ROOT / "data" / "published"

VARIES = (
    (r"(?m)^(still at it|compiling the engine|measuring for).*\n", ""),
    (r"\d{8}T\d{6}Z-[0-9a-f]{4}", "RUN"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S*", "TIME"),
    (r"[\d,.]+ s\b", "SECONDS"),
    (r"(?m)^(variant .* deals/s(\n.+)*)", lambda table: re.sub(r"(?m)(?<= )[\d,.]+$", "RATE", table[0])),
    (r"(?m)(?<=deals/s \|\n)(\|.*\n)+", lambda table: re.sub(r"(?m)[\d,.]+ \|$", "RATE |", table[0])),
    (r"-{3,}", "---"),
    (r" {2,}", "  "),
)
_MARK = re.compile(r"<!-- tested(?P<slow>, slow)?(?:; varies: (?P<varies>.+))? -->")


@dataclass
class Block:
    """A tested block: the lines `start` to `stop` of the page are its output, all or command by command."""

    number: int
    slow: bool
    varies: str | None
    kind: str
    source: list[str]
    start: int
    stop: int

    def __str__(self) -> str:
        first = next((line for line in self.source if line.strip()), "")
        return f"{self.number:02d} {first.removeprefix('$ ')[:40]}"

    @property
    def shown(self) -> list[str]:
        return self.source if self.kind == "console" else page()[self.start : self.stop]

    def commands(self) -> list[str]:
        """The commands of a console block."""
        found: list[str] = []
        for line in self.source:
            if line.startswith("$ "):
                found.append(line[2:])
            elif found and found[-1].endswith("\\"):
                found[-1] += "\n" + line
        return found


def page() -> list[str]:
    return README.read_text(encoding="utf-8").splitlines()


def fences(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """Yield where each fenced block's contents start and stop, and its language."""
    start = None
    for place, line in enumerate(lines):
        if line.startswith("```"):
            if start is None:
                start, kind = place + 1, line[3:]
            else:
                yield start, place, kind
                start = None


def blocks() -> list[Block]:
    lines, found = page(), []
    spans = list(fences(lines))
    for place, (start, stop, kind) in enumerate(spans):
        mark = _MARK.fullmatch(lines[start - 2])
        if mark:
            output = spans[place + 1][:2] if kind == "python" else (start, stop)
            found.append(
                Block(len(found), bool(mark["slow"]), mark["varies"], kind, lines[start:stop], output[0], output[1])
            )
    return found


def masked(text: str, varies: str | None) -> list[str]:
    for pattern, with_what in VARIES:
        text = re.sub(pattern, with_what, text)
    if varies:
        text = re.sub(f"(?m){varies}", "VARIES", text)
    return [line.rstrip() for line in text.splitlines()]


class Session:
    """The scratch directory in which a reader tries the page from its top to its end."""

    def __init__(self, folder: Path, *, slow: bool) -> None:
        self.folder, self.slow, self.done = folder, slow, 0
        self.results: dict[int, list[str]] = {}
        (folder / "configs").symlink_to(ROOT / "configs")
        programs = folder / ".bin"
        programs.mkdir()
        shim = programs / "winnable"
        shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pipeline "$@"\n', encoding="utf-8")
        shim.chmod(0o755)
        (programs / "python").symlink_to(sys.executable)
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("WINNABLE_")} | {
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "COLUMNS": "100",
            "TZ": "UTC",
            "LC_ALL": "C.UTF-8",
        }
        if "WINNABLE_CACHE" in os.environ:
            self.environment["WINNABLE_CACHE"] = os.environ["WINNABLE_CACHE"]

    def output_of(self, block: Block) -> list[str]:
        """Run what comes before a block, if it has not been run, and the block; return what the page should show."""
        for other in blocks()[self.done : block.number + 1]:
            if self.slow or not other.slow:
                self.results[other.number] = list(self._run(other))
        self.done = max(self.done, block.number + 1)
        return self.results[block.number]

    def _run(self, block: Block) -> Iterator[str]:
        if block.kind == "python":
            script = self.folder / "example.py"
            script.write_text("\n".join(block.source) + "\n", encoding="utf-8")
            yield from self._call([sys.executable, str(script)])
            return
        for command in block.commands():
            yield from f"$ {command}".splitlines()
            yield from self._call(["bash", "-c", command])

    def _call(self, words: list[str]) -> list[str]:
        call = subprocess.run(
            words,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=900,
            check=False,
        )
        assert "Traceback" not in call.stdout, f"{words[-1]}\n{call.stdout}"
        kept = re.sub(VARIES[0][0], "", call.stdout)
        return [line.rstrip() for line in kept.rstrip("\n").splitlines()]


# ---- what is generated


def settings_table() -> Iterator[str]:
    defaults = {"workers": "one a core", "seeds": "none", "variants": "the six main ones", "chunk": "adapts"}
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
    yield "| column | type |"
    yield "|---|---|"
    for field in POOL_SCHEMA:
        kind = str(field.type).replace("list<item: ", "list of ").replace("list<element: ", "list of ").rstrip(">")
        yield f"| `{field.name}` | {kind} |"


def variants_table() -> Iterator[str]:
    yield "| id | name | cards | columns | numberings |"
    yield "|---|---|---:|---:|---|"
    for name in variant_ids():
        variant = load_variant(name)
        numberings = ", ".join(variant.numberings)
        yield f"| `{name}` | {variant.name} | {variant.cards} | {len(variant.columns)} | {numberings} |"


def modules() -> list[Path]:
    return sorted(path for path in (ROOT / "pipeline").rglob("*.py") if "__pycache__" not in path.parts)


def files_table() -> Iterator[str]:
    yield "| file | what it is |"
    yield "|---|---|"
    for path in modules():
        about = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        sentence = " ".join(about.split("\n\n")[0].split())
        yield f"| `{path.relative_to(ROOT).as_posix()}` | {sentence} |"


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


def published_figures(run: Callable[[list[str]], str] | None = None) -> Iterator[str]:
    """The report on the published sample, its headings one level down."""
    words = ["report", "--data", str(PUBLISHED), "--format", "markdown"]
    call = subprocess.run(
        [sys.executable, "-m", "pipeline", *words], cwd=ROOT, capture_output=True, text=True, timeout=300, check=True
    )
    for line in call.stdout.strip().splitlines()[1:]:
        yield f"#{line}" if line.startswith("#") else line


TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "settings": settings_table,
    "nightly": nightly_table,
    "columns": columns_table,
    "pool": pool_table,
    "variants": variants_table,
    "files": files_table,
    "vectors": vectors_table,
}


def region(lines: list[str], first: str, last: str) -> tuple[int, int]:
    start = lines.index(first) + 1
    return start, lines.index(last, start)


def shown_table(name: str) -> list[str]:
    lines = page()
    start, stop = region(lines, f"<!-- table: {name} -->", "<!-- end -->")
    return [line for line in lines[start:stop] if line.strip() or name == "vectors"]


def has_published() -> bool:
    return any(PUBLISHED.glob("outcomes/*/*/*.parquet"))


# ---- tests


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    return Session(tmp_path_factory.mktemp("readme"), slow=False)


@pytest.fixture(scope="module")
def slow_session(tmp_path_factory):
    return Session(tmp_path_factory.mktemp("readme-slow"), slow=True)


def check(session: Session, block: Block) -> None:
    for package in ("duckdb", "polars"):
        if re.search(rf"^import {package}", "\n".join(block.source), re.MULTILINE):
            pytest.importorskip(package)
    shown, real = (masked("\n".join(lines) + "\n", block.varies) for lines in (block.shown, session.output_of(block)))
    difference = "\n".join(difflib.unified_diff(shown, real, "README.md", "what happens", lineterm="", n=2))
    assert not difference, f"{difference}\nIf that is right: python tests/test_readme.py --update"


@pytest.mark.parametrize("block", [block for block in blocks() if not block.slow], ids=str)
def test_what_the_page_shows_is_what_happens(session, block):
    check(session, block)


@pytest.mark.slow
@pytest.mark.parametrize("block", [block for block in blocks() if block.slow], ids=str)
def test_what_takes_longer_is_so_too(slow_session, block):
    check(slow_session, block)


@pytest.mark.parametrize("name", [name for name in TABLES if name != "files"])
def test_a_table_is_that_of_the_program(name):
    assert shown_table(name) == list(TABLES[name]()), "python tests/test_readme.py --update"


def test_every_module_is_in_the_file_table():
    names = [line.split("`")[1] for line in shown_table("files")[2:]]
    assert names == [path.relative_to(ROOT).as_posix() for path in modules()], "python tests/test_readme.py --update"


def test_the_published_figures_are_those_of_the_sample():
    if not has_published():
        pytest.skip("data/published is not in this checkout")
    lines = page()
    start, stop = region(lines, "<!-- published-figures -->", "<!-- /published-figures -->")
    shown, real = ("\n".join(part).strip() for part in (lines[start:stop], published_figures()))
    assert masked(shown, None) == masked(real, None), "python tests/test_readme.py --update"


def every_command(
    group: click.Group = cli, before: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*before, name), command
        if isinstance(command, click.Group):
            yield from every_command(command, (*before, name))


EVERY = dict(every_command())


def calls_on_the_page() -> list[tuple[str, list[str]]]:
    """Every call of `winnable` in a fenced block, as the words after the program's name."""
    lines = page()
    text = "\n".join(line for start, stop, _ in fences(lines) for line in lines[start:stop]).replace("\\\n", " ")
    found = []
    for match in re.finditer(r"(?m)(?:^|[\s/(])winnable ([a-z][^|;&\n#)]*)", text):
        call = re.sub(r"[<>]\s*\S+", "", match[1]).strip()
        words = shlex.split(call) if call.count('"') % 2 == 0 and call.count("'") % 2 == 0 else call.split()
        found.append((call, words))
    return [(call, words) for call, words in found if words[0] in COMMANDS]


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_every_command_is_on_the_page_with_an_example(path):
    command = EVERY[path]
    if not isinstance(command, click.Group) or command.invoke_without_command:
        wanted = " ".join(path)
        assert any(call.startswith(wanted) for call, _ in calls_on_the_page()), f"no example of winnable {wanted}"


def test_every_call_on_the_page_has_only_flags_that_exist():
    calls = calls_on_the_page()
    assert len(calls) > 30
    for call, words in calls:
        path = tuple(words[:2]) if tuple(words[:2]) in EVERY else (words[0],)
        flags = {flag for param in EVERY[path].params for flag in (*param.opts, *param.secondary_opts)} | {"--help"}
        for word in words:
            if re.match(r"-[a-z-]", word) and word != "-":
                assert word.split("=")[0] in flags, f"winnable {call}: no flag {word}"


@pytest.mark.parametrize("path", [(), *EVERY], ids=" ".join)
def test_the_examples_in_the_help_keep_their_lines(path):
    command = EVERY[path] if path else cli
    text = command.get_help(click.Context(command, info_name="winnable"))
    assert re.search(r"(?m)^ +Examples?:$", text), text
    assert "\\b" not in text
    assert re.search(r"(?m)^ +winnable ", text)


def test_a_manifest_has_the_keys_that_are_explained(session):
    session.output_of(blocks()[0])
    manifest = json.loads(next((session.folder / "data" / "runs").glob("*.json")).read_text(encoding="utf-8"))
    explained = set(re.findall(r"`([a-z_]+)`", "\n".join(shown_region("manifest"))))
    assert set(manifest) | set(manifest["deals"][0]) <= explained


def shown_region(name: str) -> list[str]:
    lines = page()
    start, stop = region(lines, f"<!-- {name} -->", "<!-- end -->")
    return lines[start:stop]


def test_the_schema_version_is_the_one_in_use():
    assert f"schema version is {VERSION}" in README.read_text(encoding="utf-8")


def test_the_shuffle_on_the_page_deals_our_deals():
    code = next("\n".join(block.source) for block in blocks() if "def native_deal" in "\n".join(block.source))
    names: dict[str, object] = {"print": lambda *_: None}
    exec(compile(code, "README.md", "exec"), names)
    native_deal = names["native_deal"]
    assert callable(native_deal)
    for name in variant_ids():
        variant = load_variant(name)
        for seed in (0, 1, 77, 2**32, 2**63 - 1):
            columns, stock = native_deal(seed, variant.packs, variant.suits, variant.columns)
            board = deal(variant, seed)
            assert [" ".join(column) for column in columns] == [cards_text(column) for column in board.columns]
            assert " ".join(stock) == cards_text(board.stock)


@pytest.mark.parametrize("name", ["setup-and-run", "test"])
def test_the_two_commands_are_one_line_each(name):
    lines = page()
    place = lines.index(f"<!-- {name} -->")
    assert lines[place + 1] == "```console"
    assert lines[place + 3] == "```"
    assert "--group dev" not in lines[place + 2] or "--upgrade pip" in lines[place + 2].split("--group dev")[0]


# ---- update


def update() -> None:
    for name, make in TABLES.items():
        replace(f"<!-- table: {name} -->", "<!-- end -->", list(make()))
    if has_published():
        replace("<!-- published-figures -->", "<!-- /published-figures -->", list(published_figures()))
    with tempfile.TemporaryDirectory() as folder:
        session = Session(Path(folder), slow=True)
        for number in range(len(blocks())):
            block = blocks()[number]  # places move as outputs change
            real = session.output_of(block)
            same = partial(masked, varies=block.varies)
            if same("\n".join(block.shown) + "\n") != same("\n".join(real) + "\n"):
                print(f"changed: {block}")
                lines = page()
                lines[block.start : block.stop] = real
                README.write_text("\n".join(lines) + "\n", encoding="utf-8")


def replace(first: str, last: str, new: list[str]) -> None:
    lines = page()
    start, stop = region(lines, first, last)
    lines[start:stop] = new
    README.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        sys.exit("usage: python tests/test_readme.py --update")
    update()
