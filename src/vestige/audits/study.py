"""What the frontier and the residue audit share: instances drawn from data, canaries planted in them."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from vestige import canaries
from vestige.canaries import Canary
from vestige.datasets.instance import Dataset, Instance
from vestige.datasets.loading import DEFAULT_INSTANCES
from vestige.errors import ConfigError
from vestige.probes.extraction import KINDS, draw_texts, texts_version
from vestige.records import Record, Session
from vestige.runs.folder import blob_of
from vestige.runs.plan import DataRef, Probe, generator
from vestige.runs.steps import Converse, EndSession, Episode, Step
from vestige.text import content_words

__all__ = ["Fixture", "Lever", "Study", "StudySettings", "build_study", "data_ref"]


class StudySettings(Record):
    """What the frontier and residue commands vary and how their instances are made."""

    instances: int | None = None
    """None: 50, or all there are."""
    levels: tuple[Annotated[int, Field(ge=0)], ...] = (0, 1, 2)
    k: tuple[Annotated[int, Field(ge=1)], ...] = (1, 3, 6, 10, 25)
    probes: tuple[str, ...] = KINDS
    all_paraphrases: bool = False
    """Ask every paraphrase of a probe kind; an instance leaks under a kind if any of them leaks."""
    planted: str = "verbatim"
    tau: tuple[float | None, ...] = (None,)
    granularity: tuple[str, ...] = ("turn",)
    embedder: tuple[str, ...] = ("minilm",)
    horizon: tuple[Annotated[int, Field(ge=0)], ...] = (0,)
    include_unanswerable: bool = False
    """Keep questions whose evidence stands in no turn of the user."""


class Lever(Record):
    """One combination of the knobs that are set before a state is built."""

    granularity: str
    embedder: str
    horizon: int

    def suffix(self) -> str:
        """For episode ids."""
        return f"{self.granularity}-{self.embedder}-h{self.horizon}"


class Fixture(Record):
    """What the evaluator knows of one instance and the agent must not be told."""

    source_id: str
    """The record's id in the data."""
    cluster: str
    canary: str
    form: str
    needles: tuple[str, ...]
    """Texts that show a stored unit to hold the canary as it was planted."""
    planted_at: tuple[tuple[int, int], ...]
    planted_by: str
    """The rule that chose the turn."""
    countable: tuple[bool, bool, bool]
    """Which of the canary's parts the conversations lack without it."""
    question: str
    expected: str
    abstention: bool
    question_type: str

    @property
    def secret(self) -> Canary:
        """The planted canary."""
        return Canary(self.canary)


class Study:
    """Fixtures, probes and sessions, from which an audit writes its episodes."""

    def __init__(self, settings: StudySettings, seed: int) -> None:
        self.settings, self.seed = settings, seed
        self.fixtures: dict[str, Fixture] = {}
        self.probes: dict[str, Probe] = {}
        self.blobs: dict[str, bytes] = {}
        self.notes: list[str] = []
        self._sessions: dict[tuple[str, int], tuple[str, ...]] = {}

    @property
    def levers(self) -> tuple[Lever, ...]:
        """Every combination of the knobs set before a state is built."""
        s = self.settings
        return tuple(
            Lever(granularity=g, embedder=e, horizon=h)
            for g in s.granularity
            for e in s.embedder
            for h in s.horizon
        )

    def build_steps(self, instance: str, horizon: int) -> tuple[Step, ...]:
        """The write path of an instance: each session, and its end."""
        steps: list[Step] = []
        for digest in self._sessions[instance, horizon]:
            steps += [Converse(session=digest), EndSession()]
        return tuple(steps)

    def episode(self, instance: str, level: int, lever: Lever, steps: Sequence[Step]) -> Episode:
        """One instance's script at one S and lever; its id names the levers where there are several."""
        name = f"{instance}/S{level}"
        return Episode(
            id=name if len(self.levers) == 1 else f"{name}/{lever.suffix()}",
            instance=instance,
            knobs={"level": level, "granularity": lever.granularity, "embedder": lever.embedder},
            labels={"S": level, **lever.model_dump()},
            steps=tuple(steps),
        )

    def extraction_ids(self, instance: str) -> list[str]:
        """Probe ids of an instance's extraction probes."""
        return [p for p, probe in self.probes.items() if p.startswith(f"{instance}/") and probe.kind in KINDS]

    def add(self, instance: str, fixture: Fixture, sessions: Mapping[int, tuple[Session, ...]]) -> None:
        """Take in one planted instance, its sessions by horizon."""
        self.fixtures[instance] = fixture
        for horizon, items in sessions.items():
            digests: list[str] = []
            for session in items:
                digest, data = blob_of(session.model_dump(mode="json"))
                self.blobs[digest] = data
                digests.append(digest)
            self._sessions[instance, horizon] = tuple(digests)
        for kind in self.settings.probes:
            rng = generator(self.seed, instance, "probe", kind)
            for number, text in enumerate(draw_texts(kind, rng, every=self.settings.all_paraphrases)):
                probe_id = f"{instance}/{kind}" + (f"#{number}" if self.settings.all_paraphrases else "")
                self.probes[probe_id] = Probe(id=probe_id, kind=kind, text=text)


