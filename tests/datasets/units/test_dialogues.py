"""PerLTQA and MSC: statements extracted from dialogues, by rules and by a model behind an endpoint."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from vestige.datasets import load_units
from vestige.datasets.units.extractor import run
from vestige.datasets.units.opening import open_extractor
from vestige.errors import ConfigError, DataError, ModelError

from .records import character, lines, msc, perltqa, written


def test_perltqa_splits_by_event_and_both_layouts_agree(tmp_path: Path) -> None:
    mapped = load_units(written(tmp_path, perltqa("Wang Xiaoming", "Li Ting")), extractor="extractive")
    listed = load_units(
        written(tmp_path, [character("Wang Xiaoming"), character("Li Ting")]), extractor="extractive"
    )
    assert dict(mapped.units) == dict(listed.units)
    assert (mapped.name, mapped.per_user, mapped.license) == ("perltqa", 20, "CC BY-NC 4.0")
    rng = random.Random(42)
    for user in ("Wang Xiaoming", "Li Ting"):
        events = [f"1_{i}_0" for i in range(4)]
        rng.shuffle(events)
        assert set(mapped.groups(user, member=True)) == set(events[:2])
        assert set(mapped.groups(user, member=False)) == set(events[2:])
        assert all(u.session and u.session.startswith(f"{u.group}#") for u in mapped.units[user])


def test_a_character_without_dialogues_is_left_out_and_said(tmp_path: Path) -> None:
    data = load_units(
        written(tmp_path, perltqa("Ada") | {"Silent": {"profile": {}, "dialogues": {}}}),
        extractor="extractive",
    )
    assert data.users == ("Ada",)
    assert any("1 characters without a dialogue" in note for note in data.notes)


def test_several_events_of_a_dialogue_are_one_group(tmp_path: Path) -> None:
    ada = character("Ada", events=1)
    for key, events in zip(ada["dialogues"], (["1_0_0", "1_1_0"], None), strict=True):
        ada["dialogues"][key]["events"] = events
    data = load_units(written(tmp_path, {"Ada": ada}), extractor="extractive")
    assert {u.group for u in data} == {"1_0_0+1_1_0", "1_0_0"}


def test_msc_has_session_one_as_members_and_what_session_two_adds_as_others(tmp_path: Path) -> None:
    data = load_units(lines(tmp_path, msc("train:1"), msc("train:2")), extractor="extractive")
    assert data.users == ("train:1", "train:2")
    assert [u.text for u in data.members("train:1")] == [
        'Speaker 1 said: "I keep three green parrots at home."',
        'Speaker 2 said: "Nice, my sister builds wooden boats."',
    ]
    assert [u.text for u in data.non_members("train:1")] == [
        'Speaker 1 said: "My parrots learned a sea shanty yesterday."',
        'Speaker 2 said: "I keep telling my sister about them."',
        'Speaker 1 said: "As said, I keep three green parrots at home."',
    ]
    assert data.groups("train:1", member=True) == ("session_1",)


def test_what_session_two_repeats_word_for_word_is_no_non_member(tmp_path: Path) -> None:
    again = msc(
        dialog=[{"text": "I keep three green PARROTS at home!"}, {"text": "My sister sold two boats."}]
    )
    data = load_units(lines(tmp_path, again), extractor="extractive")
    assert [u.text for u in data.non_members("train:ordinary_0")] == [
        'Speaker 2 said: "My sister sold two boats."'
    ]
    assert data.counts.shared_non_members == 0


def test_files_of_later_sessions_give_their_first_two(tmp_path: Path) -> None:
    record = msc()
    record["previous_dialogs"].append({"dialog": record["dialog"]})
    record["dialog"] = [{"text": "I never heard of session three before."}]
    data = load_units(lines(tmp_path, record), extractor="extractive")
    assert not any("session three" in u.text for u in data)


def test_pairs_with_one_side_or_one_session_are_left_out_and_said(tmp_path: Path) -> None:
    mute = msc("mute", dialog=[{"text": "Really?"}])
    data = load_units(lines(tmp_path, msc("a"), msc("b", previous_dialogs=[]), mute), extractor="extractive")
    assert data.users == ("a",)
    assert any("1 records without two sessions" in note for note in data.notes)
    assert any("1 pairs with statements of one session alone" in note for note in data.notes)


@pytest.mark.parametrize("records", [perltqa("Ada"), msc()])
def test_dialogues_without_an_extractor_say_what_to_do(tmp_path: Path, records: Any) -> None:
    with pytest.raises(ConfigError, match=r"name an extractor: a model such as .* or extractive"):
        load_units(written(tmp_path, records))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"contents": {"t": "text"}}, "contents.t: expected a list"),
        ({"contents": {"t": [5]}}, "contents.t[0]: expected text"),
        ({"contents": []}, "contents: expected an object"),
        ({"contents": {"t": ["x" * 20_001]}}, "contents.t[0]: expected a turn of at most 20,000"),
        ({"events": {"a": 1}}, "events: expected text"),
    ],
)
def test_a_malformed_dialogue_names_its_place(tmp_path: Path, change: Any, field: str) -> None:
    ada = character("Ada")
    ada["dialogues"]["1_0_0#0"] |= change
    with pytest.raises(DataError) as caught:
        load_units(written(tmp_path, {"Ada": ada}), extractor="extractive")
    assert f"(id Ada), field Ada.dialogues.1_0_0#0.{field}" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"dialog": [{"text": 5}]}, "dialog[0].text"),
        ({"dialog": {}}, "dialog: expected a list"),
        ({"previous_dialogs": [{"dialog": ["x"]}]}, "previous_dialogs[0].dialog[0]"),
        ({"metadata": 3}, "metadata"),
    ],
)
def test_a_malformed_pair_names_its_place(tmp_path: Path, change: Any, field: str) -> None:
    with pytest.raises(DataError) as caught:
        load_units(lines(tmp_path, msc("fine"), msc("bad", **change)), extractor="extractive")
    assert "record 1" in str(caught.value) and field in str(caught.value)


# ------------------------------------------------------------------------------------------- by a model


class Endpoint:
    """Answers by what the request holds."""

    def __init__(self, answer: Callable[[str], str]) -> None:
        self.answer = answer
        self.asked: list[dict[str, Any]] = []
        self.url = ""

    async def chat(self, request: web.Request) -> web.Response:
        payload = json.loads(await request.text())
        self.asked.append(payload)
        text = self.answer(payload["messages"][-1]["content"])
        message = {"role": "assistant", "content": text}
        return web.json_response({"choices": [{"index": 0, "finish_reason": "stop", "message": message}]})


@asynccontextmanager
async def endpoint(answer: Callable[[str], str]) -> AsyncIterator[Endpoint]:
    server = Endpoint(answer)
    app = web.Application()
    app.router.add_post("/v1/chat/completions", server.chat)
    runner = web.AppRunner(app, shutdown_timeout=0.05)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1#any"
    try:
        yield server
    finally:
        await runner.cleanup()


def told(*statements: Any) -> str:
    return json.dumps({"statements": list(statements)})


async def loaded(server: Endpoint, path: Path, cache: Path) -> Any:
    return await asyncio.to_thread(load_units, path, extractor=server.url, cache=cache)


async def test_a_models_statements_are_checked_and_counted(tmp_path: Path) -> None:
    def answer(asked: str) -> str:
        if "Already known" not in asked:
            return told(
                "Speaker 1 keeps three green parrots at home.", "Speaker 2 has a sister who builds boats."
            )
        return told(
            "Speaker 1's parrots learned a sea shanty.",
            "Speaker 1 keeps three green parrots at home",  # known
            "Speaker 1's parrots learned 14 songs.",  # a number nobody said
            "Speaker 2 works as a neurosurgeon in Lisbon.",  # nothing of it was said
            "Does Speaker 2 like parrots?",
            "I keep parrots.",
            "Parrots.",
            {"text": "Speaker 1 keeps parrots"},
            "Speaker 1 \u202e keeps parrots",
            "Speaker 1 keeps parrots " * 20,
        )

    async with endpoint(answer) as server:
        data = await loaded(server, lines(tmp_path, msc()), tmp_path / "cache.sqlite")
    assert [u.text for u in data.members("train:ordinary_0")] == [
        "Speaker 1 keeps three green parrots at home.",
        "Speaker 2 has a sister who builds boats.",
    ]
    assert [u.text for u in data.non_members("train:ordinary_0")] == [
        "Speaker 1's parrots learned a sea shanty."
    ]
    assert {u.subject for u in data} == {"Speaker 1", "Speaker 2"}
    assert any("9 proposed statements are left out" in note for note in data.notes)
    assert all(
        p["response_format"]["json_schema"]["schema"]["required"] == ["statements"] for p in server.asked
    )
    assert all(p["temperature"] == 0 for p in server.asked)


async def test_a_second_reading_asks_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, perltqa("Ada"))

    def answer(asked: str) -> str:
        number = asked.rpartition("kayak number ")[2][:2]
        return told(f"Ada bought a red kayak number {number} in Bremen.")

    async with endpoint(answer) as server:
        first = await loaded(server, path, tmp_path / "cache.sqlite")
        calls = len(server.asked)
        second = await loaded(server, path, tmp_path / "cache.sqlite")
        assert (calls, len(server.asked)) == (8, 8)
    assert dict(first.units) == dict(second.units)
    assert first.counts.units == 8


async def test_output_that_is_no_list_is_asked_for_again_then_left_out(tmp_path: Path) -> None:
    def answer(asked: str) -> str:
        if "kayak number 00" in asked:  # this one never gets it right
            return "[" * 100_000
        if "was not usable" in asked:
            return "Here it is:\n" + told("Ada bought a red kayak in Bremen.")
        return '{"statements": "Ada bought a kayak"}'

    async with endpoint(answer) as server:
        data = await loaded(server, written(tmp_path, perltqa("Ada")), tmp_path / "cache.sqlite")
        assert len(server.asked) == 16
    assert data.counts.units == 7
    assert any("1 dialogues gave no list" in note for note in data.notes)


async def test_a_model_that_gives_nothing_usable_is_an_error_that_says_so(tmp_path: Path) -> None:
    async with endpoint(lambda asked: "I cannot help with that.") as server:
        with pytest.raises(DataError, match=r"holds no unit; 0 statements extracted from 8 dialogues"):
            await loaded(server, written(tmp_path, perltqa("Ada")), tmp_path / "cache.sqlite")


async def test_an_endpoint_that_fails_is_an_error(tmp_path: Path) -> None:
    async with endpoint(lambda asked: told()) as server:
        server.url = server.url.replace("/v1#", "/nowhere#")
        with pytest.raises(ModelError):
            await loaded(server, written(tmp_path, perltqa("Ada")), tmp_path / "cache.sqlite")


async def test_extraction_works_inside_a_running_loop(tmp_path: Path) -> None:
    data = load_units(written(tmp_path, perltqa("Ada")), extractor="extractive")
    assert data.counts.units == 16

    async def fails() -> None:
        raise ModelError("gone")

    with pytest.raises(ModelError, match="gone"):
        run(fails())


def test_an_unknown_extractor_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        open_extractor("no-such-provider/model")
    with pytest.raises(ConfigError):
        load_units(written(tmp_path, perltqa("Ada")), extractor="no-such-provider/model")


def test_nothing_is_opened_before_every_record_was_read(tmp_path: Path) -> None:
    cache = tmp_path / "cache.sqlite"
    bad = perltqa("Ada") | {"Ben": {"dialogues": 3}}
    with pytest.raises(DataError, match=r"field Ben\.dialogues"):
        load_units(written(tmp_path, bad), extractor="http://127.0.0.1:9/v1#any", cache=cache)
    assert not cache.exists()
