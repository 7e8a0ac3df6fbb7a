"""What is left in a tier, from states made by hand: one vector, one text at a time."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest

from vestige.audits.remains import Remains, remains_of
from vestige.audits.study import Fixture
from vestige.runs.inspection import SAME_VECTOR, SeenArtifact

CANARY = "XQ7-VIOLET-3829"
NOISE = np.random.default_rng(3).normal(size=(100, 8))
WITH = np.array([1.0, 0, 0, 0, 0, 0, 0, 0])
WITHOUT = np.array([0.0, 1, 0, 0, 0, 0, 0, 0])


def fixture(form: str = "verbatim", countable: tuple[bool, bool, bool] = (True, True, True)) -> Fixture:
    needles = {
        "verbatim": (CANARY,),
        "split": ("XQ7-VIOLET", "token is 3829"),
        "base64": (base64.b64encode(CANARY.encode()).decode(),),
    }
    return Fixture(
        source_id="x",
        cluster="x",
        canary=CANARY,
        form=form,
        needles=needles[form],
        planted_at=((0, 0),),
        planted_by="hand",
        countable=countable,
        question="?",
        expected="!",
        abstention=False,
        question_type="",
    )


def raw(vector: np.ndarray) -> bytes:
    return (vector / np.linalg.norm(vector)).astype("<f4").tobytes()


def unit(
    id: str, text: str, vector: np.ndarray | None = None, now: np.ndarray | None = None, tier: str = "raw"
) -> SeenArtifact:
    """A watched unit: its stored vector, and what its present text embeds to."""
    return SeenArtifact(
        id=id,
        tier=tier,
        text=text,
        vector=None if vector is None else raw(vector),
        text_vector=None if vector is None else raw(vector if now is None else now),
        watched=True,
    )


def candidates(true: np.ndarray = WITH) -> bytes:
    """The true sentence's vector first, then 99 that point elsewhere."""
    decoys = NOISE[1:].copy()
    decoys[:, 0] = -1.0
    return b"".join(raw(row) for row in (true, *decoys))


def left(before: list[SeenArtifact], after: list[SeenArtifact], **given: Any) -> Remains:
    used = fixture(**{k: v for k, v in given.items() if k in ("form", "countable")})
    state = ({a.id: a for a in units} for units in (before, after))
    return remains_of(used, *state, candidates(given.get("true", WITH)))["raw"]


HELD = [unit("u1", f"my private session token is {CANARY}", WITH), unit("u2", "I like tea", WITHOUT)]


def test_nothing_was_done() -> None:
    found = left(HELD, HELD)
    assert found == Remains(text=True, partial=1.0, vector=0.0, first=True, rank=1.0)


def test_text_gone_and_vector_left() -> None:
    found = left(HELD, [unit("u1", "my private session token is", WITH, now=WITHOUT), HELD[1]])
    assert found == Remains(text=False, partial=0.0, vector=1.0, first=True, rank=1.0)


def test_text_gone_and_embedded_again() -> None:
    after = [unit("u1", "my private session token is", -WITH, now=-WITH), HELD[1]]
    found = left(HELD, after)
    assert (found.text, found.partial, found.vector, found.first) == (False, 0.0, 0.0, False)
    assert found.rank == 100.0  # the true sentence is now the farthest of all


def test_the_unit_gone_altogether() -> None:
    found = left(HELD, [HELD[1]])
    assert found == Remains(text=False, partial=0.0, vector=0.0, first=False, rank=None)


def test_the_unit_gone_and_its_vector_under_another_id() -> None:
    found = left(HELD, [HELD[1], unit("u9", "my private session token is", WITH, now=WITHOUT)])
    assert (found.text, found.vector, found.first) == (False, 1.0, True)


def test_half_of_the_vectors_left() -> None:
    before = [HELD[0], unit("u3", f"again: {CANARY}", WITH + 0.1 * WITHOUT)]
    after = [
        unit("u1", "my token is", WITHOUT, now=WITHOUT),
        unit("u3", "again:", WITH + 0.1 * WITHOUT, now=WITHOUT),
    ]
    assert left(before, after).vector == 0.5


@pytest.mark.parametrize(("gap", "same"), [(0.5 * SAME_VECTOR, True), (4 * SAME_VECTOR, False)])
def test_how_near_counts_as_the_same_vector(gap: float, same: bool) -> None:
    angle = np.arccos(1 - gap)
    turned = np.cos(angle) * WITH + np.sin(angle) * WITHOUT
    assert (left(HELD, [unit("u1", "gone", turned, now=WITHOUT)]).vector == 1.0) is same


def test_a_vector_whose_text_still_embeds_there_is_no_stale_vector() -> None:
    """The removal changed nothing that the embedder sees, as where its window ends before the canary."""
    assert left(HELD, [unit("u1", "my private session token is", WITH, now=WITH)]).vector == 0.0


