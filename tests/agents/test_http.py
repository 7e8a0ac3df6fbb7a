"""An agent behind HTTP: the example's description against a real server that deletes late, and what goes wrong."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from hypothesis import given
from hypothesis import strategies as st

from vestige.agents.http import HttpAgent
from vestige.agents.http_config import load_config
from vestige.agents.opening import Opener, check_agent, settings_of
from vestige.agents.protocol import Agent, describe
from vestige.agents.templates import ABSENT, NoValue, check_template, fill_body, fill_path, find, parse_path
from vestige.errors import AgentError, ConfigError
from vestige.models.extractive import ExtractiveReader
from vestige.records import AskOptions, MemoryUnit, RemovalRequest, Session, Turn

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "http_agent.toml"
TOKEN = "sk-very-secret"
SESSION = Session(
    id="s/1",
    turns=(
        Turn(role="user", content="My token is XQ7-VIOLET-3829."),
        Turn(role="assistant", content="Noted."),
        Turn(role="user", content="I moved to Oslo."),
    ),
)
FORGET = RemovalRequest(value="XQ7-VIOLET-3829")

Handler = Callable[[web.Request], Any]


class Notes:
    """The service of the example: notes by user, which a job deletes only after it was polled `late` times."""

    def __init__(self, late: int = 2) -> None:
        self.notes: dict[str, list[str]] = {}
        self.jobs: dict[str, tuple[str, str, int]] = {}
        self.late = late
        self.seen: list[str] = []

    def app(self) -> web.Application:
        app = web.Application(middlewares=[self.authorised])
        app.router.add_post("/users/{user}/sessions/{session}", self.converse)
        app.router.add_post("/users/{user}/ask", self.ask)
        app.router.add_delete("/users/{user}/notes", self.forget)
        app.router.add_delete("/users/{user}", self.reset)
        app.router.add_get("/users/{user}/notes", self.listed)
        app.router.add_get("/jobs/{job}", self.job)
        return app

    @web.middleware
    async def authorised(self, request: web.Request, handler: Any) -> Any:
        self.seen.append(f"{request.method} {request.raw_path}")
        assert request.headers["Authorization"] == f"Bearer {TOKEN}"
        return await handler(request)

    async def converse(self, request: web.Request) -> web.Response:
        said = [m["content"] for m in (await request.json())["messages"] if m["role"] == "user"]
        self.notes.setdefault(request.match_info["user"], []).extend(said)
        return web.Response(status=204)

    async def ask(self, request: web.Request) -> web.Response:
        asked = await request.json()
        assert asked["remember"] is False
        words = set(asked["question"].lower().strip("?").split())
        own = self.notes.get(request.match_info["user"], [])
        ranked = sorted(own, key=lambda n: -len(words & set(n.lower().split())))
        sources = [
            {"id": i, "note": note, "kind": "raw", "score": 1 / (i + 1)} for i, note in enumerate(ranked)
        ]
        return web.json_response({"answer": ranked[0] if ranked else "", "sources": sources})

    async def forget(self, request: web.Request) -> web.Response:
        job = f"j/{len(self.jobs)}"
        self.jobs[job] = (request.match_info["user"], request.query["containing"], self.late)
        return web.json_response({"job": {"id": job}}, status=202)

    async def job(self, request: web.Request) -> web.Response:
        name = request.match_info["job"]
        if name not in self.jobs:
            raise web.HTTPNotFound
        user, value, left = self.jobs[name]
        self.jobs[name] = (user, value, left - 1)
        if left > 0:
            return web.json_response({"status": "running"})
        self.notes[user] = [n for n in self.notes.get(user, []) if value not in n]
        return web.json_response({"status": "done"})

    async def reset(self, request: web.Request) -> web.Response:
        if self.notes.pop(request.match_info["user"], None) is None:
            raise web.HTTPNotFound
        return web.Response(status=204)

    async def listed(self, request: web.Request) -> web.Response:
        own = self.notes.get(request.match_info["user"])
        if own is None:
            raise web.HTTPNotFound
        page = int(request.query["page"] or 0)
        body = {"notes": [{"id": page, "note": own[page], "kind": "raw"}] if page < len(own) else []}
        return web.json_response(body | ({"next_page": page + 1} if page + 1 < len(own) else {}))


@pytest.fixture
async def notes(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Notes]:
    service = Notes()
    async with TestServer(service.app()) as server:
        monkeypatch.setenv("NOTES_URL", str(server.make_url("")).rstrip("/"))
        monkeypatch.setenv("NOTES_TOKEN", TOKEN)
        yield service


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTES_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("NOTES_TOKEN", TOKEN)


ROUTES = """
base_url = "{url}"
retries = 2
[converse]
path = "/c"
body = {{ said = "{{text}}", when = "{{date}}" }}
[ask]
path = "/a"
body = "{{prompt}}"
{ask}
[forget]
path = "/f"
body = {{ id = "{{id}}" }}
{forget}
"""


class Service:
    """A server with one handler for each path, and a description of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.handlers: dict[str, Handler] = {}
        self.fallback: Handler = answers(lambda: web.Response(status=404))
        self.bodies: list[Any] = []
        self.server: TestServer | None = None

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.bodies.append(json.loads(await request.read() or b"null"))
        return await self.handlers.get(request.path, self.fallback)(request)

    async def agent(self, *, ask: str = "", forget: str = "", more: str = "") -> HttpAgent:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self.handle)
        self.server = TestServer(app)
        await self.server.start_server()
        url = str(self.server.make_url("")).rstrip("/")
        path = self.folder / "http.toml"
        path.write_text(ROUTES.format(url=url, ask=ask, forget=forget) + more, encoding="utf-8")
        return HttpAgent(load_config(path))


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    made = Service(tmp_path)
    yield made
    if made.server is not None:
        await made.server.close()


