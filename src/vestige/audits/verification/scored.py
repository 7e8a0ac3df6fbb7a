"""The findings of a verification: kinds and the values each holds. No finding holds a target's text.

`Finding.instance` is the pair, `Finding.episode` is `PAIR/CONDITION`, `labels` hold at least `condition` and `phase`.

kind `sighting:CHANNEL:TARGET`  the target, or another arm's, was seen in this step's observation of the channel; with
    `:EPISODE` at the end where the nonce is that episode's, and `:combined` where several channels make it whole
    channel, target, grade; form: verbatim, a declared normalisation, semantic, combined; state: confirmed | uncertain |
    dismissed (by a person); foreign: id of the episode whose nonce it is, or ""; count: items that show it
kind `observed`                 once an episode (step -1): by "PHASE:CHANNEL" the number of items looked at; an
    inspection that shows nothing is a look at summary and, after the boundary, memory_writes too. By "PHASE:bytes" the
    number of scans of the storage's bytes that could read a file, by "PHASE:bytes:TARGET" 1 where they held the arm's
    own target, also where a live row explains it; a log counts here only if the storage has no other file. By
    "request:storage" the number of new stored items that hold the request's own words
kind `action`                   one decision task: chosen: favoured | other | none; source: tool_call | schema | text
kind `utility`                  outcome: one of `probes.usefulness.Outcome`; who: one of `Kept`; task
kind `health`                   one reply to a harmless question: state: fine | empty | looping | refusal
kind `receipt:N`                accepted, completed, sham, message_sha256
kind `waited`                   completed, visible_absence, physical_cleanup: seen | not_seen | unobservable; pending
kind `reintroduced`, `corrected`  outcome of the task: success or not
kind `unavailable:STEP`         a step that the agent has no capability for: step
kind `incomplete`               an episode of a failed attempt: reason class; its sightings count, its rates do not
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, cast

from vestige.agents.protocol import Channel
from vestige.audits.findings import Finding
from vestige.audits.verification.settings import GRADES, Grade, Observer
from vestige.records import JsonScalar

if TYPE_CHECKING:
    from vestige.audits.verification.looking import Look

__all__ = ["FindingKind", "SightingState", "merged", "nearness", "seen_counts", "sighting_values"]

FindingKind = Literal[
    "sighting",
    "observed",
    "action",
    "utility",
    "health",
    "receipt",
    "waited",
    "reintroduced",
    "corrected",
    "unavailable",
    "incomplete",
]
SightingState = Literal["confirmed", "uncertain", "dismissed"]


def sighting_values(channel: Channel, grade: Grade, look: Look, owner: str) -> dict[str, JsonScalar]:
    """The values of a sighting."""
    return {
        "channel": channel,
        "target": look.target,
        "grade": grade,
        "form": look.form,
        "state": look.state,
        "foreign": owner,
        "count": look.count,
    }


def nearness(values: Mapping[str, JsonScalar]) -> tuple[bool, int]:
    """Sorts sightings of one place: confirmed ones first, then by grade, the nearest first."""
    return values["state"] != "confirmed", GRADES.index(cast("Grade", values["grade"]))


def merged(earlier: Finding, values: dict[str, JsonScalar], count: int) -> Finding:
    """One finding a place: the confirmed state, then the nearest grade, stands for all of it."""
    best = min(earlier.values, values, key=nearness)
    whole = int(earlier.values["count"] or 0) + count
    return earlier.model_copy(update={"values": {**best, "count": whole}})


def seen_counts(looked: Mapping[str, int], observer: Observer) -> dict[str, JsonScalar]:
    """What the declared observer looked at, by "PHASE:CHANNEL"; bytes are the storage's."""
    out: dict[str, JsonScalar] = {}
    for name in sorted(looked):
        what = name.split(":")[1] if ":" in name else name
        if looked[name] and observer.sees("storage" if what == "bytes" else what):
            out[name] = looked[name]
    return out
