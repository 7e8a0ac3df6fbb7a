"""What mem0 keeps after a deletion, looked at directly: no adapter, no Vestige, the calls of its own documentation.

Usage: an interpreter that has mem0 (src/vestige/agents/adapters/mem0.txt), this file, and optionally N. Prints counts
as JSON. Every connection but one to the loopback is refused. The extractor is scripted: it repeats what it is given.
"""

from __future__ import annotations

import contextlib
import datetime
import importlib.util
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
ADAPTER = HERE.parents[3] / "src" / "vestige" / "agents" / "adapters" / "mem0.py"
REFUSED: list[str] = []


def refuse_the_network() -> None:
    def hook(event: str, args: tuple[Any, ...]) -> None:
        host = args[0] if event == "socket.getaddrinfo" else args[1] if event == "socket.connect" else None
        host = host[0] if isinstance(host, tuple) else host
        if host is not None and host not in ("127.0.0.1", "localhost", b"127.0.0.1"):
            REFUSED.append(str(host))
            raise PermissionError("no connection leaves this machine")

    sys.addaudithook(hook)


def adapter() -> Any:
    spec = importlib.util.spec_from_file_location("vestige_adapter_mem0", ADAPTER)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def memory(folder: Path, extractor: str = "scripted") -> Any:
    """mem0 as the adapter sets it up; the adapter's own methods are not used."""
    agent = adapter().Mem0Agent(folder, {"extractor": extractor})
    agent.open()
    try:
        yield agent._memory, agent.extractor
    finally:
        agent.close()


def secret(i: int) -> str:
    return f"QX-{4000 + 37 * i}-ZED"


def fact(i: int) -> str:
    return f"My locker code is {secret(i)}."


def live(system: Any, user: str) -> str:
    return json.dumps(system.get_all(filters={"user_id": user}, top_k=1000, show_expired=True))


def holds(folder: Path, needle: str) -> list[str]:
    return sorted(
        str(p.relative_to(folder))
        for p in folder.rglob("*")
        if p.is_file() and needle.encode() in p.read_bytes()
    )


def vacuum(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file() and path.read_bytes()[:15] == b"SQLite format 3":
            with contextlib.closing(sqlite3.connect(path)) as connection:
                connection.execute("VACUUM")


def delete_by_id(folder: Path, n: int) -> dict[str, Any]:
    with memory(folder) as (system, _):
        ids = [system.add(fact(i), user_id=f"u{i}", infer=False)["results"][0]["id"] for i in range(n)]
        for memory_id in ids:
            system.delete(memory_id)
        rows = [system.history(memory_id) for memory_id in ids]
        return {
            "deleted": n,
            "in_search": sum(
                secret(i) in json.dumps(system.search(fact(i), filters={"user_id": f"u{i}"}))
                for i in range(n)
            ),
            "in_get_all": sum(secret(i) in live(system, f"u{i}") for i in range(n)),
            "get_returns_it": sum(system.get(memory_id) is not None for memory_id in ids),
            "history_returns_text": sum(secret(i) in json.dumps(row) for i, row in enumerate(rows)),
            "history_rows_not_marked_deleted": sum(
                any(not r["is_deleted"] and secret(i) in str(r["new_memory"]) for r in row)
                for i, row in enumerate(rows)
            ),
            "history_rows_of_the_delete_itself": sum(
                any(r["event"] == "DELETE" and secret(i) in str(r["old_memory"]) for r in row)
                for i, row in enumerate(rows)
            ),
        }


def update_by_id(folder: Path, n: int) -> dict[str, Any]:
    with memory(folder) as (system, _):
        ids = [system.add(fact(i), user_id=f"u{i}", infer=False)["results"][0]["id"] for i in range(n)]
        for memory_id in ids:
            system.update(memory_id, "My locker code is secret.")
        rows = [json.dumps(system.history(memory_id)) for memory_id in ids]
        return {
            "updated": n,
            "in_get_all": sum(secret(i) in live(system, f"u{i}") for i in range(n)),
            "history_returns_old_text": sum(secret(i) in row for i, row in enumerate(rows)),
        }


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}, {"role": "assistant", "content": "Noted."}]


