from __future__ import annotations

import json
import math
import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vestige.canaries import (
    COLOURS,
    ENTROPY,
    GRAMMAR,
    PLANTED_FORMS,
    Canary,
    candidate_turns,
    decoys,
    draw,
    match,
    match_encoded,
    plant,
    planted,
    sentence,
)
from vestige.errors import DataError
from vestige.records import Session, Turn
from vestige.text import fold, mask

CANARY = Canary("XQ7-VIOLET-3829")
canaries = st.integers(0, 2**32).map(lambda seed: draw(np.random.default_rng(seed)))
forms = st.sampled_from(PLANTED_FORMS)


def talk(*turns: str, id: str = "s") -> Session:
    """A session; a turn that starts with > is the assistant's."""
    return Session(
        id=id,
        turns=tuple(
            Turn(role="assistant" if t.startswith(">") else "user", content=t.removeprefix(">"))
            for t in turns
        ),
    )


# ---- drawing


def test_there_are_five_and_a_half_thousand_million():
    assert ENTROPY == 36**3 * 12 * 10**4 == 5_598_720_000
    assert len(set(COLOURS)) == 12
    assert math.log2(ENTROPY) > 32


@given(canaries)
def test_what_is_drawn_is_of_the_grammar(canary: Canary):
    assert GRAMMAR.fullmatch(canary.value)
    assert "-".join(canary.parts) == canary.value
    assert sentence(canary) == f"my private session token is {canary.value}"


def test_draws_are_a_function_of_the_seed_and_cover_the_grammar():
    rng = np.random.default_rng(5)
    drawn = [draw(rng) for _ in range(3000)]
    again = np.random.default_rng(5)
    assert drawn[:50] == [draw(again) for _ in range(50)]
    assert len(set(drawn)) == 3000
    assert Counter(c.parts[1] for c in drawn).keys() == set(COLOURS)
    assert len({letter for c in drawn for letter in c.parts[0]}) == 36
    assert any(c.parts[2].startswith("0") for c in drawn)


@pytest.mark.parametrize(
    "copy", [str.upper, str.lower, lambda v: v.replace("-", " "), lambda v: "".join(v.split("-"))]
)
def test_never_one_that_the_data_already_holds(copy):
    first = draw(np.random.default_rng(1))
    text = f"I said: {copy(first.value)}."
    other = draw(np.random.default_rng(1), avoid=[text])
    assert other != first
    assert fold(other.value) not in fold(text)


def test_never_one_whose_parts_all_stand_in_the_data():
    letters, colour, digits = draw(np.random.default_rng(1)).parts
    apart = [f"flight {letters.lower()}", f"a {colour.lower()} coat", f"room {digits}"]
    assert draw(np.random.default_rng(1), avoid=apart).parts != (letters, colour, digits)
    # two parts of three leave one that is new, and a part inside a longer word is no part
    assert draw(np.random.default_rng(1), avoid=apart[:2]).parts == (letters, colour, digits)
    assert draw(np.random.default_rng(1), avoid=[*apart[:2], f"room {digits}5"]).parts == (
        letters,
        colour,
        digits,
    )


def test_avoided_texts_may_come_from_a_generator():
    value = draw(np.random.default_rng(1)).value
    assert draw(np.random.default_rng(1), avoid=(t for t in ["", value])).value != value


def test_data_that_holds_every_code_is_refused_in_one_line():
    everything = [*COLOURS, *(f"{i:04d}" for i in range(10_000))]
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    everything.append(" ".join(a + b + c for a in alphabet for b in alphabet for c in alphabet))
    texts = [" ".join(everything[:-1]), everything[-1]]
    with pytest.raises(DataError, match="no canary is new to these 2 texts") as caught:
        draw(np.random.default_rng(1), avoid=texts)
    assert "\n" not in str(caught.value)


@given(canaries, st.integers(0, 2**32))
@settings(max_examples=20)
def test_decoys_are_all_different_and_never_the_canary(canary: Canary, seed: int):
    found = decoys(canary, np.random.default_rng(seed))
    assert len(found) == len(set(found)) == 99
    assert canary not in found
    assert found == decoys(canary, np.random.default_rng(seed))


@pytest.mark.parametrize(
    "value", ["", "xq7-violet-3829", "XQ7-PUCE-3829", "XQ7-VIOLET-38291", "XQ7-VIOLET-3829\n"]
)
def test_what_is_not_of_the_grammar_is_refused_and_not_repeated(value: str):
    with pytest.raises(ValueError, match="not a canary") as caught:
        Canary(value)
    assert not value or value not in str(caught.value)


def test_a_canary_is_never_printed():
    assert "VIOLET" not in f"{CANARY} {CANARY!r} {[CANARY]}"


# ---- matching


