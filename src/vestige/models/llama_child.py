"""Runs a llama.cpp server on a loopback port, as a child process of a Vestige run.

``python -m vestige.models.llama_child`` reads its settings as one JSON line from stdin, prints ``{"url":
…}`` as one line on stdout when the server answers, and ends when stdin closes or its parent dies. The server
is the one of the package xllamacpp, or a ``llama-server`` executable that the settings name.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

__all__ = ["main"]


def die_with_parent() -> None:
    """Ask Linux to kill this process when its parent's thread ends; elsewhere the closed stdin has to do."""
    if sys.platform == "linux":
        import ctypes

        pr_set_pdeathsig = 1
        ctypes.CDLL(None, use_errno=True).prctl(pr_set_pdeathsig, signal.SIGKILL)


def main() -> None:
    """Serve until stdin closes."""
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-C reaches the whole group; the parent ends us
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever the engine prints must not be taken for our answer
    settings = json.loads(sys.stdin.readline())
    binary = settings.get("binary")
    serve = _serve_binary(binary, settings) if binary else _serve_xllamacpp(settings)
    print(json.dumps({"url": serve}), file=out, flush=True)
    with contextlib.suppress(OSError):
        sys.stdin.read()
    os._exit(0)


def _serve_xllamacpp(settings: dict[str, Any]) -> str:
    xllamacpp: Any = importlib.import_module("xllamacpp")  # it ships no types
    params = xllamacpp.CommonParams()
    params.model.path = settings["model"]
    params.model_alias = {settings["alias"]}
    params.n_parallel = settings["parallel"]
    params.n_ctx = settings["parallel"] * settings["context"]
    params.kv_unified = False
    params.cache_prompt = not settings["deterministic"]
    params.cache_ram_mib = 0
    params.cpuparams.n_threads = settings["threads"]
    params.cpuparams_batch.n_threads = settings["threads"]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.endpoint_slots = False
    params.verbosity = 2
    server = xllamacpp.Server(params)
    _keep.append(server)
    return str(server.listening_address)


_keep: list[Any] = []
"""What must live as long as the process."""


def _serve_binary(binary: str, settings: dict[str, Any]) -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [binary, "--model", settings["model"], "--alias", settings["alias"], "--host", "127.0.0.1"]
    command += ["--port", str(port), "--parallel", str(settings["parallel"])]
    command += [
        "--ctx-size",
        str(settings["parallel"] * settings["context"]),
        "--threads",
        str(settings["threads"]),
    ]
    command.append("--no-context-shift")
    # Through the environment, where an older build overlooks what it does not know.
    environment = {**os.environ, "LLAMA_ARG_CACHE_RAM": "0"}
    if settings["deterministic"]:
        environment["LLAMA_ARG_CACHE_PROMPT"] = "0"
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, env=environment, preexec_fn=die_with_parent)
    _keep.append(process)
    url = f"http://127.0.0.1:{port}"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while process.poll() is None:
        try:
            with opener.open(f"{url}/health", timeout=2.0) as answer:
                if answer.status == 200:
                    threading.Thread(target=_follow, args=(process,), daemon=True).start()
                    return url
        except OSError:
            time.sleep(0.05)
    print(f"{Path(binary).name} ended with code {process.returncode}", file=sys.stderr)
    raise SystemExit(1)


def _follow(process: subprocess.Popen[bytes]) -> None:
    """End when the server does, so that the parent notices."""
    os._exit(process.wait() or 1)


if __name__ == "__main__":
    main()