def kept_messages(system: Any, user: str) -> str:
    return json.dumps(system.db.get_last_messages(f"user_id={user}"))


def delete_all_of_a_user(folder: Path, n: int) -> dict[str, Any]:
    with memory(folder) as (system, extractor):
        for i in range(n):
            system.add(said(fact(i)), user_id=f"u{i}")
        stored = sum(secret(i) in live(system, f"u{i}") for i in range(n))
        for i in range(n):
            system.delete_all(user_id=f"u{i}")
        out = {
            "users": n,
            "stored": stored,
            "in_get_all": sum(secret(i) in live(system, f"u{i}") for i in range(n)),
            "in_messages": sum(secret(i) in kept_messages(system, f"u{i}") for i in range(n)),
        }
        sent: list[int] = []
        for turn in range(6):
            before = len(extractor.requests)
            for i in range(n):
                system.add(said(f"It rained on day {turn}."), user_id=f"u{i}")
            sent.append(sum(secret(i) in request for i, request in enumerate(extractor.requests[before:])))
        return {**out, "sent_to_the_model_by_unrelated_add": sent}


def delete_one_of_a_conversation(folder: Path, n: int) -> dict[str, Any]:
    with memory(folder) as (system, _):
        for i in range(n):
            added = system.add(said(fact(i)), user_id=f"u{i}")
            system.delete(added["results"][0]["id"])
        return {
            "deleted": n,
            "in_messages": sum(secret(i) in kept_messages(system, f"u{i}") for i in range(n)),
        }


def learned_again(folder: Path, n: int) -> dict[str, Any]:
    with memory(folder, "scripted-context") as (system, _):
        for i in range(n):
            system.add(said(fact(i)), user_id=f"u{i}")
            system.delete_all(user_id=f"u{i}")
        gone = sum(secret(i) not in live(system, f"u{i}") for i in range(n))
        for i in range(n):
            system.add(said("It rained today."), user_id=f"u{i}")
        return {
            "users": n,
            "gone_after_delete_all": gone,
            "live_again_after_one_unrelated_add": sum(secret(i) in live(system, f"u{i}") for i in range(n)),
            "found_by_search_again": sum(
                secret(i) in json.dumps(system.search("locker code", filters={"user_id": f"u{i}"}))
                for i in range(n)
            ),
        }


def expired(folder: Path, n: int) -> dict[str, Any]:
    yesterday = (datetime.datetime.now(datetime.UTC).date() - datetime.timedelta(days=2)).isoformat()
    with memory(folder) as (system, extractor):
        ids: list[str] = []
        for i in range(n):
            added = system.add(fact(i), user_id=f"u{i}", infer=False, expiration_date=yesterday)
            ids.append(added["results"][0]["id"])
        hidden = {
            "in_search": sum(
                secret(i) in json.dumps(system.search(fact(i), filters={"user_id": f"u{i}"}))
                for i in range(n)
            ),
            "in_get_all": sum(
                secret(i) in json.dumps(system.get_all(filters={"user_id": f"u{i}"})) for i in range(n)
            ),
            "get_returns_it": sum(
                secret(i) in json.dumps(system.get(memory_id)) for i, memory_id in enumerate(ids)
            ),
        }
        for i in range(n):
            system.add(said("Is my locker code still good?"), user_id=f"u{i}")
        return {
            "expired": n,
            **hidden,
            "sent_to_the_model_by_the_next_add": sum(
                secret(i) in r for i, r in enumerate(extractor.requests)
            ),
            "still_stored": sum(secret(i) in live(system, f"u{i}") for i in range(n)),
            "methods_that_sweep": sorted(
                m for m in dir(system) if "sweep" in m or "purge" in m or "expire" in m
            ),
        }


