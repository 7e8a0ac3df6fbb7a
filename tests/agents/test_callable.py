"""A user's own class as an agent: what it may look like, what comes back, what is refused in one line."""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.agents import conversing, folder_of, plan_of

from vestige.agents.callable import AdaptedAgent, open_adapted
from vestige.agents.opening import Opener, check_agent, settings_of
from vestige.agents.protocol import OPTIONAL_METHODS, Agent, describe
from vestige.agents.returns import as_artifacts, as_receipt, as_reply
from vestige.agents.source import load_source, source_of
from vestige.errors import AgentError, ConfigError
from vestige.models.chat import ChatClient
from vestige.models.extractive import ExtractiveReader
from vestige.models.hashing import HashingEmbedder
from vestige.records import AskOptions, MemoryUnit, Receipt, RemovalRequest, Reply, Session, Turn
from vestige.runs.engine import execute
from vestige.runs.services import Services
from vestige.runs.steps import Ask, Await, EndSession, Episode, Forget, Reset
from vestige.runs.store import read_lines

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "notebook_agent.py"
NOTEBOOK = f"{EXAMPLE}:NotebookAgent"

SESSION = Session(
    id="s1",
    turns=(
        Turn(role="user", content="I moved to Oslo in May. My token is XQ7-VIOLET-3829."),
        Turn(role="assistant", content="Noted, thank you."),
    ),
)
FORGET = RemovalRequest(value="XQ7-VIOLET-3829")
REST = """
    def converse(self, user, session): ...
    def ask(self, user, prompt): return "yes"
    def forget(self, user, request): ...
    def reset(self, user): ...
"""


def written(folder: Path, text: str, name: str = "my_agent.py") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


async def opened(kind: Any, tmp_path: Path, **given: Any) -> AdaptedAgent:
    return await open_adapted(source_of(kind), tmp_path, **given)


class Plain:
    """The base of the small agents below."""

    def __init__(self) -> None:
        self.got: list[Any] = []

    def converse(self, user: str, session: Session) -> None:
        self.got.append(session)

    def ask(self, user: str, prompt: str) -> Any:
        return "fine"

    def forget(self, user: str, request: RemovalRequest) -> Any:
        self.got.append(request)

    def reset(self, user: str) -> None:
        self.got.clear()


# ------------------------------------------------------------------------------------------------ example


def test_the_example_is_short() -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 30
    assert "import vestige" not in text


async def test_the_example_remembers_and_forgets(tmp_path: Path) -> None:
    agent = await open_adapted(load_source(NOTEBOOK), tmp_path)
    assert isinstance(agent, Agent)
    await agent.converse("a", SESSION)
    assert (await agent.ask("a", "What is my token?")).text == "My token is XQ7-VIOLET-3829."
    assert (await agent.ask("b", "What is my token?")).text == ""
    receipt = await agent.forget("a", FORGET)
    assert receipt == Receipt(accepted=True, completed=True, message="no receipt")
    assert (await agent.ask("a", "What is my token?")).text == "I moved to Oslo in May."
    await agent.reset("a")
    assert (await agent.ask("a", "Where did I move?")).text == ""
    await agent.close()


async def test_the_example_opens_by_name(tmp_path: Path) -> None:
    opener = Opener(NOTEBOOK, model=ExtractiveReader(), embedders={"hashing": HashingEmbedder()}, knobs={})
    one = await opener.open({"embedder": "hashing"}, tmp_path / "1")
    two = await opener.open({"embedder": "hashing"}, tmp_path / "2")
    await one.converse("a", SESSION)
    assert (await two.ask("a", "What is my token?")).text == ""  # an agent of its own for every episode
    said = describe(one)
    assert said.name == "NotebookAgent"
    assert said.channels == ("answer",)
    assert said.capabilities == ()
    assert said.version == settings_of(NOTEBOOK, {})["sha256"][:12]
    assert settings_of(NOTEBOOK, {})["file"] == "notebook_agent.py"
    for agent in (one, two):
        await agent.close()


