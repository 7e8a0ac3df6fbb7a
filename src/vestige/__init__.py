"""Find out what an AI agent's memory leaks, and test what it has forgotten.

Every name below is imported when it is first used, so `import vestige` itself costs a few milliseconds.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "AgentDescription",
    "Artifact",
    "AskOptions",
    "DefenceResult",
    "FrontierResult",
    "MembershipResult",
    "Receipt",
    "RemovalRequest",
    "Reply",
    "ResidueResult",
    "RetrievedUnit",
    "Session",
    "Turn",
    "UserError",
    "VerificationResult",
    "VestigeError",
    "__version__",
    "datasets",
    "defend",
    "frontier",
    "membership",
    "residue",
    "stats",
    "verify",
]

if TYPE_CHECKING:
    from vestige import datasets, stats
    from vestige.agents.protocol import Agent, AgentDescription
    from vestige.api import defend, frontier, membership, residue, verify
    from vestige.audits.defence.results import DefenceResult
    from vestige.audits.membership.results import MembershipResult
    from vestige.audits.results import FrontierResult, ResidueResult
    from vestige.audits.verification.results import VerificationResult
    from vestige.errors import UserError, VestigeError
    from vestige.records import (
        Artifact,
        AskOptions,
        Receipt,
        RemovalRequest,
        Reply,
        RetrievedUnit,
        Session,
        Turn,
    )

_HOME: dict[str, str] = {
    "Agent": "vestige.agents.protocol",
    "AgentDescription": "vestige.agents.protocol",
    "Artifact": "vestige.records",
    "AskOptions": "vestige.records",
    "DefenceResult": "vestige.audits.defence.results",
    "FrontierResult": "vestige.audits.results",
    "MembershipResult": "vestige.audits.membership.results",
    "Receipt": "vestige.records",
    "RemovalRequest": "vestige.records",
    "Reply": "vestige.records",
    "ResidueResult": "vestige.audits.results",
    "RetrievedUnit": "vestige.records",
    "Session": "vestige.records",
    "Turn": "vestige.records",
    "UserError": "vestige.errors",
    "VerificationResult": "vestige.audits.verification.results",
    "VestigeError": "vestige.errors",
    "defend": "vestige.api",
    "frontier": "vestige.api",
    "membership": "vestige.api",
    "residue": "vestige.api",
    "verify": "vestige.api",
}
"""The module each public name comes from; `datasets` and `stats` are modules themselves."""


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value: Any = getattr(importlib.import_module(_HOME[name]), name)
    elif name in ("datasets", "stats"):
        value = importlib.import_module(f"vestige.{name}")
    else:
        raise AttributeError(f"module 'vestige' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