def answers(*bodies: Any, status: int = 200) -> Handler:
    """A handler that gives one body after the other, and the last one ever after."""
    waiting = list(bodies)

    async def handler(request: web.Request) -> web.Response:
        body = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        return body() if callable(body) else web.json_response(body, status=status)

    return handler


# ------------------------------------------------------------------------------------------------ example


async def test_the_example_remembers_deletes_late_and_forgets(notes: Notes, tmp_path: Path) -> None:
    opener = Opener(str(EXAMPLE), model=ExtractiveReader(), embedders={}, knobs={})
    agent: Any = await opener.open({"embedder": "minilm"}, tmp_path)
    other: Any = await opener.open({"embedder": "minilm"}, tmp_path)
    assert isinstance(agent, Agent)
    await agent.converse("a", SESSION)
    reply = await agent.ask("a", "What is my token?", AskOptions())
    assert reply.text == "My token is XQ7-VIOLET-3829."
    assert [(u.id, u.tier, u.text, u.score) for u in reply.retrieved] == [
        ("0", "raw", "My token is XQ7-VIOLET-3829.", 1.0),
        ("1", "raw", "I moved to Oslo.", 0.5),
    ]
    assert (
        await other.ask("a", "What is my token?", AskOptions())
    ).text == ""  # another episode, another user
    assert [a.text for a in await agent.inspect("a")] == ["My token is XQ7-VIOLET-3829.", "I moved to Oslo."]
    receipt = await agent.forget("a", FORGET)
    assert (receipt.accepted, receipt.completed, receipt.handle) == (True, False, "j/0")
    states = []
    while not receipt.completed:
        receipt = await agent.poll("a", receipt)
        states.append((receipt.completed, "VIOLET" in (await agent.ask("a", "token?", AskOptions())).text))
    assert states == [(False, True), (False, True), (True, False)]
    notes.jobs.clear()
    assert (await agent.poll("a", receipt)).completed  # 404: the job is gone
    await agent.reset("a")
    await agent.reset("a")  # nobody of that name is no error
    assert await agent.inspect("a") == []
    assert len({line.split("/")[2] for line in notes.seen if "/users/" in line}) == 2
    assert any("/sessions/s%2F1" in line for line in notes.seen)
    assert not hasattr(agent, "settle") and not hasattr(agent, "snapshot")
    await agent.close()
    await other.close()


