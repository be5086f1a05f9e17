import dataclasses
import re

import pytest

from pipeline.errors import UsageError, VariantError
from pipeline.game.deals import deal
from pipeline.game.variants import MAIN_VARIANTS, Variant, load_variant, read_variant, variant_ids

GOOD = """
id = "mine"
name = "Mine"
packs = 1
suits = 4
columns = [4, 4, 4, 4]
face_down = [3, 3, 3, 0]
deal = "blocked"
"""

# id: cards, columns, face-down cards, stock, last row
SHAPES = {
    "spider-1": (104, 10, 44, 50),
    "spider-2": (104, 10, 44, 50),
    "spider-4": (104, 10, 44, 50),
    "grounds-for-a-divorce": (104, 10, 0, 54),
    "spider-relaxed": (104, 10, 44, 50),
    "spider-easy": (104, 10, 44, 50),
    "spiderette": (52, 7, 21, 24),
    "will-o-the-wisp": (52, 7, 14, 31),
    "simple-simon": (52, 10, 0, 0),
    "mrs-mop": (104, 13, 0, 0),
    "open-spider": (104, 10, 0, 50),
    "spider-free-deal": (104, 10, 44, 50),
    "black-widow": (104, 10, 44, 50),
    "tarantula": (104, 10, 44, 50),
    "grandmothers-game": (104, 10, 0, 44),
    "grounds-for-a-divorce-pysol": (104, 10, 0, 54),
    "big-spider": (156, 13, 65, 78),
    "spider-4-packs": (208, 13, 65, 130),
    "big-divorce": (156, 13, 65, 78),
    **{f"spider-free-deal-{suits}": (104, 10, 44, 50) for suits in (1, 2, 3)},
    **{f"open-spider-free-deal{suits}": (104, 10, 0, 50) for suits in ("-1", "-2", "-3", "")},
}


def test_a_variant_made_in_python_needs_all_its_sets():
    given = {field.name: getattr(load_variant("spider-4"), field.name) for field in dataclasses.fields(Variant)}
    del given["sets_needed"]
    assert Variant(**given) == load_variant("spider-4")


def test_all_variants_are_there_with_the_main_ones_first():
    assert tuple(variant_ids()[:6]) == MAIN_VARIANTS
    assert set(variant_ids()) == set(SHAPES)


@pytest.mark.parametrize("variant_id", SHAPES)
def test_shape(variant_id):
    variant = load_variant(variant_id)
    assert variant.id == variant_id
    shape = (variant.cards, len(variant.columns), sum(variant.face_down), variant.stock_size)
    assert shape == SHAPES[variant_id]
    assert variant.sets_needed == variant.packs * 4


def test_no_two_variants_have_the_same_rules():
    hashes = {load_variant(variant_id).rules_hash for variant_id in variant_ids()}
    assert len(hashes) == len(variant_ids())
    assert all(re.fullmatch("[0-9a-f]{16}", value) for value in hashes)


def test_rules_hash_is_of_the_rules_alone():
    variant = load_variant("spider-4")
    assert variant.rules_hash == "7d0a53612514b105"  # stored with every outcome: it must never change
    assert dataclasses.replace(variant, id="x", name="y", documented=(), numberings=("native",)).rules_hash == (
        variant.rules_hash
    )
    for change in ({"wrap": True}, {"deal": "all"}, {"suits": 2}, {"sets_needed": 7}, {"unit": "any"}):
        assert dataclasses.replace(variant, **change).rules_hash != variant.rules_hash


def test_documented_figures():
    one, divorce = load_variant("spider-1").documented, load_variant("grounds-for-a-divorce").documented
    assert [(f.deals, f.node_limit, f.proved) for f in one[:2]] == [(513, 1_000_000, 0.97), (100, 167_000, 0.87)]
    assert [(f.deals, f.node_limit, f.proved) for f in divorce] == [(1291, 1_000_000, 0.39)]
    easier = {
        v: load_variant(v).documented[0] for v in variant_ids() if any(f.easier for f in load_variant(v).documented)
    }
    assert {name: figure.lost for name, figure in easier.items()} == {
        "simple-simon": 25_467,
        "spiderette": 3_751,
        "will-o-the-wisp": 7_487,
        "mrs-mop": 38_969,
        "spider-free-deal": 0,
    }
    for variant_id in variant_ids():
        for figure in load_variant(variant_id).documented:
            if figure.won is not None and figure.deals:
                assert figure.proved == pytest.approx(figure.won / figure.deals)
                assert None in (figure.lost, figure.unsettled) or (
                    figure.won + figure.lost + figure.unsettled == figure.deals
                )


def test_describe_is_made_from_the_data():
    assert load_variant("spider-4").describe() == (
        "Two packs (104 cards) in four suits. Ten columns: four of 6 cards and six of 5 cards, only the last card of "
        "each face up (44 face down). A stock of 50 deals one card to every column, but not while a column is empty. "
        "A card may be laid on any card one rank higher; descending cards of one suit move together; an empty column "
        "takes any of them. King to Ace of one suit on top of a column, face up, leave at once; won when eight sets "
        "are gone."
    )
    assert "No stock." in load_variant("simple-simon").describe()
    assert "a King on an Ace" in load_variant("big-divorce").describe()
    assert "(the last deal, of 3, to the first columns)" in load_variant("spiderette").describe()
    assert "of one colour move together" in load_variant("tarantula").describe()
    texts = {load_variant(variant_id).describe() for variant_id in variant_ids()}
    assert len(texts) == len(variant_ids())


