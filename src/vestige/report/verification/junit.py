"""The verdict as JUnit XML: a test suite a claim, a test case a rule, so that CI shows which rule broke.

A rule that fails is a `failure`; one that leaves the claim unassessable is an `error`, never a skipped test, which
would look green. Rules that were not reached or do not apply are `skipped`. The format is the one that Jenkins' xUnit
plugin publishes as a schema (junit-10.xsd); durations are left out, as the result knows none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from vestige.audits.verification.results import ClaimVerdict, RuleOutcome, VerificationResult
from vestige.report.verification.masking import Masker
from vestige.report.verification.words import OUTCOMES, RULES

__all__ = ["render"]

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ELEMENTS = {
    "fails": "failure",
    "unassessable": "error",
    "not_reached": "skipped",
    "not_applicable": "skipped",
}
_REDDEST = {"fails": "failure", "unassessable": "error", "limited_evidence": ""}


def render(result: VerificationResult, masked: Masker) -> str:
    """The document."""
    suites = [_suite(result, claim, masked) for claim in result.claims]
    totals = {name: sum(counts[name] for counts, _ in suites) for name in ("tests", "failures", "errors")}
    attributes = "".join(f' {name}="{value}"' for name, value in totals.items())
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuites name="vestige verify"{attributes}>']
    for _, body in suites:
        lines += body
    return "\n".join((*lines, "</testsuites>")) + "\n"


def _suite(
    result: VerificationResult, claim: ClaimVerdict, masked: Masker
) -> tuple[dict[str, int], list[str]]:
    name = f"vestige.verification.{claim.claim}"
    kinds = _elements(claim)
    counts = {
        "tests": len(kinds),
        "failures": kinds.count("failure"),
        "errors": kinds.count("error"),
        "skipped": kinds.count("skipped"),
    }
    attributes = "".join(f' {key}="{value}"' for key, value in counts.items())
    lines = [f"<testsuite name={_value(name, masked)}{attributes}>", "<properties>"]
    lines += [
        f"<property name={_value(key, masked)} value={_value(value, masked)}/>"
        for key, value in _properties(result, claim)
    ]
    lines.append("</properties>")
    for rule, kind in zip(claim.rules, kinds, strict=True):
        lines += _case(name, rule, kind, masked)
    return counts, [*lines, "</testsuite>"]


def _elements(claim: ClaimVerdict) -> list[str]:
    """What each rule becomes; the deciding one always shows the verdict, so that nothing but evidence is green."""
    kinds = [_ELEMENTS.get(rule.outcome, "") for rule in claim.rules]
    wanted = _REDDEST[claim.verdict]
    if wanted and wanted not in kinds:
        kinds[claim.decided_by] = wanted
    return kinds


def _case(suite: str, rule: RuleOutcome, kind: str, masked: Masker) -> Iterator[str]:
    about = rule.target or rule.who
    title = f"{rule.number} {rule.name}" + (f" [{about}]" if about else "")
    head = f"<testcase classname={_value(suite, masked)} name={_value(title, masked)}"
    if not kind:
        yield f"{head}/>"
        return
    text = "\n".join(
        part
        for part in (RULES.get(rule.name, ""), rule.reason, f"To mend it: {rule.mend}" if rule.mend else "")
        if part
    )
    message = _value(rule.reason or OUTCOMES[rule.outcome], masked)
    yield f"{head}>"
    if kind == "skipped":
        yield f"<skipped message={message}/>"
    else:
        yield f"<{kind} type={_value(rule.outcome, masked)} message={message}>{_text(text, masked)}</{kind}>"
    yield "</testcase>"


def _properties(result: VerificationResult, claim: ClaimVerdict) -> Iterator[tuple[str, str]]:
    yield "verdict", claim.verdict
    yield "statement", claim.statement
    yield "agent", result.agent
    yield "model", result.model
    yield "pairs.distinct", str(result.distinct_pairs)
    yield "pairs.planned", str(result.n_instances)
    yield "plan.sha256", result.plan_sha256
    yield "vestige.version", result.vestige_version
    yield "alpha", f"{result.settings.alpha:g}"
    yield "leakage.bound", f"{result.settings.leakage_bound:g}"
    yield "channels.covered", ",".join(claim.covered)
    for target in claim.targets:
        bound = target.union.get("exposed_removed")
        if bound is not None:
            yield f"{target.target}.leakage.events", str(bound.events)
            yield f"{target.target}.leakage.n", str(bound.n)
            yield f"{target.target}.leakage.upper", f"{bound.upper:.6g}"
        yield f"{target.target}.sensitivity.events", str(target.sensitivity.events)
        yield f"{target.target}.sensitivity.n", str(target.sensitivity.n)
        if target.residual is not None and target.residual.value is not None:
            yield f"{target.target}.residual.value", f"{target.residual.value:.6g}"
            yield f"{target.target}.residual.low", f"{target.residual.interval[0]:.6g}"
            yield f"{target.target}.residual.high", f"{target.residual.interval[1]:.6g}"
            yield f"{target.target}.residual.margin", f"{target.residual.margin:g}"


def _clean(text: str, masked: Masker) -> str:
    return _NOT_XML.sub("", masked.ours(text))


def _value(text: str, masked: Masker) -> str:
    return quoteattr(_clean(text, masked), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _text(text: str, masked: Masker) -> str:
    return escape(_clean(text, masked))
