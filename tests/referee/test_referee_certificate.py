"""Certificates of loss: what they prove, that nothing spoilt passes, and that their page is all a reader needs."""

import dataclasses
import json
import lzma
import random
import struct

import numpy as np
import pytest

from pipeline.cli.main import run_command
from pipeline.errors import SolverFault
from pipeline.game.deals import deal
from pipeline.game.rules import Position
from pipeline.game.variants import load_variant
from pipeline.referee.certificate import read_certificate, write_certificate
from pipeline.referee.check import check_certificate
from pipeline.referee.prove import prove

LOST = [
    *(("simple-simon", "native", seed) for seed in (68, 242, 428)),
    *(("spiderette", "native", seed) for seed in (160, 211, 460)),
    ("spider-4", "pysol", 1748),
    ("spider-4", "pysol", 14934),
    ("spider-1", "native", 17459),
    ("simple-simon", "native", 787),
]
WHOLE = 1 << 28  # in the state word of a witness that is a whole board


def proved(name, numbering, seed):
    return prove(deal(load_variant(name), seed, numbering))


@pytest.fixture(scope="module")
def certificate():
    return proved("spider-4", "pysol", 14934)


@pytest.fixture(scope="module")
def certificate_with_whole_boards():
    return proved("simple-simon", "native", 787)


@pytest.fixture(scope="module")
def file(certificate, tmp_path_factory):
    path = tmp_path_factory.mktemp("lost") / "14934.xz"
    write_certificate(path, certificate)
    return path


@pytest.mark.parametrize(("name", "numbering", "seed"), LOST)
def test_losses_are_proved_written_read_and_checked(name, numbering, seed, tmp_path):
    made = proved(name, numbering, seed)
    write_certificate(tmp_path / "c.xz", made)
    read = read_certificate(tmp_path / "c.xz")
    assert read.board == deal(load_variant(name), seed, numbering)
    checked = check_certificate(read)
    assert checked == (len(made.boards), len(made.witnesses))
    assert sum(checked) > 0


def test_what_can_be_won_has_no_certificate(lay):
    queens_down = "QS JS 10S 9S 8S 7S 6S 5S 4S 3S 2S AS"
    with pytest.raises(SolverFault):
        prove(lay("spider-4", ["KS", queens_down], sets_done=7))
    assert prove(deal(load_variant("spider-1"), 1), 1000) is None


# ---- a reader of its own, by the page alone


def by_the_page(data):
    """Return rules, start, witnesses and boards of a certificate, with piles as tuples of cards and a mark."""
    text, _, body = lzma.decompress(data).partition(b"\n")
    header = json.loads(text)
    piles, at = [()], 0
    for _ in range(header["piles"]):
        below, card = struct.unpack_from("<IB", body, at)
        piles.append((*piles[below], (card & 63, card >> 6)))
        at += 5
    width = 1 + len(header["board"]["columns"])
    sections = []
    for key in ("witnesses", "boards"):
        rows = list(struct.iter_unpack(f"<{width}I", body[at : at + 4 * width * header[key]]))
        at += 4 * width * header[key]
        sections.append([(row[0] & (WHOLE | 255), *(piles[pile] for pile in row[1:])) for row in rows])
    assert at == len(body)
    return header, *sections


def listed_as(position):
    """Return a position as its certificate lists it."""
    columns = []
    for cards, down in zip(position.columns, position.face_down, strict=True):
        while down and not any(
            position._joined(kind, cards[down], cards[down - 1])
            for kind in (position.variant.unit, position.variant.sets)
        ):
            down -= 1
        columns.append(tuple((card, int(i < down)) for i, card in enumerate(cards)))
    return len(position.stock), *(columns if position.stock else sorted(columns))


def stub_of(position):
    columns = []
    for cards in position.columns:
        covered = len(cards) - 1
        while covered > 0 and position.may_lie(cards[covered], cards[covered - 1]):
            covered -= 1
        columns.append(tuple((card, 0) for card in cards[: covered + 1]) if covered > 0 else ())
    return len(position.stock), *(columns if position.stock else sorted(columns))


