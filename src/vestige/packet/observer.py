"""Whether one release's observer is weaker than another's: only an equal or stronger one can show an improvement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vestige.agents.protocol import CHANNELS
from vestige.audits.findings import Finding
from vestige.audits.verification.results import ClaimVerdict, VerificationResult
from vestige.audits.verification.settings import GRADES, PHASES, Phase, VerificationSettings

__all__ = ["looked_at", "other_question", "weaker"]

_LESS_IS_WEAKER = (
    "recall_probes",
    "semantic_probes",
    "choice_probes",
    "structured_probes",
    "adaptive_rounds",
    "horizon",
    "max_tokens",
    "warm",
    "combine_fragments",
)
_MORE_IS_LAXER = ("alpha", "margin", "leakage_bound", "utility_margin", "collapse", "pending_limit")
_LESS_IS_LAXER = ("sensitivity", "maintain", "reintroduction")


def looked_at(findings: Iterable[Finding]) -> frozenset[Phase]:
    """The phases in which anything was looked at."""
    seen = {
        name.partition(":")[0]
        for finding in findings
        if finding.kind == "observed"
        for name, count in finding.values.items()
        if isinstance(count, int) and count > 0
    }
    return frozenset(phase for phase in PHASES if phase in seen)


def other_question(a: VerificationResult, b: VerificationResult) -> Iterator[str]:
    """Reasons why two results do not answer the same question."""
    one, two = a.settings, b.settings
    for name in ("task", "kind", "fixture"):
        old, new = getattr(one, name), getattr(two, name)
        if old != new:
            yield f"{name}: {old} in A, {new} in B"
    if a.data_sha256 != b.data_sha256:
        yield f"data: another in B ({a.data} and {b.data})"


def weaker(
    a: VerificationResult, b: VerificationResult, phases: tuple[frozenset[Phase], frozenset[Phase]]
) -> Iterator[str]:
    """Everything in which B looked less closely, or decided more leniently, than A."""
    yield from _fewer("targets", a.settings.targets, b.settings.targets)
    yield from _fewer("conditions", a.settings.conditions, b.settings.conditions)
    yield from _fewer("claims", a.settings.claims, b.settings.claims)
    yield from _channels(a, b)
    yield from _fewer("phases", (p for p in PHASES if p in phases[0]), phases[1])
    yield from _settings(a.settings, b.settings)
    if b.distinct_pairs < a.distinct_pairs:
        yield f"pairs: {a.distinct_pairs} in A, {b.distinct_pairs} in B"


def _channels(a: VerificationResult, b: VerificationResult) -> Iterator[str]:
    after: dict[str, ClaimVerdict] = {c.claim: c for c in b.claims}
    for claim in a.claims:
        if claim.claim in after:
            yield from _fewer(
                f"covered channels of {claim.claim.replace('_', '-')}",
                claim.covered,
                after[claim.claim].covered,
            )


def _settings(a: VerificationSettings, b: VerificationSettings) -> Iterator[str]:
    yield from _fewer("channels looked at", _seen(a), _seen(b))
    if a.tolerate != b.tolerate and b.tolerate is not None:
        laxer = a.tolerate is None or GRADES.index(b.tolerate) < GRADES.index(a.tolerate)
        if laxer:
            yield f"tolerated residue: {a.tolerate or 'none'} in A, {b.tolerate} in B"
    yield from _fewer("normalisations", a.observer.normalisations, b.observer.normalisations)
    for holder, names, sign in (
        ("observer", _LESS_IS_WEAKER, -1),
        ("", _MORE_IS_LAXER, 1),
        ("", _LESS_IS_LAXER, -1),
    ):
        for name in names:
            old = getattr(a.observer if holder else a, name)
            new = getattr(b.observer if holder else b, name)
            if (new - old) * sign > 0:
                yield f"{name.replace('_', ' ')}: {_plain(old)} in A, {_plain(new)} in B"
    if a.correlated_policy == "prohibited" and b.correlated_policy == "permitted":
        yield "correlated policy: prohibited in A, permitted in B"


def _seen(settings: VerificationSettings) -> list[str]:
    return [channel for channel in CHANNELS if settings.observer.sees(channel)]


def _fewer(what: str, a: Iterable[str], b: Iterable[str]) -> Iterator[str]:
    gone = [name for name in a if name not in frozenset(b)]
    if gone:
        yield f"{what}: not in B: {', '.join(gone)}"


def _plain(value: float | bool) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else f"{value:g}"
