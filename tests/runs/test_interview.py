"""Statements stored directly, questions made up about candidates, each reply judged as it comes; no trace is left."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.helpers.agents import Parrot, conversing, folder_of, plan_of, services

from vestige.agents.opening import Opener
from vestige.agents.protocol import Agent
from vestige.errors import ConfigError, IntegrityError, ModelError, ModelUnavailable
from vestige.models.base import ChatModel, ChatReply, ChatRequest
from vestige.models.cache import CachedModel, ResponseCache
from vestige.models.extractive import NOTHING, ExtractiveReader
from vestige.models.hashing import HashingEmbedder
from vestige.records import AskOptions, JsonScalar, MemoryUnit, Reply, Session, TokenLogprob, Turn
from vestige.runs.asking import MAX_QUESTION
from vestige.runs.engine import execute
from vestige.runs.folder import RunFolder, blob_of
from vestige.runs.plan import Plan, seed_for
from vestige.runs.services import Interview, InterviewQuestion, Services
from vestige.runs.steps import AskAbout, Inspect, Remember, Scan
from vestige.runs.store import read_attempts, read_counted, read_lines
from vestige.workflow import Planned

UNITS = (
    MemoryUnit(id="u0", text="Nora keeps bees behind the mill.", session="s1"),
    MemoryUnit(id="u1", text="Nora's brother Emil repairs clocks.", session="s2"),
    MemoryUnit(id="u2", text="Nora is learning Finnish."),
)
OTHERS = (MemoryUnit(id="o0", text="Nora owns a sailing boat."),)
CANDIDATES = [{"id": u.id, "text": u.text} for u in (*UNITS, *OTHERS)]
STORED, STORED_BLOB = blob_of([u.model_dump() for u in UNITS])
ASKED, ASKED_BLOB = blob_of(CANDIDATES)
TELL, TOLD_BLOBS = conversing(
    Session(id="told", turns=tuple(Turn(role="user", content=u.text) for u in UNITS))
)
TOLD = TELL.session
BLOBS = {STORED: STORED_BLOB, ASKED: ASKED_BLOB, **TOLD_BLOBS}
REMEMBER = Remember(units=STORED, otherwise=TOLD)
EXCHANGES = frozenset({"exchange"})


def about(name: str, **more: Any) -> AskAbout:
    return AskAbout(candidate=name, units=ASKED, interviewer="words", probe="p0", **more)


class Words:
    """Asks after the statement's words by rule, and once of somebody of whom nothing is stored."""

    def __init__(self) -> None:
        self.seeds: list[int] = []

    async def questions(self, candidate: Mapping[str, Any], seed: int) -> Interview:
        self.seeds.append(seed)
        words = str(candidate["text"]).rstrip(".").split()
        asked = [
            InterviewQuestion(id="recall-0", prompt=f"What of {words[-1]}?", about={"told": words[-1]}),
            InterviewQuestion(id="recall-1", prompt=f"Tell me of {words[0]}, please: {words[-2]}?"),
            InterviewQuestion(id="absent-0", prompt=f"What of {words[-1]}?", who="sibling"),
        ]
        return Interview(questions=tuple(asked), record={"asked": {"recall": 2}, "rejected": {"trivial": 1}})

    async def measure(
        self, candidate: Mapping[str, Any], question: InterviewQuestion, reply: Reply
    ) -> dict[str, Any]:
        return {"repeated": str(candidate["text"]) in reply.text, "of": question.id}


class Says(Words):
    """Puts what it is given."""

    def __init__(self, *prompts: str) -> None:
        super().__init__()
        self.prompts = prompts

    async def questions(self, candidate: Mapping[str, Any], seed: int) -> Interview:
        asked = (InterviewQuestion(id=f"recall-{i}", prompt=text) for i, text in enumerate(self.prompts))
        return Interview(questions=tuple(asked))