async def test_the_engine_runs_a_script_over_the_example(tmp_path: Path) -> None:
    tell, blobs = conversing(SESSION)
    forget = Forget(request=FORGET)
    wait = Await(needles={"target": "XQ7-VIOLET-3829"}, limit=0)
    ask = Ask(probe="p0")
    plan = plan_of((tell, ask, EndSession(), forget, wait, ask, Reset(), ask), probes=("What is my token?",))
    opener = Opener(NOTEBOOK, model=ExtractiveReader(), embedders={}, knobs={})
    embedder = HashingEmbedder()

    async def open_agent(episode: Episode, storage: Path) -> Agent:
        return await opener.open(episode.knobs, storage)

    given = Services(open_agent=open_agent, embedder_of=lambda e: embedder, measures={})
    before = sys.stdout
    summary = await execute(plan, folder_of(tmp_path / "run", plan, blobs), given)
    assert (summary.done, summary.failed) == (1, {})
    assert sys.stdout is before
    lines = read_lines(tmp_path / "run")
    replies = [line.body["reply"]["text"] for line in lines if line.kind == "exchange"]
    assert replies == ["My token is XQ7-VIOLET-3829.", "I moved to Oslo in May.", ""]
    assert {x.body["step"] for x in read_lines(tmp_path / "run") if x.kind == "unavailable"} == {
        "end_session"
    }
    (receipt,) = [x.body for x in read_lines(tmp_path / "run") if x.kind == "receipt"]
    assert receipt["message"] == "no receipt"


# ------------------------------------------------------------------------------------------------- shapes


async def test_plain_methods_run_in_one_thread_that_is_not_the_loops(tmp_path: Path) -> None:
    class Where(Plain):
        def __init__(self) -> None:
            self.threads = {threading.get_ident()}
            self.inside = self.most = 0

        def ask(self, user: str, prompt: str) -> str:
            self.threads.add(threading.get_ident())
            self.inside += 1
            self.most = max(self.most, self.inside)
            threading.Event().wait(0.01)
            self.inside -= 1
            return f"{len(self.threads)} {self.most}"

    agent = await opened(Where, tmp_path)
    replies = await asyncio.gather(*(agent.ask("a", "?") for _ in range(5)))
    assert {r.text for r in replies} == {"1 1"}
    assert agent._agent.threads != {threading.get_ident()}
    await agent.close()


async def test_async_methods_run_in_the_loop(tmp_path: Path) -> None:
    class Async(Plain):
        def __init__(self) -> None:
            super().__init__()
            self.loop = asyncio.get_running_loop()

        async def ask(self, user: str, prompt: str, options: AskOptions) -> Reply:
            assert asyncio.get_running_loop() is self.loop
            return Reply(text=f"{options.max_tokens}")

    agent = await opened(Async, tmp_path)
    assert (await agent.ask("a", "?", AskOptions(max_tokens=7))).text == "7"
    await agent.converse("a", SESSION)
    assert agent._agent.got == [SESSION]
    await agent.close()


@pytest.mark.parametrize(
    ("signature", "taken"),
    [
        ("self, user, prompt", False),
        ("self, user, prompt, options", True),
        ("self, user, prompt, *, options=None", True),
        ("self, user, prompt, opts", True),
        ("self, user, prompt, k=5", False),
        ("self, user, prompt, **more", False),
    ],
)
async def test_ask_gets_its_options_only_where_it_takes_them(
    signature: str, taken: bool, tmp_path: Path
) -> None:
    body = f"    def ask({signature}):\n        return type(locals().get('options', locals().get('opts'))).__name__\n"
    path = written(tmp_path, f"class A:{REST}{body}")
    agent = await open_adapted(load_source(f"{path}:A"), tmp_path)
    assert (await agent.ask("a", "?", AskOptions())).text == ("AskOptions" if taken else "NoneType")
    assert describe(agent).configuration["ask_options"] == ("taken" if taken else "not taken")
    await agent.close()


@pytest.mark.parametrize("parameter", ["messages", "session: list[dict]", "said: list"])
async def test_converse_may_take_messages(parameter: str, tmp_path: Path) -> None:
    name = parameter.partition(":")[0]
    text = f"class A:{REST}\n    def converse(self, user, {parameter}): self.got = {name}\n"
    agent = await open_adapted(load_source(f"{written(tmp_path, text)}:A"), tmp_path)
    await agent.converse("a", SESSION)
    assert agent._agent.got[1] == {"role": "assistant", "content": "Noted, thank you."}
    await agent.close()


