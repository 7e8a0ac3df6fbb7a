"""Interviews: questions that are made up about a candidate statement, put one by one, each reply judged as it comes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import from_json

from vestige.agents.protocol import Agent
from vestige.errors import AgentError, ConfigError, IntegrityError, complaint
from vestige.records import MemoryUnit, Session
from vestige.runs.asking import MAX_QUESTION, put, record
from vestige.runs.contact import Contact, cleaned
from vestige.runs.plan import seed_for
from vestige.runs.steps import AskAbout, Remember

__all__ = ["ask_about", "remember"]


async def remember(contact: Contact, agent: Agent, index: int, step: Remember) -> None:
    """Store the units, directly where the agent can, and record which way it was.

    Raises:
        AgentError: The agent cannot store units, and the step has no conversation to tell it.
        IntegrityError: The blob holds no units.
    """
    units = [_unit(item) for item in _listed(contact, step.units)]
    user = contact.user(step.who)
    method = contact.method(agent, "remember")
    if method is not None:
        await contact.call("remember", method(user, units))
        by = "remember"
    elif step.otherwise is not None:
        session = Session.model_validate_json(contact.folder.get_blob(step.otherwise))
        await contact.call("converse", agent.converse(user, session))
        if (end := contact.method(agent, "end_session")) is not None:
            await contact.call("end_session", end(user))
        by = "conversation"
    else:
        raise AgentError("the agent has no remember, and the plan no conversation to tell it instead")
    contact.write("remembered", index, body={"by": by, "units": len(units)})


async def ask_about(contact: Contact, agent: Agent, index: int, step: AskAbout) -> None:
    """Have the questions made, put each, and record the reply with what the interviewer says of it.

    A question that is empty or longer than `MAX_QUESTION` is recorded as `refused_question` and not put: cut short it
    would be another question.

    Raises:
        ConfigError: There is no interviewer of that name.
        IntegrityError: The candidate is not in the blob.
        ModelError: A model of the interviewer failed.
    """
    interviewer = contact.services.interviewers.get(step.interviewer)
    if interviewer is None:
        known = ", ".join(sorted(contact.services.interviewers)) or "none"
        raise ConfigError(f"the plan asks for the interviewer {step.interviewer!r}; known here: {known}")
    candidate = _candidate(contact, step)
    probe = contact.plan.probes[step.probe]
    made = await interviewer.questions(
        candidate, seed_for(contact.plan.seed, "about", contact.episode.instance, step.candidate)
    )
    contact.write("interview", index, probe=probe.id, labels=step.labels, body=made.record)
    number = 0
    for repeat in range(step.repeats):
        for question in made.questions:
            names = (
                contact.episode.instance,
                step.candidate,
                question.id,
                *([str(repeat)] if repeat else ()),
            )
            labels = {**step.labels, "candidate": step.candidate, "question": question.id, "repeat": repeat}
            prompt = str(cleaned(question.prompt))
            if not prompt.strip() or len(prompt) > MAX_QUESTION:
                reason = f"longer than {MAX_QUESTION} characters" if prompt.strip() else "empty"
                refused = {"prompt": prompt[:MAX_QUESTION], "reason": reason}
                contact.write(
                    "refused_question", index, probe=probe.id, repeat=number, labels=labels, body=refused
                )
            else:
                user = contact.user(question.who)
                reply, body = await put(contact, agent, user, probe, prompt, names)
                measured = await interviewer.measure(candidate, question, reply)
                body = {"prompt": prompt, "reply": reply, **body, "measured": measured}
                record(contact, index, probe, number, labels, body)
            number += 1


def _listed(contact: Contact, digest: str) -> list[Any]:
    found = from_json(contact.folder.get_blob(digest))
    if not isinstance(found, list):
        raise IntegrityError(f"blob {digest[:12]}: not a list of units")
    return cast("list[Any]", found)


def _unit(item: Any) -> MemoryUnit:
    try:
        return MemoryUnit.model_validate(item)
    except ValidationError as error:
        raise IntegrityError(f"a blob holds no memory unit: {complaint(error)}") from None


def _candidate(contact: Contact, step: AskAbout) -> Mapping[str, Any]:
    for item in _listed(contact, step.units):
        if isinstance(item, dict) and cast("dict[str, Any]", item).get("id") == step.candidate:
            return cast("dict[str, Any]", item)
    raise IntegrityError(f"candidate {step.candidate[:60]!r} is not among the plan's units")
