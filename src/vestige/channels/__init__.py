"""The channels of a verification: where an observer can look, and what a look showed."""

from __future__ import annotations

from vestige.channels.exchange import exchange, requests
from vestige.channels.observation import Grade, Observation
from vestige.channels.scan import scan
from vestige.channels.states import Availability, states
from vestige.channels.stored import artifacts

__all__ = ["Availability", "Grade", "Observation", "artifacts", "exchange", "requests", "scan", "states"]
