from __future__ import annotations

import base64
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestige.text import STOP_WORDS, content_words, covers, encoded_forms, fold, mask, sentences, tokens

SECRET = "XQ7-VIOLET-3829"

# ---- words


@pytest.mark.parametrize(
    "text, words",
    [
        ("43", ("43",)),
        ("6:45 AM", ("6", "45", "am")),
        ("three", ("three",)),
        ("the", ()),
        ("", ()),
        ("?! … —", ()),
        ("25:50", ("25", "50")),
        ("10%", ("10",)),
        ("$1,200.00", ("1200",)),
        ("3.50 km", ("3.5", "km")),
        ("10km", ("10", "km")),
        ("May 7th, 2023", ("may", "7", "2023")),
        ("2023-05-07", ("2023", "5", "7")),
        ("7:00 a.m.", ("7", "am")),
        ("I am at my grandma's", ("grandma",)),
        ("grandma’s café", ("grandma", "cafe")),
        ("She doesn't smoke", ("not", "smoke")),
        ("cannot", ("not",)),
        ("five o'clock", ("five", "oclock")),
        ("the U.S.", ("us",)),
        ("low-impact exercises", ("low", "impact", "exercises")),
        ("Nu, pogodi!", ("nu", "pogodi")),
        ("Straße in İstanbul", ("strasse", "istanbul")),
        ("猫が好き", ("猫", "か", "好", "き")),
        ("B12 and xq7", ("b12", "xq7")),
    ],
)
def test_content_words(text: str, words: tuple[str, ...]):
    assert content_words(text) == words


def test_numbers_and_negations_are_never_stop_words():
    assert STOP_WORDS.isdisjoint(["no", "not", "never", "one", "two", "before", "after", "may"])


@pytest.mark.parametrize(
    "expected, reply, right",
    [
        ("43", "She is 43 years older.", True),
        ("43", "It was in 1943.", False),
        ("3", "You bought three albums.", True),
        ("twenty-five", "25 of them", True),
        ("5", "twenty-five", False),
        ("20", "twenty five", False),
        ("6:45 AM", "You wake up at 6:45am.", True),
        ("6:45 AM", "You wake up at 6:45 PM.", False),
        ("7:00 PM", "at 7 p.m.", True),
        ("25:50", "27 minutes and 12 seconds", False),
        ("25:50", "your best was 25:50", True),
        ("1200 dollars", "1,200.00 dollars", True),
        ("cat", "concatenate", False),
        ("Dr. Lee's clinic", "The clinic of Lee, Dr., I think", True),
        ("not allowed", "allowed", False),
        ("not allowed", "It isn't allowed", True),
        ("the", "the", False),
        ("", "anything", False),
    ],
)
def test_covers_compares_whole_words(expected: str, reply: str, right: bool):
    assert covers(content_words(expected), reply) is right


@given(st.text(max_size=80))
def test_a_text_covers_its_own_words(text: str):
    words = content_words(text)
    assert covers(words, text) is bool(words)


@given(st.text(max_size=80))
def test_tokens_are_lower_case_letters_and_digits(text: str):
    for token in tokens(text):
        assert token
        assert token == token.lower()
        assert all(c.isalnum() or c == "." for c in token)


# ---- sentences


@pytest.mark.parametrize(
    "text, parts",
    [
        (
            "Dr. Smith left at 6:45 a.m. on Monday. He paid 3.50!",
            ["Dr. Smith left at 6:45 a.m. on Monday.", "He paid 3.50!"],
        ),
        ("I wake at 6:45 a.m. Then I run.", ["I wake at 6:45 a.m.", "Then I run."]),
        ("One\nTwo\r\n\r\nThree", ["One", "Two", "Three"]),
        ("Buy:\n1. Milk. Fresh\n- eggs", ["Buy:", "1. Milk.", "Fresh", "- eggs"]),
        ('"Oh no!" she said. "Why?"', ['"Oh no!" she said.', '"Why?"']),
        ("Wait... what? Yes!! Fine", ["Wait... what?", "Yes!!", "Fine"]),
        ("J. K. Rowling wrote it. I read it.", ["J. K. Rowling wrote it.", "I read it."]),
        ("it is lower. so is this", ["it is lower.", "so is this"]),
        ("I said no. No. 5 is mine.", ["I said no.", "No. 5 is mine."]),
        ("我喜欢猫。你呢？", ["我喜欢猫。", "你呢？"]),
        ("see example.com/a.b?c=d! now", ["see example.com/a.b?c=d!", "now"]),
        (" \n ", []),
    ],
)
def test_sentences(text: str, parts: list[str]):
    assert sentences(text) == parts


def test_the_planted_sentence_stays_whole():
    turn = f"I like tea. By the way, my private session token is {SECRET}. And you?"
    assert sentences(turn)[1] == f"By the way, my private session token is {SECRET}."


@given(st.text(alphabet="aB1 .!?\n\t\"')-。…é", max_size=60))
def test_sentences_lose_only_white_space(text: str):
    parts = sentences(text)
    assert "".join("".join(parts).split()) == "".join(text.split())
    assert all(part == part.strip() != "" for part in parts)


# ---- folding


@pytest.mark.parametrize(
    "copy",
    [
        "xq7 violet-3829",
        "XQ7VIOLET3829",
        "xq7_violet/3829",
        "ＸＱ７ Violet ３８２９",
        "XQ7‑VIOLET‑3829",
        "X\u200bQ7-VIOLET-3829",
    ],
)
def test_copies_of_a_canary_fold_to_the_same(copy: str):
    assert fold(copy) == fold(SECRET) == "xq7violet3829"


