"""Runs a planted agent through the same calls as the command, without report and packet."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from vestige import verifying, workflow
from vestige.agents.protocol import Channel
from vestige.audits.findings import Finding
from vestige.audits.verification.fixtures import synthetic_users
from vestige.audits.verification.results import ChannelCell, ClaimVerdict, RuleOutcome, VerificationResult
from vestige.audits.verification.settings import CLAIMS, Condition, TargetKind, VerificationSettings
from vestige.datasets.instance import Dataset
from vestige.runs.folder import RunFolder
from vestige.runs.store import read_lines
from vestige.runs.waiting import Waited
from vestige.verify_options import VerifyOptions

HELPERS = Path(__file__).resolve().parents[1] / "helpers"
SEEDS = range(10)
SOME_SEEDS = [s if s < 2 else pytest.param(s, marks=pytest.mark.slow) for s in SEEDS]

SMALL: dict[str, Any] = {
    "pairs": 5,
    "targets": ("nonce",),
    "conditions": ("never_exposed", "exposed_unchanged", "exposed_removed"),
    "recall_probes": 1,
    "semantic_probes": 0,
    "structured_probes": False,
    "leakage_bound": 0.5,
    "sensitivity": 0.45,
    "utility_margin": 0.4,
    "pending_limit": 0.5,
    "reintroduction": False,
}
"""A plan whose criteria five pairs can meet: what a defect does to the verdict shows at any n."""

ALL: dict[str, Any] = {"conditions": VerificationSettings().conditions}
BOTH: dict[str, Any] = {"claims": ("non_use", "erasure")}

ACTING: dict[str, Any] = {
    **SMALL,
    "pairs": 16,
    "targets": ("nonce", "preference"),
    "leakage_bound": 0.25,
    "utility_margin": 0.2,
    "margin": 0.2,
}
"""The same with decisions, for which sixteen pairs are the fewest that are balanced."""

REFERENCE: dict[str, Any] = {**SMALL, "pairs": 20, "utility_margin": 0.2}
"""For the reference agent, which does not answer every other fact: fewer pairs could not tell that none is lost."""

FEWER: dict[str, Any] = {
    **ACTING,
    "pairs": 8,
    "leakage_bound": 0.35,
    "utility_margin": 0.3,
    "margin": 0.1,
    "horizon": 0,
}
"""Decisions of eight pairs: too few to show that nothing is left, enough to see what is."""


@cache
def users() -> Dataset:
    """Made-up users for all plans: each seed draws other pairs, targets and wordings."""
    return synthetic_users(64, 0)


def agent(name: str) -> str:
    """As `--agent` takes it."""
    for file in (
        "planted.py",
        "planted_stores.py",
        "planted_unfit.py",
        "planted_review.py",
        "planted_several.py",
        "planted_models.py",
    ):
        if f"class {name}(" in (text := (HELPERS / file).read_text()) or f"class {name}:" in text:
            return f"{HELPERS / file}:{name}"
    raise LookupError(name)


@dataclass(frozen=True)
class Verified:
    folder: RunFolder
    findings: list[Finding]
    result: VerificationResult

    @property
    def verdict(self) -> str:
        return self.result.verdict

    def claim(self, name: str = "non_use") -> ClaimVerdict:
        return next(c for c in self.result.claims if c.claim == name)

    def decided(self, name: str = "non_use") -> RuleOutcome:
        claim = self.claim(name)
        return claim.rules[claim.decided_by]

    def rule(self, name: str) -> list[RuleOutcome]:
        return [r for r in self.claim().rules if r.name == name]

    def phases(self) -> set[str]:
        """When any target was seen in a channel of the claim, after the removal."""
        channels = CLAIMS["non_use"].channels
        cells = [c for c in self.result.cells if c.condition == "exposed_removed" and c.channel in channels]
        return {phase for c in cells for phase in c.phases} - {"before"}

    def cell(
        self, channel: Channel, condition: Condition = "exposed_removed", target: TargetKind = "nonce"
    ) -> ChannelCell:
        return next(
            c for c in self.result.cells if (c.channel, c.condition, c.target) == (channel, condition, target)
        )

    def leaking(self, condition: Condition = "exposed_removed") -> set[str]:
        """Channels that show any target after the boundary."""
        return {c.channel for c in self.result.cells if c.condition == condition and c.episodes.events}

    def waited(self) -> list[Waited]:
        """How every removal of a target was waited for."""
        arms = [f"{pair}/exposed_removed" for pair in self.folder.plan.fixtures]
        lines = [x for x in read_lines(self.folder.path) if x.kind == "waited" and x.episode in arms]
        return [Waited.model_validate(line.body) for line in lines]


def verify(name: str, out: Path, seed: int = 0, plan: dict[str, Any] = SMALL, **more: Any) -> Verified:
    """Plan, run, score and conclude; `name` is a planted agent's class, or `reference`."""
    given: dict[str, Any] = {"embedder": "hashing", "quiet": True, "concurrency": 1, **plan, **more}
    named = name if name == "reference" else agent(name)
    options = VerifyOptions(agent=named, seed=seed, out=out, **given)
    planned = verifying.make_plan(options, users())
    folder, _ = workflow.run(planned, options)
    findings = workflow.score(folder)
    result = workflow.conclude(folder, findings)
    assert isinstance(result, VerificationResult)
    return Verified(folder, findings, result)