@pytest.mark.parametrize("parameter", ["value", "text", "what: str", "what: 'str | None'"])
async def test_forget_may_take_a_text(parameter: str, tmp_path: Path) -> None:
    name = parameter.partition(":")[0]
    text = f"class A:{REST}\n    def forget(self, user, {parameter}): self.got = {name}\n"
    agent = await open_adapted(load_source(f"{written(tmp_path, text)}:A"), tmp_path)
    await agent.forget("a", RemovalRequest(description="my address"))
    assert agent._agent.got == "my address"
    await agent.forget("a", FORGET)
    assert agent._agent.got == FORGET.value
    refused = await agent.forget("a", RemovalRequest(scope="session", ids=("s1",)))
    assert not refused.accepted and not refused.completed
    assert agent._agent.got == FORGET.value  # nothing was asked of it
    await agent.close()


def test_what_comes_back_becomes_a_record() -> None:
    assert as_reply("x") == Reply(text="x")
    call = {"name": "send", "arguments": {"to": "XQ7"}}
    assert as_reply({"text": "x", "tool_calls": [call]}).tool_calls[0].arguments == '{"to": "XQ7"}'
    assert as_receipt(True).completed
    assert not as_receipt(False).accepted
    assert as_receipt({"accepted": True, "completed": False, "handle": "7"}).handle == "7"
    same, twin, other = as_artifacts(
        ["a", "a", {"id": "z", "tier": "summary", "text": "b", "vector": [3, 4]}]
    )
    assert same.id != twin.id and same.tier == "raw"
    assert other.vector is not None
    assert list(memoryview(other.vector).cast("f")) == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (None, "ask: None came, expected a text"),
        (7, "ask: a value of type int came"),
        (iter("ab"), "ask: a value of type str_"),
        ({"text": 7}, "ask: what came is not a Reply: text: Input should be a valid string"),
        ({"text": "x", "retreived": ["XQ7-VIOLET-3829"]}, "ask: what came is not a Reply: retreived: Extra"),
        ({"text": "x", "retrieved": [{"id": "1"}]}, "ask: what came is not a Reply: retrieved.0.tier"),
        (
            {"text": "x", "retrieved": [{"id": "1", "tier": "raw", "text": "t", "score": float("nan")}]},
            "not a finite number",
        ),
    ],
)
def test_what_is_no_reply_is_refused_by_name_and_without_its_words(value: Any, says: str) -> None:
    with pytest.raises(AgentError) as caught:
        as_reply(value)
    assert says in str(caught.value)
    assert "VIOLET" not in str(caught.value)


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=8)
)
def test_any_value_is_a_record_or_an_agents_error(value: Any) -> None:
    for read in (as_reply, as_receipt, as_artifacts):
        try:
            read(value)
        except AgentError as error:
            assert "\n" not in str(error)


# -------------------------------------------------------------------------------------------- capabilities


async def test_optional_methods_are_there_only_where_the_class_has_them(tmp_path: Path) -> None:
    class Rich(Plain):
        storage_root = "x"
        channels = ("retrieval",)
        absent = {"logs": "keeps none"}  # noqa: RUF012  as a user writes it, without ClassVar
        tiers = ("raw",)
        external_effects = ("sends mail",)

        def inspect(self, user: str) -> list[str]:
            return ["a note"]

        def poll(self, user: str, receipt: Receipt) -> bool:
            return receipt.handle == "done"

    bare = await opened(Plain, tmp_path)
    own = {"open", "close"}  # of the wrapper: they make the agent, and let it go
    assert {m for m in OPTIONAL_METHODS if getattr(bare, m, None) is not None} == own
    assert (describe(bare).capabilities, describe(bare).external_effects) == ((), ())
    await bare.close()
    rich = await opened(Rich, tmp_path)
    assert {m for m in OPTIONAL_METHODS if getattr(rich, m, None) is not None} == own | {"inspect", "poll"}
    said = describe(rich)
    assert said.capabilities == ("inspect", "poll")
    assert set(said.channels) == {"answer", "retrieval", "memory_writes", "summary", "vectors"}
    assert said.absent == {"logs": "keeps none"}
    assert said.external_effects == ("sends mail",)
    assert [a.text for a in await rich.inspect("a")] == ["a note"]
    waiting = Receipt(accepted=True, completed=False, handle="7")
    assert await rich.poll("a", waiting) == waiting
    assert (await rich.poll("a", waiting.model_copy(update={"handle": "done"}))).completed
    await rich.close()