def test_letters_of_another_alphabet_stay_different():
    assert fold("ХQ7-VIOLET-3829") != fold(SECRET)  # a Cyrillic Х


@given(st.text(max_size=60))
def test_folding_twice_is_folding_once(text: str):
    assert fold(fold(text)) == fold(text)
    assert all(c.isalnum() for c in fold(text))


# ---- masking


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "text, shown",
    [
        (f"token {SECRET}.", "token [canary]."),
        ("token xq7 violet 3829.", "token [canary]."),
        ("token ＸＱ７ Violet ３８２９ é.", "token [canary] é."),
        ("X Q 7 V I O L E T 3 8 2 9", "[canary]"),
        (SECRET[::-1], "[canary]"),
        (SECRET.encode().hex(), "[canary]"),
        (f"it is {encoded(SECRET)}!", "it is [canary]!"),
        ("starts with XQ7-VIOLET.", "starts with [canary part]."),
        ("ends in violet 3829", "ends in [canary part]"),
        ("the rest is 3829, as said", "the rest is [canary part], as said"),
        ("a violet, the number 13829 and XQ70", "a violet, the number 13829 and XQ70"),
        (f"<b>{SECRET}</b>{SECRET}", "<b>[canary]</b>[canary]"),
        ("café au lait", "café au lait"),
        ("", ""),
    ],
)
def test_mask(text: str, shown: str):
    assert mask(text, [SECRET]) == shown


def test_a_part_that_is_a_number_can_be_left_as_one():
    assert mask("3829 of 4000; XQ7", [SECRET], numbers=False) == "3829 of 4000; [canary part]"
    assert mask(f"{SECRET}, violet 3829", [SECRET], numbers=False) == "[canary], [canary part]"


@pytest.mark.parametrize("before", ["", "a", "ab", "abc"])
def test_base64_is_masked_at_every_alignment(before: str):
    whole = encoded(f"{before}{SECRET} and more")
    hidden = mask(f"dump: {whole}", [SECRET])
    assert "[canary]" in hidden
    assert not any(core in hidden for core in encoded_forms(SECRET)["base64"])


noise = st.text(alphabet="XQ7VIOLET3829 -_.xqé\u0301canry[]", max_size=12)
secret = st.one_of(st.just(SECRET), st.from_regex(r"[A-Z0-9]{3}-(TEAL|IVORY)-[0-9]{4}", fullmatch=True))


@given(
    secret,
    st.lists(
        st.tuples(noise, st.sampled_from(["as is", "lower", "spaced", "wide", "reversed", "half"])),
        max_size=5,
    ),
    noise,
)
def test_nothing_folded_is_left_after_masking(value: str, pieces: list[tuple[str, str]], end: str):
    forms = {
        "as is": value,
        "lower": value.lower(),
        "spaced": " ".join(value),
        "wide": "".join(chr(ord(c) + 0xFEE0) for c in value),
        "reversed": value[::-1],
        "half": value[:5],
    }
    text = "".join(before + forms[form] for before, form in pieces) + end
    hidden = mask(text, [value])
    assert value not in hidden
    assert fold(value) not in fold(hidden)
    assert fold(value[::-1]) not in fold(hidden)


@given(st.text(max_size=40), st.lists(st.text(max_size=8), max_size=3))
def test_no_secret_of_any_kind_is_left(text: str, secrets: list[str]):
    hidden = mask(text, secrets)
    for value in secrets:
        if fold(value) and fold(value) in fold(text):
            assert fold(value) not in fold(hidden)
        if value.strip() and not fold(value) and value not in "[***]":
            assert value not in hidden


@given(st.text(alphabet="abc é.", max_size=40))
def test_a_text_without_the_secret_is_left_alone(text: str):
    assert mask(text, [SECRET]) == text


def test_a_secret_that_the_label_itself_holds_is_still_hidden():
    assert mask("her name is Cana", ["Can"]) == "her name is [***]a"


def test_masking_goes_on_until_no_new_copy_forms():
    # what stands on both sides of the first mask is the secret again
    assert mask("her: cCanan!", ["Can"]) == "her: [***]!"


@pytest.mark.parametrize(
    "text, value",
    [
        ("c" * 40 + "can" + "an" * 40, "Can"),  # every mask makes the next copy
        ("so: ᄀ ᅡ", "가"),  # folds to the secret only as a whole
    ],
)
def test_a_text_that_resists_masking_is_not_shown(text: str, value: str):
    assert fold(value) in fold(text)
    assert mask(text, [value]) == "[***]"


def test_short_secrets_have_no_encoded_forms():
    assert encoded_forms("abc") == {}


# ---- hostile and huge texts

HOSTILE = {
    "dots": "." * 300_000,
    "dots and spaces": ". " * 150_000,
    "combining marks": "a" + "\u0301\u0316" * 150_000,
    "marks that decompose": "\u0f73" * 100_000,
    "letters and dots": "a." * 150_000,
    "digits": "1" * 300_000,
    "grouped digits": "1,000" * 60_000,
    "zeros": "1." + "0" * 300_000 + "1",
    "part of a canary": "xq7" * 100_000,
    "canaries": f"{SECRET} " * 20_000,
    "quotes": '."' * 150_000,
    "clock": "5 a." * 75_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_take_linear_time(name: str):
    text = HOSTILE[name]
    start = time.perf_counter()
    fold(text)
    tokens(text)
    sentences(text)
    mask(text, [SECRET])
    assert time.perf_counter() - start < 10  # quadratic ones take minutes
