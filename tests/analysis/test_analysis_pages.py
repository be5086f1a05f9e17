"""The pages: self-contained, escaped, deterministic; and in a browser, with and without scripts."""

import dataclasses
import html
import re
import shutil
from html.parser import HTMLParser

import pytest
from dataset_rows import table_of

from pipeline.analysis.figures import inline_svg
from pipeline.analysis.page import command_for, report_page
from pipeline.analysis.replay_page import replay_page
from pipeline.analysis.report import report_of
from pipeline.analysis.samples import sample_of
from pipeline.dataset.manifest import Plan, RunRecord
from pipeline.dataset.seeds import Seeds
from pipeline.dataset.store import Partition
from pipeline.errors import LineError
from pipeline.game.boards import Board
from pipeline.game.deals import deal
from pipeline.game.lines import encode_line
from pipeline.game.moves import DEAL
from pipeline.game.rules import Position
from pipeline.game.variants import load_variant, variant_ids

VOID = {"meta", "link", "input", "br", "hr", "img"}


class Checker(HTMLParser):
    """Checks that tags nest, ids are unique, and nothing is fetched; gathers the text."""

    def __init__(self, page):
        super().__init__()
        self.stack, self.ids, self.text, self.links = [], set(), [], []
        self.feed(page)
        assert self.stack == []

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                assert value not in self.ids, f"id {value} stands twice"
                self.ids.add(value)
            if name in ("src", "href", "xlink:href", "action", "srcset"):
                assert value.startswith("#") or value == "data:,", f"{tag} {name}={value}"
                self.links.append(value)
            assert not name.startswith("on"), f"{tag} {name}"
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.stack.pop()

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        if not {"style", "script"} & set(self.stack):
            self.text.append(data)


def sample(made_up, variant="spider-4", numbering="native", missing=0, **kwargs):
    rows = made_up(variant, range(1, 201), **kwargs)
    made = sample_of([table_of(rows)], load_variant(variant), numbering)
    return dataclasses.replace(made, missing_at=((1_000_000, missing),))


@pytest.fixture(scope="module")
def page(made_up):
    run = RunRecord(
        "20261130-000000-1", "2026-11-30T00:00:00+00:00", "", "interrupted", "<script>alert(1)</script>",
        ((Partition("spider-4", "native"), Plan(Seeds.of([range(1, 201)]), 1_000_000)),),
    )  # fmt: skip
    samples = [
        sample(made_up, "spider-1", unsettled=0, median=500),
        sample(made_up, missing=7, unsettled=0.05),
        sample(made_up, numbering="pysol", key=2),
        sample(made_up, "simple-simon", lost=0.03, unsettled=0.01),
    ]
    return report_page(report_of(samples), [run])


def test_the_report_is_one_self_contained_page(page):
    checked = Checker(page)
    for link in checked.links:
        assert link == "data:," or link[1:] in checked.ids
    assert "http:" not in page
    assert "https:" not in page
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)
    assert "<script" not in page


def test_the_report_says_everything_it_must(page):
    text = " ".join(" ".join(Checker(page).text).split())
    for words in (
        "Proved won", "Upper bound", "95% interval", "Node limit", "1,000,000", "97.00%", "87.00%",
        "statistics page of an online Spider",
        "What may be concluded", "larger share", "7 planned deals have no outcome", "Mean positions", "Median",
        "The hardest deals", "Rules hash", load_variant("spider-4").rules_hash, "0.1.0+1", "2026-11-30T00:00:00",
        "20261130-000000-1", "interrupted", "Wilson", "Methods", "Spider (pysol deals)",
    ):  # fmt: skip
        assert words in text, words


def test_the_family_page_names_every_variant_and_its_published_figure(page):
    family = page[page.index('id="family"') : page.index('id="v0"')]
    text = html.unescape(re.sub("<[^>]*>", " ", family))
    for name in variant_ids():
        assert load_variant(name).name in text
    assert text.count("not settled here") == len(variant_ids()) - 3
    assert "97.31% of 10,000" in text


def test_everything_is_escaped(page):
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert" not in page


def test_the_same_data_give_the_same_page(page, made_up, monkeypatch, tmp_path):
    (tmp_path / "matplotlibrc").write_text("axes.facecolor: red\nfont.size: 30\n")
    monkeypatch.setenv("MATPLOTLIBRC", str(tmp_path))
    samples = [sample(made_up, "spider-1"), sample(made_up)]
    assert report_page(report_of(samples)) == report_page(report_of(samples))


def test_a_report_of_one_variant_of_few_or_no_deals(made_up):
    variant = load_variant("spider-4")
    nothing = dataclasses.replace(sample_of([], variant, "native"), missing_at=((1000, 3),))
    one = sample_of([table_of(made_up("spider-4", [5], unsettled=0))], variant, "native")
    unsettled = sample_of([table_of(made_up("spider-4", [5, 6], unsettled=1))], variant, "native")
    for only in (nothing, one, unsettled):
        Checker(report_page(report_of([only])))


