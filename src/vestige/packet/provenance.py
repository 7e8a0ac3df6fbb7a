"""Provenance of a run as PROV-JSON (W3C member submission): sources, targets, derived artifacts, interventions, agents.

Every identifier and every text stands as a code, as elsewhere in the public part. There are no times: a run's times are
machine facts, and the pending window stands with the receipts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vestige.audits.verification.reading import pairs_of
from vestige.packet.keyed import Keyed, targets_of
from vestige.packet.observations import tier_of
from vestige.runs.folder import RunFolder
from vestige.runs.sessions import SessionIds
from vestige.runs.steps import Converse, Episode, Forget, Reset, Sham
from vestige.runs.store import Line

__all__ = ["NAMESPACE", "artifact_code", "provenance"]

NAMESPACE = "urn:vestige:prov:"
_EVALUATOR, _TESTED, _PLAN = "vestige:evaluator", "vestige:agent", "vestige:plan"
_INTERVENTIONS = ("receipt", "removal_failed")


def artifact_code(keyed: Keyed, episode: str, attempt: int, artifact: str) -> str:
    """What names an artifact of one attempt: 32 hex digits, after ``vestige:artifact-`` in the document."""
    return keyed.mac("artifact", "\0".join((episode, str(attempt), artifact)))[:32]


def provenance(folder: RunFolder, lines: Iterable[Line], keyed: Keyed) -> dict[str, Any]:
    """The PROV-JSON document of a run."""
    return _Document(folder, keyed).built(lines)


class _Document:
    def __init__(self, folder: RunFolder, keyed: Keyed) -> None:
        self._folder, self._plan, self._keyed = folder, folder.plan, keyed
        self._parts: dict[str, dict[str, Any]] = {}
        self._session_ids = SessionIds(folder)
        self._sessions: dict[tuple[str, str], str] = {}
        self._before: dict[tuple[str, int], set[str]] = {}

    def built(self, lines: Iterable[Line]) -> dict[str, Any]:
        plan = self._plan
        self._add("agent", _EVALUATOR, {"prov:type": _type("prov:SoftwareAgent"), "vestige:name": "vestige"})
        self._add(
            "agent",
            _TESTED,
            {
                "prov:type": _type("prov:SoftwareAgent"),
                "vestige:name": plan.agent.name,
                "vestige:model": plan.models.agent,
            },
        )
        self._add(
            "entity",
            _PLAN,
            {"prov:type": _type("prov:Plan"), "vestige:sha256": self._folder.plan_sha256},
        )
        for name, pair in pairs_of(plan).items():
            for target, role, value in targets_of(pair):
                code = {"vestige:hmac": self._keyed.mac("target", value)}
                self._add(
                    "entity",
                    self._target(name, target, role),
                    {"prov:type": _type("vestige:Target"), **code},
                )
        for episode in plan.episodes:
            self._episode(episode)
        for line in lines:
            self._line(line)
        return {"prefix": {"vestige": NAMESPACE}, **self._parts}

    def _episode(self, episode: Episode) -> None:
        activity = _name("episode", episode.id)
        self._add(
            "activity", activity, {"prov:type": _type("vestige:Episode"), "vestige:episode": episode.id}
        )
        self._relate(
            "wasAssociatedWith",
            {"prov:activity": activity, "prov:agent": _EVALUATOR, "prov:plan": _PLAN},
        )
        self._relate("wasAssociatedWith", {"prov:activity": activity, "prov:agent": _TESTED})
        condition = episode.id.rpartition("/")[2]
        for index, step in enumerate(episode.steps):
            if isinstance(step, Converse):
                source = self._source(step.session)
                self._relate("used", {"prov:activity": activity, "prov:entity": source})
                self._sessions[episode.id, self._session_ids.of(step.session)] = source
            elif isinstance(step, Forget | Sham | Reset):
                done = _name("intervention", episode.id, str(index))
                kind = {"forget": "Removal", "sham": "ShamRemoval", "reset": "Reset"}[step.do]
                self._add("activity", done, {"prov:type": _type(f"vestige:{kind}")})
                self._relate("wasInformedBy", {"prov:informed": done, "prov:informant": activity})
                self._relate("wasAssociatedWith", {"prov:activity": done, "prov:agent": _TESTED})
                if not isinstance(step, Reset):
                    role = "decoy" if isinstance(step, Sham) else condition
                    self._aimed(episode.instance, str(step.labels.get("target", "")), role, done)

    def _aimed(self, pair: str, target: str, role: str, activity: str) -> None:
        """The intervention is about the target, where the step says which."""
        role = role if role == "decoy" or target.startswith("nonce") else "favoured"
        entity = self._target(pair, target, role)
        if entity in self._parts.get("entity", {}):
            self._relate("used", {"prov:activity": activity, "prov:entity": entity})

    def _line(self, line: Line) -> None:
        body: dict[str, Any] = line.body if isinstance(line.body, dict) else {}
        activity = _name("episode", line.episode)
        if line.kind in _INTERVENTIONS:
            entity = _name(line.kind, line.episode, str(line.attempt), str(line.step))
            self._add(
                "entity",
                entity,
                {
                    "prov:type": _type("vestige:Receipt"),
                    "vestige:accepted": bool(body.get("accepted")),
                    "vestige:completed": bool(body.get("completed")),
                    "vestige:attempt": line.attempt,
                },
            )
            done = _name("intervention", line.episode, str(line.step))
            self._relate("wasGeneratedBy", {"prov:entity": entity, "prov:activity": done})
            self._relate("wasAttributedTo", {"prov:entity": entity, "prov:agent": _TESTED})
        elif line.kind == "artifacts" and not body.get("baseline"):
            self._artifacts(line, body, activity)
        elif line.kind == "artifacts" and line.labels.get("phase") == "after":
            self._gone(line, body, activity)

    def _artifacts(self, line: Line, body: dict[str, Any], activity: str) -> None:
        """What stood in storage before the boundary, and what it was derived from."""
        seen: set[str] = set()
        artifacts = [a for a in body.get("artifacts") or () if isinstance(a, dict)]
        names = {str(a.get("id")): self._artifact(line, a) for a in artifacts}
        for artifact in artifacts:
            name = names[str(artifact.get("id"))]
            seen.add(str(artifact.get("id")))
            self._add(
                "entity",
                name,
                {
                    "prov:type": _type("vestige:Artifact"),
                    "vestige:tier": tier_of(artifact.get("tier")),
                    "vestige:hmac": self._keyed.mac("text", str(artifact.get("text"))),
                },
            )
            self._relate("wasGeneratedBy", {"prov:entity": name, "prov:activity": activity})
            for source in artifact.get("sources") or ():
                if str(source) in names:
                    self._derived(name, names[str(source)])
            session = self._sessions.get((line.episode, str(artifact.get("session"))))
            if session is not None:
                self._derived(name, session)
        self._before[line.episode, line.attempt] = seen

    def _gone(self, line: Line, body: dict[str, Any], activity: str) -> None:
        here = {str(a.get("id")) for a in body.get("artifacts") or () if isinstance(a, dict)}
        here |= {str(i) for i in body.get("unchanged") or ()}
        for artifact in sorted(self._before.get((line.episode, line.attempt), set()) - here):
            name = self._artifact(line, {"id": artifact})
            self._relate("wasInvalidatedBy", {"prov:entity": name, "prov:activity": activity})

    def _artifact(self, line: Line, artifact: dict[str, Any]) -> str:
        code = artifact_code(self._keyed, line.episode, line.attempt, str(artifact.get("id")))
        return _name("artifact", code)

    def _derived(self, made: str, of: str) -> None:
        self._relate("wasDerivedFrom", {"prov:generatedEntity": made, "prov:usedEntity": of})

    def _source(self, blob: str) -> str:
        name = _name("source", self._keyed.mac("session", blob)[:32])
        if name not in self._parts.get("entity", {}):
            code = self._keyed.mac("session", blob)
            self._add("entity", name, {"prov:type": _type("vestige:Session"), "vestige:hmac": code})
        return name

    def _target(self, pair: str, target: str, role: str) -> str:
        return _name("target", pair, target, role)

    def _add(self, kind: str, name: str, attributes: dict[str, Any]) -> None:
        self._parts.setdefault(kind, {})[name] = attributes

    def _relate(self, kind: str, arguments: dict[str, str]) -> None:
        relations = self._parts.setdefault(kind, {})
        relations[f"_:{kind}{len(relations)}"] = arguments


def _type(name: str) -> dict[str, str]:
    return {"$": name, "type": "prov:QUALIFIED_NAME"}


def _name(*parts: str) -> str:
    """A qualified name whose local part needs no escaping: letters, digits, dash and underscore."""
    plain = "-".join(
        "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in p) for p in parts
    )
    return f"vestige:{plain}"