@pytest.mark.parametrize(
    ("text", "text_left", "partial"),
    [
        ("the token xq7-violet-3829", True, 1.0),
        ("XQ7 VIOLET 3829", True, 1.0),
        (
            "ＸＱ７－ＶＩＯＬＥＴ－３８２９",
            True,
            0.0,
        ),  # full-width: folded it is the value; its parts are not spelled so
        ("VIOLET-3829", False, 2 / 3),
        ("a violet dress", False, 1 / 3),
        ("ultraviolet light, 38291", False, 0.0),  # only whole words are parts
        ("XQ7VIOLET3829", True, 0.0),
        ("my token is [REDACTED]", False, 0.0),
    ],
)
def test_text_and_parts(text: str, text_left: bool, partial: float) -> None:
    found = left(HELD, [unit("u1", text, WITHOUT)])
    assert found.text is text_left
    assert found.partial == pytest.approx(partial)


def test_parts_that_stood_there_without_the_canary_do_not_count() -> None:
    """Somebody talks of violets anyway: only the two other parts are evidence."""
    before = [*HELD, unit("u3", "I grow violet and lilac", NOISE[0])]
    after = [unit("u1", "my token is", WITHOUT), *before[1:]]
    assert left(before, after).partial == pytest.approx(1 / 3)
    assert left(before, after, countable=(True, False, True)).partial == 0.0
    assert left(before, before, countable=(True, False, True)).partial == 1.0
    assert left(before, after, countable=(False, False, False)).partial is None


def test_two_halves_in_two_units_are_no_whole() -> None:
    before = [
        unit("u1", "it starts with XQ7-VIOLET.", WITH),
        unit("u2", "the rest of my token is 3829.", WITH + WITHOUT),
    ]
    found = left(before, before, form="split")
    assert (found.text, found.partial, found.vector) == (None, 1.0, 0.0)
    after = [unit("u1", "it starts with", WITH, now=WITHOUT), before[1]]
    assert left(before, after, form="split").vector == 0.5


def test_no_control_no_claim() -> None:
    clean = [unit("u2", "I like tea", WITHOUT)]
    assert left(clean, clean) == Remains(text=None, partial=None, vector=None, first=None, rank=None)
    encoded = base64.b64encode(CANARY.encode()).decode()
    before = [unit("u1", f"my token is {encoded} in base64", WITH)]
    found = left(before, before, form="base64")
    assert (
        found.text is True
    )  # whole in the encoding it was planted in, though no part of it stands at word boundaries
    assert found.partial is None
    assert left(before, clean, form="base64").text is False
    assert found.vector == 0.0  # its vectors can be compared all the same


def test_what_is_found_afterwards_needs_no_control() -> None:
    clean = [unit("u1", "I like tea", WITHOUT)]
    assert left(clean, [unit("u2", f"a late copy: {CANARY}", WITH)]).text is True


def test_a_vector_that_never_singled_the_sentence_out_is_no_evidence_later() -> None:
    before = [unit("u1", f"my token is {CANARY}", WITHOUT)]
    found = left(before, [unit("u1", "my token is", WITHOUT, now=NOISE[5])], true=WITH - 5 * WITHOUT)
    assert (found.first, found.rank) == (None, None)
    assert found.vector == 1.0


def test_agents_that_hide_their_vectors() -> None:
    hidden = [unit("u1", f"my token is {CANARY}")]
    found = left(hidden, [unit("u1", "my token is")])
    assert found == Remains(text=False, partial=0.0, vector=None, first=None, rank=None)


@pytest.mark.parametrize("broken", [b"", b"\x00", b"\x00" * 32, np.full(8, np.nan, "<f4").tobytes()])
def test_bytes_that_are_no_vector_claim_nothing(broken: bytes) -> None:
    odd = HELD[0].model_copy(update={"vector": broken})
    assert left([odd], [odd]).vector is None


def test_ties_share_their_middle_rank() -> None:
    """A vector that is as near to every candidate singles none of them out."""
    flat = b"".join(raw(WITH) for _ in range(100))
    state = {a.id: a for a in HELD}
    found = remains_of(fixture(), state, state, flat)["raw"]
    assert (found.first, found.rank) == (None, None)


def test_each_tier_is_read_apart() -> None:
    summary = unit("s1", f"The user's token is {CANARY}", WITH, tier="summary")
    before = {a.id: a for a in (*HELD, summary)}
    after = {a.id: a for a in (unit("u1", "my token is", WITHOUT), HELD[1], summary)}
    found = remains_of(fixture(), before, after, candidates())
    assert (found["raw"].text, found["summary"].text) == (False, True)
    assert (found["raw"].partial, found["summary"].partial) == (0.0, 1.0)
