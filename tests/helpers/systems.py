"""Adapters driven in the environment of their system, and a model endpoint of our own."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import vestige
from vestige.errors import ConfigError

HERE = Path(__file__).parents[1] / "agents" / "adapters"
ADAPTERS = Path(vestige.__file__).parent / "agents" / "adapters"

Drive = Callable[..., list[Any]]


def interpreter(system: str) -> str:
    """The Python that has the system: as VESTIGE_TEST_MEM0_PYTHON (or _LANGGRAPH_) says, else the installed one."""
    python = os.environ.get(f"VESTIGE_TEST_{system.upper()}_PYTHON", "")
    if not python:
        with contextlib.suppress(ImportError, ConfigError):
            environments = importlib.import_module("vestige.agents.environments")
            python = str(environments.interpreter(environments.adapter(system)))
    if not python or shutil.which(python) is None:
        pytest.skip(f"the environment of {system} is not installed")
    return python


def pinned(system: str) -> dict[str, str]:
    """Version by package, out of the adapter's requirements."""
    lines = (ADAPTERS / f"{system}.txt").read_text(encoding="utf-8").splitlines()
    return dict(
        re.fullmatch(r"([\w.-]+)==(\S+).*", line).groups() for line in lines if line[:1] not in ("#", "")
    )


def looks(system: str, n: int) -> dict[str, Any]:
    """The counts of `mem0_looks.py` or `langgraph_looks.py`."""
    command = [interpreter(system), str(HERE / f"{system}_looks.py"), str(n)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def driver(system: str, name: str, folder: Path) -> Drive:
    python = interpreter(system)

    def drive(*calls: list[Any], **settings: Any) -> list[Any]:
        command = [python, str(HERE / "drive.py"), str(ADAPTERS / f"{system}.py"), name, str(folder)]
        asked = json.dumps({"settings": settings, "calls": calls})
        done = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr[-3000:]
        results, refused = json.loads(done.stdout)
        assert refused == []
        return results

    return drive


class Model(ThreadingHTTPServer):
    """OpenAI-compatible: answers what `answer` makes of the messages, embeds into three numbers, keeps the bodies."""

    def __init__(self) -> None:
        self.chats: list[dict[str, Any]] = []
        self.embeddings: list[dict[str, Any]] = []
        self.answer: Callable[[list[dict[str, Any]]], dict[str, Any]] = lambda messages: {"content": "Noted."}
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if self.path.endswith("/embeddings"):
                    owner.embeddings.append(body)
                    texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
                    data = [
                        {"object": "embedding", "index": i, "embedding": [1.0, len(t) / 100, 0.5]}
                        for i, t in enumerate(texts)
                    ]
                    found: dict[str, Any] = {"object": "list", "model": body["model"], "data": data}
                else:
                    owner.chats.append(body)
                    message = {"role": "assistant", "content": None, **owner.answer(body["messages"])}
                    reason = "tool_calls" if message.get("tool_calls") else "stop"
                    choice = {"index": 0, "message": message, "finish_reason": reason}
                    found = {
                        "id": "1",
                        "object": "chat.completion",
                        "created": 0,
                        "model": body["model"],
                        "choices": [choice],
                    }
                found["usage"] = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
                data = json.dumps(found).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/v1"
