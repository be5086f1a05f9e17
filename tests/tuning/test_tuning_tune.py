"""The tuning: what it converges to, that it goes on where it stopped, what it refuses, what it writes.

Deals are made up here: what a deal takes depends on how far the weights are from a hidden best.
"""

import json
import math
import sys
import tomllib

import numpy as np
import pytest

from pipeline.engine.weights import WEIGHT_NAMES, load_parameters, read_parameters
from pipeline.errors import ConfigError, DataError, UsageError
from pipeline.game.variants import load_variant
from pipeline.runs.executors import InlineExecutor
from pipeline.tuning import tune as tuning
from pipeline.tuning import tuned

START = load_parameters("default")
UNITS = np.maximum(np.abs(START.weights), 300)
BEST = np.array(START.weights) / UNITS + np.where(np.arange(len(WEIGHT_NAMES)) % 2, 0.4, -0.4)
NODES = 10_000


def plan(**changes):
    values = {
        "variants": (load_variant("spider-4"), load_variant("spider-2")),
        "start": START,
        "start_name": "default",
        "deals": 5,
        "node_limit": NODES,
        "population": 10,
        "seed": 3,
        "first_seed": tuning.FIRST_SEED,
    }
    return tuning.Tuning(**{**values, **changes})


def made_up(variant, parameters, seeds, nodes):
    """Take more positions the farther the weights are from the best, with each deal's own share of chance."""
    distance = float(np.linalg.norm(np.array(parameters.weights) / UNITS - BEST))
    efforts = []
    for seed in seeds:
        hardness = np.random.default_rng((seed, len(variant.id))).normal(0, 0.5)
        positions = int(500 * math.exp(distance + hardness))
        efforts.append(tuned.Effort(positions <= nodes, min(positions, nodes)))
    return efforts


@pytest.fixture
def asked(monkeypatch):
    """The seeds asked for, while deals are made up."""
    seen = []

    def settle(variant, parameters, seeds, nodes):
        seen.append((variant.id, *seeds))
        return made_up(variant, parameters, seeds, nodes)

    monkeypatch.setattr(tuning, "settle", settle)
    return seen


def distance(parameters):
    return np.linalg.norm(np.array(parameters.weights) / UNITS - BEST)


def test_it_comes_near_the_best_and_the_check_shows_it(asked):
    wanted = plan()
    found = tuning.tune(wanted, 40, tuning.History(wanted), InlineExecutor())
    assert distance(found) < distance(START) / 2
    assert found._replace(weights=START.weights) == START
    (first, _) = checks = tuning.check(wanted, found, wanted.untouched(40, 50), InlineExecutor())
    assert [one.variant for one in checks] == ["spider-4", "spider-2"]
    assert first.paired.deals == 50
    assert first.paired.ratio.interval.high < 1


def test_every_generation_has_new_deals_and_the_check_others(asked):
    wanted = plan(deals=11)
    found = tuning.tune(wanted, 2, tuning.History(wanted), InlineExecutor())
    trained = {seed for _, *seeds in asked for seed in seeds}
    assert trained == set(range(tuning.FIRST_SEED, tuning.FIRST_SEED + 22))
    asked.clear()
    tuning.check(wanted, found, wanted.untouched(2, 9), InlineExecutor())
    assert {seed for _, *seeds in asked for seed in seeds} == set(range(tuning.FIRST_SEED + 22, tuning.FIRST_SEED + 31))


def test_a_stopped_tuning_goes_on_to_the_same_end(asked, tmp_path):
    wanted = plan()
    whole = tuning.tune(wanted, 6, tuning.History(wanted), InlineExecutor())
    path = tmp_path / "new" / "state.json"

    def interrupt(number, _found):
        if number == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tuning.tune(wanted, 6, tuning.History(wanted, path), InlineExecutor(), interrupt)
    assert [entry.name for entry in path.parent.iterdir()] == ["state.json"]
    asked.clear()
    numbers = []
    history = tuning.History(wanted, path)
    assert tuning.tune(wanted, 6, history, InlineExecutor(), lambda n, _: numbers.append(n)) == whole
    assert numbers == [5, 6]
    assert min(seeds[1] for seeds in asked) == wanted.seeds(4).start
    asked.clear()
    assert tuning.tune(wanted, 6, tuning.History(wanted, path), InlineExecutor()) == whole
    assert asked == []


def test_a_generation_is_measured_against_the_start(asked):
    wanted = plan()
    history = tuning.History(wanted)
    tuning.tune(wanted, 1, history, InlineExecutor())
    ((values, start, _),) = history.generations
    efforts = [e for variant in wanted.variants for e in made_up(variant, START, wanted.seeds(0), NODES)]
    assert start == pytest.approx(np.mean([effort.value(NODES) for effort in efforts]))
    assert len(values) == 10


def test_what_a_deal_counts():
    assert tuned.Effort(True, 1000).value(10_000) == pytest.approx(math.log(0.1))
    assert tuned.Effort(True, 0).value(10_000) == pytest.approx(math.log(1e-4))
    assert tuned.Effort(False, 10_000).value(10_000) == tuned.UNSETTLED > 0


