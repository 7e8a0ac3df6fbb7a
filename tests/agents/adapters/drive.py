"""Runs calls of an adapter in the interpreter of its system; every connection but to the loopback is refused.

Usage: PYTHON drive.py FILE.py CLASS FOLDER, and on standard input a JSON object: `settings`, and `calls`, a list of
lists of a method's name and its arguments. Prints a list of what came back, and of the hosts that were refused. The
agent is closed at the end, unless the last call is `["die"]`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from typing import Any

REFUSED: list[str] = []


def hook(event: str, args: tuple[Any, ...]) -> None:
    host = args[0] if event == "socket.getaddrinfo" else args[1] if event == "socket.connect" else None
    host = host[0] if isinstance(host, tuple) else host
    if host is not None and host not in ("127.0.0.1", "localhost", b"127.0.0.1"):
        REFUSED.append(str(host))
        raise PermissionError("no connection leaves this machine")


def main(file: str, name: str, folder: str) -> None:
    sys.addaudithook(hook)
    asked = json.load(sys.stdin)
    spec = importlib.util.spec_from_file_location("adapter_under_test", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    out, sys.stdout = sys.stdout, sys.stderr
    results: list[Any] = []
    try:
        agent = getattr(module, name)(folder, asked["settings"])
        agent.open()
        for method, *arguments in asked["calls"]:
            if method == "die":
                print(json.dumps([results, REFUSED]), file=out, flush=True)
                os._exit(0)
            if method == "configure":
                results.append(agent.configure(**arguments[0]))
            else:
                results.append(getattr(agent, method)(*arguments))
        agent.close()
    except ValueError as error:
        results.append({"ValueError": str(error)})
    print(json.dumps([results, REFUSED]), file=out)


if __name__ == "__main__":
    main(*sys.argv[1:])
