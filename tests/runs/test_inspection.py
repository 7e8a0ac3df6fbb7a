"""What an inspection records: everything once, then what changed, with the vectors that matter."""

from __future__ import annotations

import json

import numpy as np
import pytest

from vestige.models.hashing import HashingEmbedder
from vestige.records import Artifact
from vestige.runs.inspection import InspectionBody, Inspector, SeenArtifact, rebuild
from vestige.runs.steps import Inspect

SECRET = "XQ7-VIOLET-3829"


async def vector(text: str) -> bytes:
    return (await HashingEmbedder().embed([text]))[0].astype("<f4").tobytes()


async def artifact(id: str, text: str, *, of: str | None = None, tier: str = "raw") -> Artifact:
    """An artifact with the vector of its text, or of another."""
    return Artifact(id=id, tier=tier, text=text, vector=await vector(of or text))


def seen(body: InspectionBody, id: str) -> SeenArtifact:
    return next(a for a in body.artifacts if a.id == id)


BEFORE = Inspect(name="before", watch=(SECRET, "XQ7"), candidates="0" * 64)
AFTER = Inspect(name="after", baseline="before")


async def test_a_watched_artifact_is_recorded_with_its_vectors() -> None:
    look = Inspector(HashingEmbedder())
    held, plain = await artifact("a", f"my token is {SECRET}"), await artifact("b", "I like tea")
    body = await look.look(BEFORE, [held, plain], json.dumps(["one", "two"]).encode())
    assert seen(body, "a").watched and seen(body, "a").vector == held.vector
    assert seen(body, "a").text_vector == held.vector  # what is stored fits the text
    assert not seen(body, "b").watched and seen(body, "b").vector is None
    assert body.candidate_vectors is not None
    rows = np.frombuffer(body.candidate_vectors, "<f4").reshape(2, -1)
    assert rows[0].tobytes() == await vector("one")


async def test_only_what_changed_is_recorded_again_and_the_state_is_whole() -> None:
    look = Inspector(HashingEmbedder())
    first = [await artifact("a", f"token {SECRET}"), await artifact("b", "tea"), await artifact("c", "bees")]
    before = await look.look(BEFORE, first, None)
    second = [await artifact("a", "token", of=f"token {SECRET}"), first[1], await artifact("d", "new")]
    after = await look.look(AFTER, second, None)
    assert {a.id for a in after.artifacts} == {"a", "d"} and after.unchanged == ("b",)
    assert seen(after, "a").watched  # it held the secret before, so its vector is compared
    assert seen(after, "a").vector == await vector(f"token {SECRET}")
    assert seen(after, "a").text_vector == await vector("token")
    state = rebuild(after, before)
    assert {i: a.text for i, a in state.items()} == {"a": "token", "b": "tea", "d": "new"}


async def test_a_changed_vector_alone_is_a_change() -> None:
    look = Inspector(HashingEmbedder())
    await look.look(BEFORE, [await artifact("b", "tea")], None)
    after = await look.look(AFTER, [await artifact("b", "tea", of="coffee")], None)
    assert after.unchanged == () and seen(after, "b").text == "tea"


async def test_a_unit_made_anew_with_a_watched_vector_is_watched() -> None:
    """Its text is clean and its id is new: only the vector gives it away."""
    look = Inspector(HashingEmbedder())
    old = await artifact("a", f"token {SECRET}")
    await look.look(BEFORE, [old, await artifact("b", "tea")], None)
    anew = Artifact(id="z", tier="raw", text="token", vector=old.vector)
    after = await look.look(AFTER, [anew, await artifact("y", "token of love")], None)
    assert seen(after, "z").watched and seen(after, "z").vector == old.vector
    assert not seen(after, "y").watched


@pytest.mark.parametrize("odd", [b"", b"123", np.full(384, np.nan, "<f4").tobytes(), b"\x00" * 8])
async def test_vectors_that_are_none_are_no_copies(odd: bytes) -> None:
    look = Inspector(HashingEmbedder())
    await look.look(BEFORE, [await artifact("a", f"token {SECRET}")], None)
    after = await look.look(AFTER, [Artifact(id="z", tier="raw", text="token", vector=odd)], None)
    assert not seen(after, "z").watched


async def test_case_does_not_hide_a_watched_text() -> None:
    look = Inspector(HashingEmbedder())
    body = await look.look(BEFORE, [await artifact("a", f"token {SECRET.lower()}")], None)
    assert seen(body, "a").watched


async def test_an_agent_without_vectors() -> None:
    look = Inspector(HashingEmbedder())
    body = await look.look(BEFORE, [Artifact(id="a", tier="raw", text=SECRET)], b'["one"]')
    assert seen(body, "a").watched is False and seen(body, "a").vector is None
    assert body.candidate_vectors is None


async def test_a_body_survives_being_stored() -> None:
    look = Inspector(HashingEmbedder())
    body = await look.look(BEFORE, [await artifact("a", f"token {SECRET}")], b'["one"]')
    assert InspectionBody.model_validate(json.loads(body.model_dump_json())) == body