def test_a_state_of_another_tuning_is_refused(asked, tmp_path):
    path = tmp_path / "state.json"
    tuning.tune(plan(), 1, tuning.History(plan(), path), InlineExecutor())
    for change, said in (
        ({"deals": 6}, "deals.*5.*6"),
        ({"node_limit": 7}, "node_limit.*10000.*7"),
        ({"variants": (load_variant("spider-4"),)}, "variants"),
        ({"start": START._replace(weights=BEST_WEIGHTS)}, "initial weights"),
    ):
        with pytest.raises(DataError, match=said):
            tuning.History(plan(**change), path)
    content = json.loads(path.read_text())
    content["generations"][0]["checksum"] += 1
    path.write_text(json.dumps(content))
    with pytest.raises(DataError, match="generation 1"):
        tuning.tune(plan(), 2, tuning.History(plan(), path), InlineExecutor())


BEST_WEIGHTS = tuple(int(weight) for weight in np.rint(BEST * UNITS))


def test_a_state_of_another_format_is_named(tmp_path):
    (tmp_path / "state.json").write_text('{"format": 99}')
    with pytest.raises(DataError, match=r"state\.json: .*'format'.*99"):
        tuning.History(plan(), tmp_path / "state.json")


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"format": 9}', '{"format": 1, "plan": {}}', '{"format": 1, "plan": 1}']
)
def test_a_file_that_is_no_state(tmp_path, text):
    path = tmp_path / "state.json"
    path.write_text(text)
    with pytest.raises(DataError, match=r"state\.json"):
        tuning.History(plan(), path)


@pytest.mark.parametrize(
    ("first", "generations", "held_out", "allowed"),
    [
        (1, 1, 0, False),
        (100_000, 1, 0, False),
        (100_001, 1, 0, True),
        (4_999_996, 1, 0, True),
        (4_999_996, 1, 1, False),
        (4_999_991, 3, 0, False),
        (5_002_000, 1, 0, False),
        (5_002_001, 9, 999, True),
        (tuning.FIRST_SEED, 1000, 10_000, True),
    ],
)
def test_published_deals_are_not_tuned_on(first, generations, held_out, allowed):
    wanted = plan(first_seed=first)
    if allowed:
        wanted.check_seeds(generations, held_out)
        return
    with pytest.raises(UsageError, match=f"--first-seed {first}"):
        wanted.check_seeds(generations, held_out)


def test_without_cmaes(monkeypatch):
    monkeypatch.setitem(sys.modules, "cmaes", None)
    with pytest.raises(UsageError, match="cmaes"):
        tuning.require_cmaes()


def test_where_to_start(tmp_path):
    assert tuning.read_start("spider-1") == load_parameters("spider-1")
    assert tuning.default_start(load_variant("spider-1")) == "spider-1"
    assert tuning.default_start(load_variant("black-widow")) == "default"
    with pytest.raises(UsageError, match=r"--from spider .*default, grounds"):
        tuning.read_start("spider")
    bad = tmp_path / "bad.toml"
    bad.write_text("[weights]\njoin = 1\n")
    with pytest.raises(ConfigError, match=r"bad\.toml"):
        tuning.read_start(str(bad))


def test_weights_stay_within_what_a_file_may_hold():
    far = tuning.with_weights(plan(), np.full(len(WEIGHT_NAMES), 1e9))
    assert max(far.weights) == tuning.LARGEST_WEIGHT
    assert tuning.with_weights(plan(), np.array(START.weights) / tuning.units(START)) == START


def test_the_weights_file_reads_back_with_its_provenance(tmp_path):
    wanted = plan(start_name="mine\n.toml")
    pairs = [tuned.Effort(True, 100), tuned.Effort(False, NODES), tuned.Effort(True, 400)]
    checks = [
        tuned.compare("spider-4", pairs, [tuned.Effort(True, 50), tuned.Effort(True, 9), tuned.Effort(True, 300)]),
        tuned.compare("spider-2", pairs[1:2], pairs[1:2]),
        tuned.compare("x", pairs[:1], pairs[:1]),
    ]
    path = tmp_path / "out.toml"
    path.write_text(tuned.weights_text(wanted, BEST_WEIGHTS, 2, range(7, 9), checks))
    assert read_parameters(path) == START._replace(weights=BEST_WEIGHTS)
    text = path.read_text()
    provenance = tomllib.loads(text)["provenance"]
    assert text.startswith("# Tuned for spider-4, spider-2 from mine .toml: 2 generations of 10 candidates, ")
    assert "# Held out, spider-4: 3 of 3 deals settled, 2 by the start" in text
    assert provenance["training_seeds"] == f"{tuning.FIRST_SEED}:{tuning.FIRST_SEED + 9}"
    assert provenance["held_out_seeds"] == "7:8"
    first, second, third = provenance["held_out"]
    assert (first["settled_start"], first["settled_tuned"], first["only_start"], first["only_tuned"]) == (2, 3, 0, 1)
    assert first["ratio"] == pytest.approx(math.sqrt(0.5 * 0.75), abs=1e-4)
    assert "ratio" not in second
    assert third["ratio"] == 1
    assert "ratio_high" not in third
