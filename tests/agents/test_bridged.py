"""Names of agents in a process of their own, and which models and keys they are given."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestige.agents.bridged import _endpoints, bridged
from vestige.agents.opening import Opener, check_agent, settings_of
from vestige.errors import ConfigError
from vestige.models.chat import ChatClient
from vestige.models.embedders import HttpEmbedder
from vestige.models.extractive import ExtractiveReader
from vestige.records import Session, Turn

FAR = Path(__file__).parents[1] / "helpers" / "far_agents.py"
NOTES = f"{FAR}:Notes,python={sys.executable}"


def test_a_name_has_settings() -> None:
    found = bridged("mem0,k=7,extractor=model,threshold=0.5,expires=null,timeout=30,flag=true,note=a b")
    assert found is not None
    assert found.label == "mem0"
    assert found.seconds == 30
    assert found.settings == {
        "k": 7,
        "extractor": "model",
        "threshold": 0.5,
        "expires": None,
        "flag": True,
        "note": "a b",
    }


def test_a_file_with_an_interpreter_is_an_agent_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FAR.parent)
    found = bridged(f"far_agents.py:Notes,python={sys.executable},k=2")
    assert found is not None
    assert found.source == f"{FAR}:Notes"
    assert (found.label, found.settings) == ("far_agents.py:Notes", {"k": 2})
    launch = found.launch()
    assert launch.python == Path(sys.executable)
    assert not launch.fenced
    assert launch.settings == {"k": 2}


@pytest.mark.parametrize("name", ["reference", "agent.py:A", "package.module:A", "agent.toml", "letta"])
def test_other_names_name_no_such_agent(name: str) -> None:
    assert bridged(name) is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mem0,k", "'k': expected NAME=VALUE after a comma"),
        ("mem0,", "'': expected NAME=VALUE after a comma"),
        ("mem0,a b=1", "expected NAME=VALUE"),
        ("mem0,timeout=0", "timeout=0: expected seconds, above 0"),
        ("mem0,timeout=soon", "timeout=soon: expected seconds"),
        ("mem0,python=3.12", "mem0 runs in its own environment: vestige agents install mem0 --python"),
        ("mem0,api_key=sk-secret", "a name stands in plans and reports; set VESTIGE_API_KEY instead"),
        ("mem0,model_url=http://u:sk-secret@h/v1", "carries a credential"),
        (
            "letta,k=3",
            "no such agent to give settings to; expected mem0, langgraph, or FILE.py:NAME,python=PATH",
        ),
        ("agent.py:A,k=3", "name its interpreter too, as agent.py:A,python=PATH"),
        ("agent.py:A,python=python3", "agent.py: no such file"),
    ],
)
def test_a_mistake_in_a_name_is_one_line(name: str, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_agent(name)
    assert expected in str(caught.value)
    assert "sk-secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ConfigError):
        bridged(f"mem0,{text}")


def given_to(model: Any, embedder: Any = None, name: str = "mem0") -> dict[str, Any]:
    agent = bridged(name)
    assert agent is not None
    return _endpoints(agent, model, embedder).model_dump(exclude_none=True)


def test_an_agent_is_given_the_runs_models() -> None:
    assert given_to(ExtractiveReader()) == {"model": "extractive", "api_key": "none", "embedder": "hash"}
    model = ChatClient("tiny", "http://127.0.0.1:9/v1", api_key="sk-1")
    embedder = HttpEmbedder("vectors", "http://127.0.0.1:9/v1", api_key="sk-1")
    assert given_to(model, embedder) == {
        "model": "tiny",
        "model_url": "http://127.0.0.1:9/v1",
        "api_key": "sk-1",
        "embedder": "vectors",
        "embedder_url": "http://127.0.0.1:9/v1",
    }


def test_a_key_goes_to_its_own_address_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    local = ChatClient("tiny", "http://127.0.0.1:9/v1")
    embedder = HttpEmbedder("vectors", "https://vectors.example/v1", api_key="sk-1")
    with pytest.raises(ConfigError, match="model and embedder are at two addresses") as caught:
        given_to(local, embedder)
    assert "sk-1" not in str(caught.value)
    assert given_to(local, HttpEmbedder("v", "http://127.0.0.1:8/v1"))["api_key"] == "none"
    keyed = ChatClient("tiny", "https://model.example/v1", api_key="sk-1")
    monkeypatch.delenv("VESTIGE_API_KEY", raising=False)
    found = given_to(keyed, name="mem0,model_url=http://127.0.0.1:7/v1")
    assert (found["model_url"], found["api_key"]) == ("http://127.0.0.1:7/v1", "none")
    monkeypatch.setenv("VESTIGE_API_KEY", "sk-2")
    assert given_to(keyed, name="mem0,model_url=http://127.0.0.1:7/v1")["api_key"] == "sk-2"


def test_a_model_without_an_address_is_refused() -> None:
    class Odd(ExtractiveReader):
        name = "odd"

    with pytest.raises(ConfigError, match="the run's model has no URL that another process could ask"):
        given_to(Odd())


async def test_a_persons_own_agent_in_another_interpreter(tmp_path: Path) -> None:
    check_agent(NOTES, ("snapshot", "inspect"))
    plan = settings_of(f"{NOTES},k=1", {})
    assert (plan["file"], plan["name"], plan["settings"]) == ("far_agents.py", "Notes", {"k": 1})
    opener = Opener(f"{NOTES},k=1", model=ExtractiveReader(), embedders={}, knobs={"temperature": 0.0})
    agent: Any = await opener.open({"k": 2}, tmp_path)
    await agent.converse("u", Session(id="s", turns=(Turn(role="user", content="my locker code is 4711"),)))
    assert (await agent.ask("u", "locker code?")).text == "my locker code is 4711"
    await agent.close()
    with pytest.raises(ConfigError, match="this plan sets level, which Notes has no configure for"):
        await opener.open({"level": 2}, tmp_path)