def data_ref(dataset: Dataset) -> DataRef:
    """The data as a plan names it."""
    return DataRef(**dataset.model_dump(include={"name", "source", "sha256", "license", "notes"}))


def _eligible(
    dataset: Dataset, settings: StudySettings, notes: list[str]
) -> list[tuple[Instance, list[Any], str]]:
    kept: list[tuple[Instance, list[Any], str]] = []
    unanswerable = homeless = 0
    for instance in dataset.instances:
        if not instance.answerable and not settings.include_unanswerable:
            unanswerable += 1
            continue
        turns, rule = canaries.candidate_turns(
            instance.sessions, instance.evidence, instance.expected, instance.question
        )
        if not turns:
            homeless += 1
            continue
        kept.append((instance, turns, rule))
    if unanswerable:
        notes.append(
            f"{unanswerable} of {len(dataset.instances)} questions were left out: their evidence stands in no turn of "
            "the user, and only user turns are stored (--include-unanswerable keeps them)."
        )
    if homeless:
        notes.append(
            f"{homeless} of {len(dataset.instances)} records were left out: no user turn can take a canary."
        )
    return kept


def _chosen(items: list[Any], settings: StudySettings, seed: int, dataset: Dataset) -> list[Any]:
    what = f"--data {dataset.name}"
    if not items:
        raise ConfigError(f"{what}: no usable instance; every record was left out")
    wanted = settings.instances
    if wanted is not None and wanted > len(items):
        raise ConfigError(
            f"--instances {wanted}: {what} has {len(items)} usable instances; ask for at most that many"
        )
    # As many made-up instances as were asked for are made; of anything else the default takes a sample.
    n = wanted or (len(items) if dataset.name == "synthetic" else min(DEFAULT_INSTANCES, len(items)))
    picked = generator(seed, "instances").choice(len(items), size=n, replace=False)
    return [items[i] for i in sorted(int(p) for p in picked)]


def _texts(instance: Instance) -> Iterable[str]:
    yield instance.question
    yield instance.expected
    for session in instance.sessions:
        for turn in session.turns:
            yield turn.content


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text)[:40].strip("-") or "record"


def _distractors(
    instance: Instance, others: list[Instance], count: int, rng: np.random.Generator
) -> tuple[Session, ...]:
    """`count` sessions of other instances, none of which holds the answer."""
    if not count:
        return ()
    own = {s.id for s in instance.sessions}
    answer = set(content_words(instance.expected))
    pool = [
        s
        for other in others
        for s in other.sessions
        if s.id not in own
        and not (answer and answer <= set(content_words(" ".join(t.content for t in s.turns))))
    ]
    if len(pool) < count:
        raise ConfigError(
            f"--horizon {count}: only {len(pool)} sessions of other instances can stand between"
        )
    picked = rng.choice(len(pool), size=count, replace=False)
    return tuple(
        pool[int(p)].model_copy(update={"id": f"later-{i}-{pool[int(p)].id}", "date": None})
        for i, p in enumerate(picked)
    )


