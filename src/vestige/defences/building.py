"""Puts a defence around an agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from vestige.agents.protocol import Agent, describe
from vestige.defences.output_filter import OutputFilter
from vestige.defences.prompt import PromptDefence
from vestige.defences.randomised import RandomisedResponse
from vestige.defences.rewriting import Rewriter, Rewriting
from vestige.defences.spec import DEFENCES, DefenceSpec
from vestige.defences.wrapper import Defended
from vestige.errors import ConfigError
from vestige.models.base import Embedder
from vestige.records import MemoryUnit

__all__ = ["defended"]


async def defended(
    agent: Agent,
    spec: DefenceSpec,
    *,
    seed: int,
    embedder: Embedder,
    rewriters: Mapping[str, Callable[[float], Rewriter]],
    pool: Sequence[MemoryUnit] = (),
) -> Agent:
    """The agent behind a defence; the agent has been opened.

    Args:
        agent: Any.
        spec: The defence with its strength.
        seed: Of its random draws.
        embedder: Measures similarity, where the defence does.
        rewriters: For the defences that rewrite, by name: the rewriter of a strength.
        pool: Statements that might be stored, for randomised response.

    Raises:
        ConfigError: The defence sets a knob that the agent has not.
        MissingDependency: It needs a package that is not installed.
    """
    label = str(spec)
    knob = DEFENCES[spec.name].knob
    if knob is not None:
        said = describe(agent)
        if knob not in said.knobs or not callable(getattr(agent, "configure", None)):
            have = ", ".join(said.knobs) or "none"
            raise ConfigError(
                f"defence {label}: it sets the knob {knob!r}, which the agent {said.name} has not (its knobs: {have}); "
                "give the agent that knob in configure() and describe(), or take a defence that works on any agent"
            )
        await agent.configure(**{knob: spec.strength})  # type: ignore[attr-defined]
        return Defended(agent, label)
    match spec.name:
        case "prompt":
            wrapped = PromptDefence(agent, label, int(spec.strength))
            await wrapped.prepare()
            return wrapped
        case "output_filter":
            return OutputFilter(agent, label, spec.strength, embedder)
        case "paraphrase":
            return Rewriting(agent, label, rewriters[spec.name](1.0), seed=seed, share=spec.strength)
        case "randomised_response":
            return RandomisedResponse(agent, label, spec.strength, pool=pool, seed=seed)
        case _:
            return Rewriting(agent, label, rewriters[spec.name](spec.strength), seed=seed)