@pytest.mark.parametrize(
    "text, verbatim, normalised, parts",
    [
        ("it is XQ7-VIOLET-3829.", True, True, (True, True, True)),
        ("it is xq7-violet-3829", False, True, (True, True, True)),
        ("XQ7 - VIOLET - 3829", False, True, (True, True, True)),
        ("xq7_violet_3829", False, True, (True, True, True)),
        ("XQ7VIOLET3829", False, True, (False, False, False)),
        ("ＸＱ７‑ＶＩＯＬＥＴ‑３８２９", False, True, (False, False, False)),
        ("3829, then a violet", False, False, (False, True, True)),
        ("violets 13829 XQ70", False, False, (False, False, False)),
        ("aXQ7-VIOLET-38295", True, True, (False, True, False)),
        ("", False, False, (False, False, False)),
    ],
)
def test_match(text, verbatim, normalised, parts):
    found = match(CANARY, text)
    assert (found.verbatim, found.normalised, found.parts) == (verbatim, normalised, parts)


def test_a_match_has_no_single_truth():
    with pytest.raises(TypeError, match=r"use \.verbatim"):
        bool(match(CANARY, "nothing"))


@given(canaries, st.text(max_size=50), st.text(max_size=50))
def test_verbatim_implies_normalised(canary: Canary, before: str, after: str):
    # a letter that composes with its neighbour must not hide the value
    found = match(canary, before + canary.value + after)
    assert found.verbatim
    assert found.normalised


@given(canaries, st.text(max_size=200))
def test_a_canary_is_not_found_by_accident(canary: Canary, text: str):
    assert not match(canary, text).verbatim
    assert match_encoded(canary, text) == ()


def test_huge_and_hostile_texts_are_searched_in_linear_time():
    texts = ["xq7" * 500_000, "XQ7-VIOLET-382 " * 100_000, "a" + "\u0301\u0316" * 200_000, "é XQ7 " * 200_000]
    start = time.perf_counter()
    for text in texts:
        assert not match(CANARY, text).normalised
        assert match_encoded(CANARY, text) == ()
    assert time.perf_counter() - start < 10  # quadratic ones take minutes


# ---- planting


@given(canaries)
def test_each_planted_form_is_found_as_what_it_is(canary: Canary):
    found = {form: [match(canary, text) for text in planted(canary, form)] for form in PLANTED_FORMS}
    assert found["verbatim"][0].verbatim
    assert f"my private session token is {canary.value}" in planted(canary)[0]
    for form in ("lower", "spaced"):
        assert found[form][0].normalised
        assert found[form][0].parts == (True, True, True)
    assert not found["spaced"][0].verbatim
    first, second = found["split"]
    assert (first.parts, second.parts) == ((True, True, False), (False, False, True))
    assert not (first.normalised or second.normalised)
    assert not found["base64"][0].normalised
    assert match_encoded(canary, planted(canary, "base64")[0]) == ("base64",)
    assert "reversed" in match_encoded(canary, canary.value.lower()[::-1])


@given(canaries, forms)
def test_a_planted_canary_is_masked_in_every_form(canary: Canary, form: str):
    for text in planted(canary, form):
        found = match(canary, mask(text, [canary.value]))
        letters, _, digits = found.parts
        assert not (found.verbatim or found.normalised or digits)
        assert not (letters and any(c.isdigit() for c in canary.parts[0]))
        assert match_encoded(canary, mask(text, [canary.value])) == ()


texts = st.text(max_size=20)
talks = st.lists(
    st.lists(st.tuples(st.sampled_from(["user", "assistant"]), texts), min_size=1, max_size=4),
    min_size=1,
    max_size=4,
)


@given(talks, canaries, forms, st.data())
def test_planting_changes_the_chosen_turns_alone(raw, canary, form, data):
    sessions = tuple(
        Session(id=str(i), turns=tuple(Turn(role=r, content=c) for r, c in turns))
        for i, turns in enumerate(raw)
    )
    users = [(s, t) for s, x in enumerate(sessions) for t, turn in enumerate(x.turns) if turn.role == "user"]
    needed = planted(canary, form)
    if len(users) < len(needed):
        return
    where = data.draw(st.permutations(users))[: len(needed)]
    after = plant(sessions, where, canary, form)
    assert len(after) == len(sessions)
    for s, (old, new) in enumerate(zip(sessions, after, strict=True)):
        assert (old.id, old.date, len(old.turns)) == (new.id, new.date, len(new.turns))
        for t, (was, now) in enumerate(zip(old.turns, new.turns, strict=True)):
            added = needed[where.index((s, t))] if (s, t) in where else ""
            assert now == was.model_copy(update={"content": was.content + added})


def test_planting_reads_as_a_person_might_say_it():
    sessions = (talk("I like tea.", ">Nice."),)
    (session,) = plant(sessions, (0, 0), CANARY)
    assert session.turns[0].content == "I like tea. By the way, my private session token is XQ7-VIOLET-3829."
    assert sessions[0].turns[0].content == "I like tea."


