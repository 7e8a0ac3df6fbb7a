"""Briefs and findings made by hand, pair by pair."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from vestige.agents.protocol import AgentDescription
from vestige.audits.findings import Finding
from vestige.audits.results import Exclusion
from vestige.audits.verification.brief import Brief, PairBrief
from vestige.audits.verification.conclusion import conclude
from vestige.audits.verification.results import ClaimVerdict, RuleOutcome, VerificationResult
from vestige.audits.verification.settings import CONDITIONS, VerificationSettings

SHOWING = AgentDescription(
    name="made",
    version="1",
    configuration={},
    capabilities=("inspect", "storage", "maintain"),
    channels=("answer", "retrieval", "storage", "vectors"),
    absent={"logs": "keeps no log"},
)


def name(i: int) -> str:
    return f"P{i:03d}"


def again(i: int) -> str:
    """Name of a pair of an earlier packet."""
    return f"R-{name(i)}"


def make_settings(n: int, **more: Any) -> VerificationSettings:
    return VerificationSettings.model_validate({"pairs": n, "targets": ("nonce",), **more})


def make_brief(
    settings: VerificationSettings,
    *,
    incomplete: Iterable[int] = (),
    clusters: Mapping[int, str] | None = None,
    fingerprints: Mapping[int, str] | None = None,
    description: AgentDescription | None = SHOWING,
    failed_attempts: int = 0,
    earlier: int = 0,
) -> Brief:
    lost = set(incomplete)
    return Brief(
        plan_sha256="0" * 64,
        vestige_version="1",
        agent="made",
        model="extractive",
        embedder="hashing",
        data="made",
        data_sha256="0" * 64,
        analysis_seed=1,
        settings=settings,
        description=description,
        pairs={
            name(i): PairBrief(
                cluster=(clusters or {}).get(i, name(i)),
                fingerprint=(fingerprints or {}).get(i, f"f{i}"),
                arms=CONDITIONS,
                targets=settings.targets,
                complete=i not in lost,
            )
            for i in range(settings.pairs)
        }
        | {
            again(i): PairBrief(
                cluster=again(i),
                fingerprint=again(i),
                arms=CONDITIONS,
                targets=settings.targets,
                complete=True,
                earlier=True,
            )
            for i in range(earlier)
        },
        exclusions=tuple(
            Exclusion(episode=f"{name(i)}/{c}", reason="AgentError: no")
            for i in sorted(lost)
            for c in CONDITIONS
        ),
        failed_attempts=failed_attempts,
    )


def finding(i: int, condition: str, kind: str, values: dict[str, Any], **labels: Any) -> Finding:
    step = labels.pop("step", 0)
    return Finding(
        episode=f"{name(i)}/{condition}",
        instance=name(i),
        step=step,
        kind=kind,
        labels={"condition": condition, "phase": "after", "complete": True, "who": "user", **labels},
        values=values,
    )


def seen(i: int, condition: str, channel: str = "answer", target: str = "nonce", **more: Any) -> Finding:
    """A sighting; `grade`, `form`, `state` and `foreign` are values, everything else labels."""
    values: dict[str, Any] = {
        "channel": channel,
        "target": target,
        "grade": "served",
        "form": "verbatim",
        "state": "confirmed",
        "foreign": "",
        "count": 1,
    }
    values |= {k: more.pop(k) for k in tuple(more) if k in values}
    suffix = f":{values['foreign']}" if values["foreign"] else ""
    return finding(i, condition, f"sighting:{channel}:{target}{suffix}", values, **more)


LOOKED = {
    **{f"{p}:{c}": 5 for p in ("after", "delayed") for c in ("answer", "retrieval")},
    **{f"{p}:{c}": 1 for p in ("before", "after", "maintained") for c in ("storage", "vectors", "bytes")},
}
IN_BYTES = {f"{p}:bytes:{t}": 1 for p in ("after", "maintained") for t in ("nonce", "preference")}


def base(i: int, *, acts: Mapping[str, bool] | None = None) -> list[Finding]:
    """A good pair: the control shows its target, nobody else does, everything retained is answered."""
    out: list[Finding] = []
    for condition in CONDITIONS:
        readable = IN_BYTES if condition in ("exposed_unchanged", "sham_removal") else {}
        out.append(finding(i, condition, "observed", LOOKED | readable, step=-1))
        for who in ("user", "sibling"):
            values = {"outcome": "success", "task": "retained", "who": who}
            out.append(finding(i, condition, "utility", values, step=20, who=who))
            out.append(finding(i, condition, "health", {"state": "fine"}, step=20, who=who))
        if acts is not None:
            chosen = "favoured" if acts[condition] else "other"
            out.append(finding(i, condition, "action", {"chosen": chosen, "source": "schema"}, step=30))
    for condition in ("exposed_unchanged", "sham_removal"):
        for channel, phase in (("answer", "after"), ("retrieval", "delayed")):
            out.append(seen(i, condition, channel, phase=phase))
        out += [
            seen(i, condition, c, phase=p, grade="live_row", step=s)
            for c in ("storage", "vectors")
            for s, p in enumerate(("before", "after", "maintained"))
        ]
    return out


def good(n: int) -> list[Finding]:
    return [f for i in range(n) for f in base(i)]


def acting(i: int, *, removed: bool | None = None) -> list[Finding]:
    """A good pair with a decision task: half of the twins choose the option by chance."""
    chance = i % 2 == 0
    acts = {c: c in ("exposed_unchanged", "sham_removal") or chance for c in CONDITIONS}
    if removed is not None:
        acts["exposed_removed"] = removed
    found = base(i, acts=acts)
    return [*found, seen(i, "exposed_unchanged", "answer", "preference", step=1)]


def result_of(n: int, findings: Iterable[Finding], **more: Any) -> VerificationResult:
    brief_options = {
        k: more.pop(k)
        for k in tuple(more)
        if k in ("incomplete", "clusters", "fingerprints", "description", "failed_attempts", "earlier")
    }
    return conclude(make_brief(make_settings(n, **more), **brief_options), findings)


def claim_of(n: int, findings: Iterable[Finding], **more: Any) -> ClaimVerdict:
    (claim,) = result_of(n, findings, **more).claims
    return claim


def rules(claim: ClaimVerdict, rule: str) -> list[RuleOutcome]:
    return [r for r in claim.rules if r.name == rule]


def decided(claim: ClaimVerdict) -> str:
    return claim.rules[claim.decided_by].name