def test_the_example_says_what_can_be_observed(environment: None) -> None:
    said = describe(HttpAgent(load_config(EXAMPLE)))
    assert (said.name, said.version) == ("notes-service", "1.4")
    assert said.channels == ("answer", "retrieval", "memory_writes", "summary")
    assert said.capabilities == ("close", "inspect", "poll")
    assert said.absent == {"tool_results": "it has no tools", "tool_arguments": "it has no tools"}


def test_effects_outside_the_service_are_declared_in_words(environment: None, tmp_path: Path) -> None:
    path = tmp_path / "agent.toml"
    path.write_text('external_effects = ["sends mail"]\n' + EXAMPLE.read_text())
    assert describe(HttpAgent(load_config(path))).external_effects == ("sends mail",)
    assert describe(HttpAgent(load_config(EXAMPLE))).external_effects == ()


def test_a_plan_holds_no_value_of_a_header(environment: None) -> None:
    settings = settings_of(str(EXAMPLE), {})
    assert settings["config"]["headers"] == ["Authorization"]
    assert settings["config"]["base_url"] == "${NOTES_URL}"
    shown = json.dumps(settings) + repr(load_config(EXAMPLE)) + repr(load_config(EXAMPLE).config)
    assert TOKEN not in shown and "Bearer" not in shown
    with pytest.raises(ConfigError, match="which an HTTP agent does not have"):
        check_agent(str(EXAMPLE), needs=("snapshot",))


# ---------------------------------------------------------------------------------------------- what is read


async def test_every_channel_that_is_mapped_is_read(service: Service) -> None:
    agent = await service.agent(
        ask='text = "/out/0/text"\nreasoning = "why"\nmemory_writes = "saved"\nmodel_requests = "sent"\n'
        'tool_calls = { list = "calls" }\ntool_results = { list = "results", content = "out" }\n'
        'retrieved = { list = "hits", default_tier = "summary" }'
    )
    calls = [{"id": "c1", "name": "send", "arguments": {"to": "XQ7"}}, {"function": "odd"}]
    full = {
        "out": [{"text": "hello"}],
        "why": "because",
        "saved": ["a", {"b": 1}],
        "sent": "one",
        "calls": calls,
        "results": [{"call_id": "c1", "name": "send", "out": {"ok": True}}],
        "hits": [{"content": "XQ7-VIOLET-3829", "score": "high"}],
    }
    service.handlers["/a"] = answers(full, {"out": [{"text": "bare"}]})
    reply = await agent.ask("u", "?")
    assert (reply.text, reply.reasoning) == ("hello", "because")
    assert reply.memory_writes == ("a", '{"b": 1}')
    assert reply.model_requests == ("one",)
    assert [(c.id, c.name, c.arguments) for c in reply.tool_calls] == [
        ("c1", "send", '{"to": "XQ7"}'),
        ("", "", '{"function": "odd"}'),
    ]
    assert reply.tool_results[0].content == '{"ok": true}'
    assert reply.retrieved is not None
    (unit,) = reply.retrieved  # what has no text where it should is kept whole: it may hold what is sought
    assert (unit.id, unit.tier, unit.score) == ("0", "summary", 0.0)
    assert "XQ7-VIOLET-3829" in unit.text
    bare = await agent.ask("u", "?")
    assert (bare.retrieved, bare.memory_writes, bare.reasoning) == (None, None, None)  # not shown, not empty
    assert service.bodies[-1] == "?"
    await agent.close()


async def test_turn_by_turn_and_values_that_are_not_there(service: Service) -> None:
    agent = await service.agent()
    service.handlers["/c"] = answers({})
    await agent.converse("u", SESSION)
    assert service.bodies == [{"said": "My token is XQ7-VIOLET-3829.\nNoted.\nI moved to Oslo."}]
    text = (service.folder / "http.toml").read_text()
    text = text.replace(
        'body = { said = "{text}", when = "{date}" }', 'each = "turn"\nroles = ["user"]\nbody = ["{content}"]'
    )
    (service.folder / "turns.toml").write_text(text)
    turns = HttpAgent(load_config(service.folder / "turns.toml"))
    service.bodies.clear()
    await turns.converse("u", SESSION)
    assert service.bodies == [["My token is XQ7-VIOLET-3829."], ["I moved to Oslo."]]
    await agent.close()
    await turns.close()