def other_users(folder: Path, n: int) -> dict[str, Any]:
    with memory(folder) as (system, _):
        ids = [
            system.add(fact(i), user_id="user1", run_id="monday", infer=False)["results"][0]["id"]
            for i in range(n)
        ]
        for i in range(n):
            system.add(f"I like tea number {i}.", user_id="user10", run_id="monday", infer=False)
        of_ten = json.dumps(
            system.search("locker code", filters={"user_id": "user10"}, top_k=2 * n, threshold=0.0)
        )
        of_run = system.get_all(filters={"run_id": "monday"}, top_k=1000)["results"]
        out = {
            "items": n,
            "user1_found_as_user10": sum(secret(i) in of_ten + live(system, "user10") for i in range(n)),
            "get_without_a_user": sum(secret(i) in json.dumps(system.get(m)) for i, m in enumerate(ids)),
            "history_without_a_user": sum(
                secret(i) in json.dumps(system.history(m)) for i, m in enumerate(ids)
            ),
            "users_in_one_run": len({item["user_id"] for item in of_run}),
        }
        system.delete_all(run_id="monday")
        return {
            **out,
            "left_of_both_users_after_delete_all_of_the_run": live(system, "user1").count('"id"')
            + live(system, "user10").count('"id"'),
        }


def entities(folder: Path, n: int) -> dict[str, Any]:
    """The entity store, with a stand-in for spaCy: the token after "code is" is the entity of a text."""

    def named(text: str) -> list[tuple[str, str]]:
        return [("IDENTIFIER", text.rsplit(" ", 1)[1].rstrip("."))] if "code is" in text else []

    def stored(system: Any) -> int:
        client = system.vector_store.client
        if "mem0_entities" not in {c.name for c in client.get_collections().collections}:
            return 0
        return len(client.scroll("mem0_entities", limit=1000)[0])

    main = sys.modules.get("mem0.memory.main")
    if main is None:
        import mem0.memory.main as main
    main.extract_entities_batch = lambda texts, **_: [named(text) for text in texts]
    main.extract_entities = named
    out: dict[str, Any] = {"memories": n}
    for case in ("same_process", "fresh_process"):
        with memory(folder / case) as (system, _):
            for i in range(n):
                system.add(said(fact(i)), user_id=f"u{i}")
            out[f"{case}_entities_before"] = stored(system)
            if case == "same_process":
                for i in range(n):
                    system.delete_all(user_id=f"u{i}")
        if case == "fresh_process":  # a new Memory over the same folder knows as little as a new process does
            with memory(folder / case) as (system, _):
                for i in range(n):
                    system.delete_all(user_id=f"u{i}")
        with memory(folder / case) as (system, _):
            out[f"{case}_memories_after_delete_all"] = sum(
                secret(i) in live(system, f"u{i}") for i in range(n)
            )
            out[f"{case}_entities_after_delete_all"] = stored(system)
            system.reset()
            out[f"{case}_entities_after_reset"] = stored(system)
    return out


def bytes_on_disk(folder: Path, n: int) -> dict[str, Any]:
    """Qdrant's file after `delete`, and the history's after its tables are dropped: as SQLite was built here, and with
    secure_delete off, which is the default of SQLite's own source and of many builds.
    """
    out: dict[str, Any] = {"deleted": n, "sqlite": sqlite3.sqlite_version}
    for case in ("as_built", "off"):
        with memory(folder / case) as (system, _):
            ids = [system.add(fact(i), user_id=f"u{i}", infer=False)["results"][0]["id"] for i in range(n)]
            qdrant = system.vector_store.client._client.collections["mem0"].storage.storage
            for connection in (system.db.connection, qdrant):
                if case == "off":
                    connection.execute("PRAGMA secure_delete=OFF")
            out[f"{case}_secure_delete"] = [
                c.execute("PRAGMA secure_delete").fetchone()[0] for c in (system.db.connection, qdrant)
            ]
            for memory_id in ids:
                system.delete(memory_id)
            system.db.reset()
        places = [" ".join(holds(folder / case, secret(i))) for i in range(n)]
        out[f"{case}_in_qdrant_file_after_delete"] = sum("storage.sqlite" in found for found in places)
        out[f"{case}_in_history_file_after_reset"] = sum("history.db" in found for found in places)
        vacuum(folder / case)
        out[f"{case}_in_any_file_after_vacuum"] = sum(bool(holds(folder / case, secret(i))) for i in range(n))
    return out