def reference(
    model: ChatModel | None = None, *, top_logprobs: int = 0, interviewer: Any = None, **knobs: JsonScalar
) -> Services:
    """Services with the reference agent, opened as a run opens it."""
    embedder = HashingEmbedder()
    opener = Opener(
        "reference",
        model=model or ExtractiveReader(),
        embedders={"hashing": embedder},
        knobs={"embedder": "hashing", **knobs},
        top_logprobs=top_logprobs,
    )

    async def open_agent(episode: Any, storage: Path) -> Agent:
        return await opener.open(episode.knobs, storage)

    given = Services(open_agent=open_agent, embedder_of=lambda e: embedder, measures={})
    return replace(given, interviewers={"words": interviewer or Words()})


def own(make: Callable[[], Any], interviewer: Any = None) -> Services:
    return replace(services(lambda e: make()), interviewers={"words": interviewer or Words()})


def lines(path: Path, kind: str) -> list[Any]:
    return [line for line in read_lines(path) if line.kind == kind]


def seen(path: Path) -> list[str]:
    """What counts of the exchanges, without their times, sorted."""
    return sorted(
        json.dumps(
            [
                line.episode,
                line.step,
                line.repeat,
                line.labels,
                {k: v for k, v in line.body.items() if k != "seconds"},
            ]
        )
        for line in read_counted(path, read_attempts(path), EXCHANGES)
    )


# ------------------------------------------------------------------------------------- what is recorded


@pytest.mark.parametrize("knobs", [{}, {"level": 1}, {"level": 2}, {"level": 1, "retrieve_from": "both"}])
async def test_what_was_stored_directly_is_retrieved_at_every_level(
    tmp_path: Path, knobs: dict[str, JsonScalar]
) -> None:
    plan = plan_of((REMEMBER, about("u0")))
    summary = await execute(plan, folder_of(tmp_path, plan, BLOBS), reference(k=1, **knobs))
    assert (summary.done, summary.failed, summary.exchanges) == (1, {}, 3)
    (stored,) = lines(tmp_path, "remembered")
    assert (stored.step, stored.body) == (0, {"by": "remember", "units": 3})
    (interview,) = lines(tmp_path, "interview")
    assert (interview.step, interview.probe) == (1, "p0")
    assert interview.body == {"asked": {"recall": 2}, "rejected": {"trivial": 1}}
    first, second, absent = lines(tmp_path, "exchange")
    assert first.body["prompt"] == "What of mill?"
    assert first.labels == {"candidate": "u0", "question": "recall-0", "repeat": 0}
    assert [unit["text"] for unit in first.body["reply"]["retrieved"]] == [UNITS[0].text]
    assert first.body["measured"] == {"repeated": True, "of": "recall-0"}
    assert (second.repeat, second.labels["question"]) == (1, "recall-1")
    assert absent.body["reply"]["retrieved"] == [] and absent.body["reply"]["text"] == NOTHING


async def test_a_candidate_that_is_not_stored_is_asked_about_alike(tmp_path: Path) -> None:
    plan = plan_of((REMEMBER, about("o0")))
    await execute(plan, folder_of(tmp_path, plan, BLOBS), reference())
    exchanges = lines(tmp_path, "exchange")
    assert [e.body["prompt"] for e in exchanges] == [
        "What of boat?",
        "Tell me of Nora, please: sailing?",
        "What of boat?",
    ]
    assert not any(e.body["measured"]["repeated"] for e in exchanges)


async def test_questions_leave_no_trace_in_the_memory(tmp_path: Path) -> None:
    """Neither as a unit, nor in the bytes of the store, of the user or of the sibling."""
    script = (
        REMEMBER,
        Inspect(name="before"),
        *(about(u.id, repeats=2) for u in (*UNITS, *OTHERS)),
        Inspect(name="after", baseline="before"),
        Inspect(name="sibling", who="sibling"),
        Scan(needles={"prompt": "Tell me of Nora", "unit": "keeps bees"}),
    )
    plan = plan_of(script)
    summary = await execute(plan, folder_of(tmp_path, plan, BLOBS), reference())
    assert summary.exchanges == 4 * 2 * 3
    before, after, sibling = lines(tmp_path, "artifacts")
    assert sorted(a["text"] for a in before.body["artifacts"]) == sorted(u.text for u in UNITS)
    assert after.body["artifacts"] == [] and len(after.body["unchanged"]) == 3
    assert sibling.body["artifacts"] == []
    (scan,) = lines(tmp_path, "scan")
    assert {hit["needle"] for hit in scan.body["hits"]} == {"unit"}


