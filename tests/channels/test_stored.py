"""What a state of the store shows: rows, summaries, new writes, and vectors that outlive their text."""

from __future__ import annotations

import numpy as np

from vestige.channels import Observation, artifacts
from vestige.runs.inspection import SeenArtifact

SECRET = "my token is XQ7-VIOLET-3829"


def vector(seed: int) -> bytes:
    raw = np.random.default_rng(seed).normal(size=16)
    return (raw / np.linalg.norm(raw)).astype("<f4").tobytes()


def unit(
    name: str, text: str, *, stored: int | None = None, embeds: int | None = None, tier: str = "raw"
) -> SeenArtifact:
    """A stored item; `stored` and `embeds` name the vector it has and the one that its text has now."""
    return SeenArtifact(
        id=name,
        tier=tier,
        text=text,
        vector=None if stored is None else vector(stored),
        text_vector=None if embeds is None else vector(embeds),
        watched=stored is not None,
    )


def state(*units: SeenArtifact) -> dict[str, SeenArtifact]:
    return {u.id: u for u in units}


def seen(*args: object, **kwargs: object) -> dict[str, Observation]:
    return {o.channel: o for o in artifacts(*args, **kwargs)}


BEFORE = state(unit("a", SECRET, stored=1, embeds=1), unit("b", "tea"))


def test_rows_summaries_and_new_writes() -> None:
    now = state(
        unit("a", "one"),
        unit("s", "two", tier="summary"),
        unit("n", "three"),
        unit("t", "four", tier="summary"),
        unit("o", "five", tier="order"),
    )
    shown = seen(now, BEFORE, {"n", "t"}, ("order",))
    assert shown["storage"].texts == ("one", "two", "three", "four", "five")
    assert shown["summary"].texts == ("two", "four")
    assert shown["memory_writes"].texts == ("three", "five")
    assert {o.grade for c, o in shown.items() if c != "vectors"} == {"live_row"}


def test_an_empty_store_is_looked_at_and_shows_nothing() -> None:
    shown = [(o.channel, o.texts, o.items) for o in artifacts({}, new_ids=())]
    assert shown == [(c, (), 1) for c in ("storage", "summary", "memory_writes")]


def test_before_the_boundary_nothing_is_a_new_write() -> None:
    assert set(seen(BEFORE)) == {"storage", "summary"}


def same(now: dict[str, SeenArtifact], **kwargs: object) -> tuple[int, int]:
    shown = seen(now, BEFORE, **kwargs)["vectors"]
    assert shown.grade == "vector_only" and shown.texts == ()
    return shown.vectors_same, shown.items


def test_vectors_that_still_stand() -> None:
    assert same(BEFORE) == (1, 1), "an unchanged item is the positive control"
    assert same(state(unit("a", "my token is", stored=1, embeds=2))) == (1, 1), "scrubbed, not embedded anew"
    assert same(state(unit("a", "my token is", stored=2, embeds=2))) == (0, 1), "scrubbed and embedded anew"
    assert same(state(unit("a", "My token", stored=1, embeds=1))) == (0, 1), "the new text embeds to the same"
    assert same({}) == (0, 1), "gone"
    assert same(state(unit("c", "other", stored=1, embeds=3))) == (1, 1), "gone, its vector given to another"
    assert same(state(unit("a", SECRET))) == (0, 1), "the vector alone is gone"


def test_only_the_target_s_items_are_followed() -> None:
    assert same(BEFORE, needles=("xq7-violet-3829",)) == (1, 1)
    assert "vectors" not in seen(BEFORE, BEFORE, needles=("B4K-AMBER-0517",))
    assert "vectors" not in seen(BEFORE), "nothing to compare with"


def test_what_is_no_vector_is_none() -> None:
    for data in (b"", b"123", b"\x00" * 64, np.full(16, np.nan, "<f4").tobytes()):
        broken = state(unit("a", SECRET).model_copy(update={"vector": data, "watched": True}))
        assert "vectors" not in seen(broken, broken)
        assert seen(broken, BEFORE)["vectors"].vectors_same == 0
