"""`nightly` from the command line: plans, interruptions, failures, faults; once with the real solver."""

import json
import time
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from dataset_rows import table_of

from pipeline.cli.main import run_command
from pipeline.dataset import lock
from pipeline.dataset.seeds import Seeds
from pipeline.dataset.store import Partition, Store
from pipeline.game.variants import load_variant
from pipeline.runs import run as runs
from pipeline.runs import settling
from pipeline.runs.night import DEFAULTS, Night, Nights
from pipeline.runs.settings import Deals
from pipeline.solver import Outcome
from pipeline.tuning import trial

ONE, TWO = "2026-11-29", "2026-11-30"
SPIDER_4 = Partition("spider-4", "native")
CONFIG = """
nodes = 300
[nightly]
seeds = 20
retry_nodes = 1500
retry_at_most = 8
verify_sample = {sample}
reports = "reports"
[variant.spider-4]
[variant.spider-1]
nightly_seeds = 5
"""


class Settler:
    """Seeds need 10, 20, ... 2000 positions in turn; does as it is told with some, and keeps a list of what it did."""

    def __init__(self):
        self.settled, self.interrupts, self.raises, self.seconds = [], set(), set(), 0.0

    def __call__(self):
        return self

    def identity(self):
        return "0.1.0+4242"

    def settle(self, variant, numbering, seed, nodes):
        if seed in self.interrupts:
            raise KeyboardInterrupt
        if seed in self.raises:
            raise MemoryError
        time.sleep(self.seconds)
        self.settled.append((variant.id, seed, nodes))
        needed = 10 * (1 + seed * 7 % 200)
        if needed > nodes:
            return Outcome(variant.id, numbering, seed, "unsettled", nodes, 1, nodes)
        return Outcome(variant.id, numbering, seed, "won", needed, 1, nodes, "ab-", 3, 1, 1297)


@pytest.fixture
def settler(monkeypatch):
    """What settles, in this process."""
    made = Settler()
    assert settling.run is trial.run is runs.run  # imported later, they would keep this one for other tests
    monkeypatch.setenv("WINNABLE_EXECUTOR", "inline")
    monkeypatch.setattr(runs, "run", partial(runs.run, settler=made, solver=made.identity()))
    return made