def connections(folder: Path) -> dict[str, Any]:
    """Hosts that a process with default telemetry tries to reach, and one with telemetry off."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import mem0_looks as looks; looks.refuse_the_network()\n"
        "import os, pathlib; off = sys.argv[3] == 'off'\n"
        "os.environ['MEM0_DIR'] = sys.argv[2]; os.environ.pop('MEM0_TELEMETRY', None)\n"
        "if off: os.environ['MEM0_TELEMETRY'] = 'False'\n"
        "os.environ['OPENAI_API_KEY'] = 'none'\n"
        "import mem0; m = mem0.Memory.from_config({'vector_store': {'provider': 'qdrant', 'config': "
        "{'path': sys.argv[2] + '/q', 'embedding_model_dims': 4, 'on_disk': True}}, "
        "'history_db_path': sys.argv[2] + '/h.db'})\n"
        "m.embedding_model.embed = lambda text, action=None: [1.0, 0.0, 0.0, 0.0]\n"
        "m.add('hello', user_id='u', infer=False); m.search('hello', filters={'user_id': 'u'})\n"
        "import time; time.sleep(2); from mem0.memory import telemetry; telemetry._shutdown_oss_telemetry()\n"
        "import json; print(json.dumps(sorted(set(looks.REFUSED))))\n"
    )
    out: dict[str, Any] = {}
    for name in ("default", "off"):
        place = folder / name
        place.mkdir(parents=True)
        done = subprocess.run(
            [sys.executable, "-c", code, str(HERE.parent), str(place), name],
            capture_output=True,
            text=True,
            timeout=120,
        )
        out[f"hosts_tried_{name}"] = (
            json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else done.stderr[-800:]
        )
    return out


def other_address(folder: Path) -> dict[str, Any]:
    """Where mem0's model client points when the environment has OPENROUTER_API_KEY: nothing is sent here."""
    os.environ["OPENROUTER_API_KEY"] = "none"
    try:
        from mem0.configs.llms.openai import OpenAIConfig
        from mem0.llms.openai import OpenAILLM

        client = OpenAILLM(
            OpenAIConfig(model="m", api_key="none", openai_base_url="http://127.0.0.1:9/v1")
        ).client
        return {"configured": "http://127.0.0.1:9/v1", "used": str(client.base_url)}
    finally:
        del os.environ["OPENROUTER_API_KEY"]


def main(n: int) -> dict[str, Any]:
    from importlib.metadata import version

    out: dict[str, Any] = {"mem0ai": version("mem0ai"), "qdrant-client": version("qdrant-client"), "n": n}
    looks = (
        delete_by_id,
        update_by_id,
        delete_all_of_a_user,
        delete_one_of_a_conversation,
        learned_again,
        expired,
        other_users,
        entities,
        bytes_on_disk,
    )
    with tempfile.TemporaryDirectory() as base:
        for look in looks:
            out[look.__name__] = look(Path(base) / look.__name__, n)
        out["refused_so_far"] = list(REFUSED)
        out["connections"] = connections(Path(base) / "connections")
        out["other_address"] = other_address(Path(base))
    return out


if __name__ == "__main__":
    os.environ["MEM0_TELEMETRY"] = "False"
    os.environ["MEM0_DIR"] = tempfile.mkdtemp()
    refuse_the_network()
    print(json.dumps(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20), indent=1))
