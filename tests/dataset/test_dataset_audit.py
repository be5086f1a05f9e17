"""Damage of every kind: verify finds it, readers refuse it, repair sets it aside and keeps what can be proved."""

import json
import shlex
import shutil

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dataset_clock import Clock
from dataset_rows import a_row, rows_of, table_of
from runs_games import EASY, score_of, winning_line

from pipeline.dataset import audit
from pipeline.dataset.audit import Audit
from pipeline.dataset.manifest import read_runs
from pipeline.dataset.repair import Repair
from pipeline.dataset.replays import check_lines
from pipeline.dataset.schema import SCHEMA, VERSION, digest, part_name, read_rows, write_table
from pipeline.dataset.seeds import Seeds
from pipeline.dataset.store import Part, Partition, Store
from pipeline.errors import SolverFault, StoreError
from pipeline.game.lines import parse_line
from pipeline.runs.executors import InlineExecutor, ProcessExecutor
from pipeline.runs.flight import replay_with

GAMES = Partition("easy-game", "native")
RULES = {"easy-game": EASY}
UNSETTLED, LOST = 5, 9
MANIFEST = {
    "run_id": "r1",
    "status": "finished",
    "started": "2026-11-30T00:00:00+00:00",
    "finished": "2026-11-30T00:01:00+00:00",
    "versions": {"python": "3.11.7", "winnable": "0.1.0"},
    "machine": {"host": "host", "system": "Linux", "processor": "x86_64", "cores": 2},
    "deals": [{"variant": "easy-game", "numbering": "native", "seeds": ["1:12"], "node_limit": 1000}],
}


def game_row(seed):
    if seed in (UNSETTLED, LOST):
        return a_row(seed, "unsettled" if seed == UNSETTLED else "lost", rules_hash=EASY.rules_hash)
    line = winning_line(seed)
    moves = len(parse_line(line))
    return a_row(seed, line=line, moves=moves, deals=0, score=score_of(moves), rules_hash=EASY.rules_hash)


@pytest.fixture
def store(tmp_path):
    """A sound dataset of two parts, seeds 1-6 and 7-12."""
    store = Store(tmp_path / "data")
    with store.writing("test"):
        for first, last in ((1, 6), (7, 12)):
            rows = table_of(map(game_row, range(first, last + 1)))
            store.publish(Part(store.folder(GAMES) / part_name(first, last), first, last), rows)
        (store.runs / "r1.json").write_text(json.dumps(MANIFEST))
    return store


def check(store, sample=None, replay=check_lines):
    return Audit(store, RULES, replay).check(sample)


def read_all(store):
    for partition in store.partitions():
        store.check_rules(partition, EASY.rules_hash)
        store.read(*partition)


def part(store, name="part-1-6.parquet"):
    return store.folder(GAMES) / name


def rewrite(path, table, metadata=None):
    """Write a table as it is, with a digest that fits and other metadata."""
    marks = {b"winnable.schema": str(VERSION).encode(), b"winnable.digest": digest(table)} | (metadata or {})
    pq.write_table(table.replace_schema_metadata(marks), path)