def _draw_canaries(
    chosen: list[tuple[Instance, list[Any], str]], names: list[str], dataset: Dataset, seed: int
) -> dict[str, Canary]:
    """One canary an instance, none of which stands anywhere in the data, and no two alike."""
    drawn: dict[str, Canary] = {}
    for name, (instance, _, _) in zip(names, chosen, strict=True):
        rng = generator(seed, name, "canary")
        taken = {c.value for c in drawn.values()}
        canary = canaries.draw(rng, avoid=_texts(instance))
        while canary.value in taken:
            canary = canaries.draw(rng, avoid=_texts(instance))
        drawn[name] = canary
    pattern = re.compile("|".join(r"[\W_]*".join(c.parts) for c in drawn.values()), re.IGNORECASE)
    seen: set[int] = set()
    for instance in dataset.instances:
        if id(instance.sessions) in seen:
            continue
        seen.add(id(instance.sessions))
        for text in _texts(instance):
            if pattern.search(text):
                raise ConfigError(
                    f"--seed {seed}: a drawn canary stands in the data already; choose another seed"
                )
    return drawn


def _needles(canary: Canary, form: str) -> tuple[str, ...]:
    """Texts that show a unit to hold the canary as planted."""
    first, colour, digits = canary.parts
    match form:
        case "split":
            return (f"{first}-{colour}", f"token is {digits}")
        case "base64":
            return (base64.b64encode(canary.value.encode("ascii")).decode("ascii"),)
        case _:
            return (canary.value,)


def build_study(
    dataset: Dataset, settings: StudySettings, seed: int, *, utility: bool, judge: bool = False
) -> Study:
    """Draw instances, plant a canary in each, and write the probes.

    Args:
        dataset: The data.
        settings: What is varied.
        seed: The plan's seed; every draw is spawned from it by name.
        utility: Ask the data's own question too (PR).
        judge: Record a judge model's opinion of the answers.

    Raises:
        ConfigError: The settings cannot be met by the data.
    """
    study = Study(settings, seed)
    chosen = _chosen(_eligible(dataset, settings, study.notes), settings, seed, dataset)
    width = max(3, len(str(len(chosen) - 1)))
    names = [f"{i:0{width}d}-{_slug(item[0].id)}" for i, item in enumerate(chosen)]
    drawn = _draw_canaries(chosen, names, dataset, seed)
    for name, (instance, turns, rule) in zip(names, chosen, strict=True):
        canary = drawn[name]
        rng = generator(seed, name, "place")
        texts = canaries.planted(canary, settings.planted)
        if len(turns) < len(texts):
            raise ConfigError(
                f"--planted {settings.planted}: record {instance.id!r} has {len(turns)} turns that can take a canary, "
                f"{len(texts)} are needed"
            )
        spots = sorted(turns[int(i)] for i in rng.choice(len(turns), size=len(texts), replace=False))
        planted = canaries.plant(instance.sessions, spots, canary, settings.planted)
        others = [i for i in dataset.instances if i.id != instance.id and i.sessions is not instance.sessions]
        between = {
            h: _distractors(instance, others, h, generator(seed, name, "horizon", str(h)))
            for h in settings.horizon
        }
        told = (t.content for many in between.values() for session in many for t in session.turns)
        without = canaries.match(canary, "\n".join((*_texts(instance), *told))).parts
        fixture = Fixture(
            source_id=instance.id,
            cluster=instance.cluster or name,
            canary=canary.value,
            form=settings.planted,
            needles=_needles(canary, settings.planted),
            planted_at=tuple(spots),
            planted_by=rule,
            countable=(not without[0], not without[1], not without[2]),
            question=instance.question,
            expected=instance.expected,
            abstention=instance.abstention,
            question_type=instance.question_type,
        )
        study.add(name, fixture, {h: (*planted, *between[h]) for h in settings.horizon})
        if utility:
            probe_id = f"{name}/utility"
            study.probes[probe_id] = Probe(
                id=probe_id,
                kind="utility",
                text=instance.question,
                expected=instance.expected,
                measures=("cosine", "judge") if judge else ("cosine",),
                now=instance.question_date,
            )
    flagged = sum(f.planted_by == "any" for f in study.fixtures.values())
    if flagged:
        study.notes.append(
            f"In {flagged} instances no turn could be told from evidence: the canary stands in any user turn there."
        )
    study.notes.append(
        f"Probe texts version {texts_version()}; canaries planted in the form {settings.planted!r}."
    )
    return study
