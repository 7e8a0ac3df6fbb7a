"""`--dry-run`: what a run would do and cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vestige.cli.guard import say

if TYPE_CHECKING:
    from vestige.audits.estimate import Estimate
    from vestige.options import AuditOptions

__all__ = ["print_estimate"]

SPEEDS = {
    "local/smollm2-135m": (400, 135),
    "local/qwen2.5-coder-0.5b": (175, 57),
    "local/qwen2.5-coder-1.5b": (70, 25),
}
"""Tokens a second (reading, writing) measured on two CPU cores; docs/benchmarks says how."""


def print_estimate(audit: str, options: AuditOptions) -> None:
    """Print exchanges, model calls, tokens, time and cost of a run, without running it."""
    from vestige import workflow
    from vestige.audits.estimate import estimate

    planned = workflow.make_plan(audit, options)
    e = estimate(planned.plan, planned.blobs)
    say(f"plan {planned.plan.sha256[:12]}: {len(planned.plan.fixtures)} instances, {e.episodes} episodes")
    say(f"states built       {e.states_built}")
    say(f"exchanges          {e.exchanges}")
    say(f"model calls        about {e.calls} after identical ones are merged (naive: {e.naive_calls})")
    if e.judge_calls:
        say(f"judge calls        at most {e.judge_calls}")
    say(f"tokens             about {e.prompt_tokens} read, {e.completion_tokens} written")
    say(f"time               {_time(options.model, e)}")
    say(f"cost               {_cost(options.model, e)}")
    for note in planned.study.notes:
        say(f"note: {note}")
    say("nothing was run")


def _time(model: str, e: Estimate) -> str:
    if model == "extractive":
        return "seconds: no model is called"
    if model not in SPEEDS:
        return "not known for this model"
    read, write = SPEEDS[model]
    minutes = (e.prompt_tokens / read + e.completion_tokens / write) / 60
    return f"about {minutes:.0f} min on two cores" if minutes >= 1 else "under a minute on two cores"


def _cost(model: str, e: Estimate) -> str:
    from vestige.models.prices import cost
    from vestige.records import Usage

    if model == "extractive" or model.startswith("local/"):
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
