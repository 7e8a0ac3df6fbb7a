"""A small run of a verification, written by hand: two pairs, five arms, an agent that removes what it is told to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vestige.audits.findings import Finding
from vestige.audits.verification.brief import Brief
from vestige.audits.verification.conclusion import brief_of, conclude
from vestige.audits.verification.ledger import ledger
from vestige.audits.verification.pairs import Nonce, Pair, Preference, Retained
from vestige.audits.verification.results import LedgerRow, VerificationResult
from vestige.audits.verification.scoring import score
from vestige.audits.verification.settings import (
    CLAIMS,
    CONDITIONS,
    EXPOSED,
    Condition,
    Observer,
    TargetKind,
    VerificationSettings,
)
from vestige.packet.seal import seal
from vestige.records import RemovalRequest, Session, Turn
from vestige.runs.folder import RunFolder, blob_of
from vestige.runs.plan import AgentSpec, DataRef, ModelSpec, Plan, Probe
from vestige.runs.steps import Ask, Await, Converse, Episode, Forget, Inspect, Reset, Scan, Sham
from vestige.runs.store import RecordWriter

KEY = bytes(range(32))
OPTIONS = (("Belabek Couriers", "Doridan Parcels"), ("Fenofax Coffee", "Galugor Roasters"))
CODES = "ABCDEFGHIJ"
TARGETS: tuple[TargetKind, ...] = ("nonce", "preference")
SETTINGS = VerificationSettings(pairs=2, observer=Observer(recall_probes=1, semantic_probes=0))


def nonce(pair: int, condition: str) -> str:
    return f"X{CODES[pair]}{CODES[CONDITIONS.index(condition)]}-VIOLET-38{pair}9"


def fixture(number: int) -> Pair:
    favoured, other = OPTIONS[number]
    return Pair(
        source_id=f"person-{number}",
        cluster=f"person-{number}",
        nonce=Nonce(
            values={c: nonce(number, c) for c in EXPOSED}, decoy=f"QQ{CODES[number]}-AMBER-000{number}"
        ),
        preference=Preference(
            topic="courier service",
            favoured=favoured,
            other=other,
            order=(favoured, other) if number else (other, favoured),
            statement=f" I always want {favoured}.",
            decoy=" Also, I always want Ulvatov Cabs.",
            decoy_value="Ulvatov Cabs",
        ),
        retained=Retained(
            question="What is my dog called?",
            expected="Rex",
            sibling_question="What is my cat called?",
            sibling_expected="Mia",
            unknown_question="What is my shoe size?",
        ),
        placed={"nonce": (0, 0), "preference": (0, 0)},
        sources={"nonce": ("s0",), "preference": ("s0",)},
        derived=("summary",),
        arms=CONDITIONS,
        fingerprint=f"{number:064x}",
    )


def session(number: int, condition: Condition) -> Session:
    told = "I have a dog called Rex."
    if condition != "never_exposed":
        told += f" My token is {nonce(number, condition)}. I always want {OPTIONS[number][0]}."
    return Session(id="s0", turns=(Turn(role="user", content=told), Turn(role="assistant", content="I see.")))


def probe(number: int, name: str, kind: str, text: str) -> Probe:
    return Probe(id=f"P00{number}/{name}", kind=kind, text=text, max_tokens=50)


def probes(number: int) -> list[Probe]:
    order = fixture(number).preference.order
    return [
        probe(number, "recall-nonce-0", "recall", "What is my token?"),
        probe(number, "recall-preference-0", "recall", "Which one do I like?"),
        probe(number, "choice-0", "choice", f"{order[0]} or {order[1]}?").model_copy(
            update={"choices": order}
        ),
        probe(number, "utility", "utility", "What is my dog called?").model_copy(update={"expected": "Rex"}),
    ]


def episode(number: int, condition: Condition, blobs: dict[str, bytes]) -> Episode:
    digest, data = blob_of(session(number, condition).model_dump(mode="json"))
    blobs[digest] = data
    values = [nonce(number, condition)] if condition != "never_exposed" else []
    needles = {"nonce:verbatim": (values or [nonce(number, "exposed_removed")])[0]}
    steps: list[Any] = [
        Converse(session=digest),
        Inspect(name="before", watch=tuple(needles.values()), labels={"phase": "before"}),
    ]
    if condition == "exposed_removed":
        request = RemovalRequest(scope="unit", value=values[0], description=f"Please forget {values[0]}.")
        steps.append(Forget(request=request, labels={"target": "nonce"}))
        steps.append(Await(needles=needles))
    elif condition == "sham_removal":
        decoy = fixture(number).nonce.decoy
        request = RemovalRequest(scope="unit", value=decoy)
        steps.append(Sham(request=request, labels={"target": "nonce"}))
    elif condition == "full_reset":
        steps.append(Reset())
    steps.append(Inspect(name="after", baseline="before", labels={"phase": "after"}))
    for one in probes(number):
        target = {"target": one.id.split("-")[1]} if one.kind == "recall" else {}
        steps.append(Ask(probe=one.id, labels={**target, "phase": "after"}))
    steps.append(Scan(needles=needles, labels={"phase": "after"}))
    return Episode(
        id=f"P00{number}/{condition}",
        instance=f"P00{number}",
        labels={"condition": condition, "pair": f"P00{number}"},
        group=f"P00{number}",
        steps=tuple(steps),
    )


def make_plan(pairs: int = 2, settings: VerificationSettings = SETTINGS) -> tuple[Plan, dict[str, bytes]]:
    blobs: dict[str, bytes] = {}
    numbers = range(pairs)
    plan = Plan(
        audit="verification",
        vestige_version="0.1.0",
        seed=7,
        agent=AgentSpec(name="by hand", knobs={"k": 3}, settings={"prompt": "Answer. " * 40}),
        models=ModelSpec(agent="none", scorer_embedder="hashing"),
        data=DataRef(name="people", source="by hand", sha256="0" * 64, license="none"),
        settings={"verification": settings.model_dump(mode="json"), "notes": [], "probe_texts": 1},
        fixtures={f"P00{n}": fixture(n).model_dump(mode="json") for n in numbers},
        probes={p.id: p for n in numbers for p in probes(n)},
        episodes=tuple(episode(n, c, blobs) for n in numbers for c in settings.conditions),
    )
    return plan, blobs


DESCRIPTION = {
    "name": "by hand",
    "version": "1",
    "configuration": {"k": 3},
    "capabilities": ["inspect", "storage"],
    "tiers": ["raw", "summary"],
    "channels": ["answer", "retrieval", "storage"],
    "absent": {"logs": "keeps no log"},
    "tools": [],
    "knobs": [],
}


def write_run(
    path: Path, *, leaks: bool = False, pairs: int = 2, conditions: tuple[Condition, ...] = CONDITIONS
) -> RunFolder:
    """The run; with `leaks`, the removed nonce of the first pair is still answered."""
    plan, blobs = make_plan(pairs, SETTINGS.model_copy(update={"pairs": pairs, "conditions": conditions}))
    folder = RunFolder.create(path, plan, blobs, resume=False)
    writer = RecordWriter(path)
    for number in range(pairs):
        for condition in conditions:
            _write_episode(writer, plan, number, condition, leaks=leaks and not number)
        ids = [f"P00{number}/{c}" for c in conditions]
        writer.write("group_end", f"P00{number}", 1, body={"status": "done", "episodes": ids})
    writer.close()
    folder.write_json(
        "host.json", [{"vestige": "0.1.0", "python": "3.11", "platform": "Linux", "began": "now"}]
    )
    folder.close()
    return folder


def _write_episode(
    writer: RecordWriter, plan: Plan, number: int, condition: Condition, *, leaks: bool
) -> None:
    (script,) = [e for e in plan.episodes if e.id == f"P00{number}/{condition}"]
    value = nonce(number, condition) if condition != "never_exposed" else None
    knows = condition in ("exposed_unchanged", "sham_removal") or (leaks and condition == "exposed_removed")
    favoured, other = OPTIONS[number]

    def write(kind: str, step: int, **fields: Any) -> None:
        writer.write(kind, script.id, 1, step=step, **fields)

    write("episode_begin", -1, body={"plan_sha256": plan.sha256, "group": script.group})
    write("description", -1, body=DESCRIPTION)
    for index, step in enumerate(script.steps):
        labels = dict(getattr(step, "labels", {}))
        match step:
            case Inspect():
                gone = step.name == "after" and not knows and value is not None
                told = f"My token is {value}. I like {favoured}." if value and not gone else "I see."
                artifacts = [
                    {"id": "u1", "tier": "raw", "text": "I have a dog called Rex.", "session": "s0"},
                    {"id": "u2", "tier": "raw", "text": told, "session": "s0"},
                    {"id": "m1", "tier": "summary", "text": "Has a dog.", "session": "s0", "sources": ["u1"]},
                ]
                if gone:
                    del artifacts[1]
                body = {"name": step.name, "baseline": step.baseline, "artifacts": artifacts, "unchanged": []}
                write("artifacts", index, labels=labels, body=body)
            case Forget() | Sham():
                receipt = {"accepted": True, "completed": True, "affected": {"raw": 1, "odd": 2}}
                message = f"Removed {step.request.value}."
                labels["sham"] = isinstance(step, Sham)
                write("receipt", index, labels=labels, body={**receipt, "message": message})
            case Await():
                write(
                    "waited",
                    index,
                    labels=labels,
                    body={"completed": 0.1, "visible_absence": 0.2, "physical_cleanup": None, "looks": 2},
                )
            case Ask():
                one = plan.probes[step.probe]
                text = {
                    "recall-nonce-0": f"It is {value}." if knows else "I do not know.",
                    "recall-preference-0": f"You always want {favoured}." if knows else "I do not know.",
                    "choice-0": favoured if knows or (number and value is None) else other,
                    "utility": "Rex",
                }[one.id.partition("/")[2]]
                reply = {
                    "text": text,
                    "retrieved": [{"id": "u1", "tier": "raw", "text": "A dog.", "score": 0.5}],
                }
                write("exchange", index, probe=one.id, labels=labels, body={"reply": reply, "measures": {}})
            case Scan():
                hits = (
                    [{"file": "store.db", "needle": "nonce:verbatim", "count": 1}] if knows and value else []
                )
                write("scan", index, labels=labels, body={"files": ["store.db"], "hits": hits})
            case _:
                pass
    ended = [round(0.5 * (i + 1), 3) for i in range(len(script.steps))]
    write("timeline", -1, body={"began": "2026-01-31T12:00:00Z", "opened": 0.1, "ended": ended})
    write("episode_end", -1, body={"status": "done"})


class Scored:
    """A run with all that a packet is made of."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self.findings: list[Finding] = list(score(folder.plan, folder))
        self.brief: Brief = brief_of(folder.plan, folder)
        self.result: VerificationResult = conclude(self.brief, self.findings)
        self.ledger: tuple[LedgerRow, ...] = tuple(ledger(folder.plan, folder, self.result))

    def seal(self, out: Path, **given: Any) -> Path:
        parts: dict[str, Any] = {
            "findings": self.findings,
            "result": self.result,
            "brief": self.brief,
            "ledger": self.ledger,
            "key": KEY,
        }
        return seal(self.folder, out, **{**parts, **given})


def scored(path: Path, **given: Any) -> Scored:
    return Scored(write_run(path, **given))


def json_of(packet: Path, name: str) -> Any:
    return json.loads((packet / "public" / name).read_bytes())


def rows_of(packet: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (packet / "public" / name).read_bytes().splitlines()]


def every_file(packet: Path) -> dict[str, bytes]:
    return {
        p.relative_to(packet).as_posix(): p.read_bytes() for p in sorted(packet.rglob("*")) if p.is_file()
    }


__all__ = [
    "CLAIMS",
    "KEY",
    "OPTIONS",
    "Scored",
    "every_file",
    "json_of",
    "nonce",
    "rows_of",
    "scored",
    "write_run",
]
