"""A notes service that deletes late, to try http_agent.toml on: python notes_service.py 8765

A deletion is accepted at once (202) and carried out a fifth of a second later; its job can be asked for.
"""

import json
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

NOTES: dict[str, list[str]] = {}
JOBS: dict[str, str] = {}
LOCK = threading.Lock()


def delete(job: str, user: str, value: str) -> None:
    """What a worker does when it comes round to it."""
    time.sleep(0.2)
    with LOCK:
        NOTES[user] = [note for note in NOTES.get(user, []) if value.lower() not in note.lower()]
        JOBS[job] = "done"


class Handler(BaseHTTPRequestHandler):
    """The five routes that http_agent.toml describes."""

    protocol_version = "HTTP/1.1"

    def answer(self, status: int, body: object = None) -> None:
        """Send a status and JSON."""
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def route(self) -> None:
        """Find out what is asked, and do it."""
        url = urlsplit(self.path)
        names = [unquote(part) for part in url.path.strip("/").split("/")]
        query = {name: values[0] for name, values in parse_qs(url.query, keep_blank_values=True).items()}
        sent = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "{}")
        with LOCK:
            self.answer(*respond(self.command, names, query, sent))

    do_GET = do_POST = do_DELETE = route  # noqa: N815  names that http.server looks for

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: a log would keep what was to be forgotten."""


def respond(method: str, names: list[str], query: dict[str, str], sent: dict) -> tuple[int, object]:
    """The status and the body of an answer."""
    match method, names:
        case "POST", ["users", user, "sessions", _]:
            said = " ".join(m["content"] for m in sent["messages"] if m["role"] == "user")
            NOTES.setdefault(user, []).extend(re.split(r"(?<=[.!?])\s+", said))
            return 200, None
        case "POST", ["users", user, "ask"]:
            words = set(re.findall(r"\w+", sent["question"].lower()))
            notes = sorted(NOTES.get(user, []), key=lambda n: -len(words & set(re.findall(r"\w+", n.lower()))))
            return 200, {"answer": notes[0] if notes else "", "sources": [{"note": n} for n in notes[:3]]}
        case "DELETE", ["users", user, "notes"]:
            job = str(len(JOBS))
            JOBS[job] = "running"
            threading.Thread(target=delete, args=(job, user, query["containing"]), daemon=True).start()
            return 202, {"job": {"id": job}}
        case "GET", ["jobs", job] if job in JOBS:
            return 200, {"status": JOBS[job]}
        case "DELETE", ["users", user] if user in NOTES:
            del NOTES[user]
            return 200, None
        case "GET", ["users", user, "notes"] if user in NOTES:
            return 200, {"notes": [{"id": i, "note": note} for i, note in enumerate(NOTES[user])]}
        case _:
            return 404, None


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
