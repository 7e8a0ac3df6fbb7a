"""Keeps an agent from connecting to anything but its models."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from collections.abc import Sequence
from typing import Any, cast

__all__ = ["Fence"]


class Fence:
    """Lets no connection out but to the loopback and to named hosts.

    It sees what goes through Python's `socket`, which is what HTTP clients use; not what a C library does by itself.
    """

    def __init__(self, hosts: Sequence[str]) -> None:
        self.hosts = {h.lower() for h in hosts}
        self._refused: list[str] = []
        self._known: set[str] = set()

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """An audit hook: raises where a connection must not be made."""
        if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
            if isinstance(arguments[1], tuple):
                host, port = cast("tuple[Any, ...]", arguments[1])[:2]
                if not self._may_reach(str(host)):
                    self._refuse(f"{host}:{port}")
        elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
            host = arguments[0]
            if isinstance(host, bytes):
                host = host.decode("ascii", "replace")
            if not (host is None or host == socket.gethostname() or self._may_name(host)):
                self._refuse(str(host))

    def take(self) -> list[str]:
        """What was refused since the last call."""
        found, self._refused = self._refused, []
        return found[:100]

    def _refuse(self, address: str) -> None:
        self._refused.append(address[:300])
        raise PermissionError("this agent may connect to the loopback and its model's address alone")

    def _may_name(self, host: str) -> bool:
        host = host.lower().rstrip(".")
        if host in self.hosts or host in ("", "localhost"):
            return True
        try:
            ipaddress.ip_address(host.partition("%")[0])
        except ValueError:
            return False
        return True  # no name is asked for; `connect` decides

    def _may_reach(self, host: str) -> bool:
        if host.lower() in self.hosts or host.lower() in ("", "localhost"):
            return True
        try:
            address = ipaddress.ip_address(host.partition("%")[0])
        except ValueError:
            return False
        address = getattr(address, "ipv4_mapped", None) or address
        if address.is_loopback or address.is_unspecified or str(address) in self._known:
            return True
        for name in self.hosts:
            with contextlib.suppress(OSError):
                self._known |= {str(i[4][0]).partition("%")[0] for i in socket.getaddrinfo(name, None)}
        return str(address) in self._known
