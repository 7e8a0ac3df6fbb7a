"""Puts a membership audit's interviewer together from the parts that its plan names."""

from __future__ import annotations

from collections.abc import Mapping

from vestige.attacks.cloze import RuleGenerator
from vestige.attacks.generation import ModelGenerator
from vestige.attacks.interviewer import AttackInterviewer
from vestige.attacks.judges import ModelMemoryScorer, ModelResponseScorer
from vestige.attacks.paraphrase import ModelParaphraser, RuleParaphraser
from vestige.attacks.scorers import RuleMemoryScorer, RuleResponseScorer, Vectors
from vestige.audits.membership.scoring import settings_of
from vestige.models.base import ChatModel, Embedder
from vestige.runs.plan import Plan

__all__ = ["PARTS", "interviewer_of", "part_names"]

PARTS = ("generator", "responses", "memory", "paraphraser")
"""Names of the auxiliary parts; without a model each works by rules."""


def interviewer_of(plan: Plan, models: Mapping[str, ChatModel], embedder: Embedder) -> AttackInterviewer:
    """The interviewer of a plan.

    Args:
        plan: Its `models.auxiliary` names the model of each part that has one.
        models: Open models by name.
        embedder: Measures similarity, where rules judge.
    """
    settings = settings_of(plan)
    named = {part: models[name] for part, name in plan.models.auxiliary.items()}
    vectors = Vectors(embedder)
    generator = ModelGenerator(named["generator"]) if "generator" in named else RuleGenerator()
    responses = (
        ModelResponseScorer(named["responses"]) if "responses" in named else RuleResponseScorer(vectors)
    )
    memory = ModelMemoryScorer(named["memory"]) if "memory" in named else RuleMemoryScorer(vectors)
    paraphraser = ModelParaphraser(named["paraphraser"]) if "paraphraser" in named else RuleParaphraser()
    return AttackInterviewer(
        settings.sets(),
        count=settings.questions,
        follow_up=settings.follow_up,
        generator=generator,
        responses=responses,
        memory=memory,
        paraphraser=paraphraser,
        reworded=settings.rule == "equivalence",
    )


def part_names(auxiliary: Mapping[str, str], embedder: str) -> dict[str, str]:
    """Every part as plans and reports name it, with the versions of what it says."""
    from vestige.attacks.generation import prompts_version
    from vestige.attacks.question import texts_version

    rules = {
        "generator": f"rules, texts {texts_version()}",
        "responses": f"rules, {embedder}",
        "memory": f"rules, {embedder}",
        "paraphraser": "rules",
    }
    return {
        part: f"{auxiliary[part]}, prompts {prompts_version()}" if part in auxiliary else rules[part]
        for part in PARTS
    }