UNITS = (
    MemoryUnit(id="a/1", text="Nora keeps bees.", session="s1"),
    MemoryUnit(id="b", text="Emil repairs clocks."),
)


async def test_units_are_stored_in_one_request(service: Service) -> None:
    agent: Any = await service.agent(
        more='[remember]\npath = "/m/{user}"\nbody = { all = "{units}", said = "{texts}" }'
    )
    service.fallback = answers({})
    await agent.remember("u", UNITS)
    units = [
        {"id": "a/1", "text": "Nora keeps bees.", "session": "s1"},
        {"id": "b", "text": "Emil repairs clocks."},
    ]
    assert service.bodies == [{"all": units, "said": [u.text for u in UNITS]}]
    assert describe(agent).capabilities == ("close", "remember")
    await agent.close()


async def test_units_are_stored_one_by_one(service: Service) -> None:
    agent: Any = await service.agent(
        more='[remember]\nmethod = "PUT"\neach = "unit"\npath = "/m/{id}"\n'
        'body = { note = "{text}", of = "{session}" }'
    )
    paths: list[str] = []

    async def note(request: web.Request) -> web.Response:
        paths.append(f"{request.method} {request.raw_path}")
        return web.Response(status=204 if len(paths) < 3 else 507)

    service.fallback = note
    await agent.remember("u", UNITS)
    assert paths == ["PUT /m/a%2F1", "PUT /m/b"]
    assert service.bodies == [{"note": "Nora keeps bees.", "of": "s1"}, {"note": "Emil repairs clocks."}]
    with pytest.raises(AgentError, match=r"^remember: PUT /m/\{id\}: HTTP 507$"):
        await agent.remember("u", UNITS)
    await agent.close()


async def test_without_a_table_for_it_there_is_no_remember(service: Service) -> None:
    agent = await service.agent()
    assert not hasattr(agent, "remember") and "remember" not in describe(agent).capabilities
    await agent.close()


@pytest.mark.parametrize(
    ("status", "body", "forget", "expected"),
    [
        (200, {}, "", (True, True)),
        (202, {}, "", (True, False)),
        (404, {}, "", (False, False)),
        (409, {}, "", (False, False)),
        (404, {}, "accepted_status = [200, 404]\ncompleted_status = [404]", (True, True)),
        (200, {"ok": False}, 'accepted = { path = "ok" }', (False, False)),
        (200, {"ok": True}, 'accepted = { path = "ok" }', (True, True)),
        (200, {"ok": 1}, 'accepted = { path = "ok" }', (False, False)),
        (
            200,
            {"state": "queued"},
            'completed = { path = "state", equals = ["gone", "none"] }',
            (True, False),
        ),
        (200, {"state": "none"}, 'completed = { path = "state", equals = ["gone", "none"] }', (True, True)),
        (200, {}, 'completed = { path = "state", equals = "done" }', (True, False)),
    ],
)
async def test_a_receipt_is_read_from_status_and_fields(
    service: Service, status: int, body: Any, forget: str, expected: tuple[bool, bool]
) -> None:
    agent = await service.agent(forget=forget)
    service.handlers["/f"] = answers(body, status=status)
    receipt = await agent.forget("u", RemovalRequest(ids=("1",)))
    assert (receipt.accepted, receipt.completed) == expected
    assert receipt.message == f"HTTP {status}"
    await agent.close()


async def test_one_request_for_each_id_and_one_receipt_for_all(service: Service) -> None:
    agent = await service.agent(
        forget='handle = "job"\naffected = { raw = "gone" }',
        more='[poll]\npath = "/p/{receipt}"\ncompleted = { path = "s", equals = "ok" }',
    )
    service.handlers["/f"] = answers({"job": "j1", "gone": 1}, {"job": "j2", "gone": 2}, status=202)
    service.handlers["/p/j1"] = answers({"s": "ok"})
    service.handlers["/p/j2"] = answers({"s": "no"}, {"s": "ok"})
    receipt = await agent.forget("u", RemovalRequest(ids=("1", "2")))
    assert service.bodies == [{"id": "1"}, {"id": "2"}]
    assert (receipt.completed, receipt.affected) == (False, {"raw": 3})
    assert not (await agent.poll("u", receipt)).completed
    assert (await agent.poll("u", receipt)).completed
    await agent.close()


