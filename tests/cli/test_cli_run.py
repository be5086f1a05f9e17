"""The commands around the dataset, from the outside: what they print, leave and return."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.cli.main import run_command

ROOT = Path(__file__).parents[2]


@pytest.fixture
def winnable(capsys, monkeypatch, tmp_path):
    """Run a command in this process, in an empty directory; return its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("WINNABLE_")]:
        monkeypatch.delenv(name)

    def call(*words):
        code = run_command([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture(scope="module")
def settled(tmp_path_factory):
    """A dataset of a few real deals, settled once by the command itself; copied by each test."""
    home = tmp_path_factory.mktemp("settled")
    words = ["run", "--variant", "spider-1", "--variant", "spider-easy", "--seeds", "1:12", "--nodes", "50000", "-q"]
    done = subprocess.run([sys.executable, "-m", "pipeline", *words], cwd=home, env=environment(), check=False)
    assert done.returncode == 0
    return home / "data"


@pytest.fixture
def data(settled, tmp_path):
    shutil.copytree(settled, tmp_path / "data")
    return tmp_path / "data"


def environment():
    return {name: value for name, value in os.environ.items() if not name.startswith("WINNABLE_")} | {
        "PYTHONPATH": str(ROOT)
    }


def test_run_prints_what_it_did_and_does_nothing_twice(winnable, data):
    words = ("run", "--variant", "spider-1", "--seeds", "1:12", "--nodes", "50000", "--format", "json")
    code, out, err = winnable(*words)
    assert code == 0
    (record,) = json.loads(out)
    assert (record["deals"], record["present"], record["settled"], record["left"]) == (12, 12, 0, 0)
    assert "nothing to do: all 12 deals" in err
    code, out, _ = winnable(*words, "--seeds", "13:14")
    assert (code, json.loads(out)[0]["settled"]) == (0, 2)
    words = ("run", "--variant", "spider-4", "--seeds", "1", "--nodes", "1")
    assert winnable(*words)[0] == 0
    assert "nothing to do: all 1 deals" in winnable(*words)[2]


def test_run_as_csv_and_markdown(winnable, data):
    words = ("run", "--variant", "spider-1", "--seeds", "1:12", "--nodes", "50000", "-q")
    code, out, err = winnable(*words, "--format", "csv")
    assert (code, err) == (0, "")
    assert next(csv.DictReader(out.splitlines()))["deals"] == "12"
    assert winnable(*words, "--format", "markdown")[1].startswith("| variant | numbering |")


def test_run_with_a_report(winnable, data, tmp_path):
    (tmp_path / "run.toml").write_text('seeds = "1:12"\nnodes = 50_000\nvariants = ["spider-1"]\nreport = true\n')
    code, out, _ = winnable("run", "run.toml")
    assert code == 0
    assert "95%" in out
    code, out, _ = winnable("run", "run.toml", "--format", "json")
    assert json.loads(out)["variants"][0]["deals"] == 12
    code, out, _ = winnable("run", "run.toml", "--no-report", "--format", "json")
    assert json.loads(out)[0]["deals"] == 12


def test_a_report_on_variants_of_different_numberings(winnable, tmp_path):
    text = 'seeds = "1:3"\nreport = true\n[variant.spider-1]\nnumbering = "pysol"\n[variant.spider-easy]\n'
    (tmp_path / "run.toml").write_text('variants = ["spider-1", "spider-easy"]\n' + text)
    assert winnable("run", "--variant", "spider-1", "--seeds", "1:2", "--nodes", "50000")[0] == 0
    code, out, err = winnable("run", "run.toml", "--format", "json")
    assert code == 0, err
    reported = [(entry["variant"], entry["numbering"], entry["deals"]) for entry in json.loads(out)["variants"]]
    assert reported == [("spider-1", "pysol", 3), ("spider-easy", "native", 3)]


def test_a_report_on_a_shard_that_has_nothing_of_a_variant(winnable, tmp_path):
    text = 'report = true\n[variant.spider-1]\nseeds = "1:2"\n[variant.spider-easy]\nseeds = "1"\n'
    (tmp_path / "run.toml").write_text(text)
    reported = []
    for shard in ("1/3", "2/3", "3/3"):  # of one shard nothing at all is left
        code, out, err = winnable("run", "run.toml", "--shard", shard, "--data", f"data-{shard[0]}", "--format", "json")
        assert code == 0, err
        found = json.loads(out)
        reported += [(entry["variant"], entry["deals"]) for entry in found["variants"]] if "variants" in found else []
    assert sorted(reported) == [("spider-1", 1), ("spider-1", 1), ("spider-easy", 1)]


def test_a_dry_run_does_nothing_and_estimates(winnable, data):
    before = tree(data)
    code, out, _ = winnable("run", "--variant", "spider-1", "--seeds", "1:1000", "--dry-run", "--format", "json")
    assert code == 0
    (record,) = json.loads(out)
    assert (record["deals"], record["present"], record["to_settle"]) == (1000, 12, 988)
    assert record["estimated_seconds"] > 0
    code, out, err = winnable("run", "--variant", "spider-4", "--seeds", "1:9", "--dry-run", "--format", "json")
    assert json.loads(out)[0]["estimated_seconds"] is None
    assert "no estimate yet" in err
    assert "of spider-4; the same command with --seeds 1:100" in err
    assert tree(data) == before


def test_a_dry_run_needs_no_dataset(winnable, tmp_path):
    code, out, _ = winnable("run", "--variant", "spider-1", "--seeds", "1:10", "--dry-run")
    assert code == 0
    assert "to_settle" in out
    assert list(tmp_path.iterdir()) == []


def test_status(winnable, data):
    code, out, err = winnable("status", "--format", "json")
    assert code == 0
    one, other = json.loads(out)
    assert (one["variant"], one["seeds"], one["done"], one["missing"], one["parts"]) == ("spider-1", "1:12", 12, 0, 1)
    assert other["variant"] == "spider-easy"
    assert "last run" in err
    code, out, _ = winnable("status", "--variant", "spider-1", "--seeds", "1:100", "--format", "json")
    (only,) = json.loads(out)
    assert (only["done"], only["missing"]) == (12, 88)
    assert "spider-easy" in winnable("status")[1]


def test_status_counts_what_is_unsettled_at_a_smaller_limit(winnable):
    def missing(*words):
        code, out, err = winnable("status", "--format", "json", *words)
        assert code == 0, err
        return {(row["variant"], row["numbering"]): row["missing"] for row in json.loads(out)}

    one, other = ("--variant", "spider-4", "--seeds", "1:3"), ("--numbering", "pysol", "--nodes", "2")
    assert winnable("run", *one, "--nodes", "1", "-q")[0] == 0
    assert winnable("run", *one, *other, "-q")[0] == 0
    native, pysol = ("spider-4", "native"), ("spider-4", "pysol")
    assert missing() == {native: 0, pysol: 0}, "at the limits of the runs"
    assert missing("--nodes", "2") == {native: 3, pysol: 0}
    assert missing("--nodes", "10M") == {native: 3, pysol: 3}
    assert missing("--variant", "spider-4") == {native: 0, pysol: 0}
    assert missing("--variant", "spider-4", "--numbering", "pysol") == {pysol: 0}
    assert missing("--variant", "spider-1") == {}
    assert missing("--variant", "spider-4", "--seeds", "1:5") == {native: 5}, "as a run without --nodes"
    assert missing("--variant", "spider-4", "--seeds", "1:5", "--nodes", "1") == {native: 2}


def test_status_of_a_numbering(winnable, data):
    def partitions(*words):
        code, out, err = winnable("status", "--format", "json", *words)
        assert code == 0, err
        return {(row["variant"], row["numbering"]) for row in json.loads(out)}

    assert winnable("run", "--variant", "spider-1", "--numbering", "kpat", "--seeds", "1", "-q")[0] == 0
    assert partitions("--numbering", "kpat") == {("spider-1", "kpat")}
    assert partitions("--numbering", "native") == {("spider-1", "native"), ("spider-easy", "native")}
    assert partitions("--numbering", "pysol") == set()
    kpat = partitions("--numbering", "kpat", "--seeds", "1:9")
    assert ("spider-4", "kpat") in kpat
    assert {numbering for _, numbering in kpat} == {"kpat"}


def test_a_variable_that_is_nearly_ours_is_named(winnable, data, monkeypatch):
    for name in ("WINNABLE_NODE", "WINNABLE_CACHE", "WINNABLE_RETRY_QQQQQQQ"):
        monkeypatch.setenv(name, "none")
    code, _, err = winnable("export")
    warning = "warning: WINNABLE_NODE is not a variable of winnable and does nothing; did you mean WINNABLE_NODES?"
    assert (code, err.splitlines()) == (0, [warning, "24 rows"])
    assert winnable("export", "-q")[2] == ""


def test_status_of_nothing(winnable, tmp_path):
    code, out, err = winnable("status", "--data", tmp_path / "nowhere")
    assert (code, out) == (3, "")
    assert err.startswith(f"Error: {tmp_path / 'nowhere'}: not a dataset")
    code, out, _ = winnable(
        "status", "--data", tmp_path / "nowhere", "--variant", "spider-1", "--seeds", "1:5", "--format", "json"
    )
    assert (code, json.loads(out)[0]["missing"]) == (0, 5)
    (tmp_path / "empty" / "outcomes").mkdir(parents=True)
    assert winnable("status", "--data", tmp_path / "empty")[:2] == (0, "no outcomes\n")


def test_verify(winnable, data):
    code, out, err = winnable("verify")
    assert (code, out) == (0, "")
    assert "24 rows, 24 lines replayed: no fault" in err
    assert winnable("verify", "--sample", "3", "--variant", "spider-1")[0] == 0


@pytest.fixture
def own(data, tmp_path):
    """Make a dataset of a variant of the user's own; return its file, and one of the same id with other rules."""
    from pipeline.game import variants

    text = Path(variants.__file__).with_name("spider-1.toml").read_text().replace('"spider-1"', '"mini"', 1)
    file, other = tmp_path / "mini.toml", tmp_path / "mini2.toml"
    file.write_text(text)
    other.write_text(text.replace("suits = 1", "suits = 2"))
    (data / "outcomes" / "variant=spider-1").rename(data / "outcomes" / "variant=mini")
    shutil.rmtree(data / "outcomes" / "variant=spider-easy")
    return file, other


def test_verify_says_at_the_end_which_lines_were_not_replayed(winnable, own):
    code, _, err = winnable("verify", "--variant", own[0])
    assert (code, err) == (0, "1 part, 12 rows, 12 lines replayed: no fault\n")
    code, _, err = winnable("verify")
    text = "1 part, 12 rows, 0 lines replayed: no fault; 12 lines not replayed: their rules are not known"
    assert (code, err.splitlines()[-1]) == (0, text)


def test_a_file_of_other_rules_is_refused_and_nothing_is_repaired(winnable, own, data):
    file, other = own
    before = tree(data)
    for words in (["verify"], ["verify", "--repair"], ["status"], ["export"]):
        assert winnable(*words, "--variant", file)[0] == 0
        code, out, err = winnable(*words, "--variant", other)
        assert (code, out) == (3, "")
        assert "settled under other rules of mini" in err
        assert "--repair" not in err
    assert not (data / "quarantine").exists()
    assert [path for path, _ in tree(data)] == [path for path, _ in before]


def test_verify_finds_and_repairs_a_truncated_part(winnable, data):
    part = next(data.rglob("part-*.parquet"))
    part.write_bytes(part.read_bytes()[:-20])
    code, out, err = winnable("verify", "--format", "json")
    assert code == 3
    assert json.loads(out)[0]["file"].endswith(part.name)
    assert len([line for line in err.splitlines() if line.startswith("Error: ")]) == 1
    assert err.count("verify --repair") == 1
    for words in (["report"], ["export"], ["status"], ["merge", data, "--data", "other"]):
        code, _, err = winnable(*words)
        assert (code, err.endswith("; run 'winnable verify --repair'\n")) == (3, True), err
    assert winnable("run", "--variant", "spider-1", "--variant", "spider-easy", "--seeds", "1:12")[0] == 3
    code, _, err = winnable("verify", "--repair")
    assert code == 0
    assert "replaced by its 0 rows that stand" in err
    (again,) = [line.partition("to settle again: winnable ")[2] for line in err.splitlines() if "settle again" in line]
    assert winnable(*again.split())[0] == 0
    assert json.loads(winnable("status", "--format", "json")[1])[0]["missing"] == 0
    assert winnable("verify")[0] == 0
    assert winnable("report")[0] == 0
    assert list((data / "quarantine").rglob(part.name))


def test_verify_finds_a_line_that_does_not_replay(winnable, data):
    from dataset_rows import rows_of, table_of

    from pipeline.dataset.schema import read_rows, write_table

    part = next((data / "outcomes" / "variant=spider-1").rglob("part-*.parquet"))
    rows = rows_of(read_rows(part))
    rows[4] = rows[4]._replace(line=rows[5].line, moves=rows[5].moves, deals=rows[5].deals, score=rows[5].score)
    with part.open("wb") as file:
        write_table(table_of(rows), file)
    code, out, err = winnable("verify", "--format", "json")
    assert code == 4
    assert [(one["kind"], one["row"], one["seed"]) for one in json.loads(out)] == [("line", 4, 5)]
    assert "row 4 (seed 5)" in err
    assert winnable("verify", "--repair")[0] == 0
    code, out, _ = winnable("run", "--variant", "spider-1", "--seeds", "1:12", "--nodes", "50000", "--format", "json")
    assert (code, json.loads(out)[0]["settled"]) == (0, 1)
    assert winnable("verify")[0] == 0


def test_merge(winnable, data, tmp_path):
    code, _, err = winnable("merge", data, "--data", "other")
    assert code == 0
    assert "spider-1/native: 12 deals added, 0 replaced" in err
    assert "0 deals added, 0 replaced" in winnable("merge", data, "--data", "other")[2]
    assert winnable("verify", "--data", "other")[0] == 0
    assert winnable("merge", data)[0] == 2
    assert winnable("merge", "nowhere")[0] == 2


def test_merge_only_reads_its_source(winnable, data):
    before = {path: path.stat().st_mtime_ns for path in data.rglob("*")}
    assert winnable("merge", data, "--data", "other")[0] == 0
    assert {path: path.stat().st_mtime_ns for path in data.rglob("*")} == before


def test_merge_takes_in_what_was_planned_of_the_chosen_variants_only(winnable, data):
    planned = ("report", "--format", "json", "--data", "other")
    assert winnable("merge", data, "--data", "other", "--variant", "spider-1")[0] == 0
    assert [entry["variant"] for entry in json.loads(winnable(*planned)[1])["variants"]] == ["spider-1"]
    shutil.rmtree(data / "outcomes" / "variant=spider-easy")
    assert winnable("merge", data, "--data", "other")[0] == 0
    entries = json.loads(winnable(*planned)[1])["variants"]
    assert [(entry["variant"], entry["unsettled"]) for entry in entries] == [("spider-1", 0), ("spider-easy", 12)]


def test_export(winnable, data):
    code, out, err = winnable("export", "--variant", "spider-1", "--seeds", "3:5")
    rows = list(csv.DictReader(out.splitlines()))
    assert code == 0
    assert [row["seed"] for row in rows] == ["3", "4", "5"]
    assert err == "3 rows\n"
    assert winnable("export", "--variant", "spider-1", "--seeds", "3")[2] == "1 row\n"
    code, out, _ = winnable("export", "--format", "jsonl", "--columns", "seed,verdict", "--out", "all.jsonl")
    assert (code, out) == (0, "")
    lines = Path("all.jsonl").read_text().splitlines()
    assert len(lines) == 24
    assert json.loads(lines[0]) == {"variant": "spider-1", "numbering": "native", "seed": 1, "verdict": "won"}
    code, _, err = winnable("export", "--columns", "seed,verdikt")
    assert code == 2
    assert "did you mean 'verdict'?" in err


def test_the_ending_of_an_export_says_its_form(winnable, data, tmp_path):
    assert winnable("export", "--out", "all.jsonl")[0] == 0
    assert json.loads(Path("all.jsonl").read_text().splitlines()[0])["seed"] == 1
    assert winnable("export", "--out", "all.json", "--format", "jsonl")[0] == 0
    assert winnable("export", "--out", "all.txt", "--format", "json")[0] == 0
    before = sorted(tmp_path.iterdir())
    code, _, err = winnable("export", "--out", "x.csv", "--format", "json")
    assert (code, err) == (2, "Error: --out x.csv: the ending says csv, but --format says json\n")
    code, _, err = winnable("export", "--out", "x.parquet")
    assert (code, "parquet is not written here; the forms are: csv, json, jsonl" in err) == (2, True)
    assert sorted(tmp_path.iterdir()) == before


def test_an_export_that_fails_leaves_the_old_file_and_no_other(winnable, data, tmp_path):
    (tmp_path / "out.csv").write_text("old")
    part = next(data.rglob("part-*.parquet"))
    part.write_bytes(part.read_bytes()[:-20])
    assert winnable("export", "--out", "out.csv")[0] == 3
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["out.csv"]
    assert (tmp_path / "out.csv").read_text() == "old"


def test_export_into_a_closed_pipe_is_quiet(data):
    command = f"{sys.executable} -m pipeline export --data {data} | head -n 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, env=environment(), check=False
    )
    assert done.stdout.startswith("variant,numbering,seed")
    assert "Error" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_run_with_what_it_has(winnable, data, number, code):
    words = f"run --variant spider-easy --seeds 1:1000000 --nodes 50000 --workers 2 --data {data}".split()
    process = subprocess.Popen(
        [sys.executable, "-m", "pipeline", *words],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    manifests = len(list((data / "runs").glob("*.json")))
    deadline = time.monotonic() + 180
    while len(list((data / "runs").glob("*.json"))) == manifests and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(3)
    os.kill(process.pid, number)
    try:
        out, err = process.communicate(timeout=180)
    finally:
        process.kill()
    assert process.returncode == code, err
    assert "the same command goes on from here" in err
    assert "Traceback" not in err
    settled = json.loads(winnable("status", "--format", "json")[1])[1]
    assert settled["done"] >= 12
    assert "spider-easy" in out
    assert winnable("verify", "--variant", "spider-easy")[0] == 0


def tree(path):
    return sorted((str(one), one.stat().st_mtime_ns) for one in Path(path).rglob("*"))


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_bar_is_drawn_on_a_terminal_only(data):
    import fcntl
    import pty
    import struct
    import termios

    words = [sys.executable, "-m", "pipeline", "verify", "--variant", "spider-1", "--data", str(data)]
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    try:
        done = subprocess.run(words, env=environment(), stderr=child, stdout=subprocess.PIPE, check=True)
        drawn = os.read(parent, 100_000).decode()
    finally:
        os.close(child)
        os.close(parent)
    assert done.stdout == b""
    assert "100%" in drawn
    plain = subprocess.run(words, env=environment(), capture_output=True, text=True, check=True)
    assert "%" not in plain.stderr
    assert "no fault" in plain.stderr


@pytest.mark.parametrize("command", ["run", "status", "verify", "merge", "export"])
def test_examples_in_the_help_stand_on_lines_of_their_own(winnable, command):
    code, out, _ = winnable(command, "--help")
    assert code == 0
    assert "\\b" not in out
    assert f"\n    winnable {command}" in out