def truncated(store):
    whole = part(store).read_bytes()
    part(store).write_bytes(whole[: len(whole) // 2])
    return audit.PART, part(store), "not a readable part"


def empty_file(store):
    part(store).write_bytes(b"")
    return audit.PART, part(store), "not a readable part"


def noise(store):
    part(store).write_bytes(bytes(range(256)) * 400)
    return audit.PART, part(store), "not a readable part"


def foreign_text(store):
    path = part(store, "notes.txt")
    path.write_text("remember the milk")
    return audit.FOREIGN, path, "not a part of a dataset"


def foreign_table(store):
    path = part(store, "part-50-51.parquet")
    pd.DataFrame({"seed": [50, 51], "verdict": ["won", "won"]}).to_parquet(path)
    return audit.PART, path, "not written by winnable"


def foreign_directory(store):
    path = store.outcomes / "tmp"
    path.mkdir()
    (path / "x").write_text("x")
    return audit.FOREIGN, path, "expected a directory variant=<name>"


def newer_schema(store):
    rewrite(part(store), read_rows(part(store)), {b"winnable.schema": b"99"})
    return audit.PART, part(store), f"schema 99 is newer than this program's {VERSION}; update winnable"


def unknown_schema(store):
    rewrite(part(store), read_rows(part(store)), {b"winnable.schema": b"one"})
    return audit.PART, part(store), "schema 'one' is unknown"


def same_seed_in_two_parts(store):
    path = part(store, "part-3-6.parquet")
    with path.open("wb") as file:
        write_table(table_of(map(game_row, (3, 6))), file)
    return audit.OVERLAP, path, "overlaps part-1-6.parquet: seeds that may stand twice: 3:6"


def same_seed_twice_in_a_part(store):
    rewrite(part(store), table_of(map(game_row, (1, 2, 2, 6))))
    return audit.PART, part(store), "seed 2 stands twice"


def rows_out_of_order(store):
    rewrite(part(store), table_of(map(game_row, (1, 3, 2, 6))))
    return audit.PART, part(store), "seed 2 is out of order"


def changed_rows(store):
    table = read_rows(part(store))
    verdicts = pa.array(["won"] * 4 + ["lost", "won"]).dictionary_encode()
    table = pq.read_table(part(store)).set_column(1, SCHEMA.field(1).with_nullable(True), verdicts)
    pq.write_table(table, part(store))
    return audit.PART, part(store), "not those that were written"


def won_without_a_line(store):
    rewrite(part(store), table_of([game_row(1), game_row(6)._replace(line=None)]))
    return audit.PART, part(store), "row of seed 6: a line, moves, deals and score are for won only"


def renamed(store):
    path = part(store, "part-1-5.parquet")
    part(store).rename(path)
    return audit.PART, path, "its name says seeds 1 to 5, it holds 1 to 6"


def a_missing_column(store):
    rewrite(part(store), read_rows(part(store)).drop_columns(["node_limit"]))
    return audit.PART, part(store), "columns are not those of schema"


def other_rules(store):
    rewrite(part(store), table_of(game_row(seed)._replace(rules_hash="f" * 16) for seed in range(1, 7)))
    return audit.RULES, part(store), "rules_hash ffffffffffffffff"


def not_utf8(store):
    """Seed 3 has a line that no text can be, with a digest that fits."""
    table = read_rows(part(store))
    pairs = zip(table["seed"].to_pylist(), table["line"].to_pylist(), strict=True)
    lines = pa.array([b"\xff\xfe" if seed == 3 else line and line.encode() for seed, line in pairs], pa.binary())
    text = pa.Array.from_buffers(pa.string(), len(lines), lines.buffers(), lines.null_count)
    rewrite(part(store), table.set_column(5, table.schema.field(5), text))
    return audit.PART, part(store), "UTF8"


DAMAGES = [
    truncated,
    empty_file,
    noise,
    foreign_text,
    foreign_table,
    foreign_directory,
    newer_schema,
    unknown_schema,
    same_seed_in_two_parts,
    same_seed_twice_in_a_part,
    rows_out_of_order,
    changed_rows,
    won_without_a_line,
    renamed,
    a_missing_column,
    other_rules,
    not_utf8,
]


def test_a_sound_dataset_has_no_fault(store):
    result = check(store)
    assert result.findings == []
    assert (result.parts, result.rows, result.lines) == (2, 12, 10)
    result.raise_if_faulty()


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_damage_is_found_refused_and_repaired(store, damage):
    kind, path, text = damage(store)
    result = check(store)
    assert [(one.kind, one.path) for one in result.findings] == [(kind, path)]
    assert text in result.findings[0].text
    with pytest.raises(StoreError, match="--repair") as caught:
        result.raise_if_faulty()
    assert str(path) in str(caught.value)
    assert str(caught.value).count("--repair") == 1
    assert caught.value.exit_code == 3
    # Nobody else counts wrong.
    with pytest.raises(StoreError) as refused:
        read_all(Store(store.data))
    if kind == audit.PART:
        remedy = "update winnable" if damage is newer_schema else "run 'winnable verify --repair'"
        assert str(refused.value).endswith(remedy)

    before = path.read_bytes() if path.is_file() else None
    with store.writing("repair"):
        done = list(Repair(store, RULES).mend(result.findings))
    assert done
    assert check(store).findings == []
    kept = list(store.quarantine.rglob(path.name))
    assert len(kept) == 1
    if before is not None:
        assert kept[0].read_bytes() == before
    seeds = {row.seed for row in rows_of(store.read(*GAMES))}
    assert seeds >= set(range(7, 13))
    if kind in (audit.FOREIGN, audit.OVERLAP):
        assert seeds == set(range(1, 13))
    gone = set(range(1, 13)) - seeds
    said = [line for line in done if " to settle again: winnable run" in line]
    if damage is not foreign_table:  # it never had the rows that its name says
        assert len(said) == bool(gone)
    if gone:
        assert f"{GAMES}: {len(gone)} deal" in said[0]
        seeds = " ".join(f"--seeds {text}" for text in Seeds.of_numbers(sorted(gone)).texts())
        assert f" --data {store.data} --variant FILE-OF-easy-game {seeds}" in said[0]


def test_only_planned_deals_are_to_be_settled_again(tmp_path):
    """Two unreadable parts with a block between them, whose names span more than was planned."""
    store = Store(tmp_path / "my data")
    with store.writing("test"):
        for first, last in ((1, 4), (40, 50)):
            path = store.folder(GAMES) / part_name(first, last)
            store.publish(Part(path, first, last), table_of(map(game_row, (first, last))))
            path.write_bytes(b"PAR1")
        plan = MANIFEST | {"deals": [MANIFEST["deals"][0] | {"seeds": ["2:3", "40:41", "60:70"]}]}
        (store.runs / "r1.json").write_text(json.dumps(plan))
        *_, said = Repair(store, RULES).mend(check(store).findings)
    words = shlex.split(said.partition("to settle again: ")[2])
    assert f"{GAMES}: 4 deals" in said
    assert [words[i + 1] for i, word in enumerate(words) if word == "--seeds"] == ["2:3", "40:41"]
    assert words[words.index("--data") + 1] == str(store.data)
    assert words[words.index("--nodes") + 1] == "1000"


def test_a_flipped_bit_is_found_or_makes_no_difference(store):
    whole, expected = part(store).read_bytes(), read_rows(part(store))
    found = 0
    for place in range(4, len(whole), 61):
        flipped = bytearray(whole)
        flipped[place] ^= 0x10
        part(store).write_bytes(flipped)
        if check(store).findings:
            found += 1
        else:
            assert read_rows(part(store)).equals(expected)
    assert found > 20


@pytest.mark.parametrize("damage", [changed_rows, renamed, newer_schema], ids=lambda damage: damage.__name__)
def test_wins_in_a_damaged_part_that_replay_are_kept(store, damage):
    damage(store)
    with store.writing("repair"):
        list(Repair(store, RULES).mend(check(store).findings))
    rows = {row.seed: row for row in rows_of(store.read(*GAMES))}
    assert set(rows) == set(range(1, 13)) - {UNSETTLED}
    assert rows[1] == game_row(1)


def bad_lines(store):
    """Seed 3 has the line of another deal, seed 4 the wrong score."""
    rows = [game_row(seed) for seed in range(1, 7)]
    rows[2] = rows[2]._replace(line=winning_line(10))
    rows[3] = rows[3]._replace(score=7)
    with part(store).open("wb") as file:
        write_table(table_of(rows), file)


@pytest.mark.parametrize("make", [InlineExecutor, lambda: ProcessExecutor(2)], ids=["inline", "processes"])
def test_a_line_that_does_not_replay_is_found_and_taken_out(store, make):
    bad_lines(store)
    executor = make()
    try:
        result = check(store, replay=replay_with(executor))
    finally:
        executor.close()
    assert [(one.kind, one.path.name, one.row, one.seed) for one in result.findings] == [
        (audit.LINE, "part-1-6.parquet", 2, 3),
        (audit.LINE, "part-1-6.parquet", 3, 4),
    ]
    assert "the row says" in result.findings[1].text
    with pytest.raises(SolverFault, match=r"2 faults; .*part-1-6\.parquet: row 2 \(seed 3\)") as caught:
        result.raise_if_faulty()
    assert caught.value.exit_code == 4
    with store.writing("repair"):
        list(Repair(store, RULES).mend(result.findings))
    assert check(store).findings == []
    assert [row.seed for row in rows_of(store.read(*GAMES))] == [1, 2, *range(5, 13)]
    assert len(list(store.quarantine.rglob("part-1-6.parquet"))) == 1


def test_overlapping_parts_are_merged_by_strength(store):
    strong = game_row(3)._replace(positions=1)
    against = a_row(8, "lost", positions=5, rules_hash=EASY.rules_hash)
    path = part(store, "part-3-8.parquet")
    with path.open("wb") as file:
        write_table(table_of([strong, against]), file)
    with store.writing("repair"):
        list(Repair(store, RULES).mend(check(store).findings))
    rows = {row.seed: row for row in rows_of(store.read(*GAMES))}
    assert set(rows) == set(range(1, 13))
    assert rows[3] == strong
    assert rows[8] == game_row(8), "the win that replays stands"
    assert check(store).findings == []


def test_a_sample_replays_so_many_lines_and_finds_much(store):
    result = check(store, sample=4)
    assert result.findings == []
    assert result.lines <= 4
    assert check(store, sample=1000).lines == 10
    bad_lines(store)
    assert len(check(store, sample=1000).findings) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"deals": [', "no JSON from line 1, column 12 on"),
        (json.dumps(MANIFEST).replace("1:12", "1:1x2"), "'1:1x2'"),
        (json.dumps(MANIFEST).replace("node_limit", "node_limits"), "it has no 'node_limit'"),
        (json.dumps(MANIFEST).replace("1000", "null"), "its values are not of the form that winnable writes"),
        (json.dumps(MANIFEST | {"status": "<b>"}), "'<b>'"),
        ("[]", "its values are not of the form that winnable writes"),
    ],
)
def test_a_broken_manifest_is_refused_found_and_set_aside(store, text, said):
    (store.runs / "r1.json").write_text(text)
    with pytest.raises(
        StoreError, match=r"r1\.json: not a valid manifest of a run: .*; run 'winnable verify --repair'$"
    ) as caught:
        read_runs(store)
    assert said in str(caught.value)
    assert "Error" not in str(caught.value)
    result = check(store)
    assert [(one.kind, one.path.name) for one in result.findings] == [(audit.MANIFEST, "r1.json")]
    assert said in result.findings[0].text
    with pytest.raises(StoreError, match="--repair") as caught:
        result.raise_if_faulty()
    assert str(caught.value).count("--repair") == 1
    with store.writing("repair"):
        done = list(Repair(store, RULES).mend(result.findings))
    assert any("r1.json: what this run planned is no longer known" in line for line in done)
    assert check(store).findings == []


def test_lines_of_a_variant_nobody_knows_are_said_to_be_unread(store):
    result = Audit(store, {}).check()
    assert result.findings == []
    assert (result.lines, result.unread, result.unknown) == (0, 10, [GAMES])
    assert Audit(store, {}).check(sample=12).unread == 10
    assert check(store).unread == 0


def test_hidden_files_are_nobodys_business(store):
    (store.outcomes / ".DS_Store").write_text("x")
    (store.folder(GAMES) / "_SUCCESS").write_text("")
    assert check(store).findings == []
    assert len(store.read(*GAMES)) == 12


def test_several_damages_at_once(store):
    truncated(store)
    foreign_text(store)
    shutil.copy(part(store, "part-7-12.parquet"), part(store, "part-8-12.parquet"))
    result = check(store)
    kinds = sorted(one.kind for one in result.findings)
    assert kinds == [audit.FOREIGN, audit.OVERLAP, audit.PART, audit.PART]
    with store.writing("repair"):
        list(Repair(store, RULES).mend(result.findings))
    assert check(store).findings == []
    assert {row.seed for row in rows_of(store.read(*GAMES))} == set(range(7, 13))


def damage_everything(store):
    """A wrong line, a wrong digest, two parts that overlap, a spoilt footer, a broken manifest, a wrong name."""
    folder = store.folder(GAMES)
    for first, last in ((13, 18), (16, 21), (22, 24), (25, 27), (30, 32)):
        rows = table_of(map(game_row, range(first, last + 1)))
        store.publish(Part(folder / part_name(first, last), first, last), rows)
    bad_lines(store)
    rewrite(part(store, "part-22-24.parquet"), read_rows(part(store, "part-22-24.parquet")), {b"winnable.digest": b"0"})
    part(store, "part-25-27.parquet").write_bytes(part(store, "part-25-27.parquet").read_bytes()[:-3] + b"xxx")
    part(store, "part-30-32.parquet").rename(part(store, "part-30-31.parquet"))
    (store.runs / "r1.json").write_text("{")


def test_a_repair_killed_at_any_step_keeps_what_an_undisturbed_one_keeps(store, tmp_path, monkeypatch):
    clock = Clock(monkeypatch)

    def repair(store):
        def act():
            with store.writing("repair"):
                list(Repair(store, RULES).mend(check(store).findings))

        return act

    damage_everything(store)
    undisturbed = Store(shutil.copytree(store.data, tmp_path / "undisturbed"))
    steps = clock.run(repair(undisturbed))
    expected = rows_of(undisturbed.read(*GAMES))
    assert [row.seed for row in expected] == [1, 2, *range(5, 25), 30, 31, 32]
    assert check(undisturbed).findings == []
    for step in range(1, steps + 1):
        killed = Store(shutil.copytree(store.data, tmp_path / f"killed-{step}"))
        clock.run(repair(killed), step)
        repair(Store(killed.data))()
        assert rows_of(killed.read(*GAMES)) == expected, step
        assert check(killed).findings == []
