"""A scripted extractor: an OpenAI-compatible endpoint in the adapter's own process, on the loopback."""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["ScriptedExtractor"]


class ScriptedExtractor:
    """An OpenAI-compatible endpoint on the loopback that "extracts" by repeating: no model, and not like one.

    It shows what mem0 puts before its model and what a model could make of it, not what a given model does.

    Args:
        context: Repeat the user's lines of the earlier messages too, not of the new ones alone.
    """

    def __init__(self, context: bool = False) -> None:
        self.requests: list[str] = []
        """The last message of every request, in order."""
        headings = ("Last k Messages", "New Messages") if context else ("New Messages",)
        requests = self.requests

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
                prompt = str(body["messages"][-1]["content"])
                requests.append(prompt)
                said = [text for heading in headings for text in _user_lines(prompt, heading)]
                memory = [
                    {"id": str(i), "text": text, "attributed_to": "user"}
                    for i, text in enumerate(dict.fromkeys(said))
                ]
                message = {"role": "assistant", "content": json.dumps({"memory": memory})}
                answer = {
                    "id": "scripted",
                    "object": "chat.completion",
                    "created": 0,
                    "model": "scripted",
                    "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
                }
                data = json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing: a log line would hold the request."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, name="scripted-extractor", daemon=True).start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()


def _user_lines(prompt: str, heading: str) -> list[str]:
    """What the user says in one section of mem0's extraction prompt; a message may have several lines."""
    section = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", prompt, re.DOTALL | re.MULTILINE)
    messages = re.split(r"^(user|assistant|system): ", section[1] if section else "", flags=re.MULTILINE)
    pairs = zip(messages[1::2], messages[2::2], strict=True)
    return [text.strip() for role, text in pairs if role == "user" and text.strip()]
