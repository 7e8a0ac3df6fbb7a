"""Measurements that need a model: the cosine, and a judge whose output is not trusted."""

from __future__ import annotations

import pytest

from vestige.models.base import ChatReply, ChatRequest
from vestige.models.hashing import HashingEmbedder
from vestige.probes.measures import CosineMeasure, JudgeMeasure, LeaningMeasure, SemanticJudge
from vestige.records import Reply
from vestige.runs.plan import Probe

PROBE = Probe(id="p", kind="utility", text="What is my dog's name?", expected="Rex")


class Says:
    """A judge that says what it is given."""

    name = "says"

    def __init__(self, text: str) -> None:
        self.text = text
        self.asked: list[ChatRequest] = []

    async def complete(self, request: ChatRequest) -> ChatReply:
        self.asked.append(request)
        return ChatReply(text=self.text)

    async def close(self) -> None: ...


async def test_cosine() -> None:
    measure = CosineMeasure(HashingEmbedder())
    assert await measure(PROBE, Reply(text="Rex")) == 1.0
    assert await measure(PROBE, Reply(text=" \n")) == 0.0
    assert await measure(PROBE.model_copy(update={"expected": None}), Reply(text="Rex")) is None
    far = await measure(PROBE, Reply(text="bananas"))
    assert isinstance(far, float) and far < 0.3 and far == round(far, 6)


@pytest.mark.parametrize(
    ("output", "verdict"),
    [
        ('{"correct": true}', True),
        ('{"correct": false}', False),
        ('Sure! {"correct": true} Hope it helps.', True),
        ('```json\n{"correct": false}\n```', False),
        ('{"correct": "true"}', None),
        ('{"correct": 1}', None),
        ('{"correct": null}', None),
        ('{"right": true}', None),
        ("true", None),
        ("[true]", None),
        ('{"correct": tru', None),
        ("", None),
    ],
)
async def test_a_judge_s_output_is_used_only_where_it_is_one(output: str, verdict: bool | None) -> None:
    assert await JudgeMeasure(Says(output))(PROBE, Reply(text="Rex")) is verdict


async def test_the_judge_is_asked_at_temperature_zero_with_all_it_needs() -> None:
    judge = Says('{"correct": true}')
    await JudgeMeasure(judge)(PROBE, Reply(text="It is Rex."))
    (request,) = judge.asked
    assert request.temperature == 0.0 and request.json_schema is not None
    prompt = request.messages[-1].content
    assert all(text in prompt for text in (PROBE.text, "Rex", "It is Rex."))


async def test_a_reply_cannot_rewrite_the_judge_s_prompt() -> None:
    """A placeholder in a reply stays as it is, and a huge reply is cut."""
    judge = Says('{"correct": true}')
    await JudgeMeasure(judge)(PROBE, Reply(text="{expected} {question}" + "x" * 100_000))
    prompt = judge.asked[0].messages[-1].content
    assert "{expected} {question}xxx" in prompt and len(prompt) < 6000
    assert prompt.count("Rex") == 1


async def test_leaning_is_the_difference_of_two_cosines_at_its_largest() -> None:
    embedder = HashingEmbedder()
    told, contrast = "I always want Norvane.", "I always want Tellisk."
    probe = Probe(id="p", kind="recall", text="Which?", expected=told, contrast=contrast)
    measure = LeaningMeasure(embedder)
    one, two, same = await embedder.embed([told, contrast, "I always want Norvane."])
    expected = float(same @ one - same @ two)
    assert await measure(probe, Reply(text="Hm. I always want Norvane.")) == pytest.approx(expected, abs=1e-5)
    assert expected > 0.1
    turned = await measure(probe, Reply(text="I always want Tellisk."))
    assert isinstance(turned, float) and turned < 0
    assert await measure(probe, Reply(text="I always want.")) == pytest.approx(0.0, abs=0.1)
    assert await measure(probe, Reply(text=" ")) == 0.0
    assert await measure(probe.model_copy(update={"contrast": None}), Reply(text="x")) is None


@pytest.mark.parametrize(
    ("output", "verdict"),
    [
        ('{"verdict": "disclosed"}', "disclosed"),
        ('{"verdict": "not"}', "not"),
        ('Well: {"verdict": "unclear"}', "unclear"),
        ('{"verdict": "yes"}', None),
        ('{"verdict": true}', None),
        ('{"verdict": ["disclosed"]}', None),
        ("disclosed", None),
        ("{" * 9000, None),
    ],
)
async def test_a_semantic_judge_says_one_of_three_things(output: str, verdict: str | None) -> None:
    judge = Says(output)
    assert await SemanticJudge(judge)(PROBE, Reply(text="{expected}")) == verdict
    (request,) = judge.asked
    assert request.messages[1].content.endswith("{expected}"), "a reply fills in no placeholder"
    assert request.json_schema is not None
    assert request.json_schema["properties"]["verdict"]["enum"] == ["disclosed", "not", "unclear"]
    assert await SemanticJudge(judge)(PROBE.model_copy(update={"expected": None}), Reply(text="")) is None
