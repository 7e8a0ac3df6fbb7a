"""What is recorded of one request to a model, and of all that one agent sent."""

from __future__ import annotations

from typing import Literal

from vestige.records import Record, Usage

__all__ = ["Kind", "ModelRequest", "Outcome", "Traffic"]

Kind = Literal["chat", "completion", "embeddings", "models", "other"]
"""Which interface was asked; `other` is every path that has no name here."""

Outcome = Literal["under_way", "answered", "refused", "unreachable", "down", "broken_off", "client_left"]
"""How it ended: `answered` with any status of the endpoint's own; `refused` by the proxy, larger than it takes or
answered by a redirect; `unreachable`: the endpoint was not there; `down`: the proxy was told to answer 503;
`broken_off`: the endpoint ended within its reply; `client_left`: the agent ended before it had the whole reply."""


class ModelRequest(Record):
    """One request that an agent sent to its model. No header is in it, and of the URL neither host nor query."""

    label: str
    """Whose it is: the episode that was given the URL of this label."""
    number: int
    """From 1, in the order in which the label's requests arrived."""
    kind: Kind
    method: str
    path: str
    """As the agent wrote it below its URL, without the query: `/v1/chat/completions`."""
    model: str | None
    """As the request names it; None: it names none, or could not be read."""
    started: float
    """When it arrived; seconds since 1970."""
    seconds: float | None
    """Until its end; None: under way."""
    outcome: Outcome
    status: int | None
    """HTTP status that the agent was given; None: it was given none."""
    streamed: bool
    """Whether the reply came as server-sent events."""
    body: str | None
    """SHA-256 of the request's body, by which `Bodies` has it; None: no body, or it never came whole."""
    body_bytes: int
    """Length of the body; of one that was refused for its length or never came whole, what its header said, or 0."""
    unread: str | None
    """Why a look at the body's text may miss what it says ("token ids", "no UTF-8 text", …); None: it does not."""
    reply_bytes: int
    usage: Usage | None
    """Tokens as the endpoint counted them; None: it did not say."""


class Traffic(Record):
    """All that one label sent, in numbers."""

    requests: int
    kinds: dict[str, int]
    """Requests by `Kind`; kinds that were not asked are left out."""
    outcomes: dict[str, int]
    """Requests by `Outcome`."""
    usage: Usage
    """Tokens that endpoints counted, summed."""
    without_usage: int
    """Chat, completion and embedding requests that were answered with success and no token count: the sum lacks
    theirs."""
    unread: int
    """Requests with a body whose text may not say all that it holds."""
    bytes_sent: int
    bytes_received: int
