"""`variants` and `bench` as a user calls them."""

import json
from pathlib import Path

from pipeline.game import variants
from pipeline.game.variants import load_variant, variant_ids

VARIANTS = Path(variants.__file__).parent


def test_variants_are_listed_and_described(ok):
    text = ok("variants")
    listed = json.loads(ok("variants", "--format", "json"))
    assert [entry["id"] for entry in listed] == variant_ids()
    for entry in listed:
        assert f"{entry['id']} ({entry['name']}; " in text
        assert entry["description"] == load_variant(entry["id"]).describe()
        assert entry["rules_hash"] == load_variant(entry["id"]).rules_hash


def test_a_variant_of_ones_own_is_checked(ok, winnable, tmp_path):
    path = tmp_path / "mine.toml"
    text = (
        (VARIANTS / "spiderette.toml").read_text().replace('"spiderette"', '"mine"').replace('"Spiderette"', '"Mine"')
    )
    path.write_text(text)
    out = ok("variants", "check", path)
    assert out.startswith(f"{path}: fine\nmine (Mine; ")
    for words in (("variants", "check", path, "--format", "json"), ("variants", "--format", "json", "check", path)):
        assert json.loads(ok(*words))["columns"] == [1, 2, 3, 4, 5, 6, 7]
    path.write_text(text.replace('"blocked"', '"block"'))
    code, out, err = winnable("variants", "check", path)
    assert (code, out) == (3, "")
    assert str(path) in err
    assert 'deal is "block"; allowed: "blocked"' in err


# ---- bench


def test_bench_prints_the_signature_and_the_speed(ok):
    from pipeline.version import SIGNATURE

    found = json.loads(ok("bench", "--seconds", 0, "--format", "json"))
    assert list(found) == ["signature", "positions_per_second"]
    assert found["signature"] == SIGNATURE
    assert found["positions_per_second"] > 10_000
    assert ok("bench", "--seconds", 0).startswith(f"signature: {SIGNATURE}\n")


def test_a_bench_mismatch_is_four(winnable, monkeypatch):
    monkeypatch.setattr("pipeline.version.SIGNATURE", 1)
    code, out, err = winnable("bench", "--seconds", 0)
    assert code == 4
    assert out.startswith("signature: ")
    assert "bench mismatch" in err
