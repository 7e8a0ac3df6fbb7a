"""One attempt at one arm of a pair, scored line by line."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping
from typing import cast

from pydantic import ValidationError

from vestige.agents.protocol import Channel
from vestige.audits.findings import Finding
from vestige.audits.verification.attribution import Echoes
from vestige.audits.verification.fragments import Piece, put_together
from vestige.audits.verification.looking import Known, Look, Looker, Owner, Reading
from vestige.audits.verification.needles import foreign_nonces, needles_found
from vestige.audits.verification.opinions import thought_disclosed
from vestige.audits.verification.pairs import Pair
from vestige.audits.verification.phases import phase_at
from vestige.audits.verification.scored import seen_counts, sighting_values
from vestige.audits.verification.settings import (
    PHASES,
    TARGETS,
    Condition,
    Phase,
    TargetName,
    VerificationSettings,
)
from vestige.audits.verification.sheet import Labels, Sheet
from vestige.audits.verification.tally import AFTER
from vestige.audits.verification.tasks import adopted, measured, used_again
from vestige.audits.verification.vectors import standing_vectors
from vestige.channels import Observation, artifacts, exchange, requests, scan
from vestige.errors import IntegrityError, complaint
from vestige.records import JsonScalar, Receipt, Reply
from vestige.runs.inspection import InspectionBody, SeenArtifact, rebuild
from vestige.runs.plan import Plan, Probe
from vestige.runs.sending import ModelRequests
from vestige.runs.steps import Episode, Forget, Sham
from vestige.runs.store import Line
from vestige.runs.waiting import Waited

__all__ = ["Arm"]


class Arm:
    """Reads the lines of one attempt in their order; `findings` grows as they come.

    Args:
        plan: The plan, for its probes and steps.
        episode: The arm's script.
        pair: The fixture.
        settings: The plan's own settings.
        owners: Whose every nonce is.
        attempt: Which attempt it is.
        counted: Whether it is the one that counts.
        known: Shared by the arms of a pair; see `Looker`.
    """

    def __init__(
        self,
        plan: Plan,
        episode: Episode,
        pair: Pair,
        settings: VerificationSettings,
        owners: Mapping[str, Owner],
        attempt: int,
        counted: bool,
        known: Known,
    ) -> None:
        self._plan, self._episode = plan, episode
        self._pair, self._settings, self._counted = pair, settings, counted
        self.condition: Condition = cast("Condition", str(episode.labels.get("condition", "")))
        self._sheet = Sheet(episode, self.condition, settings.observer, attempt, counted)
        self._looker = Looker(pair, self.condition, settings, episode.id, owners, known)
        self._echoes = Echoes(self._looker.values)
        self._inspected: dict[str, InspectionBody] = {}
        self._first: dict[str, SeenArtifact] = {}
        self._live: set[TargetName] = set()
        self._looked: Counter[str] = Counter()
        self._fragments: list[Piece] = []
        self._receipts = 0
        self._options_told: set[TargetName] = set()
        self._unread: set[Phase] = set()

    @property
    def findings(self) -> list[Finding]:
        """In the order in which they were found."""
        return self._sheet.findings

    # ------------------------------------------------------------------------------------------ lines

    def read(self, line: Line) -> None:
        """Score one line.

        Raises:
            IntegrityError: It is not what a line of its kind must be.
        """
        try:
            match line.kind:
                case "exchange":
                    self._exchange(line)
                case "model_requests":
                    self._sent(line)
                case "artifacts":
                    self._artifacts(line)
                case "scan":
                    self._scan(line)
                case "receipt" | "removal_failed":
                    self._receipt(line)
                case "waited":
                    self._waited(line)
                case "unavailable":
                    what = str(line.body.get("step", ""))[:40]
                    self._sheet.add(line, self._sheet.labels(line), f"unavailable:{what}", {"step": what})
                case "episode_end":
                    self._end(line)
                case _:
                    pass
        except ValidationError as error:
            raise IntegrityError(
                f"the record of {line.episode}, step {line.step}: not {line.kind}: {complaint(error)}"
            ) from None

    def _exchange(self, line: Line) -> None:
        probe = self._plan.probes.get(line.probe or "")
        if probe is None:
            raise IntegrityError(
                f"the record of {line.episode}, step {line.step}: its probe is not in the plan"
            )
        reply = Reply.model_validate(line.body["reply"])
        labels = self._sheet.labels(line, probe)
        target = _target(line, probe)
        if line.labels.get("phase") == "reintroduced":
            if probe.kind == "reintroduction":
                self._task(line, labels, "reintroduced", used_again(self._looker, reply, target))
            return
        for observation in exchange(reply):
            looks = self._observed(line, labels, observation, self._reading(line, probe, observation.channel))
            seen = {look.target for look in looks}
            asked = target if observation.channel == "answer" and probe.kind != "choice" else None
            if asked is not None and asked not in seen:
                opinion = thought_disclosed(self._looker, asked, reply.text, line.body.get("measures"))
                if opinion is not None:
                    self._sheet.sighting(line, labels, "answer", observation.grade, opinion)
            if probe.kind == "summary" and observation.channel == "answer":
                asked_for = observation.model_copy(update={"channel": "summary"})
                self._observed(line, labels, asked_for, "free")
        if probe.kind == "choice" and target is not None:
            self._options_told.add(target)
        for kind, values in measured(self._pair, probe, reply, str(labels["who"]), target):
            self._sheet.add(line, labels, kind, values)
        if probe.kind == "correction":
            forms = self._settings.observer.normalisations
            done = adopted(self._pair, self.condition, self._looker, forms, reply, target)
            self._task(line, labels, "corrected", done)

    def _reading(self, line: Line, probe: Probe, channel: Channel) -> dict[TargetName, Reading]:
        """A decision task names the options: what is said to it is no evidence, what was retrieved for it is."""
        if channel == "retrieval":
            return {}
        kept = channel in ("tool_results", "memory_writes")  # a tool may have kept what was chosen
        found: dict[TargetName, Reading] = dict.fromkeys(self._options_told if kept else (), "named")
        if probe.kind == "choice" and (target := _target(line, probe)) is not None:
            found[target] = "prompted"
        return found

    def _task(self, line: Line, labels: Labels, kind: str, done: bool) -> None:
        outcome = "success" if done else "failure"
        self._sheet.add(line, labels, kind, {"outcome": outcome, "target": line.labels.get("target")})

    def _sent(self, line: Line) -> None:
        """What was sent to the model outside replies: what is seen in it counts, and it is no look of its own.

        A step that sends nothing leaves no line, so that lines of this kind are no denominator. Where a request could
        not be read, the phase was not looked at.
        """
        sent, phase = ModelRequests.model_validate(line.body), phase_at(self._episode, line.step)
        if phase is None:
            return
        if sent.unread:
            self._unread.add(phase)
        seen = requests(sent.texts).model_copy(update={"items": 0})
        kept: dict[TargetName, Reading] = dict.fromkeys(self._options_told, "named")
        self._observed(line, self._sheet.labels(line) | {"phase": phase}, seen, kept)

    def _artifacts(self, line: Line) -> None:
        body = InspectionBody.model_validate(line.body)
        base = self._inspected.get(body.baseline or "")
        state = rebuild(body, base)
        if body.baseline is None:
            self._inspected[body.name] = body
            self._first = self._first or state
        phase = _phase(line, body.name)
        if phase is None:
            return
        labels = self._sheet.labels(line) | {"phase": phase}
        new = None if body.baseline is None else frozenset(i for i in state if i not in self._first)
        fresh = {state[i].text for i in new} if self._options_told and new is not None else set[str]()
        live: set[TargetName] = set()
        for observation in artifacts(state, self._first, new):
            if observation.channel == "vectors":
                self._looked[f"{phase}:vectors"] += observation.items
                continue
            if observation.channel == "storage" and new:
                texts = tuple(
                    self._without_request(a.text) if a.id in new else a.text for a in state.values()
                )
                observation = observation.model_copy(update={"texts": texts})
            for look in self._observed(line, labels, observation, "free", fresh):
                if observation.channel == "storage" and look.state == "confirmed":
                    live.add(look.target)
        self._live = live
        self._vectors(line, labels, state)

    def _without_request(self, text: str) -> str:
        kept, echo = self._echoes.strip(text)
        self._looked["request:storage"] += echo
        return kept

    def _vectors(self, line: Line, labels: Labels, state: Mapping[str, SeenArtifact]) -> None:
        for target in self._looker.targets:
            standing = standing_vectors(
                self._first or state, state, lambda text, t=target: self._looker.holds(t, text)
            )
            for grade in ("live_row", "vector_only"):
                if count := standing.get(grade):
                    look = Look(target, "vector", "confirmed", count)
                    self._sheet.sighting(line, labels, "vectors", grade, look)
                    break

    def _scan(self, line: Line) -> None:
        phase = _phase(line)
        if phase is None:
            return
        labels = self._sheet.labels(line) | {"phase": phase}
        self._readable(line, phase)
        dead: set[TargetName] = set(self._looker.targets) - self._live
        for targets, is_live in ((self._live, True), (dead, False)):
            for observation in scan(line.body, is_live):
                if is_live:
                    self._looked[f"{phase}:{observation.channel}"] += observation.items
                for look in needles_found(observation.found, targets, self._settings):
                    self._sheet.sighting(line, labels, observation.channel, observation.grade, look)
                if not is_live:
                    self._foreign_bytes(line, labels, observation)

    def _readable(self, line: Line, phase: Phase) -> None:
        """Count what the bytes alone show, whatever a live row shows beside them.

        Logs stand for the storage only where it has no other file.
        """
        files = scan(line.body, True)
        stored = [o for o in files if o.channel == "storage"] or list(files)
        if not stored:
            return
        self._looked[f"{phase}:bytes"] += 1
        for observation in stored:
            for look in needles_found(observation.found, self._looker.targets, self._settings):
                self._looked[f"{phase}:bytes:{look.target}"] = 1

    def _foreign_bytes(self, line: Line, labels: Labels, seen: Observation) -> None:
        for target, condition in foreign_nonces(seen.found, self._looker.targets):
            look = Look(target, "verbatim", "confirmed", 1)
            owner = (f"{self._episode.instance}/{condition}", target)
            self._sheet.sighting(line, labels, seen.channel, seen.grade, look, owner)

    def _receipt(self, line: Line) -> None:
        sham = bool(line.labels.get("sham"))
        self._request(line.step)
        values: dict[str, JsonScalar] = {
            "accepted": False,
            "completed": False,
            "sham": sham,
            "message_sha256": "",
        }
        if line.kind == "receipt":
            receipt = Receipt.model_validate(line.body)
            digest = hashlib.sha256(receipt.message.encode("utf-8", "replace")).hexdigest()
            values |= {"accepted": receipt.accepted, "completed": receipt.completed}
            values["message_sha256"] = digest
        self._sheet.add(line, self._sheet.labels(line), f"receipt:{self._receipts}", values)
        self._receipts += 1

    def _request(self, step: int) -> None:
        if 0 <= step < len(self._episode.steps):
            asked = self._episode.steps[step]
            if isinstance(asked, Forget | Sham):
                self._echoes.add(asked.request.description)

    def _waited(self, line: Line) -> None:
        waited = Waited.model_validate(line.body)
        values: dict[str, JsonScalar] = {"pending": waited.pending}
        for name in ("completed", "visible_absence", "physical_cleanup"):
            if getattr(waited, name) is not None:
                values[name] = "seen"
            else:
                values[name] = "unobservable" if name in waited.reasons else "not_seen"
        self._sheet.add(line, self._sheet.labels(line), "waited", values)

    def _end(self, line: Line) -> None:
        """The attempt is over: what only all of it shows, and how much of it was looked at."""
        self._together()
        for phase in self._unread:
            self._looked.pop(f"{phase}:model_requests", None)
        labels = self._sheet.labels(line)
        self._sheet.whole("observed", labels, seen_counts(self._looked, self._settings.observer))
        if not self._counted:
            body = line.body if isinstance(line.body, dict) else {}
            failed = body.get("status") != "done"
            reason = str(body.get("reason", "")).partition(":")[0][:60] if failed else "its pair failed"
            self._sheet.whole("incomplete", labels, {"reason": reason})
        self._inspected.clear()
        self._first = {}
        self._fragments.clear()

    # -------------------------------------------------------------------------------------- sightings

    def _observed(
        self,
        line: Line,
        labels: Labels,
        seen: Observation,
        reading: Reading | Mapping[TargetName, Reading],
        fresh: Collection[str] = (),
    ) -> list[Look]:
        """Look at one observation: count it, and note every sighting."""
        if not self._settings.observer.sees(seen.channel):
            return []
        phase = cast("Phase", labels["phase"])
        self._looked[f"{phase}:{seen.channel}"] += seen.items
        texts = seen.texts
        looks = self._looker.own(texts, reading, fresh)
        for look in looks:
            self._sheet.sighting(line, labels, seen.channel, seen.grade, look)
        for owner, count in self._looker.others(texts).items():
            look = Look(owner[1], "verbatim", "confirmed", count)
            self._sheet.sighting(line, labels, seen.channel, seen.grade, look, owner)
        if self._settings.observer.combine_fragments and phase in AFTER and labels["who"] == "user":
            where = (seen.channel, seen.grade, phase)
            self._fragments.extend(Piece(*where, t) for t in texts if self._looker.any_part(t))
        return looks

    def _together(self) -> None:
        for piece, look in put_together(self._fragments, self._looker, list(self.findings)):
            labels = self._sheet.plain | {"phase": piece.phase, "who": "user"}
            kind = f"sighting:{piece.channel}:{look.target}:{look.form}"
            self._sheet.whole(kind, labels, sighting_values(piece.channel, piece.grade, look, ""))


def _phase(line: Line, name: str = "") -> Phase | None:
    phase = line.labels.get("phase", name)
    return cast("Phase", phase) if phase in PHASES and phase != "reintroduced" else None


def _target(line: Line, probe: Probe) -> TargetName | None:
    """What was asked for; a decision task that does not say so is about the first preference."""
    named = line.labels.get("target", "preference" if probe.kind == "choice" else None)
    return next((t for t in TARGETS if t == named), None)