async def test_repeats_are_numbered_through_and_every_call_has_a_seed_of_its_own(tmp_path: Path) -> None:
    asked: list[AskOptions] = []

    class Listens(Parrot):
        async def ask(self, user: str, prompt: str, options: AskOptions) -> Reply:
            asked.append(options)
            return Reply(text="")

    plan = plan_of((REMEMBER, about("u0", repeats=3, labels={"k": 5}), about("u1")))
    words = Words()
    await execute(plan, folder_of(tmp_path, plan, BLOBS), own(Listens, words))
    exchanges = lines(tmp_path, "exchange")
    assert [(e.step, e.repeat) for e in exchanges] == [(1, n) for n in range(9)] + [(2, n) for n in range(3)]
    assert [e.labels["repeat"] for e in exchanges] == [0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 0, 0]
    assert {e.labels.get("k") for e in exchanges} == {5, None}
    assert len({o.seed for o in asked}) == 12 and not any(o.write_back or o.session for o in asked)
    assert asked[0].seed == seed_for(3, "ask", "p0", "i0", "u0", "recall-0")
    assert asked[3].seed == seed_for(3, "ask", "p0", "i0", "u0", "recall-0", "1")
    assert words.seeds == [seed_for(3, "about", "i0", name) for name in ("u0", "u1")]


async def test_the_expected_number_is_what_a_plan_foresees(tmp_path: Path) -> None:
    plan = plan_of((REMEMBER, about("u0", expected=7), about("u1", expected=7)))
    assert Planned(plan=plan, blobs=BLOBS).exchanges == 14
    assert Plan.model_validate_json(plan.to_bytes()) == plan


# --------------------------------------------------------------------------------- without `remember`


class Ends(Parrot):
    def __init__(self) -> None:
        super().__init__()
        self.ended: list[str] = []

    async def end_session(self, user: str) -> None:
        self.ended.append(user)


async def test_an_agent_without_remember_is_told_in_a_conversation(tmp_path: Path) -> None:
    agent = Ends()
    plan = plan_of((REMEMBER, about("u0")))
    await execute(plan, folder_of(tmp_path, plan, BLOBS), own(lambda: agent))
    (stored,) = lines(tmp_path, "remembered")
    assert stored.body == {"by": "conversation", "units": 3}
    first, _, absent = lines(tmp_path, "exchange")
    assert first.body["reply"]["text"] == " ".join(u.text for u in UNITS)
    assert first.body["measured"]["repeated"] and not absent.body["measured"]["repeated"]
    assert agent.ended == list(agent.heard)  # once, for the one user that was told


async def test_an_agent_that_can_be_told_nothing_fails_its_episode(tmp_path: Path) -> None:
    plan = plan_of((Remember(units=STORED), about("u0")))
    summary = await execute(plan, folder_of(tmp_path, plan, BLOBS), own(Parrot))
    assert summary.failed == {
        "e0": "AgentError: the agent has no remember, and the plan no conversation to tell it instead"
    }
    assert not lines(tmp_path, "exchange") and not lines(tmp_path, "remembered")


async def test_an_agent_that_raises_while_it_stores_fails_its_episode(tmp_path: Path) -> None:
    class Full(Parrot):
        async def remember(self, user: str, units: list[MemoryUnit]) -> None:
            raise OSError(units[0].text)

    plan = plan_of((REMEMBER, about("u0")))
    summary = await execute(plan, folder_of(tmp_path, plan, BLOBS), own(Full))
    assert summary.failed == {"e0": "AgentError: remember: the agent raised OSError"}
    assert not lines(tmp_path, "exchange")