@pytest.mark.parametrize(("name", "numbering", "seed"), [one for one in LOST if one[2] not in (1748, 17459)])
def test_the_boards_are_closed_by_the_readable_rules(name, numbering, seed, tmp_path):
    """Every board that play comes to is listed, or it or its stubs are among the witnesses; and nothing else is."""
    write_certificate(tmp_path / "c.xz", proved(name, numbering, seed))
    _, witnesses, boards = by_the_page((tmp_path / "c.xz").read_bytes())

    def unsorted(rows, stock_left):
        return {row if stock_left and row[0] & 255 else (row[0], *sorted(row[1:])) for row in rows}

    listed, stubs = unsorted(boards, True), unsorted(witnesses, True)
    used, seen = set(), set()

    def step(position):
        assert not position.won
        row, stub = listed_as(position), stub_of(position)
        if row in listed and row not in seen:
            seen.add(row)
            return True
        if row not in listed:
            whole = (row[0] | WHOLE, *row[1:])
            assert stub in stubs or whole in stubs
            used.update({stub, whole} & stubs)
        return False

    position = Position(deal(load_variant(name), seed, numbering))
    trail = [(iter(position.legal_moves()), None)] if step(position) else []
    while trail:
        move = next(trail[-1][0], None)
        if move is None:
            played = trail.pop()[1]
            if played:
                position.undo(played)
            continue
        played = position.play(move)
        if step(position):
            trail.append((iter(position.legal_moves()), played))
        else:
            position.undo(played)
    assert seen == listed
    assert used == stubs


# ---- nothing spoilt passes


def refused(certificate, **changes):
    with pytest.raises(SolverFault):
        check_certificate(dataclasses.replace(certificate, **changes))


def test_a_board_or_a_witness_less_or_more_is_refused(certificate):
    rng = random.Random(1)
    for field in ("boards", "witnesses"):
        rows = getattr(certificate, field)
        for at in [0, len(rows) - 1, *rng.sample(range(len(rows)), 20)]:
            refused(certificate, **{field: np.delete(rows, at, axis=0)})
            refused(certificate, **{field: np.insert(rows, at, rows[at], axis=0)})
        refused(certificate, **{field: rows[::-1]})
        refused(certificate, **{field: rows[:0]})


@pytest.mark.parametrize("field", ["boards", "witnesses", "piles"])
def test_no_bit_can_be_changed(certificate, field):
    rng = random.Random(2)
    for _ in range(60):
        spoilt = getattr(certificate, field).copy()
        row = rng.randrange(field == "piles", len(spoilt))
        spoilt[row, rng.randrange(spoilt.shape[1])] ^= np.uint32(1 << rng.randrange(32))
        refused(certificate, **{field: spoilt})


def test_a_certificate_is_of_one_deal_and_one_game(certificate):
    spider = certificate.board.variant
    refused(certificate, board=deal(spider, 14933, "pysol"))
    refused(certificate, board=dataclasses.replace(certificate.board, variant=dataclasses.replace(spider, unit="any")))
    refused(certificate, board=dataclasses.replace(certificate.board, variant=dataclasses.replace(spider, wrap=True)))


def test_a_witness_that_shows_nothing_is_refused(certificate):
    """A stub row with everything uncovered claims that no set can come."""
    words = certificate.witnesses[0].copy()
    words[1:] = 0
    rows = np.concatenate([certificate.witnesses, words[None]])
    order = np.lexsort(rows.T[::-1])
    with pytest.raises(SolverFault, match="a set may be possible"):
        check_certificate(dataclasses.replace(certificate, witnesses=rows[order]))


def test_a_whole_board_as_a_witness_must_hold(certificate_with_whole_boards):
    """Each board that is listed is refused as a witness; so is a witness with stock left, and one without the mark."""
    made = certificate_with_whole_boards
    rng = random.Random(4)
    whole = np.flatnonzero(made.witnesses[:, 0] >= WHOLE)
    refusals = 0
    for row in made.boards[sorted(rng.sample(range(len(made.boards)), 60))]:
        marked = row.copy()
        marked[0] |= np.uint32(WHOLE)
        rows = np.concatenate([made.witnesses, marked[None]])
        try:
            check_certificate(dataclasses.replace(made, witnesses=rows[np.lexsort(rows.T[::-1])]))
        except SolverFault as fault:
            refusals += "a set may be possible" in str(fault)
    assert refusals > 20
    for at in rng.sample(whole.tolist(), 10):
        refused(made, witnesses=np.delete(made.witnesses, at, axis=0))
        for mask in (WHOLE, WHOLE << 1, 1, 7, 1 << 8):
            spoilt = made.witnesses.copy()
            spoilt[at, 0] ^= np.uint32(mask)
            refused(made, witnesses=spoilt[np.lexsort(spoilt.T[::-1])])


