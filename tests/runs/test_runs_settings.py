"""Settings: their four layers, and the readers of configurations and seeds files against anything."""

import json
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given, settings

from pipeline.dataset.seeds import LAST_SEED, Seeds, parse_seeds, read_seeds
from pipeline.errors import ConfigError, DataError, UsageError, WinnableError
from pipeline.runs import values as kinds
from pipeline.runs.configuration import ConfigFile, load_settings
from pipeline.runs.settings import NIGHTLY, SETTINGS

CONFIGS = sorted((Path(__file__).parents[2] / "configs").glob("*.toml"))


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "run.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_a_flag_outdoes_the_environment_outdoes_a_variant_outdoes_the_file(file):
    path = file('seeds = "1:9"\nnodes = 1\nvariants = ["spider-1", "spider-2"]\n[variant.spider-1]\nnodes = 2\n')

    def nodes(environment=None, flags=None):
        made = load_settings(path, flags or {}, environment or {})
        return {deals.variant.id: deals.node_limit for deals in made.deals}

    assert nodes() == {"spider-1": 2, "spider-2": 1}
    assert nodes({"WINNABLE_NODES": "3k"}) == {"spider-1": 3000, "spider-2": 3000}
    assert nodes({"WINNABLE_NODES": "3"}, {"nodes": 4}) == {"spider-1": 4, "spider-2": 4}
    assert load_settings(None, {"seeds": Seeds.of([range(3)])}, {}).deals[0].node_limit == 1_000_000


def test_flags_that_were_not_given_count_for_nothing(file):
    made = load_settings(file('seeds = "1:9"\nworkers = 3\n'), {"workers": None, "variants": ()}, {})
    assert made.workers == 3
    assert len(made.deals) == 6


def test_tables_of_variants_say_which_variants(file):
    text = 'nodes = 500\n[variant.spider-1]\nseeds = "1:513"\n'
    text += '[variant.spider-4]\nseeds = ["7", "1:2"]\nnumbering = "pysol"\n'
    made = load_settings(file(text), {}, {})
    assert [(one.variant.id, one.numbering, str(one.seeds)) for one in made.deals] == [
        ("spider-1", "native", "1:513"),
        ("spider-4", "pysol", "1:2, 7"),
    ]
    flags = {"seeds": Seeds.of([range(1, 6)]), "variants": ("spider-4",)}
    assert [str(one.seeds) for one in load_settings(file(text), flags, {}).deals] == ["1:5"]


def test_seeds_of_a_file_beside_the_configuration(file, tmp_path):
    (tmp_path / "seeds.txt").write_text(
        "\ufeff# hard ones\r\n14934\r\n\r\n1748  # the other\r\n5:7\r\n", encoding="utf-8"
    )
    made = load_settings(file('seeds_from = "seeds.txt"\nvariants = ["spider-4"]\nseeds = 9\n'), {}, {})
    assert list(made.deals[0].seeds) == [5, 6, 7, 9, 1748, 14934]


def test_a_variant_of_your_own(file, tmp_path):
    from pipeline.game import variants

    own = Path(variants.__file__).with_name("spider-1.toml").read_text().replace('id = "spider-1"', 'id = "mine"', 1)
    (tmp_path / "mine.toml").write_text(own)
    made = load_settings(file('variants = ["mine.toml"]\nseeds = 1\n'), {}, {})
    assert made.deals[0].variant.id == "mine"


def test_shards_are_contiguous_and_cover_all(file):
    path = file('seeds = "1:100"\nvariants = ["spider-1"]\n')
    shards = [load_settings(path, {"shard": (i, 7)}, {}).deals[0].seeds for i in range(1, 8)]
    assert [seed for shard in shards for seed in shard] == list(range(1, 101))
    assert {shard.count for shard in shards} == {14, 15}
    assert all(len(shard.ranges) == 1 for shard in shards)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_the_configurations_of_the_project_are_right(path):
    made = load_settings(path, {}, {}, need_seeds=path.name != "nightly.toml")
    assert made.deals
    assert (made.nightly is not None) == (path.name == "nightly.toml")


def test_every_setting_is_a_flag_a_variable_and_explained():
    from pipeline.cli.run import run

    flags = {option for parameter in run.params for option in parameter.opts}
    for setting in SETTINGS:
        assert setting.flag in flags
        assert setting.help
        assert setting.variable == f"WINNABLE_{setting.key.upper()}"
        if setting.default is not None and setting.key != "variants":
            assert setting.read(setting.default) == setting.default
    assert all(setting.help for setting in NIGHTLY)


def error_of(action):
    """Return the project's own error; any other is a failure of the test."""
    try:
        action()
    except WinnableError as error:
        return error
    return None


