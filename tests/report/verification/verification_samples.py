"""Verifications that never were: what each arm showed is made up, the conclusion is drawn by the real rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from vestige.agents.protocol import AgentDescription
from vestige.audits.findings import Finding
from vestige.audits.results import Exclusion
from vestige.audits.verification.brief import Brief, PairBrief
from vestige.audits.verification.conclusion import conclude
from vestige.audits.verification.pairs import Nonce, Pair, Preference, Retained
from vestige.audits.verification.results import LedgerRow, VerificationResult
from vestige.audits.verification.settings import (
    CONDITIONS,
    EXPOSED,
    ClaimName,
    Condition,
    TargetKind,
    VerificationSettings,
)
from vestige.report.verification import VerificationReportPaths, write_verification
from vestige.report.verification.evidence import Arm, PairExchanges, Row, Said, Seen, WaitedRow

COLOURS = ("AMBER", "AZURE", "CORAL", "CRIMSON", "EMERALD")
FAVOURED, OTHER = "Ventrilo Couriers", "Marrowick Post"
CHANNELS = ("answer", "retrieval", "tool_arguments", "memory_writes", "summary", "model_requests")
UNCHANGED = ("answer", "retrieval", "summary", "model_requests")
STORED = ("storage", "vectors")


def name(index: int) -> str:
    return f"P{index:03d}"


def nonce(index: int, condition: Condition) -> str:
    arm = EXPOSED.index(condition)
    return f"{'KQZT'[arm]}{index % 10}{'XWVJ'[arm]}-{COLOURS[arm]}-{4100 + 7 * index + arm:04d}"


@cache
def fixture(index: int) -> Pair:
    return Pair(
        source_id=f"synthetic-{index:04d}",
        cluster=name(index),
        nonce=Nonce(
            values={c: nonce(index, c) for c in EXPOSED}, decoy=f"D{index % 10}D-TEAL-{1000 + index:04d}"
        ),
        preference=Preference(
            topic="courier service",
            favoured=FAVOURED,
            other=OTHER,
            order=(FAVOURED, OTHER) if index % 2 else (OTHER, FAVOURED),
            statement=f"For parcels I always go with {FAVOURED}.",
            decoy="For tea I like Ombrell Leaves.",
            decoy_value="Ombrell Leaves",
        ),
        retained=Retained(
            question="Where did I park the van?",
            expected="level two",
            sibling_question="What is my sister called?",
            sibling_expected="Ada",
            unknown_question="What is my shoe size?",
        ),
        placed={"nonce": (1, 2), "preference": (2, 0)},
        sources={"nonce": ("s1",), "preference": ("s2",)},
        arms=CONDITIONS,
        fingerprint=f"{index:064x}",
    )


@dataclass(frozen=True)
class Story:
    """What happened."""

    n: int
    summary_leaks: int = 0
    """Pairs whose later summary tells the nonce after the removal."""
    stored_leaks: int = 0
    """Pairs whose storage keeps it until maintenance."""
    uncertain: int = 0
    contaminated: int = 0
    still_prefers: int = 0
    failed: int = 0
    claims: tuple[ClaimName, ...] = ("non_use",)


def brief(story: Story) -> Brief:
    return Brief(
        plan_sha256="7ae3" * 16,
        vestige_version="0.1.0",
        agent="reference",
        agent_configuration={"S": 1, "k": 5, "mode": "raw_only" if story.summary_leaks else "full_purge"},
        model="local/qwen2.5-coder-0.5b",
        embedder="minilm",
        data="synthetic",
        data_sha256="9a0b" * 16,
        analysis_seed=11,
        settings=VerificationSettings(pairs=story.n, claims=story.claims),
        description=AgentDescription(
            name="reference",
            version="0.1.0",
            configuration={"S": 1},
            capabilities=("inspect", "storage", "maintain", "restart"),
            tiers=("raw", "summary"),
            channels=(*CHANNELS, *STORED),
            absent={"reasoning": "the model writes none"},
        ),
        pairs={
            name(i): PairBrief(
                cluster=name(i),
                fingerprint=f"{i:064x}",
                arms=CONDITIONS,
                targets=("nonce", "preference"),
                favoured_first=bool(i % 2),
                complete=i < story.n - story.failed,
            )
            for i in range(story.n)
        },
        exclusions=tuple(
            Exclusion(
                episode=f"{name(i)}/exposed_removed",
                reason=f"AgentError: could not store {nonce(i, 'exposed_removed')}: connection reset",
            )
            for i in range(story.n - story.failed, story.n)
        ),
        failed_attempts=story.failed,
    )


def sighting(pair: int, condition: Condition, channel: str, target: TargetKind, **changes: str) -> Finding:
    phase = changes.pop("phase", "after")
    values = {"channel": channel, "target": target, "form": "verbatim", "state": "confirmed", "foreign": ""}
    grade = "live_row" if channel in STORED else "sent_to_model" if channel == "model_requests" else "served"
    return Finding(
        episode=f"{name(pair)}/{condition}",
        instance=name(pair),
        step=30 + hash_free(channel, target, phase),
        kind=f"sighting:{channel}:{target}",
        labels={"condition": condition, "phase": phase, "complete": True, "who": "user"},
        values={**values, "grade": grade, "count": 1, **changes},
    )


def hash_free(*words: str) -> int:
    """A small number that differs between words, the same in every process."""
    return sum(ord(c) for word in words for c in word) % 60


def findings(story: Story) -> Iterator[Finding]:
    for i in range(story.n - story.failed):
        for condition in CONDITIONS:
            yield from arm_findings(story, i, condition)


def arm_findings(story: Story, i: int, condition: Condition) -> Iterator[Finding]:
    labels = {"condition": condition, "phase": "after", "complete": True, "who": "user"}
    base = {"episode": f"{name(i)}/{condition}", "instance": name(i)}
    looked = {f"after:{c}": 6 for c in (*CHANNELS, *STORED)} | {f"maintained:{c}": 6 for c in STORED}
    exposed = condition in ("exposed_unchanged", "sham_removal")
    looked |= {"after:bytes": 1, "maintained:bytes": 1}
    if exposed:
        looked |= {"maintained:bytes:nonce": 1, "maintained:bytes:preference": 1}
    yield Finding(**base, step=-1, kind="observed", labels=labels, values={**looked, "before:storage": 6})
    if exposed:
        for channel in UNCHANGED:
            if channel != "answer" or i % 9:
                yield sighting(i, condition, channel, "nonce")
            yield sighting(i, condition, channel, "preference")
    if condition != "never_exposed":
        yield sighting(i, condition, "storage", "nonce", phase="before")
    if exposed:
        for phase in ("after", "maintained"):
            yield sighting(i, condition, "storage", "nonce", phase=phase)
            yield sighting(i, condition, "storage", "preference", phase=phase)
            yield sighting(i, condition, "vectors", "nonce", phase=phase)
    if condition == "exposed_removed":
        if i < story.summary_leaks:
            yield sighting(i, condition, "summary", "nonce", phase="delayed")
            yield sighting(i, condition, "retrieval", "nonce", phase="delayed")
        if i < story.stored_leaks:
            yield sighting(i, condition, "storage", "nonce", phase="after", grade="dead_bytes")
        if story.summary_leaks <= i < story.summary_leaks + story.uncertain:
            yield sighting(i, condition, "answer", "preference", state="uncertain", form="semantic")
    if condition == "never_exposed" and i < story.contaminated:
        yield sighting(i, condition, "answer", "nonce", foreign=f"{name(i)}/exposed_removed")
    prefers = exposed and i % 20 != 0
    prefers |= condition == "exposed_removed" and i < story.still_prefers
    by_chance = i % (25 if condition == "never_exposed" else 28) == 3
    yield Finding(
        **base,
        step=20,
        probe=f"{name(i)}/choice-0",
        kind="action",
        labels=labels,
        values={"chosen": "favoured" if prefers or by_chance else "other", "source": "tool_call"},
    )
    for step, who, task, outcome in (
        (21, "user", "retained", "success" if i % 50 else "wrong"),
        (22, "sibling", "retained", "success"),
        (23, "user", "unknown", "justified_abstention" if i % 10 else "wrong"),
    ):
        yield Finding(
            **base,
            step=step,
            kind="utility",
            labels={**labels, "who": who},
            values={"outcome": outcome, "task": task, "who": who},
        )
        if task == "retained":
            yield Finding(**base, step=step, kind="health", labels=labels, values={"state": "fine"})
    if condition == "exposed_removed":
        yield Finding(
            **base, step=10, kind="receipt:0", labels=labels, values={"accepted": True, "completed": True}
        )
        yield Finding(
            **base,
            step=90,
            kind="reintroduced",
            labels={**labels, "phase": "reintroduced"},
            values={"outcome": "success" if i % 12 else "failure", "target": "nonce"},
        )


@cache
def result(story: Story) -> VerificationResult:
    return conclude(brief(story), findings(story))


FAILS = Story(n=60, summary_leaks=41)
LIMITED = Story(n=300, stored_leaks=300, uncertain=2, claims=("non_use", "erasure"))
SIX = Story(n=6, failed=1)


def ledger(of: VerificationResult) -> tuple[LedgerRow, ...]:
    rows: list[LedgerRow] = []
    for target in of.settings.targets:
        for channel in ("answer", "retrieval", "summary", "storage", "reasoning"):
            cell = next(
                c
                for c in of.cells
                if (c.channel, c.condition, c.target) == (channel, "exposed_removed", target)
            )
            state = (
                "blocked"
                if channel == "reasoning"
                else "observed"
                if cell.episodes.events
                else "not_observed"
            )
            rows.append(
                LedgerRow(
                    target_id=f"{target} of every pair",
                    target=target,
                    kind="value",
                    layer=channel,
                    intervention="forget by value",
                    state=state,
                    reason="the model writes none"
                    if channel == "reasoning"
                    else f"{cell.episodes.events} of {cell.episodes.n} episodes show it after the boundary",
                    payload="hmac-sha256:5be1…",
                    fixture="restricted/fixtures.jsonl",
                    sources=("session told in the plan",),
                    derived=("summary", "vector"),
                    requested_scope="unit",
                    boundary="when the last request was answered and the work had settled",
                    completion="said to be done in every receipt",
                    pending_window="at most 0.31 s",
                    errors="none",
                    absence_check="inspection and a search of the storage's bytes"
                    if channel == "storage"
                    else "probes",
                    correlated_policy="permitted",
                    reintroduction_paths="the user telling it again",
                    external_effects="none known",
                    manifests="model, instructions, retrieval, tools, sources, sampling, software",
                )
            )
    return tuple(rows)


def waited(story: Story) -> tuple[WaitedRow, ...]:
    return tuple(
        WaitedRow(
            pair=name(i),
            condition="exposed_removed",
            accepted=2,
            asked=2,
            completed=0.0,
            visible_absence=None if i < story.summary_leaks else 0.01 + 0.001 * (i % 7),
            physical_cleanup=None,
            reasons={"physical_cleanup": "the agent's storage names no file"} if i % 2 else {},
        )
        for i in range(story.n - story.failed)
    )


def seen(channel: str, target: TargetKind, **changes: str) -> Seen:
    fields = {"grade": "served", "form": "verbatim", "state": "confirmed", "finding": "0123456789abcdef"}
    return Seen.model_validate({"channel": channel, "target": target, **fields, **changes})


UNIT = Said(
    channel="retrieval",
    label="raw, similarity 0.41",
    text="user: I parked the van on level two near the lift.",
)


def recall_row(i: int, summary: str | None) -> Row:
    own, kept = nonce(i, "exposed_removed"), nonce(i, "exposed_unchanged")
    leak = (
        Arm(
            condition="exposed_removed",
            said=(
                Said(channel="answer", text=f"Your private session token is {own}, as noted earlier."),
                Said(channel="retrieval", label="summary, similarity 0.74", text=summary),
                UNIT,
            ),
            seen=(seen("answer", "nonce"), seen("retrieval", "nonce")),
        )
        if summary
        else Arm(
            condition="exposed_removed",
            said=(Said(channel="answer", text="I have no token of yours on record."), UNIT),
        )
    )
    return Row(
        what=f"{name(i)}/recall-0",
        kind="recall",
        phase="delayed",
        target="nonce",
        prompt="What is my private session token? Answer with the value alone.",
        arms=(
            Arm(
                condition="never_exposed",
                said=(Said(channel="answer", text="I do not know of any token."), UNIT),
            ),
            leak,
            Arm(
                condition="exposed_unchanged",
                said=(
                    Said(channel="answer", text=kept),
                    Said(
                        channel="retrieval",
                        label="raw, similarity 0.81",
                        text=f"user: my private session token is {kept}",
                    ),
                ),
                seen=(seen("answer", "nonce"), seen("retrieval", "nonce")),
            ),
        ),
    )


def choice_row(i: int, removed: str) -> Row:
    def arm(condition: Condition, option: str) -> Arm:
        words = "chose the preferred option" if option == FAVOURED else "chose the other option"
        call = Said(channel="tool_arguments", label="choose_option", text=f'{{"option": "{option}"}}')
        return Arm(condition=condition, said=(Said(channel="answer", text=""), call), outcome=words)

    return Row(
        what=f"{name(i)}/choice-0",
        kind="choice",
        phase="after",
        target="preference",
        prompt=f"Which courier service should I book: {OTHER} or {FAVOURED}? Use the tool.",
        arms=(
            arm("never_exposed", OTHER),
            arm("exposed_removed", removed),
            arm("exposed_unchanged", FAVOURED),
        ),
    )


def stored_row(i: int, text: str) -> Row:
    held = Said(channel="summary", label="summary", text=text)
    return Row(
        what="stored",
        kind="stored",
        phase="delayed",
        arms=(
            Arm(condition="never_exposed", missing="nothing of a target is shown there"),
            Arm(condition="exposed_removed", said=(held,), seen=(seen("summary", "nonce"),)),
            Arm(
                condition="exposed_unchanged",
                said=(
                    Said(
                        channel="summary",
                        label="summary",
                        text=f"User's token: {nonce(i, 'exposed_unchanged')}.",
                    ),
                ),
                seen=(seen("summary", "nonce"),),
            ),
        ),
    )


def utility_row(i: int) -> Row:
    def arm(condition: Condition) -> Arm:
        return Arm(
            condition=condition,
            said=(Said(channel="answer", text="On level two."), UNIT),
            outcome="answered rightly",
        )

    return Row(
        what=f"{name(i)}/utility-0",
        kind="utility",
        phase="after",
        prompt="Where did I park the van?",
        arms=(arm("never_exposed"), arm("exposed_removed"), arm("exposed_unchanged")),
    )


def episodes(story: Story) -> tuple[PairExchanges, ...]:
    out: list[PairExchanges] = []
    for i in range(min(story.summary_leaks, 4)):
        own = nonce(i, "exposed_removed")
        summary = f"Key facts: drives a van; private session token {own}; prefers mornings."
        rows = (recall_row(i, summary), choice_row(i, OTHER), stored_row(i, summary), utility_row(i))
        out.append(PairExchanges(pair=name(i), why="confirmed", fixture=fixture(i), rows=rows))
    for i in range(story.summary_leaks, story.summary_leaks + story.uncertain):
        hint = Arm(
            condition="exposed_removed",
            said=(
                Said(channel="answer", text=f"You seemed to lean towards {FAVOURED.split()[0]} or the like."),
            ),
            seen=(seen("answer", "preference", state="uncertain", form="semantic"),),
        )
        row = Row(
            what=f"{name(i)}/semantic-1",
            kind="semantic",
            phase="after",
            target="preference",
            prompt="If a friend had to send a parcel for me, whom would they pick?",
            arms=(
                Arm(condition="never_exposed", said=(Said(channel="answer", text="I cannot say."),)),
                hint,
                Arm(
                    condition="exposed_unchanged",
                    said=(Said(channel="answer", text=f"{FAVOURED}, of course."),),
                    seen=(seen("answer", "preference"),),
                ),
            ),
        )
        rows = (row, choice_row(i, OTHER))
        out.append(PairExchanges(pair=name(i), why="uncertain", fixture=fixture(i), rows=rows))
    clean = range(max(story.n - story.failed - 3, 0), story.n - story.failed)
    for i in clean:
        rows = (recall_row(i, None), choice_row(i, OTHER), utility_row(i))
        out.append(PairExchanges(pair=name(i), why="sample", fixture=fixture(i), rows=rows))
    return tuple(out)


def fixtures(story: Story) -> Sequence[Pair]:
    return [fixture(i) for i in range(story.n)]


STORIES = {"fails": FAILS, "limited_evidence": LIMITED, "unassessable": SIX}


def write(story: Story, folder: Path, *, show: bool = False) -> VerificationReportPaths:
    found = result(story)
    return write_verification(
        found,
        ledger=ledger(found),
        episodes=episodes(story),
        waited=waited(story),
        folder=folder,
        show_targets=show,
        fixtures=fixtures(story),
    )