# ------------------------------------------------------------------------------------- what goes wrong


async def test_an_interviewer_that_is_not_there_is_named(tmp_path: Path) -> None:
    plan = plan_of((about("u0").model_copy(update={"interviewer": "mrmmia"}),))
    with pytest.raises(ConfigError, match="asks for the interviewer 'mrmmia'; known here: words"):
        await execute(plan, folder_of(tmp_path, plan, BLOBS), own(Parrot))


@pytest.mark.parametrize(
    ("payload", "says"),
    [
        (b'[{"id": "x", "text": "y"}]', "candidate 'u0' is not among the plan's units"),
        (b'{"id": "u0", "text": "y"}', "not a list of units"),
        (b"[1, null]", "candidate 'u0' is not among the plan's units"),
    ],
)
async def test_a_candidate_that_the_plan_does_not_hold_is_refused(
    tmp_path: Path, payload: bytes, says: str
) -> None:
    digest, data = blob_of(json.loads(payload))
    plan = plan_of((about("u0").model_copy(update={"units": digest}),))
    with pytest.raises(IntegrityError, match=says):
        await execute(plan, folder_of(tmp_path, plan, {digest: data}), own(Parrot))


async def test_a_blob_that_holds_no_units_is_refused(tmp_path: Path) -> None:
    digest, data = blob_of([{"id": "u0", "says": "XQ7-VIOLET-3829"}])
    plan = plan_of((Remember(units=digest, otherwise=TOLD),))
    with pytest.raises(IntegrityError, match="a blob holds no memory unit") as caught:
        await execute(plan, folder_of(tmp_path, plan, {digest: data, **TOLD_BLOBS}), own(Parrot))
    assert "XQ7" not in str(caught.value)


@pytest.mark.parametrize("where", ["questions", "measure"])
async def test_a_model_that_fails_the_interviewer_fails_the_episode_until_a_later_call(
    tmp_path: Path, where: str
) -> None:
    class Tired(Words):
        error: type[ModelError] | None = ModelError

        async def questions(self, candidate: Mapping[str, Any], seed: int) -> Interview:
            if where == "questions" and candidate["id"] == "u1" and self.error:
                raise self.error("the generator is tired")
            return await super().questions(candidate, seed)

        async def measure(
            self, candidate: Mapping[str, Any], question: InterviewQuestion, reply: Reply
        ) -> dict[str, Any]:
            if where == "measure" and candidate["id"] == "u1" and self.error:
                raise self.error("the generator is tired")
            return await super().measure(candidate, question, reply)

    tired = Tired()
    plan = plan_of((REMEMBER, about("u0")), (REMEMBER, about("u1")))
    folder = folder_of(tmp_path, plan, BLOBS)
    first = await execute(plan, folder, own(Parrot, tired))
    assert (first.done, first.failed) == (1, {"e1": "ModelError: the generator is tired"})
    tired.error = ModelUnavailable
    with pytest.raises(ModelUnavailable):
        await execute(plan, folder, own(Parrot, tired))
    tired.error = None
    again = await execute(plan, folder, own(Parrot, tired))
    assert (again.done, again.skipped, again.failed) == (1, 1, {})
    assert len(seen(tmp_path)) == 6


def test_replies_to_two_questions_of_one_name_could_not_be_told_apart() -> None:
    asked = InterviewQuestion(id="recall-0", prompt="What of bees?")
    with pytest.raises(ValidationError, match="two questions of an interview have one id"):
        Interview(questions=(asked, asked))