async def test_units_are_stored_by_a_class_that_can_store_them(tmp_path: Path) -> None:
    class Stores(Plain):
        def remember(self, user: str, units: list[MemoryUnit]) -> str:
            self.got += [(user, unit.id, unit.text) for unit in units]
            return "ignored"

        def ask(self, user: str, prompt: str) -> str:
            return str(self.got)

    agent = await opened(Stores, tmp_path)
    assert describe(agent).capabilities == ("remember",)
    assert await agent.remember("a", [MemoryUnit(id="7", text="Nora keeps bees.")]) is None
    assert (await agent.ask("a", "?")).text == "[('a', '7', 'Nora keeps bees.')]"
    await agent.close()


async def test_storage_names_paths_and_configure_gets_what_it_takes(tmp_path: Path) -> None:
    class Stored(Plain):
        def __init__(self, storage: Path, config: dict[str, Any]) -> None:
            super().__init__()
            self.folder, self.config, self.level = storage, config, 0

        def storage(self) -> str:
            return str(self.folder)

        def configure(self, level: int) -> None:
            self.level = level

    agent = await opened(Stored, tmp_path, config={"level": 2, "k": 3})
    assert await agent.storage() == [tmp_path]
    assert agent._agent.level == 2
    assert agent._agent.config == {"level": 2, "k": 3}
    assert describe(agent).knobs == ("level",)
    await agent.close()
    await (await opened(Stored, tmp_path, config={"level": 2, "k": 3}, demanded=("level",))).close()
    with pytest.raises(ConfigError, match="this plan sets k, which Stored has no configure for"):
        await opened(Stored, tmp_path, config={"level": 2, "k": 3}, demanded=("level", "k"))


async def test_an_own_description_may_not_claim_methods_that_are_not_there(tmp_path: Path) -> None:
    class Boastful(Plain):
        def describe(self) -> dict[str, Any]:
            return {
                "name": "b",
                "version": "1",
                "configuration": {},
                "capabilities": ["inspect", "snapshot"],
                "channels": ["answer", "reasoning"],
            }

        def inspect(self, user: str) -> list[str]:
            return []

    agent = await opened(Boastful, tmp_path)
    assert describe(agent).capabilities == ("inspect",)
    assert describe(agent).channels == ("answer", "reasoning")
    await agent.close()


async def test_without_reset_a_fresh_instance_takes_over(tmp_path: Path) -> None:
    class NoReset:
        def __init__(self, storage: Path) -> None:
            self.file = storage / "notes"

        def converse(self, user: str, session: Session) -> None:
            self.file.write_text(session.turns[0].content)

        def ask(self, user: str, prompt: str) -> str:
            return self.file.read_text() if self.file.exists() else "nothing"

        def forget(self, user: str, request: RemovalRequest) -> None: ...

    agent = await opened(NoReset, tmp_path)
    await agent.converse("a", SESSION)
    assert "VIOLET" in (await agent.ask("a", "?")).text
    await agent.reset("a")
    assert (await agent.ask("a", "?")).text == "nothing"
    assert describe(agent).configuration["reset"] == "a fresh instance over an emptied folder"
    await agent.close()


# ------------------------------------------------------------------------------------------------ failures


async def test_what_the_agent_raises_is_told_by_type_and_line(tmp_path: Path) -> None:
    text = f"class A:{REST}\n    def ask(self, user, prompt):\n        raise KeyError('XQ7-VIOLET-3829')\n"
    agent = await open_adapted(load_source(f"{written(tmp_path, text)}:A"), tmp_path)
    with pytest.raises(AgentError, match=r"^ask: the agent raised KeyError at my_agent\.py:8$"):
        await agent.ask("a", "?")
    await agent.close()