async def test_without_an_endpoint_reset_goes_on_as_somebody_new(service: Service) -> None:
    agent = await service.agent(more='[end_session]\npath = "/e/{user}/{session}"')
    seen: list[str] = []

    async def note(request: web.Request) -> web.Response:
        seen.append(request.path.split("/")[2])
        return web.Response()

    service.fallback = note
    service.handlers["/c"] = answers({})
    for name in ("u", "v"):
        await agent.converse(name, SESSION)
        await agent.end_session(name)
    await agent.reset("u")
    for name in ("u", "v"):
        await agent.end_session(name)
    assert len(set(seen)) == 3 and seen[1] == seen[3]  # u before and after, and v, who was not reset
    assert all(re.fullmatch(r"vestige-[0-9a-f]{8}-[0-9a-f]{8}-[uv]", name) for name in seen)
    assert describe(agent).configuration["reset"] == "a user that was never seen"
    await agent.close()


# --------------------------------------------------------------------------------------------- what fails


async def test_only_what_may_be_sent_again_is(service: Service) -> None:
    tries: list[str] = []

    def failing(status: int) -> Handler:
        async def handler(request: web.Request) -> web.Response:
            tries.append(request.path)
            return web.Response(
                status=status if len(tries) < 3 else 200, text="fine", headers={"Retry-After": "0"}
            )

        return handler

    agent = await service.agent()
    service.handlers["/f"] = service.handlers["/a"] = failing(500)
    with pytest.raises(AgentError, match=r"^forget: POST /f: HTTP 500$"):
        await agent.forget("u", RemovalRequest(ids=("1",)))
    assert tries == ["/f"]  # nobody knows what it did: it is not asked for twice
    service.handlers["/f"] = failing(429)
    tries.clear()
    assert (await agent.forget("u", RemovalRequest(ids=("1",)))).accepted  # turned away unread
    assert len(tries) == 3
    again = (
        (service.folder / "http.toml").read_text().replace('path = "/a"', 'path = "/a"\nidempotent = true')
    )
    (service.folder / "again.toml").write_text(again)
    tries.clear()
    patient = HttpAgent(load_config(service.folder / "again.toml"))
    assert (await patient.ask("u", "?")).text == "fine"
    assert len(tries) == 3
    await agent.close()
    await patient.close()


@pytest.mark.parametrize(
    ("response", "says"),
    [
        (lambda: web.Response(status=401), "ask: POST /a: HTTP 401"),
        (lambda: web.Response(status=302, headers={"Location": "/x"}), "HTTP 302: redirects elsewhere"),
        (lambda: web.Response(text="{", content_type="application/json"), "says that it is JSON and is not"),
        (lambda: web.Response(text="[" * 100_000, content_type="application/json"), "JSON and is not"),
        (lambda: web.json_response({"said": 1}), "ask: the answer has nothing at 'text', expected a text"),
        (lambda: web.json_response({"text": None}), "ask: the answer has null at 'text'"),
        (lambda: web.json_response({"text": [1]}), "ask: the answer has a list at 'text'"),
        (lambda: web.Response(body=b"x" * (9 << 20)), "the answer is larger than 8388608 bytes"),
    ],
)
async def test_an_answer_that_cannot_be_used_is_one_line(
    service: Service, response: Callable[[], web.Response], says: str
) -> None:
    agent = await service.agent(ask='text = "text"')
    service.handlers["/a"] = answers(response)
    with pytest.raises(AgentError) as caught:
        await agent.ask("u", "XQ7-VIOLET-3829")
    assert says in str(caught.value)
    assert "VIOLET" not in str(caught.value) and "\n" not in str(caught.value)
    await agent.close()


async def test_missing_where_the_description_says_so_is_no_failure(service: Service) -> None:
    agent = await service.agent(ask="missing = [404]")
    service.handlers["/a"] = answers(lambda: web.Response(status=404))
    reply = await agent.ask("u", "?")
    assert (reply.text, reply.finish_reason) == ("", "missing")
    await agent.close()