async def test_a_question_that_cannot_be_put_is_recorded_and_not_cut_short(tmp_path: Path) -> None:
    asked: list[str] = []

    class Listens(Parrot):
        async def ask(self, user: str, prompt: str, options: AskOptions) -> Reply:
            asked.append(prompt)
            return Reply(text="")

    prompts = ("", " \n", "x" * (MAX_QUESTION + 1), "x" * MAX_QUESTION, "half \ud83d a pair")
    plan = plan_of((about("u0"),))
    summary = await execute(plan, folder_of(tmp_path, plan, BLOBS), own(Listens, Says(*prompts)))
    assert (summary.done, summary.exchanges) == (1, 2)
    refused = lines(tmp_path, "refused_question")
    assert [(r.repeat, r.body["reason"]) for r in refused] == [
        (0, "empty"),
        (1, "empty"),
        (2, "longer than 8000 characters"),
    ]
    assert [r.labels["question"] for r in refused] == ["recall-0", "recall-1", "recall-2"]
    assert asked == ["x" * MAX_QUESTION, "half ? a pair"]
    assert [e.repeat for e in lines(tmp_path, "exchange")] == [3, 4]


@settings(max_examples=40, deadline=None)
@given(
    prompts=st.lists(
        st.text(st.characters(codec=None), max_size=40) | st.sampled_from(["", "\t", "x" * 8001]), max_size=5
    ),
    repeats=st.integers(1, 3),
)
def test_whatever_is_written_every_question_is_put_or_refused_and_the_record_reads(
    prompts: list[str], repeats: int
) -> None:
    with tempfile.TemporaryDirectory() as home:
        plan = plan_of((REMEMBER, about("u0", repeats=repeats)))
        folder = RunFolder.create(Path(home), plan, BLOBS, resume=True)
        try:
            asyncio.run(execute(plan, folder, own(Parrot, Says(*prompts))))
        finally:
            folder.close()
        kinds = frozenset({"exchange", "refused_question"})
        read = list(read_counted(Path(home), read_attempts(Path(home)), kinds))
        assert sorted(line.repeat for line in read) == list(range(len(prompts) * repeats))
        wanted = [p.encode("utf-8", "replace").decode() for p in prompts] * repeats
        for line in read:
            text = wanted[line.repeat]
            assert (line.kind == "exchange") == bool(text.strip() and len(text) <= MAX_QUESTION)
            assert line.body["prompt"] == text[:MAX_QUESTION]


# ------------------------------------------------------------------------------- sampling, probabilities


class Draws:
    """A model whose reply depends on the seed, with the log-probabilities that were asked for."""

    name = "draws"

    def __init__(self) -> None:
        self.asked: list[ChatRequest] = []

    async def complete(self, request: ChatRequest) -> ChatReply:
        self.asked.append(request)
        words = f"draw {request.seed}".split()
        top = tuple((f"w{i}", -1.0 - i) for i in range(request.top_logprobs))
        shown = tuple(TokenLogprob(token=w, logprob=-0.5, top=top) for w in words)
        return ChatReply(text=" ".join(words), logprobs=shown if request.top_logprobs else None)

    async def close(self) -> None:
        pass


@pytest.fixture
async def cache(tmp_path: Path) -> AsyncIterator[ResponseCache]:
    made = ResponseCache(tmp_path / "responses.sqlite")
    yield made
    made.close()


async def test_sampled_replies_are_kept_under_their_own_seeds(tmp_path: Path, cache: ResponseCache) -> None:
    model = Draws()
    plan = plan_of((REMEMBER, about("u0", repeats=2), about("u1")))
    given = reference(CachedModel(model, cache), top_logprobs=5, temperature=0.7, k=2)
    for name in ("one", "two"):
        await execute(plan, folder_of(tmp_path / name, plan, BLOBS), given)
    assert len(model.asked) == 9  # the second run asked nothing
    assert {r.temperature for r in model.asked} == {0.7} and {r.top_logprobs for r in model.asked} == {5}
    assert len({r.seed for r in model.asked}) == 9
    assert seen(tmp_path / "one") == seen(tmp_path / "two")
    replies = [line.body["reply"] for line in lines(tmp_path / "one", "exchange")]
    assert len({r["text"] for r in replies}) == 9
    assert all(len(token["top"]) == 5 for r in replies for token in r["logprobs"])
    assert {len(r["retrieved"]) for r in replies} == {2, 0}  # k; of the sibling nothing is stored


