"""Small audits for tests: hand-made people, the extractive reader, the hashing embedder, no model file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vestige import studying, workflow
from vestige.audits.findings import Finding
from vestige.audits.results import FrontierResult, ResidueResult
from vestige.datasets.instance import Dataset, Instance
from vestige.options import AuditOptions, options_from
from vestige.records import Session, Turn
from vestige.runs.folder import RunFolder
from vestige.runs.plan import Plan
from vestige.services import Models

_PEOPLE = (
    ("Rex", "dog", "Oslo", "chess on Mondays", "a blue bicycle"),
    ("Mia", "cat", "Turin", "pottery on Fridays", "an old cello"),
    ("Otto", "parrot", "Ghent", "rowing on Sundays", "a red kettle"),
    ("Luna", "rabbit", "Porto", "judo on Tuesdays", "a silver watch"),
    ("Nemo", "goldfish", "Basel", "choir on Thursdays", "a green tent"),
    ("Pip", "hamster", "Malmo", "fencing on Saturdays", "a brass lamp"),
)


def person(number: int, *, cluster: str = "") -> Instance:
    """A user with two sessions of two user turns each; the pet's name is the answer, in the first turn."""
    pet, kind, town, hobby, thing = _PEOPLE[number % len(_PEOPLE)]
    told = (
        (f"I have a {kind} called {pet}.", f"I moved to {town} in the spring."),
        (f"I go to {hobby}.", f"Last week I bought {thing} at the market."),
    )
    sessions = tuple(
        Session(
            id=f"p{number}-s{s}",
            turns=tuple(
                t
                for said in pair
                for t in (Turn(role="user", content=said), Turn(role="assistant", content="I see."))
            ),
            date=f"2024/0{s + 1}/10",
        )
        for s, pair in enumerate(told)
    )
    return Instance(
        id=f"person-{number}",
        sessions=sessions,
        question=f"What is the name of my {kind}?",
        expected=pet,
        evidence=((0, 0),),
        cluster=cluster,
    )


def people(n: int = 4, *, clusters: int | None = None) -> Dataset:
    """`n` people; with `clusters`, they share that many conversations' labels in turn."""
    made = tuple(person(i, cluster="" if clusters is None else f"c{i % clusters}") for i in range(n))
    return dataset(*made)


def dataset(*instances: Instance) -> Dataset:
    return Dataset(name="people", source="by hand", sha256="0" * 64, license="none", instances=instances)


def options(**given: Any) -> AuditOptions:
    """Options of a run without any model file."""
    base: dict[str, Any] = {
        "data": "people",
        "model": "extractive",
        "embedder": "hashing",
        "levels": "0,1",
        "k": "1,3",
        "quiet": True,
    }
    return options_from({**base, **given})


@dataclass(frozen=True)
class Ran:
    """A run, from its plan to its result."""

    folder: RunFolder
    findings: list[Finding]
    result: FrontierResult | ResidueResult

    @property
    def path(self) -> Path:
        return self.folder.path

    @property
    def plan(self) -> Plan:
        return self.folder.plan

    @property
    def bytes(self) -> bytes:
        return (self.path / "result.json").read_bytes()

    @property
    def frontier(self) -> FrontierResult:
        assert isinstance(self.result, FrontierResult)
        return self.result

    @property
    def residue(self) -> ResidueResult:
        assert isinstance(self.result, ResidueResult)
        return self.result


def run(
    audit: str, out: Path, data: Dataset | None = None, *, models: Models | None = None, **given: Any
) -> Ran:
    """Plan, run, score and conclude; `given` are options."""
    data = data or people()
    checked = options(**{"data": data.name, **given, "out": out})
    planned = studying.make_plan(audit, checked, data)
    folder, _ = workflow.run(planned, checked, models=models)
    return conclude(folder)


def conclude(folder: RunFolder | Path) -> Ran:
    """Score and conclude what is stored."""
    opened = folder if isinstance(folder, RunFolder) else RunFolder.open(folder)
    findings = workflow.score(opened)
    return Ran(opened, findings, workflow.conclude(opened, findings))
