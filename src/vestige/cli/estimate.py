"""`--dry-run`: what a run would do and cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vestige.cli.guard import say

if TYPE_CHECKING:
    from vestige.audits.estimate import Estimate
    from vestige.membership_options import MembershipOptions
    from vestige.options import AuditOptions
    from vestige.verify_options import VerifyOptions

__all__ = ["print_estimate", "print_membership_estimate", "print_verification_estimate"]

SPEEDS = {
    "local/smollm2-135m": (400, 135),
    "local/qwen2.5-coder-0.5b": (175, 57),
    "local/qwen2.5-coder-1.5b": (70, 25),
}
"""Tokens a second (reading, writing) measured on two CPU cores; docs/benchmarks says how."""


def print_estimate(audit: str, options: AuditOptions) -> None:
    """Print exchanges, model calls, tokens, time and cost of a run, without running it.

    Raises:
        UserError: The run would be refused: its models are not to be had as they are named.
    """
    from vestige import studying
    from vestige.audits.estimate import estimate
    from vestige.services import check_models

    planned = studying.make_plan(audit, options)
    check_models(planned.plan)
    e = estimate(planned.plan, planned.blobs)
    say(f"plan {planned.plan.sha256[:12]}: {len(planned.plan.fixtures)} instances, {e.episodes} episodes")
    say(f"states built       {e.states_built}")
    say(f"exchanges          {e.exchanges}")
    _print_calls(options.model, e)
    for note in planned.notes:
        say(f"note: {note}")
    say("nothing was run")


def print_membership_estimate(options: MembershipOptions) -> None:
    """Print what a membership audit would ask, without asking it.

    Raises:
        UserError: The run would be refused: its models are not to be had as they are named.
    """
    from vestige import attacking
    from vestige.services import check_models

    planned = attacking.make_plan(options)
    check_models(planned.plan)
    plan = planned.plan
    asked = sum(len(f["labels"]) for f in plan.fixtures.values())
    say(
        f"plan {plan.sha256[:12]}: {len(plan.fixtures)} users, {asked} candidates, {len(plan.episodes)} episodes"
    )
    say(f"exchanges          at most {planned.exchanges}")
    say(
        f"model calls        {'none' if options.model == 'extractive' else f'at most {planned.exchanges}, the agent'}"
    )
    for part, name in plan.settings["parts"].items():
        say(f"{part:<19}{name}")
    for note in planned.notes:
        say(f"note: {note}")
    say("nothing was run")


def _print_calls(model: str, e: Estimate) -> None:
    called = model != "extractive"
    if called:
        say(f"model calls        about {e.calls} after identical ones are merged (naive: {e.naive_calls})")
    else:
        say("model calls        none: the extractive reader answers with what is stored")
    if e.judge_calls:
        say(f"judge calls        at most {e.judge_calls}, in no number below")
    if called:
        say(f"tokens             about {e.prompt_tokens} read, {e.completion_tokens} written")
    say(f"time               {_time(model, e)}")
    say(f"cost               {_cost(model, e)}")


def _time(model: str, e: Estimate) -> str:
    if model == "extractive":
        return "no model to wait for: the embedder alone takes some"
    if model not in SPEEDS:
        return "not known for this model"
    read, write = SPEEDS[model]
    minutes = (e.prompt_tokens / read + e.completion_tokens / write) / 60
    return f"about {minutes:.0f} min on two cores" if minutes >= 1 else "under a minute on two cores"


def _cost(model: str, e: Estimate) -> str:
    from vestige.models.prices import cost
    from vestige.records import Usage

    if model == "extractive":
        return "none"
    if model.startswith("local/"):
        return "none: it runs on this machine"
    try:
        amount = cost(model, Usage(prompt_tokens=e.prompt_tokens, completion_tokens=e.completion_tokens))
    except ImportError:
        amount = None
    return (
        "not known (pip install 'vestige[prices]' knows many models)"
        if amount is None
        else f"about ${amount:.2f}"
    )


def print_verification_estimate(options: VerifyOptions) -> None:
    """Print what a verification would do and cost, and which verdicts it can reach, without running it.

    Raises:
        UserError: The run would be refused: its models are not to be had as they are named.
    """
    from vestige import verifying
    from vestige.audits.estimate import estimate
    from vestige.reaching import reach_lines
    from vestige.services import check_models

    planned = verifying.make_plan(options)
    check_models(planned.plan)
    e = estimate(planned.plan, planned.blobs)
    say(f"plan {planned.plan.sha256[:12]}: {len(planned.plan.fixtures)} pairs, {e.episodes} episodes")
    say(f"exchanges          {e.exchanges}")
    if options.agent == "reference":
        _print_calls(options.model, e)
    else:
        say("model calls        the agent's own, which are not known here")
    for line in reach_lines(options.settings()):
        say(line)
    for note in planned.notes:
        say(f"note: {note}")
    say("nothing was run")
