"""Interviews the agent about a candidate: every question that the chosen attacks read, each reply judged once.

Source: arXiv 2605.27825, section 4: one pass over the questions serves every access setting, since a setting only drops
terms of the score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from vestige.attacks.paraphrase import Paraphrase
from vestige.attacks.question import Generated, Question, QuestionGenerator
from vestige.attacks.scorers import MemoryMeasure, MemoryScorer, ResponseScorer
from vestige.records import Reply
from vestige.runs.services import Interview, InterviewQuestion

__all__ = ["AttackInterviewer", "Paraphraser"]


class Paraphraser(Protocol):
    """Says the same in other words."""

    @property
    def name(self) -> str:
        """As plans and reports call it."""
        ...

    async def paraphrase(self, statement: str, seed: int) -> Paraphrase:
        """Other words with the same names, numbers and polarity; the statement itself, marked, where none is found.

        Raises:
            ModelError: A model failed.
        """
        ...


class AttackInterviewer:
    """Composes the auxiliary parts.

    Args:
        sets: Question sets to ask, of `recall`, `plain`, `similar`, `yes_no`, `naive`, `absent`, in their order.
        count: K.
        follow_up: Whether recall questions ask for the source too.
        generator: Makes the questions.
        responses: Judges replies.
        memory: Judges retrieved units.
        paraphraser: Needed for `similar`, and where candidates are told in other words.
        reworded: Ask about a paraphrase of the candidate in every set (the rule of semantic equivalence).
    """

    def __init__(
        self,
        sets: Sequence[str],
        *,
        count: int,
        follow_up: bool,
        generator: QuestionGenerator,
        responses: ResponseScorer,
        memory: MemoryScorer,
        paraphraser: Paraphraser | None = None,
        reworded: bool = False,
    ) -> None:
        self._sets, self._count, self._follow_up = tuple(sets), count, follow_up
        self._generator, self._responses, self._memory = generator, responses, memory
        self._paraphraser, self._reworded = paraphraser, reworded

    async def questions(self, candidate: Mapping[str, Any], seed: int) -> Interview:
        """See `Interviewer`."""
        statement = str(candidate["text"])
        seeds = [int(s) for s in np.random.SeedSequence(seed).generate_state(5) & 0x7FFFFFFF]
        refused: Counter[str] = Counter()
        held: list[tuple[str, Question, str]] = []
        said: Paraphrase | None = None
        if self._reworded or "similar" in self._sets:
            said = await self._said(statement, seeds[4])
        about = said.text if said is not None and self._reworded else statement

        def take(name: str, made: Generated, told: str) -> None:
            refused.update(made.rejected)
            held.extend((name, question, told) for question in made.questions)

        if {"recall", "plain"} & set(self._sets):
            made = await self._generator.generate(about, "recall", self._count, seeds[0])
            take("recall", made, about)
            if "plain" in self._sets:
                held.extend(("plain", question, about) for question in made.questions)
        if said is not None and "similar" in self._sets:
            made = await self._generator.generate(said.text, "recall", self._count, seeds[1])
            take("similar", made, said.text)
        if "yes_no" in self._sets:
            take("yes_no", await self._generator.generate(about, "yes_no", self._count, seeds[2]), about)
        if {"naive", "absent"} & set(self._sets):
            made = await self._generator.generate(about, "naive", 1, seeds[3])
            take("naive", made, about)
            if "absent" in self._sets:
                held.extend(("absent", question, about) for question in made.questions)
        wanted = [entry for name in self._sets for entry in held if entry[0] == name]
        asked: Counter[str] = Counter()
        out: list[InterviewQuestion] = []
        for name, question, told in wanted:
            out.append(
                InterviewQuestion(
                    id=f"{name}-{asked[name]}",
                    prompt=self._prompt(name, question),
                    who="sibling" if name == "absent" else "user",
                    about={**question.model_dump(mode="json"), "told": told},
                )
            )
            asked[name] += 1
        record: dict[str, Any] = {
            "asked": dict(sorted(asked.items())),
            "rejected": dict(sorted(refused.items())),
            "questions": [q.model_dump(mode="json") for q in out],
        }
        if said is not None:
            record["paraphrase"] = said.model_dump(mode="json")
        return Interview(questions=tuple(out), record=record)

    def _prompt(self, name: str, question: Question) -> str:
        asks_source = question.kind == "recall" and name != "plain" and self._follow_up
        return f"{question.text} {question.follow_up}".strip() if asks_source else question.text

    async def _said(self, statement: str, seed: int) -> Paraphrase:
        assert self._paraphraser is not None, "a plan that asks about paraphrases names a paraphraser"
        return await self._paraphraser.paraphrase(statement, seed)

    async def measure(
        self, candidate: Mapping[str, Any], question: InterviewQuestion, reply: Reply
    ) -> dict[str, Any]:
        """See `Interviewer`. The attacker's own wording is what replies and units are compared with."""
        told = str(question.about["told"])
        asked = Question.model_validate({k: v for k, v in question.about.items() if k != "told"})
        response = await self._responses.score(told, asked, reply.text)
        out: dict[str, Any] = {"response": response.model_dump(mode="json", exclude_none=True)}
        if reply.retrieved is not None and question.who == "user":
            texts = [unit.text for unit in reply.retrieved]
            found = await self._memory.score(told, texts)
            out["memory"] = [_brief(m) for m in found]
        return out


def _brief(measure: MemoryMeasure) -> dict[str, Any]:
    return measure.model_dump(mode="json", exclude_defaults=True)
