import pytest

from pipeline.errors import BoardError
from pipeline.game.cards import card_text, cards_text, is_red, parse_card


def test_every_card_has_one_text():
    cards = [suit << 4 | rank for suit in range(4) for rank in range(1, 14)]
    assert [parse_card(card_text(card)) for card in cards] == cards
    assert len(set(map(card_text, cards))) == 52
    assert cards_text([0x3A, 0x01, 0x2D]) == "10S AC KH"


def test_cards_are_read_in_any_letters():
    assert parse_card("tS") == parse_card("10s") == parse_card("TS") == 0x3A
    assert [is_red(parse_card(card)) for card in ("5C", "5D", "5H", "5S")] == [False, True, True, False]


@pytest.mark.parametrize("text", ["", "1S", "11H", "S", "10", "KX", "10 S", "0S", "JSS"])
def test_what_is_no_card_is_named(text):
    with pytest.raises(BoardError, match="is not a card"):
        parse_card(text)