@given(st.text(max_size=200))
@example("seeds = " + "[" * 1000)
@example("seeds = 1e400")
@example('max_time = "nan"')
@example("max_time = nan")
@example('shard = "١/٢"')
@example("nodes = 9" + "9" * 5000)
@settings(max_examples=150, deadline=None)
def test_any_text_is_settings_or_a_clear_error(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("config") / "run.toml"
    path.write_text(text, encoding="utf-8", errors="replace", newline="")
    error = error_of(lambda: load_settings(path, {}, {}))
    assert error is None or error.exit_code in (2, 3)
    assert "\n" not in str(error)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
keys = st.sampled_from([*(setting.key for setting in SETTINGS), "variant", "nightly", "nodez"])


@given(st.dictionaries(keys, values, max_size=4))
@settings(max_examples=300, deadline=None)
def test_any_value_is_a_setting_or_a_clear_error(content):
    error = error_of(lambda: ConfigFile(content, "run.toml", Path()))
    if error is not None:
        assert isinstance(error, ConfigError)
        assert str(error).startswith("run.toml: ")
        assert len(str(error)) < 600


@given(st.sampled_from([setting.variable for setting in SETTINGS]), st.text(max_size=30))
@settings(max_examples=200, deadline=None)
def test_any_variable_is_a_setting_or_a_clear_error(name, text):
    error = error_of(lambda: load_settings(None, {"seeds": Seeds.of([range(3)])}, {name: text}))
    assert error is None or error.exit_code in (2, 3)


@given(st.binary(max_size=300))
@example(b"\xef\xbb\xbf1\r\n2\r\n")
@example(b"1\n" * 100)
@example(b"1:\n")
@example(b"9" * 200)
@settings(max_examples=150, deadline=None)
def test_any_bytes_are_seeds_or_a_clear_error(tmp_path_factory, raw):
    path = tmp_path_factory.mktemp("seeds") / "seeds.txt"
    path.write_bytes(raw)
    error = error_of(lambda: read_seeds(path))
    assert error is None or (isinstance(error, DataError) and str(path) in str(error))


ranges = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)).map(lambda p: range(p[0], p[0] + p[1])), max_size=6)


@given(ranges, st.sets(st.integers(0, 70)), st.integers(1, 9))
def test_seeds_are_sets(pieces, done, shards):
    seeds = Seeds.of(pieces)
    plain = sorted(set().union(*pieces))
    assert list(seeds) == plain
    assert seeds.count == len(plain)
    assert [seed for seed in range(80) if seed in seeds] == plain
    assert [seed for seed in np.arange(80) if seed in seeds] == plain
    assert not any(seed in seeds for seed in ("1", 1.0, None))
    assert list(seeds.without(np.array(sorted(done), np.int64))) == [seed for seed in plain if seed not in done]
    numbers = np.array(sorted(done), np.int64)
    assert list(numbers[seeds.among(numbers)]) == [seed for seed in sorted(done) if seed in plain]
    assert [seed for i in range(shards) for seed in seeds.shard(i + 1, shards)] == plain
    assert list(seeds.slice(2, 7)) == plain[2:7]
    assert Seeds.of_numbers(plain) == seeds


def test_huge_ranges_take_no_time():
    seeds = Seeds.of([parse_seeds(f"0:{LAST_SEED}")])
    assert seeds.count == 2**63
    assert seeds.shard(3, 4).count == 2**61
    assert seeds.without(np.array([5], np.int64)).count == 2**63 - 1


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("read_count", "167k", 167_000),
        ("read_count", "1_000_000", 1_000_000),
        ("read_count", "10M", 10_000_000),
        ("read_duration", "1h30m", 5400),
        ("read_duration", "90", 90),
        ("read_duration", 0.5, 0.5),
        ("read_size", "2GB", 2 << 30),
        ("read_size", "600 MiB", 600 << 20),
        ("read_size", "256MB", 256 << 20),
        ("read_shard", "3/16", (3, 16)),
        ("read_switch", "no", False),
        ("read_words", "spider-1, spider-4", ("spider-1", "spider-4")),
    ],
)
def test_values_people_write(kind, text, value):
    assert getattr(kinds, kind)(text) == value


@pytest.mark.parametrize("value", ["1MB", "255MB", 1 << 20, "0", "-1GB"])
def test_less_memory_than_any_worker_needs_is_refused(file, value):
    text = f"memory = {json.dumps(value)}\nseeds = 1\n"
    with pytest.raises(ConfigError, match=r"run\.toml: memory = .*: expected a size of at least 256MB, which every"):
        load_settings(file(text), {}, {})
    with pytest.raises(ConfigError, match=r"^WINNABLE_MEMORY = .*: expected a size of at least 256MB"):
        load_settings(file("seeds = 1\n"), {}, {"WINNABLE_MEMORY": str(value)})


@pytest.mark.parametrize("text", ["", "1:", ":2", "a", "-1", "1:2:3", "1.5", "9" * 70, str(2**63)])
def test_texts_that_are_no_seeds(text):
    with pytest.raises(UsageError, match="valid seed"):
        parse_seeds(text)
