"""Exchanges: one probe with its reply, or a conversation that an auxiliary model steers."""

from __future__ import annotations

import time
from typing import Any

from vestige.agents.protocol import Agent
from vestige.errors import AgentError, ConfigError, ModelError, ModelUnavailable
from vestige.records import AskOptions, JsonScalar, Reply
from vestige.runs.contact import Contact, cleaned
from vestige.runs.plan import Probe, seed_for
from vestige.runs.services import Event
from vestige.runs.steps import Ask, AskAdaptively

__all__ = ["MAX_QUESTION", "MAX_REPLY", "ask", "ask_adaptively", "put", "record"]

MAX_REPLY = 500_000
"""Characters of a reply: a longer one is a failure of the agent, not an answer that could be read to its end."""
LOWEST_LOGPROB = -1e6
"""Of a token; what is lower is no measurement, and sums of it are no numbers."""
MAX_QUESTION = 8_000
"""Characters of a policy's question; a longer one is not put."""


async def ask(contact: Contact, agent: Agent, index: int, step: Ask) -> None:
    """Put a probe and record the exchange; a repeat differs from the first time in its seed alone."""
    probe = contact.plan.probes[step.probe]
    names = (str(step.repeat),) if step.repeat else ()
    reply, body = await put(contact, agent, contact.user(step.who), probe, probe.text, names)
    record(contact, index, probe, step.repeat, step.labels, {"reply": reply, **body})


async def ask_adaptively(contact: Contact, agent: Agent, index: int, step: AskAdaptively) -> None:
    """Put the probe, then what the policy writes, round by round.

    A question that the guard refuses uses its round up: it is recorded as `refused_question` and never put. When the
    policy's model fails, the rounds end, and the record says so.

    Raises:
        ConfigError: There is no policy of that name.
        ModelUnavailable: The policy's model server does not answer at all.
    """
    policy = contact.services.policies.get(step.policy)
    if policy is None:
        known = ", ".join(sorted(contact.services.policies)) or "none"
        raise ConfigError(f"the plan asks for the policy {step.policy!r}; known here: {known}")
    probe = contact.plan.probes[step.probe]
    user = contact.user("user")
    transcript: list[tuple[str, str]] = []
    for turn in range(step.rounds + 1):
        labels: dict[str, JsonScalar] = {**step.labels, "round": turn}
        question = probe.text
        if turn:
            try:
                question = str(cleaned(await policy(probe, tuple(transcript), turn))).strip()
            except ModelUnavailable:
                raise
            except ModelError as error:
                reason = f"round {turn}: {type(error).__name__}: {error}"
                contact.unavailable(index, step.do, reason, probe=probe.id, labels=labels)
                return
            reason = _refusal(contact, question)
            if reason is not None:
                body = {"prompt": question[:MAX_QUESTION], "reason": reason}
                contact.write(
                    "refused_question", index, probe=probe.id, repeat=turn, labels=labels, body=body
                )
                continue
        names = ("round", str(turn)) if turn else ()
        reply, body = await put(contact, agent, user, probe, question, names)
        transcript.append((question, reply.text))
        record(contact, index, probe, turn, labels, {"prompt": question, "reply": reply, **body})


def _refusal(contact: Contact, question: str) -> str | None:
    """Why a policy's question is not put."""
    if not question:
        return "the policy wrote no question"
    if len(question) > MAX_QUESTION:
        return f"the question is longer than {MAX_QUESTION} characters"
    guard = contact.services.guard
    return guard(contact.episode, question) if guard is not None else None


async def put(
    contact: Contact, agent: Agent, user: str, probe: Probe, prompt: str, names: tuple[str, ...]
) -> tuple[Reply, dict[str, Any]]:
    """Put one prompt as the probe says; the reply, and what is recorded beside it. `names` spawn the seed."""
    options = AskOptions(
        session=probe.session,
        seed=seed_for(contact.plan.seed, "ask", probe.id, *names),
        write_back=probe.write_back,
        max_tokens=probe.max_tokens,
        now=probe.now,
        tools=probe.tools,
        choices=probe.choices,
        trace=probe.trace,
    )
    began = time.perf_counter()
    answer = await contact.call("ask", agent.ask(user, prompt, options))
    seconds = time.perf_counter() - began
    reply = _storable(answer if isinstance(answer, Reply) else Reply(text=str(answer)))
    if len(reply.text) > MAX_REPLY:
        raise AgentError(f"ask: a reply of {len(reply.text):,} characters; at most {MAX_REPLY:,} are taken")
    odd = next((t.logprob for t in reply.logprobs or () if not LOWEST_LOGPROB <= t.logprob <= 0.001), None)
    if odd is not None:  # a little above 0 is rounding
        raise AgentError(f"ask: a log-probability of {odd:g}; expected {LOWEST_LOGPROB:g} to 0")
    measures = {name: await contact.services.measures[name](probe, reply) for name in probe.measures}
    return reply, {"measures": measures, "seconds": round(seconds, 4)}


def record(
    contact: Contact,
    index: int,
    probe: Probe,
    repeat: int,
    labels: dict[str, JsonScalar],
    body: dict[str, Any],
) -> None:
    """Append the exchange to the record."""
    contact.summary.exchanges += 1
    contact.write("exchange", index, probe=probe.id, repeat=repeat, labels=labels, body=body)
    contact.tell(Event("exchange", contact.episode.id))


def _storable(reply: Reply) -> Reply:
    try:
        reply.model_dump_json()
    except ValueError:
        return Reply.model_validate(cleaned(reply))
    return reply