async def test_without_log_probabilities_none_are_shown(tmp_path: Path) -> None:
    plan = plan_of((REMEMBER, about("u0")))
    await execute(plan, folder_of(tmp_path, plan, BLOBS), reference(Draws()))
    assert {e.body["reply"]["logprobs"] for e in lines(tmp_path, "exchange")} == {None}


# ------------------------------------------------------------------------------------ cut and continued


SCRIPTS = [(REMEMBER, about("u0"), about("u1", repeats=2)), (REMEMBER, about("u2"), about("o0"))]


@pytest.mark.parametrize("moment", [1, 2, 5, 9, 11, 15])
@pytest.mark.parametrize("where", ["ask", "measure"])
def test_killed_within_an_interview_and_resumed_it_reads_the_same(
    tmp_path: Path, moment: int, where: str
) -> None:
    plan = plan_of(*SCRIPTS)

    def go(path: Path, kill_at: int) -> None:
        done = 0

        def reached(what: str) -> None:
            nonlocal done
            if what == where:
                done += 1
                if done == kill_at:
                    os.kill(os.getpid(), signal.SIGKILL)

        class Killed(Words):
            async def measure(
                self, candidate: Mapping[str, Any], question: InterviewQuestion, reply: Reply
            ) -> dict[str, Any]:
                reached("measure")
                return await super().measure(candidate, question, reply)

        class Reads(ExtractiveReader):
            async def complete(self, request: ChatRequest) -> ChatReply:
                reached("ask")
                return await super().complete(request)

        folder = RunFolder.create(path, plan, BLOBS, resume=True)
        try:
            asyncio.run(execute(plan, folder, reference(Reads(), interviewer=Killed()), concurrency=2))
        finally:
            folder.close()

    child = os.fork()
    if not child:
        try:
            go(tmp_path / "killed", moment)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert len(read_attempts(tmp_path / "killed").done) < 2
    go(tmp_path / "killed", 0)
    go(tmp_path / "calm", 0)
    assert len(seen(tmp_path / "calm")) == 3 * 5
    assert seen(tmp_path / "killed") == seen(tmp_path / "calm")


@pytest.mark.parametrize("concurrency", [1, 3])
async def test_a_budget_ends_the_run_between_episodes(tmp_path: Path, concurrency: int) -> None:
    """What was begun is finished; what was not is there for the next call, which ends as if nothing had happened."""
    plan = plan_of(*[(REMEMBER, about(u.id)) for u in (*UNITS, *OTHERS) for _ in range(2)])
    made = 0

    class Counts(Words):
        async def measure(
            self, candidate: Mapping[str, Any], question: InterviewQuestion, reply: Reply
        ) -> dict[str, Any]:
            nonlocal made
            made += 1
            await asyncio.sleep(0)
            return await super().measure(candidate, question, reply)

    def stop() -> str | None:
        return "the budget is used up" if made >= 4 else None

    folder = folder_of(tmp_path / "run", plan, BLOBS)
    first = await execute(plan, folder, reference(interviewer=Counts()), concurrency=concurrency, stop=stop)
    assert first.stopped == "the budget is used up" and not first.failed
    attempts = read_attempts(tmp_path / "run")
    assert set(attempts.begun) == set(attempts.done) and 2 <= first.done == len(attempts.done) < 8
    assert len(seen(tmp_path / "run")) == 3 * first.done
    again = await execute(plan, folder, reference(), stop=lambda: None)
    assert (again.done, again.skipped, again.stopped) == (8 - first.done, first.done, None)
    await execute(plan, folder_of(tmp_path / "calm", plan, BLOBS), reference())
    assert seen(tmp_path / "run") == seen(tmp_path / "calm")


async def test_a_budget_that_is_used_up_begins_nothing(tmp_path: Path) -> None:
    plan = plan_of(*SCRIPTS)
    summary = await execute(plan, folder_of(tmp_path, plan, BLOBS), reference(), stop=lambda: "no time")
    assert (summary.stopped, summary.done, summary.exchanges) == ("no time", 0, 0)
    assert not lines(tmp_path, "episode_begin")