def test_a_whole_board_of_too_many_cards_is_refused(certificate_with_whole_boards):
    made = certificate_with_whole_boards
    tower = [made.piles]
    for card in range(190):
        below = len(made.piles) + card - 1 if card else 0
        tower.append(np.array([[below, 1 + card % 13 + 64]], made.piles.dtype))
    piles = np.concatenate(tower)
    witness = np.full((1, made.witnesses.shape[1]), len(piles) - 1, np.uint32)
    witness[0, 0] = WHOLE
    rows = np.concatenate([made.witnesses, witness])
    refused(made, piles=piles, witnesses=rows[np.lexsort(rows.T[::-1])])


def test_a_file_of_another_kind_is_not_a_certificate(tmp_path):
    path = tmp_path / "README.md"
    path.write_text("# winnable")
    with pytest.raises(SolverFault, match="not a certificate"):
        read_certificate(path)


def repacked(data, change):
    return lzma.compress(change(lzma.decompress(data)))


def spoilt_files(data):
    rng = random.Random(3)
    for _ in range(150):
        flipped = bytearray(data)
        flipped[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        yield bytes(flipped)
        yield data[: rng.randrange(len(data))]
    yield data + b"\0"
    yield data + data
    yield data[:100] + data[104:]
    yield b""
    yield b"no certificate"
    yield repacked(data, lambda body: body + body)
    yield repacked(data, lambda body: body[:-1])
    yield repacked(data, lambda body: body + b"\0" * 44)
    yield repacked(data, lambda body: body.partition(b"\n")[2])
    for old, new in (
        (b'"seed":14934', b'"seed":14935'),
        (b'"seed":14934', b'"seed":"x"'),
        (b'"pysol"', b'"native"'),
        (b'"deal":"blocked"', b'"deal":"all"'),
        (b'"id":"spider-4"', b'"id":"spider-2"'),
        (b'"certificate":2', b'"certificate":1'),
        (b'"boards":', b'"boards":-'),
        (b'"boards":', b'"boards":9'),
        (b'"witnesses":', b'"witness":'),
    ):
        yield repacked(data, lambda body, old=old, new=new: body.replace(old, new))


def test_every_spoilt_file_ends_with_4_and_the_place(file, tmp_path, capsys):
    spoilt = tmp_path / "spoilt.xz"
    assert run_command(["check", str(file)]) == 0
    for data in spoilt_files(file.read_bytes()):
        spoilt.write_bytes(data)
        capsys.readouterr()
        assert run_command(["check", str(spoilt)]) == 4
        out, err = capsys.readouterr()
        assert not out
        assert str(spoilt) in err
        assert "Traceback" not in err


# ---- commands


def test_prove_and_check(file, tmp_path, capsys):
    assert run_command(["check", str(file)]) == 0
    assert capsys.readouterr().out.startswith("lost: checked, 1,395 boards, 3,014 witnesses")
    out = tmp_path / "lost.xz"
    words = ["prove", "--variant", "spider-4", "--numbering", "pysol", "--seed", "14934", "--out", str(out)]
    for _ in range(2):  # its own file is replaced
        assert run_command(words) == 0
        assert out.read_bytes() == file.read_bytes()
        assert f"wrote {out}" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["text", "of another board", "cut short"])
def test_prove_replaces_another_file_by_force_only(what, file, certificate_with_whole_boards, tmp_path, capsys):
    out = tmp_path / "kept.xz"
    if what == "of another board":
        write_certificate(out, certificate_with_whole_boards)
    else:
        out.write_bytes(b"mine" if what == "text" else file.read_bytes()[:-100])
    before, words = out.read_bytes(), ["prove", "spider-4/pysol/14934", "--out", str(out)]
    assert run_command(words) == 2
    assert f"{out}: the " in capsys.readouterr().err
    assert out.read_bytes() == before
    assert run_command([*words, "--force"]) == 0
    assert out.read_bytes() == file.read_bytes()


@pytest.mark.parametrize(("seed", "nodes", "verdict"), [(5, "10k", "won"), (5, "2", "unsettled")])
def test_prove_writes_nothing_of_what_is_not_lost(seed, nodes, verdict, tmp_path, capsys):
    out = tmp_path / "lost.xz"
    words = ["prove", "--variant", "spider-1", "--seed", str(seed), "--nodes", nodes, "--out", str(out)]
    assert run_command(words) == 0
    assert verdict in capsys.readouterr().out
    assert not out.exists()
