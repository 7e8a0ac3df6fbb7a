"""The local model: llama.cpp's own HTTP server in a child process that never outlives its parent."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from vestige.errors import ConfigError, ModelError, ModelUnavailable
from vestige.models import catalog, local
from vestige.models.base import ChatRequest, Message
from vestige.models.cache import CachedModel, ResponseCache
from vestige.models.chat import ChatClient
from vestige.models.local import LocalModel
from vestige.models.resolve import open_model


def request(prompt: str, **more: Any) -> ChatRequest:
    return ChatRequest(messages=(Message(role="user", content=prompt),), **{"max_tokens": 12, **more})


def alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def gone_within(pid: int, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while alive(pid):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


# --- with a server of our own in place of llama.cpp's ---

FAKE = """#!{python}
import http.server, json, sys
arguments = sys.argv[1:]
port = int(arguments[arguments.index("--port") + 1])
if "{how}" == "refuses":
    sys.exit("cannot load the model: XQ")
class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        self.answer({{"status": "ok"}})
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if asked["messages"][0]["content"] == "die":
            import os
            print("out of memory", file=sys.stderr, flush=True)
            os._exit(9)
        import os
        text = json.dumps([arguments, asked.get("cache_prompt"), os.getpid()])
        self.answer({{"choices": [{{"message": {{"content": text}}, "finish_reason": "stop"}}]}})
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Put a `llama-server` on the PATH and let every model file be there."""
    model = tmp_path / "toy.gguf"
    model.write_bytes(b"GGUF")
    monkeypatch.setattr(catalog, "locate", lambda name, folder=None: model)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    def install(how: str = "works") -> None:
        path = tmp_path / "llama-server"
        path.write_text(FAKE.format(python=sys.executable, how=how))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    return install


async def test_a_llama_server_on_the_path_is_used_and_stopped(fake) -> None:
    fake()
    model = LocalModel("local/smollm2-135m", deterministic=True, context=2048, threads=2)
    with pytest.raises(ModelError, match="not running"):
        _ = model.base_url
    arguments, cache_prompt, pid = json.loads((await model.complete(request("hi"))).text)
    assert model.settings["engine"] == "llama-server" and model.base_url.startswith("http://127.0.0.1:")
    given = dict(zip(arguments[::2], arguments[1::2], strict=False))
    assert given["--parallel"] == "1" and given["--ctx-size"] == "2048" and "--no-context-shift" in arguments
    assert cache_prompt is False and alive(pid)
    await model.close()
    assert gone_within(pid, 3.0) and model.calls == 1
    arguments, *_, second = json.loads((await model.complete(request("hi"))).text)  # it starts again
    assert second != pid and model.calls == 2
    await model.close()
    assert gone_within(second, 3.0)


async def test_slots_share_the_context(fake) -> None:
    fake()
    model = LocalModel("smollm2-135m", parallel=3, context=1000)
    arguments, cache_prompt, _ = json.loads((await model.complete(request("hi"))).text)
    given = dict(zip(arguments[::2], arguments[1::2], strict=False))
    assert given["--parallel"] == "3" and given["--ctx-size"] == "3000" and cache_prompt is None
    await model.close()


async def test_many_first_calls_start_one_server(fake) -> None:
    fake()
    model = LocalModel("smollm2-135m")
    replies = await asyncio.gather(*(model.complete(request("hi")) for _ in range(6)))
    assert len({json.loads(reply.text)[2] for reply in replies}) == 1
    await model.close()


async def test_a_server_that_does_not_start_is_quoted(fake) -> None:
    fake("refuses")
    model = LocalModel("smollm2-135m")
    with pytest.raises(ModelUnavailable, match=r"did not start .*cannot load the model: XQ"):
        await model.start()
    await model.close()


async def test_a_server_that_ends_is_named(fake, monkeypatch: pytest.MonkeyPatch) -> None:
    fake()
    model = LocalModel("smollm2-135m", limits=local.Limits(retries=1, backoff=0.3))
    with pytest.raises(ModelError, match=r"its server ended .*out of memory"):
        await model.complete(request("die"))
    await model.close()


PARENT = """
import asyncio, json, sys, time
from pathlib import Path
from vestige.models import catalog
from vestige.models.base import ChatRequest, Message
from vestige.models.local import LocalModel
catalog.locate = lambda name, folder=None: Path(sys.argv[1])
model = LocalModel("smollm2-135m")
asked = ChatRequest(messages=(Message(role="user", content="hi"),))
print(json.loads(asyncio.run(model.complete(asked)).text)[2], model._process.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_children_end_with_their_parent(fake, tmp_path: Path, end: signal.Signals) -> None:
    fake()
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path / "toy.gguf")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert parent.stdout is not None
    server, child = map(int, parent.stdout.readline().split())
    assert alive(server) and alive(child)
    parent.send_signal(end)
    parent.wait()
    parent.stdout.close()
    assert gone_within(child, 5.0) and gone_within(server, 5.0)