def test_an_unknown_id_is_answered_with_the_nearest():
    with pytest.raises(UsageError, match="did you mean 'spider-4'"):
        load_variant("spider4")


def test_a_users_own_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(GOOD)
    variant = read_variant(path)
    assert (variant.unit, variant.sets, variant.wrap, variant.sets_needed) == ("suit", "suit", False, 4)
    assert variant.numberings == ("native",)
    assert variant.stock_size == 36
    assert "3, 3, 3, 0 of them face down" in variant.describe()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('id = "mine"', 'id = "Mine!"', 'id is "Mine!"; allowed: lower-case letters'),
        ('id = "mine"', 'id = "tarantula"', "id = 'tarantula': this variant comes with winnable, with other rules"),
        ("packs = 1", "packs = 5", "packs is 5; allowed: a whole number from 1 to 4"),
        ("packs = 1", "packs = true", "packs is true"),
        ("packs = 1", "", "packs is missing"),
        ("suits = 4", "suits = 5", "suits is 5; allowed: 1, 2, 3, 4"),
        ("suits = 4", "suits = true", "suits is true; allowed: 1, 2, 3, 4"),
        ("columns = [4, 4, 4, 4]", "columns = [4, 4]", "columns is .4, 4.; allowed: a list of 3 to 16"),
        ("columns = [4, 4, 4, 4]", "columns = [20, 20, 20, 20]", "52 cards or fewer"),
        ("columns = [4, 4, 4, 4]", "columns = [4, 4, 4, -1]", "columns is"),
        ("face_down = [3, 3, 3, 0]", "face_down = [4, 3, 3, 0]", "leaving at least the last card face up"),
        ("face_down = [3, 3, 3, 0]", "face_down = [3, 3, 3]", "a list of 4 counts"),
        ('deal = "blocked"', 'deal = "block"', "deal is .block.; allowed: .*did you mean 'blocked'"),
        ('deal = "blocked"', 'dael = "blocked"', "unknown key 'dael'; did you mean 'deal'"),
        ("suits = 4", 'suits = 4\nwrap = "no"', "wrap is .no.; allowed: false, true"),
        ("suits = 4", 'suits = 4\nwrap = true\nunit = "any"', "unit is .any.; allowed: .suit. where wrap is true"),
        ("suits = 4", 'suits = 4\nnumberings = ["native", "kpat"]', "numberings is"),
        ("suits = 4", 'suits = 4\nnumberings = ["pysol"]', "numberings is"),
        ("suits = 4", "suits = 4\nsets_needed = 5", "sets_needed is 5; allowed: a whole number from 1 to 4"),
        ('deal = "blocked"', 'deal = "all"\n[[documented]]\nsource = "x"\nproved = 2', "documented 1: proved is 2"),
        (
            'deal = "blocked"',
            'deal = "all"\n[[documented]]\nsource = "x"\ndeals = 10\nwon = 9\nlost = 5',
            "documented 1: won is 9; allowed: won, lost that are 10 deals or fewer in all",
        ),
        (
            'deal = "blocked"',
            f'deal = "all"\n[[documented]]\nsource = "x"\ndeals = 1{"0" * 400}',
            "documented 1: deals",
        ),
        ('id = "mine"', 'id = "mine\\n"', "id is"),
        ('id = "mine"', f'id = "{"m" * 101}"', "id is"),
        ("suits = 4", "suits = = 4", "not TOML"),
    ],
)
def test_a_bad_file_is_named_with_key_value_and_what_is_allowed(tmp_path, old, new, message):
    path = tmp_path / "bad.toml"
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(VariantError, match=message) as caught:
        read_variant(path)
    assert "bad.toml" in str(caught.value)


SPIDER = "packs = 2\nsuits = 4\ncolumns = [6, 6, 6, 6, 5, 5, 5, 5, 5, 5]\n"
DIVORCE = "packs = 2\nsuits = 4\ncolumns = [5, 5, 5, 5, 5, 5, 5, 5, 5, 5]\n"


def write_rules(path, layout, face_down, numberings):
    path.write_text(
        f'id = "mine"\nname = "Mine"\ndeal = "all"\n{layout}face_down = {face_down}\nnumberings = {numberings}\n'
    )
    return path


@pytest.mark.parametrize("face_down", [[2] * 10, [5, 4, 4, 5, 4, 4, 4, 4, 4, 4], [0] * 9 + [1]])
def test_pysols_long_columns_fit_no_counts_of_ones_own(tmp_path, face_down):
    path = write_rules(tmp_path / "mine.toml", SPIDER, face_down, ["native", "pysol", "kpat"])
    with pytest.raises(VariantError, match=r'mine\.toml: numberings is .*; allowed: a list of "native" and "kpat"'):
        read_variant(path)
    mine = read_variant(write_rules(path, SPIDER, face_down, ["native", "kpat"]))
    for numbering in mine.numberings:
        assert deal(mine, 1, numbering).face_down == tuple(face_down)


@pytest.mark.parametrize("face_down", [[0] * 10, [2] * 10, [4] * 10, [4, 3, 2, 1, 0, 0, 1, 2, 3, 4]])
def test_columns_of_one_length_fit_any_counts(tmp_path, face_down):
    mine = read_variant(write_rules(tmp_path / "mine.toml", DIVORCE, face_down, ["native", "pysol"]))
    for numbering in mine.numberings:
        assert deal(mine, 1, numbering).face_down == tuple(face_down)


def test_a_missing_file_is_no_traceback(tmp_path):
    with pytest.raises(VariantError, match="cannot be read"):
        read_variant(tmp_path / "none.toml")