@pytest.mark.parametrize("error", [SystemExit(0), StopIteration(), asyncio.CancelledError()])
async def test_no_exception_of_an_agent_ends_the_run(error: BaseException, tmp_path: Path) -> None:
    class Sync(Plain):
        def ask(self, user: str, prompt: str) -> str:
            raise error

    class Async(Plain):
        async def ask(self, user: str, prompt: str) -> str:
            raise error

    for kind in (Sync, Async):
        agent = await opened(kind, tmp_path)
        with pytest.raises(AgentError, match="ask: the agent raised"):
            await agent.ask("a", "?")
        await agent.close()


async def test_our_own_cancellation_stays_one(tmp_path: Path) -> None:
    class Slow(Plain):
        async def ask(self, user: str, prompt: str) -> str:
            await asyncio.sleep(60)
            return ""

    agent = await opened(Slow, tmp_path)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(agent.ask("a", "?"), 0.05)
    await agent.close()


async def test_what_an_agent_prints_goes_to_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"print('loading')\nclass A:{REST}\n    def ask(self, user, prompt):\n        return print('asked') or 'x'\n"
    source = load_source(f"{written(tmp_path, text)}:A")
    one, two = await open_adapted(source, tmp_path), await open_adapted(source, tmp_path)
    await one.ask("a", "?")
    await one.close()
    await two.ask("a", "?")  # episodes overlap: the first to end must not give it back
    await two.close()
    await two.close()
    print("result")
    out, err = capsys.readouterr()
    assert out == "result\n"
    assert err.split() == ["loading", "asked", "asked"]