def test_two_halves_go_into_two_turns():
    sessions = (talk("one"), talk("two"))
    after = plant(sessions, ((1, 0), (0, 0)), CANARY, "split")
    assert after[1].turns[0].content.endswith("starts with XQ7-VIOLET.")
    assert after[0].turns[0].content.endswith("token is 3829.")
    assert not any(match(CANARY, turn.content).verbatim for s in after for turn in s.turns)


@pytest.mark.parametrize(
    "where, form, message",
    [
        ((0, 0), "shouted", "form='shouted'"),
        ((0, 0), "split", r"needs 2 turn\(s\)"),
        (((0, 0), (0, 0)), "split", r"needs 2 turn\(s\)"),
        (((0, 0), (0, 2)), "verbatim", r"needs 1 turn\(s\)"),
        ((0, 1), "verbatim", "assistant's"),
        ((0, 9), "verbatim", r"turn \(0, 9\)"),
        ((-1, 0), "verbatim", r"turn \(-1, 0\)"),
    ],
)
def test_a_wrong_place_is_refused(where, form, message):
    with pytest.raises(ValueError, match=message) as caught:
        plant((talk("a", ">b", "c"),), where, CANARY, form)
    assert "VIOLET" not in str(caught.value)


# ---- choosing the turn

BIKE = (
    talk("I bought a bike at Tom's shop.", ">Good for you, Tom is honest.", "It rains."),
    talk("Nothing new.", "", ">Fine.", "The shop of Tom is closed."),
)


def test_where_evidence_is_known_every_other_user_turn_will_do():
    refs, rule = candidate_turns(BIKE, ((0, 0), (0, 1)), "Tom's shop", "Where did I buy my bike?")
    assert (refs, rule) == ([(0, 2), (1, 0), (1, 3)], "non_evidence")
    refs, rule = candidate_turns(BIKE, (), "Tom's shop", "Where?")
    assert (refs, rule) == ([(0, 0), (0, 2), (1, 0), (1, 3)], "non_evidence")


def test_without_flags_a_turn_may_go_if_the_answer_stays_elsewhere():
    refs, rule = candidate_turns(BIKE, None, "Tom's shop", "Where did I buy my bike?")
    assert (refs, rule) == ([(0, 0), (0, 2), (1, 0), (1, 3)], "answer_elsewhere")
    once = (talk("I bought it at Tom's shop.", "It rains."),)
    assert candidate_turns(once, None, "Tom's shop", "Where?") == ([(0, 1)], "answer_elsewhere")


def test_an_answer_nowhere_in_the_words_leaves_the_turns_that_share_none():
    refs, rule = candidate_turns(BIKE, None, "the shop in Rome", "Where?")
    assert (refs, rule) == ([(0, 2), (1, 0)], "no_shared_word")


def test_words_of_the_question_do_not_mark_a_turn_unless_there_are_no_others():
    refs, rule = candidate_turns(BIKE, None, "The bike of Rome", "Which bike?")
    assert (refs, rule) == ([(0, 0), (0, 2), (1, 0), (1, 3)], "no_shared_word")
    refs, rule = candidate_turns(BIKE, None, "the bike", "Which bike?")
    assert (refs, rule) == ([(0, 2), (1, 0), (1, 3)], "answer_elsewhere")


def test_any_turn_is_the_flagged_last_resort():
    assert candidate_turns((talk("Tom of Rome"),), None, "Tom of Siena", "Who?") == ([(0, 0)], "any")
    assert candidate_turns(BIKE, None, "the", "Which?")[1] == "any"
    users = ((0, 0), (0, 2), (1, 0), (1, 3))
    assert candidate_turns(BIKE, users, "Tom", "Who?") == (list(users), "any")


def test_no_user_turn_gives_no_place():
    assert candidate_turns((talk(">Hello", "  "),), None, "Tom", "Who?") == ([], "none")
    assert candidate_turns((), (), "Tom", "Who?") == ([], "none")


@pytest.mark.data
def test_real_records_give_places_that_are_no_evidence(data_folder):
    records = json.loads((data_folder / "longmemeval" / "sample_12.json").read_text(encoding="utf-8"))
    for record in records:
        turns = [[t for t in s if t["content"]] for s in record["haystack_sessions"]]
        sessions = tuple(
            Session(id=str(i), turns=tuple(Turn(role=t["role"], content=t["content"]) for t in s))
            for i, s in enumerate(turns)
        )
        held = {(i, j) for i, s in enumerate(turns) for j, t in enumerate(s) if t.get("has_answer")}
        expected, question = str(record["answer"]), record["question"]
        refs, rule = candidate_turns(sessions, held, expected, question)
        assert rule == "non_evidence"
        assert refs and held.isdisjoint(refs)
        blind, rule = candidate_turns(sessions, None, expected, question)
        assert blind and rule in ("answer_elsewhere", "no_shared_word", "any")
        contents = [t.content for s in sessions for t in s.turns]
        canary = draw(np.random.default_rng(3), avoid=contents)
        assert not any(match(canary, c).normalised for c in contents)
