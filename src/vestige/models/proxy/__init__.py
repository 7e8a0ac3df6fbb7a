"""A recording proxy between an agent and its model: what the agent sends to its model, and what that costs."""

from __future__ import annotations

from vestige.models.proxy.bodies import Bodies
from vestige.models.proxy.request import Kind, ModelRequest, Outcome, Traffic
from vestige.models.proxy.server import RecordingProxy
from vestige.models.proxy.taps import Sent, Tap, Taps

__all__ = ["Bodies", "Kind", "ModelRequest", "Outcome", "RecordingProxy", "Sent", "Tap", "Taps", "Traffic"]
