"""Lost rows proved again: a sample, all, and one that is not lost."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from dataset_rows import a_row, table_of

from pipeline.cli.main import run_command
from pipeline.dataset.audit import AuditResult
from pipeline.dataset.losses import check_losses, checked_losses, lost_seeds, note_checked
from pipeline.dataset.seeds import Seeds
from pipeline.dataset.store import Partition, Store
from pipeline.errors import SolverFault
from pipeline.game.variants import load_variant

SIMON = Partition("simple-simon", "native")
RULES = load_variant("simple-simon").rules_hash


@pytest.fixture
def store(tmp_path):
    """A dataset of Simple Simon with three deals that are lost, and one that is unsettled."""
    made = Store(tmp_path / "data")
    rows = [a_row(seed, "lost", rules_hash=RULES) for seed in (12, 21, 25)] + [a_row(30, "unsettled", rules_hash=RULES)]
    with made.writing("test"):
        made.add(SIMON, table_of(rows))
    return made


def verify(store, *words):
    return run_command(["verify", "--data", str(store.data), "--workers", "1", *words])


def test_lost_seeds_are_all_or_a_sample(store):
    assert lost_seeds(store, SIMON, None) == lost_seeds(store, SIMON, 3) == [12, 21, 25]
    assert set(lost_seeds(store, SIMON, 2)) < {12, 21, 25}


@pytest.mark.parametrize(
    ("words", "count"), [(["--lost"], "3 lost deals"), (["--lost", "1"], "1 lost deal "), ([], "")]
)
def test_verify_proves_losses_again(store, words, count, capsys):
    assert verify(store, *words) == 0
    err = capsys.readouterr().err
    assert count in err
    assert ("proved again" in err) == bool(words)


def test_the_report_counts_the_losses_proved_again(store, capsys):
    def counted(*words):
        assert run_command(["report", "--data", str(store.data), "--format", "json", *words]) == 0
        (entry,) = json.loads(capsys.readouterr().out)["variants"]
        return entry["lost"], entry["losses_checked"]

    assert counted() == (3, 0)
    assert verify(store, "--lost", "1") == 0
    assert counted() == (3, 1)
    assert verify(store, "--lost") == 0
    assert counted() == (3, 3)
    assert counted("--seeds", "1:21") == (2, 2)
    assert checked_losses(store) == {SIMON: Seeds.of_numbers([12, 21, 25])}
    assert run_command(["report", "--data", str(store.data)]) == 0
    assert "simple-simon 3 of 3" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"spider-1": {"rules_hash": "0", "seeds": []}}',
        '{"a/b": {"seeds": []}}',
        '{"a/b": {"rules_hash": "0", "seeds": ["x"]}}',
        '{"a/b": {"rules_hash": "0", "seeds": 5}}',
        '{"a/b": ["12"]}',
        '{"a/b": 5}',
        "\xff",
    ],
)
def test_a_damaged_list_of_checked_losses_is_named(store, capsys, text):
    (store.data / "checked-losses.json").write_bytes(text.encode("latin-1"))
    assert run_command(["report", "--data", str(store.data)]) == 3
    assert "checked-losses.json" in capsys.readouterr().err


def test_a_loss_that_is_none_is_a_fault(store, monkeypatch, capsys):
    def not_lost(board, _most):
        raise SolverFault(f"{board.seed} can be won")

    monkeypatch.setattr("pipeline.referee.prove.prove", not_lost)
    assert verify(store, "--lost", "1") == 4
    out, err = capsys.readouterr()
    assert "simple-simon" in out
    assert "can be won" in err
    assert verify(store, "--lost", "--repair") == 2


def test_a_sample_takes_losses_never_proved_again_first(store):
    note_checked(store, SIMON, RULES, Seeds.of_numbers([12, 25]))
    assert {tuple(lost_seeds(store, SIMON, 1)) for _ in range(20)} == {(21,)}
    assert {tuple(lost_seeds(store, SIMON, 2)) for _ in range(20)} <= {(12, 21), (21, 25)}


def test_an_interrupt_keeps_the_losses_proved_so_far(store):
    def interrupt(_count):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check_losses(store, [(SIMON, load_variant("simple-simon"), [12, 21])], AuditResult(), interrupt)
    assert checked_losses(store) == {SIMON: Seeds.of_numbers([12])}


def test_merging_takes_along_which_losses_were_proved_again(store, tmp_path):
    note_checked(store, SIMON, RULES, Seeds.of_numbers([12, 25]))
    assert run_command(["merge", str(store.data), "--data", str(tmp_path / "other")]) == 0
    assert checked_losses(Store(tmp_path / "other")) == {SIMON: Seeds.of_numbers([12, 25])}


def test_losses_proved_under_other_rules_do_not_count(store):
    note_checked(store, SIMON, "0" * 16, Seeds.of_numbers([12, 21]))
    assert checked_losses(store) == {}
    note_checked(store, SIMON, RULES, Seeds.of_numbers([25]))
    assert checked_losses(store) == {SIMON: Seeds.of_numbers([25])}


def test_losses_proved_by_several_at_once_are_all_kept(store):
    """Beside a command that writes the dataset, too."""
    with store.writing("run"), ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda seed: note_checked(store, SIMON, RULES, Seeds.of_numbers([seed])), range(1, 41)))
    assert checked_losses(store) == {SIMON: Seeds.of([range(1, 41)])}
