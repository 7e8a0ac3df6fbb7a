"""JUnit XML of a verdict: nothing but limited evidence is green, and every CI can read it."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
import verification_samples as samples
from hypothesis import given, settings
from hypothesis import strategies as st

from vestige.audits.verification.results import VerificationResult
from vestige.report.verification.junit import render
from vestige.report.verification.masking import Masker, Planted

NO_MASK = Masker(Planted())

# The grammar of junit-10.xsd, which Jenkins' xUnit plugin publishes: children, required and further attributes.
GRAMMAR: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": ({"testsuite"}, set(), {"name", "time", "tests", "failures", "errors"}),
    "testsuite": (
        {"testsuite", "properties", "testcase", "system-out", "system-err"},
        {"name", "tests", "failures", "errors"},
        {"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"},
    ),
    "properties": ({"property"}, set(), set()),
    "property": (set(), {"name", "value"}, set()),
    "testcase": (
        {"skipped", "error", "failure", "system-out", "system-err"},
        {"name"},
        {"time", "classname", "group"},
    ),
    "failure": (set(), set(), {"type", "message"}),
    "error": (set(), set(), {"type", "message"}),
    "skipped": (set(), set(), {"type", "message"}),
}


def checked(text: str) -> ElementTree.Element:
    root = ElementTree.fromstring(text)
    assert root.tag == "testsuites"
    for element in root.iter():
        children, required, further = GRAMMAR[element.tag]
        assert {child.tag for child in element} <= children, element.tag
        assert required <= set(element.attrib) <= required | further, (element.tag, element.attrib)
    return root


def properties(suite: ElementTree.Element) -> dict[str, str]:
    return {p.attrib["name"]: p.attrib["value"] for p in suite.iter("property")}


@pytest.mark.parametrize("verdict", list(samples.STORIES))
def test_a_suite_a_claim_and_a_case_a_rule(verdict: str) -> None:
    result = samples.result(samples.STORIES[verdict])
    root = checked(render(result, NO_MASK))
    suites = root.findall("testsuite")
    assert len(suites) == len(result.claims)
    for suite, claim in zip(suites, result.claims, strict=True):
        cases = suite.findall("testcase")
        assert len(cases) == len(claim.rules) == int(suite.attrib["tests"])
        for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.attrib[attribute]) == len(suite.findall(f"testcase/{tag}"))
        for case, rule in zip(cases, claim.rules, strict=True):
            tags = [child.tag for child in case]
            expected = {"passes": [], "fails": ["failure"], "unassessable": ["error"]}
            assert tags == expected.get(rule.outcome, ["skipped"]), rule


def test_only_limited_evidence_is_green() -> None:
    red = {
        verdict: checked(render(samples.result(story), NO_MASK)).attrib
        for verdict, story in samples.STORIES.items()
    }
    assert red["limited_evidence"]["failures"] == red["limited_evidence"]["errors"] == "0"
    assert red["fails"]["failures"] == "1"
    assert int(red["unassessable"]["errors"]) > 0 and red["unassessable"]["failures"] == "0"


@pytest.mark.parametrize("verdict", ["fails", "unassessable"])
def test_a_verdict_that_no_rule_shows_is_red_all_the_same(verdict: str) -> None:
    good = samples.result(samples.LIMITED)
    claims = tuple(claim.model_copy(update={"verdict": verdict}) for claim in good.claims)
    root = checked(render(good.model_copy(update={"claims": claims}), NO_MASK))
    assert int(root.attrib["failures"]) + int(root.attrib["errors"]) == len(claims)


def test_properties_hold_n_bounds_and_plan() -> None:
    suite = checked(render(samples.result(samples.LIMITED), NO_MASK)).find("testsuite")
    assert suite is not None
    found = properties(suite)
    assert found["pairs.distinct"] == "300" and found["plan.sha256"] == "7ae3" * 16
    assert found["nonce.leakage.upper"] == "0.00993608"  # 1 - 0.05^(1/300)
    assert found["preference.residual.margin"] == "0.1"
    assert found["verdict"] == "limited_evidence"


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80))
def test_any_text_makes_readable_xml(text: str) -> None:
    result: VerificationResult = samples.result(samples.SIX)
    claim = result.claims[0]
    rule = claim.rules[claim.decided_by].model_copy(update={"reason": text, "mend": text})
    claims = (claim.model_copy(update={"rules": (rule,), "decided_by": 0, "statement": text}),)
    checked(render(result.model_copy(update={"claims": claims, "agent": text}), NO_MASK))
