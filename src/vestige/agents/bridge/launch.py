"""How an agent's process is started: with which interpreter, which settings, and what of our environment."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from yarl import URL

from vestige.models.transport import proxy_for
from vestige.records import Record

__all__ = ["CALL_SECONDS", "START_SECONDS", "Endpoints", "Launch"]

START_SECONDS = 300.0
"""Within which an agent must be made and open: a system may take long to load where cores are shared."""

CALL_SECONDS = 900.0
"""Within which one call must be answered: a small machine may read a long prompt for minutes."""

CHILD = Path(__file__).with_name("child.py")

_KEPT = ("PATH", "LANG", "LANGUAGE", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "SYSTEMROOT", "OMP_NUM_THREADS")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")
_SILENT = {
    "ANONYMIZED_TELEMETRY": "False",
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_OFFLINE": "1",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "MEM0_TELEMETRY": "False",
    "POSTHOG_DISABLED": "1",
}
"""What systems read to learn that they must not report."""

_PYTHON = {"PYTHONUNBUFFERED": "1", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
"""Sets are gone through in the same order in every process. What points at our own packages is left out."""


class Endpoints(Record):
    """The models that an adapter is given; it holds for every adapter, and settings of a person go over it."""

    model: str = "extractive"
    """The model's name at `model_url`; `extractive`: the best stored text is the answer, without a model."""
    model_url: str | None = None
    """OpenAI-compatible, as `http://127.0.0.1:8000/v1`."""
    api_key: str = "none"
    """Of that address; never in a plan, a record or a message."""
    embedder: str = "hash"
    """The embedder's name at `embedder_url`; `hash`: vectors without a model."""
    embedder_url: str | None = None
    dims: int | None = None
    """Of a vector, where it is known."""


@dataclass(frozen=True)
class Launch:
    """What starts an agent's process."""

    source: str
    """`FILE.py:NAME`, absolute, or `package.module:NAME`."""
    python: Path
    """The interpreter."""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What its constructor gets; JSON values."""
    fenced: bool = True
    """It gets an environment without keys, a home of its own, and connects to the loopback and to the hosts of its
    endpoints alone. False: everything as here, as an agent in this process would have it."""
    call_seconds: float = CALL_SECONDS
    start_seconds: float = START_SECONDS

    @property
    def file(self) -> Path | None:
        """Where the class is written; None: a module of the other environment."""
        place = self.source.rpartition(":")[0]
        return Path(place) if place.endswith(".py") else None

    @property
    def command(self) -> tuple[str, ...]:
        """What is run. Settings are not in it: others can see a command."""
        return (str(self.python), "-s", str(CHILD), self.source)

    def hosts(self) -> list[str] | None:
        """Where it may connect to besides the loopback; None: anywhere."""
        if not self.fenced:
            return None
        found: list[str] = []
        for name in ("model_url", "embedder_url"):
            if url := self.settings.get(name):
                address = URL(str(url))
                proxy = proxy_for(address)
                found += [h for h in (address.host, URL(proxy).host if proxy else None) if h]
        return sorted({h for h in found if not _loopback(h)})

    def environment(self, folder: Path) -> dict[str, str]:
        """The process's environment; its home and its temporary files lie in `.home` inside `folder`."""
        if not self.fenced:
            own = {n: v for n, v in os.environ.items() if not n.startswith("PYTHON")}
            return {**own, **_PYTHON}
        kept = {n: v for n, v in os.environ.items() if n in _KEPT or n.startswith("LC_")}
        if self.hosts():
            kept |= {n: v for n in _PROXIES if (v := os.environ.get(n)) is not None}
        home = folder / ".home"
        (home / "tmp").mkdir(parents=True, exist_ok=True)
        kept |= {"HOME": str(home), "TMPDIR": str(home / "tmp"), "XDG_CACHE_HOME": str(home / "cache")}
        return {**kept, **_SILENT, **_PYTHON}


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
