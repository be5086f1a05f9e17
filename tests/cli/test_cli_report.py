"""`report` and `compare` from the command line, on a dataset made up without a solver."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from dataset_rows import table_of

from pipeline.cli.main import run_command
from pipeline.dataset.store import Partition, Store
from pipeline.game.variants import load_variant


@pytest.fixture
def data(tmp_path, made_up):
    """A dataset of two variants; a run planned 20 more deals of one of them."""
    store = Store(tmp_path / "data")
    with store.writing("test"):
        store.add(Partition("spider-4", "native"), table_of(made_up("spider-4", range(1, 101), unsettled=0.05)))
        store.add(Partition("spider-4", "pysol"), table_of(made_up("spider-4", range(1, 51), key=2)))
        store.add(Partition("spider-1", "native"), table_of(made_up("spider-1", range(1, 81), unsettled=0, key=3)))
    manifest = {
        "run_id": "20261130-000000-1",
        "status": "interrupted",
        "started": "2026-11-30T00:00:00+00:00",
        "finished": "2026-11-30T00:01:00+00:00",
        "versions": {"python": "3.11.7", "winnable": "0.1.0"},
        "machine": {"host": "<b>host</b>", "system": "Linux", "processor": "x86_64", "cores": 2},
        "deals": [{"variant": "spider-1", "numbering": "native", "seeds": ["1:60", "61:100"], "node_limit": 1_000_000}],
    }
    (store.runs / "20261130-000000-1.json").write_text(json.dumps(manifest))
    return tmp_path / "data"


def winnable(capsys, *words):
    code = run_command(list(map(str, words)))
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return code, captured.out, captured.err


def report_json(capsys, *words):
    code, out, _ = winnable(capsys, "report", "--format", "json", *words)
    assert code == 0
    return {(v["variant"], v["numbering"]): v for v in json.loads(out)["variants"]}


def test_every_partition_is_reported_the_main_variants_first(capsys, data):
    got = report_json(capsys, "--data", data)
    assert list(got) == [("spider-1", "native"), ("spider-4", "native"), ("spider-4", "pysol")]
    assert got["spider-4", "native"]["deals"] == 100
    assert got["spider-4", "native"]["won"] == 95
    assert got["spider-4", "native"]["unsettled"] == 5


def test_a_variant_of_the_users_own_is_left_out_and_named(capsys, caplog, data, made_up):
    store = Store(data)
    with store.writing("test"):
        store.add(Partition("mine", "native"), table_of(made_up("spider-4", range(1, 11), key=5)))
    assert len(report_json(capsys, "--data", data)) == 3
    assert "mine" in caplog.text


def test_planned_deals_without_an_outcome_count(capsys, data):
    got = report_json(capsys, "--data", data)["spider-1", "native"]
    assert (got["deals"], got["won"], got["unsettled"]) == (100, 80, 20)
    assert (got["proved_win_rate"], got["upper_bound"]) == (0.8, 1.0)
    assert got["positions"]["p99"] < 1_000_000
    _, out, _ = winnable(capsys, "report", "--data", data)
    assert "missing" in out
    assert "the deals searched" in " ".join(out.split())


def test_filters(capsys, data):
    assert list(report_json(capsys, "--data", data, "--variant", "spider-1")) == [("spider-1", "native")]
    assert list(report_json(capsys, "--data", data, "--numbering", "pysol")) == [("spider-4", "pysol")]
    got = report_json(capsys, "--data", data, "--seeds", "91:110", "--variant", "spider-4", "--numbering", "native")
    assert got["spider-4", "native"]["deals"] == 20
    assert got["spider-4", "native"]["unsettled"] >= 10


def test_seeds_from_a_file(capsys, data, tmp_path):
    (tmp_path / "seeds").write_text("5\n7\n9:12 # four more\n")
    got = report_json(capsys, "--data", data, "--seeds-from", tmp_path / "seeds", "--variant", "spider-1")
    assert got["spider-1", "native"]["deals"] == 6


def test_a_huge_range_takes_no_memory(capsys, data):
    got = report_json(capsys, "--data", data, "--seeds", "0:9223372036854775807", "--variant", "spider-1")
    assert int(got["spider-1", "native"]["deals"]) == 2**63  # a text: JavaScript has no integer of that size


@pytest.mark.parametrize("words", [("--variant", "black-widow"), ("--numbering", "kpat"), ("--seeds", "5000:6000")])
def test_nothing_of_what_is_asked_for_is_an_error(capsys, data, words):
    code, out, err = winnable(capsys, "report", "--data", data, *words)
    assert (code, out) == (3, "")
    assert "no outcomes" in err


def test_no_dataset_is_an_error_and_makes_none(capsys, tmp_path):
    code, _, err = winnable(capsys, "report", "--data", tmp_path / "none")
    assert code == 3
    assert "winnable run" in err
    assert not (tmp_path / "none").exists()


def test_the_dataset_may_come_from_the_environment(capsys, data, monkeypatch):
    monkeypatch.setenv("WINNABLE_DATA", str(data))
    assert ("spider-1", "native") in report_json(capsys)


@pytest.mark.parametrize(
    ("form", "name"), [("html", "report.html"), ("markdown", "report.md"), ("csv", "report.csv"),
                       ("json", "report.json"), ("table", "report.txt")],
)  # fmt: skip
def test_one_form_is_one_file(capsys, data, tmp_path, form, name):
    code, out, err = winnable(capsys, "report", "--data", data, "--out", tmp_path / "out", "--format", form)
    assert (code, out) == (0, "")
    assert name in err
    assert [path.name for path in (tmp_path / "out").iterdir()] == [name]
    _, printed, _ = winnable(capsys, "report", "--data", data, "--format", form)
    assert (tmp_path / "out" / name).read_text() == printed


def test_all_forms_at_once_and_quiet(capsys, data, tmp_path):
    code, out, err = winnable(capsys, "report", "--data", data, "--out", tmp_path / "out", "-q")
    assert (code, err) == (0, "")
    assert out.startswith("Win rates")
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["report.csv", "report.html", "report.json", "report.md"]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs a directory that refuses this user")
def test_an_unwritable_directory_is_one_line(capsys, data, tmp_path):
    (tmp_path / "locked").mkdir(mode=0o500)
    code, _, err = winnable(capsys, "report", "--data", data, "--out", tmp_path / "locked" / "out")
    assert code == 3
    assert "locked" in err


def test_a_directory_that_cannot_be_made_is_one_line(capsys, data, tmp_path):
    (tmp_path / "file").touch()
    code, _, err = winnable(capsys, "report", "--data", data, "--out", tmp_path / "file" / "out")
    assert code == 3
    assert str(tmp_path / "file" / "out") in err
    assert len(err.splitlines()) == 1


def test_a_file_in_the_place_of_the_directory_is_one_line(capsys, data, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "report.html").mkdir()
    code, _, err = winnable(capsys, "report", "--data", data, "--out", tmp_path / "out", "--format", "html")
    assert code == 3
    assert "report.html" in err


def test_no_report_goes_among_the_parts(capsys, data):
    for place in (data / "outcomes", data / "outcomes" / "reports"):
        code, _, err = winnable(capsys, "report", "--data", data, "--out", place)
        assert (code, "outcomes" in err) == (2, True)
    assert winnable(capsys, "report", "--data", data)[0] == 0


def test_a_dataset_of_other_rules_is_refused(capsys, data, made_up):
    path = data / "outcomes" / "variant=spider-2" / "numbering=native"
    store = Store(data)
    with store.writing("test"):
        store.add(Partition("spider-2", "native"), table_of(made_up("spider-1", range(1, 5))))
    code, out, err = winnable(capsys, "report", "--data", data)
    assert (code, out) == (3, "")
    assert "rules" in err
    assert str(path) in err
    assert list(report_json(capsys, "--data", data, "--variant", "spider-1")) == [("spider-1", "native")]


def test_a_variant_of_the_users_own_needs_its_file(capsys, tmp_path, made_up):
    source = load_variant("spider-4")
    assert source is not None
    text = (
        'id = "my-game"\nname = "Mine"\npacks = 2\nsuits = 4\ncolumns = [6, 6, 6, 6, 5, 5, 5, 5, 5, 5]\n'
        'face_down = [5, 5, 5, 5, 4, 4, 4, 4, 4, 4]\ndeal = "blocked"\nunit = "suit"\nsets = "suit"\nwrap = false\n'
        'numberings = ["native"]\n'
    )
    (tmp_path / "my-game.toml").write_text(text)
    store = Store(tmp_path / "data")
    with store.writing("test"):
        store.add(Partition("my-game", "native"), table_of(made_up("spider-4", range(1, 21))))
    code, _, err = winnable(capsys, "report", "--data", tmp_path / "data")
    assert code == 3
    assert "my-game" in err
    got = report_json(capsys, "--data", tmp_path / "data", "--variant", tmp_path / "my-game.toml")
    assert got["my-game", "native"]["deals"] == 20


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"run_id": 1}', '"\ud800"'])
def test_a_damaged_manifest_is_refused(capsys, data, text):
    (data / "runs" / "x.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    code, out, err = winnable(capsys, "report", "--data", data)
    assert (code, out) == (3, "")
    assert "x.json" in err


def test_a_closed_pipe_is_quiet(data):
    command = f"{sys.executable} -m pipeline report --data {data} --format html | head -c 10"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_compare_two_datasets(capsys, data, tmp_path, made_up):
    store = Store(tmp_path / "after")
    with store.writing("test"):
        rows = made_up("spider-4", range(1, 101), unsettled=0.0)
        store.add(Partition("spider-4", "native"), table_of(rows))
    code, out, _ = winnable(capsys, "compare", data, tmp_path / "after", "--format", "json")
    assert code == 0
    (entry,) = json.loads(out)["comparisons"]
    assert (entry["variant"], entry["deals"], entry["settled"]) == ("spider-4", 100, [95, 100])
    assert "Too few deals" in entry["conclusions"][0]
    code, out, _ = winnable(capsys, "compare", data, tmp_path / "after", "--seeds", "1:50", "--nodes", "1M")
    assert code == 0
    assert "spider-4" in out


def test_compare_names_contradictions_and_exits_four(capsys, data, tmp_path, made_up):
    store = Store(tmp_path / "after")
    with store.writing("test"):
        store.add(Partition("spider-4", "native"), table_of(made_up("spider-4", range(1, 101), lost=1, unsettled=0)))
    code, out, err = winnable(capsys, "compare", data, tmp_path / "after")
    assert code == 4
    assert "spider-" in err
    assert "a solver is wrong" in out


def test_compare_of_nothing_in_common(capsys, data, tmp_path, made_up):
    store = Store(tmp_path / "after")
    with store.writing("test"):
        store.add(Partition("spider-easy", "native"), table_of(made_up("spider-easy", range(1, 11))))
    code, _, err = winnable(capsys, "compare", data, tmp_path / "after")
    assert code == 3
    assert "variant" in err
    assert winnable(capsys, "compare", data, tmp_path / "nowhere")[0] == 2


def test_compare_says_what_a_side_may_be(capsys, data, tmp_path):
    code, _, err = winnable(capsys, "compare", data, tmp_path / "nowhere")
    assert code == 2
    assert "shipped" in err
    code, _, err = winnable(capsys, "compare", "shipped", data)
    assert code == 2
    assert "--variant and --seeds" in err
    (tmp_path / "bad.toml").write_text("[weights]\nempty = 5\n")
    words = ("--variant", "spider-1", "--seeds", "1:2")
    code, _, err = winnable(capsys, "compare", tmp_path / "bad.toml", "shipped", *words)
    assert code == 3
    assert "bad.toml" in err


def test_compare_weights_in_memory(tmp_path):
    import pipeline.engine

    shipped = Path(pipeline.engine.__file__).parent / "weights" / "spider-1.toml"
    (tmp_path / "other.toml").write_text(re.sub(r"(?m)^first_width = .*", "first_width = 12", shipped.read_text()))
    words = ("--variant", "spider-1", "--seeds", "1:8", "--nodes", "20k", "--workers", "1", "--format", "json")
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "compare", "shipped", tmp_path / "other.toml", *words],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (entry,) = json.loads(done.stdout)["comparisons"]
    assert (entry["deals"], entry["settled"]) == (8, [8, 8])
    assert "times the positions of A" in " ".join(entry["conclusions"])


def weights_and_a_shard(variant, seeds):
    """Words and environment of a comparison of the shipped weights with themselves, among variables of a run."""
    others = {"WINNABLE_MAX_TIME": "1s", "WINNABLE_SHARD": "1/4", "WINNABLE_CHUNK": "1", "WINNABLE_NODES": "1"}
    words = ("compare", "shipped", "shipped", "--variant", variant, "--seeds", seeds, "--workers", "1")
    return [sys.executable, "-m", "pipeline", *words], os.environ | others


def test_compare_takes_nothing_of_a_run_from_the_environment():
    words, environment = weights_and_a_shard("spider-1", "1:8")
    done = subprocess.run([*words, "--format", "json"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (entry,) = json.loads(done.stdout)["comparisons"]
    assert (entry["deals"], entry["settled"]) == (8, [8, 8])


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_comparison_with_its_code(tmp_path, number, code):
    words, environment = weights_and_a_shard("spider-4", "1:100000")
    process = subprocess.Popen(
        words, env=environment | {"TMPDIR": str(tmp_path)}, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 180
    while not list(tmp_path.glob("winnable-*/runs/*.log")) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1)
    process.send_signal(number)
    try:
        _, err = process.communicate(timeout=180)
    finally:
        process.kill()
    assert process.returncode == code, err
    assert err.splitlines()[-1] in ("Error: interrupted", "Error: terminated"), "nothing of it is kept"
    assert not list(tmp_path.glob("winnable-*"))


def test_a_withdrawn_plan_counts_no_longer(capsys, data):
    (run,) = report_json(capsys, "--data", data)["spider-1", "native"]["unfinished_runs"]
    assert winnable(capsys, "withdraw", "nobody", "--data", data)[0] == 2
    assert winnable(capsys, "withdraw", "--data", data)[0] == 2
    code, out, err = winnable(capsys, "withdraw", run["id"], "--data", data)
    assert (code, out) == (0, "")
    assert run["id"] in err
    got = report_json(capsys, "--data", data)["spider-1", "native"]
    assert (got["deals"], got["missing"], got["unfinished_runs"]) == (80, 0, [])
    assert winnable(capsys, "withdraw", "--all", "--data", data)[0] == 0


def test_a_threshold_of_ones_own(capsys, data):
    got = report_json(capsys, "--data", data, "--within", "500k", "--within", "20")["spider-4", "native"]
    assert list(got["won_within"]) == ["20", "10000", "167000", "500000", "1000000"]


def test_two_variants_of_a_dataset_are_paired_by_number(capsys, tmp_path, made_up):
    store = Store(tmp_path)
    with store.writing("test"):
        for variant, won in (("spider-4", 1.0), ("open-spider", 0.5)):
            rows = made_up(variant, range(1, 41), unsettled=1 - won)
            store.add(Partition(variant, "native"), table_of(rows))
    words = ("compare", "spider-4", "open-spider", "--data", tmp_path, "--format", "json")
    code, out, _ = winnable(capsys, *words)
    (entry,) = json.loads(out)["comparisons"]
    assert (code, entry["aim"], entry["deals"]) == (0, "won", 40)
    assert winnable(capsys, "compare", "spider-4", "simple-simon", "--data", tmp_path)[0] == 2
    assert winnable(capsys, "compare", "spider-4", "shipped", "--data", tmp_path)[0] == 2


def test_exceptions_are_written_beside_the_report(data, tmp_path, capsys):
    arguments = ["report", "--data", str(data), "--variant", "spider-4", "--numbering", "native"]
    assert run_command([*arguments, "--out", str(tmp_path / "out"), "--exceptions", "2"]) == 0
    lines = (tmp_path / "out/exceptions.csv").read_text().splitlines()
    made = json.loads((tmp_path / "out/report.json").read_text())["variants"][0]
    assert len(lines) == 1 + made["lost"] + made["unsettled"] + 2
    assert run_command([*arguments, "--exceptions", "2"]) == 2
    assert "--out" in capsys.readouterr().err
