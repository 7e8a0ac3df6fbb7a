"""Gathers the exchanges behind a result's numbers from a stored run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from vestige.audits.findings import Finding, fixtures_of
from vestige.records import JsonScalar, RetrievedUnit
from vestige.report.evidence import LeakExchange
from vestige.runs.folder import RunFolder
from vestige.runs.plan import Plan
from vestige.runs.store import read_attempts, read_counted

__all__ = ["gather"]

Kind = Literal["leak", "normalised", "partial", "recall"]


def _kind(finding: Finding) -> Kind | None:
    """What an exchange shows; None: nothing a report needs to print."""
    if finding.kind == "recall":
        return "recall"
    if finding.values.get("verbatim"):
        return "leak"
    if finding.values.get("normalised"):
        return "normalised"
    if float(finding.values.get("partial") or 0) > 0:
        return "partial"
    return None


def gather(folder: RunFolder, findings: Iterable[Finding]) -> list[LeakExchange]:
    """Every exchange in which the canary or a part of it came back, and every answer that PR scores."""
    plan = folder.plan
    wanted: dict[tuple[str, int], tuple[Finding, Kind]] = {}
    for found in findings:
        kind = _kind(found)
        if kind is not None:
            wanted[found.episode, found.step] = (found, kind)
    fixtures = fixtures_of(plan)
    out: list[tuple[tuple[str, int], LeakExchange]] = []
    for line in read_counted(folder.path, read_attempts(folder.path), frozenset({"exchange"})):
        key = (line.episode, line.step)
        if key not in wanted:
            continue
        finding, kind = wanted[key]
        fixture = fixtures[finding.instance]
        reply: dict[str, Any] = line.body["reply"]
        out.append(
            (
                key,
                LeakExchange(
                    audit="residue" if plan.audit == "residue" else "frontier",
                    instance=finding.instance,
                    S=int(finding.labels["S"] or 0),
                    k=int(finding.labels["k"] or 0),
                    mode=_mode(finding.labels),
                    probe_kind="recall" if kind == "recall" else str(finding.labels["probe_kind"]),
                    prompt=plan.probes[line.probe or ""].text,
                    reply=reply["text"],
                    retrieved=tuple(RetrievedUnit.model_validate(u) for u in reply["retrieved"] or ()),
                    canary=fixture.canary,
                    kind=kind,
                    levers=", ".join(_levers(plan, finding.labels)),
                    expected=fixture.expected if kind == "recall" else None,
                ),
            )
        )
    return [exchange for _, exchange in sorted(out, key=lambda pair: pair[0])]


def _mode(labels: dict[str, JsonScalar]) -> str | None:
    mode = labels.get("mode")
    return None if mode is None else str(mode)


def _levers(plan: Plan, labels: dict[str, JsonScalar]) -> Iterator[str]:
    """The levers that this run sweeps, with their values."""
    study: dict[str, Any] = plan.settings["study"]
    for name in ("granularity", "embedder", "horizon", "tau"):
        if len(study[name]) > 1:
            yield f"{name} {labels.get(name)}"
    residue: dict[str, Any] = plan.settings.get("residue", {})
    if labels.get("supersede") and len(residue.get("supersede", ())) > 1:
        yield f"supersede {labels['supersede']}"