async def test_a_server_that_is_not_there_or_says_nothing(environment: None, service: Service) -> None:
    text = EXAMPLE.read_text().replace("timeout = 30", "timeout = 0.2\nretries = 1")
    (service.folder / "dead.toml").write_text(text)
    dead = HttpAgent(load_config(service.folder / "dead.toml"))
    with pytest.raises(
        AgentError, match=r"^ask: POST /users/\{user\}/ask: cannot connect \(.*\) \(2 attempts\)$"
    ):
        await dead.ask("u", "?")
    with pytest.raises(AgentError, match=r"^converse: POST .*: \{session\} cannot stand in a path"):
        await dead.converse("u", SESSION.model_copy(update={"id": ".."}))
    missing = await dead.forget("u", RemovalRequest(ids=("1",)))
    assert missing.message == "this interface deletes by {value}, and the request names none"
    assert not missing.accepted
    agent = await service.agent()
    (service.folder / "http.toml").write_text("timeout = 0.1\n" + (service.folder / "http.toml").read_text())
    slow = HttpAgent(load_config(service.folder / "http.toml"))

    async def silent(request: web.Request) -> web.Response:
        await asyncio.sleep(1)
        return web.Response()

    service.handlers["/a"] = silent
    with pytest.raises(AgentError, match=r"no whole answer within 0\.1 s$"):
        await slow.ask("u", "?")
    for one in (dead, agent, slow):
        await one.close()


# ------------------------------------------------------------------------------------------ the description


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("[ask]", "[aks]"), "ask: is missing"),
        (('text = "answer"', 'txet = "answer"'), "[ask] txet: no such key"),
        (('text = "answer"', 'text = "a..b"'), "[ask] text: path 'a..b': a step is empty"),
        (('text = "answer"', 'text = "/~2"'), "[ask] text: path '/~2': in a JSON pointer"),
        (('list = "sources", ', ""), "[ask] retrieved.list: is missing"),
        (("{prompt}", "{propmt}"), "[ask] body: unknown placeholder {propmt}; here are choices"),
        (("{prompt}", "{prompt"), "[ask] body: a lone '{'; write '{{'"),
        (("/users/{user}/ask", "users/ask"), "[ask] path: expected a path from the base URL on"),
        (('method = "DELETE"', 'method = "REMOVE"'), "[forget] method: input should be 'GET'"),
        (("{receipt}", "last"), "[poll] path: without {receipt}"),
        (('handle = "job.id"', ""), "[forget] handle: [poll] needs the path"),
        (('next = "next_page"', ""), "[inspect] next: {cursor} and next go together"),
        (("{messages}", "{content}"), "[converse] each: {role} and {content} are of a turn"),
        (("timeout = 30", "timeout = 0"), "timeout: input should be greater than 0"),
        (('tool_results = "it', 'tool_outputs = "it'), "[absent] tool_outputs"),
        (
            ("${NOTES_TOKEN}", "${NOT_SET_AT_ALL}"),
            "[headers] Authorization: the environment variable NOT_SET_AT_ALL",
        ),
        (("Authorization =", '"a b" ='), "[headers] a b: is no header's name"),
        (("Bearer ${NOTES_TOKEN}", "a\\nb"), "[headers] Authorization: its value holds a line break"),
        (
            ("Authorization = ", "Authorization = 7 # "),
            "[headers] Authorization: input should be a valid string",
        ),
        (("${NOTES_URL}", "ftp://host"), "base_url: expected http(s)://"),
        (("${NOTES_URL}", "http://me:pw@host"), "base_url: carries a user, a query"),
        (("${NOTES_URL}", "http://host?key=pw"), "base_url: carries a user, a query"),
        (("[ask]", "[ask"), "not TOML"),
    ],
)
def test_a_mistake_in_a_description_is_one_line(
    change: tuple[str, str], says: str, tmp_path: Path, environment: None
) -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    assert change[0] in text
    path = tmp_path / "http.toml"
    path.write_text(text.replace(*change, 1), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        check_agent(str(path))
    message = str(caught.value)
    assert says in message
    assert "\n" not in message
    assert TOKEN not in message and "me:pw" not in message and "key=" not in message


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ('body = "{text}"', "[remember] body: one request stores all units"),
        ('body = ["{texts}", "{id}"]', "[remember] body: one request stores all units"),
        ("", "[remember] body: one request stores all units"),
        ('each = "unit"\nbody = "{units}"', '[remember] body: with each = "unit", {text} must be in it'),
        ('each = "unit"\nbody = "{id}"', '[remember] body: with each = "unit", {text} must be in it'),
        ('each = "turn"\nbody = "{texts}"', "[remember] each: input should be 'all' or 'unit'"),
        ('body = "{messages}"', "[remember] body: unknown placeholder {messages}; here are id, session"),
    ],
)
def test_a_table_that_would_store_nothing_is_refused(
    table: str, says: str, tmp_path: Path, environment: None
) -> None:
    path = tmp_path / "http.toml"
    more = f'\n[remember]\npath = "/users/{{user}}/notes"\n{table}\n'
    path.write_text(EXAMPLE.read_text(encoding="utf-8") + more, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        check_agent(str(path))
    assert says in str(caught.value)


def test_a_description_that_is_not_there() -> None:
    with pytest.raises(ConfigError, match=r"--agent nowhere\.toml: No such file"):
        check_agent("nowhere.toml")


# --------------------------------------------------------------------------------------- templates and paths

LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
)