@pytest.fixture
def nightly(tmp_path, monkeypatch, capsys):
    """The command in a directory of its own: code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nightly.toml").write_text(CONFIG.format(sample=0))

    def call(day, *words, config="nightly.toml"):
        code = run_command(["nightly", config, "--date", day, *map(str, words)])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return code, captured.out, captured.err

    return call


def summary(day):
    return json.loads(Path("reports", day, "summary.json").read_text())


def test_two_nights(nightly, settler, tmp_path):
    code, out, err = nightly(ONE)
    assert code == 0
    assert out == (
        f"{ONE} finished: 25 new deals (17 won, 0 lost, 8 unsettled), 9 tried again (9 settled), 0 lines replayed; "
        f"reports/{ONE}/report.html\n"
    )
    first, second = summary(ONE)["variants"]
    assert (first["variant"], first["seeds"], second["seeds"]) == ("spider-4", ["1:20"], ["1:5"])
    assert first["new"]["deals"] == 20
    assert first["new"]["missing"] == 0
    assert first["retried"]["deals"] == 8
    assert first["retried"]["missing"] == 0
    assert first["total"]["deals"] == 20
    tried = [entry for entry in settler.settled if entry[2] == 1500]
    assert len([entry for entry in tried if entry[0] == "spider-4"]) == 8

    before = list(settler.settled)
    page = (tmp_path / "reports" / "index.html").read_text()
    again, same, err = nightly(ONE)
    assert (again, same) == (0, out)
    assert "done already" in err
    assert settler.settled == before
    assert (tmp_path / "reports" / "index.html").read_text() == page

    code, out, _ = nightly(TWO, "--format", "json")
    assert code == 0
    assert json.loads(out) == summary(TWO)
    assert [entry["seeds"] for entry in summary(TWO)["variants"]] == [["21:40"], ["6:10"]]
    assert summary(TWO)["variants"][0]["total"]["deals"] == 40
    index = (tmp_path / "reports" / "index.html").read_text()
    assert index.index(f"{TWO}/report.html") < index.index(f"{ONE}/report.html")
    assert sorted(path.name for path in (tmp_path / "reports" / TWO).iterdir()) == [
        "next.html",
        "report.html",
        "report.json",
        "summary.json",
    ]
    assert len(set(settler.settled)) == len(settler.settled)


def everything(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("words", [(), ("--max-time", "0.3")])
def test_a_night_never_changes_once_a_later_one_has_begun(nightly, settler, tmp_path, words):
    settler.seconds, settler.raises = 0.05 if words else 0, {4}
    nightly(ONE, *words)
    settler.seconds = 0
    nightly(TWO)
    before, done = everything(tmp_path / "reports"), list(settler.settled)
    settler.raises = set()
    _, out, err = nightly(ONE)
    assert out.startswith(f"{ONE} {summary(ONE)['status']}: ")
    assert TWO in err
    assert (everything(tmp_path / "reports"), settler.settled) == (before, done)
    code, _, err = nightly("2026-11-28")
    assert code == 2
    assert "2026-11-28" in err
    assert ONE in err
    assert everything(tmp_path / "reports") == before


def test_a_nights_page_says_what_the_night_did_and_leads_to_the_others(nightly, settler, tmp_path):
    nightly(ONE)
    nightly(TWO)
    page = (tmp_path / "reports" / TWO / "report.html").read_text()
    for words in (f"Night of {TWO}", "../index.html", f"../{ONE}/report.html", "next.html", "0.1.0+", "Duration"):
        assert words in page
    assert f"../{TWO}/report.html" in (tmp_path / "reports" / ONE / "next.html").read_text()
    content = json.loads((tmp_path / "reports" / TWO / "report.json").read_text())
    assert (content["date"], content["solver"]) == (TWO, ["0.1.0+4242"])
    assert content["generator"].startswith("winnable ")


def test_a_night_begins_by_saying_what_it_will_do(nightly, settler, capsys):
    _, _, err = nightly(ONE)
    assert err.splitlines()[0] == (
        f"the night of {ONE}: 20 new deals of spider-4 at 300 positions; 5 new deals of spider-1 at 300 positions; "
        "then at most 8 unsettled ones of each again at 1,500"
    )
    settler.interrupts = {1}
    assert run_command(["nightly", "--date", TWO, "--data", "other"]) == 130
    assert capsys.readouterr().err.startswith(
        f"the night of {TWO}: 1,000 new deals of each of spider-1, spider-2, spider-4, grounds-for-a-divorce, "
        "spider-relaxed, spider-easy at 1,000,000 positions; "
        "then at most 1,000 unsettled ones of each again at 10,000,000\n"
    )


def test_interrupted_it_goes_on(nightly, settler, tmp_path):
    settler.interrupts = {13}
    code, out, err = nightly(ONE)
    assert (code, out) == (130, "")
    assert "the same command goes on" in err
    assert not (tmp_path / "reports").exists()
    settler.interrupts = {17}  # among those tried again
    code, out, _ = nightly(ONE)
    settler.interrupts = set()
    assert nightly(ONE)[0] == 0
    assert [entry["seeds"] for entry in summary(ONE)["variants"]] == [["1:20"], ["1:5"]]
    assert summary(ONE)["variants"][0]["new"]["missing"] == 0


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="needs a time zone of one's own")
@pytest.mark.parametrize("zone", ["UTC-14", "UTC+12"])
def test_a_night_is_of_today_in_universal_time(nightly, settler, monkeypatch, zone):
    monkeypatch.setenv("TZ", zone)  # one of the two has another date
    time.tzset()
    try:
        before = datetime.now(UTC).date().isoformat()
        assert run_command(["nightly", "nightly.toml", "-q"]) == 0
        after = datetime.now(UTC).date().isoformat()
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()
    assert {path.stem for path in Path("data", "nights").glob("*.json")} <= {before, after}


def test_time_is_up(nightly, settler):
    settler.seconds = 0.3
    code, out, _ = nightly(ONE, "--max-time", "2")
    assert code == 0
    assert out.startswith(f"{ONE} cut: ")
    assert "deals left" in out
    assert summary(ONE)["status"] == "cut"
    done = len(settler.settled)
    assert 0 < done < 20
    settler.seconds = 0
    code, out, _ = nightly(ONE)
    assert code == 0
    assert out.startswith(f"{ONE} finished: 25 new deals")
    assert len(set(settler.settled)) == len(settler.settled)


def test_deals_that_fail_are_named_and_tried_again(nightly, settler):
    settler.raises = {4}
    code, out, err = nightly(ONE)
    assert code == 5
    assert "2 deals FAILED" in out
    assert "spider-4 native 4: needs more memory" in err
    assert summary(ONE)["failed"][0].startswith("spider-4 native 4")
    assert summary(ONE)["variants"][0]["total"]["unsettled"] >= 1
    settler.raises, before = set(), len(settler.settled)
    code, out, _ = nightly(ONE)
    assert code == 0
    assert {seed for _, seed, _ in settler.settled[before:]} == {4}


def test_a_fault_publishes_no_report_and_the_next_night_trusts_no_sample(nightly, settler, tmp_path):
    (tmp_path / "nightly.toml").write_text(CONFIG.format(sample=2))
    for day, fewest in ((ONE, 1), (TWO, 10), (TWO, 10)):
        code, out, err = nightly(day)
        assert code == 4
        assert "FAULTS in the dataset, no report; -" in out
        assert "winnable verify --repair" in err
        assert summary(day)["status"] == "faulty"
        assert summary(day)["verified"]["lines"] >= fewest
        assert [path.name for path in (tmp_path / "reports" / day).iterdir()] == ["summary.json"]
    assert "report.html" not in (tmp_path / "reports" / "index.html").read_text()


def test_what_an_earlier_night_left_is_planned_again(tmp_path, made_up):
    store = Store(tmp_path)
    with store.writing("test"):
        store.add(SPIDER_4, table_of(made_up("spider-4", [1, 2, 3, 6], unsettled=0)))
    nights = Nights(store)
    job = Deals(load_variant("spider-4"), "native", Seeds(()), 1000)
    nights.save(Night("2026-11-20", "finished", {SPIDER_4: Seeds.of([range(50, 60)])}))
    nights.save(Night("2026-11-28", "running", {SPIDER_4: Seeds.of([range(1, 6)])}))
    night = Night(ONE)
    nights.plan(night, [job], DEFAULTS)
    assert str(night.new[SPIDER_4]) == "4:5, 7:1006"
    nights.save(night)
    assert nights.load(ONE) == night
    nights.plan(night, [job], DEFAULTS)
    assert str(night.new[SPIDER_4]) == "4:5, 7:1006"


def test_deals_far_ahead_do_not_move_the_nights(tmp_path, made_up):
    store = Store(tmp_path)
    with store.writing("test"):
        store.add(SPIDER_4, table_of(made_up("spider-4", [1, 2, 20003, 2**63 - 1])))
    night = Night(ONE)
    Nights(store).plan(night, [Deals(load_variant("spider-4"), "native", Seeds(()), 1000)], DEFAULTS)
    assert str(night.new[SPIDER_4]) == "3:1002"


def test_only_what_was_not_searched_far_is_tried_again(tmp_path, made_up):
    store = Store(tmp_path)
    rows = [*made_up("spider-4", range(1, 11), limit=100, unsettled=0.5, median=50)]
    rows += made_up("spider-4", range(11, 21), limit=10_000_000, unsettled=0.5)
    with store.writing("test"):
        store.add(SPIDER_4, table_of(rows))
    open_ = [row.seed for row in rows if row.verdict == "unsettled" and row.node_limit == 100]
    job = Deals(load_variant("spider-4"), "native", Seeds(()), 1000)
    night, nights = Night(ONE), Nights(store)
    nights.plan_retries(night, [job], DEFAULTS)
    assert list(night.retry[SPIDER_4]) == open_
    standing = nights.standing(SPIDER_4, Seeds.of([range(1, 31)]))
    assert (standing.deals, standing.unsettled, standing.missing) == (30, 10, 10)


def test_two_nights_at_once_are_refused(nightly, settler, tmp_path):
    with lock.hold(tmp_path / "data" / "nights" / ".lock", "nightly"):
        code, _, err = nightly(ONE)
    assert code == 3
    assert "in use by winnable nightly" in err


@pytest.mark.parametrize("text", ["", "[]", '{"format": 1}', '{"format": 9, "status": "finished"}'])
def test_a_damaged_plan_names_its_file(nightly, settler, tmp_path, text):
    (tmp_path / "data" / "nights").mkdir(parents=True)
    (tmp_path / "data" / "nights" / f"{ONE}.json").write_text(text)
    code, _, err = nightly(ONE)
    assert code == 3
    assert f"{ONE}.json: not a valid file of a night" in err


@pytest.mark.parametrize("day", ["yesterday", "2026-13-01", "20261130", "2026-11-30 ", ""])
def test_a_wrong_date(nightly, tmp_path, day):
    code, _, err = nightly(day)
    assert code == 2
    assert "a date like 2026-11-30" in err
    assert not (tmp_path / "data").exists()


def test_a_configuration_for_no_night(nightly, tmp_path):
    (tmp_path / "other.toml").write_text("nodes = 300\n")
    code, _, err = nightly(ONE, config="other.toml")
    assert code == 3
    assert "no table [nightly]" in err


@pytest.mark.parametrize("nodes", [10, 300])
def test_a_retry_limit_that_is_no_larger_than_the_limit(nightly, settler, tmp_path, nodes):
    text = CONFIG.format(sample=0).replace("retry_nodes = 1500", f"retry_nodes = {nodes}")
    (tmp_path / "low.toml").write_text(text)
    code, _, err = nightly(ONE, config="low.toml")
    said = f"low.toml: nightly.retry_nodes = {nodes}: expected more than the node limit, which is 300"
    assert (code, said in err) == (3, True)
    assert not (tmp_path / "data").exists()
    (tmp_path / "low.toml").write_text(text.replace("retry_at_most = 8", "retry_at_most = 0"))
    assert nightly(ONE, config="low.toml")[0] == 0


def test_with_the_solver(nightly, tmp_path):
    (tmp_path / "real.toml").write_text(
        'variants = ["spider-1"]\nnodes = 600\nworkers = 1\n[nightly]\nseeds = 12\nretry_nodes = 20_000\n'
        'verify_sample = 100\nreports = "nights"\n'
    )
    code, out, _ = nightly(ONE, "--reports", "published", "-q", config="real.toml")
    assert code == 0
    read = json.loads((tmp_path / "published" / ONE / "summary.json").read_text())
    (entry,) = read["variants"]
    assert entry["new"]["won"] == read["verified"]["lines"] == 12
    assert "<dt>Losses proved again</dt><dd>0</dd>" in (tmp_path / "published" / ONE / "report.html").read_text()
    assert entry["retried"]["won"] > 0
    assert out == (
        f"{ONE} finished: 12 new deals (12 won, 0 lost, 0 unsettled), {entry['retried']['deals']} tried again "
        f"({entry['retried']['won']} settled), 12 lines replayed; "
        f"published/{ONE}/report.html\n"
    )
