"""The pages against the program: what they show is run, what they list is complete.

    python tests/test_pages.py --update [PAGE ...]     rewrites outputs and tables of pages from real runs

A block of commands (`$ ...`) or of Python after `<!-- tested -->` is executed, in the order of its page and in a
scratch directory that the page has for itself, with the configurations in it; the Python's output is the block that
follows it. `<!-- tested, slow -->` is left to `-m slow` and `--update`. What differs from run to run is masked: see
`VARIES`, and `; varies: REGEX` in a mark. Between `<!-- table: NAME -->` and `<!-- end -->` stands what `TABLES` makes.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import click
import pytest
from pages_tables import PUBLISHED, ROOT, TABLES, published_figures

from pipeline.cli.main import COMMANDS, cli
from pipeline.dataset.schema import VERSION
from pipeline.game.cards import cards_text
from pipeline.game.deals import deal
from pipeline.game.variants import load_variant, variant_ids

PAGES = (
    "README.md",
    ".github/CONTRIBUTING.md",
    "configs/README.md",
    "data/README.md",
    "pipeline/README.md",
    "pipeline/engine/README.md",
    "pipeline/game/README.md",
    "pipeline/pools/README.md",
    "pipeline/referee/README.md",
    "reports/README.md",
)
FIGURES = ("<!-- published-figures -->", "<!-- /published-figures -->")
UPDATE = "python tests/test_pages.py --update"

VARIES = (
    (r"(?m)^(still at it|compiling the search|measuring for).*\n", ""),
    (r", after [\d.]+ s of compiling", ""),
    (r"\d{8}T\d{6}Z-[0-9a-f]{4}", "RUN"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S*", "TIME"),
    (r"[\d,.]+ s\b", "SECONDS"),
    (r"\d+\.\d+\.\d+\+[0-9a-f]{8}", "SOLVER"),
    (r"(?m)^(variant .* deals/s(\n.+)*)", lambda table: re.sub(r"(?m)(?<= )[\d,.]+$", "RATE", table[0])),
    (r"(?m)(?<=deals/s \|\n)(\|.*\n)+", lambda table: re.sub(r"(?m)[\d,.]+ \|$", "RATE |", table[0])),
    (r"-{3,}", "---"),
    (r" {2,}", "  "),
)
_MARK = re.compile(r"<!-- tested(?P<slow>, slow)?(?:; varies: (?P<varies>.+))? -->")


@dataclass
class Block:
    """A tested block of a page: its lines `start` to `stop` are the output, all or command by command."""

    page: str
    number: int
    slow: bool
    varies: str | None
    kind: str
    source: list[str]
    start: int
    stop: int

    def __str__(self) -> str:
        first = next((line for line in self.source if line.strip()), "")
        return f"{self.page} {self.number:02d} {first.removeprefix('$ ')[:40]}"

    @property
    def shown(self) -> list[str]:
        return self.source if self.kind == "console" else lines_of(self.page)[self.start : self.stop]

    def commands(self) -> list[str]:
        """Return the commands of a console block."""
        commands: list[str] = []
        for line in self.source:
            if line.startswith("$ "):
                commands.append(line[2:])
            elif commands and commands[-1].endswith("\\"):
                commands[-1] += "\n" + line
        return commands


def lines_of(page: str) -> list[str]:
    return (ROOT / page).read_text(encoding="utf-8").splitlines()


def write(page: str, lines: list[str]) -> None:
    (ROOT / page).write_text("\n".join(lines) + "\n", encoding="utf-8")


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


def blocks(page: str) -> list[Block]:
    lines = lines_of(page)
    tested: list[Block] = []
    spans = list(fences(lines))
    for place, (start, stop, kind) in enumerate(spans):
        mark = _MARK.fullmatch(lines[start - 2])
        if mark:
            output = spans[place + 1][:2] if kind == "python" else (start, stop)
            varies = mark["varies"]
            tested.append(Block(page, len(tested), bool(mark["slow"]), varies, kind, lines[start:stop], *output))
    return tested


def masked(text: str, varies: str | None) -> list[str]:
    for pattern, with_what in VARIES:
        text = re.sub(pattern, with_what, text)
    if varies:
        text = re.sub(f"(?m){varies}", "VARIES", text)
    return [line.rstrip() for line in text.splitlines()]


class Session:
    """The scratch directory in which a reader tries a page from its top to its end."""

    def __init__(self, page: str, folder: Path, *, slow: bool) -> None:
        self.page, self.folder, self.slow, self.done = page, folder, slow, 0
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
        for other in blocks(self.page)[self.done : block.number + 1]:
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


def region(lines: list[str], first: str, last: str) -> tuple[int, int]:
    start = lines.index(first) + 1
    return start, lines.index(last, start)


def page_with(mark: str) -> str:
    """Return the one page that has a line."""
    (page,) = (page for page in PAGES if mark in lines_of(page))
    return page


def shown_region(first: str, last: str = "<!-- end -->") -> list[str]:
    lines = lines_of(page_with(first))
    start, stop = region(lines, first, last)
    return lines[start:stop]


def shown_table(name: str) -> list[str]:
    return [line for line in shown_region(f"<!-- table: {name} -->") if line.strip() or name == "vectors"]


def has_published() -> bool:
    return any(PUBLISHED.glob("outcomes/*/*/*.parquet"))


# ---- tests


TESTED = [block for page in PAGES for block in blocks(page)]


@pytest.fixture(scope="module")
def session_of(tmp_path_factory):
    """Return the session of a page, the same for all its blocks."""

    @cache
    def session(page, slow=False):
        return Session(page, tmp_path_factory.mktemp("page"), slow=slow)

    return session


def check(session: Session, block: Block) -> None:
    for package in ("duckdb", "polars"):
        if re.search(rf"^import {package}", "\n".join(block.source), re.MULTILINE):
            pytest.importorskip(package)
    shown, real = (masked("\n".join(lines) + "\n", block.varies) for lines in (block.shown, session.output_of(block)))
    difference = "\n".join(difflib.unified_diff(shown, real, block.page, "what happens", lineterm="", n=2))
    assert not difference, f"{difference}\nIf that is right: {UPDATE} {block.page}"


@pytest.mark.parametrize("block", [block for block in TESTED if not block.slow], ids=str)
def test_what_a_page_shows_is_what_happens(session_of, block):
    check(session_of(block.page), block)


@pytest.mark.slow
@pytest.mark.parametrize("block", [block for block in TESTED if block.slow], ids=str)
def test_what_takes_longer_is_so_too(session_of, block):
    check(session_of(block.page, slow=True), block)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_that_of_the_program(name):
    assert shown_table(name) == list(TABLES[name]()), UPDATE


def test_the_published_figures_are_those_of_the_sample():
    if not has_published():
        pytest.skip("data/published is not in this checkout")
    shown, real = ("\n".join(part).strip() for part in (shown_region(*FIGURES), published_figures()))
    assert masked(shown, None) == masked(real, None), UPDATE


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    lines = lines_of(page)
    code = {place for start, stop, _ in fences(lines) for place in range(start, stop)}
    text = "\n".join(line for place, line in enumerate(lines) if place not in code)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" not in target:
            path, _, anchor = target.partition("#")
            there = ROOT / (os.path.normpath(Path(page).parent / path) if path else page)
            assert there.exists(), f"{page}: {target}"
            if anchor:
                assert anchor in anchors(there.read_text(encoding="utf-8")), f"{page}: {target}"


def anchors(text: str) -> set[str]:
    """Return the anchors GitHub gives a page's headings."""
    headings = re.findall(r"(?m)^#+ (.+)$", text)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_first_page_is_short():
    assert len(lines_of("README.md")) <= 300


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


