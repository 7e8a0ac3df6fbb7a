"""The one pass finds exactly what plain search finds, however the bytes come."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestige.channels.storage.search import Found, Pattern, Search

LETTERS = st.sampled_from([b"a", b"b", b"A", b"B", b"\x00", b"-"])
WORDS = st.lists(LETTERS, min_size=4, max_size=24).map(b"".join)


def plainly(patterns: list[Pattern], data: bytes) -> set[Found]:
    found: set[Found] = set()
    for index, pattern in enumerate(patterns):
        text = data.lower() if pattern.any_case else data
        at = text.find(pattern.data)
        while at >= 0:
            found.add(Found(at, index))
            at = text.find(pattern.data, at + 1)
    return found


def pattern(data: bytes, any_case: bool) -> Pattern:
    return Pattern(data.lower() if any_case else data, any_case)


@given(
    patterns=st.lists(st.builds(pattern, WORDS, st.booleans()), max_size=8),
    pieces=st.lists(st.one_of(WORDS, st.binary(max_size=40)), max_size=12),
    data=st.data(),
)
def test_it_finds_what_plain_search_finds(
    patterns: list[Pattern], pieces: list[bytes], data: st.DataObject
) -> None:
    """A small alphabet, and pieces that hold the patterns whole, so that there is much to find."""
    planted = data.draw(st.lists(st.sampled_from([p.data for p in patterns]), max_size=5)) if patterns else []
    mixed = [*pieces, *planted]
    whole = b"".join(mixed)
    searching = Search(patterns).start()
    found = [f for piece in mixed for f in searching.feed(piece)]
    assert len(found) == len(set(found))
    assert set(found) == plainly(patterns, whole)
    assert searching.size == len(whole)
    assert set(Search(patterns).start().feed(whole)) == plainly(patterns, whole)


@pytest.mark.parametrize("size", range(4, 33))
def test_every_length_at_every_place(size: int) -> None:
    word = bytes(range(65, 65 + size))
    search = Search([Pattern(word), Pattern(word.lower(), True)])
    for before in range(17):
        for case, expected in ((word, {0, 1}), (word.swapcase(), {1})):
            found = search.start().feed(b"." * before + case + b"." * 9)
            assert {f.pattern for f in found} == expected
            assert {f.offset for f in found} == {before}


def test_a_pattern_across_blocks_of_a_large_feed() -> None:
    word = b"a word to be looked for"
    for edge in (1 << 18, 1 << 19):
        for shift in range(-len(word), 3):
            data = bytearray(b"\x01" * ((1 << 19) + 100))
            data[edge + shift : edge + shift + len(word)] = word
            assert Search([Pattern(word)]).start().feed(bytes(data)) == [Found(edge + shift, 0)]


def test_memory_does_not_grow_with_what_is_fed() -> None:
    searching = Search([Pattern(b"something"), Pattern(b"x" * 300)]).start()
    for _ in range(50):
        assert searching.feed(bytes(1 << 16)) == []
        assert len(searching._tail) < 300
    assert searching.size == 50 << 16


def test_the_same_bytes_twice_are_two_patterns() -> None:
    assert Search([Pattern(b"same"), Pattern(b"same")]).start().feed(b"the same") == [
        Found(4, 0),
        Found(4, 1),
    ]


def test_nothing_to_look_for() -> None:
    assert Search([]).start().feed(b"anything") == []


@pytest.mark.parametrize("wrong", [Pattern(b"abc"), Pattern(b""), Pattern(b"ABCD", True)])
def test_a_pattern_that_is_none(wrong: Pattern) -> None:
    with pytest.raises(ValueError, match="at least four bytes"):
        Search([wrong])
