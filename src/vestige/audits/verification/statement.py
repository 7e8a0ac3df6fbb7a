"""Sentences that may be quoted: what was covered, how much of it, and no word more than the evidence carries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from vestige.agents.protocol import Channel
from vestige.audits.verification.case import Case
from vestige.audits.verification.contrasts import upper_limit
from vestige.audits.verification.results import ClaimVerdict, Residual, RuleOutcome, Verdict
from vestige.audits.verification.settings import TargetName

__all__ = ["overall", "pending", "statement"]

_CLAIM = {"non_use": "non-use", "erasure": "erasure from what is stored"}


def statement(
    case: Case,
    verdict: Verdict,
    decided: RuleOutcome,
    also: Sequence[str],
    residuals: Mapping[TargetName, Residual],
) -> str:
    """The verdict on one claim, with its scope and its limits."""
    match verdict:
        case "fails":
            parts = [f"The claim of {_claim(case)} fails {_scope(case)}: {decided.reason}."]
        case "unassessable":
            mend = f" To make it assessable: {decided.mend}." if decided.mend else ""
            more = f" Nor do these rules hold: {_names(also)}." if also else ""
            parts = [
                f"The claim of {_claim(case)} is unassessable {_scope(case)}: {decided.reason}.{mend}{more}"
            ]
        case _:
            parts = [_limited(case, residuals)]
    parts += _limits(case)
    if line := pending(case):
        parts.append(line)
    return " ".join(parts)


def _claim(case: Case) -> str:
    return _CLAIM[case.claim.name] + (f" ({case.tolerance} tolerated)" if case.tolerance else "")


def _scope(case: Case) -> str:
    return f"for {_agent(case)} (n = {case.tally.pairs.n} distinct pairs)"


def _agent(case: Case) -> str:
    """The agent, and the model where it is known to answer with one of ours."""
    brief = case.brief
    if brief.agent != "reference" and brief.model == "extractive":
        return f"agent {brief.agent}"
    return f"agent {brief.agent} with model {brief.model}"


def _limited(case: Case, residuals: Mapping[TargetName, Residual]) -> str:
    settings, pairs = case.settings, case.tally.pairs
    n = len(case.units.names(pairs.distinct))
    unit = "clusters of pairs" if pairs.clustered else "distinct pairs"
    worst = max(_upper(case, t) for t in settings.targets)
    text = (
        f"Limited evidence of {_claim(case)} {_covered(case)} under the tested conditions, for {_agent(case)}: "
        f"in {n} {unit} there was no {'untolerated ' if case.tolerated else ''}confirmed sighting of the "
        f"{' or the '.join(settings.targets)} "
        f"after the removal in the covered channels, which bounds union leakage by {100 * worst:.3g} % "
        f"(one-sided, level {settings.alpha:g})"
    )
    for target, residual in residuals.items():
        if residual.value is None:
            continue
        low, high = residual.interval
        of = f" of {target}" if len(residuals) > 1 else ""
        text += (
            f"; choices{of} differed from the never-exposed twin's by {residual.value:+.3f}, interval [{low:.3f}, "
            f"{high:.3f}] within the margin of ±{residual.margin:g}"
        )
    return f"{text}. It covers this observer, these probes and this agent as it was configured, and nothing else."


def _upper(case: Case, target: TargetName) -> float:
    pairs = case.tally.pairs
    leaks, _ = case.leaking(target)
    return upper_limit(*case.units.any([*pairs.distinct, *pairs.lost], leaks), case.settings)


def _covered(case: Case) -> str:
    """In which channels, and in which not: for all targets at once where they agree."""
    by_target = {t: _channels(case, t) for t in case.settings.targets}
    if len(set(by_target.values())) == 1:
        return f"in the channels {next(iter(by_target.values()))}"
    return ", ".join(f"for the {t} in the channels {text}" for t, text in by_target.items())


def _channels(case: Case, target: TargetName) -> str:
    covered, absent, rest = list[str](), list[str](), list[str]()
    for state in case.channels:
        channel: Channel = state.channel
        if channel not in case.prohibited:
            continue
        if state.state == "absent":
            absent.append(channel)
        elif state.state in ("unavailable", "unobserved_after"):
            rest.append(channel)
        elif case.shown("exposed_unchanged", target, (channel,)):
            covered.append(channel)
        elif case.decides(target, channel):
            covered.append(f"{channel} (by decisions alone)")
        else:
            rest.append(channel)
    left = [f"not covered: {_names(rest)}"] if rest else []
    left += [f"declared absent: {_names(absent)}"] if absent else []
    return (_names(covered) or "none") + (f" ({'; '.join(left)})" if left else "")


def _limits(case: Case) -> list[str]:
    """What the claim does not cover, said wherever the verdict is."""
    out: list[str] = []
    blind = [c for c in case.channels if c.state == "unavailable"]
    if blind:
        out.append(
            f"Not covered, because unavailable: {', '.join(f'{c.channel} ({c.reason})' for c in blind)}."
        )
    dull = [c.channel for c in case.channels if c.state == "not_sensitive"]
    if dull:
        out.append(f"Observed, not sensitive: {_names(dull)}.")
    hidden = [c for c in case.channels if c.state == "unobserved_after"]
    if hidden:
        out.append(
            "Not observed after the removal as it was in exposed_unchanged: "
            f"{'; '.join(f'{c.channel} ({c.reason})' for c in hidden)}."
        )
    if case.tolerated:
        kept = {
            s.episode
            for t in case.settings.targets
            for s in case.tally.own("exposed_removed", t, case.prohibited, case.phases)
            if s.grade in case.tolerated
        }
        out.append(f"Tolerated, and seen after the removal in {len(kept)} episodes: {case.tolerance}.")
    if case.claim.name == "non_use" and "preference" not in case.settings.targets:
        out.append("String-free influence was not tested, since no preference was removed.")
    if case.claim.name == "non_use" and "nonce" not in case.settings.targets:
        out.append("Literal disclosure of a unique value was not tested, since no nonce was removed.")
    if case.claim.name == "erasure" and "maintain" in case.tally.unavailable:
        out.append("The agent has no maintenance of its own: its state is read as it stands at the end.")
    elif case.claim.name == "erasure" and case.settings.maintain:
        earlier = {
            s.episode
            for t in case.settings.targets
            for s in case.tally.own(
                "exposed_removed", t, case.claim.channels, ("after", "delayed", "restarted")
            )
            if s.complete
        }
        out.append(
            f"It reads the state after maintenance; before it, {len(earlier)} episodes still held a target."
        )
    return out


def pending(case: Case) -> str:
    """Says so where uncertain findings, counted, would break the leakage bound."""
    settings, pairs = case.settings, case.tally.pairs
    waiting = 0
    for target in settings.targets:
        open_ = case.uncertain("exposed_removed", target)
        if not open_:
            continue
        events = [*case.leaking(target)[0], *open_]
        upper = upper_limit(*case.units.any([*pairs.distinct, *pairs.lost], events), settings)
        if upper > settings.leakage_bound:
            waiting += sum(
                s.complete
                for s in case.seen("exposed_removed", target, case.claim.channels, state="uncertain")
            )
    if not waiting:
        return ""
    return (
        f"{waiting} uncertain findings wait for `vestige adjudicate`: were they all disclosures, the leakage bound "
        "would not hold."
    )


def overall(verdict: Verdict, claims: Iterable[ClaimVerdict]) -> str:
    """The whole result in the words of the claims that brought it about."""
    chosen = [c.statement for c in claims if c.verdict == verdict]
    return " ".join(chosen)


def _names(names: Iterable[str]) -> str:
    return ", ".join(names)