def calls_on_pages() -> list[tuple[str, list[str]]]:
    """Every call of `winnable` in a fenced block, as the words after the program's name."""
    pages = [lines_of(page) for page in PAGES]
    fenced = (line for lines in pages for start, stop, _ in fences(lines) for line in lines[start:stop])
    text = "\n".join(fenced).replace("\\\n", " ")
    found = []
    for match in re.finditer(r"(?m)(?:^|[\s/(])winnable ([a-z][^|;&\n#)]*)", text):
        call = re.sub(r"[<>]\s*\S+", "", match[1]).strip()
        words = shlex.split(call) if call.count('"') % 2 == 0 and call.count("'") % 2 == 0 else call.split()
        found.append((call, words))
    return found


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_every_command_is_on_a_page_with_an_example(path):
    command = EVERY[path]
    if not isinstance(command, click.Group) or command.invoke_without_command:
        wanted = " ".join(path)
        assert any(call.startswith(wanted) for call, _ in calls_on_pages()), f"no example of winnable {wanted}"


def test_every_call_on_a_page_has_only_flags_that_exist():
    calls = calls_on_pages()
    assert len(calls) > 30
    for call, words in calls:
        assert words[0] in COMMANDS, f"winnable {call}: no such command"
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


def test_a_manifest_has_the_keys_that_are_explained(session_of):
    page = page_with("<!-- manifest -->")
    session = session_of(page)
    session.output_of(blocks(page)[0])
    manifest = json.loads(next((session.folder / "data" / "runs").glob("*.json")).read_text(encoding="utf-8"))
    explained = set(re.findall(r"`([a-z_]+)`", "\n".join(shown_region("<!-- manifest -->"))))
    assert set(manifest) | set(manifest["deals"][0]) <= explained


def test_the_schema_version_is_the_one_in_use():
    assert f"schema version is {VERSION}" in (ROOT / "data" / "README.md").read_text(encoding="utf-8")


def test_the_shuffle_on_its_page_deals_our_deals():
    code = next(text for text in ("\n".join(block.source) for block in TESTED) if "def native_deal" in text)
    names: dict[str, object] = {"print": lambda *_: None}
    exec(compile(code, "the page", "exec"), names)
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
    lines = lines_of("README.md")
    place = lines.index(f"<!-- {name} -->")
    assert lines[place + 1] == "```console"
    assert lines[place + 3] == "```"
    assert "--group dev" not in lines[place + 2] or "--upgrade pip" in lines[place + 2].split("--group dev")[0]


# ---- update


def update(pages: list[str]) -> None:
    for name, make in TABLES.items():
        replace(f"<!-- table: {name} -->", "<!-- end -->", list(make()))
    if has_published():
        replace(*FIGURES, list(published_figures()))
    for page in pages or PAGES:
        with tempfile.TemporaryDirectory() as folder:
            session = Session(page, Path(folder), slow=True)
            for number in range(len(blocks(page))):
                block = blocks(page)[number]  # places move as outputs change
                real = session.output_of(block)
                same = partial(masked, varies=block.varies)
                if same("\n".join(block.shown) + "\n") != same("\n".join(real) + "\n"):
                    print(f"changed: {block}")
                    lines = lines_of(page)
                    lines[block.start : block.stop] = real
                    write(page, lines)


def replace(first: str, last: str, new: list[str]) -> None:
    page = page_with(first)
    lines = lines_of(page)
    start, stop = region(lines, first, last)
    lines[start:stop] = new
    write(page, lines)


if __name__ == "__main__":
    if sys.argv[1:2] != ["--update"] or not set(sys.argv[2:]) <= set(PAGES):
        sys.exit(f"usage: {UPDATE} [PAGE ...]")
    update(sys.argv[2:])