def test_the_hardest_deals_and_their_commands(made_up):
    only = sample(made_up, numbering="pysol", unsettled=0.02)
    deals = only.hardest
    assert [deal.verdict for deal in deals[:5]] == ["unsettled"] * 4 + ["won"]
    assert [d.positions for d in deals] == sorted((d.positions for d in deals), reverse=True)
    for place, action in ((0, "solve"), (7, "replay")):
        seed = deals[place].seed
        command = f"winnable {action} --variant spider-4 --seed {seed} --numbering pysol --nodes 1000000"
        assert command_for(deals[place], only) == command


# ------------------------------------------------------------------------------------------------- the replay page


def almost_won():
    """Seven sets gone; the last one lies in two columns, a deal and two moves from the end."""
    variant = load_variant("spider-1")
    spades = [3 << 4 | rank for rank in range(13, 0, -1)]
    columns = (tuple(spades[:10]), tuple(spades[10:12]), (spades[12],), *[()] * 7)
    return Board(variant, None, None, columns, (0,) * 10, (), 7), "cb2-"


def winning_line():
    board, _ = almost_won()
    position, moves = Position(board), []
    for source, target in ((1, 0), (2, 0)):
        move = max((m for m in position.legal_moves() if m[:2] == (source, target)), key=lambda m: m.cards)
        position.play(move)
        moves.append(move)
    assert position.won
    return board, encode_line(moves)


def walk(variant, length):
    """A legal line through a deal, with two stock deals in it."""
    board = deal(load_variant(variant), 1)
    position, moves = Position(board), []
    while len(moves) < length:
        legal = position.legal_moves()
        plain = [move for move in legal if move != DEAL]
        move = DEAL if len(moves) in (3, 9) or not plain else plain[len(moves) * 7 % len(plain)]
        position.play(move)
        moves.append(move)
    return board, encode_line(moves)


def test_the_replay_page_is_self_contained_and_lists_the_moves():
    board, line = walk("spider-4", 30)
    page = replay_page(board, line)
    checked = Checker(page)
    text = " ".join(" ".join(checked.text).split())
    assert "Spider, native deal 1" in text
    assert "Played in 30 moves" in text
    assert page.count("<li>") == 30
    assert "http" not in page
    assert replay_page(board, line) == page


def test_the_replay_page_of_a_win():
    page = replay_page(*winning_line())
    assert "Won in 2 moves" in page
    assert "Spider score 1298" in page
    assert "completes a set" in page


def test_a_line_that_does_not_replay_names_its_move():
    board, _ = walk("spider-4", 1)
    with pytest.raises(LineError, match="move 1"):
        replay_page(board, "aa")


# -------------------------------------------------------------------------------------------------------- browser

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), ""
)


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
    if not CHROMIUM:
        pytest.skip("no chromium is installed (Debian: apt-get install chromium)")
    quiet = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync"]  # fmt: skip
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=CHROMIUM, args=quiet)
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser, tmp_path):
    """Open a page's text as a file; any message on the console, error or request for another file fails the test."""
    complaints, contexts = [], []

    def open_page(text, *, width=1200, scripts=True, dark=False, touch=False):
        path = tmp_path / "page.html"
        path.write_text(text, encoding="utf-8")
        context = browser.new_context(
            viewport={"width": width, "height": 800}, java_script_enabled=scripts, has_touch=touch,
            color_scheme="dark" if dark else "light",
        )  # fmt: skip
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: complaints.append(message.text))
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("request", lambda request: request.url.startswith("file:") or complaints.append(request.url))
        tab.goto(path.as_uri())
        return tab

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def test_a_figures_lines_lose_only_points_on_their_way():
    steps, back = "M 0 0 L 5.04 0 L 10 0 L 10 7 L 10 9.26 L 12 12 z", "M 0 5 L 10 5 L 3 5 M 1 2 L 3 -0.01"
    figure = inline_svg(f'<svg><path d="{steps}"/><path d="{back}"/></svg>', "f")
    assert figure == '<svg><path d="M0 0 10 0 10 9.3 12 12z"/><path d="M0 5 10 5 3 5M1 2 3 0"/></svg>'


def overflows(tab):
    return tab.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")


@pytest.mark.parametrize("width", [360, 768, 1000, 1400])
@pytest.mark.parametrize("dark", [False, True])
def test_the_report_fits_every_width_in_light_and_dark(visit, page, width, dark):
    tab = visit(page, width=width, dark=dark)
    assert not overflows(tab)
    # Text and ground must differ clearly, in figures too.
    ink, ground, text = tab.evaluate(
        """() => [getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor,
        getComputedStyle(document.querySelector('svg text')).fill]"""
    )
    light = [sum(map(int, re.findall(r"\d+", colour)[:3])) / 3 for colour in (ink, ground, text)]
    assert abs(light[0] - light[1]) > 150
    assert abs(light[2] - light[1]) > 150
    assert (light[1] < 60) == dark


