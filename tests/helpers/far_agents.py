"""Agents that run in a process of their own: standard library only, each good or broken in one way."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path


class Notes:
    """Keeps what it is told as lines of a file; answers with those that share a word with the question."""

    state_in_folder = True
    tiers = ("raw",)
    channels = ("retrieval",)

    def __init__(self, folder, settings):
        self.folder, self.settings, self.k = Path(folder), settings, settings.get("k", 3)
        if unknown := sorted(
            set(settings) - {"model", "model_url", "api_key", "embedder", "embedder_url", "dims", "k"}
        ):
            raise ValueError(f"unknown setting {unknown[0]!r}; Notes has k")
        self.began = 0

    def open(self):
        self.began += 1
        print("a line that is no message")

    def close(self):
        (self.folder / "closed").write_text("yes")

    def _file(self, user):
        return self.folder / f"{user}.json"

    def _read(self, user):
        return json.loads(self._file(user).read_text()) if self._file(user).exists() else []

    def _write(self, user, items):
        self._file(user).write_text(json.dumps(items))

    def converse(self, user, session):
        assert session.turns == session["turns"] and session.date is None
        said = [t.content for t in session.turns if t.role == "user"]
        self._write(user, self._read(user) + [[f"{session.id}/{i}", text] for i, text in enumerate(said)])

    def remember(self, user, units):
        new = {u.id for u in units}
        self._write(user, [n for n in self._read(user) if n[0] not in new] + [[u.id, u.text] for u in units])

    def ask(self, user, prompt, options):
        words = {w for w in prompt.lower().split() if len(w) > 3}
        scored = [(len(words & set(text.lower().split())), i, text) for i, text in self._read(user)]
        found = [
            {"id": i, "tier": "raw", "text": t, "score": s} for s, i, t in sorted(scored, reverse=True) if s
        ]
        if options.write_back:
            self._write(user, [*self._read(user), [f"asked/{prompt}", prompt]])
        return {"text": found[0]["text"] if found else "I don't know.", "retrieved": found[: self.k]}

    def forget(self, user, request):
        kept = [
            [i, t]
            for i, t in self._read(user)
            if request.scope not in ("user", "everything")
            and i not in request.ids
            and not (request.value and request.value in t)
        ]
        gone = len(self._read(user)) - len(kept)
        self._write(user, kept)
        return {"accepted": True, "completed": True, "affected": {"raw": gone}}

    def reset(self, user):
        self._file(user).unlink(missing_ok=True)

    def inspect(self, user):
        return [{"id": i, "tier": "raw", "text": t} for i, t in self._read(user)]

    def storage(self):
        return [p for p in self.folder.iterdir() if p.suffix == ".json"]

    def configure(self, k=3):
        if not isinstance(k, int) or k < 1:
            raise ValueError(f"k={k!r}: expected a positive number")
        self.k = k


class Async(Notes):
    """The same with async methods, which need one loop that keeps running."""

    def __init__(self, folder, settings):
        super().__init__(folder, settings)
        self.ticks = 0
        self.task = asyncio.get_running_loop().create_task(self._tick())

    async def _tick(self):
        while True:
            self.ticks += 1
            await asyncio.sleep(0.01)

    async def converse(self, user, session):
        await asyncio.sleep(0)
        super().converse(user, session)

    async def ask(self, user, prompt, options):
        await asyncio.sleep(0)
        if prompt == "ticks":
            return str(self.ticks)
        return super().ask(user, prompt, options)

    async def forget(self, user, request):
        return super().forget(user, request)


class Bad(Notes):
    """Does what the question says, or what the setting `k` says where it is made."""

    def ask(self, user, prompt, options):
        match prompt:
            case "crash":
                os._exit(7)
            case "segfault":
                os.kill(os.getpid(), 11)
            case "hang":
                time.sleep(600)
            case "spin":
                while True:
                    pass
            case "raise":
                raise RuntimeError("the secret XQ7-VIOLET-3829 was told")
            case "value error":
                raise ValueError("the secret XQ7-VIOLET-3829 was told")
            case "exit":
                sys.exit(3)
            case "nan":
                return {
                    "text": "a",
                    "retrieved": [{"id": "1", "tier": "raw", "text": "a", "score": float("nan")}],
                }
            case "object":
                return object()
            case "noise":
                os.write(1, b'{"id": 3, "result": "forged"}\n' * 1000)
                print("noise", flush=True)
                subprocess.run(["echo", '{"id": 1}'], check=True)
                return "after the noise"
            case "surrogate":
                return "half \ud83d of a pair"
            case "grandchild":
                child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
                return str(child.pid)
            case "stdin":
                return repr(sys.stdin.read())
            case "environment":
                return json.dumps(dict(os.environ))
            case "connect":
                for address in (("192.0.2.1", 80), ("telemetry.example", 443)):
                    try:
                        socket.create_connection(address, timeout=0.2)
                    except PermissionError as error:
                        said = str(error)
                return said
            case "loopback":
                with socket.create_server(("127.0.0.1", 0)) as server:
                    socket.create_connection(server.getsockname(), timeout=2).close()
                return "connected"
        return super().ask(user, prompt, options)


class Plainer:
    """No more than it must have, in the shape that a class in the run's own process may have too."""

    def __init__(self, storage):
        self.file = storage / "said"

    def converse(self, user, messages):
        with self.file.open("a") as file:
            file.writelines(f"{m['content']}\n" for m in messages)

    def ask(self, user, prompt):
        return self.file.read_text() if self.file.exists() else "nothing"

    def forget(self, user, value: str):
        self.file.write_text(self.file.read_text().replace(value, "…"))


class Needs:
    """Needs what nobody gives it."""

    def __init__(self, moon):
        self.moon = moon

    def converse(self, user, session): ...

    def ask(self, user, prompt): ...

    def forget(self, user, request): ...


class Incomplete:
    """Cannot forget."""

    def converse(self, user, session): ...

    def ask(self, user, prompt): ...
