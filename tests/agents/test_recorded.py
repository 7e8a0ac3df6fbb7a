"""An agent behind a recording proxy: what it sends stands in its replies, or is handed over apart."""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from tests.agents.test_callable import written
from tests.helpers.echo import Echo

from vestige.agents.opening import Opener
from vestige.agents.protocol import describe
from vestige.errors import AgentError
from vestige.models.cache import CachedModel, ResponseCache
from vestige.models.chat import ChatClient
from vestige.models.extractive import ExtractiveReader
from vestige.models.proxy import Taps
from vestige.records import AskOptions, RemovalRequest, Session, Turn

TEXT = """
import json, urllib.request
class A:
    absent = {"model_requests": "not shown", "logs": "none"}
    def __init__(self, storage, model_url, model): self.url, self.model = model_url, model
    def complete(self, text):
        body = {"model": self.model, "messages": [{"role": "system", "content": "- " + text}]}
        made = urllib.request.Request(self.url + "/chat/completions", json.dumps(body).encode())
        with urllib.request.urlopen(made, timeout=20) as answer:
            return json.loads(answer.read())["choices"][0]["message"]["content"]
    def converse(self, user, messages): self.complete("told: " + messages[0]["content"])
    def ask(self, user, prompt):
        text = self.complete(prompt)
        if prompt == "fail": raise ValueError(prompt)
        return {"text": text, "model_requests": ["said so"]} if prompt == "own" else text
    def forget(self, user, value): self.complete("forget " + value)
    def open(self): pass
    def close(self): self.complete("closing")
"""
SESSION = Session(id="s", turns=(Turn(role="user", content="hello"),))
TRACED = AskOptions(trace=True)


def blocking(url: str) -> None:
    urllib.request.urlopen(f"{url}/chat/completions", b"{}", timeout=10)


def said(texts: tuple[str, ...] | None) -> list[str]:
    assert texts is not None
    return [json.loads(t)["messages"][0]["content"].removeprefix("- ") if t[0] == "{" else t for t in texts]


@pytest.fixture
async def opened(tmp_path: Path):
    """Opens agents on an endpoint; all is closed afterwards."""
    taps = Taps()
    folder = tmp_path / "agent"
    folder.mkdir()
    with Echo() as echo:
        model = CachedModel(ChatClient("m1", echo.url), ResponseCache(tmp_path / "cache"))

        async def make(text: str = TEXT) -> Any:
            name = f"{written(tmp_path, text)}:A"
            return await Opener(name, model=model, embedders={}, knobs={}, taps=taps).open({}, folder)

        make.echo, make.taps = echo, taps  # type: ignore[attr-defined]
        yield make
        await taps.close()
        await model.close()


async def test_what_it_sends_stands_in_the_reply_or_is_handed_over_apart(opened: Any) -> None:
    agent = await opened()
    await agent.converse("ada-lovelace", SESSION)
    reply = await agent.ask("ada-lovelace", "first", TRACED)
    assert (reply.text, said(reply.model_requests)) == ("first", ["first"])
    assert said((await agent.take_requests()).texts) == ["told: hello"]
    assert (await agent.ask("ada-lovelace", "second", AskOptions())).model_requests is None
    await agent.forget("ada-lovelace", RemovalRequest(value="4711"))
    assert said((await agent.take_requests()).texts) == ["second", "forget 4711"]
    assert not await agent.take_requests()
    own = await agent.ask("ada-lovelace", "own", TRACED)
    assert said(own.model_requests) == ["said so", "own"]
    assert "ada" not in agent._inner._agent.url
    await agent.close()
    assert said((await agent.take_requests()).texts) == ["closing"]
    assert len(opened.echo.asked) == 6
    assert opened.taps.facts()["requests"] == 6


async def test_what_was_sent_before_an_error_is_not_lost(opened: Any) -> None:
    agent = await opened()
    with pytest.raises(AgentError):
        await agent.ask("u", "fail", TRACED)
    assert said((await agent.take_requests()).texts) == ["fail"]
    await agent.close()