def test_the_report_reads_whole_without_scripts(visit, page):
    tab = visit(page, scripts=False)
    for heading in ("The family", "Spider One Suit", "Beside published figures", "The hardest deals", "Methods"):
        assert tab.get_by_role("heading", name=heading).first.is_visible()
    assert tab.locator("svg").count() == 9
    assert all(tab.locator("svg").nth(i).is_visible() for i in range(9))
    tab.get_by_role("link", name="Simple Simon").click()
    assert tab.url.endswith("#v3")


def test_the_report_prints(visit, page):
    assert visit(page).pdf()[:5] == b"%PDF-"


def shown(tab):
    return tab.locator("#step").inner_text()


def cards(tab):
    return [
        "".join(column.replace("\ufe0e", " ").split("\n"))
        for column in tab.locator(".column").evaluate_all("all => all.map(c => c.textContent)")
    ]


def test_stepping_by_button_key_slider_and_list(visit):
    board, line = walk("spider-4", 20)
    tab = visit(replay_page(board, line))
    assert shown(tab) == "0 of 20"
    assert tab.locator(".card").count() == 54
    assert tab.locator(".card.down").count() == 44
    assert tab.locator("#back").is_disabled()
    start = cards(tab)
    tab.get_by_label("One move forward").click()
    assert shown(tab) == "1 of 20"
    assert tab.locator("#score").inner_text() == "499"
    assert cards(tab) != start
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowRight")
    assert shown(tab) == "3 of 20"
    tab.keyboard.press("ArrowRight")
    assert tab.locator("#stock").inner_text() == "40"
    assert tab.locator(".card.moved").count() == 10
    tab.keyboard.press("End")
    assert shown(tab) == "20 of 20"
    assert tab.locator("#forward").is_disabled()
    tab.keyboard.press("Home")
    assert cards(tab) == start
    tab.locator("#moves button").nth(6).click()
    assert shown(tab) == "7 of 20"
    assert tab.locator("[aria-current]").inner_text() == tab.locator("#said").inner_text()
    tab.locator("#slider").fill("12")
    assert shown(tab) == "12 of 20"


def test_every_frame_is_the_referees_position(visit):
    board, line = walk("spider-4", 25)
    tab = visit(replay_page(board, line))
    position = Position(board)
    names = {card: text for card in range(64) for text in [_name(card)] if 1 <= card & 15 <= 13}
    from pipeline.game.lines import parse_line

    for move in [None, *parse_line(line)]:
        if move is not None:
            position.play(move)
            tab.keyboard.press("ArrowRight")
        assert cards(tab) == ["".join(names[card] + " " for card in column) for column in position.columns]


def _name(card):
    ranks = ("", "A", *map(str, range(2, 11)), "J", "Q", "K", "", "")
    return ranks[card & 15] + "\u2663\u2666\u2665\u2660"[card >> 4]


def test_playing_pauses_at_the_end_and_starts_again(visit):
    tab = visit(replay_page(*winning_line()))
    tab.locator("#speed").select_option("200")
    tab.locator("#play").click()
    assert "Pause" in tab.locator("#play").inner_text()
    tab.wait_for_function("document.getElementById('step').textContent === '2 of 2'", timeout=5000)
    assert "Play" in tab.locator("#play").inner_text()
    assert tab.locator("#sets").inner_text() == "8 of 8"
    assert tab.locator("#score").inner_text() == "1298"
    assert tab.locator(".card").count() == 0
    tab.keyboard.press(" ")
    tab.keyboard.press("Home")
    assert shown(tab) == "0 of 2"


def test_touch_and_a_phones_width(visit):
    board, line = walk("big-spider", 12)
    tab = visit(replay_page(board, line), width=360, touch=True)
    assert not overflows(tab)
    assert tab.locator(".column").count() == 13
    tab.locator("#table").tap()
    assert shown(tab) == "1 of 12"
    box = tab.locator("#columns").bounding_box()
    middle = box["y"] + box["height"] / 2
    tab.mouse.move(box["x"] + 200, middle)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 80, middle)
    tab.mouse.up()
    assert shown(tab) == "2 of 12"
    tab.mouse.move(box["x"] + 80, middle)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 200, middle)
    tab.mouse.up()
    assert shown(tab) == "1 of 12"


def test_the_replay_page_without_scripts_shows_board_and_moves(visit):
    board, line = walk("spider-4", 5)
    tab = visit(replay_page(board, line), scripts=False)
    assert not tab.locator("#player").is_visible()
    assert tab.locator("noscript pre").is_visible() or "column 1:" in tab.content()
    assert tab.locator("#moves li").count() == 5