# --- with llama.cpp ---


@pytest.fixture
async def smollm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[LocalModel]:
    found = open_model("local/smollm2-135m", deterministic=True, context=512)
    assert isinstance(found, LocalModel)
    await found.start()
    yield found
    await found.close()


@pytest.mark.model
async def test_llama_cpp_s_own_server_is_reached_as_any_endpoint(smollm: LocalModel, tmp_path: Path) -> None:
    """Replies, repeats, log-probabilities, JSON schema, seeds, the context's end: one server, since it is slow."""
    first = await smollm.complete(request("Name a colour."))
    assert first.text and first.usage is not None and first.usage.completion_tokens <= 12
    assert (await smollm.complete(request("Name a colour."))).text == first.text

    by_url = open_model(f"{smollm.base_url}#smollm2-135m")
    assert isinstance(by_url, ChatClient)
    assert (await by_url.complete(request("Name a colour."))).text == first.text

    likely = await smollm.complete(request("Name a colour.", top_logprobs=3, max_tokens=4))
    assert likely.logprobs is not None and 0 < len(likely.logprobs) <= 4
    for token in likely.logprobs:
        assert token.logprob <= 0 and len(token.top) == 3
        assert token.top[0][1] == max(value for _, value in token.top)
        assert token.logprob == pytest.approx(dict(token.top)[token.token], abs=1e-6)

    schema = {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer"}},
        "required": ["name", "age"],
    }
    person = json.loads((await smollm.complete(request("A person.", json_schema=schema, max_tokens=60))).text)
    assert isinstance(person["name"], str) and isinstance(person["age"], int)

    drawn = [
        (await smollm.complete(request("Tell a story.", temperature=1.5, seed=seed))).text
        for seed in (1, 2, 1, 3)
    ]
    assert drawn[0] == drawn[2] and len(set(drawn)) >= 2

    with pytest.raises(ModelError, match=r"the prompt has [0-9]+ tokens, the model's context 512"):
        await smollm.complete(request("word " * 600))
    with pytest.raises(ModelError, match="the context was full after"):
        await smollm.complete(request("Count to a thousand, one number a line. " * 45, max_tokens=400))

    cache = ResponseCache(tmp_path / "c.sqlite")
    cached, before = CachedModel(smollm, cache), smollm.calls
    replies = await asyncio.gather(*(cached.complete(request("Name a colour.")) for _ in range(5)))
    assert {reply.text for reply in replies} == {first.text} and smollm.calls == before + 1
    cache.close()
    await by_url.close()


REAL_PARENT = """
import asyncio, time
from vestige.models.local import LocalModel
model = LocalModel("smollm2-135m", context=256)
asyncio.run(model.start())
print(model._process.pid, flush=True)
time.sleep(120)
"""


@pytest.mark.model
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_llama_cpp_ends_when_its_parent_is_killed() -> None:
    parent = subprocess.Popen([sys.executable, "-c", REAL_PARENT], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert alive(child)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert gone_within(child, 5.0)


@pytest.mark.model
async def test_a_file_that_is_no_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "toy.gguf").write_bytes(b"this is not a model")
    monkeypatch.setattr(catalog, "locate", lambda name, folder=None: tmp_path / "toy.gguf")
    model = LocalModel("smollm2-135m")
    with pytest.raises(ModelUnavailable, match="its server did not start"):
        await model.start()
    await model.close()


def test_an_embedder_is_no_chat_model() -> None:
    with pytest.raises(ConfigError, match="is an embedder"):
        LocalModel("minilm")
