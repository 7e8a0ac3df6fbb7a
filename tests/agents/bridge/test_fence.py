"""Where an agent in a process of its own may connect to."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from vestige.agents.bridge.far.fence import Fence


@pytest.mark.parametrize(
    ("event", "arguments"),
    [
        ("socket.connect", (None, ("127.0.0.1", 80))),
        ("socket.connect", (None, ("127.8.9.1", 80))),
        ("socket.connect", (None, ("::1", 80, 0, 0))),
        ("socket.connect", (None, ("::ffff:127.0.0.1", 80, 0, 0))),
        ("socket.connect", (None, ("localhost", 80))),
        ("socket.connect", (None, ("0.0.0.0", 80))),
        ("socket.connect", (None, "/run/a.socket")),
        ("socket.connect", (None, ("model.example", 443))),
        ("socket.connect", (None, ("203.0.113.5", 443))),
        ("socket.getaddrinfo", (None, 80, 0, 0, 0)),
        ("socket.getaddrinfo", ("localhost", 80, 0, 0, 0)),
        ("socket.getaddrinfo", (b"127.0.0.1", 80, 0, 0, 0)),
        ("socket.getaddrinfo", ("MODEL.example.", 443, 0, 0, 0)),
        ("socket.getaddrinfo", (socket.gethostname(), 80, 0, 0, 0)),
        ("open", ("/etc/hosts", "r", 0)),
    ],
)
def test_this_machine_and_the_models_can_be_reached(
    event: str, arguments: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("203.0.113.5", 0))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, port: found if host == "model.example" else [])
    fence = Fence(["model.example"])
    fence(event, arguments)
    assert fence.take() == []


@pytest.mark.parametrize(
    ("event", "arguments", "named"),
    [
        ("socket.connect", (None, ("192.0.2.1", 80)), "192.0.2.1:80"),
        ("socket.connect", (None, ("10.0.0.1", 80)), "10.0.0.1:80"),
        ("socket.connect", (None, ("::ffff:192.0.2.1", 80, 0, 0)), "::ffff:192.0.2.1:80"),
        ("socket.connect", (None, ("model.example.evil", 443)), "model.example.evil:443"),
        ("socket.sendto", (None, ("192.0.2.1", 53)), "192.0.2.1:53"),
        ("socket.sendmsg", (None, ("192.0.2.1", 53)), "192.0.2.1:53"),
        ("socket.getaddrinfo", ("telemetry.example", 443, 0, 0, 0), "telemetry.example"),
        ("socket.getaddrinfo", (b"telemetry.example", 443, 0, 0, 0), "telemetry.example"),
        ("socket.gethostbyname", ("telemetry.example",), "telemetry.example"),
    ],
)
def test_anything_else_is_refused_and_counted(
    event: str, arguments: tuple[Any, ...], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, port: [])
    fence = Fence(["model.example"])
    with pytest.raises(PermissionError):
        fence(event, arguments)
    assert fence.take() == [named]
    assert fence.take() == []
