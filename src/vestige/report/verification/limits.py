"""What a verification covers, what it did not observe, and what no verdict of it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from vestige.audits.verification.results import ClaimVerdict, VerificationResult
from vestige.report.verification.words import CHANNELS, CLAIMS, bounded, counted, percent, signed
from vestige.report.wording import listing, plural

__all__ = ["coverage", "exclusions", "not_observed", "observer"]


def observer(result: VerificationResult) -> str:
    """Who looked, in one sentence."""
    o = result.settings.observer
    asked = [
        plural(o.recall_probes, "recall question"),
        *([plural(o.semantic_probes, "semantic question")] if o.semantic_probes else []),
        *(["structured tasks"] if o.structured_probes else []),
        *([plural(o.choice_probes, "decision task")] if o.choice_probes else []),
    ]
    parts = [
        "sees what a user of the agent sees" if o.credentials == "user" else "sees all that the agent shows",
        f"looks at {', '.join(CHANNELS[c] for c in o.channels)} alone" if o.channels is not None else "",
        f"{listing(asked)} an episode",
        f"{plural(o.adaptive_rounds, 'adaptive round')}" if o.adaptive_rounds else "no adaptive questions",
        "asked before the removal too" if o.warm else "",
        f"{plural(o.horizon, 'unrelated session')} before the delayed probes",
        f"verbatim{', ' + ', '.join(o.normalisations) if o.normalisations else ' alone'}",
        "fragments put together over channels" if o.combine_fragments else "",
        f"{o.max_tokens} tokens a reply",
        f"at most {o.token_budget} reply tokens an episode" if o.token_budget is not None else "",
        "stopping at any time by a mixture sequence"
        if o.stopping == "mixture"
        else "a fixed number of pairs",
    ]
    return "; ".join(p for p in parts if p)


def _covered(claim: ClaimVerdict) -> list[tuple[str, str]]:
    """The channels whose silence says something: once where the targets agree, else target by target."""
    by = {t.target: claim.covered if t.covered is None else t.covered for t in claim.targets}
    told = {target: ", ".join(CHANNELS[c] for c in channels) or "none" for target, channels in by.items()}
    if len(set(told.values())) == 1:
        return [("Covered channels", next(iter(told.values())))]
    return [(f"Covered channels, {target}", text) for target, text in told.items()]


def coverage(result: VerificationResult, claim: ClaimVerdict) -> tuple[tuple[str, str], ...]:
    """What the verdict on a claim covers: name and value, for the first screen."""
    name, meaning = CLAIMS[claim.claim]
    blind = [c for c in claim.channels if c.state != "covered"]
    rows = [
        ("Claim", f"{name}: {meaning}"),
        (
            "Pairs",
            f"n = {result.distinct_pairs} distinct; {result.n_complete} complete of {result.n_instances} planned",
        ),
        *_covered(claim),
    ]
    if blind:
        rows.append(
            (
                "Not covered",
                ", ".join(f"{CHANNELS[c.channel]} ({c.state.replace('_', ' ')})" for c in blind),
            )
        )
    for target in claim.targets:
        bound = target.union.get("exposed_removed")
        if bound is not None and bound.n:
            asked = percent(result.settings.leakage_bound)
            text = f"{counted(bound)} episodes, {bounded(bound)} (at most {asked} asked)"
            rows.append((f"Leakage, {target.target}", text))
        if target.residual is not None and target.residual.value is not None:
            low, high = target.residual.interval
            margin = f"margin ±{target.residual.margin:g}"
            text = f"{signed(target.residual.value)} [{signed(low)}, {signed(high)}], {margin}"
            several = sum(t.residual is not None for t in claim.targets) > 1
            rows.append((f"Residual, {target.target}" if several else "Residual", text))
    rows.append(("Observer", observer(result)))
    return tuple(rows)


def not_observed(result: VerificationResult) -> tuple[str, ...]:
    """What these numbers cannot show, in plain words."""
    return tuple(dict.fromkeys(_limits(result)))


def _limits(result: VerificationResult) -> Iterator[str]:
    for claim in result.claims:
        name = CLAIMS[claim.claim][0]
        for state in claim.channels:
            if state.state != "covered":
                words = state.state.replace("_", " ")
                yield f"{name}: {CHANNELS[state.channel]} {words}: {state.reason}."
    settings, o = result.settings, result.settings.observer
    if "non_use" not in settings.claims:
        yield "Use of the target in answers and decisions was not claimed: only what is stored was."
    if "erasure" not in settings.claims:
        yield "What is stored was not claimed: a copy at rest that is never used fails no claim of this report."
    if "preference" not in settings.targets:
        yield "String-free influence on decisions was not tested: no preference was removed."
    if "nonce" not in settings.targets:
        yield "Literal disclosure of a unique value was not tested: no nonce was removed."
    if not o.warm:
        yield (
            "Nothing was asked before the removal, so answers that a cache kept from then were not looked for."
        )
    if not o.adaptive_rounds:
        yield "The questions were fixed before the run. Somebody who adapts to the replies may get more out."
    if not settings.maintain:
        yield "The store's own maintenance was not run."
    yield (
        f"The horizon is {plural(o.horizon, 'later session')}, a restart"
        + (" and one maintenance" if settings.maintain else "")
        + ". What surfaces later was not seen."
    )
    if settings.hints_kept:
        yield "What retained facts imply about the target is permitted and stands in the never-exposed arm too."
    effects = result.agent_description.get("external_effects")
    if isinstance(effects, list) and effects:
        yield f"Of what the agent declares to do outside its own storage nothing was undone: {', '.join(effects)}."
    yield (
        "Backups, other machines, providers' own logs and what people or other systems read before the removal were "
        "out of reach, and external effects cannot be undone."
    )
    yield (
        f"A count of 0 is no rate of 0: the bounds say what n = {result.distinct_pairs} leaves open, at level "
        f"{percent(settings.alpha)}."
    )
    yield "How the agent came to an earlier answer is another question, and is not answered here."


def exclusions(result: VerificationResult, most: int = 30) -> tuple[str, ...]:
    """Episodes that are in no rate, the reasons counted where there are many."""
    if len(result.exclusions) <= most:
        return tuple(f"{x.episode}: {x.reason}" for x in result.exclusions)
    reasons = Counter(x.reason for x in result.exclusions)
    ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    shown = [f"{plural(n, 'episode')}: {reason}" for reason, n in ordered[:most]]
    rest = sum(n for _, n in ordered[most:])
    return (*shown, *((f"{plural(rest, 'episode')} for other reasons",) if rest else ()))