async def test_standard_output_comes_back_when_an_agent_cannot_be_made(tmp_path: Path) -> None:
    class Broken(Plain):
        def __init__(self) -> None:
            raise OSError("no")

    before = sys.stdout
    with pytest.raises(AgentError, match=r"Broken: the agent raised OSError at test_callable\.py:"):
        await opened(Broken, tmp_path)
    assert sys.stdout is before


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = 1", "no 'A' in it"),
        ("class B:" + REST, "no 'A' in it; it defines B"),
        (
            "import nowhere_at_all",
            "my_agent.py:1: ModuleNotFoundError: no module 'nowhere_at_all'; modules beside",
        ),
        ("\nx = y", "my_agent.py:2: NameError: 'y' is not defined"),
        ("raise ValueError('sk-secret')", "my_agent.py:1: ValueError"),
        ("import sys\nsys.exit(3)", "my_agent.py:2: SystemExit"),
        ("def (:", "my_agent.py:1: SyntaxError: invalid syntax"),
        ("A = 7", "is a value of type int, expected a class"),
        ("class B:" + REST + "A = B()", "is a value of type B, expected a class"),
        (
            "class A:\n def converse(self, u, s): ...\n def ask(self, u, p): ...",
            "A has no forget; expected `def forget(",
        ),
        ("class A:" + REST + "    forget = 3", "forget of A is no method"),
        ("class A:" + REST + "    def ask(self, prompt): ...", "A.ask(self, prompt): expected `def ask("),
        ("class A:" + REST + "    def __init__(self, url): ...", "A needs 'url', which nobody can give it"),
    ],
)
def test_a_file_that_is_no_agent_is_one_line(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        check_agent(f"{written(tmp_path, text)}:A")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nowhere.py:A", "cannot be read: No such file"),
        ("no.such.module:A", "no module 'no'; install it, or give the file"),
        ("json:NoSuch", "no 'NoSuch' in it"),
        ("agent.py", "no such agent; name its class too: agent.py:NAME"),
        ("letta", "no such agent; expected reference"),
        (":A", "expected FILE.py:NAME"),
        ("a.py:", "expected FILE.py:NAME"),
    ],
)
def test_a_name_that_leads_nowhere_is_one_line(name: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_agent(name)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_audit_that_needs_more_refuses_at_once(tmp_path: Path) -> None:
    assert check_agent(NOTEBOOK) == NOTEBOOK
    with pytest.raises(
        ConfigError, match="needs snapshot, restore, configure, which NotebookAgent does not have"
    ):
        check_agent(NOTEBOOK, needs=("snapshot", "restore", "configure"))
    factory = written(tmp_path, f"class A:{REST}\ndef typed() -> A: return A()\ndef bare(): return A()\n")
    assert check_agent(f"{factory}:bare") and check_agent(f"{factory}:typed")
    with pytest.raises(ConfigError, match="which A does not have"):
        check_agent(f"{factory}:typed", needs=("snapshot",))
    with pytest.raises(ConfigError, match="say the class that it returns"):
        check_agent(f"{factory}:bare", needs=("snapshot",))


async def test_a_factory_that_makes_no_agent_is_refused_when_it_is_opened(tmp_path: Path) -> None:
    path = written(tmp_path, "def make(): return 3")
    with pytest.raises(ConfigError, match="int has no converse"):
        await open_adapted(load_source(f"{path}:make"), tmp_path)


# --------------------------------------------------------------------------------------------------- model


async def test_a_model_url_is_handed_over_or_asked_for(tmp_path: Path) -> None:
    text = (
        f"class A:{REST}\n    def __init__(self, model_url, model): self.said = f'{{model_url}} {{model}}'\n"
    )
    text += "    def ask(self, user, prompt): return self.said\n"
    name = f"{written(tmp_path, text)}:A"
    client = ChatClient("m1", "http://127.0.0.1:9/v1")
    agent = await Opener(name, model=client, embedders={}, knobs={}).open({"embedder": "x"}, tmp_path)
    assert (await agent.ask("a", "?")).text == "http://127.0.0.1:9/v1 m1"
    await agent.close()
    opener = Opener(name, model=ExtractiveReader(), embedders={}, knobs={})
    with pytest.raises(
        ConfigError, match=r"my_agent.py:A: A needs model_url, model, and the run's model has no URL"
    ):
        await opener.open({"embedder": "x"}, tmp_path)


def test_a_changed_file_is_another_module(tmp_path: Path) -> None:
    path = written(tmp_path, f"N = 1\nclass A:{REST}")
    first = load_source(f"{path}:A")
    assert load_source(f"{path}:A").factory is first.factory
    written(tmp_path, f"N = 2\n__version__ = '9'\nclass A:{REST}")
    second = load_source(f"{path}:A")
    assert second.factory is not first.factory
    assert (first.version, second.version) == (first.sha256[:12], "9")


@pytest.mark.parametrize(
    "line",
    [
        "raise KeyboardInterrupt",
        "raise GeneratorExit",
        "raise type('Mine', (BaseException,), {})('my token is XQ7-VIOLET-3829')",
    ],
)
async def test_whatever_an_agent_raises_is_its_own_failure(tmp_path: Path, line: str) -> None:
    file = tmp_path / "rude.py"
    file.write_text(
        "class Rude:\n"
        "    def converse(self, user, session): pass\n"
        f"    def ask(self, user, prompt): {line}\n"
        "    def forget(self, user, request): pass\n"
        "    def reset(self, user): pass\n"
    )
    agent = await open_adapted(load_source(f"{file}:Rude"), tmp_path / "home")
    with pytest.raises(AgentError, match=r"^ask: the agent raised \w+ at rude\.py:3$"):
        await agent.ask("u", "What?", AskOptions())
    await agent.close()


async def test_an_agent_cannot_close_our_standard_error(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "closer.py"
    file.write_text(
        "import sys\n"
        "class Closer:\n"
        "    def converse(self, user, session): pass\n"
        "    def ask(self, user, prompt):\n"
        "        print('said'); sys.stdout.close(); print('still')\n"
        "        return 'fine'\n"
        "    def forget(self, user, request): pass\n"
        "    def reset(self, user): pass\n"
    )
    agent = await open_adapted(load_source(f"{file}:Closer"), tmp_path / "home")
    assert (await agent.ask("u", "What?", AskOptions())).text == "fine"
    await agent.close()
    assert not sys.stderr.closed
    seen = capfd.readouterr()
    assert "said" in seen.err and "still" in seen.err and seen.out == ""