@given(VALUES, st.data())
def test_whatever_stands_in_an_answer_is_found_by_its_pointer(value: Any, data: st.DataObject) -> None:
    pointer, here = "", value
    while isinstance(here, dict | list) and here and data.draw(st.booleans()):
        if isinstance(here, dict):
            key = data.draw(st.sampled_from(sorted(here)))
            pointer += "/" + key.replace("~", "~0").replace("/", "~1")
        else:
            key = data.draw(st.integers(0, len(here) - 1))
            pointer += f"/{key}"
        here = here[key]
    assert find(value, pointer) is here


@given(VALUES, st.text(max_size=12))
def test_any_path_is_refused_or_leads_somewhere_or_nowhere(value: Any, path: str) -> None:
    try:
        parse_path(path)
    except ValueError:
        with pytest.raises(ValueError, match="path"):
            find(value, path)
    else:
        find(value, path)


@given(st.text(max_size=30))
def test_a_template_without_slots_is_the_text_itself(text: str) -> None:
    escaped = text.replace("{", "{{").replace("}", "}}")
    check_template(escaped, ())
    assert fill_body(escaped, {}) == text


@given(st.text(max_size=20))
def test_a_value_can_neither_leave_its_place_in_a_path_nor_be_a_template(value: str) -> None:
    if value in (".", ".."):
        with pytest.raises(ValueError, match="cannot stand in a path"):
            fill_path("/users/{user}/x?q={user}", {"user": value})
        return
    from urllib.parse import unquote

    filled = fill_path("/users/{user}/x?q={user}", {"user": value})
    path, _, query = filled.partition("?")
    assert path.count("/") == 3 and "#" not in filled and "&" not in filled
    wanted = value.encode("utf-8", "replace").decode()
    assert [unquote(path.split("/")[2]), unquote(query[2:])] == [wanted, wanted]
    assert fill_body({"a": "{user}", "b": ["<{user}>"]}, {"user": value}) == {"a": value, "b": [f"<{value}>"]}


@given(st.text(alphabet="{}ab", max_size=12))
def test_a_template_that_passed_can_be_filled(text: str) -> None:
    try:
        check_template(text, {"a", "b"})
    except ValueError:
        return
    assert isinstance(fill_body(text, {"a": "x", "b": "y"}), str)


def test_values_keep_their_kind_and_what_is_not_there_is_left_out() -> None:
    body = {"m": "{messages}", "n": "{seed}", "gone": "{now}", "list": ["{now}", 1], "t": "seed {seed}"}
    values = {"messages": [{"role": "user"}], "seed": 3, "now": None}
    assert fill_body(body, values) == {"m": [{"role": "user"}], "n": 3, "list": [1], "t": "seed 3"}
    with pytest.raises(NoValue, match="now"):
        fill_body("on {now}", values)
    assert find({"a": None}, "a") is None
    assert find({"a": [1]}, "a.01") is ABSENT
