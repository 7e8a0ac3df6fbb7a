"""What `host.json` says: what is true of this machine and this time, and never part of a result."""

from __future__ import annotations

import json
import platform
import sys
import time
from typing import Any

from vestige import __version__
from vestige.runs.engine import RunSummary
from vestige.runs.folder import RunFolder

__all__ = ["write_host"]


def write_host(folder: RunFolder, began: float, models: dict[str, Any], summary: RunSummary) -> None:
    """Add one call to what earlier ones said of their machine."""
    folder.write_json("host.json", [*_earlier(folder), _host(folder, began, models, summary)])


def _earlier(folder: RunFolder) -> list[Any]:
    """What earlier calls said of their machine; a file that cannot be read is begun anew."""
    try:
        found = json.loads((folder.path / "host.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return found if isinstance(found, list) else []


def _host(folder: RunFolder, began: float, models: dict[str, Any], summary: RunSummary) -> dict[str, Any]:
    """What is true of this machine and this time: never part of a result."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began))
    return {
        "plan_sha256": folder.plan_sha256,
        "vestige": __version__,
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "began": stamp,
        "seconds": round(time.time() - began, 1),
        "models": models,
        "episodes_done": summary.done,
        "episodes_done_before": summary.skipped,
        "exchanges": summary.exchanges,
        "agent_seconds": round(summary.agent_seconds, 1),
    }