async def test_a_reply_that_needed_no_model_shows_that_nothing_was_sent(opened: Any) -> None:
    agent = await opened(TEXT.replace("text = self.complete(prompt)", 'text = "no"'))
    assert (await agent.ask("u", "x", TRACED)).model_requests == ()
    await agent.close()


async def test_it_says_that_the_channel_is_there(opened: Any) -> None:
    agent = await opened()
    told = describe(agent)
    assert told.channels == ("answer", "model_requests")
    assert told.absent == {"logs": "none"}
    assert not hasattr(agent, "inspect") and hasattr(agent, "open")
    await agent.close()


async def test_it_is_listened_to_again_when_it_is_opened_again(opened: Any) -> None:
    agent = await opened()
    await agent.close()
    await agent.open()
    reply = await agent.ask("u", "again", TRACED)
    assert said(reply.model_requests) == ["again"]
    assert said((await agent.take_requests()).texts) == ["closing"]
    await agent.close()


async def test_an_outage_is_an_error_of_its_model_and_is_recorded(opened: Any) -> None:
    agent = await opened()
    await agent.outage(True)
    with pytest.raises(AgentError, match="HTTPError"):
        await agent.forget("u", RemovalRequest(value="4711"))
    assert said((await agent.take_requests()).texts) == ["forget 4711"]
    await agent.outage(False)
    assert (await agent.ask("u", "back", TRACED)).text == "back"
    assert [body["messages"][0]["content"] for body in opened.echo.asked] == ["- back"]
    await agent.close()


async def test_an_agent_that_cannot_be_made_leaves_no_url_behind(opened: Any, tmp_path: Path) -> None:
    made = "(storage.parent / 'url').write_text(model_url); 1 / 0"
    with pytest.raises(AgentError, match="ZeroDivisionError"):
        await opened(TEXT.replace("self.url, self.model = model_url, model", made))
    url = (tmp_path / "url").read_text()
    with pytest.raises(urllib.error.HTTPError, match="404"):
        blocking(url)


async def test_an_agent_that_asks_for_no_url_has_no_proxy(opened: Any) -> None:
    agent = await opened("""
class A:
    def converse(self, user, messages): pass
    def ask(self, user, prompt): return "x"
    def forget(self, user, value): pass
""")
    assert not hasattr(agent, "take_requests")
    await agent.close()


NOTES = f"{Path(__file__).parents[1] / 'helpers' / 'far_agents.py'}"


async def test_an_agent_in_a_process_of_its_own_is_listened_to(tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    file = written(tmp_path, TEXT)
    taps = Taps()
    with Echo() as echo:
        name = f"{file}:A,python={sys.executable}"
        opener = Opener(name, model=ChatClient("m1", echo.url), embedders={}, knobs={}, taps=taps)
        agent = await opener.open({}, tmp_path / "agent")
        assert said((await agent.ask("u", "one", TRACED)).model_requests) == ["one"]
        await agent.restart()
        assert said((await agent.ask("u", "two", TRACED)).model_requests) == ["two"]
        assert said((await agent.take_requests()).texts) == ["closing"]
        assert "model_requests" in describe(agent).channels
        await agent.close()
        # A URL of the person's own is listened to as well, and the run's is not asked.
        away = ChatClient("m1", "http://127.0.0.1:9/v1")
        opener = Opener(f"{name},model_url={echo.url}", model=away, embedders={}, knobs={}, taps=taps)
        agent = await opener.open({}, tmp_path / "agent")
        assert said((await agent.ask("u", "three", TRACED)).model_requests) == ["three"]
        await agent.close()
        assert len(echo.asked) == 6
    await taps.close()


async def test_without_a_url_a_process_of_its_own_has_no_proxy(tmp_path: Path) -> None:
    name = f"{NOTES}:Notes,python={sys.executable}"
    opener = Opener(name, model=ExtractiveReader(), embedders={}, knobs={}, taps=Taps())
    agent = await opener.open({}, tmp_path)
    assert not hasattr(agent, "take_requests")
    await agent.close()
